// Starts the real binary, and the fixture programs, on ports of their own; everything started here is ended here.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const HERE = dirname(dirname(fileURLToPath(import.meta.url)));
export const ROOT = resolve(HERE, '../..');
const BUILT = process.env.COUNTERSIGN_TARGET ?? join(ROOT, 'target/debug');

export const BINARY = join(BUILT, 'countersign');
export const CONFORMANCE_UPSTREAM = join(BUILT, 'conformance-upstream');
export const QUIRK_UPSTREAM = join(BUILT, 'quirk-upstream');
export const NODE = join(HERE, 'node_modules/node/bin/node');

const running = new Set();
const folders = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder that is removed at the end of the process. */
export function folder(name) {
  const path = mkdtempSync(join(tmpdir(), `countersign-${name}-`));
  folders.add(path);
  return path;
}

/** Writes a configuration folder. JSON is YAML, so both files are written as JSON. */
export function configuration(servers, settings = {}) {
  const dir = folder('config');
  const all = {
    listen: '127.0.0.1:0',
    metrics: { listen: '127.0.0.1:0' },
    store: { type: 'memory' },
    pins: { mode: 'off' },
    // Interpreters start slowly on a machine that is busy with builds.
    limits: { connect_timeout: '60s' },
    ...settings,
  };
  writeFileSync(join(dir, 'countersign.yaml'), JSON.stringify(all, null, 2));
  writeFileSync(join(dir, 'mcp.json'), JSON.stringify({ mcpServers: servers }, null, 2));
  return dir;
}

/** The environment of a child: this process's own, without what would change the gateway. */
export function environment(extra = {}) {
  const { COUNTERSIGN_CONFIG: _, NODE_OPTIONS: __, ...rest } = process.env;
  return { ...rest, ...extra };
}

/** Starts a program and waits until a line of its output matches; answers the match and a way to end it. */
export async function start(command, args, pattern, { env, limit = 60_000 } = {}) {
  if (!existsSync(command)) throw new Error(`${command} is not built`);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment(env) });
  running.add(child);
  let log = '';
  const exited = new Promise((done) => child.once('exit', (code, signal) => (running.delete(child), done(code ?? signal))));
  const match = await new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`${command} did not start within ${limit} ms:\n${log}`)), limit);
    const read = (chunk) => {
      log += chunk;
      const found = log.match(pattern);
      if (found) (clearTimeout(timer), done(found));
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    exited.then((code) => (clearTimeout(timer), fail(new Error(`${command} ended with ${code}:\n${log}`))));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const forced = setTimeout(() => child.kill('SIGKILL'), 15_000);
    const code = await exited;
    clearTimeout(forced);
    return code;
  };
  return { match, stop, log: () => log, pid: child.pid, exited };
}

/** `countersign serve` over a configuration folder. */
export async function serve(dir) {
  const started = await start(BINARY, ['serve', '--config', dir], /listening on (http:\/\/\S+\/mcp)/);
  return { ...started, url: started.match[1] };
}

/** How a client starts `countersign stdio`. */
export function stdio(dir) {
  return { command: BINARY, args: ['stdio', '--config', dir], env: environment() };
}

/** A fixture program over HTTP. */
export async function fixture(program, era) {
  const started = await start(program, ['--listen', '127.0.0.1:0', '--era', era], /listening on (http:\/\/\S+\/mcp)/);
  return { ...started, url: started.match[1] };
}
