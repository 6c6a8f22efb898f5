"""Tunes a call: has each of its stages tuned, and lets later calls look up what was found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from inspect import signature
from math import inf
from numbers import Real
from typing import Any

from mdhnp.calls.kernels import staged
from mdhnp.calls.prepare import BY_KERNELS, requests_of, settle
from mdhnp.calls.request import Request
from mdhnp.calls.rewritings import name_of, trying
from mdhnp.calls.store import forget
from mdhnp.documentation import public
from mdhnp.errors import ARGUMENTS, raise_named, warn
from mdhnp.fusion.rewrite import rewritings
from mdhnp.mdh import Computation, Graph
from mdhnp.runtime.devices import Device, find_device
from mdhnp.runtime.devices import device as use
from mdhnp.runtime.pending import synchronize
from mdhnp.schedule import IllegalSchedule
from mdhnp.settings import as_float, config, require_whole, shown
from mdhnp.tuning.cache.records import Key
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.measure.check import timed
from mdhnp.tuning.measure.objective import Objective
from mdhnp.tuning.measure.turns import MARGINS, ROUNDS, by_turns, is_faster
from mdhnp.tuning.search.abort import Abort
from mdhnp.tuning.search.described import SpaceSearch
from mdhnp.tuning.search.family import drawn, share
from mdhnp.tuning.search.parameters import Space
from mdhnp.tuning.search.session import Tuned, tune_stage
from mdhnp.tuning.times import remember

#: Rewritings that are tuned: so many of the fastest, if they take no more than so many times as long as the fastest.
_TUNED, _CLOSE = 2, 2.0
#: Seconds for which a rewriting is timed, and fewest and most calls.
_FILL, _FEWEST, _MOST = 0.3, 3, 50
#: Seconds for which the fastest is compared by turns with the one in use.
_COMPARED = 2.0


class Tuning:
    """Tunes what calls ask for until the user wants no more; takes what `tuning.search.session.tune_stage` takes."""

    def __init__(
        self,
        budget: Any,
        evaluations: int | None,
        seed: int = 0,
        progress: bool | None = None,
        beside: Sequence[Device] = (),
        abort: Abort | None = None,
        space: Space | None = None,
        technique: Any = None,
        objective: Any = "time",
    ) -> None:
        self.found: dict[Key, Tuned] = {}
        self.claimed: list[Computation] = []  # stages that another process was tuning
        self.keys: dict[Key, Device] = {}  # of the stages that were seen, in order
        self._stopped = False
        self._left: list[IllegalSchedule] = []  # why stages were left as they are, of which the space describes nothing
        if not isinstance(budget, Real) or isinstance(budget, bool):
            raise TypeError(f"tune: budget: takes a number of seconds, not {budget!r:.80}")
        if not as_float(budget) > 0:
            raise ValueError(f"tune: budget: takes a positive number of seconds, not {shown(budget)}")
        if evaluations is not None:
            require_whole("tune: evaluations", evaluations, 1)
        require_whole("tune: seed", seed, 0)
        try:
            self._objective = Objective(objective)
        except ARGUMENTS as error:
            raise_named("tune", error)
        steered = space is not None or technique is not None or not self._objective.is_time
        described = partial(SpaceSearch, space=space, technique=technique) if steered else None
        self._how = as_float(budget), evaluations, seed, progress, beside, abort, described, self._objective

    def tune(self, requests: Iterable[Request]) -> None:
        """Tune stages that were not seen before, and measure the requests beside NumPy.

        Those that are given schedules are always computed by these, and are left out.
        """
        chosen = [request for request in requests if not request.schedules]
        for h, device in [(s.mdhom, r.device) for r in chosen for s in staged(r)]:
            if self._stopped or (key := key_of(h, device)) in self.keys:
                continue
            self.keys[key] = device
            try:
                tuned, self._stopped = tune_stage(h, device, *self._how)
            except IllegalSchedule as error:
                self._left.append(error)
                continue
            if tuned is None:
                self.claimed.append(h)
            else:
                self.found[key] = tuned
        for request in chosen:
            if not self._stopped:
                settle(request)

    def require_found(self) -> None:
        """Say of which stages the space describes no schedules; IllegalSchedule where that is all of them."""
        if self._left and not self.found and not self.claimed:
            raise self._left[0]
        for error in self._left:
            warn(f"{error}: it is left as it is")

    def share(self) -> None:
        """Have stages that differ in sizes only share what was found for them, for sizes near to theirs."""
        families: dict[tuple[str, Device], list[Key]] = {}
        for key in self.found:
            families.setdefault((key.family, self.keys[key]), []).append(key)
        for (_, device), keys in families.items():
            if len(keys) > 1 and not self._stopped and self._objective.is_time:
                shared = share([self.found[key] for key in keys], device, self._how[0], self._how[2])
                self.found |= zip(keys, shared, strict=True)

    def tune_rewritings(self, call: Callable[[], Any], graph: Graph, device: Device) -> None:
        """Time a call for each way of rewriting a graph in it, tune those that may be the fastest, keep the times."""
        names = [*rewritings(graph, device.caps.machine if device.kind == "gpu" else None)]
        if self._stopped or len(names) < 2:
            return
        times, asked, tuned = dict[str, float](), dict[str, list[Request]](), set[str]()
        for name in names:
            # The call itself can be computed; a way that cannot is none.
            with suppress(MemoryError, RuntimeError) if times else nullcontext():
                times[name], asked[name] = _timed(call, graph, name, device, _CLOSE * min(times.values(), default=inf))
        for name in sorted(times, key=lambda n: times[n])[:_TUNED]:
            if not self._stopped and times[name] <= _CLOSE * min(times.values()):
                self.tune(asked[name])
                times[name], _ = _timed(call, graph, name, device)
                tuned.add(name)
        best, used = min(times, key=lambda n: times[n]), name_of(graph, [device])
        if used in times and best != used and not _is_faster(call, graph, best, used, device):
            # Later calls take the one of the least time.
            times = {n: t if n == used else max(t, MARGINS[-1][1] * times[used]) for n, t in times.items()}
            best = used
        if best not in tuned:  # the others were slower when they were timed again
            self.tune(asked[best])
        remember(graph, device, times)


def _timed(
    call: Callable[[], Any], graph: Graph, name: str, device: Device, enough: float = inf
) -> tuple[float, list[Request]]:
    """Give the least time of a call with its graph rewritten in the way of a name, and what it asks for then.

    A call that takes longer than `enough` is timed once only.
    """

    def done() -> None:
        call()
        synchronize(device)

    with config(**BY_KERNELS), trying({graph: name}):
        forget()
        requests = requests_of(done, "tune")
        seconds = min(timed(done, _FILL, _FEWEST, _MOST, enough))
    forget()
    return seconds, requests


def _is_faster(call: Callable[[], Any], graph: Graph, name: str, used: str, device: Device) -> bool:
    """Whether a call is faster by turns with its graph rewritten in the way of a name than in the way in use."""

    def work(way: str, count: int) -> None:
        with config(**BY_KERNELS), trying({graph: way}):
            if way != last[0]:
                forget()
                last[:] = [way]
            for _ in range(count):
                call()
            synchronize(device)

    last = [""]
    challenger, incumbent = by_turns([partial(work, name), partial(work, used)], ROUNDS, _COMPARED)
    forget()
    return is_faster(challenger, incumbent)


@public(
    """Search a schedule for every kernel of a call; later calls, in this and other processes, use what was found.

Several `calls` are tuned one after the other. What was found for computations that differ in sizes only is then timed
at each of these sizes, and calls of other sizes near to them use the few schedules that are the fastest.

At the end kernels are measured beside NumPy's functions, as by :func:`mdhnp.prepare`: calls begin with the faster.""",
    function="callable: Any of this package's functions, or one that calls them.",
    args="Its arguments. The call itself runs once, as always; with ``out=`` it writes there.",
    kwargs="Its arguments by keyword.",
    calls="sequence of callable, or callable, optional: Several calls, in place of `function`: functions without "
    "arguments, as ``partial(mdhnp.matmul, a, b)``. With `sizes`, a function that makes such a call of sizes.",
    sizes="mapping or sequence, optional: Which sizes come. By the name of an argument of `calls` what it is drawn "
    "from: a range or list, of which each number is as likely, a pair (least, most), between which the logarithm is "
    "uniformly distributed, or a distribution as of ``scipy.stats``. Or a sample: sizes that were observed, each a "
    "tuple of arguments.",
    draws="int: How many different sizes are drawn and tuned.",
    budget="float: Seconds for each stage of the call, from the time that its default schedule was measured. Of sizes "
    "that are tuned together each takes up to twice as many again, to be timed by what was found for the others.",
    evaluations="int: Most schedules to measure for each stage; those timed again at the end do not count.",
    seed="int: Same seed, same sizes, and same candidates as long as measurements agree.",
    progress="bool, optional: Show a progress bar; by default where standard error is a terminal.",
    devices="sequence of str, int or Device, optional: Equal devices, as :func:`mdhnp.device` takes them, that share "
    "the search: each measures other candidates at the same time, and the first one times the finalists. By default "
    "the device that the call runs on.",
    abort="Abort, optional: What else ends the search of a stage, as ``mdhnp.tuning.stalled(30)``.",
    space="Space, optional: Which schedules are tried beside the default one, as :func:`mdhnp.tuning.space` describes "
    "them: parameters have names of fields of a :class:`mdhnp.tuning.Schedule`, with the number of the dimension or "
    "input, as ``local_tile_0``. What has none is as in the default schedule, or suits the rest. Stages of which that "
    "describes no legal schedule are left as they are, with a RuntimeWarning. By default all schedules.",
    technique="callable, optional: What proposes schedules, as :func:`mdhnp.tuning.tune` takes it. By default the cost "
    "model and what was measured do, and of a `space`, or for another objective than the time, "
    ":class:`mdhnp.tuning.ModelGuided`.",
    objective='str or callable: What is to be small of each kernel, as :func:`mdhnp.tuning.kernel` takes it; "time" is '
    "that of whole calls. Of `calls` what is found for another one is not shared by sizes near to theirs.",
    returns="tuple of Tuned: One a stage; fewer, with a RuntimeWarning, where another process is tuning some of them "
    "at this moment, and none where the call has no kernels with schedules.",
    raises={
        "TypeError": "If there is no function, or `calls` beside one, or `space`, `technique` or `abort` is none.",
        "RuntimeError": "If the measuring process cannot start, not even the default schedule can be measured, the "
        "energy is asked for and not told, or another process is tuning all stages at this moment.",
        "ValueError": "If `calls` or `devices` is empty, or they differ in name, driver or runtime, or one is named "
        "twice; if `space` describes no legal schedule of any stage, `objective` is none, or the call is "
        "given a schedule.",
        "NoDeviceError": "If one of `devices` does not exist.",
    },
    notes="Candidates are built and run in processes of their own, on random arrays of their own; one that fails, "
    "hangs or computes something else is recorded and passed over. Ctrl-C ends the search of this stage, leaves out "
    "later ones, and keeps what was found.",
    example="""
>>> a = np.ones((64, 64), np.float32)
>>> found = mdhnp.tune(mdhnp.matmul, a, a, budget=2.0, evaluations=5)  # doctest: +SKIP""",
    guard=False,
)
def tune(
    function: Any = None,
    *args: Any,
    calls: Any = None,
    sizes: Any = None,
    draws: int = 8,
    budget: float = 10.0,
    evaluations: int = 50,
    seed: int = 0,
    progress: bool | None = None,
    devices: Sequence[Any] | None = None,
    abort: Any = None,
    space: Any = None,
    technique: Any = None,
    objective: Any = "time",
    **kwargs: Any,
) -> tuple[Tuned, ...]:
    _refuse_schedules(config.schedule is not None)
    if abort is not None and not isinstance(abort, Abort):
        raise TypeError(f"tune: abort: takes a condition as mdhnp.tuning.stalled(30), not {abort!r}")
    if space is not None and not isinstance(space, Space):
        raise TypeError(f"tune: space: takes what mdhnp.tuning.space gives, not {space!r:.80}")
    if technique is not None and not callable(technique):
        raise TypeError(f"tune: technique: takes one as mdhnp.tuning.RandomSearch, not {technique!r:.80}")
    team = _equal(devices) if devices is not None else ()
    tuning = Tuning(budget, evaluations, seed, progress, team[1:], abort, space, technique, objective)
    each = _calls(function, args, kwargs, calls, sizes, draws, seed)
    with use(team[0]) if team else nullcontext():
        try:
            seen = map(_seen, each)
            # All at first: that one cannot be tuned is said before others are. Of sizes not all calls are kept.
            for call, requests, graphs in seen if sizes is not None else [*seen]:
                tuning.tune(requests)
                for graph, device in graphs.items():
                    tuning.tune_rewritings(call, graph, device)
            tuning.require_found()
            if calls is not None:
                tuning.share()
        except KeyboardInterrupt:
            if not tuning.found:
                raise  # else it is kept
        finally:
            forget()
    if tuning.claimed:
        _say_claimed(tuning.claimed, nothing=not tuning.found)
    return tuple(tuning.found.values())


def _seen(call: Callable[[], Any]) -> tuple[Callable[[], Any], list[Request], dict[Graph, Device]]:
    """Give a call, what it asks for, and its graphs that can be rewritten; ValueError where it is given schedules."""
    forget()  # what was rewritten before is to be seen again
    with trying({}) as graphs:
        requests = requests_of(call, "tune")
    _refuse_schedules(bool(requests) and all([request.schedules for request in requests]))
    return call, requests, graphs


def _refuse_schedules(given: bool) -> None:
    """Raise ValueError where a call's schedules are given, so that there is nothing to tune."""
    if given:
        raise ValueError("tune: schedule: the call is always computed by the one that is given: leave it out")


def _calls(
    function: Any, args: Sequence[Any], kwargs: dict[str, Any], calls: Any, sizes: Any, draws: int, seed: int
) -> Iterable[Callable[[], Any]]:
    """Give what is to be tuned, one call or several; those of sizes are made one after the other."""
    if calls is None:
        if not callable(function):
            missing = "and none is given" if function is None else f"not {function!r:.80}"
            raise TypeError(f"tune: takes a function and its arguments, as tune(matmul, a, b), or calls=, {missing}")
        if sizes is not None:
            raise TypeError("tune: sizes: are those of calls=, a function that makes calls of them, and none is given")
        return [partial(function, *args, **kwargs)]
    if function is not None or args or kwargs:
        raise TypeError("tune: takes a function with its arguments, or calls, not both")
    if sizes is not None:
        if not callable(calls):
            raise TypeError(f"tune: calls: takes a function that makes calls of sizes, not {calls!r:.80}")
        rows = drawn(sizes, draws, seed)
        if isinstance(sizes, Mapping):
            _require_taken(sizes, calls)
            return (_callable(calls(**dict(zip(sizes, row, strict=True)))) for row in rows)
        return (_callable(calls(*row)) for row in rows)
    if not isinstance(calls, Iterable):
        raise TypeError(f"tune: calls: takes a list of functions without arguments, not {calls!r:.80}")
    each = [*map(_callable, calls)]
    if not each:
        raise ValueError("tune: calls: is empty")
    return each


def _require_taken(names: Iterable[str], function: Callable[..., Any]) -> None:
    """Raise TypeError unless a function takes arguments of these names."""
    try:
        taken = signature(function).parameters
    except ValueError:  # of builtins nothing is known
        return
    unknown = [name for name in names if name not in taken]
    if unknown and not any([p.kind is p.VAR_KEYWORD for p in taken.values()]):
        raise TypeError(f"tune: sizes: {unknown[0]}: is no argument of calls, which takes {', '.join(taken)}")


def _callable(call: Any) -> Callable[[], Any]:
    if not callable(call):
        raise TypeError(f"tune: calls: takes functions without arguments, as partial(matmul, a, b), not {call!r:.80}")
    return call


def _say_claimed(claimed: Sequence[Computation], *, nothing: bool) -> None:
    """Raise or, if something was tuned, warn since another process was tuning stages."""
    which = ", ".join([f"{h} of {'×'.join(map(str, h.extents)) or 'one point'}" for h in claimed])
    said = f"tune: another process is tuning {which} at this moment; later calls use what it finds"
    if nothing:
        raise RuntimeError(f"{said}, and nothing is left to tune here")
    warn(said)


def _equal(specs: Sequence[str | int | Device]) -> tuple[Device, ...]:
    """The devices, after checking that what one measures holds for the others."""
    if isinstance(specs, str) or not isinstance(specs, Iterable):
        raise TypeError(f"tune: devices: takes a list of devices, as [0, 1], not {specs!r:.80}")
    found = tuple(find_device(spec) for spec in specs)
    if len({d.identity for d in found}) != 1 or len(set(found)) != len(found):
        raise ValueError(f"tune: devices must be different devices of the same kind, got {[*found]}")
    return found
