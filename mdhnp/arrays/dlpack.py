"""Arrays for other libraries by the protocol DLPack: NumPy's, for memory that the host can reach."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdhnp.arrays.array import Array

__all__ = ["HOST", "export", "place"]

#: What DLPack calls the host's memory, and OpenCL's.
HOST, _OPENCL = 1, 4


def export(array: "Array", stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """Give a capsule that NumPy makes: of the array's memory on a CPU device, else of a copy on the host."""
    if not array.device.own_memory:
        return array._view.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
    if dl_device is None or dl_device[0] != HOST:
        raise BufferError("an OpenCL device's memory is exported as a copy on the host only: dl_device=(1, 0)")
    if copy is False:
        raise BufferError("copy=False, but elements in the memory of an OpenCL device have to be copied")
    return array.numpy().__dlpack__(stream=stream, max_version=max_version, copy=True)


def place(array: "Array") -> tuple[int, int]:
    """Give the kind of memory that an array is in, and the number of the device."""
    if not array.device.own_memory:
        return HOST, 0
    from mdhnp.runtime.devices import devices

    return _OPENCL, next((n for n, device in enumerate(devices()) if device is array.device), 0)
