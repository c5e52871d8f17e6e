// What a server defines and answers reaches the caller byte for byte (I11): the gateway compared with a direct connection.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { join } from 'node:path';
import { until } from './lib/clients.mjs';
import { QUIRK_UPSTREAM, configuration, environment, fixture, serve, stdio } from './lib/gateway.mjs';
import { elements, member, members, without } from './lib/json.mjs';
import { LEGACY, MODERN, RawHttp, RawStdio } from './lib/raw.mjs';
import { all } from './lib/servers.mjs';

const ERAS = { legacy: LEGACY, modern: MODERN };
/** Tools of the quirk server whose answers the gateway takes part in, tested apart. */
const APART = ['echo', 'headers', 'hang', 'cancels', 'input_required_unknown', 'task_extra'];
const BARE = { surface: 'direct', name_prefix: '' };
const nameOf = (definition) => JSON.parse(member(definition, 'name'));
/** The name under which the gateway offers a server's tool; a server's name is not said twice. */
const exposed = (server, tool) => (tool.startsWith(`${server}_`) ? `x_${tool}` : `x_${server}_${tool}`);
/** Without what the gateway itself offers on every surface. */
const foreign = (list) =>
  list.filter((one) => !/^(core_|tell_me_my_rights$|request_grant$)/.test(nameOf(one)) && !member(one, 'uri')?.startsWith('"core'));

/** Members of a result that the gateway may own: `_meta` is compared without the server's name. */
function comparable(result, owned = []) {
  return without(result, ...owned).map(([key, value]) =>
    key === '_meta' ? [key, JSON.stringify(without(value, 'io.modelcontextprotocol/serverInfo', 'countersign/tool'))] : [key, value],
  );
}
const filled = (list) => list.filter(([key, value]) => key !== '_meta' || value !== '[]');

for (const [word, era] of Object.entries(ERAS)) {
  for (const link of ['http', 'stdio']) {
    describe(`odd JSON, ${word} to ${word}, upstream over ${link}`, () => {
      let quirk;
      let gateway;
      let direct;
      let through;
      before(async () => {
        quirk = await fixture(QUIRK_UPSTREAM, word);
        const server =
          link === 'http' ? { type: 'http', url: quirk.url } : { command: QUIRK_UPSTREAM, args: ['--era', word] };
        const dir = configuration({ quirk: { ...server, toolPrefix: '' } }, BARE);
        gateway = await serve(dir);
        direct = await RawHttp.open(quirk.url, era);
        through = await RawHttp.open(gateway.url, era);
        await until('the tools are listed', async () => (await through.list('tools/list', 'tools')).length > 10);
      });
      after(async () => {
        await through?.close();
        await gateway?.stop();
        await quirk?.stop();
      });

      for (const [method, key] of [
        ['tools/list', 'tools'],
        ['resources/list', 'resources'],
        ['resources/templates/list', 'resourceTemplates'],
        ['prompts/list', 'prompts'],
      ]) {
        test(`${method}: every definition is the server's own text`, async () => {
          assert.deepEqual(foreign(await through.list(method, key)), await direct.list(method, key));
        });
      }

      test('results of tools are the server’s own text', async () => {
        const names = (await direct.list('tools/list', 'tools')).map(nameOf).filter((name) => !APART.includes(name));
        const modernOnly = ['unknown_result_type'];
        for (const name of names.filter((one) => era === MODERN || !modernOnly.includes(one))) {
          const want = await direct.result('tools/call', { name, arguments: {} });
          const got = await through.result('tools/call', { name, arguments: {} });
          assert.equal(got.error, want.error, name);
          if (want.result !== undefined) {
            assert.deepEqual(filled(comparable(got.result)), filled(comparable(want.result)), name);
          }
        }
      });

      test('contents of resources and messages of prompts are the server’s own text', async () => {
        for (const uri of ['quirk://text', 'quirk://blob', 'quirk://item/7']) {
          const want = await direct.result('resources/read', { uri });
          const got = await through.result('resources/read', { uri });
          assert.deepEqual(filled(comparable(got.result ?? got.error)), filled(comparable(want.result)), uri);
        }
        const want = await direct.result('prompts/get', { name: 'quirky' });
        const got = await through.result('prompts/get', { name: 'quirky' });
        assert.deepEqual(filled(comparable(got.result)), filled(comparable(want.result)));
      });

      test('the server sees the caller’s parameters as they were written', async () => {
        const modern =
          era === MODERN
            ? `"io.modelcontextprotocol/protocolVersion":"${MODERN}","io.modelcontextprotocol/clientCapabilities":{"sampling":{},"vendor.example/z":{"b":1,"a":2}},`
            : '';
        const params = `{"futureParam":{"z":1,"a":[1.0,1e400]},"name":"echo","arguments":{"big":9007199254740993,"one":1.0,"over":1e400,"minus":-0,"text":"\\u0041"},"_meta":{${modern}"vendor.example/z":{"b":1,"a":2},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}`;
        const { result, error } = await through.result('tools/call', { name: 'echo' }, params);
        assert.equal(error, undefined);
        const seen = member(result, 'structuredContent');
        assert.equal(member(seen, 'futureParam'), '{"z":1,"a":[1.0,1e400]}');
        assert.equal(member(seen, 'name'), '"echo"');
        const args = Object.fromEntries(members(member(seen, 'arguments')));
        assert.equal(args.big, '9007199254740993');
        assert.equal(args.one, '1.0');
        assert.equal(args.over, '1e400');
        assert.equal(args.minus, '-0');
        assert.equal(JSON.parse(args.text), 'A');
        const meta = member(seen, '_meta');
        assert.equal(member(meta, 'vendor.example/z'), '{"b":1,"a":2}');
        assert.match(member(meta, 'traceparent'), /^"00-0af7651916cd43dd8448eb211c80319c-/);
        if (era === MODERN) {
          assert.equal(JSON.parse(member(meta, 'io.modelcontextprotocol/protocolVersion')), MODERN);
        }
      });

      test('a call given up by the caller is given up at the server', async () => {
        const stop = new AbortController();
        const id = through.next++;
        const own = era === MODERN ? JSON.stringify({ 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {} }) : '{}';
        const message = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"hang","arguments":{},"_meta":${own}}}`;
        const hanging = through.send(message, id, 'tools/call', 'hang', stop.signal).catch(() => 'given up');
        const cancels = async () => {
          const { result } = await through.result('tools/call', { name: 'cancels', arguments: {} });
          return Number(member(member(result, 'structuredContent'), 'cancels'));
        };
        const had = await cancels();
        if (era === MODERN) {
          stop.abort();
        } else {
          const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
          await (await through.post(cancelled)).text();
        }
        await until('the server hears of it', async () => (await cancels()) > had);
        stop.abort();
        await hanging;
      });
    });
  }
}

describe('odd JSON, parameters mirrored into headers', () => {
  test('the server gets the headers of its own schema, with its own name', async () => {
    const quirk = await fixture(QUIRK_UPSTREAM, 'modern');
    const gateway = await serve(configuration({ quirk: { type: 'http', url: quirk.url } }, { surface: 'direct' }));
    const through = await RawHttp.open(gateway.url, MODERN);
    await until('the tools are listed', async () => (await through.list('tools/list', 'tools')).length > 10);
    through.extra = { 'mcp-param-region': 'eu-1' };
    const { result, error } = await through.result('tools/call', { name: 'x_quirk_headers', arguments: { region: 'eu-1' } });
    assert.equal(error, undefined);
    assert.deepEqual(JSON.parse(member(result, 'structuredContent')), {
      'mcp-method': 'tools/call',
      'mcp-name': 'headers',
      'mcp-param-region': 'eu-1',
      'mcp-protocol-version': MODERN,
    });
    await gateway.stop();
    await quirk.stop();
  });
});

describe('odd JSON, a result of a kind that no revision knows', () => {
  test('a task that the caller cannot follow is asked for by the gateway, and the error is the server’s own', async () => {
    const quirk = await fixture(QUIRK_UPSTREAM, 'modern');
    const gateway = await serve(configuration({ quirk: { type: 'http', url: quirk.url, toolPrefix: '' } }, BARE));
    const through = await RawHttp.open(gateway.url, MODERN);
    await until('the tools are listed', async () => (await through.list('tools/list', 'tools')).length > 10);
    const got = await through.result('tools/call', { name: 'task_extra', arguments: {} });
    assert.equal(got.error, '{"code":-32601,"message":"quirk says no"}');
    await gateway.stop();
    await quirk.stop();
  });
  test('an unknown question of the server passes as it is, but for the name of the server that asks', async () => {
    const quirk = await fixture(QUIRK_UPSTREAM, 'modern');
    const dir = configuration({ quirk: { type: 'http', url: quirk.url, toolPrefix: '' } }, BARE);
    const gateway = await serve(dir);
    const direct = await RawHttp.open(quirk.url, MODERN);
    const through = await RawHttp.open(gateway.url, MODERN);
    await until('the tools are listed', async () => (await through.list('tools/list', 'tools')).length > 10);
    const want = await direct.result('tools/call', { name: 'input_required_unknown', arguments: {} });
    const got = await through.result('tools/call', { name: 'input_required_unknown', arguments: {} });
    assert.equal(member(got.result, 'resultType'), '"input_required"');
    const name = ',"_meta":{"countersign/server":"quirk"}';
    const asked = member(got.result, 'inputRequests');
    assert.ok(asked.includes(name), asked);
    assert.equal(asked.replace(name, ''), member(want.result, 'inputRequests'));
    assert.equal(member(got.result, 'futureMember'), '1');
    await gateway.stop();
    await quirk.stop();
  });
});

for (const [down, up] of [
  ['legacy', 'modern'],
  ['modern', 'legacy'],
]) {
  describe(`odd JSON, ${down} caller, ${up} server`, () => {
    test('everything but the fields of the bridge is the server’s own text', async () => {
      const quirk = await fixture(QUIRK_UPSTREAM, up);
      const dir = configuration({ quirk: { type: 'http', url: quirk.url, toolPrefix: '' } }, BARE);
      const gateway = await serve(dir);
      const direct = await RawHttp.open(quirk.url, ERAS[up]);
      const through = await RawHttp.open(gateway.url, ERAS[down]);
      await until('the tools are listed', async () => (await through.list('tools/list', 'tools')).length > 10);
      const owned = ['resultType', 'ttlMs', 'cacheScope'];
      const listed = foreign(await through.list('tools/list', 'tools'));
      assert.deepEqual(listed, await direct.list('tools/list', 'tools'));
      // A legacy caller gets structured content only when it is an object, and only modern servers have other result types.
      const bridged = ['structured_array', 'structured_null', 'unknown_result_type'];
      const names = listed.map(nameOf).filter((name) => ![...APART, ...bridged].includes(name));
      for (const name of names) {
        const want = await direct.result('tools/call', { name, arguments: {} });
        const got = await through.result('tools/call', { name, arguments: {} });
        assert.equal(got.error, want.error, name);
        if (want.result !== undefined) {
          assert.deepEqual(filled(comparable(got.result, owned)), filled(comparable(want.result, owned)), name);
          if (down === 'modern') assert.equal(member(got.result, 'resultType'), '"complete"', name);
          else assert.equal(member(got.result, 'resultType'), undefined, name);
        }
      }
      if (down === 'legacy') {
        const array = await through.result('tools/call', { name: 'structured_array', arguments: {} });
        assert.deepEqual(members(array.result), [['content', '[{"type":"text","text":"[1]"}]']]);
      }
      await gateway.stop();
      await quirk.stop();
    });
  });
}

describe('real servers', () => {
  const { place, servers } = all();
  const { fixture: _, ...real } = servers;
  /** The newest revision that each server speaks, which is the one that the gateway speaks with it. */
  const speaks = { everything: LEGACY, files: LEGACY, git: MODERN, time: MODERN };
  const path = join(place.files, 'hello.txt');
  const calls = [
    ['everything', 'echo', { message: 'é 😀 \u0000' }],
    ['everything', 'get-sum', { a: 1, b: 2.5 }],
    ['everything', 'get-tiny-image', {}],
    ['everything', 'get-structured-content', { location: 'Chicago' }],
    ['everything', 'get-annotated-message', { messageType: 'error', includeImage: true }],
    ['everything', 'get-resource-links', { count: 2 }],
    ['everything', 'get-sum', { a: 'no number', b: 1 }],
    ['files', 'read_text_file', { path }],
    ['files', 'list_directory', { path: place.files }],
    ['files', 'read_text_file', { path: '/etc/passwd' }],
    ['git', 'git_status', { repo_path: place.repository }],
    ['git', 'git_log', { repo_path: place.repository }],
    ['git', 'git_log', { repo_path: '/' }],
    ['time', 'convert_time', { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' }],
    ['time', 'convert_time', { source_timezone: 'Nowhere', time: '12:00', target_timezone: 'UTC' }],
  ];
  const dir = configuration(real, { surface: 'direct' });
  const direct = {};
  let gateway;
  before(async () => {
    gateway = await serve(dir);
    for (const [name, { command, args }] of Object.entries(real)) {
      direct[name] = await RawStdio.open({ command, args, env: environment() }, speaks[name]);
    }
  });
  after(async () => {
    for (const one of Object.values(direct)) await one.close();
    await gateway?.stop();
  });

  for (const transport of ['http', 'stdio']) {
    for (const [word, era] of Object.entries(ERAS)) {
      test(`definitions and results for a ${word} caller over ${transport} equal those of a direct connection`, async () => {
        const through = transport === 'http' ? await RawHttp.open(gateway.url, era) : await RawStdio.open(stdio(dir), era);
        for (const server of Object.keys(real)) {
          // The tools of server-everything depend on what its client can be asked, and come a moment after the start.
          const want = await until(`${server} lists directly`, async () => {
            const tools = await direct[server].list('tools/list', 'tools');
            return (server !== 'everything' || tools.length > 14) && tools;
          });
          const names = new Set(want.map((one) => exposed(server, nameOf(one))));
          const got = await until(`${server} lists through the gateway`, async () => {
            const tools = (await through.list('tools/list', 'tools')).filter((one) => names.has(nameOf(one)));
            return tools.length === want.length && tools;
          });
          const named = want.map((one) =>
            one.replace(`"name":${member(one, 'name')}`, `"name":"${exposed(server, nameOf(one))}"`),
          );
          const sorted = (list) => list.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
          assert.deepEqual(sorted(got), sorted(named), server);
        }
        for (const [server, name, args] of calls) {
          const what = `${name} ${JSON.stringify(args)}`;
          const want = await direct[server].result('tools/call', { name, arguments: args });
          const got = await through.result('tools/call', { name: exposed(server, name), arguments: args });
          assert.equal(got.error, want.error, what);
          if (want.error === undefined) {
            const owned = era === speaks[server] ? [] : ['resultType', 'ttlMs', 'cacheScope'];
            assert.deepEqual(filled(comparable(got.result, owned)), filled(comparable(want.result, owned)), what);
          }
        }
        await through.close();
      });
    }
  }
});
