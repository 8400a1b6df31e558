"""
Inlay: an analytical SQL database inside your Python process.

>>> import inlay
>>> with inlay.connect() as con:
...     con.execute("SELECT 40 + 2 AS answer").fetchall()
[(42,)]

`inlay.connect("trips.inlay")` opens or creates a database file instead.
Functions of this module work on a default connection to a database in memory that the process shares.
"""

from __future__ import annotations

import atexit
import threading
from typing import Any

from inlay._inlay import Connection, Relation, __version__, _checkpoint_all, connect
from inlay.exceptions import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - the name is DB-API's
)

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"


class DBAPITypeObject:
    """Equal to the types of a DB-API category, as `description` names them."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DBAPITypeObject):
            return self.names == other.names
        return isinstance(other, str) and other.partition("(")[0] in self.names

    def __hash__(self) -> int:
        return hash(self.names)


STRING = DBAPITypeObject("VARCHAR")
BINARY = DBAPITypeObject("BLOB")
DATETIME = DBAPITypeObject("DATE", "TIME", "TIMESTAMP", "INTERVAL")
NUMBER = DBAPITypeObject(
    *(sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")),
    "BOOLEAN",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
)
ROWID = DBAPITypeObject()

# The next opening then has no log to replay.
atexit.register(_checkpoint_all)

_lock = threading.Lock()
_default: Connection | None = None


def default_connection() -> Connection:
    """Return the connection that the functions of this module use; it is opened when first needed."""
    global _default
    with _lock:
        if _default is None:
            _default = connect()
        return _default


def execute(query: str, parameters: Any = None, connection: Connection | None = None) -> Connection:
    """Run SQL on the default connection; see `Connection.execute`."""
    return (connection or default_connection()).execute(query, parameters)


def executemany(query: str, parameters: Any, connection: Connection | None = None) -> Connection:
    """Run a statement once per set of parameters on the default connection; see `Connection.executemany`."""
    return (connection or default_connection()).executemany(query, parameters)


def sql(query: str, parameters: Any = None, connection: Connection | None = None) -> Relation | None:
    """Run a query on the default connection; see `Connection.sql`."""
    return (connection or default_connection()).sql(query, parameters)


query = sql


def table(name: str, connection: Connection | None = None) -> Relation | None:
    """Read a table of the default connection; see `Connection.table`."""
    return (connection or default_connection()).table(name)


def register(name: str, table: Any, connection: Connection | None = None) -> Connection:
    """Make an object a table of the default connection; see `Connection.register`."""
    return (connection or default_connection()).register(name, table)


def append(table_name: str, data: Any, by_name: bool = False, connection: Connection | None = None) -> Connection:
    """Add rows to a table; see `Connection.append`."""
    return (connection or default_connection()).append(table_name, data, by_name)


def unregister(name: str, connection: Connection | None = None) -> Connection:
    """Forget a registered object of the default connection."""
    return (connection or default_connection()).unregister(name)


def cursor(connection: Connection | None = None) -> Connection:
    """Open another session of the default connection's database."""
    return (connection or default_connection()).cursor()


def fetchone(connection: Connection | None = None) -> tuple[Any, ...] | None:
    """Fetch the next row of the default connection's last answer."""
    row: tuple[Any, ...] | None = (connection or default_connection()).fetchone()
    return row


def fetchmany(size: int = 1, connection: Connection | None = None) -> list[tuple[Any, ...]]:
    """Fetch up to `size` more rows of the default connection's last answer."""
    rows: list[tuple[Any, ...]] = (connection or default_connection()).fetchmany(size)
    return rows


def fetchall(connection: Connection | None = None) -> list[tuple[Any, ...]]:
    """Fetch all further rows of the default connection's last answer."""
    rows: list[tuple[Any, ...]] = (connection or default_connection()).fetchall()
    return rows


def fetchnumpy(connection: Connection | None = None) -> dict[str, Any]:
    """Fetch the default connection's last answer as NumPy arrays."""
    arrays: dict[str, Any] = (connection or default_connection()).fetchnumpy()
    return arrays


def df(connection: Connection | None = None) -> Any:
    """Fetch the default connection's last answer as a pandas data frame."""
    return (connection or default_connection()).df()


def arrow(connection: Connection | None = None) -> Any:
    """Fetch the default connection's last answer as a `pyarrow.Table`."""
    return (connection or default_connection()).arrow()


def pl(connection: Connection | None = None) -> Any:
    """Fetch the default connection's last answer as a Polars data frame."""
    return (connection or default_connection()).pl()


def begin(connection: Connection | None = None) -> Connection:
    """Open a transaction on the default connection."""
    return (connection or default_connection()).begin()


def commit(connection: Connection | None = None) -> Connection:
    """Commit the default connection's transaction."""
    return (connection or default_connection()).commit()


def rollback(connection: Connection | None = None) -> Connection:
    """Undo the default connection's transaction."""
    return (connection or default_connection()).rollback()


def interrupt(connection: Connection | None = None) -> None:
    """End the statement that runs on the default connection."""
    (connection or default_connection()).interrupt()


def close() -> None:
    """Close the default connection; its database is gone. The next use opens a new one."""
    global _default
    with _lock:
        if _default is not None:
            _default.close()
            _default = None


__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Connection",
    "DBAPITypeObject",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Relation",
    "Warning",
    "__version__",
    "apilevel",
    "arrow",
    "begin",
    "close",
    "commit",
    "connect",
    "cursor",
    "default_connection",
    "df",
    "execute",
    "executemany",
    "fetchall",
    "fetchmany",
    "fetchnumpy",
    "fetchone",
    "interrupt",
    "paramstyle",
    "pl",
    "query",
    "register",
    "rollback",
    "sql",
    "table",
    "threadsafety",
    "unregister",
]
