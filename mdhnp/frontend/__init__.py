"""The calls: NumPy-like functions that become MDHs.

Takes array-likes, gives ndarrays. `operands.py` is what all calls share, `contraction.py` turns labelled axes into an
MDH, `einsum.py` and `linalg.py` are the calls made of such contractions; `stencil.py`, `prl.py` and `computation.py`
(users' own MDHs) are the others.
"""

from mdhnp.frontend.computation import md_hom
from mdhnp.frontend.einsum import einsum
from mdhnp.frontend.linalg import dot, gemm, gemv, matmul
from mdhnp.frontend.prl import prl
from mdhnp.frontend.stencil import stencil

__all__ = ["dot", "einsum", "gemm", "gemv", "matmul", "md_hom", "prl", "stencil"]
