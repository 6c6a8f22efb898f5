"""When a search ends: conditions on how far it has come, which ``|`` and ``&`` combine."""

from collections.abc import Callable
from dataclasses import dataclass

from mdhnp.errors import guarded


@dataclass(frozen=True)
class SearchProgress:
    """How far a search has come."""

    #: Seconds since it began.
    seconds: float = 0.0
    #: Configurations that were evaluated, and of these, those since the best one.
    evaluations: int = 0
    stalled: int = 0
    #: The cost of the first one that worked, and the least; None before there is one.
    first: float | None = None
    best: float | None = None


@dataclass(frozen=True)
class Abort:
    """A condition that ends a search: ``a | b`` where either holds, ``a & b`` where both do.

    Made by :func:`duration`, :func:`evaluations`, :func:`speedup` and :func:`stalled`.

    Attributes
    ----------
    reached : callable
        Tells whether it holds, of a record with ``seconds``, ``evaluations``, ``stalled`` (evaluations since the best),
        and the costs ``first`` and ``best``.
    text : str
        How it is printed.

    Examples
    --------
    >>> from mdhnp.tuning import duration, evaluations, stalled
    >>> duration(60) | evaluations(1000) & stalled(100)
    duration(60) | evaluations(1000) & stalled(100)
    """

    reached: Callable[[SearchProgress], bool]
    text: str

    def __or__(self, other: "Abort") -> "Abort":
        return Abort(lambda p: self.reached(p) or other.reached(p), f"{self} | {other}")

    def __and__(self, other: "Abort") -> "Abort":
        each = [f"({a})" if " | " in a.text else str(a) for a in (self, other)]
        return Abort(lambda p: self.reached(p) and other.reached(p), " & ".join(each))

    def __repr__(self) -> str:
        return self.text


@guarded
def duration(seconds: float) -> Abort:
    """End a search after some time.

    Parameters
    ----------
    seconds : float
        From its begin.

    Returns
    -------
    Abort
        The condition.

    Raises
    ------
    ValueError
        If it is not positive.

    Examples
    --------
    >>> from mdhnp.tuning import duration
    >>> duration(2.5)
    duration(2.5)
    """
    _check(seconds > 0, "seconds", seconds)
    return Abort(lambda p: p.seconds >= seconds, f"duration({seconds})")


@guarded
def evaluations(count: int) -> Abort:
    """End a search after some evaluations.

    Parameters
    ----------
    count : int
        Calls of the cost function.

    Returns
    -------
    Abort
        The condition.

    Raises
    ------
    ValueError
        If it is not positive.

    Examples
    --------
    >>> from mdhnp.tuning import evaluations
    >>> evaluations(100)
    evaluations(100)
    """
    _check(count > 0, "count", count)
    return Abort(lambda p: p.evaluations >= count, f"evaluations({count})")


@guarded
def speedup(factor: float) -> Abort:
    """End a search once the best cost is so many times less than the first one.

    Parameters
    ----------
    factor : float
        The first cost divided by the best one.

    Returns
    -------
    Abort
        The condition.

    Raises
    ------
    ValueError
        If it is not positive.

    Examples
    --------
    >>> from mdhnp.tuning import speedup
    >>> speedup(2)
    speedup(2)
    """
    _check(factor > 0, "factor", factor)
    return Abort(
        lambda p: p.first is not None and p.best is not None and p.first >= factor * p.best, f"speedup({factor})"
    )


@guarded
def stalled(count: int) -> Abort:
    """End a search where some evaluations in a row have brought nothing better.

    Parameters
    ----------
    count : int
        Evaluations since the best one.

    Returns
    -------
    Abort
        The condition.

    Raises
    ------
    ValueError
        If it is not positive.

    Examples
    --------
    >>> from mdhnp.tuning import stalled
    >>> stalled(50)
    stalled(50)
    """
    _check(count > 0, "count", count)
    return Abort(lambda p: p.stalled >= count, f"stalled({count})")


def _check(holds: bool, name: str, value: object) -> None:
    if not holds:
        raise ValueError(f"{name}: {value!r} is not positive")
