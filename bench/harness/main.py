"""The command line: builds what is needed, runs the parts, prints and writes the report."""
import argparse
import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import report
from .bench import Bench
from .targets import filled

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(HERE)
PEERS_FOLDER = os.path.join(ROOT, ".cache", "bench-peers")
PARTS = ("calls", "lists", "servers", "memory", "starts")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look of about a minute: one short round of the main rows")
    parser.add_argument("--rounds", type=int, help="rounds, each in another order (default 5)")
    parser.add_argument("--seconds", type=float, help="of each trial (default 2)")
    parser.add_argument("--only", default="", help="only these rows, by how their names begin: nginx,ours (direct always runs)")
    parser.add_argument("--parts", default="", help=f"only these parts: {','.join(PARTS)}")
    parser.add_argument("--no-peers", action="store_true", help="leave other gateways out")
    parser.add_argument("--install-peers", action="store_true", help="install the gateways of peers.json into .cache first")
    parser.add_argument("--peers-folder", default=PEERS_FOLDER, help=argparse.SUPPRESS)
    parser.add_argument("--gateway", help="this binary instead of building one")
    parser.add_argument("--tools-bin", help="the folder of mcp-load and mcp-upstream, instead of building them")
    parser.add_argument("--out", help="where the report goes: OUT.txt and OUT.json (default bench/results/TIME)")
    parser.add_argument("--fail-on-missed", action="store_true", help="exit with 1 when a bar is missed")
    return parser.parse_args()


def prepare(options):
    """Fills in what follows from other options, and builds."""
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.seconds = options.seconds or (1.0 if options.quick else 2.0)
    options.sessions = [1, 8] if options.quick else [1, 8, 64]
    options.tools = [5000] if options.quick else [20, 1000, 5000]
    options.held = 1000 if options.quick else 5000
    options.starts = 1 if options.quick else options.rounds
    only = [name for name in options.only.split(",") if name]
    options.wants = lambda name: not only or any(name.startswith(start) for start in only)
    with open(os.path.join(HERE, "peers.json")) as file:
        peers = json.load(file)
    if options.install_peers:
        install(peers, options.peers_folder)
    options.peers = {} if options.no_peers or options.quick else peers
    target = os.environ.get("CARGO_TARGET_DIR")
    if not options.tools_bin:
        build(os.path.join(HERE, "Cargo.toml"), [])
        options.tools_bin = os.path.join(target or os.path.join(HERE, "target"), "release")
    if not options.gateway:
        build(os.path.join(ROOT, "Cargo.toml"), ["-p", "countersign"])
        options.gateway = os.path.join(target or os.path.join(ROOT, "target"), "release", "countersign")
    options.gateway, options.tools_bin = os.path.abspath(options.gateway), os.path.abspath(options.tools_bin)


def build(manifest, extra):
    subprocess.run(["cargo", "build", "--locked", "--release", "--manifest-path", manifest, *extra], check=True)


def install(peers, folder):
    """Installs each peer by its own package manager; one that does not install is named and left out."""
    os.makedirs(folder, exist_ok=True)
    for name, entry in peers.items():
        if os.path.exists(filled(entry["program"], {"peers": folder})):
            continue
        for command in entry["install"]:
            print(f"{name}: {command}", file=sys.stderr, flush=True)
            if subprocess.run(filled(command, {"peers": folder}), shell=True).returncode:
                print(f"{name}: does not install here", file=sys.stderr)
                break


def output(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    except OSError:
        return ""


def machine(options, bench):
    """What the figures belong to."""
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    nginx = subprocess.run([bench.nginx, "-v"], capture_output=True, text=True).stderr.strip() if bench.nginx else None
    return {
        "time": time.strftime("%Y-%m-%d %H:%M:%S"),
        "commit": output(["git", "rev-parse", "--short", "HEAD"]) or "unknown",
        "changed": bool(output(["git", "status", "--porcelain", "--untracked-files=no"])),
        "gateway": output([options.gateway, "--version"]),
        "cpu": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.release(),
        "nginx": nginx,
        "rounds": options.rounds,
        "seconds": options.seconds,
    }


def headline(facts):
    changed = " with changes" if facts["changed"] else ""
    return (f"{facts['gateway']}, commit {facts['commit']}{changed}, {facts['time']}\n"
            f"{facts['cores']} cores, {facts['cpu']}, Linux {facts['system']}, {facts['nginx'] or 'no nginx'}\n"
            f"medians of {facts['rounds']} rotated rounds of {facts['seconds']:g} s\n")


def main():
    options = arguments()
    if not os.path.exists("/proc/stat"):
        sys.exit("bench/run reads processor time and memory from /proc: it runs on Linux only")
    prepare(options)
    parts = [part for part in (options.parts.split(",") if options.parts else PARTS)]
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        sys.exit(f"unknown part {unknown[0]}; the parts are: {', '.join(PARTS)}")
    # Two runs on one machine would measure each other.
    lock = open(os.path.join(tempfile.gettempdir(), "countersign-bench.lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    folder = tempfile.mkdtemp(prefix="countersign-bench-")
    # However a run is ended, it reports what it has and leaves nothing running.
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, interrupt)
    notes = []
    bench = Bench(options, folder, notes)
    facts = machine(options, bench)
    try:
        for part in parts:
            run_part(bench, part)
    except KeyboardInterrupt:
        bench.note("interrupted: what follows is a part of a run")
    finally:
        bench.stop_all()
        shutil.rmtree(folder, ignore_errors=True)
    return finish(options, bench, facts)


def interrupt(*_):
    raise KeyboardInterrupt


def run_part(bench, part):
    try:
        getattr(bench, part)()
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        bench.note(f"{part}: ended early: {error}")
    finally:
        bench.stop_all()


def finish(options, bench, facts):
    entries = report.bars(bench.trials, bench.facts)
    text = report.text(headline(facts), bench.trials, bench.facts, entries, bench.notes)
    out = options.out or os.path.join(HERE, "results", time.strftime("%Y%m%d-%H%M%S"))
    os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
    with open(out + ".txt", "w") as file:
        file.write(text)
    with open(out + ".json", "w") as file:
        json.dump({"machine": facts, "bars": entries, "facts": bench.facts, "trials": bench.trials,
                   "notes": bench.notes}, file, indent=1)
    print(text)
    print(f"written to {out}.txt and {out}.json", file=sys.stderr)
    missed = any(entry["verdict"] == "missed" for entry in entries)
    return 1 if missed and options.fail_on_missed else 0
