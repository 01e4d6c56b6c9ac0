"""One SQLite database as read snapshots and immediate write transactions.

Every write begins with `BEGIN IMMEDIATE`: a deferred transaction that has read fails at once when
another process commits, whatever the busy timeout. Connections are per thread through the pool and
never cross a fork: a child gets a fresh pool.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar, cast

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import QueuePool

from memsvc.errors import Misconfigured, StorageFailed

__all__ = ["Database", "Snapshot", "in_batches", "table_exists"]

BUSY_SECONDS = 60
PAGES_AT_ONCE = 4_096
REWRITE_SECONDS = 10
_Item = TypeVar("_Item")


class Database:
    """Read snapshots and write transactions on the SQLite file at `path`, which need not exist.

    Raises StorageFailed when the disk is full or refuses, Misconfigured when the file is no database.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = self._make()
        self._pid = os.getpid()

    def _make(self) -> Engine:
        engine = create_engine(
            f"sqlite:///{self.path}",
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=32,
            hide_parameters=True,  # what was being stored stays out of errors and logs
            connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        )
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
        return engine

    @property
    def engine(self) -> Engine:
        """The engine of this process; forked children get one of their own."""
        if self._pid != os.getpid():
            self._engine.dispose(close=False)
            self._engine = self._make()
            self._pid = os.getpid()
        return self._engine

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """One immediate transaction: committed at the end of the block, rolled back on any error.

        With `durable=False` the commit is not synced to disk: only for what a restart repeats anyway.
        """
        with _clear_errors(), self.engine.connect() as plain:
            if not durable:
                _set_synchronous(plain, "NORMAL")
            try:
                connection = plain.execution_options(memsvc_begin="BEGIN IMMEDIATE")
                with connection.begin():
                    yield connection
            finally:
                if not durable:
                    _set_synchronous(plain, "FULL")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent snapshot; writes through it are a programming error and fail."""
        with _clear_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator["Snapshot"]:
        """The database as it is at this moment, to be copied while others go on writing."""
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection:
                connection.isolation_level = None
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # takes hold
                yield Snapshot(connection)
        except sqlite3.OperationalError as error:
            raise StorageFailed(_operational(str(error))) from error

    def sync(self) -> None:
        """Make sure that everything committed so far survives power loss. Raises StorageFailed."""
        try:  # never the database itself: closing it would drop this process's locks on it
            handle = os.open(f"{self.path}-wal", os.O_RDONLY)
        except FileNotFoundError:
            return  # all of it is in the database, and the checkpoint synced that
        try:
            os.fsync(handle)
        except OSError as error:
            raise StorageFailed(f"the disk did not take the database: {error.strerror}") from error
        finally:
            os.close(handle)

    def rewrite(self) -> bool:
        """Write the whole file anew, so that no freed page and no journal holds what was deleted.

        Needs as much free disk as the database takes. False when another process read or wrote
        for too long, so that old pages may be left in the journal. Raises StorageFailed.
        """
        with _clear_errors(), self.engine.connect() as plain:
            raw = plain.connection.dbapi_connection
            if raw is None:
                return False
            cursor = raw.cursor()
            try:
                cursor.execute(f"PRAGMA busy_timeout={REWRITE_SECONDS * 1000}")
                cursor.execute("VACUUM")
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                busy = cursor.fetchone() != (0, 0, 0)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    return False
                raise StorageFailed(_operational(str(error))) from error
            finally:
                cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
                cursor.close()
            return not busy

    def close(self) -> None:
        """Give back every connection of this process."""
        self.engine.dispose()


class Snapshot:
    """One moment of a database; what is committed later is not in it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def copy_to(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy it into a new file, page by page; `progress` takes pages done and in all.

        Raises StorageFailed.
        """

        def told(_status: int, remaining: int, total: int) -> None:
            if progress is not None:
                progress(total - remaining, total)

        try:
            with closing(sqlite3.connect(path)) as target:
                self._connection.backup(target, pages=PAGES_AT_ONCE, progress=told)
        except sqlite3.OperationalError as error:
            raise StorageFailed(_operational(str(error))) from error


def _set_synchronous(connection: Connection, level: str) -> None:
    raw = connection.connection.dbapi_connection
    if raw is not None:
        cursor = raw.cursor()
        cursor.execute(f"PRAGMA synchronous={level}")
        cursor.close()


def _on_connect(raw: DBAPIConnection, _record: object) -> None:
    cast(
        "sqlite3.Connection", raw
    ).isolation_level = None  # leave BEGIN to us: else a failed migration stays half applied
    cursor = raw.cursor()
    cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA cache_size=-32000")
    cursor.close()


def _on_begin(connection: Connection) -> None:
    begin = connection.get_execution_options().get("memsvc_begin", "BEGIN")
    connection.exec_driver_sql(begin)


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        raise StorageFailed(_operational(str(error.orig))) from error
    except DatabaseError as error:
        if isinstance(error.orig, sqlite3.IntegrityError):
            raise
        raise Misconfigured(
            f"the database cannot be used ({error.orig}); restore it from a backup, "
            "or run `memsvc doctor` for details"
        ) from error


def _operational(problem: str) -> str:
    if "disk is full" in problem:
        return "the disk that holds the database is full; nothing was written; free some space and repeat"
    if "readonly" in problem or "read-only" in problem:
        return "the database is read-only; nothing was written; make the home writable and repeat"
    if "locked" in problem or "busy" in problem:
        return (
            f"the database stayed locked for {BUSY_SECONDS} s; nothing was written; repeat the call"
        )
    return f"the database refused ({problem}); nothing was written"


def table_exists(connection: Connection, name: str) -> bool:
    """Whether the database has a table of that name."""
    found = connection.execute(
        text("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name"), {"name": name}
    )
    return found.first() is not None


def in_batches(items: Sequence[_Item], size: int = 500) -> list[Sequence[_Item]]:
    """The items in order, so many at a time as one statement may well name."""
    return [items[start : start + size] for start in range(0, len(items), size)]
