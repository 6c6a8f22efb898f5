"""Arrays on several devices: what `runtime/resident.py` is for a device with memory of its own."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array, make
from mdhnp.arrays.distribution import BlockDistribution, CopyDistribution, Distribution, SingleDistribution
from mdhnp.arrays.transfer import empty
from mdhnp.distributed.exchange import copied
from mdhnp.distributed.machines import weights
from mdhnp.distributed.placement import Shard, box_of, flat, lent, placement_of, seen, view_on
from mdhnp.distributed.spans import Spans, StridedBox, holds, spans_of, split, stretch
from mdhnp.mdh import shares
from mdhnp.mdh.regions import Region
from mdhnp.runtime.groups import Group
from mdhnp.runtime.resident import changed, fixed, is_fixed, version

__all__ = [
    "blocks", "changed", "copies", "distribution", "download", "fixed", "in_slices", "is_fixed", "lent", "maker",
    "parts", "upload", "version",
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
    return blocks(group, source, {axis: shares(array.shape[axis], weights(group))})


def copies(group: Group, source: View) -> View:
    """Give a copy of the elements to each device."""
    shards = [Shard(d, flat(copied(source, d), d)) for d in group.members]
    return view_on(shards, source.shape, source.dtype)


def blocks(group: Group, source: View, sizes: Mapping[int, Sequence[int]], halo: int = 0) -> View:
    """Give blocks of the elements to the devices, of such sizes along some axes, each with a halo."""
    if not source.ndim:
        return blocks(group, source.reshape(1), sizes).reshape(())
    ends = [[*pairwise(accumulate(each, initial=0))] for each in sizes.values()]
    shards, whole = [], [slice(0, n) for n in source.shape]
    for device, block in zip(group.members, product(*ends), strict=True):
        some, mine = list(whole), list(whole)
        for axis, (begin, end) in zip(sizes, block, strict=True):
            mine[axis] = some[axis] = slice(begin, end)
            if begin < end:
                some[axis] = slice(max(begin - halo, 0), min(end + halo, source.shape[axis]))
        room, own = spans_of(source.shape, source.itemsize, tuple(some), tuple(mine))
        shards.append(Shard(device, flat(copied(source[tuple(some)], device), device), room, own))
    return view_on(shards, source.shape, source.dtype)


def maker(group: Group, outputs: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> Callable[[], tuple[View, ...]]:
    """Give what makes views of new memory: blocks along the first axis of several elements."""
    return lambda: tuple([_new(group, shape, dtype) for shape, dtype in outputs])


def _new(group: Group, shape: tuple[int, ...], dtype: np.dtype[Any]) -> View:
    if prod(shape) < 2:
        return copies(group, lent(np.zeros(shape, dtype)))
    axis = next(a for a, n in enumerate(shape) if n > 1)
    row, shards, begin = dtype.itemsize * prod(shape[axis + 1 :]), [], 0
    for device, size in zip(group.members, shares(shape[axis], weights(group)), strict=True):
        room = stretch(begin * row, (begin + size) * row)
        shards.append(Shard(device, flat(empty((size, *shape[axis + 1 :]), dtype, device), device), room))
        begin += size
    return view_on(shards, shape, dtype)


def download(group: Group, view: View) -> View:
    return copied(view, None, packed=True)


# What users see.


def distribution(group: Group, view: View) -> Distribution:
    """Say which devices have the elements of a view."""
    placement, box = placement_of(view), box_of(view)
    shards = {h.device: h for h in placement.shards}
    members = [(label, shards.get(d)) for label, d in zip(group.labels, group.members, strict=True)]
    having = tuple([label for label, h in members if h is not None and holds(h.own, box, box.whole)])
    if len(having) > 1:
        return CopyDistribution(having)
    if having or view.size < 2:
        return SingleDistribution(having or group.labels[:1])
    regions = [[] if h is None else split(box, [box.whole], h.own)[0] for _, h in members]
    if max(map(len, regions)) > 1:  # as of another shape
        axis = max(range(view.ndim), key=lambda a: abs(view.strides[a]) * (view.shape[a] > 1))
        along = tuple([slice(0, n if a == axis else 1) for a, n in enumerate(box.shape)])
        each = [[] if h is None else split(box, [along], h.own)[0] for _, h in members]
        counts = tuple([sum([region[axis].stop - region[axis].start for region in own]) for own in each])
        return BlockDistribution(group.labels, (axis,), (counts,))
    pairs = zip([h for _, h in members], regions, strict=True)
    halo = max([_halo(box, each[0], placement.valid(h)) for h, each in pairs if h is not None and each])
    return _grid(group.labels, [each[0] if each else None for each in regions], halo)


def in_slices(view: View) -> bool:
    """Whether each device has one slice of a view; of another shape than was distributed it may have several."""
    box = box_of(view)
    return all([len(split(box, [box.whole], shard.own)[0]) < 2 for shard in placement_of(view).shards])


def _grid(labels: Sequence[str], boxes: Sequence[Region | None], halo: int) -> BlockDistribution:
    """Tell by each device's box along which axes there are parts, the one along which devices change last first."""
    having = [box for box in boxes if box is not None]
    places = [[n for n, box in enumerate(having) if box[a] != having[0][a]] for a in range(len(having[0]))]
    axes = sorted([a for a, each in enumerate(places) if each], key=lambda a: -places[a][0])
    if len(axes) > 1:
        ends = [dict.fromkeys([(box[a].start, box[a].stop) for box in having]) for a in axes]
        sizes = [tuple([stop - start for start, stop in each]) for each in ends]
        names = tuple([label for label, box in zip(labels, boxes, strict=True) if box is not None])
        return BlockDistribution(names, tuple(axes), tuple(sizes), halo)
    (axis,) = axes or (next(a for a, s in enumerate(having[0]) if s.stop - s.start > 1),)
    along = [0 if box is None else box[axis].stop - box[axis].start for box in boxes]
    return BlockDistribution(tuple(labels), (axis,), (tuple(along),), halo)


def _halo(box: StridedBox, own: Region, valid: Spans) -> int:
    """Say how many elements there are beside what a device has, at most, along an axis."""
    known = split(box, [box.whole], valid)[0]
    if len(known) > 1:
        return 0
    return max([max(o.start - k.start, k.stop - o.stop) for o, k in zip(own, known[0], strict=True)])


def parts(group: Group, view: View) -> tuple[Array, ...]:
    """Give what each device has of a view, but for halos, as Arrays of its own, which share the memory.

    ValueError if that is no slice along an axis, as of a view in another shape.
    """
    placement, box = placement_of(view), box_of(view)
    placement.shared = True
    found = []
    for shard in placement.shards:
        assert shard.device is not None
        regions = split(box, [box.whole], shard.own)[0]
        if len(regions) > 1:
            raise ValueError("parts: a device has several slices of the view; distribute it anew")
        if regions:
            own = seen(shard.memory, box.within(shard.room, regions[0]), view.dtype)
        else:
            own = empty((0,) * view.ndim, view.dtype, shard.device)
        found.append(make(own, shard.device))
    return tuple(found)
