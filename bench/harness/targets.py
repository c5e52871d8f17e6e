"""What is measured: where it listens, how it is started, and what a call of it looks like."""
import json
import os
import shutil
from dataclasses import dataclass, field

LEGACY, MODERN = "2025-11-25", "2026-07-28"
NO_NGINX = "nginx was not found, so its rows are left out: install it (Debian: apt-get install nginx-light)"


@dataclass
class Target:
    """A process that answers MCP at `url`; without a command it is started elsewhere."""

    name: str
    url: str
    command: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    cwd: str = None
    prefix: str = ""
    protocol: str = LEGACY
    expect: str = "equal"
    ready_s: float = 60
    most_sessions: int = 1_000_000

    def load_arguments(self, protocol=None):
        return ["--url", self.url, "--protocol", protocol or self.protocol]

    def start_command(self):
        """The command with its environment and folder, for programs that start it themselves."""
        env = [f"{key}={value}" for key, value in self.env.items()]
        return ["env", *(["-C", self.cwd] if self.cwd else []), *env, *self.command]


def find_nginx():
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")


def nginx(program, folder, port, upstream_port):
    """A plain reverse proxy that keeps connections and buffers nothing."""
    os.makedirs(folder, exist_ok=True)
    user = "user root;" if os.geteuid() == 0 else ""
    temp = "\n".join(f"  {kind}_temp_path {folder}/{kind};"
                     for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config = f"""{user}
worker_processes {os.cpu_count()};
pid {folder}/pid;
error_log {folder}/error.log;
daemon off;
events {{ worker_connections 16384; }}
http {{
{temp}
  access_log off;
  keepalive_requests 1000000000;
  upstream server {{ server 127.0.0.1:{upstream_port}; keepalive 256; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://server;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w") as file:
        file.write(config)
    command = [program, "-e", f"{folder}/error.log", "-p", folder, "-c", path]
    return Target("nginx", f"http://127.0.0.1:{port}/mcp", command)


def gateway(name, program, folder, port, servers, surface="direct", everything=False):
    """Countersign with a folder of its own; `everything`: all that this version can have on."""
    os.makedirs(folder, exist_ok=True)
    settings = {
        "listen": f"127.0.0.1:{port}",
        "surface": surface,
        "metrics": {"listen": None},
        "store": {"type": "memory"},
        # One caller stands for thousands here.
        "limits": {"sessions": 100_000, "sessions_per_principal": 100_000, "parked_per_principal": 100_000},
    }
    if everything:
        settings["store"] = {"type": "sqlite", "path": "state.db"}
        settings["metrics"] = {"listen": "127.0.0.1:0"}
        settings["allowed_origins"] = [f"https://app-{number}.example.com" for number in range(20)]
        servers = {key: {**entry, **EVERYTHING} for key, entry in servers.items()}
    for file, content in (("countersign.yaml", settings), ("mcp.json", {"mcpServers": servers})):
        with open(os.path.join(folder, file), "w") as out:
            json.dump(content, out, indent=2)
    return Target(name, f"http://127.0.0.1:{port}/mcp", [program, "serve", "--config", folder], prefix="x_up_")


# A hundred rules before those that fit. `echo` declares that it only reads, and is trusted; the synthetic tools are not.
EVERYTHING = {
    "labels": {f"label{number}": f"value {number}" for number in range(20)},
    "description": "The server of the benchmark, with everything on that this version has",
    "trustAnnotations": True,
    "access": [{"class": "write", "tools": [f"nothing_{number}_*"]} for number in range(100)]
    + [{"class": "read", "tools": ["echo"]}, {"class": "write", "tools": ["*"]}],
}


def http_server(port):
    return {"url": f"http://127.0.0.1:{port}/mcp"}


def filled(value, places):
    """`value` with `{name}` replaced in all its texts; other braces stay."""
    if isinstance(value, str):
        for name, text in places.items():
            value = value.replace("{" + name + "}", str(text))
        return value
    if isinstance(value, list):
        return [filled(entry, places) for entry in value]
    if isinstance(value, dict):
        return {key: filled(entry, places) for key, entry in value.items()}
    return value


def peer(name, entry, places, folder):
    """Another gateway as peers.json describes it, or None with the reason."""
    os.makedirs(folder, exist_ok=True)
    entry = filled(entry, {**places, "folder": folder})
    if not os.path.exists(entry["program"]):
        return None, f"{name} is not installed: bench/run --install-peers"
    for file, text in entry.get("files", {}).items():
        with open(os.path.join(folder, file), "w") as out:
            out.write(text)
    return Target(name, entry["url"], entry["command"], entry.get("env", {}), folder, entry.get("prefix", ""),
                  entry.get("protocol", LEGACY), entry.get("expect", "equal"),
                  most_sessions=entry.get("most_sessions", 1_000_000)), None
