"""Reads views as they are written down: ``A[i,k], B[k,j]``, and, where elements are indices, ``T[idx[i],j]``."""

import ast
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mdhnp.mdh.views import Access, Affine, Indirect, Slice


class Buffer(NamedTuple):
    """An array that is named, and its accesses: first those that give parameters, `given`, then those of indices."""

    name: str
    accesses: tuple[Access, ...]
    given: int


def buffers(text: str, names: tuple[str, ...], ends: Sequence[str] = ()) -> tuple[Buffer, ...]:
    """Read accesses in dimensions of these names; arrays come in the order in which they are named.

    Those of `ends` are no parameters of functions, and come behind all others. Raises ValueError for what is none.

    Examples
    --------
    >>> table, rows = buffers("T[idx[i],j]", ("i", "j"))
    >>> table.name, rows.name, rows.given
    ('T', 'idx', 0)
    """
    nodes = _nodes(text)
    reader = _Reader(names, nodes, [node for each in ends for node in _nodes(each)])
    given: dict[str, list[Access]] = {name: [] for name in reader.sources}
    for node in nodes:
        given[_name(node)].append(reader.access(node))
    return tuple([Buffer(name, (*given[name], *more), len(given[name])) for name, more in reader.sources.items()])


def sources(text: str) -> tuple[str, ...]:
    """Give the accesses of which elements are indices of those in a text.

    Examples
    --------
    >>> sources("Y[s[i],j], z[i]")
    ('s[i]',)
    """
    return tuple([ast.unparse(n) for node in _nodes(text) for n in _subscripts(node) if n is not node])


def _nodes(text: str) -> list[ast.Subscript]:
    try:
        tree = ast.parse(f"({text.replace('[]', '[()]')},)", mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"views: {text.strip()!r} is not a list of accesses such as A[i,k]") from error
    return [_named(node) for node in (tree.elts if isinstance(tree, ast.Tuple) else [])]


def _subscripts(node: ast.AST) -> list[ast.Subscript]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Subscript)]


def _named(node: ast.expr) -> ast.Subscript:
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        raise ValueError(f"views: {ast.unparse(node)!r} is not an access such as A[i,k]")
    return node


def _name(node: ast.Subscript) -> str:
    assert isinstance(node.value, ast.Name)
    return node.value.id


class _Reader:
    """Reads accesses, and collects those that give indices."""

    def __init__(self, names: tuple[str, ...], nodes: list[ast.Subscript], ends: list[ast.Subscript]) -> None:
        self._names = names
        self._given = Counter(map(_name, nodes))
        inner = [n for node in (*nodes, *ends) for n in _subscripts(node)]
        #: By array, in the order in which they are named: accesses that give indices, or where points end.
        self.sources: dict[str, list[Access]] = {_name(_named(n)): [] for n in inner}
        for node in ends:
            self.sources[_name(node)].append(self.access(node))

    def access(self, node: ast.Subscript) -> Access:
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        access = tuple([self._index(i) for i in indices])
        for index in access:
            if any(not -(2**63) <= c < 2**63 for c in (*index.coefficients, index.constant)):
                raise ValueError(f"views: {ast.unparse(node)!r} has a number beyond 64 bits")
        return access

    def _index(self, node: ast.expr) -> Affine:
        rank = len(self._names)
        match node:
            case ast.Name(id=name) if name in self._names:
                return Affine.of(self._names.index(name), rank)
            case ast.Name(id=name):
                raise ValueError(f"views: index {name!r} is none of the dimensions {', '.join(self._names)}")
            case ast.Subscript():
                return self._element(_named(node))
            case ast.Slice(lower=None, upper=None, step=None):
                return Slice((0,) * rank)
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return Affine((0,) * rank, value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._index(operand) * -1
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                one, other = self._index(left), self._index(right)
                return other + one if isinstance(other, Indirect) else one + other
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self._index(left) + self._index(right) * -1
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                a, b = self._index(left), self._index(right)
                if not a.dims():
                    return b * a.constant
                if not b.dims():
                    return a * b.constant
        known = "sums of dimensions times whole numbers, and one element of an array"
        raise ValueError(f"views: index {ast.unparse(node)!r} is not affine ({known})")

    def _element(self, node: ast.Subscript) -> Indirect:
        """An element of an array as an index."""
        name, access, rank = _name(node), self.access(node), len(self._names)
        if any([isinstance(i, Slice) for i in access]):
            raise ValueError(f"views: {ast.unparse(node)!r} is no element that could be an index")
        known = self.sources[name]
        if access not in known:
            known.append(access)
        number = list(self.sources).index(name), self._given[name] + known.index(access)
        moving = {d for i in access for d in i.dims()}
        return Indirect((0,) * rank, 0, number, tuple([d in moving for d in range(rank)]))
