"""The tuning cache: for every computation, extents and device the best schedule, calls' times, and all measurements.

Takes and gives the records of `records.py`; it must not know how schedules are found or used. All is in
one SQLite file in :func:`mdhnp.runtime.private.tuning_file`, by Python's own ``sqlite3``: many processes may use it at
once, a killed one leaves it whole, any SQLite shell can look into it, and nothing need be installed. (diskcache keeps
pickles, which cannot be searched for the nearest extents and run code when they are read; a folder of JSON files has no
transactions; dbm is safe for one process only.)
"""

import json
import math
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from mdhnp.errors import warn
from mdhnp.runtime.private import tuning_file
from mdhnp.tuning.cache.database import Database
from mdhnp.tuning.cache.records import (
    BestSchedule,
    Key,
    Measurement,
    Times,
    Verdict,
    read_entry,
    read_measurement,
    read_verdict,
)
from mdhnp.tuning.cache.wisdom import read_wisdom, shipped_entries, wisdom_of, write_whole
from mdhnp.tuning.processes import ProcessIdentity

T = TypeVar("T")

#: What a record holds: seconds of a plan's "time"; else JSON: an entry, one of a key's measurements, who has a claim,
#: which plan contests beside a version of NumPy found to be the fastest, and what was measured of a machine, which is a
#: device beside such a version.
Kind = Literal["entry", "measurement", "time", "claim", "verdict", "machine"]
#: A record: the columns of its key, its name, its content.
Row = tuple[Any, ...]

_KEY = "family, extents, exact, device, generator"
_IS_KEY = "family = ? AND extents = ? AND exact = ? AND device = ? AND generator = ?"
_ALL = "1"

_STALE = 60.0  # seconds without renewal after which a claim no longer counts

_caches: "dict[Path, TuningCache]" = {}


def cache() -> "TuningCache":
    """Give this process's tuning cache for the current cache folder."""
    path = tuning_file()
    found = _caches.get(path)
    return found if found is not None else _caches.setdefault(path, TuningCache(path))


class TuningCache:
    """Tuned entries, measurements and claims in one file, for all threads and processes of a user.

    No method fails because of the file: see `database.py`. Nothing is created before the first write.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._database = Database(Path(path))

    @property
    def path(self) -> Path:
        return self._database.path

    @property
    def trouble(self) -> str | None:
        """Why the cache is in memory and ends with the process; None while it is in the file."""
        return self._database.trouble

    def get(self, key: Key) -> BestSchedule | None:
        """Give the entry of exactly this key: the user's own, else one that came with the package."""
        entry = self._database.read(lambda db: _one(db, "entry", key, read_entry))
        return entry if entry is not None else shipped_entries().get(key)

    def nearest(self, key: Key, limit: int | None = 3) -> list[tuple[Key, BestSchedule]]:
        """Give entries of the same family, device and generator: the key's own first, then those of similar extents.

        They are ordered by :func:`distance`.
        """
        group = (key.family, key.device, key.generator)
        condition = "family = ? AND device = ? AND generator = ?"
        shipped = {k: entry for k, entry in shipped_entries().items() if (k.family, k.device, k.generator) == group}
        own = self._read("entry", condition, group)
        found = shipped | {k: row for row in own if (k := _key(row)) is not None}
        comparable = [k for k in found if len(k.extents) == len(key.extents)]
        comparable.sort(key=lambda k: (k != key, distance(k.extents, key.extents), k.exact))
        entries = ((k, e if isinstance(e := found[k], BestSchedule) else _content(e, read_entry)) for k in comparable)
        return list(islice(((k, e) for k, e in entries if e is not None), limit))

    def put(self, key: Key, entry: BestSchedule) -> None:
        """Keep an entry in place of any other: who puts it has compared both by turns.

        Seconds of two entries are none of one moment, and say nothing of which is faster.
        """
        self._database.write(lambda db: _set(db, "entry", key, json.dumps(entry.fields())))

    def record(self, key: Key, measurement: Measurement) -> None:
        self._database.write(lambda db: _set(db, "measurement", key, json.dumps(measurement.fields()), None))

    def measurements(self, key: Key) -> list[Measurement]:
        """Give all that was measured for a key, in order, for a search to resume from."""
        found = self._read("measurement", _IS_KEY, _columns(key))
        return [m for row in found if (m := _content(row, read_measurement)) is not None]

    def entries(self) -> list[tuple[Key, BestSchedule]]:
        """Give the user's own entries, oldest key first."""
        found = [(_key(row), _content(row, read_entry)) for row in self._read("entry", _ALL)]
        return [(key, entry) for key, entry in found if key is not None and entry is not None]

    def clear(self, key: Key | None = None) -> int:
        """Forget the entry, measurements and times of one key, or all, with what was measured of machines.

        Gives how many entries were forgotten.
        """
        condition, values = (_ALL, ()) if key is None else (_IS_KEY, _columns(key))

        def work(db: sqlite3.Connection) -> int:
            count = len(_select(db, "entry", condition, values))
            db.execute(f"DELETE FROM records WHERE kind != 'claim' AND {condition}", values)
            return count

        return self._database.write(work)

    def verify(self, generator: str | None = None) -> list[str]:
        """Say what is wrong with the file and its records, without changing anything.

        With a generator's version, entries of others, which will not be found, count as problems.
        """
        problems = self._database.problems()
        if problems and self.trouble is None:
            return problems  # reading its rows would set the file aside

        for row in self._read("entry", _ALL):
            if _key(row) is None or _content(row, read_entry) is None:
                problems.append(f"entry of {_describe(row)}: cannot be read")
            elif generator is not None and row[4] != generator:
                problems.append(f"entry of {_describe(row)}: of generator version {row[4]}, not {generator}")
        for row in self._read("measurement", _ALL):
            if _content(row, read_measurement) is None:
                problems.append(f"measurement of {_describe(row)}: cannot be read")
        return problems

    def claim(self, key: Key, owner: str | None = None) -> str | None:
        """Ask to be the only one who tunes a key, among all threads and processes; never waits for the holder.

        Gives the owner's name, for :meth:`release`: the one given, different for each search of this process, or one
        made up; None while another holds the key. A claim ends with :meth:`release`, with its process, or 60 s after
        the last call of this method with the same owner: who was killed or stopped, and a machine that went away, keep
        nobody from tuning for longer.
        """
        name = owner or os.urandom(8).hex()

        def work(db: sqlite3.Connection) -> str | None:
            me, now, claim = ProcessIdentity.current(), time.time(), _one(db, "claim", key, _read_claim)
            if claim is not None and claim[:2] != (name, me):
                is_fresh = abs(now - claim[2]) <= _STALE  # clocks may have been set back
                if is_fresh and not claim[1].is_dead():
                    return None
            _set(db, "claim", key, json.dumps([name, me, now]))
            return name

        return self._database.write(work)

    def release(self, key: Key, owner: str) -> None:
        """Give up the claim that an owner in this process has of a key."""

        def work(db: sqlite3.Connection) -> None:
            claim = _one(db, "claim", key, _read_claim)
            if claim is not None and claim[:2] == (owner, ProcessIdentity.current()):
                db.execute(f"DELETE FROM records WHERE kind = 'claim' AND {_IS_KEY}", _columns(key))

        self._database.write(work)

    def machine(self, device: str) -> dict[str, Any]:
        """Give what :meth:`set_machine` kept of a device and this NumPy; nothing where that is damaged."""
        found = self._read("machine", "device = ? AND name = ?", (device, np.__version__))
        return dict((_content(found[0], dict) if found else None) or {})

    def set_machine(self, device: str, numbers: Mapping[str, Any]) -> None:
        key = Key("", (), "", device, "")
        self._database.write(lambda db: _set(db, "machine", key, json.dumps(numbers), np.__version__))

    def times(self, device: str | None = None) -> dict[Key, Times]:
        """Give the seconds that whole calls were measured to take, by plan: of one device, or all."""
        found: dict[Key, Times] = {}
        for row in self._read("time", _ALL) if device is None else self._read("time", "device = ?", (device,)):
            key, (plan, seconds) = _key(row), row[5:]
            is_time = isinstance(seconds, float) and 0.0 < seconds < math.inf
            if key is not None and isinstance(plan, str) and is_time:
                found.setdefault(key, {})[plan] = seconds
        return found

    def set_times(self, key: Key, times: Times) -> None:
        self._database.write(lambda db: _set_times(db, key, times))

    def verdicts(self, device: str) -> dict[Key, Verdict]:
        """Give what contests beside this NumPy found on a device."""
        rows = self._read("verdict", "device = ? AND name = ?", (device, np.__version__))
        found = [(_key(row), _content(row, read_verdict)) for row in rows]
        return {key: verdict for key, verdict in found if key is not None and verdict is not None}

    def set_verdict(self, key: Key, verdict: Verdict) -> None:
        self._database.write(lambda db: _set(db, "verdict", key, json.dumps(verdict.fields()), np.__version__))

    def wisdom(self) -> str:
        """Give the user's own entries and calls' times as JSON."""
        return wisdom_of(self.entries(), self.times())

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the user's own entries and calls' times to a JSON file; give how many entries."""
        write_whole(Path(path), self.wisdom())
        return len(self.entries())

    def import_(self, path: str | os.PathLike[str]) -> int:
        """Add what :meth:`export` wrote, as :meth:`learn` does; OSError if it cannot be read.

        Of entries that were tuned for something else than the time, and may be slow, there is a RuntimeWarning.
        """
        text = Path(path).read_bytes().decode("utf-8", "replace")
        count = self.learn(text, str(path))
        if others := sorted({entry.objective for _, entry in read_wisdom(text, str(path))[0]} - {"time"}):
            warn(f"{path}: some of its entries were tuned for {', '.join(others)}, and may be slow")
        return count

    def learn(self, wisdom: str, name: str) -> int:
        """Add entries and times of a JSON text where the user has none that were measured here.

        Gives how many entries were added. ValueError if anything in the text is wrong, which it calls by the name, with
        what and where; then nothing is added.
        """
        (found, times), shipped = read_wisdom(wisdom, name), shipped_entries()

        def work(db: sqlite3.Connection) -> int:
            added = 0
            for key, entry in found:
                old = _one(db, "entry", key, read_entry)
                if old is None:  # what may be slow is not to hide what came with the package
                    is_better = entry.objective == "time" or key not in shipped
                elif old.objective == entry.objective:
                    is_better = old.source != "tuned" and entry.seconds < old.seconds
                else:
                    is_better = old.source != "tuned" and entry.objective == "time"
                if is_better:
                    _set(db, "entry", key, json.dumps(entry.fields() | {"source": "imported"}))
                    added += 1
            for key, plans in times.items():
                if not _select(db, "time", _IS_KEY, _columns(key)):
                    _set_times(db, key, plans)
            return added

        return self._database.write(work)

    def close(self) -> None:
        self._database.close()

    def _read(self, kind: Kind, condition: str, values: Row = ()) -> list[Row]:
        return self._database.read(lambda db: _select(db, kind, condition, values)) or []


def _select(db: sqlite3.Connection, kind: Kind, condition: str, values: Row) -> list[Row]:
    query = f"SELECT {_KEY}, name, content FROM records WHERE kind = ? AND {condition} ORDER BY id"
    return db.execute(query, (kind, *values)).fetchall()


def _set(db: sqlite3.Connection, kind: Kind, key: Key, content: str | float, name: str | None = "") -> None:
    """Put a record in the place of the one of this kind, key and name; those without a name are all kept."""
    db.execute(
        f"INSERT INTO records (kind, {_KEY}, name, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (kind, {_KEY}, name) DO UPDATE SET content = excluded.content",
        (kind, *_columns(key), name, content),
    )


def _set_times(db: sqlite3.Connection, key: Key, times: Mapping[str, float]) -> None:
    for plan, seconds in times.items():
        _set(db, "time", key, float(seconds), plan)


def _one(db: sqlite3.Connection, kind: Kind, key: Key, read: Callable[[Any], T]) -> T | None:
    found = _select(db, kind, _IS_KEY, _columns(key))
    return _content(found[0], read) if found else None


def _read_claim(content: Any) -> tuple[str, ProcessIdentity, float]:
    """Give the owner, its process, and when it last renewed its claim."""
    owner, (host, pid, started), renewed = content
    return owner, ProcessIdentity(host, int(pid), started), float(renewed)


def _columns(key: Key) -> Row:
    return key.family, json.dumps(key.extents, separators=(",", ":")), key.exact, key.device, key.generator


def _key(row: Row) -> Key | None:
    try:
        return Key(row[0], tuple(map(int, json.loads(row[1]))), *row[2:5])
    except (OverflowError, TypeError, ValueError):
        return None


def _content(row: Row, read: Callable[[Any], T]) -> T | None:
    """Read JSON; what cannot be read, of a tampered file or of another version, counts as absent."""
    try:
        return _parsed(row[6], read)
    except (OverflowError, TypeError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=4096)
def _parsed(text: str, read: Callable[[Any], T]) -> T:
    return read(json.loads(text))


def _describe(row: Row) -> str:
    return f"family {row[0]}, extents {row[1]}, device {row[3]}"


def distance(a: Sequence[int], b: Sequence[int]) -> float:
    """Give how far extents are from others: the sum of ``|log(extent ratio)|`` over the dimensions."""
    return sum(abs(math.log(max(m, 1) / max(n, 1))) for m, n in zip(a, b, strict=True))
