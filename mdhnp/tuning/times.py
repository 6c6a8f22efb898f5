"""What calls were measured to take: by NumPy's function, and by kernels on a device.

Takes MDHs and devices, gives seconds by plan. The cache's file is read once a device and process; what this process
measures is known at once, and written for others.
"""

import hashlib
from collections.abc import Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from mdhnp.mdh import Computation, Graph, fingerprint
from mdhnp.runtime.devices import Device
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.cache.records import Key, Times
from mdhnp.tuning.lookup import GENERATOR, key_of

#: Names of plans. NumPy's times are those of a version.
KERNELS, NUMPY = "kernels", f"numpy {np.__version__}"

#: In place of a family, for graphs.
_GRAPH = "graph"


class _DeviceTimes:
    """The times of one device."""

    def __init__(self, times: dict[Key, Times]) -> None:
        self.times = times
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
    return _devices.setdefault(name, _DeviceTimes(cache().times(device.identity))) if found is None else found
