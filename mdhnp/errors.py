"""What is told of a call that went wrong, or cannot have all: errors that begin with its function's name, and warnings.

What speaks of an argument deep inside of the package need not know whose argument it is; this is the one place that
says so. Warnings stand at the line of the user's that made the call, and are never in its way.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from functools import wraps
from typing import Any, NoReturn, TypeVar, cast

from numpy import bool_
from numpy.exceptions import AxisError

from mdhnp.process import having

Function = TypeVar("Function", bound=Callable[..., Any])

#: What is raised for arguments; other errors, as of devices, speak of kernels.
ARGUMENTS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, BufferError)

#: Packages whose errors are those of a call. What a user's own function raises stays what it is.
_PACKAGES = ("mdhnp", "numpy", "opt_einsum", "_operator", "operator")


def raise_named(function: str, error: Exception) -> NoReturn:
    """Raise an error that a public function caught, its name first: in place of one called inside of it."""
    raise _named(function, error)


def _named(function: str, error: Exception) -> Exception:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    module = "mdhnp" if last is None else str(last.tb_frame.f_globals.get("__name__", ""))
    if module.partition(".")[0] not in _PACKAGES:
        return error
    inner = getattr(error, "mdhnp_function", function)
    if isinstance(error, AxisError):
        return _axis_error(function, inner, error)
    text = error.args[0] if error.args else ""
    if not isinstance(text, str) or (str(error) != text and not isinstance(error, KeyError)):
        return error  # whose text is made of something else
    error.args = (_begun(function, inner, text), *error.args[1:])
    cast(Any, error).mdhnp_function = function
    return error


def _begun(function: str, inner: str, text: str) -> str:
    text = text.removeprefix(f"{inner}: ")
    return text if text.startswith((f"{function}(", f"{function} does not ")) else f"{function}: {text}"


def _axis_error(function: str, inner: str, error: AxisError) -> AxisError:
    text = str(error)
    if error.axis is None:
        other = AxisError(_begun(function, inner, text))
    else:
        what = text.partition(f"axis {error.axis} is")[0].rstrip(": ")
        other = AxisError(error.axis, cast(int, error.ndim), _begun(function, inner, f"{what}: ").rstrip(": "))
    other.__suppress_context__ = True
    cast(Any, other).mdhnp_function = function
    return other.with_traceback(error.__traceback__)


#: A parameter's name, its place among arguments, and its type in words, as documentation has it.
Parameter = tuple[str, int, str]


def guarded(function: Function, parameters: Sequence[Parameter] = ()) -> Function:
    """Have the errors of a public function begin with its name, and name the argument that is not of its type.

    Anything is true or false, so arguments of type "bool" are looked at before the call. A call takes 0.1 µs longer;
    where that counts, functions do the same by an ``except`` of their own.
    """
    name, flags = function.__name__, [(p, place) for p, place, kind in parameters if kind == "bool"]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            for flag, place in flags:
                value = args[place] if place < len(args) else kwargs.get(flag, False)
                if value is not True and value is not False and not _is_whole(value):
                    raise TypeError(f"{flag} must be True or False, not {value!r}")
            return function(*args, **kwargs)
        except ARGUMENTS as error:
            if type(error) is TypeError and (unfit := _unfit(parameters, args, kwargs)) is not None:
                error.args = (unfit,)
            raise_named(name, error)

    return cast(Function, call)


def _unfit(parameters: Sequence[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Say which argument is none of the whole numbers that it is documented to be."""
    for name, place, kind in parameters:
        value = args[place] if place < len(args) else kwargs.get(name)
        if kind.startswith("bool") or value is None:
            continue
        several = (tuple, list) if "sequence of int" in kind else tuple if "tuple of int" in kind else ()
        each = value if isinstance(value, several) else (value,)
        if not all([_is_whole(n) and not isinstance(n, bool) for n in each]):
            return f"{name} must be {kind.removesuffix(', optional')}, not {value!r:.60}"
    return None


def _is_whole(value: Any) -> bool:
    return isinstance(value, bool_) or (hasattr(value, "__index__") and not getattr(value, "ndim", 0))


# Warnings.

_collecting: ContextVar[list[str] | None] = ContextVar("mdhnp_warnings", default=None)


def collected() -> AbstractContextManager[list[str]]:
    """Have warnings in a block, and in threads that run in a copy of its context, collected and not issued.

    The stack of such a thread does not have the user's line: who began it issues them.
    """
    return having(_collecting, list[str]())


def warn(text: str) -> None:
    """Issue a RuntimeWarning where the package was entered; a filter that makes it an error does not end the call."""
    texts = _collecting.get()
    if texts is not None:
        texts.append(text)
        return
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").split(".")[0] == "mdhnp" and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    with suppress(RuntimeWarning):
        warnings.warn(text, RuntimeWarning, stacklevel=level + 1)
