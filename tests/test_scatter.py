"""Outputs written where elements of arrays say: by the definition, by kernels of any schedule, fused, refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from guards import unwritten
from hypothesis import given as gives
from hypothesis import settings
from hypothesis import strategies as st
from ir_run import run
from ir_walk import walk_all
from random_functions import Seeded
from running import execute, lowered
from schedules import CAPS, MATRICES, schedule
from separate import separate

import mdhnp
from mdhnp import config, native
from mdhnp.calls import sorting
from mdhnp.codegen import generate
from mdhnp.codegen.atomics import combining
from mdhnp.codegen.generate import procedures
from mdhnp.mdh import MdHom, Sorting, cc, cut, interpret, md_hom, ps, pw, scattered
from mdhnp.mdh.scatter import _grouped, _order
from mdhnp.runtime.devices import Device
from mdhnp.runtime.transfers import watched
from mdhnp.schedule import IllegalSchedule
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default

Array = Any
_RNG = np.random.default_rng(7)


class Scattering(NamedTuple):
    """A pattern, arrays for it, how many results there are, and what NumPy makes of them."""

    scalar: Any
    combine: dict[str, Any]
    views: str
    arrays: Sequence[Array]
    count: int
    by_numpy: Callable[..., Array]
    name: str = "s"
    boundary: dict[str, str] | None = None

    @property
    def extents(self) -> dict[str, int]:
        return {self.name: self.count}

    def mdhom(self, arrays: Sequence[Array] | None = None) -> MdHom:
        made = md_hom(self.scalar, self.combine, self.views, boundary=self.boundary)
        return made.bind(*(self.arrays if arrays is None else arrays), **self.extents)

    def as_segments(self) -> tuple[MdHom, list[Array]]:
        small, sortings = scattered(self.mdhom())
        return small, [*self.arrays, *[a for s in sortings for a in s.sort(self.arrays[s.source])]]


def _whole(*shape: int, dtype: str = "f4") -> Array:
    return _RNG.integers(-9, 9, shape).astype(dtype)


def _to(count: int, *shape: int, dtype: str = "i8") -> Array:
    """Where to put results, of which some get nothing, also counted from the end."""
    even = _RNG.integers(0, (count + 1) // 2, shape) * 2
    return (even - count * (dtype[0] == "i") * _RNG.integers(0, 2, shape)).astype(dtype)


def _at(ufunc: np.ufunc, start: Array, index: Any, values: Array) -> Array:
    ufunc.at(start, index, values)
    return start


def _same(x: Any) -> Any:
    return x


_I, _IJ = {"i": pw("add")}, {"i": pw("add"), "j": cc}
_LEAST = np.iinfo("i4").min

SCATTERINGS = {
    "sums": Scattering(
        _same, _I, "x[i] -> y[s[i]]", (_whole(61), _to(13, 61)), 13, lambda x, s: _at(np.add, np.zeros(13, "f4"), s, x)
    ),
    "rows": Scattering(
        _same, _IJ, "X[i,j] -> Y[s[i],j]", (_whole(61, 20), _to(13, 61, dtype="i4")), 13,
        lambda x, s: _at(np.add, np.zeros((13, 20), "f4"), s, x),
    ),
    "columns": Scattering(
        _same, {"j": cc, "i": pw("add")}, "X[j,i] -> Y[j,s[i]]", (_whole(5, 61, dtype="f8"), _to(9, 61, dtype="u1")), 9,
        lambda x, s: _at(np.add, np.zeros((9, 5)), s, x.T).T,
    ),
    "counts": Scattering(
        lambda s: np.int64(1) + 0 * s, _I, "s[i] -> n[s[i]]", (_to(13, 61) % 13,), 13,
        lambda s: np.bincount(s, minlength=13),
    ),
    "largest": Scattering(
        _same, {"i": pw("max"), "j": cc}, "X[i,j] -> Y[s[i],j]", (_whole(40, 7, dtype="i4"), _to(13, 40)), 13,
        lambda x, s: _at(np.maximum, np.full((13, 7), _LEAST, "i4"), s, x),
    ),
    "products": Scattering(
        _same, {"i": pw("mul")}, "x[i] -> y[s[i]]", (_whole(30, dtype="i8"), _to(13, 30)), 13,
        lambda x, s: _at(np.multiply, np.ones(13, "i8"), s, x),
    ),
    "of two axes": Scattering(
        _same, {"i": pw("add"), "k": pw("add"), "j": cc}, "X[i,k,j] -> Y[s[k,i],j]", (_whole(5, 9, 17), _to(11, 9, 5)),
        11, lambda x, s: _at(np.add, np.zeros((11, 17), "f4"), s, x.swapaxes(0, 1)),
    ),
    "sums of rows": Scattering(
        _same, {"i": pw("add"), "k": pw("add")}, "X[i,k] -> y[s[i]]", (_whole(31, 9), _to(11, 31)), 11,
        lambda x, s: _at(np.add, np.zeros(11, "f4"), s, x.sum(1)),
    ),
    "edges of a graph": Scattering(
        np.multiply, _IJ, "w[i], X[source[i],j] -> Y[target[i],j]",
        (_whole(70), _whole(12, 19), _to(12, 70), _to(15, 70, dtype="i4")), 15,
        lambda w, x, source, target: _at(np.add, np.zeros((15, 19), "f4"), target, w[:, None] * x[source]), "target",
    ),
    "two results": Scattering(
        lambda x: (x, x), {"i": pw(("min", "max"))}, "x[i] -> low[s[i]], high[s[i]]",
        (_whole(61, dtype="i4"), _to(5, 61)), 5, lambda x, s: (
            _at(np.minimum, np.full(5, -1 - _LEAST, "i4"), s, x), _at(np.maximum, np.full(5, _LEAST, "i4"), s, x),
        ),
    ),
    "neighbours": Scattering(
        lambda a, b: b - a, _I, "x[i], x[i+1] -> y[s[i]]", (_whole(62), _to(13, 61)), 13,
        lambda x, s: _at(np.add, np.zeros(13, "f4"), s, np.diff(x)),
    ),
    "around": Scattering(
        lambda a, b: b - a, _I, "x[i], x[i-1] -> y[s[i]]", (_whole(61), _to(13, 61)), 13,
        lambda x, s: _at(np.add, np.zeros(13, "f4"), s, np.roll(x, 1) - x), boundary={"x": "wrap"},
    ),
    "complex": Scattering(
        _same, _IJ, "X[i,j] -> Y[s[i],j]", (_whole(31, 9, dtype="c8"), _to(13, 31)), 13,
        lambda x, s: _at(np.add, np.zeros((13, 9), "c8"), s, x),
    ),
    "half precision": Scattering(
        _same, _IJ, "X[i,j] -> Y[s[i],j]", (_whole(31, 20, dtype="f2"), _to(13, 31)), 13,
        lambda x, s: _at(np.add, np.zeros((13, 20), "f2"), s, x),
    ),
    "strided": Scattering(
        _same, _IJ, "X[i,j] -> Y[s[i],j]", (_whole(62, 40)[::-2, ::2], _to(13, 62)[::2]), 13,
        lambda x, s: _at(np.add, np.zeros((13, 20), "f4"), s, x),
    ),
    "of nothing": Scattering(
        _same, _IJ, "X[i,j] -> Y[s[i],j]", (_whole(0, 7), _to(3, 0)), 3, lambda x, s: np.zeros((3, 7), "f4")
    ),
}  # fmt: skip


def _assert_equal(got: Any, want: Any, said: str = "") -> None:
    for g, w in zip(*(r if isinstance(r, list | tuple) else [r] for r in (got, want)), strict=True):
        np.testing.assert_array_equal(g, w, said)
        assert g.dtype == w.dtype


@pytest.mark.parametrize("name", SCATTERINGS)
def test_the_definition_is_numpys(name: str) -> None:
    s = SCATTERINGS[name]
    _assert_equal(interpret(s.mdhom(), *s.arrays), s.by_numpy(*s.arrays))


@pytest.mark.parametrize("name", [name for name in SCATTERINGS if name != "of nothing"])
def test_kernels_of_all_schedules(name: str, device: Device) -> None:
    s = SCATTERINGS[name]
    h, arrays = s.as_segments()
    steps = lowered(h)
    for seed in range(4):
        p = Seeded(seed)
        used = [schedule(p, one.mdhom) if seed else default(one.mdhom, device.caps) for one in steps]
        got = execute(device, h, arrays, generate(steps, used, device.caps, default))
        _assert_equal(got, s.by_numpy(*s.arrays), f"{used}")


@pytest.mark.parametrize("name", ["rows", "of two axes", "edges of a graph"])
@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=["cpu", "gpu"])
def test_procedures_read_what_there_is(name: str, caps: Any) -> None:
    s = SCATTERINGS[name]
    h, arrays = s.as_segments()
    steps = lowered(h)
    used = [default(one.mdhom, caps) for one in steps]
    program, built = generate(steps, used, caps, default), procedures(steps, used, caps, default)
    walk_all(program, built, steps, steps=10**6)
    outputs = [unwritten(v.shape, v.dtype) for v in h.outputs]
    run(program, built, arrays, outputs)
    _assert_equal(outputs, s.by_numpy(*s.arrays))


@pytest.mark.parametrize("name", SCATTERINGS)
@pytest.mark.parametrize("host", ["auto", "never"])
def test_calls(name: str, host: Any, device: Device) -> None:
    s = SCATTERINGS[name]
    made = mdhnp.md_hom(s.scalar, s.combine, s.views, boundary=s.boundary)
    want = s.by_numpy(*s.arrays)
    with config(host=host):
        for _ in range(2):
            _assert_equal(made(*s.arrays, **s.extents), want)
        found = made(*map(mdhnp.asarray, s.arrays), **s.extents)
        _assert_equal([f.numpy() for f in found] if isinstance(found, tuple) else found.numpy(), want)


@pytest.mark.parametrize(
    ("name", "number", "position", "value", "said"),
    [
        ("rows", 1, 4, 13, r"s: index 13 at position \(4,\) is out of bounds for axis 0 of Y, which has 13 elements"),
        ("rows", 1, 0, -14, r"s: index -14 at position \(0,\)"),
        ("columns", 1, 60, 255, "s: index 255 .* axis 1 of Y, which has 9 elements"),
        ("of two axes", 1, (8, 2), 11, r"s: index 11 at position \(8, 2\)"),
        ("edges of a graph", 2, 3, 12, "source: index 12 at position"),
        ("edges of a graph", 3, 3, 15, "target: index 15 at position"),
    ],
)
def test_indices_outside(name: str, number: int, position: Any, value: int, said: str, where: Device) -> None:
    s = SCATTERINGS[name]
    arrays = [a.copy() for a in s.arrays]
    arrays[number][position] = value
    made = mdhnp.md_hom(s.scalar, s.combine, s.views)
    made(*s.arrays, **s.extents)
    for given in (arrays, [mdhnp.asarray(a) for a in arrays]):  # also in calls that are found again
        with pytest.raises(IndexError, match=f"md_hom: .*{said}"):
            made(*given, **s.extents)


def test_in_fused_functions(device: Device) -> None:
    sums = mdhnp.md_hom(_same, _IJ, "X[i,j] -> Y[s[i],j]")
    fused = mdhnp.fuse(lambda x, s, v: np.exp(sums(x * 2, s, s=7) / 99) @ v)
    x, s, v = _whole(61, 9), _to(7, 61), _whole(9)
    want = np.exp(_at(np.add, np.zeros((7, 9), "f4"), s, 2 * x) / 99) @ v
    for given in ((x, s, v), (x, s, v), tuple(map(mdhnp.asarray, (x, s, v)))):
        np.testing.assert_allclose(fused(*given), want, 1e-5)
    known = mdhnp.fuse(lambda x: sums(x + 1, s, s=7))
    np.testing.assert_array_equal(known(x), _at(np.add, np.zeros((7, 9), "f4"), s, x + 1))
    with pytest.raises(IndexError, match="index 7"):
        fused(x, np.full_like(s, 7), v)
    for changed in (lambda x, s: sums(x, s % 7, s=7), lambda x, s: sums(x[1:], s[1:], s=7)):
        with pytest.raises(TypeError, match="s: what says where results go must be an argument, as it is given"):
            mdhnp.fuse(changed)(x, s)


def test_on_several_devices(device: Device) -> None:
    s = SCATTERINGS["rows"]
    made = mdhnp.md_hom(s.scalar, s.combine, s.views)
    with mdhnp.device("cpu/2"), config(host="never"):
        _assert_equal(made(*s.arrays, **s.extents), s.by_numpy(*s.arrays))


def test_parts_of_kept_dimensions() -> None:
    s = SCATTERINGS["rows"]
    h = s.mdhom()
    _assert_equal(cut(h, 1, 3).run(interpret, *s.arrays), s.by_numpy(*s.arrays))
    with pytest.raises(ValueError, match="dim: "):
        cut(h, 0, 2)
    sums = md_hom(_same, _IJ, "X[i,j] -> y[j]").bind(s.arrays[0])
    with pytest.raises(IllegalSchedule, match="elements of an input say where results go"):
        check(h, replace(default(sums, CAPS), local_copies=(None, None), private_copies=(True, True)), CAPS)


@pytest.mark.parametrize(
    ("combine", "views", "count", "error", "said"),
    [
        ({"i": cc}, "x[i] -> y[s[i]]", 3, ValueError, "what s says where to put is reduced"),
        ({"i": ps("add")}, "x[i] -> y[s[i]]", 3, ValueError, "what s says where to put is reduced"),
        (_I, "x[i] -> y[s[i]+1]", 3, ValueError, "y: an element of an array is an index of an output as it is"),
        (_I, "x[i] -> y[s[s[i]]]", 3, ValueError, "s: an array that says where results go is indexed by dimensions"),
        (_I, "x[i] -> y[s[2*i]]", 3, ValueError, "s: an array that says where results go is indexed by dimensions"),
        (_I, "x[i] -> y[s[i]], z[]", 3, ValueError, "each must have the same element"),
        (_I, "x[2*i] -> y[s[i]]", 3, ValueError, r"x: 2\*i is no dimension that is scattered"),
        ({"i": pw(lambda p, q: p)}, "x[i] -> y[s[i]]", 3, ValueError, "has no identity"),
        (_I, "x[i] -> y[s[i]]", None, ValueError, "how many results s says where to put is not known; pass it as s=10"),
        (_I, "x[i] -> y[s[i]]", -1, ValueError, "how many results"),
        (_I, "y[i], s[i] -> y[y[i]], s[s[i]]", 3, ValueError, "of an array that is written"),
        ({"s": pw("add")}, "x[s] -> y[s[s]]", 3, ValueError, "s says where to write, and is a dimension"),
    ],
)
def test_what_is_refused(combine: Any, views: str, count: Any, error: type[Exception], said: str) -> None:
    scalar = (lambda x: (x, x)) if "z" in views else _same
    extents = {} if count is None else {"s": count}
    with pytest.raises(error, match=said):
        mdhnp.md_hom(scalar, combine, views)(np.ones(6 if "2*i] ->" in views else 3), np.zeros(3, int), **extents)


def test_points_that_are_sorted_have_no_index() -> None:
    with pytest.raises(ValueError, match="index: of dimensions that move s, which are sorted by it"):
        mdhnp.md_hom(lambda x: x + mdhnp.index(0), _I, "x[i] -> y[s[i]]")(np.ones(3), np.zeros(3, int), s=2)
    with pytest.raises(TypeError, match="s: indices must be integers, not float64"):
        mdhnp.md_hom(_same, _I, "x[i] -> y[s[i]]")(np.ones(3), np.zeros(3), s=2)
    beside = mdhnp.md_hom(lambda x: x * mdhnp.index(1), _IJ, "X[i,j] -> Y[s[i],j]")
    x, s = _whole(9, 5, dtype="i8"), _to(4, 9)
    np.testing.assert_array_equal(beside(x, s, s=4), _at(np.add, np.zeros((4, 5), "i8"), s, x * np.arange(5)))


def test_printed() -> None:
    h = SCATTERINGS["rows"].mdhom()
    assert str(h) == "md_hom(id, (+, ++)) ∘ (X[i,j], s[i]) -> Y[s[i],j]"
    small = "(X[order[i],j], s[order[i]], order[i], begin[s], begin[s+1]) -> Y[s,j]"
    assert str(scattered(h)[0]) == f"md_hom(id, (++, + begin[s]:begin[s+1], ++)) ∘ {small}"


@settings(max_examples=60)
@gives(st.data())
def test_sorting_is_stable(data: Any) -> None:
    count = data.draw(st.sampled_from([1, 2, 7, 300, 1 << 40]), "count")
    size = data.draw(st.integers(0, 70), "size")
    few = [data.draw(st.integers(-min(count, 9), min(count, 9) - 1)) for _ in range(size)]
    if count > 300:
        order = np.argsort(np.asarray(few, int) % count, kind="stable")
        np.testing.assert_array_equal(_order(np.asarray(few, int) % count, count), order)
        return
    given = np.asarray(few, data.draw(st.sampled_from(["i2", "i8"])))
    keys = np.asarray(few, int) % count
    order, begin = np.empty(size, int), np.empty(count + 1, int)
    assert _grouped(given.astype(int), order, begin)
    for got in ((order, begin), Sorting(0, "s", "", count, (size,)).sort(given)):
        np.testing.assert_array_equal(got[0], np.argsort(keys, kind="stable"))
        np.testing.assert_array_equal(np.diff(got[1]), np.bincount(keys, minlength=count))


@pytest.mark.parametrize("count", [(1 << 17) + 1, 300_000, 1 << 20])
def test_many_numbers_are_sorted_by_parts(count: int) -> None:
    rng = np.random.default_rng(count)
    for keys in (
        rng.integers(0, count, 40_000),
        rng.integers(0, 200, 40_000) ** 2 % count,
        np.full(1 << 15, count - 1),
    ):
        given = np.where(rng.integers(0, 2, len(keys)), keys, keys - count)
        order, begin = Sorting(0, "s", "y", count, (len(keys),)).sort(given)
        np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
        np.testing.assert_array_equal(np.diff(begin), np.bincount(keys, minlength=count))
        for wrong in (count, -count - 1):
            given[len(given) // 2] = wrong
            with pytest.raises(IndexError, match=f"s: index {wrong} at position"):
                Sorting(0, "s", "y", count, (len(keys),)).sort(given)


@pytest.mark.parametrize("wrong", [-6, 5, -(2**63), 2**63 - 1, 2**64 - 1])
def test_indices_of_no_result_are_found(wrong: int) -> None:
    given = np.array([0, 4, wrong % 2**64, 3], "u8").astype("i8" if wrong < 2**63 else "u8")
    begin = np.empty(6, int)
    for group in (_grouped, native.group or _grouped):
        assert wrong >= 2**63 or not group(given, np.empty(4, int), begin)
    with pytest.raises(IndexError, match=f"s: index {wrong} at position .2,. is out of bounds for y, which has 5"):
        Sorting(0, "s", "y", 5, (4,)).sort(given)


@pytest.mark.parametrize(
    ("dtype", "size", "places"),
    [("i8", 1, 1), ("i1", 5000, 3), ("i8", 20_000, 256), ("i4", 20_000, 257), ("u2", 777, 100), ("u8", 90, 70_000)],
)
def test_devices_with_memory_of_their_own_sort_themselves(dtype: str, size: int, places: int, device: Device) -> None:
    low = 0 if dtype[0] == "u" else -places
    indices = _RNG.integers(low, places, size).astype(dtype)
    keys = np.where(indices < 0, indices.astype("i8") + places, indices).astype("i8")
    order, begin = sorting.group(mdhnp.asarray(indices, device=separate(device)), places)
    np.testing.assert_array_equal(order.numpy(), np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(begin.numpy(), np.searchsorted(np.sort(keys), np.arange(places + 1)))


@pytest.mark.parametrize("rest", [(), (5,)])
def test_arrays_are_changed_without_copies_to_the_host(rest: tuple[int, ...], device: Device) -> None:
    there = separate(device)
    start, values, indices = _whole(100, *rest), _whole(3000, *rest), _to(100, 3000)
    a, b, at = (mdhnp.asarray(x, device=there) for x in (start, values, indices))
    with config(host="never"):
        mdhnp.add.at(a, at, b)
        with watched() as copies:
            mdhnp.add.at(a, at[1:], b[1:])
            mdhnp.add.at(a, at, b)
        assert sum([c.nbytes for c in copies]) <= 8  # how far other indices reach
        expected = _at(
            np.add, _at(np.add, _at(np.add, start, indices, values), indices[1:], values[1:]), indices, values
        )
        np.testing.assert_array_equal(a.numpy(), expected)
        at[7] = 100
        with pytest.raises(IndexError, match=r"index 100 at position \(7,\) is out of bounds for axis 0 of a"):
            mdhnp.add.at(a, at, b)
        np.testing.assert_array_equal(a.numpy(), expected)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("multiply", "i4"), *product(["add", "subtract", "maximum", "minimum"], ["i4", "u4", "f4", "f8", "i2"])],
)
def test_elements_are_changed_in_any_order_where_that_is_said(name: str, dtype: str, where: Device) -> None:
    function, ufunc = getattr(mdhnp, name), getattr(np, name)
    for rest, shape, index in (((), (3000,), "i8"), ((5,), (40, 30), "i2"), ((3, 2), (600,), "u4"), ((5,), (0,), "i4")):
        start = _whole(37, *rest).astype(dtype)
        indices = np.where(_RNG.random(shape) < 0.5, 5, _to(37, *shape)).astype(index) % (37 if index[0] == "u" else 64)
        indices = np.where(indices >= 37, indices - 64, indices).astype(index)
        for values in (_whole(*shape, *rest).astype(dtype), np.ones((1,) * len(rest), dtype), 2):
            a, expected = mdhnp.asarray(start), start.copy()
            for at in (indices, mdhnp.asarray(indices)):
                given = values if isinstance(values, int) or at is indices else mdhnp.asarray(values)
                function.at(a, at, given, unordered=True)
                ufunc.at(expected, indices, values)
            np.testing.assert_array_equal(a.numpy(), expected)
    wrong = mdhnp.asarray(np.array([3, 37]))
    with pytest.raises(IndexError, match=r"index 37 at position \(1,\)"):
        function.at(a, wrong, 2, unordered=True)
    np.testing.assert_array_equal(a.numpy(), expected)


def test_what_is_changed_in_any_order_is_not_read_meanwhile(where: Device) -> None:
    start = _to(1000, 1000).astype("i4")
    cases: list[Callable[[Any], tuple[Any, Any]]] = [
        lambda a: (a, 1), lambda a: (a[::-1], a), lambda a: (a[:500], a[500:]), lambda a: (np.array([0, 9, 0]), a[5:8]),
    ]  # fmt: skip
    for of in cases:
        a, expected = mdhnp.asarray(start.copy()), start.copy()
        np.add.at(expected, *of(start))
        mdhnp.add.at(a, *of(a), unordered=True)
        np.testing.assert_array_equal(a.numpy(), expected)


def test_extremes_in_any_order_are_nan_where_one_is(where: Device) -> None:
    start, values = np.array([1, np.nan, 3, np.inf], "f4"), np.array([np.nan, 1, 5, 0, -np.inf, 2], "f4")
    indices = np.array([0, 1, 2, 3, 2, 0])
    for name in ("maximum", "minimum"):
        a = mdhnp.asarray(start)
        getattr(mdhnp, name).at(a, indices, values, unordered=True)
        np.testing.assert_array_equal(a.numpy(), _at(getattr(np, name), start.copy(), indices, values))


@pytest.mark.parametrize("operation", ["add", "subtract"])
def test_nvidias_gpus_add_floats_by_an_instruction(operation: str) -> None:
    caps = replace(CAPS, kind="gpu", subgroup=32)
    f4, i4, i8 = (np.dtype(t) for t in ("f4", "i4", "i8"))
    assert "red.global.add.f32" in combining(operation, f4, i8, (10, 4, 7), caps).source
    assert "red.global" not in combining(operation, i4, i8, (10, 4, 7), caps).source
    assert "atomic_cmpxchg" in combining(operation, f4, i8, (10, 4, 7), replace(caps, subgroup=0)).source
