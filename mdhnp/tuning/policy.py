"""When a call gets a kernel of its own, and tuned schedules: what ``config.specialise`` and ``config.tuning`` mean.

Follows one plan. It must not know how plans are made or kept: the dispatcher asks here, and makes the new plan itself.
"""

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from mdhnp.mdh import MdHom
from mdhnp.runtime.devices import Device
from mdhnp.settings import config
from mdhnp.tuning import background
from mdhnp.tuning.lookup import key_of, tuned_for
from mdhnp.tuning.search.session import tune_stage

__all__ = ["Trial", "Watch", "general_serves"]

#: Seconds it takes to choose a schedule for one call, generate its kernel and compile that.
_COMPILING = 0.3

#: A call that takes this part of the budget is tuned at once.
_HEAVY = 0.1

# One search at a time in a process: two would disturb each other's measurements. A finalizer or signal handler amid a
# search must not wait for its own thread.
_searching = threading.Lock()
_searcher: int | None = None


def general_serves() -> bool:
    """Tell whether a general kernel may serve calls: not where each is to have its own, or be tuned, from the first."""
    return config.specialise == "auto" and config.tuning in ("auto", "off")


class Trial:
    """What the calls of one plan with a general kernel have cost so far, but for the first, in which PoCL compiles."""

    def __init__(self) -> None:
        self._spent: float | None = None

    def is_due(self, seconds: float) -> bool:
        """Tell, once, that calls have taken as long as it takes to compile a kernel for them alone."""
        spent = 0.0 if self._spent is None else self._spent + seconds
        due = spent >= _COMPILING
        self._spent = float("-inf") if due else spent
        return due


class Watch:
    """The kernels of one plan that have no tuned schedule, and what their calls have cost so far.

    Parameters
    ----------
    untuned : sequence of MdHom
        Stages in canonical form.
    device : Device
        Where they run.
    """

    def __init__(self, untuned: Sequence[MdHom], device: Device) -> None:
        self._untuned, self._device = tuple(untuned), device
        self._spent = 0.0
        self._in_background = False

    def is_due(self, seconds: float) -> bool:
        """Tell whether a call that took so long is one too many.

        Tuning is begun when the calls have taken as long as it may take itself: whoever knows no more of the future
        loses no more than half of the time that way. Then calls are counted anew.
        """
        spent, budget = self._spent + seconds, config.budget
        due = spent >= budget or seconds >= _HEAVY * budget
        self._spent = 0.0 if due else spent
        return due

    def tune(self, *, exhaustive: bool) -> bool:
        """Search now, for `config.budget` seconds a kernel.

        Parameters
        ----------
        exhaustive : bool
            Wait for another thread's search first, and search on until the budget is spent; else leave it to the other
            thread, and measure `config.evaluations` schedules at most.

        Returns
        -------
        bool
            Whether to look schedules up again and then leave it at that: not where another thread or process is
            searching.
        """
        global _searcher  # noqa: PLW0603
        if not _searching.acquire(blocking=exhaustive and _searcher != threading.get_ident()):
            return False
        _searcher = threading.get_ident()
        try:
            return self._search(None if exhaustive else config.evaluations)
        except Exception as error:  # whatever keeps a call from being tuned must not keep it from running
            warnings.warn(f"a call could not be tuned: {error}", RuntimeWarning, stacklevel=4)
            return True
        finally:
            _searcher = None
            _searching.release()

    def _search(self, evaluations: int | None) -> bool:
        for h in self._untuned:
            if tuned_for(h, self._device) is not None:  # since the plan was made, by another call, thread or process
                continue
            tuned, stopped = tune_stage(h, self._device, config.budget, evaluations)
            if tuned is None and not stopped:
                return False
            if stopped:
                break
        return True

    def tune_later(self, then: Callable[[], Any]) -> None:
        """Search in another process while calls go on; `then()` is called in a thread when there is something new."""
        if not self._in_background:
            self._in_background = True
            keys = tuple(key_of(h, self._device) for h in self._untuned)
            background.submit(background.Job(self._untuned, keys, config.budget, config.evaluations), then)


def _after_fork_in_child() -> None:
    global _searching, _searcher
    _searching, _searcher = threading.Lock(), None  # a thread that is not here may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
