"""What tuning remembers: the best schedules known, all that was measured, and who is tuning what.

`tuning_cache.py` is what the rest of the package sees; `records.py` its data; `database.py` the file; `wisdom.py`
exported entries, and those that come with the package (`shipped/`).
"""

from mdhnp.tuning.cache.records import BestSchedule, Key, Measurement
from mdhnp.tuning.cache.tuning_cache import TuningCache, cache

__all__ = ["BestSchedule", "Key", "Measurement", "TuningCache", "cache"]
