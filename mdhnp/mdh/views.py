"""Views: which elements of a buffer a point of the MDH reads or writes.

A :class:`View` names one array (dtype, shape, strides) and one or more accesses to it; an access gives an affine
index for each axis of the array, to which an element of another array may be added: :class:`Indirect`. Views only
compute indices, they never copy (source: Rasch, Schulze & Gorlatch,
"Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms", Section V-C a). Indices that may
leave the array name a boundary mode, in scipy.ndimage's terms. A point may read a whole stretch of an axis, a
:class:`Slice`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

BOUNDARIES = ("constant", "nearest", "reflect", "mirror", "wrap")


@dataclass(frozen=True)
class Affine:
    """``sum(coefficients[d] * i_d) + constant`` over the MDH's dimensions."""

    coefficients: tuple[int, ...]
    constant: int = 0

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(dim: int, rank: int, constant: int = 0) -> "Affine":
        """The index of one dimension, shifted by `constant`."""
        return Affine((0,) * dim + (1,) + (0,) * (rank - dim - 1), constant)

    def __add__(self, other: "Affine") -> "Affine":
        return Affine(tuple(map(add, self.coefficients, other.coefficients)), self.constant + other.constant)

    def __mul__(self, factor: int) -> "Affine":
        return Affine(tuple([c * factor for c in self.coefficients]), self.constant * factor)

    @property
    def more(self) -> int:
        """How many elements are read at once beside the one at the index."""
        return 0

    def in_order(self, dims: Sequence[int]) -> "Affine":
        """The same index where there are only these dimensions, in this order; those left out do not move it."""
        return replace(self, coefficients=tuple([self.coefficients[d] for d in dims]))

    def still(self, dims: Sequence[int]) -> "Affine":
        """The same index at the first point of some dimensions."""
        return replace(self, coefficients=tuple([0 if d in dims else c for d, c in enumerate(self.coefficients)]))

    def dims(self) -> tuple[int, ...]:
        """Dimensions that move it."""
        return _dims(self.coefficients)

    def dim(self) -> int | None:
        """The dimension whose index it is, neither scaled nor shifted; None where it is no such index."""
        dims = _dims(self.coefficients)
        return dims[0] if len(dims) == 1 and self.coefficients[dims[0]] == 1 and not self.constant else None

    def span(self, extents: Sequence[int]) -> tuple[int, int]:
        """Smallest and largest value over the given extents."""
        ends = [c * (n - 1) for c, n in zip(self.coefficients, extents, strict=True)]
        return self.constant + sum(e for e in ends if e < 0), self.constant + sum(e for e in ends if e > 0)

    def show(self, names: Sequence[str], inputs: "Sequence[View]" = ()) -> str:
        """Text such as ``2*p+r-1``; arrays of which elements are added are among the inputs."""
        text = ""
        for c, name in zip(self.coefficients, names, strict=True):
            if c:
                factor = name if abs(c) == 1 else f"{abs(c)}*{name}"
                text += f"{'-' if c < 0 else '+' if text else ''}{factor}"
        if self.constant or not text:
            text += f"{self.constant:+d}" if text else str(self.constant)
        return text


@dataclass(frozen=True)
class Slice(Affine):
    """Neighbours from an affine index on, all of which OpenCL C text is given at once: ``A[i,:]``."""

    length: int = 0

    @property
    def more(self) -> int:
        return self.length - 1

    def dim(self) -> int | None:
        return None

    def span(self, extents: Sequence[int]) -> tuple[int, int]:
        low, high = super().span(extents)
        return low, high + self.more

    def show(self, names: Sequence[str], inputs: "Sequence[View]" = ()) -> str:
        """Text such as ``0:64``."""
        return f"{super().show(names)}:{Affine(self.coefficients, self.constant + self.length).show(names)}"


@dataclass(frozen=True)
class Indirect(Affine):
    """An affine index plus an element of another input, an array of whole numbers: ``idx[i]``, ``begin[i]+k``.

    Elements less than 0 count from the axis's end, as NumPy's indices do. Source: Won et al., "Insum: Sparse GPU
    Kernels Simplified and Optimized with Indirect Einsums".
    """

    #: The input, and which of its accesses gives the element.
    source: tuple[int, int] = (0, 0)
    #: Of each dimension whether it moves what is read of the source.
    through: tuple[bool, ...] = ()
    #: Elements along the axis that it is an index of.
    length: int = 0
    #: Whether elements are not looked at in each call, as they come from a format that has none outside of the axis,
    #: nor less than 0. Where one is all the same, the axis's last element is read.
    trusted: bool = False

    def __add__(self, other: Affine) -> "Indirect":
        if isinstance(other, Indirect):
            raise ValueError("views: an index adds one element of another array, not several")
        return replace(self, coefficients=(moved := super().__add__(other)).coefficients, constant=moved.constant)

    def __mul__(self, factor: int) -> "Indirect":
        if factor != 1:
            raise ValueError("views: an element of another array is an index as it is, not several times as large")
        return self

    def in_order(self, dims: Sequence[int]) -> "Indirect":
        coefficients, through = (self.coefficients[d] for d in dims), (self.through[d] for d in dims)
        return replace(self, coefficients=tuple(coefficients), through=tuple(through))

    def still(self, dims: Sequence[int]) -> "Indirect":
        coefficients = tuple([0 if d in dims else c for d, c in enumerate(self.coefficients)])
        through = tuple([moves and d not in dims for d, moves in enumerate(self.through)])
        return replace(self, coefficients=coefficients, through=through)

    @property
    def affine(self) -> Affine:
        """What is added to the element."""
        return Affine(self.coefficients, self.constant)

    def dims(self) -> tuple[int, ...]:
        return tuple([d for d, c in enumerate(self.coefficients) if c or self.through[d]])

    def dim(self) -> int | None:
        return None

    def span(self, extents: Sequence[int]) -> tuple[int, int]:
        """The whole axis: what elements there are, is known when they are read."""
        return 0, self.length - 1

    def show(self, names: Sequence[str], inputs: "Sequence[View]" = ()) -> str:
        """Text such as ``begin[i]+k``."""
        (number, access), affine = self.source, self.affine.show(names)
        element = inputs[number].shown(access, names, inputs) if inputs else f"@{number}"
        return element + ("" if affine == "0" else affine if affine[0] == "-" else f"+{affine}")


@lru_cache(maxsize=1024)
def _dims(coefficients: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([d for d, c in enumerate(coefficients) if c])


#: One affine index for each axis of the buffer.
Access = tuple[Affine, ...]
#: For each dimension of an MDH, its index in those of another one.
Place = tuple[Affine, ...]


def in_place(rank: int) -> Place:
    return tuple([Affine.of(d, rank) for d in range(rank)])


def unit(rank: int) -> Affine:
    """Give the index of the only point of a dimension."""
    return Affine((0,) * rank)


def composed(access: Access, place: Place, rank: int) -> Access:
    """Give an access of an MDH in the dimensions of another one."""
    found = []
    for index in access:
        terms = [old * c for c, old in zip(index.coefficients, place, strict=True) if c]
        found.append(sum(terms, start=Affine((0,) * rank, index.constant)))
    return tuple(found)


def shifted(access: Access, by: Sequence[int]) -> Access:
    """Give an access so many elements further on along each axis."""
    return tuple([replace(i, constant=i.constant + n) for i, n in zip(access, by, strict=True)])


@dataclass(frozen=True)
class View:
    """One array and how the MDH's points access it."""

    #: As printed.
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    #: Distance of neighbours along each axis, in elements (not bytes); may be negative or zero.
    strides: tuple[int, ...]
    #: Position of element (0, …, 0) counted from the array's lowest address, in elements.
    offset: int
    #: Each a parameter of the scalar function.
    accesses: tuple[Access, ...]
    #: What an index outside of the array means: one of BOUNDARIES, or None if indices stay inside.
    boundary: str | None = None
    #: Literal of the value outside, for ``boundary="constant"``.
    fill: str = "0"

    @property
    def array(self) -> "View":
        """The same array under no name, and without accesses: equal for all views that see it alike."""
        return replace(self, name="", accesses=())

    def linear(self, access: Access) -> Affine:
        """The access as one affine offset in elements from the array's lowest address (without boundary)."""
        rank = len(access[0].coefficients) if access else 0
        terms = list(zip(self.strides, access, strict=True))
        coefficients = tuple(sum(s * a.coefficients[d] for s, a in terms) for d in range(rank))
        return Affine(coefficients, self.offset + sum(s * a.constant for s, a in terms))

    def elements(self) -> int:
        """Elements from the lowest to the highest address, inclusive."""
        if 0 in self.shape:
            return 0
        return 1 + sum(abs(s) * (n - 1) for s, n in zip(self.strides, self.shape, strict=True))

    @property
    def span_bytes(self) -> int:
        """Bytes from the lowest to the highest address, with what lies between elements; repeated ones count once."""
        return self.elements() * self.dtype.itemsize

    @property
    def element_bytes(self) -> int:
        """Bytes of all elements, as if each had memory of its own."""
        return prod(self.shape) * self.dtype.itemsize

    def box(self, axis: int, points: Sequence[Any]) -> Any:
        """Elements along an axis of the box that so many points of each dimension read; all accesses move alike.

        For arrays of points, one element each, an array.
        """
        if any([isinstance(a[axis], Indirect) for a in self.accesses]):
            return self.shape[axis]
        constants = [a[axis].constant for a in self.accesses]
        several = max([a[axis].constant + a[axis].more for a in self.accesses]) - min(constants)
        return several + 1 + sum(abs(c) * (points[d] - 1) for d, c in enumerate(self.accesses[0][axis].coefficients))

    def sole_dimension(self, axis: int) -> int | None:
        """The dimension that alone indexes an axis, unscaled and in all accesses alike; None where none does."""
        index, *others = {a[axis] for a in self.accesses}
        dims = index.dims()
        return dims[0] if not others and len(dims) == 1 and index.coefficients[dims[0]] == 1 else None

    def axis_of(self, d: int, access: int = 0) -> int | None:
        """The only axis that a dimension indexes in an access, unscaled, if no other dimension does; else None."""
        indices = self.accesses[access]
        found = [axis for axis, index in enumerate(indices) if index.coefficients[d]]
        plain = len(found) == 1 and indices[found[0]].dims() == (d,) and indices[found[0]].coefficients[d] == 1
        return found[0] if plain else None

    def axis_along(self, dim: int) -> int | None:
        """The axis of which a dimension is the index in all accesses, if no other axis moves with it; else None."""
        axes = {axis for access in self.accesses for axis, index in enumerate(access) if dim in index.dims()}
        axis = axes.pop() if len(axes) == 1 else None
        return axis if axis is not None and all([a[axis].dim() == dim for a in self.accesses]) else None

    def short_strides(self) -> tuple[bool, ...]:
        """For each axis, whether its stride decides how elements are loaded: 0, 1, -1, or 2 where no axis has 1.

        Of several axes as near it is the last: in an array of one column, the rows' stride is 1 by chance.
        """
        steps = [abs(s) for s in self.strides]
        nearest = min((s for s in steps if s in (1, 2)), default=-1)
        last = max((axis for axis, s in enumerate(steps) if s == nearest), default=-1)
        return tuple(s == 0 or axis == last for axis, s in enumerate(steps))

    @property
    def slices(self) -> bool:
        return any([isinstance(index, Slice) for access in self.accesses for index in access])

    @property
    def indirect(self) -> bool:
        """Whether elements of another array are among its indices."""
        return any([isinstance(index, Indirect) for access in self.accesses for index in access])

    @property
    def one_box(self) -> bool:
        """Whether all accesses move alike, an element each, so that what points read can be copied as one box."""
        alike = all([len({i.coefficients for i in axis}) == 1 for axis in zip(*self.accesses, strict=True)])
        return bool(self.shape) and alike and not self.slices and not self.indirect

    def depends_on(self, dim: int) -> bool:
        return any(dim in index.dims() for access in self.accesses for index in access)

    def renumbered(self, place: Mapping[int, int]) -> "View":
        """The same where the inputs of which elements are indices have other numbers."""
        if not self.indirect:
            return self

        def moved(index: Affine) -> Affine:
            if not isinstance(index, Indirect):
                return index
            number, access = index.source
            return replace(index, source=(place[number], access))

        return self.indexed(moved)

    def indexed(self, index: Callable[[Affine], Affine]) -> "View":
        """The same array, read at other indices: what a function makes of each."""
        return replace(self, accesses=tuple([tuple(map(index, access)) for access in self.accesses]))

    def still(self, dims: Sequence[int]) -> "View":
        """The same at the first point of some dimensions."""
        return self.indexed(lambda i: i.still(dims))

    def moved(self, dim: int, begin: int) -> "View":
        """The same where a dimension begins at another point."""
        return self.indexed(lambda i: replace(i, constant=i.constant + i.coefficients[dim] * begin))

    def show(self, names: Sequence[str], inputs: "Sequence[View]" = ()) -> str:
        """Text such as ``A[i,k]``, all accesses beside each other."""
        return ", ".join(self.shown(n, names, inputs) for n in range(len(self.accesses)))

    def shown(self, access: int, names: Sequence[str], inputs: "Sequence[View]" = ()) -> str:
        """The same of one access."""
        return f"{self.name}[{','.join([i.show(names, inputs) for i in self.accesses[access]])}]"


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Give what ``numpy.broadcast_shapes`` does, which takes 32 axes at most, of as many as arrays may have."""
    if max(map(len, shapes), default=0) <= 32:
        return np.broadcast_shapes(*shapes)
    return broadcast_shapes(*[s[:-32] for s in shapes]) + np.broadcast_shapes(*[s[-32:] for s in shapes])


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of a C-contiguous array."""
    strides, step = list[int](), 1
    for n in shape[::-1]:
        strides.append(step)
        step *= n or 1
    return tuple(strides[::-1])


def packed(views: Sequence[View]) -> tuple[View, ...]:
    """The same views of arrays that are C-contiguous."""
    return tuple([replace(v, strides=row_major(v.shape), offset=0) for v in views])


def is_row_major(shape: tuple[int, ...], strides: tuple[int, ...], size: int = 1) -> bool:
    """Whether an array with such strides, of which an element has `size`, is C-contiguous."""
    return all([n <= 1 or s == size * c for n, s, c in zip(shape, strides, row_major(shape), strict=True)])


def contiguous(name: str, dtype: npt.DTypeLike, extents: tuple[int, ...], dims: tuple[int, ...]) -> View:
    """A C-contiguous array indexed by the given dimensions in order."""
    shape = tuple(extents[d] for d in dims)
    access = tuple(Affine.of(d, len(extents)) for d in dims)
    return View(name, np.dtype(dtype), shape, row_major(shape), 0, (access,))


def numbered(views: Iterable[View], prefix: str) -> tuple[View, ...]:
    return tuple([replace(v, name=f"{prefix}{n}") for n, v in enumerate(views)])


def interleaved(first: View, second: View) -> bool:
    """Whether two outputs are the real and the imaginary parts of one complex array; others begin at offset 0."""
    return second.offset == first.offset + 1 and replace(second, name=first.name, offset=first.offset) == first


def bound_index(index: Any, size: int, mode: str) -> Any:
    """Map indices outside of ``range(size)`` inside, as scipy.ndimage does.

    ``constant`` maps to -1, which stands for the fill value.
    """
    index = np.asarray(index)
    match mode:
        case "nearest":
            return np.clip(index, 0, size - 1)
        case "wrap":
            return index % size
        case "reflect":
            folded = index % (2 * size)
            return np.minimum(folded, 2 * size - 1 - folded)
        case "mirror":
            period = max(2 * size - 2, 1)
            folded = index % period
            return np.minimum(folded, period - folded) if size > 1 else index * 0
        case _:
            return np.where((index < 0) | (index >= size), -1, index)
