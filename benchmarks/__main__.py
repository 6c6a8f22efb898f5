"""Run the benchmarks, ``python -m benchmarks``; show prints what was saved."""

import argparse
from math import inf
from pathlib import Path
from typing import Any

from benchmarks import report


def main() -> None:
    """Measure, print tables, and write them where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    cpu = commands.add_parser("cpu", help="whole calls on CPU devices against NumPy, PyTorch, OpenCV, SciPy, Numba")
    gpu = commands.add_parser("gpu", help="calls on a GPU against PyTorch's and CuPy's, enqueued in a row")
    shown = commands.add_parser("show", help="tables of results saved with --json")
    shapes = commands.add_parser("shapes", help="hundreds of different shapes in one process, against NumPy")
    others = commands.add_parser("others", help="sizes, types and contractions for which no schedule ships")
    cold = commands.add_parser("cold", help="import and first call of new processes")
    first = commands.add_parser("first", help="first calls of random einsums in new processes, against NumPy")
    takeover = commands.add_parser("takeover", help="calls of new processes until kernels take over from NumPy")
    incalls = commands.add_parser("incalls", help="tuning in the caller's own calls against a search apart")
    steady = commands.add_parser("random", help="random einsums once their kernels are there, against NumPy")
    arrays = commands.add_parser("arrays", help="calls on NumPy's arrays beside a GPU, and copies there and back")
    several = commands.add_parser("several", help="parts of a CPU device, as several devices, beside the whole")
    scaling = commands.add_parser("scaling", help="a model of calls on many devices, beside measurements on two")
    scaling.add_argument("--device", nargs="+", metavar="SPEC", default=["pocl"], help="parts of these are measured")
    scaling.add_argument("--rounds", type=int, default=0, help="times each is measured, by turns (default 0: none is)")
    scaling.add_argument("--chart", type=Path, help="draw the predictions into this picture (.svg, .png)")
    tuning = commands.add_parser("tuning", help="seconds of tuning on a CPU device against minutes of it")
    blocks = commands.add_parser("blocks", help="dask arrays: beside dask.array's functions; two processes beside one")
    blocks.add_argument("--rounds", type=int, default=7, help="times each is measured, by turns (default 7)")
    incalls.add_argument("--case", nargs="+", metavar="NAME", required=True, help="of those of cpu")
    for command in (cpu, tuning):
        command.add_argument("--case", nargs="+", metavar="NAME", help="only these; a wrong name lists all")
    gpu.add_argument("--case", nargs="+", metavar="PATTERN", help="only these, as gpu-gemm-*; a wrong one lists all")
    for command, pairs in ((cpu, 15), (gpu, 9)):
        command.add_argument("--pairs", type=int, default=pairs, help=f"samples of each, by turns (default {pairs})")
    cpu.add_argument("--device", nargs="+", metavar="SPEC", default=[], help="intel, pocl, …; default: all for the CPU")
    cpu.add_argument(
        "--patience", type=float, default=20, help="seconds to wait, for each peer, while others use the machine"
    )
    for command in (others, incalls):
        command.add_argument("--device", metavar="SPEC", default="cpu")
    for command in (shapes, cold, first, steady, takeover):
        command.add_argument("--device", nargs="+", metavar="SPEC", default=["intel", "pocl"])
    several.add_argument("--device", nargs="+", metavar="SPEC", default=["intel", "pocl"])
    several.add_argument("--parts", type=int, default=2, help="how many parts (default 2)")
    several.add_argument("--rounds", type=int, default=30, help="calls of each, by turns (default 30)")
    arrays.add_argument("--device", metavar="SPEC", default="gpu")
    for command in (shapes, cold, first, steady, takeover, others, incalls, arrays, scaling):
        command.add_argument("--markdown", type=Path, help="write the table between its marks in this document")
    gpu.add_argument("--device", metavar="SPEC", default="gpu")
    gpu.add_argument("--seconds", type=float, default=0, help="tune, too, so long for each kernel (default 0: not)")
    gpu.add_argument("--limit", type=float, default=inf, help="seconds after which no case begins")
    gpu.add_argument("--workers", type=int, default=0, help="processes that prepare all cases first (default 0)")
    tuning.add_argument("--device", metavar="SPEC", default="cpu")
    tuning.add_argument("--seconds", type=float, default=10, help="budget of each search (default 10)")
    tuning.add_argument("--reference", type=float, default=600, help="budget of the long search (default 600)")
    tuning.add_argument("--seeds", type=int, default=3, help="searches a case (default 3)")
    tuning.add_argument("--plot", type=Path, help="draw the curves into this picture")
    for command in (cpu, gpu, tuning, shown):
        command.add_argument("--json", type=Path, required=command is shown, help="results; new rows replace old ones")
        command.add_argument("--markdown", type=Path, help="write tables between their marks in this document")
        command.add_argument("--chart", type=Path, help="write a bar chart of the first CPU device's rows (.svg, .png)")
    given = parser.parse_args()
    as_they_are = {"shapes": _shapes, "cold": _cold, "first": _first, "random": _random, "takeover": _takeover}
    if given.command in as_they_are:
        as_they_are[given.command](given.device, given.markdown)
        return

    if given.command == "blocks":
        from benchmarks.blocks import beside_one_process, table

        print(f"{table(given.rounds)}\n\n{beside_one_process(8192, 150_000)}")
        return
    if given.command == "arrays":
        _arrays(given.device, given.markdown)
        return
    if given.command == "scaling":
        _scaling(given.device, given.rounds, given.markdown, given.chart)
        return
    if given.command == "several":
        from benchmarks import several as parts

        print("\n\n".join([parts.run(spec, given.parts, given.rounds) for spec in given.device]))
        return
    if given.command == "incalls":
        _incalls(given.case, given.device, given.markdown)
        return

    from mdhnp import config

    config.tuning = "off"  # tuned rows are tuned on purpose
    config.specialise = "always"  # as for calls that are made often
    if given.command == "others":
        _others(given.device, given.markdown)
        return
    from benchmarks.cases import CASES
    from benchmarks.gpu.cases import GPU_CASES, matching

    known = {"cpu": [*CASES, "overhead"], "gpu": [*GPU_CASES], "tuning": [*CASES], "show": []}[given.command]
    order = [*CASES, *GPU_CASES]
    if given.command == "show":
        results = report.load(given.json)
    else:
        names = given.case or known
        if given.command == "gpu":
            names = matching(given.case)
        if unknown := [name for name in names if name not in known]:
            parser.error(f"no case {', '.join(unknown)}; there are {', '.join(known)}")
        if given.markdown and given.case and not given.json:
            parser.error("--markdown with --case needs --json, where the other rows are")

        def keep(found: dict[str, Any]) -> None:
            if given.json:
                report.save(given.json, found)

        if given.command == "tuning":
            _tuning(names, given, order, keep)
            return
        if given.command == "cpu":
            from benchmarks.cpu import run

            results = run(names, given.device, given.pairs, given.patience, keep)
        else:
            from benchmarks.gpu.run import run as run_gpu

            results = run_gpu(names, given.device, given.pairs, given.seconds, given.limit, given.workers, keep)
        if given.json:
            results = report.save(given.json, results)
    report.show(results, order)
    if given.markdown:
        report.write_markdown(given.markdown, results, order)
    if given.chart:
        from benchmarks.chart import write_chart

        write_chart(given.chart, results, order)


def _shapes(specs: list[str], markdown: Path | None) -> None:
    from benchmarks import shapes

    found = shapes.table([shapes.measure(spec, longest) for spec in specs for longest in (128, 512)])
    _show("shapes", shapes.CAPTION, *found, markdown)


def _cold(specs: list[str], markdown: Path | None) -> None:
    from benchmarks import cold

    _show("cold", cold.CAPTION, *cold.table([cold.measure(spec) for spec in specs]), markdown)


def _first(specs: list[str], markdown: Path | None) -> None:
    from benchmarks import einsums

    _show("first", einsums.FIRST, *einsums.first(specs), markdown)


def _random(specs: list[str], markdown: Path | None) -> None:
    from benchmarks import einsums

    _show("random", einsums.STEADY, *einsums.steady(specs), markdown)


def _takeover(specs: list[str], markdown: Path | None) -> None:
    from benchmarks import takeover

    _show("takeover", takeover.CAPTION, *takeover.table(specs), markdown)


def _incalls(names: list[str], spec: str, markdown: Path | None) -> None:
    from benchmarks import incalls

    _show("incalls", incalls.CAPTION, *incalls.table(names, spec), markdown)


def _others(spec: str, markdown: Path | None) -> None:
    from benchmarks import others

    _show("others", others.CAPTION, *others.table(spec), markdown)


def _arrays(spec: str, markdown: Path | None) -> None:
    from benchmarks import arrays

    _show("beside", arrays.BESIDE, *arrays.beside(), markdown)
    _show("transfers", arrays.TRANSFERS, *arrays.transfers(spec), markdown)


def _scaling(specs: list[str], rounds: int, markdown: Path | None, chart: Path | None) -> None:
    from benchmarks.scaling import table
    from benchmarks.scaling.cases import H200S

    _show("scaling", table.CAPTION.format(name=H200S.name), table.HEADER, table.lines(H200S), markdown)
    _show("weak scaling", table.WEAK, table.WEAK_HEADER, table.weak_lines(H200S), markdown)
    if chart:
        table.draw(H200S, chart)
    if rounds:
        from benchmarks.scaling import measured

        lines = [line for spec in specs for line in measured.parts_of_a_cpu(spec, rounds)] + measured.processes(rounds)
        _show("scaling measured", measured.CAPTION.format(rounds=rounds), measured.HEADER, lines, markdown)


def _show(mark: str, caption: str, header: list[str], lines: list[list[str]], markdown: Path | None) -> None:
    report.print_table(caption, header, lines)
    if markdown:
        report.replace_blocks(markdown, [(mark, f"{caption}\n\n{report.markdown_table(header, lines)}")])


def _tuning(names: list[str], given: argparse.Namespace, order: list[str], keep: Any) -> None:
    from benchmarks import tuning

    results = tuning.run(names, given.device, given.seconds, given.reference, given.seeds, keep)
    if given.json:
        results = report.load(given.json)
    header, lines = tuning.table(results, order)
    report.print_table("Tuning", header, lines)
    if given.markdown:
        report.replace_blocks(given.markdown, [("tuning", report.markdown_table(header, lines))])
    if given.plot:
        tuning.draw(results, order, given.plot)


if __name__ == "__main__":
    main()
