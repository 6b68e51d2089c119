"""Journals: what runs have done, kept so that they need not do it again."""

from __future__ import annotations

import _thread
import ctypes
import errno
import os
from typing import Any

from . import _api
from ._errors import FailedPrecondition
from ._library import Handle, blob, call, facts, lib, make, utf8
from ._model import Runtime
from ._run import _message
from ._value import drop, keep, kept, to_value


class Journal(Handle):
    """Where runs are remembered: in a folder; with neither folder nor store, as long as this object
    lives, and then for graphs of its runtime only; or in a `store` of your own, an object with

        load(run)                     all entries of a run, bytes, in their order; of none, nothing
        append(run, number, entry)    keeps one more, numbered from 0; durable when it returns
        list()                        the ids of all runs       (only Journal.list needs it)
        remove(run)                   forgets a run             (only Journal.remove needs it)
        lock(run), unlock(run)        around the others         (for stores that are shared)

    It need not know what entries mean: what it gives back is checked. `append` raises
    FileExistsError if the run has an entry of that number, which another process wrote. Its methods
    are called on any thread, for different runs at the same time, and must not use this journal. An
    exception fails the run, which goes on from what the store has when it is executed again.

    A run is executed once at a time by this object. Two processes, or two objects with one store,
    could both perform an effect: `lock` raises FileExistsError, at once, for all but one of them,
    and `unlock` raises nothing. A lock must not outlive its process. Without `lock`, it is yours to
    see to that a run is started once.
    """

    _release = "soma_journal_release"

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, store: Any = None,
                 runtime: Runtime | None = None) -> None:
        if folder is not None and store is not None:
            raise TypeError("a journal is in a folder or in a store: give one of them")
        self.runtime = runtime or Runtime()
        self._folder = None if folder is None else os.fspath(folder)
        self._store = store
        self._executing: set[str] = set()  # runs, of this and all journals that are made within it
        self._changing = _thread.allocate_lock()
        if store is not None:
            raw = _hosted(self.runtime, store)
        elif self._folder is None:
            raw = make(lib.soma_journal_create, self.runtime._raw)
        else:
            raw = make(lib.soma_journal_open, self.runtime._raw, *utf8(self._folder))
        super().__init__(raw)

    def _within(self, runtime: Runtime) -> "Journal":
        if runtime is self.runtime or (self._folder is None and self._store is None):
            return self
        other = Journal(self._folder, store=self._store, runtime=runtime)
        other._executing, other._changing = self._executing, self._changing
        return other

    def _claim(self, run: str) -> None:
        """For one execution at a time; a store would only see to it that one of two fails."""
        with self._changing:
            if run in self._executing:
                raise FailedPrecondition(f"the run {run!r} is being executed already",
                                         "journal.locked")
            self._executing.add(run)

    def _give_back(self, run: str) -> None:
        with self._changing:
            self._executing.discard(run)

    def list(self) -> list[dict[str, Any]]:
        """All runs: "run", "state" ("in_use", "broken", "waiting", "ended", "unreadable"),
        "records", "last", "waiting" ("path", "turn", "index", "reason"), …"""
        return facts(lib.soma_journal_list, self._raw)

    def show(self, run: str) -> str:
        """All records of a run, as lines of JSON."""
        return blob(lib.soma_journal_show, self._raw, *utf8(run)).decode()

    def answer(self, run: str, value: Any, path: str | None = None) -> None:
        """Answers what a run waits for; `path` says where, if it waits at several places."""
        content = to_value(self.runtime, value)
        where = utf8(path) if path is not None else (None, 0)
        call(lib.soma_journal_answer, self._raw, *utf8(run), *where, content._raw)

    def remove(self, run: str) -> None:
        """Forgets a run, for good."""
        call(lib.soma_journal_remove, self._raw, *utf8(run))


# ---- Stores: the library's side

def _hosted(runtime: Runtime, store: Any) -> ctypes.c_void_p:
    for name in ("load", "append"):
        if not callable(getattr(store, name, None)):
            raise TypeError(f"the store of a journal has the methods load(run) and append(run, "
                            f"number, entry); {store!r} has no {name}")
    optional = {name: function for name, function in (
        ("list", _list_fn), ("remove", _remove_fn), ("lock", _lock_fn), ("unlock", _unlock_fn))
                if callable(getattr(store, name, None))}
    if ("lock" in optional) != ("unlock" in optional):
        raise TypeError(f"a store has both lock(run) and unlock(run), or neither: {store!r}")
    table = _api.soma_journal_store(ctypes.sizeof(_api.soma_journal_store), 0, _load_fn, _append_fn,
                                    **optional)
    return make(lib.soma_journal_create_hosted, runtime._raw, ctypes.byref(table), keep(store),
                drop)


def _code_of(problem: BaseException) -> int:
    if isinstance(problem, FileExistsError):
        return _api.SOMA_ALREADY_EXISTS
    is_full = isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT)
    if is_full or isinstance(problem, MemoryError):
        return _api.SOMA_RESOURCE_EXHAUSTED
    return _api.SOMA_UNAVAILABLE


def _answer(reply: int, body: Any) -> int:
    try:
        body()
        return _api.SOMA_CONTINUE
    except BaseException as problem:  # noqa: B902 - none may pass through the library
        message = _message(problem)
        lib.soma_journal_reply_fail(reply, _code_of(problem), message, len(message), None)
        if isinstance(problem, KeyboardInterrupt):
            _thread.interrupt_main()  # once more, for who waits for the run
        return _api.SOMA_STOP


def _give(reply: int, items: Any) -> None:
    for item in items:
        if not isinstance(item, (bytes, bytearray, memoryview)):
            raise TypeError(f"an entry is bytes, not {type(item).__name__}")
        content = bytes(item)
        if not lib.soma_journal_reply_add(reply, content, len(content)):
            break


def _text(address: int, length: int) -> str:
    return ctypes.string_at(address, length).decode()


def _on_load(user: int, run: int, length: int, reply: int) -> int:
    return _answer(reply, lambda: _give(reply, kept(user).load(_text(run, length))))


def _on_append(user: int, run: int, length: int, number: int, entry: int, size: int,
               reply: int) -> int:
    return _answer(reply, lambda: kept(user).append(_text(run, length), number,
                                                    ctypes.string_at(entry, size)))


def _on_list(user: int, reply: int) -> int:
    return _answer(reply, lambda: _give(reply, (name.encode() for name in kept(user).list())))


def _on_remove(user: int, run: int, length: int, reply: int) -> int:
    return _answer(reply, lambda: kept(user).remove(_text(run, length)))


def _on_lock(user: int, run: int, length: int, reply: int) -> int:
    return _answer(reply, lambda: kept(user).lock(_text(run, length)))


def _on_unlock(user: int, run: int, length: int) -> None:
    kept(user).unlock(_text(run, length))


_load_fn = _api.soma_journal_load_fn(_on_load)
_append_fn = _api.soma_journal_append_fn(_on_append)
_list_fn = _api.soma_journal_list_fn(_on_list)
_remove_fn = _api.soma_journal_remove_fn(_on_remove)
_lock_fn = _api.soma_journal_lock_fn(_on_lock)
_unlock_fn = _api.soma_journal_unlock_fn(_on_unlock)
