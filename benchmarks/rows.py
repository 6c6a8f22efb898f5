"""What tables and charts read off rows of results: floors, and times as text. Takes plain data, measures nothing."""

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["Row", "floor_of", "floors_of", "seconds_text"]

Row = dict[str, Any]


def floors_of(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Give every CPU case's floor from the best limits seen in any row: a disturbed one makes it too high."""
    rows = [row for row in rows if "instructions" in row]
    pace = min((row["floor"]["arithmetic"] / row["instructions"] for row in rows), default=0)
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        floor = found.setdefault(row["case"], {"memory": math.inf, "arithmetic": pace * row["instructions"]})
        floor["memory"] = min(floor["memory"], row["floor"]["memory"])
    return found


def floor_of(row: Row, floors: dict[str, dict[str, float]]) -> tuple[float, str]:
    """Give a row's floor in seconds, and what sets it."""
    floor = floors[row["case"]] if row["case"] in floors else row["floor"]
    bound = max(("memory", "arithmetic"), key=lambda what: floor[what])
    return floor[bound], bound


def seconds_text(seconds: float) -> str:
    """Write a time with three digits."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
