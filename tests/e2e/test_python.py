"""The official Python client over HTTP and stdio, on both surfaces, in the mode it picks by itself and in the legacy one."""

import asyncio
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import httpx2
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILT = pathlib.Path(os.environ.get("COUNTERSIGN_TARGET", ROOT / "target/debug"))
BINARY = str(BUILT / "countersign")
PACKAGES = HERE / "node_modules/@modelcontextprotocol"
NODE = str(HERE / "node_modules/node/bin/node")
VENV = pathlib.Path(sys.executable).parent
EXPECTED = {"x_everything_echo", "x_files_write_file", "x_git_status", "x_time_convert_time"}


def text(result):
    return "\n".join(getattr(block, "text", "") for block in result.content)


class Place:
    """A configuration folder, the files and the repository that the servers work on."""

    def __init__(self, surface):
        self.folder = tempfile.TemporaryDirectory(prefix="countersign-python-")
        root = pathlib.Path(self.folder.name)
        self.files = root / "files"
        self.repository = root / "repository"
        self.config = root / "config"
        for path in (self.files, self.repository, self.config):
            path.mkdir()
        (self.files / "hello.txt").write_text("hello from a real file\n")
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run([*git, "init", "-q", "-b", "main"], cwd=self.repository, check=True)
        (self.repository / "new.txt").write_text("new\n")
        servers = {
            "everything": {"command": NODE, "args": [str(PACKAGES / "server-everything/dist/index.js"), "stdio"]},
            "files": {"command": NODE, "args": [str(PACKAGES / "server-filesystem/dist/index.js"), str(self.files)]},
            "git": {"command": str(VENV / "mcp-server-git"), "args": ["--repository", str(self.repository)]},
            "time": {"command": str(VENV / "mcp-server-time"), "args": ["--local-timezone", "UTC"]},
        }
        settings = {
            "listen": "127.0.0.1:0",
            "metrics": {"listen": "127.0.0.1:0"},
            "store": {"type": "memory"},
            "pins": {"mode": "off"},
            # Interpreters start slowly on a machine that is busy with builds.
            "limits": {"connect_timeout": "60s"},
            "surface": surface,
        }
        (self.config / "countersign.yaml").write_text(json.dumps(settings))
        (self.config / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


class Gateway:
    """`countersign serve` on a port of its own."""

    def __init__(self, config):
        self.log = tempfile.TemporaryFile(mode="w+")
        self.child = subprocess.Popen([BINARY, "serve", "--config", str(config)], stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.child.poll() is None:
            self.log.seek(0)
            found = re.search(r"listening on (http://\S+/mcp)", self.log.read())
            if found:
                self.url = found.group(1)
                return
            time.sleep(0.05)
        self.stop()
        self.log.seek(0)
        raise RuntimeError(f"the gateway did not start:\n{self.log.read()}")

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(15)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


async def said_by_model(_context, _params):
    return types.CreateMessageResult(
        role="assistant", model="test", content=types.TextContent(type="text", text="said by the model of the test")
    )


async def said_by_user(_context, _params):
    return types.ElicitResult(action="accept", content={"name": "Ada", "color": "green"})


class SurfaceTest(unittest.TestCase):
    """Every combination of surface, transport and mode runs the same story."""

    def story(self, surface, transport, mode):
        place = Place(surface)
        with contextlib.ExitStack() as stack:
            stack.callback(place.folder.cleanup)
            gateway = None
            if transport == "http":
                gateway = Gateway(place.config)
                stack.callback(gateway.log.close)
                stack.callback(gateway.stop)
            asyncio.run(asyncio.wait_for(self.talk(place, gateway, surface, mode), 240))

    async def talk(self, place, gateway, surface, mode):
        if gateway:
            target = gateway.url
        else:
            arguments = ["stdio", "--config", str(place.config)]
            target = StdioServerParameters(command=BINARY, args=arguments, env={**os.environ, "RUST_LOG": "off"})
        async with Client(
            target, mode=mode, sampling_callback=said_by_model, elicitation_callback=said_by_user
        ) as client:
            await self.wait_for_servers(client, surface)
            await self.calls(client, surface, place)
            await self.progress(client, surface)
            await self.questions(client, surface)
            await self.resources_and_prompts(client)

    async def names(self, client, surface):
        if surface == "direct":
            found, cursor = [], None
            while True:
                page = await client.list_tools(cursor=cursor)
                found += [tool.name for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None:
                    return set(found)
        found = []
        while True:
            page = (await client.call_tool("list_tools", {"limit": 50, "offset": len(found)})).structured_content
            found += [tool["name"] for tool in page["tools"]]
            if not page["truncated"]:
                return set(found)

    async def wait_for_servers(self, client, surface):
        end = time.monotonic() + 120
        while not EXPECTED <= (seen := await self.names(client, surface)):
            self.assertLess(time.monotonic(), end, f"not listed: {EXPECTED - seen}")
            await asyncio.sleep(0.1)

    async def call(self, client, surface, name, arguments, **more):
        if surface == "meta":
            return await client.call_tool("call_tool", {"name": name, "arguments": arguments}, **more)
        return await client.call_tool(name, arguments, **more)

    async def calls(self, client, surface, place):
        echo = await self.call(client, surface, "x_everything_echo", {"message": "grüße"})
        self.assertEqual(text(echo), "Echo: grüße")
        path = place.files / "written.txt"
        await self.call(client, surface, "x_files_write_file", {"path": str(path), "content": "by Python"})
        self.assertEqual(path.read_text(), "by Python")
        status = await self.call(client, surface, "x_git_status", {"repo_path": str(place.repository)})
        self.assertIn("new.txt", text(status))
        arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        self.assertIn("21:00", text(await self.call(client, surface, "x_time_convert_time", arguments)))
        weather = await self.call(client, surface, "x_everything_get-structured-content", {"location": "Chicago"})
        self.assertIn("temperature", weather.structured_content)
        image = await self.call(client, surface, "x_everything_get-tiny-image", {})
        self.assertIn("image", [block.type for block in image.content])
        if surface == "meta":
            ranked = await client.call_tool("filter_tools", {"query": "current time in a timezone"})
            self.assertTrue(ranked.structured_content["tools"][0]["name"].startswith("x_time_"))
            described = await client.call_tool("describe_tool", {"name": "x_files_write_file"})
            self.assertEqual(described.structured_content["effect"], "mutating")

    async def progress(self, client, surface):
        seen = []

        async def note(progress, total, message):
            seen.append(progress)

        name = "x_everything_trigger-long-running-operation"
        await self.call(client, surface, name, {"duration": 1, "steps": 3}, progress_callback=note)
        self.assertEqual(seen, [1, 2, 3])

    async def questions(self, client, surface):
        name = "x_everything_trigger-sampling-request"
        sampled = await self.call(client, surface, name, {"prompt": "what?", "maxTokens": 10})
        self.assertIn("said by the model of the test", text(sampled))
        name = "x_everything_trigger-elicitation-request"
        self.assertIn("Ada", text(await self.call(client, surface, name, {})))

    async def resources_and_prompts(self, client):
        resources = await client.list_resources()
        self.assertTrue(any(str(one.uri).startswith("demo://") for one in resources.resources))
        page = await client.read_resource("demo://resource/static/document/features.md")
        self.assertGreater(len(page.contents[0].text), 100)
        blob = await client.read_resource("demo://resource/dynamic/blob/2")
        self.assertGreater(len(blob.contents[0].blob), 10)
        prompts = await client.list_prompts()
        self.assertIn("x_everything_args-prompt", [prompt.name for prompt in prompts.prompts])
        prompt = await client.get_prompt("x_everything_args-prompt", {"city": "Oslo"})
        self.assertIn("Oslo", prompt.messages[0].content.text)


def add(surface, transport, mode):
    def test(self):
        self.story(surface, transport, mode)

    setattr(SurfaceTest, f"test_{surface}_{transport}_{mode}", test)


for surface in ("meta", "direct"):
    for transport in ("http", "stdio"):
        for mode in ("auto", "legacy"):
            add(surface, transport, mode)

class ToolsetTest(unittest.TestCase):
    """Two agents of one person, each with the header of its own toolset, at the same time."""

    def test_two_agents_with_different_toolsets_never_see_each_others_tools(self):
        place = Place("meta")
        with contextlib.ExitStack() as stack:
            stack.callback(place.folder.cleanup)
            gateway = Gateway(place.config)
            stack.callback(gateway.log.close)
            stack.callback(gateway.stop)
            for mode in ("auto", "legacy"):
                with self.subTest(mode=mode):
                    asyncio.run(asyncio.wait_for(self.agents(gateway.url, mode), 240))

    async def agents(self, url, mode):
        async with contextlib.AsyncExitStack() as stack:
            agents = []
            for toolset in ("server:time", "server:files"):
                headers = {"X-Countersign-Toolset": toolset}
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
                transport = streamable_http_client(url, http_client=http)
                agents.append((toolset, await stack.enter_async_context(Client(transport, mode=mode))))
            await self.wait_for_servers(agents)
            for _ in range(25):
                await asyncio.gather(*(self.look(*agent) for agent in agents))

    async def wait_for_servers(self, agents):
        end = time.monotonic() + 120
        for _, client in agents:
            while (await client.call_tool("list_tools", {})).structured_content["total"] == 0:
                self.assertLess(time.monotonic(), end, "not listed")
                await asyncio.sleep(0.1)

    async def look(self, toolset, client):
        server = toolset.split(":")[1]
        found = (await client.call_tool("list_tools", {"limit": 100})).structured_content
        self.assertEqual(found["toolset"], [toolset])
        self.assertEqual({tool["server"] for tool in found["tools"]}, {server})
        other = "x_files_list_allowed_directories" if server == "time" else "x_time_get_current_time"
        refused = await client.call_tool("call_tool", {"name": other, "arguments": {}})
        self.assertTrue(refused.is_error)
        self.assertEqual(text(refused), f'tool "{other}" is outside the toolset [{toolset}]')
        self.assertEqual(refused.structured_content["code"], "outside_toolset")


if __name__ == "__main__":
    unittest.main(verbosity=2)
