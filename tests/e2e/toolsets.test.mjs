// Toolsets with real servers and the official clients: every surface, both eras, HTTP and stdio; nothing of one request
// stays for the next.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { KINDS, open, until } from './lib/clients.mjs';
import { configuration, serve, stdio } from './lib/gateway.mjs';
import { LEGACY, MODERN, RawHttp, RawStdio } from './lib/raw.mjs';
import { everything, files, filesystem, timeServer } from './lib/servers.mjs';

const dirOfFiles = files();
const city = { family: { name: 'clocks', instanceArg: 'city' } };
const servers = {
  everything: { ...everything(), labels: { tier: 'demo' } },
  files: { ...filesystem(dirOfFiles), trustAnnotations: true },
  berlin: { ...timeServer(), ...city },
  tokyo: { ...timeServer(), ...city },
};
const toolsetPresets = {
  'safe-files': {
    description: 'The files, without writing one',
    include: [{ server: 'files' }],
    exclude: [{ pattern: '*_write_file' }],
  },
  demo: { include: [{ label: 'tier=demo' }] },
  'no-berlin': { include: [{ server: 'clocks' }], exclude: [{ server: 'berlin' }] },
};
const config = (surface) => configuration(servers, { surface, toolsetPresets });
const HEADER = 'x-countersign-toolset';
const within = (...selectors) => ({ [HEADER]: selectors.join(', ') });
const text = (result) => result.content.map((block) => block.text ?? '').join('\n');
const json = (answer) => JSON.parse(answer.error ?? answer.result);
const ARGS = { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };
const URI = 'demo://resource/static/document/features.md';

/** Every exposed name that the meta-tools of a client show. */
async function listed(client) {
  const names = [];
  for (;;) {
    const page = (await client.call('list_tools', { limit: 50, offset: names.length })).structuredContent;
    names.push(...page.tools.map((tool) => tool.name));
    if (!page.truncated) return { names, page };
  }
}

const all = (gateway) =>
  until('every server is listed', async () => {
    const raw = await RawHttp.open(gateway.url, MODERN);
    const { result } = await raw.result('tools/call', {
      name: 'filter_tools',
      arguments: { pattern: 'x_*', limit: 500 },
    });
    const names = JSON.parse(result).structuredContent.tools.map((tool) => tool.name);
    return ['x_clocks_convert_time', 'x_files_write_file', 'x_everything_echo'].every((name) => names.includes(name));
  }, 180_000);

describe('surface meta', () => {
  const dir = config('meta');
  let gateway;
  before(async () => {
    gateway = await serve(dir);
    await all(gateway);
  });
  after(() => gateway?.stop());

  for (const kind of KINDS) {
    describe(kind, () => {
      const opened = [];
      const client = async (...selectors) => {
        const headers = selectors.length ? within(...selectors) : {};
        const one = await open(kind, { url: gateway.url, headers });
        opened.push(one);
        return one;
      };
      after(() => Promise.all(opened.map((one) => one.close())));

      test('a header narrows every list and every call, and is echoed', async () => {
        const safe = await client('preset:safe-files', 'server:nowhere');
        const { names, page } = await listed(safe);
        assert.ok(names.includes('x_files_read_text_file') && !names.includes('x_files_write_file'), `${names}`);
        assert.ok(names.every((name) => name.startsWith('x_files_')), `${names}`);
        assert.deepEqual(page.toolset, ['preset:safe-files', 'server:nowhere']);
        assert.deepEqual(page.toolset_unmatched, ['server:nowhere']);
        assert.equal(page.total, names.length);
        const path = join(dirOfFiles, `never-${kind}.txt`);
        const refused = await safe.call('call_tool', { name: 'x_files_write_file', arguments: { path, content: 'x' } });
        assert.equal(refused.isError, true);
        const sentence = 'tool "x_files_write_file" is outside the toolset [preset:safe-files,server:nowhere]';
        assert.equal(text(refused), sentence);
        assert.equal(refused.structuredContent.code, 'outside_toolset');
        assert.equal(refused.structuredContent.tool, 'x_files_write_file');
        assert.deepEqual(refused.structuredContent.toolset, ['preset:safe-files', 'server:nowhere']);
        assert.equal(refused.structuredContent.bound, false);
        assert.ok(!existsSync(path), 'nothing was written');
        const described = await safe.call('describe_tool', { name: 'x_files_write_file' });
        assert.equal(text(described), sentence);
        assert.match(text(await safe.call('describe_tool', { name: 'x_files_nothing' })), /^Tool not found: x_files_nothing/);
        assert.match(gateway.log(), /x_files_write_file.*safe-files/);
        // What is sent by its name is judged as what is sent through call_tool.
        const direct = await safe.call('x_files_write_file', { path, content: 'x' });
        assert.equal(text(direct), sentence);
        assert.ok(!existsSync(path), 'nothing was written');
      });

      test('tools that a server calls read-only are the preset read-only', async () => {
        const reads = await client('preset:read-only');
        const found = await reads.call('filter_tools', { pattern: 'x_files_*', limit: 100 });
        const names = found.structuredContent.tools.map((tool) => tool.name);
        assert.ok(names.includes('x_files_read_text_file') && !names.includes('x_files_write_file'), `${names}`);
        assert.ok(found.structuredContent.tools.every((tool) => tool.annotations.readOnlyHint === true));
        const core = await reads.call('list_core_tools', { include_schema: false });
        const coreNames = core.structuredContent.tools.map((tool) => tool.name);
        assert.ok(coreNames.includes('core_server_list') && !coreNames.includes('core_server_stop'), `${coreNames}`);
      });

      test('an argument resolves within the header and never widens it', async () => {
        const safe = await client('preset:safe-files');
        const wide = (await safe.call('filter_tools', { toolset: ['preset:full'], limit: 500 })).structuredContent;
        assert.ok(wide.tools.length > 0 && wide.tools.every((tool) => tool.name.startsWith('x_files_')));
        assert.ok(!wide.tools.some((tool) => tool.name === 'x_files_write_file'));
        assert.deepEqual(wide.toolset, ['preset:full']);
        const presets = wide.presets.map((preset) => [preset.name, preset.built_in]);
        assert.deepEqual(
          new Set(presets.filter(([, builtIn]) => builtIn).map(([name]) => name)),
          new Set(['read-only', 'none', 'full']),
        );
        assert.deepEqual(presets.slice(0, 3).map(([, builtIn]) => builtIn), [true, true, true]);
        const own = wide.presets.find((preset) => preset.name === 'safe-files');
        assert.equal(own.description, 'The files, without writing one');
        const plain = (await safe.call('filter_tools', {})).structuredContent;
        assert.ok(!('presets' in plain), 'a header alone adds no presets');
        const open_ = await client();
        const unscoped = (await open_.call('filter_tools', { include_presets: true, limit: 1 })).structuredContent;
        assert.ok(unscoped.presets.length >= 6 && !('toolset' in unscoped), JSON.stringify(unscoped));
      });

      test('b061 a toolset that selects nothing is an answer with a visible note, a bad one an error', async () => {
        const none = await client('preset:none');
        const { names, page } = await listed(none);
        assert.deepEqual([names, page.total, page.total_tools], [[], 0, 0]);
        assert.deepEqual(page.toolset, ['preset:none']);
        assert.ok(!page.toolset_unmatched?.length, 'preset:none is meant to select nothing');
        const nowhere = await client('server:nowhere');
        const empty = (await listed(nowhere)).page;
        assert.equal(empty.total, 0);
        assert.match(empty.note, /server:nowhere/);
        for (const [selectors, sentence] of [
          [['preset:foo'], /^toolset \[preset:foo\] names unknown preset "foo"; known presets: read-only, none, full, /],
          [['server:files', 'files'], /selector "files" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>/],
          [['label:tier=demo'], /selector "label:tier=demo" is allowed inside presets only/],
          [['toolset:x'], /selector "toolset:x" is reserved for shared toolsets/],
          [Array(33).fill('server:files'), /has 33 selectors, more than the 32 allowed inline; define a preset/],
        ]) {
          const bad = await client(...selectors);
          for (const [name, args] of [
            ['list_tools', {}],
            ['filter_tools', {}],
            ['describe_tool', { name: 'x_files_read_text_file' }],
            ['list_core_tools', {}],
            ['call_tool', { name: 'core_server_list', arguments: {} }],
            ['list_resources', {}],
            ['describe_resource', { uri: URI }],
            ['get_resource', { uri: URI }],
            ['list_prompts', {}],
            ['get_prompt', { name: 'x_everything_simple-prompt' }],
          ]) {
            const answer = await bad.call(name, args);
            assert.equal(answer.isError, true, name);
            assert.match(text(answer), sentence, name);
            assert.equal(answer.structuredContent.code, 'bad_toolset', name);
          }
        }
      });

      test('a family is shown and run on the members that are selected', async () => {
        const client_ = await client('preset:no-berlin', 'tool:x_everything_echo');
        const described = (await client_.call('describe_tool', { name: 'x_clocks_convert_time' })).structuredContent;
        assert.deepEqual(described.inputSchema.properties.city.enum, ['tokyo']);
        assert.deepEqual(described.family.members.map((member) => member.server), ['tokyo']);
        const call = (args) => client_.call('call_tool', { name: 'x_clocks_convert_time', arguments: { ...ARGS, ...args } });
        assert.match(text(await call({ city: 'tokyo' })), /21:00/);
        const refused = await call({ city: 'berlin' });
        assert.equal(
          text(refused),
          'tool "x_clocks_convert_time" on server "berlin" is outside the toolset [preset:no-berlin,tool:x_everything_echo]',
        );
        assert.match(text(await call({})), /provided by a family on servers tokyo; the "city" parameter is required/);
      });

      test('resources and prompts follow their servers', async () => {
        const demo = await client('preset:demo');
        assert.ok((await demo.resources()).some((resource) => resource.uri === URI));
        const prompts = (await demo.prompts()).map((prompt) => prompt.name);
        assert.ok(prompts.includes('x_everything_simple-prompt'), `${prompts}`);
        const other = await client('server:files');
        assert.deepEqual(await other.resources(), []);
        assert.deepEqual(await other.prompts(), []);
        assert.deepEqual(await other.templates(), []);
        const resource = await other.call('get_resource', { uri: URI });
        assert.equal(text(resource), `resource "${URI}" is outside the toolset [server:files]`);
        const prompt = await other.call('get_prompt', { name: 'x_everything_simple-prompt' });
        assert.equal(text(prompt), 'prompt "x_everything_simple-prompt" is outside the toolset [server:files]');
        for (const ask of [
          () => other.client.readResource({ uri: URI }),
          () => other.client.getPrompt({ name: 'x_everything_simple-prompt' }),
          () =>
            other.client.complete({
              ref: { type: 'ref/prompt', name: 'x_everything_completable-prompt' },
              argument: { name: 'department', value: 'Eng' },
            }),
        ]) {
          await assert.rejects(ask, /is outside the toolset \[server:files\]/);
        }
      });
    });
  }

  test('two clients on one session with different headers, interleaved 1,000 times: nothing sticks', async () => {
    const raw = await RawHttp.open(gateway.url, LEGACY);
    const ask = async (id, headers) => {
      const body = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'filter_tools', arguments: { limit: 500 } } };
      const response = await raw.post(JSON.stringify(body), headers);
      const answer = await response.json();
      return answer.result;
    };
    const whole = (await ask(0, {})).structuredContent.total;
    const kinds = [
      [within('server:files'), (found) => found.tools.every((tool) => tool.server === 'files') && found.toolset[0] === 'server:files'],
      [within('server:tokyo'), (found) => found.total === 2 && found.tools.every((tool) => tool.server === 'clocks')],
      [{}, (found) => found.total === whole && !('toolset' in found)],
      [within('preset:nope'), (_, result) => result.isError === true && /unknown preset "nope"/.test(text(result))],
    ];
    let next = 1;
    const agent = async (which) => {
      for (let round = 0; round < 250; round += 1) {
        const [headers, holds] = kinds[(which + round) % kinds.length];
        const result = await ask(next++, headers);
        assert.ok(holds(result.structuredContent, result), `${which} ${round} ${JSON.stringify(headers)} ${JSON.stringify(result).slice(0, 300)}`);
      }
    };
    await Promise.all([0, 1, 2, 3].map(agent));
    await raw.close();
  });

  test('both names of the header and several lines are one list', async () => {
    const raw = await RawHttp.open(gateway.url, MODERN, { [HEADER]: 'server:files', 'x-muster-toolset': 'server:tokyo' });
    const { result } = await raw.result('tools/call', { name: 'list_tools', arguments: { limit: 500 } });
    const page = JSON.parse(result).structuredContent;
    assert.deepEqual(page.toolset, ['server:files', 'server:tokyo']);
    assert.deepEqual(new Set(page.tools.map((tool) => tool.server)), new Set(['files', 'clocks']));
  });

  test('the list of the meta-tools themselves is the same with every toolset', async () => {
    const names = async (headers) => {
      const raw = await RawHttp.open(gateway.url, MODERN, headers);
      return JSON.parse((await raw.result('tools/list')).result).tools.map((tool) => tool.name);
    };
    const open_ = await names({});
    assert.deepEqual(await names(within('preset:none')), open_);
    assert.deepEqual(await names(within('preset:nope')), open_);
  });
});

describe('surface direct', () => {
  const dir = config('direct');
  let gateway;
  before(async () => {
    gateway = await serve(dir);
    await until('every server is listed', async () => {
      const raw = await RawHttp.open(gateway.url, MODERN, { 'x-countersign-surface': 'meta' });
      const { result } = await raw.result('tools/call', { name: 'list_tools', arguments: { limit: 500 } });
      const names = JSON.parse(result).structuredContent.tools.map((tool) => tool.name);
      return ['x_clocks_convert_time', 'x_files_write_file', 'x_everything_echo'].every((name) => names.includes(name));
    }, 180_000);
  });
  after(() => gateway?.stop());

  for (const kind of KINDS) {
    test(`${kind}: the lists are narrowed, and what they do not show cannot be called`, async () => {
      const client = await open(kind, { url: gateway.url, headers: within('preset:safe-files', 'server:tokyo') });
      const tools = await client.tools();
      const names = tools.map((tool) => tool.name);
      assert.ok(names.every((name) => /^x_(files|clocks)_/.test(name)) && !names.includes('x_files_write_file'), `${names}`);
      const clock = tools.find((tool) => tool.name === 'x_clocks_convert_time');
      assert.deepEqual(clock.inputSchema.properties.city.enum, ['tokyo']);
      assert.deepEqual([await client.resources(), await client.templates(), await client.prompts()], [[], [], []]);
      const refused = await client.call('x_everything_echo', { message: 'm' });
      assert.equal(refused.isError, true);
      assert.equal(text(refused), 'tool "x_everything_echo" is outside the toolset [preset:safe-files,server:tokyo]');
      const other = await client.call('x_clocks_convert_time', { ...ARGS, city: 'berlin' });
      assert.match(text(other), /^tool "x_clocks_convert_time" on server "berlin" is outside the toolset \[/);
      await client.close();
    });
  }

  for (const era of [LEGACY, MODERN]) {
    test(`${era}: a bad toolset is -32602 with its text, for every list and every call`, async () => {
      const raw = await RawHttp.open(gateway.url, era, within('preset:nope'));
      for (const [method, params] of [
        ['tools/list', {}],
        ['prompts/list', {}],
        ['resources/list', {}],
        ['resources/templates/list', {}],
        ['tools/call', { name: 'x_everything_echo', arguments: { message: 'm' } }],
        ['prompts/get', { name: 'x_everything_simple-prompt' }],
        ['resources/read', { uri: URI }],
        ['completion/complete', { ref: { type: 'ref/resource', uri: URI }, argument: { name: 'a', value: '' } }],
      ]) {
        const error = json(await raw.result(method, params));
        assert.equal(error.code, -32602, method);
        assert.match(error.message, /^toolset \[preset:nope\] names unknown preset "nope"; known presets: /, method);
      }
      await raw.close();
    });

    test(`${era}: an empty list says why it is empty`, async () => {
      const raw = await RawHttp.open(gateway.url, era, within('server:nowhere'));
      const list = json(await raw.result('tools/list'));
      assert.deepEqual(list.tools, []);
      assert.match(list._meta['countersign/note'], /server:nowhere/);
      await raw.close();
    });
  }
});

describe('stdio', () => {
  const dir = config('meta');

  for (const era of [LEGACY, MODERN]) {
    test(`${era}: the flag bounds every request, and a request narrows itself further`, async () => {
      const command = stdio(dir);
      const raw = await RawStdio.open({ ...command, args: [...command.args, '--toolset', 'server:files,server:tokyo'] }, era);
      const list = async (meta) => {
        const params = { name: 'list_tools', arguments: { limit: 500 }, ...(meta ? { _meta: meta } : {}) };
        return json(await raw.result('tools/call', params)).structuredContent;
      };
      const whole = await list();
      assert.deepEqual(whole.toolset, ['server:files', 'server:tokyo']);
      assert.deepEqual(new Set(whole.tools.map((tool) => tool.server)), new Set(['files', 'clocks']));
      const narrow = await list({ 'countersign/toolset': 'server:tokyo, server:everything' });
      assert.deepEqual(narrow.toolset, ['server:tokyo', 'server:everything']);
      assert.deepEqual(new Set(narrow.tools.map((tool) => tool.server)), new Set(['clocks']));
      assert.deepEqual(await list(), whole, 'nothing stays');
      const bad = await list({ 'countersign/toolset': ['preset:none', 7] });
      assert.equal(bad.code, 'bad_toolset');
      await raw.close();
    });
  }
});
