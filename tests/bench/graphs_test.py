"""Proves that the bench of graph runs measures what it says, and sums rounds up as it says."""

import contextlib
import io
import os
import unittest
from unittest import mock

import graphs

BENCH = os.environ.get("SOMA_BENCH", "build/release/bench")


def record(run_ns, foreign=0.0, **more):
    return {"run_ns": run_ns, "serial_ns": 100, "nodes": 10, "foreign": foreign, **more}


class Programs(unittest.TestCase):
    """The library's own program, on shapes that take no time."""

    def setUp(self):
        self.bench = graphs.Bench(BENCH)

    def test_every_node_runs_once_and_in_order(self):
        for shape in ("chain:10", "wide:30", "diamonds:5", "layered:100", "tree:4"):
            for dataflow in "01":
                found, = self.bench.output("soma", ["check", "--shape", shape,
                                                    "--dataflow", dataflow])
                self.assertEqual((found["missing"], found["wrong"]), (0, 0))

    def test_a_run_has_a_figure_for_each_gap(self):
        found = self.bench.output("soma", ["run", "--shape", "wide:2", "--gaps-us", "0,100",
                                           "--ms", "2", "--pairs", "1"])
        self.assertEqual([one["gap_us"] for one in found], [0, 100])
        for one in found:
            self.assertEqual((one["nodes"], one["edges"]), (4, 4))
            self.assertGreater(one["run_ns"], one["serial_ns"])
            self.assertGreater(one["serial_ns"], 0)

    def test_bodies_take_their_time(self):
        short, long = (self.bench.output("soma", ["run", "--shape", "chain:10", "--steps", steps,
                                                  "--ms", "2", "--pairs", "1"])[0]
                       for steps in ("100", "10000"))
        self.assertGreater(long["serial_ns"], 10 * short["serial_ns"])
        self.assertGreater(long["run_ns"], 0.9 * long["serial_ns"])

    def test_builds_say_what_their_parts_took(self):
        found, = self.bench.output("soma", ["build", "--shape", "chain:1000"])
        parts = [found[f"{part}_ns"] for part in ("graph", "compile", "release", "create")]
        self.assertGreater(min(parts), 0)
        self.assertLessEqual(sum(parts), found["build_ns"])
        self.assertGreater(found["create_bytes"], 0)

    def test_the_other_commands(self):
        cancel, = self.bench.output("soma", ["cancel", "--shape", "wide:50", "--steps", "10"])
        self.assertGreater(cancel["median_ns"], 0)
        events, = self.bench.output("soma", ["events", "--shape", "chain:10", "--ms", "5"])
        self.assertGreater(events["probed_ns"], 0)
        self.assertGreater(events["told_ns"], events["probed_ns"])
        hot, = self.bench.output("soma", ["hot", "--shape", "chain:10"])
        self.assertGreaterEqual(hot["allocations"], 0)

    def test_what_is_wrong_ends_the_bench(self):
        for arguments in (["run", "--shape", "ring:3"], ["walk"], ["run", "--shape"]):
            with self.assertRaises(SystemExit):
                self.bench.output("soma", arguments)


class Figures(unittest.TestCase):
    def setUp(self):
        self.bench = graphs.Bench("nowhere")
        self.report = graphs.Report(self.bench, 0.05)

    def add(self, runner, *records, shape="wide:2", command="run"):
        self.bench.records[(command, shape, 0, 0, runner)] = dict(enumerate(records))

    def test_ratios_are_taken_within_a_round(self):
        self.add("soma", record(10), record(40), record(90))
        self.add("tbb", record(100), record(100), record(300))
        figure = self.report.beside("tbb", "wide:2")
        self.assertAlmostEqual(float(figure), 0.3)
        self.assertEqual(figure.text(), "0.300 [0.100..0.400]")

    def test_a_round_that_a_runner_lacks_does_not_count(self):
        self.add("soma", record(10), record(40))
        self.add("tbb", record(100))
        self.assertEqual(self.report.beside("tbb", "wide:2").values, [0.1])

    def test_disturbed_rounds_are_left_out_if_two_are_not(self):
        self.add("soma", record(10), record(20), record(900, foreign=0.5), )
        figure = self.report.own("run_ns", "wide:2")
        self.assertEqual((figure.values, figure.is_disturbed), ([10, 20], False))
        self.add("soma", record(10), record(900, foreign=0.5))
        figure = self.report.own("run_ns", "wide:2")
        self.assertEqual((figure.values, figure.is_disturbed), ([10, 900], True))
        self.assertTrue(figure.text().startswith("~"))

    def test_the_best_peer_is_the_best_of_each_round(self):
        self.add("soma", record(10), record(10))
        self.add("tbb", record(20), record(100))
        self.add("openmp", record(100), record(20))
        self.assertEqual(self.report.beside_best("wide:2").values, [0.5, 0.5])

    def test_without_peers_places_are_empty(self):
        self.add("soma", record(10, harm=0.5))
        self.assertFalse(self.report.beside("taskflow", "wide:2"))
        self.assertFalse(self.report.beside_best("wide:2"))
        self.assertFalse(self.report.beyond_ideal("taskflow", "wide:2", 0))

    def test_the_ideal_of_two_threads(self):
        for shape, bodies in (("chain:7", 7), ("wide:5", 5), ("late:4", 7), ("diamonds:3", 9),
                              ("layered:100", 50), ("tree:3", 4 + 2 + 1 + 1)):
            self.assertEqual(graphs.units(shape), bodies)

    def test_numbers_have_three_digits(self):
        self.assertEqual([graphs.number(value) for value in (0, 0.0123, 1.5, 12.34, 345.6, 5432.1)],
                         ["0", "0.0123", "1.50", "12.3", "346", "5432"])

    def test_the_table_says_who_misses(self):
        rows = [(1, "good", "×", graphs.Figure([(1, 0)], 0.05), 2),
                (1, "bad", "×", graphs.Figure([(3, 0)], 0.05), 2),
                (1, "none", "×", graphs.Figure([], 0.05), 2)]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            graphs.print_gates(rows)
        good, bad, none = printed.getvalue().splitlines()[2:]
        self.assertIn("| ok |", good)
        self.assertIn("misses", bad)
        self.assertIn("not measured", none)

    def test_every_gate_has_a_case(self):
        for case in graphs.all_cases():
            self.assertTrue(case.gates and case.runners, case.key())
            self.assertIn("--shape", case.arguments(1))

    def test_runners_take_turns(self):
        order = []
        case = graphs.Case([1], "run", "wide:2", ["soma", "tbb"])
        with mock.patch.object(graphs.Bench, "has", lambda self, runner: True), \
                mock.patch.object(graphs.Bench, "output",
                                  lambda self, runner, arguments: order.append(runner) or []):
            for number in range(2):
                self.bench.round(number, [case])
        self.assertEqual(order, ["soma", "tbb", "tbb", "soma"])


if __name__ == "__main__":
    unittest.main()
