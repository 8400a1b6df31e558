"""Queries inside of functions: `_conn` reads what the statement reads that calls the function."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay

ROWS = 200_000


@pytest.fixture
def con(con: inlay.Connection) -> inlay.Connection:
    con.execute("SET allow_python = true")
    con.execute("SET threads = 4")
    con.execute("CREATE TABLE rates (code VARCHAR, rate INTEGER)")
    con.execute("INSERT INTO rates VALUES ('a', 2), ('b', 3)")
    con.execute("""
        CREATE FUNCTION rated(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP {
            return x * _conn.execute("SELECT rate FROM rates WHERE code = ?", ['a']).fetchone()[0]
        };
        CREATE AGGREGATE counted(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON {
            return len(x) * _conn.execute("SELECT sum(rate) FROM rates").fetchone()[0]
        };
        CREATE FUNCTION codes(t TABLE) RETURNS TABLE (code VARCHAR, n BIGINT) LANGUAGE PYTHON {
            found = _conn.execute("SELECT code FROM rates ORDER BY code").fetchnumpy()
            return {'code': found['code'], 'n': len(t['x'])}
        };
    """)
    return con


def rows(con: inlay.Connection, query: str) -> list[Any]:
    return con.execute(query).fetchall()


def test_functions_of_every_kind_read(con: inlay.Connection) -> None:
    assert rows(con, "SELECT rated(21)") == [(42,)]
    assert rows(con, f"SELECT sum(rated(x)) FROM range({ROWS}) t(x)") == [(ROWS * (ROWS - 1),)]
    assert rows(con, "SELECT g, counted(x) FROM (SELECT x, x % 2 AS g FROM range(10) r(x)) GROUP BY g ORDER BY g") == [
        (0, 25),
        (1, 25),
    ]
    assert rows(con, "SELECT * FROM codes((SELECT x FROM range(7) r(x)))") == [("a", 7), ("b", 7)]


def test_classes_read(con: inlay.Connection) -> None:
    con.execute("""
        CREATE AGGREGATE scaled(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON {
            class scaled:
                def __init__(self):
                    self.rate = _conn.execute("SELECT max(rate) FROM rates").fetchone()[0]
                    self.sum = 0
                def update(self, x):
                    self.sum += int(x.sum())
                def merge(self, other):
                    self.sum += other.sum
                def finish(self):
                    return self.sum * self.rate
        }
    """)
    assert rows(con, f"SELECT scaled(x) FROM range({ROWS}) t(x)") == [(3 * ROWS * (ROWS - 1) // 2,)]


def test_a_registered_function_has_a_parameter_or_asks(con: inlay.Connection) -> None:
    def asked(x: int, _conn: Any) -> int:
        return x + _conn.execute("SELECT count(*) FROM rates").fetchone()[0]

    @con.udf()
    def calls(x: int) -> int:
        return x + inlay.calling().execute("SELECT count(*) FROM rates").fetchone()[0]

    con.create_function("asked", asked, type="numpy")
    con.create_function("by_row", asked, ["BIGINT"], "BIGINT")
    con.create_aggregate(
        "total", lambda x, _conn: int(x.sum()) + _conn.execute("SELECT 1").fetchone()[0], ["BIGINT"], int
    )
    con.create_table_function(
        "numbers", lambda n, _conn: _conn.execute("FROM range(?)", [n]).df(), [int], {"range": int}
    )
    assert rows(con, "SELECT asked(1), by_row(2), calls(3)") == [(3, 4, 5)]
    assert rows(con, "SELECT total(x) FROM range(4) t(x)") == [(7,)]
    assert rows(con, "SELECT sum(range) FROM numbers(5)") == [(10,)]


def test_every_way_to_fetch(con: inlay.Connection) -> None:
    seen: list[Any] = []

    @con.udf()
    def fetches(x: int, _conn: Any) -> int:
        query = "SELECT code, rate FROM rates ORDER BY code"
        seen.append(_conn.execute(query).fetchall())
        seen.append(_conn.fetchall())
        seen.append(_conn.execute(query).fetchmany(1))
        seen.append(_conn.fetchone())
        seen.append(list(_conn.execute(query).fetchnumpy()["rate"]))
        seen.append(_conn.execute(query).df()["rate"].tolist())
        seen.append(_conn.execute(query).arrow().to_pydict())
        seen.append([name for name, *_ in _conn.execute(query).description])
        return x

    con.execute("SELECT fetches(1)")
    all_rows = [("a", 2), ("b", 3)]
    as_columns = {"code": ["a", "b"], "rate": [2, 3]}
    assert seen == [all_rows, [], [("a", 2)], ("b", 3), [2, 3], [2, 3], as_columns, ["code", "rate"]]


def test_it_sees_the_transaction_and_nothing_later(con: inlay.Connection) -> None:
    other = con.cursor()
    con.execute("BEGIN")
    con.execute("UPDATE rates SET rate = 10 WHERE code = 'a'")
    con.execute("CREATE TEMP TABLE own AS SELECT 5 AS x")
    other.execute("INSERT INTO rates VALUES ('c', 100)")
    con.create_function("own", lambda x, _conn: x + _conn.execute("SELECT x FROM own").fetchone()[0], [int], int)
    assert rows(con, "SELECT rated(1), own(1)") == [(10, 6)]
    assert rows(con, "SELECT * FROM codes((SELECT 1 AS x))") == [("a", 1), ("b", 1)]
    con.execute("ROLLBACK")
    assert rows(con, "SELECT rated(1)") == [(2,)]
    assert len(rows(con, "SELECT * FROM codes((SELECT 1 AS x))")) == 3


def test_a_statement_that_changes_shows_what_was_before(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE grown AS SELECT 1::BIGINT AS x")
    con.create_function("size", lambda x, _conn: _conn.execute("SELECT count(*) FROM grown").fetchone()[0], [int], int)
    # A query for each of them.
    count = ROWS // 10
    con.execute(f"INSERT INTO grown SELECT size(x) FROM range({count}) t(x)")
    assert rows(con, "SELECT min(x), max(x), count(*) FROM grown") == [(1, 1, count + 1)]
    con.execute("UPDATE grown SET x = size(x)")
    assert rows(con, "SELECT min(x), max(x) FROM grown") == [(count + 1, count + 1)]
    con.execute("DELETE FROM grown WHERE size(x) > 1")
    assert rows(con, "SELECT count(*) FROM grown") == [(0,)]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO rates VALUES ('z', 1)",
        "UPDATE rates SET rate = 1",
        "DELETE FROM rates",
        "CREATE TABLE made (x INTEGER)",
        "CREATE TEMP TABLE made (x INTEGER)",
        "DROP TABLE rates",
        "ALTER TABLE rates ADD COLUMN y INTEGER",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SET threads = 1",
        "ATTACH ':memory:' AS other",
        "COPY rates TO 'rates.csv'",
        "PREPARE p AS SELECT 1",
        "EXPLAIN ANALYZE DELETE FROM rates",
        "WITH c AS (SELECT 1) INSERT INTO rates SELECT 'a', 1 FROM c",
        "WITH c AS (DELETE FROM rates RETURNING *) SELECT * FROM c",
        "SELECT 1; CHECKPOINT",
    ],
)
def test_what_changes_something_is_refused(con: inlay.Connection, sql: str) -> None:
    con.create_function("changes", lambda x, _conn: _conn.execute(sql) and x, [int], int, type="numpy")
    with pytest.raises(inlay.Error, match=r'function "changes" may only read while a statement calls it.*cannot run: '):
        con.execute("SELECT changes(1)")
    assert rows(con, "SELECT count(*) FROM rates") == [(2,)]


def test_what_the_connection_lacks(con: inlay.Connection) -> None:
    con.create_function("closes", lambda x, _conn: _conn.close(), [int], int, type="numpy")
    with pytest.raises(inlay.Error, match="_conn has no 'close'"):
        con.execute("SELECT closes(1)")
    with pytest.raises(inlay.Error, match="no function is called on this thread"):
        inlay.calling()


def test_queries_may_be_explained_and_described(con: inlay.Connection) -> None:
    con.create_function(
        "plans",
        lambda x, _conn: (
            len(_conn.execute("EXPLAIN SELECT 1").fetchall()) + len(_conn.execute("SHOW TABLES").fetchall())
        ),
        [int],
        int,
    )
    assert rows(con, "SELECT plans(1) > 1") == [(True,)]


def test_recursion_has_an_end(con: inlay.Connection) -> None:
    con.execute("""
        CREATE FUNCTION product_to(n BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP {
            return [1 if each < 2 else each * _conn.execute("SELECT product_to(?)", [each - 1]).fetchone()[0]
                    for each in np.atleast_1d(n).tolist()]
        };
        CREATE FUNCTION forever(n BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP {
            return _conn.execute("SELECT forever(x) FROM range(2) t(x)").fetchone()[0]
        };
    """)
    assert rows(con, "SELECT product_to(x) FROM (VALUES (5), (10)) t(x)") == [(120,), (3628800,)]
    with pytest.raises(inlay.Error, match="run inside of each other already"):
        con.execute("SELECT forever(1)")
    assert rows(con, "SELECT rated(1)") == [(2,)]


def test_many_workers_wait_for_queries_that_call_functions(con: inlay.Connection) -> None:
    con.execute(f"CREATE TABLE large AS SELECT x FROM range({ROWS}) t(x)")
    con.execute("""
        CREATE FUNCTION busy(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP {
            return [sum(range(each % 10)) * 0 + each for each in x.tolist()]
        };
        CREATE FUNCTION outer_sum(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP {
            return x * 0 + _conn.execute("SELECT sum(busy(x)) FROM large WHERE x < 50000").fetchone()[0]
        };
    """)
    answers = []

    def ask() -> None:
        answers.append(rows(con.cursor(), "SELECT min(outer_sum(x)), max(outer_sum(x)) FROM large"))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    expected = 50_000 * 49_999 // 2
    assert answers == [[(expected, expected)]] * 3


def test_interrupts_and_timeouts_reach_queries(con: inlay.Connection) -> None:
    started = threading.Event()

    @con.udf()
    def waits(x: int, _conn: Any) -> int:
        started.set()
        return _conn.execute(
            "SELECT count(*) FROM range(100000) a, range(100000) b WHERE a.range * b.range = 3"
        ).fetchone()[0]

    ended = []

    def stop() -> None:
        started.wait(10)
        time.sleep(0.2)
        ended.append(time.perf_counter())
        con.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(inlay.InterruptException):
        con.execute("SELECT waits(1)")
    assert time.perf_counter() - ended[0] < 0.5
    thread.join()
    con.execute("SET statement_timeout = '300ms'")
    with pytest.raises(inlay.InterruptException, match="300"):
        con.execute("SELECT waits(1)")
    con.execute("RESET statement_timeout")
    assert rows(con, "SELECT rated(1)") == [(2,)]


def test_rows_are_there_or_the_call_has_ended(con: inlay.Connection) -> None:
    kept: list[Any] = []

    @con.udf()
    def keeps(x: int, _conn: Any) -> int:
        kept.append(_conn.execute("FROM range(1000000)"))
        kept.append(_conn)
        return x

    con.execute("SELECT keeps(1)")
    with pytest.raises(inlay.Error, match='call of function "keeps" has ended'):
        kept[0].fetchall()
    with pytest.raises(inlay.Error, match="no function is called"):
        kept[1].execute("SELECT 1")


def test_large_results_are_whole_before_the_statement_ends(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE wide AS SELECT x, repeat('x', 100) AS s FROM range(2000000) t(x)")
    result = con.execute("SELECT rated(x), s FROM wide")
    con.execute("UPDATE rates SET rate = 1000")
    largest = 0
    while batch := result.fetchmany(200_000):
        largest = max(largest, batch[-1][0])
    assert largest == 2 * 1_999_999


def test_threads_of_the_function_have_none(con: inlay.Connection) -> None:
    told: list[str] = []

    @con.udf()
    def spawns(x: int, _conn: Any) -> int:
        def ask() -> None:
            try:
                _conn.execute("SELECT 1")
            except inlay.Error as error:
                told.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return x

    con.execute("SELECT spawns(1)")
    assert "no function is called on this thread" in told[0]


def test_memory_counts(tmp_path: Path) -> None:
    with inlay.connect(tmp_path / "small.db", config={"memory_limit": "80MB"}) as con:
        con.create_function(
            "sorts",
            lambda x, _conn: len(_conn.execute("SELECT list(range) FROM range(100000000)").fetchone()),
            [int],
            int,
        )
        with pytest.raises(inlay.Error, match="memory"):
            con.execute("SELECT sorts(1)")
        assert rows(con, "SELECT 1") == [(1,)]


def test_worker_processes_have_none(con: inlay.Connection) -> None:
    with pytest.raises(inlay.Error, match="in this process only"):
        con.create_function("far", lambda x, _conn: x, [int], int, type="numpy", parallel="processes")
    con.create_function("near", lambda x, _conn: x, [int], int, type="numpy", parallel="auto")
    assert rows(con, "SELECT near(1)") == [(1,)]


def test_generators_read_between_their_pieces(con: inlay.Connection) -> None:
    def pieces(_conn: Any) -> Iterator[Any]:
        answer = _conn.execute("SELECT code, rate FROM rates ORDER BY code")
        while row := answer.fetchone():
            yield [row]

    con.create_table_function("pieces", pieces, [], {"code": str, "rate": int})
    assert rows(con, "SELECT * FROM pieces()") == [("a", 2), ("b", 3)]


def test_local_tables_of_the_function(con: inlay.Connection) -> None:
    con.execute("""
        CREATE FUNCTION framed(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP {
            weights = {'w': np.arange(3)}
            import pyarrow
            table = pyarrow.table(weights)
            query = 'SELECT sum(w) FROM "table" JOIN rates ON true'
            return x + _conn.execute(query).fetchone()[0]
        }
    """)
    assert rows(con, "SELECT framed(1)") == [(7,)]


def test_constraints_views_and_prepared_statements(con: inlay.Connection) -> None:
    con.execute("CREATE VIEW v AS SELECT rated(x) AS y FROM range(3) t(x)")
    assert rows(con, "SELECT sum(y) FROM v") == [(6,)]
    prepared = con.prepare("SELECT rated(?)")
    assert prepared.execute([4]).fetchall() == [(8,)]
    assert con.sql("SELECT rated(1) AS y").fetchall() == [(2,)]
    assert rows(con, "SELECT x FROM range(5) t(x) WHERE rated(x) = 4 ORDER BY rated(x)") == [(2,)]
    assert rows(con, "SELECT * FROM range(rated(2))") == [(0,), (1,), (2,), (3,)]
    np.testing.assert_equal(con.execute("SELECT rated(1) AS y").fetchnumpy()["y"][0], 2)
