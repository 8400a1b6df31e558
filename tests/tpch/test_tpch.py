"""All 22 TPC-H answers at scale 0.01 equal the committed references, with one worker and with two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import inlay
from tests.tpch.workload import QUERY_NUMBERS, SORT_KEYS, TABLES, difference, query_text, reference

SCALE = 0.01
ROW_COUNTS = {
    "region": 5,
    "nation": 25,
    "supplier": 100,
    "customer": 1_500,
    "part": 2_000,
    "partsupp": 8_000,
    "orders": 15_000,
    "lineitem": 60_175,
}


@pytest.fixture(scope="module")
def tpch() -> Iterator[Any]:
    with inlay.connect() as con:
        con.execute(f"CALL tpch_dbgen(sf := {SCALE})")
        yield con


@pytest.mark.parametrize("table", TABLES)
def test_generator_fills_every_table(tpch: Any, table: str) -> None:
    assert tpch.execute(f"SELECT count(*) FROM {table}").fetchone() == (ROW_COUNTS[table],)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("number", QUERY_NUMBERS)
def test_answer_equals_reference(tpch: Any, number: int, threads: int) -> None:
    expected = reference(number, SCALE)
    assert expected is not None
    tpch.execute(f"SET threads = {threads}")
    result = tpch.execute(query_text(number))
    names = [column[0] for column in result.description]
    assert difference(expected, result.fetchall(), SORT_KEYS[number], names=names) is None
