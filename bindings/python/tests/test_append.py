"""Rows added in bulk, and transactions as blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import inlay


@pytest.mark.parametrize("kind", ["arrays", "pandas", "arrow", "polars"])
def test_rows_of_any_kind_are_appended(con: inlay.Connection, kind: str) -> None:
    con.execute("CREATE TABLE t (a BIGINT, b VARCHAR)")
    columns: dict[str, Any] = {"a": np.arange(5000), "b": np.array([f"text {i}" for i in range(5000)], dtype=object)}
    data: Any = columns
    if kind == "pandas":
        data = pytest.importorskip("pandas").DataFrame(columns)
    elif kind == "arrow":
        data = pytest.importorskip("pyarrow").table({"a": columns["a"], "b": columns["b"].tolist()})
    elif kind == "polars":
        data = pytest.importorskip("polars").DataFrame({"a": columns["a"], "b": columns["b"].tolist()})
    assert con.append("t", data) is con
    con.append("main.t", data)
    assert con.execute("SELECT count(*), sum(a), max(b) FROM t").fetchone() == (10000, 24995000, "text 999")


def test_columns_are_found_by_name(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER, b DOUBLE DEFAULT 7)")
    con.append("t", {"b": np.array([0.5]), "a": np.array([1])}, by_name=True)
    con.append("t", {"a": np.array([2])}, by_name=True)
    assert con.execute("FROM t ORDER BY a").fetchall() == [(1, 0.5), (2, 7.0)]


def test_all_rows_are_appended_or_none(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    with pytest.raises(inlay.IntegrityError):
        con.append("t", {"a": np.array([1, 2, 1])})
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
    with pytest.raises(inlay.Error, match=r'"nowhere" does not exist'):
        con.append("nowhere", {"a": np.array([1])})
    with pytest.raises(inlay.Error, match="cannot be a table"):
        con.append("t", 5)


def test_a_block_commits_or_rolls_back(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER)")
    with con.transaction() as same:
        assert same is con
        assert con.in_transaction
        con.execute("INSERT INTO t VALUES (1)")
    assert not con.in_transaction

    def fail() -> None:
        with con.transaction():
            con.execute("INSERT INTO t VALUES (2)")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert not con.in_transaction
    with con.transaction():
        con.execute("INSERT INTO t VALUES (3)")
        con.rollback()
    assert con.execute("FROM t").fetchall() == [(1,)]


EVIL = ['"t" VALUES (1); DROP TABLE victim; INSERT INTO "t"', '"t"; DROP TABLE victim', '"t', '"t" x', 'main."t"; --']


@pytest.mark.parametrize("name", EVIL)
def test_a_name_is_nothing_but_a_name(con: inlay.Connection, name: str) -> None:
    con.execute("CREATE TABLE t (a INTEGER); CREATE TABLE victim (a INTEGER)")
    rows = {"a": np.array([7])}
    for use in (
        lambda: con.append(name, rows),
        lambda: con.appender(name),
        lambda: con.table(name).fetchall(),
        lambda: con.from_query("SELECT 1 AS a").insert_into(name),
        lambda: con.from_query("SELECT 1 AS a").create(name),
    ):
        with pytest.raises(inlay.Error):
            use()
    assert con.execute("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM victim)").fetchone() == (0, 0)


@pytest.mark.parametrize("name", ['we"ird', "semi; colon", "-- comment", "'quoted'", "select"])
def test_tables_of_any_name_are_appended_to(con: inlay.Connection, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    con.execute(f"CREATE TABLE {quoted} (a INTEGER)")
    con.append(name, {"a": np.array([1])})
    with con.appender(name) as rows:
        rows.append_row(2)
    assert con.execute(f"SELECT sum(a) FROM {quoted}").fetchone() == (3,)
    con.execute('CREATE TABLE "a.b" (a INTEGER)')
    con.append('"a.b"', {"a": np.array([1])})
