"""Who computes a call where several devices are named: all of them, or, where that does not pay, one."""

from typing import Any

from mdhnp.calls.plans import Plan
from mdhnp.distributed.pays import pays
from mdhnp.distributed.plan import FromHost, OnSeveral, steps_of
from mdhnp.mdh import Graph
from mdhnp.settings import Mode

__all__ = ["made_for_several"]


def made_for_several(graph: Graph, function: str, group: Any, mode: Mode, into: bool) -> Plan | None:
    """Make the plan of a call on several devices; None where its ndarrays are better left to one of them."""
    if mode.resident:
        return OnSeveral(group, steps_of(graph), function, mode, into)
    steps = steps_of(graph)
    return FromHost(OnSeveral(group, steps, function, mode)) if pays(steps, group) else None
