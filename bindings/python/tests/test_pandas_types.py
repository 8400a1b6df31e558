"""Columns of pandas' own types as tables, relations by several names, and parameters by numbers and names."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import inlay

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

DAY = datetime.date


def read(frame: Any) -> tuple[list[str], list[Any]]:
    relation = inlay.connect().from_df(frame)
    return list(map(str, relation.types)), [row[0] for row in relation.fetchall()]


@pytest.mark.parametrize(
    ("frequency", "second"),
    [("D", DAY(2024, 1, 2)), ("M", DAY(2024, 2, 1)), ("Q", DAY(2024, 4, 1)), ("Y", DAY(2025, 1, 1))],
)
def test_periods_are_the_dates_where_they_begin(frequency: str, second: datetime.date) -> None:
    periods = pd.Series(pd.period_range("2024-01-01", periods=2, freq=frequency))
    expected = [DAY(2024, 1, 1), second]
    assert read(pd.DataFrame({"p": periods})) == (["DATE"], expected)
    assert read(pd.DataFrame({"p": periods.astype("category")})) == (["DATE"], expected)
    with_gap = pd.concat([periods, pd.Series([pd.NaT], dtype=periods.dtype)])
    assert read(pd.DataFrame({"p": with_gap})) == (["DATE"], [*expected, None])


def test_periods_of_hours_are_timestamps() -> None:
    # Moments of pandas before 3 are nanoseconds.
    moment = "TIMESTAMP" if int(pd.__version__.partition(".")[0]) >= 3 else "TIMESTAMP_NS"
    found = read(pd.DataFrame({"p": pd.period_range("2024-01-01 05:00", periods=2, freq="h")}))
    assert found == ([moment], [datetime.datetime(2024, 1, 1, 5), datetime.datetime(2024, 1, 1, 6)])
    # Also where all of them begin at midnight.
    assert read(pd.DataFrame({"p": pd.period_range("2024-01-01", periods=1, freq="h")}))[0] == [moment]


def test_bins_are_words_in_their_order() -> None:
    frame = pd.DataFrame({"x": [20, 1, 5, 100]})
    frame["bin"] = pd.cut(frame.x, [0, 4, 8, 16, 32])
    con = inlay.connect()
    found = con.sql("SELECT bin, count(*) FROM frame GROUP BY bin ORDER BY bin").fetchall()
    assert found == [("(0, 4]", 1), ("(4, 8]", 1), ("(16, 32]", 1), (None, 1)]
    assert con.sql("SELECT max(bin) FROM frame").fetchone() == ("(16, 32]",)


def test_intervals_are_structs() -> None:
    frame = pd.DataFrame({"i": pd.Series(pd.arrays.IntervalArray.from_tuples([(0.0, 1.5), np.nan, (2.0, 3.0)]))})
    types, values = read(frame)
    assert types == ['STRUCT("left" DOUBLE, "right" DOUBLE)']
    assert values == [{"left": 0.0, "right": 1.5}, None, {"left": 2.0, "right": 3.0}]


def test_sparse_columns_are_read() -> None:
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1, 0]), "b": pd.arrays.SparseArray([np.nan, 1.5, np.nan])})
    assert inlay.connect().from_df(frame).fetchall() == [(0, None), (1, 1.5), (0, None)]
    dummies = pd.get_dummies(pd.Series(["u", "v"]), sparse=True)
    assert inlay.connect().from_df(dummies).fetchall() == [(True, False), (False, True)]


def test_a_relation_is_indexed_by_names() -> None:
    relation = inlay.connect().sql('SELECT 1 AS i, 2 AS "k k", 3 AS j')
    assert relation[["k k", "i"]].columns == ["k k", "i"]
    assert relation["j"].fetchall() == [(3,)]
    with pytest.raises(inlay.CatalogException, match='no column "x"; it has i, k k, j'):
        relation[["i", "x"]]
    with pytest.raises(inlay.InvalidInputException, match="a column's name, or a list of names"):
        relation[0]
    with pytest.raises(inlay.InvalidInputException, match="at least one column"):
        relation[[]]


def test_values_of_relations_have_numbers_and_names_in_any_case() -> None:
    con = inlay.connect()
    assert con.sql("SELECT $Name", {"name": 5}).fetchall() == [(5,)]
    assert con.sql("SELECT $1 - $2", {2: 5, 1: 6}).fetchall() == [(1,)]
    assert con.sql("SELECT $1 - $2", {"1": 6, "2": 5}).fetchall() == [(1,)]
    with pytest.raises(inlay.InvalidInputException, match=r"a value for \$other"):
        con.sql("SELECT $other", {"name": 5})
