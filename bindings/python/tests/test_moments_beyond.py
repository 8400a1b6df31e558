"""Dates and moments at the ends of their types come in as they are, or are refused by name."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

import inlay

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

LAST = 2**63 - 1
DAY = 86_400
#: The days of DATE, from 1970 on.
DAYS = 2**31 - 1


def text(con: inlay.Connection, table: Any) -> Any:
    con.register("given", table)
    return con.sql("SELECT a::VARCHAR FROM given").fetchone()


def arrow(number: int, ty: Any) -> Any:
    return pa.table({"a": pa.array([number], ty)})


@pytest.mark.parametrize(
    ("ty", "number", "shown"),
    [
        (pa.timestamp("s"), DAYS * DAY - 1, "5881580-07-10 23:59:59"),
        (pa.timestamp("s"), (1 - DAYS) * DAY, "5877642-06-25 (BC) 00:00:00"),
        (pa.timestamp("ms"), DAYS * DAY * 1000 - 1, "5881580-07-10 23:59:59.999"),
        (pa.timestamp("ms"), (1 - DAYS) * DAY * 1000, "5877642-06-25 (BC) 00:00:00"),
        (pa.timestamp("us"), LAST - 1, "294247-01-10 04:00:54.775806"),
        (pa.timestamp("us"), -9_223_372_022_400_000_000, "290309-12-22 (BC) 00:00:00"),
        (pa.timestamp("us", "UTC"), LAST - 1, "294247-01-10 04:00:54.775806+00"),
        (pa.timestamp("ns"), LAST - 1, "2262-04-11 23:47:16.854775806"),
        (pa.timestamp("ns"), 1 - LAST, "1677-09-21 00:12:43.145224194"),
        (pa.date32(), DAYS - 1, "5881580-07-10"),
        (pa.date32(), 1 - DAYS, "5877642-06-25 (BC)"),
        (pa.date64(), (DAYS - 1) * DAY * 1000, "5881580-07-10"),
        *((pa.timestamp(unit), LAST, "infinity") for unit in ("s", "ms", "us", "ns")),
        *((pa.timestamp(unit), -LAST, "-infinity") for unit in ("s", "ms", "us", "ns")),
        (pa.date32(), DAYS, "infinity"),
    ],
)
def test_the_ends_of_arrow(con: inlay.Connection, ty: Any, number: int, shown: str) -> None:
    con.execute("SET timezone = 'UTC'")
    table = arrow(number, ty)
    assert text(con, table) == (shown,)
    # Python's calendar ends before all of them but nanoseconds.
    value = con.sql("FROM given").fetchall()[0][0]
    if "infinity" in shown:
        assert (value.year, value.month) in ((9999, 12), (1, 1))
    else:
        assert value == shown
    assert con.sql("SELECT [a] FROM given").fetchall() == [([value],)]


@pytest.mark.parametrize(
    ("ty", "number"),
    [
        *((pa.timestamp("s"), number) for number in (2**62, -(2**62), DAYS * DAY, (1 - DAYS) * DAY - 1, -(2**63))),
        *((pa.timestamp("ms"), number) for number in (2**62, -(2**62), DAYS * DAY * 1000, -(2**63))),
        *((pa.timestamp("us"), number) for number in (-(2**63), 2 - 2**63, -9_223_372_022_400_000_001)),
        (pa.timestamp("us", "UTC"), -(2**63)),
        (pa.timestamp("s", "UTC"), LAST // 1_000_000 + 1),
        (pa.timestamp("s", "UTC"), -9_223_372_022_401),
        (pa.timestamp("ns"), -(2**63)),
        (pa.date32(), -(2**31)),
        (pa.date64(), DAYS * DAY * 1000),
        (pa.date64(), -DAYS * DAY * 1000),
    ],
)
def test_what_is_beyond_is_refused(con: inlay.Connection, ty: Any, number: int) -> None:
    for array in (pa.array([0, number], ty), pa.array([[0], [number]], pa.list_(ty))):
        con.register("given", pa.table({"a": array}))
        with pytest.raises(inlay.OutOfRangeException, match="cannot hold"):
            con.sql("FROM given").fetchall()
        with pytest.raises(inlay.OutOfRangeException, match="cannot hold"):
            con.execute("CREATE OR REPLACE TABLE t AS FROM given")
    # What lies below a NULL is anything.
    hidden = pa.Array.from_buffers(ty, 1, [pa.py_buffer(b"\0"), pa.array([number], ty).buffers()[1]])
    con.register("given", pa.table({"a": hidden}))
    assert con.sql("FROM given").fetchall() == [(None,)]


FRAMES = {
    "pandas": pd.DataFrame({"a": [pd.Timestamp.max]}),
    "pandas before": pd.DataFrame({"a": [pd.Timestamp.min]}),
    "pandas us": pd.DataFrame({"a": pd.Series([LAST]).astype("datetime64[us]")}),
    "pandas s": pd.DataFrame({"a": np.array([LAST]).astype("M8[s]")}) if int(pd.__version__[0]) >= 3 else None,
    "pandas with a zone": pd.DataFrame({"a": pd.Series([LAST]).astype("datetime64[us]").dt.tz_localize("UTC")}),
    "Arrow's in pandas": pd.DataFrame(
        {"a": pd.Series(pa.array([LAST], pa.timestamp("us")), dtype=pd.ArrowDtype(pa.timestamp("us")))}
    ),
    "index": pd.DatetimeIndex([pd.Timestamp.max], name="a"),
    "column": {"a": pd.Series([pd.Timestamp.max])},
    "column with a zone": {"a": pd.Series([LAST]).astype("datetime64[us]").dt.tz_localize("UTC")},
    "numpy": {"a": np.array([LAST], "M8[ns]")},
    "numpy days": {"a": np.array([DAYS], "M8[D]")},
    "numpy days before": {"a": np.array([-DAYS - 1], "M8[D]")},
    "polars": pl.DataFrame({"a": pl.Series([LAST]).cast(pl.Datetime("us"))}),
    "polars lazily": pl.LazyFrame({"a": pl.Series([LAST]).cast(pl.Datetime("us"))}),
    "polars days": pl.DataFrame({"a": pl.Series([DAYS], dtype=pl.Int32).cast(pl.Date)}),
    "polars column": {"a": pl.Series([DAYS], dtype=pl.Int32).cast(pl.Date)},
}


@pytest.mark.parametrize("name", [name for name, frame in FRAMES.items() if frame is not None])
def test_the_last_moment_of_a_frame_is_no_infinity(con: inlay.Connection, name: str) -> None:
    with pytest.raises(inlay.Error, match="hold"):
        text(con, FRAMES[name])


def test_moments_of_frames_beside_their_ends(con: inlay.Connection) -> None:
    frame = pd.DataFrame({"a": [pd.Timestamp.max - pd.Timedelta(1, "ns"), pd.NaT]})
    assert text(con, frame) == ("2262-04-11 23:47:16.854775806",)
    assert text(con, frame.astype("datetime64[us]")) == ("2262-04-11 23:47:16.854775",)
    assert con.sql("SELECT count(a) FROM frame").fetchone() == (1,)


def test_seconds_and_milliseconds_beyond_python_are_texts(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT DATE '5000000-01-01' AS d")
    for ty, shown in (("TIMESTAMP_S", "5000000-01-01 00:00:00"), ("TIMESTAMP_MS", "5000000-01-01 00:00:00")):
        assert con.sql(f"SELECT d::{ty}, [d::{ty}] FROM t").fetchall() == [(shown, [shown])]
        assert con.sql(f"SELECT DATE '2024-01-01'::{ty}").fetchone() == (datetime.datetime(2024, 1, 1),)


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize(
    ("ty", "number"),
    [
        *((pa.timestamp("ms"), number) for number in (2**62, DAYS * DAY * 1000, -(2**63))),
        *((pa.timestamp("us"), number) for number in (-(2**63), 2 - 2**63)),
        (pa.timestamp("us", "UTC"), -(2**63)),
        (pa.timestamp("ns"), -(2**63)),
        (pa.date32(), -(2**31)),
        (pa.time64("us"), -1),
        (pa.time64("us"), DAY * 1_000_000 + 1),
    ],
)
def test_what_is_beyond_in_a_file_is_refused(
    con: inlay.Connection, tmp_path: Path, ty: Any, number: int, dictionary: bool
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, kept = tmp_path / "beyond.parquet", tmp_path / "kept.parquet"
    for name, values in ((path, [0, number]), (kept, [0, None, LAST if ty.bit_width == 64 else DAYS])):
        raw = pa.array(values, pa.int64() if ty.bit_width == 64 else pa.int32()).view(ty)
        parquet.write_table(pa.table({"a": raw}), name, use_dictionary=dictionary)
    with pytest.raises(inlay.Error, match="cannot hold"):
        con.sql(f"FROM '{path}'").fetchall()
    if not pa.types.is_time(ty):
        assert con.sql(f"SELECT count(a), max(a)::VARCHAR FROM '{kept}'").fetchone() == (2, "infinity")
