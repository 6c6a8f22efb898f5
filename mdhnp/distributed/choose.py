"""The cost model: which dimension of an MDH is cut for several devices, and where.

Takes what devices have of the inputs, as boxes and stretches, and how fast they are; gives a cut. Pure: it must not
know devices, nor what moves the elements.

Defaults follow from the price, and are SkelCL's (Steuwer & Gorlatch, "SkelCL"): of maps and zips all inputs are cut, of
all-pairs the one that is the larger, and the other one goes to all; stencils take their neighbours' rows; reductions
and scans are cut along what is reduced where that lies apart.
"""

from collections.abc import Iterator, Sequence
from functools import singledispatch
from itertools import accumulate
from typing import NamedTuple

from mdhnp.distributed.boxes import Box, Region, split
from mdhnp.mdh import Computation, Cut, MdHom, Part, Rows, cut, shares
from mdhnp.mdh.views import View

__all__ = ["Chosen", "Operand", "Speed", "choose", "in_pieces", "ways"]

#: Seconds in which one more kernel is enqueued for a part, and in which one is called that its thread waits for, while
#: other devices' threads want the interpreter, too: measured on two halves of a CPU.
_CALL, _WAITED = 1e-4, 3.5e-4
#: What no instruction is needed for.
_FREE = ("param", "const", "index", "cast")


class Speed(NamedTuple):
    """What a device takes, in seconds.

    Attributes
    ----------
    operation, byte : float
        For an operation of a scalar function, and a byte that is read or written.
    asking, moving : float
        To get something that others have, and for each of its bytes.
    handing : float
        To be handed a part by the caller, whose own thread does what only one device does.
    """

    operation: float
    byte: float
    asking: float
    moving: float
    handing: float


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
        Seconds, by estimate.
    """

    cut: Cut | None
    devices: tuple[int, ...]
    price: float


def choose(h: Computation, operands: Sequence[Operand], weights: Sequence[float], speeds: Sequence[Speed]) -> Chosen:
    """Choose the cut of the least price: what is exchanged and handed over, and what the slowest takes for its part.

    What is small moves to one device, and stays there: it leaves blocks where moving it and half of the work cost less
    than handing parts over, and is cut again only where half of the work costs more than both.

    Parameters
    ----------
    h : Computation
        What is computed.
    operands : sequence of Operand
        Its inputs.
    weights : sequence of float
        The devices' shares where inputs do not say where to cut.
    speeds : sequence of Speed
        What each device takes.
    """
    return min(ways(h, operands, weights, speeds), key=lambda c: c.price)


def ways(
    h: Computation, operands: Sequence[Operand], weights: Sequence[float], speeds: Sequence[Speed]
) -> Iterator[Chosen]:
    """Give all ways to compute an MDH that `choose` compares: on one device, and cut."""
    for n, speed in enumerate(speeds):
        moved = sum([_price(o.box, [o.box.whole], o.stretches[n], speed) for o in operands])
        yield Chosen(None, (n,), moved + _work(h, speed))
    if 0 not in h.extents:
        for dim in h.divisible:
            for sizes in dict.fromkeys(_sizes(h, dim, operands, weights)):
                yield from _cut(h, dim, sizes, operands, speeds)


def in_pieces(part: Part, count: int, speed: Speed, *, enqueued: bool) -> bool:
    """Say whether it pays to compute a part in so many pieces.

    Where kernels are enqueued, halos come while its inside is computed. Elsewhere each is waited for, and all that
    pieces spare is that the part is joined with its halos in new memory: each byte is read and written.
    """
    if enqueued:
        return _work(part.mdhom, speed) > (count - 1) * _CALL
    return 2 * sum([v.nbytes for v in part.mdhom.inputs]) * speed.byte > (count - 1) * _WAITED


def _in_one_stretch(view: View, part: Part, n: int) -> bool:
    """Whether what a part writes of an output lies together."""
    counts = [s.stop - s.start for s in part.outputs[n]]
    cuts = [axis for axis, size in enumerate(view.shape) if counts[axis] < size]
    return all(size == 1 for size in counts[: max(cuts, default=0)])


def _cut(
    h: Computation, dim: int, sizes: tuple[int, ...], operands: Sequence[Operand], speeds: Sequence[Speed]
) -> Iterator[Chosen]:
    devices = tuple([n for n, size in enumerate(sizes) if size])
    if len(devices) < 2:
        return
    try:
        made = cut(h, dim, sizes)
    except ValueError:
        return
    kind = made.kind
    if kind != "pw" and not all(_in_one_stretch(v, p, n) for p in made.parts for n, v in enumerate(h.outputs)):
        return
    moved = 0.0
    for n, part in zip(devices, made.parts, strict=True):
        for operand, region in zip(operands, part.inputs, strict=False):
            moved += _price(operand.box, _regions(operand.box, region), operand.stretches[n], speeds[n])
    results, first = made.parts if kind == "pw" else made.totals, speeds[devices[0]]
    moved += sum([first.asking + first.moving * v.nbytes for part in results[1:] for v in part.mdhom.outputs])
    handed = sum([speeds[n].handing for n in devices]) * (2 if len(made.totals) > 1 else 1)
    slowest = max([_work(p.mdhom, speeds[n]) for n, p in zip(devices, made.parts, strict=True)])
    if kind == "ps":  # each element is read twice, and written once
        slowest *= 1.5
    yield Chosen(made, devices, handed + moved + slowest)


def _regions(box: Box, region: Sequence[slice]) -> list[Region]:
    """A region; one that goes on from an axis's beginning is two."""
    found: list[Region] = [()]
    for s, n in zip(region, box.shape, strict=True):
        spans = [(s.start, s.stop)] if s.stop <= n else [(s.start, n), (0, s.stop - n)]
        found = [(*one, span) for one in found for span in spans]
    return found


def _price(box: Box, regions: Sequence[Region], stretch: tuple[int, int], speed: Speed) -> float:
    """What it costs to bring regions to who has a stretch."""
    missing = sum(map(box.nbytes, split(box, regions, *stretch)[1]))
    return speed.asking + speed.moving * missing if missing else 0.0


def _work(h: Computation, speed: Speed) -> float:
    """What a device takes for an MDH."""
    operations = sum(map(_operations, h.mdhoms))
    moved = sum([v.nbytes for v in (*h.inputs, *h.outputs)])
    return max(operations * speed.operation, moved * speed.byte)


def _operations(h: MdHom) -> int:
    return h.points * max(sum([step.op not in _FREE for step in h.scalar.body]), 1)


@singledispatch
def _seen(h: Computation, dim: int) -> Iterator[tuple[View, int]]:
    """Give each input with what a dimension is there."""
    for view in h.inputs:
        yield view, dim


@_seen.register
def _(h: Rows, dim: int) -> Iterator[tuple[View, int]]:
    for n, view in enumerate(h.inputs):  # as the first MDH sees it that reads it
        yield view, h.shared[h.graph.readers(n)[0]][h.shared[-1].index(dim)]


def _sizes(
    h: Computation, dim: int, operands: Sequence[Operand], weights: Sequence[float]
) -> Iterator[tuple[int, ...]]:
    """Give ways to cut a dimension: by weights, and where inputs are cut."""
    extent = h.extents[dim]
    yield shares(extent, weights)
    for (view, d), operand in zip(_seen(h, dim), operands, strict=True):
        strides = operand.box.strides
        steps = [sum([i.coefficients[d] * s for i, s in zip(a, strides, strict=True)]) for a in view.accesses]
        if not steps or steps[0] <= 0 or any([s != steps[0] for s in steps]):
            continue
        centre = [
            sum([i.constant * s for i, s in zip(a, strides, strict=True) if d in i.dims()]) for a in view.accesses
        ]
        first = operand.box.start + (min(centre) + max(centre)) // 2
        ends = [min(max(-((first - high) // steps[0]), 0), extent) for _, high in operand.owned]
        ends = [*accumulate(ends, max)]  # of devices that have nothing, too
        sizes = tuple([end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True)])
        if min(sizes) >= 0 and sum(sizes) == extent:
            yield sizes
