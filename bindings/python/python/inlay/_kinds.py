"""Words that methods take and give, as DuckDB's package has them."""

from __future__ import annotations

from enum import Enum


class CSVLineTerminator(Enum):
    """How lines of a CSV file end."""

    LINE_FEED = 0
    CARRIAGE_RETURN_LINE_FEED = 1


class ExpectedResultType(Enum):
    """What a statement may give."""

    QUERY_RESULT = 0
    CHANGED_ROWS = 1
    NOTHING = 2


class ExplainType(Enum):
    """What `Relation.explain` shows: the plan, or what its steps took, too."""

    STANDARD = 0
    ANALYZE = 1


class FunctionNullHandling(Enum):
    """What a function written in Python does with NULL."""

    DEFAULT = 0
    SPECIAL = 1


class PythonExceptionHandling(Enum):
    """What an exception of a function written in Python becomes."""

    DEFAULT = 0
    RETURN_NULL = 1


class PythonUDFType(Enum):
    """What a function written in Python is called with: values, or Arrow arrays."""

    NATIVE = 0
    ARROW = 1


class RenderMode(Enum):
    """What `Relation.show` puts below each other."""

    ROWS = 0
    COLUMNS = 1


class StatementType(Enum):
    """What a statement does."""

    INVALID = 0
    SELECT = 1
    INSERT = 2
    UPDATE = 3
    CREATE = 4
    DELETE = 5
    PREPARE = 6
    EXECUTE = 7
    ALTER = 8
    TRANSACTION = 9
    COPY = 10
    ANALYZE = 11
    VARIABLE_SET = 12
    CREATE_FUNC = 13
    EXPLAIN = 14
    DROP = 15
    EXPORT = 16
    PRAGMA = 17
    VACUUM = 18
    CALL = 19
    SET = 20
    LOAD = 21
    RELATION = 22
    EXTENSION = 23
    LOGICAL_PLAN = 24
    ATTACH = 25
    DETACH = 26
    MULTI = 27
    COPY_DATABASE = 28
    MERGE_INTO = 30


class token_type(Enum):  # noqa: N801 - DuckDB's name
    """What a token of SQL is."""

    identifier = 0
    numeric_const = 1
    string_const = 2
    operator = 3
    keyword = 4
    comment = 5
