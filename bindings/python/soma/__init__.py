"""libsoma from Python: open a model, generate text, look at logits and launch programs.

    import soma

    model = soma.Model("model.gguf")
    print(model.generate("What is the capital of France?", tokens=32).text)
    for piece in model.stream("Tell me a story."):
        print(piece, end="", flush=True)

Pure Python over the C library by ctypes: no compiler, no dependencies. NumPy is used where it is
installed and asked for. All objects release what they hold when they are collected.
"""

from ._errors import (
    Aborted, Cancelled, DataLoss, DeadlineExceeded, FailedPrecondition, FileNotFound, Incompatible,
    Internal, InvalidArgument, NotFound, OutOfRange, PermissionDenied, ResourceExhausted, SomaError,
    Unavailable, Unimplemented,
)
from ._library import build_info, has, version
from ._model import Generation, Model, Runtime, Sequence, Session
from ._tensor import Tensor

__version__ = version()
__all__ = [
    "Aborted", "Cancelled", "DataLoss", "DeadlineExceeded", "FailedPrecondition", "FileNotFound",
    "Generation", "Incompatible", "Internal", "InvalidArgument", "Model", "NotFound", "OutOfRange",
    "PermissionDenied", "ResourceExhausted", "Runtime", "Sequence", "Session", "SomaError",
    "Tensor", "Unavailable", "Unimplemented", "build_info", "has", "version",
]
