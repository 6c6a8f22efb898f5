"""One order of combination: the same bits by every schedule, on every device; these are pinned."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from matrices import run_in_ir
from schedules import MATRICES
from several import KINDS, cut_always, groups

import mdhnp
from mdhnp.calls.kernels import staged
from mdhnp.calls.store import forget
from mdhnp.distributed import executor
from mdhnp.distributed.choose import choose
from mdhnp.mdh import Computation
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.fixed_order import in_fixed_order, is_fixed
from mdhnp.schedule.gpu import product_candidates
from mdhnp.tuning.search.space import sample, schedule

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((137, 311)).astype(np.float32), RNG.standard_normal((311, 93)).astype(np.float32)
V, D = RNG.standard_normal(300_007).astype(np.float32), RNG.standard_normal(200_001)
C = (RNG.standard_normal((40, 50)) + 1j * RNG.standard_normal((40, 50))).astype(np.complex64)
T = RNG.standard_normal((9, 20_000)).astype(np.float32)
L, M = RNG.standard_normal((41, 1700)), RNG.standard_normal((1700, 35))

#: Calls, and the first digits of a hash of their results.
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "product": (lambda: mdhnp.matmul(A, B), "df6d126232a8"),
    "product of rows": (lambda: mdhnp.einsum("ik,jk->ij", A, A), "d2658ea1af6a"),
    "product of a vector": (lambda: mdhnp.matmul(A, B[:, 0].copy()), "8f1c5ddb25d5"),
    "complex product": (lambda: mdhnp.matmul(C, C.T), "038975ab49b9"),
    "three operands": (lambda: mdhnp.einsum("ij,jk,kl->il", A, B, B.T), "e55e7f97b0f6"),
    "long sums of few results": (lambda: mdhnp.matmul(T, T.T), "f56257a0426b"),
    "product of long rows": (lambda: mdhnp.matmul(L.astype(np.float32), M.astype(np.float32)), "92da1eec64d2"),
    "product of long rows of doubles": (lambda: mdhnp.matmul(L, M), "fa73528b57e5"),
    "sum": (lambda: mdhnp.einsum("i->", V), "01899ae1002e"),
    "dot of doubles": (lambda: mdhnp.dot(D, D), "ac2c148f02fe"),
    "sum of columns": (lambda: mdhnp.einsum("ij->j", A), "f45d45be6b5a"),
    "sums of what is too small": (
        lambda: mdhnp.matmul(np.full_like(B[:, 0], -1e-30), np.full_like(B, 1e-30)),
        "3efddf6dfe90",
    ),
    "mean of all": (lambda: mdhnp.mean(mdhnp.asarray(A)), "0a71c7d79c67"),
    "variance": (lambda: mdhnp.var(mdhnp.asarray(A), axis=1), "27a567d04a09"),
    "norm of a matrix": (lambda: mdhnp.linalg.matrix_norm(A), "bb5d9d024b38"),
    "scan": (lambda: mdhnp.cumulative_sum(mdhnp.asarray(V[:5000])), "b995e88d196f"),
    "stencil": (lambda: mdhnp.stencil(V[:5000], [0.25, 0.5, 0.3]), "ca05ea1cdbde"),
    "fused": (lambda: mdhnp.fuse(lambda a: a / mdhnp.sum(a * a, axis=1, keepdims=True))(A), "812322710653"),
}


#: The same of functions that make several calls.
OF_SEVERAL: dict[str, tuple[Callable[[], Any], str]] = {
    "power of a matrix": (lambda: mdhnp.linalg.matrix_power(A[:, :137] / 16, 5), "ba6145578c13"),
    "largest sum of a row": (lambda: mdhnp.linalg.matrix_norm(A, ord=np.inf), "d5e78160d6f8"),
}


#: Functions of distributed Arrays.
CALLS_OF_ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    "product": mdhnp.matmul,
    "turned": lambda a, b: mdhnp.matmul(b.T, a.T),
    "sums of rows": lambda a, b: mdhnp.sum(a, axis=1),
    "sums of columns": lambda a, b: mdhnp.sum(a, axis=0),
    "sums of turned rows": lambda a, b: mdhnp.sum(a.T, axis=1),
    "every other": lambda a, b: mdhnp.mean(a[:, ::2], axis=1),
}


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    forget()
    with mdhnp.config(deterministic=True, tuning="off"):
        yield
    forget()


def bits(call: Callable[[], Any]) -> str:
    found = call()
    array = found.numpy() if isinstance(found, mdhnp.Array) else np.asarray(found)
    return hashlib.sha256(array.tobytes()).hexdigest()[:12]


@pytest.mark.parametrize("name", CALLS | OF_SEVERAL)
def test_bits_are_those_of_every_device(device: Device, name: str) -> None:
    call, pinned = (CALLS | OF_SEVERAL)[name]
    assert bits(call) == pinned


@pytest.mark.parametrize("name", CALLS)
def test_bits_are_those_of_every_schedule(device: Device, name: str) -> None:
    """Random schedules, as far as the order leaves them free."""
    call, pinned = CALLS[name]
    launches = mdhnp.explain(call).launches
    rng, tried = np.random.default_rng(1), set()
    for _ in range(4):
        chosen = [drawn(h, device, rng) for plan in launches for h in [s.mdhom for s in staged(plan)]]
        tried.add(tuple(chosen))
        with mdhnp.config(schedule=chosen):
            assert bits(call) == pinned
    assert len(tried) > 1 or name in (
        "sum",
        "dot of doubles",
        "mean of all",
        "norm of a matrix",
        "scan",
    )  # which leave nothing free


def drawn(h: Computation, device: Device, rng: np.random.Generator, caps: DeviceCaps | None = None) -> Schedule:
    """A random legal schedule of those that a search looks at, on this device or one with other capabilities."""
    access, caps = AccessPattern(h.last), caps or device.caps
    batch = sample(access, caps, 500, rng)
    for row in rng.permutation(len(batch)):
        found = schedule(access, batch, int(row), caps)
        found = in_fixed_order(h.last, found) if is_fixed(h) else found
        if is_legal(h, found, device.caps):
            return found
    raise AssertionError("no legal schedule")


@pytest.mark.parametrize("name", CALLS)
def test_bits_are_those_of_gpus(device: Device, name: str) -> None:
    """A GPU's default schedules, and random ones, on any device: work-items share tiles, accumulators, and chunks."""
    call, pinned = CALLS[name]
    gpu = replace(device.caps, kind="gpu", compute_units=16, registers=255, local_memory=1 << 15)
    stages = [s.mdhom for plan in mdhnp.explain(call).launches for s in staged(plan)]
    near = [[s for s in islice(candidates(h, gpu), 6) if is_legal(h, s, device.caps)] for h in stages]
    assert all(near)
    rng = np.random.default_rng(1)
    for chosen in [*zip(*near, strict=False), *([drawn(h, device, rng, gpu) for h in stages] for _ in range(8))]:
        with mdhnp.config(schedule=chosen):
            assert bits(call) == pinned, chosen
    assert name == "scan" or any([s.work_items > 1 for found in near for s in found])


@pytest.mark.parametrize("shape", ((16, 24, 528), (33, 19, 37)))
def test_bits_are_those_of_matrix_instructions(shape: tuple[int, int, int], pytestconfig: pytest.Config) -> None:
    """Of float64, whose sums they round as multiply-adds do: run in the IR, for factors with few bits."""
    rows, columns, terms = shape
    a, b = (RNG.standard_normal(s).astype(np.float32).astype(float) for s in ((rows, terms), (terms, columns)))
    expected = mdhnp.matmul(a, b)
    h = mdhnp.explain(mdhnp.matmul, a, b).launches[0].mdhom
    free = product_candidates(replace(h, precision="highest"), MATRICES, 40)[::20]
    whole = [s.at(2, num_wg=1) for s in (*free, *[replace(s, results="global") for s in free])]
    every = dict.fromkeys([in_fixed_order(h, s) for s in (*free, *whole) if s.atom])
    found = [s for s in every if is_legal(h, s, MATRICES)]
    kinds = {(s.results, s.num_wg[2] > 1): s for s in found}
    for s in found if pytestconfig.getoption("--long") else kinds.values():
        assert np.array_equal(run_in_ir(h, [a, b], s, MATRICES)[0], expected), s
    assert kinds.keys() >= (
        {("private", True), ("private", False), ("global", False)} if terms > 512 else {("private", False)}
    )


def test_copies_are_no_larger_than_those_of_any_order(device: Device) -> None:
    """Where a chunk is longer than the tile that is wanted, the other dimensions' tiles are smaller."""
    (stage,) = staged(
        mdhnp.explain(mdhnp.matmul, np.ones((64, 4096), np.float32), np.ones((4096, 4096), np.float32)).launches[0]
    )
    found = default(stage.mdhom, replace(device.caps, kind="cpu", local_memory=1 << 18))
    assert found.work_groups > 1 and found.vector_width > 1


def test_tuning_keeps_the_bits(device: Device, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    (found,) = mdhnp.tune(mdhnp.matmul, A, B, budget=3.0, evaluations=4, progress=False)
    assert found.mdhom.precision == "fixed"
    others_busy = {"hang"} if device.kind == "gpu" else set()
    assert {m.status for m in found.measurements} <= {"ok", "slow"} | others_busy
    assert len(found.measurements) > 1
    assert all(in_fixed_order(found.mdhom, m.schedule) == m.schedule for m in found.measurements)
    assert bits(CALLS["product"][0]) == CALLS["product"][1]


def test_other_orders_are_illegal(device: Device) -> None:
    with mdhnp.config(deterministic=False, host="never"):
        (free,) = mdhnp.explain(mdhnp.matmul, A, B).schedules
    with (
        mdhnp.config(schedule=free.at(2, num_wg=3, local_tile=104)),
        pytest.raises(mdhnp.IllegalSchedule, match=r"config\.deterministic: another order of combination: num_wg "),
    ):
        mdhnp.matmul(A, B)


def test_order_of_products_does_not_depend_on_strides(device: Device) -> None:
    product = mdhnp.matmul(A, B)
    for a in (A, np.asfortranarray(A)):
        for b in (B, np.asfortranarray(B)):
            assert np.array_equal(mdhnp.matmul(a, b), product)
    assert np.array_equal(mdhnp.einsum("ij,jk->ki", A, B).T, product)


def test_chunks_of_columns_are_added_in_turn(device: Device) -> None:
    """Sums of columns, by one term after the other of a chunk, and one chunk after the other."""
    rows = RNG.standard_normal((1000, 40)).astype(np.float32)
    chunks = [rows[n : n + 32].cumsum(axis=0, dtype=np.float32)[-1] for n in range(0, 1000, 32)]
    assert np.array_equal(mdhnp.einsum("ij->j", rows), np.cumsum(chunks, axis=0, dtype=np.float32)[-1])


def test_kernels_compute_by_multiply_adds(device: Device) -> None:
    shown = mdhnp.explain(mdhnp.matmul, A[:3, :3].copy(), B[:3, :3].copy())
    assert shown.launches[0].why == "config.deterministic"
    assert "FP_CONTRACT OFF" in shown.source and "FP_CONTRACT ON" not in shown.source and "fma(" in shown.source
    integers = mdhnp.explain(mdhnp.matmul, np.ones((9, 9), np.int32), np.ones((9, 9), np.int32))
    assert integers.launches[0].mdhom.precision == "highest"  # any order gives the same


@pytest.mark.parametrize("where", groups())
@pytest.mark.parametrize("name", CALLS | OF_SEVERAL)
def test_bits_are_those_of_several_devices(where: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is reduced is on one of them, or each has all that is combined to its results."""
    call, pinned = (CALLS | OF_SEVERAL)[name]
    monkeypatch.setattr(executor, "pays", lambda steps, group: True)
    with cut_always(), mdhnp.device(groups()[where]()):
        assert bits(call) == pinned


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", (0, 1))
@pytest.mark.parametrize("name", CALLS_OF_ARRAYS)
def test_bits_do_not_depend_on_where_arrays_are(kind: str, axis: int, name: str, parts: list[int]) -> None:
    function = CALLS_OF_ARRAYS[name]
    expected = bits(lambda: function(mdhnp.asarray(A), mdhnp.asarray(B)))
    with cut_always(), mdhnp.device(groups()["unlike"]()):
        a, b = (mdhnp.distribute(x, kind, axis, weights=(1, 20)) for x in (A, B))
        assert bits(lambda: function(a, b)) == expected
    assert max(parts) > 1


def test_views_whose_order_depends_on_their_strides_are_to_be_copied(device: Device) -> None:
    """Parts of a view that are brought together lie one element behind the other, and would be added as its copy is."""
    a = np.ascontiguousarray(A.T[:, :3])
    assert bits(lambda: mdhnp.sum(mdhnp.asarray(a)[:, 0])) != bits(lambda: mdhnp.sum(mdhnp.asarray(a[:, 0].copy())))
    with mdhnp.device(groups()["unlike"]()):
        there = mdhnp.distribute(a)
        with pytest.raises(ValueError, match=r"config\.deterministic: .* copy what is a view"):
            mdhnp.sum(there[:, 0])
        copied = bits(lambda: mdhnp.sum(there[:, 0].copy()))
    assert copied == bits(lambda: mdhnp.sum(mdhnp.asarray(a[:, 0].copy())))


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """In how many parts steps were computed."""
    found = list[int]()

    def chosen(*what: Any) -> Any:
        one = choose(*what)
        found.append(len(one.partition.stages[0]))
        return one

    monkeypatch.setattr(executor, "choose", chosen)
    return found
