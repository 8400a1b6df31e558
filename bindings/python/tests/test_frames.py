"""Data frames that are unusual: repeated names, objects of several kinds, categories. Queries name variables."""

# ruff: noqa: F841

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import inlay

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "a"], ["a", "a_1"]),
        (["a_1", "a", "a"], ["a_1", "a", "a_2"]),
        (["a", "a", "a_1"], ["a", "a_2", "a_1"]),
        (["a", "A", "a"], ["a", "A_1", "a_2"]),
        ([1, "1", None], ["1", "1_1", "None"]),
        (["a", "a", "a", "a_2"], ["a", "a_1", "a_3", "a_2"]),
    ],
)
def test_repeated_names_of_a_frame_are_numbered(con: inlay.Connection, names: list[Any], expected: list[str]) -> None:
    rows = [tuple(range(len(names))), tuple(range(10, 10 + len(names)))]
    frame = pd.DataFrame(rows, columns=names)
    relation = con.sql("FROM frame")
    assert (relation.columns, relation.fetchall()) == (expected, rows)
    con.register("registered", frame)
    assert con.execute("FROM registered").fetchall() == rows
    # With objects that Arrow does not take, too.
    mixed = pd.DataFrame([[1, *row] for row in rows], columns=["m", *names])
    mixed["m"] = pd.Series([2**70, 2.5], dtype=object)
    assert con.sql("FROM mixed").columns == ["m", *expected]
    assert list(frame.columns) == names


def test_repeated_names_of_other_objects(con: inlay.Connection) -> None:
    arrow = pa.table([[1], [2]], names=["a", "a"])
    assert con.sql("FROM arrow").fetchall() == [(1, 2)]
    relation = con.sql("SELECT 1 AS a, 2 AS a, 3 AS a_1")
    assert list(relation.df().columns) == list(relation.fetchnumpy())
    assert len(set(relation.df().columns)) == len(set(relation.fetchnumpy())) == 3
    pl = pytest.importorskip("polars")
    assert isinstance(relation.pl(), pl.DataFrame)
    assert len(set(relation.pl().columns)) == 3
    assert relation.pl().rows() == [(1, 2, 3)]


LATE = {
    "decimals": ([Decimal("10.00")], Decimal("1000.001"), "DECIMAL(7,3)"),
    "whole and decimal": ([1], Decimal("2.5"), "DECIMAL(11,1)"),
    "text": ([None], "john", "VARCHAR"),
    "number and text": ([1], "john", "VARCHAR"),
    "text and number": (["john"], 1, "VARCHAR"),
    "float": ([1], 2.5, "DOUBLE"),
    "large": ([1], 2**70, "HUGEINT"),
    "large unsigned": ([1], 2**64 - 1, "HUGEINT"),
    "larger than 128 bits": ([1], 2**130, "VARCHAR"),
    "date and moment": ([pd.Timestamp("2020-01-01").date()], pd.Timestamp("2020-01-02 03:04:05"), "TIMESTAMP"),
}


@pytest.mark.parametrize("kind", sorted(LATE))
@pytest.mark.parametrize("count", [1, 50_000])
def test_late_values_of_objects_count(con: inlay.Connection, kind: str, count: int) -> None:
    first, last, expected = LATE[kind]
    values = first * count + [last]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": range(len(values))})
    relation = con.sql("SELECT * FROM frame")
    rows = relation.fetchall()
    assert len(rows) == len(values) and [y for _, y in rows] == list(range(len(values)))
    found = rows[-1][0]
    if expected == "VARCHAR":
        assert found == str(last) and rows[0][0] == (None if first[0] is None else str(first[0]))
    else:
        assert float(found) == pytest.approx(float(last)) if isinstance(last, (int, float, Decimal)) else found == last
    if kind != "decimals" or count > 1:
        assert relation.types[0].partition("(")[0] == expected.partition("(")[0]
    if kind in ("large", "large unsigned", "decimals", "whole and decimal"):
        assert found == last


def test_categories_keep_their_order(con: inlay.Connection) -> None:
    sizes = pd.Categorical(["M", "S", None, "L", "M"], categories=["S", "M", "L"], ordered=True)
    frame = pd.DataFrame({"size": sizes, "n": range(5)})
    con.register("frame", frame)
    for source in ("frame", "other"):
        other = frame
        relation = con.sql(f"SELECT * FROM {source}")
        assert relation.types == ["ENUM('S', 'M', 'L')", "BIGINT"]
        assert relation.select("size").order("size NULLS LAST").fetchall() == [("S",), ("M",), ("M",), ("L",), (None,)]
        assert relation.filter("size = 'L'").fetchall() == [("L", 3)]
    back = con.sql("FROM frame ORDER BY n").df()
    assert back["size"].dtype == pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    assert back["size"].isna().tolist() == [False, False, True, False, False]
    assert back["size"].dropna().tolist() == ["M", "S", "L", "M"]
    assert con.sql("FROM back ORDER BY n").fetchall() == con.sql("FROM frame ORDER BY n").fetchall()
    con.execute("CREATE TABLE kept AS FROM frame")
    assert con.execute("SELECT max(size) FROM kept").fetchall() == [("L",)]
    # In rows of many batches, and of several workers.
    long = pd.DataFrame({"c": pd.Categorical(np.tile(["b", "a", "c"], 100_000), categories=["c", "b", "a"])})
    counts = con.sql("SELECT c, count(*) FROM long GROUP BY c ORDER BY c")
    assert counts.fetchall() == [("c", 100_000), ("b", 100_000), ("a", 100_000)]
    assert con.sql("FROM long").df()["c"].tolist() == long["c"].tolist()


def test_categories_that_are_no_words(con: inlay.Connection) -> None:
    frame = pd.DataFrame(
        {
            "n": pd.Categorical([2, 1, 2]),
            "none": pd.Categorical([None, None, None]),
            "mixed": pd.Categorical(["a", 1, "a"], categories=["a", 1]),
            "quoted": pd.Categorical(["it's", 'a"b', ""]),
            "o": pd.Series([1, "x", 2.5], dtype=object),
        }
    )
    for columns in (["n"], ["quoted"], ["n", "quoted", "none"], list(frame.columns)):
        part = frame[columns]
        rows = con.sql("FROM part").fetchall()
        assert [row[columns.index("quoted")] for row in rows] == ["it's", 'a"b', ""] if "quoted" in columns else rows
    assert con.sql("SELECT n FROM frame").types == ["BIGINT"]


def test_enums_of_the_database_are_categories(con: inlay.Connection) -> None:
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
    con.execute(
        "CREATE TABLE people (name VARCHAR, mood mood); "
        "INSERT INTO people VALUES ('a', 'ok'), ('b', NULL), ('c', 'sad')"
    )
    frame = con.sql("FROM people ORDER BY name").df()
    assert list(frame["mood"].cat.categories) == ["sad", "ok", "happy"] and frame["mood"].cat.ordered
    assert frame["mood"].cat.codes.tolist() == [1, -1, 0]
    con.execute("INSERT INTO people SELECT name, mood FROM frame")
    assert con.execute("SELECT count(*) FROM people WHERE mood = 'ok'").fetchall() == [(2,)]
    words = [f"w{n}" for n in range(70_000)]
    many = pd.DataFrame({"c": pd.Categorical.from_codes(np.arange(70_000), categories=words)})
    assert con.sql("SELECT min(c), max(c), count(DISTINCT c) FROM many").fetchall() == [("w0", "w69999", 70_000)]
    assert con.sql("FROM people WHERE false").df()["mood"].tolist() == []


def test_kinds_of_columns_beside_one_that_arrow_refuses(con: inlay.Connection) -> None:
    frame = pd.DataFrame(
        {
            "o": pd.Series([1, 2**70, None], dtype=object),
            "i": pd.array([1, None, 3], dtype="Int64"),
            "s": ["x", None, "z"],
            "t": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
            "c": pd.Categorical(["a", "b", None]),
        }
    )
    rows = con.sql("FROM frame").fetchall()
    assert [row[:3] for row in rows] == [(1, 1, "x"), (2**70, None, None), (None, 3, "z")]
    assert [row[4] for row in rows] == ["a", "b", None] and rows[1][3] is None


def test_pairs_of_kinds_in_objects(con: inlay.Connection) -> None:
    values = [None, True, 1, 2**40, 2**70, 2.5, Decimal("1.25"), "x", b"x"]
    for pair in itertools.product(values, repeat=2):
        frame = pd.DataFrame({"x": pd.Series(pair, dtype=object)})
        assert len(con.sql("FROM frame").fetchall()) == 2, pair


def test_python_objects_of_polars_are_refused_by_name(con: inlay.Connection) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"o": pl.Series(["a", 1, None], dtype=pl.Object), "b": [1, 2, 3]})
    with pytest.raises(inlay.NotSupportedError, match='column "o" is of the type Object of Polars'):
        con.register("f", frame)
    with pytest.raises(inlay.NotSupportedError, match='column "o" is of the type Object of Polars'):
        con.sql("FROM frame").fetchall()
    con.register("f", frame.drop("o"))
    assert con.execute("FROM f").fetchall() == [(1,), (2,), (3,)]
