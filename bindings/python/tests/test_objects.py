"""Python objects as tables: by name, registered, and appended."""

# Variables are read by SQL.
# ruff: noqa: F841
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay


def test_lists_and_dictionaries(con: inlay.Connection) -> None:
    records = [{"a": 1, "b": "x"}, {"a": 2.5}, {"a": None, "c": [1, 2]}]
    assert con.sql("FROM records").fetchall() == [(1.0, "x", None), (2.5, None, None), (None, None, [1, 2])]
    columns = {"n": [1, 2, None], "s": ["a", None, "b"]}
    assert con.sql("FROM columns").fetchall() == [(1, "a"), (2, None), (None, "b")]
    assert con.from_df(columns).types == ["INTEGER", "VARCHAR"]


def test_arrays(con: inlay.Connection) -> None:
    flat, square = np.arange(3), np.array([[1, 2, 3], [4, 5, 6]])
    assert con.sql("FROM flat").fetchall() == [(0,), (1,), (2,)]
    # As in DuckDB, each row of the array is a column.
    assert con.sql("SELECT column1 FROM square").fetchall() == [(4,), (5,), (6,)]
    arrays = [np.array([1, 2]), np.array(["x", "y"])]
    assert con.sql("FROM arrays").fetchall() == [(1, "x"), (2, "y")]
    fields = np.array([(1, "x"), (2, "y")], dtype=[("n", "i4"), ("s", "U3")])
    assert con.sql("SELECT s, n FROM fields").fetchall() == [("x", 1), ("y", 2)]


class Interface:
    """Has memory that NumPy understands, and is no array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


def test_memory_of_others(con: inlay.Connection) -> None:
    memory = Interface(np.array([1.5, 2.5]))
    assert con.sql("SELECT sum(column0) FROM memory").fetchall() == [(4.0,)]


def test_a_reader_is_read_once(con: inlay.Connection) -> None:
    pa = pytest.importorskip("pyarrow")
    reader = pa.table({"x": [1, 2, 3]}).to_reader()
    relation = con.sql("FROM reader")
    assert relation.fetchall() == relation.fetchall() == [(1,), (2,), (3,)]
    with pytest.raises(inlay.InvalidInputException, match="only once"):
        con.sql("FROM reader")


def test_datasets_read_the_columns_that_a_query_does(con: inlay.Connection, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(pa.table({"a": list(range(1000)), "b": ["x"] * 1000, "c": [0.5] * 1000}), tmp_path / "p")
    data = dataset.dataset(tmp_path / "p")
    assert con.sql("SELECT sum(a), sum(c) FROM data WHERE a < 10").fetchall() == [(45, 5.0)]
    assert con.sql("SELECT count(*) FROM data").fetchall() == [(1000,)]
    assert con.sql("FROM data").columns == ["a", "b", "c"]
    scanner = data.scanner(columns=["a"])
    assert con.sql("SELECT max(a) FROM scanner").fetchall() == [(999,)]


def test_lazy_frames(con: inlay.Connection) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.LazyFrame({"x": [1, 2, 3]}).filter(pl.col("x") > 1)
    assert con.sql("SELECT sum(x) FROM frame").fetchall() == [(5,)]


def test_names_are_looked_for_where_settings_say(con: inlay.Connection) -> None:
    table = {"x": np.array([1])}

    def inner() -> Any:
        return con.execute("FROM table_of_the_caller").fetchall()

    table_of_the_caller = table
    with pytest.raises(inlay.CatalogException):
        inner()
    con.execute("SET python_scan_all_frames = true")
    assert inner() == [(1,)]
    con.execute("SET python_enable_replacements = false")
    with pytest.raises(inlay.CatalogException):
        con.execute("FROM table_of_the_caller")
    assert len(table_of_the_caller) == 1


def test_what_cannot_be_a_table(con: inlay.Connection) -> None:
    for value in (5, "text", object(), [1, 2], []):
        with pytest.raises(inlay.InvalidInputException, match="cannot be a table"):
            con.register("v", value)
    with pytest.raises(inlay.InvalidInputException, match="all its elements"):
        con.register("v", [{"a": 1}, 5])
