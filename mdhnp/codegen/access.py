"""Reading inputs and writing outputs at given coordinates, from global or local memory, in scalars or vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mdhnp.codegen.ctypes import HALF, Value, constant, convert, local_type, memory_type, vector_name
from mdhnp.codegen.nest import Linear, Nest
from mdhnp.codegen.prelude import Helpers
from mdhnp.codegen.writer import Writer
from mdhnp.mdh.views import View
from mdhnp.schedule.schedule import LocalCopy

__all__ = [
    "GLOBAL",
    "LOCAL",
    "Context",
    "Place",
    "TileLayout",
    "bounded_index",
    "bounded_read",
    "element",
    "flat",
    "folded",
    "load",
    "outside_value",
    "read_back",
    "read_local",
    "result_convert",
    "store",
    "store_pair",
    "tile_layout",
    "write",
]

GLOBAL, LOCAL = "__global", "__local"
_NEIGHBOURS, _PAIRS = Linear((), 1), Linear((), 2)


@dataclass
class Context:
    """What the emitters of one kernel share."""

    nest: Nest
    writer: Writer
    helpers: Helpers
    #: Added to every output offset: where a work-group's own part of a split reduction begins.
    output_offset: Linear = field(default_factory=Linear)
    #: Names of the views whose arrays begin somewhere in a buffer.
    offsets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a point (or the first lane of a vector of points) is.

    Attributes
    ----------
    point : mapping of int to Linear
        Coordinate in each dimension.
    local : mapping of int to Linear
        The same, counted from the local tile's beginning.
    lanes : int
        Points along the vector dimension.
    valid : str
        How many lanes lie inside the extent; empty where all do.
    done : str
        How many lanes another vector stores; empty where none.
    bounded : bool
        Whether indices into arrays with a boundary mode may lie outside.
    """

    point: Mapping[int, Linear]
    local: Mapping[int, Linear]
    lanes: int = 1
    valid: str = ""
    done: str = ""
    bounded: bool = False


def load(c: Context, number: int, access: int, place: Place) -> Value:
    """The value an access of an input gives at a place."""
    view = c.nest.h.inputs[number]
    copy = c.nest.s.local_copies[number]
    vector = c.nest.s.vector_dim
    if copy is not None:
        layout = tile_layout(c.nest, number)
        offset, lane = layout.offset(access, place, vector)
        return _read(c, view, f"{view.name}_l", LOCAL, offset, lane, place.lanes, "")
    moves = place.lanes > 1 and any(i.coefficients[vector] for i in view.accesses[access])
    if view.boundary is not None and place.bounded:
        return _load_bounded(c, view, access, place, moves)
    steps, offset = c.nest.address(view, view.accesses[access])
    for d, step in enumerate(steps):
        offset = offset + place.point[d] * step
    stride = steps[vector] if moves else Linear()
    return _read(c, view, view.name, GLOBAL, offset, stride, place.lanes, place.valid if moves else "")


def store(c: Context, number: int, place: Place, value: Value) -> None:
    """Write a result to its place in the output."""
    view = c.nest.h.outputs[number]
    offset, stride = _output_offset(c, view, place)
    if place.done:
        function = c.helpers.scatter_rest(memory_type(view.dtype), place.lanes, GLOBAL)
        c.writer.line(f"{function}({view.name} + {offset}, {stride}, {place.done}, {_stored(value)});")
    else:
        write(c, view.name, GLOBAL, offset, stride, place.valid, value)


def store_pair(c: Context, number: int, place: Place, real: Value, imaginary: Value) -> None:
    """Write the real and imaginary parts of complex results: whole vectors of them where all lanes lie inside."""
    view = c.nest.h.outputs[number]
    offset, stride = _output_offset(c, view, place)
    if stride == _PAIRS and not place.valid and not place.done:
        function = c.helpers.scatter_pairs(memory_type(view.dtype), place.lanes, GLOBAL)
        c.writer.line(f"{function}({view.name} + {offset}, {real.text}, {imaginary.text});")
    else:
        store(c, number, place, real)
        store(c, number + 1, place, imaginary)


def read_back(c: Context, number: int, place: Place) -> Value:
    """Give the partial result that waits in an output."""
    view = c.nest.h.outputs[number]
    offset, stride = _output_offset(c, view, place)
    return _read(c, view, view.name, GLOBAL, offset, stride, place.lanes, place.valid)


def _output_offset(c: Context, view: View, place: Place) -> tuple[Linear, Linear]:
    """Where a place's result lies in an output, and the distance of neighbouring lanes."""
    steps, start = c.nest.address(view, view.accesses[0])
    offset = c.output_offset + start
    for d, step in enumerate(steps):
        offset = offset + place.point[d] * step
    return offset, steps[c.nest.s.vector_dim] if place.lanes > 1 else Linear()


def write(c: Context, buffer: str, space: str, offset: Linear, stride: Linear, valid: str, value: Value) -> None:
    """Write a scalar or the valid lanes of a vector."""
    name = memory_type(value.dtype)
    if value.dtype == HALF and value.lanes == 1:
        c.writer.line(f"vstore_half_rte({value.text}, {offset}, {buffer});")
        return
    if value.lanes == 1:
        text = f"({name}){value.atom}" if value.dtype.kind == "b" else value.text
        c.writer.line(f"{buffer}[{offset}] = {text};")
        return
    text = _stored(value)
    if stride == _NEIGHBOURS and not valid and value.dtype == HALF:
        c.writer.line(f"vstore_half{value.lanes}_rte({text}, 0, {buffer} + {offset});")
    elif stride == _NEIGHBOURS and not valid:
        kind = c.helpers.vector(name, value.lanes)
        c.writer.line(f"*({space} {kind} *)({buffer} + {offset}) = {text};")
    else:
        function = c.helpers.scatter(name, value.lanes, space)
        c.writer.line(f"{function}({buffer} + {offset}, {stride}, {valid or value.lanes}, {text});")


def _stored(value: Value) -> str:
    """A vector in the type that memory has."""
    name = vector_name(memory_type(value.dtype), value.lanes)
    return f"convert_{name}(-{value.atom})" if value.dtype.kind == "b" else value.text


def _read(
    c: Context, view: View, buffer: str, space: str, offset: Linear, stride: Linear, lanes: int, valid: str
) -> Value:
    name = memory_type(view.dtype) if space == GLOBAL else local_type(view.dtype)
    if lanes == 1 or stride == Linear():
        text = element(view, buffer, offset) if space == GLOBAL else f"{buffer}[{offset}]"
        return _as_value(view, text, 1)
    if valid:
        function = c.helpers.gather_part(name, lanes, space)
        return _as_value(view, f"{function}({buffer} + {offset}, {stride}, {valid})", lanes)
    if stride == _NEIGHBOURS and name == "half":
        return _as_value(view, f"vload_half{lanes}(0, {buffer} + {offset})", lanes)
    if stride == _NEIGHBOURS:
        return _as_value(view, f"*({space} const {c.helpers.vector(name, lanes)} *)({buffer} + {offset})", lanes)
    if stride == _PAIRS and name != "half":
        return _as_value(view, f"{c.helpers.gather_pairs(name, lanes, space)}({buffer} + {offset})", lanes)
    return _as_value(view, f"{c.helpers.gather(name, lanes, space)}({buffer} + {offset}, {stride})", lanes)


def read_local(c: Context, view: View, buffer: str, offset: Linear, stride: Linear, lanes: int) -> Value:
    """Read partial results kept in local memory."""
    return _read(c, view, buffer, LOCAL, offset, stride, lanes, "")


def _as_value(view: View, text: str, lanes: int) -> Value:
    if view.dtype.kind != "b":
        return Value(text, view.dtype, lanes)
    if lanes == 1:
        return Value(f"{text} != 0", view.dtype)
    return Value(f"convert_int{lanes}({text} != (uchar{lanes})(0))", view.dtype, lanes)


def element(view: View, buffer: str, offset: Linear) -> str:
    """An element of a global buffer."""
    return f"vload_half({offset}, {buffer})" if view.dtype == HALF else f"{buffer}[{offset}]"


def bounded_read(c: Context, view: View, indices: Sequence[Linear]) -> str:
    """Read an element whose indices may lie outside of the array."""
    indices, tests = folded(c, view, indices)
    value = element(view, view.name, flat(c, view, indices))
    if view.boundary != "constant":
        return value
    test = "0" if "0" in tests else " && ".join(tests) or "1"
    return f"({test} ? {value} : {outside_value(view)})"


def folded(c: Context, view: View, indices: Sequence[Linear], row: int | None = None) -> tuple[list[Linear], list[str]]:
    """Indices inside of the array for those outside, but along a row; where constants lie there, tests instead."""
    found, tests = list(indices), []
    for axis, index in enumerate(indices):
        if axis != row and view.boundary == "constant":
            tests += [t for t in (index.at_least(0), index.at_most(view.shape[axis] - 1)) if t != "1"]
        elif axis != row:
            found[axis] = Linear(((bounded_index(c, view, axis, index), 1),))
    return found, tests


def bounded_index(c: Context, view: View, axis: int, index: Linear) -> str:
    """The index inside of the array that one outside of it stands for."""
    assert view.boundary is not None
    return f"{c.helpers.boundary(view.boundary)}({index}, {view.shape[axis]})"


def outside_value(view: View) -> str:
    """The constant that lies outside of an array."""
    return f"({local_type(view.dtype)}){constant(view.fill, view.dtype)}"


def flat(c: Context, view: View, indices: Sequence[Linear]) -> Linear:
    """Offset of an element of an input."""
    offset = c.nest.offset(view)
    for index, stride in zip(indices, c.nest.strides(view), strict=True):
        offset = offset + index * stride
    return offset


def _load_bounded(c: Context, view: View, access: int, place: Place, moves: bool) -> Value:
    """An element, or a vector of them, of which some may lie outside of the array."""
    vector = c.nest.s.vector_dim
    indices = []
    for index in view.accesses[access]:
        total = Linear((), index.constant)
        for d, coefficient in enumerate(index.coefficients):
            total = total + place.point[d] * coefficient
        indices.append(total)
    if not moves:
        return _as_value(view, bounded_read(c, view, indices), 1)
    steps = [index.coefficients[vector] for index in view.accesses[access]]
    if sum(map(bool, steps)) == 1 and max(steps) == 1:
        return _as_value(view, _bounded_row(c, view, indices, steps.index(1), place.lanes), place.lanes)
    lane = Linear((("lane", 1),))
    value = bounded_read(c, view, [index + lane * step for index, step in zip(indices, steps, strict=True)])
    name = local_type(view.dtype)
    kind = vector_name(name, place.lanes)
    variable = c.writer.fresh("b")
    c.writer.line(f"{kind} {variable};")
    c.writer.line(
        f"for ({c.nest.index_type} lane = 0; lane < {place.lanes}; ++lane) (({name} *)&{variable})[lane] = {value};"
    )
    return _as_value(view, variable, place.lanes)


def _bounded_row(c: Context, view: View, indices: Sequence[Linear], row: int, lanes: int) -> str:
    """A vector of neighbours along one axis; where the other indices lie outside of the array, of constants."""
    assert view.boundary is not None
    inside, tests = folded(c, view, indices, row)
    inside[row] = Linear()
    length = str(view.shape[row])
    if tests:
        length = f"{' && '.join(tests)} ? {length} : 0"
    function = c.helpers.bounded_row(memory_type(view.dtype), lanes, view.boundary)
    start = f"{view.name} + {flat(c, view, inside)}"
    return f"{function}({start}, {c.nest.strides(view)[row]}, {indices[row]}, {length}, {outside_value(view)})"


@dataclass(frozen=True)
class TileLayout:
    """How the local tile of an input lies in local memory: order, extents and strides of the view's axes."""

    view: View
    copy: LocalCopy
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    blocks: tuple[int, ...]
    block_strides: tuple[int, ...]
    low: tuple[int, ...]
    size: int
    footprints: tuple[int, ...]

    @property
    def contiguous(self) -> int | None:
        """The axis along which neighbours in the array are neighbours, where it is not blocked."""
        return next((a for a, stride in enumerate(self.view.strides) if stride == 1 and not self.blocks[a]), None)

    def offset(self, access: int, place: Place, vector: int) -> tuple[Linear, Linear]:
        """Offset in the tile of an access at a place, and the distance of neighbouring lanes."""
        total, lane_stride = Linear(), 0
        for axis, index in enumerate(self.view.accesses[access]):
            where = Linear((), index.constant - self.low[axis])
            for d, coefficient in enumerate(index.coefficients):
                where = where + place.local[d] * coefficient
                if coefficient < 0:
                    where = where + -coefficient * (self.footprints[d] - 1)
            block = self.blocks[axis]
            if block:
                # Steps advance by whole blocks; everything else stays inside of one.
                steps = Linear(tuple((n, f) for n, f in where.terms if n.endswith("_p")))
                inside = Linear(tuple((n, f) for n, f in where.terms if not n.endswith("_p")), where.constant)
                total = total + steps * (self.block_strides[axis] // block) + inside * self.strides[axis]
            else:
                total = total + where * self.strides[axis]
            if place.lanes > 1:
                lane_stride += index.coefficients[vector] * self.strides[axis]
        return total, Linear((), lane_stride)


def tile_layout(nest: Nest, number: int) -> TileLayout:
    """Layout of an input's local tile."""
    view, copy = nest.h.inputs[number], nest.s.local_copies[number]
    assert copy is not None
    footprints = tuple(nest.footprint(d) for d in range(nest.h.rank))
    low = tuple(min(a[axis].constant for a in view.accesses) for axis in range(len(view.shape)))
    extents = [view.box(axis, footprints) for axis in range(len(view.shape))]
    blocks = [0] * len(view.shape)
    strides, block_strides = [0] * len(view.shape), [0] * len(view.shape)
    step = 1
    for axis in reversed(copy.blocked):
        blocks[axis] = nest.s.private_tile[view.accesses[0][axis].dims()[0]]
        strides[axis] = step
        step *= blocks[axis]
    for axis in reversed(copy.order):
        if blocks[axis]:
            block_strides[axis] = step
            step *= -(-extents[axis] // blocks[axis])
        else:
            strides[axis] = step
            step *= extents[axis]
    return TileLayout(
        view, copy, tuple(extents), tuple(strides), tuple(blocks), tuple(block_strides), low, step, footprints,
    )  # fmt: skip


def result_convert(c: Context, value: Value, number: int) -> Value:
    """A result in the type of its output."""
    return convert(value, c.nest.h.outputs[number].dtype)
