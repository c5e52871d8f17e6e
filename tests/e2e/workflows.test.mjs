// Workflows of the real binary over real servers, driven by the official clients: what they answer, tell and leave behind.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SAID_BY_MODEL, SAID_BY_USER, caller, open, until } from './lib/clients.mjs';
import { configuration, serve } from './lib/gateway.mjs';
import { everything, files, filesystem, fixtureServer, timeServer } from './lib/servers.mjs';

const place = files();
const WORKFLOWS = {
  // Reads only: every tool is annotated, in loops and beside each other as well.
  look: `
description: Look at the files and at the time
args: {zones: {type: array, default: [UTC]}, file: {type: string, required: true}}
steps:
  - {id: list, tool: x_files_list_directory, args: {path: ${JSON.stringify(place)}}}
  - id: both
    parallel:
      max: 2
      steps:
        - {id: text, tool: x_files_read_text_file, args: {path: "${place}/{{ input.file }}"}}
        - {id: info, tool: x_files_get_file_info, args: {path: "${place}/{{ input.file }}"}}
  - {id: never, tool: x_files_read_text_file, args: {path: /nowhere}, condition: {template: "{{ input.file != 'hello.txt' }}"}}
output: {text: "{{ results.text }}", skipped: "{{ results.never }}"}
`,
  write: `
args: {names: {type: array, required: true}}
steps:
  - id: each
    for_each:
      items: "{{ input.names }}"
      as: name
      steps:
        - {id: now, tool: x_time_get_current_time, args: {timezone: UTC}}
        - {id: put, tool: x_files_write_file, args: {path: "${place}/{{ vars.name }}", content: "{{ results.now.timezone }} {{ vars.name }}"}}
output: "{{ results.each | length }}"
`,
  fails: `
steps:
  - {id: sum, tool: x_everything_get-sum, args: {a: 2, b: 40}}
  - {id: read, tool: x_files_read_text_file, args: {path: "${place}/none.txt"}}
on_failure:
  - {id: note, tool: x_files_write_file, args: {path: "${place}/note.txt", content: "failed at {{ vars.failure.step }}"}}
`,
  slow: `
steps: [{id: wait, tool: x_everything_trigger-long-running-operation, args: {duration: 600, steps: 600}}]
on_failure:
  - {id: note, tool: x_files_write_file, args: {path: "${place}/slow.txt", content: "{{ vars.failure.message }}"}}
`,
  nested: `
steps: [{id: inner, tool: workflow_look, args: {file: hello.txt}}]
output: {text: "{{ results.inner.output.text }}", from: "{{ results.inner.workflow }}"}
`,
  asks: `
steps: [{id: model, tool: x_everything_trigger-sampling-request, args: {prompt: hi, maxTokens: 10}}]
output: "{{ results.model }}"
`,
  rounds: `
steps: [{id: ask, tool: x_modern_test_input_required_result_elicitation}]
output: "{{ results.ask }}"
`,
  lost: 'steps: [{id: a, tool: x_files_no_such_tool}]\n',
};

for (const surface of ['direct', 'meta']) {
  describe(`workflows on the surface ${surface}`, () => {
    const dir = configuration(
      { everything: everything(), files: { ...filesystem(place), trustAnnotations: true }, time: timeServer(), modern: fixtureServer('modern') },
      { surface, store: { type: 'sqlite', path: 'state.db' } },
    );
    let gateway;
    let client;
    let call;
    before(async () => {
      mkdirSync(join(dir, 'workflows'));
      for (const [name, text] of Object.entries(WORKFLOWS)) writeFileSync(join(dir, 'workflows', `${name}.yaml`), text);
      gateway = await serve(dir);
      client = await open(surface === 'direct' ? 'v1' : 'v2-auto', { url: gateway.url });
      call = caller(client, surface);
      await until('every workflow that can be is offered', async () => {
        const { structuredContent } = await call('core_workflow_list');
        return structuredContent.total === Object.keys(WORKFLOWS).length - 1;
      }, 180_000);
      // The direct client checks answers against the schemas that it has seen.
      if (surface === 'direct') await client.tools();
    });
    after(async () => {
      await client?.close();
      await gateway?.stop();
    });

    test('a run answers its steps and its output', async () => {
      const { structuredContent: run, content } = await call('workflow_look', { file: 'hello.txt' });
      assert.equal(run.status, 'completed');
      assert.match(JSON.stringify(run.output.text), /hello from a real file/);
      assert.equal(run.output.skipped, null);
      assert.deepEqual(run.steps.map(({ id, status }) => `${id} ${status}`).sort(), [
        'both.info completed',
        'both.text completed',
        'list completed',
        'never skipped',
      ]);
      assert.deepEqual(JSON.parse(content.at(-1).text), run);
    });

    test('steps run for each item, and what they write is there', async () => {
      const { structuredContent: run } = await call('workflow_write', { names: [`${surface}-1.txt`, `${surface}-2.txt`] });
      assert.equal(run.output, 2);
      assert.equal(readFileSync(join(place, `${surface}-2.txt`), 'utf8'), `UTC ${surface}-2.txt`);
    });

    test('a failure says where, cleans up and is recorded', async () => {
      const { structuredContent: run, isError } = await call('workflow_fails');
      assert.ok(isError);
      assert.equal(run.error.step, 'read');
      assert.equal(readFileSync(join(place, 'note.txt'), 'utf8'), 'failed at read');
      const { structuredContent: kept } = await call('core_workflow_execution_get', { execution_id: run.execution_id });
      assert.equal(kept.status, 'failed');
      assert.deepEqual(kept.steps.map(({ id }) => id), ['sum', 'read', 'note']);
    });

    test('a workflow runs inside of another', async () => {
      const { structuredContent: run } = await call('workflow_nested');
      assert.equal(run.output.from, 'look');
      assert.match(JSON.stringify(run.output.text), /hello from a real file/);
    });

    test('a question of a server reaches the caller', async () => {
      const { structuredContent: run } = await call('workflow_asks');
      assert.equal(run.status, 'completed', JSON.stringify(run));
      assert.match(JSON.stringify(run.output), new RegExp(SAID_BY_MODEL));
      const { structuredContent: rounds } = await call('workflow_rounds');
      assert.equal(rounds.status, 'completed', JSON.stringify(rounds));
      assert.match(JSON.stringify(rounds.output), new RegExp(SAID_BY_USER.name));
    });

    test('progress tells of every step under one token', async () => {
      const told = [];
      await call('workflow_look', { file: 'hello.txt' }, { onprogress: (progress) => told.push(progress) });
      await until('the last step was told of', () => told.some(({ message }) => message === 'step `never`: skipped'));
      const numbers = told.map(({ progress }) => progress);
      assert.deepEqual(numbers, [...numbers].sort((a, b) => a - b));
      assert.equal(new Set(numbers).size, numbers.length);
    });

    test('a run that is taken back ends and cleans up', async () => {
      const taken = new AbortController();
      const running = call('workflow_slow', {}, { signal: taken.signal, onprogress: () => taken.abort('enough') });
      await assert.rejects(running);
      await until('the clean-up has written', () => existsSync(join(place, 'slow.txt')));
      await until('the run is recorded', async () => {
        const { structuredContent } = await call('core_workflow_execution_list', { workflow: 'slow', status: 'failed' });
        return structuredContent.total > 0;
      });
    });

    test('what only reads is derived', async () => {
      const shown = async (workflow) => (await call('core_workflow_get', { workflow })).structuredContent;
      assert.deepEqual([(await shown('look')).read_only, (await shown('look')).effect], [true, 'read_only']);
      assert.equal((await shown('nested')).read_only, true);
      assert.equal((await shown('write')).read_only, false);
      if (surface === 'meta') {
        const { structuredContent: entry } = await client.call('describe_tool', { name: 'workflow_look' });
        assert.deepEqual([entry.kind, entry.annotations.readOnlyHint, entry.effect], ['workflow', true, 'read_only']);
        assert.deepEqual(entry.inputSchema.required, ['file']);
        const { structuredContent: narrowed } = await client.call('filter_tools', { toolset: ['preset:read-only'], pattern: 'workflow_*' });
        assert.deepEqual(narrowed.tools.map(({ name }) => name), ['workflow_look', 'workflow_nested']);
        const { structuredContent: one } = await client.call('filter_tools', { toolset: ['workflow:write'] });
        assert.deepEqual(one.tools.map(({ name }) => name), ['workflow_write']);
      } else {
        const names = (await client.tools()).map(({ name }) => name);
        const offered = Object.keys(WORKFLOWS).filter((name) => name !== 'lost').sort();
        assert.deepEqual(names.slice(-offered.length), offered.map((name) => `workflow_${name}`));
      }
    });

    test('what no server publishes is reported, and an edit applies', async () => {
      const { structuredContent: told } = await call('core_workflow_validate');
      assert.equal(told.valid, false);
      assert.match(told.problems[0].message, /`x_files_no_such_tool` is published by no server/);
      writeFileSync(join(dir, 'workflows/lost.yaml'), 'steps: [{id: a, tool: x_time_get_current_time, args: {timezone: UTC}}]\n');
      writeFileSync(join(dir, 'workflows/broken.yaml'), 'steps: [{id: a, tool: x_a, args: {b: "{{ input.c }}"}}]\n');
      await until('the edit applies', async () => {
        const { structuredContent } = await call('core_workflow_validate');
        return /`input.c` is not there/.test(structuredContent.problems[0]?.message) && structuredContent.workflows.includes('lost');
      });
      const { structuredContent: run } = await call('workflow_lost');
      assert.equal(run.status, 'completed');
    });

    test('records survive a restart', async () => {
      const { structuredContent: before } = await call('core_workflow_execution_list');
      await client.close();
      await gateway.stop();
      writeFileSync(join(dir, 'workflows/broken.yaml'), WORKFLOWS.lost);
      gateway = await serve(dir);
      client = await open('v1', { url: gateway.url });
      call = caller(client, surface);
      const { structuredContent: now } = await call('core_workflow_execution_list');
      assert.equal(now.total, before.total);
      assert.ok(before.total >= 8);
    });
  });
}
