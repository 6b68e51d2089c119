#!/usr/bin/env python3
"""Proves that the tool runs a graph's programs on their models, stops them, keeps what they yield,
and goes on where it was killed without generating anything twice."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from exec_test import shell
from graph_test import LIMIT_S, MODEL, ROOT, TOOL, Shared, graph, node, soma

EDIT = ROOT / "examples/graphs/edit.json"
TINY = Path(os.environ["SOMA_TINY_DIR"]).resolve()
# Kills the tool, once, and passes on what it reads.
KILL_ONCE = "if [ ! -e killed ]; then touch killed; kill -9 $PPID; fi; cat"


def talk(id, *, model="model.gguf", tokens=12, config=None, **more):
    return {"id": id, "kind": "program", "model": model, "task": "generate",
            "config": {"max_tokens": tokens, "ignore_end": True, **(config or {})}, **more}


class WithModel(Shared):
    def model(self, format="q4_1"):
        """Puts one of the tiny models, which all say something else, where documents expect it."""
        path = self.folder / "model.gguf"
        path.unlink(missing_ok=True)
        shutil.copy(TINY / f"tiny-{format}.gguf", path)


class Programs(WithModel):
    def test_a_model_lies_where_its_document_does(self):
        self.model()
        path = self.file(graph([talk("a"), talk("b", model=str(self.folder / "model.gguf"))]))
        found = set()
        for argument, folder, more in ((path, "/", []), ("graph.json", self.folder, []),
                                       (f"../{self.folder.name}/graph.json", self.folder, []),
                                       (path, "/", ["--threads", "1"])):
            result = subprocess.run([os.path.abspath(TOOL), "run", argument, "--input", "-", *more],
                                    input='"hello"', cwd=folder, capture_output=True, text=True,
                                    timeout=LIMIT_S, check=True)
            found.add(result.stdout)
        self.assertEqual(len(found), 1)
        value = json.loads(found.pop())
        self.assertEqual(value["a"], value["b"])

    def test_plans_need_no_model_and_runs_say_which_is_missing(self):
        path = self.file(graph([talk("a", model="none.gguf")]))
        self.assertEqual(self.done("plan", path).stdout, "Execute(a)\n")
        said = self.fails(1, "run", path)
        self.assertIn("[file.not_found]", said)
        self.assertIn(f"{self.folder}/none.gguf", said)
        (self.folder / "none.gguf").write_text("no model")
        self.assertIn("[gguf.", self.fails(1, "run", path))

    def test_everything_wrong_is_said_at_once(self):
        self.model()
        nodes = [talk("a", config={"temperature": "hot"}), talk("b", tokens=-1),
                 {**talk("c"), "task": "sing"}]
        said = self.fails(1, "run", self.file(graph(nodes)))
        for part in ("node 'a': config.temperature", "node 'b': config.max_tokens",
                     "node 'c': a session's task"):
            self.assertRegex(said, rf"{part}.*\[run\.program\]")
        said = self.fails(1, "run", self.file(graph([talk("a"), node("b", "identity")], "a>b")))
        self.assertRegex(said, r"'a' failed: a program reads a text.* got null")

    def test_interrupt_stops_a_generation(self):
        path = self.file(graph([talk("long", model=os.path.abspath(MODEL), tokens=100_000)]))
        with subprocess.Popen([TOOL, "run", path, "--input", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
            tool.stdin.write('"Tell me a story."')
            tool.stdin.close()
            tool.stdin = None
            for line in tool.stderr:
                if line.startswith("run "):  # it generates, and would for half a minute and more
                    break
            begin = time.monotonic()
            tool.send_signal(signal.SIGINT)
            out, said = tool.communicate(timeout=LIMIT_S)
        self.assertEqual((tool.returncode, out), (130, ""))
        self.assertIn("[cancelled]", said)
        self.assertLess(time.monotonic() - begin, 5)

    def test_a_cache_knows_the_file_and_not_the_name(self):
        path = self.file(graph([talk("a", cacheable=True)]))
        said, hits = {}, []
        for format in ("q4_1", "q4_1", "q8_0", "q4_1", "q8_0"):
            self.model(format)
            trace = self.folder / "trace.json"
            value = self.done("run", path, "--input", "-", "--cache", self.folder / "cache",
                              "--trace", trace, text='"hello"').stdout
            self.assertEqual(said.setdefault(format, value), value)
            hits.append("cache_hit" in trace.read_text("utf-8"))
        self.assertNotEqual(said["q4_1"], said["q8_0"])
        self.assertEqual(hits, [False, True, False, True, True])


class Durable(WithModel):
    def setUp(self):
        super().setUp()
        self.journal = self.folder / "journal"

    def run_it(self, path, given, id="r"):
        return soma("run", path, "--input", "-", "--journal", self.journal, "--run-id", id,
                    text=json.dumps(given))

    def records(self, id):
        shown = self.done("journal", "show", "--journal", self.journal, id).stdout
        return shown.splitlines()[1:]

    def outputs(self, id):
        return [(each["path"], each["content"]) for each in map(json.loads, self.records(id))
                if each["kind"] == "output"]

    def test_what_one_model_said_stays_whatever_comes_after_it(self):
        """Killed between two programs, and resumed with another model's file in the first one's
        place: had anything been generated again, it would read differently."""
        nodes = [talk("a", deterministic=False), shell("k", KILL_ONCE, in_doubt="retry"),
                 talk("b", deterministic=False)]
        path = self.file(graph(nodes, "a>k", "k>b"))
        self.model("q4_1")
        first = self.value(graph([nodes[0]]), "hello")
        self.file(graph(nodes, "a>k", "k>b"))
        self.assertEqual(self.run_it(path, "hello").returncode, -signal.SIGKILL)
        self.model("q8_0")
        self.assertNotEqual(self.value(graph([nodes[0]]), "hello"), first)
        second = self.value(graph([nodes[2]]), first)
        self.file(graph(nodes, "a>k", "k>b"))
        for _ in range(2):                # the second time it is over, and says so again
            self.assertEqual(json.loads(self.run_it(path, "hello").stdout), second)
        self.assertEqual(self.outputs("r"), [("a", first), ("b", second)])

    def test_the_example_killed_again_and_again_ends_as_if_nothing_had_been(self):
        """Each life of the run is killed when something new has been written, at once or in the
        middle of what comes next."""
        begun = time.monotonic()
        undisturbed = self.run_it(EDIT, "the sea", "whole")
        self.assertEqual(undisturbed.returncode, 0, undisturbed.stderr)
        pause_s = (time.monotonic() - begun) / 8
        dice = random.Random(5)
        kills, before = 0, []
        while self.is_killed(dice.randint(1, 4), dice.choice((0, dice.uniform(0, pause_s)))):
            kills += 1
            has_begun = (self.journal / "killed.journal").exists()
            records = self.records("killed") if has_begun else []
            self.assertEqual(records[:len(before)], before)  # nothing is written anew
            before = records
            self.assertLess(kills, 30)
        self.assertGreaterEqual(kills, 3)
        result = self.run_it(EDIT, "the sea", "killed")
        self.assertEqual((result.returncode, result.stdout), (0, undisturbed.stdout))
        outputs = self.outputs("killed")
        self.assertEqual(outputs, self.outputs("whole"))
        self.assertEqual([path for path, _ in outputs],
                         ["draft", "edit[1]/revise", "edit[2]/revise", "edit[3]/revise"])

    def is_killed(self, writes, pause_s):
        """Runs it until so many writes have been seen, and for so long after the last one. Whether
        it was not over before."""
        log = self.journal / "killed.journal-wal"
        with subprocess.Popen([TOOL, "run", EDIT, "--input", "-", "--journal", self.journal,
                               "--run-id", "killed"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool:
            tool.stdin.write(b'"the sea"')
            tool.stdin.close()
            tool.stdin = None
            until = time.monotonic() + LIMIT_S
            last = self.state(log)
            while writes > 0 and tool.poll() is None and time.monotonic() < until:
                if self.state(log) != last:
                    last, writes = self.state(log), writes - 1
                time.sleep(0.0005)
            try:
                tool.wait(pause_s)
            except subprocess.TimeoutExpired:
                pass
            tool.send_signal(signal.SIGKILL)
            return tool.wait() == -signal.SIGKILL

    @staticmethod
    def state(path):
        """What differs after each write."""
        try:
            found = path.stat()
            return found.st_ino, found.st_size, found.st_mtime_ns
        except FileNotFoundError:
            return None


if __name__ == "__main__":
    unittest.main()
