"""Space, search and look-up of the tuner."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import islice
from math import log2, prod

import numpy as np
import pytest
from chains import blurred
from random_functions import Seeded
from rows import random_rows
from schedules import MATRICES

from mdhnp.mdh import canonical, cc, md_hom, ps, pw
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps, LocalCopy, Schedule, check
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.batch import Batch
from mdhnp.schedule.check import check_second, is_legal
from mdhnp.schedule.cpu import cpu_batch
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.general import adapt, moved
from mdhnp.schedule.gpu import product_candidates
from mdhnp.schedule.gpu_matrices import matrix_neighbours, matrix_schedules
from mdhnp.schedule.model import seconds
from mdhnp.schedule.split import combining
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache import tuning_cache as cache_module
from mdhnp.tuning.cache.records import BestSchedule
from mdhnp.tuning.lookup import key_of, similar, tuned_for
from mdhnp.tuning.search.search import _DOUBTED, Search, corrected
from mdhnp.tuning.search.space import neighbours, sample, schedule
from mdhnp.tuning.search.variants import FIELDS, distinct, variants

CAPS = DeviceCaps("any", "cpu", 2, 64, 32, 1 << 18, 4096, 1 << 15, 1 << 21, True, 1 << 32)
GPU = replace(
    CAPS, kind="gpu", compute_units=100, vector_bytes=16, registers=255, local_memory=49152, max_work_group=1024
)

GEMM = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")


@pytest.fixture(autouse=True)
def nothing_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """On some processors schedules came with the package, for matrix products like these."""
    monkeypatch.setattr(cache_module, "shipped_entries", dict)


def gemm(m: int, n: int, k: int):
    return canonical(GEMM.bind(np.ones((m, k), np.float32), np.ones((k, n), np.float32)))


def stages():
    contraction = md_hom(
        np.multiply, {**dict.fromkeys("fedcba", cc), "g": pw("add")}, "A[c,a,d,g], B[b,g,f,e] -> C[f,e,d,c,b,a]"
    )
    blur = md_hom(lambda x, y, z: x + y + z, {"i": cc, "j": cc}, "x[i,j], x[i+1,j], x[i,j+2] -> y[i,j]")
    return {
        "gemm": gemm(70, 90, 110),
        "dot": canonical(md_hom(np.multiply, {"k": pw("add")}, "x[k], y[k] -> z[]").bind(np.ones(999), np.ones(999))),
        "contraction": canonical(contraction.bind(np.ones((5, 6, 7, 8)), np.ones((3, 8, 4, 6)))),
        "stencil": canonical(blur.bind(np.ones((40, 50)))),
        "scan": canonical(md_hom(lambda x: x, {"i": cc, "j": ps("add")}, "x[i,j] -> y[i,j]").bind(np.ones((30, 700)))),
        "long scan": canonical(md_hom(lambda x: x, {"j": ps("add")}, "x[j] -> y[j]").bind(np.ones(70_000))),
    }


@pytest.mark.parametrize("caps", [CAPS, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", stages())
def test_samples_and_neighbours_are_legal(name, caps):
    h = stages()[name]
    access, rng = AccessPattern(h), np.random.default_rng(0)
    start = default(h, caps)
    samples = sample(access, caps, 2000, rng)
    beside = neighbours(access, Batch.of([start]), caps, 300, rng)
    for choices, least in ((samples, 20), (beside, 6)):
        found = [schedule(access, choices, row, caps) for row in range(0, len(choices), 1 + len(choices) // 100)]
        assert len(set(found)) >= least
        legal = [s for s in found if is_legal(h, s, caps)]
        assert len(legal) >= 0.8 * len(found), "rejection sees almost all there is to see"
        assert any(s != start for s in legal)


def drive(search: Search, count: int) -> list[Schedule]:
    """Ask and tell with times that only the schedule decides."""
    asked = []
    for _ in range(count):
        s = search.ask()
        assert s is not None
        asked.append(s)
        search.tell(s, None if len(asked) % 7 == 0 else 1e-3 / np.prod(s.private_tile))
    return asked


def test_search_starts_with_the_schedule_in_use_and_never_repeats():
    h = gemm(256, 256, 256)
    start = default(h, CAPS)
    asked = drive(Search(h, CAPS, start), 60)
    assert asked[0] == start
    assert len(set(asked)) == len(asked)


def test_search_tries_each_kind_that_the_model_doubts_first():
    """Vectors along either of two dimensions, operands copied or not: the best of each that is near the best of all."""
    f = md_hom(np.multiply, {**dict.fromkeys("ijk", cc), "l": pw("add")}, "A[k,i,l], B[l,j] -> C[i,j,k]")
    contraction = canonical(f.bind(np.ones((64, 64, 72), np.float32), np.ones((72, 24), np.float32)))
    for one, dims in ((contraction, {1, 2}), (gemm(16, 1000, 2048), {1})):
        access, batch = AccessPattern(one), cpu_batch(one, CAPS)
        times = seconds(access, batch, CAPS)
        near = np.flatnonzero(times <= _DOUBTED * times.min())
        kinds = {(int(batch.vector_dim[n]), *batch.packed[n].tolist()) for n in near}
        first = drive(Search(one, CAPS, default(one, CAPS)), len(kinds) + 1)
        found = {(s.vector_dim, *[copy is not None for copy in s.local_copies]) for s in first}
        assert kinds == found
        assert len(kinds) >= 4
        assert {d for d, *_ in kinds} == dims


def test_search_ends_where_there_is_nothing_to_choose():
    for h in (gemm(1, 1, 1), gemm(2, 1, 1), gemm(2, 2, 1)):
        search, asked = Search(h, CAPS, default(h, CAPS)), []
        while (s := search.ask()) is not None and len(asked) < 500:
            asked.append(s)
            search.tell(s, 1e-6)
        assert 1 <= len(asked) < 500
        assert len(set(asked)) == len(asked)
        access = AccessPattern(h)
        samples, kernels = sample(access, CAPS, 2000, np.random.default_rng(9)), {distinct(h, s) for s in asked}
        found = {schedule(access, samples, row, CAPS) for row in range(len(samples) if h.rank else 0)}
        assert all(distinct(h, s) in kernels for s in found if is_legal(h, s, CAPS))
        assert search.ask() is None


def test_search_goes_on_where_all_neighbours_of_the_best_were_asked():
    """Those asked first stay the best, but for register tiles that differ from each of them in two dimensions."""
    f = md_hom(lambda x: x + 1, {"i": cc, "j": cc}, "x[j,i] -> y[i,j]")
    h = canonical(f.bind(np.ones((8, 12), np.float32)))
    search, planted, asked = Search(h, CAPS, default(h, CAPS)), (5, 5), []
    while not asked or asked[-1].private_tile != planted:
        s = search.ask()
        assert s is not None
        search.tell(s, 1e-6 if s.private_tile == planted else 1e-3 + 1e-6 * len(asked))
        asked.append(s)
    *others, best = asked
    assert best == search.finalists(1)[0]
    assert all(m != n for s in others[:5] for m, n in zip(s.private_tile, planted, strict=True))


def test_search_of_fused_steps_goes_on_beside_more_than_the_best():
    """There are few schedules of rows, no samples; each of the variants asked for is of one that was measured."""
    h = random_rows(Seeded(1), 64)[0]
    search, asked = Search(h, CAPS, default(h, CAPS)), []
    for n in range(50):
        s = search.ask()
        assert s is not None
        search.tell(s, 1e-3 + 1e-6 * n)
        asked.append(s)
    assert len({distinct(h, s) for s in asked}) == len(asked)
    beside = {v for s in asked[:5] for field in FIELDS for v in variants(h, s, CAPS, field, np.random.default_rng(0))}
    assert {*asked} - beside - {*candidates(h, CAPS)}


def test_search_is_reproducible_by_its_seed():
    h = gemm(256, 256, 256)
    runs = [drive(Search(h, CAPS, default(h, CAPS), seed), 40) for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_search_resumes_from_its_log():
    h = gemm(256, 256, 256)
    first = Search(h, CAPS, default(h, CAPS))
    log = [(s, 1e-3 + n * 1e-6) for n, s in enumerate(drive(first, 30))]
    second = Search(h, CAPS, default(h, CAPS))
    second.resume(log)
    assert second.best is None, "times of another day"
    asked = drive(second, 10)
    assert asked[:5] == [s for s, _ in log[:5]], "the best, after the default"
    assert not {s for s, _ in log} & set(asked[5:])


def test_a_regression_corrects_a_model_that_knows_nothing():
    """The time doubles with the only feature."""
    assert corrected([1.0, 2.0, 4.0, 8.0], np.zeros(5), np.arange(5.0)[:, None]).round(1) == [2.4]


def test_search_finds_what_the_model_does_not_know():
    """The told times reward six rows a register tile; the search must come to propose that."""
    h = gemm(512, 512, 512)
    search = Search(h, CAPS, default(h, CAPS), 0)
    for _ in range(120):
        s = search.ask()
        assert s is not None
        search.tell(s, 1e-3 * (1 + abs(s.private_tile[0] - 5) + abs(s.num_wg[0] - 4)))
    assert search.best is not None
    assert search.best[1] <= 2e-3


def products():
    """Sums of products whose schedules with matrix instructions differ: long and short sums, several dimensions."""
    contraction = md_hom(
        np.multiply, {**dict.fromkeys("fedcba", cc), "g": pw("add")}, "A[b,a,d,g], B[c,g,f,e] -> C[f,e,d,c,b,a]"
    )
    ones = np.ones((24, 16, 16, 24), np.float32)
    doubles = GEMM.bind(np.ones((312, 312)), np.ones((312, 296)))
    return {
        "gemm": gemm(1024, 1024, 1024),
        "long": gemm(64, 64, 32768),
        "float64": canonical(doubles),
        "contraction": canonical(contraction.bind(ones, np.ones((16, 24, 16, 16), np.float32))),
    }


def parts(h, s: Schedule) -> int:
    return prod(s.num_wg[d] for d in h.dims("pw"))


@pytest.mark.parametrize("name", products())
def test_schedules_beside_one_with_matrix_instructions(name):
    """They differ in everything that a tuner should try; the model gives candidates' time."""
    h = products()[name]
    access, plain = AccessPattern(h), default(h, replace(MATRICES, atoms=()))
    reached = set()
    for time, s in islice(matrix_schedules(access, MATRICES, plain), 30):
        if s.stages == 3:
            assert seconds(access, [s], MATRICES)[0] == pytest.approx(time)
        found = {*matrix_neighbours(access, MATRICES, s)} - {s}
        legal = [other for other in found if is_legal(h, other, MATRICES)]
        assert len(legal) >= 0.3 * len(found)
        reached |= {f.name for f in fields(s) for other in legal if getattr(other, f.name) != getattr(s, f.name)}
        reached |= {"parts" for other in legal if parts(h, other) != parts(h, s)}
    assert reached >= {"num_wi", "private_tile", "local_tile", "stages", "parts", "local_copies", "group_order"}


def test_neighbours_with_matrix_instructions_keep_a_second_schedule_that_fits():
    h, kept = products()["long"], 0
    access, plain = AccessPattern(h), default(h, replace(MATRICES, atoms=()))
    for _, s in islice(matrix_schedules(access, MATRICES, plain), 10):
        if (after := combining(h, s)) is None:
            continue
        s = replace(s, second=default(after, MATRICES))
        for other in matrix_neighbours(access, MATRICES, s):
            if is_legal(h, other, MATRICES):
                check_second(h, other, MATRICES)
                kept += other.second == s.second
    assert kept


def aim(h, tile: int, depth: int, stages: int, split: int):
    """A clock of a device that is the faster the nearer a schedule is to a certain one; others are slow."""

    def seconds(s: Schedule) -> float:
        if not s.atom:
            return 4e-3
        *sides, terms = s.atom_dims
        off = [log2(min(s.step(d), h.extents[d]) / tile) for d in sides]
        off += [log2(s.local_tile[terms] / depth), s.stages - stages, log2(parts(h, s) / split)]
        return 1e-3 * (1 + 0.1 * sum(map(abs, off)))

    return seconds


@pytest.mark.parametrize(
    ("name", "aimed"),
    [
        ("gemm", (48, 24, 4, 1)),
        ("gemm", (32, 16, 4, 1)),
        ("long", (48, 24, 3, 64)),
        ("float64", (32, 16, 2, 2)),
        ("contraction", (32, 8, 2, 2)),
    ],
)
def test_search_goes_on_among_schedules_with_matrix_instructions(name, aimed):
    """What the estimate likes best is not the fastest, here; the search gets there all the same, and asks legally."""
    h = products()[name]
    # Those of several subgroups, and in large local memory, have larger tiles than these.
    small = tuple([name for name in MATRICES.atoms if not ATOMS[name].wide])
    caps = replace(MATRICES, local_memory=48 << 10, atoms=small)
    seconds, runs = aim(h, *aimed), []
    for seed, count in ((0, 70), (0, 20), (1, 20)):
        search, asked = Search(h, caps, default(h, caps), seed), []
        for _ in range(count):
            s = search.ask()
            assert s is not None
            check(h, s, caps)
            asked.append(s)
            search.tell(s, None if len(asked) % 11 == 0 else seconds(s))
        assert len(set(asked)) == len(asked)
        runs.append(asked)
        if count > 20:
            assert search.best is not None
            assert search.best[1] <= 1.2e-3
            assert search.best[1] < min(map(seconds, product_candidates(h, caps, 16)))
            assert search.finalists(5)[0].atom
    assert runs[0][:20] == runs[1] != runs[2]


def test_search_resumes_among_schedules_with_matrix_instructions():
    """What was tuned is measured again, and its neighbours come next; nothing else of the log is."""
    h = products()["gemm"]
    seconds, start = aim(h, 32, 32, 2, 1), default(h, MATRICES)
    first = Search(h, MATRICES, start)
    log = []
    for _ in range(50):
        s = first.ask()
        first.tell(s, seconds(s))
        log.append((s, seconds(s)))
    best = first.best[0]
    assert best not in product_candidates(h, MATRICES, 16)
    second = Search(h, MATRICES, start)
    second.resume(log)
    asked = []
    for _ in range(30):
        asked.append(second.ask())
        second.tell(asked[-1], seconds(asked[-1]))
    assert best in asked[:6]
    assert len({s for s, _ in log} & set(asked)) <= 6
    assert {*matrix_neighbours(AccessPattern(h), MATRICES, best)} & {*asked[6:]}


def test_adapt_fits_other_extents():
    big, small = gemm(1024, 1024, 1024), gemm(37, 1024, 50)
    fitted = adapt(small, default(big, CAPS), CAPS)
    assert fitted is not None
    check(small, fitted, CAPS)
    assert fitted.private_tile == default(big, CAPS).private_tile


MALFORMED = {
    "zeros": {"num_wg": (0, 0, 0)},
    "no tiles": {"local_tile": (0, 1, 1)},
    "too few": {"private_tile": (1,)},
    "too many": {"num_wi": (1,) * 4},
    "no order": {"global_order": (0, 0, 9)},
    "no copies": {"local_copies": ()},
    "no axis": {"local_copies": (LocalCopy((0, 1), (7,)), None)},
    "no width": {"vector_width": 3},
    "no dimension": {"vector_dim": 5, "vector_width": 1},
    "second": {"second": replace(Schedule.plain((3, 3), 1), num_wi=(1, 1, 1))},
    "second of second": {
        "second": replace(Schedule.plain((3,), 1), second=replace(Schedule.plain((3,), 1), num_wg=(0,)))
    },
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_schedules_are_illegal_and_not_adapted(device: Device, what: str, monkeypatch, tmp_path):
    h, near = gemm(64, 64, 64), gemm(60, 64, 64)
    bad = replace(Schedule.plain(h.extents, 2), **MALFORMED[what])
    assert not is_legal(h, bad, CAPS)
    assert adapt(near, bad, CAPS) is None
    assert moved(near, bad, h.extents, CAPS) is None
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    for extents in (h.extents, (0, 64, 64)):
        cache().put(
            replace(key_of(h, device), extents=extents), BestSchedule(bad, 1e-5, 3, "2026-01-01T00:00:00Z", str(h))
        )
    assert tuned_for(h, device) is None
    assert similar(h, device) == similar(near, device) == []


def test_a_search_begins_with_what_was_tuned_for_the_nearest_extents(device: Device, monkeypatch, tmp_path):
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    h, near = gemm(61, 67, 71), gemm(62, 68, 72)
    start = default(h, device.caps)
    access = AccessPattern(h)
    beside = neighbours(access, Batch.of([start]), device.caps, 50, np.random.default_rng(0))
    listed = (schedule(access, beside, row, device.caps) for row in range(len(beside)))
    at, usual = h.extents, default(near, device.caps)
    other = next(s for s in listed if is_legal(h, s, device.caps) and moved(near, s, at, device.caps) != usual)
    assert tuned_for(h, device) is None
    assert similar(h, device) == []
    cache().put(key_of(h, device), BestSchedule(other, 1e-5, 3, "2026-01-01T00:00:00Z", str(h)))
    assert tuned_for(h, device) == other
    fitted = moved(near, other, h.extents, device.caps)
    assert fitted is not None
    assert tuned_for(near, device) is None
    assert similar(near, device) == [fitted]
    search = Search(near, device.caps, default(near, device.caps), known=[fitted])
    assert [search.ask(), search.ask()] == [default(near, device.caps), fitted]
    asked = [search.ask() for _ in range(20)]
    assert len({*asked, fitted}) == 21


def test_of_a_chain_what_is_listed_is_chosen_by_what_was_measured() -> None:
    h = blurred(300, 400)

    def order(favour: int) -> list[Schedule]:
        search, found = Search(h, CAPS, default(h, CAPS)), list[Schedule]()
        while len(found) < 30 and (s := search.ask()) is not None:
            found.append(s)
            search.tell(s, 1e-3 * float(s.local_tile[0]) ** favour)
        return found

    assert order(1)[0] == order(-1)[0]
    assert order(1) != order(-1)
