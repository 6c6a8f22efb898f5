"""Tunes parameters of users' own: a technique asks for configurations, whose cost a function of the user's gives."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mdhnp.documentation import exported, public
from mdhnp.tuning.search.abort import Abort, SearchProgress, duration
from mdhnp.tuning.search.parameters import Configuration, Space
from mdhnp.tuning.search.techniques import ModelGuided, Technique, asked, begun

#: A number, or a tuple of numbers.
Cost = Any


@exported
class InvalidConfiguration(RuntimeError):
    """A configuration that cannot be used: what a cost function raises, and a search passes over.

    Examples
    --------
    >>> from mdhnp.tuning import InvalidConfiguration, parameter, space, tune
    >>> def cost(configuration):
    ...     if configuration["x"] == 0:
    ...         raise InvalidConfiguration("0 does not divide anything")
    ...     return 12 % configuration["x"], configuration["x"]
    >>> tune(cost, space(parameter("x", range(5)))).best
    {'x': 1}
    """


@dataclass(frozen=True)
class Evaluation:
    """What a configuration costs."""

    configuration: Configuration
    #: None if it cannot be used.
    cost: Cost | None
    #: Then why.
    message: str = ""


@public(
    title="Attributes",
    best="dict: The value of each parameter, by name.",
    cost="float or tuple of float: What the cost function gave for it.",
    evaluations="tuple of Evaluation: All in order, with `configuration`, `cost` and `message`: of one that cannot be "
    "used None, and why.",
    seconds="float: That the search took.",
    example="""
>>> from mdhnp.tuning import parameter, space, tune
>>> found = tune(lambda c: c["x"] ** 2, space(parameter("x", [-1, 0, 1])))
>>> found.best, found.cost, len(found.evaluations)
({'x': 0}, 0.0, 3)""",
)
@dataclass(frozen=True)
class TuningResult:
    """What :func:`tune` found."""

    best: Configuration
    cost: Cost
    evaluations: tuple[Evaluation, ...]
    seconds: float

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.best.items())
        failed = sum(e.cost is None for e in self.evaluations)
        return f"{values}: {self.cost}, the best of {len(self.evaluations)} ({failed} failed) in {self.seconds:.2g} s"


@public(
    "Search the configuration of the least cost.",
    cost="callable: Takes a configuration, a dictionary of values by names, and gives its cost: a number, or a tuple "
    "of numbers of which the first one that differs decides. :func:`kernel` makes one of OpenCL C text. What cannot "
    "be used raises :class:`InvalidConfiguration`.",
    space="Space: All configurations.",
    technique="callable: Takes the space and the seed, and gives an object with ``ask()``, which gives the next "
    "configuration, or None where there is none, and ``tell(configuration, cost)``, with None for one that failed and "
    "the first number of a tuple. :class:`ModelGuided`, :class:`Exhaustive`, :class:`RandomSearch`, "
    ":class:`SimulatedAnnealing` and :class:`DifferentialEvolution` are such.",
    abort="Abort, optional: When the search ends, unless the technique has nothing new: by default after 10 seconds.",
    start="dict, optional: What is evaluated first, as what was in use before.",
    seed="int: The same seed, technique and costs give the same configurations.",
    returns="TuningResult: The best one, and all that were evaluated. Ctrl-C ends a search that has found something.",
    raises={
        "RuntimeError": "If no configuration can be used.",
        "TypeError": "If an argument has another type, or a cost is no number.",
        "ValueError": "If `start` is not in the space, or nothing is.",
    },
    example="""
>>> from mdhnp.tuning import evaluations, parameter, space, stalled, tune
>>> tile = parameter("tile", range(1, 33), lambda tile: 96 % tile == 0)
>>> items = parameter("items", range(1, 33), lambda items, tile: tile % items == 0)
>>> cost = lambda c: abs(c["tile"] - 24) + c["items"]
>>> tune(cost, space(tile, items), abort=evaluations(99) | stalled(30)).best
{'tile': 24, 'items': 1}""",
)
def tune(
    cost: Callable[..., Any],
    space: Space,
    technique: Any = ModelGuided,
    abort: Any = None,
    *,
    start: Any = None,
    seed: int = 0,
) -> TuningResult:
    if not callable(cost):
        raise TypeError(f"cost: takes a function of configurations, not {cost!r:.80}")
    if not callable(technique):
        raise TypeError(f"technique: takes one as mdhnp.tuning.RandomSearch, not {technique!r:.80}")
    if not isinstance(space, Space):
        raise TypeError(f"space: takes what mdhnp.tuning.space gives, not {space!r}")
    if abort is not None and not isinstance(abort, Abort):
        raise TypeError(f"abort: takes a condition as mdhnp.tuning.duration(10), not {abort!r}")
    if start is not None and dict(start) not in space:
        raise ValueError(f"start: {dict(start)} is not in the space")
    search = _Search(cost, begun(technique, space, seed), duration(10) if abort is None else abort)
    return search.run(None if start is None else dict(start))


class _Search:
    """A search under way."""

    def __init__(
        self, cost: Callable[[Configuration], Cost], technique: Technique[Configuration], abort: Abort
    ) -> None:
        self._cost, self._technique, self._abort = cost, technique, abort
        self._known: dict[tuple[Any, ...], Evaluation] = {}
        self._best: Evaluation | None = None
        self._first: Cost | None = None
        self._stalled, self._begin = 0, time.perf_counter()

    def run(self, start: Configuration | None) -> TuningResult:
        try:
            self._explore(start)
        except KeyboardInterrupt:
            if self._best is None:
                raise
        evaluations = tuple(self._known.values())
        if self._best is None or self._best.cost is None:
            why = evaluations[-1].message if evaluations else "none was evaluated"
            raise RuntimeError(f"no configuration can be used: {why}")
        return TuningResult(self._best.configuration, self._best.cost, evaluations, self._progress().seconds)

    def _explore(self, start: Configuration | None) -> None:
        if start is not None:
            self._technique.tell(start, self._evaluated(start))
        while not self._abort.reached(self._progress()):
            known = len(self._known)
            for configuration in asked(self._technique):
                self._technique.tell(configuration, self._evaluated(configuration))
                if len(self._known) > known:
                    break
            else:
                return

    def _progress(self) -> SearchProgress:
        best = None if self._best is None else scalar(self._best.cost)
        seconds = time.perf_counter() - self._begin
        return SearchProgress(seconds, len(self._known), self._stalled, scalar(self._first), best)

    def _evaluated(self, configuration: Configuration) -> float | None:
        """Give what a configuration costs; one that is known is not evaluated again."""
        key = tuple(configuration.values())
        if key not in self._known:
            try:
                cost, message = checked(self._cost(dict(configuration))), ""
            except InvalidConfiguration as error:
                cost, message = None, str(error)
            found = self._known[key] = Evaluation(configuration, cost, message)
            self._stalled += 1
            self._first = cost if self._first is None else self._first
            if cost is not None and (self._best is None or as_tuple(cost) < as_tuple(self._best.cost)):
                self._best, self._stalled = found, 0
        return scalar(self._known[key].cost)


def checked(cost: Any, what: str = "cost") -> Cost:
    """Give a cost as numbers; TypeError, which says what gave it, or InvalidConfiguration where it is none."""
    each = as_tuple(cost)
    if not each or not all(isinstance(c, int | float) or hasattr(c, "__float__") for c in each):
        raise TypeError(f"{what}: gave {cost!r}, which is no number nor a tuple of numbers")
    numbers = tuple(map(float, each))
    if any(map(math.isnan, numbers)):
        raise InvalidConfiguration(f"its cost is {cost!r}")
    return numbers if isinstance(cost, tuple) else numbers[0]


def as_tuple(cost: Any) -> tuple[Any, ...]:
    return cost if isinstance(cost, tuple) else (cost,)


def scalar(cost: Cost | None) -> float | None:
    """Give the number by which techniques and conditions know a cost."""
    return None if cost is None else float(as_tuple(cost)[0])
