"""What may stand where: checks a procedure, and names the statement that is wrong.

Tests run it before and after each pass. It is no part of generating a kernel.
"""

from collections.abc import Iterable
from typing import Any

from mdhnp.codegen.ir.accesses import FIELDS
from mdhnp.codegen.ir.index import Compare, Index, IndexChoice, IndexElement, IndexFunction, Var
from mdhnp.codegen.ir.passes import has_barrier
from mdhnp.codegen.ir.show import show
from mdhnp.codegen.ir.statements import (
    AllocLocal,
    Assign,
    CallInto,
    Clear,
    Copy,
    Declare,
    FillLanes,
    For,
    If,
    Let,
    LoadMatrix,
    Matrix,
    MatrixProduct,
    Pipeline,
    Procedure,
    Roles,
    Scope,
    Stmt,
    Store,
    StoreWords,
    Transpose,
    WideProducts,
)
from mdhnp.codegen.ir.values import Address, Apply, Buffer, Load, LoadRow, Register, Shuffled

__all__ = ["InvalidProcedure", "verify"]


class InvalidProcedure(ValueError):
    """A procedure that no renderer could write, or that does not mean what it says."""


def verify(p: Procedure) -> None:
    """Check a procedure.

    Variables, registers and buffers are declared before they are used, and once in a body; only what is declared with
    :class:`Declare` and what loops count gets new values; only buffers that are not constant are written; lanes agree;
    no barrier stands in a branch, which compilers may cut in two, and no exchange of values between work-items; local
    buffers are declared in no inner body, where some compilers refuse them.

    Raises
    ------
    InvalidProcedure
        If something else stands somewhere.
    """
    buffers = {*p.buffers, *(alias for alias, _ in p.aliases)}
    try:
        _Scope({Var(name) for name in p.sizes}, set(), buffers, outermost=True).all(p.body)
    except InvalidProcedure as error:
        raise InvalidProcedure(f"{error}\n{show(p)}") from None


class _Scope:
    """What is known in a body; `variable` is what may get new values."""

    def __init__(
        self, known: set[Var | Register], variable: set[Var | Register], buffers: set[Buffer], outermost: bool = False
    ) -> None:
        self.known, self.variable, self.buffers, self.outermost = known, variable, buffers, outermost

    def all(self, body: Iterable[Stmt]) -> None:
        """Check statements in order."""
        for s in body:
            self._one(s)

    def _inner(self, body: tuple[Stmt, ...], *declared: Var) -> None:
        _Scope({*self.known, *declared}, set(self.variable), set(self.buffers)).all(body)

    def _one(self, s: Stmt) -> None:
        match s:
            case Scope():
                self._inner(s.body)
            case For():
                self._loop(s)
            case If():
                self._uses(s.tests)
                for body in (s.inside, s.elsewhere):
                    _check(not has_barrier(body), "a barrier stands in a branch")
                    _check(not _exchanges(body), "values are exchanged in a branch")
                    self._inner(body)
            case Pipeline():
                self._uses(s.rounds)
                _check(s.stages > 1 and not has_barrier(s.fill), "a pipeline has a stage ahead, and no barrier")
                self._inner(s.fill, s.filled)
                self._inner(s.prepare, s.round)
                self._inner(s.work, s.round)
            case Roles():
                for body in (s.work, s.fill):
                    _check(not has_barrier(body), "some of a group come to its barrier")
                    self._inner(body)
            case WideProducts():
                self._uses(tuple([(p.a, p.b) for p in s.products]))
                into = {r for p in s.products for r in p.into}
                _check(into <= self.variable, f"{s.atom} adds to what was not declared to have new values")
            case LoadMatrix():
                self._uses(s.at)
                _check(s.buffer in self.buffers, f"{s.buffer.name} is not declared")
                _check(len(s.into) in (2, 4), f"{len(s.into)} blocks are loaded at once")
                for register in s.into:
                    self._declares(register)
            case MatrixProduct():
                self._uses((s.a, s.b))
                _check({*s.into} <= self.variable, f"{s.atom} adds to what was not declared to have new values")
            case AllocLocal():
                _check(s.buffer.space == "local", f"{s.buffer.name} is no local buffer")
                _check(self.outermost, f"{s.buffer.name} is declared in an inner body")
                self.buffers.add(s.buffer)
            case Let() | Declare():
                self._uses(s.value)
                self._declares(s.target)
                if isinstance(s, Declare):
                    self.variable.add(s.target)
            case Assign():
                _check(s.target in self.variable, f"{s.target} gets a new value, but was not declared to have some")
                self._uses(s.value)
            case FillLanes():
                _Scope({*self.known, s.lane}, set(), self.buffers)._uses(s.element)
                self._declares(s.target)
            case CallInto():
                self._uses(s.call)
                for register in s.results:
                    self._declares(register)
            case _:
                self._uses(s)
                if isinstance(s, Store | StoreWords | Clear):
                    self._writes(s.buffer)
                elif isinstance(s, Copy | Transpose):
                    self._writes(s.target)

    def _loop(self, s: For) -> None:
        if s.begin is None:
            _check(s.var in self.variable, f"{s.var} has no beginning")
        else:
            self._uses(s.begin)
        inner = _Scope({*self.known, s.var}, set(self.variable), set(self.buffers))
        inner._uses((s.test, s.following))
        inner.all(s.body if isinstance(s.body, tuple) else [s.body])

    def _declares(self, target: Var | Register) -> None:
        _check(target not in self.known, f"{target} is declared twice")
        self.known.add(target)

    def _writes(self, buffer: Buffer) -> None:
        _check(buffer in self.buffers and not buffer.constant, f"{buffer.name} cannot be written")

    def _uses(self, node: Any) -> None:
        """Check everything that a node reads."""
        match node:
            case Register():
                _check(node in self.known, f"{node.stem}{node.number} is not declared")
            case Var():
                same = node in self.known or Var(node.stem) in self.known
                _check(same, f"{node.stem} is not declared")
            case Index():
                for product, _ in node.terms:
                    self._uses(product)
            case IndexElement():
                _check(node.buffer in self.buffers, f"{node.buffer.name} is not declared")
                self._uses(node.offset)
            case IndexFunction() | IndexChoice() | Compare() | tuple():
                for part in node:
                    self._uses(part)
            case Load() | LoadRow() | Address() | Matrix():
                _check(node.buffer in self.buffers, f"{node.buffer.name} is not declared")
            case Apply() if node.op not in ("lower", "upper"):
                lanes = {a.lanes for a in node.args} - {1}
                _check(lanes <= {node.lanes}, f"{node.op} of {sorted(lanes)} lanes gives {node.lanes}")
        for name in FIELDS.get(type(node), ()):
            self._uses(getattr(node, name))


def _exchanges(node: Any) -> bool:
    """Whether work-items exchange values anywhere in a node."""
    parts = node if type(node) is tuple else [getattr(node, name) for name in FIELDS.get(type(node), ())]
    return isinstance(node, Shuffled | LoadMatrix | MatrixProduct | WideProducts) or any(map(_exchanges, parts))


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise InvalidProcedure(message)
