"""General kernels: one text for all sizes of a form, and when calls use it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guards import assert_same_bits
from hypothesis import assume, given, note
from hypothesis import strategies as st
from kernels import BOTH, DOT, FIRST, GEMM, GEMV, HALF_GEMM, LARGEST, RANGE
from random_functions import Drawn
from running import execute, expected, lowered
from schedules import CAPS, for_any_sizes
from strategies import Array, Case, case
from tiers import First, Kept, decide, own_helper

import mdhnp
from examples import share
from mdhnp.calls import general
from mdhnp.calls.kernels import procedures_of
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels
from mdhnp.calls.store import forget
from mdhnp.codegen import Program, generate, resized
from mdhnp.codegen.opencl import source
from mdhnp.mdh import Pattern, stages
from mdhnp.runtime.devices import Device
from mdhnp.runtime.programs import build
from mdhnp.schedule.general import any_sizes, fitted, form, general_schedule, stretched
from mdhnp.schedule.schedule import DeviceCaps
from mdhnp.schedule.split import splits
from mdhnp.settings import config
from mdhnp.tuning import background

pytestmark = pytest.mark.usefixtures("garbage_in_temporaries")

GPU = replace(CAPS, kind="gpu", compute_units=8, vector_bytes=16, registers=128)

#: Patterns with few results: each operand's labels, and the type.
SPLIT: dict[str, tuple[Pattern, tuple[str, ...], str]] = {
    "dot": (DOT, ("k", "k"), "f4"),
    "complex dot": (DOT, ("k", "k"), "c8"),
    "product": (GEMM, ("ik", "kj"), "f8"),
    "product of halves": (HALF_GEMM, ("ik", "kj"), "f2"),
    "finished": (GEMV, ("ik", "k", "i"), "f4"),
    "two results": (RANGE, ("ki",), "i4"),
    "booleans": (BOTH, ("ki",), "i2"),
    "in order, no identity": (FIRST, ("k",), "i4"),
    "in order, two results": (LARGEST, ("ik", "k"), "f4"),
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    forget()
    with config(specialise="auto", tuning="off"):
        yield
    forget()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    yield from own_helper(monkeypatch)


@st.composite
def programs(draw: Any) -> tuple[Case, Program]:
    """A random MDH, and the general kernels of its form with random schedules, generated without the MDH's sizes."""
    picker = Drawn(draw)
    drawn = case(picker, in_ring=picker.choice((False, True)))
    first, *more = lowered(drawn.mdhom)
    typical = None if more else form(first.mdhom)
    s = None if more else for_any_sizes(picker, first.mdhom)
    assume(s is not None)
    assert typical is not None
    assert s is not None
    program = generate([replace(first, mdhom=typical)], [any_sizes(s)], CAPS)
    note(f"{first.mdhom}\n  extents {first.mdhom.extents}\n  {s}\n  then {s.second}\n{program.source}")
    return drawn, resized(program, first.mdhom, s)


@pytest.mark.whole
def test_every_general_kernel_gives_the_definition_s_result(device: Device) -> None:
    @share(device, 30)
    @given(programs())
    def check_one(drawn: tuple[Case, Program]) -> None:
        one, program = drawn
        wanted = expected(one.mdhom, one.arrays)
        for number, (got, want) in enumerate(zip(execute(device, one.mdhom, one.arrays, program), wanted, strict=True)):
            assert_same_bits(got, want, f"output {number}")

    check_one()


@pytest.mark.parametrize("caps", [CAPS, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", SPLIT)
def test_long_reductions_are_split(
    device: Device, name: str, caps: DeviceCaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One program for all sizes that are split: with parts of a few points each, the last of them short."""
    monkeypatch.setattr(general, "_programs", {})
    monkeypatch.setattr("mdhnp.schedule.general._PART", {"cpu": 2, "gpu": 2})
    pattern, terms, dtype = SPLIT[name]
    rng = np.random.default_rng(3)
    sources, forms, parts = set(), set(), set()
    for longest in (1, 2, 30, 3000, 9000) * 3:
        extent = {"i": int(rng.integers(1, 6)), "j": int(rng.integers(1, 6)), "k": int(rng.integers(1, longest + 1))}
        arrays = [rng.integers(-2, 3, [extent[label] for label in term]).astype(dtype) for term in terms]
        arrays = [a * (1 + 2j) if a.dtype.kind == "c" else a for a in arrays]
        h = pattern.bind(*arrays)
        (stage,) = lowered(h)
        found = general.general_program(stage, stages(h)[0].mdhom, caps)
        if found is None:
            assert name == "product of halves"  # they cannot wait in the output between tiles
            continue
        program, s = found
        if len(program.kernels) > 1:
            sources.add(program.source)
            forms.add(form(stage.mdhom))
            parts.add(prod(s.num_wg[d] for d in stage.mdhom.dims("pw")))
        for got, want in zip(execute(device, h, arrays, program), expected(h, arrays), strict=True):
            assert_same_bits(got, want, f"{name} {h.extents}, {s}")
    assert len(parts) > 1
    assert len(sources) <= len(forms)


@pytest.mark.parametrize("caps", [CAPS, GPU], ids=["cpu", "gpu"])
def test_work_groups_follow_the_sizes(caps: DeviceCaps) -> None:
    """Parts only where kept dimensions leave compute units idle, and the reduction is long."""
    least = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")
    example = lowered(least.bind(np.ones((20, 20), np.int32), np.ones((20, 20), np.int32)))[0].mdhom
    typical = form(example)
    assert typical is not None
    tiles = general_schedule(typical, caps)
    assert tiles is not None
    for extents, parts in (
        ((4, 4, 1 << 20), True),
        ((2, 3, 1 << 26), True),
        ((4, 4, 64), False),
        ((900, 900, 1000), False),
    ):
        h = stretched(typical, extents)
        assert h is not None
        s = fitted(h, tiles, caps)
        assert s is not None
        assert splits(h, s) == parts
        assert s.work_groups <= 4 * caps.compute_units or not parts


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,j->i", "i,j->ij", "bij,bjk->bik", "ijk->kji", "ijij->i"])
def test_many_sizes(device: Device, subscripts: str) -> None:
    rng = np.random.default_rng(0)
    terms = subscripts.partition("->")[0].split(",")
    for _ in range(40):
        extent = {label: max(int(rng.integers(-10, 80 if len(subscripts) < 12 else 20)), 1) for label in "bijk"}
        arrays = [rng.integers(-3, 4, [extent[label] for label in term]).astype(np.float32) for term in terms]
        got = mdhnp.einsum(subscripts, *arrays)
        np.testing.assert_array_equal(got, np.einsum(subscripts, *arrays), err_msg=f"{[a.shape for a in arrays]}")


def test_one_program_for_many_sizes(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general, "_programs", {})
    rng = np.random.default_rng(1)
    sources = set()
    with observe() as seen:
        for _ in range(30):
            i, j, k = rng.integers(2, 200, 3)
            mdhnp.einsum("ij,jk->ik", np.ones((i, j), np.float32), np.ones((j, k), np.float32))
        # Once it is there, it serves vectors too.
        for i, j, k in ((1, 6, 7), (5, 1, 7), (5, 6, 1), (1, 1, 7), (1, 6, 1)):
            a, b = np.ones((i, j), np.float32), np.ones((j, k), np.float32)
            np.testing.assert_array_equal(mdhnp.einsum("ij,jk->ik", a, b), np.full((i, k), j, np.float32))
        v = np.arange(6, dtype=np.float32)
        for a in (v[None, :], np.stack([v, v])[::-1][:1], np.lib.stride_tricks.as_strided(v, (1, 6), (1 << 40, 4))):
            np.testing.assert_array_equal(mdhnp.einsum("ij,jk->ik", a, v[:, None]), [[55]])
    for plan, _ in seen:
        assert isinstance(plan, Kernels)
        assert plan.origins == ("general",)
        assert source(procedures_of(plan), device.caps) == plan.program.source
        sources.add(plan.program.source)
    (text,) = sources
    assert build(device, text) is build(device, text)  # compiled once, for all of them


@pytest.mark.parametrize(("contest", "later"), [(First, "default"), (Kept, "general")])
def test_calls_get_a_kernel_of_their_own_if_it_is_faster(
    device: Device, contest: Any, later: str, own_cache: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(monkeypatch, contest=contest)
    a = np.ones((5, 6), np.float32)
    with observe() as seen:
        for _ in range(4):
            np.testing.assert_array_equal(mdhnp.matmul(a, a.T), 6)
            background.wait()
    assert [p.origins[0] for p, _ in seen] == ["general"] * 2 + [later] * 2
    assert "measured: kernels" in seen[-1][0].why


def test_every_call_has_its_own_kernel_where_that_is_wanted() -> None:
    a = np.ones((5, 61), np.float32)  # of a size that no other test has: it is tuned
    with observe() as seen:
        for setting in ({"specialise": "always"}, {"tuning": "full", "budget": 0.01}):
            forget()
            with config(**setting):
                mdhnp.matmul(a, a.T)
    assert all(plan.origins[0] != "general" for plan, _ in seen)


def test_forms_differ_where_the_text_does() -> None:
    """Short strides and offsets of 0 are in the text; every other size is an argument."""
    whole = np.zeros((40, 40), np.float32)
    product = mdhnp.md_hom(np.multiply, {"i": mdhnp.cc, "k": mdhnp.pw("add")}, "A[i,k], x[k] -> y[i]")

    def of(a: Array, x: Array) -> Any:
        (stage,) = lowered(product.bind(a, x))
        return form(stage.mdhom)

    x = np.zeros(7, np.float32)
    same = [of(whole[:9, :7], x), of(whole[:2, :30], whole[0, :30]), of(whole[:, :13][::2], x.repeat(2)[:13])]
    assert len(set(same)) == 1
    other = [of(whole[:9, :14:2], x), of(whole[::-1][:9, :7], x), of(whole[:7, :9].T, x), of(whole[:9, :7], x[::-1])]
    assert len({same[0], *other}) == 5
    sums = mdhnp.md_hom(lambda v: v, {"i": mdhnp.ps("add")}, "x[i] -> y[i]").bind(x)
    edge = mdhnp.md_hom(lambda v: v, {"i": mdhnp.cc}, "x[i-1] -> y[i]", boundary={"x": "wrap"}).bind(x, i=7)
    backwards = mdhnp.md_hom(lambda v: v, {"i": mdhnp.cc}, "x[6-i] -> y[i]").bind(x, i=7)
    assert [form(lowered(h)[0].mdhom) for h in (sums, edge, backwards)] == [None] * 3


def test_axes_of_length_1_are_taken_for_regular_ones(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their strides are: the kernel was made for longer ones, with offsets among its arguments."""
    monkeypatch.setattr(general, "_programs", {})
    rng = np.random.default_rng(2)
    b = rng.integers(-3, 4, (7, 5)).astype(np.float32)
    for rows in (5, 1):
        for turned in (np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-1]):
            a = rng.integers(-3, 4, (rows, 7)).astype(np.float32)[turned]
            np.testing.assert_array_equal(mdhnp.matmul(a, b), a @ b)
    for columns in (5, 1):
        a = rng.integers(-3, 4, (4, columns)).astype(np.float32)[:, ::-1]
        np.testing.assert_array_equal(mdhnp.matmul(a, b[:columns]), a @ b[:columns])
