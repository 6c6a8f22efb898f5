"""Semirings: what stands for the product and for the sum in `einsum` and `matmul`.

Each is a :class:`Semiring`, given as ``mdhnp.einsum("ik,kj->ij", a, b, semiring=mdhnp.semiring.min_plus)``. What a sum
of nothing is, its operator's identity says: infinity for `min_plus`.
"""

import numpy as np

from mdhnp.frontend.semirings import Semiring

__all__ = [
    "Semiring", "boolean", "counting", "log", "max_min", "max_plus", "max_times", "min_max", "min_plus", "tropical",
]  # fmt: skip

#: Shortest ways: lengths are added along a way, and the shortest one is taken.
min_plus = Semiring(np.add, np.minimum, name="min_plus")
#: The same by its other name.
tropical = min_plus
#: Longest ways, critical paths; scores of the best alignment or parse, as logarithms.
max_plus = Semiring(np.add, np.maximum, name="max_plus")
#: The most probable way (Viterbi), of probabilities.
max_times = Semiring(np.multiply, np.maximum, name="max_times")
#: Bottlenecks: the way whose worst step is least bad.
min_max = Semiring(np.maximum, np.minimum, name="min_max")
#: Capacities: the way whose narrowest step is widest.
max_min = Semiring(np.minimum, np.maximum, name="max_min")
#: Whether there is a way; what is not 0 is true.
boolean = Semiring(np.logical_and, np.logical_or, bool, "boolean")
#: How many ways there are, in int64, of booleans and integers.
counting = Semiring(np.multiply, np.add, np.int64, "counting")
#: Probabilities as logarithms: sums of exponentials, of which none overflows and none that counts is lost.
log = Semiring(np.add, np.logaddexp, name="log")
