"""Products of matrices whose factors are at the ends of what floats hold, wherever in a tile they are.

A kernel that computes float32 by parts of fewer bits notices factors whose parts are not what they are; one that adds
in another type overflows elsewhere. Here one factor at a time is peculiar, at each place of tiles that stick out, or
all have magnitudes far apart; the definition is NumPy's product in double precision. On CPUs it is some of the places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from contractions import PECULIAR, assert_close, halves
from running import lowered

from mdhnp.codegen import generate
from mdhnp.mdh import MdHom, cc, md_hom, pw
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.default import default
from mdhnp.schedule.gpu_matrices import matrix_schedules
from mdhnp.schedule.schedule import DeviceCaps, Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

Array = np.ndarray[Any, Any]

#: Rows, columns and terms of products: such that tiles stick out, and such that rows begin where vectors can.
SHAPES = {"odd": (131, 137, 67), "aligned": (136, 264, 72), "few rows": (3, 70, 301)}
TYPES = ("f4", "f2", "f8")
#: Of the places of factors, each one of so many is looked at on a CPU.
_APART = 211


def _product(dtype: str, m: int, n: int, k: int, turned: bool = False) -> MdHom:
    combine = {"i": cc, "j": cc, "k": pw("add")}
    views = "A[k,i], B[j,k] -> C[i,j]" if turned else "A[i,k], B[k,j] -> C[i,j]"
    if dtype == "f2":
        pattern = md_hom(halves, combine, views, finish=lambda total, a, b: total.astype(np.float16))
    else:
        pattern = md_hom(np.multiply, combine, views)
    a, b = np.empty((m, k), dtype), np.empty((k, n), dtype)
    return pattern.bind(a.T.copy(), b.T.copy()) if turned else pattern.bind(a, b)


def _schedules(h: MdHom, caps: DeviceCaps) -> Iterator[Schedule]:
    """The default, and the best one with each of the device's matrix instructions that can compute it."""
    plain = default(h, replace(caps, atoms=()))
    yield default(h, caps)
    for atom in caps.atoms:
        yield from (s for _, s in list(matrix_schedules(AccessPattern(h), replace(caps, atoms=(atom,)), plain))[:1])


class _Computed:
    """A product by one schedule on a device, of any factors of its shapes."""

    def __init__(self, device: Device, h: MdHom, s: Schedule) -> None:
        self._layouts = [
            Layout(v.shape, tuple([n * v.dtype.itemsize for n in v.strides]), v.dtype.itemsize) for v in h.inputs
        ]
        self._result = np.empty(h.outputs[0].shape, h.outputs[0].dtype)
        program = generate(lowered(h), [s], device.caps, default)
        self._run = Executable(device, program, self._layouts, [Layout.of(self._result)], keep=False)

    def __call__(self, a: Array, b: Array) -> Array:
        self._run([a, b], [self._result])
        return self._result


def _each(device: Device, dtype: str, shape: Sequence[int], turned: bool = False) -> Iterator[_Computed]:
    h = _product(dtype, *shape, turned=turned)
    for s in dict.fromkeys(_schedules(lowered(h)[0].mdhom, device.caps)):
        yield _Computed(device, h, s)


def _factors(dtype: str, m: int, n: int, k: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    return rng.uniform(0.5, 2, (m, k)).astype(dtype), rng.uniform(-2, 2, (k, n)).astype(dtype)


def _exact(a: Array, b: Array) -> tuple[Array, Array]:
    """The product in double precision, and the sums of finite terms' magnitudes."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = [np.abs(np.where(np.isfinite(x), x, 0)) for x in (a, b)]
    with np.errstate(all="ignore"):
        return a @ b, finite[0] @ finite[1]


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_one_peculiar_factor_anywhere(device: Device, dtype: str, shape: str, turned: bool) -> None:
    """In the row or column that has it, sums are what they are in double precision; in all others nothing changes."""
    a, b = _factors(dtype, *SHAPES[shape])
    exact, size = _exact(a, b)
    usual = exact.astype(dtype)
    limit = 16 * np.finfo(dtype).eps * size
    values, step = PECULIAR[dtype], 1 if device.kind == "gpu" else _APART
    for computed in _each(device, dtype, SHAPES[shape], turned):
        for number, factor in enumerate((a, b)):
            for place in range(0, factor.size, step):
                where = np.unravel_index(place, factor.shape)
                before, factor[where] = factor[where], values[place % len(values)]
                got = computed(a.T.copy(), b.T.copy()) if turned else computed(a, b)
                if number == 0:
                    line, changed = (where[0], slice(None)), (a[where[0]], b)
                else:
                    line, changed = (slice(None), where[1]), (a, b[:, where[1]])
                assert_close(got[line], *_exact(*changed))
                got[line] = usual[line]
                assert (np.abs(got - usual) < limit).all(), f"{factor[where]} at {where} of factor {number}"
                factor[where] = before


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", range(3))
def test_magnitudes_far_apart(device: Device, dtype: str, shape: str, seed: int) -> None:
    """All exponents that a type has, down to its subnormal numbers, mixed, such that most sums can be held."""
    (m, n, k), rng, info = SHAPES[shape], np.random.default_rng(seed), np.finfo(dtype)
    low, high = int(info.minexp) - int(info.nmant), int(info.maxexp) // 2 - 5
    a, b = ((rng.uniform(1, 2, size) * 2.0 ** rng.integers(low, high, size)).astype(dtype) for size in ((m, k), (k, n)))
    for computed in _each(device, dtype, (m, n, k)):
        assert_close(computed(a, b), *_exact(a, b))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("value", ["largest", "too large", "smallest", "too small"])
def test_all_factors_at_an_end(device: Device, dtype: str, value: str) -> None:
    """Sums that just fit, that do not, and of what is rounded to subnormal numbers, or away."""
    info, (m, n, k) = np.finfo(dtype), SHAPES["odd"]
    a, b = np.ones((m, k), dtype), np.ones((k, n), dtype)
    a[...] = {
        "largest": float(info.max) / (2 * k), "too large": float(info.max) / 2,
        "smallest": float(info.smallest_subnormal), "too small": float(info.smallest_subnormal),
    }[value]  # fmt: skip
    b[...] = 2.0**-10 if value == "too small" else 1
    wanted, size = _exact(a, b)
    for computed in _each(device, dtype, (m, n, k)):
        got = computed(a, b)
        if value == "too large":
            assert np.isposinf(got).all()
        else:
            assert_close(got, wanted, size)
