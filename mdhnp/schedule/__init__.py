"""Schedules: Table I of the method as data, its legality, and good defaults from a cost model.

Read `schedule.py` first, then `check.py`.
"""

from mdhnp.schedule.check import check
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, LocalCopy, Schedule

__all__ = ["DeviceCaps", "IllegalSchedule", "LocalCopy", "Schedule", "check"]
