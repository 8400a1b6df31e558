"""Every query of the zoo has the same answer in Inlay and in DuckDB, on random tables with NULLs and on empty ones.

`queries.sql` holds queries apart by blank lines, each under its title. Answers are compared as multisets, and as
sequences where the title begins with `ordered:`. Doubles may differ in the last digits: sums run in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import inlay
from tests.zoo.data import SEEDS, statements

duckdb = pytest.importorskip("duckdb")


def zoo() -> list[tuple[str, str]]:
    """Titles and queries."""
    blocks = (Path(__file__).with_name("queries.sql")).read_text().strip().split("\n\n")
    parts = [block.partition("\n") for block in blocks]
    return [(title.removeprefix("-- "), sql.rstrip().rstrip(";")) for title, _, sql in parts]


QUERIES = zoo()


@pytest.fixture(scope="module", params=SEEDS, ids=lambda seed: f"seed {seed}")
def engines(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any]]:
    with inlay.connect() as ours, duckdb.connect() as theirs:
        for statement in statements(request.param):
            ours.execute(statement)
            theirs.execute(statement)
        yield ours, theirs


def comparable(value: Any) -> Any:
    """Equal values as equal keys that sort: NULL first, numbers by value, the rest as text."""
    if value is None:
        return (0, "")
    if isinstance(value, bool):
        return (1, str(value))
    if isinstance(value, int | float | Decimal):
        return (2, float(f"{float(value):.9g}"))
    return (3, str(value))


def rows_of(engine: Any, sql: str, ordered: bool) -> list[tuple[Any, ...]]:
    """The answer in a form that compares."""
    rows = [tuple(comparable(value) for value in row) for row in engine.execute(sql).fetchall()]
    return rows if ordered else sorted(rows)


def test_titles_are_unique() -> None:
    titles = [title for title, _ in QUERIES]
    assert len(titles) == len(set(titles)) >= 170


@pytest.mark.parametrize(("title", "sql"), QUERIES, ids=[title for title, _ in QUERIES])
def test_answer_equals_duckdb(engines: tuple[Any, Any], title: str, sql: str) -> None:
    ours, theirs = engines
    ordered = title.startswith("ordered:")
    assert rows_of(ours, sql, ordered) == rows_of(theirs, sql, ordered)


def test_comparison_sees_small_differences() -> None:
    assert comparable(0.1 + 0.2) == comparable(0.3)
    assert comparable(Decimal("1.50")) == comparable(1.5)
    assert comparable(1.000001) != comparable(1.0)
    assert comparable(None) != comparable(0)
