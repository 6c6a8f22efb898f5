"""The test that makes the generator trustworthy: every legal schedule of every MDH gives the interpreter's result.

Random MDHs times random legal schedules on each device; floats hold whole numbers, so that all results are exact. The
functions that are not exact are compared in `test_scalar_functions.py`, within rounding.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gpu_kernels import EXCHANGED, EXCHANGING
from guards import assert_same_bits
from hypothesis import given, note
from hypothesis import strategies as st
from kernels import KERNELS, WIDE_VECTORS, Named
from random_functions import Drawn
from running import exchanged_in_local_memory, execute, expected, lowered, run_plain
from schedules import CAPS, schedule
from strategies import Case, case

from examples import share
from mdhnp.codegen import Program, generate
from mdhnp.mdh import Computation, MdHom, cc, md_hom, ps, pw
from mdhnp.schedule.check import check
from mdhnp.schedule.schedule import DeviceCaps, Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

pytestmark = pytest.mark.usefixtures("garbage_in_temporaries")


@st.composite
def programs(draw: Any) -> tuple[Case, Program]:
    """A random MDH, generated with random legal schedules.

    Work-items exchange registers, or do not; vectors are moved as any compiler does it, or as NVIDIA's wants them.
    """
    picker = Drawn(draw)
    on = replace(CAPS, subgroup=picker.choice((0, 2, 4)), split_vectors=picker.choice((False, True)))
    drawn = case(picker, in_ring=picker.choice((False, True)))
    steps = lowered(drawn.mdhom)
    used = [schedule(picker, stage.mdhom) for stage in steps]

    def following(h: MdHom, caps: DeviceCaps) -> Schedule:
        found = schedule(picker, h, caps)
        note(f"then: {h} {h.extents}\n  {found}")
        return found

    note(f"{drawn.mdhom}\n  extents {drawn.mdhom.extents}, nested {drawn.mdhom.nested}")
    for view in drawn.mdhom.inputs:
        note(f"  {view.name}: {view.dtype} {view.shape}, strides {view.strides}, offset {view.offset}, {view.boundary}")
    for stage, one in zip(steps, used, strict=True):
        note(f"stage: {stage.mdhom} {stage.mdhom.extents}\n  {one}")
    with exchanged_in_local_memory(on.subgroup):
        return drawn, generate(steps, used, on, following)


@pytest.mark.whole
def test_every_schedule_gives_the_definition_s_result(device: Device) -> None:
    @share(device, 100)
    @given(programs())
    def check_one(drawn: tuple[Case, Program]) -> None:
        one, program = drawn
        wanted = expected(one.mdhom, one.arrays)
        note(program.source)
        for number, (got, want) in enumerate(zip(execute(device, one.mdhom, one.arrays, program), wanted, strict=True)):
            assert_same_bits(got, want, f"output {number}")

    check_one()


@pytest.mark.parametrize("name", [*KERNELS, "wide_vectors"])
def test_named_kernels(device: Device, name: str) -> None:
    named = KERNELS.get(name, WIDE_VECTORS)
    _assert_right(device, named, named.program())


@pytest.mark.parametrize("name", EXCHANGED)
def test_exchanged_registers(device: Device, name: str) -> None:
    """The order of exchanges, without NVIDIA's instruction for them."""
    with exchanged_in_local_memory(EXCHANGING.subgroup):
        program = EXCHANGED[name].program(EXCHANGING)
    assert "shuffle" not in program.source
    _assert_right(device, EXCHANGED[name], program)


def _assert_right(device: Device, named: Named, program: Program) -> None:
    arrays = named.arrays()
    for got, want in zip(execute(device, named.mdhom(), arrays, program), expected(named.mdhom(), arrays), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("width", [1, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_each_cache_line_of_waiting_results_is_prefetched(dtype: str, width: int) -> None:
    """Two rows of 32 results, in vectors of 4 to 128 bytes."""
    named = KERNELS["gemm_prefetched"]
    changes = {**named.changes, "vector_dim": 1 if width > 1 else -1, "vector_width": width}
    text = replace(named, dtype=dtype, changes=changes).program().source
    size = np.dtype(dtype).itemsize
    lines = [row + first for row in (0, 64) for first in range(0, 32, 64 // size)]
    assert [int(at or 0) for at in re.findall(r"PREFETCH\(O0 \+ i \* 64 \+ j(?: \+ (\d+))?, 1\);", text)] == lines


@pytest.mark.parametrize(
    ("dtype", "terms", "lines"), [("f4", 64, 4), ("f8", 64, 8), ("f4", 384, 16), ("f4", 400, 0), ("f4", 60, 0)]
)
def test_rows_of_the_next_private_tile_are_prefetched(dtype: str, terms: int, lines: int) -> None:
    """Two rows of a factor that is not copied, of which each private tile reads the next ones; no long ones."""
    named = KERNELS["gemm_prefetched"]
    changes = {**named.changes, "local_tile": (4, 32, terms), "local_copies": (None, None)}
    named = replace(named, dtype=dtype, shapes=((7, 500), (500, 64)), changes=changes)
    text = named.program().source
    each = 64 // np.dtype(dtype).itemsize
    expected = [row + each * line for row in (1000, 1500) for line in range(lines)]
    assert [int(at) for at in re.findall(r"PREFETCH\(I0 \+ i \* 500 \+ k_l \+ (\d+), 0\);", text)] == expected


@pytest.mark.parametrize(
    "name",
    [
        "gemm_packed",
        "gemm_work_items",
        "scan_work_groups",
        "stencil_reflect",
        "stencil_wrap",
        "stencil_constant",
        "stencil_rows_constant",
        "stencil_rows_wrap",
        "convolution_packed",
        "convolution_shared",
    ],
)
def test_64_bit_offsets(device: Device, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for buffers of 2^31 elements and more."""
    monkeypatch.setattr(Computation, "wide", True)
    assert "for (long" in KERNELS[name].program().source
    test_named_kernels(device, name)


@pytest.mark.parametrize("mode", ["constant", "nearest", "reflect", "mirror", "wrap"])
@pytest.mark.parametrize("index", ["i+3000000000", "i-5000000001", "1000000000*i", "7000000000*i-3"])
def test_indices_far_outside(device: Device, mode: str, index: str) -> None:
    """Beyond 32 bits, though the array is short."""
    x = np.arange(1.0, 8.0)
    h = md_hom(lambda v: v, {"i": cc}, f"x[{index}] -> y[i]", boundary={"x": mode}).bind(x, i=7)
    np.testing.assert_array_equal(run_plain(device, h, x), expected(h, [x]))


TEXT = "float mix(float a, float b) { return a > b ? a - b : 0.5f * b; }"


def test_c_text(device: Device) -> None:
    x, y = np.arange(7, dtype="f4"), np.arange(7, 0, -1).astype("f4")
    h = md_hom(TEXT.replace("mix", "blend"), {"i": cc}, "x[i], y[i] -> z[i]", results=np.float32).bind(x, y)
    np.testing.assert_array_equal(run_plain(device, h, x, y)[0], np.where(x > y, x - y, 0.5 * y))


def test_c_text_with_several_results(device: Device) -> None:
    x = np.arange(6, dtype="i4")
    text = "void both(int a, int *twos, int *rest) { *twos = a / 2; *rest = a % 2; }"
    h = md_hom(text, {"i": pw("add")}, "x[i] -> p[], q[]", results=(np.int32, np.int32)).bind(x)
    assert [int(v) for v in run_plain(device, h, x)] == [6, 3]


@pytest.mark.parametrize("width", [2, 16])
def test_scan_of_a_matrix_product(device: Device, width: int) -> None:
    """A product of 2 × 2 matrices does not commute: linear recurrences by a scan over several work-groups."""
    rng = np.random.default_rng(0)
    parts = [rng.integers(-2, 3, (37, 19)).astype("i8") for _ in range(4)]

    def product(a: Any, b: Any) -> Any:
        return (
            a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
            a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3],
        )  # fmt: skip

    combine = {"j": cc, "i": ps(product, identity=(1, 0, 0, 1), commutative=False)}
    pattern = md_hom(lambda *x: x, combine, "a[i,j], b[i,j], c[i,j], d[i,j] -> p[i,j], q[i,j], r[i,j], s[i,j]")
    h = pattern.bind(*parts)
    (stage,) = lowered(h)
    s = replace(
        Schedule.plain(stage.mdhom.extents, 4),
        num_wg=(1, 4), num_wi=(1, 5), local_tile=(width, 5), private_tile=(width, 1), vector_dim=0, vector_width=width,
        results="private",
    )  # fmt: skip
    check(stage.mdhom, s, CAPS)
    got = execute(device, h, parts, generate([stage], [s], CAPS, lambda m, _: Schedule.plain(m.extents, 4)))
    for found, want in zip(got, expected(h, parts), strict=True):
        np.testing.assert_array_equal(found, want)
