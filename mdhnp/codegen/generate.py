"""From stages and their schedules to a program: the entry of the code generator.

Takes canonical MDHs, schedules and device sizes, gives a :class:`Program`. Pure: no device, no files, no clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mdhnp.codegen.access import Context
from mdhnp.codegen.kernel import emit_kernel
from mdhnp.codegen.nest import Linear, Nest, sizes
from mdhnp.codegen.prelude import Helpers, helper_text
from mdhnp.codegen.program import Argument, Kernel, Program
from mdhnp.codegen.scan import emit_scan
from mdhnp.codegen.writer import Writer
from mdhnp.mdh import Affine, Combine, MdHom, Stage, View, canonical, finish_inputs, renumber_finish
from mdhnp.mdh.combine import CC
from mdhnp.mdh.function import identity_function
from mdhnp.mdh.mdhom import contiguous
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import check
from mdhnp.schedule.schedule import Schedule

__all__ = ["generate", "generate_general", "resized", "second_stage"]

#: Gives the schedule of a kernel that follows another (the second kernel of a split reduction, the scan of totals).
Default = Callable[[MdHom, DeviceCaps], Schedule]


@dataclass
class _Build:
    """The program as it grows."""

    caps: DeviceCaps
    default: Default
    texts: list[str]
    kernels: list[Kernel]
    temporaries: list[int]
    helpers: dict[str, str]
    sizes: tuple[int, ...] = ()

    def temporary(self, view: View) -> Argument:
        self.temporaries.append(max(view.elements(), 1) * view.dtype.itemsize)
        return Argument("temporary", len(self.temporaries) - 1)

    def add(
        self,
        h: MdHom,
        s: Schedule,
        inputs: Sequence[Argument],
        outputs: Sequence[Argument],
        *,
        scan: bool = False,
        carry: Sequence[Argument] = (),
        partial: bool = False,
        general: bool = False,
    ) -> None:
        """Write one kernel."""
        nest = Nest(h, s, general)
        # A map has its border once, with many calls in it; that of a reduction stands in its innermost loop.
        helpers = Helpers(self.helpers, nest.index_type, inline=bool(nest.combined) and not general)
        context = Context(nest, Writer(barrier_first=self.caps.kind == "cpu"), helpers)
        name = f"mdh_{len(self.kernels)}"
        if partial:
            context.output_offset = _group_offset(nest)
        if scan:
            emit_scan(context, name, bool(carry))
        else:
            emit_kernel(context, name)
        self.texts.append(context.writer.text())
        if general:
            self.sizes = tuple(nest.sizes.values())
        sizes = [Argument("size", n) for n in range(len(self.sizes))]
        # The imaginary parts of a complex array come with the real ones.
        arguments = (*inputs, *carry, *(a for n, a in enumerate(outputs) if n - 1 not in nest.paired), *sizes)
        self.kernels.append(Kernel(name, s.work_groups * s.work_items, s.work_items, arguments))


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
    build = _Build(caps, default, [], [], [], {})
    base: dict[Argument, Argument] = {}
    for stage, schedule in zip(stages, schedules, strict=True):
        for argument, view in zip(stage.outputs, stage.mdhom.outputs, strict=True):
            if argument.role == "temporary":
                base[argument] = build.temporary(view)
        inputs = [base.get(a, a) for a in stage.inputs]
        outputs = [base.get(a, a) for a in stage.outputs]
        _stage(build, stage.mdhom, schedule, inputs, outputs)
    return _program(build)


def generate_general(stage: Stage, schedule: Schedule, caps: DeviceCaps) -> Program:
    """Generate a general kernel: all MDHs of the stage's form can be run with it, after :func:`resized`.

    Parameters
    ----------
    stage : Stage
        Its MDH in canonical form, without scans and boundaries.
    schedule : Schedule
        One that is legal for all sizes (see :func:`mdhnp.schedule.general.general_schedule`).
    caps : DeviceCaps
        Sizes and limits of the device.
    """
    build = _Build(caps, lambda *_: schedule, [], [], [], {})  # no other kernel will ask
    build.add(stage.mdhom, schedule, stage.inputs, stage.outputs, general=True)
    return _program(build)


def resized(program: Program, h: MdHom, schedule: Schedule) -> Program:
    """Set a general kernel to the sizes of an MDH of its form, and to the schedule's work-groups."""
    (kernel,) = program.kernels
    kernel = replace(kernel, global_size=schedule.work_groups * schedule.work_items)
    return replace(program, kernels=(kernel,), sizes=tuple(sizes(h, schedule).values()))


def _program(build: _Build) -> Program:
    types = helper_text(build.helpers)
    extension = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if build.caps.fp64 else ""
    source = extension + ("\n" + types if types else "") + "\n" + "\n".join(build.texts)
    return Program(source, tuple(build.kernels), tuple(build.temporaries), build.sizes)


def _stage(build: _Build, h: MdHom, s: Schedule, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> None:
    scanned = h.dims("ps")
    if scanned:
        _scan(build, h, s, scanned[0], inputs, outputs)
        return
    nest = Nest(h, s)
    if nest.reduced_groups == 1:
        build.add(h, s, inputs, outputs)
        return
    part, second = split(h, s)
    temporaries = [build.temporary(v) for v in second.inputs[: len(h.scalar.dtypes)]]
    build.add(part, replace(s, second=None), inputs, temporaries, partial=True)
    extra = [inputs[n] for n in finish_inputs(h)]
    after = s.second or build.default(second, build.caps)
    check(second, after, build.caps)
    _stage(build, second, after, [*temporaries, *extra], outputs)


def second_stage(h: MdHom, s: Schedule) -> MdHom:
    """The MDH of the second kernel of a reduction that `s` splits over work-groups."""
    return split(h, s)[1]


def split(h: MdHom, s: Schedule) -> tuple[MdHom, MdHom]:
    """A reduction split over work-groups: the first kernel's MDH and the one that combines the groups' results."""
    groups = Nest(h, s).reduced_groups
    kept = h.dims("cc")
    parts = tuple(contiguous(f"P{n}", t, h.extents, kept) for n, t in enumerate(h.scalar.dtypes))
    part = replace(h, outputs=parts, finish=None)
    # Dimension 0 of the second MDH runs over the work-groups, the others are the kept ones in order.
    rank = len(kept) + 1
    full = (groups, *(h.extents[d] for d in kept))
    reads = tuple(contiguous(f"P{n}", t, full, tuple(range(rank))) for n, t in enumerate(h.scalar.dtypes))
    position = {d: p + 1 for p, d in enumerate(kept)}

    def move(v: View) -> View:
        accesses = tuple(
            tuple(Affine(tuple(i.coefficients[kept[p - 1]] if p else 0 for p in range(rank)), i.constant) for i in a)
            for a in v.accesses
        )
        return replace(v, accesses=accesses)

    extra = tuple(move(h.inputs[n]) for n in finish_inputs(h))
    inputs = (*reads, *extra)
    parameters = tuple(v.dtype for v in inputs for _ in v.accesses)
    scalar = replace(identity_function(h.scalar.dtypes), parameters=parameters)
    finish = renumber_finish(h, h.scalar.dtypes, position)
    combine = (Combine("pw", h.operator), *(CC for _ in kept))
    names = ("g_", *(h.names[d] for d in kept))
    second = MdHom(full, combine, scalar, inputs, tuple(move(v) for v in h.outputs), finish, names)
    return part, canonical(second)


def _group_offset(nest: Nest) -> Linear:
    """Where the work-group's part begins: its row-major number among the groups of the reduction, times the results."""
    size = 1
    for d in nest.kept:
        size *= nest.h.extents[d]
    total = Linear()
    for d in reversed(nest.combined_in_order):
        if nest.s.num_wg[d] > 1:
            total = total + Linear(((f"{nest.name(d)}_g", size),))
        size *= nest.s.num_wg[d]
    return total


def _scan(
    build: _Build, h: MdHom, s: Schedule, d: int, inputs: Sequence[Argument], outputs: Sequence[Argument]
) -> None:
    """Within one work-group a scan is one kernel; over several, totals come first, then their scan, then the scan."""
    groups = s.num_wg[d]
    if groups == 1:
        build.add(h, s, inputs, outputs, scan=True)
        return
    part, second = split(_totals(h), s)
    totals = [build.temporary(v) for v in second.inputs[: len(h.scalar.dtypes)]]
    ordered = replace(s, combine_on="local") if s.num_wi[d] > 1 else s
    build.add(part, ordered, inputs, totals, partial=True)
    combine = tuple(Combine("ps", h.operator) if c.kind == "pw" else c for c in second.combine)
    outputs_of_scan = tuple(replace(v, name=f"O{n}") for n, v in enumerate(second.inputs))
    scan_totals = canonical(replace(second, combine=combine, outputs=outputs_of_scan))
    prefixes = [build.temporary(v) for v in scan_totals.outputs]
    _scan(build, scan_totals, build.default(scan_totals, build.caps), scan_totals.dims("ps")[0], totals, prefixes)
    build.add(h, s, inputs, outputs, scan=True, carry=prefixes)


def _totals(h: MdHom) -> MdHom:
    """The scan's MDH with its scanned dimension reduced."""
    kept = h.dims("cc")
    outputs = tuple(contiguous(f"O{n}", t, h.extents, kept) for n, t in enumerate(h.scalar.dtypes))
    operator = h.operator
    assert operator is not None
    combine = tuple(Combine("pw", replace(operator, commutative=False)) if c.kind == "ps" else c for c in h.combine)
    return replace(h, combine=combine, outputs=outputs, finish=None)
