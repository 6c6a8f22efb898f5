"""`mdhnp tune`: searches better schedules for a call, for good."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

import mdhnp
from mdhnp.cli.cases import Problem
from mdhnp.cli.options import takes_problem
from mdhnp.cli.output import duration, outcomes, print_table, writing
from mdhnp.cli.plot import draw, plot_option

__all__ = ["tune"]


@click.command()
@takes_problem
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds for each kernel of the call, once its default schedule was measured.",
)
@click.option(
    "--evaluations",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Most schedules to measure for each kernel.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the search.")
@plot_option
@click.pass_context
def tune(
    ctx: click.Context,
    problem: Problem,
    device: mdhnp.Device,
    budget: float,
    evaluations: int,
    seed: int,
    plot: Path | None,
) -> None:
    """Search better schedules for a call and keep them.

    Ctrl-C ends the search and keeps what was found.
    """
    found: tuple[mdhnp.Tuned, ...] = ()
    with _noticing_ctrl_c() as pressed:
        try:
            found = mdhnp.tune(problem.run, budget=budget, evaluations=evaluations, seed=seed)
        except KeyboardInterrupt:
            pass  # before the first measurement of a kernel
        except RuntimeError as error:
            raise click.ClickException(str(error)) from error
    click.echo(f"{problem.calls.text}, {problem.data}, on {device.name} ({device.runtime})")
    for tuned in found:
        _print(tuned)
    for line in mdhnp.explain(problem.run).candidates if found and not pressed else ():
        click.echo(line)
    if plot is not None and found:
        with writing(plot):
            draw(plot, [(_title(tuned), tuned.measurements) for tuned in found])
        click.echo(f"drawn: {plot}")
    if pressed:
        click.echo("stopped by Ctrl-C; what was found until then is kept", err=True)
        ctx.exit(130)
    if not found:
        raise click.ClickException("nothing tuned: another process is tuning the same kernels at this moment")


@contextmanager
def _noticing_ctrl_c() -> Iterator[list[int]]:
    """Give a list that is no longer empty once Ctrl-C was pressed: :func:`mdhnp.tune` ends, and says nothing."""
    pressed: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _title(tuned: mdhnp.Tuned) -> str:
    return f"{tuned.mdhom}, {'×'.join(map(str, tuned.mdhom.extents))}"


def _print(tuned: mdhnp.Tuned) -> None:
    click.echo(f"\n{_title(tuned)}")
    rows = []
    if tuned.measurements:  # the default schedule comes first
        rows.append(["default", duration(tuned.default_seconds), "1.00", str(tuned.measurements[0].schedule)])
    ratio = tuned.default_seconds / tuned.seconds
    rows.append(["tuned", duration(tuned.seconds), f"{ratio:.2f}", str(tuned.schedule)])
    print_table(("", "time", "speed-up", "schedule"), rows, right=("time", "speed-up"))
    click.echo(f"{len(tuned.measurements)} schedules measured: {outcomes(tuned.measurements)}")
