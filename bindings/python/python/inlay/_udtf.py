"""
Table functions of Python in SQL: callables of texts, tables as arguments, and rows of what is given.

The engine calls a function with values and with what `table_argument` makes; `pieces` takes apart what it gives.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from inlay import _udf
from inlay._calling import with_connection
from inlay._inlay import Connection
from inlay._parts import quote
from inlay.exceptions import InvalidInputException

#: What a body may have instead of a return.
_YIELDS = (ast.Yield, ast.YieldFrom)


#: What a class is told parts of a table by, and the end of it.
_PROCESS = "process"
#: What the function is called that says which columns there are.
_SCHEMA = "schema"


def check(name: str, parameters: list[str], variadic: bool, body: str) -> tuple[bool, bool]:
    """Fail if a text is no table function; say whether it is a class, and whether it says its columns."""
    read = _read(name, parameters, variadic, body, f"<function {name}>")
    return read.is_class, read.schema is not None


def compiled(
    name: str, parameters: list[str], variadic: bool, body: str
) -> tuple[str, Callable[..., Any], Callable[..., Any] | None]:
    """Make the table function of a text, and say what it is: ``table`` or ``class``, and what says its columns."""
    filename = _udf._register(name, body)
    read = _read(name, parameters, variadic, body, filename)
    known = _udf._run(name, read.code)
    says = None
    if read.schema is not None:
        exec(read.schema, known)
        says = known[_SCHEMA]
    return ("class" if read.is_class else "table"), known[read.name], says


class _Read(NamedTuple):
    """What a text is: the code that makes the function or the class of this name, and that of `schema`."""

    code: types.CodeType
    name: str
    is_class: bool
    schema: types.CodeType | None


def _read(name: str, parameters: list[str], variadic: bool, body: str, filename: str) -> _Read:
    """Find the function or the class that a text is, and the function `schema` in it."""
    statements = _udf._statements(name, body, filename)
    says = [each for each in statements if isinstance(each, ast.FunctionDef) and each.name == _SCHEMA]
    rest = [each for each in statements if each not in says]
    schema = compile(ast.Module([says[-1]], []), filename, "exec", dont_inherit=True) if says else None
    classes = [each for each in rest if isinstance(each, ast.ClassDef)]
    if classes and not _udf._returns(rest, _YIELDS):
        _udf._check_parameters(name, parameters)
        own = classes[-1]
        methods = {each.name for each in own.body if isinstance(each, ast.FunctionDef)}
        if not own.bases and _PROCESS not in methods:
            raise SyntaxError(f'function "{name}": class {own.name} needs the method process(self, ...), for a table')
        return _Read(compile(ast.Module(rest, []), filename, "exec", dont_inherit=True), own.name, True, schema)
    code = _udf._code_of(name, parameters, variadic, rest, filename, gives=_YIELDS)
    return _Read(code, _udf.name_of(name), False, schema)


def columns_of_schema(name: str, given: Any) -> list[tuple[str, str]]:
    """Make names and types of what a function `schema` gave."""
    try:
        pairs = list(given.items()) if isinstance(given, dict) else [(column, kind) for column, kind in given]
    except (TypeError, ValueError):
        message = f'the schema of function "{name}" gave {given!r}, not names and types: {{"x": "DOUBLE"}}'
        raise _udf.WrongResult(message) from None
    return [(str(column), _udf._type_of(kind, name, "a type in its schema")) for column, kind in pairs]


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


def _signature(name: str, function: Callable[..., Any], given: Any) -> inspect.Signature:
    """Describe what SQL gives: of a class what it is made with, and the tables of `process` where they stand."""
    if not isinstance(function, type):
        return _udf._without_connection(_udf._signature(function))
    process = getattr(function, _PROCESS, None)
    if not callable(process):
        raise InvalidInputException(f'function "{name}": class {function.__name__} has no method process')
    tables = list(_udf._signature(process).parameters.values())[1:]
    values: list[inspect.Parameter] = []
    if function.__init__ is not object.__init__:  # type: ignore[misc]
        values = list(_udf._signature(function.__init__).parameters.values())[1:]  # type: ignore[misc]
    tables = [each.replace(annotation="TABLE") for each in tables]
    if given is None or isinstance(given, str):
        return inspect.Signature([*tables, *values])
    order = [(tables if str(kind).upper() == "TABLE" else values) for kind in given]
    names = [each.pop(0) for each in order if each]
    if len(names) < len(order) or tables:
        message = f"has {len(order)} types, which are not those of __init__ and process"
        raise InvalidInputException(f'function "{name}": parameters {message}')
    return inspect.Signature([each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in names + values])


def create_table_function(
    self: Connection,
    name: str,
    function: Callable[..., Any],
    parameters: Any = None,
    columns: Any = None,
    *,
    schema: Callable[..., Any] | None = None,
    blocking: bool = True,
    rows: float | None = None,
    type: Any = "numpy",
    strings: str = "object",
    decimal: str = "decimal",
) -> Connection:
    """Make a function that gives rows a table function of SQL; see the stubs."""
    style = _udf._word(type, _udf._STYLES[1:], "type")
    if bool(columns) == (schema is not None):
        what = "names and types of what it gives, or schema, a function that gives them"
        raise InvalidInputException(f'function "{name}" needs columns: {what}')
    named = list(columns.items()) if isinstance(columns, dict) else [tuple(column) for column in columns or ()]
    quoted = [quote(str(column)) for column, _ in named]
    kinds = [_udf._type_of(kind, name, "columns") for _, kind in named]
    written = ", ".join(f"{column} {kind}" for column, kind in zip(quoted, kinds, strict=True))
    signature = _signature(name, function, parameters)
    types_of, takes_any, _ = _udf._parameters(name, signature, parameters, "BOOLEAN")
    if takes_any:
        message = f'function "{name}" needs a type for each parameter: parameters=["TABLE", "INTEGER"], or annotations'
        raise InvalidInputException(message)
    is_class = isinstance(function, builtins.type)
    if is_class and not any(kind.upper() == "TABLE" for _, kind in types_of):
        raise InvalidInputException(f'function "{name}" is a class, which is given a table: a parameter "TABLE"')
    options = _udf._array_options(style, strings, decimal)
    if rows is not None:
        options.append(("rows", str(rows)))
    self._create_function(
        _udf._Declared(
            name=name,
            parameters=[(each, "TABLE" if kind.upper() == "TABLE" else kind) for each, kind in types_of],
            returns=f"STRUCT({written})[]",
            options=options,
            is_table=True,
            is_blocking=blocking,
            form="class" if is_class else "table",
            schema=schema,
        ),
        with_connection(function),
    )
    return self


def udtf(
    self: Connection,
    name: Any = None,
    parameters: Any = None,
    columns: Any = None,
    **options: Any,
) -> Any:
    """Decorate a function that gives rows to make it a table function of SQL; see the stubs."""
    return _udf.decorator(name, lambda n, made: create_table_function(self, n, made, parameters, columns, **options))
