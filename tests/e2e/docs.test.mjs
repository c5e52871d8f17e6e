// Every block of code in the documents is run, or compared with what is run; a block that nothing runs fails here.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { open, until } from './lib/clients.mjs';
import { BINARY, HERE, NODE, ROOT, environment, folder, start } from './lib/gateway.mjs';
import * as makers from './lib/produced.mjs';
import { VENV } from './lib/servers.mjs';

const run = promisify(execFile);
const PACKAGES = join(HERE, 'node_modules');
const TROUBLE = 'docs/troubleshooting.md';

/** Languages that tests of the crates run, and which: no other may be missing here. */
const ELSEWHERE = {
  yaml: 'every_example_of_countersign_yaml_loads',
  jsonc: 'every_example_of_mcp_json_loads',
  'yaml workflow': 'every_example_of_a_workflow_loads',
};

/** How a line of `sh` that is not run here is tested. */
const PARSED = 'every_documented_command_is_one';

function pages(dir) {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return pages(path);
    return entry.name.endsWith('.md') ? [relative(ROOT, path)] : [];
  });
}

/** The blocks of a page: language, text, and the language of the block before. */
function blocks(page) {
  const found = [];
  let open = null;
  for (const [index, line] of readFileSync(join(ROOT, page), 'utf8').split('\n').entries()) {
    const fence = line.match(/^\s*(```+|~~~+)(.*)$/);
    if (fence && !open) {
      open = { page, line: index + 1, language: fence[2].trim(), lines: [], before: found.at(-1) };
    } else if (fence) {
      found.push({ ...open, text: open.lines.join('\n') });
      open = null;
    } else {
      open?.lines.push(line);
    }
  }
  assert.equal(open, null, `${page} has a block without an end`);
  return found;
}

const ALL = ['README.md', 'CONTRIBUTING.md', ...pages(join(ROOT, 'docs'))].flatMap(blocks);
const place = ({ page, line, language }) => `${page}:${line} (${language})`;
const of = (...languages) => ALL.filter((block) => languages.includes(block.language));

/** Whether it is one command whose whole output stands in the block after it. */
const isExplained = (block) => block?.language === 'sh' && /^countersign (explain|access) [^\n]*$/.test(block.text);

test('every block is one that a test runs', () => {
  const sources = ['crates/config/src/load/tests/documents.rs', 'crates/countersign/src/args/tests.rs'];
  const code = sources.map((path) => readFileSync(join(ROOT, path), 'utf8')).join('\n');
  for (const name of [...Object.values(ELSEWHERE), PARSED]) assert.ok(code.includes(`fn ${name}(`), `${name} is no test`);
  for (const block of ALL) {
    const known = ['js', 'python', 'json', 'sh', 'text', ...Object.keys(ELSEWHERE)];
    assert.ok(known.includes(block.language), `${place(block)}: no test runs this language`);
    if (block.language === 'text' && block.page !== TROUBLE) {
      const isRun = ['js', 'python'].includes(block.before?.language) || isExplained(block.before);
      assert.ok(isRun, `${place(block)}: is the output of nothing that is run`);
    }
  }
  for (const language of ['js', 'python', 'json', 'sh', 'text', 'yaml', 'jsonc']) {
    assert.ok(of(language).length > 0, `the documents have ${language}`);
  }
});

describe('the examples, with quickstart', () => {
  const dir = join(folder('docs'), 'quickstart');
  const scripts = join(HERE, 'results/docs');
  let gateway;
  let url;
  before(async () => {
    mkdirSync(scripts, { recursive: true });
    gateway = await start(BINARY, ['quickstart', '--dir', dir, '--listen', '127.0.0.1:0'], /MCP address\s+(http:\S+)/);
    url = gateway.match[1];
  });
  after(async () => {
    await gateway?.stop();
    rmSync(scripts, { recursive: true, force: true });
  });

  /** The example with the addresses and paths of this run. */
  const here = (text) =>
    text
      .replaceAll('http://127.0.0.1:8090', url.replace('/mcp', ''))
      .replaceAll('/home/you/.cargo/bin/countersign', BINARY)
      .replaceAll('/home/you/.config/countersign', dir);

  /** A client connects as the example says and asks the clock. */
  async function drive(target) {
    const client = await open('v1', target);
    try {
      const result = await until('the clock is up', async () => {
        const result = await client.call('x_clock_now', { timezone: 'UTC' });
        return !result.isError && result;
      });
      assert.equal(result.structuredContent.timezone, 'UTC');
    } finally {
      await client.close();
    }
  }

  /** What stands for a command of the examples in this tree. */
  function program(command, args) {
    if (command === 'npx' && args[0] === '-y' && args[1] === 'mcp-remote') {
      const env = environment({ MCP_REMOTE_CONFIG_DIR: join(scripts, 'mcp-remote') });
      return { command: NODE, args: [join(PACKAGES, 'mcp-remote/dist/proxy.js'), ...args.slice(2)], env };
    }
    assert.equal(command, BINARY, `${command} is a program that no test knows`);
    return { command, args, env: environment() };
  }

  for (const block of of('js', 'python')) {
    test(`${place(block)} runs and prints what the page says`, async () => {
      const isJs = block.language === 'js';
      const file = join(scripts, `${block.page.replaceAll('/', '-')}-${block.line}.${isJs ? 'mjs' : 'py'}`);
      writeFileSync(file, here(block.text));
      const { stdout } = await run(isJs ? NODE : join(VENV, 'bin/python'), [file], { env: environment(), timeout: 120_000 });
      const output = ALL.find(({ before }) => before?.page === block.page && before.line === block.line);
      assert.equal(output?.language, 'text', 'its output follows it');
      assert.equal(stdout.trimEnd(), output.text);
    });
  }

  for (const block of of('json')) {
    test(`${place(block)} connects`, async () => {
      const settings = JSON.parse(here(block.text));
      const servers = Object.values(settings.mcpServers ?? settings.servers);
      assert.ok(servers.length > 0);
      for (const { url: address, command, args } of servers) {
        assert.ok(!address || address === url, `${address} is the gateway's`);
        await drive(address ? { url: address } : program(command, args));
      }
      // The other clients' own shapes are those that `import` knows.
      const file = join(scripts, 'settings.json');
      writeFileSync(file, block.text);
      const { stdout } = await run(BINARY, ['import', file, '--stdout'], { env: environment() });
      assert.deepEqual(Object.keys(JSON.parse(stdout).mcpServers), Object.keys(settings.mcpServers ?? settings.servers));
    });
  }

  /** The words of a line; the documents quote with single quotes only. */
  const words = (line) => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);

  /** The folder of the examples of explanations: quickstart's servers, and the settings that the page shows. */
  function explained() {
    const own = folder('docs-explain');
    copyFileSync(join(dir, 'mcp.json'), join(own, 'mcp.json'));
    writeFileSync(join(own, 'countersign.yaml'), of('yaml').find(({ page }) => page === 'docs/explain.md').text);
    return own;
  }

  async function shell(line) {
    const [command, ...args] = words(here(line).replace('cargo run --release -- ', 'countersign '));
    const flags = { env: environment({ PATH: `${join(PACKAGES, 'node/bin')}:${process.env.PATH}` }), timeout: 120_000 };
    if (command === 'claude') {
      // `claude mcp add [--transport http] NAME URL`, or `claude mcp add NAME -- COMMAND ARG…`.
      assert.deepEqual(args.slice(0, 2), ['mcp', 'add']);
      const end = args.indexOf('--');
      if (end < 0) {
        assert.deepEqual(args.slice(2), ['--transport', 'http', 'countersign', url]);
        return drive({ url });
      }
      return drive(program(args[end + 1], args.slice(end + 2)));
    }
    if (command === 'npx') {
      assert.equal(args[0], '@modelcontextprotocol/inspector');
      const launcher = join(PACKAGES, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
      const { stdout } = await run(NODE, [launcher, ...args.slice(1)], { ...flags, maxBuffer: 1 << 26 });
      return assert.ok(JSON.parse(stdout).tools.length > 0);
    }
    if (command === 'curl') {
      const answer = await fetch(args.at(-1));
      return assert.equal(answer.status, 200, line);
    }
    if (command === 'countersign' && args[0] === 'tools') {
      const { stdout } = await run(BINARY, [...args, '--url', url], flags);
      return assert.ok(stdout.length > 0, line);
    }
    if (command === 'countersign' && ['explain', 'access'].includes(args[0])) {
      const own = args.map((arg) => (arg === './countersign' ? explained() : arg));
      const { stdout, code } = await run(BINARY, own, flags).catch((error) => error);
      assert.ok([undefined, 1].includes(code), `${line}: ${code}`);
      return stdout;
    }
    if (command === 'countersign') return undefined; // Parsed by a test of the crate; what it does has tests of its own.
    if (['./test', 'cargo', 'mkdir'].includes(command)) return undefined;
    return assert.fail(`no test runs \`${line}\``);
  }

  for (const block of of('sh')) {
    test(`${place(block)} does what it says`, async () => {
      const said = [];
      for (const line of block.text.split('\n').filter(Boolean)) said.push(await shell(line));
      if (!isExplained(block)) return;
      const output = ALL.find(({ before }) => before === block);
      assert.equal(output?.language, 'text', 'its output follows it');
      // How many tools of its own the gateway has is no part of the example.
      const uncounted = (text) => text.trimEnd().replaceAll(/\(\d+ hidden\)/g, '(… hidden)');
      assert.equal(uncounted(said.join('')), uncounted(output.text));
    });
  }
});

describe('troubleshooting', () => {
  /** What no test can bring about on every machine, and where its text is. */
  const WRITTEN = [
    'crates/countersign/src/tools/client.rs',
    'crates/edge/src/dispatch/render.rs',
    'crates/edge/src/dispatch/rounds.rs',
    'crates/edge/src/parking.rs',
    'crates/edge/src/sessions.rs',
    'crates/edge/src/stdio.rs',
  ];
  const said = [];
  for (const name of Object.keys(makers)) {
    test(`the gateway says it when ${name}`, async () => said.push(...(await makers[name]()).map((text) => text.trim())));
  }

  test('every text of the page is one that the gateway says', () => {
    const sources = WRITTEN.map((path) => readFileSync(join(ROOT, path), 'utf8').replaceAll(/\{\w*\}/g, '…'));
    const texts = ALL.filter((block) => block.page === TROUBLE && block.language === 'text').flatMap((block) => block.text.split('\n'));
    assert.ok(texts.length > 50, `${texts.length}`);
    const quoted = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const unsaid = texts.filter((text) => {
      const parts = text.split(/<[a-z ]+>/);
      const pattern = new RegExp(parts.map(quoted).join('.+?'));
      return !said.some((one) => pattern.test(one)) && !sources.some((source) => source.includes(parts.join('…')));
    });
    assert.deepEqual(unsaid, [], 'the gateway does not say these');
  });
});
