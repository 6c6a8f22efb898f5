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
from mdhnp.distributed import memory, threads
from mdhnp.distributed.choose import Operand, choose, halos, price
from mdhnp.distributed.exchange import fetch, fetch_region, is_here, store
from mdhnp.distributed.kernel import DeviceCall
from mdhnp.distributed.machines import machines, pays, weights
from mdhnp.distributed.placement import Shard, box_of, lent, placed_on, placement_of, view_on
from mdhnp.distributed.spans import NOTHING, spans_of
from mdhnp.frontend.joining import stack
from mdhnp.fusion.least_work import least_work
from mdhnp.fusion.rewrite import all_apart, apart
from mdhnp.mdh import Computation, Graph, Prefix, Stack, Task, View, Window, contiguous
from mdhnp.mdh.cut import Read
from mdhnp.mdh.regions import Region
from mdhnp.mdh.views import packed
from mdhnp.runtime.groups import Group
from mdhnp.runtime.handle import Device
from mdhnp.settings import Mode, config

__all__ = ["Distributed", "memory", "plan_of", "steps_of"]

NDArray = npt.NDArray[Any]

#: Ways in which inputs are distributed, of which a step remembers how it was cut.
_MOST = 64


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


class _Step:
    """A step, and the jobs of each way in which its inputs were distributed; equal tasks have one kernel.

    What is fused is computed as a whole, or MDH by MDH.
    """

    def __init__(self, h: Computation, function: str) -> None:
        self.mdhom, self._function = h, function
        self._apart = _Steps(_cuttable(apart(h)), function) if len(h.mdhoms) > 1 else None
        self._jobs: dict[Any, list[list[_Job]] | None] = {}  # None: MDH by MDH
        self._kernels: dict[Computation, DeviceCall] = {}

    def results(self, group: Group, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Compute; gives views of the results."""
        operands = tuple([_operand(group, view) for view in inputs])
        known = True
        try:
            stages = self._jobs[operands]
        except KeyError:
            known = False
            if len(self._jobs) >= _MOST:
                self._jobs.clear()
                self._kernels.clear()
            stages = self._jobs[operands] = self._stages(group, operands)
        if stages is not None:
            return _StepRun(inputs, known).results(stages, self.mdhom.outputs)
        assert self._apart is not None
        return self._apart.results(group, inputs)

    def _stages(self, group: Group, operands: Sequence[Operand]) -> list[list[_Job]] | None:
        """Choose where the step is cut, and give its jobs, stage after stage; None where it is computed MDH by MDH."""
        each, shares = machines(group), weights(group)
        chosen = choose(self.mdhom, operands, shares, each)
        if self._apart is not None and price(self._apart.graph, operands, shares, each) < chosen.price:
            return None
        rooms = halos(chosen.partition)

        def job(task: Task) -> _Job:
            plain = contiguous(task.mdhom)
            kernel = self._kernels.setdefault(plain, DeviceCall(plain, self._function))
            device = group.members[chosen.devices[task.part]]
            return _Job(device, kernel, task, None if rooms is None else rooms[task.part])

        return [[job(task) for task in stage] for stage in chosen.partition.stages]


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
    placement = placement_of(view)
    shards = {shard.device: shard for shard in placement.shards}
    return Operand(
        box_of(view),
        tuple([placement.valid(shards[d]) if d in shards else NOTHING for d in group.members]),
        tuple([shards[d].own if d in shards else NOTHING for d in group.members]),
    )


class _StepRun:
    """A step on given views: its jobs, stage after stage; `compiled` says whether their kernels are."""

    def __init__(self, inputs: Sequence[NDArray], compiled: bool) -> None:
        self._inputs, self._compiled = inputs, compiled
        self._found: list[list[NDArray]] = []  # of each task, in the order of their numbers

    def results(self, stages: Sequence[Sequence[_Job]], outputs: Sequence[View]) -> list[NDArray]:
        """Compute; gives views of the results."""
        for stage in stages:
            each = zip(stage, self._stage(stage), strict=True)
            self._found += [[placed_on(job.device, view_of(a)) for a in arrays] for job, arrays in each]
        if len(stages[-1]) == 1:
            return self._found[-1]
        return [self._joined(stages[-1], n, view) for n, view in enumerate(outputs)]

    def _stage(self, jobs: Sequence[_Job]) -> list[tuple[Array, ...]]:
        """Compute the jobs of one stage, on their devices side by side.

        Where a device has memory of its own, what is read there comes after all kernels that were launched before. So
        all of it is brought to where it is read, and then all kernels are launched, which takes no threads.
        """
        devices = [job.device for job in jobs]
        own = [device.own_memory for device in devices]
        if not any(own):
            return threads.on_all(devices, [partial(self._computed, job) for job in jobs])
        here = all([self._is_here(one, job.device) for job in jobs for one in job.task.reads])
        reads = (threads.in_turn if here else threads.on_all)(devices, [partial(self._reads, job) for job in jobs])
        launches = [partial(self._launched, job, arrays) for job, arrays in zip(jobs, reads, strict=True)]
        return (threads.in_turn if all(own) and self._compiled else threads.on_all)(devices, launches)

    def _computed(self, job: _Job) -> tuple[Array, ...]:
        return self._launched(job, self._reads(job))

    def _reads(self, job: _Job) -> list[NDArray]:
        return [self._read(one, job.device) for one in job.task.reads]

    def _launched(self, job: _Job, arrays: Sequence[NDArray]) -> tuple[Array, ...]:
        if job.room is None:
            return job.kernel(job.device, arrays)
        shape = tuple([r.stop - r.start for r in job.room])
        memory = transfer.empty(shape, job.task.mdhom.outputs[0].dtype, job.device)
        own = zip(job.task.writes[0], job.room, strict=True)
        job.kernel(job.device, arrays, memory[tuple([slice(w.start - r.start, w.stop - r.start) for w, r in own])])
        return (make(memory, job.device),)

    def _is_here(self, one: Read, device: Device) -> bool:
        """Whether nothing has to be brought to a device for it to read this."""
        match one:
            case Window(n, region):
                return is_here(self._inputs[n], region, device)
            case Stack() | Prefix():
                return False
        return True

    def _read(self, one: Read, device: Device) -> NDArray:
        match one:
            case Window(n, region):
                return fetch_region(self._inputs[n], region, device)
            case Stack(tasks, n):
                views = [fetch(self._found[task][n], device) for task in tasks]
                return view_of(stack([make(v, device) for v in views])) if device.own_memory else np.stack(views)
            case Prefix(task, n, at):
                return fetch(self._found[task][n][at, ...], device)
        return transfer.constant(np.asarray(one, np.int64), device)

    def _joined(self, jobs: Sequence[_Job], n: int, view: View) -> NDArray:
        """Give the view of an output, of which each device has a box."""
        shards = []
        for job, arrays in zip(jobs, self._found[-len(jobs) :], strict=True):
            region = job.task.writes[n]
            room, own = spans_of(view.shape, view.dtype.itemsize, job.room or region, region)
            shards.append(Shard(job.device, placement_of(arrays[n]).shards[0].memory, room, own))
            shards[-1].valid = own
        return view_on(shards, view.shape, view.dtype)


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
