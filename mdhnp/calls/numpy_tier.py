"""The NumPy tier: NumPy's own function for an MDH, where there is one.

Takes MDHs, gives functions of their inputs: for sums of products `dot`, `matmul` or `einsum`, for maps, reductions and
scans ufuncs (`ufuncs.py`). It must not know devices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf, prod
from os import cpu_count
from string import ascii_letters
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mdhnp.calls.ufuncs import FAST, by_ufuncs, einsum, grouped, suits_einsum
from mdhnp.cost import NumpyWork, first_pair, numpy_seconds, usual_numpy
from mdhnp.mdh import Computation, View
from mdhnp.mdh.subscripts import subscripts
from mdhnp.mdh.views import row_major

Compute = Callable[..., Any]

#: Types that BLAS multiplies; float16 as float32, which takes a fortieth of the time.
_BLAS = "fdFDe"
#: Types of which an einsum takes at least five times as long as a product of matrices.
_SLOW_EINSUMS = "?FD"
#: Extent up to which a product of integer matrices, which is not BLAS's, takes less time than an einsum.
_SMALL = 8
#: Elements of a result from which on `matmul`, which begins later than `dot`, is up to a quarter faster on 16 cores.
_LARGE = 1 << 14
#: Operands up to which an order of pairs is looked for before a call is described: that takes 1 ms for eight.
_MOST_PAIRED = 8
#: Points from which on sums of each operand alone, and the product of these, take less time than one einsum.
_SUMMED_FIRST = 1 << 13
#: Labels as einsum walks through them.
_ALPHABET = sorted(ascii_letters)
#: Elements of each matrix of a stack from which on products of these take less time than one of all or an einsum,
#: and of a matrix from which on several threads multiply it by a vector, which takes milliseconds where others use the
#: cores (OpenBLAS 0.3.31, EPYC).
_STACKED, _THREADED = 96, 9216
#: Points up to which dot products of rows take less time than an einsum of them, and types of which they are the same.
_BRIEF, _ROWS = 1 << 12, "fdbBhHiIlLqQ"
_USUAL = usual_numpy(cpu_count() or 1)
# NumPy's own, also for calls that are first made in a block of `patch`, where NumPy has others by these names.
_MATMUL: Compute = np.matmul
_VECDOT: Compute = np.vecdot


@dataclass(frozen=True)
class NumpyFunction:
    """A function of NumPy's in place of kernels."""

    #: For people.
    name: str
    #: Takes the MDH's inputs, gives a new C-contiguous array or a scalar.
    compute: Compute = field(repr=False, compare=False)
    work: NumpyWork
    #: Whether it makes other arrays than its result and copies: products of two operands, sums of one.
    temporaries: bool = False


class _Operand(NamedTuple):
    """What is read, or made: its type, and how its elements lie."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    element_bytes: int
    #: In elements; None of what is C-contiguous.
    given_strides: tuple[int, ...] | None = None

    @property
    def strides(self) -> tuple[int, ...]:
        return row_major(self.shape) if self.given_strides is None else self.given_strides

    @classmethod
    def new(cls, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Self:
        return cls(dtype, shape, prod(shape) * dtype.itemsize)


class _Product(NamedTuple):
    """A sum of products of operands, as subscripts say: all of it is computed in the type of the result."""

    #: Labels of the operands' axes, with commas between them, and of the result's.
    terms: str
    output: str
    inputs: tuple[_Operand, ...]
    result: _Operand
    points: int
    #: By label.
    extents: Mapping[str, int]

    @property
    def text(self) -> str:
        return f"{self.terms}->{self.output}"

    @property
    def name(self) -> str:
        return f'numpy.einsum("{self.text}")'

    @property
    def elements(self) -> int:
        return sum([prod(v.shape) for v in (*self.inputs, self.result)])

    @property
    def is_of_one_type(self) -> bool:
        """Whether parts that NumPy combines first, in their own type, are combined in that of the result."""
        return all([v.dtype == self.result.dtype for v in self.inputs])

    @property
    def by_size(self) -> tuple[str, ...]:
        """The terms, of the largest operand first."""
        terms = self.terms.split(",")
        order = sorted(range(len(terms)), key=lambda n: -self.inputs[n].element_bytes)
        return tuple([terms[n] for n in order])

    def of(self, terms: Sequence[str], output: str) -> Self:
        """Give the product of other operands, new ones of the same type, with the same extents."""
        dtype, extents = self.result.dtype, self.extents
        *inputs, result = [_Operand.new(dtype, tuple([extents[n] for n in term])) for term in (*terms, output)]
        points = prod([extents[n] for n in {*"".join(terms)}])
        return type(self)(",".join(terms), output, tuple(inputs), result, points, extents)


def numpy_function(h: Computation) -> NumpyFunction | None:
    """Return the NumPy function that computes an MDH; None where there is none, and for what is fused."""
    one = h.last
    if one is not h or len(h.outputs) != 1 or one.index_sources:
        return None
    text = subscripts(one)
    if (text is None or not suits_einsum(one, text)) and (known := by_ufuncs(one)) is not None:
        return _function((*one.inputs, *one.outputs), *known)
    if text is None:
        return None
    terms, _, output = text.partition("->")
    *inputs, result = [_Operand(v.dtype, v.shape, v.element_bytes, v.strides) for v in (*one.inputs, *one.outputs)]
    extents = dict(zip(terms.replace(",", ""), [n for v in inputs for n in v.shape], strict=True))
    return _best(_Product(terms, output, tuple(inputs), result, one.points, extents))


def einsum_function(terms: Sequence[str], output: str, arrays: Sequence[npt.NDArray[Any]]) -> NumpyFunction | None:
    """Return the function that computes an einsum of C-contiguous arrays, which takes less time than an MDH of it does.

    More than two are multiplied in pairs. None where there may be another function, or none.
    """
    text, sizes = ",".join(terms), dict[str, int]()
    for term, a in zip(terms, arrays, strict=True):
        for c, n in zip(term, a.shape, strict=True):
            if sizes.setdefault(c, n) != n:
                return None
    if 0 in sizes.values() or not text.isascii():
        return None
    shape, dtype = tuple([sizes[c] for c in output]), np.result_type(*arrays)
    if dtype.char == "e":  # NumPy's other functions warn where `einsum` does not
        return None
    inputs = tuple([_Operand.new(a.dtype, a.shape) for a in arrays])
    product = _Product(text, output, inputs, _Operand.new(dtype, shape), prod(sizes.values()), sizes)
    if len(terms) > 2 and not (product.is_of_one_type and len(terms) <= _MOST_PAIRED):
        return None
    return _best(product)


def _best(h: _Product) -> NumpyFunction:
    if len(h.inputs) > 2 and h.is_of_one_type and h.result.dtype.char != "e":
        return _summed_apart(h) or _in_pairs(h)
    return _matrix_product(h) or _summed_apart(h) or _by_einsum(h)


def _in_pairs(h: _Product) -> NumpyFunction:
    """Return what multiplies several operands in pairs; all at once where there are few points.

    So it does where a product of two has as many elements as there are points, or more than any operand and the result,
    as `np.einsum(..., optimize=True)`, which looks for such an order in each call, in 60 to 100 µs.
    """
    terms, extents, steps = h.terms.split(","), h.extents, list[tuple[int, int, NumpyFunction]]()
    room = max([prod(v.shape) for v in (*h.inputs, h.result)])
    while len(terms) > 2 and h.points >= _SUMMED_FIRST:
        a, b = first_pair(terms, h.output, extents)
        others = "".join([term for n, term in enumerate(terms) if n not in (a, b)])
        product = "".join(dict.fromkeys([n for n in terms[a] + terms[b] if n in h.output or n in others]))
        if prod([extents[n] for n in product]) > min(room, h.points - 1):
            break
        steps.append((a, b, _best(h.of([terms[a], terms[b]], product))))
        terms = [*[term for n, term in enumerate(terms) if n not in (a, b)], product]
    if len(terms) > 2:
        return _by_einsum(h)
    last, pairs = _best(h.of(terms, h.output)), tuple(steps)

    def compute(*arrays: Any) -> Any:
        values = [*arrays]
        for a, b, step in pairs:
            made = step.compute(values[a], values[b])
            del values[b], values[a]
            values.append(made)
        return last.compute(*values)

    return _after(h, compute, [*[step for _, _, step in pairs], last])


def _after(h: _Product, compute: Compute, parts: Sequence[NumpyFunction], walked: int = 0) -> NumpyFunction:
    """Return a function that calls others, with their work and the points of its operands that it walks itself."""
    multiplied, moved, copied = 0, sum([v.element_bytes for v in h.inputs]) if walked else 0, 0
    for part in parts:
        _, each, points, read, turned = part.work
        multiplied, walked, moved, copied = multiplied + each, walked + points, moved + read, copied + turned
    done = NumpyWork(h.result.dtype.char, multiplied, walked, moved, copied)
    return NumpyFunction(h.name, compute, done, temporaries=True)


def seconds_by_numpy(function: NumpyFunction | None) -> float:
    """Return the seconds that a function takes on a usual machine, within a factor of 3 or so; infinity for none."""
    return inf if function is None else numpy_seconds(function.work, _USUAL)[0]


def _function(
    views: Sequence[_Operand | View], name: str, compute: Compute, walked: int, multiplied: int = 0, copied: int = 0
) -> NumpyFunction:
    """Return a function with its work; `views` are of what it reads, then of what it gives."""
    moved, result = sum([v.element_bytes for v in views]), views[-1].dtype
    return NumpyFunction(name, compute, NumpyWork(result.char, multiplied, walked, moved, copied * result.itemsize))


def _by_einsum(h: _Product, *, in_order: bool = False) -> NumpyFunction:
    """Return an einsum whose result is new and C-contiguous; NumPy chooses the layout in which it is fastest.

    `in_order`: it is made in C order at once, which is faster where operands are in the caches.
    """
    terms, output, views = h.terms, h.output, (*h.inputs, h.result)
    dtype, sums = h.result.dtype, {*terms} - {*output, ","}
    product, first = partial(einsum, _in_order(h.text, h.by_size[0])), terms.partition(",")[0]
    compute: Compute = product
    walked = h.points // FAST if sums and "," not in terms else h.points
    rows = 0 < len({*first}) == len(first) and (terms, output) == (f"{first},{first}", first[:-1])
    if rows and h.points <= _BRIEF and dtype.char in _ROWS:
        return _function(views, "numpy.vecdot", _VECDOT if len(first) == 2 else partial(_VECDOT, order="C"), h.points)
    if {*terms} == {*output}:  # of one array, as a view: other axes, or its diagonal
        compute = lambda a: product(a).copy()  # noqa: E731
    elif dtype.char == "e":
        compute = lambda *arrays: product(*arrays, dtype=np.float32, order="C").astype(dtype)  # noqa: E731
    elif len(output) > 1 and in_order:
        compute = partial(product, order="C")
    elif len(output) > 1:  # else it is contiguous, or a scalar
        compute = lambda *arrays: np.ascontiguousarray(product(*arrays))  # noqa: E731
    return _function(views, h.name, compute, walked)


def _in_order(text: str, largest: str) -> str:
    """Return subscripts by which an einsum sums in the order of the largest operand's axes: it goes by the alphabet."""
    terms, _, output = text.partition("->")
    if len({*terms} - {*output, ","}) < 2:
        return text
    labels = dict.fromkeys(output + largest + terms.replace(",", ""))
    return text.translate(dict(zip(map(ord, labels), _ALPHABET, strict=False)))


def _summed_apart(h: _Product) -> NumpyFunction | None:
    """Return what sums each operand over the labels that it has alone, and multiplies: an element of each is read once.

    Where a product of matrices leaves less than that, it comes first. None where there is no such label, or one einsum
    of few points takes less time.
    """
    alone = [n for n in h.extents if n not in h.output and h.terms.count(n) == 1]
    if not alone or len(h.inputs) < 2 or h.points < _SUMMED_FIRST or h.result.dtype.char == "e":
        return None
    if not h.is_of_one_type:
        return _after_casts(h)
    terms, extents = h.terms.split(","), h.extents
    kept = ["".join(dict.fromkeys([n for n in term if n not in alone])) for term in terms]
    if len(terms) == 2 and (found := _multiplied_first(h, alone)) is not None:
        return found
    if len(terms) > 2 and prod([size for n, size in extents.items() if n not in alone]) > h.elements:
        return None
    sums = [None if a == b else partial(einsum, _in_order(f"{a}->{b}", a)) for a, b in zip(terms, kept, strict=True)]
    rest = h.of(kept, h.output)
    by_vector = len(kept) == 2 and ({*kept[0]} <= {*kept[1]} or {*kept[1]} <= {*kept[0]})
    threads = by_vector and max([prod(v.shape) for v in rest.inputs]) >= _THREADED
    product = (_along_inner(rest) if threads else _matrix_product(rest)) or _by_einsum(rest, in_order=True)
    last = product.compute

    def compute(*arrays: Any) -> Any:
        return last(*[a if f is None else f(a) for f, a in zip(sums, arrays, strict=True)])

    return _after(h, compute, [product], h.elements // FAST)


def _after_casts(h: _Product) -> NumpyFunction:
    """Return what converts operands to the type of the result before parts of them are combined."""
    dtype, product = h.result.dtype, _best(h.of(h.terms.split(","), h.output))
    return _after(h, lambda *each: product.compute(*[a.astype(dtype, copy=False) for a in each]), [product], h.elements)


def _multiplied_first(h: _Product, alone: Sequence[str]) -> NumpyFunction | None:
    """Return a product of matrices in a stack, and the sum of what it gives, if that is no more than sums leave."""
    extents, (large, small) = h.extents, h.by_size
    sums = "".join([n for n in large if n in small and n not in h.output])
    columns = [n for n in small if n not in sums]
    left = prod([extents[n] for n in (*alone, *columns)])
    if left > prod([extents[n] for n in sums]) or any([n in small for n in alone]):
        return None
    made = large.replace(sums, "".join(columns)) if sums else ""
    product = _along_inner(h.of(h.terms.split(","), made)._replace(inputs=h.inputs)) if made else None
    if product is None:
        return None
    total = _by_einsum(h.of([made], h.output))
    return _after(h, lambda *arrays: total.compute(product.compute(*arrays)), [product, total])


def _matrix_product(h: _Product) -> NumpyFunction | None:
    """Return the product of two operands as matrices, in stacks or not; None where an einsum is as good."""
    output, result = h.output, h.result
    first, _, second = h.terms.partition(",")
    sums = [n for n in first if n not in output]
    repeated = any([len({*term}) < len(term) for term in (first, second)])
    if len(h.inputs) != 2 or not sums or repeated or {*sums} != {*second} - {*output}:
        return None
    if (in_stack := _along_inner(h)) is not None:
        return in_stack
    a, b = h.inputs
    stack = [[n] for n in output if n in first and n in second]
    rows, columns = [n for n in output if n not in second], [n for n in output if n not in first]
    swapped = len(columns) > 0 and (not rows or rows[-1] == output[-1])  # neighbours in the result are columns
    if swapped:
        a, b, first, second, rows, columns = b, a, second, first, columns, rows
    for group, term, view in ((rows, first, a), (columns, second, b)):
        if prod(view.shape) > prod(result.shape):  # read as it lies; rather the result is turned
            group.sort(key=term.index)
    sums.sort(key=(first if prod(a.shape) >= prod(b.shape) else second).index)
    extents = h.extents
    down, across = [rows] if rows else [], [columns] if columns or stack else []
    left, left_copied = grouped(first, [*stack, *down, sums], extents)
    right, right_copied = grouped(second, [*stack, sums, *across], extents)
    dtype, order = result.dtype, [n for g in (*stack, rows, columns) for n in g]
    blas, sizes = dtype.char in _BLAS, [prod([extents[n] for n in group]) for group in (rows, sums, columns)]
    if not (blas or dtype.char == "?" or max(sizes) <= _SMALL) or (stack and not rows):
        return None
    scattered = len(stack) > 0 and all([abs(a.strides[first.index(n)]) != 1 for n in (*rows, *sums)])
    if not columns and (scattered or (left_copied and dtype.char not in _SLOW_EINSUMS)):
        return None  # each element of the matrices is used once, so that copying them, as NumPy does, does not pay
    small = dtype.char != "?" and not stack and (not columns or sizes[0] * sizes[2] < _LARGE)
    multiply: Compute = np.ndarray.dot if small else partial(_MATMUL, order="C") if stack else _MATMUL
    apart, axes = [extents[n] for n in order], [order.index(n) for n in output]
    moved, joined = order != list(output), any([len(group) != 1 for group in (*down, *across)])

    def product(x: Any, y: Any) -> Any:
        x, y = (y, x) if swapped else (x, y)
        found = multiply(x if left is None else left(x), y if right is None else right(y))
        if joined:
            found = found.reshape(apart)
        return np.ascontiguousarray(found.transpose(axes)) if moved else found

    compute: Compute = product if swapped or left or right or joined or moved else multiply
    if dtype.char == "e":
        compute = lambda x, y: product(x.astype(np.float32), y.astype(np.float32)).astype(dtype)  # noqa: E731
    copied = left_copied + right_copied + moved * prod(result.shape)
    copied += sum([prod(v.shape) for v in h.inputs if v.dtype != dtype or dtype.char == "e"])
    if columns and abs(b.strides[second.index(sums[-1])]) == 1:  # BLAS copies what it reads along the sum
        copied += prod(b.shape)
    name = "numpy.dot" if small else "numpy.matmul"
    walked, multiplied = (0, h.points) if blas else (h.points, 0)
    return _function((*h.inputs, result), name, compute, walked, multiplied, copied)


def _along_inner(h: _Product) -> NumpyFunction | None:
    """Return the product of a stack of matrices, which the larger operand is as it lies, by the other one.

    That is where it is summed along axes between others. As one matrix it would be copied, which may take 20 times as
    long as the product by a vector.
    """
    output, extents, (large, small) = h.output, h.extents, h.by_size
    sums = "".join([n for n in large if n not in output])
    before, _, after = large.partition(sums) if sums else ("", "", "")
    columns = "".join([n for n in small if n not in sums])
    repeated = len({*large}) < len(large) or len({*small}) < len(small)
    if repeated or not before or not after or {*columns} & {*large} or h.result.dtype.char not in "fdFD":
        return None
    sizes = [prod([extents[n] for n in group]) for group in (before, sums, after)]
    order, elements, at = before + columns + after, sizes[1] * sizes[2], int(not h.terms.startswith(f"{large},"))
    alike = sorted(order) == sorted(output) and sorted(small) == sorted({*columns, *sums})
    few = elements < _STACKED or (elements >= _THREADED and not columns)
    if few or not alike or not h.is_of_one_type or h.inputs[at].strides != row_major(h.inputs[at].shape):
        return None
    turned, copied = grouped(small, [columns, sums] if columns else [sums], extents)
    apart, axes, moved = [extents[n] for n in order], [order.index(n) for n in output], order != output

    def product(*arrays: Any) -> Any:
        x = arrays[1 - at]
        found = _MATMUL(x if turned is None else turned(x), arrays[at].reshape(sizes)).reshape(apart)
        return np.ascontiguousarray(found.transpose(axes)) if moved else found

    return _function((*h.inputs, h.result), "numpy.matmul", product, 0, h.points, copied + moved * prod(h.result.shape))
