"""Arrays that live on a device: `Array`, what it computes and copies, and other libraries' memory and protocols."""

from mdhnp.arrays.array import Array

__all__ = ["Array"]
