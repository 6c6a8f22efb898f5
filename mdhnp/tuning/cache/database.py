"""One SQLite file that is always usable: by many threads and processes, after a kill, on a full or read-only disk.

Takes functions of a connection and runs them; it must not know what the records mean. Whatever is wrong with the file,
the caller only finds less in it. A file that is damaged, foreign or of a later schema is renamed and a new one begun.
Where nothing can be written, a database in memory takes its place, with all that could be read. Either is said once, as
a warning.

Threads take turns with two connections, one to read and one to write by: who writes may wait for other processes, who
reads waits for nobody's writing, but for the end of a commit where there is no write-ahead log. SQLite's locks belong
to a process and do not survive fork(), which even in a child that never touches them can damage the file. So both are
closed before each fork().
"""

import os
import sqlite3
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from mdhnp.process import process
from mdhnp.runtime.private import TABLES, file_lock, make

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

#: File systems that several machines mount: WAL needs memory that all its users share.
_NETWORK = frozenset([
    "9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "panfs", "smb3", "sshfs",
])  # fmt: skip


class NotOurs(sqlite3.DatabaseError):
    """A sound database, but not one that this version can use."""


class _Line:
    """A connection to a file, open while that is in use, and whose turn it is."""

    def __init__(self) -> None:
        self.turn = process.lock()
        self.db: sqlite3.Connection | None = None
        self.identity: _Identity | None = None
        _lines.add(self)

    def close(self) -> None:
        with self.turn:
            if self.db is not None:
                with suppress(sqlite3.Error):
                    self.db.close()
                self.db = None


class Database:
    """A file, which need not exist, nor be possible, and the connections to it.

    `trouble` says why the database is in memory and ends with the process; None while it is in the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.trouble: str | None = None
        self._reading, self._writing = _Line(), _Line()
        self._memory: sqlite3.Connection | None = None  # takes the file's place, by the turns of those who write

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Give `work(connection)`, or None where there is no file: reading creates none."""
        if self.trouble is None and self._identity() is None:
            return None
        return self._run(self._reading, work)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Give `work(connection)`, run as one transaction. It may run more than once, and must have no other effect."""

        def whole(db: sqlite3.Connection) -> T:
            with nullcontext() if db.in_transaction else transaction(db):  # a finalizer may come amid another one
                return work(db)

        return self._run(self._writing, whole)

    def problems(self) -> list[str]:
        """Say what is wrong with the file, without changing or moving it."""
        if self.trouble is not None:
            return [f"kept in memory, not in {self.path}: {self.trouble}"]
        if self._identity() is None:
            return []
        try:
            with closing(sqlite3.connect(self._uri("mode=ro"), uri=True, timeout=_PATIENCE)) as db:
                check_stamp(db)
                rows = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
        except sqlite3.Error as error:
            rows = [str(error)]
        return [f"{self.path}: {row}" for row in rows if row != "ok"]

    def close(self) -> None:
        """Close the connections to the file. The next use opens one again."""
        self._reading.close()
        self._writing.close()

    def _run(self, line: _Line, work: Callable[[sqlite3.Connection], T]) -> T:
        for each in (self._reading, self._writing):
            if each.turn._is_owned():  # a finalizer comes amid a use: who has one turn must not wait for the other
                line = each
        attempts = 0
        while self.trouble is None:
            attempts += 1
            identity = self._identity()
            try:
                with line.turn:
                    if self.trouble is None:
                        return work(self._connection(line, identity))
            except BaseException as error:
                line.close()
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
        with self._writing.turn:
            assert self._memory is not None
            return work(self._memory)

    def _identity(self) -> _Identity | None:
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _uri(self, options: str) -> str:
        return f"{self.path.as_uri()}?{options}"

    def _connection(self, line: _Line, identity: _Identity | None) -> sqlite3.Connection:
        """Give a connection to the file of this identity: another may have taken its place since the last use."""
        if line.identity != identity or identity is None:
            line.close()
        if line.db is None:
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
                line.db, line.identity = self._connect()
        return line.db

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
            db.execute("PRAGMA synchronous = NORMAL")  # after a power failure the last moments may be missing
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
        with self._writing.turn:
            if self.trouble is not None:
                return
            self._memory = sqlite3.connect("file::memory:", uri=True, isolation_level=None, check_same_thread=False)
            _create(self._memory)
            for options in ("mode=ro", "mode=ro&immutable=1"):  # the second needs no file beside it
                if _copy_records(self._uri(options), self._memory):
                    break
            self.trouble = reason
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


def check_stamp(db: sqlite3.Connection) -> bool:
    """Tell whether the table is there; False for an empty file, and NotOurs for another program's or a later one."""
    # One state of the file: another process may be creating the table.
    with nullcontext() if db.in_transaction else transaction(db, "BEGIN"):
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
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
    """Copy the records of the file at `uri`, up to the first that cannot be read; True if all could be."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True, timeout=1)) as disk:
        disk.text_factory = partial(str, encoding="utf-8", errors="replace")
        check_stamp(disk)
        for row in disk.execute("SELECT * FROM records ORDER BY id"):
            memory.execute(f"INSERT OR IGNORE INTO records VALUES ({', '.join('?' * len(row))})", row)
        return True
    return False


def _is_damage(error: Exception) -> bool:
    """Tell whether the file itself is at fault, so that a new one would do."""
    # SQLITE_ERROR is what a missing table gives.
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return isinstance(error, NotOurs) or getattr(error, "sqlite_errorcode", 0) & 0xFF in damage


_lines: "weakref.WeakSet[_Line]" = weakref.WeakSet()
_paused: list[_Line] = []


def _close_all() -> None:
    for line in list(_lines):
        if line.turn.acquire(timeout=2 * _PATIENCE + 1):  # who has its turn waits for the lock, then for SQLite
            _paused.append(line)
            line.close()


def _go_on() -> None:
    while _paused:
        _paused.pop().turn.release()


def _begin_in_child() -> None:
    for line in list(_lines):
        if line not in _paused and line.db is not None:
            # Its parent's thread was at work with it all the time, and goes on: two processes would write by one.
            process.inherit(line.db)
            line.db = None
    _go_on()


process.at_fork(_begin_in_child, before=_close_all, in_parent=_go_on)
