"""`Array`: an n-dimensional array on one device.

An Array is a device and a *view*: an ndarray that says where its elements lie. Where kernels work on the host's memory
that is the memory itself; for a device with memory of its own it is an address that nobody can read, whose base
holds the device's memory (`runtime/resident.py`). So NumPy itself does all that changes only shapes and strides.

What computes is the package's function of that name (`operators.py`).
"""

import sys
from collections.abc import Iterator
from operator import index
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import dlpack
from mdhnp.arrays.distribution import Distribution, Single
from mdhnp.arrays.opencl import Arguments
from mdhnp.arrays.operators import Operators, ours
from mdhnp.arrays.transfer import read

__all__ = ["Array", "make", "view_of"]

_INDICES = (int, np.integer, slice, type(None), type(Ellipsis))


class Array(Operators, Arguments):
    """An n-dimensional array on one device.

    Made by :func:`mdhnp.asarray`, :func:`mdhnp.empty` and the like, and by every call that is given one. Slices,
    transposed and broadcast arrays are views: they share its memory.

    Attributes
    ----------
    device : Device
        Where its elements are.
    dtype : numpy.dtype
        Their type.
    shape, strides : tuple of int
        Elements along each axis; bytes from one to the next.

    Raises
    ------
    TypeError
        If it is made by calling the class.

    Notes
    -----
    Source: Steuwer & Gorlatch, "SkelCL", containers: elements are copied when they are needed, and once.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = mdhnp.asarray(np.arange(6.0).reshape(2, 3), device="cpu")
    >>> (a @ a.T).numpy()
    array([[ 5., 14.],
           [14., 50.]])
    """

    __slots__ = ("__weakref__", "_copy", "_view", "device")

    _copy: tuple[int, npt.NDArray[Any]] | None

    def __new__(cls) -> Self:
        """Refuse: an array needs memory."""
        raise TypeError("Array is made by mdhnp.asarray, mdhnp.empty and the like, not by its class")

    # What it is.

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._view.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self._view.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return self._view.strides

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._view.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._view.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._view.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._view.nbytes

    @property
    def distribution(self) -> Distribution:
        """Which devices have which elements; see :func:`mdhnp.distribute`."""
        if self.device.several:
            found: Distribution = self.device.memory.distribution(self.device, self._view)
            return found
        return Single((f"{self.device.name} ({self.device.runtime})",))

    @property
    def parts(self) -> "tuple[Array, ...]":
        """What each device has, as Arrays on these devices, which share the memory."""
        return self.device.memory.parts(self.device, self._view) if self.device.several else (self,)

    def __len__(self) -> int:
        """Give the elements along the first axis."""
        return len(self._view)

    def __repr__(self) -> str:
        """Show the elements, type and device."""
        shown = np.array2string(self.numpy(), separator=", ", prefix="mdhnp.Array(")
        return f"mdhnp.Array({shown}, dtype={self.dtype}, device={self.device.name!r})"

    # Views.

    @property
    def T(self) -> "Array":
        """All axes in reverse order."""
        return make(self._view.T, self.device)

    @property
    def mT(self) -> "Array":
        """The last two axes exchanged."""
        return make(self._view.mT, self.device)

    @property
    def real(self) -> "Array":
        """The real parts: of complex numbers a view, else the array itself."""
        return make(self._view.real, self.device) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> "Array":
        """The imaginary parts: of complex numbers a view, else zeros."""
        return make(self._view.imag, self.device) if self.dtype.kind == "c" else ours("zeros_like")(self)

    def __getitem__(self, key: Any) -> "Array":
        """Give a view of some of the elements, by whole numbers, slices, ``None`` and ``...``.

        Other keys are IndexErrors, or NumPy's on a copy where ``config.fallback`` is "numpy".
        """
        keys = _basic(key)
        if keys is None:
            from mdhnp.arrays import indexing

            return indexing.read(self, key)
        return make(self._view[keys], self.device)

    def __iter__(self) -> "Iterator[Array]":
        """Give the parts along the first axis."""
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[n] for n in range(len(self)))

    def transpose(self, *axes: Any) -> "Array":
        """Give a view whose axes are in another order, as ``ndarray.transpose`` does."""
        return make(self._view.transpose(*axes), self.device)

    def reshape(self, *shape: Any) -> "Array":
        """Give the elements in another shape: a view where strides allow, else a copy."""
        wanted = shape[0] if len(shape) == 1 else shape
        return ours("reshape")(self, wanted)

    def ravel(self) -> "Array":
        """Give the elements along one axis: a view where strides allow, else a copy."""
        return ours("reshape")(self, (-1,))

    def flatten(self) -> "Array":
        """Give a copy of the elements along one axis."""
        return ours("reshape")(self, (-1,), copy=True)

    # Copies.

    def numpy(self) -> npt.NDArray[Any]:
        """Give the elements as a read-only ndarray: no copy on a CPU, else one that is kept until the array changes."""
        return read(self)

    def copy(self) -> "Array":
        """Give a new array of the same elements, in C order."""
        return ours("asarray")(self, copy=True)

    def __copy__(self) -> "Array":
        """Give a new array of the same elements, on the same device."""
        return self.copy()

    def __deepcopy__(self, memo: Any) -> "Array":
        """Give a new array of the same elements, on the same device."""
        return self.copy()

    def astype(self, dtype: npt.DTypeLike, *, copy: bool = True) -> "Array":
        """Convert the elements, as ``ndarray.astype`` does."""
        return ours("astype")(self, dtype, copy=copy)

    def to_device(self, device: Any, /, *, stream: None = None) -> "Array":
        """Give the array on another device; itself where it is there.

        Raises
        ------
        ValueError
            If a stream is given: devices here have one each.
        """
        if stream is not None:
            raise ValueError("to_device: stream must be None, for a device has one queue")
        return ours("asarray")(self, device=device)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Put elements into a part of the array, converted by NumPy's rules.

        The part may also be where an array of booleans is true, if the same is put there everywhere. Other keys as in
        reading.
        """
        keys = _basic(key)
        if keys is not None:
            _assign(self[keys], value)
        elif isinstance(key, Array | np.ndarray) and key.dtype == bool and np.ndim(value) <= self.ndim - key.ndim:
            self._put_where(key, value)
        else:
            from mdhnp.arrays import indexing

            indexing.write(self, key, value)

    def _put_where(self, mask: Any, value: Any) -> None:
        axes = self.ndim - mask.ndim  # that each place has
        if mask.shape != self.shape[: mask.ndim]:
            raise IndexError(f"an array of booleans of shape {mask.shape} is no index for one of {self.shape}")
        _assign(self, ours("where")(mask[(..., *[None] * axes)], value, self))

    def item(self) -> Any:
        """Give the only element as a Python number."""
        return self.numpy().item()

    def tolist(self) -> Any:
        """Give the elements as nested lists of Python numbers."""
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        """Give the only element's truth."""
        return bool(self.numpy())

    def __int__(self) -> int:
        """Give the only element."""
        return int(self._only("int"))

    def __float__(self) -> float:
        """Give the only element."""
        return float(self._only("float"))

    def __complex__(self) -> complex:
        """Give the only element."""
        return complex(self._only("complex"))

    def __index__(self) -> int:
        """Give the only element, a whole number."""
        return index(self._only("index"))

    def _only(self, what: str) -> Any:
        if self.ndim:
            raise TypeError(f"{what}: only an array without axes is converted to a Python number, not {self.shape}")
        return self.numpy()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the elements; they come back on the same device where it is there, else on the default one."""
        return unpickled, (np.asarray(self.numpy()), self.device.identity)

    # Protocols.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Give the elements to ``numpy.asarray``."""
        if copy is False and self.device.own_memory:
            raise ValueError("copy=False, but elements in the memory of a device have to be copied")
        return np.array(self.numpy(), dtype, copy=copy)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Make a call of one of NumPy's functions, by the package's function of its meaning."""
        from mdhnp.arrays import protocols

        return protocols.array_function(self, func, types, args, kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Make a call of a ufunc or of one of its methods, by the package's function of its meaning."""
        from mdhnp.arrays import protocols

        return protocols.array_ufunc(self, ufunc, method, inputs, kwargs)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Give the elements to another library: in place on a CPU device, else as a copy on the host.

        Raises
        ------
        BufferError
            If elements in the memory of a device are asked for where they are, or without a copy.
        """
        return dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Give the kind of memory the elements are in, the host's (1) or an OpenCL device's (4), and its number."""
        return dlpack.place(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Give the package, which has the array API standard's functions."""
        package = sys.modules["mdhnp"]
        offered = ("2021.12", "2022.12", "2023.12", package.__array_api_version__)
        if api_version not in (None, *offered):
            raise ValueError(f"api_version: {api_version!r} is none of {', '.join(offered)}")
        return package


def _basic(key: Any) -> tuple[Any, ...] | None:
    """Give a key that makes NumPy give a view, also of a single element; None if it is none."""
    keys = key if type(key) is tuple else (key,)
    if any([not isinstance(each, _INDICES) or isinstance(each, bool) for each in keys]):
        return None
    return keys if Ellipsis in keys else (*keys, ...)


def make(view: npt.NDArray[Any], device: Any) -> Array:
    """Make the Array of a view; `device` may also stand for several."""
    made = object.__new__(Array)
    made._view, made.device, made._copy = view, device, None
    return made


def view_of(array: Array) -> npt.NDArray[Any]:
    """Give an Array's view."""
    return array._view


def _assign(array: Array, value: Any) -> None:
    """Put elements into an array; that, too, is a call."""
    from mdhnp.frontend.creation import assign

    assign(array, value)


def unpickled(elements: npt.NDArray[Any], identity: str) -> Array:
    """Give a pickled array: on the device it was on where that is there, else on the default one."""
    from mdhnp.runtime.devices import default_device, devices

    found = next((d for d in devices() if d.identity == identity), None) or default_device()
    return ours("asarray")(elements, device=found, copy=True)
