// The official TypeScript clients over HTTP and stdio, on both surfaces, against real servers behind the gateway.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { KINDS, SAID_BY_MODEL, SAID_BY_USER, caller, open, until } from './lib/clients.mjs';
import { configuration, serve, stdio } from './lib/gateway.mjs';
import { all } from './lib/servers.mjs';

const { place, servers } = all();
const text = (result) => result.content.map((block) => block.text ?? '').join('\n');
const EXPECTED = [
  'x_everything_echo',
  'x_everything_trigger-sampling-request',
  'x_everything_trigger-elicitation-request',
  'x_files_write_file',
  'x_git_status',
  'x_time_convert_time',
  'x_fixture_test_simple_text',
];

for (const surface of ['meta', 'direct']) {
  describe(`surface ${surface}`, () => {
    const dir = configuration(servers, { surface });
    let gateway;
    before(async () => (gateway = await serve(dir)));
    after(() => gateway?.stop());

    for (const transport of ['http', 'stdio']) {
      for (const kind of KINDS) {
        describe(`${kind} over ${transport}`, () => {
          const changes = [];
          const questions = [];
          let client;
          let call;
          before(async () => {
            const target = transport === 'http' ? { url: gateway.url } : stdio(dir);
            const changed = (list) => changes.push(list);
            const asked = (method, params) => questions.push({ method, params });
            client = await open(kind, target, { changed, asked });
            call = caller(client, surface);
            // Servers start by themselves; their tools are there when they are.
            await until('every server is listed', async () => {
              const names = await listed(client, surface);
              return EXPECTED.every((name) => names.includes(name));
            }, 180_000);
          });
          after(() => client?.close());

          if (surface === 'meta') {
            test('lists the meta-tools only', async () => {
              const names = (await client.tools()).map((tool) => tool.name);
              for (const name of ['list_tools', 'filter_tools', 'describe_tool', 'call_tool', 'get_resource', 'get_prompt']) {
                assert.ok(names.includes(name), `${name} is missing from ${names}`);
              }
              assert.ok(!names.some((name) => name.startsWith('x_')), `${names}`);
            });
            metaTests(() => ({ client, call }));
          } else {
            test('lists the catalogue with the definitions of the servers', async () => {
              const tools = await client.tools();
              const sum = tools.find((tool) => tool.name === 'x_everything_get-sum');
              assert.deepEqual(Object.keys(sum.inputSchema.properties), ['a', 'b']);
              const status = tools.find((tool) => tool.name === 'x_git_status');
              assert.equal(status.annotations.readOnlyHint, true);
              const names = tools.map((tool) => tool.name);
              assert.deepEqual(names, [...new Set(names)]);
              assert.deepEqual(names, (await client.tools()).map((tool) => tool.name), 'the order is stable');
            });
          }

          test('calls a tool that reads', async () => {
            assert.equal(text(await call('x_everything_echo', { message: 'grüße 😀' })), 'Echo: grüße 😀');
            assert.match(text(await call('x_everything_get-sum', { a: 2, b: 40 })), /42/);
            assert.match(text(await call('x_files_read_text_file', { path: join(place.files, 'hello.txt') })), /real file/);
          });

          test('calls a tool that writes, and the file is there', async () => {
            const path = join(place.files, `${surface}-${transport}-${kind}.txt`);
            const result = await call('x_files_write_file', { path, content: 'written through the gateway' });
            assert.ok(!result.isError, text(result));
            assert.equal(readFileSync(path, 'utf8'), 'written through the gateway');
          });

          test('asks a real repository and a real clock', async () => {
            const status = await call('x_git_status', { repo_path: place.repository });
            assert.match(text(status), /new\.txt/);
            const time = await call('x_time_convert_time', { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' });
            assert.match(text(time), /21:00/);
          });

          test('passes images and structured content', async () => {
            const image = await call('x_everything_get-tiny-image');
            const block = image.content.find((one) => one.type === 'image');
            assert.equal(block.mimeType, 'image/png');
            assert.ok(Buffer.from(block.data, 'base64').length > 100);
            const weather = await call('x_everything_get-structured-content', { location: 'Chicago' });
            assert.equal(typeof weather.structuredContent.temperature, 'number');
            assert.deepEqual(JSON.parse(text(weather)), weather.structuredContent);
          });

          test('a failing tool is a result, an unknown tool is refused', async () => {
            const failed = await call('x_fixture_test_error_handling');
            assert.equal(failed.isError, true);
            assert.match(text(failed), /intentionally/);
            const unknown = await call('x_everything_nothing').then(
              (result) => (assert.equal(result.isError, true), text(result)),
              (error) => (assert.equal(error.code, -32602), error.message),
            );
            assert.match(unknown, /x_everything_nothing/);
          });

          test('reads resources as text and as a blob', async () => {
            const uris = (await client.resources()).map((resource) => resource.uri);
            assert.ok(uris.includes('demo://resource/static/document/features.md'), `${uris}`);
            const templates = (await client.templates()).map((template) => template.uriTemplate);
            assert.ok(templates.includes('demo://resource/dynamic/text/{resourceId}'), `${templates}`);
            const page = await client.client.readResource({ uri: 'demo://resource/static/document/features.md' });
            assert.ok(page.contents[0].text.length > 100);
            const blob = await client.client.readResource({ uri: 'demo://resource/dynamic/blob/2' });
            assert.ok(Buffer.from(blob.contents[0].blob, 'base64').length > 10);
            const none = client.client.readResource({ uri: 'demo://none/at/all' });
            await assert.rejects(none);
          });

          test('lists, gets and completes prompts', async () => {
            const names = (await client.prompts()).map((prompt) => prompt.name);
            assert.ok(names.includes('x_everything_args-prompt'), `${names}`);
            const prompt = await client.client.getPrompt({ name: 'x_everything_args-prompt', arguments: { city: 'Oslo' } });
            assert.match(prompt.messages[0].content.text, /Oslo/);
            const completed = await client.client.complete({
              ref: { type: 'ref/prompt', name: 'x_everything_completable-prompt' },
              argument: { name: 'department', value: 'Eng' },
            });
            assert.deepEqual(completed.completion.values, ['Engineering']);
          });

          test('passes progress with the caller’s own token', async () => {
            const seen = [];
            const args = { duration: 1, steps: 4 };
            await call('x_everything_trigger-long-running-operation', args, { onprogress: (one) => seen.push(one.progress) });
            // These clients forget the last progress when it is read together with the answer.
            assert.deepEqual(seen, [1, 2, 3, 4].slice(0, seen.length));
            assert.ok(seen.length >= 3, `${seen}`);
          });

          test('a cancelled call ends at once and the next one works', async () => {
            const stop = new AbortController();
            const args = { duration: 60, steps: 600 };
            const began = Date.now();
            const called = call('x_everything_trigger-long-running-operation', args, {
              signal: stop.signal,
              onprogress: () => stop.abort('enough'),
            });
            await assert.rejects(called);
            assert.ok(Date.now() - began < 50_000, 'the call did not run to its end');
            assert.equal(text(await call('x_everything_echo', { message: 'after' })), 'Echo: after');
          });

          test('a server’s question to the model reaches this client', async () => {
            questions.length = 0;
            const result = await call('x_everything_trigger-sampling-request', { prompt: 'what?', maxTokens: 10 });
            assert.match(text(result), new RegExp(SAID_BY_MODEL));
            assert.equal(questions.length, 1);
            assert.match(JSON.stringify(questions[0].params), /what\?/);
          });

          test('a server’s question to the user reaches this client, with the server’s name', async () => {
            questions.length = 0;
            const result = await call('x_everything_trigger-elicitation-request');
            assert.match(text(result), new RegExp(SAID_BY_USER.name));
            assert.equal(questions.length, 1);
            assert.match(questions[0].params.message, /everything/);
          });

          if (surface === 'direct') {
            test('hears that a list changed, and the list did change', async () => {
              const names = async () => (await client.tools()).map((tool) => tool.name);
              const had = (await names()).includes('x_fixture_test_changing_tool');
              changes.length = 0;
              await call('x_fixture_test_trigger_tool_change');
              await until('the change is heard', () => changes.includes('tools'));
              await until('the list changed', async () => (await names()).includes('x_fixture_test_changing_tool') !== had);
            });
          }
        });
      }
    }
  });
}

/** The exposed names a client can find. */
async function listed(client, surface) {
  if (surface === 'direct') return (await client.tools()).map((tool) => tool.name);
  const names = [];
  for (let offset = 0; ; offset = names.length) {
    const page = (await client.call('list_tools', { limit: 50, offset })).structuredContent;
    names.push(...page.tools.map((tool) => tool.name));
    if (!page.truncated || page.tools.length === 0) return names;
  }
}

function metaTests(given) {
  test('every meta-tool says the same in text and structure', async () => {
    const { client } = given();
    for (const [name, args] of [
      ['list_tools', { limit: 3 }],
      ['filter_tools', { pattern: 'x_time_*' }],
      ['describe_tool', { name: 'x_files_write_file' }],
      ['list_resources', {}],
      ['list_prompts', {}],
    ]) {
      const result = await client.call(name, args);
      assert.ok(!result.isError, `${name}: ${text(result)}`);
      assert.deepEqual(JSON.parse(text(result)), result.structuredContent, name);
    }
  });

  test('filter_tools by glob, and ranked by a question', async () => {
    const { client } = given();
    const globbed = (await client.call('filter_tools', { pattern: 'x_time_*' })).structuredContent;
    assert.deepEqual(globbed.tools.map((tool) => tool.name).sort(), ['x_time_convert_time', 'x_time_get_current_time']);
    const ranked = (await client.call('filter_tools', { query: 'write text to a file' })).structuredContent;
    const head = ranked.tools.slice(0, 3).map((tool) => tool.name);
    assert.ok(head.includes('x_files_write_file'), `${head}`);
    assert.ok(ranked.tools.every((tool) => typeof tool.score === 'number'));
  });

  test('describe_tool shows the whole definition and what a call would do', async () => {
    const { client } = given();
    const write = (await client.call('describe_tool', { name: 'x_files_write_file' })).structuredContent;
    assert.deepEqual(Object.keys(write.inputSchema.properties).sort(), ['content', 'path']);
    assert.equal(write.effect, 'mutating');
    const read = (await client.call('describe_tool', { name: 'x_files_read_text_file' })).structuredContent;
    assert.equal(read.effect, 'read_only');
    const untrusted = (await client.call('describe_tool', { name: 'x_git_status' })).structuredContent;
    assert.equal(untrusted.effect, 'mutating', 'a hint that the operator does not trust makes nothing safe');
    assert.equal(untrusted.annotations.readOnlyHint, true);
  });

  test('call_tool says which tool answered', async () => {
    const { call } = given();
    const result = await call('x_everything_echo', { message: 'm' });
    assert.deepEqual(result._meta['countersign/tool'], { name: 'x_everything_echo', server: 'everything', tool: 'echo' });
  });

  test('an unknown or wrong-typed argument of a meta-tool is named', async () => {
    const { client } = given();
    for (const [args, word] of [[{ limits: 3 }, 'limits'], [{ limit: 'many' }, 'limit']]) {
      const result = await client.call('list_tools', args);
      assert.equal(result.isError, true);
      assert.match(text(result), new RegExp(word));
      assert.equal(typeof result.structuredContent.code, 'string');
    }
  });

  test('resources and prompts through meta-tools', async () => {
    const { client } = given();
    const page = await client.call('get_resource', { uri: 'demo://resource/static/document/features.md', server: 'everything' });
    assert.ok(!page.isError, text(page));
    const blob = await client.call('get_resource', { uri: 'demo://resource/dynamic/blob/3', server: 'everything' });
    assert.match(JSON.stringify(blob), /"blob":/);
    const prompt = await client.call('get_prompt', { name: 'x_everything_args-prompt', arguments: { city: 'Oslo' } });
    assert.match(JSON.stringify(prompt), /Oslo/);
    const described = await client.call('describe_prompt', { name: 'x_everything_args-prompt' });
    assert.match(JSON.stringify(described.structuredContent), /city/);
  });
}
