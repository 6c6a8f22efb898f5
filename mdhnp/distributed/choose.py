"""The choice of a cut: which dimensions of an MDH are cut for several devices, and where; and halos of its results.

Takes what devices have of the inputs, as boxes and spans, and how fast they are; gives a partition, and who computes
which part. Pure: it must not know devices, nor what moves the elements.

Defaults follow from the price, and are SkelCL's (Steuwer & Gorlatch, "SkelCL"): of maps and zips all inputs are cut, of
all-pairs the one that is the larger, and the other one goes to all; stencils take their neighbours' rows; reductions
and scans are cut along what is reduced where that lies apart.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise, permutations, product
from math import prod
from typing import NamedTuple

import numpy as np

from mdhnp.cost import Machine, seconds, work
from mdhnp.distributed.spans import NOTHING, Spans, StridedBox, spans_of, split
from mdhnp.mdh import Computation, Graph, Partition, Prefix, Rows, Stack, Task, Window, contiguous, grid, shares, whole
from mdhnp.mdh.cut import Read
from mdhnp.mdh.regions import Region, part_of, unwrapped
from mdhnp.mdh.views import View
from mdhnp.schedule.fixed_order import order_of

#: Along how many dimensions a grid is cut at most.
_DIMENSIONS = 3
#: Bytes of partial results up to which all are combined at once, since each stage of a tree waits for the one before.
_FEW = 1 << 16
#: How many grids are tried, at most.
_TRIED = 16
#: Part of the price by which a grid must lower that of one dimension to be looked for.
_WORTH = 0.05
#: Bytes of a cache line, of which memory moves all.
_LINE = 64


class Operand(NamedTuple):
    """What devices have of an input."""

    box: StridedBox  # where its elements are
    valid: tuple[Spans, ...]  # which of them each device has
    owned: tuple[Spans, ...]  # those that it gives to others


class Chosen(NamedTuple):
    """How an MDH is computed."""

    partition: Partition  # of one task: on one device
    devices: tuple[int, ...]  # for each part, which one computes it
    price: float  # seconds, by estimate


def choose(
    h: Computation, operands: Sequence[Operand], weights: Sequence[float], machines: Sequence[Machine]
) -> Chosen:
    """Choose the cut of the least price: what is exchanged and handed over, and what the slowest takes for its part.

    Weights are the devices' shares where inputs do not say where to cut. What is small moves to one device, and stays
    there: it leaves blocks where moving it and half of the work cost less than handing parts over, and is cut again
    only where half of the work costs more than both. Several dimensions are cut where one leaves much to exchange.
    """
    best = min(lines(h, operands, weights, machines), key=lambda c: c.price, default=None)
    if best is None:
        raise ValueError(
            "config.deterministic: the order of this sum depends on how its operands lie in memory, and several "
            "devices' parts lie otherwise when they are brought together; copy what is a view"
        )
    least = sum([m.handing for m in machines]) + min([_seconds(h, m) for m in machines]) / len(machines)
    if best.price * (1 - _WORTH) > least:
        best = min([best, *grids(h, operands, weights, machines)], key=lambda c: c.price)
    return best


def lines(
    h: Computation, operands: Sequence[Operand], weights: Sequence[float], machines: Sequence[Machine]
) -> Iterator[Chosen]:
    """Yield an MDH on each device alone, and cut along each dimension."""
    for n in range(len(machines)) if _keeps_order(h, h) else ():
        yield _priced(whole(h), (n,), operands, machines)
    if 0 not in h.extents:
        for dim in h.divisible:
            for sizes in dict.fromkeys(_sizes(h, dim, operands, weights)):
                yield from _cut(h, {dim: sizes}, operands, machines)


def grids(
    h: Computation, operands: Sequence[Operand], weights: Sequence[float], machines: Sequence[Machine]
) -> Iterator[Chosen]:
    """Yield an MDH cut along several dimensions, in as many parts as there are devices.

    Where inputs are in as many parts along a dimension, it is cut where they are. Of many grids, those are tried whose
    parts have the fewest bytes.
    """
    found = [] if 0 in h.extents else [*_grids(h, len(machines))]
    if len(found) > _TRIED:
        found = sorted(found, key=_bytes_of(h))[:_TRIED]
    for parts in found:
        shared, axes = np.reshape(weights, tuple(parts.values())), range(len(parts))
        along = [shared.sum(axis=tuple([a for a in axes if a != axis])).tolist() for axis in axes]
        sizes = {d: _grid_sizes(h, d, operands, each) for d, each in zip(parts, along, strict=True)}
        yield from _cut(h, sizes, operands, machines)


def _grids(h: Computation, devices: int) -> Iterator[dict[int, int]]:
    """Yield in how many parts dimensions may be cut: concatenated ones first, in every order, then the others."""
    kept = [d for d in h.divisible if h.last.combine[d].kind == "cc"]
    for count in range(2, _DIMENSIONS + 1):
        for dims in permutations(h.divisible, count):
            if dims == (*[d for d in dims if d in kept], *sorted({*dims} - {*kept})):
                for parts in _factors(devices, count):
                    if all([n <= h.extents[d] for d, n in zip(dims, parts, strict=True)]):
                        yield dict(zip(dims, parts, strict=True))


def _bytes_of(h: Computation) -> Callable[[Mapping[int, int]], float]:
    """Give what says of grids about how many bytes a part reads, and how many of partial results are combined."""

    @cache
    def share(dim: int, parts: int) -> list[float]:
        """Say what a part of a dimension reads of each input."""
        size = h.extents[dim] // parts
        part = part_of(h, dim, size * (parts // 2), size * (parts // 2 + 1))
        pairs = zip(h.inputs, part.mdhom.inputs, strict=False)
        return [v.element_bytes / max(w.element_bytes, 1) for w, v in pairs]

    def moved(grid: Mapping[int, int]) -> float:
        shares = [share(d, n) for d, n in grid.items()]
        read = sum([v.element_bytes * prod(each) for v, *each in zip(h.inputs, *shares, strict=False)])
        kept = prod([n for d, n in grid.items() if h.last.combine[d].kind == "cc"])
        return read + sum([v.element_bytes for v in h.outputs]) / kept * (prod(grid.values()) // kept - 1)

    return moved


def _factors(number: int, count: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a number as a product of so many, none of them 1."""
    if count == 1:
        yield (number,)
        return
    for n in range(2, number // 2 + 1):
        if number % n == 0:
            yield from [(n, *rest) for rest in _factors(number // n, count - 1)]


def price(graph: Graph, operands: Sequence[Operand], weights: Sequence[float], machines: Sequence[Machine]) -> float:
    """Return the estimated seconds of several steps, each cut as is cheapest where those before it left values.

    Rows are cut as a whole where this is more.
    """
    found, total = list[tuple[Spans, ...]](), 0.0

    def operand(value: int, view: View) -> Operand:
        if value < graph.given:
            return operands[value]
        where = found[value - graph.given]
        return Operand(StridedBox.new(view.shape, view.dtype.itemsize), where, where)

    for h, inputs in graph.steps:
        chosen = choose(h, list(map(operand, inputs, h.inputs)), weights, machines)
        total += chosen.price
        found += [_spans(chosen, n, len(machines)) for n in range(len(h.outputs))]
    return total


def _spans(chosen: Chosen, n: int, devices: int) -> tuple[Spans, ...]:
    """Return which bytes of an output each device has afterwards."""
    view, found = chosen.partition.mdhom.outputs[n], dict[int, Spans]()
    for task in chosen.partition.stages[-1]:
        (found[chosen.devices[task.part]],) = spans_of(view.shape, view.dtype.itemsize, task.writes[n])
    return tuple([found.get(d, NOTHING) for d in range(devices)])


def _cut(
    h: Computation, sizes: Mapping[int, Sequence[int]], operands: Sequence[Operand], machines: Sequence[Machine]
) -> Iterator[Chosen]:
    devices = tuple([n for n, part in enumerate(product(*sizes.values())) if all(part)])
    if len(devices) < 2:
        return
    try:
        made = grid(h, sizes, 2 if _partial_bytes(h, sizes) > _FEW else len(devices))
    except ValueError:
        return
    if all([_keeps_order(h, each) for each in {task.mdhom for stage in made.stages for task in stage}]):
        yield _priced(made, devices, operands, machines)


def _keeps_order(h: Computation, part: Computation) -> bool:
    """Whether a part combines floats in the order of the whole, if that is fixed.

    What it reads lies in a device's memory as in the array, or one element behind the other, or, beyond a border, in C
    order.
    """
    if h.last.precision != "fixed":
        return True
    behind = [replace(v, strides=StridedBox(0, v.shape, v.strides, 1).packed().strides) for v in part.inputs]
    beyond = [contiguous(part)] if any([v.boundary for v in part.inputs]) else []
    wanted = order_of(h)
    return all([order_of(lying) == wanted for lying in (part, part.relaid(behind), *beyond)])


def _partial_bytes(h: Computation, sizes: Mapping[int, Sequence[int]]) -> float:
    """Return the bytes of the partial results of one part."""
    kept = prod([len(each) for d, each in sizes.items() if h.last.combine[d].kind == "cc"])
    return sum([v.element_bytes for v in h.outputs]) / kept


def _priced(
    partition: Partition, devices: tuple[int, ...], operands: Sequence[Operand], machines: Sequence[Machine]
) -> Chosen:
    """Say what a partition costs: all that moves, one after the other, and in each stage what the slowest computes."""
    found, price = list[tuple[int, Task]](), 0.0  # all tasks, and on which device each is
    for stage in partition.stages:
        busy = dict.fromkeys([devices[task.part] for task in stage], 0.0)
        for task in stage:
            n = devices[task.part]
            price += sum([_brought(read, n, found, operands, machines[n]) for read in task.reads])
            busy[n] += _seconds(task.mdhom, machines[n])
        price += max(busy.values())
        if len(busy) > 1:
            price += sum([machines[n].handing for n in busy])
        found += [(devices[task.part], task) for task in stage]
    return Chosen(partition, devices, price)


def _brought(
    read: Read, device: int, found: Sequence[tuple[int, Task]], operands: Sequence[Operand], machine: Machine
) -> float:
    """Return the seconds in which what a task reads comes to its device."""
    match read:
        case Window(n, region):
            box, inside = operands[n].box, [here for here, _ in unwrapped(region, operands[n].box.shape)]
            missing = sum(map(box.nbytes, split(box, inside, operands[n].valid[device])[1]))
            return machine.fetching.seconds(missing) if missing else 0.0
        case Stack(tasks, n):
            others = [task for where, task in map(found.__getitem__, tasks) if where != device]
            return sum([machine.fetching.seconds(task.mdhom.outputs[n].span_bytes) for task in others])
        case Prefix(number, n, _):
            where, task = found[number]
            view = task.mdhom.outputs[n]
            return 0.0 if where == device else machine.fetching.seconds(view.span_bytes / view.shape[0])
    return 0.0


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


def _sizes(
    h: Computation, dim: int, operands: Sequence[Operand], weights: Sequence[float]
) -> Iterator[tuple[int, ...]]:
    """Give ways to cut a dimension: by weights, and where inputs are cut."""
    yield shares(h.extents[dim], weights)
    for ends in _ends(h, dim, operands):
        found = [*accumulate(ends, max)]  # of devices that have nothing, too
        if found[-1] == h.extents[dim]:
            yield tuple([end - begin for begin, end in pairwise([0, *found])])


def _grid_sizes(h: Computation, dim: int, operands: Sequence[Operand], weights: Sequence[float]) -> tuple[int, ...]:
    """Give the sizes of as many parts as weights: those that the first input has so many of, else by weights."""
    for ends in _ends(h, dim, operands):
        found = sorted({0, *ends})
        if len(found) == len(weights) + 1 and found[-1] == h.extents[dim]:
            return tuple([end - begin for begin, end in pairwise(found)])
    return shares(h.extents[dim], weights)


def _ends(h: Computation, dim: int, operands: Sequence[Operand]) -> Iterator[list[int]]:
    """Give, of each input that moves with a dimension, before which of its points each device's elements end."""
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
        # Of each device the span that elements so many bytes apart move along.
        spans = [next((s for s, t in pairwise(own) if steps[0] % t.period == 0), own[-1]) for own in operand.owned]
        firsts = [(operand.box.start % s.period if s.period else operand.box.start) + middle for s in spans]
        ends = [-((first - s.end) // steps[0]) for first, s in zip(firsts, spans, strict=True)]
        yield [min(max(end, 0), h.extents[dim]) for end in ends]


def halos(partition: Partition) -> tuple[Region, ...] | None:
    """Give what each part's memory has room for: its result, and as much beside as parts read of their neighbours'.

    A step of an iteration reads of what the one before gave a block and some of its neighbours' elements, which are
    fetched into that room: nothing else has to be copied. Where a boundary wraps, the first and the last part are
    neighbours: regions begin before the array, or end behind it, along its outermost axis only. None where a part reads
    nothing of its neighbours', or more than one of them has; and of parts of several results, or that are fused or not
    concatenated.
    """
    h, tasks = partition.mdhom, partition.stages[0]
    out, same = h.outputs[0], [n for n, v in enumerate(h.inputs) if v.shape == h.outputs[0].shape]
    if len(tasks) < 2 or len(partition.stages) > 1 or len(h.outputs) > 1 or len(h.mdhoms) > 1 or not same:
        return None
    writes = [task.writes[0] for task in tasks]
    reads = [[task.reads[n] for n in same] for task in tasks]
    axes = []
    for axis, extent in enumerate(out.shape):
        read = [[each.region[axis] for each in some if isinstance(each, Window)] for some in reads]
        rooms = _room([own[axis] for own in writes], read, extent, all([n == 1 for n in out.shape[:axis]]))
        if rooms is None:
            return None
        axes.append(rooms)
    found = [tuple(rooms) for rooms in zip(*axes, strict=True)]
    return None if found == writes else tuple(found)


def _room(
    writes: Sequence[slice], reads: Sequence[Sequence[slice]], extent: int, outermost: bool
) -> list[slice] | None:
    """Give what parts have room for along an axis; None where that is more than the least of them."""
    if all([own == slice(0, extent) for own in writes]):
        return list(writes)
    parts = [(own.start, own.stop) for own in writes]
    pairs = [(part, _unturned(r, part[1], extent)) for part, each in zip(parts, reads, strict=True) for r in each]
    before = max([begin - first for (begin, _), (first, _) in pairs])
    after = max([last - end for (_, end), (_, last) in pairs])
    before, after = max(before, 0), max(after, 0)
    if max(before, after) > min([end - begin for begin, end in parts]):
        return None
    wraps = any([first < 0 or last > extent for _, (first, last) in pairs])
    beyond = extent if wraps and outermost else 0
    return [slice(max(begin - before, -beyond), min(end + after, extent + beyond)) for begin, end in parts]


def _unturned(read: slice, stop: int, extent: int) -> tuple[int, int]:
    """What the first part reads of the axis's end is before its beginning."""
    away = extent if read.stop > extent and read.start >= stop else 0
    return read.start - away, read.stop - away
