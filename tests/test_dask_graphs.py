"""Graphs of calls on arrays of dask's: how large they are, where they are cut, and the workers that compute them."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import Task
from dask_arrays import SCAN, WEIGHTS, Array, numbers, softmax
from distributed import Client, LocalCluster
from distributed.spill import SpillBuffer
from tuning_entries import entry, fresh_cache, key

import mdhnp
import mdhnp.dask
from mdhnp.dask import task
from mdhnp.dask.blocks import chosen
from mdhnp.dask.layer import Layer
from mdhnp.dask.plugin import release
from mdhnp.dask.task import BlockTask
from mdhnp.runtime.results import free
from mdhnp.tuning.cache import cache

pytestmark = pytest.mark.usefixtures("in_threads")


# -------------------------------------------------------------------------------------------------- size of the graph


def tasks_of(found: da.Array) -> list[Task]:
    return [t for layer in found.dask.layers.values() for t in layer.values() if isinstance(t, Task)]


#: What is made of so many chunks along each axis.
LARGE: dict[str, Callable[[int], da.Array]] = {
    "stencil": lambda n: mdhnp.dask.stencil(da.ones((50 * n, 50 * n), chunks=50), WEIGHTS, "nearest"),
    "matmul": lambda n: mdhnp.dask.matmul(da.ones((n, 4), chunks=(1, 4)), da.ones((4, n), chunks=(4, 1))),
    "scan": lambda n: mdhnp.dask.md_hom(lambda x: x, {"i": SCAN}, "x[i] -> y[i]")(da.ones(7 * n * n, chunks=7)),
    "sum": lambda n: mdhnp.dask.apply(np.sum, da.ones(7 * n * n, chunks=7)),
}


@pytest.mark.parametrize("name", LARGE)
def test_graphs_of_thousands_of_chunks_are_made_in_linear_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Layer] = []
    monkeypatch.setattr("mdhnp.dask.graph.Layer", lambda: made.append(Layer()) or made[-1])
    monkeypatch.setattr("mdhnp.dask.graph._plans", {})

    def count(n: int) -> tuple[int, int, int]:
        made.clear()
        tasks = [t for t in tasks_of(LARGE[name](n)) if isinstance(t.func, BlockTask)]
        return len(tasks), sum([layer.cuts for layer in made]), len({t.func.work for t in tasks})

    (tasks, cuts, works), (more, more_cuts, more_works) = count(12), count(60)
    assert 3_599 <= more <= 10_810
    assert 24 < more / tasks < 26  # as many as there are more chunks
    assert more_cuts <= cuts + 10 and more_works <= works + 2  # what parts have in common is made once


def test_tasks_are_found_once_and_named_for_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Layer] = []
    monkeypatch.setattr("mdhnp.dask.graph.Layer", lambda: made.append(Layer()) or made[-1])
    monkeypatch.setattr("mdhnp.dask.graph._plans", {})
    monkeypatch.setattr("mdhnp.dask.graph._KEPT", 50)
    a, b = (da.from_array(numbers((40, 60), seed=n), chunks=20) for n in (0, 1))
    first, second = (np.array(x) for x in (a, b))
    for x, y, chunks, want, plans in (
        (a, b, 20, first @ second.T, 1),
        (b, a, 20, second @ first.T, 1),
        (a, a, 20, first @ first.T, 2),  # where one array is both, blocks and slices are read once
        (a, b, 30, first @ second.T, 3),
        (a, b, 20, first @ second.T, 3),
    ):
        found = mdhnp.dask.einsum("ij,kj->ik", x.rechunk(chunks), y.rechunk(chunks))
        np.testing.assert_array_equal(found.compute(), want)
        assert len(made) == plans
    x = da.from_array(numbers((90, 4)), chunks=(1, 4))
    mdhnp.dask.apply(np.negative, x)  # more tasks than are kept
    mdhnp.dask.einsum("ij,kj->ik", a, b)
    assert len(made) == 5


@pytest.mark.parametrize(
    ("subscripts", "chunks", "parts", "others"),
    [
        ("ij,ij->i", (5, 5), 64, 8),  # eight small partial results of each row of blocks, combined at once
        ("ij,ij->", (5, 5), 64, 2 + 1),  # along both dimensions, 32 at a time
        ("ij,jk->ik", (40, 5), 8, 1),
    ],
)
def test_small_partial_results_are_combined_by_few_tasks(subscripts: str, chunks: Any, parts: int, others: int) -> None:
    a, b = numbers((40, 40)), numbers((40, 40), seed=1)
    x, y = da.from_array(a, chunks=chunks), da.from_array(b, chunks=chunks if "k" not in subscripts else chunks[::-1])
    found = mdhnp.dask.einsum(subscripts, x, y)
    assert len([t for t in tasks_of(found) if isinstance(t.func, BlockTask)]) == parts + others
    np.testing.assert_array_equal(found.compute(), np.einsum(subscripts, a, b))


def test_large_partial_results_are_combined_four_at_a_time() -> None:
    x = da.ones((1024, 16), chunks=(1024, 1))
    found = mdhnp.dask.matmul(x, x.T)  # 16 of 8 MB
    assert len([t for t in tasks_of(found) if isinstance(t.func, BlockTask)]) == 16 + 4 + 1


def test_tasks_are_small() -> None:
    found = mdhnp.dask.stencil(da.ones((5000, 5000), chunks=500), WEIGHTS, "nearest")
    calls = [t.func for t in tasks_of(found) if isinstance(t.func, BlockTask)]
    assert len(calls) == 100
    assert max([len(pickle.dumps(c)) for c in calls]) < 2048
    assert len(pickle.dumps(calls)) < 100 * 256  # equal ones are told once
    again = pickle.loads(pickle.dumps(calls))
    assert [c.work for c in again] == [c.work for c in calls]  # the same objects, which have entries among calls


def test_halos_travel_without_their_blocks() -> None:
    found = mdhnp.dask.stencil(da.ones((2000, 2000), chunks=500), WEIGHTS, "constant")
    slices = [t for t in tasks_of(found) if t.key[0].startswith("stencil-slice")]
    assert len(slices) == 2 * 2 * 12 + 4 * 9  # of each border between blocks two rows, of each corner four elements
    read = [np.prod([end - begin for begin, end in t.args[1]]) for t in slices]
    assert sum(read) == 2 * 2 * 12 * 500 + 4 * 9


# ------------------------------------------------------------------------------------------------- where cuts are made

A, B = np.ones((1000, 1000), "f4"), np.ones((1000, 1000), "f4")
PRODUCT = mdhnp.md_hom(
    np.multiply, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("add")}, "A[i,k], B[k,j] -> C[i,j]"
).bind(A, B)  # fmt: skip
PAIRS = mdhnp.md_hom(np.multiply, {"i": mdhnp.cc, "j": mdhnp.cc}, "A[i,j], B[i,j] -> C[i,j]").bind(A, B)


def every(step: int) -> tuple[int, ...]:
    return tuple(range(step, 1000, step))


def test_chunks_that_agree_are_kept() -> None:
    assert chosen(PRODUCT, [(every(100), every(50)), (every(50), every(500))], 1 << 30) == (
        every(100), every(500), every(50),
    )  # fmt: skip


def test_whole_rows_beside_whole_columns_are_not_cut_to_elements() -> None:
    found = chosen(PAIRS, [(every(1), ()), ((), every(1))], 1 << 20)
    assert found in ((every(1), ()), ((), every(1)))
    assert chosen(PAIRS, [(every(500), ()), ((), every(500))], 1 << 20) == (every(500), every(500))  # nothing moves


def test_parts_do_not_outgrow_the_largest_block() -> None:
    assert chosen(PAIRS, [(every(100), ()), ((), ())], 400_000)[0] == every(100)


@pytest.mark.parametrize("rows", [700, 3000, (1, 2999), (0, 1200, 1800)])
def test_rows_stay_in_one_task(rows: Any) -> None:
    a = np.random.default_rng(0).standard_normal((3000, 80), np.float32)
    found = mdhnp.dask.apply(softmax, da.from_array(a, chunks=(rows, 80)))
    np.testing.assert_allclose(found.compute(), softmax(a), rtol=1e-5)
    calls = [t for t in tasks_of(found) if isinstance(t.func, BlockTask)]
    assert len(calls) == found.npartitions or 1 in found.chunks[0]  # one row is no rows


def test_equal_calls_have_equal_names_and_others_other_ones() -> None:
    x = da.ones((4, 4), chunks=2)
    first, same, other = (mdhnp.dask.stencil(x, np.ones((3, 3)), m) for m in ("wrap", "wrap", "nearest"))
    assert first.name == same.name != other.name
    a, b = da.ones((6, 9), chunks=(1, 9)), da.ones((6, 9), chunks=(6, 1))
    names = set()
    for size in ("1B", "1GiB"):  # of which the second allows larger chunks
        with dask.config.set({"array.chunk-size": size}):
            made = mdhnp.dask.apply(np.add, a, b)
            names.add((made.name, made.chunks))
    assert len({name for name, _ in names}) == len(names) == 2


# ------------------------------------------------------------------------------------------------------------- workers


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """Two processes."""
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GiB") as made,
        Client(made) as client,
    ):
        yield client


def test_workers_compute_although_one_is_killed(cluster: Client) -> None:
    a, b = numbers((400, 300)), numbers((300, 350))
    x, y = da.from_array(a, chunks=(57, 100)), da.from_array(b, chunks=(100, 60))
    slow = x.map_blocks(_slowly, dtype=x.dtype)
    product, scan = (
        cluster.compute(f)
        for f in (mdhnp.dask.matmul(slow, y), mdhnp.dask.md_hom(lambda v: v, {"i": SCAN}, "x[i] -> y[i]")(slow[:, 0]))
    )
    processes = cluster.run(os.getpid)
    while not any(cluster.run(_computed).values()):  # in the middle
        time.sleep(0.01)
    os.kill(next(iter(processes.values())), signal.SIGKILL)
    np.testing.assert_array_equal(product.result(timeout=60), a @ b)
    np.testing.assert_array_equal(scan.result(timeout=60), a[:, 0].cumsum())
    cluster.wait_for_workers(2, timeout=60)
    assert set(cluster.run(os.getpid).values()) != set(processes.values())


def _slowly(block: Array) -> Array:
    time.sleep(0.02)
    return block


def _computed(dask_worker: Any) -> bool:
    return any(["matmul" in str(key) for key in dask_worker.data])


def test_workers_get_tuned_schedules_and_give_back_theirs(
    cluster: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.run(_elsewhere, str(tmp_path))
    for tuned in fresh_cache(tmp_path, monkeypatch):
        tuned.put(key(1, 2, 3), entry())
        cluster.register_plugin(mdhnp.dask.Plugin(devices=["cpu"]))
        assert cluster.run(_entries) == dict.fromkeys(cluster.run(os.getpid), 1)
        cluster.run(_tune)
        assert mdhnp.dask.collect(cluster) == 2
        assert len(tuned.entries()) == 3
        assert set(cluster.run(_place).values()) == {"cpu"}
        x = da.from_array(numbers((20, 20)), chunks=7)
        np.testing.assert_array_equal(cluster.compute(mdhnp.dask.matmul(x, x)).result(timeout=60), x @ x)


def _elsewhere(folder: str) -> None:
    os.environ["MDHNP_CACHE_DIR"] = f"{folder}/{os.getpid()}"


def _entries() -> int:
    return len(cache().entries())


def _tune() -> None:
    cache().put(key(1, 2, os.getpid()), entry())


def _place() -> Any:
    return task._device[0]


def test_a_worker_s_resources_name_its_device() -> None:
    plugin = mdhnp.dask.Plugin(devices=("0", "1"))
    assert [plugin.device_of(name, {}) for name in (0, 1, 2, "other")] == ["0", "1", "0", None]
    assert plugin.device_of(1, {"memory": 1e9, "device:gpu": 1}) == "gpu"
    assert mdhnp.dask.Plugin().device_of(0, {}) is None


def test_blocks_spill_to_disk_and_come_back(tmp_path: Path) -> None:
    blocks = SpillBuffer(str(tmp_path), target=1 << 20)
    made = mdhnp.dask.matmul(da.ones((1500, 8), chunks=(500, 8)), da.ones((8, 1500)))
    blocks.update({key: block.compute() for key, block in enumerate(made.to_delayed().ravel())})
    assert len(blocks.disk) >= 2  # of 6 MB each
    assert all([np.array_equal(blocks[key], np.full((500, 1500), 8.0)) for key in (0, 1, 2)])


def test_memory_kept_for_results_is_given_back() -> None:
    a = np.ones((2000, 2000))
    with mdhnp.config(host="never"):
        assert mdhnp.matmul(a, a).shape == a.shape
    assert free() > 0
    release()
    assert free() == 0
