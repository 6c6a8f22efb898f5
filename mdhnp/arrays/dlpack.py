"""Arrays of other libraries, and for them, by the protocol DLPack: NumPy's, for memory that the host can reach."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.errors import guarded

if TYPE_CHECKING:
    from mdhnp.arrays.array import Array

__all__ = ["export", "from_dlpack", "place"]

#: What DLPack calls the host's memory, and OpenCL's.
_HOST, _OPENCL = 1, 4


def export(array: "Array", stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """Give a capsule that NumPy makes: of the array's memory on a CPU device, else of a copy on the host."""
    if not array.device.own_memory:
        return array._view.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
    if dl_device is None or dl_device[0] != _HOST:
        raise BufferError("an OpenCL device's memory is exported as a copy on the host only: dl_device=(1, 0)")
    if copy is False:
        raise BufferError("copy=False, but elements in the memory of an OpenCL device have to be copied")
    return array.numpy().__dlpack__(stream=stream, max_version=max_version, copy=True)


def place(array: "Array") -> tuple[int, int]:
    """Give the kind of memory that an array is in, and the number of the device."""
    if not array.device.own_memory:
        return _HOST, 0
    from mdhnp.runtime.devices import devices

    return _OPENCL, next((n for n, device in enumerate(devices()) if device is array.device), 0)


@guarded
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> "Array":
    """Give an array of another library's, which has the protocol DLPack.

    Parameters
    ----------
    x : object
        Has ``__dlpack__`` and ``__dlpack_device__``.
    device : str, int or Device, optional
        As in :func:`mdhnp.asarray`: by default where an Array is, else the default device.
    copy : bool, optional
        Whether its memory is new. By default only where it has to be: elements in the host's memory are used there by
        CPU devices.

    Returns
    -------
    Array
        Read-only if the other library's array is.

    Raises
    ------
    BufferError
        If `copy` is false and a copy is needed, or the other library cannot give its elements to the host.
    AttributeError
        If `x` has no such protocol.
    TypeError
        If kernels do not compute with the type.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = np.arange(3.0)
    >>> b = mdhnp.from_dlpack(a, device="cpu")
    >>> a[0] = 7.0
    >>> b.numpy()
    array([7., 1., 2.])
    """
    from mdhnp.arrays.array import Array
    from mdhnp.frontend.creation import asarray

    if type(x) is not Array:
        kind, _ = x.__dlpack_device__()
        x = np.from_dlpack(x, copy=copy) if kind == _HOST else np.from_dlpack(x, device="cpu", copy=copy)
        copy = None if copy else copy  # which is done
    try:
        return asarray(x, device=device, copy=copy)
    except ValueError as error:
        raise BufferError(str(error).removeprefix("asarray: ")) from None
