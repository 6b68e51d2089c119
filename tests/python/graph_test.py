#!/usr/bin/env python3
"""Proves graphs in Python: values, pieces, plans, exceptions, Ctrl-C, threads, lifetimes."""

import gc
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
import unittest
import weakref
from pathlib import Path
from unittest import mock

import soma
from soma import _value
from soma._library import lib, make

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60  # a rendezvous that takes longer will never come


class Thing:
    """What no value can look into."""


@soma.node
def echo(value):
    return value


@soma.node
def words(text):
    return text.split()


@soma.node
def count(items):
    return len(items)


@soma.node
def longest(items):
    return max(items, key=len)


def std(op, id=None, **config):
    return soma.Node(id, op=f"std.{op}", **({"config": config} if config else {}))


class Shared(unittest.TestCase):
    def setUp(self):
        self.ignored = []  # what ctypes could only print
        patch = mock.patch.object(sys, "unraisablehook", self.ignored.append)
        patch.start()
        self.addCleanup(patch.stop)

    def tearDown(self):
        self.assertEqual([str(each.exc_value) for each in self.ignored], [])
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        gc.collect()
        self.assertEqual(_value._kept, {})  # nothing is held for the library


class Values(Shared):
    def pass_through(self, thing):
        seen = []

        @soma.node
        def look(value):
            seen.append(value)
            return value

        result = soma.Graph(look() >> std("identity")).run(thing)
        self.assertEqual(repr(seen[0]), repr(result))
        return result

    def test_both_ways(self):
        for thing in (None, True, False, 0, -1, 2**63 - 1, -2**63, 0.5, 3.0, -0.0, math.inf, "",
                      "naïve 中文 🙂\0end", b"", b"\0\xff", [], {}, [[], {}, [None]],
                      {"": 1, "b": [1, 2.0, "x", b"y", {"c": None}], "a": True}):
            found = self.pass_through(thing)
            self.assertEqual((found, type(found)), (thing, type(thing)))
            self.assertEqual(repr(found), repr(thing))  # tells 3 and 3.0, and orders of keys
        self.assertTrue(math.isnan(self.pass_through(math.nan)))
        self.assertEqual(self.pass_through((1, (2,))), [1, [2]])

    def test_integers_beyond_64_bits_are_refused_on_every_way_in(self):
        for wrong in (2**63, -2**63 - 1, [1, {"a": 10**30}]):
            with self.assertRaises(soma.OutOfRange):
                soma.Graph(std("identity")).run(wrong)
            with self.assertRaises(soma.OutOfRange):
                soma.Graph(soma.node(lambda: wrong)()).run()

    def test_what_is_no_text_is_refused(self):
        with self.assertRaises(UnicodeEncodeError):
            soma.Graph(std("identity")).run("\udce9")

    def test_anything_else_is_opaque_and_comes_back_as_it_is(self):
        for thing in (Thing(), {1: 2}, {"nul\0": 1}, {1, 2}, bytearray(b"x"), 1j, print):
            self.assertIs(self.pass_through(thing), thing)
        inner = Thing()
        self.assertIs(self.pass_through({"a": [inner, inner]})["a"][1], inner)

    def test_opaque_objects_are_let_go_of(self):
        thing = Thing()
        gone = weakref.ref(thing)
        plan = soma.Graph(echo() >> (std("identity", "left") | echo("right"))).compile()
        run = soma.Run(plan)
        self.assertIs(run.execute([thing])["right"][0], thing)
        del thing
        gc.collect()
        self.assertIsNone(gone())


class Building(Shared):
    def test_pieces_make_what_the_library_makes(self):
        def library(first, second, function):
            return soma.Graph.parse(soma._library.blob(lib.soma_graph_document, make(
                function, first._raw, second._raw)).decode(), runtime=first.runtime)

        runtime = soma.Runtime()

        def alone(id):
            return soma.Graph(std("identity", id), runtime=runtime)

        def then(first, second):
            return library(first, second, lib.soma_graph_then)

        def beside(first, second):
            return library(first, second, lib.soma_graph_beside)

        a, b, c, d, e = (std("identity", id) for id in "abcde")
        want = then(then(alone("a"), beside(then(alone("b"), alone("c")), alone("d"))), alone("e"))
        self.assertEqual(soma.Graph(a >> (b >> c | d) >> e).document, want.document)
        want = then(beside(alone("a"), alone("b")), beside(alone("c"), alone("d")))
        self.assertEqual(soma.Graph((a | b) >> (c | d)).document, want.document)
        nested = a >> soma.loop(b >> c, "again", max_iterations=2, until="exhaust") >> d
        tied = then(soma.Graph(a >> soma.loop(b >> c, "again", max_iterations=2,
                                              until="exhaust"), runtime=runtime), alone("d"))
        self.assertEqual(soma.Graph(nested).document, tied.document)

    def test_what_follows_a_branch_reads_from_the_arm_that_ran(self):
        runtime = soma.Runtime()

        def piece():
            low = soma.branch(std("identity", "low"), {"it < 0": std("const", "neg", value="neg"),
                                                       "else": std("const", "pos", value="pos")})
            again = soma.loop(std("add", "more", value=1), "again", max_iterations=3,
                              until="exhaust", carry_from="more")
            return soma.branch(std("identity", "size"), {"it > 9": again, "else": low})

        join = std("identity", "join")
        graph = soma.Graph(piece() >> join, runtime=runtime)
        first = soma.Graph(piece(), runtime=runtime)
        then = soma.Graph(std("identity", "join"), runtime=runtime)
        tied = soma.Graph.parse(soma._library.blob(lib.soma_graph_document, make(
            lib.soma_graph_then, first._raw, then._raw)).decode(), runtime=runtime)
        self.assertEqual(graph.document, tied.document)
        into = [edge["from"] for edge in json.loads(graph.document)["edges"]
                if edge["to"] == "join"]
        self.assertEqual(into, ["again", "neg", "pos"])
        self.assertEqual(graph.run(10), {"again": 13})
        self.assertEqual(graph.run(-1), {"neg": "neg"})
        self.assertEqual(graph.run(1), {"pos": "pos"})

    def test_ids_are_chosen_as_the_library_does(self):
        @soma.node
        def LoadCSVFile():
            return 1

        graph = soma.Graph()
        first, second = graph.add(LoadCSVFile()), graph.add(LoadCSVFile())
        self.assertEqual((graph.id(first), graph.id(second)), ("load_csv_file", "load_csv_file_2"))
        # An id that is given, in this piece or before, is not taken away.
        graph.add(std("add", value=1) >> std("add", "add", value=1) >> std("add", value=1))
        ids = [node["id"] for node in json.loads(graph.document)["nodes"]]
        self.assertEqual(ids[2:], ["add_2", "add", "add_3"])
        automatic = soma._library.blob(lib.soma_graph_automatic_id, graph._raw, b"add", 3)
        self.assertEqual(graph.id(graph.add(std("add", value=1))), automatic.decode())

    def test_what_comes_twice_is_refused(self):
        node = echo()
        for use in (lambda: soma.Graph(node >> node), lambda: soma.Graph(node, node),
                    lambda: soma.Graph(echo("a") | echo("a")),
                    lambda: soma.Graph(echo("a"), echo("a"))):
            with self.assertRaises(soma.InvalidArgument) as caught:
                use()
            self.assertEqual(caught.exception.reason, "graph.duplicate_id")
        with self.assertRaises(soma.AlreadyExists) as caught:
            soma.Graph(soma.node(lambda: 1, op="one")() | soma.node(lambda: 2, op="one")())
        self.assertEqual(caught.exception.reason, "ops.duplicate")

    def test_edges_by_nodes_and_ids(self):
        graph = soma.Graph()
        split = graph.add(soma.node(lambda: {"low": 1, "high": 2}, op="split")(
            "split", outputs=[{"name": "low"}, {"name": "high"}]))
        total = graph.add(soma.node(lambda given: given, op="total")("total"))
        graph.edge(split, "total", output="high", input="up")
        graph.edge("split", total, output="low", input="down")
        self.assertEqual(graph.run(), {"up": 2, "down": 1})
        with self.assertRaises(soma.InvalidArgument) as caught:
            graph.edge(split, "nobody")
        self.assertEqual(caught.exception.reason, "graph.unknown_node")
        with self.assertRaises(soma.InvalidArgument) as caught:
            graph.edge(split, total, colour="red")
        self.assertEqual(caught.exception.reason, "document.unknown_key")
        with self.assertRaises(ValueError):
            graph.edge(split, total, kind="wish")

    def test_settings_stand_in_documents(self):
        made = soma.node(lambda: None, op="nothing", version=3, waits=True, cacheable=True)
        graph = soma.Graph(made("x", config={"a": [1]}, state=b"\0\1", cost_us=2.5))
        record = json.loads(graph.document)["nodes"][0]
        want = {"id": "x", "op": "nothing", "op_version": 3, "waits": True, "cacheable": True,
                "config": {"a": [1]}, "state": "AAE=", "cost_us": 2.5}
        self.assertEqual({key: record.get(key) for key in want}, want)
        self.assertIsNone(graph.run())
        with self.assertRaises(soma.InvalidArgument):
            soma.Graph(made(colour="red"))
        for wrong in ({"thread": "mine"}, {"version": -1}, {"version": 2**32}):
            with self.assertRaises(ValueError):
                soma.node(lambda: None, **wrong)
        with self.assertRaises(TypeError):
            echo() >> echo


class Constructs(Shared):
    def test_loop(self):
        @soma.node
        def grow(number):
            return number + 2

        @soma.node
        def judge(number):
            return number >= 7

        carry, signal_node = grow(), judge()
        again = soma.loop(carry >> signal_node, "refine", max_iterations=9, until=signal_node,
                          carry_from=carry)
        graph = soma.Graph(again >> std("add", value=100))
        self.assertIn("Loop(refine, max=9, until=judge, carry=grow):", str(graph.compile()))
        self.assertEqual(graph.run(0), 108)
        with self.assertRaises(soma.InvalidArgument) as caught:
            soma.Graph(soma.loop(grow(), until=judge()))
        self.assertEqual(caught.exception.reason, "graph.unknown_node")

    def test_branch_by_predicates_and_labels(self):
        @soma.node
        def rate(score):
            return {"score": score}

        def graph():
            return soma.Graph(soma.branch(rate(), {
                "score > 0.8": std("const", "deploy", value="out"),
                "else": std("const", "retrain", value="back")}))

        self.assertEqual(graph().run(0.9), {"deploy": "out"})
        self.assertEqual(graph().run(0.1), {"retrain": "back"})
        by_label = soma.branch(echo(), labels={"yes": std("const", "a", value=1),
                                               "no": std("const", "b", value=2)})
        plan = soma.Graph(by_label).compile()
        self.assertIn('["no"]:', plan.show())
        self.assertEqual(plan.run("no"), {"b": 2})
        with self.assertRaises(soma.FailedPrecondition) as caught:
            plan.run("perhaps")
        self.assertEqual(caught.exception.reason, "run.no_arm")
        self.assertEqual(caught.exception.detail("path"), "echo")
        with self.assertRaises(ValueError):
            soma.branch(echo())

    def test_subgraph(self):
        inner = words() >> (count() | longest())
        graph = soma.Graph(soma.subgraph(inner, "measure") >> echo("end"))
        self.assertIn("Execute(measure/count)", graph.compile().show())
        want = {"measure/count": 2, "measure/longest": "four"}
        found = graph.run("one four")
        self.assertEqual(list(found.values()), list(want.values()))

    def test_handoff(self):
        step = soma.Node("ask", kind="step", op="asks")
        graph = soma.Graph(soma.handoff(step, echo("answer"), echo("give_up")))
        self.assertIn("~> give_up:", graph.compile().show())
        with self.assertRaises(ValueError):
            soma.handoff(step)


class Plans(Shared):
    def test_show_document_diff(self):
        graph = soma.Graph(words() >> (count() | longest()))
        plan = graph.compile()
        self.assertEqual(str(plan), "Sequence:\n  Execute(words)\n  Parallel:\n"
                                    "    Execute(count)\n    Execute(longest)\n")
        self.assertIn("flowchart", plan.show("mermaid"))
        self.assertIn("digraph", plan.show("dot"))
        self.assertTrue(plan._repr_svg_().startswith("<svg "))
        self.assertIn("</svg>", plan.show("html"))
        self.assertEqual(plan.facts["nodes"], 3)
        self.assertEqual(plan.facts["graph"], graph.facts["digest"])
        self.assertEqual([each["code"] for each in plan.diagnostics], ["graph.several_leaves"])
        other = soma.Graph(words() >> count()).compile()
        self.assertEqual([each["id"] for each in plan.diff(other)["removed"]], ["longest"])
        read = soma.Plan.parse(plan.document, ops=[words, count, longest])
        self.assertEqual(read.document, plan.document)
        self.assertEqual(read.run("a bcd"), {"count": 2, "longest": "bcd"})

    def test_binary_form(self):
        plan = soma.Graph(words() >> (count() | longest())).compile()
        self.assertEqual(soma.Plan.parse(plan.binary).document, plan.document)
        for broken in (plan.binary[:-1], plan.binary + b"x", plan.binary[:40] + b"?" +
                       plan.binary[41:]):
            with self.assertRaises(soma.SomaError) as raised:
                soma.Plan.parse(broken)
            self.assertEqual(raised.exception.reason, "document.corrupt")

    def test_estimate(self):
        plan = soma.Graph(words(cost_us=5) >> (count(cost_us=20) | longest())).compile()
        found = plan.estimate()
        self.assertEqual((found["total_us"], found["known_us"], found["unknown"]),
                         (None, 25, ["longest"]))
        found = plan.estimate({"longest": 30, "words": 1000}, threads=1)  # what is declared counts
        self.assertEqual((found["total_us"], found["critical_path_us"], found["work_us"],
                          found["threads"]), (55, 35, 55, 1))
        self.assertEqual(plan.estimate(ops={longest.op.name: 1})["total_us"], 25)
        with self.assertRaises(soma.InvalidArgument):
            plan.estimate({"words": -1})

    def test_graphs_come_from_documents_too(self):
        graph = soma.Graph(words("first") >> count())
        read = soma.Graph.parse(graph.document, ops=[words, count])
        self.assertEqual(read.document, graph.document)
        read.add(std("add", "more", value=1))
        read.edge("count", "more")
        self.assertEqual(read.run("a b"), 3)
        with self.assertRaises(soma.InvalidArgument):
            read.add(echo("first"))

    def test_everything_wrong_comes_at_once(self):
        graph = soma.Graph(echo("a") >> echo("b"), echo("c") >> echo("d"))
        graph.edge("b", "a")
        graph.edge("d", "c")
        with self.assertRaises(soma.InvalidArgument) as caught:
            graph.compile()
        self.assertEqual(caught.exception.reason, "graph.cycle")
        self.assertEqual([each.reason for each in caught.exception.others], ["graph.cycle"])
        self.assertEqual([each["code"] for each in graph.check() if each["level"] == "error"],
                         ["graph.cycle"] * 2)
        with self.assertRaises(soma.SomaError):
            graph.compile(mode="odd")

    def test_unbound_ops_are_all_named(self):
        graph = soma.Graph(soma.Node("a", op="mine.a") >> soma.Node("b", op="mine.b"))
        with self.assertRaises(soma.NotFound) as caught:
            graph.run()
        self.assertEqual(caught.exception.reason, "run.unbound_op")
        for name in ("mine.a", "mine.b"):
            self.assertIn(name, str(caught.exception))

    def test_ten_thousand_nodes(self):
        @soma.node
        def more(number):
            return number + 1

        piece = more()
        for _ in range(9_999):
            piece = piece >> more()
        self.assertEqual(soma.Graph(piece).run(0), 10_000)
        graph = soma.Graph()
        ids = [graph.id(graph.add(std("add", value=1))) for _ in range(10_000)]
        self.assertEqual((ids[0], ids[-1]), ("add", "add_10000"))
        for start, end in zip(ids, ids[1:]):
            graph.edge(start, end)
        self.assertEqual(graph.run(0), 10_000)


class Functions(Shared):
    def test_what_a_function_is_given(self):
        seen = []

        @soma.node(op="looks")
        def look(call):
            seen.append((call.id, call.path, call.config, call.facts["op"], call.goes_on(), call))
            return 5

        body = look("inner", config={"a": 1})
        graph = soma.Graph(soma.loop(body, "again", max_iterations=2, until="exhaust"))
        self.assertEqual(graph.run(), 5)
        self.assertEqual([each[:5] for each in seen],
                         [("inner", f"again[{turn}]/inner", {"a": 1}, "looks", True)
                          for turn in (1, 2)])
        with self.assertRaises(soma.FailedPrecondition):
            seen[0][5].goes_on()
        self.assertEqual(soma.Graph(soma.node(len)()).run("four"), 4)
        self.assertEqual(soma.Graph(soma.node(lambda: 7)()).run("unread"), 7)
        self.assertEqual(look.function.__name__, look.__name__)

    def test_functions_that_wait_for_each_other_meet(self):
        barrier = threading.Barrier(3)

        def meet():
            barrier.wait(LIMIT_S)
            return threading.get_ident()

        waiting = soma.node(meet, op="meet", waits=True)
        graph = soma.Graph(waiting("a") | waiting("b") | waiting("c"))
        self.assertEqual(len(set(graph.run().values())), 3)

    def test_caller_only_functions_stay_on_the_callers_thread(self):
        here = soma.node(lambda: threading.get_ident(), op="here", thread="caller")
        piece = here()
        for _ in range(20):
            piece = piece | here()
        self.assertEqual(set(soma.Graph(piece).run().values()), {threading.get_ident()})


class Failures(Shared):
    def test_the_exception_itself_comes_out(self):
        mine = KeyError("mine")

        @soma.node
        def fail(_):
            raise mine

        try:
            soma.Graph(echo() >> fail() >> echo()).run(1)
        except KeyError as caught:
            self.assertIs(caught, mine)
            names = [frame.name for frame in traceback.extract_tb(caught.__traceback__)]
        self.assertEqual(names[-1], "fail")
        mine.__traceback__ = None

    def test_the_first_declared_branch_that_fails_counts(self):
        @soma.node
        def fail(call):
            raise ValueError(call.id)

        for _ in range(20):
            with self.assertRaisesRegex(ValueError, "^b$"):
                soma.Graph(std("identity", "a") | fail("b") | fail("c")).run()

    def test_in_a_loop_it_is_that_of_its_pass(self):
        @soma.node
        def fail(number, call):
            if call.facts["passes"] == [3]:
                raise ValueError(call.path)
            return number

        with self.assertRaisesRegex(ValueError, r"^again\[3\]/fail$"):
            soma.Graph(soma.loop(fail(), "again", max_iterations=5, until="exhaust")).run(1)

    def test_exceptions_of_any_kind(self):
        class Odd(Exception):
            def __str__(self):
                raise TypeError("no text")

        for kind in (Odd, SystemExit, MemoryError, StopIteration, soma.Aborted, GeneratorExit):
            def fail():
                raise kind("\udce9\0")
            with self.assertRaises(kind):
                soma.Graph(soma.node(fail)()).run()

    def test_a_failure_without_an_exception_is_the_librarys(self):
        with self.assertRaises(soma.Aborted) as caught:
            soma.Graph(echo() >> std("fail", "never", message="as said")).run(1)
        self.assertEqual(caught.exception.reason, "run.node_failed")
        self.assertEqual(caught.exception.detail("node"), "never")
        self.assertIn("as said", str(caught.exception))

    def test_runs_work_again_after_a_failure(self):
        @soma.node
        def picky(number):
            if number < 0:
                raise ValueError(number)
            return number

        run = soma.Run(soma.Graph(picky()).compile())
        for _ in range(3):
            with self.assertRaises(ValueError):
                run.execute(-1)
            self.assertEqual(run.execute(1), 1)

    def test_timeout(self):
        begin = time.monotonic()
        with self.assertRaises(soma.DeadlineExceeded):
            soma.Graph(std("sleep", ms=60_000)).run(timeout_s=0.05)
        self.assertLess(time.monotonic() - begin, 30)

    def test_what_a_function_returns_after_it_was_told_to_stop_counts_no_more(self):
        @soma.node
        def patient(call):
            begin = time.monotonic()
            while call.goes_on() and time.monotonic() - begin < LIMIT_S:
                time.sleep(0.001)
            return 19

        with self.assertRaises(soma.DeadlineExceeded):
            soma.Graph(patient()).run(timeout_s=0.1)


class Interrupts(Shared):
    def after(self, seconds):
        timer = threading.Timer(seconds, signal.pthread_kill,
                                (threading.main_thread().ident, signal.SIGINT))
        timer.start()
        self.addCleanup(timer.join)

    def test_in_the_librarys_own_code(self):
        graphs = (std("sleep", ms=60_000), std("sleep", "a", ms=60_000) | std("sleep", "b",
                                                                              ms=60_000))
        for piece in graphs:
            begin = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                self.after(0.1)
                soma.Graph(piece).run()
            self.assertLess(time.monotonic() - begin, 30)

    def test_between_short_functions(self):
        body = soma.node(lambda number: number + 1, op="more")()
        with self.assertRaises(KeyboardInterrupt):
            self.after(0.1)
            soma.Graph(soma.loop(body, max_iterations=2**40, until="exhaust")).run(0)

    def test_in_a_function_that_waits(self):
        @soma.node
        def wait():
            signal.raise_signal(signal.SIGINT)
            time.sleep(LIMIT_S)

        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            soma.Graph(wait()).run()
        self.assertLess(time.monotonic() - begin, LIMIT_S / 2)

    def test_in_an_observer(self):
        def observer(_):
            signal.raise_signal(signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            soma.Graph(std("sleep", ms=60_000)).run(observer=observer)


class Watching(Shared):
    def test_an_observer_gets_what_happens(self):
        seen = []
        graph = soma.Graph(soma.loop(echo(), "again", max_iterations=2, until="exhaust"))
        graph.run(1, observer=seen.append)
        told = [(each["event"], each.get("node"), each.get("path")) for each in seen]
        self.assertEqual(told, [
            ("run_started", None, None), ("node_started", "again", "again"),
            ("node_started", "echo", "again[1]/echo"), ("node_finished", "echo", "again[1]/echo"),
            ("pass_finished", "again", "again"),
            ("node_started", "echo", "again[2]/echo"), ("node_finished", "echo", "again[2]/echo"),
            ("pass_finished", "again", "again"), ("node_finished", "again", "again"),
            ("run_finished", None, None)])
        self.assertEqual(sorted(each["at_ns"] for each in seen), [each["at_ns"] for each in seen])

    def test_what_it_raises_comes_out_unless_the_run_fails(self):
        def observer(event):
            raise LookupError(event["event"])

        with self.assertRaisesRegex(LookupError, "run_started"):
            soma.Graph(echo()).run(1, observer=observer)
        with self.assertRaises(soma.Aborted):
            soma.Graph(std("fail", message="no")).run(1, observer=observer)


class Threads(Shared):
    def test_two_threads_run_two_runs_of_a_plan(self):
        barrier = threading.Barrier(2)

        @soma.node
        def meet(number):
            barrier.wait(LIMIT_S)  # both are in it at once
            if number % 2:
                raise ValueError(number)
            return number

        plan = soma.Graph(meet()).compile()
        found = {}

        def work(offset):
            run = soma.Run(plan)
            for turn in range(50):
                number = 2 * turn + offset
                try:
                    found[number] = run.execute(number)
                except ValueError as problem:
                    found[number] = problem.args[0]

        threads = [threading.Thread(target=work, args=(offset,)) for offset in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
        self.assertEqual(found, {number: number for number in range(100)})

    def test_a_run_in_use_is_refused_and_others_may_nest(self):
        @soma.node
        def nest(depth):
            with self.assertRaises(soma.FailedPrecondition):
                outer.execute(0)
            return soma.Graph(echo()).run(depth + 1)

        outer = soma.Run(soma.Graph(nest()).compile())
        self.assertEqual(outer.execute(1), 2)


class Lifetimes(Shared):
    def test_functions_and_observers_are_let_go_of(self):
        class Code:
            def __call__(self, value):
                return value

            def watch(self, _event):
                pass

        code = Code()
        gone = weakref.ref(code)
        made = soma.node(code, op="code")
        for observer in (None, code.watch):
            run = soma.Run(soma.Graph(made() >> echo()).compile(), observer=observer)
            self.assertEqual(run.execute(1), 1)
        del code, made, run, observer
        gc.collect()
        self.assertIsNone(gone())

    def test_exceptions_are_not_kept(self):
        class Mine(Exception):
            pass

        @soma.node
        def fail():
            raise Mine

        run = soma.Run(soma.Graph(fail()).compile(), observer=lambda _: None)
        try:
            run.execute()
        except Mine as problem:
            gone = weakref.ref(problem)
        gc.collect()
        self.assertIsNone(gone())

    def test_a_process_may_end_with_everything_alive(self):
        code = ("import soma\n"
                "@soma.node\n"
                "def work(value):\n"
                "    return value\n"
                "run = soma.Run(soma.Graph(work() | work()).compile(), observer=lambda _: None)\n"
                "kept = [run, run.execute(object()), run.plan]\n"
                "kept.append(kept)\n"
                "print('done')\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))


class Samples(unittest.TestCase):
    def test_what_the_manuals_show_is_what_comes(self):
        for name, mark, value in (
                ("README.md", "soma.Graph(", "{'count': 3, 'longest': 'graphs'}"),
                ("README.md", "sessions=", "The capital of Peru is Lima."),
                ("bindings/python/README.md", "soma.Graph(", "{'large': '160 is large'}")):
            blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / name).read_text("utf-8"),
                                re.M | re.S)
            code = next(block for block in blocks if mark in block)
            self.assertRegex(code, rf"print\(graph\.run\(.*\)\) +# {re.escape(value)}")
            done = subprocess.run([sys.executable, "-c", "import soma\n" + code],
                                  capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.endswith(f"{value}\n"), done.stdout)

    def test_the_samples_run(self):
        samples = ROOT / "bindings" / "python" / "samples"
        done = subprocess.run([sys.executable, samples / "graph.py", "graphs are data"],
                              capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "Sequence:\n  Execute(words)\n  Parallel:\n"
                                      "    Execute(count)\n    Execute(longest)\n"
                                      "{'count': 3, 'longest': 'graphs'}\n")
        done = subprocess.run([sys.executable, samples / "generate.py",
                               os.environ["SOMA_TEST_MODEL"], "Why is the sky blue?"],
                              capture_output=True, text=True, timeout=LIMIT_S)
        self.assertIn("Rayleigh", done.stdout)


if __name__ == "__main__":
    unittest.main()
