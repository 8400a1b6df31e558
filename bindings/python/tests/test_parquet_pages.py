"""Parquet files of pyarrow with pages and encodings of every kind: all rows, and those that filters leave."""

from __future__ import annotations

import base64
import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import inlay

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 20_000
WRITERS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "one page": {"data_page_size": 1 << 30, "row_group_size": 1 << 20},
    "small pages": {"data_page_size": 700, "row_group_size": 7_000, "write_page_index": True},
    "small dictionaries": {"dictionary_pagesize_limit": 2_000, "data_page_size": 3_000},
    "no dictionaries": {"use_dictionary": False, "compression": "none"},
    "second version": {"data_page_version": "2.0", "version": "2.6", "compression": "zstd", "data_page_size": 900},
    "differences": {
        "use_dictionary": False,
        "column_encoding": {"i": "DELTA_BINARY_PACKED", "n": "DELTA_BINARY_PACKED"},
    },
    "rare encodings": {
        "use_dictionary": False,
        "column_encoding": {"f": "BYTE_STREAM_SPLIT", "s": "DELTA_BYTE_ARRAY", "few": "DELTA_LENGTH_BYTE_ARRAY"},
    },
}
FILTERS = (
    "i = 12345",
    "i BETWEEN 9000 AND 9100",
    "few = 'word 3' AND i > 19900",
    "few = 'no such word'",
    "n IS NULL AND i % 100 = 7",
    "n IN (5, 7, 11)",
    "p18 < -900000000000000",
    "s LIKE '%99'",
    "b AND day = DATE '2021-01-01'",
    "rare IS NOT NULL",
    "f > 0.999",
)


@pytest.fixture(scope="module")
def table() -> Any:
    """Columns with few and many values, with and without NULL."""
    dice = random.Random(7)

    def column(value: Any, ty: Any, null_share: float = 0.1) -> Any:
        return pa.array([None if dice.random() < null_share else value(i) for i in range(ROWS)], ty)

    def decimal(precision: int, scale: int) -> Any:
        most = 10**precision - 1
        return lambda _: Decimal(dice.randint(-most, most)).scaleb(-scale)

    return pa.table(
        {
            "i": column(lambda i: i, pa.int64(), 0),
            "n": column(lambda _: dice.randrange(100), pa.int32(), 0.5),
            "small": column(lambda _: dice.randrange(-128, 128), pa.int8()),
            "unsigned": column(lambda _: dice.randrange(1 << 32), pa.uint32()),
            "large": column(lambda _: dice.randrange(1 << 64), pa.uint64()),
            "p4": column(decimal(4, 1), pa.decimal128(4, 1)),
            "p9": column(decimal(9, 2), pa.decimal128(9, 2)),
            "p15": column(decimal(15, 2), pa.decimal128(15, 2), 0),
            "p18": column(decimal(18, 3), pa.decimal128(18, 3)),
            "p38": column(decimal(38, 10), pa.decimal128(38, 10)),
            "f": column(lambda _: dice.random(), pa.float64()),
            "f4": column(lambda i: i / 8, pa.float32(), 0.3),
            "b": column(lambda _: dice.random() < 0.3, pa.bool_()),
            "few": column(lambda _: f"word {dice.randrange(5)}", pa.string(), 0.2),
            "s": column(lambda i: "ä" * (i % 3) + f"text that is long {dice.randrange(10**6)}", pa.string()),
            "bytes": column(lambda i: bytes([i % 256]) * (i % 20), pa.binary()),
            "day": column(lambda i: dt.date(2020, 1, 1) + dt.timedelta(i % 900), pa.date32()),
            "at": column(lambda i: dt.datetime(2020, 1, 1) + dt.timedelta(milliseconds=i), pa.timestamp("us")),
            "ms": column(lambda i: dt.datetime(2020, 1, 1) + dt.timedelta(seconds=i), pa.timestamp("ms")),
            "zoned": column(
                lambda i: dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(i), pa.timestamp("us", "UTC")
            ),
            "rare": column(lambda i: i, pa.int64(), 0.9995),
            "nothing": pa.nulls(ROWS, pa.int32()),
            "list": column(lambda i: [i, None] * (i % 3), pa.list_(pa.int64())),
        }
    )


@pytest.fixture(scope="module", params=WRITERS)
def path(request: pytest.FixtureRequest, table: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("pages") / "file.parquet"
    pq.write_table(table, path, **WRITERS[request.param])
    return path


def test_all_rows_are_read(path: Path, table: Any) -> None:
    con = inlay.connect()
    names = ", ".join(table.column_names)
    con.register("expected", table)
    con.execute(f"CREATE TABLE e AS SELECT {names} FROM expected")
    con.execute(f"CREATE TABLE f AS SELECT {names} FROM '{path}'")
    for name in table.column_names:
        differing = con.sql(
            f"SELECT count(*) FROM e JOIN f ON e.i = f.i WHERE e.{name}::VARCHAR IS DISTINCT FROM f.{name}::VARCHAR"
        )
        assert differing.fetchone() == (0,), name
    assert con.sql("SELECT count(*), count(DISTINCT i) FROM f").fetchone() == (ROWS, ROWS)


@pytest.mark.parametrize("condition", FILTERS)
def test_filters_leave_the_same_rows(path: Path, table: Any, condition: str) -> None:
    con = inlay.connect()
    con.register("expected", table)
    columns = "i, n, p15, few, s, list, at"
    expected = con.sql(f"SELECT {columns} FROM expected WHERE {condition} ORDER BY i").fetchall()
    found = con.sql(f"SELECT {columns} FROM '{path}' WHERE {condition} ORDER BY i").fetchall()
    assert found == expected
    count = con.sql(f"SELECT count(*) FROM '{path}' WHERE {condition}").fetchone()
    assert count == (len(expected),)


def test_rows_are_numbered(path: Path) -> None:
    con = inlay.connect()
    numbered = f"read_parquet('{path}', file_row_number = true)"
    assert con.sql(f"SELECT count(*) FROM {numbered} WHERE file_row_number <> i").fetchone() == (0,)
    assert con.sql(f"SELECT file_row_number FROM {numbered} WHERE i = 15000").fetchone() == (15000,)


def test_text_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bytes.parquet"
    for use_dictionary in (True, False):
        pq.write_table(pa.table({"b": [b"ok", b"\xff\xfe", b"x" * 200]}), path, use_dictionary=use_dictionary)
        con = inlay.connect()
        assert con.sql(f"SELECT count(b) FROM '{path}'").fetchone() == (3,)
        with pytest.raises(inlay.Error, match="not UTF-8"):
            con.sql(f"SELECT b FROM read_parquet('{path}', binary_as_string = true)").fetchall()


def test_bloom_filters_of_others_are_used(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "bloom.parquet"
    duckdb.sql(
        f"""COPY (SELECT (hash(i) % 1000 * 2)::INTEGER AS a, 'w' || hash(i) % 1000 * 2 AS s FROM range(50000) r(i))
            TO '{path}' (ROW_GROUP_SIZE 10000)"""
    )
    con = inlay.connect()
    for condition in ("a = 100", "a = 101", "s = 'w100'", "s = 'w101'", "a IN (3, 5, 7)", "a IN (3, 4)"):
        query = f"SELECT count(*) FROM '{path}' WHERE {condition}"
        assert con.sql(query).fetchall() == duckdb.sql(query).fetchall(), condition


def test_bloom_filters_that_are_broken_rule_nothing_out(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "bloom.parquet"
    duckdb.sql(f"COPY (SELECT (i % 3 * 7)::INTEGER AS a FROM range(3000) r(i)) TO '{path}'")
    con = inlay.connect()
    (offset,) = con.sql(f"SELECT bloom_filter_offset FROM parquet_metadata('{path}')").fetchall()[0]
    # A longer number of bytes makes the header longer, and leaves fewer than a block has.
    content = bytearray(path.read_bytes())
    assert content[offset : offset + 3] == bytes.fromhex("15401c")
    content[offset : offset + 17] = bytes.fromhex("15a09c011c1c00001c1c00001c1c000000")
    path.write_bytes(content)
    assert inlay.connect().sql(f"SELECT count(*) FROM '{path}' WHERE a = 7").fetchall() == [(1000,)]


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_files_are_refused(tmp_path: Path, plaintext_footer: bool) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Plain(encryption.KmsClient):  # type: ignore[name-defined,misc]
        def __init__(self, _config: Any) -> None:
            super().__init__()

        def wrap_key(self, key: bytes, _master: str) -> bytes:
            return base64.b64encode(key)

        def unwrap_key(self, key: bytes, _master: str) -> bytes:
            return base64.b64decode(key)

    factory = encryption.CryptoFactory(Plain)
    configuration = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"k": ["secret"]}, plaintext_footer=plaintext_footer
    )
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), configuration)
    path = tmp_path / "secret.parquet"
    table = pa.table({"open": [1, 2], "secret": ["x", "y"]})
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    with pytest.raises(inlay.Error, match="encrypted"):
        inlay.connect().sql(f"SELECT secret FROM '{path}'").fetchall()
