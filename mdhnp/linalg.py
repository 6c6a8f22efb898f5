"""Linear algebra as `numpy.linalg` and the array API standard have it: products, norms, factors of matrices."""

from mdhnp.frontend import linalg as _products
from mdhnp.frontend import matrices as _matrices
from mdhnp.frontend.linalg import *
from mdhnp.frontend.matrices import *

__all__ = _products.__all__ + _matrices.__all__
