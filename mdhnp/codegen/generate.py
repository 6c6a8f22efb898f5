"""From stages and their schedules to a program: the entry of the code generator.

Takes canonical MDHs, schedules and device sizes, gives a :class:`Program`. Pure: no device, no files, no clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mdhnp.codegen.access import Context
from mdhnp.codegen.fused import emit_chain, emit_rows
from mdhnp.codegen.ir.builder import Builder
from mdhnp.codegen.ir.index import ONE, ZERO, Index
from mdhnp.codegen.ir.passes import lowered
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.codegen.ir.values import Buffer
from mdhnp.codegen.kernel import emit_kernel
from mdhnp.codegen.link import sizes
from mdhnp.codegen.nest import Nest
from mdhnp.codegen.online import emit_online
from mdhnp.codegen.opencl import source
from mdhnp.codegen.program import Kernel, Program
from mdhnp.codegen.scalar import may_contract
from mdhnp.codegen.scan import before_parts, emit_scan
from mdhnp.mdh import Chain, Computation, MdHom, Rows, Stage, View, canonical, finish_inputs, prefixes
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.accuracy import float_sums
from mdhnp.schedule.check import check
from mdhnp.schedule.layout import producers
from mdhnp.schedule.schedule import DeviceCaps, Schedule
from mdhnp.schedule.split import part_totals, split, splits

#: Gives the schedule of a kernel that follows another (the second kernel of a split reduction, the scan of totals).
Default = Callable[[MdHom, DeviceCaps], Schedule]


def generate(
    stages: Sequence[Stage], schedules: Sequence[Schedule], caps: DeviceCaps, default: Default | None = None
) -> Program:
    """Generate the program that runs some stages, in canonical form and without extents of 0, in order.

    `default` gives schedules for the kernels that a split reduction or scan adds. Without it kernels are general: all
    MDHs of the one stage's form, without scans and boundaries, can be run with them, after :func:`resized`. Then the
    schedule is legal for all sizes (see :func:`mdhnp.schedule.general.general_schedule`); if it splits the reduction,
    into however many parts, it has a second one, which is so, too.
    """
    build = _Build(caps, default)
    build.stages(stages, schedules)
    text = source(build.procedures, caps)
    return Program(text, tuple(build.kernels), tuple(build.temporaries), tuple(build.sizes))


def procedures(
    stages: Sequence[Stage], schedules: Sequence[Schedule], caps: DeviceCaps, default: Default | None = None
) -> tuple[Procedure, ...]:
    """Give the kernels of :func:`generate`, in order, as they are before they are written."""
    build = _Build(caps, default)
    build.stages(stages, schedules)
    return tuple(build.procedures)


def resized(program: Program, h: MdHom, schedule: Schedule) -> Program:
    """Set general kernels to the sizes of an MDH of their form, and to the schedules' work-groups."""
    steps = _launched(h, schedule)
    kernels = (
        replace(kernel, global_size=s.work_groups * kernel.local_size)
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


@dataclass
class _Build:
    """The program as it grows."""

    caps: DeviceCaps
    default: Default | None
    procedures: list[Procedure] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    temporaries: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def stages(self, stages: Sequence[Stage], schedules: Sequence[Schedule]) -> None:
        base: dict[Argument, Argument] = {}
        for stage, schedule in zip(stages, schedules, strict=True):
            for argument, view in zip(stage.outputs, stage.mdhom.outputs, strict=True):
                if argument.role == "temporary":
                    base[argument] = self._temporary(view)
            inputs, outputs = ([base.get(a, a) for a in side] for side in (stage.inputs, stage.outputs))
            self._stage(stage.mdhom, schedule, inputs, outputs)

    def _temporary(self, view: View) -> Argument:
        self.temporaries.append(_nbytes(view))
        return Argument("temporary", len(self.temporaries) - 1)

    def _following(self, h: MdHom) -> Schedule:
        """The schedule of a kernel that follows another."""
        assert self.default is not None, "schedules for all sizes have their second ones"
        return self.default(h, self.caps)

    def _stage(self, h: Computation, s: Schedule, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> None:
        if isinstance(h, MdHom) and h.dims("ps"):
            self._scan(h, s, inputs, outputs)
        elif isinstance(h, MdHom) and splits(h, s):
            self._split(h, s, inputs, outputs)
        else:
            self._kernel(h, s, inputs, outputs)

    def _split(self, h: MdHom, s: Schedule, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> None:
        """A reduction over several work-groups: one kernel for their parts, and those that combine them."""
        part, second = split(h, s)
        second = second if self.default is None else canonical(second)
        temporaries = [self._temporary(v) for v in _parts(second)]
        self._kernel(part, replace(s, second=None), inputs, temporaries, partial=True)
        after = s.second or self._following(second)
        if self.default is not None:
            check(second, after, self.caps)
        self._stage(second, after, [*temporaries, *(inputs[n] for n in finish_inputs(h))], outputs)

    def _scan(self, h: MdHom, s: Schedule, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> None:
        """Within one work-group a scan is one kernel; over several, totals come first, then their scan, then it."""
        d = h.dims("ps")[0]
        carry: list[Argument] = []
        if s.num_wg[d] > 1:
            reduced, used = part_totals(h, s, self.caps.subgroup)
            scan_totals = canonical(prefixes(h, d, s.num_wg[d]))
            totals, carry = ([self._temporary(v) for v in vs] for vs in (scan_totals.inputs, scan_totals.outputs))
            self._kernel(reduced, used, inputs, totals, partial=True)
            self._scan(scan_totals, self._following(scan_totals), totals, carry)
        self._kernel(h, s, inputs, outputs, carry=carry)

    def _kernel(
        self, h: Computation, s: Schedule, inputs: Sequence[Argument], outputs: Sequence[Argument], *,
        carry: Sequence[Argument] = (), partial: bool = False,
    ) -> None:  # fmt: skip
        """Build one kernel."""
        exact = any([one.precision == "fixed" for one in h.mdhoms])
        # Exponentials may be powers of two in sums, to which each is one of many terms.
        powers = self.caps.powers and not exact and any([float_sums(one) for one in h.mdhoms])
        general, subgroup, build = self.default is None, self.caps.subgroup, Builder(powers=powers)
        c = Context(h.loops, s, general, subgroup, build=build, async_copies=self.caps.async_copies)
        if partial:
            c = replace(c, output_offset=_group_offset(c))
        for view in h.inputs:
            c.hold(view, Buffer(view.name, view.dtype, constant=True))
        if isinstance(h, Rows):
            (emit_online if s.atom else emit_rows)(h, c)
        elif isinstance(h, Chain):
            emit_chain(h, c)
        elif c.h.dims("ps"):
            emit_scan(c, bool(carry))
        else:
            emit_kernel(c)
        name, items = f"mdh_{len(self.kernels)}", s.work_items + producers(s)
        # The imaginary parts of a complex array come with the real ones.
        written = [(v, a) for n, (v, a) in enumerate(zip(h.outputs, outputs, strict=True)) if n - 1 not in c.paired]
        passed = [*zip(h.inputs, inputs, strict=True), *written]
        moved = [(v, a) for v, a in passed if self.caps.offsets and a.role != "temporary"]
        types = [t for one in h.mdhoms for t in (*one.scalar.dtypes, *(v.dtype for v in one.inputs))]
        built = Procedure(
            name,
            title=str(h),
            work_items=items,
            vector_bytes=s.vector_width * max(t.itemsize for t in types),
            contract=not exact and all(map(may_contract, h.mdhoms)),
            wide=h.wide and not c.general,
            # A map has its border once, with many calls in it; that of a reduction stands in its innermost loop.
            inline_borders=bool(c.combined) and not c.general,
            buffers=(
                *map(c.buffer, h.inputs),
                *(before_parts(c) if carry else ()),
                *(c.buffer(v) for v, _ in written),
            ),
            sizes=tuple(c.sizes),
            moved=tuple([c.buffer(v) for v, _ in moved]),
            aliases=tuple([(c.buffer(h.outputs[n + 1]), c.buffer(h.outputs[n])) for n in c.paired]),
            body=c.build.body(),
        )
        self.procedures.append(lowered(built, barrier_first=self.caps.kind == "cpu"))
        sizes = [Argument("size", n) for n in range(len(self.sizes), len(self.sizes) + len(c.sizes))]
        self.sizes += c.sizes.values()
        arguments = (*inputs, *carry, *(a for _, a in written), *sizes, *(a.offset for _, a in moved))
        self.kernels.append(Kernel(name, s.work_groups * items, items, arguments))


def _group_offset(nest: Nest) -> Index:
    """Where the work-group's part begins: its row-major number among the groups of the reduction, times the results."""
    total, size = ZERO, ONE
    for index in nest.h.places:
        size = size * index.length
    for d in nest.kept:
        size = size * nest.extent(d)
    for d in reversed([d for d in range(nest.h.rank) if d not in nest.kept]):
        if nest.grouped(d):
            total = total + nest.at(d, "g") * size
        size = size * nest.groups(d)
    return total
