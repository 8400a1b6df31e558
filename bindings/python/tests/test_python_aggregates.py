"""Aggregates of Python in SQL: functions of groups, and classes with states."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay


def one(con: inlay.Connection, query: str) -> Any:
    row = con.execute(query).fetchone()
    assert row is not None
    return row[0]


class Total:
    """A sum with states that are merged."""

    def __init__(self) -> None:
        self.sum = 0.0

    def update(self, x: Any) -> None:
        self.sum += float(x.sum()) if x.count() else 0.0

    def merge(self, other: Total) -> None:
        self.sum += other.sum

    def finish(self) -> float:
        return self.sum


class Plain(Total):
    """The same for arrays that are not masked."""

    def update(self, x: Any) -> None:
        self.sum += float(x.sum())


class Whole:
    """A class without merge: it is told all rows of a group at once."""

    def __init__(self) -> None:
        self.calls = 0
        self.rows = 0

    def update(self, x: Any) -> None:
        self.calls += 1
        self.rows += len(x)

    def finish(self) -> str:
        return f"{self.calls} {self.rows}"


@pytest.fixture
def con(con: inlay.Connection) -> inlay.Connection:
    con.execute("SET allow_python = true")
    con.execute("CREATE TABLE t AS SELECT i::DOUBLE AS x, i % 7 AS g, i % 3000 AS many FROM range(100000) r(i)")
    con.execute("""
        CREATE AGGREGATE spread(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON {
            return x.max() - x.min()
        };
        CREATE AGGREGATE sums(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON {
            return np.bincount(aggr_group, weights=x)
        };
        CREATE AGGREGATE joined(x BIGINT) RETURNS VARCHAR LANGUAGE PYTHON {
            return ",".join(str(each) for each in x)
        };
    """)
    con.create_aggregate("total", Plain, ["DOUBLE"], "DOUBLE")
    con.create_aggregate("whole", Whole, ["DOUBLE"], "VARCHAR")
    return con


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("name", "builtin"), [("spread", "max(x) - min(x)"), ("sums", "sum(x)"), ("total", "sum(x)")])
def test_values_are_those_of_built_in_aggregates(con: inlay.Connection, name: str, builtin: str, threads: int) -> None:
    con.execute(f"SET threads = {threads}")
    for group in ("g", "many", "x::BIGINT // 3", "g, many"):
        both = f"SELECT {name}(x) AS a, {builtin} AS b FROM t GROUP BY {group}"
        assert one(con, f"SELECT count(*) FROM ({both}) WHERE a IS DISTINCT FROM b") == 0
    assert one(con, f"SELECT {name}(x) = {builtin} FROM t") is True
    assert one(con, f"SELECT {name}(x) = {builtin} FROM t WHERE g = 3") is True


def test_one_call_has_many_groups_and_their_numbers_ascend(con: inlay.Connection) -> None:
    calls = []

    def sizes(x: Any, aggr_group: Any) -> Any:
        assert aggr_group.dtype == np.int64
        assert (np.diff(aggr_group) >= 0).all()
        calls.append(aggr_group[-1] + 1)
        return np.bincount(aggr_group)

    con.create_aggregate("sizes", sizes, ["DOUBLE"], "BIGINT")
    con.execute("SET threads = 1")
    rows = con.execute("SELECT many, sizes(x) FROM t GROUP BY many").fetchall()
    assert len(rows) == 3000
    assert {size for _, size in rows} == {33, 34}
    assert sum(calls) == 3000
    assert len(calls) <= 70


def test_filter_distinct_order_and_having(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE v AS SELECT * FROM (VALUES (1, 3), (1, 1), (1, 3), (2, 5), (2, NULL)) t(g, x)")
    con.execute("CREATE AGGREGATE strict(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON STRICT { return len(x) }")
    assert con.execute("SELECT g, joined(x ORDER BY x DESC) FROM v WHERE x > 0 GROUP BY g ORDER BY g").fetchall() == [
        (1, "3,3,1"),
        (2, "5"),
    ]
    assert one(con, "SELECT joined(DISTINCT x ORDER BY x) FROM v WHERE x > 0") == "1,3,5"
    assert con.execute("SELECT g, joined(x) FILTER (x > 4) FROM v GROUP BY g ORDER BY g").fetchall() == [
        (1, None),
        (2, "5"),
    ]
    assert con.execute("SELECT g FROM v GROUP BY g HAVING strict(x) = 1").fetchall() == [(2,)]
    assert con.execute("SELECT strict(x), count(*) FROM v").fetchall() == [(4, 5)]


def test_a_class_with_an_order_is_told_rows_in_it(con: inlay.Connection) -> None:
    class Last:
        def update(self, x: Any) -> None:
            self.value = int(x[-1])

        def merge(self, other: Any) -> None:
            raise AssertionError("an order cannot be merged")

        def finish(self) -> int:
            return self.value

    con.create_aggregate("last_of", Last, ["DOUBLE"], "BIGINT")
    assert one(con, "SELECT last_of(x ORDER BY -x) FROM t") == 0
    assert one(con, "SELECT sum(l) FROM (SELECT last_of(x ORDER BY x) AS l FROM t GROUP BY g)") == sum(
        range(99993, 100000)
    )


def test_nothing_gives_null_without_a_call(con: inlay.Connection) -> None:
    for name in ("spread", "sums", "total", "whole"):
        assert one(con, f"SELECT {name}(x) FROM t WHERE false") is None
        assert con.execute(f"SELECT {name}(x) FROM t WHERE false GROUP BY g").fetchall() == []
        assert one(con, f"SELECT (SELECT {name}(x) FROM t WHERE t.g = o.k) FROM (VALUES (9)) o(k)") is None


def test_nulls_are_masked(con: inlay.Connection) -> None:
    con.create_aggregate("present", lambda x: int(np.ma.count(x)), ["DOUBLE"], "BIGINT")
    con.create_aggregate("all_rows", lambda x: len(x), ["DOUBLE"], "BIGINT")
    con.create_aggregate("shown", lambda x: len(x), ["DOUBLE"], "BIGINT", null_handling="default")
    query = "SELECT present(x), all_rows(x), shown(x) FROM (VALUES (1.0), (NULL), (3.0)) t(x)"
    assert con.execute(query).fetchall() == [(2, 3, 2)]
    assert con.execute("SELECT present(x), all_rows(x), shown(x) FROM (VALUES (NULL::DOUBLE)) t(x)").fetchall() == [
        (0, 1, None)
    ]
    con.create_aggregate("nothing", lambda x: None, ["DOUBLE"], "BIGINT")
    assert one(con, "SELECT nothing(x) FROM t") is None


def test_a_class_without_merge_sees_a_group_once(con: inlay.Connection) -> None:
    assert one(con, "SELECT whole(x) FROM t") == "1 100000"
    rows = con.execute("SELECT whole(x) FROM t GROUP BY many").fetchall()
    assert {row[0] for row in rows} == {"1 33", "1 34"}


@pytest.mark.parametrize("name", ["sums", "total"])
@pytest.mark.parametrize(
    "over",
    [
        "PARTITION BY g",
        "PARTITION BY g ORDER BY x",
        "ORDER BY x ROWS BETWEEN 5 PRECEDING AND CURRENT ROW",
        "ORDER BY x ROWS BETWEEN 100 PRECEDING AND 20 FOLLOWING EXCLUDE CURRENT ROW",
    ],
)
def test_window_aggregates(con: inlay.Connection, name: str, over: str) -> None:
    query = f"SELECT {name}(x) OVER ({over}) AS a, sum(x) OVER ({over}) AS b FROM t WHERE x < 1000"
    rows = con.execute(query).fetchall()
    assert len(rows) == 1000
    assert all(a == pytest.approx(b) for a, b in rows)


def test_overloads_names_and_literals(con: inlay.Connection) -> None:
    con.execute("""
        CREATE AGGREGATE pct(x DOUBLE, p DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON { return np.percentile(x, p[0]) };
        CREATE AGGREGATE pct(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON { return np.percentile(x, 50) };
    """)
    assert one(con, "SELECT pct(x, 25) FROM range(101) t(x)") == 25
    assert one(con, "SELECT pct(p := 75, x := x) FROM range(101) t(x)") == 75
    assert one(con, "SELECT pct(x) FROM range(101) t(x)") == 50
    with pytest.raises(inlay.Error, match=r"no function pct\("):
        con.execute("SELECT pct('a', 1, 2) FROM t")


def test_types_of_results(con: inlay.Connection) -> None:
    con.create_aggregate("both", lambda x: [int(x.min()), int(x.max())], ["DOUBLE"], "BIGINT[]")
    assert con.execute("SELECT g, both(x) FROM t WHERE x < 14 GROUP BY g ORDER BY g LIMIT 2").fetchall() == [
        (0, [0, 7]),
        (1, [1, 8]),
    ]
    con.create_aggregate("median_of", lambda x: np.median(x), ["DOUBLE"], "DOUBLE")
    assert one(con, "SELECT median_of(x) FROM t") == 49999.5


@pytest.mark.parametrize("style", ["arrow", "pandas", "polars"])
def test_other_columns(con: inlay.Connection, style: str) -> None:
    pytest.importorskip({"arrow": "pyarrow"}.get(style, style))

    def longest(s: Any) -> int:
        return max(len(str(each)) for each in (s.to_pylist() if style == "arrow" else s))

    con.create_aggregate("longest", longest, ["VARCHAR"], "BIGINT", type=style)
    assert one(con, "SELECT longest(x::BIGINT::VARCHAR) FROM t") == 5


def test_wrong_results_name_the_function_and_the_group(con: inlay.Connection) -> None:
    con.create_aggregate("short", lambda x, aggr_group: np.zeros(2), ["DOUBLE"], "DOUBLE")
    with pytest.raises(inlay.Error, match='function "short" gave 2 values for 7 groups'):
        con.execute("SELECT short(x) FROM t GROUP BY g").fetchall()
    con.create_aggregate("wrong", lambda x: "a", ["DOUBLE"], "BIGINT")
    with pytest.raises(inlay.Error, match="function \"wrong\" gave 'a' for group 1 of 1; that is no BIGINT"):
        con.execute("SELECT wrong(x) FROM t").fetchall()
    con.execute("""CREATE AGGREGATE fails(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON {
        y = x.sum()
        if y < 10:
            raise KeyError(int(y))
        return y
    }""")
    with pytest.raises(
        inlay.FunctionException, match=r'function "fails" raised KeyError: 3 \(line 4 of <function fails'
    ):
        con.execute("SELECT fails(x) FROM t WHERE x < 3").fetchall()
    assert one(con, "SELECT 1") == 1


@pytest.mark.parametrize("method", ["__init__", "update", "merge", "finish"])
def test_exceptions_of_methods(con: inlay.Connection, method: str) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no")

    broken = type("Broken", (Plain,), {method: fail})
    con.create_aggregate("broken", broken, ["DOUBLE"], "DOUBLE")
    con.execute("SET threads = 4")
    query = "SELECT broken(x) OVER (ORDER BY x ROWS BETWEEN 2000 PRECEDING AND CURRENT ROW) FROM t WHERE x < 3000"
    with pytest.raises(inlay.FunctionException, match='function "broken" raised ValueError: no'):
        con.execute(query).fetchall()


@pytest.mark.parametrize("form", ["numbered", "class"])
def test_a_call_that_computes_is_interrupted(con: inlay.Connection, form: str) -> None:
    started = threading.Event()

    def forever(x: Any) -> None:
        started.set()
        while True:
            pass

    def numbered(x: Any, aggr_group: Any) -> None:
        forever(x)

    made: Any = numbered
    if form == "class":
        made = type("Forever", (Plain,), {"update": lambda self, x: forever(x)})
    con.create_aggregate("forever", made, ["DOUBLE"], "DOUBLE")
    ended = []

    def stop() -> None:
        started.wait(10)
        time.sleep(0.1)
        ended.append(time.perf_counter())
        con.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(inlay.Error, match="interrupt"):
        con.execute("SELECT forever(x) FROM t GROUP BY g").fetchall()
    thread.join()
    assert time.perf_counter() - ended[0] < 1


def test_stored_aggregates_are_kept_listed_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    body = """
        class Count:
            def __init__(self):
                self.rows = 0
            def update(self, x):
                self.rows += len(x)
            def merge(self, other):
                self.rows += other.rows
            def finish(self):
                return self.rows
    """
    with inlay.connect(path) as con:
        con.execute(f"CREATE AGGREGATE rows_of(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON {{{body}}}")
        con.execute("CREATE OR REPLACE AGGREGATE spread(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON { return x.max() }")
        con.execute("BEGIN; DROP AGGREGATE spread; ROLLBACK")
        with pytest.raises(inlay.Error, match="allow_python"):
            con.execute("SELECT rows_of(i) FROM range(3) t(i)")
    with inlay.connect(path, config={"allow_python": True}) as con:
        assert one(con, "SELECT rows_of(i) FROM range(300000) t(i)") == 300000
        assert one(con, "SELECT spread(i) FROM range(3) t(i)") == 2
        query = "SELECT function_type FROM duckdb_functions() WHERE function_name = 'rows_of'"
        assert one(con, query) == "aggregate"
        con.execute(f"EXPORT DATABASE '{tmp_path / 'out'}'")
        con.execute("DROP FUNCTION rows_of; DROP AGGREGATE IF EXISTS spread")
        with pytest.raises(inlay.Error, match="rows_of"):
            con.execute("SELECT rows_of(1)")
    with inlay.connect(config={"allow_python": True}) as con:
        con.execute(f"IMPORT DATABASE '{tmp_path / 'out'}'")
        assert one(con, "SELECT rows_of(i) FROM range(3) t(i)") == 3


def test_what_is_refused(con: inlay.Connection) -> None:
    for sql, told in [
        ("CREATE AGGREGATE f(x INT) RETURNS INT LANGUAGE PYTHON_MAP { return 1 }", "PYTHON_MAP"),
        ("CREATE AGGREGATE f(aggr_group INT) RETURNS INT LANGUAGE PYTHON { return 1 }", "aggr_group"),
        ("CREATE AGGREGATE f(x INT) RETURNS INT LANGUAGE PYTHON { class A: pass }", "needs the methods"),
        ("CREATE AGGREGATE f(x INT) RETURNS INT LANGUAGE PYTHON { x + 1 }", "return"),
        ("CREATE AGGREGATE sum(x INT) RETURNS INT LANGUAGE PYTHON { return 1 }", "built-in"),
        ("CREATE FUNCTION spread(x INT) RETURNS INT LANGUAGE PYTHON { return 1 }", "aggregate already"),
        ("CREATE AGGREGATE f(x INT) RETURNS INT LANGUAGE PYTHON WITH (arguments = 'rows') { return 1 }", "rows"),
        ("SELECT spread(x) FROM t WHERE spread(x) > 1", "not allowed in WHERE"),
        ("SELECT spread(*) FROM t", "spread"),
    ]:
        with pytest.raises(inlay.Error, match=told):
            con.execute(sql)
    with pytest.raises(inlay.Error, match="finish"):
        con.create_aggregate("f", type("A", (), {"update": print}), ["INT"], "INT")


def test_a_decorated_class(con: inlay.Connection) -> None:
    @con.udaf(name="mean_of")
    class Mean:
        def __init__(self) -> None:
            self.sum, self.count = 0.0, 0

        def update(self, x: float) -> None:
            self.sum += x.sum()  # type: ignore[attr-defined]
            self.count += len(x)  # type: ignore[arg-type]

        def merge(self, other: Mean) -> None:
            self.sum += other.sum
            self.count += other.count

        def finish(self) -> float:
            return self.sum / self.count

    assert Mean.__name__ == "Mean"
    assert one(con, "SELECT mean_of(x) FROM t") == 49999.5
    assert con.remove_function("mean_of") is con
    with pytest.raises(inlay.Error, match="mean_of"):
        con.execute("SELECT mean_of(x) FROM t")


def test_groups_that_do_not_fit_into_memory_at_once(tmp_path: Path) -> None:
    with inlay.connect(tmp_path / "large.db", config={"allow_python": True, "memory_limit": "100MB"}) as con:
        con.create_aggregate("sums", lambda x, aggr_group: np.bincount(aggr_group, weights=x), ["DOUBLE"], "DOUBLE")
        query = "SELECT count(*), sum(s) FROM (SELECT sums(i) AS s FROM range(4000000) t(i) GROUP BY i % 1000000)"
        count, total = con.execute(query).fetchall()[0]
        assert (count, total) == (1_000_000, sum(range(4_000_000)))


def test_pivot(con: inlay.Connection) -> None:
    con.execute("SET allow_python = true")
    con.execute("CREATE AGGREGATE total(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON { return x.sum() }")
    con.execute("CREATE TABLE p AS SELECT i % 3 AS k, 'c' || (i % 2) AS c, i AS x FROM range(100) t(i)")
    for query in (
        "PIVOT p ON c USING {f}(x) GROUP BY k ORDER BY k",
        "PIVOT p ON c USING {f}(x) + 1 AS y, count(*) AS n GROUP BY k ORDER BY k",
        "SELECT * FROM (SELECT k, c, x FROM p) PIVOT ({f}(x) FOR c IN ('c0', 'c1')) ORDER BY k",
    ):
        expected = con.execute(query.format(f="sum")).fetchall()
        assert con.execute(query.format(f="total")).fetchall() == expected
        assert con.execute(query.format(f="main.total")).fetchall() == expected
