"""What makes a function or a class public: documentation from a record.

Parameters that several functions have are described once, in `SHARED`.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from inspect import CO_VARARGS, CO_VARKEYWORDS, cleandoc
from typing import Any

from mdhnp.errors import Function, guarded

_WIDTH = 110
#: Types of parameters that errors tell of.
_CHECKED = r"(bool|(int|(tuple|sequence) of int)( or None| or (tuple|sequence) of int)?(, optional)?)$"
_TITLE = "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms"
#: Where most products are from; a section's number is to follow.
PAPER = f'Rasch, Schulze & Gorlatch, "{_TITLE}", Section'
#: Where MDHs are from.
FIRST_PAPER = 'Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL"'

#: The public module that has a function or class, by where it is written: the first part of its full name that is
#: here, longest first; of others ``mdhnp``.
_HOMES = {f"mdhnp.{name}": f"mdhnp.{name}" for name in ("dask", "skeletons", "tuning")} | {
    "mdhnp.frontend.fourier": "mdhnp.fft",
    "mdhnp.frontend.linalg": "mdhnp.linalg",
    "mdhnp.frontend.matrices": "mdhnp.linalg",
    "mdhnp.frontend.semirings": "mdhnp.semiring",
    "mdhnp.schedule.schedule.LocalCopy": "mdhnp.tuning",
    "mdhnp.schedule.schedule.Schedule": "mdhnp.tuning",
    "mdhnp.tuning.search.session": "mdhnp",
}

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
    "initial": "number, optional: What is combined with the elements, and the result of none.",
    "keepdims": "bool: Whether axes that were reduced stay, with one element.",
    "order": 'str: Memory order of the result: "C", "F", "A", or "K", which is C order here.',
    "out": "ndarray, optional: Where to put the result.",
    "precision": '{"highest", "high", "default"}, optional: How exact products of float32 must be; by default what '
    "``config.precision`` says, which tells more.",
    "schedule": "Schedule or sequence of Schedule, optional: By which kernels compute, one for each, in place of "
    "``config.schedule``, which tells more.",
    "shape": "int or sequence of int: Extents.",
    "where": "array_like: Of booleans, broadcast to `x`: which elements count; by default all.",
    "x": "array_like: An Array, or what NumPy takes; Arrays give Arrays.",
}
#: What errors mean that several functions raise.
NO_AXIS = "If there is no such axis."
UNSUPPORTED = "If kernels do not compute with a type and NumPy is not allowed to."
#: What is said of functions that `calls/arrays.py` lets compute.
ON_HOST = (
    "NumPy computes it: of Arrays in the host's memory where they are, of those on other devices from a copy, and the "
    "result is copied back."
)


def exported(made: Function) -> Function:
    """Have a function or class say that it is of the public module that has it, as for pickles; so does `public`."""
    place = f"{made.__module__}.{made.__qualname__}"
    while place and place not in _HOMES:
        place = place.rpartition(".")[0]
    made.__module__ = _HOMES.get(place, "mdhnp")
    return made


def public(
    summary: str = "",
    *,
    name: str = "",
    returns: str = "",
    yields: str = "",
    raises: Mapping[str, str] | None = None,
    notes: str = "",
    example: str = "",
    guard: bool = True,
    title: str = "Parameters",
    **parameters: str,
) -> Callable[[Function], Function]:
    """Document a function, and have its errors begin with its name; annotations are for type checkers only.

    Or document a class with what it is made of, which its `title` may call attributes; its docstring is the summary.

    `summary` is the first line, and paragraphs after that. `parameters` and `returns` are types and meanings, as
    ``"array_like: Of shape (n,)."``, where they are not those of `SHARED`; one of which the same is said as of that
    before, or "", is together with it; that of a parameter called `name` is `name_`. A block `yields` something.
    `raises` says when it raises what. The example is without its import of the package.

    `name` is that of a function which a table makes. `guard` is false where a function names its
    errors itself, to be faster.
    """

    def decorate(function: Function) -> Function:
        if name:
            function.__name__ = function.__qualname__ = name
        exported(function)
        if isinstance(function, type):
            names, text = _parts(function), cleandoc(function.__doc__ or "")
        else:
            # Types are said in words below; in the signature that `help` begins with, their unions would take a page.
            names, text, function.__annotations__ = _parameters(function), summary, {}
        known = {"numpy.exceptions.AxisError": NO_AXIS} if {"axis", "axes"} & {*names} else {}
        described = _described(names, parameters)
        imports = [">>> import numpy as np"] if re.search(r"\bnp\.", example) else []
        sections: dict[str, list[str]] = {
            title: [line for said, each in described for line in _entry(each, said)],
            "Returns": list(_entry("", returns)) if returns else [],
            "Yields": list(_entry("", yields)) if yields else [],
            "Raises": [line for e, text in (known | dict(raises or {})).items() for line in (e, *_wrapped(text))],
            "Notes": [line for p in notes.split("\n\n") if p for line in ("", *_wrapped(p, ""))][1:],
            "Examples": [*imports, ">>> import mdhnp", *example.strip().splitlines()] if example else [],
        }
        lines = text.splitlines()
        for head, section in sections.items():
            lines += ["", head, "-" * len(head), *section] if section else []
        function.__doc__ = "\n    ".join([*lines, ""]).replace("    \n", "\n")
        if isinstance(function, type):
            return function
        places = {name: n for n, name in enumerate(names[: function.__code__.co_argcount])}
        kinds = {name: said.partition(":")[0] for said, each in described for name in each.split(", ")}
        typed = [(n, places.get(n, sys.maxsize), kind) for n, kind in kinds.items() if re.match(_CHECKED, kind)]
        return guarded(function, typed) if guard or any([kind == "bool" for _, _, kind in typed]) else function

    return decorate


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Give a function's parameters as they are written, in order: sooner than ``inspect.signature``."""
    code = function.__code__
    names = iter(code.co_varnames)  # *args and **kwargs come last there
    given = [next(names) for _ in range(code.co_argcount)]
    keywords = [next(names) for _ in range(code.co_kwonlyargcount)]
    given += [f"*{next(names)}"] if code.co_flags & CO_VARARGS else []
    return given + keywords + ([f"**{next(names)}"] if code.co_flags & CO_VARKEYWORDS else [])


def _parts(made: type) -> list[str]:
    """Give what a class takes, or a named tuple has."""
    fields: tuple[str, ...] | None = getattr(made, "_fields", None)
    return _parameters(made.__init__)[1:] if fields is None else [*fields]  # type: ignore[misc]


def _described(names: list[str], own: Mapping[str, str]) -> list[tuple[str, str]]:
    """Give what is said of parameters, each with the names of those of which it is."""
    found: list[tuple[str, list[str]]] = []
    texts = {**SHARED, **own}
    for name in names:
        key = name.lstrip("*")
        text = texts[f"{key}_" if f"{key}_" in own else key] or found[-1][0]
        if found and found[-1][0] == text:
            found[-1][1].append(name)
        else:
            found.append((text, [name]))
    return [(text, ", ".join(each)) for text, each in found]


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
