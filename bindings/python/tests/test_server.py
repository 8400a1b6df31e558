"""Connections to `inlay serve` by ``inlay://``: the same calls and results as embedded."""

# ruff: noqa: F841 (SQL reads the variables)

import datetime
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

import inlay

SLOW = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"


@pytest.fixture(scope="module")
def address():
    command = [sys.executable, "-m", "inlay", "serve", "--native-port", "0", "--postgres-port", "off"]
    server = subprocess.Popen([*command, "--http-port", "off"], stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        if "no server" in line:
            server.wait()
            pytest.skip("this build of the package has no server: what connections to one do is not tested")
        found = re.search(r"native=(\S+)", line)
        if found:
            break
    else:
        pytest.fail(f"the server ended: {server.wait()}")
    # What it says does not stop it.
    threading.Thread(target=server.stderr.read, daemon=True).start()
    yield f"inlay://ann@{found[1]}/memory"
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) == 0


@pytest.fixture
def con(address):
    with inlay.connect(address) as con:
        yield con


@pytest.fixture
def here():
    with inlay.connect() as con:
        yield con


EVERY = """
SELECT i AS whole, i / 3.0 AS part, i::DECIMAL(9, 2) / 4 AS exact, 'text ' || i AS text, i % 2 = 0 AS truth,
       CASE WHEN i % 3 > 0 THEN i END AS maybe, DATE '2026-01-01' + i::INTEGER AS day,
       TIMESTAMP '2026-01-01' + to_seconds(i) AS moment, TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds(i) AS zoned,
       [i, NULL] AS list, {'a': i, 'b': 'x'} AS struct, to_days(i::INTEGER) AS span, ('b' || i)::BLOB AS bytes,
       (CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'happy' END)::ENUM('sad', 'happy') AS mood
FROM range(5000) t(i)
"""


def same(left, right):
    if left.dtype == object:
        return repr(left.tolist()) == repr(right.tolist())
    return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def test_rows_arrays_and_frames_are_those_of_an_embedded_connection(con, here):
    assert con.execute(EVERY).fetchall() == here.execute(EVERY).fetchall()
    assert con.execute(EVERY).fetchone() == here.execute(EVERY).fetchone()
    assert con.execute(EVERY).fetchmany(7) == here.execute(EVERY).fetchmany(7)
    assert con.execute(EVERY).description == here.execute(EVERY).description
    pd.testing.assert_frame_equal(con.execute(EVERY).df(), here.execute(EVERY).df())
    far, near = con.execute(EVERY).fetchnumpy(), here.execute(EVERY).fetchnumpy()
    assert list(far) == list(near)
    for name in near:
        assert far[name].dtype == near[name].dtype, name
        left, right = far[name], near[name]
        if isinstance(right, np.ma.MaskedArray):
            assert np.array_equal(np.ma.getmaskarray(left), np.ma.getmaskarray(right)), name
            left, right = left.compressed(), right.compressed()
        assert same(left, right), name


def test_arrow_and_polars(con, here):
    pytest.importorskip("pyarrow")
    assert con.execute(EVERY).arrow().equals(here.execute(EVERY).arrow())
    batches = con.execute("SELECT range AS n FROM range(1000000)").fetch_record_batch(100000)
    assert sum(batch.num_rows for batch in batches) == 1000000
    polars = pytest.importorskip("polars")
    text = "SELECT range AS n, 'x' || range AS s FROM range(100000)"
    assert isinstance(con.execute(text).pl(), polars.DataFrame)
    assert con.execute(text).pl().equals(here.execute(text).pl())


def test_values_go_there(con):
    day = datetime.date(2026, 2, 3)
    row = con.execute("SELECT ?, ?, ?, ?, ?", [1, "text", None, day, [1, 2]]).fetchone()
    assert row == (1, "text", None, day, [1, 2])
    assert con.execute("SELECT $a + $b", {"a": 1, "b": 2}).fetchone() == (3,)
    con.execute("CREATE OR REPLACE TABLE many (id INTEGER PRIMARY KEY, name VARCHAR)")
    con.executemany("INSERT INTO many VALUES (?, ?)", [(i, f"n{i}") for i in range(1000)])
    with pytest.raises(inlay.ConstraintException) as caught:
        con.executemany("INSERT INTO many VALUES (?, ?)", [(2000, "x"), (5, "y")])
    assert caught.value.sqlstate == "23505"
    assert con.execute("SELECT count(*) FROM many").fetchone() == (1000,)
    find = con.prepare("SELECT name FROM many WHERE id = ?")
    assert [find.execute([i]).fetchone() for i in (0, 500)] == [("n0",), ("n500",)]
    assert con.execute("UPDATE many SET name = 'x' WHERE id < 10").rowcount == 10


def test_tables_of_python_go_there(con):
    frame = pd.DataFrame({"a": range(10000), "b": [f"t{i}" for i in range(10000)]})
    assert con.execute("SELECT sum(a), max(b) FROM frame").fetchone() == (49995000, "t9999")
    con.register("mine", frame)
    assert con.execute("SELECT count(*) FROM mine WHERE a < 10").fetchone() == (10,)
    con.unregister("mine")
    with pytest.raises(inlay.CatalogException):
        con.execute("FROM mine")
    con.execute("CREATE OR REPLACE TABLE t (a BIGINT, b VARCHAR)")
    con.append("t", frame)
    with con.appender("t") as rows:
        for i in range(100):
            rows.append_row(i, "one by one")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (10100,)
    numbers = pytest.importorskip("pyarrow").table({"x": [1, 2, 3]})
    assert con.execute("SELECT sum(x) FROM numbers").fetchone() == (6,)
    con.execute("CREATE OR REPLACE TABLE copy AS FROM frame")
    assert con.table("copy").count("*").fetchone() == (10000,)


def test_relations_run_there(con):
    relation = con.sql("SELECT range AS a FROM range(1000)")
    assert relation.columns == ["a"]
    few = relation.filter("a < 10").project("a * 2 AS b").order("b DESC").limit(3)
    assert few.fetchall() == [(18,), (16,), (14,)]
    assert relation.aggregate("sum(a) AS s").fetchone() == (499500,)
    assert con.sql("SELECT max(b) FROM few").fetchone() == (18,)
    frame = pd.DataFrame({"k": [1, 2], "v": ["x", "y"]})
    assert con.sql("SELECT v FROM frame JOIN relation ON k = a ORDER BY k").fetchall() == [("x",), ("y",)]
    assert "a" in str(relation.limit(2))


def test_transactions_and_cursors(con, address):
    con.execute("CREATE OR REPLACE TABLE tx (a INTEGER)")
    with inlay.connect(address) as other:
        with con.transaction():
            con.execute("INSERT INTO tx VALUES (1)")
            assert con.in_transaction
            assert other.execute("SELECT count(*) FROM tx").fetchone() == (0,)
        assert other.execute("SELECT count(*) FROM tx").fetchone() == (1,)
        with pytest.raises(RuntimeError), con.transaction():
            con.execute("INSERT INTO tx VALUES (2)")
            raise RuntimeError("no")
        con.begin()
        con.execute("INSERT INTO tx VALUES (3)")
        con.rollback()
        assert other.execute("FROM tx").fetchall() == [(1,)]
    cursor = con.cursor()
    cursor.execute("CREATE TEMP TABLE mine (a INTEGER)")
    with pytest.raises(inlay.CatalogException):
        con.execute("FROM mine")
    # Several results of a session are open at once.
    one = con.execute("SELECT range FROM range(300000)")
    other = con.execute("SELECT -range FROM range(300000)")
    assert [one.fetchone(), other.fetchone(), one.fetchone(), other.fetchone()] == [(0,), (0,), (1,), (-1,)]
    assert len(one.fetchall()) == len(other.fetchall()) == 299998


def test_errors_have_classes_states_places_and_hints(con, here):
    con.execute("CREATE OR REPLACE TABLE orders (id INTEGER PRIMARY KEY)")
    here.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    for text in [
        "SELEC 1",
        "SELECT\n  nothing FROM orders",
        "FROM ordesr",
        "SELECT 1 // 0",
        "SELECT 'x'::INTEGER",
        "INSERT INTO orders VALUES (1), (1)",
        "SELECT 1; SELECT 2;\nSELECT x",
        "COMMIT",
    ]:
        seen = []
        for session in (con, here):
            try:
                session.execute(text).fetchall()
                seen.append(None)
            except inlay.Error as error:
                seen.append((type(error), str(error), error.sqlstate, error.position, error.hint))
        assert seen[0] == seen[1], text


def test_a_statement_is_interrupted(con):
    timer = threading.Timer(0.3, con.interrupt)
    timer.start()
    with pytest.raises(inlay.InterruptException):
        con.execute(SLOW).fetchall()
    timer.join()
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_ctrl_c_ends_a_statement(con):
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        con.execute(SLOW).fetchall()
    timer.join()
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_progress_is_told(con):
    seen = []

    def watch():
        ends = time.monotonic() + 60
        while time.monotonic() < ends and not seen:
            progress = con.query_progress()
            if progress >= 0:
                seen.append(progress)
            time.sleep(0.01)
        con.interrupt()

    thread = threading.Thread(target=watch)
    thread.start()
    with pytest.raises(inlay.InterruptException):
        con.execute(SLOW).fetchall()
    thread.join()
    assert seen and 0 <= seen[0] <= 100


def test_settings_and_zones_are_those_of_the_client(con):
    con.execute("SET TimeZone = 'Asia/Tokyo'")
    assert str(con.execute("SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00'").fetchone()[0].utcoffset()) == "9:00:00"
    assert con.execute("SELECT (TIMESTAMPTZ '2026-01-01 00:00:00+00')::VARCHAR").fetchone()[0].endswith("+09")
    con.execute("SET decimal = 'exact'")
    assert con.execute("SELECT 1.50 AS d").fetchnumpy()["d"].dtype == object


def test_what_cannot_work_says_what_does(con, tmp_path):
    with pytest.raises(inlay.NotImplementedException, match="over a connection to a server") as caught:
        con.create_function("f", lambda x: x, ["INTEGER"], "INTEGER")
    assert caught.value.hint
    with pytest.raises(inlay.NotImplementedException, match=r"backup\(\) over a connection"):
        con.backup(tmp_path / "copy.inlay")
    with pytest.raises(inlay.Error):
        inlay.connect("inlay://127.0.0.1:1/")
    with pytest.raises(inlay.Error, match="is written inlay://"):
        inlay.connect("inlay://")
    assert "inlay://127.0.0.1" in repr(con) and "ann" not in repr(con)
    con.close()
    with pytest.raises(inlay.ConnectionException):
        con.execute("SELECT 1")


def test_sqlalchemy_reaches_the_server(address, tmp_path, monkeypatch):
    sa = pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    engine = sa.create_engine(address + "?application=alchemist")
    with engine.begin() as con:
        con.execute(sa.text("CREATE TABLE of_alchemy (a INTEGER)"))
        con.execute(sa.text("INSERT INTO of_alchemy VALUES (:a)"), [{"a": 1}, {"a": 2}])
    assert sa.inspect(engine).get_columns("of_alchemy")[0]["name"] == "a"
    engine.dispose()
    with inlay.connect(address) as con:
        assert con.execute("SELECT sum(a) FROM of_alchemy").fetchone() == (3,)
        con.execute("DROP TABLE of_alchemy")
    assert not list(tmp_path.iterdir())


def test_adbc_reaches_the_server(address, tmp_path, monkeypatch):
    pytest.importorskip("adbc_driver_manager")
    import inlay.adbc

    monkeypatch.chdir(tmp_path)
    with inlay.adbc.connect(address) as con, con.cursor() as cursor:
        assert cursor.execute("SELECT 42").fetchone() == (42,)
    assert not list(tmp_path.iterdir())
