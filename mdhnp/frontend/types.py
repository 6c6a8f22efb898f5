"""Types of elements, and what the array API standard asks of a namespace about types and devices."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.frontend.creation import asarray, checked_type, device_for

__all__ = [
    "__array_namespace_info__", "astype", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "finfo",
    "iinfo", "isdtype", "result_type",
]  # fmt: skip

broadcast_shapes, isdtype = np.broadcast_shapes, np.isdtype

_KINDS = {
    "bool": ("bool",), "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"), "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}  # fmt: skip
_KINDS["integral"] = (*_KINDS["signed integer"], *_KINDS["unsigned integer"])
_KINDS["numeric"] = (*_KINDS["integral"], *_KINDS["real floating"], *_KINDS["complex floating"])


def astype(x: Array, dtype: npt.DTypeLike, /, *, copy: bool = True, device: Any = None) -> Array:
    """Convert an array's elements, as ``ndarray.astype`` does.

    Parameters
    ----------
    x : Array
        Of any shape.
    dtype : dtype
        Wanted type.
    copy : bool
        Whether the result is new also where it need not be.
    device : str, int or Device, optional
        Where to; by default where it is.

    Raises
    ------
    TypeError
        If kernels do not compute with the type.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.astype(mdhnp.asarray([1.5, -1.5], device="cpu"), "int8").numpy()
    array([ 1, -1], dtype=int8)
    """
    return asarray(x, dtype=dtype, device=device_for(device, x), copy=True if copy else None)


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Give a read-only view with another shape, in which elements are repeated; ValueError where that cannot be."""
    return make(transfer.fixed(np.broadcast_to(x._view, shape), x.device), x.device)


def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    """Give read-only views of arrays, ndarrays brought to the Arrays, of one shape; ValueError if there is none."""
    where = next((x.device for x in arrays if isinstance(x, Array)), None)
    found = [x if isinstance(x, Array) else asarray(x, device=where) for x in arrays]
    shape = np.broadcast_shapes(*[x.shape for x in found])
    return tuple([broadcast_to(x, shape) for x in found])


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Give the type that NumPy's promotion makes of arrays, types and Python's numbers."""
    return np.result_type(*[x.dtype if isinstance(x, Array) else x for x in arrays_and_dtypes])


def can_cast(from_: Any, to: npt.DTypeLike, /) -> bool:
    """Say whether an array or type can be converted by NumPy's promotion, without loss."""
    return np.can_cast(from_.dtype if isinstance(from_, Array) else from_, to)


def finfo(type: Any, /) -> np.finfo[Any]:
    """Give what ``numpy.finfo`` says of a type or of an array's."""
    return np.finfo(type.dtype if isinstance(type, Array) else type)


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """Give what ``numpy.iinfo`` says of a type or of an array's."""
    return np.iinfo(type.dtype if isinstance(type, Array) else type)


class __array_namespace_info__:
    """What the namespace can do, as the array API standard asks.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.__array_namespace_info__().capabilities()["boolean indexing"]
    False
    """

    def capabilities(self) -> dict[str, Any]:
        """Say which of the standard's optional parts there are."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """Give the device of arrays that name none."""
        return device_for(None)

    def devices(self) -> list[Any]:
        """Give all devices."""
        from mdhnp.runtime.devices import devices

        return list(devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Give the types of arrays that name none: NumPy's."""
        names = {"real floating": "f8", "complex floating": "c16", "integral": "i8", "indexing": "i8"}
        return {kind: np.dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """Give the standard's types that a device computes with; ValueError for a kind that there is not."""
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        if unknown := [each for each in kinds if each not in _KINDS]:
            raise ValueError(f"dtypes: {unknown[0]!r} is none of {', '.join(_KINDS)}")
        found = {name: checked_type("dtypes", name) for each in kinds for name in _KINDS[each]}
        double = device_for(device).caps.fp64
        return {name: t for name, t in found.items() if double or t.char not in "dD"}
