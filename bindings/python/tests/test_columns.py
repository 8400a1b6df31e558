"""`fetchnumpy()` gives a dictionary whose columns become arrays when they are looked at."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inlay
from inlay._columns import Columns
from inlay._inlay import PendingColumn

ROWS = 40_000
NAMES = ["i", "n", "price", "name", "day"]


@pytest.fixture
def con() -> inlay.Connection:
    con = inlay.connect(decimal="exact")
    con.execute(f"""
        CREATE TABLE t AS
        SELECT i, CASE WHEN i % 3 > 0 THEN i END AS n, (i % 1000 / 100)::DECIMAL(9, 2) AS price, 'name ' || i AS name,
            DATE '2000-01-01' + i::INTEGER AS day
        FROM range({ROWS}) r(i)
    """)
    return con


def pending(columns: dict[str, Any]) -> list[str]:
    """Return the names of columns that nobody has looked at."""
    return [name for name, found in dict.items(columns) if type(found) is PendingColumn]


def of_table(con: inlay.Connection) -> dict[str, Any]:
    return con.execute("FROM t").fetchnumpy()


def computed(con: inlay.Connection) -> dict[str, Any]:
    return con.execute("SELECT * FROM t WHERE i >= 0").fetchnumpy()


SOURCES = [of_table, computed, lambda con: con.sql("FROM t").fetchnumpy()]
Source = Callable[[inlay.Connection], dict[str, Any]]


@pytest.mark.parametrize("source", SOURCES)
def test_a_column_is_converted_when_it_is_touched(con: inlay.Connection, source: Source) -> None:
    columns = source(con)
    assert isinstance(columns, dict) and list(columns) == NAMES and pending(columns) == NAMES
    assert len(columns) == 5 and "i" in columns and "x" not in columns and columns.keys() == set(NAMES)
    assert pending(columns) == NAMES
    array = columns["i"]
    assert type(array) is np.ndarray and array[-1] == ROWS - 1 and pending(columns) == NAMES[1:]
    assert columns["i"] is array and columns.get("i") is array
    assert isinstance(columns["n"], np.ma.MaskedArray) and columns["n"].mask[0]
    assert columns["price"][1] == Decimal("0.01") and pending(columns) == ["name", "day"]
    with pytest.raises(KeyError):
        columns["x"]
    assert columns.get("x") is None and columns.get("x", 5) == 5


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "look",
    [
        dict,
        lambda columns: {**columns},
        lambda columns: (lambda **given: given)(**columns),
        lambda columns: dict(columns.items()),
        lambda columns: dict(zip(columns, columns.values(), strict=True)),
        lambda columns: columns | {},
        lambda columns: {} | columns,
        lambda columns: {name: columns[name] for name in columns},
        lambda columns: {name: columns.get(name) for name in columns},
        lambda columns: {name: columns.setdefault(name) for name in list(columns)},
        lambda columns: {name: columns.pop(name) for name in list(columns)},
        lambda columns: dict(reversed([columns.popitem() for _ in range(5)])),
        lambda columns: OrderedDict(columns),
        lambda columns: columns.copy(),
        copy.copy,
        copy.deepcopy,
        lambda columns: pickle.loads(pickle.dumps(columns)),
        lambda columns: pickle.loads(pickle.dumps(columns, 0)),
    ],
)
def test_it_is_a_dictionary_to_whoever_looks(con: inlay.Connection, source: Source, look: Any) -> None:
    seen = look(source(con))
    assert isinstance(seen, dict) and list(seen) == NAMES
    assert all(isinstance(array, np.ndarray) for array in seen.values())
    assert seen["i"][-1] == ROWS - 1 and seen["name"][7] == "name 7" and seen["price"][999] == Decimal("9.99")


def test_update_of_another_dictionary(con: inlay.Connection) -> None:
    taken: dict[str, Any] = {"first": 1}
    taken.update(of_table(con))
    assert list(taken) == ["first", *NAMES] and type(taken["i"]) is np.ndarray
    taken |= of_table(con)
    assert type(taken["price"]) is np.ndarray


def test_it_can_be_changed(con: inlay.Connection) -> None:
    columns = of_table(con)
    columns["i"] = 5
    columns["new"] = 6
    del columns["n"]
    assert columns["i"] == 5 and list(columns) == ["i", "price", "name", "day", "new"]
    columns.update(name="x")
    assert columns["name"] == "x" and pending(columns) == ["price", "day"]
    columns.clear()
    assert columns == {} and not columns


def test_equality_and_texts_are_of_arrays(con: inlay.Connection) -> None:
    columns = of_table(con)
    same = columns.copy()
    assert pending(same) == NAMES
    assert columns == same, "one array each for both"
    assert dict(columns) == columns and columns == dict(columns)
    assert columns != {} and columns != 5
    small = con.execute("SELECT 1 AS a, 'x' AS b").fetchnumpy()
    assert repr(small) == repr({"a": small["a"], "b": small["b"]}) and "array" in repr(small)
    listed = json.dumps(con.execute("SELECT 1 AS a").fetchnumpy(), default=lambda array: array.tolist())
    assert listed == '{"a": [1]}'
    with pytest.raises(TypeError):
        hash(columns)
    match of_table(con):
        case {"i": found}:
            assert type(found) is np.ndarray


def test_libraries_take_it(con: inlay.Connection) -> None:
    assert pd.DataFrame(of_table(con))["price"][1] == Decimal("0.01")
    assert pl.DataFrame(con.execute("SELECT i, name FROM t").fetchnumpy())["i"].sum() == ROWS * (ROWS - 1) // 2
    assert pa.table(con.execute("SELECT i, name FROM t").fetchnumpy()).num_rows == ROWS
    columns = of_table(con)
    known = con.execute("SELECT count(n), sum(price), max(name) FROM t").fetchone()
    assert con.execute("SELECT count(n), sum(price), max(name) FROM columns").fetchone() == known
    assert len(columns) == 5
    con.register("again", of_table(con))
    assert con.execute("SELECT count(*) FROM again JOIN t USING (i, price, name, day)").fetchone() == (ROWS,)


def test_code_in_c_finds_what_is_an_array(con: inlay.Connection) -> None:
    held = dict.__getitem__(of_table(con), "i")
    assert type(held) is PendingColumn
    assert np.asarray(held)[-1] == ROWS - 1 and np.asarray(held, dtype="f4").dtype == np.float32
    assert len(held) == ROWS and held[5] == 5 and held.dtype == np.int64 and list(held)[:2] == [0, 1]
    assert repr(held) == repr(held.array()) and type(pickle.loads(pickle.dumps(held))) is np.ndarray


def test_rows_are_those_of_the_query(con: inlay.Connection) -> None:
    columns = of_table(con)
    con.execute("UPDATE t SET i = -1, name = 'changed'")
    con.execute("DROP TABLE t")
    assert columns["i"][5] == 5 and columns["name"][5] == "name 5"


def test_columns_outlive_what_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "file.db"
    with inlay.connect(path) as con:
        con.execute(f"CREATE TABLE t AS SELECT i, i::DECIMAL(9, 2) AS d, 'name ' || i AS s FROM range({ROWS}) r(i)")
    con = inlay.connect(path)
    columns = con.execute("FROM t").fetchnumpy()
    related = con.sql("FROM t").fetchnumpy()
    con.close()
    path.unlink()
    for each in (columns, related):
        assert each["i"][7] == 7 and each["d"][7] == Decimal(7) and each["s"][7] == "name 7"


def test_columns_keep_a_database_that_nobody_closes() -> None:
    def made() -> dict[str, Any]:
        con = inlay.connect(decimal="exact")
        con.execute(f"CREATE TABLE t AS SELECT i, 'name ' || i AS s FROM range({ROWS}) r(i)")
        return con.execute("FROM t").fetchnumpy()

    columns = made()
    gc.collect()
    assert columns["i"][7] == 7 and columns["s"][7] == "name 7"


def test_an_error_comes_when_its_column_is_touched(con: inlay.Connection) -> None:
    columns = con.execute("SELECT 1 AS good, TIMESTAMP 'infinity' AS bad").fetchnumpy()
    assert columns["good"][0] == 1
    for _ in range(2):
        with pytest.raises(inlay.OutOfRangeException, match='column "bad" has an infinite TIMESTAMP in row 0'):
            columns["bad"]
    with pytest.raises(inlay.OutOfRangeException):
        columns.values()
    assert columns["good"][0] == 1
    with pytest.raises(inlay.OutOfRangeException):
        dict(columns)


def test_arguments_are_checked_at_once(con: inlay.Connection) -> None:
    with pytest.raises(inlay.InvalidInputException):
        con.execute("FROM t").fetchnumpy(decimal="none")
    with pytest.raises(inlay.InvalidInputException):
        con.execute("FROM t").fetchnumpy(strings="none")


def test_threads_get_one_array(con: inlay.Connection) -> None:
    for source in (of_table, computed):
        columns, seen = source(con), []
        start = threading.Barrier(8)

        def look(columns: dict[str, Any] = columns, seen: list[Any] = seen, start: Any = start) -> None:
            start.wait()
            seen.append([columns[name] for name in NAMES])

        threads = [threading.Thread(target=look) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == 8 and all(one is other for each in seen for one, other in zip(each, seen[0], strict=True))


def test_values_converts_all(con: inlay.Connection) -> None:
    for source in (of_table, computed):
        columns = source(con)
        for name, array in columns.items():
            assert len(array) == ROWS and columns[name] is array
        assert pending(columns) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_may_look(con: inlay.Connection) -> None:
    columns = of_table(con)
    child = os.fork()
    if child == 0:
        try:
            good = columns["i"][7] == 7 and columns["name"][7] == "name 7" and columns["price"][7] == Decimal("0.07")
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert columns["i"][7] == 7


def test_equal_decimals_are_one_object(con: inlay.Connection) -> None:
    price = of_table(con)["price"]
    assert price[3] is price[1003] and len({id(value) for value in price}) < 2000


def test_decimals_of_all_widths_and_many_values(con: inlay.Connection) -> None:
    for precision in (4, 9, 18, 38):
        query = f"SELECT ((i * 7919) % 9973 / 10)::DECIMAL({precision}, 1) AS d FROM range(200000) r(i)"
        expected = [Decimal(i * 7919 % 9973).scaleb(-1) for i in range(200_000)]
        assert con.execute(query).fetchnumpy()["d"].tolist() == expected
    distinct = con.execute("SELECT (i / 100)::DECIMAL(18, 2) AS d FROM range(300000) r(i)").fetchnumpy()["d"]
    assert all(value == Decimal(i).scaleb(-2) for i, value in enumerate(distinct))


def test_of_connections_and_cursors(con: inlay.Connection) -> None:
    con.execute("FROM t")
    assert con["i"][7] == 7 and con["price"] is con["price"] and list(con.keys()) == NAMES
    with pytest.raises(KeyError, match="it has"):
        con["x"]
    assert isinstance(of_table(con), Columns)
