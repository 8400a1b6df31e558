"""The 43 queries of ClickBench on generated page views (`bench.clickbench.generate`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cases import Suite
from bench.clickbench.queries import queries
from bench.data import files_of
from bench.sql import sql_suite

if TYPE_CHECKING:
    import pyarrow as pa


ROWS = 5_000_000


def files(rows: int) -> Mapping[str, Path]:
    """The table with so many rows."""

    def make() -> Iterable[tuple[str, Iterable[pa.Table]]]:
        from bench.clickbench.generate import hits

        return hits(rows)

    return files_of(f"clickbench-{rows}", ("hits",), make)


def suite(rows: int) -> Suite:
    """The suite with so many rows."""
    return sql_suite(
        name="clickbench" if rows == ROWS else f"clickbench-{rows}",
        title=f"ClickBench, {rows:,} generated rows, hot, result in the client",
        remarks="Tables in memory; 105 columns; the original has 100 million rows.",
        files=files(rows),
        queries=queries(rows),
    )
