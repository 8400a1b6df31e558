"""The 99 queries of TPC-DS on the tables of Inlay's generator, which makes the rows of the reference generator."""

from __future__ import annotations

from bench.cases import Suite
from bench.data import tpcds_files
from bench.sql import Query, sql_suite
from tests.tpcds.workload import QUERY_NUMBERS, query_text, without_limit

# Polars' SQL has neither ROLLUP nor correlated subqueries; formulations of its own for 99 queries nobody maintains.
ENGINES = ("inlay", "duckdb", "hyper", "datafusion", "chdb")


def query(number: int) -> Query:
    """A query; its answers are compared without its LIMIT."""
    text = query_text(number)
    unlimited = without_limit(text)
    return Query(text, check=None if unlimited == text else unlimited)


def suite(scale: float) -> Suite:
    """The suite at a scale."""
    return sql_suite(
        name=f"tpcds-sf{scale:g}",
        title=f"TPC-DS, scale {scale:g}, hot, result in the client",
        remarks="Tables in memory. A peer whose SQL does not have what a text needs fails there.",
        files=tpcds_files(scale),
        queries={f"Q{number}": query(number) for number in QUERY_NUMBERS},
        engines=ENGINES,
        seconds_max=60.0,
        shows_estimates=True,
    )
