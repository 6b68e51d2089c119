#!/usr/bin/env python3
"""Proves caches in Python: hits, skipped functions, folders, pins, what is refused."""

import tempfile
import threading
import unittest
from pathlib import Path

import soma

CALLS = []


@soma.node(op="test.words", cacheable=True)
def words(text):
    CALLS.append("words")
    return text.split()


@soma.node(op="test.count", cacheable=True)
def count(items):
    CALLS.append("count")
    return len(items)


class Thing:
    """What no value can look into."""


@soma.node(op="test.thing", cacheable=True)
def thing(_):
    CALLS.append("thing")
    return Thing()


class Caches(unittest.TestCase):
    def setUp(self):
        CALLS.clear()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "cache"
        self.runtime = soma.Runtime(threads=2)
        self.plan = soma.Graph(words() >> count(), runtime=self.runtime).compile()

    def open(self, **limits):
        return soma.Cache(self.folder, runtime=self.runtime, **limits)

    def test_what_was_computed_is_found_and_what_led_to_it_skipped(self):
        cache = soma.Cache(runtime=self.runtime)
        for _ in range(3):
            self.assertEqual(self.plan.run("a b c", cache=cache), 3)
        self.assertEqual(CALLS, ["words", "count"])
        self.assertEqual(self.plan.run("x y", cache=cache), 2)
        self.assertEqual(self.plan.run("x y"), 2)
        self.assertEqual(CALLS, ["words", "count"] * 3)
        self.assertEqual({key: cache.facts[key] for key in ("hits", "misses", "skipped")},
                         {"hits": 2, "misses": 4, "skipped": 2})
        self.assertIsNone(cache.facts["path"])

    def test_a_folder_is_found_again(self):
        self.assertEqual(self.plan.run("a b", cache=self.open()), 2)
        CALLS.clear()
        self.assertEqual(self.plan.run("a b", cache=self.open(memory_bytes=0)), 2)
        self.assertEqual(CALLS, [])
        cache = self.open()
        self.assertEqual(cache.facts["path"], str(self.folder))
        self.assertEqual(cache.facts["disk"]["entries"], 4)
        self.assertEqual(cache.verify(timeout_s=60)["entries"], 4)
        self.assertEqual(set(cache.measured), {"test.words", "test.count"})
        estimate = self.plan.estimate(ops=cache.measured)
        self.assertGreater(estimate["total_us"], 0)

    def test_pins_stay(self):
        events = []
        cache = self.open()
        self.plan.run("a b", cache=cache, observer=events.append)
        keys = {event["node"]: event["key"] for event in events if event["event"] == "cache_miss"}
        cache.pin(keys["count"])
        self.assertEqual(cache.sweep(0)["entries"], 2)
        CALLS.clear()
        self.plan.run("a b", cache=cache, observer=events.append)
        self.assertEqual(CALLS, [])
        self.assertEqual([event["node"] for event in events if event["event"] == "node_skipped"],
                         ["words"])
        cache.unpin(keys["count"])
        self.assertEqual(cache.sweep(0)["entries"], 2)
        with self.assertRaises(soma.NotFound):
            cache.pin(keys["count"])
        with self.assertRaises(soma.InvalidArgument):
            cache.pin("count")
        with self.assertRaises(ValueError):
            cache.sweep(-1)

    def test_damage_is_no_value(self):
        self.plan.run("a b", cache=self.open())
        for entry in self.folder.glob("??/*"):
            entry.write_bytes(entry.read_bytes()[:-1])
        self.assertEqual(self.plan.run("a b", cache=self.open()), 2)
        self.assertEqual(CALLS, ["words", "count"] * 2)

    def test_objects_of_pythons_own_are_not_kept(self):
        cache = soma.Cache(runtime=self.runtime)
        plan = soma.Graph(thing(), runtime=self.runtime).compile()
        self.assertIsInstance(plan.run(1, cache=cache), Thing)
        self.assertIsInstance(plan.run(1, cache=cache), Thing)
        self.assertEqual(CALLS, ["thing"] * 2)
        self.assertEqual(cache.facts["failed_writes"], 0)

    def test_a_cacheable_function_has_a_name_of_its_own(self):
        with self.assertRaisesRegex(ValueError, "op="):
            soma.node(lambda value: value, cacheable=True)
        soma.node(lambda value: value)

    def test_what_is_no_cache_is_refused_and_another_runtimes_too(self):
        with self.assertRaises(soma.Incompatible):
            soma.Cache(Path(__file__).parent, runtime=self.runtime)
        with self.assertRaises(soma.InvalidArgument):
            self.plan.run("a", cache=soma.Cache())

    def test_threads_share_one(self):
        cache, wrong = self.open(), []

        def work():
            for number in range(30):
                text = " ".join("x" * (number % 7))
                if self.plan.run(text, cache=cache) != number % 7:
                    wrong.append(number)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
