#!/usr/bin/env python3
"""Proves the Python package around a call: arguments, Ctrl-C, callbacks, threads, what it costs."""

import os
import signal
import sys
import threading
import time
import unittest
from unittest import mock

import soma
from soma._library import lib

MODEL = os.environ["SOMA_TEST_MODEL"]
QUESTION = "Why is the sky blue?"
WIDE = 2**32 + 2  # cut to 32 bits it would be token 2


def counted(name):
    """A function of the library that counts its calls while the context lasts."""
    return mock.patch.object(lib, name, wraps=getattr(lib, name))


class Shared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = soma.Model(MODEL, context=512)

    def setUp(self):
        self.ignored = []  # what ctypes could only print
        patch = mock.patch.object(sys, "unraisablehook", self.ignored.append)
        patch.start()
        self.addCleanup(patch.stop)

    def tearDown(self):
        self.assertEqual([str(each.exc_value) for each in self.ignored], [])
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)


class Arguments(Shared):
    def test_wide_token_ids_are_refused_everywhere(self):
        sequence = soma.Sequence(self.model.session)
        sequence.prefill([1])
        for use in (lambda: self.model.detokenize([1, WIDE]), lambda: self.model.piece(WIDE),
                    lambda: self.model.ends(WIDE), lambda: sequence.decode(WIDE),
                    lambda: sequence.prefill([-WIDE]), lambda: self.model.logits([2**100]),
                    lambda: self.model.generate([WIDE]), lambda: self.model.stream([WIDE])):
            with self.assertRaises(soma.OutOfRange) as caught:
                use()
            self.assertEqual(caught.exception.reason, "tokenizer.token")
        with self.assertRaises(soma.OutOfRange):  # the same class as the library's own refusal
            self.model.piece(10**6)
        self.assertEqual(len(sequence), 1)
        with self.assertRaises(soma.OutOfRange):
            sequence.truncate(2**64)

    def test_a_failed_conversion_leaks_no_cancel_object(self):
        sequence = soma.Sequence(self.model.session)
        with counted("soma_cancel_create") as made, counted("soma_cancel_release") as released:
            for use in (lambda: sequence.prefill([1.5]), lambda: sequence.generate(["one"]),
                        lambda: sequence.generate([1], no_such_option=1),
                        lambda: sequence.prefill([1], timeout_s="soon"), lambda: soma.Model(None),
                        lambda: soma.Model("/none.gguf"), lambda: sequence.prefill([1])):
                try:
                    use()
                except (TypeError, soma.NotFound):
                    pass
        self.assertEqual(made.call_count, released.call_count)
        self.assertGreaterEqual(made.call_count, 2)

    def test_stream_and_generate_read_options_alike(self):
        for use in (self.model.generate, self.model.stream):
            for wrong, kind in (({"tokens": -1}, soma.OutOfRange), ({"tok": 1}, soma.NotFound),
                                ({"temperature": "hot"}, soma.InvalidArgument)):
                with self.assertRaises(kind):
                    use(QUESTION, **wrong)
            with self.assertRaises(TypeError):
                use(b"bytes are no prompt")
        for given in ({"ignore_end": "false"}, {"ignore_end": True}, {"ignore_end": "true"}):
            text = self.model.generate("Say yes.", tokens=40, **given).text
            self.assertEqual("".join(self.model.stream("Say yes.", tokens=40, **given)), text)
        self.assertTrue(next(self.model.stream(QUESTION, tokens=None)))
        self.assertEqual(list(self.model.stream(QUESTION, tokens=0)), [])

    def test_timeouts_that_are_no_number_of_seconds(self):
        sequence = soma.Sequence(self.model.session)
        sequence.prefill([1], timeout_s=float("inf"))
        sequence.prefill([1], timeout_s=1e300)
        with self.assertRaisesRegex(ValueError, "timeout_s"):
            sequence.prefill([1], timeout_s=float("nan"))
        for past in (0, -1, float("-inf")):
            with self.assertRaises(soma.DeadlineExceeded):
                sequence.prefill([1], timeout_s=past)
        self.assertEqual(len(sequence), 2)

    def test_an_empty_sequence_is_true(self):
        sequence = soma.Sequence(self.model.session)
        self.assertEqual(len(sequence), 0)
        self.assertTrue(sequence)


class Steps(Shared):
    def test_stream_runs_no_step_for_its_last_token(self):
        for tokens in (1, 4):
            with counted("soma_sequence_decode") as decode:
                list(self.model.stream(QUESTION, tokens=tokens, ignore_end=True))
            self.assertEqual(decode.call_count, tokens - 1)

    def test_stream_fits_where_generate_fits(self):
        model = soma.Model(MODEL, context=64, sequences=1)
        other = soma.Sequence(model.session)
        other.prefill([1])  # takes a block, so that the pool ends before the context does
        block = 64 // model.session.facts["kv_blocks"]
        prompt = [1] * (64 - block - 3)
        want = model.generate(prompt, tokens=4, ignore_end=True)
        self.assertEqual(want.finish, "length")
        text = "".join(model.stream(prompt, tokens=4, ignore_end=True))
        self.assertEqual(text, want.text)
        with self.assertRaises(soma.ResourceExhausted):
            model.generate(prompt, tokens=5, ignore_end=True)


class Threads(Shared):
    def test_threads_share_one_session(self):
        model = soma.Model(MODEL, context=64)
        start, found = threading.Barrier(4), []

        def ask():
            start.wait()
            found.append(model.session)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        with counted("soma_session_create") as made:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(made.call_count, 1)
        self.assertEqual(len(set(map(id, found))), 1)

    def test_calls_of_other_threads_leave_the_handler_alone(self):
        seen = []
        thread = threading.Thread(target=lambda: self.model.generate(
            QUESTION, tokens=2, on_text=lambda _: seen.append(signal.getsignal(signal.SIGINT))))
        thread.start()
        thread.join()
        self.assertTrue(seen)
        self.assertEqual(set(seen), {signal.default_int_handler})


class Interrupts(Shared):
    def generate_long(self, **given):
        return self.model.generate(QUESTION, tokens=400, ignore_end=True, **given)

    def test_on_the_first_line_of_a_callback(self):
        hits = []

        def trace(frame, _event, _argument):
            if frame.f_code.co_name == "tick" and not hits:
                hits.append(frame)
                signal.raise_signal(signal.SIGINT)

        sys.settrace(trace)
        self.addCleanup(sys.settrace, None)
        with self.assertRaises(KeyboardInterrupt):
            self.generate_long()
        self.assertEqual(len(hits), 1)

    def test_at_any_time(self):
        for after in (0.02, 0.03, 0.05, 0.08, 0.2):
            timer = threading.Timer(after, signal.pthread_kill,
                                    (threading.main_thread().ident, signal.SIGINT))
            begin = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                self.generate_long()
            self.assertLess(time.monotonic() - begin, 5)

    def test_in_a_callback_that_waits(self):
        def wait(_):
            signal.raise_signal(signal.SIGINT)
            time.sleep(60)

        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.generate_long(on_text=wait)
        self.assertLess(time.monotonic() - begin, 30)

    def test_in_a_call_within_a_callback(self):
        inner = soma.Model(MODEL, context=512)

        def nest(_):
            inner.generate(QUESTION, tokens=400, ignore_end=True,
                           on_text=lambda _: signal.raise_signal(signal.SIGINT))

        with self.assertRaises(KeyboardInterrupt):
            self.generate_long(on_text=nest)

    def test_kept_in_a_call_that_succeeds(self):
        ticks, create, set_tick = [], lib.soma_session_create, lib.soma_cancel_set_tick

        def keep_tick(cancel, tick, *rest):
            ticks.append(tick)
            return set_tick(cancel, tick, *rest)

        def interrupt(*_):
            signal.raise_signal(signal.SIGINT)

        def create_after_tick(model, settings, _cancel, *rest):
            ticks[-1](None, b"pack", 4, 1, 1)
            return create(model, settings, None, *rest)

        with mock.patch.object(lib, "soma_cancel_set_tick", keep_tick), \
                mock.patch.object(lib, "soma_session_create", create_after_tick), \
                counted("soma_session_release") as released:
            with self.assertRaises(KeyboardInterrupt):
                soma.Session(self.model, context=64, progress=interrupt)
        self.assertEqual(released.call_count, 1)  # what the call made is not lost

    def test_prevails_over_a_failure(self):
        def fail(*arguments):
            signal.raise_signal(signal.SIGINT)
            return real(None, *arguments[1:])

        real = lib.soma_sequence_prefill
        with mock.patch.object(lib, "soma_sequence_prefill", fail):
            with self.assertRaises(KeyboardInterrupt):
                soma.Sequence(self.model.session).prefill([1])

    def test_a_handler_of_ones_own_stays(self):
        class Mine(Exception):
            pass

        def handler(_number, _frame):
            raise Mine

        signal.signal(signal.SIGINT, handler)
        self.addCleanup(signal.signal, signal.SIGINT, signal.default_int_handler)
        with self.assertRaises(Mine):
            self.generate_long(on_text=lambda _: signal.raise_signal(signal.SIGINT))
        self.assertIs(signal.getsignal(signal.SIGINT), handler)
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Progress(Shared):
    def test_false_stops(self):
        seen = []

        def progress(phase, done, total):
            seen.append((phase, done, total))
            return phase != "pack"

        model = soma.Model(MODEL, context=64, progress=progress)
        with self.assertRaises(soma.Cancelled):
            model.session
        self.assertEqual(seen[-1][0], "pack")
        self.assertEqual(len([each for each in seen if each[0] == "pack"]), 1)

    def test_an_exception_comes_out_and_the_next_try_works(self):
        bad = [1]

        def progress(phase, done, total):
            if phase == "pack" and bad:
                raise KeyError(bad.pop())

        model = soma.Model(MODEL, context=64, progress=progress)
        with self.assertRaises(KeyError):
            model.session
        self.assertEqual(model.session.context, 64)


if __name__ == "__main__":
    unittest.main()
