// The real MCP servers that stand behind the gateway, and the files they work on.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFORMANCE_UPSTREAM, HERE, NODE, ROOT, folder } from './gateway.mjs';

const PACKAGES = join(HERE, 'node_modules/@modelcontextprotocol');

/** The Python environment that `./test` makes. */
export const VENV = process.env.COUNTERSIGN_VENV ?? join(ROOT, '.cache/venv');

/** A folder with a text file, for server-filesystem. */
export function files() {
  const dir = folder('files');
  writeFileSync(join(dir, 'hello.txt'), 'hello from a real file\n');
  return dir;
}

/** A Git repository with one commit and one file that is not yet added, for mcp-server-git. */
export function repository() {
  const dir = folder('repository');
  const git = (...args) => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: dir });
  git('init', '-q', '-b', 'main');
  writeFileSync(join(dir, 'a.txt'), 'a\n');
  git('add', 'a.txt');
  git('commit', '-q', '-m', 'first');
  writeFileSync(join(dir, 'new.txt'), 'new\n');
  return dir;
}

export const everything = () => ({
  command: NODE,
  args: [join(PACKAGES, 'server-everything/dist/index.js'), 'stdio'],
});
export const filesystem = (dir) => ({
  command: NODE,
  args: [join(PACKAGES, 'server-filesystem/dist/index.js'), dir],
});
export const gitServer = (dir) => ({ command: venv('mcp-server-git'), args: ['--repository', dir] });
export const timeServer = () => ({ command: venv('mcp-server-time'), args: ['--local-timezone', 'UTC'] });
export const fixtureServer = (era = 'legacy') => ({ command: CONFORMANCE_UPSTREAM, args: ['--era', era] });

function venv(program) {
  const path = join(VENV, 'bin', program);
  if (!existsSync(path)) throw new Error(`${path} is missing: run ./test once`);
  return path;
}

/** The whole set, with the places it works on. */
export function all() {
  const place = { files: files(), repository: repository() };
  const servers = {
    everything: everything(),
    // Its hints are believed, those of the others are only shown.
    files: { ...filesystem(place.files), trustAnnotations: true },
    git: gitServer(place.repository),
    time: timeServer(),
    fixture: fixtureServer(),
  };
  return { place, servers };
}
