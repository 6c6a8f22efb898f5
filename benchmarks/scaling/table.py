"""What the model predicts, as a table and a picture. Takes cases and a machine, measures nothing."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.rows import seconds_text
from benchmarks.scaling.cases import CASES, Case
from benchmarks.scaling.model import Estimate, Machine, cheapest

__all__ = ["CAPTION", "COUNTS", "HEADER", "WEAK", "WEAK_HEADER", "draw", "lines", "weak_lines"]

COUNTS = (2, 8, 64, 1024)
CAPTION = (
    "Predicted speed-up on {name}, with the bytes that each device gets of others in a step, by the best cut along one "
    "dimension and by the best grid"
)
WEAK = (
    "Predicted efficiency where there is as much work for each device as for one: the time of one over that of all, by "
    "the best grid"
)
HEADER = ["", "one device", "cut", *[f"{n} devices" for n in COUNTS]]
WEAK_HEADER = ["", *[f"{n} devices" for n in COUNTS]]


def lines(machine: Machine, cases: Sequence[Case] = CASES) -> list[list[str]]:
    """Give rows of text: two a case, along one dimension and in a grid."""
    found = []
    for case in cases:
        task = case.task(machine)
        one = cheapest(task, machine, 1).seconds
        for grid in (False, True):
            cells = [_cell(cheapest(task, machine, n, grid), one, n) for n in COUNTS]
            found.append([*(("", "") if grid else (case.title, seconds_text(one))), "grid" if grid else "one", *cells])
    return found


def _cell(found: Estimate, one: float, count: int) -> str:
    return f"{one / found.seconds:.3g} ({_bytes(found.nbytes / count)})"


def _bytes(nbytes: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}"
    return f"{nbytes:.2g} B" if nbytes else "0"


def weak_lines(machine: Machine, cases: Sequence[Case] = CASES) -> list[list[str]]:
    """Give rows of text for as many times the work as there are devices."""
    found = []
    for case in cases:
        one = cheapest(case.task(machine), machine, 1).seconds
        rated = [one / cheapest(case.task(machine, n), machine, n, grid=True).seconds for n in COUNTS]
        found.append([case.title, *[f"{each:.2f}" for each in rated]])
    return found


def draw(machine: Machine, path: Path, cases: Sequence[Case] = CASES) -> None:
    """Draw predicted speed-ups over devices, solid in a grid, dashed along one dimension, into .svg, .png or .pdf."""
    counts = [1 << n for n in range(11)]
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(counts, counts, color="black", linewidth=0.8, label="as many times as devices")
    for case in cases:
        task = case.task(machine)
        one = cheapest(task, machine, 1).seconds
        color = None
        for grid, style in ((True, "-"), (False, "--")):
            ups = [one / cheapest(task, machine, n, grid).seconds for n in counts]
            (line,) = axes.plot(counts, ups, style, color=color, marker="." if grid else None)
            color = line.get_color()
            if grid:
                line.set_label(case.title)
    axes.axvline(machine.devices, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(counts, [str(n) for n in counts])
    ticks = [n for n in counts if n <= 1024]
    axes.set_yticks(ticks, [str(n) for n in ticks])
    axes.set_xlabel("devices; to the right of the dotted line more than one host")
    axes.set_ylabel("predicted speed-up; solid: a grid, dashed: one dimension")
    axes.legend(fontsize=8)
    figure.suptitle(machine.name[0].upper() + machine.name[1:])
    figure.savefig(path)
