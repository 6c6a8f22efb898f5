"""Space, search and look-up of the tuner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mdhnp.mdh import canonical, cc, md_hom, ps, pw
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps, LocalCopy, Schedule, check
from mdhnp.schedule.adapt import adapt
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.choices import Facts
from mdhnp.schedule.default import default
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache import tuning_cache as cache_module
from mdhnp.tuning.cache.records import Entry
from mdhnp.tuning.lookup import key_of, tuned_for, untuned_for
from mdhnp.tuning.search.search import Search
from mdhnp.tuning.search.space import neighbours, rows, sample, schedule

CAPS = DeviceCaps("any", "cpu", 2, 64, 32, 1 << 18, 4096, 1 << 15, 1 << 21, True, False, 1 << 32)
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
    facts, rng = Facts(h), np.random.default_rng(0)
    start = default(h, caps)
    samples = sample(facts, caps, 2000, rng)
    beside = neighbours(facts, rows([start]), caps, 300, rng)
    for choices, least in ((samples, 20), (beside, 6)):
        found = [schedule(facts, choices, row, caps) for row in range(0, len(choices), 1 + len(choices) // 100)]
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


def test_search_ends_where_there_is_nothing_to_choose():
    for h in (gemm(1, 1, 1), gemm(2, 1, 1)):
        search, asked = Search(h, CAPS, default(h, CAPS)), []
        while (s := search.ask()) is not None and len(asked) < 500:
            asked.append(s)
            search.tell(s, 1e-6)
        assert 1 <= len(asked) < 500
        assert len(set(asked)) == len(asked)


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


def test_search_finds_what_the_model_does_not_know():
    """The told times reward six rows a register tile; the search must come to propose that."""
    h = gemm(512, 512, 512)
    search = Search(h, CAPS, default(h, CAPS), 1)
    for _ in range(120):
        s = search.ask()
        assert s is not None
        search.tell(s, 1e-3 * (1 + abs(s.private_tile[0] - 5) + abs(s.num_wg[0] - 4)))
    assert search.best is not None
    assert search.best[1] <= 2e-3


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
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    for extents in (h.extents, (0, 64, 64)):
        cache().put(replace(key_of(h, device), extents=extents), Entry(bad, 1e-5, 3, "2026-01-01T00:00:00Z", str(h)))
    assert tuned_for(h, device) is None
    assert untuned_for(h, device) == (default(h, device.caps), "default")
    assert untuned_for(near, device) == (default(near, device.caps), "default")


def test_lookup_takes_the_tuned_then_the_nearest_schedule(device: Device, monkeypatch, tmp_path):
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    h, near = gemm(61, 67, 71), gemm(62, 68, 72)
    start = default(h, device.caps)
    facts = Facts(h)
    beside = neighbours(facts, rows([start]), device.caps, 50, np.random.default_rng(0))
    listed = (schedule(facts, beside, row, device.caps) for row in range(len(beside)))
    other = next(s for s in listed if s != start and is_legal(h, s, device.caps))
    assert tuned_for(h, device) is None
    assert untuned_for(h, device) == (start, "default")
    cache().put(key_of(h, device), Entry(other, 1e-5, 3, "2026-01-01T00:00:00Z", str(h)))
    assert tuned_for(h, device) == other
    fitted = adapt(near, other, device.caps)
    expected = (fitted, "similar") if fitted else (default(near, device.caps), "default")
    assert untuned_for(near, device) == expected
