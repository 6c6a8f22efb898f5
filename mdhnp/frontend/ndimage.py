"""SciPy's linear filters of images: `correlate`, `convolve`, `gaussian_filter` and `uniform_filter` of scipy.ndimage.

Each is one correlation, or one along each axis, as SciPy does them, and SciPy's own functions take NumPy's place: they
compute until kernels are known to be faster, and what kernels do not compute alike. It must not know devices.
"""

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from mdhnp.arrays.array import Array
from mdhnp.arrays.types import SUPPORTED
from mdhnp.calls import Described, Routine
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import deliver, fallback
from mdhnp.cost import NumpyWork
from mdhnp.frontend.map_reduce import computed_type
from mdhnp.frontend.stencil import MODES, correlated, describe_weights, holds

NDArray = npt.NDArray[Any]

#: SciPy's own functions: `mdhnp.patch` puts others in their place.
_CORRELATE, _CONVOLVE, _GAUSSIAN, _UNIFORM = (
    ndimage.correlate, ndimage.convolve, ndimage.gaussian_filter, ndimage.uniform_filter,
)  # fmt: skip
#: SciPy's correlation of several axes leaves out weights that are no larger.
_LEAST = np.finfo(np.float64).eps


class _Correlation(NamedTuple):
    """One of the correlations that a filter is."""

    #: As many axes as the array, those of no others having one element.
    weights: NDArray
    #: Which weights count.
    used: NDArray
    mode: str
    #: SciPy's function of the array and these weights, its keywords, and how many elements it reads for each point.
    scipys: tuple[str, tuple[tuple[str, Any], ...], int]


def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Correlate an array with weights, as `scipy.ndimage.correlate` does."""
    scipys = partial(_CORRELATE, input, weights, output, mode, cval, origin, **_known(axes))
    correlations = lambda rank: [_weighed(rank, weights, mode, cval, origin, axes)]  # noqa: E731
    return _filtered("correlate", scipys, input, output, cval, correlations)


def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Convolve an array with weights, as `scipy.ndimage.convolve` does."""

    def correlations(rank: int) -> list[_Correlation]:
        turned = np.flip(weights)
        origins = [-n - (1 - size % 2) for n, size in zip(_each(origin, turned.ndim), turned.shape, strict=True)]
        return [_weighed(rank, turned, mode, cval, origins, axes)]

    scipys = partial(_CONVOLVE, input, weights, output, mode, cval, origin, **_known(axes))
    return _filtered("convolve", scipys, input, output, cval, correlations)


def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: Any = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Filter an array by a Gaussian, or by derivatives of one, as `scipy.ndimage.gaussian_filter` does."""

    def correlations(rank: int) -> list[_Correlation]:
        along = _axes(axes, rank)
        each = zip(along, *[_each(a, len(along)) for a in (sigma, order, mode, radius)], strict=True)
        return [
            _along(
                rank, axis, _gaussian(float(s), n, truncate, r), m, "correlate1d", {"mode": m, "cval": _outside(cval)}
            )
            for axis, s, n, m, r in each if s > 1e-15  # SciPy's bound
        ]  # fmt: skip

    scipys = partial(_GAUSSIAN, input, sigma, order, output, mode, cval, truncate, radius=radius, axes=axes)
    return _filtered("gaussian_filter", scipys, input, output, cval, correlations)


def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Give the means of neighbours, as `scipy.ndimage.uniform_filter` does."""

    def correlations(rank: int) -> list[_Correlation]:
        along = _axes(axes, rank)
        each = zip(along, *[_each(a, len(along)) for a in (size, origin, mode)], strict=True)
        return [
            _along(
                rank, axis, _moved(np.full(int(n), 1 / int(n)), (o,)), m, "uniform_filter1d",
                {"size": int(n), "origin": o, "mode": m, "cval": _outside(cval)},
            )
            for axis, n, o, m in each if n > 1
        ]  # fmt: skip

    scipys = partial(_UNIFORM, input, size, output, mode, cval, origin, axes=axes)
    return _filtered("uniform_filter", scipys, input, output, cval, correlations)


# What arguments mean.


def _each(value: Any, count: int) -> list[Any]:
    """Give one value for each axis."""
    found = list(value) if np.iterable(value) and not isinstance(value, str) else [value] * count
    if len(found) != count:
        raise ValueError(f"{len(found)} values for {count} axes")
    return found


def _known(axes: Any) -> dict[str, Any]:
    """Give the keyword of these axes, which SciPy's correlations do not know in version 1.14."""
    return {} if axes is None else {"axes": axes}


def _outside(cval: Any) -> float:
    """Give `cval` as it is in keys of calls, in which there is one NaN."""
    return np.nan if cval != cval else float(cval)  # noqa: PLR0124


def _axes(axes: Any, rank: int) -> tuple[int, ...]:
    return tuple(range(rank)) if axes is None else np.lib.array_utils.normalize_axis_tuple(axes, rank)


def _weighed(rank: int, weights: Any, mode: Any, cval: Any, origin: Any, axes: Any) -> _Correlation:
    """Correlate along several axes at once."""
    along, weights = _axes(axes, rank), np.asarray(weights)
    if weights.dtype.kind not in "biuf" or weights.ndim != len(along) or along != tuple(sorted(along)):
        raise ValueError("weights")
    moved = _moved(weights.astype(np.float64), _each(origin, len(along)))
    moved = np.expand_dims(moved, [d for d in range(rank) if d not in along])
    used = np.abs(moved) > _LEAST
    if not used.any():
        raise ValueError("weights")
    return _Correlation(moved, used, mode, ("correlate", (("mode", mode), ("cval", _outside(cval))), weights.size))


def _along(rank: int, axis: int, weights: NDArray, mode: str, scipys: str, keywords: dict[str, Any]) -> _Correlation:
    """Correlate along one axis; weights that are 0 count, too, as NaN times 0 is NaN."""
    shape = [1] * rank
    shape[axis] = -1
    read = 2 if scipys == "uniform_filter1d" else weights.size
    return _Correlation(
        weights.reshape(shape), np.full(weights.size, scipys == "correlate1d" or weights != 0), mode,
        (scipys, (*keywords.items(), ("axis", axis)), read),
    )  # fmt: skip


def _moved(weights: NDArray, origin: Sequence[Any]) -> NDArray:
    """Put zeros beside weights, so that what is at ``size // 2 + origin`` becomes their centre."""
    around = []
    for size, moved in zip(weights.shape, map(operator.index, origin), strict=True):
        centre = size // 2 + moved
        if not 0 <= centre < size:
            raise ValueError("origin")
        around.append((max(size - 2 * centre - 1, 0), max(2 * centre - size, 0)))
    return np.pad(weights, around) if any([any(pair) for pair in around]) else weights


@lru_cache(maxsize=64)
def _gaussian(sigma: float, order: int, truncate: float, radius: int | None) -> NDArray:
    """Give the weights of SciPy's filter along one axis: what it makes of a single 1."""
    reach = operator.index(int(truncate * sigma + 0.5) if radius is None else radius)
    impulse = np.zeros(2 * reach + 1)
    impulse[reach] = 1
    found = ndimage.gaussian_filter1d(impulse, sigma, order=order, mode="constant", truncate=truncate, radius=radius)
    return found[::-1].copy()


# Calls.


def _filtered(
    name: str, scipys: Callable[[], Any], input: Any, output: Any, cval: Any,
    correlations: Callable[[int], list[_Correlation]],
) -> Any:  # fmt: skip
    """Make the correlations one after the other, or leave the call to SciPy's function."""
    if not isinstance(input, np.ndarray | Array | Sequence):  # SciPy may hand it on to its library
        return fallback(f"ndimage.{name}", f"a {type(input).__name__}", scipys, (input, output))
    array = input if type(input) is Array else np.asarray(input)
    into = isinstance(output, np.ndarray | Array)
    result = np.dtype(array.dtype if output is None else output.dtype if into else output).newbyteorder("=")
    reason, filters = _different(array, output if into else None, result, cval), []
    if reason is None:
        try:
            filters = correlations(array.ndim)
            if not filters or any([f.mode not in MODES or f.mode == "valid" for f in filters]):
                reason = "such arguments"
        except (TypeError, ValueError, IndexError):
            reason = "such arguments"  # of which SciPy tells what is wrong
    if reason is not None:
        return fallback(f"ndimage.{name}", reason, scipys, (input, output))
    for correlation in filters:
        array = _correlated(name, correlation, array, result, _outside(cval))
    return deliver(f"ndimage.{name}", array, output) if into else array


def _different(array: Any, output: Any, result: np.dtype[Any], cval: Any) -> str | None:
    """Say for which types and shapes results might not be SciPy's; None where they are, but for rounding."""
    if array.dtype.newbyteorder("=") not in SUPPORTED or array.dtype.kind not in "biuf" or array.dtype.char == "e":
        return f"an array of {array.dtype}"
    if result.char not in "fd":
        return f"a result of {result}"  # rounded down, so that a sum in another order may be 1 less
    if not array.ndim or not array.size:
        return "an array without elements or axes"
    if not isinstance(cval, Real):
        return "a cval that is no real number"
    if output is not None and (output.shape != array.shape or (type(output) is Array) != (type(array) is Array)):
        return "an output of another shape, or elsewhere"
    return None


def _correlated(name: str, what: _Correlation, array: Any, result: np.dtype[Any], cval: float) -> Any:
    mode = MODES[what.mode]
    if mode == "constant" and not holds(array.dtype, cval):
        array = array.astype(np.float64)
    weights = what.weights.astype(np.result_type(computed_type(array.dtype), result), copy=False)
    scipys = _by_scipy(what.scipys, result)
    numpy = None if type(array) is Array else partial(scipys, array, weights)
    return correlated(_ROUTINES[name], array, weights, what.used, result, mode, cval, what.scipys, numpy=numpy)


def _by_scipy(scipys: tuple[str, tuple[tuple[str, Any], ...], int], result: np.dtype[Any]) -> Callable[..., NDArray]:
    """Give SciPy's function of an array and weights."""
    name, keywords, _ = scipys
    function: Any = _CORRELATE if name == "correlate" else getattr(ndimage, name)
    options = dict(keywords) | {"output": result}
    if name == "uniform_filter1d":
        return lambda array, weights: function(array, **options)
    return lambda array, weights: function(array, weights.ravel() if name == "correlate1d" else weights, **options)


def _describe(
    arrays: Sequence[NDArray], used: bytes | bool, result: np.dtype[Any], mode: str, fill: str,
    scipys: tuple[str, tuple[tuple[str, Any], ...], int],
) -> Described:  # fmt: skip
    size, moved = arrays[0].size, arrays[0].nbytes + arrays[0].size * result.itemsize
    work = NumpyWork(result.char, 0, size * scipys[2], moved, 0)
    numpy = NumpyFunction(f"scipy.ndimage.{scipys[0]}", _by_scipy(scipys, result), work)
    return describe_weights(arrays, used, result, mode, fill)._replace(numpy=numpy)


_ROUTINES = {
    f.__name__: Routine(f"ndimage.{f.__name__}", _describe)
    for f in (correlate, convolve, gaussian_filter, uniform_filter)
}
