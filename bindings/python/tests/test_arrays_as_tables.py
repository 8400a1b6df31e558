# ruff: noqa: F841 (SQL reads the variables)
"""Arrays of Arrow, Polars and pandas as tables, alone and in dictionaries: with their digits, zones and types."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inlay

BIG = 2**60 + 1
ZONED = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
ARRAYS: dict[str, tuple[Any, str, list[Any]]] = {
    "arrow": (pa.array([BIG, None]), "BIGINT", [BIG, None]),
    "chunks": (pa.chunked_array([[BIG], [], [None, 3]]), "BIGINT", [BIG, None, 3]),
    "small": (pa.array([1, None], pa.int8()), "TINYINT", [1, None]),
    "zone": (pa.array([ZONED], pa.timestamp("us", "Asia/Tokyo")), "TIMESTAMP WITH TIME ZONE", [ZONED]),
    "decimal": (pa.array([decimal.Decimal("1.50")], pa.decimal128(20, 2)), "DECIMAL(20,2)", [decimal.Decimal("1.50")]),
    "map": (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())), "MAP(VARCHAR, TINYINT)", [{"k": 1}]),
    "polars": (pl.Series([BIG, None]), "BIGINT", [BIG, None]),
    "polars zone": (
        pl.Series([ZONED.replace(tzinfo=None)]).dt.replace_time_zone("UTC"),
        "TIMESTAMP WITH TIME ZONE",
        [ZONED],
    ),
    "polars enum": (pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])), "ENUM('b', 'a')", ["b", "a"]),
    "polars wide": (pl.Series([2**100, None], dtype=pl.Int128), "HUGEINT", [2**100, None]),
    "pandas": (pd.array([BIG, None]), "BIGINT", [BIG, None]),
    "pandas series": (pd.Series([1, None], dtype="Int64"), "BIGINT", [1, None]),
    "pandas zone": (
        pd.Series([ZONED.replace(tzinfo=None)]).dt.tz_localize("UTC"),
        "TIMESTAMP WITH TIME ZONE",
        [ZONED],
    ),
    "pandas category": (pd.Series(["a", "b"], dtype="category"), "ENUM('a', 'b')", ["a", "b"]),
    "pandas period": (pd.Series(pd.period_range("2024-01", periods=1, freq="M")), "DATE", [dt.date(2024, 1, 1)]),
    "pandas index": (pd.Series([1, 2], index=[7, 8], dtype="Int32"), "INTEGER", [1, 2]),
    "empty": (pd.Series([], dtype="Int64"), "BIGINT", []),
}


@pytest.fixture(name="con")
def connection() -> Any:
    with inlay.connect() as con:
        con.execute("SET timezone = 'UTC'")
        yield con


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_column_of_a_dictionary_keeps_its_type(kind: str, con: Any) -> None:
    array, ty, values = ARRAYS[kind]
    numbers = np.arange(len(values))
    table = {"c": array, "n": numbers, "l": list(range(len(values)))}
    relation = con.sql("SELECT c, n, l FROM table ORDER BY n".replace("table", '"table"'))
    assert [str(each) for each in relation.types][:2] == [ty, "BIGINT"]
    assert [row[0] for row in relation.fetchall()] == values
    # Scanned again, by itself, and appended.
    assert con.sql('SELECT c FROM "table"').fetchall() == [(value,) for value in values]
    con.execute('CREATE TABLE t AS SELECT c, n FROM "table"')
    con.append("t", {"c": array, "n": numbers})
    assert con.execute("SELECT count(*), count(c) FROM t").fetchone() == (
        2 * len(values),
        2 * sum(value is not None for value in values),
    )


def test_an_array_of_arrow_is_a_table(con: Any) -> None:
    whole = pa.array([BIG, None])
    assert con.sql("FROM whole").fetchall() == [(BIG,), (None,)]
    zoned = pa.array([ZONED], pa.timestamp("us", "Asia/Tokyo"))
    assert con.sql("FROM zoned").fetchall() == [(ZONED,)]
    ordered = {"o": pa.DictionaryArray.from_arrays(pa.array([1, 0]), ["b", "a"], ordered=True)}
    assert [str(ty) for ty in con.sql("FROM ordered").types] == ["ENUM('b', 'a')"]
    # One of structs has its fields as columns, as in DuckDB.
    structs = pa.array([{"a": 1, "b": "x"}], pa.struct([("a", pa.uint8()), ("b", pa.string())]))
    relation = con.sql("FROM structs")
    assert (relation.columns, [str(ty) for ty in relation.types]) == (["a", "b"], ["UTINYINT", "VARCHAR"])
    several = [whole, pa.array(["x", "y"])]
    assert con.sql("FROM several").fetchall() == [(BIG, "x"), (None, "y")]


def test_scalars_of_arrow_in_records_are_values(con: Any) -> None:
    records = [{"c": pa.scalar(decimal.Decimal("1.50")), "d": pa.scalar(dt.date(2024, 1, 2))}]
    assert con.sql("FROM records").fetchall() == [(decimal.Decimal("1.50"), dt.date(2024, 1, 2))]


def test_many_rows_in_many_chunks(con: Any) -> None:
    chunks = pa.chunked_array([pa.array(range(at, at + 997)) for at in range(0, 99_700, 997)])
    table = {"c": chunks, "n": np.arange(99_700)}
    assert con.execute('SELECT count(*), sum(c = n), min(c), max(c) FROM "table"').fetchone() == (
        99_700,
        99_700,
        0,
        99_699,
    )
    assert table


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"a": [1, 2], "b": 5}, "'b' is of type int"),
        ({"a": range(3)}, "'a' is of type range"),
        ({"a": pa.array([1]), "b": pa.array([1, 2])}, 'column "b" has 2 rows, the first column 1'),
    ],
)
def test_what_keeps_a_dictionary_from_being_a_table_is_said(table: Any, said: str, con: Any) -> None:
    with pytest.raises(inlay.Error, match=said):
        con.execute('FROM "table"')
    with pytest.raises(inlay.Error, match=said):
        con.register("r", table)


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128])
def test_whole_numbers_of_128_bits_of_polars(kind: Any, con: Any) -> None:
    least, most = (-(2**127), 2**127 - 1) if kind == pl.Int128 else (0, 2**128 - 1)
    frame = pl.DataFrame({"x": [least, None, most], "l": [[most], [], None]}, schema={"x": kind, "l": pl.List(kind)})
    name = "HUGEINT" if kind == pl.Int128 else "UHUGEINT"
    for _ in range(2):
        assert [str(ty) for ty in con.sql("FROM frame").types] == [name, f"{name}[]"]
        assert con.sql("FROM frame").fetchall() == [(least, [most]), (None, []), (most, None)]
    lazy = frame.lazy()
    assert con.sql("SELECT x FROM lazy WHERE x > 5").fetchall() == [(most,)]
    con.execute("CREATE TABLE t AS FROM frame")
    con.append("t", frame)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (6,)
    assert con.execute("SELECT x FROM t WHERE x < 5 AND x > 1").pl().is_empty()


def test_texts_that_are_not_utf_8_are_refused(con: Any) -> None:
    def array(ty: pa.DataType, data: bytes, ends: list[int], size: str) -> Any:
        offsets = pa.py_buffer(np.array(ends, size).tobytes())
        return pa.Array.from_buffers(ty, len(ends) - 1, [None, offsets, pa.py_buffer(data)])

    good = array(pa.string(), "aé and a longer text é".encode(), [0, 3, 24], "int32")
    table = pa.table({"a": good})
    assert con.sql('FROM "table"').fetchall() == [("aé",), (" and a longer text é",)]
    broken = [
        array(pa.string(), b"ab\xff\xfe", [0, 2, 4], "int32"),
        array(pa.large_string(), b"ab\xff and more than twelve", [0, 2, 23], "int64"),
        # A letter that is cut in two.
        array(pa.string(), "ab é".encode(), [0, 4, 5], "int32"),
    ]
    for bad in broken:
        table = pa.table({"a": bad})
        with pytest.raises(inlay.Error, match='column "a" has a text that is not UTF-8'):
            con.sql('FROM "table"').fetchall()
        with pytest.raises(inlay.Error, match="is not UTF-8"):
            con.execute('CREATE TABLE b AS FROM "table"')
    table = pa.table({"a": array(pa.binary(), b"ab\xff\xfe", [0, 2, 4], "int32")})
    assert con.sql('FROM "table"').fetchall() == [(b"ab",), (b"\xff\xfe",)]
    # What is NULL is not looked at.
    hidden = pa.Array.from_buffers(
        pa.string(),
        2,
        [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([0, 2, 4], "int32").tobytes()), pa.py_buffer(b"ab\xff\xfe")],
    )
    table = pa.table({"a": hidden})
    assert con.sql('FROM "table"').fetchall() == [("ab",), (None,)]


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_moments_beyond_the_range_of_timestamp_are_refused(unit: str, con: Any) -> None:
    for value in (2**62, -(2**62)):
        table = pa.table({"a": pa.array([0, value], pa.timestamp(unit))})
        with pytest.raises(inlay.Error, match='row 1 of column "a" has a value that TIMESTAMP_'):
            con.sql('FROM "table"').fetchall()
    table = pa.table({"a": pa.array([2**62, None, 0], pa.timestamp(unit)).filter(pa.array([False, True, True]))})
    assert con.sql('SELECT count(a) FROM "table"').fetchall() == [(1,)]
