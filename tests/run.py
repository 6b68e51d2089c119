#!/usr/bin/env python3
"""Runs the stages of a test target one after another and sums up what they say.

usage: tests/run.py STAGE…    each NAME=COMMAND; NAME~COMMAND for one that keeps one processor busy
                              and runs beside its neighbours of that kind; NAME:COMMAND for a step
                              that has no tests

A test stage prints its own counters: doctest's table, unittest's last lines, or a line
"N passed, M failed" (", K skipped" may follow). A stage that fails without a counted failure is one
failure; one that passes nothing has tested nothing and is a failure too. After a step that fails
nothing else is run. The very last line is the sum: "N passed, M failed".
"""

import concurrent.futures
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time

LIMIT_SECONDS = 1200
PLAIN = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
DOCTEST = re.compile(
    r"\[doctest\] test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed \|\s*(\d+) skipped")
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n\n(OK|FAILED)(?: \((.*)\))?$", re.M)


def count(output):
    """(passed, failed, skipped) of all counters in a stage's output."""
    passed = failed = skipped = 0
    for pattern in (PLAIN, DOCTEST):
        for match in pattern.finditer(output):
            passed += int(match[1])
            failed += int(match[2])
            skipped += int(match[3] or 0)
    for match in UNITTEST.finditer(output):
        pairs = re.findall(r"([a-z ]+)=(\d+)", match[3] or "")
        marks = {key.strip(): int(value) for key, value in pairs}
        wrong = sum(value for key, value in marks.items() if key != "skipped")
        passed += int(match[1]) - wrong - marks.get("skipped", 0)
        failed += wrong
        skipped += marks.get("skipped", 0)
    return passed, failed, skipped


def run(command, shown):
    """Runs a command in a group of its own; returns (exit code, output)."""
    # A make among the commands starts its own jobs: it can't reach this make's, if there is one.
    flags = re.sub(r" ?(-j\d*|--jobserver-auth=\S+)", "", os.environ.get("MAKEFLAGS", ""))
    process = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "MAKEFLAGS": flags})
    watchdog = threading.Timer(LIMIT_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    lines = []
    for line in process.stdout:
        text = line.decode("utf-8", "replace")
        lines.append(text)
        if shown:
            print(text, end="", flush=True)
    code = process.wait()
    watchdog.cancel()
    return code, "".join(lines)


def timed(command, shown):
    """(exit code, output, seconds) of a command."""
    begin = time.monotonic()
    code, output = run(command, shown)
    return code, output, time.monotonic() - begin


def results(stages, loud):
    """(name, whether it is a test, what timed() says) of each stage, in order, as they end."""
    parsed = [re.match(r"([\w.-]+)([=:~])(.*)$", stage, re.S).groups() for stage in stages]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for beside, group in itertools.groupby(parsed, lambda stage: stage[1] == "~"):
            group = list(group)
            if beside:
                print(f"== {', '.join(name for name, _, _ in group)}", flush=True)
                done = pool.map(lambda stage: timed(stage[2], loud), group)
                for (name, _, _), result in zip(group, done):
                    yield name, True, result
                continue
            for name, kind, command in group:
                print(f"== {name}", flush=True)
                yield name, kind == "=", timed(command, loud or kind == ":")


def main(stages):
    # A shell in the background hands on that interrupts are ignored; tests interrupt children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    passed = failed = skipped = 0
    loud = os.environ.get("V") == "1"
    begin_all = time.monotonic()
    for name, is_test, (code, output, seconds) in results(stages, loud):
        ok, wrong, left_out = count(output) if is_test else (0, 0, 0)
        note = f", {left_out} left out" if left_out else ""
        if code != 0 and wrong == 0:
            wrong, note = 1, f"{note}, exit code {code}"
        elif is_test and ok + wrong == 0:
            wrong, note = 1, f"{note}, nothing was tested"
        passed, failed, skipped = passed + ok, failed + wrong, skipped + left_out
        if wrong and is_test and not loud:
            print(output, end="" if output.endswith("\n") else "\n")
        counters = f"{ok} passed, {wrong} failed{note}, " if is_test or wrong else ""
        print(f"== {name}: {counters}{seconds:.1f} s", flush=True)
        if wrong and not is_test:
            break
    print(f"== all stages: {time.monotonic() - begin_all:.1f} s, {skipped} tests left out")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
