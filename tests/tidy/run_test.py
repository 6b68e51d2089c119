#!/usr/bin/env python3
"""Proves that tests/run.py adds up every kind of counter and never takes silence for success."""

import pathlib
import subprocess
import sys
import unittest

RUN = pathlib.Path(__file__).resolve().parents[1] / "run.py"
DOCTEST = ("[doctest] test cases:  5 |  4 passed | 1 failed | 2 skipped\n"
           "[doctest] assertions: 9 | 8 passed | 1 failed |\n")
UNITTEST = "Ran 7 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n"


def run(*stages):
    done = subprocess.run([sys.executable, str(RUN), *stages], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


class RunTest(unittest.TestCase):
    def test_counters_are_added(self):
        stages = (f"a=printf '{DOCTEST}'", f"b=printf '{UNITTEST}'", "c=echo 3 passed, 0 failed")
        code, lines = run(*stages)
        self.assertEqual((code, lines[-1]), (1, "10 passed, 4 failed"))
        self.assertIn("3 tests left out", lines[-2])

    def test_all_green_is_green(self):
        self.assertEqual(run("build:true", "a=echo 3 passed, 0 failed")[0], 0)

    def test_silence_is_a_failure(self):
        for command in ("true", "echo 0 passed, 0 failed", "echo everything is fine"):
            code, lines = run(f"a={command}")
            self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed"))

    def test_a_crash_is_a_failure_whatever_was_counted(self):
        code, lines = run("a=echo 3 passed, 0 failed; kill -SEGV $$")
        self.assertEqual((code, lines[-1]), (1, "3 passed, 1 failed"))

    def test_nothing_runs_after_a_step_that_fails(self):
        code, lines = run("build:false", "a=echo 3 passed, 0 failed")
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
