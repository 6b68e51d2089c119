"""libsoma from Python: run graphs of work; open a model, generate text, look at logits.

    import soma

    model = soma.Model("model.gguf")
    print(model.generate("What is the capital of France?", tokens=32).text)
    for piece in model.stream("Tell me a story."):
        print(piece, end="", flush=True)

    @soma.node
    def count(text):
        return len(text.split())

    print(soma.Graph(count() >> soma.Node(op="std.add", config={"value": 1})).run("two words"))

Pure Python over the C library by ctypes: no compiler, no dependencies. NumPy is used where it is
installed and asked for. All objects release what they hold when they are collected.
"""

from ._cache import Cache
from ._errors import (
    Aborted, AlreadyExists, Cancelled, DataLoss, DeadlineExceeded, FailedPrecondition, FileNotFound,
    Incompatible, Internal, InvalidArgument, NotFound, OutOfRange, PermissionDenied,
    ResourceExhausted, SomaError, Suspended, Unavailable, Unimplemented,
)
from ._graph import Graph, PlanCache, subgraph
from ._journal import Journal
from ._library import build_info, has, version
from ._model import Generation, Model, Runtime, Sequence, Session
from ._node import Function, Node, Piece, branch, handoff, loop, node
from ._run import Call, Plan, Processes, Run
from ._step import Ask, Child, Effect, HandOver, Handler, Suspend, first, handler, step
from ._tensor import Tensor

__version__ = version()
__all__ = [
    "Aborted", "AlreadyExists", "Ask", "Cache", "Call", "Cancelled", "Child", "DataLoss",
    "DeadlineExceeded", "Effect", "FailedPrecondition", "FileNotFound", "Function", "Generation",
    "Graph", "HandOver", "Handler", "Incompatible", "Internal", "InvalidArgument", "Journal",
    "Model", "Node", "NotFound", "OutOfRange", "PermissionDenied", "Piece", "Plan", "PlanCache",
    "Processes", "ResourceExhausted", "Run", "Runtime", "Sequence", "Session", "SomaError",
    "Suspend", "Suspended", "Tensor", "Unavailable", "Unimplemented", "branch", "build_info",
    "first", "handler", "handoff", "has", "loop", "node", "step", "subgraph", "version",
]
