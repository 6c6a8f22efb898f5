"""The calls: NumPy-like functions that become MDHs.

Takes array-likes, gives ndarrays. `operands.py` is what all calls share, `contraction.py` turns labelled axes into an
MDH, `einsum.py` and `linalg.py` are the calls made of such contractions.
"""

from mdhnp.frontend.einsum import einsum
from mdhnp.frontend.linalg import dot, gemm, gemv, matmul

__all__ = ["dot", "einsum", "gemm", "gemv", "matmul"]
