"""`distribute`: Arrays brought to several devices, and from one distribution to another."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise, product
from math import prod
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.arrays.array import Array, is_array, make
from mdhnp.arrays.distribution import BlockDistribution, CopyDistribution, Distribution, SingleDistribution
from mdhnp.arrays.opencl import adopted
from mdhnp.distributed import memory, threads
from mdhnp.distributed.exchange import copied, fetch
from mdhnp.distributed.jobs import DeviceCall
from mdhnp.distributed.machines import weights as default_weights
from mdhnp.distributed.placement import Shard, flat, lent, view_on
from mdhnp.distributed.spans import stretch
from mdhnp.documentation import public
from mdhnp.frontend.creation import on_host
from mdhnp.frontend.map_reduce import pointwise
from mdhnp.mdh import Function, pw, shares
from mdhnp.mdh.combine import CombineSpec
from mdhnp.runtime.devices import default_device, find_devices
from mdhnp.runtime.groups import Group, group
from mdhnp.runtime.handle import Device

View = npt.NDArray[Any]

_KINDS = ("block", "copy", "overlap", "single")


@public(
    """Give an array on several devices.

Calls on such Arrays run on all devices at once: each on the part that it has, or on what it gets of the others'. Slices
and transposed views stay where they are.""",
    a="array_like: Anything that :func:`mdhnp.asarray` takes.",
    kind='{"block", "copy", "overlap", "single"}: Each device has neighbouring elements along an axis; all elements; '
    "neighbouring ones and a few of its neighbours'; the first device has all.",
    axis="int or sequence of int: Along which blocks lie. Along several axes devices are a grid, whose blocks have "
    "the least border: four devices have 2 × 2 blocks of a square array.",
    devices="as in :func:`mdhnp.device`, optional: By default those that the Array is on, else those of the "
    ":func:`mdhnp.device` block.",
    weights="sequence of float, optional: The devices' shares of a block. By default equal ones; of unlike devices, "
    "by their measured rates.",
    halo='int: For "overlap": how many of the neighbours\' elements along the axis, at each end.',
    combine="str, callable or combine operator, optional: Where each device has a copy, and they were changed apart "
    "(``a.parts``): what combines them, as :func:`mdhnp.pw` takes or gives it. By default all are taken to be the "
    "same.",
    returns="Array: `a` itself where nothing changes, else a new one: only elements that a device does not have are "
    "moved to it.",
    raises={
        "ValueError": "If there is no such kind, `axis` is empty, weights are not one a device, the halo is negative, "
        "or `combine` is given for an array that is no copy on each device.",
        "NoDeviceError": "If there are no such devices.",
    },
    notes='Source: Steuwer & Gorlatch, "SkelCL", Section 2.3.',
    example="""
>>> a = mdhnp.distribute(np.arange(6.0), "block", devices="cpu")
>>> a.sum().item()
15.0""",
)
def distribute(
    a: "npt.ArrayLike",
    kind: str = "block",
    axis: int | Sequence[int] = 0,
    *,
    devices: Any = None,
    weights: Sequence[float] | None = None,
    halo: int = 1,
    combine: Any = None,
) -> Array:
    if kind not in _KINDS:
        raise ValueError(f"kind {kind!r} is none of {', '.join(_KINDS)}")
    if index(halo) < 0:
        raise ValueError(f"halo is {halo}, and must not be negative")
    source = _source(a)
    if devices is not None:
        where = group(find_devices(devices))
    else:
        place = a.device if type(a) is Array and a.device.several else default_device()
        where = place if isinstance(place, Group) else group([place])
    axes = normalize_axis_tuple(axis, source.ndim, "axis") if source.ndim else (0,)
    if not axes:
        raise ValueError("axis is empty, and must name one or more")
    if weights is not None and len(weights) != len(where.members):
        raise ValueError(f"{len(weights)} weights for {len(where.members)} devices")
    sizes = _sizes(a, where, axes, source.shape or (1,), weights)
    wanted = _wanted(where, kind, sizes, halo)
    if combine is not None:
        rows = _sizes(a, where, axes[:1], source.shape or (1,), weights)
        source = _combined(a, where, axes[0], rows[axes[0]], combine)
    elif isinstance(a, Array) and a.device is where and a.distribution == wanted and memory.in_slices(source):
        return a
    if kind == "copy":
        return make(memory.copies(where, source), where)
    if kind == "single":
        first = where.members[0]
        alone = Shard(first, flat(copied(source, first), first))
        return make(view_on([alone], source.shape, source.dtype), where)
    if combine is not None and kind == "block" and len(axes) == 1:
        return make(source, where)
    return make(memory.blocks(where, source, sizes, halo if kind == "overlap" else 0), where)


def _source(a: Any) -> View:
    """Give an array as the view of a placement."""
    if is_array(a):
        a = adopted(a)
    if type(a) is Array:
        return a._view if a.device.several else lent(a)
    return lent(on_host(a))


def _sizes(
    a: Any, where: Group, axes: Sequence[int], shape: Sequence[int], weights: Sequence[float] | None
) -> dict[int, tuple[int, ...]]:
    """Give the sizes of blocks along each axis: those that there are, where nobody asks for others."""
    extents = [shape[axis] for axis in axes]
    if weights is None and type(a) is Array and a.device is where:
        now = a.distribution
        if isinstance(now, BlockDistribution) and now.axes == tuple(axes) and [*map(sum, now.sizes)] == extents:
            return dict(zip(axes, now.sizes, strict=True))
    parts = _grid(len(where.members), extents)
    cells = np.reshape(default_weights(where) if weights is None else weights, parts)
    along = [cells.sum(axis=tuple([d for d in range(len(axes)) if d != own])).tolist() for own in range(len(axes))]
    pairs = zip(extents, along, strict=True)
    return dict(zip(axes, [shares(n, each) if n else (0,) * len(each) for n, each in pairs], strict=True))


def _grid(count: int, extents: Sequence[int]) -> tuple[int, ...]:
    """Give how many of so many devices stand along each axis, so that their blocks have the least border."""
    divisors = [n for n in range(1, count + 1) if count % n == 0]
    grids = [parts for parts in product(divisors, repeat=len(extents)) if prod(parts) == count]
    return min(grids, key=lambda parts: sum([n / max(extent, 1) for n, extent in zip(parts, extents, strict=True)]))


def _wanted(where: Group, kind: str, sizes: Mapping[int, tuple[int, ...]], halo: int) -> Distribution:
    match kind:
        case "copy":
            return CopyDistribution(where.labels)
        case "single":
            return SingleDistribution(where.labels[:1])
    cut = {axis: each for axis, each in sizes.items() if len(each) > 1} or sizes
    return BlockDistribution(where.labels, tuple(cut), tuple(cut.values()), halo if kind == "overlap" else 0)


def _combined(a: Any, where: Group, axis: int, sizes: Sequence[int], combine: Any) -> View:
    """Combine copies: each device its block, of which it gets what the others have."""
    if not (
        type(a) is Array and a.device.several and (isinstance(a.distribution, CopyDistribution) or len(a.parts) == 1)
    ):
        now = a.distribution if type(a) is Array else "an ndarray"
        raise ValueError(f"combine is for arrays of which each device has a copy, not {now}")
    order = [axis, *[d for d in range(a.ndim) if d != axis]] if a.ndim else []
    copies = [lent(part).transpose(order) for part in a.parts]
    spec = combine if isinstance(combine, CombineSpec) else pw(combine)
    operator = spec.resolve((a.dtype,)).operator
    assert operator is not None
    ends = [*accumulate(sizes, initial=0)]
    slices: list[Any] = [slice(b, e) for b, e in pairwise(ends)] if a.ndim else [...] * len(sizes)
    jobs = [
        partial(_block, operator.function, device, [copy[rows] for copy in copies])
        for device, rows in zip(where.members, slices, strict=True)
    ]
    row = a.itemsize * prod(copies[0].shape[1:])
    found = threads.on_all(where.members, jobs)
    if not a.ndim:
        return lent(found[0])
    each = zip(where.members, found, pairwise(ends), strict=True)
    shards = [Shard(d, flat(f._view, d), stretch(b * row, e * row)) for d, f, (b, e) in each]
    return view_on(shards, copies[0].shape, a.dtype).transpose(np.argsort(order).tolist())


def _block(function: Function, device: Device, copies: Sequence[View]) -> Array:
    """Combine what all devices have of a block, in their order."""
    found = make(copied(copies[0], device), device)
    if not found.size:
        return found
    kernel = DeviceCall(pointwise(function, [found._view] * 2), "distribute")
    for copy in copies[1:]:
        (found,) = kernel(device, [found._view, fetch(copy, device)])
    return found
