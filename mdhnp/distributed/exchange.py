"""Exchange: elements of placements, brought to where they are needed.

What a device holds already is not moved; of anything else only those elements that are asked for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import make, view_of
from mdhnp.distributed.boxes import StridedBox, around, holds, split
from mdhnp.distributed.placement import Placement, Shard, box_of, placement_of
from mdhnp.distributed.spans import beyond, hull
from mdhnp.distributed.threads import named
from mdhnp.mdh.regions import Region, unwrapped
from mdhnp.runtime import resident, transfers
from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout

View = npt.NDArray[Any]

#: Bytes between elements that may be copied with them, which takes no longer than a launch.
_BETWEEN = 1 << 16


class Exchange(NamedTuple):
    """Elements that went from one device to another."""

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
        return transfer.empty(view.shape, view.dtype, device)
    thin = tuple([slice(0, 1) if s == 0 else slice(None) for s in view.strides])
    if any([s == 0 and n > 1 for s, n in zip(view.strides, view.shape, strict=True)]):
        return np.broadcast_to(fetch(view[thin], device), view.shape)
    placement, box = placement_of(view), box_of(view)
    for shard in placement.shards:
        if holds(shard.room, box, box.whole) and _within_reach(shard, device):
            if shard.device is device:
                _complete(placement, shard, box, box.whole)
            elif not holds(placement.valid(shard), box, box.whole):
                continue
            return shard.see(box, box.whole, view.dtype)
    first = placement.shards[0]
    if first.device is None and device is not None and view.nbytes <= transfer.FEW:
        return transfer.constant(first.see(box, box.whole, view.dtype), device)
    return gathered(view, device)


def fetch_region(view: View, region: Region, device: Device | None) -> View:
    """Give a region of a view as :func:`fetch` does; one may go on from an axis's beginning."""
    if all([s.stop <= n for s, n in zip(region, view.shape, strict=True)]):
        return fetch(view[_key(region)], device)
    beside = _with_halo(view, region, device)
    if beside is not None:
        return beside
    target = transfer.empty(tuple([s.stop - s.start for s in region]), view.dtype, device)
    for here, there in unwrapped(region, view.shape):
        source = view[here]
        _collect(placement_of(source), source.dtype, box_of(source), device, target[there])
    return target


def is_here(view: View, region: Region, device: Device) -> bool:
    """Whether a device holds a region of a view, so that nothing is brought there to read it."""
    if any([s.stop > n for s, n in zip(region, view.shape, strict=True)]):
        return False
    part = view[_key(region)]
    thin = part[_key(tuple([slice(0, 1) if s == 0 else slice(None) for s in part.strides]))]
    placement, box = placement_of(thin), box_of(thin)
    own = [shard for shard in placement.shards if shard.device is device]
    return not thin.size or any([holds(placement.valid(shard), box, box.whole) for shard in own])


def _with_halo(view: View, region: Region, device: Device | None) -> View | None:
    """Give a region that goes on at the array's other end, where a device has room for that beside what it holds."""
    placement, box = placement_of(view), box_of(view)
    if box.start or box.ends(box.whole)[1] != placement.nbytes or not view.flags.c_contiguous:
        return None
    axis = next((a for a, n in enumerate(view.shape) if n > 1), 0)
    for shard in placement.shards:
        for turn in (0, view.shape[axis]):
            along = slice(region[axis].start - turn, region[axis].stop - turn)
            turned = (*region[:axis], along, *region[axis + 1 :])
            inside = all([s.stop <= n for a, (s, n) in enumerate(zip(turned, view.shape, strict=True)) if a != axis])
            if shard.device is device and inside and holds(shard.room, box, turned):
                _complete(placement, shard, box, turned)
                return shard.see(box, turned, view.dtype)
    return None


def _within_reach(shard: Shard, device: Device | None) -> bool:
    """Whether a device can read what is held: it does so itself, or both work on the host's memory."""
    return shard.device is device or not (_apart(shard.device) or _apart(device))


def _apart(device: Device | None) -> bool:
    return device is not None and device.own_memory


def gathered(view: View, device: Device | None) -> View:
    """Give the view of a new copy of the elements, in the order in which they lie, on a device or on the host."""
    order = sorted(range(view.ndim), key=lambda a: -abs(view.strides[a]))
    return copied(view.transpose(order), device).transpose(np.argsort(order).tolist())


def copied(view: View, device: Device | None) -> View:
    """Give the view of a new copy of the elements, in C order, on a device or on the host."""
    target = transfer.empty(view.shape, view.dtype, device)
    if view.size:
        _collect(placement_of(view), view.dtype, box_of(view), device, target)
    return target


def _complete(placement: Placement, shard: Shard, box: StridedBox, region: Region) -> None:
    """Bring what a device has room for, but not, or not any more, what is the array's; beyond an end, of the other."""
    failures, stores, valid = shard.failures_now(), placement.stores, placement.valid(shard)
    shard.valid, shard.failures = valid, failures  # those told while elements are on their way make it another number
    wanted = hull(valid, around(shard.room, box, region))
    for lacking in beyond(wanted, valid):
        some = StridedBox.of_bytes(lacking)
        integers = np.dtype(f"u{some.itemsize}")
        room = shard.see(some, some.whole, integers)
        _collect(placement, integers, some._replace(start=some.start % placement.nbytes), shard.device, room, shard)
    placement.complete(shard, wanted, stores)


def _collect(
    placement: Placement,
    dtype: np.dtype[Any],
    box: StridedBox,
    device: Device | None,
    target: View,
    into: Shard | None = None,
) -> None:
    """Put the elements into a view of a device's memory, from who has them: at first itself, then who comes after it.

    With `into` this is room beside what the device has, and comes from others.
    """
    left, shards = [box.whole], placement.shards
    first = next((n for n, shard in enumerate(shards) if shard.device is device), 0)
    for shard in (*shards[first:], *shards[:first]):  # not all the same one first, which serves one at a time
        if shard is not into:
            found, left = split(box, left, placement.valid(shard) if shard.device is device else shard.own)
            for region in found:
                _put(shard, shard.see(box, region, dtype), device, target[_key(region)])
    assert not left, "a placement has a hole"


def _key(region: Region) -> Any:
    return (*region, ...)


def _put(shard: Shard, source: View, device: Device | None, target: View) -> None:
    """Copy from what is held to a view of a device's memory."""
    giver = shard.device
    if giver is not None and device is not None and giver is not device:
        for exchanges in _watching.get():
            exchanges.append(Exchange(giver, device, source.nbytes))
    if giver is not None and _apart(giver):
        if giver is device:
            make(target, device)[...] = make(source, device)
            return
        if device is not None and _apart(device) and source.nbytes >= transfers.LARGE:
            _relay(giver, source, device, target)
            return
        with named(giver):
            source = _downloaded(giver, source)
    if device is None or not _apart(device):
        target[...] = source
    elif target.flags.c_contiguous:
        resident.upload_into(device, np.ascontiguousarray(source).reshape(source.shape), target)
    else:
        make(target, device)[...] = source


def _relay(giver: Device, source: View, device: Device, target: View) -> None:
    """Copy from one device's memory to another's in pieces, one being read while those before are written."""
    dense = target if target.flags.c_contiguous else transfer.empty(target.shape, target.dtype, device)
    with resident.filling(device, dense) as fill:

        def put(some: View, at: int) -> Any:
            with named(device):
                return fill(some, at)

        with named(giver):
            if not source.flags.c_contiguous:
                source = view_of(make(source, giver).copy())
            resident.pass_on(giver, source, put)
    if dense is not target:
        make(target, device)[...] = make(dense, device)


def _downloaded(device: Device, view: View) -> View:
    """Copy elements to the host; those that lie far apart are put together before, for what is between is not asked."""
    if Layout.of(view).nbytes - view.nbytes > max(view.nbytes, _BETWEEN):
        view = view_of(make(view, device).copy())
    return resident.download(device, view)


def store(target: View, source: View, shard: Shard) -> None:
    """Put the elements of a view into another one of the same shape, as far as a device has them."""
    assert shard.device is not None
    placement, box = placement_of(target), box_of(target)
    for region in split(box, [box.whole], placement.valid(shard))[0]:
        here = fetch(source[_key(region)], shard.device)
        make(shard.see(box, region, target.dtype), shard.device)[...] = make(here, shard.device)
