"""The search for the fastest way of rewriting a fused function's graph, done by the helper process.

Costs say which way is taken until then. What :func:`mdhnp.tune` does for a call is done here for calls that take long
enough: each way that can be computed is timed, the fastest are tuned, and the caller's entry gets the plan of the best.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mdhnp.calls.build import affordable, filled
from mdhnp.calls.entry import Entry, Made
from mdhnp.calls.plans import Kernels, Plan
from mdhnp.calls.request import Described, Routine, results
from mdhnp.calls.search import entries_of, learn
from mdhnp.calls.spending import Spent
from mdhnp.mdh import Computation, Graph
from mdhnp.mdh.mdhom import is_row_major
from mdhnp.runtime.devices import Device, equal_devices
from mdhnp.runtime.devices import device as use
from mdhnp.runtime.layout import Layout
from mdhnp.settings import Mode, Precision, config
from mdhnp.tuning import background
from mdhnp.tuning.cache.records import Entry as Tuned
from mdhnp.tuning.cache.records import Key, Times
from mdhnp.tuning.times import measured_rewritings, remember_rewritings

__all__ = ["FoundWays", "SearchWays", "Ways"]

#: How often the values of a graph are in memory while its kernels are made, compared with NumPy and tuned.
_COPIES = 4

#: The layout and the type of an array.
Given = tuple[Layout, np.dtype[Any]]


@dataclass(frozen=True)
class FoundWays:
    """What a search brought: seconds of calls by names of ways, and entries of the tuning cache."""

    times: Times
    entries: tuple[tuple[Key, Tuned], ...]


@dataclass(frozen=True)
class SearchWays:
    """A job: time all ways of rewriting a graph, and tune the fastest.

    Attributes
    ----------
    written : Graph
        As the function is written.
    given : tuple of (Layout, dtype)
        The arrays that it takes.
    device : str
        Identity.
    resident : bool
        Whether these are in the device's own memory.
    precision : Precision
        As in :class:`mdhnp.settings.Config`.
    budget, evaluations
        Seconds and measurements for each stage.
    """

    written: Graph
    given: tuple[Given, ...]
    device: str
    resident: bool
    precision: Precision
    budget: float
    evaluations: int

    urgent = False

    @property
    def limit(self) -> float:
        """Seconds; two ways are tuned, and each stage of them has its budget."""
        return 600.0 + 20 * self.budget * len(self.written.steps)

    def run(self) -> FoundWays:
        """Search."""
        from mdhnp.calls.call import call
        from mdhnp.tuning.rewriting import settle_rewritings
        from mdhnp.tuning.stages import Stages

        device, rng = equal_devices(self.device)[0], np.random.default_rng(0)
        if known := measured_rewritings(self.written, device):  # for another entry
            return FoundWays(dict(known), ())
        arrays: list[Any] = [filled(layout, dtype, rng) for layout, dtype in self.given]
        if self.resident:
            from mdhnp.frontend.creation import asarray

            arrays = [asarray(a, device=device) for a in arrays]
        stages = Stages(self.budget, self.evaluations, progress=False)
        with use(device), config(precision=self.precision):
            settle_rewritings(partial(call, (_WAY, self.written), tuple(arrays)), self.written, device, stages.tune)
        return FoundWays(dict(measured_rewritings(self.written, device)), entries_of(stages.keys))


def _describe(arrays: Any, written: Graph) -> Described:
    from mdhnp.fusion.rewrite import rewriting

    return Described(rewriting(written).after, None, results, written=written)


_WAY = Routine("fuse", _describe)


@dataclass(frozen=True, eq=False)
class Ways:
    """What a search takes, and what is done with what it brings.

    Attributes
    ----------
    written : Graph
        As in :class:`SearchWays`.
    given : tuple of (Layout, dtype)
        As there.
    devices : tuple of Device
        That may compute it.
    mode : Mode
        The settings.
    planned : callable
        Makes the plan anew, in another thread.
    """

    written: Graph
    given: tuple[Given, ...]
    devices: tuple[Device, ...]
    mode: Mode
    planned: Callable[[], Made | None]

    @classmethod
    def of(
        cls,
        written: Graph,
        usual: Computation | Graph,
        given: tuple[Given, ...],
        devices: tuple[Device, ...],
        mode: Mode,
        planned: Callable[[], Made | None],
    ) -> "Ways | None":
        """Give them where there is something to search: nobody has, the settings let it, and memory does."""
        empty = any([0 in step.mdhom.extents for step in written.steps])
        if mode.tuning not in ("auto", "background") or empty or written == usual:
            return None
        if any([measured_rewritings(written, device) for device in devices]):
            return None
        # Arrays are made C-contiguous.
        if mode.resident and not all([is_row_major(one.shape, one.strides, one.itemsize) for one, _ in given]):
            return None
        return cls(written, given, devices, mode, planned) if affordable(_COPIES * _nbytes(written, given)) else None

    def search(self, entry: Entry, plan: Plan, spent: Spent) -> None:
        """Have the helper search, and then give the entry the plan of what is the fastest."""
        device = plan.devices[0] if isinstance(plan, Kernels) else self.devices[0]
        mode = self.mode
        job = SearchWays(
            self.written, self.given, device.identity, mode.resident, mode.precision, config.budget, config.evaluations
        )
        background.submit(job, partial(self._found, entry, device), _failed)

    def _found(self, entry: Entry, device: Device, found: FoundWays) -> None:
        learn(found.entries)
        if not found.times:
            return
        remember_rewritings(self.written, device, found.times)
        made = self.planned()
        if made is not None:  # OpenCL is loaded
            entry.put(made.plan, made.watcher)


def _nbytes(written: Graph, given: tuple[Given, ...]) -> int:
    """Bytes of all values of a graph: in the way without rules each of them is an array."""
    views = [v for step in written.steps for v in step.mdhom.outputs]
    return sum([layout.nbytes for layout, _ in given]) + sum([v.nbytes for v in views])


def _failed(reason: str) -> None:
    background.complain(f"a fused function keeps the plan it has, since a better one could not be made: {reason}")
