"""`mdhnp bench`: a call's time beside NumPy's."""

from collections.abc import Callable, Sequence
from statistics import quantiles

import click

import mdhnp
from mdhnp.cli.cases import Problem
from mdhnp.cli.options import takes_problem
from mdhnp.cli.output import duration, print_table

__all__ = ["bench"]


@click.command()
@takes_problem
@click.option(
    "--pairs", type=click.IntRange(min=2), default=15, show_default=True, help="How often both are measured, by turns."
)
def bench(problem: Problem, device: mdhnp.Device, pairs: int) -> None:
    """Check a call's result, and time it beside NumPy's."""
    from mdhnp.demo.show import machine
    from mdhnp.demo.timing import Case, measure

    calls = problem.calls
    case = Case(
        calls.text, problem.data, problem.run, problem.run_numpy, calls.numpy_text, problem.expected, problem.tolerance
    )
    measured = measure(case, pairs)
    if measured.error > case.tolerance:
        raise click.ClickException(f"wrong result: {calls.text} of {problem.data} differs by {measured.error:.1e}")
    click.echo(f"{calls.text}, {problem.data}\n{machine(device)}\n")
    ours, peer = zip(*measured.pairs, strict=True)
    rows = [_spread("mdhnp", ours, duration), _spread(calls.numpy_text, peer, duration)]
    rows.append(_spread("ratio", [theirs / mine for mine, theirs in measured.pairs], _factor))
    titles = ("", "lower quartile", "median", "upper quartile")
    print_table(titles, rows, right=titles[1:])
    click.echo(f"Whole calls, {pairs} pairs by turns. Ratio: NumPy's time by ours. Largest error {measured.error:.0e}.")


def _factor(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 1 else f"{ratio:.2g}"


def _spread(title: str, values: Sequence[float], show: Callable[[float], str]) -> list[str]:
    """Give a row of the table: quartiles."""
    return [title, *map(show, quantiles(values, n=4, method="inclusive"))]
