#!/usr/bin/env python3
"""Proves that the tool runs the programs of a document: where, with what, and that they end."""

import json
import os
import select
import signal
import subprocess
import unittest

from graph_test import LIMIT_S, ROOT, TOOL, Shared, graph


def program(id, *argv, **config):
    return {"id": id, "kind": "step", "op": "std.exec", "config": {"argv": argv, **config}}


def shell(id, script, **config):
    return program(id, "sh", "-c", script, **config)


class Exec(Shared):
    def test_the_example(self):
        result = self.done("run", ROOT / "examples/graphs/pipeline.json")
        self.assertEqual(json.loads(result.stdout), "4 words, each once:\napple\nfig\npear")

    def test_it_runs_in_the_folder_of_the_document(self):
        (self.folder / "within").mkdir()
        document = graph([program("here", "pwd", "-P"),
                          program("there", "pwd", "-P", dir="within")])
        path = self.file(document)
        where = os.path.realpath(self.folder)
        expected = {"here": where, "there": f"{where}/within"}
        for argument, folder in ((path, "/"), ("graph.json", where), ("./graph.json", where),
                                 (f"../{self.folder.name}/graph.json", where)):
            with self.subTest(argument):
                result = subprocess.run([os.path.abspath(TOOL), "run", argument], cwd=folder,
                                        capture_output=True, text=True, timeout=LIMIT_S, check=True)
                self.assertEqual(json.loads(result.stdout), expected)

    def test_it_has_the_tool_s_environment(self):
        path = self.file(graph([shell("a", "echo $GREETING $NAME", env={"NAME": "you"})]))
        environment = {b"PATH": os.environb[b"PATH"], b"GREETING": b"hello", b"NAME": b"me",
                       b"BAD": b"\xff"}
        result = subprocess.run([TOOL, "run", path], env=environment, capture_output=True,
                                timeout=LIMIT_S, check=True)
        self.assertEqual(json.loads(result.stdout), "hello you")
        result = subprocess.run([TOOL, "run", path], env={}, capture_output=True, timeout=LIMIT_S,
                                check=True)
        self.assertEqual(json.loads(result.stdout), "you")

    def test_it_reads_what_the_node_reads(self):
        self.assertEqual(self.value(graph([program("a", "cat", parse="json")]), {"b": [1, None]}),
                         {"b": [1, None]})
        self.assertEqual(self.value(graph([program("a", "cat")]), "one\ntwo"), "one\ntwo")

    def test_what_goes_wrong_is_said_with_its_code(self):
        for node, code, said in (
                (shell("a", "echo bad luck >&2; exit 4"), "exec.status", "status 4; .*'bad luck'"),
                (program("a", "no-such-program"), "exec.start", "no folder of PATH has it"),
                (shell("a", "sleep 1000", timeout_ms=20), "exec.timeout", "in the time it has"),
                (program("a", "printf", "{", parse="json"), "exec.output", "no JSON")):
            with self.subTest(code):
                error = self.fails(1, "run", self.file(graph([node])))
                self.assertIn(f"[{code}]", error)
                self.assertRegex(error, said)
        error = self.fails(1, "plan", self.file(graph([program("a", timeout_ms=0)])))
        self.assertIn("[graph.config]", error)

    def ended(self, *flags, stop=None):
        """Runs a program of a thousand seconds until the tool ends, which ends the program."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reading = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, reading)
        path = self.file(graph([shell("a", f"echo $$ > {pipe}; exec sleep 1000")]))
        with subprocess.Popen([TOOL, "run", path, *flags], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as tool:
            self.assertTrue(select.select([reading], [], [], LIMIT_S)[0])
            program_fd = os.pidfd_open(int(os.read(reading, 32)))
            self.addCleanup(os.close, program_fd)
            if stop:
                tool.send_signal(stop)
            _, said = tool.communicate(timeout=LIMIT_S)
        self.assertTrue(select.select([program_fd], [], [], 0)[0])
        return tool.returncode, said

    def test_ctrl_c_ends_the_programs_too(self):
        code, _ = self.ended(stop=signal.SIGINT)
        self.assertEqual(code, 130)

    def test_a_time_that_is_over_ends_them_too(self):
        code, said = self.ended("--timeout", "1.5")
        self.assertEqual(code, 1)
        self.assertRegex(said, r"the caller's deadline passed.* \[deadline\]")


if __name__ == "__main__":
    unittest.main()
