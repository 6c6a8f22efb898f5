"""Small changes of the pure folders' code, one at a time: what `mutation.py` asks the tests about.

Changed are operators, comparisons, conditions, constants, calls, returned values and statements, and operators inside
of the strings that become OpenCL C; not docstrings, types, messages and what is shown to people. Needs Python 3.12.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "Mutant", "mutated", "sample"]

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("mdh", "schedule", "codegen")

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "//", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "reversed": "list", "sorted": "list", "abs": "int"}
#: In strings, most of which reach the generated text.
_IN_TEXT = (
    (" <= ", " < "), (" < ", " <= "), (" >= ", " > "), (" == ", " != "), (" + ", " - "), (" - ", " + "),
    (" * ", " + "), (" / ", " * "), (" % ", " / "), (" && ", " || "), (" || ", " && "), ("min(", "max("),
    ("max(", "min("),
)  # fmt: skip
#: Functions that write for people.
_SHOWN = ("__repr__", "__str__", "show", "_show")


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the bytes `begin` to `end` are replaced."""

    path: str
    line: int
    begin: int
    end: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """What it is known by in the results."""
        return f"{self.path}:{self.line}:{self.begin}:{self.after}"


class _Finder(ast.NodeVisitor):
    """Collects every mutant of a file."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []

    def span(self, node: Any) -> tuple[int, int]:
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: Any) -> str:
        begin, end = self.span(node)
        return self.source[begin:end].decode()

    def replace(self, node: Any, after: str, begin: int | None = None, end: int | None = None) -> None:
        first, last = self.span(node)
        begin, end = first if begin is None else begin, last if end is None else end
        before = self.source[begin:end].decode()
        if before != after:
            self.found.append(Mutant(self.path, node.lineno, begin, end, before, after))

    def between(self, left: Any, right: Any, after: str) -> None:
        """Replace the operator between two operands, and keep parentheses around them."""
        begin, end = self.span(left)[1], self.span(right)[0]
        gap = self.source[begin:end].decode()
        kept = "".join(c for c in gap if c in "()\n")
        closing, opening = kept.partition("(")[0], "(" * kept.count("(")
        if "#" not in gap:
            self.replace(left, f"{closing} {after} {opening}", begin, end)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in _SHOWN and not self.path.startswith("mdhnp/codegen/"):
            return
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.visit(default)
        self.body(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.body(node.body)

    def visit_Module(self, node: ast.Module) -> None:
        self.body(node.body)

    def body(self, statements: Sequence[ast.stmt]) -> None:
        for s in statements:
            if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)):  # docstrings
                self.visit(s)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.replace(node, "pass")  # and nothing in its message

    def visit_Import(self, node: ast.Import) -> None:
        """Nothing."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Nothing."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Nothing: they say what is known."""

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if not (isinstance(target, ast.Name) and (target.id == "__all__" or "TypeVar" in self.text(node.value))):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Yield | ast.YieldFrom):
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.replace(node, "return None")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.replace(node, "break")

    def visit_Break(self, node: ast.Break) -> None:
        self.replace(node, "continue")

    def condition(self, test: ast.expr) -> None:
        self.replace(test, f"(not ({self.text(test)}))")
        self.visit(test)

    def visit_If(self, node: ast.If) -> None:
        self.condition(node.test)
        self.body(node.body)
        self.body(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.condition(node.test)
        self.body(node.body)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.condition(node.test)
        self.visit(node.body)
        self.visit(node.orelse)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.visit(node.iter)
        for test in node.ifs:
            self.condition(test)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, "or" if isinstance(node.op, ast.And) else "and")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip((node.left, *node.comparators), node.ops, node.comparators, strict=False):
            self.between(left, right, _COMPARE[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _BINARY:
            self.between(node.left, node.right, _BINARY[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.replace(node, f"({self.text(node.operand)})")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            self.replace(node.func, _CALLS[node.func.id])
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip: it says what is known, as assert does
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Slice) and (node.slice.lower or node.slice.upper):
            self.replace(node.slice, ":")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.replace(node, repr(not value))
        elif isinstance(value, int):
            self.replace(node, repr(value + 1))
            self.replace(node, f"({value - 1})")
        elif isinstance(value, float):
            self.replace(node, repr(value * 2 + 1))
        elif isinstance(value, str) and value:
            self.string(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)
            else:
                self.swaps(part)

    def string(self, node: ast.expr) -> None:
        if not self.swaps(node):
            self.replace(node, '""')

    def swaps(self, node: ast.expr) -> bool:
        """Change each operator in a string; say if there was one."""
        begin, text = self.span(node)[0], self.text(node)
        places = [(m.start(), old, new) for old, new in _IN_TEXT for m in re.finditer(re.escape(old), text)]
        for place, old, new in places:
            first = begin + len(text[:place].encode())
            self.replace(node, new, first, first + len(old.encode()))
        return bool(places)


def mutants(path: Path) -> list[Mutant]:
    """Every mutant of a file that is still Python."""
    source = path.read_bytes()
    finder = _Finder(str(path.relative_to(ROOT)), source)
    finder.visit(ast.parse(source))
    found = {m.key: m for m in finder.found}
    return [m for m in found.values() if _compiles(mutated(source, m))]


def mutated(source: bytes, m: Mutant) -> bytes:
    """The file's text with the change."""
    return source[: m.begin] + m.after.encode() + source[m.end :]


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def sample(count: int, seed: int) -> list[Mutant]:
    """A random choice of that many, from each file in proportion to its lines of code."""
    paths = [
        p for folder in FOLDERS for p in sorted((ROOT / "mdhnp" / folder).rglob("*.py")) if p.name != "__init__.py"
    ]
    lines = [_code_lines(p) for p in paths]
    chosen: list[Mutant] = []
    for path, n in zip(paths, lines, strict=True):
        every = mutants(path)
        wanted = min(len(every), max(1, round(count * n / sum(lines))))
        chosen += random.Random(f"{seed} {path.name}").sample(every, wanted)
    random.Random(seed).shuffle(chosen)
    return chosen


def _code_lines(path: Path) -> int:
    """Lines with a statement or expression on them, docstrings left out."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.expr) and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            found.add(node.lineno)
    return len(found)
