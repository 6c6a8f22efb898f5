"""What statements read and write of local memory."""

from dataclasses import fields
from typing import Any, NamedTuple, get_args

from mdhnp.codegen.ir.index import Index
from mdhnp.codegen.ir.statements import Clear, Copy, Stmt, Store, Transpose, Truth
from mdhnp.codegen.ir.values import Buffer, Load, Value

__all__ = ["FIELDS", "Access", "accesses"]

#: Names of the fields of each kind of node.
FIELDS = {kind: tuple([f.name for f in fields(kind)]) for kind in (*get_args(Stmt), *get_args(Value), Truth)}


class Access(NamedTuple):
    """One access of a local buffer: how (`read`, `store`, or `copy`, of an element that nobody else changes), where.

    The place is None where it is not known as a single one.
    """

    buffer: Buffer
    how: str
    at: Index | None


def accesses(node: Any) -> list[Access]:
    """All accesses of a statement, or of several, each once."""
    found: dict[Access, None] = {}
    _collect(node, found)
    return list(found)


def _collect(node: Any, found: dict[Access, None]) -> None:
    kind = type(node)
    if kind is tuple:
        for n in node:
            _collect(n, found)
        return
    if kind is Load or kind is Store:
        if node.buffer.space == "local":
            at = node.offset if node.buffer.values else None
            found[Access(node.buffer, "read" if kind is Load else "store", at)] = None
    elif kind is Copy or kind is Transpose:
        found[Access(node.target, "copy", None)] = None
    elif kind is Clear:
        found[Access(node.buffer, "copy", None)] = None
    for name in FIELDS.get(kind, ()):
        _collect(getattr(node, name), found)
