"""What calls were measured to take: kept, shared, shipped, and made ahead of time by `prepare`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tiers import own_helper
from tuning_entries import key, script

import mdhnp
from mdhnp import config
from mdhnp.calls import build, kernels
from mdhnp.calls import prepare as preparing
from mdhnp.calls import programs as records
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import ByNumpy, Kernels, Leaf
from mdhnp.calls.store import forget
from mdhnp.frontend import ndimage
from mdhnp.runtime import binaries, programs
from mdhnp.runtime.devices import Device
from mdhnp.runtime.programs import compiled
from mdhnp.tuning import times
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.times import KERNELS, NUMPY, measured, remember

pytestmark = pytest.mark.usefixtures("binaries_on_disk")

A = np.arange(37 * 38, dtype=np.float32).reshape(37, 38) % 5
SUM = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "A[i,j] -> B[i]").bind(A)


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(times, "_devices", {})
    forget()
    with config(host="auto", tuning="off"):
        yield from own_helper(monkeypatch)
    forget()


def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know no more than another process would."""
    monkeypatch.setattr(times, "_devices", {})
    forget()


def product() -> Leaf:
    with observe() as seen:
        np.testing.assert_array_equal(mdhnp.matmul(A, A.T), A @ A.T)
    return seen[0][0]


def test_times_are_kept_and_newer_ones_take_their_place(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dict(measured(SUM, device)) == {}
    remember(SUM, device, {KERNELS: 1e-3, NUMPY: 2e-3})
    remember(SUM, device, {KERNELS: 3e-3})
    for _ in range(2):
        assert dict(measured(SUM, device)) == {KERNELS: 3e-3, NUMPY: 2e-3}
        anew(monkeypatch)


def test_another_process_finds_them() -> None:
    cache().set_times(key(1, 2, 3), {KERNELS: 1e-3, NUMPY: 2e-3})
    cache().set_times(key(4, 5, 6, device="b"), {KERNELS: 1e-3})
    other = script("print(sorted(cache().times(sys.argv[1]).items()))", "this device")
    assert other.communicate(timeout=60)[0].strip() == repr([(key(1, 2, 3), {KERNELS: 1e-3, NUMPY: 2e-3})])


def test_exported_times_come_back_but_not_in_place_of_own_ones(tmp_path: Path) -> None:
    for n in (1, 2):
        cache().set_times(key(n), {KERNELS: n * 1e-3, NUMPY: 5e-3})
    cache().export(tmp_path / "w.json")
    other = TuningCache(tmp_path / "other.sqlite")
    other.set_times(key(1), {KERNELS: 9e-3})
    other.import_(tmp_path / "w.json")
    assert other.times() == {key(1): {KERNELS: 9e-3}, key(2): {KERNELS: 2e-3, NUMPY: 5e-3}}


BAD: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda time: time.pop("key"), "key: not an object: missing"),
    (lambda time: time.update(seconds=[1.0]), "seconds: not an object"),
    (lambda time: time["seconds"].update(kernels="fast"), "seconds: kernels: not a number"),
    (lambda time: time["seconds"].update(kernels=True), "seconds: kernels: not a number"),
    (lambda time: time["seconds"].update(kernels=10**400), "seconds: kernels: not a number"),
    (lambda time: time["seconds"].update(kernels=-1.0), "seconds: kernels: -1.0 is no time"),
    (lambda time: time["seconds"].update(kernels=float("inf")), "seconds: kernels: inf is no time"),
]


@pytest.mark.parametrize(("change", "complaint"), BAD)
def test_one_bad_time_keeps_a_file_out(
    change: Callable[[dict[str, Any]], object], complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "w.json"
    for n in (1, 2, 3):
        cache().set_times(key(n), {KERNELS: 1e-3})
    cache().export(file)
    content = json.loads(file.read_text())
    change(content["times"][1])
    file.write_text(json.dumps(content))
    other = TuningCache(tmp_path / "other.sqlite")
    with pytest.raises(ValueError, match=r"w\.json: time 1: ") as caught:
        other.import_(file)
    assert complaint in str(caught.value)
    assert other.times() == {}


@pytest.mark.parametrize("damage", ["'fast'", "-1.0", "0", "9e999", "x'00'"])
def test_damaged_rows_count_as_absent(damage: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(SUM, device, {KERNELS: 1e-3, NUMPY: 2e-3})
    cache().close()
    with closing(sqlite3.connect(cache().path)) as db, db:
        db.execute("PRAGMA ignore_check_constraints = 1")
        db.execute(f"UPDATE records SET content = {damage} WHERE kind = 'time' AND name = ?", (KERNELS,))
    anew(monkeypatch)
    assert dict(measured(SUM, device)) == {NUMPY: 2e-3}


KNOWN: list[tuple[dict[str, float], type[Leaf], str]] = [
    ({KERNELS: 1e-6, NUMPY: 2e-6}, Kernels, "measured: NumPy 2.0 µs, kernels 1.0 µs"),
    ({KERNELS: 2e-6, NUMPY: 1e-6}, ByNumpy, "measured: NumPy 1.0 µs, kernels 2.0 µs"),
    ({KERNELS: 1e-6, NUMPY: 1e-6}, ByNumpy, "measured: NumPy 1.0 µs, kernels 1.0 µs"),
    ({KERNELS: 1e-6, "numpy 0.1": 2e-6}, ByNumpy, "no kernel was built for it yet"),
    ({KERNELS: 1e-6}, ByNumpy, "no kernel was built for it yet"),
]


@pytest.mark.parametrize(("known", "kind", "why"), KNOWN)
def test_first_calls_begin_with_what_is_known_to_be_faster(
    device: Device, known: dict[str, float], kind: type[Leaf], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "compare", lambda *_: None)
    (ready,) = mdhnp.prepare(mdhnp.matmul, A, A.T)  # so that there is nothing to compile
    remember(ready.mdhom, device, known)
    anew(monkeypatch)
    before = compiled()
    plan = product()
    assert (type(plan), plan.why) == (kind, why)
    assert compiled() == before


def test_kernels_that_were_faster_but_are_not_compiled_here_are_said_to_be_so(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are imported with schedules, kernels are not."""
    monkeypatch.setattr(preparing, "compare", lambda *_: None)
    (ready,) = mdhnp.prepare(mdhnp.matmul, A, A.T)
    remember(ready.mdhom, device, {KERNELS: 1e-6, NUMPY: 2e-6})
    anew(monkeypatch)
    monkeypatch.setattr(kernels, "ready", lambda *_: None)
    plan = product()
    assert isinstance(plan, ByNumpy)
    assert plan.why == "measured: NumPy 2.0 µs, kernels 1.0 µs; those are not compiled here yet"


@pytest.mark.parametrize(
    ("faked", "faster", "kind"), [((1e-6, 2e-6), "kernels", Kernels), ((2e-6, 1e-6), "NumPy", ByNumpy)]
)
def test_prepare_measures_and_later_calls_begin_with_the_faster(
    device: Device, faked: tuple[float, float], faster: str, kind: type[Leaf], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "compare", lambda *arguments: build.compare(*arguments) and faked)
    (ready,) = mdhnp.prepare(mdhnp.matmul, A, A.T)
    assert (ready.device, ready.seconds, ready.numpy_seconds) == (device, *faked)
    assert str(ready).endswith(f"{faster} on {device.name}")
    assert dict(measured(ready.mdhom, device)) == {KERNELS: faked[0], NUMPY: faked[1]}
    anew(monkeypatch)
    before = compiled()
    assert type(product()) is kind
    assert compiled() == before
    assert f", measured {faked[0] * 1e6:.1f} µs" in mdhnp.explain(mdhnp.matmul, A, A.T).summary


Q = np.random.default_rng(0).standard_normal((2, 64, 64), dtype=np.float32)
SPARSE = sp.csr_array(A * (A > 3))
#: Calls that bring a function of the host's, which is none of NumPy's for what they compute.
OWN: dict[str, tuple[Any, ...]] = {
    "attention": (mdhnp.attention, Q, Q, Q, None, None, True),
    "attention, Arrays": (lambda q: mdhnp.attention(*[mdhnp.asarray(q)] * 3), Q),
    "sparse": (mdhnp.matmul, SPARSE, A.T),
    "sparse, Arrays": (lambda a, b: mdhnp.matmul(a, mdhnp.asarray(b)), SPARSE, A.T),
    "indices": (mdhnp.take, A, np.array([36, -1, 5]), 0),
    "weights": (ndimage.uniform_filter, A, 3),
}


@pytest.mark.parametrize("call", OWN.values(), ids=OWN)
@pytest.mark.parametrize(("faked", "kind"), [((1e-6, 2e-6), Kernels), ((2e-6, 1e-6), ByNumpy)])
def test_calls_that_bring_a_function_are_measured_beside_that(
    device: Device, call: tuple[Any, ...], faked: tuple[float, float], kind: type[Leaf], monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.own_memory and any([name.endswith("Arrays") and call is made for name, made in OWN.items()]):
        pytest.skip("NumPy computes nothing there")
    monkeypatch.setattr(preparing, "compare", lambda *arguments: build.compare(*arguments) and faked)
    ready = mdhnp.prepare(*call)
    assert {(r.seconds, r.numpy_seconds) for r in ready} == {faked}
    anew(monkeypatch)
    with observe() as seen:
        call[0](*call[1:])
    assert {(type(plan), plan.why) for plan, _ in seen} == {
        (kind, f"measured: NumPy {faked[1] * 1e6:.1f} µs, kernels {faked[0] * 1e6:.1f} µs")
    }


def test_prepare_has_binaries_kept_that_only_the_helper_asks_for(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "UNASKED", (device.runtime,))
    (ready,) = mdhnp.prepare(mdhnp.matmul, A, A.T)
    kept = records.read(ready.mdhom, device)
    assert kept is not None
    assert binaries.has(programs._key(device, kept[1].source))


def test_prepare_where_numpy_has_no_function(device: Device) -> None:
    shortest = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")
    for call in ((shortest, A, A.T), (mdhnp.stencil, A, np.ones((2, 2), np.float32), "nearest")):
        (ready,) = mdhnp.prepare(*call)
        assert (ready.seconds, ready.numpy_seconds) == (None, None)
        assert str(ready).endswith(f": kernels on {device.name}")
    assert cache().times() == {}
    before = compiled()
    with config(specialise="always"):
        np.testing.assert_array_equal(shortest(A, A.T), (A[:, None] + A).min(2))
    assert compiled() == before


def test_prepare_says_where_kernels_are_wrong(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "is_close", lambda *_: False)
    with pytest.raises(RuntimeError, match=r"prepare: .*the kernels' result differs from NumPy's"):
        mdhnp.prepare(mdhnp.matmul, A, A.T)
    assert cache().times() == {}


def test_prepare_of_several_computations(device: Device) -> None:
    ready = mdhnp.prepare(lambda: [mdhnp.matmul(A, A.T), mdhnp.dot(A[0], A[1]), mdhnp.matmul(A, A.T)])
    assert len(ready) == len(cache().times()) == 2


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ((np.matmul, A, A.T), "calls no function of this package"),
        ((mdhnp.sort, A), "calls no function of this package that has such kernels"),
        ((mdhnp.matmul, A[:0], A.T), "an extent is 0"),
        ((mdhnp.dot, A[0].astype(np.longdouble), A[1]), "dot of such operands is left to NumPy"),
        ((lambda: mdhnp.sort(mdhnp.asarray(A * 1j)),), "the host computes numpy.sort"),
    ],
)
@pytest.mark.parametrize("ready", [mdhnp.prepare, partial(mdhnp.tune, budget=1.0)])
def test_what_kernels_do_not_compute_is_a_warning_that_says_why(
    ready: Any, call: tuple[Any, ...], why: str, device: Device
) -> None:
    with (
        config(fallback="numpy"),
        pytest.warns(RuntimeWarning, match=f"the call has no kernels with schedules: .*{why}") as said,
    ):
        assert ready(*call) == ()
    assert said[0].filename == __file__
