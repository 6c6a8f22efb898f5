"""The NumPy tier: NumPy's own function for an MDH, where there is one.

Takes MDHs, gives functions of their inputs: for sums of products `dot`, `matmul`, `matvec` or `einsum`, for maps,
reductions and scans ufuncs (`ufuncs.py`). It must not know devices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, singledispatch
from math import prod
from os import cpu_count
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mdhnp.calls.ufuncs import einsum, map_by_ufuncs, reduction_by_ufunc, row_sums
from mdhnp.cost.machine import usual_numpy
from mdhnp.cost.seconds import numpy_seconds
from mdhnp.cost.work import NumpyWork
from mdhnp.mdh import Computation, MdHom, View
from mdhnp.mdh.subscripts import subscripts

__all__ = ["NumpyFunction", "dot", "einsum", "numpy_function", "roughly"]

Compute = Callable[..., Any]

dot = np.ndarray.dot

#: Types that BLAS multiplies; float16 as float32.
_BLAS = "fdFDe"
#: Types of which an einsum takes at least five times as long as a product of matrices.
_SLOW_EINSUMS = "?FD"
#: Extent up to which a product of integer matrices, which is not BLAS's, takes less time than an einsum.
_SMALL = 8
#: Elements of a result from which on `matmul`, which begins later than `dot`, is up to a quarter faster on 16 cores.
_LARGE = 1 << 14
#: Points from which on NumPy's search for the order of products takes less time than what it saves (15 µs).
_OPTIMIZED = 1 << 15
_USUAL = usual_numpy(cpu_count() or 1)


@dataclass(frozen=True)
class NumpyFunction:
    """A function of NumPy's in place of kernels."""

    #: What it is, for people.
    name: str
    #: Takes the MDH's inputs, gives a new C-contiguous array or a scalar.
    compute: Compute = field(repr=False, compare=False)
    #: What it does.
    work: NumpyWork


@singledispatch
def numpy_function(h: Computation) -> NumpyFunction | None:
    """Return the NumPy function that computes an MDH; None where there is none, and for what is fused.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = np.ones((3, 4))
    >>> sums = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "A[i,j] -> O[i]")
    >>> numpy_function(sums.bind(a)).compute(a)
    array([4., 4., 4.])
    """
    return None


@numpy_function.register
def _(h: MdHom) -> NumpyFunction | None:
    if len(h.outputs) != 1:
        return None
    found = map_by_ufuncs(h)
    if found is None and (text := subscripts(h)) is not None:
        return _sum_of_products(h, text)
    found = found or reduction_by_ufunc(h)
    return None if found is None else _function(h, found[0], found[1], walked=found[2])


def roughly(function: NumpyFunction) -> float:
    """Return the seconds that a function takes on a usual machine, within a factor of 3 or so; measures nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = np.ones((512, 512), np.float32)
    >>> product = mdhnp.md_hom(
    ...     np.multiply, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("add")}, "A[i,k], B[k,j] -> C[i,j]"
    ... ).bind(a, a)
    >>> 1e-4 < roughly(numpy_function(product)) < 1e-2
    True
    """
    return numpy_seconds(function.work, _USUAL)[0]


def _function(
    h: MdHom, name: str, compute: Compute, multiplied: int = 0, walked: int = 0, copied: int = 0
) -> NumpyFunction:
    result = h.outputs[0].dtype
    moved = sum([v.element_bytes for v in (*h.inputs, *h.outputs)])
    return NumpyFunction(name, compute, NumpyWork(result.char, multiplied, walked, moved, copied * result.itemsize))


def _sum_of_products(h: MdHom, text: str) -> NumpyFunction:
    given, _, output = text.partition("->")
    terms = given.split(",")
    if len(terms) == 2 and (product := _matrix_product(h, terms[0], terms[1], output)) is not None:
        return product
    sums = row_sums(h.inputs[0], terms[0], output) if len(terms) == 1 else None
    walked = h.points if len(terms) > 1 else h.points // 4
    return _function(h, f'numpy.einsum("{text}")', sums or _einsum(h, text), walked=walked)


def _einsum(h: MdHom, text: str) -> Compute:
    """Return an einsum whose result is new and C-contiguous; NumPy chooses the layout in which it is fastest."""
    terms, _, output = text.partition("->")
    char, view = h.outputs[0].dtype.char, {*terms} == {*output}  # of one array: other axes, or its diagonal
    if char == "e" and not view:
        return _through_float32(lambda *arrays: einsum(text, *arrays, dtype=np.float32, order="C"))
    if view:
        return lambda a: einsum(text, a).copy()
    alone = any([terms.count(n) == 1 for n in {*terms} - {*output} - {","}])  # which NumPy sums first
    if (alone or terms.count(",") > 1) and "," in terms and char in _BLAS and h.points >= _OPTIMIZED:
        return lambda *arrays: _in_order(np.einsum(text, *arrays, optimize=True))
    return (lambda *arrays: np.ascontiguousarray(einsum(text, *arrays))) if output else partial(einsum, text)


def _in_order(found: Any) -> Any:
    return np.ascontiguousarray(found) if found.ndim else found[()]


def _through_float32(compute: Compute) -> Compute:
    """Let what is computed of float16 be rounded once."""
    return lambda *arrays: compute(*arrays).astype(np.float16)


def _matrix_product(h: MdHom, first: str, second: str, output: str) -> NumpyFunction | None:
    """Return the product of two operands as matrices, in stacks or not; None where an einsum is as good."""
    a, b = h.inputs
    sums = [n for n in first if n not in output]
    if not sums or {*sums} != {*second} - {*output} or len({*first}) < len(first) or len({*second}) < len(second):
        return None
    batch = [n for n in output if n in first and n in second]
    rows, columns = [n for n in output if n not in second], [n for n in output if n not in first]
    swapped = not rows or (columns and rows[-1] == output[-1])  # neighbours in the result are columns
    if swapped:
        a, b, first, second, rows, columns = b, a, second, first, columns, rows
    larger, labels = max((a, first), (b, second), key=lambda operand: prod(operand[0].shape))
    sums.sort(key=lambda n: -abs(larger.strides[labels.index(n)]))
    extents = dict(zip(first + second, a.shape + b.shape, strict=True))
    shape = [prod([extents[n] for n in group]) for group in (rows, columns, sums)]
    left, left_copied = _as_matrices(a, first, batch, [rows, sums] if rows else [sums], extents)
    right, right_copied = _as_matrices(b, second, batch, [sums, columns] if columns else [sums], extents)
    finish, result_copied = _from_matrices([[n] for n in batch] + [g for g in (rows, columns) if g], output, extents)
    result = h.outputs[0].dtype
    blas = result.char in _BLAS
    if 0 in h.extents or not (blas or result.char == "?" or max(shape) <= _SMALL):
        return None
    if not columns and ((batch and not rows) or (left_copied and result.char not in _SLOW_EINSUMS)):
        return None  # each element of the matrices is used once, so that copying them does not pay
    multiply: Compute
    name, multiply = ("matmul", np.matmul) if columns else ("matvec", np.matvec)
    if not batch and not (rows and columns and shape[0] * shape[1] >= _LARGE):
        name, multiply = "dot", dot
    elif batch:
        multiply = partial(multiply, order="C")

    def product(x: Any, y: Any) -> Any:
        if swapped:
            x, y = y, x
        found = multiply(x if left is None else left(x), y if right is None else right(y))
        return found if finish is None else finish(found)

    compute: Compute = product if swapped or left or right or finish else multiply
    if result.char == "e":
        compute = _through_float32(lambda x, y: product(x.astype(np.float32), y.astype(np.float32)))
    copied = left_copied + right_copied + result_copied
    copied += sum([prod(v.shape) for v in h.inputs if v.dtype != result or result.char == "e"])
    if columns and abs(b.strides[second.index(sums[-1])]) == 1:  # BLAS copies what it reads along the sum
        copied += prod(b.shape)
    return _function(
        h, f"numpy.{name}", compute, multiplied=blas * h.points, walked=(not blas) * h.points, copied=copied
    )


def _as_matrices(
    view: View, labels: str, batch: Sequence[str], groups: Sequence[Sequence[str]], extents: dict[str, int]
) -> tuple[Compute | None, int]:
    """Return what makes a stack of matrices of an array, None if it is that; and how many elements are copied for it.

    Each group of labels is an axis. Whether NumPy copies to reshape is asked of an array of these strides without any
    memory. BLAS itself copies matrices whose rows are not of neighbours.
    """
    axes = tuple([labels.index(n) for n in (*batch, *[n for group in groups for n in group])])
    shape = (*[extents[n] for n in batch], *[prod([extents[n] for n in group]) for group in groups])
    strides = [view.dtype.itemsize * s for s in view.strides]
    array = as_strided(np.empty(0, view.dtype), view.shape, strides).transpose(axes)
    try:
        near = [s == view.dtype.itemsize for s in array.reshape(shape, copy=False).strides]
    except ValueError:
        near = [False, False]
    if len(groups) > 1 and not (near[-1] or near[-2] or 1 in shape[-2:]):
        return lambda x: np.array(x.transpose(axes), order="C").reshape(shape), prod(shape)
    if axes != tuple(range(len(axes))):
        return (lambda x: x.transpose(axes).reshape(shape)), 0
    return (None if len(axes) == len(shape) else lambda x: x.reshape(shape)), 0


def _from_matrices(groups: Sequence[Sequence[str]], output: str, extents: dict[str, int]) -> tuple[Compute | None, int]:
    """Return what brings the axes of a product into order, None if they are, and how many elements that copies."""
    shape, order = tuple([extents[n] for n in output]), "".join([n for group in groups for n in group])
    if order == output:
        return (None if len(groups) == len(output) else lambda product: product.reshape(shape)), 0
    apart, axes = tuple([extents[n] for n in order]), tuple([order.index(n) for n in output])
    return lambda product: np.ascontiguousarray(product.reshape(apart).transpose(axes)), prod(shape)
