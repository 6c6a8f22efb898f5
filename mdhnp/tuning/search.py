"""The search for a good schedule: asks for measurements, is told times, and never measures itself.

The cost model ranks thousands of samples; a diverse shortlist, beginning with the default schedule, is measured first.
Then a ridge regression on log(time ÷ model) learns what the model misses, and chooses among neighbours of the best.
Any object with `ask` and `tell` can take its place.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import MdHom
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.choices import Choices, Facts, complete
from mdhnp.schedule.cost import cpu_seconds
from mdhnp.tuning.space import neighbour, rows, sample

__all__ = ["Search"]

Floats = npt.NDArray[np.float64]

_SAMPLES, _SHORTLIST, _PARENTS, _NEIGHBOURS = 20_000, 25, 5, 32
_EXPLORE = 0.1
#: What a schedule that failed counts as, relative to the slowest that worked.
_FAILURE = 4.0


class Search:
    """Proposes schedules for one stage on one device.

    Parameters
    ----------
    h : MdHom
        A stage in canonical form.
    caps : DeviceCaps
        The device.
    start : Schedule
        Measured first: the schedule in use.
    seed : int
        Same seed and same measurements, same proposals.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import canonical, cc, md_hom, pw
    >>> from mdhnp.schedule.default import default
    >>> gemm = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")
    >>> h = canonical(gemm.bind(np.ones((64, 64)), np.ones((64, 64))))
    >>> caps = DeviceCaps("any", "cpu", 2, 64, 32, 1 << 18, 4096, 1 << 15, 1 << 21, True, False, 1 << 32)
    >>> search = Search(h, caps, default(h, caps))
    >>> search.tell(search.ask(), 1e-3)
    >>> search.best[1]
    0.001
    """

    def __init__(self, h: MdHom, caps: DeviceCaps, start: Schedule, seed: int = 0) -> None:
        self._h, self._caps, self._facts = h, caps, Facts(h)
        self._rng = np.random.default_rng(seed)
        self._times: dict[Schedule, float | None] = {}
        self._old: set[Schedule] = set()
        self._pending = [start, *self._shortlist()]

    @property
    def best(self) -> tuple[Schedule, float] | None:
        """The fastest schedule told so far and its seconds."""
        ranked = self._ranked()
        return (ranked[0], self._times[ranked[0]] or 0.0) if ranked else None

    def finalists(self, count: int) -> list[Schedule]:
        """The fastest schedules told so far."""
        return self._ranked()[:count]

    def ask(self) -> Schedule | None:
        """A schedule that was not measured yet, or not by this search; None when nothing new can be found."""
        while self._pending:
            candidate = self._pending.pop(0)
            if candidate not in self._times:
                return candidate
        return self._propose()

    def tell(self, schedule: Schedule, seconds: float | None) -> None:
        """Report a schedule's time, or None if it failed."""
        self._times[schedule] = seconds

    def resume(self, log: Iterable[tuple[Schedule, float | None]]) -> None:
        """Go on from what earlier searches measured, before anything is asked.

        Their times were taken under other conditions, so they are compared with each other only: the best are asked for
        again after the first schedule, the others never again.
        """
        last = {s: seconds for s, seconds in log if seconds is None or seconds > 0}
        start, *shortlist = self._pending
        ranked = sorted((s for s, t in last.items() if t is not None), key=lambda s: last[s] or 0.0)
        again = [s for s in ranked[:_PARENTS] if s != start and is_legal(self._h, s, self._caps)]
        self._old = set(last)
        self._pending = [start, *again, *(s for s in shortlist if s not in self._old)]

    def _ranked(self) -> list[Schedule]:
        """Schedules that worked, fastest first, equal ones in the order they were told."""
        return sorted((s for s, t in self._times.items() if t is not None), key=lambda s: self._times[s] or 0.0)

    @property
    def _modelled(self) -> bool:
        """Whether the cost model knows such schedules."""
        return self._caps.kind == "cpu" and not self._h.dims("ps")

    def _shortlist(self) -> list[Schedule]:
        """The samples the model likes best, at most two of a kind."""
        if not self._modelled:
            return []
        choices = sample(self._facts, self._caps, _SAMPLES, self._rng)
        kinds: dict[tuple[object, ...], int] = {}
        found: list[Schedule] = []
        for row in np.argsort(cpu_seconds(self._facts, choices, self._caps), kind="stable"):
            kind = _kind(choices, int(row))
            if kinds.get(kind, 0) >= 2:
                continue
            schedule = complete(self._facts, choices, int(row))
            if is_legal(self._h, schedule, self._caps):
                kinds[kind] = kinds.get(kind, 0) + 1
                found.append(schedule)
            if len(found) == _SHORTLIST - 1:
                break
        return found

    def _propose(self) -> Schedule | None:
        """The neighbour of the best with the smallest predicted time; now and then any of them."""
        parents = self._ranked()[:_PARENTS]
        fresh: dict[Schedule, None] = {}
        for _ in range(4 * _NEIGHBOURS if parents else 0):
            if len(fresh) == _NEIGHBOURS:
                break
            parent = parents[int(self._rng.integers(len(parents)))]
            candidate = neighbour(self._facts, parent, self._caps, self._rng)
            if candidate is not None and candidate not in self._times and candidate not in self._old:
                fresh[candidate] = None
        candidates = list(fresh)
        if not candidates:
            return None
        if self._rng.random() < _EXPLORE:
            return candidates[int(self._rng.integers(len(candidates)))]
        return candidates[int(np.argmin(self._predict(candidates)))]

    def _predict(self, candidates: Sequence[Schedule]) -> Floats:
        """Logarithm of the expected time: the model's, corrected by a ridge regression over what was measured."""
        known = list(self._times)
        worst = max(t for t in self._times.values() if t is not None)
        times = np.array([t if t is not None else _FAILURE * worst for t in self._times.values()])
        features = np.array([_features(self._h, s) for s in [*known, *candidates]])
        measured = features[: len(known)]
        features = (features - measured.mean(axis=0)) / (measured.std(axis=0) + 1e-9)
        model = self._log_model([*known, *candidates])
        residual = np.log(times) - model[: len(known)]
        x = features[: len(known)]
        weights = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ (residual - residual.mean()))
        predicted: Floats = model[len(known) :] + residual.mean() + features[len(known) :] @ weights
        return predicted

    def _log_model(self, schedules: Sequence[Schedule]) -> Floats:
        if not self._modelled:
            return np.zeros(len(schedules))
        logarithms: Floats = np.log(cpu_seconds(self._facts, rows(schedules), self._caps))
        return logarithms


def _features(h: MdHom, s: Schedule) -> Floats:
    """Logarithms of all sizes, what is wasted at borders, and which choices were made."""
    sizes = np.log2([*s.num_wg, *s.num_wi, *s.local_tile, *s.private_tile])
    ragged = [(-n % s.step(d)) / n for d, n in enumerate(h.extents)]
    vector = [s.vector_dim == d for d in range(h.rank)]
    copies = [c is not None for c in s.local_copies]
    together = [np.log2(float(np.prod(s.private_tile))), np.log2(s.work_groups), s.results == "private"]
    return np.array([*sizes, *ragged, *vector, *copies, *together], float)


def _kind(choices: Choices, row: int) -> tuple[object, ...]:
    """What makes two schedules alike: register tile, work-groups, copies."""
    groups = tuple(int(g).bit_length() for g in choices.num_wg[row])
    tile, packed = choices.private_tile[row].tolist(), choices.packed[row].tolist()
    return (tuple(tile), int(choices.vector_dim[row]), groups, tuple(packed))
