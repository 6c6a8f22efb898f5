"""`Array`: an n-dimensional array on one device.

An Array is a device and a *view*: an ndarray that says where its elements lie. Where kernels work on the host's memory
that is the memory itself; for a device with memory of its own it is an address that nobody can read, whose base
holds the device's memory (`runtime/resident.py`). So NumPy itself does all that changes only shapes and strides.

What computes is attached to the class by `frontend/array_methods.py`: operators, indices and methods that are calls of
the package's functions, and NumPy's protocols.
"""

import sys
from collections.abc import Callable, Iterator
from operator import attrgetter, index
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from mdhnp import runtime
from mdhnp.arrays import transfer
from mdhnp.arrays.distribution import Distribution, SingleDistribution
from mdhnp.documentation import exported

if TYPE_CHECKING:  # which load OpenCL
    import pyopencl as cl

    from mdhnp.runtime.handle import Device

#: What DLPack calls the host's memory, and OpenCL's.
HOST, _OPENCL = 1, 4


def attribute_of(path: str, what: str) -> Any:
    """Make a property that is an attribute of an attribute."""
    return property(attrgetter(path), doc=what)


def _number(kind: Callable[[Any], Any]) -> Any:
    def convert(array: "Array") -> Any:
        """Give the only element."""
        if array.ndim:
            name = kind.__name__
            raise TypeError(
                f"{name}: only an array without axes is converted to a Python number, not one of shape {array.shape}; "
                "arrays are for NumPy's functions: np.sin, not math.sin"
            )
        return kind(array.numpy())

    return convert


@exported
class Array:
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

    _view: npt.NDArray[Any]
    device: "Device"
    _copy: tuple[int, npt.NDArray[Any]] | None
    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # what is attached

        def __getattr__(self, name: str) -> Any: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = cast(Any, None)
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __add__
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __add__
        __rrshift__ = __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __ne__ = __neg__ = __pos__ = __abs__ = __add__
        __invert__ = __contains__ = __getitem__ = __setitem__ = __array_function__ = __array_ufunc__ = __add__

    def __new__(cls) -> Self:
        """Refuse: an array needs memory."""
        raise TypeError("Array is made by mdhnp.asarray, mdhnp.empty and the like, not by its class")

    # What it is.

    dtype: np.dtype[Any] = attribute_of("_view.dtype", "Type of the elements.")
    shape: tuple[int, ...] = attribute_of("_view.shape", "Elements along each axis.")
    strides: tuple[int, ...] = attribute_of("_view.strides", "Bytes from one element to the next along each axis.")
    ndim: int = attribute_of("_view.ndim", "Number of axes.")
    size: int = attribute_of("_view.size", "Number of elements.")
    itemsize: int = attribute_of("_view.itemsize", "Bytes of an element.")
    nbytes: int = attribute_of("_view.nbytes", "Bytes of all elements.")

    @property
    def distribution(self) -> Distribution:
        """Which devices have which elements; see :func:`mdhnp.distribute`."""
        if self.device.several:
            found: Distribution = self.device.memory.distribution(self.device, self._view)
            return found
        return SingleDistribution((f"{self.device.name} ({self.device.runtime})",))

    @property
    def parts(self) -> "tuple[Array, ...]":
        """What each device has, as Arrays on these devices, which share the memory."""
        return self.device.memory.parts(self.device, self._view) if self.device.several else (self,)

    def __len__(self) -> int:
        return len(self._view)

    def __repr__(self) -> str:
        """Show the elements, type and device."""
        shown = np.array2string(self.numpy(), separator=", ", prefix="mdhnp.Array(")
        return f"mdhnp.Array({shown}, dtype={self.dtype}, device={self.device.name!r})"

    def __format__(self, spec: str) -> str:
        """Show the only element as numbers of its type are, by a format; as text without one."""
        return format(self.numpy(), spec) if spec else str(self)

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

    def __iter__(self) -> "Iterator[Array]":
        """Give the parts along the first axis."""
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[n] for n in range(len(self)))

    def transpose(self, *axes: Any) -> "Array":
        """Give a view whose axes are in another order, as ``ndarray.transpose`` does.

        Parameters
        ----------
        *axes : int, or a tuple of int
            For each axis of the result, which one it is; by default all in reverse order.

        Returns
        -------
        Array
            A view.

        Examples
        --------
        >>> import mdhnp
        >>> mdhnp.zeros((2, 3, 4)).transpose(2, 0, 1).shape
        (4, 2, 3)
        """
        return make(self._view.transpose(*axes), self.device)

    # Copies.

    def numpy(self) -> npt.NDArray[Any]:
        """Give the elements as a read-only ndarray: no copy on a CPU, else one that is kept until the array changes.

        Returns
        -------
        ndarray
            Of the same shape and type. Waits for what computes the elements.

        Raises
        ------
        LaunchError
            If a kernel that computes them failed.

        Examples
        --------
        >>> import mdhnp
        >>> (mdhnp.asarray([1.0, 2.0]) + 1).numpy()
        array([2., 3.])
        """
        view, device = self._view, self.device
        if not device.own_memory:
            found = view.view()
        else:
            version = device.memory.version(view)
            if self._copy is not None and self._copy[0] == version:
                return self._copy[1]
            found = device.memory.download(device, view)
            self._copy = version, found
        found.flags.writeable = False
        return found

    def item(self) -> Any:
        """Give the only element as a Python number; ValueError if there are more.

        Examples
        --------
        >>> import mdhnp
        >>> mdhnp.asarray([2.5]).item()
        2.5
        """
        return self.numpy().item()

    def tolist(self) -> Any:
        """Give the elements as nested lists of Python numbers.

        Examples
        --------
        >>> import mdhnp
        >>> mdhnp.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        """Give the only element's truth."""
        return bool(self.numpy())

    __int__, __float__ = _number(int), _number(float)
    __complex__, __index__ = _number(complex), _number(index)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the elements; they come back on the same device where it is there, else on the default one."""
        return unpickled, (np.asarray(self.numpy()), self.device.identity)

    # What kernels of one's own take.

    @property
    def queue(self) -> "cl.CommandQueue":
        """The queue, in order, of all that its device does."""
        self._on_one("queue")
        return self.device.queue

    @property
    def buffer(self) -> "cl.Buffer":
        """The buffer that its elements are in, from `offset` on; only on a device with memory of its own."""
        block = self._place("buffer").block
        block.shared = True  # from now on others may change it without a word
        return block.buffer

    @property
    def offset(self) -> int:
        """Bytes from the beginning of `buffer` to the first element; only on a device with memory of its own."""
        return self._place("offset").offset

    @property
    def svm(self) -> "cl.SVM":
        """Its elements, from the first on, as shared virtual memory; only where kernels work on the host's memory."""
        import pyopencl as cl

        self._on_one("svm")
        if self.device.own_memory or not self.device.svm:
            instead = ".buffer and .offset" if self.device.own_memory else ".numpy()"
            raise AttributeError(f"svm: kernels on {self.device.name} do not work on the host's memory; use {instead}")
        try:
            return cl.SVM(self._view)
        except ValueError:
            raise ValueError(
                f"svm: elements must lie one after the other, and not be read-only; strides are {self._view.strides}, "
                "copy() gives such an array"
            ) from None

    def changed(self) -> None:
        """Say that a kernel of one's own that was enqueued in `queue` changes the elements.

        Without that a copy that the host has might be taken for what they are. Where kernels work on the host's memory
        this waits until all kernels in the queue are done.
        """
        self._on_one("changed")
        if self.device.own_memory:
            transfer.changed(self)
        else:
            runtime.pending.synchronize(self.device)

    def _on_one(self, name: str) -> None:
        if self.device.passing:
            raise AttributeError(f"{name}: arrays inside of mdhnp.fuse have no memory")
        if self.device.several:
            raise AttributeError(f"{name}: elements are on several devices; each of .parts is on one")

    def _place(self, name: str) -> Any:
        self._on_one(name)
        if not self.device.own_memory:
            instead = ".svm" if self.device.svm else ".numpy()"
            raise AttributeError(f"{name}: on {self.device.name} elements are in the host's memory; use {instead}")
        return self.device.memory.location(self._view)

    # Protocols.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Give the elements to ``numpy.asarray``."""
        if copy is False and self.device.own_memory:
            raise ValueError("copy=False, but elements in the memory of a device have to be copied")
        return np.array(self.numpy(), dtype, copy=copy)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Give the elements to another library: in place on a CPU device, else as a copy on the host.

        Raises
        ------
        BufferError
            If elements in the memory of a device are asked for where they are, or without a copy.
        """
        if not self.device.own_memory:
            return self._view.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if dl_device is None or dl_device[0] != HOST:
            raise BufferError("an OpenCL device's memory is exported as a copy on the host only: dl_device=(1, 0)")
        if copy is False:
            raise BufferError("copy=False, but elements in the memory of an OpenCL device have to be copied")
        return self.numpy().__dlpack__(stream=stream, max_version=max_version, copy=True)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Give the kind of memory the elements are in, the host's (1) or an OpenCL device's (4), and its number."""
        if not self.device.own_memory:
            return HOST, 0
        return _OPENCL, next((n for n, d in enumerate(runtime.devices.devices()) if d is self.device), 0)


def make(view: npt.NDArray[Any], device: Any) -> Array:
    """Make the Array of a view; `device` may also stand for several."""
    made = object.__new__(Array)
    made._view, made.device, made._copy = view, device, None
    return made


def unpickled(elements: npt.NDArray[Any], identity: str) -> Array:
    """Give a pickled array: on the device it was on where that is there, else on the default one."""
    known = runtime.devices
    found = next((d for d in known.devices() if d.identity == identity), None) or known.default_device()
    return make(transfer.put(np.array(elements), found), found)


def is_array(x: Any) -> bool:
    """Whether something is an array of pyopencl's, which is not imported for that."""
    module = sys.modules.get("pyopencl.array")
    return module is not None and isinstance(x, module.Array)


def each(x: Any, change: Callable[[Any], Any]) -> Any:
    """Change what is in nested tuples, lists and dictionaries.

    Examples
    --------
    >>> each(([1, 2], {"a": 3}), lambda n: -n)
    ([-1, -2], {'a': -3})
    """
    if isinstance(x, tuple):
        changed = [each(e, change) for e in x]
        return type(x)(*changed) if hasattr(x, "_fields") else tuple(changed)
    if isinstance(x, list):
        return [each(e, change) for e in x]
    return {key: each(e, change) for key, e in x.items()} if isinstance(x, dict) else change(x)
