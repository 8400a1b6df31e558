"""Parquet files of Inlay are read by pyarrow, DuckDB and Polars, and theirs by Inlay, for every type."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pytest

import inlay

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")

# SQL that both engines understand: ordinary values, the ends of the type's range, and NULL.
TYPES = {
    "boolean": "(true), (false), (NULL)",
    "tinyint": "(1::TINYINT), (-128), (127), (NULL)",
    "smallint": "(1::SMALLINT), (-32768), (32767), (NULL)",
    "integer": "(1::INTEGER), (-2147483648), (2147483647), (NULL)",
    "bigint": "(1::BIGINT), (-9223372036854775808), (9223372036854775807), (NULL)",
    "utinyint": "(1::UTINYINT), (0), (255), (NULL)",
    "usmallint": "(1::USMALLINT), (0), (65535), (NULL)",
    "uinteger": "(1::UINTEGER), (0), (4294967295), (NULL)",
    "ubigint": "(1::UBIGINT), (0), (18446744073709551615), (NULL)",
    "real": "(1.5::REAL), ('-inf'), (3.4e38), (NULL)",
    "double": "(1.5::DOUBLE), ('inf'), (-1.7e308), (-0.0), (NULL)",
    "decimal(4,1)": "(1.5::DECIMAL(4,1)), (-999.9), (999.9), (NULL)",
    "decimal(9,2)": "(1.25::DECIMAL(9,2)), (-9999999.99), (9999999.99), (NULL)",
    "decimal(18,3)": "(1.125::DECIMAL(18,3)), (-999999999999999.999), (NULL)",
    "decimal(38,10)": "(1.5::DECIMAL(38,10)), (-9999999999999999999999999999.9999999999), (NULL)",
    "varchar": "('ä'), (''), ('a\\0b'), ('" + "long " * 40 + "'), (NULL)",
    "blob": "('\\x00\\xFF'::BLOB), (''), (NULL)",
    "date": "('2024-02-29'::DATE), ('1969-12-31'), ('0001-01-01'), ('9999-12-31'), (NULL)",
    "time": "('12:34:56.789012'::TIME), ('00:00:00'), ('23:59:59.999999'), (NULL)",
    "timestamp": "('2024-02-29 12:34:56.789012'::TIMESTAMP), ('1900-01-01'), (NULL)",
    "timestamp_ms": "('2024-02-29 12:34:56.789'::TIMESTAMP_MS), ('1900-01-01'), (NULL)",
    "timestamp_ns": "('2024-02-29 12:34:56.789012345'::TIMESTAMP_NS), ('1900-01-01'), (NULL)",
    "timestamptz": "('2024-02-29 12:34:56+02'::TIMESTAMPTZ), (NULL)",
    "uuid": "('12345678-1234-5678-1234-567812345678'::UUID), (NULL)",
    "enum": "('a'::ENUM('b', 'a')), ('b'), (NULL)",
    "list": "([1, NULL, 3]), ([]), (NULL)",
    "list of lists": "([[1], NULL, []]), (NULL)",
    "list of texts": "(['a', NULL, 'a long text that has its own bytes']), (NULL)",
    "struct": "({'a': 1, 'b': 'x'}), ({'a': NULL, 'b': NULL}), (NULL)",
    "struct of lists": "({'a': [1, 2], 'b': {'c': [NULL]}}), (NULL)",
    "map": "(MAP {'k': 1, 'l': NULL}), (MAP {}), (NULL)",
    "json": "('{\"a\": [1, null]}'::JSON), (NULL)",
}
# DuckDB reads milliseconds as microseconds, and has no type for elements that are all NULL.
TYPES_DIFFER = ("timestamp_ms", "struct of lists")


def values_of(connection: Any, source: str) -> list[str]:
    """The column as text, in the order of the file."""
    return [row[0] for row in connection.execute(f"SELECT v::VARCHAR FROM {source}").fetchall()]


@pytest.fixture(params=TYPES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(connection: Any, kind: str, path: Path, options: str = "") -> None:
    """A file with ordinary rows, repeated so that there are several pages."""
    rows = f"SELECT v FROM (VALUES {TYPES[kind]}) t(v), range(700) r(i) ORDER BY i"
    connection.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 1000{options})")


def test_duckdb_reads_what_inlay_writes(kind: str, tmp_path: Path) -> None:
    con, path = inlay.connect(), tmp_path / "t.parquet"
    write(con, kind, path)
    assert sorted(values_of(duckdb, f"'{path}'"), key=str) == sorted(values_of(con, f"'{path}'"), key=str)
    expected = values_of(con, f"(SELECT v FROM (VALUES {TYPES[kind]}) t(v))")
    assert sorted(set(values_of(con, f"'{path}'")), key=str) == sorted(set(expected), key=str)


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4_raw", "uncompressed"])
def test_inlay_reads_what_duckdb_writes(kind: str, codec: str, tmp_path: Path) -> None:
    con, path = inlay.connect(), tmp_path / "t.parquet"
    write(duckdb, kind, path, f", COMPRESSION {codec}")
    assert values_of(con, f"'{path}'") == values_of(duckdb, f"'{path}'")
    types = [c.execute(f"SELECT typeof(v) FROM '{path}' LIMIT 1").fetchone()[0] for c in (con, duckdb)]
    assert types[0] == types[1] or kind in TYPES_DIFFER


def same(left: Any, right: Any) -> bool:
    """Equality in which NaN equals itself."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return bool(left == right)


def test_pyarrow_and_polars_read_what_inlay_writes(kind: str, tmp_path: Path) -> None:
    con, path = inlay.connect(), tmp_path / "t.parquet"
    write(con, kind, path)
    expected = con.execute(f"SELECT v FROM '{path}'").arrow()
    found = pq.read_table(path)
    assert found.num_rows == expected.num_rows
    target = expected.schema.field("v").type
    if kind in ("uuid", "json"):
        # Types of pyarrow's own, which it does not cast.
        values = [value if value is None else str(value) for value in found["v"].to_pylist()]
        assert str(found.schema.field("v").type) == f"extension<arrow.{kind}>"
    else:
        values = (found if pa.types.is_nested(target) else found.cast(pa.schema([("v", target)])))["v"].to_pylist()
    pairs = zip(values, expected["v"].to_pylist(), strict=True)
    assert all(same(left, right) for left, right in pairs)
    frame = pl.read_parquet(path)
    assert frame.height == expected.num_rows
    assert frame["v"].null_count() == expected["v"].null_count


@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("page", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_inlay_reads_what_pyarrow_writes(kind: str, version: str, page: str, dictionary: bool, tmp_path: Path) -> None:
    con, path = inlay.connect(), tmp_path / "t.parquet"
    rows = f"SELECT v FROM (VALUES {TYPES[kind]}) t(v), range(300) r(i) ORDER BY i"
    table = con.execute(rows).arrow()
    try:
        pq.write_table(
            table, path, version=version, data_page_version=page, use_dictionary=dictionary, row_group_size=500
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pytest.skip("pyarrow does not write it")
    assert values_of(con, f"'{path}'") == values_of(duckdb, f"'{path}'")


def test_inlay_reads_what_polars_writes(kind: str, tmp_path: Path) -> None:
    con, path = inlay.connect(), tmp_path / "t.parquet"
    table = con.execute(f"SELECT v FROM (VALUES {TYPES[kind]}) t(v), range(300) r(i) ORDER BY i").arrow()
    try:
        frame = pl.from_arrow(table)
        frame.write_parquet(path)
    except Exception as problem:  # of many kinds, one of them not an Exception's child
        pytest.skip(f"Polars does not have it: {problem}")
    assert values_of(con, f"'{path}'") == values_of(duckdb, f"'{path}'")


@pytest.mark.parametrize(
    "encoding", ["PLAIN", "DELTA_BINARY_PACKED", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "BYTE_STREAM_SPLIT"]
)
def test_every_encoding_of_pages(encoding: str, tmp_path: Path) -> None:
    con, path = inlay.connect(), tmp_path / "t.parquet"
    columns = {
        "i": pa.array([1, None, -5, 2**31 - 1] * 500, pa.int32()),
        "l": pa.array([1, None, -5, 2**63 - 1] * 500, pa.int64()),
        "f": pa.array([1.5, None, -0.0, math.inf] * 500, pa.float32()),
        "d": pa.array([1.5, None, -0.0, math.inf] * 500, pa.float64()),
        "s": pa.array(["prefix one", None, "prefix two", ""] * 500),
        "b": pa.array([b"\x00\x01", None, b"", b"\xff" * 100] * 500, pa.binary(-1)),
    }
    written = 0
    for name, column in columns.items():
        try:
            pq.write_table(pa.table({"v": column}), path, use_dictionary=False, column_encoding={"v": encoding})
        except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        written += 1
        assert values_of(con, f"'{path}'") == values_of(duckdb, f"'{path}'"), name
    assert written > 0


def test_int96_is_a_timestamp(con: inlay.Connection, tmp_path: Path) -> None:
    """As DuckDB has it: microseconds, which reach further, unless nanoseconds are asked for."""
    moment = datetime.datetime(2020, 1, 1, 1, 2, 3, 456789)
    path = tmp_path / "int96.parquet"
    pq.write_table(pa.table({"t": pa.array([moment], pa.timestamp("ns"))}), path, use_deprecated_int96_timestamps=True)
    assert con.read_parquet(path).types == ["TIMESTAMP"] and con.read_parquet(path).fetchall() == [(moment,)]
    exact = con.read_parquet(path, int96_as="timestamp_ns")
    assert exact.types == ["TIMESTAMP_NS"]
    assert exact.select("t::VARCHAR").fetchall() == [("2020-01-01 01:02:03.456789",)]
