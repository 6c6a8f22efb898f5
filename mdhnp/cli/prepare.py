"""`mdhnp prepare`: compiles a call's kernels and measures them, so that programs need not."""

import click

import mdhnp
from mdhnp.cli.cases import Problem
from mdhnp.cli.options import takes_problem

__all__ = ["prepare"]


@click.command()
@takes_problem
def prepare(problem: Problem, device: mdhnp.Device) -> None:
    """Compile a call's kernels and measure them beside NumPy, for all later programs."""
    try:
        found = mdhnp.prepare(problem.run)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{problem.calls.text}, {problem.data}, on {device.name} ({device.runtime})")
    for each in found:
        click.echo(str(each))
