"""The executor of threads: each step of a call is cut, and each device computes its tasks of the partition."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.calls.plans import Plan
from mdhnp.distributed import memory, threads
from mdhnp.distributed.choose import choose, price
from mdhnp.distributed.exchange import Bringing, Copy, brought, carry, fetch, planned, store
from mdhnp.distributed.jobs import DeviceCall, Given, Job, Stage, StepPlan, plan, spread
from mdhnp.distributed.machines import machines, pays, weights
from mdhnp.distributed.placement import Placement, Shard, flat, lent, placed_on, placement_of, seen, view_on
from mdhnp.distributed.routes import Holders
from mdhnp.fusion.least_work import least_work
from mdhnp.fusion.rewrite import all_apart, apart
from mdhnp.mdh import Computation, Graph, Prefix, Stack, View, Window, contiguous
from mdhnp.mdh.cut import Read
from mdhnp.mdh.views import packed
from mdhnp.runtime.groups import Group
from mdhnp.runtime.handle import Device
from mdhnp.schedule.matrices import at_precision
from mdhnp.settings import Mode, config

__all__ = ["Distributed", "memory", "plan_of", "steps_of"]

NDArray = npt.NDArray[Any]

#: Ways in which inputs are distributed, of which a step remembers how it was cut.
_MOST = 64


def plan_of(graph: Graph, function: str, group: Group, mode: Mode, into: bool) -> Plan | None:
    """Make the plan of a call on several devices; None where its ndarrays are better left to one of them."""
    steps = steps_of(graph)
    if mode.precision == "fixed":  # as one device computes it: of these steps only such cuts are chosen
        single = all_apart(steps, lambda h: False)
        steps = replace(single, steps=tuple([s._replace(mdhom=at_precision(s.mdhom, "fixed")) for s in single.steps]))
    if mode.resident or pays(steps, group):
        return Distributed(group, steps, function, mode, into, host=not mode.resident)
    return None


def steps_of(graph: Graph) -> Graph:
    """Give a graph all of whose steps can be cut; rows along those."""
    return _cuttable(least_work(graph))


def _cuttable(graph: Graph) -> Graph:
    return all_apart(graph, lambda h: bool(h.divisible))


class _Step:
    """A step, and its plan for each way in which its inputs were distributed; equal tasks have one kernel.

    What is fused is computed as a whole, or MDH by MDH.
    """

    def __init__(self, h: Computation, function: str) -> None:
        self.mdhom, self._function = h, function
        self._apart = _Steps(_cuttable(apart(h)), function) if len(h.mdhoms) > 1 else None
        self._plans: dict[Any, StepPlan | None] = {}  # None: MDH by MDH
        self._kernels: dict[Computation, DeviceCall] = {}

    def results(self, group: Group, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Compute; gives views of the results."""
        placements = [placement_of(view) for view in inputs]
        stores = [p.stores for p in placements]
        firsts = [placements.index(p) for p in placements]
        operands = tuple([Given(p.box(v), p.holders(), n) for v, p, n in zip(inputs, placements, firsts, strict=True)])
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
            return _StepRun(placements, stores, [v.dtype for v in inputs], known).results(plan, self.mdhom.outputs)
        assert self._apart is not None
        return self._apart.results(group, inputs)

    def _plan(self, group: Group, operands: Sequence[Given]) -> StepPlan | None:
        """Choose where the step is cut, and say what each device does; None where it is computed MDH by MDH."""
        each, shares, given = machines(group), weights(group), [spread(group, o) for o in operands]
        chosen = choose(self.mdhom, given, shares, each)
        if self._apart is not None and price(self._apart.graph, given, shares, each) < chosen.price:
            return None
        return plan(self.mdhom, group.members, chosen, operands, each, self._kernel)

    def _kernel(self, h: Computation) -> DeviceCall:
        plain = contiguous(h)
        return self._kernels.setdefault(plain, DeviceCall(plain, self._function))


class _Steps:
    """Steps one after the other."""

    def __init__(self, graph: Graph, function: str) -> None:
        self.graph = graph
        self._steps = [(_Step(s.mdhom, function), s.inputs) for s in graph.steps]

    def results(self, group: Group, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Compute all; gives views of what is wanted."""
        values = list(inputs)
        for step, places in self._steps:
            pairs = [(values[p], v.shape) for p, v in zip(places, step.mdhom.inputs, strict=True)]
            read = [value if value.shape == shape else value.reshape(shape) for value, shape in pairs]
            values += step.results(group, read)
        return self.graph.results_of(values)


class _StepRun:
    """A step on given arrays: its jobs, stage after stage; `compiled` says whether their kernels are.

    `stores` are the placements' from before the plan was found.
    """

    def __init__(
        self, placements: Sequence[Placement], stores: Sequence[object], dtypes: Sequence[np.dtype[Any]], compiled: bool
    ) -> None:
        self._placements, self._stores, self._dtypes, self._compiled = placements, stores, dtypes, compiled
        self._found: list[tuple[Device, list[NDArray]]] = []  # of each task, in the order of their numbers

    def results(self, plan: StepPlan, outputs: Sequence[View]) -> list[NDArray]:
        """Compute; gives views of the results."""
        for stage in plan.stages:
            each = zip(stage.jobs, self._stage(stage), strict=True)
            self._found += [(job.device, [a._view for a in arrays]) for job, arrays in each]
        if len(plan.stages[-1].jobs) == 1:
            device, found = self._found[-1]
            return [placed_on(device, view) for view in found]
        return [self._joined(n, *each) for n, each in enumerate(zip(outputs, plan.holders, strict=True))]

    def _stage(self, stage: Stage) -> list[tuple[Array, ...]]:
        """Compute the jobs of one stage, on their devices side by side."""
        jobs, devices = stage.jobs, stage.devices
        at_once = stage.is_there and self._compiled
        if at_once or stage.memory == "host":
            hand = threads.in_turn if at_once else threads.on_all
            compute = self._at_once if at_once else lambda job: self._launched(job, self._reads(job))
            return hand(devices, [partial(compute, job) for job in jobs])
        if stage.memory == "own" and not stage.is_large:
            return self._brought_at_once(stage)
        reads = threads.on_all(devices, [partial(self._reads, job) for job in jobs])
        launches = [partial(self._launched, *each) for each in zip(jobs, reads, strict=True)]
        launch = threads.in_turn if stage.memory == "own" and self._compiled else threads.on_all
        return launch(devices, launches)

    def _brought_at_once(self, stage: Stage) -> list[tuple[Array, ...]]:
        """Compute jobs on devices with memory of their own, to which little must be brought.

        Kernels only have to be enqueued, which takes no threads: at first those for which all is there, also those that
        need no halo, then each device's when its pieces are. Where they must be compiled, devices do that together.
        """
        jobs, found = stage.jobs, dict[int, tuple[Array, ...]]()
        rooms: list[NDArray | None] = [None] * len(jobs)  # memory that a first portion is put into
        each, copies, reads = self._planned(jobs)
        hand = threads.in_turn if self._compiled else threads.on_all

        def launch(numbers: Iterable[int]) -> None:
            some = [n for n in numbers if n not in found]
            launches = [partial(self._launched, jobs[n], reads[n], rooms[n]) for n in some]
            found.update(zip(some, hand([jobs[n].device for n in some], launches), strict=True))

        def meanwhile() -> None:
            first = list[tuple[Device, Callable[[], None]]]()
            for n, (job, arrays) in enumerate(zip(jobs, reads, strict=True)):
                if job.portions:
                    rooms[n] = memory = job.memory()
                    first.append((job.device, partial(job.portions[0].launch, job.device, arrays, memory)))
            hand([device for device, _ in first], [do for _, do in first])
            if self._compiled:
                launch([n for n, awaits in enumerate(stage.awaiting) if not awaits])

        def arrived(device: Device) -> None:
            if self._compiled:
                launch([n for n, job in enumerate(jobs) if job.device is device])

        if copies:
            carry(copies, meanwhile, arrived, beside=any([job.portions for job in jobs]))
            brought(each)
        launch(range(len(jobs)))
        return [found[n] for n in range(len(jobs))]

    def _at_once(self, job: Job) -> tuple[Array, ...]:
        """Launch a job to which nothing must be brought."""
        each: Any = [(r.input, route) for r, route in zip(job.task.reads, job.routes, strict=True)]  # type: ignore[union-attr]
        return self._launched(
            job,
            [seen(self._placements[n].shards[route.holder].memory, route.box, self._dtypes[n]) for n, route in each],
        )

    def _launched(self, job: Job, arrays: Sequence[NDArray], memory: NDArray | None = None) -> tuple[Array, ...]:
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

    def _reads(self, job: Job) -> list[NDArray]:
        """Give the views of what a job reads, on its device, where all is brought."""
        each, copies, (found,) = self._planned([job])
        if copies:
            carry(copies)
            brought(each)
        return found

    def _planned(self, jobs: Sequence[Job]) -> tuple[list[Bringing], list[Copy], list[list[NDArray]]]:
        """Give what is to be brought, by which copies, and the views of what each job reads when that is done."""
        each, copies, found = list[Bringing](), list[Copy](), list[list[NDArray]]()
        for job in jobs:
            views = list[NDArray]()
            for one, route in zip(job.task.reads, job.routes, strict=True):
                if route is None:
                    some, view = self._partials(one, job.device)
                else:
                    assert isinstance(one, Window)
                    n = one.input
                    if route.holder is not None and not route.moves:
                        views.append(seen(self._placements[n].shards[route.holder].memory, route.box, self._dtypes[n]))
                        continue
                    each.append(Bringing(self._placements[n], self._dtypes[n], route, job.device, self._stores[n]))
                    some, view = planned(each[-1])
                copies += some
                views.append(view)
            found.append(views)
        return each, copies, found

    def _partials(self, one: Read, device: Device) -> tuple[Sequence[Copy], NDArray]:
        """Give the view of what tasks before gave, or of a number, and what is to be copied for it."""
        match one:
            case Stack(tasks, n):
                sources = [(giver, found[n]) for giver, found in map(self._found.__getitem__, tasks)]
            case Prefix(task, n, at):
                giver, found = self._found[task]
                sources = [(giver, found[n][at, ...])]
            case _:
                return (), transfer.constant(np.asarray(one, np.int64), device)
        first = sources[0][1]
        stacked = transfer.empty((len(sources), *first.shape), first.dtype, device)
        copies = [Copy(giver, view, device, stacked[n, ...]) for n, (giver, view) in enumerate(sources)]
        return copies, stacked if isinstance(one, Stack) else stacked[0, ...]

    def _joined(self, n: int, view: View, holders: Holders) -> NDArray:
        """Give the view of an output, of which each device has a box."""
        each = zip(holders.each, self._found[-len(holders.each) :], strict=True)
        shards = [Shard(at, flat(found[n], at), room, own) for (at, room, own, _), (_, found) in each]
        for shard in shards:
            shard.valid = shard.own
        return view_on(shards, view.shape, view.dtype, holders=holders)


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
        precision = self._mode.precision
        with nullcontext() if config.mode.precision == precision else config(precision=precision):
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
