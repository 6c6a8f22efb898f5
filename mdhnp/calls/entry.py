"""What a repeat call finds: the plan of a call, which gives way to better ones while it is in use."""

import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy.typing as npt

from mdhnp.calls.plans import Plan
from mdhnp.calls.request import array
from mdhnp.warning import warn

__all__ = ["Entry", "InSteps", "Made", "Watcher"]

Array = npt.NDArray[Any]


class Watcher(Protocol):
    """Follows what the calls of one entry cost, and finds a better plan when that pays."""

    def is_due(self, seconds: float) -> bool:
        """Tell whether, after a call that took so long, it pays."""

    def better(self, entry: "Entry") -> "Made | None":
        """Find it: the plan and the watcher to go on with, None where the entry is to stay as it is.

        An exception leaves the entry the plan that it has.
        """

    def anew(self) -> Self:
        """Give one that has seen no calls."""


class Made(NamedTuple):
    """A plan, what sees to it that there will be a better one, and whether to keep it for later calls."""

    plan: Plan
    watcher: Watcher | None = None
    kept: bool = True


class Entry:
    """A call that was made before.

    Parameters
    ----------
    made : Made
        Its plan.
    take, give : callable
        As in :class:`mdhnp.calls.request.Described`.

    Attributes
    ----------
    plan : Plan
        The one in use.
    owner : weakref.ref or None
        Drops the entry when the object dies that alone makes this call.
    """

    __slots__ = ("_give", "_take", "_watching", "owner", "plan")

    def __init__(
        self,
        made: Made,
        take: Callable[[Sequence[Array]], Sequence[Array]] | None,
        give: Callable[[Sequence[Any]], Any] | None,
    ) -> None:
        self._take, self._give = take, give
        self.owner: weakref.ref[Any] | None = None
        self.put(made)

    def put(self, made: Made) -> None:
        """Use another plan from now on."""
        # In this order: a call in another thread may measure the old plan for the new watcher, but misses no watcher.
        self.plan = made.plan
        self._watching = [] if made.watcher is None else [made.watcher]

    def run(self, operands: Sequence[Array]) -> Any:
        """Make the call again, with operands of the same layouts."""
        arrays = operands if self._take is None else self._take(operands)
        watching = self._watching
        if not watching:
            found = self.plan.run(arrays)
        else:
            begin = time.perf_counter()
            found = self.plan.run(arrays)
            self._watch(watching, time.perf_counter() - begin)
        if self._give is not None:
            return self._give(found)
        only = found[0]
        return only if only.ndim else only[()]

    def _watch(self, watching: list[Watcher], seconds: float) -> None:
        """Tell the watcher, and put a better plan in place when that pays. The call has its result, come what may."""
        try:
            watcher = watching[0]
            if not watcher.is_due(seconds):
                return
            watching.pop()  # whoever takes the watcher improves; calls of other threads go on meanwhile
        except IndexError:  # another thread took it
            return
        try:
            if (made := watcher.better(self)) is not None:
                self.put(made)
        except Exception as error:
            warn(f"a call keeps the kernels it has, since better ones could not be made: {error}")
        except BaseException:  # Ctrl-C: at another time
            self._watching = [watcher.anew()]
            raise


class InSteps:
    """Several computations one after the other, on arrays and on what earlier ones gave.

    Parameters
    ----------
    steps : sequence of (tuple of int, Entry)
        Where the inputs of each are among the arrays, which the first results of those before it follow; and what
        gives all of its results.
    arrays : int
        Number of arrays.
    """

    def __init__(self, steps: Sequence[tuple[tuple[int, ...], Entry]], arrays: int) -> None:
        last = {p: n for n, (positions, _) in enumerate(steps) for p in positions if p >= arrays}
        done = [tuple(p for p, at in last.items() if at == n) for n in range(len(steps))]
        self._steps = tuple((*step, used) for step, used in zip(steps, done, strict=True))

    def run(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """Compute all of them; a temporary goes when it was read for the last time."""
        values: list[Any] = list(arrays)
        found: tuple[Any, ...] = ()
        for positions, entry, used in self._steps:
            found = entry.run(tuple(values[p] for p in positions))
            for p in used:
                values[p] = None
            values.append(array(found))
        return found
