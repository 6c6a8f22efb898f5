"""Space, search, worker and look-up of the tuner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mdhnp
from mdhnp.mdh import canonical, cc, md_hom, pw
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps, Schedule, check
from mdhnp.schedule.adapt import adapt
from mdhnp.schedule.choices import Facts, complete
from mdhnp.schedule.default import default
from mdhnp.tuning import worker as worker_module
from mdhnp.tuning.cache import cache
from mdhnp.tuning.lookup import key_of, schedule_for
from mdhnp.tuning.records import Entry
from mdhnp.tuning.search import Search
from mdhnp.tuning.space import neighbour, sample
from mdhnp.tuning.worker import Task, Worker

CAPS = DeviceCaps("any", "cpu", 2, 64, 32, 1 << 18, 4096, 1 << 15, 1 << 21, True, False, 1 << 32)
GPU = replace(
    CAPS, kind="gpu", compute_units=100, vector_bytes=16, registers=255, local_memory=49152, max_work_group=1024
)

GEMM = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")


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
    }


@pytest.mark.parametrize("name", stages())
def test_samples_and_neighbours_are_legal(name):
    h = stages()[name]
    facts, rng = Facts(h), np.random.default_rng(0)
    choices = sample(facts, CAPS, 500, rng)
    assert len(choices) > 50
    for row in range(0, len(choices), 10):
        check(h, complete(facts, choices, row), CAPS)
    for caps in (CAPS, GPU):
        start = default(h, caps)
        found = [s for s in (neighbour(facts, start, caps, rng) for _ in range(100)) if s is not None]
        assert len(set(found)) > 5
        assert start not in found
        for s in found:
            check(h, s, caps)


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
    assert second.best == (log[0][0], 1e-3)
    assert second.ask() not in {s for s, _ in log}


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


def test_lookup_takes_the_tuned_then_the_nearest_schedule(device: Device):
    h, near = gemm(61, 67, 71), gemm(62, 68, 72)
    start = default(h, device.caps)
    other = next(
        s
        for s in (neighbour(Facts(h), start, device.caps, np.random.default_rng(n)) for n in range(50))
        if s is not None
    )
    assert schedule_for(h, device) == start
    cache().put(key_of(h, device), Entry(other, 1e-5, 3, "2026-01-01T00:00:00Z", str(h)))
    assert schedule_for(h, device) == other
    assert schedule_for(near, device) == (adapt(near, other, device.caps) or default(near, device.caps))


@pytest.mark.parametrize(
    ("answer", "status"), [("wrong", "wrong"), ("build", "build"), ("hang", "hang"), ("die", "crash")]
)
def test_worker_survives_bad_candidates(device: Device, monkeypatch, answer: str, status: str):
    h = gemm(33, 35, 37)
    start = default(h, device.caps)
    monkeypatch.setenv("MDHNP_TEST_CANDIDATE", answer)
    with Worker(Task(h, device.identity, start), limit=20.0 if answer != "hang" else 8.0) as worker:
        monkeypatch.setattr(worker_module, "_serve", _serve_badly)
        assert worker.measure(start, None).status == status
        monkeypatch.undo()
        # A worker that died is started anew, without the trouble.
        assert worker.measure(start, None).status == ("ok" if status in ("hang", "crash") else status)


def _serve_badly(pipe, task):
    """Stand in for the worker's loop: a bench whose plans misbehave."""
    import os
    import time

    answer = os.environ["MDHNP_TEST_CANDIDATE"]
    bench = worker_module._Bench(task)
    if answer == "wrong":
        bench.right = [r + 1 for r in bench.right]
    elif answer == "build":
        bench._built.clear()
        worker_module.generate = lambda *_: replace(_program(task), source="this is no OpenCL C")
    elif answer == "hang":
        bench._plan = lambda schedule: time.sleep(3600)
    elif answer == "die":
        bench._plan = lambda schedule: os.kill(os.getpid(), 9)
    pipe.send(None)
    while True:
        pipe.send(bench.measure(*pipe.recv()))


def _program(task):
    from mdhnp.codegen import generate
    from mdhnp.mdh import Argument, Stage

    h = task.mdhom
    inputs = tuple(Argument("input", n) for n in range(len(h.inputs)))
    outputs = tuple(Argument("output", n) for n in range(len(h.outputs)))
    return generate([Stage(h, inputs, outputs)], [task.reference], CAPS, default)


def test_tune_leaves_the_arrays_alone_and_is_used_afterwards(device: Device):
    rng = np.random.default_rng(0)
    a, b = rng.random((40, 50), np.float32), rng.random((50, 60), np.float32)
    before = a.copy(), b.copy()
    (found,) = mdhnp.tune(mdhnp.matmul, a, b, budget=20.0, evaluations=4, progress=False)
    assert np.array_equal(a, before[0])
    assert np.array_equal(b, before[1])
    assert 1 <= len(found.measurements) <= 4
    assert found.measurements[0].status == "ok"
    assert mdhnp.explain(mdhnp.matmul, a, b).launches[0].schedules == (found.schedule,)
    assert np.allclose(mdhnp.matmul(a, b), a @ b, rtol=1e-5)
    again = mdhnp.tune(mdhnp.matmul, a, b, budget=20.0, evaluations=2, progress=False)
    assert len(cache().measurements(key_of(found.mdhom, device))) == len(found.measurements) + len(
        again[0].measurements
    )


def test_a_stage_claimed_elsewhere_is_not_tuned_twice(device: Device):
    a = np.ones((20, 30), np.float32)
    h = canonical(mdhnp.explain(mdhnp.matmul, a, a.T).launches[0].mdhom)
    key = key_of(h, device)
    owner = cache().claim(key)
    try:
        assert mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=2, progress=False) == ()
    finally:
        cache().release(key, owner)
