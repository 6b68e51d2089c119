#!/usr/bin/env python3
"""Proves that hostile arguments get a code, never a signal: generated from lib/abi/soma.api.json.

Every function is called with sound arguments of which one at a time is made bad: NULL, a handle of
every other type, text that is no UTF-8, lengths and counts that no memory has, numbers at their
ends. The sound call must succeed; a refused one must give an error object with a reason, and leave
`out` NULL. Call, step and reply objects exist only while a callback runs: what concerns them runs
in a real one. The cases run in a child process that says what it is about to do, so that a crash
names its case.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

from library import API, CALLBACKS, CONSTANTS, Failure, FUNCTIONS, SOMA_NUL, Soma

FOLDER = tempfile.TemporaryDirectory()
TINY = os.path.join(os.environ.get("SOMA_TINY_DIR", "build/tiny"), "tiny-q4_1.gguf")
INVALID_ARGUMENT, OUT_OF_RANGE = 3, 11
HUGE = 2**63
BAD_TEXT = ctypes.create_string_buffer(b"ab\xff\xfe\x00")
GRAPH = """{"soma":"graph","version":1,"nodes":[{"id":"a","kind":"function","op":"std.identity"},
  {"id":"b","kind":"function","op":"%s","stream_mode":"stateful"}],
  "edges":[{"from":"a","to":"b"}]}"""
STEP = """{"soma":"graph","version":1,"nodes":[{"id":"a","kind":"step","op":"probe"}],"edges":[]}"""
FOLDER = tempfile.TemporaryDirectory()
GOOD_TEXT = {  # by function and parameter; others get "x"
    ("soma_options_create", "kind"): "session",
    ("soma_runtime_measure", "kind"): "no such measure",  # a real one takes a second
    ("soma_session_program", "mode"): "decode",
    ("soma_circuit_explain", "node"): "l0.attn.q",
    ("soma_value_parse", "json"): '{"a":[1,2.5,null]}',
    ("soma_graph_parse", "json"): GRAPH % "std.sum",
    ("soma_graph_add_node", "json"): '{"id":"x","kind":"loop","max_iterations":4}',
    ("soma_graph_add_edge", "settings"): '{"capture":true}',
    ("soma_plan_show", "format"): "tree",
    ("soma_journal_open", "folder"): FOLDER.name + "/journals",
    ("soma_cache_pin", "key"): "0" * 64,
    ("soma_plan_estimate", "measured"): '{"ops":{"std.sum":2.5}}',
}
# Whose sound call fails all the same, on purpose.
FAIL_ANYWAY = {"soma_runtime_measure", "soma_journal_show", "soma_journal_answer",
               "soma_journal_remove", "soma_run_answer", "soma_cache_pin"}
KEYS = {"soma_value_get": "a","soma_options_set_int": "context", "soma_options_get_int": "context",
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


@CALLBACKS["soma_node_fn"]
def on_node(_user, _call):
    return CONSTANTS["SOMA_CONTINUE"]


@CALLBACKS["soma_event_fn"]
def on_event(_user, _event, _length):
    pass


@CALLBACKS["soma_step_fn"]
def on_step(_user, _step):
    return CONSTANTS["SOMA_CONTINUE"]


@CALLBACKS["soma_effect_fn"]
def on_effect(_user, _effect):
    pass


@CALLBACKS["soma_journal_load_fn"]
def on_load(_user, _run, _length, _reply):
    return CONSTANTS["SOMA_CONTINUE"]


@CALLBACKS["soma_journal_append_fn"]
def on_append(_user, _run, _length, _number, _entry, _size, _reply):
    return CONSTANTS["SOMA_CONTINUE"]


# struct_size and reserved, then the functions; the last four may be missing.
STORE = (ctypes.c_uint64 * 7)(56, ctypes.cast(on_load, ctypes.c_void_p).value,
                              ctypes.cast(on_append, ctypes.c_void_p).value, 0, 0)
SOUND_CALLBACKS = {"soma_token_fn": on_token, "soma_tick_fn": tick, "soma_node_fn": on_node,
                   "soma_event_fn": on_event, "soma_step_fn": on_step, "soma_effect_fn": on_effect}


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
        self.make_graphs(runtime)
        self.make_effect(runtime)
        self.refresh()
        handles["soma_tensor"] = soma.call("sequence_logits", sequence)
        handles["soma_blob"] = soma.call("runtime_facts", runtime)
        handles["soma_error"] = self.make_error()

    def make_graphs(self, runtime):
        """What graphs are made of, and for functions that change or empty an object one apart."""
        soma, handles = self.soma, self.handles
        handles["soma_value"] = soma.call("value_parse", runtime, *soma.text('{"a":1}'))
        handles["soma_graph"] = soma.call("graph_parse", runtime, *soma.text(GRAPH % "std.sum"))
        handles["soma_plan_cache"] = soma.call("plan_cache_create", runtime, None)
        handles["soma_plan"] = soma.call("plan_compile", handles["soma_graph"], None)
        handles["soma_ops"] = soma.call("ops_create", runtime)
        handles["soma_cache"] = soma.call(
            "cache_open", runtime, *soma.text(FOLDER.name + "/cache"), None)
        handles["soma_run"] = soma.call(
            "run_create", handles["soma_plan"], handles["soma_ops"], None)
        self.plan_document = soma.blob(soma.call("plan_document", handles["soma_plan"])).decode()
        number = soma.call("value_of_int", runtime, 7)
        changed = soma.call("graph_parse", runtime, *soma.text(GRAPH % "std.sum"))
        other = soma.call("graph_parse", runtime, *soma.text(GRAPH.replace('"a"', '"c"').replace(
            '"b"', '"d"') % "std.sum"))
        self.values = (ctypes.c_void_p * 1)(number)
        self.apart = {("soma_value_int", "value"): number, ("soma_value_double", "value"): number,
                      ("soma_graph_then", "second"): other, ("soma_graph_beside", "second"): other,
                      ("soma_run_set_journal", "run"): self.make_run(),
                      ("soma_run_answer", "run"): self.make_run(),
                      ("soma_ops_allow_processes", "environment"):
                          soma.call("value_parse", runtime, *soma.text('{"PATH":"/bin"}'))}
        for function in ("add", "add_prepare", "add_vjp", "set_gradient_sum", "add_step",
                         "add_handler", "add_session", "allow_processes"):
            self.apart[f"soma_ops_{function}", "ops"] = soma.call("ops_create", runtime)
        for function in ("add_prepare", "add_vjp"):
            soma.call("ops_add", self.apart[f"soma_ops_{function}", "ops"], *soma.text("x"), 0,
                      CONSTANTS["SOMA_THREAD_ANY"], 0, ctypes.cast(on_node, ctypes.c_void_p), None,
                      None)
        self.apart["soma_run_backward", "run"] = self.make_executed(runtime)
        handles["soma_journal"] = soma.call("journal_create", runtime)
        for function in ("node", "function", "subgraph", "edge"):
            self.apart[f"soma_graph_add_{function}", "graph"] = changed
        self.run_input = number
        self.compile_options, self.run_options = soma.options("compile"), soma.options("run")
        self.cache_options = soma.options("cache")
        self.plan_cache_options = soma.options("plan_cache")

    def make_run(self):
        return self.soma.call("run_create", self.handles["soma_plan"], self.handles["soma_ops"],
                              None)

    def make_executed(self, runtime):
        """A run that has a tape."""
        soma = self.soma
        graph = soma.call("graph_parse", runtime, *soma.text(GRAPH.replace(
            '"kind"', '"differentiable":true,"kind"') % "std.sum"))
        plan = soma.call("plan_compile", graph, soma.options("compile", mode="differentiable"))
        run = soma.call("run_create", plan, self.handles["soma_ops"], None)
        soma.library.soma_value_release(soma.call("run_execute", run, self.values[0], None))
        return run

    def make_effect(self, runtime):
        """An effect that somebody waits for: of a run that is never finished."""
        soma = self.soma

        @CALLBACKS["soma_step_fn"]
        def ask(_user, step):
            soma.call("step_await", step, *soma.text("hold"), None, 0)
            return CONSTANTS["SOMA_CONTINUE"]

        @CALLBACKS["soma_effect_fn"]
        def hold(_user, effect):
            soma.library.soma_effect_retain(effect)
            self.handles["soma_effect"] = effect

        plan = soma.call("plan_compile", soma.call("graph_parse", runtime, *soma.text(STEP)), None)
        ops = soma.call("ops_create", runtime)
        soma.call("ops_add_step", ops, *soma.text("probe"), 0, ctypes.cast(ask, ctypes.c_void_p),
                  None, None)
        soma.call("ops_add_handler", ops, *soma.text("hold"), CONSTANTS["SOMA_IN_DOUBT_FAIL"],
                  ctypes.cast(hold, ctypes.c_void_p), None, None)
        self.waiting_run = soma.call("run_create", plan, ops, None)
        self.callbacks = ask, hold
        soma.call("run_start", self.waiting_run, None, None)
        out = ctypes.c_void_p()
        while "soma_effect" not in self.handles:
            soma.library.soma_run_step(self.waiting_run, 0, ctypes.addressof(out), None)

    def make_error(self):
        error = ctypes.c_void_p()
        self.soma.library.soma_options_create(None, 5, None, ctypes.addressof(error))
        return error.value

    def refresh(self, name=""):
        """The sequence as every case expects it: short, with logits; the run idle, or begun where
        it is to go on; nothing asked to stop."""
        soma, sequence = self.soma, self.handles["soma_sequence"]
        run, out = self.handles["soma_run"], ctypes.c_void_p()
        soma.library.soma_run_step(run, 10**12, ctypes.addressof(out), None)
        soma.library.soma_value_release(out)
        if name == "soma_run_step":
            soma.call("run_start", run, self.run_input, None)
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
                                                     "soma_options_set_log",
                                                     "soma_options_set_pool"):
            return self.runtime_options
        if name == "soma_model_open":
            return self.model_options
        if name in ("soma_sequence_sample", "soma_sequence_generate"):
            return self.generate
        if name in ("soma_fusion_plan_create", "soma_circuit_explain"):
            return self.plan
        if name == "soma_plan_cache_create":
            return self.plan_cache_options
        if name in ("soma_plan_compile", "soma_plan_cache_compile", "soma_graph_check"):
            return self.compile_options
        if name == "soma_run_create":
            return self.run_options
        if name in ("soma_cache_create", "soma_cache_open"):
            return self.cache_options
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
        if (function, name) in self.apart:
            return self.apart[function, name]
        if kind == "soma_sequence* const*":
            return ctypes.addressof(self.sequences)
        if kind == "const soma_value* const*":
            return ctypes.addressof(self.values)
        if function.startswith("soma_run_") and name == "input":
            return self.run_input
        if base in self.handles:
            return self.handles[base]
        if kind == "const char*":
            return self.soma.text(self.sound_text(function, name))[0]
        if kind == "const char* const*":
            return ctypes.addressof(self.texts)
        if kind == "const size_t*":
            return ctypes.addressof(self.lengths)
        if kind in ("const int32_t*", "const void*"):
            return ctypes.addressof(self.tokens)
        if kind == "size_t":
            return SOMA_NUL if name.endswith("length") else 0 if name == "index" else 1
        if kind == "const soma_journal_store*":
            return ctypes.addressof(STORE)
        if kind in SOUND_CALLBACKS:
            return ctypes.cast(SOUND_CALLBACKS[kind], ctypes.c_void_p).value
        if kind.endswith("*") or kind in CALLBACKS:
            return None
        return {"header_abi": 0x10000, "thread": 1, "logits": 1, "from_now_ns": 10**12,
                "value": 0.5 if kind == "double" else 64, "mask": 1, "to": 1, "in_doubt": 1,
                "kind": CONSTANTS["SOMA_EDGE_DATA"]}.get(name, 0)

    def sound_text(self, function, name):
        if name == "key" and (function, name) not in GOOD_TEXT:
            return KEYS.get(function, "temperature")
        if name == "value":
            return VALUES.get(function, "x")
        if name == "path":
            return FOLDER.name + "/cache" if function == "soma_cache_open" else TINY
        if (function, name) == ("soma_plan_parse", "document"):
            return self.plan_document
        return GOOD_TEXT.get((function, name), "x")


def elements_of(world, kind):
    """For arrays of handles or texts: arrays with a bad element."""
    base = kind.replace("const ", "").removesuffix("* const*")
    if base == "char":
        yield "bad UTF-8", ctypes.addressof(BAD_TEXT)
    elif base in API["handles"]:
        yield from ((f"a {other}", handle) for other, handle in world.handles.items()
                    if other != base)
    else:
        return
    yield "NULL", None


def cases_of(world, name):
    """Every bad argument for every parameter of a function, and what it must be answered with."""
    parameters = FUNCTIONS[name]["parameters"]
    yield Case(world, name), None if name in FAIL_ANYWAY else 0
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
        if kind.endswith("* const*"):
            for what, element in elements_of(world, kind):
                array = (ctypes.c_void_p * 1)(element)
                case = Case(world, name, index, ctypes.addressof(array), f"of {what}")
                case.array = array  # lives as long as the case
                yield case, INVALID_ARGUMENT
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


class Count:
    """How many cases passed and failed."""

    def __init__(self, world):
        self.world, self.passed, self.failed = world, 0, 0

    def run(self, names, wanted=lambda what: True):
        """All cases of these functions that are wanted."""
        for name in names:
            for case, must in cases_of(self.world, name):
                if not wanted(case.what):
                    continue
                print(json.dumps([name, case.what]), flush=True)
                self.world.refresh(name)
                wrong = judge(case, must, case.run())
                self.passed, self.failed = self.passed + (not wrong), self.failed + bool(wrong)
                if wrong:
                    print(f"FAIL {name}, {case.what}: {wrong}", flush=True)

    def count_references(self, handles):
        """Retain and release with each of these handles that is of another type."""
        for kind in API["handles"]:
            for verb in ("retain", "release"):
                if f"{kind}_{verb}" not in FUNCTIONS:
                    continue
                function = getattr(self.world.soma.library, f"{kind}_{verb}")
                for other, handle in handles.items():
                    print(json.dumps([f"{kind}_{verb}", other]), flush=True)
                    if other != kind:
                        function(handle)
                    self.passed += 1

    def in_a_node(self, body, of_step=False):
        """Runs a plan with one node of ours, which calls body with the call or step object."""
        soma, problems = self.world.soma, []

        @CALLBACKS["soma_step_fn" if of_step else "soma_node_fn"]
        def node(_user, call):
            try:
                body(call)
                if of_step:
                    soma.call("step_done", call, None)
            except Exception as problem:  # ctypes would print it and go on
                problems.append(problem)
            return CONSTANTS["SOMA_CONTINUE"]

        runtime = self.world.handles["soma_runtime"]
        graph = soma.call("graph_parse", runtime, *soma.text(STEP if of_step else GRAPH % "probe"))
        plan = soma.call("plan_compile", graph, None)
        ops = soma.call("ops_create", runtime)
        function = ctypes.cast(node, ctypes.c_void_p)
        if of_step:
            soma.call("ops_add_step", ops, *soma.text("probe"), 0, function, None, None)
        else:
            soma.call("ops_add", ops, *soma.text("probe"), 0, CONSTANTS["SOMA_THREAD_CALLER"], 0,
                      function, None, None)
        run = soma.call("run_create", plan, ops, None)
        try:
            soma.library.soma_value_release(soma.call("run_execute", run, None, None))
            problems.append(AssertionError("the node was told to fail, and did not"))
        except Failure as failure:
            if failure.reason != "run.node_failed":
                problems.append(failure)
        for kind, handle in (("graph", graph), ("plan", plan), ("ops", ops), ("run", run)):
            getattr(soma.library, f"soma_{kind}_release")(handle)
        if problems:
            raise problems[0]

    def in_a_reply(self, body):
        """Lists the journals of a host, whose function calls body with the reply object."""
        soma, problems = self.world.soma, []

        @CALLBACKS["soma_journal_list_fn"]
        def on_list(_user, reply):
            try:
                body(reply)
            except Exception as problem:  # ctypes would print it and go on
                problems.append(problem)
            return CONSTANTS["SOMA_CONTINUE"]

        table = (ctypes.c_uint64 * 7)(*STORE[:3], ctypes.cast(on_list, ctypes.c_void_p).value, 0)
        journal = soma.call("journal_create_hosted", self.world.handles["soma_runtime"],
                            ctypes.addressof(table), None, None)
        try:
            soma.call("journal_list", journal)
            problems.append(AssertionError("the function was told to fail, and did not"))
        except Failure as failure:
            if not failure.reason.startswith("journal."):
                problems.append(failure)
        soma.library.soma_journal_release(journal)
        if problems:
            raise problems[0]


def child():
    world = World()
    count = Count(world)
    names = [name for name in FUNCTIONS if not name.endswith(("_retain", "_release"))]
    of_calls = [name for name in names if name.startswith("soma_call_")]
    of_steps = [name for name in names if name.startswith("soma_step_")]
    of_replies = [name for name in names if name.startswith("soma_journal_reply_")]
    others = [name for name in names if name not in of_calls + of_steps + of_replies]
    count.run(others)
    # There is none: all are refused.
    count.run(of_calls, lambda what: what.startswith("call: "))
    count.run(of_steps, lambda what: what.startswith("step: "))
    count.run(of_replies, lambda what: what.startswith("reply: "))
    count.count_references({**world.handles, "NULL": None})

    def body(kind, functions):
        def run(handle):
            world.handles[kind] = handle
            count.run(functions)
            count.run(others, lambda what: what.endswith(f"a {kind}"))
            count.count_references({kind: handle})
            del world.handles[kind]
        return run

    count.in_a_node(body("soma_call", of_calls))
    count.in_a_node(body("soma_step", of_steps), of_step=True)
    count.in_a_reply(body("soma_journal_reply", of_replies))
    soma_run_release = world.soma.library.soma_run_release
    soma_run_release(world.waiting_run)
    for kind, handle in world.handles.items():  # still alive, and none released by a wrong call
        getattr(world.soma.library, f"{kind}_release")(handle)
    print(json.dumps({"passed": count.passed, "failed": count.failed}), flush=True)


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
