"""What newcomers met on their first day: a mistake is told clearly, and what is common works."""

from __future__ import annotations

from typing import Any

import pytest

import inlay
import inlay.ml

HALF = "half \ud800 a pair"


def test_half_a_surrogate_pair_is_told_wherever_it_comes_in(con: inlay.Connection) -> None:
    np = pytest.importorskip("numpy")
    pd = pytest.importorskip("pandas")
    objects = np.array(["x", HALF], dtype=object)
    frame = pd.DataFrame({"a": pd.Series(objects, dtype=object)})
    units = np.array(["x", HALF])
    lists = {"a": ["x", HALF]}
    con.execute("CREATE TABLE t (a VARCHAR)")
    told = r"half \\ud800 a pair.* has half of a surrogate pair in it, which is no character"
    assert objects is not None and frame is not None and units is not None and lists
    for ask in (
        lambda: con.execute("SELECT ?", [HALF]),
        lambda: con.execute("SELECT ?", [[HALF]]),
        lambda: con.execute("SELECT ?", [{HALF: 1}]),
        lambda: con.execute(f"SELECT '{HALF}'"),
        lambda: con.execute("FROM objects").fetchall(),
        lambda: con.execute("FROM frame").fetchall(),
        lambda: con.execute("FROM units").fetchall(),
        lambda: con.execute("FROM lists").fetchall(),
        lambda: con.append("t", frame),
    ):
        with pytest.raises(inlay.InvalidInputException, match=told):
            ask()
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_types_that_nobody_knows_are_told_when_a_function_is_made(con: inlay.Connection) -> None:
    def same(x: Any) -> Any:
        return x

    with pytest.raises(
        inlay.InvalidInputException, match=r'function "f": type "FOO" does not exist; there are BIGINT, BIT,'
    ):
        con.create_function("f", same, ["FOO"], "INTEGER")
    with pytest.raises(inlay.InvalidInputException, match='type "NUMBR" does not exist'):
        con.create_function("f", same, ["INTEGER"], "NUMBR")
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    con.create_function("f", same, ["mood"], "mood")
    assert con.execute("SELECT f('ok')").fetchone() == ("ok",)
    con.create_function("g", same, ["STRUCT(a INTEGER, b VARCHAR[])"], "STRUCT(a INTEGER, b VARCHAR[])")


def test_two_functions_of_one_name_are_told_of(con: inlay.Connection) -> None:
    @con.udf
    def once(x: int) -> int:
        return x

    with pytest.raises(inlay.CatalogException, match='function "once" already exists'):

        @con.udf
        def once(x: int) -> int:
            return x + 1

    assert con.execute("SELECT once(1)").fetchone() == (1,)


def test_an_index_is_a_table(con: inlay.Connection) -> None:
    pd = pytest.importorskip("pandas")
    named = pd.Index([1, 2], name="i")
    unnamed = pd.RangeIndex(2)
    levels = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["n", None])
    days = pd.date_range("2024-01-01", periods=2, name="day")
    assert named is not None and unnamed is not None and levels is not None and days is not None
    assert con.execute("SELECT i FROM named").fetchall() == [(1,), (2,)]
    assert con.execute("SELECT column0 FROM unnamed").fetchall() == [(0,), (1,)]
    assert con.execute("SELECT n, column1 FROM levels").fetchall() == [(1, "a"), (2, "b")]
    assert con.execute("SELECT day::DATE::VARCHAR FROM days").fetchall() == [("2024-01-01",), ("2024-01-02",)]


def test_models_say_what_they_need(con: inlay.Connection) -> None:
    con.execute("SET allow_python = false")
    with pytest.raises(inlay.PermissionException, match=r"SET allow_python = true, or inlay\.connect"):
        inlay.ml.install(con)
    con.execute("SET allow_python = true")
    inlay.ml.install(con)


def test_classes_that_are_truth_values_are_written_as_sql_does(con: inlay.Connection) -> None:
    pytest.importorskip("sklearn")
    con.execute("SET allow_python = true")
    inlay.ml.install(con)
    con.execute("CREATE TABLE t AS SELECT i::DOUBLE AS x, i > 50 AS y FROM range(100) r(i)")
    con.execute("INSERT INTO ml_store SELECT 'm', ml_train('LogisticRegression', NULL, y, x) FROM t")
    same = "SELECT count(*) FROM t, ml_store WHERE ml_predict_class(model, x) = y"
    assert con.execute(same).fetchone() == con.execute(f"{same}::VARCHAR").fetchone() == (100,)


def test_fields_of_dicts_find_a_place_or_are_told(con: inlay.Connection) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"s": [{"a": 1}, {"a": 2, "b": 3}]})
    con.execute("CREATE TABLE t (s STRUCT(a BIGINT))")
    assert frame is not None
    told = r'field "b" of the struct has no place in STRUCT\(a BIGINT\)'
    for ask in (
        lambda: con.execute("INSERT INTO t SELECT s FROM frame"),
        lambda: con.execute("INSERT INTO t VALUES (?)", [{"a": 1, "b": 2}]),
        lambda: con.executemany("INSERT INTO t VALUES (?)", [[{"a": 1}], [{"a": 1, "b": 2}]]),
        lambda: con.append("t", frame),
    ):
        with pytest.raises(inlay.Error, match=told):
            ask()
    with pytest.raises(inlay.Error, match=told), con.appender("t") as appender:
        appender.append_row({"a": 1, "b": 2})
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_texts_are_whole_numbers_where_they_go_into_some(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (i INTEGER)")
    told = "could not convert '7.5' to INTEGER; it is no whole number"
    for ask in (
        lambda: con.execute("SELECT * FROM t WHERE i = ?", ["7.5"]),
        lambda: con.execute("INSERT INTO t VALUES (?)", ["7.5"]),
        lambda: con.executemany("INSERT INTO t VALUES (?)", [["7"], ["7.5"]]),
    ):
        with pytest.raises(inlay.Error, match=told):
            ask()
    with pytest.raises(inlay.Error, match=told), con.appender("t") as appender:
        appender.append_row("7.5")
    for value in ("7", " 8", "9.0", "1e1"):
        con.execute("INSERT INTO t VALUES (?)", [value])
    assert con.execute("SELECT list(i ORDER BY i) FROM t").fetchone() == ([7, 8, 9, 10],)
