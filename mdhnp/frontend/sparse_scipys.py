"""Products with a sparse operand by the host: by SciPy's `@`, or by a compiled loop over rows.

Takes what is asked for and how its operands are; gives what computes it, where there is that.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp import native
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.plans import count_host
from mdhnp.cost import NumpyWork
from mdhnp.frontend.sparse_formats import WITHIN, Kind, Layout, Product
from mdhnp.mdh import MdHom

NDArray = npt.NDArray[Any]

#: Vectors from which on SciPy takes longer than sorting the entries first and then a kernel.
_MANY = 32


def is_scipys(asked: Product, operands: Sequence[Kind], number: int) -> bool:
    """Whether it has multiplied few vectors before entries could be sorted by the axis that is kept."""
    if len(operands) != 2 or len(asked.terms[number]) != 2 or any([x.is_array for x in operands]):
        return False
    matrix, x, term, labels = operands[number], operands[1 - number], asked.terms[number], asked.terms[1 - number]
    kept, beside = [c for c in term if c in asked.output], [c for c in labels if c not in term]
    summed = [c for c in term if c not in kept]
    product = len(kept) == 1 >= len(beside) and (sorted(labels), sorted(asked.output)) == (
        sorted(summed + beside), sorted(kept + beside)
    )  # fmt: skip
    usual = (asked.ring, asked.dtype, asked.order) == (None, None, "K")
    if not product or not usual or np.float16 in (x.dtype, matrix.dtype):
        return False
    length, lying = matrix.shape[term.index(summed[0])], {"csr": term[0], "bsr": term[0], "csc": term[1]}
    whole = x.shape[labels.index(summed[0])] == length  # else it is repeated along the axis
    return whole and kept[0] != lying.get(str(matrix.format)) and prod(x.shape) < _MANY * length


def by_scipy(asked: Product, number: int, operands: Sequence[Any]) -> Any:
    matrix, x, term, labels = operands[number], operands[1 - number], asked.terms[number], asked.terms[1 - number]
    count_host(asked.name)
    found = (matrix if term[0] in asked.output else matrix.T) @ (x if labels[0] in term else x.T)
    extents = dict(zip(labels, x.shape, strict=True)) | dict(zip(term, matrix.shape, strict=True))
    # A row of SciPy's coo_array by a vector is a number.
    return np.reshape(found if asked.output[0] in term else found.T, [extents[c] for c in asked.output])


def scipys_function(layout: Layout, h: MdHom) -> NumpyFunction | None:
    """The host's product of a matrix in groups by rows, and a vector or a matrix; None for other products."""
    number, row, (column,) = layout.number, layout.grouped, layout.placed
    dense, inner = layout.terms[1 - number], layout.terms[number][1:]
    summed = tuple([c for c in dense if c in (column, column + WITHIN)])
    beside = tuple([c for c in dense if c not in summed])
    rows = tuple([row, *[c for c in inner if c == row + WITHIN]])
    straight = layout.output == (*rows, *beside)
    if (
        not h.inputs[1 - number].indirect  # one row, repeated
        or np.dtype(np.float16) in [v.dtype for v in h.inputs[:2]]
        or not (straight or layout.output == (*beside, *rows))
        or len(beside) > 1
        or len(inner) != 2 * (len(summed) - 1)
        or dense not in ((*summed, *beside), (*beside, *summed))
    ):
        return None
    sizes = dict(zip(layout.terms[1 - number], h.inputs[1 - number].shape, strict=True))
    count = prod([sizes[c] for c in summed])
    shape = prod([h.extents[h.names.index(c)] for c in rows]), count
    first, results = dense[: len(summed)] == summed, h.outputs[0].shape
    loop = None if inner else _loop([v.dtype for v in (*h.inputs, *h.outputs)])
    product = loop or _by_matrices(shape, h.inputs[number].shape[1:])

    def turned(*arrays: NDArray) -> NDArray:
        x = arrays[1 - number]
        x = x.reshape(count, *x.shape[len(summed) :]) if first else x.reshape(-1, count).T
        found = product(arrays[number], x, *arrays[2:])
        return np.ascontiguousarray(found if straight else found.T).reshape(results)

    as_given = number == 0 and first and straight and not inner
    moved = sum([v.element_bytes for v in (*h.inputs, *h.outputs)])
    work = NumpyWork(h.outputs[0].dtype.char, 0, h.points, moved, 0 if straight else h.outputs[0].element_bytes)
    name = "a loop over rows" if loop else f"scipy.sparse.{'bsr' if inner else 'csr'}_array.__matmul__"
    return NumpyFunction(name, product if as_given else turned, work)


def _loop(dtypes: Sequence[np.dtype[Any]]) -> Callable[..., NDArray] | None:
    """What is compiled for entries, a dense operand, indices, offsets and a result of such types; None for others."""
    first, second, places, begins, result = dtypes
    same = first == second == result and places == begins
    return native.multiply_rows if same and result.char in "fd" and places in (np.int32, np.int64) else None


def _by_matrices(shape: tuple[int, int], blocks: tuple[int, ...]) -> Callable[..., NDArray]:
    """SciPy's `@` of matrices with these entries, of blocks if these have extents."""
    from scipy.sparse import bsr_array, csr_array

    empty = bsr_array(shape, blocksize=blocks) if blocks else csr_array(shape)

    def multiply(elements: NDArray, x: NDArray, indices: NDArray, ends: NDArray) -> NDArray:
        matrix = object.__new__(type(empty))  # to make one with entries, SciPy looks at all of them
        vars(matrix).update(vars(empty), data=elements, indices=indices, indptr=ends)
        found: NDArray = matrix @ x
        return found

    return multiply
