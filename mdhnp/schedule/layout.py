"""What a kernel keeps in local memory: where a copied tile's elements lie, which tiles are copied ahead, and results.

Work-items that share a reduction or a scan combine their results in slots there. In subgroups neighbours exchange
registers instead, and only one result of each subgroup takes a slot.
"""

from collections.abc import Sequence
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from mdhnp.mdh import MdHom, View
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.fixed_order import chunks_at_once, is_fixed
from mdhnp.schedule.schedule import LocalCopy, Schedule, tile_counts

#: Bytes in which work-items tell each other that a matrix instruction may be wrong.
_FLAG = 4
#: Bytes of a GPU's widest load, store or copy, at whose multiples tiles begin that are copied ahead.
WIDEST = 16
#: Registers of 4 bytes of as many.
WORDS = WIDEST // 4
#: Bytes of a row of which wide matrix instructions know the 16 bytes in another order, at most; where tiles begin then.
SWIZZLED, ALIGNED = 128, 1024

#: Work-items that only copy, and prepare factors, beside those of wide matrix instructions: four subgroups.
PRODUCERS = 128
#: Slots of what they prepare: one is read, one is being written. So many of a tile's slots they do not fill meanwhile.
PREPARED = 2
#: Work-items that can have 255 registers each beside producers; sums of one that fit 208 registers beside all else.
_FEW_WORKERS, _MANY_SUMS = 128, 160


class TileStrides(NamedTuple):
    """Where the elements of a tile lie."""

    #: How far neighbours along each axis are from each other, along a blocked one inside of a block.
    strides: tuple[int, ...]
    #: Elements of a block along each axis, 0 along one without, and how far blocks are from each other.
    blocks: tuple[int, ...]
    block_strides: tuple[int, ...]
    #: Of the whole tile.
    size: int


def tile_strides(view: View, copy: LocalCopy, footprint: Sequence[int], s: Schedule) -> TileStrides:
    """Return how the elements of an input's tile lie; the tile has `footprint` points in each dimension."""
    axes, size, itemsize = len(view.shape), 1, tile_itemsize(view, packed=packed(s))
    strides, blocks, block_strides = [0] * axes, [0] * axes, [0] * axes
    for axis in reversed(copy.blocked):
        if swizzles(s):
            blocks[axis] = swizzled_row(view.box(axis, footprint), itemsize)
        else:
            blocks[axis] = s.private_tile[view.accesses[0][axis].dims()[0]]
        strides[axis] = size
        size *= blocks[axis]
    begin = _row(view, copy, footprint)
    for place in reversed(range(axes)):
        axis = copy.order[place]
        extent = view.box(axis, footprint)
        if blocks[axis]:
            block_strides[axis] = size
            size *= -(-extent // blocks[axis])
        else:
            strides[axis] = size
            size = size * extent + (copy.pad if place == begin else 0)
    return TileStrides(tuple(strides), tuple(blocks), tuple(block_strides), size)


def _row(view: View, copy: LocalCopy, footprint: Sequence[int]) -> int:
    """Return the place in the order where a row's axes begin: its elements are neighbours in the array, too."""
    begin = len(copy.order) - 1
    while begin > 0:
        outer, axis = copy.order[begin - 1], copy.order[begin]
        whole = view.box(axis, footprint) == view.shape[axis]
        if not whole or view.strides[outer] != view.shape[axis] * view.strides[axis]:
            break
        begin -= 1
    return begin


def packed(s: Schedule) -> bool:
    """Whether tiles that are copied ahead have float16 in two bytes, for the matrix instruction."""
    return bool(s.atom) and ATOMS[s.atom].operand == "float16"


def tile_itemsize(view: View, *, packed: bool = False) -> int:
    """Return the bytes of an input's element in local memory, where float16 is float32 unless it is `packed`."""
    return 4 if view.dtype.char == "e" and not packed else view.dtype.itemsize


def value_itemsize(dtype: np.dtype[Any]) -> int:
    """Return the bytes of a computed value in local memory, where bool is kept as int, float16 as float32."""
    return 4 if dtype.kind == "b" or dtype.char == "e" else dtype.itemsize


def is_wide(s: Schedule) -> bool:
    """Whether several subgroups compute each matrix instruction."""
    return bool(s.atom) and ATOMS[s.atom].wide


def swizzles(s: Schedule) -> bool:
    """Whether matrix instructions read both factors from local memory, in swizzled rows.

    Then tiles are blocked by such rows.
    """
    return is_wide(s) and ATOMS[s.atom].packed > 1


def swizzled_row(neighbours: int, itemsize: int) -> int:
    """Return how many of so many neighbours are a swizzled row."""
    return gcd(neighbours, SWIZZLED // itemsize)


def waits_later(s: Schedule) -> bool:
    """Whether sums of a tile may be under way while those of the next begin: nobody reads them before the last."""
    return swizzles(s) and s.combine_on == "global"


def producers(s: Schedule) -> int:
    """Return how many work-items of a group only copy tiles, behind those of the schedule: none of the online form."""
    return PRODUCERS if is_wide(s) and s.streamed < 0 else 0


def registers(s: Schedule) -> tuple[int, int] | None:
    """Return the registers of a work-item that multiplies and of a producer; None where each has as many as there are.

    A compute unit of NVIDIA's has 65,536, of which 384 work-items have 168 each. Those who multiply leave as few as
    they can: with 40, addresses of copies lie in memory, and some products take ten times as long.
    """
    if s.work_items <= _FEW_WORKERS:
        return None
    sums = prod(s.private_tile[d] for d in range(len(s.private_tile)) if d != s.atom_dims[2])
    return (208, 88) if sums * (2 if s.combine_on == "local" else 1) <= _MANY_SUMS else (232, 40)


class Operand(NamedTuple):
    """How the factor with columns of 4 bytes lies in local memory as wide matrix instructions read it.

    For each point of the other combined dimensions 16 bytes of terms of each column, then the next 16 bytes of terms.
    Where the atom splits numbers, all high parts come before all low ones; several factors follow each other.
    """

    #: Combined dimensions that move the factor beside the terms, and kept ones beside the columns, with their points.
    combined: tuple[tuple[int, int], ...]
    kept: tuple[tuple[int, int], ...]
    #: Points along the atom's columns, and along its terms.
    columns: int
    terms: int
    #: Parts of each number, of all factors.
    parts: int

    @property
    def width(self) -> int:
        """Columns in all."""
        return prod([count for _, count in self.kept]) * self.columns

    @property
    def size(self) -> int:
        """Elements of one part."""
        return prod([count for _, count in self.combined]) * self.width * self.terms


def wide_operand(h: MdHom, s: Schedule, number: int) -> Operand:
    """Return the layout of the factors with columns, of which an input is one."""
    _, columns, terms = s.atom_dims
    both = [copy is not None and view.depends_on(columns) for view, copy in zip(h.inputs, s.local_copies, strict=True)]
    moving = [d for d in range(h.rank) if d not in s.atom_dims and h.inputs[number].depends_on(d)]
    combined, kept = (
        tuple([(d, s.footprint(d)) for d in moving if d in side]) for side in (h.dims("pw"), h.dims("cc"))
    )
    parts = (2 if ATOMS[s.atom].split else 1) * sum(both)
    return Operand(combined, kept, s.footprint(columns), s.local_tile[terms], parts)


def copied_ahead(h: MdHom, s: Schedule) -> tuple[int, ...]:
    """Return the inputs whose local tiles are copied ahead: those that move with the reduction."""
    if s.stages == 1:
        return ()
    tiles = tile_counts(h.extents, s.local_tile)
    dims = [d for d in h.combined if tiles[d] > s.num_wg[d]]
    copies = enumerate(s.local_copies)
    return tuple(n for n, copy in copies if copy is not None and any(h.inputs[n].depends_on(d) for d in dims))


def exchanging(h: MdHom, s: Schedule, subgroup: int) -> int:
    """Return how many neighbouring work-items combine their results by exchanging registers; 1 for none.

    These must be the neighbours in the dimension, too, and a power of two; all work-items of a subgroup must take part;
    and one result of each subgroup must be few enough for one subgroup to combine them.
    """
    sharing = _sharing(h, s)
    count = prod(s.num_wi[d] for d in sharing) // chunks_at_once(h, s)
    fastest = [d for d in s.item_order if s.num_wi[d] > 1][: len(sharing)]
    if not subgroup or sorted(fastest) != sharing:
        return 1
    able = count & (count - 1) == 0 and s.work_items % subgroup == 0 and count <= subgroup**2
    return min(count, subgroup) if able else 1


def shared_slots(h: MdHom, s: Schedule, subgroup: int) -> int:
    """Return how many work-items' results are in local memory; of scans without exchanges twice as many."""
    near = exchanging(h, s, subgroup) if chunks_at_once(h, s) == 1 else 1
    left = prod(s.num_wi[d] for d in _sharing(h, s)) // near
    twice = 2 if h.dims("ps") and near == 1 else 1
    return twice * s.work_items // near if left > 1 else 0


def _sharing(h: MdHom, s: Schedule) -> list[int]:
    """Reduced or scanned dimensions along which there are several work-items."""
    return [d for d in h.combined if s.num_wi[d] > 1]


def own_memory(h: MdHom, s: Schedule, subgroup: int) -> int:
    """Return the bytes of local memory for one MDH: of copied tiles, a flag, what work-items share, and results."""
    footprint, ahead, total = [s.footprint(d) for d in range(h.rank)], copied_ahead(h, s), _FLAG if s.atom else 0
    for n, (view, copy) in enumerate(zip(h.inputs, s.local_copies, strict=True)):
        if copy is not None:
            size = tile_itemsize(view, packed=n in ahead and packed(s)) * (s.stages if n in ahead else 1)
            size *= tile_strides(view, copy, footprint, s).size
            aligned = WIDEST if s.work_items > 1 and s.vector_width > 1 else 1
            begins = (ALIGNED if swizzles(s) else WIDEST) if n in ahead else aligned
            total += -(-size // begins) * begins
    if is_wide(s) and not swizzles(s):
        column = next(n for n in ahead if h.inputs[n].depends_on(s.atom_dims[1]))
        operand = wide_operand(h, s, column)
        total += PREPARED * operand.parts * operand.size * (WIDEST // WORDS)
    kept, slots = h.dims("cc"), shared_slots(h, s, subgroup)
    if slots:
        value = sum(map(value_itemsize, h.scalar.dtypes))
        each = max(prod(s.private_tile[d] for d in kept), s.vector_width if s.vector_dim in kept else 1)
        if is_fixed(h) and s.vector_dim in h.combined:
            each *= s.vector_width
        total += each * slots * value + 4 * slots
    if s.results == "local" and h.dims("pw"):
        total += sum(t.itemsize for t in h.scalar.dtypes) * prod(footprint[d] for d in kept)
    return total
