"""Fused functions of which rules made what NumPy has no functions for: as they are written, until kernels are there.

Takes both graphs, gives the plan of the one, and puts that of the other in its place when the helper process has built
what it needs. It must not know what rules are.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from mdhnp.calls import before, kernels
from mdhnp.calls.build import Build, Built, Hopeless, install
from mdhnp.calls.entry import Entry, InSteps, Made
from mdhnp.calls.improve import failed, paid, price
from mdhnp.calls.numpy_tier import numpy_function
from mdhnp.calls.plans import ByNumpy, Kernels, Plan
from mdhnp.calls.request import Request
from mdhnp.calls.spending import Spending, Spent
from mdhnp.fusion.least_work import least_work
from mdhnp.mdh import Graph
from mdhnp.tuning import background

__all__ = ["until_built"]

#: Where NumPy surely takes so many times as long as making kernels, that is not waited for.
_HEAVY = 2.0


#: Makes a plan; it could tell that OpenCL is not loaded, but here it is.
_Planned = Callable[[], Made | None]


def until_built(
    usual: Graph, written: Graph, requests: Sequence[Request], given: Sequence[tuple[int, ...]], planned: _Planned
) -> Made | None:
    """Let NumPy compute a graph as it is written; None where it can compute what rules made of it, or is not to.

    Parameters
    ----------
    usual, written : Graph
        What rules made, and of what.
    requests : sequence of Request
        The steps of the usual one.
    given : sequence of tuple of int
        Shapes of the operands.
    planned : callable
        Makes the plan of that, in another thread.
    """
    mode = requests[0].mode
    if mode.host == "never" or mode.specialise == "always" or mode.tuning == "full" or mode.resident:
        return None
    missing = [r for r in requests if 0 not in r.mdhom.extents and numpy_function(r.mdhom) is None and not _is_ready(r)]
    way = before.way(usual, written)
    if not missing or not before.seconds(way) <= _HEAVY * price(missing[0]):
        return None
    graph, spent = least_work(way), Spent()
    entries = []
    for step in graph.steps:
        function = numpy_function(step.mdhom)
        assert function is not None
        why = "as written: no kernels were built yet for what rules make of it"
        plan = ByNumpy.of(replace(missing[0], mdhom=step.mdhom), why, function)
        entries.append(Entry(Made(plan), None, tuple))
        if earlier := before.spent_on(step.mdhom):
            spent.add(earlier.seconds)
    shapes = [*given, *[v.shape for step in graph.steps for v in step.mdhom.outputs]]
    return Made(InSteps(graph, entries, shapes), Spending(price(missing[0]), partial(_build, missing, planned), spent))


def _is_ready(request: Request) -> bool:
    return any([kernels.ready(replace(request, devices=(device,)), "") for device in request.devices])


def _build(missing: Sequence[Request], planned: _Planned, entry: Entry, plan: Plan, spent: Spent) -> None:
    """Have the first of some kernels built, then the others."""
    request = missing[0]
    job = Build(request.mdhom, request.layouts, tuple(d.identity for d in request.devices), None)
    then = partial(_built, missing, planned, entry, plan, spent)
    if not background.submit(job, then, partial(failed, request, entry, plan)):
        then(job.run())


def _built(
    missing: Sequence[Request], planned: _Planned, entry: Entry, plan: Plan, spent: Spent,
    made: Built | Hopeless,
) -> None:  # fmt: skip
    request, *others = missing
    if isinstance(made, Hopeless):
        failed(request, entry, plan, made.why)
        return
    paid(made)
    device = next(d for d in request.devices if d.identity == made.device)
    found = install(replace(request, devices=(device,)), made)
    if isinstance(found, Kernels):
        kernels.keep(found)  # where `planned` finds them
    if others:
        _build(others, planned, entry, plan, spent)
    else:
        after = planned()
        assert after is not None
        entry.put(after.plan, after.watcher)
