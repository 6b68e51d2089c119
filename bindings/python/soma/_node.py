"""Nodes, and pieces of graphs made of them: `load() >> (left() | right()) >> join()`."""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator, NamedTuple, Union

from ._run import Op


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
        return _Pair(self, other, True) if isinstance(other, Piece) else NotImplemented

    def __or__(self, other: "Piece") -> "Piece":
        return _Pair(self, other, False) if isinstance(other, Piece) else NotImplemented


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

    def __call__(self, id: str | None = None, **settings: Any) -> Node:
        """A node. Settings, such as `config`, are added to those of the decorator."""
        made = Node(id, op=self.op.name, **{**self._settings, **settings})
        made.name = getattr(self.function, "__name__", made.name)
        made.functions = (self.op,)
        return made


def node(function: Callable[..., Any] | None = None, *, op: str | None = None,
         version: int | None = None, thread: str = "any", waits: bool = False,
         **settings: Any) -> Any:
    """Makes a function the code of nodes. What the node reads is its argument, if it takes one; a
    parameter named `call` gets the call (soma.Call). What it returns is the node's value.

    `op` is the name by which plans know it, by default that of the function with its module's;
    `version` is one of that name. `thread="caller"` keeps it on the thread that waits for the run,
    `waits` says that it may wait for another branch. Other settings are those of nodes in graph
    documents: cacheable, deterministic, differentiable, config, target, inputs, outputs, …
    What is cacheable is found again by `op` and `version`, so it needs a name that is its own.
    """
    def decorate(function: Callable[..., Any]) -> Function:
        module = getattr(function, "__module__", None) or "builtins"
        name = getattr(function, "__qualname__", type(function).__qualname__)
        if settings.get("cacheable") and not op and (module == "__main__" or "<" in name):
            raise ValueError(f"{module}.{name} may be the name of another function in another "
                             "program: a cacheable one needs op='a.name.of.its.own'")
        made = Op(op or f"{module}.{name}", function, version or 0, thread, waits)
        told = {"op_version": version} if version else {}
        return Function(made, {**told, **({"waits": True} if waits else {}), **settings})

    return decorate if function is None else decorate(function)


# ---- Constructs: a node, and the pieces that it owns

class _Construct(Piece):
    def __init__(self, node: Node, owned: list[tuple[Piece, dict[str, Any]]]) -> None:
        self._node, self._owned = node, owned
        self.sources = self.sinks = (node,)

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
    return _Construct(Node(id, kind="loop", **settings), [(body, {})])


def branch(decider: Node, arms: dict[str, Piece] | None = None, *,
           labels: dict[str, Piece] | None = None) -> Piece:
    """Runs `decider`, then the first arm that takes its value: `arms` by predicates ("score > 0.8")
    or "else", in their order, then `labels` by the value itself."""
    owned = [(piece, {"arm": arm}) for arm, piece in (arms or {}).items()]
    owned += [(piece, {"label": label}) for label, piece in (labels or {}).items()]
    if not owned:
        raise ValueError("a branch has arms: give a dict of predicates, or labels")
    return _Construct(decider, owned)


def handoff(step: Node, *targets: Piece) -> Piece:
    """A step, and what it may hand over to."""
    if not targets:
        raise ValueError("a hand-off has targets: give at least one")
    return _Construct(step, [(target, {}) for target in targets])


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
