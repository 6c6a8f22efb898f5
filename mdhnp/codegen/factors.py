"""Numbers as matrix instructions take them, in parts or rounded, and the doubt whether the parts are what they are.

Units that multiply fewer bits take each factor in two parts, x = high + low, and three products (source: Ootomo and
Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak
performance", 2022). That fails for numbers whose low part is too small for the unit, and for infinities, so the factors
are watched; where one is such, the work-group computes its results again, by multiply-adds.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from mdhnp.codegen.access import Context
from mdhnp.codegen.ir.index import ZERO, Compare, variable
from mdhnp.codegen.ir.statements import AllocLocal, Copy, Store, Truth
from mdhnp.codegen.ir.values import BOOL, Apply, Buffer, Const, Load, Outside, Register, Value, half
from mdhnp.codegen.reduce import Accumulators, start
from mdhnp.codegen.scalar import applied
from mdhnp.schedule.atoms import ATOMS, Atom
from mdhnp.schedule.layout import is_wide

BITS = np.dtype(np.uint32)
#: Twice the bits of a float32, less one, are below this for 0 < |x| < 2^-102: the last bit of its low part may be below
#: 2^-126, where a unit need not tell numbers from 0.
_SMALLEST = (25 << 24) - 1
_MOST = 2**32 - 1
#: A little more than 1: times that the largest float is infinite, and what a thousand cuts leave of it.
_MORE = "1.0001220703125"
#: Whether some work-item of the group doubts its results.
_DOUBT = Buffer("doubtful_l", np.dtype(np.int32), "local", values=1)


def declare_doubt(c: Context) -> None:
    """Declare what work-items tell each other of their factors; at the kernel's beginning, as all local memory."""
    if c.s.atom and ATOMS[c.s.atom].split:
        c.build.add(AllocLocal(_DOUBT, 1))


def watch(c: Context) -> Register | None:
    """Declare what is known of the factors, where their parts may not be what they are."""
    if not ATOMS[c.s.atom].split:
        return None
    if is_wide(c.s):
        _no_doubt(c)  # producers may, before anybody else
    return found_least(c)


def _no_doubt(c: Context) -> None:
    with c.build.when([Compare(variable(c.item_id), "==", ZERO)]):
        c.build.add(Store(_DOUBT, ZERO, Const("0", _DOUBT.dtype)))


def is_small(watched: Register) -> Value:
    return Apply("less", (watched, Const(str(_SMALLEST), BITS)), BOOL)


def found_least(c: Context) -> Register:
    """Declare what is least of the factors that are looked at."""
    return c.build.declare("least", Const(str(_MOST), BITS))


def doubt_where(c: Context, strange: Value) -> None:
    """Tell the others where some factor may not be the sum of its parts."""
    with c.build.when([Truth(strange)]):
        c.build.add(Copy(_DOUBT, ZERO, Outside("1", _DOUBT.dtype)))


def look(c: Context, watched: Register, values: Sequence[Value], below: str = "") -> None:
    """Remember the least of some factors that is not 0, as if it were less where one is not below a limit."""
    for value in values:
        bits = Apply("bits", (value,), BITS)
        twice = Apply("subtract", (Apply("add", (bits, bits), BITS), Const("1", BITS)), BITS)
        if below:
            inside = Apply("less", (applied("absolute", value), Const(below, value.dtype)), BOOL)
            twice = applied("where", inside, twice, Const("0", BITS))
        c.build.assign(watched, Apply("minimum", (watched, twice), BITS))


def parts(c: Context, atom: Atom, stem: str, number: int, values: tuple[Value, ...]) -> tuple[tuple[Value, ...], ...]:
    """Elements of an input as the unit takes them: rounded, or bytes, or high and low parts, then themselves."""
    if c.h.inputs[number].dtype.name not in atom.values:
        return (tuple([c.build.name(f"{stem}_rounded", _rounded(v, atom.bits)) for v in values]),)
    if atom.places > 1:
        return tuple([_bytes(c, atom, stem, n, values) for n in range(atom.places)])
    if not atom.split:
        return (values,)
    high = [c.build.name(f"{stem}_high", _high(v, atom.bits)) for v in values]
    low = [c.build.name(f"{stem}_low", applied("subtract", v, h)) for v, h in zip(values, high, strict=True)]
    return tuple(high), tuple(low), values


def _bytes(c: Context, atom: Atom, stem: str, byte: int, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """A byte of each integer, several in a register."""
    number, each = Const(str(byte), BITS), atom.packed
    some = [(*values[n : n + each], number) for n in range(0, len(values), each)]
    return tuple([c.build.name(f"{stem}_byte", Apply("pack_bytes", args, BITS)) for args in some])


def _high(value: Value, bits: int) -> Value:
    """As many of a float's bits as the unit takes."""
    return Apply("high_bits", (value, Const(str(bits), BITS)), value.dtype)


def _rounded(value: Value, bits: int) -> Value:
    """Give a float with as many bits as the unit takes; NaN as it is, since a carry may make it a number."""
    return applied("where", Apply("equal", (value, value), BOOL), _high(value, bits), value)


def nothing(sums: Value) -> Value:
    """Give 0, but NaN where a sum is not finite, or so large that it may have been cut off there."""
    for factor in (_MORE, "0.0"):
        sums = Apply("multiply", (sums, start(factor, sums.dtype, sums.lanes)), sums.dtype, sums.lanes)
    return sums


def doubtful(c: Context, total: Accumulators, watched: Register) -> Value:
    """Whether some work-item of the group has seen a factor that is not the sum of its parts, or has no finite results.

    A factor that is not finite makes results that are not. Where sums are cut off, what is too large may become the
    largest float.
    """
    b = c.build
    if not is_wide(c.s):
        _no_doubt(c)
    summed: Value | None = None
    for result in chain(*total.values):
        none = nothing(result)
        summed = none if summed is None else Apply("add", (summed, none), result.dtype, result.lanes)
    assert summed is not None
    pair = b.name("nothing", summed)
    halves = [half(pair, 1, upper=upper) for upper in (False, True)]
    small = is_small(watched)
    first, second = (Apply("not_equal", (h, Const("0.0", h.dtype)), BOOL) for h in halves)
    strange = Apply("logical_or", (small, Apply("logical_or", (first, second), BOOL)), BOOL)
    return _agreed(c, strange)


def somebody_finds(c: Context, strange: Value) -> Value:
    """Whether some work-item of the group finds something strange."""
    _no_doubt(c)
    return _agreed(c, strange)


def _agreed(c: Context, strange: Value) -> Value:
    doubt_where(c, strange)
    return Apply("not_equal", (Load(_DOUBT, ZERO), Const("0", _DOUBT.dtype)), BOOL)
