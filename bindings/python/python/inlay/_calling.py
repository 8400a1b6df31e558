"""The connection that the body of a function has while SQL calls it: `_conn`, and `inlay.calling()`."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from inlay import _inlay
from inlay._inlay import Connection

#: What the connection is called in the body of a function, and among its parameters.
NAME = "_conn"

#: What a function reads by.
_METHODS = frozenset(
    {
        *("execute", "sql", "query", "fetchone", "fetchmany", "fetchall", "fetchnumpy", "df", "arrow"),
        *("fetch_arrow_table", "fetch_record_batch", "pl", "description", "rowcount"),
    }
)


def calling() -> Connection:
    """
    Give the connection of the statement that calls this function: it reads what the statement reads.

    For the body of a function while SQL calls it, and on the thread of the call. It sees the transaction's own changes
    and temporary tables, and changes nothing. What its queries give has to be fetched before the call ends.

    Raises
    ------
    inlay.InvalidInputException
        No function is called on this thread.

    Examples
    --------
    >>> import inlay
    >>> con = inlay.connect()
    >>> _ = con.execute("CREATE TABLE rates AS SELECT 2 AS rate")
    >>> @con.udf()
    ... def rated(x: int) -> int:
    ...     return x * inlay.calling().execute("SELECT rate FROM rates").fetchone()[0]
    >>> con.execute("SELECT rated(21)").fetchone()
    (42,)
    """
    return _inlay._calling()


class StatementConnection:
    """A connection that reads what the statement reads that calls the function; `inlay.calling()` by a name."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return getattr(calling(), name)
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{NAME} has no {name!r}: inside of a function it reads, by {', '.join(sorted(_METHODS))}")

    def __repr__(self) -> str:
        return "<connection of the statement that calls the function>"

    def __reduce__(self) -> str:
        return "CONNECTION"


#: The one of its kind: it is another connection in every call.
CONNECTION = StatementConnection()


def with_connection(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function that has a parameter `_conn` its connection."""
    if isinstance(function, type):
        return function
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return function
    return partial(function, **{NAME: CONNECTION}) if NAME in parameters else function


def queries(function: Any) -> bool:
    """Say whether a function reads the database, as far as its code shows."""
    while isinstance(function, partial):
        if any(value is CONNECTION for value in (*function.args, *function.keywords.values())):
            return True
        function = function.func
    if isinstance(function, type):
        return any(map(queries, _members(function)))
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if code is None:
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004 - its code is wanted
    return code is not None and any({NAME, "calling"} & set(names) for names in _names_in(code))


def _members(made: type) -> Iterator[Any]:
    for each in made.__mro__:
        for member in vars(each).values():
            plain = getattr(member, "__func__", member)
            if isinstance(plain, types.FunctionType):
                yield plain


def _names_in(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    yield code.co_names + code.co_freevars + code.co_varnames
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)
