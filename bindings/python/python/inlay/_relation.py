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
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from inlay import _parts
from inlay._expression import Expression, order_text
from inlay._inlay import Answer, Connection
from inlay._parts import quote, quote_path
from inlay._query import as_list, bad, condition_text, next_number, select_item, select_items
from inlay._reshape import names_of, new_columns, new_names
from inlay._writing import Writing
from inlay.exceptions import CatalogException, InvalidInputException
from inlay.sqltypes import sqltype

# Of DuckDB's names, `list` is an aggregate.
Rows = list[tuple[Any, ...]]
Records = list[dict[str, Any]]

#: Rows that a picture of a relation looks at.
_SHOWN_MAX = 10_000
#: Rows of a table in a notebook.
_PAGE = 50

_NAMES = re.compile(r'\s*(\w+|"[^"]+")(\s*,\s*(\w+|"[^"]+"))*\s*')


def _whole(method: str, name: str, value: Any) -> int:
    """Return a number of rows; a fraction or a text is none."""
    try:
        return operator.index(value)
    except TypeError:
        raise bad(f"{method}(): {name} is a whole number, not {value!r}") from None


def _strip(sql: str) -> str:
    return sql.strip().rstrip(";").rstrip()


class Relation(Writing):
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

    # Steps.

    def __getitem__(self, name: str | list[str]) -> Relation:
        names = name if isinstance(name, list) else [name]
        self._look()
        for each in names:
            if not isinstance(each, str):
                shown = f"{each!r}: a relation is indexed by a column's name, or a list of names; limit() picks rows"
                raise bad(f"a relation has no {shown}")
            if each not in self._names:
                raise CatalogException(f'the relation has no column "{each}"; it has {", ".join(self._names)}')
        if not names:
            raise bad("a relation has at least one column; [] names none")
        return self.select(", ".join(map(quote, names)))

    def __getattr__(self, name: str) -> Relation:
        if not name.startswith("_") and (name in self._names or name in self):
            return self.select(quote(name))
        raise AttributeError(f"'Relation' object has no attribute '{name}'")

    def filter(self, filter_expr: Any) -> Relation:
        """
        Keep the rows for which a condition, SQL or an expression, is true.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.filter("km > 3").fetchall()
        [('Bonn', 8), ('Ulm', 4)]
        """
        where = (*self._where, condition_text(filter_expr))
        item = self._from or self._nested()
        text = " AND ".join(f"({condition}\n)" for condition in where)
        return self._derive(f"SELECT * FROM {item} WHERE {text}", item=item, where=where)

    def select(self, *args: Any, groups: str = "") -> Relation:
        """
        Compute columns: SQL such as ``"a, b + 1 AS c"``, or several names and expressions.

        `groups` are expressions by which the rows are grouped.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.select("a + b AS c, a").fetchall()
        [(5, 1), (8, 2)]
        """
        if not args:
            raise bad("select() needs the name of a column or an expression")
        end = f" GROUP BY {_parts.groups(groups)}" if groups else ""
        return self._derive(f"SELECT {select_items(args)}\nFROM {self._source()}{end}")

    project = select

    def select_types(self, types: Any) -> Relation:
        """
        Keep the columns of these types.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.select_types(["INTEGER"]).columns
        ['km']
        """
        wanted = {str(ty).upper() for ty in as_list(types)}
        self._look()
        names = [name for name, ty in zip(self._names, self._types, strict=True) if ty.upper() in wanted]
        if not names:
            raise bad(f"no column has one of the types {', '.join(sorted(wanted))}")
        return self.select(", ".join(map(quote, names)))

    select_dtypes = select_types

    def aggregate(self, aggr_expr: Any, group_expr: Any = "") -> Relation:
        """
        Aggregate: SQL such as ``"a, sum(b)"``, or expressions.

        Without `group_expr`, rows are grouped by what stands among the aggregates and is none.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.aggregate("city, sum(km) AS km").order("city").fetchall()
        [('Bonn', 8), ('Ulm', 7)]
        """
        if isinstance(group_expr, str):
            groups = _parts.groups(group_expr or "ALL")
        else:
            groups = ", ".join(map(select_item, as_list(group_expr))) or "ALL"
        return self._derive(f"SELECT {select_items([aggr_expr])}\nFROM {self._source()} GROUP BY {groups}")

    def order(self, *order_expr: Any) -> Relation:
        """
        Sort by SQL such as ``"a DESC, b"``, or by expressions.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.order("city, km DESC").fetchall()
        [('Bonn', 8), ('Ulm', 4), ('Ulm', 3)]
        """
        keys = ", ".join(order_text(key) for each in order_expr for key in as_list(each))
        return self._derive(f"SELECT * FROM {self._source()} ORDER BY {keys}")

    sort = order

    def limit(self, n: int, offset: int = 0) -> Relation:
        """
        Keep `n` rows behind the first `offset`.

        Examples
        --------
        >>> inlay.sql("FROM range(9)").limit(2, offset=3).fetchall()
        [(3,), (4,)]
        """
        rows, first = _whole("limit", "n", n), _whole("limit", "offset", offset)
        return self._derive(f"SELECT * FROM {self._source()} LIMIT {rows} OFFSET {first}")

    def head(self, n: int = 5) -> Relation:
        """
        Keep the first rows.

        Examples
        --------
        >>> inlay.sql("FROM range(9)").head(2).fetchall()
        [(0,), (1,)]
        """
        return self.limit(n)

    def offset(self, n: int) -> Relation:
        """
        Leave out the first rows.

        Examples
        --------
        >>> inlay.sql("FROM range(4)").offset(2).fetchall()
        [(2,), (3,)]
        """
        return self._derive(f"SELECT * FROM {self._source()} OFFSET {int(n)}")

    def distinct(self, on: Any = None) -> Relation:
        """
        Keep one of equal rows, or the first row for each value of `on`.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.select("city").distinct().order("city").fetchall()
        [('Bonn',), ('Ulm',)]
        """
        keys = "" if on is None else f" ON ({select_items([on])})"
        return self._derive(f"SELECT DISTINCT{keys} * FROM {self._source()}")

    def unique(self, unique_aggr: str) -> Relation:
        """
        Keep the distinct values of columns.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.unique("city").order("city").fetchall()
        [('Bonn',), ('Ulm',)]
        """
        return self._derive(f"SELECT DISTINCT {_parts.items(unique_aggr)} FROM {self._source()}")

    def set_alias(self, alias: str) -> Relation:
        """
        Name the relation, for conditions of joins.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.set_alias("x").join(r.set_alias("y"), "x.a < y.b").shape
        (4, 4)
        """
        return self._derive(self._sql, alias=alias, answer=self._answer)

    def union(self, union_rel: Relation) -> Relation:
        """
        Put the rows of both behind each other.

        Examples
        --------
        >>> inlay.sql("SELECT 1").union(inlay.sql("SELECT 2")).fetchall()
        [(1,), (2,)]
        """
        return self._set_operation("UNION ALL", union_rel)

    def union_by_name(self, other: Relation, *, all: bool = True) -> Relation:
        """
        Put the rows of both behind each other, columns matched by name.

        Examples
        --------
        >>> inlay.sql("SELECT 1 AS a").union_by_name(inlay.sql("SELECT 2 AS b")).fetchall()
        [(1, None), (None, 2)]
        """
        return self._set_operation(f"UNION {'ALL ' if all else ''}BY NAME", other)

    def except_(self, other_rel: Relation) -> Relation:
        """
        Keep the rows that the other has not, each as often as here but not there.

        Examples
        --------
        >>> inlay.sql("FROM range(3)").except_(inlay.sql("FROM range(2)")).fetchall()
        [(2,)]
        """
        return self._set_operation("EXCEPT ALL", other_rel)

    def intersect(self, other_rel: Relation) -> Relation:
        """
        Keep the rows that both have, each as often as both have it.

        Examples
        --------
        >>> inlay.sql("FROM range(3)").intersect(inlay.sql("FROM range(1)")).fetchall()
        [(0,)]
        """
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
            ``inner``, ``left``, ``right``, ``outer``, ``semi``, ``anti``, ``asof`` or ``asof left``; and without a
            condition ``natural``, ``positional`` or ``cross``.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> people = inlay.sql("SELECT 'Ulm' AS city, 'Ada' AS name")
        >>> r.join(people, "city").order("km").fetchall()
        [('Ulm', 3, 'Ada'), ('Ulm', 4, 'Ada')]
        """
        kinds = {"outer": "FULL", "full": "FULL", "asof": "ASOF", "asof left": "ASOF LEFT"}
        kinds |= {kind: kind.upper() for kind in ("inner", "left", "right", "semi", "anti")}
        bare = ("natural", "positional", "cross")
        if how.lower() in bare:
            if condition is not None:
                raise bad(f"how={how!r}: such a join has no condition")
            return self._joined(other_rel, f"{how.upper()} JOIN", "")
        kind = kinds.get(how.lower())
        if kind is None:
            raise bad(f"how={how!r}: expected one of {', '.join((*kinds, *bare))}")
        if condition is None:
            raise bad("a join needs a condition; how='natural', 'positional' and 'cross' have none")
        names = None
        if isinstance(condition, str) and _NAMES.fullmatch(condition):
            names = condition
        elif isinstance(condition, Expression) and condition._name and "." not in condition._sql:
            names = condition._sql
        elif isinstance(condition, (list, tuple)):
            names = ", ".join(select_item(each) for each in condition)
        on = f"USING ({names})" if names else f"ON {condition_text(condition)}\n"
        return self._joined(other_rel, f"{kind} JOIN", on)

    def cross(self, other_rel: Relation) -> Relation:
        """
        Join each row with each row of another relation.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.cross(inlay.sql("SELECT 9 AS c")).fetchall()
        [(1, 4, 9), (2, 6, 9)]
        """
        return self._joined(other_rel, "CROSS JOIN", "")

    def _joined(self, other: Relation, kind: str, on: str) -> Relation:
        sql, tables = self._combined(other)
        if other._alias.lower() == self._alias.lower():
            raise bad(f'both relations are called "{self._alias}"; set_alias() gives one another name')
        left = self._nested() if self._where else self._from or self._nested()
        item = f"{left} {kind} (\n{sql}\n) AS {quote(other._alias)} {on}"
        return self._derive(f"SELECT * FROM {item}", tables, item=item, alias=f"{self._alias}_{other._alias}")

    def with_columns(self, *expressions: Any, **columns: Any) -> Relation:
        """
        Add columns, or compute those of the same names anew.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.with_columns(c="a + b", a="-a").fetchall()
        [(-1, 4, 5), (-2, 6, 8)]
        >>> r.with_columns((inlay.col("a") + inlay.col("b")).alias("c")).fetchall()
        [(1, 4, 5), (2, 6, 8)]
        """
        new = new_columns(expressions, columns)
        self._look()
        kept = [new.pop(name) + f" AS {quote(name)}" if name in new else quote(name) for name in self._names]
        return self.select(", ".join([*kept, *(f"{value} AS {quote(name)}" for name, value in new.items())]))

    def drop(self, *columns: str | Iterable[str]) -> Relation:
        """
        Leave out columns.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.drop("a").columns
        ['b']
        """
        return self.select(f"* EXCLUDE ({', '.join(map(quote, names_of('drop', columns)))})")

    def rename(self, names: Mapping[str, str] | None = None, /, **columns: Any) -> Relation:
        """
        Rename columns: ``rename(old="new")``, or ``rename({"old": "new"})`` as in pandas and Polars.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.rename(a="x").columns
        ['x', 'b']
        >>> r.rename({"a": "b", "b": "a"}).columns
        ['b', 'a']
        """
        pairs = ", ".join(f"{quote(old)} AS {quote(new)}" for old, new in new_names(names, columns))
        return self.select(f"* RENAME ({pairs})")

    def sample(self, n: int | None = None, *, percent: float | None = None, seed: int | None = None) -> Relation:
        """
        Take some rows at random: `n` of them, or a share in percent.

        Examples
        --------
        >>> len(inlay.sql("FROM range(100)").sample(5))
        5
        """
        size = f"{int(n)} ROWS" if n is not None else f"{float(percent or 0)}%"
        again = f" (reservoir, {int(seed)})" if seed is not None else ""
        return self._derive(f"SELECT * FROM {self._nested()} USING SAMPLE {size}{again}")

    # Rows.

    def execute(self) -> Relation:
        """
        Run the query now; its rows are kept, and given by this relation from now on.

        Examples
        --------
        >>> len(inlay.sql("FROM range(3)").execute())
        3
        """
        self._answer = self._rows()
        return self

    def materialize(self) -> Relation:
        """
        Run the query now and return a relation of its rows, which are kept in memory.

        Examples
        --------
        >>> kept = inlay.sql("SELECT random() AS x").materialize()
        >>> kept.fetchall() == kept.fetchall()
        True
        """
        return of_answer(self._connection, self._rows(), self._alias)

    def close(self) -> None:
        """
        Do nothing: a relation holds no rows unless it was executed.

        Examples
        --------
        >>> inlay.sql("SELECT 1").close()
        """

    def fetchall(self) -> Rows:
        """
        Fetch all rows.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.fetchall()
        [(1, 4), (2, 6)]
        """
        return self._stream().fetchall()

    def fetchone(self) -> tuple[Any, ...] | None:
        """
        Fetch the next row, or None. The first call runs the query; other methods give all rows all the same.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.fetchone(), r.fetchone(), r.fetchone()
        ((1, 4), (2, 6), None)
        """
        with self._reading_lock:
            if self._reading is None:
                self._reading = iter(self._stream())
            return next(self._reading, None)

    def fetchmany(self, size: int = 1) -> Rows:
        """
        Fetch up to `size` of the rows that `fetchone` would give.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.fetchmany(5)
        [(1, 4), (2, 6)]
        """
        rows = (self.fetchone() for _ in range(size))
        return [row for row in itertools.takewhile(lambda row: row is not None, rows) if row is not None]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._stream())

    def to_dicts(self) -> Records:
        """
        Fetch all rows as dictionaries.

        Names that occur again are numbered, as in data frames: ``a, a_1``.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.to_dicts()
        [{'a': 1, 'b': 4}, {'a': 2, 'b': 6}]
        """
        # The tables may have other columns by now than when the relation was made.
        answer = self._stream()
        names = _parts.numbered(name for name, *_ in answer.description or ())
        return [dict(zip(names, row, strict=True)) for row in answer]

    def fetchnumpy(self, decimal: str | None = None, strings: str | None = None) -> dict[str, Any]:
        """
        Fetch one NumPy array per column, of shape ``(n,)``, masked where NULL; see `Connection.fetchnumpy`.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.fetchnumpy()["b"].tolist()
        [4, 6]
        """
        return self._stream().fetchnumpy(decimal, strings)

    def df(self, decimal: str | None = None, *, date_as_object: bool = False) -> Any:
        """
        Fetch a pandas data frame; see `Connection.df`.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.df()["b"].tolist()
        [4, 6]
        """
        answer = self._stream()
        described = answer.description
        frame = answer.df(decimal)
        if date_as_object:
            from inlay._frames import with_dates

            return with_dates(frame, described)
        return frame

    to_df = df
    fetchdf = df

    def arrow(self, batch_size: int | None = None) -> Any:
        """
        Fetch a `pyarrow.Table`, whose batches have `batch_size` rows if it is said.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.arrow().to_pydict()
        {'a': [1, 2], 'b': [4, 6]}
        """
        return self._stream().arrow() if batch_size is None else self.fetch_record_batch(batch_size).read_all()

    to_arrow_table = arrow
    fetch_arrow_table = arrow

    def fetch_record_batch(self, rows_per_batch: int | None = None, *, batch_size: int | None = None) -> Any:
        """
        Fetch a `pyarrow.RecordBatchReader`; batches are converted when they are read.

        They have `rows_per_batch` rows (`batch_size` means the same), the last one what is left.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.fetch_record_batch().read_all().num_rows
        2
        """
        return self._stream().fetch_record_batch(rows_per_batch if batch_size is None else batch_size)

    fetch_arrow_reader = fetch_record_batch
    to_arrow_reader = fetch_record_batch

    def pl(self, batch_size: int | None = None, *, lazy: bool = False) -> Any:
        """
        Fetch a Polars data frame, or its `LazyFrame`; its chunks have `batch_size` rows if it is said.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.pl()["b"].to_list()
        [4, 6]
        """
        frame = self._stream().pl()
        if batch_size is not None:
            from inlay._tables import even_chunks

            frame = even_chunks(frame, batch_size)
        return frame.lazy() if lazy else frame

    def torch(self, decimal: str | None = None) -> dict[str, Any]:
        """
        Fetch a PyTorch tensor per column, of shape ``(n,)``; see `Connection.torch`.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.torch()["b"].tolist()  # doctest: +SKIP
        [4, 6]
        """
        from inlay._tensors import torch_tensors

        return torch_tensors(self.fetchnumpy(decimal))

    def tf(self, decimal: str | None = None) -> dict[str, Any]:
        """
        Fetch a TensorFlow tensor per column, of shape ``(n,)``; see `Connection.torch`.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.tf()["b"].numpy().tolist()  # doctest: +SKIP
        [4, 6]
        """
        from inlay._tensors import tensorflow_tensors

        return tensorflow_tensors(self.fetchnumpy(decimal))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._stream().__arrow_c_stream__(requested_schema)

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
        """
        Draw the first rows.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> print(r.preview(1).splitlines()[0][:1])
        ┌
        """
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
        """
        Print the first and last rows as a table.

        Examples
        --------
        >>> inlay.sql("SELECT 1 AS a").show()  # doctest: +SKIP
        """
        if render_mode is not None and str(getattr(render_mode, "name", render_mode)).upper() != "ROWS":
            raise bad(f"render_mode={render_mode!r}: tables are drawn with a line for each row, RenderMode.ROWS")
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
        """
        Return the plan; ``"analyze"`` runs the query and says what each step took.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> "a" in r.filter("a > 1").explain()
        True
        """
        kind = str(getattr(type, "name", type)).lower()
        if kind not in ("standard", "analyze"):
            raise bad(f"type={type!r}: expected 'standard' or 'analyze'")
        analyze = "ANALYZE " if kind == "analyze" else ""
        return "\n".join(str(row[-1]) for row in self._run(f"EXPLAIN {analyze}{self._sql}").fetchall())

    # Further SQL, and functions of Python.

    def query(self, virtual_table_name: str, sql_query: str) -> Relation | None:
        """
        Run SQL in which this relation has a name.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.query("n", "SELECT sum(b) FROM n").fetchall()
        [(10,)]
        """
        sql, tables = self._view()
        return relation(self._connection, sql_query, {**tables, virtual_table_name: sql}, is_script=False)

    def map(self, map_function: Callable[[Any], Any], *, schema: Any = None) -> Relation:
        """
        Apply a function to the rows as a pandas data frame; it returns another, which is a relation then.

        Parameters
        ----------
        schema
            The columns that the function promises, as a mapping from names to types: others are an error, and values of
            other types are cast.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.map(lambda frame: frame * 2).fetchall()
        [(2, 8), (4, 12)]
        >>> r.map(lambda frame: frame[["b"]] / 4, schema={"b": "DECIMAL(4, 1)"}).fetchall()
        [(Decimal('1.0'),), (Decimal('1.5'),)]
        """
        mapped = of_object(self._connection, map_function(self.df()))
        if schema is None:
            return mapped
        promised = {str(name): sqltype(type) for name, type in schema.items()}
        if list(promised) != mapped.columns:
            raise InvalidInputException(
                f"the function of map() returned the columns {mapped.columns}, its schema promises {list(promised)}"
            )
        return mapped.select(*(f"CAST({quote(name)} AS {type}) AS {quote(name)}" for name, type in promised.items()))


def _cell(value: Any) -> str:
    if value is None:
        return "<i>NULL</i>"
    text = str(value)
    return html.escape(text if len(text) <= 200 else text[:200] + "…")


def relation(
    connection: Connection,
    sql: str,
    tables: Mapping[str, Any] | None = None,
    alias: str = "",
    *,
    is_script: bool = True,
) -> Relation | None:
    """
    Make a relation of SQL: of one statement, or of a script, whose other statements run now.

    A last statement that changes nothing is run when the relation is read; any other runs now, and the relation has the
    rows that it gave, if it gives any.
    """
    last, described, found = connection._describe(sql, dict(tables or {}), is_script)
    given = {**(tables or {}), **found}
    if described is not None:
        return Relation(connection, _strip(last), given, alias=alias)
    answer = connection._run(last, given) if last else None
    return of_answer(connection, answer, alias) if isinstance(answer, Answer) else None


def of_answer(connection: Connection, answer: Answer, alias: str = "") -> Relation:
    """Make a relation of rows."""
    name = f"rows #{next_number()}"
    tables = {name: connection._table(name, answer)}
    return Relation(connection, f"SELECT * FROM {quote(name)}", tables, alias=alias, answer=answer)


def of_object(connection: Connection, values: Any, alias: str = "") -> Relation:
    """Make a relation of a Python object, which is held as long as the relation is."""
    if isinstance(values, Relation):
        return values
    name = f"{type(values).__name__} #{next_number()}"
    return Relation(connection, f"SELECT * FROM {quote(name)}", {name: connection._table(name, values)}, alias=alias)


def of_table(connection: Connection, name: str) -> Relation:
    """Make a relation of a table or view."""
    path, alias = quote_path(name), name.rpartition(".")[2].strip('"')
    found = Relation(connection, f"SELECT * FROM {path}", alias=alias, item=f"{path} AS {quote(alias)}", table=name)
    return found
