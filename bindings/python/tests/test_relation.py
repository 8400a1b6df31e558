"""Relations: queries that run when they are read, their steps, and what they hold."""

# Variables are read by SQL.
# ruff: noqa: F841
from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay
from inlay import ColumnExpression as Col


def test_repr_is_a_table(con: inlay.Connection) -> None:
    relation = con.sql("SELECT 1 AS n, 'Ulm' AS city UNION ALL SELECT 20, NULL ORDER BY n")
    assert repr(relation) == "\n".join(
        [
            "┌─────────┬─────────┐",
            "│    n    │  city   │",
            "│ integer │ varchar │",
            "├─────────┼─────────┤",
            "│       1 │ Ulm     │",
            "│      20 │ NULL    │",
            "└─────────┴─────────┘",
            "2 rows, 2 columns",
        ]
    )


def test_long_tables_are_cut(con: inlay.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    relation = con.sql("SELECT * FROM range(1234) t(x) ORDER BY x")
    text = str(relation)
    assert "·" in text and text.endswith("1,234 rows (40 shown)") and "1233" in text
    relation.show(max_rows=4)
    assert capsys.readouterr().out.rstrip().endswith("1,234 rows (4 shown)")
    assert repr(con.sql("FROM range(100000)")).endswith("more than 10,000 rows (40 shown)")


def test_notebooks_get_the_first_rows(con: inlay.Connection) -> None:
    bundle = con.sql("SELECT x, '<b>' AS s FROM range(1000) t(x)")._repr_mimebundle_()
    assert bundle["text/html"].count("<tr>") == 51 and "&lt;b&gt;" in bundle["text/html"]
    assert "offset=50" in bundle["text/html"]
    assert "offset" not in con.sql("SELECT 1")._repr_mimebundle_()["text/html"]


def test_shape_and_types(con: inlay.Connection) -> None:
    relation = con.sql("SELECT 1 AS a, 2.5::DOUBLE AS b")
    assert relation.columns == ["a", "b"] and relation.types == ["INTEGER", "DOUBLE"]
    assert relation.dtypes == relation.types and relation.description[0][:2] == ("a", "INTEGER")
    assert relation.shape == (1, 2) and len(relation) == 1 and "a" in relation and "c" not in relation
    assert relation.b.fetchall() == relation["b"].fetchall() == [(2.5,)]


def test_every_fetch_gives_all_rows(con: inlay.Connection) -> None:
    relation = con.sql("SELECT * FROM range(3) t(x) ORDER BY x")
    for _ in range(2):
        assert relation.fetchnumpy()["x"].tolist() == [0, 1, 2]
        assert relation.df()["x"].tolist() == [0, 1, 2]
        assert relation.fetchall() == list(relation) == [(0,), (1,), (2,)]
    assert next(iter(relation)) == (0,) and relation.fetchall() == [(0,), (1,), (2,)]
    assert relation.to_dicts() == [{"x": 0}, {"x": 1}, {"x": 2}]
    assert not hasattr(relation, "nothing")


def test_rows_are_fetched_one_by_one(con: inlay.Connection) -> None:
    relation = con.sql("SELECT * FROM range(4) t(x) ORDER BY x")
    assert relation.fetchone() == (0,) and relation.fetchmany(2) == [(1,), (2,)]
    assert relation.fetchall() == [(0,), (1,), (2,), (3,)]
    assert relation.fetchmany(5) == [(3,)] and relation.fetchmany(5) == [] and relation.fetchone() is None
    assert inlay.sql("SELECT 42").fetchone() == (42,)


def test_statements_without_rows_have_no_relation(con: inlay.Connection) -> None:
    assert con.sql("CREATE TABLE t (x INTEGER)") is None
    assert con.sql("INSERT INTO t VALUES (1)") is None
    assert con.table("t").fetchall() == [(1,)]
    assert con.sql("INSERT INTO t VALUES (2) RETURNING x * 10 AS y").fetchall() == [(20,)]
    assert con.sql("INSERT INTO t VALUES (3); FROM t ORDER BY x").fetchall() == [(1,), (2,), (3,)]


def test_queries_run_when_they_are_read(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS x")
    relation = con.sql("SELECT x FROM t")
    kept = con.sql("SELECT x FROM t").execute()
    rows = relation.materialize()
    con.execute("UPDATE t SET x = 2")
    assert relation.fetchall() == [(2,)]
    assert kept.fetchall() == rows.fetchall() == [(1,)]
    assert rows.filter("x = 1").count().fetchall() == [(1,)]


def test_mistakes_show_where_they_are_made(con: inlay.Connection) -> None:
    relation = con.sql("SELECT 1 AS speed")
    with pytest.raises(inlay.BinderException, match="speed"):
        relation.filter("sped > 1")
    with pytest.raises(inlay.ParserException):
        con.sql("SELEC 1")


def test_steps(con: inlay.Connection) -> None:
    r = con.sql("SELECT * FROM (VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', 30)) t(i, g, v)")
    assert r.filter("i > 1").filter(Col("v") < 30).fetchall() == [(2, "a", 20)]
    assert r.select("i + 1 AS j").columns == ["j"] and r.select("g", Col("v").alias("w")).columns == ["g", "w"]
    assert r.aggregate("g, sum(v)").order("g").fetchall() == [("a", 30), ("b", 30)]
    assert r.aggregate([inlay.FunctionExpression("sum", Col("v"))], "g").order("1").fetchall() == [(30,), (30,)]
    assert r.order("i DESC").limit(1).fetchall() == r.sort(Col("i").desc()).limit(1).fetchall() == [(3, "b", 30)]
    assert r.order("i").limit(1, offset=1).fetchall() == [(2, "a", 20)]
    assert r.select("g").distinct().order("g").fetchall() == r.unique("g").order("g").fetchall() == [("a",), ("b",)]
    assert r.value_counts("g").order("g").fetchall() == [("a", 2), ("b", 1)]
    assert r.sum("v", groups="g", projected_columns="g").order("g").fetchall() == [("a", 30), ("b", 30)]
    assert r.max("v").fetchall() == [(30,)] and r.mean("v").fetchall() == [(20.0,)]
    assert r.row_number("OVER (ORDER BY v DESC)", "i").order("i").fetchall() == [(1, 3), (2, 2), (3, 1)]
    assert r.with_columns(w="v * 2", i=Col("i") * 100).order("i").limit(1).fetchall() == [(100, "a", 10, 20)]
    assert r.drop("g").rename(v="w").columns == ["i", "w"]
    assert r.select_types(["INTEGER"]).columns == ["i", "v"]
    assert r.describe().fetchall()[0] == ("count", 3.0, "3", 3.0)
    assert "range" in con.sql("FROM range(3)").explain().lower()


def test_two_relations(con: inlay.Connection) -> None:
    a, b = con.sql("SELECT unnest([1, 1, 2]) AS i"), con.sql("SELECT unnest([1, 3]) AS i")
    assert sorted(a.union(b).fetchall()) == [(1,), (1,), (1,), (2,), (3,)]
    assert sorted(a.except_(b).fetchall()) == [(1,), (2,)]
    assert a.intersect(b).fetchall() == [(1,)]
    assert a.join(b, "i").fetchall() == [(1,), (1,)]
    assert sorted(a.join(b, "i", how="left").fetchall()) == [(1,), (1,), (2,)]
    assert a.join(b, "i", how="anti").fetchall() == [(2,)]
    assert len(a.join(b, "i", how="outer")) == 4 and len(a.cross(b)) == 6
    left, right = a.set_alias("l"), b.set_alias("r")
    assert left.join(right, "l.i < r.i").filter("l.i = 2").select("l.i", "r.i").fetchall() == [(2, 3)]
    assert left.join(right, Col("l", "i") == Col("r", "i"), how="semi").columns == ["i"]
    with pytest.raises(inlay.InvalidInputException, match="set_alias"):
        a.join(a, "i")


def test_relations_hold_the_objects_they_name(con: inlay.Connection) -> None:
    numbers = {"x": np.array([1, 2])}
    first = con.sql("SELECT x FROM numbers")
    numbers = {"x": np.array([3])}
    second = con.sql("SELECT x FROM numbers")
    del numbers
    gc.collect()
    assert first.fetchall() == [(1,), (2,)] and second.fetchall() == [(3,)]
    assert first.union(second).fetchall() == [(1,), (2,), (3,)]
    assert first.set_alias("a").join(second.set_alias("b"), "a.x < b.x").fetchall() == [(1, 3), (2, 3)]


def test_relations_are_tables_by_name(con: inlay.Connection) -> None:
    values = {"x": np.array([1, 2, 3])}
    odd = con.sql("SELECT x FROM values WHERE x % 2 = 1")
    values = odd.select("x * 10 AS x")
    assert con.sql("SELECT sum(x) FROM values").fetchall() == [(40,)]
    assert con.execute("SELECT count(*) FROM odd JOIN values ON values.x = odd.x * 10").fetchall() == [(2,)]
    con.execute("CREATE TABLE t AS FROM odd")
    assert con.table("t").fetchall() == [(1,), (3,)]
    assert odd.query("v", "SELECT max(x) FROM v").fetchall() == [(3,)]


def test_views_hold_what_they_name(con: inlay.Connection) -> None:
    rows = [{"x": 1}, {"x": 2}]
    con.sql("FROM rows").create_view("v")
    del rows
    assert con.execute("FROM v ORDER BY x").fetchall() == [(1,), (2,)]


def test_writing(con: inlay.Connection, tmp_path: Path) -> None:
    con.sql("SELECT 1 AS a, 'x' AS b").to_table("t")
    table = con.table("t")
    con.sql("SELECT 2, 'y'").insert_into("t")
    table.insert([3, "z"])
    table.update({"b": "new"}, condition=Col("a") == 3)
    assert table.order("a").fetchall() == [(1, "x"), (2, "y"), (3, "new")]
    table.to_csv(tmp_path / "t.csv", sep=";", header=True)
    assert con.read_csv(tmp_path / "t.csv", sep=";").order("a").fetchall() == table.order("a").fetchall()
    assert con.read_csv(str(tmp_path / "t.csv"), delimiter=";", dtype={"a": "VARCHAR"}).types[0] == "VARCHAR"
    with (tmp_path / "t.csv").open("rb") as file:
        assert len(con.read_csv(file)) == 3
    table.to_parquet(tmp_path / "t.parquet", compression="zstd")
    assert con.read_parquet([tmp_path / "t.parquet"]).order("a").fetchall() == table.order("a").fetchall()


def test_values_of_parameters_become_part_of_the_text(con: inlay.Connection) -> None:
    given: list[Any] = [1, -2, 2.5, "it's $1 ?", None, True, b"\x00'", [1, 2], {"k": 1}]
    text = "SELECT " + ", ".join("?" for _ in given)
    assert con.sql(text, params=given).fetchall() == con.execute(text, given).fetchall()
    query = 'SELECT $a AS a, \'$a\' AS b, "x?" AS c, $$?$$ AS d FROM (SELECT 1 AS "x?") -- ?'
    assert con.sql(query, params={"a": 5}).fetchall() == [(5, "$a", 1, "?")]
    assert con.sql("SELECT 1 - $1 AS x", params=[-1]).fetchall() == [(2,)]
    for wrong in ([], [1, 2], {"b": 1}):
        with pytest.raises(inlay.InvalidInputException):
            con.sql("SELECT $1", params=wrong)


def test_expressions(con: inlay.Connection) -> None:
    r = con.sql("SELECT 5 AS a, 'x' AS s, NULL::INTEGER AS n, [1, 2] AS l")
    case = inlay.CaseExpression(Col("a") > 9, "big").when(Col("a") > 3, "some").otherwise("few")
    twice = inlay.FunctionExpression("list_transform", Col("l"), inlay.LambdaExpression("x", Col("x") * 2))
    items = [
        ((Col("a") + 1) * 2 - 3, 9),
        (10 // Col("a"), 2),
        (-Col("a"), -5),
        ((Col("a") == 5) & ~(Col("s") == "y"), True),
        (Col("n").isnull() | Col("a").isnotnull(), True),
        (Col("a").isin(1, 5), True),
        (Col("a").isnotin(1, 5), False),
        (Col("a").between(1, 5), True),
        (Col("a").cast("VARCHAR"), "5"),
        (inlay.CoalesceOperator(Col("n"), 7), 7),
        (case, "some"),
        (twice, [2, 4]),
        (inlay.SQLExpression("a + 1"), 6),
        (inlay.ConstantExpression("it's"), "it's"),
        (Col("l")[1], 1),
    ]
    for expression, expected in items:
        assert r.select(expression).fetchall() == [(expected,)], str(expression)
    assert r.select(inlay.StarExpression(exclude=["s", "l"])).columns == ["a", "n"]
    assert r.select((Col("a") + 1).alias("b")).columns == ["b"]
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(Col("a") > 1 and Col("a") < 3)


def test_types() -> None:
    struct = inlay.struct_type({"a": inlay.sqltypes.INTEGER, "b c": inlay.list_type(str)})
    assert struct == 'STRUCT(a INTEGER, "b c" VARCHAR[])' and struct.id == "struct"
    assert struct.a == "integer" != "BIGINT" and struct["b c"].child == inlay.sqltypes.VARCHAR
    with pytest.raises(AttributeError, match="has no part 'c'; it has a, b c"):
        _ = struct.c
    assert struct.children == [("a", "INTEGER"), ("b c", "VARCHAR[]")]
    assert inlay.sqltype("int") == inlay.sqltypes.INTEGER
    nested = inlay.sql("SELECT {'a': 1, 'b': [1.5]} AS s").types[0]
    assert nested.children == [
        ("a", "INTEGER"),
        ("b", "DECIMAL(2,1)[]"),
    ]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (list[int], "BIGINT[]"),
        (int | None, "BIGINT"),
        (dict[str, float], "MAP(VARCHAR, DOUBLE)"),
        (int | str, "UNION(u1 BIGINT, u2 VARCHAR)"),
        ({"a": list[str]}, "STRUCT(a VARCHAR[])"),
        ("decimal(9, 2)", "decimal(9, 2)"),
    ],
)
def test_types_of_python(given: object, name: str) -> None:
    assert str(inlay.sqltypes.DuckDBPyType(given)) == name == str(inlay.sqltypes.sqltype(given))
    inlay.execute(f"SELECT NULL::{inlay.sqltypes.sqltype(given)}")


def test_types_of_numpy() -> None:
    np = pytest.importorskip("numpy")
    assert [inlay.sqltypes.sqltype(ty) for ty in (np.int32, np.dtype("uint8"), np.float32)] == [
        "INTEGER",
        "UTINYINT",
        "FLOAT",
    ]


def test_a_function_over_frames_keeps_its_promise() -> None:
    pd = pytest.importorskip("pandas")
    r = inlay.sql("SELECT 1 AS a")
    assert r.map(lambda frame: frame, schema={"a": "DOUBLE"}).types == ["DOUBLE"]
    with pytest.raises(inlay.InvalidInputException, match=r"returned the columns \['b'\], its schema promises"):
        r.map(lambda _: pd.DataFrame({"b": [1]}), schema={"a": int})
    with pytest.raises(inlay.ConversionException):
        r.map(lambda _: pd.DataFrame({"a": ["x"]}), schema={"a": int}).fetchall()


def test_bits_have_bounds() -> None:
    r = inlay.sql("SELECT * FROM (VALUES (1), (2)) t(a)")
    assert r.bitstring_agg("a", min=0, max=3).fetchall() == [("0110",)]
    with pytest.raises(inlay.InvalidInputException, match="min and max, or neither"):
        r.bitstring_agg("a", min=0)
    assert inlay.execute("SELECT ?", [inlay.BitValue(b"0101")]).fetchone() == ("0101",)


def test_a_relation_keeps_what_its_query_ends_with() -> None:
    con = inlay.connect()
    con.execute("CREATE TABLE t AS FROM range(1000) r(i)")
    queries = [
        "FROM t USING SAMPLE 2 ROWS",
        "SELECT * FROM t TABLESAMPLE reservoir(2 ROWS) -- two",
        "SELECT x.i FROM x: t ORDER BY 1 LIMIT 0o2",
        "FROM t FETCH FIRST (1 + 1) ROWS ONLY",
    ]
    for query in queries:
        r = con.sql(query)
        assert len(r.fetchall()) == len(r) == 2 and r.filter("true").aggregate("count(*)").fetchone() == (2,)


def test_objects_may_be_referred_to_weakly() -> None:
    con = inlay.connect()
    statement = inlay.extract_statements("SELECT 1")[0]
    for made in (con, con.prepare("SELECT 1"), con.sql("SELECT 1"), inlay.col("a"), statement):
        assert weakref.ref(made)() is made


COMMON = [
    lambda d: d.sql("SELECT 42 AS x").fetchall(),
    lambda d: d.sql("SELECT * FROM range(10) t(i)").filter("i > 3").aggregate("count(*), sum(i)").fetchall(),
    lambda d: d.values((1, "a"), (2, "b")).order("col0 DESC").fetchall(),
    lambda d: d.sql("SELECT 1 AS a, 2 AS b").project("b, a + b AS c").columns,
    lambda d: d.sql("SELECT 1 AS a, 2 AS b").select(d.ColumnExpression("a") + 1).columns,
    lambda d: d.sql("SELECT 1 AS a, 'x' AS s").describe().fetchall(),
    lambda d: d.sql("SELECT unnest([3, 1, 2]) AS i").sort("i").df()["i"].tolist(),
    lambda d: d.from_df(d.sql("SELECT 1 AS a").df()).fetchall(),
    lambda d: d.sql("SELECT 1 AS i, 5 AS j").join(d.sql("SELECT 1 AS i, 6 AS k"), "i").columns,
    lambda d: d.execute("SELECT ? + $2", [1, 2]).fetchall(),
    lambda d: d.sql("SELECT 1 AS a").sum("a").columns,
    lambda d: d.sql("SELECT 1 AS a").count("*").columns,
    lambda d: [str(ty) for ty in d.sql("SELECT 1 AS a, 'x' AS s, [1] AS l, {'k': 1} AS t").types],
    lambda d: d.sql("SELECT 1 AS a").lag("a", "over ()").columns,
    lambda d: d.sql("SELECT 1 AS a, 'x' AS s").string_agg("s", sep="-").fetchall(),
    lambda d: d.table_function("range", [3]).fetchall(),
    lambda d: str(d.ColumnExpression("a") + 1),
    lambda d: str(d.CaseExpression(d.ColumnExpression("a") > 1, 2).otherwise(3)),
    lambda d: str(d.StarExpression(exclude=["a"])),
    lambda d: str(d.list_type("VARCHAR")),
]


@pytest.mark.parametrize("code", COMMON)
def test_common_code_runs_as_with_duckdb(code: Any) -> None:
    duckdb = pytest.importorskip("duckdb")
    assert code(inlay) == code(duckdb)


def test_dictionaries_have_all_columns(con: inlay.Connection) -> None:
    found = con.sql("SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS A")
    assert found.to_dicts() == [dict(zip(found.df().columns, (1, 2, 3, 4), strict=True))]
    joined = con.sql("SELECT * FROM (SELECT 1 AS id, 2 AS v) x JOIN (SELECT 1 AS id, 3 AS v) y ON x.id = y.id")
    assert joined.to_dicts() == [dict(zip(joined.df().columns, (1, 2, 1, 3), strict=True))]
