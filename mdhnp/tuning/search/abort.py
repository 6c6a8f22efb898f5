"""When a search ends: conditions on how far it has come, which ``|`` and ``&`` combine."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import index

from mdhnp.documentation import public
from mdhnp.errors import Function


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


@public(
    title="Attributes",
    reached="callable: Tells whether it holds, of a record with ``seconds``, ``evaluations``, ``stalled`` (evaluations "
    "since the best), and the costs ``first`` and ``best``.",
    text="str: How it is printed.",
    example="""
>>> from mdhnp.tuning import duration, evaluations, stalled
>>> duration(60) | evaluations(1000) & stalled(100)
duration(60) | evaluations(1000) & stalled(100)""",
)
@dataclass(frozen=True)
class Abort:
    """A condition that ends a search: ``a | b`` where either holds, ``a & b`` where both do.

    Made by :func:`duration`, :func:`evaluations`, :func:`speedup` and :func:`stalled`.
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


def _condition(summary: str, example: float, **parameter: str) -> Callable[[Function], Function]:
    """Document a function of one positive number, which gives a condition."""

    def decorate(function: Function) -> Function:
        shown = f"{function.__name__}({example})"
        return public(
            summary,
            returns="Abort: The condition.",
            raises={"ValueError": "If it is not positive.", "TypeError": "If it is of another type."},
            example=f">>> mdhnp.tuning.{shown}\n{shown}",
            guard=True,
            **parameter,
        )(function)

    return decorate


def _abort(function: str, name: str, number: float, reached: Callable[[SearchProgress], bool]) -> Abort:
    if not number > 0:
        raise ValueError(f"{name}: {number!r} is not positive")
    return Abort(reached, f"{function}({number})")


@_condition("End a search after some time.", 2.5, seconds="float: From its begin.")
def duration(seconds: float) -> Abort:
    return _abort("duration", "seconds", seconds, lambda p: p.seconds >= seconds)


@_condition("End a search after some evaluations.", 100, count="int: Calls of the cost function.")
def evaluations(count: int) -> Abort:
    return _abort("evaluations", "count", index(count), lambda p: p.evaluations >= count)


@_condition(
    "End a search once the best cost is so many times less than the first one.",
    2,
    factor="float: The first cost divided by the best one.",
)
def speedup(factor: float) -> Abort:
    def reached(p: SearchProgress) -> bool:
        return p.first is not None and p.best is not None and p.first >= factor * p.best

    return _abort("speedup", "factor", factor, reached)


@_condition(
    "End a search where some evaluations in a row have brought nothing better.",
    50,
    count="int: Evaluations since the best one.",
)
def stalled(count: int) -> Abort:
    return _abort("stalled", "count", index(count), lambda p: p.stalled >= count)
