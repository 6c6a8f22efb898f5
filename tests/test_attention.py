"""`attention` is its formula, in float64, whatever computes it."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mdhnp
from examples import pairwise
from mdhnp.frontend import attention as module

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

#: Of types, how near results are.
NEAR = {"f2": 2e-3, "f4": 1e-5, "f8": 1e-12}
#: Leading axes of queries, and of keys and values; queries, keys, features, features of values.
SHAPES = [
    ((), (), 5, 9, 4, 3), ((2,), (2,), 70, 300, 16, 16), ((2, 2), (2, 2), 33, 131, 32, 20),
    ((2, 3), (2, 1), 64, 80, 16, 16), ((), (2,), 200, 257, 64, 64), ((1,), (1,), 1, 1000, 8, 8),
    ((1, 3), (1, 1), 40, 150, 16, 16),
]  # fmt: skip


def _formula(
    q: Any, k: Any, v: Any, mask: Any = None, scale: float | None = None, causal: bool = False
) -> np.ndarray[Any, Any]:
    q, k, v = (x.astype("f8") for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return powers @ v / powers.sum(axis=-1, keepdims=True)


def _operands(shape: Any, dtype: str) -> tuple[list[Any], np.random.Generator]:
    of_q, of_k, n, m, d, e = shape
    rng = np.random.default_rng(n + m)
    return [rng.normal(size=s).astype(dtype) for s in ((*of_q, n, d), (*of_k, m, d), (*of_k, m, e))], rng


def _options(shape: Any, dtype: str, rng: np.random.Generator) -> list[dict[str, Any]]:
    of_q, of_k, n, m, *_ = shape
    batch = np.broadcast_shapes(of_q, of_k)
    some = rng.random((n, m)) > 0.4
    some[n // 2] = False  # nothing counts for one
    bias = rng.normal(size=(m,)).astype(dtype)
    each = rng.random((*batch, n, m)) > 0.3
    return [{}, {"causal": True}, {"mask": some}, {"mask": bias, "scale": 0.3}, {"mask": each, "causal": True}]


@pytest.mark.parametrize(("shape", "dtype", "how"), pairwise(SHAPES, NEAR, range(5)))
def test_by_kernels(device: Device, shape: Any, dtype: str, how: int) -> None:
    arrays, rng = _operands(shape, dtype)
    options = _options(shape, dtype, rng)[how]
    with mdhnp.config(host="never"):
        found = mdhnp.attention(*arrays, **options)
    assert found.dtype == arrays[0].dtype
    np.testing.assert_allclose(found, _formula(*arrays, **options), rtol=0, atol=NEAR[dtype])


@pytest.mark.filterwarnings("ignore:invalid value")  # as NumPy warns of rows in which nothing counts
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_by_numpy(shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in blocks of a few queries."""
    arrays, rng = _operands(shape, "f4")
    monkeypatch.setattr(module, "_SCORES", 7 * shape[3])
    for options in _options(shape, "f4", rng):
        found = mdhnp.attention(*arrays, **options)
        np.testing.assert_allclose(found, _formula(*arrays, **options), rtol=0, atol=1e-5)


def test_arrays_give_arrays_and_a_fused_function_has_its_steps(device: Device) -> None:
    (q, k, v), _ = _operands(SHAPES[1], "f4")
    want = _formula(q, k, v, causal=True)
    found = mdhnp.attention(*[mdhnp.asarray(x, device=device) for x in (q, k, v)], causal=True)
    assert type(found) is mdhnp.Array
    np.testing.assert_allclose(found.numpy(), want, atol=1e-5)
    fused = mdhnp.fuse(lambda q, k, v: mdhnp.attention(2 * q, k, v, scale=0.125, causal=True) + 1)
    assert len(fused.rewriting(q, k, v).after.steps) == 1
    with mdhnp.device(device), mdhnp.config(host="never"):
        np.testing.assert_allclose(fused(q, k, v), want + 1, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "shape", [(16, 1024, 64), (16, 1024, 128), (16, 1024, 256), (4, 20_000, 128), (16, 16_384, 64), (2, 64, 16)]
)
def test_one_kernel_computes_all_of_it(shape: tuple[int, ...], causal: bool) -> None:
    """So that scores are never in memory as a whole."""
    fused = mdhnp.fuse(lambda q, k, v: mdhnp.attention(q, k, v, causal=causal))
    q = np.empty(shape, np.float32)
    assert len(fused.rewriting(q, q, q).after.steps) == 1


def test_numpy_holds_few_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4096 queries and keys all would be 64 MB; loading and planning take some, too."""
    (q, k, v), _ = _operands(((), (), 4096, 4096, 8, 8), "f4")
    monkeypatch.setattr(module, "_SCORES", 1 << 16)
    tracemalloc.start()
    mdhnp.attention(q, k, v, causal=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"q": (4,)}, ValueError, "attention: q has 1 axes"),
        ({"k": (5, 4)}, ValueError, "q has 3 features and k 4"),
        ({"v": (6, 3)}, ValueError, "k has 5 keys and v 6 values"),
        ({"k": (0, 3), "v": (0, 3)}, ValueError, "k has 0 keys"),
        ({"q": (2, 4, 3), "k": (3, 5, 3)}, ValueError, r"broadcast: q of shape \(2, 4, 3\), k of shape \(3, 5, 3\), v"),
        ({"mask": (2, 4, 5)}, ValueError, r"mask of shape \(2, 4, 5\)"),
        ({"mask": (3, 5)}, ValueError, r"mask of shape \(3, 5\) cannot be broadcast to the scores' \(4, 5\)"),
        ({"scale": "x"}, TypeError, "scale must be a number, not 'x'"),
        ({"q": np.ones((4, 3), int)}, TypeError, "q is of int64"),
        ({"mask": np.ones((4, 5), int)}, TypeError, "mask is of int64"),
    ],
)
def test_errors(change: dict[str, Any], error: type[Exception], words: str) -> None:
    given = {"q": (4, 3), "k": (5, 3), "v": (5, 3)} | change
    arrays = {name: np.ones(x, np.float32) if isinstance(x, tuple) else x for name, x in given.items()}
    with pytest.raises(error, match=words):
        mdhnp.attention(**arrays)
