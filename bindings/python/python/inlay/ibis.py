"""
Ibis on Inlay: ``ibis.inlay.connect("trips.inlay")``, or ``ibis.connect("inlay://trips.inlay")``.

Expressions are compiled by Ibis to DuckDB's dialect, which Inlay reads. Data frames and Arrow tables that an expression
holds are registered, not copied. Ibis calls a schema a database, and a database a catalog.
"""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any

import ibis
import ibis.common.exceptions as exc
import ibis.expr.operations as ops
import ibis.expr.schema as sch
import ibis.expr.types as ir
import sqlglot as sg
import sqlglot.expressions as sge
from ibis import util
from ibis.backends import (
    CanCreateDatabase,
    CanListCatalog,
    DirectExampleLoader,
    HasCurrentCatalog,
    HasCurrentDatabase,
    SupportsTempTables,
    UrlFromPath,
)
from ibis.backends.sql import SQLBackend
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler

import inlay
from inlay._expression import sql_of
from inlay._parts import option_name, quote

#: What `DESCRIBE` and Ibis say of a column that may be NULL.
_NULLABLE = "YES"


class Backend(
    SupportsTempTables,
    SQLBackend,
    CanListCatalog,
    CanCreateDatabase,
    HasCurrentCatalog,
    HasCurrentDatabase,
    UrlFromPath,
    DirectExampleLoader,
):
    """A database of Inlay for Ibis; `con` is its connection."""

    name = "inlay"
    compiler = DuckDBCompiler()
    supports_python_udfs = False
    con: inlay.Connection

    # Connecting.

    def do_connect(self, database: str | PathLike[str] = ":memory:", read_only: bool = False, **config: Any) -> None:
        """
        Open a database.

        Parameters
        ----------
        database
            Path of a file, which is created if there is none, or ``":memory:"``.
        read_only
            Refuse changes.
        config
            Settings by name, such as ``memory_limit="2GB"``.
        """
        self._use(inlay.connect(database, read_only, config))

    @classmethod
    def from_connection(cls, con: inlay.Connection, /) -> Backend:
        """Make a backend of a connection, whose temporary tables and open transaction it has."""
        backend = cls()
        backend._can_reconnect = False
        backend._use(con)
        return backend

    def _use(self, con: inlay.Connection) -> None:
        self.con = con
        # Ibis takes moments without a zone for UTC, and its tables come from the database alone.
        con.execute("SET timezone = 'UTC'; SET python_enable_replacements = false")

    @property
    def version(self) -> str:
        """The version of Inlay."""
        return version("inlay")

    # Running SQL.

    def _text(self, query: Any) -> str:
        return query if isinstance(query, str) else str(query.sql(dialect=self.dialect))

    def raw_sql(self, query: str | sge.Expression, **kwargs: Any) -> inlay.Connection:
        """Run SQL and return its answer, a cursor of DB-API."""
        return self.con.execute(self._text(query), **kwargs)

    @contextlib.contextmanager
    def _safe_raw_sql(self, query: str | sge.Expression, **kwargs: Any) -> Iterator[inlay.Connection]:
        yield self.raw_sql(query, **kwargs)

    def _column(self, query: str | sge.Expression) -> list[Any]:
        return [value for (value,) in self.raw_sql(query).fetchall()]

    # What there is.

    @property
    def current_catalog(self) -> str:
        """The database that names belong to."""
        return str(self._column("SELECT current_database()")[0])

    @property
    def current_database(self) -> str:
        """The schema that names belong to."""
        return str(self._column("SELECT current_schema()")[0])

    def list_catalogs(self, *, like: str | None = None) -> list[str]:
        """Return the names of attached databases."""
        names = self._column("SELECT database_name FROM duckdb_databases() WHERE NOT internal ORDER BY 1")
        return list(self._filter_with_like(names, like))

    def list_databases(self, *, like: str | None = None, catalog: str | None = None) -> list[str]:
        """Return the names of schemas."""
        where = f" WHERE catalog_name = {sql_of(catalog)}" if catalog is not None else ""
        names = self._column(f"SELECT DISTINCT schema_name FROM information_schema.schemata{where} ORDER BY 1")
        return list(self._filter_with_like(names, like))

    def list_tables(self, *, like: str | None = None, database: tuple[str, str] | str | None = None) -> list[str]:
        """Return the names of tables and views, temporary ones included."""
        catalog, schema = self._place(database)
        names = self._column(
            "SELECT DISTINCT table_name FROM information_schema.tables "
            f"WHERE table_catalog IN ({sql_of(catalog)}, 'temp') AND table_schema = {sql_of(schema)} ORDER BY 1"
        )
        return list(self._filter_with_like(names, like))

    def _place(self, database: tuple[str, str] | str | None) -> tuple[str, str]:
        place = self._to_sqlglot_table(database)
        return place.catalog or self.current_catalog, place.db or self.current_database

    def _path(self, name: str, place: sge.Table) -> str:
        return self._text(sg.table(name, catalog=place.args.get("catalog"), db=place.args.get("db"), quoted=True))

    def get_schema(self, table_name: str, *, catalog: str | None = None, database: str | None = None) -> sch.Schema:
        """Return the columns of a table or view."""
        path = self._text(sg.table(table_name, db=database, catalog=catalog, quoted=True))
        try:
            return self._described(path)
        except inlay.CatalogException as error:
            raise exc.TableNotFound(table_name) from error

    def _get_schema_using_query(self, query: str) -> sch.Schema:
        return self._described(query)

    def _described(self, what: str) -> sch.Schema:
        answer = self.con.execute(f"DESCRIBE {what}")
        parse = self.compiler.type_mapper.from_string
        rows = answer.fetchall()
        return sch.Schema({name: parse(ty, nullable=null == _NULLABLE) for name, ty, null, *_ in rows})

    # Making and dropping.

    def create_database(self, name: str, /, *, catalog: str | None = None, force: bool = False) -> None:
        """Create a schema."""
        path = self._text(sg.table(name, db=catalog, quoted=True))
        self.raw_sql(f"CREATE SCHEMA {'IF NOT EXISTS ' if force else ''}{path}")

    def drop_database(
        self, name: str, /, *, catalog: str | None = None, force: bool = False, cascade: bool = False
    ) -> None:
        """Drop a schema."""
        path = self._text(sg.table(name, db=catalog, quoted=True))
        self.raw_sql(f"DROP SCHEMA {'IF EXISTS ' if force else ''}{path}{' CASCADE' if cascade else ''}")

    def create_table(
        self,
        name: str,
        /,
        obj: Any = None,
        *,
        schema: Any = None,
        database: str | tuple[str, str] | None = None,
        temp: bool = False,
        overwrite: bool = False,
    ) -> ir.Table:
        """
        Create a table of an expression or data frame `obj`, or an empty one with a `schema`.

        With `overwrite` it replaces one that exists, whose rows `obj` may read.
        """
        if obj is None and schema is None:
            raise ValueError("create_table needs obj or schema")
        if temp and database is not None:
            raise exc.UnsupportedArgumentError("a temporary table has no database; leave database or temp out")
        source = obj if obj is None or isinstance(obj, ir.Expr) else ibis.memtable(obj)
        columns: Any = ibis.schema(schema) if source is None or schema is not None else source.schema()
        if columns.null_fields:
            raise exc.IbisTypeError(f"no column can be of type NULL: {', '.join(columns.null_fields)}")
        place = self._to_sqlglot_table(database)
        final = self._path(name, place)
        path = self._path(util.gen_name("inlay_table"), place) if overwrite else final
        definitions = ", ".join(self._text(each) for each in columns.to_sqlglot_column_defs(self.dialect))
        statements = [f"CREATE {'TEMPORARY ' if temp else ''}TABLE {path} ({definitions})"]
        if source is not None:
            self._run_pre_execute_hooks(source)
            into = ", ".join(map(quote, source.columns))
            statements.append(f"INSERT INTO {path} ({into}) {self.compile(source)}")
        if overwrite:
            statements += [f"DROP TABLE IF EXISTS {final}", f"ALTER TABLE {path} RENAME TO {quote(name)}"]
        self._all_or_nothing(statements)
        catalog, schema_name = self._to_catalog_db_tuple(place)
        return self.table(name, database=(catalog, schema_name) if catalog or schema_name else None)

    def _all_or_nothing(self, statements: list[str]) -> None:
        """Run statements in one transaction: in the open one, if there is."""
        if self.con.in_transaction or len(statements) == 1:
            for statement in statements:
                self.con.execute(statement)
            return
        with self.con.transaction():
            for statement in statements:
                self.con.execute(statement)

    def create_view(
        self, name: str, /, obj: ir.Table, *, database: str | tuple[str, str] | None = None, overwrite: bool = False
    ) -> ir.Table:
        """Create a view of an expression; one that holds data frames is temporary, as they are."""
        self._run_pre_execute_hooks(obj)
        path = self._path(name, self._to_sqlglot_table(database))
        holds_data = bool(obj.op().find(ops.InMemoryTable))
        kind = f"CREATE {'OR REPLACE ' if overwrite else ''}{'TEMPORARY ' if holds_data else ''}VIEW"
        self.raw_sql(f"{kind} {path} AS {self.compile(obj)}")
        return self.table(name, database=database)

    def drop_table(self, name: str, /, *, database: str | tuple[str, str] | None = None, force: bool = False) -> None:
        """Drop a table; `force` does not mind if there is none."""
        self._drop("TABLE", name, database, force)

    def drop_view(self, name: str, /, *, database: str | tuple[str, str] | None = None, force: bool = False) -> None:
        """Drop a view; `force` does not mind if there is none."""
        self._drop("VIEW", name, database, force)

    def _drop(self, kind: str, name: str, database: str | tuple[str, str] | None, force: bool) -> None:
        path = self._path(name, self._to_sqlglot_table(database))
        self.raw_sql(f"DROP {kind} {'IF EXISTS ' if force else ''}{path}")

    def _register_in_memory_table(self, op: ops.InMemoryTable) -> None:
        self.con.register(op.name, op.data.to_pyarrow(op.schema))

    def _register_udfs(self, expr: ir.Expr) -> None:
        for function in expr.op().find(ops.ScalarUDF):
            if function.__input_type__.name != "BUILTIN":
                raise exc.UnsupportedOperationError(
                    f"{type(function).__name__} is a function of Python, which Inlay cannot call; "
                    "@ibis.udf.scalar.builtin names one of SQL"
                )

    # Reading and writing files.

    def read_csv(
        self, paths: Any, /, *, table_name: str | None = None, columns: Any = None, types: Any = None, **options: Any
    ) -> ir.Table:
        """Make a temporary view of CSV files; options as in SQL's `read_csv`."""
        return self._read("read_csv", paths, table_name, {**options, "columns": columns, "types": types})

    def read_parquet(self, paths: Any, /, *, table_name: str | None = None, **options: Any) -> ir.Table:
        """Make a temporary view of Parquet files; options as in SQL's `read_parquet`."""
        return self._read("read_parquet", paths, table_name, options)

    def read_json(
        self, paths: Any, /, *, table_name: str | None = None, columns: Any = None, **options: Any
    ) -> ir.Table:
        """Make a temporary view of JSON files; options as in SQL's `read_json`."""
        return self._read("read_json", paths, table_name, {**options, "columns": columns})

    def _read(self, function: str, paths: Any, table_name: str | None, options: Mapping[str, Any]) -> ir.Table:
        name = table_name or util.gen_name(function)
        several = [paths] if isinstance(paths, (str, Path)) else list(paths)
        given = [sql_of([fsdecode(path) for path in several])]
        given += [
            f"{option_name(option)} := {sql_of(_option(value))}"
            for option, value in options.items()
            if value is not None
        ]
        self.raw_sql(f"CREATE OR REPLACE TEMPORARY VIEW {quote(name)} AS SELECT * FROM {function}({', '.join(given)})")
        return self.table(name)

    def to_parquet(self, expr: ir.Table, /, path: str | Path, *, params: Any = None, **options: Any) -> None:
        """Write rows to a Parquet file; options as in SQL's COPY."""
        self._copy(expr, path, params, {"format": "parquet", **options})

    def to_csv(
        self, expr: ir.Table, /, path: str | Path, *, params: Any = None, header: bool = True, **options: Any
    ) -> None:
        """Write rows to a CSV file; options as in SQL's COPY."""
        self._copy(expr, path, params, {"format": "csv", "header": header, **options})

    def to_json(self, expr: ir.Table, /, path: str | Path, **options: Any) -> None:
        """Write rows to a file with a JSON array of objects; options as in SQL's COPY."""
        self._copy(expr, path, None, {"format": "json", "array": True, **options})

    def _copy(self, expr: ir.Table, path: str | Path, params: Any, options: Mapping[str, Any]) -> None:
        self._run_pre_execute_hooks(expr)
        given = ", ".join(
            f"{option_name(name)} ({', '.join(map(quote, value))})"
            if isinstance(value, (list, tuple))
            else f"{option_name(name)} {sql_of(value)}"
            for name, value in options.items()
        )
        self.raw_sql(f"COPY ({self.compile(expr, params=params)}) TO {sql_of(fsdecode(path))} ({given})")

    # Rows.

    def _answer(self, expr: ir.Expr, params: Any, limit: Any) -> tuple[inlay.Connection, sch.Schema]:
        self._run_pre_execute_hooks(expr)
        table = expr.as_table()
        return self.raw_sql(self.compile(table, limit=limit, params=params)), table.schema()

    def execute(self, expr: ir.Expr, /, *, params: Any = None, limit: Any = None, **_: Any) -> Any:
        """Run an expression and return a pandas data frame, a series, or a value."""
        import pandas as pd
        from ibis.formats.pandas import PandasData

        answer, schema = self._answer(expr, params, limit)
        rows = answer.arrow()
        columns = {name: _series(column) for name, column in zip(schema.names, rows.columns, strict=True)}
        frame = PandasData.convert_table(pd.DataFrame(columns, columns=list(schema.names)), schema)
        return expr.__pandas_result__(frame)

    def to_pyarrow(self, expr: ir.Expr, /, *, params: Any = None, limit: Any = None, **_: Any) -> Any:
        """Run an expression and return a `pyarrow.Table`, an array, or a scalar."""
        answer, schema = self._answer(expr, params, limit)
        table = answer.arrow().rename_columns(list(schema.names))
        return expr.__pyarrow_result__(table.cast(schema.to_pyarrow()))

    def to_pyarrow_batches(
        self, expr: ir.Expr, /, *, params: Any = None, limit: Any = None, chunk_size: int = 131_072, **_: Any
    ) -> Any:
        """Run an expression and return a `pyarrow.RecordBatchReader`, whose batches are converted when read."""
        import pyarrow as pa

        answer, schema = self._answer(expr, params, limit)
        wanted = schema.to_pyarrow()
        reader = answer.fetch_record_batch(chunk_size)
        batches = (batch.rename_columns(list(schema.names)).cast(wanted) for batch in reader)
        return pa.RecordBatchReader.from_batches(wanted, batches)

    def to_torch(self, expr: ir.Expr, /, *, params: Any = None, limit: Any = None, **_: Any) -> dict[str, Any]:
        """Run an expression and return a PyTorch tensor per column."""
        answer, _schema = self._answer(expr, params, limit)
        return answer.torch()


def _option(value: Any) -> Any:
    """Give types of Ibis in options the names that SQL has for them."""
    if isinstance(value, Mapping):
        return {name: _option(item) for name, item in value.items()}
    if hasattr(value, "is_numeric"):
        return DuckDBCompiler.type_mapper.to_string(value)
    return value


def _series(column: Any) -> Any:
    """Make values for pandas of an Arrow column: objects where pandas has no type that keeps NULLs apart."""
    import pyarrow.types as pat

    if pat.is_nested(column.type) or pat.is_dictionary(column.type) or column.null_count:
        return column.to_pylist()
    return column.to_pandas()
