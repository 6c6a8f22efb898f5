"""Cuts: the law of homomorphisms, for every operator, kind of dimension, boundary and sizes of parts, also of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chains import blurred
from guards import assert_same_bits
from hypothesis import given, note
from hypothesis import strategies as st
from random_functions import Drawn, Picker
from running import run_plain
from strategies import Case, case
from test_laws import better, left_on_ties, matrix, moments, segments, softmax

from mdhnp.mdh import Cut, MdHom, cc, cut, finish_inputs, grid, index, interpret, md_hom, ps, pw, shares
from mdhnp.mdh.regions import read_region
from mdhnp.mdh.views import BOUNDARIES

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

Array = np.ndarray[Any, Any]


def results(found: Any) -> tuple[Array, ...]:
    return found if isinstance(found, tuple) else (found,)


def assert_same(got: Any, want: Any) -> None:
    for n, (g, w) in enumerate(zip(results(got), results(want), strict=True)):
        assert_same_bits(g, w, f"output {n}")


def assert_lie_so(h: MdHom, arrays: Sequence[Array]) -> None:
    """Assert that kernels would find the elements where the views say."""
    for v, a in zip(h.inputs, arrays, strict=True):
        steps = [s // a.itemsize for s in a.strides]
        assert [s for s, n in zip(v.strides, v.shape, strict=True) if n > 1] == [
            s for s, n in zip(steps, a.shape, strict=True) if n > 1
        ]
        assert v.offset == sum(-s * (n - 1) for s, n in zip(steps, a.shape, strict=True) if s < 0)


def sizes_of(extent: int) -> list[tuple[int, ...]]:
    """Every way to cut so many points."""
    ends = [places for count in range(extent) for places in combinations(range(1, extent), count)]
    return [tuple(np.diff([0, *places, extent]).tolist()) for places in ends]


def in_a_tree(made: Cut, p: Picker, compute: Callable[..., Any], *arrays: Array) -> Any:
    """The results of a cut reduction whose partial results are combined in runs of random lengths, again and again."""
    level = [results(compute(part.mdhom, *part.reads(arrays))) for part in made.parts]
    while len(level) > 3:
        runs: list[tuple[Array, ...]] = []
        while level:
            count = p.integer(1, 3)
            run, level = level[:count], level[count:]
            runs.append(results(compute(made.joined(len(run)), *map(np.stack, zip(*run, strict=True)))))
        level = runs
    stacks = map(np.stack, zip(*level, strict=True))
    return compute(made.finished(len(level)), *stacks, *[arrays[n] for n in finish_inputs(made.mdhom)])


@st.composite
def cuts(draw: Any) -> tuple[Case, Callable[[MdHom, Callable[..., Any]], Any]]:
    """A random MDH, and what computes it in random parts, some of these in parts again."""
    p = Drawn(draw)
    one = case(p, 400, in_ring=p.choice((False, True)))
    note(f"{one.mdhom}\n  extents {one.mdhom.extents}, nested {one.mdhom.nested}")

    def compute(h: MdHom, *arrays: Array, deep: int = 2) -> Any:
        assert_lie_so(h, arrays)
        if deep <= 0 or not h.rank:
            return interpret(h, *arrays)
        d = p.integer(0, h.rank - 1)
        try:
            made = cut(h, d, parts(h.extents[d]))
        except ValueError as error:
            note(f"  not cut: {error}")
            return interpret(h, *arrays)
        note(f"  {h} cut along {h.names[d]}: {[part.mdhom.extents[d] for part in made.parts]}")
        inner: Callable[..., Any] = lambda m, *a: compute(m, *a, deep=deep - p.integer(1, 2))  # noqa: E731
        if h.combine[d].kind == "pw" and p.integer(0, 1):
            return in_a_tree(made, p, inner, *arrays)
        return made.run(inner, *arrays)

    def parts(extent: int) -> int | Sequence[int]:
        count = p.integer(1, 4)
        return shares(extent, [p.integer(1, 5) for _ in range(count)]) if p.integer(0, 1) else count

    return one, compute


@given(cuts())
def test_parts_recombine_to_the_whole(drawn: tuple[Case, Any]) -> None:
    one, compute = drawn
    assert_same(compute(one.mdhom, *one.arrays), interpret(one.mdhom, *one.arrays))


# ---------------------------------------------------------------------------------------------------- every operator

SMALL = np.array([3, -1, 0, 2, 3, -2], "i8")
FLOATS = SMALL.astype("f8")


def same(*x: Any) -> Any:
    return x if len(x) > 1 else x[0]


#: The number of results, a scalar function, arrays, and what the combine operator is made of.
OPERATORS: dict[str, tuple[int, Callable[..., Any], tuple[Array, ...], Any, dict[str, Any]]] = {
    **{name: (1, same, (SMALL,), name, {}) for name in ("add", "mul", "min", "max")},
    **{name: (1, same, (SMALL > 0,), name, {}) for name in ("and", "or")},
    "xor": (1, same, (SMALL > 0,), np.logical_xor, {"identity": False}),
    "float16": (1, same, (SMALL.astype("f2"),), "add", {}),
    "complex": (1, same, (SMALL + 1j * SMALL[::-1],), "add", {}),
    "a name each": (2, lambda v: (v, v), (SMALL,), ("min", "add"), {}),
    "first largest": (2, lambda v: (v, index(0)), (SMALL,), better, {}),
    "left on ties": (2, lambda v: (v, index(0)), (SMALL,), left_on_ties, {"commutative": False}),
    "left unless zero": (1, same, (SMALL,), lambda p, q: np.where(p != 0, p, q), {"commutative": False}),
    "segments": (2, same, (SMALL > 1, SMALL), segments, {"commutative": False}),
    "matrices": (4, same, (SMALL, SMALL[::-1], SMALL + 1, SMALL * 2), matrix, {"commutative": False}),
    "softmax": (2, lambda v: (v, v * 0 + 1), (FLOATS,), softmax, {}),
    "moments": (3, lambda v: (v * 0 + 1, v, v * 0), (FLOATS,), moments, {}),
}


@pytest.mark.parametrize("finished", [False, True], ids=["plain", "finished"])
@pytest.mark.parametrize("kind", [pw, ps])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_recombines_parts_of_all_sizes(name: str, kind: Any, finished: bool) -> None:
    count, scalar, arrays, function, options = OPERATORS[name]

    def finish(first: Any, *others: Any) -> Any:
        return first != others[-1] if first.dtype == np.bool_ else first * 2 + others[-1]

    loads = ", ".join([*[f"x{n}[i]" for n in range(len(arrays))], "s[0]"])
    outputs = ", ".join(f"y{n}[{'i' if kind is ps else ''}]" for n in range(1 if finished else count))
    h = md_hom(
        lambda *x: scalar(*x[:-1]), {"i": kind(function, **options)}, f"{loads} -> {outputs}",
        finish=finish if finished else None,
    ).bind(*arrays, np.ones(1, arrays[0].dtype))  # fmt: skip
    given = *arrays, np.ones(1, arrays[0].dtype)
    want = results(interpret(h, *given))
    near = 1e-12 * (name in ("softmax", "moments"))
    for sizes in sizes_of(len(SMALL)):
        for got, exact in zip(results(cut(h, 0, sizes).run(interpret, *given)), want, strict=True):
            assert got.dtype == exact.dtype
            np.testing.assert_allclose(got, exact, rtol=near, atol=near)


def test_partial_results_of_float16_are_not_rounded() -> None:
    x = np.array([2048, 1, 1, 0], "f2")  # 2049 is none
    total = md_hom(lambda v: v, {"i": pw("add")}, "x[i] -> y[]").bind(x)
    made = cut(total, 0, (2, 2))
    assert [v.dtype for part in made.parts for v in part.mdhom.outputs] == [np.float32] * 2
    assert made.run(interpret, x) == 2050


# ------------------------------------------------------------------------------------------- stencils, and their halos

ACCESSES = {
    "near": (1, [0, -1, 2]), "left": (1, [-4]), "far right": (1, [9, 11]), "backwards": (-1, [1, 3]),
    "strided": (2, [-3, 0]), "far to both sides": (1, [-14, 14]),
}  # fmt: skip


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("name", ACCESSES)
def test_parts_of_stencils_read_regions(name: str, boundary: str) -> None:
    step, places = ACCESSES[name]
    pattern = md_hom(
        lambda *x: sum(v * 10**n for n, v in enumerate(x)), {"i": cc, "j": cc},
        f"{', '.join(f'x[{step}*i+({k}),j-1]' for k in places)} -> y[i,j]", boundary={"x": boundary},
    )  # fmt: skip
    for n in range(1, 7):
        x = np.arange(1, 2 * n + 1).reshape(n, 2)
        h = pattern.bind(x, i=5, j=2)
        for sizes in sizes_of(5):
            assert_same(cut(h, 0, sizes).run(interpret, x), interpret(h, x))


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_halos_are_no_larger_than_they_must_be(boundary: str) -> None:
    x = np.arange(40.0)[::-1]
    views = "x[i-2], x[i], x[i+1] -> y[i]"
    h = md_hom(lambda a, b, c: a + b * c, {"i": cc}, views, boundary={"x": boundary}).bind(x)
    parts = cut(h, 0, 4).parts
    first, last = (slice(38, 51), slice(28, 41)) if boundary == "wrap" else (slice(0, 11), slice(28, 40))
    assert [part.inputs[0][0] for part in parts] == [first, slice(8, 21), slice(18, 31), last]
    assert parts[1].mdhom == parts[2].mdhom  # one kernel
    for part in parts:
        assert_lie_so(part.mdhom, part.reads([x]))
    assert np.shares_memory(read_region(x, (first,)), x) == (boundary != "wrap")


def test_parts_that_ask_for_indices_share_a_kernel() -> None:
    h = md_hom(lambda v: v * index(0) + index(1), {"i": cc, "j": cc}, "x[i,j] -> y[i,j]").bind(x := np.ones((12, 5)))
    made = cut(h, 0, 4)
    assert [part.begin for part in made.parts] == [(0,), (3,), (6,), (9,)]
    assert len({part.mdhom for part in made.parts}) == 1
    assert_same(made.run(lambda m, *a: cut(m, 0, 2).run(interpret, *a), x), interpret(h, x))


# ------------------------------------------------------------------------------------------------- sizes, and refusals


def test_parts_are_as_equal_as_can_be_and_never_empty() -> None:
    rows = md_hom(lambda v: v, {"i": cc, "j": cc}, "x[i,j] -> y[i,j]").bind(np.ones((10, 3)))
    sizes = {n: [part.mdhom.extents[0] for part in cut(rows, 0, n).parts] for n in (1, 4, 10, 12)}
    assert sizes == {1: [10], 4: [3, 3, 2, 2], 10: [1] * 10, 12: [1] * 10}
    assert [part.mdhom.extents[0] for part in cut(rows, 0, (0, 4, 0, 6)).parts] == [4, 6]


# --------------------------------------------------------------------------------------------------------------- grids


@st.composite
def grids(draw: Any) -> tuple[Case, Any]:
    """A random MDH, and its partition along some dimensions, if those can be cut together."""
    p = Drawn(draw)
    one = case(p, 400, in_ring=p.choice((False, True)))
    dims = draw(st.lists(st.sampled_from(range(one.mdhom.rank)), unique=True, max_size=3)) if one.mdhom.rank else []
    sizes = {d: shares(one.mdhom.extents[d], [p.integer(1, 5) for _ in range(p.integer(1, 4))]) for d in dims}
    note(f"{one.mdhom}\n  extents {one.mdhom.extents}, {sizes}")
    return one, sizes


@given(grids())
def test_grids_recombine_to_the_whole(drawn: tuple[Case, Any]) -> None:
    one, sizes = drawn
    try:
        made = grid(one.mdhom, sizes)
    except ValueError as error:
        note(f"  not cut: {error}")
        return
    assert_same(made.run(interpret, *one.arrays), interpret(one.mdhom, *one.arrays))


@pytest.mark.parametrize("name", OPERATORS)
def test_boxes_combine_in_the_order_of_their_points(name: str) -> None:
    """Whatever the operator, and in trees of any arity."""
    count, scalar, arrays, function, options = OPERATORS[name]
    planes = [np.stack([a, a[::-1], np.roll(a, 1)]).reshape(3, 2, 3) for a in arrays]
    loads = ", ".join([f"x{n}[i,k,j]" for n in range(len(arrays))])
    outputs = ", ".join(f"y{n}[i]" for n in range(count))
    both = pw(function, **options)
    h = md_hom(scalar, {"i": cc, "k": both, "j": both}, f"{loads} -> {outputs}").bind(*planes)
    want = results(interpret(h, *planes))
    near = 1e-12 * (name in ("softmax", "moments"))
    sizes: dict[int, Any] = {0: (1, 0, 2), 1: 2, 2: 5}  # more parts than points
    if not options.get("commutative", True):  # parts of both would not be neighbours in the order of the points
        with pytest.raises(ValueError, match="sizes: not all of k, j can be cut together"):
            grid(h, sizes)
        del sizes[2]
    for arity in (2, 3):
        made = grid(h, sizes, arity)
        assert len(made.stages[0]) == 2 * 2 * (3 if 2 in sizes else 1)
        for got, exact in zip(results(made.run(interpret, *planes)), want, strict=True):
            assert got.dtype == exact.dtype
            np.testing.assert_allclose(got, exact, rtol=near, atol=near)


def test_a_scanned_dimension_is_cut_beside_kept_ones_only() -> None:
    x = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    h = md_hom(lambda v: v, {"i": cc, "j": ps("add"), "k": pw("add")}, "x[i,j,k] -> y[i,j]").bind(x)
    made = grid(h, {1: 3, 0: (3, 1)})
    assert [len(stage) for stage in made.stages] == [4, 2, 6]
    assert_same(made.run(interpret, x), interpret(h, x))
    with pytest.raises(ValueError, match="sizes: of j, k one is scanned, which is cut alone"):
        grid(h, {1: 3, 2: 2})


@given(st.integers(1, 200), st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(any))
def test_shares_are_within_a_point_of_their_weights(extent: int, weights: list[int]) -> None:
    found = shares(extent, weights)
    assert sum(found) == extent
    assert all(n >= 0 and abs(n - extent * w / sum(weights)) <= 1 + 1e-9 for n, w in zip(found, weights, strict=True))


X = np.ones((6, 4))
KEPT, MIXED = {"i": cc, "j": cc}, {"i": ps("add"), "j": pw("max"), "k": ps("min")}
REFUSED: dict[str, tuple[MdHom, int, Any, type[Exception], str]] = {
    "a dimension that there is not": (
        md_hom(lambda v: v, KEPT, "x[i,j] -> y[i,j]").bind(X), 2, 2, IndexError, "dim: 2 is none of 2 dimensions",
    ),
    "no parts": (md_hom(lambda v: v, KEPT, "x[i,j] -> y[i,j]").bind(X), 0, 0, ValueError, "parts: 0 is no number"),
    "other sizes": (
        md_hom(lambda v: v, KEPT, "x[i,j] -> y[i,j]").bind(X), 0, (3, 4), ValueError,
        r"parts: \(3, 4\) are no sizes that make the 6 points of i",
    ),
    "negative sizes": (md_hom(lambda v: v, KEPT, "x[i,j] -> y[i,j]").bind(X), 0, (-1, 7), ValueError, "no sizes"),
    "nothing": (md_hom(lambda v: v, KEPT, "x[i,j] -> y[i,j]").bind(X[:, :0]), 0, 2, ValueError, "an extent of 0"),
    "every other result": (
        md_hom(lambda v: v, KEPT, "x[i,j] -> y[4*i+j]").bind(X), 1, 2, ValueError, "dim: results along j are no slice",
    ),
    "a scan that is combined first": (
        md_hom(lambda v: v, MIXED, "x[i,j,k] -> y[i,k]", nested=True).bind(np.ones((2, 3, 4))), 2, 2, ValueError,
        "dim: k is scanned before i, j may be combined",
    ),
    "a chain": (blurred(9, 9), 0, 2, ValueError, "h: a chain cannot be cut"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_cut_is_refused(name: str) -> None:
    h, dim, parts, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        cut(h, dim, parts)


def test_weights_are_refused() -> None:
    for weights in ((), (0, 0), (2, -1), (np.nan,)):
        with pytest.raises(ValueError, match=r"weights: .* are no shares"):
            shares(5, weights)


def test_what_is_combined_later_is_left_in_partial_results() -> None:
    x = np.arange(60).reshape(3, 4, 5) % 7
    nested = {"i": pw("max"), "j": pw("add"), "k": cc}
    h = md_hom(lambda v: v, nested, "x[i,j,k] -> y[k]", nested=True).bind(x)
    made = cut(h, 1, 2)
    assert [part.mdhom.outputs[0].shape for part in made.parts] == [(3, 5)] * 2
    assert str(made.finished(2)) == "md_hom(id, (max, +, ++)) ∘ (P0[j,i,k]) -> y[k]"
    assert str(made.joined(2)) == "md_hom(id, (+, ++, ++)) ∘ (P0[i,j,k]) -> P0[j,k]"
    assert_same(made.run(interpret, x), x.sum(axis=1).max(axis=0))
    assert [part.mdhom.outputs[0].shape for part in cut(h, 0, 2).parts] == [(5,)] * 2


def test_recombination_reads_only_what_finish_does() -> None:
    x = np.arange(1.0, 7.0)
    h = md_hom(lambda v, _: v, {"i": pw("add")}, "x[i], x[0] -> y[]", finish=lambda total, _, one: total / one).bind(x)
    last = cut(h, 0, 3).finished(3)
    assert [v.depends_on(0) for v in last.inputs] == [True, False]
    assert cut(h, 0, 3).run(interpret, x) == 21


# ------------------------------------------------------------------------------------------------------------- kernels

FOLDED = pw(lambda p, q: np.where(p != 0, p, q), commutative=False, name="left")
SCANNED = ps(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), commutative=False, name="affine")
ON_DEVICES: dict[str, tuple[Any, int]] = {
    "a product's terms": (md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "x[i,k], z[j,k] -> y[i,j]"), 2),
    "places": (md_hom(lambda v, _: (v, index(1)), {"i": cc, "j": pw(better)}, "x[i,j], z[0,0] -> y[i], w[i]"), 1),
    "a ring": (
        md_hom(lambda a, b, c: a + b * c, KEPT, "x[i-2,j], x[i+1,j-1], z[i,j] -> y[i,j]", boundary={"x": "wrap"}), 0,
    ),
    "a scan": (
        md_hom(lambda v, w: (v, w), {"i": SCANNED, "j": cc}, "x[i,j], z[i,j] -> y[i,j]", finish=lambda s, t, *_: s - t),
        0,
    ),
    "what does not commute": (md_hom(lambda v, w: v * w, {"i": FOLDED, "j": FOLDED}, "x[i,j], z[i,j] -> y[]"), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_DEVICES)
def test_kernels_compute_parts_and_recombine_them(device: Device, name: str) -> None:
    pattern, dim = ON_DEVICES[name]
    x, z = (np.random.default_rng(n).integers(-2, 3, (11, 7)).astype("i4") for n in range(2))

    def by_kernels(h: MdHom, *arrays: Array) -> Any:
        found = run_plain(device, h, *arrays)
        return tuple(found) if len(found) > 1 else found[0]

    h = pattern.bind(x, z)
    assert_same(cut(h, dim, 3).run(by_kernels, x, z), interpret(h, x, z))
