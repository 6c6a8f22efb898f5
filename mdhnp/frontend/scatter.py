"""What goes where integers say, and is combined there: `bincount`, and `at` of the ufuncs that a dimension combines by.

The elements that go to one place are a segment of those sorted by their places (:mod:`mdhnp.mdh.scatter`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array, is_array, make
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.arrays import brought, device_of
from mdhnp.calls.handwritten import COUNTED, beginnings, combine_at, has_atomics, reach
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import addressable, fits
from mdhnp.cost import NumpyWork
from mdhnp.frontend.array_adapted import package
from mdhnp.frontend.ordering import has_kernels, in_order
from mdhnp.frontend.public import public
from mdhnp.mdh import Pattern, cc, md_hom, pw, trace
from mdhnp.settings import config

NDArray = npt.NDArray[Any]

#: Ufuncs with what combines their second operands: `a - x - y` is `a + (-x + -y)`.
_COMBINED: dict[str, tuple[np.ufunc, str]] = {
    "add": (np.add, "add"), "subtract": (np.subtract, "add"), "multiply": (np.multiply, "mul"),
    "maximum": (np.maximum, "max"), "minimum": (np.minimum, "min"),
}  # fmt: skip
#: Elements up to which NumPy's loop takes less time than sorting and a launch (7 ns each).
_FEW = 1 << 13
#: Nanoseconds of NumPy's loop over rows an element, by those of its other loops.
_SLOW = 7


@public(
    "Count how often each whole number occurs, or add the weights of those, as ``numpy.bincount`` does.",
    x="array_like: Whole numbers, none less than 0, along one axis.",
    weights="array_like, optional: One each, which are added in float64 in place of ones.",
    minlength="int: How many results there are at least.",
    unordered="bool: Whether a device with memory of its own may add weights in any order, so that sums are not the "
    "same bits in each call; faster where no number occurs very often. By default sums are the same bits in each call "
    "on a device, and with ``config.deterministic`` on all devices.",
    returns="ndarray or Array: Of so many elements as the largest number and one, or `minlength`; int64, or float64 "
    "with `weights`.",
    raises={
        "ValueError": "If a number is less than 0, there is another number of axes or weights, or `minlength` is less "
        "than 0.",
        "TypeError": "If `x` cannot be converted to integers, or `weights` to float64, safely.",
    },
    notes="NumPy computes it of ndarrays: its loop takes no longer than sorting does. Of Arrays the largest number is "
    "read, which says how many results there are.",
    example=">>> mdhnp.bincount(np.array([0, 2, 2]), minlength=4)\narray([1, 0, 2, 0])",
)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0, *, unordered: bool = False) -> Any:
    given = [a for a in (x, weights) if isinstance(a, Array) or is_array(a)]
    if not given:
        return np.bincount(x, weights, minlength)
    device = device_of("bincount", given)
    count, places = _count_there(x, minlength), x
    if count is None:
        places = x.numpy() if isinstance(x, Array) else np.asarray(x)
        counts = np.bincount(places, minlength=minlength)
        if weights is None or not places.size:  # NumPy's result of no numbers is int64, whatever weighs them
            return brought(counts, device)
        places = x if isinstance(x, Array) else places.astype(np.intp)
    elif weights is None:
        begin = beginnings(in_order(x), count)
        return begin[1:] - begin[:-1]
    else:
        places = _without_sign(x)
    weights = weights if isinstance(weights, Array) else np.asarray(weights)
    if weights.shape != places.shape:
        raise ValueError(f"weights: of shape {weights.shape}, x is of shape {places.shape}")
    if not np.can_cast(weights.dtype, np.float64):
        raise TypeError(f"weights: {weights.dtype} cannot be converted to float64 safely")
    if unordered and count is not None:
        sums = package().zeros(count, dtype=np.float64, device=device)
        if _in_any_order("add", sums, places, weights):
            return sums
    return call((_WEIGHED, len(counts) if count is None else count), (weights, places))


def _count_there(x: Any, minlength: int) -> int | None:
    """How many results there are of an Array whose device counts; None where NumPy counts, or says what is wrong."""
    if not isinstance(x, Array) or x.ndim != 1 or not x.size or not has_kernels(x):
        return None
    if x.dtype.kind not in "iu" or x.dtype == np.uint64:
        return None
    least = len(np.bincount(np.empty(0, np.intp), minlength=minlength))  # NumPy's errors
    reached = reach(x.device, in_order(_without_sign(x))._view)
    return None if reached is None or reached > min(int(np.iinfo(x.dtype).max) + 1, COUNTED) else max(reached, least)


def _without_sign(x: Array) -> Array:
    """The same bits as numbers without a sign, of which those less than 0 are very large."""
    return make(x._view.view(f"u{x.dtype.itemsize}"), x.device)


_weighed = md_hom(lambda w: w.astype(np.float64), {"i": pw("add")}, "weights[i] -> sums[x[i]]")
_WEIGHED = Routine("bincount", lambda arrays, count: Described(_weighed.bind(*arrays, x=count)))


def at(name: str) -> Callable[..., None]:
    """Make the method `at` of the function of a ufunc's name."""
    ufunc, _ = _COMBINED[name]
    said = f"{name}.at"

    @public(
        f"Change elements by ``{name}``, each as often as it is named, as ``numpy.{name}.at`` does.",
        a="ndarray or Array: What is changed.",
        indices="array_like: Whole numbers, along the first axis; of ndarrays anything that indexes them.",
        b="array_like: The second operands, broadcast to ``a[indices]``.",
        unordered="bool: Whether a device with memory of its own may take them in any order, so that sums of floats "
        "are not the same bits in each call; faster. By default they are on one device, and with "
        "``config.deterministic`` on all devices.",
        raises={
            "IndexError": "If an index is less than -n, or n or more, of n elements; if indices of an Array are no "
            "whole numbers.",
            "ValueError": "If `b` cannot be broadcast. If Arrays are on different devices.",
            "TypeError": "If `a` is an ndarray, and others are Arrays; if it is an Array, and results are of another "
            "kind of types.",
        },
        example=f">>> a = np.array([1, 2, 3])\n>>> mdhnp.{said}(a, [0, 0, 2], 5)\n>>> a\n"
        f"array({_changed(ufunc).tolist()})",
        name=said,
    )
    def function(a: Any, indices: Any, b: Any, /, *, unordered: bool = False) -> None:
        if isinstance(a, Array):
            operands = _there(ufunc, a, _whole(indices), b)
            if not a.size:  # but indices may be outside
                np.broadcast_to(False, a.shape[:1])[x.numpy() if isinstance(x := operands[1], Array) else x]
            elif operands[1].size and not (unordered and _in_any_order(name, *operands)):
                a[...] = call((_AT, name), operands)
        elif isinstance(indices, Array) or isinstance(b, Array):
            raise TypeError("a must be an Array, as others are")
        elif (rows := _rows(ufunc, a, indices, b)) is not None:
            np.copyto(a, call((_AT, name), rows))
        else:
            _by_numpy(ufunc, a, indices, b)

    return function


def _by_numpy(ufunc: np.ufunc, a: NDArray, indices: Any, b: Any) -> None:
    """What ``ufunc.at`` does, which in NumPy 2.4 reads outside of a `b` that indices of several axes repeat."""
    numbers = isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype.kind in "biufc"
    if numbers and np.ndim(b) and np.shape(b) != getattr(indices, "shape", ()):
        b = np.broadcast_to(b, np.shape(a[indices]))
    ufunc.at(a, indices, b)


def _changed(ufunc: np.ufunc) -> NDArray:
    a = np.array([1, 2, 3])
    ufunc.at(a, [0, 0, 2], 5)
    return a


def _whole(indices: Any) -> Any:
    if isinstance(indices, tuple):  # one of several axes, as NumPy reads it
        if len(indices) != 1:
            raise IndexError(f"indices of an Array are along its first axis, not a tuple of {len(indices)}")
        (indices,) = indices
    found = indices if isinstance(indices, Array) or is_array(indices) else np.asarray(indices)
    if isinstance(indices, list) and not found.size:
        found = found.astype(np.intp)
    if found.dtype.kind not in "iu":
        raise IndexError(f"indices of an Array must be whole numbers along its first axis, not {found.dtype}")
    return found if found.ndim else found.reshape(1)


def _there(ufunc: np.ufunc, a: Array, indices: Any, b: Any) -> tuple[Any, ...]:
    """The operands where an Array is changed."""
    if not a.ndim or (indices.size and not a.shape[0]):
        raise IndexError("an Array without axes, or of no elements along its first one, has no indices")
    if isinstance(b, int | float | complex):
        try:
            b = np.asarray(b, np.result_type(a.dtype, b))
        except OverflowError:
            b = np.asarray(b)  # which NumPy wraps, as its sums and products
            b = b if ufunc in (np.maximum, np.minimum) else b.astype(a.dtype)
    b = b if isinstance(b, Array) or is_array(b) else np.asarray(b)
    _check(ufunc, a, indices, b)
    return a, indices, b


def _in_any_order(name: str, a: Array, indices: Any, b: Any) -> bool:
    """Change an Array in any order, where its device can; whether it was done."""
    if not (has_kernels(a) and has_atomics(name, a.dtype, a.device) and a._view.flags.c_contiguous):
        return False
    if b.dtype != a.dtype and np.result_type(a.dtype, b.dtype) != a.dtype:
        return False
    m, device = package(), a.device
    at, values = (x if isinstance(x, Array) else m.asarray(x, device=device) for x in (indices, b))
    if (values.dtype, values.shape) != (a.dtype, shape := (*at.shape, *a.shape[1:])):
        values = m.broadcast_to(m.astype(values, a.dtype, copy=False), shape)
    # What is changed is not to be read meanwhile.
    apart = [x.copy() if np.may_share_memory(x._view, a._view) else in_order(x) for x in (at, values)]
    return combine_at(name, a, *apart)


def _check(ufunc: np.ufunc, a: Any, indices: Any, b: Any) -> None:
    """Raise ValueError where `b` cannot be broadcast, TypeError where the result may not be put into `a`."""
    shape = (*indices.shape, *a.shape[1:])
    if b.shape != shape and np.broadcast_shapes(b.shape, shape) != shape:
        raise ValueError(f"b of shape {b.shape} cannot be broadcast to {shape}")
    common = a.dtype if b.dtype == a.dtype else np.result_type(a.dtype, b.dtype)
    if ufunc is np.subtract and common.kind == "b":
        ufunc.resolve_dtypes((a.dtype, b.dtype, None))  # its error
    # NumPy converts after each step, by any rule: what is converted in the end must be the same then.
    rule: Any = "safe" if ufunc in (np.maximum, np.minimum) and a.dtype.kind in "iu" else "same_kind"
    if not np.can_cast(common, a.dtype, rule):
        raise TypeError(f"{common} cannot be put into an array of {a.dtype} by the rule {rule!r}; convert b")


def _rows(ufunc: np.ufunc, a: Any, indices: Any, b: Any) -> tuple[Any, ...] | None:
    """The operands where rows of an ndarray are changed, and so many that kernels may be faster; else NumPy is."""
    if type(a) is not np.ndarray or a.ndim < 2 or a.dtype.kind not in "iufc" or not fits(a):
        return None
    if isinstance(indices, tuple):
        if len(indices) != 1:
            return None
        (indices,) = indices
    try:
        indices, b = np.asanyarray(indices), np.asarray(b, np.result_type(a.dtype, b) if np.ndim(b) == 0 else None)
    except OverflowError:
        return None  # a number that NumPy wraps
    complex_order = a.dtype.kind == "c" and ufunc in (np.maximum, np.minimum)
    if indices.dtype.kind not in "iu" or b.dtype.kind not in "biufc" or complex_order or not a.flags.writeable:
        return None
    changed = prod((*indices.shape, *a.shape[1:]))
    few = changed <= _FEW or changed < a.size or prod(a.shape[1:]) < 4
    if not changed or not a.size or (few and config.host != "never"):
        return None
    try:
        _check(ufunc, a, indices, b)
    except (TypeError, ValueError):
        return None  # NumPy's own errors
    return addressable((a, indices if indices.ndim else indices.reshape(1), b))


@lru_cache(maxsize=256)
def _pattern(name: str, places: int, axes: int, walked: tuple[bool, ...], common: np.dtype[Any]) -> Pattern:
    """The pattern for so many axes of indices and of an element, by which of them operands walk."""
    rows, columns = ([f"{letter}{n}" for n in range(count)] for letter, count in (("p", places), ("q", axes)))
    last = [
        d if walks else "0" for d, walks in zip([*rows, *columns][places + axes - len(walked) :], walked, strict=True)
    ]
    place = ",".join([f"indices[{','.join(rows)}]", *columns])
    views = f"start[{place}], b[{','.join(last)}] -> a[{place}]"
    combine = dict.fromkeys(rows, pw(_COMBINED[name][1])) | dict.fromkeys(columns, cc)
    negative = name == "subtract"
    return md_hom(lambda start, b: -b.astype(common) if negative else b.astype(common), combine, views)


def _describe_at(arrays: Sequence[NDArray], name: str) -> Described:
    a, indices, b = arrays
    ufunc, _ = _COMBINED[name]
    common = np.result_type(a.dtype, b.dtype)
    shape = (*indices.shape, *a.shape[1:])
    walked = tuple([n == m and m != 1 for n, m in zip(b.shape, shape[len(shape) - b.ndim :], strict=True)])
    pattern = _pattern(name, indices.ndim, a.ndim - 1, walked, common)
    totals = pattern.bind(a, indices, b, indices=a.shape[0])
    types = [v.dtype for v in totals.inputs for _ in v.accesses]
    both = np.add if ufunc is np.subtract else ufunc
    finish = trace(lambda total, start, *_: both(start, total).astype(a.dtype), [*totals.scalar.dtypes, *types])
    (out,), combine = totals.outputs, totals.combine
    if both is np.add and common.kind in "fc":  # -0.0 stays where nothing is added
        zero = (repr((-common.type()).item()),)
        adding = [c if c.operator is None else replace(c, operator=replace(c.operator, identity=zero)) for c in combine]
        combine = tuple(adding)
    mdhom = replace(totals, combine=combine, outputs=(replace(out, dtype=a.dtype),), finish=finish)

    def by_numpy(a: NDArray, indices: NDArray, b: NDArray, *_: NDArray) -> NDArray:
        found = np.array(a, order="C")
        _by_numpy(ufunc, found, indices, b)
        return found

    moved = sum([v.element_bytes for v in (*mdhom.inputs, *mdhom.outputs)])
    work = NumpyWork(a.dtype.char, 0, _SLOW * prod(shape), moved, a.nbytes)
    return Described(mdhom, numpy=NumpyFunction(f"numpy.{name}.at", by_numpy, work))


_AT = Routine("at", _describe_at)
#: The methods, by the function's name.
AT = {name: at(name) for name in _COMBINED}
