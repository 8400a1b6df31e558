"""The 99 queries of TPC-DS: Inlay's answers equal DuckDB's over the same generated rows.

The texts are those of the specification with its validation parameters. Some have ties where LIMIT cuts, or order by
less than what they show: answers are compared as multisets, doubles with a tolerance, and a query with LIMIT by
its number of rows and what both engines agree on without the LIMIT.

`INLAY_TPCDS_SF=1` runs at scale 1 instead of 0.01; that takes minutes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import inlay
from tests.tpcds.workload import QUERY_NUMBERS, TABLES, query_text, without_limit

duckdb = pytest.importorskip("duckdb")

SCALE = float(os.environ.get("INLAY_TPCDS_SF", "0.01"))


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    folder = tmp_path_factory.mktemp("tpcds")
    peer = duckdb.connect()
    with inlay.connect() as con:
        con.execute(f"CALL tpcds_dbgen(sf := {SCALE})")
        for table in TABLES:
            con.execute(f"COPY {table} TO '{folder / table}.parquet'")
            peer.execute(f"CREATE TABLE {table} AS FROM '{folder / table}.parquet'")
        yield con, peer


def sortable(value: Any) -> tuple[int, Any]:
    """A key by which values of one column can be ordered, NULLs last; near doubles are near."""
    if value is None:
        return (1, "")
    if isinstance(value, (float, Decimal)):
        return (0, f"{float(value):+030.4f}")
    return (0, f"{value:+030d}" if isinstance(value, int) else str(value))


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, doubles nearly."""
    if isinstance(left, float) or isinstance(right, float):
        if left is None or right is None:
            return left is right
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(float(left), float(right), rel_tol=1e-8, abs_tol=1e-8)
    return bool(left == right)


def difference(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> str | None:
    """What differs between two answers as multisets, if anything does."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, expected {len(theirs)}"
    key = lambda row: tuple(sortable(value) for value in row)  # noqa: E731
    for left, right in zip(sorted(ours, key=key), sorted(theirs, key=key), strict=True):
        if not all(same(a, b) for a, b in zip(left, right, strict=True)):
            return f"{left}, expected {right}"
    return None


@pytest.mark.parametrize("number", QUERY_NUMBERS)
def test_answer_equals_duckdb(engines: tuple[Any, Any], number: int) -> None:
    con, peer = engines
    text = query_text(number)
    unlimited = without_limit(text)
    ours, theirs = con.execute(unlimited).fetchall(), peer.execute(unlimited).fetchall()
    assert difference(ours, theirs) is None
    if unlimited != text:
        assert len(con.execute(text).fetchall()) == min(100, len(theirs))
