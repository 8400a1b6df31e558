"""Values in (parameters) and out (rows, NumPy, pandas, Arrow, Polars)."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inlay

DAY = datetime.date(2024, 2, 29)
NOON = datetime.time(12, 30, 15, 250)
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 250)

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -5,
    2**31,
    -(2**63),
    2**100,
    -(2**127),
    2**128 - 1,
    1.5,
    float("inf"),
    "",
    "text with ünïcödé and more than twelve bytes",
    b"\x00\xff bytes",
    Decimal("12.340"),
    Decimal("-0.05"),
    Decimal("1E+3"),
    DAY,
    NOON,
    MOMENT,
    datetime.timedelta(days=2, seconds=5, microseconds=7),
    datetime.timedelta(microseconds=-1),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_parameters_come_back_as_they_went_in(con: inlay.Connection, value: Any) -> None:
    (back,) = con.execute("SELECT ?", [value]).fetchone()
    assert back == value and (type(back) is type(value) or value is None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.int32(7), 7),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.datetime64("2024-02-29"), MOMENT.replace(hour=0, minute=0, second=0, microsecond=0)),
        (np.datetime64("NaT"), None),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"ab"), b"ab"),
        (pd.Timestamp(MOMENT), MOMENT),
        (pd.NaT, None),
        (pd.NA, None),
        (uuid.UUID(int=5), uuid.UUID(int=5)),
        (
            MOMENT.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            (MOMENT - datetime.timedelta(hours=2)).replace(tzinfo=datetime.timezone.utc),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_converted(con: inlay.Connection, given: Any, expected: Any) -> None:
    assert con.execute("SELECT ?", [given]).fetchone() == (expected,)


def test_parameter_styles(con: inlay.Connection) -> None:
    assert con.execute("SELECT ? - ?", [5, 2]).fetchone() == (3,)
    assert con.execute("SELECT $2 - $1", (5, 2)).fetchone() == (-3,)
    assert con.execute("SELECT $a || $b", {"a": "x", "b": "y"}).fetchone() == ("xy",)
    assert con.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("SELECT ?", []),
        ("SELECT ?", [1, 2]),
        ("SELECT 1", [1]),
        ("SELECT $a", {"b": 1}),
        ("SELECT $a", {}),
        ("SELECT ?", [object()]),
    ],
)
def test_wrong_parameters_are_errors(con: inlay.Connection, query: str, given: Any) -> None:
    with pytest.raises(inlay.ProgrammingError):
        con.execute(query, given)
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_integers_beyond_128_bits_are_errors(con: inlay.Connection) -> None:
    with pytest.raises(inlay.DataError, match="128"):
        con.execute("SELECT ?", [2**128])


def test_values_of_all_types(con: inlay.Connection) -> None:
    row = con.execute(
        "SELECT 1::TINYINT, 2::SMALLINT, 3::BIGINT, 4::HUGEINT, 5::UTINYINT, 6::UBIGINT, 1.5::REAL, 2.5::DOUBLE, "
        "1.25::DECIMAL(5, 2), TRUE, DATE '2024-02-29', TIME '12:30:15.00025', TIMESTAMP '2024-02-29 12:30:15.00025', "
        "INTERVAL '1 month 2 days', 'x', NULL"
    ).fetchone()
    assert row == (
        *(1, 2, 3, 4, 5, 6, 1.5, 2.5, Decimal("1.25"), True, DAY, NOON, MOMENT),
        *(datetime.timedelta(days=32), "x", None),
    )


TYPED = """
    SELECT * FROM (VALUES
        (1, 1.5, 'a', TRUE, DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:15', 1.25::DECIMAL(5, 2)),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (3, 2.5, 'a text longer than twelve bytes', FALSE, DATE '1970-01-01', TIMESTAMP '1969-12-31 23:59:59', -0.5)
    ) AS t(i, d, s, b, day, moment, price)
"""


def test_numpy_arrays_are_masked_where_null(con: inlay.Connection) -> None:
    arrays = con.execute(TYPED.replace("1.5, 'a'", "1.5::DOUBLE, 'a'")).fetchnumpy()
    assert all(isinstance(array, np.ma.MaskedArray) for array in arrays.values())
    assert all(array.mask.tolist() == [False, True, False] for array in arrays.values())
    assert arrays["i"].dtype == np.int32 and arrays["i"].compressed().tolist() == [1, 3]
    assert arrays["d"].dtype == np.float64 and np.isnan(arrays["d"].data[1])
    assert arrays["s"].dtype == object and arrays["s"].compressed().tolist() == ["a", "a text longer than twelve bytes"]
    assert arrays["b"].dtype == bool
    assert arrays["day"].dtype == np.dtype("M8[D]") and arrays["day"][0] == np.datetime64("2024-02-29")
    assert arrays["moment"].dtype == np.dtype("M8[us]") and np.isnat(arrays["moment"].data[1])
    assert arrays["price"].dtype == np.float64 and arrays["price"].compressed().tolist() == [1.25, -0.5]


def test_decimals_become_what_is_asked_for(con: inlay.Connection) -> None:
    query = "SELECT 0.1::DECIMAL(38, 20) AS d, 2::HUGEINT AS h, 170141183460469231731687303715884105727 AS w"
    arrays = con.execute(query).fetchnumpy(decimal="exact")
    assert arrays["d"][0] == Decimal("0.1") and arrays["h"].dtype == np.int64
    assert arrays["w"][0] == 2**127 - 1
    assert con.execute(query).fetchnumpy(decimal="float")["d"].dtype == np.float64
    assert con.sql(query).df()["w"][0] == 2**127 - 1 and con.sql(query).df(decimal="float")["w"].dtype == np.float64
    with pytest.raises(inlay.InvalidInputException, match="'float', 'exact', 'decimal' or 'arrow'"):
        con.execute(query).df(decimal="double")
    pytest.importorskip("pyarrow")
    frame = con.execute(query).df(decimal="arrow")
    assert str(frame["d"].dtype) == "decimal128(38, 20)[pyarrow]" and frame["d"][0] == Decimal("0.1")


def test_moments_have_the_time_zone_of_the_session(con: inlay.Connection) -> None:
    con.execute("SET TimeZone = 'America/New_York'")
    query = "SELECT TIMESTAMPTZ '2024-07-01 12:00:00+00' AS at, [TIMESTAMPTZ '2024-01-01 12:00:00+00'] AS l"
    at, several = con.execute(query).fetchall()[0]
    assert at == datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)
    assert at.hour == 8 and str(at.tzinfo) == "America/New_York" and several[0].hour == 7
    frame = con.sql(query).df()
    assert str(frame["at"].dtype) == "datetime64[us, America/New_York]" and frame["at"][0].hour == 8


def test_numpy_arrays_without_nulls_are_plain_and_writable(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT x::BIGINT AS x FROM range(300000) r(x)")
    array = con.execute("SELECT x FROM t").fetchnumpy()["x"]
    assert type(array) is np.ndarray and array.dtype == np.int64
    assert np.array_equal(array, np.arange(300_000))
    array[:] = -1
    assert con.execute("SELECT min(x), max(x) FROM t").fetchone() == (0, 299_999)
    empty = con.execute("SELECT x FROM t WHERE x < 0").fetchnumpy()["x"]
    assert empty.shape == (0,) and empty.dtype == np.int64


def test_arrays_outlive_the_database() -> None:
    con = inlay.connect()
    array = con.execute("SELECT x * 2 AS x FROM range(100000) t(x) ORDER BY x").fetchnumpy()["x"]
    con.close()
    del con
    assert int(array.sum()) == 9_999_900_000


def test_intervals_and_large_numbers_in_numpy(con: inlay.Connection) -> None:
    arrays = con.execute("SELECT INTERVAL '1 day 2 hours' AS i, 2::HUGEINT AS h, TIME '01:02:03' AS t").fetchnumpy()
    assert arrays["i"][0] == np.timedelta64(26, "h")
    assert arrays["h"].dtype == np.int64 and arrays["h"][0] == 2
    assert arrays["t"][0] == datetime.time(1, 2, 3)


def test_repeated_names_are_told_apart(con: inlay.Connection) -> None:
    assert list(con.execute("SELECT 1 AS a, 2 AS a, 3 AS a").fetchnumpy()) == ["a", "a_1", "a_2"]


def test_pandas(con: inlay.Connection) -> None:
    frame = con.execute(TYPED).df()
    assert list(frame.columns) == ["i", "d", "s", "b", "day", "moment", "price"]
    assert str(frame["i"].dtype) == "Int32" and frame["i"].tolist() == [1, pd.NA, 3]
    assert str(frame["b"].dtype) == "boolean" and frame["b"].tolist() == [True, pd.NA, False]
    assert frame["s"][1] is None or pd.isna(frame["s"][1])
    assert frame["day"].dtype.kind == "M" and pd.isna(frame["day"][1])
    assert frame["day"][0] == pd.Timestamp("2024-02-29")


def test_arrow(con: inlay.Connection) -> None:
    table = con.execute(TYPED).arrow()
    assert isinstance(table, pa.Table) and table.num_rows == 3
    assert table.column("i").to_pylist() == [1, None, 3]
    assert table.column("s").type == pa.string()
    assert table.column("s").to_pylist() == ["a", None, "a text longer than twelve bytes"]
    assert table.column("price").to_pylist() == [Decimal("1.25"), None, Decimal("-0.50")]
    assert table.column("day").to_pylist() == [DAY, None, datetime.date(1970, 1, 1)]
    assert con.execute("SELECT sum(x) AS s FROM range(10) t(x)").arrow().column("s").to_pylist() == [45]
    assert con.execute("SELECT 1 AS x WHERE FALSE").arrow().num_rows == 0


def test_record_batches(con: inlay.Connection) -> None:
    reader = con.execute("SELECT * FROM range(400000) t(x)").fetch_record_batch()
    assert isinstance(reader, pa.RecordBatchReader)
    sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == 400_000 and len(sizes) > 1


def test_arrow_stream_protocol(con: inlay.Connection) -> None:
    table = pa.table(con.execute(TYPED))
    assert table.num_rows == 3
    assert pa.table(con.sql("SELECT 1 AS x")).to_pydict() == {"x": [1]}


def test_polars(con: inlay.Connection) -> None:
    frame = con.execute(TYPED).pl()
    assert isinstance(frame, pl.DataFrame) and frame.shape == (3, 7)
    assert frame["s"].to_list() == ["a", None, "a text longer than twelve bytes"]
    assert frame["b"].to_list() == [True, None, False]


def test_columns_fetch_what_rows_left(con: inlay.Connection) -> None:
    con.execute("SELECT * FROM range(10) t(x) ORDER BY x")
    con.fetchmany(7)
    assert con.fetchnumpy()["x"].tolist() == [7, 8, 9]
    assert con.fetchall() == []
