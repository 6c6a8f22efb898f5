"""Jobs: what each device does of a step, stage after stage, for one way in which its inputs are distributed.

Takes a partition, and who computes which part; gives records that serve all arrays that are distributed alike: which
kernels are called on a device's Arrays, and what of a task (its portions) is computed while its halo is on its way. It
must not know arrays that are given, nor how anything is brought.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import prod
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.calls.call import call
from mdhnp.calls.request import Described, Routine, results
from mdhnp.cost import Machine, seconds, work
from mdhnp.distributed.choose import Chosen, Operand, halos
from mdhnp.distributed.exchange import AT_ONCE
from mdhnp.distributed.routes import Held, Holders, Route, route_to
from mdhnp.distributed.spans import NOTHING, StridedBox, holds, spans_of
from mdhnp.mdh import Computation, MdHom, Task, View, Window
from mdhnp.mdh.cut import Read, cut
from mdhnp.mdh.pattern import array_view, as_lying
from mdhnp.mdh.regions import Region, part_of, within
from mdhnp.runtime.groups import Group
from mdhnp.runtime.handle import Device

NDArray = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DeviceCall:
    """An MDH to be called on Arrays of one device, whatever their strides: known by itself, which costs no hash."""

    mdhom: Computation
    function: str  # of whose call it is part

    def __call__(self, device: Device, arrays: Sequence[NDArray], into: NDArray | None = None) -> tuple[Array, ...]:
        """Compute, on views of a device's memory; puts the only result into such a view, where there is one."""
        given = tuple([make(a, device) for a in arrays])
        if into is not None:
            call((_routine(self.function, True), self), (*given, make(into, device)), owners=(self,))
            return ()
        found = call((_routine(self.function, False), self), given, owners=(self,))
        if type(found) is Array:
            return (found,)
        each = found if isinstance(found, tuple) else (found,)
        return tuple([f if type(f) is Array else make(transfer.put(np.asarray(f), device), device) for f in each])


def _describe(arrays: Sequence[NDArray], kernel: DeviceCall) -> Described:
    h = as_lying(kernel.mdhom, arrays)
    return Described(h, None, results if len(h.outputs) > 1 else None)  # a single one is launched by compiled code


def _describe_into(arrays: Sequence[NDArray], kernel: DeviceCall) -> Described:
    h, (out,) = as_lying(kernel.mdhom, arrays[:-1]).last, kernel.mdhom.outputs  # nothing fused is put somewhere
    outputs = (array_view(out.name, arrays[-1], out.accesses),)
    return Described(replace(h, outputs=outputs), None, into=True)


@cache
def _routine(function: str, into: bool) -> Routine:
    return Routine(function, _describe_into if into else _describe)


#: Of the n-th input of a task, whether a region is there before anything was brought.
Known = Callable[[int, Region], bool]

#: Points of a border, at least: what is left are then as many as fill tiles, mostly, and need no guards.
LEAST = 1 << 21


class Portion(NamedTuple):
    """Some of a task's points."""

    mdhom: MdHom
    #: Of each input of the task what it reads, then numbers.
    reads: tuple[Region | int, ...]
    #: Of the task's only output.
    writes: Region


def portions(task: Task, dim: int, known: Known) -> tuple[Portion, ...]:
    """Give the points, along a dimension, that read what is known, then those before and behind them.

    None where all of them do, or where a border would be a quarter of the extent.
    """
    h = task.mdhom
    if not isinstance(h, MdHom) or len(h.outputs) != 1 or h.combine[dim].kind != "cc":
        return ()
    extent = h.extents[dim]

    def lacking(point: int) -> bool:
        regions = part_of(h, dim, point, point + 1).inputs
        return not all([known(n, region) for n, region in enumerate(regions)])

    most = extent // 4
    before = next((n for n in range(most) if not lacking(n)), most)
    behind = next((n for n in range(most) if not lacking(extent - 1 - n)), most)
    if before + behind == 0 or most in (before, behind):
        return ()
    step = 1
    while step * 2 <= extent // 16 and step * (prod(h.extents) // extent) < LEAST:
        step *= 2
    before, behind = (-(-n // step) * step for n in (before, behind))
    parts = cut(h, dim, (before, extent - before - behind, behind)).parts
    found = [Portion(p.mdhom.last, (*p.inputs, *p.begin), p.outputs[0]) for p in parts]
    inner = found.pop(1 if before else 0)
    if not all([known(n, each) for n, each in enumerate(inner.reads) if not isinstance(each, int)]):
        return ()  # nor is what lies between its first and its last point
    return (inner, *found)


#: Bytes of a task's halo, or seconds that a task takes, from which on the rest is computed while that is brought: else
#: more launches take longer. 5 × 5 weights on 32768² took 33.1 ms in place of 34.9 on two H200s; on four no less time.
LARGE_HALO, LONG = 1 << 20, 5e-4


class Job(NamedTuple):
    """A task of a partition on its device; with room for a halo its only result lies in memory of that region."""

    device: Device
    kernel: DeviceCall
    task: Task
    room: Region | None
    routes: tuple[Route | None, ...]  # of what it reads of the step's inputs
    portions: tuple["JobPortion", ...] = ()  # computed while a halo is on its way, then the others; none: all at once

    @property
    def awaits(self) -> bool:
        """Whether anything must be brought to it."""
        return any([route is None or route.holder is None or route.moves for route in self.routes])

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


class JobPortion(NamedTuple):
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


class Stage(NamedTuple):
    """Jobs that are done side by side, each on its device."""

    jobs: tuple[Job, ...]
    devices: tuple[Device, ...]
    awaiting: tuple[bool, ...]  # of each whether anything must be brought to it
    is_there: bool  # whether all devices have memory of their own, and all that they read in it
    memory: Literal["host", "own", "mixed"]  # where all devices work
    is_large: bool  # whether more moves to one of them than is brought at once

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Self:
        own = {job.device.own_memory for job in jobs}
        moves = [move for job in jobs for route in job.routes if route is not None for move in route.moves]
        awaiting = tuple([job.awaits for job in jobs])
        return cls(
            tuple(jobs),
            tuple([job.device for job in jobs]),
            awaiting,
            own == {True} and not any(awaiting),
            "mixed" if len(own) > 1 else "own" if True in own else "host",
            any([move.source.nbytes(move.source.whole) > AT_ONCE for move in moves]),
        )


class StepPlan(NamedTuple):
    """The stages of a step, one after the other, and what devices have of its outputs afterwards."""

    stages: tuple[Stage, ...]
    #: Of each output, what each device has; none of a single one.
    holders: tuple[Holders, ...]


class Given(NamedTuple):
    """An input where it is: its elements in the array that several devices hold, and as whose it is known."""

    box: StridedBox
    holders: Holders
    first: int  # the first input of the same array


def plan(
    h: Computation,
    members: Sequence[Device],
    chosen: Chosen,
    inputs: Sequence[Given],
    machines: Sequence[Machine],
    kernel: Callable[[Computation], DeviceCall],
) -> StepPlan:
    """Say what each device does of a step that is cut as was chosen, and what of it the devices have afterwards."""
    rooms = halos(chosen.partition)
    holders = {each.first: each.holders for each in inputs}

    def job(task: Task) -> Job:
        device = members[chosen.devices[task.part]]
        routes = tuple([_route(one, inputs, holders, device) for one in task.reads])
        room = None if rooms is None else rooms[task.part]
        made = Job(device, kernel(task.mdhom), task, room, routes)
        brought = sum([m.source.nbytes(m.source.whole) for route in routes if route is not None for m in route.moves])
        is_short = brought < LARGE_HALO and seconds(work(task.mdhom), machines[chosen.devices[task.part]]) < LONG
        if room is None or is_short or len(chosen.partition.dims) > 1:
            return made
        parts = portions(task, chosen.partition.dims[0], partial(_is_known, task, routes, inputs))
        pairs = [(kernel(p.mdhom), p) for p in parts]
        return made._replace(portions=tuple([JobPortion(k, p.reads, within(made.place(), p.writes)) for k, p in pairs]))

    stages = tuple([Stage.of([*map(job, stage)]) for stage in chosen.partition.stages])
    last = stages[-1].jobs if len(stages[-1].jobs) > 1 else ()
    return StepPlan(stages, tuple([_holders(view, n, last) for n, view in enumerate(h.outputs)] if last else []))


def _is_known(task: Task, routes: Sequence[Route | None], operands: Sequence[Given], n: int, region: Region) -> bool:
    """Whether a task's device has a region of what it reads before anything was brought there."""
    one, route = task.reads[n], routes[n]
    if route is None or not isinstance(one, Window):
        return isinstance(one, int)
    box, each = operands[one.input].box, operands[one.input].holders.each
    if route.holder is None or not route.moves:  # what comes from the host comes first
        return all([each[move.holder].device is None for move in route.moves])
    wanted = within(one.region, region)
    inside = all([s.stop <= extent for s, extent in zip(wanted, box.shape, strict=True)])
    return inside and holds(each[route.holder].valid, box, wanted)


def _holders(view: View, n: int, jobs: Sequence[Job]) -> Holders:
    pairs = [(job, job.task.writes[n]) for job in jobs]
    spans = [spans_of(view.shape, view.dtype.itemsize, job.room or region, region) for job, region in pairs]
    return Holders([Held(job.device, room, own, own) for job, (room, own) in zip(jobs, spans, strict=True)])


def _route(one: Read, operands: Sequence[Given], holders: dict[int, Holders], device: Device) -> Route | None:
    """Say how what is read comes to a device, after what others on the same device have brought there."""
    if not isinstance(one, Window):
        return None
    box, _, first = operands[one.input]
    found = route_to(holders[first], box, one.region, device)
    if found.valid is not None and found.holder is not None:
        each = [*holders[first].each]
        each[found.holder] = each[found.holder]._replace(valid=found.valid)
        holders[first] = Holders(each)
    return found


def spread(group: Group, operand: Given) -> Operand:
    """Say what each device has of an input."""
    shards = {held.device: held for held in operand.holders.each}
    return Operand(
        operand.box,
        tuple([shards[d].valid if d in shards else NOTHING for d in group.members]),
        tuple([shards[d].own if d in shards else NOTHING for d in group.members]),
    )
