// The official conformance suite through the gateway: fixture <- gateway <- suite, in each direction of eras, with a
// baseline of what may fail; same-era baselines are empty. Then the suite's client scenarios: the suite's server <-
// gateway <- driver.mjs. Usage: node conformance.mjs [--direct] [legacy-legacy … client …]; --direct leaves the gateway
// out and so tests the fixture itself.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFORMANCE_UPSTREAM, HERE, NODE, configuration, environment, fixture, folder, serve } from './lib/gateway.mjs';
import { LEGACY, MODERN, RawHttp } from './lib/raw.mjs';
import { until } from './lib/clients.mjs';

const VERSIONS = { legacy: LEGACY, modern: MODERN };
const SUITE = join(HERE, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
/** Fewer checks than this mean that the suite did not really run. */
const LEAST = { legacy: 70, modern: 110 };

const args = process.argv.slice(2);
const directly = args.includes('--direct');
const chosen = args.filter((arg) => !arg.startsWith('--'));
const sameEra = ['legacy-legacy', 'modern-modern'];
const all = [...sameEra, 'legacy-modern', 'modern-legacy', 'client'];
const directions = chosen.length > 0 ? chosen : directly ? sameEra : all;

/** Those about signing in to the suite's server. */
const AUTH = [
  'metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'basic-cimd', 'pre-registration',
  'scope-from-www-authenticate', 'scope-from-scopes-supported', 'scope-omitted-when-undefined', 'scope-step-up', 'scope-retry-limit',
  'token-endpoint-auth-basic', 'token-endpoint-auth-post', 'token-endpoint-auth-none', 'resource-mismatch',
  'offline-access-scope', 'offline-access-not-supported', 'authorization-server-migration', 'metadata-issuer-mismatch',
  'iss-supported', 'iss-not-advertised', 'iss-supported-missing', 'iss-wrong-issuer', 'iss-unexpected', 'iss-normalized',
];

/** The client scenarios that the gateway as a client can show, and the revisions of each. */
const CLIENT = {
  initialize: [LEGACY],
  tools_call: [LEGACY, MODERN],
  'elicitation-sep1034-client-defaults': [LEGACY],
  'sse-retry': [LEGACY],
  'request-metadata': [MODERN],
  'sep-2322-client-request-state': [MODERN],
  'http-standard-headers': [MODERN],
  'http-custom-headers': [MODERN],
  'http-invalid-tool-headers': [MODERN],
  'json-schema-ref-no-deref': [MODERN],
  'json-schema-2020-12-preservation': [LEGACY, MODERN],
  ...Object.fromEntries(AUTH.map((name) => [`auth/${name}`, [MODERN]])),
};
/** The client scenarios that are left out, and why. */
const LEFT_OUT = [
  [/^auth\/2025-03-26-oauth-/, 'what such servers publish does not say that PKCE is checked, so nobody is signed in'],
  [/^auth\/client-credentials-/, 'extension: a grant of the gateway itself, not of a person'],
  [/^auth\/(enterprise-managed-authorization|wif-jwt-bearer)$/, 'extension: a workload of an enterprise, not a person'],
  [/^auth\/dpop/, 'extension: tokens are sent as bearer tokens'],
  [/^sep-2640-client-/, 'skills are read by hosts; the gateway passes their resources as they are'],
];

let failed = 0;
for (const direction of directions) {
  if (direction === 'client') {
    if (!(await client())) failed++;
    continue;
  }
  const [down, up] = direction.split('-');
  const began = Date.now();
  const upstream = await fixture(CONFORMANCE_UPSTREAM, up);
  let gateway;
  try {
    let url = upstream.url;
    if (!directly) {
      const server = { type: 'http', url: upstream.url, toolPrefix: '' };
      gateway = await serve(configuration({ fixture: server }, { surface: 'direct', name_prefix: '' }));
      url = gateway.url;
      const raw = await RawHttp.open(url, VERSIONS[down]);
      await until('the fixture is listed', async () => (await raw.list('tools/list', 'tools')).length > 20);
      await raw.close();
    }
    const { code, output } = await suite(url, VERSIONS[down], join(HERE, `baselines/${direction}.yml`));
    const total = /Total: (\d+) passed, (\d+) failed/.exec(output);
    const enough = total !== null && Number(total[1]) >= LEAST[down];
    const ok = code === 0 && enough;
    console.log(`${direction}: ${total?.[0] ?? 'no total'} (${((Date.now() - began) / 1000).toFixed(1)} s)${ok ? '' : ' FAILED'}`);
    if (!ok) {
      failed++;
      const log = join(folder('conformance'), 'log');
      writeFileSync(log, output);
      console.log(output.slice(output.indexOf('=== SUMMARY ===')));
      console.log(output.split('\n').filter((line) => /FAILURE|WARNING|✗|Error:/.test(line)).slice(0, 80).join('\n'));
      if (process.env.COUNTERSIGN_LOGS) console.log(gateway?.log());
    }
  } finally {
    await gateway?.stop();
    await upstream.stop();
  }
}
console.log(`conformance: ${directions.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Every client scenario that the suite has is run, or left out by name. */
async function client() {
  const listed = (await run(['list', '--client'])).output.matchAll(/^ {2}- (\S+)/gm);
  const names = [...listed].map(([, name]) => name);
  const unknown = names.filter((name) => !(name in CLIENT) && !LEFT_OUT.some(([pattern]) => pattern.test(name)));
  let ok = names.length > 40 && unknown.length === 0;
  if (!ok) console.log(`client: ${names.length} scenarios; nobody says what to do in ${unknown}`);
  const todo = Object.entries(CLIENT).flatMap(([name, versions]) => versions.map((version) => ({ name, version })));
  // Each is a process of its own that mostly waits for others.
  const worker = async () => {
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const { name, version } = next;
      const began = Date.now();
      const driver = `${NODE} ${join(HERE, 'driver.mjs')}`;
      const options = ['--command', driver, '--scenario', name, '--spec-version', version, '--timeout', '60000', '--verbose'];
      const { code, output } = await run(['client', ...options]);
      console.log(`client ${name} ${version}: ${((Date.now() - began) / 1000).toFixed(1)} s${code === 0 ? '' : ' FAILED'}`);
      if (code !== 0) {
        ok = false;
        console.log(output.slice(-6000));
      }
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return ok;
}

function suite(url, version, baseline) {
  const options = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '--timeout', '15000', '--verbose'];
  return run([...options, '--expected-failures', baseline]);
}

function run(args) {
  const child = spawn(NODE, [SUITE, ...args], {
    cwd: folder('conformance'),
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  return new Promise((done) => child.once('exit', (code) => done({ code, output })));
}
