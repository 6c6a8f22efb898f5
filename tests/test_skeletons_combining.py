"""Skeletons that combine elements, `reduce`, `scan` and `allpairs`: as those of `test_skeletons.py`."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from skeleton_values import DOT, DTYPES, interpreted, numbers, same

import mdhnp
from mdhnp import skeletons
from mdhnp.runtime.devices import Device

UFUNCS = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
}
AXES = [None, 0, -1, (0, 2)]


NO_ORDER = [("max", "c8"), ("min", "c8")]


@pytest.mark.parametrize(("name", "dtype"), [(n, t) for n in UFUNCS for t in DTYPES if (n, t) not in NO_ORDER])
def test_reduce_as_ufuncs_do(name: str, dtype: str) -> None:
    x = np.minimum(numbers((3, 4, 2), "i1"), 2).astype(dtype)
    for axis in (None, 0, -1, (0, 2)):
        wanted = np.asarray(UFUNCS[name].reduce(x, axis=axis))
        same(interpreted(skeletons.reduce(name, axis=axis), x), wanted)
        same(interpreted(skeletons.reduce(UFUNCS[name], axis=axis), x), wanted)


def compose(p: Any, q: Any) -> Any:
    """First p, then q, where (s, o) is the map t -> s * t + o: an operator that does not commute."""
    return p[0] * q[0], p[1] * q[0] + q[1]


COMPOSE = "void f(int s, int o, int t, int p, int *a, int *b) { *a = s * t; *b = o * t + p; }"


@pytest.mark.parametrize("identity", [None, (1, 0)])
def test_operators_on_tuples_keep_their_order(device: Device, identity: Any) -> None:
    s, o = numbers((700,), "i4"), numbers((700,), "i4", 1)
    with np.errstate(over="ignore"):
        prefixes = list(accumulate(zip(s, o, strict=True), compose))
    same(np.array(interpreted(skeletons.reduce(compose, identity=identity), s, o)), np.array(prefixes[-1]))
    same(np.array(skeletons.reduce(COMPOSE, identity=identity)(s, o)), np.array(prefixes[-1]))
    same(np.stack(interpreted(skeletons.scan(compose, identity=identity), s, o)), np.array(prefixes).T)
    if identity is None:
        same(np.stack(skeletons.scan(COMPOSE)(s, o)), np.array(prefixes).T)
    else:
        exclusive = skeletons.scan(COMPOSE, identity=identity, exclusive=True)(s, o)
        same(np.stack(exclusive), np.array([identity, *prefixes[:-1]], "i4").T)


@pytest.mark.parametrize(
    ("name", "dtype"), [("add", "i1"), ("add", "f4"), ("mul", "u2"), ("max", "f4"), ("min", "i4"), ("or", "i4")]
)
@pytest.mark.parametrize(("shape", "axis"), [((41,), None), ((5, 6), 0), ((2, 7, 3), -2)])
def test_scan(name: str, dtype: str, shape: tuple[int, ...], axis: int | None) -> None:
    x = numbers(shape, dtype)
    inclusive = UFUNCS[name].accumulate(x, axis=axis or 0)
    same(interpreted(skeletons.scan(name, axis=axis), x), inclusive)
    first = {"add": 0, "mul": 1, "or": 0}.get(name, -np.inf if name == "max" else np.iinfo("i4").max)
    shifted = np.roll(inclusive, 1, axis or 0)
    np.moveaxis(shifted, axis or 0, 0)[0] = first
    same(interpreted(skeletons.scan(UFUNCS[name], axis=axis, exclusive=True), x), shifted)


#: Functions of rows, and of all elements of the row and the column, (n, 1, d) and (1, m, d).
ROWS: dict[str, tuple[Any, Any]] = {
    "manhattan": (lambda r, c, d: np.sum(np.abs(r - c)), lambda r, c: abs(r - c).sum(-1)),
    "mean": (lambda r, c, d: (r * c).sum() / d, lambda r, c: (r * c).sum(-1) / np.float32(r.shape[-1])),
    "matmul": (lambda r, c, d: r @ c, lambda r, c: (r * c).sum(-1)),
    "dot of a number": (lambda r, c, d: np.dot(2 * r, c + r[0]), lambda r, c: (2 * r * (c + r[..., :1])).sum(-1)),
    "written out": (lambda r, c, d: sum(a * b for a, b in zip(r, c, strict=True)), lambda r, c: (r * c).sum(-1)),
    "by number": (lambda r, c, d: r[0] * c[-1] + c[1], lambda r, c: r[..., 0] * c[..., -1] + c[..., 1]),
    "several": (
        lambda r, c, d: np.max(np.where(r > c, r, 0)) + np.min(r) * c[0],
        lambda r, c: np.where(r > c, r, 0).max(-1) + r.min(-1) * c[..., 0],
    ),
    "whether": (lambda r, c, d: np.logical_and(np.all(r <= c + 3), np.any(r == c)),
                lambda r, c: (r <= c + 3).all(-1) & (r == c).any(-1)),
    "reduced": (lambda r, c, d: np.add.reduce(r) - c.prod(), lambda r, c: r.sum(-1) - c.prod(-1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_allpairs_of_rows(name: str) -> None:
    a, b = numbers((6, 4), "f4"), numbers((4, 5), "f4", 1)
    function, expected = ROWS[name]
    wanted = expected(a[:, np.newaxis], b.T[np.newaxis])
    same(interpreted(skeletons.allpairs(function), a, b), np.broadcast_to(wanted, (6, 5)))


def test_allpairs_of_rows_may_be_stacked_and_several() -> None:
    a, b = numbers((3, 1, 6, 4), "f4"), numbers((2, 4, 5), "f4", 1)
    products, total = interpreted(skeletons.allpairs(lambda r, c, d: (r @ c, np.sum(r))), a, b)
    same(products, a @ b)
    same(total, np.broadcast_to(a.sum(-1)[..., np.newaxis], products.shape))
    small = skeletons.allpairs(lambda r, c, d: np.sum(r))
    same(
        interpreted(small, a[0, 0].astype("i1"), b[0]),
        np.broadcast_to(a[0, 0].sum(-1, dtype="i8")[:, np.newaxis], (6, 5)),
    )


def test_allpairs_of_text_that_walks_over_rows(device: Device) -> None:
    product = skeletons.allpairs(DOT)
    for shapes in [((6, 4), (4, 5)), ((3, 1, 6, 4), (2, 4, 5)), ((6, 0), (0, 5)), ((1, 4), (4, 1))]:
        a, b = numbers(shapes[0], "f4"), numbers(shapes[1], "f4", 1)
        same(product(a, b), a @ b)
        same(product(a, np.swapaxes(a, -1, -2)), a @ np.swapaxes(a, -1, -2))
    a, b = numbers((6, 4), "f4"), numbers((4, 5), "f4", 1)
    same(product(mdhnp.asarray(a, device=device), b).numpy(), a @ b)
    assert str(product.bind(a, b)) == "md_hom(func(x0, x1), (++, ++)) ∘ (A[i,0:4], B[0:4,j]) -> O0[i,j]"
    ends = "void f(const global float *r, int d, int s, const global float *c, int e, int t, float *x, int *n) {"
    first, length = skeletons.allpairs(ends + "*x = r[0] - c[0], *n = d + e; }", results=("f4", "i4"))(a, b)
    same(first, a[:, :1] - b[0])
    same(length, np.full((6, 5), 8, "i4"))


def test_allpairs_of_elements() -> None:
    x, y = numbers((3, 2), "i2"), numbers((4,), "f4", 1)
    same(interpreted(skeletons.allpairs(skeletons.zip(np.hypot)), x, y), np.hypot.outer(x, y))
    same(interpreted(skeletons.allpairs("max", np.add), x, x.T), (x[:, np.newaxis] + x).max(-1))
