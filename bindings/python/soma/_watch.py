"""Blocking calls: how Ctrl-C, deadlines and failing callbacks stop one, and what it raises then."""

from __future__ import annotations

import ctypes
import math
import signal
import threading
from typing import Any, Callable

from . import _api
from ._errors import Aborted, Cancelled
from ._library import Handle, call, lib, make

LONGEST_NS = 2**63 - 1


def _nanoseconds(timeout_s: float | None) -> int:
    """A timeout as the library takes it; None and what is too long to count mean no deadline."""
    if timeout_s is None:
        return LONGEST_NS
    if math.isnan(timeout_s):
        raise ValueError("timeout_s is not a number; give seconds, or None for no deadline")
    return int(max(0.0, timeout_s * 1e9)) if timeout_s < 1e9 else LONGEST_NS


def take_room(frames: int = 60) -> None:
    """RecursionError, if there is no room on the stack for calls and callbacks: ctypes would make
    another exception of one, and print the other, and nobody would learn of it."""
    if frames > 0:
        take_room(frames - 1)


class _Cancel(Handle):
    _release = "soma_cancel_release"


class Watch:
    """Looks after one blocking call.

    An exception can't pass through the library: ctypes prints one that leaves a callback, and goes
    on. So callbacks keep theirs here and answer "stop", and `run` raises it when the call is over.
    Ctrl-C can interrupt Python at any place, also in ctypes' own frames around a callback, where
    nobody could keep its exception. Where Python's own handler is set, another one takes its place
    during the call: it notes the interrupt and cancels the call, and raises only in a callback of
    the user's, which may be waiting for something.
    """

    def __init__(self, runtime: Handle, *, timeout_s: float | None = None,
                 progress: Callable[[str, int, int], Any] | None = None) -> None:
        self.raised: BaseException | None = None
        self._declined = False    # progress returned False, or somebody asked to stop
        self._calling = False     # a callback of the user's is running on the call's own thread
        self._thread = threading.get_ident()
        deadline = _nanoseconds(timeout_s)
        self._cancel: _Cancel | None = _Cancel(make(lib.soma_cancel_create, runtime._raw))
        call(lib.soma_cancel_set_deadline, self._cancel._raw, deadline)

        def tick(_user: Any, phase: int, length: int, done: int, total: int) -> int:
            def body() -> int:
                if progress is None:
                    return _api.SOMA_CONTINUE
                name = ctypes.string_at(phase, length).decode()
                self._declined = progress(name, done, total) is False
                return _api.SOMA_STOP if self._declined else _api.SOMA_CONTINUE
            return self.guarded(body)

        self._tick = _api.soma_tick_fn(tick)
        call(lib.soma_cancel_set_tick, self._cancel._raw, self._tick, None, _api.soma_destroy_fn())

    def guarded(self, body: Callable[[], int]) -> int:
        """Runs what a callback does; its exception is kept, and stops the call."""
        try:
            return _api.SOMA_STOP if self.raised is not None else self.interruptible(body)
        except BaseException as problem:  # noqa: B902 - KeyboardInterrupt must get through
            self.raised = problem
            return 0

    def interruptible(self, body: Callable[[], Any]) -> Any:
        """Runs code of the user's. An interrupt, which reaches the main thread only, ends it."""
        if threading.get_ident() != self._thread:
            return body()
        try:
            self._calling = True
            return body()
        finally:
            self._calling = False

    def stop(self, problem: BaseException) -> None:
        """Ends the call, which then raises `problem`."""
        self.raised = problem
        cancel = self._cancel
        if cancel is not None:
            lib.soma_cancel_request(cancel._raw)

    def decline(self) -> None:
        """Ends the call, which then raises Cancelled. From any thread."""
        self._declined = True
        cancel = self._cancel
        if cancel is not None:
            lib.soma_cancel_request(cancel._raw)

    def meaning(self, problem: Exception) -> BaseException:
        """What to raise for a failure. Only callbacks stop a call in these ways; if none of them
        kept an exception, it was raised in ctypes' own frames by somebody else's handler."""
        stopped = isinstance(problem, (Cancelled, Aborted)) and not self._declined
        return KeyboardInterrupt() if stopped else problem

    def close(self) -> None:
        """No call comes any more."""
        self._cancel = self._tick = None

    def run(self, body: Callable[[ctypes.c_void_p], Any], *, last: bool = True) -> Any:
        """Calls `body` with the cancel object. What callbacks and Ctrl-C left is raised, even if
        the call succeeds; so body itself stores the handles it makes, or they would be lost.
        `last`: no other call of these comes after it."""
        take_room()
        result = problem = None
        former = self._take_interrupts()
        try:
            result = body(self._cancel._raw)
        except Exception as failure:
            problem = failure
        finally:
            if last:
                self.close()
            self._give_interrupts_back(former)
        try:
            if self.raised is not None:
                raise self.raised
            if problem is not None:
                raise self.meaning(problem)
            return result
        finally:
            self.raised = problem = None  # or exception and frame would keep each other alive

    def _interrupted(self, _number: int, _frame: Any) -> None:
        if self._calling:
            self._calling = False
            raise KeyboardInterrupt
        self.stop(KeyboardInterrupt())

    def _take_interrupts(self) -> Any:
        """Sets the handler if it was Python's or that of a call around this one; returns that."""
        former = signal.getsignal(signal.SIGINT)
        nested = getattr(former, "__func__", None) is Watch._interrupted
        if former is not signal.default_int_handler and not nested:
            return None
        try:
            signal.signal(signal.SIGINT, self._interrupted)
        except ValueError:  # not the main thread, which alone gets interrupts
            return None
        return former

    def _give_interrupts_back(self, former: Any) -> None:
        if former is not None and signal.getsignal(signal.SIGINT) == self._interrupted:
            signal.signal(signal.SIGINT, former)
