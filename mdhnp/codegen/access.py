"""Loads of inputs and stores of outputs at given coordinates, in scalars or vectors, and where each lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from mdhnp.codegen.ir.builder import Builder
from mdhnp.codegen.ir.index import (
    ZERO,
    Compare,
    Index,
    Var,
    call,
    constant,
    divided,
    element_of,
    least,
    most,
    open_tests,
    variable,
)
from mdhnp.codegen.ir.statements import FillLanes, Store
from mdhnp.codegen.ir.values import Address, Apply, Buffer, Load, LoadRow, Outside, Value
from mdhnp.codegen.link import NestLink, index_at
from mdhnp.codegen.nest import Nest
from mdhnp.mdh import Affine, MdHom
from mdhnp.mdh.views import Indirect, Slice, View
from mdhnp.schedule.layout import WIDEST, swizzles, tile_strides
from mdhnp.schedule.matrices import DOWN
from mdhnp.schedule.schedule import LocalCopy, Schedule

_PAIRS = constant(2)
#: Lanes up to which elements go into a vector's register at once, instead of through memory.
_AT_ONCE = 8


@dataclass(frozen=True)
class Context(Nest):
    """A nest that is being emitted."""

    build: Builder = field(default_factory=Builder)
    #: Added to every output offset: where a work-group's own part of a split reduction begins.
    output_offset: Index = ZERO
    #: Whether work-items can copy to local memory without waiting for it.
    async_copies: bool = False
    _buffers: dict[str, Buffer] = field(default_factory=dict)

    def buffer(self, view: View) -> Buffer:
        """The argument that holds an input or output."""
        found = self._buffers.get(view.name)
        if found is None:
            found = self._buffers[view.name] = Buffer(view.name, view.dtype)
        return found

    def hold(self, view: View, buffer: Buffer) -> None:
        """Have a view be of a buffer that is no argument, or no output."""
        self._buffers[view.name] = buffer

    def inner(self, h: MdHom, s: Schedule, link: NestLink, subgroup: int = 0) -> "Context":
        """Another nest of the same kernel."""
        return Context(h, s, subgroup=subgroup, link=link, build=self.build, _buffers=self._buffers)

    @cached_property
    def layouts(self) -> dict[int, "TileLayout"]:
        return {n: _layout(self, n) for n, copy in enumerate(self.s.local_copies) if copy is not None}

    def tile(self, view: View) -> Buffer:
        aligned = self.s.work_items > 1 and self.s.vector_width > 1
        return Buffer(f"{view.name}_l", view.dtype, "local", packed=view.name in self.packed, aligned=aligned)


@dataclass(frozen=True)
class Point:
    """Where a point (or the first lane of a vector of points) is."""

    #: Coordinate in each dimension.
    point: Mapping[int, Index]
    #: The same, counted from the local tile's beginning.
    local: Mapping[int, Index]
    #: Points along the vector dimension.
    lanes: int = 1
    #: How many lanes lie inside the extent, if not all.
    valid: Index | None = None
    #: How many lanes another vector stores, if any.
    done: Index | None = None
    #: Whether indices into arrays with a boundary mode may lie outside.
    bounded: bool = False


def load(c: Context, number: int, access: int, place: Point) -> Value:
    """The value an access of an input gives at a place, or where its slice begins."""
    view = c.h.inputs[number]
    copy = c.copies[number]
    vector = c.s.vector_dim
    if copy is not None:
        layout = c.layouts[number]
        offset, stride = layout.offset(access, place, vector)
        if number in c.staged:
            offset = offset + variable(c.slot) * layout.size
        return read(c.tile(view), offset, stride, place.lanes)
    moves = place.lanes > 1 and any(vector in i.dims() for i in view.accesses[access])
    if moves and any(isinstance(i, Indirect) and i.through[vector] for i in view.accesses[access]):
        return _each_lane(c, view, access, place)
    if view.boundary is not None and (place.bounded or view.indirect):
        return _load_bounded(c, view, access, place, moves)
    offset, steps = _offset(c, view, access, place)
    along = zip(view.accesses[access], c.strides(view), strict=True)
    if axes := tuple([(constant(i.length), step) for i, step in along if isinstance(i, Slice)]):
        return Address(c.buffer(view), offset, axes, view.dtype)
    stride = steps[vector] if moves else ZERO
    return read(c.buffer(view), offset, stride, place.lanes, place.valid if moves else None)


def store(c: Context, number: int, place: Point, value: Value, imaginary: Value | None = None) -> None:
    """Write a result to its place in the output: complex ones as whole vectors where all lanes lie inside."""
    offset, stride = place_of(c, number, place)
    whole = stride == _PAIRS and place.valid is None and place.done is None
    pair = imaginary if whole else None
    c.build.add(Store(c.buffer(c.h.outputs[number]), offset, value, stride, place.valid, place.done, pair))
    if imaginary is not None and not whole:
        store(c, number + 1, place, imaginary)


def read_back(c: Context, number: int, place: Point) -> Value:
    """Give the partial result that waits in an output."""
    return read(c.buffer(c.h.outputs[number]), *place_of(c, number, place), place.lanes, place.valid)


def place_of(c: Context, number: int, place: Point) -> tuple[Index, Index]:
    """Where a result lies in the output, and how far its lanes lie apart."""
    offset, steps = _offset(c, c.h.outputs[number], 0, place)
    return c.output_offset + offset, steps[c.s.vector_dim] if place.lanes > 1 else ZERO


def _offset(c: Context, view: View, access: int, place: Point) -> tuple[Index, tuple[Index, ...]]:
    """Where an access lies at a place, and how far each dimension moves it."""
    steps, offset = c.addresses[view.name, access]
    for d, step in enumerate(steps):
        offset = offset + place.point[d] * step
    for axis, index in enumerate(view.accesses[access]):
        if isinstance(index, Indirect):
            offset = offset + c.along(view, axis, _element_at(c, view, index, place.point))
    return offset + c.turned(view, view.accesses[access], place.point), steps


def segment(c: Context, d: int, point: Mapping[int, Index]) -> tuple[Index, Index] | None:
    """Between which points of a dimension those lie that count at a point of the others; None where all do."""
    found = next((s for s in c.h.segments if s.dim == d), None)
    if found is None:
        return None
    view, last = c.h.inputs[found.source], c.h.extents[d] + 1
    places = [[index_at(i, point) for i in view.accesses[access]] for access in found.ends]
    known = 0 if found.trusted else last
    begin, end = (element_of(c.buffer(view), flat(c, view, at), known, counted=False) for at in places)
    if found.trusted:
        begin, end = (call("last", each, constant(last)) for each in (begin, end))
    begin = c.build.named("begin", begin)
    return begin, c.build.named("end", most(begin, end) if found.trusted else end)


def _element_at(c: Context, view: View, index: Indirect, point: Mapping[int, Index]) -> Index:
    """The element that an index of a view adds at a point; a boundary mode says what any number means.

    Where it says where to write, it stays inside, also if another thread changed it since it was looked at.
    """
    number, access = index.source
    source = c.h.inputs[number]
    offset = flat(c, source, [_position(c, source, i, point) for i in source.accesses[access]])
    if index.trusted:
        return call("last", element_of(c.buffer(source), offset, 0), constant(index.length))
    found = element_of(c.buffer(source), offset, 0 if view.boundary else index.length)
    return call("last", found, constant(index.length)) if index in c.h.places else found


def _position(c: Context, view: View, index: Affine, point: Mapping[int, Index]) -> Index:
    """An index of an access at a point."""
    found = index_at(index, point)
    return found + _element_at(c, view, index, point) if isinstance(index, Indirect) else found


def _each_lane(c: Context, view: View, access: int, place: Point) -> Value:
    """A vector of elements each of which another array's element says where to read."""
    vector = c.s.vector_dim

    def element_at(lane: Index) -> Load | Outside:
        step = lane if place.valid is None else least(lane, place.valid - 1)
        at = replace(place, point={**place.point, vector: place.point[vector] + step}, lanes=1, valid=None)
        if view.boundary is None:
            return Load(c.buffer(view), _offset(c, view, access, at)[0])
        return bounded_element(c, view, [_position(c, view, index, at.point) for index in view.accesses[access]])

    if place.lanes <= _AT_ONCE and view.dtype.kind != "b":
        return Apply("lanes", tuple([element_at(constant(n)) for n in range(place.lanes)]), view.dtype, place.lanes)
    lane = Var("lane", None, 0, place.lanes - 1)
    return _filled(c, view, place.lanes, lane, element_at(variable(lane)))


def _filled(c: Context, view: View, lanes: int, lane: Var, element: Load | Outside) -> Value:
    """A vector whose lanes are loaded one by one."""
    register = c.build.register("b", view.dtype, lanes)
    c.build.add(FillLanes(register, lane, element))
    return Apply("from_bytes", (register,), view.dtype, lanes) if view.dtype.kind == "b" else register


def read(buffer: Buffer, offset: Index, stride: Index, lanes: int, valid: Index | None = None) -> Load:
    """Read a scalar or a vector; lanes that do not lie apart are one scalar."""
    if lanes == 1 or stride == ZERO:
        return Load(buffer, offset)
    return Load(buffer, offset, lanes, stride, valid)


def element(c: Context, view: View, indices: Sequence[Index]) -> Load:
    return Load(c.buffer(view), flat(c, view, indices))


def bounded_element(c: Context, view: View, indices: Sequence[Index]) -> Load | Outside:
    """An element whose indices may lie outside of the array."""
    indices, tests = folded(view, indices)
    guard = open_tests(tests)
    if guard is None:
        return outside_value(view)
    return replace(element(c, view, indices), guard=guard, outside=outside_value(view) if guard else None)


def folded(view: View, indices: Sequence[Index], row: int | None = None) -> tuple[list[Index], list[Compare]]:
    """Indices inside of the array for those outside, but along a row; where constants lie there, conditions instead."""
    found, tests = list(indices), []
    for axis, index in enumerate(indices):
        if axis != row and view.boundary == "constant":
            tests.append(Compare(index, ">=", ZERO))
            tests.append(Compare(index, "<=", constant(view.shape[axis] - 1)))
        elif axis != row:
            found[axis] = bounded_index(view, axis, index)
    return found, tests


def bounded_index(view: View, axis: int, index: Index) -> Index:
    """The index inside of the array that one outside of it stands for."""
    assert view.boundary is not None
    return call(view.boundary, index, constant(view.shape[axis]))


def outside_value(view: View) -> Outside:
    return Outside(view.fill, view.dtype)


def flat(c: Context, view: View, indices: Sequence[Index]) -> Index:
    """Offset of an element of an input."""
    offset = c.offset(view)
    for axis, index in enumerate(indices):
        offset = offset + c.along(view, axis, index)
    return offset


def _load_bounded(c: Context, view: View, access: int, place: Point, moves: bool) -> Value:
    """An element, or a vector of them, of which some may lie outside of the array."""
    vector = c.s.vector_dim
    indices = [_position(c, view, index, place.point) for index in view.accesses[access]]
    if not moves:
        return bounded_element(c, view, indices)
    steps = [index.coefficients[vector] for index in view.accesses[access]]
    if sum(map(bool, steps)) == 1 and max(steps) == 1:
        return _bounded_row(c, view, indices, steps.index(1), place.lanes)
    lane = Var("lane", None, 0, place.lanes - 1)
    moved = [index + variable(lane) * step for index, step in zip(indices, steps, strict=True)]
    return _filled(c, view, place.lanes, lane, bounded_element(c, view, moved))


def _bounded_row(c: Context, view: View, indices: Sequence[Index], row: int, lanes: int) -> Load | LoadRow:
    """A vector of neighbours along one axis; where the other indices lie outside of the array, of constants."""
    assert view.boundary is not None
    inside, tests = folded(view, indices, row)
    guard = open_tests(tests)
    low, high = indices[row].range()
    if guard is not None and low >= 0 and high <= view.shape[row] - lanes:
        outside = outside_value(view) if guard else None
        found = read(c.buffer(view), flat(c, view, inside), c.strides(view)[row], lanes)
        return replace(found, guard=guard, outside=outside)
    inside[row] = ZERO
    return LoadRow(
        c.buffer(view), flat(c, view, inside), c.strides(view)[row], indices[row],
        0 if guard is None else view.shape[row], guard or (), view.boundary, outside_value(view), view.dtype, lanes,
    )  # fmt: skip


@dataclass(frozen=True)
class TileLayout:
    """How the local tile of an input lies in local memory: order, extents and strides of the view's axes.

    Along an axis with a block the coordinate is cut: the variables `steps` advance by whole blocks. Where the tile is
    `swizzled`, its blocks are such rows.
    """

    view: View
    copy: LocalCopy
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    blocks: tuple[int, ...]
    block_strides: tuple[int, ...]
    low: tuple[int, ...]
    size: int
    footprints: tuple[int, ...]
    steps: frozenset[Var]
    swizzled: bool

    @property
    def contiguous(self) -> int | None:
        """The axis along which neighbours in the array are neighbours, where it is not blocked by private tiles."""
        near = [a for a, stride in enumerate(self.view.strides) if stride == 1]
        return next((a for a in near if self.swizzled or not self.blocks[a]), None)

    def at(self, places: Sequence[Index]) -> Index:
        """Offset of the element at some places along the axes, of which none is blocked by private tiles."""
        rows, column = ZERO, ZERO
        for axis, place in enumerate(places):
            if self.blocks[axis]:
                block, column = divided(place, self.blocks[axis])
                rows = rows + block * self.block_strides[axis]
            else:
                rows = rows + place * self.strides[axis]
        return swizzled(rows, column, max(self.blocks), self.view.dtype.itemsize) if self.swizzled else rows

    def offset(self, access: int, place: Point, vector: int) -> tuple[Index, Index]:
        """Offset in the tile of an access at a place, and the distance of neighbouring lanes."""
        total, lane_stride = ZERO, 0
        for axis, index in enumerate(self.view.accesses[access]):
            where = constant(index.constant - self.low[axis])
            for d, coefficient in enumerate(index.coefficients):
                where = where + place.local[d] * coefficient
                if coefficient < 0:
                    where = where + -coefficient * (self.footprints[d] - 1)
            block = self.blocks[axis]
            if block:
                steps, inside = where.parted(lambda var: var in self.steps)
                total = total + steps * (self.block_strides[axis] // block) + inside * self.strides[axis]
            else:
                total = total + where * self.strides[axis]
            if place.lanes > 1:
                lane_stride += index.coefficients[vector] * self.strides[axis]
        return total, constant(lane_stride)


def swizzled(rows: Index, column: Index, row: int, itemsize: int) -> Index:
    """Return the offset, in elements, of an element of a swizzled row of `row` elements, each of `itemsize` bytes.

    `rows` is where the row begins, `column` where in it the element would be. The order of a row's 16 bytes repeats
    after 8 rows: their number is exclusive or with as many bits of the address, from that of 128 bytes on.
    """
    wide = WIDEST // itemsize
    pieces, (piece, left) = row // wide, divided(column, wide)
    # What moves by multiples of 8 rows changes nothing.
    near = Index(tuple([t for t in rows.terms if t[1] % (DOWN * row)]), rows.constant % (DOWN * row))
    _, order = divided(divided(divided(near, row)[0], DOWN // pieces)[0], pieces)
    return rows + call("xor", piece, order) * wide + left


def _layout(nest: Nest, number: int) -> TileLayout:
    view, copy = nest.h.inputs[number], nest.s.local_copies[number]
    assert copy is not None
    footprints = tuple(nest.s.footprint(d) for d in range(nest.h.rank))
    low = tuple(min(a[axis].constant for a in view.accesses) for axis in range(len(view.shape)))
    extents = [view.box(axis, footprints) for axis in range(len(view.shape))]
    places = tile_strides(view, copy, footprints, nest.s)
    steps = frozenset([nest.var(d, "p") for d in range(nest.h.rank)])
    return TileLayout(
        view, copy, tuple(extents), places.strides, places.blocks, places.block_strides, low, places.size, footprints,
        steps, swizzles(nest.s),
    )  # fmt: skip
