#!/usr/bin/env python3
"""Proves that `soma run --journal` goes on where it was killed, and that `soma journal` says and
answers what there is."""

import json
import random
import signal
import subprocess
import time
import unittest

from exec_test import program, shell
from graph_test import LIMIT_S, TOOL, Shared, graph, node, soma

# Kills the tool in the middle of the effect, once.
KILL_ONCE = """echo begun >> world
if [ ! -e killed ]; then touch killed; kill -9 $PPID; fi
echo {}"""


class Journal(Shared):
    def setUp(self):
        super().setUp()
        self.journal = str(self.folder / "journal")

    def run_it(self, path, id="r", *more):
        return soma("run", path, "--journal", self.journal, "--run-id", id, *more)

    def tell(self, verb, *arguments):
        return self.done("journal", verb, "--journal", self.journal, *arguments).stdout

    def world(self):
        path = self.folder / "world"
        return path.read_text().split() if path.exists() else []

    def test_killed_at_random_it_does_nothing_twice_and_loses_nothing(self):
        """Three branches of five programs, which leave a mark each when they begin; run after run,
        until there were 200 kills."""
        dice = random.Random(3)
        begun = time.monotonic()
        self.kill_until_done("whole", lambda: LIMIT_S)
        whole_s = time.monotonic() - begun
        kills = runs = 0
        while kills < 200:
            runs += 1
            self.assertLess(runs, 400)
            kills += self.kill_until_done(f"run {runs}", lambda: dice.uniform(0, 0.8 * whole_s))

    def kill_until_done(self, id, patience_s):
        nodes, edges, kills = [], [], 0
        for branch in "abc":
            for number in range(5):
                name = f"{branch}{number}"
                nodes.append(shell(name, f"echo {name} >> world; cat; echo {name}",
                                   in_doubt="retry"))
                if number:
                    edges.append({"from": f"{branch}{number - 1}", "to": name})
        path = self.file({**graph(nodes), "edges": edges})
        (self.folder / "world").unlink(missing_ok=True)
        while True:
            tool = subprocess.Popen([TOOL, "run", path, "--journal", self.journal, "--run-id", id],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                output, said = tool.communicate(timeout=patience_s())
                break
            except subprocess.TimeoutExpired:
                tool.send_signal(signal.SIGKILL)
                tool.communicate()
                kills += 1
                self.assertLess(kills, 1000)
        self.assertEqual(tool.returncode, 0, said)
        # Each passes on what it reads, without a line's end, and its own name.
        expected = {f"{branch}4": "null" + "".join(f"{branch}{i}" for i in range(5))
                    for branch in "abc"}
        self.assertEqual(json.loads(output), expected)
        records = [json.loads(line) for line in self.tell("show", id).splitlines()[1:]]
        for each in nodes:
            kinds = [line["kind"] for line in records if line["path"] == each["id"]]
            # One result each; it began once for that, and else only where it broke off.
            self.assertEqual(kinds.count("result"), 1)
            self.assertIn(self.world().count(each["id"]), range(1, kills + 2))
        begun_twice = len(self.world()) - len(nodes)
        self.assertLessEqual(begun_twice, 3 * kills)  # one of each branch is under way
        self.assertEqual(json.loads(self.run_it(path, id).stdout), expected)
        self.assertEqual(len(self.world()) - len(nodes), begun_twice)
        return kills

    def test_what_is_in_doubt_is_refused_or_asked_about(self):
        for policy, code, said in (("ask", 3, "run.suspended"), ("fail", 1, "journal.in_doubt")):
            with self.subTest(policy):
                self.setUp()          # a folder of its own
                path = self.file(graph([shell("a", KILL_ONCE.format("out"), in_doubt=policy)]))
                self.assertEqual(self.run_it(path).returncode, -signal.SIGKILL)
                for _ in range(2):
                    result = self.run_it(path)
                    self.assertEqual(result.returncode, code, result.stderr)
                    self.assertIn(said, result.stderr)
                if policy == "ask":
                    self.assertIn("soma journal answer r", result.stderr)
                runs = json.loads(self.tell("list", "--json"))
                self.assertEqual(runs[0]["state"], "waiting")
                self.assertEqual(runs[0]["waiting"][0]["path"], "a")
                self.assertIn("waits at a#0.0", self.tell("list"))
                answer = soma("journal", "answer", "r", "--journal", self.journal, "--value", "-",
                              text='"seen"')
                self.assertEqual((answer.returncode, answer.stderr), (0, ""))
                result = self.run_it(path)
                self.assertEqual((result.returncode, result.stdout), (0, '"seen"\n'))
                self.assertEqual(self.world(), ["begun"])

    def test_it_is_tried_again(self):
        path = self.file(graph([shell("a", KILL_ONCE.format("out"), in_doubt="retry")]))
        self.assertEqual(self.run_it(path).returncode, -signal.SIGKILL)
        self.assertEqual(self.run_it(path).stdout, '"out"\n')
        self.assertEqual(self.world(), ["begun", "begun"])

    def test_another_plan_or_input_is_refused(self):
        path = self.file(graph([program("a", "true")]))
        self.assertEqual(self.run_it(path).returncode, 0)
        other = self.file(graph([program("a", "false")]))
        result = self.run_it(other)
        self.assertEqual(result.returncode, 1)
        self.assertIn("journal.other_plan", result.stderr)

    def test_one_at_a_time(self):
        path = self.file(graph([shell("a", "touch up; until [ -e go ]; do sleep 0.01; done")]))
        first = subprocess.Popen([TOOL, "run", path, "--journal", self.journal, "--run-id", "s"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + LIMIT_S
        while not (self.folder / "up").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        result = self.run_it(path, "s")
        self.assertEqual(result.returncode, 1)
        self.assertIn("journal.locked", result.stderr)
        states = {each["run"]: each["state"] for each in json.loads(self.tell("list", "--json"))}
        self.assertEqual(states["s"], "in_use")
        (self.folder / "go").touch()
        self.assertEqual(first.wait(LIMIT_S), 0, first.stderr.read())
        first.stderr.close()

    def test_what_a_run_did_is_told(self):
        path = self.file(graph([program("a", "echo", "hi"), node("b", "const", config={"value": 1},
                                                                 deterministic=False)]))
        self.run_it(path, "my run/1")
        lines = self.tell("show", "my run/1").splitlines()
        self.assertEqual(json.loads(lines[0])["run"], "my run/1")
        kinds = [json.loads(line)["kind"] for line in lines[1:]]
        self.assertEqual(sorted(kinds), ["end", "intent", "output", "result"])
        told = self.tell("replay", "my run/1")
        self.assertRegex(told, r"intent +a turn 0\.0 std\.exec")
        self.assertRegex(told, r'result +a turn 0\.0 "hi"')
        self.assertRegex(told, r"output +b std\.const 1")
        self.assertRegex(told, r"end +the run")

    def test_failures_say_what(self):
        path = self.file(graph([program("a", "true")]))
        self.run_it(path)
        for code, said, arguments in (
                (2, "--journal", ["list"]), (2, "belong together", None),
                (1, "journal.not_found", ["show", "x"]),
                (1, "journal.not_waiting", ["answer", "r", "--value", path])):
            with self.subTest(said):
                if arguments is None:
                    result = soma("run", path, "--run-id", "r")
                elif arguments == ["list"]:
                    result = soma("journal", "list")
                else:
                    result = soma("journal", *arguments, "--journal", self.journal)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
