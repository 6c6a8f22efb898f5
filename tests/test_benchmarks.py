"""The benchmarks' parts that measure nothing: cases, turns, and tables of calls on a GPU."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from benchmarks import family, papers, report
from benchmarks.cases import CASES
from benchmarks.contractions import TCCG, extents
from benchmarks.gpu import products
from benchmarks.gpu.cases import GPU_CASES, matching
from benchmarks.gpu.measurement import Contestant, Measurement, by_turns
from benchmarks.gpu.problems import operands
from benchmarks.gpu.table import HEADER, summary, table
from benchmarks.gpu.torch_side import Error
from benchmarks.measure import WrongResultError
from benchmarks.papers import draw, names_of, speedups
from benchmarks.parameters import PARAMETERS, with_default
from mdhnp.schedule import LocalCopy, Schedule


def test_experiments_of_the_papers_are_cases_and_are_drawn(tmp_path: Path) -> None:
    cpu, gpu = names_of("cpu"), names_of("gpu")
    assert {*cpu} <= {*CASES} and {*gpu} <= {*GPU_CASES}
    rows = [{"case": name, "peers": [{"name": "NumPy", "ratio": 2.0}]} for name in cpu[:7]]
    rows.append(_row(gpu[0], "products", "gemm", peer=_PEER, tuned=_variant(2e-6, 2.0)))
    rows.append(_row(gpu[1], "products", "gemm", peer=None, tuned=_variant(2e-6, None)))
    assert [speedups(row) for row in rows[-3:]] == [{"NumPy": 2.0}, {"lib": 2.0}, {}]
    draw({"rows": rows}, tmp_path / "papers.png")
    assert (tmp_path / "papers.png").stat().st_size > 1000


def test_papers_go_on_after_cases_that_fail_and_measure_none_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, said, asked = tmp_path / "papers.json", list[str](), list[str]()
    device = SimpleNamespace(runtime="intel", name="CPU", kind="cpu")
    rows = [{"case": "dot", "device": vars(device)}, {"case": "sgemm", "device": vars(device) | {"runtime": "pocl"}}]
    report.save(path, {"machine": {}, "rows": rows})

    def process(command: list[str], timeout: float, check: bool) -> Any:
        asked.append(command[4].removeprefix("--case="))
        if asked[-1] == "sgemm":
            raise subprocess.TimeoutExpired(command, timeout)
        return SimpleNamespace(returncode=int(asked[-1] == "gemv"))

    monkeypatch.setattr(papers, "mdhnp_device", lambda spec: device)
    monkeypatch.setattr(papers, "names_of", lambda kind: ["sgemm", "dot", "gemv", "jacobi"])
    monkeypatch.setattr(subprocess, "run", process)
    assert papers.run("cpu", 1.0, 3, path, 60.0, said.append)["rows"] == rows
    assert asked == ["sgemm", "gemv", "jacobi"]
    assert said == ["sgemm: not done after 60 s", "gemv: failed with exit code 1"]


def test_a_parameter_alone_is_set_back() -> None:
    start = Schedule.plain((8, 9, 10), 2)
    copy = LocalCopy((0, 1), (0,))
    other = replace(
        start, num_wg=(2, 1, 1), local_copies=(copy, None), local_order=(2, 1, 0), private_copies=(True, True)
    )
    back = {name: with_default(other, start, name) for name in PARAMETERS}
    assert back["work-groups (1)"] == replace(other, num_wg=start.num_wg)
    assert back["what is copied (5)"] == replace(other, local_copies=(None, None), private_copies=(False, False))
    assert back["loop orders (9)"] == replace(other, local_order=start.local_order)
    assert back["layouts of copies (8)"] == other, "where the default copies nothing"
    turned = replace(start, local_copies=(LocalCopy((1, 0)), None))
    assert with_default(other, turned, "layouts of copies (8)").local_copies == turned.local_copies


def _variant(seconds: float, ratio: float | None) -> dict[str, Any]:
    found: dict[str, Any] = {"seconds": seconds, "kernel_seconds": seconds / 2, "error": (1.5e-7, 1e-6)}
    if ratio is not None:
        found |= {"ratio": ratio, "quartiles": [ratio, 2 * ratio], "peer_seconds": ratio * seconds}
    return found


def _row(case: str, kind: str, title: str, **parts: Any) -> dict[str, Any]:
    device = {"runtime": "nvidia", "name": "G", "platform": "P", "driver": "1", "kind": "gpu"}
    costs = {"bytes": 4000, "flops": 8_000_000, "floor": {"memory": 1e-6, "arithmetic": 2e-6}, "slower": []}
    return {"case": case, "kind": kind, "title": title, "extents": "8", "device": device, **costs, **parts}


_PEER = {"name": "lib", "version": "2.0", "seconds": 4e-6, "error": (3e-7, 1e-6)}
_ROWS = [
    _row("b", "moved", "ij->ji", peer=_PEER, prepared=_variant(4e-6, 1.0), tuned=_variant(2e-6, 2.0)),
    _row("a", "moved", "i->i", peer=_PEER, prepared=_variant(4e-6, 4.0), slower=[_PEER | {"name": "other"}]),
    _row("c", "summed", "sum", peer=None, prepared=_variant(4e-6, None)),
    {k: v for k, v in _row("d", "summed", "dot").items() if k != "floor"} | {"error": "ValueError: no"},
]


def test_lines_of_calls_on_a_gpu() -> None:
    header, lines = table(_ROWS)
    assert header == HEADER and {len(line) for line in lines} == {len(HEADER)}
    assert [line[0] for line in lines] == ["**moved**", "ij->ji", "i->i", "**summed**", "sum", "dot"]
    _, both, one, _, alone, failed = lines
    assert both[2:] == [
        "lib", "4 µs", "4 µs", "1.00 (1.00–2.00)", "2 µs", "2.00 (2.00–4.00)", "0.50, 1.00 arithmetic",
        "1.5e-07, 3.0e-07",
        "",
    ]  # fmt: skip
    assert one[4:8] == ["4 µs", "4.00 (4.00–8.00)", "", ""] and one[-1] == "other 4 µs"
    assert alone[2:] == ["none", "", "4 µs", "", "", "", "0.50 arithmetic", "1.5e-07", ""]
    assert failed[2] == "ValueError: no"


def test_a_summary_of_kinds_has_the_worst_case_of_each() -> None:
    _, lines = summary(_ROWS)
    assert lines == [
        ["moved", "2", "2.00", "1.00, ij->ji, 8", "2.00 of 1", "2.00, ij->ji, 8"],
        ["summed", "2", "", "", "", ""],
        ["all", "4", "2.00 of 2", "1.00, ij->ji, 8", "2.00 of 1", "2.00, ij->ji, 8"],
    ]


def test_reports_have_the_gpus_tables_in_the_order_of_the_cases() -> None:
    kinds, cases = report.tables({"rows": _ROWS}, ["a", "b", "c", "d"])
    assert (kinds[0], cases[:3]) == ("G by kinds", ("G", "G, P, driver 1.", HEADER))
    assert [line[0] for line in cases[3]][:4] == ["**moved**", "i->i", "ij->ji", "**summed**"]


def test_cases_are_named_by_patterns() -> None:
    assert matching(None) == [*GPU_CASES]
    assert matching(["gpu-dot", "gpu-tccg-4?", "gpu-no*"])[-2:] == ["gpu-tccg-48", "gpu-no*"]
    assert matching(["gpu-dot", "gpu-tccg-4?"])[0] == "gpu-dot"


def test_contestants_take_turns_and_wait_once_a_sample() -> None:
    done: list[str] = []
    each = {
        name: Contestant(partial(done.append, name), partial(done.append, name.upper()), Error(0, 0)) for name in "ab"
    }
    times = by_turns(each, 2, partial(done.append, "!"))
    assert {name: len(found) for name, found in times.items()} == {"a": 2, "b": 2}
    rounds = "".join(done).split("!")[1:]
    assert [one[0] for one in rounds] == ["a", "b", "b", "a"]
    assert all(one.count(one[0].upper()) == 2 and one.index(one[0].upper()) == 2 for one in rounds)


@pytest.mark.parametrize("error", [2e-4, float("nan")])
def test_what_is_wrong_is_not_timed(error: float) -> None:
    side: Any = SimpleNamespace(error=lambda *_: Error(1e-9, error))
    ours: Any = SimpleNamespace(variant="prepared", result=None)
    one = Measurement(products.gemm(4, 5, 6), side, cast("Any", None), True, print)
    with pytest.raises(WrongResultError, match="prepared: off by"):
        one._checked(ours, None)
    side.error = lambda *_: Error(1e-9, 5e-5)
    assert one._checked(ours, None).largest == 5e-5


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128", "int8", "int32"])
def test_operands_are_of_their_type_and_unlike(dtype: str) -> None:
    a, b = operands(dtype, (70, 3), (70, 3))
    assert a.dtype == b.dtype == dtype and a.flags.c_contiguous and (a != b).any()
    assert (np.abs(a) > 0.4).mean() > 0.9
    again, _ = operands(dtype, (70, 3), (70, 3))
    np.testing.assert_array_equal(a, again)


def test_held_out_sizes_of_families_are_shared_and_those_that_fail_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned: dict[str, list[Any]] = {}

    def together(spec: str, kind: str, sizes: list[Any], seconds: float, home: str) -> list[str]:
        if kind == "matmul" and len(tuned) == 1:
            raise RuntimeError("no such family")
        tuned[home] = [kind, *sizes]
        return [f"{kind}: tuned"]

    def held_out(spec: str, kind: str, size: tuple[int, ...], alone: float, home: str) -> dict[str, Any]:
        assert tuned[home][0] == kind and size not in tuned[home]
        seconds = {"default": 4.0, "family": 2.0, "own": 1.0 if kind == "matmul" else 2.0}
        device = {"runtime": "intel", "name": "a", "kind": "cpu"}
        return {"kind": kind, "case": f"{kind} {size}", "device": device, "seconds": seconds}

    monkeypatch.setattr(family, "mdhnp_device", lambda spec: SimpleNamespace(kind="gpu"))
    monkeypatch.setattr(family, "tuned_together", together)
    monkeypatch.setattr(family, "held_out", held_out)
    monkeypatch.setattr(family, "_pool", lambda workers, pinned: ThreadPoolExecutor(1))
    kinds, much = [*family.KINDS][:2], family.Families(together=3, held_out=5)
    results = family.run("gpu", much, tmp_path / "family.json", workers=4, kinds=kinds)
    assert "RuntimeError: no such family" in capsys.readouterr().out
    assert len({row["case"] for row in results["rows"]}) == len(results["rows"]) == 9
    assert [row["kind"] for row in results["rows"][:3]] == [kinds[0], *[kinds[1]] * 2], "of all first"
    header, lines = family.table(results)
    assert [line[1:] for line in lines] == [
        ["2.00 (2.00–2.00)", "0.50 (0.50–0.50)", "3 of 3"],
        ["2.00 (2.00–2.00)", "1.00 (1.00–1.00)", "0 of 6"],
    ]
    assert "3 or more of each call" in family.caption(results) and len(header) == 4
    assert family.run("gpu", much, tmp_path / "none.json", workers=4, limit=-1.0) == {}


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


def test_sparse_products_are_compared_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    from benchmarks import sparse as products_of_sparse

    matrix = sparse.csr_array(np.array([[0, 2, 0], [3, 0, 1.0]]))
    monkeypatch.setattr(products_of_sparse, "_matrices", lambda dtype: iter([("small", matrix)]))
    monkeypatch.setattr(products_of_sparse, "_SETTLED", 0.0)
    caption, header, lines = products_of_sparse.table("cpu", products_of_sparse.COLUMNS, 1, 60.0)
    assert caption.startswith("Peer's time over ours") and len(header) == 5
    assert [line[:3] for line in lines[:3]] == [["small", "3", str(n)] for n in products_of_sparse.COLUMNS]
    assert all("SciPy" in line[4] for line in lines)
