"""The schedules with matrix instructions that a search chooses from.

At first those that the cost model likes best; then also the neighbours of those that were measured to be the fastest:
other tiles, depths, tiles in flight, parts of sums, padding. And what measured times teach about those of other
schedules, of any kind: a ridge regression on what a model misses.
"""

from collections.abc import Sequence
from math import log, prod

import numpy as np
import numpy.typing as npt

from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.gpu_matrices import matrix_neighbours
from mdhnp.schedule.model import seconds

Floats = npt.NDArray[np.float64]


class Matrices:
    """A pool of legal schedules with matrix instructions for a stage in canonical form, each once."""

    def __init__(self, access: AccessPattern, caps: DeviceCaps, schedules: Sequence[Schedule]) -> None:
        self._access, self._caps = access, caps
        self.pool = dict.fromkeys(schedules)
        self._widened: set[Schedule] = set()
        #: Of each schedule, the logarithm of the time that is expected, and its features.
        self._known: dict[Schedule, tuple[float, list[float]]] = {}

    def widen(self, parents: Sequence[Schedule]) -> None:
        for parent in parents:
            if parent not in self._widened:
                self._widened.add(parent)
                found = matrix_neighbours(self._access, self._caps, parent)
                self.pool |= {s: None for s in found if is_legal(self._access.h, s, self._caps)}

    def predict(self, measured: Sequence[Schedule], times: Sequence[float], asked: Sequence[Schedule]) -> Floats:
        """Logarithms of the times that are expected of schedules, after what was measured of others."""
        if not asked:
            return np.empty(0)
        model, features = zip(*map(self._row, (*measured, *asked)), strict=True)
        return corrected(times, np.array(model), np.array(features))

    def _row(self, s: Schedule) -> tuple[float, list[float]]:
        if s not in self._known:
            expected = log(seconds(self._access, [s], self._caps)[0])
            # The estimate is a feature, too: where it is wrong, the regression believes less of it.
            self._known[s] = expected, [expected, *_features(self._access, s)]
        return self._known[s]


def _features(access: AccessPattern, s: Schedule) -> list[float]:
    """Logarithms of sizes, what is wasted at borders, and which choices were made."""
    (row, column, _), dims = s.atom_dims, range(access.h.rank)
    sizes = [*s.num_wi, *s.private_tile, s.work_items, prod(s.private_tile), s.work_groups]
    sizes += [*(s.local_tile[d] for d in access.combined), prod(s.num_wg[d] for d in access.combined)]
    ragged = [-access.h.extents[d] % s.local_tile[d] / access.h.extents[d] for d in dims]
    chosen = [s.atom == name for name in ATOMS] + [at == d for at in (row, column) for d in dims]
    chosen += [s.group_order[0] == d for d in dims] + [s.combine_on == "local"]
    pads = [log(1 + copy.pad) if copy else 0.0 for copy in s.local_copies]
    return [*map(log, sizes), *ragged, *map(float, chosen), *pads, s.stages]


def corrected(times: Sequence[float], model: Floats, features: Floats) -> Floats:
    """Logarithms of the expected times of schedules that were not measured. Times, in seconds, are those of the first.

    `model` is the logarithm of the time that a model expects of each, `features` what tells them apart.
    """
    known = len(times)
    if not known:
        return model
    measured = features[:known]
    features = (features - measured.mean(axis=0)) / (measured.std(axis=0) + 1e-9)
    x, residual = features[:known], np.log(times) - model[:known]
    weights = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ (residual - residual.mean()))
    predicted: Floats = model[known:] + residual.mean() + features[known:] @ weights
    return predicted
