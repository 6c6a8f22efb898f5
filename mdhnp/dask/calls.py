"""The public functions: the package's own, on arrays of dask's.

What a function computes is seen by tracing it, as :func:`mdhnp.fuse` does; so whatever can be fused can be cut.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeVar

import dask.array as da
import numpy as np
from dask.base import is_dask_collection

import mdhnp
from mdhnp.arrays import Array
from mdhnp.arrays.array import each
from mdhnp.calls.operands import unsupported
from mdhnp.dask.graph import lowered
from mdhnp.documentation import public
from mdhnp.frontend.fuse import Fused, arrays_of
from mdhnp.frontend.pairwise import stand_in

_Function = TypeVar("_Function", bound=Callable[..., Any])


@public(
    "Call a function of arrays on arrays of dask's, in parts along their chunks.",
    function="callable: Any function of this package that computes, what :func:`mdhnp.md_hom`, :func:`mdhnp.fuse` and "
    "the skeletons make, or another that :func:`mdhnp.fuse` would take.",
    args="Its arguments, of which some are dask arrays, also in tuples, lists and dictionaries; ndarrays are given to "
    "all parts that read them.",
    kwargs="",
    returns="dask.array.Array, or what holds some: As the function gives arrays. Nothing is computed yet.",
    raises={
        "TypeError": "If there is no dask array among the arguments, another collection of dask's, or an array whose "
        "type or whose blocks kernels do not compute with; names it.",
        "ValueError": "If the sizes of an array's chunks are not known; what the function raises where shapes "
        "disagree.",
    },
    notes="""\
Each step that the function takes is an MDH. It is cut along the chunks of what it reads; each part is a call of this
package on ndarrays, made by a task. Along reduced dimensions parts give partial results, combined in a tree, neighbours
in order; along scanned ones each part goes on from the totals before it. Where operands have different chunks along a
dimension, the bytes that would be moved decide whose hold. Results have the chunks of the parts.

Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Definition 6.""",
    example="""
>>> import dask.array as da
>>> import mdhnp.dask
>>> x = da.from_array(np.arange(12.0).reshape(4, 3), chunks=(2, 3))
>>> def softmax(x):
...     powers = np.exp(x - x.max(axis=1, keepdims=True))
...     return powers / powers.sum(axis=1, keepdims=True)
>>> found = mdhnp.dask.apply(softmax, x)
>>> found.chunks
((2, 2), (3,))
>>> found.compute().sum(axis=1)
array([1., 1., 1., 1.])""",
    guard=False,
)
def apply(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    name = str(getattr(function, "__name__", type(function).__name__)).strip("<>").lower()
    given: list[Any] = []

    def note(x: Any) -> Any:
        if not isinstance(x, da.Array):
            if is_dask_collection(x):
                raise TypeError(f"{name}: a {type(x).__name__} is no dask array; its to_dask_array(lengths=True) is")
            return x
        given.append(_known(x, f"{name}: operand {len(given)}"))
        return _Operand(len(given) - 1)

    places, by_name = each(args, note), each(kwargs, note)
    if not given:
        raise TypeError(f"{name}: no argument is a dask array; call mdhnp's own function for others")

    def compute(copied: Sequence[int], *arrays: Any) -> Any:
        put: Callable[[Any], Any] = lambda x: arrays[x] if type(x) is _Operand else x  # noqa: E731
        found, number = function(*each(places, put), **each(by_name, put)), count()
        return each(found, lambda x: x.copy() if isinstance(x, Array) and next(number) in copied else x)

    plain = [stand_in(a.shape, a.dtype) for a in given]
    form = arrays_of(len(plain))
    rewriting, constants, sortings, seen, results, _ = Fused(partial(compute, ())).traced(plain, form)
    if sortings:
        raise TypeError(f"{name}: what {sortings[0].name} says where to put is no sum of blocks")
    if odd := [n for n, s in enumerate(seen) if s.strides is not None]:  # which no array in blocks is
        rewriting, constants, _, seen, results, _ = Fused(partial(compute, odd)).traced(plain, form)
    if not seen:
        raise TypeError(f"{name}: gives no array that it computes, but {results!r}")
    values = lowered(name, rewriting.after, [*given, *[da.from_array(c) for c in constants]])
    return each(results, lambda x: values[seen[x].value] if isinstance(x, int) and type(x) not in (int, bool) else x)


class _Operand(int):
    """Where an array is put, by its number."""


def _known(a: Any, what: str) -> Any:
    """Check that an array of dask's can be cut."""
    if any([np.isnan(n) for sizes in a.chunks for n in sizes]):
        raise ValueError(f"{what} has chunks of unknown sizes, {a.chunks}; call its compute_chunk_sizes() before")
    if type(a._meta) is not np.ndarray:
        raise TypeError(f"{what} has blocks that are {type(a._meta).__name__}, not ndarrays")
    if unsupported([np.empty(0, a.dtype)]):
        raise TypeError(f"{what} has dtype {a.dtype}, which OpenCL kernels do not compute; convert it, as by astype")
    return a


def _documented(summary: str, *, returns: str, example: str, **described: str) -> Callable[[_Function], _Function]:
    """Document a function that :func:`apply` computes; that names it in errors."""
    imports = ">>> import dask.array as da\n>>> import mdhnp.dask\n"
    raises = {"TypeError, ValueError": "As :func:`apply` raises them."}
    return public(summary, returns=returns, raises=raises, example=imports + example, guard=False, **described)


@_documented(
    "Evaluate the Einstein summation convention on arrays of dask's; see :func:`mdhnp.einsum` and :func:`apply`.",
    subscripts="str: One label an axis, as in ``numpy.einsum``.",
    operands="dask.array.Array or array_like: At least one is an array of dask's.",
    options="As for :func:`mdhnp.einsum`.",
    returns="dask.array.Array: Of the output labels' extents; nothing is computed yet.",
    example="""\
>>> a, b = da.ones((4, 6), chunks=(2, 3)), da.ones((6, 5), chunks=(2, 5))
>>> mdhnp.dask.einsum("ij,jk->ik", a, b).compute()[0]
array([6., 6., 6., 6., 6.])""",
)
def einsum(subscripts: Any, /, *operands: Any, **options: Any) -> Any:
    return apply(mdhnp.einsum, subscripts, *operands, **options)


@_documented(
    "Multiply matrices, or stacks of matrices, that are arrays of dask's; see :func:`mdhnp.matmul`, :func:`apply`.",
    x1="dask.array.Array or array_like: Of shape (..., n, k).",
    x2="dask.array.Array or array_like: Of shape (..., k, m).",
    options="As for :func:`mdhnp.matmul`.",
    returns="dask.array.Array: Of shape (..., n, m); nothing is computed yet.",
    example="""\
>>> mdhnp.dask.matmul(da.ones((2, 6), chunks=3), da.ones((6, 2), chunks=3)).compute()
array([[6., 6.],
       [6., 6.]])""",
)
def matmul(x1: Any, x2: Any, /, **options: Any) -> Any:
    return apply(mdhnp.matmul, x1, x2, **options)


@_documented(
    "Multiply and add along several axes of arrays of dask's; see :func:`mdhnp.tensordot` and :func:`apply`.",
    a="dask.array.Array or array_like: The operands.",
    b="dask.array.Array or array_like: The operands.",
    axes="int or pair of sequences of int: Which axes of `a` go with which ones of `b`.",
    options="As for :func:`mdhnp.tensordot`.",
    returns="dask.array.Array: With the other axes of `a`, then those of `b`; nothing is computed yet.",
    example="""\
>>> mdhnp.dask.tensordot(da.ones((2, 3, 4), chunks=2), da.ones((4, 3, 5), chunks=2), ([1, 2], [1, 0])).shape
(2, 5)""",
)
def tensordot(a: Any, b: Any, axes: Any = 2, **options: Any) -> Any:
    return apply(mdhnp.tensordot, a, b, axes, **options)


@_documented(
    "Give the dot product of arrays of dask's; see :func:`mdhnp.dot` and :func:`apply`.",
    a="dask.array.Array or array_like: Its last axis is multiplied, and added along.",
    b="dask.array.Array or array_like: Its last axis but one, or its only one, goes with that.",
    options="As for :func:`mdhnp.dot`.",
    returns="dask.array.Array: With the other axes of `a`, then those of `b`; nothing is computed yet.",
    example="""\
>>> int(mdhnp.dask.dot(da.arange(4, chunks=2), da.arange(4, chunks=2)).compute())
14""",
)
def dot(a: Any, b: Any, **options: Any) -> Any:
    return apply(mdhnp.dot, a, b, **options)


@_documented(
    "Compute every point of an array of dask's from its neighbours; see :func:`mdhnp.stencil` and :func:`apply`.",
    a="dask.array.Array: Of any number of axes.",
    weights="array_like or callable: As for :func:`mdhnp.stencil`.",
    mode="str: What stands for neighbours beyond the border.",
    cval='float: Their value where `mode` is "constant".',
    returns="dask.array.Array: Of the shape that :func:`mdhnp.stencil` gives; nothing is computed yet.",
    notes="Parts read their chunk, and of its neighbours as much as they need, whatever the mode and chunks' sizes.",
    example="""\
>>> squares = da.arange(6, chunks=2) ** 2
>>> mdhnp.dask.stencil(squares, lambda n: n[1] - n[-1], mode="wrap").compute()
array([-24,   4,   8,  12,  16, -16])""",
)
def stencil(a: Any, weights: Any, mode: str = "valid", cval: float = 0.0) -> Any:
    return apply(mdhnp.stencil, a, weights, mode, cval)


@_documented(
    "Describe a multi-dimensional homomorphism as :func:`mdhnp.md_hom` does, to be called on arrays of dask's.",
    args="As for :func:`mdhnp.md_hom`.",
    options="As for :func:`mdhnp.md_hom`.",
    returns="callable: Takes arrays of dask's, and gives one an output.",
    example="""\
>>> running = mdhnp.dask.md_hom(lambda x: x, {"i": mdhnp.ps("add")}, "x[i] -> y[i]")
>>> running(da.ones(7, dtype="i8", chunks=3)).compute()
array([1, 2, 3, 4, 5, 6, 7])""",
)
def md_hom(*args: Any, **options: Any) -> Callable[..., Any]:
    return partial(apply, mdhnp.md_hom(*args, **options))


@_documented(
    "Compute a function of arrays as a whole, as :func:`mdhnp.fuse` does, to be called on arrays of dask's.",
    function="callable: As for :func:`mdhnp.fuse`.",
    returns="callable: Takes arrays of dask's, and gives what the function gives, of them.",
    example="""\
>>> @mdhnp.dask.fuse
... def norms(a):
...     return np.sqrt((a * a).sum(axis=1))
>>> norms(da.ones((4, 9), chunks=(2, 5))).compute()
array([3., 3., 3., 3.])""",
)
def fuse(function: Callable[..., Any]) -> Callable[..., Any]:
    return partial(apply, function)
