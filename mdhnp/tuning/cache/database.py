"""One SQLite file that is always usable: by many threads and processes, after a kill, on a full or read-only disk.

Takes functions of a connection and runs them; it must not know what the records mean. Whatever is wrong with the file,
the caller only finds less in it. A file that is damaged, foreign or of a later schema is renamed and a new one begun.
Where nothing can be written, a database in memory takes its place, with all that could be read. Either is said once, as
a warning.

Threads take turns with one connection. SQLite's locks belong to a process and do not survive fork(), which even in a
child that never touches them can damage the file. So it is closed before each fork().
"""

import os
import sqlite3
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from mdhnp.process import process
from mdhnp.runtime.private import TABLES, file_lock, make

__all__ = ["Database"]

T = TypeVar("T")
_Identity = tuple[int, int]

APPLICATION = 0x6D64686E  # "mdhn"

#: A record is of a kind ("entry", "time", …) and of a key; of some kinds a key has several, each with a name.
_SCHEMA = (
    """CREATE TABLE records (
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, family TEXT NOT NULL, extents TEXT NOT NULL, exact TEXT NOT NULL,
        device TEXT NOT NULL, generator TEXT NOT NULL, name TEXT, content NOT NULL,
        UNIQUE (kind, exact, device, generator, family, extents, name))""",
    "CREATE INDEX families ON records (kind, device, family, generator)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {TABLES}",
)

_PATIENCE = 5.0  # seconds to wait for another process
#: Uses that fail for reasons that may have gone since, before the file is given up.
_ATTEMPTS = 4
# After a power failure the last moments may be missing, but the file is whole.
_SETTINGS = ("PRAGMA synchronous = NORMAL",)

#: File systems that several machines mount: WAL needs memory that all its users share.
_NETWORK = frozenset([
    "9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "panfs", "smb3", "sshfs",
])  # fmt: skip


class NotOurs(sqlite3.DatabaseError):
    """A sound database, but not one that this version can use."""


class Database:
    """A file, which need not exist, nor be possible, and the connections to it.

    `trouble` says why the database is in memory and ends with the process; None while it is in the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.trouble: str | None = None
        self._turn = process.lock()
        self._open: sqlite3.Connection | None = None  # to the file, or to what takes its place in memory
        self._opened: _Identity | None = None
        _databases.add(self)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Give `work(connection)`, or None where there is no file: reading creates none."""
        if self.trouble is None and self._identity() is None:
            return None
        return self._run(work)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Give `work(connection)`, run as one transaction. It may run more than once, and must have no other effect."""

        def whole(db: sqlite3.Connection) -> T:
            with nullcontext() if db.in_transaction else transaction(db):  # a finalizer may come amid another one
                return work(db)

        return self._run(whole)

    def problems(self) -> list[str]:
        """Say what is wrong with the file, without changing or moving it."""
        if self.trouble is not None:
            return [f"kept in memory, not in {self.path}: {self.trouble}"]
        if self._identity() is None:
            return []
        try:
            db = sqlite3.connect(self._uri("mode=ro"), uri=True, timeout=_PATIENCE)
            try:
                check_stamp(db)
                rows = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
            finally:
                db.close()
        except sqlite3.Error as error:
            rows = [str(error)]
        return [f"{self.path}: {row}" for row in rows if row != "ok"]

    def close(self) -> None:
        """Close the connection to the file. The next use opens one again."""
        with self._turn:
            if self._open is not None and self.trouble is None:
                with suppress(sqlite3.Error):
                    self._open.close()
                self._open = None

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._turn:
            attempts = 0
            while self.trouble is None:
                attempts += 1
                identity = self._identity()
                try:
                    return work(self._connection(identity))
                except BaseException as error:
                    self.close()
                    if not isinstance(error, sqlite3.DatabaseError | OSError):
                        raise
                    if self._identity() != identity and attempts <= _ATTEMPTS:
                        continue  # someone set the file aside or made it while this use was under way
                    if _is_damage(error) and attempts <= _ATTEMPTS:
                        self._replace(identity, str(error))
                    elif _is_damage(error) or isinstance(error, sqlite3.OperationalError | OSError):
                        self._to_memory(str(error))
                    else:
                        raise
            assert self._open is not None
            return work(self._open)

    def _identity(self) -> _Identity | None:
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _uri(self, options: str) -> str:
        return f"{self.path.as_uri()}?{options}"

    def _connection(self, identity: _Identity | None) -> sqlite3.Connection:
        """Give a connection to the file of this identity: another may have taken its place since the last use."""
        if self._open is not None and (self._opened != identity or identity is None):
            self.close()
        if self._open is None:
            make(self.path.parent)
            # Nobody may set the file aside meanwhile. SQLite opens it first and the write-ahead log, which it finds by
            # name, later: that could be the next file's, and be truncated under the feet of those who use it.
            with ExitStack() as block:
                try:
                    block.enter_context(self._lock(shared=True))
                except BlockingIOError:
                    raise
                except OSError:
                    pass  # a folder that cannot be written, or no locks there: then nobody sets files aside
                self._open, self._opened = self._connect()
        return self._open

    def _lock(self, *, shared: bool = False) -> AbstractContextManager[None]:
        return file_lock(Path(f"{self.path}.lock"), _PATIENCE, shared=shared)

    def _connect(self) -> tuple[sqlite3.Connection, _Identity | None]:
        db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            identity = self._identity()
            if not check_stamp(db):
                db.execute("PRAGMA synchronous = OFF")  # there is nothing to lose yet
                with transaction(db):
                    if not check_stamp(db):  # another process may have been faster
                        _create(db)
            mode = "DELETE" if _on_network(self.path.parent) else "WAL"
            if db.execute("PRAGMA journal_mode").fetchone()[0] != mode.lower():
                with suppress(sqlite3.OperationalError):  # in use; the next to open it will succeed
                    db.execute(f"PRAGMA journal_mode = {mode}")
            for setting in _SETTINGS:
                db.execute(setting)
            check_stamp(db)  # the first look after the change of mode is what opens the log
        except BaseException:
            db.close()
            raise
        return db, identity

    def _replace(self, identity: _Identity | None, reason: str) -> None:
        """Set the file of this identity aside, unless another process did."""
        try:
            with self._lock():
                if identity is None or self._identity() != identity:
                    return
                number = 1
                while (target := Path(f"{self.path}.aside-{number}")).exists():
                    number += 1
                for suffix in ("-wal", "-shm", "-journal", ""):
                    with suppress(FileNotFoundError):
                        os.rename(f"{self.path}{suffix}", f"{target}{suffix}")
        except OSError as error:
            self._to_memory(f"{reason}; {error}")
            return
        warnings.warn(
            f"the tuning cache {self.path} cannot be used ({reason}): it is now {target}, and a new one is begun",
            RuntimeWarning,
            stacklevel=2,
        )

    def _to_memory(self, reason: str) -> None:
        memory = sqlite3.connect("file::memory:", uri=True, timeout=1, isolation_level=None, check_same_thread=False)
        _create(memory)
        for options in ("mode=ro", "mode=ro&immutable=1"):  # the second needs no file beside it
            if _copy_records(self._uri(options), memory):
                break
        self._open, self.trouble = memory, reason
        warnings.warn(
            f"the tuning cache {self.path} cannot be used ({reason}): what is tuned now is forgotten when this process "
            "ends. Set MDHNP_CACHE_DIR to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )


@lru_cache(maxsize=8)
def _on_network(folder: Path) -> bool:
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return False
    folder = folder.resolve()
    points = [(m[1].replace("\\040", " "), m[2].removeprefix("fuse.")) for m in mounts]
    found = [(len(point), number) for number, (point, _) in enumerate(points) if folder.is_relative_to(point)]
    return bool(found) and points[max(found)[1]][1] in _NETWORK


def check_stamp(db: sqlite3.Connection, schema: str = "main") -> bool:
    """Tell whether the table is there; False for an empty file, and NotOurs for another program's or a later one."""
    # One state of the file: another process may be creating the table.
    with nullcontext() if db.in_transaction else transaction(db, "BEGIN"):
        application = db.execute(f"PRAGMA {schema}.application_id").fetchone()[0]
        version = db.execute(f"PRAGMA {schema}.user_version").fetchone()[0]
        tables = db.execute(f"SELECT count(*) FROM {schema}.sqlite_master").fetchone()[0]
    if (application, version) == (APPLICATION, TABLES):
        return True
    if application == APPLICATION and version > TABLES:
        raise NotOurs(f"its schema {version} is later than {TABLES}, the latest that this mdhnp knows")
    if (application, version, tables) != (0, 0, 0):
        raise NotOurs("it is another program's database")
    return False


@contextmanager
def transaction(db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")
        raise


def _create(db: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        db.execute(statement)


def _copy_records(uri: str, memory: sqlite3.Connection) -> bool:
    """Copy what the file at `uri` holds; True if all could be read."""
    try:
        memory.execute("ATTACH ? AS disk", (uri,))
    except sqlite3.Error:
        return False
    try:
        check_stamp(memory, "disk")
        memory.execute("INSERT OR IGNORE INTO main.records SELECT * FROM disk.records")
    except sqlite3.Error:
        return False
    finally:
        with suppress(sqlite3.Error):
            memory.execute("DETACH disk")
    return True


def _is_damage(error: Exception) -> bool:
    """Tell whether the file itself is at fault, so that a new one would do."""
    # SQLITE_ERROR is what a missing table gives.
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return isinstance(error, NotOurs) or getattr(error, "sqlite_errorcode", 0) & 0xFF in damage


_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()
_paused: list[Database] = []


def _close_all() -> None:
    for database in list(_databases):
        if database._turn.acquire(timeout=2 * _PATIENCE + 1):  # who has its turn waits for the lock, then for SQLite
            _paused.append(database)
            database.close()


def _go_on() -> None:
    while _paused:
        _paused.pop()._turn.release()


def _begin_in_child() -> None:
    for database in list(_databases):
        if database not in _paused and database.trouble is None and database._open is not None:
            # Its parent's thread was at work with it all the time, and goes on: two processes would write by one.
            process.inherit(database._open)
            database._open = None
    _go_on()


process.at_fork(_begin_in_child, before=_close_all, in_parent=_go_on)
