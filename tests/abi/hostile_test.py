#!/usr/bin/env python3
"""Proves that hostile arguments get a code, never a signal: generated from lib/abi/soma.api.json.

Every function is called with sound arguments of which one at a time is made bad: NULL, a handle of
every other type, text that is no UTF-8, lengths and counts that no memory has, numbers at their
ends. A refused call must give an error object with a reason, and leave `out` NULL. The cases run in
a child process that says what it is about to do, so that a crash names its case.
"""
import ctypes
import json
import os
import subprocess
import sys

from library import API, CALLBACKS, CONSTANTS, FUNCTIONS, SOMA_NUL, Soma

TINY = os.path.join(os.environ.get("SOMA_TINY_DIR", "build/tiny"), "tiny-q4_1.gguf")
INVALID_ARGUMENT, OUT_OF_RANGE = 3, 11
HUGE = 2**63
BAD_TEXT = ctypes.create_string_buffer(b"ab\xff\xfe\x00")
GOOD_TEXT = {  # by function and parameter; others get "x"
    ("soma_options_create", "kind"): "session",
    ("soma_runtime_measure", "kind"): "no such measure",  # a real one takes a second
    ("soma_session_program", "mode"): "decode",
    ("soma_circuit_explain", "node"): "l0.attn.q",
}
KEYS = {"soma_options_set_int": "context", "soma_options_get_int": "context",
        "soma_options_parse": "context", "soma_options_set_text": "policy",
        "soma_options_get_text": "policy"}
VALUES = {"soma_options_parse": "64", "soma_options_set_text": "fast"}
ENDS = {"int32_t": (-2**31, -1, 2**31 - 1), "uint32_t": (0, 2**32 - 1),
        "int64_t": (-2**63, -1, 2**63 - 1), "uint64_t": (2**64 - 1,),
        "double": (float("nan"), float("inf"), -float("inf")), "float": (float("nan"),)}


@CALLBACKS["soma_token_fn"]
def on_token(_user, _token, _text, _length):
    return CONSTANTS["SOMA_CONTINUE"]


@CALLBACKS["soma_tick_fn"]
def tick(_user, _phase, _length, _done, _total):
    return CONSTANTS["SOMA_CONTINUE"]


class Case:
    """One call: sound arguments, one of them replaced."""

    def __init__(self, world, name, index=None, bad=None, what="sound"):
        self.world, self.name, self.what = world, name, what
        self.parameters = FUNCTIONS[name]["parameters"]
        self.arguments = [world.sound(name, p) for p in self.parameters]
        if index is not None:
            self.arguments[index] = bad
            self.what = f"{self.parameters[index]['name']}: {what}"

    def run(self):
        """(code or other result, reason, whether `out` is NULL)"""
        out, error = ctypes.c_uint64(0), ctypes.c_uint64(0)
        for i, p in enumerate(self.parameters):
            if self.arguments[i] == "out":
                self.arguments[i] = ctypes.addressof(out)
            if self.arguments[i] == "error":
                self.arguments[i] = ctypes.addressof(error)
        result = getattr(self.world.soma.library, self.name)(*self.arguments)
        reason = ""
        if error.value:
            library = self.world.soma.library
            reason = ctypes.string_at(library.soma_error_reason(error.value, None)).decode()
            library.soma_error_json(error.value, None, None)
            library.soma_error_release(error.value)
        if out.value and FUNCTIONS[self.name]["own"] == "out" and result == 0:
            self.world.drop(self.parameters, out.value)
        return result, reason, out.value == 0


class World:
    """Live objects of every type, and sound arguments for every parameter."""

    def __init__(self):
        soma = self.soma = Soma()
        self.handles = handles = {}
        handles["soma_options"] = soma.options("session", context=64, sequences=2)
        self.generate = soma.options("generate", tokens=2)
        self.plan = soma.options("plan")
        self.runtime_options = soma.options("runtime", threads=1)
        self.model_options = soma.options("model")
        runtime = handles["soma_runtime"] = soma.call(
            "runtime_create", 0x10000, self.runtime_options)
        handles["soma_cancel"] = soma.call("cancel_create", runtime)
        handles["soma_model"] = soma.call("model_open", runtime, *soma.text(TINY), None, None)
        handles["soma_circuit"] = soma.call("circuit_create", handles["soma_model"])
        handles["soma_fusion_plan"] = soma.call(
            "fusion_plan_create", handles["soma_circuit"], None)
        handles["soma_buffer_plan"] = soma.call("buffer_plan_create", handles["soma_fusion_plan"])
        handles["soma_program"] = soma.call("program_create", handles["soma_buffer_plan"])
        handles["soma_session"] = soma.call(
            "session_create", handles["soma_model"], handles["soma_options"], None)
        sequence = handles["soma_sequence"] = soma.call(
            "sequence_create", handles["soma_session"])
        self.sequences = (ctypes.c_void_p * 1)(sequence)
        self.tokens = (ctypes.c_int32 * 2)(5, 6)
        self.texts = (ctypes.c_char_p * 1)(b"user")
        self.lengths = (ctypes.c_size_t * 1)(4)
        self.refresh()
        handles["soma_tensor"] = soma.call("sequence_logits", sequence)
        handles["soma_blob"] = soma.call("runtime_facts", runtime)
        handles["soma_error"] = self.make_error()

    def make_error(self):
        error = ctypes.c_void_p()
        self.soma.library.soma_options_create(None, 5, None, ctypes.addressof(error))
        return error.value

    def refresh(self):
        """The sequence as every case expects it: short, with logits; nothing asked to stop."""
        soma, sequence = self.soma, self.handles["soma_sequence"]
        soma.call("cancel_reset", self.handles["soma_cancel"])
        soma.call("options_set_int", self.handles["soma_options"], *soma.text("context"), 64)
        soma.call("sequence_truncate", sequence, 0)
        soma.call("sequence_prefill", sequence, ctypes.addressof(self.tokens), 2, 1, None)

    def drop(self, parameters, handle):
        kind = next(p["type"] for p in parameters if p["name"] == "out").rstrip("*")
        if kind in API["handles"]:
            getattr(self.soma.library, f"{kind}_release")(handle)
        else:  # the exchange struct has its deleter in its third word
            deleter = ctypes.cast(handle, ctypes.POINTER(ctypes.c_void_p))[2]
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(handle)

    def options_for(self, name):
        if name == "soma_runtime_create" or name in ("soma_options_set_allocator",
                                                     "soma_options_set_log"):
            return self.runtime_options
        if name == "soma_model_open":
            return self.model_options
        if name in ("soma_sequence_sample", "soma_sequence_generate"):
            return self.generate
        if name in ("soma_fusion_plan_create", "soma_circuit_explain"):
            return self.plan
        if name.endswith("_double"):
            return self.generate
        return self.handles["soma_options"]

    def sound(self, function, parameter):
        name, kind = parameter["name"], parameter["type"]
        base = kind.replace("const ", "").rstrip("*")
        if name in ("out", "error"):
            return name
        if base == "soma_options":
            return self.options_for(function)
        if kind == "soma_sequence* const*":
            return ctypes.addressof(self.sequences)
        if base in self.handles:
            return self.handles[base]
        if kind == "const char*":
            return self.soma.text(self.sound_text(function, name))[0]
        if kind == "const char* const*":
            return ctypes.addressof(self.texts)
        if kind == "const size_t*":
            return ctypes.addressof(self.lengths)
        if kind == "const int32_t*":
            return ctypes.addressof(self.tokens)
        if kind == "size_t":
            return SOMA_NUL if name.endswith("length") else 0 if name == "index" else 1
        if kind in CALLBACKS:
            return {"soma_token_fn": ctypes.cast(on_token, ctypes.c_void_p).value,
                    "soma_tick_fn": ctypes.cast(tick, ctypes.c_void_p).value}.get(kind)
        if kind.endswith("*"):
            return None
        return {"header_abi": 0x10000, "thread": 1, "logits": 1, "from_now_ns": 10**12,
                "value": 0.5 if kind == "double" else 64, "mask": 1}.get(name, 0)

    @staticmethod
    def sound_text(function, name):
        if name == "key":
            return KEYS.get(function, "temperature")
        if name == "value":
            return VALUES.get(function, "x")
        if name == "path":
            return TINY
        return GOOD_TEXT.get((function, name), "x")


def cases_of(world, name):
    """Every bad argument for every parameter of a function, and whether it must be refused."""
    parameters = FUNCTIONS[name]["parameters"]
    yield Case(world, name), None
    for index, parameter in enumerate(parameters):
        kind, label = parameter["type"], parameter["name"]
        base = kind.replace("const ", "").rstrip("*").replace("* const", "")
        is_handle = base in API["handles"] and kind.count("*") == 1
        must = None if parameter["nullable"] else INVALID_ARGUMENT
        if kind.endswith("*") or kind in CALLBACKS:
            if kind not in ("void*", "soma_error**", "size_t*"):
                yield Case(world, name, index, None, "NULL"), must
            elif kind != "void*":
                yield Case(world, name, index, None, "NULL"), None
        if is_handle:
            for other, handle in world.handles.items():
                if other != base:
                    yield Case(world, name, index, handle, f"a {other}"), INVALID_ARGUMENT
        if kind == "const char*":
            yield Case(world, name, index, ctypes.addressof(BAD_TEXT), "bad UTF-8"), \
                INVALID_ARGUMENT
        if kind == "size_t" and label != "index":
            yield Case(world, name, index, HUGE, "huge"), OUT_OF_RANGE
            yield Case(world, name, index, 2**64 - 2, "huge"), OUT_OF_RANGE
        if kind == "size_t":
            yield Case(world, name, index, 10**6 if label == "index" else 0, "odd"), None
        for end in ENDS.get(kind, ()):
            yield Case(world, name, index, end, f"{end}"), None


def judge(case, must, outcome):
    """What is wrong with an outcome, or nothing."""
    result, reason, is_null = outcome
    function = FUNCTIONS[case.name]
    if function["returns"] != "soma_code" or case.name == "soma_error_code":
        return ""
    if result not in [*range(0, 17), 18]:
        return f"returned {result}"
    has_error = case.arguments[-1] is not None
    if result != 0 and has_error and not reason:
        return f"returned {result} without a reason"
    if result == 0 and reason:
        return f"returned 0 with an error: {reason}"
    if must is not None and result != must:
        return f"returned {result} ({reason}), expected {must}"
    if result != 0 and not is_null and function["own"] == "out":
        return "failed, but out is not NULL"
    return ""


def child():
    world = World()
    passed = failed = 0
    for name in FUNCTIONS:
        if name.endswith(("_retain", "_release")):
            continue  # their turn comes below
        for case, must in cases_of(world, name):
            print(json.dumps([name, case.what]), flush=True)
            world.refresh()
            wrong = judge(case, must, case.run())
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"FAIL {name}, {case.what}: {wrong}", flush=True)
    for kind in API["handles"]:
        for verb in ("retain", "release"):
            function = getattr(world.soma.library, f"{kind}_{verb}")
            for other, handle in {**world.handles, "NULL": None}.items():
                print(json.dumps([f"{kind}_{verb}", other]), flush=True)
                if other != kind:
                    function(handle)
                passed += 1
    for kind, handle in world.handles.items():  # still alive, and none released by a wrong call
        getattr(world.soma.library, f"{kind}_release")(handle)
    print(json.dumps({"passed": passed, "failed": failed}), flush=True)


def main():
    result = subprocess.run([sys.executable, __file__, "--child"], stdout=subprocess.PIPE,
                            text=True, check=False)
    lines = result.stdout.splitlines()
    for line in lines:
        if line.startswith("FAIL"):
            print(line)
    counts = json.loads(lines[-1]) if result.returncode == 0 and lines else None
    if counts is None:
        print(f"FAIL the process ended with {result.returncode} in {lines[-1:]}")
        counts = {"passed": max(len(lines) - 1, 0), "failed": 1}
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(child() if "--child" in sys.argv else main())
