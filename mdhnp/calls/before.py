"""Before OpenCL is loaded, which takes longer than most programs' first calls: NumPy computes what it can.

Drivers are loaded in another thread once calls have cost as much as that does, or at once where this machine's tuning
cache may know kernels that are faster. A program that makes few calls never loads them. This file must import nothing
that loads OpenCL.
"""

import os
import threading
from contextlib import suppress
from functools import cache, cached_property
from typing import TYPE_CHECKING

from mdhnp.calls.entry import Entry, Made, Watcher
from mdhnp.calls.plans import ByNumpy, Plan
from mdhnp.calls.request import Request
from mdhnp.placement.numpys import numpy_function, roughly
from mdhnp.runtime.forks import unforked

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

__all__ = ["before", "devices", "load"]

#: Seconds that it takes to load drivers and all that makes kernels.
_LOADING = 0.3

#: More than loading and compiling take: worth a closer look before NumPy's time is spent.
_HEAVY = 1.0


class _Loading(Watcher):
    """Follows all calls of this process until OpenCL is there."""

    def __init__(self) -> None:
        super().__init__()
        self._spent, self._begun = 0.0, False

    def see(self, entry: Entry, plan: Plan, seconds: float) -> None:
        """Count a call; have OpenCL loaded when that pays."""
        self._spent += seconds
        if not self._begun and self._spent >= self._price:
            self._begun = True
            from mdhnp.tuning import background

            background.later(_load_or_complain)

    @cached_property
    def _price(self) -> float:
        from mdhnp.runtime.paths import data_folder

        return 0.0 if any(data_folder().glob("tuning-*.sqlite")) else _LOADING


def before(request: Request) -> Made | None:
    """Make a plan without OpenCL; None where NumPy cannot compute it, is not to, or would take too long."""
    mode = request.mode
    if mode.host == "never" or mode.specialise == "always" or mode.tuning == "full" or 0 in request.mdhom.extents:
        return None
    function = numpy_function(request.mdhom)
    if function is None:
        return None
    if roughly(function, request.mdhom) > _HEAVY:
        with suppress(RuntimeError):  # there is no device
            load()
            return None
    plan = ByNumpy.of(request, "OpenCL is not loaded yet", function)
    return Made(plan, _loading())


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
