#!/usr/bin/env python3
"""Proves gradients and prepared states in Python: vjps, how gradients add up, what they raise."""

import gc
import re
import subprocess
import sys
import time
import unittest
import weakref
from pathlib import Path

import soma
from soma import _value

ROOT = Path(__file__).resolve().parents[2]


class Vector:
    """What no value can look into, and Python can add."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self.numbers, other.numbers)))


@soma.node
def square(x):
    return x * x


@square.vjp
def _(x, y, gradient):
    assert y == x * x
    return 2 * x * gradient


@soma.node(vjp=lambda read, _yielded, gradient: {
    key: gradient * (read["a"] * read["b"]) / value for key, value in read.items()})
def product(read):
    return read["a"] * read["b"]


def compiled(piece):
    return soma.Graph(piece).compile(mode="differentiable")


class Gradients(unittest.TestCase):
    def tearDown(self):
        gc.collect()
        self.assertEqual(_value._kept, {})  # nothing is held for the library

    def test_a_chain_a_fan_and_a_loop(self):
        run = soma.Run(compiled(square() >> square()))
        self.assertEqual(run.execute(3), 81)
        self.assertEqual(run.backward(1), 108)
        self.assertEqual(run.backward(0.5), 54)
        run = soma.Run(compiled(square() >> (square("a") | square("b")) >> product()), threads=2)
        self.assertEqual(run.execute(2.0), 256.0)
        self.assertEqual(run.backward(), 1024.0)  # 8·x⁷
        body = square("body")
        run = soma.Run(compiled(soma.loop(body, max_iterations=3, until="exhaust",
                                          carry_from=body)))
        self.assertEqual(run.execute(2), 256)
        self.assertEqual(run.backward(1), 1024)

    def test_functions_with_a_vjp_are_differentiable_unless_they_say_otherwise(self):
        plan = compiled(square("a") >> square("b") >> square("c", differentiable=False))
        self.assertIn("Composite(a, b)", str(plan))
        run = soma.Run(plan)
        run.execute(2)
        self.assertIsNone(run.backward(1))

    def test_opaque_gradients_are_added_as_python_adds(self):
        @soma.node
        def same(x):
            return x

        @same.vjp
        def _(_x, _y, gradient):
            return gradient

        run = soma.Run(compiled(same("a") | same("b")))
        run.execute(1)
        total = run.backward({"a": Vector(1, 2), "b": Vector(10, 20)})
        self.assertEqual(total.numbers, (11, 22))
        self.assertEqual(run.backward({"a": "x", "b": "y"}), "xy")
        with self.assertRaises(TypeError):
            run.backward({"a": "x", "b": Vector(1)})
        with self.assertRaises(soma.InvalidArgument) as caught:
            run.backward({"a": [1], "b": [1, 2]})
        self.assertEqual(caught.exception.reason, "run.gradient")

    def test_what_a_vjp_raises_comes_out(self):
        problem = KeyError("mine")
        paths = []

        def fails(_x, _y, _gradient, call):
            paths.append((call.path, call.config))
            raise problem

        @soma.node(vjp=fails, config={"a": 1})
        def same(x):
            return x

        plan = compiled(same())
        run = soma.Run(plan)
        run.execute(1)
        for _ in range(2):                        # the tape stays
            with self.assertRaises(KeyError) as caught:
                run.backward(1)
            self.assertIs(caught.exception, problem)
        self.assertEqual(paths, [("same", {"a": 1})] * 2)
        problem.__traceback__ = None

    def test_after_an_execution_in_pieces(self):
        run = soma.Run(compiled(square() >> square("again")))
        pieces = run.start(3.0)
        while not pieces.step():
            pass
        self.assertEqual((pieces.value, run.backward(1.0)), (81.0, 108.0))
        run.start(3.0).abandon()
        with self.assertRaises(soma.FailedPrecondition):
            run.backward(1.0)

    def test_without_a_tape_or_a_vjp(self):
        run = soma.Run(soma.Graph(square()).compile())
        run.execute(2)
        with self.assertRaisesRegex(soma.FailedPrecondition, "the plan's mode is inference"):
            run.backward(1)
        bare = soma.node(lambda x: x, op="bare", differentiable=True)
        run = soma.Run(compiled(bare("a") >> bare("b") >> square()))
        run.execute(2)
        missing = "node 'b', whose op 'bare' has no vjp"
        with self.assertRaisesRegex(soma.FailedPrecondition, missing):
            run.backward(1)

    def test_a_second_vjp_and_wrong_ones_are_refused(self):
        with self.assertRaises(soma.AlreadyExists):
            square.vjp(lambda x, y, gradient: None)
        with self.assertRaises(TypeError):
            soma.node(lambda x: x, vjp=3)

        async def later(_x, _y, _gradient):
            pass
        with self.assertRaises(TypeError):
            soma.node(lambda x: x, vjp=later)

    def test_what_is_recorded_is_let_go_of(self):
        thing = Vector(1)
        gone = weakref.ref(thing)
        same = soma.node(lambda x: x, op="same", vjp=lambda _x, _y, gradient: gradient)
        run = soma.Run(compiled(same()))
        run.execute(thing)
        del thing
        gc.collect()
        self.assertIsNotNone(gone())
        run.execute(1)
        gc.collect()
        self.assertIsNone(gone())

    def test_deadlines_and_cancelling(self):
        def slow(_x, _y, _gradient, call):
            while call.goes_on():
                time.sleep(0.001)

        same = soma.node(lambda x: x, op="same", vjp=slow)
        run = soma.Run(compiled(same()))
        run.execute(1)
        with self.assertRaises(soma.DeadlineExceeded):
            run.backward(1, timeout_s=0.01)


class Prepared(unittest.TestCase):
    def test_states_are_prepared_and_kept(self):
        made = []

        @soma.node(op="gradient_test.search", version=1, cacheable=True)
        def search(text, call):
            return call.state["letters"] * text

        @search.prepare
        def _(text, call):
            made.append(call.config)
            return {"letters": len(text)}

        @search.vjp
        def _(_text, _yielded, gradient, call):
            return gradient * call.state["letters"]

        runtime = soma.Runtime()
        graph = soma.Graph(search(config={"a": 1}), runtime=runtime)
        run = soma.Run(graph.compile(mode="differentiable"), cache=soma.Cache(runtime=runtime))
        for _ in range(2):
            self.assertEqual(run.execute("abc"), "abcabcabc")
            self.assertEqual(run.backward(2), 6)
        self.assertEqual(made, [{"a": 1}])
        self.assertEqual(run.execute("abcd"), "abcd" * 4)
        self.assertEqual(made, [{"a": 1}] * 2)
        with self.assertRaises(soma.AlreadyExists):
            search.prepare(len)

    def test_what_preparing_raises_comes_out(self):
        def prepare(_text):
            raise KeyError("no state")

        node = soma.node(lambda x: x, op="fails", prepare=prepare)
        with self.assertRaises(KeyError):
            soma.Graph(node()).run(1)


class Manual(unittest.TestCase):
    def test_what_the_manual_shows_is_what_comes(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"),
                            re.M | re.S)
        code = next(block for block in blocks if "run.backward(" in block)
        shown = re.search(r"print\(run.execute.*\) +# (.*)", code)[1]
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stdout, shown + "\n")


if __name__ == "__main__":
    unittest.main()
