"""Who looks on: the plans and arrays of all calls made inside of a block, or what is called there, and recipes of that.

A recipe is what a kind of calls of a public function calls itself, found out when there is a second one. A kind is told
by all that such a call is given but arrays' elements and extents (`compiled/given.c`). Where the function makes one
call, of a routine or of one of NumPy's functions, on what it was given, and gives what that gives, compiled code does
the same from then on without the function (`compiled/method.c`).
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import numpy as np

from mdhnp.arrays.array import Array
from mdhnp.process import having, process

#: Plans of a call, with their arrays.
Observed = list[tuple[Any, Sequence[Any]]]

#: Blocks open in any thread: as long as there are none, no call asks for its own.
blocks = 0
#: The same of blocks of :func:`calls`.
learning = 0
_counting = process.lock()
_lists: ContextVar[tuple[Observed, ...]] = ContextVar("mdhnp_observed", default=())
_made: ContextVar["list[Made] | None"] = ContextVar("mdhnp_made", default=None)
#: Numbers of which arrays were made since the last call, and these.
_lifted: ContextVar[tuple[tuple[Any, Any], ...]] = ContextVar("mdhnp_lifted", default=())


class Kind(IntEnum):
    """What is called: a routine, with its arguments, or a function of views; `compiled/method.c` knows them, too."""

    ROUTINE = 0
    #: Reads elements, so that they have to be the host's.
    READS = 1
    #: Gives views.
    VIEWS = 2


class Made(NamedTuple):
    """A call that a public function makes: what is called, on which operands, and what that gave.

    `what` is None where more decides what is called. `lifted` are numbers, and arrays of them among the operands.
    """

    what: Any
    kind: Kind
    operands: tuple[Any, ...]
    lifted: tuple[tuple[Any, Any], ...]
    result: Any


def note(plan: Any, arrays: Sequence[Any]) -> None:
    """Tell this thread's blocks that a plan is about to run on arrays."""
    for seen in _lists.get():
        seen.append((plan, arrays))


@contextmanager
def observe() -> Iterator[Observed]:
    """Collect the plans and arrays of all calls made inside the block, in order.

    Blocks nest, and the outer ones see the calls of the inner. A block sees the calls of its own thread or
    asynchronous task only. Of calls that several plans compute it sees each, and what computes part by part before
    the plans of its parts, those of equal parts once.
    """
    global blocks  # noqa: PLW0603
    seen: Observed = []
    with _counting:
        blocks += 1
    try:
        with having(_lists, (*_lists.get(), seen)):
            yield seen
    finally:
        with _counting:
            blocks -= 1


@contextmanager
def calls() -> Iterator[list[Made]]:
    """Collect the calls of routines and of NumPy's functions made inside the block; outer blocks see them, too."""
    global learning  # noqa: PLW0603
    outer, made = _made.get(), list[Made]()
    with _counting:
        learning += 1
    try:
        with having(_made, made), having(_lifted, ()):
            yield made
    finally:
        with _counting:
            learning -= 1
        if outer is not None:
            outer += made


def called(what: Any, kind: Kind, operands: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
    """Make a call, and tell the block around of it, but not of those that it makes itself."""
    made = _made.get()
    if made is None:
        return compute()
    token, lifted = _made.set(None), _lifted.get()
    try:
        result = compute()
    finally:
        _made.reset(token)
        _lifted.set(())
    made.append(Made(what, kind, operands, lifted, result))
    return result


def is_called() -> bool:
    """Whether a block waits for calls."""
    return _made.get() is not None


def lifted(number: Any, array: Any) -> None:
    """Note an array that was made of a number, an operand of the next call."""
    if _made.get() is not None:
        _lifted.set((*_lifted.get(), (number, array)))


def unseen() -> AbstractContextManager[object]:
    """Keep calls of this thread made inside of the block from all blocks of :func:`observe` around it."""
    return having(_lists, ())


#: What is called, of which kind that is, and where each operand is from: its number among arrays and numbers given,
#: with the type that it gets if it is a number; of constants these alone, in a tuple. None where there is no such call.
Recipe = tuple[Any, Kind, tuple[Any, ...]] | None


def learner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give what makes a call of a function, and adds the recipe of its kind to others."""

    def learn(
        recipes: dict[Hashable, Recipe | Literal[False]],
        kind: Hashable,
        given: tuple[Any, ...],
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        with calls() as made:
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
