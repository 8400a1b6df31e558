"""Functions of texts, moments, lists and JSON as methods, ``col("s").str().upper()``, by DuckDB's names."""

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
        "ascii bit_length contains damerau_levenshtein from_base64 hamming ilike_escape instr jaccard "
        "jaro_similarity jaro_winkler_similarity length length_grapheme levenshtein like_escape md5_number "
        "not_ilike_escape not_like_escape parse_formatted_bytes prefix regexp_full_match regexp_matches "
        "strlen suffix unbin unhex unicode"
    ),
    "str": (
        "bin format left left_grapheme lower lpad ltrim md5 nfc_normalize overlay parse_dirname parse_dirpath "
        "parse_filename path_join printf regexp_escape regexp_extract regexp_replace replace reverse right "
        "right_grapheme rpad rtrim sha1 sha256 strip_accents substring substring_grapheme translate trim "
        "upper url_decode url_encode concat_ws:concat_ws@1"
    ),
    "list": ("parse_path regexp_extract_all string_split string_split_regex"),
}

_DT: Family = {
    "dt": ("age last_day normalized_interval time_bucket:time_bucket@1 trunc:date_trunc@1"),
    "value": (
        "century day dayofmonth dayofweek dayofyear decade epoch epoch_ns epoch_us era hour isodow isoyear "
        "julian microsecond millennium millisecond minute month nanosecond quarter second timezone "
        "timezone_hour timezone_minute week weekday weekofyear year yearweek diff:date_diff@1 "
        "part:date_part@1 sub:date_sub@1"
    ),
    "str": ("dayname monthname strftime"),
}

_LIST: Family = {
    "value": (
        "aggregate any_value approx_count_distinct avg bit_and bit_or bit_xor bool_and bool_or contains "
        "cosine_distance cosine_similarity count distance entropy extract first has_all has_any histogram "
        "inner_product kurtosis kurtosis_pop last mad max median min mode negative_inner_product position "
        "product reduce sem skewness stddev_pop stddev_samp sum unique var_pop var_samp"
    ),
    "list": (
        "append distinct filter grade_up intersect resize reverse reverse_sort select sort transform "
        "flatten:flatten mask:list_where prepend:list_prepend@1"
    ),
    "str": ("string_agg"),
}

_JSON: Family = {
    "value": ("array_length contains exists transform transform_strict valid"),
    "json": (
        "deep_merge extract extract_path insert merge_patch_diff remove replace set strip_nulls structure parse:json"
    ),
    "str": ("extract_path_text extract_string normalize pretty type value"),
    "list": ("keys"),
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
        """With functions of texts: ``col("s").str().upper().length()``."""
        return self._as("str")

    def dt(self) -> Any:
        """With functions of dates, times and moments: ``col("day").dt().year()``."""
        return self._as("dt")

    def list(self) -> Any:
        """With functions of lists: ``col("tags").list().contains("vip")``."""
        return self._as("list")

    def json(self) -> Any:
        """With functions of JSON, and of texts: ``col("p").json().extract("$.id")``."""
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
        for name in Expression.__slots__:
            setattr(made, name, getattr(self, name))
        return made


_classes: dict[str, type] = {}
