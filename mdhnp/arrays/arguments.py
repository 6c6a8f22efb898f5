"""What kernels of one's own take of an Array: its queue, and the buffer or shared memory that its elements are in."""

import sys
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:  # which load OpenCL
    import pyopencl as cl

    from mdhnp.runtime.handle import Device

__all__ = ["Arguments", "is_array"]


class Arguments:
    """What kernels of one's own take of an Array, which has a ``_view`` and a ``device``."""

    __slots__ = ()

    _view: npt.NDArray[Any]
    device: "Device"

    @property
    def queue(self) -> "cl.CommandQueue":
        """The queue, in order, of all that its device does."""
        self._on_one("queue")
        return self.device.queue

    @property
    def buffer(self) -> "cl.Buffer":
        """The buffer that its elements are in, from `offset` on; only on a device with memory of its own."""
        return self._place("buffer").block.buffer

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
            from mdhnp.runtime import resident

            resident.changed(self._view)
        else:
            from mdhnp.runtime import pending

            pending.synchronize(self.device)

    def _on_one(self, name: str) -> None:
        if self.device.several:
            raise AttributeError(f"{name}: elements are on several devices; each of .parts is on one")

    def _place(self, name: str) -> Any:
        self._on_one(name)
        if not self.device.own_memory:
            instead = ".svm" if self.device.svm else ".numpy()"
            raise AttributeError(f"{name}: on {self.device.name} elements are in the host's memory; use {instead}")
        from mdhnp.runtime import resident

        return resident.location(self._view)


def is_array(x: Any) -> bool:
    """Whether something is an array of pyopencl's, which is not imported for that."""
    module = sys.modules.get("pyopencl.array")
    return module is not None and isinstance(x, module.Array)
