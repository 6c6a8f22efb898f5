"""Stencils: from an array and weights, or a function of neighbours, to an MDH that only concatenates.

A weight array's values are data; only the places of its nonzero weights are part of the MDH. Very large ones become a
reduction over the weights instead, as Conv2D. Knows arrays and dtypes, nothing of schedules or devices.
"""

import dis
import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from types import CodeType, FunctionType
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import Array
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import SUPPORTED, addressable, unsupported
from mdhnp.calls.request import array as one
from mdhnp.calls.request import results
from mdhnp.frontend.map_reduce import computed_type
from mdhnp.frontend.public import PAPER, public
from mdhnp.mdh import Affine, Function, MdHom, View, cc, pw, trace
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.trace import trace_text
from mdhnp.mdh.views import contiguous

NDArray = npt.NDArray[Any]
#: Distance from a point to a neighbour along each axis.
Offset = tuple[int, ...]

#: More nonzero weights than this are reduced over: written out they would take seconds to compile.
MOST_TAPS = 64

#: What lies outside of an array, by SciPy's names and "valid".
MODES = {mode: mode for mode in ("valid", "constant", "nearest", "reflect", "mirror", "wrap")} | {
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
    a: npt.ArrayLike, weights: npt.ArrayLike | Callable[..., Any], mode: str = "valid", cval: float = 0.0, *,
    schedule: Any = None,
) -> Any:  # fmt: skip
    known = _mode(mode)
    return _of_function(_array(a), weights, known, cval) if callable(weights) else _of_weights(a, weights, known, cval)


def _mode(mode: str) -> str:
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is none of {', '.join(MODES)}")
    return MODES[mode]


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


def holds(dtype: np.dtype[Any], value: float) -> bool:
    """Say whether values of the dtype can be `value`."""
    if dtype.kind in "fc":
        return True
    if dtype.kind == "b":
        return value in (0, 1)
    return float(value).is_integer() and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _stored(total: Any, result: np.dtype[Any]) -> Any:
    """Convert a sum to the result's type: integers and booleans truncate, as scipy's do."""
    return (total.astype(np.int32) if result.kind == "b" else total).astype(result)


def _fill(array: NDArray, mode: str, cval: float) -> str:
    """Give what lies outside, as a literal."""
    if mode != "constant":
        return "0"
    if not holds(array.dtype, cval):
        raise ValueError(f"cval: {cval} is no {array.dtype}; convert the array first")
    return repr(array.dtype.type(cval).item())


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
        if mode == "constant" and not holds(result, cval):
            array = array.astype(np.float64)
        if not np.can_cast(weights.dtype, np.complex128 if array.dtype.kind == "c" else np.float64, "same_kind"):
            raise TypeError(
                f"weights: {weights.dtype} for an array of {array.dtype}; only complex arrays take complex ones"
            )
        # As in SciPy, complex weights are conjugated.
        (weights,) = addressable((weights.conj().astype(computed_type(array.dtype), copy=False),))
    return correlated(_WEIGHTS, array, weights, weights != 0, result, mode, cval)


def correlated(
    routine: Routine, array: Any, weights: NDArray, used: NDArray, result: np.dtype[Any], mode: str, cval: float,
    *others: Hashable, numpy: Callable[[], Any] | None = None,
) -> Any:  # fmt: skip
    """Make a routine's call with the weights that are `used`, whose type is that of their products with elements."""
    if type(weights) is Array:
        tracer: Any = weights.device
        why = ", which say what neighbours count; give an array from outside of the fused function, or call conv1d"
        raise tracer.error("weights: have no elements yet", f"{why}, conv2d or conv3d")
    fill = _fill(array, mode, cval)
    many = weights.size > MOST_TAPS and np.count_nonzero(used) > MOST_TAPS
    what = (routine, bool(used.all()) if many else used.tobytes(), result, mode, fill, *others)
    return call(what, (array, weights), numpy=numpy)


def describe_weights(
    arrays: Sequence[NDArray], used: bytes | bool, result: np.dtype[Any], mode: str, fill: str
) -> Described:
    """Write out the sum over the weights that count, which `used` says; of very many, whether all do."""
    array, weights = arrays
    if weights.ndim != array.ndim or 0 in weights.shape:
        raise ValueError(
            f"weights: shape {weights.shape} for an array of {array.ndim} axes; one or more along each axis"
        )
    extents = _extents(array.shape, (0,) * array.ndim, tuple([n - 1 for n in weights.shape]), mode)
    centre = tuple([0 if mode == "valid" else n // 2 for n in weights.shape])
    if isinstance(used, bool):
        return Described(_reduction(array, weights, extents, centre, result, mode, fill, used), None, one)
    places = np.argwhere(np.frombuffer(used, np.bool_).reshape(weights.shape)).tolist()
    count, rank = len(places), array.ndim
    if not count:
        none = (slice(0, 0),) * rank  # sums of no weights
        h = _reduction(array, weights[none], extents, centre, result, mode, fill, dense=True)
        return Described(h, lambda arrays: (arrays[0], arrays[1][none]), one)

    def weigh(*values: Any) -> Any:
        products = [x.astype(weights.dtype) * w for x, w in zip(values[:count], values[count:], strict=True)]
        return _stored(reduce(operator.add, products), result)

    scalar = trace(weigh, [array.dtype] * count + [weights.dtype] * count, what="stencil")
    offsets = [tuple([k - c for k, c in zip(place, centre, strict=True)]) for place in places]
    constants = tuple([tuple([Affine((0,) * rank, k) for k in place]) for place in places])
    factors = array_view("F", weights, constants)
    return Described(
        _written_out(array, extents, offsets, replace(scalar, contract=True), mode, fill, factors), None, one
    )


def _written_out(
    array: NDArray, extents: tuple[int, ...], offsets: Sequence[Offset], scalar: Function, mode: str, fill: str,
    *others: View,
) -> MdHom:  # fmt: skip
    """Apply a function to the elements at some offsets from each point, and to those of other views."""
    rank = array.ndim
    accesses = tuple([tuple([Affine.of(d, rank, k) for d, k in enumerate(offset)]) for offset in offsets])
    names = ("O",) if len(scalar.dtypes) == 1 else tuple([f"O{n}" for n in range(len(scalar.dtypes))])
    dims = tuple(range(rank))
    outputs = tuple([contiguous(n, t, extents, dims) for n, t in zip(names, scalar.dtypes, strict=True)])
    inputs = (array_view("I", array, accesses, None if mode == "valid" else mode, fill), *others)
    combine = (cc.resolve(scalar.dtypes),) * rank
    return MdHom(extents, combine, scalar, inputs, outputs, names=_dim_names(rank, "pqo"))


def _reduction(
    array: NDArray, weights: NDArray, extents: tuple[int, ...], centre: Offset, result: np.dtype[Any],
    mode: str, fill: str, dense: bool,
) -> MdHom:  # fmt: skip
    """Sum over all weights by reduction: one more dimension an axis."""
    rank = array.ndim
    neighbour = tuple(
        [Affine(tuple([int(e in (d, rank + d)) for e in range(2 * rank)]), -centre[d]) for d in range(rank)]
    )
    weight = tuple([Affine.of(rank + d, 2 * rank) for d in range(rank)])

    def weigh(x: Any, w: Any) -> Any:
        product = x.astype(weights.dtype) * w
        return product if dense else np.where(w != 0, product, weights.dtype.type(0))

    types = (weights.dtype,)
    parameters = [array.dtype, weights.dtype]
    sizes = extents + weights.shape
    cast = trace(lambda total, x, w: _stored(total, result), [*types, *parameters], what="stencil")
    return MdHom(
        sizes,
        (cc.resolve(types),) * rank + (pw("add").resolve(types),) * rank,
        replace(trace(weigh, parameters, what="stencil"), contract=True),
        (
            array_view("I", array, (neighbour,), None if mode == "valid" else mode, fill),
            array_view("F", weights, (weight,)),
        ),
        (contiguous("O", result, sizes, tuple(range(rank))),),
        None if result == weights.dtype else cast,
        names=_dim_names(rank, "pqo") + _dim_names(rank, "rst"),
    )


@dataclass(frozen=True)
class _Neighbourhood:
    """A function of neighbours whose code and numbers fix what it computes: two of the same identity are equal.

    The function is held weakly, since entries outlive it.
    """

    identity: Hashable
    function: "ref[Callable[..., Any]]" = field(compare=False)


def _of_function(array: NDArray, function: Callable[..., Any], mode: str, cval: float) -> Any:
    fill = _fill(array, mode, cval)
    known = identity(function)
    # What else a function refers to may change: what it computes now is traced at each call.
    traced = _trace_neighbours(function, array.dtype, array.ndim) if known is None else None
    computed = traced or _Neighbourhood(known, ref(function))
    return call((_FUNCTION, computed, mode, fill), (array,))


def of_text(
    a: npt.ArrayLike, source: str, offsets: tuple[Offset, ...], results: Sequence[np.dtype[Any]], mode: str, cval: float
) -> Any:
    """Compute a stencil of OpenCL C text that takes the neighbours at some offsets, in order; all else as `stencil`."""
    known, array = _mode(mode), _array(a)
    if any([len(offset) != array.ndim for offset in offsets]):
        raise IndexError(f"offsets {offsets} for an array of {array.ndim} axes; one number an axis")
    fill = _fill(array, known, cval)
    scalar = trace_text(source, [array.dtype] * len(offsets), results, "stencil", "offsets")
    return call((_FUNCTION, (offsets, scalar), known, fill), (array,))


def _describe_function(
    arrays: Sequence[NDArray], computed: _Neighbourhood | tuple[tuple[Offset, ...], Function], mode: str, fill: str
) -> Described:
    (array,) = arrays
    if isinstance(computed, _Neighbourhood):
        function = computed.function()
        assert function is not None  # it is being called
        computed = _trace_neighbours(function, array.dtype, array.ndim)
    offsets, scalar = computed
    below, above = [tuple([bound(0, *[o[d] for o in offsets]) for d in range(array.ndim)]) for bound in (min, max)]
    extents = _extents(array.shape, below, above, mode)
    if mode == "valid":  # where the first point is the first one with all neighbours
        offsets = tuple([tuple([k - low for k, low in zip(o, below, strict=True)]) for o in offsets])
    return Described(_written_out(array, extents, offsets, scalar, mode, fill), None, results)


_WEIGHTS = Routine("stencil", describe_weights)
_FUNCTION = Routine("stencil", _describe_function)


# Functions of neighbours: what they compute, and which are the same one, so that a repeat call need not trace.


@dataclass(frozen=True)
class _Neighbours:
    """What a stencil function is given: ``n[offsets]`` reads one neighbour."""

    _rank: int
    _read: Callable[[Offset], Any]

    def __getitem__(self, offsets: Any) -> Any:
        found = tuple(map(operator.index, offsets if isinstance(offsets, tuple) else (offsets,)))
        if len(found) != self._rank:
            raise IndexError(f"n[{', '.join(map(str, found))}] for an array of {self._rank} axes; one offset an axis")
        return self._read(found)


def _trace_neighbours(
    function: Callable[..., Any], dtype: np.dtype[Any], rank: int
) -> tuple[tuple[Offset, ...], Function]:
    """Give the offsets that a function reads, and the function of the values there."""
    found: dict[Offset, None] = {}

    def collect(value: Any) -> Any:
        def read(offset: Offset) -> Any:
            found[offset] = None
            return value

        return function(_Neighbours(rank, read))

    trace(collect, [dtype], what="stencil")
    if not found:
        raise ValueError("the function uses no neighbour n[...]")
    offsets = tuple(sorted(found))

    def apply(*values: Any) -> Any:
        return function(_Neighbours(rank, dict(zip(offsets, values, strict=True)).__getitem__))

    return offsets, trace(apply, [dtype] * len(offsets), what="stencil")


_NUMBERS = (bool, int, float, np.number)
#: Numbers that their type and bytes fix: no unit, no padding, nothing that a subclass adds.
_PLAIN = frozenset(dtype.type for dtype in SUPPORTED)


def identity(function: Callable[..., Any]) -> Hashable | None:
    """Give what fixes the function's result, its code and the numbers it refers to; None where that cannot be told.

    So lambdas written in a loop share a plan, and a function that refers to a variable sees its new value.
    """
    if not isinstance(function, FunctionType) or function.__kwdefaults__:
        return None
    names = _globals_read(function.__code__)
    if names is None:
        return None
    known = function.__globals__
    numbers: list[Hashable] = []
    cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    for value in (*cells, *(function.__defaults__ or ()), *(known[name] for name in names if name in known)):
        if isinstance(value, np.number) and type(value) in _PLAIN:
            numbers.append((type(value), value.tobytes()))
        elif isinstance(value, _NUMBERS):
            numbers.append((type(value), repr(value)))  # 0.0 equals -0.0, and NaN nothing
        elif value is np or isinstance(value, np.ufunc):
            numbers.append(value)
        else:
            return None
    return (function.__code__, *numbers)


@lru_cache(maxsize=512)
def _globals_read(code: CodeType) -> tuple[str, ...] | None:
    """Give the names of global variables that the code reads; None if it does more than read them."""
    if any(isinstance(constant, CodeType) for constant in code.co_consts):
        return None
    steps = list(dis.get_instructions(code))
    if any(step.opname.startswith(("IMPORT", "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")) for step in steps):
        return None
    return tuple(dict.fromkeys(step.argval for step in steps if step.opname == "LOAD_GLOBAL"))
