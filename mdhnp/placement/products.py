"""A product of two arrays that is summed over axes of both, as products of matrices: BLAS computes them.

Takes the labels of an einsum's axes, their extents and how far apart elements lie; gives a function of the two arrays
that transposes and reshapes them, multiplies, and brings the result in order. All that depends on labels, extents and
strides alone is decided when the function is made. It must not know MDHs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Layout", "Product", "dot", "einsum", "is_large", "matrix_product"]

dot = np.ndarray.dot
# `np.einsum` itself takes as long to call this as this takes for small arrays.
einsum: Callable[..., Any] = getattr(np._core.multiarray, "c_einsum", np.einsum)  # type: ignore[attr-defined]

_Function = Callable[[Any], Any]
_Labels = Sequence[str]
_Strides = dict[str, int]
_Extents = Mapping[str, int]

#: Neighbours in a row beyond which a copy's inner loop gains no more by their number.
_ROW = 64
#: Elements of a product from which on `dot`, which begins sooner, is no faster.
_LARGE = 1 << 14


class Layout(NamedTuple):
    """An operand: the label of each axis, none twice, and the elements between neighbours along it."""

    labels: str
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Product:
    """Products of matrices.

    Attributes
    ----------
    compute : callable
        Takes the operands as they are, gives a new C-contiguous array, or a scalar.
    count, rows, columns, terms : int
        Number of products; rows and columns of the result of one, and the terms of its sums.
    copied : int
        Elements of operands and of the result that are copied to be in order.
    turned : int
        Elements of the right matrices if their rows lie along the sum.
    """

    compute: Callable[[Any, Any], Any]
    count: int
    rows: int
    columns: int
    terms: int
    copied: int
    turned: int


def is_large(*made: int) -> bool:
    """Say whether a product is a matrix so large that `matmul` is faster than `dot`, by up to a quarter on 16 cores."""
    return len(made) == 2 and min(made) > 1 and prod(made) >= _LARGE


def matrix_product(a: Layout, b: Layout, output: str, extents: _Extents) -> Product:
    """Give the product of two operands; what one of them has alone, the output has, too.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.ones((2, 3, 4)), np.ones((4, 3, 5))
    >>> extents = {"i": 2, "j": 3, "k": 4, "l": 5}
    >>> matrix_product(Layout("ijk", (12, 4, 1)), Layout("kjl", (15, 5, 1)), "il", extents).compute(a, b)
    array([[12., 12., 12., 12., 12.],
           [12., 12., 12., 12., 12.]])
    """
    long = [n for n in output if extents[n] > 1]
    in_a, in_b = _strides(a, extents), _strides(b, extents)
    if long and long[-1] not in in_b:  # columns are where the result's elements are neighbours
        found = _product(b, a, in_b, in_a, long, output, extents)
        compute = found.compute
        return Product(lambda x, y: compute(y, x), *_numbers(found))
    return _product(a, b, in_a, in_b, long, output, extents)


def _numbers(p: Product) -> tuple[int, int, int, int, int, int]:
    return p.count, p.rows, p.columns, p.terms, p.copied, p.turned


def _strides(layout: Layout, extents: _Extents) -> _Strides:
    """Give the strides of the axes that are longer than 1."""
    return {n: abs(s) for n, s in zip(layout.labels, layout.strides, strict=True) if extents[n] > 1}


def _product(
    a: Layout, b: Layout, in_a: _Strides, in_b: _Strides, long: _Labels, output: str, extents: _Extents
) -> Product:
    batch = [n for n in long if n in in_a and n in in_b]
    kept_a, kept_b = [n for n in long if n not in in_b], [n for n in long if n not in in_a]
    rows, columns = _orders(kept_a, in_a), _orders(kept_b, in_b)
    sums = _orders([n for n in in_a if n not in long], in_a, in_b)
    shape = [prod([extents[n] for n in group]) for group in (batch, kept_a, kept_b, sums[0])]
    size = shape[0] * shape[1] * shape[2]
    best: tuple[int, Any] = (-1, None)
    for s in sums:
        for r in rows:
            left = 0 if _fits(r, s, in_a, extents) else shape[0] * shape[1] * shape[3]
            for c in columns:
                right = 0 if _fits(s, c, in_b, extents) else shape[0] * shape[2] * shape[3]
                last = 0 if _placed(r, c, long) else size
                copied = left + right + last
                if best[1] is None or copied < best[0]:
                    best = (copied, (r, c, s, left > 0, right > 0))
    r, c, s, copy_a, copy_b = best[1]
    if not _placed(r, c, long):
        batch = sorted(batch, key=lambda n: -in_a[n])
    left_of = _operand(a, in_a, batch, r, s, s, extents, copy_a)
    right_of = _operand(b, in_b, batch, s, c, s, extents, copy_b)
    groups = [g for g in (r, c) if g] if s and not batch else [r, c]  # a product with a vector has an axis less
    compute = _multiplied(left_of, right_of, batch, r, c, groups, long, tuple([extents[n] for n in output]), extents)
    turned = shape[0] * shape[2] * shape[3] if s and c and in_b[s[-1]] == 1 and not copy_b else 0
    return Product(compute, shape[0], shape[1], shape[2], shape[3], best[0], turned)


def _orders(labels: _Labels, *layouts: _Strides) -> list[_Labels]:
    """Give the labels as they lie in each operand, from far apart to near, and as they stand."""
    if len(labels) < 2:
        return [labels]
    found: list[_Labels] = []
    for order in (*(sorted(labels, key=lambda n: -strides[n]) for strides in layouts), labels):
        if order not in found:
            found.append(order)
    return found


def _fits(first: _Labels, second: _Labels, strides: _Strides, extents: _Extents) -> bool:
    """Say whether two groups of axes are a matrix's axes as they lie, and neighbours are so along one of them."""
    for group in (first, second):
        for x, y in pairwise(group):
            if strides[x] != strides[y] * extents[y]:
                return False
    if not first or not second:
        return True
    return strides[first[-1]] == 1 or strides[second[-1]] == 1


def _placed(rows: _Labels, columns: _Labels, long: _Labels) -> bool:
    """Say whether a product can be written to its place: columns last, the rows' axes one after the other."""
    if not columns:
        return not rows or long[-len(rows) :] == rows
    if long[-len(columns) :] != columns:
        return False
    at = long.index(rows[0]) if rows else 0
    return long[at : at + len(rows)] == rows


def _operand(
    layout: Layout, strides: _Strides, batch: _Labels, first: _Labels, second: _Labels, sums: _Labels,
    extents: _Extents, copy: bool,
) -> _Function | None:  # fmt: skip
    """Give what makes a stack of matrices of an operand, or a vector where it is no more; None where it is that."""
    # A copy goes fast along long rows of neighbours, whichever of the matrix's axes they are.
    flat = not batch and bool(sums) and not (first and second)
    turn = not flat and copy and _row(first[-1:], strides, extents) > _row(second[-1:], strides, extents)
    order = [*batch, *second, *first] if turn else [*batch, *first, *second]
    labels = layout.labels
    axes = tuple([labels.index(n) for n in order] + [i for i, n in enumerate(labels) if n not in strides])
    groups = [[*first, *second]] if flat else [second, first] if turn else [first, second]
    wanted = (*[extents[n] for n in batch], *[prod([extents[n] for n in g]) for g in groups])
    reshaped = len(axes) != len(wanted) or len(groups[0]) != 1
    still = axes == tuple(range(len(axes)))
    steps: list[_Function] = []
    if not still:
        steps.append(lambda x: x.transpose(axes))
    if copy:
        steps.append(np.ascontiguousarray)
    if reshaped:
        steps.append(lambda x: x.reshape(wanted))
    if turn:
        steps.append(lambda x: x.swapaxes(-1, -2))
    return _chain(steps)


def _row(last: _Labels, strides: _Strides, extents: _Extents) -> int:
    return max([min(extents[n], _ROW) * (2 if strides[n] == 1 else 1) for n in last], default=0)


def _chain(steps: Sequence[_Function]) -> _Function | None:
    if not steps:
        return None
    if len(steps) == 1:
        return steps[0]
    first, second, *others = steps
    if not others:
        return lambda x: second(first(x))

    def every(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    return every


def _multiplied(
    left: _Function | None, right: _Function | None, batch: _Labels, rows: _Labels, columns: _Labels,
    groups: Sequence[_Labels], long: _Labels, shape: tuple[int, ...], extents: _Extents,
) -> Callable[[Any, Any], Any]:  # fmt: skip
    """Give the function of both operands; `shape` is the result's, `groups` are the axes of their product."""
    made = (*[extents[n] for n in batch], *[prod([extents[n] for n in g]) for g in groups])
    order = [*batch, *rows, *columns]
    if batch and order != long and _placed(rows, columns, long):
        return _in_place(left, right, batch, rows, columns, long, shape, made, extents)
    multiply: Callable[[Any, Any], Any] = _stacked if batch or is_large(*made) else dot
    finish: _Function | None = None
    if order != long:
        apart, axes = tuple([extents[n] for n in order]), tuple([order.index(n) for n in long])

        def finish(product: Any) -> Any:
            return np.ascontiguousarray(product.reshape(apart).transpose(axes)).reshape(shape)

    elif shape != made:

        def finish(product: Any) -> Any:
            return product.reshape(shape)

    if left is None and right is None and finish is None:
        return multiply

    def compute(a: Any, b: Any) -> Any:
        product = multiply(a if left is None else left(a), b if right is None else right(b))
        return product if finish is None else finish(product)

    return compute


def _stacked(a: Any, b: Any) -> Any:
    return np.matmul(a, b, order="C")


def _in_place(
    left: _Function | None, right: _Function | None, batch: _Labels, rows: _Labels, columns: _Labels, long: _Labels,
    shape: tuple[int, ...], made: tuple[int, ...], extents: _Extents,
) -> Callable[[Any, Any], Any]:  # fmt: skip
    """Let the products be written to a transposed view of the result."""
    groups = [*([n] for n in batch), *(list(g) for g in (rows, columns) if g)]
    order = sorted(groups, key=lambda g: long.index(g[0]))
    places = tuple([order.index(g) for g in groups])
    parts = tuple([prod([extents[n] for n in g]) for g in order])

    def compute(a: Any, b: Any) -> Any:
        x, y = a if left is None else left(a), b if right is None else right(b)
        result = np.empty(parts, x.dtype)
        np.matmul(x, y, out=result.transpose(places).reshape(made))
        return result.reshape(shape)

    return compute
