"""One run: starts what is measured, loads it in rotated rounds, and keeps every trial."""
import json
import os
import subprocess
import sys
import time

from . import targets
from .processes import Process, busy_seconds, cpu_seconds, free_ports, memory
from .targets import LEGACY, MODERN

DIRECT = "direct"
QUERY = json.dumps({"query": "approve an invoice in the billing ledger"})


class Bench:
    """The programs, the temporary folder, and what was found so far."""

    def __init__(self, options, folder, notes):
        self.options, self.folder, self.notes = options, folder, notes
        self.trials, self.facts, self.running = [], {}, []
        self.nginx = targets.find_nginx()
        if not self.nginx:
            self.note(targets.NO_NGINX)

    # What is said while it runs.

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            self.say(text)

    def say(self, text):
        print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)

    def fact(self, key, value):
        """Keeps a figure that has no rounds."""
        self.facts[key] = value
        self.say(f"{key}: {value:,.2f}" if isinstance(value, float) else f"{key}: {value}")

    # Processes.

    def tool(self, name):
        return os.path.join(self.options.tools_bin, name)

    def path(self, name):
        return os.path.join(self.folder, "".join(c if c.isalnum() else "-" for c in name))

    def start(self, name, command, env=None, cwd=None):
        process = Process(name, command, self.path(name) + ".log", env, cwd)
        self.running.append(process)
        return process

    def stop(self, *processes):
        for process in processes:
            process.stop()
            self.running.remove(process)

    def stop_all(self):
        self.stop(*list(self.running))

    def upstream(self, tools, servers=1, extra=()):
        """A server of `tools` tools (or several on consecutive ports); its process and its first port."""
        port = free_ports(servers)
        process = self.start(f"upstream-{tools}-{servers}", [
            self.tool("mcp-upstream"), "http", "--listen", f"127.0.0.1:{port}",
            "--tools", str(tools), "--servers", str(servers), *extra])
        self.wait(process, targets.Target("upstream", f"http://127.0.0.1:{port}/mcp", ready_s=30))
        return process, port

    def up(self, target, tools=1):
        """Starts a target and waits until it lists that many tools; None when it does not."""
        process = self.start(target.name, target.command, target.env, target.cwd)
        try:
            self.wait(process, target, tools)
        except RuntimeError as error:
            self.note(f"{target.name}: left out: {error}")
            self.stop(process)
            return None
        return process

    def wait(self, process, target, tools=1):
        end, last = time.monotonic() + target.ready_s, None
        while time.monotonic() < end:
            if process.child.poll() is not None:
                raise RuntimeError(f"it ended at once: {process.tail()}")
            last = self.load(["list", *target.load_arguments(), "-r", "1", "--warmup", "0", "-d", "20"])
            if (last.get("tools") or 0) >= tools and last.get("requests"):
                return
            time.sleep(0.1)
        raise RuntimeError(f"not ready in {target.ready_s} s: {last.get('error') or last}")

    def load(self, arguments):
        """Runs mcp-load; its report."""
        done = subprocess.run([self.tool("mcp-load"), *arguments], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "RUST_BACKTRACE": "0"})
        lines = done.stdout.strip().splitlines()
        return json.loads(lines[-1]) if lines else {"requests": 0, "error": done.stderr.strip()[-400:]}

    # Trials.

    def trial(self, key, process, arguments):
        """One loaded run, with the processor time of the target and of everything that is not part of the run."""
        own = process.own() if process else []
        ours = [pid for running in self.running for pid in running.family()]
        load_before, cpu_before = os.times(), cpu_seconds(ours)
        busy, began = busy_seconds(), time.monotonic()
        report = self.load([*arguments, *(["--cpu-of", ",".join(map(str, own))] if own else [])])
        took, busy = time.monotonic() - began, busy_seconds() - busy
        load_after = os.times()
        load = (load_after.children_user - load_before.children_user
                + load_after.children_system - load_before.children_system)
        others = max(0.0, busy - load - (cpu_seconds(ours) - cpu_before)) / max(took, 1e-9)
        requests = report.get("requests", 0)
        latency = report.get("latency") or {}
        entry = {
            **key,
            "others_cpu": round(others, 3),
            "cpu_us": round(report.get("cpu_us", 0) / requests, 2) if requests and own else None,
            "p50_us": latency.get("p50_us") if requests else None,
            "p99_us": latency.get("p99_us") if requests else None,
            "rate": report.get("rps") if requests else None,
            "bytes": report.get("bytes_per_answer"),
            "errors": report.get("errors", 0),
        }
        self.trials.append(entry)
        if entry["errors"] or not requests:
            self.note(f"{key['row']}: {entry['errors']} errors: {report.get('error_samples') or report.get('error')}")
        self.say(" ".join(f"{name}={value}" for name, value in entry.items() if value is not None))
        return entry

    def rounds(self, part, rows, seconds, **key):
        """Every row once in each round, each round beginning with another row."""
        for number in range(self.options.rounds):
            turn = number % max(len(rows), 1)
            for row, process, arguments in rows[turn:] + rows[:turn]:
                self.trial({"part": part, **row, "round": number, **key}, process,
                           [*arguments, "-d", str(seconds), "--warmup", str(min(0.5, seconds / 4))])

    # The targets of a run with one server.

    def base_targets(self, upstream_port, tools):
        """Direct, nginx, ours with nothing on and with everything on, and the peers: those that are wanted and start."""
        found = {DIRECT: (targets.Target(DIRECT, f"http://127.0.0.1:{upstream_port}/mcp"), None)}
        wanted = [self.nginx_target(upstream_port, tools)] if self.nginx else []
        wanted.append(self.gateway("ours", targets.http_server(upstream_port), tools))
        wanted.append(self.gateway("ours, everything on", targets.http_server(upstream_port), tools, everything=True))
        wanted.extend(self.peers(upstream_port, tools))
        for target in wanted:
            if not self.options.wants(target.name):
                continue
            process = self.up(target, tools)
            if process:
                found[target.name] = (target, process)
        return found

    def nginx_target(self, upstream_port, tools):
        return targets.nginx(self.nginx, self.path(f"nginx-{tools}"), free_ports(), upstream_port)

    def gateway(self, name, server, tools, **settings):
        folder = self.path(f"{name}-{tools}-{len(self.trials)}-{len(self.facts)}")
        return targets.gateway(name, self.options.gateway, folder, free_ports(), {"up": server}, **settings)

    def peers(self, upstream_port, tools):
        found = []
        for name, entry in self.options.peers.items():
            places = {"peers": self.options.peers_folder, "port": free_ports(), "tools": tools,
                      "upstream": f"http://127.0.0.1:{upstream_port}/mcp", "server": self.tool("mcp-upstream")}
            target, missing = targets.peer(name, entry, places, self.path(f"peer {name} {tools}"))
            if target:
                found.append(target)
            elif self.options.wants(name):
                self.note(missing)
        return found

    # The parts.

    def calls(self):
        """One echo at 1, 8 and 64 sessions, through everything and in both eras."""
        upstream, port = self.upstream(20)
        base = self.base_targets(port, 20)
        rows = [row for name in base for row in self.call_rows(name, *base[name])]
        for name, server, settings, row in self.own_variants(port):
            if self.options.wants(name):
                target = self.gateway(name, server, 20, **settings)
                process = self.up(target, 1)
                if process:
                    rows.append((row, process, [*row.pop("arguments"), *target.load_arguments(row["protocol"])]))
        for sessions in self.options.sessions:
            able = [(row, process, [*arguments, "-c", str(sessions)]) for row, process, arguments in rows
                    if row["row"] not in base or sessions <= base[row["row"]][0].most_sessions]
            self.rounds("calls", able, self.options.seconds, sessions=sessions)
        for name, (_, process) in base.items():
            if process:
                self.fact(f"memory under load, MiB: {name}", memory(process.own(), "VmHWM") / 2**20)
        self.stop_all()

    def call_rows(self, name, target, process):
        call = ["call", "--tool", target.prefix + "echo", "--expect", target.expect]
        both = name in (DIRECT, "nginx", "ours", "ours, everything on") and not self.options.quick
        rows = [({"row": name, "protocol": protocol}, process, [*call, *target.load_arguments(protocol)])
                for protocol in ((LEGACY, MODERN) if both else (target.protocol,))]
        if name == "ours, everything on":
            write = ["call", "--tool", target.prefix + "crm_create_record_0000", *target.load_arguments(LEGACY)]
            rows.append(({"row": "ours, everything on, writing", "protocol": LEGACY}, process, write))
        return rows

    def own_variants(self, port):
        """Ours with nothing on, by other ways: the meta-tool, and a server over stdio."""
        if self.options.quick:
            return []
        stdio = {"command": self.tool("mcp-upstream"), "args": ["stdio", "--tools", "20"]}
        meta = ["call", "--meta-tool", "call_tool", "--tool", "x_up_echo", "--expect", "contain"]
        plain = ["call", "--tool", "x_up_echo"]
        return [
            ("ours, call_tool", targets.http_server(port), {"surface": "meta"},
             {"row": "ours, call_tool", "protocol": LEGACY, "arguments": meta}),
            ("ours, stdio server", stdio, {}, {"row": "ours, stdio server", "protocol": LEGACY, "arguments": plain}),
        ]

    def lists(self):
        """tools/list with 20, 1,000 and 5,000 tools, and the search over the most of them."""
        for tools in self.options.tools:
            upstream, port = self.upstream(tools)
            base = self.base_targets(port, tools)
            rows = [({"row": name, "protocol": target.protocol}, process, ["list", *target.load_arguments()])
                    for name, (target, process) in base.items()]
            self.rounds("lists", rows, self.options.seconds, tools=tools)
            if "ours" in base:
                self.fact(f"memory with {tools:,} tools, MiB: ours", memory(base["ours"][1].own()) / 2**20)
            self.stop(*(process for _, process in base.values() if process))
            if tools == max(self.options.tools) and self.options.wants("ours"):
                self.search(self.gateway("ours", targets.http_server(port), tools, surface="meta"), tools, 1)
            self.stop(upstream)

    def search(self, target, tools, servers):
        process = self.up(target)
        if not process:
            return
        self.wait_for_catalogue(target)
        row = ({"row": "ours", "protocol": LEGACY, "servers": servers}, process,
               ["call", "--tool", "filter_tools", "--args", QUERY, "--expect", "any", *target.load_arguments()])
        self.rounds("search", [row], self.options.seconds, tools=tools)
        self.stop(process)

    def wait_for_catalogue(self, target):
        """The meta surface lists its own tools at once: wait until a search finds the server's."""
        end = time.monotonic() + 60
        call = ["call", "--tool", "filter_tools", "--args", QUERY, "--expect", "any", "-r", "1", "--warmup", "0"]
        while time.monotonic() < end:
            report = self.load([*call, *target.load_arguments()])
            if report.get("bytes_per_answer", 0) > 1000:
                return
            time.sleep(0.2)
        raise RuntimeError("filter_tools finds nothing after 60 s")

    def servers(self):
        """The same 5,000 tools, from fifty servers."""
        if not self.options.wants("ours"):
            return
        count, each = 50, max(self.options.tools) // 50
        upstream, port = self.upstream(each, count)
        entries = {("up" if number == 0 else f"up{number}"): targets.http_server(port + number)
                   for number in range(count)}

        def target(surface="direct"):
            folder = self.path(f"fifty {surface} {len(self.trials)}")
            return targets.gateway("ours", self.options.gateway, folder, free_ports(), entries, surface)

        listing = target()
        process = self.up(listing, count * each)
        if process:
            self.rounds("servers", [({"row": "ours", "protocol": LEGACY}, process, ["list", *listing.load_arguments()])],
                        self.options.seconds, what="tools/list")
            call = ["call", "--tool", "x_up_echo", "--no-list", "-c", "8", *listing.load_arguments()]
            self.rounds("servers", [({"row": "ours", "protocol": LEGACY}, process, call)],
                        self.options.seconds, what="call")
            self.fact(f"memory with {count * each:,} tools from {count} servers, MiB: ours",
                      memory(process.own()) / 2**20)
            self.stop(process)
            self.cold(listing, f"first listing, {count * each:,} tools from {count} servers, ms: ours", count * each)
        self.search(target("meta"), count * each, count)
        self.stop(upstream)

    def memory(self):
        """Idle, for each idle session, for each parked call."""
        upstream, port = self.upstream(20)
        base = self.base_targets(port, 20)
        time.sleep(1)
        for name, (_, process) in base.items():
            if process:
                self.fact(f"memory idle, MiB: {name}", memory(process.own()) / 2**20)
        self.stop(*(process for _, process in base.values() if process))
        if self.options.wants("ours"):
            count = self.options.held
            self.held("memory for each idle session, KiB: ours", port, LEGACY, ["--count", str(count)])
            self.held("memory for each idle session with its connection, KiB: ours", port, LEGACY,
                      ["--count", str(count), "--connected"])
            old, old_port = self.upstream(20, extra=["--legacy-only"])
            self.held("memory for each parked call, KiB: ours", old_port, MODERN,
                      ["--count", str(count // 5), "--ask", "x_up_ask"])
            self.stop(old)
        self.stop(upstream)

    def held(self, fact, port, protocol, arguments):
        """Resident memory that many sessions or calls add, by each of them."""
        target = self.gateway("ours", targets.http_server(port), 20)
        process = self.up(target, 20)
        if not process:
            return
        # What the first requests allocate once is no part of what a session costs.
        self.load(["call", "--tool", "x_up_echo", "-c", "8", "-d", "1", *target.load_arguments(protocol)])
        before = memory(process.own())
        hold = subprocess.Popen([self.tool("mcp-load"), "hold", *arguments, *target.load_arguments(protocol)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "RUST_BACKTRACE": "0"})
        line = hold.stdout.readline()
        if line:
            time.sleep(1)
            self.fact(fact, (memory(process.own()) - before) / json.loads(line)["held"] / 1024)
        _, error = hold.communicate("")
        if not line:
            self.note(f"{fact}: not measured: {error.strip()[-300:]}")
        self.stop(process)

    def starts(self):
        """From the start of the process to the first whole listing."""
        for tools in sorted({20, max(self.options.tools)}):
            upstream, port = self.upstream(tools)
            wanted = [self.nginx_target(port, tools)] if self.nginx else []
            wanted.append(self.gateway("ours", targets.http_server(port), tools))
            wanted.append(self.gateway("ours, everything on", targets.http_server(port), tools, everything=True))
            if tools == 20:
                wanted.extend(self.peers(port, tools))
            for target in wanted:
                if self.options.wants(target.name):
                    self.cold(target, f"first listing, {tools:,} tools, ms: {target.name}", tools)
            self.stop(upstream)

    def cold(self, target, fact, tools):
        report = self.load(["coldstart", *target.load_arguments(), "--runs", str(self.options.starts),
                            "--min-tools", str(tools), "--give-up", "60", "--log", self.path(target.name) + ".log", "--",
                            *target.start_command()])
        if report.get("median_ms") is None:
            self.note(f"{fact}: not measured: {report.get('error')}")
        else:
            self.fact(fact, report["median_ms"])
