"""Memory of results: new for small ones, for large ones that of earlier results which nobody holds any more.

Takes shapes and dtypes, gives what makes arrays as ``numpy.empty`` does. It must not know devices. The system clears
memory that it hands out, which takes longer than many a kernel needs to fill it; memory used again is there already.

A large result is an array over a *lease* of a block: an array over all its bytes, which NumPy keeps as the base of all
views of the result, since its type is another than theirs. So the lease dies last, and then the block is free again.
"""

import mmap
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp import native, system
from mdhnp.process import process

Array = npt.NDArray[Any]

#: Bytes from which on memory is used again. The C library's allocator keeps what is smaller, see `_KEPT`.
LARGE = 4 * 1024**2
#: Bytes just below the most up to which glibc's malloc keeps memory once an array of that size was freed.
_KEPT = 31 * 1024**2

#: Blocks are multiples of a huge page, and are used for results of at least four fifths of their size.
_PAGE = 2 * 1024**2
_SLACK = 4
#: A free block goes back to the system when so many large results came after it and none fitted it.
_AGE = 64
#: Bytes of free blocks that are not marked. Large results of one call, and little beside what a process takes anyway.
_FRESH = 256 * 1024**2

_OFFERED = hasattr(mmap, "MADV_FREE")


class _InPython(np.ndarray[Any, Any]):
    """All bytes of a block."""

    __slots__ = ("block", "home")

    #: What is leased. Slices and copies of a lease have its type, but no block.
    block: Any
    #: Where it goes: a list, or what has its ``append``, called at any line of any thread; None: it is somebody else's.
    home: Any

    # What it needs lies in its defaults: at the end of the process the module's names go before the last array.
    def __del__(self, ending: Any = sys.is_finalizing) -> None:
        if (home := getattr(self, "home", None)) is not None and not ending():
            home.append(self.block)


Lease: Any = _InPython if native.Lease is None else native.Lease


def lease(memory: Any, block: Any, home: Any) -> Array:
    """Give an array over memory of a block that goes home when nobody sees it any more.

    The memory is no ndarray: of arrays over an array over an ndarray NumPy keeps the last one alive, not the lease.
    """
    made: Any = np.ndarray.__new__(Lease, (len(memory),), np.uint8, memory)
    made.block, made.home = block, home
    return made


class FreeBlocks:
    """The free blocks, oldest first.

    A finalizer runs at any line, also at one of ours, and must not wait for a lock that its own thread holds. So nobody
    waits: who finds the lock taken does without the free blocks.

    There are never more free blocks than an eighth of the machine's memory. Those freed last, up to `_FRESH`, stay
    as they are; the older ones are marked as memory that the system may take whenever it is short of some, without
    writing it anywhere. The next kernel to write into a marked block takes longer: 15 µs/MB with two threads.
    """

    def __init__(self, most: int) -> None:
        self.free: list[tuple[int, mmap.mmap]] = []  # with the number of blocks taken before
        self._marked = 0  # how many of them, from the oldest on, are marked
        self._most = most
        self._taken = 0
        self.sparing = 0  # blocks of :func:`sparing` open in any thread
        self._lock = process.lock(reentrant=False)

    def take(self, nbytes: int) -> mmap.mmap:
        """Give a block of at least so many bytes: the last one returned that fits, or a new one; else OSError."""
        size = -(-nbytes // _PAGE) * _PAGE
        if self._lock.acquire(blocking=False):
            try:
                self._taken += 1
                while self.free and self.free[0][0] < self._taken - _AGE:
                    self._pop(0)
                for at in range(len(self.free) - 1, -1, -1):
                    if size <= len(self.free[at][1]) <= size + size // _SLACK:
                        return self._pop(at)
                while self.sparing and self.free:
                    self._pop(0)
            finally:
                self._lock.release()
        block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            _advise(block, mmap.MADV_HUGEPAGE)
        return block

    def append(self, block: mmap.mmap) -> None:
        """Keep a block for the next result, if there is room; called by the garbage collector, in any thread."""
        if self._lock.acquire(blocking=False):
            try:
                if sum(len(other) for _, other in self.free) + len(block) <= self._most:
                    self.free.append((self._taken, block))
                    self._mark()
            finally:
                self._lock.release()

    def release(self) -> None:
        """Give the memory of all free blocks back to the system."""
        if self._lock.acquire(blocking=False):
            try:
                while self.free:
                    self._pop(0)
            finally:
                self._lock.release()

    def _pop(self, at: int) -> mmap.mmap:
        self._marked -= at < self._marked
        return self.free.pop(at)[1]

    def _mark(self) -> None:
        fresh = [len(block) for _, block in self.free[self._marked :]]
        while sum(fresh) > _FRESH:
            _advise(self.free[self._marked][1], mmap.MADV_FREE)
            self._marked += 1
            del fresh[0]


# Have glibc's malloc keep what is freed, up to twice this size at the end of its heap, in all of the process. Until one
# frees a large array for the first time, malloc returns arrays of 128 KB and more to the system as soon as they are
# freed, and gets new, empty memory for the next call's results: mallopt(3), dynamic M_MMAP_THRESHOLD and
# M_TRIM_THRESHOLD. This array is never written to, so it takes no memory.
with suppress(MemoryError):
    np.empty(_KEPT, np.uint8)


def _advise(block: mmap.mmap, advice: int) -> None:
    with suppress(OSError):  # systems that do not know it
        block.madvise(advice)


_blocks = FreeBlocks(system.memory() // 8 if _OFFERED else 0)
_sparing = process.lock()


def free() -> int:
    return sum(len(block) for _, block in tuple(_blocks.free))


#: Gives the memory of all free blocks back to the system.
release = _blocks.release


@contextmanager
def sparing() -> Iterator[None]:
    """Give the memory of free blocks back, inside of the block, before there is a new one: what is held is in use."""
    with _sparing:
        _blocks.sparing += 1
    try:
        yield
    finally:
        with _sparing:
            _blocks.sparing -= 1


def new(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Give one new array of whatever values are in memory."""
    if prod(shape) * dtype.itemsize < LARGE:
        return np.empty(shape, dtype)
    return _maker(shape, dtype, None)()


def maker(
    outputs: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], better: Callable[[int], Array | None] | None = None
) -> Callable[[], tuple[Array, ...]]:
    """Give what makes new arrays of these shapes and types, of whatever values are in memory, like ``numpy.empty``.

    Large arrays do not own their memory, as views do not, and begin at a page's boundary; they are in memory that is
    `better`, a lease of so many bytes, where there is some. Without memory the maker raises MemoryError.
    """
    makers = [_maker(shape, dtype, better) for shape, dtype in outputs]
    if len(makers) == 1:
        (make,) = makers
        return lambda: (make(),)
    return lambda: tuple([make() for make in makers])


def _maker(
    shape: tuple[int, ...], dtype: np.dtype[Any], better: Callable[[int], Array | None] | None
) -> Callable[[], Array]:
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < LARGE or not _OFFERED:
        return partial(np.empty, shape, dtype)

    def large() -> Array:
        if better is not None and (memory := better(nbytes)) is not None:
            return np.ndarray(shape, dtype, memory)
        try:
            block = _blocks.take(nbytes)
        except OSError:
            return np.empty(shape, dtype)  # or the error that NumPy raises
        return np.ndarray(shape, dtype, lease(block, block, _blocks))

    return large
