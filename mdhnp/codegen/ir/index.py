"""Index arithmetic as data: sums of products of variables and whole numbers, and the conditions on them.

An :class:`Index` is kept as a normal form, in which equal terms are one: ``(i + 2) * 3 - i`` is ``i * 2 + 6``. What is
no sum (quotients, minima, the functions of boundaries) is a :class:`IndexFunction`, which stands in a term as a
variable does. Every :class:`Var` has the range that its values lie in, so that some conditions are known to hold, or
not to. Nothing here knows how it is written in OpenCL C.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import gcd, inf
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from mdhnp.codegen.ir.values import Buffer

#: An end of a range: a whole number, or an infinite one where it is not known.
Limit = int | float


class Var(NamedTuple):
    """A variable that holds an index; with a number where several of the same stem are told apart by it.

    `low` and `high` are the least and the greatest value that it may have; `agreed` says that it is the same in all
    work-items of a group.
    """

    stem: str
    number: int | None = None
    low: Limit = -inf
    high: Limit = inf
    agreed: bool = False


class IndexFunction(NamedTuple):
    """A function of indices.

    `min`, `max`, `clamp` (into the range from the second to the third), `quotient`, `remainder` and `xor` (of what is
    not negative), the work-item's `group_id` and `local_id`, and the boundary modes, which map an index into
    ``0 … n - 1``, as `last` does, which takes all outside of it for ``n - 1``.
    """

    function: str
    arguments: tuple["Index", ...]


class IndexChoice(NamedTuple):
    """One index where all conditions hold, else another."""

    tests: tuple["Compare", ...]
    inside: "Index"
    elsewhere: "Index"


class IndexElement(NamedTuple):
    """An element of an array of whole numbers, as an index.

    With a `length` it is one of ``0 … length - 1``, and elements less than 0, if they are `counted`, are so many more.
    Without, any.
    """

    buffer: "Buffer"
    offset: "Index"
    length: int
    counted: bool = True


Atom = Var | IndexFunction | IndexChoice | IndexElement
_SIGNS = {"quotient": "//", "remainder": "%", "xor": "^"}
Sign = Literal["<", "<=", ">", ">=", "=="]


@dataclass(frozen=True, slots=True)
class Index:
    """A sum of terms, each a product of variables or calls times a whole number, plus a constant."""

    terms: tuple[tuple[tuple[Atom, ...], int], ...] = ()
    constant: int = 0

    def __add__(self, other: "Index | int") -> "Index":
        if isinstance(other, int):
            return Index(self.terms, self.constant + other) if other else self
        if not other.terms:
            return Index(self.terms, self.constant + other.constant) if other.constant else self
        if not self.terms:
            return Index(other.terms, self.constant + other.constant) if self.constant else other
        total = dict(self.terms)
        for product, factor in other.terms:
            total[product] = total.get(product, 0) + factor
        return Index(tuple([t for t in total.items() if t[1]]), self.constant + other.constant)

    def __sub__(self, other: "Index | int") -> "Index":
        return self + other * -1

    def __mul__(self, factor: "Index | int") -> "Index":
        if not isinstance(factor, int) and factor.terms:
            total = factor * self.constant + Index(self.terms) * factor.constant
            for product, number in self.terms:
                total = total + Index(tuple([(product + other, number * f) for other, f in factor.terms]))
            return total
        number = factor if isinstance(factor, int) else factor.constant
        if number == 1:
            return self
        if number == 0:
            return ZERO
        return Index(tuple([(product, f * number) for product, f in self.terms]), self.constant * number)

    def __floordiv__(self, divisor: "Index | int") -> "Index":
        """The quotient of what is not negative."""
        divisor = Index((), divisor) if isinstance(divisor, int) else divisor
        if divisor == ONE:
            return self
        known = not self.terms and not divisor.terms
        return Index((), self.constant // divisor.constant) if known else call("quotient", self, divisor)

    def __mod__(self, divisor: "Index | int") -> "Index":
        """The remainder of what is not negative."""
        divisor = Index((), divisor) if isinstance(divisor, int) else divisor
        if divisor == ONE:
            return ZERO
        known = not self.terms and not divisor.terms
        return Index((), self.constant % divisor.constant) if known else call("remainder", self, divisor)

    @property
    def known(self) -> int | None:
        return None if self.terms else self.constant

    @property
    def is_variable(self) -> bool:
        """Whether it is the value of a variable."""
        if self.constant or len(self.terms) != 1:
            return False
        (product, factor), *_ = self.terms
        return factor == 1 and len(product) == 1 and isinstance(product[0], Var)

    @property
    def divisor(self) -> int:
        """A number of which the value is a multiple; 0 where it is 0."""
        return gcd(self.constant, *[factor for _, factor in self.terms])

    def covered(self, step: int) -> "Index":
        """How many of so many points whole steps cover."""
        return self // step * step

    def parted(self, chosen: Callable[[Var], bool]) -> tuple["Index", "Index"]:
        """The terms of some variables, and the rest."""
        some = [t for t in self.terms if all(isinstance(atom, Var) and chosen(atom) for atom in t[0])]
        return Index(tuple(some)), Index(tuple([t for t in self.terms if t not in some]), self.constant)

    def range(self) -> tuple[Limit, Limit]:
        """Between which numbers the value lies."""
        low: Limit = self.constant
        high: Limit = self.constant
        for product, factor in self.terms:
            least, greatest = _range(product[0])
            for atom in product[1:]:
                ends = [0 if 0 in {a, b} else a * b for a in (least, greatest) for b in _range(atom)]
                least, greatest = min(ends), max(ends)
            if factor < 0:
                least, greatest = greatest, least
            # Infinity times a number is infinite, and no factor is 0.
            low, high = low + least * factor, high + greatest * factor
        return low, high

    def __str__(self) -> str:
        return self.written(lambda atom, _: named(atom))

    def written(self, name: Callable[[Atom, bool], str]) -> str:
        """Text of the sum; `name` is given each factor, and whether it is the first of its product."""
        parts = []
        for product, factor in self.terms:
            text = name(product[0], True)
            for atom in product[1:]:
                text += f" * {name(atom, False)}"
            if factor not in {1, -1}:
                text = f"{text} * {abs(factor)}"
            parts.append(("-" if factor < 0 else "+", text))
        if self.constant:
            # A positive constant stands before a term that is subtracted: 7 - i
            first = bool(parts) and parts[0][0] == "-" and self.constant > 0
            parts.insert(0 if first else len(parts), ("-" if self.constant < 0 else "+", str(abs(self.constant))))
        if not parts:
            return "0"
        (sign, text), *more = parts
        return "".join(["-" if sign == "-" else "", text, *(f" {sign} {text}" for sign, text in more)])


class Compare(NamedTuple):
    """A condition on indices."""

    left: Index
    sign: Sign
    right: Index

    @property
    def known(self) -> bool | None:
        """Whether it always holds (True), never (False), or is not known to do either (None)."""
        low, high = (self.left - self.right).range()
        match self.sign:
            case "<":
                always, never = high < 0, low >= 0
            case "<=":
                always, never = high <= 0, low > 0
            case ">":
                always, never = low > 0, high <= 0
            case ">=":
                always, never = low >= 0, high < 0
            case "==":
                always, never = low == high == 0, low > 0 or high < 0
        return True if always else False if never else None

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


ZERO, ONE = Index(), Index((), 1)


def named(atom: Atom) -> str:
    """The plain text of a variable or call."""
    if isinstance(atom, Var):
        return atom.stem if atom.number is None else f"{atom.stem}{atom.number}"
    if isinstance(atom, IndexElement):
        return f"{atom.buffer.name}[{atom.offset}]"
    if isinstance(atom, IndexChoice):
        return f"({' and '.join(map(str, atom.tests))} ? {atom.inside} : {atom.elsewhere})"
    if atom.function in _SIGNS:
        left, right = atom.arguments
        return f"({left} {_SIGNS[atom.function]} {right})"
    return f"{atom.function}({', '.join(map(str, atom.arguments))})"


def variable(var: Var) -> Index:
    return Index((((var,), 1),))


def constant(number: int) -> Index:
    return Index((), number)


def element_of(buffer: "Buffer", offset: Index, length: int, *, counted: bool = True) -> Index:
    return Index((((IndexElement(buffer, offset, length, counted),), 1),))


def call(function: str, *arguments: Index) -> Index:
    return Index((((IndexFunction(function, arguments),), 1),))


def least(a: Index, b: Index) -> Index:
    known = Compare(a, "<=", b).known
    return call("min", a, b) if known is None else a if known else b


def most(a: Index, b: Index) -> Index:
    known = Compare(a, ">=", b).known
    return call("max", a, b) if known is None else a if known else b


def divided(index: Index, step: int) -> tuple[Index, Index]:
    """The quotient and the remainder of what is not negative, without divisions where they can be known."""
    low, high = index.range()
    if low >= 0 and high < step:
        return ZERO, index
    if all(factor % step == 0 for _, factor in index.terms) and index.constant % step == 0:
        return Index(
            tuple([(product, factor // step) for product, factor in index.terms]), index.constant // step
        ), ZERO
    if index.constant and index.constant % step == 0:
        rest, left = divided(Index(index.terms), step)
        return rest + index.constant // step, left
    return index // step, index % step


def even_part(number: int) -> int:
    """The largest power of two that divides a number."""
    return number & -number


def clamp(value: Index, low: Index, high: Index) -> Index:
    """The nearest value in a range that is not empty."""
    if Compare(value, ">=", low).known:
        return least(value, high)
    if Compare(value, "<=", high).known:
        return most(value, low)
    return call("clamp", value, low, high)


def choice(tests: tuple[Compare, ...], inside: Index, elsewhere: Index) -> Index:
    """One index where all conditions hold, else another."""
    return Index((((IndexChoice(tests, inside, elsewhere),), 1),)) if tests else inside


def _range(atom: Atom) -> tuple[Limit, Limit]:
    if isinstance(atom, Var):
        return atom.low, atom.high
    if isinstance(atom, IndexElement):
        return (0, atom.length - 1) if atom.length else (-inf, inf)
    if isinstance(atom, IndexChoice):
        inside, elsewhere = atom.inside.range(), atom.elsewhere.range()
        return min(inside[0], elsewhere[0]), max(inside[1], elsewhere[1])
    ranges = [a.range() for a in atom.arguments]
    match atom.function:
        case "min":
            return min(low for low, _ in ranges), min(high for _, high in ranges)
        case "max":
            return max(low for low, _ in ranges), max(high for _, high in ranges)
        case "clamp":
            return ranges[1][0], ranges[2][1]
        case "quotient":
            divisor = ranges[1][0]
            return 0, ranges[0][1] // divisor if divisor > 0 and ranges[0][1] < inf else ranges[0][1]
        case "remainder":
            return 0, min(ranges[0][1], ranges[1][1] - 1)
        case "xor":
            return 0, (1 << int(max([high for _, high in ranges])).bit_length()) - 1
        case "group_id" | "local_id":
            return 0, inf
        case _:
            return 0, ranges[-1][1] - 1


def open_tests(tests: Iterable[Compare]) -> tuple[Compare, ...] | None:
    """The conditions that are not known to hold, each once; None where one of them never does."""
    found = dict.fromkeys([t for t in tests if t.known is not True])
    return None if any(t.known is False for t in found) else tuple(found)
