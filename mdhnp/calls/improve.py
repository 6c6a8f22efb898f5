"""When a call gets a kernel of its own, and tuned schedules: what ``config.specialise`` and ``config.tuning`` mean.

Each watcher follows the calls of one entry, and says when a better plan pays. How plans are made it is told.
"""

from collections.abc import Callable, Sequence
from typing import Self

from mdhnp.calls.entry import Entry, Made, Watcher
from mdhnp.mdh import MdHom
from mdhnp.runtime.devices import Device
from mdhnp.settings import Mode, config
from mdhnp.tuning import background
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.policy import search

__all__ = ["Auto", "Background", "Specialise", "tuner"]

#: Seconds it takes to choose a schedule for one call, generate its kernel and compile that.
_COMPILING = 0.3

#: A call that takes this part of the budget is tuned at once.
_HEAVY = 0.1


class Specialise:
    """Follows a general kernel: a kernel for the call's very sizes pays when calls have taken as long as to compile it.

    The first call does not count, in which PoCL compiles.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._spent: float | None = None

    def is_due(self, seconds: float) -> bool:
        """Tell whether calls have taken that long."""
        self._spent = 0.0 if self._spent is None else self._spent + seconds
        return self._spent >= _COMPILING

    def better(self, entry: Entry) -> Made:
        """Make the kernel."""
        return self._make()

    def anew(self) -> Self:
        """Give one that has seen no calls."""
        return type(self)(self._make)


class _Tuner:
    """What has no tuned schedule, and how to make a plan once it has.

    Parameters
    ----------
    untuned : sequence of MdHom
        Stages in canonical form.
    device : Device
        Where they run.
    make : callable
        Makes the plan with the schedules known then.
    """

    def __init__(self, untuned: Sequence[MdHom], device: Device, make: Callable[[], Made]) -> None:
        self._untuned, self._device, self._make = tuple(untuned), device, make

    def anew(self) -> Self:
        """Give one that has seen no calls."""
        return type(self)(self._untuned, self._device, self._make)


class Auto(_Tuner):
    """Tunes in the call that is one too many.

    Tuning is begun when the calls have taken as long as it may take itself: whoever knows no more of the future
    loses no more than half of the time that way. Then calls are counted anew.
    """

    _spent = 0.0

    def is_due(self, seconds: float) -> bool:
        """Tell whether a call that took so long is the one."""
        self._spent += seconds
        return self._spent >= config.budget or seconds >= _HEAVY * config.budget

    def better(self, entry: Entry) -> Made:
        """Search, unless another thread or process is: then go on as before."""
        searched = search(self._untuned, self._device, config.evaluations, wait=False)
        return self._make() if searched else Made(entry.plan, self.anew())


class Background(_Tuner):
    """Has it tuned in another process, from the first call on."""

    def is_due(self, seconds: float) -> bool:
        """Tell that it is."""
        return True

    def better(self, entry: Entry) -> None:
        """Leave it to the other process: the better plan is put in place when there is one."""
        keys = tuple(key_of(h, self._device) for h in self._untuned)
        job = background.Job(self._untuned, keys, config.budget, config.evaluations)
        background.submit(job, lambda: entry.put(self._make()))


def tuner(mode: Mode, untuned: Sequence[MdHom], device: Device, make: Callable[[], Made]) -> Watcher | None:
    """Give what sees to it that untuned stages will be tuned; None where nothing does."""
    if not untuned or mode.tuning not in ("auto", "background"):
        return None
    return (Auto if mode.tuning == "auto" else Background)(untuned, device, make)
