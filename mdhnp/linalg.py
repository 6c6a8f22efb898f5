"""Linear algebra as `numpy.linalg` and the array API standard have it: products, norms, factors of matrices."""

from mdhnp.frontend.factorisations import (
    cholesky,
    det,
    eigh,
    eigvalsh,
    inv,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)  # fmt: skip
from mdhnp.frontend.linalg import matmul, multi_dot, outer, tensordot, trace, vecdot
from mdhnp.frontend.matrices import cross, diagonal, matrix_norm, matrix_power, matrix_transpose, vector_norm

#: What NumPy's functions of the same names go to inside of `mdhnp.patch`.
PRODUCTS = (matmul, multi_dot, outer, tensordot, trace, vecdot)

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "multi_dot", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
