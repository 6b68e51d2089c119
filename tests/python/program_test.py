#!/usr/bin/env python3
"""Proves that nodes of graphs generate on sessions in Python: with models or sessions by name, in
pieces put together by operators, at the same time, and not for longer than they may."""

import os
import threading
import time
import unittest

import soma

MODEL = os.environ["SOMA_TEST_MODEL"]
TINY = os.path.join(os.environ["SOMA_TINY_DIR"], "tiny-q4_1.gguf")
OTHER = os.path.join(os.environ["SOMA_TINY_DIR"], "tiny-q8_0.gguf")


def talk(id=None, model="m", tokens=12, **more):
    config = {"max_tokens": tokens, "ignore_end": True, **more.pop("config", {})}
    return soma.Node(id, kind="program", model=model, task="generate", config=config, **more)


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runtime = soma.Runtime(threads=2)
        cls.tiny = soma.Model(TINY, runtime=cls.runtime)

    def run_it(self, *pieces, input="hello", sessions=None, **given):
        graph = soma.Graph(*pieces, runtime=self.runtime)
        return graph.run(input, sessions=sessions or {"m": self.tiny}, **given)

    def test_it_yields_what_generate_does(self):
        expected = self.tiny.generate("hello", tokens=12, ignore_end=True).text
        self.assertEqual(self.run_it(talk()), expected)
        session = soma.Session(self.tiny, context=200)
        self.assertEqual(self.run_it(talk(), sessions={"m": session}), expected)
        turns = [{"role": "system", "content": "Sing."}, {"role": "user", "content": "hello"}]
        sung = self.tiny.generate(turns, tokens=5, temperature=1, seed=3, ignore_end=True).text
        sampled = {"max_tokens": 5, "temperature": 1, "seed": 3}
        self.assertEqual(self.run_it(talk(config=sampled), input=turns), sung)
        self.assertEqual(self.run_it(talk(config={**sampled, "system": "Sing."})), sung)
        large = self.tiny.generate(turns, tokens=5, temperature=1, seed=2**53 + 1,
                                   ignore_end=True).text
        as_text = {**sampled, "seed": str(2**53 + 1)}
        self.assertEqual(self.run_it(talk(config=as_text), input=turns), large)
        for wrong in ("", "7 ", "+7", "0x7", str(2**63)):
            with self.assertRaisesRegex(soma.InvalidArgument, "config.seed: expected a whole"):
                self.run_it(talk(config={**sampled, "seed": wrong}))

    def test_an_answer_that_has_no_room_is_a_failure(self):
        session = soma.Session(self.tiny, context=100)
        with self.assertRaisesRegex(soma.SomaError, "context of 100 tokens") as caught:
            self.run_it(talk(tokens=200), sessions={"m": session})
        self.assertIn("session.context.full", str(caught.exception))

    def test_nodes_are_pieces_and_functions_are_their_neighbours(self):
        @soma.node
        def shout(text):
            return text.upper()

        @soma.node
        def join(both):
            return both["first"] + "|" + both["second"]

        first = self.tiny.generate("HELLO", tokens=12, ignore_end=True).text
        other = soma.Model(OTHER, runtime=self.runtime)
        second = other.generate("HELLO", tokens=7, ignore_end=True).text
        both = talk("first") | talk("second", "n", 7)
        self.assertEqual(self.run_it(shout() >> both >> join(),
                                     sessions={"m": self.tiny, "n": other.session}),
                         f"{first}|{second}")

    def test_a_plan_says_which_models_it_wants(self):
        plan = soma.Graph(talk(model="a") | talk(model="b") | talk(model="a"),
                          runtime=self.runtime).compile()
        self.assertEqual(plan.facts["models"], ["a", "b"])
        with self.assertRaises(soma.NotFound) as caught:
            soma.Run(plan, sessions={"a": self.tiny})
        self.assertEqual(caught.exception.reason, "run.unbound_op")
        self.assertIn("model 'b'", str(caught.exception))

    def test_what_can_not_be_is_refused(self):
        with self.assertRaises(soma.InvalidArgument) as caught:
            self.run_it(talk(config={"temp": 1}))
        self.assertEqual(caught.exception.reason, "run.program")
        with self.assertRaises(soma.InvalidArgument) as caught:
            self.run_it(talk(), sessions={"m": soma.Model(TINY)})  # of a runtime of its own
        self.assertEqual(caught.exception.reason, "argument.handle")
        with self.assertRaises(TypeError):
            self.run_it(talk(), sessions={"m": TINY})
        with self.assertRaises(soma.Aborted) as caught:
            self.run_it(talk(), input=7)
        self.assertEqual(caught.exception.detail("cause"), "run.input")

    def test_a_run_keeps_its_sessions(self):
        model = soma.Model(TINY, runtime=self.runtime)
        run = soma.Run(soma.Graph(talk(), runtime=self.runtime).compile(), sessions={"m": model})
        before = run.execute("hello")
        del model
        self.assertEqual(run.execute("hello"), before)

    def test_a_cache_finds_what_was_generated(self):
        cache = soma.Cache(runtime=self.runtime)
        values = [self.run_it(talk(cacheable=True), cache=cache, sessions={"m": model})
                  for model in (self.tiny, self.tiny, soma.Model(OTHER, runtime=self.runtime),
                                soma.Model(TINY, runtime=self.runtime))]
        self.assertEqual((cache.facts["hits"], cache.facts["misses"]), (2, 2))
        self.assertEqual(values[0], values[1])
        self.assertNotEqual(values[0], values[2])
        self.assertEqual(values[0], values[3])


class Stops(unittest.TestCase):
    """On the real model, which takes half a minute for what is asked of it here."""

    @classmethod
    def setUpClass(cls):
        cls.model = soma.Model(MODEL, runtime=soma.Runtime(threads=2), prefill_rows=8)

    def run_it(self, *pieces, **given):
        graph = soma.Graph(*pieces, runtime=self.model.runtime)
        return graph.run("Tell me a story.", sessions={"m": self.model}, **given)

    def stops(self, kind, *pieces, **given):
        begin = time.monotonic()
        with self.assertRaises(kind) as caught:
            self.run_it(*pieces, **given)
        self.assertLess(time.monotonic() - begin, 10)
        return caught.exception

    def test_a_deadline_ends_it_between_tokens_and_within_a_prompt(self):
        self.stops(soma.DeadlineExceeded, talk(tokens=100_000), timeout_s=0.3)
        long = soma.Node(op="std.const", config={"value": "word " * 3900})
        self.stops(soma.DeadlineExceeded, long >> talk(tokens=1), timeout_s=0.3)
        self.run_it(talk(tokens=1))  # all memory came back

    def test_a_branch_that_was_declared_earlier_and_fails_ends_it(self):
        fails = soma.Node(op="std.sleep", config={"ms": 200}) >> soma.Node(
            "no", op="std.fail", config={"message": "enough"})
        problem = self.stops(soma.Aborted, fails | talk(tokens=100_000), launch="always")
        self.assertIn("enough", str(problem))

    def test_cancelling_from_another_thread_ends_it(self):
        plan = soma.Graph(talk(tokens=100_000), runtime=self.model.runtime).compile()

        def on_event(event):
            if event["event"] == "node_started":
                threading.Timer(0.2, run.cancel).start()

        run = soma.Run(plan, sessions={"m": self.model}, observer=on_event)
        begin = time.monotonic()
        with self.assertRaises(soma.Cancelled):
            run.execute("Tell me a story.")
        self.assertLess(time.monotonic() - begin, 10)

    def test_branches_at_once_say_what_they_say_alone(self):
        talks = [talk("a", tokens=24), talk("b", tokens=24, config={"temperature": 1, "seed": 4})]
        alone = {each.id: self.run_it(each) for each in talks}
        self.assertNotEqual(alone["a"], alone["b"])
        again = [soma.Node(each.id, kind=each.kind, **each.settings) for each in talks]
        self.assertEqual(self.run_it(again[0] | again[1], launch="always"), alone)


if __name__ == "__main__":
    unittest.main()
