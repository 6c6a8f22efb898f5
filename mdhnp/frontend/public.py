"""What makes a function public: documentation from a record, and errors that begin with its name.

Parameters that several functions have are described once, in `SHARED`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any, TypeVar

from mdhnp.errors import guarded

__all__ = ["PAPER", "SHARED", "UNSUPPORTED", "Documentation", "public"]

Function = TypeVar("Function", bound=Callable[..., Any])

_WIDTH = 110
_TITLE = "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms"
#: Where most products are from; a section's number is to follow.
PAPER = f'Rasch, Schulze & Gorlatch, "{_TITLE}", Section'

#: Types and meanings of parameters, by name.
SHARED = {
    "alpha": "number: Factor of the product, by default 1; a value at run time: all share one kernel.",
    "axis": "int or tuple of int, optional: Along which axes; by default along all.",
    "beta": "number: Factor of what is added, likewise.",
    "casting": 'str: Which conversions to `dtype` and to `out` are allowed: "same_kind", "safe", "no", "equiv" or '
    '"unsafe".',
    "copy": "bool, optional: Whether the memory is new; by default only where it has to be.",
    "device": "str, int or Device, optional: As in :func:`mdhnp.device`; by default the default device.",
    "dtype": "dtype, optional: Type of the elements; by default float64.",
    "fill_value": "number or Array without axes: The value.",
    "keepdims": "bool: Whether axes that were reduced stay, with one element.",
    "order": 'str: Memory order of the result: "C", "F", "A", or "K", which is C order here.',
    "out": "ndarray, optional: Where to put the result.",
    "precision": '{"highest", "high", "default"}, optional: How exact products of float32 must be; by default what '
    "``config.precision`` says, which tells more.",
    "shape": "int or tuple of int: Extents.",
    "x": "array_like: An Array, or what NumPy takes; Arrays give Arrays.",
}
#: What errors mean that several functions raise.
NO_AXIS = "If there is no such axis."
UNSUPPORTED = "If kernels do not compute with a type and NumPy is not allowed to."


@dataclass(frozen=True)
class Documentation:
    """What is said of a function."""

    #: Its first line, and paragraphs after that.
    summary: str
    #: Type and meaning of each, as ``"array_like: Of shape (n,)."``; those of several in one are separated by commas.
    parameters: Mapping[str, str] = field(default_factory=dict)
    #: Likewise.
    returns: str = ""
    #: When it raises what.
    raises: Mapping[str, str] = field(default_factory=dict)
    #: As they are printed, the example without its import of the package.
    notes: str = ""
    example: str = ""

    def __str__(self) -> str:
        lines = self.summary.splitlines()
        lines += _section("Parameters", [line for n, text in self.parameters.items() for line in _entry(n, text)])
        lines += _section("Returns", list(_entry("", self.returns)) if self.returns else [])
        lines += _section("Raises", [line for error, text in self.raises.items() for line in (error, *_wrapped(text))])
        paragraphs = self.notes.split("\n\n") if self.notes else []
        lines += _section("Notes", [line for p in paragraphs for line in ("", *_wrapped(p, ""))][1:])
        imports = [">>> import numpy as np"] if re.search(r"\bnp\.", self.example) else []
        lines += _section("Examples", [*imports, ">>> import mdhnp", *self.example.strip().splitlines()])
        return "\n    ".join(lines).replace("    \n", "\n") + "\n    "


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, "-" * len(title), *lines] if lines and lines[-1] != ">>> import mdhnp" else []


def _entry(name: str, text: str) -> Iterator[str]:
    """Write a parameter or result: its type, and below what it means."""
    kind, _, meaning = text.partition(": ")
    yield f"{name} : {kind}" if name and meaning else name or kind
    yield from _wrapped(meaning or kind if name else meaning)


def _wrapped(text: str, indent: str = "    ") -> Iterator[str]:
    line = indent
    for word in text.split():
        if len(line) + len(word) > _WIDTH:
            yield line.rstrip()
            line = indent
        line += f"{word} "
    if line.strip():
        yield line.rstrip()


def public(
    summary: str,
    *,
    name: str = "",
    returns: str = "",
    raises: Mapping[str, str] | None = None,
    notes: str = "",
    example: str = "",
    guard: bool = True,
    **parameters: str,
) -> Callable[[Function], Function]:
    """Document a function, as :class:`Documentation` has it, and have its errors begin with its name.

    `name` is that of a function which a table makes. `guard` is false where a function names its errors itself, to be
    faster. `parameters` are types and meanings where they are not those of `SHARED`.
    """

    def made(function: Function) -> Function:
        if name:
            function.__name__ = function.__qualname__ = name
            function.__module__ = "mdhnp"
        texts = _texts(_parameters(function), parameters)
        known = {"numpy.exceptions.AxisError": NO_AXIS} if {"axis", "axes"} & {*_parameters(function)} else {}
        function.__doc__ = str(Documentation(summary, texts, returns, known | dict(raises or {}), notes, example))
        return guarded(function) if guard else function

    return made


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Give a function's parameters as they are written, in order: sooner than ``inspect.signature``."""
    code = function.__code__
    names = iter(code.co_varnames)  # *args and **kwargs come last there
    given = [next(names) for _ in range(code.co_argcount)]
    keywords = [next(names) for _ in range(code.co_kwonlyargcount)]
    given += [f"*{next(names)}"] if code.co_flags & CO_VARARGS else []
    return given + keywords + ([f"**{next(names)}"] if code.co_flags & CO_VARKEYWORDS else [])


def _texts(names: Sequence[str], own: Mapping[str, str]) -> dict[str, str]:
    """Give what is said of parameters; neighbours of which the same is said are together."""
    texts: dict[str, str] = {}
    for name in names:
        key = name.lstrip("*")
        text = own[key] if key in own else SHARED[key]
        last = next(reversed(texts), "")
        if last and texts[last] == text:
            del texts[last]
            name = f"{last}, {name}"
        texts[name] = text
    return texts
