#!/usr/bin/env python3
"""Proves that runs go on in pieces and are stopped, and that what is no part of a graph is said."""

import asyncio
import functools
import sys
import threading
import unittest

import soma
from soma._node import _op_name

LIMIT_S = 60


def std(op, id=None, **config):
    return soma.Node(id, op=f"std.{op}", **({"config": config} if config else {}))


def count_up(passes=None):
    """Counts in a loop, for ever or so often."""
    bound = {"max_iterations": passes} if passes else {}
    until = {"until": "exhaust"} if passes else {}
    judge = std("test", "judge", predicate="it < 0")
    body = std("add", "more", value=1) >> judge
    return soma.Graph(soma.loop(body, "again", carry_from="more",
                                **({"until": judge} if not passes else until), **bound))


class Estimates(unittest.TestCase):
    """What events say of the end; how it is found out, tests/unit/run/forecast_test.cpp proves."""

    def told(self, *pieces):
        events = []
        run = soma.Run(soma.Graph(*pieces).compile(), observer=events.append, threads=1)
        for _ in range(2):
            run.execute(0)
        half = len(events) // 2
        self.assertEqual([event["event"] for event in events[:half]],
                         [event["event"] for event in events[half:]])
        return events[:half], events[half:]

    def test_what_is_declared_is_known_from_the_start(self):
        def costly(id):
            return soma.Node(id, op="std.identity", cost_us=1e9)
        first, _ = self.told(costly("a") >> costly("b"))
        self.assertEqual(first[0]["eta_ns"], 2 * 10**12)
        self.assertNotIn("eta_ns", first[-1])           # it has ended

    def test_what_is_unknown_is_left_out_until_it_is_known(self):
        first, second = self.told(std("identity", "a") >> std("test", "b", predicate="it == 0"))
        self.assertNotIn("eta_ns", first[0])
        self.assertIn("eta_ns", second[0])              # it took some time before

    def test_a_loop_that_a_signal_ends_is_unknown(self):
        judge = std("test", "judge", predicate="it < 3")
        loop = soma.loop(std("add", "more", value=1) >> judge, "again", carry_from="more",
                         until=judge, max_iterations=9)
        for events in self.told(loop):
            self.assertNotIn("eta_ns", events[0])


class NearMisses(unittest.TestCase):
    """What is given in place of something else is told what was meant."""

    def refused(self, words, **given):
        with self.assertRaisesRegex(TypeError, words):
            soma.Graph(std("identity", "a")).run(1, **given)

    def test_options_of_runs(self):
        self.refused(r"soma\.Journal\('folder'\)", journal="folder", run_id="r")
        self.refused(r"a soma\.Journal, not 3", journal=3, run_id="r")
        self.refused(r"@soma\.handler\(", handlers=[len])
        self.refused(r"@soma\.handler\(", handlers=[soma.Handler])
        self.refused(r"made by soma\.node or soma\.step", ops=[len])
        self.refused(r"made by soma\.node or soma\.step", ops=[std("identity")])
        self.refused(r"a soma\.Cache, not \{\}", cache={})
        self.refused(r"a dict from a model's name", sessions=[])
        self.refused(r"a soma\.Session or a soma\.Model, not 3", sessions={"writer": 3})
        document = soma.Graph(std("identity", "a")).document
        self.assertRaisesRegex(TypeError, "soma.node", soma.Graph.parse, document, ops=[len])

    def test_options_of_the_compiler(self):
        graph = soma.Graph(std("identity", "a"))
        self.assertRaisesRegex(TypeError, r"a soma\.PlanCache, not \{\}", graph.compile, cache={})
        with self.assertRaisesRegex(soma.OutOfRange, "chunk"):
            graph.run(1, chunk=0)
        self.assertEqual(graph.run(1, mode="inference", threads=1), 1)

    def test_a_child_whose_code_is_missing(self):
        @soma.step
        def child():
            return 3
            yield

        @soma.step
        def parent():
            return (yield soma.Child(child))
        graph = soma.Graph(parent())
        self.assertRaisesRegex(soma.Aborted, "add it to the run's ops", graph.run)
        self.assertEqual(graph.run(ops=[child]), 3)

    def test_an_answer_that_is_no_signal(self):
        @soma.step
        def judge():
            return (yield soma.Suspend("enough?"))
        asked = judge()
        graph = soma.Graph(soma.loop(asked, "again", until=asked, max_iterations=3))
        journal = soma.Journal(runtime=graph.runtime)
        self.assertRaises(soma.Suspended, graph.run, journal=journal, run_id="r")
        journal.answer("r", "maybe")
        with self.assertRaisesRegex(soma.SomaError, "under another id") as raised:
            graph.run(journal=journal, run_id="r")
        self.assertEqual(raised.exception.reason, "run.signal")


class Driving(unittest.TestCase):
    def test_pieces_end_with_the_value(self):
        run = soma.Run(count_up(5).compile(), threads=1)
        steps, pieces = run.start(0), 0
        with self.assertRaises(soma.FailedPrecondition):
            steps.value
        while not steps.step():
            pieces += 1
        self.assertGreater(pieces, 5)
        self.assertTrue(steps.is_over)
        self.assertEqual(steps.value, 5)
        self.assertTrue(steps.step())           # it stays done
        self.assertEqual(run.execute(1), 6)     # and the run serves others
        steps = run.start(2)
        for _ in steps:
            pass
        self.assertEqual(steps.value, 7)

    def test_null_is_a_value(self):
        steps = soma.Run(soma.Graph(std("const", value=None)).compile()).start()
        self.assertTrue(steps.step(1))
        self.assertIsNone(steps.value)

    def test_what_has_been_started_is_one_execution(self):
        run = soma.Run(count_up().compile())
        with run.start(0) as steps:
            self.assertFalse(steps.step())
            for other in (run.start, run.execute):
                with self.assertRaises(soma.FailedPrecondition):
                    other(0)
        self.assertTrue(steps.is_over)          # abandoned at the end of the block
        with self.assertRaises(soma.FailedPrecondition):
            steps.step()
        steps.abandon()                         # again, and nothing happens
        steps = run.start(0)
        self.assertFalse(steps.step())
        del steps                               # let go of, it is abandoned too
        run.start(0).abandon()

    def test_exceptions_end_it(self):
        @soma.node
        def bad(_number):
            raise LookupError("no")

        run = soma.Run(soma.Graph(std("identity") >> bad()).compile())
        for _ in range(2):
            steps = run.start(1)
            with self.assertRaisesRegex(LookupError, "no"):
                for _ in range(9):
                    steps.step()
            self.assertTrue(steps.is_over)

    def test_time_runs_out(self):
        steps = soma.Run(count_up().compile()).start(0, timeout_s=0.01)
        with self.assertRaises(soma.DeadlineExceeded):
            for _ in steps:
                pass
        self.assertTrue(steps.is_over)

    def test_cancelled_from_another_thread(self):
        begun = threading.Event()

        @soma.node
        def wait(call):
            begun.set()
            while call.goes_on():
                pass

        run = soma.Run(soma.Graph(wait()).compile())
        run.cancel()                            # nothing is under way
        thread = threading.Thread(target=lambda: begun.wait(LIMIT_S) and run.cancel())
        thread.start()
        with self.assertRaises(soma.Cancelled):
            run.execute()
        thread.join()
        run = soma.Run(count_up().compile())
        steps = run.start(0)
        self.assertFalse(steps.step())
        run.cancel()
        with self.assertRaises(soma.Cancelled):
            steps.step()
        self.assertTrue(steps.is_over)

    def test_options_reach_the_run(self):
        names = set()

        @soma.node
        def who():
            names.add(threading.get_ident())

        plan = soma.Graph(who() | who() | who()).compile()
        plan.run(threads=1, launch="always")
        self.assertEqual(names, {threading.get_ident()})
        with self.assertRaises(soma.SomaError) as caught:
            plan.run(launch="sometimes")
        self.assertTrue(caught.exception.reason.startswith("option."))

    def test_no_room_on_the_stack_is_said_as_such(self):
        @soma.node
        def one():
            return 1

        plan = soma.Graph(one()).compile()

        def deep(frames):
            return deep(frames - 1) if frames else plan.run()

        seen = set()
        for frames in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit()):
            try:
                seen.add(deep(frames))
            except BaseException as problem:
                seen.add(type(problem))
        self.assertEqual(seen, {1, RecursionError})


class Misuse(unittest.TestCase):
    def test_what_is_no_piece_is_named(self):
        @soma.node
        def load():
            return 1

        for use in (lambda: soma.Graph(load), lambda: load() >> load, lambda: load >> load(),
                    lambda: load | load(), lambda: soma.loop(load), lambda: soma.subgraph(load),
                    lambda: soma.branch(load, {"else": load()}),
                    lambda: soma.branch(load(), {"else": load}),
                    lambda: soma.handoff(load(), load)):
            with self.assertRaisesRegex(TypeError, r"call it, load\(\)"):
                use()
        with self.assertRaisesRegex(TypeError, "decorate it with soma.node"):
            soma.Graph(print)
        with self.assertRaisesRegex(TypeError, "not '{}'"):
            soma.Graph("{}")
        with self.assertRaisesRegex(TypeError, "is one node"):
            soma.branch(load() | load(), {"else": load()})

    def test_async_functions_are_refused_where_they_are_declared(self):
        async def fetch(_url):
            await asyncio.sleep(0)

        async def many(_url):
            yield 1

        class Caller:
            async def __call__(self, _url):
                pass

        for function in (fetch, many, functools.partial(fetch, 1), Caller()):
            with self.assertRaisesRegex(TypeError, "is an async function"):
                soma.node(function)
        with self.assertRaisesRegex(TypeError, "is a function, not 3"):
            soma.node()(3)

    def test_lambdas_and_closures_have_names_of_their_own(self):
        def adder(number):
            return soma.node(lambda value: value + number)

        one, ten = adder(1), adder(10)
        self.assertNotEqual(one.op.name, ten.op.name)
        self.assertEqual(soma.node(one.function).op.name, one.op.name)
        self.assertEqual(soma.Graph(one() >> ten()).run(0), 11)
        self.assertEqual(soma.Graph(one() >> ten() >> one()).run(0), 12)
        self.assertEqual(_op_name(json_like), "__main__.json_like" if __name__ == "__main__"
                         else f"{__name__}.json_like")

        class Unhashable:
            __hash__ = None

            def __call__(self, value):
                return value

        first, second = soma.node(Unhashable()), soma.node(Unhashable())
        self.assertNotEqual(first.op.name, second.op.name)


def json_like():
    """A function of a module keeps its name, by which saved plans know it."""


if __name__ == "__main__":
    unittest.main()
