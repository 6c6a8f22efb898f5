"""What each of the method's ten parameters wins: the best schedule found beside the best with one at its default.

Takes a case and a device. A search comes first. Of all that it measured the fastest schedule, and for each parameter
the fastest that has the default schedule's value of it, are timed by turns.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from math import inf
from statistics import median, quantiles

from benchmarks.tuning import by_turns, empty_cache, stage
from mdhnp.mdh import Computation
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import default
from mdhnp.tuning.measure.bench import TuningTask
from mdhnp.tuning.measure.team import Worker
from mdhnp.tuning.search.session import tune_stage

__all__ = ["PARAMETERS", "measure", "shown", "table", "with_default"]


def with_default(s: Schedule, start: Schedule, name: str) -> Schedule:
    """Give a schedule with another one's value of a parameter."""
    pairs = list(zip(s.local_copies, start.local_copies, strict=True))
    if name == "what is copied (5)":
        copies = tuple([b if a is None or b is None else a for a, b in pairs])
        return replace(s, local_copies=copies, private_copies=start.private_copies)
    if name == "layouts of copies (8)":
        return replace(s, local_copies=tuple([a if a is None or b is None else b for a, b in pairs]))
    return replace(s, **{field: getattr(start, field) for field in PARAMETERS[name]})


#: The parameters by their numbers in the paper's Table I: the fields that hold each.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "work-groups (1)": ("num_wg",),
    "work-items (2)": ("num_wi",),
    "local tiles (3)": ("local_tile",),
    "private tiles, vectors (4)": ("private_tile", "vector_dim", "vector_width"),
    "what is copied (5)": ("local_copies", "private_copies"),
    "where results wait (6)": ("results",),
    "orders of ids (7)": ("group_order", "item_order"),
    "layouts of copies (8)": ("local_copies",),
    "loop orders (9)": ("global_order", "local_order", "private_order"),
    "when results are combined (10)": ("combine_on",),
    "second kernel of a split": ("second",),
}


def measure(h: Computation, device: Device, seconds: float, seed: int = 0) -> dict[str, list[float]]:
    """Give, for each parameter, the best one's speed over that with its default, round by round; "all" is the default.

    Nothing stands for a parameter whose default is the best one's value.
    """
    start = default(h, device.caps)
    with empty_cache():
        tuned, _ = tune_stage(h, device, seconds, None, seed, progress=False)
    assert tuned is not None, "nobody else can hold a claim in an empty cache"
    known = {m.schedule: m.seconds for m in tuned.measurements if m.seconds is not None}
    with closing(Worker(TuningTask(h, device.identity, start))) as worker:

        def time(s: Schedule) -> float:
            if s not in known:
                known[s] = worker.measure(s, min(known.values())).seconds or inf
            return known[s]

        for s in (start, tuned.schedule):
            del known[s]  # measured anew, by the clock of the others
            known[s] = worker.measure(s, None).seconds or inf
        best = min(start, tuned.schedule, key=time)
        frozen = {}
        for name in PARAMETERS:
            back = with_default(best, start, name)
            able = [s for s in known if with_default(s, start, name) == s] + [back] * is_legal(h, back, device.caps)
            frozen[name] = min(able, key=time)
    # The fastest of these, and of those with a default value, are chosen by the turns: times of a search are noisy.
    times = by_turns(h, device, [*dict.fromkeys([best, start, *frozen.values()])])
    best = min(times, key=lambda s: median(times[s]))
    found = {"all": start}
    for name in PARAMETERS:
        able = [s for s in times if with_default(s, start, name) == s]
        found[name] = min(able, key=lambda s: median(times[s]))
    return {
        name: [t / b for t, b in zip(times[s], times[best], strict=True)] if s != best else []
        for name, s in found.items()
    }


def table(names: Sequence[str], device: Device, seconds: float) -> tuple[list[str], list[list[str]]]:
    """Give header and lines of text: a line for each parameter, a column for each case."""
    each = {}
    for name in names:
        each[name] = measure(stage(name, device), device, seconds)
        print(name, {parameter: cell(ratios) for parameter, ratios in each[name].items()}, flush=True)
    return shown(each)


def shown(each: Mapping[str, Mapping[str, list[float]]]) -> tuple[list[str], list[list[str]]]:
    """Give header and lines of text of what :func:`measure` gave for cases."""
    named = {parameter: parameter for parameter in PARAMETERS} | {"all": "all (the default schedule)"}
    lines = [[title, *(cell(found[key]) for found in each.values())] for key, title in named.items()]
    return ["at its default", *each], lines


def cell(ratios: list[float]) -> str:
    """Give the median and quartiles of ratios; nothing where there are none."""
    if not ratios:
        return ""
    low, _, high = quantiles(ratios, n=4)
    return f"{median(ratios):.2f} ({low:.2f}–{high:.2f})"
