"""A picture of a tuning run: every measurement, and the best time so far. Needs the extra `plot`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdhnp.cli.options import OutputFile
from mdhnp.cli.output import shorten
from mdhnp.tuning.cache.records import Measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "plot_option"]

#: A kernel and what was measured for it, in order.
Run = tuple[str, Sequence[Measurement]]


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


def draw(path: Path, runs: Sequence[Run]) -> None:
    """Write the picture, one diagram a kernel.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
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
        # They have no time: along the upper edge.
        height = [0.97] * len(failed)
        axes.plot(failed, height, "x", color="C3", transform=axes.get_xaxis_transform(), label="failed")
    steps = list(_best_so_far(numbered))
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


def _best_so_far(numbered: Iterable[tuple[int, Measurement]]) -> Iterable[tuple[int, float]]:
    best = float("inf")
    for n, m in numbered:
        if m.status == "ok" and m.seconds is not None:
            best = min(best, m.seconds * 1e6)
        if best < float("inf"):
            yield n, best
