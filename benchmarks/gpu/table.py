"""The table of kernels on a GPU: two lines a case, untuned and tuned. Takes rows of plain data as `run` gives them."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import geometric_mean

from benchmarks.rows import Row, floor_of, seconds_text

__all__ = ["HEADER", "VARIANTS", "table"]

#: What our kernels' schedules are, in the order of the lines.
VARIANTS = ("untuned", "tuned")

HEADER = [
    "case", "extents", "schedule", "our kernel", "rate", "peer", "its kernel", "ratio", "floor",
    "error, ours, peer's", "registers", "whole call",
]  # fmt: skip


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Give header and lines; the last ones have the geometric means of all contractions."""
    return HEADER, [*(line for row in rows for line in _lines(row)), *_means(rows)]


def _lines(row: Row) -> Iterable[list[str]]:
    if "error" in row:
        yield _padded([row["title"], row["extents"], row["error"]])
        return
    peer = row["peer"]
    for n, variant in enumerate(v for v in VARIANTS if v in row):
        ours, first = row[variant], n == 0
        compared = "ratio" in ours
        yield [
            row["title"] if first else "",
            row["extents"] if first else "",
            variant,
            seconds_text(ours["seconds"]),
            _rate(row, ours["seconds"]),
            (f"{peer['name']} ({peer['version']})" if peer else "none") if first else "",
            seconds_text(ours["peer_seconds"]) if compared else "",
            "{:.2f} ({:.2f}–{:.2f})".format(ours["ratio"], *ours["quartiles"]) if compared else "",
            _floor(row, ours["seconds"]),
            f"{ours['error']:.1e}" + (f", {peer['error']:.1e}" if peer and first else ""),
            _registers(ours["resources"]),
            seconds_text(ours["call_seconds"]),
        ]


def _padded(line: list[str]) -> list[str]:
    return line + [""] * (len(HEADER) - len(line))


def _means(rows: Sequence[Row]) -> Iterable[list[str]]:
    contractions = [row for row in rows if row["title"].startswith("einsum")]
    for variant in VARIANTS:
        ratios = [row[variant]["ratio"] for row in contractions if "ratio" in row.get(variant, {})]
        if len(ratios) > 1:
            mean = f"{geometric_mean(ratios):.2f} (at least {min(ratios):.2f})"
            yield _padded([f"geometric mean of {len(ratios)} contractions", "", variant, *[""] * 4, mean])


def _rate(row: Row, seconds: float) -> str:
    if floor_of(row, {})[1] == "arithmetic":
        return f"{row['flops'] / seconds / 1e12:.1f} Tflop/s"
    return f"{row['bytes'] / seconds / 1e9:.0f} GB/s"


def _floor(row: Row, seconds: float) -> str:
    least, bound = floor_of(row, {})
    return f"{seconds_text(least)} {bound}, {seconds / least:.1f} ×"


def _registers(kernels: Sequence[Row]) -> str:
    """Give each kernel's, with the bytes spilled where there are any; of equal ones in a row how many they are."""
    each = [f"{k['registers']}" + (f" ({k['spilled']} B spilled)" if k["spilled"] else "") for k in kernels]
    return " + ".join(text if (n := len([*same])) == 1 else f"{n} × {text}" for text, same in groupby(each))
