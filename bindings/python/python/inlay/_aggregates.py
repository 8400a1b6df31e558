"""Aggregates and window functions of relations by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from inlay import _parts
from inlay._expression import sql_of
from inlay._parts import quote
from inlay._query import Query
from inlay.exceptions import InvalidInputException, ParserException

if TYPE_CHECKING:
    from inlay._relation import Relation


def _doc(what: str, call: str, same: str) -> str:
    """Make the docstring of a method that calls a function of SQL; its example says which SQL is the same."""
    return f"""{what}

        Parameters
        ----------
        expression, other, arg_column, value_column
            What the function is given: SQL, expressions, or names of columns.
        groups
            SQL by which the rows are grouped; none of it is in the result unless `projected_columns` has it.
        window_spec
            ``OVER (...)``: a value for each row rather than one for all or for each group.
        projected_columns
            SQL of columns that stand before the value.

        Returns
        -------
        Relation
            The query, which runs when it is read.

        Raises
        ------
        inlay.ProgrammingError
            Names or types do not fit.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4, true, '[1]'::JSON), (2, 6, false, '2')) t(a, b, t, j)")
        >>> r.{call}.fetchall() == r.{same}.fetchall()
        True
        """


def _aggregate(function: str, doc: str, argument: str = "a") -> Callable[..., Relation]:
    def method(
        self: Aggregates, expression: Any, groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        return self._call(f"{function}({self._argument(expression)})", groups, window_spec, projected_columns)

    what = f"{doc} of an expression, by groups or over a window."
    method.__doc__ = _doc(what, f'{function}("{argument}")', f'select("{function}({argument})")')
    return method


def _window(call: str, doc: str) -> Callable[..., Relation]:
    def method(self: Aggregates, window_spec: str, projected_columns: str = "") -> Relation:
        return self._call(call, "", window_spec, projected_columns)

    what = f"{doc} of each row in a window such as ``OVER (PARTITION BY a ORDER BY b)``."
    name = call.removesuffix("()")
    method.__doc__ = _doc(what, f'{name}("OVER (ORDER BY a)")', f'select("{call} OVER (ORDER BY a)")')
    return method


def _extreme(function: str, which: str) -> Callable[..., Relation]:
    def method(
        self: Aggregates,
        arg_column: str,
        value_column: str,
        groups: str = "",
        window_spec: str = "",
        projected_columns: str = "",
    ) -> Relation:
        arguments = f"{self._operand(arg_column)}, {self._operand(value_column)}"
        return self._call(f"{function}({arguments})", groups, window_spec, projected_columns)

    what = f"Take the value of one column where another is {which}."
    method.__doc__ = _doc(what, f'{function}("a", "b")', f'select("{function}(a, b)")')
    return method


def _pair(function: str, doc: str) -> Callable[..., Relation]:
    def method(
        self: Aggregates,
        expression: str,
        other: str,
        groups: str = "",
        window_spec: str = "",
        projected_columns: str = "",
    ) -> Relation:
        return self._call(f"{function}({expression}, {other})", groups, window_spec, projected_columns)

    what = f"{doc}, of two expressions, by groups or over a window."
    method.__doc__ = _doc(what, f'{function}("a", "b")', f'select("{function}(a, b)")')
    return method


def _neighbour(function: str, which: str) -> Callable[..., Relation]:
    def method(
        self: Aggregates,
        expression: str,
        window_spec: str,
        offset: int = 1,
        default_value: str = "NULL",
        ignore_nulls: bool = False,
        projected_columns: str = "",
    ) -> Relation:
        arguments = f"{self._operand(expression)}, {int(offset)}, {self._operand(default_value)}"
        return self._in_window(function, arguments, window_spec, ignore_nulls, projected_columns)

    what = f"Take the value of {which} row of a window, `offset` rows away, or `default_value` if there is none."
    over = "OVER (ORDER BY a)"
    method.__doc__ = _doc(what, f'{function}("b", "{over}")', f'select("{function}(b, 1, NULL) {over}")')
    return method


class Aggregates(Query):
    """A query, and its aggregates and window functions."""

    def _call(self, call: str, groups: str, window_spec: str, projected_columns: str) -> Relation:
        before = f"{_parts.items(projected_columns)}, " if projected_columns else ""
        end = f" GROUP BY {_parts.groups(groups)}" if groups else ""
        over = f" {_parts.window(window_spec)}" if window_spec else ""
        return self._derive(f"SELECT {before}{call}{over}\nFROM {self._source()}{end}")

    def _argument(self, value: Any) -> str:
        """Write what a call is given: SQL, an expression, or a column whose name is no SQL."""
        return self._sql_or_column(_parts.arguments, value)

    def _operand(self, value: Any) -> str:
        """Write one argument of several."""
        return self._sql_or_column(_parts.expression, value)

    def _sql_or_column(self, read: Callable[[str], str], value: Any) -> str:
        if not isinstance(value, str):
            return sql_of(value)
        try:
            return read(value)
        except ParserException:
            if value in self._names:
                return quote(value)
            raise

    any_value = _aggregate("any_value", "Any value that is not NULL")
    avg = _aggregate("avg", "The mean")
    mean = avg
    bit_and = _aggregate("bit_and", "Bits set in all values")
    bit_or = _aggregate("bit_or", "Bits set in any value")
    bit_xor = _aggregate("bit_xor", "Bits set in an odd number of values")
    bool_and = _aggregate("bool_and", "Whether all are true", "t")
    bool_or = _aggregate("bool_or", "Whether any is true", "t")
    favg = _aggregate("favg", "The mean, by exact summation")
    fsum = _aggregate("fsum", "The sum, by exact summation")
    geomean = _aggregate("geomean", "The geometric mean")
    histogram = _aggregate("histogram", "How often each value occurs")
    list = _aggregate("list", "All values")
    max = _aggregate("max", "The largest value")
    median = _aggregate("median", "The median")
    min = _aggregate("min", "The smallest value")
    mode = _aggregate("mode", "The most frequent value")
    product = _aggregate("product", "The product")
    stddev = _aggregate("stddev", "The standard deviation of a sample")
    stddev_samp = _aggregate("stddev_samp", "The standard deviation of a sample")
    std = stddev
    stddev_pop = _aggregate("stddev_pop", "The standard deviation of a population")
    sum = _aggregate("sum", "The sum")
    var_pop = _aggregate("var_pop", "The variance of a population")
    var_samp = _aggregate("var_samp", "The variance of a sample")
    var = var_samp
    variance = _aggregate("variance", "The variance of a sample")

    def bitstring_agg(
        self,
        expression: Any,
        min: Any = None,
        max: Any = None,
        groups: str = "",
        window_spec: str = "",
        projected_columns: str = "",
    ) -> Relation:
        if (min is None) != (max is None):
            raise InvalidInputException("bitstring_agg takes min and max, or neither")
        bounds = "" if min is None else f", {sql_of(min)}, {sql_of(max)}"
        call = f"bitstring_agg({self._argument(expression)}{bounds})"
        return self._call(call, groups, window_spec, projected_columns)

    bitstring_agg.__doc__ = _doc(
        "A bit for each value that occurs, from `min` to `max`: of an expression, by groups or over a window.",
        'bitstring_agg("a")',
        'select("bitstring_agg(a)")',
    )
    approx_count_distinct = _aggregate("approx_count_distinct", "About how many different values there are")
    count_if = _aggregate("count_if", "How many values are true", "t")
    entropy = _aggregate("entropy", "The entropy")
    json_group_array = _aggregate("json_group_array", "A JSON array of all values")
    json_group_structure = _aggregate("json_group_structure", "The types in all documents together", "j")
    kurtosis = _aggregate("kurtosis", "The kurtosis of a sample")
    kurtosis_pop = _aggregate("kurtosis_pop", "The kurtosis of a population")
    mad = _aggregate("mad", "The median of the distances to the median")
    sem = _aggregate("sem", "The standard error of the mean")
    skewness = _aggregate("skewness", "The skewness")
    sum_no_overflow = _aggregate("sum_no_overflow", "The sum, as `sum`")
    corr = _pair("corr", "The correlation")
    covar_pop = _pair("covar_pop", "The covariance of a population")
    covar_samp = _pair("covar_samp", "The covariance of a sample")
    json_group_object = _pair("json_group_object", "A JSON object of keys and values")
    regr_avgx = _pair("regr_avgx", "The mean of x where neither y nor x is NULL")
    regr_avgy = _pair("regr_avgy", "The mean of y where neither y nor x is NULL")
    regr_count = _pair("regr_count", "How many rows there are where neither y nor x is NULL")
    regr_intercept = _pair("regr_intercept", "Where the line of least squares meets x = 0")
    regr_r2 = _pair("regr_r2", "The part of the variance of y that the line of least squares explains")
    regr_slope = _pair("regr_slope", "The slope of the line of least squares, of y over x")
    regr_sxx = _pair("regr_sxx", "The sum of the squared deviations of x from its mean")
    regr_sxy = _pair("regr_sxy", "The sum of the products of the deviations of x and y")
    regr_syy = _pair("regr_syy", "The sum of the squared deviations of y from its mean")
    weighted_avg = _pair("weighted_avg", "The mean of values, each counted as often as its weight says")

    def first(self, expression: str, groups: str = "", projected_columns: str = "") -> Relation:
        """
        Take the first value.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.first("a").fetchall()
        [(1,)]
        """
        return self._call(f"first({self._argument(expression)})", groups, "", projected_columns)

    def last(self, expression: str, groups: str = "", projected_columns: str = "") -> Relation:
        """
        Take the last value.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.last("a").fetchall()
        [(2,)]
        """
        return self._call(f"last({self._argument(expression)})", groups, "", projected_columns)

    def count(
        self, expression: str = "*", groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """
        Count values that are not NULL, or rows.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.count("*", groups="city", projected_columns="city").order("city").fetchall()
        [('Bonn', 1), ('Ulm', 2)]
        """
        return self._call(f"count({self._argument(expression)})", groups, window_spec, projected_columns)

    def value_counts(self, expression: str, groups: str = "") -> Relation:
        """
        Count how often each value of a column occurs.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.value_counts("city").order("city").fetchall()
        [('Bonn', 1), ('Ulm', 2)]
        """
        column = self._operand(expression)
        by = f"{_parts.groups(groups)}, {column}" if groups else column
        return self._call(f"count({column})", by, "", by)

    arg_max = _extreme("arg_max", "largest")
    arg_min = _extreme("arg_min", "smallest")
    arg_max_null = _extreme("arg_max_null", "largest, NULL or not")
    arg_min_null = _extreme("arg_min_null", "smallest, NULL or not")
    arg_max_nulls_last = _extreme("arg_max_nulls_last", "largest, or NULL if there is no other")
    arg_min_nulls_last = _extreme("arg_min_nulls_last", "smallest, or NULL if there is no other")

    def string_agg(
        self, expression: str, sep: str = ",", groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """
        Put texts behind each other.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES ('Ulm', 3), ('Bonn', 8), ('Ulm', 4)) t(city, km)")
        >>> r.string_agg("city", sep="-").fetchall()
        [('Ulm-Bonn-Ulm',)]
        """
        return self._call(
            f"string_agg({self._operand(expression)}, {sql_of(sep)})", groups, window_spec, projected_columns
        )

    def quantile_disc(
        self, expression: str, q: Any = 0.5, groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """
        Take the value at a quantile, or at several.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.quantile_disc("b", 0.5).fetchall()
        [(4,)]
        """
        return self._call(
            f"quantile_disc({self._operand(expression)}, {sql_of(q)})", groups, window_spec, projected_columns
        )

    quantile = quantile_disc

    def quantile_cont(
        self, expression: str, q: Any = 0.5, groups: str = "", window_spec: str = "", projected_columns: str = ""
    ) -> Relation:
        """
        Interpolate the value at a quantile, or at several.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.quantile_cont("b", 0.5).fetchall()
        [(5.0,)]
        """
        return self._call(
            f"quantile_cont({self._operand(expression)}, {sql_of(q)})", groups, window_spec, projected_columns
        )

    def apply(
        self,
        function_name: str,
        function_aggr: str,
        group_expr: str = "",
        function_parameter: str = "",
        projected_columns: str = "",
    ) -> Relation:
        """
        Aggregate columns by a function.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.apply("max", "b").fetchall()
        [(6,)]
        """
        more = f", {_parts.arguments(function_parameter)}" if function_parameter else ""
        call = f"{_parts.function_name(function_name)}({self._argument(function_aggr)}{more})"
        return self._call(call, group_expr, "", projected_columns)

    row_number = _window("row_number()", "The number")
    rank = _window("rank()", "The rank, with gaps,")
    dense_rank = _window("dense_rank()", "The rank, without gaps,")
    rank_dense = dense_rank
    percent_rank = _window("percent_rank()", "The relative rank")
    cume_dist = _window("cume_dist()", "The cumulative distribution")

    def n_tile(self, window_spec: str, num_buckets: int, projected_columns: str = "") -> Relation:
        """
        Divide a window's rows into parts of equal size.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.n_tile("OVER (ORDER BY a)", 2).fetchall()
        [(1,), (2,)]
        """
        return self._call(f"ntile({int(num_buckets)})", "", window_spec, projected_columns)

    def first_value(self, expression: str, window_spec: str = "", projected_columns: str = "") -> Relation:
        """
        Take the first value of a window.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.first_value("b", "OVER (ORDER BY a)").fetchall()
        [(4,), (4,)]
        """
        return self._call(f"first_value({self._argument(expression)})", "", window_spec or "OVER ()", projected_columns)

    def last_value(self, expression: str, window_spec: str = "", projected_columns: str = "") -> Relation:
        """
        Take the last value of a window.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.last_value("b").fetchall()
        [(6,), (6,)]
        """
        return self._call(f"last_value({self._argument(expression)})", "", window_spec or "OVER ()", projected_columns)

    def fill(self, expression: str, window_spec: str, projected_columns: str = "") -> Relation:
        """
        Take the value or, where it is NULL, one interpolated between its neighbours in a window.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.fill("b", "OVER (ORDER BY a)").fetchall()
        [(4,), (6,)]
        """
        return self._call(f"fill({expression})", "", window_spec, projected_columns)

    def nth_value(
        self,
        expression: str,
        window_spec: str,
        offset: int,
        ignore_nulls: bool = False,
        projected_columns: str = "",
    ) -> Relation:
        """
        Take a window's value at a position, counted from 1.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.nth_value("b", "OVER ()", 2).fetchall()
        [(6,), (6,)]
        """
        arguments = f"{self._operand(expression)}, {int(offset)}"
        return self._in_window("nth_value", arguments, window_spec, ignore_nulls, projected_columns)

    def _in_window(
        self, function: str, arguments: str, window_spec: str, ignore_nulls: bool, projected_columns: str
    ) -> Relation:
        ignore = " IGNORE NULLS" if ignore_nulls else ""
        return self._call(f"{function}({arguments}{ignore})", "", window_spec, projected_columns)

    lag = _neighbour("lag", "an earlier")
    lead = _neighbour("lead", "a later")

    def describe(self) -> Relation:
        """
        Count, mean, standard deviation, minimum, maximum and median of each column.

        Examples
        --------
        >>> r = inlay.sql("SELECT * FROM (VALUES (1, 4), (2, 6)) t(a, b)")
        >>> r.describe().filter("aggr = 'max'").fetchall()
        [('max', 2.0, 6.0)]
        """
        numeric = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "REAL")
        items = ["unnest(['count', 'mean', 'stddev', 'min', 'max', 'median']) AS aggr"]
        values = []
        self._look()
        for index, (name, ty) in enumerate(zip(self._names, self._types, strict=True)):
            is_number = ty.removeprefix("U") in numeric or ty.id == "decimal"
            column = quote(name)
            calls = [f"{call}({column})" for call in ("count", "avg", "stddev", "min", "max", "median")]
            if not is_number:
                calls = [call if call[:3] in ("cou", "min", "max") else "NULL" for call in calls]
            wanted = "DOUBLE" if is_number else "VARCHAR"
            values.append(f"[{', '.join(f'{call}::{wanted}' for call in calls)}] AS c{index}")
            items.append(f"unnest(c{index}) AS {column}")
        inner = f"SELECT {', '.join(values)} FROM {self._source()}"
        return self._derive(f"SELECT {', '.join(items)} FROM (\n{inner}\n) AS d")
