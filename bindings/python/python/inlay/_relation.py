"""
Relations: queries that run when they are read.

A relation is the text of a query, the Python objects that the text names as tables (found when the relation was made,
and held from then on, so that a variable may be bound anew), and its connection. Each step is bound at once, so that
mistakes show where they are made, and nothing runs. Steps are put together as text: subqueries, which the optimizer
merges.

What only filters keeps its FROM, so that in `a.join(b, ...).filter("a.x > b.y")` both names are there.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from inlay._expression import Expression, order_text, quote, quote_path, sql_of
from inlay._inlay import Answer, Connection
from inlay.exceptions import CatalogException, InvalidInputException
from inlay.sqltypes import SQLType

_numbers = itertools.count(1)

# Within the class, `list` is the aggregate.
Names = list[str]
Types = list[SQLType]
Rows = list[tuple[Any, ...]]
Records = list[dict[str, Any]]
Description = list[tuple[str, SQLType, None, None, None, None, None]]

#: Rows that a picture of a relation looks at.
_SHOWN_MAX = 10_000
#: Rows of a table in a notebook.
_PAGE = 50

_NAMES = re.compile(r'\s*(\w+|"[^"]+")(\s*,\s*(\w+|"[^"]+"))*\s*')


def _bad(message: str) -> InvalidInputException:
    error = InvalidInputException(message)
    error.sqlstate = "22023"
    return error


def _each(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _items(values: Iterable[Any]) -> str:
    """SELECT items: a single text is SQL, several are names of columns."""
    values = [each for value in values for each in _each(value)]
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return ", ".join(_item(value) for value in values)


def _item(value: Any) -> str:
    if isinstance(value, Expression):
        return value.as_select()
    if isinstance(value, str):
        return value if value == "*" else quote_path(value)
    return sql_of(value)


def _condition(value: Any) -> str:
    return value if isinstance(value, str) else sql_of(value)


def _strip(sql: str) -> str:
    return sql.strip().rstrip(";").rstrip()


def _aggregate(function: str, doc: str) -> Callable[..., Relation]:
    def method(
        self: Relation, expression: Any, groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        return self._call(f"{function}({_condition(expression)})", groups, window_spec, projected_columns)

    method.__doc__ = f"{doc} of an expression, by groups or over a window."
    return method


def _window(call: str, doc: str) -> Callable[..., Relation]:
    def method(self: Relation, window_spec: str, projected_columns: str = "") -> Relation:
        return self._call(call, "", window_spec, projected_columns)

    method.__doc__ = f"{doc} of each row in a window such as ``OVER (PARTITION BY a ORDER BY b)``."
    return method


class Relation:
    """
    A query that runs when it is read, every time. Its `repr` is a table of its rows.

    Relations come from `Connection.sql`, `table`, `values`, `read_csv`, `from_df` and the like; each method that gives
    a relation leaves the one it belongs to as it is.

    Examples
    --------
    >>> import inlay
    >>> inlay.sql("SELECT 3 AS km UNION ALL SELECT 4").filter("km > 3").fetchall()
    [(4,)]
    """

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
        self._alias = alias or f"unnamed_relation_{next(_numbers):x}"
        # The FROM of further steps, whose rows are filtered by all of `where`.
        self._from = item
        self._where = where
        self._table = table
        self._answer = answer
        # Of fetchone and fetchmany.
        self._reading: Iterator[tuple[Any, ...]] | None = None
        if answer is None:
            _, described, found = connection._describe(sql, self._tables)
            self._tables.update(found)
            self._names, types = described or ([], [])
        else:
            self._names, types = answer.columns, answer.types
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
        return Relation(self._connection, sql, self._tables if tables is None else tables, **options)

    def _view(self) -> tuple[str, dict[str, Any]]:
        """Text and tables, under names that nothing else has."""
        if not self._tables:
            return self._sql, {}
        renamed = {name: f"{name} #{next(_numbers)}" for name in self._tables if " #" not in name}
        tables = {renamed.get(name, name): table for name, table in self._tables.items()}
        if not renamed:
            return self._sql, tables
        views = ", ".join(f"{quote(name)} AS (SELECT * FROM {quote(new)})" for name, new in renamed.items())
        return f"WITH {views} SELECT * FROM (\n{self._sql}\n)", tables

    def _combined(self, other: Any) -> tuple[str, dict[str, Any]]:
        """The other's text, and the tables of both."""
        if not isinstance(other, Relation):
            raise _bad(f"expected a relation, not an object of type {type(other).__name__}")
        clash = any(self._tables.get(name, table) is not table for name, table in other._tables.items())
        sql, tables = other._view() if clash else (other._sql, other._tables)
        return sql, {**self._tables, **tables}

    def _run(self, sql: str) -> Any:
        return self._connection._run(sql, self._tables)

    def _rows(self) -> Answer:
        if self._answer is not None:
            return self._answer
        answer: Answer = self._run(self._sql)
        return answer

    # What it is.

    @property
    def columns(self) -> Names:
        """Column names."""
        return list(self._names)

    @property
    def types(self) -> Types:
        """Column types."""
        return list(self._types)

    dtypes = types

    @property
    def description(self) -> Description:
        """Name and type of each column, as DB-API has them."""
        return [(name, ty, None, None, None, None, None) for name, ty in zip(self._names, self._types, strict=True)]

    @property
    def alias(self) -> str:
        """What further SQL may call it."""
        return self._alias

    @property
    def type(self) -> str:
        """The kind of relation."""
        return "TABLE_RELATION" if self._table else "QUERY_RELATION"

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns; the rows are counted by a query."""
        return len(self), len(self._names)

    def __len__(self) -> int:
        if self._answer is not None:
            return len(self._answer)
        return int(self._run(f"SELECT count(*) FROM {self._source()}").fetchall()[0][0])

    def __bool__(self) -> bool:
        # Without it, asking whether there is a relation would count its rows.
        return True

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Relation:
        if name not in self._names:
            raise CatalogException(f'the relation has no column "{name}"; it has {", ".join(self._names)}')
        return self.select(quote(name))

    def __getattr__(self, name: str) -> Relation:
        if not name.startswith("_") and name in self._names:
            return self.select(quote(name))
        raise AttributeError(f"'Relation' object has no attribute '{name}'")

    def sql_query(self) -> str:
        """Return the text of the query."""
        return self._sql

    # Steps.

    def filter(self, filter_expr: Any) -> Relation:
        """Keep the rows for which a condition, SQL or an expression, is true."""
        where = (*self._where, _condition(filter_expr))
        item = self._from or self._nested()
        text = " AND ".join(f"({condition}\n)" for condition in where)
        return self._derive(f"SELECT * FROM {item} WHERE {text}", item=item, where=where)

    def select(self, *args: Any, groups: str = "") -> Relation:
        """
        Compute columns: SQL such as ``"a, b + 1 AS c"``, or several names and expressions.

        `groups` are expressions by which the rows are grouped.
        """
        end = f" GROUP BY {groups}" if groups else ""
        return self._derive(f"SELECT {_items(args)}\nFROM {self._source()}{end}")

    project = select

    def select_types(self, types: Any) -> Relation:
        """Keep the columns of these types."""
        wanted = {str(ty).upper() for ty in _each(types)}
        names = [name for name, ty in zip(self._names, self._types, strict=True) if ty.upper() in wanted]
        if not names:
            raise _bad(f"no column has one of the types {', '.join(sorted(wanted))}")
        return self.select(", ".join(map(quote, names)))

    select_dtypes = select_types

    def aggregate(self, aggr_expr: Any, group_expr: Any = "") -> Relation:
        """
        Aggregate: SQL such as ``"a, sum(b)"``, or expressions.

        Without `group_expr`, rows are grouped by what stands among the aggregates and is none.
        """
        groups = group_expr if isinstance(group_expr, str) else ", ".join(_item(each) for each in _each(group_expr))
        return self._derive(f"SELECT {_items([aggr_expr])}\nFROM {self._source()} GROUP BY {groups or 'ALL'}")

    def order(self, *order_expr: Any) -> Relation:
        """Sort by SQL such as ``"a DESC, b"``, or by expressions."""
        keys = ", ".join(order_text(key) for each in order_expr for key in _each(each))
        return self._derive(f"SELECT * FROM {self._source()} ORDER BY {keys}")

    sort = order

    def limit(self, n: int, offset: int = 0) -> Relation:
        """Keep `n` rows behind the first `offset`."""
        return self._derive(f"SELECT * FROM {self._source()} LIMIT {int(n)} OFFSET {int(offset)}")

    def head(self, n: int = 5) -> Relation:
        """Keep the first rows."""
        return self.limit(n)

    def offset(self, n: int) -> Relation:
        """Leave out the first rows."""
        return self._derive(f"SELECT * FROM {self._source()} OFFSET {int(n)}")

    def distinct(self, on: Any = None) -> Relation:
        """Keep one of equal rows, or the first row for each value of `on`."""
        keys = "" if on is None else f" ON ({_items([on])})"
        return self._derive(f"SELECT DISTINCT{keys} * FROM {self._source()}")

    def unique(self, unique_aggr: str) -> Relation:
        """Keep the distinct values of columns."""
        return self._derive(f"SELECT DISTINCT {unique_aggr} FROM {self._source()}")

    def set_alias(self, alias: str) -> Relation:
        """Name the relation, for conditions of joins."""
        return self._derive(self._sql, alias=alias, answer=self._answer)

    def union(self, union_rel: Relation) -> Relation:
        """Put the rows of both behind each other."""
        return self._set_operation("UNION ALL", union_rel)

    def union_by_name(self, other: Relation, *, all: bool = True) -> Relation:
        """Put the rows of both behind each other, columns matched by name."""
        return self._set_operation(f"UNION {'ALL ' if all else ''}BY NAME", other)

    def except_(self, other_rel: Relation) -> Relation:
        """Keep the rows that the other has not, each as often as here but not there."""
        return self._set_operation("EXCEPT ALL", other_rel)

    def intersect(self, other_rel: Relation) -> Relation:
        """Keep the rows that both have, each as often as both have it."""
        return self._set_operation("INTERSECT ALL", other_rel)

    def _set_operation(self, operation: str, other: Relation) -> Relation:
        sql, tables = self._combined(other)
        return self._derive(f"(\n{self._sql}\n) {operation} (\n{sql}\n)", tables)

    def join(self, other_rel: Relation, condition: Any = None, how: str = "inner") -> Relation:
        """
        Join with another relation.

        Parameters
        ----------
        condition
            Names of columns of both, such as ``"id"`` or ``"id, day"``, each of which the result has once; or SQL or
            an expression, in which `set_alias` gives the relations names.
        how
            ``inner``, ``left``, ``right``, ``outer``, ``semi``, ``anti``, ``asof`` or ``asof left``.
        """
        kinds = {"outer": "FULL", "full": "FULL", "asof": "ASOF", "asof left": "ASOF LEFT"}
        kinds |= {kind: kind.upper() for kind in ("inner", "left", "right", "semi", "anti")}
        kind = kinds.get(how.lower())
        if kind is None:
            raise _bad(f"how={how!r}: expected one of {', '.join(kinds)}")
        if condition is None:
            raise _bad("a join needs a condition; cross() has none")
        names = None
        if isinstance(condition, str) and _NAMES.fullmatch(condition):
            names = condition
        elif isinstance(condition, Expression) and condition._name and "." not in condition._sql:
            names = condition._sql
        elif isinstance(condition, (list, tuple)):
            names = ", ".join(_item(each) for each in condition)
        on = f"USING ({names})" if names else f"ON {_condition(condition)}\n"
        return self._joined(other_rel, f"{kind} JOIN", on)

    def cross(self, other_rel: Relation) -> Relation:
        """Join each row with each row of another relation."""
        return self._joined(other_rel, "CROSS JOIN", "")

    def _joined(self, other: Relation, kind: str, on: str) -> Relation:
        sql, tables = self._combined(other)
        if other._alias.lower() == self._alias.lower():
            raise _bad(f'both relations are called "{self._alias}"; set_alias() gives one another name')
        left = self._nested() if self._where else self._from or self._nested()
        item = f"{left} {kind} (\n{sql}\n) AS {quote(other._alias)} {on}"
        return self._derive(f"SELECT * FROM {item}", tables, item=item, alias=f"{self._alias}_{other._alias}")

    def with_columns(self, **columns: Any) -> Relation:
        """Add columns, or compute those of the same names anew."""
        new = {name: _condition(value) for name, value in columns.items()}
        kept = [new.pop(name) + f" AS {quote(name)}" if name in new else quote(name) for name in self._names]
        return self.select(", ".join([*kept, *(f"{value} AS {quote(name)}" for name, value in new.items())]))

    def drop(self, *columns: str) -> Relation:
        """Leave out columns."""
        return self.select(f"* EXCLUDE ({', '.join(map(quote, columns))})")

    def rename(self, **columns: str) -> Relation:
        """Rename columns: ``rename(old="new")``."""
        pairs = ", ".join(f"{quote(old)} AS {quote(new)}" for old, new in columns.items())
        return self.select(f"* RENAME ({pairs})")

    def sample(self, n: int | None = None, *, percent: float | None = None, seed: int | None = None) -> Relation:
        """Take some rows at random: `n` of them, or a share in percent."""
        size = f"{int(n)} ROWS" if n is not None else f"{float(percent or 0)}%"
        again = f" (reservoir, {int(seed)})" if seed is not None else ""
        return self._derive(f"SELECT * FROM {self._nested()} USING SAMPLE {size}{again}")

    # Aggregates and window functions by name.

    def _call(self, call: str, groups: str, window_spec: str, projected_columns: str) -> Relation:
        before = f"{projected_columns}, " if projected_columns else ""
        end = f" GROUP BY {groups}" if groups else ""
        over = f" {window_spec}" if window_spec else ""
        return self._derive(f"SELECT {before}{call}{over}\nFROM {self._source()}{end}")

    any_value = _aggregate("any_value", "Any value that is not NULL")
    avg = _aggregate("avg", "The mean")
    mean = avg
    bit_and = _aggregate("bit_and", "Bits set in all values")
    bit_or = _aggregate("bit_or", "Bits set in any value")
    bit_xor = _aggregate("bit_xor", "Bits set in an odd number of values")
    bool_and = _aggregate("bool_and", "Whether all are true")
    bool_or = _aggregate("bool_or", "Whether any is true")
    favg = _aggregate("favg", "The mean, by exact summation")
    fsum = _aggregate("fsum", "The sum, by exact summation")
    geomean = _aggregate("geomean", "The geometric mean")
    histogram = _aggregate("histogram", "How often each value occurs")
    list = _aggregate("list", "All values")
    max = _aggregate("max", "The largest value")
    median = _aggregate("median", "The median")
    min = _aggregate("min", "The smallest value")
    mode = _aggregate("mode", "The most frequent value")
    product = _aggregate("product", "The product")
    stddev = _aggregate("stddev", "The standard deviation of a sample")
    stddev_samp = _aggregate("stddev_samp", "The standard deviation of a sample")
    std = stddev
    stddev_pop = _aggregate("stddev_pop", "The standard deviation of a population")
    sum = _aggregate("sum", "The sum")
    var_pop = _aggregate("var_pop", "The variance of a population")
    var_samp = _aggregate("var_samp", "The variance of a sample")
    var = var_samp
    variance = _aggregate("variance", "The variance of a sample")
    bitstring_agg = _aggregate("bitstring_agg", "A bit for each value that occurs")

    def first(self, expression: str, groups: str = "", projected_columns: str = "") -> Relation:
        """Take the first value."""
        return self._call(f"first({expression})", groups, "", projected_columns)

    def last(self, expression: str, groups: str = "", projected_columns: str = "") -> Relation:
        """Take the last value."""
        return self._call(f"last({expression})", groups, "", projected_columns)

    def count(
        self, expression: str = "*", groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """Count values that are not NULL, or rows."""
        return self._call(f"count({_condition(expression)})", groups, window_spec, projected_columns)

    def value_counts(self, expression: str, groups: str = "") -> Relation:
        """Count how often each value of a column occurs."""
        by = ", ".join(filter(None, [groups, expression]))
        return self._call(f"count({expression})", by, "", by)

    def arg_max(
        self, arg_column: str, value_column: str, groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """Take the value of one column where another is largest."""
        return self._call(f"arg_max({arg_column}, {value_column})", groups, window_spec, projected_columns)

    def arg_min(
        self, arg_column: str, value_column: str, groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """Take the value of one column where another is smallest."""
        return self._call(f"arg_min({arg_column}, {value_column})", groups, window_spec, projected_columns)

    def string_agg(
        self, expression: str, sep: str = ",", groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """Put texts behind each other."""
        return self._call(f"string_agg({expression}, {sql_of(sep)})", groups, window_spec, projected_columns)

    def quantile_disc(
        self, expression: str, q: Any = 0.5, groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """Take the value at a quantile, or at several."""
        return self._call(f"quantile_disc({expression}, {sql_of(q)})", groups, window_spec, projected_columns)

    quantile = quantile_disc

    def quantile_cont(
        self, expression: str, q: Any = 0.5, groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """Interpolate the value at a quantile, or at several."""
        return self._call(f"quantile_cont({expression}, {sql_of(q)})", groups, window_spec, projected_columns)

    def apply(
        self,
        function_name: str,
        function_aggr: str,
        group_expr: str = "",
        function_parameter: str = "",
        projected_columns: str = "",
    ) -> Relation:
        """Aggregate columns by a function."""
        more = f", {function_parameter}" if function_parameter else ""
        return self._call(f"{function_name}({function_aggr}{more})", group_expr, "", projected_columns)

    row_number = _window("row_number()", "The number")
    rank = _window("rank()", "The rank, with gaps,")
    dense_rank = _window("dense_rank()", "The rank, without gaps,")
    rank_dense = dense_rank
    percent_rank = _window("percent_rank()", "The relative rank")
    cume_dist = _window("cume_dist()", "The cumulative distribution")

    def n_tile(self, window_spec: str, num_buckets: int, projected_columns: str = "") -> Relation:
        """Divide a window's rows into parts of equal size."""
        return self._call(f"ntile({int(num_buckets)})", "", window_spec, projected_columns)

    def first_value(self, expression: str, window_spec: str = "", projected_columns: str = "") -> Relation:
        """Take the first value of a window."""
        return self._call(f"first_value({expression})", "", window_spec or "OVER ()", projected_columns)

    def last_value(self, expression: str, window_spec: str = "", projected_columns: str = "") -> Relation:
        """Take the last value of a window."""
        return self._call(f"last_value({expression})", "", window_spec or "OVER ()", projected_columns)

    def nth_value(
        self,
        expression: str,
        window_spec: str,
        offset: int,
        ignore_nulls: bool = False,
        projected_columns: str = "",
    ) -> Relation:
        """Take a window's value at a position, counted from 1."""
        arguments = f"{expression}, {int(offset)}"
        return self._in_window("nth_value", arguments, window_spec, ignore_nulls, projected_columns)

    def _in_window(
        self, function: str, arguments: str, window_spec: str, ignore_nulls: bool, projected_columns: str
    ) -> Relation:
        ignore = " IGNORE NULLS" if ignore_nulls else ""
        return self._call(f"{function}({arguments}{ignore})", "", window_spec, projected_columns)

    def lag(
        self,
        expression: str,
        window_spec: str,
        offset: int = 1,
        default_value: str = "NULL",
        ignore_nulls: bool = False,
        projected_columns: str = "",
    ) -> Relation:
        """Take the value of an earlier row of a window."""
        arguments = f"{expression}, {int(offset)}, {default_value}"
        return self._in_window("lag", arguments, window_spec, ignore_nulls, projected_columns)

    def lead(
        self,
        expression: str,
        window_spec: str,
        offset: int = 1,
        default_value: str = "NULL",
        ignore_nulls: bool = False,
        projected_columns: str = "",
    ) -> Relation:
        """Take the value of a later row of a window."""
        arguments = f"{expression}, {int(offset)}, {default_value}"
        return self._in_window("lead", arguments, window_spec, ignore_nulls, projected_columns)

    def describe(self) -> Relation:
        """Count, mean, standard deviation, minimum, maximum and median of each column."""
        numeric = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "REAL")
        items = ["unnest(['count', 'mean', 'stddev', 'min', 'max', 'median']) AS aggr"]
        values = []
        for index, (name, ty) in enumerate(zip(self._names, self._types, strict=True)):
            is_number = ty.removeprefix("U") in numeric or ty.id == "decimal"
            column = quote(name)
            calls = [f"{call}({column})" for call in ("count", "avg", "stddev", "min", "max", "median")]
            if not is_number:
                calls = [call if call[:3] in ("cou", "min", "max") else "NULL" for call in calls]
            wanted = "DOUBLE" if is_number else "VARCHAR"
            values.append(f"[{', '.join(f'{call}::{wanted}' for call in calls)}] AS c{index}")
            items.append(f"unnest(c{index}) AS {column}")
        inner = f"SELECT {', '.join(values)} FROM {self._source()}"
        return self._derive(f"SELECT {', '.join(items)} FROM (\n{inner}\n) AS d")

    # Rows.

    def execute(self) -> Relation:
        """Run the query now; its rows are kept, and given by this relation from now on."""
        self._answer = self._rows()
        return self

    def materialize(self) -> Relation:
        """Run the query now and return a relation of its rows, which are kept in memory."""
        return of_answer(self._connection, self._rows(), self._alias)

    def close(self) -> None:
        """Do nothing: a relation holds no rows unless it was executed."""

    def fetchall(self) -> Rows:
        """Fetch all rows."""
        return self._rows().fetchall()

    def fetchone(self) -> tuple[Any, ...] | None:
        """Fetch the next row, or None. The first call runs the query; other methods give all rows all the same."""
        if self._reading is None:
            self._reading = iter(self._rows())
        return next(self._reading, None)

    def fetchmany(self, size: int = 1) -> Rows:
        """Fetch up to `size` of the rows that `fetchone` would give."""
        rows = (self.fetchone() for _ in range(size))
        return [row for row in itertools.takewhile(lambda row: row is not None, rows) if row is not None]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows())

    def to_dicts(self) -> Records:
        """Fetch all rows as dictionaries."""
        return [dict(zip(self._names, row, strict=True)) for row in self]

    def fetchnumpy(self, decimal: str | None = None) -> dict[str, Any]:
        """Fetch one NumPy array per column, of shape ``(n,)``, masked where NULL; see `Connection.fetchnumpy`."""
        return self._rows().fetchnumpy(decimal)

    def df(self, decimal: str | None = None) -> Any:
        """Fetch a pandas data frame; see `Connection.df`."""
        return self._rows().df(decimal)

    to_df = df
    fetchdf = df

    def arrow(self) -> Any:
        """Fetch a `pyarrow.Table`."""
        return self._rows().arrow()

    to_arrow_table = arrow
    fetch_arrow_table = arrow

    def fetch_record_batch(self, rows_per_batch: int = 131_072) -> Any:
        """Fetch a `pyarrow.RecordBatchReader`; batches are converted when they are read."""
        return self._rows().reader(rows_per_batch)

    fetch_arrow_reader = fetch_record_batch
    to_arrow_reader = fetch_record_batch

    def pl(self, *, lazy: bool = False) -> Any:
        """Fetch a Polars data frame, or its `LazyFrame`."""
        frame = self._rows().pl()
        return frame.lazy() if lazy else frame

    def torch(self) -> dict[str, Any]:
        """Fetch a PyTorch tensor per column, of shape ``(n,)``."""
        import torch

        return {name: torch.as_tensor(values) for name, values in self.fetchnumpy().items()}

    def tf(self) -> dict[str, Any]:
        """Fetch a TensorFlow tensor per column, of shape ``(n,)``."""
        import tensorflow

        return {name: tensorflow.convert_to_tensor(values) for name, values in self.fetchnumpy().items()}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows().__arrow_c_stream__(requested_schema)

    # Pictures.

    def _first(self, rows: int) -> tuple[Answer, bool]:
        """The first rows, and whether there are more."""
        if self._answer is not None:
            return self._answer, False
        answer: Answer = self._run(f"SELECT * FROM {self._source()} LIMIT {rows + 1}")
        if len(answer) <= rows:
            return answer, False
        answer = self._run(f"SELECT * FROM {self._source()} LIMIT {rows}")
        return answer, True

    def _picture(self, **options: Any) -> str:
        answer, more = self._first(_SHOWN_MAX)
        text: str = answer.render(**options)
        if more:
            body, _, footer = text.rpartition("\n")
            text = f"{body}\nmore than {footer}" if "rows" in footer else text
        return text

    def __repr__(self) -> str:
        return self._picture()

    def preview(self, limit: int = 10) -> str:
        """Draw the first rows."""
        return self.limit(limit)._picture()

    def show(
        self,
        *,
        max_width: int | None = None,
        max_rows: int | None = None,
        max_col_width: int | None = None,
        null_value: str | None = None,
        render_mode: Any = None,
    ) -> None:
        """Print the first and last rows as a table."""
        print(self._picture(max_width=max_width, max_rows=max_rows, max_col_width=max_col_width, null_value=null_value))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        answer, more = self._first(_PAGE)
        head = "".join(
            f"<th>{html.escape(name)}<br><small>{html.escape(ty)}</small></th>"
            for name, ty in zip(answer.columns, answer.types, strict=True)
        )
        rows = answer.fetchall()
        body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows[:_PAGE])
        more = more or len(rows) > _PAGE
        hint = f"the first {_PAGE} rows; <code>.limit({_PAGE}, offset={_PAGE})</code> has the next"
        table = f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        return {"text/plain": repr(self), "text/html": table + (f"<p><small>{hint}</small></p>" if more else "")}

    def explain(self, type: Any = "standard") -> str:
        """Return the plan; ``"analyze"`` runs the query and says what each step took."""
        analyze = "ANALYZE " if "analyze" in str(type).lower() else ""
        return "\n".join(str(row[-1]) for row in self._run(f"EXPLAIN {analyze}{self._sql}").fetchall())

    # Writing.

    def query(self, virtual_table_name: str, sql_query: str) -> Relation | None:
        """Run SQL in which this relation has a name."""
        sql, tables = self._view()
        return relation(self._connection, sql_query, {**tables, virtual_table_name: sql})

    def create(self, table_name: str) -> None:
        """Make a table of the rows."""
        self._run(f"CREATE TABLE {quote_path(table_name)} AS {self._sql}")

    to_table = create

    def create_view(self, view_name: str, replace: bool = True) -> Relation:
        """
        Make a view of the query.

        Python objects that it names are registered, and the view is temporary then.
        """
        sql, tables = self._view()
        for name, table in tables.items():
            if isinstance(table, str):
                self._connection._run(f"CREATE OR REPLACE TEMPORARY VIEW {quote(name)} AS {table}", {})
            else:
                self._connection.register(name, table)
        kind = f"CREATE {'OR REPLACE ' if replace else ''}{'TEMPORARY ' if tables else ''}VIEW"
        self._connection._run(f"{kind} {quote_path(view_name)} AS {sql}", {})
        return self._derive(f"SELECT * FROM {quote_path(view_name)}", {}, alias=view_name.rpartition(".")[2])

    to_view = create_view

    def insert_into(self, table_name: str) -> None:
        """Add the rows to a table."""
        self._run(f"INSERT INTO {quote_path(table_name)} {self._sql}")

    def _of_table(self, action: str) -> str:
        if self._table is None:
            raise _bad(f"{action} is for relations that are a table, as table() gives them")
        return quote_path(self._table)

    def insert(self, values: Any) -> None:
        """Add a row of these values to the table that this relation is."""
        self._run(f"INSERT INTO {self._of_table('insert()')} VALUES ({', '.join(map(sql_of, values))})")

    def update(self, set: Mapping[str, Any], *, condition: Any = None) -> None:
        """Change columns of the table that this relation is, of all rows or those for which a condition is true."""
        changes = ", ".join(f"{quote(name)} = {sql_of(value)}" for name, value in set.items())
        where = f" WHERE {_condition(condition)}" if condition is not None else ""
        self._run(f"UPDATE {self._of_table('update()')} SET {changes}{where}")

    def to_csv(self, file_name: Any, *, sep: str | None = None, na_rep: str | None = None, **options: Any) -> None:
        """
        Write the rows to a CSV file.

        Options are those of COPY, such as `header`, `compression`, `date_format`, `timestamp_format`; `quotechar` and
        `escapechar` are QUOTE and ESCAPE.
        """
        renamed = {
            "quotechar": "quote",
            "escapechar": "escape",
            "date_format": "dateformat",
            "timestamp_format": "timestampformat",
        }
        given: dict[str, Any] = {"delimiter": sep, "nullstr": na_rep, "header": True}
        given |= {renamed.get(name, name): value for name, value in options.items() if name != "quoting"}
        if str(options.get("quoting", "")).lower() in ("1", "all", "quote_all"):
            given["force_quote"] = Expression("*")
        self._copy(file_name, "csv", given)

    write_csv = to_csv

    def to_parquet(self, file_name: Any, **options: Any) -> None:
        """Write the rows to a Parquet file; options are those of COPY, such as `compression` and `row_group_size`."""
        self._copy(file_name, "parquet", options)

    write_parquet = to_parquet

    def _copy(self, path: Any, format: str, options: Mapping[str, Any]) -> None:
        import os

        parts = [f"FORMAT {format}"]
        for name, value in options.items():
            if isinstance(value, (list, tuple)):
                parts.append(f"{name} ({', '.join(map(quote, value))})")
            elif value is not None:
                parts.append(f"{name} {sql_of(value)}")
        self._run(f"COPY (\n{self._sql}\n) TO {sql_of(os.fsdecode(path))} ({', '.join(parts)})")

    def map(self, map_function: Callable[[Any], Any], *, schema: Any = None) -> Relation:
        """Apply a function to the rows as a pandas data frame; it returns another, which is a relation then."""
        return of_object(self._connection, map_function(self.df()))


def _cell(value: Any) -> str:
    if value is None:
        return "<i>NULL</i>"
    text = str(value)
    return html.escape(text if len(text) <= 200 else text[:200] + "…")


def relation(
    connection: Connection, sql: str, tables: Mapping[str, Any] | None = None, alias: str = ""
) -> Relation | None:
    """
    Make a relation of SQL.

    A last statement that changes nothing is run when the relation is read; any other runs now, and the relation has the
    rows that it gave, if it gives any.
    """
    last, described, found = connection._describe(sql, dict(tables or {}))
    given = {**(tables or {}), **found}
    if described is not None:
        return Relation(connection, _strip(last), given, alias=alias)
    answer = connection._run(last, given) if last else None
    return of_answer(connection, answer, alias) if isinstance(answer, Answer) else None


def of_answer(connection: Connection, answer: Answer, alias: str = "") -> Relation:
    """Make a relation of rows."""
    name = f"rows #{next(_numbers)}"
    tables = {name: connection._table(name, answer)}
    return Relation(connection, f"SELECT * FROM {quote(name)}", tables, alias=alias, answer=answer)


def of_object(connection: Connection, values: Any, alias: str = "") -> Relation:
    """Make a relation of a Python object, which is held as long as the relation is."""
    if isinstance(values, Relation):
        return values
    name = f"{type(values).__name__} #{next(_numbers)}"
    return Relation(connection, f"SELECT * FROM {quote(name)}", {name: connection._table(name, values)}, alias=alias)


def of_table(connection: Connection, name: str) -> Relation:
    """Make a relation of a table or view."""
    path, alias = quote_path(name), name.rpartition(".")[2].strip('"')
    found = Relation(connection, f"SELECT * FROM {path}", alias=alias, item=f"{path} AS {quote(alias)}", table=name)
    return found
