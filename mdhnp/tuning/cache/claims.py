"""Who is tuning what: rows that end with their process. Takes connections in a transaction; knows no file.

Nothing waits here. A claim counts while its process lives and has renewed it within the last minute, so a process that
was killed or stopped, or a machine that went away, keeps nobody from tuning for longer than that.
"""

import sqlite3
import time

from mdhnp.tuning.processes import Process

__all__ = ["give_up", "renew", "take"]

_STALE = 60.0  # seconds without renewal after which a claim no longer counts


def take(db: sqlite3.Connection, number: int, owner: str) -> bool:
    """Claim key `number`, or renew the claim; False while another holds it."""
    me, now = Process.current(), time.time()
    row = db.execute("SELECT owner, host, pid, started, heartbeat FROM claims WHERE key = ?", (number,)).fetchone()
    if row is not None:
        holder = Process(*row[1:4])
        fresh = abs(now - row[4]) <= _STALE  # clocks may have been set back
        if (row[0], holder) != (owner, me) and fresh and not holder.is_dead():
            return False
    db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)", (number, owner, *me, now))
    return True


def renew(db: sqlite3.Connection, number: int) -> None:
    """Renew the claim of key `number` if it is this process's."""
    db.execute(
        "UPDATE claims SET heartbeat = ? WHERE key = ? AND host = ? AND pid = ? AND started = ?",
        (time.time(), number, *Process.current()),
    )


def give_up(db: sqlite3.Connection, number: int, owner: str | None) -> None:
    """End the claim of key `number` if it is this process's and, unless that is None, this owner's."""
    db.execute(
        "DELETE FROM claims WHERE key = ? AND host = ? AND pid = ? AND started = ? AND owner = ifnull(?, owner)",
        (number, *Process.current(), owner),
    )
