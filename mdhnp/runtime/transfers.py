"""Copies between the host's memory and a device's own, at the speed of the link between them.

Takes a device, bytes and a buffer. It must not know arrays. A driver copies ordinary memory with one thread, through
blocks of its own that the device can reach (*pinned* ones), at a sixth of the link's speed. So large copies go through
a ring of pinned blocks here, which several threads fill while the blocks before are on their way.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from mdhnp import system
from mdhnp.process import process
from mdhnp.runtime import pending
from mdhnp.runtime.handle import Device
from mdhnp.runtime.pinned import PinnedBlock, is_pinned, pinned_bytes

Bytes = npt.NDArray[Any]

#: Bytes of a block, and blocks of a ring: on an H200 others were slower. Threads that fill them, where there are cores.
_BLOCK, _BLOCKS, _THREADS = 4 * 1024**2, 8, 8
#: Bytes from which on a ring is faster than the driver.
LARGE = 1024**2


class PinnedRing:
    """Pinned blocks of the host's memory, for one copy at a time."""

    def __init__(self, device: Device) -> None:
        self.lock = threading.RLock()  # reentrant, for finalizers that make a call amid a copy, which find it busy
        self.busy = False
        self._pinned = PinnedBlock(device, _BLOCK * _BLOCKS)
        memory = self._pinned.memory
        self._blocks: list[Bytes] = [memory[n * _BLOCK : (n + 1) * _BLOCK] for n in range(_BLOCKS)]
        self._busy: list[cl.Event | None] = [None] * _BLOCKS
        threads = min(_THREADS, max(system.cores() // 2, 1))
        self._team = ThreadPoolExecutor(threads, thread_name_prefix="mdhnp-copy")

    def send(self, source: Bytes, buffer: cl.Buffer, offset: int, queue: cl.CommandQueue) -> None:
        """Copy to the device; when this returns, the last blocks may still be on their way."""

        def fill(n: int, part: Bytes) -> None:
            if (busy := self._busy[n % _BLOCKS]) is not None:
                busy.wait()
            self._block(n, part.size)[...] = part

        def put(n: int, part: Bytes) -> None:
            block, start = self._block(n, part.size), offset + n * _BLOCK
            self._busy[n % _BLOCKS] = cl.enqueue_copy(queue, buffer, block, dst_offset=start, is_blocking=False)
            queue.flush()

        self._in_turn(source, fill, put)

    def receive(self, target: Bytes, buffer: cl.Buffer, offset: int, queue: cl.CommandQueue) -> None:
        """Copy from the device, when all that was enqueued before is done."""

        def empty(n: int, part: Bytes) -> None:
            part[...] = self._asked(n, part.size)

        def ask(n: int) -> None:
            if (left := target.size - n * _BLOCK) > 0:
                self._ask(n, min(_BLOCK, left), buffer, offset + n * _BLOCK, queue)

        for n in range(_BLOCKS):
            ask(n)
        self._in_turn(target, empty, lambda n, _: ask(n + _BLOCKS))

    def pass_on(
        self, nbytes: int, buffer: cl.Buffer, offset: int, queue: cl.CommandQueue, put: Callable[[Bytes, int], cl.Event]
    ) -> None:
        """Copy from the device to where `put` does, half of the blocks being read while others are put."""
        most, ahead = min(_BLOCK, max(LARGE, -(-nbytes // _BLOCKS))), _BLOCKS // 2
        starts = range(0, nbytes, most)
        sizes = [min(most, nbytes - start) for start in starts]
        try:
            for n in range(-ahead, len(sizes)):
                if n >= 0:
                    self._busy[n % _BLOCKS] = put(self._asked(n, sizes[n]), starts[n])
                if n + ahead < len(sizes):
                    self._ask(n + ahead, sizes[n + ahead], buffer, offset + starts[n + ahead], queue)
        except BaseException:
            with suppress(cl.Error):  # the first error says more
                queue.finish()
            raise

    def _block(self, n: int, size: int) -> Bytes:
        return self._blocks[n % _BLOCKS][:size]

    def _ask(self, n: int, size: int, buffer: cl.Buffer, start: int, queue: cl.CommandQueue) -> None:
        """Have a block filled from the device, once the copy before has left it."""
        if (busy := self._busy[n % _BLOCKS]) is not None:
            with suppress(cl.Error):  # who made that copy tells
                busy.wait()
        block = self._block(n, size)
        self._busy[n % _BLOCKS] = cl.enqueue_copy(queue, block, buffer, src_offset=start, is_blocking=False)
        queue.flush()

    def _asked(self, n: int, size: int) -> Bytes:
        busy = self._busy[n % _BLOCKS]
        assert busy is not None
        busy.wait()
        return self._block(n, size)

    def _in_turn(self, memory: Bytes, work: Callable[[int, Bytes], None], then: Callable[[int, Bytes], None]) -> None:
        """Let the team `work` on each part of memory, at most a ring of them ahead, and do `then` after each."""
        parts = [memory[at : at + _BLOCK] for at in range(0, memory.size, _BLOCK)]
        ahead = [self._team.submit(work, n, part) for n, part in enumerate(parts[:_BLOCKS])]
        try:
            for n, part in enumerate(parts):
                ahead[n].result()
                then(n, part)
                if (later := n + _BLOCKS) < len(parts):
                    ahead.append(self._team.submit(work, later, parts[later]))
        except BaseException:
            for each in ahead:  # they write into the caller's memory, or read it
                each.cancel()
            for each in ahead:
                if not each.cancelled():
                    each.exception()
            raise


_rings: dict[tuple[Device, str], PinnedRing] = process.table()
_making = process.lock()


def _ring_for(device: Device, direction: str, memory: Bytes) -> AbstractContextManager[PinnedRing | None]:
    """Give the ring for a copy of memory as :func:`_ring` does, at once; None also if the driver is as fast."""
    start = memory.__array_interface__["data"][0]
    is_plain = memory.size < LARGE or is_pinned(device, start, memory.size)
    return nullcontext() if is_plain else _ring(device, direction, wait=False)


@contextmanager
def _ring(device: Device, direction: str, wait: bool) -> Iterator[PinnedRing | None]:
    """Give the ring for a copy "up" to a device or "down" from it; None if it is in use, or there is no memory for it.

    With `wait`, until no other thread uses it.
    """
    key = device, direction
    if key not in _rings:
        with _making, suppress(cl.Error):  # the system has no more memory that can be pinned
            if key not in _rings:
                _rings[key] = PinnedRing(device)
    ring = _rings.get(key)
    if ring is None or not ring.lock.acquire(blocking=wait):
        yield None
        return
    free = not ring.busy
    try:
        ring.busy = True
        yield ring if free else None
    finally:
        ring.busy = not free
        ring.lock.release()


def pinned(device: Device) -> int:
    """Give the bytes of the host's memory that are pinned for copies from and to a device, and for its results."""
    return _BLOCK * _BLOCKS * sum([(device, d) in _rings for d in ("up", "down")]) + pinned_bytes(device)


class Transfer(NamedTuple):
    """A copy that was made: whether to the device, its bytes, and the seconds that the caller waited for it."""

    to_device: bool
    nbytes: int
    seconds: float


_watching: list[list[Transfer]] = []


@contextmanager
def watched() -> Iterator[list[Transfer]]:
    """Collect the copies that are made inside a block, by any thread."""
    seen: list[Transfer] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching[:] = [other for other in _watching if other is not seen]


class noted:
    """Have a copy that is made in this block collected."""

    __slots__ = ("_begin", "_nbytes", "_to_device")

    def __init__(self, to_device: bool, nbytes: int) -> None:
        self._to_device, self._nbytes = to_device, nbytes

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            for seen in _watching:
                seen.append(Transfer(self._to_device, self._nbytes, time.perf_counter() - self._begin))


def send(device: Device, source: Any, buffer: cl.Buffer, offset: int, queue: cl.CommandQueue | None = None) -> None:
    """Copy bytes of the host into a buffer; they may be changed as soon as this returns.

    That a small copy fails is told by whoever next waits for the device; LaunchError if a large one, or a call before,
    failed.
    """
    plain, queue = np.frombuffer(source, np.uint8), queue or device.queue
    with pending.errors(device), noted(True, plain.size), _ring_for(device, "up", plain) as ring:
        if ring is not None:
            ring.send(plain, buffer, offset, queue)
        elif plain.size >= LARGE:
            cl.enqueue_copy(queue, buffer, plain, dst_offset=offset, is_blocking=True)
        else:  # from a copy, so that nobody waits for what is before it in the queue
            copy = cl.enqueue_copy(queue, buffer, plain.copy(), dst_offset=offset, is_blocking=False)
            pending.watch(device, copy)  # which holds the copied memory


def receive(device: Device, target: Any, buffer: cl.Buffer, offset: int, queue: cl.CommandQueue | None = None) -> None:
    """Copy bytes of a buffer to the host, when all that was enqueued before is done; LaunchError if that failed."""
    plain, queue = target.reshape(-1).view(np.uint8), queue or device.queue
    with pending.errors(device), noted(False, plain.size), _ring_for(device, "down", plain) as ring:
        if ring is not None:
            ring.receive(plain, buffer, offset, queue)
        else:
            cl.enqueue_copy(queue, plain, buffer, src_offset=offset, is_blocking=True)
    pending.settled(device)


def after(queue: cl.CommandQueue, other: cl.CommandQueue) -> None:
    """Have all that is enqueued from now on wait for what the other queue has got."""
    marker = cl.enqueue_marker(other)
    other.flush()
    cl.enqueue_barrier(queue, wait_for=[marker])


def pass_on(device: Device, buffer: cl.Buffer, offset: int, nbytes: int, put: Callable[[Bytes, int], cl.Event]) -> None:
    """Copy bytes of a buffer to elsewhere than the host, when all that was enqueued before is done.

    `put` takes some of the bytes, in memory that is pinned where there is such, and how many are before them; it gives
    the event after which that memory may be used again. That it fails is no error here; LaunchError if a call before
    failed.
    """
    queue = device.queue_of("receiving")  # beside what others write to the device
    with pending.errors(device), noted(False, nbytes), _ring(device, "down", wait=True) as ring:
        after(queue, device.queue)
        if ring is not None:
            ring.pass_on(nbytes, buffer, offset, queue, put)
        else:
            memory = np.empty(min(nbytes, _BLOCK), np.uint8)  # ordinary, each piece after the one before was put
            for at in range(0, nbytes, _BLOCK):
                some = memory[: nbytes - at]
                cl.enqueue_copy(queue, some, buffer, src_offset=offset + at, is_blocking=True)
                event = put(some, at)
                with suppress(cl.Error):  # who put it tells
                    event.wait()
    pending.settled(device)
