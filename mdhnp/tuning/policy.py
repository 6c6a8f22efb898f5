"""Tuning in the way of a call, for ``config.tuning = "full"``: never a call that fails because of it."""

import threading
from collections.abc import Sequence

from mdhnp.mdh import Computation
from mdhnp.process import process
from mdhnp.runtime.devices import Device
from mdhnp.settings import config
from mdhnp.tuning.lookup import tuned_for
from mdhnp.tuning.search.session import tune_stage
from mdhnp.warning import warn

__all__ = ["search"]

# One search at a time in a process: two would disturb each other's measurements. A finalizer or signal handler amid a
# search must not wait for its own thread.
_searching = process.lock(reentrant=False)
_searcher: int | None = None


def search(untuned: Sequence[Computation], device: Device) -> bool:
    """Search schedules of stages in canonical form now, `config.budget` seconds each, after another thread's search.

    Gives whether to leave it at that: not where another process is searching, or this thread.
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
