"""What makes a function of arrays public: what `documentation.py` does, and that its calls are found again."""

from collections.abc import Callable
from functools import partial, wraps
from inspect import unwrap
from typing import Any, cast

from mdhnp import documentation, native
from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array
from mdhnp.calls import loading, observe
from mdhnp.calls.arrays import wrapped
from mdhnp.calls.observe import learner
from mdhnp.calls.operands import parts
from mdhnp.calls.store import entries
from mdhnp.documentation import FIRST_PAPER, NO_AXIS, ON_HOST, PAPER, UNSUPPORTED
from mdhnp.errors import Function
from mdhnp.settings import config, inside

__all__ = ["FIRST_PAPER", "NO_AXIS", "ON_HOST", "PAPER", "UNSUPPORTED", "Function", "public", "repeatable"]

#: Parameters, by keyword, that are settings of the calls which a function makes; it does not read them itself.
_SETTINGS = ("precision", "memory_limit", "schedule")

_PLACE = (entries, Array, wrapped, config, inside, vars(observe), vars(loading), transfer.constant, parts)


def public(summary: str = "", **record: Any) -> Callable[[Function], Function]:
    """Document a function as `documentation.public` does, and have its calls made by the settings that it is given."""

    def decorate(function: Function) -> Function:
        return _by_settings(documentation.public(summary, **record)(function))

    return decorate


def _by_settings(function: Function) -> Function:
    """Have parameters that are settings change these while a function runs."""
    own = getattr(unwrap(function), "__kwdefaults__", None) or {}
    names = [name for name in _SETTINGS if name in own]
    if not names:
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        changes = {name: kwargs.pop(name) for name in names if kwargs.get(name) is not None} if kwargs else None
        if not changes:
            return function(*args, **kwargs)
        with config.block(function.__name__, changes):
            if observe.learning:  # compiled code does not look into blocks
                return observe.called(None, observe.Kind.ROUTINE, (), partial(function, *args, **kwargs))
            return function(*args, **kwargs)

    return cast(Function, call)


def repeatable(
    summary: str = "", *, numbers: bool = False, least: int = 1, **record: Any
) -> Callable[[Function], Function]:
    """Have compiled code find calls of a function, an operator or a method again without it.

    What it calls may depend on all that it is given but on arrays' elements and extents. If `numbers` are operands it
    does not depend on what they are, either. Calls with fewer than `least` arrays are not found again. With a `summary`
    it is documented, too, as by `public`.
    """

    def decorate(function: Function) -> Function:
        if summary:
            function = public(summary, **record)(function)
        if native.Method is None:
            return function
        method = native.Method(function, learner(function), {}, numbers, least, _PLACE)
        return cast(Function, wraps(function)(method))

    return decorate
