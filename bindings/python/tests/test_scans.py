"""Datasets and lazy frames read only what a query wants of them, and answers stay the same."""

# Variables are read by SQL.
# ruff: noqa: F841
from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import inlay
from inlay import _scans

DAY = datetime.date(2024, 1, 1)
MOMENT = datetime.datetime(2024, 1, 1, 12)
ROWS = 1000


def _table() -> pa.Table:
    numbers = range(ROWS)
    return pa.table(
        {
            "i": pa.array([None if n % 10 == 9 else n for n in numbers], pa.int32()),
            "u": pa.array(numbers, pa.uint64()),
            "f": pa.array([float("nan") if n % 7 == 0 else n / 4 for n in numbers]),
            "s": pa.array([None if n % 13 == 0 else f"w{n % 50:02}" for n in numbers]),
            "d": pa.array([DAY + datetime.timedelta(n) for n in numbers]),
            "t": pa.array([MOMENT + datetime.timedelta(minutes=n) for n in numbers], pa.timestamp("us")),
            "ns": pa.array([MOMENT + datetime.timedelta(minutes=n) for n in numbers], pa.timestamp("ns")),
            "z": pa.array([MOMENT + datetime.timedelta(minutes=n) for n in numbers], pa.timestamp("us", "UTC")),
            "p": pa.array([decimal.Decimal(n) / 8 for n in numbers], pa.decimal128(12, 3)),
            "b": pa.array([n % 3 == 0 for n in numbers]),
            "c": pa.array([f"k{n % 4}" for n in numbers]).dictionary_encode(),
            "x": pa.array([bytes([n % 256]) for n in numbers]),
        }
    )


TABLE = _table()

#: Conditions, and how many rows the source may deliver at most.
CONDITIONS = {
    "i < 10": 10,
    "i >= 990 AND i <> 995": 9,
    "i BETWEEN 100 AND 109": 10,
    "i IN (1, 2, 3, 2000)": 3,
    "i IS NULL": 100,
    "i IS NOT NULL AND u < 20": 20,
    "u = 18446744073709551615": 0,
    "u > 995": 5,
    "f < 1": 4,
    "f > 240": 200,
    "f = 1.25": 1,
    "s = 'w07'": 20,
    "s >= 'w48'": 40,
    "s IN ('w01', 'w02')": 40,
    "d < DATE '2024-01-08'": 7,
    "d = '2024-02-01'": 1,
    "t >= TIMESTAMP '2024-01-02 04:30:00'": 10,
    "ns < TIMESTAMP_NS '2024-01-01 12:05:00'": 5,
    "z < TIMESTAMPTZ '2024-01-01 12:05:00+00'": 5,
    "p BETWEEN 1.125 AND 1.5": 4,
    "b = true AND u < 9": 3,
    "NOT b AND u < 9": 6,
    "c = 'k1' AND u < 40": 10,
    "i < 5 OR u > 994": 11,
    "(i < 5 AND s = 'w03') OR d = '2024-01-10'": 3,
    "i = 3 OR length(s) > 100": ROWS,
    "x = '\\x05'::BLOB": ROWS,
    "i + 1 = 4": ROWS,
    "s LIKE 'w0%'": ROWS,
}


class Counting:
    """What `_scans.read` was asked for, and how much it gave."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.columns: list[str] = []
        self.rows = -1
        original = _scans.read

        def read(source: Any, columns: list[str], *conditions: Any) -> tuple[Any, bool]:
            rows, has_all = original(source, columns, *conditions)
            table = pa.table(rows)
            self.columns, self.rows = columns, table.num_rows
            return table, has_all

        monkeypatch.setattr(_scans, "read", read)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(monkeypatch)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("data")
    for part in range(4):
        pa.parquet.write_table(TABLE.slice(part * 250, 250), path / f"{part}.parquet", row_group_size=50)
    return pyarrow.dataset.dataset(path)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_pushed_into_datasets(
    con: inlay.Connection, data: Any, counting: Counting, condition: str
) -> None:
    rows = TABLE
    query = f"SELECT u FROM {{}} WHERE {condition} ORDER BY u"
    assert con.sql(query.format("data")).fetchall() == con.sql(query.format("rows")).fetchall()
    assert counting.rows <= CONDITIONS[condition]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_pushed_into_lazy_frames(con: inlay.Connection, counting: Counting, condition: str) -> None:
    frame, rows = pl.from_arrow(TABLE).lazy(), TABLE  # type: ignore[union-attr]
    query = f"SELECT u FROM {{}} WHERE {condition} ORDER BY u"
    assert con.sql(query.format("frame")).fetchall() == con.sql(query.format("rows")).fetchall()
    undecided = {"p BETWEEN 1.125 AND 1.5", "c = 'k1' AND u < 40"}
    assert counting.rows <= (ROWS if condition in undecided else CONDITIONS[condition])


def test_only_columns_that_are_read_are_asked_for(con: inlay.Connection, data: Any, counting: Counting) -> None:
    assert con.sql("SELECT sum(u) FROM data WHERE i < 4").fetchall() == [(6,)]
    assert sorted(counting.columns) == ["i", "u"]
    assert con.sql("SELECT count(*) FROM data").fetchall() == [(ROWS,)]
    assert len(counting.columns) == 1
    frame = pl.LazyFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert con.sql("SELECT b FROM frame WHERE a > 2").fetchall() == [("z",)]
    assert sorted(counting.columns) == ["a", "b"] and counting.rows == 1


def test_a_lazy_frame_is_not_collected_before_it_is_read(con: inlay.Connection) -> None:
    runs: list[int] = []

    def look(frame: pl.DataFrame) -> pl.DataFrame:
        runs.append(frame.height)
        return frame

    frame = pl.LazyFrame({"x": [1, 2, 3]}).map_batches(look, schema={"x": pl.Int64})
    relation = con.sql("FROM frame")
    assert runs == [] and relation.columns == ["x"]
    assert relation.fetchall() == [(1,), (2,), (3,)]
    assert runs == [3]


def test_a_dataset_streams_and_may_stop_early(con: inlay.Connection, tmp_path: Path) -> None:
    big = pa.table({"x": np.arange(3_000_000)})
    pa.parquet.write_table(big, tmp_path / "big.parquet", row_group_size=100_000)
    data = pyarrow.dataset.dataset(tmp_path / "big.parquet")
    assert len(con.sql("SELECT x FROM data LIMIT 5").fetchall()) == 5
    assert con.sql("SELECT sum(x), count(*) FROM data").fetchall() == [(4_499_998_500_000, 3_000_000)]
    assert con.sql("SELECT count(*) FROM data a JOIN data b USING (x) WHERE x < 1000").fetchall() == [(1000,)]
    assert con.execute("CREATE TABLE t AS FROM data").rowcount == 3_000_000
    assert con.execute("SELECT x FROM t LIMIT 3").fetchall() == [(0,), (1,), (2,)]


def test_errors_of_a_scan_name_the_object(con: inlay.Connection, tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    data = pyarrow.dataset.dataset(tmp_path / "a.parquet")
    con.register("gone", data)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(inlay.Error, match=r"a\.parquet"):
        con.execute("SELECT sum(x) FROM gone")
    frame = pl.LazyFrame({"x": [1]}).select(pl.col("x").map_batches(lambda _: 1 / 0, return_dtype=pl.Int64))
    with pytest.raises(inlay.Error, match="frame"):
        con.sql("SELECT sum(x) FROM frame").fetchall()
