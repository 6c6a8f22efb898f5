"""The loop-level IR: the statements of one kernel, before anything of OpenCL C is written.

Read this file first. A :class:`Procedure` is a kernel: its buffers, and its body, a tuple of statements. What
statements compute with is in `values.py`, the indices of loops and memory in `index.py`. All nodes are frozen, and
compare as data. `builder.py` makes them in order, `passes.py` changes them, `show.py` prints them, and the renderer in
`opencl/` writes them. A variable that is declared in a body is known until the body ends.
"""

from dataclasses import dataclass
from typing import Literal

from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var
from mdhnp.codegen.ir.values import Buffer, CTextCall, Load, Outside, Register, Value


@dataclass(frozen=True, slots=True)
class Truth:
    """A boolean value as a condition."""

    value: Value


@dataclass(frozen=True, slots=True)
class Not:
    """That not all of some conditions hold."""

    tests: tuple[Compare, ...]


Test = Compare | Truth | Not


@dataclass(frozen=True, slots=True)
class Scope:
    """Statements with names of their own."""

    body: "Body"


@dataclass(frozen=True, slots=True)
class For:
    """A loop: while `test` holds of `var`, which is `begin` at first (where None, what it was) and then `following`."""

    var: Var
    begin: Index | None
    test: Compare
    following: Index
    body: "Body | Copy"


@dataclass(frozen=True, slots=True)
class If:
    """What to do where all conditions hold, and where not."""

    tests: tuple[Test, ...]
    inside: "Body"
    elsewhere: "Body" = ()


@dataclass(frozen=True, slots=True)
class Let:
    """A name for a value or an index, which stays as it is."""

    target: Register | Var
    value: Value | Index
    #: Who must not know what an index follows from: NVIDIA's compiler, or its assembler, too, so that what is made of
    #: it is computed in each round of a loop, and takes no registers in between.
    unknown_to: Literal["", "compiler", "assembler"] = ""


@dataclass(frozen=True, slots=True)
class Declare:
    """A variable and what it holds at first."""

    target: Register | Var
    value: Value | Index


@dataclass(frozen=True, slots=True)
class Assign:
    """A variable's new value."""

    target: Register | Var
    value: Value | Index


@dataclass(frozen=True, slots=True)
class Store:
    """Write a value to a buffer."""

    #: As of :class:`Load`.
    buffer: Buffer
    offset: Index
    #: A scalar or a vector.
    value: Value
    stride: Index = ZERO
    #: How many lanes are written, if not all.
    valid: Index | None = None
    #: How many lanes at the beginning are not written, if any.
    done: Index | None = None
    #: What is written by turns with the lanes of `value`, if anything: the imaginary parts of complex numbers.
    imaginary: Value | None = None


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Have the cache line of an element under way, soon read or `changed`; it may lie outside of the buffer."""

    buffer: Buffer
    offset: Index
    changed: bool


@dataclass(frozen=True, slots=True)
class StoreWords:
    """Write 16 bytes of neighbours, given as four words, at once where the array begins at a multiple of these."""

    buffer: Buffer
    #: Number of the first element, a multiple of as many.
    at: Index
    words: tuple[Register, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy an element, or neighbours, from one buffer to another; or write the constant outside of an array."""

    #: Where to: the number of the first element, a multiple of the lanes of `source`.
    target: Buffer
    at: Index
    #: From where. Lanes are neighbours in both buffers.
    source: Load | Outside
    #: Whether the work-item goes on before they are there: see :class:`Wait`.
    asynchronous: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """The work-item's asynchronous copies since the last one are a group."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The work-item waits until no more than so many groups of its asynchronous copies, the last ones, are under way.

    What other work-items have copied is there behind the next barrier.
    """

    pending: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A loop whose work reads local buffers that are filled some rounds ahead.

    Each local buffer has as many slots as there are `stages`, and each round has one of them; `fill` and `work` name
    the slot of their round themselves.
    """

    #: The number of the round that `fill` fills for, and of the one that does the `work`.
    filled: Var
    round: Var
    #: How many there are.
    rounds: Index
    #: At least 2: a buffer is filled so many rounds, less one, ahead.
    stages: int
    #: Whether the copies of `fill` are.
    asynchronous: bool
    #: What they do. Nobody waits for others in either.
    fill: "Body"
    work: "Body"
    #: Work-items behind the others that fill, while those only work; 0 where all do both.
    producers: int = 0
    #: What producers make of a round's buffers, if anything, in buffers with two slots. The others read
    #: that, and those buffers that are not the source of it.
    prepare: "Body" = ()
    #: Registers of a work-item that works, and of a producer; None where nothing has to be shared out.
    registers: tuple[int, int] | None = None


#: Stages from which on a pipeline without producers starts copies behind the work of a round; then `fill` is also for
#: rounds beyond the last one, for which nothing is copied.
MANY_STAGES = 4


@dataclass(frozen=True, slots=True)
class Roles:
    """The first so many work-items of a group do the `work`, those behind them, the producers, `fill`."""

    workers: int
    work: "Body"
    fill: "Body"
    #: Of a work-item of the first ones, and of the others, as in :class:`Pipeline`.
    registers: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """So many work-items of a group come here, of which those that do not `wait` go on at once.

    The others go on when all have come, and see what these wrote to local memory before.
    """

    #: Which of a group's barriers it is, from 1 to 15.
    number: Index
    items: int
    wait: bool = True


@dataclass(frozen=True, slots=True)
class Publish:
    """Instructions that read matrices from local memory see what the work-item wrote there before."""


@dataclass(frozen=True, slots=True)
class Transpose:
    """Copy a square block, turned: rows `source_stride` apart become rows `stride` apart."""

    target: Buffer
    at: Index
    stride: Index
    source: Buffer
    source_at: Index
    source_stride: Index
    lanes: int


@dataclass(frozen=True, slots=True)
class Clear:
    """Set all elements of a local buffer to 0."""

    buffer: Buffer
    size: int


@dataclass(frozen=True, slots=True)
class FillLanes:
    """Load the lanes of a new vector one by one, each with `lane` set to its number; booleans as bytes."""

    target: Register
    lane: Var
    element: Load | Outside


@dataclass(frozen=True, slots=True)
class CallInto:
    """Call a scalar function given as OpenCL C, which has several results; these are new variables."""

    call: CTextCall
    results: tuple[Register, ...]


@dataclass(frozen=True, slots=True)
class LoadMatrix:
    """Load blocks of 8 rows of 16 bytes from local memory, by a subgroup of 32 together.

    Of each block a work-item gets one register: of row n // 4 the 4 bytes number n % 4, if n is its number in the
    subgroup; where blocks are `turned`, as a matrix of 2-byte elements, those of the transposed block.
    """

    #: New variables, one for each of the 2 or 4 blocks. A register of integers has 4 bytes of smaller elements.
    into: tuple[Register, ...]
    #: Where a row begins that the work-item points at: row n % 8 of block n // 8, a multiple of 16 bytes.
    buffer: Buffer
    at: Index
    #: See there.
    turned: bool


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """Add a product of matrices to one whose elements are in registers of several work-items."""

    #: The instruction; see :data:`mdhnp.schedule.atoms.ATOMS`.
    atom: str
    #: The work-item's elements of the sum, pairs of neighbours of a row.
    into: tuple[Register, ...]
    #: Its elements of the factors.
    a: tuple[Value, ...]
    b: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A factor of wide products in local memory: blocks of 8 rows or columns of it by 16 bytes of terms.

    The 16 bytes of each row or column follow each other. Or it lies, `swizzled`, as rows of so many bytes, 32, 64 or
    128, of terms; of rows or columns where it is `turned`. Of an address's bits there, those of 16 bytes in a row are
    exclusive or with those of 128 bytes.
    """

    buffer: Buffer
    #: Where it begins, in elements.
    at: Index
    #: How far blocks that are neighbours along rows or columns, and along terms, lie apart, in bytes.
    beside: int
    below: int
    swizzled: int = 0
    turned: bool = False


@dataclass(frozen=True, slots=True)
class WideProduct:
    """One of :class:`WideProducts`: into += a times b."""

    #: For each 8 columns the work-item's pairs of them, one of each of its rows.
    into: tuple[Register, ...]
    #: The work-item's elements of the first factor, or all of it.
    a: tuple[Value, ...] | Matrix
    b: Matrix
    #: Whether it is subtracted.
    negated: bool = False


@dataclass(frozen=True, slots=True)
class WideProducts:
    """Begin to add products of matrices to such whose elements are in registers of several subgroups."""

    #: The instruction; see :data:`mdhnp.schedule.atoms.ATOMS`.
    atom: str
    products: tuple[WideProduct, ...]


@dataclass(frozen=True, slots=True)
class WaitProducts:
    """The work-item waits until no more than so many of its :class:`WideProducts`, the last ones, are under way.

    Compilers do not know that `sums` change until then: nothing that uses them is to be moved before.
    """

    pending: int = 0
    sums: tuple[tuple[Register, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class AllocLocal:
    """A local buffer of so many elements; if it is `aligned`, it begins at a multiple of so many bytes."""

    buffer: Buffer
    size: int
    aligned: int = 0


@dataclass(frozen=True, slots=True)
class Barrier:
    """All work-items of a group wait here for each other, and see what the others wrote to local memory.

    `between` names the buffers whose accesses before and behind it must not change places.
    """

    between: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comment:
    """A line for the reader."""

    text: str


Stmt = (
    Scope | For | If | Let | Declare | Assign | Store | StoreWords | Copy | Transpose | Clear | FillLanes | CallInto
    | AllocLocal | Barrier | Comment | Commit | Wait | Pipeline | LoadMatrix | MatrixProduct | WideProducts
    | WaitProducts | Roles | NamedBarrier | Publish | Prefetch
)  # fmt: skip


Body = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Procedure:
    """A kernel."""

    #: Its name.
    name: str
    #: What it computes.
    title: str
    #: Work-items of a group.
    work_items: int
    #: Size of its widest vectors.
    vector_bytes: int
    #: Whether a product and a sum may be one operation with one rounding.
    contract: bool
    #: Whether indices need 64 bits.
    wide: bool
    #: Whether vectors of which some lanes lie outside are read and written in place. That takes most of the time of
    #: compiling a kernel.
    inline_borders: bool
    #: Its arguments; none of them overlaps another.
    buffers: tuple[Buffer, ...]
    #: Names of further arguments: indices that are known when it is launched.
    sizes: tuple[str, ...]
    #: Those of the buffers that begin somewhere in what is passed; how many bytes further on is an argument each.
    moved: tuple[Buffer, ...]
    #: Second names of buffers.
    aliases: tuple[tuple[Buffer, Buffer], ...]
    #: What it does.
    body: Body
