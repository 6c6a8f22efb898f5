"""All pairs in fused functions: reductions of what is computed of two rows each, without an array of all pairs."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from guards import unwritten
from ir_run import run
from ir_walk import walk_all
from running import lowered
from schedules import MATRICES

import mdhnp
from mdhnp.codegen import generate, procedures
from mdhnp.runtime.handle import Device
from mdhnp.schedule import gpu
from mdhnp.schedule.default import default

#: Enough that pairs are more than elements of rows.
ROWS, COLUMNS = 150, 170


def squares(x: Any, y: Any) -> Any:
    return ((x[:, None] - y) ** 2).sum(axis=2)


def log_sum_exp(d: Any) -> Any:
    largest = d.max(axis=1, keepdims=True)
    return np.log(np.exp(d - largest).sum(axis=1)) + largest[:, 0]


REDUCTIONS = {
    "sum": lambda x, y, w: np.exp(-squares(x, y)) @ w,
    "two sums": lambda x, y, w: ((k := np.exp(-squares(x, y))).sum(axis=1), (k * w).sum(axis=1)),
    "product of rows": lambda x, y, w: np.tanh(x @ y.T) @ w,
    "log-sum-exp": lambda x, y, w: log_sum_exp(-squares(x, y)),
    "least": lambda x, y, w: squares(x, y).min(axis=1),
    "place of the least": lambda x, y, w: squares(x, y).argmin(axis=1),
    "greatest gap": lambda x, y, w: np.abs(x[:, None] - y).max(axis=2).max(axis=1),
    "of columns": lambda x, y, w: np.sqrt(squares(x, y)).sum(axis=0),
}
CASES = [
    *[(name, 3, dtype) for name in REDUCTIONS for dtype in (np.float32, np.float64)],
    *[(name, d, np.float32) for name in ("sum", "place of the least") for d in (2, 5, 17, 64)],
]


def several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize(("name", "length", "dtype"), CASES)
def test_pairs_are_reduced_in_one_kernel(name: str, length: int, dtype: Any, device: Device) -> None:
    rng, function = np.random.default_rng(length), REDUCTIONS[name]
    x, y, w = rng.random((ROWS, length)), rng.random((COLUMNS, length)), rng.standard_normal(COLUMNS)
    given = [a.astype(dtype) for a in (x, y, w)]
    fused = mdhnp.fuse(function)
    assert len(fused.rewriting(*given).after.steps) == 1
    with mdhnp.config(host="never"):
        found = several(fused(*given))
    wanted = several(function(*[a.astype(np.float64) for a in given]))
    for f, v, n in zip(found, wanted, several(function(*given)), strict=True):
        assert (f.shape, f.dtype) == (n.shape, n.dtype)
        tolerance = 2e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(f, v, rtol=tolerance, atol=tolerance * np.abs(v).max())


@pytest.mark.parametrize("length", [1, 3])
def test_of_equal_distances_the_first_counts_and_nan_before_all(length: int, device: Device) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 3, (n, length)).astype(np.float32) for n in (ROWS, COLUMNS))
    x[7, 0] = y[100, 0] = y[120, -1] = np.nan
    fused = mdhnp.fuse(lambda x, y: squares(x, y).argmin(axis=1))
    for given in ((x, y[:100]), (x, y)):
        with mdhnp.config(host="never"):
            np.testing.assert_array_equal(fused(*given), squares(*given).argmin(axis=1))


def test_a_million_rows_of_64_elements_are_traced() -> None:
    """Whose differences, 256 TB, would have no addresses in a process."""
    x = np.broadcast_to(np.float32(0), (10**6, 64))
    (step,) = mdhnp.fuse(REDUCTIONS["sum"]).rewriting(x, x, x[:, 0]).after.steps
    assert step.mdhom.extents == (10**6, 10**6)


LARGE = """
import resource, sys
import numpy as np, mdhnp
x = np.random.default_rng(0).random((int(sys.argv[1]), 3), np.float32)
fused = mdhnp.fuse(lambda x, y: ((x[:, None] - y) ** 2).sum(axis=2).argmin(axis=1))
if sys.argv[2] == "kernels":
    mdhnp.config.host = "never"
    fused(x[:400], x[:400])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert (fused(x, x) == np.arange(len(x))).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts kB on Linux")
@pytest.mark.parametrize("first", ["kernels", "whoever is chosen"])
def test_no_array_of_all_pairs_is_made(first: str) -> None:
    """Nor by NumPy, before kernels are built."""
    ran = subprocess.run([sys.executable, "-c", LARGE, "20000", first], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 400_000  # of 1.6 GB


@pytest.mark.parametrize(
    ("name", "rows", "others", "length"),
    [("gauss", 37, 101, 3), ("smallest", 41, 70, 8), ("gauss", 7, 13, 2), ("smallest", 64, 96, 4)],
)
def test_work_items_hold_rows_and_share_others(
    name: str, rows: int, others: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On GPUs, where there are many; here tiles are so small that procedures have several."""
    for constant, value in (("_PAIRED", 0), ("_ITEMS", 4), ("_TILE", 32)):
        monkeypatch.setattr(gpu, constant, value)
    of = {
        "gauss": lambda x, y, w: np.exp(-((x[:, None] - y) ** 2).sum(axis=2) / 99) @ w,
        "smallest": lambda x, y, w: ((x[:, None] - y) ** 2).sum(axis=2).min(axis=1),
    }[name]
    rng = np.random.default_rng(3)
    x, y, w = (rng.integers(0, 9, s).astype("f4") for s in ((rows, length), (others, length), (others,)))
    (step,) = mdhnp.fuse(of).rewriting(x, y, w).after.steps
    arrays, stages = [(x, y, w)[p] for p in step.inputs], lowered(step.mdhom)
    used = [default(stage.mdhom, MATRICES) for stage in stages]
    assert [c is not None for c in used[0].local_copies] == [v.depends_on(1) for v in stages[0].mdhom.inputs]
    assert used[0].num_wi == (4, 1)
    program, built = generate(stages, used, MATRICES, default), procedures(stages, used, MATRICES, default)
    walk_all(program, built, stages, steps=10**7)
    outputs = [unwritten(v.shape, v.dtype) for v in step.mdhom.outputs]
    run(program, built, arrays, outputs)
    want = of(x.astype("f8"), y.astype("f8"), w.astype("f8"))
    np.testing.assert_allclose(outputs[-1], want, 2e-6)
