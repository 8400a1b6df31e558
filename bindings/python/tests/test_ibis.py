"""Ibis runs on Inlay: what a backend has to do, and expressions beside Ibis's own DuckDB backend."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibis
import ibis.common.exceptions as exc
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from ibis import _

import inlay

DAY = datetime.date(2024, 2, 28)

TRIPS = pa.table(
    {
        "id": pa.array(range(12), pa.int64()),
        "city": pa.array(["Ulm", "Bonn", None, "Ulm", "Köln", "Bonn"] * 2),
        "km": pa.array([3.25, 8.5, 1.0, None, 12.75, 8.5, 0.0, -2.5, 4.5, 9.0, 4.5, 2.0]),
        "seats": pa.array([1, 2, None, 4, 3, 2, 1, 1, 5, 4, None, 2], pa.int32()),
        "paid": pa.array([True, False, None] * 4),
        "day": pa.array([DAY + datetime.timedelta(n) for n in range(12)]),
        "at": pa.array(
            [datetime.datetime(2024, 2, 28, 10, 20, 30) + datetime.timedelta(hours=5 * n) for n in range(12)]
        ),
        "tags": pa.array([["a", "b"], [], None, ["c"]] * 3),
        "place": pa.array([{"x": n, "name": f"p{n}"} for n in range(12)]),
    }
)
CITIES = pa.table({"city": ["Ulm", "Bonn", "Bern"], "people": [126_000, 330_000, 134_000]})


@pytest.fixture(scope="module")
def backends() -> Iterator[tuple[Any, Any]]:
    """The same tables in Inlay and in DuckDB."""
    pytest.importorskip("duckdb")
    both = ibis.inlay.connect(), ibis.duckdb.connect()
    for backend in both:
        for name, table in (("trips", TRIPS), ("cities", CITIES)):
            backend.con.register("given", table)
            backend.raw_sql(f"CREATE TABLE {name} AS FROM given")
            backend.con.unregister("given")
    yield both
    for backend in both:
        backend.disconnect()


Expression = Callable[[Any, Any], Any]

#: Expressions over trips `t` and cities `c`; rows are in the order of `id`, or of the first columns.
EXPRESSIONS: dict[str, Expression] = {
    "select": lambda t, c: t.select("id", double=t.km * 2, name=t.city.upper()),
    "arithmetic": lambda t, c: t.select("id", a=t.km + t.seats, b=t.seats % 3, c=t.seats**2, d=t.km // 2, e=-t.km),
    "math": lambda t, c: t.select(
        "id",
        a=t.km.abs(),
        b=t.km.round(),
        c=t.km.ceil(),
        d=t.km.floor(),
        e=t.km.sign(),
        f=(t.km.abs() + 1).ln(),
        g=t.km.exp(),
    ),
    "bits": lambda t, c: t.select("id", a=t.id & 3, b=t.id | 8, c=t.id ^ 5, d=t.id << 2, e=~t.id),
    "compare": lambda t, c: t.filter((t.km > 3) & (t.city != "Ulm") | t.km.isnull()).select("id"),
    "between": lambda t, c: t.filter(t.km.between(1, 9), t.city.isin(["Ulm", "Bonn"])).select("id", "km"),
    "notin": lambda t, c: t.filter(t.id.notin([1, 2, 3])).select("id"),
    "case": lambda t, c: t.select("id", size=ibis.cases((t.km > 8, "far"), (t.km > 3, "middle"), else_="near")),
    "ifelse": lambda t, c: t.select(
        "id", x=t.paid.ifelse("yes", "no"), y=ibis.coalesce(t.seats, 0), z=t.seats.nullif(1)
    ),
    "identical": lambda t, c: t.select("id", x=t.city.identical_to(None), y=t.km.fill_null(0)),
    "cast": lambda t, c: t.select("id", a=t.km.cast("int64"), b=t.seats.cast("string"), c=t.day.cast("timestamp")),
    "try_cast": lambda t, c: t.select("id", x=t.city.try_cast("int64")),
    "text": lambda t, c: t.select(
        "id",
        a=t.city.lower(),
        b=t.city.length(),
        c=t.city.substr(1, 2),
        d=t.city.contains("n"),
        e=t.city.replace("n", "N"),
        f=t.city.reverse(),
        g=t.city.startswith("B"),
        h=t.city.endswith("n"),
        i=t.city.strip(),
        j=t.city.find("n"),
    ),
    "text2": lambda t, c: t.select(
        "id",
        a=t.city.lpad(6, "*"),
        b=t.city.rpad(6, "-"),
        c=t.city + "!",
        d=t.city.like("%n%"),
        e=t.city.ilike("U%"),
        f=t.city.re_search("^[BK]"),
        g=t.city.re_replace("[aeiou]", "_"),
        h=t.city.left(2),
        i=t.city.right(2),
        j=t.city.repeat(2),
    ),
    "split": lambda t, c: t.select(
        "id", a=t.city.split("n"), b=t.city.re_extract("(.)n", 1), c=t.city.levenshtein("Bern")
    ),
    "dates": lambda t, c: t.select(
        "id",
        a=t.day.year(),
        b=t.day.month(),
        c=t.day.day(),
        d=t.day.day_of_week.index(),
        e=t.day.day_of_year(),
        f=t.day.week_of_year(),
        g=t.day.quarter(),
        h=t.day.truncate("M"),
    ),
    "times": lambda t, c: t.select(
        "id",
        a=t["at"].hour(),
        b=t["at"].minute(),
        c=t["at"].second(),
        d=t["at"].truncate("h"),
        e=t["at"].date(),
        f=t["at"].epoch_seconds(),
        g=t["at"].strftime("%Y/%m/%d %H"),
        h=t["at"].time(),
    ),
    "intervals": lambda t, c: t.select("id", a=t.day + ibis.interval(days=3), b=t["at"] - ibis.interval(hours=1)),
    "delta": lambda t, c: t.select("id", a=t["at"].delta(ibis.timestamp("2024-01-01 00:00:00"), unit="hour")),
    "bucket": lambda t, c: t.select("id", a=t["at"].bucket(hours=6)),
    "aggregate": lambda t, c: t.aggregate(
        n=t.count(),
        s=t.km.sum(),
        m=t.km.mean(),
        lo=t.km.min(),
        hi=t.km.max(),
        sd=t.km.std(),
        v=t.km.var(how="pop"),
        d=t.city.nunique(),
        q=t.km.quantile(0.25),
        md=t.km.median(),
        any=t.paid.any(),
        all=t.paid.all(),
    ),
    "group": lambda t, c: (
        t.group_by("city").agg(n=_.count(), km=_.km.sum(), top=_.km.max(where=_.seats > 1)).order_by("city")
    ),
    "having": lambda t, c: t.group_by("city").agg(n=_.count()).filter(_.n > 2).order_by("city"),
    "argmax": lambda t, c: t.agg(
        a=t.city.argmax(t.km), b=t.id.argmin(t.km), f=t.id.first(order_by=t.id), l=t.id.last(order_by=t.id)
    ),
    "collect": lambda t, c: t.group_by("seats").agg(ids=_.id.collect(order_by=_.id)).order_by("seats"),
    "group_concat": lambda t, c: t.agg(x=t.city.group_concat("/", order_by=t.id)),
    "corr": lambda t, c: t.agg(x=t.km.corr(t.seats, how="pop"), y=t.km.cov(t.seats, how="pop")),
    "bit_agg": lambda t, c: t.agg(x=t.id.bit_and(), y=t.id.bit_or(), z=t.id.bit_xor()),
    "value_counts": lambda t, c: t.city.value_counts().order_by("city"),
    "distinct": lambda t, c: t.select("city").distinct().order_by("city"),
    "distinct_on": lambda t, c: t.order_by("id").distinct(on="city", keep="first").select("city").order_by("city"),
    "order": lambda t, c: t.order_by(ibis.desc("km"), "id").select("id", "km").limit(5, offset=1),
    "nulls_first": lambda t, c: t.order_by(t.km.asc(nulls_first=True), "id").select("id", "km"),
    "inner": lambda t, c: t.join(c, "city").select("id", "city", "people").order_by("id"),
    "left": lambda t, c: t.left_join(c, "city").select("id", "people").order_by("id"),
    "outer": lambda t, c: t.outer_join(c, "city").select("id", "people").order_by("id", "people"),
    "semi": lambda t, c: t.semi_join(c, "city").select("id").order_by("id"),
    "anti": lambda t, c: t.anti_join(c, "city").select("id").order_by("id"),
    "cross": lambda t, c: t.cross_join(c).count(),
    "inequality": lambda t, c: t.join(c, t.km * 30_000 > c.people).select("id", "people").order_by("id", "people"),
    "asof": lambda t, c: (
        t.asof_join(t.view().filter(_.id % 3 == 0).select("at", other="id"), on="at")
        .select("id", "other")
        .order_by("id")
    ),
    "exists": lambda t, c: t.filter(t.city.isin(c.filter(c.people > 200_000).city)).select("id"),
    "scalar_subquery": lambda t, c: t.filter(t.km > t.km.mean()).select("id"),
    "union": lambda t, c: t.select("city").union(c.select("city"), distinct=True).order_by("city"),
    "union_all": lambda t, c: t.select("city").union(c.select("city")).count(),
    "intersect": lambda t, c: t.select("city").intersect(c.select("city")).order_by("city"),
    "difference": lambda t, c: c.select("city").difference(t.select("city")).order_by("city"),
    "window": lambda t, c: t.select(
        "id",
        a=t.km.sum().over(group_by="city", order_by="id"),
        b=ibis.row_number().over(group_by="city", order_by="id"),
        c=t.km.lag().over(order_by="id"),
        d=t.km.lead(2).over(order_by="id"),
        e=ibis.rank().over(order_by=t.seats),
        f=ibis.dense_rank().over(order_by=t.seats),
        g=ibis.ntile(3).over(order_by="id"),
        h=t.km.mean().over(rows=(-1, 1), order_by="id"),
    ),
    "cumulative": lambda t, c: t.select("id", a=t.seats.cumsum(order_by=t.id), b=t.km.cummax(order_by=t.id)),
    "top_per_group": lambda t, c: (
        t.mutate(r=ibis.row_number().over(group_by="city", order_by=ibis.desc("km")))
        .filter(_.r == 0)
        .select("id", "city")
    ),
    "mutate": lambda t, c: t.mutate(twice=_.km * 2).drop("tags", "place").rename(kilometres="km"),
    "arrays": lambda t, c: t.select(
        "id",
        a=t.tags.length(),
        b=t.tags[0],
        c=t.tags.contains("a"),
        d=t.tags.join("-"),
        e=t.tags.concat(["z"]),
        f=t.tags.sort(),
        g=t.tags.unique().sort(),
        h=t.tags.map(lambda x: x.upper()),
        i=t.tags.filter(lambda x: x != "a"),
        j=t.tags[:1],
    ),
    "unnest": lambda t, c: t.select("id", tag=t.tags.unnest()).order_by("id", "tag"),
    "structs": lambda t, c: t.select(
        "id", x=t.place.x, name=t.place["name"], made=ibis.struct({"a": t.id, "b": t.city})
    ),
    "maps": lambda t, c: t.select("id", m=ibis.map(["a", "b"], [1, 2])["b"], k=ibis.map(["a"], [1]).keys()),
    "literals": lambda t, c: t.select(
        "id",
        a=ibis.literal(1),
        b=ibis.literal("it's"),
        c=ibis.literal(None, "int64"),
        d=ibis.date("2024-02-29"),
        e=ibis.literal([1, 2]),
        f=ibis.literal(decimal_of("1.25")),
        g=ibis.literal(b"\x00\x01"),
        h=ibis.uuid("00000000-0000-0000-0000-000000000001"),
    ),
    "range": lambda t, c: ibis.range(5).unnest().name("x").as_table(),
    "pivot_longer": lambda t, c: (
        t.select("id", "km", "seats").cast({"seats": "float64"}).pivot_longer(["km", "seats"]).order_by("id", "name")
    ),
    "pivot_wider": lambda t, c: (
        t.filter(t.city.notnull())
        .group_by("seats", "city")
        .agg(n=_.count())
        .pivot_wider(names_from="city", values_from="n", names=["Ulm", "Bonn"])
        .order_by("seats")
    ),
    "sample_none": lambda t, c: t.sample(1.0).count(),
    "describe_types": lambda t, c: t.select("id", x=t.km.typeof(), y=t.city.typeof()),
    "hash": lambda t, c: t.select("id", x=t.city.hash() == t.city.hash()),
    "json": lambda t, c: t.select("id", x=ibis.literal('{"a": [1, 2]}').cast("json")["a"][1].cast("string")),
    "self_reference": lambda t, c: t.join(t.view(), "id").count(),
    "greatest": lambda t, c: t.select("id", a=ibis.greatest(t.km, t.seats), b=ibis.least(t.km, t.seats)),
}


def decimal_of(text: str) -> Any:
    import decimal

    return decimal.Decimal(text)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_have_duckdbs_answers(backends: tuple[Any, Any], name: str) -> None:
    answers = []
    for backend in backends:
        expression = EXPRESSIONS[name](backend.table("trips"), backend.table("cities"))
        rows = backend.to_pyarrow(expression)
        rows = rows.to_pylist() if hasattr(rows, "to_pylist") else rows.as_py()
        if (
            isinstance(rows, list)
            and rows
            and isinstance(rows[0], dict)
            and "id" in rows[0]
            and name not in ("order", "nulls_first")
        ):
            rows.sort(key=lambda row: (row["id"] is None, row["id"]))
        answers.append(rows)
    ours, theirs = (_comparable(answer) for answer in answers)
    assert ours == theirs


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if value != value else float(f"{value:.12g}")
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return value


def test_connecting(tmp_path: Path) -> None:
    path = tmp_path / "trips.inlay"
    first = ibis.connect(f"inlay://{path}")
    first.create_table("t", schema={"x": "int64"})
    assert first.name == "inlay" and first.version == inlay.__version__
    first.disconnect()
    second = ibis.inlay.connect(path, read_only=True, threads=1)
    assert second.list_tables() == ["t"]
    with pytest.raises(inlay.Error):
        second.create_table("u", schema={"x": "int64"})
    second.disconnect()
    with inlay.connect(path) as con:
        backend = ibis.inlay.from_connection(con)
        assert backend.table("t").count().execute() == 0


def test_tables_views_and_schemas() -> None:
    con = ibis.inlay.connect()
    table = con.create_table("t", pd.DataFrame({"x": [1, 2], "s": ["a", None]}))
    assert table.schema() == ibis.schema({"x": "int64", "s": "string"})
    columns = ibis.schema({"a": "!int32", "b": "decimal(9, 2)", "c": "array<string>", "d": "timestamp('UTC', 6)"})
    con.create_table("empty", schema=columns)
    assert con.table("empty").schema() == columns
    con.create_view("v", table.filter(table.x > 1))
    assert con.table("v").execute().x.tolist() == [2]
    con.create_view("v", table.filter(table.x < 2), overwrite=True)
    assert con.table("v").execute().x.tolist() == [1]
    con.create_table("temporary", table, temp=True)
    assert con.list_tables() == ["empty", "t", "temporary", "v"] and con.list_tables(like="^t") == ["t", "temporary"]
    with pytest.raises(exc.TableNotFound):
        con.table("nothing")
    con.drop_view("v")
    con.drop_table("empty")
    con.drop_table("empty", force=True)
    con.create_database("s")
    con.create_table("t", {"y": [7]}, database="s")
    assert "s" in con.list_databases() and con.list_tables(database="s") == ["t"]
    assert con.table("t", database="s").y.sum().execute() == 7
    con.drop_table("t", database="s")
    con.drop_database("s")
    assert "s" not in con.list_databases()
    assert (con.current_catalog, con.current_database) == ("memory", "main") and con.list_catalogs() == ["memory"]


def test_overwriting_reads_the_old_rows_and_fails_as_a_whole() -> None:
    con = ibis.inlay.connect()
    table = con.create_table("t", {"x": [1, 2, 3]})
    con.create_table("t", table.filter(table.x > 1), overwrite=True)
    assert con.table("t").x.execute().tolist() == [2, 3]
    with pytest.raises(inlay.Error):
        con.create_table("t", con.table("t").mutate(x=ibis.literal("no").cast("int64")), overwrite=True)
    assert con.table("t").x.execute().tolist() == [2, 3] and con.list_tables() == ["t"]


def test_insert_upsert_truncate_rename() -> None:
    con = ibis.inlay.connect()
    con.create_table("t", schema={"k": "int64", "v": "string"})
    con.insert("t", pd.DataFrame({"k": [1, 2], "v": ["a", "b"]}))
    con.insert("t", con.table("t").filter(_.k == 1))
    con.insert("t", [{"k": 9, "v": "z"}])
    assert sorted(con.table("t").k.execute()) == [1, 1, 2, 9]
    con.insert("t", {"k": [5], "v": ["e"]}, overwrite=True)
    assert con.table("t").execute().to_dict("list") == {"k": [5], "v": ["e"]}
    con.upsert("t", pd.DataFrame({"k": [5, 6], "v": ["E", "F"]}), on="k")
    assert con.table("t").order_by("k").execute().v.tolist() == ["E", "F"]
    con.truncate_table("t")
    assert con.table("t").count().execute() == 0


def test_data_in_memory_is_a_table(backends: tuple[Any, Any]) -> None:
    con = backends[0]
    frames = [
        ibis.memtable(pd.DataFrame({"city": ["Ulm"], "mayor": ["M"]})),
        ibis.memtable(pl.DataFrame({"city": ["Ulm"], "mayor": ["M"]})),
        ibis.memtable(pa.table({"city": ["Ulm"], "mayor": ["M"]})),
        ibis.memtable([{"city": "Ulm", "mayor": "M"}]),
    ]
    for frame in frames:
        joined = con.table("trips").join(frame, "city").select("id", "mayor").order_by("id")
        assert con.execute(joined).id.tolist() == [0, 3, 6, 9]
    view = con.create_view("mayors", frames[0])
    assert view.execute().mayor.tolist() == ["M"]
    con.drop_view("mayors")


def test_every_way_out(backends: tuple[Any, Any], tmp_path: Path) -> None:
    con = backends[0]
    trips = con.table("trips").order_by("id")
    frame = trips.execute()
    assert frame.id.tolist() == list(range(12)) and frame.day.iloc[0] == pd.Timestamp(DAY)
    assert trips.km.to_pandas().isna().sum() == 1
    arrow = trips.to_pyarrow()
    assert arrow.schema == trips.schema().to_pyarrow() and arrow.num_rows == 12
    assert trips.km.to_pyarrow().null_count == 1 and trips.count().to_pyarrow().as_py() == 12
    polars = trips.to_polars()
    assert polars.height == 12 and polars["city"].null_count() == 2
    batches = list(trips.to_pyarrow_batches(chunk_size=5))
    assert sum(batch.num_rows for batch in batches) == 12
    assert trips.limit(3).execute().shape == (3, 9) and len(con.execute(trips, limit=2)) == 2
    trips.drop("tags", "place").to_csv(tmp_path / "t.csv")
    trips.to_parquet(tmp_path / "t.parquet")
    assert con.read_csv(tmp_path / "t.csv").count().execute() == 12
    assert con.read_parquet([tmp_path / "t.parquet"], table_name="again").km.sum().execute() == trips.km.sum().execute()
    assert "again" in con.list_tables()


def test_parameters_and_compiled_sql(backends: tuple[Any, Any]) -> None:
    con = backends[0]
    least = ibis.param("float64")
    trips = con.table("trips")
    long = trips.filter(trips.km > least).count()
    assert con.execute(long, params={least: 8}) == 4
    sql = con.compile(trips.select("id").limit(1))
    assert con.con.execute(sql).fetchall() == [(0,)]
    assert trips.alias("x").sql("SELECT id + 1 AS y FROM x WHERE id > 9").y.execute().tolist() == [11, 12]
    assert con.sql("SELECT 1 AS x, 'a' AS s").schema() == ibis.schema({"x": "int32", "s": "string"})
    assert con.raw_sql("SELECT 42").fetchall() == [(42,)]
    cached = trips.filter(trips.km > 8).cache()
    assert cached.count().execute() == 4


def test_functions_of_python_are_refused_with_the_way_out(backends: tuple[Any, Any]) -> None:
    @ibis.udf.scalar.python
    def twice(x: float) -> float:
        return x * 2

    @ibis.udf.scalar.builtin
    def bit_length(s: str) -> int: ...

    trips = backends[0].table("trips")
    with pytest.raises(exc.UnsupportedOperationError, match="builtin names one of SQL"):
        backends[0].execute(twice(trips.km))
    assert sorted(backends[0].execute(bit_length(trips.city)).dropna().unique()) == [24, 32, 40]


def test_values_keep_their_types() -> None:
    con = ibis.inlay.connect()
    frame = pd.DataFrame(
        {"i": np.array([1, 2], "i4"), "f": [0.5, np.nan], "b": [True, False], "t": pd.to_datetime(["2024-02-29", None])}
    )
    out = con.create_table("t", frame).execute()
    assert out.dtypes["i"] == np.dtype("i4") and out.dtypes["b"] == np.dtype(bool)
    assert out.f.isna().tolist() == [False, True] and out.t.isna().tolist() == [False, True]
