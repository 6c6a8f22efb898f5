"""Exchange: elements of values, brought to where they are needed.

What a device holds already is not moved; of anything else only those elements that are asked for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import make
from mdhnp.distributed.boxes import Box, Region, split
from mdhnp.distributed.values import Hold, Value, box_of, empty_view, value_of
from mdhnp.runtime import resident
from mdhnp.runtime.handle import Device

__all__ = ["Exchange", "copied", "fetch", "missing", "store", "watched"]

View = npt.NDArray[Any]


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


def missing(view: View, device: Device) -> int:
    """Say how many bytes of a view would have to be brought to a device."""
    if not view.size:
        return 0
    value, box = value_of(view), box_of(view)
    regions = [box.whole]
    for hold in value.holds:
        if hold.device is device:
            _, regions = split(box, regions, *value.valid(hold))
    return sum(map(box.nbytes, regions))


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
            if hold.device is device:
                _complete(value, hold, low, high)
            begin, end = value.valid(hold) if hold.device is not device else (hold.start, hold.stop)
            if begin <= low and high <= end:
                return hold.see(box, box.whole, view.dtype)
    return _gathered(value, view.dtype, box, device)


def copied(view: View, device: Device) -> View:
    """Give the view of a new copy of the elements, in C order, on a device."""
    target = empty_view(view.shape, view.dtype, device)
    if view.size:
        _collect(value_of(view), view.dtype, box_of(view), device, target)
    return target


def _within_reach(hold: Hold, device: Device | None) -> bool:
    """Whether a device can read what is held: it does so itself, or both work on the host's memory."""
    return hold.device is device or not (_apart(hold.device) or _apart(device))


def _apart(device: Device | None) -> bool:
    return device is not None and device.own_memory


def _complete(value: Value, hold: Hold, low: int, high: int) -> None:
    """Bring what a hold has room for, and is not the value's yet."""
    begin, end = value.valid(hold)
    for first, last in ((low, min(begin, high)), (max(end, low), high)):
        if first < last:
            stretch = Box(first, (last - first,), (1,), 1)
            room = hold.see(stretch, stretch.whole, np.dtype(np.uint8))
            _collect(value, np.dtype(np.uint8), stretch, hold.device, room, but=hold)
    hold.valid = min(begin, low), max(end, high)


def _gathered(value: Value, dtype: np.dtype[Any], box: Box, device: Device | None) -> View:
    """Give a copy of the elements in the order in which they lie."""
    order = sorted(range(len(box.shape)), key=lambda a: -abs(box.strides[a]))
    new = empty_view(tuple([box.shape[a] for a in order]), dtype, device).transpose(np.argsort(order).tolist())
    _collect(value, dtype, box, device, new)
    return new


def _collect(
    value: Value, dtype: np.dtype[Any], box: Box, device: Device | None, target: View, but: Hold | None = None
) -> None:
    """Put the elements into a view of a device's memory, from who has them: at first itself."""
    left = [box.whole]
    for hold in sorted(value.holds, key=lambda h: h.device is not device):
        if hold is but:
            continue
        stretch = value.valid(hold) if hold.device is device else hold.own
        found, left = split(box, left, *stretch)
        for region in found:
            _put(hold, hold.see(box, region, dtype), device, target[_key(region)])
    assert not left, "a value has a hole"


def _key(region: Region) -> Any:
    return (*[slice(b, e) for b, e in region], ...)


def _put(hold: Hold, source: View, device: Device | None, target: View) -> None:
    """Copy from what is held to a view of a device's memory."""
    if hold.device is not None and device is not None and hold.device is not device:
        for seen in _watching.get():
            seen.append(Exchange(hold.device, device, source.nbytes))
    if hold.device is device and _apart(device):
        assert device is not None
        make(target, device)[...] = make(source, device)
        return
    plain = resident.download(hold.device, source) if hold.device is not None and hold.device.own_memory else source
    if device is None or not device.own_memory:
        target[...] = plain
    elif target.flags.c_contiguous:
        resident.upload_into(device, np.ascontiguousarray(plain).reshape(plain.shape), target)
    else:
        make(target, device)[...] = plain


def store(target: View, source: View, hold: Hold) -> None:
    """Put the elements of a view into another one of the same shape, as far as a hold has them."""
    value, box = value_of(target), box_of(target)
    for region in split(box, [box.whole], *value.valid(hold))[0]:
        here = fetch(source[_key(region)], hold.device)
        there = hold.see(box, region, target.dtype)
        if hold.device is None:
            there[...] = here
        else:
            make(there, hold.device)[...] = make(here, hold.device)
