"""The choice of a cut: which dimension of an MDH is cut for several devices, and where; and halos of its results.

Takes what devices have of the inputs, as boxes and spans, and how fast they are; gives a cut. Pure: it must not
know devices, nor what moves the elements.

Defaults follow from the price, and are SkelCL's (Steuwer & Gorlatch, "SkelCL"): of maps and zips all inputs are cut, of
all-pairs the one that is the larger, and the other one goes to all; stencils take their neighbours' rows; reductions
and scans are cut along what is reduced where that lies apart.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import NamedTuple

from mdhnp.cost import Machine, seconds, work
from mdhnp.distributed.boxes import StridedBox, split
from mdhnp.distributed.spans import NOTHING, Span, Spans, spans_of, stretch
from mdhnp.mdh import Computation, Cut, Graph, Rows, cut, shares
from mdhnp.mdh.regions import Region, unwrapped
from mdhnp.mdh.views import View

#: Each element of a scan over several devices is read twice, and written once: times as long as at once.
_TWICE = 1.5
#: Bytes of a cache line, of which memory moves all.
_LINE = 64


class Operand(NamedTuple):
    """What devices have of an input."""

    box: StridedBox  # where its elements are
    valid: tuple[Spans, ...]  # which of them each device has
    owned: tuple[Spans, ...]  # those that it gives to others


class Chosen(NamedTuple):
    """How an MDH is computed."""

    cut: Cut | None  # None: on one device
    devices: tuple[int, ...]  # for each part, which one computes it
    price: float  # seconds, by estimate


def choose(
    h: Computation, operands: Sequence[Operand], weights: Sequence[float], machines: Sequence[Machine]
) -> Chosen:
    """Choose the cut of the least price: what is exchanged and handed over, and what the slowest takes for its part.

    Weights are the devices' shares where inputs do not say where to cut. What is small moves to one device, and stays
    there: it leaves blocks where moving it and half of the work cost less than handing parts over, and is cut again
    only where half of the work costs more than both.
    """
    return min(candidates(h, operands, weights, machines), key=lambda c: c.price)


def candidates(
    h: Computation, operands: Sequence[Operand], weights: Sequence[float], machines: Sequence[Machine]
) -> Iterator[Chosen]:
    """Yield all that `choose` compares: an MDH on one device, and cut."""
    for n, machine in enumerate(machines):
        moved = sum([_fetched(o.box, [o.box.whole], o.valid[n], machine) for o in operands])
        yield Chosen(None, (n,), moved + _seconds(h, machine))
    if 0 not in h.extents:
        for dim in h.divisible:
            for sizes in dict.fromkeys(_sizes(h, dim, operands, weights)):
                yield from _cut(h, dim, sizes, operands, machines)


def price(graph: Graph, operands: Sequence[Operand], weights: Sequence[float], machines: Sequence[Machine]) -> float:
    """Return the estimated seconds of several steps, each cut as is cheapest where those before it left values.

    Rows are cut as a whole where this is more.
    """
    found, total = list[tuple[Spans, ...]](), 0.0

    def operand(value: int, view: View) -> Operand:
        if value < graph.given:
            return operands[value]
        where = found[value - graph.given]
        return Operand(StridedBox.of(view), where, where)

    for h, inputs in graph.steps:
        chosen = choose(h, list(map(operand, inputs, h.inputs)), weights, machines)
        total += chosen.price
        found += [_spans(h, chosen, n, len(machines)) for n in range(len(h.outputs))]
    return total


def _spans(h: Computation, chosen: Chosen, n: int, devices: int) -> tuple[Spans, ...]:
    """Return which bytes of an output each device has afterwards."""
    view, found = h.outputs[n], {chosen.devices[0]: stretch(0, h.outputs[n].element_bytes)}
    if chosen.cut is not None and chosen.cut.kind != "pw":
        for device, part in zip(chosen.devices, chosen.cut.parts, strict=True):
            (found[device],) = spans_of(view.shape, view.dtype.itemsize, part.outputs[n])
    return tuple([found.get(d, NOTHING) for d in range(devices)])


def _cut(
    h: Computation, dim: int, sizes: tuple[int, ...], operands: Sequence[Operand], machines: Sequence[Machine]
) -> Iterator[Chosen]:
    devices = tuple([n for n, size in enumerate(sizes) if size])
    if len(devices) < 2:
        return
    try:
        made = cut(h, dim, sizes)
    except ValueError:
        return
    kind = made.kind
    moved = 0.0
    for n, part in zip(devices, made.parts, strict=True):
        for operand, region in zip(operands, part.inputs, strict=False):
            regions = [here for here, _ in unwrapped(region, operand.box.shape)]
            moved += _fetched(operand.box, regions, operand.valid[n], machines[n])
    results, first = made.parts if kind == "pw" else made.totals, machines[devices[0]]
    moved += sum([first.fetching.seconds(v.span_bytes) for part in results[1:] for v in part.mdhom.outputs])
    handed = sum([machines[n].handing for n in devices]) * (2 if len(made.totals) > 1 else 1)
    slowest = max([_seconds(p.mdhom, machines[n]) for n, p in zip(devices, made.parts, strict=True)])
    yield Chosen(made, devices, handed + moved + slowest * (_TWICE if kind == "ps" else 1))


def _seconds(h: Computation, machine: Machine) -> float:
    """Return the seconds that a part takes. Of narrow columns a device's memory moves what is beside, too."""
    return seconds(work(h)._replace(read=sum(map(_touched, (*h.inputs, *h.outputs))), written=0), machine)


def _touched(v: View) -> int:
    """Return the bytes of the cache lines in which elements lie."""
    run = v.dtype.itemsize
    axes = sorted([(abs(s) * v.dtype.itemsize, n) for s, n in zip(v.strides, v.shape, strict=True) if s])
    for count, (step, n) in enumerate(axes):
        if step > run:
            return min(v.span_bytes, -(-run // _LINE) * _LINE * prod([m for _, m in axes[count:]]))
        run *= n
    return v.span_bytes


def _fetched(box: StridedBox, regions: Sequence[Region], valid: Spans, machine: Machine) -> float:
    missing = sum(map(box.nbytes, split(box, regions, valid)[1]))
    return machine.fetching.seconds(missing) if missing else 0.0


def _sizes(
    h: Computation, dim: int, operands: Sequence[Operand], weights: Sequence[float]
) -> Iterator[tuple[int, ...]]:
    """Give ways to cut a dimension: by weights, and where inputs are cut."""
    extent = h.extents[dim]
    yield shares(extent, weights)
    dims = [dim] * len(h.inputs)
    if isinstance(h, Rows):  # of each input, as the first MDH sees it that reads it
        dims = [h.shared[h.graph.readers(n)[0]][h.shared[-1].index(dim)] for n in range(len(h.inputs))]
    for view, d, operand in zip(h.inputs, dims, operands, strict=True):
        strides = operand.box.strides
        steps = [sum([i.coefficients[d] * s for i, s in zip(a, strides, strict=True)]) for a in view.accesses]
        if not steps or steps[0] <= 0 or any([s != steps[0] for s in steps]):
            continue
        centre = [
            sum([i.constant * s for i, s in zip(a, strides, strict=True) if d in i.dims()]) for a in view.accesses
        ]
        middle = (min(centre) + max(centre)) // 2
        spans = [_along(each, steps[0]) for each in operand.owned]
        firsts = [(operand.box.start % s.period if s.period else operand.box.start) + middle for s in spans]
        ends = [-((first - s.end) // steps[0]) for first, s in zip(firsts, spans, strict=True)]
        ends = [min(max(end, 0), extent) for end in ends]
        ends = [*accumulate(ends, max)]  # of devices that have nothing, too
        sizes = tuple([end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True)])
        if min(sizes) >= 0 and sum(sizes) == extent:
            yield sizes


def _along(spans: Spans, step: int) -> Span:
    """Give the span that elements so many bytes apart move along."""
    return next((span for span, inner in pairwise(spans) if step % inner.period == 0), spans[-1])


def halos(made: Cut) -> tuple[Region, ...] | None:
    """Give what each part's memory has room for: its result, and as much beside as parts read of their neighbours'.

    A step of an iteration reads of what the one before gave a block and some of its neighbours' elements, which are
    fetched into that room: nothing else has to be copied. Where a boundary wraps, the first and the last part are
    neighbours: regions begin before the array, or end behind it, along its outermost axis only. None where a part reads
    nothing of its neighbours', or more than one of them has; and of parts of several results, or that are fused or not
    concatenated.
    """
    h = made.mdhom
    if made.kind != "cc" or len(h.outputs) > 1 or len(h.mdhoms) > 1:
        return None
    out = h.outputs[0]
    axis = next(a for a, index in enumerate(out.accesses[0]) if index.coefficients[made.dim])
    extent, same = out.shape[axis], [n for n, v in enumerate(h.inputs) if v.shape == out.shape]
    if not same:
        return None
    writes = [p.outputs[0] for p in made.parts]
    parts = [(region[axis].start, region[axis].stop) for region in writes]
    reads = [
        [_unturned(p.inputs[n][axis], stop, extent) for n in same]
        for p, (_, stop) in zip(made.parts, parts, strict=True)
    ]
    pairs = [(part, read) for part, each in zip(parts, reads, strict=True) for read in each]
    before = max([begin - first for (begin, _), (first, _) in pairs])
    after = max([last - end for (_, end), (_, last) in pairs])
    before, after = max(before, 0), max(after, 0)
    if not 0 < max(before, after) <= min([p.mdhom.extents[made.dim] for p in made.parts]):
        return None
    wraps = any([first < 0 or last > extent for _, (first, last) in pairs])
    beyond = extent if wraps and all(n == 1 for n in out.shape[:axis]) else 0  # of rows, what they are followed by
    rooms = [slice(max(begin - before, -beyond), min(end + after, extent + beyond)) for begin, end in parts]
    return tuple([(*own[:axis], room, *own[axis + 1 :]) for own, room in zip(writes, rooms, strict=True)])


def _unturned(read: slice, stop: int, extent: int) -> tuple[int, int]:
    """What the first part reads of the axis's end is before its beginning."""
    away = extent if read.stop > extent and read.start >= stop else 0
    return read.start - away, read.stop - away
