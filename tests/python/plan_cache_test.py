"""Proves that graphs which are made again and again are compiled once, and run with their own
functions all the same.

    python3 tests/python/plan_cache_test.py  SOMA_LIBRARY names the library
"""

from __future__ import annotations

import threading
import unittest

import soma


class PlanCaches(unittest.TestCase):
    def test_an_equal_graph_is_compiled_once_and_has_its_own_functions(self):
        runtime = soma.Runtime()
        cache = soma.PlanCache(runtime=runtime)

        def graph(factor):
            @soma.node(op="scale")
            def scale(number):
                return number * factor
            return soma.Graph(scale() >> soma.Node(op="std.add", config={"value": 1}),
                              runtime=runtime)

        for factor in (2, 3):
            self.assertEqual(graph(factor).compile(cache=cache).run(5), factor * 5 + 1)
        self.assertEqual((cache.facts["hits"], cache.facts["misses"]), (1, 1))
        graph(2).compile(cache=cache, mode="differentiable")
        self.assertEqual((cache.facts["hits"], cache.facts["misses"]), (1, 2))

    def test_what_the_compiler_says_comes_each_time(self):
        cache = soma.PlanCache()
        graph = soma.Graph(soma.Node("a", op="std.identity") | soma.Node("b", op="std.identity"),
                           runtime=cache.runtime)
        said = [graph.compile(cache=cache).diagnostics for _ in range(2)]
        self.assertEqual(said[0], said[1])
        self.assertIn("graph.isolated_node", {each["code"] for each in said[1]})
        wrong = soma.Graph(soma.Node("a", kind="loop"), runtime=cache.runtime)
        for _ in range(2):
            with self.assertRaises(soma.InvalidArgument) as raised:
                wrong.compile(cache=cache)
            self.assertEqual(raised.exception.reason, "loop.empty_body")
        self.assertEqual(cache.facts["failures"], 2)

    def test_bounds_and_runtimes(self):
        cache = soma.PlanCache(plans=1)
        for name in "aba":
            soma.Graph(soma.Node(name, op="std.identity"),
                       runtime=cache.runtime).compile(cache=cache)
        self.assertEqual((cache.facts["evicted"], cache.facts["plans"]), (2, 1))
        with self.assertRaises(soma.InvalidArgument):
            soma.Graph(soma.Node("a", op="std.identity")).compile(cache=cache)

    def test_many_threads(self):
        cache = soma.PlanCache()
        graph = soma.Graph(*(soma.Node(f"n{i}", op="std.identity") for i in range(500)),
                           runtime=cache.runtime)
        start = threading.Barrier(6)

        def ask():
            start.wait()
            graph.compile(cache=cache)

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((cache.facts["misses"], cache.facts["hits"]), (1, 5))


if __name__ == "__main__":
    unittest.main()
