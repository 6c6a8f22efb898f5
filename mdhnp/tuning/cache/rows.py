"""Records as rows of the cache's tables and back. Takes connections in a transaction; knows no file.

A row that cannot be read, because the file was tampered with or another version of mdhnp wrote it, counts as absent.
"""

import json
import sqlite3
from typing import Any

from mdhnp.tuning.cache.records import Entry, Key, Measurement, Source, read_schedule

__all__ = [
    "IS_KEY",
    "append",
    "key_values",
    "number_of",
    "select_entries",
    "select_measurements",
    "select_times",
    "set_entry",
    "set_time",
    "to_entry",
    "to_key",
    "to_measurement",
    "to_pair",
]

#: Condition that :func:`key_values` fills in.
IS_KEY = "family = ? AND extents = ? AND exact = ? AND device = ? AND generator = ?"

_KEY = "family, extents, exact, device, generator"
_ENTRY = "schedule, seconds, evaluations, tuned_at, mdh, source"
_MEASUREMENT = "schedule, seconds, status, message"
_MESSAGE = 4000  # characters kept of a measurement's message

Row = tuple[Any, ...]


def key_values(key: Key) -> Row:
    """Give the columns of a key."""
    return key.family, f"[{','.join(map(str, key.extents))}]", key.exact, key.device, key.generator


def number_of(db: sqlite3.Connection, key: Key) -> int:
    """Give the number that stands for a key in the other tables; a new key gets one."""
    values = key_values(key)
    db.execute(f"INSERT OR IGNORE INTO keys ({_KEY}) VALUES (?, ?, ?, ?, ?)", values)
    return int(db.execute(f"SELECT id FROM keys WHERE {IS_KEY}", values).fetchone()[0])


def select_entries(db: sqlite3.Connection, condition: str, values: Row) -> list[Row]:
    """Give rows for :func:`to_pair`, oldest key first."""
    query = f"SELECT {_KEY}, {_ENTRY} FROM keys JOIN entries ON key = keys.id WHERE {condition} ORDER BY keys.id"
    return db.execute(query, values).fetchall()


def select_measurements(db: sqlite3.Connection, condition: str, values: Row) -> list[Row]:
    """Give rows of a key and, from column 5 on, what :func:`to_measurement` takes, in order of measuring."""
    joined = "FROM keys JOIN measurements m ON key = keys.id"
    return db.execute(f"SELECT {_KEY}, {_MEASUREMENT} {joined} WHERE {condition} ORDER BY m.id", values).fetchall()


def set_entry(db: sqlite3.Connection, number: int, entry: Entry, source: Source | None = None) -> None:
    """Make this the entry of key `number`."""
    values = (float(entry.seconds), int(entry.evaluations), entry.tuned_at, _text(entry.mdh), source or entry.source)
    db.execute(
        f"INSERT OR REPLACE INTO entries (key, {_ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (number, entry.schedule.to_json(), *values),
    )


def append(db: sqlite3.Connection, number: int, measurement: Measurement) -> None:
    """Add to the log of key `number`."""
    m = measurement
    seconds = None if m.seconds is None else float(m.seconds)
    db.execute(
        f"INSERT INTO measurements (key, {_MEASUREMENT}) VALUES (?, ?, ?, ?, ?)",
        (number, m.schedule.to_json(), seconds, m.status, _text(m.message[:_MESSAGE])),
    )


def select_times(db: sqlite3.Connection, condition: str, values: Row) -> list[Row]:
    """Give rows of a key and, from column 5 on, a plan's name and its seconds."""
    query = f"SELECT {_KEY}, plan, seconds FROM keys JOIN times ON key = keys.id WHERE {condition} ORDER BY keys.id"
    return db.execute(query, values).fetchall()


def set_time(db: sqlite3.Connection, number: int, plan: str, seconds: float) -> None:
    """Make this the time of a plan for key `number`."""
    db.execute("INSERT OR REPLACE INTO times VALUES (?, ?, ?)", (number, plan, float(seconds)))


def to_pair(row: Row) -> tuple[Key, Entry] | None:
    """Read a row of :func:`select_entries`."""
    key, entry = to_key(row), to_entry(row)
    return None if key is None or entry is None else (key, entry)


def to_key(row: Row) -> Key | None:
    """Read the key in a row of any of these."""
    try:
        return Key(row[0], tuple(map(int, json.loads(row[1]))), *row[2:5])
    except (TypeError, ValueError):
        return None


def to_entry(row: Row) -> Entry | None:
    """Read the entry in a row of :func:`select_entries`."""
    try:
        return Entry(read_schedule(row[5]), *row[6:])
    except (TypeError, ValueError):
        return None


def to_measurement(row: Row) -> Measurement | None:
    """Read the measurement in a row of :func:`select_measurements`."""
    try:
        return Measurement(read_schedule(row[5]), *row[6:])
    except (TypeError, ValueError):
        return None


def _text(text: str) -> str:
    """Replace what is no text: a compiler's output may hold anything."""
    return text.encode("utf-8", "replace").decode()
