"""Parameters of users' own: their values, what is allowed of them together, and the space of all combinations.

A constraint is checked as soon as the parameters that it reads have values, so that what is not allowed is never made:
a combination grows parameter by parameter, along a tree (source: Rasch, Schulze, Steuwer & Gorlatch, "Efficient
Auto-Tuning of Parallel Programs with Interdependent Tuning Parameters via Auto-Tuning Framework (ATF)", whose trees of
independent groups form a chain). Here nodes under which the rest is the same are one node, so groups need not be looked
for: behind the last parameter that a group's constraints read there is one node for all of its combinations.
"""

import inspect
import keyword
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mdhnp.documentation import exported, public

#: Anything with a hash.
Value = Any
#: A value of each parameter, by name.
Configuration = dict[str, Value]

T = TypeVar("T")


@public(
    title="Attributes",
    name_="str: Of the parameter.",
    values="sequence or callable: All of its values, or what gives them from other parameters' values.",
    constraint="callable or None: Tells whether a value is allowed.",
    reads="tuple of str: Other parameters that these two take.",
    example="""
>>> from mdhnp.tuning import parameter
>>> parameter("items", range(1, 65), lambda items, tile: tile % items == 0).reads
('tile',)""",
)
@dataclass(frozen=True)
class Parameter:
    """A parameter: its name, its values, and which of these are allowed; made by :func:`parameter`."""

    name: str
    values: Sequence[Value] | Callable[..., Iterable[Value]]
    constraint: Callable[..., bool] | None
    reads: tuple[str, ...]


@public(
    "Describe a parameter by its name, values and constraint.",
    name_="str: A Python name. OpenCL C text sees the parameter as a macro of this name.",
    values="iterable, or callable: Its values in an order in which neighbours are alike, as ``range(1, 65)``: numbers, "
    "text, or what else has a hash; or a function that gives them.",
    constraint="callable, optional: A function that tells whether a value is allowed. It takes parameters by their "
    "names, this one's and others'. So do `values`, but for this one's.",
    returns="Parameter: For :func:`space`.",
    raises={
        "TypeError": "If a value has no hash, or arguments of a function have no names.",
        "ValueError": "If `name` is no Python name, or there are no values.",
    },
    example="""
>>> from mdhnp.tuning import parameter, space
>>> tile = parameter("tile", [1, 2, 4, 8, 16], lambda tile: 24 % tile == 0)
>>> items = parameter("items", range(1, 25), lambda items, tile: tile % items == 0)
>>> space(tile, items).size
10""",
)
def parameter(name: str, values: Any, constraint: Callable[..., Any] | None = None) -> Parameter:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name: {name!r} is no Python name")
    reads = arguments_of(values, "values") if callable(values) else ()
    if name in reads:
        raise ValueError(f"values: a function of {name!r} itself")
    given = values if callable(values) else _checked(values, name)
    reads += () if constraint is None else arguments_of(constraint, "constraint")
    return Parameter(name, given, constraint, tuple(dict.fromkeys(r for r in reads if r != name)))


@lru_cache(maxsize=256)
def arguments_of(function: Callable[..., Any], what: str = "function") -> tuple[str, ...]:
    """Give the names of a function's arguments, which are parameters; `what`, for errors, is what it is."""
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise TypeError(f"{what}: {function!r} does not say the names of its arguments") from error
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(p.kind not in kinds for p in found):
        raise TypeError(f"{what}: takes parameters by their names, not as {inspect.signature(function)}")
    return tuple([p.name for p in found if p.default is p.empty])  # others are bound already, as in loops


def applied(function: Callable[..., T], values: Mapping[str, Any]) -> T:
    """Call a function with those parameters that it takes."""
    return function(**{name: values[name] for name in arguments_of(function)})


def _checked(values: Iterable[Any], name: str, *, some: bool = True) -> Sequence[Value]:
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    try:
        found = values if isinstance(values, range) else tuple(dict.fromkeys(plain))
    except TypeError:
        raise TypeError(
            f"values: of {name!r} not all have a hash, as tuples have in place of lists: {plain!r:.200}"
        ) from None
    if some and not found:
        raise ValueError(f"values: there are none for {name!r}")
    return found


class _Node(NamedTuple):
    """The values that a parameter may have, once those before it have theirs."""

    values: tuple[Value, ...]
    #: For each value, the node of the next parameter; none behind the last one.
    below: "tuple[_Node | None, ...]"
    #: For each value, the number of combinations with it and those before it.
    ends: tuple[int, ...]


@exported
class Space:
    """All combinations of parameters' values that their constraints allow; made by :func:`space`.

    It is a sequence: ``space[0]`` and ``for configuration in space`` give dictionaries, without making the others.

    Attributes
    ----------
    parameters : tuple of Parameter
        As they were given.
    size : int
        The number of combinations, which ``len`` cannot give where it is very large.

    Examples
    --------
    >>> from mdhnp.tuning import parameter, space
    >>> every = space(parameter("a", [1, 2]), parameter("b", [1, 2, 3], lambda a, b: a < b))
    >>> every[0], every.size, {"a": 2, "b": 1} in every
    ({'a': 1, 'b': 2}, 3, False)
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = tuple(parameters)
        self._order = _ordered(self.parameters)
        place = {p.name: n for n, p in enumerate(self._order)}
        # Of the parameters before each, those that it or one behind it reads: the rest depends on these only.
        last = {name: n for n, p in enumerate(self._order) for name in p.reads}
        self._read = [[q for q in place if place[q] < n <= last.get(q, -1)] for n in range(len(self._order))]
        self._nodes: dict[tuple[Any, ...], _Node | None] = {}

    @cached_property
    def _root(self) -> _Node:
        root = self._node({})
        self._nodes.clear()
        if root is None:
            raise ValueError("space: the constraints allow no combination of values")
        return root

    def _node(self, known: Configuration) -> _Node | None:
        """Give the node of the next parameter; None where no value of it leads to a combination."""
        at = len(known)
        key = (at, *[(type(known[name]), known[name]) for name in self._read[at]])
        if key not in self._nodes:
            one = self._order[at]
            values = _checked(applied(one.values, known), one.name, some=False) if callable(one.values) else one.values
            allowed, below, counts = list[Value](), list[_Node | None](), list[int]()
            for value in values:
                grown = {**known, one.name: value}
                if one.constraint is not None and not applied(one.constraint, grown):
                    continue
                node = self._node(grown) if at + 1 < len(self._order) else None
                if node is not None or at + 1 == len(self._order):
                    allowed.append(value)
                    below.append(node)
                    counts.append(1 if node is None else node.ends[-1])
            self._nodes[key] = _Node(tuple(allowed), tuple(below), tuple(accumulate(counts))) if allowed else None
        return self._nodes[key]

    @property
    def size(self) -> int:
        """The number of combinations."""
        return self._root.ends[-1]

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Configuration:
        """Give a combination by its number."""
        if not -self.size <= index < self.size:
            raise IndexError(f"space: {index} of {self.size} combinations")
        index %= self.size

        def choose(node: _Node, _: int) -> int:
            nonlocal index
            place = bisect_right(node.ends, index)
            index -= node.ends[place - 1] if place else 0
            return place

        return self._along(choose)

    def __iter__(self) -> Iterator[Configuration]:
        return map(self.__getitem__, range(self.size))

    def __contains__(self, configuration: object) -> bool:
        return isinstance(configuration, dict) and self.coordinates(configuration) is not None

    def at(self, coordinates: Sequence[float]) -> Configuration:
        """Give the combination at a point of the unit cube: of those that each parameter may have, values in order."""
        return self._along(lambda node, at: min(max(int(coordinates[at] * len(node.values)), 0), len(node.values) - 1))

    def coordinates(self, configuration: Mapping[str, Any]) -> list[float] | None:
        """Give a point where a combination is; None where it is none of the space."""
        found, node = list[float](), self._root
        if configuration.keys() != {p.name for p in self._order}:
            return None
        for one in self._order:
            if configuration[one.name] not in node.values:
                return None
            place = node.values.index(configuration[one.name])
            found.append((place + 0.5) / len(node.values))
            node = node.below[place] or node
        return found

    def _along(self, choose: Callable[[_Node, int], int]) -> Configuration:
        """Give the combination on a way down, whose place among each node's values is chosen."""
        found, node = {}, self._root
        for at, one in enumerate(self._order):
            place = choose(node, at)
            found[one.name] = node.values[place]
            node = node.below[place] or node
        return {p.name: found[p.name] for p in self.parameters}


@public(
    "Describe all combinations of some parameters' values that their constraints allow.",
    parameters="Parameter: In any order.",
    returns="Space: For :func:`tune`.",
    raises={
        "TypeError": "If one is no parameter.",
        "ValueError": "If there is none, two have one name, one reads a parameter that is not there, or some read "
        "each other.",
    },
    example="""
>>> from mdhnp.tuning import parameter, space
>>> list(space(parameter("width", [1, 2]), parameter("unroll", [False, True])))[1]
{'width': 1, 'unroll': True}""",
)
def space(*parameters: Parameter) -> Space:
    for each in parameters:
        if not isinstance(each, Parameter):
            raise TypeError(f"takes what mdhnp.tuning.parameter gives, not {each!r}")
    return Space(parameters)


def _ordered(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Give parameters in an order in which each comes behind those that it reads; as they are, if they may be."""
    names = [p.name for p in parameters]
    if not names or len({*names}) != len(names):
        raise ValueError(f"takes one parameter or more, each of its own name, not {names}")
    for p in parameters:
        if missing := [name for name in p.reads if name not in names]:
            raise ValueError(f"{p.name!r} reads {missing[0]!r}, which is no parameter; there are {', '.join(names)}")
    found: list[Parameter] = []
    left = list(parameters)
    while left:
        known = {p.name for p in found}
        following = next((p for p in left if known.issuperset(p.reads)), None)
        if following is None:
            raise ValueError(f"{', '.join(p.name for p in left)} read each other; a constraint stands at the last one")
        found.append(following)
        left.remove(following)
    return found
