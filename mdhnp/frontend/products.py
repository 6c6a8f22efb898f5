"""NumPy's other products of two arrays, and `trace`: one MDH each.

They are told apart by the labels of their operands' axes and of the result's. Takes array-likes, gives new C-contiguous
arrays; operands of any strides are read in place. It must not know devices.
"""

from collections.abc import Sequence
from functools import partial
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index

from mdhnp.arrays import Array as DeviceArray
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import check_casts, deliver, exact_type, output
from mdhnp.calls.request import array
from mdhnp.frontend.contraction import contraction
from mdhnp.frontend.map_reduce import raveled
from mdhnp.frontend.public import PAPER, UNSUPPORTED, repeatable
from mdhnp.mdh import MdHom

Array = npt.NDArray[Any]

_OTHERS = "With the other axes of `a`, then those of `b`"
_UNFIT = {"ValueError": "If extents differ, or there is no such precision.", "TypeError": UNSUPPORTED}
_product = partial(repeatable, raises=_UNFIT, notes=f"Source: {PAPER} IV-A.")


@_product(
    "Give the dot product, as ``numpy.dot`` does.",
    a="array_like: The last axis of `a` and the last but one of `b` (its only one, if it is a vector) are multiplied "
    "and added; a scalar multiplies every element.",
    b="array_like: Likewise.",
    out="ndarray, optional: Where to put the result: C-contiguous, of exactly the result's shape and type.",
    returns=f"ndarray or scalar: {_OTHERS}; `out` if given.",
    raises=_UNFIT | {"ValueError": "If extents differ, `out` does not fit, or there is no such precision."},
    example=">>> int(mdhnp.dot(np.arange(3), np.arange(3)))\n5",
)
def dot(
    a: npt.ArrayLike, b: npt.ArrayLike, out: Array | None = None, *, precision: str | None = None, schedule: Any = None,
) -> Any:  # fmt: skip
    if out is None:
        return call((_DOT,), (a, b))
    target = output("dot", out)
    result = call((_DOT,), (a, b), numpy=partial(np.dot, a, b, out))
    return deliver("dot", result, exactly(result, target))


@_product(
    "Give the sum of the products of all elements, as ``numpy.vdot`` does.",
    a="array_like: Of any shape, read in C order. Complex elements are conjugated.",
    b="array_like: With as many elements.",
    returns="scalar: Of the common type.",
    example=">>> float(mdhnp.vdot(np.ones((2, 3)), np.arange(6.0)))\n15.0",
)
def vdot(a: npt.ArrayLike, b: npt.ArrayLike, /, *, precision: str | None = None, schedule: Any = None) -> Any:
    # A strided Array of a device's own memory is copied there to be read as a vector, which no view does.
    operands = tuple([x.reshape(-1) if type(x) is DeviceArray and x.device.own_memory else x for x in (a, b)])
    return call((_VDOT,), operands)


@_product(
    "Multiply along the last axes of both operands and add, as ``numpy.inner`` does.",
    a="array_like: Of shape (..., k); a scalar multiplies every element.",
    b="array_like: Of shape (..., k); a scalar multiplies every element.",
    returns=f"ndarray or scalar: {_OTHERS}.",
    example="""
>>> mdhnp.inner([[1, 2], [3, 4]], [[1, 0], [0, 1], [1, 1]])
array([[1, 2, 3],
       [3, 4, 7]])""",
)
def inner(a: npt.ArrayLike, b: npt.ArrayLike, /, *, precision: str | None = None, schedule: Any = None) -> Any:
    return call((_INNER,), (a, b))


@_product(
    "Multiply every element of one operand by every element of the other, as ``numpy.outer`` does.",
    a="array_like: Of any shape, read in C order.",
    b="array_like: Of any shape, read in C order.",
    returns="ndarray: Of shape (a.size, b.size); `out` if given.",
    raises={"ValueError": "If `out` does not fit.", "TypeError": f"If `out` has a lesser type. {UNSUPPORTED}"},
    example=">>> mdhnp.outer([1, 2], [3, 4])\narray([[3, 4],\n       [6, 8]])",
)
def outer(a: npt.ArrayLike, b: npt.ArrayLike, out: Array | None = None) -> Any:
    if out is None:
        return call((_OUTER,), (a, b))
    target = output("outer", out)
    return deliver("outer", call((_OUTER, target.dtype), (a, b), numpy=partial(np.outer, a, b, out)), target)


@_product(
    "Give the Kronecker product, as ``numpy.kron`` does.",
    a="array_like: Of any shape; the one of fewer axes gets axes of one element in front.",
    b="array_like: Of any shape; the one of fewer axes gets axes of one element in front.",
    returns="ndarray or scalar: Each element of `a` times the whole of `b`, block by block.",
    raises={"TypeError": UNSUPPORTED},
    example=">>> mdhnp.kron([1, 10], [5, 6, 7])\narray([ 5,  6,  7, 50, 60, 70])",
)
def kron(a: npt.ArrayLike, b: npt.ArrayLike) -> Any:
    return call((_KRON,), (a, b))


@_product(
    "Add the elements of diagonals, as ``numpy.trace`` does.",
    a="array_like: Of two or more axes.",
    offset="int: How far above the main diagonal.",
    axis1="int: Axes whose diagonals are taken.",
    axis2="int: Axes whose diagonals are taken.",
    dtype="dtype, optional: Type to add in; by default that of `a`, for integers and booleans the default integer if "
    "that is wider.",
    returns="ndarray or scalar: With the other axes of `a`; `out` if given.",
    raises={
        "ValueError": "If `a` has too few axes, the two axes are one, or `out` does not fit.",
        "TypeError": f"If `offset` is no integer. {UNSUPPORTED}",
    },
    example=">>> int(mdhnp.trace(np.arange(9).reshape(3, 3), offset=1))\n6",
)
def trace(
    a: npt.ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: npt.DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    target = output("trace", out)
    wanted = exact_type(None if dtype is None else np.dtype(dtype).newbyteorder("="))  # as NumPy does
    places = [integer(name, n) for name, n in (("offset", offset), ("axis1", axis1), ("axis2", axis2))]
    what = (_TRACE, *places, wanted)
    if target is None:
        return call(what, (a,), dtypes=(wanted,))
    numpys = partial(np.trace, a, offset, axis1, axis2, dtype, out)
    result = call(what, (a,), dtypes=(wanted,), numpy=numpys)
    if target.shape != np.shape(result):
        raise ValueError(f"out of shape {target.shape} for a result of shape {np.shape(result)}")
    return deliver("trace", result, target)


@_product(
    "Multiply and add along several axes, as ``numpy.tensordot`` does.",
    a="array_like: The first operand.",
    b="array_like: The second operand.",
    axes="int or pair of sequences of int: Which axes of `a` go with which ones of `b`; a number means that many last "
    "ones of `a` and first ones of `b`.",
    returns=f"ndarray: {_OTHERS}.",
    raises={
        "ValueError": "If extents differ, an axis is named twice, or there is no such precision.",
        "TypeError": f"If `axes` are no integers. {UNSUPPORTED}",
    },
    example="""
>>> mdhnp.tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
(2, 5)""",
)
def tensordot(
    a: npt.ArrayLike, b: npt.ArrayLike, axes: Any = 2, *, precision: str | None = None, schedule: Any = None,
) -> Any:  # fmt: skip
    return call((_TENSORDOT, _whole(axes)), (a, b))


def exactly(result: Array, out: Array | None) -> Array | None:
    """Give `out` back if it is as NumPy's BLAS calls want it."""
    contiguous = not isinstance(out, np.ndarray) or out.flags.c_contiguous  # Arrays need not be
    if out is not None and (out.shape != result.shape or out.dtype != result.dtype or not contiguous):
        raise ValueError(f"out must be C-contiguous, of shape {result.shape} and dtype {result.dtype}")
    return out


def letters(count: int) -> str:
    """Give that many labels, those usual for matrices first."""
    return ("ijlmnopqabcdefgh" + "".join(chr(ord("α") + n) for n in range(count)))[:count]


def _vdot(arrays: Sequence[Array]) -> Described:
    a, b = arrays
    conjugate = a.dtype.kind == "c"
    if a.shape == b.shape:
        return Described(contraction((letters(a.ndim),) * 2, "", arrays, None, conjugate))
    if a.size != b.size:
        raise ValueError(f"a has {a.size} elements, b has {b.size}")
    return Described(contraction(("i", "i"), "", raveled(arrays), None, conjugate), raveled)


def _outer(arrays: Sequence[Array], target: np.dtype[Any] | None = None) -> Described:
    check_casts((), np.result_type(*arrays), target, "same_kind")
    if arrays[0].ndim == arrays[1].ndim == 1:
        return Described(_joined(arrays, ()))
    shape = tuple([x.size for x in arrays])
    return Described(_joined(arrays, ()), None, lambda found: array(found).reshape(shape))


def _kron(arrays: Sequence[Array]) -> Described:
    ndim = max(x.ndim for x in arrays)
    shapes = [(1,) * (ndim - x.ndim) + x.shape for x in arrays]
    shape = tuple([m * n for m, n in zip(*shapes, strict=True)])
    labels = letters(sum([x.ndim for x in arrays]))
    first, second = labels[: arrays[0].ndim], labels[arrays[0].ndim :]
    # All axes of both are kept, in turn, beginning from the last ones.
    kept = "".join([m + n for m, n in zip(first.rjust(ndim), second.rjust(ndim), strict=True)]).replace(" ", "")
    h = contraction((first, second), kept, arrays)
    return Described(h, None, lambda found: deliver("kron", array(found).reshape(shape)))


def _trace(arrays: Sequence[Array], offset: int, axis1: int, axis2: int, wanted: np.dtype[Any] | None) -> Described:
    def diagonals(arrays: Sequence[Array]) -> tuple[Array]:
        return (np.diagonal(arrays[0], offset, axis1, axis2),)

    found = diagonals(arrays)
    # An empty sum has the type that NumPy adds in.
    common = wanted or np.add.reduce(np.empty(0, arrays[0].dtype)).dtype
    labels = letters(found[0].ndim)
    return Described(contraction((labels,), labels[:-1], found, common), diagonals)


def _joined(arrays: Sequence[Array], pairs: Sequence[tuple[int, int]]) -> MdHom:
    """Multiply two arrays and add along pairs of axes; the result has the first one's other axes, then the second's."""
    a, b = arrays
    labels = letters(a.ndim + b.ndim)
    first, second = labels[: a.ndim], labels[a.ndim :]
    for i, j in pairs:
        second = second[:j] + first[i] + second[j + 1 :]
    kept = [c for n, c in enumerate(first) if n not in {i for i, _ in pairs}]
    kept += [c for n, c in enumerate(second) if n not in {j for _, j in pairs}]
    return contraction((first, second), "".join(kept), arrays)


def _aligned(axis: int, arrays: Sequence[Array]) -> MdHom:
    """Join the first one's last axis with an axis of the second; scalars have none."""
    a, b = arrays
    if not a.ndim or not b.ndim:
        return _joined(arrays, ())
    axis = max(b.ndim + axis, 0)
    if a.shape[-1] != b.shape[axis]:
        sizes = f"{a.shape[-1]} and {b.shape[axis]} elements"
        raise ValueError(f"a of shape {a.shape} and b of shape {b.shape} are not aligned: {sizes}")
    return _joined(arrays, ((a.ndim - 1, axis),))


def integer(name: str, value: Any) -> int:
    """Give an argument as an integer; TypeError, which names it, if it is none."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is no integer") from None


def _whole(axes: Any) -> Any:
    """Give the `axes` of `tensordot` as an integer or tuples of integers, which have a hash."""
    whole = partial(integer, "axes")
    if not np.iterable(axes):
        return whole(axes)
    return tuple([tuple(map(whole, at)) if np.iterable(at) else whole(at) for at in axes])


def _pairs(arrays: Sequence[Array], axes: Any) -> tuple[tuple[int, int], ...]:
    """Read the `axes` of `tensordot`."""
    if isinstance(axes, int):
        axes = range(-axes, 0), range(axes)
    lists = [list(at) if np.iterable(at) else [at] for at in axes]
    if len(lists) != 2:
        raise ValueError(f"axes must be a number or a pair, not {len(lists)} sequences")
    chosen = [[normalize_axis_index(n, x.ndim, "axes") for n in at] for x, at in zip(arrays, lists, strict=True)]
    if len(chosen[0]) != len(chosen[1]):
        raise ValueError(f"axes names {len(chosen[0])} axes of a and {len(chosen[1])} of b")
    if any(len(set(axes)) < len(axes) for axes in chosen):
        raise ValueError(f"axes names an axis twice: {chosen[0]} of a, {chosen[1]} of b")
    for i, j in zip(*chosen, strict=True):
        sizes = arrays[0].shape[i], arrays[1].shape[j]
        if sizes[0] != sizes[1]:
            raise ValueError(f"axes: {sizes[0]} elements along {i} of a, {sizes[1]} along {j} of b")
    return tuple(zip(*chosen, strict=True))


_DOT: Routine = Routine("dot", partial(_aligned, -2), np.dot)
_VDOT = Routine("vdot", _vdot, np.vdot)
_INNER: Routine = Routine("inner", partial(_aligned, -1), np.inner)
_OUTER = Routine("outer", _outer, np.outer)
_KRON: Routine = Routine("kron", _kron, np.kron)
_TRACE = Routine("trace", _trace, np.trace)
_TENSORDOT: Routine = Routine(
    "tensordot", lambda arrays, axes: Described(_joined(arrays, _pairs(arrays, axes)), None, array), np.tensordot
)
