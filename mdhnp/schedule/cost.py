"""An analytical cost model: how long schedules should take on a CPU, before anything is compiled.

Counts what a schedule makes the machine do, per private tile (vector operations, loads, dependent chains, registers),
per local tile (copies, stores: `cycles.py`) and in all (memory traffic: `traffic.py`, uneven work-groups), and turns
the counts into seconds with a handful of machine constants. It ranks candidates, thousands in milliseconds; it does not
predict seconds to better than a small factor.
"""

import numpy as np

from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.choices import Choices, Facts
from mdhnp.schedule.columns import Columns, Floats, product
from mdhnp.schedule.cycles import body, border, copies, steps, visit
from mdhnp.schedule.traffic import CACHE, seconds_moving

__all__ = ["cpu_seconds"]

_CLOCK = 2.6e9
#: Part of the shorter of computing and moving data that the longer one does not hide.
_EXPOSED = 0.4
_GROUP_OVERHEAD = 1.5e-6
#: How much longer one work-group a core takes than many, for want of balance.
_STRAGGLE = 0.15
#: Waking the other cores' threads.
_WAKE = 5e-6
#: Launch of the kernel that combines a split reduction's parts.
_SECOND_KERNEL = 8e-6


def cpu_seconds(facts: Facts, choices: Choices, caps: DeviceCaps) -> Floats:
    """Estimate the time of one launch of each schedule, in seconds; one work-item a work-group.

    Compute or memory, whichever is slower, some of the other, and what work-groups cost.
    """
    c = Columns(facts, choices, caps)
    units = caps.compute_units
    groups = product(c.wg, range(facts.h.rank))
    bodies = np.ones(len(groups))
    for d in range(facts.h.rank):
        inside = np.maximum(c.extents[:, d] / c.pt[:, d], 1)
        bodies = bodies * (steps(c, d) if d in facts.combined else np.ceil(inside))
    visits = product(np.ceil(c.extents / c.pt), facts.kept) * product(c.tiles, facts.combined)
    cycles = bodies * body(c) + visits * visit(c) + copies(c) * groups + border(c)
    busy = np.minimum(groups, units)
    rounds = np.where(groups >= units, np.ceil(groups / units) * units / groups, 1.0)
    # The slowest unit: whole rounds of work-groups, each with the most points any group has.
    points = np.minimum(c.per_group * c.lt, c.extents)
    ragged = product(points * c.wg / c.extents, range(facts.h.rank))
    compute = cycles / _CLOCK / busy * rounds * ragged
    memory = seconds_moving(c) / busy
    slower, faster = np.maximum(compute, memory), np.minimum(compute, memory)
    # Few work-groups a core wait for the slowest core; more of them level out.
    slower = slower * np.where(groups > 1, 1 + _STRAGGLE * np.minimum(units / groups, 1) ** 2, 1.0)
    parts = product(c.wg, facts.combined)
    moved = 3 * parts * facts.bytes_written / units
    second = np.where(parts > 1, _SECOND_KERNEL + moved / CACHE, 0.0)
    woken = np.where(groups > 1, _WAKE, 0.0)
    seconds: Floats = slower + _EXPOSED * faster + _GROUP_OVERHEAD * (groups / units + 1) + second + woken
    return seconds
