"""What the tuning cache holds: keys, entries and measurements, and these as JSON. Knows no file and no database.

What is read may come from anywhere: what passes has the right types and ranges throughout.
"""

import json
import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from mdhnp.schedule import Schedule

__all__ = [
    "Entry", "Key", "Measurement", "Source", "Status", "Times", "expect", "read_entry", "read_key", "read_measurement",
    "read_schedule",
]  # fmt: skip

_MESSAGE = 4000  # characters kept of a measurement's message

#: Seconds of a whole call, by the name of the plan that makes it.
Times = dict[str, float]
Source = Literal["tuned", "imported", "shipped"]
Status = Literal["ok", "slow", "build", "wrong", "hang", "crash", "illegal"]


@dataclass(frozen=True)
class Key:
    """What a schedule was tuned for.

    Attributes
    ----------
    family : str
        Hash of the canonical MDH without its extents: operators, scalar function, access pattern, dtypes, stride class.
    extents : tuple of int
        Of the canonical MDH.
    exact : str
        Fingerprint of the canonical MDH with its extents and strides.
    device : str
        ``Device.identity``: name, driver and runtime.
    generator : str
        Version of the code generator.

    Examples
    --------
    >>> Key("matmul", (64, 64, 64), "1f3a", "intel|Xeon|2025.1", "1").extents
    (64, 64, 64)
    """

    family: str
    extents: tuple[int, ...]
    exact: str
    device: str
    generator: str


@dataclass(frozen=True)
class Entry:
    """The best schedule found for a key.

    Attributes
    ----------
    schedule : Schedule
        For the canonical MDH.
    seconds : float
        Median time of the kernel.
    evaluations : int
        Schedules measured until this one was chosen.
    tuned_at : str
        Date and time in ISO 8601. Given in any time zone (UTC if none is named), kept as ``2026-01-31T12:00:00Z``.
    mdh : str
        The MDH in printed notation, for humans.
    source : {"tuned", "imported", "shipped"}
        Who measured: this user, someone whose wisdom was imported, or those who made the package.

    Raises
    ------
    ValueError
        If a field is out of range or `tuned_at` is no date.
    """

    schedule: Schedule
    seconds: float
    evaluations: int
    tuned_at: str
    mdh: str
    source: Source = "tuned"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise ValueError(f"seconds: {self.seconds} is no positive number")
        if self.evaluations < 0:
            raise ValueError(f"evaluations: {self.evaluations} is negative")
        if self.source not in get_args(Source):
            raise ValueError(f"source: {self.source!r} is none of {', '.join(get_args(Source))}")
        object.__setattr__(self, "tuned_at", _utc(self.tuned_at))

    def fields(self) -> dict[str, Any]:
        """Give what :func:`read_entry` reads."""
        return {
            "mdh": _text(self.mdh),
            "seconds": float(self.seconds),
            "evaluations": int(self.evaluations),
            "tuned_at": self.tuned_at,
            "source": self.source,
            "schedule": asdict(self.schedule),
        }


@dataclass(frozen=True)
class Measurement:
    """One candidate of a search and what became of it.

    Attributes
    ----------
    schedule : Schedule
        The candidate.
    seconds : float or None
        Median time of the kernel; None where it never ran to its end.
    status : {"ok", "slow", "build", "wrong", "hang", "crash", "illegal"}
        Measured; cut off as clearly slower than the best; or how it failed.
    message : str
        The error's text. The cache keeps its first 4000 characters.
    """

    schedule: Schedule
    seconds: float | None
    status: Status
    message: str = ""

    def fields(self) -> dict[str, Any]:
        """Give what :func:`read_measurement` reads."""
        seconds = None if self.seconds is None else float(self.seconds)
        message = _text(self.message[:_MESSAGE])
        return {"seconds": seconds, "status": self.status, "message": message, "schedule": asdict(self.schedule)}


def read_key(fields: Any) -> Key:
    """Read a key from the fields it has; ValueError names the one that is wrong."""
    expect(fields, dict, "key")
    for name in ("family", "exact", "device", "generator"):
        expect(fields.get(name), str, f"key: {name}")
    expect(fields.get("extents"), list, "key: extents")
    if not all(type(n) is int and n >= 1 for n in fields["extents"]):
        raise ValueError("key: extents: not all are integers of at least 1")
    return Key(fields["family"], tuple(fields["extents"]), fields["exact"], fields["device"], fields["generator"])


def read_entry(fields: Any) -> Entry:
    """Read an entry from :meth:`Entry.fields`; ValueError names the one that is wrong."""
    expect(fields, dict, "it")
    for name, kind in (("mdh", str), ("evaluations", int), ("tuned_at", str), ("source", str)):
        expect(fields.get(name), kind, name)
    if type(seconds := fields.get("seconds")) is int:
        seconds = float(seconds)
    expect(seconds, float, "seconds")
    schedule = read_schedule(json.dumps(fields.get("schedule")))
    return Entry(schedule, seconds, fields["evaluations"], fields["tuned_at"], fields["mdh"], fields["source"])


def read_measurement(fields: Any) -> Measurement:
    """Read a measurement from :meth:`Measurement.fields`; ValueError names the one that is wrong."""
    expect(fields, dict, "it")
    for name in ("status", "message"):
        expect(fields.get(name), str, name)
    if (seconds := fields.get("seconds")) is not None:
        expect(seconds, float, "seconds")
    schedule = read_schedule(json.dumps(fields.get("schedule")))
    return Measurement(schedule, seconds, fields["status"], fields["message"])


def expect(value: Any, kind: type, name: str) -> None:
    """Raise ValueError where a value is not of a type that JSON has."""
    if type(value) is not kind:
        found = "missing" if value is None else f"{value!r:.40}"
        raise ValueError(f"{name}: not {_KINDS[kind]}: {found}")


_KINDS = {dict: "an object", list: "a list", str: "a text", int: "an integer", float: "a number"}


@lru_cache(maxsize=4096)
def read_schedule(text: str) -> Schedule:
    """Read a schedule, of which nothing but sizes and orders reaches generated code.

    Stricter than :meth:`Schedule.from_json`. Whether it is legal for an MDH and a device is for
    :func:`mdhnp.schedule.check` to say.

    Raises
    ------
    ValueError
        If the text is no schedule, with the field that is wrong.

    Examples
    --------
    >>> read_schedule(Schedule.plain((4, 5), 1).to_json()).num_wg
    (1, 1)
    """
    try:
        schedule = Schedule.from_json(text)
        _check_fields(schedule)
    except RecursionError as error:
        raise ValueError("schedule: nested too deeply") from error
    return schedule


_SIZES = ("num_wg", "num_wi", "local_tile", "private_tile")
_LARGEST = 1 << 62  # so that NumPy's integers hold it
_ORDERS = ("global_order", "local_order", "private_order", "group_order", "item_order")


def _check_fields(s: Schedule) -> None:
    _require(isinstance(s.num_wg, tuple), "num_wg", "is not one integer a dimension")
    rank = len(s.num_wg)
    for name in _SIZES + _ORDERS:
        values = getattr(s, name)
        _require(_all_of(int, values) and len(values) == rank, name, "is not one integer a dimension")
    for name in _SIZES:
        _require(all(1 <= v < _LARGEST for v in getattr(s, name)), name, "is not of sizes of at least 1")
    for name in _ORDERS:
        _require(_is_order(getattr(s, name), rank), name, "is no order of the dimensions")
    _require(_all_of(int, (s.vector_dim, s.vector_width)), "vector_dim, vector_width", "are not integers")
    _require(-1 <= s.vector_dim < rank, "vector_dim", "is no dimension")
    _require(type(s.streamed) is int and -1 <= s.streamed < rank, "streamed", "is no dimension")
    _require(1 <= s.vector_width < _LARGEST, "vector_width", "is not at least 1")
    _require(_all_of(bool, s.private_copies), "private_copies", "are not true or false")
    _require(len(s.local_copies) == len(s.private_copies), "local_copies", "are not as many as private_copies")
    for copy in s.local_copies:
        if copy is not None:
            _require(_all_of(int, (*copy.order, *copy.blocked, copy.pad)), "local_copies", "are not made of integers")
            _require(0 <= copy.pad < _LARGEST, "local_copies", "have rows with fewer than no elements between them")
            _require(_is_order(copy.order, len(copy.order)), "local_copies", "have an order that is none of axes")
            blocked = set(copy.blocked)
            fits = len(blocked) == len(copy.blocked) and blocked <= set(copy.order)
            _require(fits, "local_copies", "block an axis twice, or one there is not")
    _require(s.results in ("private", "local", "global"), "results", f"cannot be {s.results!r}")
    _require(s.combine_on in ("global", "local"), "combine_on", f"cannot be {s.combine_on!r}")
    for name in ("stages", "combine_every"):
        number = getattr(s, name)
        _require(type(number) is int and 1 <= number < _LARGEST, name, "is no number from 1 on")
    _require(isinstance(s.atom, str), "atom", "is no name")
    _require(_all_of(int, s.atom_dims), "atom_dims", "are not integers")
    for each in (*s.steps, *([] if s.second is None else [s.second])):
        _check_fields(each)


def _is_order(values: tuple[int, ...], count: int) -> bool:
    return sorted(values) == list(range(count))


def _all_of(kind: type, values: object) -> bool:
    return isinstance(values, tuple) and all(type(v) is kind for v in values)


def _require(holds: bool, field: str, problem: str) -> None:
    if not holds:
        raise ValueError(f"schedule: {field} {problem}")


def _utc(text: str) -> str:
    if len(text) == 20 and text[-1] == "Z" and text[10] == "T":
        datetime.fromisoformat(text)
        return text
    when = datetime.fromisoformat(text)
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(text: str) -> str:
    """Replace what is no text: a compiler's output may hold anything."""
    return text.encode("utf-8", "replace").decode()
