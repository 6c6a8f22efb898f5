"""The NumPy function that computes an MDH, where there is one: products of matrices, or an einsum.

Takes MDHs, gives functions of their inputs. It must not know devices, nor what anything costs.

NumPy has several for the same thing. Sums of products are BLAS's, except where matrices are single rows that would have
to be copied; float16 goes through float32; of integers NumPy multiplies small matrices only at once, and c_einsum the
others. What one operand has alone is summed first. c_einsum is fastest where it may choose the result's layout, even if
that is copied then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from math import prod
from os import cpu_count
from typing import Any, Literal

import numpy as np

from mdhnp.mdh import Computation, MdHom, View
from mdhnp.mdh.subscripts import subscripts
from mdhnp.placement.maps import numpy_map
from mdhnp.placement.products import Layout, Product, einsum, is_large, matrix_product
from mdhnp.placement.reductions import by_ufunc, row_sums

__all__ = ["NumpyFunction", "numpy_function", "roughly"]

#: Types that BLAS multiplies, and how many multiply-adds of float32 one of theirs takes as long as.
_BLAS = {"f": 1, "d": 2, "F": 4, "D": 8, "e": 1}
#: Seconds of a call, of one multiply-add in float32 by a core's BLAS, of a point that is walked through, of an element
#: that is copied, and of a byte that is read or written; types that are walked through more slowly.
_CALL, _MULTIPLY, _POINT, _COPIED, _BYTE = 1.5e-6, 1.7e-11, 4e-10, 1e-9, 3e-11
_SLOW = {"e": 8, "F": 4, "D": 4}
#: Cores that OpenBLAS uses where it has multiply-adds enough.
_CORES, _THREADED = max(cpu_count() or 1, 1), 1 << 20
#: Points of an einsum's inner loop from which on starting it costs little.
_LOOP = 16
#: Bytes of a result from which on another array of that size takes longer than a slow walk.
_LARGE = 1 << 20
#: Elements of a matrix from which on BLAS is faster for a stack of products with one vector each.
_MATRIX = 1 << 12
#: Rows, columns and terms up to which NumPy's own product of integer matrices is faster than its einsum.
_SMALL = 8


@dataclass(frozen=True)
class NumpyFunction:
    """A function of NumPy's in place of kernels.

    Attributes
    ----------
    name : str
        What it is, for people.
    compute : callable
        Takes the MDH's inputs, gives a new C-contiguous array or a scalar.
    multiplied : int
        Multiply-adds that BLAS does.
    walked : int
        Points of all loops that do not call BLAS; a sixth of them where these walk along rows of real numbers.
    elements : int
        Of operands and results, of all steps.
    copied : int
        Elements that are copied, to be in another order or of another type.
    turned : int
        Elements of a product's right operand, that with the result's last dimension, if they lie along the sum.
    """

    name: str
    compute: Callable[..., Any] = field(repr=False, compare=False)
    multiplied: int = 0
    walked: int = 0
    elements: int = 0
    copied: int = 0
    turned: int = 0


@singledispatch
def numpy_function(h: Computation) -> NumpyFunction | None:
    """Give the fastest function that computes an MDH; None where NumPy has none, and for what is fused.

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
    if (elementwise := _map(h)) is not None:
        return elementwise
    text = subscripts(h)
    if text is None:
        found = by_ufunc(h)
        return None if found is None else NumpyFunction(*found[:2], walked=found.walked, elements=_elements(h))
    given, _, output = text.partition("->")
    terms = given.split(",")
    elements = _elements(h)
    if len(terms) == 2 and 0 not in h.extents:
        return _pair(h, text, terms, output, elements)
    walked, compute = h.points, _einsum(text, len(terms))
    if len(terms) == 1 and 0 not in h.extents and len(set(terms[0])) == len(terms[0]):
        extents = dict(zip(terms[0], h.inputs[0].shape, strict=True))
        walked = _walked(h.points, [Layout(terms[0], h.inputs[0].strides)], output, extents, h.outputs[0].dtype.char)
        if set(terms[0]) > set(output) and output == "".join([n for n in terms[0] if n in output]):
            compute = row_sums(h.inputs[0], tuple([d for d, n in enumerate(terms[0]) if n not in output])) or compute
    return NumpyFunction(f'numpy.einsum("{text}")', compute, walked=walked, elements=elements)


def _map(h: MdHom) -> NumpyFunction | None:
    """Give the function of a map, if that is what it is; of rows NumPy walks six times as fast."""
    found = numpy_map(h)
    if found is None:
        return None
    inner = [d for index in h.outputs[0].accesses[0][-1:] for d in index.dims()]
    steps = [v.linear(a).coefficients[d] for d in inner for v in h.inputs for a in v.accesses if a]
    walked = found.weight * h.points // (6 if all([abs(s) <= 1 for s in steps]) else 1)
    return NumpyFunction(found.name, found.compute, walked=walked, elements=_elements(h))


def _elements(h: MdHom) -> int:
    return sum([prod(v.shape) for v in (*h.inputs, *h.outputs)])


def _walked(points: int, layouts: Sequence[Layout], output: str, extents: dict[str, int], char: str) -> int:
    return points // 6 if char not in "eFD" and _walks_in_rows(layouts, output, extents) else points


def roughly(function: NumpyFunction, h: Computation) -> float:
    """Give the seconds that a function takes on a usual machine, within a factor of 3 or so; measures nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = np.ones((512, 512), np.float32)
    >>> product = mdhnp.md_hom(
    ...     np.multiply, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("add")}, "A[i,k], B[k,j] -> C[i,j]"
    ... ).bind(a, a)
    >>> 1e-4 < roughly(numpy_function(product), product) < 1e-2
    True
    """
    result = h.outputs[0].dtype
    multiplied = function.multiplied * _BLAS.get(result.char, 1)
    cores = _CORES if multiplied > _THREADED else 1
    read = sum([prod(v.shape) * v.dtype.itemsize for v in (*h.inputs, *h.outputs)])
    points = function.walked * _POINT * _SLOW.get(result.char, 1) + function.copied * _COPIED
    return _CALL + max(multiplied * _MULTIPLY / cores, read * _BYTE) + points


def _einsum(text: str, operands: int) -> Callable[..., Any]:
    """Give an einsum whose result is new and C-contiguous; NumPy chooses another layout where it walks so."""
    terms, _, output = text.partition("->")
    if operands == 1 and sorted(terms) == sorted(output):
        axes = tuple([terms.index(n) for n in output])
        return lambda a: a.transpose(axes).copy()
    if operands == 1 and set(terms) == set(output):  # NumPy gives diagonals as views
        return lambda a: einsum(text, a).copy()
    if not output:
        return (lambda a: einsum(text, a)) if operands == 1 else lambda *arrays: einsum(text, *arrays)
    return lambda *arrays: np.ascontiguousarray(einsum(text, *arrays))


def _pair(h: MdHom, text: str, terms: Sequence[str], output: str, elements: int) -> NumpyFunction:
    """Give the function of two operands, what one of them has alone having been summed."""
    kept = [_kept(terms[0], terms[1], output), _kept(terms[1], terms[0], output)]
    (a, b), (first, second) = h.inputs, terms
    extents = dict(zip(first + second, a.shape + b.shape, strict=True))
    alone = [prod(v.shape) if len(k) < len(set(t)) else 0 for v, t, k in zip(h.inputs, terms, kept, strict=True)]
    result = h.outputs[0].dtype
    if sum(alone) and result.char == "e":  # else rounded twice
        kept, alone = ["".join(dict.fromkeys(t)) for t in terms], [0, 0]
        if any(n not in kept[1 - i] and n not in output for i in (0, 1) for n in kept[i]):
            return NumpyFunction(f'numpy.einsum("{text}")', _einsum(text, 2), walked=h.points, elements=elements)
    sums = [n for n in kept[0] if n in kept[1] and n not in output]
    points = prod([extents[n] for n in {*kept[0], *kept[1]}])
    layouts = [_layout(v, t, k, extents) for v, t, k in zip(h.inputs, terms, kept, strict=True)]
    summed = sum(alone) // 2
    if not sums:
        large = prod(h.outputs[0].shape) * result.itemsize > _LARGE and h.outputs[0].shape[-1] >= _LOOP
        compute, name = _multiply(kept, output, "C" if large else "K"), "numpy.multiply"
        walked = _walked(points, layouts, output, extents, result.char) + summed
        found = NumpyFunction(name, compute, walked=walked, elements=elements)
    else:
        product = matrix_product(layouts[0], layouts[1], output, extents)
        if not _is_faster(product, result.char, layouts, output, extents):
            short = f"{kept[0]},{kept[1]}->{output}"
            name = f'numpy.einsum("{short}")'
            walked = _walked(points, layouts, output, extents, result.char) + summed
            found = NumpyFunction(name, _einsum(short, 2), walked=walked, elements=elements)
        else:
            compute = _converting(product.compute, [v.dtype for v in h.inputs], result)
            blas = result.char in _BLAS
            converted = sum([prod(v.shape) for v in h.inputs if v.dtype != result or result.char == "e"])
            dots = product.count == 1 and not is_large(product.rows, product.columns)
            found = NumpyFunction(
                "numpy.dot" if dots else "numpy.matmul", compute, points if blas else 0,
                summed + (0 if blas else points), elements, product.copied + converted, product.turned,
            )  # fmt: skip
    before = [None if t == k else f"{t}->{k}" for t, k in zip(terms, kept, strict=True)]
    return found if before == [None, None] else _after(found, before, result)


def _kept(term: str, other: str, output: str) -> str:
    """Give the labels of an operand that the other one or the output has, too, each once."""
    return "".join(dict.fromkeys([n for n in term if n in output or n in other]))


def _layout(view: View, term: str, kept: str, extents: dict[str, int]) -> Layout:
    """Give the layout of an operand, or of what is left of it."""
    if term == kept:
        return Layout(term, view.strides)
    if len(set(term)) == len(kept):  # its diagonal, in place
        at = dict.fromkeys(kept, 0)
        for n, s in zip(term, view.strides, strict=True):
            at[n] += s
        return Layout(kept, tuple(at.values()))
    strides, step = [], 1
    for n in reversed(kept):
        strides.append(step)
        step *= extents[n]
    return Layout(kept, tuple(reversed(strides)))


def _is_faster(p: Product, char: str, layouts: Sequence[Layout], output: str, extents: dict[str, int]) -> bool:
    """Say whether products of matrices are faster than an einsum."""
    if char in "eFD?" or (char in _BLAS and p.rows > 1 and p.columns > 1):
        return True
    if char not in _BLAS:
        if max(p.rows, p.columns, p.terms) <= _SMALL:
            return True
        matrices = p.rows > 1 and p.columns > 1
        return (matrices or not p.copied) and not _walks_in_rows(layouts, output, extents)
    if p.rows == p.columns == 1:
        return p.count == 1 and not p.copied
    # With a vector each element of a matrix is used once, so that copying many of them does not pay.
    each = p.rows * p.columns * p.terms
    few, large = 2 * p.copied < p.count * each, p.count == 1 or each >= _MATRIX
    return (few and large) or ((few or large) and not _walks_in_rows(layouts, output, extents))


def _walks_in_rows(layouts: Sequence[Layout], output: str, extents: dict[str, int]) -> bool:
    """Say whether an einsum's inner loop is long, and over neighbours of all operands that it moves.

    The inner loop is over the last of the output's labels, then the others by name, but that a label is moved inwards
    past those with longer strides, as NumPy's iterator does (`npyiter_sort_axes`).
    """
    strides = {n: [0] * len(layouts) for n in output if extents[n] > 1}
    for n in sorted({n for layout in layouts for n in layout.labels}):
        if extents[n] > 1:
            strides.setdefault(n, [0] * len(layouts))
    for i, layout in enumerate(layouts):
        for n, stride in zip(layout.labels, layout.strides, strict=True):
            if n in strides:
                strides[n][i] = abs(stride)
    inner: list[str] = []  # innermost first
    for n in reversed(strides):
        place = len(inner)
        for i in reversed(range(len(inner))):
            pairs = [(x, y) for x, y in zip(strides[n], strides[inner[i]], strict=True) if x and y]
            if pairs and any(y <= x for x, y in pairs):
                break
            place = i if pairs else place
        inner.insert(place, n)
    return not inner or (extents[inner[0]] >= _LOOP and max(strides[inner[0]]) == 1)


def _multiply(kept: Sequence[str], output: str, order: Literal["C", "K"]) -> Callable[[Any, Any], Any]:
    """Give the product without sums; walks as `order` says."""
    if not output:
        return np.multiply
    views = []
    for term in kept:
        axes = tuple([term.index(n) for n in output if n in term])
        places = tuple([slice(None) if n in term else None for n in output])
        turned = axes != tuple(range(len(axes)))
        spread = len(axes) != len(output) and places[: len(output) - len(axes)] != (None,) * (len(output) - len(axes))
        views.append((axes if turned else None, places if spread else None))
    (axes_a, places_a), (axes_b, places_b) = views

    def compute(a: Any, b: Any) -> Any:
        a = a if axes_a is None else a.transpose(axes_a)
        b = b if axes_b is None else b.transpose(axes_b)
        a, b = a if places_a is None else a[places_a], b if places_b is None else b[places_b]
        return np.ascontiguousarray(np.multiply(a, b, order=order))

    return compute


def _converting(
    compute: Callable[[Any, Any], Any], given: Sequence[np.dtype[Any]], result: np.dtype[Any]
) -> Callable[[Any, Any], Any]:
    """Let a product compute in the result's type, or in float32 for float16."""
    inner = np.dtype(np.float32) if result.char == "e" else result
    if all([t == inner for t in given]):
        return compute
    if inner == result:
        return lambda a, b: compute(a.astype(inner, copy=False), b.astype(inner, copy=False))
    return lambda a, b: compute(a.astype(inner), b.astype(inner)).astype(result)


def _after(function: NumpyFunction, before: Sequence[str | None], dtype: np.dtype[Any]) -> NumpyFunction:
    """Let operands be summed first, in the result's type, or their diagonals taken."""
    first, second = before
    compute = function.compute

    def whole(a: Any, b: Any) -> Any:
        x = a if first is None else einsum(first, a, dtype=dtype)
        return compute(x, b if second is None else einsum(second, b, dtype=dtype))

    parts = (*(f'numpy.einsum("{text}")' for text in before if text is not None), function.name)
    return NumpyFunction(
        " and ".join(parts), whole, function.multiplied, function.walked, function.elements, function.copied,
        function.turned,
    )  # fmt: skip
