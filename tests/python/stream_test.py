#!/usr/bin/env python3
"""Proves streams through the Python package: functions that take their rows in chunks."""

import json
import threading
import unittest

import soma


@soma.node(stream_mode="stateless")
def square(rows):
    return [row * row for row in rows]


@soma.node(stream_mode="stateful")
def running_sum(rows, call):
    out, total = [], call.state or 0
    for row in rows:
        total += row
        out.append(total)
    call.state = total
    return out


@soma.node(stream_mode="barrier")
def backwards(rows):
    return rows[::-1]


@soma.node(stream_mode="stateful")
def count(rows, call):
    """Nothing until the end, and then how many there were."""
    call.state = (call.state or 0) + len(rows)
    return [call.state] if call.is_last_chunk else []


ROWS = list(range(50))


class Streams(unittest.TestCase):
    def test_chunks_do_not_change_the_value(self):
        graph = soma.Graph(square() >> running_sum() >> backwards() >> running_sum())
        expected = graph.run(ROWS)
        for chunk in (1, 7, 50, 1000):
            plan = graph.compile(chunk=chunk)
            self.assertEqual(soma.Run(plan, threads=2, launch="always").execute(ROWS), expected)

    def test_the_last_chunk_is_known(self):
        plan = soma.Graph(square() >> count()).compile(chunk=8)
        self.assertEqual(soma.Run(plan).execute(ROWS), [50])
        self.assertEqual(soma.Run(plan).execute([]), [0])

    def test_a_state_is_refused_where_there_is_no_next_chunk(self):
        @soma.node
        def plain(value, call):
            self.assertEqual((call.chunk, call.is_last_chunk, call.state), (0, True, None))
            call.state = 1

        with self.assertRaisesRegex(soma.SomaError, "expected stream_mode stateful"):
            soma.Graph(plain()).run(1)

    def test_nodes_work_at_the_same_time(self):
        meet = threading.Barrier(2, timeout=20)

        @soma.node(stream_mode="stateless")
        def first(rows, call):
            if call.chunk == 1:
                meet.wait()
            return rows

        @soma.node(stream_mode="stateless")
        def second(rows, call):
            if call.chunk == 0:
                meet.wait()
            return rows

        plan = soma.Graph(first() >> second()).compile(chunk=5)
        self.assertEqual(soma.Run(plan, threads=2, launch="always").execute(ROWS), ROWS)

    def test_the_first_chunk_that_fails_is_told(self):
        @soma.node(stream_mode="stateless")
        def picky(rows):
            if 23 in rows:
                raise KeyError(rows[0])
            return rows

        run = soma.Run(soma.Graph(picky()).compile(chunk=10))
        with self.assertRaises(KeyError) as caught:
            run.execute(ROWS)
        self.assertEqual(caught.exception.args, (20,))

    def test_events_tell_of_chunks(self):
        plan = soma.Graph(square()).compile(chunk=20)
        told = []
        soma.Run(plan, observer=told.append).execute(ROWS)
        chunks = [(event["chunk"], event["chunks"]) for event in told
                  if event["event"] == "chunk_finished"]
        self.assertEqual(chunks, [(0, 3), (1, 3), (2, 3)], json.dumps(told))


if __name__ == "__main__":
    unittest.main()
