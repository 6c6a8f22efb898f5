"""What statements read and write of local memory."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple, get_args

from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir.index import Index, Limit, Var
from mdhnp.codegen.ir.values import Buffer, Load, LoadRow, Value

#: Names of the fields of each kind of node.
FIELDS = {
    kind: tuple([f.name for f in fields(kind)])
    for kind in (*get_args(st.Stmt), *get_args(Value), st.Truth, st.WideProduct, st.Matrix)
}


class Element(NamedTuple):
    """An element of a local buffer: a part on which all work-items agree, and the range of the rest."""

    agreed: Index
    low: Limit
    high: Limit


class Access(NamedTuple):
    """One access of a local buffer: how (`read`, `store`, or `copy`, of an element that nobody else changes), where.

    The place is None where it is not known as a single one; `phase` is the buffer's, as it is accessed.
    """

    buffer: Buffer
    how: str
    at: Element | None
    phase: int = 0


class Accesses:
    """Finds what statements access, and remembers it."""

    def __init__(self) -> None:
        self._known: dict[int, _Summary] = {}

    def of(self, s: st.Stmt) -> "_Summary":
        known = self._known.get(id(s))
        if known is not None:
            return known
        found: dict[Access, None] = {}
        changes = isinstance(s, st.Assign) and isinstance(s.target, Var)
        inner = bodies(s)
        for body in inner:
            for one in map(self.of, body):
                found |= dict.fromkeys(one.accesses)
                changes |= one.changes
        if isinstance(s, st.If):
            _collect(s.tests, found)
        elif not inner:
            _collect(s, found)
        if inner and changes:
            # What stands in a place is another one before and behind the change.
            found = dict.fromkeys([a._replace(at=None) for a in found])
        if isinstance(s, st.For):  # behind it, and in the next round
            moving = [a.at is not None and any([s.var in term for term, _ in a.at.agreed.terms]) for a in found]
            found = dict.fromkeys([a._replace(at=None) if m else a for a, m in zip(found, moving, strict=True)])
        self._known[id(s)] = _Summary(s, tuple(found), changes)
        return self._known[id(s)]


class _Summary(NamedTuple):
    """A statement (which is held, so that nothing else gets its id), and whether it changes an index of others."""

    statement: st.Stmt
    accesses: tuple[Access, ...]
    changes: bool


#: Names of the bodies of each kind of statement that has some.
_BODIES = {
    st.Scope: ("body",),
    st.For: ("body",),
    st.If: ("inside", "elsewhere"),
    st.Pipeline: ("fill", "prepare", "work"),
    st.Roles: ("work", "fill"),
}


def bodies(s: st.Stmt) -> tuple[st.Body, ...]:
    """Give the bodies inside of a statement; the copy that a loop may be of is one."""
    found = [getattr(s, name) for name in _BODIES.get(type(s), ())]
    return tuple([body if isinstance(body, tuple) else (body,) for body in found])


def with_bodies(s: st.Stmt, changed: Callable[[st.Body], st.Body]) -> st.Stmt:
    """The statement with what a function makes of the bodies inside of it."""
    each: dict[str, Any] = {name: getattr(s, name) for name in _BODIES.get(type(s), ())}
    new: Any = {name: changed(body) for name, body in each.items() if isinstance(body, tuple)}
    return replace(s, **new) if new else s


def element(index: Index) -> Element:
    agreed, rest = index.parted(lambda var: var.agreed)
    return Element(agreed, *rest.range())


def _collect(node: Any, found: dict[Access, None]) -> None:
    kind = type(node)
    if kind is tuple:
        for n in node:
            _collect(n, found)
        return
    if kind is Load or kind is st.Store:
        if node.buffer.space == "local":
            at = element(node.offset) if node.buffer.values else None
            found[Access(node.buffer, "read" if kind is Load else "store", at, node.buffer.phase)] = None
    elif kind is LoadRow:
        if node.buffer.space == "local":
            found[Access(node.buffer, "read", None, node.buffer.phase)] = None
    elif kind is st.Copy or kind is st.Transpose:
        found[Access(node.target, "copy", None)] = None
    elif kind is st.Clear:
        found[Access(node.buffer, "copy", None)] = None
    elif kind is st.LoadMatrix or kind is st.Matrix:
        found[Access(node.buffer, "read", None)] = None
    for name in FIELDS.get(kind, ()):
        inner = getattr(node, name)
        if type(inner) in FIELDS or type(inner) is tuple:
            _collect(inner, found)
