"""How a call gets a better plan: kernels in place of NumPy's function, kernels of its own, tuned ones.

What `config.specialise` and `config.tuning` mean. All that takes long is done by the helper process, once the calls
have cost as much; what it finds is tried in the caller's calls, and what is fastest there stays.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from mdhnp.calls import kernels
from mdhnp.calls.build import Build, Built, Hopeless, install
from mdhnp.calls.candidates import choose
from mdhnp.calls.contest import Contest
from mdhnp.calls.debug import show
from mdhnp.calls.entry import Entry, Watcher
from mdhnp.calls.plans import ByNumpy, InParts, Kernels, Leaf, Plan
from mdhnp.calls.request import Request
from mdhnp.calls.search import Found, Search, learn
from mdhnp.calls.spending import Spending, Spent
from mdhnp.mdh import Computation
from mdhnp.mdh.mdhom import is_row_major
from mdhnp.settings import config
from mdhnp.spinning import spinning
from mdhnp.tuning import background
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.records import Entry as Tuned
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.times import KERNELS, NUMPY, remember

__all__ = ["builder", "due", "failed", "paid", "price", "tuner"]

#: Seconds that making kernels takes, where none have been made yet.
_COMPILING = 0.3
#: Seconds of a call that only enqueues kernels.
_ENQUEUE = 2e-5

_prices: dict[str, float] = {}


def price(request: Request) -> float:
    """Give the seconds that making kernels for a request is expected to take: as the last ones did."""
    return _prices.get(request.device.identity, _COMPILING)


def paid(made: Built) -> None:
    """Remember what making kernels took."""
    if made.price is not None:
        _prices[made.device] = made.price


def builder(request: Request, cost: float, spent: Spent | None = None) -> Spending:
    """Give what sees to it that kernels are made for a request once its calls, those before too, have cost so much."""
    return Spending(_enqueued(cost, request), partial(_build, request), spent)


def tuner(request: Request, plan: Plan) -> Spending | None:
    """Give what sees to it that better schedules are searched than a plan has; None where nothing does."""
    if request.ways is not None:
        return Spending(due(request), request.ways.search)
    tuned = isinstance(plan, InParts) or (isinstance(plan, Kernels) and set(plan.origins) == {"tuned"})
    if tuned or request.mode.tuning not in ("auto", "background") or (request.into and not _worth(request.mdhom)):
        return None
    return Spending(due(request), partial(_search, request))


def due(*requests: Request) -> float:
    """Give the seconds that calls of some steps are to take before a search begins."""
    return _enqueued(config.budget, *requests) if requests[0].mode.tuning == "auto" else 0.0


def _worth(h: Computation) -> bool:
    """Whether a search is for what is put into memory that was there: not where elements are only moved there.

    Nor where they do not lie there as in new memory, in which a search would put them.
    """
    (first, *others) = h.mdhoms
    plain = first.finish is None and all([s.op in ("param", "cast") for s in first.scalar.body])
    moved = plain and not others and all([c.kind == "cc" for c in first.combine])
    return not moved and all([is_row_major(v.shape, v.strides) for v in h.outputs])


def _enqueued(seconds: float, *requests: Request) -> float:
    """Give the seconds that calls take until their kernels take so many: calls that only enqueue them are shorter."""
    if not requests[0].mode.resident:
        return seconds
    best = [choose(r.mdhom, r.devices).kernels for r in requests]
    kernels = sum([b.seconds for b in best if b is not None])
    return seconds * min(_ENQUEUE * len(requests) / kernels, 1.0) if kernels else seconds


def _build(request: Request, entry: Entry, plan: Plan, spent: Spent) -> None:
    usual = spent.least if isinstance(plan, ByNumpy) else None
    identities = tuple(d.identity for d in request.devices)
    job = Build(request.mdhom, request.layouts, identities, usual)
    then = partial(_built, request, entry, plan, spent)
    if not background.submit(job, then, partial(failed, request, entry, plan)):
        then(job.run())


def _built(request: Request, entry: Entry, plan: Plan, spent: Spent, made: Built | Hopeless) -> None:
    if isinstance(made, Hopeless):
        _put(request, entry, plan, made.why)
        return
    device = next(d for d in request.devices if d.identity == made.device)
    paid(made)
    one = replace(request, devices=(device,))
    _try(one, entry, plan, [(install(one, made), made.ratio)], spent)


def _search(request: Request, entry: Entry, plan: Plan, spent: Spent) -> None:
    if not kernels.untuned(request):
        return
    job = Search(request.mdhom, request.layouts, request.device.identity, config.budget, config.evaluations)
    then = partial(_searched, request, entry, plan, spent)
    background.submit(job, then, partial(failed, request, entry, plan))


def _searched(request: Request, entry: Entry, plan: Plan, spent: Spent, found: Found) -> None:
    learn(found.entries)
    used = plan.schedules if isinstance(plan, Kernels) else None
    new = [made for made in found.candidates if tuple(f.schedule for f in made.found) != used]
    candidates = [(install(request, made), made.ratio) for made in new]
    _try(request, entry, plan, candidates, spent)


def _try(request: Request, entry: Entry, plan: Plan, candidates: Sequence[tuple[Plan, float]], spent: Spent) -> None:
    if not candidates:
        return
    if request.mode.resident:  # a call returns before its kernels have run, so that it says nothing of their time
        best, ratio = min(candidates, key=lambda each: each[1])
        if ratio <= 1.0:
            _put(request, entry, best, "made for these sizes, or measured to be the fastest", tuner(request, best))
        return
    spins = isinstance(plan, ByNumpy) and plan.function.work.multiplied and request.device.kind == "cpu"
    rest = spinning() if spins else 0.0
    contest = Contest(plan, candidates, spent, rest, partial(_settle, request))
    entry.put(contest.plan, contest)


def _settle(request: Request, entry: Entry, won: Plan, times: Sequence[tuple[Plan, float]]) -> None:
    """Put the winner in place, and keep what was measured."""
    said = ", ".join(f"{_name(plan)} {seconds * 1e6:.1f} µs" for plan, seconds in times)
    _put(request, entry, won, f"measured: {said}", tuner(request, won))
    seconds = {NUMPY if isinstance(p, ByNumpy) else KERNELS: s for p, s in sorted(times, key=lambda each: -each[1])}
    background.later(partial(_keep, request, won, seconds))


def _keep(request: Request, won: Plan, seconds: dict[str, float]) -> None:
    """Keep what was measured, and the winner: for other processes, and later calls of this one."""
    remember(request.mdhom, request.device, seconds)
    if not isinstance(won, Kernels) or won.origins == ("general",):
        return
    stages = kernels.staged(request.mdhom)
    if len(stages) == 1:
        key, schedule = key_of(stages[0].mdhom, request.device), won.schedules[0]
        known = cache().get(key)
        if known is not None and known.schedule != schedule:
            now = datetime.now(UTC).isoformat()
            cache().put(key, Tuned(schedule, seconds[KERNELS], known.evaluations, now, known.mdh), replace=True)
            won = replace(won, origins=("tuned",))
    kernels.keep(won)


def failed(request: Request, entry: Entry, plan: Plan, reason: str) -> None:
    """Keep a plan, and warn that no better one could be made."""
    _put(request, entry, plan, f"no better kernels: {reason}")
    background.complain(f"a call keeps the plan it has, since a better one could not be made: {reason}")


def _put(request: Request, entry: Entry, plan: Plan, why: str, watcher: Watcher | None = None) -> None:
    """Put a plan in place, with the reason for it."""
    if isinstance(plan, Leaf):
        plan = replace(plan, why=why)
    entry.put(plan, watcher)
    show(request, plan, 0.0)


def _name(plan: Plan) -> str:
    return "NumPy" if isinstance(plan, ByNumpy) else "kernels"
