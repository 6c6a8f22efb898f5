"""Every table of figures in the documentation: measured by one command, kept in one file, written where it belongs.

Takes names of tables and devices; measures each table in a process of its own and keeps header, lines and a stamp
(version, commit, day, machine, runtimes, peers' versions) in docs/tables/cpu.json. README.md and pages of docs/ have
marks, ``<!-- table NAME -->`` to ``<!-- end NAME -->``, between which `render` writes them. Tables of a GPU come from
docs/tables/gpu.json, which ``python -m benchmarks gpu --json`` makes on another machine, those of the papers'
experiments and of families of sizes from files that ``python -m benchmarks papers --json`` and ``family`` make.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import family, papers, report, suites

__all__ = ["CPU", "GPU", "PAGES", "ROOT", "TABLES", "Table", "content", "marks", "measure", "render"]

ROOT = Path(__file__).resolve().parent.parent
CPU, GPU = (ROOT / "docs" / "tables" / name for name in ("cpu.json", "gpu.json"))
#: Files of the papers' experiments, by the name in a page's mark.
PAPERS = {f"papers {kind}": ROOT / "docs" / "tables" / f"papers_{kind}.json" for kind in ("cpu", "gpu")}
#: That of sizes which nobody tuned.
FAMILY = ROOT / "docs" / "tables" / "family.json"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


@dataclass(frozen=True)
class Table:
    """One table.

    Attributes
    ----------
    caption : str
        A sentence above it.
    measure : callable
        Given the names of the devices, gives header and lines of text.
    peers : tuple of str
        Distributions whose versions are in the stamp.
    """

    caption: str
    measure: Callable[[Sequence[str]], tuple[list[str], list[list[str]]]]
    peers: tuple[str, ...] = ("numpy",)


_COMPILED = ("numpy", "numba", "jax", "torch", "numexpr")

#: By the name in a page's mark, in the order in which they are measured: what a reader sees first comes first.
TABLES: dict[str, Table] = {
    "demo": Table(suites.DEMO, suites.demo, ("numpy", "opencv-python-headless")),
    "cpu": Table(suites.CALLS, suites.calls, ("numpy", "scipy", "torch", "numba", "opencv-python-headless")),
    "fusions": Table(suites.FUSED, suites.fused, _COMPILED),
    "others": Table(suites.OTHERS, suites.others, ("numpy", "torch")),
    "takeover": Table(suites.TAKEOVER, suites.takeover),
    "cold": Table(suites.COLD, suites.cold),
    "overhead": Table(suites.OVERHEAD, suites.overheads),
    "random": Table(suites.STEADY, suites.steady),
    "first": Table(suites.FIRST, suites.first),
    "shapes": Table(suites.SHAPES, suites.shapes),
    "incalls": Table(suites.INCALLS, suites.incalls),
    "parameters": Table(suites.PARAMETERS, suites.parameters),
    "dask": Table(suites.DASK, suites.in_blocks, ("numpy", "scipy", "dask")),
    "scaling measured": Table(suites.SCALING, suites.scaled, ("numpy", "dask")),
}


def measure(names: Sequence[str], specs: Sequence[str], minutes: float, path: Path = CPU) -> None:
    """Measure tables, each in a new process, and keep what was found; no table begins after so many minutes.

    A table that fails is named, and what the file has of it stays.
    """
    end = time.monotonic() + 60 * minutes
    for name in names:
        if time.monotonic() > end:
            print(f"{name}: left out, the time is over", flush=True)
            continue
        begin = time.monotonic()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            try:
                stamp = pool.submit(_stamp, specs, TABLES[name].peers).result()
                header, lines = pool.submit(TABLES[name].measure, specs).result()
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                continue
        kept = _read(path) | {name: {"stamp": stamp, "header": header, "lines": lines}}
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


def _stamp(specs: Sequence[str], peers: Sequence[str]) -> dict[str, str]:
    from benchmarks.cpu import machine, mdhnp_device

    about = machine()
    named = [mdhnp_device(spec) for spec in specs]
    return {
        "version": about["versions"]["mdhnp"],
        "commit": about["commit"],
        "day": about["date"],
        "machine": f"{about['processor']}, {about['cores']} cores, {about['system']}",
        "runtimes": ", ".join(f"{device.platform} {device.driver}" for device in named),
        "peers": ", ".join(f"{peer} {about['versions'][peer]}" for peer in peers),
        "python": about["python"],
    }


def _stamp_of(results: dict[str, Any], packages: Sequence[str] = ()) -> dict[str, str]:
    """Give the stamp of a file of rows, all of one device; on a CPU with versions of packages, else of all peers."""
    about, device = results["machine"], results["rows"][0]["device"]
    versions, cores, on_gpu = about["versions"], f", {about['cores']} cores", device["kind"] == "gpu"
    if on_gpu:
        gpu = about["gpu"]
        peers = f"PyTorch {gpu['torch']}, CUDA {gpu['cuda']}, cuDNN {gpu['cudnn']}"
    else:
        peers = ", ".join(f"{name} {versions[name]}" for name in packages or TABLES["cpu"].peers)
    return {
        "version": versions["mdhnp"], "commit": about["commit"], "day": about["date"],
        "machine": f"{device['name']}{'' if on_gpu else cores}, {about['system']}",
        "runtimes": "driver " + device["driver"] if on_gpu else f"{device['platform']} {device['driver']}",
        "peers": peers, "python": about["python"],
    }  # fmt: skip


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _under(stamp: dict[str, str]) -> str:
    """Give the line under a table."""
    where = [stamp[part] for part in ("machine", "runtimes", "peers", "python") if stamp.get(part)]
    where[-1] = f"Python {where[-1]}"
    return f"*mdhnp {stamp['version']}, commit {stamp['commit']}, {stamp['day']}. {'; '.join(where)}.*"


def content() -> dict[str, tuple[str, dict[str, str]]]:
    """Give what stands between each table's marks, and its stamp."""
    found = {}
    for name, kept in _read(CPU).items():
        text = report.markdown_table(kept["header"], kept["lines"])
        caption = TABLES[name].caption
        found[name] = "\n\n".join([caption, text, _under(kept["stamp"])]), kept["stamp"]
    if results := _read(GPU):
        from benchmarks.gpu.cases import GPU_CASES

        stamp = _stamp_of(results)
        for mark, caption, header, lines in report.tables(results, [*GPU_CASES]):
            found[mark] = "\n\n".join([caption, report.markdown_table(header, lines), _under(stamp)]), stamp
    for mark, path in PAPERS.items():
        if results := _read(path):
            stamp, text = _stamp_of(results), report.markdown_table(*papers.table(results))
            found[mark] = "\n\n".join([papers.CAPTION, text, _under(stamp)]), stamp
    if results := _read(FAMILY):
        stamp, text = _stamp_of(results, ("numpy",)), report.markdown_table(*family.table(results))
        found["family"] = "\n\n".join([family.caption(results), text, _under(stamp)]), stamp
    return found


def marks(page: Path) -> dict[str, str]:
    """Give the names of a page's tables, and what stands between their marks."""
    pattern = r"<!-- table (.*?) -->\n(.*?)\n?<!-- end \1 -->"
    return {name: text for name, text in re.findall(pattern, page.read_text(), re.DOTALL)}


def render(pages: Sequence[Path] = PAGES) -> None:
    """Write all tables between their marks."""
    found = content()
    for page in pages:
        report.replace_blocks(page, [(name, found[name][0]) for name in marks(page) if name in found])
