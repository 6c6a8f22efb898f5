"""Arrays that live on a device, `Array` and `SparseArray`: their copies, other libraries' memory and protocols."""

from mdhnp.arrays.array import Array
from mdhnp.arrays.sparse import SparseArray

__all__ = ["Array", "SparseArray"]
