"""Statements that are prepared, and those that are repeated."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator

import pytest

import inlay


@pytest.fixture
def con() -> Iterator[inlay.Connection]:
    with inlay.connect() as con:
        con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, day DATE, name VARCHAR, amount DOUBLE)")
        insert = con.prepare("INSERT INTO t VALUES (?, ?, ?, ?)")
        first = datetime.date(2024, 1, 1)
        insert.executemany([[n, first + datetime.timedelta(n), f"name {n}", n / 2] for n in range(100)])
        con.execute("CREATE INDEX t_day ON t (day)")
        yield con


def test_prepared_statements_tell_what_they_are(con: inlay.Connection) -> None:
    query = con.prepare("SELECT $a + $b")
    assert (query.query, query.parameter_count, query.parameter_names) == ("SELECT $a + $b", 2, ["a", "b"])
    assert query.execute({"b": 2, "a": 1}).fetchall() == [(3,)]
    assert con.prepare("SELECT ?, ?").parameter_count == 2
    assert "SELECT $a + $b" in repr(query)
    with pytest.raises(inlay.InvalidInputException, match="exactly one statement, not 0"):
        con.prepare("")
    with pytest.raises(inlay.ParserException):
        con.prepare("SELEC 1")


def test_rows_are_found_by_keys_and_indexes(con: inlay.Connection) -> None:
    by_key = con.prepare("SELECT name, amount FROM t WHERE id = ?")
    for key in (5, 7, 99):
        assert by_key.execute([key]).fetchall() == [(f"name {key}", key / 2)]
    assert by_key.execute([5.0]).fetchone() == ("name 5", 2.5)
    assert by_key.execute(["5"]).fetchone() == ("name 5", 2.5)
    assert by_key.execute([None]).fetchone() is None
    assert by_key.execute([2**40]).fetchone() is None
    by_day = "SELECT id FROM t WHERE day BETWEEN ? AND ?"
    for _ in range(3):
        assert con.execute(by_day, [datetime.date(2024, 1, 3), "2024-01-05"]).fetchall() == [(2,), (3,), (4,)]
    by_keys = f"SELECT id FROM t WHERE id IN ({', '.join('?' * 50)})"
    for start in (0, 3, 80):
        found = con.execute(by_keys, list(range(start, start + 50))).fetchall()
        assert [key for (key,) in found] == list(range(start, min(start + 50, 100)))


def test_rows_change_all_or_none(con: inlay.Connection) -> None:
    update = con.prepare("UPDATE t SET amount = amount + ? WHERE id = ?")
    with con.transaction():
        for key in range(10):
            assert update.execute([1.0, key]).rowcount == 1
    assert con.execute("SELECT sum(amount) FROM t WHERE id < 10").fetchone() == (32.5,)
    insert = con.prepare("INSERT INTO t (id) VALUES (?)")
    with pytest.raises(inlay.ConstraintException):
        insert.executemany([[100], [5]])
    assert con.execute("SELECT count(*) FROM t").fetchone() == (100,)
    delete = con.prepare("DELETE FROM t WHERE id = ? RETURNING name")
    assert [delete.execute([3]).fetchall() for _ in range(2)] == [[("name 3",)], []]


def test_names_are_looked_up_when_it_runs(con: inlay.Connection) -> None:
    query = con.prepare("SELECT * FROM t WHERE id = 1")
    assert [entry[0] for entry in query.execute().description or []] == ["id", "day", "name", "amount"]
    con.execute("ALTER TABLE t DROP COLUMN day")
    assert query.execute().fetchall() == [(1, "name 1", 0.5)]
    con.execute("DROP TABLE t")
    with pytest.raises(inlay.CatalogException):
        query.execute()
    con.close()
    with pytest.raises(inlay.ConnectionException):
        query.execute()


def test_threads_share_a_prepared_statement(con: inlay.Connection) -> None:
    query = con.prepare("SELECT id FROM t WHERE id = ?")
    wrong: list[object] = []

    def work(key: int) -> None:
        for _ in range(200):
            if (row := query.execute([key]).fetchone()) != (key,):
                wrong.append(row)

    threads = [threading.Thread(target=work, args=[key]) for key in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_parameters_may_be_written_with_a_colon(con: inlay.Connection) -> None:
    assert con.execute("SELECT :a, $b, :a::VARCHAR", {"a": 1, "b": 2}).fetchall() == [(1, 2, "1")]
    assert con.execute("SELECT {'k': :x}, [:x, 2][1:n] FROM (SELECT 2 AS n)", {"x": 5}).fetchall() == [
        ({"k": 5}, [5, 2])
    ]
    assert con.execute("SELECT [1, 2, 3][:n] FROM (SELECT 2 AS n)").fetchall() == [([1, 2],)]
    con.executemany("INSERT INTO t (id, name) VALUES (:id, :name)", [{"id": 500 + n, "name": str(n)} for n in range(3)])
    statement = con.prepare("SELECT name FROM t WHERE id = :id")
    assert [statement.execute({"id": 500 + n}).fetchall() for n in range(3)] == [[("0",)], [("1",)], [("2",)]]
    assert con.sql("SELECT id FROM t WHERE id < :n", params={"n": 2}).fetchall() == [(0,), (1,)]
    with pytest.raises(inlay.Error, match=r"\$id"):
        con.execute("SELECT :id")
    with pytest.raises(inlay.Error, match=r"\$other"):
        con.execute("SELECT :id", {"other": 2})
    with pytest.raises(inlay.Error, match="positional"):
        con.execute("SELECT :id", [2])
    with pytest.raises(inlay.ProgrammingError, match="a parameter is written :name"):
        con.execute("SELECT :1", [2])
