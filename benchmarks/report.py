"""Shows results: tables in the terminal, the same as Markdown between marks in a document, and JSON.

Takes plain data as `cpu` and `gpu` give it. Measures nothing.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.gpu import table as gpu_table
from benchmarks.rows import Row, floor_of, floors_of, seconds_text

__all__ = [
    "load", "markdown_table", "print_table", "replace_blocks", "save", "show", "tables",
]  # fmt: skip


def load(path: Path) -> dict[str, Any]:
    """Read results saved before, or give empty ones."""
    return json.loads(path.read_text()) if path.exists() else {}


def save(path: Path, results: dict[str, Any]) -> dict[str, Any]:
    """Merge results into a file: a row replaces the one of its device and case; give everything in the file."""
    before, new = load(path), results.get("rows", [])
    merged = before | results | {"machine": before.get("machine", {}) | results["machine"]}
    replaced = {_identity(row) for row in new}
    merged["rows"] = [row for row in before.get("rows", []) if _identity(row) not in replaced] + new
    path.write_text(json.dumps(merged, indent=1, ensure_ascii=False) + "\n")
    return merged


def _identity(row: Row) -> tuple[Any, ...]:
    return row["device"]["runtime"], row["device"]["name"], row["case"]


def tables(results: dict[str, Any], order: Sequence[str]) -> list[tuple[str, str, list[str], list[list[str]]]]:
    """Give (mark, caption, header, rows of text) for every table there is.

    Parameters
    ----------
    results : dict
        Rows with their devices, and versions.
    order : sequence of str
        Cases in the order to show them.
    """
    found = []
    rows = sorted(results.get("rows", []), key=lambda r: order.index(r["case"]) if r["case"] in order else len(order))
    floors = floors_of(rows)
    for mark in dict.fromkeys(_mark(r["device"]) for r in results.get("rows", [])):
        these = [r for r in rows if _mark(r["device"]) == mark]
        about = _device(these[0]["device"])
        if "kind" in these[0]:
            found.append((f"{mark} by kinds", f"{about}: peer's time over ours.", *gpu_table.summary(these)))
            found.append((mark, f"{about}.", *gpu_table.table(these)))
        else:
            found.append((mark, f"{about}.{_noise(these)}", *_cpu_table(these, floors)))
    return found


def _mark(device: Row) -> str:
    """Name a device's tables: by its runtime, and one of several GPUs' by its own name."""
    return str(device["name"] if device["kind"] == "gpu" else device["runtime"])


def _device(device: Row) -> str:
    return f"{device['name']}, {device['platform']}, driver {device['driver']}"


def _noise(rows: Iterable[Row]) -> str:
    """Say how many samples began while other processes ran."""
    peers = [peer for row in rows for peer in row.get("peers", [])]
    samples = sum(2 * peer["pairs"] for peer in peers)
    if not samples:
        return ""
    fewest = min(peer["pairs"] for peer in peers)
    disturbed = sum(peer["disturbed"] for peer in peers)
    return f" Rounds: {fewest} or more; other processes ran at the start of {disturbed / samples:.0%} of the samples."


def _cpu_table(rows: Iterable[Row], floors: dict[str, dict[str, float]]) -> tuple[list[str], list[list[str]]]:
    header = ["case", "extents", "ours", "kernel", "peer", "its time", "ratio", "quartiles", "required", "floor"]
    lines = []
    for row in rows:
        floor = floor_of(row, floors)
        kernel = row["kernel_seconds"]
        for n, peer in enumerate(row["peers"]):
            lines.append(
                [
                    row["title"] if n == 0 else "",
                    row["extents"] if n == 0 else "",
                    seconds_text(peer["ours_seconds"]) + (", by NumPy" if row.get("hosted") else ""),
                    seconds_text(kernel) if n == 0 else "",
                    f"{peer['name']} ({peer['version']})",
                    seconds_text(peer["peer_seconds"]),
                    f"{peer['ratio']:.2f}",
                    "{:.2f} – {:.2f}".format(*peer["quartiles"]),
                    f"≥ {row['required']:g}" if n == 0 and row["required"] else "",
                    f"{seconds_text(floor[0])} {floor[1]}, {kernel / floor[0]:.1f} ×" if n == 0 else "",
                ]
            )
    return header, lines


def show(results: dict[str, Any], order: Sequence[str]) -> None:
    """Print all tables, then schedules."""
    for _, caption, header, lines in tables(results, order):
        print_table(caption, header, lines)
    console = _console()
    for row in results.get("rows", []):
        for schedule in row.get("schedules", []):
            console.print(f"{row['device']['runtime']:6} {row['case']:12} {schedule}", highlight=False, markup=False)


def _console() -> Console:
    return Console() if Console().is_terminal else Console(width=200)


def print_table(caption: str, header: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print one table."""
    table = Table(title=caption, title_justify="left")
    for n, column in enumerate(header):
        table.add_column(column, justify="left" if n == 0 else "right")
    for line in lines:
        table.add_row(*map(escape, line))
    _console().print(table)


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Give one table as Markdown."""
    cells = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in cells)


def replace_blocks(path: Path, blocks: Iterable[tuple[str, str]]) -> None:
    """Replace what stands between the marks of each (mark, content); append what has no marks yet."""
    text = path.read_text() if path.exists() else ""
    for mark, content in blocks:
        block = f"<!-- table {mark} -->\n{content}\n<!-- end {mark} -->"
        pattern = re.compile(rf"<!-- table {mark} -->.*?<!-- end {mark} -->", re.DOTALL)
        if pattern.search(text):
            text = pattern.sub(block.replace("\\", r"\\"), text)
        else:
            text += f"\n{block}\n"
    path.write_text(text)
