"""Rows one by one: the appender, its actions, and what becomes of mistakes."""

from __future__ import annotations

import datetime
import decimal
import gc
import threading
import uuid
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import inlay


@pytest.fixture
def table(con: inlay.Connection) -> Iterator[inlay.Connection]:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'x')")
    yield con


def rows(con: inlay.Connection) -> list[Any]:
    return con.execute("FROM t ORDER BY a").fetchall()


def test_rows_are_there_after_a_flush(table: inlay.Connection) -> None:
    appender = table.appender("t")
    assert (appender.columns, appender.types) == (["a", "b"], ["INTEGER", "VARCHAR"])
    appender.append_row(1, "one")
    appender.append_rows([(2, "two"), ["3", None]])
    assert rows(table) == []
    appender.flush()
    appender.flush()
    assert rows(table) == [(1, "one"), (2, "two"), (3, None)]
    appender.append_row(4, "four")
    appender.clear()
    appender.close()
    appender.close()
    assert len(rows(table)) == 3
    with pytest.raises(inlay.InvalidInputException, match="the appender is closed"):
        appender.append_row(5, "five")


def test_objects_are_appended_behind_the_rows(table: inlay.Connection) -> None:
    with table.appender("t") as appender:
        appender.append_row(1, "row")
        appender.append({"a": np.array([2, 3], dtype="i2"), "b": np.array(["p", "q"], dtype=object)})
        assert rows(table) == [(1, "row"), (2, "p"), (3, "q")]


def test_a_block_that_fails_leaves_rows_out(table: inlay.Connection) -> None:
    with table.appender("t", columns=["a"]) as appender:
        appender.append_row(1)
    assert rows(table) == [(1, "x")]
    with pytest.raises(KeyError), table.appender("t") as appender:
        appender.append_row(2, "y")
        raise KeyError
    assert rows(table) == [(1, "x")]


def test_mistakes_are_told_where_they_are_made(table: inlay.Connection) -> None:
    appender = table.appender("t")
    with pytest.raises(inlay.InvalidInputException, match="2 values, one per column, not 1"):
        appender.append_row(1)
    with pytest.raises(inlay.ConversionException, match="could not convert 'one' to INTEGER") as error:
        appender.append_row("one", "a")
    assert getattr(error.value, "__notes__", ['in the column "a"']) == ['in the column "a"']
    with pytest.raises(inlay.OutOfRangeException):
        appender.append_row(2**40, "a")
    appender.append_row(1, "a")
    appender.flush()
    appender.append_row(1, "again")
    with pytest.raises(inlay.ConstraintException, match="duplicate key"):
        appender.flush()
    # Rows that were refused are gone.
    appender.append_row(2, "b")
    appender.flush()
    assert rows(table) == [(1, "a"), (2, "b")]
    with pytest.raises(inlay.CatalogException, match='table "nothing" does not exist'):
        table.appender("nothing")
    with pytest.raises(inlay.BinderException, match='column "z" does not exist'):
        table.appender("t", columns=["z"])


def test_actions(table: inlay.Connection) -> None:
    table.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    with table.appender("t", action="upsert") as appender:
        appender.append_rows([(2, "B"), (4, "d")])
    with table.appender("t", action="update", key=["a"]) as appender:
        appender.append_rows([(3, "C"), (9, "none")])
    with table.appender("t", action="delete", key=["a"]) as appender:
        appender.append_row(1)
    assert rows(table) == [(2, "B"), (3, "C"), (4, "d")]
    for options, message in (
        ({"action": "replace"}, 'expected "insert", "upsert", "update" or "delete"'),
        ({"action": "delete"}, "needs key"),
        ({"action": "upsert", "key": ["a"]}, "key is for the actions update and delete"),
        ({"action": "delete", "key": ["a"], "columns": ["a"]}, "are those of key"),
    ):
        with pytest.raises(inlay.InvalidInputException, match=message):
            table.appender("t", **options)  # type: ignore[arg-type]


def test_a_statement_takes_rows(table: inlay.Connection) -> None:
    statement = "INSERT INTO t SELECT i * 10, upper(s) FROM appended_data"
    with table.query_appender(statement, {"i": "INTEGER", "s": str}) as appender:
        appender.append_row(1, "a")
    with table.query_appender("DELETE FROM t USING gone WHERE a = i", {"i": int}, source="gone") as appender:
        appender.append_rows([[7]])
    assert rows(table) == [(10, "A")]
    with pytest.raises(inlay.InvalidInputException, match="at least one column"):
        table.query_appender(statement, {})


def test_values_of_all_types(con: inlay.Connection) -> None:
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    con.execute(
        "CREATE TABLE n (d DATE, ts TIMESTAMP, l BIGINT[], s STRUCT(a INTEGER, b VARCHAR), m MAP(INTEGER, VARCHAR), "
        "p DECIMAL(5, 2), u UUID, bl BLOB, bo BOOLEAN, e mood, f DOUBLE, h HUGEINT)"
    )
    day, moment, key = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12), uuid.uuid4()
    row = (day, moment, [1, None], {"a": 1, "b": "x"}, {1: "a", 2: None}, decimal.Decimal("1.50"), key, b"\x00")
    with con.appender("n") as appender:
        appender.append_row(*row, True, "glad", 2.5, 2**100)
        appender.append_row("2024-02-29", str(moment), [2**40], None, {}, 1.5, str(key), b"", 0, None, 1, -1)
    first, second = con.execute("FROM n").fetchall()
    assert first == (*row, True, "glad", 2.5, 2**100)
    assert second == (day, moment, [2**40], None, {}, row[5], key, b"", False, None, 1.0, -1)


def test_computed_columns_take_no_values(con: inlay.Connection) -> None:
    twice = "twice INTEGER GENERATED ALWAYS AS (a * 2)"
    con.execute(f"CREATE TABLE t (a INTEGER, {twice}, id INTEGER GENERATED ALWAYS AS IDENTITY)")
    with con.appender("t") as appender:
        appender.append_row(21)
    assert con.execute("FROM t").fetchall() == [(21, 42, 1)]


def test_many_rows_go_in_pieces(con: inlay.Connection) -> None:
    con.execute("CREATE SCHEMA s")
    con.execute('CREATE TABLE s."T t" (i BIGINT)')
    with con.appender('s."T t"') as appender:
        appender.append_rows((i,) for i in range(200_000))
        assert con.execute('SELECT count(*) FROM s."T t"').fetchone() == (131_072,)
    assert con.execute('SELECT count(*), sum(i) FROM s."T t"').fetchone() == (200_000, 200_000 * 199_999 // 2)


def test_transactions_hold(table: inlay.Connection) -> None:
    table.begin()
    appender = inlay.appender("t", connection=table)
    appender.append_row(1, "a")
    appender.flush()
    assert len(rows(table)) == 1
    table.rollback()
    assert rows(table) == []


def test_threads_share_an_appender(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER)")
    with con.appender("t") as appender:

        def work() -> None:
            for i in range(1000):
                appender.append_row(i)
                if i % 250 == 0:
                    appender.flush()

        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert con.execute("SELECT count(*), sum(a) FROM t").fetchone() == (4000, 4 * 499_500)


def test_rows_of_an_appender_that_nobody_closed_are_told_of(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE left_open (i INTEGER)")
    appender = con.appender("left_open")
    appender.append_row(1)
    appender.append_row(2)
    with pytest.warns(RuntimeWarning, match=r"its last 2 rows are not in the table; call close\(\)"):
        del appender
        gc.collect()
    assert con.execute("SELECT count(*) FROM left_open").fetchall() == [(0,)]
    closed = con.appender("left_open")
    closed.append_row(3)
    closed.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del closed
        gc.collect()
    assert con.execute("SELECT i FROM left_open").fetchall() == [(3,)]
