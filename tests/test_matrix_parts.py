"""Products of float32 as three of tf32: factors whose parts are not what they are, and sums too large, are noticed.

Kernels are run in the IR, and on devices of the test run that have these instructions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gpu_kernels import MULTIPLIED
from kernels import GEMM
from matrices import built, first_schedule, on_multiplying_devices, run_in_ir
from random_functions import Seeded
from running import execute, lowered
from schedules import MATRICES

from mdhnp.mdh import MdHom
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.schedule import Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

Array = np.ndarray[Any, Any]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_multiplying_devices(metafunc, "name", SPECIAL)


_TINY = 2.0**-102
#: What factors hold, at which places of which, and whether their parts are not what they are.
SPECIAL: dict[str, tuple[list[tuple[int, Any, float]], bool]] = {
    "ordinary": ([], False),
    "zeros": ([(0, (slice(None), 3), 0.0), (1, 5, -0.0)], False),
    "large": ([(0, (2, slice(None)), 1e30), (1, (slice(None), 1), -1e7)], False),
    "largest": ([(0, (2, 4), float(np.finfo("f4").max) / 4)], False),
    "small": ([(0, 2, _TINY), (1, (7, 3), -_TINY)], False),
    "smaller": ([(0, (2, 4), float(np.nextafter(np.float32(_TINY), np.float32(0))))], True),
    "smaller in the other factor": ([(1, (19, 0), -_TINY / 2)], True),
    "tiny beside large": ([(0, 2, 1e-37), (1, (slice(None), 3), 1e30)], True),
    "subnormal": ([(0, 17, 1.4e-45), (1, (slice(None), 3), 1e30)], True),
    "infinite": ([(0, (2, 4), np.inf)], True),
    "infinite in the last terms": ([(1, (19, 11), -np.inf)], True),
    "of both signs": ([(0, (2, 4), np.inf), (0, (2, 19), -np.inf), (1, 4, 1.0), (1, 19, 1.0)], True),
    "times zero": ([(0, (2, 4), np.inf), (1, 4, 0.0)], True),
    "not a number": ([(1, (0, 0), np.nan)], True),
    "too large": ([(0, 17, 1e30), (1, 4, 1e30)], True),
}


def _special(name: str) -> tuple[list[Array], bool]:
    rng, (changes, doubtful) = np.random.default_rng(2), SPECIAL[name]
    arrays = [rng.uniform(0.5, 2, shape).astype(np.float32) for shape in MULTIPLIED["gemm_tf32"].shapes]
    for number, where, value in changes:
        arrays[number][where] = value
    return arrays, doubtful


#: Kernels of three products of tf32 whose factors have the shapes of :func:`_special`.
SPLIT = ("gemm_tf32", "gemm_producers")


def _special_schedule(h: MdHom, kernel: str = "gemm_tf32") -> Schedule:
    return replace(Schedule.plain(h.extents, 2), **MULTIPLIED[kernel].changes)


def _assert_as_numpys(got: Array, a: Array, b: Array) -> None:
    with np.errstate(all="ignore"):
        exact = a.astype(np.float64) @ b.astype(np.float64)
        wanted, size = exact.astype(np.float32), np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(got[~finite], wanted[~finite])
    limit = 4 * np.finfo(np.float32).eps * size + 8 * np.finfo(np.float32).smallest_subnormal
    assert (np.abs(got[finite] - exact[finite]) <= limit[finite]).all()


@pytest.mark.parametrize("kernel", SPLIT)
@pytest.mark.parametrize("name", SPECIAL)
def test_factors_that_parts_cannot_represent(name: str, kernel: str) -> None:
    arrays, doubtful = _special(name)
    h = GEMM.bind(*arrays)
    got, found = run_in_ir(h, arrays, _special_schedule(h, kernel), MATRICES)
    _assert_as_numpys(got, *arrays)
    assert (True in found) == doubtful


@pytest.mark.parametrize("name", [name for name, atom in ATOMS.items() if atom.split])
def test_sums_that_are_too_large_are_doubted_whatever_is_added_to_them(name: str) -> None:
    """What is cut off of the largest float, again and again, leaves less than that."""
    rng = np.random.default_rng(4)
    a, b = (rng.uniform(0.5, 2, shape).astype(np.float32) for shape in ((38, 50), (50, 12)))
    a[17], b[4] = 1e30, 1e30
    h, caps = GEMM.bind(a, b), replace(MATRICES, atoms=(name,))
    s = first_schedule(h, caps)
    got, doubtful = run_in_ir(h, [a, b], s, caps)
    assert True in doubtful
    _assert_as_numpys(got, a, b)


def test_factors_that_parts_cannot_represent_on_devices(multiplying: Device, name: str) -> None:
    arrays, _ = _special(name)
    h = GEMM.bind(*arrays)
    for kernel in SPLIT:
        if MULTIPLIED[kernel].changes["atom"] in multiplying.caps.atoms:
            program, _ = built(lowered(h), _special_schedule(h, kernel), multiplying.caps)
            (got,) = execute(multiplying, h, arrays, program)
            _assert_as_numpys(got, *arrays)


@pytest.mark.parametrize("seed", range(12))
def test_no_factor_is_overlooked(seed: int) -> None:
    """Subgroups that load the same elements watch them by turns."""
    p, items = Seeded(seed), ((8, 8, 1), (16, 4, 1))[seed // 2 % 2]
    shapes = (2 * items[0], 24), (24, 2 * items[1])
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    number = seed % 2
    arrays[number][tuple(p.integer(0, n - 1) for n in shapes[number])] = _TINY / 2
    h = GEMM.bind(*arrays)
    several = {"num_wg": (1, 1, 1), "num_wi": items, "local_tile": (2 * items[0], 2 * items[1], 16)}
    got, found = run_in_ir(h, arrays, replace(_special_schedule(h), **several), MATRICES)
    _assert_as_numpys(got, *arrays)
    assert True in found


@pytest.mark.parametrize("name", SPECIAL)
def test_parts_of_complex_factors_that_parts_cannot_represent(name: str) -> None:
    """Each imaginary part is 1, so that the real ones of the products show what happens to the others."""
    (a, b), doubtful = _special(name)
    left, right = (a + 1j).astype(np.complex64), (b + 0j).astype(np.complex64)
    left.real, right.real = a, b
    h = GEMM.bind(left, right)
    s = first_schedule(h, MATRICES)
    got, found = run_in_ir(h, [left, right], s, MATRICES)
    with np.errstate(all="ignore"):
        size = np.abs(left).astype(np.float64) @ np.abs(b).astype(np.float64)
        for part, other in ((got.real, a), (got.imag, np.ones_like(a))):
            exact = other.astype(np.float64) @ b.astype(np.float64)
            wanted = np.where(np.isfinite(size), exact, np.nan).astype(np.float32)
            finite = np.isfinite(wanted)
            limit = 4 * np.finfo(np.float32).eps * size + 8 * np.finfo(np.float32).smallest_subnormal
            assert (np.abs(part[finite] - exact[finite]) <= limit[finite]).all()
            assert not np.isfinite(part[~np.isfinite(size)]).any()
    assert (True in found) == doubtful


def test_whole_numbers_are_exact() -> None:
    named = MULTIPLIED["gemm_tf32"]
    arrays, h = named.arrays(), named.mdhom()
    got, doubtful = run_in_ir(h, arrays, _special_schedule(h), MATRICES)
    np.testing.assert_array_equal(got, arrays[0] @ arrays[1])
    assert doubtful == {False}
