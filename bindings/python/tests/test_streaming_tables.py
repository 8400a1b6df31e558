"""Table functions that hand rows on before they have seen all, and those of columns beside them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay

ROWS = 1_000_000


@pytest.fixture
def con(con: inlay.Connection) -> inlay.Connection:
    con.execute("SET allow_python = true")
    con.execute("SET threads = 4")
    con.execute(f"CREATE TABLE t AS SELECT i AS x, i % 7 AS g FROM range({ROWS}) r(i)")
    con.execute("""
        CREATE FUNCTION running(t TABLE, start BIGINT) RETURNS TABLE (x BIGINT, sum BIGINT) LANGUAGE PYTHON {
            class running:
                def __init__(self, start):
                    self.sum = start
                def process(self, t):
                    x = np.asarray(t['x'])
                    sums = self.sum + np.cumsum(x)
                    self.sum = int(sums[-1])
                    return {'x': x, 'sum': sums}
                def finish(self):
                    yield [(-1, self.sum)]
        };
        CREATE FUNCTION evens(t TABLE) RETURNS TABLE (x BIGINT) LANGUAGE PYTHON_MAP {
            return {'x': t['x'][t['x'] % 2 == 0]}
        };
        CREATE FUNCTION upto(n BIGINT) RETURNS TABLE (x BIGINT) LANGUAGE PYTHON {
            for start in range(0, n, 10000):
                yield {'x': np.arange(start, min(start + 10000, n))}
        };
    """)
    return con


def rows(con: inlay.Connection, query: str) -> list[Any]:
    return con.execute(query).fetchall()


def test_a_class_is_given_parts_in_order(con: inlay.Connection) -> None:
    total = ROWS * (ROWS - 1) // 2
    assert rows(con, "SELECT count(*), max(sum), min(x) FROM running(TABLE t, 0)") == [(ROWS + 1, total, -1)]
    assert rows(con, "SELECT * FROM running((SELECT x FROM t WHERE x < 4 ORDER BY x DESC), 10)") == [
        *[(3, 13), (2, 15), (1, 16), (0, 16)],
        (-1, 16),
    ]
    assert rows(con, "SELECT * FROM running((SELECT x FROM t WHERE x < 0), 10)") == []
    assert rows(con, "SELECT sum, ordinality FROM running((SELECT x FROM t WHERE x < 3), 0) WITH ORDINALITY") == [
        *[(0, 1), (1, 2), (3, 3)],
        (3, 4),
    ]


def test_partitions_are_tables_of_their_own(con: inlay.Connection) -> None:
    expected = rows(con, "SELECT g, sum(x) FROM t GROUP BY g ORDER BY g")
    found = rows(con, "SELECT sum FROM running(TABLE t PARTITION BY g, 0) WHERE x = -1")
    assert [total for (total,) in found] == [total for _, total in expected]
    first = "SELECT x FROM running(TABLE t PARTITION BY g, 0) LIMIT 3"
    assert rows(con, first) == [(0,), (7,), (14,)]
    odd = "(SELECT * FROM (VALUES (1, NULL), (2, 1.5), (3, NULL), (4, 'NaN'::DOUBLE), (5, 'NaN'::DOUBLE)) v(x, k))"
    found = rows(con, f"SELECT sum FROM running({odd} PARTITION BY k, 0) WHERE x = -1 ORDER BY sum")
    assert found == [(2,), (4,), (9,)]


def test_parts_are_given_to_all_workers(con: inlay.Connection) -> None:
    assert rows(con, "SELECT count(*), sum(x) FROM evens(TABLE t)") == [(ROWS // 2, sum(range(0, ROWS, 2)))]
    assert rows(con, "SELECT x FROM evens(TABLE t) OFFSET 1000 LIMIT 2") == [(2000,), (2002,)]
    assert rows(con, "SELECT x, ordinality FROM evens(TABLE t) WITH ORDINALITY OFFSET 20000 LIMIT 1") == [
        (40000, 20001)
    ]
    with pytest.raises(inlay.Error, match="any parts of its table"):
        rows(con, "SELECT * FROM evens(TABLE t PARTITION BY g)")
    sizes: list[int] = []
    con.create_table_function("sized", lambda t: sizes.append(len(t["x"])), ["TABLE"], {"x": int}, blocking=False)
    assert rows(con, "SELECT * FROM sized(TABLE t)") == []
    assert sum(sizes) == ROWS and len(sizes) > 4


def test_generators_without_a_table_stream(con: inlay.Connection) -> None:
    assert rows(con, "SELECT count(*), sum(x) FROM upto(1000000)") == [(10**6, 10**6 * (10**6 - 1) // 2)]
    ended: list[int] = []

    def endless(step: int) -> Iterator[Any]:
        number = 0
        try:
            while True:
                yield {"x": np.arange(number, number + 1000) * step}
                number += 1000
        finally:
            ended.append(number)

    con.create_table_function("endless", endless, [int], {"x": int})
    assert rows(con, "SELECT * FROM endless(2) LIMIT 3") == [(0,), (2,), (4,)]
    assert ended[0] <= 3000
    assert rows(con, "SELECT x FROM endless(1) WHERE x % 100000 = 99999 LIMIT 2") == [(99999,), (199999,)]
    assert ended[1] < 600_000
    result = con.execute("SELECT * FROM endless(1)")
    assert result.fetchmany(2) == [(0,), (1,)]
    del result
    assert con.execute("SELECT 1 FROM endless(1) LIMIT 1").fetchall() == [(1,)]


def test_limits_end_early(con: inlay.Connection) -> None:
    seen: list[int] = []

    class Counted:
        def process(self, t: Any) -> Any:
            seen.append(len(t["x"]))
            return t

    con.create_table_function("counted", Counted, ["TABLE"], {"x": int})
    assert rows(con, "SELECT * FROM counted(TABLE t) LIMIT 2") == [(0,), (1,)]
    assert sum(seen) < ROWS // 4


def test_memory_holds_neither_input_nor_output(tmp_path: Path) -> None:
    with inlay.connect(tmp_path / "small.db", config={"memory_limit": "60MB", "threads": 2}) as con:

        class Copied:
            def process(self, t: Any) -> Any:
                return {"x": t["x"], "s": [f"{'y' * 40}{x}" for x in t["x"].tolist()]}

        con.create_table_function("copied", Copied, ["TABLE"], {"x": int, "s": str})
        con.create_table_function(
            "copied_parts", lambda t: Copied().process(t), ["TABLE"], {"x": int, "s": str}, blocking=False
        )
        for name in ("copied", "copied_parts"):
            query = f"SELECT count(*), sum(length(s)) FROM {name}((FROM range(3000000) r(x)))"
            assert rows(con, query)[0][0] == 3_000_000
        query = "SELECT count(*) FROM copied((SELECT x, x % 3 AS g FROM range(3000000) r(x)) PARTITION BY g)"
        assert rows(con, query) == [(3_000_000,)]


def test_calls_are_cancelled(con: inlay.Connection) -> None:
    started = threading.Event()

    class Slow:
        def process(self, t: Any) -> Iterator[Any]:
            while True:
                started.set()
                time.sleep(0.001)
                yield {"x": [1]}

    con.create_table_function("slow", Slow, ["TABLE"], {"x": int})
    took: list[float] = []

    def stop() -> None:
        started.wait(10)
        time.sleep(0.1)
        took.append(time.perf_counter())
        con.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(inlay.InterruptException):
        con.execute("SELECT count(*) FROM slow(TABLE t)")
    assert time.perf_counter() - took[0] < 0.3
    thread.join()


def test_exceptions_name_their_lines(con: inlay.Connection) -> None:
    con.execute("""
        CREATE FUNCTION fails(t TABLE) RETURNS TABLE (x BIGINT) LANGUAGE PYTHON {
            class fails:
                def process(self, t):
                    yield {'x': 1}
                    raise ValueError("no more")
        }
    """)
    with pytest.raises(inlay.FunctionException, match=r'"fails" raised ValueError: no more \(line 5 of'):
        rows(con, "SELECT * FROM fails(TABLE t)")
    with pytest.raises(inlay.FunctionException, match="no BIGINT"):
        con.create_table_function("wrong", lambda t: {"x": ["a"]}, ["TABLE"], {"x": int}, blocking=False)
        rows(con, "SELECT * FROM wrong(TABLE t)")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            "CREATE FUNCTION f(t TABLE) RETURNS TABLE (x INT) LANGUAGE PYTHON { class f:\n  pass\n }",
            "needs the method process",
        ),
        (
            "CREATE FUNCTION f(t TABLE) RETURNS TABLE (x INT) LANGUAGE PYTHON_MAP "
            "{ class f:\n  def process(self, t): return t\n }",
            "one part after the other",
        ),
        (
            "CREATE FUNCTION f(n INT) RETURNS TABLE (x INT) LANGUAGE PYTHON "
            "{ class f:\n  def process(self, t): return t\n }",
            "is given a table",
        ),
        ("CREATE FUNCTION f(t TABLE) RETURNS TABLE LANGUAGE PYTHON { return t }", "needs columns"),
        ("CREATE FUNCTION f() RETURNS TABLE (x INT) LANGUAGE PYTHON WITH (rows = many) { return 1 }", "how many rows"),
        ("SELECT * FROM t, running(TABLE t, t.x)", "must be constant"),
        ("SELECT * FROM t, upto(t.x, partition_by := x)", "PARTITION BY"),
    ],
)
def test_what_is_refused(con: inlay.Connection, sql: str, told: str) -> None:
    with pytest.raises(inlay.Error, match=told):
        con.execute(sql)


def test_columns_beside_a_call(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE few (n INTEGER, s VARCHAR)")
    con.execute("INSERT INTO few VALUES (2, 'a'), (0, 'b'), (1, 'c'), (NULL, 'd')")
    con.create_table_function(
        "times", lambda s, n: [(s, i) for i in range(n or 0)], [str, int], {"word": str, "number": int}
    )
    expected = [("a", "a", 0), ("a", "a", 1), ("c", "c", 0)]
    for source in ("few, times(few.s, few.n)", "few CROSS JOIN LATERAL times(s, n)", "few JOIN times(s, n) ON true"):
        assert rows(con, f"SELECT s, word, number FROM {source} ORDER BY ALL") == expected
    left = "SELECT s, word, number FROM few LEFT JOIN LATERAL times(s, n) ON true ORDER BY ALL"
    assert rows(con, left) == [*expected[:2], ("b", None, None), expected[2], ("d", None, None)]
    assert rows(con, "SELECT s, word FROM few, times(upper(s) || '!', 1) ORDER BY ALL LIMIT 1") == [("a", "A!")]
    assert rows(con, "SELECT s, o FROM few, times(s, n) WITH ORDINALITY AS x(w, i, o) WHERE o > 1") == [("a", 2)]
    assert rows(con, "SELECT s, (SELECT count(*) FROM times(s, n)) FROM few ORDER BY s") == [
        *[("a", 2), ("b", 0)],
        *[("c", 1), ("d", 0)],
    ]
    assert rows(con, "SELECT s FROM few WHERE EXISTS (FROM times(few.s, few.n) WHERE number = 1)") == [("a",)]
    assert rows(con, "SELECT count(*) FROM (SELECT i::INT AS i FROM range(5000) r(i)) a, times('x', a.i % 3)") == [
        (4999,)
    ]


def test_schemas_are_computed(con: inlay.Connection) -> None:
    con.execute("""
        CREATE FUNCTION scaled(t TABLE, factor DOUBLE) RETURNS TABLE LANGUAGE PYTHON {
            def schema(t, factor):
                numeric = [name for name, kind in t.items() if kind in ('INTEGER', 'BIGINT', 'DOUBLE')]
                return {**{f"{name}_scaled": 'DOUBLE' for name in numeric}, 'factor': 'DOUBLE'}

            made = {f"{name}_scaled": column * factor for name, column in t.items() if column.dtype.kind in 'if'}
            return {**made, 'factor': factor}
        }
    """)
    assert rows(con, "SELECT * FROM scaled((SELECT 2 AS a, 'x' AS b, 3.5::DOUBLE AS c), 2)") == [(4.0, 7.0, 2.0)]
    assert rows(con, "SELECT x_scaled FROM scaled((SELECT x FROM t WHERE x = 3), 0.5)") == [(1.5,)]
    con.execute("CREATE TABLE changing AS SELECT 1 AS a")
    con.execute("CREATE VIEW v AS SELECT * FROM scaled(TABLE changing, 10)")
    prepared = con.prepare("SELECT * FROM scaled(TABLE changing, ?)")
    assert prepared.execute([2.0]).fetchall() == [(2.0, 2.0)]
    con.execute("ALTER TABLE changing ADD COLUMN b INTEGER DEFAULT 5")
    assert prepared.execute([3.0]).fetchall() == [(3.0, 15.0, 3.0)]
    names = [name for name, *_ in con.execute("SELECT * FROM v").description]
    assert names == ["a_scaled", "b_scaled", "factor"]
    con.create_table_function(
        "wide", lambda n: {f"c{i}": [i] for i in range(n)}, [int], schema=lambda n: [(f"c{i}", int) for i in range(n)]
    )
    assert rows(con, "SELECT * FROM wide(3)") == [(0, 1, 2)]
    assert rows(con, "SELECT c1 FROM wide(2)") == [(1,)]
    con.execute("SET allow_python = false")
    with pytest.raises(inlay.Error, match="allow_python"):
        con.execute("SELECT * FROM scaled(TABLE changing, 10)")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (3, "gave 3, not names and types"),
        ({}, "needs columns with different names"),
        ([("a", "INT"), ("A", "INT")], "needs columns with different names"),
        ({"a": "NOTYPE"}, "(?i)notype"),
        ({"a": object}, "is no type of SQL"),
    ],
)
def test_wrong_schemas(con: inlay.Connection, given: Any, told: str) -> None:
    con.create_table_function("given", lambda: None, [], schema=lambda: given)
    with pytest.raises(inlay.Error, match=told):
        con.execute("SELECT * FROM given()")


def test_a_schema_that_fails(con: inlay.Connection) -> None:
    con.create_table_function("given", lambda n: None, [int], schema=lambda n: {"a": int(1 / n)})
    with pytest.raises(inlay.FunctionException, match="ZeroDivisionError"):
        con.execute("SELECT * FROM given(0)")


def test_expected_rows_are_told(con: inlay.Connection) -> None:
    con.create_table_function("many", lambda: None, [], {"x": int}, rows=123456)
    plan = "\n".join(line for (line,) in rows(con, "EXPLAIN SELECT * FROM many()"))
    assert "Call many" in plan and "123456" in plan
    con.execute("CREATE FUNCTION lots(t TABLE) RETURNS TABLE (x INT) LANGUAGE PYTHON WITH (rows = 77777) { return t }")
    plan = "\n".join(line for (line,) in rows(con, "EXPLAIN SELECT * FROM lots(TABLE t)"))
    assert "77777" in plan
    analyzed = "\n".join(line for (line,) in rows(con, "EXPLAIN ANALYZE SELECT * FROM evens(TABLE t)"))
    assert f"evens: {ROWS} rows in" in analyzed


def test_stored_ones_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    with inlay.connect(path, config={"allow_python": True}) as con:
        con.execute("CREATE FUNCTION p(t TABLE) RETURNS TABLE (x INT) LANGUAGE PYTHON_MAP { return t }")
        con.execute("""CREATE FUNCTION s(t TABLE) RETURNS TABLE LANGUAGE PYTHON WITH (rows = 5) {
            def schema(t): return t
            return t
        }""")
        con.execute(f"EXPORT DATABASE '{tmp_path / 'out'}'")
    with inlay.connect(path, config={"allow_python": True}) as con:
        assert rows(con, "SELECT * FROM p((SELECT 1 AS x))") == [(1,)]
        assert rows(con, "SELECT * FROM s((SELECT 1 AS x, 'b' AS y))") == [(1, "b")]
    with inlay.connect(config={"allow_python": True}) as con:
        con.execute(f"IMPORT DATABASE '{tmp_path / 'out'}'")
        assert rows(con, "SELECT * FROM s((SELECT 1 AS x, 'b' AS y))") == [(1, "b")]
        assert rows(con, "SELECT * FROM p(TABLE s((SELECT 1 AS x)))") == [(1,)]


def test_classes_with_values_and_decorators(con: inlay.Connection) -> None:
    @con.udtf("sampled", parameters=["INTEGER", "TABLE"], columns={"x": int})
    class Sampled:
        def __init__(self, every: int) -> None:
            self.every, self.seen = every, 0

        def process(self, t: Any) -> Any:
            first = -self.seen % self.every
            self.seen += len(t["x"])
            return {"x": t["x"][first :: self.every]}

    assert rows(con, "SELECT count(*), min(x), max(x) FROM sampled(1000, TABLE t)") == [(1000, 0, 999000)]
    assert Sampled.__name__ == "Sampled"


def test_chains_stream(con: inlay.Connection) -> None:
    query = "SELECT count(*), max(sum) FROM running(TABLE evens(TABLE upto(100000)), 0)"
    assert rows(con, query) == [(50_001, sum(range(0, 100_000, 2)))]


def test_queries_within_parts(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE rates AS SELECT 3 AS rate")

    class Rated:
        def process(self, t: Any) -> Iterator[Any]:
            answer = inlay.calling().execute("SELECT rate FROM rates")
            yield {"x": t["x"] * 0}
            yield {"x": t["x"] * 0 + answer.fetchone()[0]}

    con.create_table_function("rated", Rated, ["TABLE"], {"x": int})
    assert rows(con, "SELECT count(*), sum(x) FROM rated(TABLE t)") == [(2 * ROWS, 3 * ROWS)]


@pytest.mark.parametrize("style", ["numpy", "arrow", "pandas"])
def test_two_tables(con: inlay.Connection, style: str) -> None:
    def matched(a: Any, b: Any, suffix: str) -> Any:
        names = dict(zip(list(map(int, b["k"])), list(map(str, b["name"])), strict=True))
        return [(int(k), names.get(int(k), "none") + suffix) for k in a["k"]]

    con.create_table_function(
        "matched", matched, ["TABLE", "TABLE", "VARCHAR"], {"k": int, "name": str}, type=style, rows=4
    )
    con.execute("CREATE TABLE names AS SELECT * FROM (VALUES (1, 'one'), (3, 'three')) n(k, name)")
    query = "SELECT * FROM matched((SELECT x AS k FROM t WHERE x < 4 ORDER BY x), TABLE names, '!') ORDER BY k"
    assert rows(con, query) == [(0, "none!"), (1, "one!"), (2, "none!"), (3, "three!")]
    nothing = "(SELECT * FROM names WHERE k > 5)"
    assert rows(con, f"SELECT * FROM matched((SELECT 1 AS k), {nothing}, '')") == [(1, "none")]
    assert rows(con, f"SELECT * FROM matched({nothing}, TABLE names, '')") == []
    assert rows(con, "SELECT count(*) FROM names m, matched(TABLE names, TABLE names, 'x') WHERE m.k = 1") == [(2,)]
    for call in ("matched(TABLE t PARTITION BY x, TABLE names, '')", "matched(TABLE names, TABLE names, m.name)"):
        with pytest.raises(inlay.Error, match=r"PARTITION BY|must be constant"):
            rows(con, f"SELECT * FROM names m, {call}")
