"""Tensors: the library's numbers, shown to NumPy and to all that speak DLPack."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _api
from ._library import Handle, lib, make

CAPSULE = b"dltensor_versioned"
CPU = (1, 0)

_python = ctypes.pythonapi
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _python))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python))
_raise_pending = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyErr_Occurred", _python))


class _Export(ctypes.Structure):
    """How DLManagedTensorVersioned begins."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("owner", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop(capsule: int) -> None:
    """A capsule's end: one that nobody took over (who does renames it) gives its tensor back."""
    try:
        _raise_pending()  # an exception that is passing by would fail what follows: it is shown
    finally:
        if _is_valid(capsule, CAPSULE):
            address = _pointer(capsule, CAPSULE)
            _Export.from_address(address).deleter(address)


_python.Py_IncRef(ctypes.py_object(_drop))  # a capsule may outlive this module, at exit
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, type(_drop))(
    ("PyCapsule_New", _python))


class Tensor(Handle):
    """Numbers that the library made; NumPy sees them without a copy, read-only, and so does
    whatever has a from_dlpack that knows DLPack 1.0."""

    _release = "soma_tensor_release"

    @property
    def shape(self) -> tuple[int, ...]:
        dims = lib.soma_tensor_shape(self._raw)
        return tuple(dims[i] for i in range(lib.soma_tensor_rank(self._raw)))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        kinds = {_api.SOMA_DTYPE_F32: "<f4", _api.SOMA_DTYPE_I32: "<i4"}
        return {"version": 3, "shape": self.shape,
                "typestr": kinds[lib.soma_tensor_dtype(self._raw)],
                "data": (lib.soma_tensor_data(self._raw), True)}

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """The tensor as a DLPack capsule, for the from_dlpack of other libraries."""
        if max_version is None or max_version[0] < 1:
            raise BufferError("a tensor is read-only, which DLPack can say from version 1 on; the "
                              "one who asks knows none of these (max_version)")
        if stream is not None or copy or tuple(dl_device or CPU) != CPU:
            raise BufferError("a tensor is handed out as it lies in the processor's memory: "
                              "without a stream, a copy, or another device")
        return _capsule(make(lib.soma_tensor_export, self._raw), CAPSULE, _drop)

    def numpy(self) -> Any:
        """A read-only NumPy array over the same memory, which it keeps alive."""
        import numpy

        return numpy.asarray(self)
