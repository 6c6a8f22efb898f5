"""What happens to a procedure between the emitter and the renderer: barriers are placed, pipelines become loops.

*Barriers* are computed from what is read and written of local memory. Work-items of a group wait for each other between
two accesses of a local buffer one of which writes, unless they are known to be of different elements, or each work-item
has elements of its own. Statements are looked at in order, with the accesses since the last barrier; the next round of
a loop comes after its last statement. A branch is looked at as one statement: nobody waits inside of it. That its
condition keeps work-items from what others write in the same branch is up to the emitter.

*Pipelines* fill local buffers some rounds before they are read. With asynchronous copies a round waits for its own
buffers, starts to fill those of a later round, and works while they are under way (the other way round where many
are). Without, it loads the elements of a later round to registers before its work, and stores them behind it. Either
way one barrier a round is enough: in front of it every work-item's copies for the round are there, and behind it nobody
reads any more what the round before has read, which is what is filled next. With *producers* one loop becomes two, of
those who fill and those who work, with two barriers for each slot: it is full, and it may be filled again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir.accesses import Access, Accesses, Element, bodies, with_bodies
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, constant, variable
from mdhnp.codegen.ir.values import Const, Outside, Register
from mdhnp.schedule.layout import PREPARED

_FEW = 4


def lowered(p: st.Procedure, *, barrier_first: bool) -> st.Procedure:
    """Bring a procedure from what the emitter built to what is rendered.

    On CPUs each loop with a barrier in it must begin with one, `barrier_first`: LLVM merges what stands before a body's
    first barrier and after its last one into the loop's test, where PoCL cannot cut the loop for its work-items any
    more. Pipelines come behind, since their own barriers settle what they copy. A single work-item waits for nobody.
    """
    body = place_barriers(p.body, first=barrier_first) if p.work_items > 1 else p.body
    return replace(p, body=lower_pipelines(body, p.work_items))


def place_barriers(body: st.Body, *, first: bool) -> st.Body:
    """Insert the barriers that the accesses of local memory need."""
    return _Barriers(first).placed(body, [])


def has_barrier(body: Iterable[st.Stmt]) -> bool:
    return any(True for _ in all_of(st.Barrier, body))


def all_of(kind: type, body: Iterable[st.Stmt]) -> Iterator[Any]:
    """Give all statements of a kind in a body, and in bodies inside of it, in order."""
    for s in body:
        if isinstance(s, kind):
            yield s
        for inner in bodies(s):
            yield from all_of(kind, inner)


class _Barriers:
    """Places them; it remembers what statements access, and whether loops must begin with a barrier."""

    def __init__(self, first: bool) -> None:
        self._first = first
        self._of = Accesses().of

    def placed(self, body: st.Body, pending: list[Access]) -> st.Body:
        """Insert barriers; `pending` are the accesses since the last one, before and, on return, behind the body."""
        found: list[st.Stmt] = []
        touched = 0  # behind the last statement that touches local memory
        for s in body:
            _, own, changes = self._of(s)
            if changes:
                # Where it stands in a place, that is another one from here on.
                pending[:] = map(_somewhere, pending)
            if not own:
                found.append(s)
                continue
            between = _conflicts(pending, own)
            if between:
                found.insert(touched, st.Barrier(between))
                pending.clear()
            match s:
                case st.Scope():
                    s = st.Scope(self.placed(s.body, pending))
                case st.For(body=tuple() as inner):
                    inner = self._round(inner)
                    s = replace(s, body=inner)
                    if not has_barrier(inner):
                        pending += own
                case st.Pipeline():
                    # Its own barriers, which it gets when it is written out, settle what it copies.
                    s = replace(s, work=self._round(s.work))
                    pending += own
                case _:
                    pending += own
            found.append(s)
            touched = len(found)
        return tuple(found)

    def _round(self, body: st.Body) -> st.Body:
        """Insert barriers into a loop's body, after which it comes again; a loop with a barrier ends with one.

        So nothing that is accessed in the loop is pending behind it.
        """
        pending: list[Access] = []
        found = self.placed(body, pending)
        # The places are those of another round.
        again = {_somewhere(a) for s in body for a in self._of(s).accesses}
        between = _conflicts(map(_somewhere, pending), again)
        if not between and not has_barrier(found):
            return found
        if not isinstance(found[-1], st.Barrier):
            found = (*found, st.Barrier(between))
        if self._first and not isinstance(found[0], st.Barrier):
            found = (st.Barrier(), *found)
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


def lower_pipelines(body: st.Body, items: int) -> st.Body:
    """Write each pipeline out, of a group of so many work-items."""
    found: list[st.Stmt] = []
    for n, s in enumerate(body):
        if isinstance(s, st.Pipeline) and s.producers:
            # What stands behind it is for those who worked, too.
            return (*found, _by_producers(s, items, lower_pipelines(body[n + 1 :], items)))
        if isinstance(s, st.Pipeline):
            found += _asynchronous(s) if s.asynchronous else _through_registers(s)
        else:
            found.append(with_bodies(s, lambda inner: lower_pipelines(inner, items)))
    return tuple(found)


def _by_producers(p: st.Pipeline, items: int, behind: st.Body) -> st.Roles:
    """Two loops: one fills and prepares, the other works; for each slot they tell each other that it is full, or empty.

    Producers fill a slot again, and prepare what is read, when the round before the last one is done. Where nothing is
    prepared they say that a round's buffers are full before they wait for what they fill next: so those who work have
    the next round's instructions ready when one ends. That is known a round `later` where sums are under way meanwhile.
    """
    slots, workers, ahead = PREPARED if p.prepare else p.stages, items - p.producers, p.stages - PREPARED
    now = variable(p.round)

    def full(*, wait: bool) -> st.NamedBarrier:
        return st.NamedBarrier(now % slots + 1, items, wait)

    def empty(*, wait: bool, later: int = 0) -> st.NamedBarrier:
        moved = slots - PREPARED if wait else slots - later if later else 0
        return st.NamedBarrier((now + moved) % slots + (1 + slots), items, wait)

    among = constant(1 + 2 * slots)
    first = _loop(p.filled, constant(ahead), (_if_any(p, p.fill), st.Commit()))
    again = st.If((Compare(now, ">=", constant(PREPARED)),), (empty(wait=True),))
    fill = st.Scope((st.Let(p.filled, now + ahead), _if_any(p, p.fill), st.Commit()))
    prepare = (st.NamedBarrier(among, p.producers), st.Scope(p.prepare)) if p.prepare else ()
    filling = (st.Wait(ahead - 1), st.Publish(), full(wait=False), again, fill)
    if p.prepare:
        filling = (again, fill, st.Wait(ahead), *prepare, st.Publish(), full(wait=False))
    later = int(any([s.pending > 0 for s in all_of(st.WaitProducts, p.work)]))
    done = (Compare(now, ">=", constant(later)), Compare(now + (PREPARED - later), "<", p.rounds))
    left = st.If(done[1 - later :], (empty(wait=False, later=later),))
    # What is read in a round is read when its last products are done.
    read = 1 + max([n for n, s in enumerate(p.work) if isinstance(s, st.WaitProducts)], default=len(p.work) - 1)
    working = (full(wait=True), st.Scope((*p.work[:read], left, *p.work[read:])))
    only = _instead_of_barriers((_loop(p.round, p.rounds, working), *behind), st.NamedBarrier(among + 1, workers))
    return st.Roles(workers, only, (first, _loop(p.round, p.rounds, filling)), p.registers)


def _instead_of_barriers(body: st.Body, barrier: st.NamedBarrier) -> st.Body:
    return tuple([
        barrier if isinstance(s, st.Barrier) else with_bodies(s, lambda inner: _instead_of_barriers(inner, barrier))
        for s in body
    ])  # fmt: skip


def _asynchronous(p: st.Pipeline) -> list[st.Stmt]:
    """A group of copies for each round, which may be empty: so their number tells what is still under way.

    Where many rounds are, copies are started behind the work, without a branch: beyond the last round they copy
    nothing. So compilers start them among it, and multiplying units wait less: products of float64, 128 x 128 x 16 at a
    time, took 0.85 of the time (NVIDIA H100).
    """
    first = _loop(p.filled, constant(p.stages - 1), (*_first(p), st.Commit()))
    if p.stages >= st.MANY_STAGES:
        inside = Compare(variable(p.filled), "<", p.rounds)
        guarded = {c: _where(c, inside) for c in all_of(st.Copy, p.fill)}
        fill = st.Scope((_ahead(p), *_instead(p.fill, guarded), st.Commit()))
        body = (st.Wait(p.stages - 2), st.Barrier(), st.Scope(p.work), fill)
        return [first, _loop(p.round, p.rounds, body), st.Wait(0)]
    fill = st.Scope((_ahead(p), _if_any(p, p.fill), st.Commit()))
    seen = (st.Publish(),) if any([isinstance(s, st.WideProducts) for s in p.work]) else ()
    return [first, _loop(p.round, p.rounds, (st.Wait(p.stages - 2), *seen, st.Barrier(), fill, st.Scope(p.work)))]


def _where(c: st.Copy, test: Compare) -> st.Copy:
    """A copy, of zeros where a condition does not hold."""
    if isinstance(c.source, Outside):
        return c
    outside = Outside("0", c.source.dtype)
    return replace(c, source=replace(c.source, guard=(*c.source.guard, test), outside=outside))


def _through_registers(p: st.Pipeline) -> list[st.Stmt]:
    copies = list(dict.fromkeys(all_of(st.Copy, p.fill)))
    held = [Register("next", n, c.target.dtype) for n, c in enumerate(copies)]
    declared = [st.Declare(r, Const("0", r.dtype)) for r in held]
    loads = {c: st.Assign(r, c.source) for c, r in zip(copies, held, strict=True)}
    stores = {c: st.Store(c.target, c.at, r) for c, r in zip(copies, held, strict=True)}
    load = st.Scope((_ahead(p), _if_any(p, _instead(p.fill, loads))))
    store = st.Scope((_ahead(p), _if_any(p, _instead(p.fill, stores))))
    first = _loop(p.filled, constant(p.stages - 1), _first(p))
    return [first, _loop(p.round, p.rounds, (st.Barrier(), *declared, load, st.Scope(p.work), store))]


def _loop(var: Var, end: Index, body: st.Body) -> st.For:
    return st.For(var, ZERO, Compare(variable(var), "<", end), variable(var) + 1, body)


def _ahead(p: st.Pipeline) -> st.Let:
    return st.Let(p.filled, variable(p.round) + (p.stages - 1))


def _first(p: st.Pipeline) -> st.Body:
    always = p.rounds.known is not None and p.rounds.known >= p.stages - 1
    return p.fill if always else (_if_any(p, p.fill),)


def _if_any(p: st.Pipeline, fill: st.Body) -> st.If:
    """Fill for a round that may be beyond the last one."""
    return st.If((Compare(variable(p.filled), "<", p.rounds),), fill)


def _instead(body: st.Body, of: Mapping[st.Copy, st.Stmt]) -> st.Body:
    """The body with other statements in place of its copies, which stand in no loop."""
    return tuple([of[s] if isinstance(s, st.Copy) else with_bodies(s, lambda inner: _instead(inner, of)) for s in body])
