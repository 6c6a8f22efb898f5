"""What it takes to hand parts of a call to the devices' threads, as measured once in a process."""

import time
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.distributed import run
from mdhnp.distributed.exchange import fetch
from mdhnp.distributed.values import Hold, Value, flat, lent, view_on
from mdhnp.runtime.groups import Group

__all__ = ["handing"]

NDArray = npt.NDArray[Any]

#: How often it is measured.
_RUNS = 16


def handing(group: Group) -> float:
    """Give the seconds in which parts of an array are handed to the devices' threads, and results joined.

    Measured once in a process, in some milliseconds: all that a call does but to compute, on an element a device. Where
    devices have memory of their own, what it takes to begin each result's way back is in it, which others count again,
    so that one device is preferred by some microseconds more.
    """
    found = _handing.get(group)
    if found is None:
        found = _handing[group] = _usual(group)
    return found


_handing: dict[Group, float] = {}


def _usual(group: Group) -> float:
    """Measure what it takes usually: threads wake up sooner at times, and much later at others."""
    elements, times = np.zeros(len(group.members), np.uint8), []
    for _ in range(_RUNS):
        begin = time.perf_counter()
        _handed(group, elements)
        times.append(time.perf_counter() - begin)
    return median(times)


def _handed(group: Group, elements: NDArray) -> None:
    whole = lent(elements)
    jobs = [partial(fetch, whole[n : n + 1], device) for n, device in enumerate(group.members)]
    each = enumerate(zip(group.members, run.on_all(group.members, jobs), strict=True))
    holds = [Hold(device, flat(view, device), n) for n, (device, view) in each]
    fetch(view_on(Value(holds), elements.shape, elements.dtype), None)
