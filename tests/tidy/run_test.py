#!/usr/bin/env python3
"""Proves that tests/run.py adds up every kind of counter and never takes silence for success."""

import pathlib
import subprocess
import sys
import tempfile
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

    def test_neighbours_run_beside_each_other_and_are_told_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            def meet(own, other):  # each waits for the other, ten seconds at most
                return (f"touch {folder}/{own}; for i in $(seq 100); do [ -e {folder}/{other} ] && "
                        "echo 1 passed, 0 failed && exit; sleep 0.1; done; false")
            code, lines = run(f"a~{meet('a', 'b')}", f"b~{meet('b', 'a')}",
                              "c=echo 1 passed, 0 failed")
        self.assertEqual((code, lines[-1]), (0, "3 passed, 0 failed"))
        told = [line.split()[1] for line in lines if "passed, 0 failed," in line]
        self.assertEqual(told, ["a:", "b:", "c:"])

    def test_an_ignored_interrupt_is_not_handed_on(self):
        stage = "a=kill -INT $$; echo 1 passed, 0 failed"
        done = subprocess.run(["bash", "-c", f"trap '' INT; '{sys.executable}' '{RUN}' '{stage}'"],
                              capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed")

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
