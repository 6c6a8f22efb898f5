"""The executor of threads: each step of a call is cut, and each device computes its tasks of the partition."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make, view_of
from mdhnp.calls.plans import Plan
from mdhnp.cost import seconds, work
from mdhnp.distributed import memory, threads
from mdhnp.distributed.boxes import StridedBox, holds
from mdhnp.distributed.choose import Operand, choose, halos, price
from mdhnp.distributed.exchange import AT_ONCE, Bringing, Copy, bring, carry, fetch, store
from mdhnp.distributed.kernel import DeviceCall
from mdhnp.distributed.machines import machines, pays, weights
from mdhnp.distributed.placement import Placement, Shard, box_of, flat, lent, placed_on, placement_of, view_on
from mdhnp.distributed.portions import portions
from mdhnp.distributed.spans import NOTHING, Spans, spans_of
from mdhnp.distributed.ways import Holders, Way, way_to
from mdhnp.fusion.least_work import least_work
from mdhnp.fusion.rewrite import all_apart, apart
from mdhnp.mdh import Computation, Graph, Prefix, Stack, Task, View, Window, contiguous
from mdhnp.mdh.cut import Read
from mdhnp.mdh.regions import Region, within
from mdhnp.mdh.views import packed
from mdhnp.runtime.groups import Group
from mdhnp.runtime.handle import Device
from mdhnp.settings import Mode, config

__all__ = ["Distributed", "memory", "plan_of", "steps_of"]

NDArray = npt.NDArray[Any]

#: Ways in which inputs are distributed, of which a step remembers how it was cut.
_MOST = 64
#: Bytes of a task's halo, or seconds that a task takes, from which on the rest is computed while that is brought: else
#: more launches take longer.
LARGE_HALO, LONG = 1 << 20, 1e-3


def plan_of(graph: Graph, function: str, group: Group, mode: Mode, into: bool) -> Plan | None:
    """Make the plan of a call on several devices; None where its ndarrays are better left to one of them."""
    steps = steps_of(graph)
    if mode.resident or pays(steps, group):
        return Distributed(group, steps, function, mode, into, host=not mode.resident)
    return None


def steps_of(graph: Graph) -> Graph:
    """Give a graph all of whose steps can be cut; rows along those."""
    return _cuttable(least_work(graph))


def _cuttable(graph: Graph) -> Graph:
    return all_apart(graph, lambda h: bool(h.divisible))


class _Job(NamedTuple):
    """A task of a partition on its device; with room for a halo its only result lies in memory of that region."""

    device: Device
    kernel: DeviceCall
    task: Task
    room: Region | None
    ways: tuple[Way | None, ...]  # of what it reads of the step's inputs
    portions: tuple["_Portion", ...] = ()  # computed while a halo is on its way, then the others; none: all at once

    def memory(self) -> NDArray:
        """Give new memory of what there is room for."""
        assert self.room is not None
        shape = tuple([r.stop - r.start for r in self.room])
        return transfer.empty(shape, self.task.mdhom.outputs[0].dtype, self.device)

    def place(self) -> tuple[slice, ...]:
        """Say where in that the result lies."""
        assert self.room is not None
        pairs = zip(self.task.writes[0], self.room, strict=True)
        return tuple([slice(w.start - r.start, w.stop - r.start) for w, r in pairs])


class _Portion(NamedTuple):
    """Some of a job's points: with what they are computed, what that reads of the job's inputs, where it is put."""

    kernel: DeviceCall
    reads: tuple[Region | int, ...]
    place: tuple[slice, ...]  # in the memory that there is room in

    def launch(self, device: Device, arrays: Sequence[NDArray], memory: NDArray) -> None:
        given = list[NDArray]()
        for n, one in enumerate(self.reads):
            key: Any = one if isinstance(one, int) else (*one, ...)
            given.append(transfer.constant(np.asarray(key, np.int64), device) if key is one else arrays[n][key])
        self.kernel(device, given, memory[self.place])


class _Plan(NamedTuple):
    """The jobs of a step, stage after stage, and what devices have of its outputs afterwards."""

    stages: tuple[tuple[_Job, ...], ...]
    #: Of each output and device, the spans that its memory is for, and those that it gives; none of a single one.
    spans: tuple[tuple[list[Spans], ...], ...]


class _Operand(NamedTuple):
    """An input where it is: its elements in the array that several devices hold, and as whose it is known."""

    box: StridedBox
    holders: Holders
    first: int  # the first input of the same array


class _Step:
    """A step, and its plan for each way in which its inputs were distributed; equal tasks have one kernel.

    What is fused is computed as a whole, or MDH by MDH.
    """

    def __init__(self, h: Computation, function: str) -> None:
        self.mdhom, self._function = h, function
        self._apart = _Steps(_cuttable(apart(h)), function) if len(h.mdhoms) > 1 else None
        self._plans: dict[Any, _Plan | None] = {}  # None: MDH by MDH
        self._kernels: dict[Computation, DeviceCall] = {}

    def results(self, group: Group, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Compute; gives views of the results."""
        placements = [placement_of(view) for view in inputs]
        stores = [p.stores for p in placements]
        firsts = [placements.index(p) for p in placements]
        operands = tuple(
            [_Operand(box_of(v), p.holders(), n) for v, p, n in zip(inputs, placements, firsts, strict=True)]
        )
        known = True
        try:
            plan = self._plans[operands]
        except KeyError:
            known = False
            if len(self._plans) >= _MOST:
                self._plans.clear()
                self._kernels.clear()
            plan = self._plans[operands] = self._plan(group, operands)
        if plan is not None:
            arrays = [_Input(*each) for each in zip(placements, [v.dtype for v in inputs], stores, strict=True)]
            return _StepRun(arrays, known).results(plan, self.mdhom.outputs)
        assert self._apart is not None
        return self._apart.results(group, inputs)

    def _plan(self, group: Group, operands: Sequence[_Operand]) -> _Plan | None:
        """Choose where the step is cut, and say what each device does; None where it is computed MDH by MDH."""
        each, shares, given = machines(group), weights(group), [_spread(group, o) for o in operands]
        chosen = choose(self.mdhom, given, shares, each)
        if self._apart is not None and price(self._apart.graph, given, shares, each) < chosen.price:
            return None
        rooms = halos(chosen.partition)
        holders = {o.first: o.holders for o in operands}

        def job(task: Task) -> _Job:
            device = group.members[chosen.devices[task.part]]
            ways = tuple([_way(one, operands, holders, device) for one in task.reads])
            room = None if rooms is None else rooms[task.part]
            made = _Job(device, self._kernel(task.mdhom), task, room, ways)
            brought = sum([m.source.nbytes(m.source.whole) for way in ways if way is not None for m in way.moves])
            is_short = brought < LARGE_HALO and seconds(work(task.mdhom), each[chosen.devices[task.part]]) < LONG
            if room is None or is_short or len(chosen.partition.dims) > 1:
                return made
            parts = portions(task, chosen.partition.dims[0], partial(_is_known, task, ways, operands))
            pairs = [(self._kernel(p.mdhom), p) for p in parts]
            return made._replace(
                portions=tuple([_Portion(k, p.reads, within(made.place(), p.writes)) for k, p in pairs])
            )

        stages = tuple([tuple(map(job, stage)) for stage in chosen.partition.stages])
        last = stages[-1] if len(stages[-1]) > 1 else ()
        outputs = enumerate(self.mdhom.outputs)
        return _Plan(stages, tuple([tuple([_spans(view, n, each) for each in last]) for n, view in outputs]))

    def _kernel(self, h: Computation) -> DeviceCall:
        plain = contiguous(h)
        return self._kernels.setdefault(plain, DeviceCall(plain, self._function))


def _is_known(task: Task, ways: Sequence[Way | None], operands: Sequence[_Operand], n: int, region: Region) -> bool:
    """Whether a task's device has a region of what it reads before anything was brought there."""
    one, way = task.reads[n], ways[n]
    if way is None or not isinstance(one, Window):
        return isinstance(one, int)
    box, (_, each), _ = operands[one.input]
    if way.holder is None or not way.moves:  # what comes from the host comes first
        return all([each[move.holder].device is None for move in way.moves])
    wanted = within(one.region, region)
    inside = all([s.stop <= extent for s, extent in zip(wanted, box.shape, strict=True)])
    return inside and holds(each[way.holder].valid, box, wanted)


def _spans(view: View, n: int, job: _Job) -> list[Spans]:
    region = job.task.writes[n]
    return spans_of(view.shape, view.dtype.itemsize, job.room or region, region)


def _way(one: Read, operands: Sequence[_Operand], holders: dict[int, Holders], device: Device) -> Way | None:
    """Say how what is read comes to a device, after what others on the same device have brought there."""
    if not isinstance(one, Window):
        return None
    box, _, first = operands[one.input]
    found = way_to(holders[first], box, one.region, device)
    if found.valid is not None and found.holder is not None:
        nbytes, each = holders[first]
        held = each[found.holder]._replace(valid=found.valid)
        holders[first] = nbytes, (*each[: found.holder], held, *each[found.holder + 1 :])
    return found


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


def _spread(group: Group, operand: _Operand) -> Operand:
    shards = {held.device: held for held in operand.holders[1]}
    return Operand(
        operand.box,
        tuple([shards[d].valid if d in shards else NOTHING for d in group.members]),
        tuple([shards[d].own if d in shards else NOTHING for d in group.members]),
    )


class _Input(NamedTuple):
    """An input of a run; `stores` is the placement's from before its plan was found."""

    placement: Placement
    dtype: np.dtype[Any]
    stores: object


class _StepRun:
    """A step on given arrays: its jobs, stage after stage; `compiled` says whether their kernels are."""

    def __init__(self, inputs: Sequence[_Input], compiled: bool) -> None:
        self._inputs, self._compiled = inputs, compiled
        self._found: list[tuple[Device, list[NDArray]]] = []  # of each task, in the order of their numbers

    def results(self, plan: _Plan, outputs: Sequence[View]) -> list[NDArray]:
        """Compute; gives views of the results."""
        for stage in plan.stages:
            each = zip(stage, self._stage(stage), strict=True)
            self._found += [(job.device, [view_of(a) for a in arrays]) for job, arrays in each]
        if len(plan.stages[-1]) == 1:
            device, found = self._found[-1]
            return [placed_on(device, view) for view in found]
        return [self._joined(n, view, spans) for n, (view, spans) in enumerate(zip(outputs, plan.spans, strict=True))]

    def _stage(self, jobs: Sequence[_Job]) -> list[tuple[Array, ...]]:
        """Compute the jobs of one stage, on their devices side by side.

        Where a device has memory of its own, what is read there comes after all kernels that were launched before. So
        all of it is brought to where it is read, and then all kernels are launched, which takes no threads. What needs
        nothing of others is launched before, and computed meanwhile.
        """
        devices = [job.device for job in jobs]
        own = [device.own_memory for device in devices]
        if not any(own):
            return threads.on_all(devices, [partial(self._computed, job) for job in jobs])
        launch = threads.in_turn if all(own) and self._compiled else threads.on_all
        rooms: list[NDArray | None] = [None] * len(jobs)  # memory that a first portion is put into

        def meanwhile(reads: Sequence[Sequence[NDArray]]) -> None:
            first = list[tuple[Device, Callable[[], None]]]()
            for n, (job, arrays) in enumerate(zip(jobs, reads, strict=True)):
                if job.portions:
                    rooms[n] = memory = job.memory()
                    first.append((job.device, partial(job.portions[0].launch, job.device, arrays, memory)))
            launch([device for device, _ in first], [do for _, do in first])

        if all(own) and not any([_is_large(way) for job in jobs for way in job.ways]):
            reads = self._reads(jobs, meanwhile)
        else:
            found = threads.on_all(devices, [partial(self._reads, [job]) for job in jobs])
            reads = [arrays for (arrays,) in found]
        launches = [partial(self._launched, *each) for each in zip(jobs, reads, rooms, strict=True)]
        return launch(devices, launches)

    def _computed(self, job: _Job) -> tuple[Array, ...]:
        return self._launched(job, self._reads([job])[0])

    def _launched(self, job: _Job, arrays: Sequence[NDArray], memory: NDArray | None = None) -> tuple[Array, ...]:
        """Launch a job, or all but the first portion, which put something into memory already."""
        if job.room is None:
            return job.kernel(job.device, arrays)
        if memory is not None:
            for portion in job.portions[1:]:
                portion.launch(job.device, arrays, memory)
        else:
            memory = job.memory()
            job.kernel(job.device, arrays, memory[job.place()])
        return (make(memory, job.device),)

    def _reads(
        self, jobs: Sequence[_Job], meanwhile: Callable[[list[list[NDArray]]], None] = lambda reads: None
    ) -> list[list[NDArray]]:
        """Give the views of what each job reads, on its device: all of the inputs are brought there side by side.

        `meanwhile` is called with these views when small pieces are on their way.
        """
        pairs = [(job, one, way) for job in jobs for one, way in zip(job.task.reads, job.ways, strict=True)]
        windows = [(job, self._inputs[one.input], way) for job, one, way in pairs if isinstance(one, Window) and way]
        each = [Bringing(p, dtype, way, job.device, stores) for job, (p, dtype, stores), way in windows]
        others = [self._partials(one, job.device) for job, one, way in pairs if way is None]

        def arranged(views: Sequence[NDArray]) -> list[list[NDArray]]:
            brought, other = iter(views), iter(others)
            return [[next(other if way is None else brought) for way in job.ways] for job in jobs]

        return arranged(bring(each, lambda views: meanwhile(arranged(views))))

    def _partials(self, one: Read, device: Device) -> NDArray:
        """Give the view of what tasks before gave, or of a number."""
        match one:
            case Stack(tasks, n):
                sources = [(giver, found[n]) for giver, found in map(self._found.__getitem__, tasks)]
            case Prefix(task, n, at):
                giver, found = self._found[task]
                sources = [(giver, found[n][at, ...])]
            case _:
                return transfer.constant(np.asarray(one, np.int64), device)
        first = sources[0][1]
        stacked = transfer.empty((len(sources), *first.shape), first.dtype, device)
        carry([Copy(giver, view, device, stacked[n, ...]) for n, (giver, view) in enumerate(sources)])
        return stacked if isinstance(one, Stack) else stacked[0, ...]

    def _joined(self, n: int, view: View, spans: Sequence[list[Spans]]) -> NDArray:
        """Give the view of an output, of which each device has a box."""
        shards = []
        for (device, found), (room, own) in zip(self._found[-len(spans) :], spans, strict=True):
            shards.append(Shard(device, flat(found[n], device), room, own))
            shards[-1].valid = own
        return view_on(shards, view.shape, view.dtype)


def _is_large(way: Way | None) -> bool:
    """Whether more moves than is brought at once."""
    return way is not None and any([move.source.nbytes(move.source.whole) > AT_ONCE for move in way.moves])


class Distributed:
    """The plan of a call on several devices: computes on views of placements, and gives such.

    With `host` it takes ndarrays, lends these to the devices, and gathers the results.
    """

    def __init__(
        self, group: Group, graph: Graph, function: str, mode: Mode, into: bool = False, *, host: bool = False
    ) -> None:
        self._group, self._mode, self._into, self._host = group, mode, into, host
        if into:  # what is computed is put there afterwards
            h = graph.mdhom(0)
            graph = Graph.of(replace(h, outputs=packed(h.outputs)))
        self._steps = _Steps(graph, function)

    def run(self, arrays: Sequence[NDArray]) -> tuple[NDArray, ...]:
        """Compute all steps; with `into`, put the only result into the last array."""
        with threads.calling(self._group):
            return self._results(arrays)

    def _results(self, arrays: Sequence[NDArray]) -> tuple[NDArray, ...]:
        values = [lent(a) for a in arrays] if self._host else list(arrays)
        target = values.pop() if self._into else None
        with config(precision=self._mode.precision):
            found = self._steps.results(self._group, values)
        if target is None:
            return tuple([fetch(each, None) for each in found] if self._host else found)
        placement, source = placement_of(target), found[-1].reshape(target.shape)
        with placement.storing() as end:
            jobs = [partial(_stored, target, source, shard, end) for shard in placement.shards]
            threads.on_all([shard.device for shard in placement.shards if shard.device is not None], jobs)
        return ()


def _stored(target: NDArray, source: NDArray, shard: Shard, end: Callable[[], None]) -> None:
    try:
        store(target, source, shard)
    finally:
        end()
