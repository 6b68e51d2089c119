"""Plans, and their runs: the functions behind nodes, what they raise, and who watches."""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Iterator, Mapping

from . import _api
from ._cache import Cache
from ._errors import Aborted, FailedPrecondition, SomaError
from ._library import Handle, Options, blob, call, facts, lib, make, utf8
from ._model import Model, Runtime, Session
from ._value import Value, drop, from_value, keep, kept, to_value
from ._watch import Watch, take_room

THREADS = {"any": _api.SOMA_THREAD_ANY, "caller": _api.SOMA_THREAD_CALLER}


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of built-in functions Python may not know it
        return ["input"]


def _refuse_async(name: str, function: Any) -> None:
    for code in (function, getattr(function, "__call__", None)):
        if inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code):
            raise TypeError(
                f"{name} is an async function, and nodes run on threads without an event loop: "
                "make it a plain function, which may call asyncio.run(…)")


@dataclass(frozen=True)
class Op:
    """A function under the name by which nodes ask for it."""

    name: str
    function: Callable[..., Any]
    version: int = 0           # 0: any
    thread: str = "any"
    waits: bool = False
    parts: "dict[str, Part]" = field(default_factory=dict, compare=False)  # by kind
    takes_input: bool = field(init=False)
    takes_call: bool = field(init=False)

    def __post_init__(self) -> None:
        if self.thread not in THREADS:
            raise ValueError(f"thread is 'any' or 'caller', not {self.thread!r}")
        if not 0 <= self.version < 2**32:
            raise ValueError(f"version is 0 (any) to 2**32 - 1, not {self.version}")
        if not callable(self.function):
            raise TypeError(f"the code of nodes is a function, not {self.function!r}")
        _refuse_async(self.name, self.function)
        names = _parameters(self.function)
        object.__setattr__(self, "takes_call", "call" in names)
        object.__setattr__(self, "takes_input", any(name != "call" for name in names))

    def register(self, ops: ctypes.c_void_p, user: Any) -> None:
        call(lib.soma_ops_add, ops, *utf8(self.name), self.version, THREADS[self.thread],
             self.waits, _node_fn, user, drop)

    def __call__(self, raw: int, at_hand: "Call") -> Any:
        given = [from_value(_input(raw))] if self.takes_input else []
        return self.function(*given, **({"call": at_hand} if self.takes_call else {}))


# Of the functions that an op may have beside that of its nodes: who is told of them, and what they
# are given.
PARTS = {"prepare": (lib.soma_ops_add_prepare, (lib.soma_call_input,)),
         "vjp": (lib.soma_ops_add_vjp, (lib.soma_call_input, lib.soma_call_yielded,
                                        lib.soma_call_gradient))}


@dataclass(frozen=True)
class Part:
    """A function that an op has beside that of its nodes."""

    kind: str
    name: str                  # the op's
    version: int
    function: Callable[..., Any]
    takes_call: bool = field(init=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"a {self.kind} is a function, not {self.function!r}")
        _refuse_async(self.name, self.function)
        object.__setattr__(self, "takes_call", "call" in _parameters(self.function))

    def register(self, ops: ctypes.c_void_p, user: Any) -> None:
        call(PARTS[self.kind][0], ops, *utf8(self.name), self.version, _node_fn, user, drop)

    def __call__(self, raw: int, at_hand: "Call") -> Any:
        given = [from_value(_lent(read(raw))) for read in PARTS[self.kind][1]]
        return self.function(*given, **({"call": at_hand} if self.takes_call else {}))


class _GradientSum:
    """Adds what libsoma can't: as Python does."""

    def register(self, ops: ctypes.c_void_p, user: Any) -> None:
        call(lib.soma_ops_set_gradient_sum, ops, _node_fn, user, drop)

    def __call__(self, raw: int, _at_hand: "Call") -> Any:
        one, other = from_value(_input(raw))
        return one + other


def _lent(value: int) -> int:
    if not value:
        raise MemoryError("there is no memory for what the node reads")
    return value


def _input(raw: int) -> int:
    return _lent(lib.soma_call_input(raw))


class Call:
    """What a node's function may ask while it runs: its parameter named `call`."""

    def __init__(self, raw: int, runtime: Runtime) -> None:
        self._raw: int | None = raw
        self._runtime = runtime
        self._facts: dict[str, Any] | None = None

    def _alive(self) -> int:
        if self._raw is None:
            raise FailedPrecondition("the node's function has returned: its call is over")
        return self._raw

    @property
    def facts(self) -> dict[str, Any]:
        """"id", "path" ("refine[3]/judge": with the passes of loops around it), "passes", "op",
        "config", "device"."""
        if self._facts is None:
            self._facts = facts(lib.soma_call_facts, self._alive())
        return self._facts

    @property
    def id(self) -> str:
        return self.facts["id"]

    @property
    def path(self) -> str:
        return self.facts["path"]

    @property
    def config(self) -> Any:
        return self.facts["config"]

    @property
    def chunk(self) -> int:
        """Of a node with a stream_mode: which chunk of the stream this call is for, from 0 on."""
        return self._part()[0]

    @property
    def is_last_chunk(self) -> bool:
        """Whether no other comes behind it, up to the next barrier."""
        index, count = self._part()
        return index + 1 == count

    def _part(self) -> tuple[int, int]:
        index, count = ctypes.c_uint64(), ctypes.c_uint64()
        call(lib.soma_call_chunk, self._alive(), ctypes.byref(index), ctypes.byref(count))
        return index.value, count.value

    @property
    def state(self) -> Any:
        """Of a node with a stream_mode: what the call for the chunk before has left here, to be
        set for the next one. For the first, what the node declares: bytes, or None."""
        value = lib.soma_call_state(self._alive())
        if not value:
            raise MemoryError("there is no memory for the node's state")
        return from_value(value)

    @state.setter
    def state(self, kept: Any) -> None:
        value = to_value(self._runtime, kept)
        call(lib.soma_call_set_state, self._alive(), value._raw)

    def goes_on(self) -> bool:
        """Whether to go on: not if the run is cancelled or late, or an earlier branch failed."""
        return lib.soma_call_goes_on(self._alive()) == 1


def _message(problem: BaseException) -> bytes:
    try:
        text = f"{type(problem).__name__}: {problem}"
    except Exception:  # noqa: B902 - whatever an exception's own text raises
        text = type(problem).__name__
    return text.encode("utf-8", "backslashreplace")


class _Attempt(Watch):
    """One execution of a run, seen from the library: what its nodes and its observer raised."""

    def __init__(self, runtime: Runtime, **limits: Any) -> None:
        super().__init__(runtime, **limits)
        self._runtime = runtime
        self._thrown: dict[str, BaseException] = {}  # by path, which stands for one call of a node
        self.observed: BaseException | None = None   # the first
        self._steps: Any = None

    def node(self, op: Any, raw: int) -> int:
        at_hand = Call(raw, self._runtime)
        try:
            output = self.interruptible(lambda: op(raw, at_hand))
            if output is not None:
                value = to_value(self._runtime, output)
                call(lib.soma_call_set_output, raw, value._raw)
            return _api.SOMA_CONTINUE
        except BaseException as problem:  # noqa: B902 - none may pass through the library
            self._node_raised(at_hand, problem)
            return _api.SOMA_STOP
        finally:
            at_hand._raw = None  # it is over

    def _node_raised(self, at_hand: Call, problem: BaseException) -> None:
        if isinstance(problem, KeyboardInterrupt):
            self.stop(problem)
        message = _message(problem)
        lib.soma_call_fail(at_hand._raw, message, len(message), None)
        try:
            self._thrown[at_hand.path] = problem
        except SomaError:  # no memory to say where it was, or at no node
            self.stop(problem)

    def step(self, op: Any, raw: int) -> int:
        from ._step import Generators
        self._steps = self._steps or Generators(self._runtime)
        try:
            self.interruptible(lambda: self._steps.take_turn(op, raw))
            return _api.SOMA_CONTINUE
        except BaseException as problem:  # noqa: B902 - none may pass through the library
            if isinstance(problem, KeyboardInterrupt):
                self.stop(problem)
            message = _message(problem)
            lib.soma_step_fail(raw, message, len(message), None)
            try:
                self._thrown[facts(lib.soma_step_facts, raw)["path"]] = problem
            except SomaError:  # no memory to say where it was
                self.stop(problem)
            return _api.SOMA_STOP

    def effect(self, handler: Any, effect: Any) -> None:
        try:
            self.interruptible(lambda: handler.perform(effect))
        except KeyboardInterrupt as problem:
            self.stop(problem)

    def event(self, observer: Callable[[dict[str, Any]], Any], line: bytes) -> None:
        try:
            self.interruptible(lambda: observer(json.loads(line)))
        except BaseException as problem:  # noqa: B902 - none may pass through the library
            if isinstance(problem, KeyboardInterrupt):
                self.stop(problem)
            self.observed = self.observed or problem

    def meaning(self, problem: Exception) -> BaseException:
        """A node that failed by an exception stands for it; one that failed otherwise has none."""
        if not isinstance(problem, Aborted):
            return super().meaning(problem)
        thrown = self._thrown.get(problem.detail("path"))
        if thrown is not None:
            return thrown
        return super().meaning(problem) if problem.detail("cause") == "callback.failed" else problem

    def begin(self, start: Callable[[ctypes.c_void_p], None]) -> None:
        """Starts what `go_on` drives."""
        try:
            self.run(start, last=False)
        except BaseException:
            self.end()
            raise

    def go_on(self, make_value: Callable[[ctypes.c_void_p], Value | None], *,
              last: bool = True) -> tuple[Any] | None:
        """Executes, and yields the run's value as an object; None, as long as there is more to do.
        After an exception there is not."""
        made: list[Value | None] = []
        has_ended = True
        try:
            self.run(lambda cancel: made.append(make_value(cancel)), last=last)
            has_ended = made[0] is not None
            if has_ended and self.observed is not None:
                raise self.observed
            return (from_value(made[0]._raw),) if made[0] is not None else None
        finally:
            if has_ended:
                self.end()

    def end(self) -> None:
        """No call comes any more, and what was raised has been."""
        self.close()
        self._thrown.clear()  # or exceptions and frames would keep each other alive
        self.observed = None


# The library's side of a run knows it weakly, and functions by their place in it: a function may
# hold its own run, which the collector of garbage would not see through the library.
def _on_node(user: int, raw: int) -> int:
    index, its_run = kept(user)
    run = its_run()
    return run._attempt.node(run._ops[index], raw)


def _on_event(user: int, line: int, length: int) -> None:
    run = kept(user)()
    run._attempt.event(run._observer, ctypes.string_at(line, length))


_node_fn = _api.soma_node_fn(_on_node)
_event_fn = _api.soma_event_fn(_on_event)


@dataclass(frozen=True)
class Processes:
    """Leave for the op "std.exec" to start programs: with these variables of the environment, by
    default those of this process, and in this folder, by default this process's. They end with
    their run, which takes up to 2 seconds for those that don't at once."""

    environment: Mapping[str, str] | None = None
    folder: str | os.PathLike[str] = ""

    def _allow(self, runtime: Runtime, ops: ctypes.c_void_p) -> None:
        variables = self.environment
        if variables is None:  # those that no text holds stay here
            variables = {name: text for name, text in os.environ.items() if _is_text(name + text)}
        environment = to_value(runtime, dict(variables))
        call(lib.soma_ops_allow_processes, ops, environment._raw, *utf8(os.fspath(self.folder)))


def _is_text(name: str) -> bool:
    try:
        name.encode()
        return True
    except UnicodeEncodeError:
        return False


def _sessions_of(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError("sessions is a dict from a model's name in the plan to the soma.Session or "
                        f"soma.Model that runs it, not {given!r}")
    return given


def _session_of(given: Any) -> Session:
    if isinstance(given, Model):
        return given.session
    if not isinstance(given, Session):
        raise TypeError(f"what runs a program is a soma.Session or a soma.Model, not {given!r}")
    return given


class _Ops(Handle):
    _release = "soma_ops_release"

    def __init__(self, runtime: Runtime, run: "Run", sessions: Mapping[str, Any]) -> None:
        super().__init__(make(lib.soma_ops_create, runtime._raw))
        for each in (run._ops, run._handlers):
            for index, op in enumerate(each):
                op.register(self._raw, keep((index, weakref.ref(run))))
        for name, session in sessions.items():
            call(lib.soma_ops_add_session, self._raw, *utf8(name), _session_of(session)._raw)
        if run._processes is not None:
            run._processes._allow(runtime, self._raw)


class Plan(Handle):
    """In which order the nodes of a graph run, with the functions that the graph knew. Made by
    Graph.compile, or parsed. It never changes and may serve any number of runs at once."""

    _release = "soma_plan_release"

    def __init__(self, runtime: Runtime, raw: ctypes.c_void_p, ops: Iterable[Op]) -> None:
        super().__init__(raw)
        self.runtime = runtime
        self._ops = tuple(ops)

    @classmethod
    def parse(cls, document: str | bytes, *, ops: Iterable[Any] = (),
              runtime: Runtime | None = None) -> "Plan":
        """From a plan document, as JSON or in its binary form. `ops`: the functions made by
        soma.node that its nodes name."""
        runtime = runtime or Runtime()
        content = document if isinstance(document, bytes) else document.encode()
        raw = make(lib.soma_plan_parse, runtime._raw, content, len(content))
        return cls(runtime, raw, [_op_of(each) for each in ops])

    @property
    def document(self) -> str:
        """The plan as JSON: canonical, so equal plans give equal texts."""
        return blob(lib.soma_plan_document, self._raw).decode()

    @property
    def binary(self) -> bytes:
        """The document in its binary form: much smaller, with a checksum."""
        return blob(lib.soma_plan_binary, self._raw)

    @property
    def facts(self) -> dict[str, Any]:
        return facts(lib.soma_plan_facts, self._raw)

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """What the compiler had to say: "code", "level", "message", "hint", "nodes", "edges"."""
        return facts(lib.soma_plan_diagnostics, self._raw)["diagnostics"]

    def show(self, format: str = "tree") -> str:
        """To look at: as "tree", "mermaid", "dot", "svg" or "html" (a page of its own)."""
        return blob(lib.soma_plan_show, self._raw, *utf8(format)).decode()

    def __str__(self) -> str:
        return self.show()

    def _repr_svg_(self) -> str:
        """How notebooks show it."""
        return self.show("svg")

    def estimate(self, measured: dict[str, float] | None = None, *,
                 ops: dict[str, float] | None = None, threads: int = 0) -> dict[str, Any]:
        """How long it takes, without running it, from what nodes declare as cost_us, else from
        microseconds measured, by id of a node or by name of an op: "total_us" (None unless all is
        known), "known_us", "critical_path_us", "work_us", "threads", "unknown"."""
        times = json.dumps({"nodes": measured or {}, "ops": ops or {}})
        return facts(lib.soma_plan_estimate, self._raw, *utf8(times), threads)

    def diff(self, after: "Plan") -> dict[str, Any]:
        """What became of this plan in `after`: "plan", "removed", "added", "moved", "changed"."""
        return facts(lib.soma_plan_diff, self._raw, after._raw)

    def run(self, input: Any = None, *, timeout_s: float | None = None, **given: Any) -> Any:
        """Runs it once: see Run, whose options these are."""
        return Run(self, **given).execute(input, timeout_s=timeout_s)


# What is given in place of what these take is mostly a near miss, and said with the way out.

def _op_of(given: Any) -> Op:
    op = getattr(given, "op", None)
    if isinstance(op, str) or not hasattr(op, "register"):
        raise TypeError(f"ops are functions made by soma.node or soma.step, not {given!r}")
    return op


def _handler_of(given: Any) -> Any:
    if isinstance(given, type) or not hasattr(given, "perform"):
        raise TypeError(f"handlers are functions made by @soma.handler(\"the effect's name\"), not "
                        f"{given!r}")
    return given


def _journal_of(given: Any) -> Any:
    if not hasattr(given, "_within"):
        is_path = isinstance(given, (str, os.PathLike))
        raise TypeError(f"a journal is soma.Journal({given!r})" if is_path else
                        f"a journal is a soma.Journal, not {given!r}")
    return given


class Run(Handle):
    """A plan made ready to be executed any number of times, by one call at a time.

        run.execute(3)                          # to the end

        steps = run.start(3)                    # or in pieces, beside other work
        while not steps.step(0.005):
            draw()
        print(steps.value)

    `observer` gets what happens as dicts ("event", "at_ns", "node", …), one at a time, on the
    thread on which it happens; it must not use this package. `remote="inline"` runs parts with a
    target here. `threads`: at most so many take part, the caller included. `launch="always"` gives
    each branch a thread at once; "adaptive", the default, if that pays or branches wait for others.

    `cache` has values of nodes that said `cacheable=True`, and gets those that it lacks; it must be
    of the plan's runtime. `handlers`, made by soma.handler, perform the effects of steps; `ops` are
    functions that no node names, but steps begin. With a `journal` (soma.Journal) and a `run_id`,
    an execution goes on where the last one under that id broke off. `processes` (soma.Processes)
    lets the plan start programs. `sessions` has a soma.Session, or a soma.Model with its own, for
    each name of a model that nodes of kind "program" have (plan.facts["models"]); they must be of
    the plan's runtime.
    """

    _release = "soma_run_release"

    def __init__(self, plan: Plan, *, observer: Callable[[dict[str, Any]], Any] | None = None,
                 remote: str | None = None, threads: int | None = None,
                 launch: str | None = None, cache: Cache | None = None,
                 handlers: Iterable[Any] = (), ops: Iterable[Any] = (), journal: Any = None,
                 run_id: str | None = None, processes: Processes | None = None,
                 sessions: Mapping[str, Session | Model] | None = None) -> None:
        take_room()
        self.plan = plan
        self._processes = processes
        ops = (*plan._ops, *(_op_of(each) for each in ops))
        parts = [part for op in ops for part in op.parts.values()]
        self._ops = (*ops, *parts, _GradientSum())
        self._handlers = tuple(_handler_of(each) for each in handlers)
        self._observer = observer
        self._attempt: _Attempt | None = None
        self._executing = threading.Lock()
        self._journal: Any = None
        self._run_id = run_id
        self._has_claim = False
        settings = Options("run", {"remote": remote, "threads": threads, "launch": launch})
        bound = _Ops(plan.runtime, self, _sessions_of({} if sessions is None else sessions))
        super().__init__(make(lib.soma_run_create, plan._raw, bound._raw, settings._raw))
        if cache is not None:
            if not isinstance(cache, Cache):
                raise TypeError(f"a cache of values is a soma.Cache, not {cache!r}")
            call(lib.soma_run_set_cache, self._raw, cache._raw)
        if observer is not None:
            call(lib.soma_run_set_observer, self._raw, _event_fn, keep(weakref.ref(self)), drop)
        if (journal is None) != (run_id is None):
            raise ValueError("a journal and a run_id belong together: give both or none")
        if journal is not None:
            self._journal = _journal_of(journal)._within(plan.runtime)
            call(lib.soma_run_set_journal, self._raw, self._journal._raw, *utf8(run_id))

    def execute(self, input: Any = None, *, timeout_s: float | None = None) -> Any:
        """Runs the plan on `input` and returns its value. What the function of the failing node
        raised, this raises; else what the observer raised first."""
        return self._whole(lib.soma_run_execute, input, timeout_s)

    def start(self, input: Any = None, *, timeout_s: float | None = None) -> "Execution":
        """Begins an execution that goes on piece by piece, on the thread that asks for them."""
        attempt, value = self._begin(input, timeout_s)
        try:
            attempt.begin(lambda cancel: call(
                lib.soma_run_start, self._raw, value._raw, cancel))
        except BaseException:
            self._end()
            raise
        return Execution(self, attempt)

    def backward(self, gradient: Any = 1.0, *, timeout_s: float | None = None) -> Any:
        """The gradient of the last execution's input, from that of its value (of several leaves a
        dict by their ids), through the `vjp` of each node's function: None is zero. For plans of
        mode "differentiable"; as often as one likes. Gradients that meet are added as Python adds,
        lists by their elements and dicts by their keys. What a vjp raises, this raises."""
        return self._whole(lib.soma_run_backward, gradient, timeout_s)

    def _whole(self, function: Any, given: Any, timeout_s: float | None) -> Any:
        attempt, value = self._begin(given, timeout_s)
        try:
            done = attempt.go_on(lambda cancel: Value(make(
                function, self._raw, value._raw, cancel)))
            assert done is not None
            return done[0]
        finally:
            self._end()

    def cancel(self) -> None:
        """Stops the execution that is under way, from any thread: it raises Cancelled. Without one,
        nothing happens."""
        attempt = self._attempt
        if attempt is not None:
            attempt.decline()

    def _begin(self, input: Any, timeout_s: float | None) -> tuple[_Attempt, Value]:
        take_room()
        if not self._executing.acquire(blocking=False):
            raise FailedPrecondition("the run is being executed by another call, or has been "
                                     "started and not ended", "object.busy")
        try:
            if self._journal is not None:
                self._journal._claim(self._run_id)
                self._has_claim = True
            value = to_value(self.plan.runtime, input)
            self._attempt = _Attempt(self.plan.runtime, timeout_s=timeout_s)
            return self._attempt, value
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        self._attempt = None
        if self._has_claim:
            self._has_claim = False
            self._journal._give_back(self._run_id)
        self._executing.release()


class Execution:
    """An execution that goes on when it is asked to, made by Run.start. As a context it is
    abandoned at the end, if it is not over; iterating goes on in pieces of ten milliseconds."""

    def __init__(self, run: Run, attempt: _Attempt) -> None:
        self._run: Run | None = run
        self._attempt = attempt
        self._value: tuple[Any] | None = None

    @property
    def is_over(self) -> bool:
        """Whether there is no more to do: it is done, has failed or was abandoned."""
        return self._run is None

    @property
    def value(self) -> Any:
        """What the run yielded."""
        if self._value is None:
            raise FailedPrecondition("the execution has not come to its end", "run.not_started")
        return self._value[0]

    def step(self, budget_s: float = 0.0) -> bool:
        """Goes on for about so long, always up to the end of a node. True: it is done, and has a
        value. Raises what execute does, and then it is over."""
        if self._value is not None:
            return True
        run = self._run
        if run is None:
            raise FailedPrecondition("the execution is over", "run.not_started")
        budget_ns = int(min(max(budget_s, 0.0), 1e9) * 1e9)

        def one(_cancel: Any) -> Value | None:
            made = make(lib.soma_run_step, run._raw, budget_ns)
            return Value(made) if made.value else None

        has_failed = True
        try:
            self._value = self._attempt.go_on(one, last=False)
            has_failed = False
        finally:
            if has_failed:
                self.abandon()
            elif self._value is not None:
                self._let_go()
        return self._value is not None

    def abandon(self) -> None:
        """Ends it, in the middle and for good. What is over already stays as it is."""
        run = self._run
        if run is None:
            return
        try:
            call(lib.soma_run_abandon, run._raw)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        run, self._run = self._run, None
        self._attempt.end()
        if run is not None:
            run._end()

    def __iter__(self) -> Iterator[None]:
        while not self.step(0.01):
            yield

    def __enter__(self) -> "Execution":
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.abandon()

    def __del__(self) -> None:
        if self.__dict__.get("_run") is not None and lib is not None:
            self.abandon()
