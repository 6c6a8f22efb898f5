"""Arrays on several devices: what `runtime/resident.py` is for a device with memory of its own."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array, make
from mdhnp.arrays.distribution import BlockDistribution, CopyDistribution, Distribution, SingleDistribution
from mdhnp.arrays.transfer import empty
from mdhnp.distributed.boxes import StridedBox, split
from mdhnp.distributed.exchange import copied, gathered
from mdhnp.distributed.machines import weights
from mdhnp.distributed.placement import Shard, box_of, flat, lent, placement_of, view_on
from mdhnp.mdh import shares
from mdhnp.runtime.groups import Group
from mdhnp.runtime.resident import changed, fixed, is_fixed, version

__all__ = [
    "blocks", "changed", "copies", "distribution", "download", "fixed", "is_fixed", "lent", "maker", "parts", "upload",
    "version",
]  # fmt: skip

View = npt.NDArray[Any]


def upload(group: Group, array: View) -> View:
    """Distribute a copy of an ndarray: blocks along the first axis of several elements, or a copy of a number."""
    source = lent(array)
    if not array.size:
        nothing = [Shard(d, np.empty(0, np.uint8)) for d in group.members]
        return view_on(nothing, array.shape, array.dtype, array.strides)
    if array.size == 1:
        return copies(group, source)
    axis = next(a for a, n in enumerate(array.shape) if n > 1)
    return blocks(group, source, axis, shares(array.shape[axis], weights(group)))


def copies(group: Group, source: View) -> View:
    """Give a copy of the elements to each device."""
    shards = [Shard(d, flat(copied(source, d), d)) for d in group.members]
    return view_on(shards, source.shape, source.dtype)


def blocks(group: Group, source: View, axis: int, sizes: Sequence[int], halo: int = 0) -> View:
    """Give blocks of the elements along an axis to the devices, each with a halo."""
    if not source.ndim:
        return blocks(group, source.reshape(1), 0, sizes).reshape(())
    order = [axis, *[a for a in range(source.ndim) if a != axis]]
    turned = source.transpose(order)
    row = source.itemsize * prod(turned.shape[1:])
    shards, begin = [], 0
    for device, size in zip(group.members, sizes, strict=True):
        end = begin + size
        low, high = (max(begin - halo, 0), min(end + halo, turned.shape[0])) if size else (begin, end)
        memory = flat(copied(turned[low:high], device), device)
        shards.append(Shard(device, memory, low * row, (begin * row, end * row)))
        begin = end
    if all(n == 1 for n in source.shape[:axis]):  # the axis is the outermost one, and strides are NumPy's
        return view_on(shards, source.shape, source.dtype)
    return view_on(shards, turned.shape, source.dtype).transpose(np.argsort(order).tolist())


def maker(group: Group, outputs: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> Callable[[], tuple[View, ...]]:
    """Give what makes views of new memory: blocks along the first axis of several elements."""
    return lambda: tuple([_new(group, shape, dtype) for shape, dtype in outputs])


def _new(group: Group, shape: tuple[int, ...], dtype: np.dtype[Any]) -> View:
    if prod(shape) < 2:
        return copies(group, lent(np.zeros(shape, dtype)))
    axis = next(a for a, n in enumerate(shape) if n > 1)
    row, shards, begin = dtype.itemsize * prod(shape[axis + 1 :]), [], 0
    for device, size in zip(group.members, shares(shape[axis], weights(group)), strict=True):
        shards.append(Shard(device, flat(empty((size, *shape[axis + 1 :]), dtype, device), device), begin * row))
        begin += size
    return view_on(shards, shape, dtype)


def download(group: Group, view: View) -> View:
    return gathered(view, None)


# What users see.


def distribution(group: Group, view: View) -> Distribution:
    """Say which devices have the elements of a view."""
    placement, box = placement_of(view), box_of(view)
    shards = {h.device: h for h in placement.shards}
    members = [(label, shards.get(d)) for label, d in zip(group.labels, group.members, strict=True)]
    low, high = box.ends(box.whole)
    having = tuple([label for label, h in members if h is not None and h.own[0] <= low and high <= h.own[1]])
    if len(having) > 1:
        return CopyDistribution(having)
    axes = [a for a, n in enumerate(view.shape) if n > 1 and view.strides[a]]
    if having or not axes:
        return SingleDistribution(having or group.labels[:1])
    axis = max(axes, key=lambda a: abs(view.strides[a]))
    ends = [(placement.valid(h), h.own) for h in shards.values()]
    halo = max([max(own[0] - valid[0], valid[1] - own[1]) for valid, own in ends]) // abs(view.strides[axis])
    return BlockDistribution(group.labels, axis, tuple([_count(box, axis, h) for _, h in members]), halo)


def _count(box: StridedBox, axis: int, shard: Shard | None) -> int:
    """Say how many elements a device has along an axis."""
    if shard is None:
        return 0
    along = tuple([slice(0, n if a == axis else 1) for a, n in enumerate(box.shape)])
    return sum([region[axis].stop - region[axis].start for region in split(box, [along], *shard.own)[0]])


def parts(group: Group, view: View) -> tuple[Array, ...]:
    """Give what each device has of a view, but for halos, as Arrays of its own, which share the memory.

    ValueError if that is no slice along an axis, as of a view in another shape.
    """
    placement, box = placement_of(view), box_of(view)
    placement.shared = True
    found = []
    for shard in placement.shards:
        assert shard.device is not None
        regions = split(box, [box.whole], *shard.own)[0]
        if len(regions) > 1:
            raise ValueError("parts: a device has several slices of the view; distribute it anew")
        none = (0,) * view.ndim
        own = shard.see(box, regions[0], view.dtype) if regions else empty(none, view.dtype, shard.device)
        found.append(make(own, shard.device))
    return tuple(found)
