"""The generator's text, kept: a change of generated code shows as a change of tests/golden/*.cl.

Write them anew with ``pytest tests/test_golden.py --update-golden``, and read the difference. Needs no device.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import chains
import numpy as np
import pytest
import rows
from gpu_kernels import ELSEWHERE, EXCHANGED, MULTIPLIED
from kernels import KERNELS
from schedules import CAPS, MATRICES

from mdhnp.codegen.opencl.selection import writing
from mdhnp.codegen.opencl.short_rows import sorting

GOLDEN = Path(__file__).parent / "golden"

#: Each shows one thing, in as few lines as it takes.
NAMES = (
    "gemm_plain",
    "gemm_packed",
    "gemm_turned",
    "gemm_prefetched",
    "gemm_in_output",
    "gemm_work_items",
    "gemm_ahead",
    "gemm_tree",
    "gemm_half",
    "gemm_complex",
    "gemv_finish_split",
    "general_gemm",
    "general_gemv_split",
    "dot_vector",
    "and",
    "first_in_order",
    "scan_sequential",
    "scan_work_groups",
    "scan_of_sums",
    "convolution_packed",
    "stencil_inside",
    "stencil_constant",
    "stencil_rows_constant",
)


#: What sorts two rows of float32.
_SORTING = partial(sorting, np.dtype(np.float32), 2, caps=replace(MATRICES, offsets=True))
#: Kernels of several MDHs, or of none.
SEVERAL = {
    "chain": chains.program,
    "chain_streamed": chains.streamed_program,
    "rows": rows.program,
    "radix_places": partial(_SORTING, 200_000, values=False, places=True),
    "rows_compared": partial(_SORTING, 20, values=True, places=False),
    "rows_exchanged": partial(_SORTING, 900, values=True, places=True),
    "rows_online": rows.online_program,
    "selection_places": partial(writing, np.dtype(np.float16), (30, 300), "new", None, replace(MATRICES, offsets=True)),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", [*NAMES, *ELSEWHERE, *SEVERAL])
def test_text_is_the_golden_one(name: str, request: pytest.FixtureRequest) -> None:
    if name in SEVERAL:
        program = SEVERAL[name]()
    else:
        program = {**KERNELS, **EXCHANGED, **MULTIPLIED}[name].program(ELSEWHERE.get(name, CAPS))
    launches = "".join(
        f"// {k.name}: {k.global_size} work-items, {k.local_size} a work-group; "
        f"{', '.join(f'{a.role} {a.position}' for a in k.arguments)}\n"
        for k in program.kernels
    )
    text = f"{program.source}\n{launches}"
    path = GOLDEN / f"{name}.cl"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "pytest --update-golden writes the new text"


@pytest.mark.parametrize("name", KERNELS)
def test_text_is_the_same_each_time(name: str) -> None:
    assert KERNELS[name].program() == KERNELS[name].program()


def test_no_golden_file_is_left_over() -> None:
    assert {p.stem for p in GOLDEN.glob("*.cl")} == {*NAMES, *ELSEWHERE, *SEVERAL}
