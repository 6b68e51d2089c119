#!/usr/bin/env python3
"""Proves that graphs run programs from Python where that is allowed, and only there."""

import os
import tempfile
import unittest
from unittest import mock

import soma


def program(*argv, **config):
    return soma.Node(kind="step", op="std.exec", config={"argv": list(argv), **config})


class Exec(unittest.TestCase):
    def test_without_leave_there_is_no_code_for_it(self):
        with self.assertRaises(soma.SomaError) as caught:
            soma.Graph(program("true")).run()
        self.assertEqual(caught.exception.reason, "run.unbound_op")
        self.assertIn("which the host has to allow", str(caught.exception))

    def test_values_go_in_and_come_out(self):
        graph = soma.Graph(program("cat") >> program("tr", "a-z", "A-Z") >>
                           program("cat", parse="json"))
        self.assertEqual(graph.run({"a": [1, "b"]}, processes=soma.Processes()), {"A": [1, "B"]})

    def test_the_environment(self):
        show = soma.Graph(program("sh", "-c", "echo $GREETING"))
        with mock.patch.dict(os.environb, {b"GREETING": b"hello", b"BAD": b"\xff"}):
            self.assertEqual(show.run(processes=soma.Processes()), "hello")
        given = soma.Processes({"GREETING": "given", "PATH": os.environ["PATH"]})
        self.assertEqual(show.run(processes=given), "given")
        with self.assertRaises(soma.InvalidArgument) as caught:
            show.run(processes=soma.Processes({"A": 1}))
        self.assertEqual(caught.exception.reason, "value.kind")

    def test_the_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            where = soma.Graph(program("pwd", "-P")).run(processes=soma.Processes(folder=folder))
            self.assertEqual(where, os.path.realpath(folder))

    def test_a_program_that_fails(self):
        with self.assertRaises(soma.Aborted) as caught:
            soma.Graph(program("sh", "-c", "echo bad >&2; exit 3")).run(processes=soma.Processes())
        self.assertEqual(caught.exception.detail("cause"), "exec.status")
        self.assertEqual(caught.exception.detail("status"), "3")
        self.assertEqual(caught.exception.detail("stderr"), "'bad'")

    def test_a_deadline_ends_the_program(self):
        with self.assertRaises(soma.DeadlineExceeded):
            soma.Graph(program("sleep", "1000")).run(timeout_s=0.05, processes=soma.Processes())


if __name__ == "__main__":
    unittest.main()
