"""Graphs: work as nodes and edges, built from pieces or parsed, and compiled into plans."""

from __future__ import annotations

import base64
import ctypes
import json
from typing import Any, Iterable, Union

from . import _api
from ._errors import AlreadyExists, InvalidArgument
from ._library import Handle, Options, blob, call, facts, lib, make, utf8
from ._model import Runtime
from ._node import Edge, Node, Piece, flatten, piece_of
from ._run import Op, Plan, _op_of

KINDS = {"data": _api.SOMA_EDGE_DATA, "control": _api.SOMA_EDGE_CONTROL}
COMPILE_OPTIONS = ("mode", "chunk", "parallelize_dag")


def _duplicate(id: str) -> InvalidArgument:
    return InvalidArgument(f"the graph has a node {id!r} already: a node is added once, and an id "
                           "that is given is given once", "graph.duplicate_id")


class Graph(Handle):
    """A graph, in the order in which its parts were added, which is the only tie-break there is.

        graph = soma.Graph(load() >> (left() | right()) >> join())
        print(graph.compile())
        print(graph.run("input"))
    """

    _release = "soma_graph_release"

    def __init__(self, *pieces: Piece, runtime: Runtime | None = None) -> None:
        self.runtime = runtime or Runtime()
        super().__init__(make(lib.soma_graph_create, self.runtime._raw))
        self._begin()
        for piece in pieces:
            self.add(piece)

    def _begin(self) -> None:
        self._numbers: dict[str, int] = {}   # the library's, of nodes by id
        self._ids: dict[Node, str] = {}
        self._names: dict[str, str] = {}     # as they are in ids: "LoadFile" is load_file
        self._last: dict[str, int] = {}      # by such a name: the last number that was tried
        self._ops: dict[tuple[str, int], Op] = {}

    @classmethod
    def parse(cls, document: str, *, ops: Iterable[Any] = (),
              runtime: Runtime | None = None) -> "Graph":
        """From a graph document. `ops`: the functions made by soma.node that its nodes name."""
        graph = cls.__new__(cls)
        graph.runtime = runtime or Runtime()
        Handle.__init__(graph, make(lib.soma_graph_parse, graph.runtime._raw, *utf8(document)))
        graph._begin()
        for number, node in enumerate(json.loads(document).get("nodes", [])):
            graph._numbers.setdefault(node["id"], number)
        for function in ops:
            graph._know(_op_of(function))
        return graph

    # ---- Building

    def add(self, piece: Piece) -> Any:
        """Adds a node, or a piece with its edges, and returns it. If a node's settings are refused,
        what came before it stays."""
        parts = list(flatten(piece_of(piece)))
        nodes = [part for part in parts if isinstance(part, Node)]
        ids = self._choose_ids(nodes)
        for op in [op for node in nodes for op in node.functions]:
            self._know(op)
        for node in nodes:
            self._add_node(node, ids)
        for part in parts:
            if isinstance(part, Edge):
                self._add_edge(ids[part.start], ids[part.end], part.settings)
        return piece

    def edge(self, start: Union[Node, str], end: Union[Node, str], **settings: Any) -> None:
        """Adds an edge between two nodes. Settings: arm, label, capture, output, input, and kind,
        which is "control" with an arm or a label, else "data"."""
        self._add_edge(self.id(start), self.id(end), settings)

    def id(self, node: Union[Node, str]) -> str:
        """The id of a node in this graph."""
        id = self._ids.get(node) if isinstance(node, Node) else node
        if id not in self._numbers:
            raise InvalidArgument(f"{node!r} is not in the graph: add it first",
                                  "graph.unknown_node")
        return id

    def _choose_ids(self, nodes: list[Node]) -> dict[Node, str]:
        """Explicit ids come first, so that no automatic one takes one of them."""
        taken: set[str] = set()
        for id in [node.id for node in nodes if node.id is not None]:
            if id in taken or id in self._numbers:
                raise _duplicate(id)
            taken.add(id)
        ids: dict[Node, str] = {}
        for node in nodes:
            if node in ids or node in self._ids:
                raise _duplicate(ids.get(node) or self._ids[node])
            ids[node] = self._free_id(node.name, taken) if node.id is None else node.id
        return ids

    def _free_id(self, name: str, taken: set[str]) -> str:
        """What soma_graph_automatic_id says, without its look at every node."""
        if name not in self._names:
            empty = Graph(runtime=self.runtime)
            self._names[name] = blob(lib.soma_graph_automatic_id, empty._raw, *utf8(name)).decode()
        base = id = self._names[name]
        number = self._last.get(base, 0)
        while True:
            number += 1
            id = f"{base}_{number}" if number > 1 else base
            if id not in self._numbers and id not in taken:
                break
        self._last[base] = number
        taken.add(id)
        return id

    def _know(self, op: Op) -> None:
        known = self._ops.setdefault((op.name, op.version), op)
        if known.function is not op.function:
            raise AlreadyExists(f"two functions are called {op.name!r}: give one of them another "
                                "name with soma.node(op=…)", "ops.duplicate")

    def _add_node(self, node: Node, ids: dict[Node, str]) -> None:
        id, number = ids[node], ctypes.c_uint32()
        if node.kind == "function" and not node.settings:
            call(lib.soma_graph_add_function, self._raw, *utf8(id), *utf8(node.op or ""),
                 ctypes.byref(number))
        else:
            record = {"id": id, "kind": node.kind, **({"op": node.op} if node.op else {}),
                      **{key: _setting(key, value, ids) for key, value in node.settings.items()}}
            call(lib.soma_graph_add_node, self._raw, *utf8(json.dumps(record)),
                 ctypes.byref(number))
        self._numbers[id] = number.value
        self._ids[node] = id

    def _add_edge(self, start: str, end: str, settings: dict[str, Any]) -> None:
        told = dict(settings)
        kind = told.pop("kind", "control" if "arm" in told or "label" in told else "data")
        if kind not in KINDS:
            raise ValueError(f"an edge's kind is 'data' or 'control', not {kind!r}")
        call(lib.soma_graph_add_edge, self._raw, self._numbers[start], self._numbers[end],
             KINDS[kind], *utf8(json.dumps(told) if told else ""))

    # ---- What it is, and what comes of it

    @property
    def document(self) -> str:
        """The graph as JSON: canonical, so equal graphs give equal texts."""
        return blob(lib.soma_graph_document, self._raw).decode()

    @property
    def facts(self) -> dict[str, Any]:
        return facts(lib.soma_graph_facts, self._raw)

    def check(self, **options: Any) -> list[dict[str, Any]]:
        """All that the compiler says, errors too: "code", "level", "message", "hint", "nodes",
        "edges". The options are those of compile."""
        settings = Options("compile", options)
        return facts(lib.soma_graph_check, self._raw, settings._raw)["diagnostics"]

    def compile(self, *, cache: "PlanCache | None" = None, **options: Any) -> Plan:
        """The plan, or an exception with everything that is wrong. Options: mode, chunk,
        parallelize_dag. With a `cache` of the same runtime, a graph that was compiled before is
        not compiled again."""
        settings = Options("compile", options)
        if cache is None:
            raw = make(lib.soma_plan_compile, self._raw, settings._raw)
        elif not isinstance(cache, PlanCache):
            raise TypeError(f"a cache of plans is a soma.PlanCache, not {cache!r}")
        else:
            raw = make(lib.soma_plan_cache_compile, cache._raw, self._raw, settings._raw)
        return Plan(self.runtime, raw, self._ops.values())

    def run(self, input: Any = None, **given: Any) -> Any:
        """Compiles it, with options of compile, and runs the plan once: see Plan.run."""
        options = {name: given.pop(name) for name in COMPILE_OPTIONS if name in given}
        return self.compile(**options).run(input, **given)


class PlanCache(Handle):
    """Plans in memory, for graphs that are made again and again: Graph.compile(cache=…) finds the
    plan of an equal graph with equal options, however that came about. Any number of threads may
    use it; a graph that several ask for at once is compiled once. At most `plans` are kept, of
    about `memory_bytes` together; those unused longest go."""

    _release = "soma_plan_cache_release"

    def __init__(self, *, plans: int | None = None, memory_bytes: int | None = None,
                 runtime: Runtime | None = None) -> None:
        self.runtime = runtime or Runtime()
        settings = Options("plan_cache", {"plans": plans, "memory_bytes": memory_bytes})
        super().__init__(make(lib.soma_plan_cache_create, self.runtime._raw, settings._raw))

    @property
    def facts(self) -> dict[str, Any]:
        """"hits", "misses", "failures" (of these), "evicted", "plans", "plans_max", "bytes",
        "bytes_max"."""
        return facts(lib.soma_plan_cache_facts, self._raw)


def _setting(key: str, value: Any, ids: dict[Node, str]) -> Any:
    """A node's setting as it stands in a document."""
    if isinstance(value, Node):
        if value not in ids:
            raise InvalidArgument(f"{value!r}, which is given as {key}, is in another piece",
                                  "graph.unknown_node")
        return {"when_signaled": ids[value]} if key == "until" else ids[value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def subgraph(inner: Union[Piece, Graph], id: str | None = None, **settings: Any) -> Node:
    """One node that stands for a whole graph, whose ids become id/inner."""
    graph = inner if isinstance(inner, Graph) else Graph(inner)
    node = Node(id, kind="subgraph", graph=json.loads(graph.document), **settings)
    node.functions = tuple(graph._ops.values())
    return node
