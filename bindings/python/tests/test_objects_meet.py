"""Objects of unlike types meet in the narrowest type that holds them all, at any depth, and lose no digit."""

# ruff: noqa: B007 (SQL reads the variables)

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import pytest

import inlay

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")
pytest.importorskip("pyarrow")


def forms(values: list[Any]) -> list[Any]:
    objects = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        objects[at] = value
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    return [frame, [{"a": value} for value in values], {"a": values}, {"a": objects}]


NESTED = [
    ([{"x": 1}, {"x": "s"}], "STRUCT(x VARCHAR)", [{"x": "1"}, {"x": "s"}]),
    ([{"x": 1, "y": 2.5}, {"x": "s"}], "STRUCT(x VARCHAR, y DOUBLE)", [{"x": "1", "y": 2.5}, {"x": "s", "y": None}]),
    ([[{"x": 1}], [{"x": "s"}]], "STRUCT(x VARCHAR)[]", [[{"x": "1"}], [{"x": "s"}]]),
    ([{"x": [1]}, {"x": ["a", None]}], "STRUCT(x VARCHAR[])", [{"x": ["1"]}, {"x": ["a", None]}]),
    ([[1], ["a"]], "VARCHAR[]", [["1"], ["a"]]),
    ([[[1]], [["a"]]], "VARCHAR[][]", [[["1"]], [["a"]]]),
    ([{"x": 1}, {"x": [1]}], "STRUCT(x VARCHAR)", [{"x": "1"}, {"x": "[1]"}]),
    ([{1: 2}, {1: "a"}], "MAP(INTEGER, VARCHAR)", [{1: "2"}, {1: "a"}]),
    ([[1], "x"], "VARCHAR", ["[1]", "x"]),
    ([{"x": 1}, 5], "VARCHAR", ["{'x': 1}", "5"]),
    ([[b"b"], ["a"]], "VARCHAR[]", [["b"], ["a"]]),
    ([[uuid.UUID(int=1)], ["a"]], "VARCHAR[]", [[str(uuid.UUID(int=1))], ["a"]]),
    (
        [[datetime.time(1)], [datetime.time(1, tzinfo=datetime.timezone.utc)]],
        "VARCHAR[]",
        [["01:00:00"], ["01:00:00+00"]],
    ),
]


@pytest.mark.parametrize(("values", "ty", "expected"), NESTED)
def test_nested_objects_meet_by_their_parts(values: list[Any], ty: str, expected: list[Any]) -> None:
    for form in forms(values):
        relation = inlay.sql("FROM form")
        assert [str(each) for each in relation.types] == [ty]
        assert [row[0] for row in relation.fetchall()] == expected


WIDE = [
    [Decimal("1e30"), Decimal("1e-30")],
    [Decimal("1e-30"), None, Decimal("1e30")],
    [2**126, Decimal("1.5")],
    [[Decimal("1e30"), Decimal("1e-30")]],
    [[Decimal("1e30")], [Decimal("1e-30")]],
    [{"x": Decimal("1e30")}, {"x": Decimal("1e-30")}],
    [Decimal(2) ** 200, Decimal(1)],
    [[Decimal(2) ** 200]],
]


@pytest.mark.parametrize("values", WIDE)
def test_decimals_of_too_many_digits_name_their_column(values: list[Any]) -> None:
    con = inlay.connect()
    for form in forms(values):
        with pytest.raises(inlay.Error, match=r'column "a": .*38') as told:
            con.register("form", form)
            con.sql("FROM form").fetchall()
        assert "round" in str(told.value) and "float" in str(told.value)
    assert con.execute("SELECT 1").fetchall() == [(1,)]


def test_decimals_that_fit_are_exact() -> None:
    for form in forms([Decimal("1.5"), 2**100]):
        relation = inlay.sql("FROM form")
        assert relation.fetchall() == [(Decimal("1.5"),), (Decimal(2**100),)]
    for form in forms([Decimal("NaN"), Decimal("1.5")]):
        assert inlay.sql("FROM form").fetchall() == [(None,), (Decimal("1.5"),)]
    for form in forms([Decimal("1.5"), 2.5]):
        assert inlay.sql("FROM form").fetchall() == [(1.5,), (2.5,)]


def test_numbers_of_128_bits_are_exact() -> None:
    for form in forms([1, 2**127]):
        assert inlay.sql("FROM form").fetchall() == [(1,), (2**127,)]
    for form in forms([-1, 2**127]):
        assert inlay.sql("FROM form").fetchall() == [("-1",), (str(2**127),)]


def test_texts_behind_other_objects() -> None:
    own = [7, None, float("nan"), datetime.date(2020, 1, 1), "x", Decimal(2) ** 200]
    for form in forms(own):
        found = [row[0] for row in inlay.sql("FROM form").fetchall()]
        assert found == ["7", None, None, "2020-01-01", "x", str(Decimal(2) ** 200)]


def test_parameters_of_unlike_parts() -> None:
    con = inlay.connect()
    assert con.execute("SELECT typeof(?)", [[{"x": 1}, {"x": "s"}]]).fetchone() == ("STRUCT(x VARCHAR)[]",)
    with pytest.raises(inlay.Error, match="38"):
        con.execute("SELECT ?", [[Decimal("1e30"), Decimal("1e-30")]])
