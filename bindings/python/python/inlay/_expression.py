"""
SQL expressions put together in Python, with the names of DuckDB's package.

An expression is its SQL text. Nothing is checked before a relation that uses it is bound. Python values among
expressions are constants; names are quoted, constants escaped, so neither can become SQL of its own.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from typing import Any

from inlay import _parts
from inlay._calls import Calls
from inlay._inlay import Connection
from inlay._parts import quote
from inlay._tokens import parts
from inlay.exceptions import InvalidInputException
from inlay.sqltypes import sqltype


def sql_of(value: Any) -> str:
    """Write an expression, or a Python value as a constant."""
    if isinstance(value, Expression):
        return value._sql
    literal: str = Connection._literal(value)
    return literal


def with_values(sql: str, parameters: Any) -> str:
    """Put the values of parameters into a text, in place of ``?``, ``$1`` and ``$name``."""
    if parameters is None:
        return sql
    if isinstance(parameters, (str, bytes)) or not hasattr(parameters, "__iter__"):
        parameters = [parameters]
    named = dict(parameters) if hasattr(parameters, "keys") else None
    given = [] if named is not None else list(parameters)
    used: set[Any] = set()

    if named is not None and set(map(_number, named)) == set(range(1, len(named) + 1)):
        # `{1: 5}` and `{"1": 5}` number the parameters.
        given = [named[key] for key in sorted(named, key=_number)]
        named = None

    def value(key: str) -> str:
        if named is None:
            index = int(key) - 1 if key.isdigit() else -1
            if not 0 <= index < len(given):
                raise _bad(f"the statement needs a value for parameter {key}, and {len(given)} were given")
            used.add(index)
            return sql_of(given[index])
        found = next((name for name in (key, f"${key}") if name in named), None) or next(
            (name for name in named if isinstance(name, str) and name.lstrip("$").lower() == key.lower()), None
        )
        if found is None:
            raise _bad(f"the statement needs a value for ${key}")
        used.add(found)
        return sql_of(named[found])

    pieces, end, marks = [], 0, 0
    for start, stop, written in Connection._placeholders(sql):
        key = written[1:]
        if not key:
            marks += 1
            key = str(marks)
        pieces += [sql[end:start], value(key)]
        end = stop
    if named is None and len(used) < len(given):
        raise _bad(f"the statement takes {len(used)} parameters, and {len(given)} were given")
    return "".join([*pieces, sql[end:]])


def _number(key: Any) -> int:
    """Return the number that a parameter is called by; 0 for one with a name."""
    text = str(key).removeprefix("$")
    return int(text) if text.isdecimal() else 0


def _alternatives(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values, or those of the only one if it is a list, a set or an array."""
    only: Any = values[0] if len(values) == 1 else None
    if getattr(only, "ndim", 0) and hasattr(only, "tolist"):
        return tuple(only.tolist())
    return tuple(only) if isinstance(only, (list, tuple, set, frozenset)) else values


def _bad(message: str) -> InvalidInputException:
    error = InvalidInputException(message)
    error.sqlstate = "22023"
    return error


class Expression(Calls):
    """
    An expression over the columns of a relation.

    Operators of Python are those of SQL: ``+ - * / // % **``, comparisons (``==`` gives NULL for NULL), ``& | ~`` for
    AND, OR and NOT.

    Examples
    --------
    >>> str((ColumnExpression("km") * 2).alias("both ways"))
    '("km" * 2)'
    """

    __slots__ = ("__weakref__", "_alias", "_branches", "_else", "_name", "_nulls", "_order", "_sql")
    __hash__ = object.__hash__

    def __init__(self, sql: str) -> None:
        self._begin(_enclosed(sql), None)

    def _begin(self, sql: str, name: str | None) -> None:
        self._sql = sql
        self._name = name
        self._alias: str | None = None
        self._order = ""
        self._nulls = ""
        self._branches: tuple[tuple[str, str], ...] = ()
        self._else: str | None = None

    def __str__(self) -> str:
        return self._sql

    __repr__ = __str__

    def __bool__(self) -> bool:
        message = "an expression is neither true nor false before a query uses it; write & | ~ for and, or, not"
        raise TypeError(message)

    def get_name(self) -> str:
        """
        Return the name of its column in a result: its alias, the column's name, or its text.

        Examples
        --------
        >>> inlay.col("km").alias("far").get_name()
        'far'
        """
        return self._alias or self._name or self._sql

    def show(self) -> None:
        """
        Print it.

        Examples
        --------
        >>> (inlay.col("km") + 1).show()
        ("km" + 1)
        """
        print(self._sql)

    def as_select(self) -> str:
        """
        Write it for SELECT.

        Examples
        --------
        >>> inlay.col("km").alias("far").as_select()
        '"km" AS "far"'
        """
        return f"{self._sql} AS {quote(self._alias)}" if self._alias else self._sql

    def as_order(self) -> str:
        """
        Write it for ORDER BY.

        Examples
        --------
        >>> inlay.col("km").desc().as_order()
        '"km" DESC'
        """
        return f"{self._sql}{self._order}{self._nulls}"

    def _with(self, **changes: Any) -> Expression:
        other = copy.copy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        return other

    def alias(self, name: str) -> Expression:
        """
        Name its column.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.col("a").alias("x")).columns
        ['x']
        """
        return self._with(_alias=name)

    def asc(self) -> Expression:
        """
        Sort small values first.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.order(inlay.col("a").asc()).select("a").fetchall()
        [(1,), (2,)]
        """
        return self._with(_order=" ASC")

    def desc(self) -> Expression:
        """
        Sort large values first.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.order(inlay.col("a").desc()).select("a").fetchall()
        [(2,), (1,)]
        """
        return self._with(_order=" DESC")

    def nulls_first(self) -> Expression:
        """
        Sort NULL before all values.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.order(inlay.col("s").nulls_first()).select("s").fetchall()
        [(None,), ('Ulm',)]
        """
        return self._with(_nulls=" NULLS FIRST")

    def nulls_last(self) -> Expression:
        """
        Sort NULL behind all values.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.order(inlay.col("s").nulls_last()).select("s").fetchall()
        [('Ulm',), (None,)]
        """
        return self._with(_nulls=" NULLS LAST")

    def cast(self, type: Any) -> Expression:
        """
        Convert to a type; what cannot be converted is an error.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.col("a").cast("DOUBLE")).fetchall()
        [(1.0,), (2.0,)]
        """
        return _made(f"CAST({self._sql} AS {_parts.type_name(sqltype(type))})")

    def try_cast(self, type: Any) -> Expression:
        """
        Convert to a type; what cannot be converted is NULL.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.col("s").try_cast("INTEGER")).fetchall()
        [(None,), (None,)]
        """
        return _made(f"TRY_CAST({self._sql} AS {_parts.type_name(sqltype(type))})")

    def collate(self, collation: str) -> Expression:
        """
        Compare by a collation.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.filter(inlay.col("s").collate("NOCASE") == "ulm").select("a").fetchall()
        [(1,)]
        """
        if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", collation):
            raise _bad(f"{collation!r} is no collation; one is a word such as NOCASE, or several with dots between")
        return _made(f"({self._sql} COLLATE {collation})")

    def isnull(self) -> Expression:
        """
        Whether it is NULL.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.filter(inlay.col("s").isnull()).select("a").fetchall()
        [(2,)]
        """
        return _made(f"({self._sql} IS NULL)")

    def isnotnull(self) -> Expression:
        """
        Whether it is not NULL.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.filter(inlay.col("s").isnotnull()).select("a").fetchall()
        [(1,)]
        """
        return _made(f"({self._sql} IS NOT NULL)")

    is_null = isnull
    is_not_null = isnotnull

    def isin(self, *values: Any) -> Expression:
        """
        Whether it is one of the values, which may also be in a list.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.filter(inlay.col("a").isin(1, 5)).select("a").fetchall()
        [(1,)]
        """
        values = _alternatives(values)
        if not values:
            raise _bad("isin() needs at least one value")
        return _made(f"({self._sql} IN ({', '.join(map(sql_of, values))}))")

    def isnotin(self, *values: Any) -> Expression:
        """
        Whether it is none of the values, which may also be in a list.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.filter(inlay.col("a").isnotin(1, 5)).select("a").fetchall()
        [(2,)]
        """
        values = _alternatives(values)
        if not values:
            raise _bad("isnotin() needs at least one value")
        return _made(f"({self._sql} NOT IN ({', '.join(map(sql_of, values))}))")

    def between(self, lower: Any, upper: Any) -> Expression:
        """
        Whether it is at least `lower` and at most `upper`.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.filter(inlay.col("a").between(2, 3)).select("a").fetchall()
        [(2,)]
        """
        return _made(f"({self._sql} BETWEEN {sql_of(lower)} AND {sql_of(upper)})")

    def like(self, pattern: Any) -> Expression:
        """
        Whether a text matches a pattern of ``%`` and ``_``.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.filter(inlay.col("s").like("U%")).select("a").fetchall()
        [(1,)]
        """
        return self._binary("LIKE", pattern)

    def ilike(self, pattern: Any) -> Expression:
        """
        Whether a text matches a pattern, whatever its case.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.filter(inlay.col("s").ilike("u%")).select("a").fetchall()
        [(1,)]
        """
        return self._binary("ILIKE", pattern)

    def when(self, condition: Any, value: Any) -> Expression:
        """
        Add a branch to a CASE.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.CaseExpression(inlay.col("a") > 1, "b").when(inlay.col("a") > 0, "c")).fetchall()
        [('c',), ('b',)]
        """
        if not self._branches:
            raise _bad("when() adds to a CASE; CaseExpression(condition, value) begins one")
        return _case((*self._branches, (sql_of(condition), sql_of(value))), self._else)

    def otherwise(self, value: Any) -> Expression:
        """
        End a CASE with the value for all other rows; NULL without.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.when(inlay.col("a") > 1).then("b").otherwise("c")).fetchall()
        [('c',), ('b',)]
        """
        if not self._branches:
            raise _bad("otherwise() ends a CASE; CaseExpression(condition, value) begins one")
        return _case(self._branches, sql_of(value))

    def over(
        self,
        partition_by: Any = None,
        order_by: Any = None,
        *,
        rows: tuple[int | None, int | None] | None = None,
        range: tuple[int | None, int | None] | None = None,
    ) -> Expression:
        """
        Make a window function of it.

        `rows` or `range` are the ends of the frame, counted from the current row, as ``(-2, 0)``; None is the
        partition's end.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.col("a").sum().over(order_by=inlay.col("a"))).fetchall()
        [(1,), (3,)]
        """
        parts = []
        if partition_by is not None:
            parts.append("PARTITION BY " + ", ".join(map(_column_or_sql, _each(partition_by))))
        if order_by is not None:
            parts.append("ORDER BY " + ", ".join(map(order_text, _each(order_by))))
        if rows is not None and range is not None:
            raise _bad("over() takes rows or range, not both")
        frame = rows if rows is not None else range
        if frame is not None:
            start, end = _frame_end(frame[0], "PRECEDING"), _frame_end(frame[1], "FOLLOWING")
            parts.append(f"{'RANGE' if rows is None else 'ROWS'} BETWEEN {start} AND {end}")
        return _made(f"{self._sql} OVER ({' '.join(parts)})")

    def _binary(self, operator: str, other: Any, reflected: bool = False) -> Expression:
        left, right = (sql_of(other), self._sql) if reflected else (self._sql, sql_of(other))
        return _made(f"({left} {operator} {right})")

    def __add__(self, other: Any) -> Expression:
        return self._binary("+", other)

    def __radd__(self, other: Any) -> Expression:
        return self._binary("+", other, True)

    def __sub__(self, other: Any) -> Expression:
        return self._binary("-", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._binary("-", other, True)

    def __mul__(self, other: Any) -> Expression:
        return self._binary("*", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._binary("*", other, True)

    def __truediv__(self, other: Any) -> Expression:
        return self._binary("/", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._binary("/", other, True)

    def __floordiv__(self, other: Any) -> Expression:
        return self._binary("//", other)

    def __rfloordiv__(self, other: Any) -> Expression:
        return self._binary("//", other, True)

    def __mod__(self, other: Any) -> Expression:
        return self._binary("%", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._binary("%", other, True)

    def __pow__(self, other: Any) -> Expression:
        return self._binary("**", other)

    def __rpow__(self, other: Any) -> Expression:
        return self._binary("**", other, True)

    def __and__(self, other: Any) -> Expression:
        return self._binary("AND", other)

    def __rand__(self, other: Any) -> Expression:
        return self._binary("AND", other, True)

    def __or__(self, other: Any) -> Expression:
        return self._binary("OR", other)

    def __ror__(self, other: Any) -> Expression:
        return self._binary("OR", other, True)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("!=", other)

    def __lt__(self, other: Any) -> Expression:
        return self._binary("<", other)

    def __le__(self, other: Any) -> Expression:
        return self._binary("<=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._binary(">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._binary(">=", other)

    def __neg__(self) -> Expression:
        return _made(f"(- {self._sql})")

    def __invert__(self) -> Expression:
        return _made(f"(NOT {self._sql})")

    def __getitem__(self, key: Any) -> Expression:
        if isinstance(key, slice):
            ends = ["" if end is None else sql_of(end) for end in (key.start, key.stop)]
            return _made(f"{self._sql}[{ends[0]}:{ends[1]}]")
        return _made(f"{self._sql}[{sql_of(key)}]")


def _made(sql: str, name: str | None = None) -> Expression:
    """Make an expression of SQL that was made here, of parts that are expressions."""
    made = Expression.__new__(Expression)
    made._begin(sql, name)
    return made


def _enclosed(text: str) -> str:
    """Write a text of one expression so that operators may stand beside it."""
    text = _parts.expression(text)
    return f"({text})" if re.search(r"\W", text) else text


def _frame_end(at: int | None, unbounded: str) -> str:
    if at is None:
        return f"UNBOUNDED {unbounded}"
    if at == 0:
        return "CURRENT ROW"
    return f"{abs(int(at))} {'PRECEDING' if at < 0 else 'FOLLOWING'}"


def _each(values: Any) -> Iterable[Any]:
    return values if isinstance(values, (list, tuple)) else (values,)


def _column_or_sql(value: Any) -> str:
    return quote(value) if isinstance(value, str) else sql_of(value)


def order_text(value: Any) -> str:
    """Write an item of ORDER BY: a text of SQL, which may have several, or an expression with its direction."""
    return (
        _parts.order(value)
        if isinstance(value, str)
        else value.as_order()
        if isinstance(value, Expression)
        else sql_of(value)
    )


def _case(branches: tuple[tuple[str, str], ...], otherwise: str | None) -> Expression:
    text = " ".join(f"WHEN {condition} THEN {value}" for condition, value in branches)
    end = f" ELSE {otherwise}" if otherwise is not None else ""
    return _made(f"(CASE {text}{end} END)")._with(_branches=branches, _else=otherwise)


def ColumnExpression(*names: str) -> Expression:
    """Name a column; before its name may stand those of its table, schema and database."""
    return _made(".".join("*" if name == "*" else quote(name) for name in names), names[-1])


def ConstantExpression(value: Any) -> Expression:
    """Make a constant of a Python value."""
    return _made(sql_of(value))


def FunctionExpression(function_name: str, *args: Any) -> Expression:
    """Call a function."""
    return _made(f"{_parts.function_name(function_name)}({', '.join(map(sql_of, args))})")


def CaseExpression(condition: Any, value: Any) -> Expression:
    """Begin a CASE, to which `when` adds branches and `otherwise` the rest."""
    return _case(((sql_of(condition), sql_of(value)),), None)


def CoalesceOperator(*args: Any) -> Expression:
    """Take the first value that is not NULL."""
    return _made(f"COALESCE({', '.join(map(sql_of, args))})")


def StarExpression(*, exclude: Iterable[str | Expression] | None = None) -> Expression:
    """Take all columns but those excluded."""
    names = [quote(name) if isinstance(name, str) else sql_of(name) for name in exclude or ()]
    return _made(f"* EXCLUDE ({', '.join(names)})" if names else "*")


def LambdaExpression(lhs: str | Expression | tuple[str | Expression, ...], rhs: Any) -> Expression:
    """Make a function of its parameters' names and what it gives, for functions on lists."""
    names = [quote(name) if isinstance(name, str) else sql_of(name) for name in _each(lhs)]
    return _made(f"lambda {', '.join(names)}: {sql_of(rhs)}")


def SQLExpression(expression: str) -> Expression:
    """Take SQL as it is: one expression, to which ``AS name`` gives a name."""
    items, named = parts(_parts.items(expression))
    if items > 1:
        raise _bad(f"SQLExpression takes one expression, and the text has {items}")
    if named is not None:
        return SQLExpression(named[0]).alias(named[1])
    return Expression(expression)


def DefaultExpression() -> Expression:
    """Take the default of a column, in INSERT and UPDATE."""
    return _made("DEFAULT")
