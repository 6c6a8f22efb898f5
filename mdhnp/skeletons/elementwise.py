"""`map` and `zip`: a function of one element of each array, at every place."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy.typing as npt

from mdhnp.frontend.computation import Computation
from mdhnp.frontend.public import public
from mdhnp.mdh import cc
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.skeletons.skeleton import RESULTS, SYSTEMS, DTypes, Shape, Skeleton, accesses, broadcast, computation

_RAISES = {
    "TypeError": "If the function is neither, or called with values that it cannot be recorded with.",
    "ValueError": "When called, if arrays cannot be broadcast, or text takes another number of values.",
}


def _elementwise(public: Callable[..., Skeleton], function: Callable[..., Any] | str, results: Any) -> Skeleton:
    if not (callable(function) or isinstance(function, str)):
        raise TypeError(f"{function!r} is neither a function nor OpenCL C text")

    def structure(shapes: tuple[Shape, ...]) -> Any:
        if public is map and len(shapes) != 1:
            raise TypeError(f"takes one array, {len(shapes)} are given; use zip")
        return broadcast(shapes)

    def make(structure: Any, dtypes: DTypes) -> Computation:
        rank, indices = structure
        return computation(function, dict.fromkeys(dimension_names(rank), cc), accesses(indices), dtypes, results)

    return Skeleton(partial(public, function, results=results), structure, make, function, results)


@public(
    """Apply a function to one element of each array: ``zip(f)(x, y)[i] = f(x[i], y[i])``.

Arrays are broadcast as NumPy does, so that ``zip(f)(x, 2.0)`` takes a number along.""",
    function="callable or str: One value of each array to a value, or a tuple for several results: a NumPy ufunc, a "
    "Python function as :func:`mdhnp.md_hom` takes it, or OpenCL C text whose last function it is.",
    results=RESULTS,
    returns="Skeleton: To be called on arrays.",
    raises=_RAISES,
    notes=f"``md_hom(f, (++, …, ++)) ∘ (A[i], B[i]) -> O[i]``. Source: {SYSTEMS}, Section 2.4.",
    example="""
>>> mult = mdhnp.skeletons.zip("float mult(float x, float y) { return x * y; }")
>>> mult(np.array([1, 2], np.float32), np.array([3, 4], np.float32))
array([3., 8.], dtype=float32)""",
)
def zip(function: Callable[..., Any] | str, results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None) -> Skeleton:
    return _elementwise(zip, function, results)


@public(
    "Apply a function to every element of an array: ``map(f)(x)[i] = f(x[i])``.",
    function="callable or str: One value to a value, or a tuple for several results, as in :func:`zip`.",
    results=RESULTS,
    returns="Skeleton: To be called on an array.",
    raises=_RAISES | {"ValueError": "When called, if text takes another number of values."},
    example="""
>>> square = mdhnp.skeletons.map(lambda x: x * x)
>>> square(np.array([[1, 2], [3, 4]]))
array([[ 1,  4],
       [ 9, 16]])""",
)
def map(function: Callable[..., Any] | str, results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None) -> Skeleton:
    return _elementwise(map, function, results)
