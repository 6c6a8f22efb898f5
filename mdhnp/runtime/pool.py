"""Memory of a device that has its own: buffers used again by size class, and who holds how much.

Takes a device and bytes, gives :class:`Block`. It must not know arrays. A buffer cannot be split, so that a block
serves sizes of its own class only: those that agree in their leading bit and the four after it, so that at most a
sixteenth is wasted.

A block may be returned while kernels that use it still wait in the device's queue of calls: whatever uses it next is
behind them there. Who uses another queue waits for a mark in that one first, enqueued after its blocks were taken: what
used them before is done then.
"""

import gc
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import NamedTuple

import numpy as np
import pyopencl as cl

from mdhnp import system
from mdhnp.documentation import public
from mdhnp.process import process
from mdhnp.runtime.handle import Device
from mdhnp.runtime.pending import FULL

_SMALLEST = 512  # bytes
#: Parts of the device's memory that blocks may take, and that free ones may.
_MOST, _MOST_FREE = 0.95, 0.5
_FULL = (*FULL, cl.status_code.OUT_OF_RESOURCES)

_serials = count(1)


class Addresses:
    """Addresses on the host that stand for bytes elsewhere: on a device, or on several.

    They have no memory behind them: who reads there by mistake ends the process, and gets no wrong result. `start` is
    the first. `version` counts changes of what is there, for those who keep a copy; where it is `shared`, others may
    change it without a word.
    """

    __slots__ = ("addresses", "shared", "start", "version")

    def __init__(self, size: int) -> None:
        self.version, self.shared = 0, False
        self.addresses = system.addresses(size)
        self.start = int(np.ndarray(size, np.uint8, self.addresses).__array_interface__["data"][0])


class Block(Addresses):
    """A buffer of a size in bytes, by its handle in OpenCL, too; `serial` is its number in this process, from 1 on."""

    __slots__ = ("buffer", "handle", "serial", "size")

    def __init__(self, buffer: cl.Buffer, size: int) -> None:
        super().__init__(size)
        self.buffer, self.handle, self.size, self.serial = buffer, buffer.int_ptr, size, next(_serials)


@public(
    title="Attributes",
    total="int: All that it has.",
    limit="int: What this process may take of it.",
    used="int: Held by Arrays, and by kernels' temporaries.",
    free="int: Held by the pool for the next ones.",
    arrays="int: Blocks in use: one or more arrays lie in each.",
    pinned="int: Of the host's memory, through which arrays are copied.",
    example="""
>>> mdhnp.memory_info("cpu").total > 0
True""",
)
class MemoryInfo(NamedTuple):
    """What a device's memory is used for, in bytes."""

    total: int
    limit: int
    used: int
    free: int
    arrays: int
    pinned: int


class Pool:
    """The blocks of a device.

    A finalizer may return a block at any line, also at one of ours, so it takes no lock: lists change in single steps,
    which are atomic. What is allocated changes under the lock.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._free: dict[int, list[Block]] = {}
        self._held = 0  # bytes of all blocks
        self._count = 0  # blocks
        self._lock = process.lock()
        self.total = int(device.cl.global_mem_size)
        self.limit = int(_MOST * self.total)

    def take(self, nbytes: int) -> Block:
        """Give a block of at least so many bytes; MemoryError if there is no room, also without all that is free."""
        return self.block(self.size_of(nbytes))

    def size_of(self, nbytes: int) -> int:
        size = size_class(nbytes)
        return nbytes if size > self._device.caps.max_allocation else size

    def home(self, size: int) -> list[Block]:
        """Give the list of free blocks of a size, always the same."""
        found = self._free.get(size)
        return self._free.setdefault(size, []) if found is None else found

    def block(self, size: int) -> Block:
        """Give a block of a size; errors as of :meth:`take`."""
        try:
            return self.home(size).pop()
        except IndexError:
            return self.new(size)

    def take_all(self, sizes: Sequence[int]) -> tuple[Block, ...]:
        """Give a block for each number of bytes; none stays taken where there is no room for all."""
        blocks: list[Block] = []
        try:
            for nbytes in sizes:
                blocks.append(self.take(nbytes))
        except BaseException:
            self.give_back(*blocks)
            raise
        return tuple(blocks)

    def give_back(self, *blocks: Block) -> None:
        """Keep blocks for the next arrays. Kernels may use them still; what uses them next is behind these."""
        for block in blocks:
            self.home(block.size).append(block)

    def free(self) -> int:
        return sum(size * len(blocks) for size, blocks in list(self._free.items()))

    def empty(self, most: int = 0) -> None:
        """Give free blocks back to the device, the largest first, until the rest is no more than `most` bytes."""
        with self._lock:
            left = self.free()
            for size in sorted(self._free, reverse=True):
                with suppress(IndexError):  # none is left of this size
                    while left > most:
                        self._free[size].pop()
                        self._held -= size
                        self._count -= 1
                        left -= size

    def info(self, pinned: int) -> MemoryInfo:
        with self._lock:
            free = self.free()
            count = self._count - sum(map(len, list(self._free.values())))
            return MemoryInfo(self.total, self.limit, self._held - free, free, count, pinned)

    def new(self, size: int) -> Block:
        """Give a new block of a size; errors as of :meth:`take`."""
        require_buffer(self._device, size)
        with self._lock:
            self.empty(int(_MOST_FREE * self.total))
            for make_room in (lambda: None, lambda: self.empty(max(self.free() - size, 0)), self.empty, self._collect):
                make_room()
                if self._held + size <= self.limit and (block := self._allocated(size)) is not None:
                    return block
        info = self.info(0)
        raise MemoryError(
            f"{self._device.name} ({self._device.runtime}) has no room for {size} bytes: {info.used} bytes are held "
            f"by {info.arrays} arrays, {info.free} are free, of at most {self.limit} for this process"
        )

    def _collect(self) -> None:
        gc.collect()
        self.empty()

    def _allocated(self, size: int) -> Block | None:
        device = self._device
        try:
            buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, size)
            # A runtime allocates when a buffer is first used, and then nobody could make room. But NVIDIA's driver ends
            # the process if that is asked for while a kernel is running: there the launch that uses it tells.
            if device.runtime != "nvidia":
                flags = cl.mem_migration_flags.CONTENT_UNDEFINED
                cl.enqueue_migrate_mem_objects(device.queue, [buffer], flags)
        except cl.Error as error:
            if error.code in _FULL:
                return None
            raise
        block = Block(buffer, size)
        self._held += size
        self._count += 1
        return block


def size_class(nbytes: int) -> int:
    """Give the bytes of the blocks that serve so many: 1024 for 1000, 1088 for 1025, 1015808 for 10**6."""
    shift = max(nbytes.bit_length() - 5, 0)
    return max(-(-nbytes >> shift) << shift, _SMALLEST)


def require_buffer(device: Device, nbytes: int) -> None:
    """Raise MemoryError where no buffer of a device has so many bytes."""
    if nbytes > device.caps.max_allocation:
        raise MemoryError(
            f"an array of {nbytes} bytes is larger than {device.name} ({device.runtime}) can hold in one buffer "
            f"({device.caps.max_allocation} bytes); cut it into several"
        )


_pools: dict[Device, Pool] = {}


def pool(device: Device) -> Pool:
    """Give a device's pool, the same at every call."""
    found = _pools.get(device)
    return _pools.setdefault(device, Pool(device)) if found is None else found


def release() -> None:
    for each in list(_pools.values()):
        each.empty()
