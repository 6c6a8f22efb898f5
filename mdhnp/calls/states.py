"""The states of an entry, from its first call to the fastest plan known: one table.

A call is never slower than what the user had: NumPy's function computes first, where there is one, and kernels take its
place when they are known to be faster. What takes long is done by the helper process, once calls have cost as much as
that does. Of the transitions from a state at an event the first one happens whose condition holds; an action may lead
to another event. It must not know how entries are found again.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mdhnp.calls import actions as do
from mdhnp.calls import loading
from mdhnp.calls.entry import Spent, Start
from mdhnp.calls.lifecycle import Event, Lifecycle, State
from mdhnp.calls.plans import Plan
from mdhnp.calls.request import Request

if TYPE_CHECKING:
    from mdhnp.calls.steps import CallRequest

undescribed, new, chosen, unloaded, first, building, comparing, kernels, searching, final = State
called, paid, answered, installed, compared, failed = Event

#: State, event, condition, action, next state.
_ROWS: list[tuple[State, Event, Callable[..., Any], Callable[..., None], State]] = [
    # A first call: who computes it?
    (new, called, do.is_empty, do.put_nothing, final),
    (new, called, do.takes_opencl, do.nothing, new),
    (new, called, do.is_unloaded, do.put_unloaded, unloaded),
    (new, called, do.only_kernels, do.choose_device, chosen),
    (new, called, do.estimated_device, do.choose_device, chosen),
    (new, called, do.is_estimated, do.put_numpy("estimated to be the fastest"), final),
    (new, called, do.measured_kernels, do.put_measured, kernels),
    (new, called, lambda p, _: p.kernels_are_faster, do.put_measured, first),
    (new, called, lambda p, _: p.times is not None, do.put_measured, kernels),
    (new, called, do.heavy_device, do.choose_device, chosen),
    (new, called, do.always, do.put_numpy("no kernel was built for it yet"), first),
    # Kernels are to be made now: which?
    (chosen, called, do.ready, do.put_kernels, kernels),
    (chosen, called, do.general, do.put_kernels, first),
    (chosen, called, do.untuned_in_full, do.tune_kernels, kernels),
    (chosen, called, do.always, do.make_kernels, kernels),
    # Calls have cost what comes next does.
    (undescribed, paid, do.always, do.describe, final),
    (unloaded, paid, lambda p, _: not loading.unloaded.begun, lambda p, _: loading.load_meanwhile(), unloaded),
    (first, paid, do.always, do.order_kernels, building),
    (kernels, paid, do.rivals, do.compare, comparing),
    (kernels, paid, lambda p, _: p.contest_is_paid, do.order_kernels, building),  # which this process has not
    (kernels, paid, lambda p, _: not p.search_is_paid, do.nothing, kernels),
    (kernels, paid, lambda p, _: p.call, do.order_rewritings, searching),
    (kernels, paid, lambda p, _: bool(loading.kernels.untuned(p.request)), do.order_search, searching),
    (kernels, paid, do.always, do.nothing, final),
    # The helper has answered.
    (building, answered, do.hopeless_now, do.keep, kernels),
    (building, answered, lambda p, answer: answer if hasattr(answer, "why") else None, do.keep, final),
    (building, answered, lambda p, answer: answer if p.missing and p.others else None, do.keep_and_order, building),
    (building, answered, lambda p, answer: answer if p.missing else None, do.keep_and_plan, final),
    (building, answered, do.always, do.install_built, comparing),
    (searching, answered, lambda p, answer: answer if p.call is not None else None, do.learn_and_plan, final),
    (searching, answered, do.always, do.install_found, comparing),
    (comparing, installed, lambda p, candidates: not candidates, do.nothing, final),
    (comparing, installed, do.fastest_enqueued, do.put_fastest, kernels),
    (comparing, installed, lambda p, _: p.request.mode.resident, do.nothing, final),
    (comparing, installed, do.always, do.compare, comparing),
    (comparing, compared, do.always, do.settle, kernels),
    *[(state, failed, do.always, do.fail, final) for state in (building, comparing, kernels, searching, final)],
]

_TABLE: dict[tuple[State, Event], list[Any]] = defaultdict(list)
for _state, _event, *_transition in _ROWS:
    _TABLE[_state, _event].append(_transition)


def start(request: Request, call: "CallRequest | None" = None) -> Start | None:
    """Choose who computes a request first; None where that takes OpenCL, which was loaded for it.

    NoDoublePrecision if kernels are to compute in what the device lacks, BuildError if the runtime refuses the
    generated text, NoDeviceError if there is no device, and NumPy has no function.
    """
    begin = time.perf_counter()
    lifecycle = Lifecycle(_TABLE, [request], call)
    lifecycle.handle(called)
    if lifecycle.state is new:
        return None
    if lifecycle.state is chosen:
        lifecycle.handle(called)
    if request.devices:
        loading.debug.show(request, lifecycle.plan, time.perf_counter() - begin)
    return lifecycle.start


def lifecycle_of(
    requests: Sequence[Request],
    plan: Plan,
    state: State,
    call: "CallRequest | None" = None,
    spent: Spent | None = None,
    *,
    missing: bool = False,
) -> Start:
    """Begin in a state other than the first one, with a plan of several steps."""
    lifecycle = Lifecycle(_TABLE, requests, call, spent, missing=missing)
    lifecycle.plan, lifecycle.state = plan, state
    lifecycle.follow()
    return lifecycle.start
