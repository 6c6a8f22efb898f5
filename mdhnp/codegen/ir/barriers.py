"""Barriers, computed from what is read and written of local memory.

Work-items of a group wait for each other between two accesses of a local buffer one of which writes, unless they are
known to be of different elements, or each work-item has elements of its own. Statements are looked at in order, with
the accesses since the last barrier; the next round of a loop comes after its last statement.

A branch is looked at as one statement: nobody waits inside of it. That its condition keeps work-items from what others
write in the same branch is up to the emitter.
"""

from collections.abc import Iterable
from dataclasses import replace

from mdhnp.codegen.ir.accesses import Access, accesses
from mdhnp.codegen.ir.index import Index, Var
from mdhnp.codegen.ir.statements import Assign, Barrier, Block, For, If, Stmt

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
    return _placed(body, [], first)


def has_barrier(body: Iterable[Stmt]) -> bool:
    """Whether a barrier stands anywhere in some statements."""
    for s in body:
        match s:
            case Barrier():
                return True
            case Block(body=inner) | For(body=Block(body=inner)):
                if has_barrier(inner):
                    return True
            case If():
                if has_barrier(s.inside.body) or (s.elsewhere and has_barrier(s.elsewhere.body)):
                    return True
    return False


def _placed(body: tuple[Stmt, ...], pending: list[Access], first: bool) -> tuple[Stmt, ...]:
    """Insert barriers; `pending` are the accesses since the last one, before and, when it returns, behind the body."""
    found: list[Stmt] = []
    touched = 0  # behind the last statement that touches local memory
    for s in body:
        own = accesses(s)
        if isinstance(s, Assign) and isinstance(s.target, Var):
            # Where it stands in a place, that is another one from here on.
            pending[:] = [a._replace(at=None) for a in pending]
        if not own:
            found.append(s)
            continue
        between = _conflicts(pending, own)
        if between:
            found.insert(touched, Barrier(between))
            pending.clear()
        match s:
            case Block():
                s = Block(_placed(s.body, pending, first))
            case For(body=Block(body=inner)):
                inner = _round(inner, first)
                s = replace(s, body=Block(inner))
                if not has_barrier(inner):
                    pending += own
            case _:
                pending += own
        found.append(s)
        touched = len(found)
    return tuple(found)


def _round(body: tuple[Stmt, ...], first: bool) -> tuple[Stmt, ...]:
    """Insert barriers into a loop's body, after which it comes again; a loop with a barrier ends with one.

    So nothing that is accessed in the loop is pending behind it.
    """
    pending: list[Access] = []
    found = _placed(body, pending, first)
    # The places are those of another round.
    again = [a._replace(at=None) for a in accesses(body)]
    between = _conflicts([a._replace(at=None) for a in pending], again)
    if not between and not has_barrier(found):
        return found
    if not isinstance(found[-1], Barrier):
        found = (*found, Barrier(between))
    if first and not isinstance(found[0], Barrier):
        found = (Barrier(), *found)
    return found


def _conflicts(before: Iterable[Access], after: Iterable[Access]) -> tuple[str, ...]:
    """Names of the buffers whose accesses must not change places."""
    found = {}
    for b in after:
        if not b.buffer.own and any(a.buffer == b.buffer and _ordered(a, b) for a in before):
            found[b.buffer.name] = True
    return tuple(found)


def _ordered(a: Access, b: Access) -> bool:
    """Whether one work-item's access must come before another one's; copies of the same element write the same."""
    if a.how == b.how and a.how != "store":
        return False
    return a.at is None or b.at is None or not apart(a.at, b.at)


def apart(a: Index, b: Index) -> bool:
    """Whether two places are different, whatever work-items they are of.

    Variables that all work-items agree on are the same in both.
    """
    same_a, mine_a = a.parted(lambda v: v.agreed)
    same_b, mine_b = b.parted(lambda v: v.agreed)
    (low_a, high_a), (low_b, high_b) = mine_a.range(), mine_b.range()
    moved = _values(same_a - same_b)
    return moved is not None and all(high_a + d < low_b or high_b < low_a + d for d in moved)


def _values(index: Index) -> list[int] | None:
    """What an index may be: a number, or each of a few of one variable."""
    if not index.terms:
        return [index.constant]
    (product, factor), *more = index.terms
    low, high = Index(((product, 1),)).range()
    if more or not high - low < _FEW:
        return None
    return [value * factor + index.constant for value in range(int(low), int(high) + 1)]
