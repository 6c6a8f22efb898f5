"""What calls were measured to take: by NumPy's function, and by kernels on a device; and how sure it is who is faster.

Takes MDHs and devices, gives seconds by plan, and verdicts. The cache's file is read once a device and process; what
this process measures is known at once, and written for others.
"""

import hashlib
from collections.abc import Mapping, Sequence
from math import inf, prod
from statistics import median
from types import MappingProxyType

import numpy as np

from mdhnp.mdh import Computation, Graph, fingerprint
from mdhnp.runtime.devices import Device
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.cache.records import Key, Times, Verdict
from mdhnp.tuning.lookup import GENERATOR, key_of

#: Names of plans. NumPy's times are those of a version.
KERNELS, NUMPY = "kernels", f"numpy {np.__version__}"

#: In place of a family, for graphs.
_GRAPH = "graph"


#: Processes in a row after whose contests a verdict is taken for settled: what disturbed one is over by the next.
_SETTLED = 3


class _DeviceTimes:
    """The times of one device; its verdicts, and what they were before this process."""

    def __init__(self, times: dict[Key, Times], verdicts: dict[Key, Verdict]) -> None:
        self.times, self.verdicts, self.before = times, verdicts, dict(verdicts)
        # No key is made, which takes longer than many a call, where nothing has as many points.
        self.points = {_GRAPH if k.family == _GRAPH else prod(k.extents) for k in times}


_devices: dict[tuple[TuningCache, str], _DeviceTimes] = {}


def measured(what: Computation | Graph, device: Device) -> Mapping[str, float]:
    """Give the seconds of whole calls by plan, and of a graph by name of a rewriting, of those that were measured.

    A computation has no extents of 0.
    """
    known = _known(device)
    is_likely = _points(what) in known.points
    return MappingProxyType(known.times.get(_key_of(what, device), {}) if is_likely else {})


def remember(what: Computation | Graph, device: Device, times: Times) -> None:
    """Keep what was measured, in place of what was known of the same plans, or of the graph."""
    known, key = _known(device), _key_of(what, device)
    known.times[key] = times if isinstance(what, Graph) else {**known.times.get(key, {}), **times}
    known.points.add(_points(what))
    cache().set_times(key, times)


def is_settled(what: Computation, device: Device) -> bool:
    """Whether contests of several processes found the same plan to be the fastest."""
    verdict = _known(device).verdicts.get(_key_of(what, device))
    return verdict is not None and verdict.processes >= _SETTLED


def judge(what: Computation, device: Device, won: str, calls: Mapping[str, Sequence[float]]) -> Verdict:
    """Keep which plan has won a contest, by the seconds of each plan's calls in it: two plans at least.

    However many contests this process holds, it counts once.
    """
    known, key = _known(device), _key_of(what, device)
    best = min([median(each) for plan, each in calls.items() if plan != won])
    margin, noise = best / median(calls[won]), max([_noise(each) for each in calls.values()])
    before = known.before.get(key)
    agreed = before.processes if before is not None and before.plan == won else 0
    verdict = Verdict(won, margin, noise, agreed + (margin > noise))
    known.verdicts[key] = verdict
    cache().set_verdict(key, verdict)
    return verdict


def _noise(seconds: Sequence[float]) -> float:
    """Give how many times as long calls took in the slower quarter as in the faster one."""
    ordered = sorted(seconds)
    quarter = len(ordered) // 4
    return ordered[-1 - quarter] / ordered[quarter] if ordered[quarter] > 0 else inf


def _points(what: Computation | Graph) -> int | str:
    return _GRAPH if isinstance(what, Graph) else prod(what.extents)  # as of keys, which know no segments


def _key_of(what: Computation | Graph, device: Device) -> Key:
    if not isinstance(what, Graph):
        return key_of(what, device)
    steps = "".join([f"{fingerprint(s.mdhom)}{s.inputs}" for s in what.steps])
    text = f"{what.given}{steps}{what.results}"
    return Key(_GRAPH, (), hashlib.sha256(text.encode()).hexdigest()[:32], device.identity, GENERATOR)


def _known(device: Device) -> _DeviceTimes:
    name = cache(), device.identity
    found = _devices.get(name)
    if found is not None:
        return found
    read = _DeviceTimes(cache().times(device.identity), cache().verdicts(device.identity))
    return _devices.setdefault(name, read)
