"""Methods of `Connection` that need no engine: what makes relations, and what has other names in DuckDB's package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from inlay import _parts, sqltypes
from inlay._cluster import attach_cluster, cluster_of, detach_cluster
from inlay._expression import sql_of, with_values
from inlay._inlay import Answer, Appender, Connection, _docs
from inlay._kinds import CSVLineTerminator
from inlay._parts import option_name, quote, quote_path
from inlay._query import bad
from inlay._relation import Relation, of_object, of_table, relation
from inlay._serving import serve, ui
from inlay._statements import extract_statements, get_table_names
from inlay._udf import create_aggregate, create_function, udaf, udf
from inlay._udtf import create_table_function, udtf
from inlay.exceptions import InvalidInputException


def sql(
    self: Connection,
    query: Any,
    params: Any = None,
    *,
    alias: str = "",
    parameters: Any = None,
    engine: str | None = None,
) -> Relation | None:
    """Make a relation of SQL; see the stubs."""
    if engine not in (None, "local", "cluster"):
        raise bad(f"engine={engine!r}: expected 'local' or 'cluster'")
    if params is not None and parameters is not None:
        raise bad("sql() takes params or parameters, which mean the same, not both")
    values = params if params is not None else parameters
    text = with_values(str(query), values)
    if engine == "cluster":
        return cluster_of(self).relation(self, text, alias)
    return relation(self, text, alias=alias)


def table(self: Connection, table_name: str) -> Relation:
    """Make a relation of a table."""
    return of_table(self, table_name)


def values(self: Connection, *args: Any) -> Relation:
    """Make a relation of values: one row of them, or of a list's items; or a row for each of several tuples."""
    if not args:
        raise InvalidInputException("values() needs at least one value")
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = tuple(args[0])
        rows: Iterable[Any] = (args,)
    else:
        rows = args if all(isinstance(arg, tuple) for arg in args) else (args,)
    texts = ("(" + ", ".join(map(sql_of, row)) + ")" for row in rows)
    return Relation(self, f"SELECT * FROM (VALUES {', '.join(texts)})")


def from_object(self: Connection, df: Any) -> Relation:
    """Make a relation of a data frame, an Arrow table or reader, an array, or whatever else can be a table."""
    return of_object(self, df)


def table_function(self: Connection, name: str, parameters: Any = None) -> Relation:
    """Make a relation of a table function's call; a mapping gives named parameters."""
    named = parameters.items() if isinstance(parameters, Mapping) else ()
    given = () if isinstance(parameters, Mapping) else parameters or ()
    arguments = [*map(sql_of, given), *(f"{quote(key)} := {sql_of(value)}" for key, value in named)]
    return Relation(self, f"SELECT * FROM {quote_path(name)}({', '.join(arguments)})")


def olap(
    self: Connection,
    table: str,
    by: str | Iterable[str] = (),
    agg: str | None = None,
    fact: str | None = None,
    where: str | None = None,
    nested: bool | None = None,
) -> Any:
    """Calculate an aggregate of a fact by some columns; see the stubs."""
    columns = [by] if isinstance(by, str) else list(by)
    given = {"agg": agg, "fact": fact, "condition": where}
    arguments = [sql_of(table), f"by := {sql_of(columns)}"]
    arguments += [f"{name} := {sql_of(value)}" for name, value in given.items() if value is not None]
    if nested is None:
        return Relation(self, f"SELECT * FROM olap({', '.join(arguments)})")
    arguments.append(f"nested := {sql_of(bool(nested))}")
    row = Relation(self, f"SELECT json FROM olap_json({', '.join(arguments)})").fetchone()
    return str(row[0]) if row else ""


#: What DuckDB's `read_csv` calls options that SQL calls otherwise.
_CSV_OPTIONS = {
    "sep": "delim",
    "delimiter": "delim",
    "dtype": "types",
    "dtypes": "types",
    "na_values": "nullstr",
    "skiprows": "skip",
    "quotechar": "quote",
    "escapechar": "escape",
    "date_format": "dateformat",
    "timestamp_format": "timestampformat",
    "lineterminator": "new_line",
    "decimal": "decimal_separator",
}

_LINE_ENDS = {CSVLineTerminator.LINE_FEED.name: "\\n", CSVLineTerminator.CARRIAGE_RETURN_LINE_FEED.name: "\\r\\n"}


def _read(connection: Connection, function: str, path: Any, options: Mapping[str, Any]) -> Relation:
    if hasattr(path, "read"):
        return _read_objects(connection, function, [path], options)
    if isinstance(path, (list, tuple)):
        if any(hasattr(each, "read") for each in path):
            return _read_objects(connection, function, path, options)
        where = "[" + ", ".join(sql_of(os.fsdecode(each)) for each in path) + "]"
    else:
        where = sql_of(os.fsdecode(path))
    given = (f", {option_name(name)} := {_option(value)}" for name, value in options.items() if value is not None)
    return Relation(connection, f"SELECT * FROM {function}({where}{''.join(given)})")


def _option(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{sql_of(str(name))}: {_option(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_option, value)) + "]"
    return sql_of(str(sqltypes.sqltype(value)) if isinstance(value, (type, sqltypes.SQLType)) else value)


def _read_objects(connection: Connection, function: str, files: Iterable[Any], options: Mapping[str, Any]) -> Relation:
    """Read open files, among paths: what is in them is put aside, and all rows are read now."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, file in enumerate(files):
            if not hasattr(file, "read"):
                paths.append(file)
                continue
            content = file.read()
            path = os.path.join(folder, f"file{number}")  # noqa: PTH118 - pathlib would be one more import
            with open(path, "wb") as copy:  # noqa: PTH123
                copy.write(content.encode() if isinstance(content, str) else content)
            paths.append(path)
        return _read(connection, function, paths, options).materialize()


def _renamed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Give options of `read_csv` their names in SQL. What two names say is an error: one of them would not hold."""
    renamed: dict[str, Any] = {}
    said: dict[str, str] = {}
    for name, value in options.items():
        if value is None:
            continue
        own = _CSV_OPTIONS.get(name, name)
        if own in renamed:
            raise bad(f"{said[own]} and {name} are the same option of read_csv; give one of them")
        renamed[own], said[own] = value, name
    return renamed


def read_csv(self: Connection, path_or_buffer: Any, **options: Any) -> Relation:
    """Make a relation of CSV files, or of an open one; options as in SQL, or by their names in pandas."""
    renamed = _renamed(options)
    line_end = renamed.get("new_line")
    line_end = line_end.name if isinstance(line_end, CSVLineTerminator) else line_end
    if line_end in _LINE_ENDS:
        renamed["new_line"] = _LINE_ENDS[line_end]
    header = renamed.get("header")
    if header == "infer":
        del renamed["header"]
    elif header is not None:
        # pandas numbers the line that has the names.
        if not isinstance(header, bool) and header not in (0, None):
            raise bad(
                f"header={header!r}: expected True, False, 0 or 'infer'; skiprows leaves out lines before the names"
            )
        renamed["header"] = header is not False
    return _read(self, "read_csv", path_or_buffer, renamed)


def read_json(self: Connection, path_or_buffer: Any, **options: Any) -> Relation:
    """Make a relation of JSON files, or of an open one."""
    return _read(self, "read_json", path_or_buffer, options)


_PARQUET_CODECS = ("none", "auto", "auto_detect", "uncompressed", "snappy", "gzip", "zstd", "lz4", "lz4_raw", "brotli")


def read_parquet(self: Connection, path_or_buffer: Any, binary_as_string: bool = False, **options: Any) -> Relation:
    """Make a relation of Parquet files, or of an open one. The files say how they are compressed."""
    codec = str(options.pop("compression", None)).lower()
    if codec not in (
        "none",
        "auto_detect",
        "auto",
        "uncompressed",
        "snappy",
        "gzip",
        "zstd",
        "lz4",
        "lz4_raw",
        "brotli",
    ):
        raise bad(f"compression={codec!r} is no compression of Parquet")
    return _read(self, "read_parquet", path_or_buffer, {**options, "binary_as_string": binary_as_string or None})


def view(self: Connection, view_name: str) -> Relation:
    """Make a relation of a view."""
    return of_table(self, view_name)


_whole_df = Connection.df


def df(self: Connection, decimal: str | None = None, *, date_as_object: bool = False) -> Any:
    """Fetch a pandas data frame; see the stubs."""
    if not date_as_object:
        return _whole_df(self, decimal)
    from inlay._frames import with_dates

    described = self.description
    return with_dates(_whole_df(self, decimal), described)


_whole_df_of_answer = Answer.df


def df_of_answer(self: Answer, decimal: str | None = None, *, date_as_object: bool = False) -> Any:
    """Make a pandas data frame of all rows; see `Connection.df`."""
    frame = _whole_df_of_answer(self, decimal)
    if not date_as_object:
        return frame
    from inlay._frames import with_dates

    return with_dates(frame, self.description)


def fetch_df_chunk(self: Connection, vectors_per_chunk: int = 1, *, date_as_object: bool = False) -> Any:
    """Fetch the next 2,048 rows, or so many times more, as a pandas data frame."""
    if date_as_object:
        from inlay._frames import with_dates

        described = self.description
        return with_dates(fetch_df_chunk(self, vectors_per_chunk), described)
    left = 2048 * vectors_per_chunk
    parts = [self._df_part(left)]
    while (left := left - len(parts[-1])) > 0 and len(part := self._df_part(left)):
        parts.append(part)
    if len(parts) == 1:
        return parts[0]
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


_table, _reader, _frame = Connection.arrow, Connection.fetch_record_batch, Connection.pl


def arrow(self: Connection, batch_size: int | None = None) -> Any:
    """Fetch a `pyarrow.Table`; see the stubs."""
    return _table(self) if batch_size is None else _reader(self, batch_size).read_all()


def fetch_record_batch(self: Connection, rows_per_batch: int | None = None, *, batch_size: int | None = None) -> Any:
    """Fetch a `pyarrow.RecordBatchReader`; see the stubs."""
    return _reader(self, rows_per_batch if batch_size is None else batch_size)


def pl(self: Connection, batch_size: int | None = None, *, lazy: bool = False) -> Any:
    """Fetch a Polars data frame, or its `LazyFrame`; see the stubs."""
    frame = _frame(self)
    if batch_size is not None:
        from inlay._tables import even_chunks

        frame = even_chunks(frame, batch_size)
    return frame.lazy() if lazy else frame


def torch(self: Connection, decimal: str | None = None) -> dict[str, Any]:
    """Fetch a PyTorch tensor per column, of shape ``(n,)``; see the stubs."""
    from inlay._tensors import torch_tensors

    return torch_tensors(self.fetchnumpy(decimal))


def tf(self: Connection, decimal: str | None = None) -> dict[str, Any]:
    """Fetch a TensorFlow tensor per column, of shape ``(n,)``."""
    from inlay._tensors import tensorflow_tensors

    return tensorflow_tensors(self.fetchnumpy(decimal))


def sqltype(self: Connection, type_str: Any) -> sqltypes.SQLType:
    """Make a type of its text, or of a Python type."""
    if not isinstance(type_str, str):
        return sqltypes.sqltype(type_str)
    return Relation(self, f"SELECT NULL::{_parts.type_name(type_str)} AS x").types[0]


def install_extension(self: Connection, extension: str, **_options: Any) -> None:
    """Do nothing for what is built in; anything else is an error."""
    self._run(f"INSTALL {quote(extension)}", {})


def load_extension(self: Connection, extension: str, **_options: Any) -> None:
    """Do nothing for what is built in; anything else is an error."""
    self._run(f"LOAD {quote(extension)}", {})


def enable_profiling(self: Connection) -> None:
    """Measure queries from now on; `get_profiling_information` tells."""
    self._run("SET enable_profiling = true", {})


def disable_profiling(self: Connection) -> None:
    """Measure queries no longer."""
    self._run("SET enable_profiling = false", {})


def get_profiling_information(self: Connection, format: str = "json") -> str:
    """Return what each step of the last query took, while queries are measured; see the stubs."""
    if format not in ("json", "text", "query_tree", "query_tree_optimizer"):
        raise bad(f"format={format!r}: expected 'json' or 'query_tree'")
    if self._setting("enable_profiling") == "false":
        return '{"result": "disabled"}' if format == "json" else "profiling is disabled; enable_profiling() begins it"
    return self._profile(format != "json") or ("{}" if format == "json" else "")


#: What a statement calls the rows of an appender, and the columns that pick its rows.
_ROWS = "appended_data"


def appender(
    self: Connection,
    table: str,
    *,
    columns: list[str] | None = None,
    action: str = "insert",
    key: list[str] | None = None,
) -> Appender:
    """Make an appender, which collects rows for a table; see the stubs."""
    target, rows = quote_path(table), quote(_ROWS)
    if action not in ("insert", "upsert", "update", "delete"):
        raise bad(f'action={action!r}: expected "insert", "upsert", "update" or "delete"')
    if (key is None) == (action in ("update", "delete")):
        needs = f"action={action!r} needs key, the columns that pick the rows"
        raise bad(needs if key is None else f"key is for the actions update and delete, not for {action}")
    if action == "delete" and columns is not None:
        raise bad("the columns of the action delete are those of key")
    names = key if action == "delete" else columns
    if names is None:
        names = _given_columns(self, table)
    listed = ", ".join(map(quote, names))
    on = " AND ".join(f"{target}.{quote(name)} = {rows}.{quote(name)}" for name in key or ())
    if action == "delete":
        sql = f"DELETE FROM {target} USING {rows} WHERE {on}"
    elif action == "update":
        changed = [name for name in names if name not in (key or ())]
        changes = ", ".join(f"{quote(name)} = {rows}.{quote(name)}" for name in changed)
        sql = f"UPDATE {target} SET {changes} FROM {rows} WHERE {on}"
    else:
        word = "INSERT OR REPLACE" if action == "upsert" else "INSERT"
        sql = f"{word} INTO {target} ({listed}) SELECT * FROM {rows}"
    return self._appender(f"SELECT {listed} FROM {target}", sql, _ROWS)


def _given_columns(connection: Connection, table: str) -> list[str]:
    """Columns of a table that rows bring values for: those that are not computed."""
    path = quote_path(table)
    columns: list[str] = connection._run(f"SELECT * FROM {path} LIMIT 0", {}).columns
    parts = connection._statements(f"FROM {path}")[0][3][0]
    known = zip(("table_name", "schema_name", "database_name"), reversed(parts), strict=False)
    same = " AND ".join(f"lower({name}) = lower({sql_of(part)})" for name, part in known)
    computed = (
        f"SELECT column_name FROM duckdb_columns() WHERE {same} AND (is_generated OR identity_generation = 'ALWAYS')"
    )
    left_out = {name for (name,) in connection._run(computed, {}).fetchall()}
    return [name for name in columns if name not in left_out]


def query_appender(self: Connection, dml: str, columns: Mapping[str, Any], *, source: str | None = None) -> Appender:
    """Make an appender, which collects rows for a statement; see the stubs."""
    if not columns:
        raise bad("query_appender() needs at least one column")
    if len(self._statements(dml)) != 1:
        raise bad("query_appender() takes one statement")
    items = ", ".join(
        f"NULL::{_parts.type_name(sqltypes.sqltype(ty))} AS {quote(name)}" for name, ty in columns.items()
    )
    return self._appender(f"SELECT {items}", dml, source or _ROWS)


def list_type(self: Connection, type: Any) -> sqltypes.SQLType:
    """Lists of a type."""
    return sqltypes.list_type(type)


def array_type(self: Connection, type: Any, size: int) -> sqltypes.SQLType:
    """Arrays of a type."""
    return sqltypes.array_type(type, size)


def struct_type(self: Connection, fields: Mapping[str, Any] | Iterable[Any]) -> sqltypes.SQLType:
    """Structs with these fields."""
    return sqltypes.struct_type(fields)


def union_type(self: Connection, members: Mapping[str, Any]) -> sqltypes.SQLType:
    """Unions of these members."""
    return sqltypes.union_type(members)


def map_type(self: Connection, key: Any, value: Any) -> sqltypes.SQLType:
    """Maps from one type to another."""
    return sqltypes.map_type(key, value)


def decimal_type(self: Connection, width: int, scale: int) -> sqltypes.SQLType:
    """Decimals of `width` digits, `scale` of them behind the point."""
    return sqltypes.decimal_type(width, scale)


def enum_type(self: Connection, name: str, type: Any, values: Iterable[str]) -> sqltypes.SQLType:
    """Enumerations of these words."""
    return sqltypes.enum_type(name, type, values)


def string_type(self: Connection, collation: str = "") -> sqltypes.SQLType:
    """Texts."""
    return sqltypes.string_type(collation)


def install() -> None:
    """Make the functions of this module methods of `Connection`."""
    methods: dict[str, Any] = {
        "attach_cluster": attach_cluster,
        "detach_cluster": detach_cluster,
        "sql": sql,
        "query": sql,
        "from_query": sql,
        "table": table,
        "view": view,
        "values": values,
        "from_df": from_object,
        "from_arrow": from_object,
        "table_function": table_function,
        "olap": olap,
        "read_csv": read_csv,
        "from_csv_auto": read_csv,
        "read_json": read_json,
        "read_parquet": read_parquet,
        "from_parquet": read_parquet,
        "fetch_df_chunk": fetch_df_chunk,
        "torch": torch,
        "tf": tf,
        "create_aggregate": create_aggregate,
        "create_function": create_function,
        "create_table_function": create_table_function,
        "udaf": udaf,
        "udf": udf,
        "udtf": udtf,
        "sqltype": sqltype,
        "dtype": sqltype,
        "type": sqltype,
        "install_extension": install_extension,
        "load_extension": load_extension,
        "enable_profiling": enable_profiling,
        "disable_profiling": disable_profiling,
        "get_profiling_information": get_profiling_information,
        "serve": serve,
        "ui": ui,
        "appender": appender,
        "query_appender": query_appender,
        "extract_statements": extract_statements,
        "get_table_names": get_table_names,
        "list_type": list_type,
        "array_type": array_type,
        "struct_type": struct_type,
        "row_type": struct_type,
        "union_type": union_type,
        "map_type": map_type,
        "decimal_type": decimal_type,
        "enum_type": enum_type,
        "string_type": string_type,
        "arrow": arrow,
        "fetch_arrow_table": arrow,
        "to_arrow_table": arrow,
        "fetch_record_batch": fetch_record_batch,
        "to_arrow_reader": fetch_record_batch,
        "fetch_arrow_reader": fetch_record_batch,
        "pl": pl,
        "df": df,
        "to_df": df,
        "fetchdf": df,
        "fetch_df": df,
    }
    docs, described = _docs(), set()
    for name, method in methods.items():
        # The stubs say what a method takes; of several names the first is what it is described by.
        if method not in described and hasattr(method, "__code__"):
            method.__doc__ = docs.get(f"Connection.{name}", method.__doc__)
            described.add(method)
        setattr(Connection, name, method)
    Answer.df = df_of_answer  # type: ignore[assignment]
