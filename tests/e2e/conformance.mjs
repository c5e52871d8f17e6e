// The official conformance suite through the gateway: fixture <- gateway <- suite, in each direction of eras, with a
// baseline of what may fail. Same-era baselines are empty. Usage: node conformance.mjs [--direct] [legacy-legacy …];
// --direct leaves the gateway out and so tests the fixture itself.
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
const directions = chosen.length > 0 ? chosen : directly ? sameEra : [...sameEra, 'legacy-modern', 'modern-legacy'];

let failed = 0;
for (const direction of directions) {
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

function suite(url, version, baseline) {
  const options = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '--timeout', '15000', '--verbose'];
  const child = spawn(NODE, [SUITE, ...options, '--expected-failures', baseline], {
    cwd: folder('conformance'),
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  return new Promise((done) => child.once('exit', (code) => done({ code, output })));
}
