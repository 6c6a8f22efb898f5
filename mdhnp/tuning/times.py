"""What calls were measured to take: by NumPy's function, and by kernels on a device.

Takes MDHs and devices, gives seconds by plan. The cache's file is read once a device and process; what this process
measures is known at once, and written for others.
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from mdhnp.mdh import Computation, Graph, fingerprint
from mdhnp.runtime.devices import Device
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.cache.records import Key, Times
from mdhnp.tuning.lookup import GENERATOR, key_of

__all__ = ["KERNELS", "NUMPY", "measured", "measured_rewritings", "remember", "remember_rewritings"]

#: Names of plans. NumPy's times are those of a version.
KERNELS, NUMPY = "kernels", f"numpy {np.__version__}"

_NONE: Times = {}
#: In place of a family, for graphs.
_GRAPH = "graph"


class _Known:
    """The times of one device."""

    def __init__(self, times: dict[Key, Times]) -> None:
        self.times = times
        # No key is made, which takes longer than many a call, where nothing has as many points.
        self.points = {int(np.prod(key.extents, dtype=object)) for key in times if key.family != _GRAPH}
        self.graphs = any(key.family == _GRAPH for key in times)


_devices: dict[tuple[TuningCache, str], _Known] = {}


def measured(h: Computation, device: Device) -> Mapping[str, float]:
    """Give the seconds of whole calls by plan, of those plans that were measured.

    Parameters
    ----------
    h : Computation
        What calls compute, without extents of 0.
    device : Device
        Where kernels run.
    """
    known = _known(device)
    if h.points not in known.points:
        return _NONE
    return MappingProxyType(known.times.get(key_of(h, device), _NONE))


def remember(h: Computation, device: Device, times: Times) -> None:
    """Keep what was measured, in place of what was known of the same plans."""
    known, key = _known(device), key_of(h, device)
    known.times[key] = {**known.times.get(key, _NONE), **times}
    known.points.add(h.points)
    cache().set_times(key, times)


def measured_rewritings(graph: Graph, device: Device) -> Mapping[str, float]:
    """Give the seconds that a graph takes by names of rewritings, of those that were measured."""
    known = _known(device)
    return MappingProxyType(known.times.get(_key_of(graph, device), _NONE) if known.graphs else _NONE)


def remember_rewritings(graph: Graph, device: Device, times: Times) -> None:
    """Keep what rewritings were measured to take."""
    known, key = _known(device), _key_of(graph, device)
    known.times[key], known.graphs = times, True
    cache().set_times(key, times)


def _key_of(graph: Graph, device: Device) -> Key:
    steps = "".join([f"{fingerprint(s.mdhom)}{s.inputs}" for s in graph.steps])
    text = f"{graph.given}{steps}{graph.results}"
    return Key(_GRAPH, (), hashlib.sha256(text.encode()).hexdigest()[:32], device.identity, GENERATOR)


def _known(device: Device) -> _Known:
    name = cache(), device.identity
    found = _devices.get(name)
    if found is None:
        found = _devices.setdefault(name, _Known(cache().times(device.identity)))
    return found
