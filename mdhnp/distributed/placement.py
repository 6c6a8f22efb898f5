"""Placement: which devices hold which elements of an array, and views of it.

A *view* of a placement is one over addresses that nobody can read, as those of a device's own memory are
(`runtime/resident.py`), so that NumPy slices and transposes it. What a device holds, its shard, is a box: of these
addresses those that some spans have (`spans.py`).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import is_
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array
from mdhnp.distributed.routes import Held, Holders
from mdhnp.distributed.spans import Span, Spans, StridedBox, stretch
from mdhnp.runtime import resident
from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.pending import waiting
from mdhnp.runtime.pool import Addresses

View = npt.NDArray[Any]


class Shard:
    """What a device, or the host, has of an array: some spans of its addresses, and memory for these.

    `room` is what the memory is for, by default a stretch from the array's beginning on; it begins before the array
    where there is room there. Others ask for the bytes of `own`; the rest is room for a halo. Elements of `valid` are
    there: those before the array's beginning are its last ones, and those behind its end the first, as a boundary that
    wraps wants them. All three have the same periods. `failures` are the device's when that was so: after another one,
    what came from others may not have arrived.
    """

    __slots__ = ("_waiting", "device", "failures", "memory", "own", "room", "valid")

    def __init__(
        self, device: Device | None, memory: View, room: Spans | None = None, own: Spans | None = None
    ) -> None:
        self.device, self.memory = device, memory
        self.room = room or stretch(0, memory.nbytes)
        self.own, self.valid = own or self.room, self.room
        self._waiting = None if device is None else waiting(device)
        self.failures = self.failures_now()

    def failures_now(self) -> int:
        return 0 if self._waiting is None else self._waiting.failures


class Placement(Addresses):
    """An array of `nbytes` that several devices hold.

    Its shards together have everything; several may have the same. Where it is shared, halos are never known to be
    valid. `stores` is another object when a store into it began, or ended, or a failure was noticed, after which halos
    may not have arrived.
    """

    def __init__(self, shards: Sequence[Shard], holders: Holders | None = None) -> None:
        self.shards = tuple(shards)
        self._holders = holders or Holders([Held(s.device, s.room, s.own, s.valid) for s in shards])
        self.nbytes = self._holders.nbytes
        super().__init__(max(self.nbytes, 1))
        self._at_work = 0
        self.stores = object()
        self._storing = threading.RLock()  # reentrant, for finalizers that make a call

    def box(self, view: View) -> StridedBox:
        """Say where a view's elements are."""
        return StridedBox(view.__array_interface__["data"][0] - self.start, view.shape, view.strides, view.itemsize)

    def holders(self) -> Holders:
        """Give what each holder has, as of now: the same object as long as that does not change."""
        each, before = list[Held](), self._holders
        for shard, held in zip(self.shards, before.each, strict=True):
            if (failures := shard.failures_now()) != shard.failures:
                self.stores = object()  # at first: what is being brought here is not known to arrive
                shard.valid = shard.own
                shard.failures = failures
            own, valid = shard.own, self.valid(shard)
            same = own is held.own and valid is held.valid
            each.append(held if same else Held(shard.device, shard.room, own, valid))
        if not all(map(is_, each, before.each)):
            self._holders = before = Holders(each)
        return before

    def valid(self, shard: Shard) -> Spans:
        """Give the bytes of a shard that are known to be the array's."""
        return shard.own if self.shared or shard.failures != shard.failures_now() else shard.valid

    @contextmanager
    def storing(self) -> Iterator[Callable[[], None]]:
        """Have a block be the only one in which devices store what they hold.

        Gives what each device does at its end: after Ctrl-C nobody waits for those that store yet.
        """
        given_up: list[bool] = []
        with self._storing:
            self._at_work += 1
            self.stores = object()
            for shard in self.shards:  # what lies beyond the ends is another device's to store
                begin, end, period = shard.valid[0]
                shard.valid = (Span(max(begin, 0), min(end, self.nbytes), period), *shard.valid[1:])
            try:
                yield lambda: self._part() if given_up else None
            except BaseException:
                given_up.append(True)  # before: a device that ends now, or later, finds this
                done = False
                while not done:  # however often Ctrl-C comes: half of it would leave copies that differ
                    with suppress(KeyboardInterrupt):
                        self._part()
                        done = True
                raise
            finally:
                self._at_work -= 1
                self.stores = object()

    def _part(self) -> None:
        """Have one device alone be asked for each byte: some have stored what others have not."""
        self.stores = object()  # at first: what was read before is not kept
        self.version += 1
        owned = set[Spans]()
        for shard in self.shards:
            if shard.own in owned:  # of a copy; blocks have nothing in common
                shard.own = tuple([span._replace(end=span.begin) for span in shard.own])
            owned.add(shard.own)
            shard.valid = shard.own

    def complete(self, shard: Shard, valid: Spans, stores: object) -> None:
        """Note that bytes of a shard are the array's, unless `stores` was replaced since it was that."""
        shard.valid = valid
        if self.stores is not stores or self._at_work:  # asked afterwards: what replaces it now finds them valid
            shard.valid = shard.own


def view_on(
    shards: Sequence[Shard], shape: tuple[int, ...], dtype: np.dtype[Any], strides: Sequence[int] | None = None,
    holders: Holders | None = None,
) -> View:  # fmt: skip
    """Give the view of a new placement, all of it; without strides, in C order."""
    try:
        placement = Placement(shards, holders)
    except OSError:
        nbytes = max([shard.own[0].end for shard in shards])
        raise MemoryError(f"no addresses for an array of shape {shape}, {nbytes} bytes") from None
    low = 0 if strides is None or 0 in shape else Layout(shape, tuple(strides), dtype.itemsize).low
    return np.ndarray(shape, dtype, resident.leased(placement), -low, strides)


def seen(memory: View, box: StridedBox, dtype: np.dtype[Any]) -> View:
    """Give the view of a box of memory; of elements of another size, as integers."""
    kind = dtype if dtype.itemsize == box.itemsize else np.dtype(f"u{box.itemsize}")
    return np.ndarray(box.shape, kind, memory, box.start, box.strides)


def placement_of(view: View) -> Placement:
    found: Placement = resident.block_of(view)
    return found


def box_of(view: View) -> StridedBox:
    """Say where a view's elements are in its placement."""
    return placement_of(view).box(view)


# Placements of what there is.


class _Bytes:
    """The bytes of an ndarray from its lowest to its highest, to be seen as an array that holds it."""

    def __init__(self, array: View) -> None:
        layout = Layout.of(array)
        address = array.__array_interface__["data"][0] + layout.low
        data = (address, not array.flags.writeable)
        self.array = array
        self.__array_interface__ = {"data": data, "shape": (layout.nbytes,), "typestr": "|u1", "version": 3}


def flat(view: View, device: Device | None) -> View:
    """Give the bytes that a view spans, of the host's memory or of a device's own: itself, if in C order there."""
    if not view.size:
        return np.empty(0, np.uint8)
    if device is None or not device.own_memory:
        return np.asarray(_Bytes(view))
    return view if view.flags.c_contiguous else resident.bytes_of(view)


def placed_on(device: Device | None, view: View) -> View:
    strides = None if view.flags.c_contiguous else view.strides
    return view_on([Shard(device, flat(view, device))], view.shape, view.dtype, strides)


def lent(a: Any) -> View:
    """Give an operand as the view of a placement: an Array of one device, or an ndarray, which stays where it is."""
    return placed_on(a.device, a._view) if type(a) is Array else placed_on(None, a)
