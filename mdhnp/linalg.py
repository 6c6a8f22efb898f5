"""Products as `numpy.linalg` has them: those of the Array API standard, and `multi_dot`."""

from mdhnp.frontend.linalg import matmul, multi_dot, outer, tensordot, trace, vecdot

__all__ = ["matmul", "multi_dot", "outer", "tensordot", "trace", "vecdot"]
