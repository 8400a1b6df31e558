"""What functions cost: declared or measured, shown by EXPLAIN ANALYZE, and what it decides."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

import inlay


def analyzed(con: inlay.Connection, query: str) -> str:
    return "\n".join(str(row[-1]) for row in con.execute(f"EXPLAIN ANALYZE {query}").fetchall())


def test_explain_analyze_shows_calls(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT i FROM range(100000) t(i)")
    con.create_function("plus", lambda x: x + 1, ["BIGINT"], "BIGINT", type="numpy")
    con.create_function("total", lambda x: x.sum(), ["BIGINT"], "BIGINT", type="numpy", blocking=True)
    plan = analyzed(con, "SELECT sum(plus(i)), max(total(i)) FROM t WHERE i < 50000")
    assert re.search(r"plus: 50000 rows in \d+ calls, \d+\.\d+ ms, \d+ ns a row", plan), plan
    assert re.search(r"total: 50000 rows in 1 calls, ", plan), plan
    # Only rows that reach it.
    plan = analyzed(con, "SELECT sum(CASE WHEN i > 99989 THEN plus(i) END) FROM t")
    assert "plus: 10 rows in " in plan
    assert "ns a row" not in analyzed(con, "SELECT sum(i) FROM t")


def test_cheap_conditions_come_first(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT i FROM range(20000) t(i)")
    seen: dict[str, int] = {}

    def condition(name: str, divisor: int, pause: float) -> Any:
        def called(x: Any) -> Any:
            seen[name] = seen.get(name, 0) + len(x)
            time.sleep(pause)
            return x % divisor == 0

        return called

    con.create_function("dear", condition("dear", 2, 0.03), ["BIGINT"], "BOOLEAN", type="numpy")
    con.create_function("cheap", condition("cheap", 10, 0), ["BIGINT"], "BOOLEAN", type="numpy", cost=5)
    query = "SELECT count(*) FROM t WHERE dear(i) AND i < 10000 AND cheap(i)"
    # What is declared counts at once; built-in conditions come before both.
    assert con.execute(query).fetchone() == (1000,)
    assert seen == {"cheap": 10_000, "dear": 1_000}
    # What is measured counts when enough rows were.
    con.create_function("quick", condition("quick", 10, 0), ["BIGINT"], "BOOLEAN", type="numpy")
    for _ in range(2):
        con.execute("SELECT count(quick(i)), count(dear(i)) FROM t").fetchall()
    seen.clear()
    assert con.execute("SELECT count(*) FROM t WHERE dear(i) AND quick(i)").fetchone() == (2000,)
    assert seen == {"quick": 20_000, "dear": 2_000}
    with pytest.raises(inlay.InvalidInputException, match="cost = '-1': expected nanoseconds a row"):
        con.create_function("wrong", lambda x: x, ["BIGINT"], "BIGINT", cost=-1)
    con.execute("SET allow_python = true")
    con.execute("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP WITH (cost = 200) { return x }")
    assert con.execute("SELECT f(1)").fetchone() == (1,)


def test_functions_of_texts_with_few_values_are_called_once_for_each(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT i, 'word ' || (i % 5) AS s FROM range(100000) t(i)")
    rows: list[int] = []

    def counted(x: Any, suffix: Any) -> Any:
        rows.append(len(x))
        return [each + suffix for each in x]

    con.create_function("counted", counted, ["VARCHAR"] * 2, "VARCHAR", type="numpy", deterministic=True)
    for condition in ("true", "i % 7 > 2", "s <> 'word 3'"):
        rows.clear()
        query = f"SELECT count(DISTINCT counted(s, '!')), min(counted(s, '!')) FROM t WHERE {condition}"
        found = con.execute(query).fetchone()
        assert found is not None
        assert found[1] == "word 0!"
        assert max(rows) <= 5, condition
