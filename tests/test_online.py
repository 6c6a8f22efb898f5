"""Rows in their online form by matrix instructions, with scores in registers: run in the IR, which takes no GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from guards import unwritten
from ir_run import run
from ir_walk import walk_all
from running import lowered
from schedules import CAPS, MATRICES

from examples import pairwise
from mdhnp import config
from mdhnp.calls.candidates import is_slower_than_apart
from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.frontend.attention import _traced
from mdhnp.frontend.fuse import Fused, arrays_of, described
from mdhnp.mdh import MdHom, Rows
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.check import check, local_memory
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.online import Weighing, fragments, online_candidates, weighing
from mdhnp.schedule.schedule import IllegalSchedule, Schedule

#: Leading axes of queries, and of keys and values; queries, keys, features, features of values.
SHAPES = {
    "whole tiles": ((), (), 64, 64, 8, 16), "one short tile": ((), (), 70, 37, 16, 8),
    "heads": ((2,), (2,), 40, 50, 8, 8), "shared keys": ((2, 2), (2, 1), 17, 65, 16, 24),
    "one sequence": ((1, 2), (1, 1), 40, 37, 8, 8),
}  # fmt: skip


def _attention(q: Any, k: Any, v: Any, mask: Any = None, *, causal: bool = False, scale: float = 0.5) -> Any:
    scores = scale * q @ k.swapaxes(-1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return powers @ v / powers.sum(axis=-1, keepdims=True)


def _operands(shape: Any, dtype: str = "f4") -> tuple[list[Any], np.random.Generator]:
    of_q, of_k, n, m, d, e = shape
    rng = np.random.default_rng(n + m)
    return [rng.normal(size=s).astype(dtype) for s in ((*of_q, n, d), (*of_k, m, d), (*of_k, m, e))], rng


def _rows(arrays: list[Any], **how: Any) -> tuple[Rows, list[Any]]:
    """Attention as one step, and the arrays it takes."""
    found = described(_traced(0.5, how.get("causal", False)), arrays, arrays_of(len(arrays)))
    (step,) = found.graph.steps
    assert isinstance(step.mdhom, Rows)
    return step.mdhom, [arrays[p] for p in step.inputs]


def _first(h: Rows, atom: str = "") -> Schedule:
    (stage,) = lowered(h)
    return next(s for s in candidates(stage.mdhom, MATRICES) if s.atom and atom in ("", s.atom))


def _run(h: Rows, arrays: list[Any], s: Schedule) -> tuple[Any, set[bool]]:
    """The result, and whether it was computed again: in some work-groups it may be."""
    (output,), steps = [unwritten(v.shape, v.dtype) for v in h.outputs], lowered(h)
    check(steps[0].mdhom, s, MATRICES)
    program, built = generate(steps, [s], MATRICES, default), procedures(steps, [s], MATRICES, default)
    (truths,) = run(program, built, arrays, [output])
    return output, truths[-1] if truths else set()


@pytest.mark.parametrize("options", ["plain", "causal", "mask", "bias, causal"])
@pytest.mark.parametrize("shape", SHAPES)
def test_values(shape: str, options: str) -> None:
    arrays, rng = _operands(SHAPES[shape])
    of_q, _, n, m, *_ = SHAPES[shape]
    causal = "causal" in options
    if "mask" in options:
        some = rng.random((*of_q, n, m)) > 0.4
        some[..., n // 2, :] = False  # nothing counts for one
        arrays.append(some)
    elif "bias" in options:
        arrays.append(rng.normal(size=(m,)).astype("f4"))
    h, given = _rows(arrays, causal=causal)
    s = _first(h)
    assert (m > s.local_tile[s.atom_dims[-1]]) == (shape == "shared keys")  # what came before is corrected
    got, doubtful = _run(h, given, s)
    assert doubtful == {False}
    want = _attention(*[a if a.dtype == bool else a.astype("f8") for a in arrays], causal=causal)
    np.testing.assert_allclose(got, want, rtol=0, atol=5e-6)


@pytest.mark.parametrize(
    ("shape", "atom", "causal"),
    pairwise(
        [
            ((), (), 64, 96, 32, 16), ((2, 2), (2, 1), 33, 65, 32, 16), ((1, 2), (1, 2), 64, 96, 32, 16),
            ((), (), 70, 90, 64, 80), ((), (), 64, 64, 128, 96),
        ],
        ["f16", "f16 of warpgroups"],
        [False, True],
    ),
)  # fmt: skip
def test_values_of_float16(shape: Any, atom: str, causal: bool) -> None:
    """Weights are rounded to float16, beside results that are; rows of tiles are swizzled in one of three ways."""
    arrays, rng = _operands(shape, "f2")
    arrays.append(rng.random(shape[2:4]) > 0.3)
    h, given = _rows(arrays, causal=causal)
    got, doubtful = _run(h, given, _first(h, atom))
    assert got.dtype == np.float16
    assert doubtful == set()
    want = _attention(*[a if a.dtype == bool else a.astype("f8") for a in arrays], causal=causal)
    assert np.isnan(got).tolist() == np.isnan(want).tolist()
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("which", "value", "again"),
    [
        (0, 1e-36, True), (0, 3e12, True), (0, np.nan, True), (1, 1e-36, False), (1, np.inf, True), (2, 1e-37, False),
        (2, np.inf, True), (2, np.nan, True), (2, 1e30, True),
    ],
)  # fmt: skip
def test_numbers_whose_parts_are_not_they_are_multiplied_again(which: int, value: float, again: bool) -> None:
    """In the work-group that has them, by multiply-adds; not small keys, and values beside large ones."""
    arrays, _ = _operands(SHAPES["one short tile"])
    arrays[which][3, 5] = value
    h, given = _rows(arrays, causal=True)
    got, doubtful = _run(h, given, _first(h))
    assert (True in doubtful) == again
    want = _attention(*[a.astype("f8") for a in arrays], causal=True)
    assert np.isnan(got).tolist() == np.isnan(want).tolist()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize(
    ("which", "factor", "again"),
    [
        (1, 1e-36, False),
        (1, 1e-42, False),
        (2, 0, False),
        (2, 1e-12, False),
        (2, 1e-24, False),
        (2, 1e-36, True),
        (2, 1e-42, True),
    ],
)
def test_what_parts_of_keys_and_values_lack_shows_in_results_or_nowhere(which: int, factor: float, again: bool) -> None:
    """Where a column of values is so small, or 0, all of them are looked at."""
    arrays, _ = _operands(SHAPES["one short tile"])
    arrays[which][:, 5] *= np.float32(factor)
    h, given = _rows(arrays)
    got, doubtful = _run(h, given, _first(h))
    assert (True in doubtful) == again
    want = _attention(*[a.astype("f8") for a in arrays])
    # As far from the definition as float32 is, whose products may be subnormal.
    largest = abs(arrays[2].astype("f8")).max(axis=0)
    assert (abs(got - want) <= 5e-6 * largest + len(want) * 1e-45).all()


def _weighing(function: Any, count: int = 3) -> Weighing | None:
    """What is known of the scores of a function of queries, keys, values and others."""
    q = np.empty((64, 16), np.float32)
    found = described(Fused(function), [q, q, q, q[0]][:count], arrays_of(count))
    (step,) = found.graph.steps
    made = fragments(lowered(step.mdhom)[0].mdhom, ATOMS["3xtf32"])
    assert made is not None
    return weighing(made)


def _softmax(scores: Any, v: Any) -> Any:
    powers = np.exp(scores - scores.max(axis=1)[:, None])
    return powers @ v / powers.sum(axis=1)[:, None]


@pytest.mark.parametrize(
    ("function", "known", "same"),
    [
        (lambda q, k, v: _softmax(q @ k.T, v), True, True),
        (lambda q, k, v: _softmax(np.where(np.tri(64, dtype=bool), q @ k.T, -np.inf), v), True, True),
        (lambda q, k, v: _softmax(q @ k.T * np.float32(0.125), v), True, False),
        (lambda q, k, v: _softmax(q @ k.T * np.float32(1e20), v), False, False),
        (lambda q, k, v: _softmax(np.square(q @ k.T), v), False, False),
        (lambda q, k, v: np.maximum(q @ k.T, 0) @ v, False, False),
        (lambda q, k, v: np.exp(q @ k.T) @ v, False, False),
    ],
)
def test_what_scores_weigh(function: Any, known: bool, same: bool) -> None:
    found = _weighing(function)
    assert (found is not None, found is not None and found.same) == (known, same)


def test_weights_so_small_that_they_have_no_parts() -> None:
    """Where the keys that count most have values of 0, those of the others are all that there is."""
    (q, k, v), _ = _operands(SHAPES["whole tiles"])
    bias = np.where(np.arange(len(k)) < 4, 0.0, -86.0).astype("f4")
    v[:4] = 0
    h, given = _rows([q, k, v, bias])
    got, doubtful = _run(h, given, _first(h))
    assert doubtful == {False}
    want = _attention(*[a.astype("f8") for a in (q, k, v, bias)])
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-5 * abs(want).max())


@pytest.mark.parametrize(("causal", "atom"), [(False, ""), (True, ""), (True, "f16"), (True, "f16 of warpgroups")])
def test_walk(causal: bool, atom: str) -> None:
    """Nobody reads what another one is writing, and all indices lie in their ranges."""
    arrays, _ = _operands(((2,), (2,), 40, 80, 64, 80) if atom else SHAPES["heads"], "f2" if atom else "f4")
    h, _ = _rows(arrays, causal=causal)
    steps, s = lowered(h), _first(h, atom)
    program, built = generate(steps, [s], MATRICES, default), procedures(steps, [s], MATRICES, default)
    walk_all(program, built, steps, steps=10**6)


def test_every_candidate_is_legal_and_computes_the_same() -> None:
    arrays, _ = _operands(SHAPES["heads"])
    h, given = _rows(arrays)
    (stage,) = lowered(h)
    assert isinstance(stage.mdhom, Rows)
    found, want = [*online_candidates(stage.mdhom, MATRICES)], _attention(*[a.astype("f8") for a in arrays])
    assert found
    for s in found:
        np.testing.assert_allclose(_run(h, given, s)[0], want, rtol=0, atol=5e-6)


def test_float64_is_computed_without_instructions() -> None:
    """Whose blocks are no registers."""
    h, _ = _rows(_operands(SHAPES["one short tile"], "f8")[0])
    steps = lowered(h)
    (stage,) = steps
    assert isinstance(stage.mdhom, Rows)
    assert not [*online_candidates(stage.mdhom, MATRICES)]


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_one_product_of_tf32_is_not_taken(dtype: str, pytestconfig: pytest.Config) -> None:
    """Whose factors are not what the kernel makes of them."""
    with config(precision="default"):
        arrays, rng = _operands(((), (), 64, 96, 32, 16), dtype)
        arrays.append(rng.random((64, 96)) > 0.3)
        h, given = _rows(arrays)
        (stage,) = lowered(h)
        assert isinstance(stage.mdhom, Rows)
        found = [*online_candidates(stage.mdhom, MATRICES)]
        assert {s.atom for s in found} <= {"3xtf32", "f16", "f16 of warpgroups"}
        want = _attention(*[a if a.dtype == bool else a.astype("f8") for a in arrays])
        for s in found if pytestconfig.getoption("--long") else {s.atom: s for s in found}.values():
            np.testing.assert_allclose(_run(h, given, s)[0], want, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("weights", [lambda s: np.maximum(s, 0), lambda s: np.exp(s - s.max(axis=-1)[:, None]) * 3e4])
def test_values_of_float16_have_weights_of_1_at_most(weights: Any) -> None:
    """What may be larger than float16 holds is not rounded to that."""
    q, k, v = _operands(((), (), 64, 96, 32, 16), "f2")[0]
    found = described(Fused(lambda q, k, v: weights(q @ k.T) @ v), [q, k, v], arrays_of(3))
    for step in found.graph.steps:
        if isinstance(step.mdhom, Rows):
            (stage,) = lowered(step.mdhom)
            assert isinstance(stage.mdhom, Rows)
            assert not [s for s in online_candidates(stage.mdhom, MATRICES) if ATOMS[s.atom].operand == "float16"]


def test_scores_that_are_too_large_are_computed_again() -> None:
    """Where sums are cut off at the largest float, as products are, NumPy has infinity, and NaN."""
    arrays, _ = _operands(SHAPES["one short tile"])
    arrays[0], arrays[1] = abs(arrays[0]) * np.float32(1e19), abs(arrays[1]) * np.float32(3e19)
    h, given = _rows(arrays)
    got, doubtful = _run(h, given, _first(h))
    assert True in doubtful
    with np.errstate(all="ignore"):
        want = _attention(*arrays)
    assert np.isnan(got).tolist() == np.isnan(want).tolist()


@pytest.mark.parametrize(
    ("function", "change", "taken"),
    [
        (lambda x, y: np.exp(-np.square(x[:, None] - y).sum(axis=2)).sum(axis=1), {}, True),
        (lambda x, y: np.exp(-np.square(x[:, None] - y).sum(axis=2)).sum(axis=1), {"precision": "fixed"}, False),
        (lambda x, y: np.exp(x).sum(axis=1), {}, False),
        (lambda x, y: np.exp(x - y[0]), {}, False),
    ],
)
def test_exponentials_in_sums_are_powers_of_two(function: Any, change: dict[str, Any], taken: bool) -> None:
    """Of what was rounded before, where devices have an instruction for it."""
    arrays = [np.empty((n, 3), np.float32) for n in (4000, 3000)]
    (step,) = described(Fused(function), arrays, arrays_of(2)).graph.steps
    assert isinstance(step.mdhom, MdHom)
    stages = lowered(replace(step.mdhom, **change))
    for caps, expected in ((MATRICES, taken), (replace(MATRICES, powers=False), False)):
        used = [default(stage.mdhom, caps) for stage in stages]
        assert ("exp_of_rounded" in generate(stages, used, caps, default).source) == expected


def test_indices_are_compared_in_32_bits() -> None:
    h, _ = _rows(_operands(SHAPES["whole tiles"])[0], causal=True)
    assert "long2" not in generate(lowered(h), [_first(h)], MATRICES, default).source


def test_tiles_that_a_mask_leaves_out_are_not_computed() -> None:
    """Of the first rows only the first tile is: what later keys hold does not matter."""
    arrays, _ = _operands(((), (), 64, 128, 8, 8))
    arrays[1][64:] = arrays[2][64:] = np.nan
    h, given = _rows(arrays, causal=True)
    got, doubtful = _run(h, given, _first(h))
    assert doubtful == {False}
    assert np.isfinite(got).all()


def test_memory_does_not_grow_with_the_keys() -> None:
    needed = set()
    for keys in (1000, 1 << 20):
        h, _ = _rows([np.empty(s, np.float32) for s in ((70, 64), (keys, 64), (keys, 64))])
        (stage,) = lowered(h)
        needed.add(local_memory(stage.mdhom, _first(h), MATRICES))
    assert len(needed) == 1


@pytest.mark.parametrize(("dtype", "features", "fits"), [("f4", 64, True), ("f4", 128, False), ("f2", 128, True)])
def test_what_48_kib_hold(dtype: str, features: int, fits: bool) -> None:
    small = replace(MATRICES, local_memory=48 << 10)
    arrays, _ = _operands(((), (), 64, 40, features, features), dtype)
    h, given = _rows(arrays)
    (stage,) = lowered(h)
    found = [s for s in candidates(stage.mdhom, small) if s.atom]
    assert bool(found) == fits
    if fits:
        want = _attention(*[a.astype("f8") for a in arrays])
        np.testing.assert_allclose(_run(h, given, found[0])[0], want, rtol=0, atol=5e-6 if dtype == "f4" else 2e-3)


@pytest.mark.parametrize(
    "shape", [((), (), 64, 64, 8, 12), ((), (), 64, 64, 12, 8), ((), (), 64, 64, 8, 136), ((), (), 64, 64, 136, 8)]
)
def test_what_is_no_multiple_or_too_wide_has_no_such_schedule(shape: Any) -> None:
    h, _ = _rows(_operands(shape)[0])
    (stage,) = lowered(h)
    assert not any(s.atom for s in candidates(stage.mdhom, MATRICES))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.at(0, local_tile=8), "8 rows are none of subgroups"),
        (lambda s: s.at(2, local_tile=24), "24 points are none of instructions"),
        (lambda s: replace(s, atom="f16"), "f16 cannot compute both products"),
        (lambda s: replace(s, stages=3), "only"),
    ],
)
def test_illegal_schedules(change: Callable[[Schedule], Schedule], words: str) -> None:
    h, _ = _rows(_operands(SHAPES["whole tiles"])[0])
    (stage,) = lowered(h)
    with pytest.raises(IllegalSchedule, match=words):
        check(stage.mdhom, change(_first(h)), MATRICES)
    with pytest.raises(IllegalSchedule, match="the device has no"):
        check(stage.mdhom, _first(h), CAPS)


@pytest.mark.parametrize(
    ("heads", "queries", "keys", "features", "apart"),
    [
        (16, 4096, 4096, 64, False), (16, 4096, 4096, 128, False), (1, 4096, 4096, 64, False),
        (2, 1024, 1024, 64, False), (16, 8, 8192, 128, True), (16, 8, 8192, 64, True), (1, 1024, 8192, 128, True),
        (1, 4096, 1 << 17, 64, False),
    ],
)  # fmt: skip
def test_attention_is_one_kernel_unless_most_units_have_no_rows(
    heads: int, queries: int, keys: int, features: int, apart: bool
) -> None:
    """As measured on an H200; but not where scores are much more than what is read."""
    h, _ = _rows([np.empty((heads, n, features), np.float32) for n in (queries, keys, keys)])
    assert is_slower_than_apart(h, default(h, MATRICES), MATRICES) == apart
