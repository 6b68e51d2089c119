"""Caches: what nodes yielded, so that they need not run again."""

from __future__ import annotations

import os
from typing import Any

from ._library import Handle, Options, call, facts, lib, make, utf8
from ._model import Runtime
from ._watch import Watch


class Cache(Handle):
    """Values of nodes that said `cacheable=True`, in memory, and with a folder on disk as well.

    A value is found again if the node's op and version, config, state and device and the content
    of what it reads are the same. A function that changes what it computes needs a new version.
    Values that are Python objects of other kinds than JSON has are not kept. One cache may serve
    any number of runs and threads, one folder any number of processes.
    """

    _release = "soma_cache_release"

    def __init__(self, folder: str | os.PathLike[str] | None = None, *,
                 memory_bytes: int | None = None, disk_bytes: int | None = None,
                 runtime: Runtime | None = None) -> None:
        self.runtime = runtime or Runtime()
        settings = Options("cache", {"memory_bytes": memory_bytes, "disk_bytes": disk_bytes})
        if folder is None:
            raw = make(lib.soma_cache_create, self.runtime._raw, settings._raw)
        else:
            raw = make(lib.soma_cache_open, self.runtime._raw, *utf8(os.fspath(folder)),
                       settings._raw)
        super().__init__(raw)

    @property
    def facts(self) -> dict[str, Any]:
        """"hits", "misses", "skipped" (nodes), "failed_writes", "last_failure", "path", and of
        "memory" and "disk" "entries", "bytes", "bytes_max", "pinned", "evicted", "damaged"."""
        return facts(lib.soma_cache_facts, self._raw)

    @property
    def measured(self) -> dict[str, float]:
        """Microseconds by op, as Plan.estimate takes them as `ops`: medians."""
        return facts(lib.soma_cache_measured, self._raw)["ops"]

    def verify(self, *, timeout_s: float | None = None) -> dict[str, Any]:
        """Reads all entries and removes damaged ones: "entries", "bytes", "damaged", "foreign",
        "unreadable"."""
        found: list[dict[str, Any]] = []
        Watch(self.runtime, timeout_s=timeout_s).run(
            lambda cancel: found.append(facts(lib.soma_cache_verify, self._raw, cancel)))
        return found[0]

    def sweep(self, bytes_max: int) -> dict[str, Any]:
        """Removes what was not used for longest: "entries", "bytes", "left_overs"."""
        if not 0 <= bytes_max < 2**64:
            raise ValueError(f"bytes_max is 0 to 2**64 - 1, not {bytes_max}")
        return facts(lib.soma_cache_sweep, self._raw, bytes_max)

    def pin(self, key: str) -> None:
        """Keeps an entry whatever is removed; its key stands in events of runs."""
        call(lib.soma_cache_pin, self._raw, *utf8(key), 1)

    def unpin(self, key: str) -> None:
        call(lib.soma_cache_pin, self._raw, *utf8(key), 0)
