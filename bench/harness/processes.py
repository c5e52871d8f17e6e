"""Processes under measurement: started in groups of their own, read from /proc, ended by their group."""
import os
import signal
import socket
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")
UPSTREAM = "mcp-upstream"


def free_ports(count=1):
    """The first of `count` consecutive ports that nobody listens on."""
    for _ in range(200):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = probe.getsockname()[1]
        if first + count < 65536 and all(is_free(port) for port in range(first, first + count)):
            return first
    raise RuntimeError(f"no {count} free ports in a row on 127.0.0.1")


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


class Process:
    """A command that leads its own process group."""

    def __init__(self, name, command, log, env=None, cwd=None):
        self.name, self.log = name, log
        with open(log, "ab") as out:
            self.child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True)

    def family(self):
        """The command and everything that it started and that still runs, as process ids."""
        parents, groups = {}, {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                fields = stat(int(entry))
                if fields:
                    parents[int(entry)], groups[int(entry)] = int(fields[1]), int(fields[2])
        top = self.child.pid

        def belongs(pid):
            for _ in range(64):
                if pid == top or groups.get(pid) == top:
                    return True
                if pid not in parents:
                    return False
                pid = parents[pid]
            return False

        return [pid for pid in parents if belongs(pid)]

    def own(self):
        """The family without the servers behind a gateway."""
        return [pid for pid in self.family() if comm(pid) != UPSTREAM]

    def tail(self):
        with open(self.log, errors="replace") as file:
            return file.read()[-600:].strip()

    def stop(self):
        family = self.family()
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.child.pid, sign)
            except ProcessLookupError:
                pass
            try:
                self.child.wait(6)
            except subprocess.TimeoutExpired:
                continue
            if not any(alive(pid) for pid in family):
                return
            time.sleep(0.2)


def stat(pid):
    """The fields of /proc/PID/stat behind the command's name."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def alive(pid):
    fields = stat(pid)
    return fields is not None and fields[0] != "Z"


def cpu_seconds(pids):
    """User and system time of these processes."""
    all_fields = [fields for fields in map(stat, pids) if fields]
    return sum(int(fields[11]) + int(fields[12]) for fields in all_fields) / TICK


def memory(pids, key="VmRSS"):
    """Resident bytes of these processes; with `VmHWM`, the most that each ever had."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as file:
                lines = [line for line in file if line.startswith(key + ":")]
            total += int(lines[0].split()[1]) * 1024
        except (OSError, IndexError):
            pass
    return total


def busy_seconds():
    """Processor time that the whole machine has spent on anything."""
    with open("/proc/stat") as file:
        values = [int(value) for value in file.readline().split()[1:]]
    return (sum(values[:8]) - values[3] - values[4]) / TICK
