"""The numbers and names behind a kernel's loop nest: tiles, steps, offsets and coordinates of every dimension.

For dimension ``i``: ``i_l`` is where the local tile begins, ``i_n`` its points, ``i_p`` where the work-group's current
step begins inside it, ``i_w`` the work-item's id, and ``i = i_l + i_p + item(i)`` the first point of the
work-item's private tile; point p of the tile lies ``offsets(i)[p]`` further on. Pure arithmetic on an MDH and a
schedule.

Extents, strides and work-groups are numbers in the text, or, in a *general* nest, names of the kernel's arguments; what
depends on their values is decided when the kernel runs then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod

from mdhnp.codegen.ir.index import ONE, ZERO, Index, Limit, Var, constant, least, variable
from mdhnp.codegen.link import NestLink, index_at, sizes
from mdhnp.mdh import MdHom, View, interleaved
from mdhnp.mdh.views import Access
from mdhnp.schedule.fixed_order import Order, is_fixed, order
from mdhnp.schedule.layout import copied_ahead, exchanging, packed, producers, shared_slots, swizzles
from mdhnp.schedule.matrices import DOWN
from mdhnp.schedule.schedule import LocalCopy, Schedule


@dataclass(frozen=True)
class Nest:
    """An MDH with its schedule; `general` where the kernel is for all sizes, those of the MDH being an example.

    `subgroup` is how many of the device's work-items exchange registers.
    """

    h: MdHom
    s: Schedule
    general: bool = False
    subgroup: int = 0
    #: Whether inputs are read where they are, whatever copies of them there are in local memory.
    uncopied: bool = False
    link: NestLink = field(default_factory=NestLink)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        return self.h.dims("cc")

    @cached_property
    def combined(self) -> tuple[int, ...]:
        """Reduced or scanned dimensions, in loop order of the local layer."""
        return tuple(d for d in self.s.local_order if self.h.combine[d].kind != "cc")

    @cached_property
    def global_order(self) -> tuple[int, ...]:
        """The order of this nest's own loops over local tiles."""
        return tuple([d for d in self.s.global_order if d not in self.link.opened])

    def width(self, d: int) -> int:
        return self.s.vector_width if d == self.s.vector_dim else 1

    def ordered(self, d: int) -> bool:
        """Whether operands must be combined in order, so that each work-item takes neighbouring points."""
        combine = self.h.combine[d]
        return combine.kind == "ps" or (combine.operator is not None and not combine.operator.commutative)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """What stands in the text by name; see :func:`sizes`."""
        return sizes(self.h, self.s) if self.general else {}

    def _size(self, name: str, value: int, low: Limit = 1) -> Index:
        return variable(Var(name, low=low)) if name in self.sizes else constant(value)

    def extent(self, d: int) -> Index:
        return self._size(f"{self.h.names[d]}_e", self.h.extents[d])

    def end(self, d: int) -> Index:
        """Where the dimension's points end."""
        if d in self.link.limits:
            return self.link.limits[d][1]
        return (self.link.origin[d] if self.link.origin else ZERO) + self.extent(d)

    def groups(self, d: int) -> Index:
        return self._size(f"{self.h.names[d]}_wg", self.s.num_wg[d])

    def grouped(self, d: int) -> bool:
        """Whether there may be several work-groups along the dimension."""
        return self.groups(d) != ONE

    def strides(self, view: View) -> tuple[Index, ...]:
        """Distance of neighbours along each axis of an array, in elements."""
        return tuple(self._size(f"{view.name}_s{axis}", stride, -inf) for axis, stride in enumerate(view.strides))

    def offset(self, view: View) -> Index:
        """Where element (0, …, 0) of an array lies, counted from its lowest address."""
        return self._size(f"{view.name}_o", view.offset, 0) + self.link.moved.get(view.name, ZERO)

    @cached_property
    def addresses(self) -> dict[tuple[str, int], tuple[tuple[Index, ...], Index]]:
        """How far each dimension moves an access, and where it begins, in elements from the array's lowest address.

        Of each view's accesses by number. Along a ring they do not move here: see :meth:`turned`.
        """
        views = (*self.h.inputs, *self.h.outputs)
        return {(v.name, n): self._address(v, access) for v in views for n, access in enumerate(v.accesses)}

    def _address(self, view: View, access: Access) -> tuple[tuple[Index, ...], Index]:
        steps, start = [ZERO] * self.h.rank, self.offset(view)
        ring, _ = self.link.rings.get(view.name, (None, 0))
        for axis, (stride, index) in enumerate(zip(self.strides(view), access, strict=True)):
            if axis == ring:
                continue
            start = start + stride * index.constant
            for d in index.dims():
                steps[d] = steps[d] + stride * index.coefficients[d]
        return tuple(steps), start

    def turned(self, view: View, access: Access, point: Mapping[int, Index]) -> Index:
        """How far an access at a point lies from its address because of a ring."""
        if view.name not in self.link.rings:
            return ZERO
        axis, _ = self.link.rings[view.name]
        return self.along(view, axis, index_at(access[axis], point))

    def along(self, view: View, axis: int, index: Index) -> Index:
        """How far an index along an axis moves, in elements."""
        ring, count = self.link.rings.get(view.name, (None, 0))
        return (index % count if axis == ring else index) * self.strides(view)[axis]

    def last(self, view: View, axis: int) -> Index:
        """The highest index along an axis of an array whose accesses move alike; a boundary allows more."""
        if not self.general:
            return constant(view.shape[axis] - 1)
        total = constant(max(a[axis].constant for a in view.accesses))
        for d, coefficient in enumerate(view.accesses[0][axis].coefficients):
            total = total + (self.extent(d) + -1) * max(coefficient, 0)
        return total

    def _tiles(self, d: int) -> int:
        return -(-self.h.extents[d] // self.s.local_tile[d])

    def several(self, d: int) -> bool:
        """Whether there may be more than one local tile in the dimension."""
        return self.general or self._tiles(d) > 1

    def moving(self, d: int) -> bool:
        """Whether a work-group may walk over several local tiles of the dimension."""
        return self.general or self._tiles(d) > self.s.num_wg[d]

    def walks(self, d: int) -> bool:
        """Whether a work-group may combine several chunks of the dimension, one after the other."""
        return self.general or -(-self.h.extents[d] // self._unit(d)) > self.s.num_wg[d]

    def _unit(self, d: int) -> int:
        """Points of which a work-group has all, or none."""
        return max(self.chunk(d), self.s.local_tile[d])

    def even(self, d: int) -> bool:
        """Whether all local tiles of the dimension are sure to be whole."""
        whole = not self.general and self.h.extents[d] % (self.own_points(d) * self.at_once(d)) == 0
        return d in self.link.whole or whole

    @cached_property
    def fixed(self) -> Order | None:
        """The fixed order of combination, if there is one."""
        return order(self.h) if is_fixed(self.h) else None

    def chunk(self, d: int) -> int:
        """Points of a dimension that are accumulated before they are combined with others."""
        return self.s.local_tile[d] if self.fixed is None else self.fixed.chunk.get(d, self.s.local_tile[d])

    def own_points(self, d: int) -> int:
        """Points of a local tile that a work-item, with those who take them by turns, accumulates at most."""
        return min(self.s.local_tile[d], self.chunk(d))

    def at_once(self, d: int) -> int:
        """Chunks of a local tile along a dimension, each of which work-items of its own accumulate."""
        return -(-self.s.local_tile[d] // self.chunk(d))

    @cached_property
    def chunks(self) -> int:
        """Chunks of a work-group's local tile, in all dimensions together."""
        return prod(map(self.at_once, self.combined))

    def sharing(self, d: int) -> int:
        """Work-items along a dimension that take its points by turns."""
        return self.s.num_wi[d] // self.at_once(d)

    def neighbours(self, d: int) -> bool:
        """Whether a work-item's points are neighbours: where order counts, or several are read at once."""
        moved = [copy for v, copy in zip(self.h.inputs, self.s.local_copies, strict=True) if v.depends_on(d)]
        beside = d != self.s.vector_dim and {d, self.s.vector_dim} <= {*self.kept}
        return self.ordered(d) or bool(self.fixed and beside and all(moved))

    def offsets(self, d: int) -> tuple[int, ...]:
        """Distance of each point (or vector) of the private tile from its first."""
        width = self.width(d)
        stride = 1 if self.neighbours(d) else DOWN if self._together(d) else width * self.sharing(d)
        return tuple(p * stride for p in range(self.s.private_tile[d] // width))

    def partial(self, d: int) -> bool:
        """Whether a step of the work-items may reach beyond the extent."""
        return d in self.link.limits or (not self.pulled(d) and self._uneven(d))

    @cached_property
    def ragged(self) -> tuple[int, ...]:
        """Concatenated dimensions along which a step of the work-items may reach beyond the extent."""
        return tuple([d for d in self.kept if self.partial(d)])

    def pulled(self, d: int) -> bool:
        """Whether the last step of the work-items begins earlier, so that it does not reach beyond the extent."""
        return self.link.pulls and self._uneven(d) and self.h.extents[d] >= self.s.step(d)

    def _uneven(self, d: int) -> bool:
        if d in self.link.whole:
            return False
        return self.s.step(d) > 1 if self.general else self.h.extents[d] % self.s.step(d) != 0

    def step_begin(self, d: int) -> Index:
        """Where the work-items' current step begins."""
        return self.begin(d) + self._step(d)

    def _step(self, d: int) -> Index:
        return ZERO if self.single(d) else self.at(d, "q" if self.pulled(d) else "p")

    @cached_property
    def shifted(self) -> bool:
        """Whether vectors that stick out of a concatenated dimension are moved inside, over lanes of the one before.

        So arrays are read in whole vectors. Tiles in local memory cannot be: their blocks lie apart.
        """
        d = self.s.vector_dim
        if self.general or d not in self.kept or self.h.extents[d] < self.s.vector_width:
            return False
        # What lies before may be another work-item's, which changes it in place.
        if self.link.opened and self.s.work_items > 1:
            return False
        # What is computed directly goes where the same schedule's copies go.
        moved = zip(self.h.inputs, self.s.local_copies, strict=True)
        return {copy is None for view, copy in moved if view.depends_on(d)} == {True}

    def single(self, d: int) -> bool:
        """Whether the local tile is one step of the work-items."""
        return self.s.step(d) >= self.s.local_tile[d]

    @cached_property
    def paired(self) -> tuple[int, ...]:
        """Outputs that are the real parts of complex arrays; the next ones are their imaginary parts."""
        outputs = self.h.outputs
        return tuple(n for n in range(len(outputs) - 1) if interleaved(outputs[n], outputs[n + 1]))

    def var(self, d: int, letter: str) -> Var:
        """A variable: `l`, `n`, `p`, `w`, `g` as above, `k` of a chunk, `b` at borders, `q` for a pulled `p`."""
        return self._vars[d, letter]

    @cached_property
    def _vars(self) -> dict[tuple[int, str], Var]:
        """All variables, with the ranges of their values."""
        found: dict[tuple[int, str], Var] = {}
        for d, name in enumerate(self.h.names):
            tile, many = self.s.local_tile[d], self.general
            points = tile if self.several(d) else self.h.extents[d]
            highs: dict[str, Limit] = {
                "l": inf if many else (self._tiles(d) - 1) * tile,
                "k": (self._tiles(d) - 1) * tile,
                "n": tile,
                # Combined dimensions have loops over single points, too.
                "p": (points - 1) // self.s.step(d) * self.s.step(d) if d in self.kept else points - 1,
                "q": max(points - self.s.step(d), 0),
                "g": inf if many else self.s.num_wg[d] - 1,
                "w": self.s.num_wi[d] - 1,
                "b": self.s.private_tile[d] // self.width(d) - 1,
            }
            found |= {(d, letter): Var(f"{name}_{letter}", low=0, high=high) for letter, high in highs.items()}
        return found

    def at(self, d: int, letter: str) -> Index:
        """The value of that variable."""
        return variable(self.var(d, letter))

    @cached_property
    def first_points(self) -> tuple[Var, ...]:
        """The dimensions' variables: the first point of the work-item's private tile."""
        first = [(self.begin(d) + self.local(d)).range() for d in range(self.h.rank)]
        return tuple([Var(name, None, *ends) for name, ends in zip(self.h.names, first, strict=True)])

    def base(self, d: int) -> Index:
        """The value of that variable."""
        return variable(self.first_points[d])

    def local(self, d: int) -> Index:
        """The same, counted from the local tile's beginning."""
        return self._step(d) + self.item(d)

    def item(self, d: int) -> Index:
        """How far the work-item's first point lies from the first one's."""
        if self._together(d):
            return self.at(d, "w") + self.at(d, "w") // DOWN * (DOWN * (self.s.private_tile[d] - 1))
        stride = self.s.private_tile[d] if self.neighbours(d) else self.width(d)
        turn = self.at(d, "w") if self.at_once(d) == 1 else self.at(d, "w") % self.sharing(d)
        return turn * stride if self.s.num_wi[d] > 1 else ZERO

    def _together(self, d: int) -> bool:
        """Whether all rows of a subgroup follow each other, as in instructions that read them from local memory."""
        return swizzles(self.s) and self.s.atom_dims[:1] == (d,)

    def begin(self, d: int) -> Index:
        """Where the current local tile begins, or the work-item's chunk of it."""
        begin = (self.link.origin[d] if self.link.origin else ZERO) + (self.at(d, "l") if self.several(d) else ZERO)
        return begin if self.at_once(d) == 1 else begin + self.at(d, "w") // self.sharing(d) * self.chunk(d)

    def chunk_begin(self, d: int) -> Index:
        """Where the current local tile, or the chunk that it is a part of, begins."""
        if self.chunk(d) <= self.s.local_tile[d]:
            return self.at(d, "l")
        return self.at(d, "k") if self.walks(d) else self.group_range(d)[0]

    def group_range(self, d: int) -> tuple[Index, Index]:
        """Where a work-group's local tiles begin and end."""
        if not self.grouped(d):
            return ZERO, self.extent(d)
        unit = self._unit(d)
        points = self._size(f"{self.h.names[d]}_c", -(-self.h.extents[d] // (unit * self.s.num_wg[d])) * unit)
        begin = self.at(d, "g") * points
        return begin, least(begin + points, self.extent(d))

    @cached_property
    def copies(self) -> tuple[LocalCopy | None, ...]:
        """Of each input the copy in local memory that is read, if any."""
        return (None,) * len(self.h.inputs) if self.uncopied else self.s.local_copies

    @cached_property
    def direct(self) -> tuple[View, ...]:
        """Inputs that are read where they are."""
        return tuple([v for v, copy in zip(self.h.inputs, self.copies, strict=True) if copy is None])

    def tile_range(self, d: int) -> tuple[Index, Index]:
        """Where local tiles begin and end that are accumulated before others: a work-group's, or a chunk's."""
        begin, end = self.group_range(d)
        if self.chunk(d) > self.s.local_tile[d]:
            begin, whole = self.chunk_begin(d), self.h.extents[d] % self.chunk(d) == 0
            end = begin + self.chunk(d) if whole else least(begin + self.chunk(d), end)
        return begin, end

    def rounds(self, d: int) -> Index:
        """Local tiles that are accumulated before others along a dimension."""
        tile = self.s.local_tile[d]
        begin, end = self.tile_range(d)
        return (end - begin + (tile - 1)) // tile

    @cached_property
    def staged(self) -> tuple[int, ...]:
        """Inputs whose local tiles are copied ahead: those that move with the reduction."""
        return copied_ahead(self.h, self.s)

    @cached_property
    def packed(self) -> frozenset[str]:
        """Names of the inputs whose local tiles have float16 in two bytes."""
        return frozenset(self.h.inputs[n].name for n in self.staged if packed(self.s))

    @cached_property
    def slot(self) -> Var:
        """Which of the tiles in flight is the current one."""
        return Var("slot", None, 0, self.s.stages - 1, agreed=True)

    @cached_property
    def item_id(self) -> Var:
        return Var("w", None, 0, self.s.work_items + producers(self.s) - 1)

    def points(self, d: int) -> Index:
        """Points of the current local tile, or of the work-item's chunk of it."""
        if not self.several(d) and self.at_once(d) == 1:
            return self.extent(d)
        return constant(self.own_points(d)) if self.even(d) else self.at(d, "n")

    def tile_points(self, d: int) -> Index:
        """Points of the current local tile."""
        if self.even(d):
            return constant(self.s.local_tile[d])
        left = self.extent(d) - (self.at(d, "l") if self.several(d) else ZERO)
        return self.points(d) if self.at_once(d) == 1 else least(constant(self.s.local_tile[d]), left)

    @property
    def lanes(self) -> int:
        """Lanes of a result that work-items combine: those of a vectorised reduction before, in a fixed order after."""
        return 1 if self.s.vector_dim in self.combined and not self.fixed else self.s.vector_width

    @cached_property
    def reduced_items(self) -> int:
        """Work-items that work on the same results."""
        return prod(self.s.num_wi[d] for d in self.combined)

    @cached_property
    def exchanging(self) -> int:
        """How many neighbouring work-items combine their results by exchanging registers; 1 for none."""
        return exchanging(self.h, self.s, self.subgroup)

    @cached_property
    def shared_slots(self) -> int:
        """How many work-items leave each other results in local memory."""
        return shared_slots(self.h, self.s, self.subgroup)
