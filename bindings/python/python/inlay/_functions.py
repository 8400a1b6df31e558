"""Short names for expressions (`col`, `lit`, `fn`, `when`) and window functions, as DuckDB's package has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from inlay._expression import (
    CaseExpression,
    CoalesceOperator,
    ColumnExpression,
    ConstantExpression,
    Expression,
    FunctionExpression,
    SQLExpression,
    _made,
    sql_of,
)
from inlay._parts import quote


def col(*parts: str) -> Expression:
    """Name a column; before its name may stand those of its table, schema and database."""
    return ColumnExpression(*parts)


def lit(value: Any) -> Expression:
    """Make a constant of a Python value."""
    return ConstantExpression(value)


def star(exclude: Any = (), rename: Mapping[str, str] | None = None) -> Expression:
    """Take all columns but those excluded; `rename` maps names to new ones."""
    excluded = [exclude] if isinstance(exclude, (str, Expression)) else list(exclude)
    text = "*"
    if excluded:
        names = (quote(name) if isinstance(name, str) else sql_of(name) for name in excluded)
        text += f" EXCLUDE ({', '.join(names)})"
    if rename:
        text += f" RENAME ({', '.join(f'{quote(old)} AS {quote(new)}' for old, new in rename.items())})"
    return _made(text)


def fn(name: str | tuple[str, ...], /, *args: Any, **named: Any) -> Expression:
    """Call a function of SQL; a tuple has its schema before its name. Arguments by name are SQL's ``name := value``."""
    path = ".".join(map(quote, name)) if isinstance(name, tuple) else name
    given = (_made(f"{quote(key)} := {sql_of(value)}") for key, value in named.items())
    return FunctionExpression(path, *args, *given)


def sql_expr(sql: str) -> Expression:
    """Take SQL as it is, never escaped."""
    return SQLExpression(sql)


def coalesce(*args: Any) -> Expression:
    """Take the first value that is not NULL."""
    return CoalesceOperator(*args)


def count_all() -> Expression:
    """Count rows."""
    return _made("count(*)")


class When:
    """The beginning of a branch of a CASE, which `then` completes."""

    def __init__(self, case: Expression | None, condition: Any) -> None:
        self._case, self._condition = case, condition

    def then(self, value: Any) -> Then:
        """Give the value where the condition is true."""
        if self._case is None:
            return Then(CaseExpression(self._condition, value))
        return Then(self._case.when(self._condition, value))


class Then:
    """A CASE, which `otherwise` or `end` completes."""

    def __init__(self, case: Expression) -> None:
        self._case = case

    def when(self, condition: Any) -> When:
        """Begin another branch."""
        return When(self._case, condition)

    def otherwise(self, value: Any) -> Expression:
        """End the CASE with the value for all other rows."""
        return self._case.otherwise(value)

    def end(self) -> Expression:
        """End the CASE; it is NULL for all other rows."""
        return self._case


def when(condition: Any) -> When:
    """Begin a CASE: ``when(col("km") > 4).then("far").otherwise("near")``."""
    return When(None, condition)


def _window(name: str, doc: str) -> Callable[..., Expression]:
    def function(*args: Any) -> Expression:
        return fn(name, *args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}; to be followed by `.over()`."
    return function


row_number = _window("row_number", "The number of a row in its window")
rank = _window("rank", "The rank of a row in its window, with gaps")
dense_rank = _window("dense_rank", "The rank of a row in its window, without gaps")
ntile = _window("ntile", "The part, of so many of equal size, that has a row of a window")
lag = _window("lag", "The value some rows before")
lead = _window("lead", "The value some rows behind")
first_value = _window("first_value", "The value of a window's first row")
last_value = _window("last_value", "The value of a window's last row")
nth_value = _window("nth_value", "The value of a window's row at a place, from 1")
percent_rank = _window("percent_rank", "The rank of a row in its window as a share of the other rows")
cume_dist = _window("cume_dist", "The share of a window's rows up to a row and those that sort with it")
fill = _window("fill", "The value or, where it is NULL, one interpolated between its neighbours")
