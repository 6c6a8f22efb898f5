"""Where an entry is in the table of states, and what its calls are to cost before it goes on.

Whoever knows no more of the future loses no more than half of the time by waiting until calls have cost as much as
what comes next does (rent or buy).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

from mdhnp.calls import loading
from mdhnp.calls.entry import Entry, Spent, Start, Watcher
from mdhnp.calls.plans import Kernels, Leaf, Plan, SlicedKernels
from mdhnp.calls.request import Request
from mdhnp.mdh import Computation
from mdhnp.mdh.views import is_row_major
from mdhnp.process import process
from mdhnp.settings import config

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.calls.steps import CallRequest
    from mdhnp.runtime.devices import Device

#: Seconds that making kernels takes, where none have been made yet.
COMPILING = 0.3
#: Seconds of calls of which a description, of half a millisecond, is a twentieth: what contests may lose, too.
DESCRIBING = 0.01
#: Contests of an entry after which no further one is held in a process: its calls have cost about a minute by then.
_CONTESTS = 7
#: Seconds of a call that only enqueues kernels.
_ENQUEUE = 2e-5

#: Seconds that the last kernels took to make, by the device's identity.
_prices: dict[str, float] = process.table()


class State(Enum):
    """What computes an entry's calls, and what that waits for."""

    __hash__ = object.__hash__  # Enum's own takes a first call microseconds

    UNDESCRIBED = "NumPy, until calls have cost so much that describing them takes little beside it"
    NEW = "nothing yet"
    CHOSEN = "kernels, which are to be made now"
    UNLOADED = "NumPy, until all calls have cost what loading OpenCL takes"
    FIRST = "NumPy, or a kernel for all sizes, until calls have cost what making kernels for their own takes"
    BUILDING = "the same, while the helper makes these"
    COMPARING = "by turns, until one is known to be the fastest"
    KERNELS = "the fastest of these, until calls have cost what a search takes"
    SEARCHING = "the same, while the helper searches schedules, or rewritings"
    FINAL = "the plan that there is"


class Event(Enum):
    """What happens to an entry."""

    __hash__ = object.__hash__

    CALLED = "its first call"
    PAID = "its calls have cost the price of what comes next"
    ANSWERED = "the helper has answered"
    INSTALLED = "kernels of the answer can be launched"
    COMPARED = "plans were timed in calls"
    FAILED = "no answer, or none that is of use"


#: By state and event: what may happen, the first whose condition holds. A condition, an action, the next state.
Table = Mapping[
    tuple[State, Event], Sequence[tuple["Callable[[Lifecycle, Any], Any]", "Callable[[Lifecycle, Any], None]", State]]
]


class Lifecycle(Watcher):
    """Where an entry is in the table, and what is known of it there.

    `requests` are what its steps ask for, none before it is described, `spent` is what calls have cost before. A fused
    function that may be rewritten in other ways has a `call`, which plans it anew; if kernels are `missing`, NumPy
    computes it as it is written meanwhile.
    """

    plan: Plan
    request: Request

    def __init__(
        self,
        table: Table,
        requests: Sequence[Request],
        call: "CallRequest | None" = None,
        spent: Spent | None = None,
        *,
        missing: bool = False,
    ) -> None:
        super().__init__()
        self.table, self.missing = table, missing
        if requests:
            self.request, *self.others = requests
        self.call, self.spent = call, spent or Spent()
        self.state, self.why, self.kept = State.NEW, "", True
        self.entry: Entry | None = None
        # Of contests: how many there were, kernels that lost in the last one, and what calls have cost from the first
        # one to that.
        self.contests, self.lost, self._before = 0, list[Plan](), 0.0
        self._purse, self._price = self.spent, inf

    def saw(self, entry: Entry, plan: Plan, seconds: float, calls: int = 1) -> None:
        """Count calls, without a lock: of several at once one may be left out."""
        self.spent.add(seconds, calls)
        if self._purse is not self.spent:  # what all calls have cost, too
            self._purse.add(seconds, calls)
        if self._purse.seconds >= self._price:
            super().saw(entry, plan, seconds, calls)

    def see(self, entry: Entry, plan: Plan, seconds: float, calls: int) -> None:
        """Go on, since calls have cost enough."""
        self.entry, state = entry, self.state
        try:
            self.handle(Event.PAID)
        except Exception:
            raise
        except BaseException:  # Ctrl-C: at another time
            self.state, self.spent = state, Spent()
            self.follow()
            raise

    def handle(self, event: Event, datum: Any = None) -> None:
        """Look up what an event means in this state, and do it."""
        state = self.state
        for condition, action, following in self.table[state, event]:
            known = condition(self, datum)
            if known is None or known is False:
                continue
            self.state = following
            if following is not state and self.entry is not None:
                self.entry.put(self.plan)  # nobody counts its calls meanwhile
            action(self, known)  # which other events may follow
            if self.state is following:
                self.follow()
            return

    def follow(self) -> None:
        """Have calls be counted, where they lead to something."""
        price = self.price()
        if price is None:
            if self.state is State.KERNELS:  # another thread may have gone on from any other
                self.state = State.FINAL
                if self.entry is not None:
                    self.entry.put(self.plan)
            return
        if self.state is State.KERNELS:
            self._before += self.spent.seconds if self.contests > 1 else 0.0
            self.spent = Spent()
        self._price = price
        self._purse = loading.unloaded.all if self.state is State.UNLOADED else self.spent
        if self.entry is not None:
            self.entry.put(self.plan, self)

    def price(self) -> float | None:
        """Give the seconds that calls are to cost in this state; None where nothing follows them."""
        match self.state:
            case State.UNDESCRIBED:
                return DESCRIBING
            case State.UNLOADED:
                return loading.unloaded.price
            case State.FIRST:
                return _price_of_building(self)
            case State.KERNELS:
                search, contest = _price_of_search(self), _price_of_contest(self)
                each = [None if search is None else search - self._before, contest]
                return min([price for price in each if price is not None], default=None)
        return None

    @property
    def is_alone(self) -> bool:
        """Whether it is about one step, for which NumPy may compute, or kernels, as measured in calls."""
        request, others = self.request, (self.call, self.missing, self.others)
        return not any(others) and request.mode.decides == "measurements" and request.numpy is not None

    @property
    def contest_is_paid(self) -> bool:
        """Whether calls have cost what another contest does."""
        price = _price_of_contest(self)
        return price is not None and self.spent.seconds >= price

    @property
    def search_is_paid(self) -> bool:
        """Whether calls have cost what a search does."""
        price = _price_of_search(self)
        return price is not None and self._before + self.spent.seconds >= price

    def compared(self, lost: Sequence[Plan]) -> None:
        """Note that a contest is over, and which kernels lost it."""
        self.contests, self.lost = self.contests + 1, list(lost)

    @property
    def start(self) -> Start:
        """What the entry begins with."""
        counted = self.state in (State.UNDESCRIBED, State.UNLOADED, State.FIRST, State.KERNELS)
        return Start(self.plan, self if counted else None, self.kept)

    def put(self, plan: Plan, why: str) -> None:
        self.plan = replace(plan, why=why) if isinstance(plan, Leaf) and plan.why != why else plan
        if self.entry is not None:
            self.entry.put(self.plan)
            if isinstance(plan, Leaf | SlicedKernels):
                loading.debug.show(self.request, self.plan, 0.0)

    @cached_property
    def times(self) -> "tuple[Device, float, float] | None":
        """The device with the fastest kernels of those that were measured, their seconds, and NumPy's."""
        known = []
        for device in self.request.devices:
            seconds = loading.times.measured(self.request.mdhom, device)
            if loading.times.KERNELS in seconds and loading.times.NUMPY in seconds:
                known.append((device, seconds[loading.times.KERNELS], seconds[loading.times.NUMPY]))
        return min(known, key=lambda each: each[1], default=None)

    @property
    def kernels_are_faster(self) -> bool:
        return self.times is not None and self.times[1] < self.times[2]


# Prices, in seconds of calls.


def paid(device: str, price: float | None) -> None:
    """Remember what making kernels has cost on a device, by its identity; None where others had made them."""
    if price is not None:
        _prices[device] = price


def price_of_kernels(request: Request) -> float:
    """Give the seconds that making kernels for a request is expected to take: as the last ones did."""
    return _prices.get(request.device.identity, COMPILING)


def _price_of_building(p: Lifecycle) -> float:
    if p.request.numpy is not None and p.kernels_are_faster:
        return 0.0  # kernels that are known to pay, but are not on disk
    return _enqueued(price_of_kernels(p.request), [p.request])


def _price_of_contest(p: Lifecycle) -> float | None:
    """Give what calls are to cost before plans that were compared are so again: each time twice as much.

    Other work on the machine may have decided the contest before. None where none was held, and where there were
    enough: in this process, or in several that agree.
    """
    if not p.is_alone or p.contests > _CONTESTS or not (p.contests or p.times is not None):
        return None
    if loading.times.is_settled(p.request.mdhom, p.request.device):
        return None
    return price_of_kernels(p.request) * 2.0**p.contests


def _price_of_search(p: Lifecycle) -> float | None:
    """Give what calls are to cost before a search begins; None where there is nothing to search."""
    request, mode = p.request, p.request.mode
    if p.call is None:
        tuned = isinstance(p.plan, SlicedKernels) or (isinstance(p.plan, Kernels) and {*p.plan.origins} == {"tuned"})
        if tuned or mode.tuning not in ("auto", "background") or (request.into and not _computes(request.mdhom)):
            return None
    return _enqueued(config.budget, [request, *p.others]) if mode.tuning == "auto" else 0.0


def _computes(h: Computation) -> bool:
    """Whether a search is for what is put into memory that was there: not where elements are only moved there.

    Nor where they do not lie there as in new memory, in which a search would put them.
    """
    (first, *others) = h.mdhoms
    plain = first.finish is None and all([s.op in ("param", "cast") for s in first.scalar.body])
    moved = plain and not others and all([c.kind == "cc" for c in first.combine])
    return not moved and all([is_row_major(v.shape, v.strides) for v in h.outputs])


def _enqueued(seconds: float, requests: Sequence[Request]) -> float:
    """Give the seconds that calls take until their kernels take so many: calls that only enqueue them are shorter."""
    if not requests[0].mode.resident:
        return seconds
    best = [loading.candidates.fastest_kernels(r.mdhom, r.devices) for r in requests]
    kernels = sum([b.seconds for b in best if b is not None])
    return seconds * min(_ENQUEUE * len(requests) / kernels, 1.0) if kernels else seconds
