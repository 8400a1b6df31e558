"""Methods of `Connection` that need no engine: what makes relations, and what has other names in DuckDB's package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from inlay import sqltypes
from inlay._expression import quote_path, sql_of, with_values
from inlay._inlay import Connection
from inlay._relation import Relation, of_object, of_table, relation
from inlay.exceptions import InvalidInputException


def sql(
    self: Connection, query: Any, params: Any = None, *, alias: str = "", parameters: Any = None
) -> Relation | None:
    """Make a relation of SQL; see the stubs."""
    values = params if params is not None else parameters
    return relation(self, with_values(str(query), values), alias=alias)


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
    arguments = [*map(sql_of, given), *(f"{key} := {sql_of(value)}" for key, value in named)]
    return Relation(self, f"SELECT * FROM {quote_path(name)}({', '.join(arguments)})")


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
}


def _read(connection: Connection, function: str, path: Any, options: Mapping[str, Any]) -> Relation:
    if hasattr(path, "read"):
        return _read_object(connection, function, path, options)
    if isinstance(path, (list, tuple)):
        where = "[" + ", ".join(sql_of(os.fsdecode(each)) for each in path) + "]"
    else:
        where = sql_of(os.fsdecode(path))
    given = (f", {name} := {_option(value)}" for name, value in options.items() if value is not None)
    return Relation(connection, f"SELECT * FROM {function}({where}{''.join(given)})")


def _option(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{sql_of(str(name))}: {_option(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_option, value)) + "]"
    return sql_of(str(sqltypes.sqltype(value)) if isinstance(value, (type, sqltypes.SQLType)) else value)


def _read_object(connection: Connection, function: str, file: Any, options: Mapping[str, Any]) -> Relation:
    """Read an open file: its content is put aside, and all rows are read now."""
    import tempfile

    content = file.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")  # noqa: PTH118 - pathlib would be one more import
        with open(path, "wb") as copy:  # noqa: PTH123
            copy.write(content.encode() if isinstance(content, str) else content)
        return _read(connection, function, path, options).materialize()


def read_csv(self: Connection, path_or_buffer: Any, **options: Any) -> Relation:
    """Make a relation of CSV files, or of an open one; options as in SQL, or by their names in pandas."""
    renamed = {_CSV_OPTIONS.get(name, name): value for name, value in options.items() if name != "parallel"}
    header = renamed.get("header")
    if header == "infer":
        del renamed["header"]
    elif header is not None:
        # pandas numbers the line that has the names.
        renamed["header"] = header is not False
    return _read(self, "read_csv", path_or_buffer, renamed)


def read_json(self: Connection, path_or_buffer: Any, **options: Any) -> Relation:
    """Make a relation of JSON files, or of an open one."""
    return _read(self, "read_json", path_or_buffer, options)


def read_parquet(self: Connection, path_or_buffer: Any, binary_as_string: bool = False, **options: Any) -> Relation:
    """Make a relation of Parquet files, or of an open one."""
    return _read(self, "read_parquet", path_or_buffer, options)


def view(self: Connection, view_name: str) -> Relation:
    """Make a relation of a view."""
    return of_table(self, view_name)


def fetch_df_chunk(self: Connection, vectors_per_chunk: int = 1) -> Any:
    """Fetch the next 2,048 rows, or so many times more, as a pandas data frame."""
    import pandas as pd

    names = [column[0] for column in self.description or ()]
    return pd.DataFrame(self.fetchmany(2048 * vectors_per_chunk), columns=names)


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
    return Relation(self, f"SELECT NULL::{type_str} AS x").types[0]


def install_extension(self: Connection, extension: str, **_options: Any) -> None:
    """Do nothing: everything is built in."""


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
        "sql": sql,
        "query": sql,
        "from_query": sql,
        "table": table,
        "view": view,
        "values": values,
        "from_df": from_object,
        "from_arrow": from_object,
        "table_function": table_function,
        "read_csv": read_csv,
        "from_csv_auto": read_csv,
        "read_json": read_json,
        "read_parquet": read_parquet,
        "from_parquet": read_parquet,
        "fetch_df_chunk": fetch_df_chunk,
        "torch": torch,
        "tf": tf,
        "sqltype": sqltype,
        "dtype": sqltype,
        "type": sqltype,
        "install_extension": install_extension,
        "load_extension": install_extension,
        "list_type": list_type,
        "array_type": array_type,
        "struct_type": struct_type,
        "row_type": struct_type,
        "union_type": union_type,
        "map_type": map_type,
        "decimal_type": decimal_type,
        "enum_type": enum_type,
        "string_type": string_type,
        "to_arrow_table": Connection.arrow,
        "to_arrow_reader": Connection.fetch_record_batch,
        "fetch_arrow_reader": Connection.fetch_record_batch,
        "to_df": Connection.df,
        "fetchdf": Connection.df,
        "fetch_df": Connection.df,
    }
    for name, method in methods.items():
        setattr(Connection, name, method)
