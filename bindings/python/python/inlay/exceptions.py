"""The exceptions of DB-API 2.0. `sqlstate` is the five-character code of the SQL standard and PostgreSQL."""

from __future__ import annotations


class Warning(Exception):  # noqa: A001, N818 - the name is DB-API's
    """Something to know; never raised by the engine."""


class Error(Exception):
    """A statement or call failed. The connection works afterwards."""

    sqlstate: str | None = None


class InterfaceError(Error):
    """The API was used wrongly: the connection is closed, for example (08003)."""


class DatabaseError(Error):
    """The database refused."""


class DataError(DatabaseError):
    """A value does not fit: a cast, an overflow, division by zero, a malformed file (class 22)."""


class OperationalError(DatabaseError):
    """
    The world refused: a file, memory, an interrupt, a conflict (classes 25, 40, 53, 55, 57, 58, and XX001: damage).

    After 40001 the transaction may be tried again.
    """


class IntegrityError(DatabaseError):
    """A row violates a constraint (class 23)."""


class InternalError(DatabaseError):
    """A defect of Inlay (XX000). Please report it."""


class ProgrammingError(DatabaseError):
    """The SQL is wrong: syntax, unknown or ambiguous names, types (classes 21 and 42, 22023)."""


class NotSupportedError(DatabaseError):
    """Valid SQL that this version does not run (class 0A)."""
