"""OpenCL C's names for NumPy's types, and how values are written, converted and selected.

Booleans are bytes in memory and masks as values: 0 or 1 as a scalar, 0 or -1 in each lane of an ``intN``. Float16 is
``half`` in global memory only: everywhere else it is a ``float`` of such a value, which every device can compute with.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdhnp.codegen.ir.values import BOOL, HALF
from mdhnp.mdh.ctext import type_name

#: Wider signed types through which floats become these, so that what they cannot hold wraps around.
_THROUGH = {np.dtype(t): np.dtype(f"i{w}") for t, w in {"i1": 4, "i2": 4, "u1": 4, "u2": 4, "u4": 8, "u8": 8}.items()}


@dataclass(frozen=True)
class Text:
    """An expression: its text, its NumPy type, and its lanes (1 for a scalar)."""

    text: str
    dtype: np.dtype[Any]
    lanes: int = 1

    @property
    def atom(self) -> str:
        """The text, in parentheses where operators beside it could tear it apart."""
        return self.text if _is_atom(self.text) else f"({self.text})"


def _is_atom(text: str) -> bool:
    """Whether it is a name or number, followed by any brackets and parentheses: ``x``, ``x[i + 1]``, ``f(x)``."""
    depth = 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if depth == 0 and not (char.isalnum() or char in "_.)]"):
            return False
    return True


def memory_type(dtype: np.dtype[Any]) -> str:
    """Type of an element in a global buffer; TypeError where OpenCL C has none."""
    if dtype.kind == "b":
        return "uchar"
    if dtype == HALF:
        return "half"
    try:
        return type_name(dtype)
    except KeyError:
        raise TypeError(f"dtype {dtype.name} has no OpenCL C counterpart here") from None


def local_type(dtype: np.dtype[Any]) -> str:
    return "float" if dtype == HALF else memory_type(dtype)


def value_type(dtype: np.dtype[Any], lanes: int = 1) -> str:
    return vector_name("int" if dtype.kind == "b" else local_type(dtype), lanes)


def vector_name(name: str, lanes: int) -> str:
    return name if lanes == 1 else f"{name}{lanes}"


def constant(literal: str, dtype: np.dtype[Any]) -> str:
    """Write a literal so that OpenCL C reads exactly that value of that type."""
    if dtype.kind == "b":
        return "1" if literal in ("True", "1") else "0"
    if dtype.kind == "f":
        value = float(literal)
        if math.isnan(value):
            return "NAN" if dtype.itemsize <= 4 else "((double)NAN)"
        if math.isinf(value):
            text = "INFINITY" if dtype.itemsize <= 4 else "((double)INFINITY)"
            return text if value > 0 else f"(-{text})"
        text = repr(value)
        text += "" if "." in text or "e" in text else ".0"
        text += "f" if dtype.itemsize <= 4 else ""
        return f"({text})" if value < 0 or literal.startswith("-") else text
    number = int(literal)
    if dtype.kind == "u":
        return f"{number}{'ul' if dtype.itemsize == 8 else 'u'}"
    if number == np.iinfo(dtype).min and dtype.itemsize >= 4:
        return f"({'(long)' if dtype.itemsize == 8 else ''}{number + 1}{'l' if dtype.itemsize == 8 else ''} - 1)"
    text = f"{number}{'l' if dtype.itemsize == 8 else ''}"
    return f"({text})" if number < 0 else text


def as_vector(value: Text, lanes: int) -> Text:
    """Broadcast a scalar to lanes; a boolean becomes a mask."""
    if value.lanes == lanes:
        return value
    kind = value_type(value.dtype, lanes)
    text = f"-{value.atom}" if value.dtype.kind == "b" else value.text
    return Text(f"({kind})({text})", value.dtype, lanes)


def convert(value: Text, dtype: np.dtype[Any]) -> Text:
    """Convert as ``ndarray.astype`` does on x86-64; float to uint64 names the value more than once."""
    if value.dtype == dtype:
        return value
    if value.dtype == HALF and value_type(dtype) == value_type(HALF):
        return Text(value.text, dtype, value.lanes)
    if dtype.kind == "b":
        zero = as_vector(Text(constant("0", value.dtype), value.dtype), value.lanes)
        return mask(f"{value.atom} != {zero.atom}", value.dtype, value.lanes)
    if value.dtype.kind == "b":
        return _cast(value if value.lanes == 1 else Text(f"-{value.atom}", value.dtype, value.lanes), dtype)
    if value.dtype.kind == "f" and dtype in _THROUGH:
        signed = _cast(value, _THROUGH[dtype])
        if dtype.itemsize < 8:
            return _cast(signed, dtype)
        return _to_ulong(value, signed, dtype)
    return _cast(value, dtype)


def _to_ulong(value: Text, signed: Text, dtype: np.dtype[Any]) -> Text:
    """Half of the range is added again where it does not fit into a long."""
    half = as_vector(Text(constant(repr(2.0**63), value.dtype), value.dtype), value.lanes)
    bit = as_vector(Text(constant(str(2**63), dtype), dtype), value.lanes)
    large = mask(f"{value.atom} >= {half.atom}", value.dtype, value.lanes)
    rest = _cast(_cast(Text(f"{value.atom} - {half.atom}", value.dtype, value.lanes), signed.dtype), dtype)
    return select(large, Text(f"{rest.atom} ^ {bit.atom}", dtype, value.lanes), _cast(signed, dtype))


def _cast(value: Text, dtype: np.dtype[Any]) -> Text:
    target = value_type(dtype, value.lanes)
    text = f"({target}){value.atom}" if value.lanes == 1 else f"convert_{target}({value.text})"
    return Text(text, dtype, value.lanes)


def mask(comparison: str, dtype: np.dtype[Any], lanes: int) -> Text:
    """Make the result of comparing values of `dtype` a boolean: of lanes it becomes a mask of ints."""
    text = comparison if lanes == 1 or dtype.itemsize == 4 else f"convert_int{lanes}({comparison})"
    return Text(text, BOOL, lanes)


def select(condition: Text, left: Text, right: Text) -> Text:
    """``condition ? left : right``, lane by lane."""
    lanes = max(condition.lanes, left.lanes, right.lanes)
    left, right = (as_vector(v, lanes) for v in (left, right))
    size = 4 if left.dtype.kind == "b" or condition.lanes == 1 else left.dtype.itemsize
    kind = memory_type(np.dtype(f"i{size}"))
    test = condition.atom if size == 4 else f"convert_{kind}{lanes}({condition.text})"
    return Text(f"{test} ? {left.atom} : {right.atom}", left.dtype, lanes)
