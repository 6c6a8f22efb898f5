"""How commands print: tables and colours on a terminal, plain lines that are not wrapped anywhere else."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mdhnp.tuning.cache.records import Measurement

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "duration", "outcomes", "print_table", "shorten", "writing"]

#: Wider than any line, so that programs find every row in one.
_UNWRAPPED = 100_000


def console() -> "Console":
    """Give standard output."""
    from rich.console import Console

    found = Console(highlight=False, markup=False, emoji=False)
    return found if found.is_terminal else Console(width=_UNWRAPPED, highlight=False, markup=False, emoji=False)


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()) -> None:
    """Print rows below titles; in the columns named by `right` they end below each other.

    Where no person looks there is no line but the titles' and one a row.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    out = console()
    shown = Table(box=SIMPLE_HEAD if out.is_terminal else None, pad_edge=False)
    for title in titles:
        shown.add_column(title, justify="right" if title in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    out.print(shown)


def duration(seconds: float) -> str:
    """Write a time with three digits.

    Examples
    --------
    >>> duration(1.2345e-5), duration(0.1234), duration(75)
    ('12.3 µs', '123 ms', '75.0 s')
    """
    value, unit = seconds, "s"
    for factor, name in ((1e3, "ms"), (1e6, "µs")):
        if value < 0.9995:
            value, unit = seconds * factor, name
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


def shorten(text: str, length: int) -> str:
    """Cut a long text.

    Examples
    --------
    >>> shorten("md_hom(*, (++, ++, +))", 10)
    'md_hom(*,…'
    """
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
