"""Lists, structs, maps, enums and UUIDs between Python and the engine, in both directions."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow
import pytest

import inlay

VALUES: list[tuple[str, Any]] = [
    ("[1, 2, NULL]", [1, 2, None]),
    ("[['a'], [], NULL]", [["a"], [], None]),
    ("{'a': 1, 'b': {'c': 'a text longer than twelve'}}", {"a": 1, "b": {"c": "a text longer than twelve"}}),
    ("MAP {'k': 1.5::DOUBLE}", {"k": 1.5}),
    ("[1, 2]::INTEGER[2]", (1, 2)),
    ("[{'a': [1]}, NULL]", [{"a": [1]}, None]),
    ("'b'::ENUM('a', 'b')", "b"),
    (
        "'00112233-4455-6677-8899-aabbccddeeff'::UUID",
        uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"),
    ),
]


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_values_become_python(text: str, expected: object) -> None:
    con = inlay.connect()
    row = con.execute(f"SELECT {text} AS v, NULL").fetchone()
    assert row is not None
    value = row[0]
    assert (tuple(value) if isinstance(expected, tuple) else value) == expected
    frame = con.execute(f"SELECT {text} AS v FROM range(3)").df()
    assert len(frame) == 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([1, 2, None], "[1, 2, NULL]"),
        ([[1], []], "[[1], []]"),
        ({"a": 1, "b": "x"}, "{'a': 1, 'b': x}"),
        (["a text longer than twelve"], "[a text longer than twelve]"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    ],
)
def test_parameters_may_be_nested(value: object, shown: str) -> None:
    con = inlay.connect()
    assert con.execute("SELECT CAST(? AS VARCHAR)", [value]).fetchone() == (shown,)


def arrow_table() -> pyarrow.Table:
    """Every nested Arrow type, with NULLs, empty values, and strings that are not inline."""
    long = "a text longer than twelve bytes"
    return pyarrow.table(
        {
            "l": pyarrow.array([[1, None], None, [], [4]], pyarrow.list_(pyarrow.int32())),
            "big": pyarrow.array([["a", long], [], None, [None]], pyarrow.large_list(pyarrow.string())),
            "two": pyarrow.array([[1, 2], None, [3, None], [5, 6]], pyarrow.list_(pyarrow.int64(), 2)),
            "s": pyarrow.array([{"a": 1, "b": [long]}, None, {"a": None, "b": None}, {"a": 4, "b": []}]),
            "m": pyarrow.array(
                [[("k", 1)], [], None, [("x", None), ("y", 2)]],
                pyarrow.map_(pyarrow.string(), pyarrow.int64()),
            ),
        }
    )


@pytest.mark.parametrize("part", [slice(0, 4), slice(1, 4), slice(2, 3), slice(0, 0)])
def test_arrow_tables_go_in_and_come_out(part: slice) -> None:
    table = arrow_table()[part]
    con = inlay.connect()
    con.register("t", table)
    result = con.execute("SELECT * FROM t").arrow()
    assert result.to_pylist() == table.to_pylist()
    con.execute("CREATE TABLE kept AS SELECT * FROM t")
    assert con.execute("SELECT * FROM kept").arrow().to_pylist() == table.to_pylist()


def test_parts_are_reached() -> None:
    con = inlay.connect()
    con.register("t", arrow_table())
    rows = con.execute("SELECT l[1], s.a, s.b[1], m['y'] FROM t").fetchall()
    assert rows == [
        (1, 1, "a text longer than twelve bytes", None),
        (None, None, None, None),
        (None, None, None, None),
        (4, 4, None, 2),
    ]


def test_unions_and_enums_leave_as_arrow() -> None:
    con = inlay.connect()
    con.execute("CREATE TABLE u (v UNION(n INTEGER, s VARCHAR), e ENUM('x', 'y'))")
    con.execute("INSERT INTO u VALUES (1, 'y'), ('text', NULL)")
    table = con.execute("SELECT * FROM u").arrow()
    assert table.column("v").to_pylist() == [1, "text"]
    assert pyarrow.types.is_dictionary(table.schema.field("e").type)
    assert table.column("e").to_pylist() == ["y", None]


def test_files_keep_nested_values(tmp_path: Any) -> None:
    path = tmp_path / "nested.inlay"
    with inlay.connect(path) as con:
        con.register("t", arrow_table())
        con.execute("CREATE TABLE t2 AS SELECT * FROM t")
    with inlay.connect(path) as con:
        assert con.execute("SELECT * FROM t2").arrow().to_pylist() == arrow_table().to_pylist()
