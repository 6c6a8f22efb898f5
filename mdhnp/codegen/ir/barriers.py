"""Barriers, computed from what is read and written of local memory.

Work-items of a group wait for each other between two accesses of a local buffer one of which writes, unless they are
known to be of different elements, or each work-item has elements of its own. Statements are looked at in order, with
the accesses since the last barrier; the next round of a loop comes after its last statement.

A branch is looked at as one statement: nobody waits inside of it. That its condition keeps work-items from what others
write in the same branch is up to the emitter.
"""

from collections.abc import Iterable
from dataclasses import replace

from mdhnp.codegen.ir.accesses import Access, Accesses, Element, bodies
from mdhnp.codegen.ir.index import Index
from mdhnp.codegen.ir.statements import Barrier, Block, For, Pipeline, Stmt

__all__ = ["apart", "has_barrier", "place_barriers"]

_FEW = 4


def place_barriers(body: tuple[Stmt, ...], *, first: bool) -> tuple[Stmt, ...]:
    """Insert the barriers that the accesses of local memory need.

    Parameters
    ----------
    body : tuple of Stmt
        Statements without barriers.
    first : bool
        Whether each loop with a barrier in it must begin with one. On CPUs it must: LLVM merges what stands before a
        body's first barrier and after its last one into the loop's test, where PoCL cannot cut the loop for its
        work-items any more.
    """
    return _Pass(first).placed(body, [])


def has_barrier(body: Iterable[Stmt]) -> bool:
    return any(isinstance(s, Barrier) or any(map(has_barrier, bodies(s))) for s in body)


class _Pass:
    """One run: what it remembers of statements, and whether loops must begin with a barrier."""

    def __init__(self, first: bool) -> None:
        self._first = first
        accesses = Accesses()
        self._of, self._changes = accesses.of, accesses.changes

    def placed(self, body: tuple[Stmt, ...], pending: list[Access]) -> tuple[Stmt, ...]:
        """Insert barriers; `pending` are the accesses since the last one, before and, on return, behind the body."""
        found: list[Stmt] = []
        touched = 0  # behind the last statement that touches local memory
        for s in body:
            if self._changes(s):
                # Where it stands in a place, that is another one from here on.
                pending[:] = map(_somewhere, pending)
            own = self._of(s)
            if not own:
                found.append(s)
                continue
            between = _conflicts(pending, own)
            if between:
                found.insert(touched, Barrier(between))
                pending.clear()
            match s:
                case Block():
                    s = Block(self.placed(s.body, pending))
                case For(body=tuple() as inner):
                    inner = self._round(inner)
                    s = replace(s, body=inner)
                    if not has_barrier(inner):
                        pending += own
                case Pipeline():
                    # Its own barriers, which it gets when it is written out, settle what it copies.
                    s = replace(s, work=self._round(s.work))
                    pending += own
                case _:
                    pending += own
            found.append(s)
            touched = len(found)
        return tuple(found)

    def _round(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Insert barriers into a loop's body, after which it comes again; a loop with a barrier ends with one.

        So nothing that is accessed in the loop is pending behind it.
        """
        pending: list[Access] = []
        found = self.placed(body, pending)
        # The places are those of another round.
        again = {_somewhere(a) for s in body for a in self._of(s)}
        between = _conflicts(map(_somewhere, pending), again)
        if not between and not has_barrier(found):
            return found
        if not isinstance(found[-1], Barrier):
            found = (*found, Barrier(between))
        if self._first and not isinstance(found[0], Barrier):
            found = (Barrier(), *found)
        return found


def _somewhere(a: Access) -> Access:
    return a if a.at is None else a._replace(at=None)


def _conflicts(before: Iterable[Access], after: Iterable[Access]) -> tuple[str, ...]:
    """Names of the buffers whose accesses must not change places."""
    earlier: dict[str, list[Access]] = {}
    for a in before:
        if not a.buffer.own:
            earlier.setdefault(a.buffer.name, []).append(a)
    later = [b for b in after if b.buffer.name in earlier]
    return tuple(sorted({b.buffer.name for b in later if any(_ordered(a, b) for a in earlier[b.buffer.name])}))


def _ordered(a: Access, b: Access) -> bool:
    """Whether one work-item's access must come before another one's; copies of the same element write the same."""
    if (a.how == b.how and a.how != "store") or (a.phase and a.phase == b.phase):
        return False
    return a.at is None or b.at is None or not apart(a.at, b.at)


def apart(a: Element, b: Element) -> bool:
    """Whether two elements are different, whatever work-items access them."""
    moved = [0] if a.agreed == b.agreed else _values(a.agreed - b.agreed)
    return moved is not None and all([a.high + d < b.low or b.high < a.low + d for d in moved])


def _values(index: Index) -> list[int] | None:
    """What an index may be: a number, or each of a few of one variable."""
    if not index.terms:
        return [index.constant]
    (product, factor), *more = index.terms
    low, high = Index(((product, 1),)).range()
    if more or not high - low < _FEW:
        return None
    return [value * factor + index.constant for value in range(int(low), int(high) + 1)]
