"""One cost model: what MDHs ask for, what machines give, and how many seconds follow from both.

`work.py` counts operations and bytes of an MDH, by weights of scalar functions, and turns them into time on a machine;
`chains.py` says what a chain costs by its tiles; `machine.py` holds what was measured of a device and what was fitted
beside it. Pure: what measures a machine is in `tuning/measure/machine.py`.
"""

from mdhnp.cost.chains import INSTRUCTION, ChainCost, weighed
from mdhnp.cost.machine import ComputeUnit, Core, Link, Machine, NumpyRates, usual, usual_numpy
from mdhnp.cost.work import (
    NumpyWork,
    Work,
    bytes_read,
    first_pair,
    numpy_seconds,
    operation_count,
    passes,
    seconds,
    shared_labels,
    weight,
    weights,
    work,
)

__all__ = [
    "INSTRUCTION", "ChainCost", "ComputeUnit", "Core", "Link", "Machine", "NumpyRates", "NumpyWork", "Work",
    "bytes_read", "first_pair", "numpy_seconds", "operation_count", "passes", "seconds", "shared_labels", "usual",
    "usual_numpy", "weighed", "weight", "weights", "work",
]  # fmt: skip
