"""The plan of a call on several devices: each step is cut, its parts run at once, and their results recombine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make, view_of
from mdhnp.calls.call import call
from mdhnp.calls.plans import Plan
from mdhnp.calls.request import Described, Routine, results
from mdhnp.cost import Machine
from mdhnp.distributed import memory, run
from mdhnp.distributed.choose import Chosen, Operand, choose, in_pieces, price
from mdhnp.distributed.exchange import fetch, fetch_region, store
from mdhnp.distributed.machines import machines, pays, weights
from mdhnp.distributed.room import Room, pieces_of, rooms_of
from mdhnp.distributed.values import Early, Hold, Value, box_of, held_by, lent, value_of, view_on
from mdhnp.fusion.least_work import least_work
from mdhnp.mdh import Computation, Cut, Graph, MdHom, Part, View, finish_inputs
from mdhnp.mdh.mdhom import row_major
from mdhnp.runtime.groups import Group
from mdhnp.runtime.handle import Device
from mdhnp.runtime.marks import Mark, mark
from mdhnp.settings import Mode, config

__all__ = ["FromHost", "Kernel", "OnSeveral", "memory", "plan_of", "steps_of"]

NDArray = npt.NDArray[Any]

#: Ways that inputs are distributed in, of which a step remembers how it was cut.
_MOST = 64


def plan_of(graph: Graph, function: str, group: Group, mode: Mode, into: bool) -> Plan | None:
    """Make the plan of a call on several devices; None where its ndarrays are better left to one of them."""
    steps = steps_of(graph)
    if mode.resident:
        return OnSeveral(group, steps, function, mode, into)
    return FromHost(OnSeveral(group, steps, function, mode)) if pays(steps, group) else None


def steps_of(graph: Graph) -> Graph:
    """Give a graph all of whose steps can be cut; rows along those."""
    return _cuttable(least_work(graph))


def _cuttable(graph: Graph) -> Graph:
    from mdhnp.fusion.rewrite import all_apart

    return all_apart(graph, lambda h: bool(h.divisible))


def _one_by_one(h: Computation) -> Graph:
    from mdhnp.fusion.rewrite import apart

    return _cuttable(apart(h))


@dataclass(frozen=True, eq=False)
class Kernel:
    """An MDH to be called on Arrays of one device, whatever their strides: known by itself, which costs no hash.

    Attributes
    ----------
    mdhom : Computation
        What is computed.
    function : str
        Of whose call it is part.
    """

    mdhom: Computation
    function: str

    def __call__(self, device: Device, arrays: Sequence[NDArray], into: NDArray | None = None) -> tuple[Array, ...]:
        """Compute, on views of a device's memory; puts the only result into such a view, where there is one."""
        given = tuple([make(a, device) for a in arrays])
        if into is not None:
            call((_routine(self.function, True), self), (*given, make(into, device)), owners=(self,))
            return ()
        found = call((_routine(self.function, False), self), given, owners=(self,))
        each = found if isinstance(found, tuple) else (found,)
        return tuple([f if type(f) is Array else make(transfer.put(np.asarray(f), device), device) for f in each])


def _describe(arrays: Sequence[NDArray], kernel: Kernel) -> Described:
    h = kernel.mdhom
    inputs = tuple([_lying(v, a) for v, a in zip(h.inputs, arrays, strict=True)])
    return Described(h.relaid(inputs), None, results)


def _describe_into(arrays: Sequence[NDArray], kernel: Kernel) -> Described:
    h = kernel.mdhom.last  # nothing that is fused is put somewhere
    inputs = tuple([_lying(v, a) for v, a in zip(h.inputs, arrays[:-1], strict=True)])
    whole = replace(h, inputs=inputs, outputs=(_lying(h.outputs[0], arrays[-1]),))
    return Described(whole, None, lambda _: (), into=True)


@cache
def _routine(function: str, into: bool) -> Routine:
    return Routine(function, _describe_into if into else _describe)


def _lying(view: View, array: NDArray) -> View:
    """An MDH's view of an array that lies in memory as this one does."""
    steps = tuple([s // array.itemsize for s in array.strides])
    low = sum([-s * (n - 1) for s, n in zip(steps, array.shape, strict=True) if s < 0])
    return replace(view, strides=steps, offset=low)


class _Job(NamedTuple):
    """A part on its device.

    Attributes
    ----------
    device : Device
        Which one.
    part : Part
        Of the step.
    pieces : sequence of (Kernel, Part)
        What computes it: itself, or its borders, then its inside.
    room : Room or None
        What is beside its result.
    """

    device: Device
    part: Part
    pieces: Sequence[tuple[Kernel, Part]]
    room: Room | None = None


class _Prepared:
    """A step that is cut, with what calls its parts and what recombines them."""

    def __init__(
        self,
        h: Computation,
        chosen: Chosen,
        group: Group,
        rates: Sequence[Machine],
        kernel: Callable[[Computation], Kernel],
    ) -> None:
        self.mdhom, self.cut = h, chosen.cut
        self.devices = tuple([group.members[n] for n in chosen.devices])
        made, count = chosen.cut, len(self.devices)
        self.parts, self.totals = list[_Job](), list[_Job]()
        if made is not None:
            rooms = rooms_of(made)
            several = [(p,) for p in made.parts] if rooms is None else pieces_of(made)
            each = zip(self.devices, chosen.devices, made.parts, several, rooms or [None] * count, strict=True)
            for device, n, part, pieces, room in each:
                used = pieces if in_pieces(part, len(pieces), rates[n], enqueued=device.own_memory) else (part,)
                called = [(kernel(p.mdhom), p) for p in used]
                self.parts.append(_Job(device, part, called, room if device.own_memory else None))
            totals = zip(self.devices, made.totals, strict=False)
            self.totals = [_Job(device, part, [(kernel(part.mdhom), part)]) for device, part in totals]
        kind = None if made is None else made.kind
        self.pair = self.last = None
        if made is None:
            self.last = kernel(h)
        elif kind == "pw":
            self.pair = kernel(made.joined(2)) if count > 2 else None
            self.last = kernel(made.finished(2))
        elif kind == "ps":
            self.last = kernel(made.prefixes(len(self.totals)))


class _Step:
    """A step, and how it was cut for inputs that were distributed as now; equal parts are one kernel.

    Rows are computed as a whole, or MDH by MDH.
    """

    def __init__(self, h: Computation, function: str) -> None:
        self.mdhom, self._function = h, function
        self._links = _Steps(_one_by_one(h), function) if len(h.mdhoms) > 1 else None
        self._prepared: dict[Any, _Prepared | None] = {}  # None: of rows that are computed MDH by MDH
        self._kernels: dict[Computation, Kernel] = {}

    def results(self, group: Group, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Compute; gives views of the results."""
        operands = tuple([_operand(group, view) for view in inputs])
        try:
            prepared = self._prepared[operands]
        except KeyError:
            if len(self._prepared) >= _MOST:
                self._prepared.clear()
                self._kernels.clear()
            prepared = self._prepared[operands] = self._prepare(group, operands)
        if prepared is not None:
            return _Run(prepared, inputs).results()
        assert self._links is not None
        return self._links.results(group, inputs)

    def _prepare(self, group: Group, operands: Sequence[Operand]) -> _Prepared | None:
        rates, shares = machines(group), weights(group)
        chosen = choose(self.mdhom, operands, shares, rates)
        if self._links is not None and price(self._links.graph, operands, shares, rates) < chosen.price:
            return None
        return _Prepared(self.mdhom, chosen, group, rates, self._kernel)

    def _kernel(self, h: Computation) -> Kernel:
        plain = h.relaid([replace(v, strides=row_major(v.shape), offset=0) for v in h.inputs])
        return self._kernels.setdefault(plain, Kernel(plain, self._function))


class _Steps:
    """Steps one after the other."""

    def __init__(self, graph: Graph, function: str) -> None:
        self.graph = graph
        self._steps = [(_Step(s.mdhom, function), s.inputs) for s in graph.steps]

    def results(self, group: Group, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Compute all; gives views of what is wanted."""
        values = list(inputs)
        for step, places in self._steps:
            read = [values[p].reshape(v.shape) for p, v in zip(places, step.mdhom.inputs, strict=True)]
            values += step.results(group, read)
        return [values[r] for r in self.graph.results]


def _operand(group: Group, view: NDArray) -> Operand:
    value = value_of(view)
    holds = {hold.device: hold for hold in value.holds}
    none = (0, 0)
    return Operand(
        box_of(view),
        tuple([value.valid(holds[d]) if d in holds else none for d in group.members]),
        tuple([holds[d].own if d in holds else none for d in group.members]),
    )


class OnSeveral:
    """Computes on views of values, and gives such."""

    def __init__(self, group: Group, graph: Graph, function: str, mode: Mode, into: bool = False) -> None:
        self._group, self._mode, self._into = group, mode, into
        if into:  # what is computed is put there afterwards
            graph = Graph.of(_packed(graph.mdhom(0)))
        self._steps = _Steps(graph, function)

    def run(self, arrays: Sequence[NDArray]) -> tuple[NDArray, ...]:
        """Compute all steps; with `into`, put the only result into the last array."""
        values = list(arrays)
        target = values.pop() if self._into else None
        with config(precision=self._mode.precision):
            found = self._steps.results(self._group, values)
        if target is None:
            return tuple(found)
        value, source = value_of(target), found[-1].reshape(target.shape)
        with value.storing() as end:
            jobs = [partial(_stored, target, source, hold, end) for hold in value.holds]
            run.on_all([_device(h) for h in value.holds], jobs)
        return ()


def _stored(target: NDArray, source: NDArray, hold: Hold, end: Callable[[], None]) -> None:
    try:
        store(target, source, hold)
    finally:
        end()


def _device(hold: Hold) -> Device:
    assert hold.device is not None
    return hold.device


def _packed(h: MdHom) -> MdHom:
    """The same MDH, whose results lie in C order."""
    outputs = tuple([replace(v, strides=row_major(v.shape), offset=0) for v in h.outputs])
    return replace(h, outputs=outputs)


class FromHost:
    """Computes on ndarrays, and gives such, by a plan on views of values."""

    def __init__(self, plan: OnSeveral) -> None:
        self._plan = plan

    def run(self, arrays: Sequence[NDArray]) -> tuple[NDArray, ...]:
        """Lend arrays to devices, and gather results."""
        return tuple([fetch(found, None) for found in self._plan.run([lent(a) for a in arrays])])


class _Run:
    """A step on given views: its parts on their devices, then what recombines them."""

    def __init__(self, prepared: _Prepared, inputs: Sequence[NDArray]) -> None:
        self._prepared, self._inputs, self._devices = prepared, inputs, prepared.devices
        self._marks: dict[Device, Mark] = {}  # after the borders of parts whose inside is computed later

    def results(self) -> list[NDArray]:
        """Compute; gives views of the results."""
        h, made, last = self._prepared.mdhom, self._prepared.cut, self._prepared.last
        if made is None:
            assert last is not None
            return self._on_one(self._devices[0], last, (), self._inputs)
        if made.kind == "pw":
            return self._reduced(made)
        carried: list[Sequence[NDArray]] = [()] * len(self._devices)
        if made.totals:
            assert last is not None
            totals = self._at_once(self._prepared.totals, carried)
            scanned = self._on_one(self._devices[0], last, [each for _, each in totals], ())
            carried[1:] = [[view[n, ...] for view in scanned] for n in range(len(totals))]
        found = self._at_once(self._prepared.parts, carried)
        return [self._joined(n, [each[n] for _, each in found]) for n in range(len(h.outputs))]

    def _at_once(
        self, jobs: Sequence[_Job], carried: Sequence[Sequence[NDArray]]
    ) -> list[tuple[Device, list[NDArray]]]:
        """Compute parts, each on its device; gives views of their results."""
        devices = [job.device for job in jobs]
        work = [partial(self._part, *each) for each in zip(jobs, carried, strict=False)]
        return _held(devices, run.on_all(devices, work))

    def _part(self, job: _Job, carry: Sequence[NDArray]) -> tuple[Array, ...]:
        device, whole, pieces, room = job
        *borders, (inside, last) = pieces
        if room is None and not borders:
            return inside(device, [*self._operands(last, device), *[fetch(c, device) for c in carry]])
        view = whole.mdhom.outputs[0]
        memory = transfer.empty(view.shape if room is None else room.around(view.shape), view.dtype, device)
        result = memory if room is None else memory[room.inside(view.shape)]
        for kernel, piece in borders:
            kernel(device, self._operands(piece, device), result[_within(piece, whole)])
        if borders and device.own_memory:
            self._marks[device] = mark(device)
        inside(device, self._operands(last, device), result[_within(last, whole)])
        return (make(memory, device),)

    def _operands(self, part: Part, device: Device) -> list[NDArray]:
        """Bring what a part reads to its device."""
        arrays = [fetch_region(a, region, device) for a, region in zip(self._inputs, part.inputs, strict=True)]
        return arrays + [transfer.constant(np.asarray(n, np.int64), device) for n in part.begin]

    def _joined(self, n: int, found: Sequence[NDArray]) -> NDArray:
        """Give the view of an output, of which each device has a stretch."""
        view, holds = self._prepared.mdhom.outputs[n], []
        steps = [view.dtype.itemsize * step for step in row_major(view.shape)]
        first = lambda part: sum([s.start * step for s, step in zip(part.outputs[n], steps, strict=True)])  # noqa: E731
        for (device, part, pieces, room), array in zip(self._prepared.parts, found, strict=True):
            begin = first(part)
            before, after = (0, 0) if room is None else (room.before * steps[room.axis], room.after * steps[room.axis])
            memory = value_of(array).holds[0].memory
            hold = Hold(device, memory, begin - before, (begin, begin - before + memory.nbytes - after))
            hold.valid = hold.own
            if device in self._marks:
                borders = [p for _, p in pieces[:-1]]
                spans = [(first(p), first(p) + view.dtype.itemsize * prod(p.mdhom.outputs[n].shape)) for p in borders]
                hold.early = Early(self._marks[device], spans)
            holds.append(hold)
        return view_on(Value(holds), view.shape, view.dtype)

    def _on_one(
        self, device: Device, kernel: Kernel, rows: Sequence[Sequence[NDArray]], others: Sequence[NDArray]
    ) -> list[NDArray]:
        """Bring results to a device, and compute there."""
        ((_, found),) = _held([device], run.on_all([device], [partial(_combined, kernel, device, rows, others)]))
        return found

    def _reduced(self, made: Cut) -> list[NDArray]:
        """Combine partial results of neighbours, all pairs at once, until two are left, which give the results."""
        pair, last = self._prepared.pair, self._prepared.last
        assert last is not None
        level = self._at_once(self._prepared.parts, [()] * len(self._devices))
        while len(level) > 2:
            assert pair is not None
            odd = level[len(level) // 2 * 2 :]
            devices = [device for device, _ in level[: len(level) // 2 * 2 : 2]]
            jobs = [
                partial(_combined, pair, first[0], [first[1], second[1]], ())
                for first, second in zip(level[::2], level[1::2], strict=False)
            ]
            level = _held(devices, run.on_all(devices, jobs)) + odd
        others = [self._inputs[n] for n in finish_inputs(made.mdhom.last)]
        return self._on_one(level[0][0], last, [each for _, each in level], others)


def _within(piece: Part, part: Part) -> tuple[slice, ...]:
    """Say where the result of a piece is in that of the part."""
    both = zip(piece.outputs[0], part.outputs[0], strict=True)
    return tuple([slice(one.start - all_.start, one.stop - all_.start) for one, all_ in both])


def _held(devices: Sequence[Device], found: Sequence[Sequence[Array]]) -> list[tuple[Device, list[NDArray]]]:
    """Give what devices have computed as views of values."""
    return [(d, [held_by(d, view_of(a)) for a in each]) for d, each in zip(devices, found, strict=True)]


def _combined(
    kernel: Kernel, device: Device, rows: Sequence[Sequence[NDArray]], others: Sequence[NDArray]
) -> tuple[Array, ...]:
    """Bring results to a device, stack them, and combine them there."""
    stacks = [_stacked(device, [fetch(a, device) for a in each]) for each in zip(*rows, strict=True)]
    return kernel(device, stacks + [fetch(a, device) for a in others])


def _stacked(device: Device, views: Sequence[NDArray]) -> NDArray:
    if not device.own_memory:
        return np.stack(views)
    from mdhnp.frontend.joining import stack

    stacked: Array = stack([make(v, device) for v in views])
    return view_of(stacked)
