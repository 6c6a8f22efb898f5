"""The search for a good schedule: asks for measurements, is told times, and never measures itself.

A cost model (on GPUs and for scans a rough estimate) ranks thousands of samples; the default schedule, on CPUs the best
of each kind of candidates for it, and the first of a diverse shortlist are measured, and of schedules with matrix
instructions the first of a pool. Then two ridge regressions on log(time ÷ model), one of each kind, learn what the
models miss, and choose among the rest of both and neighbours of the best. Variants of the best, in what is derived from
sizes (`variants.py`), take turns with these: each kind of change comes the more often the more of its proposals were
the fastest so far. Where all of these were asked for, a new shortlist is drawn, until a draw has nothing new.
Any object with `ask` and `tell` can take its place.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf, log, prod

import numpy as np

from mdhnp.mdh import Computation, MdHom
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.batch import PRIVATE, Batch, Floats
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.cpu import cpu_batch
from mdhnp.schedule.default import candidates
from mdhnp.schedule.gpu import product_candidates
from mdhnp.schedule.gpu_matrices import matrix_neighbours
from mdhnp.schedule.model import seconds
from mdhnp.tuning.search.space import neighbours, sample, schedule
from mdhnp.tuning.search.variants import FIELDS, distinct, inherited, variants

_SAMPLES, _SHORTLIST, _PARENTS, _NEIGHBOURS = 20_000, 48, 5, 64
#: How many of the shortlist, and of the pool, are measured before anything is learned of these. A CPU's model needs
#: less correction: in ten seconds for each of 15 kernels, of two seeds, 8 of them brought 1.5 % over the default, 3
#: brought 2.7 % (Intel Xeon, a core each).
_FIRST = {"cpu": 3, "gpu": 8}
#: How many times as long as the best one by the model one of another kind may take, and still be measured first. In ten
#: seconds for each of 30 kernels, of two seeds, 45 of 60 came within 5 % of the best known so, 34 without these (Intel
#: Xeon, a core each).
_DOUBTED = 1.6
#: Schedules with matrix instructions that are chosen from, before the neighbours of the best.
_POOL = 200
_EXPLORE = 0.1
#: How many times as likely as all kinds of variants together other sizes are, as long as neither has won anything.
_SIZES = 8.0
#: What a proposal must take of the time of the fastest before to have won.
_WON = 0.99
#: What a schedule that failed counts as, relative to the slowest that worked.
_FAILURE = 4.0


class Told:
    """What searches share: the seconds of schedules, as they were told, and which are the fastest."""

    def __init__(self) -> None:
        self._times: dict[Schedule, float | None] = {}

    @property
    def best(self) -> tuple[Schedule, float] | None:
        """The fastest schedule told so far and its seconds."""
        ranked = self._ranked()
        return (ranked[0], self._times[ranked[0]] or 0.0) if ranked else None

    def finalists(self, count: int) -> list[Schedule]:
        return self._ranked()[:count]

    def tell(self, schedule: Schedule, seconds: float | None) -> None:
        """Report a schedule's time, or None if it failed."""
        self._times[schedule] = seconds

    def _ranked(self) -> list[Schedule]:
        """Schedules that worked, fastest first, equal ones in the order they were told."""
        worked = [(t, n, s) for n, (s, t) in enumerate(self._times.items()) if t is not None]
        return [s for _, _, s in sorted(worked)]


class Search(Told):
    """Proposes schedules for one stage in canonical form; `start` is measured first, then what is `known` to be good.

    Same seed and same measurements, same proposals.
    """

    def __init__(
        self, h: Computation, caps: DeviceCaps, start: Schedule, seed: int = 0, known: Sequence[Schedule] = ()
    ) -> None:
        super().__init__()
        self._h, self._caps, self._access = h, caps, AccessPattern(h.last)
        self._listed = None if isinstance(h, MdHom) else list(candidates(h, caps))
        self._rng = np.random.default_rng(seed)
        #: What was asked for, or measured by earlier searches: of each kernel one schedule.
        self._asked: set[Schedule] = set()
        #: Kinds of changes, that of sizes without a name: how many were told of, and won; and whose proposal one was.
        self._kinds = {kind: (0, 0) for kind in ("", *FIELDS)}
        self._kind_of: dict[Schedule, str] = {}
        several = caps.kind == "gpu" and self._listed is None
        likely = [s for s in product_candidates(h.last, caps, _POOL) if s != start] if several else []
        pool, plain = [s for s in likely if s.atom], [s for s in likely if not s.atom]
        #: Schedules with matrix instructions to choose from, those whose neighbours are among them, and what the model
        #: and the regression know of them: the logarithm of the time that is expected, and features.
        self._pool, self._widened = dict.fromkeys(pool), set[Schedule]()
        self._rows: dict[Schedule, tuple[float, list[float]]] = {}
        #: What is derived from the sizes of each measured one.
        self._usual: dict[Schedule, Schedule] = {}
        #: Of how many of the fastest variants and neighbours are asked for; kinds of variants of which all were.
        self._parents, self._spent = _PARENTS, set[tuple[str, Schedule]]()
        shortlist = [s for s in self._shortlist() if s != start]
        few = _FIRST[caps.kind]
        first = [start, *known, *pool[:few], *plain, *self._of_each_kind(), *shortlist[:few]]
        self._first, self._rest = list(dict.fromkeys(first)), [s for s in shortlist[few:] if s not in known]

    def ask(self) -> Schedule | None:
        """A schedule that was not measured yet, or not by this search; None when nothing new can be found.

        Several may be asked for before their times are told.
        """
        listed = self._first or (self._rest if self.best is None else [])
        candidate = listed.pop(0) if listed else self._propose()
        if candidate is not None:
            self._note(candidate)
            self._rest = [s for s in self._rest if s is not candidate]
        return candidate

    def tell(self, schedule: Schedule, seconds: float | None) -> None:
        self._note(schedule)
        if (kind := self._kind_of.pop(schedule, None)) is not None:
            won = seconds is not None and self.best is not None and seconds < _WON * self.best[1]
            told, wins = self._kinds[kind]
            self._kinds[kind] = told + 1, wins + won
        super().tell(schedule, seconds)

    def resume(self, log: Iterable[tuple[Schedule, float | None]]) -> None:
        """Go on from what earlier searches measured, before anything is asked.

        Their times were taken under other conditions, so they are compared with each other only: the best are asked for
        again after the first schedule, the others never again.
        """
        last = {s: seconds for s, seconds in log if seconds is None or seconds > 0}
        start, *first = self._first
        ranked = sorted((s for s, t in last.items() if t is not None), key=lambda s: last[s] or 0.0)
        again = [s for s in ranked[:_PARENTS] if s != start and is_legal(self._h, s, self._caps)]
        for s in last:
            if is_legal(self._h, s, self._caps):  # others are not proposed
                self._note(s)
        self._first = [start, *again, *filter(self._is_new, first)]
        self._rest = [*filter(self._is_new, self._rest)]

    def _note(self, s: Schedule) -> None:
        self._asked |= {s, distinct(self._h, s)}

    def _is_new(self, s: Schedule) -> bool:
        return distinct(self._h, s) not in self._asked

    def _shortlist(self) -> list[Schedule]:
        """New samples that are expected to be the fastest, at most two of a kind; of what is fused all there are."""
        if not self._h.rank:  # one point: nothing to choose
            return []
        if self._listed is not None:
            return [*filter(self._is_new, self._listed)]
        return self._liked(sample(self._access, self._caps, _SAMPLES, self._rng).distinct(), _kind, 2)

    def _of_each_kind(self) -> list[Schedule]:
        """On CPUs, what the model likes best of each dimension of vectors and choice of copies, but what is far off."""
        h = self._h.last
        if self._caps.kind == "gpu" or self._listed is not None or not h.rank or h.dims("ps"):
            return []
        return self._liked(cpu_batch(h, self._caps), _coarse_kind, 1, _DOUBTED)

    def _liked(
        self, batch: Batch, kind_of: Callable[[Batch, int], object], each: int, most: float = inf
    ) -> list[Schedule]:
        """New legal schedules, the fastest by estimate, so many of each kind; none that takes `most` times as long."""
        counts: dict[object, int] = {}
        found: dict[Schedule, None] = {}
        times = np.exp(self._predict(batch))
        limit = most * times.min(initial=inf)
        for row in map(int, np.argsort(times, kind="stable")):
            if len(found) == _SHORTLIST or times[row] > limit:
                break
            kind = kind_of(batch, row)
            if counts.get(kind, 0) < each:
                candidate = schedule(self._access, batch, row, self._caps)
                if candidate not in found and self._is_new(candidate) and is_legal(self._h, candidate, self._caps):
                    counts[kind] = counts.get(kind, 0) + 1
                    found[candidate] = None
        return list(found)

    def _propose(self) -> Schedule | None:
        """A schedule of other sizes, or a variant of one of the best; kinds of changes are tried in a random order."""
        ranked = self._ranked()
        if not ranked or not self._h.rank:
            return None
        likely = np.array([(won + 1) / (told + 2) for told, won in self._kinds.values()])
        likely[0] *= _SIZES * len(FIELDS)
        for at in self._rng.choice(len(likely), len(likely), replace=False, p=likely / likely.sum()):
            kind = ("", *FIELDS)[at]
            found = self._varied(kind, ranked[: self._parents]) if kind else self._of_other_sizes(ranked)
            if found is not None:
                self._kind_of[found] = kind
                return found
        # All neighbours of the best were asked: what lies farther off, or beside others, is left.
        if self._listed is not None:
            self._parents *= 2
            return self._propose() if self._parents < 2 * len(ranked) else None
        self._widen([s for s in ranked if s.atom])
        self._rest = self._shortlist()
        return self._of_other_sizes(ranked)

    def _varied(self, kind: str, parents: Sequence[Schedule]) -> Schedule | None:
        for s in parents:
            if (kind, s) not in self._spent:
                each = variants(self._h, s, self._caps, kind, self._rng)
                if (found := next(filter(self._is_new, each), None)) is not None:
                    return found
                self._spent.add((kind, s))
        return None

    def _of_other_sizes(self, ranked: Sequence[Schedule]) -> Schedule | None:
        """Of the pool, the shortlist and neighbours of the best, the one with the smallest predicted time.

        Now and then it is any of them.
        """
        if ranked[0].steps:  # of MDHs that share rows there are few schedules, and all are listed
            return next(iter(self._rest), None)
        plain, matrices = ([s for s in ranked if bool(s.atom) == has][: self._parents] for has in (False, True))
        self._widen(matrices)
        pool = [s for s in self._pool if s not in self._asked]
        listed = [*pool, *self._rest]
        for _ in range(4):
            batch = self._beside(plain)
            explore = self._rng.random() < _EXPLORE
            liking = np.concatenate((self._predict_matrices(pool), self._predict(batch)))
            liking = self._rng.random(len(liking)) if explore else liking
            for row in np.argsort(liking, kind="stable"):
                at = int(row)
                own = at < len(listed)
                found = listed[at] if own else schedule(self._access, batch, at - len(pool), self._caps)
                if self._is_new(found) and is_legal(self._h, found, self._caps):
                    if own or not plain:
                        return found
                    found = inherited(self._h, found, plain[0], self._derived(plain[0]), self._caps)
                    if self._is_new(found):
                        return found
        return None

    def _widen(self, parents: Sequence[Schedule]) -> None:
        """Add the neighbours of schedules to the pool: other tiles, depths, tiles in flight, parts of sums, padding."""
        for parent in parents:
            if parent not in self._widened:
                self._widened.add(parent)
                found = matrix_neighbours(self._access, self._caps, parent)
                self._pool |= {s: None for s in found if is_legal(self._h, s, self._caps)}

    def _derived(self, s: Schedule) -> Schedule:
        """The schedule of the same sizes and copies in which all else is derived from these."""
        if s not in self._usual:  # each proposal asks for that of all measured ones
            self._usual[s] = schedule(self._access, Batch.of([s]), 0, self._caps)
        return self._usual[s]

    def _beside(self, parents: list[Schedule]) -> Batch:
        """What is left of the shortlist, then neighbours of schedules without matrix instructions."""
        batches = [Batch.of(self._rest)] if self._rest else []
        if parents:
            batches.append(neighbours(self._access, Batch.of(parents), self._caps, _NEIGHBOURS, self._rng))
        return Batch.join(batches) if batches else Batch.of([Schedule.plain(self._h.extents, len(self._h.inputs))])

    def _measured(self, *, matrices: bool) -> tuple[list[Schedule], list[float]]:
        """Schedules with matrix instructions, or all others, that were told, and their times: of variants the best."""
        worst, fastest = max([t for t in self._times.values() if t is not None], default=0.0), dict[Schedule, float]()
        for s, t in self._times.items():
            if bool(s.atom) == matrices:
                one, time = s if matrices else self._derived(s), _FAILURE * worst if t is None else t
                fastest[one] = min(time, fastest.get(one, time))
        return list(fastest), list(fastest.values())

    def _predict(self, candidates: Batch) -> Floats:
        """Logarithm of the expected time of schedules without matrix instructions."""
        measured, times = self._measured(matrices=False)
        batch = Batch.join([Batch.of(measured), candidates]) if measured else candidates
        model = np.log(seconds(self._access, batch, self._caps))
        return corrected(times, model, _features(self._access, batch))

    def _predict_matrices(self, candidates: Sequence[Schedule]) -> Floats:
        """The same of schedules with matrix instructions."""
        if not candidates:
            return np.empty(0)
        measured, times = self._measured(matrices=True)
        for s in (*measured, *candidates):
            if s not in self._rows:
                expected = log(seconds(self._access, [s], self._caps)[0])
                # The estimate is a feature, too: where it is wrong, the regression believes less of it.
                self._rows[s] = expected, [expected, *_matrix_features(self._access, s)]
        model, features = zip(*[self._rows[s] for s in (*measured, *candidates)], strict=True)
        return corrected(times, np.array(model), np.array(features))


def _features(access: AccessPattern, c: Batch) -> Floats:
    """Logarithms of all sizes, what is wasted at borders, and which choices were made, one line a schedule."""
    dims, extents = np.arange(access.h.rank), np.array(access.h.extents, np.int64)
    sizes = np.log2(np.column_stack((c.num_wg, c.num_wi, c.local_tile, c.private_tile)))
    ragged = (-extents % (c.private_tile * c.num_wi)) / extents
    vector = c.vector_dim[:, None] == dims
    points, groups = np.log2(np.prod(c.private_tile, axis=1)), np.log2(np.prod(c.num_wg, axis=1))
    return np.column_stack((sizes, ragged, vector, c.packed, points, groups, c.results == PRIVATE)).astype(float)


def _kind(batch: Batch, row: int) -> tuple[object, ...]:
    """What makes two schedules alike: register tile, work-groups, work-items, copies."""
    groups = tuple(int(g).bit_length() for g in batch.num_wg[row])
    tile, items = batch.private_tile[row].tolist(), batch.num_wi[row].tolist()
    return (tuple(tile), int(batch.vector_dim[row]), groups, tuple(items), tuple(batch.packed[row].tolist()))


def _coarse_kind(batch: Batch, row: int) -> tuple[object, ...]:
    """What models mistake most: the dimension of vectors, and what is copied."""
    return (int(batch.vector_dim[row]), *batch.packed[row].tolist())


def _matrix_features(access: AccessPattern, s: Schedule) -> list[float]:
    """The same of one schedule with a matrix instruction."""
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
