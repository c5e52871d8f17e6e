// The official TypeScript clients, behind one shape: v1, v2 as it negotiates by itself, v2 held to the legacy revisions.
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

export const KINDS = ['v1', 'v2-auto', 'v2-legacy'];

/** What the clients answer when a server asks. */
export const SAID_BY_MODEL = 'said by the model of the test';
export const SAID_BY_USER = { name: 'Ada', color: 'green' };
export const ROOTS = [{ uri: 'file:///work/of/ada', name: 'work of Ada' }];

/** Opens a client. `target`: {url, headers} or {command, args, env}. `changed(kind)` hears of list changes. */
export async function open(kind, target, { changed = () => {}, asked = () => {}, abilities = { sampling: {}, elicitation: {} } } = {}) {
  const info = { name: `countersign-e2e-${kind}`, version: '1.0.0' };
  const listChanged = Object.fromEntries(
    ['tools', 'prompts', 'resources'].map((list) => [list, { autoRefresh: false, debounceMs: 0, onChanged: () => changed(list) }]),
  );
  const options = { capabilities: abilities, listChanged };
  const sample = (request) => {
    asked('sampling/createMessage', request.params);
    return { role: 'assistant', model: 'test', stopReason: 'endTurn', content: { type: 'text', text: SAID_BY_MODEL } };
  };
  const elicit = (request) => {
    asked('elicitation/create', request.params);
    return request.params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: SAID_BY_USER };
  };
  const roots = () => {
    asked('roots/list');
    return { roots: ROOTS };
  };
  let client;
  let transport;
  if (kind === 'v1') {
    client = new ClientV1(info, options);
    if (abilities.sampling) client.setRequestHandler(CreateMessageRequestSchema, sample);
    if (abilities.elicitation) client.setRequestHandler(ElicitRequestSchema, elicit);
    if (abilities.roots) client.setRequestHandler(ListRootsRequestSchema, roots);
    transport = target.url
      ? new HttpV1(new URL(target.url), { requestInit: { headers: target.headers ?? {} } })
      : new StdioV1({ ...target, stderr: 'ignore' });
  } else {
    const mode = kind === 'v2-auto' ? 'auto' : 'legacy';
    client = new ClientV2(info, { ...options, versionNegotiation: { mode } });
    if (abilities.sampling) client.setRequestHandler('sampling/createMessage', sample);
    if (abilities.elicitation) client.setRequestHandler('elicitation/create', elicit);
    if (abilities.roots) client.setRequestHandler('roots/list', roots);
    transport = target.url
      ? new HttpV2(new URL(target.url), { requestInit: { headers: target.headers ?? {} } })
      : new StdioV2({ ...target, stderr: 'ignore' });
  }
  await client.connect(transport, { timeout: 60_000 });
  return new Opened(kind, client);
}

/** One client, with the calls that the tests make. */
class Opened {
  constructor(kind, client) {
    this.kind = kind;
    this.client = client;
  }

  /** Every tool, over all pages. */
  async tools() {
    return this.#all('tools', (cursor) => this.client.listTools(cursor));
  }

  async resources() {
    return this.#all('resources', (cursor) => this.client.listResources(cursor));
  }

  async templates() {
    return this.#all('resourceTemplates', (cursor) => this.client.listResourceTemplates(cursor));
  }

  async prompts() {
    return this.#all('prompts', (cursor) => this.client.listPrompts(cursor));
  }

  async #all(key, page) {
    const found = [];
    let cursor;
    do {
      const answer = await page(cursor === undefined ? undefined : { cursor });
      found.push(...answer[key]);
      cursor = answer.nextCursor;
    } while (cursor !== undefined);
    return found;
  }

  /** A call by the tool's exposed name. */
  call(name, args = {}, options = {}) {
    const params = { name, arguments: args };
    const all = { timeout: 120_000, ...options };
    return this.kind === 'v1' ? this.client.callTool(params, undefined, all) : this.client.callTool(params, all);
  }

  close() {
    return this.client.close();
  }
}

/** Calls a tool as a surface has it done: by its name, or through `call_tool`. */
export function caller(client, surface) {
  return (name, args = {}, options = {}) =>
    surface === 'meta' ? client.call('call_tool', { name, arguments: args }, options) : client.call(name, args, options);
}

/** Waits until a condition holds; the condition, not the time, decides. */
export async function until(what, condition, limit = 60_000) {
  const end = Date.now() + limit;
  let last;
  while (Date.now() < end) {
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`did not happen within ${limit} ms: ${what}${last ? ` (${last.message})` : ''}`);
}
