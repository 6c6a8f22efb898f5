"""Outputs written where elements of arrays say: by the definition, by kernels of any schedule, fused, refused."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
from scatterings import SCATTERINGS, SUM, SUM_ROWS, Scattering, put_at, same, to, whole
from schedules import CAPS, MATRICES, schedule

import mdhnp
from mdhnp import config, native
from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.mdh import Graph, Sorting, are_few, cc, cut, in_pieces, interpret, md_hom, pieces, ps, pw, scattered
from mdhnp.mdh.scatter import _grouped, _order
from mdhnp.runtime.devices import Device
from mdhnp.schedule import IllegalSchedule
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default

Array = Any
_RNG = np.random.default_rng(7)


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


@pytest.mark.parametrize("cores", [1, 2, 7])
@pytest.mark.parametrize("name", [name for name in SCATTERINGS if are_few(SCATTERINGS[name].mdhom(), 1)])
def test_kernels_that_put_results_where_elements_say(name: str, cores: int, device: Device) -> None:
    s = SCATTERINGS[name]
    h, caps = s.mdhom(), replace(device.caps, compute_units=cores)
    steps = lowered(h)
    used = [default(one.mdhom, caps) for one in steps]
    assert min(cores, 2) <= used[0].work_groups <= cores
    _assert_equal(execute(device, h, s.arrays, generate(steps, used, caps, default)), s.by_numpy(*s.arrays))


@pytest.mark.parametrize("name", ["rows", "of two axes", "edges of a graph"])
@pytest.mark.parametrize("caps", [CAPS, MATRICES, None], ids=["cpu", "gpu", "cpu, not sorted"])
def test_procedures_read_what_there_is(name: str, caps: Any) -> None:
    s = SCATTERINGS[name]
    h, arrays = (s.mdhom(), list(s.arrays)) if caps is None else s.as_segments()
    caps = caps or CAPS
    steps = lowered(h)
    used = [default(one.mdhom, caps) for one in steps]
    program, built = generate(steps, used, caps, default), procedures(steps, used, caps, default)
    walk_all(program, built, steps, steps=10**6)
    outputs = [unwritten(v.shape, v.dtype) for v in h.outputs]
    run(program, built, arrays, outputs)
    _assert_equal(outputs, s.by_numpy(*s.arrays))


@pytest.mark.parametrize("name", ["rows", "columns", "of two axes", "two results"])
def test_nothing_is_written_outside_whatever_indices_are(name: str) -> None:
    """Another thread may change them after they were looked at."""
    s = SCATTERINGS[name]
    h, arrays = s.mdhom(), list(s.arrays)
    ((number, _),) = {i.source for i in h.places}
    kind = np.iinfo(arrays[number].dtype)
    arrays[number] = np.resize([kind.min, kind.max], arrays[number].shape).astype(kind.dtype)
    steps = lowered(h)
    used = [default(one.mdhom, CAPS) for one in steps]
    program, built = generate(steps, used, CAPS, default), procedures(steps, used, CAPS, default)
    outputs = [unwritten(v.shape, v.dtype) for v in h.outputs]
    run(program, built, arrays, outputs)
    arrays[number] = np.where(arrays[number] == 0, 0, s.count - 1)
    _assert_equal(outputs, s.by_numpy(*arrays))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have few points cut in pieces, of four."""
    monkeypatch.setattr(pieces, "_FEW", 1)
    monkeypatch.setattr(pieces, "_SHORT", 4)


def _in_pieces(s: Scattering, arrays: Sequence[Array]) -> tuple[Graph, list[Array]]:
    """The steps that combine pieces, and what these are given."""
    small, sortings = scattered(s.mdhom(arrays))
    graph, sortings = in_pieces(Graph.of(small), sortings)
    return graph, [*arrays, *[a for sorting in sortings for a in sorting.sort(arrays[sorting.source])]]


@pytest.mark.parametrize("name", SCATTERINGS)
def test_pieces_are_combined_by_definition(name: str, short: None) -> None:
    s = SCATTERINGS[name]
    graph, arrays = _in_pieces(s, s.arrays)
    few = name in ("half precision", "of nothing") or name.startswith("the last ones")  # whose order matters
    assert len(graph.steps) == (1 if few else 2)
    _assert_equal(graph.interpret(*arrays), s.by_numpy(*s.arrays))


@pytest.mark.parametrize("name", ["rows", "sums of rows", "two results", "edges of a graph"])
@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=["cpu", "gpu"])
def test_procedures_of_pieces(name: str, caps: Any, short: None) -> None:
    s = SCATTERINGS[name]
    graph, values = _in_pieces(s, s.arrays)
    for step in graph.steps:
        stages = lowered(step.mdhom)
        used = [default(one.mdhom, caps) for one in stages]
        program, built = generate(stages, used, caps, default), procedures(stages, used, caps, default)
        walk_all(program, built, stages, steps=10**6)
        outputs = [unwritten(v.shape, v.dtype) for v in step.mdhom.outputs]
        run(program, built, [values[p] for p in step.inputs], outputs)
        values += outputs
    _assert_equal([values[r] for r in graph.results], s.by_numpy(*s.arrays))


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
    sums = mdhnp.md_hom(same, SUM_ROWS, "X[i,j] -> Y[s[i],j]")
    fused = mdhnp.fuse(lambda x, s, v: np.exp(sums(x * 2, s, s=7) / 99) @ v)
    x, s, v = whole(61, 9), to(7, 61), whole(9)
    want = np.exp(put_at(np.add, np.zeros((7, 9), "f4"), s, 2 * x) / 99) @ v
    for given in ((x, s, v), (x, s, v), tuple(map(mdhnp.asarray, (x, s, v)))):
        np.testing.assert_allclose(fused(*given), want, 1e-5)
    known = mdhnp.fuse(lambda x: sums(x + 1, s, s=7))
    np.testing.assert_array_equal(known(x), put_at(np.add, np.zeros((7, 9), "f4"), s, x + 1))
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
    sums = md_hom(same, SUM_ROWS, "X[i,j] -> y[j]").bind(s.arrays[0])
    with pytest.raises(IllegalSchedule, match="elements of an input say where results go"):
        check(h, replace(default(sums, CAPS), local_copies=(None, None), private_copies=(True, True)), CAPS)


@pytest.mark.parametrize(
    ("combine", "views", "count", "error", "said"),
    [
        ({"i": cc}, "x[i] -> y[s[i]]", 3, ValueError, "what s says where to put is reduced"),
        ({"i": ps("add")}, "x[i] -> y[s[i]]", 3, ValueError, "what s says where to put is reduced"),
        (SUM, "x[i] -> y[s[i]+1]", 3, ValueError, "y: an element of an array is an index of an output as it is"),
        (SUM, "x[i] -> y[s[s[i]]]", 3, ValueError, "s: an array that says where results go is indexed by dimensions"),
        (SUM, "x[i] -> y[s[2*i]]", 3, ValueError, "s: an array that says where results go is indexed by dimensions"),
        (SUM, "x[i] -> y[s[i]], z[]", 3, ValueError, "each must have the same element"),
        (SUM, "x[2*i] -> y[s[i]]", 3, ValueError, r"x: 2\*i is no dimension that is scattered"),
        ({"i": pw(lambda p, q: p)}, "x[i] -> y[s[i]]", 3, ValueError, "has no identity"),
        (
            SUM,
            "x[i] -> y[s[i]]",
            None,
            ValueError,
            "how many results s says where to put is not known; pass it as s=10",
        ),
        (SUM, "x[i] -> y[s[i]]", -1, ValueError, "how many results"),
        (SUM, "y[i], s[i] -> y[y[i]], s[s[i]]", 3, ValueError, "of an array that is written"),
        ({"s": pw("add")}, "x[s] -> y[s[s]]", 3, ValueError, "s says where to write, and is a dimension"),
    ],
)
def test_what_is_refused(combine: Any, views: str, count: Any, error: type[Exception], said: str) -> None:
    scalar = (lambda x: (x, x)) if "z" in views else same
    extents = {} if count is None else {"s": count}
    with pytest.raises(error, match=said):
        mdhnp.md_hom(scalar, combine, views)(np.ones(6 if "2*i] ->" in views else 3), np.zeros(3, int), **extents)


def test_points_that_are_sorted_have_no_index() -> None:
    with pytest.raises(ValueError, match="index: of dimensions that move s, which are sorted by it"):
        mdhnp.md_hom(lambda x: x + mdhnp.index(0), SUM, "x[i] -> y[s[i]]")(np.ones(3), np.zeros(3, int), s=2)
    with pytest.raises(TypeError, match="s: indices must be integers, not float64"):
        mdhnp.md_hom(same, SUM, "x[i] -> y[s[i]]")(np.ones(3), np.zeros(3), s=2)
    beside = mdhnp.md_hom(lambda x: x * mdhnp.index(1), SUM_ROWS, "X[i,j] -> Y[s[i],j]")
    x, s = whole(9, 5, dtype="i8"), to(4, 9)
    np.testing.assert_array_equal(beside(x, s, s=4), put_at(np.add, np.zeros((4, 5), "i8"), s, x * np.arange(5)))


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
    assert _grouped(given.astype(int), order, begin, 1)
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


@pytest.mark.parametrize("count", [3, 1000, 1 << 18])
def test_threads_sort_as_one_does(count: int) -> None:
    rng = np.random.default_rng(count)
    given = rng.integers(-count, count, (1 << 19) + 7)
    right = np.argsort(given % count, kind="stable")
    for threads in (1, 2, 3, 9):
        order, begin = np.empty(len(given), int), np.empty(count + 1, int)
        for group in (_grouped, native.group or _grouped):
            assert group(given, order, begin, threads)
            np.testing.assert_array_equal(order, right)
            np.testing.assert_array_equal(np.diff(begin), np.bincount(given % count, minlength=count))
        for place in (0, len(given) // 2, len(given) - 1):
            wrong = given.copy()
            wrong[place] = count
            assert not (native.group or _grouped)(wrong, order, begin, threads)


@pytest.mark.skipif(native.group is None, reason="Python holds its lock meanwhile")
@pytest.mark.parametrize("count", [3, 1000, 1 << 18])
@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_that_change_meanwhile_leave_no_place_unwritten(count: int, threads: int) -> None:
    rng = np.random.default_rng(count)
    given, other = rng.integers(0, count, (2, 1 << 19))
    done, whole = threading.Event(), np.arange(len(given))

    def change() -> None:
        while not done.is_set():
            given[:] = given[::-1]
            given[: len(other) // 2] = other[len(other) // 2 :]

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(10):
            order, begin = np.full(len(given), -1), np.full(count + 1, -1)
            if native.group(given, order, begin, threads):
                np.testing.assert_array_equal(np.sort(order), whole)
                assert begin[0] == 0 and begin[-1] == len(given) and (np.diff(begin) >= 0).all()
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("wrong", [-6, 5, -(2**63), 2**63 - 1, 2**64 - 1])
def test_indices_of_no_result_are_found(wrong: int) -> None:
    given = np.array([0, 4, wrong % 2**64, 3], "u8").astype("i8" if wrong < 2**63 else "u8")
    begin = np.empty(6, int)
    for group in (_grouped, native.group or _grouped):
        assert wrong >= 2**63 or not group(given, np.empty(4, int), begin, 2)
    with pytest.raises(IndexError, match=f"s: index {wrong} at position .2,. is out of bounds for y, which has 5"):
        Sorting(0, "s", "y", 5, (4,)).sort(given)
