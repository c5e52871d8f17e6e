// What people and their clients see of a sign-in: links in both eras and in text, pages in a real browser, news of lists.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import chromium from '@sparticuz/chromium';
import { chromium as engine } from 'playwright-core';
import { authorizationServer, protectedServer } from './lib/authority.mjs';
import { Browser, followLink } from './lib/browser.mjs';
import { open, until } from './lib/clients.mjs';
import { configuration, serve, stdio } from './lib/gateway.mjs';

const text = (result) => result.content.map((block) => block.text ?? '').join('\n');
const LINK = /http:\/\/127\.0\.0\.1:\d+\/oauth\/start\?ticket=[0-9a-f]{64}/;
const URL_ABLE = { elicitation: { url: {} } };

function place(url, settings = {}) {
  const dir = configuration({}, { surface: ['direct', 'meta'], ...settings });
  const shop = { url, description: 'Tickets & <b>orders</b>', auth: { oauth: { allowedHosts: ['127.0.0.1'] } } };
  writeFileSync(join(dir, 'mcp.json'), JSON.stringify({ mcpServers: { shop } }));
  return dir;
}

function withPeople(dir, names) {
  const keys = names.map((name) => ({ name, subject: name, key_sha256: createHash('sha256').update(`key-of-${name}`).digest('hex') }));
  writeFileSync(join(dir, 'identities.yaml'), JSON.stringify({ keys }));
  return dir;
}

describe('a person signs in', () => {
  let authority;
  let server;
  let gateway;
  const people = ['text', 'modern', 'legacy', 'login', 'declines', 'eve', 'paged'];
  before(async () => {
    authority = await authorizationServer();
    server = await protectedServer(authority);
    gateway = await serve(withPeople(place(server.url), people));
  });
  after(async () => {
    await gateway?.stop();
    await server?.close();
    await authority?.close();
  });

  const target = (name) => ({ url: gateway.url, headers: { authorization: `Bearer key-of-${name}` } });

  test('a client that shows no links gets it in text, for a call and for a login', async () => {
    for (const kind of ['v1', 'v2-auto', 'v2-legacy']) {
      const client = await open(kind, target('text'), { abilities: {} });
      const refused = await client.call('x_shop_whoami');
      assert.equal(refused.isError, true, kind);
      assert.match(text(refused), /^auth_required: server "shop"/);
      assert.match(text(refused), LINK);
      const { code, server: named, auth_tool, auth_url } = refused.structuredContent;
      assert.deepEqual([code, named, auth_tool], ['auth_required', 'shop', 'core_auth_login']);
      assert.match(auth_url, LINK);
      const login = await client.call('call_tool', { name: 'core_auth_login', arguments: { server: 'shop' } });
      assert.deepEqual(login.structuredContent, { status: 'auth_required', server: 'shop', auth_url });
      assert.match(text(login), LINK);
      const listed = await client.call('list_tools');
      assert.deepEqual(listed.structuredContent.servers_requiring_auth, [
        { name: 'shop', status: 'auth_required', auth_tool: 'core_auth_login', tool_prefix: 'x_shop_' },
      ]);
      await client.close();
    }
    assert.equal(server.seen.length, 0, 'nothing was sent');
  });

  test('a client of 2026-07-28 is sent to the link, and the one call runs when its person is done', async () => {
    let ways = 0;
    let done;
    const asked = (method, params) => {
      assert.deepEqual([method, params.mode], ['elicitation/create', 'url']);
      assert.equal(params.elicitationId, undefined);
      assert.match(params.message, /shop/);
      ways += 1;
      done = followLink(params.url, new Browser('mona'));
    };
    const client = await open('v2-auto', target('modern'), { abilities: URL_ABLE, asked });
    assert.equal(text(await client.call('x_shop_whoami')), 'mona');
    await done;
    assert.equal(ways, 1);
    const login = await client.call('core_auth_login', { server: 'shop' });
    assert.deepEqual(login.structuredContent, { status: 'signed_in', server: 'shop' });
    await client.close();
  });

  test('a client of 2025-11-25 gets -32042, hears that its person is done, and calls again', async () => {
    const changes = [];
    const client = await open('v1', target('legacy'), { abilities: URL_ABLE, changed: (list) => changes.push(list) });
    const complete = [];
    client.client.fallbackNotificationHandler = async (notification) => complete.push(notification);
    const refused = await client.call('x_shop_whoami').then(
      () => assert.fail('it ran'),
      (error) => error,
    );
    assert.equal(refused.code, -32042);
    const [elicitation] = refused.data.elicitations;
    assert.deepEqual([refused.data.elicitations.length, elicitation.mode], [1, 'url']);
    assert.match(refused.message, /auth_required/);
    await followLink(elicitation.url, new Browser('lena'));
    await until('the client hears of it', () =>
      complete.some(({ method, params }) => method === 'notifications/elicitation/complete' && params.elicitationId === elicitation.elicitationId));
    await until('its list changes', () => changes.includes('tools'));
    assert.equal(text(await client.call('x_shop_whoami')), 'lena');
    await client.close();
  });

  test('core_auth_login asks a client of 2025-11-25 in the middle of the call', async () => {
    let done;
    const asked = (method, params) => {
      assert.deepEqual([method, params.mode, typeof params.elicitationId], ['elicitation/create', 'url', 'string']);
      done = followLink(params.url, new Browser('olaf'));
    };
    const client = await open('v1', target('login'), { abilities: URL_ABLE, asked });
    const login = await client.call('core_auth_login', { server: 'shop' });
    await done;
    assert.deepEqual(login.structuredContent, { status: 'signed_in', server: 'shop' });
    assert.equal(text(await client.call('x_shop_whoami')), 'olaf');
    await client.close();
  });

  test('a link is its principal’s: another credential is refused, a second use finds nothing', async () => {
    const client = await open('v2-legacy', target('declines'), { abilities: {} });
    const { auth_url: link } = (await client.call('core_auth_login', { server: 'shop' })).structuredContent;
    const eve = new Browser('eve');
    const foreign = await eve.request(link, { headers: { authorization: 'Bearer key-of-eve' } });
    assert.equal(foreign.status, 403);
    assert.match(foreign.text, /This link is not yours/);
    // A page of another site cannot press the button.
    const ticket = new URL(link).searchParams.get('ticket');
    const pressed = await eve.request(link.split('?')[0], {
      method: 'POST',
      body: new URLSearchParams({ ticket }),
      headers: { origin: 'https://evil.example' },
    });
    assert.equal(pressed.status, 403);
    const looked = await eve.request(link);
    assert.equal(looked.status, 200);
    assert.equal((await eve.request(link)).status, 200, 'looking uses nothing up');
    await followLink(link, new Browser('dora'));
    assert.equal((await eve.request(link)).status, 410);
    assert.equal(text(await client.call('x_shop_whoami')), 'dora');
    await client.close();
  });

  test('a real browser shows the pages, without a script and from nowhere else', async (t) => {
    const launching = engine.launch({ executablePath: await chromium.executablePath(), args: ['--no-sandbox'], headless: true });
    // A machine without the libraries that a browser needs is no reason to fail, unless everything has to be tested.
    const browser = await launching.catch((error) => (process.env.CI ? Promise.reject(error) : t.skip(error.message)));
    if (!browser) return;
    const client = await open('v2-legacy', target('paged'), { abilities: {} });
    const told = [];
    const shot = (page, name) => process.env.SHOTS && page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
    const fresh = async (account) => {
      const context = await browser.newContext({ extraHTTPHeaders: account ? { 'x-account': account } : {} });
      const page = await context.newPage();
      page.on('console', (message) => told.push(message.text()));
      page.on('pageerror', (error) => told.push(error.message));
      return page;
    };
    try {
      const { auth_url: link } = (await client.call('core_auth_login', { server: 'shop' })).structuredContent;
      const page = await fresh('petra');
      const response = await page.goto(link);
      const headers = response.headers();
      assert.match(headers['content-security-policy'], /^default-src 'none'; style-src 'sha256-/);
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(await page.title(), 'Sign in to “shop” · Countersign');
      const body = await page.locator('main').innerText();
      for (const part of ['paged', 'Tickets & <b>orders</b>', 'close this page']) assert.ok(body.includes(part), body);
      const background = await page.locator('button').evaluate((button) => getComputedStyle(button).backgroundColor);
      assert.equal(background, 'rgb(11, 87, 208)', 'the style is in force');
      await shot(page, 'link');
      await page.getByRole('button', { name: 'Go on to sign in' }).click();
      await page.waitForURL(/\/oauth\/callback/);
      assert.match(await page.locator('main').innerText(), /You are signed in to “shop”/);
      await shot(page, 'signed-in');
      assert.equal(text(await client.call('x_shop_whoami')), 'petra');

      const again = await page.goto(link);
      assert.equal(again.status(), 410);
      assert.match(await page.locator('main').innerText(), /This link is no longer good/);
      await shot(page, 'expired');

      // The way back of one browser, opened in another.
      await client.call('core_auth_logout', { server: 'shop' });
      const next = (await client.call('core_auth_login', { server: 'shop' })).structuredContent.auth_url;
      const other = await fresh();
      let at;
      await other.route(/\/oauth\/start$/, async (route) => {
        at = (await route.fetch({ maxRedirects: 0 })).headers().location;
        await route.fulfill({ body: 'on the way' });
      });
      await other.goto(next);
      await other.getByRole('button', { name: 'Go on to sign in' }).click();
      await until('the browser is sent on', () => at);
      assert.ok(at.startsWith(authority.url), at);
      const back = new URL('/oauth/callback', link);
      back.search = new URLSearchParams({
        state: new URL(at).searchParams.get('state'),
        iss: authority.url,
        error: 'access_denied',
        error_description: 'The <i>person</i> said no',
      });
      const stranger = await fresh();
      const refused = await stranger.goto(back.href);
      assert.equal(refused.status(), 403);
      assert.match(await stranger.locator('main').innerText(), /begun in another browser/);
      await shot(stranger, 'wrong-browser');
      const no = await other.goto(back.href);
      assert.equal(no.status(), 502);
      assert.match(await other.locator('main').innerText(), /Not signed in to “shop”/);
      await shot(other, 'refused');
      assert.deepEqual(told.filter((line) => !/status of (403|410|502)|ERR_FAILED/.test(line)), [], 'nothing was refused by a policy');
    } finally {
      await browser.close();
      await client.close();
    }
  });
});

test('a client over pipes gets a link as well', async () => {
  const authority = await authorizationServer();
  const server = await protectedServer(authority);
  const client = await open('v2-legacy', stdio(place(server.url)), { abilities: {} });
  try {
    const { auth_url: link } = (await client.call('core_auth_login', { server: 'shop' })).structuredContent;
    await followLink(link, new Browser('pipa'));
    assert.equal(text(await client.call('x_shop_whoami')), 'pipa');
    const { origin } = new URL(link);
    assert.equal((await fetch(`${origin}/mcp`, { method: 'POST', body: '{}' })).status, 404, 'the pages and nothing else');
  } finally {
    await client.close();
    await server.close();
    await authority.close();
  }
});
