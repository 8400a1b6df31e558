"""Everyday work of an analyst over two million events, beside DuckDB: documents, texts, dates, groups, windows, joins.

The table is sorted by how far Inlay is behind.
"""

from __future__ import annotations

from bench.cases import Suite
from bench.everyday.generate import TABLES, made, statements
from bench.sql import Query, sql_suite

ROWS = 2_000_000


def suite(rows: int) -> Suite:
    """The suite with `rows` events."""
    files = made(rows)
    paths: dict[str, object] = {"csv": files["csv"], "json": files["json"], "parquet": files["events"]}
    return sql_suite(
        name="everyday" if rows == ROWS else f"everyday-{rows}",
        title=f"Everyday queries over {rows:,} events",
        remarks="Tables in memory but where a file is named, result in the client.",
        files={table: files[table] for table in TABLES},
        queries={name: Query(text) for name, text in statements("queries.sql", paths).items()},
        engines=("inlay", "duckdb"),
        worst_first=True,
    )
