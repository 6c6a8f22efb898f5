"""Table I as data: every decision that turns an MDH into one particular kernel.

A :class:`Schedule` is complete and means the same everywhere: two equal schedules of one MDH give the same text. It
must not know devices beyond :class:`DeviceCaps` (source: Rasch, Schulze & Gorlatch, "Generating Portable
High-Performance Code via Multi-Dimensional Homomorphisms", Table I; numbers in parentheses are that table's).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from math import prod
from operator import index
from typing import Any, Literal, Self, TypeVar

from mdhnp.cost.machine import Machine, usual
from mdhnp.documentation import exported, public

T = TypeVar("T")


@exported
class IllegalSchedule(ValueError):
    """A schedule that cannot be generated for this MDH and device; the message names the broken rule.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> large = mdhnp.tuning.Schedule.plain((9,), inputs=2)
    >>> try:
    ...     mdhnp.dot(np.ones(8), np.ones(8), schedule=large)
    ... except mdhnp.IllegalSchedule as error:
    ...     print(str(error).partition(" (")[0])
    dot: schedule: local_tile: 9 in dimension 0 of extent 8; at most the extent
    """


def require(holds: bool, rule: str) -> None:
    """Raise IllegalSchedule with the rule where it does not hold."""
    if not holds:
        raise IllegalSchedule(rule)


def put(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    """Return the values with another one in a place."""
    return (*values[:at], value, *values[at + 1 :])


def tile_counts(extents: Sequence[int], tile: Sequence[int]) -> list[int]:
    """Return the number of local tiles in each dimension, with the last one, which may be partial."""
    return [-(-n // t) for n, t in zip(extents, tile, strict=True)]


def even_groups(tiles: int, wanted: int) -> int:
    """Return a number of work-groups, `wanted` at most, that get equally many tiles each, but for the last one."""
    per_group = -(-tiles // max(min(tiles, wanted), 1))
    return -(-tiles // per_group)


def shared_groups(tiles: Sequence[int], dims: Iterable[int], wanted: int) -> list[int]:
    """Return work-groups in each dimension, `wanted` at most in all: the first of `dims` get as many as they can."""
    groups = [1] * len(tiles)
    for d in dims:
        groups[d] = even_groups(tiles[d], wanted)
        wanted //= groups[d]
    return groups


@dataclass(frozen=True)
class DeviceCaps:
    """What a schedule and its kernels may know about a device: sizes and limits, which the runtime fills in."""

    name: str
    #: A CPU runs one work-item at a time on each compute unit and wants explicit vectors; a GPU wants many work-items.
    kind: Literal["cpu", "gpu"]
    #: Compute units that run work-groups at the same time.
    compute_units: int
    #: Bytes of the widest vector register (CPU) or of the widest load of one work-item (GPU).
    vector_bytes: int
    #: Vector registers (CPU) or 32-bit registers (GPU) of one work-item.
    registers: int
    #: Bytes of local memory a work-group may use.
    local_memory: int
    #: Largest number of work-items in a work-group.
    max_work_group: int
    #: Bytes of first- and second-level cache of one compute unit (for a GPU, `l2` of the whole device).
    l1: int
    l2: int
    #: Whether kernels may use ``double``.
    fp64: bool
    #: Largest buffer in bytes.
    max_allocation: int
    #: Whether arrays may begin anywhere in a buffer, so that kernels take the distance as an argument.
    offsets: bool = False
    #: Whether functions of vectors may give wrong values beside a lane with a special one.
    mixed_lanes: bool = False
    #: Whether work-items can copy to local memory without waiting for it (``cp.async`` of NVIDIA's GPUs).
    async_copies: bool = False
    #: Whether one instruction gives the smaller or larger of two floats, NaN where one is (``min.NaN`` of NVIDIA's).
    nan_extrema: bool = False
    #: Whether one instruction gives powers of two of float32 (``ex2.approx`` of NVIDIA's).
    powers: bool = False
    #: Whether one instruction adds four float32 to memory, each in one step (``red.add.v4`` of NVIDIA's).
    wide_atomics: bool = False
    #: Whether the compiler takes loads and stores of vectors apart that may be at any element's address.
    split_vectors: bool = False
    #: The device's matrix instructions, of :data:`mdhnp.schedule.atoms.ATOMS`.
    atoms: tuple[str, ...] = ()
    #: Neighbouring work-items that run together and can exchange registers, a power of two; 0 for none.
    subgroup: int = 0

    def shared_memory(self, groups: int) -> int:
        """Bytes of local memory of a work-group so that as many work-groups are on a GPU's compute unit."""
        return min(self.local_memory, self.machine.unit.local_memory // groups)

    @property
    def machine(self) -> Machine:
        """What such a device usually has: so that default schedules are the same whatever was measured."""
        return usual(self.kind, self.compute_units, self.vector_bytes)


@public(
    order="tuple of int: The view's axes, outermost first.",
    blocked="tuple of int: Axes cut in blocks of their dimension's private tile; the blocks' insides are innermost, in "
    "this order. With the axis of a register tile blocked, the tile is read one after the other: packing. Where "
    "matrix instructions read both factors from local memory, blocks are rows of up to 128 bytes, swizzled.",
    pad="int: Elements that stay empty behind each row, so that work-items which read a column find it in different "
    "banks of local memory. A row lies along the innermost axis, and along those outside of it while the tile has "
    "all of the array's elements inside of them, one behind the other.",
    example="""
>>> from mdhnp.tuning import LocalCopy
>>> LocalCopy((1, 0), blocked=(1,))  # columns outermost, in blocks
LocalCopy(order=(1, 0), blocked=(1,), pad=0)""",
)
@dataclass(frozen=True)
class LocalCopy:
    """How the local tile of one input lies in local memory (5, 8)."""

    order: tuple[int, ...]
    blocked: tuple[int, ...] = ()
    pad: int = 0


#: What fields of a schedule are: a number for each dimension, something for each input, an order of the dimensions.
_SIZE, _INPUT, _ORDER = {"kind": "size"}, {"kind": "input"}, {"kind": "order"}


@public(
    num_wg="tuple of int: Work-groups, and work-items of a group, in each dimension (1, 2). More than one work-group "
    "in a reduced dimension splits the reduction: a second kernel combines the groups' results.",
    num_wi="",
    local_tile="tuple of int: Points of a work-group's and a work-item's tile in each dimension (3, 4); the private "
    "tile is unrolled.",
    private_tile="",
    vector_dim="int: Dimension whose private tile is held in vectors; -1 for none.",
    vector_width="int: Elements a vector.",
    local_copies="tuple of LocalCopy or None: For each input: its local tile is copied to local memory, or not (5, 8).",
    private_copies="tuple of bool: For each input: its private tile is loaded to registers before the tile is "
    "computed, or element by element (5).",
    results='{"private", "local", "global"}: Where partial results wait between the local tiles of a reduction (6): in '
    "registers, in local memory, or in the output itself.",
    global_order="tuple of int: Loop order over local tiles, private tiles and single points, outermost first (9).",
    local_order="",
    private_order="",
    group_order="tuple of int: Dimensions by how fast their work-group and work-item ids change, fastest first (7).",
    item_order="",
    combine_on='{"global", "local"}: Whether work-items\' results are combined once after all local tiles, or '
    "after each (10); after each, a work-item's own partial results start anew too, which keeps the chains of a long "
    "sum short.",
    combine_every="int: After how many local tiles that is, where they are copied ahead: exact enough sums are added "
    "up rarely.",
    stages="int: Local tiles of the reduction at a time: with more than one the next are copied while the current one "
    "is used.",
    streamed="int: Of a chain the dimension along which a work-group's local tiles follow each other: each map "
    "computes only what a tile adds to the one before, and of its results those are kept that are still needed. -1 "
    "for none: all that a tile needs is computed for each.",
    atom='str: Name of the matrix instruction that computes the private tile; "" for none.',
    atom_dims="tuple of int: Dimensions of its rows, columns and terms; empty without one.",
    second="Schedule or None: Of the kernel that combines work-groups' results; None lets the default decide.",
    steps="tuple of Schedule: Of a fused step, those of its MDHs, in order.",
    example="""
>>> a, b = np.ones((8, 5)), np.ones((5, 4))
>>> one_item = mdhnp.tuning.Schedule.plain((8, 4, 5), inputs=2)
>>> four_groups = one_item.at(0, num_wg=4, local_tile=2)
>>> mdhnp.matmul(a, b, schedule=four_groups).sum()
np.float64(160.0)""",
)
@dataclass(frozen=True)
class Schedule:
    """One kernel's tuning parameters, those of the paper's Table I; numbers of dimensions and inputs begin with 0."""

    num_wg: tuple[int, ...] = field(metadata=_SIZE)
    num_wi: tuple[int, ...] = field(metadata=_SIZE)
    local_tile: tuple[int, ...] = field(metadata=_SIZE)
    private_tile: tuple[int, ...] = field(metadata=_SIZE)
    vector_dim: int
    vector_width: int
    local_copies: tuple[LocalCopy | None, ...] = field(metadata=_INPUT)
    private_copies: tuple[bool, ...] = field(metadata=_INPUT)
    results: Literal["private", "local", "global"]
    global_order: tuple[int, ...] = field(metadata=_ORDER)
    local_order: tuple[int, ...] = field(metadata=_ORDER)
    private_order: tuple[int, ...] = field(metadata=_ORDER)
    group_order: tuple[int, ...] = field(metadata=_ORDER)
    item_order: tuple[int, ...] = field(metadata=_ORDER)
    combine_on: Literal["global", "local"] = "global"
    combine_every: int = 1
    stages: int = 1
    streamed: int = -1
    atom: str = ""
    atom_dims: tuple[int, ...] = ()
    second: "Schedule | None" = None
    steps: tuple["Schedule", ...] = ()

    def __str__(self) -> str:
        """Show the most important numbers in one line."""
        parts = [f"wg={self.num_wg}", f"wi={self.num_wi}", f"lt={self.local_tile}", f"pt={self.private_tile}"]
        if self.atom:
            parts.append(f"{self.atom} in {self.atom_dims}")
        if self.vector_width > 1:
            parts.append(f"vector={self.vector_width} in {self.vector_dim}")
        copied = [n for n, c in enumerate(self.local_copies) if c is not None]
        ahead = f", {self.stages} stages" if self.stages > 1 else ""
        parts.append(f"local copies of inputs {copied}{ahead}" if copied else "no local copies")
        if self.streamed >= 0:
            parts.append(f"streamed along {self.streamed}")
        parts.append(f"results in {self.results} memory")
        return ", ".join(parts)

    @staticmethod
    def plain(extents: tuple[int, ...], inputs: int) -> "Schedule":
        """One work-group of one work-item that walks over all points: the schedule to start from."""
        try:
            sizes, inputs = tuple([max(index(n), 1) for n in extents]), index(inputs)
        except TypeError:
            raise TypeError(
                f"plain: takes extents, and how many inputs there are, not {extents!r}, {inputs!r}"
            ) from None
        rank = len(sizes)
        ones, order = (1,) * rank, tuple(range(rank))
        return Schedule(
            ones, ones, sizes, ones, -1, 1, (None,) * inputs, (False,) * inputs,
            "private" if rank == 0 else "global", order, order, order, order[::-1], order[::-1],
        )  # fmt: skip

    def at(self, dim: int, **numbers: int) -> "Schedule":
        """The same schedule with other numbers in one dimension: ``s.at(0, num_wg=4, local_tile=8)``."""
        if dim not in range(len(self.num_wg)):
            raise IndexError(f"at: {dim!r} is none of {len(self.num_wg)} dimensions")
        changed = dict[str, Any]()
        for name, number in numbers.items():
            if name not in SIZES:
                raise TypeError(f"at: {name!r} is none of {', '.join(SIZES)}")
            if not hasattr(number, "__index__"):
                raise TypeError(f"at: {name} must be a whole number, not {number!r}")
            changed[name] = put(getattr(self, name), dim, index(number))
        return replace(self, **changed)

    def step(self, dim: int) -> int:
        """Points that the work-items of a group compute at a time."""
        return self.private_tile[dim] * self.num_wi[dim]

    def footprint(self, dim: int) -> int:
        """Points of a local tile rounded up to whole steps of the work-items."""
        step = self.step(dim)
        return -(-self.local_tile[dim] // step) * step

    @property
    def following(self) -> tuple["Schedule", ...]:
        """Schedules of a fused step's MDHs, or of the kernels that combine work-groups' results, in order."""
        return self.steps if self.second is None else (self.second, *self.second.following)

    @property
    def work_items(self) -> int:
        return prod(self.num_wi)

    @property
    def work_groups(self) -> int:
        return prod(self.num_wg)

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a schedule back; ValueError if the text is none."""
        try:
            return cls._from_dict(json.loads(text))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"schedule: {text[:80]!r} is not the JSON of a schedule") from error

    @classmethod
    def _from_dict(cls, fields: dict[str, Any]) -> Self:
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
        values["local_copies"] = tuple(
            None if c is None else LocalCopy(tuple(c["order"]), tuple(c["blocked"]), c.get("pad", 0))
            for c in fields["local_copies"]
        )
        values["second"] = None if fields.get("second") is None else cls._from_dict(fields["second"])
        values["steps"] = tuple(cls._from_dict(step) for step in fields.get("steps", ()))
        return cls(**values)


def _of_kind(kind: str) -> tuple[str, ...]:
    return tuple([f.name for f in fields(Schedule) if f.metadata.get("kind") == kind])


#: The names of these fields.
SIZES, INPUTS, ORDERS = map(_of_kind, ("size", "input", "order"))
