"""Rows in their online form: tiles of what is reduced follow each other; what they leave to each other is corrected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chains import assert_stays_inside
from guards import unwritten
from ir_run import run
from random_functions import Seeded, any_integers
from running import execute, lowered
from schedules import CAPS, MATRICES

import mdhnp
from mdhnp.calls.candidates import is_slower_than_apart
from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.frontend.fuse import Fused
from mdhnp.fusion import cost
from mdhnp.fusion.bounds import apart, last_that_counts
from mdhnp.fusion.rewrite import rewriting
from mdhnp.fusion.rules import RULES
from mdhnp.fusion.rules.maps import WRITTEN_OUT
from mdhnp.fusion.streamed import Streamed, streamed
from mdhnp.mdh import Graph, Rows, index, interpret, trace
from mdhnp.schedule.check import check, local_memory
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.schedule import IllegalSchedule, Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

#: Vectors of four rows, so that few rows are several vectors.
SMALL = replace(CAPS, vector_bytes=16)


def _scores(q: Any, k: Any) -> Any:
    return q @ k.swapaxes(-1, -2)


def _softmax(s: Any, v: Any) -> Any:
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    return (powers @ v) / powers.sum(axis=-1, keepdims=True)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return _softmax(_scores(q, k) * q.dtype.type(0.5), v)


def _masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
    return _softmax(np.where(mask, _scores(q, k), -np.inf), v)


def _biased(q: Any, k: Any, v: Any, bias: Any) -> Any:
    return _softmax(_scores(q, k) + bias, v)


def _sums(q: Any, k: Any, v: Any) -> Any:
    """Products of scores that need no correction, as there is no maximum."""
    return np.maximum(_scores(q, k), 0) @ v


def _weighted(q: Any, k: Any, v: Any, w: Any) -> Any:
    """Some weights are left out, others divided."""
    s = _scores(q, k)
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.where(w > 0, powers / (w * w + 1), powers.dtype.type(0)) @ v


def _normalised(q: Any, k: Any, v: Any) -> Any:
    """Weights are divided before they are used."""
    s = _scores(q, k)
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)) @ v


def _of_squares(q: Any, k: Any, v: Any) -> Any:
    """Divided by what is no sum of the same, and may be 0 where they are not."""
    s = _scores(q, k)
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    return (powers / (powers * powers).sum(axis=-1, keepdims=True)) @ v


def _unlike(q: Any, k: Any, v: Any) -> Any:
    """The exponent is another one, so that no factor corrects it."""
    s = _scores(q, k)
    return np.exp(2 * s - s.max(axis=-1, keepdims=True)) @ v


def _squared(q: Any, k: Any, v: Any) -> Any:
    s = _scores(q, k)
    return np.square(s - s.max(axis=-1, keepdims=True)) @ v


def _arrays(*shapes: tuple[int, ...], dtype: str = "f4") -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(sum([sum(s) for s in shapes]))
    return [rng.normal(size=s).astype(dtype) for s in shapes]


def _operands(batch: tuple[int, ...], rows: int, keys: int, d: int, dtype: str = "f4") -> list[np.ndarray[Any, Any]]:
    return _arrays((*batch, rows, d), (*batch, keys, d), (*batch, keys, d), dtype=dtype)


def _rows(function: Callable[..., Any], *arrays: Any) -> tuple[Rows, list[Any]]:
    """The one step that a function becomes, and the arrays in its order; few short scores would be written out."""
    before = mdhnp.fuse(function).rewriting(*arrays).before
    (step,) = rewriting(before, [rule for rule in RULES if rule != WRITTEN_OUT]).after.steps
    assert isinstance(step.mdhom, Rows)
    return step.mdhom, [arrays[p] for p in step.inputs]


def _form(made: Rows) -> Streamed:
    found = streamed(made)
    assert found is not None
    return found


def _run(made: Rows, s: Schedule, arrays: list[Any]) -> Any:
    """What a schedule's kernel computes, without a device."""
    steps, (view,) = lowered(made), made.outputs
    output = unwritten(view.shape, view.dtype)
    run(generate(steps, [s], SMALL, default), procedures(steps, [s], SMALL, default), arrays, [output])
    return output


@pytest.mark.parametrize(
    ("function", "others"),
    [
        (_attention, []), (_masked, [(64, 41)]), (_biased, [(64, 41)]), (_biased, [(41,)]), (_sums, []),
        (_weighted, [(64, 41)]), (_normalised, []),
    ],
)  # fmt: skip
def test_the_form_is_the_same_computation_in_any_tiles(function: Any, others: list[Any]) -> None:
    arrays = [*_operands((), 64, 41, 3), *_arrays(*others)]
    if function is _masked:
        arrays[3] = arrays[3] > 0
    made, arrays = _rows(function, *arrays)
    form, (want,) = _form(made), made.graph.interpret(*arrays)
    np.testing.assert_allclose(form.graph.interpret(*arrays)[0], want, rtol=1e-5, atol=1e-6)
    for s in candidates(made, SMALL):
        if s.streamed >= 0:
            np.testing.assert_allclose(_run(made, _tiles_of(made, s, 8), arrays), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("shape", [((), 64, 41, 3), ((), 67, 19, 5), ((2,), 33, 70, 2)])
def test_tiles_add_up_bit_for_bit_in_integers_that_wrap(shape: Any, dtype: str) -> None:
    """No term is lost or counted twice, as odd weights of any integers show."""
    batch, rows, keys, d = shape
    p = Seeded(keys)
    arrays = [any_integers(p, (*batch, n, d), np.dtype(dtype)) for n in (rows, keys, keys)]
    made, arrays = _rows(lambda q, k, v: (_scores(q, k) * q.dtype.type(3) + q.dtype.type(1)) @ v, *arrays)
    (want,) = made.graph.interpret(*arrays)
    np.testing.assert_array_equal(_form(made).graph.interpret(*arrays)[0], want)
    found = [s for s in candidates(made, SMALL) if s.streamed >= 0]
    assert found
    for s in found:
        for points in (8, 16):
            np.testing.assert_array_equal(_run(made, _tiles_of(made, s, points), arrays), want)


def _tiles_of(made: Rows, s: Schedule, points: int) -> Schedule:
    """The same of so few points of what is streamed that there are several tiles."""
    form, steps = _form(made), list(s.steps)
    for n, d in enumerate(form.streamed):
        if d >= 0:
            steps[n] = steps[n].at(d, local_tile=points, private_tile=min(steps[n].private_tile[d], points))
    changed = replace(s.at(form.dim, local_tile=points), steps=tuple(steps))
    check(made, changed, SMALL)
    return changed


@pytest.mark.parametrize("shape", [((), 67, 19, 3), ((2,), 33, 70, 2), ((), 64, 150, 3), ((2, 2), 17, 35, 4)])
def test_kernels_stay_inside(shape: Any) -> None:
    """Also where the last rows are less than a vector, and the last tile is short."""
    made, arrays = _rows(_attention, *_operands(*shape))
    found = [s for s in candidates(made, SMALL) if s.streamed >= 0]
    assert found
    for s in found[-2:]:
        assert_stays_inside(made, s, SMALL)
    np.testing.assert_allclose(_run(made, found[-1], arrays), _attention(*arrays), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("function", [_unlike, _squared, _of_squares])
def test_what_no_factor_corrects_has_no_such_form(device: Device, function: Any) -> None:
    arrays = _operands((), 128, 128, 8)
    steps = mdhnp.fuse(function).rewriting(*arrays).after.steps
    made = [s.mdhom for s in steps if isinstance(s.mdhom, Rows) and "max" in str(s.mdhom.graph)]
    assert all([streamed(h) is None for h in made])
    with mdhnp.device(device), mdhnp.config(host="never"):
        np.testing.assert_allclose(mdhnp.fuse(function)(*arrays), function(*arrays), rtol=1e-4, atol=1e-2)


def test_memory_does_not_grow_with_the_keys() -> None:
    """However many they are, all is one kernel, and what it keeps is as much."""
    needed = set()
    for keys in (1000, 100_000):
        shapes = [(2, 70, 64), (2, keys, 64), (2, keys, 64)]
        made, _ = _rows(_attention, *[np.empty(s, np.float32) for s in shapes])
        s = default(made, CAPS)
        assert s.streamed >= 0
        needed.add(local_memory(made, s, CAPS))
    assert len(needed) == 1 and needed.pop() <= CAPS.local_memory


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [((), 64, 64, 16), ((3,), 100, 1001, 33), ((2, 2), 129, 70, 32), ((), 1000, 257, 64)])
def test_on_devices(device: Device, shape: Any, dtype: str) -> None:
    made, arrays = _rows(_attention, *_operands(*shape, dtype=dtype))
    exact = _attention(*[a.astype("f8") for a in arrays])
    near = {"rtol": 1e-4, "atol": 1e-5} if dtype == "f4" else {"rtol": 1e-12, "atol": 1e-14}
    for s in [s for s in candidates(made, device.caps) if s.streamed >= 0][::2]:
        (got,) = execute(device, made, arrays, generate(lowered(made), [s], device.caps, default))
        np.testing.assert_allclose(got, exact, **near)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, a, b: (x @ a).max(axis=1),
        lambda x, a, b: (x @ a).max(axis=1, keepdims=True) + 1,
        lambda x, a, b: (2 * (x @ a)).max(axis=1, keepdims=True),
        lambda x, a, b: (np.clip(x @ a + 3, 0, 9) @ b).max(axis=1),
        lambda x, a, b: (np.clip(x @ a + 3, 0, 9) @ b).min(axis=1, keepdims=True),
        lambda x, a, b: (x @ a - 3).argmax(axis=1),
        lambda x, a, b: (2 * (x @ a)).sum(axis=1),
    ],
)
def test_reductions_of_products(device: Device, function: Any, dtype: str) -> None:
    """A maximum that nothing is compared with is carried as other reductions are."""
    arrays = [np.rint(2 * a).astype(dtype) for a in _arrays((1000, 16), (16, 8), (8, 8))]
    with mdhnp.device(device), mdhnp.config(host="never"):
        got = mdhnp.fuse(function)(*arrays)
    np.testing.assert_array_equal(got, function(*arrays), strict=True)


def test_rows_of_which_nothing_counts_are_nan(device: Device) -> None:
    """As NumPy has them: of minus infinity everywhere, of infinity or NaN somewhere; but not of -inf in whole tiles."""
    q, k, v = _operands((), 128, 300, 8)
    bias = np.zeros((128, 300), np.float32)
    bias[3], bias[5, 7], bias[6, 299], bias[7, :200], bias[8, 150:] = -np.inf, np.inf, np.nan, -np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        want = _biased(q, k, v, bias)
    with mdhnp.device(device), mdhnp.config(host="never"):
        got = mdhnp.fuse(_biased)(q, k, v, bias)
    assert np.isnan(got).all(axis=1).nonzero()[0].tolist() == [3, 5, 6]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_tiles_that_overflow_and_do_not_count_leave_nothing(device: Device) -> None:
    """Their maximum is so far below that of a later tile that NumPy's weights are 0; of others infinity stays."""
    q, k, v = _operands((), 128, 400, 8)
    bias = np.zeros((128, 400), np.float32)
    bias[:, 300:], bias[5] = 1000, 0
    v[:128, 2], v[:128, 3], v[3, 4] = 3e38, -3e38, np.nan
    with np.errstate(over="ignore", invalid="ignore"):
        want = _biased(q, k, v, bias)
    with mdhnp.device(device), mdhnp.config(host="never"):
        got = mdhnp.fuse(_biased)(q, k, v, bias)
    assert np.isnan(got[:, 4]).all() and np.isposinf(got[5, 2]) and np.isneginf(got[5, 3])
    others = np.delete(np.arange(128), 5)
    np.testing.assert_allclose(got[others], want[others], rtol=1e-4, atol=1e-5)


def test_weights_that_are_subnormal_numbers_are_0_on_cpus(device: Device) -> None:
    q, k, v = _operands((), 128, 300, 16)
    bias = np.full((128, 300), np.float32(-95))
    bias[:, 7], v[7], q[:] = 0, 0, 0
    with mdhnp.device(device), mdhnp.config(host="never"):
        got = mdhnp.fuse(_biased)(q, k, v, bias)
    assert abs(got).max() < 1e-39
    assert not got.any() or device.caps.kind == "gpu"


INF = np.float32(np.inf)


@pytest.mark.parametrize(
    ("function", "until"),
    [
        (lambda s: np.where(index(1) <= index(0), s, -INF), 0),
        (lambda s: np.where(index(1) < index(0), s, -INF), -1),
        (lambda s: np.where(index(0) + 3 >= index(1), s, -INF), 3),
        (lambda s: np.where(index(1) - index(0) < 5, s, -INF), 4),
        (lambda s: np.where((index(1) <= index(0)) & (index(1) > index(0) - 9), s, -INF), 0),
        (lambda s: np.where(s > 0, np.where(index(1) <= index(0) + 2, s, -INF), -INF), 2),
        (lambda s: np.where(index(1) >= index(0), s, -INF), None),
        (lambda s: np.where(index(1) <= 2 * index(0), s, -INF), None),
        (lambda s: np.where(index(1) <= index(0), s, INF), None),
        (lambda s: np.where(index(1) <= index(0), -INF, s), None),
        (lambda s: np.where(index(1) <= index(2), s, -INF), None),
    ],
)  # fmt: skip
def test_from_where_on_nothing_counts(function: Any, until: int | None) -> None:
    f = trace(function, ["f4"])
    assert last_that_counts(f, 1, 0) == until
    if until is not None:
        rows, points = np.ogrid[:40, :40]
        (found,) = f.evaluate([np.ones((40, 40), np.float32)], [rows, points])
        counts = np.broadcast_to(found > -INF, (40, 40))
        assert not counts[points > rows + until].any() and counts[20, 20 + until]
    parts = apart(f, 1, 0)
    if parts is not None:
        assert (parts[0], counts.tolist()) == (until, (points <= rows + until).tolist())
        bare = np.broadcast_to(parts[1].evaluate([np.ones((40, 40), np.float32)], [rows, points])[0], (40, 40))
        np.testing.assert_array_equal(parts[2].evaluate([bare], [rows, points])[0], found)


def test_tiles_in_which_nothing_counts_are_left_out(device: Device) -> None:
    """What is infinite there would make all results NaN."""
    q, k, v = _operands((), 128, 400, 16)
    v[256:] = np.inf
    with mdhnp.device(device), mdhnp.config(host="never"):
        got = mdhnp.attention(q, k, v, causal=True)
    np.testing.assert_allclose(got, mdhnp.attention(q, k[:128], v[:128], causal=True), rtol=1e-4, atol=1e-5)


def test_what_a_schedule_of_the_form_must_not() -> None:
    made, _ = _rows(_attention, *_operands((), 64, 400, 8))
    s = next(s for s in candidates(made, SMALL) if s.streamed >= 0)
    product = s.steps[4]
    for wrong, words in (
        ({"num_wi": (1, 1, 2)}, "one walks from tile to tile"),
        ({"streamed": -1}, "rows: tiles"),
        ({"local_tile": (4, 8, 32)}, "local_tile"),
        ({"steps": (*s.steps[:4], product.at(1, private_tile=3), *s.steps[5:])}, "private_tile: 3 do not divide"),
    ):  # fmt: skip
        with pytest.raises(IllegalSchedule, match=words):
            check(made, replace(s, **wrong), SMALL)
    assert Schedule.from_json(s.to_json()) == s
    assert interpret(made, *_operands((), 64, 400, 8)).shape == (64, 8)


@pytest.mark.parametrize(
    ("rows", "features", "hidden", "apart"),
    [(4096, 64, 256, True), (65536, 128, 512, True), (16384, 96, 384, True), (1 << 20, 16, 64, False)],
)
def test_two_products_are_one_kernel_where_that_is_faster(
    rows: int, features: int, hidden: int, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As measured on an H200: what is between them has to be large beside the work."""
    monkeypatch.setattr(cost, "_turned", lambda h: 0)
    layers = _layers(rows, features, hidden, features)
    (step,) = layers.steps
    found = default(step.mdhom, MATRICES)
    assert found.atom
    assert is_slower_than_apart(step.mdhom, found, MATRICES) == apart


def _layers(*sizes: int) -> Graph:
    rows, features, hidden, results = sizes
    x, w, v = (np.empty(n, np.float32) for n in ((rows, features), (features, hidden), (hidden, results)))
    return Fused(lambda x, w, v: np.maximum(x @ w, np.float32(0)) @ v).rewriting(x, w, v).after


@pytest.mark.parametrize(
    ("sizes", "one"),
    [
        ((256, 64, 4096, 64), True), ((4096, 32, 1024, 32), True), ((512, 128, 2048, 128), True),
        ((1 << 18, 16, 64, 16), True), ((1024, 64, 256, 64), True), ((16384, 64, 64, 64), False),
        ((65536, 64, 128, 64), False), ((1 << 20, 16, 64, 16), True),
    ],
)  # fmt: skip
def test_two_products_are_one_kernel_where_that_is_faster_on_cpus(sizes: tuple[int, ...], one: bool) -> None:
    """As measured by Intel's runtime on a Xeon: rows that lie in vectors are turned."""
    assert len(_layers(*sizes).steps) == (1 if one else 2)
