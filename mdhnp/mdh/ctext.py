"""OpenCL C text of scalar functions: which function it defines, and which parameters that takes.

The text is read only as far as that needs: without comments, strings, characters and preprocessor lines, a definition
is a name, parameters in parentheses and a body in braces, outside of all other braces. It must not know views.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

#: What may hold anything that looks like code: comments, strings and characters.
_OPAQUE = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.MULTILINE | re.ASCII)
#: Directives of macros, and of what depends on them.
_OF_MACROS = re.compile(r"[ \t]*#[ \t]*(?:define|undef|if|ifdef|ifndef|elif|else|endif)\b")
_INSIDE = r"[^()]*(?:\([^()]*\)[^()]*)*"
_ATTRIBUTE = re.compile(rf"\b(?:__attribute__|__attribute)\s*\(\({_INSIDE}\)\)")
#: A type, perhaps with stars, the function's name, its parameters and its body.
_DEFINITION = re.compile(rf"([A-Za-z_][\w\s]*?[\s*]+)([A-Za-z_]\w*)\s*\(({_INSIDE})\)\s*\{{\}}", re.ASCII)
_QUALIFIERS = frozenset({"static", "inline", "const"})
#: Types that OpenCL C and NumPy both have, by their names in C.
_TYPES = {
    "bool": "?", "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
    "ulong": "u8", "float": "f4", "double": "f8",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}


class Definition(NamedTuple):
    """A function that text defines: its name, the parameters as declared, the type it returns (empty: nothing)."""

    name: str
    parameters: tuple[str, ...]
    returns: str


@lru_cache(maxsize=256)
def last_definition(source: str) -> Definition:
    """Give the last function that OpenCL C text defines; those before it are its helpers.

    Examples
    --------
    >>> last_definition("float twice(float x) { return 2 * x; } float f(float a, float b) { return twice(a) * b; }")
    Definition(name='f', parameters=('float a', 'float b'), returns='float')
    """
    found = _definitions(without_comments(source))
    if not found:
        raise ValueError("scalar: OpenCL C text must define a function, as in 'float f(float x) { return 2 * x; }'")
    kind, name, parameters = found[-1].groups()
    listed = re.sub(r"\([^()]*\)", " ", parameters).strip()
    declared = () if listed in ("", "void") else tuple([" ".join(p.split()) for p in listed.split(",")])
    words = [word for word in kind.replace("*", " * ").split() if word not in _QUALIFIERS]
    return Definition(name, declared, "" if words == ["void"] else " ".join(words))


def defined_names(code: str) -> tuple[str, ...]:
    """Give the names of all functions that OpenCL C text, which is without comments, defines, in order."""
    return tuple(dict.fromkeys([found.group(2) for found in _definitions(code)]))


def defined_macros(code: str) -> tuple[str, ...]:
    """Give the names of all macros that OpenCL C text, which is without comments, defines, in order."""
    return tuple(dict.fromkeys(_MACRO.findall(code)))


@lru_cache(maxsize=256)
def is_only_functions(source: str) -> bool:
    r"""Whether OpenCL C text is definitions of functions and macros alone, so that it means the same beside other text.

    Examples
    --------
    >>> is_only_functions("#define N 2\nfloat f(float x) { return N * x; }")
    True
    >>> is_only_functions("typedef float real;\nreal f(real x) { return 2 * x; }")
    False
    """
    code = without_comments(source)
    if not all(map(_OF_MACROS.match, _DIRECTIVE.findall(code))):
        return False
    return not _DEFINITION.sub("", _outermost(code)).strip()


def type_name(dtype: np.dtype[Any]) -> str:
    """Give OpenCL C's name of a type; KeyError where text has none for it.

    Examples
    --------
    >>> type_name(np.dtype(np.uint16))
    'ushort'
    """
    return _NAMES[dtype]


def returned_type(source: str) -> np.dtype[Any] | None:
    """Give the type that the last function of OpenCL C text returns; None where it is none of NumPy's."""
    return _named_type(last_definition(source).returns)


def pointer_type(declared: str) -> np.dtype[Any] | None:
    """Give the type of what a pointer to constant global memory, a parameter as declared, points to; else None."""
    words = re.findall(r"\w+|\S", declared.replace("__global", "global"))
    if "const" not in words[: words.index("*") if "*" in words else 0]:
        return None
    match [w for w in words if w not in ("const", "restrict", "volatile")]:
        case ["global", *kind, "*", name] if name.isidentifier():
            return _named_type(" ".join(kind))
    return None


def _definitions(code: str) -> list[re.Match[str]]:
    return list(_DEFINITION.finditer(_outermost(code)))


def without_comments(source: str) -> str:
    """Give OpenCL C text without comments, strings and characters, each line in one piece."""
    return _OPAQUE.sub(" ", source.replace("\r\n", "\n").replace("\\\n", ""))


def _outermost(code: str) -> str:
    """What stands outside of bodies, without preprocessor lines and attributes."""
    return _ATTRIBUTE.sub(" ", _outside_of_bodies(_DIRECTIVE.sub("", code)))


def _named_type(name: str) -> np.dtype[Any] | None:
    name = name.replace("unsigned ", "u")
    return np.dtype(_TYPES[name]) if name in _TYPES else None


def _outside_of_bodies(text: str) -> str:
    """The text with nothing inside of its braces."""
    depth, kept = 0, []
    for char in text:
        depth -= char == "}"
        if depth < 0:
            break
        if depth == 0:
            kept.append(char)
        depth += char == "{"
    if depth:
        raise ValueError("scalar: OpenCL C text has braces that do not match")
    return "".join(kept)
