"""The 13 queries of the Star Schema Benchmark: a table of order lines and four dimensions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from bench.cases import Suite
from bench.data import files_of
from bench.sql import Query, sql_suite
from bench.ssb.queries import QUERIES


def wide(text: str) -> str:
    """A query for an engine that adds integers up in their own width."""
    return re.sub(r"sum\((.*?)\)", r"sum(CAST(\1 AS BIGINT))", text)


def files(scale: float) -> Mapping[str, Path]:
    """The tables at a scale."""
    from bench.ssb.generate import TABLES, tables

    return files_of(f"ssb-sf{scale:g}", TABLES, lambda: tables(scale))


def suite(scale: float) -> Suite:
    """The suite at a scale."""
    return sql_suite(
        name=f"ssb-sf{scale:g}",
        title=f"Star Schema Benchmark, scale {scale:g}, hot, result in the client",
        remarks="Tables in memory.",
        files=files(scale),
        queries={name: Query(text, dialects={"polars": wide(text)}) for name, text in QUERIES.items()},
        shows_estimates=True,
    )
