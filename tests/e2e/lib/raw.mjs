// A client that keeps the bytes: raw JSON-RPC over HTTP or stdio, in either era.
import { spawn } from 'node:child_process';
import { member } from './json.mjs';

export const MODERN = '2026-07-28';
export const LEGACY = '2025-11-25';
const INFO = { name: 'countersign-raw', version: '1.0.0' };
// What the gateway itself offers to a legacy server: some servers list more tools to a client that can do more.
const CAPABILITIES = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };

function meta() {
  return {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': INFO,
    'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
  };
}

/** The messages in the body of a response: one JSON text, or the data of each server-sent event. */
function messages(type, body) {
  if (!type?.startsWith('text/event-stream')) return body.trim() ? [body] : [];
  return body
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).replace(/^ /, ''))
        .join('\n'),
    )
    .filter((data) => data.trim());
}

class Raw {
  constructor(era) {
    this.era = era;
    this.next = 1;
  }

  /** The raw result of a request; an answer with an error is returned as {error}. */
  async result(method, params = {}, rawParams) {
    const id = this.next++;
    let text = rawParams;
    if (text === undefined) {
      const all = this.era === MODERN ? { ...params, _meta: { ...meta(), ...params._meta } } : params;
      text = JSON.stringify(all);
    }
    const name = /"name":"([^"]*)"/.exec(text)?.[1] ?? params.name;
    const message = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${text}}`;
    const answers = await this.send(message, id, method, params.uri ?? name);
    const answer = answers.find((one) => member(one, 'id') === String(id));
    if (answer === undefined) throw new Error(`no answer to ${method}: ${answers}`);
    return { result: member(answer, 'result'), error: member(answer, 'error'), answers };
  }

  /** Raw list members over all pages. */
  async list(method, key) {
    const { elements } = await import('./json.mjs');
    const found = [];
    let cursor;
    do {
      const { result, error } = await this.result(method, cursor === undefined ? {} : { cursor });
      if (error) throw new Error(error);
      found.push(...elements(member(result, key)));
      const next = member(result, 'nextCursor');
      cursor = next === undefined ? undefined : JSON.parse(next);
    } while (cursor !== undefined);
    return found;
  }
}

/** Raw over HTTP. */
export class RawHttp extends Raw {
  constructor(url, era, headers = {}) {
    super(era);
    this.url = url;
    this.headers = headers;
    this.session = undefined;
  }

  static async open(url, era, headers) {
    const raw = new RawHttp(url, era, headers);
    if (era !== MODERN) {
      const response = await raw.post(JSON.stringify(initialize()));
      raw.session = response.headers.get('mcp-session-id') ?? undefined;
      await response.text();
      await (await raw.post('{"jsonrpc":"2.0","method":"notifications/initialized"}')).text();
    }
    return raw;
  }

  post(body, extra = {}, signal) {
    return fetch(this.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': this.era,
        ...(this.session ? { 'mcp-session-id': this.session } : {}),
        ...this.headers,
        ...extra,
      },
      body,
      signal,
    });
  }

  async send(message, _id, method, name, signal) {
    const extra = {};
    if (this.era === MODERN) {
      extra['mcp-method'] = method;
      if (name !== undefined && ['tools/call', 'prompts/get', 'resources/read'].includes(method)) extra['mcp-name'] = name;
    }
    const response = await this.post(message, { ...extra, ...this.extra }, signal);
    return messages(response.headers.get('content-type'), await response.text());
  }

  async close() {
    if (this.session) await fetch(this.url, { method: 'DELETE', headers: { 'mcp-session-id': this.session } });
  }
}

/** Raw over the pipes of a child. */
export class RawStdio extends Raw {
  static async open({ command, args, env }, era) {
    const raw = new RawStdio(era);
    raw.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], env });
    raw.waiting = new Map();
    let rest = '';
    raw.child.stdout.setEncoding('utf8');
    raw.child.stdout.on('data', (chunk) => {
      rest += chunk;
      const lines = rest.split('\n');
      rest = lines.pop();
      for (const line of lines.filter((one) => one.trim())) raw.heard(line);
    });
    raw.child.on('exit', () => raw.waiting.forEach((done) => done('')));
    if (era !== MODERN) {
      await raw.send(JSON.stringify(initialize()), 0);
      raw.write('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    }
    return raw;
  }

  heard(line) {
    const id = member(line, 'id');
    if (member(line, 'method') !== undefined) {
      // The server asks: every question gets an empty answer that fits, so that it can go on.
      if (id !== undefined) {
        const roots = member(line, 'method') === '"roots/list"';
        this.write(`{"jsonrpc":"2.0","id":${id},"result":${roots ? '{"roots":[]}' : '{}'}}`);
      }
      return;
    }
    this.waiting.get(id)?.(line);
    this.waiting.delete(id);
  }

  write(message) {
    this.child.stdin.write(`${message}\n`);
  }

  async send(message, id) {
    const answer = new Promise((done) => this.waiting.set(String(id), done));
    this.write(message);
    return [await answer];
  }

  close() {
    return new Promise((done) => {
      this.child.once('exit', done);
      this.child.stdin.end();
      setTimeout(() => this.child.kill('SIGKILL'), 5_000).unref();
    });
  }
}

function initialize() {
  return {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: LEGACY, capabilities: CAPABILITIES, clientInfo: INFO },
  };
}
