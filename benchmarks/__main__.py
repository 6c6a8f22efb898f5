"""Run the benchmarks, ``python -m benchmarks``; ``tables`` measures and writes all figures of the documentation."""

import argparse
import tempfile
from math import inf
from pathlib import Path
from typing import Any

from benchmarks import report


def main() -> None:
    """Measure, print tables, and keep or write them where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    tables = commands.add_parser("tables", help="the documentation's tables: measure, keep, write into the pages")
    cpu = commands.add_parser("cpu", help="whole calls on CPU devices against NumPy, PyTorch, OpenCV, SciPy, Numba")
    gpu = commands.add_parser("gpu", help="calls on a GPU against PyTorch's and CuPy's, enqueued in a row")
    shown = commands.add_parser("show", help="tables of results saved with --json")
    arrays = commands.add_parser("arrays", help="calls on NumPy's arrays beside a GPU, and copies there and back")
    small = commands.add_parser("small", help="calls on small Arrays of a CPU device beside NumPy's on ndarrays")
    several = commands.add_parser("several", help="parts of a CPU device, as several devices, beside the whole")
    sparse = commands.add_parser(
        "sparse", help="products of sparse matrices against SciPy, MKL; PyTorch, CuPy on a GPU"
    )
    scaling = commands.add_parser("scaling", help="what a model predicts of calls on many devices")
    tuning = commands.add_parser("tuning", help="seconds of tuning on a CPU device against minutes of it")
    papers = commands.add_parser("papers", help="the experiments of the method's papers, tuned: a table and a picture")
    family = commands.add_parser("family", help="sizes that nobody tuned, by what was tuned for others: a table")
    tables.add_argument("table", nargs="*", help="only these are measured; a wrong name lists all")
    tables.add_argument("--device", nargs="+", metavar="SPEC", default=["intel", "pocl"])
    tables.add_argument("--minutes", type=float, default=25, help="after which no table begins (default 25)")
    tables.add_argument("--write", action="store_true", help="measure nothing, only write what is kept into the pages")
    scaling.add_argument("--device", metavar="SPEC", help='measure 1, 2, 4, … of these instead, as of "gpu:*"')
    scaling.add_argument("--seconds", type=float, default=200, help="after which no call begins (default 200)")
    scaling.add_argument("--part", type=int, default=1, help="divides extents of measured calls (default 1)")
    scaling.add_argument("--chart", type=Path, help="draw the predictions into this picture (.svg, .png)")
    scaling.add_argument("--markdown", type=Path, help="write the tables between their marks in this document")
    for command in (cpu, tuning):
        command.add_argument("--case", nargs="+", metavar="NAME", help="only these; a wrong name lists all")
    gpu.add_argument("--case", nargs="+", metavar="PATTERN", help="only these, as gpu-gemm-*; a wrong one lists all")
    papers.add_argument("--device", metavar="SPEC", default="cpu", help='its cases are those of its kind, as of "gpu"')
    papers.add_argument("--seconds", type=float, default=10, help="of tuning for each kernel (default 10)")
    papers.add_argument("--case", nargs="+", metavar="NAME", help="only these, on a CPU, in this process")
    papers.add_argument("--timeout", type=float, default=300, help="seconds of a case, at most (default 300)")
    papers.add_argument("--plot", type=Path, help="draw speed-ups into this picture")
    for command, pairs in ((cpu, 15), (gpu, 9), (papers, 15)):
        command.add_argument("--pairs", type=int, default=pairs, help=f"samples of each, by turns (default {pairs})")
    cpu.add_argument("--device", nargs="+", metavar="SPEC", default=[], help="intel, pocl, …; default: all for the CPU")
    cpu.add_argument(
        "--patience", type=float, default=20, help="seconds to wait, for each peer, while others use the machine"
    )
    several.add_argument("--device", nargs="+", metavar="SPEC", default=["intel", "pocl"])
    several.add_argument("--parts", type=int, default=2, help="how many parts (default 2)")
    several.add_argument("--rounds", type=int, default=30, help="calls of each, by turns (default 30)")
    arrays.add_argument("--device", metavar="SPEC", default="gpu")
    sparse.add_argument("--device", metavar="SPEC", default="cpu")
    sparse.add_argument("--columns", type=int, nargs="+", help="of the dense operand (default 1, 16 and 64)")
    sparse.add_argument("--pairs", type=int, default=7, help="samples of each, by turns (default 7)")
    sparse.add_argument("--seconds", type=float, default=inf, help="after which no product begins")
    small.add_argument("--device", metavar="SPEC", default="cpu")
    small.add_argument("--above", type=float, default=1.0, help="microseconds on top from which on a call is shown")
    gpu.add_argument("--device", metavar="SPEC", default="gpu")
    gpu.add_argument("--seconds", type=float, default=0, help="tune, too, so long for each kernel (default 0: not)")
    gpu.add_argument("--limit", type=float, default=inf, help="seconds after which no case begins")
    gpu.add_argument("--workers", type=int, default=0, help="processes that prepare all cases first (default 0)")
    tuning.add_argument("--device", metavar="SPEC", default="cpu")
    tuning.add_argument("--seconds", type=float, default=10, help="budget of each search (default 10)")
    tuning.add_argument("--reference", type=float, default=600, help="budget of the long search (default 600)")
    tuning.add_argument("--seeds", type=int, default=3, help="searches a case (default 3)")
    tuning.add_argument("--plot", type=Path, help="draw the curves into this picture")
    family.add_argument("--device", metavar="SPEC", default="cpu")
    family.add_argument("--kind", nargs="+", metavar="NAME", help="only these calls; a wrong name lists all")
    family.add_argument("--workers", type=int, default=0, help="processes (default: one a core; one for a GPU)")
    family.add_argument("--limit", type=float, default=3600, help="seconds after which all ends (default 3600)")
    family.add_argument("--together", type=int, default=6, help="sizes that are tuned together (default 6)")
    family.add_argument("--held-out", type=int, default=60, help="other sizes of each call (default 60)")
    family.add_argument("--seconds", type=float, default=3, help="of tuning for sizes together (default 3)")
    family.add_argument("--alone", type=float, default=6, help="of tuning for each other size (default 6)")
    family.add_argument("--seed", type=int, default=0, help="number of the first family; others have other sizes")
    for command in (cpu, gpu, papers, tuning, family, shown):
        replaced = "cases in it are not measured again" if command is papers else "new rows replace old ones"
        required = command in (family, shown)
        command.add_argument("--json", type=Path, required=required, help=f"results; {replaced}")
    given = parser.parse_args()
    commands_without_cases = {
        "tables": _tables, "arrays": _arrays, "several": _several, "small": _small, "sparse": _sparse,
        "scaling": _scaling, "family": _family,
    }  # fmt: skip
    commands_without_cases.get(given.command, _cases)(given, parser)


def _tables(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    from benchmarks.tables import TABLES, measure, render

    if unknown := [name for name in given.table if name not in TABLES]:
        parser.error(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    if not given.write:
        measure(given.table or [*TABLES], given.device, given.minutes)
    render()


def _arrays(given: argparse.Namespace, _: argparse.ArgumentParser) -> None:
    from benchmarks import arrays

    report.print_table(arrays.BESIDE, *arrays.beside())
    report.print_table(arrays.TRANSFERS, *arrays.transfers(given.device))


def _small(given: argparse.Namespace, _: argparse.ArgumentParser) -> None:
    from benchmarks import small

    report.print_table(small.CAPTION, small.HEADER, small.table(small.measure(given.device), given.above))


def _several(given: argparse.Namespace, _: argparse.ArgumentParser) -> None:
    from benchmarks.several import run

    print("\n\n".join([run(spec, given.parts, given.rounds) for spec in given.device]))


def _sparse(given: argparse.Namespace, _: argparse.ArgumentParser) -> None:
    from benchmarks.sparse import COLUMNS, table

    report.print_table(*table(given.device, given.columns or COLUMNS, given.pairs, given.seconds))


def _family(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    from benchmarks import family

    kinds = given.kind or [*family.KINDS]
    if unknown := [kind for kind in kinds if kind not in family.KINDS]:
        parser.error(f"no call {', '.join(unknown)}; there are {', '.join(family.KINDS)}")
    much = family.Families(given.together, given.held_out, given.seconds, given.alone, given.seed)
    results = family.run(given.device, much, given.json, given.workers, given.limit, kinds)
    if results:
        report.print_table(family.caption(results), *family.table(results))


def _scaling(given: argparse.Namespace, _: argparse.ArgumentParser) -> None:
    if given.device:
        from benchmarks.scaling.devices import HEADER, run

        print(*HEADER, sep=" | ")
        for row in run(given.device, given.seconds, given.part):
            print(*row, sep=" | ", flush=True)
        return
    from benchmarks.scaling import table
    from benchmarks.scaling.cases import H200S

    for mark, caption, header, lines in (
        ("scaling", table.CAPTION.format(name=H200S.name), table.HEADER, table.lines(H200S)),
        ("weak scaling", table.WEAK, table.WEAK_HEADER, table.weak_lines(H200S)),
    ):
        report.print_table(caption, header, lines)
        if given.markdown:
            report.replace_blocks(given.markdown, [(mark, f"{caption}\n\n{report.markdown_table(header, lines)}")])
    if given.chart:
        table.draw(H200S, given.chart)


def _cases(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Measure cases, or show what was found of them before."""
    from benchmarks.cases import CASES
    from benchmarks.gpu.cases import GPU_CASES, matching
    from mdhnp import config

    config.tuning = "off"  # tuned rows are tuned on purpose
    config.specialise = "always"  # as for calls that are made often
    order = [*CASES, *GPU_CASES]
    if given.command == "show":
        report.show(report.load(given.json), order)
        return
    if given.command == "papers":
        _papers(given, order, parser)
        return
    known = {"cpu": [*CASES], "gpu": [*GPU_CASES], "tuning": [*CASES]}[given.command]
    names = matching(given.case) if given.command == "gpu" else given.case or known
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(known)}")

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


def _papers(given: argparse.Namespace, order: list[str], parser: argparse.ArgumentParser) -> None:
    from benchmarks import papers

    if unknown := [name for name in given.case or () if name not in papers.names_of("cpu")]:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(papers.names_of('cpu'))}")
    with tempfile.TemporaryDirectory() as folder:
        path = given.json or Path(folder, "papers.json")
        if given.case:
            papers.measure(given.case, given.device, given.seconds, given.pairs, path)
            return
        results = papers.run(given.device, given.seconds, given.pairs, path, given.timeout)
    report.show(results, order)
    if given.plot:
        papers.draw(results, given.plot)


def _tuning(names: list[str], given: argparse.Namespace, order: list[str], keep: Any) -> None:
    from benchmarks import tuning

    results = tuning.run(names, given.device, given.seconds, given.reference, given.seeds, keep)
    if given.json:
        results = report.load(given.json)
    report.print_table("Tuning", *tuning.table(results, order))
    if given.plot:
        tuning.draw(results, order, given.plot)


if __name__ == "__main__":
    main()
