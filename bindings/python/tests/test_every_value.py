"""
Every type, its smallest and largest values, NULL, NaN and infinity, out and in again by every way: kept, or an error.

A value leaves by one way, and what came out goes in by another; SQL has the same text for it before and after.
What Python or a library has no value for is an error, or one of the conversions that docs/arrays.md names (`CHANGES`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import inlay

LONG = "'a text of more than twelve bytes, ünïcödé'"

VALUES: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768", "32767"],
    "INTEGER": ["-2147483648", "2147483647"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807", "9007199254740993"],
    "HUGEINT": [
        "'-170141183460469231731687303715884105728'",
        "'170141183460469231731687303715884105727'",
        "'9007199254740993'",
    ],
    "UTINYINT": ["0", "255"],
    "USMALLINT": ["0", "65535"],
    "UINTEGER": ["0", "4294967295"],
    "UBIGINT": ["0", "18446744073709551615"],
    "UHUGEINT": ["0", "'340282366920938463463374607431768211455'"],
    "REAL": ["'nan'", "'inf'", "'-inf'", "3.4028235e38", "1.1754944e-38", "1e-45", "-0.0", "0.1"],
    "DOUBLE": ["'nan'", "'inf'", "'-inf'", "1.7976931348623157e308", "5e-324", "-0.0", "0.1"],
    "DECIMAL(4, 1)": ["999.9", "-999.9", "0.1"],
    "DECIMAL(9, 2)": ["9999999.99", "-9999999.99"],
    "DECIMAL(18, 3)": ["999999999999999.999", "-0.001"],
    "DECIMAL(38, 0)": ["'99999999999999999999999999999999999999'", "'-99999999999999999999999999999999999999'"],
    "DECIMAL(38, 38)": ["'0.99999999999999999999999999999999999999'", "'0.00000000000000000000000000000000000001'"],
    "DATE": [
        *("'1970-01-01'", "'0001-01-01'", "'9999-12-31'", "'10000-01-01'", "'0044-03-15 (BC)'", "'300000-01-01'"),
        *("'5877642-06-25 (BC)'", "'5881580-07-10'", "'infinity'", "'-infinity'"),
    ],
    "TIME": ["'00:00:00'", "'23:59:59.999999'", "'24:00:00'"],
    "TIMETZ": ["'00:00:00+15:59:59'", "'23:59:59.999999-15:59:59'", "'12:00:00+00'"],
    "TIMESTAMP": [
        *("'0001-01-01'", "'9999-12-31 23:59:59.999999'", "'10000-01-01'", "'0044-03-15 (BC) 01:02:03'"),
        *("'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'", "'infinity'", "'-infinity'"),
    ],
    "TIMESTAMP_S": ["'0001-01-01'", "'290000-12-31 23:59:59'", "'infinity'", "'-infinity'"],
    "TIMESTAMP_MS": ["'0001-01-01'", "'290000-12-31 23:59:59.999'", "'infinity'", "'-infinity'"],
    "TIMESTAMP_NS": ["'1677-09-22'", "'2262-04-11 23:47:16.854775806'", "'2020-01-01 00:00:00.123456'", "'infinity'"],
    "TIMESTAMPTZ": ["'0001-01-01 00:00:00+00'", "'9999-12-31 23:59:59.999999+00'", "'infinity'", "'-infinity'"],
    "INTERVAL": ["'1 day 2 microseconds'", "'-1 day'", "'-1 microsecond'", "'1 month'", "to_years(170000000)"],
    "VARCHAR": ["''", LONG, "'a' || chr(0) || 'b'", "'nan'", "'\U0001f600'"],
    "BLOB": ["''::BLOB", r"'\x00\xFF'", r"'\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D'"],
    "BIT": ["'0'", "'10101010101'"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "JSON": ["'{\"a\": [1, null]}'", "'null'"],
    "ENUM('a', 'b c')": ["'a'", "'b c'"],
    "INTEGER[]": ["[]", "[1, NULL, 2147483647]"],
    "VARCHAR[]": [f"[{LONG}, NULL, '']"],
    "INTEGER[2]": ["[1, NULL]"],
    "INTEGER[][]": ["[[1], [], NULL]"],
    "DATE[]": ["['2024-02-29'::DATE, NULL]"],
    "DECIMAL(38, 0)[]": ["['99999999999999999999999999999999999999'::DECIMAL(38, 0)]"],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': NULL, 'b': 'x'}", "{'a': -2147483648, 'b': NULL}"],
    "STRUCT(a STRUCT(b INTEGER[]))": ["{'a': {'b': [1]}}"],
    "MAP(VARCHAR, INTEGER)": ["MAP {'k': 1, 'l': NULL}", "MAP {}"],
}
Table = Any


def by_rows(con: inlay.Connection, query: str) -> Table:
    return {"x": [row[0] for row in con.execute(query).fetchall()]}


def by_one_row(con: inlay.Connection, query: str) -> Table:
    con.execute(query)
    return {"x": [row[0] for row in iter(con.fetchone, None)]}


def by_batches(con: inlay.Connection, query: str) -> Table:
    reader = con.execute(query).fetch_record_batch()
    return pa.Table.from_batches(list(reader), reader.schema)


OUT: dict[str, Callable[[inlay.Connection, str], Table]] = {
    "fetchall": by_rows,
    "fetchone": by_one_row,
    "numpy": lambda con, query: con.execute(query).fetchnumpy(decimal="exact"),
    "numpy of a relation": lambda con, query: dict(con.sql(query).fetchnumpy("exact")),
    "stringdtype": lambda con, query: con.execute(query).fetchnumpy(strings="stringdtype", decimal="exact"),
    "pandas": lambda con, query: con.execute(query).df(decimal="exact"),
    "pandas with objects": lambda con, query: con.execute(query).df(decimal="decimal"),
    "pandas with Arrow": lambda con, query: con.execute(query).df(decimal="arrow"),
    "arrow": lambda con, query: con.execute(query).arrow(),
    "batches": by_batches,
    "stream": lambda con, query: pa.table(con.sql(query)),
    "polars": lambda con, query: con.execute(query).pl(),
}

# What a way has no value for and makes something else of, as docs/arrays.md says.
INFINITE = {(ty, f"'{sign}infinity'") for ty in VALUES if ty[:4] in ("DATE", "TIME") for sign in ("", "-")}
MONTHS = {("INTERVAL", "'1 month'")}
NOT_NUMBERS = {("REAL", "'nan'"), ("DOUBLE", "'nan'")}
CHANGES: dict[str, set[tuple[str, str]]] = {
    "fetchall": INFINITE | MONTHS,
    "fetchone": INFINITE | MONTHS,
    "numpy": MONTHS,
    "numpy of a relation": MONTHS,
    "stringdtype": MONTHS,
    # To pandas NaN and NULL are one.
    "pandas": MONTHS | NOT_NUMBERS,
    "pandas with objects": MONTHS | NOT_NUMBERS,
    "pandas with Arrow": MONTHS | NOT_NUMBERS,
    "arrow": set(),
    "batches": set(),
    "stream": set(),
    "polars": set(),
}

# What a way has no value for and refuses.
TOO_LONG = {("INTERVAL", "to_years(170000000)")}
TOO_LARGE = {("UHUGEINT", "'340282366920938463463374607431768211455'")}
REFUSALS: dict[str, set[tuple[str, str]]] = {
    "fetchall": set(),
    "fetchone": set(),
    "numpy": INFINITE | TOO_LONG,
    "numpy of a relation": INFINITE | TOO_LONG,
    "stringdtype": INFINITE | TOO_LONG,
    "pandas": INFINITE | TOO_LONG,
    "pandas with objects": INFINITE | TOO_LONG,
    "pandas with Arrow": INFINITE | TOO_LONG,
    "arrow": TOO_LARGE,
    "batches": TOO_LARGE,
    "stream": TOO_LARGE,
    "polars": {("INTERVAL", value) for value in [*VALUES["INTERVAL"], "NULL"]}
    | INFINITE
    | TOO_LARGE
    | {("TIME", "'24:00:00'")},
}


def text_of(ty: str, rows: list[str]) -> str:
    """Return how a value is compared: as text, and intervals as lengths of time, unless they are too long for that."""
    if ty == "INTERVAL" and not any((ty, value) in TOO_LONG for value in rows):
        return "CAST(epoch_us(CAST({} AS INTERVAL)) AS VARCHAR)"
    return f"CAST(CAST({{}} AS {ty}) AS VARCHAR)"


def check(con: inlay.Connection, way: str, ty: str, rows: list[str], is_table: bool) -> None:
    """Send a column out and take it in again; raises what the way out raises."""
    text = text_of(ty, rows)

    def texts(source: str) -> list[str | None]:
        return [row[0] for row in con.execute(f"SELECT {text.format('x')} FROM {source}").fetchall()]

    query = " UNION ALL ".join(f"SELECT CAST({each} AS {ty}) AS x" for each in rows)
    if is_table:
        con.execute(f"CREATE OR REPLACE TABLE t AS SELECT r.x FROM ({query}) r, range(20000)")
        query = "FROM t"
    before = texts(f"({query})")
    out = OUT[way](con, query)
    found = {"x": out["x"]} if isinstance(out, dict) else out
    if any((ty, value) in CHANGES[way] for value in rows):
        return
    try:
        con.register("found", found)
        assert texts("found") == before
        if not is_table and isinstance(out, dict) and isinstance(out["x"], list):
            given = [con.execute(f"SELECT {text.format('?')}", [each]).fetchone() for each in out["x"]]
            assert [row[0] for row in given if row] == before
            con.execute(f"CREATE OR REPLACE TABLE kept (x {ty})")
            con.executemany("INSERT INTO kept VALUES (?)", [[each] for each in out["x"]])
            assert texts("kept") == before
    except inlay.Error:
        # A dict that says nothing of its type is a STRUCT, which is no map and has at least one field.
        if not ty.startswith("MAP"):
            raise
    else:
        con.unregister("found")


@pytest.mark.parametrize("way", OUT)
@pytest.mark.parametrize("ty", VALUES)
def test_values_go_out_and_come_in(way: str, ty: str) -> None:
    con = inlay.connect(config={"nan_as_null": False})
    con.execute("SET TimeZone = 'UTC'")
    for value in [*VALUES[ty], "NULL"]:
        for rows in ([value], [value, "NULL", value]):
            if (ty, value) not in REFUSALS[way]:
                check(con, way, ty, rows, is_table=False)
                continue
            # An error in the middle of a stream is one of pyarrow's, with our text.
            with pytest.raises((inlay.Error, OSError), match='"x"'):
                check(con, way, ty, rows, is_table=False)


@pytest.mark.parametrize("way", ["numpy", "pandas", "arrow", "polars"])
@pytest.mark.parametrize("ty", [ty for ty in VALUES if "[" not in ty and "(a" not in ty])
def test_tables_as_they_are_give_the_same(way: str, ty: str) -> None:
    con = inlay.connect(config={"nan_as_null": False})
    con.execute("SET TimeZone = 'UTC'")
    for value in [VALUES[ty][0], VALUES[ty][-1]]:
        if (ty, value) not in REFUSALS[way]:
            check(con, way, ty, [value, "NULL"], is_table=True)
            continue
        with pytest.raises((inlay.Error, OSError), match='"x"'):
            check(con, way, ty, [value, "NULL"], is_table=True)


def test_every_type_is_here() -> None:
    con = inlay.connect(config={"nan_as_null": False})
    known = {row[0] for row in con.execute("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()}
    tried = {ty.partition("(")[0] for ty in VALUES} | {"TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE", "FLOAT"}
    missing = {name for name in known if name not in tried and not name.endswith("[]")}
    assert missing <= {"NULL", "UNION", "LIST", "ARRAY", "STRUCT", "MAP", "ENUM", "DECIMAL", "TEXT"}


def test_a_frame_keeps_what_numpy_has(recwarn: pytest.WarningsRecorder) -> None:
    """Columns without NULL have NumPy's dtypes; those with NULLs the nullable ones."""
    con = inlay.connect(config={"nan_as_null": False})
    widths = {"TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64"}
    dtypes = {**widths, **{f"U{ty}": f"u{dtype}" for ty, dtype in widths.items()}, "BOOLEAN": "bool"}
    nullable = {name: name.replace("i", "I").replace("u", "U") for name in dtypes.values()} | {"bool": "boolean"}
    for ty, dtype in dtypes.items():
        for source in (f"SELECT (i % 2)::{ty} AS x FROM range(3) r(i)", "t"):
            con.execute(f"CREATE OR REPLACE TABLE t AS SELECT (i % 2)::{ty} AS x FROM range(50000) r(i)")
            plain = con.sql(source if source != "t" else "FROM t").df()
            assert str(plain["x"].dtype) == dtype
        with_null = con.sql(f"SELECT CASE WHEN i <> 1 THEN 1 END::{ty} AS x FROM range(3) r(i)").df()
        assert str(with_null["x"].dtype) == nullable[dtype]
        assert with_null["x"].isna().tolist() == [False, True, False]
    ids = con.sql("SELECT * FROM (VALUES (9007199254740993), (NULL)) t(id)").df()
    assert ids["id"][0] == 9007199254740993
    assert not recwarn.list


def test_far_dates_are_kept_in_seconds() -> None:
    con = inlay.connect(config={"nan_as_null": False})
    con.execute("""
        CREATE TABLE far AS SELECT DATE '1970-01-01' + CASE WHEN i = 9 THEN 2147483646 ELSE i::INTEGER END AS d
        FROM range(50000) r(i)
    """)
    for query in ("FROM far", "SELECT d FROM far WHERE d > DATE '1900-01-01'"):
        frame = con.sql(query).df()
        assert str(frame["d"].dtype) == "datetime64[s]"
        assert frame["d"].astype("int64").tolist()[9] == 2147483646 * 86_400
        con.register("frame", frame)
        assert con.execute("SELECT CAST(CAST(d AS DATE) AS VARCHAR) FROM frame LIMIT 1 OFFSET 9").fetchone() == (
            "5881580-07-10",
        )
        con.unregister("frame")
    con.execute("UPDATE far SET d = NULL WHERE d > DATE '9999-12-31'")
    assert str(con.sql("FROM far").df()["d"].dtype) == "datetime64[us]"


@pytest.mark.parametrize("ty", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_infinity_is_never_a_date_of_an_array(ty: str, value: str) -> None:
    con = inlay.connect(config={"nan_as_null": False})
    finite = "2000-01-01"
    con.execute(f"CREATE TABLE t AS SELECT i, CAST('{finite}' AS {ty}) AS \"the day\" FROM range(50000) r(i)")
    con.execute(f"UPDATE t SET \"the day\" = CAST('{value}' AS {ty}) WHERE i = 30000")
    for query in ("FROM t", "SELECT * FROM t WHERE i >= 0"):
        arrays = con.execute(query).fetchnumpy()
        for give in (lambda arrays=arrays: arrays["the day"], con.sql(query).df):
            with pytest.raises(inlay.OutOfRangeException, match=r'column "the day" has an infinite .* in row 30000'):
                give()
    fixed = con.sql('SELECT * FROM t WHERE isfinite("the day")')
    assert len(fixed.df()) == 49_999 and len(fixed.fetchnumpy()["the day"]) == 49_999
    con.execute('UPDATE t SET "the day" = NULL WHERE i = 30000')
    assert con.sql("FROM t").df()["the day"].isna().sum() == 1
    assert con.execute("FROM t").fetchnumpy()["the day"].mask.sum() == 1
    assert isinstance(con.sql("FROM t").pl(), pl.DataFrame)
