"""Tuning in the way of a call, for ``config.tuning = "full"``: never a call that fails because of it."""

import os
import threading
from collections.abc import Sequence

from mdhnp.mdh import Computation
from mdhnp.runtime.devices import Device
from mdhnp.settings import config
from mdhnp.tuning.lookup import tuned_for
from mdhnp.tuning.search.session import tune_stage
from mdhnp.warning import warn

__all__ = ["search"]

# One search at a time in a process: two would disturb each other's measurements. A finalizer or signal handler amid a
# search must not wait for its own thread.
_searching = threading.Lock()
_searcher: int | None = None


def search(untuned: Sequence[Computation], device: Device) -> bool:
    """Search schedules now, for `config.budget` seconds a stage, after another thread's search.

    Parameters
    ----------
    untuned : sequence of Computation
        Stages in canonical form.
    device : Device
        Where they run.

    Returns
    -------
    bool
        Whether to leave it at that: not where another process is searching, or this thread.
    """
    global _searcher  # noqa: PLW0603
    if not _searching.acquire(blocking=_searcher != threading.get_ident()):
        return False
    _searcher = threading.get_ident()
    try:
        return _search(untuned, device)
    except Exception as error:  # whatever keeps a call from being tuned must not keep it from running
        warn(f"a call could not be tuned: {error}")
        return True
    finally:
        _searcher = None
        _searching.release()


def _search(untuned: Sequence[Computation], device: Device) -> bool:
    for h in untuned:
        if tuned_for(h, device) is not None:  # since the plan was made, by another call, thread or process
            continue
        tuned, stopped = tune_stage(h, device, config.budget)
        if tuned is None and not stopped:
            return False
        if stopped:
            break
    return True


def _after_fork_in_child() -> None:
    global _searching, _searcher
    _searching, _searcher = threading.Lock(), None  # a thread that is not here may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
