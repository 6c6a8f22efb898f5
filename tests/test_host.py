"""NumPy's functions in place of kernels: with the same results, said so, and where estimates alone decide."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp import config
from mdhnp.calls import candidates
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import ByNumpy
from mdhnp.calls.store import entries, forget
from mdhnp.cost import NumpyRates, first_pair, usual
from mdhnp.mdh.subscripts import subscripts
from mdhnp.runtime.devices import Device
from mdhnp.runtime.private import TABLES
from mdhnp.tuning import times
from mdhnp.tuning.cache import cache
from mdhnp.tuning.measure import machine
from mdhnp.tuning.measure.machine import machine_of

#: A device that begins after a millisecond, beside a NumPy like any: all small calls are NumPy's.
NUMPY = NumpyRates(1e-6, 5e10, 2.5e10, 5e10, 2.5e10, 1e9, 1e9, 1e9, 1e9, 4e10, 3e10, 4e9)
SLOW = replace(usual("cpu", 2), launch=1e-3, numpy=NUMPY)
#: One that begins at once, beside a NumPy that does not.
QUICK = replace(SLOW, launch=1e-9, numpy=replace(NUMPY, call=1e-5))


@pytest.fixture(autouse=True)
def auto(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let NumPy compute, with costs that do not depend on the machine."""
    monkeypatch.setattr(candidates, "machine_of", lambda device, **_: SLOW)
    forget()
    with config(host="auto"):
        yield
    forget()


def seen(function: Any, *arguments: Any, **keywords: Any) -> tuple[Any, list[bool]]:
    """Give a call's result, and whether NumPy computed it, for each MDH."""
    with observe() as plans:
        found = function(*arguments, **keywords)
    return found, [isinstance(plan, ByNumpy) for plan, _ in plans]


RNG = np.random.default_rng(0)
DTYPES = [np.dtype(t) for t in ("?", "i1", "u2", "i4", "u8", "f4", "f8")]
EINSUMS = {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "ij,jk->ki": ((3, 4), (4, 5)),
    "ij,kj->ik": ((3, 4), (5, 4)),
    "ji,jk": ((4, 3), (4, 5)),
    "ji,kj->ki": ((4, 3), (5, 4)),
    "ij,j->i": ((3, 4), (4,)),
    "j,ji->i": ((4,), (4, 3)),
    "i,i->": ((4,), (4,)),
    "i,j->ji": ((4,), (3,)),
    "ij,ij->": ((3, 4), (3, 4)),
    "ij,ij->ji": ((3, 4), (3, 4)),
    "ij,ik->": ((3, 4), (3, 5)),
    "ii,ij->j": ((3, 3), (3, 4)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "ii->i": ((3, 3),),
    "ij->ji": ((3, 4),),
    "ij->": ((3, 4),),
    "ij,jk,kl->il": ((3, 4), (4, 5), (5, 2)),
}


def arrays(shapes: Any, dtypes: Any) -> list[Any]:
    return [RNG.integers(0, 4, s).astype(t) for s, t in zip(shapes, dtypes, strict=False)]


@pytest.mark.parametrize("text", EINSUMS)
def test_einsums_are_numpys(text: str) -> None:
    for first in DTYPES:
        for second in DTYPES:
            operands = arrays(EINSUMS[text], (first, second, first))
            expected = np.einsum(text, *operands)
            for _ in range(2):
                found, hosts = seen(mdhnp.einsum, text, *operands)
                assert hosts
                assert all(hosts)
                assert (found.shape, found.dtype, type(found)) == (expected.shape, expected.dtype, type(expected))
                assert found.flags.c_contiguous
                assert not any(np.may_share_memory(found, operand) for operand in operands)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_sums_and_products_of_numbers_as_booleans(name: str) -> None:
    a = RNG.integers(-2, 3, (5, 7)).astype(np.float32)
    found, hosts = seen(getattr(mdhnp, name), a, axis=1, dtype=np.bool_)
    assert hosts == [True]
    np.testing.assert_array_equal(found, getattr(np, name)(a, axis=1, dtype=np.bool_), strict=True)


def test_strided_unaligned_and_read_only_operands() -> None:
    a = np.arange(48, dtype=np.float32).reshape(6, 8)
    odd = np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float32).reshape(6, 8)
    assert not odd.flags.aligned
    for x in (a[::2, ::-2], a.T[:4, :3], np.broadcast_to(a[0, :4], (3, 4)), odd[:3, :4]):
        for _ in range(2):
            np.testing.assert_array_equal(mdhnp.matmul(x, x.T), np.matmul(x, x.T))


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (mdhnp.matmul, ((3, 4), (4, 5))), (mdhnp.matmul, ((2, 3, 4), (2, 4, 5))), (mdhnp.matmul, ((4,), (4,))),
        (mdhnp.dot, ((3, 4), (4, 5))), (mdhnp.dot, ((4,), (4,))), (mdhnp.gemv, ((3, 4), (4,))),
        (mdhnp.gemm, ((3, 4), (4, 5))),
    ],
)  # fmt: skip
def test_products_are_numpys_and_counted(function: Any, shapes: Any) -> None:
    a, b = arrays(shapes, ("f4", "f4"))
    before = mdhnp.host_counts().get(function.__name__, 0)
    for _ in range(3):
        found, hosts = seen(function, a, b)
        assert hosts == [True]
        np.testing.assert_array_equal(found, np.matmul(a, b))
        assert type(found) is type(np.matmul(a, b))
        function(a, b)
    assert mdhnp.host_counts()[function.__name__] - before == 6


def test_what_numpy_has_no_function_for_runs_on_the_device(device: Device) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    dims = {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}
    shortest = mdhnp.md_hom(np.add, dims, "A[i,k], B[j,k] -> C[i,j]")
    repeated = mdhnp.md_hom(np.multiply, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "A[i], B[i] -> C[i]")
    calls = [
        (lambda: shortest(a, a), (a[:, None] + a).min(axis=2)),
        (lambda: repeated(a[0], a[0], j=3), 3 * a[0] ** 2),
        (lambda: mdhnp.gemm(a, a.T, alpha=2), 2 * a @ a.T),
        (lambda: mdhnp.matmul(a, a.T, dtype=np.float64), a.astype(float) @ a.T),
    ]
    for call, expected in calls:
        found, hosts = seen(call)
        assert hosts == [False]
        np.testing.assert_array_equal(found, expected)


def test_a_plain_sum_of_products_is_recognized_whoever_wrote_it() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    product = mdhnp.md_hom(
        np.multiply, {"i": mdhnp.cc, "k": mdhnp.pw("add"), "j": mdhnp.cc}, "A[i,k], B[k,j] -> C[j,i]"
    )
    assert subscripts(product.bind(a, a.T)) == "ab,bc->ca"
    found, hosts = seen(product, a, a.T)
    assert hosts == [True]
    np.testing.assert_array_equal(found, (a @ a.T).T)


def test_settings_decide_and_both_ways_are_kept(device: Device) -> None:
    a = np.ones((3, 3), np.float32)
    for _ in range(2):
        for setting, hosted in (("auto", True), ("never", False)):
            with config(host=setting):
                found, hosts = seen(mdhnp.matmul, a, a)
                assert hosts == [hosted]
                np.testing.assert_array_equal(found, 3)
                np.testing.assert_array_equal(mdhnp.matmul(a, a), 3)
    assert len(entries) == 2


def test_large_calls_and_quick_devices_are_not_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    with config(specialise="always"):  # estimates decide
        h = {n: mdhnp.explain(mdhnp.matmul, *[np.ones((n, n), np.int32)] * 2) for n in (4, 400)}
    assert [isinstance(h[n].launches[0], ByNumpy) for n in (4, 400)] == [True, False]
    monkeypatch.setattr(candidates, "machine_of", lambda device, **_: QUICK)
    found = candidates.choose(h[4].launches[0].mdhom, h[4].launches[0].devices)
    assert found[0].device is not None
    assert [c.seconds for c in found] == sorted(c.seconds for c in found)


@pytest.mark.parametrize("faster", [True, False])
def test_kernels_that_were_measured_to_be_faster_overrule_estimates(device: Device, faster: bool) -> None:
    a = np.ones((4 + faster,) * 2, np.int32)
    with config(specialise="always"):
        explained = mdhnp.explain(mdhnp.matmul, a, a)
        assert isinstance(explained.launches[0], ByNumpy)  # by estimate
        times.remember(explained.launches[0].mdhom, device, {times.KERNELS: 1.0, times.NUMPY: 2.0 if faster else 0.5})
        forget()
        assert isinstance(mdhnp.explain(mdhnp.matmul, a, a).launches[0], ByNumpy) is not faster


@pytest.mark.parametrize(
    ("text", "shapes", "hosted"),
    [
        ("ij,jk->ik", ((10, 64), (64, 500)), True),
        ("ij,kj->ik", ((10, 64), (500, 64)), False),
        ("ij,kj->ki", ((500, 64), (10, 64)), False),
        ("ij,jk->ki", ((500, 64), (64, 10)), False),
        ("ji,jk->ik", ((64, 10), (64, 500)), True),
        ("ij,jk->ik", ((100, 64), (64, 1)), True),
        ("ij,kj->ik", ((256, 100), (16, 100)), True),
        ("ij,j->i", ((100, 64), (64,)), True),
    ],
)
def test_products_that_take_numpy_longer_are_kernels(
    monkeypatch: pytest.MonkeyPatch, text: str, shapes: Any, hosted: bool
) -> None:
    monkeypatch.setattr(candidates, "machine_of", lambda device, **_: replace(SLOW, launch=1e-5))
    operands = [np.ones(shape, np.float32) for shape in shapes]
    with config(specialise="always"):
        found, hosts = seen(mdhnp.einsum, text, *operands)
    assert hosts == [hosted]
    np.testing.assert_array_equal(found, np.einsum(text, *operands))


def test_explain_says_so() -> None:
    text = str(mdhnp.explain(mdhnp.matmul, np.ones((3, 3)), np.ones((3, 3))))
    assert "candidate numpy.dot: about 1.0 µs, at least 1.0 µs\ncandidate " in text
    assert " µs\nbecause   no kernel was built for it yet\ncomputed  by NumPy: numpy.dot\n" in text
    text = str(mdhnp.explain(mdhnp.einsum, "ij->", np.ones((3, 3))))
    assert 'numpy.einsum("ab->")' in text


def test_tune_tunes_kernels() -> None:
    a = np.ones((4, 4), np.float32)
    assert len(mdhnp.tune(mdhnp.matmul, a, a, budget=0.5, evaluations=1, progress=False)) == 1


def test_threads_agree() -> None:
    a, found = np.ones((5, 5)), []
    threads = [threading.Thread(target=lambda: found.append(mdhnp.matmul(a, a))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((f == 5).all() for f in found)
    assert len(found) == 8


def test_small_calls_are_measured_by_three_processes_and_the_best_is_kept(
    device: Device, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is disturbed by other work, the third one in one number."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    quick = {"launch": 1e-6, "numpy": {"call": 2e-7, "loop": 5e9}}
    slow = {"launch": 9e-6, "numpy": {"call": 9e-7, "loop": 1e9}}
    found = [slow, {**quick, "launch": 2e-6}, {**slow, "launch": 1e-6}, quick]
    monkeypatch.setitem(machine._MEASURES, "small", lambda _: found.pop(0))
    seen = []
    for _ in range(5):
        monkeypatch.setattr(machine, "_known", {})
        for _ in range(2):
            known = machine_of(device)
        seen.append((known.launch, known.numpy.call, known.numpy.loop))
    assert seen == [(9e-6, 9e-7, 1e9), (2e-6, 2e-7, 5e9), *[(1e-6, 2e-7, 5e9)] * 3]
    assert len(found) == 1


def test_costs_are_measured_once_and_kept(device: Device, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine, "_known", {})
    monkeypatch.setattr(machine, "_PROCESSES", 1)
    measured: list[Any] = []
    original = machine._measure_small
    monkeypatch.setitem(machine._MEASURES, "small", lambda d: measured.append(original(d)) or measured[-1])
    first = machine_of(device)
    assert first.launch > first.numpy.call > 0
    assert min(first.numpy.float32, first.numpy.float64) > 0
    assert machine_of(device) == first
    machine._known.clear()
    assert machine_of(device) == first
    assert len(measured) == 1
    cache().close()
    bad = ('"x"', "0.0", "-1", "NaN", "1" + "0" * 400)
    for damaged in ("", "[]", '{"launch": 1}', *(f'{{"small": {{"launch": {each}, "numpy": {{}}}}}}' for each in bad)):
        with sqlite3.connect(cache().path) as db:
            db.execute("UPDATE records SET content = ? WHERE kind = 'machine'", (damaged,))
        db.close()
        machine._known.clear()
        machine_of(device)
    assert len(measured) == 9
    assert cache().machine(device.identity)
    cache().clear()
    assert not cache().machine(device.identity)


def test_a_short_program_ends_in_silence(tmp_path: Path) -> None:
    """Though OpenCL is being loaded, since there are schedules for it, when it ends."""
    script = "import numpy as np, mdhnp; a = np.ones((300, 300), np.float32); mdhnp.matmul(a, a)"
    (tmp_path / f"tuning-{TABLES}.sqlite").touch()
    for _ in range(2):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MDHNP_")} | {
            "MDHNP_CACHE_DIR": str(tmp_path)
        }
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""


@pytest.mark.parametrize(
    ("terms", "output", "sizes", "pair"),
    [
        ("ab,bc,cd", "ad", (10, 1000, 20, 500), (0, 1)),
        ("ab,bc,cd,de", "ae", (1000, 2, 1000, 2, 1000), (1, 2)),
        ("ab,bc,cd,de", "ae", (2, 900, 800, 700, 600), (0, 1)),
        ("ab,cd,bc,d", "a", (300, 300, 300, 300), (1, 3)),  # a vector first
        ("a,b,ab", "b", (500, 500), (0, 2)),  # two without a common label last
    ],
)
def test_the_first_pair_is_that_of_the_fewest_operations(
    terms: str, output: str, sizes: tuple[int, ...], pair: tuple[int, int]
) -> None:
    assert first_pair(terms.split(","), output, dict(zip("abcde", sizes, strict=False))) == pair
