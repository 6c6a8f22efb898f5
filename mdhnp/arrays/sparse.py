"""`SparseArray`: a sparse matrix whose entries stay on a device, for products that are made often."""

from typing import Any, NoReturn

import numpy as np

from mdhnp import runtime
from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, attribute_of, make
from mdhnp.arrays.types import checked_type
from mdhnp.documentation import exported
from mdhnp.mdh.scatter import pieces

#: Entries beyond which a row is long, if so many times a usual row's: others wait for it on a GPU, where work-items
#: share as many as that has. Entries of its pieces: on an H200 (mdhnp 0.1) a graph's products with 1, 16 and 64 columns
#: take 47, 99 and 375 µs without pieces, 31, 37 and 75 with such of 128, 30, 39 and 74 of 64, 30, 36 and 81 of 256.
_LONG, _TIMES, _PIECE = 256, 8, 128


@exported
class SparseArray:
    """A sparse matrix on one device: the arrays of one of SciPy's as Arrays.

    :func:`mdhnp.matmul` and :func:`mdhnp.einsum` take it as they take SciPy's, beside Arrays and ndarrays, and give
    Arrays on its device, or SparseArrays of its pattern, `indices` and `indptr`, which is looked at once and must not
    change.

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
    nnz : int
        Number of entries, of blocks all their elements.
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

    __slots__ = ("_along", "_cut", "data", "format", "indices", "indptr", "shape")

    format: str
    shape: tuple[int, int]
    data: Array
    indices: Array
    indptr: Array
    #: Where entries are along the axis of their groups, once that was asked for.
    _along: Array | None
    #: Pieces of long rows, once these were asked for; of a matrix without long rows there are none.
    _cut: tuple[Array, ...] | None

    def __init__(self, matrix: Any, *, device: Any = None) -> None:
        kind = getattr(matrix, "format", None)
        kind = kind if isinstance(kind, str) else None  # text has a method of that name
        if kind not in ("csr", "csc", "bsr") or len(matrix.shape) != 2:
            given = f"a {type(matrix).__name__}" if kind is None else f"one of {len(matrix.shape)} axes in {kind}"
            raise TypeError(f"SparseArray: matrix must be a sparse one in csr, csc or bsr, as .tocsr() is, not {given}")
        checked_type(matrix.dtype)
        where: Any = runtime.devices.target_or_default(device)
        if where.several:
            raise ValueError(f"SparseArray: device must be a single one, not {where!r}")
        try:
            matrix.check_format(full_check=True)  # once: products read where the indices say
        except ValueError as error:
            raise ValueError(f"SparseArray: matrix: {error}") from None
        count = int(matrix.indptr[-1])
        parts = {"data": matrix.data[:count], "indices": matrix.indices[:count], "indptr": matrix.indptr}
        there = {n: make(transfer.put(np.ascontiguousarray(part), where), where) for n, part in parts.items()}
        self._set(format=kind, shape=tuple(matrix.shape), _along=None, _cut=None, **there)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, *_: Any) -> NoReturn:
        """Raise AttributeError: kernels read where the indices say, which were looked at once."""
        instead = "put numbers into data[...]" if name == "data" else "make another one of SciPy's matrix"
        raise AttributeError(f"{name} of a SparseArray cannot be assigned; {instead}")

    __delattr__ = __setattr__

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self._set(**state[1])

    def _like(self, data: Array, *, turned: bool = False) -> "SparseArray":
        """Give one with these entries at the same places, or, `turned`, of the transposed matrix."""
        like, format, shape = object.__new__(SparseArray), self.format, self.shape
        if turned:
            format, shape = {"csr": "csc", "csc": "csr"}[format], (shape[1], shape[0])
        parts = {"data": data, "indices": self.indices, "indptr": self.indptr, "_along": self._along, "_cut": self._cut}
        like._set(format=format, shape=shape, **parts)
        return like

    def _places(self, *, along: bool) -> Array:
        """Give where entries are along the axis of their groups, or along the other one."""
        if along and self._along is None:
            ends = self.indptr.numpy()
            repeated = np.repeat(np.arange(len(ends) - 1, dtype=self.indices.dtype), np.diff(ends))
            self._set(_along=self._there(repeated))
        return self._along if along and self._along is not None else self.indices

    def _there(self, elements: "np.ndarray[Any, Any]") -> Array:
        return make(transfer.put(elements, self.device), self.device)

    def _pieces(self) -> tuple[Array, ...]:
        """Give which pieces are the first ones of rows, and where pieces begin; nothing if no row is long."""
        if (found := self._cut) is None:
            ends = self.indptr.numpy()
            lengths = np.diff(ends)
            long = lengths.max(initial=0) > max(_LONG, _TIMES * ends[-1] // max(len(lengths), 1))
            found = tuple(map(self._there, pieces(ends, _PIECE))) if long else ()
            self._set(_cut=found)
        return found

    def __repr__(self) -> str:
        """Show all but the elements."""
        return f"mdhnp.SparseArray({self.format}, shape={self.shape}, dtype={self.dtype}, device={self.device.name!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Raise TypeError: NumPy would make an array of one object."""
        raise TypeError(
            "a SparseArray is for products by mdhnp.matmul and mdhnp.einsum; for NumPy make it dense by "
            ".scipy().toarray()"
        )

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError, and say who may have what SciPy's have."""
        raise AttributeError(
            f"a SparseArray has no attribute {name!r}; SciPy's matrix, which .scipy() gives, may have it"
        )

    def scipy(self) -> Any:
        """Give SciPy's sparse array of the same format.

        Returns
        -------
        csr_array, csc_array or bsr_array
            With copies of the arrays, on the host.

        Examples
        --------
        >>> import mdhnp
        >>> from scipy import sparse
        >>> mdhnp.SparseArray(sparse.csr_array([[0.0, 2.0]]), device="cpu").scipy().toarray()
        array([[0., 2.]])
        """
        from scipy import sparse

        parts = self.data.numpy(), self.indices.numpy(), self.indptr.numpy()
        return getattr(sparse, f"{self.format}_array")(parts, shape=self.shape, copy=True)

    dtype: np.dtype[Any] = attribute_of("data.dtype", "Type of the entries.")
    device: Any = attribute_of("data.device", "Where the entries are.")
    nnz: int = attribute_of("data.size", "How many elements its arrays hold.")

    @property
    def T(self) -> "SparseArray":
        """The transposed matrix of the same entries: in csc of one in csr, and the other way round."""
        if self.format == "bsr":
            raise TypeError("SparseArray.T: blocks of a SparseArray are not transposed; make one of SciPy's matrix.T")
        return self._like(self.data, turned=True)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return 2

    @property
    def blocksize(self) -> tuple[int, ...]:
        """Extents of the blocks of BSR."""
        return self.data.shape[1:]
