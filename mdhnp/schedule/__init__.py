"""Schedules: Table I of the method as data, its legality, and good defaults from a cost model.

Read `schedule.py` first, then `check.py`; `caps.py` is what a schedule may know about a device.
"""

from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import check
from mdhnp.schedule.schedule import IllegalSchedule, LocalCopy, Schedule

__all__ = ["DeviceCaps", "IllegalSchedule", "LocalCopy", "Schedule", "check"]
