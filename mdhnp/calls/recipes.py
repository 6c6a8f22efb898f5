"""Recipes: what a kind of calls of a public function calls itself, found out when there is a second one.

A kind is told by all that such a call is given but arrays' elements and extents (`compiled/given.c`). Where the
function makes one call, of a routine or of one of NumPy's functions, on what it was given, and gives what that gives,
compiled code does the same from then on without the function (`compiled/method.c`).
"""

from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np

from mdhnp.arrays.array import Array
from mdhnp.calls import observe
from mdhnp.calls.observe import Kind, Made

#: What is called, of which kind that is, and where each operand is from: its number among arrays and numbers given,
#: with the type that it gets if it is a number; of constants these alone, in a tuple. None where there is no such call.
Recipe = tuple[Any, Kind, tuple[Any, ...]] | None


def learning(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give what makes a call of a function, and adds the recipe of its kind to others."""

    def learn(
        recipes: dict[Hashable, Recipe | Literal[False]],
        kind: Hashable,
        given: tuple[Any, ...],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        with observe.calls() as made:
            result = function(*args, **kwargs)
        recipes[kind] = recipe_of(made, given, result)
        return result

    return learn


def is_constant(x: Any) -> bool:
    """Whether it is what it is for ever, as numbers, text and tuples of these are."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def recipe_of(made: list[Made], given: tuple[Any, ...], result: Any) -> Recipe | Literal[False]:
    """Give the recipe of a call that was given arrays and numbers, made other calls, and gave a result.

    False where this call does not tell: a number that is an operand was given several times.
    """
    if len(made) != 1 or made[0].result is not result or made[0].what is None:
        return None
    only, sources = made[0], list[Any]()
    for x in only.operands:
        if only.kind is not Kind.ROUTINE and is_constant(x):
            sources.append((x,))
            continue
        number = next((number for number, lifted in only.lifted if lifted is x), None)
        wanted = x if number is None else number
        places = [n for n, one in enumerate(given) if one is wanted]
        if not places or not isinstance(x, Array | np.ndarray):
            return None
        if number is not None and len(places) > 1:
            return False
        sources.append(places[0] if number is None else (places[0], x.dtype))
    return only.what, only.kind, tuple(sources)
