"""Values of graphs: what Python's objects become on their way through one, and back."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

from . import _api
from ._errors import OutOfRange
from ._library import Handle, lib, make, utf8

LEAST, MOST = -2**63, 2**63 - 1

# The library holds Python objects by number, and lets each go by one call of `drop`, on any thread.
# One callback serves all: there is none that could be collected while it is in use.
_kept: dict[int, Any] = {}
_numbers = itertools.count(1)


def keep(thing: Any) -> int:
    """Gives an object to the library, as the `user` pointer that goes with `drop`."""
    number = next(_numbers)
    _kept[number] = thing
    return number


def kept(number: int) -> Any:
    """The object of a number."""
    return _kept[number]


def _drop(number: int, forget: Any = _kept.pop) -> None:
    forget(number, None)


drop = _api.soma_destroy_fn(_drop)


class Value(Handle):
    """A value of the library's."""

    _release = "soma_value_release"


def _columns(values: list[Value]) -> Any:
    return (ctypes.c_void_p * len(values))(*[value._raw.value for value in values])


def _is_map(thing: Any) -> bool:
    return isinstance(thing, dict) and all(
        isinstance(key, str) and "\0" not in key for key in thing)


def to_value(runtime: Handle, thing: Any) -> Value:
    """The value of an object: None, bool, int, float, str, bytes, list, tuple (a list from then
    on) and dict with text keys by what they hold, anything else as it is."""
    raw = runtime._raw
    if thing is None:
        return Value(make(lib.soma_value_of_null, raw))
    if isinstance(thing, bool):
        return Value(make(lib.soma_value_of_bool, raw, thing))
    if isinstance(thing, int):
        if not LEAST <= thing <= MOST:
            raise OutOfRange(f"an integer has 64 bits in a graph, and {thing} needs more: pass it "
                             "as text", "argument.range")
        return Value(make(lib.soma_value_of_int, raw, thing))
    if isinstance(thing, float):
        return Value(make(lib.soma_value_of_double, raw, thing))
    if isinstance(thing, str):
        return Value(make(lib.soma_value_of_text, raw, *utf8(thing)))
    if isinstance(thing, bytes):
        return Value(make(lib.soma_value_of_bytes, raw, thing, len(thing)))
    if isinstance(thing, (list, tuple)):
        elements = [to_value(runtime, each) for each in thing]
        return Value(make(lib.soma_value_of_list, raw, _columns(elements), len(elements)))
    if _is_map(thing):
        keys = [key.encode("utf-8") for key in thing]
        members = [to_value(runtime, each) for each in thing.values()]
        return Value(make(lib.soma_value_of_map, raw, (ctypes.c_char_p * len(keys))(*keys),
                          _columns(members), len(keys)))
    return Value(make(lib.soma_value_of_opaque, raw, keep(thing), drop))


def _integer(raw: Any) -> int:
    out = ctypes.c_int64()
    lib.soma_value_int(raw, ctypes.byref(out), None)
    return out.value


def _number(raw: Any) -> float:
    out = ctypes.c_double()
    lib.soma_value_double(raw, ctypes.byref(out), None)
    return out.value


def _bytes(raw: Any) -> bytes:
    return ctypes.string_at(lib.soma_value_data(raw), lib.soma_value_size(raw))


def _members(raw: Any) -> list[Any]:
    members = [Value(make(lib.soma_value_at, raw, index))
               for index in range(lib.soma_value_size(raw))]
    return [from_value(member._raw) for member in members]


def _map(raw: Any) -> dict[str, Any]:
    keys = [lib.soma_value_key(raw, index).decode() for index in range(lib.soma_value_size(raw))]
    return dict(zip(keys, _members(raw)))


_READERS = {
    _api.SOMA_VALUE_NULL: lambda raw: None,
    _api.SOMA_VALUE_BOOL: lambda raw: bool(_integer(raw)),
    _api.SOMA_VALUE_INTEGER: _integer,
    _api.SOMA_VALUE_NUMBER: _number,
    _api.SOMA_VALUE_TEXT: lambda raw: _bytes(raw).decode(),
    _api.SOMA_VALUE_BYTES: _bytes,
    _api.SOMA_VALUE_LIST: _members,
    _api.SOMA_VALUE_MAP: _map,
    _api.SOMA_VALUE_OPAQUE: lambda raw: kept(lib.soma_value_opaque(raw)),
}


def from_value(raw: Any) -> Any:
    """The object of a value, which stays the caller's."""
    return _READERS[lib.soma_value_kind(raw)](raw)
