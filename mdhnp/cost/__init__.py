"""One cost model: what MDHs ask for, what machines give, and how many seconds follow from both.

`operations.py` weighs scalar functions, `work.py` counts an MDH's operations and bytes, `machine.py` holds what was
measured of a device and what was fitted beside it, `seconds.py` turns one and the other into time. Pure: what measures
a machine is in `tuning/measure/machine.py`.
"""

from mdhnp.cost.machine import ComputeUnit, Core, Link, Machine, NumpyRates, usual, usual_numpy
from mdhnp.cost.operations import passes, weight
from mdhnp.cost.seconds import numpy_seconds, seconds
from mdhnp.cost.work import NumpyWork, Work, bytes_read, operation_count, work

__all__ = [
    "ComputeUnit", "Core", "Link", "Machine", "NumpyRates", "NumpyWork", "Work", "bytes_read",
    "numpy_seconds", "operation_count", "passes", "seconds", "usual", "usual_numpy", "weight", "work",
]  # fmt: skip
