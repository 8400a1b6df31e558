"""Relations take names as pandas and Polars are given them; what they do not take says how they are called."""

# ruff: noqa: F841 (SQL reads the variables)

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import inlay
from inlay import col


@pytest.fixture
def trips() -> inlay.Relation:
    return inlay.sql("SELECT * FROM (VALUES ('Ulm', 3, 4), ('Bonn', 8, 9)) t(city, a, b)")


def test_lists_of_names(trips: inlay.Relation) -> None:
    assert trips.unpivot(["a", "b"]).fetchall() == trips.unpivot("a", "b").fetchall()
    assert trips.unpivot(("a", "b"), name="n", value="v").columns == ["city", "n", "v"]
    assert trips.unpivot([col("a"), "b"]).fetchall() == trips.unpivot("a", "b").fetchall()
    assert trips.drop(["a", "b"]).columns == ["city"]
    assert inlay.sql("SELECT [1, 2] AS l, [3, 4] AS m").unnest(["l", "m"]).fetchall() == [(1, 3), (2, 4)]
    for wrong in ([], [1]):
        with pytest.raises(inlay.InvalidInputException, match=r"Relation\.unpivot\(\)"):
            trips.unpivot(wrong)  # type: ignore[arg-type]


def test_rename(trips: inlay.Relation) -> None:
    expected = ["city", "x", "b"]
    assert trips.rename({"a": "x"}).columns == expected
    assert trips.rename(columns={"a": "x"}).columns == expected
    assert trips.rename(a="x").columns == expected
    assert trips.rename({"a": "b"}, b="a").columns == ["city", "b", "a"]
    assert inlay.sql("SELECT 1 AS columns").rename(columns="c").columns == ["c"]
    for wrong in ({"a": 1}, ["a", "x"], {}):
        with pytest.raises(inlay.InvalidInputException, match=r"Relation\.rename\(\)"):
            trips.rename(wrong)  # type: ignore[arg-type]


def test_with_columns(trips: inlay.Relation) -> None:
    both = (col("a") + col("b")).alias("both")
    assert trips.with_columns(both).fetchall() == [("Ulm", 3, 4, 7), ("Bonn", 8, 9, 17)]
    assert trips.with_columns([both, (-col("a")).alias("a")], c="1").columns == ["city", "a", "b", "both", "c"]
    with pytest.raises(inlay.InvalidInputException, match=r'with_columns\(c="a \+ b"\)'):
        trips.with_columns("a + b")


@pytest.mark.parametrize(
    ("args", "named", "told"),
    [
        ((), {"index": "city", "columns": "a", "values": "b"}, "it has no index, columns"),
        (("city",), {}, "it lacks its values"),
        (("city", ["Ulm"]), {}, "it lacks an aggregate"),
        (("city", "Ulm", "sum(a)"), {}, "is a text, not a list"),
        (("city", 7, "sum(a)"), {}, "is of type int, not a list"),
    ],
)
def test_pivot_says_how_it_is_called(trips: inlay.Relation, args: Any, named: Any, told: str) -> None:
    with pytest.raises(inlay.InvalidInputException, match=r"Relation\.pivot\(column, values, aggregate\)") as error:
        trips.pivot(*args, **named)
    assert told in str(error.value) and 'trips.pivot("city", ["Ulm", "Bonn"], "sum(km)")' in str(error.value)


def test_values_in_a_list(trips: inlay.Relation) -> None:
    for ulm in (["Ulm"], ("Ulm", "Trier"), {"Ulm"}):
        assert trips.filter(col("city").isin(ulm)).fetchall() == [("Ulm", 3, 4)]
        assert trips.filter(col("city").isnotin(ulm)).fetchall() == [("Bonn", 8, 9)]
    assert trips.filter(col("city").isin("Ulm", "Bonn")).count("*").fetchall() == [(2,)]
    np = pytest.importorskip("numpy")
    assert trips.filter(col("a").isin(np.array([3, 5]))).fetchall() == [("Ulm", 3, 4)]
    with pytest.raises(inlay.InvalidInputException, match="at least one value"):
        col("city").isin([])


def test_a_kept_view_over_a_variable_warns(tmp_path: Path) -> None:
    people = [{"a": 1}]
    con = inlay.connect(str(tmp_path / "x.inlay"))
    with pytest.warns(UserWarning, match='view "v" is kept.*variable people'):
        con.execute("CREATE VIEW v AS FROM people")
    con.execute("CREATE TABLE t AS FROM people")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        con.execute("CREATE VIEW w AS FROM t")
        con.execute("CREATE TEMP VIEW x AS FROM people")
        inlay.connect().execute("CREATE VIEW v AS FROM people")


def test_shared_settings_of_an_open_file_warn(tmp_path: Path) -> None:
    path = str(tmp_path / "x.inlay")
    con = inlay.connect(path, config={"threads": 2})
    with pytest.warns(UserWarning, match="open in this process already.*threads from 2 to 1"):
        inlay.connect(path, config={"threads": 1})
    assert con.execute("SELECT current_setting('threads')").fetchone() == (1,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inlay.connect(path, config={"threads": 1, "timezone": "UTC"})
        inlay.connect(path)


def test_forms_of_sql_say_what_they_take() -> None:
    with pytest.raises(inlay.CatalogException, match=r"if does not take 2 argument\(s\)(.|\n)*if\(") as told:
        inlay.sql("SELECT if(true, 1)")
    assert "does not take" in str(told.value)
