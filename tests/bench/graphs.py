"""Graph runs beside a serial loop and beside peers: alternating rounds, medians of ratios, gates.

    python3 tests/bench/graphs.py [--taskflow DIR] [--rounds 4] [--gates 1,7] [--json FILE]

`make bench-graphs TASKFLOW=DIR` does the same. The programs are tests/bench/graphs*.cpp; each
measures one way to run graphs, in turn with a serial loop S over the same bodies (graph_bench.hpp
says how). Peers are oneTBB's flow graph and OpenMP's tasks, from Debian's packages, and Taskflow,
whose headers lie in DIR/taskflow; a peer that is not there leaves its places empty, which is said.

In a round every case runs once for every runner, one process after the other, each round beginning
with another runner. A ratio is taken within a round, and what is reported is the median over the
rounds with the lowest and the highest behind it. Each process says which share of all processors
others had meanwhile; rounds with more than --foreign of them are left out of a figure if two others
are left, and otherwise the figure is marked with ~. Nothing here says anything about more threads
than two.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
PEERS = ["taskflow", "tbb", "openmp"]
PROGRAMS = {"soma": "graphs", "core": "graphs_core", "taskflow": "graphs_taskflow",
            "tbb": "graphs_tbb", "openmp": "graphs_omp"}
CHECKED = ["chain:300", "wide:300", "late:100", "diamonds:60", "layered:3000", "tree:8"]
GAPS_US = [0, 1000, 20000]
# Do no harm: bodies in µs, and shapes that take at most tens of milliseconds with them.
GRID = {
    0: ["chain:10", "chain:1000", "chain:100000", "wide:2", "wide:8", "wide:1000", "wide:100000",
        "diamonds:10000", "layered:100000", "layered:100000 dataflow", "tree:16"],
    1: ["chain:1000", "wide:2", "wide:8", "wide:1000", "wide:10000", "late:3000",
        "diamonds:1000", "layered:10000", "layered:10000 dataflow", "tree:12"],
    50: ["chain:10", "wide:2", "wide:8", "wide:200", "diamonds:50", "layered:300",
         "layered:300 dataflow", "tree:6"],
}
EMPTY = ["chain:10", "chain:100000", "chain:1000000", "wide:2", "wide:8", "wide:100000",
         "diamonds:10000", "layered:100000", "layered:100000 dataflow", "tree:16"]
# As they are: numbered in the order in which they run.
COMPILED = ["chain:1000000", "wide:1000000", "diamonds:250000", "layered:100000", "tree:18"]
QUICK = ["--ms", "100"]
SHORT = ["--ms", "60", "--pairs", "3", "--runs-min", "1"]


class Case:
    """What one process measures, and for whom."""

    def __init__(self, gates, command, shape, runners, body_us=0.0, extra=(), rounds=99):
        self.gates, self.command, self.shape = set(gates), command, shape
        self.runners, self.body_us, self.extra, self.rounds = runners, body_us, list(extra), rounds

    def key(self):
        return (self.command, self.shape, self.body_us, tuple(self.extra))

    def arguments(self, steps_per_us):
        shape, _, how = self.shape.partition(" ")
        return [self.command, "--shape", shape, "--dataflow", str(int(how == "dataflow")),
                "--steps", str(round(self.body_us * steps_per_us)),
                *(["--shuffled", "1"] if how == "shuffled" else []), *self.extra]


def cases_of_peers():
    """Empty bodies, those of 1 and of 50 µs, and what gaps cost."""
    gate_of = {"chain:10": [2], "wide:2": [2], "wide:8": [2], "wide:100000": [3],
               "diamonds:10000": [4], "tree:16": [5]}
    for shape in EMPTY:
        gates = gate_of.get(shape, [1, "wall"] if "chain" in shape else [6])
        runners = ["soma"]
        if "dataflow" not in shape:
            runners += ["core", "taskflow", "tbb"]
        yield Case(gates, "run", shape, runners, 0, QUICK)
        if shape in ("wide:100000", "tree:16"):
            yield Case(gates, "run", shape, ["openmp"], 0, ["--pairs", "1", "--runs-min", "1"])
    everybody = ["soma", *PEERS]
    for shape in ("wide:100000", "layered:100000 dataflow", "tree:16"):
        yield Case([8], "run", shape, ["soma", "taskflow", "tbb"], 1, SHORT)
    for shape in ("wide:1000", "layered:10000 dataflow", "tree:10"):
        pairs = ["--ms", "60", "--pairs", "1" if "layered" in shape else "3", "--runs-min", "1"]
        yield Case([10], "run", shape, everybody, 50, pairs)
    yield Case([11, 12], "run", "wide:2", everybody, 50, ["--gaps-us", "0,1000", "--ms", "150"])
    yield Case([13], "run", "wide:2", everybody, 0, ["--gaps-us", "20000", "--ms", "700"])


def all_cases():
    yield from cases_of_peers()
    gaps = ["--gaps-us", ",".join(map(str, GAPS_US)), "--ms", "120", "--pairs", "4"]
    for body_us, shapes in GRID.items():
        for shape in shapes:
            yield Case([7], "run", shape, ["soma"], body_us, gaps)
    yield Case([16, 17, 20], "build", "chain:1000000", ["soma", "taskflow", "tbb"])
    yield Case([20], "build", "chain:100000", ["soma"])
    yield Case([20], "build", "wide:1000000", ["soma"], rounds=2)
    yield Case([20], "build", "wide:100000", ["soma"], rounds=2)
    for shape in COMPILED:
        yield Case([18], "compile", shape, ["core"], 0, ["--pairs", "5"])
    yield Case([19], "compile", "chain:1000000 shuffled", ["core"], 0, ["--pairs", "3"])
    yield Case([23], "cancel", "wide:100000", ["soma"], 1)
    yield Case([24], "events", "chain:1000", ["soma"], 0, ["--ms", "300"])
    for shape in ("chain:1000", "wide:8", "diamonds:100"):
        yield Case([15], "hot", shape, ["soma"], 0, rounds=1)
    yield Case([15], "hot", "wide:1000", ["soma"], 1, rounds=1)


# ---- Running

class Bench:
    """The programs, and all that they said: records by case, runner and round."""

    def __init__(self, folder, first=False):
        self.folder, self.first = Path(folder), first
        self.records = {}
        self.steps_per_us = 900.0

    def has(self, runner):
        return (self.folder / PROGRAMS[runner]).exists()

    def output(self, runner, arguments, trace=None):
        command = [str(self.folder / PROGRAMS[runner]), *arguments]
        if trace:
            command = ["strace", "-f", "-qq", "-o", trace, *command]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              preexec_fn=come_first if self.first else None)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr[-1000:]}"
                     f"{done.stdout[-1000:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def calibrate(self):
        """How many steps of a body take a microsecond, where nobody disturbs them."""
        steps = 20000
        found = [self.output("soma", ["run", "--shape", "chain:10", "--steps", str(steps),
                                      "--ms", "20"])[0]["serial_ns"] for _ in range(5)]
        self.steps_per_us = steps * 10 * 1000 / min(found)

    def check(self):
        """Ends the bench if a runner does not run every node once and in order."""
        for runner in PROGRAMS:
            for shape in CHECKED if self.has(runner) else []:
                self.output(runner, ["check", "--shape", shape])
        self.output("soma", ["check", "--shape", "layered:3000", "--dataflow", "1"])

    def round(self, number, cases):
        for case in cases:
            if number >= case.rounds:
                continue
            runners = [runner for runner in case.runners if self.has(runner)]
            turn = number % len(runners) if runners else 0
            for runner in runners[turn:] + runners[:turn]:
                for record in self.output(runner, case.arguments(self.steps_per_us)):
                    self.add(case, runner, number, record)

    def add(self, case, runner, number, record):
        key = (case.command, case.shape, case.body_us, record.get("gap_us", 0), runner)
        if case.command == "run" and 7 in case.gates:
            key = ("grid", *key[1:])
        self.records.setdefault(key, {})[number] = record

    def rounds_of(self, runner, shape, body_us=0, gap_us=0, command="run"):
        return self.records.get((command, shape, body_us, gap_us, runner), {})


def come_first():
    """Ahead of what else runs here: the scheduler weighs groups before it weighs processes."""
    os.setsid()
    Path("/proc/self/autogroup").write_text("-20", encoding="ascii")
    os.nice(-20)


def syscalls_of(bench, case):
    """System calls in the runs between two of getppid: of the thread that runs, and of others."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as trace:
        bench.output("soma", case.arguments(bench.steps_per_us), trace.name)
        lines = trace.read().splitlines()
    marks = [at for at, line in enumerate(lines) if "getppid(" in line]
    caller = lines[marks[0]].split()[0]
    own, others = [], []
    for line in lines[marks[0] + 1:marks[1]]:
        thread, call = line.split(maxsplit=1)
        if "resumed" not in call:
            (own if thread == caller else others).append(call.split("(")[0])
    return own, others


# ---- Figures

class Figure:
    """A value of each round, and the share of the processors that others had in it."""

    def __init__(self, values, foreign_limit):
        quiet = [value for value, foreign in values if foreign <= foreign_limit]
        self.is_disturbed = len(quiet) < min(2, len(values)) if values else False
        self.values = [value for value, _ in values] if self.is_disturbed else quiet
        self.left_out = len(values) - len(self.values)

    def __bool__(self):
        return bool(self.values)

    def __float__(self):
        return float(median(self.values))

    def text(self):
        if not self.values:
            return "–"
        low, high = number(min(self.values)), number(max(self.values))
        mark = "~" if self.is_disturbed else ""
        return mark + number(float(self)) + (f" [{low}..{high}]" if low != high else "")


def number(value):
    if value == 0 or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def units(shape):
    """How many bodies one after the other two threads can't do without, in the order of a plan."""
    kind, size = shape.split(" ")[0].split(":")
    size = int(size)
    if kind == "chain":
        return size
    if kind == "wide":
        return 2 + math.ceil(size / 2)
    if kind == "late":
        return size + math.ceil(size / 2) + 1
    if kind == "diamonds":
        return 3 * size
    if kind == "layered":
        return size / 2
    return sum(math.ceil(2 ** level / 2) for level in range(size + 1))


class Report:
    def __init__(self, bench, foreign_limit):
        self.bench, self.foreign_limit = bench, foreign_limit

    def of(self, rounds, value):
        """A figure from some runners' rounds; value(records) of one round, None: there is none."""
        shared = set.intersection(*(set(by_round) for by_round in rounds)) if rounds else set()
        values = []
        for at in sorted(shared):
            records = [by_round[at] for by_round in rounds]
            found = value(*records)
            foreign = max(record.get("foreign", 0) for record in records)
            values.append((found, foreign))
        return Figure(values, self.foreign_limit)

    def own(self, key, *where, **more):
        return self.of([self.bench.rounds_of("soma", *where, **more)], lambda ours: ours[key])

    def per_node(self, runner, shape, key="run_ns", **more):
        return self.of([self.bench.rounds_of(runner, shape, **more)],
                       lambda found: found[key] / found["nodes"])

    def beside(self, peer, *where, key="run_ns", **more):
        return self.of([self.bench.rounds_of(runner, *where, **more) for runner in ("soma", peer)],
                       lambda ours, theirs: ours[key] / theirs[key])

    def beside_best(self, *where, **more):
        there = [rounds for rounds in (self.bench.rounds_of(peer, *where, **more)
                                       for peer in PEERS) if rounds]
        if not there:
            return Figure([], self.foreign_limit)
        return self.of([self.bench.rounds_of("soma", *where, **more), *there],
                       lambda ours, *theirs: ours["run_ns"] / min(t["run_ns"] for t in theirs))

    def beyond_ideal(self, peer, shape, body_us):
        def ratio(ours, theirs):
            beyond = [record["run_ns"] - record["serial_ns"] / record["nodes"] * units(shape)
                      for record in (ours, theirs)]
            return beyond[0] / max(beyond[1], 1)
        return self.of([self.bench.rounds_of(runner, shape, body_us)
                        for runner in ("soma", peer)], ratio)

    def efficiency(self, runner, shape, body_us):
        return self.of([self.bench.rounds_of(runner, shape, body_us)],
                       lambda found: 100 * found["serial_ns"] / found["nodes"] * units(shape)
                       / found["run_ns"])

    # ---- Gates: (number, what, unit, figure, limit)
    def speed_rows(self):
        for shape in ("chain:100000", "chain:1000000"):
            yield 1, f"{shape} ÷ Taskflow", "×", self.beside("taskflow", shape), 0.15
            yield 1, f"{shape} ÷ S", "×", self.own("ratio", shape), 3
        for shape in ("wide:2", "chain:10"):
            yield 2, f"{shape} ÷ oneTBB", "×", self.beside("tbb", shape), 0.5
            yield 2, f"{shape} ÷ Taskflow", "×", self.beside("taskflow", shape), 0.02
        yield 3, "wide:100000 ÷ Taskflow", "×", self.beside("taskflow", "wide:100000"), 0.05
        yield 3, "wide:100000 ÷ best peer", "×", self.beside_best("wide:100000"), 0.3
        yield 4, "diamonds:10000 ÷ Taskflow", "×", self.beside("taskflow", "diamonds:10000"), 0.15
        yield 4, "diamonds:10000 ÷ S", "×", self.own("ratio", "diamonds:10000"), 3
        yield 5, "tree:16 ÷ Taskflow", "×", self.beside("taskflow", "tree:16"), 0.1
        yield 5, "tree:16 ÷ best peer", "×", self.beside_best("tree:16"), 0.5
        for shape in ("layered:100000", "layered:100000 dataflow"):
            figure = self.of([self.bench.rounds_of("soma", shape),
                              self.bench.rounds_of("taskflow", "layered:100000")],
                             lambda ours, theirs: ours["run_ns"] / theirs["run_ns"])
            yield 6, f"{shape} ÷ Taskflow", "×", figure, 0.5

    def work_rows(self):
        for shape in ("wide:100000", "layered:100000 dataflow", "tree:16"):
            yield (8, f"{shape}, 1 µs, beyond the ideal ÷ Taskflow", "×",
                   self.beyond_ideal("taskflow", shape, 1), 0.5)
            yield 8, f"{shape}, 1 µs, of the ideal", "%", self.efficiency("soma", shape, 1), None
            yield (8, f"{shape}, 1 µs, of the ideal: Taskflow", "%",
                   self.efficiency("taskflow", shape, 1), None)
        for shape in ("wide:1000", "layered:10000 dataflow", "tree:10"):
            yield 10, f"{shape}, 50 µs ÷ best peer", "×", self.beside_best(shape, 50), 1.03
            yield 10, f"{shape}, 50 µs, of the ideal", "%", self.efficiency("soma", shape, 50), None
        yield 11, "wide:2, 50 µs ÷ best peer", "×", self.beside_best("wide:2", 50), 1.05
        yield 12, "the same after 1 ms idle ÷ S", "×", self.own("ratio", "wide:2", 50, 1000), 1.05
        burnt = self.of([self.bench.rounds_of("soma", "wide:2", 50, 1000)],
                        lambda ours: ours["cores"] - ours["serial_cores"])
        yield 12, "burnt beyond the work meanwhile", "cores", burnt, 0.1
        yield (13, "an empty run each 20 ms, burnt", "cores",
               self.own("cores", "wide:2", 0, 20000), 0.02)

    def build_rows(self):
        built = {"command": "build"}
        chain = self.bench.rounds_of("soma", "chain:1000000", **built)
        names = sum(len(str(node)) for node in range(1000000)) / 1000000

        def bytes_a_node(found):
            return found["create_bytes"] / found["nodes"] - names
        yield 16, "bytes a node of a chain, names apart", "B", self.of([chain], bytes_a_node), 82
        theirs = self.bench.rounds_of("taskflow", "chain:1000000", **built)
        yield (16, "the same ÷ Taskflow", "×",
               self.of([chain, theirs], lambda ours, peer: bytes_a_node(ours)
                       / (peer["built_bytes"] / peer["nodes"])), 0.35)
        yield (17, "cold build, compile and run of chain:1000000, a node", "ns",
               self.per_node("soma", "chain:1000000", "build_ns", **built), 380)
        yield (17, "the same ÷ Taskflow", "×",
               self.beside("taskflow", "chain:1000000", key="build_ns", **built), 0.4)
        for shape in COMPILED:
            compiled = [self.bench.rounds_of("core", shape, command="compile")]
            yield (18, f"warm compile {shape} ÷ the floor", "×",
                   self.of(compiled, lambda found: found["ratio"]), 3)
            yield (18, f"warm compile {shape}, a node", "ns",
                   self.of(compiled, lambda found: found["warm_ns"]), None)
        compiled = [self.bench.rounds_of("core", "chain:1000000 shuffled", command="compile")]
        yield (19, "warm compile chain:1000000 shuffled ÷ the floor", "×",
               self.of(compiled, lambda found: found["ratio"]), 2)
        yield (19, "the same, a node", "ns",
               self.of(compiled, lambda found: found["warm_ns"]), 790)
        for kind in ("chain", "wide"):
            yield (20, f"compile {kind}: 10^6 nodes ÷ 10^5", "×",
                   self.of([self.bench.rounds_of("soma", f"{kind}:{size}", **built)
                            for size in (1000000, 100000)],
                           lambda large, small: large["compile_ns"] / small["compile_ns"]), 15)

    def other_rows(self):
        stopped = self.own("median_ns", "wide:100000", 1, command="cancel")
        yield 23, "from cancelling to the end, bodies of 1 µs", "ns", stopped, 6000
        yield (24, "a probe and an observer that have gone ÷ none", "×",
               self.own("off_ratio", "chain:1000", command="events"), 1.02)
        yield (24, "a probe that keeps what it is told, a node", "ns",
               self.own("probed_ns", "chain:1000", command="events"), 40)
        yield (24, "an observer, a node: events as text", "ns",
               self.own("told_ns", "chain:1000", command="events"), None)
        wall = self.of([self.bench.rounds_of(runner, "chain:100000")
                        for runner in ("soma", "core")],
                       lambda ours, core: (ours["run_ns"] - core["run_ns"]) / ours["nodes"])
        yield "wall", "C callback beyond the core's, a node of chain:100000", "ns", wall, 10

    def hot_rows(self, syscalls):
        for (command, shape, body_us, _, _), rounds in self.bench.records.items():
            if command != "hot":
                continue
            figure = self.of([rounds], lambda ours: ours["allocations"] / ours["runs"])
            yield 15, f"allocations a run: {shape}, {body_us:g} µs", "", figure, 0
            if (shape, body_us) in syscalls:
                runs = next(iter(rounds.values()))["runs"]
                calls = Figure([(len(syscalls[shape, body_us][0]) / runs, 0)], 1)
                yield 15, f"system calls a run: {shape}, {body_us:g} µs", "", calls, 0

    def harm_cells(self):
        """(figure of run ÷ (1.25 S + 0.2 µs), shape, body, gap) of every cell, worst first."""
        cells = []
        for (command, shape, body_us, gap_us, _), rounds in self.bench.records.items():
            if command == "grid":
                cells.append((self.of([rounds], lambda ours: ours["harm"]), shape, body_us, gap_us))
        return sorted(cells, key=lambda cell: -float(cell[0]))


# ---- Printing

def print_gates(rows):
    print("| gate | what | limit | reached | |\n|---|---|---|---|---|")
    for gate, what, unit, figure, limit in rows:
        if not figure:
            verdict = "not measured"
        elif limit is None:
            verdict = ""
        else:
            verdict = "ok" if float(figure) <= limit else "**misses**"
        bound = "" if limit is None else f"≤ {number(limit)} {unit}"
        print(f"| {gate} | {what} | {bound} | {figure.text()} {unit} | {verdict} |")


def print_harm(cells, worst):
    good = sum(float(figure) <= 1 for figure, *_ in cells)
    print(f"\nGate 7, do no harm: {good} of {len(cells)} cells (shape × body × gap) take at most "
          f"1.25 S + 0.2 µs. Run ÷ that, worst first:\n")
    print("| shape | body, µs | gap, ms | run ÷ (1.25 S + 0.2 µs) |\n|---|---|---|---|")
    for figure, shape, body_us, gap_us in cells[:worst]:
        print(f"| {shape} | {body_us:g} | {gap_us / 1000:g} | {figure.text()} |")


def print_runs(report, runners):
    print("\nEmpty bodies, ns a node:\n")
    print(f"| shape | S | {' | '.join(runners)} |\n|---|---|{'---|' * len(runners)}")
    for shape in EMPTY:
        cells = [report.per_node("soma", shape, "serial_ns")]
        cells += [report.per_node(runner, shape) for runner in runners]
        if cells[1]:
            print(f"| {shape} | {' | '.join(cell.text() for cell in cells)} |")


def print_disturbance(bench, limit):
    by_round = {}
    for rounds in bench.records.values():
        for at, record in rounds.items():
            by_round.setdefault(at, []).append(record.get("foreign", 0))
    print(f"\nOthers had of all processors, by round: " + "; ".join(
        f"{at + 1}: median {median(shares):.0%}, {sum(s > limit for s in shares)} of {len(shares)} "
        f"figures above {limit:.0%}" for at, shares in sorted(by_round.items())))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="build/release/bench", help="folder of the programs")
    parser.add_argument("--taskflow", help="folder that holds taskflow/taskflow.hpp")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=10, help="no round begins that won't fit")
    parser.add_argument("--gates", help="only these: 1,2,wall")
    parser.add_argument("--foreign", type=float, default=0.05)
    parser.add_argument("--first", action="store_true", help="as root, before all other processes")
    parser.add_argument("--worst", type=int, default=15, help="cells of gate 7 that are shown")
    parser.add_argument("--json", help="file for all records")
    parser.add_argument("--no-build", action="store_true")
    return parser.parse_args()


def build(options):
    taskflow = [f"TASKFLOW={Path(options.taskflow).resolve()}"] if options.taskflow else []
    subprocess.run(["make", "--no-print-directory", "-C", str(ROOT), "graph-bench", *taskflow],
                   check=True)


def main():
    options = parse_arguments()
    if not options.no_build:
        build(options)
    bench = Bench(options.bench, options.first)
    if not options.taskflow:
        PROGRAMS["taskflow"] = "not-given"
    missing = [peer for peer in PEERS if not bench.has(peer)]
    wanted = set(options.gates.split(",")) if options.gates else None
    cases = [case for case in all_cases()
             if not wanted or wanted & {str(gate) for gate in case.gates}]
    began = time.monotonic()
    bench.check()
    bench.calibrate()
    for number_of_round in range(options.rounds):
        round_began = time.monotonic()
        bench.round(number_of_round, cases)
        took = time.monotonic() - round_began
        print(f"round {number_of_round + 1}: {took:.0f} s", file=sys.stderr, flush=True)
        if time.monotonic() - began + took > options.minutes * 60:
            break
    hot = [case for case in cases if case.command == "hot"]
    syscalls = {(case.shape, case.body_us): syscalls_of(bench, case)
                for case in (hot if shutil.which("strace") else [])}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([[list(key), rounds] for key, rounds in bench.records.items()], file)
    print_all(bench, options, missing, syscalls, wanted)


def print_all(bench, options, missing, syscalls, wanted):
    report = Report(bench, options.foreign)
    print(f"A body of 1 µs is {bench.steps_per_us:.0f} steps.")
    if missing:
        print(f"Not there: {', '.join(missing)}.")
    if not syscalls:
        print("System calls are not counted: there is no strace.")
    rows = [row for part in (report.speed_rows(), report.work_rows(), report.hot_rows(syscalls),
                             report.build_rows(), report.other_rows()) for row in part
            if not wanted or str(row[0]) in wanted]
    print()
    print_gates(rows)
    for (shape, body_us), both in syscalls.items():
        for who, calls in zip(("its caller", "helpers and the ticker"), both):
            counted = ", ".join(f"{name} {calls.count(name)}" for name in sorted(set(calls)))
            print(f"\nSystem calls of {shape}, {body_us:g} µs, by {who}: {counted or 'none'}")
    cells = report.harm_cells()
    if cells:
        print_harm(cells, options.worst)
    print_runs(report, ["soma", "core"] + [peer for peer in PEERS if peer not in missing])
    print_disturbance(bench, options.foreign)


if __name__ == "__main__":
    sys.exit(main())
