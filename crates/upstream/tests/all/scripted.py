"""A small MCP server over stdio whose argument says how it behaves."""
import json
import os
import signal
import sys
import time

mode = sys.argv[1]
modern = mode == "modern"
seen = []
out = sys.stdout.buffer

if mode == "deaf":
    # Says nothing and heeds neither the end of its input nor a polite signal.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), file=sys.stderr, flush=True)
    while True:
        time.sleep(1)


def write(text):
    out.write(text.encode() if isinstance(text, str) else text)
    out.flush()


def say(message):
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def discover(id):
    if mode == "dies":
        sys.exit(3)
    if mode == "silent":
        return
    if modern:
        say({"id": id, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}})
    else:
        say({"id": id, "error": {"code": -32601, "message": "Method not found"}})


def call(id, params):
    name = params["name"]
    if name == "look_seen":
        say({"id": id, "result": {"seen": seen, "pid": os.getpid(), "env": dict(os.environ)}})
    elif name == "crash":
        os._exit(7)
    elif name == "slow":
        pass
    elif name == "closes_input":
        os.close(0)
        say({"id": id, "result": {"pid": os.getpid()}})
        time.sleep(1000)
    elif name == "split":
        line = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"text": "ä"}}, ensure_ascii=False).encode()
        at = line.index(b"\xc3") + 1
        write(line[:at])
        time.sleep(0.05)
        write(line[at:] + b"\r\n")
    elif name == "garbage":
        write("Starting...\n" + '{"jsonrpc":\n' + "[]\n" + "\ufeff")
        say({"id": id, "result": {"ok": True}})
    elif name == "noise":
        # Far more than a pipe holds, in all the forms that are met: no line end, progress bars, many lines.
        sys.stderr.write(("x" * 1000 + os.environ["API_KEY"]) * 1000)
        sys.stderr.write("".join(f"{percent} % of the work\r" for percent in range(20_000)))
        sys.stderr.write("\n".join(["a line"] * 40_000))
        sys.stderr.flush()
        say({"id": id, "result": {"ok": True}})
    elif name == "large":
        say({"id": id, "result": {"text": "y" * 5_000_000}})
    elif name == "ask":
        say({"id": "q", "method": "sampling/createMessage", "params": {"messages": []}})
        state["asked"] = id
    elif name == "grandchild":
        pid = os.fork()
        if pid == 0:
            while True:
                time.sleep(60)
        say({"id": id, "result": {"pid": pid, "parent": os.getpid()}})
    else:
        say({"id": id, "result": {"echo": params}})


state = {}
for line in sys.stdin:
    message = json.loads(line)
    seen.append(message)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "server/discover":
        discover(id)
    elif method == "initialize":
        if mode == "silent" and any(m.get("method") == "server/discover" for m in seen):
            continue
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        say({"id": id, "result": result})
    elif method == "tools/list":
        say({"id": id, "result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        call(id, params)
    elif method is None and id == "q":
        say({"id": state["asked"], "result": {"answered": message.get("result"), "error": message.get("error")}})
