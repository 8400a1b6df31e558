"""Functions of SQL as methods and names of the package: what the manual has and the package lacks fails by name."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

import inlay
from inlay import _families, _functions, col
from inlay._aggregates import Aggregates

#: Chapters of the manual whose functions are methods of a family: those of texts in `str()`, and so on.
FAMILIES = {"text": "str", "pattern": "str", "date": "dt", "list": "list", "json": "json"}
#: Chapters whose functions are called by `fn`.
CALLED_BY_NAME = {"operator", "general", "numeric", "blob", "bit", "uuid", "struct", "map", "enum", "table", "system"}

#: Functions of these chapters that are no methods, by why.
EXCEPTIONS: dict[str, str] = {
    "their arguments are numbers": (
        "bar chr format_bytes formatreadabledecimalsize generate_series make_date make_interval make_time "
        "make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz to_centuries to_days to_decades to_hours "
        "to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_weeks to_years "
        "equi_width_bins range"
    ),
    "they have no arguments": "current_date current_localtime current_localtimestamp current_time now timeofday",
    "they make a value of any values": "array_value list_value unpivot_list json_array json_object to_json",
    "every expression has them under another name": "concat list_concat aggregate date",
    "the first argument is a name": "hive_partition_component",
    "the first argument is a map": "cardinality",
    "json_extract_path takes several keys as a path": "jsonb_extract_path jsonb_extract_path_text",
    "PostgreSQL's operators, which SQL has as signs or under these names": (
        "jsonb_contained jsonb_contains jsonb_delete jsonb_exists jsonb_exists_all jsonb_exists_any"
    ),
}
#: Aggregates that no method of relations calls.
NOT_OF_RELATIONS = {
    "arguments besides columns, for which relations have apply()": (
        "approx_quantile approx_top_k histogram_exact lttb reservoir_quantile"
    ),
}


def names_of(exceptions: dict[str, str]) -> set[str]:
    return {name for names in exceptions.values() for name in names.split()}


@pytest.fixture
def manual(con: inlay.Connection) -> dict[str, dict[str, set[str]]]:
    """Functions by kind, with the names that each has and the chapters where it stands."""
    rows = con.execute(
        "SELECT coalesce(alias_of, function_name), function_name, function_type, categories[1] FROM inlay_functions() "
        "WHERE internal AND function_type IN ('scalar', 'aggregate', 'window')"
    ).fetchall()
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for function, name, kind, chapter in rows:
        if re.match(r"[a-z]", function):
            found[kind][function] |= {name, f"/{chapter}"}
    return found


def called_by(family: str) -> set[str]:
    """Functions that the methods of a family call."""
    names = {"str": _families._STR, "dt": _families._DT, "list": _families._LIST, "json": _families._JSON}[family]
    prefix = {"list": "list_", "json": "json_"}.get(family, "")
    items = [item.partition(":") for listed in names.values() for item in listed.split()]
    return {(function or prefix + name).partition("@")[0] for name, _, function in items}


def test_functions_of_a_kind_are_methods_or_exceptions(manual: dict[str, dict[str, set[str]]]) -> None:
    called = {function for family in FAMILIES.values() for function in called_by(family)}
    chapters = {name[1:] for names in manual["scalar"].values() for name in names if name.startswith("/")}
    assert chapters - set(FAMILIES) - CALLED_BY_NAME == set(), "chapters of the manual that neither list knows"
    wanted = {
        function: names
        for function, names in manual["scalar"].items()
        if any(f"/{chapter}" in names for chapter in FAMILIES)
    }
    missing = {function for function, names in wanted.items() if not (names | {function}) & called}
    assert missing - names_of(EXCEPTIONS) == set(), "neither a method of a family nor an exception"
    assert names_of(EXCEPTIONS) - missing == set(), "no exception any more"


def test_methods_of_families_call_functions(manual: dict[str, dict[str, set[str]]]) -> None:
    # Calls of lambdas are made by the binder, and are in no table.
    known = {"list_filter", "list_reduce", "list_transform"}
    known |= {name for names in manual["scalar"].values() for name in names} | set(manual["scalar"])
    for family in FAMILIES.values():
        assert called_by(family) - known == set(), f"methods of {family}() that call nothing"


def test_families_have_the_methods_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    for family in ("str", "dt", "list", "json"):
        theirs, ours = getattr(duckdb.col("a"), family)(), getattr(col("a"), family)()
        # What is here no function of SQL either.
        lacking = {"SPEC", "fragment", "inner", "days_in_month", "timetz_byte_comparable"}
        assert {name for name in dir(theirs) if not name.startswith("_")} - set(dir(ours)) - lacking == set()


def test_aggregates_are_methods_of_expressions(manual: dict[str, dict[str, set[str]]]) -> None:
    for name, names in manual["aggregate"].items():
        # `list` begins the functions of lists.
        methods = [other for other in names | {name} if hasattr(inlay.Expression, other) and other != "list"]
        assert methods, f"{name} is no method of expressions"
        for method in methods:
            called = re.match(r"\w+", str(getattr(col("x"), method)(1)))
            assert called and called[0] in names | {name}, method


def test_aggregates_are_methods_of_relations(manual: dict[str, dict[str, set[str]]]) -> None:
    methods = set(vars(Aggregates))
    missing = {name for name, names in manual["aggregate"].items() if not (names | {name}) & methods}
    assert missing - names_of(NOT_OF_RELATIONS) == set(), "neither a method of relations nor an exception"
    assert names_of(NOT_OF_RELATIONS) - missing == set(), "no exception any more"


def test_window_functions_are_names_of_the_package(manual: dict[str, dict[str, set[str]]]) -> None:
    for name, names in manual["window"].items():
        assert hasattr(_functions, name) and name in inlay.__all__, name
        # DuckDB's relations call ntile so.
        given = {"ntile": "n_tile"}.get(name, name)
        assert (names | {given}) & set(vars(Aggregates)), name


def test_methods_give_what_functions_give(con: inlay.Connection) -> None:
    rows = con.sql(
        "SELECT 'a-b' AS s, DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 10:47:00' AS at, INTERVAL '40 days' AS i, "
        "[3, 1, 3] AS l, '{\"a\": [1, 2]}'::JSON AS j"
    )
    s, d, at, i, items, j = (col(name) for name in ("s", "d", "at", "i", "l", "j"))
    for expression, expected in (
        (s.str().split_part("-", 2).initcap(), "B"),
        (s.str().repeat(2).regexp_count("b"), 2),
        (s.str().glob("a*"), True),
        (inlay.lit("2024-02-29").str().to_date("YYYY-MM-DD").dt().day(), 29),
        (d.dt().add(inlay.sql_expr("INTERVAL 1 day")).dt().day(), 1),
        (
            at.dt()
            .bin(inlay.sql_expr("INTERVAL '15 minutes'"), inlay.sql_expr("TIMESTAMP '2024-01-01'"))
            .dt()
            .minute(),
            45,
        ),
        (d.dt().to_char("YYYY").length(), 4),
        (inlay.fn("extract", "month", i.dt().justify_days()), 1),
        (items.list().replace(3, 7), [7, 1, 7]),
        (items.list().remove(3).len(), 1),
        (items.list().positions(3), [1, 3]),
        (items.list().slice(1, 2).to_string("+").length(), 3),
        (items.list().upper_bound(1), 3),
        (j.json().path_exists("$.a"), True),
        (j.json().set_at(inlay.lit(["a"]), inlay.sql_expr("'7'::JSON")), '{"a":7}'),
        (j.json().each().len(), 1),
        (j.json().typeof().upper(), "OBJECT"),
    ):
        assert rows.select(expression).fetchall() == [(expected,)], str(expression)


def test_aggregates_give_what_functions_give(con: inlay.Connection) -> None:
    rows = con.sql("SELECT * FROM (VALUES (1, 2.0, true), (3, 6.0, false), (5, 10.0, true)) t(a, b, c)")
    for ours, method, expected in (
        (rows.corr("a", "b"), col("a").corr(col("b")), 1.0),
        (rows.weighted_avg("a", "b"), col("a").weighted_avg(col("b")), 70 / 18),
        (rows.count_if("c"), col("c").count_if(), 2),
        (rows.arg_max_null("a", "b"), col("a").arg_max_null(col("b")), 5),
        (rows.json_group_array("a"), col("a").json_group_array(), "[1,3,5]"),
        (rows.regr_slope("b", "a"), col("b").regr_slope(col("a")), 2.0),
        (rows.var_samp("a"), col("a").var_samp(), 4.0),
    ):
        assert (
            ours.fetchall()
            == rows.aggregate([method]).fetchall()
            == [(pytest.approx(expected) if isinstance(expected, float) else expected,)]
        )
    assert rows.order("a").select(inlay.cume_dist().over(order_by=col("a"))).fetchall()[-1] == (1.0,)
    assert [row[0] for row in rows.fill("nullif(a, 3)", "OVER (ORDER BY b)").fetchall()] == [1, 3, 5]
