"""The tuning cache: for every computation, extents and device the best schedule, calls' times, and all measurements.

Takes and gives the records of `records.py`; it must not know how schedules are found or used. All is in
one SQLite file in :func:`mdhnp.runtime.paths.data_folder`, by Python's own ``sqlite3``: many processes may use it at
once, a killed one leaves it whole, any SQLite shell can look into it, and nothing need be installed. (diskcache keeps
pickles, which cannot be searched for the nearest extents and run code when they are read; a folder of JSON files has no
transactions; dbm is safe for one process only.)
"""

import math
import os
import sqlite3
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from mdhnp.runtime.paths import data_folder
from mdhnp.tuning.cache import claims, rows, schema
from mdhnp.tuning.cache.database import Database
from mdhnp.tuning.cache.records import Entry, Key, Measurement, Times
from mdhnp.tuning.cache.wisdom import read_wisdom, shipped_entries, write_wisdom

__all__ = ["Entry", "Key", "Measurement", "Times", "TuningCache", "cache"]

_FILE = f"tuning-{schema.VERSION}.sqlite"

_caches: "dict[Path, TuningCache]" = {}


def cache() -> "TuningCache":
    """Give this process's tuning cache for the current cache folder.

    Examples
    --------
    >>> cache() is cache()
    True
    """
    path = data_folder() / _FILE
    found = _caches.get(path)
    return found if found is not None else _caches.setdefault(path, TuningCache(path))


class TuningCache:
    """Tuned entries, measurements and claims in one file, for all threads and processes of a user.

    No method fails because of the file: see `database.py`. Nothing is created before the first write.

    Parameters
    ----------
    path : path-like
        The SQLite file.

    Examples
    --------
    >>> TuningCache("/nowhere/tuning.sqlite").get(Key("matmul", (64, 64, 64), "1f3a", "a device", "1")) is None
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._database = Database(Path(path))

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def trouble(self) -> str | None:
        """Why the cache is in memory and ends with the process; None while it is in the file."""
        return self._database.trouble

    def get(self, key: Key) -> Entry | None:
        """Give the entry of exactly this key: the user's own, else one that came with the package."""
        values = rows.key_values(key)
        found = self._database.read(lambda db: rows.select_entries(db, rows.IS_KEY, values))
        entry = rows.to_entry(found[0]) if found else None
        return entry if entry is not None else shipped_entries().get(key)

    def nearest(self, key: Key, limit: int = 3) -> list[tuple[Key, Entry]]:
        """Give entries of the same family, device and generator, those of the most similar extents first.

        Parameters
        ----------
        key : Key
            What is asked for. Its own entry, if there is one, comes first.
        limit : int
            Most entries to give.

        Returns
        -------
        list of (Key, Entry)
            Ordered by the sum of ``|log(extent ratio)|`` over the dimensions.
        """
        group = (key.family, key.device, key.generator)
        condition = "family = ? AND device = ? AND generator = ?"
        shipped = {k: entry for k, entry in shipped_entries().items() if (k.family, k.device, k.generator) == group}
        own = self._database.read(lambda db: rows.select_entries(db, condition, group)) or ()
        found = shipped | {k: row for row in own if (k := rows.to_key(row)) is not None}
        comparable = [k for k in found if len(k.extents) == len(key.extents)]
        comparable.sort(key=lambda k: (k != key, _distance(k.extents, key.extents), k.exact))
        entries = ((k, e if isinstance(e := found[k], Entry) else rows.to_entry(e)) for k in comparable)
        return list(islice(((k, e) for k, e in entries if e is not None), limit))

    def put(self, key: Key, entry: Entry, measurements: Iterable[Measurement] = (), *, replace: bool = False) -> bool:
        """Keep an entry and append measurements, both or neither.

        Parameters
        ----------
        key : Key
            What was tuned.
        entry : Entry
            Takes the place of an entry that is slower and was not tuned later.
        measurements : iterable of Measurement
            Those that :meth:`record` has not appended yet; they are kept even where the entry is not.
        replace : bool
            Take any entry's place.

        Returns
        -------
        bool
            Whether the entry was kept.
        """
        logged = list(measurements)

        def work(db: sqlite3.Connection) -> bool:
            number = rows.number_of(db, key)
            for measurement in logged:
                rows.append(db, number, measurement)
            old = _own(db, number)
            if old is not None and not replace and (entry.seconds >= old.seconds or entry.tuned_at < old.tuned_at):
                return False
            rows.set_entry(db, number, entry)
            return True

        return self._database.write(work)

    def record(self, key: Key, measurement: Measurement) -> None:
        """Append one measurement at once, and renew this process's claim of the key if it has one."""

        def work(db: sqlite3.Connection) -> None:
            number = rows.number_of(db, key)
            rows.append(db, number, measurement)
            claims.renew(db, number)

        self._database.write(work)

    def measurements(self, key: Key) -> list[Measurement]:
        """Give all that was measured for a key, in order, for a search to resume from."""
        values = rows.key_values(key)
        found = self._database.read(lambda db: rows.select_measurements(db, rows.IS_KEY, values)) or ()
        return [m for row in found if (m := rows.to_measurement(row)) is not None]

    def entries(self, device: str | None = None) -> list[tuple[Key, Entry]]:
        """Give the user's own entries, those of one device or all, oldest key first."""
        condition = "device = ifnull(?, device)"
        found = self._database.read(lambda db: rows.select_entries(db, condition, (device,))) or ()
        return [pair for row in found if (pair := rows.to_pair(row)) is not None]

    def clear(self, key: Key | None = None, *, device: str | None = None) -> int:
        """Forget the entry and measurements of one key, those of one device, or all, with what small calls cost there.

        Returns
        -------
        int
            Entries forgotten.

        Raises
        ------
        TypeError
            If both a key and a device are given.
        """
        if key is not None and device is not None:
            raise TypeError("clear: a key or a device, not both")
        condition = "device = ifnull(?, device)" if key is None else rows.IS_KEY
        values = (device,) if key is None else rows.key_values(key)

        def work(db: sqlite3.Connection) -> int:
            chosen = f"key IN (SELECT id FROM keys WHERE {condition})"
            count = db.execute(f"DELETE FROM entries WHERE {chosen}", values).rowcount
            db.execute(f"DELETE FROM measurements WHERE {chosen}", values)
            db.execute(f"DELETE FROM times WHERE {chosen}", values)
            if key is None:
                db.execute("DELETE FROM hosts WHERE ? IN (device, '')", (device or "",))
            # A key that is being tuned stays, for its claim.
            db.execute(f"DELETE FROM keys WHERE {condition} AND id NOT IN (SELECT key FROM claims)", values)
            return count

        return self._database.write(work)

    def verify(self, generator: str | None = None) -> list[str]:
        """Say what is wrong with the file and its rows, without changing anything.

        Parameters
        ----------
        generator : str, optional
            The generator's version; entries of others, which will not be found, count as problems.
        """
        problems = self._database.problems()
        if problems and self.trouble is None:
            return problems  # reading its rows would set the file aside

        def work(db: sqlite3.Connection) -> list[str]:
            found = []
            for row in rows.select_entries(db, "1", ()):
                if rows.to_pair(row) is None:
                    found.append(f"entry of {_describe(row)}: cannot be read")
                elif generator is not None and row[4] != generator:
                    found.append(f"entry of {_describe(row)}: of generator version {row[4]}, not {generator}")
            for row in rows.select_measurements(db, "1", ()):
                if rows.to_measurement(row) is None:
                    found.append(f"measurement of {_describe(row)}: cannot be read")
            return found

        return problems + (self._database.read(work) or [])

    def claim(self, key: Key, owner: str | None = None) -> str | None:
        """Ask to be the only one who tunes a key, among all threads and processes. Never waits for the holder.

        A claim ends with :meth:`release`, with its process, or 60 s after the last :meth:`record` for the key or
        the last call of this method with the same owner.

        Parameters
        ----------
        key : Key
            What is to be tuned.
        owner : str, optional
            Name of the search, different for each in this process; made up where it is not given.

        Returns
        -------
        str or None
            The owner's name, for :meth:`release`; None while another holds the key.
        """
        name = owner or os.urandom(8).hex()
        taken = self._database.write(lambda db: claims.take(db, rows.number_of(db, key), name))
        return name if taken else None

    def release(self, key: Key, owner: str | None = None) -> None:
        """Give up this process's claim of a key, if it has one; with `owner`, only that search's."""
        self._database.write(lambda db: claims.give_up(db, rows.number_of(db, key), owner))

    def costs(self, device: str) -> str | None:
        """Give what :meth:`set_costs` kept for a device and this NumPy."""
        query = "SELECT costs FROM hosts WHERE device = ? AND numpy = ?"
        found = self._database.read(lambda db: db.execute(query, (device, np.__version__)).fetchone())
        return None if found is None else str(found[0])

    def set_costs(self, device: str, costs: str) -> None:
        """Keep what small calls cost on a device and in this NumPy, for :mod:`mdhnp.placement`."""
        values = device, np.__version__, costs
        self._database.write(lambda db: db.execute("INSERT OR REPLACE INTO hosts VALUES (?, ?, ?)", values))

    def times(self, device: str | None = None) -> dict[Key, Times]:
        """Give the seconds that whole calls were measured to take, by plan: of one device, or all."""
        found: dict[Key, Times] = {}
        condition = "device = ifnull(?, device)"
        for row in self._database.read(lambda db: rows.select_times(db, condition, (device,))) or ():
            key, (plan, seconds) = rows.to_key(row), row[5:]
            is_time = isinstance(seconds, float) and 0.0 < seconds < math.inf
            if key is not None and isinstance(plan, str) and is_time:
                found.setdefault(key, {})[plan] = seconds
        return found

    def set_times(self, key: Key, times: Times) -> None:
        """Keep the seconds that whole calls take by these plans."""

        def work(db: sqlite3.Connection) -> None:
            number = rows.number_of(db, key)
            for plan, seconds in times.items():
                rows.set_time(db, number, plan, seconds)

        self._database.write(work)

    def export(self, path: str | os.PathLike[str], device: str | None = None) -> int:
        """Write the user's own entries and calls' times to a JSON file, of one device or all; give how many entries.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        chosen = self.entries(device)
        write_wisdom(path, chosen, self.times(device))
        return len(chosen)

    def import_(self, path: str | os.PathLike[str]) -> int:
        """Add what a file holds that :meth:`export` wrote, except where the user's own entry is as fast.

        Times of calls are added where none was measured here.

        Returns
        -------
        int
            Entries added.

        Raises
        ------
        ValueError
            If anything in the file is wrong, with what and where; then nothing is added.
        OSError
            If the file cannot be read.
        """
        found, times = read_wisdom(Path(path).read_bytes().decode("utf-8", "replace"), str(path))

        def work(db: sqlite3.Connection) -> int:
            added = 0
            for key, entry in found:
                number = rows.number_of(db, key)
                old = _own(db, number)
                if old is None or entry.seconds < old.seconds:
                    rows.set_entry(db, number, entry, "imported")
                    added += 1
            for key, plans in times.items():
                number = rows.number_of(db, key)
                if not rows.select_times(db, "keys.id = ?", (number,)):
                    for plan, seconds in plans.items():
                        rows.set_time(db, number, plan, seconds)
            return added

        return self._database.write(work)

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        self._database.close()


def _own(db: sqlite3.Connection, number: int) -> Entry | None:
    found = rows.select_entries(db, "keys.id = ?", (number,))
    return rows.to_entry(found[0]) if found else None


def _describe(row: rows.Row) -> str:
    return f"family {row[0]}, extents {row[1]}, device {row[3]}"


def _distance(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    return sum(abs(math.log(max(m, 1) / max(n, 1))) for m, n in zip(a, b, strict=True))
