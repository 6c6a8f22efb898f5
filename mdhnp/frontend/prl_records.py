"""Records for linkage: from columns of values to codes that are equal where the values are, and chance probabilities.

Takes structured arrays or columns by name; gives int32 codes, one row a field. All work is linear in the number of
records. Knows nothing of weights or MDHs.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import Array
from mdhnp.cost import Core

_KINDS = {"U": "text", "T": "text", "S": "bytes", "M": "dates", "m": "durations"} | dict.fromkeys("biufc", "numbers")
#: The code of missing values.
MISSING = 0


class Fields(NamedTuple):
    """Encoded records."""

    #: Codes, (fields, records): equal where the values are, 0 where they are missing.
    new: npt.NDArray[np.int32]
    existing: npt.NDArray[np.int32]
    #: Chance probability u of each new record's value, (fields, new records).
    chance: npt.NDArray[np.float64]


def probability(value: Any, argument: str) -> float:
    """Check that a value is a probability strictly between 0 and 1."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{argument}: {value!r} is no probability") from None
    if not 0 < number < 1:
        raise ValueError(f"{argument}: {value!r} is not between 0 and 1 (exclusive)")
    return number


def column_names(records: Any, argument: str) -> tuple[str, ...]:
    """Give the names of the columns of a structured array, or of anything with ``keys()``."""
    if isinstance(records, np.ndarray):
        if records.dtype.names is None:
            raise TypeError(f"{argument}: an array without named fields; give a structured array or a dict")
        return records.dtype.names
    if not hasattr(records, "keys"):
        raise TypeError(f"{argument}: {type(records).__name__} has no named columns; give a structured array or a dict")
    return tuple(records.keys())


def columns(records: Any, fields: Sequence[str], argument: str) -> list[npt.NDArray[Any]]:
    """Give the columns of the given fields, all of one length; masks are kept."""
    names = column_names(records, argument)
    for field in fields:
        if field not in names:
            raise KeyError(f"{argument}: has no column {field!r}")
    found = [_column(records[field]) for field in fields]
    for field, column in zip(fields, found, strict=True):
        if column.ndim != 1:
            raise ValueError(f"{argument}: column {field!r} has {column.ndim} axes, one is needed")
        if len(column) != len(found[0]):
            raise ValueError(
                f"{argument}: column {field!r} has {len(column)} records, {fields[0]!r} has {len(found[0])}"
            )
        if column.dtype.kind not in _KINDS and column.dtype.kind != "O":
            raise TypeError(f"{argument}: column {field!r} has dtype {column.dtype}, which cannot be compared")
    return found


def _column(values: Any) -> npt.NDArray[Any]:
    """Make a column an array; text beside other values stays what it is, where NumPy would make all of it text."""
    if isinstance(values, Array):
        helps = "not inside of mdhnp.fuse" if values.device.passing else "give an Array's elements by .numpy()"
        raise TypeError(f"columns are compared on the host first; {helps}")
    column = np.asanyarray(values)
    mixed = column.dtype.kind in "US" and isinstance(values, list | tuple) and len(set(map(type, values))) > 1
    return np.array(values, object) if mixed else column


def encode(
    new: Sequence[npt.NDArray[Any]],
    existing: Sequence[npt.NDArray[Any]],
    fields: Sequence[str],
    u: Mapping[str, float | Mapping[Any, float]],
    default_u: Mapping[str, float],
    missing: Callable[[Any], bool] | Collection[Any] | None,
) -> Fields:
    """Encode both sides' columns, field by field."""
    is_missing = _missing_test(missing)
    first, other = len(new[0]), len(existing[0])
    encoded = Fields(
        rows(len(fields), first, np.int32), rows(len(fields), other, np.int32), np.empty((len(fields), first))
    )
    for f, field in enumerate(fields):
        left, right = _comparable(new[f], existing[f], field)
        known: dict[Any, int] = defaultdict(count(1).__next__)
        codes = _codes(left, known), _codes(right, known)
        merged = np.arange(len(known) + 1, dtype=np.int32)
        for value, code in known.items():
            if is_missing(value):
                merged[code] = MISSING
        for row, found, column in ((encoded.new[f], codes[0], new[f]), (encoded.existing[f], codes[1], existing[f])):
            row[:] = np.where(np.ma.getmaskarray(column), MISSING, merged[found])
        chance, given = np.full(len(merged), 0.5), u.get(field)
        if other:  # relative frequencies, kept off 0 and 1 by as much as one more record could move them
            shares = np.bincount(encoded.existing[f], minlength=len(merged)) / other
            chance = np.clip(shares, 1 / (other + 1), other / (other + 1))
        if field in default_u:
            chance[slice(None) if isinstance(given, Mapping) else MISSING] = default_u[field]
        if isinstance(given, Mapping):
            for value, number in given.items():
                number = probability(number, f"u[{field!r}][{value!r}]")
                own = known.get(value.item() if isinstance(value, np.generic) else value)
                if is_missing(value):
                    chance[MISSING] = number
                elif own is not None:
                    chance[merged[own]] = number
        elif given is not None:
            chance[1:] = probability(given, f"u[{field!r}]")
        encoded.chance[f] = chance[encoded.new[f]]
    return encoded


def rows(fields: int, records: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Make an uninitialised array, (fields, records), of rows an odd number of cache lines apart.

    A power of two apart, all fields of a record would lie in the same set of a cache, which keeps 8 or 12 lines.
    """
    line = Core.line // np.dtype(dtype).itemsize
    return np.empty((fields, (-(-records // line) | 1) * line), dtype)[:, :records]


def _comparable(
    left: npt.NDArray[Any], right: npt.NDArray[Any], field: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Give both sides types whose values can be equal."""
    kinds = [_KINDS.get(column.dtype.kind) for column in (left, right)]
    if None in kinds or 0 in (len(left), len(right)):
        return left, right
    if kinds[0] != kinds[1]:
        raise ValueError(f"fields: {field!r} holds {kinds[0]} in new and {kinds[1]} in existing, which never agree")
    if kinds[0] in ("dates", "durations"):
        common = np.result_type(left, right)
        return left.astype(common), right.astype(common)
    return left, right


def _codes(column: npt.NDArray[Any], known: dict[Any, int]) -> npt.NDArray[np.int32]:
    """Give values their codes, and those that are not known the next ones."""
    values = np.asarray(column).tolist()
    return np.fromiter(map(known.__getitem__, values), np.int32, len(values))


def _missing_test(extra: Callable[[Any], bool] | Collection[Any] | None) -> Callable[[Any], bool]:
    if extra is None:
        return _is_empty
    test = extra if callable(extra) else ((extra,) if isinstance(extra, str | bytes) else extra).__contains__
    return lambda value: _is_empty(value) or bool(test(value))


def _is_empty(value: Any) -> bool:
    """Recognise None, empty text, NaN, NaT, and what has no truth when compared (pandas.NA)."""
    if value is None or (isinstance(value, str | bytes) and not value):
        return True
    try:
        return bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True
