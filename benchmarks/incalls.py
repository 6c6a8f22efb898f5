"""Tuning in the caller's own calls against a search apart: how soon it is done, and how good what is found is.

Takes cases and a device; gives a table. Each case runs twice from an empty cache: once tuned by :func:`mdhnp.tune`,
once called until nothing follows its calls any more. The schedules of both are then timed by turns, as in `tuning.py`.
"""

import time
from collections.abc import Sequence

import mdhnp
from benchmarks.cases import CASES
from benchmarks.cpu import mdhnp_device
from benchmarks.rows import seconds_text
from benchmarks.tuning import by_turns, empty_cache, stage
from mdhnp.calls.entry import Entry
from mdhnp.calls.plans import Kernels
from mdhnp.calls.steps import InSteps
from mdhnp.calls.store import entries, forget
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning import background

__all__ = ["table"]

_BUDGET, _PATIENCE = 5.0, 90.0


def table(names: Sequence[str], spec: str) -> tuple[list[str], list[list[str]]]:
    """Measure some cases."""
    device = mdhnp_device(spec)
    lines = []
    with mdhnp.device(device):
        for name in names:
            h = stage(name, device)
            apart = _apart(name)
            seconds, calls, found = _in_calls(name)
            start = default(h, device.caps)
            times = by_turns(h, device, [start, apart or start, found or start])
            ours, theirs, usual = (sorted(times[s or start])[len(times[start]) // 2] for s in (found, apart, start))
            ratios = f"{theirs / ours:.2f}", f"{usual / ours:.2f}"
            lines.append([name, f"{seconds:.0f} s", str(calls), seconds_text(usual), *ratios])
            print(*lines[-1], flush=True)
    return ["", "settled after", "calls", "default", "search apart ÷ in calls", "default ÷ in calls"], lines


def _apart(name: str) -> Schedule | None:
    problem = CASES[name].make()
    with empty_cache(), mdhnp.config(tuning="off", host="never"):
        forget()
        found = mdhnp.tune(problem.ours, budget=_BUDGET, evaluations=50, progress=False)
    return max(found, key=lambda tuned: tuned.mdhom.points).schedule if found else None


def _in_calls(name: str) -> tuple[float, int, Schedule | None]:
    problem = CASES[name].make()
    calls = 0
    # The helper process is another one for each case: it looks for the cache where this one's is.
    background.wait()
    background._helper.end()
    background._helper = background._Helper()
    with empty_cache(), mdhnp.config(tuning="auto", host="never", specialise="auto", budget=_BUDGET):
        forget()
        begin = time.perf_counter()
        while time.perf_counter() - begin < _PATIENCE:
            problem.ours()
            calls += 1
            if calls % 20 == 0 and not _followed():
                background.wait()
                if not _followed():
                    break
        seconds = time.perf_counter() - begin
        plans = [entry.plan for entry in entries.values()]
    kernels = [plan for plan in plans if isinstance(plan, Kernels)]
    return seconds, calls, max(kernels, key=lambda plan: plan.mdhom.points).schedules[0] if kernels else None


def _followed() -> bool:
    return any(_watched(entry) for entry in list(entries.values()))


def _watched(entry: Entry) -> bool:
    plan, watcher = entry._now
    if isinstance(plan, InSteps):
        return any(_watched(item[1]) for item in plan._items)
    return watcher is not None
