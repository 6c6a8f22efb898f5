"""The values of the IR, and the buffers that they are loaded from.

Values are made of registers and constants by NumPy's operations (:class:`Apply`), which mean what NumPy computes,
whatever C would. Each has a NumPy type and lanes, 1 for a scalar. Booleans are 0 and 1 as scalars, and masks in the
lanes of vectors. Float16 is a float32 of such a value everywhere but in global memory. Index arithmetic is no part of
values; it is in `index.py`.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mdhnp.codegen.ir.index import ZERO, Compare, Index

DType = np.dtype[Any]
BOOL, HALF, SINGLE = np.dtype(bool), np.dtype(np.float16), np.dtype(np.float32)
Space = Literal["global", "local"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array in memory."""

    name: str
    #: Of the elements.
    dtype: DType
    #: `local` to a work-group, or `global`.
    space: Space = "global"
    #: Whether the kernel only reads it.
    constant: bool = False
    #: 0 for an array of elements as memory has them. Otherwise its elements are what registers hold: vectors of so many
    #: lanes, and booleans as values have them.
    values: int = 0
    #: Whether each access must be one of the memory.
    volatile: bool = False
    #: Whether each work-item accesses elements of its own only.
    own: bool = False
    #: Whether float16 takes two bytes in local memory, too: only what is copied there has them so, and what loads
    #: matrices.
    packed: bool = False
    #: Whether it begins at a multiple of 16 bytes in local memory, so that aligned vectors are loaded whole.
    aligned: bool = False
    #: Not 0 where it is a nest's among several: meanwhile nobody accesses an element that another work-item writes.
    phase: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Register:
    """A variable that holds a value."""

    stem: str
    number: int
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Const:
    """A constant: its text is as Python prints it, so that 0.0 and -0.0 stay apart."""

    literal: str
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on values, of which scalars are broadcast to the lanes of the others.

    Most are NumPy's, by its names. The others are about how values lie in registers and memory:

    ================ ==========================================================================================
    splat            a scalar in all lanes
    convert          a value in another type, as ``ndarray.astype`` converts
    retype           a value that is one of the type already, in the same register: float16's are kept as float32
    lanes            a vector of scalars, one a lane
    lower, upper     half of the lanes
    from_mask        a lane of booleans as a scalar
    from_bytes       booleans of the bytes of a boolean array's elements
    high_bits        a float rounded to so many bits of significand (the second operand); ties go away from 0
    bits             the bits of a float as an unsigned integer
    pack             the bits of values as one unsigned integer, those of the first value last
    pack_halves      the bits of two floats rounded to float16, packed so
    pack_bytes       the same of a byte of each of four integers, whose number is the fifth operand
    multiply_add     a product and what is added to it, rounded once
    exp_of_rounded   an exponential whose operand is rounded once more
    exp_or_nothing   the same, 0 where that is a subnormal number
    rounding_error   of a sum, its first summand and its second, what rounding lost; 0 where the sum is infinite
    ================ ==========================================================================================
    """

    op: str
    args: tuple["Value", ...]
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class CTextCall:
    """A scalar function given as OpenCL C, with one result."""

    name: str
    source: str
    args: tuple["Value", ...]
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Shuffled:
    """What the work-item `distance` further on in the subgroup has of a value; beyond its ends, some other value.

    All work-items of a subgroup come to it together, each with a distance of its own. Where its range has both signs,
    all of these reach a work-item that there is.
    """

    value: "Value"
    distance: Index

    @property
    def dtype(self) -> DType:
        return self.value.dtype

    @property
    def lanes(self) -> int:
        return self.value.lanes

    @property
    def way(self) -> Literal["before", "behind", "either"]:
        """Whether the value is that of a work-item before, behind, or of one that may be either."""
        low, high = self.distance.range()
        return "before" if high < 0 else "either" if low < 0 else "behind"


@dataclass(frozen=True, slots=True)
class IndexValue:
    """An index as a value; with lanes the next ones as well."""

    index: Index
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Outside:
    """The constant that stands for the elements outside of an array."""

    literal: str
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Load:
    """Elements of a buffer."""

    #: From where.
    buffer: Buffer
    #: Number of the first element.
    offset: Index
    lanes: int = 1
    #: How far the lanes lie apart.
    stride: Index = ZERO
    #: How many lanes may be read, if not all; the others repeat the last of them.
    valid: Index | None = None
    #: Where one of these conditions does not hold, the value is `outside`.
    guard: tuple[Compare, ...] = ()
    #: See there.
    outside: Outside | None = None

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Neighbours along one axis of an array with a boundary mode, of which some may lie outside."""

    #: From where.
    buffer: Buffer
    #: Number of the row's first element.
    start: Index
    #: How far the row's elements lie apart.
    stride: Index
    #: Which element of the row is that of the first lane.
    first: Index
    #: Elements of the row; none where one of the conditions `guard` does not hold.
    length: int
    guard: tuple[Compare, ...]
    #: The boundary mode.
    mode: str
    #: What lies outside of the row, in mode `constant`.
    outside: Outside
    dtype: DType
    lanes: int


@dataclass(frozen=True, slots=True)
class Address:
    """Elements of an argument that OpenCL C text reads by itself."""

    #: In global memory, and constant.
    buffer: Buffer
    #: Number of the first element.
    offset: Index
    #: Of each axis along which they lie, how many there are and how far apart.
    axes: tuple[tuple[Index, Index], ...]
    #: Of an element.
    dtype: DType
    lanes: int = 1


Value = Register | Const | Apply | CTextCall | IndexValue | Outside | Load | LoadRow | Address | Shuffled


def splat(value: Value, lanes: int) -> Value:
    return value if value.lanes == lanes else Apply("splat", (value,), value.dtype, lanes)


def in_type(op: Literal["convert", "retype"], value: Value, dtype: DType) -> Value:
    return value if value.dtype == dtype else Apply(op, (value,), dtype, value.lanes)


def half(value: Value, lanes: int, *, upper: bool) -> Value:
    return Apply("upper" if upper else "lower", (value,), value.dtype, lanes)
