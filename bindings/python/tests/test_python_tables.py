"""Table functions of Python in SQL: values and tables in, rows out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay


@pytest.fixture
def con(con: inlay.Connection) -> inlay.Connection:
    con.execute("SET allow_python = true")
    con.execute("CREATE TABLE t AS SELECT i AS x, i % 3 AS g, 'n' || i AS name FROM range(10) r(i)")
    con.execute("""
        CREATE FUNCTION numbers(n INTEGER) RETURNS TABLE (x BIGINT, square BIGINT) LANGUAGE PYTHON {
            i = np.arange(n)
            return {'square': i * i, 'x': i}
        };
        CREATE FUNCTION largest(t TABLE, n INTEGER) RETURNS TABLE (x BIGINT, name VARCHAR) LANGUAGE PYTHON {
            best = np.argsort(-t['x'])[:n]
            return {'x': t['x'][best], 'name': t['name'][best]}
        };
    """)
    return con


def rows(con: inlay.Connection, query: str) -> list[Any]:
    return con.execute(query).fetchall()


def test_values_as_arguments(con: inlay.Connection) -> None:
    assert rows(con, "SELECT * FROM numbers(3)") == [(0, 0), (1, 1), (2, 4)]
    assert rows(con, "SELECT a.square FROM numbers(1 + 1) AS a(y, square) WHERE a.y > 0") == [(1,)]
    assert rows(con, "SELECT sum(x), count(*) FROM numbers(n := 100000)") == [(4999950000, 100000)]
    assert rows(con, "SELECT count(*) FROM numbers(0)") == [(0,)]
    assert rows(con, "SELECT a.x, b.x FROM numbers(2) a, numbers(2) b ORDER BY ALL") == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert rows(con, "SELECT x, ordinality FROM numbers(2) WITH ORDINALITY") == [(0, 1), (1, 2)]


@pytest.mark.parametrize("table", ["TABLE t", "(SELECT * FROM t)", "(FROM t)", "table main.t", "t := TABLE t"])
def test_a_table_as_an_argument(con: inlay.Connection, table: str) -> None:
    last = "n := 2" if ":=" in table else "2"
    assert rows(con, f"SELECT * FROM largest({table}, {last})") == [(9, "n9"), (8, "n8")]


def test_partitions_are_calls(con: inlay.Connection) -> None:
    expected = [(7, "n7"), (8, "n8"), (9, "n9")]
    for call in (
        "largest(TABLE t PARTITION BY g, 1)",
        "largest((SELECT * FROM t) PARTITION BY (g), 1)",
        "largest(TABLE t, 1, partition_by := g)",
    ):
        assert rows(con, f"SELECT * FROM {call} ORDER BY x") == expected
    assert len(rows(con, "SELECT * FROM largest(TABLE t PARTITION BY (g, x), 1)")) == 10
    con.execute("CREATE TABLE large AS SELECT i AS x, i % 5000 AS g, '' AS name FROM range(200000) t(i)")
    assert rows(con, "SELECT count(*), min(x) FROM largest(TABLE large PARTITION BY g, 2)") == [(10000, 190000)]


def test_the_order_of_the_table_is_kept(con: inlay.Connection) -> None:
    con.create_table_function("as_is", lambda t: t, ["TABLE"], {"x": "BIGINT"})
    assert rows(con, "SELECT * FROM as_is((SELECT x FROM t ORDER BY -x))") == [(x,) for x in range(9, -1, -1)]


def test_chains_ctes_views_and_inserts(con: inlay.Connection) -> None:
    chain = "largest(TABLE largest(TABLE t, 5), 2)"
    assert rows(con, f"SELECT x FROM {chain}") == [(9,), (8,)]
    assert rows(con, "WITH c AS (SELECT * FROM t WHERE x < 4) SELECT x FROM largest(TABLE c, 1)") == [(3,)]
    con.execute(f"CREATE VIEW v AS SELECT * FROM {chain}")
    con.execute("CREATE TABLE kept AS SELECT * FROM v UNION ALL SELECT x, 'a' FROM numbers(1)")
    assert rows(con, "SELECT x FROM kept ORDER BY x") == [(0,), (8,), (9,)]
    assert rows(con, "SELECT t.name FROM t JOIN numbers(3) n ON t.x = n.square ORDER BY 1") == [
        ("n0",),
        ("n1",),
        ("n4",),
    ]
    assert rows(con, "SELECT (SELECT max(x) FROM numbers(4))") == [(3,)]


def test_an_empty_table_gives_nothing(con: inlay.Connection) -> None:
    assert rows(con, "SELECT * FROM largest((SELECT * FROM t WHERE false), 3)") == []
    assert rows(con, "SELECT * FROM largest((SELECT * FROM t WHERE false) PARTITION BY g, 3)") == []


def test_nulls_go_both_ways(con: inlay.Connection) -> None:
    con.create_table_function("as_is", lambda t: t, ["TABLE"], {"a": "BIGINT", "b": "VARCHAR"})
    query = "SELECT * FROM as_is((SELECT * FROM (VALUES (1, NULL), (NULL, 'b')) v(a, b)))"
    assert rows(con, query) == [(1, None), (None, "b")]
    con.create_table_function("told", lambda v: [(v is None,)], ["VARCHAR"], {"a": "BOOLEAN"})
    assert rows(con, "SELECT * FROM told(NULL), told('')") == [(True, False)]


@pytest.mark.parametrize("style", ["arrow", "pandas", "polars"])
def test_tables_of_other_libraries(con: inlay.Connection, style: str) -> None:
    pytest.importorskip({"arrow": "pyarrow"}.get(style, style))
    con.create_table_function("sliced", lambda t, n: t[:n], ["TABLE", "INTEGER"], {"name": "VARCHAR"}, type=style)
    assert rows(con, "SELECT * FROM sliced((SELECT * FROM t ORDER BY x), 2)") == [("n0",), ("n1",)]


def test_what_may_be_given(con: inlay.Connection) -> None:
    columns = {"a": "BIGINT", "b": "VARCHAR"}
    for given, expected in [
        ({"a": [1, 2], "B": "x"}, [(1, "x"), (2, "x")]),
        ({"a": 1, "b": "x"}, [(1, "x")]),
        ([(1, "x"), {"a": 2}], [(1, "x"), (2, None)]),
        ([], []),
        (None, []),
        ({"a": np.arange(0), "b": []}, []),
    ]:
        con.create_table_function("given", lambda given=given: given, [], columns)
        assert rows(con, "SELECT * FROM given()") == expected
        con.remove_function("given")


def test_generators_give_pieces(con: inlay.Connection) -> None:
    con.execute("""CREATE FUNCTION pieces(n INTEGER) RETURNS TABLE (x INTEGER) LANGUAGE PYTHON {
        for i in range(n):
            yield {'x': [i] * i}
    }""")
    assert rows(con, "SELECT x, count(*) FROM pieces(4) GROUP BY x ORDER BY x") == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (3, 'function "given" gave int, not a dictionary of columns'),
        ({"b": [1]}, 'gave no column "a"; there are b'),
        ({"a": [1, 2], "b": ["x"]}, r"columns of different lengths \(a: 2, b: 1\)"),
        ([(1,)], r"gave the row \(1,\); a row has 2 values"),
        ({"a": ["x"], "b": ["x"]}, "gave 'x', row 1 of 1; that is no BIGINT"),
    ],
)
def test_wrong_tables(con: inlay.Connection, given: Any, told: str) -> None:
    con.create_table_function("given", lambda: given, [], {"a": "BIGINT", "b": "VARCHAR"})
    with pytest.raises(inlay.Error, match=told):
        rows(con, "SELECT * FROM given()")


def test_exceptions_have_their_lines(con: inlay.Connection) -> None:
    con.execute("""CREATE FUNCTION no_rows(t TABLE) RETURNS TABLE (x INTEGER) LANGUAGE PYTHON {
        n = len(t['x'])
        yield {'x': [n // 0]}
    }""")
    with pytest.raises(
        inlay.FunctionException, match=r'"no_rows" raised ZeroDivisionError.*\(line 3 of <function no_rows>'
    ):
        rows(con, "SELECT * FROM no_rows(TABLE t)")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT numbers(3)", "stands in FROM"),
        ("SELECT * FROM numbers(TABLE t)", r"no function numbers\(TABLE\)"),
        ("SELECT * FROM largest(3, 3)", r"no function largest\(INTEGER, INTEGER\)"),
        ("SELECT * FROM t, numbers(t.x)", r"no function numbers\(BIGINT\)"),
        ("SELECT * FROM largest(TABLE t PARTITION BY nothing, 1)", 'no column "nothing"'),
        ("SELECT * FROM numbers(1, partition_by := x)", "given no table"),
        ("SELECT * FROM largest((SELECT 1 AS x, 2 AS x), 1)", 'two columns called "x"'),
        ("CREATE FUNCTION f(t TABLE) RETURNS INTEGER LANGUAGE PYTHON { return 1 }", "a parameter that is a TABLE"),
        ("CREATE FUNCTION f() RETURNS TABLE (x INT, X INT) LANGUAGE PYTHON { return 1 }", "different names"),
        ("CREATE FUNCTION f() RETURNS TABLE (x INT) LANGUAGE PYTHON { 1 }", "return"),
        ("CREATE FUNCTION numbers() RETURNS INT LANGUAGE PYTHON { return 1 }", "table already"),
    ],
)
def test_what_is_refused(con: inlay.Connection, sql: str, told: str) -> None:
    with pytest.raises(inlay.Error, match=told):
        con.execute(sql)


def test_a_call_that_computes_is_interrupted(con: inlay.Connection) -> None:
    started = threading.Event()

    def forever() -> Iterator[Any]:
        started.set()
        while True:
            yield {"x": []}

    con.create_table_function("forever", forever, [], {"x": "BIGINT"})
    ended = []

    def stop() -> None:
        started.wait(10)
        time.sleep(0.1)
        ended.append(time.perf_counter())
        con.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(inlay.Error, match="interrupt"):
        rows(con, "SELECT * FROM forever()")
    thread.join()
    assert time.perf_counter() - ended[0] < 1


def test_a_generator_without_end_meets_the_memory_limit(tmp_path: Path) -> None:
    def endless() -> Iterator[Any]:
        while True:
            yield {"x": np.arange(100_000)}

    with inlay.connect(tmp_path / "small.db", config={"memory_limit": "100MB"}) as con:
        con.create_table_function("endless", endless, [], {"x": "BIGINT"})
        with pytest.raises(inlay.Error, match="memory"):
            rows(con, "SELECT list(x) FROM endless()")
        assert rows(con, "SELECT 1") == [(1,)]


def test_stored_functions_are_kept_listed_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    with inlay.connect(path) as con:
        con.execute('CREATE FUNCTION f(t TABLE, n INT) RETURNS TABLE ("a b" INT) LANGUAGE PYTHON { return {"a b": n} }')
        with pytest.raises(inlay.Error, match="allow_python"):
            con.execute("SELECT * FROM f((SELECT 1 AS x), 2)")
    with inlay.connect(path, config={"allow_python": True}) as con:
        assert rows(con, 'SELECT "a b" FROM f((SELECT 1 AS x), 2)') == [(2,)]
        assert rows(con, "SELECT function_type FROM duckdb_functions() WHERE function_name = 'f'") == [("table",)]
        con.execute(f"EXPORT DATABASE '{tmp_path / 'out'}'")
        con.execute("DROP FUNCTION f")
        with pytest.raises(inlay.Error, match="does not exist"):
            con.execute("SELECT * FROM f((SELECT 1 AS x), 2)")
    with inlay.connect(config={"allow_python": True}) as con:
        con.execute(f"IMPORT DATABASE '{tmp_path / 'out'}'")
        assert rows(con, "SELECT * FROM f((SELECT 1 AS x), 2)") == [(2,)]


def test_a_decorated_function(con: inlay.Connection) -> None:
    @con.udtf(columns={"word": str, "length": int})
    def words(text: str) -> Any:
        split = text.split()
        return {"word": split, "length": [len(word) for word in split]}

    assert words("a b")["length"] == [1, 1]
    assert rows(con, "SELECT * FROM words('the quick fox')") == [("the", 3), ("quick", 5), ("fox", 3)]
