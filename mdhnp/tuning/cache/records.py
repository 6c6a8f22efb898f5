"""What the tuning cache holds: keys, entries and measurements, and these as JSON. Knows no file and no database.

What is read may come from anywhere: what passes has the right types and ranges throughout.
"""

import json
import math
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from mdhnp.schedule import Schedule
from mdhnp.schedule.check import check_fields

#: Seconds of a whole call, by the name of the plan that makes it.
Times = dict[str, float]
Source = Literal["tuned", "imported", "shipped"]
Status = Literal["ok", "slow", "build", "wrong", "hang", "crash", "illegal"]

_MESSAGE = 4000  # characters kept of a measurement's message
_OBJECTIVE = 80  # that an objective's name may have: all of them tell which it is


@dataclass(frozen=True)
class Key:
    """What a schedule was tuned for."""

    #: Hash of the canonical MDH without its extents: operators, scalar function, access pattern, dtypes, stride class.
    family: str
    #: Of the canonical MDH.
    extents: tuple[int, ...]
    #: Fingerprint of the canonical MDH with its extents and strides.
    exact: str
    #: ``Device.identity``: name, driver and runtime.
    device: str
    #: Version of the code generator.
    generator: str


@dataclass(frozen=True)
class BestSchedule:
    """The best schedule found for a key. ValueError if a field is out of range or too long, `tuned_at` is no date."""

    #: For the canonical MDH.
    schedule: Schedule
    #: Median time of the kernel.
    seconds: float
    #: Schedules measured until this one was chosen.
    evaluations: int
    #: Date and time in ISO 8601. Given in any time zone (UTC if none is named), kept as ``2026-01-31T12:00:00Z``.
    tuned_at: str
    #: The MDH in printed notation, for humans.
    mdh: str
    #: Who measured: this user, someone whose wisdom was imported, or those who made the package.
    source: Source = "tuned"
    #: What sizes near to this one take, where it was tuned together with others: a schedule of these extents that is
    #: moved to theirs, or their default one.
    near: Schedule | Literal["default"] | None = None
    #: Of what it is the best: of the time, or of another objective that the user has named.
    objective: str = "time"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise ValueError(f"seconds: {self.seconds} is no positive number")
        if self.evaluations < 0:
            raise ValueError(f"evaluations: {self.evaluations} is negative")
        if self.source not in get_args(Source):
            raise ValueError(f"source: {self.source!r} is none of {', '.join(get_args(Source))}")
        when = datetime.fromisoformat(self.tuned_at)
        try:
            when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        except OverflowError as error:
            raise ValueError(f"tuned_at: {self.tuned_at} is in no year of the calendar") from error
        object.__setattr__(self, "tuned_at", when.strftime("%Y-%m-%dT%H:%M:%SZ"))
        object.__setattr__(self, "mdh", printable(self.mdh))
        object.__setattr__(self, "objective", printable(self.objective))
        if len(self.objective) > _OBJECTIVE:
            raise ValueError(f"objective: has more than {_OBJECTIVE} characters: {self.objective:.{_OBJECTIVE}}")

    def fields(self) -> dict[str, Any]:
        usual = {"near": None, "objective": "time"}
        return {name: each for name, each in asdict(self).items() if name not in usual or each != usual[name]}


@dataclass(frozen=True)
class Verdict:
    """Which plan of a computation contests found to be the fastest, and how sure that is."""

    #: Its name, as in :data:`Times`.
    plan: str
    #: How many times as long the best other plan took.
    margin: float
    #: How many times as long calls of one plan took in its slower quarter as in its faster one, of both the worse.
    noise: float
    #: Processes in a row that found the same, by more than the noise.
    processes: int

    def fields(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Measurement:
    """One candidate of a search and what became of it."""

    schedule: Schedule
    #: Median time of the kernel; None where it never ran to its end.
    seconds: float | None
    #: Measured; cut off as clearly slower than the best; or how it failed.
    status: Status
    #: The error's text. The cache keeps its first 4000 characters.
    message: str = ""

    def fields(self) -> dict[str, Any]:
        return asdict(self) | {"message": printable(self.message[:_MESSAGE], "\n\t")}


def read_key(fields: Any) -> Key:
    """Read a key; ValueError names the field that is wrong."""
    found = _read(fields, "key", family=str, extents=list, exact=str, device=str, generator=str)
    if not all(type(n) is int and n >= 1 for n in found["extents"]):
        raise ValueError("key: extents: not all are integers of at least 1")
    return Key(**found | {"extents": tuple(found["extents"])})


def read_entry(fields: Any) -> BestSchedule:
    """Read an entry; ValueError names the field that is wrong."""
    found = _read(fields, "", seconds=float, evaluations=int, tuned_at=str, mdh=str, source=str)
    near = fields.get("near")
    if near is not None and near != "default":
        near = read_schedule(json.dumps(near))
    schedule, objective = read_schedule(json.dumps(fields.get("schedule"))), fields.get("objective", "time")
    return BestSchedule(schedule=schedule, near=near, objective=expect(objective, str, "objective"), **found)


def read_measurement(fields: Any) -> Measurement:
    """Read a measurement; ValueError names the field that is wrong."""
    found = _read(fields, "", status=str, message=str)
    seconds = None if fields.get("seconds") is None else expect(fields["seconds"], float, "seconds")
    return Measurement(read_schedule(json.dumps(fields.get("schedule"))), seconds, **found)


def read_verdict(fields: Any) -> Verdict:
    """Read a verdict; ValueError names the field that is wrong."""
    return Verdict(**_read(fields, "", plan=str, margin=float, noise=float, processes=int))


def _read(fields: Any, record: str, **kinds: type) -> dict[str, Any]:
    """Give a record's fields, by name, each of the type that is named."""
    expect(fields, dict, record or "it")
    names = {name: f"{record}: {name}" if record else name for name in kinds}
    return {name: expect(fields.get(name), kind, names[name]) for name, kind in kinds.items()}


def expect(value: Any, kind: type, name: str) -> Any:
    """Give a value of JSON that is to be of a type; ValueError where it is not, or a number too large for a float."""
    if kind is float and type(value) is int and value.bit_length() < sys.float_info.max_exp:
        value = float(value)
    if type(value) is not kind:
        found = "missing" if value is None else f"{value!r:.40}"
        raise ValueError(f"{name}: not {_KINDS[kind]}: {found}")
    return value


_KINDS = {dict: "an object", list: "a list", str: "a text", int: "an integer", float: "a number"}


def read_schedule(text: str) -> Schedule:
    """Read a schedule, of which nothing but sizes and orders reaches generated code; else ValueError.

    Whether it is legal for an MDH and a device is for :func:`mdhnp.schedule.check` to say.
    """
    try:
        schedule = Schedule.from_json(text)
        check_fields(schedule)
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"schedule: {error}") from error
    return schedule


def printable(text: str, kept: str = "") -> str:
    """Write as escapes what is no text, or steers a terminal, but what is `kept`: files may hold anything."""
    if text.isprintable():
        return text
    return "".join([c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text])
