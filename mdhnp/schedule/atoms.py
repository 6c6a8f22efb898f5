"""Matrix instructions as data: what they compute, how operands and results lie over lanes, and what devices have them.

A *fragment* maps (lane, value) to an element of a matrix, in the notation of CuTe: shapes and strides of the lane's and
of the value's digits, fastest first; an element (row, column) has the number row + rows * column. Each of the lanes
holds the value's elements in registers. Source of the maps: PTX ISA, "Matrix fragments for mma".
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mdhnp.settings import Level


@dataclass(frozen=True)
class Fragment:
    """How the elements of a matrix lie over lanes and their registers."""

    rows: int
    columns: int
    #: Digits of the lane's number and of the register's, fastest first: how many, and by how much the element's number
    #: grows with each.
    lanes: tuple[tuple[int, int], ...]
    values: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        places = [lane + value for lane in self.firsts for value in self.numbers]
        if sorted(places) != [*range(self.rows * self.columns)]:
            raise ValueError(f"{self}: not each element in one place")

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The number of the element in each lane's first register."""
        return _offsets(self.lanes)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Distance of each register's element from that of the first register."""
        return _offsets(self.values)

    def place(self, number: int) -> tuple[int, int]:
        """Row and column of an element with a number."""
        return number % self.rows, number // self.rows


def _offsets(digits: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Return the element number of each lane, or register."""
    offsets = [0]
    for count, stride in digits:
        offsets = [n * stride + offset for n in range(count) for offset in offsets]
    return tuple(offsets)


@dataclass(frozen=True)
class Atom:
    """A matrix instruction: C += A B, of which A has (m, k), B (n, k) and C (m, n) elements."""

    #: As schedules name it.
    name: str
    #: Of A, of B (its rows are C's columns), and of C.
    a: Fragment
    b: Fragment
    c: Fragment
    #: NumPy's names of the types in registers.
    operand: str
    result: str
    #: The types of inputs whose values operands hold exactly; where `split`, the two parts of them together.
    values: tuple[str, ...]
    #: Whether sums are rounded worse than a chain of multiply-adds rounds them, so that they must be short. If not,
    #: they are such a chain, from the first term to the last.
    rounds: bool
    instruction: str
    #: Multiply-adds in the time of one without the instruction, by times of products on one NVIDIA H200.
    speed: float
    #: The types of inputs that operands hold rounded, each with the level of precision at which that is enough.
    rounded: tuple[tuple[Level, str], ...] = ()
    #: Bits of a significand that operands keep of what is rounded or split.
    bits: int = 0
    #: Whether each operand is split in a high and a low part, and three products are added: high by high, high by low,
    #: and low by high.
    split: bool = False
    #: Bytes of an integer, if each is an operand: then sums of their products are by the place of these.
    places: int = 1
    #: The first of NVIDIA's architectures that has it: ten times its compute capability.
    capability: int = 80
    #: Subgroups that compute it together. Several have rows each; all their columns, 8 or more, are one instruction,
    #: whose factors lie in local memory: in the tiles that are copied, if they are `packed`; else only B does, see
    #: :class:`mdhnp.schedule.layout.Operand`, and A is in registers.
    warps: int = 1

    def __post_init__(self) -> None:
        (m, k), (n, other) = (self.a.rows, self.a.columns), (self.b.rows, self.b.columns)
        if k != other or (self.c.rows, self.c.columns) != (m, n):
            raise ValueError(f"{self.name}: the matrices do not fit")
        if self.lanes != 32 or self.c.lanes != ((4, 2 * m), (8, 1)) or self.c.values[0] != (2, m):
            raise ValueError(f"{self.name}: a lane of C has two neighbours of a row, four lanes are beside each other")
        for operand in (self.a, self.b):
            beside = ((self.packed, operand.rows),) if self.packed > 1 else ()
            if operand.lanes != ((4, self.packed * operand.rows), (8, 1)) or operand.values[: len(beside)] != beside:
                raise ValueError(f"{self.name}: lanes of operands lie otherwise")

    def held(self, precision: Level) -> set[str]:
        """Types of inputs that operands hold as exactly as a level of precision asks."""
        return {*self.values, *[name for level, name in self.rounded if level == precision]}

    @cached_property
    def lanes(self) -> int:
        """Work-items that compute it together."""
        return len(self.c.firsts)

    @property
    def wide(self) -> bool:
        """Whether several subgroups compute it together."""
        return self.warps > 1

    @property
    def double(self) -> bool:
        """Whether it multiplies float64."""
        return self.operand == "float64"

    @property
    def itemsize(self) -> int:
        """Bytes of an operand's element in local memory."""
        return np.dtype(self.operand).itemsize * self.places

    @property
    def packed(self) -> int:
        """Elements of an operand in each register; several are neighbours of a row."""
        return max(4 // np.dtype(self.operand).itemsize, 1)

    def registers(self, operand: Fragment) -> int:
        return len(operand.numbers) // self.packed

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows and columns of the result, and terms of its sums."""
        return self.a.rows, self.b.rows, self.a.columns


#: A float16 has no more bits than the unit takes, so that one product is exact.
_TF32 = Atom(
    "tf32",
    a=Fragment(16, 8, ((4, 16), (8, 1)), ((2, 8), (2, 64))),
    b=Fragment(8, 8, ((4, 8), (8, 1)), ((2, 32),)),
    c=Fragment(16, 8, ((4, 32), (8, 1)), ((2, 16), (2, 8))),
    operand="float32",
    result="float32",
    values=("float16",),
    rounded=(("default", "float32"),),
    bits=11,
    rounds=True,
    speed=2.6,
    instruction="mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
)
#: The product of the low parts is left out: it is below 2^-23 of the whole.
_THREE_TF32 = replace(_TF32, name="3xtf32", values=("float32",), rounded=(), split=True, speed=2.4)
#: Only the very architecture has these, none of the later ones.
_WIDE_TF32 = replace(
    _TF32, name="tf32 of warpgroups", warps=4, capability=90, speed=9.0,
    instruction="wgmma.mma_async.sync.aligned.m64n{}k8.f32.tf32.tf32",
)  # fmt: skip
_WIDE_THREE_TF32 = replace(
    _THREE_TF32, name="3xtf32 of warpgroups", warps=4, capability=90, speed=3.3, instruction=_WIDE_TF32.instruction
)
_F64 = Atom(
    "f64",
    a=Fragment(8, 4, ((4, 8), (8, 1)), ((1, 0),)),
    b=Fragment(8, 4, ((4, 8), (8, 1)), ((1, 0),)),
    c=Fragment(8, 8, ((4, 16), (8, 1)), ((2, 8),)),
    operand="float64", result="float64", values=("float64",), rounds=False, speed=1.0,
    instruction="mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
)  # fmt: skip
_LARGE_F64 = replace(
    _F64, name="f64 of 16 rows", a=_TF32.a, b=_TF32.b, c=_TF32.c,
    instruction="mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", speed=3.0, capability=90,
)  # fmt: skip
_LONG_F64 = replace(
    _LARGE_F64, name="f64 of 16 terms", a=Fragment(16, 16, ((4, 16), (8, 1)), ((2, 8), (4, 64))),
    b=Fragment(8, 16, ((4, 8), (8, 1)), ((4, 32),)), instruction="mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",
)  # fmt: skip
_F16 = Atom(
    "f16",
    a=Fragment(16, 16, ((4, 32), (8, 1)), ((2, 16), (2, 8), (2, 128))),
    b=Fragment(8, 16, ((4, 16), (8, 1)), ((2, 8), (2, 64))),
    c=_TF32.c,
    operand="float16", result="float32", values=("float16",), rounds=True,
    instruction="mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", speed=12.0,
)  # fmt: skip

_WIDE_F16 = replace(
    _F16, name="f16 of warpgroups", warps=4, capability=90, speed=16.0,
    instruction="wgmma.mma_async.sync.aligned.m64n{}k16.f32.f16.f16",
)  # fmt: skip
#: Sums modulo 2^32, so that of narrower integers they are exact.
_S8 = Atom(
    "s8",
    a=Fragment(16, 32, ((4, 64), (8, 1)), ((4, 16), (2, 8), (2, 256))),
    b=Fragment(8, 32, ((4, 32), (8, 1)), ((4, 8), (2, 128))),
    c=_TF32.c,
    operand="int8", result="int32", values=("int8",), rounds=False,
    instruction="mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", speed=24.0,
)  # fmt: skip
_U8 = replace(
    _S8, name="u8", operand="uint8", values=("uint8",), instruction="mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32"
)
#: Of factors whose terms are neighbours: elements of a byte are not turned.
_WIDE_S8, _WIDE_U8 = (
    replace(
        atom, name=f"{atom.name} of warpgroups", warps=4, capability=90, speed=32.0,
        instruction=f"wgmma.mma_async.sync.aligned.m64n{{}}k32.s32.{atom.name}.{atom.name}",
    )
    for atom in (_S8, _U8)
)  # fmt: skip

#: Modulo 2^16 and 2^32 signed integers are unsigned ones.
_BYTES_OF_2 = replace(_U8, name="u8 of 16 bits", values=("int16", "uint16"), places=2, speed=8.0)
_BYTES_OF_4 = replace(_U8, name="u8 of 32 bits", values=("int32", "uint32"), places=4, speed=2.4)

_FLOATS = (_TF32, _THREE_TF32, _WIDE_TF32, _WIDE_THREE_TF32, _F16, _WIDE_F16, _F64, _LARGE_F64, _LONG_F64)
ATOMS: dict[str, Atom] = {
    atom.name: atom for atom in (*_FLOATS, _S8, _U8, _WIDE_S8, _WIDE_U8, _BYTES_OF_2, _BYTES_OF_4)
}
