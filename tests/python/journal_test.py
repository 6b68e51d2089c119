"""Proves that runs are remembered in a store of one's own, whatever it does: lose, fail, or lie.

    python3 tests/python/journal_test.py     SOMA_LIBRARY names the library
"""

from __future__ import annotations

import errno
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import soma


class Memory:
    """The smallest store there is."""

    def __init__(self):
        self.runs = {}

    def load(self, run):
        return self.runs.get(run, [])

    def append(self, run, number, entry):
        entries = self.runs.setdefault(run, [])
        if number != len(entries):
            raise FileExistsError(f"run {run} has an entry {number}")
        entries.append(entry)

    def list(self):
        return self.runs

    def remove(self, run):
        del self.runs[run]


class Database:
    """A store that outlives its process, in a database of the host's."""

    def __init__(self, path):
        self.path = path
        with self.open() as base:
            base.execute("CREATE TABLE IF NOT EXISTS entry(run, number, bytes, "
                         "PRIMARY KEY(run, number))")

    def open(self):
        return sqlite3.connect(self.path)

    def load(self, run):
        rows = self.open().execute("SELECT bytes FROM entry WHERE run = ? ORDER BY number", [run])
        return (row[0] for row in rows)

    def append(self, run, number, entry):
        try:
            with self.open() as base:
                base.execute("INSERT INTO entry VALUES(?, ?, ?)", [run, number, entry])
        except sqlite3.IntegrityError:
            raise FileExistsError(f"run {run} has an entry {number}") from None


@soma.step
def approve(text):
    draft = yield soma.Ask("write", text)
    answer = yield soma.Suspend("may it go out?")
    sent = yield soma.Ask("send", [draft, answer])
    return sent


class Stores(unittest.TestCase):
    def setUp(self):
        self.performed = []
        self.graph = soma.Graph(approve())
        self.handlers = [soma.handler("write", in_doubt="retry")(self.perform("write")),
                         soma.handler("send", in_doubt="retry")(self.perform("send"))]

    def perform(self, name):
        def performed(payload):
            self.performed.append(name)
            return payload
        return performed

    def execute(self, store, run="r", input="x"):
        return self.graph.run(input, handlers=self.handlers, journal=soma.Journal(store=store),
                              run_id=run)

    def test_a_run_is_remembered(self):
        store = Memory()
        journal = soma.Journal(store=store)
        with self.assertRaises(soma.Suspended):
            self.execute(store)
        self.assertEqual([run["state"] for run in journal.list()], ["waiting"])
        journal.answer("r", True)
        self.assertEqual(self.execute(store), ["x", True])
        self.assertEqual(self.execute(store), ["x", True])
        self.assertEqual(self.performed, ["write", "send"])
        kinds = [json.loads(line)["kind"] for line in journal.show("r").splitlines()[1:]]
        self.assertEqual(kinds[-1], "end")
        journal.remove("r")
        self.assertEqual(journal.list(), [])
        with self.assertRaisesRegex(soma.NotFound, "there is no journal"):
            journal.show("r")

    def test_a_run_is_executed_once_at_a_time(self):
        journal = soma.Journal(store=Memory())
        refused = []

        @soma.handler("write")
        def write(payload):
            # Another graph, with a runtime of its own: the store alone could not tell them apart.
            with self.assertRaises(soma.FailedPrecondition) as caught:
                soma.Graph(approve()).run("x", handlers=[write], journal=journal, run_id="r")
            refused.append(str(caught.exception))
            return payload

        for _ in range(2):
            with self.assertRaises(soma.Suspended):
                soma.Graph(approve()).run("x", handlers=[write], journal=journal, run_id="r")
        self.assertEqual(len(refused), 1)
        self.assertIn("journal.locked", refused[0])

    def test_a_lock_keeps_two_journals_on_one_store_apart(self):
        store, locked, refused = Memory(), set(), []

        def lock(run):
            if run in locked:
                raise FileExistsError("it is at work elsewhere")
            locked.add(run)

        store.lock, store.unlock = lock, locked.remove

        @soma.handler("write")
        def write(payload):
            with self.assertRaises(soma.FailedPrecondition) as caught:
                self.execute(store)
            refused.append(str(caught.exception))
            return payload

        with self.assertRaises(soma.Suspended):
            soma.Graph(approve()).run("x", handlers=[write], journal=soma.Journal(store=store),
                                      run_id="r")
        self.assertEqual(len(refused), 1)
        self.assertIn("it is at work elsewhere", refused[0])
        self.assertEqual((self.performed, locked), ([], set()))
        soma.Journal(store=store).answer("r", True)
        self.assertEqual(self.execute(store), ["x", True])
        self.assertEqual((self.performed, locked), (["send"], set()))
        store.lock = None
        self.assertRaisesRegex(TypeError, "or neither", soma.Journal, store=store)

    def test_the_end_that_a_store_loses_is_done_again_and_no_more(self):
        store = Memory()
        with self.assertRaises(soma.Suspended):
            self.execute(store)
        soma.Journal(store=store).answer("r", True)
        self.execute(store)
        whole = list(store.runs["r"])
        for kept in range(len(whole) + 1):
            store.runs["r"] = whole[:kept]
            self.performed.clear()
            try:
                self.execute(store)
            except soma.Suspended:
                pass
            self.assertLessEqual(len(self.performed), 2)
            self.assertEqual(len(set(self.performed)), len(self.performed))
        self.assertEqual(self.performed, [])  # nothing was lost at last

    def test_what_is_given_back_wrongly_is_refused(self):
        store = Memory()
        with self.assertRaises(soma.Suspended):
            self.execute(store)
        whole = store.runs["r"]
        other = bytes([*whole[1][:-1], whole[1][-1] ^ 1])
        for name, wrong in {"doubled": [*whole, whole[-1]], "turned": whole[::-1],
                            "gap": [whole[0], *whole[2:]], "changed": [whole[0], other],
                            "cut": [whole[0], whole[1][:-1]], "garbage": [b"no entry"],
                            "empty": [b""]}.items():
            with self.subTest(name):
                store.runs["r"] = wrong
                self.assertRaisesRegex(soma.DataLoss, "entry .* of run 'r'", self.execute, store)
        store.runs = {"q": whole}
        self.assertRaisesRegex(soma.DataLoss, "of run 'r'", self.execute, store, "q")
        self.assertEqual(self.performed, ["write"])

    def test_what_a_store_raises_is_the_failure_and_the_run_can_go_on(self):
        for at in range(4):
            for problem, meant in ((FileExistsError("theirs"), soma.FailedPrecondition),
                                   (OSError(errno.ENOSPC, "full"), soma.ResourceExhausted),
                                   (ValueError("mine"), soma.Unavailable)):
                with self.subTest(f"{at} {problem!r}"):
                    store = Memory()
                    keep = store.append

                    def append(run, number, entry, at=at, problem=problem, keep=keep):
                        if number == at:
                            raise problem
                        keep(run, number, entry)

                    store.append = append
                    with self.assertRaisesRegex(Exception, type(problem).__name__) as raised:
                        self.execute(store)
                    # Within a node it is that node's failure.
                    self.assertIsInstance(raised.exception, soma.Aborted if at else meant)
                    store.append = keep
                    self.assertRaises(soma.Suspended, self.execute, store)

    def test_stores_that_are_none(self):
        for store in (3, "folder", {}, object()):
            self.assertRaisesRegex(TypeError, "has no load", soma.Journal, store=store)
        self.assertRaises(TypeError, soma.Journal, "folder", store=Memory())
        store = Memory()
        store.load = lambda run: ["text"]
        self.assertRaisesRegex(soma.Unavailable, "an entry is bytes, not str", self.execute, store)
        store.load = lambda run: 3
        self.assertRaisesRegex(soma.Unavailable, "TypeError", self.execute, store)
        store.list = None
        self.assertRaisesRegex(soma.Unavailable, "'list' is NULL", soma.Journal(store=store).list)

    def test_several_runs_at_once(self):
        store = Memory()

        def one(number):
            with self.assertRaises(soma.Suspended):
                self.execute(store, f"run-{number}", number)

        threads = [threading.Thread(target=one, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        states = {run["run"]: run["state"] for run in soma.Journal(store=store).list()}
        self.assertEqual(states, {f"run-{number}": "waiting" for number in range(8)})

    def test_a_process_that_is_killed_at_each_effect(self):
        with tempfile.TemporaryDirectory() as folder:
            kills = 0
            while True:
                child = subprocess.Popen([sys.executable, __file__, "child", folder],
                                         stdout=subprocess.PIPE, text=True)
                line = child.stdout.readline()
                child.kill()
                child.wait()
                child.stdout.close()
                if line.startswith("done"):
                    break
                kills += 1
            begun = Path(folder, "world").read_text().split()
            self.assertEqual(line, "done [1, 2, 3, 4, 5, 6]\n")
            first = [mark for mark in begun if not mark.startswith("again:")]
            self.assertEqual(len({mark.removeprefix("again:") for mark in begun}), 6)
            self.assertEqual(len(first), len(set(first)))
            self.assertLessEqual(len(begun) - len(first), kills)
            self.assertGreater(kills, 0)


def run_and_be_killed(folder):
    @soma.handler("act", in_doubt="retry")
    def act(effect):
        with open(Path(folder, "world"), "a") as world:
            world.write(("again:" if effect.is_retry else "") + effect.key.replace(" ", "_") + "\n")
        if not effect.is_retry:
            print("acted", flush=True)  # and is killed here, or a little later
        effect.complete(effect.payload)

    @soma.step
    def work():
        done = []
        for number in range(1, 7):
            done.append((yield soma.Ask("act", number)))
        return done

    value = soma.Graph(work()).run(handlers=[act], journal=soma.Journal(
        store=Database(str(Path(folder, "host.db")))), run_id="r")
    print("done", value, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        run_and_be_killed(sys.argv[2])
        sys.exit()
    unittest.main()
