"""Processes before OpenCL is loaded: NumPy computes, and what loads it, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiers import (
    program,
    result,
)

from mdhnp.calls import loading
from mdhnp.runtime.private import TABLES


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))


def test_small_calls_do_not_load_opencl() -> None:
    code = """
for _ in range(100):
    mdhnp.matmul(A[:4], A[:4].T), mdhnp.einsum("ij,kj->ik", A[:4], A[:5]), mdhnp.dot(A[0], A[1])
report()
"""
    assert result(program(code)) == {"opencl": False, "hosted": {"matmul": 100, "einsum": 100, "dot": 100}}


@pytest.mark.parametrize("what", ["mdhnp.stencil(A, np.ones((2, 2), np.float32), 'nearest')", "least(A)"])
def test_what_numpy_has_no_function_for_loads_opencl_at_once(what: str) -> None:
    code = f"""
dims = {{"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}}
least = mdhnp.md_hom(np.add, dims, "A[i,k], A[j,k] -> B[i,j]")
{what}
report()
"""
    found = result(program(code))
    assert found.pop("compiled") >= 1  # more, where several devices are compared
    assert found == {"opencl": True, "hosted": {}}


def test_fused_functions_begin_as_they_are_written() -> None:
    """Though rules make one pass of a softmax's maximum and sum, which NumPy has no function for."""
    code = """
def softmax(a):
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
right = bool(np.allclose(mdhnp.fuse(softmax)(A), softmax(A)))
report(right=right)
"""
    found = result(program(code))
    assert found.pop("hosted")
    assert found == {"opencl": False, "right": True}


def test_what_calls_cost_before_opencl_is_loaded_counts() -> None:
    code = """
from mdhnp.calls.loading import load
from mdhnp.calls.store import entries
a = np.tile(A, (9, 1))  # of which each call is noted
for n in range(4):
    mdhnp.matmul(a, a.T)
    if n == 2:
        load()
_, now = entries.values()
report(calls=now.watcher.spent.calls)
"""
    assert result(program(code))["calls"] == 4


def test_the_helper_is_ready_when_opencl_is_loaded() -> None:
    code = """
from mdhnp.calls import loading
from mdhnp.tuning import background
loading.LOADING = 0.0
mdhnp.matmul(A, A.T)
background.wait()
report(helper=background._helper._process is not None, loaded=len(loading.devices()) > 0)
"""
    found = result(program(code))
    assert (found["helper"], found["loaded"]) == (True, True)


def test_the_call_that_loads_opencl_is_found_again() -> None:
    code = """
from mdhnp.calls.store import entries
counts = []
with mdhnp.config(host="never"):
    for _ in range(3):
        mdhnp.matmul(A, A.T)
        counts.append(len(entries))
report(counts=counts)
"""
    assert result(program(code))["counts"] == [1, 1, 1]


def test_tuning_caches_of_other_versions_load_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    (tmp_path / f"tuning-{TABLES - 1}.sqlite").touch()
    assert loading.Unloaded().price == loading.LOADING
    (tmp_path / f"tuning-{TABLES}.sqlite").touch()
    assert loading.Unloaded().price == 0.0


def test_without_devices_numpy_computes_and_one_warning_says_so(tmp_path: Path) -> None:
    """A tuning cache is there, so that OpenCL is looked for at once."""
    (tmp_path / "cache").mkdir(exist_ok=True)
    (tmp_path / "cache" / f"tuning-{TABLES}.sqlite").touch()
    code = """
from mdhnp.tuning import background
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(5):
        right = np.array_equal(mdhnp.matmul(A, A.T), A @ A.T)
        background.wait()
kernels = []
for setting in ({"host": "never"}, {"specialise": "always"}):
    with mdhnp.config(**setting):
        try:
            mdhnp.matmul(A, A.T)
            kernels.append("computed")
        except mdhnp.NoDeviceError as error:
            kernels.append("nonsense" in str(error))
report(right=right, said=[str(w.message)[:40] for w in caught], kernels=kernels)
"""
    found = result(program(code, MDHNP_DEVICE="nonsense"))
    assert found["right"]
    assert found["hosted"]["matmul"] == 5
    assert found["said"] == ["NumPy computes all calls that it can, si"]
    assert found["kernels"][0] is True
