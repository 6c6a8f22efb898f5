"""The tables of calls on a GPU: a line a case, and a summary by kinds. Takes rows of plain data."""

from collections.abc import Sequence
from itertools import groupby
from statistics import geometric_mean

from benchmarks.gpu.ours import PREPARED, TUNED
from benchmarks.rows import Row, floor_of, seconds_text

__all__ = ["HEADER", "SUMMARY", "summary", "table"]

HEADER = [
    "case", "extents", "best peer", "its time", PREPARED, "ratio", TUNED, "ratio", "of the floor",
    "error, ours, peer's", "other peers",
]  # fmt: skip
SUMMARY = ["kind", "cases", *(f"{v}: {what}" for v in (PREPARED, TUNED) for what in ("mean", "least"))]


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Give header and lines, each kind's after a line with its name."""
    lines = []
    for kind, these in groupby(rows, key=lambda row: row["kind"]):
        lines.append(_padded([f"**{kind}**"]))
        lines += map(_line, these)
    return HEADER, lines


def summary(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Give each kind's geometric mean and least ratio, prepared and tuned, and of how many cases; at last of all."""
    kinds = [(kind, [row for row in rows if row["kind"] == kind]) for kind in dict.fromkeys(r["kind"] for r in rows)]
    return SUMMARY, [[kind, str(len(these)), *_means(these)] for kind, these in [*kinds, ("all", [*rows])]]


def _means(rows: Sequence[Row]) -> list[str]:
    cells = []
    for variant in (PREPARED, TUNED):
        each = [(row[variant]["ratio"], row) for row in rows if "ratio" in row.get(variant, {})]
        if not each:
            cells += ["", ""]
            continue
        least, row = min(each, key=lambda one: one[0])
        few = f" of {len(each)}" if len(each) < len(rows) else ""
        cells += [
            f"{geometric_mean([ratio for ratio, _ in each]):.2f}{few}",
            f"{least:.2f}, {row['title']}, {row['extents']}",
        ]
    return cells


def _line(row: Row) -> list[str]:
    if "error" in row:
        return _padded([row["title"], row["extents"], row["error"]])
    peer, ours = row["peer"], [row.get(v) for v in (PREPARED, TUNED)]
    least, bound = floor_of(row, {})
    parts = ", ".join(f"{least / each['seconds']:.2f}" for each in ours if each)
    cells = [
        row["title"],
        row["extents"],
        peer["name"] if peer else "none",
        seconds_text(peer["seconds"]) if peer else "",
    ]
    for each in ours:
        cells += [seconds_text(each["seconds"]), _ratio(each)] if each else ["", ""]
    errors = [each["error"][0] for each in ours if each][:1] + ([peer["error"][0]] if peer else [])
    others = ", ".join(f"{p['name']} {seconds_text(p['seconds'])}" for p in row["slower"])
    return [*cells, f"{parts} {bound}", ", ".join(f"{e:.1e}" for e in errors), others]


def _ratio(ours: Row) -> str:
    return "{:.2f} ({:.2f}–{:.2f})".format(ours["ratio"], *ours["quartiles"]) if "ratio" in ours else ""


def _padded(line: list[str]) -> list[str]:
    return line + [""] * (len(HEADER) - len(line))
