"""Objects of the program as tables: registered, or found by their variable's name."""

from __future__ import annotations

import datetime
import gc
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inlay

GLOBAL_FRAME = pd.DataFrame({"x": [1, 2, 3]})


def test_arrow_tables_batches_and_readers(con: inlay.Connection) -> None:
    table = pa.table({"x": [1, 2, None], "s": ["a", None, "a text longer than twelve bytes"]})
    con.register("t", table)
    assert con.execute("SELECT sum(x), count(s), max(s) FROM t").fetchone() == (3, 2, "a text longer than twelve bytes")
    con.register("b", table.to_batches()[0])
    assert con.execute("SELECT count(*) FROM b").fetchone() == (3,)
    con.register("r", pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))
    for _ in range(2):
        assert con.execute("SELECT count(*) FROM r").fetchone() == (3,)


def test_arrow_types(con: inlay.Connection) -> None:
    table = pa.table(
        {
            "large": pa.array(["x", None], pa.large_string()),
            "coded": pa.array(["a", "b"]).dictionary_encode(),
            "price": pa.array([None, 125], pa.int64()).cast(pa.decimal128(20, 0)),
            "day": pa.array([datetime.date(2024, 2, 29), None]),
            "milli": pa.array([1000, None], pa.timestamp("ms")),
            "flag": pa.array([True, None]),
            "raw": pa.array([b"\x00", None]),
        }
    )
    row = con.register("t", table).execute("FROM t").fetchone()
    assert row == ("x", "a", None, datetime.date(2024, 2, 29), datetime.datetime(1970, 1, 1, 0, 0, 1), True, b"\x00")


def test_pandas_frames(con: inlay.Connection) -> None:
    frame = pd.DataFrame(
        {
            "i": [1, 2, 3],
            "f": [1.5, np.nan, 2.5],
            "s": ["a", None, "b"],
            "day": pd.to_datetime(["2024-02-29", None, "1999-12-31"]),
            "c": pd.Categorical(["u", "v", "u"]),
            "n": pd.array([1, None, 3], dtype="Int64"),
        },
        index=[10, 20, 30],
    )
    con.register("frame", frame)
    assert con.execute("SELECT count(i), count(f), count(s), count(day), count(n) FROM frame").fetchone() == (
        3,
        2,
        2,
        2,
        2,
    )
    rows = con.execute("SELECT c, sum(f) FROM frame GROUP BY c ORDER BY c").fetchall()
    assert rows == [("u", 4.0), ("v", None)]


def test_mixed_objects_become_text(con: inlay.Connection) -> None:
    frame = pd.DataFrame({"o": [1, "two", None]})
    assert con.register("frame", frame).execute("SELECT o FROM frame").fetchall() == [("1",), ("two",), (None,)]


def test_polars_frames(con: inlay.Connection) -> None:
    frame = pl.DataFrame({"x": [1, 2], "s": ["a", None]})
    con.register("frame", frame)
    assert con.execute("SELECT x, s FROM frame ORDER BY x").fetchall() == [(1, "a"), (2, None)]
    lazy = frame.lazy().filter(pl.col("x") > 1)
    assert con.register("lazy", lazy).execute("SELECT x FROM lazy").fetchall() == [(2,)]


def test_numpy_arrays(con: inlay.Connection) -> None:
    arrays = {
        "i": np.arange(5, dtype="i2"),
        "strided": np.arange(10)[::2],
        "swapped": np.arange(5, dtype=">i4"),
        "f": np.array([0.5, 1.5, np.nan, 2.5, 3.5], dtype="f4"),
        "b": np.array([True, False, True, False, True]),
        "u": np.array(["a", "b", "c", "d", "e"]),
        "o": np.array(["x", None, "y", "z", "w"], dtype=object),
        "day": np.array(["2024-02-29", "NaT", "1970-01-01", "1970-01-02", "1970-01-03"], dtype="M8[D]"),
        "ns": np.array([1_000_000_000] * 5, dtype="M8[ns]"),
        "m": np.ma.MaskedArray(np.arange(5), [0, 1, 0, 0, 0]),
    }
    con.register("arrays", arrays)
    row = con.execute("SELECT sum(i), sum(strided), sum(swapped), count(o), count(day), count(m), max(u) FROM arrays")
    assert row.fetchone() == (10, 20, 10, 4, 4, 4, "e")
    assert con.execute("SELECT ns FROM arrays LIMIT 1").fetchone() == (datetime.datetime(1970, 1, 1, 0, 0, 1),)


def test_memory_is_shared_and_kept_alive(con: inlay.Connection) -> None:
    array = np.arange(100_000)
    con.register("t", {"x": array})
    array[0] = 1_000_000
    assert con.execute("SELECT max(x) FROM t").fetchone() == (1_000_000,)
    alive = weakref.ref(array)
    del array
    gc.collect()
    assert alive() is not None
    assert con.execute("SELECT count(*) FROM t").fetchone() == (100_000,)
    con.unregister("t")
    con.execute("SELECT 1").fetchall()
    gc.collect()
    assert alive() is None


def test_unregister_and_replace(con: inlay.Connection) -> None:
    con.register("t", {"x": np.array([1])})
    con.register("t", {"x": np.array([1, 2])})
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)
    con.unregister("t")
    with pytest.raises(inlay.ProgrammingError, match="does not exist"):
        con.execute("SELECT * FROM t")
    con.execute("CREATE TABLE u (x INTEGER)")
    with pytest.raises(inlay.ProgrammingError, match="already exists"):
        con.register("u", {"x": np.array([1])})


def test_what_cannot_be_a_table(con: inlay.Connection) -> None:
    with pytest.raises(inlay.ProgrammingError, match="cannot be a table"):
        con.register("t", 5)
    with pytest.raises(inlay.ProgrammingError, match="rows"):
        con.register("t", {"x": np.arange(2), "y": np.arange(3)})
    with pytest.raises(inlay.ProgrammingError, match="dimensions"):
        con.register("t", {"x": np.zeros((2, 2))})


def test_variables_are_tables(con: inlay.Connection) -> None:
    local_frame = pd.DataFrame({"x": [10, 20]})  # noqa: F841 - found by its name
    local_table = pa.table({"x": [20, 30]})  # noqa: F841 - found by its name
    query = "SELECT count(*) FROM local_frame JOIN local_table USING (x)"
    assert con.execute(query).fetchone() == (1,)
    assert con.execute("SELECT sum(x) FROM GLOBAL_FRAME").fetchone() == (6,)
    assert inlay.sql("SELECT sum(x) FROM local_frame").fetchall() == [(30,)]
    relation = con.sql("SELECT x + 1 AS y FROM local_frame")  # noqa: F841 - found by its name
    assert con.sql("SELECT sum(y) FROM relation").fetchall() == [(32,)]
    con.execute("CREATE TABLE copied AS FROM local_frame")
    assert con.execute("SELECT count(*) FROM copied").fetchone() == (2,)


def test_tables_come_before_variables(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE frame AS SELECT 1 AS x")
    frame = pd.DataFrame({"x": [5]})
    assert con.execute("SELECT x FROM frame").fetchone() == (1,)
    assert len(frame) == 1


def test_other_variables_are_not_tables(con: inlay.Connection) -> None:
    number = 5
    with pytest.raises(inlay.ProgrammingError, match='"number" does not exist'):
        con.execute("SELECT * FROM number")
    assert number == 5


def test_a_relation_keeps_types_that_arrow_has_not(con: inlay.Connection) -> None:
    uuid = "'f47ac10b-58cc-4372-a567-0e02b2c3d479'::UUID"
    rows = con.sql(f"SELECT '101'::BIT AS b, {uuid} AS u, '10:00:00+02'::TIMETZ AS z")
    con.register("kept", rows)
    assert con.sql("FROM kept").types == rows.types == ["BIT", "UUID", "TIME WITH TIME ZONE"]
    assert con.sql("FROM kept").fetchall() == rows.fetchall()
