"""The one cost model of schedules: how many seconds a launch takes, whoever asks, before anything is compiled."""

from collections.abc import Sequence

import numpy as np

from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.batch import Batch, Floats, Tiling, product
from mdhnp.schedule.model_cpu import cpu_seconds
from mdhnp.schedule.model_gpu import gpu_seconds
from mdhnp.schedule.model_matrices import matrix_seconds
from mdhnp.schedule.schedule import DeviceCaps, Schedule


def seconds(access: AccessPattern, schedules: Batch | Sequence[Schedule], caps: DeviceCaps) -> Floats:
    """Return the estimated time of one launch of each legal schedule of a stage of rank 1 or more, in seconds."""
    if isinstance(schedules, Batch):
        model = gpu_seconds if caps.kind == "gpu" else _scan_seconds if access.h.dims("ps") else cpu_seconds
        return model(access, schedules, caps)
    found = np.empty(len(schedules))
    plain = [n for n, s in enumerate(schedules) if not s.atom]
    if plain:
        found[plain] = seconds(access, Batch.of([schedules[n] for n in plain]), caps)
    for n, s in enumerate(schedules):
        if s.atom:
            found[n] = matrix_seconds(access, caps, s)
    return found


def _scan_seconds(access: AccessPattern, batch: Batch, caps: DeviceCaps) -> Floats:
    """Of scans on a CPU, one work-item a work-group."""
    c, (scanned,) = Tiling(access, batch, caps), access.combined
    core, groups = c.core, np.prod(c.wg, axis=1)
    points = product(c.pt, access.kept) / c.width * c.pt[:, scanned]
    moves = np.zeros(len(groups))
    for strides in (*access.strides, access.output_strides):
        apart = c.vectors_along(d for d in access.kept if abs(strides[d]) > 1)
        moves += points * np.where(apart, 1.5 * c.width, 1.0)
    busiest = np.maximum(np.maximum(points * access.operations, moves) / 2, c.pt[:, scanned] * core.latency)
    cycles = np.prod(np.ceil(c.extents / c.pt), axis=1) * (busiest + 3)
    # Over several work-groups the totals come first: everything is read and added twice.
    passes = np.where(c.wg[:, scanned] > 1, 2.0, 1.0)
    moved = access.bytes_read + access.bytes_written
    busy = np.minimum(groups, caps.compute_units)
    overhead = core.group * (groups / caps.compute_units + passes**2)
    return np.asarray(passes * np.maximum(cycles / core.clock, moved / core.memory) / busy + overhead)
