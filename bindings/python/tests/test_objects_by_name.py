"""Whose object a name means: a relation's, a session's, the database's. Queries name variables."""

# ruff: noqa: F841

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import inlay

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")


def test_a_relation_holds_the_objects_that_it_names(con: inlay.Connection) -> None:
    df = pd.DataFrame({"a": [1]})
    relation = con.sql("FROM df")
    longer = relation.filter("a > 0").select("a + 1 AS a")
    con.execute("CREATE TABLE df AS SELECT 9 AS a")
    assert relation.fetchall() == [(1,)] and longer.fetchall() == [(2,)]
    assert len(relation) == 1 and relation.df()["a"].tolist() == [1]
    assert con.sql("FROM relation").fetchall() == [(1,)]
    assert relation.join(con.table("df").set_alias("stored"), "a", how="left").fetchall() == [(1,)]
    # What is made from now on sees the table, also with the same text.
    assert con.sql("FROM df").fetchall() == [(9,)] and con.execute("FROM df").fetchall() == [(9,)]
    assert relation.fetchall() == [(1,)]


@pytest.mark.parametrize("how", ["CREATE VIEW df AS SELECT 9 AS a", "CREATE TEMP TABLE df AS SELECT 9 AS a", None])
def test_nothing_made_later_is_read(con: inlay.Connection, how: str | None) -> None:
    df = pd.DataFrame({"a": [1]})
    relation = con.sql("SELECT a FROM df UNION ALL SELECT a FROM df")
    if how is None:
        con.register("df", pd.DataFrame({"a": [9]}))
    else:
        con.execute(how)
    del df
    assert relation.fetchall() == [(1,), (1,)]
    assert con.execute("SELECT a FROM df UNION ALL SELECT a FROM df").fetchall() == [(9,), (9,)]


def test_a_qualified_name_is_the_database_s(con: inlay.Connection) -> None:
    df = pd.DataFrame({"a": [1]})
    relation = con.sql("FROM df")
    con.execute("CREATE TABLE df AS SELECT 9 AS a")
    assert relation.query("r", "SELECT (FROM r), (FROM main.df)").fetchall() == [(1, 9)]
    assert len(df) == 1


def test_views_keep_their_tables(con: inlay.Connection) -> None:
    df = pd.DataFrame({"a": [1]})
    relation = con.sql("FROM df")
    con.execute("CREATE TABLE df AS SELECT 9 AS a; CREATE VIEW v AS FROM df")
    assert relation.query("r", "SELECT (FROM r), (FROM v)").fetchall() == [(1, 9)]
    assert len(df) == 1


def test_rows_go_into_a_table_of_their_object_s_name(con: inlay.Connection) -> None:
    df = pd.DataFrame({"a": [1, 2]})
    relation = con.sql("FROM df")
    relation.create("df")
    relation.insert_into("df")
    con.append("df", df)
    assert con.execute("SELECT count(*), sum(a) FROM df").fetchall() == [(6, 9)]
    con.table("df").update({"a": 5}, condition="a = 2")
    con.table("df").insert([7])
    assert con.execute("SELECT sum(a) FROM df").fetchall() == [(3 + 15 + 7,)]


def test_names_that_loads_use_are_free(con: inlay.Connection) -> None:
    for name in ("appended rows", "appended_data"):
        con.execute(f'CREATE TABLE "{name}" AS SELECT 9 AS a')
    con.execute("CREATE TABLE t (a INTEGER)")
    con.append("t", {"a": np.array([1])})
    with con.appender("t") as appender:
        appender.append_row(2)
    assert con.execute("FROM t ORDER BY a").fetchall() == [(1,), (2,)]


def test_sessions_have_objects_of_their_own(con: inlay.Connection) -> None:
    other = con.cursor()
    con.register("x", {"a": np.array([1])})
    assert other.execute("FROM x").fetchall() == [(1,)]
    other.register("x", {"a": np.array([2])})
    assert (con.execute("FROM x").fetchall(), other.execute("FROM x").fetchall()) == ([(1,)], [(2,)])
    third = con.cursor()
    assert third.execute("FROM x").fetchall() == [(2,)]
    con.unregister("x")
    assert other.execute("FROM x").fetchall() == con.execute("FROM x").fetchall() == [(2,)]
    other.close()
    assert con.execute("FROM x").fetchall() == [(2,)]
    con.unregister("x")
    with pytest.raises(inlay.CatalogException):
        con.execute("FROM x")


def test_closed_sessions_leave_nothing_behind(con: inlay.Connection) -> None:
    for number in range(20):
        cursor = con.cursor()
        cursor.register("x", {"a": np.array([number])})
        cursor.close()
    assert con.execute("FROM x").fetchall() == [(19,)]
    con.unregister("x")
    with pytest.raises(inlay.CatalogException):
        con.execute("FROM x")


def test_threads_register_the_same_name(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (thread BIGINT, x DOUBLE)")
    failed: list[Exception] = []

    def work(number: int) -> None:
        try:
            cursor = con.cursor()
            for _ in range(3):
                cursor.register("view_of_frame", pd.DataFrame({"thread": [number] * 100, "x": [0.5] * 100}))
                cursor.execute("INSERT INTO t SELECT * FROM view_of_frame")
                cursor.unregister("view_of_frame")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    counts = con.execute("SELECT thread, count(*), sum(x) FROM t GROUP BY thread ORDER BY thread").fetchall()
    assert counts == [(number, 300, 150.0) for number in range(40)]


def test_databases_in_memory_have_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = inlay.connect(":memory:shared")
    first.execute("CREATE TABLE t AS SELECT 1 AS a")
    second, other, unnamed = inlay.connect(":memory:shared"), inlay.connect(":memory:other"), inlay.connect(":memory:")
    assert second.execute("FROM t").fetchall() == [(1,)]
    for con in (other, unnamed):
        with pytest.raises(inlay.CatalogException):
            con.execute("FROM t")
    first.close()
    assert second.execute("FROM t").fetchall() == [(1,)]
    second.close()
    with inlay.connect(":memory:shared") as again, pytest.raises(inlay.CatalogException):
        again.execute("FROM t")
    with pytest.raises(inlay.Error):
        inlay.connect(":memory:shared", read_only=True)
    unnamed.execute("ATTACH ':memory:attached' AS a; CREATE TABLE a.t AS SELECT 2 AS a")
    assert unnamed.execute("FROM a.t").fetchall() == [(2,)]
    assert list(Path().iterdir()) == []


def test_the_default_connection_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inlay.close()
    con = inlay.connect(":default:")
    con.execute("CREATE TABLE of_default AS SELECT 1 AS a")
    assert con is inlay.default_connection()
    assert (
        inlay.sql("FROM of_default").fetchall()
        == inlay.connect(":default:").execute("FROM of_default").fetchall()
        == [(1,)]
    )
    for options in ({"read_only": True}, {"config": {"threads": 1}}):
        with pytest.raises(inlay.InvalidInputException, match=":default:"):
            inlay.connect(":default:", **options)  # type: ignore[arg-type]
    with pytest.raises(inlay.InvalidInputException):
        inlay.set_default_connection(5)  # type: ignore[arg-type]
    inlay.close()
    assert list(Path().iterdir()) == []


def test_a_cte_may_have_the_name_of_the_variable_that_it_reads() -> None:
    con = inlay.connect()
    df = {"a": [1, 2]}
    assert con.sql("WITH df AS (SELECT a + 1 AS a FROM df) FROM df").fetchall() == [(2,), (3,)]
    assert con.execute("WITH df AS (SELECT a + 1 AS a FROM df), e AS (FROM df) FROM e").fetchall() == [(2,), (3,)]
    con.register("known", df)
    assert con.execute("WITH known AS (SELECT a * 2 AS a FROM known) SELECT sum(a) FROM known").fetchone() == (6,)
    with pytest.raises(inlay.CatalogException, match='circular reference to CTE "nothing"'):
        con.execute("WITH nothing AS (SELECT a FROM nothing) FROM nothing")
    assert df
