"""Matrix instructions and tiles that are copied ahead: random sums of products, with the values that kernels compute.

Few devices have them, so kernels are run in the IR (:mod:`ir_run`) and walked through (:mod:`ir_walk`), which needs
none. Where a device of the test run has matrix instructions, it computes the same, and more.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from itertools import product as pairs
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from contractions import ALL_TYPES, PECULIAR, Contraction, contraction, halves, matrix_schedule
from ir_walk import walk_all
from kernels import GEMM
from matrices import built, first_schedule, on_multiplying_devices, run_in_ir, schedules_of, sums
from random_functions import Seeded
from running import execute, lowered
from schedules import CAPS, MATRICES

from mdhnp.codegen.ir.show import show
from mdhnp.mdh import Stage, cc, md_hom, pw
from mdhnp.runtime.trial import confirmed
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default
from mdhnp.schedule.gpu_matrices import matrix_neighbours
from mdhnp.schedule.matrices import allowed
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, LocalCopy, Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

Array = np.ndarray[Any, Any]

#: Random cases that are run in the IR, walked through, and computed on a device.
RUN, WALKED, ON_DEVICES = 36, 12, 300


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_multiplying_devices(metafunc, "seed", range(ON_DEVICES))


def _drawn(seed: int, caps: DeviceCaps, **how: Any) -> tuple[Contraction, list[Stage], Schedule]:
    one = contraction(seed, **how)
    steps = lowered(one.mdhom)
    return one, steps, matrix_schedule(Seeded(seed), steps[0].mdhom, caps)


@pytest.mark.parametrize("seed", range(RUN))
def test_values(seed: int) -> None:
    caps = replace(MATRICES, async_copies=seed % 3 > 0)
    one, _, s = _drawn(seed, caps)
    got, doubtful = run_in_ir(one.mdhom, one.arrays, s, caps)
    one.assert_right(got)
    assert doubtful == ({False} if ATOMS[s.atom].split else set())


@pytest.mark.parametrize("seed", range(RUN))
def test_values_of_factors_at_the_ends_of_their_types(seed: int) -> None:
    """NaN, infinities, subnormal, huge and tiny numbers, here and there among others."""
    one, _, s = _drawn(seed, MATRICES, types=tuple(PECULIAR), peculiar=True)
    with np.errstate(all="ignore"):
        got, _ = run_in_ir(one.mdhom, one.arrays, s, MATRICES)
    one.assert_right(got)


@pytest.mark.parametrize("seed", range(WALKED))
def test_walk(seed: int) -> None:
    caps = replace(MATRICES, async_copies=seed % 3 > 0)
    _, steps, s = _drawn(seed, caps)
    walk_all(*built(steps, s, caps), steps, steps=10**6)


def test_values_on_devices(multiplying: Device, seed: int) -> None:
    caps = replace(multiplying.caps, async_copies=multiplying.caps.async_copies and seed % 3 > 0)
    one, steps, s = _drawn(seed, caps)
    program, _ = built(steps, s, caps)
    (got,) = execute(multiplying, one.mdhom, one.arrays, program)
    one.assert_right(got)


@pytest.mark.parametrize("asynchronous", [True, False])
def test_compilers_do_not_see_rounds_of_two_dimensions(asynchronous: bool) -> None:
    """A convolution of tiles along rows and channels, of whose rounds NVIDIA's compiler made wrong addresses."""
    one = contraction(411, ALL_TYPES, 2_000_000)
    caps = replace(MATRICES, async_copies=asynchronous)
    p = Seeded(411)
    p.integer(0, 2)  # as tests/device_run.py draws it
    s = matrix_schedule(p, lowered(one.mdhom)[0].mdhom, caps)
    program, _ = built(lowered(one.mdhom), s, caps)
    assert "opaque(ahead)" in program.source


#: Sums of two products, of floats that may be contracted or of integers.
TWICE: dict[str, tuple[Any, str, Any]] = {
    "a conjugate": (lambda a, b: np.conjugate(a) * b, "c8", lambda a, b: a.conj() @ b),
    "both conjugates": (lambda a, b: np.conjugate(a) * np.conjugate(b), "c16", lambda a, b: a.conj() @ b.conj()),
    "the other sign": (lambda a, b: -(a * np.conjugate(b)), "c8", lambda a, b: -(a @ b.conj())),
}


@pytest.mark.parametrize("what", TWICE)
def test_sums_of_several_products(what: str) -> None:
    function, dtype, wanted = TWICE[what]
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape) for shape in ((20, 24), (24, 18)))
    a, b = a.astype(dtype), b.astype(dtype)
    h = sums(function).bind(a, b)
    found = first_schedule(h, MATRICES)
    got, _ = run_in_ir(h, [a, b], found, MATRICES)
    np.testing.assert_array_equal(got, wanted(a, b))


@pytest.mark.parametrize("what", ["a conjugate", "the other sign"])
def test_sums_of_several_products_of_several_subgroups(what: str) -> None:
    """Producers prepare each factor with columns, and what is negative is subtracted."""
    function, dtype, wanted = TWICE[what]
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape) for shape in ((40, 70), (70, 18)))
    a, b = a.astype(dtype), b.astype(dtype)
    h = sums(function).bind(a, b)
    caps = replace(MATRICES, atoms=("3xtf32 of warpgroups",))
    found = first_schedule(h, caps)
    assert ATOMS[found.atom].wide
    got, _ = run_in_ir(h, [a, b], found, caps)
    np.testing.assert_array_equal(got, wanted(a, b))


def test_sums_that_round_each_product_are_no_instructions() -> None:
    """A function that adds products itself means what NumPy computes: each is rounded."""
    a, b = np.ones((20, 24), np.float32), np.ones((24, 18), np.float32)
    for function in (lambda a, b: a * b + b * a, lambda a, b: a * b - a):
        h = sums(function).bind(a, b)
        assert not allowed(lowered(h)[0].mdhom)


def test_products_of_bytes_that_a_user_writes_are_no_instructions() -> None:
    """Instructions whose operands are bytes multiply whole integers."""
    a, b = np.ones((20, 24), np.int32), np.ones((24, 18), np.int32)
    for function in (lambda a, b: (a & 255) * (b & 255), lambda a, b: (a & 7) * b, lambda a, b: a * (b >> 8)):
        h = sums(function).bind(a, b)
        assert not allowed(lowered(h)[0].mdhom)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4"])
def test_products_of_integers_wrap_around(dtype: str) -> None:
    """Largest numbers, and what a finish makes of sums that are left of them."""
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(6)
    a, b = (rng.choice([limits.min, limits.max, limits.max // 3], shape).astype(dtype) for shape in ((9, 70), (70, 12)))
    wanted = np.einsum("ik,kj->ij", a, b)
    for finish, result in ((None, wanted), (lambda total, a, b: total < 100, wanted < 100)):
        h = sums(np.multiply, finish=finish).bind(a, b)
        s = first_schedule(h, MATRICES)
        np.testing.assert_array_equal(run_in_ir(h, [a, b], s, MATRICES)[0], result)


#: Instructions of several subgroups, and how the factors lie in memory.
_WIDE = [(name, turned) for name, atom in ATOMS.items() if atom.wide for turned in pairs((False, True), repeat=2)]


@pytest.mark.parametrize(("name", "turned"), _WIDE)
def test_wide_instructions(name: str, turned: tuple[bool, bool]) -> None:
    """With rows and columns that stick out of tiles, several of these, and something done at the end.

    Of bytes there are such only where the terms of both factors are neighbours.
    """
    rng, dtype = np.random.default_rng(7), ATOMS[name].operand
    shapes = ((40, 2, 50), (2, 50, 24))
    a, b = (rng.integers(-4, 5, shape).astype(dtype) for shape in shapes)
    if turned[0]:
        a = np.ascontiguousarray(a.swapaxes(0, 2)).swapaxes(0, 2)
    if turned[1]:
        b = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    multiply = halves if dtype == "float16" else np.multiply
    h = md_hom(
        multiply, {"i": cc, "b": cc, "j": cc, "k": pw("add")}, "A[i,b,k], B[b,k,j] -> C[i,b,j]",
        finish=lambda total, a, b: (total + total).astype(dtype),
    ).bind(a, b)  # fmt: skip
    h = replace(h, precision="default" if ATOMS[name].rounded else "highest")
    caps = replace(MATRICES, atoms=(name,))
    found = [*islice(schedules_of(h, caps), 3)]
    assert bool(found) == (ATOMS[name].itemsize > 1 or turned == (False, True))
    if found:
        s = found[sum(turned) % len(found)]  # another one for each
        assert s.atom == name
        got, _ = run_in_ir(h, [a, b], s, caps)
        wanted = 2 * np.einsum("ibk,bkj->ibj", *(x.astype("i8") for x in (a, b)))
        np.testing.assert_array_equal(got, wanted.astype(dtype))


#: What is added to indices of rows, of terms, and of columns of factors that have zeros around them.
_AROUND = ((0, -2, 0), (0, 3, 0), (-5, -1, 3), (4, 2, -1))


@pytest.mark.parametrize("name", ["3xtf32", "f16", *dict(_WIDE)])
@pytest.mark.parametrize("moved", _AROUND)
def test_zeros_around_factors(name: str, moved: tuple[int, int, int]) -> None:
    """Also where the last tile of terms sticks out: its indices may lie before the array, or behind it."""
    rng, dtype = np.random.default_rng(8), ATOMS[name].operand
    arrays = [rng.integers(-4, 5, shape).astype(dtype) for shape in ((40, 50), (50, 24))]
    if ATOMS[name].itemsize == 1:
        arrays[1] = np.ascontiguousarray(arrays[1].T).T
    i, k, j = moved
    h = md_hom(
        halves if dtype == "float16" else np.multiply, {"i": cc, "j": cc, "k": pw("add")},
        f"A[i{i:+},k{k:+}], B[k{k:+},j{j:+}] -> C[i,j]", finish=lambda total, a, b: total.astype(dtype),
        boundary={"A": "constant", "B": "constant"},
    ).bind(*arrays, i=40, j=24, k=50)  # fmt: skip
    h = replace(h, precision="default" if ATOMS[name].rounded else "highest")
    caps = replace(MATRICES, atoms=(name,))
    s = first_schedule(h, caps)
    assert 50 % s.local_tile[s.atom_dims[2]]
    got, _ = run_in_ir(h, arrays, s, caps)
    around = [np.pad(x.astype("i8"), 8) for x in arrays]
    a, b = (x[8 + u : 8 + u + n, 8 + v : 8 + v + m] for x, (n, m), u, v in zip(
        around, ((40, 50), (50, 24)), (i, k), (k, j), strict=True
    ))  # fmt: skip
    np.testing.assert_array_equal(got, (a @ b).astype(dtype))


def test_workers_wait_for_no_registers_that_nobody_leaves() -> None:
    """A compute unit has 65,536: those who copy leave 40 each to 256 others, not to more."""
    (stage,) = lowered(GEMM.bind(*(np.empty((4096, 4096), np.float32) for _ in range(2))))
    caps = replace(MATRICES, atoms=("3xtf32 of warpgroups",))
    s = default(stage.mdhom, caps)
    access, (row, *_) = AccessPattern(stage.mdhom), s.atom_dims
    more = [n for n in matrix_neighbours(access, caps, s) if n.num_wi[row] == 2 * s.num_wi[row]]
    assert s.work_items == 256
    assert more
    for found in more:
        with pytest.raises(IllegalSchedule, match="num_wi: 512 beside producers"):
            check(stage.mdhom, found, caps)


def test_wide_instructions_are_left_out_where_they_do_not_work(device: Device) -> None:
    """No CPU has them: as on a GPU whose driver refuses them, kernels use others, and it is said why."""
    said = replace(MATRICES, name=device.name)
    found, why = confirmed(device, said)
    if any(ATOMS[name].wide for name in device.caps.atoms):
        assert not why
        return
    assert why
    assert {*said.atoms} - {*found.atoms} == {name for name, atom in ATOMS.items() if atom.wide}
    h = GEMM.bind(*(np.empty((2048, 2048), np.float32) for _ in range(2)))
    (stage,) = lowered(h)
    assert [ATOMS[default(stage.mdhom, caps).atom].warps for caps in (said, found)] == [4, 1]


def test_what_is_added_to_products_at_the_end_is_no_factor() -> None:
    """It moves along rows and columns, as no factor does, and is read where it is."""
    rng = np.random.default_rng(3)
    a, b, d = (rng.integers(-9, 10, shape).astype(np.float32) for shape in ((40, 24), (24, 36), (40, 36)))
    h = md_hom(
        lambda a, b, d: a * b, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j], D[i,j] -> C[i,j]",
        finish=lambda total, a, b, d: total + d,
    ).bind(a, b, d)  # fmt: skip
    found = first_schedule(h, MATRICES)
    got, _ = run_in_ir(h, [a, b, d], found, MATRICES)
    np.testing.assert_array_equal(got, a @ b + d)


def test_c_text_is_given_elements_of_the_arrays_only() -> None:
    """It might fail on others: where tiles stick out, they get elements again, no zeros."""
    text = "int f(int x, int y) { return y / x; }"
    a, b = np.full((5, 12), 7, np.int32), np.full((12, 4), 42, np.int32)
    h = sums(text, results=np.int32).bind(a, b)
    steps = lowered(h)
    plain = Schedule.plain(steps[0].mdhom.extents, 2)
    s = replace(
        plain, num_wg=(2, 1, 1), local_tile=(4, 4, 4), private_tile=(4, 4, 1), results="private", stages=2,
        combine_on="local", local_copies=(LocalCopy((0, 1)), LocalCopy((0, 1))),
    )  # fmt: skip
    for chosen in (s, replace(s, stages=3)):
        check(steps[0].mdhom, chosen, CAPS)
        _, made = built(steps, chosen, CAPS)
        assert not any(" else " in line for line in show(made[0]).splitlines() if "_l[" in line)
        walk_all(*built(steps, chosen, CAPS), steps, steps=10**5)


def test_c_text_is_given_the_zeros_around_an_array(device: Device) -> None:
    x = np.arange(1, 13, dtype=np.int32)
    h = md_hom(
        "int f(int x, int y) { return x * y + x + y; }", {"i": cc, "k": pw("add")}, "A[k+i-3], B[k] -> C[i]",
        results=np.int32, boundary={"A": "constant"},
    ).bind(x, x, i=7, k=12)  # fmt: skip
    steps = lowered(h)
    s = replace(
        Schedule.plain(steps[0].mdhom.extents, 2), num_wg=(1, 1), local_tile=(7, 4), private_tile=(7, 1),
        results="private", stages=2, combine_on="local", local_copies=(LocalCopy((0,)), LocalCopy((0,))),
    )  # fmt: skip
    program, _ = built(steps, s, CAPS)
    (got,) = execute(device, h, [x, x], program)
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(x, 3), 12)[:7]
    np.testing.assert_array_equal(got, (seen * x + seen + x).sum(axis=1))


#: What is made of sums of products of float16, and whether one sum that is cut off is exact enough for it.
FINISHED: dict[str, tuple[Any, bool]] = {
    "rounded": (lambda total, a, b: total.astype(np.float16), True),
    "as it is": (lambda total, a, b: total, False),
    "a difference, rounded": (lambda total, a, b: (total - np.float32(4096)).astype(np.float16), False),
    "a whole number": (lambda total, a, b: total.astype(np.int16), False),
}


@pytest.mark.parametrize("what", FINISHED)
def test_where_one_sum_of_halves_is_enough(what: str) -> None:
    finish, enough = FINISHED[what]
    for terms in (4096, 8192, 8208):
        a, b = (np.broadcast_to(np.float16(1), shape) for shape in ((512, terms), (terms, 512)))
        product = sums(halves, finish=finish)
        arrays = [np.lib.stride_tricks.as_strided(x, x.shape, (2 * x.shape[1], 2)) for x in (a, b)]
        (stage,) = lowered(product.bind(*arrays))
        s = default(stage.mdhom, replace(MATRICES, compute_units=4))
        assert ATOMS[s.atom].instruction.endswith(".f32.f16.f16" if ATOMS[s.atom].wide else ".f16.f16.f32")
        assert (s.combine_on == "global") == (enough and terms <= 8192)


def test_float64_is_one_sum_up_to_some_thousand_terms() -> None:
    """As in cuBLAS; of more terms sums are moved to others, so that their errors stay small."""
    for terms, one in ((4096, True), (16384, True), (20000, False)):
        a, b = (np.lib.stride_tricks.as_strided(np.ones(1), s, (8 * s[1], 8)) for s in ((2048, terms), (terms, 2048)))
        (stage,) = lowered(GEMM.bind(a, b))
        s = default(stage.mdhom, replace(MATRICES, local_memory=200 << 10))
        assert s.atom == "f64 of 16 rows"
        assert (s.combine_on == "global") == one
