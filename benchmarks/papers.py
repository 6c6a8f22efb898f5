"""The experiments of the method's papers, by one command: their applications and sizes, tuned, beside today's peers.

Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms",
Section VI. They tuned each for 4 to 12 h. Takes a device and seconds; gives rows as the other commands do, and a
picture of speed-ups, a panel for each of their figures.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mdhnp
from benchmarks.cases import CASES
from benchmarks.cpu import mdhnp_device
from benchmarks.cpu import run as run_cpu
from benchmarks.tuning import empty_cache

__all__ = ["EXPERIMENTS", "draw", "names_of", "run", "speedups"]

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


def names_of(kind: str) -> list[str]:
    """Give the cases of a kind of device, "cpu" or "gpu"."""
    return [name for cases in EXPERIMENTS.values() for name in cases[kind == "gpu"]]


def run(spec: str, seconds: float, pairs: int, keep: Callable[[Row], Any] | None = None) -> Row:
    """Tune each case for so many seconds a kernel, from an empty cache, and measure it beside its peers."""
    device = mdhnp_device(spec)
    if device.kind == "gpu":
        from benchmarks.gpu.run import run as run_gpu

        return run_gpu(names_of("gpu"), spec, pairs, seconds, keep=keep)
    results: Row = {"rows": []}
    with empty_cache():
        for name in names_of("cpu"):
            with mdhnp.device(device):
                mdhnp.tune(CASES[name].make().ours, budget=seconds, evaluations=1000, progress=False)
            found = run_cpu([name], [spec], pairs)
            results |= {"machine": found["machine"], "rows": [*results["rows"], *found["rows"]]}
            if keep is not None:
                keep(results)
    return results


def speedups(row: Row) -> dict[str, float]:
    """Give a peer's time over ours, by the peer's name."""
    if "peers" in row:
        return {peer["name"]: peer["ratio"] for peer in row["peers"]}
    ours = row.get("tuned") or row.get("prepared") or {}
    return {row["peer"]["name"]: ours["ratio"]} if row.get("peer") and "ratio" in ours else {}


def draw(results: Row, path: Path) -> None:
    """Draw the speed-ups of each experiment as bars; 1 is as fast as the peer."""
    from matplotlib.figure import Figure

    rows = {row["case"]: speedups(row) for row in results["rows"]}
    shown = {
        title: {case: rows[case] for case in (*cpu, *gpu) if rows.get(case)}
        for title, (cpu, gpu) in EXPERIMENTS.items()
    }
    shown = {title: cases for title, cases in shown.items() if cases}
    figure = Figure(figsize=(11, 3.2 * len(shown)), layout="constrained")
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
        panel.legend(fontsize="small", ncols=4)
    figure.savefig(path, dpi=90)
