"""Gives indices for values of their variables; those that are asked for often are compiled to Python first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any

from mdhnp.codegen.ir.index import Atom, Compare, Index, IndexChoice, IndexElement, Var
from mdhnp.codegen.ir.statements import Not, Test

__all__ = ["MODES", "Codes", "Evaluator", "Values"]

MODES = {
    "nearest": lambda i, n: min(max(i, 0), n - 1),
    "last": lambda i, n: i if 0 <= i < n else n - 1,
    "wrap": lambda i, n: i % n,
    "reflect": lambda i, n: min(i % (2 * n), 2 * n - 1 - i % (2 * n)),
    "mirror": lambda i, n: min(i % max(2 * n - 2, 1), max(2 * n - 2, 1) - i % max(2 * n - 2, 1)),
}

#: Uses of an index from which on compiling it takes less time than evaluating it once more.
_OFTEN = 12


class Values(dict[Var, int]):
    """What variables hold; those that nothing is assigned to are sizes."""

    def __init__(self, values: Mapping[Var, int], sizes: Mapping[str, int]) -> None:
        super().__init__(values)
        self._sizes = sizes

    def __missing__(self, var: Var) -> int:
        return self._sizes[var.stem]


class _Code:
    """An index, which is held so that no other one gets its id; how often it was used; its functions."""

    __slots__ = ("checked", "index", "plain", "uses")

    def __init__(self, index: Index) -> None:
        self.index, self.uses = index, 0
        self.checked: Callable[..., int] | None = None
        self.plain: Callable[..., int] | None = None


#: By their ids: of the indices of one kernel, for all that evaluate them.
Codes = dict[int, _Code]


class Evaluator:
    """Gives indices for values of their variables, and sees that they lie in their ranges."""

    def __init__(
        self, values: Mapping[Var, int], sizes: Mapping[str, int] | None = None, codes: Codes | None = None
    ) -> None:
        self._sizes = sizes or {}
        self._env = Values(values, self._sizes)
        self._ids: dict[str, int] = {}
        self._strict = True
        self._codes: Codes = {} if codes is None else codes

    def index(self, index: Index) -> int:
        code = self._codes.get(id(index))
        if code is None:
            code = self._codes[id(index)] = _Code(index)
        code.uses += 1
        if code.uses < _OFTEN:
            return self._slowly(index)
        if self._strict:
            function = code.checked = code.checked or _Source(checked=True).function(index)
        else:
            function = code.plain = code.plain or _Source(checked=False).function(index)
        return function(self, self._env, self._ids)

    def _slowly(self, index: Index) -> int:
        total = index.constant
        for atoms, factor in index.terms:
            for atom in atoms:
                factor *= self._atom(atom)
            total += factor
        if self._strict:
            low, high = index.range()
            if not low <= total <= high:
                _outside(index, total)
        return total

    def _atom(self, atom: Atom) -> int:
        if isinstance(atom, Var):
            return self._env[atom]
        if isinstance(atom, IndexElement):
            return self._element(atom)
        if isinstance(atom, IndexChoice):
            return self.index(atom.inside if self.hold(atom.tests) else atom.elsewhere)
        if atom.function in self._ids:
            return self._ids[atom.function]
        return _FUNCTIONS[atom.function](*[self.index(a) for a in atom.arguments])

    def _element(self, atom: IndexElement) -> int:
        """An element that is an index: where nothing is known of memory, the one that may be added to most."""
        self.index(atom.offset)
        return 0

    def hold(self, tests: Iterable[Test]) -> bool:
        """Whether conditions hold; those on values may."""
        for t in tests:
            if isinstance(t, Compare) and not _SIGNS[t.sign](self.index(t.left), self.index(t.right)):
                return False
            if isinstance(t, Not) and self.hold(t.tests):
                return False
        return True


_SIGNS = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__}


def _quotient(a: int, b: int) -> int:
    assert a >= 0 and b > 0, "division of what may be negative"
    return a // b


def _remainder(a: int, b: int) -> int:
    assert a >= 0 and b > 0, "division of what may be negative"
    return a % b


def _clamp(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


_FUNCTIONS: dict[str, Callable[..., int]] = {
    **MODES, "min": min, "max": max, "clamp": _clamp, "quotient": _quotient, "remainder": _remainder,
    "xor": int.__xor__,
}  # fmt: skip


def _outside(index: Index, total: int) -> int:
    low, high = index.range()
    raise AssertionError(f"{index} is {total}, which its range {low} … {high} has not")


class _Source:
    """Writes an index as a Python function of an evaluator, its variables and its ids; `checked` sees ranges."""

    def __init__(self, *, checked: bool) -> None:
        self._checked = checked
        self._names: dict[str, Any] = {**_FUNCTIONS, "outside": _outside}
        self._totals = 0

    def function(self, index: Index) -> Callable[..., int]:
        return eval(f"lambda s, e, i: {self._index(index)}", self._names)  # type: ignore[no-any-return]

    def _named(self, thing: Any) -> str:
        name = f"x{len(self._names)}"
        self._names[name] = thing
        return name

    def _index(self, index: Index) -> str:
        parts = ["*".join([*map(self._atom, atoms), f"({factor})"][: None if factor != 1 else -1])
                 for atoms, factor in index.terms]  # fmt: skip
        text = " + ".join([*parts, f"({index.constant})"] if index.constant or not parts else parts)
        low, high = index.range()
        if not self._checked or not parts or (low == -inf and high == inf):
            return f"({text})"
        self._totals += 1
        total = f"t{self._totals}"
        test = f"({total} := {text})"
        test = f"{low} <= {test}" if low > -inf else test
        test = f"{test} <= {high}" if high < inf else test
        return f"({total} if {test} else outside({self._named(index)}, {total}))"

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Var):
            return f"e[{self._named(atom)}]"
        if isinstance(atom, IndexElement):
            return f"s._element({self._named(atom)})"
        if isinstance(atom, IndexChoice):
            tests = " and ".join([f"{self._index(t.left)} {t.sign} {self._index(t.right)}" for t in atom.tests])
            return f"({self._index(atom.inside)} if {tests or True} else {self._index(atom.elsewhere)})"
        if atom.function in ("group_id", "local_id"):
            return f"i[{atom.function!r}]"
        return f"{atom.function}({', '.join(map(self._index, atom.arguments))})"
