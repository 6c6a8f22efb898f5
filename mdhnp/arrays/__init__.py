"""Arrays that live on a device: `Array`, and how calls take and give them."""

from mdhnp.arrays.array import Array

__all__ = ["Array"]
