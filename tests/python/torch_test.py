#!/usr/bin/env python3
"""Proves that gradients flow through plans as they do through plain PyTorch: by PyTorch's own
autograd, since plans of mode "differentiable" hand on the very same objects, and by the library's
walk back through functions with a vjp, which know nothing of autograd.

Debian's PyTorch is seen by Debian's Python only: with any other, this runs itself again with that.
"""

import os
import sys
import unittest

SYSTEM = "/usr/bin/python3"

try:
    import torch
except ImportError:
    if os.environ.get("SOMA_TORCH_TEST") == "again":
        raise
    os.environ["SOMA_TORCH_TEST"] = "again"
    os.execv(SYSTEM, [SYSTEM, *sys.argv])

import numpy

import soma

torch.set_num_threads(1)


def compiled(piece):
    return soma.Graph(piece).compile(mode="differentiable")


def weights(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


class Autograd(unittest.TestCase):
    """Python functions over tensors; PyTorch's own tape, laid through a plan."""

    def setUp(self):
        torch.manual_seed(7)
        self.x = weights(5, 4)
        self.w = [weights(4, 4) for _ in range(4)]

    def same(self, plan, plain, **options):
        """Values and gradients of the plan are those of `plain`, bit by bit."""
        leaves = [self.x, *self.w]
        run = soma.Run(plan, **options)
        for _ in range(2):
            found = run.execute(self.x)
            expected = plain(self.x)
            self.assertTrue(torch.equal(found, expected))
            for ours, theirs in zip(
                    torch.autograd.grad(found.sum(), leaves, allow_unused=True),
                    torch.autograd.grad(expected.sum(), leaves, allow_unused=True)):
                self.assertTrue(ours is None if theirs is None else torch.equal(ours, theirs))

    def layer(self, index, **settings):
        w = self.w[index]

        def apply(x):
            return torch.tanh(x @ w)
        return soma.node(apply, op=f"layer{index}", differentiable=True, **settings)

    def test_a_chain_is_one_composite(self):
        plan = compiled(self.layer(0)("a") >> self.layer(1)("b") >> self.layer(2)("c"))
        self.assertEqual(str(plan), "Composite(a, b, c)\n")

        def plain(x):
            for w in self.w[:3]:
                x = torch.tanh(x @ w)
            return x
        self.same(plan, plain)

    def test_a_fan_out_and_a_fan_in(self):
        @soma.node(differentiable=True)
        def join(both):
            return both["left"] * both["right"] + both["left"]

        for settings, options in (({}, {}), ({"waits": True}, {"threads": 3})):
            plan = compiled(self.layer(0)("a") >> (
                self.layer(1, **settings)("left") | self.layer(2, **settings)("right")) >> join())

            def plain(x):
                a = torch.tanh(x @ self.w[0])
                left, right = torch.tanh(a @ self.w[1]), torch.tanh(a @ self.w[2])
                return left * right + left
            self.same(plan, plain, **options)

    def test_a_loop(self):
        step = self.layer(1)("step")
        again = soma.loop(step, "again", max_iterations=5, until="exhaust", carry_from=step)
        plan = compiled(self.layer(0)("a") >> again >> self.layer(2)("b"))

        def plain(x):
            x = torch.tanh(x @ self.w[0])
            for _ in range(5):
                x = torch.tanh(x @ self.w[1])
            return torch.tanh(x @ self.w[2])
        self.same(plan, plain)

    def test_tensors_pass_as_the_same_objects(self):
        seen = []

        @soma.node(differentiable=True)
        def look(x):
            seen.append(x)
            return x

        plan = compiled(look("a") >> look("b") >> look("c"))
        self.assertEqual(str(plan), "Composite(a, b, c)\n")
        self.assertIs(soma.Run(plan).execute(self.x), self.x)
        self.assertTrue(all(each is self.x for each in seen))


# ---- Without autograd: functions over arrays, and what each makes of a gradient

PORTS = [{"name": name, "dtype": "any"} for name in ("x", "w", "b")]


@soma.node(inputs=PORTS)
def linear(read):
    return read["x"] @ read["w"] + read["b"]


@linear.vjp
def _(read, _yielded, gradient):
    return {"x": gradient @ read["w"].T, "w": read["x"].T @ gradient, "b": gradient.sum(axis=0)}


@soma.node
def squash(x):
    return numpy.tanh(x)


@squash.vjp
def _(_read, yielded, gradient):
    return gradient * (1 - yielded * yielded)


@soma.node
def multiply(read):
    one, other = read.values()
    return one * other


@multiply.vjp
def _(read, _yielded, gradient):
    (one, a), (other, b) = read.items()
    return {one: gradient * b, other: gradient * a}


def loss_vjp(read, _yielded, gradient):
    return gradient * read / read.size


@soma.node(vjp=loss_vjp)
def loss(read):
    return float((read * read).mean() / 2)


def member(name):
    return soma.Node(f"get_{name}", op="std.get", config={"path": name}, differentiable=True)


class OwnVjps(unittest.TestCase):
    """The same network as a plan whose functions have vjps, and in PyTorch."""

    SHAPES = {"x": (6, 4), "w1": (4, 8), "b1": (8,), "w2": (8, 8), "b2": (8,)}
    PASSES = 3

    def network(self):
        """A linear layer, and another one that a loop applies three times and whose weights every
        pass reads from outside; then the product of both layers' values: a fan-out and a fan-in."""
        graph = soma.Graph()
        read = {name: graph.add(member(name)) for name in self.SHAPES}
        first = graph.add(linear("first"))
        before = graph.add(squash("before"))
        state = soma.Node("state", op="std.identity", differentiable=True)
        inner, after = linear("inner"), squash("after")
        again = soma.loop(state | inner >> after, "again", max_iterations=self.PASSES,
                          until="exhaust", carry_from=after)
        gate, end = multiply("gate"), loss("end")
        graph.add(again >> gate >> end)
        for port, name in (("x", "x"), ("w", "w1"), ("b", "b1")):
            graph.edge(read[name], first, input=port)
        graph.edge(state, inner, input="x")
        for port, name in (("w", "w2"), ("b", "b2")):
            graph.edge(read[name], inner, input=port, capture=True)
        graph.edge(first, before)
        graph.edge(before, "again")
        graph.edge(before, gate)
        return graph.compile(mode="differentiable")

    def by_torch(self, arrays):
        tensors = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
        state = before = torch.tanh(tensors["x"] @ tensors["w1"] + tensors["b1"])
        for _ in range(self.PASSES):
            state = torch.tanh(state @ tensors["w2"] + tensors["b2"])
        value = ((state * before) ** 2).mean() / 2
        value.backward()
        return value.item(), {name: tensor.grad.numpy() for name, tensor in tensors.items()}

    def test_gradients_are_those_of_pytorch(self):
        random = numpy.random.default_rng(3)
        plan = self.network()
        self.assertEqual([each for each in plan.diagnostics if each["level"] != "info"], [])
        for threads in (1, 3):
            run = soma.Run(plan, threads=threads)
            for _ in range(3):
                arrays = {name: random.normal(size=shape) for name, shape in self.SHAPES.items()}
                value, expected = self.by_torch(arrays)
                self.assertAlmostEqual(run.execute(arrays), value, delta=1e-12)
                gradients = run.backward(1.0)
                self.assertEqual(set(gradients), set(expected))
                for name, gradient in expected.items():
                    largest = abs(gradient).max()
                    self.assertGreater(largest, 1e-6)
                    self.assertLess(abs(gradients[name] - gradient).max(), 1e-6 * largest)

    def test_training_descends(self):
        random = numpy.random.default_rng(5)
        arrays = {name: random.normal(size=shape) for name, shape in self.SHAPES.items()}
        run = soma.Run(self.network())
        values = []
        for _ in range(20):
            values.append(run.execute(arrays))
            for name, gradient in run.backward().items():
                if name != "x":
                    arrays[name] = arrays[name] - 0.05 * gradient
        self.assertTrue(all(later < earlier for earlier, later in zip(values, values[1:])), values)


if __name__ == "__main__":
    unittest.main()
