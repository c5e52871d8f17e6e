// The official inspector's command line over HTTP and stdio, on both surfaces.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { until } from './lib/clients.mjs';
import { BINARY, HERE, NODE, configuration, environment, serve } from './lib/gateway.mjs';
import { everything, filesystem, files } from './lib/servers.mjs';

const run = promisify(execFile);
const INSPECTOR = join(HERE, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');

async function inspect(target, ...args) {
  const env = environment({ PATH: `${join(HERE, 'node_modules/node/bin')}:${process.env.PATH}` });
  const { stdout } = await run(NODE, [INSPECTOR, '--cli', ...target, ...args], { env, maxBuffer: 1 << 26, timeout: 120_000 });
  return JSON.parse(stdout);
}

for (const surface of ['meta', 'direct']) {
  describe(`inspector, surface ${surface}`, () => {
    const place = files();
    const dir = configuration({ everything: everything(), files: filesystem(place) }, { surface });
    let gateway;
    before(async () => (gateway = await serve(dir)));
    after(() => gateway?.stop());

    for (const transport of ['http', 'stdio']) {
      const target = () => {
        if (transport === 'http') return [gateway.url, '--transport', 'http'];
        // The inspector has a --config of its own, so the folder is named by the environment.
        return [BINARY, 'stdio', '-e', `COUNTERSIGN_CONFIG=${dir}`];
      };

      test(`lists and calls over ${transport}`, async () => {
        const tools = await until('the tools are listed', async () => {
          const { tools } = await inspect(target(), '--method', 'tools/list');
          return tools.some((tool) => tool.name === (surface === 'meta' ? 'call_tool' : 'x_everything_echo')) && tools;
        });
        assert.ok(tools.every((tool) => tool.inputSchema.type === 'object'));
        const called = await until('the server is up', async () => {
          // It calls only what is listed.
          const call =
            surface === 'meta'
              ? ['call_tool', '--tool-arg', 'name=x_everything_echo', 'arguments={"message":"hi"}']
              : ['x_everything_echo', '--tool-arg', 'message=hi'];
          const result = await inspect(target(), '--method', 'tools/call', '--tool-name', ...call);
          return !result.isError && result;
        });
        assert.equal(called.content[0].text, 'Echo: hi');
      });
    }

    test('lists prompts and resources over http', async () => {
      const { prompts } = await inspect([gateway.url, '--transport', 'http'], '--method', 'prompts/list');
      assert.ok(prompts.some((prompt) => prompt.name === 'x_everything_args-prompt'));
      const { resources } = await inspect([gateway.url, '--transport', 'http'], '--method', 'resources/list');
      assert.ok(resources.some((resource) => resource.uri.startsWith('demo://')));
    });
  });
}
