"""Short names for expressions, aggregates as methods of expressions, and steps that change the shape of rows."""

from __future__ import annotations

import itertools

import pytest

import inlay
from inlay import col, fn, lit, star, when


@pytest.fixture
def trips(con: inlay.Connection) -> inlay.Relation:
    return con.sql("SELECT * FROM (VALUES (1, 10, 'x'), (2, 5, 'y'), (3, NULL, 'x')) trips(a, b, c)")


def test_short_names_make_expressions(trips: inlay.Relation) -> None:
    far = when(col("a") > 2).then("far").when(col("a") > 1).then("middle")
    columns = [far.otherwise("near"), fn("upper", col("c")), inlay.coalesce(col("b"), 0) + lit(1), col("trips", "a")]
    rows = trips.set_alias("trips").select(*columns, inlay.sql_expr("a * 2").alias("twice")).order("twice").fetchall()
    assert rows == [("near", "X", 11, 1, 2), ("middle", "Y", 6, 2, 4), ("far", "X", 1, 3, 6)]
    assert trips.select(far.end()).order("1").fetchall() == [("far",), ("middle",), (None,)]
    assert trips.select(star(exclude="a", rename={"b": "bb"})).columns == ["bb", "c"]
    assert trips.select(star(exclude=["a", col("b")])).columns == ["c"]
    assert trips.aggregate([inlay.count_all()]).fetchall() == [(3,)]
    assert str(fn(("main", "f x"), 1)) == '"main"."f x"(1)'
    assert str(fn("f", 1, precision=2)) == 'f(1, "precision" := 2)'


def test_aggregates_are_methods(trips: inlay.Relation) -> None:
    a, b, c = col("a"), col("b"), col("c")
    calls = [a.sum(), a.arg_max(b), a.quantile(0.5), c.string_agg("-"), c.n_unique(), a.sum().where(a > 1), b.count()]
    assert trips.order("a").aggregate(calls).fetchall() == [(6, 1, 2, "x-y-x", 2, 5, 2)]
    assert trips.select(c.concat("{}", c)).fetchall() == [("x{}x",), ("y{}y",), ("x{}x",)]


def test_windows_have_frames(trips: inlay.Relation) -> None:
    a, b = col("a"), col("b")
    sums = a.sum().over(order_by=a, rows=(-1, 0))
    ahead = a.sum().over(order_by=a, range=(None, 1))
    before = inlay.lag(b, 1, -1).ignore_nulls().over(order_by=a)
    ranks = inlay.rank().over(partition_by=col("c"), order_by=a.desc())
    rows = trips.select(a, sums, ahead, before, ranks).order("a").fetchall()
    assert rows == [(1, 1, 3, -1, 2), (2, 3, 6, 10, 1), (3, 5, 6, 5, 1)]
    with pytest.raises(inlay.InvalidInputException, match="rows or range"):
        a.sum().over(rows=(0, 0), range=(0, 0))
    with pytest.raises(inlay.InvalidInputException, match="calls of functions"):
        a.ignore_nulls()


def test_rows_become_columns_and_the_other_way_round(trips: inlay.Relation) -> None:
    wide = trips.pivot("c", ["x", "y"], "sum(a)")
    assert wide.columns == ["b", "x", "y"]
    assert sorted(wide.fetchall(), key=str) == [(10, 1, None), (5, None, 2), (None, 3, None)]
    long = trips.unpivot("a", "b", name="which", value="it")
    assert long.columns == ["c", "which", "it"]
    assert sorted(long.fetchall()) == [("x", "a", 1), ("x", "a", 3), ("x", "b", 10), ("y", "a", 2), ("y", "b", 5)]
    lists = trips.aggregate("c, list(a ORDER BY a) AS a").unnest("a")
    assert sorted(lists.fetchall()) == [("x", 1), ("x", 3), ("y", 2)]


def test_groups_come_before_aggregates(trips: inlay.Relation) -> None:
    groups = trips.group_by("c").agg("sum(a) AS a")
    assert (groups.columns, sorted(groups.fetchall())) == (["c", "a"], [("x", 4), ("y", 2)])
    assert trips.group_by(col("c")).agg(col("a").sum(), col("b").max().alias("m")).columns[0::2] == ["c", "m"]
    assert trips.group_by().agg("max(a)").fetchall() == [(3,)]


@pytest.mark.parametrize("step", ["group_by", "unpivot", "unnest"])
def test_steps_need_columns(trips: inlay.Relation, step: str) -> None:
    with pytest.raises(inlay.InvalidInputException, match="at least one"):
        getattr(trips, step)().agg() if step == "group_by" else getattr(trips, step)()


def test_rows_come_in_batches(con: inlay.Connection) -> None:
    numbers = con.sql("SELECT * FROM range(5000)")
    assert [row[0] for row in numbers.iter_rows(300)] == list(range(5000))
    assert list(itertools.islice(numbers.materialize().iter_rows(), 2)) == [(0,), (1,)]
    with pytest.raises(inlay.InvalidInputException, match="batch_size"):
        next(numbers.iter_rows(0))


def test_the_default_connection_describes_its_answer() -> None:
    inlay.execute("SELECT 1 AS a UNION ALL SELECT 2")
    assert (inlay.description()[0][:2], inlay.rowcount()) == (("a", "INTEGER"), 2)


def test_functions_of_a_kind_are_methods(con: inlay.Connection) -> None:
    rows = con.sql("SELECT 'Köln ' AS s, DATE '2024-02-29' AS d, [3, 1, 3] AS l, '{\"a\": [1, 2]}'::JSON AS j")
    s, d, items, j = (col(name) for name in "sdlj")
    for expression, expected in (
        (s.str().upper().trim().length(), 4),
        (s.str().trim().replace("K", "k"), "köln"),
        (s.str().concat_ws("-", "x"), "Köln -x"),
        (s.str().string_split("l").list().first(), "Kö"),
        (d.dt().trunc("month").dt().day(), 1),
        (d.dt().part("year"), 2024),
        (d.dt().monthname().lower(), "february"),
        (items.list().distinct().sort(), [1, 3]),
        (items.list().prepend(7), [7, 3, 1, 3]),
        (items.list().transform(inlay.LambdaExpression("x", col("x") + 1)).sum(), 10),
        (j.json().extract("$.a").json().array_length(), 2),
        (j.json().extract_string("$.a[0]").str().length(), 1),
        (items.list().max().alias("m"), 3),
    ):
        assert rows.select(expression).fetchall() == [(expected,)]
    assert str(s.str()) == str(s) and s.alias("n").str().get_name() == "n"
    with pytest.raises(AttributeError):
        s.str().nothing()
