"""Failures as exceptions: one class a code, each with the library's reason id and details."""

from __future__ import annotations

import errno
from typing import Any


class SomaError(Exception):
    """What went wrong: `reason` is stable ("gguf.truncated"), the message is for people."""

    code = 2

    def __init__(self, message: str, reason: str = "", details: list[tuple[str, str]] | None = None,
                 others: list["SomaError"] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.details = details or []
        self.others = others or []

    def __str__(self) -> str:
        lines = [f"{self.args[0]} [{self.reason}]" if self.reason else str(self.args[0])]
        lines += ["  " + line for other in self.others for line in str(other).splitlines()]
        return "\n".join(lines)

    def detail(self, key: str) -> str:
        """The first detail of that name, or an empty text."""
        return next((value for name, value in self.details if name == key), "")


class Cancelled(SomaError):
    """The work was cancelled."""
    code = 1


class InvalidArgument(SomaError, ValueError):
    """Wrong whatever the state of things: the call or the file must change."""
    code = 3


class DeadlineExceeded(SomaError, TimeoutError):
    """The deadline passed before the work was done."""
    code = 4


class NotFound(SomaError, LookupError):
    """There is no such file or name."""
    code = 5


class FileNotFound(NotFound, FileNotFoundError):
    """There is no such file."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.errno = errno.ENOENT


class AlreadyExists(SomaError):
    """Something has that name already."""
    code = 6


class PermissionDenied(SomaError, PermissionError):
    """The file can't be read."""
    code = 7


class ResourceExhausted(SomaError, MemoryError):
    """Memory, the context, or the KV pool is used up."""
    code = 8


class FailedPrecondition(SomaError):
    """Not in this state: the object is busy, or lacks what is asked for."""
    code = 9


class Suspended(FailedPrecondition):
    """The run waits for an answer (Journal.answer), and goes on once it is run again under its
    id."""

    @property
    def path(self) -> str:
        """Where it waits."""
        return self.detail("waiting")


class Aborted(SomaError):
    """A callback failed."""
    code = 10


class OutOfRange(SomaError, ValueError):
    """A number is outside its range."""
    code = 11


class Unimplemented(SomaError, NotImplementedError):
    """This library can't do that."""
    code = 12


class Internal(SomaError):
    """A bug in libsoma."""
    code = 13


class Unavailable(SomaError):
    """The machine or the system does not offer that now."""
    code = 14


class DataLoss(SomaError):
    """Bytes are missing or damaged."""
    code = 15


class Incompatible(SomaError):
    """Package and library are of different ABI generations."""
    code = 18


BY_CODE = {kind.code: kind for kind in SomaError.__subclasses__()}
BY_REASON = {"file.not_found": FileNotFound, "run.suspended": Suspended}


def kind_of(code: int, reason: str) -> type[SomaError]:
    """The class of a failure."""
    return BY_REASON.get(reason) or BY_CODE.get(code, SomaError)
