"""Brief calls, which NumPy makes until they have cost so much that describing what they compute takes little beside it.

A description takes as long as ten or more calls on small arrays. It must not know what it consists of.
"""

from collections.abc import Callable, Sequence

from mdhnp.calls import observe
from mdhnp.calls.entry import Array, Entry, Spent, Watcher
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.plans import Plan, Results, counts_of

#: Seconds of calls of which a description, of half a millisecond, is a twentieth: what contests may lose, too.
WORTH = 0.01


class Undescribed(Watcher):
    """What an entry has for a plan, and counts what its calls cost; `describe` puts another entry in its place."""

    brief = True

    def __init__(self, name: str, function: NumpyFunction, describe: Callable[[], Entry]) -> None:
        super().__init__()
        self.host = function.compute, counts_of(name)
        self._describe, self._spent = describe, Spent()

    def run(self, arrays: Sequence[Array]) -> Results:
        """Make a call, by the other entry where somebody looks on."""
        if observe.blocks:
            return (self._describe().run(arrays),)
        compute, calls = self.host
        calls[0] += 1
        return (compute(*arrays),)

    def see(self, entry: Entry, plan: Plan, seconds: float, calls: int) -> None:
        """Count calls, and describe what they compute once that is worth it."""
        self._spent.add(seconds, calls)
        if self._spent.seconds >= WORTH:
            self._describe()
