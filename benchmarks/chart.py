"""Draws results as a bar chart: one bar a case and peer, as long as the speed-up; how far kernels are from the floor.

Takes plain data as `cpu` gives it. Measures nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.rows import Row, floor_of, floors_of

__all__ = ["write_chart"]


def write_chart(path: Path, results: dict[str, Any], order: Sequence[str]) -> None:
    """Write the chart of the first CPU device's rows in the format that the file's name ends with.

    Parameters
    ----------
    path : Path
        Of the picture: .svg, .png or .pdf.
    results : dict
        Rows with their devices.
    order : sequence of str
        Cases, from top to bottom.

    Raises
    ------
    ValueError
        If no row is from a CPU.
    """
    rows = [row for row in results.get("rows", []) if row["device"]["kind"] == "cpu" and row["peers"]]
    if not rows:
        raise ValueError("--chart: no CPU rows to draw")
    runtime = rows[0]["device"]["runtime"]
    rows = sorted((r for r in rows if r["device"]["runtime"] == runtime), key=lambda r: order.index(r["case"]))
    bars = sum(len(row["peers"]) for row in rows)
    figure = Figure(figsize=(12, 1.2 + 0.2 * bars + 0.12 * len(rows)), layout="constrained")
    speed, roof = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    _speed_ups(speed, rows)
    _roofline(roof, rows)
    figure.suptitle(f"{rows[0]['device']['name']}, {rows[0]['device']['platform']}")
    figure.savefig(path)


def _places(rows: Sequence[Row]) -> list[float]:
    """Give the height of each row's first bar."""
    places, top = [], 0.0
    for row in rows:
        places.append(top)
        top += len(row["peers"]) + 0.6
    return places


def _speed_ups(axes: Any, rows: Sequence[Row]) -> None:
    for row, top in zip(rows, _places(rows), strict=True):
        for n, peer in enumerate(row["peers"]):
            low, high = peer["quartiles"]
            wins = peer["ratio"] >= 1
            axes.barh(top + n, peer["ratio"], 0.8, left=0, color="tab:green" if wins else "tab:red")
            axes.plot([low, high], [top + n] * 2, color="black", linewidth=1)
            axes.text(
                max(high, peer["ratio"]) * 1.05, top + n, f"{peer['ratio']:.2f} {peer['name']}", va="center", fontsize=7
            )
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(_places(rows), [f"{row['title']}, {row['extents']}" for row in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("peer's time / ours, whole call; quartiles as lines")


def _roofline(axes: Any, rows: Sequence[Row]) -> None:
    floors = floors_of(rows)
    for row, top in zip(rows, _places(rows), strict=True):
        seconds, bound = floor_of(row, floors)
        part = seconds / row["kernel_seconds"]
        axes.barh(top, part, 0.8, color="tab:blue" if bound == "memory" else "tab:orange")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("floor / kernel\n(blue: memory, orange: arithmetic)", fontsize=8)
