"""OpenCL, and all that makes kernels: loaded here and nowhere else, when calls have become worth it.

Loading takes longer than most programs' first calls, so NumPy computes what it can until then. A program that makes
few calls never loads OpenCL. The modules that need it are attributes of this one, imported when they are first asked
for: `loading.kernels` is `mdhnp.calls.kernels`.
"""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mdhnp import runtime
from mdhnp.calls.entry import Spent
from mdhnp.errors import warn
from mdhnp.mdh import Computation
from mdhnp.process import process, take_for_old, unforked

if TYPE_CHECKING:
    from mdhnp.calls import build, candidates, contest, debug, kernels, rewritings, search
    from mdhnp.codegen.opencl import atomics, grouping, selection, short_rows
    from mdhnp.fusion import rewrite
    from mdhnp.fusion.rules import maps
    from mdhnp.runtime import executable
    from mdhnp.runtime.devices import Device
    from mdhnp.schedule import matrices
    from mdhnp.tuning import background, times
    from mdhnp.tuning.search import session

__all__ = [
    "Unloaded", "atomics", "background", "build", "candidates", "contest", "debug", "devices", "executable",
    "grouping", "is_lost", "kernels", "load", "load_meanwhile", "maps", "matrices", "rewrite", "rewritings",
    "say_lost", "search", "selection", "session", "short_rows", "times", "unloaded",
]  # fmt: skip

#: Seconds that it takes to load drivers and all that makes kernels, on the machine of the tables.
LOADING = 0.3

_MODULES = {
    path.rpartition(".")[2]: path
    for path in (
        "mdhnp.calls.build", "mdhnp.calls.candidates", "mdhnp.calls.contest", "mdhnp.calls.debug",
        "mdhnp.calls.kernels", "mdhnp.calls.rewritings", "mdhnp.calls.search", "mdhnp.codegen.opencl.atomics",
        "mdhnp.codegen.opencl.grouping", "mdhnp.codegen.opencl.selection", "mdhnp.codegen.opencl.short_rows",
        "mdhnp.fusion.rewrite", "mdhnp.fusion.rules.maps", "mdhnp.runtime.executable", "mdhnp.schedule.matrices",
        "mdhnp.tuning.background", "mdhnp.tuning.search.session", "mdhnp.tuning.times",
    )
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(name)
    with unforked():  # a child would find modules locked by a thread that it does not have
        module = globals()[name] = import_module(_MODULES[name])
    return module


class Unloaded:
    """What the calls of this process have cost as long as OpenCL is not loaded, all and by computation."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.all, self.each, self.begun = Spent(), dict[Computation, Spent](), False

    @cached_property
    def price(self) -> float:
        """Seconds of calls from which on loading pays: at once where this machine's tuning cache holds something."""
        return 0.0 if import_module("mdhnp.runtime.private").tuning_file().exists() else LOADING  # takes platformdirs


def _none() -> "tuple[Device, ...]":
    return ()


unloaded = Unloaded()
#: Gives the devices that calls may use now: none as long as OpenCL is not loaded.
devices: "Callable[[], tuple[Device, ...]]" = _none


def _forked() -> None:
    """Begin anew in a forked child: it has neither the thread that loads, nor those of the parent's devices."""
    unloaded.forget()
    globals().update(devices=_none)


process.at_fork(_forked)


def is_lost() -> bool:
    """Whether this process was forked from one that had found devices, so that it cannot have any."""
    found = sys.modules.get("mdhnp.runtime.devices") if process.forks else None
    return found is not None and found.are_lost()


def say_lost() -> None:
    """Warn the user of a forked child once; there is nothing to load meanwhile."""
    if not unloaded.begun:
        unloaded.begun = True
        warn(
            "NumPy computes this process's calls: it was forked from one that has OpenCL devices, which does not "
            "survive that; for kernels start processes with multiprocessing's 'spawn' or 'forkserver' method"
        )


def load() -> "tuple[Device, ...]":
    """Load OpenCL, and all that makes kernels; NoDeviceError if none is there, or ``MDHNP_DEVICE`` names none.

    Also in a child that was forked from a process that had found them.
    """
    global devices  # noqa: PLW0603
    with unforked():
        import_module("mdhnp.calls.kernels")  # so that the next call need not
        candidates: Callable[[], tuple[Device, ...]] = runtime.devices.candidates
        usable = candidates()
    for each in usable:
        for device in each.members:
            device.check()
    if devices is not candidates:
        devices = candidates
        take_for_old()
    return usable


def load_meanwhile() -> None:
    """Have OpenCL loaded by another thread, which no call waits for, and by the helper process."""
    unloaded.begun = True
    background = import_module("mdhnp.tuning.background")
    background.ahead(_Ready())
    background.later(_load_or_complain)


@dataclass(frozen=True)
class _Ready:
    """A job: load in the helper process what makes kernels, which takes as long there as it does here."""

    urgent = True
    limit = 300.0  # as of kernels, which wait for this: under load, and from a cold disk, it may take minutes

    def run(self) -> None:
        import_module("mdhnp.calls.build")  # which the first job would have to wait for
        import_module("mdhnp.tuning.measure.machine").machine_of(load()[0])


def _load_or_complain() -> None:
    try:
        load()[0].queue  # noqa: B018 (which makes it)
    except Exception as error:
        if not threading.main_thread().is_alive():
            return  # the program ends, and what is imported then may refuse
        import_module("mdhnp.tuning.background").complain(
            f"NumPy computes all calls that it can, since there is no device for kernels: {error}"
        )
