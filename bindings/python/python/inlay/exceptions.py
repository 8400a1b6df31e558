"""
The exceptions of DB-API 2.0, and below them those that DuckDB's package has.

`sqlstate` is the five-character code of the SQL standard and PostgreSQL, `position` the line and column of the text
(from 1) that an error is about, `hint` what to do about it; each is None where there is nothing to say.
"""

from __future__ import annotations


class Warning(Exception):
    """Something to know; never raised by the engine."""


class Error(Exception):
    """A statement or call failed. The connection works afterwards."""

    sqlstate: str | None = None
    position: tuple[int, int] | None = None
    hint: str | None = None


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


class BinderException(ProgrammingError):
    """Columns or types do not fit (class 42)."""


class CatalogException(ProgrammingError):
    """A table, view or function does not exist, or does already (42P01, 42883, 42P07)."""


class ConnectionException(InterfaceError, OperationalError):
    """The connection is closed (08003)."""


class ConstraintException(IntegrityError):
    """A row violates a constraint (class 23)."""


class ConversionException(DataError):
    """A text is no value of a type, or a file does not follow its format (22018, 22P04)."""


class DependencyException(DatabaseError):
    """Never raised: the engine says CatalogException."""


class FatalException(DatabaseError):
    """Never raised: no error makes a database unusable."""


class IOException(OperationalError):
    """A file cannot be opened, read or written, or another process has it (53100, 55P03, 58030)."""


class HTTPException(IOException):
    """Never raised."""


class InternalException(InternalError):
    """A defect of Inlay (XX000)."""


class InterruptException(OperationalError):
    """The statement was interrupted, or ran longer than it may (57014)."""


class InvalidInputException(ProgrammingError):
    """An argument, a setting or a Python object is not acceptable (21000, 22023)."""


class FunctionException(InvalidInputException):
    """A function of Python failed, or gave what it may not (38000); `__cause__` is what it raised."""


class InvalidTypeException(ProgrammingError):
    """Never raised: the engine says BinderException."""


class NotImplementedException(NotSupportedError):
    """Valid SQL that this version does not run (class 0A)."""


class OutOfMemoryException(OperationalError):
    """The memory limit is reached (53200)."""


class OutOfRangeException(DataError):
    """A value is outside its type's range (22003)."""


class ParserException(ProgrammingError):
    """The text is not SQL (42601)."""


class PermissionException(ProgrammingError):
    """A file is out of reach (42501)."""


class ResourceInUseException(OperationalError):
    """Never raised: the engine says IOException or TransactionException."""


class SequenceException(DatabaseError):
    """Never raised: the engine says OutOfRangeException or CatalogException."""


class SerializationException(OperationalError):
    """A file is damaged (XX001)."""


class SyntaxException(ParserException):
    """Never raised: the engine says ParserException."""


class TransactionException(OperationalError):
    """A conflict, or BEGIN, COMMIT or ROLLBACK at the wrong time (classes 25, 40)."""


class TypeMismatchException(DataError):
    """Never raised: the engine says BinderException."""
