"""Sparse matrices of all formats, and einsums of which one operand is one."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import mdhnp

sparse = pytest.importorskip("scipy.sparse")

RNG = np.random.default_rng(11)
M, N = 12, 20


def matrix_of(rows: int = M, columns: int = N, dtype: str = "f8", share: float = 0.3) -> Any:
    """A matrix with empty rows and columns, a long row, and entries that are whole numbers."""
    dense = RNG.integers(1, 9, (rows, columns)) * (RNG.random((rows, columns)) < share)
    dense[rows // 2], dense[:, columns // 2] = 3, 2
    dense[1::4], dense[:, ::5] = 0, 0
    return sparse.csr_array(dense.astype(dtype))


def whole(*shape: int, dtype: str = "f8") -> Any:
    return RNG.integers(-9, 9, shape).astype(dtype)


class Case(NamedTuple):
    """Subscripts, and operands, of which None is the matrix."""

    subscripts: str
    operands: tuple[Any, ...]

    def given(self, matrix: Any, dtype: str = "f8") -> list[Any]:
        return [matrix if x is None else x.astype(dtype) for x in self.operands]

    def dense(self, matrix: Any, dtype: str = "f8") -> Any:
        return np.einsum(self.subscripts, *self.given(matrix, dtype))


CASES = {
    "vector": Case("ij,j->i", (None, whole(N))),
    "from the left": Case("i,ij->j", (whole(M), None)),
    "matrix": Case("ij,jk->ik", (None, whole(N, 37))),
    "strided": Case("ij,jk->ik", (None, whole(3 * N, 40)[::-3, ::2])),
    "matrix from the left": Case("ki,ij->kj", (whole(5, M), None)),
    "transposed": Case("ij,jk->ki", (None, whole(N, 6))),
    "columns kept": Case("ij,ik->kj", (None, whole(M, 17))),
    "stack": Case("ij,ajk->aik", (None, whole(3, N, 4))),
    "sums of rows": Case("ij->i", (None,)),
    "sums of columns": Case("ij->j", (None,)),
    "sum": Case("ij->", (None,)),
    "dot": Case("ij,ij->", (None, whole(M, N))),
    "quadratic": Case("i,ij,j->", (whole(M), None, whole(N))),
    "dots of rows": Case("ij,ij->i", (None, whole(M, N))),
    "repeated": Case("ij,jk->ik", (None, whole(1, 4))),
    "three": Case("ij,jr,ir->ir", (None, whole(N, 7), whole(M, 7))),
    "entries": Case("ij,ij->ij", (None, whole(M, N))),
    "scaled": Case("i,ij->ij", (whole(M), None)),
    "sampled": Case("ij,ik,jk->ij", (None, whole(M, 17), whole(N, 17))),
    "sampled, transposed": Case("ij,ik,jk->ji", (None, whole(M, 3), whole(N, 3))),
}
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dia", "dok"]


def stored_as(matrix: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of many diagonals
        return matrix.tobsr((3, 2)) if name == "bsr" else matrix.asformat(name)


def full(result: Any) -> Any:
    return result.toarray() if sparse.issparse(result) else result


def check(case: Case, matrix: Any, dtype: str = "f8") -> Any:
    got, want = mdhnp.einsum(case.subscripts, *case.given(matrix, dtype)), case.dense(matrix.toarray(), dtype)
    np.testing.assert_array_equal(full(got), want)
    assert got.dtype == want.dtype
    return got


def listed(dtype: str) -> Any:
    """Entries in no order, some of which are at one place."""
    rows, columns = RNG.integers(0, M, 70), RNG.integers(0, N, 70)
    return sparse.coo_array((RNG.integers(1, 9, 70).astype("f8"), (rows.astype(dtype), columns.astype(dtype))), (M, N))


def unsorted(dtype: str) -> Any:
    """The same in groups by rows."""
    entries = listed(dtype)
    order = np.argsort(entries.row, kind="stable")
    offsets = np.searchsorted(entries.row[order], np.arange(M + 1)).astype(dtype)
    made = sparse.csr_array((M, N))
    made.data, made.indices, made.indptr = entries.data[order], entries.col[order].astype(dtype), offsets
    return made


def longer(dtype: str) -> Any:
    """Arrays that are longer than they need be."""
    made = matrix_of()
    made.data, made.indices = np.append(made.data, [7.0, 7.0]), np.append(made.indices, [0, 1]).astype(dtype)
    made.indptr = made.indptr.astype(dtype)
    return made
