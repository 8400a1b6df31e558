"""Functions of Python in SQL: texts in the catalog, and callables."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import itertools
import math
import threading
import time
import traceback
import uuid
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay


def one(con: inlay.Connection, query: str) -> Any:
    row = con.execute(query).fetchone()
    assert row is not None
    return row[0]


def column(con: inlay.Connection, query: str) -> list[Any]:
    return [row[0] for row in con.execute(query).fetchall()]


@pytest.fixture
def allowed(con: inlay.Connection) -> inlay.Connection:
    con.execute("SET allow_python = true")
    return con


def test_try_is_null_where_a_function_raises(con: inlay.Connection) -> None:
    def tenfold(x: int) -> int:
        if x % 5 == 2:
            raise ValueError("two")
        return x * 10

    con.create_function("tenfold", tenfold)
    assert column(con, "SELECT try(tenfold(i)) FROM range(8) t(i)") == [0, 10, None, 30, 40, 50, 60, None]
    assert one(con, "SELECT try(tenfold(2))") is None
    assert one(con, "SELECT sum(coalesce(try(tenfold(i) + 1), 0)) FROM range(4) t(i)") == 43
    with pytest.raises(inlay.FunctionException, match="two"):
        con.execute("SELECT tenfold(i) FROM range(3) t(i)")


# Texts.


def test_a_function_in_braces_and_in_dollars(allowed: inlay.Connection) -> None:
    allowed.execute("""
        CREATE FUNCTION halves(i INTEGER, by DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON_MAP {
            # a brace that ends nothing: }
            names = {'half': by}
            return i / names['half']
        };
        CREATE FUNCTION twice(s VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP IMMUTABLE AS $$
return np.array([each * 2 for each in s], dtype=object)
$$""")
    assert column(allowed, "SELECT halves(i::INTEGER, 2) FROM range(3) t(i)") == [0.0, 0.5, 1.0]
    assert column(allowed, "SELECT twice(s) FROM (VALUES ('a'), ('bc')) t(s)") == ["aa", "bcbc"]
    assert one(allowed, "SELECT halves(by := 4, i := 2)") == 0.5
    assert one(allowed, "SELECT halves(10, '5')") == 2.0
    with pytest.raises(inlay.CatalogException, match=r"no function halves\(INTEGER\).*halves\(INTEGER, DOUBLE\)"):
        allowed.execute("SELECT halves(1)")


def test_a_body_is_read_as_it_is_indented(allowed: inlay.Connection) -> None:
    for number, body in enumerate(
        [
            "{ return x + 1 }",
            "{ y = 1\n  return x + y }",
            "{\nif True:\n    y = 1\nreturn x + y\n}",
            "{\n        y = '''1\nq'''\n        return x + int(y[0])\n}",
            "{ for i in range(1):\n    x = x + 1\n  return x }",
        ]
    ):
        allowed.execute(f"CREATE FUNCTION f{number}(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP {body}")
        assert one(allowed, f"SELECT f{number}(41)") == 42


def test_texts_that_are_no_functions(con: inlay.Connection) -> None:
    create = "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP "
    for body, message in [
        ("{\n  y = 1\n  return x +\n}", r'function "f", line 3: .*: return x \+'),
        ("{ x + 1 }", "it needs a return with a value"),
        ("{ }", "is empty"),
        ("{ return 'a", "has no end"),
        ("WITH (arguments = 'lists') { return x }", "expected 'numpy', 'arrow'"),
        ("WITH (colour = 'red') { return x }", "there is no option colour"),
    ]:
        with pytest.raises(inlay.Error, match=message):
            con.execute(create + body)
    with pytest.raises(inlay.BinderException, match="built-in function"):
        con.execute("CREATE FUNCTION abs(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return x }")
    with pytest.raises(inlay.Error, match='cannot be written in "pascal"'):
        con.execute("CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PASCAL AS $$ return x $$")
    with pytest.raises(inlay.Error, match="is no name in Python"):
        con.execute('CREATE FUNCTION f("a b" INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return 1 }')
    # A macro is one still.
    con.execute("CREATE FUNCTION add_one(x) AS x + 1")
    assert one(con, "SELECT add_one(1)") == 2


def test_stored_code_runs_only_when_it_may(tmp_path: Path) -> None:
    path = tmp_path / "functions.inlay"
    with inlay.connect(path) as con:
        con.execute("CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return x + 1 }")
        with pytest.raises(inlay.PermissionException, match="SET allow_python = true"):
            con.execute("SELECT f(1)")
        con.execute("SET allow_python = true")
        assert one(con, "SELECT f(1)") == 2
        con.execute("CREATE VIEW v AS SELECT f(x::INTEGER) AS y FROM range(3) t(x)")
        con.execute("CREATE TABLE t (x INTEGER CHECK (f(x) > 1))")
    with inlay.connect(path) as con:
        assert con.execute("SELECT * FROM t").fetchall() == []
        for query in ("SELECT f(1)", "FROM v", "INSERT INTO t VALUES (7)"):
            with pytest.raises(inlay.PermissionException, match="may not run"):
                con.execute(query)
        con.execute("SET enable_external_access = false")
        with pytest.raises(inlay.InvalidInputException, match="while enable_external_access is off"):
            con.execute("SET allow_python = true")
    with inlay.connect(path, config={"allow_python": True, "enable_external_access": False}) as con:
        assert column(con, "FROM v") == [1, 2, 3]


def test_code_that_may_not_run_yet_warns_when_it_is_made(tmp_path: Path) -> None:
    create = "CREATE {} f{}(x INTEGER) RETURNS {} LANGUAGE PYTHON {{ return x }}"
    with inlay.connect(tmp_path / "functions.inlay") as con:
        for number, kind in enumerate(("FUNCTION", "TEMP FUNCTION", "AGGREGATE")):
            with pytest.warns(UserWarning, match=f'"f{number}" is created, but its calls fail until SET allow_python'):
                con.execute(create.format(kind, number, "INTEGER"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            con.execute("CREATE FUNCTION m(x) AS x + 1")
            con.create_function("own", lambda x: x, ["BIGINT"], "BIGINT")
            with pytest.raises(inlay.Error):
                con.execute("CREATE FUNCTION broken() RETURNS INTEGER LANGUAGE PYTHON { return ( }")
            con.execute("SET allow_python = true")
            con.execute(create.format("FUNCTION", 9, "INTEGER"))
    for config in ({"allow_python": False}, {}):
        con = inlay.connect(config=config, allow_python=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            con.execute(create.format("FUNCTION", 0, "INTEGER"))
        assert one(con, "SELECT f0(7)") == 7


def test_functions_are_transactional_and_replaced(allowed: inlay.Connection) -> None:
    create = "FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP"
    allowed.execute(f"BEGIN; CREATE {create} {{ return x + 1 }}")
    assert one(allowed, "SELECT f(1)") == 2
    allowed.execute("ROLLBACK")
    with pytest.raises(inlay.CatalogException, match="does not exist"):
        allowed.execute("SELECT f(1)")
    allowed.execute(f"CREATE {create} {{ return x + 1 }}")
    with pytest.raises(inlay.CatalogException, match='function "f" already exists'):
        allowed.execute(f"CREATE {create} {{ return x + 2 }}")
    with pytest.raises(inlay.CatalogException, match='function "f" already exists'):
        allowed.execute("CREATE MACRO f(x) AS x")
    prepared = allowed.prepare("SELECT f(?)")
    assert prepared.execute([1]).fetchone() == (2,)
    allowed.execute(f"CREATE OR REPLACE {create} {{ return x + 2 }}")
    assert prepared.execute([1]).fetchone() == (3,)
    # Another overload.
    allowed.execute("CREATE FUNCTION f(x VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP { return x + '!' }")
    assert allowed.execute("SELECT f(1), f('a')").fetchone() == (3, "a!")
    listed = allowed.execute(
        "SELECT parameter_types, return_type FROM duckdb_functions() WHERE function_name = 'f' ORDER BY ALL"
    )
    assert listed.fetchall() == [(["INTEGER"], "INTEGER"), (["VARCHAR"], "VARCHAR")]
    allowed.execute("ALTER FUNCTION f RENAME TO g")
    assert one(allowed, "SELECT g(1)") == 3
    allowed.execute("DROP FUNCTION g; DROP FUNCTION IF EXISTS g")
    with pytest.raises(inlay.Error, match="does not exist"):
        allowed.execute("DROP FUNCTION g")


def test_schemas_files_and_export(allowed: inlay.Connection, tmp_path: Path) -> None:
    (tmp_path / "body.py").write_text("    total = x + y\n    return total\n")
    allowed.execute("CREATE SCHEMA s")
    allowed.execute(
        f"CREATE FUNCTION s.plus(x INTEGER, y INTEGER) RETURNS BIGINT LANGUAGE PYTHON_MAP AS '{tmp_path / 'body.py'}'"
    )
    allowed.execute("CREATE FUNCTION odd(x INTEGER) RETURNS VARCHAR LANGUAGE PYTHON_MAP { return '$$; it''s' }")
    (tmp_path / "body.py").unlink()
    assert one(allowed, "SELECT s.plus(40, 2)") == 42
    allowed.execute(f"EXPORT DATABASE '{tmp_path / 'out'}'")
    with inlay.connect(config={"allow_python": True}) as other:
        other.execute(f"IMPORT DATABASE '{tmp_path / 'out'}'")
        assert other.execute("SELECT s.plus(40, 2), odd(1)").fetchone() == (42, "$$; its")
    allowed.execute("SET enable_external_access = false")
    with pytest.raises(inlay.PermissionException, match="out of reach"):
        allowed.execute("CREATE FUNCTION g() RETURNS INTEGER LANGUAGE PYTHON_MAP AS '/etc/passwd'")


def test_tracebacks_show_the_line(allowed: inlay.Connection) -> None:
    create = "CREATE FUNCTION broken(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP"
    allowed.execute(f"{create} {{\n    y = 0\n    return 1 // y\n}}")
    message = r"ZeroDivisionError.*\(line 3 of <function broken>: return 1 // y\)"
    with pytest.raises(inlay.FunctionException, match=message) as raised:
        allowed.execute("SELECT broken(1)")
    cause = raised.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert "return 1 // y" in "".join(traceback.format_exception(cause))
    assert raised.value.sqlstate == "38000"


# Where calls may stand.


def test_calls_stand_wherever_expressions_do(allowed: inlay.Connection) -> None:
    allowed.execute("CREATE FUNCTION inc(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return x + 1 }")
    allowed.execute("CREATE TABLE t AS SELECT i::INTEGER AS i, i % 3 AS g FROM range(10) t(i)")
    assert column(allowed, "SELECT i FROM t WHERE inc(i) > 8 AND i < 9") == [8]
    assert column(allowed, "SELECT a.i FROM t a JOIN t b ON inc(a.i) = b.i WHERE b.i = 4") == [3]
    assert allowed.execute("SELECT inc(g::INTEGER), sum(inc(i)) FROM t GROUP BY ALL ORDER BY ALL").fetchall() == [
        (1, 22),
        (2, 15),
        (3, 18),
    ]
    assert column(allowed, "SELECT i FROM t ORDER BY inc(-i) LIMIT 2") == [9, 8]
    assert column(allowed, "SELECT g FROM t GROUP BY g HAVING inc(count(*)::INTEGER) > 4") == [0]
    assert column(allowed, "SELECT sum(inc(i)) OVER (ORDER BY i) FROM t LIMIT 2") == [1, 3]
    assert one(allowed, "SELECT list_transform([1, 2], x -> inc(x))") == [2, 3]
    assert one(allowed, "SELECT inc((SELECT max(i) FROM t))") == 10
    generated = "y INTEGER GENERATED ALWAYS AS (inc(x)), z INTEGER DEFAULT inc(1)"
    allowed.execute(f"CREATE TABLE c (x INTEGER CHECK (inc(x) < 10), {generated})")
    allowed.execute("INSERT INTO c (x) VALUES (1)")
    assert allowed.execute("FROM c").fetchall() == [(1, 2, 2)]
    with pytest.raises(inlay.ConstraintException):
        allowed.execute("INSERT INTO c (x) VALUES (20)")
    allowed.execute("UPDATE t SET i = inc(i) WHERE inc(i) = 3")
    assert sorted(column(allowed, "SELECT i FROM t")) == [0, 1, 3, 3, 4, 5, 6, 7, 8, 9]
    allowed.execute("DELETE FROM t WHERE inc(i) > 2")
    assert sorted(column(allowed, "SELECT i FROM t")) == [0, 1]
    with pytest.raises(inlay.Error, match="may be replaced"):
        allowed.execute("CREATE INDEX ix ON t (inc(i))")


def test_branches_see_only_the_rows_that_reach_them(con: inlay.Connection) -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.extend(np.atleast_1d(x).tolist())
        return x

    con.create_function("note", note, ["INTEGER"], "INTEGER", type="numpy")
    con.execute("CREATE TABLE t AS SELECT i::INTEGER AS i FROM range(6) t(i)")
    for query, rows in [
        ("SELECT CASE WHEN i > 3 THEN note(i) ELSE -1 END FROM t", [4, 5]),
        ("SELECT i > 4 AND note(i) > 0 FROM t", [5]),
        ("SELECT i < 4 OR note(i) > 0 FROM t", [4, 5]),
        ("SELECT coalesce(nullif(i, 2), note(7)) FROM t", [7]),
        ("SELECT i FROM t WHERE note(i) > 0 AND i < 2", [0, 1]),
        ("SELECT CASE WHEN note(i) > 4 THEN 1 WHEN i > 8 THEN note(i) END FROM t", [0, 1, 2, 3, 4, 5]),
    ]:
        seen.clear()
        con.execute(query).fetchall()
        assert sorted(set(seen)) == rows, query


# Values.

VALUES: list[tuple[str, str, Any]] = [
    ("BOOLEAN", "true", True),
    ("TINYINT", "-5", -5),
    ("SMALLINT", "-300", -300),
    ("INTEGER", "70000", 70000),
    ("BIGINT", "1099511627776", 1 << 40),
    ("UTINYINT", "200", 200),
    ("USMALLINT", "60000", 60000),
    ("UINTEGER", "4000000000", 4000000000),
    ("UBIGINT", "18446744073709551615", 18446744073709551615),
    ("HUGEINT", "170141183460469231731687303715884105727", 2**127 - 1),
    ("REAL", "1.5", 1.5),
    ("DOUBLE", "0.1", 0.1),
    ("DECIMAL(9,2)", "12.34", decimal.Decimal("12.34")),
    ("VARCHAR", "'a text that is longer than a view'", "a text that is longer than a view"),
    ("BLOB", "'\\xAA'", b"\xaa"),
    ("DATE", "'2024-02-29'", datetime.date(2024, 2, 29)),
    ("TIME", "'12:34:56'", datetime.time(12, 34, 56)),
    ("TIMESTAMP", "'2024-02-29 12:00:00.000001'", datetime.datetime(2024, 2, 29, 12, 0, 0, 1)),
    ("TIMESTAMPTZ", "'2024-02-29 12:00:00+00'", datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)),
    ("INTERVAL", "INTERVAL '1 day 2 hours'", datetime.timedelta(days=1, hours=2)),
    ("UUID", "'00000000-0000-0000-0000-000000000007'", uuid.UUID(int=7)),
    ("INTEGER[]", "[1, 2]", [1, 2]),
    ("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", {"a": 1, "b": "x"}),
    ("MAP(VARCHAR, INTEGER)", "MAP {'k': 1}", {"k": 1}),
]


@pytest.mark.parametrize("style", ["numpy", "native", "arrow", "pandas", "polars"])
@pytest.mark.parametrize(("ty", "text", "value"), VALUES, ids=[each[0] for each in VALUES])
def test_every_type_goes_in_and_comes_back(con: inlay.Connection, style: str, ty: str, text: str, value: Any) -> None:
    if style in ("arrow", "pandas", "polars"):
        pytest.importorskip("pyarrow")
        if style != "arrow":
            pytest.importorskip(style)
            if ty in ("MAP(VARCHAR, INTEGER)", "UUID", "HUGEINT", "INTERVAL"):
                pytest.skip("these libraries have other types for it")
    con.create_function("same", lambda x: x, [ty], ty, type=style, null_handling="special")
    con.execute(f"CREATE TABLE t (n INTEGER, x {ty}); INSERT INTO t VALUES (1, {text}), (2, {text})")
    assert column(con, "SELECT same(x) FROM t ORDER BY n") == [value, value]
    con.execute("INSERT INTO t VALUES (3, NULL)")
    assert column(con, "SELECT same(x) FROM t ORDER BY n") == [value, value, None]
    assert column(con, "SELECT same(x) FROM t WHERE n > 2") == [None]
    assert column(con, "SELECT same(x) FROM t WHERE n > 3") == []
    assert one(con, f"SELECT same(CAST({text} AS {ty}))") == value
    assert one(con, "SELECT same(NULL)") is None


def test_arrays_lie_over_memory_and_are_masked(con: inlay.Connection) -> None:
    shapes: list[Any] = []

    def look(a: Any, b: Any) -> Any:
        shapes.append((type(a), a.dtype.str, getattr(a, "flags", None) is not None and a.flags.writeable, np.ndim(b)))
        return a

    con.create_function("look", look, ["BIGINT", "DATE"], "BIGINT", type="numpy")
    con.execute("SELECT look(i, DATE '2024-01-01') FROM range(5) t(i)").fetchall()
    assert shapes == [(np.ndarray, "<i8", False, 0)]
    shapes.clear()
    rows = column(con, "SELECT look(nullif(i, 2), DATE '2024-01-01' + i::INTEGER) FROM range(5) t(i)")
    assert rows == [0, 1, None, 3, 4]
    assert shapes[0][0] is np.ma.MaskedArray
    assert shapes[0][3] == 1
    # What a column happens to hold shows nowhere: it is an array, though all its values are the same.
    shapes.clear()
    con.execute("CREATE TABLE same AS SELECT 7::BIGINT AS a, DATE '2024-01-01' AS b FROM range(5)")
    con.execute("SELECT look(a, b) FROM same").fetchall()
    assert shapes == [(np.ndarray, "<i8", False, 1)]


def test_results_of_all_kinds(con: inlay.Connection) -> None:
    pa, pd, pl = pytest.importorskip("pyarrow"), pytest.importorskip("pandas"), pytest.importorskip("polars")
    results = [
        np.array([1, 2, 3], dtype="i1"),
        np.array([1.0, 2.0, 3.0]),
        np.array([1, 2, 3], dtype=object),
        np.ma.MaskedArray([1, 2, 3], mask=False),
        np.arange(1, 7)[::2] // 2 + 1,
        [1, 2, 3],
        (1, 2, 3),
        pa.array([1, 2, 3]),
        pa.chunked_array([[1], [2, 3]]),
        pd.Series([1, 2, 3]),
        pl.Series([1, 2, 3]),
    ]
    for number, result in enumerate(results):
        con.create_function(f"r{number}", lambda x, result=result: result, ["BIGINT"], "INTEGER", type="numpy")
        assert column(con, f"SELECT r{number}(i) FROM range(3) t(i)") == [1, 2, 3], result
    for number, (scalar, value) in enumerate(
        [(7, 7), (np.int8(7), 7), (np.array(7), 7), (None, None), (np.ma.masked, None), ("7", 7)]
    ):
        con.create_function(f"s{number}", lambda x, scalar=scalar: scalar, ["BIGINT"], "INTEGER", type="numpy")
        assert column(con, f"SELECT s{number}(i) FROM range(3) t(i)") == [value] * 3


def test_results_that_do_not_fit(con: inlay.Connection) -> None:
    for number, (returns, result, message) in enumerate(
        [
            ("INTEGER", [1, 2], r'function "w0" gave 2 values for 3 rows'),
            ("TINYINT", np.array([1, 300, 2]), r'function "w1" gave 300 for w1\(1\), row 2 of 3; that is no TINYINT'),
            ("INTEGER", np.array([1, 2.5, 2]), r"gave 2.5 for w2\(1\)"),
            ("INTEGER", ["1", "x", "2"], r"gave 'x' for w3\(1\)"),
            ("DATE", 5, "gave 5; that is no DATE"),
            ("INTEGER", object(), "FunctionException|no type|object"),
            ("INTEGER", np.array([1, math.nan, 2]), "gave nan"),
        ]
    ):
        con.create_function(f"w{number}", lambda x, result=result: result, ["BIGINT"], returns, type="numpy")
        with pytest.raises(inlay.FunctionException, match=message):
            con.execute(f"SELECT w{number}(i) FROM range(3) t(i)")


def test_a_result_that_changes_later_is_copied(con: inlay.Connection) -> None:
    # One of each worker's: calls run at the same time, and two of them would write to the same array.
    own = threading.local()

    def reuse(x: Any) -> Any:
        if not hasattr(own, "buffer"):
            own.buffer = np.zeros(1 << 18, dtype="i8")
        own.buffer[: len(x)] = x
        return own.buffer[: len(x)]

    def keep(x: Any) -> Any:
        if getattr(own, "kept", None) is None or len(own.kept) != len(x):
            own.kept = np.zeros(len(x), dtype="i8")
        own.kept[:] = x
        return own.kept

    con.create_function("reuse", reuse, ["BIGINT"], "BIGINT", type="numpy")
    con.create_function("keep", keep, ["BIGINT"], "BIGINT", type="numpy")
    assert column(con, "SELECT reuse(i) FROM range(100000) t(i)") == list(range(100000))
    assert column(con, "SELECT keep(i) FROM range(100000) t(i)") == list(range(100000))


def test_neighbouring_batches_are_handed_over_where_they_lie(con: inlay.Connection) -> None:
    pd = pytest.importorskip("pandas")
    values = np.random.default_rng(7).integers(-(2**62), 2**62, 60_000)
    source = pd.DataFrame({"i": np.arange(60_000), "x": values})
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append((x.__array_interface__["data"][0], len(x), x.flags.writeable))
        return x + 1

    con.create_function("look", look, ["BIGINT"], "BIGINT", type="numpy")
    con.execute("SET threads = 1")
    con.register("source", source)
    con.execute("CREATE TABLE numbers AS SELECT i, x FROM source")
    for _ in range(2):
        rows = con.execute("SELECT look(x) FROM numbers ORDER BY i").fetchnumpy()
        assert np.array_equal(next(iter(rows.values())), values + 1)
    half = len(seen) // 2
    # It is the memory of the column, whose rows are one row group: each chunk begins where the one before ended.
    assert seen[:half] == seen[half:]
    assert half > 2
    assert all(start + 8 * rows == after for (start, rows, _), (after, _, _) in itertools.pairwise(seen[:half]))
    assert sum(rows for _, rows, _ in seen[:half]) == 60_000
    assert not any(writeable for _, _, writeable in seen)
    # With NULLs, and where a filter leaves gaps, values are the same.
    con.execute("UPDATE numbers SET x = NULL WHERE i % 10 = 3")
    count, total = con.execute("SELECT count(look(x)), sum(look(x)) FROM numbers").fetchone() or (0, 0)
    expected = values[np.arange(60_000) % 10 != 3]
    assert (count, total) == (54_000, sum(int(value) + 1 for value in expected))
    kept = con.execute("SELECT sum(look(x)) FROM numbers WHERE i % 4 = 0").fetchone()
    places = np.arange(60_000)
    assert kept == (sum(int(value) + 1 for value in values[(places % 4 == 0) & (places % 10 != 3)]),)


@pytest.mark.parametrize("ty", ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "UBIGINT", "REAL", "DOUBLE"])
def test_arrays_that_lie_otherwise_are_converted(con: inlay.Connection, ty: str) -> None:
    kind = {"TINYINT": "i1", "SMALLINT": "i2", "INTEGER": "i4", "BIGINT": "i8", "UTINYINT": "u1", "UBIGINT": "u8"}
    kind |= {"REAL": "f4", "DOUBLE": "f8"}
    ways = {
        "fresh": lambda x: x + x.dtype.type(1),
        "swapped": lambda x: (x + 1).astype(">" + kind[ty]),
        "reversed": lambda x: (x + 1)[::-1][::-1],
        "strided": lambda x: np.repeat(x + 1, 2)[::2],
        "wider": lambda x: (x + 1).astype("f8"),
        "matrix": lambda x: np.ascontiguousarray((x + 1).astype(kind[ty])).reshape(1, -1)[0],
        "same": lambda x: x,
        "subclass": lambda x: np.ma.MaskedArray(x + 1),
        "unaligned": lambda x: np.frombuffer(b"." + (x + 1).astype(kind[ty]).tobytes(), kind[ty], offset=1),
    }
    for name, way in ways.items():
        con.create_function(name, way, [ty], ty, type="numpy")
        expected = list(range(100)) if name == "same" else list(range(1, 101))
        assert column(con, f'SELECT "{name}"(i::{ty}) FROM range(100) t(i)') == expected, name


# Python's side.


def test_create_function_is_duckdbs(con: inlay.Connection) -> None:
    def plus(a: int, b: int) -> int:
        return a + b

    assert con.create_function("plus", plus) is con
    assert one(con, "SELECT plus(1, 2)") == 3
    assert one(con, "SELECT plus(1, NULL)") is None
    con.create_function("none", lambda x: None, ["INTEGER"], "INTEGER")
    with pytest.raises(inlay.InvalidInputException, match="gave None"):
        con.execute("SELECT none(1)")
    con.create_function("special", lambda x: -1 if x is None else x, [int], int, null_handling="special")
    assert one(con, "SELECT special(NULL::BIGINT)") == -1
    con.create_function("careful", lambda x: 1 // x, [int], int, exception_handling="return_null")
    assert column(con, "SELECT careful(i) FROM range(2) t(i)") == [None, 1]
    con.create_function("any_number", lambda *args: len(args), None, int)
    assert one(con, "SELECT any_number(1, 'a', 2.5)") == 3
    with pytest.raises(inlay.CatalogException, match="already exists"):
        con.create_function("plus", plus)
    with pytest.raises(inlay.InvalidInputException, match="built-in"):
        con.create_function("abs", plus)
    with pytest.raises(inlay.InvalidInputException, match="needs return_type"):
        con.create_function("untyped", lambda x: x)
    con.remove_function("plus")
    with pytest.raises(inlay.CatalogException, match="does not exist"):
        con.execute("SELECT plus(1, 2)")
    with pytest.raises(inlay.InvalidInputException, match="there is no function"):
        con.remove_function("plus")
    # Others of the database see it, too.
    assert one(con.cursor(), "SELECT special(2)") == 2


def test_the_decorator(con: inlay.Connection) -> None:
    @con.udf()
    def squared(x: float) -> float:
        return x * x

    @con.udf("cubed", return_type="DOUBLE", parameters=["DOUBLE"], deterministic=True)
    def third_power(x: Any) -> Any:
        return x**3

    assert squared(3.0) == 9.0
    assert con.execute("SELECT squared(3), cubed(2)").fetchone() == (9.0, 8.0)


def test_meanings_agree_with_duckdb(con: inlay.Connection) -> None:
    duckdb = pytest.importorskip("duckdb")
    other = duckdb.connect()
    calls: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
        "f1": (lambda x: x * 2, ["INTEGER"], "INTEGER", {}),
        "f2": (lambda x: None if x is None else x + "!", ["VARCHAR"], "VARCHAR", {"null_handling": "special"}),
        "f3": (lambda x: 10 // x, ["INTEGER"], "INTEGER", {"exception_handling": "return_null"}),
        "f4": (lambda a, b: [a, b], ["INTEGER", "INTEGER"], "INTEGER[]", {}),
        "f5": (lambda d: d + datetime.timedelta(days=1), ["DATE"], "DATE", {}),
        "f6": (lambda x: {"a": x}, ["INTEGER"], "STRUCT(a INTEGER)", {}),
        "f7": (lambda x: x, ["DECIMAL(9,3)"], "DECIMAL(9,3)", {}),
    }
    for name, (function, parameters, returns, options) in calls.items():
        for connection in (con, other):
            connection.create_function(name, function, parameters, returns, **options)
    rows = "(SELECT CASE WHEN i % 3 = 1 THEN NULL ELSE i::INTEGER END AS i FROM range(7) t(i)) t"
    for call in [
        "f1(i)",
        "f2(i::VARCHAR)",
        "f3(i)",
        "f4(i, 1)",
        "f5(DATE '2024-02-28' + i)",
        "f6(i)",
        "f7((i / 4)::DECIMAL(9,3))",
        "f1(f1(i)) + 1",
        "CASE WHEN i > 2 THEN f1(i) END",
    ]:
        query = f"SELECT {call} FROM {rows}"
        assert con.execute(query).fetchall() == other.execute(query).fetchall(), call


def test_arrow_and_series(con: inlay.Connection) -> None:
    pa = pytest.importorskip("pyarrow")
    pc = pytest.importorskip("pyarrow.compute")
    kinds: list[Any] = []

    def upper(texts: Any) -> Any:
        kinds.append(type(texts))
        return pc.utf8_upper(texts)

    con.create_function("shout", upper, ["VARCHAR"], "VARCHAR", type="arrow")
    assert column(con, "SELECT shout(x) FROM (VALUES ('a'), (NULL), ('b')) t(x)") == ["A", None, "B"]
    assert kinds == [pa.ChunkedArray]
    con.execute("SET allow_python = true")
    con.execute("""CREATE FUNCTION chars(s VARCHAR) RETURNS BIGINT LANGUAGE PYTHON_MAP WITH (arguments = 'polars') {
        return s.str.len_chars() }""")
    pytest.importorskip("polars")
    assert column(con, "SELECT chars(x) FROM (VALUES ('a'), (NULL), ('äb')) t(x)") == [1, None, 2]
    con.execute("""CREATE FUNCTION stringy(s VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP
        WITH (strings = 'stringdtype') {
        return np.strings.upper(s) }""")
    assert column(con, "SELECT stringy(x) FROM (VALUES ('a'), ('äb')) t(x)") == ["A", "ÄB"]


def test_any_number_of_arguments(allowed: inlay.Connection) -> None:
    allowed.execute("CREATE FUNCTION total(a INTEGER, *) RETURNS DOUBLE LANGUAGE PYTHON_MAP { return a + sum(args) }")
    assert one(allowed, "SELECT total(1)") == 1.0
    assert column(allowed, "SELECT total(i::INTEGER, i, 0.5) FROM range(2) t(i)") == [0.5, 2.5]


def test_deterministic_functions_see_each_text_of_a_dictionary_once(con: inlay.Connection) -> None:
    rows: list[int] = []

    def counted(x: Any) -> Any:
        rows.append(len(x))
        return x

    con.execute("CREATE TABLE t AS SELECT 'word ' || (i % 3) AS s FROM range(100000) t(i)")
    con.create_function("counted", counted, ["VARCHAR"], "VARCHAR", type="numpy", deterministic=True)
    assert one(con, "SELECT count(DISTINCT counted(s)) FROM t") == 3
    assert max(rows) == 3


def test_side_effects_are_not_shared(con: inlay.Connection) -> None:
    count = iter(range(1000))
    con.create_function("tick", lambda: next(count), [], int, side_effects=True)
    rows = con.execute("SELECT tick(), tick() FROM range(3)").fetchall()
    assert sorted(each for row in rows for each in row) == list(range(6))


# Ends.


@pytest.mark.parametrize("threads", [1, 4])
def test_endless_loops_end(con: inlay.Connection, threads: int) -> None:
    con.execute(f"SET threads = {threads}")
    con.execute("CREATE TABLE t AS SELECT i FROM range(500000) t(i)")
    started = threading.Event()

    def endless(x: Any) -> Any:
        started.set()
        while True:
            with contextlib.suppress(Exception):
                pass

    con.create_function("endless", endless, ["BIGINT"], "BIGINT", type="numpy")
    stopped: list[float] = []

    def stop() -> None:
        started.wait(10)
        time.sleep(0.1)
        stopped.append(time.monotonic())
        con.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(inlay.InterruptException):
        con.execute("SELECT sum(endless(i)) FROM t")
    ended = time.monotonic()
    thread.join()
    assert ended - stopped[0] < 1
    con.execute("SET statement_timeout = 200")
    with pytest.raises(inlay.InterruptException, match="statement_timeout"):
        con.execute("SELECT sum(endless(i)) FROM t")
    con.execute("RESET statement_timeout")
    assert one(con, "SELECT 1") == 1


def test_ctrl_c_is_what_it_is(con: inlay.Connection) -> None:
    def interrupted(x: Any) -> Any:
        raise KeyboardInterrupt

    con.create_function("interrupted", interrupted, ["BIGINT"], "BIGINT", type="numpy")
    with pytest.raises(KeyboardInterrupt):
        con.execute("SELECT interrupted(i) FROM range(10) t(i)")
    assert one(con, "SELECT 1") == 1


def test_the_connection_of_the_statement_is_in_use(con: inlay.Connection) -> None:
    con.create_function("again", lambda x: one(con, "SELECT 1"), [int], int)
    with pytest.raises(inlay.FunctionException, match=r"cursor\(\) gives another"):
        con.execute("SELECT again(1)")
    con.create_function("other", lambda x: one(con.cursor(), f"SELECT {x} + 1"), [int], int)
    assert one(con, "SELECT other(1)") == 2
