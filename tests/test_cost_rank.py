"""What the cost model ranks first, beside recorded times of schedules (`benchmarks/ranking.py`); needs no device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.ranking import CASES, mdhom, read
from mdhnp.schedule import DeviceCaps
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.model import seconds

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "ranked.json").read_text(encoding="utf-8"))
CAPS = {
    name: DeviceCaps(**{k: tuple(v) if isinstance(v, list) else v for k, v in caps.items()})
    for name, caps in RECORDED["devices"].items()
}
#: How many times as long as the best what is ranked first may take, and in which part of the cases.
NEAR, MOST = 1.4, 0.9


def loss(one: dict[str, Any]) -> float:
    """Return how many times as long as the best of the recorded schedules the one takes that is ranked first."""
    schedules, times = zip(*read(one["schedules"]), strict=True)
    ranked = seconds(AccessPattern(mdhom(one["case"])), schedules, CAPS[one["device"]])
    return float(times[np.argmin(ranked)] / min(times))


@pytest.mark.parametrize("runtime", CAPS)
def test_what_is_ranked_first_is_near_the_best(runtime: str) -> None:
    losses = {one["case"]: loss(one) for one in RECORDED["times"] if one["device"] == runtime}
    assert losses.keys() == CASES.keys()
    far = {case: round(value, 2) for case, value in losses.items() if value > NEAR}
    assert len(far) <= (1 - MOST) * len(losses), far


@pytest.mark.parametrize("case", CASES)
def test_recorded_schedules_are_legal(case: str) -> None:
    for one in RECORDED["times"]:
        if one["case"] == case:
            assert all([is_legal(mdhom(case), s, CAPS[one["device"]]) for s, _ in read(one["schedules"])])
