#!/usr/bin/env python3
"""Proves the tool's caches: run --cache, cache stats, verify, gc and pin, explain --cache."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOL = os.environ["SOMA_TOOL"]
LIMIT_S = 60


def soma(*arguments, text=None):
    return subprocess.run([TOOL, *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=LIMIT_S)


def slow(ms):
    """A chain whose first node takes its time."""
    nodes = [{"id": "wait", "op": "std.sleep", "config": {"ms": ms}, "cacheable": True},
             {"id": "add", "op": "std.add", "config": {"value": 1}, "cacheable": True}]
    return {"soma": "graph", "version": 1, "nodes": nodes,
            "edges": [{"from": "wait", "to": "add"}]}


class Caches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cache = self.folder / "cache"
        self.graph = self.folder / "graph.json"
        self.graph.write_text(json.dumps(slow(50)), "utf-8")

    def done(self, *arguments, text=None):
        result = soma(*arguments, text=text)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def run_on(self, number, *more):
        return self.done("run", self.graph, "--input", "-", "--cache", self.cache, *more,
                         text=str(number))

    def told(self, verb, *more):
        return json.loads(self.done("cache", verb, self.cache, *more, "--json").stdout)

    def bars(self, number):
        trace = self.folder / "trace.json"
        self.run_on(number, "--trace", trace)
        events = json.loads(trace.read_text("utf-8"))["traceEvents"]
        return {event["name"]: event["args"] for event in events if event["ph"] == "X"}

    def test_a_second_run_finds_what_the_first_one_kept(self):
        first = self.bars(1)
        self.assertEqual({node: bar["cache"] for node, bar in first.items()},
                         {"wait": "cache_miss", "add": "cache_miss"})
        again = self.bars(1)
        self.assertEqual({node: bar["cache"] for node, bar in again.items()},
                         {"wait": "node_skipped", "add": "cache_hit"})
        self.assertEqual(again["add"]["key"], first["add"]["key"])
        self.assertEqual(self.run_on(1).stdout, "2\n")
        self.assertEqual(self.run_on(2).stdout, "3\n")
        self.assertEqual(self.told("stats")["entries"], 8)
        self.assertRegex(self.done("cache", "stats", self.cache).stdout, "^entries 8, bytes ")

    def test_verify_removes_damage_and_says_so(self):
        self.run_on(1)
        self.assertEqual(self.told("verify")["damaged"], 0)
        entry = next(self.cache.glob("??/*"))
        entry.write_bytes(b"x" + entry.read_bytes())
        result = soma("cache", "verify", self.cache)
        self.assertEqual(result.returncode, 1)
        self.assertIn("damaged 1", result.stdout)
        self.assertFalse(entry.exists())
        self.assertEqual(self.told("verify")["entries"], 3)
        self.assertEqual(self.run_on(1).stdout, "2\n")

    def test_gc_and_pins(self):
        key = self.bars(1)["add"]["key"]
        self.done("cache", "pin", self.cache, key)
        self.assertEqual(self.told("gc")["entries"], 0)
        self.assertEqual(self.told("gc", "--max-bytes", 0)["entries"], 2)
        self.assertEqual(self.bars(1)["wait"]["cache"], "node_skipped")
        self.done("cache", "pin", self.cache, key, "--unpin")
        self.assertEqual(self.told("gc", "--max-bytes", 0)["entries"], 2)
        for wrong, reason in ((key, "cache.not_found"), ("abc", "cache.key")):
            result = soma("cache", "pin", self.cache, wrong)
            self.assertEqual(result.returncode, 1)
            self.assertIn(reason, result.stderr)

    def test_measured_times_go_into_estimates(self):
        self.run_on(1)
        cost = json.loads(self.done("explain", self.graph, "--stage", "cost", "--cache",
                                    self.cache, "--json").stdout)
        self.assertGreater(cost["total_us"], 50_000)
        self.assertEqual(cost["unknown"], [])

    def test_what_can_not_be_kept_is_a_warning(self):
        self.run_on(1)
        (self.cache / "new").rmdir()
        (self.cache / "new").write_text("in the way")
        result = self.run_on(5)
        self.assertEqual(result.stdout, "6\n")
        self.assertRegex(result.stderr, "warning: 2 values could not be kept: .*cache.store")

    def test_wrong_folders(self):
        for verb in (["stats"], ["verify"], ["gc"], ["pin", "0" * 64]):
            result = soma("cache", verb[0], self.folder / "nowhere", *verb[1:])
            self.assertEqual(result.returncode, 1)
            self.assertIn("there is no cache", result.stderr)
        self.assertFalse((self.folder / "nowhere").exists())
        result = soma("run", self.graph, "--cache", self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cache.version", result.stderr)
        self.run_on(1)
        self.assertEqual(soma("cache").returncode, 2)
        self.assertEqual(soma("cache", "gc", self.cache, "--max-bytes", "x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
