"""Calls on arrays of dask's: the values of NumPy's however arrays are chunked, by threads and by processes."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import Task
from distributed import Client, LocalCluster
from distributed.spill import SpillBuffer
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tuning_entries import entry, fresh_cache, key

import mdhnp
import mdhnp.dask
from mdhnp.dask import task
from mdhnp.dask.layer import Layer
from mdhnp.dask.plugin import release
from mdhnp.dask.sizes import chosen
from mdhnp.dask.task import Call, Work, place
from mdhnp.mdh import interpret
from mdhnp.runtime.results import free
from mdhnp.tuning.cache import cache

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

Array = np.ndarray[Any, Any]

MODES = ("valid", "constant", "nearest", "reflect", "mirror", "wrap")


@pytest.fixture(autouse=True)
def in_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the settings a user has, since parts are computed by other threads, and two of these."""
    monkeypatch.setattr(mdhnp.config, "host", "auto")
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are evaluated by definition, where it is graphs that are tested: there are too many kernels."""

    def compute(self: Work, arrays: list[Array]) -> Any:
        for v, a in zip(self.mdhom.inputs, arrays, strict=True):
            assert (v.shape, v.dtype) == (a.shape, a.dtype)
        return interpret(self.mdhom, *arrays)

    monkeypatch.setattr(Work, "compute", compute)


def numbers(shape: tuple[int, ...], dtype: Any = "i8", seed: int = 0) -> Array:
    found = np.random.default_rng([seed, *shape]).integers(-4, 5, shape)
    return found % 2 == 0 if dtype == "?" else found.astype(dtype)


def results(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def assert_same(found: Any, want: Any) -> None:
    """Assert that arrays of dask's have the values, shapes and types of others; sums of integers are exact."""
    for got, exact in zip(results(found), results(want), strict=True):
        assert isinstance(got, da.Array)
        value = got.compute()
        assert (value.dtype, value.shape) == (np.asarray(exact).dtype, np.shape(exact)) == (got.dtype, got.shape)
        np.testing.assert_array_equal(value, exact)


# ------------------------------------------------------------------------------------------------------ random chunks


def better(p: Any, q: Any) -> Any:
    take = q[0] > p[0]
    return np.where(take, q[0], p[0]), np.where(take, q[1], p[1])


FIRST_LARGEST = mdhnp.pw(better, commutative=False, check=False)
AFFINE = mdhnp.ps(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), commutative=False, name="affine")
SCAN = mdhnp.ps("add")


def _softmax(x: Any) -> Any:
    """Of zeros in most tests, so that its values are exact."""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


#: What is called, on arrays of these shapes.
CALLS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    **{
        f"einsum {subscripts}": (lambda *a, s=subscripts: mdhnp.einsum(s, *a), shapes)
        for subscripts, shapes in {
            "ij,jk->ik": ((7, 6), (6, 5)),
            "ij,jk->ki": ((7, 6), (6, 5)),
            "ij,jk->": ((7, 6), (6, 5)),
            "ij,jk,kl->il": ((4, 6), (6, 5), (5, 3)),
            "aij,ajk->aik": ((3, 4, 5), (3, 5, 2)),
            "ii->i": ((6, 6),),
            "ii": ((6, 6),),
            "ij->ji": ((7, 6),),
            "ij->": ((7, 6),),
            "ij,ij->ij": ((7, 6), (7, 6)),
            "i,j": ((9,), (8,)),
            "...j,j": ((3, 4, 5), (5,)),
            "ij,jk": ((7, 1), (6, 5)),
        }.items()
    },
    "matmul": (mdhnp.matmul, ((2, 5, 6), (6, 4))),
    "dot": (mdhnp.dot, ((11,), (11,))),
    "tensordot": (lambda a, b: mdhnp.tensordot(a, b, ([0, 1], [1, 0])), ((4, 5, 3), (5, 4, 2))),
    **{f"stencil {mode}": (lambda a, m=mode: mdhnp.stencil(a, WEIGHTS, m), ((9, 7),)) for mode in MODES},
    **{
        f"neighbours {mode}": (lambda a, m=mode: mdhnp.stencil(a, lambda n: n[-2, 0] - n[1, 3], m), ((9, 7),))
        for mode in MODES
    },
    "scan": (mdhnp.md_hom(lambda x: x, {"i": SCAN}, "x[i] -> y[i]"), ((17,),)),
    "table": (mdhnp.md_hom(lambda x: x, {"i": SCAN, "j": SCAN}, "x[i,j] -> y[i,j]"), ((7, 6),)),
    "sums of a scan": (mdhnp.md_hom(lambda x: x, {"i": SCAN, "j": mdhnp.pw("add")}, "x[i,j] -> y[i]"), ((7, 6),)),
    "affine scan": (
        mdhnp.md_hom(lambda x, z: (x, z), {"i": AFFINE, "j": mdhnp.cc}, "x[i,j], z[i,j] -> y[i,j], w[i,j]"),
        ((7, 4), (7, 4)),
    ),
    "first largest": (
        mdhnp.md_hom(
            lambda x: (x, mdhnp.index(0)), {"i": FIRST_LARGEST, "j": mdhnp.cc}, "x[i,j] -> y[j], z[j]",
        ), ((9, 5),),
    ),
    "backwards": (partial(mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc}, "x[-i+8] -> y[i]"), i=9), ((9,),)),
    "written backwards": (mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc}, "x[i] -> y[-i+8]"), ((9,),)),
    "every other": (mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc}, "x[2*i+1] -> y[i]"), ((12,),)),
    "convolution": (
        mdhnp.md_hom(np.multiply, {"p": mdhnp.cc, "r": mdhnp.pw("add")}, "x[p+r], w[r] -> y[p]"), ((14,), (3,)),
    ),
    "nested": (
        mdhnp.md_hom(
            lambda x: x, {"i": mdhnp.pw("max"), "j": mdhnp.pw("add"), "k": mdhnp.cc}, "x[i,j,k] -> y[k]", nested=True,
        ), ((4, 5, 3),),
    ),
    "finished": (
        mdhnp.md_hom(
            lambda x, _: x, {"i": mdhnp.pw("add")}, "x[i], x[0] -> y[]", finish=lambda total, _, first: total - first,
        ), ((13,),),
    ),
    "fused": (mdhnp.fuse(lambda a, b: ((a - b) * 2 - a.max(axis=0, keepdims=True), (a + b).sum())), ((7, 6), (7, 6))),
    "softmax": (mdhnp.fuse(lambda a: _softmax(a * 0.0)), ((9, 6),)),
    "attention": (mdhnp.fuse(lambda q, k, v: _softmax((q @ k.T) * 0.0) @ v), ((9, 3), (4, 3), (4, 2))),
    "rows": (mdhnp.fuse(lambda a: (a - a.max(axis=1, keepdims=True)).sum(axis=1)), ((7, 6),)),
    "views": (mdhnp.fuse(lambda a: (a.T, (a + 1)[2:4, ::-1], a.reshape(3, 14), a[:, 0])), ((7, 6),)),
}  # fmt: skip
WEIGHTS = np.arange(9).reshape(3, 3)


@st.composite
def chunks(draw: Any, extent: int) -> tuple[int, ...]:
    """Sizes of chunks that make an extent: any, some of them 0."""
    ends = draw(st.lists(st.integers(0, extent), max_size=4))
    return tuple(np.diff([0, *sorted(ends), extent]).tolist())


@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
@settings(max_examples=12)
def test_results_are_those_of_whole_arrays(interpreted: None, name: str, data: Any) -> None:
    function, shapes = CALLS[name]
    arrays = [numbers(shape, seed=n) for n, shape in enumerate(shapes)]
    cut = [da.from_array(a, chunks=tuple([data.draw(chunks(n)) for n in a.shape])) for a in arrays]
    note(f"{[a.chunks for a in cut]}")
    assert_same(mdhnp.dask.apply(function, *cut), function(*arrays))


@pytest.mark.parametrize("name", CALLS)
def test_chunks_of_one_element(interpreted: None, name: str) -> None:
    function, shapes = CALLS[name]
    arrays = [numbers(shape, seed=n) for n, shape in enumerate(shapes)]
    found, want = mdhnp.dask.apply(function, *[da.from_array(a, chunks=1) for a in arrays]), function(*arrays)
    for got, exact in zip(results(found), results(want), strict=True):
        np.testing.assert_array_equal(got.compute(), exact)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_numpy_computes_parts_of_all_types(dtype: str) -> None:
    a, b = numbers((9, 8), dtype), numbers((8, 7), dtype, 1)
    x, y = da.from_array(a, chunks=((2, 0, 7), (3, 5))), da.from_array(b, chunks=(4, 3))
    assert_same(mdhnp.dask.einsum("ij,jk->ik", x, y), np.einsum("ij,jk->ik", a, b))
    total = mdhnp.md_hom(lambda v: v, {"i": mdhnp.pw("or" if dtype == "?" else "add")}, "x[i] -> y[]")
    assert_same(mdhnp.dask.apply(total, x[:, 1]), interpret(total.bind(a[:, 1]), a[:, 1]))


@pytest.mark.parametrize("name", ["einsum ij,jk->ki", "stencil wrap", "first largest", "affine scan", "rows"])
def test_kernels_compute_parts(name: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdhnp.config, "host", "never")
    function, shapes = CALLS[name]
    arrays = [np.asfortranarray(numbers(shape, "i4", n)) for n, shape in enumerate(shapes)]
    place(device)
    try:
        found = mdhnp.dask.apply(function, *[da.from_array(a, chunks=5) for a in arrays])
        assert_same(found, function(*arrays))
    finally:
        place(None)


def test_calls_have_the_names_of_the_package_s() -> None:
    a, b = numbers((6, 8)), numbers((8, 7))
    x, y = da.from_array(a, chunks=3), da.from_array(b, chunks=3)
    assert_same(mdhnp.dask.einsum("ij,jk", x, y), a @ b)
    assert_same(mdhnp.dask.matmul(x, y), a @ b)
    assert_same(mdhnp.dask.matmul(x, b), a @ b)  # an ndarray goes to all parts
    assert_same(mdhnp.dask.tensordot(x, y, axes=1), a @ b)
    assert_same(mdhnp.dask.dot(x, y), a @ b)
    assert_same(mdhnp.dask.stencil(x, WEIGHTS, mode="wrap"), mdhnp.stencil(a, WEIGHTS, mode="wrap"))
    assert_same(mdhnp.dask.fuse(lambda p: {"twice": 2 * p})(x)["twice"], 2 * a)
    assert_same(mdhnp.dask.matmul(x, y, semiring=mdhnp.semiring.min_plus), (a[:, :, None] + b).min(axis=1))


@pytest.mark.parametrize("rows", [700, 3000, (1, 2999), (0, 1200, 1800)])
def test_rows_stay_in_one_task(rows: Any) -> None:
    a = np.random.default_rng(0).standard_normal((3000, 80), np.float32)
    found = mdhnp.dask.apply(_softmax, da.from_array(a, chunks=(rows, 80)))
    np.testing.assert_allclose(found.compute(), _softmax(a), rtol=1e-5)
    calls = [t for t in tasks_of(found) if isinstance(t.func, Call)]
    assert len(calls) == found.npartitions or 1 in found.chunks[0]  # one row is no rows


def test_nothing_to_compute() -> None:
    a, b = numbers((3, 0)), numbers((0, 4))
    assert_same(mdhnp.dask.matmul(da.from_array(a), da.from_array(b, chunks=2)), a @ b)
    assert_same(mdhnp.dask.matmul(da.from_array(b), da.from_array(numbers((4, 2)))), b @ numbers((4, 2)))


def test_equal_calls_have_equal_names_and_others_other_ones() -> None:
    x = da.ones((4, 4), chunks=2)
    first, same, other = (mdhnp.dask.stencil(x, np.ones((3, 3)), m) for m in ("wrap", "wrap", "nearest"))
    assert first.name == same.name != other.name


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
def test_graphs_of_ten_thousand_chunks_are_made_in_linear_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Layer] = []
    monkeypatch.setattr("mdhnp.dask.graph.Layer", lambda name: made.append(Layer(name)) or made[-1])

    def count(n: int) -> tuple[int, int, int]:
        made.clear()
        tasks = [t for t in tasks_of(LARGE[name](n)) if isinstance(t.func, Call)]
        return len(tasks), sum([layer.cuts for layer in made]), len({t.func.work for t in tasks})

    (tasks, cuts, works), (more, more_cuts, more_works) = count(20), count(100)
    assert 9_999 <= more <= 30_010
    assert 24 < more / tasks < 26  # as many as there are more chunks
    assert more_cuts <= cuts + 10 and more_works <= works + 2  # what parts have in common is made once


def test_tasks_are_small() -> None:
    found = mdhnp.dask.stencil(da.ones((5000, 5000), chunks=500), WEIGHTS, "nearest")
    calls = [t.func for t in tasks_of(found) if isinstance(t.func, Call)]
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


# -------------------------------------------------------------------------------------------------------------- errors

UNKNOWN = da.ones(9, chunks=3)[da.arange(9, chunks=3) > 4]
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "unknown sizes": (
        lambda: mdhnp.dask.dot(da.ones(9, chunks=3), UNKNOWN), ValueError, "dot: operand 1 has chunks of unknown sizes",
    ),
    "another dtype": (
        lambda: mdhnp.dask.matmul(da.ones((2, 2), dtype="f8"), da.from_array(np.array([["a", "b"]] * 2))), TypeError,
        "matmul: operand 1 has dtype <U1",
    ),
    "no dask array": (lambda: mdhnp.dask.matmul(A, B), TypeError, "matmul: no argument is a dask array"),
    "another collection": (
        lambda: mdhnp.dask.matmul(dask.delayed(A), da.ones((2, 2))), TypeError, "matmul: a DelayedLeaf is no dask",
    ),
    "other blocks": (
        lambda: mdhnp.dask.dot(da.ma.masked_equal(da.ones(3), 1), da.ones(3)), TypeError,
        "dot: operand 0 has blocks that are MaskedArray",
    ),
    "shapes": (lambda: mdhnp.dask.matmul(da.ones((2, 3)), da.ones((2, 3))), ValueError, "matmul"),
    "values": (lambda: mdhnp.dask.apply(lambda a: a if a[0] > 0 else -a, da.ones(3)), TypeError, "elements"),
    "chunks": (lambda: mdhnp.dask.prl({}, {}, m=0.9, chunks=(0, 1)), ValueError, r"chunks: \(0, 1\) are not two"),
    "devices": (lambda: mdhnp.dask.Plugin("cpu"), TypeError, "devices: 'cpu' is one name"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_computed_is_refused(name: str) -> None:
    function, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        function()


def test_blocks_that_are_no_ndarrays_are_refused() -> None:
    lists = da.ones(4, chunks=2).map_blocks(lambda block: block.tolist(), meta=np.ones(0))
    with pytest.raises(TypeError, match="a block is a list, not an ndarray"):
        mdhnp.dask.apply(np.sum, lists).compute()


# ------------------------------------------------------------------------------------------------------------- records


def test_records_are_linked_as_at_once() -> None:
    rng = np.random.default_rng(0)
    new, existing = ({f: rng.integers(0, 40, n) for f in ("name", "town")} for n in (50, 90))
    what: Any = {"m": {"name": 0.95, "town": 0.9}, "thresholds": (0, 8)}
    near = what | {"weights": {"town": (3, -1)}, "similarity": {"town": lambda a, b: np.maximum(0, 1 - abs(a - b) / 9)}}
    for options in (what, near, what | {"blocking": ["name"], "thresholds": (1, 8)}):
        for sizes in ((7, 90), (50, 11), (13, 17)):
            links = mdhnp.dask.prl(new, existing, chunks=sizes, **options)
            assert_same(tuple(links), tuple(mdhnp.prl(new, existing, **options)))
            assert links.index.chunks[0][0] == sizes[0]
    given_in_blocks = {f: da.from_array(column, chunks=9) for f, column in new.items()}
    assert_same(tuple(mdhnp.dask.prl(given_in_blocks, existing, **what)), tuple(mdhnp.prl(new, existing, **what)))
    none = {f: column[:0] for f, column in existing.items()}
    assert_same(tuple(mdhnp.dask.prl(new, none, **what)), tuple(mdhnp.prl(new, none, **what)))


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
