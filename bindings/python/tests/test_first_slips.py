"""What a newcomer writes on the first day and is not quite right, or is what other packages take."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inlay


@pytest.fixture(name="con")
def connection() -> Any:
    with inlay.connect() as con:
        yield con


def test_a_list_among_parameters_is_a_value(con: Any) -> None:
    # As in DuckDB: execute() and sql() run once, executemany() once for each.
    for run in (con.execute, lambda query, parameters: con.sql(query, params=parameters)):
        assert run("SELECT ?", [[1, 2]]).fetchall() == [([1, 2],)]
        assert run("SELECT ?", [[1, "a"]]).fetchall() == [(["1", "a"],)]
        with pytest.raises(inlay.InvalidInputException, match="parameter"):
            run("SELECT ?, ?", [[1, "a"]])
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [[1, "a"], (2, "b")])
    assert con.execute("FROM t").fetchall() == [(1, "a"), (2, "b")]


def test_marks_behind_numbers_are_refused(con: Any) -> None:
    for query in ("SELECT $1, ?", "SELECT $2, ?", "SELECT ?1, ?"):
        with pytest.raises(
            inlay.Error, match=r"a \? behind a parameter with a number has none of its own; write either"
        ):
            con.execute(query, [1, 2])
    assert con.execute("SELECT ?, ?2", [1, 2]).fetchall() == [(1, 2)]
    assert con.execute("SELECT ?, '$1', ?", [1, 2]).fetchall() == [(1, "$1", 2)]


def test_rows_as_dictionaries_have_every_column() -> None:
    rows = inlay.sql("SELECT 1 AS a, 2 AS a, 3 AS A").to_dicts()
    assert [list(row.values()) for row in rows] == [[1, 2, 3]]
    assert list(rows[0])[:2] == ["a", "a_1"]


def test_rows_as_dictionaries_have_the_names_of_now(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 i, 2 v")
    relation = con.table("t")
    con.execute("ALTER TABLE t DROP COLUMN i; ALTER TABLE t ADD COLUMN z INT DEFAULT 7; ALTER TABLE t ADD COLUMN y INT")
    assert relation.to_dicts() == relation.df().astype(object).where(lambda x: x.notna(), None).to_dict("records")
    assert relation.to_dicts() == [{"v": 2, "z": 7, "y": None}]


def test_limits_are_whole_numbers() -> None:
    relation = inlay.sql("FROM range(9)")
    assert len(relation.limit(2, offset=3)) == 2
    for wrong in (2.5, "2", None):
        with pytest.raises(inlay.InvalidInputException, match=r"limit\(\): n is a whole number, not"):
            relation.limit(wrong)
    with pytest.raises(inlay.InvalidInputException, match="offset is a whole number"):
        relation.limit(1, offset=0.5)


def test_joins_without_a_condition() -> None:
    left = inlay.sql("SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(id, x)").set_alias("l")
    right = inlay.sql("SELECT * FROM (VALUES (2, 7), (3, 8)) v(id, y)").set_alias("r")
    assert left.join(right, how="natural").fetchall() == [(2, "b", 7)]
    assert left.join(right, how="positional").fetchall() == [(1, "a", 2, 7), (2, "b", 3, 8)]
    assert len(left.join(right, how="cross")) == 4
    with pytest.raises(inlay.InvalidInputException, match="such a join has no condition"):
        left.join(right, "id", how="natural")
    with pytest.raises(inlay.InvalidInputException, match="a join needs a condition"):
        left.join(right)


def test_expressions_of_nothing() -> None:
    relation = inlay.sql("SELECT 1 AS a")
    with pytest.raises(inlay.InvalidInputException, match=r"select\(\) needs the name of a column or an expression"):
        relation.select()
    with pytest.raises(inlay.InvalidInputException, match=r"isin\(\) needs at least one value"):
        relation.filter(inlay.col("a").isin())
    with pytest.raises(inlay.InvalidInputException, match=r"isnotin\(\) needs at least one value"):
        relation.filter(inlay.col("a").isnotin())


async def fetched_later(query: str) -> Any:
    async with inlay.aconnect() as con:
        return await (await con.execute(query)).df(date_as_object=True)


def test_dates_as_objects(con: Any) -> None:
    query = (
        "SELECT DATE '2024-02-03' AS d, 1 AS n, TIMESTAMP '2024-02-03 04:05:06' AS t "
        "UNION ALL SELECT NULL, 2, NULL ORDER BY n"
    )
    ways: list[Any] = [
        lambda: con.execute(query).df(date_as_object=True),
        lambda: con.execute(query).fetchdf(date_as_object=True),
        lambda: con.execute(query).fetch_df_chunk(1, date_as_object=True),
        lambda: con.sql(query).df(date_as_object=True),
        lambda: con.sql(query).to_df(date_as_object=True),
        lambda: con._run(query, {}).df(date_as_object=True),
        lambda: asyncio.run(fetched_later(query)),
    ]
    for way in ways:
        frame = way()
        assert frame["d"].dtype == object
        assert frame["d"][0] == dt.date(2024, 2, 3) and type(frame["d"][0]) is dt.date
        assert frame["d"].isna().tolist() == [False, True]
        assert frame["t"].dtype.kind == "M"
    assert con.execute(query).df()["d"].dtype.kind == "M"


def test_quartiles_of_whole_numbers_are_rounded_alike(con: Any) -> None:
    for ty in ("INTEGER", "BIGINT", "UBIGINT"):
        query = f"SELECT q25, q50, q75 FROM (SUMMARIZE SELECT i::{ty} AS i FROM range(1, 4) t(i))"
        assert con.execute(query).fetchone() == ("2", "2", "3")
    values = "(VALUES (9223372036854775807), (9223372036854775805)) t(i)"
    query = f"SELECT q25, q50, q75 FROM (SUMMARIZE SELECT i::BIGINT AS i FROM {values})"
    assert con.execute(query).fetchone() == ("9223372036854775806", "9223372036854775806", "9223372036854775807")
    query = "SELECT q25, q50 FROM (SUMMARIZE SELECT i FROM (VALUES (18446744073709551615::UBIGINT)) t(i))"
    assert con.execute(query).fetchone() == ("18446744073709551615", "18446744073709551615")


def test_a_function_of_the_program_is_no_macro(con: Any) -> None:
    con.create_function("dbl", lambda x: x * 2, ["BIGINT"], "BIGINT")
    with pytest.raises(inlay.Error, match=r'"dbl" does not exist.*belongs to the program.*remove_function'):
        con.execute("DROP FUNCTION dbl")
    con.remove_function("dbl")


def test_a_relation_has_the_columns_that_its_tables_have_now(con: Any) -> None:
    con.execute("CREATE TABLE changing(a INTEGER)")
    relation, derived = con.table("changing"), con.sql("SELECT * FROM changing").filter("true")
    con.execute("ALTER TABLE changing ADD COLUMN b VARCHAR; INSERT INTO changing VALUES (1, 'x')")
    for each in (relation, derived):
        assert each.columns == ["a", "b"] and each.types == ["INTEGER", "VARCHAR"]
        assert "b" in each and each["b"].fetchall() == each.b.fetchall() == [("x",)]
        assert each.shape == (1, 2) and [name for name, *_ in each.description] == ["a", "b"]
        assert each.with_columns(b="a + 1").fetchall() == [(1, 2)]
        assert each.select_types(["VARCHAR"]).columns == ["b"]
    con.execute("ALTER TABLE changing ALTER a TYPE DOUBLE; ALTER TABLE changing DROP COLUMN b")
    assert relation.columns == ["a"] and relation.types == ["DOUBLE"]
    con.execute("DROP TABLE changing")
    # What is gone is told where the query runs.
    assert relation.columns == ["a"]
    with pytest.raises(inlay.CatalogException, match="changing"):
        relation.fetchall()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_the_process_that_writes_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.inlay"
    code = "import sys, inlay; inlay.connect(sys.argv[1])"
    with inlay.connect(path):
        other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert other.returncode == 1
    assert f"is being written by another process (PID {os.getpid()}); close it there" in other.stderr


def test_a_file_of_sqlite_that_is_not_there_is_named(con: Any, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.db"
    with pytest.raises(inlay.IOException, match="there is no such file") as failed:
        con.execute(f"ATTACH '{missing}' AS s (TYPE sqlite)")
    assert str(missing) in str(failed.value)
