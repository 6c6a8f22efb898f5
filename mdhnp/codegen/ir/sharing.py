"""Loads that one body repeats are made once.

The emitter names the value of each load that the schedule keeps in registers (:attr:`Load.kept`), as often as it is
needed: once for each point of a private tile, say. This pass leaves the first of equal ones.
"""

from dataclasses import replace
from typing import Any

from mdhnp.codegen.ir.accesses import FIELDS, Accesses, with_bodies
from mdhnp.codegen.ir.statements import Block, Clear, Copy, For, If, Let, Pipeline, Stmt, Store, Transpose
from mdhnp.codegen.ir.values import Load, LoadRow, Register

__all__ = ["share_loads"]


def share_loads(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Drop names for loads that the same body has named before; what used them uses the first name.

    A body that stands inside of another one, and may not run, shares nothing with that.
    """
    named: dict[Load | LoadRow, Register] = {}
    instead: dict[Register, Register] = {}
    found: list[Stmt] = []
    for s in body:
        if isinstance(s, Let) and isinstance(s.value, Load | LoadRow) and s.value.kept:
            assert isinstance(s.target, Register)
            before = named.setdefault(s.value, s.target)
            if before is s.target:
                found.append(s)
            else:
                instead[s.target] = before
            continue
        found.append(with_bodies(_renamed(s, instead) if instead else s, share_loads))
        if isinstance(s, Block | Clear | Copy | For | If | Pipeline | Store | Transpose) and not all(
            load.buffer.constant for load in named
        ):
            written = {a.buffer for a in Accesses().of(s) if a.how != "read"}
            named = {load: name for load, name in named.items() if load.buffer not in written}
    return tuple(found)


def _renamed(node: Any, instead: dict[Register, Register]) -> Any:
    """The node with other registers; the same object where it has none of these."""
    if isinstance(node, Register):
        return instead.get(node, node)
    if type(node) is tuple:
        new = [_renamed(n, instead) for n in node]
        return node if all(a is b for a, b in zip(new, node, strict=True)) else tuple(new)
    changed = {}
    for name in FIELDS.get(type(node), ()):
        old = getattr(node, name)
        if type(old) in FIELDS or type(old) is tuple:
            new = _renamed(old, instead)
            if new is not old:
                changed[name] = new
    return replace(node, **changed) if changed else node
