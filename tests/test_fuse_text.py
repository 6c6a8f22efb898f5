"""OpenCL C text in fused functions: what its calls become part of, and what stays a step of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from running import run_plain

import mdhnp
from mdhnp import cc, md_hom, mdh, ps, pw
from mdhnp.runtime.handle import Device

ROWS = {"i": cc, "j": cc}
#: Both have a helper of the same name, and are of the same name.
soft = md_hom(
    "float size(float x) { return fabs(x); } float f(float x, float t) { return copysign(fmax(size(x) - t, 0), x); }",
    ROWS, "x[i,j], t[] -> y[i,j]",
)  # fmt: skip
shifted = md_hom("float size(float x) { return x + 1; } float f(float x) { return size(x); }", ROWS, "x[i,j] -> y[i,j]")
LARGER = "float larger(float a, float b) { return fabs(a) >= fabs(b) ? a : b; }"
farthest = md_hom(lambda x: x, {"i": cc, "j": pw(LARGER, identity=0, commutative=True)}, "x[i,j] -> y[i]")
typed = md_hom("typedef float real; real f(real x) { return x / 2; }", ROWS, "x[i,j] -> y[i,j]", results=np.float32)
both = md_hom("void f(float x, float *a, float *b) { *a = x + 1; *b = x - 1; }", ROWS, "x[i,j] -> a[i,j], b[i,j]",
              results=(np.float32, np.float32))  # fmt: skip
lengths = md_hom(
    "float f(__global const float *x, int n, int step) { float s = 0; for (int k = 0; k < n; ++k) s += x[k * step]; "
    "return s; }", {"i": cc}, "x[i,:] -> y[i]",
)  # fmt: skip
whole = md_hom("float f(float x) { return x; }", ROWS, "x[i,j] -> y[i,j]", results=np.int32)
half, fifth = (
    md_hom(f"#ifndef BY\n#define BY {by}f\n#endif\nfloat f(float x) {{ return x * BY; }}", ROWS, "x[i,j] -> y[i,j]")
    for by in (0.5, 0.2)
)
T = np.asarray(np.float32(0.5))

PLUS = "float plus(float a, float b) { return a + b; }"
MOST = pw("float most(float a, float b) { return fmax(a, b); }", identity=-np.inf, commutative=True)
LOGS = pw(
    "float logs(float a, float b) { float m = fmax(a, b); return isinf(m) ? m : m + log1p(exp(fmin(a, b) - m)); }",
    identity=-np.inf, commutative=True,
)  # fmt: skip


def prefixes(operator: Any, over: Any, **options: Any) -> Any:
    """Scan rows by an operator that is declared to distribute over another one."""
    return md_hom(lambda v: v, {"i": cc, "j": ps(operator, distributes_over=over, **options)}, "x[i,j] -> y[i,j]")


def totals(spec: Any) -> Any:
    return md_hom(lambda v: v, {"i": cc, "j": spec}, f"x[i,j] -> y[i{',j' if spec.kind == 'ps' else ''}]")


sums_by_text, sums_over_most, sums_over_logs, joined = (
    prefixes(PLUS, "max"), prefixes(PLUS, MOST), prefixes("add", LOGS),
    prefixes(lambda a, b: a + b + 1, ["min", "max"]),
)  # fmt: skip
undeclared = md_hom(lambda v: v, {"i": cc, "j": ps(PLUS)}, "x[i,j] -> y[i,j]")
largest, most, logs, largest_so_far = map(totals, (pw("max"), MOST, LOGS, ps("max")))


def sums(x: Any) -> Any:
    return np.cumsum(x.astype(float), axis=1)


def softened(x: Any) -> Any:
    return np.sign(x) * np.maximum(abs(x) - T, 0)


class Case(NamedTuple):
    """What is fused, the same by NumPy, and how many steps are left."""

    fused: Callable[..., Any]
    wanted: Callable[..., Any]
    steps: int


CASES = {
    "between maps": Case(lambda x, y: soft(x * 2, T) + y, lambda x, y: softened(x * 2) + y, 1),
    "in a reduction": Case(lambda x, y: (soft(x, T) * y).sum(axis=1), lambda x, y: (softened(x) * y).sum(axis=1), 1),
    "as an operator": Case(
        lambda x, y: np.exp(abs(farthest(x - y))),  # of either sign, where both are as far
        lambda x, y: np.exp(abs(x - y).max(axis=1)), 1,
    ),
    "two texts of one name": Case(lambda x, y: shifted(soft(x, T)) * y, lambda x, y: (softened(x) + 1) * y, 1),
    "twice": Case(lambda x, y: soft(x, T) - soft(y, T), lambda x, y: softened(x) - softened(y), 1),
    "after a product": Case(lambda x, y: soft(x @ y.T, T), lambda x, y: softened(x @ y.T), 2),
    "of several results": Case(lambda x, y: both(x + y)[1], lambda x, y: x + y - 1, 2),
    "of another type": Case(lambda x, y: whole(x * 9) * y, lambda x, y: np.trunc(x * 9).astype(np.int32) * y, 3),
    "with macros": Case(lambda x, y: fifth(half(x)) + y, lambda x, y: x * np.float32(0.1) + y, 1),
    "with types": Case(lambda x, y: typed(x + y) * y, lambda x, y: (x + y) / 2 * y, 3),
    "prefixes by text": Case(lambda x, y: largest(sums_by_text(x - y)), lambda x, y: sums(x - y).max(axis=1), 1),
    "prefixes of prefixes": Case(
        lambda x, y: largest_so_far(sums_by_text(x - y)), lambda x, y: np.maximum.accumulate(sums(x - y), axis=1), 1
    ),
    "both by text": Case(lambda x, y: most(sums_over_most(x + y)), lambda x, y: sums(x + y).max(axis=1), 1),
    "logarithms of sums": Case(
        lambda x, y: logs(sums_over_logs(x / 4)), lambda x, y: np.logaddexp.reduce(sums(x / 4), axis=1), 1
    ),
    "prefixes in Python": Case(lambda x, y: largest(joined(x)), lambda x, y: (sums(x + 1) - 1).max(axis=1), 1),
    "of no declared law": Case(lambda x, y: largest(undeclared(x - y)), lambda x, y: sums(x - y).max(axis=1), 2),
    "of another law": Case(lambda x, y: most(sums_by_text(x - y)), lambda x, y: sums(x - y).max(axis=1), 2),
    "of slices": Case(lambda x, y: lengths(x + y), lambda x, y: (x + y).sum(axis=1), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(1, 1), (33, 19), (130, 257)])
def test_text_is_computed_where_maps_would_be(name: str, shape: tuple[int, int], device: Device) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 10, shape).astype(np.float32) / 4 for _ in range(2))
    fused = mdhnp.fuse(CASES[name].fused)
    with mdhnp.device(device), mdhnp.config(host="never"):
        np.testing.assert_allclose(fused(x, y), CASES[name].wanted(x, y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_as_many_steps_are_left(name: str) -> None:
    x, y = np.ones((2, 300, 400), np.float32)
    found = mdhnp.fuse(CASES[name].fused).rewriting(x, y)
    assert len(found.after.steps) == CASES[name].steps, str(found)


@pytest.mark.parametrize(
    ("product", "total", "message"),
    [
        (PLUS, "add", r"plus does not distribute over \+: .* ⊗ \(.* ⊕ .*\) = "),
        ("mul", MOST, r"\* does not distribute over most"),
        ("float second(float a, float b) { return a * a + b; }", "add", "second does not distribute"),
    ],
)
def test_laws_of_text_are_tried_by_kernels(product: Any, total: Any, message: str, device: Device) -> None:
    x = np.ones((3, 4), np.float32)
    with mdhnp.device(device), mdhnp.config(host="never"):
        for function in (scan := prefixes(product, total), mdhnp.fuse(lambda x: scan(x) * 2)):
            with pytest.raises(ValueError, match=message):
                function(x)
        prefixes(product, total, check=False)(x)


def test_calls_are_shown_with_what_they_take() -> None:
    x = np.ones((300, 400), np.float32)
    assert "f((x0 * 2.0), 0.5)" in str(mdhnp.fuse(lambda x: soft(x * 2, T)).rewriting(x).after)


def test_scans_by_text_are_cut_before_they_are_finished(device: Device) -> None:
    x = np.random.default_rng(0).integers(-9, 10, 200).astype(np.float64)
    scan = mdh.md_hom(
        lambda v: v, {"i": ps("double most(double a, double b) { return fmax(a, b); }")}, "x[i] -> y[i]",
        finish=lambda total, v: total + v,
    )  # fmt: skip
    found = mdh.cut(scan.bind(x), 0, 3).run(lambda h, *arrays: run_plain(device, h, *arrays)[0], x)
    np.testing.assert_array_equal(found, np.maximum.accumulate(x) + x)
