// Makes the gateway say what docs/troubleshooting.md explains, with the real binary; each maker answers the texts it got.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { until } from './clients.mjs';
import { BINARY, HERE, NODE, configuration, environment, folder, serve } from './gateway.mjs';

const MODERN = '2026-07-28';
const stub = (tools, ...more) => ({ command: NODE, args: [join(HERE, 'lib/stub.mjs'), JSON.stringify(tools), ...more] });

/** Runs the program; answers what it printed, with the wrapping of long lines undone. */
function told(...args) {
  return new Promise((done) => {
    execFile(BINARY, args, { env: environment({ NO_COLOR: '1' }), timeout: 60_000 }, (_error, stdout, stderr) =>
      done(`${stdout}\n${stderr}`.replace(/\n\s*│ |\n {8,}/g, ' ')),
    );
  });
}

/** What `check` says of one file of the folder. */
async function checked(files) {
  const dir = folder('check');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const report = await new Promise((done) => {
    const env = environment();
    delete env.NOT_SET;
    execFile(BINARY, ['check', '--config', dir, '--output', 'json'], { env, timeout: 60_000 }, (_error, stdout) => done(JSON.parse(stdout)));
  });
  return report.problems.map((problem) => problem.message);
}

/** One request as it is; answers status and message. */
function asked(url, { method = 'POST', headers = {}, body, path } = {}) {
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const all = Object.fromEntries(Object.entries({ ...json, ...headers }).filter(([, value]) => value !== null));
  const target = new URL(url);
  return new Promise((done, fail) => {
    const sent = request({ host: target.hostname, port: target.port, path: path ?? target.pathname, method, headers: all }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += chunk));
      answer.on('end', () => {
        const { error } = JSON.parse(text);
        done(`HTTP ${answer.statusCode}: ${error?.message ?? error}`);
      });
    });
    sent.on('error', fail);
    // Node writes no length with the body of a GET: the server would read it as the next request.
    sent.end(method === 'GET' ? undefined : (body ?? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
  });
}

/** A request in the era without sessions. */
function modern(method, params = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'docs', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } });
}

/** A call in the era without sessions; answers its texts. */
async function called(url, name, args = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: modern('tools/call', { name, arguments: args }),
  });
  const text = await answer.text();
  const message = JSON.parse(text.startsWith('{') ? text : text.match(/^data: (\{.*"id".*)$/m)[1]);
  return message.error?.message ?? message.result.content.map((block) => block.text).join('\n');
}

/** Everything that stands in the way of a start. */
export async function starting() {
  const one = (entry, more = {}) => JSON.stringify({ mcpServers: { a: entry }, ...more });
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => taken.once('listening', done));
  const address = `127.0.0.1:${taken.address().port}`;
  const quiet = { metrics: { listen: null }, store: { type: 'memory' }, listen: '127.0.0.1:0' };
  const dir = configuration({}, { ...quiet, listen: address });
  const importable = folder('import');
  writeFileSync(join(importable, 'theirs.json'), one({ command: 'a' }));
  writeFileSync(join(importable, 'other.json'), '{"editor.fontSize": 12}');
  writeFileSync(join(importable, 'mcp.json'), '{}');
  const texts = [
    await told('check', '--config', join(importable, 'none')),
    ...(await checked({ 'mcp.json': one({ comand: 'npx' }) })),
    ...(await checked({ 'mcp.json': one({ command: 'a', env: { TOKEN: '${NOT_SET}' } }) })),
    ...(await checked({ 'mcp.json': one({ command: 'a', args: ['${input:token}'] }) })),
    ...(await checked({ 'mcp.json': one({ command: 'a', url: 'http://a/mcp' }) })),
    ...(await checked({ 'mcp.json': one({ url: 'http://a/mcp', auth: 'forwardToken' }) })),
    ...(await checked({ 'mcp.json': one({ command: 'a' }, { commandAllowlist: ['b'] }) })),
    ...(await checked({ 'mcp.json': '{"mcpServers": {"a": {"command": "a"}, "a": {"command": "b"}}}' })),
    ...(await checked({ 'mcp.json': '{"mcpServers": {"a": {"command": "a"}' })),
    ...(await checked({ 'mcp.json': '{"mcpServers": {"a b": {"command": "a"}}}' })),
    ...(await checked({ 'mcp.json': '{}', 'countersign.yaml': 'listen: 0.0.0.0:8090' })),
    ...(await checked({ 'mcp.json': '{}', 'countersign.yaml': 'write_gate: {mode: require_approval}' })),
    ...(await checked({ 'mcp.json': '{}', 'countersign.yaml': 'limits: {call_timeout: 120}' })),
    ...(await checked({ 'mcp.json': '{}', 'countersign.yml': '' })),
    ...(await checked({ 'mcp.json': '{}', 'authz.yaml': '' })),
    ...(await checked({})),
    await told('serve', '--config', dir),
    await told('serve', '--config', configuration({}, { ...quiet, metrics: { listen: address } })),
    await told('serve', '--config', dir, '--listen', '0.0.0.0:8090'),
    await told('serve', '--config', configuration({}, { ...quiet, store: { type: 'sqlite', path: '/dev/null/state.db' } })),
    await told('import', join(importable, 'theirs.json'), '--dir', importable),
    await told('import', join(importable, 'other.json'), '--stdout'),
  ];
  taken.close();
  return texts;
}

/** What a client hears that does not speak as it should. */
export async function connecting() {
  const gateway = await serve(configuration({}, { limits: { request_bytes: '1KiB', sessions: 1, sessions_per_principal: 1 } }));
  const { url } = gateway;
  const texts = [
    await asked(url, { headers: { host: 'gateway.example.com' } }),
    await asked(url, { headers: { origin: 'https://app.example.com' } }),
    await asked(url, { headers: { 'mcp-session-id': 'abc' } }),
    await asked(url),
    await asked(url, { headers: { accept: 'text/html' } }),
    await asked(url, { headers: { 'content-type': 'text/plain' } }),
    await asked(url, { headers: { 'content-encoding': 'gzip' } }),
    await asked(url, { headers: { 'mcp-protocol-version': '2020-01-01' } }),
    await asked(url, { headers: { 'x-countersign-specialist': 'a' } }),
    await asked(url, { headers: { 'x-countersign-surface': 'code' } }),
    await asked(url, { headers: { 'mcp-method': 'tools/call', 'mcp-protocol-version': MODERN }, body: modern('tools/list') }),
    await asked(url, { headers: { 'mcp-method': 'tools/list', 'mcp-protocol-version': MODERN }, body: modern('tools/list', { cursor: 'x' }) }),
    await asked(url, { body: '{"jsonrpc":"2.0","id":1,"method":"a","params":{"k":1,"k":2}}' }),
    await asked(url, { body: '{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}' }),
    await asked(url, { body: 'x'.repeat(2000) }),
    await asked(url, { method: 'GET' }),
    await asked(url, { path: '/' }),
    await told('tools', 'list', '--url', 'http://127.0.0.1:1/mcp'),
    await told('tools', 'list', '--url', url.replace('/mcp', '/elsewhere')),
    await told('tools', 'list', '--url', url.replace('127.0.0.1', '127.0.0.2')),
    await told('tools', 'call', 'x_a_b', '--args', '[1]', '--url', url),
  ];
  await gateway.stop();
  return texts;
}

/** What callers hear of servers that are not well. */
export async function calling() {
  const web = createServer((asked, answer) => {
    if (asked.url === '/hole') return;
    answer.statusCode = asked.url === '/locked' ? 401 : 302;
    answer.setHeader('location', '/elsewhere');
    answer.end();
  }).listen(0, '127.0.0.1');
  await new Promise((done) => web.once('listening', done));
  const base = `http://127.0.0.1:${web.address().port}`;
  const servers = {
    missing: { command: 'no-such-program' },
    lost: { command: NODE, cwd: '/no/such/folder' },
    ends: { command: NODE, args: ['-e', 'process.exit(3)'] },
    off: { command: NODE, suspended: true },
    away: { url: 'http://127.0.0.1:1/mcp' },
    locked: { url: `${base}/locked` },
    moved: { url: `${base}/moved` },
    stub: { ...stub([{ name: 'die' }, { name: 'hang' }, { name: 'fine' }]), timeout: '500ms' },
  };
  const gateway = await serve(configuration(servers));
  const slow = { mute: { command: NODE, args: ['-e', 'setInterval(() => {}, 1000)'] }, hole: { url: `${base}/hole` } };
  const hasty = await serve(configuration(slow, { limits: { connect_timeout: '1s' } }));
  const { url } = gateway;
  const ready = async () => (await fetch(url.replace('/mcp', '/ready'))).json();
  const listed = async (name) => (await ready()).servers.find((server) => server.name === name);
  await until('the stub is listed', async () => (await listed('stub')).tools === 3);
  const texts = [];
  // A start is tried again with growing pauses, and given up after the fifth.
  await until('the one that ends is given up', async () => {
    const reason = (await listed('ends')).reason ?? '';
    const text = `server ends is unavailable: ${reason}`;
    if (reason && !texts.includes(text)) texts.push(text);
    return reason.includes('too often');
  });
  for (const name of ['missing', 'lost', 'off', 'away', 'locked', 'moved']) {
    const { reason } = await until(`${name} is known`, async () => {
      const server = await listed(name);
      return (server.reason || server.state === 'suspended') && server;
    });
    if (reason) texts.push(`server ${name} is unavailable: ${reason}`);
  }
  texts.push(
    ...(await until('the silent ones are given up', async () => {
      const { servers } = await (await fetch(hasty.url.replace('/mcp', '/ready'))).json();
      return servers.every(({ reason }) => reason) && servers.map(({ name, reason }) => `server ${name} is unavailable: ${reason}`);
    })),
  );
  await hasty.stop();
  const narrow = await serve(configuration({ stub: stub([{ name: 'big' }]) }, { limits: { response_bytes: '64KiB' } }));
  texts.push(
    await until('the big answer is lost', async () => {
      const text = await called(narrow.url, 'x_stub_big');
      return !text.startsWith('Tool not found') && text;
    }),
  );
  await narrow.stop();
  texts.push(await called(url, 'x_stub_hang'), await called(url, 'x_stub_die'), await called(url, 'x_stub_fine'));
  texts.push(
    await called(url, 'x_stub_none'),
    await called(url, 'describe_tool', { nam: 'x' }),
    await called(url, 'filter_tools', { pattern: '[a' }),
    await called(url, 'get_prompt', { name: 'x_stub_none' }),
    await called(url, 'get_resource', { uri: 'file:///none' }),
    await called(url, 'core_server_get', { server: 'none' }),
  );
  await gateway.stop();
  web.close();
  return texts;
}

/** What is found in what servers publish. */
export async function finding() {
  const servers = {
    one: { ...stub([{ name: 'now' }, { name: 'now' }, { name: 'Stop' }, { name: 'stop' }, { name: 'p\u0430y' }]), toolPrefix: 'both' },
    two: { ...stub([{ name: 'now' }, { name: 'bad', inputSchema: { type: 'array' } }]), toolPrefix: 'both' },
    bare: { ...stub([{ name: 'call_tool' }]), toolPrefix: '' },
    loop: stub([{ name: 'a' }], 'repeat'),
  };
  const gateway = await serve(configuration(servers, { name_prefix: '' }));
  const url = gateway.url.replace('/mcp', '/ready');
  const findings = await until('all is found', async () => {
    const { findings } = await (await fetch(url)).json();
    return ['meta-tool', 'cursor', 'claimed', 'scripts', 'inputSchema', 'more than once'].every((word) => JSON.stringify(findings).includes(word)) && findings;
  });
  await gateway.stop();
  return findings.map((found) => found.what ?? JSON.stringify(found));
}

/** What an edit of a running gateway brings up. */
export async function editing() {
  const dir = configuration({});
  const gateway = await serve(dir);
  const settings = join(dir, 'countersign.yaml');
  const before = readFileSync(settings, 'utf8');
  writeFileSync(join(dir, 'mcp.json'), '{"mcpServers": {"a": {}}}');
  const { configuration_error: error } = await until('the edit is refused', async () => {
    const ready = await (await fetch(gateway.url.replace('/mcp', '/ready'))).json();
    return ready.configuration_error && ready;
  });
  writeFileSync(join(dir, 'mcp.json'), '{"mcpServers": {}}');
  writeFileSync(settings, JSON.stringify({ ...JSON.parse(before), listen: '127.0.0.1:1' }));
  await until('the edit is applied', () => gateway.log().includes('next start'));
  const texts = [error, gateway.log()];
  await gateway.stop();
  return texts;
}
