"""Which way of rewriting a fused function's graph is the fastest: tried in the call itself, and remembered."""

import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from math import inf
from typing import Any

from mdhnp.calls.observe import observe
from mdhnp.calls.rewritten import trying
from mdhnp.calls.store import forget
from mdhnp.fusion.rewrite import rewritings
from mdhnp.mdh import Graph
from mdhnp.runtime.devices import Device
from mdhnp.runtime.pending import synchronize
from mdhnp.settings import config
from mdhnp.tuning.stages import Seen
from mdhnp.tuning.times import remember_rewritings

__all__ = ["settle_rewritings"]

#: Ways that are tuned: so many of the fastest, if they take no more than so many times as long as the fastest.
_TUNED, _NEAR = 2, 2.0
#: Seconds for which a way is timed, and fewest and most calls.
_FILL, _FEWEST, _MOST = 0.3, 3, 50


def settle_rewritings(call: Callable[[], Any], graph: Graph, device: Device, tune: Callable[[Seen], bool]) -> bool:
    """Time a call for each way of rewriting a graph, tune those that may be the fastest, and remember the times.

    Parameters
    ----------
    call : callable
        Makes the call.
    graph : Graph
        What is rewritten in it.
    device : Device
        Where it is computed.
    tune : callable
        Tunes what a call was seen to run; gives whether the user wants no more.

    Returns
    -------
    bool
        Whether the user wants no more.
    """
    names = [*rewritings(graph)]
    if len(names) < 2:
        return False
    times, seen, stopped, tuned = dict[str, float](), dict[str, Seen](), False, set[str]()
    for name in names:
        # The call itself can be computed; a way that cannot is none.
        with suppress(MemoryError, RuntimeError) if times else nullcontext():
            times[name], seen[name] = _timed(call, graph, name, device, _NEAR * min(times.values(), default=inf))
    for name in sorted(times, key=lambda n: times[n])[:_TUNED]:
        if not stopped and times[name] <= _NEAR * min(times.values()):
            stopped = tune(seen[name])
            times[name], _ = _timed(call, graph, name, device)
            tuned.add(name)
    best = min(times, key=lambda n: times[n])
    if not stopped and best not in tuned:  # the others were slower when they were timed again
        stopped = tune(seen[best])
    remember_rewritings(graph, device, times)
    return stopped


def _timed(call: Callable[[], Any], graph: Graph, name: str, device: Device, enough: float = inf) -> tuple[float, Seen]:
    """Give the least time of a call with its graph rewritten in the way of a name, and what runs in it.

    A call that takes longer than `enough` is timed once only.
    """
    taken: list[float] = []
    with config(tuning="off", host="never", specialise="always"), trying({graph: name}):
        forget()
        with observe(whole=True) as seen:
            call()
        end = time.perf_counter() + _FILL
        while len(taken) < _FEWEST or (len(taken) < _MOST and time.perf_counter() < end):
            synchronize(device)
            begin = time.perf_counter()
            call()
            synchronize(device)
            taken.append(time.perf_counter() - begin)
            if taken[0] > enough:
                break
    forget()
    return min(taken), seen
