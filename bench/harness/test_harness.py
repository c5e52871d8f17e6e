"""The parts of the harness that decide: medians, verdicts, pairs of a round, tables, configurations."""
import json
import os
import tempfile
import unittest

from . import report, stats, targets


def trial(row, number, **values):
    return {"part": "calls", "row": row, "protocol": targets.LEGACY, "sessions": 8, "round": number, "others_cpu": 0.0,
            "cpu_us": None, "p50_us": 100.0, "p99_us": 200.0, "rate": 1000.0, "errors": 0, **values}


class Rounds(unittest.TestCase):
    def test_disturbed_rounds_are_left_out_while_a_calm_one_is_left(self):
        rounds = [trial("ours", 0, cpu_us=30.0), trial("ours", 1, cpu_us=90.0, others_cpu=1.0)]
        self.assertEqual(report.figure(rounds, report.at("cpu_us"), row="ours"), (30.0, True))
        self.assertEqual(report.figure(rounds[1:], report.at("cpu_us"), row="ours"), (90.0, False))

    def test_a_median_of_nothing_is_no_figure(self):
        self.assertIsNone(stats.median_of([trial("ours", 0)], report.at("cpu_us")))
        self.assertEqual(stats.verdict(None, most=1), "-")

    def test_what_is_added_is_the_difference_within_a_round(self):
        trials = [trial("direct", 0, p50_us=50.0), trial("ours", 0, p50_us=90.0),
                  trial("direct", 1, p50_us=500.0), trial("ours", 1, p50_us=520.0), trial("ours", 2, p50_us=9.0)]
        added = report.against(trials, "p50_us", "direct")
        self.assertEqual([added(entry) for entry in report.select(trials, row="ours")], [40.0, 20.0, None])
        self.assertIsNone(added(trials[0]))

    def test_a_peer_of_an_older_version_is_compared_with_the_handshake_era(self):
        trials = [trial("direct", 0, p50_us=50.0), trial("peer", 0, p50_us=90.0, protocol="2025-06-18")]
        self.assertEqual(report.against(trials, "p50_us", "direct")(trials[1]), 40.0)

    def test_a_row_is_compared_only_with_the_same_number_of_sessions(self):
        trials = [trial("nginx", 0, rate=2000.0, sessions=1), trial("ours", 0)]
        self.assertIsNone(report.ratio(trials, "rate", "nginx")(trials[1]))


class Bars(unittest.TestCase):
    def test_a_figure_on_its_bar_meets_it(self):
        self.assertEqual([stats.verdict(value, most=30) for value in (29, 30, 30.1)], ["met", "met", "missed"])
        self.assertEqual([stats.verdict(value, least=60) for value in (59, 60)], ["missed", "met"])

    def test_only_what_was_measured_has_a_verdict(self):
        trials = [trial("ours", 0, cpu_us=31.0), trial("nginx", 0, rate=1250.0)]
        found = {entry["what"]: (entry["value"], entry["verdict"]) for entry in report.bars(trials, {"memory idle, MiB: ours": 12.5})}
        self.assertEqual(found, {
            f"CPU of a call, 8 sessions, nothing on, {targets.LEGACY}": (31.0, "missed"),
            "rate against nginx, 8 sessions, nothing on": (80.0, "met"),
            "memory, idle": (12.5, "met"),
        })

    def test_a_clock_figure_without_a_calm_round_has_no_verdict(self):
        trials = [trial("ours", 0, others_cpu=0.9), trial("nginx", 0, rate=1250.0)]
        self.assertEqual([entry["verdict"] for entry in report.bars(trials, {})], ["disturbed"])

    def test_a_report_says_what_was_disturbed_and_left_out(self):
        trials = [trial("direct", 0), trial("ours", 0, cpu_us=31.0, others_cpu=0.9)]
        text = report.text("HEAD\n", trials, {}, report.bars(trials, {}), ["nginx was not found"])
        for part in ("missed ~", "no round was calm", "* nginx was not found", "0/1"):
            self.assertIn(part, text)


class Tables(unittest.TestCase):
    def test_columns_are_aligned_texts_to_the_left_and_numbers_to_the_right(self):
        self.assertEqual(stats.table("T", ["what", "n"], [["a", "1"], ["long", "1,000"]]), "\n".join([
            "T", "", "what      n", "----  -----", "a         1", "long  1,000", ""]))

    def test_a_table_without_rows_is_left_out(self):
        self.assertEqual(stats.table("T", ["what"], []), "")

    def test_numbers_are_written_as_people_read_them(self):
        self.assertEqual((stats.number(1234.5, 1), stats.signed(5.0), stats.percent(0.613), stats.number(None)),
                         ("1,234.5", "+5", "61 %", "-"))


class Configurations(unittest.TestCase):
    def test_places_are_filled_in_and_other_braces_stay(self):
        self.assertEqual(targets.filled({"a": ["{port}", "{x}"]}, {"port": 7}), {"a": ["7", "{x}"]})

    def test_every_peer_says_how_it_is_installed_started_and_reached(self):
        with open(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers.json")) as file:
            for name, entry in json.load(file).items():
                self.assertLessEqual({"what", "install", "program", "command", "url"}, set(entry), name)

    def test_everything_on_keeps_a_ledger_and_trusts_what_tools_declare(self):
        with tempfile.TemporaryDirectory() as folder:
            targets.gateway("ours", "countersign", folder, 1, {"up": targets.http_server(2)}, everything=True)
            with open(os.path.join(folder, "countersign.yaml")) as file:
                self.assertEqual(json.load(file)["store"]["type"], "sqlite")
            with open(os.path.join(folder, "mcp.json")) as file:
                server = json.load(file)["mcpServers"]["up"]
        self.assertTrue(server["trustAnnotations"])
        self.assertEqual(server["access"][-1], {"class": "write", "tools": ["*"]})


if __name__ == "__main__":
    unittest.main()
