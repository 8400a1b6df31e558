"""What Inlay writes and hands out is used as its users do: by PyArrow, pandas, Polars, DuckDB and openpyxl."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import inlay

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
pd = pytest.importorskip("pandas")

ROWS = """SELECT i, 'name ' || (i % 5) AS name, 'k' || (i % 3) AS k, (i * 1.25)::DECIMAL(9, 2) AS price, i / 4 AS d,
    i % 2 = 0 AS even, DATE '2024-01-01' + i::INTEGER AS day, TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR AS at,
    ('b' || i)::BLOB AS b, ['x', 'y' || i] AS tags, {'city': 'c' || (i % 2), 'n': i} AS place,
    CASE WHEN i % 4 > 0 THEN 'a text that is longer than a view ' || i END AS note,
    (['low', 'mid', 'high'])[1 + i % 3]::ENUM('low', 'mid', 'high') AS level FROM range(100) r(i)"""


@pytest.fixture
def con() -> inlay.Connection:
    con = inlay.connect()
    con.execute(f"CREATE TABLE t AS {ROWS}")
    return con


def has_views(ty: Any) -> bool:
    if ty in (pa.string_view(), pa.binary_view()):
        return True
    if pa.types.is_dictionary(ty):
        return has_views(ty.value_type)
    if pa.types.is_map(ty):
        return has_views(ty.key_type) or has_views(ty.item_type)
    return any(has_views(ty.field(index).type) for index in range(ty.num_fields))


def tables(con: inlay.Connection, folder: Path) -> dict[str, Any]:
    """Every way in which a table gets to PyArrow."""
    pq = pytest.importorskip("pyarrow.parquet")
    ds = pytest.importorskip("pyarrow.dataset")
    relation = con.table("t")
    relation.write_parquet(str(folder / "t.parquet"))
    con.execute(f"COPY t TO '{folder}/t.arrow'")
    con.execute(f"COPY t TO '{folder}/t.arrows' (FORMAT arrows)")
    con.execute(f"COPY t TO '{folder}/parts' (FORMAT parquet, PARTITION_BY (k))")
    return {
        "arrow()": con.execute("FROM t").arrow(),
        "relation": relation.arrow(),
        "batches": con.execute("FROM t").fetch_record_batch(7).read_all(),
        "stream": pa.table(relation),
        "stream of rows": pa.RecordBatchReader.from_stream(con.execute(ROWS)).read_all(),
        "parquet": pq.read_table(folder / "t.parquet"),
        "arrow file": pa.ipc.open_file(folder / "t.arrow").read_all(),
        "arrow stream": pa.ipc.open_stream(folder / "t.arrows").read_all(),
        "dataset": ds.dataset(folder / "parts", partitioning="hive").to_table(),
    }


def test_no_column_is_of_views(con: inlay.Connection, tmp_path: Path) -> None:
    for way, table in tables(con, tmp_path).items():
        assert not [field for field in table.schema if has_views(field.type)], way


def test_pyarrow_computes_with_every_table(con: inlay.Connection, tmp_path: Path) -> None:
    own = pa.table({"name": ["name 1", "name 2"], "rank": [1, 2]})
    for way, table in tables(con, tmp_path).items():
        assert table.filter(pc.equal(table["name"], "name 1")).num_rows == 20, way
        assert table.filter(pc.is_in(table["k"].cast(pa.string()), pa.array(["k1"]))).num_rows == 33, way
        assert table.filter(pc.match_substring(table["note"], "longer")).num_rows == 75, way
        assert pc.utf8_upper(table["name"])[0].as_py().startswith("NAME"), way
        assert table.sort_by([("name", "descending"), ("i", "ascending")])["i"][0].as_py() == 4, way
        sums = table.group_by("name").aggregate([("i", "sum"), ("price", "max")]).sort_by("name")
        assert sums["i_sum"].to_pylist() == [950, 970, 990, 1010, 1030], way
        assert table.select(["i", "name", "note"]).join(own, "name", join_type="inner").num_rows == 40, way
        assert pc.unique(table["name"]).sort().to_pylist() == [f"name {i}" for i in range(5)], way
        assert pa.concat_tables([table.select(["name"]), own.select(["name"])]).num_rows == 102, way
        assert pc.binary_length(table["b"]).to_pylist()[0] in (2, 3), way
        assert pc.list_flatten(table["tags"])[0].as_py() == "x", way
        assert table.to_pandas().shape[0] == 100, way
        assert table.filter(pc.equal(pc.struct_field(table["place"], "city"), "c1")).num_rows == 50, way


def test_pyarrow_writes_it_on(con: inlay.Connection, tmp_path: Path) -> None:
    csv, feather, pq = (pytest.importorskip(f"pyarrow.{name}") for name in ("csv", "feather", "parquet"))
    table = con.execute("SELECT i, name, price, day, note FROM t ORDER BY i").arrow()
    csv.write_csv(table, tmp_path / "x.csv")
    feather.write_feather(table, tmp_path / "x.feather")
    pq.write_table(table, tmp_path / "x.parquet")
    for name in ("x.csv", "x.feather", "x.parquet"):
        rows = con.execute(f"SELECT count(*), sum(price), count(note) FROM '{tmp_path}/{name}'").fetchone()
        assert (rows[0], float(rows[1]), rows[2]) == (100, 6187.5, 75)


def test_pandas_reads_the_files(con: inlay.Connection, tmp_path: Path) -> None:
    tables(con, tmp_path)
    path = tmp_path / "t.parquet"
    assert pd.read_parquet(path, filters=[("name", "==", "name 1")]).shape[0] == 20
    assert pd.read_parquet(path, filters=[("name", "in", ["name 1", "name 2"]), ("i", ">", 50)]).shape[0] == 20
    assert pd.read_parquet(tmp_path / "parts", filters=[("k", "==", "k1"), ("name", "!=", "name 1")]).shape[0] == 26
    for backend in ("numpy_nullable", "pyarrow"):
        frame = pd.read_parquet(path, dtype_backend=backend)
        assert frame.groupby("name").d.sum().tolist()[0] == 237.5
        assert frame[frame.name.str.endswith("1")].shape[0] == 20
        assert frame.sort_values(["name", "i"]).i.iloc[0] == 0
        assert frame.merge(pd.DataFrame({"name": ["name 1"]}), on="name").shape[0] == 20
    frame = pd.read_feather(tmp_path / "t.arrow")
    assert frame.name.value_counts().to_dict() == {f"name {i}": 20 for i in range(5)}


def test_pandas_computes_with_frames(con: inlay.Connection) -> None:
    frame = con.execute("FROM t").df()
    assert list(frame.select_dtypes("number").columns) == ["i", "price", "d"]
    assert frame.describe()["price"]["mean"] == 61.875
    assert frame.groupby("name").price.mean().iloc[0] == 59.375
    assert frame.groupby("level", observed=True).d.mean().index.tolist() == ["low", "mid", "high"]
    assert np.log(frame.price + 1).notna().all() and frame.price.apply(lambda value: value * 1.5).sum() == 9281.25
    assert frame.pivot_table("price", "name", "k", aggfunc="sum").shape == (5, 3)
    assert frame.set_index("at").price.resample("1D").sum().iloc[0] == 345.0
    assert frame[["price", "d", "i"]].corr().shape == (3, 3)
    assert frame.price.quantile([0.25, 0.5]).tolist() == [30.9375, 61.875]
    assert frame.name.str.upper().iloc[0] == "NAME 0" and frame.note.isna().sum() == 25
    assert frame.level.cat.ordered and frame.level.max() == "high"
    assert frame.assign(total=frame.price * frame.i).total.notna().all()
    assert pd.concat([frame, frame]).drop_duplicates(["i"]).shape[0] == 100
    assert frame.to_json() and frame.drop(columns=["b"]).to_csv()


def test_numpy_computes_with_arrays(con: inlay.Connection) -> None:
    arrays = con.execute("FROM t").fetchnumpy()
    assert np.percentile(arrays["price"], 50) == 61.875 and np.histogram(arrays["price"], 4)[0].tolist() == [25] * 4
    assert np.corrcoef(arrays["price"], arrays["d"])[0, 1] == pytest.approx(1)
    assert (arrays["day"].max() - arrays["day"].min()).astype(int) == 99
    assert np.polyfit(arrays["i"], arrays["price"], 1)[0] == pytest.approx(1.25)


def test_sorted_and_cut_frames_come_back(con: inlay.Connection) -> None:
    frame = con.execute("SELECT i, price, level, name FROM t").df()
    frame["bin"] = pd.cut(frame.price, [-1, 50, 200], labels=["cheap", "dear"])
    query = "SELECT bin, count(*), max(level) FROM frame GROUP BY bin ORDER BY bin"
    assert con.execute(query).fetchall() == [("cheap", 41, "high"), ("dear", 59, "high")]
    assert con.execute("SELECT min(level) FROM frame WHERE level > 'low'").fetchone() == ("mid",)


def test_polars_scans_the_files(con: inlay.Connection, tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    tables(con, tmp_path)
    scans = {
        "parquet": pl.scan_parquet(tmp_path / "t.parquet"),
        "parts": pl.scan_parquet(tmp_path / "parts" / "**" / "*.parquet", hive_partitioning=True),
        "arrow": pl.scan_ipc(tmp_path / "t.arrow"),
        "frame": con.execute("FROM t").pl().lazy(),
        "stream": pl.DataFrame(con.table("t")).lazy(),
    }
    for way, scan in scans.items():
        one = scan.filter(pl.col("name") == "name 1", pl.col("i") > 50).select("i", "price", "tags").sort("i").collect()
        assert one["i"].to_list() == list(range(51, 100, 5)), way
        groups = scan.group_by("name").agg(pl.col("price").sum()).sort("name").collect()
        assert groups["price"][0] == Decimal("1187.50"), way
        assert scan.filter(pl.col("note").str.contains("longer")).collect().height == 75, way


def test_duckdb_reads_the_files(con: inlay.Connection, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    made = tables(con, tmp_path)
    peer = duckdb.connect()
    query = "SELECT count(*), sum(price), max(name), count(note), max(day), max(b) FROM {} WHERE name <> 'name 0'"
    expected = con.execute(query.format("t")).fetchall()
    for source in (f"'{tmp_path}/t.parquet'", f"'{tmp_path}/parts/**/*.parquet'"):
        assert peer.execute(query.format(source)).fetchall() == expected, source
    handed = made["arrow()"]
    assert peer.execute(query.format("handed")).fetchall() == expected and handed.num_rows == 100
    con.execute(f"COPY (SELECT * EXCLUDE (tags, place) FROM t) TO '{tmp_path}/t.csv'")
    con.execute(f"COPY (SELECT * EXCLUDE (b) FROM t) TO '{tmp_path}/t.json'")
    short = (
        "SELECT count(*), sum(price)::DECIMAL(18, 2), max(name), count(note), max(day) FROM {} WHERE name <> 'name 0'"
    )
    for name in ("t.csv", "t.json"):
        assert (
            peer.execute(short.format(f"'{tmp_path}/{name}'")).fetchall() == con.execute(short.format("t")).fetchall()
        )


def test_openpyxl_and_pandas_read_the_sheet(con: inlay.Connection, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    con.execute(f"COPY (SELECT i, name, price, d, even, day, at, note, level FROM t ORDER BY i) TO '{path}' (HEADER)")
    rows = list(openpyxl.load_workbook(path).active.values)
    assert len(rows) == 101 and rows[0] == ("i", "name", "price", "d", "even", "day", "at", "note", "level")
    assert rows[2][:4] == (1, "name 1", 1.25, 0.25) and rows[2][5] == dt.datetime(2024, 1, 2)
    frame = pd.read_excel(path)
    assert frame.groupby("name").price.sum().iloc[0] == 1187.5 and frame.note.isna().sum() == 25
    assert frame["at"].max() == pd.Timestamp("2024-01-05 03:00")
    assert con.execute("SELECT count(*), sum(price), max(day) FROM frame").fetchone() == (
        100,
        6187.5,
        dt.datetime(2024, 4, 9),
    )


def test_what_a_consumer_asks_for_it_gets(con: inlay.Connection) -> None:
    relation = con.sql("SELECT 'a' AS k, 'b'::BLOB AS b, ['x'] AS l, MAP {'k': 'v'} AS m FROM range(3)")
    for name in ("string", "large_string", "string_view"):
        text = getattr(pa, name)()
        wanted = pa.schema([("k", text)])
        for source in (relation, con.execute("SELECT 'a' AS k FROM range(3)")):
            capsule = source.__arrow_c_stream__(wanted.__arrow_c_schema__())
            read = pa.RecordBatchReader._import_from_c_capsule(capsule)
            assert read.schema.field("k").type == text and read.read_all().num_rows == 3
    # Columns without texts say nothing.
    capsule = relation.__arrow_c_stream__(pa.schema([("k", pa.int64())]).__arrow_c_schema__())
    assert pa.RecordBatchReader._import_from_c_capsule(capsule).schema.field("k").type == pa.string()
    con.execute("SET produce_arrow_string_view = true")
    assert has_views(pa.table(relation).schema.field("k").type)


def test_arrow_needs_no_pandas() -> None:
    import subprocess
    import sys

    code = (
        "import inlay, sys; inlay.sql('SELECT 1 AS a').arrow();"
        "inlay.execute('FROM range(9)').fetch_record_batch().read_all(); print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_batches_have_the_size_that_is_said(con: inlay.Connection) -> None:
    pl = pytest.importorskip("polars")
    relation = con.sql("FROM range(5000)")
    for name in ("arrow", "to_arrow_table", "fetch_arrow_table"):
        for source in (relation, con.execute("FROM range(5000)")):
            table = getattr(source, name)(batch_size=1000)
            assert [batch.num_rows for batch in table.to_batches()] == [1000] * 5
    for name in ("fetch_record_batch", "fetch_arrow_reader", "to_arrow_reader"):
        for source in (relation, con.execute("FROM range(5000)")):
            assert [batch.num_rows for batch in getattr(source, name)(batch_size=3000)] == [3000, 2000]
    for source in (relation, con.execute("FROM range(5000)")):
        frame = source.pl(batch_size=2000)
        assert frame.n_chunks() == 3 and frame["range"].sum() == 12497500
    assert isinstance(con.execute("FROM range(5)").pl(lazy=True), pl.LazyFrame)
    assert con.execute("FROM range(0)").pl(batch_size=2).height == 0
    with pytest.raises(inlay.InvalidInputException, match="batch_size=0: a batch has at least one row"):
        relation.pl(batch_size=0)
    with pytest.raises(inlay.InvalidInputException, match="batch_size=0: a batch has at least one row"):
        relation.arrow(batch_size=0)


def test_polars_refuses_by_an_error_what_it_would_panic_at(con: inlay.Connection) -> None:
    pytest.importorskip("polars")
    for query in (
        "SELECT union_value(a := 1) AS x",
        "SELECT [union_value(a := 1)] AS x",
        "SELECT [INTERVAL 1 DAY] AS x",
    ):
        with pytest.raises(inlay.NotSupportedError, match='of "x" in a frame of Polars'):
            con.execute(query).pl()


def test_words_have_their_order_wherever_they_come_from(con: inlay.Connection) -> None:
    pl = pytest.importorskip("polars")
    words, given = ["S", "M", "L"], ["S", "L", "M", None]
    frame = pd.DataFrame({"size": pd.Categorical(given, categories=words, ordered=True)})
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, None], pa.int8()), words, ordered=True)
    sources = {
        "pandas": frame,
        "polars": pl.DataFrame({"size": pl.Series(given, dtype=pl.Enum(words))}),
        "pyarrow": pa.table({"size": dictionary}),
        "record batch": pa.record_batch({"size": dictionary}),
        "chunks": pa.table({"size": pa.chunked_array([dictionary.slice(0, 2), dictionary.slice(2)])}),
    }
    for name, source in sources.items():
        con.register("given", source)
        assert con.sql("FROM given").types == ["ENUM('S', 'M', 'L')"], name
        assert con.execute("SELECT max(size), min(size) FROM given").fetchone() == ("L", "S"), name
        rows = con.execute("SELECT size FROM given ORDER BY size DESC NULLS LAST").fetchall()
        assert rows == [("L",), ("M",), ("S",), (None,)], name
        con.unregister("given")
    column = pl.Series("size", given, dtype=pl.Enum(words))
    assert con.sql("FROM column").types == ["ENUM('S', 'M', 'L')"] and len(column) == 4
    numbers = pl.Series("n", [1, 2])
    assert con.sql("FROM numbers").fetchall() == [(1,), (2,)] and len(numbers) == 2
    # Those that have no order are texts.
    plain = pa.table({"size": pa.array(given).dictionary_encode()})
    assert con.sql("FROM plain").types == ["VARCHAR"] and plain.num_rows == 4
