"""Rounding: never worse than twice NumPy's own float32 result, and no rounding left out that NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp.runtime.devices import Device

#: Far from zero, so that errors of one sign add up; of both signs, so that terms cancel; and of all sizes.
DATA = {
    "offset": lambda rng, *shape: 100 + rng.random(shape, np.float32),
    "signed": lambda rng, *shape: rng.standard_normal(shape, np.float32),
    "wide": lambda rng, *shape: (rng.standard_normal(shape) * 10.0 ** rng.integers(-9, 10, shape)).astype(np.float32),
}


#: How often data is drawn anew.
DRAWS = 10

Call = Callable[..., Any]


def error(result, exact) -> float:
    return float(np.abs(result - exact).max() / np.abs(exact).max())


def usual_errors(draw: Callable[[np.random.Generator], list[Any]], exactly: Call, *sums: Call) -> list[float]:
    """The errors of each of several functions that sum alike: the roots of their mean squares over all draws.

    One draw would compare luck: NumPy's own sums of the same signed numbers backwards have more than twice the error
    of its sums forwards in 9 of 40 draws. How much of such a sum cancels is luck as well, so an error is compared with
    the norm of the terms where that is larger than their sum.
    """
    squares = np.zeros(len(sums))
    for seed in range(DRAWS):
        arrays = draw(np.random.default_rng(seed))
        wide = [a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in arrays]
        exact = exactly(*wide)
        size = np.maximum(np.abs(exact), np.sqrt(exactly(*(np.abs(a) ** 2 for a in wide)))).max()
        squares += [np.square(np.abs(f(*arrays) - exact).max() / size) for f in sums]
    return [float(e) for e in np.sqrt(squares / DRAWS)]


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("i->", [(1_000_003,)]),
        ("i,i->", [(1_000_003,), (1_000_003,)]),
        ("ij->i", [(3, 300_001)]),
        ("ij->j", [(300_001, 3)]),
        ("ij,jk->ik", [(20, 100_003), (100_003, 24)]),
        ("ij,jk->ik", [(60, 1797), (1797, 64)]),
        ("ij,j->i", [(4, 500_009), (500_009,)]),
        ("ji,j->i", [(70_001, 40), (70_001,)]),
        ("ab,ecb->a", [(30, 301), (40, 50, 301)]),
        ("eab,ed->a", [(300, 20, 101), (300, 1003)]),
        ("d,cab->", [(10_007,), (30, 40, 50)]),
    ],
)
def test_sums_are_as_accurate_as_numpy(device: Device, subscripts: str, shapes, data: str):
    einsum, theirs = (partial(m.einsum, subscripts, optimize=True) for m in (mdhnp, np))
    ours, numpys = usual_errors(lambda rng: [DATA[data](rng, *shape) for shape in shapes], theirs, einsum, theirs)
    # One rounding of the result itself is free.
    assert ours <= 2 * numpys + np.finfo(np.float32).eps


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("shape", "axis"), [((1000,), 0), ((1_000_003,), 0), ((20, 100_003), 1), ((100_003, 20), 0)])
@pytest.mark.parametrize("specialise", ["auto", "always"])
def test_sums_along_an_axis_are_as_accurate_as_numpy(device: Device, shape, axis: int, data: str, specialise):
    """NumPy cuts those along the last axis in pairs, again and again."""
    theirs = partial(np.sum, axis=axis)
    with mdhnp.config(specialise=specialise):
        ours, numpys = usual_errors(
            lambda rng: [DATA[data](rng, *shape)], theirs, partial(mdhnp.sum, axis=axis), theirs
        )
    assert ours <= 2 * numpys + np.finfo(np.float32).eps


@pytest.mark.parametrize("dtype", ["f2", "c8"])
@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("i->", [(200_003,)]),
        ("i,i->", [(200_003,), (200_003,)]),
        ("ij,jk->ik", [(20, 10_003), (10_003, 24)]),
        ("ij,j->i", [(4, 50_009), (50_009,)]),
        ("ij,jk,kl->il", [(5, 77), (77, 131), (131, 3)]),
    ],
)
def test_sums_of_other_types_are_as_accurate_as_numpy(device: Device, subscripts: str, shapes, dtype: str):
    """Both kinds of float16 data that NumPy's own sums do not overflow with, and complex numbers."""

    def draw(rng):
        parts = [rng.random(shape) + (1j * rng.random(shape) if dtype == "c8" else 0) for shape in shapes]
        return [(a - 0.5 + (0.1 if dtype == "f2" else 0)).astype(dtype) for a in parts]

    at_once, in_pairs = (partial(np.einsum, subscripts, optimize=how) for how in (False, True))
    ours, *numpys = usual_errors(draw, in_pairs, partial(mdhnp.einsum, subscripts), at_once, in_pairs)
    assert ours <= 2 * min(numpys) + np.finfo(dtype).eps


def test_running_sums_are_as_accurate_as_numpy(device: Device):
    x = DATA["offset"](np.random.default_rng(0), 200_003)
    scan = mdhnp.md_hom(lambda v: v, {"i": mdhnp.ps("add")}, "x[i] -> y[i]")
    exact = np.cumsum(x.astype(np.float64))
    assert error(scan(x), exact) <= 2 * error(np.cumsum(x), exact) + np.finfo(np.float32).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_keep_their_own_rounding(device: Device, dtype):
    """``p * p - q * q`` is exactly zero for equal values, unless the compiler fuses one product into the difference."""
    x = np.random.default_rng(0).random(1000).astype(dtype)
    difference = mdhnp.md_hom(lambda p, q: p * p - q * q, {"i": mdhnp.cc}, "x[i], y[i] -> z[i]")
    assert not difference(x, x.copy()).any()
    total = mdhnp.md_hom(lambda p, q: p * p - q * q, {"i": mdhnp.pw("add")}, "x[i], y[i] -> z[]")
    assert total(x, x.copy()) == 0
    y = np.random.default_rng(1).random(1000).astype(dtype)
    later = mdhnp.md_hom(np.multiply, {"i": mdhnp.cc}, "x[i], y[i] -> z[i]", finish=lambda t, p, q: t - p)
    np.testing.assert_array_equal(later(x, y), x * y - x)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (lambda: mdhnp.matmul(np.ones(1), np.full(1, 2.0)), 2),
        (lambda: mdhnp.einsum("ij,jk->ik", np.ones((1, 1)), np.ones((1, 1))), [[1]]),
        (lambda: mdhnp.einsum(",", 2, 3), 6),
        (lambda: mdhnp.dot(2.0, 3.0), 6),
        (lambda: mdhnp.gemv(np.full((1, 1), 2.0), np.ones(1)), [2]),
        (lambda: mdhnp.stencil(np.ones((1, 1)), np.ones((3, 3)), "reflect"), [[9]]),
        (lambda: mdhnp.md_hom(lambda v: v, {"i": mdhnp.ps("add")}, "x[i] -> y[i]")(np.full(1, 4.0)), [4]),
        (lambda: mdhnp.md_hom(lambda v: v, {"i": mdhnp.pw("max")}, "x[i] -> y[]")(np.full(1, 4.0)), 4),
    ],
)
def test_calls_on_single_elements(device: Device, ours, expected):
    assert np.array_equal(ours(), expected)


@pytest.mark.parametrize("specialise", ["auto", "always"])
@pytest.mark.parametrize("subscripts", ["ij->i", "ij->j", "ij,jk->ik", "ij,jk->ijk"])
def test_nan_and_infinities_propagate(device: Device, subscripts: str, specialise):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((37, 301)).astype(np.float32), rng.standard_normal((301, 19)).astype(np.float32)
    x[3, 7], x[5, 9], x[6, 1], x[6, 2], x[36, 300] = np.nan, np.inf, np.inf, -np.inf, -np.inf
    y[9, 4], y[11, 3], y[300, 18] = 0, np.inf, np.nan
    arrays = [x, y][: 1 + subscripts.count(",")]
    with np.errstate(invalid="ignore"), mdhnp.config(specialise=specialise):
        expected = np.einsum(subscripts, *arrays)
        np.testing.assert_allclose(mdhnp.einsum(subscripts, *arrays), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("specialise", ["auto", "always"])
def test_long_sums_may_be_infinite(device: Device, specialise):
    x, y = np.ones(300_000, np.float32), np.ones(300_000, np.float32)
    x[0] = np.inf
    with mdhnp.config(specialise=specialise):
        assert mdhnp.dot(x, y) == np.inf
        assert np.isnan(mdhnp.dot(x, -x)) == np.isnan(np.dot(x, -x))
        assert np.isnan(mdhnp.dot(x, np.arange(300_000, dtype=np.float32)))
        assert mdhnp.dot(y * 3e38, y) == np.inf


@pytest.mark.parametrize("size", [131_072, 1_000_003])
def test_only_sums_of_floats_are_compensated(device: Device, size: int):
    """Each result of a reduction is combined by its own part of the operator, whatever the operator is called."""
    x = 100 + np.random.default_rng(0).random(size, np.float32)
    exact = x.sum(dtype=np.float64)

    def results(scalar, operator, outputs="s[], a[]", **options):
        return mdhnp.md_hom(scalar, {"i": mdhnp.pw(operator, **options)}, f"x[i] -> {outputs}")(x)

    total, found = results(lambda v: (v, v > 100.5), "add")
    assert error(total, exact) < 1e-6
    assert found.view(np.uint8) == 1
    for operator in (("add", "max"), lambda a, b: (a[0] + b[0], np.maximum(a[1], b[1]))):
        total, most = results(lambda v: (v, v), operator)
        assert error(total, exact) < 1e-6
        assert most == x.max()
    # Without an identity, in any order and in order.
    for operator, other in (
        (lambda a, b: (a[0] + b[0], np.where(b[1] > a[1], b[1], a[1])), x.max()),
        (lambda a, b: (a[0] + b[0], b[1]), x[-1]),
    ):
        total, found = results(lambda v: (v, v), operator)
        assert error(total, exact) < 1e-5
        assert found == other
    assert results(lambda v: v, lambda a, b: a + b, "s[]") == results(lambda v: v, "add", "s[]")
    assert results(lambda v: v, np.maximum, "m[]", name="+") == x.max()
