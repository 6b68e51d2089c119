"""Steps as generators, and who performs their effects."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import inspect
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Generator, Iterable

from . import _api
from ._library import Handle, call, facts, lib, make, utf8
from ._model import Runtime
from ._node import Function, _op_name
from ._run import Op, _message
from ._value import Value, drop, from_value, keep, kept, to_value

IN_DOUBT = {"fail": _api.SOMA_IN_DOUBT_FAIL, "retry": _api.SOMA_IN_DOUBT_RETRY,
            "ask": _api.SOMA_IN_DOUBT_ASK}


# ---- What a step may yield

@dataclass(frozen=True)
class Ask:
    """An effect that a step wants: yielding it gives its result. `in_doubt`: "fail", "retry" or
    "ask" in place of what the handler says."""

    effect: str
    payload: Any = None
    in_doubt: str | None = None


@dataclass(frozen=True)
class Child:
    """A step that a step begins: yielding it gives what it returned. `label` names it among its
    siblings, by default by the name of its function."""

    step: Any                   # made by soma.step, or the name of an op
    input: Any = None
    label: str | None = None
    config: Any = None

    @property
    def op(self) -> tuple[str, int]:
        if isinstance(self.step, Function):
            return self.step.op.name, self.step.op.version or 1
        return str(self.step), 1

    @property
    def name(self) -> str:
        return self.label or self.op[0].rpartition(".")[2]


@dataclass(frozen=True)
class First:
    """Several children of which the first that returns is needed; gives (label, value)."""

    children: tuple[Child, ...]


def first(*children: Child) -> First:
    if not children:
        raise ValueError("soma.first takes children, one at least")
    return First(children)


@dataclass(frozen=True)
class Suspend:
    """The run waits for an answer from outside: yielding it gives the answer."""

    reason: Any = None


@dataclass(frozen=True)
class HandOver:
    """Returned by a step: the hand-off `target` goes on with `value`."""

    target: str
    value: Any = None


# ---- Steps

@dataclass(frozen=True)
class StepOp(Op):
    """A generator function under the name by which nodes ask for it."""

    def register(self, ops: ctypes.c_void_p, user: Any) -> None:
        call(lib.soma_ops_add_step, ops, *utf8(self.name), self.version, _step_fn, user, drop)

    def begin(self, given: Any) -> Generator[Any, Any, Any]:
        made = self.function(given) if self.takes_input else self.function()
        if not inspect.isgenerator(made):
            raise TypeError(f"{self.name} is a step and must be a generator: yield what it waits "
                            f"for, or make it a soma.node")
        return made


class Turn:
    """One turn of a step: sends its generator what came of the last, and says what it yields."""

    def __init__(self, runtime: Runtime, raw: int) -> None:
        self._runtime, self._raw = runtime, raw
        self.number: int = lib.soma_step_turn(raw)

    @functools.cached_property
    def path(self) -> str:
        return facts(lib.soma_step_facts, self._raw)["path"]

    @property
    def input(self) -> Any:
        return from_value(self._lent(lib.soma_step_input))

    @property
    def results(self) -> list[Any]:
        """What came of the turn before."""
        last = make(lib.soma_value_at, self._lent(lib.soma_step_history), self.number - 1)
        try:
            return from_value(last)
        finally:
            lib.soma_value_release(last)

    def _lent(self, function: Any) -> int:
        value = function(self._raw)
        if not value:
            raise MemoryError("there is no memory for what the step reads")
        return value

    def _value(self, content: Any) -> Value:
        return to_value(self._runtime, content)

    def returned(self, value: Any) -> None:
        if isinstance(value, HandOver):
            content = self._value(value.value)
            call(lib.soma_step_hand_over, self._raw, *utf8(value.target), content._raw)
        else:
            content = self._value(value)
            call(lib.soma_step_done, self._raw, content._raw)

    def yielded(self, wish: Any) -> None:
        if isinstance(wish, Suspend):
            reason = self._value(wish.reason)
            call(lib.soma_step_suspend, self._raw, reason._raw)
            return
        if isinstance(wish, First):
            call(lib.soma_step_want_first, self._raw)
        for one in _wishes(wish):
            if isinstance(one, Ask):
                self._await(one)
            else:
                self._spawn(one)

    def _await(self, ask: Ask) -> None:
        payload = self._value(ask.payload)
        policy = IN_DOUBT[ask.in_doubt] if ask.in_doubt else 0
        call(lib.soma_step_await, self._raw, *utf8(ask.effect), payload._raw, policy)

    def _spawn(self, child: Child) -> None:
        name, version = child.op
        config, given = self._value(child.config), self._value(child.input)
        call(lib.soma_step_spawn, self._raw, *utf8(child.name), *utf8(name), version, config._raw,
             given._raw)


def _wishes(wish: Any) -> list[Ask | Child]:
    if isinstance(wish, First):
        wishes = list(wish.children)
    elif isinstance(wish, (list, tuple)):
        wishes = list(wish)
    else:
        wishes = [wish]
    kinds = {type(one) for one in wishes}
    if len(kinds) > 1 or not kinds <= {Ask, Child}:
        raise TypeError("a step yields a soma.Ask, a soma.Child, a list of either, soma.first(…) "
                        f"or a soma.Suspend, not {wish!r}")
    return wishes


def _answer(wish: Any, results: list[Any]) -> Any:
    """What the generator gets for what it yielded."""
    if isinstance(wish, First):
        return results[0]["child"], results[0]["value"]
    return results[0] if isinstance(wish, (Ask, Child, Suspend)) else results


class Generators:
    """The generators of one execution that are between two turns, by their places."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._open: dict[str, tuple[Generator[Any, Any, Any], Any]] = {}

    def take_turn(self, op: StepOp, raw: int) -> None:
        turn = Turn(self._runtime, raw)
        try:
            if turn.number == 0:
                steps = op.begin(turn.input)
                wish = next(steps)
            else:
                steps, last = self._open.pop(turn.path)
                wish = steps.send(_answer(last, turn.results))
            while isinstance(wish, (list, tuple)) and not wish:
                wish = steps.send([])          # what waits for nothing goes on
        except StopIteration as end:
            turn.returned(end.value)
            return
        turn.yielded(wish)
        self._open[turn.path] = (steps, wish)


def step(function: Callable[..., Any] | None = None, *, op: str | None = None,
         version: int | None = None, **settings: Any) -> Any:
    """Makes a generator function the code of steps: nodes whose work has effects.

        @soma.step
        def order(item):
            price = yield soma.Ask("http", {"get": item})
            if not (yield soma.Suspend({"buy it?": price})):
                return None
            return (yield soma.Ask("http", {"post": item}))

    It must yield the same whenever it is given the same: a run with a journal that was broken off
    goes through it again, and is given what is known already. So times and random numbers are
    effects too. `max_turns` says how many turns it may have (24): one more than it yields. Settings
    are those of soma.node.
    """
    def decorate(function: Callable[..., Any]) -> Function:
        made = StepOp(op or _op_name(function), function, version or 0)
        told = {"op_version": version} if version else {}
        return Function(made, {"kind": "step", **told, **settings})

    return decorate if function is None else decorate(function)


# ---- Effects

class Effect(Handle):
    """What a handler is asked for: `name`, `payload`, `key` (the same for every attempt at this
    effect, and for no other), `is_retry` (it was begun before, and may have taken place)."""

    _release = "soma_effect_release"

    def __init__(self, runtime: Runtime, raw: int) -> None:
        lib.soma_effect_retain(raw)
        super().__init__(ctypes.c_void_p(raw))
        self._runtime = runtime
        self.name: str = lib.soma_effect_name(raw, None).decode()
        self.key: str = lib.soma_effect_key(raw, None).decode()
        self.is_retry: bool = lib.soma_effect_is_retry(raw) == 1

    @property
    def payload(self) -> Any:
        return from_value(lib.soma_effect_payload(self._raw))

    @property
    def is_wanted(self) -> bool:
        """False: nobody waits for it any more."""
        return lib.soma_effect_is_wanted(self._raw) == 1

    def complete(self, result: Any = None) -> None:
        """It has taken place. From any thread; the first of this and fail counts."""
        value = to_value(self._runtime, result)
        call(lib.soma_effect_complete, self._raw, value._raw)

    def fail(self, message: str) -> None:
        """It did not take place: the step fails; a resumed run asks for it again."""
        call(lib.soma_effect_fail, self._raw, *utf8(message))


@dataclass(frozen=True)
class Handler:
    """Who performs all effects of one name. Made by soma.handler."""

    effect: str
    function: Callable[..., Any]
    in_doubt: str = "fail"
    completes: bool = field(init=False)   # by itself, some time

    def __post_init__(self) -> None:
        if self.in_doubt not in IN_DOUBT:
            raise ValueError(f"in_doubt is one of {', '.join(IN_DOUBT)}, not {self.in_doubt!r}")
        names = list(inspect.signature(self.function).parameters)
        object.__setattr__(self, "completes", names == ["effect"])

    def register(self, ops: ctypes.c_void_p, user: Any) -> None:
        call(lib.soma_ops_add_handler, ops, *utf8(self.effect), IN_DOUBT[self.in_doubt],
             _effect_fn, user, drop)

    def perform(self, effect: Effect) -> None:
        try:
            if inspect.iscoroutinefunction(self.function):
                _loop.start(self._perform_later(effect))
            elif self.completes:
                self.function(effect)
            else:
                effect.complete(self.function(effect.payload))
        except BaseException as problem:  # noqa: B902 - none may pass through the library
            effect.fail(_message(problem).decode("utf-8", "replace"))
            if isinstance(problem, KeyboardInterrupt):
                raise

    async def _perform_later(self, effect: Effect) -> None:
        try:
            given = effect if self.completes else effect.payload
            result = await self.function(given)
            if not self.completes:
                effect.complete(result)
        except BaseException as problem:  # noqa: B902 - the step must learn of it
            effect.fail(_message(problem).decode("utf-8", "replace"))


def handler(effect: str, *, in_doubt: str = "fail") -> Callable[[Callable[..., Any]], Handler]:
    """Makes a function the one that performs effects: what it returns of the payload is the result,
    what it raises fails the step. A coroutine function runs on an event loop of its own thread, so
    that any number may wait at once. One whose only parameter is named `effect` gets the
    soma.Effect, and completes it when it likes, on any thread."""
    return lambda function: Handler(effect, function, in_doubt)


class _Loop:
    """An event loop on a thread of its own, from the first coroutine on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, coroutine: Any) -> None:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True,
                                 name="soma-effects").start()
        asyncio.run_coroutine_threadsafe(coroutine, self._loop)


_loop = _Loop()


# ---- Journals

# ---- The library's side: see _run.py

def _on_step(user: int, raw: int) -> int:
    index, its_run = kept(user)
    run = its_run()
    return run._execution.step(run._ops[index], raw)


def _on_effect(user: int, raw: int) -> None:
    index, its_run = kept(user)
    run = its_run()
    run._execution.effect(run._handlers[index], Effect(run.plan.runtime, raw))


_step_fn = _api.soma_step_fn(_on_step)
_effect_fn = _api.soma_effect_fn(_on_effect)
