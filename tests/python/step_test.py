"""Proves that steps written as generators wait for effects, children and answers, and that a run
with a journal does nothing twice.

    python3 tests/python/step_test.py        SOMA_LIBRARY names the library
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import soma


@soma.step
def ask(question):
    answer = yield soma.Ask("echo", question)
    both = yield [soma.Ask("echo", 1), soma.Ask("echo", 2)]
    return [answer, both]


@soma.handler("echo")
def echo(payload):
    return payload


class Steps(unittest.TestCase):
    def test_effects_come_back_in_order(self):
        graph = soma.Graph(ask())
        self.assertEqual(graph.run("x", handlers=[echo]), ["x", [1, 2]])

    def test_a_step_that_yields_nothing_is_done(self):
        @soma.step
        def quiet():
            return 3
            yield
        self.assertEqual(soma.Graph(quiet()).run(), 3)

    def test_many_turns_and_turns_that_wait_for_nothing(self):
        @soma.step(max_turns=1002)
        def count():
            total = 0
            for number in range(1000):
                results = yield [soma.Ask("echo", number)] if number % 2 else []
                total += sum(results)
            return total
        self.assertEqual(soma.Graph(count()).run(handlers=[echo]), sum(range(1, 1000, 2)))

    def test_a_handler_may_complete_later_on_any_thread(self):
        meeting = threading.Barrier(2)

        @soma.handler("echo")
        def later(effect):
            def work():
                meeting.wait(20)
                effect.complete([effect.name, effect.payload, effect.is_retry, effect.is_wanted])
            threading.Thread(target=work).start()

        @soma.step
        def two():
            return (yield [soma.Ask("echo", 1), soma.Ask("echo", 2)])
        self.assertEqual(soma.Graph(two()).run(handlers=[later]),
                         [["echo", 1, False, True], ["echo", 2, False, True]])

    def test_coroutines_wait_side_by_side(self):
        meeting: list[asyncio.Event] = []

        @soma.handler("echo")
        async def meet(payload):
            meeting.append(asyncio.Event())
            if len(meeting) == 50:
                for event in meeting:
                    event.set()
            await asyncio.wait_for(meeting[payload].wait(), 20)
            return payload

        @soma.step
        def many():
            return (yield [soma.Ask("echo", i) for i in range(50)])
        self.assertEqual(soma.Graph(many()).run(handlers=[meet]), list(range(50)))

    def test_hand_offs(self):
        @soma.step
        def route(where):
            return soma.HandOver(where, "from the step")
            yield
        left, right = soma.Node("left", op="std.identity"), soma.Node("right", op="std.identity")
        graph = soma.Graph(soma.handoff(route(), left, right))
        self.assertEqual(graph.run("right"), {"right": "from the step"})

    def test_children(self):
        @soma.step
        def child(number):
            return (yield soma.Ask("echo", number)) * 2

        @soma.step
        def parent():
            both = yield [soma.Child(child, 1, "a"), soma.Child(child, 2, "b")]
            one = yield soma.Child(child, 3)
            return both, one
        self.assertEqual(soma.Graph(parent()).run(handlers=[echo], ops=[child]), [[2, 4], 6])

    def test_the_first_child(self):
        @soma.step
        def never():
            yield soma.Ask("never")

        @soma.step
        def soon():
            return 7
            yield

        @soma.handler("never")
        def keep(effect):
            kept.append(effect)

        @soma.step
        def race():
            label, value = yield soma.first(soma.Child(never), soma.Child(soon, label="quick"))
            return [label, value]
        kept: list[soma.Effect] = []
        self.assertEqual(soma.Graph(race()).run(handlers=[keep], ops=[never, soon]), ["quick", 7])
        self.assertFalse(kept[0].is_wanted)


class Failures(unittest.TestCase):
    def test_what_a_step_raises_the_run_raises(self):
        @soma.step
        def bad():
            yield soma.Ask("echo")
            raise LookupError("no")
        with self.assertRaisesRegex(LookupError, "no"):
            soma.Graph(bad()).run(handlers=[echo])

    def test_what_a_handler_raises_fails_the_step(self):
        @soma.handler("echo")
        def bad(payload):
            raise LookupError("no such thing")
        with self.assertRaisesRegex(soma.Aborted, "effect 'echo': LookupError: no such thing"):
            soma.Graph(ask()).run(handlers=[bad])

        @soma.handler("echo")
        async def worse(payload):
            raise LookupError("nor here")
        with self.assertRaisesRegex(soma.Aborted, "LookupError: nor here"):
            soma.Graph(ask()).run(handlers=[worse])

    def test_nobody_performs_it(self):
        with self.assertRaisesRegex(soma.Aborted, "step.no_handler"):
            soma.Graph(ask()).run()

    def test_what_can_not_be_yielded(self):
        @soma.step
        def bad():
            yield 3
        with self.assertRaisesRegex(TypeError, "a list of either, .*, not 3"):
            soma.Graph(bad()).run()
        with self.assertRaisesRegex(ValueError, "one at least"):
            soma.first()

        @soma.step
        def mixed():
            yield [soma.Ask("echo"), soma.Child("x")]
        with self.assertRaisesRegex(TypeError, "a list of either"):
            soma.Graph(mixed()).run(handlers=[echo])

        @soma.step
        def function():
            return 3
        with self.assertRaisesRegex(TypeError, "must be a generator"):
            soma.Graph(function()).run()

    def test_settings(self):
        with self.assertRaisesRegex(ValueError, "in_doubt is one of fail, retry, ask"):
            soma.handler("x", in_doubt="maybe")(lambda payload: payload)
        with self.assertRaisesRegex(ValueError, "belong together"):
            soma.Graph(ask()).run(journal=soma.Journal())


class Journals(unittest.TestCase):
    def test_a_run_that_broke_off_does_nothing_twice(self):
        performed = []

        @soma.handler("echo")
        def count(payload):
            performed.append(payload)
            if payload == 2 and len(performed) == 3:
                raise OSError("it is down")
            return payload
        with tempfile.TemporaryDirectory() as folder:
            journal = soma.Journal(folder)
            graph = soma.Graph(ask())
            with self.assertRaises(soma.Aborted):
                graph.run("x", handlers=[count], journal=journal, run_id="r")
            result = graph.run("x", handlers=[count], journal=journal, run_id="r")
            self.assertEqual(result, ["x", [1, 2]])
            self.assertEqual(performed, ["x", 1, 2, 2])
            self.assertEqual(graph.run("x", journal=journal, run_id="r"), result)
            self.assertEqual(len(performed), 4)
            with self.assertRaisesRegex(soma.FailedPrecondition, "journal.other_plan"):
                graph.run("y", handlers=[count], journal=journal, run_id="r")
            state = journal.list()[0]
            self.assertEqual((state["run"], state["state"]), ("r", "ended"))
            lines = [json.loads(line) for line in journal.show("r").splitlines()]
            self.assertEqual(lines[0]["run"], "r")
            self.assertEqual([line["kind"] for line in lines[1:]].count("intent"), 4)
            self.assertEqual(lines[-1]["content"], result)
            journal.remove("r")
            self.assertEqual(journal.list(), [])

    def test_a_run_waits_for_its_answer(self):
        @soma.step
        def human(thing):
            answer = yield soma.Suspend({"buy": thing})
            return f"{thing}: {answer}"
        runtime = soma.Runtime()
        journal = soma.Journal(runtime=runtime)
        graph = soma.Graph(human("a") | human("b"), runtime=runtime)
        run = soma.Run(graph.compile(), journal=journal, run_id="r")
        with self.assertRaisesRegex(soma.Suspended, "waits for an answer") as caught:
            run.execute("book")
        self.assertEqual(caught.exception.path, "a")
        self.assertEqual([(one["path"], one["reason"]) for one in journal.list()[0]["waiting"]],
                         [("a", {"buy": "book"}), ("b", {"buy": "book"})])
        with self.assertRaisesRegex(soma.FailedPrecondition, "say which"):
            journal.answer("r", "yes")
        journal.answer("r", "yes", "a")
        journal.answer("r", "no")
        self.assertEqual(run.execute("book"), {"a": "book: yes", "b": "book: no"})
        with self.assertRaisesRegex(soma.FailedPrecondition, "journal.not_waiting"):
            journal.answer("r", "late")

    def test_killed_at_any_moment(self):
        """A child is killed at many moments, and run again until it ends."""
        with tempfile.TemporaryDirectory() as folder:
            world = Path(folder, "world")
            kills = 0
            for attempt in range(200):
                child = subprocess.Popen([sys.executable, __file__, "child", folder],
                                         stdout=subprocess.PIPE)
                for _ in range(attempt % 5 + 1):
                    if not child.stdout.readline():
                        break
                child.send_signal(signal.SIGKILL)
                child.communicate()
                if child.returncode == 0:
                    break
                kills += 1
            self.assertEqual(child.returncode, 0)
            self.assertGreater(kills, 3)
            begun = world.read_text().split()
            first = [mark for mark in begun if not mark.startswith("again:")]
            # Each effect, and each once; what was begun again was in doubt, one of each branch at a
            # kill.
            self.assertEqual(len({mark.removeprefix("again:") for mark in begun}), 12)
            self.assertEqual(len(first), len(set(first)))
            self.assertLessEqual(len(begun) - len(first), 3 * kills)


def run_and_be_killed(folder):
    @soma.handler("act", in_doubt="retry")
    def act(effect):
        with open(Path(folder, "world"), "a") as world:
            again = "again:" if effect.is_retry else ""
            world.write(again + effect.key.replace(" ", "_") + "\n")
        print("acted", flush=True)
        effect.complete(effect.key)

    @soma.step
    def work(name):
        for _ in range(4):
            yield soma.Ask("act", name)
    graph = soma.Graph(work("a") | work("b") | work("c"))
    graph.run("x", handlers=[act], journal=soma.Journal(folder), run_id="the run")


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        run_and_be_killed(sys.argv[2])
        os._exit(0)
    unittest.main()
