"""What commands show: tables and colours on a terminal, plain lines that are not wrapped anywhere else, and pictures.

A picture shows a tuning run: every measurement, and the best time so far. It needs the extra `plot`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdhnp.tuning.cache.records import Measurement, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console


def _console() -> "Console":
    from rich.console import Console

    found = Console(highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = 100_000  # wider than any line, so that programs find every row in one
    return found


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()) -> None:
    """Print rows below titles; in the columns named by `right` they end below each other.

    Where no person looks there is no line but the titles' and one a row.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    out = _console()
    shown = Table(box=SIMPLE_HEAD if out.is_terminal else None, pad_edge=False)
    for title in titles:
        shown.add_column(title, justify="right" if title in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(printable, row))
    out.print(shown)


def print_source(text: str) -> None:
    out = _console()
    if not out.is_terminal:
        click.echo(text)
        return
    from rich.syntax import Syntax

    out.print(Syntax(text, "c", background_color="default", word_wrap=True))


def duration(seconds: float) -> str:
    """Write a time with three digits."""
    value, unit = seconds, "s"
    for factor, name in ((1e3, "ms"), (1e6, "µs")):
        if value < 0.9995:
            value, unit = seconds * factor, name
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


def shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def outcomes(measurements: Iterable[Measurement]) -> str:
    """Count measurements by what became of them, most frequent first."""
    counts = Counter(m.status for m in measurements)
    return ", ".join(f"{count} {status}" for status, count in counts.most_common())


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one line that a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror or error}") from error


class OutputFile(click.Path):
    """A file to write, in a folder that is there: so that nobody waits for results that cannot be kept."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        if not path.parent.is_dir():
            self.fail(f"there is no folder {str(path.parent)!r}", param, ctx)
        return path


class PlotFile(OutputFile):
    """A picture to write; says before anything is measured that it cannot be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        try:
            from matplotlib.backend_bases import FigureCanvasBase
        except ImportError as error:
            self.fail(f"plots need matplotlib ({error}): pip install 'mdhnp[plot]'", param, ctx)
        kinds = FigureCanvasBase.get_supported_filetypes()
        if path.suffix[1:].lower() not in kinds:
            self.fail(f"{path.name!r} ends with none of .{', .'.join(sorted(kinds))}", param, ctx)
        return path


plot_option = click.option(
    "--plot", type=PlotFile(), metavar="FILE", help="Draw every measurement and the best time so far (PNG, SVG, PDF)."
)


def draw(path: Path, runs: Sequence[tuple[str, Sequence[Measurement]]]) -> None:
    """Write the picture, one diagram a kernel: under its title what was measured for it, in order."""
    # Without pyplot: no window and no state that others share.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4 * len(runs)), layout="constrained")
    for axes, (title, measurements) in zip(figure.subplots(len(runs), squeeze=False)[:, 0], runs, strict=True):
        _draw_run(axes, measurements)
        axes.set_title(shorten(title, 100), fontsize="small")
    figure.savefig(path, dpi=150)


def _draw_run(axes: "Axes", measurements: Sequence[Measurement]) -> None:
    from matplotlib.ticker import LogFormatter, MaxNLocator

    numbered = list(enumerate(measurements, 1))
    for status, label, mark, colour in (("ok", "measured", "o", "C0"), ("slow", "cut off as slow", ".", "0.6")):
        times = [(n, m.seconds * 1e6) for n, m in numbered if m.status == status and m.seconds is not None]
        if times:
            axes.plot(*zip(*times, strict=True), mark, color=colour, label=label)
    failed = [n for n, m in numbered if m.seconds is None]
    if failed:
        height = [0.97] * len(failed)  # they have no time: along the upper edge
        axes.plot(failed, height, "x", color="C3", transform=axes.get_xaxis_transform(), label="failed")
    times_so_far = [m.seconds * 1e6 if m.status == "ok" and m.seconds is not None else inf for m in measurements]
    steps = [(n, best) for n, best in enumerate(accumulate(times_so_far, min), 1) if best < inf]
    if steps:
        axes.step(*zip(*steps, strict=True), where="post", color="C1", label="best so far")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(LogFormatter())
        axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
        axes.legend(fontsize="small")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("schedules measured, the default one first")
    axes.set_ylabel("time of the kernel (µs)")
    axes.grid(which="both", alpha=0.3)
