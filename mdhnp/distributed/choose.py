"""The cost model: which dimension of an MDH is cut for several devices, and where.

Takes what devices have of the inputs, as boxes and stretches; gives a cut. Pure: it must not know devices, nor what
moves the elements.

Defaults follow from the price, and are SkelCL's (Steuwer & Gorlatch, "SkelCL"): of maps and zips all inputs are cut, of
all-pairs the one that is the larger, and the other one goes to all; stencils take their neighbours' rows; reductions
and scans are cut along what is reduced where that lies apart.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from mdhnp.distributed.boxes import Box, split
from mdhnp.mdh import Chain, Cut, MdHom, Part, cut, shares
from mdhnp.mdh.views import View

__all__ = ["Chosen", "Operand", "choose", "ways"]

#: An operation of the scalar function, and a byte that a device reads or writes, in bytes that are exchanged: what they
#: take on a device beside what the way between devices takes.
_OPERATION, _BYTE = 1 / 64, 1 / 8
#: Bytes that could be exchanged in the time that it takes to ask for some.
_ASKING = 2e3


class Operand(NamedTuple):
    """What devices have of an input.

    Attributes
    ----------
    box : Box
        Where its elements are.
    stretches : tuple of (int, int)
        For each device, from which byte on and up to which it has them.
    owned : tuple of (int, int)
        For each device, those that it gives to others.
    """

    box: Box
    stretches: tuple[tuple[int, int], ...]
    owned: tuple[tuple[int, int], ...]


class Chosen(NamedTuple):
    """How an MDH is computed.

    Attributes
    ----------
    cut : Cut or None
        Its parts; None: on one device.
    devices : tuple of int
        For each part, which device computes it.
    price : float
        In bytes exchanged.
    """

    cut: Cut | None
    devices: tuple[int, ...]
    price: float


def choose(h: MdHom, operands: Sequence[Operand], weights: Sequence[float]) -> Chosen:
    """Choose the cut of the least price: bytes exchanged, and what the slowest device takes.

    Parameters
    ----------
    h : MdHom
        What is computed.
    operands : sequence of Operand
        Its inputs.
    weights : sequence of float
        The speeds of devices.
    """
    return min(ways(h, operands, weights), key=lambda c: c.price)


def ways(h: MdHom, operands: Sequence[Operand], weights: Sequence[float]) -> Iterator[Chosen]:
    """Give all ways to compute an MDH that `choose` compares: on one device, and cut."""
    for n in range(len(weights)):
        yield _alone(h, operands, weights, n)
    if 0 not in h.extents and not isinstance(h, Chain):
        for dim in range(h.rank):
            for sizes in dict.fromkeys(_sizes(h, dim, operands, weights)):
                yield from _cut(h, dim, sizes, operands, weights)


def _in_one_stretch(view: View, part: Part, n: int) -> bool:
    """Whether what a part writes of an output lies together."""
    counts = [s.stop - s.start for s in part.outputs[n]]
    cuts = [axis for axis, size in enumerate(view.shape) if counts[axis] < size]
    return all(size == 1 for size in counts[: max(cuts, default=0)])


def _alone(h: MdHom, operands: Sequence[Operand], weights: Sequence[float], n: int) -> Chosen:
    moved = sum([_price(o.box, o.box.whole, o.stretches[n]) for o in operands])
    return Chosen(None, (n,), moved + _work(h) / weights[n] * min(weights))


def _cut(
    h: MdHom, dim: int, sizes: tuple[int, ...], operands: Sequence[Operand], weights: Sequence[float]
) -> Iterator[Chosen]:
    devices = tuple([n for n, size in enumerate(sizes) if size])
    if len(devices) < 2:
        return
    try:
        made = cut(h, dim, sizes)
    except ValueError:
        return
    kind = h.combine[dim].kind
    if kind != "pw" and not all(_in_one_stretch(v, p, n) for p in made.parts for n, v in enumerate(h.outputs)):
        return
    moved = 0.0
    for n, part in zip(devices, made.parts, strict=True):
        for operand, region in zip(operands, part.inputs, strict=False):
            moved += _price(operand.box, _within(operand.box, region), operand.stretches[n])
    results = made.parts if kind == "pw" else made.totals
    moved += sum([_ASKING + _nbytes(v) for part in results[1:] for v in part.mdhom.outputs])
    slowest = max([_work(p.mdhom) / weights[n] for n, p in zip(devices, made.parts, strict=True)]) * min(weights)
    if kind == "ps":  # each element is read twice, and written once
        slowest *= 1.5
    yield Chosen(made, devices, moved + slowest)


def _within(box: Box, region: Sequence[slice]) -> tuple[tuple[int, int], ...]:
    """A region, of what goes on from an axis's beginning all along it."""
    return tuple([
        (s.start, s.stop) if s.stop <= n else (0, n) for s, n in zip(region, box.shape, strict=True)
    ])  # fmt: skip


def _price(box: Box, region: tuple[tuple[int, int], ...], stretch: tuple[int, int]) -> float:
    """What it costs to bring a region to who has a stretch."""
    missing = sum(map(box.nbytes, split(box, [region], *stretch)[1]))
    return _ASKING + missing if missing else 0.0


def _nbytes(view: View) -> int:
    return view.elements() * view.dtype.itemsize


def _work(h: MdHom) -> float:
    """What a device takes for an MDH, in bytes that could be exchanged meanwhile."""
    return h.points * len(h.scalar.body) * _OPERATION + sum(map(_nbytes, (*h.inputs, *h.outputs))) * _BYTE


def _sizes(h: MdHom, dim: int, operands: Sequence[Operand], weights: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """Give ways to cut a dimension: by weights, and where inputs are cut."""
    extent = h.extents[dim]
    yield shares(extent, weights)
    for view, operand in zip(h.inputs, operands, strict=True):
        strides = operand.box.strides
        steps = [sum([i.coefficients[dim] * s for i, s in zip(a, strides, strict=True)]) for a in view.accesses]
        if not steps or steps[0] <= 0 or any([s != steps[0] for s in steps]):
            continue
        centre = [
            sum([i.constant * s for i, s in zip(a, strides, strict=True) if dim in i.dims()]) for a in view.accesses
        ]
        first = operand.box.start + (min(centre) + max(centre)) // 2
        ends = [min(max(-((first - high) // steps[0]), 0), extent) for _, high in operand.owned]
        ends = [*accumulate(ends, max)]  # of devices that have nothing, too
        sizes = tuple([end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True)])
        if min(sizes) >= 0 and sum(sizes) == extent:
            yield sizes
