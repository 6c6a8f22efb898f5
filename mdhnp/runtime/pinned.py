"""Results of NumPy calls in memory that a device reaches by itself, so that they come back, and go up again, unstaged.

Takes a device, shapes and dtypes; gives what makes arrays. It must not know queues. To pin memory takes as long as some
fifty copies of it save, and it cannot be swapped. So only results of a size that has come that often get it, and
there is a limit.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from mdhnp import system
from mdhnp.process import process
from mdhnp.runtime import results
from mdhnp.runtime.handle import Device
from mdhnp.runtime.pool import size_class
from mdhnp.runtime.results import lease

Array = npt.NDArray[Any]

#: Results of one size after which the next ones are pinned: on an H200 that takes 600 µs/MB, and saves 12.
_OFTEN = 50
#: Part of the machine's memory that may be pinned, for all devices together.
_MOST = 1 / 16


class PinnedBlock:
    """Pinned memory, and the buffer that it belongs to."""

    def __init__(self, device: Device, size: int) -> None:
        flags: Any = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        both: Any = cl.map_flags.READ | cl.map_flags.WRITE
        self.buffer = cl.Buffer(device.context, flags, size)
        mapped: Any = cl.enqueue_map_buffer(device.queue, self.buffer, both, 0, (size,), np.dtype(np.uint8))
        self.memory: Array = mapped[0]
        self.start = int(self.memory.__array_interface__["data"][0])
        self.bytes: Any = (ctypes.c_char * size).from_address(self.start)


#: One at a time pins memory, so that together they keep to the limit.
_pinning = process.lock()


class _Pool:
    """A device's pinned blocks, by size; all changes but allocations are single steps, for finalizers."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._asked: dict[int, int] = {}
        self.free: dict[int, list[PinnedBlock]] = {}
        self.all: list[PinnedBlock] = []
        self.most = int(system.memory() * _MOST)

    def take(self, size: int, often: int) -> Array | None:
        """Give memory of a size that has come so often before; None where it has not, or too much is pinned."""
        home = self.free.setdefault(size, [])
        try:
            block: PinnedBlock | None = home.pop()
        except IndexError:
            block = self._new(size, often)
        return None if block is None else lease(block.bytes, block, home)

    def _new(self, size: int, often: int) -> PinnedBlock | None:
        with _pinning:
            self._asked[size] = self._asked.get(size, 0) + 1
            if self._asked[size] <= often or _held() + size > self.most:
                return None
            try:
                block = PinnedBlock(self._device, size)
            except cl.Error:  # the system has no more for it
                self.most = _held()
                return None
            self.all.append(block)
            return block

    def held(self) -> int:
        return sum([block.memory.size for block in self.all])


_pools: dict[Device, _Pool] = process.table()


def _held() -> int:
    """Give the bytes that are pinned, for all devices together."""
    return sum([pool.held() for pool in tuple(_pools.values())])


def maker(device: Device, outputs: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> Callable[[], tuple[Array, ...]]:
    """Give what makes new arrays, as :func:`mdhnp.runtime.results.maker` does, for results of a device."""
    return results.maker(outputs, partial(_pools.setdefault(device, _Pool(device)).take, often=_OFTEN))


def passage(device: Device, nbytes: int) -> Array:
    """Give memory for bytes on their way from a device, pinned where there is such; used again when nobody sees it."""
    source = _pools.get(device) or _pools.setdefault(device, _Pool(device))
    found = source.take(size_class(nbytes), often=0)
    return np.ndarray((nbytes,), np.uint8, np.empty(nbytes, np.uint8) if found is None else found)


def is_pinned(device: Device, start: int, nbytes: int) -> bool:
    """Say whether memory of the host is pinned, so that a device copies it by itself."""
    source = _pools.get(device)
    return source is not None and any(
        [block.start <= start and start + nbytes <= block.start + block.memory.size for block in source.all]
    )


def pinned_bytes(device: Device) -> int:
    return _pools[device].held() if device in _pools else 0
