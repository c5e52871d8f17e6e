// Sessions that are bound to a person and a toolset, and people with tokens of their own, against the real gateway.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { open, until } from './lib/clients.mjs';
import { BINARY, configuration, environment, serve } from './lib/gateway.mjs';
import { issuer, seconds } from './lib/issuer.mjs';
import { files, filesystem } from './lib/servers.mjs';

const run = promisify(execFile);
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const STARTER = 'key-of-the-session-starter';
const OPERATOR = 'key-of-the-operator';
const text = (result) => result.content.map((block) => block.text ?? '').join('\n');
const bearer = (token, more = {}) => ({ authorization: `Bearer ${token}`, ...more });

/** A request as no client makes it, for its status alone. */
const list = (url, headers) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } },
    }),
  });

describe('bound sessions and people', () => {
  const place = files();
  let people;
  let substrate;
  let dir;
  let gateway;
  const clients = [];

  before(async () => {
    [people, substrate] = await Promise.all([issuer(), issuer()]);
    dir = configuration(
      { files: { ...filesystem(place), trustAnnotations: true } },
      {
        surface: ['meta', 'direct'],
        store: { type: 'sqlite', path: 'state.db' },
        bindings: {
          writers: ['session-starter'],
          actor_tokens: { issuer: substrate.url, jwks: `${substrate.url}/keys`, audience: 'countersign', session_claim: 'sid' },
        },
      },
    );
    const keys = [
      { name: 'session-starter', key_sha256: sha256(STARTER), subject: 'starter@example.com' },
      { name: 'operator', key_sha256: sha256(OPERATOR), subject: 'operator@example.com', roles: ['ops'] },
      { name: 'reader', key_sha256: sha256('key-of-the-reader'), subject: 'reader@example.com', toolset: ['preset:read-only'] },
    ];
    const trusted = { issuer: people.url, audience: 'https://gateway.example/mcp', roles_claim: 'groups', leeway: '60s' };
    writeFileSync(join(dir, 'identities.yaml'), JSON.stringify({ keys, issuers: [trusted] }, null, 2));
    gateway = await serve(dir);
  });
  after(async () => {
    for (const client of clients) await client.close().catch(() => {});
    await gateway?.stop();
    await Promise.all([people?.close(), substrate?.close()]);
  });

  const actor = (session, claims = {}, how = {}) => substrate.token({ aud: 'countersign', sid: session, sub: 'agent', ...claims }, how);
  const person = (name, claims = {}, how = {}) =>
    people.token({ aud: 'https://gateway.example/mcp', sub: name, azp: 'test-client', groups: ['dev'], ...claims }, how);
  const status = async (token, more) => (await list(gateway.url, bearer(token, more))).status;
  const binding = (method, session, body, key = STARTER) =>
    fetch(new URL(`/session-bindings/${encodeURIComponent(session)}`, gateway.url), {
      method,
      headers: bearer(key, body ? { 'content-type': 'application/json' } : {}),
      body: body && JSON.stringify(body),
    });
  const bind = async (session, body) => {
    const answer = await binding('PUT', session, body);
    assert.ok(answer.ok, `${answer.status} ${await answer.clone().text()}`);
    return answer;
  };
  async function connect(token, more, kind = 'v1') {
    const client = await open(kind, { url: gateway.url, headers: bearer(token, more) });
    clients.push(client);
    await until('the server is listed', async () => {
      const { servers } = await (await fetch(new URL('/ready', gateway.url), { headers: bearer(OPERATOR) })).json();
      return servers.every((server) => server.tools > 0);
    });
    return client;
  }
  const names = async (client) => (await client.tools()).map((tool) => tool.name).filter((name) => name.startsWith('x_'));

  for (const kind of ['v1', 'v2-auto']) {
    test(`a bound session is its person within its toolset (${kind})`, async () => {
      const session = `readonly/${kind}`;
      assert.equal((await bind(session, { subject: 'carol@example.com', toolset: ['preset:read-only'], roles: ['dev'] })).status, 201);
      const client = await connect(actor(session), {}, kind);
      const listed = await names(client);
      assert.ok(listed.includes('x_files_read_text_file') && !listed.includes('x_files_write_file'), `${listed}`);
      const read = await client.call('x_files_read_text_file', { path: join(place, 'hello.txt') });
      assert.match(text(read), /hello from a real file/);

      for (const call of [
        () => client.call('x_files_write_file', { path: join(place, 'new.txt'), content: 'x' }),
        () => client.call('call_tool', { name: 'x_files_write_file', arguments: { path: join(place, 'new.txt'), content: 'x' } }),
      ]) {
        const refused = await call();
        assert.equal(refused.isError, true);
        assert.match(text(refused), /tool "x_files_write_file" is outside the toolset \[preset:read-only\] bound to the session/);
        assert.equal(refused.structuredContent.code, 'outside_toolset');
      }
      assert.throws(() => readFileSync(join(place, 'new.txt')), { code: 'ENOENT' });
      const found = (await client.call('filter_tools', {})).structuredContent;
      assert.deepEqual([found.toolset, found.toolset_bound], [['preset:read-only'], ['preset:read-only']]);
    });
  }

  test('a header narrows a bound session and never widens it', async () => {
    await bind('narrowed', { subject: 'carol@example.com', toolset: ['preset:read-only'] });
    const wide = await connect(actor('narrowed'), { 'x-countersign-toolset': 'preset:full' });
    const narrow = await connect(actor('narrowed'), { 'x-countersign-toolset': 'tool:x_files_read_text_file' });
    const all = await names(wide);
    assert.ok(all.length > 1 && !all.includes('x_files_write_file'), `${all}`);
    assert.deepEqual(await names(narrow), ['x_files_read_text_file']);
    const found = (await narrow.call('filter_tools', {})).structuredContent;
    assert.deepEqual([found.toolset, found.toolset_bound], [['tool:x_files_read_text_file'], ['preset:read-only']]);
    const refused = await wide.call('x_files_write_file', { path: join(place, 'new.txt'), content: 'x' });
    assert.match(text(refused), /is outside the toolset/);
  });

  test('preset:none leaves nothing, an unknown preset fails every call, no toolset bounds nothing', async () => {
    await bind('none', { subject: 'carol@example.com', toolset: ['preset:none'] });
    await bind('unknown', { subject: 'carol@example.com', toolset: ['preset:nobody-knows'] });
    await bind('free', { subject: 'carol@example.com' });
    const none = await connect(actor('none'));
    assert.equal((await none.call('list_tools', {})).structuredContent.total, 0);
    const unknown = await connect(actor('unknown'));
    for (const [tool, args] of [['list_tools', {}], ['filter_tools', {}], ['get_prompt', { name: 'x' }], ['call_tool', { name: 'x_files_read_text_file' }]]) {
      const failed = await unknown.call(tool, args);
      assert.equal(failed.isError, true, tool);
      assert.match(text(failed), /toolset \[preset:nobody-knows\] names unknown preset "nobody-knows"; known presets: read-only, none, full/, tool);
    }
    assert.ok((await names(await connect(actor('free')))).includes('x_files_write_file'));
  });

  test("a person's own token and a key are not bound, a key's toolset bounds it", async () => {
    assert.ok((await names(await connect(person('carol@example.com', { sid: 'none' })))).includes('x_files_write_file'));
    const reader = await connect('key-of-the-reader');
    assert.ok(!(await names(reader)).includes('x_files_write_file'));
    const refused = await reader.call('x_files_write_file', { path: join(place, 'new.txt'), content: 'x' });
    assert.match(text(refused), /tool "x_files_write_file" is outside the toolset \[preset:read-only\]/);
  });

  test('bindings are written by their writers, for one subject, with selectors as in a header', async () => {
    const body = { subject: 'carol@example.com', toolset: ['preset:read-only'] };
    assert.equal((await binding('PUT', 'w', body, OPERATOR)).status, 403);
    assert.equal((await binding('PUT', 'w', body, 'no-key-at-all')).status, 401);
    assert.equal((await binding('PUT', 'w', body, actor('narrowed'))).status, 403);
    const created = await binding('PUT', 'w', body);
    assert.equal(created.status, 201);
    const shown = await created.json();
    const again = await binding('PUT', 'w', body);
    assert.deepEqual([again.status, await again.json()], [200, shown]);
    assert.equal((await binding('PUT', 'w', { ...body, subject: 'dave@example.com' })).status, 409);
    assert.deepEqual(await (await binding('GET', 'w')).json(), shown);
    for (const [toolset, detail] of [
      [[], 'toolset [] is empty; use "preset:none" for an agent without tools'],
      [['label:a=b'], 'toolset [label:a=b] selector "label:a=b" is allowed inside presets only'],
      [Array.from({ length: 33 }, (_, at) => `tool:t${at}`), 'has 33 selectors, more than the 32 allowed inline; define a preset'],
    ]) {
      const refused = await binding('PUT', 'w', { ...body, toolset });
      assert.equal(refused.status, 400);
      assert.ok((await refused.json()).detail.includes(detail), detail);
    }
    assert.equal((await binding('DELETE', 'w')).status, 204);
    assert.equal((await binding('GET', 'w')).status, 404);
    assert.equal(await status(actor('w')), 401);
  });

  test('no binding, one that has expired, and tokens that are not for actors are 401', async () => {
    assert.equal(await status(actor('never-bound')), 401);
    await bind('short', { subject: 'carol@example.com', expires_at: new Date(Date.now() + 1500).toISOString() });
    const token = actor('short');
    await until('the binding has expired', async () => (await status(token)) === 401);
    assert.equal((await binding('GET', 'short')).status, 404);
    await bind('good', { subject: 'carol@example.com' });
    assert.equal(await status(actor('good')), 200);
    for (const [why, bad] of [
      ['another audience', actor('good', { aud: 'elsewhere' })],
      ['no session', substrate.token({ aud: 'countersign' })],
      ['a person issues it', people.token({ aud: 'countersign', sid: 'good' })],
      ['expired', actor('good', { exp: seconds(-61) })],
    ]) {
      assert.equal(await status(bad), 401, why);
    }
  });

  test("b074_people's tokens are judged by issuer, audience, time, algorithm and key, with a leeway of a minute", async () => {
    for (const alg of ['ES256', 'RS256', 'EdDSA']) assert.equal(await status(person('carol', {}, { alg })), 200, alg);
    assert.equal(await status(person('carol', { iat: seconds(30), nbf: seconds(30) })), 200, 'clocks differ by half a minute');
    assert.equal(await status(person('carol', { exp: seconds(-30) })), 200, 'within the leeway');
    const { error } = await (await list(gateway.url, bearer(person('carol', { aud: 'x' })))).json();
    assert.doesNotMatch(error.message, /audience/, 'the reason is for the trail');
    for (const [why, bad] of [
      ['another audience', person('carol', { aud: 'https://other.example/mcp' })],
      ['no audience', person('carol', { aud: undefined })],
      ['expired', person('carol', { exp: seconds(-90) })],
      ['not yet valid', person('carol', { nbf: seconds(120) })],
      ['issued in the future', person('carol', { iat: seconds(120) })],
      ['alg none', person('carol', {}, { header: { alg: 'none' } })],
      ['alg HS256', person('carol', {}, { header: { alg: 'HS256' } })],
      ['an unknown kid', person('carol', {}, { header: { kid: 'nobody' } })],
      ['another issuer', person('carol', { iss: 'https://evil.example' })],
      ["another issuer's name", substrate.token({ iss: people.url, aud: 'https://gateway.example/mcp', sub: 'carol' })],
    ]) {
      const answer = await list(gateway.url, bearer(bad));
      assert.equal(answer.status, 401, why);
      assert.match(answer.headers.get('www-authenticate'), /^Bearer resource_metadata="http/, why);
    }
  });

  test('keys that an issuer changes are followed, and what the old ones signed is no longer taken', async () => {
    const old = person('carol');
    assert.equal(await status(old), 200);
    people.rotate();
    assert.equal(await status(person('carol')), 200);
    assert.equal(await status(old), 401);
  });

  test('b008_sessions of two persons do not exist for each other, and a refreshed token keeps its session', async () => {
    const initialize = (token) =>
      fetch(gateway.url, {
        method: 'POST',
        headers: bearer(token, { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }),
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
        }),
      });
    const id = (await initialize(person('carol'))).headers.get('mcp-session-id');
    const ping = async (token) => {
      const answer = await fetch(gateway.url, {
        method: 'POST',
        headers: bearer(token, { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-session-id': id }),
        body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' }),
      });
      return answer.status;
    };
    assert.equal(await ping(person('carol')), 200);
    assert.equal(await ping(person('carol', { jti: 'another' })), 200);
    assert.equal(await ping(person('dave')), 404);
    assert.equal(await ping(person('carol', { azp: 'another-client' })), 404);
    assert.equal(await ping(OPERATOR), 404);
  });

  test('the trail says who was bound to what, and why callers were turned away', async () => {
    const operator = await connect(OPERATOR);
    const events = text(await operator.call('core_events', { limit: 200 }));
    assert.match(events, /session: bound \(readonly\/v1, toolset=\[preset:read-only\]\)/);
    assert.match(events, /outside the toolset[^"]*.{0,80}\(session: readonly\/v1, toolset=\[preset:read-only\]\)/);
    assert.match(events, /the token is for another audience than/);
    assert.match(events, /the token's `alg` is `none`/);
  });

  test('i8_a restart keeps the bindings that live and brings back none that ended', async () => {
    await bind('kept', { subject: 'carol@example.com', toolset: ['preset:read-only'] });
    await bind('ended', { subject: 'carol@example.com' });
    assert.equal((await binding('DELETE', 'ended')).status, 204);
    const before = await (await binding('GET', 'kept')).json();
    assert.equal(await gateway.stop(), 0);
    const told = gateway.log();
    gateway = await serve(dir);
    assert.deepEqual(await (await binding('GET', 'kept')).json(), before);
    assert.equal(await status(actor('ended')), 401);
    assert.equal(await status(actor('short')), 401);
    assert.ok(!(await names(await connect(actor('kept')))).includes('x_files_write_file'));
    for (const secret of [STARTER, OPERATOR, 'eyJ']) assert.ok(!told.includes(secret), 'the log shows no credential');
  });

  test('countersign tools brings a key, and says with exit code 3 that it has none', async () => {
    const tools = (env) => run(BINARY, ['tools', 'list', '--url', gateway.url], { env: environment(env) });
    assert.match((await tools({ COUNTERSIGN_BEARER: OPERATOR })).stdout, /x_files_read_text_file/);
    await assert.rejects(tools({ COUNTERSIGN_BEARER: '' }), (error) => error.code === 3 && /COUNTERSIGN_BEARER/.test(error.stderr));
  });

  test('keys that fail again and again are throttled, and good ones are not', async () => {
    for (let time = 0; time < 5; time += 1) assert.equal(await status('a wrong key'.replaceAll(' ', '-')), 401);
    const answer = await list(gateway.url, bearer('a-wrong-key'));
    assert.equal(answer.status, 429);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
    assert.equal(await status(OPERATOR), 200);
    assert.equal(await status('a-wrong-key', { 'x-forwarded-for': '198.51.100.7' }), 401, 'another address');
  });
});
