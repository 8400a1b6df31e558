"""Every type, with the values at its limits, through every format that COPY and EXPORT write, and back.

A value comes back as it was, or is an error when it is written.
"""

# ruff: noqa: E501

import pathlib
from collections.abc import Iterator

import pytest

import inlay

INTEGERS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
FLOATS = ["'nan'", "'inf'", "'-inf'", "'-0.0'", "'0.1'", "'1e-45'", "'3.4028235e38'"]
NINES = "9" * 38
WORDS = "'a', 'b c', '', 'NULL', 'it''s', 'x,y', '\"'"
TEXTS = [
    "''", "' '", "'  a '", "'NULL'", "'null'", "'a,b'", "'a\"b'", "'\"'", "'\"\"'", "chr(10)", "chr(13)", "'a' || chr(13) || chr(10)",
    "chr(9)", "'\\'", "'\\x41'", "'\\N'", "'a''b'", "'|'", "'ü€😀'", "chr(0)", "'a' || chr(0)", "chr(31)", "'_x000D_'", "'#a'", "'nan'", "'1'",
    "'2020-01-01'", "repeat('x', 300)", "repeat('é', 20000)", "'{\"a\": 1}'", "'[1, 2]'", "'=1+1'", "'<a>&amp;'", "'true'",
]  # fmt: skip
VALUES: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    **{name: [f"'{-(1 << bits)}'", f"'{(1 << bits) - 1}'", "'0'"] for name, bits in INTEGERS.items()},
    **{f"U{name}": ["'0'", f"'{(1 << (bits + 1)) - 1}'"] for name, bits in INTEGERS.items()},
    "REAL": FLOATS,
    "DOUBLE": [*FLOATS, "'1.7976931348623157e308'", "'5e-324'", "'9007199254740993'"],
    "DECIMAL(1,0)": ["'-9'", "'9'", "'0'"],
    "DECIMAL(4,2)": ["'-99.99'", "'99.99'", "'0.01'"],
    "DECIMAL(9,3)": ["'-999999.999'", "'999999.999'"],
    "DECIMAL(18,6)": ["'-999999999999.999999'", "'999999999999.999999'"],
    "DECIMAL(38,10)": [f"'-{NINES[10:]}.{NINES[:10]}'", f"'{NINES[10:]}.{NINES[:10]}'"],
    "DECIMAL(38,0)": [f"'-{NINES}'", f"'{NINES}'"],
    "DECIMAL(38,38)": [f"'-0.{NINES}'", "'0." + "0" * 37 + "1'"],
    "VARCHAR": TEXTS,
    "BLOB": [
        "''::BLOB", "'\\x00'::BLOB", "'\\xAA\\x41'::BLOB", "'\\xFF\\xFE\\x0A\\x22\\x2C\\x5C'::BLOB", "'abc'::BLOB", "'\\x5Cx41'::BLOB",
        "'NULL'::BLOB",
    ],
    "DATE": ["'0001-01-01'", "'9999-12-31'", "'infinity'", "'-infinity'", "'5881580-07-10'", "'0044-03-15 (BC)'", "'1899-12-30'"],
    "TIME": ["'00:00:00'", "'23:59:59.999999'", "'24:00:00'", "'12:34:56.5'"],
    "TIMESTAMP": [
        "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'", "'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806'",
        "'290309-12-22 (BC) 00:00:00'", "'1969-12-31 23:59:59.999999'", "'2020-01-01 12:00:00'",
    ],
    "TIMESTAMP_S": ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'infinity'", "'-infinity'", "'290000-01-01 00:00:00'"],
    "TIMESTAMP_MS": ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999'", "'infinity'", "'-infinity'", "'2020-01-01 12:00:00.001'"],
    "TIMESTAMP_NS": [
        "'1677-09-22 00:00:00'", "'2262-04-11 23:47:16.854775806'", "'infinity'", "'-infinity'", "'2020-01-01 12:00:00.123456789'",
    ],
    "TIMESTAMPTZ": [
        "'0001-01-01 00:00:00+00'", "'9999-12-31 23:59:59.999999+00'", "'infinity'", "'-infinity'", "'2020-01-01 12:00:00+05:30'",
        "'290309-12-22 (BC) 00:00:00+00'",
    ],
    "TIMETZ": ["'00:00:00+15:59:59'", "'24:00:00-15:59:59'", "'10:00:00+01'", "'12:34:56.123456-03:30'", "'00:00:00+00'"],
    "INTERVAL": [
        "INTERVAL '0' DAY", "INTERVAL '1 month 2 days 3.5 seconds'", "INTERVAL '1 month -2 days 3.5 seconds'",
        "'2147483647 months 2147483647 days'::INTERVAL", "to_microseconds(9223372036854775807)", "INTERVAL '-178956970 years'",
        "INTERVAL '1.000001 seconds'",
    ],
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'3fa85f64-5717-4562-b3fc-2c963f66afa6'"],
    "BIT": ["'0'", "'1'", "'0101'", "'010101010101'", "repeat('1', 100)", "'00000000'"],
    "JSON": ["'{}'", "'\"a\"'", "'1'", "'{\"a\":[1,null,\"x,y\"],\"b\":1.5}'", "'[]'", "'\"\"'", "'true'", "'12345678901234567890123'"],
    f"ENUM({WORDS})": ["'a'", "'b c'", "''", "'NULL'", "'it''s'", "'x,y'", "'\"'"],
}  # fmt: skip


def nested(name: str, values: list[str]) -> dict[str, list[str]]:
    """Types that are made of a type, with its values inside of them."""
    of = [f"({value})::{name}" for value in values]
    turned = of[1:] + of[:1]
    union = f"UNION(u {name}, w VARCHAR)"
    return {
        f"{name}[]": [f"[{value}, NULL]" for value in of] + ["[]", "[NULL]", f"[{', '.join(of)}]"],
        f"{name}[2]": [f"[{left}, {right}]" for left, right in zip(of, turned, strict=True)] + [f"[NULL, {of[0]}]"],
        f'STRUCT(a {name}, "b c" {name}[])': [f"{{'a': {value}, 'b c': [{value}, NULL]}}" for value in of]
        + ["{'a': NULL, 'b c': []}"],
        f"MAP(VARCHAR, {name})": [f"MAP {{'k': {value}, '': NULL}}" for value in of] + ["MAP {}"],
        f"MAP({name}, {name})": [f"MAP {{{value}: {value}}}" for value in of],
        f"{name}[][]": [f"[[{value}], [], NULL, [NULL]]" for value in of],
        f"STRUCT(a {name}, b VARCHAR)[]": [f"[{{'a': {value}, 'b': 'x'}}, NULL]" for value in of],
        union: [f"union_value(u := {value})" for value in of] + ["union_value(w := 'text')"],
        f"{union}[]": [f"[union_value(u := {value})]" for value in of[:3]],
    }


# The text of a list does not tell a JSON document that is a text from the text itself.
WITHIN = {**VALUES, "JSON": [value for value in VALUES["JSON"] if '"' not in value[:3]]}
CASES = {**VALUES, **{made: inside for name, values in WITHIN.items() for made, inside in nested(name, values).items()}}

# Extension, options of COPY TO, options of COPY FROM.
COPIES = {
    "csv": ("csv", "FORMAT csv", "FORMAT csv"),
    "csv without names": ("csv", "FORMAT csv, HEADER false", "FORMAT csv, HEADER false"),
    "csv with other marks": (
        "csv",
        "FORMAT csv, DELIM '|', QUOTE '''', NULL 'NULL'",
        "FORMAT csv, DELIM '|', QUOTE '''', NULL 'NULL'",
    ),
    "csv with backslashes": ("csv", "FORMAT csv, ESCAPE '\\'", "FORMAT csv, ESCAPE '\\'"),
    "csv in quotes": ("csv", "FORMAT csv, FORCE_QUOTE *", "FORMAT csv"),
    "csv packed": ("csv.gz", "FORMAT csv", "FORMAT csv"),
    "json": ("json", "FORMAT json", "FORMAT json"),
    "json array": ("json", "FORMAT json, ARRAY true", "FORMAT json"),
    "json packed": ("json.zst", "FORMAT json", "FORMAT json"),
    **{
        f"parquet {codec}": ("parquet", f"COMPRESSION {codec}", "")
        for codec in ("snappy", "zstd", "gzip", "lz4", "uncompressed")
    },
    "parquet v2": ("parquet", "PARQUET_VERSION v2", ""),
    "parquet plain": ("parquet", "DICTIONARY_SIZE_LIMIT 0, ROW_GROUP_SIZE 2", ""),
    "arrow": ("arrow", "FORMAT arrow", "FORMAT arrow"),
    "arrow stream": ("arrows", "FORMAT arrows", "FORMAT arrows"),
    "arrow zstd": ("arrow", "COMPRESSION zstd", ""),
    "arrow lz4": ("arrow", "COMPRESSION lz4", ""),
    "excel": ("xlsx", "FORMAT xlsx, HEADER", "FORMAT xlsx, HEADER"),
}
EXPORTS = {
    "csv": "FORMAT csv",
    "csv in quotes": "FORMAT csv, FORCE_QUOTE *, DELIMITER '|'",
    "csv packed": "FORMAT csv, COMPRESSION gzip",
    "json": "FORMAT json",
    "json array": "FORMAT json, ARRAY true",
    "parquet": "FORMAT parquet, CODEC 'zstd'",
    "arrow": "FORMAT arrow",
    "excel": "FORMAT xlsx",
}


def rows(con: inlay.Connection, table: str, way: str) -> list[tuple[object, ...]]:
    # Excel has no empty text: the cell is empty, which is NULL.
    text = "nullif(v::VARCHAR, '')" if way == "excel" else "v::VARCHAR"
    return con.execute(f"SELECT id, typeof(v), {text}, {text} IS NULL FROM {table} ORDER BY id").fetchall()


def tables(con: inlay.Connection) -> Iterator[tuple[str, int]]:
    """Each type as a table `a`, with the number of its rows."""
    for name, values in CASES.items():
        con.execute(f"CREATE OR REPLACE TABLE a (id INTEGER, v {name})")
        for number, value in enumerate([*values, "NULL"]):
            con.execute(f"INSERT INTO a SELECT {number}, CAST(({value}) AS {name})")
        yield name, len(values) + 1


def kept(con: inlay.Connection, table: str, path: pathlib.Path, options: tuple[str, str], way: str) -> bool | str:
    """Whether a table comes back; False if it is refused when it is written; what went wrong."""
    to, back = (f" ({given})" if given else "" for given in options)
    path.unlink(missing_ok=True)
    try:
        con.execute(f"COPY {table} TO '{path}'{to}")
    except inlay.InternalError as error:
        return f"a defect: {error}"
    except inlay.Error:
        return False
    try:
        con.execute(f"CREATE OR REPLACE TABLE b AS FROM {table} LIMIT 0")
        con.execute(f"COPY b FROM '{path}'{back}")
    except inlay.Error as error:
        return f"cannot be read: {error}"
    wanted, got = rows(con, table, way), rows(con, "b", way)
    return (
        True
        if wanted == got
        else f"changed: {[pair for pair in zip(wanted, got, strict=False) if pair[0] != pair[1]][:3]}"
    )


@pytest.mark.parametrize("way", COPIES)
def test_copy_keeps_every_value_or_refuses_it(con: inlay.Connection, tmp_path: pathlib.Path, way: str) -> None:
    extension, *options = COPIES[way]
    path = tmp_path / f"x.{extension}"
    wrong: list[str] = []
    counted = refused = 0
    for name, count in tables(con):
        counted += count
        whole = kept(con, "a", path, (options[0], options[1]), way)
        if whole is True:
            continue
        if isinstance(whole, str):
            wrong.append(f"{name}: {whole}")
            continue
        for number in range(count):
            con.execute(f"CREATE OR REPLACE TABLE one AS SELECT * FROM a WHERE id = {number}")
            alone = kept(con, "one", path, (options[0], options[1]), way)
            refused += alone is False
            if isinstance(alone, str):
                wrong.append(f"{name}, row {number}: {alone}")
    assert wrong == [], f"{len(wrong)} of {counted}"
    # What is refused are a few values at the limits, not types.
    assert refused < counted / 8


@pytest.mark.parametrize("way", [way for way in COPIES if way != "excel"])
def test_a_column_alone_keeps_its_rows(con: inlay.Connection, tmp_path: pathlib.Path, way: str) -> None:
    """A row that is NULL is an empty line of a CSV file, unless another column is beside it."""
    extension, *options = COPIES[way]
    path = tmp_path / f"x.{extension}"
    to, back = (f" ({given})" if given else "" for given in options)
    texts = "(NULL), ('a'), (''), (NULL), ('a;b'), ('c;d'), ('1'), (NULL)"
    for name, values in (
        ("VARCHAR", texts),
        ("INTEGER", "(NULL), (1), (NULL)"),
        ("VARCHAR", "(NULL)"),
        ("VARCHAR", "('')"),
    ):
        con.execute(f"CREATE OR REPLACE TABLE a AS SELECT v::{name} AS v FROM (VALUES {values}) t(v)")
        con.execute(f"COPY a TO '{path}'{to}")
        con.execute("CREATE OR REPLACE TABLE b AS FROM a LIMIT 0")
        con.execute(f"COPY b FROM '{path}'{back}")
        assert con.execute("FROM b").fetchall() == con.execute("FROM a").fetchall(), (name, values)


def exports(con: inlay.Connection, table: str, where: str, folder: pathlib.Path, way: str) -> bool:
    """Whether rows of a table can be exported."""
    con.execute("ATTACH ':memory:' AS probe")
    try:
        con.execute(f"CREATE TABLE probe.t AS SELECT * FROM {table} WHERE {where}")
        con.execute(f"EXPORT DATABASE probe TO '{folder}/probe' ({EXPORTS[way]})")
    except inlay.InternalError:
        raise
    except inlay.Error:
        return False
    finally:
        con.execute("DETACH probe")
    return True


@pytest.mark.parametrize("way", EXPORTS)
def test_import_gives_back_what_export_wrote(con: inlay.Connection, tmp_path: pathlib.Path, way: str) -> None:
    """All types in one database; values that the format refuses are left out."""
    out = tmp_path / "k=v"
    counted = refused = 0
    made: list[tuple[str, str]] = []
    for name, count in tables(con):
        counted += count
        con.execute(f"CREATE OR REPLACE TABLE t{len(made)} AS FROM a")
        made.append((f"t{len(made)}", name))
    con.execute("DROP TABLE a")
    for table, name in made:
        count = len(CASES[name]) + 1
        if not exports(con, table, "false", tmp_path, way):
            # The format refuses the type.
            refused += count
            con.execute(f"DROP TABLE {table}")
            continue
        if exports(con, table, f"id < {count}", tmp_path, way):
            continue
        for number in range(count):
            if not exports(con, table, f"id = {number}", tmp_path, way):
                refused += 1
                con.execute(f"DELETE FROM {table} WHERE id = {number}")
    con.execute(f"EXPORT DATABASE '{out}' ({EXPORTS[way]})")
    other = inlay.connect()
    other.execute(f"IMPORT DATABASE '{out}'")
    kept_tables = {row[0] for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    for table, name in made:
        if table not in kept_tables:
            continue
        assert rows(other, table, way) == rows(con, table, way), name
    assert refused < counted / 8
