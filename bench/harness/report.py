"""The tables of a run: calls, lists, memory and start, and each bar with its figure."""
from .stats import calm_rounds, median_of, number, percent, signed, table, verdict
from .targets import LEGACY, MODERN

DIRECT = "direct"


def select(trials, **key):
    return [trial for trial in trials if all(trial.get(name) == value for name, value in key.items())]


def beside(trials, trial, other):
    """The other row's trial in the same round and with the same key."""
    same = ("part", "protocol", "sessions", "tools", "round", "what")
    found = [entry for entry in trials if entry["row"] == other and all(entry.get(k) == trial.get(k) for k in same)]
    if not found and trial["protocol"] not in (LEGACY, MODERN):
        # A peer may speak only an older version of the handshake era; direct runs cost the same in all of them.
        return beside(trials, {**trial, "protocol": LEGACY}, other)
    return found[0] if found else None


def against(trials, key, other):
    """A function of a trial: how much it differs in `key` from the other row in the same round."""
    def difference(trial):
        pair = beside(trials, trial, other)
        if pair is None or pair is trial or pair[key] is None or trial[key] is None:
            return None
        return trial[key] - pair[key]
    return difference


def ratio(trials, key, other):
    def quotient(trial):
        pair = beside(trials, trial, other)
        if pair is None or pair is trial or not pair[key] or trial[key] is None:
            return None
        return trial[key] / pair[key]
    return quotient


def figure(trials, value, **key):
    """The median over the calm rounds of these trials, and whether they were calm."""
    rounds, calm = calm_rounds(select(trials, **key))
    return median_of(rounds, value), calm


def at(key):
    return lambda trial: trial[key]


def rows_of(trials):
    return list(dict.fromkeys((trial["row"], trial["protocol"]) for trial in trials))


def disturbance(rounds):
    """The median of what everything else used, and how many rounds it left alone."""
    calm, is_calm = calm_rounds(rounds)
    return number(median_of(rounds, at("others_cpu")), 2), f"{len(calm) if is_calm else 0}/{len(rounds)}"


def calls_table(trials):
    trials = select(trials, part="calls")
    header = ["one echo through", "protocol", "sessions", "CPU us", "of nginx", "p50 us", "added", "p99 us", "added", "calls/s",
              "of nginx", "others' CPU", "calm", "errors"]
    rows = []
    for sessions in sorted({trial["sessions"] for trial in trials}):
        for row, protocol in rows_of(trials):
            rounds = select(trials, row=row, protocol=protocol, sessions=sessions)
            if rounds:
                rows.append([row, protocol, sessions, *call_cells(trials, calm_rounds(rounds)[0]), *disturbance(rounds),
                             sum(trial["errors"] for trial in rounds)])
    return table("CALLS", header, rows)


def call_cells(trials, rounds):
    return [
        number(median_of(rounds, at("cpu_us")), 1),
        percent(median_of(rounds, ratio(trials, "cpu_us", "nginx"))),
        number(median_of(rounds, at("p50_us"))),
        signed(median_of(rounds, against(trials, "p50_us", DIRECT))),
        number(median_of(rounds, at("p99_us"))),
        signed(median_of(rounds, against(trials, "p99_us", DIRECT))),
        number(median_of(rounds, at("rate"))),
        percent(median_of(rounds, ratio(trials, "rate", "nginx"))),
    ]


def lists_table(trials):
    trials = select(trials, part="lists")
    header = ["tools/list through", "tools", "p50 ms", "of nginx", "p99 ms", "CPU us", "MB", "others' CPU", "calm"]
    rows = []
    for tools in sorted({trial["tools"] for trial in trials}):
        for row, protocol in rows_of(trials):
            rounds = select(trials, row=row, protocol=protocol, tools=tools)
            calm, _ = calm_rounds(rounds)
            if rounds:
                rows.append([
                    row, f"{tools:,}", thousandth(median_of(calm, at("p50_us"))),
                    percent(median_of(calm, ratio(trials, "p50_us", "nginx"))),
                    thousandth(median_of(calm, at("p99_us"))), number(median_of(calm, at("cpu_us"))),
                    number((median_of(calm, at("bytes")) or 0) / 1e6, 2), *disturbance(rounds)])
    return table("LISTS", header, rows)


def thousandth(value, digits=2):
    return number(None if value is None else value / 1000, digits)


def facts_table(facts):
    rows = []
    for key, value in facts.items():
        what, _, name = key.rpartition(": ")
        rows.append([what, name, number(value, 1)])
    return table("MEMORY AND START", ["what", "of", "figure"], rows)


def bars(trials, facts):
    """Each figure of the product's page of limits that this version has: what, figure, bar, verdict, calm."""
    calls = select(trials, part="calls")
    lists = select(trials, part="lists")
    on = "ours, everything on"
    found = []

    def add(what, figure_and_calm, unit, most=None, least=None, digits=0):
        value, calm = figure_and_calm
        bar = f"at most {number(most, digits)}" if least is None else f"at least {number(least, digits)}"
        found.append({"what": what, "value": value, "unit": unit, "bar": f"{bar} {unit}", "digits": digits,
                      "verdict": verdict(value, most, least) if calm or what.startswith("CPU") else "disturbed", "calm": calm})

    def of_calls(value, row, sessions, protocol=LEGACY):
        return figure(calls, value, row=row, sessions=sessions, protocol=protocol)

    for protocol in (LEGACY, MODERN):
        add(f"CPU of a call, 8 sessions, nothing on, {protocol}", of_calls(at("cpu_us"), "ours", 8, protocol), "us", 30, None, 1)
        add(f"CPU of a call, 8 sessions, everything on, {protocol}", of_calls(at("cpu_us"), on, 8, protocol), "us", 45, None, 1)
    add("rate against nginx, 8 sessions, nothing on", scaled(of_calls(ratio(calls, "rate", "nginx"), "ours", 8), 100), "%", None, 60)
    add("rate against nothing on, 8 sessions, everything on", scaled(of_calls(ratio(calls, "rate", "ours"), on, 8), 100), "%", None, 70)
    add("added p50, 1 session, everything on", of_calls(against(calls, "p50_us", DIRECT), on, 1), "us", 100)
    for tools, most in ((1000, 1.2), (5000, 6.0)):
        listing = figure(lists, at("p50_us"), row="ours", tools=tools)
        add(f"tools/list, {tools:,} tools, p50", scaled(listing, 1e-3), "ms", most, None, 2)
    most_tools = max([trial["tools"] for trial in select(trials, part="search")], default=5000)
    for servers, name in ((1, "1 server"), (50, "50 servers")):
        search = figure(select(trials, part="search"), at("p50_us"), servers=servers)
        add(f"filter_tools with a query, {most_tools:,} tools, {name}, p50", scaled(search, 1e-3), "ms", 3, None, 2)
    fifty = select(trials, part="servers")
    add("tools/list, 5,000 tools from 50 servers, p50", scaled(figure(fifty, at("p50_us"), what="tools/list"), 1e-3), "ms", 6, None, 2)
    add("CPU of a call, 8 sessions, 5,000 tools from 50 servers", figure(fifty, at("cpu_us"), what="call"), "us", 30, None, 1)

    def of_facts(key):
        return facts.get(key), True

    add("memory, idle", of_facts("memory idle, MiB: ours"), "MiB", 40, None, 1)
    add("memory, 5,000 tools", of_facts("memory with 5,000 tools, MiB: ours"), "MiB", 40, None, 1)
    add("memory, 5,000 tools from 50 servers", of_facts("memory with 5,000 tools from 50 servers, MiB: ours"), "MiB", 40, None, 1)
    add("memory for each idle session", of_facts("memory for each idle session, KiB: ours"), "KiB", 12, None, 1)
    add("memory for each parked call", of_facts("memory for each parked call, KiB: ours"), "KiB", 4, None, 1)
    return [entry for entry in found if entry["value"] is not None]


def scaled(figure_and_calm, factor):
    value, calm = figure_and_calm
    return (None if value is None else value * factor), calm


def bars_table(entries):
    rows = [[entry["what"], number(entry["value"], entry["digits"]), entry["unit"], entry["bar"],
             entry["verdict"] + ("" if entry["calm"] else " ~")] for entry in entries]
    return table("BARS", ["figure", "measured", "", "bar", "verdict"], rows)


def text(head, trials, facts, entries, notes):
    """The whole report."""
    parts = [head, calls_table(trials), lists_table(trials), facts_table(facts), bars_table(entries)]
    if not all(entry["calm"] for entry in entries):
        parts.append("~ no round was calm: other load disturbed it. Clock times and rates have no verdict then, and CPU is too high.\n")
    if notes:
        parts.append("\n".join(["NOTES", "", *(f"* {note}" for note in notes), ""]))
    return "\n".join(part for part in parts if part)
