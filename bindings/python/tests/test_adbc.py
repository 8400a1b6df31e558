"""The ADBC driver under the real driver manager, by itself and below pandas and Polars."""

from __future__ import annotations

import datetime
import decimal
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import adbc_driver_manager
import adbc_driver_manager.dbapi as dbapi
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inlay
import inlay.adbc

ENDLESS = "SELECT count(*) FROM range(100000000) a(x), range(100000) b(y) WHERE x + y < 0"
DAY = datetime.date(2024, 2, 29)


@pytest.fixture
def adbc() -> Iterator[Any]:
    with inlay.adbc.connect() as connection:
        yield connection


def test_rows_and_arrow(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        cursor.execute("SELECT i, i / 2 AS half, 'w' || i AS s FROM range(300000) t(i)")
        assert [column[0] for column in cursor.description] == ["i", "half", "s"] and cursor.rowcount == 300_000
        assert cursor.fetchone() == (0, 0.0, "w0") and cursor.fetchmany(2)[1] == (2, 1.0, "w2")
        assert len(cursor.fetchall()) == 299_997
        table = cursor.execute(
            "SELECT 1::SMALLINT AS a, DATE '2024-02-29' AS d, 1.25 AS p, [1, 2] AS l"
        ).fetch_arrow_table()
        assert table.schema.types == [pa.int16(), pa.date32(), pa.decimal128(3, 2), pa.list_(pa.int32())]
        assert table.to_pylist() == [{"a": 1, "d": DAY, "p": decimal.Decimal("1.25"), "l": [1, 2]}]
        assert cursor.execute("SELECT 1 WHERE false").fetchall() == []
        reader = cursor.execute("FROM range(500000)").fetch_record_batch()
        assert sum(batch.num_rows for batch in reader) == 500_000
        cursor.execute("CREATE TABLE t (x INTEGER)")
        assert cursor.rowcount == -1
        cursor.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (None,)])
        assert cursor.rowcount == 3


def test_parameters(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        values = (
            1,
            2.5,
            "it's",
            None,
            DAY,
            datetime.datetime(2024, 2, 29, 12, 30),
            b"\x00",
            True,
            decimal.Decimal("1.50"),
        )
        marks = ", ".join("?" for _ in values)
        assert cursor.execute(f"SELECT {marks}", values).fetchone() == values
        assert cursor.execute("SELECT ? + 1", (41,)).fetchall() == [(42,)]
        assert cursor.execute("SELECT $a - $b", {"b": 1, "a": 43}).fetchall() == [(42,)]
        assert cursor.execute("SELECT ?", (7,)).fetchall() == [(7,)]
        rows = pa.record_batch({"x": [1, 2, 3], "s": ["a", None, "c"]})
        cursor.execute("CREATE TABLE t (x BIGINT, s VARCHAR)")
        cursor.executemany("INSERT INTO t VALUES (?, ?)", rows)
        assert cursor.execute("FROM t ORDER BY x").fetchall() == [(1, "a"), (2, None), (3, "c")]
        with pytest.raises(dbapi.ProgrammingError, match="1 positional parameter"):
            cursor.execute("SELECT ?", (1, 2))


def test_transactions(tmp_path: Path) -> None:
    path = tmp_path / "t.inlay"
    with (
        inlay.adbc.connect(path) as first,
        inlay.adbc.connect(path, autocommit=True) as second,
        first.cursor() as ours,
        second.cursor() as theirs,
    ):
        ours.execute("CREATE TABLE t (x INTEGER)")
        with pytest.raises(dbapi.ProgrammingError, match="does not exist"):
            theirs.execute("FROM t")
        first.commit()
        ours.execute("INSERT INTO t VALUES (1)")
        assert theirs.execute("FROM t").fetchall() == []
        first.rollback()
        assert ours.execute("FROM t").fetchall() == []
        first.commit()
        theirs.execute("INSERT INTO t VALUES (2)")
        assert ours.execute("FROM t").fetchall() == [(2,)]
        first.commit()
        first.adbc_connection.set_autocommit(True)
        ours.execute("INSERT INTO t VALUES (3)")
        assert len(theirs.execute("FROM t").fetchall()) == 2
        with pytest.raises(dbapi.Error, match="autocommit"):
            first.adbc_connection.commit()
    with inlay.connect(path) as con:
        assert con.execute("SELECT sum(x) FROM t").fetchone() == (5,)


def test_errors_have_status_and_sqlstate(adbc: Any) -> None:
    cases: list[tuple[str, Any, str]] = [
        ("SELEC 1", dbapi.ProgrammingError, "42601"),
        ("SELECT x", dbapi.ProgrammingError, "42703"),
        ("FROM nothing", dbapi.ProgrammingError, "42P01"),
        ("SELECT 'x'::INTEGER", dbapi.DataError, "22018"),
        ("INSERT INTO k VALUES (1), (1)", dbapi.IntegrityError, "23505"),
    ]
    with adbc.cursor() as cursor:
        cursor.execute("CREATE TABLE k (x INTEGER PRIMARY KEY)")
        adbc.commit()
        for sql, kind, sqlstate in cases:
            with pytest.raises(kind) as error:
                cursor.execute(sql).fetchall()
            assert error.value.sqlstate == sqlstate
            adbc.rollback()
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    with pytest.raises(dbapi.Error, match="no_such_setting"):
        inlay.adbc.connect(config={"no_such_setting": 1})


MODES = {
    "create": [(1, "a"), (2, None)],
    "append": [(0, "old"), (1, "a"), (2, None)],
    "replace": [(1, "a"), (2, None)],
    "create_append": [(0, "old"), (1, "a"), (2, None)],
}


@pytest.mark.parametrize("mode", MODES)
def test_bulk_loads(adbc: Any, mode: Any) -> None:
    rows = pa.table({"x": pa.array([1, 2]), "s": ["a", None]})
    with adbc.cursor() as cursor:
        if mode == "create_append":
            assert cursor.adbc_ingest("fresh", rows, mode=mode) == 2
            assert cursor.execute("FROM fresh ORDER BY x").fetchall() == MODES["create"]
        if mode != "create":
            cursor.execute("CREATE TABLE t AS SELECT 'old' AS s, 0::BIGINT AS x")
        for data in (rows, rows.to_batches()[0], rows.to_reader()):
            assert cursor.adbc_ingest("t", data, mode=mode) == 2
            assert cursor.execute("SELECT x, s FROM t ORDER BY x").fetchall() == MODES[mode]
            cursor.execute("DROP TABLE t" if mode == "create" else "DELETE FROM t WHERE x > 0")
        with pytest.raises(dbapi.Error):
            cursor.execute("CREATE TABLE IF NOT EXISTS t (x BIGINT, s VARCHAR)")
            cursor.adbc_ingest("t", pa.table({"no_such_column": [1]}), mode="append")


def test_bulk_loads_into_schemas_and_temporary_tables(adbc: Any) -> None:
    rows = pa.table({"x": range(1000)})
    with adbc.cursor() as cursor:
        cursor.execute("CREATE SCHEMA s")
        cursor.adbc_ingest("t", rows, db_schema_name="s")
    with adbc.cursor() as cursor:
        cursor.adbc_ingest("u", rows, temporary=True)
        assert cursor.execute("SELECT count(*) FROM s.t").fetchone() == (1000,)
        assert cursor.execute("SELECT table_type FROM information_schema.tables WHERE table_name = 'u'").fetchall() == [
            ("LOCAL TEMPORARY",)
        ]
        with pytest.raises(dbapi.ProgrammingError, match="already exists"):
            cursor.adbc_ingest("t", rows, db_schema_name="s", temporary=False)


def test_metadata(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        cursor.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, n DECIMAL(9, 2) NOT NULL DEFAULT 1, s VARCHAR UNIQUE)")
        cursor.execute("CREATE TABLE q (pid INTEGER REFERENCES p (id), CHECK (pid > 0))")
        cursor.execute("CREATE VIEW v AS SELECT id FROM p; CREATE SCHEMA other; CREATE TABLE other.o (x INTEGER)")
    adbc.commit()
    info = adbc.adbc_get_info()
    assert info["vendor_name"] == "Inlay" and info["driver_adbc_version"] == 1_001_000
    assert info["vendor_version"] == inlay.__version__
    assert adbc.adbc_get_table_types() == ["BASE TABLE", "LOCAL TEMPORARY", "VIEW"]
    schema = adbc.adbc_get_table_schema("p")
    assert schema == pa.schema({"id": pa.int32(), "n": pa.decimal128(9, 2), "s": pa.string()})
    assert adbc.adbc_get_table_schema("o", db_schema_filter="other").names == ["x"]
    with pytest.raises(dbapi.ProgrammingError, match="nothing"):
        adbc.adbc_get_table_schema("nothing")
    assert (adbc.adbc_current_catalog, adbc.adbc_current_db_schema) == ("memory", "main")

    def objects(**options: Any) -> list[dict[str, Any]]:
        return list(adbc.adbc_get_objects(**options).read_all().to_pylist())

    assert objects(depth="catalogs", catalog_filter="memory") == [
        {"catalog_name": "memory", "catalog_db_schemas": None}
    ]
    schemas = objects(depth="db_schemas", catalog_filter="mem%", db_schema_filter="%e%")[0]["catalog_db_schemas"]
    assert {"db_schema_name": "other", "db_schema_tables": None} in schemas
    (memory,) = objects(catalog_filter="memory", db_schema_filter="main")
    (main,) = memory["catalog_db_schemas"]
    tables = {table["table_name"]: table for table in main["db_schema_tables"]}
    assert {name: table["table_type"] for name, table in tables.items()} == {
        "p": "BASE TABLE",
        "q": "BASE TABLE",
        "v": "VIEW",
    }
    columns = {column["column_name"]: column for column in tables["p"]["table_columns"]}
    assert [column["ordinal_position"] for column in columns.values()] == [1, 2, 3]
    assert columns["n"]["xdbc_is_nullable"] == "NO" and columns["n"]["xdbc_type_name"] == "DECIMAL(9,2)"
    constraints = {each["constraint_type"]: each for each in tables["p"]["table_constraints"]}
    assert set(constraints) == {"PRIMARY KEY", "UNIQUE"}
    assert constraints["PRIMARY KEY"]["constraint_column_names"] == ["id"]
    constraints = {each["constraint_type"]: each for each in tables["q"]["table_constraints"]}
    assert set(constraints) == {"FOREIGN KEY", "CHECK"}
    assert constraints["FOREIGN KEY"]["constraint_column_usage"] == [
        {"fk_catalog": "memory", "fk_db_schema": "main", "fk_table": "p", "fk_column_name": "id"}
    ]
    (views,) = objects(depth="tables", catalog_filter="memory", db_schema_filter="main", table_types_filter=["VIEW"])
    # Before 1.13 the driver manager for Python does not hand this filter on.
    is_filtered = tuple(map(int, version("adbc-driver-manager").split(".")[:2])) >= (1, 13)
    names = [table["table_name"] for table in views["catalog_db_schemas"][0]["db_schema_tables"]]
    assert names == (["v"] if is_filtered else ["p", "q", "v"])


def test_schemas_of_queries_and_options(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        assert cursor.adbc_execute_schema("SELECT 1 AS x, 'a' AS s") == pa.schema({"x": pa.int32(), "s": pa.string()})
        cursor.execute("CREATE SCHEMA s")
        adbc.commit()
        adbc.adbc_current_db_schema = "s"
        assert adbc.adbc_current_db_schema == "s"
        with pytest.raises(dbapi.NotSupportedError, match="no_such"):
            cursor.adbc_statement.set_options(no_such="x")


def test_statistics(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        cursor.execute("CREATE TABLE t AS SELECT i, i % 7 AS k, 'w' || (i % 3) AS s FROM range(1000) r(i)")
        cursor.execute("INSERT INTO t VALUES (NULL, NULL, NULL)")
        cursor.execute("CREATE TABLE f AS SELECT 1.5::DOUBLE AS x, 7::UBIGINT AS u, [1] AS l, DATE '2024-02-29' AS d")
    (row,) = adbc.adbc_get_statistics(approximate=False, table_name_filter="_").read_all().to_pylist()
    (schema,) = row["catalog_db_schemas"]
    assert (row["catalog_name"], schema["db_schema_name"]) == ("memory", "main")
    found = {
        (each["table_name"], each["column_name"], each["statistic_key"]): each["statistic_value"]
        for each in schema["db_schema_statistics"]
    }
    assert not any(each["statistic_is_approximate"] for each in schema["db_schema_statistics"])
    # Keys of adbc.h: distinct values 1, largest 3, smallest 4, NULLs 5, rows 6.
    assert found[("t", None, 6)] == 1001 and found[("t", "i", 5)] == 1
    assert [found[("t", "k", key)] for key in (1, 3, 4)] == [7, 6, 0]
    assert [found[("t", "s", key)] for key in (1, 3, 4)] == [3, b"w2", b"w0"]
    assert found[("f", "x", 3)] == 1.5 and found[("f", "u", 3)] == 7 and found[("f", "d", 4)] == b"2024-02-29"
    assert ("f", "l", 3) not in found
    (row,) = adbc.adbc_get_statistics(table_name_filter="t").read_all().to_pylist()
    guesses = row["catalog_db_schemas"][0]["db_schema_statistics"]
    assert {each["statistic_key"] for each in guesses if each["statistic_is_approximate"]} == {1}
    assert adbc.adbc_get_statistics(table_name_filter="none").read_all().num_rows == 0
    names = adbc.adbc_get_statistic_names().read_all()
    assert names.num_rows == 0 and names.schema.names == ["statistic_name", "statistic_key"]
    assert names.schema.types == [pa.string(), pa.int16()]


def test_parameters_have_a_schema(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        for sql, names in (("SELECT ?, ?", ["", ""]), ("SELECT $a, $b, $a", ["a", "b"]), ("SELECT 1", [])):
            assert cursor.adbc_prepare(sql) == pa.schema([pa.field(name, pa.null()) for name in names])
        with pytest.raises(dbapi.ProgrammingError, match="SELEC"):
            cursor.adbc_prepare("SELEC ?")


def test_cancel_ends_a_query(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        timer = threading.Timer(0.3, cursor.adbc_cancel)
        timer.start()
        with pytest.raises(dbapi.OperationalError) as error:
            cursor.execute(ENDLESS).fetchall()
        assert error.value.status_code == adbc_driver_manager.AdbcStatusCode.CANCELLED
        adbc.rollback()
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]


def test_streams_outlive_their_statement(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        cursor.execute("CREATE TABLE t AS SELECT i FROM range(400000) r(i)")
        table = cursor.execute("FROM t").fetch_arrow_table()
    assert table.num_rows == 400_000 and table["i"].to_numpy().sum() == 400_000 * 399_999 // 2


def test_handles_are_checked() -> None:
    database = adbc_driver_manager.AdbcDatabase(driver=inlay.adbc.driver_path(), path=":memory:")
    connection = adbc_driver_manager.AdbcConnection(database)
    statement = adbc_driver_manager.AdbcStatement(connection)
    with pytest.raises(adbc_driver_manager.Error, match="AdbcStatementSetSqlQuery first"):
        statement.execute_query()
    statement.set_options(**{"adbc.ingest.target_table": "t"})
    with pytest.raises(adbc_driver_manager.Error, match="no rows to load"):
        statement.execute_update()
    statement.close()
    connection.close()
    database.close()


def test_pandas(adbc: Any) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "s": ["a", None, "c"], "day": pd.to_datetime(["2024-02-29"] * 3)})
    assert frame.to_sql("t", adbc, index=False) == 3
    back = pd.read_sql("SELECT * FROM t ORDER BY x", adbc)
    assert back["x"].tolist() == [1, 2, 3] and back["s"].isna().tolist() == [False, True, False]
    frame.to_sql("t", adbc, index=False, if_exists="append")
    assert len(pd.read_sql_table("t", adbc)) == 6
    frame.to_sql("t", adbc, index=False, if_exists="replace")
    assert len(pd.read_sql("SELECT x FROM t WHERE x > 1", adbc)) == 2


def test_polars(adbc: Any) -> None:
    frame = pl.DataFrame({"x": np.arange(1000), "s": [f"w{n}" for n in range(1000)]})
    frame.write_database("t", adbc, engine="adbc")
    adbc.commit()
    back = pl.read_database("SELECT * FROM t ORDER BY x", adbc)
    assert back.equals(frame)
    frame.write_database("t", adbc, engine="adbc", if_table_exists="append")
    assert pl.read_database("SELECT count(*) AS n FROM t", adbc).item() == 2000
