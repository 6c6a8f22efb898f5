"""What makes a function of arrays public: what `documentation.py` does, and that its calls are found again."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from mdhnp import native
from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array
from mdhnp.calls import loading, observe
from mdhnp.calls.arrays import wrapped
from mdhnp.calls.operands import parts
from mdhnp.calls.recipes import learning
from mdhnp.calls.store import entries
from mdhnp.documentation import NO_AXIS, ON_HOST, PAPER, UNSUPPORTED, Function, public
from mdhnp.settings import config, inside

__all__ = ["NO_AXIS", "ON_HOST", "PAPER", "UNSUPPORTED", "Function", "public", "repeatable"]

_PLACE = (entries, Array, wrapped, config, inside, vars(observe), vars(loading), transfer.constant, parts)


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
        method = native.Method(function, learning(function), {}, numbers, least, _PLACE)
        return cast(Function, wraps(function)(method))

    return decorate
