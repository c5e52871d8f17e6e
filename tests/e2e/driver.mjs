// One client scenario of the conformance suite: the gateway as the client of the suite's server, whose URL is the last
// argument, driven from downstream. MCP_CONFORMANCE_SCENARIO says what to do.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Browser, followLink } from './lib/browser.mjs';
import { until } from './lib/clients.mjs';
import { configuration, serve } from './lib/gateway.mjs';
import { MODERN, RawHttp } from './lib/raw.mjs';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? MODERN;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

/** What each scenario needs a client to do. */
const scenarios = {
  initialize: ({ tools }) => tools(),
  tools_call: ({ raw }) => call(raw, 'add_numbers', { a: 5, b: 3 }),
  'sse-retry': async ({ raw, tools }) => {
    for (const tool of await tools()) await call(raw, tool.name);
  },
  'elicitation-sep1034-client-defaults': elicitation,
  'request-metadata': ({ tools }) => tools(),
  'sep-2322-client-request-state': rounds,
  'http-standard-headers': everything,
  'http-custom-headers': async ({ raw }) => {
    for (const { name, arguments: args } of context.toolCalls) await call(raw, name, args);
  },
  'http-invalid-tool-headers': async ({ raw, tools }) => {
    for (const tool of await tools()) await call(raw, tool.name, { region: 'us-west1', value: 'x' });
  },
  'json-schema-ref-no-deref': ({ tools }) => tools(),
  'auth/resource-mismatch': refused,
  'auth/iss-supported-missing': refused,
  'auth/iss-wrong-issuer': refused,
  'auth/iss-unexpected': refused,
  'auth/iss-normalized': refused,
  'auth/metadata-issuer-mismatch': refused,
  'auth/scope-retry-limit': refused,
  'json-schema-2020-12-preservation': async ({ raw, tools }) => {
    const focal = (await tools()).find((tool) => tool.inputSchema.$defs !== undefined);
    const echo = (await tools()).find((tool) => tool.inputSchema.properties?.schema !== undefined && tool !== focal);
    await call(raw, echo.name, { schema: focal.inputSchema });
  },
};

/** Signs in, lists and calls everything, and signs in again where more is asked for. */
async function auth({ raw, tools }) {
  const browser = new Browser();
  for (let round = 0; round < 4; round++) {
    // The link comes as a question to the caller, or as a result, whichever its abilities are.
    const login = JSON.stringify(await raw.result('tools/call', { name: 'core_auth_login', arguments: { server: 'suite' } }));
    const link = /http[^"\\ ]*\/oauth\/start\?ticket=[^"\\ ]*/.exec(login);
    if (link) await followLink(link[0], browser);
    await until('the server is listed or refuses', async () => ['ready', 'auth_required', 'unavailable'].includes((await state()).state));
    const results = [];
    for (const { name } of await tools()) results.push(await call(raw, name));
    // A call that needs more than was granted asks for another sign-in.
    const ran = (result) => !result.isError && result.resultType !== 'input_required';
    if (results.length > 0 && results.every(ran)) return;
  }
}

/** Signs in where nobody may be signed in: the suite looks at what is sent. */
async function refused(all) {
  await auth(all).catch((error) => console.error(`refused: ${error.message}`));
}

/** A call by its exposed name; what the suite's server makes of it is the suite's to judge. */
async function call(raw, name, args = {}, more = {}) {
  const schema = JSON.parse((await raw.list('tools/list', 'tools')).find((tool) => JSON.parse(tool).name === name) ?? '{}');
  raw.extra = mirrored(schema.inputSchema, args);
  const { result, error } = await raw.result('tools/call', { name, arguments: args, ...more });
  raw.extra = {};
  if (error) throw new Error(`${name}: ${error}`);
  return JSON.parse(result);
}

/** The headers that a modern client sends beside the arguments (SEP-2243). */
function mirrored(schema, args) {
  const headers = {};
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const header = property['x-mcp-header'];
    const value = args[name];
    if (header === undefined || value === undefined || value === null) continue;
    const text = String(value);
    const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
    headers[`mcp-param-${header}`] = plain || text === '' ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
  }
  return version === MODERN ? headers : {};
}

/** Answers what is asked, the states as they came; other calls in between carry nothing of it. */
async function rounds({ raw }) {
  for (const name of ['test_mrtr_echo_state', 'test_mrtr_no_state']) {
    const asked = await call(raw, name);
    if (asked.resultType !== 'input_required') throw new Error(`${name}: nothing is asked`);
    await call(raw, 'test_mrtr_unrelated');
    const inputResponses = { confirm: { action: 'accept', content: { confirmed: true } } };
    const state = asked.requestState === undefined ? {} : { requestState: asked.requestState };
    const done = await call(raw, name, {}, { inputResponses, ...state });
    if (done.resultType !== 'complete') throw new Error(`${name}: ${JSON.stringify(done)}`);
  }
  await call(raw, 'test_mrtr_no_result_type');
}

async function everything({ raw, tools }) {
  for (const tool of await tools()) await call(raw, tool.name);
  for (const resource of await raw.list('resources/list', 'resources')) {
    await raw.result('resources/read', { uri: JSON.parse(resource).uri });
  }
  for (const prompt of await raw.list('prompts/list', 'prompts')) {
    await raw.result('prompts/get', { name: JSON.parse(prompt).name });
  }
}

/** A client that fills in defaults by itself, as the official one does. */
async function elicitation() {
  const capabilities = { elicitation: { form: { applyDefaults: true } } };
  const client = new Client({ name: 'countersign-e2e', version: '1.0.0' }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }));
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
  await client.callTool({ name: 'test_client_elicitation_defaults', arguments: {} });
  await client.close();
}

const server = { type: 'http', url, toolPrefix: '' };
if (scenario.startsWith('auth/')) {
  const client = context.client_id ? { clientId: context.client_id, ...(context.client_secret ? { clientSecret: context.client_secret } : {}) } : {};
  // The suite's authorization server reads no document; it only wants to see this address.
  const documented = scenario === 'auth/basic-cimd' ? { clientId: 'https://conformance-test.local/client-metadata.json' } : {};
  server.auth = { oauth: { allowedHosts: ['localhost', '127.0.0.1'], ...client, ...documented } };
}
const gateway = await serve(configuration({ suite: server }, { surface: 'direct', name_prefix: '' }));
try {
  const raw = await RawHttp.open(gateway.url, version);
  // The tools of the suite's server, without the gateway's own.
  const tools = async () =>
    (await raw.list('tools/list', 'tools')).map((tool) => JSON.parse(tool)).filter((tool) => !tool.name.startsWith('core_'));
  if (!server.auth) await until('the server is listed', async () => (await state()).state === 'ready');
  await (scenarios[scenario] ?? (server.auth ? auth : unknown))({ raw, tools });
  await raw.close();
} finally {
  if (process.env.COUNTERSIGN_LOGS) console.error(gateway.log());
  await gateway.stop();
}

/** How the suite's server stands. */
async function state() {
  return JSON.parse(await fetchText('/ready')).servers[0];
}

async function fetchText(path) {
  return (await fetch(new URL(path, gateway.url))).text();
}

function unknown() {
  throw new Error(`nobody says what to do in scenario ${scenario}`);
}
