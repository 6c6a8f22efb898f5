"""The NumPy tier: NumPy's own function for an MDH, where there is one.

Takes MDHs, gives functions of their inputs: for sums of products `dot`, `matmul` or `einsum`, for maps, reductions and
scans ufuncs (`ufuncs.py`). It must not know devices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, takewhile
from math import inf, prod
from os import cpu_count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.calls.ufuncs import FAST, LARGE, MANY, ROW, by_ufuncs, einsum
from mdhnp.cost import NumpyWork, numpy_seconds, usual_numpy
from mdhnp.mdh import Computation, MdHom, View
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
#: Points from which on NumPy's search for the order of products takes less time than what it saves (15 µs).
_OPTIMIZED = 1 << 15
#: Points from which on sums of each operand alone, and the product of these, take less time than one einsum.
_SUMMED_FIRST = 1 << 13
#: Points up to which dot products of rows take less time than an einsum of them, and types of which they are the same.
_BRIEF, _ROWS = 1 << 12, "fdbBhHiIlLqQ"
_USUAL = usual_numpy(cpu_count() or 1)
# NumPy's own, also for calls that are first made in a block of `patch`, where NumPy has others by these names.
_OPTIMIZED_EINSUM: Compute = partial(np.einsum, optimize=True)
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


class _Operand(NamedTuple):
    """What is read, or made: its type, and how its elements lie, strides in elements."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_bytes: int


class _Product(NamedTuple):
    """A sum of products of operands, as subscripts say: all of it is computed in the type of the result."""

    #: Labels of the operands' axes, with commas between them, and of the result's.
    terms: str
    output: str
    inputs: tuple[_Operand, ...]
    result: _Operand
    points: int

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
    def extents(self) -> dict[str, int]:
        labels = self.terms.replace(",", "")
        return dict(zip(labels, [n for v in self.inputs for n in v.shape], strict=True))

    @property
    def is_of_one_type(self) -> bool:
        """Whether parts that NumPy combines first, in their own type, are combined in that of the result."""
        return all([v.dtype == self.result.dtype for v in self.inputs])


def numpy_function(h: Computation) -> NumpyFunction | None:
    """Return the NumPy function that computes an MDH; None where there is none, and for what is fused."""
    one = h.last
    if one is not h or len(h.outputs) != 1 or one.index_sources:
        return None
    text = subscripts(one)
    if (text is None or not _suits_einsum(one, text)) and (known := by_ufuncs(one)) is not None:
        return _function((*one.inputs, *one.outputs), *known)
    if text is None:
        return None
    terms, _, output = text.partition("->")
    *inputs, result = [_Operand(v.dtype, v.shape, v.strides, v.element_bytes) for v in (*one.inputs, *one.outputs)]
    product = _Product(terms, output, tuple(inputs), result, one.points)
    return _matrix_product(product) or _by_einsum(product)


def _suits_einsum(h: MdHom, text: str) -> bool:
    """Whether an einsum, or BLAS, is to compute what ufuncs may be able to, too.

    Ufuncs begin anew with every row that they sum, and with every row of an outer product: einsums of rows of 8 take a
    quarter of their time, sums along other axes than the last ones two thirds, outer products of integers half (but not
    where these are so large that ufuncs compute block by block; and einsums add to 0, so that -0.0 becomes 0.0).
    """
    dtype, dims, result = h.outputs[0].dtype, h.dims("pw"), h.outputs[0].element_bytes
    if not dims:
        outer = len(h.inputs) == 2 and max([v.element_bytes for v in h.inputs]) < result < LARGE
        return outer and dtype.kind in "iu" and {v.dtype for v in h.inputs} == {dtype}
    if "," in text or h.points < MANY:
        return True
    # Einsums add complex numbers one after the other. Along other axes ufuncs add one after the other, too.
    kept, read = text.partition("->")[2], h.inputs[0]
    axes = sorted(zip(map(abs, read.strides), read.shape, text, strict=False))
    row = prod([size for _, size, _ in takewhile(lambda axis: axis[2] not in kept, axes)])
    return row <= (ROW // 8 if dtype.kind == "c" else ROW)


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
    inputs = tuple([_Operand(a.dtype, a.shape, row_major(a.shape), a.nbytes) for a in arrays])
    result = _Operand(dtype, shape, (), prod(shape) * dtype.itemsize)
    product = _Product(text, output, inputs, result, prod(sizes.values()))
    if len(terms) < 3:
        return _matrix_product(product) or _by_einsum(product)
    if not product.is_of_one_type:
        return None
    return _function((*inputs, result), product.name, _optimized(product.text), product.points)


def _optimized(text: str) -> Compute:
    return lambda *arrays: np.asarray(_OPTIMIZED_EINSUM(text, *arrays), order="C")[()]


def seconds_by_numpy(function: NumpyFunction | None) -> float:
    """Return the seconds that a function takes on a usual machine, within a factor of 3 or so; infinity for none."""
    return inf if function is None else numpy_seconds(function.work, _USUAL)[0]


def _function(
    views: Sequence[_Operand | View], name: str, compute: Compute, walked: int, multiplied: int = 0, copied: int = 0
) -> NumpyFunction:
    """Return a function with its work; `views` are of what it reads, then of what it gives."""
    moved, result = sum([v.element_bytes for v in views]), views[-1].dtype
    return NumpyFunction(name, compute, NumpyWork(result.char, multiplied, walked, moved, copied * result.itemsize))


def _by_einsum(h: _Product) -> NumpyFunction:
    """Return an einsum whose result is new and C-contiguous; NumPy chooses the layout in which it is fastest."""
    terms, output, views = h.terms, h.output, (*h.inputs, h.result)
    dtype, sums = h.result.dtype, {*terms} - {*output, ","}
    alone = [n for n in sums if terms.count(n) == 1]
    product, first = partial(einsum, h.text), terms.partition(",")[0]
    compute: Compute = product
    walked = h.points // FAST if sums and "," not in terms else h.points
    rows = 0 < len({*first}) == len(first) and (terms, output) == (f"{first},{first}", first[:-1])
    if rows and h.points <= _BRIEF and dtype.char in _ROWS:
        return _function(views, "numpy.vecdot", _VECDOT if len(first) == 2 else partial(_VECDOT, order="C"), h.points)
    if {*terms} == {*output}:  # of one array, as a view: other axes, or its diagonal
        compute = lambda a: product(a).copy()  # noqa: E731
    elif dtype.char == "e":
        compute = lambda *arrays: product(*arrays, dtype=np.float32, order="C").astype(dtype)  # noqa: E731
    elif alone and (left := _left_by_sums(h, alone)):
        compute, walked = _product_of_sums(terms, output, alone), h.elements // FAST + left
    elif h.points >= _OPTIMIZED and _pairs_pay(h, alone):
        compute = _optimized(h.text)
    elif len(output) > 1:  # else it is contiguous, or a scalar
        compute = lambda *arrays: np.ascontiguousarray(product(*arrays))  # noqa: E731
    return _function(views, h.name, compute, walked)


def _pairs_pay(h: _Product, alone: Sequence[str]) -> bool:
    """Whether NumPy's pairs take less time than one einsum, and are right: in the type of each pair."""
    if "," not in h.terms or (len(h.inputs) > 2 and not h.is_of_one_type):
        return False
    return bool(alone) or (h.result.dtype.char in _BLAS and _shrinks(h))


def _shrinks(h: _Product) -> bool:
    """Whether some two of several operands have a product with fewer elements than there are points.

    Else one einsum, which keeps no product, takes a fifth of the time of NumPy's pairs.
    """
    each, extents = h.terms.split(","), h.extents

    def size(*pair: int) -> int:
        needed = {*h.output}.union(*[term for n, term in enumerate(each) if n not in pair])
        return prod([extents[n] for n in needed.intersection("".join([each[n] for n in pair]))])

    return len(each) > 2 and any([size(*pair) < h.points for pair in combinations(range(len(each)), 2)])


def _left_by_sums(h: _Product, alone: Sequence[str]) -> int:
    """Return how many points are left of a product each operand of which is summed before over labels of its own.

    0 where it is not to be: there must be fewer than elements, since an einsum of what is left does not call BLAS.
    """
    if "," not in h.terms or h.points < _SUMMED_FIRST or not h.is_of_one_type:
        return 0
    left = prod([size for n, size in h.extents.items() if n not in alone])
    return left if left <= h.elements else 0


def _product_of_sums(terms: str, output: str, alone: Sequence[str]) -> Compute:
    """Return what sums each operand over the labels `alone`, and multiplies: an element of each is read once.

    `np.einsum(..., optimize=True)` does the same, after it has looked for it in 10 µs.
    """
    sums, kept = [], []
    for term in terms.split(","):
        left = "".join(dict.fromkeys(n for n in term if n not in alone))
        sums.append(None if left == term else partial(einsum, f"{term}->{left}"))
        kept.append(left)
    product = partial(einsum, f"{','.join(kept)}->{output}", order="C")
    return lambda *arrays: product(*[a if f is None else f(a) for f, a in zip(sums, arrays, strict=True)])


def _matrix_product(h: _Product) -> NumpyFunction | None:
    """Return the product of two operands as matrices, in stacks or not; None where an einsum is as good."""
    output, result = h.output, h.result
    first, _, second = h.terms.partition(",")
    sums = [n for n in first if n not in output]
    repeated = any([len({*term}) < len(term) for term in (first, second)])
    if len(h.inputs) != 2 or not sums or repeated or {*sums} != {*second} - {*output}:
        return None
    a, b = h.inputs
    stack = [[n] for n in output if n in first and n in second]
    rows, columns = [n for n in output if n not in second], [n for n in output if n not in first]
    swapped = len(columns) > 0 and (not rows or rows[-1] == output[-1])  # neighbours in the result are columns
    if swapped:
        a, b, first, second, rows, columns = b, a, second, first, columns, rows
    sums.sort(key=(first if prod(a.shape) >= prod(b.shape) else second).index)
    extents = h.extents
    down, across = [rows] if rows else [], [columns] if columns or stack else []
    left, left_copied = _transposed(first, [*stack, *down, sums], extents)
    right, right_copied = _transposed(second, [*stack, sums, *across], extents)
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


def _transposed(labels: str, groups: Sequence[Sequence[str]], extents: Mapping[str, int]) -> tuple[Compute | None, int]:
    """Return what gives an array an axis for each group of labels, None if it has, and how many elements it copies."""
    axes = tuple([labels.index(n) for group in groups for n in group])
    shape = tuple([prod([extents[n] for n in group]) for group in groups])
    copied = any(["".join(group) not in labels for group in groups])
    if axes != tuple(range(len(axes))):
        return (lambda x: x.transpose(axes).reshape(shape)), copied * prod(shape)
    if all([len(group) == 1 for group in groups]):
        return None, 0
    return (lambda x: x.reshape(shape)), copied * prod(shape)
