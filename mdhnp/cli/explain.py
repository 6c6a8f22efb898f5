"""`mdhnp explain`: how a call is computed."""

import click

import mdhnp
from mdhnp.cli.cases import Problem
from mdhnp.cli.options import takes_problem
from mdhnp.cli.output import console

__all__ = ["explain"]


@click.command()
@takes_problem
@click.option("--loops", is_flag=True, help="The kernels' loops, too, before they are written in OpenCL C.")
@click.option("--source", is_flag=True, help="The OpenCL C text, too.")
def explain(problem: Problem, device: mdhnp.Device, loops: bool, source: bool) -> None:
    """Show a call's MDH, its schedules and times."""
    found = mdhnp.explain(problem.run)
    click.echo(found.summary)
    if loops:
        click.echo(f"loops\n{found.loops}")
    if source:
        click.echo("source")
        _print_source(found.source)


def _print_source(text: str) -> None:
    out = console()
    if not out.is_terminal:
        click.echo(text)
        return
    from rich.syntax import Syntax

    out.print(Syntax(text, "c", background_color="default", word_wrap=True))
