"""NumPy's generalized ufuncs that multiply: `matmul`, `vecdot`, `matvec` and `vecmat`, each one MDH.

The last axes of an operand are its core, a vector or a matrix, unless `axes` says which ones; those before them are a
stack, and broadcast. Takes array-likes, gives new arrays. It must not know devices.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.numpy_tier import NumpyFunction, einsum_function
from mdhnp.calls.operands import addressable, check_casts, check_order, deliver, exact_type, fallback, output
from mdhnp.frontend.contraction import ELLIPSIS, Terms, contraction
from mdhnp.frontend.products import integer
from mdhnp.frontend.public import PAPER, UNSUPPORTED, repeatable
from mdhnp.frontend.semirings import Semiring, asked, check_types, of_semiring
from mdhnp.frontend.sparse import sparse_product
from mdhnp.frontend.sparse_formats import Product
from mdhnp.mdh import Graph, MdHom

Array = npt.NDArray[Any]

_MATMUL: Routine
_VECDOT: Routine
_MATVEC: Routine
_VECMAT: Routine
#: Labels of the operands' cores; the result has all but k. A vector may stand for a matrix in `matmul` only.
_CORES: dict[str, Terms] = {
    "matmul": ("ik", "kj"), "vecdot": ("k", "k"), "matvec": ("ik", "k"), "vecmat": ("k", "kj"),
}  # fmt: skip
_STACKS = "The leading axes are broadcast."
_CONJUGATED = "Complex elements of `x1` are conjugated."

#: What the four have in common.
_product = partial(
    repeatable,
    dtype="dtype, optional: Type to compute in; by default the operands' common type.",
    axes="list of tuple of int, optional: Where the core axes are in the operands and in the result, if they are not "
    "the last ones.",
    others="``subok`` changes nothing, there being no subclasses; calls with ``signature`` are left to NumPy.",
    raises={
        "ValueError": "If an operand has too few axes, shapes do not match, among them that of `out`, or there is no "
        "such precision.",
        "TypeError": f"If the casting rule forbids a conversion; {UNSUPPORTED[0].lower()}{UNSUPPORTED[1:]}",
    },
    notes=f"Source: {PAPER} IV-A.",
)


@_product(
    "Multiply matrices, or stacks of matrices, as ``numpy.matmul`` does.",
    x1="array_like: Of shape (..., n, k); a vector (k,) is taken for a row, whose axis is left out of the result. "
    f"{_STACKS}",
    x2="array_like: Of shape (..., k, m); a vector (k,) is taken for a column, likewise. One of both may be a sparse "
    "array or matrix of SciPy's.",
    multiply="ufunc, str or callable, optional: What stands for the product, as in :func:`mdhnp.einsum`.",
    add="ufunc, str, callable or pw(...), optional: What stands for the sum, likewise.",
    semiring="Semiring, optional: Both together.",
    returns='ndarray or scalar: Of shape (..., n, m); `out` if given. A tuple where `add` is "argmin" or '
    '"argmax", as in :func:`mdhnp.einsum`.',
    example="""
>>> mdhnp.matmul(np.arange(6.0).reshape(2, 3), np.ones(3))
array([ 3., 12.])
>>> mdhnp.matmul([[0, 1], [2, 0]], [[0, 1], [2, 0]], semiring=mdhnp.semiring.min_plus)
array([[0, 1],
       [2, 0]])""",
)
def matmul(
    x1: npt.ArrayLike, x2: npt.ArrayLike, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: npt.DTypeLike | None = None, axes: Any = None, precision: str | None = None, schedule: Any = None,
    multiply: Any = None, add: Any = None, semiring: Semiring | None = None, **others: Any,
) -> Any:  # fmt: skip
    if multiply is not None or add is not None or semiring is not None:
        ring = asked(multiply, add, semiring)
        return _call(_OVER_SEMIRING, (x1, x2), out, casting, order, dtype, axes, others, ring=ring)
    # As in `_call`, but sooner: handing the arguments on takes a tenth of the time of a tiny product.
    if out is None and dtype is None and axes is None and order == "K" and casting == "same_kind" and not others:
        return call((_MATMUL,), (x1, x2))
    return _call(_MATMUL, (x1, x2), out, casting, order, dtype, axes, others)


@_product(
    "Give the dot products of stacks of vectors, as ``numpy.vecdot`` does.",
    x1=f"array_like: Of shape (..., k). {_STACKS} {_CONJUGATED}",
    x2="array_like: Of shape (..., k).",
    axis="int, optional: Where the vectors' axis is in both operands, if it is not the last one.",
    keepdims="bool: Whether the result has an axis of one element where the operands have that axis.",
    returns="ndarray or scalar: Of shape (...).",
    example=">>> mdhnp.vecdot([[0, 5, 0], [0, 6, 8]], [0, 3, 4])\narray([15, 50])",
)
def vecdot(
    x1: npt.ArrayLike, x2: npt.ArrayLike, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: npt.DTypeLike | None = None, axes: Any = None, axis: Any = None, keepdims: bool = False,
    precision: str | None = None, schedule: Any = None, **others: Any,
) -> Any:  # fmt: skip
    if axis is not None:
        if axes is not None:
            raise TypeError("vecdot: axis and axes cannot both be given")
        axis = integer("axis", axis)
        axes = [axis, axis, axis if keepdims else ()]
    return _call(_VECDOT, (x1, x2), out, casting, order, dtype, axes, others, keepdims)


@_product(
    "Multiply stacks of matrices and vectors, as ``numpy.matvec`` does.",
    x1=f"array_like: Of shape (..., n, k). {_STACKS}",
    x2="array_like: Of shape (..., k).",
    returns="ndarray: Of shape (..., n).",
    example=">>> mdhnp.matvec([[0, 1], [1, 1]], [[1, 2], [3, 4]])\narray([[2, 3],\n       [4, 7]])",
)
def matvec(
    x1: npt.ArrayLike, x2: npt.ArrayLike, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: npt.DTypeLike | None = None, axes: Any = None, precision: str | None = None, schedule: Any = None,
    **others: Any,
) -> Any:  # fmt: skip
    return _call(_MATVEC, (x1, x2), out, casting, order, dtype, axes, others)


@_product(
    "Multiply stacks of vectors and matrices, as ``numpy.vecmat`` does.",
    x1=f"array_like: Of shape (..., k). {_STACKS} {_CONJUGATED}",
    x2="array_like: Of shape (..., k, m).",
    returns="ndarray: Of shape (..., m).",
    example=">>> mdhnp.vecmat([1, 2], [[0, 1], [1, 1]])\narray([2, 3])",
)
def vecmat(
    x1: npt.ArrayLike, x2: npt.ArrayLike, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: npt.DTypeLike | None = None, axes: Any = None, precision: str | None = None, schedule: Any = None,
    **others: Any,
) -> Any:  # fmt: skip
    return _call(_VECMAT, (x1, x2), out, casting, order, dtype, axes, others)


def _call(
    routine: Routine,
    operands: tuple[Any, Any],
    out: Any,
    casting: Any,
    order: Any,
    dtype: Any,
    axes: Any,
    others: dict[str, Any],
    keepdims: bool = False,
    ring: Semiring | None = None,
) -> Any:
    plain = out is None and dtype is None and axes is None and order == "K" and casting == "same_kind"
    chosen = (routine,) if ring is None else (routine, ring)
    if plain and not keepdims and not others:
        return call(chosen, operands)
    name = routine.name
    given = {"out": out, "casting": casting, "order": order, "dtype": dtype, "axes": axes, "keepdims": keepdims}
    given = {key: value for key, value in given.items() if value is not None and value is not False} | others
    numpys = None if ring is not None else partial(getattr(np, name), *operands, **given)
    if others.keys() - {"subok"}:
        if numpys is None:
            raise TypeError(f"{', '.join(others)} cannot be given beside a semiring")
        return fallback(name, f"{', '.join(others)} is given", numpys, operands)
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"out has {len(out)} entries for one result")
        out = out[0]
    target = output(name, out)
    wanted = exact_type(dtype)
    to = None if target is None else target.dtype
    what = (*chosen, wanted, order, casting, _whole_axes(axes), bool(keepdims), to)
    result = call(what, operands, dtypes=(wanted,), numpy=numpys)
    if target is None or result is target:
        return result
    cores = _cores_of(name, [np.ndim(x) for x in operands])
    *_, place = _places_of(cores, [np.ndim(x) for x in operands], axes, keepdims)
    last = tuple(range(-len(place), 0))  # where the axes of the result's core are
    view = target if place == last or target.ndim < result.ndim else np.moveaxis(target, place, last)
    if view.shape[view.ndim - len(place) :] != result.shape[result.ndim - len(place) :]:
        raise ValueError(f"out of shape {target.shape} does not fit a result of shape {result.shape}")
    deliver(name, result, view)
    return target


def _cores_of(function: str, ndims: Sequence[int]) -> Terms:
    """Give the labels of the operands' cores: for `matmul` a vector's own, and a matrix's else."""
    cores = _CORES[function]
    if function == "matmul":
        cores = cores[0][-max(ndims[0], 1) :], cores[1][: max(ndims[1], 1)]
    for n, (ndim, core) in enumerate(zip(ndims, cores, strict=True)):
        if ndim < len(core):
            raise ValueError(f"operand {n} has {ndim} axes, {len(core)} or more are needed")
    return cores


def _whole_axes(axes: Any) -> Any:
    """Give `axes` as tuples of integers, which have a hash."""
    if axes is None:
        return None
    if not isinstance(axes, list):
        raise TypeError(f"axes must be a list, not {type(axes).__name__}")
    whole = partial(integer, "axes")
    return tuple([tuple(map(whole, entry)) if isinstance(entry, tuple) else whole(entry) for entry in axes])


def _places_of(
    cores: Terms, ndims: Sequence[int], axes: Sequence[Any] | None, keepdims: bool
) -> tuple[tuple[int, ...], ...]:
    """Say where the axes of the operands' cores are, and where those of the result's core shall go."""
    kept = len("".join(cores).replace("k", "")) + keepdims
    counts = [*map(len, cores), kept]
    if axes is None:
        return tuple(tuple(range(-count, 0)) for count in counts)
    if len(axes) == 2 and kept == keepdims:
        axes = [*axes, -1 if keepdims else ()]  # as NumPy: the axis that is kept is the last one
    if len(axes) != 3:
        raise ValueError(f"axes has {len(axes)} entries, one for each operand and the result is needed")
    stacked = max(ndim - len(core) for ndim, core in zip(ndims, cores, strict=True))
    entries = [entry if isinstance(entry, tuple) else (entry,) for entry in axes]
    for n, (entry, count) in enumerate(zip(entries, counts, strict=True)):
        if len(entry) != count:
            raise np.exceptions.AxisError(f"axes: entry {n} names {len(entry)} axes, the core has {count}")
    return tuple(
        normalize_axis_tuple(entry, ndim, "axes") for entry, ndim in zip(entries, [*ndims, stacked + kept], strict=True)
    )


def _labelled(cores: Terms, shapes: Sequence[tuple[int, ...]]) -> tuple[Terms, str]:
    """Give the labels of operands of these shapes, whose cores are their last axes, and of the result."""
    sizes = [shape[len(shape) - len(core) + core.index("k")] for shape, core in zip(shapes, cores, strict=True)]
    if sizes[0] != sizes[1]:
        shown = " and ".join(map(str, shapes))
        raise ValueError(f"operands of shapes {shown} do not match: {sizes[0]} and {sizes[1]} elements")
    stacks = [len(shape) - len(core) for shape, core in zip(shapes, cores, strict=True)]
    most = max(stacks)
    terms = tuple(ELLIPSIS[most - n : most] + core for n, core in zip(stacks, cores, strict=True))
    return terms, ELLIPSIS[:most] + "".join(cores).replace("k", "")


def _describe(
    function: str,
    arrays: Sequence[Array],
    wanted: np.dtype[Any] | None = None,
    order: Any = "K",
    casting: Any = "same_kind",
    axes: Any = None,
    keepdims: bool = False,
    to: np.dtype[Any] | None = None,
    *,
    ring: Semiring | None = None,
) -> MdHom | Described:
    """Describe a call; with `out`, of type `to`, the axes of the result's core stay at the end."""
    ndims = [a.ndim for a in arrays]
    cores = _cores_of(function, ndims)
    conjugate = function in {"vecdot", "vecmat"} and arrays[0].dtype.kind == "c"
    plain = wanted is None and to is None and (order, casting, axes, keepdims) == ("K", "same_kind", None, False)
    if plain and ring is None:
        return contraction(*_labelled(cores, [a.shape for a in arrays]), arrays, None, conjugate)
    fortran = check_order(order, arrays) == "F"
    common = wanted or np.result_type(*[a.dtype for a in arrays])
    if ring is None:  # types are checked before shapes, as NumPy does
        check_casts(arrays, common, None, casting)
        check_casts((), common, to, casting, "ufunc result to ")  # of NumPy's words those that its tests look for
    else:
        check_types(arrays, ring, wanted, to, casting)
    *places, place = _places_of(cores, ndims, axes, keepdims)

    def take(arrays: Sequence[Array]) -> Sequence[Array]:
        """Move the axes of the operands' cores to the end."""
        if axes is None:
            return arrays
        return tuple([np.moveaxis(a, at, range(-len(at), 0)) for a, at in zip(arrays, places, strict=True)])

    def give(found: Sequence[Any]) -> Any:
        """Move the axes of the results' core from the end to their places."""
        each = [_given(np.asarray(one)) for one in found]
        return each[0] if len(each) == 1 else tuple(each)

    def _given(result: Any) -> Any:
        result = result.T if fortran else result
        result = result[..., np.newaxis] if keepdims else result
        if to is not None:
            return result
        return deliver(function, result if axes is None else np.moveaxis(result, range(-len(place), 0), place))

    taken = take(arrays)
    terms, result = _labelled(cores, [a.shape for a in taken])
    result = result[::-1] if fortran else result
    h: MdHom | Graph
    if ring is None:
        h = contraction(terms, result, taken, common, conjugate)
    else:
        h = of_semiring(terms, result, taken, ring, wanted)
        if plain and len(h.results) == 1:
            return Described(h)
    return Described(h, None if axes is None else take, give)


def _brief(arrays: Sequence[Array], *others: Any) -> NumpyFunction | None:
    """Give NumPy's function for a call of `matmul` without other arguments."""
    if others:
        return None
    terms, result = _labelled(_cores_of("matmul", [a.ndim for a in arrays]), [a.shape for a in arrays])
    return einsum_function(terms, result, arrays)


def _asked(
    shapes: Sequence[tuple[int, ...]],
    wanted: np.dtype[Any] | None = None,
    order: Any = "K",
    casting: Any = "same_kind",
    axes: Any = None,
    keepdims: bool = False,
    to: np.dtype[Any] | None = None,
    *,
    ring: Semiring | None = None,
) -> Product:
    """Read a call of `matmul` with a sparse operand."""
    if axes is not None:
        raise TypeError("axes: of a sparse operand they are where they are; write an einsum")
    terms, result = _labelled(_cores_of("matmul", [len(shape) for shape in shapes]), shapes)
    return Product("matmul", terms, result, wanted, ring, order, casting, to)


_MATMUL, _VECDOT, _MATVEC, _VECMAT = (
    Routine(
        name, partial(_describe, name), getattr(np, name), partial(addressable, protocol="__array_ufunc__"),
        *((sparse_product(_asked), _brief) if name == "matmul" else ()),
    )
    for name in _CORES
)  # fmt: skip
#: Of a semiring that NumPy does not know.
_OVER_SEMIRING = Routine(
    "matmul", lambda arrays, ring, *others: _describe("matmul", arrays, *others, ring=ring), None, _MATMUL.convert,
    sparse_product(lambda shapes, ring, *others: _asked(shapes, *others, ring=ring)),
)  # fmt: skip
