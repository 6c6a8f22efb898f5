"""What a repeat call finds: the plan of a call, which gives way to better ones while it is in use."""

import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

import numpy.typing as npt

from mdhnp.calls.operands import scalar
from mdhnp.calls.plans import ByNumpy, Plan
from mdhnp.errors import warn

Array = npt.NDArray[Any]

#: Of calls that take about a microsecond of Python's, one in so many is told a watcher, for all of them.
_EACH = 16


class Spent:
    """What calls have cost: all their seconds, their number, and the seconds of the fastest."""

    __slots__ = ("calls", "least", "seconds")

    def __init__(self) -> None:
        self.seconds, self.calls, self.least = 0.0, 0, inf

    def add(self, seconds: float, calls: int = 1) -> None:
        """Add so many calls, of so many seconds each."""
        self.seconds += seconds * calls
        self.calls += calls
        self.least = min(self.least, seconds)


class Watcher(ABC):
    """Follows what the calls of one entry cost, and sees to it that there will be a better plan when that pays."""

    #: Whether it is to be told of each call, not of one in several that are brief.
    each = False

    def __init__(self) -> None:
        self._seeing = threading.Lock()

    def saw(self, entry: "Entry", plan: Plan, seconds: float, calls: int = 1) -> None:
        """Take note of a call that a plan has computed in so many seconds, and of those before that nobody noted.

        The call has its result, come what may.
        """
        # Who finds the lock taken does not wait: it may be a signal handler's call amid one of its own thread.
        if not self._seeing.acquire(blocking=False):
            return
        try:
            if entry.watcher is self:  # no call of before it was replaced
                self.see(entry, plan, seconds, calls)
        except Exception as error:
            warn(f"a call keeps the plan it has, since a better one could not be made: {error}")
        finally:
            self._seeing.release()

    @abstractmethod
    def see(self, entry: "Entry", plan: Plan, seconds: float, calls: int) -> None:
        """Take note of so many calls; may put another plan into the entry. One thread at a time."""


class Start(NamedTuple):
    """What an entry begins with: a plan, what sees to it that there will be a better one, and whether it is kept."""

    plan: Plan
    watcher: Watcher | None = None
    kept: bool = True


class Entry:
    """A call that was made before: its plan, and how operands are taken and results given, as in `request.Described`.

    It is dropped when one of its `owners` dies. `free` are states of kernels of one result, where all that a call does
    is to enqueue these once it has prepared; see `store.repeat`. `host` is what launches kernels, and None, or NumPy's
    function and the number of its calls, in a list, where all that a call does is to call that. If there is a watcher,
    it is told of one such call in `_EACH`: `unseen` is how many there may be before. `prepare` is what kernels need
    before them, and NumPy's functions do not (`indices.preparing`).
    """

    __slots__ = ("_give", "_now", "_take", "free", "host", "owners", "prepare", "unseen")

    def __init__(
        self,
        start: Start,
        take: Callable[[Sequence[Array]], Sequence[Array]] | None,
        give: Callable[[Sequence[Any]], Any] | None,
        prepare: Callable[[Sequence[Array]], Sequence[Array]] | None = None,
    ) -> None:
        self._take, self._give, self.prepare = take, give, prepare
        self.owners: tuple[weakref.ref[Any], ...] = ()
        self.put(start.plan, start.watcher)

    @property
    def plan(self) -> Plan:
        return self._now[0]

    @property
    def watcher(self) -> Watcher | None:
        return self._now[1]

    def put(self, plan: Plan, watcher: Watcher | None = None) -> None:
        """Use a plan from now on, and have its calls followed."""
        self._now = plan, watcher  # at once, so that no watcher takes another plan's time for its own's
        self.free: list[Any] | None = getattr(plan, "free", None) if self._take is self._give is None else None
        alone = self.prepare is None or type(plan) is ByNumpy
        alone = alone and (watcher is None or (not watcher.each and getattr(plan, "brief", False)))
        self.host = getattr(plan, "host", None) if alone else None
        if self.host is not None and not (self._take is self._give is None):
            (compute, calls), take, give = self.host, self._take or tuple, self._give or itemgetter(0)
            self.host = (lambda *operands: give((compute(*take(operands)),))), calls
        self.unseen = None if watcher is None else _EACH - 1

    def run(self, operands: Sequence[Array]) -> Any:
        """Make the call again, with operands of the same layouts."""
        plan, watcher = self._now
        like, begin = 0, 0.0
        if watcher is not None:
            like, self.unseen = _EACH - (self.unseen or 0), _EACH - 1
            begin = time.perf_counter()
        arrays = operands if self._take is None else self._take(operands)
        if self.prepare is not None and type(plan) is not ByNumpy:
            arrays = self.prepare(arrays)
        results = plan.run(arrays)
        if watcher is not None:
            watcher.saw(self, plan, time.perf_counter() - begin, like)
        if self._give is not None:
            return self._give(results)
        return scalar(results[0]) if results else ()
