"""Parts of a computation: some neighbouring points of a dimension, and the regions of its arrays that they work on.

Regions overlap where a stencil's neighbours lie in them, as SkelCL's overlap distribution does. Some partitions leave
nothing to recombine: those of concatenated dimensions whose parts work on arrays that a device, or copies to it, can
take. It must not know how the results of other parts recombine.

Source: Gorlatch & Steuwer, "Towards High-Level Programming for Systems with Many Cores".
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.function import Function, Instruction
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import View, packed, row_major, shifted

Array = npt.NDArray[Any]
#: A slice along each axis of an array. One that ends beyond the array goes on from the axis's beginning: the halo of
#: a stencil whose boundary is "wrap".
Region = tuple[slice, ...]

_PLACE = np.dtype(np.int64)


class Part(NamedTuple):
    """Some neighbouring points of one dimension."""

    #: What computes them, from regions of the inputs, then where it begins, then what it carries on.
    mdhom: Computation
    #: Of each input, what the part reads.
    inputs: tuple[Region, ...]
    #: Of each output, what the part writes; none where it gives partial results.
    outputs: tuple[Region, ...]
    #: The part's first index in the dimension, where a function asks for indices: an int64 without axes, so that one
    #: kernel serves parts of equal sizes.
    begin: tuple[int, ...] = ()

    def reads(self, arrays: Iterable[Array]) -> list[Array]:
        """Give what the part reads, but for what it carries on; slices where they can be, else copies."""
        regions = [read_region(a, region) for a, region in zip(arrays, self.inputs, strict=True)]
        return regions + [np.asarray(n, _PLACE) for n in self.begin]


@singledispatch
def part_of(h: Computation, dim: int, begin: int, end: int) -> Part:
    """Give a computation as it is where `dim` runs from `begin` to before `end`, as if there were no other points.

    Raises ValueError if results along the dimension are not a slice of each output, or what is fused cannot be cut.
    """
    raise ValueError("h: a chain cannot be cut; cut what it is made of, its `mdhoms`")


@part_of.register
def _(h: MdHom, dim: int, begin: int, end: int) -> Part:
    extents = tuple([end - begin if d == dim else n for d, n in enumerate(h.extents)])
    inputs = [_sliced(v, dim, begin, extents) for v in h.inputs]
    outputs = [_sliced(v, dim, begin, extents) for v in h.outputs]
    views = tuple([v for v, _ in inputs]), tuple([v for v, _ in outputs])
    regions = tuple([r for _, r in inputs]), tuple([r for _, r in outputs])
    if not any([dim in f.used_indices() for f in (h.scalar, h.finish) if f is not None]):
        return Part(replace(h, extents=extents, inputs=views[0], outputs=views[1]), *regions)
    finish = None if h.finish is None else _counted(h.finish, dim)
    place = View("begin", _PLACE, (), (), 0, ((),))
    mdhom = replace(
        h, extents=extents, scalar=_counted(h.scalar, dim), inputs=(*views[0], place), outputs=views[1], finish=finish
    )
    return Part(mdhom, *regions, (begin,))


def _counted(f: Function, dim: int) -> Function:
    """A function whose index in a dimension is counted from one more parameter."""
    recorder, values = Recorder(), list[Any]()
    begin = Instruction("param", (), _PLACE, len(f.parameters))
    for step in f.body:
        value = recorder.add(replace(step, args=tuple([values[a].number for a in step.args])))
        values.append(value + recorder.add(begin) if (step.op, step.position) == ("index", dim) else value)
    results = tuple([values[r].number for r in f.results])
    return replace(f, parameters=(*f.parameters, _PLACE), body=tuple(recorder.body), results=results)


def _sliced(v: View, dim: int, begin: int, extents: tuple[int, ...]) -> tuple[View, Region]:
    """What the part needs of one array, or gives of it."""
    v = v.moved(dim, begin)
    windows = []
    for axis, n in enumerate(v.shape):
        spans = [access[axis].span(extents) for access in v.accesses]
        ends = min([low for low, _ in spans]), max([high for _, high in spans])
        follows = v.boundary is None or any([access[axis].coefficients[dim] for access in v.accesses])
        windows.append(_window(*ends, n, v.boundary) if follows else (0, n, 0))
    region = tuple([slice(start, stop) for start, stop, _ in windows])
    shape = tuple([s.stop - s.start for s in region])
    copied = any([s.stop > n for s, n in zip(region, v.shape, strict=True)])
    strides = row_major(shape) if copied else v.strides
    accesses = tuple([shifted(access, [-first for _, _, first in windows]) for access in v.accesses])
    offset = v.offset - _lowest(v.strides, v.shape) + _lowest(strides, shape)
    return replace(v, shape=shape, strides=strides, offset=offset, accesses=accesses), region


def _lowest(strides: Sequence[int], shape: Sequence[int]) -> int:
    """How far before an array's first element its lowest one is."""
    return sum([-s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0])


def _window(low: int, high: int, n: int, boundary: str | None) -> tuple[int, int, int]:
    """Elements of an axis that indices from `low` to `high` stand for: the first, the end, and which index is first.

    Indices beyond the window mean what they mean beyond the axis, for where there are any both end together.
    """
    if boundary is None or (low >= 0 and high < n):
        return low, high + 1, low
    size = high - low + 1
    if boundary == "wrap":
        return (low % n, low % n + size, low) if size < n else (0, n, 0)
    start, stop = min(max(low, 0), n - 1), min(max(high, 0), n - 1) + 1
    if boundary in ("reflect", "mirror"):  # what lies beyond an end is as far before it
        ends = int(boundary == "mirror")  # which are not repeated
        start = min(start, 2 * n - 1 - ends - high) if high >= n else start
        stop = max(stop, ends - low) if low < 0 else stop
        if start < 0 or stop > n or (low < 0 and high >= n):
            return 0, n, 0
    return start, stop, start


def read_region(array: Array, region: Region) -> Array:
    """Give the region of an array: a view, unless it goes on from an axis's beginning."""
    pieces = unwrapped(region, array.shape)
    if len(pieces) == 1:
        key: Any = (*region, ...)  # which gives arrays of no axes, too
        view: Array = array[key]
        return view
    copy = np.empty([s.stop - s.start for s in region], array.dtype)
    for here, there in pieces:
        copy[there] = array[here]
    return copy


def unwrapped(region: Region, shape: Sequence[int]) -> list[tuple[Region, Region]]:
    """Give what a region is made of: regions inside of the array, and where each of them lies in it."""
    along = []
    for s, n in zip(region, shape, strict=True):
        inside = min(s.stop, n) - s.start
        pairs = [(slice(s.start, s.start + inside), slice(0, inside))]
        if s.stop > n:
            pairs.append((slice(0, s.stop - n), slice(inside, s.stop - s.start)))
        along.append(pairs)
    return [(tuple([here for here, _ in each]), tuple([there for _, there in each])) for each in product(*along)]


def bounded(h: Computation, largest: int) -> tuple[Part, ...]:
    """Cut an MDH in parts that span at most `largest` bytes of each array; none where that cannot be.

    No extent is 0. Outputs are cut along their first axes, so that each part writes one stretch of memory. What asks
    for the index in a dimension is not cut along it; what is fused is not cut.
    """
    if not isinstance(h, MdHom):
        return ()
    for dim in h.dims("cc"):
        points = h.extents[dim]
        while points > 1:
            points = -(-points // 2)
            ends = {0, min(points, h.extents[dim] - points), h.extents[dim] - points}  # neighbours lie inside, or not
            try:
                probes = [_part(h, dim, begin, begin + points) for begin in sorted(ends)]
            except ValueError:
                break
            if not all(map(is_stretch, h.outputs, probes[0].outputs)):
                break
            fits = all([_fits(p.mdhom, largest) for p in probes])
            if points == 1 and not all([_fits(p.mdhom, largest) or bounded(p.mdhom, largest) for p in probes]):
                return ()  # before the parts of all other points are made
            if points == 1 or fits:
                return _cut_again(_parts(h, dim, points), largest)
    return ()


def stretches(h: Computation, count: int) -> tuple[Part, ...]:
    """Cut an MDH in about `count` parts, each of which reads and writes one stretch of each array or all of an input.

    All but the last have equal size; there are none where no dimension can be cut so. No extent is 0. Inputs must be in
    C or Fortran order; what is fused is not cut.
    """
    if not isinstance(h, MdHom):
        return ()
    if any([v.offset or v.strides not in (row_major(v.shape), row_major(v.shape[::-1])[::-1]) for v in h.inputs]):
        return ()
    for dim in h.dims("cc"):
        points = -(-h.extents[dim] // count)
        try:
            first = _part(h, dim, 0, points)
        except ValueError:
            continue
        moved = [(v, region) for v, region in zip(h.inputs, first.inputs, strict=True) if region != all_of(v)]
        whole = all([v.strides == row_major(v.shape) and is_stretch(v, region) for v, region in moved])
        if moved and whole and all(map(is_stretch, h.outputs, first.outputs)):
            return _parts(h, dim, points)
    return ()


def _part(h: MdHom, dim: int, begin: int, end: int) -> Part:
    """A part on slices of the arrays, and on all of those that are read from beyond one end on at the other.

    Raises ValueError where there is none, or its functions ask for the index in the dimension.
    """
    part = part_of(h, dim, begin, end)
    if part.begin:
        raise ValueError(f"the index in {h.names[dim]} is asked for")
    views, regions = list(part.mdhom.inputs), list(part.inputs)
    for n, v in enumerate(h.inputs):
        if v.boundary == "wrap":
            views[n], regions[n] = v.moved(dim, begin), all_of(v)
    return Part(part.mdhom.relaid(views), tuple(regions), part.outputs)


def _parts(h: MdHom, dim: int, points: int) -> tuple[Part, ...]:
    extent = h.extents[dim]
    return tuple([_part(h, dim, begin, min(begin + points, extent)) for begin in range(0, extent, points)])


def _fits(h: Computation, largest: int) -> bool:
    return all(v.span_bytes <= largest for v in (*h.inputs, *h.outputs))


def _cut_again(parts: Sequence[Part], largest: int) -> tuple[Part, ...]:
    small = []
    for part in parts:
        if _fits(part.mdhom, largest):
            small.append(part)
            continue
        smaller = bounded(part.mdhom, largest)
        if not smaller:
            return ()
        for inner in smaller:
            inputs, outputs = map(within, part.inputs, inner.inputs), map(within, part.outputs, inner.outputs)
            small.append(Part(inner.mdhom, tuple(inputs), tuple(outputs)))
    return tuple(small)


def contiguous(h: Computation) -> Computation:
    """Give the same computation on arrays that are all C-contiguous, as those of parts are in memory of their own."""
    plain = h.relaid(packed(h.inputs))
    return replace(plain, outputs=packed(h.outputs)) if isinstance(plain, MdHom) else plain


def all_of(v: View) -> Region:
    return tuple([slice(0, n) for n in v.shape])


def within(outer: Region, inner: Region) -> Region:
    return tuple([slice(a.start + b.start, a.start + b.stop) for a, b in zip(outer, inner, strict=True)])


def is_stretch(v: View, region: Region) -> bool:
    """Whether a region of a C-contiguous array is contiguous."""
    counts = [s.stop - s.start for s in region]
    cuts = [axis for axis, n in enumerate(v.shape) if counts[axis] < n]
    return all(n == 1 for n in counts[: max(cuts, default=0)])
