"""The benchmarks' parts that measure nothing: what compilers say, and the table of kernels on a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import report
from benchmarks.cases import CASES
from benchmarks.contractions import TCCG, extents
from benchmarks.gpu.build_log import Resources, resources
from benchmarks.gpu.cases import GPU_CASES
from benchmarks.gpu.table import HEADER, table

_LOG = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    24 bytes stack frame, 40 bytes spill stores, 56 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 24 bytes cumulative stack size, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'second_2' for 'sm_90'
ptxas info    : Function properties for second_2
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for helper
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 32 registers, 380 bytes cmem[0]
"""


@pytest.mark.parametrize(
    "log, expected",
    [
        ("", ()),
        ("ptxas info    : 0 bytes gmem\n", ()),
        (_LOG, (Resources("first", 168, 40), Resources("second_2", 32, 4))),
        (_LOG.replace("'", ""), (Resources("first", 168, 40), Resources("second_2", 32, 4))),
    ],
    ids=["empty", "no kernel", "two kernels", "without quotes"],
)
def test_resources_are_read_from_build_logs(log: str, expected: tuple[Resources, ...]) -> None:
    assert resources(log) == expected


def _variant(seconds: float, ratio: float | None, *kernels: tuple[int, int]) -> dict[str, Any]:
    found: dict[str, Any] = {"seconds": seconds, "call_seconds": 2 * seconds, "error": 1.5e-7}
    found["resources"] = [{"kernel": "f", "registers": used, "spilled": spilled} for used, spilled in kernels]
    if ratio is not None:
        found |= {"ratio": ratio, "quartiles": [ratio, 2 * ratio], "peer_seconds": ratio * seconds}
    return found


def _row(case: str, title: str, **parts: Any) -> dict[str, Any]:
    device = {"runtime": "nvidia", "name": "G", "platform": "P", "driver": "1", "kind": "gpu"}
    costs = {"bytes": 4000, "flops": 8_000_000, "floor": {"memory": 1e-6, "arithmetic": 2e-6}, "schedules": []}
    return {"case": case, "title": title, "extents": "8", "device": device, **costs, **parts}


_PEER = {"name": "lib", "version": "2.0", "seconds": 4e-6, "error": 3e-7}
_ROWS = [
    _row("b", "einsum, ij->ji", peer=_PEER, untuned=_variant(4e-6, 1.0), tuned=_variant(2e-6, 2.0, (40, 0), (255, 8))),
    _row("a", "einsum, i->i", peer=_PEER, untuned=_variant(4e-6, 4.0)),
    _row("c", "sum", peer=None, untuned=_variant(4e-6, None)),
    {k: v for k, v in _row("d", "dot").items() if k != "floor"} | {"error": "ValueError: no"},
]


def test_lines_of_kernels_on_a_gpu() -> None:
    header, lines = table(_ROWS)
    assert header == HEADER and {len(line) for line in lines} == {len(HEADER)}
    untuned, tuned, _, alone, failed, mean = (dict(zip(HEADER, line, strict=True)) for line in lines)
    assert [line["case"] for line in (untuned, tuned, alone, failed)] == ["einsum, ij->ji", "", "sum", "dot"]
    assert [line["schedule"] for line in (untuned, tuned, alone, mean)] == ["untuned", "tuned", "untuned", "untuned"]
    assert [line["rate"] for line in (untuned, tuned)] == ["2.0 Tflop/s", "4.0 Tflop/s"]
    assert [line["peer"] for line in (untuned, tuned, alone)] == ["lib (2.0)", "", "none"]
    assert [line["ratio"] for line in (untuned, tuned, alone)] == ["1.00 (1.00–2.00)", "2.00 (2.00–4.00)", ""]
    assert [line["floor"] for line in (untuned, tuned)] == ["2 µs arithmetic, 2.0 ×", "2 µs arithmetic, 1.0 ×"]
    assert [line["registers"] for line in (untuned, tuned)] == ["", "40 + 255 (8 B spilled)"]
    assert failed["schedule"] == "ValueError: no"
    assert mean["case"] == "geometric mean of 2 contractions" and mean["ratio"] == "2.00 (at least 1.00)"


def test_reports_have_the_gpus_table_in_the_order_of_the_cases() -> None:
    ((mark, caption, header, lines),) = report.tables({"rows": _ROWS}, ["a", "b", "c", "d"])
    assert (mark, caption, header) == ("nvidia", "G, P, driver 1.", HEADER)
    assert [line[0] for line in lines if line[0]][:3] == ["einsum, i->i", "einsum, ij->ji", "sum"]


def test_the_list_of_contractions_is_complete() -> None:
    """Numbers are the list's; each sums what both operands have and the result has not, and has what one has."""
    assert [*TCCG] == [*range(1, 49)]
    assert len({subscripts for subscripts, _ in TCCG.values()}) == 48
    for number, (subscripts, _) in TCCG.items():
        operands, result = subscripts.split("->")
        left, right = map(set, operands.split(","))
        assert {*result} == left ^ right
        assert {*extents(number)} == left | right
    assert [name for name in GPU_CASES if "tccg" in name] == [f"gpu-tccg-{number}" for number in TCCG]
    assert len([name for name in CASES if "tccg" in name]) == 23
