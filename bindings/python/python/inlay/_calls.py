"""Aggregates as methods of expressions: ``col("km").sum()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from inlay._families import Families
from inlay.exceptions import InvalidInputException

if TYPE_CHECKING:
    from inlay._expression import Expression


def _aggregate(function: str, doc: str) -> Callable[..., Expression]:
    def method(self: Calls, *args: Any) -> Expression:
        return self._call(function, *args)

    method.__doc__ = f"{doc}."
    return method


class Calls(Families):
    """What an expression can be the first argument of."""

    __slots__ = ()

    def _call(self, function: str, *args: Any) -> Expression:
        from inlay._expression import FunctionExpression

        return FunctionExpression(function, self, *args)

    any_value = _aggregate("any_value", "Any value that is not NULL")
    arg_max = _aggregate("arg_max", "The value where the argument is largest")
    arg_min = _aggregate("arg_min", "The value where the argument is smallest")
    array_agg = _aggregate("array_agg", "All values as a list")
    avg = _aggregate("avg", "The mean")
    mean = avg
    bit_and = _aggregate("bit_and", "Bits set in all values")
    bit_or = _aggregate("bit_or", "Bits set in any value")
    bool_and = _aggregate("bool_and", "Whether all are true")
    bool_or = _aggregate("bool_or", "Whether any is true")
    count = _aggregate("count", "How many values are not NULL")
    entropy = _aggregate("entropy", "The entropy")
    first = _aggregate("first", "The first value")
    kurtosis = _aggregate("kurtosis", "The kurtosis")
    last = _aggregate("last", "The last value")
    max = _aggregate("max", "The largest value")
    median = _aggregate("median", "The median")
    min = _aggregate("min", "The smallest value")
    mode = _aggregate("mode", "The most frequent value")
    product = _aggregate("product", "The product")
    quantile = _aggregate("quantile_disc", "The value at a quantile")
    quantile_cont = _aggregate("quantile_cont", "The value at a quantile, interpolated")
    skewness = _aggregate("skewness", "The skewness")
    std = _aggregate("stddev_samp", "The standard deviation of a sample")
    string_agg = _aggregate("string_agg", "The texts, with the argument between them")
    sum = _aggregate("sum", "The sum")
    var = _aggregate("var_samp", "The variance of a sample")

    def n_unique(self) -> Expression:
        """How many different values there are."""
        return self._written("count(DISTINCT {})")

    def concat(self, *others: Any) -> Expression:
        """Put texts behind each other; NULL if one is."""
        from inlay._expression import sql_of

        return self._written("(" + " || ".join(["{}", *(_plain(sql_of(other)) for other in others)]) + ")")

    def where(self, predicate: Any) -> Expression:
        """Aggregate only the rows for which a condition is true; to stand before `over`."""
        from inlay._expression import sql_of

        return self._written("{} FILTER (WHERE " + _plain(sql_of(predicate)) + ")")

    def ignore_nulls(self) -> Expression:
        """Leave out NULL, in `first_value`, `last_value`, `lag`, `lead` and `nth_value`; to stand before `over`."""
        from inlay._expression import _made

        text = str(self)
        if not text.endswith(")"):
            raise InvalidInputException(f"ignore_nulls() is for calls of functions, and {text} is none")
        return _made(f"{text[:-1]} IGNORE NULLS)")

    def _written(self, pattern: str) -> Expression:
        from inlay._expression import _made

        return _made(pattern.format(str(self)))


def _plain(text: str) -> str:
    """Write a text for `str.format`, which gives it as it is."""
    return text.replace("{", "{{").replace("}", "}}")
