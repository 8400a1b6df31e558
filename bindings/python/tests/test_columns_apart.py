"""Columns of a pandas frame are decided one by one, and objects lose nothing on their way."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import inlay

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

DAY = datetime.date(2020, 1, 1)
NOON = datetime.datetime(2020, 1, 1, 12)
AWARE = NOON.replace(tzinfo=datetime.timezone.utc)
FINE = pd.Timestamp("2020-01-01 00:00:00.123456789")


class Own:
    def __str__(self) -> str:
        return "own"


AWKWARD: dict[str, Callable[[], Any]] = {
    "number and text": lambda: [1, "a"],
    "list and text": lambda: [[1], "x"],
    "structs": lambda: [{"x": 1}, {"x": "s"}],
    "date and moment": lambda: [DAY, pd.Timestamp("2020-01-02 03:00")],
    "naive and aware": lambda: [NOON, AWARE],
    "own class": lambda: [Own(), Own()],
    "beyond 128 bits": lambda: [1 << 130, 2],
    "sparse": lambda: pd.arrays.SparseArray([1, 2]),
    "longdouble": lambda: np.array([1, 2], dtype="longdouble"),
    "categories": lambda: pd.Categorical(["a", 1], categories=["a", 1]),
}

ORDERLY = {
    "id": ("BIGINT", [2**53 + 1, None]),
    "arrow": ("BIGINT", [2**53 + 1, None]),
    "small": ("UTINYINT", [255, None]),
    "truth": ("BOOLEAN", [True, None]),
    "word": ("ENUM('x', 'y')", ["x", "y"]),
    "number": ("BIGINT", [7, 8]),
    "price": ("DECIMAL(10,2)", [Decimal("1.50"), None]),
    "text": ("VARCHAR", ["q", None]),
}


def frame_with(awkward: Any) -> Any:
    return pd.DataFrame(
        {
            "id": pd.array([2**53 + 1, None], dtype="Int64"),
            "arrow": pd.array([2**53 + 1, None], dtype="int64[pyarrow]"),
            "o": awkward,
            "small": pd.array([255, None], dtype="UInt8"),
            "truth": pd.array([True, None], dtype="boolean"),
            "word": pd.Categorical(["x", "y"]),
            "number": pd.Categorical([7, 8]),
            "price": pd.array([Decimal("1.50"), None], dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
            "text": ["q", None],
        }
    )


@pytest.mark.parametrize("kind", sorted(AWKWARD))
def test_an_awkward_column_leaves_the_others_what_they_are(kind: str) -> None:
    con, frame = inlay.connect(), frame_with(AWKWARD[kind]())
    con.register("registered", frame)
    mapped = con.sql("SELECT 1").map(lambda _: frame, schema=None)
    for relation in (con.sql("FROM frame"), con.from_df(frame), con.sql("FROM registered"), mapped):
        chosen = relation.select(*ORDERLY)
        expected = dict(zip(chosen.columns, map(str, chosen.types), strict=True))
        assert expected == {name: ty for name, (ty, _) in ORDERLY.items()}
        assert chosen.fetchall() == list(zip(*(values for _, values in ORDERLY.values()), strict=True))


@pytest.mark.parametrize("kind", sorted(AWKWARD))
def test_what_is_appended_is_exact_beside_an_awkward_column(kind: str) -> None:
    con, frame = inlay.connect(), frame_with(AWKWARD[kind]())
    columns = ", ".join(f'"{name}" {ty}' for name, (ty, _) in ORDERLY.items())
    con.execute(f"CREATE TABLE t ({columns}, o VARCHAR)")
    con.append("t", frame, by_name=True)
    found = con.sql("FROM t").select(*ORDERLY).fetchall()
    assert found == list(zip(*(values for _, values in ORDERLY.values()), strict=True))


@pytest.mark.parametrize(
    ("values", "ty", "expected"),
    [
        (
            [[DAY, NOON], [NOON]],
            "TIMESTAMP[]",
            ["['2020-01-01 00:00:00', '2020-01-01 12:00:00']", "['2020-01-01 12:00:00']"],
        ),
        (
            [{"a": DAY}, {"a": NOON}],
            "STRUCT(a TIMESTAMP)",
            ["{'a': '2020-01-01 00:00:00'}", "{'a': '2020-01-01 12:00:00'}"],
        ),
        ([FINE, NOON], "TIMESTAMP_NS", ["2020-01-01 00:00:00.123456789", "2020-01-01 12:00:00"]),
        ([NOON, FINE], "TIMESTAMP_NS", ["2020-01-01 12:00:00", "2020-01-01 00:00:00.123456789"]),
        ([[NOON], [FINE]], "TIMESTAMP_NS[]", ["['2020-01-01 12:00:00']", "['2020-01-01 00:00:00.123456789']"]),
        (
            [datetime.timedelta(1), pd.Timedelta(5, "ns")],
            "VARCHAR",
            ["1 day", "0 days 00:00:00.000000005"],
        ),
        (["a", b"\x00"], "VARCHAR", ["a", "\\x00"]),
        ([b"b", "a"], "VARCHAR", ["b", "a"]),
    ],
)
def test_objects_of_a_frame_lose_nothing(values: list[Any], ty: str, expected: list[str]) -> None:
    con = inlay.connect()
    forms = [pd.DataFrame({"a": pd.Series(values, dtype=object)}), [{"a": value} for value in values], {"a": values}]
    for form in forms:
        con.register("form", form)
        relation = con.sql("FROM form")
        assert [str(each) for each in relation.types] == [ty]
        assert relation.select("a::VARCHAR").fetchall() == [(each,) for each in expected]


def test_a_frame_with_nothing_but_objects_and_one_without_rows() -> None:
    con = inlay.connect()
    frame = pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "b": pd.Series([b"x", None], dtype=object)})
    assert con.from_df(frame).fetchall() == [("1", b"x"), ("x", None)]
    none = con.from_df(frame_with([1, "a"])[:0])
    assert none.fetchall() == []
    assert [str(ty) for ty in none.select("id", "word", "price").types] == ["BIGINT", "ENUM('x', 'y')", "DECIMAL(10,2)"]


@pytest.mark.parametrize(
    "values",
    [
        # Arrow ends the process on these.
        [np.datetime64("2020-01-01"), np.int64(5)],
        [[np.datetime64("2020-01-01"), np.int64(5)]],
        [1, np.float16(0.5)],
        [1, uuid.UUID(int=5)],
        [datetime.date(2020, 1, 2), 5],
        [datetime.date(2020, 1, 2), 0.5],
        [datetime.datetime(2020, 1, 1), 5],
        [datetime.time(1), np.int8(3)],
        [datetime.timedelta(1), 0.5],
        [[1], [np.float16(0.5)]],
        [{"a": 1}, {"a": uuid.UUID(int=9)}],
        [{datetime.date(2020, 1, 1)}, {datetime.datetime(2020, 1, 1, 5)}],
        [1, True],
        [None, "a", 2.5],
    ],
)
def test_objects_are_what_they_are_in_a_list(con: inlay.Connection, values: list[Any]) -> None:
    frame = pd.DataFrame({"c": pd.Series(values, dtype=object)})
    columns = {"c": values}
    con.register("frame", frame)
    con.register("columns", columns)
    sql = "SELECT c::VARCHAR, typeof(c) FROM "
    assert con.execute(sql + "frame").fetchall() == con.execute(sql + "columns").fetchall()
