"""When it pays to look for a better plan: once calls have cost as much as that does.

Whoever knows no more of the future loses no more than half of the time that way.
"""

from collections.abc import Callable
from math import inf

from mdhnp.calls.entry import Entry, Watcher
from mdhnp.calls.plans import Plan

__all__ = ["Spending", "Spent"]


class Spent:
    """What the calls of an entry have cost.

    Attributes
    ----------
    seconds : float
        All of them.
    calls : int
        Their number.
    least : float
        Seconds of the fastest.
    """

    def __init__(self) -> None:
        self.seconds, self.calls, self.least = 0.0, 0, inf

    def add(self, seconds: float) -> None:
        """Count one more."""
        self.seconds += seconds
        self.calls += 1
        self.least = min(self.least, seconds)

    @property
    def mean(self) -> float:
        """Seconds of one call."""
        return self.seconds / max(self.calls, 1)


class Spending(Watcher):
    """Adds up what calls cost, and does something in the call in which that reaches a price.

    Parameters
    ----------
    price : float
        In seconds.
    act : callable
        Takes the entry, the plan in use and what was spent. The entry is without a watcher then.
    spent : Spent, optional
        What calls by this plan have cost before; by default nothing.
    """

    def __init__(self, price: float, act: Callable[[Entry, Plan, Spent], None], spent: Spent | None = None) -> None:
        super().__init__()
        self._price, self._act = price, act
        self._spent = spent or Spent()

    def saw(self, entry: Entry, plan: Plan, seconds: float) -> None:
        """Count a call, without a lock: of several at once one may be left out."""
        self._spent.add(seconds)
        if self._spent.seconds >= self._price:
            super().saw(entry, plan, seconds)

    def see(self, entry: Entry, plan: Plan, seconds: float) -> None:
        """Act."""
        entry.put(plan)
        try:
            self._act(entry, plan, self._spent)
        except Exception:
            raise
        except BaseException:  # Ctrl-C: at another time
            entry.put(plan, Spending(self._price, self._act))
            raise
