"""
Table functions of Python in SQL: callables of texts, tables as arguments, and rows of what is given.

The engine calls a function with values and with what `table_argument` makes; `pieces` takes apart what it gives.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from inlay import _udf
from inlay._calling import with_connection
from inlay._inlay import Connection
from inlay.exceptions import InvalidInputException

F = TypeVar("F", bound=Callable[..., Any])

#: What a body may have instead of a return.
_YIELDS = (ast.Yield, ast.YieldFrom)


def check(name: str, parameters: list[str], variadic: bool, body: str) -> None:
    """Fail if a text is no table function."""
    _udf.check(name, parameters, variadic, body, gives=_YIELDS)


def compiled(name: str, parameters: list[str], variadic: bool, body: str) -> Callable[..., Any]:
    """Make the table function of a text, which may be a generator."""
    return _udf.compiled(name, parameters, variadic, body, gives=_YIELDS)


def table_argument(style: str, names: list[str], columns: tuple[Any, ...]) -> Any:
    """Make a table of columns."""
    table = dict(zip(names, columns, strict=True))
    if style == "arrow":
        import pyarrow

        return pyarrow.table(table)
    if style == "pandas":
        import pandas

        return pandas.DataFrame(table)
    if style == "polars":
        import polars

        return polars.DataFrame(table)
    return table


def pieces(name: str, given: Any, names: list[str]) -> Iterator[tuple[int, list[Any]]]:
    """Take apart what a table function gave: the length and the columns of each piece."""
    if isinstance(given, types.GeneratorType):
        for piece in given:
            yield _piece(name, piece, names)
    elif given is not None:
        yield _piece(name, given, names)


def _piece(name: str, given: Any, names: list[str]) -> tuple[int, list[Any]]:
    columns = _columns(name, given, names)
    lengths = {len(column) for column in columns if not _is_scalar(column)}
    if len(lengths) > 1:
        shown = ", ".join(f"{each}: {len(c)}" for each, c in zip(names, columns, strict=True) if not _is_scalar(c))
        raise _udf.WrongResult(f'function "{name}" gave columns of different lengths ({shown})')
    return (lengths.pop() if lengths else 1), columns


def _is_scalar(column: Any) -> bool:
    return isinstance(column, (str, bytes)) or not hasattr(column, "__len__") or getattr(column, "ndim", 1) == 0


def _columns(name: str, given: Any, names: list[str]) -> list[Any]:
    module = type(given).__module__.partition(".")[0]
    if module == "pyarrow" and hasattr(given, "schema"):
        known: dict[Any, Any] = {each: given.column(at) for at, each in enumerate(given.schema.names)}
    elif module in ("pandas", "polars") and hasattr(given, "columns"):
        known = {each: given[each] for each in given.columns}
    elif isinstance(given, dict):
        known = given
    elif isinstance(given, (list, tuple)):
        return _columns_of_rows(name, given, names)
    else:
        expected = "a dictionary of columns, a data frame, an Arrow table, a list of rows, or a generator of those"
        raise _udf.WrongResult(f'function "{name}" gave {type(given).__name__}, not {expected}')
    by_lower = {str(each).lower(): column for each, column in known.items()}
    missing = [each for each in names if each.lower() not in by_lower]
    if missing:
        has = ", ".join(map(str, known)) or "none"
        raise _udf.WrongResult(f'function "{name}" gave no column "{missing[0]}"; there are {has}')
    return [by_lower[each.lower()] for each in names]


def _columns_of_rows(name: str, rows: list[Any] | tuple[Any, ...], names: list[str]) -> list[Any]:
    values: list[list[Any]] = [[] for _ in names]
    for row in rows:
        items = [row.get(each) for each in names] if isinstance(row, dict) else row
        if not isinstance(items, (list, tuple)) or len(items) != len(names):
            raise _udf.WrongResult(f'function "{name}" gave the row {row!r}; a row has {len(names)} values')
        for column, value in zip(values, items, strict=True):
            column.append(value)
    return values


def create_table_function(
    self: Connection,
    name: str,
    function: Callable[..., Any],
    parameters: Any = None,
    columns: Any = None,
    *,
    type: Any = "numpy",
    strings: str = "object",
    decimal: str = "decimal",
) -> Connection:
    """Make a function that gives rows a table function of SQL; see the stubs."""
    style = _udf._word(type, _udf._STYLES[1:], "type")
    if not columns:
        raise InvalidInputException(f'function "{name}" needs columns: names and types of what it gives')
    named = list(columns.items()) if isinstance(columns, dict) else [tuple(column) for column in columns]
    quoted = [str(column).replace('"', '""') for column, _ in named]
    kinds = [_udf._type_of(kind, name, "columns") for _, kind in named]
    written = ", ".join(f'"{column}" {kind}' for column, kind in zip(quoted, kinds, strict=True))
    signature = _udf._without_connection(_udf._signature(function))
    types_of, takes_any, _ = _udf._parameters(name, signature, parameters, "BOOLEAN")
    if takes_any:
        raise InvalidInputException(f'function "{name}" needs parameters with names, not *args')
    self._create_function(
        _udf._Declared(
            name=name,
            parameters=[(each, "TABLE" if kind.upper() == "TABLE" else kind) for each, kind in types_of],
            returns=f"STRUCT({written})[]",
            options=_udf._array_options(style, strings, decimal),
            form="table",
        ),
        with_connection(function),
    )
    return self


def udtf(
    self: Connection,
    name: str | None = None,
    parameters: Any = None,
    columns: Any = None,
    **options: Any,
) -> Callable[[F], F]:
    """Decorate a function that gives rows to make it a table function of SQL; see the stubs."""

    def decorated(function: F) -> F:
        create_table_function(self, name or function.__name__, function, parameters, columns, **options)
        return function

    return decorated
