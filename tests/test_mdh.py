"""The representation: every computation of the formalism written down, printed, interpreted; errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mdhnp.mdh import Affine, MdHom, Pattern, View, canonical, cc, index, interpret, md_hom, ps, pw, stages
from mdhnp.mdh.stages import finish_inputs, renumber_finish

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)


def _ints(*shape: int) -> Array:
    return RNG.integers(-3, 4, shape)


def _larger(a: Any, b: Any) -> Any:
    """Record linkage keeps the larger weight, the left operand on ties: (index, weight, status)."""
    better = b[1] > a[1]
    return tuple(np.where(better, y, x) for x, y in zip(a, b, strict=True))


def _weight(n: Any, e: Any) -> Any:
    weight = np.where(n == e, 4.0, -1.0)
    return index(1), weight, np.where(weight < 0, 0, 1)


def _prl(n: Array, e: Array) -> list[Array]:
    weights = np.where(n[:, None] == e, 4.0, -1.0)
    best = weights.argmax(axis=1)
    weight = weights.max(axis=1)
    return [best, weight, (weight >= 0).astype(int)]


def _convolution(i: Array, f: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(i, f.shape)
    return np.einsum("pqrs,rs->pq", windows, f)


def _channels(i: Array, f: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(i, f.shape[1:3], axis=(1, 2))
    return np.einsum("npqcrs,krsc->npqk", windows, f)


def _capsules(i: Array, f: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(i, f.shape[1:3], axis=(1, 2))
    return np.einsum("npqcuvrs,krscvw->npqkuw", windows, f)


GEMM = {"i": cc, "j": cc, "k": pw("add")}

#: A row of FORMALISM.md's table: pattern, arrays, extents not in the arrays' shapes, notation, what NumPy gives.
TABLE: dict[str, tuple[Pattern, list[Array], str, Callable[..., Any]]] = {
    "map": (
        md_hom(lambda x: x * x + 1, {"i": cc}, "x[i] -> y[i]"), [_ints(7)],
        "md_hom(((x0 * x0) + 1), (++,)) ∘ (x[i]) -> y[i]", lambda x: x * x + 1,
    ),
    "reduce": (
        md_hom(lambda x: x, {"i": pw("max")}, "x[i] -> y[]"), [_ints(7)],
        "md_hom(id, (max,)) ∘ (x[i]) -> y[]", np.max,
    ),
    "scan": (
        md_hom(lambda x: x, {"i": ps("add")}, "x[i] -> y[i]"), [_ints(7)],
        "md_hom(id, (ps(+),)) ∘ (x[i]) -> y[i]", np.cumsum,
    ),
    "dot": (
        md_hom(np.multiply, {"k": pw("add")}, "A[k], B[k] -> C[]"), [_ints(7), _ints(7)],
        "md_hom(*, (+,)) ∘ (A[k], B[k]) -> C[]", np.dot,
    ),
    "gemv": (
        md_hom(np.multiply, {"i": cc, "k": pw("add")}, "A[i,k], x[k] -> y[i]"), [_ints(4, 7), _ints(7)],
        "md_hom(*, (++, +)) ∘ (A[i,k], x[k]) -> y[i]", np.matmul,
    ),
    "gemm": (
        md_hom(np.multiply, GEMM, "A[i,k], B[k,j] -> C[i,j]"), [_ints(4, 7), _ints(7, 3)],
        "md_hom(*, (++, ++, +)) ∘ (A[i,k], B[k,j]) -> C[i,j]", np.matmul,
    ),
    "gemm, transposed": (
        md_hom(np.multiply, GEMM, "A[k,i], B[j,k] -> C[i,j]"), [_ints(7, 4), _ints(3, 7)],
        "md_hom(*, (++, ++, +)) ∘ (A[k,i], B[j,k]) -> C[i,j]", lambda a, b: a.T @ b.T,
    ),
    "gemm, batched": (
        md_hom(np.multiply, {"b": cc, **GEMM}, "A[b,i,k], B[b,k,j] -> C[b,i,j]"), [_ints(2, 4, 5), _ints(2, 5, 3)],
        "md_hom(*, (++, ++, ++, +)) ∘ (A[b,i,k], B[b,k,j]) -> C[b,i,j]", np.matmul,
    ),
    "contraction": (
        md_hom(np.multiply, {**dict.fromkeys("abcd", cc), "e": pw("add"), "f": pw("add")},
               "A[a,e,b,f], B[d,f,c,e] -> C[a,b,c,d]"),
        [_ints(2, 3, 3, 2), _ints(4, 2, 2, 3)],
        "md_hom(*, (++, ++, ++, ++, +, +)) ∘ (A[a,e,b,f], B[d,f,c,e]) -> C[a,b,c,d]",
        lambda a, b: np.einsum("aebf,dfce->abcd", a, b),
    ),
    "stencil": (
        md_hom(lambda a, b, c: a - 2 * b + c, {"i": cc}, "A[i], A[i+1], A[i+2] -> B[i]"), [_ints(9)],
        "md_hom(((x0 - (2 * x1)) + x2), (++,)) ∘ (A[i], A[i+1], A[i+2]) -> B[i]", lambda a: np.diff(a, 2),
    ),
    "Conv2D": (
        md_hom(np.multiply, {"p": cc, "q": cc, "r": pw("add"), "s": pw("add")}, "I[p+r,q+s], F[r,s] -> O[p,q]"),
        [_ints(6, 7), _ints(3, 2)],
        "md_hom(*, (++, ++, +, +)) ∘ (I[p+r,q+s], F[r,s]) -> O[p,q]", _convolution,
    ),
    "MCC": (
        md_hom(np.multiply, {**dict.fromkeys("npqk", cc), **dict.fromkeys("rsc", pw("add"))},
               "I[n,p+r,q+s,c], F[k,r,s,c] -> O[n,p,q,k]"),
        [_ints(2, 5, 6, 3), _ints(4, 2, 3, 3)],
        "md_hom(*, (++, ++, ++, ++, +, +, +)) ∘ (I[n,p+r,q+s,c], F[k,r,s,c]) -> O[n,p,q,k]", _channels,
    ),
    "capsule convolution": (
        md_hom(np.multiply, {**dict.fromkeys("npqkuw", cc), **dict.fromkeys("rscv", pw("add"))},
               "I[n,p+r,q+s,c,u,v], F[k,r,s,c,v,w] -> O[n,p,q,k,u,w]"),
        [_ints(1, 3, 4, 2, 2, 2), _ints(2, 2, 2, 2, 2, 2)],
        "md_hom(*, (++, ++, ++, ++, ++, ++, +, +, +, +)) ∘ "
        "(I[n,p+r,q+s,c,u,v], F[k,r,s,c,v,w]) -> O[n,p,q,k,u,w]", _capsules,
    ),
    "PRL": (
        md_hom(_weight, {"i": cc, "j": pw(_larger, commutative=False, name="max_w")},
               "N[i], E[j] -> index[i], weight[i], status[i]"),
        [np.array([3, 1, 4, 1, 9]), np.array([1, 4, 4, 3])],
        "md_hom((index(1), where((x0 == x1), 4.0, -1.0), where((where((x0 == x1), 4.0, -1.0) < 0.0), 0, 1)), "
        "(++, max_w)) ∘ (N[i], E[j]) -> index[i], weight[i], status[i]", _prl,
    ),
    "all-pairs": (
        md_hom(lambda a, b: (a - b) ** 2, GEMM, "A[i,k], B[j,k] -> C[i,j]"), [_ints(4, 3), _ints(5, 3)],
        "md_hom(power((x0 - x1), 2), (++, ++, +)) ∘ (A[i,k], B[j,k]) -> C[i,j]",
        lambda a, b: ((a[:, None] - b) ** 2).sum(axis=2),
    ),
    "histogram": (
        md_hom(lambda e, b: (e == b).astype(np.int64), {"e": pw("add"), "b": cc}, "E[e], Bin[b] -> H[b]"),
        [RNG.integers(0, 5, 20), np.arange(5)],
        "md_hom(x0 == x1, (+, ++)) ∘ (E[e], Bin[b]) -> H[b]", lambda e, b: np.bincount(e, minlength=5),
    ),
    "two reductions": (
        md_hom(lambda x: (x, x), {"i": pw(("min", "max"))}, "x[i] -> low[], high[]"), [_ints(9)],
        "md_hom((x0, x0), ((min, max),)) ∘ (x[i]) -> low[], high[]", lambda x: [x.min(), x.max()],
    ),
    "maximum bottom box sum": (
        md_hom(lambda x: x, {"i": ps("add"), "j": pw("add")}, "A[i,j] -> O[i]"), [_ints(5, 4)],
        "md_hom(id, (ps(+), +)) ∘ (A[i,j]) -> O[i]", lambda a: np.cumsum(a.sum(axis=1)),
    ),
    "tropical product": (
        md_hom(np.add, {**GEMM, "k": pw("min")}, "A[i,k], B[k,j] -> C[i,j]"), [_ints(4, 5), _ints(5, 3)],
        "md_hom(x0 + x1, (++, ++, min)) ∘ (A[i,k], B[k,j]) -> C[i,j]", lambda a, b: (a[:, :, None] + b).min(axis=1),
    ),
    "Boolean product": (
        md_hom(np.logical_and, {**GEMM, "k": pw("or")}, "A[i,k], B[k,j] -> C[i,j]"),
        [_ints(4, 5) > 1, _ints(5, 3) > 1],
        "md_hom(x0 and x1, (++, ++, or)) ∘ (A[i,k], B[k,j]) -> C[i,j]", np.matmul,
    ),
    "log-sum-exp product": (
        md_hom(np.add, {**GEMM, "k": pw(lambda a, b: np.log(np.exp(a) + np.exp(b)), name="lse")},
               "A[i,k], B[k,j] -> C[i,j]"),
        [_ints(4, 5).astype(float), _ints(5, 3).astype(float)],
        "md_hom(x0 + x1, (++, ++, lse)) ∘ (A[i,k], B[k,j]) -> C[i,j]",
        lambda a, b: np.log((np.exp(a)[:, :, None] * np.exp(b)).sum(axis=1)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", TABLE)
def test_every_row_of_the_table(row: str) -> None:
    pattern, arrays, notation, reference = TABLE[row]
    h = pattern.bind(*arrays)
    assert str(h) == notation
    found, want = interpret(h, *arrays), reference(*arrays)
    for got, expected in zip(found, want, strict=True) if isinstance(found, tuple) else [(found, want)]:
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        assert got.dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("row", TABLE)
def test_canonical_form_and_stages_compute_the_same(row: str) -> None:
    pattern, arrays, _, reference = TABLE[row]
    values: dict[tuple[str, int], Array] = {("input", n): np.ascontiguousarray(a) for n, a in enumerate(arrays)}
    h = pattern.bind(*values.values())
    for stage in stages(h):
        c = canonical(stage.mdhom)
        shaped = [values[a.role, a.position].reshape(v.shape) for a, v in zip(stage.inputs, c.inputs, strict=True)]
        results = interpret(c, *shaped)
        results = results if isinstance(results, tuple) else (results,)
        values.update({(a.role, a.position): r for a, r in zip(stage.outputs, results, strict=True)})
    want = reference(*arrays)
    for n, (view, expected) in enumerate(zip(h.outputs, want if len(h.outputs) > 1 else [want], strict=True)):
        np.testing.assert_allclose(values["output", n].reshape(view.shape), expected, rtol=1e-12)


A, B, X = np.ones((4, 5)), np.ones((5, 3)), np.ones(4)

ERRORS: list[tuple[type[Exception], str, Callable[[], object]]] = [
    (ValueError, "distribute", lambda: md_hom(np.add, {"i": pw("add"), "j": pw("max")}, "A[i,j], A[i,j] -> y[]")
     .bind(A)),
    (IndexError, "runs over", lambda: md_hom(lambda a: a, {"i": cc}, "x[i+2] -> y[i]").bind(X, i=4)),
    (IndexError, "runs over", lambda: md_hom(lambda a: a, {"i": cc}, "x[i-1] -> y[i]").bind(X, i=4)),
    (ValueError, "write each element once", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[2*i]").bind(X)),
    (ValueError, "write each element once", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i,i]").bind(X)),
    (ValueError, "several times", lambda: md_hom(lambda a: a, {"i": cc, "j": cc}, "A[i,j] -> y[i]").bind(A)),
    (ValueError, "write each element once", lambda: md_hom(lambda a: a, {"i": pw("add")}, "x[i] -> y[i]").bind(X)),
    (ValueError, "is not a list of accesses", lambda: md_hom(lambda a: a, {"i": cc}, "x[i -> y[i]")),
    (ValueError, "inputs -> outputs", lambda: md_hom(lambda a: a, {"i": cc}, "x[i]")),
    (ValueError, "none of the dimensions", lambda: md_hom(lambda a: a, {"i": cc}, "x[k] -> y[i]")),
    (ValueError, "is not affine", lambda: md_hom(lambda a: a, {"i": cc}, "x[i*i] -> y[i]")),
    (ValueError, "is not affine", lambda: md_hom(lambda a: a, {"i": cc}, "x[i//2] -> y[i]")),
    (ValueError, "is not an access", lambda: md_hom(lambda a: a, {"i": cc}, "x(i) -> y[i]")),
    (ValueError, "is none of constant", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]", boundary={"x": "odd"})),
    (ValueError, "arrays given", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]").bind(X, X)),
    (ValueError, "array of 2 axes, 1 are needed", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]").bind(A)),
    (ValueError, "elsewhere", lambda: md_hom(np.multiply, GEMM, "A[i,k], B[k,j] -> C[i,j]").bind(A, np.ones((6, 3)))),
    (ValueError, "cannot be found", lambda: md_hom(lambda a: a, {"i": cc, "j": cc}, "x[i] -> y[i,j]").bind(X)),
    (ValueError, "i has 3", lambda: md_hom(np.hypot, {"i": cc}, "z[2*i], v[i], w[i] -> y[i]").bind(X, B[0], X)),
    (ValueError, "results for", lambda: md_hom(lambda a: (a, a), {"i": cc}, "x[i] -> y[i]").bind(X)),
    (ValueError, "unknown operator", lambda: md_hom(lambda a: a, {"i": pw("plus")}, "x[i] -> y[]").bind(X)),
    (ValueError, "combines booleans", lambda: md_hom(lambda a: a, {"i": pw("or")}, "x[i] -> y[]").bind(X)),
    (ValueError, "one each is needed", lambda: md_hom(lambda a: a, {"i": pw(("add", "max"))}, "x[i] -> y[]").bind(X)),
    (ValueError, "moves with a reduced", lambda: md_hom(abs, {"i": pw("add")}, "x[i] -> y[]", finish=np.add).bind(X)),
    (ValueError, "'X' is none of the inputs x", lambda: md_hom(
        lambda a: a, {"i": cc}, "x[i] -> y[i]", boundary={"X": "wrap"})),
    (ValueError, "'y' is none of the inputs x", lambda: md_hom(
        lambda a: a, {"i": cc}, "x[i] -> y[i]", boundary={"y": "wrap"})),
    (ValueError, r"'i\\n' is no name for a dimension", lambda: md_hom(lambda a: a, {"i\n": cc}, "x[0] -> y[0]")),
    (ValueError, "'' is no name for a dimension", lambda: md_hom(lambda a: a, {"": cc}, "x[0] -> y[0]")),
    (ValueError, "must be given", lambda: md_hom("half f(float a) { return a; }", {"i": cc}, "x[i] -> y[i]").bind(X)),
    (TypeError, "has no truth", lambda: md_hom(lambda a: a if a > 0 else -a, {"i": cc}, "x[i] -> y[i]").bind(X)),
    (TypeError, "no OpenCL counterpart", lambda: md_hom(np.spacing, {"i": cc}, "x[i] -> y[i]").bind(X)),
    (TypeError, "single values", lambda: md_hom(np.sort, {"i": cc}, "x[i] -> y[i]").bind(X)),
    (TypeError, "returned str", lambda: md_hom(lambda a: "a", {"i": cc}, "x[i] -> y[i]").bind(X)),
    (TypeError, "is no float", lambda: md_hom(float, {"i": cc}, "x[i] -> y[i]").bind(X)),
    (TypeError, "scalar: takes a function of values", lambda: md_hom(3, {"i": cc}, "x[i] -> y[i]")),
    (TypeError, r"combine: takes operators by dimension.*not \['i'\]", lambda: md_hom(np.abs, ["i"], "x[i] -> y[i]")),
    (TypeError, "views: takes text such as", lambda: md_hom(np.abs, {"i": cc}, 3)),
    (TypeError, "pw: function: takes one of add, mul.*not 3", lambda: pw(3)),
    (TypeError, r"scalar: must take 2 values: .* 1 positional argument but 2", lambda: md_hom(
        lambda a: a, {"i": cc}, "x[i], y[i] -> z[i]").bind(X, X)),
    (TypeError, r"scalar: must take 1 value: .*add\(\) takes from 2", lambda: md_hom(
        np.add, {"i": cc}, "x[i] -> z[i]").bind(X)),
    (TypeError, r"combine operator: must take 2 tuples of 2 values: .* 1 positional", lambda: md_hom(
        lambda a: (a, a), {"i": pw(lambda a: a)}, "x[i] -> y[], z[]").bind(X)),
    (TypeError, "finish: must take 2 values", lambda: md_hom(
        np.abs, {"i": cc}, "x[i] -> y[i]", finish=lambda: 0).bind(X)),
    (TypeError, "'foo' for i is no combine operator", lambda: md_hom(lambda a: a, {"i": "foo"}, "x[i] -> y[i]")),
    (TypeError, "i=5.0 is no whole number", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]").bind(X, i=5.0)),
    (TypeError, "i='5' is no whole number", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]").bind(X, i="5")),
    (TypeError, r"i=\[5\] is no whole number", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]").bind(X, i=[5])),
    (ValueError, "beyond 64 bits", lambda: md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]").bind(X, i=2**63)),
    (ValueError, "beyond 64 bits", lambda: md_hom(lambda a: a, {"i": cc}, f"x[i-{2**64}] -> y[i]")),
    (ValueError, "beyond 64 bits", lambda: md_hom(lambda a: a, {"i": cc}, f"x[{2**62}*4*i] -> y[i]")),
    (IndexError, "beyond 62 bits", lambda: md_hom(
        np.add, {"i": cc}, f"x[i], x[{2**61}*i] -> y[i]", boundary={"x": "wrap"}).bind(X, i=4)),
    (ValueError, "is not affine", lambda: md_hom(lambda a: a, {"i": cc}, "x[True*i] -> y[i]")),
    (RuntimeError, "only has a meaning", lambda: index(0)),
    (ValueError, "-1 is no dimension", lambda: md_hom(lambda a: a + index(-1), {"i": cc}, "x[i] -> y[i]").bind(X)),
    (IndexError, "1 is none of 1 dim", lambda: md_hom(lambda a: a + index(1), {"i": cc}, "x[i] -> y[i]").bind(X)),
    (IndexError, "1 is none of 1 dim", lambda: md_hom(
        lambda a: a, {"i": cc}, "x[i] -> y[i]", finish=lambda y, a: y * index(1)).bind(X)),
    (TypeError, "as an integer", lambda: md_hom(lambda a: a + index(0.0), {"i": cc}, "x[i] -> y[i]").bind(X)),
    (ValueError, "uses an index", lambda: md_hom(
        lambda a: a, {"i": pw(lambda a, b: a + b * index(0))}, "x[i] -> y[]").bind(X)),
    (ValueError, "negative integer powers", lambda: md_hom(lambda a: a**-1, {"i": cc}, "x[i] -> y[i]").bind(_ints(3))),
    (ValueError, "negative integer powers", lambda: md_hom(
        lambda a: np.power(a, np.int8(-2)), {"i": cc}, "x[i] -> y[i]").bind(_ints(3))),
    (ValueError, "no identity", lambda: interpret(
        md_hom(lambda a: a, {"i": pw(np.hypot)}, "x[i] -> y[]").bind(np.ones(0)), np.ones(0))),
    (ValueError, "was made for", lambda: interpret(md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]").bind(X), np.ones(3))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "make"), ERRORS, ids=[f"{n}-{e[1]}" for n, e in enumerate(ERRORS)])
def test_errors_say_what_is_wrong(kind: type[Exception], message: str, make: Callable[[], object]) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_mixed_operators_are_combined_as_nested() -> None:
    a = _ints(4, 5)
    h = md_hom(lambda x: x, {"i": pw("max"), "j": pw("add")}, "A[i,j] -> y[]", nested=True).bind(a)
    assert interpret(h, a) == a.sum(axis=1).max()


@pytest.mark.parametrize("mode", ["constant", "nearest", "reflect", "mirror", "wrap"])
def test_boundary_modes_are_scipys(mode: str) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    x = _ints(3).astype(float)
    h = md_hom(lambda a, b: a + 2 * b, {"i": cc}, "x[i-5], x[i+4] -> y[i]", boundary={"x": mode}).bind(x, i=3)
    weights = np.zeros(11)
    weights[0], weights[9] = 1, 2
    np.testing.assert_array_equal(interpret(h, x), ndimage.correlate1d(x, weights, mode=mode))


def test_comparisons_of_int64_and_uint64_are_numpys() -> None:
    signed, unsigned = np.array([-(2**63), -1, 0, 1, 2**63 - 1]), np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], "u8")
    compare = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
    for a, b in ((signed, unsigned), (unsigned, signed)):
        for ufunc in compare:
            h = md_hom(ufunc, {"i": cc, "j": cc}, "x[i], y[j] -> z[i,j]").bind(a, b)
            np.testing.assert_array_equal(interpret(h, a, b), ufunc.outer(a, b))
            # No instruction compares different types, which C would convert.
            steps = [h.scalar.body[n] for n in h.scalar.live()]
            assert all(len({h.scalar.body[a].dtype for a in s.args}) < 2 for s in steps if s.op == ufunc.__name__)
    for ufunc in compare:
        for number in (-1, 300, 2**64, -(2**70)):
            h = md_hom(lambda x: (ufunc(x, number), ufunc(number, x)), {"i": cc}, "x[i] -> y[i], z[i]")  # noqa: B023
            x = np.array([0, 1, 127], "i1") if number > 0 else unsigned
            np.testing.assert_array_equal(interpret(h.bind(x), x), [ufunc(x, number), ufunc(number, x)])


def _gemm(a: Array, b: Array, views: str = "A[i,k], B[k,j] -> C[i,j]", names: str = "ijk") -> MdHom:
    i, j, k = names
    return md_hom(np.multiply, {i: cc, j: cc, k: pw("add")}, views).bind(a, b)


def test_mdhs_are_values() -> None:
    assert _gemm(A, B) == _gemm(A, B)
    assert len({_gemm(A, B), _gemm(A, B)}) == 1
    with pytest.raises(AttributeError):
        _gemm(A, B).extents = (1, 1, 1)  # type: ignore[misc]


def test_views_describe_memory() -> None:
    x = np.arange(60.0).reshape(5, 12)[::-1, 1::3]
    h = md_hom(lambda a: a, {"i": cc, "j": cc}, "x[j,i] -> y[i,j]").bind(x)
    view = h.inputs[0]
    assert (view.shape, view.strides, view.offset, view.elements()) == ((5, 4), (-12, 3), 48, 58)
    assert view.linear(view.accesses[0]) == Affine((3, -12), 48)


def test_shapes_are_checked_when_written_by_hand() -> None:
    h = _gemm(A, B)
    with pytest.raises(ValueError, match="one coefficient for each"):
        replace(h, inputs=(View("A", h.inputs[0].dtype, (4,), (1,), 0, ((Affine((1,)),),)), h.inputs[1]))
    with pytest.raises(ValueError, match="operators and"):
        replace(h, extents=(4, 3))


def test_extents_of_zero_are_fine() -> None:
    h = _gemm(np.ones((4, 0)), np.ones((0, 3)))
    np.testing.assert_array_equal(interpret(h, np.ones((4, 0)), np.ones((0, 3))), np.zeros((4, 3)))


def test_threads_trace_independently() -> None:
    both = threading.Barrier(2, timeout=20)

    def make(dim: int) -> MdHom:
        def place(x: Any) -> Any:
            both.wait()
            found = index(dim)
            both.wait()
            return x * found

        return md_hom(place, {"i": cc, "j": cc}, "A[i,j] -> B[i,j]").bind(A)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(make, (0, 1)))
    assert [str(h.scalar) for h in found] == ["(x0 * index(0))", "(x0 * index(1))"]


def test_values_of_another_tracing_are_refused() -> None:
    kept: list[Any] = []
    md_hom(lambda x: kept.append(x) or x, {"i": cc}, "x[i] -> y[i]").bind(X)
    for function in (lambda x: x + kept[0], lambda x: kept[0] + 1, lambda x: np.where(x > 0, kept[0], x)):
        with pytest.raises(TypeError, match="another function"):
            md_hom(function, {"i": cc}, "x[i] -> y[i]").bind(X)


def test_functions_are_traced_once_for_each_type() -> None:
    state = {"factor": 2}
    pattern = md_hom(lambda x: x * state["factor"], {"i": cc}, "x[i] -> y[i]", finish=lambda y, x: y + state["factor"])
    first = pattern.bind(np.arange(3))
    state["factor"] = 5
    assert interpret(pattern.bind(np.arange(4)), np.arange(4)).tolist() == [2, 4, 6, 8]
    assert pattern.bind(np.arange(3)) == first
    assert interpret(pattern.bind(np.arange(4.0)), np.arange(4.0)).tolist() == [5, 10, 15, 20]


def test_text_with_nothing_to_compute() -> None:
    text = "float f(float a) { return a; }"
    rows = md_hom(text, {"i": cc, "j": pw("add")}, "x[i,j] -> y[i]", results=np.float32)
    for shape in ((0, 3), (3, 0), (0, 0)):
        x = np.ones(shape, np.float32)
        np.testing.assert_array_equal(interpret(rows.bind(x), x), x.sum(axis=1), strict=True)
    with pytest.raises(TypeError, match="cannot be interpreted"):
        interpret(rows.bind(np.ones((1, 1), np.float32)), np.ones((1, 1), np.float32))


def test_finish_is_carried_to_a_later_mdh() -> None:
    h = md_hom(
        lambda a, n, b: a * b, {"i": cc, "j": pw("add")}, "A[i,j], N[i], B[i,j] -> C[i]",
        finish=lambda t, a, n, b: t / n + index(0),
    ).bind(A, X.astype("f4"), A)  # fmt: skip
    assert finish_inputs(h) == (1,)
    later = renumber_finish(h)
    assert later is not None
    assert str(later) == "((x0 / x2) + index(0))"
    assert later.parameters == (np.dtype(float), np.dtype(float), np.dtype("f4"))
    assert renumber_finish(replace(h, finish=None)) is None
