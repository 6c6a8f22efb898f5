"""`SparseArray`: a sparse matrix whose entries stay on a device, for products that are made often."""

from typing import Any, NoReturn

import numpy as np

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.arrays.types import checked_type


class SparseArray:
    """A sparse matrix on one device: the arrays of one of SciPy's as Arrays.

    :func:`mdhnp.matmul` and :func:`mdhnp.einsum` take it as they take SciPy's, beside Arrays and ndarrays, and give
    Arrays on its device.

    Parameters
    ----------
    matrix : sparse array or matrix
        One of SciPy's of format CSR, CSC or BSR. On a CPU device its memory is used, elsewhere it is copied, once.
    device : str, int or Device, optional
        As in :func:`mdhnp.device`; by default the default device.

    Attributes
    ----------
    format : {"csr", "csc", "bsr"}
        As SciPy has it, and so are the arrays.
    shape : tuple of int
        Rows and columns.
    data, indices, indptr : Array
        The entries, where they are along the other axis, and where those of each row, column or row of blocks begin.

    Raises
    ------
    TypeError
        If it is no such matrix, or kernels do not compute with the type of its entries.
    ValueError
        If `device` names several devices, or indices of the matrix are outside of it.

    Examples
    --------
    >>> import mdhnp
    >>> from scipy import sparse
    >>> a = mdhnp.SparseArray(sparse.csr_array([[0.0, 2.0], [3.0, 0.0]]), device="cpu")
    >>> mdhnp.matmul(a, mdhnp.asarray([1.0, 10.0], device="cpu")).tolist()
    [20.0, 3.0]
    """

    __slots__ = ("data", "format", "indices", "indptr", "shape")

    #: NumPy's functions and operators do not take it for an object.
    __array_ufunc__ = None

    format: str
    shape: tuple[int, int]
    data: Array
    indices: Array
    indptr: Array

    def __init__(self, matrix: Any, *, device: Any = None) -> None:
        from mdhnp.runtime.devices import default_device, find_target  # which load OpenCL

        kind = getattr(matrix, "format", None)
        if kind not in ("csr", "csc", "bsr") or len(matrix.shape) != 2:
            given = f"a {type(matrix).__name__}" if kind is None else f"one of {len(matrix.shape)} axes in {kind}"
            raise TypeError(f"SparseArray: matrix must be a sparse one in csr, csc or bsr, as .tocsr() is, not {given}")
        checked_type(matrix.dtype)
        where: Any = default_device() if device is None else find_target(device)
        if where.several:
            raise ValueError(f"SparseArray: device must be a single one, not {where!r}")
        try:
            matrix.check_format(full_check=True)  # once: products read where the indices say
        except ValueError as error:
            raise ValueError(f"SparseArray: matrix: {error}") from None
        self.format, self.shape = kind, tuple(matrix.shape)
        for name in ("data", "indices", "indptr"):
            elements = np.ascontiguousarray(getattr(matrix, name))
            setattr(self, name, make(transfer.put(elements, where), where))

    def __repr__(self) -> str:
        """Show all but the elements."""
        return f"mdhnp.SparseArray({self.format}, shape={self.shape}, dtype={self.dtype}, device={self.device.name!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Raise TypeError: NumPy would make an array of one object."""
        raise TypeError(
            "a SparseArray is for products by mdhnp.matmul and mdhnp.einsum; for NumPy make SciPy's matrix dense, by "
            ".toarray(), or take .data, .indices and .indptr"
        )

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Type of the entries."""
        return self.data.dtype

    @property
    def device(self) -> Any:
        """Where the entries are."""
        return self.data.device

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return 2

    @property
    def blocksize(self) -> tuple[int, ...]:
        """Extents of the blocks of BSR."""
        return self.data.shape[1:]
