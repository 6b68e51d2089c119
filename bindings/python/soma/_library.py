"""The loaded library: where it is looked for, and how its calls become exceptions and bytes."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any

from . import _api
from ._errors import SomaError, kind_of

NUL = ctypes.c_size_t(-1).value


def _candidates() -> list[str]:
    """SOMA_LIBRARY, the file inside this package, a checkout's lib/, the system's."""
    here = Path(__file__).resolve()
    named = os.environ.get("SOMA_LIBRARY")
    if named:
        return [named]
    places = [here.parent / "lib" / "libsoma.so.1", here.parents[3] / "lib" / "libsoma.so.1"]
    return [str(place) for place in places if place.exists()] + ["libsoma.so.1"]


def _load() -> ctypes.CDLL:
    tried = []
    for place in _candidates():
        try:
            library = ctypes.CDLL(place, mode=os.RTLD_LOCAL | os.RTLD_NOW)
        except OSError as problem:
            tried.append(f"{place}: {problem}")
            continue
        _api.declare(library)
        return library
    raise ImportError("libsoma.so.1 was not found; set SOMA_LIBRARY to its path. Tried:\n  "
                      + "\n  ".join(tried))


lib = _load()


def _error(pointer: Any, owned: bool) -> SomaError:
    text = lambda raw: raw.decode("utf-8", "replace")
    details = [(text(lib.soma_error_detail_key(pointer, i, None)),
                text(lib.soma_error_detail_value(pointer, i, None)))
               for i in range(lib.soma_error_detail_count(pointer))]
    others = [_error(lib.soma_error_other(pointer, i), False)
              for i in range(lib.soma_error_other_count(pointer))]
    reason = text(lib.soma_error_reason(pointer, None))
    error = kind_of(lib.soma_error_code(pointer), reason)(
        text(lib.soma_error_message(pointer, None)), reason, details, others)
    if owned:
        lib.soma_error_release(pointer)
    return error


def call(function: Any, *arguments: Any) -> None:
    """Calls a fallible function (its trailing error is added) and raises what it reports."""
    error = ctypes.c_void_p()
    if function(*arguments, ctypes.byref(error)) != 0:
        raise _error(error, True)


def make(function: Any, *arguments: Any) -> ctypes.c_void_p:
    """Calls a function whose last output is a handle; returns the handle."""
    out = ctypes.c_void_p()
    call(function, *arguments, ctypes.byref(out))
    return out


def blob(function: Any, *arguments: Any) -> bytes:
    """Calls a function whose last output is a blob; returns a copy of its bytes."""
    handle = make(function, *arguments)
    try:
        return ctypes.string_at(lib.soma_blob_data(handle), lib.soma_blob_size(handle))
    finally:
        lib.soma_blob_release(handle)


def facts(function: Any, *arguments: Any) -> Any:
    """Calls a function whose last output is a blob of JSON; returns it parsed."""
    return json.loads(blob(function, *arguments))


def utf8(text: str) -> tuple[bytes, int]:
    """A text as the two arguments it takes."""
    raw = text.encode("utf-8")
    return raw, len(raw)


class Handle:
    """Owns one reference to an object of the library."""

    _release: Any = None

    def __init__(self, raw: ctypes.c_void_p) -> None:
        self._raw = raw

    def __del__(self) -> None:
        raw = self.__dict__.pop("_raw", None)
        # At interpreter exit the module may be gone already; the process ends anyway.
        if raw is not None and lib is not None:
            getattr(lib, self._release)(raw)

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} holds memory of this process and can't be "
                        "pickled: pass the model's path instead")


class Options(Handle):
    """Settings of one kind, filled from keyword arguments; None leaves a default."""

    _release = "soma_options_release"

    def __init__(self, kind: str, settings: dict[str, Any]) -> None:
        super().__init__(make(lib.soma_options_create, *utf8(kind)))
        for key, value in settings.items():
            if value is None:
                continue
            text = str(value).lower() if isinstance(value, bool) else str(value)
            call(lib.soma_options_parse, self._raw, *utf8(key), *utf8(text))

    def integer(self, key: str) -> int:
        """The value of an integer or a switch: as given, else its default."""
        value = ctypes.c_int64()
        call(lib.soma_options_get_int, self._raw, *utf8(key), ctypes.byref(value))
        return value.value


def version() -> str:
    """The library's product version."""
    return lib.soma_version_string().decode()


def has(name: str) -> bool:
    """Whether the library has a function, option, kernel set or format of that name."""
    return lib.soma_has(*utf8(name)) == 1


def build_info() -> dict[str, Any]:
    """How the library was made and what it can do on this machine."""
    return facts(lib.soma_build_info)
