"""Stencils: from an array and weights, or a function of neighbours, to an MDH that only concatenates.

A weight array's values are data; only the places of its nonzero weights are part of the MDH. Very large ones become a
reduction over the weights instead, as Conv2D. Knows arrays and dtypes, nothing of schedules or devices.
"""

import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import Array
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import addressable, unsupported
from mdhnp.calls.request import array as one
from mdhnp.calls.request import results
from mdhnp.frontend.neighbours import Offset, identity, trace_neighbours
from mdhnp.frontend.public import PAPER, public
from mdhnp.mdh import Affine, Function, MdHom, cc, pw, trace
from mdhnp.mdh.mdhom import contiguous
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.trace import trace_text

__all__ = ["of_text", "stencil"]

#: More nonzero weights than this are reduced over: written out they would take seconds to compile.
MOST_TAPS = 64

_MODES = {mode: mode for mode in ("valid", "constant", "nearest", "reflect", "mirror", "wrap")} | {
    "grid-constant": "constant", "grid-mirror": "reflect", "grid-wrap": "wrap",
}  # fmt: skip


@public(
    "Compute every point of an array from its neighbours.",
    a="array_like: The array, of one or more axes. A strided one is not copied.",
    weights="array_like or callable: Weights, as many axes as `a`: the result is their correlation with `a`, the "
    "centre at ``size // 2``, as ``scipy.ndimage.correlate`` gives it. Or a function of the neighbours ``n``, where "
    "``n[-1, 0]`` is the value one row up (one offset an axis, constants); it may use operators and NumPy ufuncs and "
    "may return a tuple.",
    mode='str: What lies outside of the array: "constant" (`cval`), "nearest", "reflect", "mirror" or "wrap" as in '
    'scipy.ndimage (and its "grid-" names). "valid": only points with all neighbours inside.',
    cval='float: The value outside with ``mode="constant"``.',
    returns='ndarray or tuple of ndarray: Of `a`\'s shape; with "valid", ``size - 1`` less along each axis, for a '
    "function the distance between its outermost offsets (and 0). A tuple where the function returns several values. "
    "With weights the dtype is `a`'s: integers are summed in float64 and truncated, as scipy does, float16 is summed "
    "in float32. With a function it is what NumPy's promotion gives.",
    raises={
        "ValueError": "For an unknown mode, weights with another number of axes or none along one, an array too small "
        'for "valid", a function that uses no neighbour, or a `cval` that the dtype cannot hold (with a function).',
        "IndexError": "If a function's offsets are not one an axis.",
        "TypeError": "For dtypes that cannot be computed, or a function of things other than operators and ufuncs.",
    },
    notes=f"""An MDH ``md_hom(f, (++, …, ++)) ∘ (I[p+c1], I[p+c2], …) -> O[p]``; above 64 nonzero weights
``md_hom(*, (++, …, +, …)) ∘ (I[p+r], F[r]) -> O[p]``. Source: {PAPER} IV-B.

Weights are converted to the floating-point type computed in and summed in C order; those that are 0 do not count, so a
NaN under them does not spread. float32 is computed in float32, where scipy computes in float64.

A function is called to see what it computes, not once a point; numbers it refers to are constants of its kernel.""",
    example="""
>>> mdhnp.stencil(np.array([1.0, 4.0, 9.0, 16.0]), [-0.5, 0.0, 0.5])
array([4., 6.])
>>> mdhnp.stencil(np.array([1.0, 4.0, 9.0, 16.0]), lambda n: n[1] - n[0], mode="nearest")
array([3., 5., 7., 0.])""",
)
def stencil(
    a: npt.ArrayLike, weights: npt.ArrayLike | Callable[..., Any], mode: str = "valid", cval: float = 0.0
) -> Any:
    if mode not in _MODES:
        raise ValueError(f"mode: {mode!r} is none of {', '.join(_MODES)}")
    if callable(weights):
        return _of_function(_array(a), weights, _MODES[mode], cval)
    return _of_weights(a, weights, _MODES[mode], cval)


def _array(a: npt.ArrayLike) -> Any:
    (array,) = addressable((a,))
    if type(array) is Array:
        return array
    if type(array) is not np.ndarray:
        raise TypeError(f"a: a {type(array).__name__} cannot be computed; convert it, as with np.asarray")
    if unsupported((array,)) is not None:
        raise TypeError(f"a: dtype {array.dtype} cannot be computed; NumPy's numbers from bool to complex128 can")
    if array.ndim == 0:
        raise ValueError("a: has no axes, a stencil needs one or more")
    return array


def _holds(dtype: np.dtype[Any], value: float) -> bool:
    """Say whether values of the dtype can be `value`."""
    if dtype.kind in "fc":
        return True
    if dtype.kind == "b":
        return value in (0, 1)
    return float(value).is_integer() and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _computed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Give the type that products and sums have."""
    if dtype == np.float16:
        return np.dtype(np.float32)
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _stored(total: Any, result: np.dtype[Any]) -> Any:
    """Convert a sum to the result's type: integers and booleans truncate, as scipy's do."""
    return (total.astype(np.int32) if result.kind == "b" else total).astype(result)


def _fill(array: npt.NDArray[Any], mode: str, cval: float) -> str:
    return repr(array.dtype.type(cval).item()) if mode == "constant" else "0"


def _extents(shape: tuple[int, ...], below: Offset, above: Offset, mode: str) -> tuple[int, ...]:
    """Count the points computed along each axis, with neighbours from `below` to `above` (inclusive)."""
    if mode != "valid":
        return shape
    sizes = tuple(n - (high - low) for n, low, high in zip(shape, below, above, strict=True))
    if min(sizes) <= 0:
        needed = tuple(high - low + 1 for low, high in zip(below, above, strict=True))
        raise ValueError(f"a: shape {shape} is smaller than the stencil, {needed}; use another mode than 'valid'")
    return sizes


def _dim_names(rank: int, letters: str) -> tuple[str, ...]:
    return tuple(letters[:rank]) if rank <= len(letters) else tuple(f"{letters[0]}{d}" for d in range(rank))


def _of_weights(a: Any, weights: Any, mode: str, cval: float) -> Any:
    """Make a call with weights: at once if they are of the array's type, and that needs no conversion."""
    alike = type(a) is np.ndarray and type(weights) is np.ndarray and a.dtype is weights.dtype
    if alike and a.dtype.char in "fd" and a.ndim:
        array, result = a, a.dtype
    else:
        array, weights = _array(a), np.asarray(weights)
        result = array.dtype
        if mode == "constant" and not _holds(result, cval):
            array = array.astype(np.float64)
        if not np.can_cast(weights.dtype, np.complex128 if array.dtype.kind == "c" else np.float64, "same_kind"):
            raise TypeError(
                f"weights: {weights.dtype} for an array of {array.dtype}; only complex arrays take complex ones"
            )
        # As in SciPy, complex weights are conjugated.
        (weights,) = addressable((weights.conj().astype(_computed(array.dtype), copy=False),))
    used = weights != 0
    fill = _fill(array, mode, cval)
    if weights.size > MOST_TAPS and np.count_nonzero(used) > MOST_TAPS:
        return call((_MANY_WEIGHTS, bool(used.all()), result, mode, fill), (array, weights))
    return call((_WEIGHTS, used.tobytes(), result, mode, fill), (array, weights))


class _Correlation(NamedTuple):
    """What a correlation is but for its operands: points, where the weights' centre is, and what lies outside."""

    extents: tuple[int, ...]
    centre: Offset
    result: np.dtype[Any]
    boundary: str | None
    fill: str

    @classmethod
    def of(cls, arrays: Sequence[npt.NDArray[Any]], result: np.dtype[Any], mode: str, fill: str) -> "_Correlation":
        """Count the points along each axis, and place the weights."""
        array, weights = arrays
        if weights.ndim != array.ndim or 0 in weights.shape:
            raise ValueError(
                f"weights: shape {weights.shape} for an array of {array.ndim} axes; one or more along each axis"
            )
        extents = _extents(array.shape, (0,) * array.ndim, tuple(n - 1 for n in weights.shape), mode)
        valid = mode == "valid"
        return cls(extents, tuple(0 if valid else n // 2 for n in weights.shape), result, None if valid else mode, fill)


def _describe_few(
    arrays: Sequence[npt.NDArray[Any]], used: bytes, result: np.dtype[Any], mode: str, fill: str
) -> Described:
    array, weights = arrays
    places = np.frombuffer(used, np.bool_).reshape(weights.shape)
    correlation = _Correlation.of(arrays, result, mode, fill)
    if places.any():
        return Described(_taps(array, weights, correlation, places), None, one)
    none = (slice(0, 0),) * weights.ndim  # sums of no weights
    h = _reduction(array, weights[none], correlation, True)
    return Described(h, lambda arrays: (arrays[0], arrays[1][none]), one)


def _describe_many(
    arrays: Sequence[npt.NDArray[Any]], dense: bool, result: np.dtype[Any], mode: str, fill: str
) -> Described:
    array, weights = arrays
    return Described(_reduction(array, weights, _Correlation.of(arrays, result, mode, fill), dense), None, one)


def _taps(
    array: npt.NDArray[Any], weights: npt.NDArray[Any], correlation: _Correlation, used: npt.NDArray[np.bool_]
) -> MdHom:
    """Write out the sum over the nonzero weights."""
    extents, centre, result, boundary, fill = correlation
    rank = array.ndim
    places = [tuple(map(int, place)) for place in np.argwhere(used)]
    count = len(places)
    neighbours = tuple(tuple(Affine.of(d, rank, k - centre[d]) for d, k in enumerate(place)) for place in places)
    constants = tuple(tuple(Affine((0,) * rank, k) for k in place) for place in places)

    def weigh(*values: Any) -> Any:
        products = [x.astype(weights.dtype) * w for x, w in zip(values[:count], values[count:], strict=True)]
        return _stored(reduce(operator.add, products), result)

    scalar = trace(weigh, [array.dtype] * count + [weights.dtype] * count, what="stencil")
    return MdHom(
        extents,
        (cc.resolve((result,)),) * rank,
        replace(scalar, contract=True),
        (array_view("I", array, neighbours, boundary, fill), array_view("F", weights, constants)),
        (contiguous("O", result, extents, tuple(range(rank))),),
        names=_dim_names(rank, "pqo"),
    )


def _reduction(array: npt.NDArray[Any], weights: npt.NDArray[Any], correlation: _Correlation, dense: bool) -> MdHom:
    """Sum over all weights by reduction: one more dimension an axis."""
    extents, centre, result, boundary, fill = correlation
    rank = array.ndim
    neighbour = tuple(Affine(tuple(int(e in (d, rank + d)) for e in range(2 * rank)), -centre[d]) for d in range(rank))
    weight = tuple(Affine.of(rank + d, 2 * rank) for d in range(rank))

    def weigh(x: Any, w: Any) -> Any:
        product = x.astype(weights.dtype) * w
        return product if dense else np.where(w != 0, product, weights.dtype.type(0))

    add = pw("add").resolve((weights.dtype,))
    sizes = extents + weights.shape
    parameters = [array.dtype, weights.dtype]
    cast = trace(lambda total, x, w: _stored(total, result), [weights.dtype, *parameters], what="stencil")
    return MdHom(
        sizes,
        (cc.resolve((weights.dtype,)),) * rank + (add,) * rank,
        replace(trace(weigh, parameters, what="stencil"), contract=True),
        (array_view("I", array, (neighbour,), boundary, fill), array_view("F", weights, (weight,))),
        (contiguous("O", result, sizes, tuple(range(rank))),),
        None if result == weights.dtype else cast,
        names=_dim_names(rank, "pqo") + _dim_names(rank, "rst"),
    )


@dataclass(frozen=True)
class _Known:
    """A function of neighbours whose code and numbers fix what it computes: two of the same identity are equal.

    The function is held weakly, since entries outlive it.
    """

    identity: Hashable
    function: "ref[Callable[..., Any]]" = field(compare=False)


def _of_function(array: npt.NDArray[Any], function: Callable[..., Any], mode: str, cval: float) -> Any:
    _check_fill(array.dtype, mode, cval)
    known = identity(function)
    # What else a function refers to may change: what it computes now is traced at each call.
    traced = trace_neighbours(function, array.dtype, array.ndim) if known is None else None
    computed = traced or _Known(known, ref(function))
    return call((_FUNCTION, computed, mode, _fill(array, mode, cval)), (array,))


def of_text(
    a: npt.ArrayLike,
    source: str,
    offsets: tuple[Offset, ...],
    results: Sequence[np.dtype[Any]],
    mode: str,
    cval: float,
) -> Any:
    """Compute a stencil of OpenCL C text that takes the neighbours at some offsets, in order; all else as `stencil`."""
    if mode not in _MODES:
        raise ValueError(f"mode: {mode!r} is none of {', '.join(_MODES)}")
    array = _array(a)
    if any([len(offset) != array.ndim for offset in offsets]):
        raise IndexError(f"offsets {offsets} for an array of {array.ndim} axes; one number an axis")
    _check_fill(array.dtype, _MODES[mode], cval)
    scalar = trace_text(source, [array.dtype] * len(offsets), results, "stencil", "offsets")
    return call((_FUNCTION, (offsets, scalar), _MODES[mode], _fill(array, _MODES[mode], cval)), (array,))


def _check_fill(dtype: np.dtype[Any], mode: str, cval: float) -> None:
    if mode == "constant" and not _holds(dtype, cval):
        raise ValueError(f"cval: {cval} is no {dtype}; convert the array first")


def _describe_function(
    arrays: Sequence[npt.NDArray[Any]], computed: _Known | tuple[tuple[Offset, ...], Function], mode: str, fill: str
) -> Described:
    (array,) = arrays
    if isinstance(computed, _Known):
        function = computed.function()
        assert function is not None  # it is being called
        computed = trace_neighbours(function, array.dtype, array.ndim)
    return Described(_points(array, *computed, mode, fill), None, results)


_WEIGHTS = Routine("stencil", _describe_few)
_MANY_WEIGHTS = Routine("stencil", _describe_many)
_FUNCTION = Routine("stencil", _describe_function)


def _points(array: npt.NDArray[Any], offsets: tuple[Offset, ...], scalar: Function, mode: str, fill: str) -> MdHom:
    """Apply the function to every point's neighbours."""
    rank = array.ndim
    below = tuple(min(0, *(o[d] for o in offsets)) for d in range(rank))
    above = tuple(max(0, *(o[d] for o in offsets)) for d in range(rank))
    extents = _extents(array.shape, below, above, mode)
    first = below if mode == "valid" else (0,) * rank
    accesses = tuple(tuple(Affine.of(d, rank, k - first[d]) for d, k in enumerate(o)) for o in offsets)
    dims = tuple(range(rank))
    names = ("O",) if len(scalar.dtypes) == 1 else tuple(f"O{n}" for n in range(len(scalar.dtypes)))
    outputs = tuple(contiguous(n, t, extents, dims) for n, t in zip(names, scalar.dtypes, strict=True))
    inputs = (array_view("I", array, accesses, None if mode == "valid" else mode, fill),)
    combine = (cc.resolve(scalar.dtypes),) * rank
    return MdHom(extents, combine, scalar, inputs, outputs, names=_dim_names(rank, "pqo"))
