"""Texts of SQL taken apart: statements, their kinds and parameters, the tables that they name. Nothing runs."""

from __future__ import annotations

import re

from inlay._inlay import Connection
from inlay._kinds import ExpectedResultType, StatementType
from inlay._parts import quote
from inlay._query import bad
from inlay._tokens import keywords

#: Kinds that give no rows, and those of which some count rows and some give them.
_NOTHING = frozenset(
    ("ALTER", "ANALYZE", "ATTACH", "DETACH", "DROP", "EXPORT", "LOAD", "PREPARE", "SET", "TRANSACTION", "VACUUM")
)
_CHANGES = frozenset(["COPY", "DELETE", "INSERT", "UPDATE"])
_EITHER = frozenset(["CREATE", "MERGE_INTO"])


class Statement:
    """One statement of a text, which `Connection.execute` and `executemany` run as well as a text."""

    __slots__ = ("__weakref__", "_kind", "_parameters", "_query")

    def __init__(self, query: str, kind: str, parameters: list[str]) -> None:
        self._query, self._kind, self._parameters = query, kind, parameters

    @property
    def query(self) -> str:
        """
        Its text.

        Examples
        --------
        >>> statement = inlay.extract_statements("SELECT $a")[0]
        >>> statement.query
        'SELECT $a'
        """
        return self._query

    @property
    def type(self) -> StatementType:
        """
        What it does.

        Examples
        --------
        >>> statement = inlay.extract_statements("SELECT $a")[0]
        >>> statement.type.name
        'SELECT'
        """
        return StatementType[self._kind]

    @property
    def named_parameters(self) -> set[str]:
        """
        Names of its parameters; those by position are called by their numbers.

        Examples
        --------
        >>> statement = inlay.extract_statements("SELECT $a")[0]
        >>> statement.named_parameters
        {'a'}
        """
        return set(self._parameters)

    @property
    def expected_result_type(self) -> list[ExpectedResultType]:
        """
        What it may give: rows, how many rows it changed, nothing.

        Examples
        --------
        >>> statement = inlay.extract_statements("SELECT $a")[0]
        >>> [each.name for each in statement.expected_result_type]
        ['QUERY_RESULT']
        """
        if self._kind in _NOTHING:
            return [ExpectedResultType.NOTHING]
        rows = [ExpectedResultType.CHANGED_ROWS, ExpectedResultType.QUERY_RESULT]
        if self._kind in _CHANGES:
            return rows
        return [*rows, ExpectedResultType.NOTHING] if self._kind in _EITHER else rows[1:]

    def __str__(self) -> str:
        return self._query

    def __repr__(self) -> str:
        return f"<inlay.Statement {self._kind}: {self._query}>"


def extract_statements(self: Connection, query: str) -> list[Statement]:
    """Take a text apart into its statements."""
    return [Statement(sql, kind, parameters) for sql, kind, parameters, _ in self._statements(query)]


def get_table_names(self: Connection, query: str, *, qualified: bool = False) -> set[str]:
    """Return the names of the tables, views and files that a statement names; `qualified`: with schema and database."""
    statements = self._statements(query)
    if len(statements) != 1:
        raise bad(f"get_table_names() takes one statement, and the text has {len(statements)}")
    tables = statements[0][3]
    return {".".join(map(_shown, parts)) if qualified else parts[-1] for parts in tables}


def _shown(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name not in keywords() else quote(name)
