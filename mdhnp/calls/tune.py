"""Tunes a call: finds its stages, has each tuned, and lets later calls look up what was found."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from mdhnp.calls.kernels import staged
from mdhnp.calls.observe import Observed, observe
from mdhnp.calls.prepare import requested, settle
from mdhnp.calls.rewritings import settle_rewritings, trying
from mdhnp.calls.store import forget
from mdhnp.runtime.devices import Device, find_device
from mdhnp.runtime.devices import device as use
from mdhnp.settings import config
from mdhnp.tuning.cache.records import Key
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.search.session import Tuned, tune_stage

__all__ = ["Stages", "Tuned", "tune"]


class Stages:
    """Stages that are tuned; takes what :func:`mdhnp.tuning.search.session.tune_stage` takes.

    Attributes
    ----------
    found : list of Tuned
        What that brought.
    keys : dict
        The keys of the stages that were seen, in order.
    """

    def __init__(
        self,
        budget: float,
        evaluations: int | None,
        seed: int = 0,
        progress: bool | None = None,
        beside: Sequence[Device] = (),
    ) -> None:
        self.found: list[Tuned] = []
        self.keys: dict[Key, None] = {}
        self._how = budget, evaluations, seed, progress, beside

    def tune(self, calls: Observed) -> bool:
        """Tune what was not seen before, and measure it beside NumPy; gives whether the user wants no more."""
        requests = dict.fromkeys(requested(calls))
        for h, device in [(s.mdhom, r.device) for r in requests for s in staged(r.mdhom)]:
            if (key := key_of(h, device)) in self.keys:
                continue
            self.keys[key] = None
            tuned, stopped = tune_stage(h, device, *self._how)
            self.found += [tuned] if tuned is not None else []
            if stopped:
                return True
        for request in requests:
            settle(request)
        return False


def tune(
    function: Callable[..., Any],
    *args: Any,
    budget: float = 10.0,
    evaluations: int = 50,
    seed: int = 0,
    progress: bool | None = None,
    devices: Sequence[str | int | Device] | None = None,
    **kwargs: Any,
) -> tuple[Tuned, ...]:
    """Search a schedule for every kernel of a call; later calls, in this and other processes, use what was found.

    At the end kernels are measured beside NumPy's functions, as by :func:`mdhnp.prepare`: calls begin with the faster.

    Parameters
    ----------
    function : callable
        Any of this package's functions, or one that calls them.
    *args, **kwargs
        Its arguments. The call itself runs once, as always: with ``out=`` it writes there.
    budget : float
        Seconds for each stage of the call, from the time that its default schedule was measured.
    evaluations : int
        Most schedules to measure for each stage; those timed again at the end do not count.
    seed : int
        Same seed, same candidates as long as measurements agree.
    progress : bool, optional
        Show a progress bar; by default where standard error is a terminal.
    devices : sequence of str, int or Device, optional
        Equal devices, as :func:`mdhnp.device` takes them, that share the search: each measures other candidates at the
        same time, and the first one times the finalists. By default the device that the call runs on.

    Returns
    -------
    tuple of Tuned
        One a stage; fewer where another process is tuning the same stage at this moment.

    Raises
    ------
    RuntimeError
        If the measuring process cannot start, or not even the default schedule can be measured.
    ValueError
        If `devices` is empty, or they differ in name, driver or runtime, or one is named twice.
    NoDeviceError
        If one of `devices` does not exist.

    Notes
    -----
    Candidates are built and run in processes of their own, on random arrays of their own; one that fails, hangs or
    computes something else is recorded and passed over. Ctrl-C ends the search of this stage, leaves out later ones,
    and keeps what was found.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = np.ones((64, 64), np.float32)
    >>> found = mdhnp.tune(mdhnp.matmul, a, a, budget=2.0, evaluations=5)  # doctest: +SKIP
    """
    if not callable(function):
        raise TypeError(f"tune: takes a function, not {function!r}")
    team = _equal(devices) if devices is not None else ()
    stages = Stages(budget, evaluations, seed, progress, team[1:])

    def call() -> Any:
        return function(*args, **kwargs)

    with use(team[0]) if team else nullcontext():
        forget()  # what was rewritten before is to be seen again
        with config(tuning="off", host="never"), observe() as seen, trying({}) as graphs:
            call()
        try:
            stopped = stages.tune(seen)
            for graph, device in graphs.items():
                stopped = stopped or settle_rewritings(call, graph, device, stages.tune)
        finally:
            forget()
    return tuple(stages.found)


def _equal(specs: Sequence[str | int | Device]) -> tuple[Device, ...]:
    """The devices, after checking that what one measures holds for the others."""
    found = tuple(find_device(spec) for spec in specs)
    if len({d.identity for d in found}) != 1 or len(set(found)) != len(found):
        raise ValueError(f"tune: devices must be different devices of the same kind, got {[*found]}")
    return found
