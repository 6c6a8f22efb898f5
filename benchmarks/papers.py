"""The experiments of the method's papers, by one command: their applications and sizes, tuned, beside today's peers.

Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms",
Section VI. They tuned each for 4 to 12 h. Takes a device, seconds and a file of results; gives rows there as the other
commands do, and a picture of speed-ups, a panel for each of their figures. What the file holds is not measured again.
"""

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import mdhnp
from benchmarks import report
from benchmarks.cases import CASES
from benchmarks.cpu import mdhnp_device
from benchmarks.cpu import run as run_cpu
from benchmarks.rows import seconds_text
from benchmarks.tuning import empty_cache

__all__ = ["CAPTION", "EXPERIMENTS", "draw", "measure", "missing", "names_of", "run", "speedups", "table"]

Row = dict[str, Any]

#: By what a figure or table of theirs shows: cases on CPUs, and on GPUs.
EXPERIMENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "linear algebra": (
        ("gemm-dl", "sgemm", "gemv", "gemv-2^14", "dot"),
        ("gpu-gemm-10-500-64", "gpu-gemm-1024", "gpu-gemv-square", "gpu-dot"),
    ),
    "stencils, convolution": (
        ("gaussian-224", "gaussian", "jacobi", "jacobi-512", "mcc"),
        ("gpu-stencil-gaussian", "gpu-stencil-7-512", "gpu-mcc-7"),
    ),
    "quantum chemistry": (
        tuple(f"tccg-{n}" for n in range(40, 49)),
        tuple(f"gpu-tccg-{n}" for n in range(40, 49)),
    ),
    "data mining": (("prl-2^15", "prl-febrl4"), ()),
}


CAPTION = (
    "Whole calls, tuned for 10 s a kernel, beside the fastest of today's peers; ratio: the peer's time over ours, the "
    "median of rounds by turns, and its quartiles."
)


def names_of(kind: str) -> list[str]:
    """Give the cases of a kind of device, "cpu" or "gpu"."""
    return [name for cases in EXPERIMENTS.values() for name in cases[kind == "gpu"]]


def missing(names: Sequence[str], results: Row, device: Any) -> list[str]:
    """Give the cases of which results have no row of a device."""
    about = device.runtime, device.name
    known = {
        row["case"] for row in results.get("rows", []) if (row["device"]["runtime"], row["device"]["name"]) == about
    }
    return [name for name in names if name not in known]


def run(spec: str, seconds: float, pairs: int, path: Path, timeout: float, say: Any = print) -> Row:
    """Tune each case for so many seconds a kernel, measure it beside its peers, and give all that the file holds.

    On CPUs each is measured in a process of its own, which is ended after `timeout` seconds, so that neither a case
    that hangs nor an interruption costs what was measured before.
    """
    device = mdhnp_device(spec)
    names = missing(names_of(device.kind), report.load(path), device)
    if device.kind == "gpu":
        from benchmarks.gpu.run import run as run_gpu

        if names:
            report.save(path, run_gpu(names, spec, pairs, seconds, keep=partial(report.save, path)))
        return report.load(path)
    for name in names:
        how = {"case": name, "device": spec, "seconds": seconds, "pairs": pairs, "json": path}
        command = [sys.executable, "-m", "benchmarks", "papers", *[f"--{key}={value}" for key, value in how.items()]]
        try:
            if code := subprocess.run(command, timeout=timeout, check=False).returncode:
                say(f"{name}: failed with exit code {code}")
        except subprocess.TimeoutExpired:
            say(f"{name}: not done after {timeout:g} s")
    return report.load(path)


def measure(names: Sequence[str], spec: str, seconds: float, pairs: int, path: Path) -> Row:
    """Tune and measure cases on a CPU in this process, from empty caches on; keep and give their rows."""
    device, rows = mdhnp_device(spec), list[Row]()
    with empty_cache():
        for name in names:
            with mdhnp.device(device):
                mdhnp.tune(CASES[name].make().ours, budget=seconds, evaluations=1000, progress=False)
            found = run_cpu([name], [spec], pairs)
            report.save(path, found)
            rows += found["rows"]
    return {"rows": rows}


def speedups(row: Row) -> dict[str, float]:
    """Give a peer's time over ours, by the peer's name."""
    if "peers" in row:
        return {peer["name"]: peer["ratio"] for peer in row["peers"]}
    ours = row.get("tuned") or row.get("prepared") or {}
    return {row["peer"]["name"]: ours["ratio"]} if row.get("peer") and "ratio" in ours else {}


def table(results: Row) -> tuple[list[str], list[list[str]]]:
    """Give a line for each case that a peer was measured beside, in the order of the experiments."""
    rows, lines = {row["case"]: row for row in results["rows"]}, list[list[str]]()
    for title, kinds in EXPERIMENTS.items():
        for name in [name for cases in kinds for name in cases if name in rows]:
            row = rows[name]
            if "peers" in row:
                peer = min(row["peers"], key=lambda each: each["ratio"])
                ours, its, beside = peer["ours_seconds"], peer["peer_seconds"], peer
            else:
                beside, peer = row["tuned"], row["peer"]
                ours, its = beside["seconds"], peer["seconds"]
            by = ", by NumPy" if row.get("hosted") else ""
            ratio = "{:.2f} ({:.2f}–{:.2f})".format(beside["ratio"], *beside["quartiles"])
            seconds = [seconds_text(its), seconds_text(ours) + by]
            lines.append([title, row["title"], row["extents"], peer["name"], *seconds, ratio])
    return ["experiment", "call", "extents", "best peer", "its time", "ours", "ratio"], lines


def draw(results: Row, path: Path) -> None:
    """Draw the speed-ups of each experiment as bars; 1 is as fast as the peer."""
    from matplotlib.figure import Figure

    rows = {row["case"]: speedups(row) for row in results["rows"]}
    shown = {
        title: {case: rows[case] for case in (*cpu, *gpu) if rows.get(case)}
        for title, (cpu, gpu) in EXPERIMENTS.items()
    }
    shown = {title: cases for title, cases in shown.items() if cases}
    figure = Figure(figsize=(13, 3.2 * len(shown)), layout="constrained")
    for panel, (title, cases) in zip(figure.subplots(len(shown), squeeze=False).flat, shown.items(), strict=True):
        peers = list(dict.fromkeys([peer for each in cases.values() for peer in each]))
        width = 0.8 / len(peers)
        for n, peer in enumerate(peers):
            places = [at for at, each in enumerate(cases.values()) if peer in each]
            heights = [each[peer] for each in cases.values() if peer in each]
            panel.bar([at + n * width for at in places], heights, width, label=peer)
        panel.axhline(1.0, color="grey", linewidth=0.6)
        panel.set(title=title, yscale="log", ylabel="peer's time over ours")
        panel.set_xticks([at + 0.4 - width / 2 for at in range(len(cases))], list(cases), rotation=20)
        panel.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=90)
