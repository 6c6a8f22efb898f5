"""From stages and their schedules to a program: the entry of the code generator.

Takes canonical MDHs, schedules and device sizes, gives a :class:`Program`. Pure: no device, no files, no clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Literal

from mdhnp.codegen.access import Context
from mdhnp.codegen.chain import emit_chain
from mdhnp.codegen.ir.index import ONE, ZERO, Index
from mdhnp.codegen.ir.passes import lowered
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.codegen.ir.values import Buffer
from mdhnp.codegen.kernel import emit_kernel
from mdhnp.codegen.nest import Nest, sizes
from mdhnp.codegen.opencl import source
from mdhnp.codegen.procedure import procedure
from mdhnp.codegen.program import Argument, Kernel, Program
from mdhnp.codegen.rows import emit_rows
from mdhnp.codegen.scan import before_chunks, emit_scan
from mdhnp.mdh import Chain, Computation, MdHom, Rows, Stage, View, canonical, finish_inputs, prefixes
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import check
from mdhnp.schedule.schedule import Schedule
from mdhnp.schedule.split import chunk_totals, split, splits

__all__ = ["generate", "generate_general", "procedures", "procedures_for_any_sizes", "resized"]

#: Gives the schedule of a kernel that follows another (the second kernel of a split reduction, the scan of totals).
Default = Callable[[MdHom, DeviceCaps], Schedule]

_OFFSETS: dict[str, Literal["offset of input", "offset of output"]] = {
    "input": "offset of input", "output": "offset of output",
}  # fmt: skip


@dataclass
class _Build:
    """The program as it grows."""

    caps: DeviceCaps
    default: Default
    general: bool = False
    procedures: list[Procedure] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    temporaries: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def temporary(self, view: View) -> Argument:
        self.temporaries.append(_nbytes(view))
        return Argument("temporary", len(self.temporaries) - 1)

    def add(
        self,
        h: Computation,
        s: Schedule,
        inputs: Sequence[Argument],
        outputs: Sequence[Argument],
        *,
        scan: bool = False,
        carry: Sequence[Argument] = (),
        partial: bool = False,
    ) -> None:
        """Build one kernel."""
        nest = Nest(h.loops, s, self.general, self.caps.subgroup)
        offset = _group_offset(nest) if partial else ZERO
        c = Context(nest, output_offset=offset, async_copies=self.caps.async_copies)
        for view in h.inputs:
            c.hold(view, Buffer(view.name, view.dtype, constant=True))
        if scan:
            emit_scan(c, bool(carry))
        else:
            _emit(h, c)
        name = f"mdh_{len(self.kernels)}"
        pointers = [*inputs, *(a for n, a in enumerate(outputs) if n - 1 not in nest.paired)]
        views = [*h.inputs, *(v for n, v in enumerate(h.outputs) if n - 1 not in nest.paired)]
        moved = [(v, a) for v, a in zip(views, pointers, strict=True) if self.caps.offsets and a.role != "temporary"]
        built = procedure(c, name, h, before_chunks(c) if carry else (), [v for v, _ in moved])
        self.procedures.append(lowered(built, barrier_first=self.caps.kind == "cpu"))
        sizes = [Argument("size", n) for n in range(len(self.sizes), len(self.sizes) + len(nest.sizes))]
        self.sizes += nest.sizes.values()
        offsets = [Argument(_OFFSETS[a.role], a.position) for _, a in moved]
        arguments = (*inputs, *carry, *pointers[len(inputs) :], *sizes, *offsets)
        self.kernels.append(Kernel(name, s.work_groups * s.work_items, s.work_items, arguments))


@singledispatch
def _emit(h: Computation, c: Context) -> None:
    """Build the body of a kernel that scans nothing."""
    emit_kernel(c)


_emit.register(Rows, emit_rows)
_emit.register(Chain, emit_chain)


def generate(stages: Sequence[Stage], schedules: Sequence[Schedule], caps: DeviceCaps, default: Default) -> Program:
    """Generate the program that runs the stages in order.

    Parameters
    ----------
    stages : sequence of Stage
        Their MDHs in canonical form, without extents of 0.
    schedules : sequence of Schedule
        One a stage, legal for it and the device.
    caps : DeviceCaps
        Sizes and limits of the device.
    default : callable
        Gives schedules for the kernels that a split reduction or scan adds.
    """
    return _program(_built(stages, schedules, caps, default))


def procedures(
    stages: Sequence[Stage], schedules: Sequence[Schedule], caps: DeviceCaps, default: Default
) -> tuple[Procedure, ...]:
    """Give the kernels of :func:`generate`, in order, as they are before they are written."""
    return tuple(_built(stages, schedules, caps, default).procedures)


def _built(stages: Sequence[Stage], schedules: Sequence[Schedule], caps: DeviceCaps, default: Default) -> _Build:
    build = _Build(caps, default)
    base: dict[Argument, Argument] = {}
    for stage, schedule in zip(stages, schedules, strict=True):
        for argument, view in zip(stage.outputs, stage.mdhom.outputs, strict=True):
            if argument.role == "temporary":
                base[argument] = build.temporary(view)
        inputs = [base.get(a, a) for a in stage.inputs]
        outputs = [base.get(a, a) for a in stage.outputs]
        _stage(stage.mdhom, build, schedule, inputs, outputs)
    return build


def generate_general(stage: Stage, schedule: Schedule, caps: DeviceCaps) -> Program:
    """Generate general kernels: all MDHs of the stage's form can be run with them, after :func:`resized`.

    Parameters
    ----------
    stage : Stage
        Its MDH in canonical form, without scans and boundaries.
    schedule : Schedule
        One that is legal for all sizes (see :func:`mdhnp.schedule.general.general_schedule`). If it splits the
        reduction, into however many parts, it has a second one, which is so, too.
    caps : DeviceCaps
        Sizes and limits of the device.
    """
    return _program(_built_for_any_sizes(stage, schedule, caps))


def procedures_for_any_sizes(stage: Stage, schedule: Schedule, caps: DeviceCaps) -> tuple[Procedure, ...]:
    """Give the kernels of :func:`generate_general`, in order, as they are before they are written."""
    return tuple(_built_for_any_sizes(stage, schedule, caps).procedures)


def _built_for_any_sizes(stage: Stage, schedule: Schedule, caps: DeviceCaps) -> _Build:
    build = _Build(caps, lambda *_: schedule, general=True)  # no other kernel will ask
    _stage(stage.mdhom, build, schedule, stage.inputs, stage.outputs)
    return build


def resized(program: Program, h: MdHom, schedule: Schedule) -> Program:
    """Set general kernels to the sizes of an MDH of their form, and to the schedules' work-groups."""
    steps = _launched(h, schedule)
    kernels = (
        replace(kernel, global_size=s.work_groups * s.work_items)
        for kernel, (_, s) in zip(program.kernels, steps, strict=True)
    )
    temporaries = (_nbytes(v) for m, _ in steps[1:] for v in _parts(m))
    numbers = (n for m, s in steps for n in sizes(m, s).values())
    return replace(program, kernels=tuple(kernels), temporaries=tuple(temporaries), sizes=tuple(numbers))


def _launched(h: MdHom, s: Schedule) -> list[tuple[MdHom, Schedule]]:
    """What each kernel of a general program computes, in order."""
    if not splits(h, s):
        return [(h, s)]
    part, second = split(h, s)
    assert s.second is not None
    return [(part, s), *_launched(second, s.second)]


def _parts(second: MdHom) -> tuple[View, ...]:
    return second.inputs[: len(second.scalar.dtypes)]


def _nbytes(view: View) -> int:
    return max(view.elements(), 1) * view.dtype.itemsize


def _program(build: _Build) -> Program:
    text = source(build.procedures, build.caps)
    return Program(text, tuple(build.kernels), tuple(build.temporaries), tuple(build.sizes))


@singledispatch
def _stage(h: Computation, build: _Build, s: Schedule, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> None:
    """Build the kernels of a stage."""
    build.add(h, s, inputs, outputs)


@_stage.register
def _(h: MdHom, build: _Build, s: Schedule, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> None:
    scanned = h.dims("ps")
    if scanned:
        _scan(build, h, s, scanned[0], inputs, outputs)
        return
    if not splits(h, s):
        build.add(h, s, inputs, outputs)
        return
    part, second = split(h, s)
    if not build.general:
        second = canonical(second)
    temporaries = [build.temporary(v) for v in _parts(second)]
    build.add(part, replace(s, second=None), inputs, temporaries, partial=True)
    extra = [inputs[n] for n in finish_inputs(h)]
    after = s.second or build.default(second, build.caps)
    if not build.general:
        check(second, after, build.caps)
    _stage(second, build, after, [*temporaries, *extra], outputs)


def _group_offset(nest: Nest) -> Index:
    """Where the work-group's part begins: its row-major number among the groups of the reduction, times the results."""
    total, size = ZERO, ONE
    for d in nest.kept:
        size = size * nest.extent(d)
    for d in reversed(nest.combined_in_order):
        if nest.grouped(d):
            total = total + nest.at(d, "g") * size
        size = size * nest.groups(d)
    return total


def _scan(
    build: _Build, h: MdHom, s: Schedule, d: int, inputs: Sequence[Argument], outputs: Sequence[Argument]
) -> None:
    """Within one work-group a scan is one kernel; over several, totals come first, then their scan, then the scan."""
    groups = s.num_wg[d]
    if groups == 1:
        build.add(h, s, inputs, outputs, scan=True)
        return
    reduced, used = chunk_totals(h, s, build.caps.subgroup)
    scan_totals = canonical(prefixes(h, d, groups))
    totals = [build.temporary(v) for v in scan_totals.inputs]
    build.add(reduced, used, inputs, totals, partial=True)
    carry = [build.temporary(v) for v in scan_totals.outputs]
    _scan(build, scan_totals, build.default(scan_totals, build.caps), scan_totals.dims("ps")[0], totals, carry)
    build.add(h, s, inputs, outputs, scan=True, carry=carry)
