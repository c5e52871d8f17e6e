// People sign in to servers: a real authorization server, a real MCP server behind its tokens, and browsers without a screen.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { authorizationServer, protectedServer } from './lib/authority.mjs';
import { Browser, followLink } from './lib/browser.mjs';
import { open, until } from './lib/clients.mjs';
import { BINARY, configuration, start } from './lib/gateway.mjs';

const KEY = Buffer.alloc(32, 7).toString('base64');
const text = (result) => result.content.map((block) => block.text ?? '').join('\n');

/** A configuration folder for two people with keys of their own, and a store that outlives the gateway. */
function place(url) {
  const dir = configuration(
    { shop: { url, auth: 'oauth' } },
    { surface: 'direct', store: { type: 'sqlite', path: 'state.db' } },
  );
  // The authorization server is on this machine, and another origin than the server that names it.
  const mcp = { mcpServers: { shop: { url, auth: { oauth: { allowedHosts: ['127.0.0.1'] } } } } };
  writeFileSync(join(dir, 'mcp.json'), JSON.stringify(mcp));
  const key = (name) => ({ name, subject: name, key_sha256: createHash('sha256').update(`key-of-${name}`).digest('hex') });
  writeFileSync(join(dir, 'identities.yaml'), JSON.stringify({ keys: [key('ada'), key('bob')] }));
  return dir;
}

async function serve(dir, env = { COUNTERSIGN_KEY: KEY }) {
  const started = await start(BINARY, ['serve', '--config', dir], /listening on (http:\/\/\S+\/mcp)/, { env });
  return { ...started, url: started.match[1] };
}

/** A client that connects as one of the two, and what it hears of list changes. */
async function connect(gateway, name) {
  const changes = [];
  const headers = { authorization: `Bearer key-of-${name}` };
  const client = await open('v2-legacy', { url: gateway.url, headers }, { changed: (list) => changes.push(list), abilities: {} });
  const names = async () => (await client.tools()).map((tool) => tool.name).filter((tool) => tool.startsWith('x_shop_'));
  return { client, changes, names, call: (tool) => client.call(tool, {}) };
}

/** Asks for a link and goes all the way with it. */
async function signIn({ client }, account) {
  const asked = await client.call('core_auth_login', { server: 'shop' });
  const { status, auth_url } = asked.structuredContent;
  assert.equal(status, 'auth_required', JSON.stringify(asked));
  await followLink(auth_url, new Browser(account));
}

describe('signing in to a server', () => {
  let authority;
  let server;
  let dir;
  let gateway;
  let ada;
  let bob;
  before(async () => {
    authority = await authorizationServer();
    server = await protectedServer(authority);
    dir = place(server.url);
    gateway = await serve(dir);
    [ada, bob] = await Promise.all([connect(gateway, 'ada'), connect(gateway, 'bob')]);
  });
  after(async () => {
    await Promise.allSettled([ada?.client.close(), bob?.client.close()]);
    await gateway?.stop();
    await server?.close();
    await authority?.close();
  });

  test('before it, nobody has its tools, and a call answers the way to sign in', async () => {
    assert.deepEqual(await ada.names(), []);
    assert.equal(server.seen.length, 0, 'no token was sent');
    const login = await ada.client.call('core_auth_login', { server: 'shop' });
    assert.match(text(login), /auth_required/);
  });

  test('two people sign in, and each has its own tools, token and list change', async () => {
    await signIn(ada, 'alice');
    await until('the tools of ada are listed', async () => (await ada.names()).length === 2);
    assert.deepEqual((await ada.names()).sort(), ['x_shop_only_alice', 'x_shop_whoami']);
    await until('ada hears of it', () => ada.changes.includes('tools'));
    assert.deepEqual(await bob.names(), [], 'nobody else has them');
    assert.deepEqual(bob.changes, [], 'nobody else hears of it');
    assert.equal(text(await ada.call('x_shop_whoami')), 'alice');

    await signIn(bob, 'robert');
    await until('the tools of bob are listed', async () => (await bob.names()).length === 2);
    assert.deepEqual((await bob.names()).sort(), ['x_shop_only_robert', 'x_shop_whoami']);
    assert.equal(text(await bob.call('x_shop_whoami')), 'robert');
    assert.equal(text(await ada.call('x_shop_whoami')), 'alice');
    assert.deepEqual((await ada.names()).sort(), ['x_shop_only_alice', 'x_shop_whoami']);
    const hidden = await bob.call('x_shop_only_alice').catch((error) => ({ isError: true, content: [{ text: error.message }] }));
    assert.ok(hidden.isError, JSON.stringify(hidden));

    const registrations = authority.requests.filter(({ path, status }) => path === '/reg' && status === 201);
    assert.equal(registrations.length, 1, 'one client for one issuer');
    for (const { params } of authority.tokens('authorization_code')) {
      assert.equal(params.resource, server.url);
      assert.ok(params.code_verifier);
    }
  });

  test('a token that ends in the middle is renewed by one request, and its refresh token is never sent twice', async () => {
    const before = authority.tokens('refresh_token').length;
    const runs = () => server.seen.length;
    server.refuse(server.seen.filter(Boolean).findLast(() => true));
    // Both are refused what they have now.
    for (const token of new Set(server.seen)) server.refuse(token);
    const sent = runs();
    const answers = await Promise.all(Array.from({ length: 6 }, () => ada.call('x_shop_whoami')));
    assert.deepEqual(answers.map(text), Array(6).fill('alice'));
    assert.ok(runs() > sent);
    const renewals = authority.tokens('refresh_token').slice(before);
    assert.equal(renewals.length, 1, JSON.stringify(renewals.map(({ status }) => status)));
    assert.equal(renewals[0].params.resource, server.url);
    // Once more, with the token that the rotation gave.
    for (const token of new Set(server.seen)) server.refuse(token);
    assert.equal(text(await ada.call('x_shop_whoami')), 'alice');
    const presented = authority.tokens('refresh_token').map(({ params }) => params.refresh_token);
    assert.equal(new Set(presented).size, presented.length, 'none twice');
    assert.ok(authority.tokens('refresh_token').every(({ status }) => status === 200));
  });

  test('i10: tokens are in no file and in no log', () => {
    const files = readdirSync(dir).filter((name) => name.startsWith('state.db'));
    assert.ok(files.length > 0);
    const secrets = authority.requests
      .flatMap(({ params, body }) => [params.refresh_token, params.code, params.code_verifier, body?.access_token, body?.refresh_token, body?.client_secret])
      .filter(Boolean);
    assert.ok(secrets.length > 6);
    for (const [name, content] of [...files.map((name) => [name, readFileSync(join(dir, name), 'latin1')]), ['log', gateway.log()]]) {
      for (const secret of secrets) assert.ok(!content.includes(secret), `${name} holds a secret`);
    }
  });

  test('sign-ins outlive the gateway', async () => {
    await Promise.allSettled([ada.client.close(), bob.client.close()]);
    await gateway.stop();
    gateway = await serve(dir);
    [ada, bob] = await Promise.all([connect(gateway, 'ada'), connect(gateway, 'bob')]);
    await until('the tools of ada are listed again', async () => (await ada.names()).length === 2);
    assert.equal(text(await ada.call('x_shop_whoami')), 'alice');
  });

  test('a sign-in that was revoked asks for another one', async () => {
    const { grantId } = await authority.check(server.seen.at(-1), server.url);
    await authority.provider.RefreshToken.revokeByGrantId(grantId);
    for (const token of new Set(server.seen)) server.refuse(token);
    const refused = await ada.call('x_shop_whoami').catch((error) => ({ content: [{ text: error.message }] }));
    assert.match(text(refused), /auth_required/);
    await until('its tools are gone', async () => (await ada.names()).length === 0);
    await signIn(ada, 'alice');
    await until('the tools of ada are back', async () => (await ada.names()).length === 2);
    assert.equal(text(await ada.call('x_shop_whoami')), 'alice');
  });

  test('signing out ends it for one person alone', async () => {
    const out = await ada.client.call('core_auth_logout', { server: 'shop' });
    assert.equal(out.structuredContent.status, 'signed_out', JSON.stringify(out));
    assert.deepEqual(await ada.names(), []);
    await until('bob still has his', async () => text(await bob.call('x_shop_whoami')) === 'robert');
  });
});

test('a bad COUNTERSIGN_KEY stops the start, and the wrong one only sets the sign-ins aside', async () => {
  const dir = configuration({});
  await assert.rejects(serve(dir, { COUNTERSIGN_KEY: 'short' }), /ended with 2[\s\S]*COUNTERSIGN_KEY/);
});
