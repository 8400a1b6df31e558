"""
Functions of texts, moments, lists and JSON as methods, ``col("s").str().upper()``, by DuckDB's names.

Each function whose first argument is of one of these kinds is a method; tests name those left out, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inlay._expression import Expression

#: Functions by what they give: none of these, text, moment, list, JSON. Behind a colon stands a function of another
#: name, behind ``@1`` that the expression is its second argument.
Family = dict[str, str]

_STR: Family = {
    "value": (
        "ascii bit_length collation_key contains damerau_levenshtein from_base64 glob hamming ilike_escape "
        "instr jaccard jaro_similarity jaro_winkler_similarity length length_grapheme levenshtein like_escape "
        "md5_number not_ilike_escape not_like_escape parse_formatted_bytes prefix regexp_count "
        "regexp_full_match regexp_instr regexp_matches strlen suffix to_number unbin unhex unicode"
    ),
    "str": (
        "bin format icu_sort_key initcap left left_grapheme lower lpad ltrim md5 nfc_normalize overlay "
        "parse_dirname parse_dirpath parse_filename path_join printf quote_ident quote_literal quote_nullable "
        "regexp_escape regexp_extract regexp_replace regexp_substr repeat replace reverse right "
        "right_grapheme rpad rtrim sha1 sha256 split_part strip_accents substring substring_grapheme to_ascii "
        "translate trim upper url_decode url_encode concat_ws:concat_ws@1"
    ),
    "list": "parse_path regexp_extract_all regexp_match string_split string_split_regex",
    "dt": "strptime to_date to_timestamp try_strptime",
}

_DT: Family = {
    "dt": (
        "age ago justify_days justify_hours last_day normalized_interval add:date_add bin:date_bin@1 "
        "subtract:date_subtract time_bucket:time_bucket@1 trunc:date_trunc@1"
    ),
    "value": (
        "century day dayofmonth dayofweek dayofyear decade epoch epoch_ms epoch_ns epoch_us era hour isfinite "
        "isinf isodow isoyear julian microsecond millennium millisecond minute month nanosecond quarter "
        "second timezone timezone_hour timezone_minute week weekday weekofyear year yearweek diff:date_diff@1 "
        "part:date_part@1 sub:date_sub@1"
    ),
    "str": "dayname monthname strftime to_char",
}

_LIST: Family = {
    "value": (
        "aggregate any_value approx_count_distinct avg bit_and bit_or bit_xor bool_and bool_or contains "
        "cosine_distance cosine_similarity count distance entropy extract first has_all has_any histogram "
        "histogram_exact inner_product kurtosis kurtosis_pop last mad max median min mode "
        "negative_inner_product position product reduce sem skewness stddev_pop stddev_samp sum unique "
        "var_pop var_samp cross_product:array_cross_product len:len lower_bound:array_lower "
        "upper_bound:array_upper"
    ),
    "list": (
        "append distinct filter grade_up intersect resize reverse reverse_sort select slice sort transform "
        "zip flatten:flatten mask:list_where pop_back:array_pop_back pop_front:array_pop_front "
        "positions:array_positions prepend:list_prepend@1 push_front:array_push_front remove:array_remove "
        "replace:array_replace trim:trim_array"
    ),
    "str": "string_agg to_string:array_to_string",
}

_JSON: Family = {
    "value": (
        "array_length contains exists transform transform_strict valid path_exists:jsonb_path_exists "
        "path_match:jsonb_path_match"
    ),
    "json": (
        "deep_merge extract extract_path insert merge_patch merge_patch_diff remove replace set strip_nulls "
        "structure insert_at:jsonb_insert parse:json path_query_array:jsonb_path_query_array "
        "path_query_first:jsonb_path_query_first set_at:jsonb_set"
    ),
    "str": "extract_path_text extract_string normalize pretty type value typeof:json_typeof",
    "list": "each each_text keys tree",
}


def _method(function: str, place: int, gives: str) -> Callable[..., Expression]:
    def method(self: Any, *args: Any) -> Any:
        from inlay._expression import Expression, FunctionExpression

        called = FunctionExpression(function, *args[:place], Expression(self._sql), *args[place:])
        return called if gives == "value" else getattr(called, gives)()

    method.__doc__ = f"Call `{function}`" + (", with the expression behind the first argument." if place else ".")
    return method


def _methods(names: Family, prefix: str) -> dict[str, Callable[..., Expression]]:
    """Make the methods of a family, whose functions begin with `prefix`."""
    made = {}
    for gives, listed in names.items():
        for item in listed.split():
            name, _, function = item.partition(":")
            function, _, place = (function or prefix + name).partition("@")
            made[name] = _method(function, int(place or 0), gives)
            made[name].__name__ = name
    return made


class Families:
    """The same expression with functions of its kind as methods. Nothing is cast or checked."""

    __slots__ = ()

    def str(self) -> Any:
        """
        With functions of texts: ``col("s").str().upper().length()``.

        Examples
        --------
        >>> inlay.values("ulm").select(inlay.col("col0").str().upper()).fetchall()
        [('ULM',)]
        """
        return self._as("str")

    def dt(self) -> Any:
        """
        With functions of dates, times and moments: ``col("day").dt().year()``.

        Examples
        --------
        >>> inlay.sql("SELECT DATE '2024-05-06' AS day").select(inlay.col("day").dt().year()).fetchall()
        [(2024,)]
        """
        return self._as("dt")

    def list(self) -> Any:
        """
        With functions of lists: ``col("tags").list().contains("vip")``.

        Examples
        --------
        >>> inlay.sql("SELECT ['a', 'b'] AS tags").select(inlay.col("tags").list().contains("b")).fetchall()
        [(True,)]
        """
        return self._as("list")

    def json(self) -> Any:
        """
        With functions of JSON, and of texts: ``col("p").json().extract("$.id")``.

        Examples
        --------
        >>> inlay.sql("SELECT json_object('id', 7) AS p").select(inlay.col("p").json().extract("$.id")).fetchall()
        [('7',)]
        """
        return self._as("json")

    def _as(self, family: Any) -> Any:
        from inlay._expression import Expression

        if family not in _classes:
            own = {"str": (_STR, ""), "dt": (_DT, ""), "list": (_LIST, "list_"), "json": (_JSON, "json_")}[family]
            added = _methods(_STR, "") if family == "json" else {}
            # Made once; a second thread that makes one, too, makes the same.
            body = {"__slots__": (), "__doc__": f"An expression with functions of the kind {family}.", **added}
            _classes[family] = type(f"{family.capitalize()}Expr", (Expression,), {**body, **_methods(*own)})
        made: Any = object.__new__(_classes[family])
        for name in Expression.__slots__[1:]:
            setattr(made, name, getattr(self, name))
        return made


_classes: dict[str, type] = {}
