"""Aggregates as methods of expressions: ``col("km").sum()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from inlay._families import Families
from inlay.exceptions import InvalidInputException

if TYPE_CHECKING:
    from inlay._expression import Expression


def _aggregate(function: str, doc: str, name: str = "") -> Callable[..., Expression]:
    def method(self: Calls, *args: Any) -> Expression:
        return self._call(function, *args)

    method.__doc__ = f"""{doc}.

        Parameters
        ----------
        args
            What the function ``{function}`` is given behind the expression itself.

        Returns
        -------
        Expression
            For `Relation.select`, `aggregate` and ``group_by(...).agg``; behind it may stand `where` and `over`.

        Examples
        --------
        >>> str(inlay.col("km").{name or function}())
        '{function}("km")'
        """
    return method


class Calls(Families):
    """What an expression can be the first argument of."""

    __slots__ = ()

    def _call(self, function: str, *args: Any) -> Expression:
        from inlay._expression import FunctionExpression

        return FunctionExpression(function, self, *args)

    any_value = _aggregate("any_value", "Any value that is not NULL")
    approx_count_distinct = _aggregate("approx_count_distinct", "How many different values there are, about")
    approx_quantile = _aggregate("approx_quantile", "The value at a quantile, about")
    approx_top_k = _aggregate("approx_top_k", "The most frequent values, so many as the argument says")
    arg_max = _aggregate("arg_max", "The value where the argument is largest")
    arg_max_null = _aggregate("arg_max_null", "The value, NULL or not, where the argument is largest")
    arg_max_nulls_last = _aggregate(
        "arg_max_nulls_last", "The value, NULL or not, where the argument is largest, or NULL if there is no other"
    )
    arg_min = _aggregate("arg_min", "The value where the argument is smallest")
    arg_min_null = _aggregate("arg_min_null", "The value, NULL or not, where the argument is smallest")
    arg_min_nulls_last = _aggregate(
        "arg_min_nulls_last", "The value, NULL or not, where the argument is smallest, or NULL if there is no other"
    )
    array_agg = _aggregate("array_agg", "All values as a list")
    avg = _aggregate("avg", "The mean")
    mean = avg
    bit_and = _aggregate("bit_and", "Bits set in all values")
    bit_or = _aggregate("bit_or", "Bits set in any value")
    bit_xor = _aggregate("bit_xor", "Bits set in an odd number of values")
    bitstring_agg = _aggregate("bitstring_agg", "A bit for each value that occurs")
    bool_and = _aggregate("bool_and", "Whether all are true")
    bool_or = _aggregate("bool_or", "Whether any is true")
    corr = _aggregate("corr", "The correlation with the argument")
    count = _aggregate("count", "How many values are not NULL")
    count_if = _aggregate("count_if", "How many values are true")
    covar_pop = _aggregate("covar_pop", "The covariance with the argument, of a population")
    covar_samp = _aggregate("covar_samp", "The covariance with the argument, of a sample")
    entropy = _aggregate("entropy", "The entropy")
    favg = _aggregate("favg", "The mean, by exact summation")
    first = _aggregate("first", "The first value")
    fsum = _aggregate("fsum", "The sum, by exact summation")
    geometric_mean = _aggregate("geometric_mean", "The geometric mean")
    histogram = _aggregate("histogram", "How often each value occurs")
    histogram_exact = _aggregate("histogram_exact", "How many values equal each of the argument's bins")
    json_group_array = _aggregate("json_group_array", "All values as a JSON array")
    json_group_object = _aggregate("json_group_object", "A JSON object of these keys, and the argument as values")
    json_group_structure = _aggregate("json_group_structure", "The types in all documents together")
    kurtosis = _aggregate("kurtosis", "The kurtosis")
    kurtosis_pop = _aggregate("kurtosis_pop", "The kurtosis of a population")
    last = _aggregate("last", "The last value")
    lttb = _aggregate(
        "lttb", "At most so many points as the second argument says, of this and the first, that look like all of them"
    )
    mad = _aggregate("mad", "The median of the distances to the median")
    max = _aggregate("max", "The largest value")
    median = _aggregate("median", "The median")
    min = _aggregate("min", "The smallest value")
    mode = _aggregate("mode", "The most frequent value")
    product = _aggregate("product", "The product")
    quantile = _aggregate("quantile_disc", "The value at a quantile", "quantile")
    quantile_cont = _aggregate("quantile_cont", "The value at a quantile, interpolated")
    regr_avgx = _aggregate("regr_avgx", "The mean of the argument where neither is NULL")
    regr_avgy = _aggregate("regr_avgy", "The mean where neither it nor the argument is NULL")
    regr_count = _aggregate("regr_count", "How many rows there are where neither it nor the argument is NULL")
    regr_intercept = _aggregate("regr_intercept", "Where the line of least squares over the argument meets 0")
    regr_r2 = _aggregate(
        "regr_r2", "The part of the variance that the line of least squares over the argument explains"
    )
    regr_slope = _aggregate("regr_slope", "The slope of the line of least squares over the argument")
    regr_sxx = _aggregate("regr_sxx", "The sum of the squared deviations of the argument from its mean")
    regr_sxy = _aggregate("regr_sxy", "The sum of the products of the deviations of it and the argument")
    regr_syy = _aggregate("regr_syy", "The sum of the squared deviations from the mean")
    reservoir_quantile = _aggregate("reservoir_quantile", "The value at a quantile of a random sample")
    sem = _aggregate("sem", "The standard error of the mean")
    skewness = _aggregate("skewness", "The skewness")
    std = _aggregate("stddev_samp", "The standard deviation of a sample")
    stddev_samp = std
    stddev_pop = _aggregate("stddev_pop", "The standard deviation of a population")
    string_agg = _aggregate("string_agg", "The texts, with the argument between them")
    sum = _aggregate("sum", "The sum")
    sum_no_overflow = _aggregate("sum_no_overflow", "The sum; here the same as `sum`")
    var = _aggregate("var_samp", "The variance of a sample")
    var_samp = var
    var_pop = _aggregate("var_pop", "The variance of a population")
    weighted_avg = _aggregate("weighted_avg", "The mean, each value counted as often as the argument says")

    def n_unique(self) -> Expression:
        """
        How many different values there are.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.col("a").n_unique()).fetchall()
        [(2,)]
        """
        return self._written("count(DISTINCT {})")

    def concat(self, *others: Any) -> Expression:
        """
        Put texts behind each other; NULL if one is.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.col("s").concat("!")).fetchall()
        [('Ulm!',), (None,)]
        """
        from inlay._expression import sql_of

        return self._written("(" + " || ".join(["{}", *(_plain(sql_of(other)) for other in others)]) + ")")

    def where(self, predicate: Any) -> Expression:
        """
        Aggregate only the rows for which a condition is true; to stand before `over`.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.col("a").sum().where(inlay.col("a") > 1)).fetchall()
        [(2,)]
        """
        from inlay._expression import sql_of

        return self._written("{} FILTER (WHERE " + _plain(sql_of(predicate)) + ")")

    def ignore_nulls(self) -> Expression:
        """
        Leave out NULL, in `first_value`, `last_value`, `lag`, `lead` and `nth_value`; to stand before `over`.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 'Ulm'), (2, NULL)) t(a, s)")
        >>> r.select(inlay.fn("last_value", inlay.col("s")).ignore_nulls().over()).fetchall()
        [('Ulm',), ('Ulm',)]
        """
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
