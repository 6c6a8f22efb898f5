"""Techniques that search a space of parameters: each asks for configurations, and is told what they cost.

They know spaces by their numbers (`space[n]`) and as the unit cube (`space.at`), and never evaluate anything. The
search of a call's schedules (`search.py`) has the same two methods.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from mdhnp.documentation import public
from mdhnp.tuning.search.parameters import Configuration, Space

Floats = npt.NDArray[np.float64]
C = TypeVar("C")

#: Of the model: configurations that are measured before there is one; which part is drawn at random after that; the
#: best ones, whose neighbours are looked at; how many of these, and of any others; how many it learns from.
_FIRST, _EXPLORE, _PARENTS, _LISTED, _LEARNT = 10, 0.1, 5, 60, 150
#: Lengths over which values are alike, in units of the cube; and what is noise, of their spread.
_LENGTHS, _NOISE = (0.15, 0.4, 1.0), 1e-2
#: How far a step goes: at most, and how many powers of ten less at least.
_STEP, _FINER = 0.3, 1.5
#: A technique that has asked for so many known configurations in a row finds nothing new.
_REPEATED = 1000


class Technique(Protocol[C]):
    """What proposes configurations."""

    def ask(self) -> C | None:
        """Give the next configuration to evaluate; None where there is nothing new."""

    def tell(self, configuration: C, cost: float | None) -> None:
        """Take the cost of a configuration that was asked for; None if it failed."""


def asked(technique: Technique[C]) -> Iterator[C]:
    """Iterate over what a technique asks for until it finds nothing new: so much, of which none is new, is enough."""
    return islice(iter(technique.ask, None), _REPEATED)


def begun(technique: Callable[[Space, int], Technique[Configuration]], space: Space, seed: int) -> Any:
    """Give the object that a technique makes; TypeError where that is none."""
    try:
        found = technique(space, seed)
    except TypeError as error:
        raise TypeError(f"technique: is to make an object with ask and tell of a space and a seed: {error}") from error
    if not all([callable(getattr(found, name, None)) for name in ("ask", "tell")]):
        raise TypeError(f"technique: is to make an object with ask and tell, not {found!r:.80}")
    return found


_technique = partial(
    public,
    space="Space: What is searched.",
    seed="int: The same seed and costs give the same configurations.",
)


@_technique(
    seed="int: Without effect.",
    example="""
>>> from mdhnp.tuning import Exhaustive, parameter, space, tune
>>> tune(lambda c: (c["x"] - 3) ** 2, space(parameter("x", range(9))), Exhaustive).best
{'x': 3}""",
)
class Exhaustive:
    """Evaluates all configurations, in the order of the space."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self._left: Iterator[Configuration] = iter(space)

    def ask(self) -> Configuration | None:
        """Give the next one."""
        return next(self._left, None)

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Learn nothing."""


@_technique(
    seed="int: The same seed gives the same configurations.",
    example="""
>>> from mdhnp.tuning import RandomSearch, parameter, space, tune
>>> tune(lambda c: (c["x"] - 3) ** 2, space(parameter("x", range(9))), RandomSearch).best
{'x': 3}""",
)
class RandomSearch:
    """Evaluates configurations at random, each as likely as any other, none twice."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self._space, self._random, self._drawn = space, Random(seed), set[int]()

    def ask(self) -> Configuration | None:
        """Draw one that was not drawn before."""
        size = self._space.size
        if len(self._drawn) == size:
            return None
        number = self._random.randrange(size)
        while number in self._drawn:
            number = (number + 1) % size
        self._drawn.add(number)
        return self._space[number]

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Learn nothing."""


@_technique(
    temperature="float: At the begin.",
    cooling="float: By which the temperature is multiplied at each step.",
    example="""
>>> from functools import partial
>>> from mdhnp.tuning import SimulatedAnnealing, evaluations, parameter, space, tune
>>> slowly = partial(SimulatedAnnealing, cooling=0.99)
>>> found = tune(lambda c: 1 + (c["x"] - 30) ** 2, space(parameter("x", range(99))), slowly, evaluations(60))
>>> abs(found.best["x"] - 30) < 5
True""",
)
class SimulatedAnnealing:
    """Walks from a configuration to one near it, also to a worse one as long as it is hot.

    A step changes some parameters, mostly to values near by. One that costs a part r more is taken with a probability
    of exp(-r / temperature).
    """

    def __init__(self, space: Space, seed: int = 0, temperature: float = 0.3, cooling: float = 0.97) -> None:
        self._space, self._random, self._temperature, self._cooling = space, Random(seed), temperature, cooling
        self._here: tuple[list[float], float] | None = None

    def ask(self) -> Configuration | None:
        """Give one near where the walk is."""
        if self._here is None:
            return self._space.at([self._random.random() for _ in self._space.parameters])
        return self._space.at(neighbour(self._here[0], self._random))

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Go there, or stay."""
        self._temperature *= self._cooling
        point = self._space.coordinates(configuration)
        if cost is None or point is None:
            return
        worse = 0.0 if self._here is None else (cost - self._here[1]) / (abs(self._here[1]) or 1.0)
        if worse <= 0 or self._random.random() < math.exp(-worse / max(self._temperature, 1e-9)):
            self._here = point, cost


@_technique(
    population="int, optional: How many; by default five a parameter, and 10 to 40.",
    factor="float: By which the difference is multiplied.",
    crossover="float: How probable it is that a parameter is moved.",
    notes='Source: Storn & Price, "Differential evolution", variant DE/rand/1/bin.',
    example="""
>>> from mdhnp.tuning import DifferentialEvolution, evaluations, parameter, space, tune
>>> every = space(parameter("x", range(99)), parameter("y", range(99)))
>>> found = tune(lambda c: 1 + (c["x"] - 30) ** 2 + c["y"], every, DifferentialEvolution, evaluations(300))
>>> found.cost < 100
True""",
)
class DifferentialEvolution:
    """Keeps a population of configurations, and moves each by the difference of two others."""

    def __init__(
        self, space: Space, seed: int = 0, population: int | None = None, factor: float = 0.7, crossover: float = 0.8
    ) -> None:
        self._space, self._random, self._factor, self._crossover = space, Random(seed), factor, crossover
        self._most = population or min(max(5 * len(space.parameters), 10), 40)
        self._members: list[tuple[list[float], float]] = []
        self._turn, self._targets = 0, dict[tuple[Any, ...], int]()

    def ask(self) -> Configuration | None:
        """Give a new member, or a rival of an old one."""
        draw = self._random
        if len(self._members) < self._most:
            return self._space.at([draw.random() for _ in self._space.parameters])
        target = self._turn = (self._turn + 1) % self._most
        a, b, c = (self._members[n][0] for n in draw.sample([n for n in range(self._most) if n != target], 3))
        own, always = self._members[target][0], draw.randrange(len(a))
        moved = [
            reflected(a[n] + self._factor * (b[n] - c[n])) if n == always or draw.random() < self._crossover else own[n]
            for n in range(len(own))
        ]
        found = self._space.at(moved)
        self._targets[_key(found)] = target
        return found

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Let the better of both stay."""
        point, target = self._space.coordinates(configuration), self._targets.pop(_key(configuration), None)
        if cost is None or point is None:
            return
        if len(self._members) < self._most:
            self._members.append((point, cost))
        elif target is not None and cost <= self._members[target][1]:
            self._members[target] = point, cost


@_technique(
    notes="Bayesian optimisation: a Matérn kernel on the unit cube, whose length is the likeliest of some, and a "
    "lower confidence bound of one standard deviation.",
    example="""
>>> from mdhnp.tuning import ModelGuided, evaluations, parameter, space, tune
>>> every = space(parameter("x", range(1, 99)), parameter("y", range(1, 99)))
>>> found = tune(lambda c: c["x"] / 30 + 30 / c["x"] + c["y"], every, ModelGuided, evaluations(60))
>>> found.cost < 4
True""",
)
class ModelGuided:
    """Learns from what was measured which configurations are likely to be good, and evaluates the likeliest.

    A Gaussian process predicts the cost of others, and how uncertain that is; of neighbours of the best ones, and of
    others drawn at random, the one of the least cost that is likely is next. After few evaluations it is usually better
    than the others; it takes some hundredths of a second to propose one.
    """

    def __init__(self, space: Space, seed: int = 0) -> None:
        self._space, self._random, self._drawn = space, Random(seed), RandomSearch(space, seed)
        self._costs: dict[tuple[Any, ...], tuple[list[float], float | None]] = {}
        self._asked = set[tuple[Any, ...]]()

    def ask(self) -> Configuration | None:
        """Give the one of the least cost that is likely."""
        told = sorted([(cost, point) for point, cost in self._costs.values() if cost is not None])
        if len(told) >= _FIRST and self._random.random() >= _EXPLORE:
            best = [point for _, point in told[:_PARENTS]]
            around = [neighbour(self._random.choice(best), self._random) for _ in range(_LISTED)]
            drawn = [[self._random.random() for _ in best[0]] for _ in range(_LISTED)]
            each = {_key(c): c for c in map(self._space.at, [*around, *drawn])}
            if listed := [c for key, c in each.items() if key not in self._asked]:
                return self._noted(listed[int(np.argmin(self._bounds(listed)))])
        while (found := self._drawn.ask()) is not None and _key(found) in self._asked:
            pass
        return None if found is None else self._noted(found)

    def tell(self, configuration: Configuration, cost: float | None) -> None:
        """Note what it costs."""
        if (point := self._space.coordinates(configuration)) is not None:
            self._costs[_key(self._noted(configuration))] = point, cost

    def _noted(self, configuration: Configuration) -> Configuration:
        self._asked.add(_key(configuration))
        return configuration

    def _bounds(self, listed: Sequence[Configuration]) -> Floats:
        """Give what each costs at least, probably; failures cost as much as the worst that worked."""
        worst = max(cost for _, cost in self._costs.values() if cost is not None)
        told = [(worst if cost is None else cost, point) for point, cost in self._costs.values()]
        told.sort(key=lambda each: each[0])
        costs = np.array([cost for cost, _ in told[:_LEARNT]])
        points = np.array([point for _, point in told[:_LEARNT]])
        return lower_bounds(points, np.log(costs) if costs[0] > 0 else costs, np.array(list(map(self._point, listed))))

    def _point(self, configuration: Configuration) -> list[float]:
        found = self._space.coordinates(configuration)
        assert found is not None
        return found


def lower_bounds(points: Floats, values: Floats, others: Floats) -> Floats:
    """Predict values at other points by a Gaussian process, less a standard deviation; all in units of their spread."""
    values = (values - values.mean()) / (values.std() + 1e-9)
    likeliest: tuple[float, float, Any, Any] | None = None
    for length in _LENGTHS:
        root = np.linalg.cholesky(_matern(points, points, length) + _NOISE * np.eye(len(points)))
        weights = np.linalg.solve(root.T, np.linalg.solve(root, values))
        likelihood = float(-values @ weights / 2 - np.log(np.diag(root)).sum())
        if likeliest is None or likelihood > likeliest[0]:
            likeliest = likelihood, length, root, weights
    assert likeliest is not None
    _, length, root, weights = likeliest
    between = _matern(points, others, length)
    known = np.linalg.solve(root, between)
    found: Floats = between.T @ weights - np.sqrt(np.maximum(1 - (known * known).sum(axis=0), 0.0))
    return found


def _matern(a: Floats, b: Floats, length: float) -> Floats:
    """Correlations of values at points: the Matérn kernel of smoothness 5/2."""
    d = np.sqrt(5 * ((a[:, None] - b[None]) ** 2).sum(axis=-1)) / length
    found: Floats = (1 + d + d * d / 3) * np.exp(-d)
    return found


def _key(configuration: Configuration) -> tuple[Any, ...]:
    return tuple(configuration.values())


def neighbour(point: Sequence[float], random: Random) -> list[float]:
    """Give a point of the unit cube near another: one coordinate is moved, and each of the others sometimes."""
    moved, step = random.randrange(len(point)), _STEP * 10 ** (-_FINER * random.random())
    return [
        reflected(x + random.gauss(0, step)) if n == moved or random.random() < 0.3 else x for n, x in enumerate(point)
    ]


def reflected(x: float) -> float:
    """Give the coordinate inside of the unit cube where one outside is reflected at its sides."""
    x %= 2.0
    return x if x <= 1.0 else 2.0 - x
