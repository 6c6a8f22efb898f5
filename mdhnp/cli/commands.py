"""The commands: all but `cache`, which has several of its own."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from math import isnan
from pathlib import Path
from statistics import quantiles
from types import FrameType
from typing import TYPE_CHECKING

import click

import mdhnp
from mdhnp import native
from mdhnp.cli.options import device_option, takes_case
from mdhnp.cli.output import draw, duration, outcomes, plot_option, print_source, print_table, writing
from mdhnp.runtime.devices import default_device, refused

if TYPE_CHECKING:
    from mdhnp.demo.timing import Case


@click.command()
@click.option("--json", "as_json", is_flag=True, help="All that is known of them, for programs.")
def devices(as_json: bool) -> None:
    """List the OpenCL devices, best first."""
    default, found = default_device(), mdhnp.devices()
    if as_json:
        names = ("name", "runtime", "kind", "platform", "driver", "identity")
        facts = [
            {
                "position": n,
                "default": d is default,
                **{name: getattr(d, name) for name in names},
                "caps": asdict(d.caps),
            }
            for n, d in enumerate(found)
        ]
        click.echo(json.dumps(facts, indent=1))
        return
    titles = ("", "device", "runtime", "kind", "platform", "driver", "units", "local memory")
    rows = [
        (
            f"{n}{' *' if d is default else ''}", d.name, d.runtime, d.kind, d.platform, d.driver,
            str(d.caps.compute_units), f"{d.caps.local_memory // 1024} KiB",
        )
        for n, d in enumerate(found)
    ]  # fmt: skip
    print_table(titles, rows, right=titles[-2:])
    click.echo("* is used by default; choose another with --device, mdhnp.device(...) or the variable MDHNP_DEVICE.")
    for name, why in refused().items():
        click.echo(f"Left out: {name}: {why}.")
    compiled = (
        "in compiled code" if native.Launcher is not None else "in Python, for want of a C compiler at installation"
    )
    click.echo(f"Repeat calls find their plans and launch kernels {compiled}.")


@click.command()
@click.option(
    "--save", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Write pictures of the filtered photograph there.",
)  # fmt: skip
@device_option
@click.pass_context
def demo(ctx: click.Context, save: Path | None, device: str | None) -> None:
    """Run, check and time every call on real data."""
    from mdhnp.demo import run

    with mdhnp.device(default_device() if device is None else device):
        try:
            ctx.exit(run(save))
        except OSError as error:
            raise click.UsageError(f"pictures cannot be written: {error}") from error


@click.command()
@takes_case
@click.option("--loops", is_flag=True, help="The kernels' loops, too, before they are written in OpenCL C.")
@click.option("--source", is_flag=True, help="The OpenCL C text, too.")
def explain(case: "Case", device: mdhnp.Device, loops: bool, source: bool) -> None:
    """Show a call's MDH, its schedules and times."""
    found = mdhnp.explain(case.ours)
    click.echo(found.summary)
    if loops:
        click.echo(f"loops\n{found.loops}")
    if source:
        click.echo("source")
        print_source(found.source)


@click.command()
@takes_case
@click.option(
    "--pairs", type=click.IntRange(min=2), default=15, show_default=True, help="How often both are measured, by turns."
)
def bench(case: "Case", device: mdhnp.Device, pairs: int) -> None:
    """Check a call's result, and time it beside NumPy's."""
    from mdhnp.demo.show import machine
    from mdhnp.demo.timing import measure

    measured = measure(case, pairs)
    if measured.error > case.tolerance:
        raise click.ClickException(f"wrong result: {case.call} of {case.data} differs by {measured.error:.1e}")
    click.echo(f"{case.call}, {case.data}\n{machine(device)}\n")
    ours, peer = zip(*measured.pairs, strict=True)
    rows = [_spread("mdhnp", ours, duration), _spread(case.peer_name, peer, duration)]
    ratios = [theirs / mine for mine, theirs in measured.pairs]
    rows.append(_spread("ratio", ratios, lambda ratio: f"{ratio:.2f}" if ratio >= 1 else f"{ratio:.2g}"))
    titles = ("", "lower quartile", "median", "upper quartile")
    print_table(titles, rows, right=titles[1:])
    click.echo(
        f"Whole calls, {pairs} pairs by turns. Ratios: NumPy's time by ours. Largest error {measured.error:.0e}."
    )


def _spread(title: str, values: Sequence[float], show: Callable[[float], str]) -> list[str]:
    return [title, *map(show, quantiles(values, n=4, method="inclusive"))]


@click.command()
@takes_case
def prepare(case: "Case", device: mdhnp.Device) -> None:
    """Compile a call's kernels and measure them beside NumPy, for all later programs."""
    try:
        found = mdhnp.prepare(case.ours)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{case.call}, {case.data}, on {device.name} ({device.runtime})")
    for each in found:
        click.echo(str(each))


def _number(_: click.Context, parameter: click.Parameter, value: float) -> float:
    """Refuse what no range leaves out, as it compares with nothing."""
    if isnan(value):
        raise click.BadParameter("nan is not in the range x>0", param=parameter)
    return value


@click.command()
@takes_case
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    callback=_number,
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
    case: "Case",
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
            found = mdhnp.tune(case.ours, budget=budget, evaluations=evaluations, seed=seed)
        except KeyboardInterrupt:
            pass  # before the first measurement of a kernel
        except RuntimeError as error:
            raise click.ClickException(str(error)) from error
    click.echo(f"{case.call}, {case.data}, on {device.name} ({device.runtime})")
    for tuned in found:
        _print(tuned)
    for line in mdhnp.explain(case.ours).candidates if found and not pressed else ():
        click.echo(line)
    if plot is not None and found:
        with writing(plot):
            draw(plot, [(_title(tuned), tuned.measurements) for tuned in found])
        click.echo(f"drawn: {plot}")
    if pressed:
        click.echo("stopped by Ctrl-C; what was found until then is kept", err=True)
        ctx.exit(130)


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
