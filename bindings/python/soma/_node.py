"""Nodes, and pieces of graphs made of them: `load() >> (left() | right()) >> join()`."""

from __future__ import annotations

import functools
import itertools
import weakref
from typing import Any, Callable, Iterator, NamedTuple, Union

from ._errors import AlreadyExists
from ._run import Op, Part


class Edge(NamedTuple):
    """An edge between two nodes, with what a document says of it: "kind", "arm", "label", …"""

    start: "Node"
    end: "Node"
    settings: dict[str, Any]


class Piece:
    """A part of a graph. `a >> b`: every end of a feeds every beginning of b. `a | b`: both, with
    nothing between them. Pieces never change, and no node can be in a graph twice."""

    sources: tuple["Node", ...]
    sinks: tuple["Node", ...]

    def _parts(self) -> Iterator[Union["Piece", Edge]]:
        raise NotImplementedError

    def __rshift__(self, other: "Piece") -> "Piece":
        return _Pair(self, piece_of(other), True)

    def __or__(self, other: "Piece") -> "Piece":
        return _Pair(self, piece_of(other), False)


def piece_of(thing: Any) -> Piece:
    """What is given as a piece, or an exception that says what to give instead."""
    if isinstance(thing, Piece):
        return thing
    if isinstance(thing, Function):
        name = getattr(thing.function, "__name__", "function")
        raise TypeError(f"{name} makes nodes and is none: call it, {name}()")
    if callable(thing):
        raise TypeError(f"{thing!r} is no part of a graph: decorate it with soma.node, and call it "
                        "for each node")
    raise TypeError(f"a part of a graph is a node, or nodes put together by >> and |, not "
                    f"{thing!r}")


class _Pair(Piece):
    def __init__(self, first: Piece, second: Piece, tied: bool) -> None:
        self._first, self._second, self._tied = first, second, tied
        self.sources = first.sources if tied else first.sources + second.sources
        self.sinks = second.sinks if tied else first.sinks + second.sinks

    def _parts(self) -> Iterator[Piece | Edge]:
        yield self._first
        if self._tied:
            for start in self._first.sinks:
                for end in self._second.sources:
                    yield Edge(start, end, {})
        yield self._second


class Node(Piece):
    """A node that is no function of Python's: its kind and op, and other settings as they stand in
    a graph document (`config`, `target`, `max_iterations`, …). Without an id, it gets one from its
    name in the graph it is added to: two nodes called `load` become load and load_2."""

    def __init__(self, id: str | None = None, *, kind: str = "function", op: str | None = None,
                 **settings: Any) -> None:
        self.id = id
        self.kind = kind
        self.op = op
        self.settings = settings
        self.name = op.rpartition(".")[2] if op else kind
        self.functions: tuple[Op, ...] = ()

    @property
    def sources(self) -> tuple["Node", ...]:  # type: ignore[override]
        return (self,)

    sinks = sources  # type: ignore[assignment]

    def _parts(self) -> Iterator[Piece | Edge]:
        return iter(())

    def __repr__(self) -> str:
        return f"<soma.Node {self.id or self.name}>"


class Function:
    """A Python function that makes nodes: each call gives a new one."""

    def __init__(self, op: Op, settings: dict[str, Any]) -> None:
        self.op = op
        self.function = op.function
        self._settings = settings
        functools.update_wrapper(self, op.function)

    def vjp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorates the vector-Jacobian product: what makes of the gradient of what this function
        returned that of its argument.

            @soma.node
            def square(x):
                return x * x

            @square.vjp
            def _(x, y, gradient):     # the argument, what was returned, the gradient of that
                return 2 * x * gradient

        Of a dict of several values it returns one by the same keys; None, or a missing key, is
        zero. A parameter named `call` gets the call. Nodes made after it are differentiable, unless
        they say otherwise."""
        self._add("vjp", function)
        self._settings.setdefault("differentiable", True)
        return function

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorates what makes the state of the nodes, of the argument that they are called with:

            @soma.node(cacheable=True, op="search", version=1)
            def search(words, call):
                return call.state["index"].find(words)

            @search.prepare
            def _(words):
                return {"index": …}

        It is called before each call; a run with a cache keeps the states of nodes that are
        cacheable, also in the mode "differentiable", in which functions run again each time."""
        self._add("prepare", function)
        return function

    def _add(self, kind: str, function: Callable[..., Any]) -> None:
        if kind in self.op.parts:
            raise AlreadyExists(f"{self.op.name} has a {kind} already", "ops.duplicate")
        self.op.parts[kind] = Part(kind, self.op.name, self.op.version, function)

    def _no_piece(self, _other: Any) -> Any:
        piece_of(self)

    __rshift__ = __or__ = __rrshift__ = __ror__ = _no_piece

    def __call__(self, id: str | None = None, **settings: Any) -> Node:
        """A node. Settings, such as `config`, are added to those of the decorator."""
        made = Node(id, op=self.op.name, **{**self._settings, **settings})
        made.name = getattr(self.function, "__name__", made.name)
        made.functions = (self.op,)
        return made


# Functions made within others, and lambdas, share their names with others.
_numbers: dict[str, Iterator[int]] = {}
_numbered: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()


def _op_name(function: Callable[..., Any]) -> str:
    """The name by which plans know a function: its own with its module's, and if that says
    "<lambda>" or "<locals>", with a number for all but the first of that name."""
    module = getattr(function, "__module__", None) or "builtins"
    name = f"{module}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    if "<" not in name:
        return name
    try:
        known = _numbered.get(function)
    except TypeError:  # it has no hash, or can't be held weakly
        known = None
    if known is not None:
        return known
    number = next(_numbers.setdefault(name, itertools.count(1)))
    unique = f"{name}_{number}" if number > 1 else name
    try:
        _numbered[function] = unique
    except TypeError:
        pass
    return unique


def node(function: Callable[..., Any] | None = None, *, op: str | None = None,
         version: int | None = None, thread: str = "any", waits: bool = False,
         vjp: Callable[..., Any] | None = None, prepare: Callable[..., Any] | None = None,
         **settings: Any) -> Any:
    """Makes a function the code of nodes. What the node reads is its argument, if it takes one; a
    parameter named `call` gets the call (soma.Call). What it returns is the node's value.

    `op` is the name by which plans know it, by default that of the function with its module's, and
    with a number if it is one of several lambdas or closures; `version` is one of that name.
    `thread="caller"` keeps it on the thread that waits for the run, `waits` says that it may wait
    for another branch, `vjp` and `prepare` are what Function.vjp and Function.prepare decorate.
    Other settings are those of nodes in graph documents: cacheable, deterministic, differentiable,
    config, target, inputs, outputs, …
    What is cacheable is found again by `op` and `version`, so it needs a name that is its own.
    """
    def decorate(function: Callable[..., Any]) -> Function:
        name = op or _op_name(function)
        if settings.get("cacheable") and not op and (name.startswith("__main__.") or "<" in name):
            raise ValueError(f"{name} may be the name of another function in another program: a "
                             "cacheable one needs op='a.name.of.its.own'")
        made = Op(name, function, version or 0, thread, waits)
        told = {"op_version": version} if version else {}
        result = Function(made, {**told, **({"waits": True} if waits else {}), **settings})
        if vjp is not None:
            result.vjp(vjp)
        if prepare is not None:
            result.prepare(prepare)
        return result

    return decorate if function is None else decorate(function)


# ---- Constructs: a node, and the pieces that it owns

class _Construct(Piece):
    """A loop ends where it begins, at its node. Of arms and hand-offs one runs, so all their ends
    are ends."""

    def __init__(self, node: Node, owned: list[tuple[Piece, dict[str, Any]]]) -> None:
        self._node, self._owned = node, owned
        self.sources = (node,)
        self.sinks = self.sources if node.kind == "loop" else tuple(
            sink for piece, _ in owned for sink in piece.sinks)

    def _parts(self) -> Iterator[Piece | Edge]:
        yield self._node
        for piece, settings in self._owned:
            for entry in piece.sources:
                yield Edge(self._node, entry, {"kind": "control", **settings})
            yield piece


def loop(body: Piece, id: str | None = None, **settings: Any) -> Piece:
    """Runs `body` again and again. `max_iterations`; `until`: "body_terminal" (the default: until
    its one end signals so), "exhaust", or the node whose value is the signal; `carry_from`: the
    node of `body`, or its id, whose value the next pass reads."""
    return _Construct(Node(id, kind="loop", **settings), [(piece_of(body), {})])


def _node_of(thing: Any) -> Node:
    if not isinstance(piece_of(thing), Node):
        raise TypeError(f"what decides is one node, and {thing!r} is a piece of several")
    return thing


def branch(decider: Node, arms: dict[str, Piece] | None = None, *,
           labels: dict[str, Piece] | None = None) -> Piece:
    """Runs `decider`, then the first arm that takes its value: `arms` by predicates ("score > 0.8")
    or "else", in their order, then `labels` by the value itself."""
    owned = [(piece_of(piece), {"arm": arm}) for arm, piece in (arms or {}).items()]
    owned += [(piece_of(piece), {"label": label}) for label, piece in (labels or {}).items()]
    if not owned:
        raise ValueError("a branch has arms: give a dict of predicates, or labels")
    return _Construct(_node_of(decider), owned)


def handoff(step: Node, *targets: Piece) -> Piece:
    """A step, and what it may hand over to."""
    if not targets:
        raise ValueError("a hand-off has targets: give at least one")
    return _Construct(_node_of(step), [(piece_of(target), {}) for target in targets])


def flatten(piece: Piece) -> Iterator[Union[Node, Edge]]:
    """Nodes and edges of a piece, however deep it is built, in the order of graphs."""
    open_parts = [iter((piece,))]
    while open_parts:
        part = next(open_parts[-1], None)
        if part is None:
            open_parts.pop()
        elif isinstance(part, (Node, Edge)):
            yield part
        else:
            open_parts.append(part._parts())
