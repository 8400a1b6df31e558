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


COLUMNS = {
    "l": "CASE WHEN i % 7 = 0 THEN NULL ELSE [i % 5, NULL, i]::BIGINT[] END",
    "c": "[1, 2]",
    "a": "[i, i + 1]::INTEGER[2]",
    "s": "{'n': i % 3, 't': CASE WHEN i % 4 = 0 THEN NULL ELSE 'a text longer than twelve ' || i END}",
    "m": "CASE WHEN i % 9 = 0 THEN NULL ELSE MAP {'k' || (i % 11): i, 'z': NULL} END",
    "u": "CASE WHEN i % 2 = 0 THEN union_value(n := i)::UNION(n BIGINT, s VARCHAR) END",
    "e": "CASE i % 3 WHEN 0 THEN 'x' WHEN 1 THEN 'y' END::ENUM('y', 'x')",
    "id": "md5(i::VARCHAR)::UUID",
    "b": "CASE WHEN i % 5 <> 0 THEN (i % 1000)::INTEGER::BIT END",
    "j": """('{"a": ' || i % 17 || '}')::JSON""",
    "big": "i::HUGEINT * 1000000000000",
    "ts": "make_timestamp(i * 1000000)::TIMESTAMP_S",
    "tns": "make_timestamp(i)::TIMESTAMP_NS",
    "tz": "make_timestamp(i * 1000)::TIMESTAMPTZ",
    "iv": "to_days(i % 100)",
}


def checksums(con: inlay.Connection) -> list[Any]:
    parts = [f"count({name}), min({name}::VARCHAR), max({name}::VARCHAR), bit_xor(hash({name}))" for name in COLUMNS]
    return con.execute(f"SELECT count(*), {', '.join(parts)} FROM t").fetchall()


def test_files_keep_every_type(tmp_path: Any) -> None:
    path, copy = tmp_path / "types.inlay", tmp_path / "copy.inlay"
    columns = ", ".join(f"{text} AS {name}" for name, text in COLUMNS.items())
    with inlay.connect(path) as con:
        con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(140000) r(i)")
        con.execute("CREATE UNIQUE INDEX t_id ON t (id)")
        con.execute("CREATE INDEX t_j ON t (j)")
        made = checksums(con)
    with inlay.connect(path) as con:
        assert checksums(con) == made
        wanted = con.execute("SELECT id, l, s FROM t WHERE big = 77::HUGEINT * 1000000000000").fetchone()
        assert wanted is not None and wanted[1] is None and wanted[2]["n"] == 2
        assert con.execute("SELECT big FROM t WHERE id = ?", [wanted[0]]).fetchall() == [(77 * 10**12,)]
        con.execute("UPDATE t SET l = [9], s = {'n': -1, 't': 'x'}, j = 'null', e = 'y' WHERE big % 3 = 0")
        con.execute("DELETE FROM t WHERE s.n = 1")
        changed = checksums(con)
        # What lies in the files now is what a kill would leave.
        for suffix in ("", ".wal"):
            if (path.parent / (path.name + suffix)).exists():
                (copy.parent / (copy.name + suffix)).write_bytes((path.parent / (path.name + suffix)).read_bytes())
        with inlay.connect(copy) as recovered:
            assert checksums(recovered) == changed
        con.execute("VACUUM")
        assert checksums(con) == changed
    with inlay.connect(path) as con:
        assert checksums(con) == changed
        assert con.execute("PRAGMA verify").fetchall() is not None


def test_a_map_whose_keys_are_no_keys_of_dicts_keeps_them() -> None:
    found = inlay.sql("SELECT MAP {[1, 2]: 'a', [3]: NULL} AS m").fetchone()
    assert found == ({"key": [[1, 2], [3]], "value": ["a", None]},)
    con = inlay.connect()
    con.execute("CREATE TABLE t (m MAP(INTEGER[], VARCHAR))")
    with con.appender("t") as rows:
        rows.append_row(*found)
    assert con.execute("FROM t").fetchone() == found


def test_structs_stored_by_their_fields_leave_as_arrow() -> None:
    """Of a table as it is, whose last rows are packed, and of a query: what Python is given of each row."""
    con = inlay.connect()
    made = (
        "CASE WHEN i % 9 > 0 THEN {'a': CASE WHEN i % 5 > 0 THEN i END, 'b': 'text ' || (i % 700)::VARCHAR, "
        "'c': CASE WHEN i % 4 > 0 THEN {'x': i::DOUBLE / 8, 'y': [i % 3, NULL]} END} END"
    )
    con.execute(f"CREATE TABLE t AS SELECT i, {made} AS s FROM range(140000) r(i)")
    con.execute(f"INSERT INTO t SELECT i, {made} FROM range(140000, 140050) r(i)")
    con.execute("UPDATE t SET s = {'a': -1, 'b': NULL, 'c': NULL} WHERE i IN (3, 131071, 131072)")
    rows = [row[0] for row in con.execute("SELECT s FROM t ORDER BY i").fetchall()]
    assert rows[3] == {"a": -1, "b": None, "c": None}
    assert rows[9] is None
    assert rows[140047]["c"] == {"x": 140047 / 8, "y": [1, None]}
    for query in ("SELECT s FROM t", "SELECT s FROM t ORDER BY i"):
        table = con.sql(query).arrow()
        table = table.read_all() if isinstance(table, pyarrow.RecordBatchReader) else table
        table.validate(full=True)
        assert table.column(0).to_pylist() == rows
