"""Before OpenCL is loaded, which takes longer than most programs' first calls: NumPy computes what it can.

Drivers are loaded in another thread once calls have cost as much as that does, or at once where this machine's tuning
cache may know kernels that are faster. A program that makes few calls never loads them. This file must import nothing
that loads OpenCL.
"""

import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import inf
from typing import TYPE_CHECKING

from mdhnp.calls.entry import Entry, Made, Watcher
from mdhnp.calls.numpy_tier import numpy_function, roughly
from mdhnp.calls.plans import ByNumpy, Plan
from mdhnp.calls.request import Request
from mdhnp.calls.spending import Spent
from mdhnp.fusion.least_work import least_work
from mdhnp.mdh import Computation, Graph
from mdhnp.process import unforked

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

__all__ = ["before", "devices", "load", "seconds", "spent_on", "way"]

#: Seconds that it takes to load drivers and all that makes kernels.
_LOADING = 0.3

#: More than loading and compiling take: worth a closer look before NumPy's time is spent.
_HEAVY = 1.0


@dataclass
class _Loading:
    """What all calls of this process have cost until OpenCL is there, and whether somebody loads it."""

    all: Spent = field(default_factory=Spent)
    each: dict[Computation, Spent] = field(default_factory=dict)
    begun: bool = False

    @cached_property
    def price(self) -> float:
        """Seconds from which on it pays."""
        from mdhnp.runtime.paths import data_folder

        return 0.0 if any(data_folder().glob("tuning-*.sqlite")) else _LOADING


class _Calls(Watcher):
    """Follows the calls of an entry until OpenCL is there, and has it loaded when that pays."""

    def __init__(self, loading: _Loading, h: Computation) -> None:
        super().__init__()
        self._loading = loading
        self._spent = loading.each.setdefault(h, Spent())

    def see(self, entry: Entry, plan: Plan, seconds: float) -> None:
        """Count a call."""
        loading = self._loading
        self._spent.add(seconds)
        loading.all.add(seconds)
        if not loading.begun and loading.all.seconds >= loading.price:
            loading.begun = True
            from mdhnp.tuning import background

            background.ahead(_Ready())
            background.later(_load_or_complain)


@dataclass(frozen=True)
class _Ready:
    """A job: load in the helper process what makes kernels, which takes as long there as it does here."""

    urgent = True
    limit = 60.0

    def run(self) -> None:
        """Load it, and see what the device's smallest calls take."""
        from mdhnp.calls import build  # noqa: F401 (which the first job would have to wait for)
        from mdhnp.tuning.measure.machine import machine_of

        machine_of(load()[0])


def before(request: Request) -> Made | None:
    """Make a plan without OpenCL; None where NumPy cannot compute it, is not to, or would take too long."""
    mode = request.mode
    if mode.host == "never" or mode.specialise == "always" or mode.tuning == "full" or 0 in request.mdhom.extents:
        return None
    function = numpy_function(request.mdhom)
    if function is None:
        return None
    if roughly(function) > _HEAVY:
        with suppress(RuntimeError):  # there is no device
            load()
            return None
    plan = ByNumpy.of(request, "OpenCL is not loaded yet", function)
    return Made(plan, _Calls(_loading(), request.mdhom))


def way(usual: Graph, written: Graph) -> Graph:
    """Give what NumPy computes in place of a graph that rules have made of one that was written.

    NumPy has no functions for some of what they make, as for several results in one pass. Then only maps are rewritten,
    or nothing, whichever takes less time; elementary functions are not computed twice.
    """
    if seconds(usual) < inf:
        return usual
    from mdhnp.fusion.rewrite import rewriting
    from mdhnp.fusion.rules import maps

    return min(usual, rewriting(written, maps.RULES).after, written, key=seconds)


def seconds(graph: Graph) -> float:
    """Give the seconds that NumPy's functions take for a graph, roughly; infinitely many where some step has none."""
    functions = [numpy_function(step.mdhom) for step in least_work(graph).steps]
    return sum([inf if function is None else roughly(function) for function in functions])


def spent_on(h: Computation) -> Spent | None:
    """Give what calls of a computation have cost before OpenCL was loaded, once; None if there were none."""
    return _loading().each.pop(h, None)


def devices() -> "tuple[Device, ...]":
    """Give the devices that calls may use now: none as long as OpenCL is not loaded."""
    if not _loaded:
        return ()
    from mdhnp.runtime.devices import candidates

    return candidates()


def load() -> "tuple[Device, ...]":
    """Load OpenCL, and all that makes kernels.

    Raises
    ------
    NoDeviceError
        If there is no device, or none that ``MDHNP_DEVICE`` names.
    """
    with unforked():  # a child would find modules locked by a thread that it does not have
        from mdhnp.calls import make  # noqa: F401 (so that the next call need not)
        from mdhnp.runtime.devices import candidates

        found = candidates()
    _loaded.append(True)
    return found


def _load_or_complain() -> None:
    try:
        load()[0].queue  # noqa: B018 (which makes it)
    except Exception as error:
        if not threading.main_thread().is_alive():
            return  # the program ends, and what is imported then may refuse
        from mdhnp.tuning import background

        background.complain(f"NumPy computes all calls that it can, since there is no device for kernels: {error}")


@cache
def _loading() -> _Loading:
    return _Loading()


_loaded: list[bool] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loading.cache_clear)  # the thread that loads is not here
