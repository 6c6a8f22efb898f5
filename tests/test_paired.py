"""Sums of products of wide integers by half as many products: the same bits, and what is left as it is."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp.calls.store import forget
from mdhnp.frontend.einsum import _describe
from mdhnp.mdh import MdHom, canonical, cc, interpret, md_hom, paired, pw
from mdhnp.runtime.devices import Device

Array = np.ndarray[Any, Any]

MODULE = import_module("mdhnp.mdh.paired")  # whose name in its folder is the function's


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small MDHs are rewritten, too."""
    for name, least in {"_POINTS": 0, "_SHARED": 3, "_TERMS": range(4, 100)}.items():
        monkeypatch.setattr(MODULE, name, least)


def integers(shape: tuple[int, ...], dtype: str) -> Array:
    """Any integers, whose products wrap around, and the least and the greatest one."""
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    found = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    least, greatest = (np.array(n, dtype) for n in (info.min, info.max))
    return np.where(rng.random(shape) < 0.2, np.where(found % 2 == 0, least, greatest), found)


#: Subscripts and shapes.
PRODUCTS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "even": ("ij,jk->ik", (5, 12), (12, 37)),
    "odd": ("ij,jk->ik", (21, 13), (13, 7)),
    "transposed": ("ji,kj->ki", (11, 4), (3, 11)),
    "a stack": ("bij,bjk->bik", (3, 4, 6), (3, 6, 5)),
    "several sums": ("aibc,cbk->ika", (3, 3, 5, 4), (4, 5, 6)),
    "sums that are one": ("abcd,efcd->abef", (2, 2, 5, 7), (3, 2, 5, 7)),
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_stages_and_kernels_give_the_same_bits(device: Device, name: str, dtype: str, backwards: bool) -> None:
    subscripts, *shapes = PRODUCTS[name]
    a, b = (integers(shape, dtype)[:: -1 if backwards else 1] for shape in shapes)
    want = np.einsum(subscripts, a, b)
    h = canonical(_describe([a, b], subscripts, "auto").graph.steps[0].mdhom)
    given = [x.reshape(v.shape) for x, v in zip((a, b), h.inputs, strict=True)]
    values: dict[Any, Any] = {("input", n): x for n, x in enumerate(given)}
    found = paired(h)
    for stage in found:
        values[tuple(stage.outputs[0])] = interpret(stage.mdhom, *[values[tuple(n)] for n in stage.inputs])
    assert len(found) == 3
    np.testing.assert_array_equal(values["output", 0], interpret(h, *given))
    forget()
    with mdhnp.config(host="never", specialise="always", tuning="off"):
        np.testing.assert_array_equal(mdhnp.einsum(subscripts, a, b), want)
        schedules = mdhnp.explain(mdhnp.einsum, subscripts, a, b).schedules
        assert len(schedules) == (3 if device.caps.kind == "cpu" else 1)
        with mdhnp.config(schedule=schedules):
            np.testing.assert_array_equal(mdhnp.einsum(subscripts, a, b), want)


X, Y = integers((6, 8), "int64"), integers((8, 7), "int64")
DIMS = {"i": cc, "j": cc, "k": pw("add")}
VIEWS = "A[i,k], B[k,j] -> C[i,j]"

#: What is left: one thing each that makes it another computation, or costs more than it saves.
LEFT: dict[str, Callable[[], MdHom]] = {
    "floats": lambda: md_hom(np.multiply, DIMS, VIEWS).bind(X.astype(float), Y.astype(float)),
    "narrow": lambda: md_hom(np.multiply, DIMS, VIEWS).bind(X.astype(np.int32), Y.astype(np.int32)),
    "widened": lambda: md_hom(
        lambda a, b: a.astype(np.int64) * b, DIMS, VIEWS
    ).bind(X.astype(np.int32), Y),
    "no product": lambda: md_hom(np.bitwise_and, DIMS, VIEWS).bind(X, Y),
    "a sum and a product": lambda: md_hom(lambda a, b: a * b + 1, DIMS, VIEWS).bind(X, Y),
    "a square": lambda: md_hom(lambda a, b: a * a, DIMS, VIEWS).bind(X, Y),
    "a greatest product": lambda: md_hom(np.multiply, DIMS | {"k": pw("max")}, VIEWS).bind(X, Y),
    "finished": lambda: md_hom(np.multiply, DIMS, VIEWS, finish=lambda c, a, b: c + 1).bind(X, Y),
    "neighbours": lambda: md_hom(lambda a, n, b: a * b, DIMS, "A[i,k], A[i,k+1], B[k,j] -> C[i,j]").bind(X, Y, k=7),
    "beyond the border": lambda: md_hom(
        np.multiply, DIMS, "A[i,k+1], B[k,j] -> C[i,j]", boundary={"A": "wrap"}
    ).bind(X, Y),
    "few columns": lambda: md_hom(np.multiply, DIMS, VIEWS).bind(X, Y[:, :2]),
    "few terms": lambda: md_hom(np.multiply, DIMS, VIEWS).bind(X[:, :3], Y[:3]),
    "a sum of one factor": lambda: md_hom(
        np.multiply, DIMS | {"l": pw("add")}, "A[i,k], B[k,j,l] -> C[i,j]"
    ).bind(X, integers((8, 7, 4), "int64")),
    "odd terms of several sums": lambda: md_hom(
        np.multiply, DIMS | {"l": pw("add")}, "A[i,k,l], B[l,k,j] -> C[i,j]"
    ).bind(integers((6, 5, 7), "int64"), integers((7, 5, 7), "int64")),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name: str) -> None:
    assert paired(md_hom(np.multiply, DIMS, VIEWS).bind(X, Y))
    assert not paired(LEFT[name]())


def test_small_products_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_POINTS", 6 * 7 * 8 + 1)
    assert not paired(md_hom(np.multiply, DIMS, VIEWS).bind(X, Y))
