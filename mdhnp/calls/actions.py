"""What the transitions of an entry's states do, and on which conditions.

A condition gives what the action is to know; None or False where the transition is not to be. `states.py` says in which
states they stand.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mdhnp.calls import loading
from mdhnp.calls.entry import Entry, Spent
from mdhnp.calls.lifecycle import COMPILING, Event, Lifecycle, State, paid, price_of_kernels
from mdhnp.calls.numpy_tier import seconds_by_numpy
from mdhnp.calls.plans import ByNumpy, Kernels, Nothing, Plan, Undescribed
from mdhnp.calls.request import HEAVY
from mdhnp.mdh import Computation
from mdhnp.settings import config
from mdhnp.system import spinning

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.calls.steps import CallRequest
    from mdhnp.runtime.devices import Device


def always(p: Lifecycle, datum: Any) -> Any:
    return True if datum is None else datum


def is_empty(p: Lifecycle, _: Any) -> bool:
    return p.request.empty


def is_unloaded(p: Lifecycle, _: Any) -> bool:
    return not p.request.devices


def is_estimated(p: Lifecycle, _: Any) -> bool:
    return p.request.mode.decides == "estimates"


def takes_opencl(p: Lifecycle, _: Any) -> bool:
    """Whether OpenCL had to be loaded: NumPy cannot compute, or surely takes longer than loading and compiling."""
    chosen = p.request.mode.decides != "measurements" and not loading.is_lost()
    needed = chosen or p.request.numpy is None
    if p.request.devices or not (needed or seconds_by_numpy(p.request.numpy) > HEAVY * (loading.LOADING + COMPILING)):
        return False
    try:
        loading.load()
    except RuntimeError:  # there is no device
        if needed:
            raise
        return False
    return True


def only_kernels(p: Lifecycle, _: Any) -> "tuple[Device, str] | None":
    """Give the best device, and why NumPy is not to compute, where that is so."""
    request = p.request
    if request.mode.resident:
        why = "its operands are on the device"
    elif request.mode.schedules:
        why = "schedule says how"
    elif request.mode.precision == "fixed":
        why = "config.deterministic"
    elif request.mode.decides == "never":
        why = "config.host is 'never'"
    elif request.numpy is None:
        why = "NumPy has no function for it"
    else:
        return None
    best = loading.candidates.fastest_kernels(request.mdhom, request.devices) if len(request.devices) > 1 else None
    return (best and best.device) or request.device, why


def estimated_device(p: Lifecycle, _: Any) -> "tuple[Device, str] | None":
    """Give the best device by estimate, or the one whose kernels were measured to be faster than NumPy."""
    if p.request.mode.decides != "estimates":
        return None
    if p.times is not None and p.kernels_are_faster:
        return p.times[0], measured(p)
    device = loading.candidates.choose(p.request.mdhom, p.request.devices)[0].device
    return None if device is None else (device, "estimated to be the fastest")


def measured_kernels(p: Lifecycle, _: Any) -> Plan | None:
    """Give kernels that were measured to be faster than NumPy, where they are on disk."""
    if p.times is None or not p.kernels_are_faster:
        return None
    request = p.request.on(p.times[0])
    try:
        return loading.kernels.sliced(request, measured(p)) or loading.kernels.ready(request, measured(p))
    except (RuntimeError, MemoryError, ValueError):  # of a binary that the driver refuses, say
        return None


def heavy_device(p: Lifecycle, _: Any) -> "tuple[Device, str] | None":
    """Give the best device where NumPy would take longer than kernels with all that making them takes."""
    request, price = p.request, price_of_kernels(p.request)
    if seconds_by_numpy(request.numpy) <= HEAVY * price:
        return None
    each = loading.candidates.choose(request.mdhom, request.devices)
    host, best = next(c for c in each if c.device is None), next((c for c in each if c.device is not None), None)
    if best is None or best.device is None or host.seconds <= price + best.seconds:
        return None
    return best.device, f"NumPy would take about {host.seconds:.2g} s, longer than compiling kernels"


def ready(p: Lifecycle, _: Any) -> Plan | None:
    return loading.kernels.ready(p.request, p.why) if p.request.mode.general else None


def general(p: Lifecycle, _: Any) -> Plan | None:
    return loading.kernels.general(p.request, p.why) if p.request.mode.general else None


def untuned_in_full(p: Lifecycle, _: Any) -> Sequence[Computation] | None:
    return (loading.kernels.untuned(p.request) or None) if p.request.mode.tuning == "full" else None


def rivals(p: Lifecycle, _: Any) -> Sequence[tuple[Plan, float]] | None:
    """Give what lost against the plan in use and is to be tried again: kernels, and NumPy where that is not in use."""
    if not p.contest_is_paid:
        return None
    host = [] if isinstance(p.plan, ByNumpy) else [ByNumpy.of(p.request, "is tried again beside kernels")]
    return [(plan, 1.0) for plan in (*p.lost, *host)] or None


def hopeless_now(p: Lifecycle, answer: Any) -> Any:
    """Give the helper's answer that kernels take too long, where another time may say something else."""
    return answer if getattr(answer, "timed", False) and p.is_alone else None


def fastest_enqueued(p: Lifecycle, candidates: Sequence[tuple[Plan, float]]) -> Plan | None:
    """Give the best of some, where calls return before their kernels have run, and so say nothing of their time."""
    plan, ratio = min(candidates, key=lambda each: each[1])
    return plan if p.request.mode.resident and ratio <= 1.0 else None


# Actions of first calls.


def measured(p: Lifecycle) -> str:
    assert p.times is not None
    return f"measured: NumPy {p.times[2] * 1e6:.1f} µs, kernels {p.times[1] * 1e6:.1f} µs"


def put_nothing(p: Lifecycle, _: Any) -> None:
    p.put(Nothing(p.request.mdhom, p.request.devices, "", p.request.mode.resident), "an extent is 0")


def put_numpy(why: str) -> "Callable[[Lifecycle, Any], None]":
    def action(p: Lifecycle, _: Any) -> None:
        p.put(ByNumpy.of(p.request, why), why)
        each, h = loading.unloaded.each, p.request.mdhom
        if p.state is State.UNLOADED:
            p.spent = each.setdefault(h, Spent())
        elif p.state is State.FIRST:
            p.spent = each.pop(h, p.spent)

    return action


def put_unloaded(p: Lifecycle, _: Any) -> None:
    lost = loading.is_lost()
    if lost:
        loading.say_lost()
    put_numpy("the devices were lost when this process was forked" if lost else "OpenCL is not loaded yet")(p, None)


def put_measured(p: Lifecycle, plan: Any) -> None:
    """Use kernels, or NumPy where there is no plan yet."""
    assert p.times is not None
    p.request = p.request.on(p.times[0])
    later = "; those are not compiled here yet" if plan is True and p.kernels_are_faster else ""
    p.put(ByNumpy.of(p.request, "") if plan is True else plan, measured(p) + later)


def choose_device(p: Lifecycle, known: "tuple[Device, str]") -> None:
    device, p.why = known
    p.request = p.request.on(device)


def put_kernels(p: Lifecycle, plan: Plan) -> None:
    p.put(plan, p.why)


def make_kernels(p: Lifecycle, _: Any) -> None:
    p.put(loading.kernels.own(p.request, p.why), p.why)


def tune_kernels(p: Lifecycle, untuned: Sequence[Computation]) -> None:
    p.kept = loading.session.search(untuned, p.request.device)  # else the next call tries again
    make_kernels(p, None)


# Actions of later calls, and of what the helper answers.


def nothing(p: Lifecycle, _: Any) -> None:
    """Leave all as it is."""


def describe(p: Lifecycle, _: Any) -> None:
    assert isinstance(p.plan, Undescribed)
    p.plan.describe()


def submit(p: Lifecycle, job: Any) -> bool:
    return loading.background.submit(job, partial(p.handle, Event.ANSWERED), partial(p.handle, Event.FAILED))


def order_kernels(p: Lifecycle, _: Any) -> None:
    request, usual = p.request, p.spent.least if isinstance(p.plan, ByNumpy) else None
    job = loading.build.Build(request.mdhom, request.layouts, tuple([d.identity for d in request.devices]), usual)
    if not submit(p, job):
        p.handle(Event.ANSWERED, job.run())


def order_search(p: Lifecycle, _: Any) -> None:
    request, how = p.request, (config.budget, config.evaluations)
    submit(p, loading.search.SearchJob(request.mdhom, request.layouts, request.device.identity, *how))


def order_rewritings(p: Lifecycle, call: "CallRequest") -> None:
    device = p.plan.device if isinstance(p.plan, Kernels) else call.devices[0]
    p.request = p.request.on(device)
    mode, how = call.mode, (config.budget, config.evaluations)
    job = loading.search.SearchRewritings(
        call.written, call.arrays, device.identity, mode.resident, mode.precision, *how
    )
    submit(p, job)


def install(p: Lifecycle, built: Any) -> Plan:
    paid(built.device, built.price)
    p.request = p.request.on(next(d for d in p.request.devices if d.identity == built.device))
    return loading.build.install(p.request, built)


def install_built(p: Lifecycle, built: Any) -> None:
    p.handle(Event.INSTALLED, [(install(p, built), built.ratio)])


def install_found(p: Lifecycle, answer: Any) -> None:
    loading.search.learn(answer.entries)
    used = p.plan.schedules if isinstance(p.plan, Kernels) else None
    others = [built for built in answer.candidates if tuple([f.schedule for f in built.found]) != used]
    p.handle(Event.INSTALLED, [(loading.build.install(p.request, built), built.ratio) for built in others])


def keep_built(p: Lifecycle, built: Any) -> None:
    """Keep kernels that a rewritten graph needs, where planning it finds them."""
    plan = install(p, built)
    if isinstance(plan, Kernels):
        loading.kernels.keep(plan)


def keep_and_order(p: Lifecycle, built: Any) -> None:
    keep_built(p, built)
    p.request, *p.others = p.others
    order_kernels(p, None)


def keep_and_plan(p: Lifecycle, built: Any) -> None:
    keep_built(p, built)
    plan_anew(p, built=True)


def learn_and_plan(p: Lifecycle, answer: Any) -> None:
    loading.search.learn(answer.entries)
    if answer.times:
        assert p.call is not None
        loading.times.remember(p.call.written, p.request.device, answer.times)
        plan_anew(p)


def plan_anew(p: Lifecycle, *, built: bool = False) -> None:
    assert p.call is not None
    assert p.entry is not None
    planned = p.call.plan(built=built)
    assert planned is not None  # OpenCL is loaded
    p.entry.put(planned.plan, planned.watcher)


def put_fastest(p: Lifecycle, plan: Plan) -> None:
    p.put(plan, "made for these sizes, or measured to be the fastest")


def compare(p: Lifecycle, candidates: Sequence[tuple[Plan, float]]) -> None:
    assert p.entry is not None
    each = [p.plan, *(plan for plan, _ in candidates)]
    products = any([isinstance(plan, ByNumpy) and plan.function.work.multiplied for plan in each])
    spins = products and p.request.device.kind == "cpu"

    def settled(_: Entry, won: Plan, times: Sequence[tuple[Plan, Sequence[float]]]) -> None:
        p.handle(Event.COMPARED, (won, times))

    contest = loading.contest.Contest(p.plan, candidates, p.spent, spinning() if spins else 0.0, settled)
    p.entry.put(contest.plan, contest)


def settle(p: Lifecycle, known: tuple[Plan, Sequence[tuple[Plan, Sequence[float]]]]) -> None:
    """Put the winner in place, and keep what was measured, and what lost."""
    won, times = known
    median = loading.times.median
    said = [f"{'NumPy' if isinstance(plan, ByNumpy) else 'kernels'} {median(s) * 1e6:.1f} µs" for plan, s in times]
    p.put(won, f"measured: {', '.join(said)}")
    p.compared([plan for plan, _ in times if plan is not won and not isinstance(plan, ByNumpy)])
    names = loading.times.NUMPY, loading.times.KERNELS
    calls = {names[not isinstance(q, ByNumpy)]: s for q, s in sorted(times, key=lambda each: -median(each[1]))}
    loading.background.later(partial(loading.build.keep, p.request, won, calls))


def keep(p: Lifecycle, answer: Any) -> None:
    """Keep the plan, since kernels are not worth it."""
    p.compared([])
    if p.missing:  # no other plan computes what a fused function asks for
        fail(p, answer)
    else:
        p.put(p.plan, answer.why)


def fail(p: Lifecycle, reason: Any) -> None:
    """Keep the plan, and warn that no better one could be made."""
    said = reason if isinstance(reason, str) else reason.why
    p.put(p.plan, f"no better kernels: {said}")
    what = "a call" if p.call is None or p.missing else "a fused function"
    loading.background.complain(f"{what} keeps the plan it has, since a better one could not be made: {said}")
