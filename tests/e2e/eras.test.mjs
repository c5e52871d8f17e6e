// What the eras say in different ways, between official clients of both and a real server of 2025-11-25.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { ROOTS, open, until } from './lib/clients.mjs';
import { configuration, serve } from './lib/gateway.mjs';
import { MODERN, RawHttp } from './lib/raw.mjs';
import { everything } from './lib/servers.mjs';

const ABLE = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };
const text = (result) => result.content.map((block) => block.text ?? '').join('\n');

describe('a server of 2025-11-25 behind the gateway', () => {
  const dir = configuration({ everything: everything() }, { surface: 'direct' });
  let gateway;
  before(async () => (gateway = await serve(dir)));
  after(() => gateway?.stop());

  for (const kind of ['v1', 'v2-auto', 'v2-legacy']) {
    describe(kind, () => {
      const questions = [];
      let client;
      before(async () => {
        const asked = (method, params) => questions.push({ method, params });
        client = await open(kind, { url: gateway.url }, { asked, abilities: ABLE });
        const listed = async () => (await client.tools()).some((tool) => tool.name === 'x_everything_simulate-research-query');
        await until('the server is listed', listed);
      });
      after(() => client?.close());

      // Client v1 calls such a tool as a task or not at all.
      if (kind !== 'v1') {
        test('a tool that runs as a task only answers, and its question reaches the person', async () => {
          questions.length = 0;
          const progress = [];
          const args = { topic: 'python', ambiguous: true };
          const result = await client.call('x_everything_simulate-research-query', args, { onprogress: (one) => progress.push(one) });
          assert.match(text(result), /Research Report: python/);
          assert.equal(questions.length, 1);
          assert.match(questions[0].params.message, /^\[everything\] /);
          if (kind === 'v2-legacy') assert.ok(progress.some((one) => /sources|content/.test(one.message)), JSON.stringify(progress));
        });
      } else {
        test('follows a task itself, by an id of the gateway’s own', async () => {
          questions.length = 0;
          const params = { name: 'x_everything_simulate-research-query', arguments: { topic: 'python', ambiguous: true } };
          const seen = [];
          let id;
          const options = { task: { ttl: 60_000 }, timeout: 60_000 };
          for await (const message of client.client.experimental.tasks.callToolStream(params, CallToolResultSchema, options)) {
            seen.push(message.type);
            if (message.type === 'taskCreated') id = message.task.taskId;
            if (message.type === 'error') assert.fail(message.error);
            if (message.type === 'result') assert.match(text(message.result), /Research Report: python/);
          }
          assert.match(id, /^countersign-task-[0-9a-f]{64}$/);
          assert.deepEqual([seen[0], seen.at(-1)], ['taskCreated', 'result']);
          assert.equal(questions.length, 1);
          assert.equal(questions[0].params._meta['io.modelcontextprotocol/related-task'].taskId, id);
          const { tasks } = await client.client.experimental.tasks.listTasks();
          assert.ok(tasks.some((task) => task.taskId === id && task.status === 'completed'), JSON.stringify(tasks));
        });
      }

      test('a URL is opened by request, and by the error that says it is needed first', async () => {
        questions.length = 0;
        const url = `https://example.org/${kind}`;
        const plain = await client.call('x_everything_trigger-url-elicitation', { url });
        assert.ok(!plain.isError, text(plain));
        assert.deepEqual(questions.map((one) => one.params.url), [url]);
        assert.match(questions[0].params.message, /^\[everything\] /);
        assert.equal(typeof questions[0].params.elicitationId, kind === 'v2-auto' ? 'undefined' : 'string');
        questions.length = 0;
        const args = { url, errorPath: true };
        if (kind === 'v2-auto') {
          const result = await client.call('x_everything_trigger-url-elicitation', args);
          assert.ok(!result.isError, text(result));
          assert.deepEqual(questions.map((one) => one.params.url), ['https://modelcontextprotocol.io', url]);
        } else {
          const refused = client.call('x_everything_trigger-url-elicitation', args);
          await assert.rejects(refused, (error) => error.code === -32042 && error.data.elicitations[0].elicitationId !== undefined);
          // The call again is what the server waits for, here and for the next client.
          await client.call('x_everything_trigger-url-elicitation', args);
        }
      });
    });
  }

  test('the roots of the caller reach the server in its call', async () => {
    const client = await open('v1', { url: gateway.url }, { abilities: ABLE });
    assert.match(text(await client.call('x_everything_get-roots-list')), new RegExp(ROOTS[0].name));
    await client.close();
  });

  test('updates of a resource reach a session that subscribed and a modern listener', async () => {
    const uri = 'demo://resource/dynamic/text/1';
    const client = await open('v1', { url: gateway.url }, { abilities: {} });
    const heard = [];
    client.client.fallbackNotificationHandler = (message) => heard.push(message);
    await client.client.subscribeResource({ uri });
    const raw = await RawHttp.open(gateway.url, MODERN);
    const stop = new AbortController();
    const meta = { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {} };
    const params = { notifications: { resourceSubscriptions: [uri] }, _meta: meta };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params });
    const response = await raw.post(body, { 'mcp-method': 'subscriptions/listen' }, stop.signal);
    let listened = '';
    const reading = (async () => {
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) listened += chunk;
    })().catch(() => {});
    await until('the subscription is acknowledged', () => listened.includes('subscriptions/acknowledged'));
    await client.call('x_everything_toggle-subscriber-updates');
    const isUpdate = (message) => message.method === 'notifications/resources/updated' && message.params.uri === uri;
    await until('the session hears of it', () => heard.some(isUpdate));
    await until('the listener hears of it', () => listened.includes('notifications/resources/updated'));
    assert.match(listened, /"io\.modelcontextprotocol\/subscriptionId":"l"/);
    await client.call('x_everything_toggle-subscriber-updates');
    stop.abort();
    await reading;
    await client.close();
  });
});
