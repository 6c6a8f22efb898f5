"""The numbers and names behind a kernel's loop nest: tiles, steps, offsets and coordinates of every dimension.

For dimension ``i``: ``i_l`` is where the local tile begins, ``i_n`` its points, ``i_p`` where the work-group's current
step begins inside it, ``i_w`` the work-item's id, and ``i = i_l + i_p + i_w * item_stride`` the first point of the
work-item's private tile; point p of the tile lies ``offsets(i)[p]`` further on. Pure arithmetic on an MDH and a
schedule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mdhnp.mdh import MdHom, interleaved
from mdhnp.schedule.schedule import Schedule

__all__ = ["Linear", "Nest"]


@dataclass(frozen=True)
class Linear:
    """An index expression: variables times whole numbers plus a constant."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __add__(self, other: "Linear | int") -> "Linear":
        if isinstance(other, int):
            return Linear(self.terms, self.constant + other)
        total = dict(self.terms)
        for name, factor in other.terms:
            total[name] = total.get(name, 0) + factor
        return Linear(tuple((n, f) for n, f in total.items() if f), self.constant + other.constant)

    def __mul__(self, factor: int) -> "Linear":
        return Linear(tuple((n, f * factor) for n, f in self.terms if f * factor), self.constant * factor)

    @property
    def atom(self) -> str:
        """The text, in parentheses where it is more than a name or number."""
        text = str(self)
        return f"({text})" if " " in text or text.startswith("-") else text

    def at_least(self, bound: int) -> str:
        """Text of the test; "1" or "0" where the value is known."""
        return f"{self} >= {bound}" if self.terms else str(int(self.constant >= bound))

    def at_most(self, bound: int) -> str:
        """Text of the test; "1" or "0" where the value is known."""
        return f"{self} <= {bound}" if self.terms else str(int(self.constant <= bound))

    def __str__(self) -> str:
        text = ""
        for name, factor in self.terms:
            sign = "-" if factor < 0 else "+"
            term = name if abs(factor) == 1 else f"{name} * {abs(factor)}"
            text += f" {sign} {term}" if text else f"{'-' if factor < 0 else ''}{term}"
        if self.constant and text:
            return f"{text} {'-' if self.constant < 0 else '+'} {abs(self.constant)}"
        return text or str(self.constant)


@dataclass(frozen=True)
class Nest:
    """An MDH with its schedule."""

    h: MdHom
    s: Schedule

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Concatenated dimensions."""
        return self.h.dims("cc")

    @cached_property
    def combined(self) -> tuple[int, ...]:
        """Reduced or scanned dimensions, in loop order of the local layer."""
        return tuple(d for d in self.s.local_order if self.h.combine[d].kind != "cc")

    def name(self, d: int) -> str:
        """The dimension's variable."""
        return self.h.names[d]

    def width(self, d: int) -> int:
        """Lanes of the dimension's vectors."""
        return self.s.vector_width if d == self.s.vector_dim else 1

    def ordered(self, d: int) -> bool:
        """Whether operands must be combined in order, so that each work-item takes neighbouring points."""
        combine = self.h.combine[d]
        return combine.kind == "ps" or (combine.operator is not None and not combine.operator.commutative)

    def tiles(self, d: int) -> int:
        """Local tiles in the dimension."""
        return -(-self.h.extents[d] // self.s.local_tile[d])

    def tiles_per_group(self, d: int) -> int:
        """Local tiles that one work-group walks over."""
        return -(-self.tiles(d) // self.s.num_wg[d])

    def footprint(self, d: int) -> int:
        """Points that the work-items of a group may touch in one local tile, beyond its end too."""
        step = self.s.step(d)
        return -(-self.s.local_tile[d] // step) * step

    def item_stride(self, d: int) -> int:
        """Distance between neighbouring work-items' first points."""
        return self.s.private_tile[d] if self.ordered(d) else self.width(d)

    def offsets(self, d: int) -> tuple[int, ...]:
        """Distance of each point (or vector) of the private tile from its first."""
        width = self.width(d)
        stride = 1 if self.ordered(d) else width * self.s.num_wi[d]
        return tuple(p * stride for p in range(self.s.private_tile[d] // width))

    def partial(self, d: int) -> bool:
        """Whether a step of the work-items may reach beyond the extent."""
        return self.h.extents[d] % self.s.step(d) != 0

    def single(self, d: int) -> bool:
        """Whether the local tile is one step of the work-items."""
        return self.s.step(d) >= self.s.local_tile[d]

    @cached_property
    def paired(self) -> tuple[int, ...]:
        """Outputs that are the real parts of complex arrays; the next ones are their imaginary parts."""
        outputs = self.h.outputs
        return tuple(n for n in range(len(outputs) - 1) if interleaved(outputs[n], outputs[n + 1]))

    @cached_property
    def index_type(self) -> str:
        """Type that holds every offset: ``int``, or ``long`` for buffers of 2^31 elements and more."""
        reach = [v.offset + v.elements() for v in (*self.h.inputs, *self.h.outputs)]
        return "int" if max(*reach, *self.h.extents, 0, 0) < 2**31 - 2**16 else "long"

    def literal(self, value: int) -> str:
        """Write a number in the type of offsets, for functions that need arguments of one type."""
        return str(value) if self.index_type == "int" else f"{value}l"

    def base(self, d: int) -> Linear:
        """The first point of the work-item's private tile."""
        return Linear(((self.name(d), 1),))

    def local(self, d: int) -> Linear:
        """The same, counted from the local tile's beginning."""
        terms = [] if self.single(d) else [(f"{self.name(d)}_p", 1)]
        if self.s.num_wi[d] > 1:
            terms.append((f"{self.name(d)}_w", self.item_stride(d)))
        return Linear(tuple(terms))

    def clamped(self, coordinates: Mapping[int, Linear], d: int) -> Linear:
        """A coordinate that is sure to lie inside the extent."""
        return Linear(((f"min({coordinates[d]}, {self.h.extents[d] - 1})", 1),))

    @cached_property
    def result_dtypes(self) -> tuple[np.dtype[Any], ...]:
        """Types of the partial results."""
        return self.h.scalar.dtypes

    @cached_property
    def reduced_items(self) -> int:
        """Work-items that work on the same results."""
        count = 1
        for d in self.combined:
            count *= self.s.num_wi[d]
        return count

    @cached_property
    def reduced_groups(self) -> int:
        """Work-groups that work on the same results."""
        count = 1
        for d in self.combined:
            count *= self.s.num_wg[d]
        return count

    @cached_property
    def combined_in_order(self) -> tuple[int, ...]:
        """Reduced or scanned dimensions as the definition nests them."""
        return tuple(d for d in range(self.h.rank) if self.h.combine[d].kind != "cc")
