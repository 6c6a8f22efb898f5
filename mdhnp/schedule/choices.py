"""Many schedules at once, by the choices that matter; the rest follows from the MDH.

:class:`Choices` holds tile sizes, work-groups, work-items, vectors, copies and where results wait as NumPy arrays, one
row a schedule, so that thousands can be judged in milliseconds. `complete` turns a row into a :class:`Schedule`: loop
orders and the layout of packed tiles are derived, not searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import MdHom, View, interleaved
from mdhnp.schedule.accuracy import longest_chain
from mdhnp.schedule.schedule import LocalCopy, Schedule

__all__ = ["PRIVATE", "RESULTS", "Choices", "Facts", "complete", "fallback", "global_order", "packed_layout", "rows"]

Ints = npt.NDArray[np.int64]

#: Where partial results wait, by number.
RESULTS: tuple[Literal["private", "local", "global"], ...] = ("private", "local", "global")
PRIVATE, GLOBAL = 0, 2

#: Instructions of one application, in vector operations; others count as one.
_WEIGHTS = {
    "param": 0, "const": 0, "index": 0, "cast": 0.5, "divide": 8, "sqrt": 8, "exp": 15, "log": 15, "log2": 15,
    "tanh": 30, "sin": 25, "cos": 25, "power": 40, "maximum": 3, "minimum": 3, "remainder": 20, "floor_divide": 20,
    "text": 10,
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What choosing a schedule needs of an MDH, computed once."""

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
    def output_step(self) -> int:
        """Distance of neighbours in the first output: 2 for the real parts of complex numbers."""
        return 2 if len(self.h.outputs) > 1 and interleaved(*self.h.outputs[:2]) else 1

    def near(self, n: int, d: int) -> bool:
        """Whether neighbours along a dimension are neighbours in an input, or have the other part in between."""
        return abs(self.strides[n][d]) in (1, 2)

    @cached_property
    def depends(self) -> tuple[frozenset[int], ...]:
        """Dimensions that move each input."""
        return tuple(frozenset(d for d in range(self.h.rank) if v.depends_on(d)) for v in self.h.inputs)

    def only(self, n: int, other: int) -> list[int]:
        """Kept dimensions that move an input and not another one."""
        return [d for d in self.kept if d in self.depends[n] and d not in self.depends[other]]

    @cached_property
    def reused(self) -> tuple[int, ...]:
        """Inputs whose elements serve several results, so that copying them can pay: tiles of sums, neighbours."""
        return tuple(n for n, view in enumerate(self.h.inputs) if self._serves_several(n, view))

    def _serves_several(self, n: int, view: View) -> bool:
        if not self.combined:
            return len(view.accesses) > 1 and bool(self.depends[n])
        return any(d not in self.depends[n] for d in self.kept) and len(self.depends[n]) > 1

    def tile_elements(self, n: int, tiles: Ints) -> Ints:
        """Elements of an input in local tiles, one row each, with the neighbours that they read."""
        size, view = np.ones(len(tiles), np.int64), self.h.inputs[n]
        for axis in range(len(view.shape)):
            size = size * view.box(axis, list(tiles.T))
        return size

    @cached_property
    def loop_order(self) -> tuple[int, ...]:
        """Kept dimensions by falling distance in the output, then combined ones by falling distance in the inputs."""
        kept = sorted(self.kept, key=lambda d: -abs(self.output_strides[d]))
        far = {d: max((abs(s[d]) for s in self.strides), default=0) for d in self.combined}
        return (*kept, *sorted(self.combined, key=lambda d: -far[d]))

    @cached_property
    def operations(self) -> float:
        """Vector operations of one application of the scalar function and one combination."""
        function = self.h.scalar
        count = sum(_WEIGHTS.get(function.body[n].op, 1) for n in function.live())
        op = self.h.operator
        if op is not None:
            combine = sum(_WEIGHTS.get(op.function.body[n].op, 1) for n in op.function.live())
            # A product that is added at once is one instruction.
            count = count + combine - (1 if any(op.adds) and count >= 1 else 0)
        return float(max(count, 1))

    @cached_property
    def bytes_read(self) -> int:
        """Of all inputs."""
        return sum(v.nbytes for v in self.h.inputs)

    @cached_property
    def bytes_written(self) -> int:
        """Of all outputs."""
        return sum(v.nbytes for v in self.h.outputs)

    @cached_property
    def itemsize(self) -> int:
        """Bytes of the first result."""
        return self.h.scalar.dtypes[0].itemsize

    @cached_property
    def vectorisable(self) -> bool:
        """Whether the scalar functions exist on vectors."""
        return not self.h.calls_text


@dataclass(frozen=True)
class Choices:
    """A batch of schedules.

    Attributes
    ----------
    num_wg, num_wi, local_tile, private_tile : ndarray of shape (n, rank)
        As in :class:`Schedule`.
    vector_dim, vector_width : ndarray of shape (n,)
        As in :class:`Schedule`; -1 and 1 for scalars.
    packed : ndarray of bool, shape (n, inputs)
        Which inputs' local tiles are copied to local memory.
    results : ndarray of shape (n,)
        Index into RESULTS.
    """

    num_wg: Ints
    num_wi: Ints
    local_tile: Ints
    private_tile: Ints
    vector_dim: Ints
    vector_width: Ints
    packed: npt.NDArray[np.bool_]
    results: Ints

    def __len__(self) -> int:
        return len(self.results)

    def take(self, rows: Any) -> Self:
        """The given rows."""
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    @classmethod
    def join(cls, batches: Sequence["Choices"]) -> "Choices":
        """One batch of all rows."""
        return cls(*(np.concatenate([getattr(b, f.name) for b in batches]) for f in fields(cls)))


def rows(schedules: Sequence[Schedule]) -> Choices:
    """A batch of the given schedules."""
    sizes = np.array([(s.num_wg, s.num_wi, s.local_tile, s.private_tile) for s in schedules], np.int64)
    others = np.array([(s.vector_dim, s.vector_width, RESULTS.index(s.results)) for s in schedules], np.int64)
    copies = np.array([[c is not None for c in s.local_copies] for s in schedules], bool)
    num_wg, num_wi, local, private = np.moveaxis(sizes, 1, 0)
    vector, width, results = others.T
    return Choices(num_wg, num_wi, local, private, vector, width, copies.reshape(len(schedules), -1), results)


def _coefficients(view: View, rank: int) -> tuple[int, ...]:
    """Distances along each dimension of the view's first access."""
    return view.linear(view.accesses[0]).coefficients or (0,) * rank


def global_order(facts: Facts, packed: Sequence[bool], results: int) -> tuple[int, ...]:
    """Loop order over local tiles: the packed operand's dimensions outside, so that its tile is copied least often."""
    kept = [d for d in facts.loop_order if d in facts.kept]
    combined = [d for d in facts.loop_order if d in facts.combined]
    copied = [n for n, p in enumerate(packed) if p]
    first = [d for d in kept if copied and d in facts.depends[copied[-1]]]
    rest = [d for d in kept if d not in first]
    return (*first, *combined, *rest) if results == GLOBAL else (*first, *rest, *combined)


def packed_layout(facts: Facts, n: int, private_tile: Sequence[int], vector_dim: int) -> LocalCopy | None:
    """How to pack an input: axes of register tiles blocked and innermost, the reduction just outside, others around.

    Where the axis of vectors cannot be blocked, because neighbours along it are read as well, it is innermost. None for
    inputs that cannot be copied as one box.
    """
    view = facts.h.inputs[n]
    if not view.one_box:
        return None
    blocked = []
    for x, index in enumerate(view.accesses[0]):
        dims = index.dims()
        plain = len(dims) == 1 and len({a[x] for a in view.accesses}) == 1 and index.coefficients[dims[0]] == 1
        if plain and dims[0] in facts.kept and private_tile[dims[0]] > 1:
            blocked.append(x)
    blocked.sort(key=lambda x: view.accesses[0][x].dims()[0] == vector_dim)

    def outermost(x: int) -> tuple[bool, bool, int]:
        dims = view.accesses[0][x].dims()
        inner = x not in blocked and vector_dim in dims
        return (inner, any(d in facts.combined for d in dims), -abs(view.strides[x]))

    return LocalCopy(tuple(sorted(range(len(view.shape)), key=outermost)), tuple(blocked))


def fallback(h: MdHom) -> Schedule:
    """One work-item that computes one result after the other: legal for every stage on every device."""
    tile = [1] * h.rank
    for d in h.dims("pw")[-1:]:
        tile[d] = min(h.extents[d], longest_chain(h))
    for d in h.dims("ps"):
        tile[d] = h.extents[d]
    order = (*h.dims("cc"), *(d for d in range(h.rank) if h.combine[d].kind != "cc"))
    return replace(
        Schedule.plain(h.extents, len(h.inputs)), local_tile=tuple(tile), results="private",
        combine_on="local" if h.dims("pw") else "global", global_order=order, local_order=order, private_order=order,
    )  # fmt: skip


def complete(facts: Facts, choices: Choices, row: int) -> Schedule:
    """The schedule of one row of a batch, for one work-item a work-group."""
    private = tuple(int(n) for n in choices.private_tile[row])
    vector = int(choices.vector_dim[row])
    packed = [bool(p) for p in choices.packed[row]]
    results = int(choices.results[row])
    order = global_order(facts, packed, results)
    return Schedule(
        num_wg=tuple(int(n) for n in choices.num_wg[row]),
        num_wi=tuple(int(n) for n in choices.num_wi[row]),
        local_tile=tuple(int(n) for n in choices.local_tile[row]),
        private_tile=private,
        vector_dim=vector,
        vector_width=int(choices.vector_width[row]),
        local_copies=tuple(packed_layout(facts, n, private, vector) if p else None for n, p in enumerate(packed)),
        private_copies=(True,) * len(packed),
        results=RESULTS[results],
        global_order=order,
        local_order=facts.loop_order,
        private_order=facts.loop_order if facts.h.dims("ps") else (*facts.combined, *facts.kept),
        group_order=order[::-1],
        item_order=facts.loop_order[::-1],
        combine_on="local" if results == PRIVATE and facts.h.dims("pw") else "global",
    )
