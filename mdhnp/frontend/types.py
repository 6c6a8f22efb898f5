"""Types of elements, and what the array API standard asks of a namespace about types and devices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp import runtime
from mdhnp.arrays.array import Array
from mdhnp.documentation import exported
from mdhnp.frontend.creation import asarray, checked_type, device_for
from mdhnp.frontend.public import public, repeatable

__all__ = ["__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

isdtype = np.isdtype

_KINDS = {
    "bool": ("bool",), "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"), "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}  # fmt: skip
_KINDS["integral"] = (*_KINDS["signed integer"], *_KINDS["unsigned integer"])
_KINDS["numeric"] = (*_KINDS["integral"], *_KINDS["real floating"], *_KINDS["complex floating"])


@repeatable(
    "Convert an array's elements, as ``ndarray.astype`` does.",
    x="Array: Of any shape.",
    dtype="dtype: Wanted type.",
    copy="bool: Whether the result is new also where it need not be.",
    device="str, int or Device, optional: Where to; by default where it is.",
    returns="Array: Of the same shape; `x` itself where nothing changes and `copy` is false.",
    raises={"TypeError": "If kernels do not compute with the type."},
    example="""
>>> mdhnp.astype(mdhnp.asarray([1.5, -1.5], device="cpu"), "int8").numpy()
array([ 1, -1], dtype=int8)""",
)
def astype(x: Array, dtype: npt.DTypeLike, /, *, copy: bool = True, device: Any = None) -> Array:
    return asarray(x, dtype=dtype, device=device, copy=True if copy else None)


@public(
    "Give the type that NumPy's promotion makes of arrays, types and Python's numbers.",
    arrays_and_dtypes="Array, array_like, dtype or number: One or more.",
    returns="numpy.dtype: The type.",
    raises={"ValueError": "If nothing is given.", "TypeError": "If types have none in common, as dates and floats."},
    example=""">>> mdhnp.result_type("int8", "float32")\ndtype('float32')""",
)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*map(_type, arrays_and_dtypes))


@public(
    "Say whether an array or type can be converted by NumPy's promotion, without loss.",
    from_="Array or dtype: What is converted.",
    to="dtype: Wanted type.",
    returns="bool: Whether it can.",
    raises={"TypeError": "If one of them is no type, or `from_` is a number of Python's."},
    example=""">>> mdhnp.can_cast("int8", "float32")\nTrue""",
)
def can_cast(from_: Any, to: npt.DTypeLike, /) -> bool:
    return np.can_cast(_type(from_), to)


def _limits(name: str, kinds: str, example: str) -> Callable[[Any], Any]:

    @public(
        f"Give what ``numpy.{name}`` says of a type or of an array's.",
        type=f"Array or dtype: Of {kinds}.",
        returns=f"numpy.{name}: Limits of the type.",
        raises={"ValueError": "If the type is of another kind."},
        name=name,
        example=f">>> int(mdhnp.{name}({example}",
    )
    def function(type: Any, /) -> Any:
        return getattr(np, name)(_type(type))

    return function


finfo = _limits("finfo", "floats or complex numbers", '"float32").bits)\n32')
iinfo = _limits("iinfo", "integers", '"int8").max)\n127')


def _type(x: Any) -> Any:
    """Give an Array's type, and anything else as it is."""
    return x.dtype if isinstance(x, Array) else x


@exported
class __array_namespace_info__:
    """What the namespace can do, as the array API standard asks.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """

    def capabilities(self) -> dict[str, Any]:
        """Give what the standard leaves open: two optional features, which are offered, and the most axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Give the device on which Arrays are made where nobody says another one."""
        return device_for(None)

    def devices(self) -> list[Any]:
        """Give all devices, as :func:`mdhnp.devices` does."""
        return list(runtime.devices.devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Give the types that new arrays have where nobody says another one, by kind."""
        names = {"real floating": "f8", "complex floating": "c16", "integral": "i8", "indexing": "i8"}
        return {kind: np.dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """Give the standard's types that a device computes with; ValueError for a kind that there is not."""
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        if unknown := [each for each in kinds if each not in _KINDS]:
            raise ValueError(f"dtypes: {unknown[0]!r} is none of {', '.join(_KINDS)}")
        found = {name: checked_type(name) for each in kinds for name in _KINDS[each]}
        double = device_for(device).caps.fp64
        return {name: t for name, t in found.items() if double or t.char not in "dD"}
