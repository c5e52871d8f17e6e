// A stdio server that lists what it is told to and fails as it is told to: `node stub.mjs '[{"name": "…"}]' [repeat]`.
// A call of `die` ends the process, one of `hang` is never answered, one of `big` with a MiB; every other tool answers with its name.
import { createInterface } from 'node:readline';

const tools = JSON.parse(process.argv[2]).map((tool) => ({ inputSchema: { type: 'object' }, ...tool }));
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') {
    const capabilities = { tools: {} };
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: 'stub', version: '1' } } });
  } else if (method === 'tools/list') {
    say({ id, result: process.argv[3] === 'repeat' ? { tools, nextCursor: 'again' } : { tools } });
  } else if (method === 'tools/call') {
    if (params.name === 'die') process.exit(7);
    if (params.name === 'big') say({ id, result: { content: [{ type: 'text', text: 'x'.repeat(1 << 20) }] } });
    else if (params.name !== 'hang') say({ id, result: { content: [{ type: 'text', text: params.name }] } });
  } else {
    say({ id, error: { code: -32601, message: 'no such method' } });
  }
});
