"""Index arithmetic and conditions on it in OpenCL C, and the names of variables."""

from collections import Counter
from collections.abc import Iterable

from mdhnp.codegen.ir.index import Atom, Call, Choice, Compare, Index, Var
from mdhnp.codegen.ir.values import Register
from mdhnp.codegen.opencl.prelude import Helpers

__all__ = ["Indices"]

_IDS = {"group_id": "get_group_id(0)", "local_id": "get_local_id(0)"}
_DIVISIONS = {"quotient": "/", "remainder": "%"}


class Indices:
    """Writes the indices of one kernel, and gives its variables numbers in the order in which they are declared."""

    def __init__(self, helpers: Helpers, wide: bool) -> None:
        self._helpers = helpers
        self._wide = wide
        self._names: dict[tuple[str, int | None], str] = {}
        self._counts: Counter[str] = Counter()
        #: The type of indices.
        self.kind = "long" if wide else "int"

    def declare(self, target: Var | Register) -> str:
        """Name a variable that is declared here."""
        stem, number = target.stem, target.number
        if number is None:
            return stem
        name = f"{stem}{self._counts[stem]}"
        self._counts[stem] += 1
        self._names[stem, number] = name
        return name

    def name(self, target: Var | Register) -> str:
        return target.stem if target.number is None else self._names[target.stem, target.number]

    def index(self, index: Index) -> str:
        return index.written(self._atom)

    def tests(self, tests: Iterable[Compare]) -> str:
        return " && ".join([self.test(t) for t in tests])

    def test(self, test: Compare) -> str:
        return f"{self.index(test.left)} {test.sign} {self.index(test.right)}"

    def _atom(self, atom: Atom, first: bool) -> str:
        """Write a factor of a product; divisions need no parentheses where they come first."""
        if isinstance(atom, Var):
            return self.name(atom)
        if isinstance(atom, Choice):
            tests, inside, elsewhere = self.tests(atom.tests), self.index(atom.inside), self.index(atom.elsewhere)
            return f"({tests} ? {inside} : {elsewhere})"
        if atom.function in _IDS:
            return _IDS[atom.function]
        if atom.function in _DIVISIONS:
            text = self._division(atom)
            return text if first else f"({text})"
        if atom.function in {"min", "max", "clamp"}:
            return f"{atom.function}({', '.join([self._argument(a) for a in atom.arguments])})"
        function = self._helpers.boundary(atom.function)
        return f"{function}({', '.join(map(self.index, atom.arguments))})"

    def _argument(self, index: Index) -> str:
        """Write an argument of a function whose arguments must be of one type."""
        return f"{self.index(index)}l" if self._wide and not index.terms else self.index(index)

    def _division(self, division: Call) -> str:
        left, right = division.arguments
        one_term = len(left.terms) == 1 and not left.constant and left.terms[0][1] > 0
        above = self.index(left) if one_term else f"({self.index(left)})"
        below = self.index(right)
        if right.terms and not right.is_variable:
            below = f"({below})"
        return f"{above} {_DIVISIONS[division.function]} {below}"
