"""The library for tests, through ctypes, declared from lib/abi/soma.api.json."""
import ctypes
import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
API = json.loads((ROOT / "lib/abi/soma.api.json").read_text())
FUNCTIONS = {function["name"]: function for function in API["functions"]}
CONSTANTS = {constant["name"]: constant["value"] for constant in API["constants"]}
SOMA_NUL = ctypes.c_size_t(-1).value

NUMBERS = {
    "void": None, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t,
    "float": ctypes.c_float, "double": ctypes.c_double, "soma_code": ctypes.c_int32,
}


def ctype(kind):
    """Every pointer is an address: the tests pass wrong ones on purpose."""
    return NUMBERS.get(kind, ctypes.c_void_p)


CALLBACKS = {
    callback["name"]: ctypes.CFUNCTYPE(
        ctype(callback["returns"]), *(ctype(p["type"]) for p in callback["parameters"]))
    for callback in API["callbacks"]
}


def load():
    library = ctypes.CDLL(os.environ.get("SOMA_LIBRARY", str(ROOT / "lib/libsoma.so")))
    for function in API["functions"]:
        found = getattr(library, function["name"])
        found.restype = ctype(function["returns"])
        found.argtypes = [ctype(p["type"]) for p in function["parameters"]]
    return library


class Failure(Exception):
    """A call that failed: its code and reason."""

    def __init__(self, code, reason, message):
        super().__init__(f"{code} {reason}: {message}")
        self.code, self.reason = code, reason


class Soma:
    """Calls by short name; a failing call raises, `out` handles are returned."""

    def __init__(self):
        self.library = load()

    def call(self, name, *arguments):
        function = getattr(self.library, f"soma_{name}")
        kinds = [p["name"] for p in FUNCTIONS[f"soma_{name}"]["parameters"]]
        arguments = list(arguments)
        out = None
        if "out" in kinds:
            out = ctypes.c_void_p()
            arguments.append(ctypes.addressof(out))
        error = ctypes.c_void_p()
        code = function(*arguments, ctypes.addressof(error))
        if code != 0:
            raise self.failure(code, error)
        return out.value if out is not None else None

    def failure(self, code, error):
        reason = ctypes.string_at(self.library.soma_error_reason(error, None)).decode()
        message = ctypes.string_at(self.library.soma_error_message(error, None)).decode()
        self.library.soma_error_release(error)
        return Failure(code, reason, message)

    def options(self, kind, **values):
        handle = self.call("options_create", *self.text(kind))
        for key, value in values.items():
            self.call("options_parse", handle, *self.text(key), *self.text(str(value)))
        return handle

    def text(self, content):
        """Pointer and length of a text, which stays alive with this object."""
        buffer = ctypes.create_string_buffer(content.encode())
        self.__dict__.setdefault("kept", []).append(buffer)
        return ctypes.addressof(buffer), len(content.encode())

    def blob(self, handle):
        data = ctypes.string_at(self.library.soma_blob_data(handle),
                                self.library.soma_blob_size(handle))
        self.library.soma_blob_release(handle)
        return data
