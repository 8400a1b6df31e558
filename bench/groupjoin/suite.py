"""The ten grouping and five joining questions of db-benchmark (h2o.ai, continued by DuckDB Labs).

The answer becomes a table of the engine, as there; what is compared are its rows and the sums of its values.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.cases import Suite
from bench.data import files_of
from bench.sql import Query, sql_suite

GROUPS: dict[str, tuple[str, str]] = {
    "1 sum v1 by id1": ("SELECT id1, sum(v1) AS v1 FROM grouped GROUP BY id1", "sum(v1)"),
    "2 sum v1 by id1, id2": ("SELECT id1, id2, sum(v1) AS v1 FROM grouped GROUP BY id1, id2", "sum(v1)"),
    "3 sum v1, mean v3 by id3": (
        "SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM grouped GROUP BY id3",
        "sum(v1), sum(v3)",
    ),
    "4 mean v1, v2, v3 by id4": (
        "SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM grouped GROUP BY id4",
        "sum(v1), sum(v2), sum(v3)",
    ),
    "5 sum v1, v2, v3 by id6": (
        "SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM grouped GROUP BY id6",
        "sum(v1), sum(v2), sum(v3)",
    ),
    "6 median v3, sd v3 by id4, id5": (
        "SELECT id4, id5, {median} AS median_v3, {deviation}(v3) AS sd_v3 FROM grouped GROUP BY id4, id5",
        "sum(median_v3), sum(sd_v3)",
    ),
    "7 max v1 - min v2 by id3": (
        "SELECT id3, max(v1) - min(v2) AS range_v1_v2 FROM grouped GROUP BY id3",
        "sum(range_v1_v2)",
    ),
    "8 largest two v3 by id6": (
        "SELECT id6, v3 AS largest2_v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) "
        "AS order_v3 FROM grouped WHERE v3 IS NOT NULL) AS t WHERE order_v3 <= 2",
        "sum(largest2_v3)",
    ),
    "9 regression v1, v2 by id2, id4": (
        "SELECT id2, id4, power(corr(v1, v2), 2) AS r2 FROM grouped GROUP BY id2, id4",
        "sum(r2)",
    ),
    "10 sum v3, count by id1 to id6": (
        "SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS n FROM grouped "
        "GROUP BY id1, id2, id3, id4, id5, id6",
        "sum(v3), sum(n)",
    ),
}
JOINS = {
    "small inner on int": "small.id4 AS small_id4, small.v2 FROM joined INNER JOIN small ON joined.id1 = small.id1",
    "medium inner on int": "medium.id1 AS medium_id1, medium.id4 AS medium_id4, medium.id5 AS medium_id5, medium.v2 "
    "FROM joined INNER JOIN medium ON joined.id2 = medium.id2",
    "medium outer on int": "medium.id1 AS medium_id1, medium.id4 AS medium_id4, medium.id5 AS medium_id5, medium.v2 "
    "FROM joined LEFT JOIN medium ON joined.id2 = medium.id2",
    "medium inner on text": "medium.id1 AS medium_id1, medium.id2 AS medium_id2, medium.id4 AS medium_id4, medium.v2 "
    "FROM joined INNER JOIN medium ON joined.id5 = medium.id5",
    "big inner on int": "big.id1 AS big_id1, big.id2 AS big_id2, big.id4 AS big_id4, big.id5 AS big_id5, "
    "big.id6 AS big_id6, big.v2 FROM joined INNER JOIN big ON joined.id3 = big.id3",
}
COLUMNS = ", ".join(f"joined.{name} AS {name}" for name in ("id1", "id2", "id3", "id4", "id5", "id6", "v1"))
MEDIAN, DEVIATION = "median(v3)", "stddev"
OTHERS = {
    "hyper": ("percentile_cont(0.5) WITHIN GROUP (ORDER BY v3)", "stddev_samp"),
    "chdb": ("quantileExactInclusive(0.5)(v3)", "stddevSamp"),
}


def queries() -> dict[str, Query]:
    """The questions by name."""
    found = {}
    for name, (text, sums) in GROUPS.items():
        dialects = {engine: filled(text, *parts) for engine, parts in OTHERS.items()} if "{" in text else {}
        found[name] = Query(filled(text, MEDIAN, DEVIATION), check=check(sums), dialects=dialects)
    for name, text in JOINS.items():
        found[name] = Query(f"SELECT {COLUMNS}, {text}", check=check("sum(v1), sum(v2)"))
    return found


def filled(text: str, median: str, deviation: str) -> str:
    """A text with an engine's names of functions."""
    return text.format(median=median, deviation=deviation)


def check(sums: str) -> str:
    """What an answer adds up to, with names of their own."""
    parts = [f"{part} AS s{index}" for index, part in enumerate(sums.split(", "))]
    return f"SELECT count(*) AS answers, {', '.join(parts)} FROM answer"


def named(rows: int) -> str:
    """The name of the suite with `rows` rows."""
    return f"groupjoin-{rows:.0e}".replace("+0", "")


def files(rows: int) -> Mapping[str, Path]:
    """The tables, the largest with `rows` rows."""
    from bench.groupjoin.generate import TABLES, tables

    return files_of(named(rows), TABLES, lambda: tables(rows))


def suite(rows: int) -> Suite:
    """The suite with `rows` rows."""
    return sql_suite(
        name=named(rows),
        title=f"db-benchmark, {rows:,} rows, answer kept in the engine",
        remarks="Tables in memory; the answer becomes a table there.",
        files=files(rows),
        queries=queries(),
        kept=True,
        frames="bench.groupjoin.polars_queries",
    )
