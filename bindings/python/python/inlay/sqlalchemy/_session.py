# SQLAlchemy is not typed here: it need not be installed.
# mypy: disable-error-code="untyped-decorator, misc, no-any-return, attr-defined"
"""
DB-API for SQLAlchemy: connections with a level of isolation, cursors that share their connection's transaction.

A cursor of `inlay` itself is a session of its own; SQLAlchemy wants those of one connection to see one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import inlay

AUTOCOMMIT = "AUTOCOMMIT"
DEFAULT_LEVEL = "SERIALIZABLE"
LEVELS = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", AUTOCOMMIT)


class Cursor:
    """A cursor of DB-API that belongs to its connection's session, and so to its transaction."""

    arraysize = 1

    def __init__(self, session: DBAPIConnection) -> None:
        self._session = session
        self._answer: inlay.Connection | None = None
        self._has_rows = False
        self._rowcount = -1

    @property
    def description(self) -> Any:
        # What changes rows without RETURNING answers with a count, which is `rowcount`, but gives no rows.
        return self._answer.description if self._answer is not None and self._has_rows else None

    @property
    def rowcount(self) -> int:
        # SQLAlchemy asks when it has closed the cursor, too.
        return self._answer.rowcount if self._answer is not None else self._rowcount

    def execute(self, statement: str, parameters: Any = None) -> Cursor:
        return self._answered(statement, self._session.started().execute(statement, parameters or None))

    def executemany(self, statement: str, parameters: Any) -> Cursor:
        return self._answered(statement, self._session.started().executemany(statement, parameters))

    def _answered(self, statement: str, answer: inlay.Connection) -> Cursor:
        self._answer = answer
        self._has_rows = bool(answer.description) and not self._only_counts(statement, answer.description)
        return self

    def _only_counts(self, statement: str, description: Any) -> bool:
        # A query may call its only column so, too: then the statement is looked at.
        if [column[0] for column in description] != ["Count"] or re.search(r"\breturning\b", statement, re.I):
            return False
        last = self._session.connection.extract_statements(statement)[-1]
        return inlay.ExpectedResultType.CHANGED_ROWS in last.expected_result_type

    def fetchone(self) -> Any:
        return self._rows().fetchone()

    def fetchmany(self, size: int | None = None) -> Any:
        return self._rows().fetchmany(size or self.arraysize)

    def fetchall(self) -> Any:
        return self._rows().fetchall()

    def _rows(self) -> inlay.Connection:
        if self._answer is None:
            raise inlay.InterfaceError("nothing was executed")
        return self._answer

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows())

    def setinputsizes(self, *_sizes: Any) -> None:
        """Do nothing."""

    def setoutputsize(self, *_sizes: Any) -> None:
        """Do nothing."""

    def close(self) -> None:
        self._rowcount = self.rowcount
        self._answer = None


class DBAPIConnection:
    """A connection of DB-API; the one of `inlay` is its `connection`."""

    def __init__(self, connection: inlay.Connection) -> None:
        self.connection = connection
        self.isolation_level = DEFAULT_LEVEL
        self.read_only = False
        self._is_to_begin = False

    def cursor(self) -> Cursor:
        return Cursor(self)

    def begin(self) -> None:
        self._is_to_begin = self.isolation_level != AUTOCOMMIT

    def started(self) -> inlay.Connection:
        """Return the connection; the transaction begins with its first statement, and sees what is there by then."""
        if self._is_to_begin:
            self._is_to_begin = False
            self._begin()
        return self.connection

    def _begin(self) -> None:
        if self.isolation_level == DEFAULT_LEVEL and not self.read_only:
            self.connection.begin()
            return
        access = "READ ONLY" if self.read_only else "READ WRITE"
        self.connection.execute(f"BEGIN TRANSACTION ISOLATION LEVEL {self.isolation_level} {access}")

    def commit(self) -> None:
        self._is_to_begin = False
        if self.connection.in_transaction:
            self.connection.commit()

    def rollback(self) -> None:
        self._is_to_begin = False
        if self.connection.in_transaction:
            self.connection.rollback()

    def close(self) -> None:
        self.connection.close()


class Module:
    """The module `inlay` with the parameters that SQLAlchemy writes."""

    paramstyle = "numeric_dollar"

    def __getattr__(self, name: str) -> Any:
        return getattr(inlay, name)
