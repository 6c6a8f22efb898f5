"""What each of the method's ten parameters wins: the best schedule found beside the best with one at its default.

Takes a case and a device. A search comes first, then changes of one parameter at a time of the best it found, of those
too that searches derive from others: loop orders, orders of ids, where results wait. Of all that was measured the
fastest schedule, and for each parameter the fastest that has the default schedule's value of it, are timed by turns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from math import inf
from statistics import median, quantiles
from typing import Any

import numpy as np

from benchmarks.tuning import by_turns, empty_cache, stage
from mdhnp.mdh import MdHom
from mdhnp.runtime.devices import Device
from mdhnp.schedule import LocalCopy, Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.cpu import packed_layout
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import even_groups, tile_counts
from mdhnp.tuning.measure.bench import TuningTask
from mdhnp.tuning.measure.team import Worker
from mdhnp.tuning.search.session import tune_stage

__all__ = ["PARAMETERS", "changed", "measure", "shown", "table", "with_default"]

#: Changes of each parameter that are measured.
_CHANGES = 6


def with_default(s: Schedule, start: Schedule, name: str) -> Schedule:
    """Give a schedule with another one's value of a parameter."""
    pairs = list(zip(s.local_copies, start.local_copies, strict=True))
    if name == "what is copied (5)":
        copies = tuple([b if a is None or b is None else a for a, b in pairs])
        return replace(s, local_copies=copies, private_copies=start.private_copies)
    if name == "layouts of copies (8)":
        return replace(s, local_copies=tuple([a if a is None or b is None else b for a, b in pairs]))
    return replace(s, **{field: getattr(start, field) for field in PARAMETERS[name][0]})


def changed(h: MdHom, s: Schedule, name: str) -> Iterator[Schedule]:
    """Iterate over schedules with other values of a parameter, legal or not."""
    fields, changes = PARAMETERS[name]
    for field in fields:
        yield from changes(h, s, field)


def _other_sizes(h: MdHom, s: Schedule, field: str) -> Iterator[Schedule]:
    for d in range(h.rank):
        size = getattr(s, field)[d]
        for new in (2 * size, size // 2, 3 * size // 2):
            if new > 0 and new != size:
                found = s.at(d, **{field: new})
                if field in ("private_tile", "num_wi"):
                    found = found.at(d, local_tile=min(max(found.local_tile[d], found.step(d)), h.extents[d]))
                elif field == "num_wg":
                    found = found.at(d, num_wg=even_groups(tile_counts(h.extents, s.local_tile)[d], new))
                else:
                    found = found.at(d, local_tile=min(new, h.extents[d]))
                yield found


def _other_layouts(h: MdHom, s: Schedule, field: str) -> Iterator[Schedule]:
    for n, copy in enumerate(s.local_copies):
        if copy is not None:
            yield replace(s, local_copies=_with(s.local_copies, n, LocalCopy(copy.order)))
            yield replace(s, local_copies=_with(s.local_copies, n, LocalCopy(copy.order[::-1], copy.blocked)))


def _other_tiles(h: MdHom, s: Schedule, field: str) -> Iterator[Schedule]:
    """Private tiles of other sizes; vectors are left to the search."""
    if field == "private_tile":
        yield from _other_sizes(h, s, field)


def _other_orders(h: MdHom, s: Schedule, field: str) -> Iterator[Schedule]:
    order = getattr(s, field)
    for at in range(h.rank - 1):
        change: dict[str, Any] = {field: (*order[:at], order[at + 1], order[at], *order[at + 2 :])}
        yield replace(s, **change)


def _other_places(h: MdHom, s: Schedule, field: str) -> Iterator[Schedule]:
    for place in ("private", "local", "global"):
        change: dict[str, Any] = {field: place}
        if place != getattr(s, field) and (field, place) != ("combine_on", "private"):
            yield replace(s, **change)


def _others_of_inputs(h: MdHom, s: Schedule, field: str) -> Iterator[Schedule]:
    access = AccessPattern(h)
    for n, old in enumerate(getattr(s, field)):
        if field == "private_copies":
            yield replace(s, private_copies=_with(s.private_copies, n, not old))
        else:
            new = packed_layout(access, n, s.private_tile, s.vector_dim) if old is None else None
            yield replace(s, local_copies=_with(s.local_copies, n, new))


def _with(values: tuple[Any, ...], at: int, new: Any) -> tuple[Any, ...]:
    return (*values[:at], new, *values[at + 1 :])


#: The parameters by their numbers in the paper's Table I: the fields that hold each, and what changes one of these.
PARAMETERS: dict[str, tuple[tuple[str, ...], Callable[[MdHom, Schedule, str], Iterator[Schedule]]]] = {
    "work-groups (1)": (("num_wg",), _other_sizes),
    "work-items (2)": (("num_wi",), _other_sizes),
    "local tiles (3)": (("local_tile",), _other_sizes),
    "private tiles, vectors (4)": (("private_tile", "vector_dim", "vector_width"), _other_tiles),
    "what is copied (5)": (("local_copies", "private_copies"), _others_of_inputs),
    "where results wait (6)": (("results",), _other_places),
    "orders of ids (7)": (("group_order", "item_order"), _other_orders),
    "layouts of copies (8)": (("local_copies",), _other_layouts),
    "loop orders (9)": (("global_order", "local_order", "private_order"), _other_orders),
    "when results are combined (10)": (("combine_on",), _other_places),
}


def measure(h: MdHom, device: Device, seconds: float, seed: int = 0) -> dict[str, list[float]]:
    """Give, for each parameter, the best one's speed over that with its default, round by round; "all" is the default.

    Nothing stands for a parameter whose default is the best one's value.
    """
    start, rng = default(h, device.caps), np.random.default_rng(seed)
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
        for name in PARAMETERS:
            legal = [s for s in changed(h, best, name) if is_legal(h, s, device.caps) and s != best]
            some = [legal[n] for n in rng.permutation(len(legal))]
            best = min([best, *islice(some, _CHANGES)], key=time)
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
