"""
Functions of Python in SQL: callables of texts, what arguments and results are, and what is told of exceptions.

The engine calls a function with arrays that it makes; `result` says what comes back. Texts of stored functions are
compiled under a file name of their own, so that tracebacks show their lines.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import linecache
import traceback
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from inlay import sqltypes
from inlay._calling import CONNECTION, NAME, with_connection
from inlay._inlay import Connection
from inlay._kinds import FunctionNullHandling, PythonExceptionHandling, PythonUDFType
from inlay.exceptions import Error, InvalidInputException

F = TypeVar("F", bound=Callable[..., Any])

#: Integers of Arrow and of pandas.
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")

#: Types that are there without anybody's CREATE TYPE.
_PLAIN = frozenset(
    (
        *(
            "BIGINT",
            "BIT",
            "BLOB",
            "BOOLEAN",
            "DATE",
            "DECIMAL",
            "DOUBLE",
            "FLOAT",
            "HUGEINT",
            "INTEGER",
            "INTERVAL",
            "JSON",
        ),
        *("SMALLINT", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TINYINT", "UBIGINT", "UHUGEINT", "UINTEGER", "USMALLINT"),
        *("UTINYINT", "UUID", "VARCHAR"),
    )
)

#: Words for what functions are called with.
_STYLES = ("native", "numpy", "arrow", "pandas", "polars")


def lines_of(name: str, body: str) -> tuple[list[str], bool]:
    """Return the lines of a body, indented alike, and whether they are indented at all."""
    lines = body.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    if not filled:
        raise SyntaxError(f'the body of function "{name}" is empty; it needs a return')
    first = filled[0]
    if first == 0:
        # It begins behind the brace: its margin is that of the next line.
        margins = [len(lines[number]) - len(lines[number].lstrip()) for number in filled[1:]] or [1]
        own = margins[0]
        if lines[0].rstrip().endswith(":"):
            # The next line is inside of what begins here.
            own = min(margins) if min(margins) < own else max(own - 1, 0)
        lines[0] = " " * own + lines[0].lstrip()
    return lines, lines[first][:1].isspace()


def _statements(name: str, body: str, filename: str) -> list[ast.stmt]:
    """Read the body of a function as it is written, however it is indented; its lines keep their numbers."""
    lines, wrapped = lines_of(name, body)
    source = "\n".join(["if 1:", *lines] if wrapped else lines)
    try:
        tree = ast.parse(source, filename)
    except SyntaxError as error:
        if wrapped and error.lineno is not None:
            error.lineno -= 1
        raise
    if not wrapped:
        return tree.body
    ast.increment_lineno(tree, -1)
    whole = tree.body[0]
    if len(tree.body) != 1 or not isinstance(whole, ast.If) or whole.orelse:
        raise SyntaxError(f'the lines of function "{name}" are not indented alike')
    return whole.body


#: Other nodes than a return by which a body gives something.
_Gives = tuple[type[ast.AST], ...]


def _returns(statements: Iterable[ast.AST], gives: _Gives = ()) -> bool:
    for node in statements:
        if (isinstance(node, ast.Return) and node.value is not None) or isinstance(node, gives):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if _returns(ast.iter_child_nodes(node), gives):
            return True
    return False


def _check_parameters(name: str, parameters: list[str]) -> None:
    for parameter in parameters:
        if not parameter.isidentifier() or keyword.iskeyword(parameter):
            raise SyntaxError(f'function "{name}": the parameter "{parameter}" is no name in Python')


def _code(
    name: str,
    parameters: list[str],
    variadic: bool,
    body: str,
    filename: str,
    *keywords: str,
    gives: _Gives = (),
) -> types.CodeType:
    return _code_of(name, parameters, variadic, _statements(name, body, filename), filename, *keywords, gives=gives)


def name_of(name: str) -> str:
    """Name a function in Python as it is named in SQL, if that is possible."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else "function"


def _code_of(
    name: str,
    parameters: list[str],
    variadic: bool,
    statements: list[ast.stmt],
    filename: str,
    *keywords: str,
    gives: _Gives = (),
) -> types.CodeType:
    _check_parameters(name, parameters)
    if not _returns(statements, gives):
        raise SyntaxError(f'the body of function "{name}" gives nothing; it needs a return with a value')
    own = [ast.arg(parameter, lineno=1, col_offset=0) for parameter in parameters]
    rest = ast.arg("args", lineno=1, col_offset=0) if variadic else None
    named = [ast.arg(keyword, lineno=1, col_offset=0) for keyword in keywords]
    nothing: list[ast.expr | None] = [None for _ in named]
    arguments = ast.arguments(posonlyargs=[], args=own, vararg=rest, kwonlyargs=named, kw_defaults=nothing, defaults=[])
    called = name_of(name)
    made = next(node for node in ast.parse("def function(): pass").body if isinstance(node, ast.FunctionDef))
    made.name, made.args, made.body = called, arguments, statements
    module = ast.fix_missing_locations(ast.Module([made], []))
    # The definition stands on the first line of the body.
    return compile(module, filename, "exec", dont_inherit=True)


def check(name: str, parameters: list[str], variadic: bool, body: str, gives: _Gives = ()) -> None:
    """Fail if a text is no function."""
    _code(name, parameters, variadic, body, f"<function {name}>", gives=gives)


def _register(name: str, body: str) -> str:
    """Give a text the name of a file, from which tracebacks show lines."""
    lines, number = body.splitlines(keepends=True), 1
    while True:
        filename = f"<function {name}>" if number == 1 else f"<function {name} #{number}>"
        entry = (len(body), None, lines, filename)
        if tuple(linecache.cache.setdefault(filename, entry)) == entry:
            return filename
        number += 1


def _run(name: str, code: types.CodeType) -> dict[str, Any]:
    known: dict[str, Any] = {"__name__": f"inlay.functions.{name}", NAME: CONNECTION}
    try:
        import numpy

        known.update(numpy=numpy, np=numpy)
    except ImportError:
        pass
    exec(code, known)
    return known


def compiled(
    name: str,
    parameters: list[str],
    variadic: bool,
    body: str,
    *keywords: str,
    gives: _Gives = (),
) -> Callable[..., Any]:
    """Make the function of a text. It sees `numpy` and `np`."""
    filename = _register(name, body)
    known = _run(name, _code(name, parameters, variadic, body, filename, *keywords, gives=gives))
    function: Callable[..., Any] = known[name_of(name)]
    return function


def _class_in(name: str, parameters: list[str], body: str, filename: str) -> tuple[str, types.CodeType] | None:
    """Find the class that a text is, if it is no function."""
    statements = _statements(name, body, filename)
    classes = [node for node in statements if isinstance(node, ast.ClassDef)]
    if _returns(statements) or not classes:
        return None
    _check_parameters(name, parameters)
    own = classes[-1]
    methods = {node.name for node in own.body if isinstance(node, ast.FunctionDef)}
    if not own.bases and not {"update", "finish"} <= methods:
        message = f'aggregate "{name}": class {own.name} needs the methods update(self, ...) and finish(self)'
        raise SyntaxError(message)
    code = compile(ast.Module(statements, []), filename, "exec", dont_inherit=True)
    return own.name, code


def _keywords(name: str, parameters: list[str], body: str, filename: str) -> list[str]:
    """Say what an aggregate's body is told besides its parameters."""
    if "aggr_group" in parameters:
        raise SyntaxError(f'aggregate "{name}": aggr_group is there without a parameter; take another name for it')
    names = (node for statement in _statements(name, body, filename) for node in ast.walk(statement))
    return ["aggr_group"] if any(isinstance(node, ast.Name) and node.id == "aggr_group" for node in names) else []


def check_aggregate(name: str, parameters: list[str], variadic: bool, body: str) -> None:
    """Fail if a text is no aggregate."""
    filename = f"<function {name}>"
    if _class_in(name, parameters, body, filename) is None:
        _code(name, parameters, variadic, body, filename, *_keywords(name, parameters, body, filename))


def compiled_aggregate(name: str, parameters: list[str], variadic: bool, body: str) -> tuple[str, Callable[..., Any]]:
    """Make the function or the class of a text, and say which."""
    filename = _register(name, body)
    found = _class_in(name, parameters, body, filename)
    if found is not None:
        return aggregate(name, _run(name, found[1])[found[0]])
    keywords = _keywords(name, parameters, body, filename)
    return ("numbered" if keywords else "group"), compiled(name, parameters, variadic, body, *keywords)


def aggregate(name: str, made: Any) -> tuple[str, Callable[..., Any]]:
    """Say what an aggregate is: ``group``, ``numbered``, ``class`` or ``merging``."""
    if isinstance(made, type):
        missing = [method for method in ("update", "finish") if not callable(getattr(made, method, None))]
        if missing:
            message = f'aggregate "{name}": class {made.__name__} has no method {" and no method ".join(missing)}'
            raise InvalidInputException(message)
        return ("merging" if callable(getattr(made, "merge", None)) else "class"), made
    if not callable(made):
        raise InvalidInputException(f'aggregate "{name}": expected a function or a class, got {made!r}')
    try:
        names = inspect.signature(made).parameters
    except (TypeError, ValueError):
        names = types.MappingProxyType({})
    return ("numbered" if "aggr_group" in names else "group"), made


def values_of_groups(values: list[Any]) -> list[Any]:
    """Make plain values of what was given for each group."""
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if type(value).__module__.partition(".")[0] == "numpy":
        return value.tolist() if getattr(value, "ndim", 0) else _item(value)
    return value.as_py() if hasattr(value, "as_py") else value


class WrongResult(InvalidInputException):
    """What a function gave is not what it declared; the message says all."""


def told(name: str, error: BaseException) -> str:
    """Say what a function raised, and where in its text."""
    if isinstance(error, WrongResult):
        return str(error)
    what = "".join(traceback.format_exception_only(type(error), error)).strip()
    if isinstance(error, SyntaxError):
        place = f", line {error.lineno}" if error.lineno is not None else ""
        line = f": {error.text.strip()}" if error.text else ""
        return f'function "{name}"{place}: {error.msg}{line}'
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    own = [frame for frame in frames if frame.filename.startswith("<function ")] or frames
    if not own:
        return f'function "{name}" raised {what}'
    frame = own[-1]
    line = f": {frame.line}" if frame.line else ""
    return f'function "{name}" raised {what} (line {frame.lineno} of {frame.filename}{line})'


def arrow_columns(stream: Any) -> list[Any]:
    """Make Arrow arrays of rows."""
    import pyarrow

    return list(pyarrow.table(stream).columns)


def pandas_columns(stream: Any, objects: dict[int, Any]) -> list[Any]:
    """
    Make Series of pandas of rows; integers and booleans with NULLs stay what they are.

    Some come as arrays of `objects`, by their places.
    """
    import numpy
    import pandas
    import pyarrow

    nullable = {
        **{getattr(pyarrow, name.lower())(): getattr(pandas, f"{name}Dtype")() for name in _INTEGERS},
        pyarrow.bool_(): pandas.BooleanDtype(),
    }
    columns = arrow_columns(stream)
    return [
        pandas.Series(numpy.ma.getdata(objects[index]), dtype=object)
        if index in objects
        else column.to_pandas(types_mapper=nullable.get if column.null_count else None)
        for index, column in enumerate(columns)
    ]


def polars_columns(stream: Any) -> list[Any]:
    """Make Series of Polars of rows."""
    import polars

    columns: list[Any] = polars.DataFrame(stream).get_columns()
    return columns


def result(value: Any, objects: bool) -> tuple[str, Any]:
    """
    Say what a function gave: ``array`` of one dimension, ``list``, ``arrow`` (a stream) or ``scalar``.

    Series of objects stay `objects` if they are of a type that Arrow makes something else of.
    """
    if isinstance(value, (list, tuple)):
        return "list", list(value)
    module = type(value).__module__.partition(".")[0]
    if module == "numpy":
        dimensions = getattr(value, "ndim", 0)
        if dimensions == 1:
            return "array", value
        return ("list", value.tolist()) if dimensions > 1 else ("scalar", _item(value))
    if module == "pyarrow":
        import pyarrow

        if isinstance(value, pyarrow.Scalar):
            return "scalar", value
        if hasattr(value, "schema"):
            # A table or a batch of one column is that column.
            if value.num_columns != 1:
                raise WrongResult(
                    f"a function gave a table of {value.num_columns} columns; one of one column is a column"
                )
            value = value.column(0)
        return "arrow", pyarrow.table({"result": value})
    if module == "pandas" and hasattr(value, "to_numpy"):
        if objects and getattr(getattr(value, "dtype", None), "kind", None) == "O":
            return "array", value.to_numpy()
        import pyarrow

        return "arrow", pyarrow.table({"result": pyarrow.Array.from_pandas(value)})
    if module == "polars" and hasattr(value, "to_frame"):
        return "arrow", value.to_frame()
    return "scalar", value


def _item(value: Any) -> Any:
    import numpy

    if value is numpy.ma.masked:
        return None
    return value[()] if isinstance(value, numpy.ndarray) else value


def _type_of(annotation: Any, name: str, what: str) -> str:
    """Make a SQL type of an annotation, of a type of SQL, or of a text."""
    try:
        return str(sqltypes.sqltype(annotation))
    except (KeyError, AttributeError):
        message = f'function "{name}": {annotation!r} is no type of SQL; say {what}'
        raise InvalidInputException(message) from None


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Describe a function. An annotation that is a text is evaluated if it is Python's, and otherwise a type of SQL."""
    try:
        return inspect.signature(function, eval_str=True)
    except (AttributeError, NameError, SyntaxError):
        return _signature_of_texts(function)
    except (TypeError, ValueError):
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])


def _signature_of_texts(function: Callable[..., Any]) -> inspect.Signature:
    """Describe a function whose annotations are not all Python's: ``"TABLE"``, ``"VARCHAR[]"``."""
    signature = inspect.signature(function)
    known = getattr(inspect.unwrap(function), "__globals__", {})

    def evaluated(annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return annotation
        try:
            value = eval(annotation, known)
        except (AttributeError, NameError, SyntaxError, TypeError):
            return annotation.strip("\"'")
        return value

    parameters = [each.replace(annotation=evaluated(each.annotation)) for each in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=evaluated(signature.return_annotation))


def _without_connection(signature: inspect.Signature) -> inspect.Signature:
    """Leave out the parameter that SQL gives nothing for."""
    return signature.replace(parameters=[each for each in signature.parameters.values() if each.name != NAME])


def _signature_of_aggregate(made: Any) -> inspect.Signature:
    """Describe what an aggregate takes, and what it gives."""
    if not isinstance(made, type):
        signature = _signature(made)
        own = [each for each in signature.parameters.values() if each.name != "aggr_group"]
        return _without_connection(signature.replace(parameters=own))
    update = _signature(made.update)  # type: ignore[attr-defined]
    own = list(update.parameters.values())
    if own and own[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        own = own[1:]
    return update.replace(parameters=own, return_annotation=_signature(made.finish).return_annotation)  # type: ignore[attr-defined]


def _parameters(
    name: str, signature: inspect.Signature, given: Any, return_type: Any
) -> tuple[list[tuple[str, str]], bool, str]:
    """Find names and types of the parameters, whether others may follow, and the type of the result."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [each for each in signature.parameters.values() if each.kind in positional]
    takes_any = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in signature.parameters.values())
    if return_type is None:
        return_type = signature.return_annotation
    if return_type is inspect.Signature.empty:
        example = f"'DOUBLE', or def {name_of(name)}(...) -> float"
        raise InvalidInputException(f'function "{name}" needs return_type, the type of what it gives: {example}')
    returns = _type_of(return_type, name, "return_type")
    if given is not None:
        kinds = [given] if isinstance(given, str) else list(given)
        required = sum(each.default is inspect.Parameter.empty for each in own)
        if not (takes_any or required <= len(kinds) <= len(own)) or len(kinds) < required:
            raise InvalidInputException(
                f'function "{name}" takes {len(own)} arguments, and parameters has {len(kinds)} types'
            )
        names = [each.name for each in own] + [f"arg{number}" for number in range(len(own), len(kinds))]
        return [(n, _type_of(kind, name, "parameters")) for n, kind in zip(names, kinds, strict=False)], False, returns
    untyped = [each.name for each in own if each.annotation is inspect.Parameter.empty]
    if untyped:
        annotated = ", ".join(f"{each.name}: float" for each in own)
        example = f"{['DOUBLE'] * len(own)}, or def {name_of(name)}({annotated})"
        message = f'function "{name}" needs parameters, the types of {", ".join(untyped)}: {example}'
        raise InvalidInputException(message)
    return [(each.name, _type_of(each.annotation, name, "parameters")) for each in own], takes_any, returns


def _known_type(con: Connection, name: str, ty: str) -> str:
    """Return what a type is that CREATE TYPE made, and say of one that nobody knows that it is none."""
    if ty.upper() in _PLAIN:
        return ty
    try:
        _, columns, _ = con._describe(f"SELECT CAST(NULL AS {ty})", {})
    except Error as error:
        message = str(error).partition("\nline")[0]
        if "does not exist" not in message:
            return ty
        known = f"; there are {', '.join(sorted(_PLAIN))}, lists of them and others"
        hint = "" if "did you mean" in message else known
        raise InvalidInputException(f'function "{name}": {message}{hint}') from None
    return columns[1][0] if columns else ty


def _word(value: Any, words: tuple[str, ...], what: str) -> str:
    word = str(value.name if hasattr(value, "name") else value).lower()
    if word not in words:
        raise InvalidInputException(f"{what}={value!r}: expected {', '.join(map(repr, words))}")
    return word


def _array_options(style: str, strings: str, decimal: str) -> list[tuple[str, str]]:
    """Say what arrays a function is called with."""
    options = [("arguments", style)]
    if style == "numpy":
        options += [("strings", strings), ("decimal", decimal)]
    return options


class _Declared:
    """What the engine is told of a function; aggregates and table functions are mostly as the defaults say."""

    is_variadic = is_strict = refuses_null = forgives = False
    is_blocking = True
    is_table = False
    volatility = "stable"
    form: str | None = None
    schema: Any = None

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def create_function(
    self: Connection,
    name: str,
    function: Callable[..., Any],
    parameters: Any = None,
    return_type: Any = None,
    *,
    type: Any = PythonUDFType.NATIVE,
    null_handling: Any = FunctionNullHandling.DEFAULT,
    exception_handling: Any = PythonExceptionHandling.DEFAULT,
    side_effects: bool = False,
    deterministic: bool = False,
    blocking: bool = False,
    strings: str = "object",
    decimal: str = "decimal",
    parallel: str = "threads",
    cost: float | None = None,
) -> Connection:
    """Make a function callable from SQL; see the stubs."""
    if not callable(function):
        raise InvalidInputException(f'function "{name}": expected something to call, got {function!r}')
    style = _word(type, _STYLES, "type")
    special = _word(null_handling, ("default", "special"), "null_handling") == "special"
    forgives = _word(exception_handling, ("default", "return_null"), "exception_handling") == "return_null"
    if forgives and style != "native":
        message = "exception_handling='return_null' needs type='native': others see many rows at once"
        raise InvalidInputException(message)
    if side_effects and deterministic:
        raise InvalidInputException("a function with side_effects is not deterministic")
    signature = _without_connection(_signature(function))
    types_of, takes_any, returns = _parameters(name, signature, parameters, return_type)
    # DuckDB's kinds see no NULL unless they say so; arrays show which rows are NULL.
    is_duckdbs = style in ("native", "arrow")
    options = _array_options("rows" if style == "native" else style, strings, decimal)
    if parallel != "threads":
        options.append(("parallel", parallel))
    if cost is not None:
        options.append(("cost", str(cost)))
    types_of = [(parameter, _known_type(self, name, ty)) for parameter, ty in types_of]
    returns = _known_type(self, name, returns)
    self._create_function(
        _Declared(
            name=name,
            parameters=types_of,
            is_variadic=takes_any,
            returns=returns,
            options=options,
            volatility="volatile" if side_effects else "immutable" if deterministic else "stable",
            is_strict=is_duckdbs and not special,
            refuses_null=is_duckdbs and not special and not forgives,
            forgives=forgives,
            is_blocking=blocking,
        ),
        with_connection(function),
    )
    return self


def create_aggregate(
    self: Connection,
    name: str,
    function: Callable[..., Any],
    parameters: Any = None,
    return_type: Any = None,
    *,
    type: Any = "numpy",
    null_handling: Any = FunctionNullHandling.SPECIAL,
    strings: str = "object",
    decimal: str = "decimal",
    parallel: str = "threads",
) -> Connection:
    """Make a function or a class an aggregate of SQL; see the stubs."""
    style = _word(type, _STYLES[1:], "type")
    special = _word(null_handling, ("default", "special"), "null_handling") == "special"
    form, made = aggregate(name, function)
    options = _array_options(style, strings, decimal)
    if parallel != "threads":
        options.append(("parallel", parallel))
    types_of, takes_any, returns = _parameters(name, _signature_of_aggregate(made), parameters, return_type)
    self._create_function(
        _Declared(
            name=name,
            parameters=types_of,
            is_variadic=takes_any,
            returns=returns,
            options=options,
            is_strict=not special,
            form=form,
        ),
        with_connection(made),
    )
    return self


def decorator(name: Any, make: Callable[[str, F], Any]) -> Any:
    """
    Give a decorator, or decorate at once: `name` is a name, None, or what ``@con.udf`` stands before.

    `make` is told the name and the object.
    """
    if name is not None and not isinstance(name, str) and not callable(name):
        raise InvalidInputException(f"the name of a function is a text, not {name!r}")

    def decorated(made: F) -> F:
        make(name if isinstance(name, str) else made.__name__, made)
        return made

    return decorated(name) if callable(name) else decorated


def udaf(
    self: Connection,
    name: Any = None,
    parameters: Any = None,
    return_type: Any = None,
    **options: Any,
) -> Any:
    """Decorate a class or a function to make it an aggregate of SQL; see the stubs."""
    return decorator(name, lambda n, made: create_aggregate(self, n, made, parameters, return_type, **options))


def udf(
    self: Connection,
    name: Any = None,
    parameters: Any = None,
    return_type: Any = None,
    *,
    type: Any = "numpy",
    **options: Any,
) -> Any:
    """Decorate a function to make it callable from SQL; see the stubs."""
    return decorator(
        name, lambda n, made: create_function(self, n, made, parameters, return_type, type=type, **options)
    )
