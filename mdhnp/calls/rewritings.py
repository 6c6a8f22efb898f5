"""Which rewriting of a fused function's graph is computed: the one that was measured to be the fastest, if any was.

What costs say of a graph decides as long as nothing was measured. It must not know what rules are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from mdhnp.calls.build import affordable
from mdhnp.calls.observe import Observed, observe
from mdhnp.calls.store import forget
from mdhnp.fusion.rewrite import ALL, rewriting_of, rewritings
from mdhnp.mdh import Graph
from mdhnp.mdh.mdhom import is_row_major
from mdhnp.runtime.devices import Device
from mdhnp.runtime.pending import synchronize
from mdhnp.settings import config
from mdhnp.tuning.measure.check import timed
from mdhnp.tuning.times import measured, remember

if TYPE_CHECKING:
    from mdhnp.calls.steps import CallRequest

__all__ = ["are_searched", "chosen", "name_of", "settle_rewritings", "trying"]

#: How often the values of a graph are in memory while its kernels are made, compared with NumPy and tuned.
_COPIES = 4
#: Rewritings that are tuned: so many of the fastest, if they take no more than so many times as long as the fastest.
_TUNED, _NEAR = 2, 2.0
#: Seconds for which a rewriting is timed, and fewest and most calls.
_FILL, _FEWEST, _MOST = 0.3, 3, 50


class _Trying(NamedTuple):
    """Names of rewritings to be used, and the graphs that were asked for, with their devices."""

    names: Mapping[Graph, str]
    asked: dict[Graph, Device]


_trying: ContextVar[_Trying | None] = ContextVar("mdhnp_trying", default=None)


@contextmanager
def trying(names: Mapping[Graph, str]) -> Iterator[dict[Graph, Device]]:
    """Have graphs be rewritten by rewritings of some names, others as usual; gives those that plans are made for."""
    now = _Trying(names, {})
    token = _trying.set(now)
    try:
        yield now.asked
    finally:
        _trying.reset(token)


def chosen(written: Graph, usual: Graph, devices: Sequence[Device]) -> Graph:
    """Give what is computed in place of a graph; usually that is what all rules make of it."""
    now = _trying.get()
    if now is not None:
        now.asked[written] = devices[0]
    name = name_of(written, devices) if now is None or written not in now.names else now.names[written]
    return usual if name == ALL else rewriting_of(written, name).after


def name_of(written: Graph, devices: Sequence[Device]) -> str:
    """Name the way in which a graph is rewritten."""
    for device in devices:
        times = measured(written, device)
        if times:
            return min(times, key=lambda name: times[name])
    return ALL


def are_searched(call: "CallRequest") -> bool:
    """Whether there is something to search: nobody has, the settings let it, and memory does."""
    written, mode = call.described.written, call.mode
    assert written is not None
    empty = any([0 in step.mdhom.extents for step in written.steps])
    if mode.tuning not in ("auto", "background") or empty or written == call.described.mdhom:
        return False
    if any([measured(written, device) for device in call.devices]):
        return False
    # The search's arrays are C-contiguous.
    if mode.resident and not all([is_row_major(one.shape, one.strides, one.itemsize) for one, _ in call.arrays]):
        return False
    views = [v for step in written.steps for v in step.mdhom.outputs]  # each of which is an array without rules
    return affordable(_COPIES * (sum([one.nbytes for one, _ in call.arrays]) + sum([v.span_bytes for v in views])))


def settle_rewritings(call: Callable[[], Any], graph: Graph, device: Device, tune: Callable[[Observed], bool]) -> bool:
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
    times, seen, stopped, tuned = dict[str, float](), dict[str, Observed](), False, set[str]()
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
    remember(graph, device, times)
    return stopped


def _timed(
    call: Callable[[], Any], graph: Graph, name: str, device: Device, enough: float = inf
) -> tuple[float, Observed]:
    """Give the least time of a call with its graph rewritten in the way of a name, and what runs in it.

    A call that takes longer than `enough` is timed once only.
    """

    def done() -> None:
        call()
        synchronize(device)

    with config(tuning="off", host="never", specialise="always"), trying({graph: name}):
        forget()
        with observe() as seen:
            done()
        taken = timed(done, _FILL, _FEWEST, _MOST, enough)
    forget()
    return min(taken), seen
