"""Arrays of Arrow, and columns of Arrow, Polars and pandas in dictionaries and lists, are what they are in tables."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

import inlay

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

LARGE = 2**60 + 1
MOMENT = datetime.datetime(2024, 1, 1)
WORDS = pa.DictionaryArray.from_arrays(pa.array([1, 0]), ["b", "a"])

ARROW: dict[str, Any] = {
    "integers": pa.array([LARGE, None]),
    "bytes": pa.array([1, None], pa.int8()),
    "moments": pa.array([MOMENT], pa.timestamp("us", "Asia/Tokyo")),
    "seconds": pa.array([MOMENT], pa.timestamp("s")),
    "nanoseconds": pa.array([1, None], pa.timestamp("ns")),
    "decimals": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(20, 2)),
    "maps": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
    "lists": pa.array([[1, None], None, []], pa.list_(pa.uint16())),
    "booleans": pa.array([True, None]),
    "texts": pa.array(["x", None, "a longer text than a view has"]),
    "blobs": pa.array([b"x", None]),
    "words": WORDS,
    "words in order": pa.DictionaryArray.from_arrays(pa.array([1, 0]), ["b", "a"], ordered=True),
    "nothing": pa.array([None, None]),
    "no rows": pa.array([], pa.int16()),
    "times": pa.array([datetime.time(1, 2, 3)], pa.time32("s")),
}


def read(con: inlay.Connection, table: Any) -> tuple[list[str], list[Any]]:
    """Types and rows of a table."""
    con.register("given", table)
    relation = con.sql("FROM given")
    return list(map(str, relation.types)), relation.fetchall()


@pytest.mark.parametrize("name", ARROW)
def test_arrow_beside_others(con: inlay.Connection, name: str) -> None:
    array = ARROW[name]
    expected = read(con, pa.table({"c": array}))
    if not array.type.equals(pa.null()) and not getattr(array.type, "ordered", False):
        assert read(con, array) == expected
    parts = pa.chunked_array([array, array.slice(0, 1), array], array.type)
    twice = read(con, pa.table({"c": parts}))
    for column, found in ((array, expected), (parts, twice)):
        assert read(con, {"c": column}) == found
        assert read(con, [column]) == found
    other = {"c": parts, "n": np.arange(len(parts)), "l": list(range(len(parts)))}
    types, rows = read(con, other)
    assert types[:1] == twice[0] and [row[:1] for row in rows] == twice[1]
    assert con.sql("SELECT n, l FROM other").fetchall() == [(at, at) for at in range(len(parts))]


def test_columns_of_structs(con: inlay.Connection) -> None:
    array = pa.array([{"a": 1}, {"a": None}], pa.struct([("a", pa.uint8())]))
    # DuckDB has the fields of a struct that comes alone as columns, too.
    assert read(con, array) == (["UTINYINT"], [(1,), (None,)])
    assert read(con, {"c": array}) == (["STRUCT(a UTINYINT)"], [({"a": 1},), ({"a": None},)])
    assert read(con, {"c": pl.Series([{"a": 1}])}) == (["STRUCT(a BIGINT)"], [({"a": 1},)])


def test_arrays_of_others_with_the_interface(con: inlay.Connection) -> None:
    class Foreign:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return pa.array([LARGE]).__arrow_c_array__(requested_schema)

    assert read(con, Foreign()) == (["BIGINT"], [(LARGE,)])
    assert read(con, {"c": Foreign()}) == (["BIGINT"], [(LARGE,)])


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([LARGE, None]),
        pl.Series([1, None], dtype=pl.Int8),
        pl.Series([MOMENT]).dt.replace_time_zone("Asia/Tokyo"),
        pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])),
        pl.Series([decimal.Decimal("1.50")], dtype=pl.Decimal(20, 2)),
        pl.Series([[1], None]),
    ],
)
def test_polars_beside_others(con: inlay.Connection, series: Any) -> None:
    assert read(con, {"c": series}) == read(con, pl.DataFrame({"c": series}))
    assert read(con, [series]) == read(con, pl.DataFrame({"c": series}))


@pytest.mark.parametrize(
    "column",
    [
        pd.array([LARGE, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([True, None], dtype="boolean", index=[7, 8]),
        pd.Series(pd.to_datetime(["2024-01-01", None])).dt.tz_localize("Asia/Tokyo"),
        pd.Series(["b", "a", None], dtype="category"),
        pd.Series(pd.cut([1, 5], [0, 4, 8])),
        pd.Series(pd.period_range("2024-01-01", periods=2, freq="D")),
        pd.Series(["x", None], dtype="string"),
        pd.Index(["x", "y"]),
        pd.Series([decimal.Decimal("1.50")], dtype=pd.ArrowDtype(pa.decimal128(20, 2))),
    ],
)
def test_pandas_beside_others(con: inlay.Connection, column: Any) -> None:
    expected = read(con, pd.DataFrame({"c": pd.Series(column).reset_index(drop=True)}))
    assert read(con, {"c": column}) == expected
    assert read(con, {"c": column, "n": [1] * len(column)})[1] == [(*row, 1) for row in expected[1]]


def test_nan_of_pandas_beside_others_is_as_the_setting_says(con: inlay.Connection) -> None:
    series = {"c": pd.Series([1.5, float("nan")])}
    assert read(con, series) == (["DOUBLE"], [(1.5,), (None,)])
    con.execute("SET nan_as_null = false")
    assert con.sql("SELECT isnan(c) FROM series").fetchall() == [(False,), (True,)]


@pytest.mark.parametrize(
    ("scalar", "kind", "value"),
    [
        (pa.scalar(decimal.Decimal("1.50"), pa.decimal128(20, 2)), "DECIMAL(20,2)", decimal.Decimal("1.50")),
        (pa.scalar(5, pa.uint8()), "UTINYINT", 5),
        (pa.scalar(MOMENT, pa.timestamp("us", "Asia/Tokyo")), "TIMESTAMP WITH TIME ZONE", None),
        (pa.scalar(1, pa.timestamp("ns")), "TIMESTAMP_NS", "1970-01-01 00:00:00.000000001"),
        (pa.scalar([1, 2], pa.list_(pa.int16())), "SMALLINT[]", [1, 2]),
        (pa.scalar({"a": 1}, pa.struct([("a", pa.int8())])), "STRUCT(a TINYINT)", {"a": 1}),
        (pa.scalar("x"), "VARCHAR", "x"),
    ],
)
def test_scalars_of_arrow_are_values(con: inlay.Connection, scalar: Any, kind: str, value: Any) -> None:
    con.register("records", [{"c": scalar}, {"c": pa.scalar(None, scalar.type)}])
    of_record = con.sql("SELECT c, typeof(c) FROM records").fetchall()[0]
    of_parameter = con.execute("SELECT $1, typeof($1)", [scalar]).fetchone()
    for found in (of_record, of_parameter):
        assert found is not None
        assert found[1] == kind and (value is None or found[0] == value)
    assert con.sql("SELECT c IS NULL FROM records").fetchall() == [(False,), (True,)]
    con.create_function("given", lambda x: scalar, ["BIGINT"], kind, type="arrow")
    assert con.sql("SELECT typeof(given(i)), given(i) = given(i) FROM range(2) t(i)").fetchall() == [(kind, True)] * 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": [1, 2], "b": 5}, "'b' is of type int"),
        ({"a": range(3)}, "'a' is of type range"),
        ({"a": (x for x in [1])}, "'a' is of type generator"),
        ({1: [2]}, "1 is no"),
    ],
)
def test_what_is_no_column_is_named(con: inlay.Connection, table: Any, message: str) -> None:
    with pytest.raises(inlay.InvalidInputException, match=message):
        con.register("t", table)
    with pytest.raises(inlay.CatalogException, match=r"'b' is of type int|'a' is of type|1 is none"):
        con.sql('FROM "table"')


@pytest.mark.parametrize("column", [np.ones((2, 2)), pd.DataFrame({"a": [1]}), pa.table({"a": [1], "b": [2]})])
def test_tables_are_no_columns(con: inlay.Connection, column: Any) -> None:
    with pytest.raises(inlay.InvalidInputException, match="column"):
        con.register("t", {"c": column})
