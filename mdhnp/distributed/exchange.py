"""Exchange: elements of values, brought to where they are needed.

What a device holds already is not moved; of anything else only those elements that are asked for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import make, view_of
from mdhnp.distributed.boxes import Box, Region, split
from mdhnp.distributed.run import named
from mdhnp.distributed.values import Hold, Value, box_of, empty_view, value_of
from mdhnp.runtime import marks, transfers
from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.marks import Mark

__all__ = ["Exchange", "copied", "fetch", "fetch_region", "gathered", "store", "watched"]

View = npt.NDArray[Any]

#: Bytes between elements that may be copied with them, which takes no longer than a launch.
_BETWEEN = 1 << 16


class Exchange(NamedTuple):
    """Elements that went from one device to another.

    Attributes
    ----------
    source, target : Device
        From where, and where to.
    nbytes : int
        How many bytes.
    """

    source: Device
    target: Device
    nbytes: int


_watching: ContextVar[tuple[list[Exchange], ...]] = ContextVar("mdhnp_exchanges", default=())


@contextmanager
def watched() -> Iterator[list[Exchange]]:
    """Collect what calls made inside of a block exchange between devices."""
    seen: list[Exchange] = []
    token = _watching.set((*_watching.get(), seen))
    try:
        yield seen
    finally:
        _watching.reset(token)


def fetch(view: View, device: Device | None) -> View:
    """Give a view of the elements on a device, or on the host: of the memory where they are, or of a copy.

    Nobody may change them.
    """
    if not view.size:
        return empty_view(view.shape, view.dtype, device)
    thin = tuple([slice(0, 1) if s == 0 else slice(None) for s in view.strides])
    if any([s == 0 and n > 1 for s, n in zip(view.strides, view.shape, strict=True)]):
        return np.broadcast_to(fetch(view[thin], device), view.shape)
    value, box = value_of(view), box_of(view)
    low, high = box.ends(box.whole)
    for hold in value.holds:
        if hold.start <= low and high <= hold.stop and _within_reach(hold, device):
            begin, end = value.valid(hold)
            if hold.device is device:
                _complete(value, hold, low, high)
            elif low < begin or end < high:
                continue
            return hold.see(box, box.whole, view.dtype)
    first = value.holds[0]
    if first.device is None and device is not None and view.nbytes <= transfer.FEW:
        return transfer.constant(first.see(box, box.whole, view.dtype), device)
    return gathered(view, device)


def fetch_region(view: View, region: Sequence[slice], device: Device | None) -> View:
    """Give a region of a view as :func:`fetch` does; of one that goes on from an axis's beginning a copy."""
    if all([s.stop <= n for s, n in zip(region, view.shape, strict=True)]):
        key: Any = (*region, ...)
        return fetch(view[key], device)
    target = empty_view(tuple([s.stop - s.start for s in region]), view.dtype, device)
    both = [
        ((slice(s.start, n), slice(n - s.start)), (slice(s.stop - n), slice(n - s.start, None)))
        if s.stop > n
        else ((s, slice(None)),)
        for s, n in zip(region, view.shape, strict=True)
    ]
    for each in product(*both):
        source = view[tuple([here for here, _ in each])]
        _collect(value_of(source), source.dtype, box_of(source), device, target[tuple([there for _, there in each])])
    return target


def _within_reach(hold: Hold, device: Device | None) -> bool:
    """Whether a device can read what is held: it does so itself, or both work on the host's memory."""
    return hold.device is device or not (_apart(hold.device) or _apart(device))


def _apart(device: Device | None) -> bool:
    return device is not None and device.own_memory


def gathered(view: View, device: Device | None) -> View:
    """Give the view of a new copy of the elements, in the order in which they lie, on a device or on the host."""
    order = sorted(range(view.ndim), key=lambda a: -abs(view.strides[a]))
    return copied(view.transpose(order), device).transpose(np.argsort(order).tolist())


def copied(view: View, device: Device | None) -> View:
    """Give the view of a new copy of the elements, in C order, on a device or on the host."""
    target = empty_view(view.shape, view.dtype, device)
    if view.size:
        _collect(value_of(view), view.dtype, box_of(view), device, target)
    return target


def _complete(value: Value, hold: Hold, low: int, high: int) -> None:
    """Bring what a device has room for, but not, or not any more, what is the value's."""
    stores, (begin, end) = value.stores, value.valid(hold)
    for first, last in ((low, begin), (end, high)):
        if first < last:
            stretch = Box(first, (last - first,), (1,), 1)
            room = hold.see(stretch, stretch.whole, np.dtype(np.uint8))
            _collect(value, np.dtype(np.uint8), stretch, hold.device, room, hold)
    value.complete(hold, (min(low, begin), max(high, end)), stores)


def _collect(
    value: Value, dtype: np.dtype[Any], box: Box, device: Device | None, target: View, into: Hold | None = None
) -> None:
    """Put the elements into a view of a device's memory, from who has them: at first itself.

    With `into` this is room beside what the device has, and comes from others.
    """
    left = [box.whole]
    early = None if into is None else value.early(into)
    for hold in sorted(value.holds, key=lambda h: h.device is not device):
        if hold is into:
            continue
        stretch = value.valid(hold) if hold.device is device else hold.own
        found, left = split(box, left, *stretch)
        for region in found:
            source = hold.see(box, region, dtype), _mark(value, hold, box.ends(region))
            _put(hold, *source, device, target[_key(region)], None if early is None else early.mark)
    assert not left, "a value has a hole"


def _key(region: Region) -> Any:
    return (*[slice(b, e) for b, e in region], ...)


def _mark(value: Value, hold: Hold, ends: tuple[int, int]) -> Mark | None:
    """Give after which mark a stretch of what is held is complete; None: after all that was enqueued."""
    early = value.early(hold)
    if early is None or not any([begin <= ends[0] and ends[1] <= end for begin, end in early.spans]):
        return None
    return early.mark


def _put(
    hold: Hold, source: View, complete: Mark | None, device: Device | None, target: View, free: Mark | None
) -> None:
    """Copy from what is held to a view of a device's memory, after marks of both devices where there are such."""
    if hold.device is not None and device is not None and hold.device is not device:
        for seen in _watching.get():
            seen.append(Exchange(hold.device, device, source.nbytes))
    if hold.device is not None and _apart(hold.device):
        if hold.device is device:
            make(target, device)[...] = make(source, device)
            return
        if device is not None and _apart(device) and source.nbytes >= transfers.LARGE:
            _passed_on(hold.device, source, complete, device, target, free)
            return
        with named(hold.device):
            source = _downloaded(hold.device, source, complete)
    if device is None or not _apart(device):
        target[...] = source
    elif target.flags.c_contiguous:
        marks.upload_into(device, np.ascontiguousarray(source).reshape(source.shape), target, free)
    else:
        make(target, device)[...] = source


def _passed_on(
    giver: Device, source: View, complete: Mark | None, device: Device, target: View, free: Mark | None
) -> None:
    """Copy from one device's memory to another's in pieces, one being read while those before are written."""
    dense = target if target.flags.c_contiguous else empty_view(target.shape, target.dtype, device)
    # New memory may be in use by kernels after the mark, which is older.
    with marks.filling(device, dense, free if dense is target else None) as fill:

        def put(some: View, at: int) -> Any:
            with named(device):
                return fill(some, at)

        with named(giver):
            if not source.flags.c_contiguous:
                source, complete = view_of(make(source, giver).copy()), None
            marks.pass_on(giver, source, put, complete)
    if dense is not target:
        make(target, device)[...] = make(dense, device)


def _downloaded(device: Device, view: View, complete: Mark | None) -> View:
    """Copy elements to the host; those that lie far apart are put together before, for what is between is not asked."""
    if Layout.of(view).nbytes - view.nbytes > max(view.nbytes, _BETWEEN):
        view = view_of(make(view, device).copy())
        complete = None
    return marks.download(device, view, complete)


def store(target: View, source: View, hold: Hold) -> None:
    """Put the elements of a view into another one of the same shape, as far as a device has them."""
    assert hold.device is not None
    value, box = value_of(target), box_of(target)
    for region in split(box, [box.whole], *value.valid(hold))[0]:
        hold.early = None
        here = fetch(source[_key(region)], hold.device)
        make(hold.see(box, region, target.dtype), hold.device)[...] = make(here, hold.device)
