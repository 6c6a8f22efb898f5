"""An analytical cost model: how long a schedule should take on a CPU, before anything is compiled.

Counts what the schedule makes the machine do, per private tile (vector operations, loads, dependent chains, registers),
per local tile (copies, stores) and in all (memory traffic, uneven work-groups), and turns the counts into seconds with
a handful of machine constants. It ranks candidates; it does not predict seconds to better than a small factor.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

from mdhnp.mdh import MdHom, View
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.schedule import Schedule

__all__ = ["Facts", "cpu_seconds"]

_CLOCK = 2.6e9
_FMA_LATENCY = 4
#: Bytes a second that one core draws from main memory and from the shared cache.
_MEMORY, _CACHE = 20e9, 60e9
_GROUP_OVERHEAD = 1.5e-6
#: Instructions of one application, in vector operations; others count as one.
_WEIGHTS = {
    "param": 0, "const": 0, "index": 0, "cast": 0.5, "divide": 8, "sqrt": 8, "exp": 15, "log": 15, "power": 40, "tanh": 30, "sin": 25,
    "cos": 25, "maximum": 3, "minimum": 3, "remainder": 20, "floor_divide": 20, "log2": 15, "text": 10,
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What the model needs of an MDH, computed once for all its schedules."""

    h: MdHom

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Concatenated dimensions."""
        return self.h.dims("cc")

    @cached_property
    def combined(self) -> tuple[int, ...]:
        """Reduced or scanned dimensions."""
        return tuple(d for d in range(self.h.rank) if self.h.combine[d].kind != "cc")

    @cached_property
    def strides(self) -> tuple[tuple[int, ...], ...]:
        """Of each input's first access, the distance in elements that each dimension moves it."""
        return tuple(_coefficients(v, self.h.rank) for v in self.h.inputs)

    @cached_property
    def output_strides(self) -> tuple[int, ...]:
        """The same of the first output."""
        return _coefficients(self.h.outputs[0], self.h.rank)

    @cached_property
    def depends(self) -> tuple[frozenset[int], ...]:
        """Dimensions that move each input."""
        return tuple(frozenset(d for d in range(self.h.rank) if v.depends_on(d)) for v in self.h.inputs)

    @cached_property
    def operations(self) -> float:
        """Vector operations of one application of the scalar function and one combination."""
        function = self.h.scalar
        count = sum(_WEIGHTS.get(function.body[n].op, 1) for n in function.live())
        op = self.h.operator
        if op is not None:
            combine = sum(_WEIGHTS.get(op.function.body[n].op, 1) for n in op.function.live())
            # A product that is added at once is one instruction.
            count = max(count + combine - (1 if str(op.name) == "+" and count >= 1 else 0), 1)
        return max(count, 1)

    @cached_property
    def itemsize(self) -> int:
        """Bytes of the first result."""
        return self.h.scalar.dtypes[0].itemsize


def _coefficients(view: View, rank: int) -> tuple[int, ...]:
    """Distances along each dimension of the view's first access."""
    return view.linear(view.accesses[0]).coefficients or (0,) * rank


def cpu_seconds(facts: Facts, s: Schedule, caps: DeviceCaps) -> float:
    """Estimate the time of one launch in seconds."""
    h = facts.h
    tiles = [-(-n // t) for n, t in zip(h.extents, s.local_tile, strict=True)]
    groups = s.work_groups
    per_group = [-(-t // g) for t, g in zip(tiles, s.num_wg, strict=True)]
    cycles = _body_cycles(facts, s, caps)
    steps = [-(-t // s.step(d)) for d, t in enumerate(s.local_tile)]
    bodies = prod(max(h.extents[d] / s.step(d), 1) if d in facts.combined else steps[d] * tiles[d] for d in range(h.rank))
    visits = prod(steps[d] for d in facts.kept) * prod(tiles) / 1.0
    compute = bodies * cycles + visits * _visit_cycles(facts, s, prod(tiles[d] for d in facts.combined))
    compute += _copy_cycles(facts, s, per_group) * groups
    busy = min(groups, caps.compute_units)
    rounds = -(-groups // caps.compute_units)
    # The slowest unit: whole rounds of work-groups, each with the most tiles any group has.
    uneven = rounds * caps.compute_units / groups if groups >= caps.compute_units else 1.0
    ragged = prod(p * g for p, g in zip(per_group, s.num_wg, strict=True)) / prod(tiles)
    seconds = compute / _CLOCK / busy * uneven * ragged
    memory = _memory_seconds(facts, s, tiles, caps) / min(busy, caps.compute_units)
    return max(seconds, memory) + 0.25 * min(seconds, memory) + _GROUP_OVERHEAD * (groups / caps.compute_units + 1)


def _body_cycles(facts: Facts, s: Schedule, caps: DeviceCaps) -> float:
    """Cycles of one private tile of one step: the busiest of arithmetic, loads, dependent chain, and spills on top."""
    vector, width = s.vector_dim, s.vector_width
    points = prod(s.private_tile) / width
    registers = max(width * facts.itemsize / caps.vector_bytes, 1)
    arithmetic = points * facts.operations / 2 * registers
    loads, live, far = 0.0, 0.0, 0.0
    for n, view in enumerate(facts.h.inputs):
        moved = [d for d in facts.depends[n]]
        accesses = len(view.accesses)
        shared = prod(s.private_tile[d] for d in moved)
        if accesses > 1:
            # Neighbouring points of a stencil share loads along every axis but the vector's.
            box = prod(max(a[x].constant for a in view.accesses) - min(a[x].constant for a in view.accesses) + 1 for x in range(len(view.shape)))
            if accesses == box:
                shared = shared + accesses - 1
            else:
                shared *= accesses
        stride = abs(facts.strides[n][vector]) if width > 1 else 0
        if s.local_copies[n] is not None:
            copied = s.local_copies[n]
            axis = next((x for x, i in enumerate(view.accesses[0]) if width > 1 and i.coefficients[vector]), None)
            stride = 1 if axis is None or (copied is not None and (axis in copied.blocked or copied.order[-1] == axis)) else 2
        if width > 1 and vector in moved:
            lanes = shared / width
            loads += lanes * (registers if stride <= 1 else 1.5 * width)
            live += min(lanes, 4) * registers
        else:
            loads += shared
            live += 1
        far += _far_cycles(facts, s, n, shared / (width if width > 1 and vector in moved else 1), caps)
    accumulators = prod(s.private_tile[d] for d in facts.kept) / (width if vector in facts.kept else 1) * registers
    chain = 0.0
    if facts.combined:
        chain = prod(s.private_tile[d] for d in facts.combined) / (width if vector in facts.combined else 1) * _FMA_LATENCY
    spilled = max(0.0, accumulators + min(live, 6) - caps.registers)
    return max(arithmetic, loads / 2, chain) + far + 2 * spilled + 1.0


def _far_cycles(facts: Facts, s: Schedule, n: int, count: float, caps: DeviceCaps) -> float:
    """Cycles lost on loads that the first-level cache cannot serve while the innermost reduction runs."""
    inner = s.local_order[-1] if facts.combined else -1
    if inner not in facts.depends[n]:
        return 0.0
    size = facts.h.inputs[n].dtype.itemsize
    trips = prod(s.local_tile[d] / s.private_tile[d] for d in facts.combined if d in facts.depends[n])
    swept = prod(s.private_tile[d] for d in facts.depends[n]) * trips * size
    stride = abs(facts.strides[n][inner]) * size
    lost = 0.6 * count if swept > 0.75 * caps.l1 else 0.0
    if s.local_copies[n] is None and stride >= 512 and trips > 16:
        lost += 1.5 * count + 4.0 * min(stride / 4096, 1.0)
    return lost


def _visit_cycles(facts: Facts, s: Schedule, passes: int) -> float:
    """Cycles to start and store one private tile."""
    vector, width = s.vector_dim, s.vector_width
    elements = prod(s.private_tile[d] for d in facts.kept)
    if not facts.combined:
        lanes = elements / width
        stride = abs(facts.output_strides[vector]) if width > 1 else 1
        return lanes * (1.0 if stride == 1 else 2.0 * width) + 6
    if vector in facts.kept and width > 1:
        stores = elements / width * (1 if abs(facts.output_strides[vector]) == 1 else 1.5 * width)
    else:
        stores = elements * (2 + (3 * width.bit_length() if width > 1 else 0))
    reread = 2.0 if s.results == "global" and passes > 1 else 1.0
    per_visit = 20 + stores * (2 + reread)
    return per_visit if s.results != "private" else per_visit / max(passes, 1)


def _copy_cycles(facts: Facts, s: Schedule, per_group: list[int]) -> float:
    """Cycles one work-group spends copying tiles to local memory."""
    total = 0.0
    for n, copy in enumerate(s.local_copies):
        if copy is None:
            continue
        view = facts.h.inputs[n]
        moving = [d for d in s.global_order if per_group[d] > 1]
        deepest = max((moving.index(d) for d in facts.depends[n] if d in moving), default=-1)
        times = prod(per_group[d] for d in moving[: deepest + 1])
        size = prod(s.local_tile[d] for d in facts.depends[n])
        unit = [d for d in facts.depends[n] if abs(facts.strides[n][d]) == 1]
        last = view.accesses[0][copy.blocked[-1] if copy.blocked else copy.order[-1]].dims()
        contiguous = bool(last) and last[0] in unit
        total += times * size * (0.15 if contiguous else 1.2) + 30 * times
    return total


def _memory_seconds(facts: Facts, s: Schedule, tiles: list[int], caps: DeviceCaps) -> float:
    """Time to move what the caches cannot keep, by one core."""
    total = 0.0
    h = facts.h
    for n, view in enumerate(h.inputs):
        size = view.elements() * view.dtype.itemsize
        again = 1.0
        if size > caps.l2 // 2:
            # Loops outside of an inner loop that moves the input bring it in again.
            moving = [d for d in s.global_order if tiles[d] > 1]
            deepest = max((moving.index(d) for d in facts.depends[n] if d in moving), default=-1)
            again = prod(tiles[d] for d in moving[: deepest + 1] if d not in facts.depends[n])
        unit = [d for d in facts.depends[n] if abs(facts.strides[n][d]) == 1]
        run = max((s.local_tile[d] for d in unit), default=1) * view.dtype.itemsize
        waste = max(1.0, 64 / run) if size > caps.l1 else 1.0
        total += size * again * waste / (_MEMORY if size > 8 * caps.l2 else _CACHE)
    passes = prod(tiles[d] for d in facts.combined) if s.results == "global" else 1
    for view in h.outputs:
        size = view.elements() * view.dtype.itemsize
        total += size * (2 * passes - 1 + 0.5) / (_MEMORY if size > 8 * caps.l2 else _CACHE)
    return total
