"""The text of a query, the objects that it names, and what is known of its columns: what every relation is made of."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from inlay import _parts
from inlay._expression import Expression, sql_of
from inlay._inlay import Answer, Connection
from inlay._parts import quote, quote_path
from inlay.exceptions import Error, InvalidInputException
from inlay.sqltypes import SQLType

if TYPE_CHECKING:
    from inlay._relation import Relation

_numbers = itertools.count(1)
#: Without a GIL, two threads may get the same number.
_numbers_lock = threading.Lock()

Names = list[str]
Types = list[SQLType]
Description = list[tuple[str, SQLType, None, None, None, None, None]]


def next_number() -> int:
    """Return a number that nothing of this process has yet."""
    with _numbers_lock:
        return next(_numbers)


def bad(message: str) -> InvalidInputException:
    error = InvalidInputException(message)
    error.sqlstate = "22023"
    return error


def as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def select_items(values: Iterable[Any]) -> str:
    """SELECT items: a single text is SQL, several are names of columns."""
    values = [each for value in values for each in as_list(value)]
    if len(values) == 1 and isinstance(values[0], str):
        return _parts.items(values[0])
    return ", ".join(select_item(value) for value in values)


def select_item(value: Any) -> str:
    if isinstance(value, Expression):
        return value.as_select()
    if isinstance(value, str):
        return value if value == "*" else quote_path(value)
    return sql_of(value)


def condition_text(value: Any) -> str:
    """Write one expression, SQL or an object of one; a constant of any other value."""
    return _parts.expression(value) if isinstance(value, str) else sql_of(value)


class Query:
    """A query that was bound, its objects and its connection."""

    def __init__(
        self,
        connection: Connection,
        sql: str,
        tables: Mapping[str, Any] | None = None,
        *,
        alias: str = "",
        item: str | None = None,
        where: tuple[str, ...] = (),
        table: str | None = None,
        answer: Answer | None = None,
    ) -> None:
        self._connection = connection
        self._sql = sql
        self._tables = dict(tables or {})
        self._alias = alias or f"unnamed_relation_{next_number():x}"
        # The FROM of further steps, whose rows are filtered by all of `where`.
        self._from = item
        self._where = where
        self._table = table
        self._answer = answer
        # Of fetchone and fetchmany, which threads may call at once.
        self._reading: Iterator[tuple[Any, ...]] | None = None
        self._reading_lock = threading.Lock()
        if answer is None:
            _, described, found = connection._describe(sql, self._tables)
            self._tables.update(found)
            self._names, types = described or ([], [])
        else:
            self._names, types = answer.columns, answer.types
        self._types = [SQLType(text) for text in types]

    def _look(self) -> None:
        """Ask for the columns again: the tables of the query may have others by now."""
        if self._answer is not None:
            return
        try:
            _, described, _ = self._connection._describe(self._sql, self._tables)
        except Error:
            # What became of the query is told where it runs.
            return
        if described is not None:
            self._names, types = described
            self._types = [SQLType(text) for text in types]

    # Putting queries together.

    def _source(self) -> str:
        """FROM, and WHERE if this relation only filters."""
        where = " AND ".join(f"({condition}\n)" for condition in self._where)
        return (self._from or self._nested()) + (f" WHERE {where}" if where else "")

    def _nested(self) -> str:
        return f"(\n{self._sql}\n) AS {quote(self._alias)}"

    def _derive(self, sql: str, tables: Mapping[str, Any] | None = None, **options: Any) -> Relation:
        options.setdefault("alias", self._alias)
        from inlay._relation import Relation

        return Relation(self._connection, sql, self._tables if tables is None else tables, **options)

    def _view(self) -> tuple[str, dict[str, Any]]:
        """Text and tables, under names that nothing else has."""
        if not self._tables:
            return self._sql, {}
        renamed = {name: f"{name} #{next_number()}" for name in self._tables if " #" not in name}
        tables = {renamed.get(name, name): table for name, table in self._tables.items()}
        if not renamed:
            return self._sql, tables
        views = ", ".join(f"{quote(name)} AS (SELECT * FROM {quote(new)})" for name, new in renamed.items())
        return f"WITH {views} SELECT * FROM (\n{self._sql}\n)", tables

    def _combined(self, other: Any) -> tuple[str, dict[str, Any]]:
        """The other's text, and the tables of both."""
        if not isinstance(other, Query):
            raise bad(f"expected a relation, not an object of type {type(other).__name__}")
        clash = any(self._tables.get(name, table) is not table for name, table in other._tables.items())
        sql, tables = other._view() if clash else (other._sql, other._tables)
        return sql, {**self._tables, **tables}

    def _run(self, sql: str) -> Any:
        return self._connection._run(sql, self._tables)

    def _stream(self) -> Answer | Connection:
        """Rows that are computed while they are read, unless they are there."""
        return self._answer if self._answer is not None else self._connection._stream(self._sql, self._tables)

    def _rows(self) -> Answer:
        if self._answer is not None:
            return self._answer
        answer: Answer = self._run(self._sql)
        return answer

    # What it is.

    @property
    def columns(self) -> Names:
        """
        Column names.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.columns
        ['a', 'b']
        """
        self._look()
        return list(self._names)

    @property
    def types(self) -> Types:
        """
        Column types.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.types
        ['INTEGER', 'INTEGER']
        """
        self._look()
        return list(self._types)

    dtypes = types

    @property
    def description(self) -> Description:
        """
        Name and type of each column, as DB-API has them.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> [column[:2] for column in r.description]
        [('a', 'INTEGER'), ('b', 'INTEGER')]
        """
        self._look()
        return [(name, ty, None, None, None, None, None) for name, ty in zip(self._names, self._types, strict=True)]

    @property
    def alias(self) -> str:
        """
        What further SQL may call it.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.set_alias("x").alias
        'x'
        """
        return self._alias

    @property
    def type(self) -> str:
        """
        The kind of relation.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.type
        'QUERY_RELATION'
        """
        return "TABLE_RELATION" if self._table else "QUERY_RELATION"

    @property
    def shape(self) -> tuple[int, int]:
        """
        Numbers of rows and columns; the rows are counted by a query.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.shape
        (2, 2)
        """
        self._look()
        return len(self), len(self._names)

    def __len__(self) -> int:
        if self._answer is not None:
            return len(self._answer)
        return int(self._run(f"SELECT count(*) FROM {self._source()}").fetchall()[0][0])

    def __bool__(self) -> bool:
        # Without it, asking whether there is a relation would count its rows.
        return True

    def __contains__(self, name: str) -> bool:
        self._look()
        return name in self._names

    def sql_query(self) -> str:
        """
        Return the text of the query.

        Examples
        --------
        >>> inlay.sql("SELECT 1 AS a").sql_query()
        'SELECT 1 AS a'
        """
        return self._sql
