"""Calls on arrays of dask's: the values of NumPy's however arrays are chunked, and what cannot be computed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask_arrays import SCAN, WEIGHTS, Array, assert_same, numbers, results, softmax
from hypothesis import given, note, settings
from hypothesis import strategies as st

import mdhnp
import mdhnp.dask
from mdhnp.dask.task import PartComputation, use_device
from mdhnp.mdh import interpret

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

pytestmark = pytest.mark.usefixtures("in_threads")

MODES = ("valid", "constant", "nearest", "reflect", "mirror", "wrap")


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are evaluated by definition, where it is graphs that are tested: there are too many kernels."""

    def compute(self: PartComputation, arrays: list[Array]) -> Any:
        for v, a in zip(self.mdhom.inputs, arrays, strict=True):
            assert (v.shape, v.dtype) == (a.shape, a.dtype)
        return interpret(self.mdhom, *arrays)

    monkeypatch.setattr(PartComputation, "compute", compute)


# ------------------------------------------------------------------------------------------------------ random chunks


def better(p: Any, q: Any) -> Any:
    take = q[0] > p[0]
    return np.where(take, q[0], p[0]), np.where(take, q[1], p[1])


FIRST_LARGEST = mdhnp.pw(better, commutative=False, check=False)
AFFINE = mdhnp.ps(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), commutative=False, name="affine")


#: What is called, on arrays of these shapes.
CALLS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    **{
        f"einsum {subscripts}": (lambda *a, s=subscripts: mdhnp.einsum(s, *a), shapes)
        for subscripts, shapes in {
            "ij,jk->ik": ((7, 6), (6, 5)),
            "ij,jk->ki": ((7, 6), (6, 5)),
            "ij,jk->": ((7, 6), (6, 5)),
            "ij,jk,kl->il": ((4, 6), (6, 5), (5, 3)),
            "aij,ajk->aik": ((3, 4, 5), (3, 5, 2)),
            "ii->i": ((6, 6),),
            "ii": ((6, 6),),
            "ij->ji": ((7, 6),),
            "ij->": ((7, 6),),
            "ij,ij->ij": ((7, 6), (7, 6)),
            "i,j": ((9,), (8,)),
            "...j,j": ((3, 4, 5), (5,)),
            "ij,jk": ((7, 1), (6, 5)),
        }.items()
    },
    "matmul": (mdhnp.matmul, ((2, 5, 6), (6, 4))),
    "dot": (mdhnp.dot, ((11,), (11,))),
    "tensordot": (lambda a, b: mdhnp.tensordot(a, b, ([0, 1], [1, 0])), ((4, 5, 3), (5, 4, 2))),
    **{f"stencil {mode}": (lambda a, m=mode: mdhnp.stencil(a, WEIGHTS, m), ((9, 7),)) for mode in MODES},
    **{
        f"neighbours {mode}": (lambda a, m=mode: mdhnp.stencil(a, lambda n: n[-2, 0] - n[1, 3], m), ((9, 7),))
        for mode in MODES
    },
    "scan": (mdhnp.md_hom(lambda x: x, {"i": SCAN}, "x[i] -> y[i]"), ((17,),)),
    "table": (mdhnp.md_hom(lambda x: x, {"i": SCAN, "j": SCAN}, "x[i,j] -> y[i,j]"), ((7, 6),)),
    "sums of a scan": (mdhnp.md_hom(lambda x: x, {"i": SCAN, "j": mdhnp.pw("add")}, "x[i,j] -> y[i]"), ((7, 6),)),
    "affine scan": (
        mdhnp.md_hom(lambda x, z: (x, z), {"i": AFFINE, "j": mdhnp.cc}, "x[i,j], z[i,j] -> y[i,j], w[i,j]"),
        ((7, 4), (7, 4)),
    ),
    "first largest": (
        mdhnp.md_hom(
            lambda x: (x, mdhnp.index(0)), {"i": FIRST_LARGEST, "j": mdhnp.cc}, "x[i,j] -> y[j], z[j]",
        ), ((9, 5),),
    ),
    "backwards": (partial(mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc}, "x[-i+8] -> y[i]"), i=9), ((9,),)),
    "written backwards": (mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc}, "x[i] -> y[-i+8]"), ((9,),)),
    "every other": (mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc}, "x[2*i+1] -> y[i]"), ((12,),)),
    "convolution": (
        mdhnp.md_hom(np.multiply, {"p": mdhnp.cc, "r": mdhnp.pw("add")}, "x[p+r], w[r] -> y[p]"), ((14,), (3,)),
    ),
    "nested": (
        mdhnp.md_hom(
            lambda x: x, {"i": mdhnp.pw("max"), "j": mdhnp.pw("add"), "k": mdhnp.cc}, "x[i,j,k] -> y[k]", nested=True,
        ), ((4, 5, 3),),
    ),
    "finished": (
        mdhnp.md_hom(
            lambda x, _: x, {"i": mdhnp.pw("add")}, "x[i], x[0] -> y[]", finish=lambda total, _, first: total - first,
        ), ((13,),),
    ),
    "fused": (mdhnp.fuse(lambda a, b: ((a - b) * 2 - a.max(axis=0, keepdims=True), (a + b).sum())), ((7, 6), (7, 6))),
    "softmax": (mdhnp.fuse(lambda a: softmax(a * 0.0)), ((9, 6),)),
    "attention": (mdhnp.fuse(lambda q, k, v: softmax((q @ k.T) * 0.0) @ v), ((9, 3), (4, 3), (4, 2))),
    "rows": (mdhnp.fuse(lambda a: (a - a.max(axis=1, keepdims=True)).sum(axis=1)), ((7, 6),)),
    "list": (mdhnp.fuse(lambda a: tuple([a[n : n + 2].T @ a[n : n + 2] for n in (0, 2, 4)])), ((7, 6),)),
    "views": (mdhnp.fuse(lambda a: (a.T, (a + 1)[2:4, ::-1], a.reshape(3, 14), a[:, 0])), ((7, 6),)),
}  # fmt: skip


@st.composite
def chunks(draw: Any, extent: int) -> tuple[int, ...]:
    """Sizes of chunks that make an extent: any, some of them 0."""
    ends = draw(st.lists(st.integers(0, extent), max_size=4))
    return tuple(np.diff([0, *sorted(ends), extent]).tolist())


@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
@settings(max_examples=12)
def test_results_are_those_of_whole_arrays(interpreted: None, name: str, data: Any) -> None:
    function, shapes = CALLS[name]
    arrays = [numbers(shape, seed=n) for n, shape in enumerate(shapes)]
    cut = [da.from_array(a, chunks=tuple([data.draw(chunks(n)) for n in a.shape])) for a in arrays]
    note(f"{[a.chunks for a in cut]}")
    assert_same(mdhnp.dask.apply(function, *cut), function(*arrays))


@pytest.mark.parametrize("name", CALLS)
def test_chunks_of_one_element(interpreted: None, name: str) -> None:
    function, shapes = CALLS[name]
    arrays = [numbers(shape, seed=n) for n, shape in enumerate(shapes)]
    found, want = mdhnp.dask.apply(function, *[da.from_array(a, chunks=1) for a in arrays]), function(*arrays)
    for got, exact in zip(results(found), results(want), strict=True):
        np.testing.assert_array_equal(got.compute(), exact)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_numpy_computes_parts_of_all_types(dtype: str) -> None:
    a, b = numbers((9, 8), dtype), numbers((8, 7), dtype, 1)
    x, y = da.from_array(a, chunks=((2, 0, 7), (3, 5))), da.from_array(b, chunks=(4, 3))
    assert_same(mdhnp.dask.einsum("ij,jk->ik", x, y), np.einsum("ij,jk->ik", a, b))
    total = mdhnp.md_hom(lambda v: v, {"i": mdhnp.pw("or" if dtype == "?" else "add")}, "x[i] -> y[]")
    assert_same(mdhnp.dask.apply(total, x[:, 1]), interpret(total.bind(a[:, 1]), a[:, 1]))


@pytest.mark.parametrize("name", ["einsum ij,jk->ki", "stencil wrap", "first largest", "affine scan", "rows"])
def test_kernels_compute_parts(name: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdhnp.config, "host", "never")
    function, shapes = CALLS[name]
    arrays = [np.asfortranarray(numbers(shape, "i4", n)) for n, shape in enumerate(shapes)]
    use_device(device)
    try:
        found = mdhnp.dask.apply(function, *[da.from_array(a, chunks=5) for a in arrays])
        assert_same(found, function(*arrays))
    finally:
        use_device(None)


def test_calls_have_the_names_of_the_package_s() -> None:
    a, b = numbers((6, 8)), numbers((8, 7))
    x, y = da.from_array(a, chunks=3), da.from_array(b, chunks=3)
    assert_same(mdhnp.dask.einsum("ij,jk", x, y), a @ b)
    assert_same(mdhnp.dask.matmul(x, y), a @ b)
    assert_same(mdhnp.dask.matmul(x, b), a @ b)  # an ndarray goes to all parts
    assert_same(mdhnp.dask.tensordot(x, y, axes=1), a @ b)
    assert_same(mdhnp.dask.dot(x, y), a @ b)
    assert_same(mdhnp.dask.stencil(x, WEIGHTS, mode="wrap"), mdhnp.stencil(a, WEIGHTS, mode="wrap"))
    assert_same(mdhnp.dask.fuse(lambda p: {"twice": 2 * p})(x)["twice"], 2 * a)
    assert_same(mdhnp.dask.matmul(x, y, semiring=mdhnp.semiring.min_plus), (a[:, :, None] + b).min(axis=1))


@pytest.mark.parametrize("subscripts", ["ij,jk->k", "ij,jk->i", "ij,jk->", "ij,jk,kl->il"])
def test_what_takes_less_work_in_several_steps_gives_the_last_one_s(subscripts: str) -> None:
    arrays = [numbers(shape) for shape in ((300, 200), (200, 100), (100, 50))][: subscripts.count(",") + 1]
    found = mdhnp.dask.einsum(subscripts, *[da.from_array(a, chunks=70) for a in arrays])
    assert_same(found, np.einsum(subscripts, *arrays))


def test_nothing_to_compute() -> None:
    a, b = numbers((3, 0)), numbers((0, 4))
    assert_same(mdhnp.dask.matmul(da.from_array(a), da.from_array(b, chunks=2)), a @ b)
    assert_same(mdhnp.dask.matmul(da.from_array(b), da.from_array(numbers((4, 2)))), b @ numbers((4, 2)))


# -------------------------------------------------------------------------------------------------------------- errors

UNKNOWN = da.ones(9, chunks=3)[da.arange(9, chunks=3) > 4]
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "unknown sizes": (
        lambda: mdhnp.dask.dot(da.ones(9, chunks=3), UNKNOWN), ValueError, "dot: operand 1 has chunks of unknown sizes",
    ),
    "another dtype": (
        lambda: mdhnp.dask.matmul(da.ones((2, 2), dtype="f8"), da.from_array(np.array([["a", "b"]] * 2))), TypeError,
        "matmul: operand 1 has dtype <U1",
    ),
    "no dask array": (
        lambda: mdhnp.dask.matmul(np.ones((2, 2)), np.ones((2, 2))), TypeError, "matmul: no argument is a dask array",
    ),
    "another collection": (
        lambda: mdhnp.dask.matmul(dask.delayed(np.ones((2, 2))), da.ones((2, 2))), TypeError,
        "matmul: a DelayedLeaf is no dask",
    ),
    "other blocks": (
        lambda: mdhnp.dask.dot(da.ma.masked_equal(da.ones(3), 1), da.ones(3)), TypeError,
        "dot: operand 0 has blocks that are MaskedArray",
    ),
    "shapes": (lambda: mdhnp.dask.matmul(da.ones((2, 3)), da.ones((2, 3))), ValueError, "matmul"),
    "values": (lambda: mdhnp.dask.apply(lambda a: a if a[0] > 0 else -a, da.ones(3)), TypeError, "elements"),
    "chunks": (lambda: mdhnp.dask.prl({}, {}, m=0.9, chunks=(0, 1)), ValueError, r"chunks: \(0, 1\) are not two"),
    "devices": (lambda: mdhnp.dask.Plugin("cpu"), TypeError, "devices: 'cpu' is one name"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_computed_is_refused(name: str) -> None:
    function, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        function()


def test_blocks_that_are_not_what_their_array_says_are_refused() -> None:
    halves, rows = (da.ones((4, 4), dtype="i8", chunks=2).map_blocks(f, dtype="i8", meta=np.ones((0, 0), "i8"))
                    for f in (lambda block: block / 2, lambda block: block[:1]))  # fmt: skip
    for calls in (np.sum, lambda a: mdhnp.stencil(a, WEIGHTS)):
        with pytest.raises(TypeError, match="a block has dtype float64, but its array int64"):
            mdhnp.dask.apply(calls, halves).compute()
    for calls in (np.sum, lambda a: mdhnp.stencil(a, WEIGHTS)):
        with pytest.raises(ValueError, match=r"a block has \(\d, \d\) elements where its array's chunk"):
            mdhnp.dask.apply(calls, rows).compute()


def test_blocks_that_are_no_ndarrays_are_refused() -> None:
    lists = da.ones(4, chunks=2).map_blocks(lambda block: block.tolist(), meta=np.ones(0))
    with pytest.raises(TypeError, match="a block is a list, not an ndarray"):
        mdhnp.dask.apply(np.sum, lists).compute()


# ------------------------------------------------------------------------------------------------------------- records


def test_records_are_linked_as_at_once() -> None:
    rng = np.random.default_rng(0)
    new, existing = ({f: rng.integers(0, 40, n) for f in ("name", "town")} for n in (50, 90))
    what: Any = {"m": {"name": 0.95, "town": 0.9}, "thresholds": (0, 8)}
    near = what | {"weights": {"town": (3, -1)}, "similarity": {"town": lambda a, b: np.maximum(0, 1 - abs(a - b) / 9)}}
    for options in (what, near, what | {"blocking": ["name"], "thresholds": (1, 8)}):
        for sizes in ((7, 90), (50, 11), (13, 17)):
            links = mdhnp.dask.prl(new, existing, chunks=sizes, **options)
            assert_same(tuple(links), tuple(mdhnp.prl(new, existing, **options)))
            assert links.index.chunks[0][0] == sizes[0]
    given_in_blocks = {f: da.from_array(column, chunks=9) for f, column in new.items()}
    assert_same(tuple(mdhnp.dask.prl(given_in_blocks, existing, **what)), tuple(mdhnp.prl(new, existing, **what)))
    none = {f: column[:0] for f, column in existing.items()}
    assert_same(tuple(mdhnp.dask.prl(new, none, **what)), tuple(mdhnp.prl(new, none, **what)))


def test_records_in_blocks_are_encoded_by_a_task() -> None:
    rng = np.random.default_rng(1)
    new, existing = (
        {"name": rng.choice(["ada", "alan", "", "grace"], n), "born": rng.integers(0, 9, n), "no": np.arange(n)}
        for n in (40, 70)
    )
    what: Any = {
        "m": {"name": 0.9}, "u": {"name": {"ada": 0.3}}, "weights": {"born": (3, -1)}, "missing": {"alan"},
        "similarity": {"born": lambda a, b: 1 - abs(a - b) / 9}, "thresholds": (1, 3),
    }  # fmt: skip
    expected = tuple(mdhnp.prl(new, existing, **what))
    sides = [{f: da.from_array(c, chunks=11) for f, c in side.items()} for side in (new, existing)]
    lists = {f: c.tolist() for f, c in existing.items()}
    for left, right in ((sides[0], sides[1]), (sides[0], lists), (new, sides[1])):
        assert_same(tuple(mdhnp.dask.prl(left, right, chunks=(13, 17), **what)), expected)
    none = {f: c[:0] for f, c in sides[1].items()}
    assert_same(tuple(mdhnp.dask.prl(sides[0], none, **what)), tuple(mdhnp.prl(new, none, **what)))
    with pytest.raises(ValueError, match="existing: column 'born' has 69 records, 'name' has 70"):
        mdhnp.dask.prl(new, sides[1] | {"born": sides[1]["born"][1:]}, **what)
    many = {"name": da.arange(100_000, chunks=10_000)}
    links = mdhnp.dask.prl(many, many, m=0.9)
    assert len(pickle.dumps(dict(links.index.dask))) < 100_000  # bytes: no records
