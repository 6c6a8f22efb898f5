"""The tables of the tuning cache and the stamp that tells whose file it is. Knows connections, not files or threads.

To change a table, raise VERSION, which is part of the file's name too: installations of different versions each keep a
file of their own instead of setting each other's aside.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

__all__ = ["VERSION", "NotOurs", "check_stamp", "copy_tables", "create", "in_memory", "is_damage", "transaction"]

APPLICATION = 0x6D64686E  # "mdhn"
VERSION = 3

_SCHEMA = (
    """CREATE TABLE keys (
        id INTEGER PRIMARY KEY, family TEXT NOT NULL, extents TEXT NOT NULL, exact TEXT NOT NULL,
        device TEXT NOT NULL, generator TEXT NOT NULL, UNIQUE (exact, device, generator, family, extents))""",
    "CREATE INDEX families ON keys (family, device, generator)",
    """CREATE TABLE entries (
        key INTEGER PRIMARY KEY REFERENCES keys ON DELETE CASCADE, schedule TEXT NOT NULL, seconds REAL NOT NULL,
        evaluations INTEGER NOT NULL, tuned_at TEXT NOT NULL, mdh TEXT NOT NULL, source TEXT NOT NULL)""",
    """CREATE TABLE measurements (
        id INTEGER PRIMARY KEY, key INTEGER NOT NULL REFERENCES keys ON DELETE CASCADE, schedule TEXT NOT NULL,
        seconds REAL, status TEXT NOT NULL, message TEXT NOT NULL)""",
    "CREATE INDEX logs ON measurements (key)",
    """CREATE TABLE claims (
        key INTEGER PRIMARY KEY REFERENCES keys ON DELETE CASCADE, owner TEXT NOT NULL, host TEXT NOT NULL,
        pid INTEGER NOT NULL, started TEXT NOT NULL, heartbeat REAL NOT NULL)""",
    """CREATE TABLE times (
        key INTEGER NOT NULL REFERENCES keys ON DELETE CASCADE, plan TEXT NOT NULL, seconds REAL NOT NULL,
        PRIMARY KEY (key, plan))""",
    "CREATE TABLE hosts (device TEXT NOT NULL, numpy TEXT NOT NULL, costs TEXT NOT NULL, PRIMARY KEY (device, numpy))",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
_TABLES = ("keys", "entries", "measurements", "claims", "times", "hosts")


class NotOurs(sqlite3.DatabaseError):
    """A sound database, but not one that this version can use."""


def check_stamp(db: sqlite3.Connection, schema: str = "main") -> bool:
    """Tell whether the tables are there; False for an empty file.

    Raises
    ------
    NotOurs
        If the file is another program's or of a later schema.
    """
    with _snapshot(db):  # another process may be creating the tables
        application = db.execute(f"PRAGMA {schema}.application_id").fetchone()[0]
        version = db.execute(f"PRAGMA {schema}.user_version").fetchone()[0]
        tables = db.execute(f"SELECT count(*) FROM {schema}.sqlite_master").fetchone()[0]
    if (application, version) == (APPLICATION, VERSION):
        return True
    if application == APPLICATION and version > VERSION:
        raise NotOurs(f"its schema {version} is later than {VERSION}, the latest that this mdhnp knows")
    if (application, version, tables) != (0, 0, 0):
        raise NotOurs("it is another program's database")
    return False


def create(db: sqlite3.Connection) -> None:
    """Create the tables and set the stamp."""
    for statement in _SCHEMA:
        db.execute(statement)


def in_memory() -> sqlite3.Connection:
    """Open a database in memory, with the tables."""
    db = sqlite3.connect("file::memory:", uri=True, timeout=1, isolation_level=None, check_same_thread=False)
    create(db)
    db.execute("PRAGMA foreign_keys = ON")
    return db


def copy_tables(uri: str, memory: sqlite3.Connection) -> bool:
    """Copy what the file at `uri` holds; True if all could be read."""
    try:
        memory.execute("ATTACH ? AS disk", (uri,))
    except sqlite3.Error:
        return False
    try:
        check_stamp(memory, "disk")
        for table in _TABLES:
            memory.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM disk.{table}")
    except sqlite3.Error:
        return False
    finally:
        with suppress(sqlite3.Error):
            memory.execute("DETACH disk")
    return True


def is_damage(error: Exception) -> bool:
    """Tell whether the file itself is at fault, so that a new one would do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # SQLITE_ERROR is what a missing table gives.
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return isinstance(error, NotOurs) or code in damage


@contextmanager
def transaction(db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Do all or nothing."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")
        raise


def _snapshot(db: sqlite3.Connection) -> AbstractContextManager[None]:
    """Let several queries see one state of the file."""
    return nullcontext() if db.in_transaction else transaction(db, "BEGIN")
