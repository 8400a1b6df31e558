"""Rows of relations into tables, views and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from inlay import _parts
from inlay._expression import StarExpression, sql_of
from inlay._parts import quote, quote_path
from inlay._query import bad, condition_text
from inlay._reshape import Reshape

if TYPE_CHECKING:
    from inlay._relation import Relation


class Writing(Reshape):
    """A query, what changes its rows, and where they may go."""

    def create(self, table_name: str) -> None:
        """
        Make a table of the rows.

        Examples
        --------
        >>> con = inlay.connect()
        >>> con.sql("SELECT 1 AS a").create("made")
        >>> con.table("made").fetchall()
        [(1,)]
        """
        sql, tables = self._view()
        self._connection._run(f"CREATE TABLE {quote_path(table_name)} AS {sql}", tables)

    to_table = create

    def create_view(self, view_name: str, replace: bool = True) -> Relation:
        """
        Make a view of the query.

        Python objects that it names are registered, and the view is temporary then.

        Examples
        --------
        >>> con = inlay.connect()
        >>> con.sql("SELECT 1 AS a").create_view("seen").fetchall()
        [(1,)]
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
        """
        Add the rows to a table.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> con.sql("FROM range(2)").insert_into("t")
        >>> con.table("t").fetchall()
        [(0,), (1,)]
        """
        # Under other names, so that the table may be called as an object that the query reads.
        sql, tables = self._view()
        self._connection._run(f"INSERT INTO {quote_path(table_name)} {sql}", tables)

    def _of_table(self, action: str) -> str:
        if self._table is None:
            raise bad(f"{action} is for relations that are a table, as table() gives them")
        return quote_path(self._table)

    def insert(self, values: Any) -> None:
        """
        Add a row of these values to the table that this relation is.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
        >>> con.table("t").insert([1, "x"])
        >>> con.table("t").fetchall()
        [(1, 'x')]
        """
        self._run(f"INSERT INTO {self._of_table('insert()')} VALUES ({', '.join(map(sql_of, values))})")

    def update(self, set: Mapping[str, Any], *, condition: Any = None) -> None:
        """
        Change columns of the table that this relation is, of all rows or those for which a condition is true.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t AS FROM range(2) r(a)")
        >>> con.table("t").update({"a": 7}, condition="a = 1")
        >>> con.table("t").fetchall()
        [(0,), (7,)]
        """
        changes = ", ".join(f"{quote(name)} = {sql_of(value)}" for name, value in set.items())
        where = f" WHERE {condition_text(condition)}" if condition is not None else ""
        self._run(f"UPDATE {self._of_table('update()')} SET {changes}{where}")

    def to_csv(self, file_name: Any, *, sep: str | None = None, na_rep: str | None = None, **options: Any) -> None:
        """
        Write the rows to a CSV file.

        Options are those of COPY, such as `header`, `compression`, `date_format`, `timestamp_format`; `quotechar` and
        `escapechar` are QUOTE and ESCAPE.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "t.csv")
        >>> inlay.sql("SELECT 1 AS a, 'x' AS b").to_csv(path, sep=";")
        >>> path.read_text().splitlines()
        ['a;b', '1;x']
        >>> folder.cleanup()
        """
        renamed = {
            "quotechar": "quote",
            "escapechar": "escape",
            "date_format": "dateformat",
            "timestamp_format": "timestampformat",
        }
        given: dict[str, Any] = {"delimiter": sep, "nullstr": na_rep, "header": True}
        given |= {renamed.get(name, name): value for name, value in options.items() if name != "quoting"}
        quoting = options.get("quoting")
        if str(quoting).lower() in ("1", "all", "quote_all", "force"):
            given["force_quote"] = StarExpression()
        elif str(quoting).lower() not in ("none", "0", "minimal", "quote_minimal"):
            raise bad(f"quoting={quoting!r}: expected csv.QUOTE_ALL, or csv.QUOTE_MINIMAL, which is the default")
        self._copy(file_name, "csv", given)

    write_csv = to_csv

    def to_parquet(self, file_name: Any, **options: Any) -> None:
        """
        Write the rows to a Parquet file; options are those of COPY, such as `compression` and `row_group_size`.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "t.parquet")
        >>> inlay.sql("SELECT 1 AS a").to_parquet(path)
        >>> inlay.read_parquet(path).fetchall()
        [(1,)]
        >>> folder.cleanup()
        """
        self._copy(file_name, "parquet", options)

    write_parquet = to_parquet

    def _copy(self, path: Any, format: str, options: Mapping[str, Any]) -> None:
        import os

        parts = [f"FORMAT {format}"]
        for name, value in options.items():
            if isinstance(value, (list, tuple)):
                parts.append(f"{_parts.option_name(name)} ({', '.join(map(quote, value))})")
            elif value is not None:
                parts.append(f"{_parts.option_name(name)} {sql_of(value)}")
        self._run(f"COPY (\n{self._sql}\n) TO {sql_of(os.fsdecode(path))} ({', '.join(parts)})")
