"""`import inlay as duckdb`: the names of DuckDB's package, and what they do."""

from __future__ import annotations

import datetime
import inspect
from typing import Any

import pytest

import inlay
import inlay.functional
from inlay import sqltypes
from inlay.value import constant

# A note of DuckDB's own build.
MISSING = {"__git_revision__"}


def public(of: Any) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_names_are_duckdbs() -> None:
    duckdb = pytest.importorskip("duckdb")
    assert set(duckdb.__all__) - set(dir(inlay)) - MISSING == {"_clean_default_connection"}
    assert public(duckdb.DuckDBPyConnection) - public(inlay.Connection) == set()
    assert public(duckdb.DuckDBPyRelation) - public(inlay.Relation) == set()
    # `str()` of an expression is its text.
    assert public(duckdb.Expression) - public(inlay.Expression) == {"fragment"}
    assert public(duckdb.Appender) - public(inlay.Appender) == set()
    assert public(duckdb.Statement) - public(inlay.Statement) == set()
    for kind in ("StatementType", "ExpectedResultType", "ExplainType", "RenderMode", "CSVLineTerminator", "token_type"):
        ours, theirs = getattr(inlay, kind), getattr(duckdb, kind)
        assert {each.name: each.value for each in theirs} == {each.name: each.value for each in ours}


def test_everything_listed_is_there() -> None:
    for name in inlay.__all__:
        assert getattr(inlay, name) is not None
    assert inspect.getdoc(inlay.appender) and inlay.functional.SPECIAL.name == "SPECIAL"
    assert inlay.__version__ in inlay.version() and inlay.build_info()["package_version"] == inlay.__version__


def test_statements(con: inlay.Connection) -> None:
    text = "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (?), ($b); ; SELECT 'a;b' -- the last"
    create, insert, select = con.extract_statements(text)
    assert [each.type.name for each in (create, insert, select)] == ["CREATE", "INSERT", "SELECT"]
    assert insert.query == str(insert) == "INSERT INTO t VALUES (?), ($b)" and insert.named_parameters == {"1", "b"}
    assert select.expected_result_type == [inlay.ExpectedResultType.QUERY_RESULT]
    assert inlay.ExpectedResultType.CHANGED_ROWS in insert.expected_result_type
    con.execute(create)
    (insert,) = con.extract_statements("INSERT INTO t VALUES ($1)")
    con.executemany(insert, [[1], [2]])
    (select,) = inlay.extract_statements("SELECT sum(a) AS s FROM t WHERE a > $low")
    assert con.execute(select, {"low": 1}).fetchall() == [(2,)]
    assert con.sql(select, params={"low": 0}).fetchall() == [(3,)]
    with pytest.raises(inlay.ParserException):
        con.extract_statements("SELEC 1")
    with pytest.raises(TypeError):
        con.execute(3)  # type: ignore[arg-type]


def test_table_names(con: inlay.Connection) -> None:
    query = 'WITH a AS (FROM b) SELECT * FROM a, s.c JOIN d."E f" ON x IN (FROM g), range(3)'
    assert con.get_table_names(query) == {"b", "c", "E f", "g"}
    assert con.get_table_names(query, qualified=True) == {"b", "s.c", 'd."E f"', "g"}
    with pytest.raises(inlay.InvalidInputException, match="one statement, and the text has 2"):
        con.get_table_names("FROM a; FROM b")


def test_tokens() -> None:
    kinds = [(at, kind.name) for at, kind in inlay.tokenize("SELECT é, 'ü' || 1.5e3 -- c\nFROM $$x$$ AS \"t\"")]
    assert kinds == [
        (0, "keyword"),
        (7, "identifier"),
        (9, "operator"),
        (11, "string_const"),
        (16, "operator"),
        (19, "numeric_const"),
        (25, "comment"),
        (30, "keyword"),
        (35, "string_const"),
        (41, "keyword"),
        (44, "identifier"),
    ]
    assert inlay.tokenize("") == [] and inlay.tokenize("'open")[0][1] is inlay.token_type.string_const


def test_profiles(con: inlay.Connection) -> None:
    import json

    assert json.loads(con.get_profiling_information()) == {"result": "disabled"}
    con.enable_profiling()
    assert con.execute("SELECT count(*) FROM range(1000) t(i) WHERE i > 5").fetchall() == [(994,)]
    profile = json.loads(con.get_profiling_information())
    assert profile["query"]["sql"].startswith("SELECT count(*)") and profile["query"]["rows_returned"] == 1
    assert profile["query"]["total_time"] > 0 and profile["operator"][0]["children"][0]["intermediate_rows"] == 994
    assert "rows: 994" in con.get_profiling_information("query_tree")
    # Large results, too, and those of relations.
    assert len(con.sql("FROM range(3000000)").fetchnumpy()["range"]) == 3_000_000
    assert json.loads(con.get_profiling_information())["query"]["rows_returned"] == 3_000_000
    with pytest.raises(inlay.InvalidInputException, match="expected 'json' or 'query_tree'"):
        con.get_profiling_information("yaml")
    con.disable_profiling()
    assert json.loads(con.get_profiling_information()) == {"result": "disabled"}


def test_values_say_their_type(con: inlay.Connection) -> None:
    def shown(value: constant.Value) -> Any:
        return con.execute("SELECT typeof($1), $1", [value]).fetchone()

    day = datetime.date(2024, 2, 29)
    for value, ty, expected in (
        (inlay.ShortValue(3), "SMALLINT", 3),
        (inlay.LongValue(3), "BIGINT", 3),
        (inlay.UnsignedHugeIntegerValue(3), "UHUGEINT", 3),
        (inlay.DecimalValue("1.5", 5, 2), "DECIMAL(5,2)", 1.5),
        (inlay.DateValue("2024-02-29"), "DATE", day),
        (inlay.BitValue("0101"), "BIT", "0101"),
        (inlay.ListValue([1, None], sqltypes.SMALLINT), "SMALLINT[]", [1, None]),
        (inlay.StructValue({"a": 1}, {"a": sqltypes.TINYINT}), "STRUCT(a TINYINT)", {"a": 1}),
        (inlay.MapValue({1: "a"}, int, str), "MAP(BIGINT, VARCHAR)", {1: "a"}),
        (inlay.MapValue({"key": [1], "value": ["a"]}, int, str), "MAP(BIGINT, VARCHAR)", {1: "a"}),
        (inlay.UnionType(5, {"n": int, "s": str}), "UNION(n BIGINT, s VARCHAR)", 5),
        (inlay.NullValue(), '"NULL"', None),
    ):
        assert shown(value) == (ty, expected)
        assert isinstance(value, inlay.Value)
    relation = con.sql("SELECT 1").select(inlay.ConstantExpression(inlay.LongValue(3)), inlay.ShortValue(4))
    assert relation.types == ["BIGINT", "SMALLINT"] and relation.fetchall() == [(3, 4)]
    with pytest.raises(inlay.OutOfRangeException):
        shown(inlay.ShortValue(100_000))


def test_sql_expressions_have_names(con: inlay.Connection) -> None:
    relation = con.sql("SELECT 1 AS a").select(inlay.SQLExpression('a + 1 AS "b c"'), inlay.SQLExpression("a"))
    assert relation.columns == ["b c", "a"] and relation.fetchall() == [(2, 1)]
    assert inlay.SQLExpression("a AS b").get_name() == "b"
    # Neither of these is a name, nor are there two expressions.
    for text in ("CAST(a AS INTEGER)", "'x, y'", "[a, 2]", "concat(a, ' AS b')"):
        assert con.sql("SELECT 1 AS a").select(inlay.SQLExpression(text)).shape == (1, 1)
    with pytest.raises(inlay.InvalidInputException, match="the text has 2"):
        inlay.SQLExpression("a, b")


def test_extensions(con: inlay.Connection) -> None:
    con.install_extension("httpfs")
    con.load_extension("parquet")
    con.execute("LOAD 'json'")
    with pytest.raises(inlay.NotImplementedException, match='the extension "spatial" is not available; built in are'):
        con.load_extension("spatial")


def test_answers_end(con: inlay.Connection) -> None:
    con.execute("FROM range(5)").abort()
    assert con.fetchall() == []
    con.execute("FROM range(20000000)").complete()
    assert con.fetchall() == []
    con.cursor().abort()
    con.cursor().complete()


def test_line_ends(con: inlay.Connection, tmp_path: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a\r\n1\r\n")
    ends = inlay.CSVLineTerminator.CARRIAGE_RETURN_LINE_FEED
    assert con.read_csv(path, lineterminator=ends).fetchall() == [(1,)]
