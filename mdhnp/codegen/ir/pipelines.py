"""Pipelines become loops: local buffers are filled some rounds before they are read.

With asynchronous copies a round waits for its own buffers, starts to fill those of a later round, and works while they
are under way. Without, it loads the elements of a later round to registers before its work, and stores them behind it.
Either way one barrier a round is enough: in front of it every work-item's copies for the round are there, and behind it
nobody reads any more what the round before has read, which is what is filled next.
"""

from collections.abc import Mapping

from mdhnp.codegen.ir.accesses import bodies, with_bodies
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, constant, variable
from mdhnp.codegen.ir.statements import (
    Assign,
    Barrier,
    Block,
    Commit,
    Copy,
    Declare,
    For,
    If,
    Let,
    Pipeline,
    Stmt,
    Store,
    Wait,
)
from mdhnp.codegen.ir.values import Const, Register

__all__ = ["lower_pipelines"]


def lower_pipelines(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Write each pipeline out; it stands behind the pass for barriers, since its own settle what it copies."""
    found: list[Stmt] = []
    for s in body:
        if isinstance(s, Pipeline):
            found += _asynchronous(s) if s.asynchronous else _through_registers(s)
        else:
            found.append(with_bodies(s, lower_pipelines))
    return tuple(found)


def _asynchronous(p: Pipeline) -> list[Stmt]:
    """A group of copies for each round, which may be empty: so their number tells what is still under way."""
    first = _loop(p.filled, constant(p.stages - 1), (*_first(p), Commit()))
    fill = Block((_ahead(p), _if_any(p, p.fill), Commit()))
    return [first, _loop(p.round, p.rounds, (Wait(p.stages - 2), Barrier(), fill, Block(p.work)))]


def _through_registers(p: Pipeline) -> list[Stmt]:
    copies = list(dict.fromkeys(_copies(p.fill)))
    held = [Register("next", n, c.target.dtype) for n, c in enumerate(copies)]
    declared = [Declare(r, Const("0", r.dtype)) for r in held]
    loads = {c: Assign(r, c.source) for c, r in zip(copies, held, strict=True)}
    stores = {c: Store(c.target, c.at, r) for c, r in zip(copies, held, strict=True)}
    load = Block((_ahead(p), _if_any(p, _instead(p.fill, loads))))
    store = Block((_ahead(p), _if_any(p, _instead(p.fill, stores))))
    first = _loop(p.filled, constant(p.stages - 1), _first(p))
    return [first, _loop(p.round, p.rounds, (Barrier(), *declared, load, Block(p.work), store))]


def _loop(var: Var, end: Index, body: tuple[Stmt, ...]) -> For:
    return For(var, ZERO, Compare(variable(var), "<", end), variable(var) + 1, body)


def _ahead(p: Pipeline) -> Let:
    return Let(p.filled, variable(p.round) + (p.stages - 1))


def _first(p: Pipeline) -> tuple[Stmt, ...]:
    """The filling before all rounds."""
    always = p.rounds.known is not None and p.rounds.known >= p.stages - 1
    return p.fill if always else (_if_any(p, p.fill),)


def _if_any(p: Pipeline, fill: tuple[Stmt, ...]) -> If:
    """Fill for a round that may be beyond the last one."""
    return If((Compare(variable(p.filled), "<", p.rounds),), fill)


def _copies(body: tuple[Stmt, ...]) -> list[Copy]:
    return [c for s in body for c in ([s] if isinstance(s, Copy) else [c for b in bodies(s) for c in _copies(b)])]


def _instead(body: tuple[Stmt, ...], of: Mapping[Copy, Stmt]) -> tuple[Stmt, ...]:
    """The body with other statements in place of its copies, which stand in no loop."""
    return tuple([of[s] if isinstance(s, Copy) else with_bodies(s, lambda inner: _instead(inner, of)) for s in body])
