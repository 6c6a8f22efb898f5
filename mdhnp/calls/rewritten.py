"""In which way the graph of a fused function is rewritten: that which was measured to be the fastest, if any was.

What costs say of a graph decides as long as nothing was measured. It must not know what rules are.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from mdhnp.fusion.rewrite import ALL, rewriting_of
from mdhnp.mdh import Graph
from mdhnp.runtime.devices import Device
from mdhnp.tuning.times import measured_rewritings

__all__ = ["chosen", "name_of", "trying"]


class _Trying(NamedTuple):
    """Names of rewritings to be used, and the graphs that were asked for, with their devices."""

    names: Mapping[Graph, str]
    seen: dict[Graph, Device]


_trying: ContextVar[_Trying | None] = ContextVar("mdhnp_trying", default=None)


@contextmanager
def trying(names: Mapping[Graph, str]) -> Iterator[dict[Graph, Device]]:
    """Have graphs be rewritten in the ways of some names, others as usual; gives those that plans are made for."""
    now = _Trying(names, {})
    token = _trying.set(now)
    try:
        yield now.seen
    finally:
        _trying.reset(token)


def chosen(written: Graph, usual: Graph, devices: Sequence[Device]) -> Graph:
    """Give what is computed in place of a graph; usually that is what all rules make of it."""
    now = _trying.get()
    if now is not None:
        now.seen[written] = devices[0]
    name = name_of(written, devices) if now is None or written not in now.names else now.names[written]
    return usual if name == ALL else rewriting_of(written, name).after


def name_of(written: Graph, devices: Sequence[Device]) -> str:
    """Name the way in which a graph is rewritten."""
    for device in devices:
        times = measured_rewritings(written, device)
        if times:
            return min(times, key=lambda name: times[name])
    return ALL
