"""What DB-API (PEP 249) asks of a module besides connections: constructors of values, and kinds of types."""

from __future__ import annotations

import datetime
import time

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802
    """Make the date of so many seconds since 1970, by the clock here."""
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    """Make the time of day of so many seconds since 1970, by the clock here."""
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    """Make the date and time of so many seconds since 1970, by the clock here."""
    return datetime.datetime(*time.localtime(ticks)[:6])


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


_ZONED = "WITH TIME ZONE"

STRING = DBAPITypeObject("VARCHAR", "ENUM", "JSON", "UUID", "BIT")
BINARY = DBAPITypeObject("BLOB")
DATETIME = DBAPITypeObject(
    "DATE",
    "TIME",
    f"TIME {_ZONED}",
    "TIMESTAMP",
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_NS",
    f"TIMESTAMP {_ZONED}",
    "INTERVAL",
)
NUMBER = DBAPITypeObject(
    *(sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")),
    "BOOLEAN",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
)
ROWID = DBAPITypeObject()
