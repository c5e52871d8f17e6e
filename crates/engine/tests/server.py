"""A small MCP server over stdio whose folder tells it what to publish and shows what it was asked."""
import json, os, sys

folder = sys.argv[1]


def path(name):
    return os.path.join(folder, name)


def answer(request, result):
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


def tools():
    with open(path("tools")) as file:
        names = file.read().split()
    # A name that begins so only reads, and says so.
    hints = lambda name: {"annotations": {"readOnlyHint": True}} if name.startswith("read") else {}
    return [{"name": name, "inputSchema": {"type": "object"}, **hints(name)} for name in names]


if os.path.exists(path("broken")):
    sys.exit("broken on purpose")
with open(path("starts"), "a") as file:
    file.write("start\n")
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        info = {"name": "small", "version": "1"}
        answer(request, {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        answer(request, {"tools": tools()})
    elif method == "tools/call":
        with open(path("calls"), "a") as file:
            file.write(request["params"]["name"] + "\n")
        if request["params"]["name"] == "die":
            os._exit(1)
        if request["params"]["name"] == "readdie" and not os.path.exists(path("died")):
            open(path("died"), "w").close()
            os._exit(1)
        if request["params"]["name"].endswith("hang"):
            continue
        if request["params"]["name"] == "fail":
            answer(request, {"content": [{"type": "text", "text": "no"}], "isError": True})
            continue
        if request["params"]["name"] == "change":
            with open(path("tools"), "a") as file:
                file.write(" added")
            print('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', flush=True)
        answer(request, {"content": [{"type": "text", "text": json.dumps(request["params"].get("arguments"))}]})
    elif method == "notifications/cancelled":
        with open(path("cancelled"), "a") as file:
            file.write("cancelled\n")
    elif "id" in request:
        error = {"code": -32601, "message": "unknown method"}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
