"""Queries on a cluster. What is sent is tried on Sail where pysail is installed; what is not sent, everywhere."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import inlay


def has_sail() -> bool:
    try:
        import pysail  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError:
        return False
    return True


needs_sail = pytest.mark.skipif(not has_sail(), reason="pysail and pyspark-client are not installed")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    from inlay._cluster import cluster_of

    with inlay.connect() as con:
        con.attach_cluster("sail://local")
        yield cluster_of(con).remote
        con.detach_cluster()


@pytest.fixture
def con(url: str) -> Iterator[Any]:
    with inlay.connect() as con:
        con.execute(
            "CREATE TABLE t AS FROM (VALUES (1, 'x', 1.5::DOUBLE), (2, NULL, NULL), (NULL, 'it''s', 2.5)) v(a, s, x)"
        )
        con.attach_cluster(url)
        yield con
        con.detach_cluster()


def test_without_a_cluster_it_is_said_how_to_name_one() -> None:
    with inlay.connect() as con:
        with pytest.raises(inlay.ProgrammingError, match="attach_cluster"):
            con.sql("SELECT 1", engine="cluster")
        with pytest.raises(inlay.ProgrammingError, match="expected 'local' or 'cluster'"):
            con.sql("SELECT 1", engine="elsewhere")
        with pytest.raises(inlay.ProgrammingError, match="sc://host:port"):
            con.attach_cluster("http://user:secret@host")
        assert con.sql("SELECT 1", engine="local").fetchall() == [(1,)]


def test_explain_tells_what_would_run_where() -> None:
    with inlay.connect() as con:
        con.execute("CREATE TABLE t(a INTEGER)")
        lines = [row[0] for row in con.execute("EXPLAIN (ENGINE cluster) SELECT sum(a) FROM t").fetchall()]
        assert lines[0] == "runs on the cluster" and "ships once inlay_t0 = table t, 0 rows" in lines
        lines = [row[0] for row in con.execute("EXPLAIN (ENGINE cluster)\nSELECT random() FROM t").fetchall()]
        assert lines[0].startswith("runs here") and "random" in lines[1] and "(line 2, column 8)" in lines[1]


@needs_sail
def test_rows_come_back_as_a_relation(con: Any) -> None:
    there = con.sql("SELECT s, sum(a) AS n FROM t GROUP BY s ORDER BY n DESC NULLS LAST, s", engine="cluster")
    assert there.fetchall() == [(None, 2), ("x", 1), ("it's", None)]
    assert [str(ty) for ty in there.types] == ["VARCHAR", "HUGEINT"]
    assert there.filter("n > 1").fetchall() == [(None, 2)]
    assert con.sql("SELECT there.n, t.x FROM there JOIN t USING (s)").fetchall() == [(1, 1.5), (None, 2.5)]
    there.to_table("kept")
    assert con.sql("SELECT count(*) FROM kept").fetchall() == [(3,)]


@needs_sail
def test_columns_of_one_name_are_told_apart(con: Any) -> None:
    there = con.sql("SELECT 1 AS v, 2 AS v", engine="cluster")
    assert there.columns == con.sql("SELECT 1 AS v, 2 AS v").columns and there.fetchall() == [(1, 2)]


@needs_sail
def test_a_change_is_seen_by_the_next_query(con: Any) -> None:
    assert con.sql("SELECT count(*) FROM t", engine="cluster").fetchall() == [(3,)]
    con.execute("INSERT INTO t VALUES (9, 'y', 0)")
    assert con.sql("SELECT count(*), max(a) FROM t", engine="cluster").fetchall() == [(4, 9)]


@needs_sail
def test_files_are_read_there(con: Any, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "a.parquet")
    con.execute(f"COPY (SELECT a AS \"the key\", s FROM t) TO '{path}' (FORMAT parquet)")
    query = f'SELECT "the key", s FROM \'{path}\' WHERE "the key" > 1'
    assert con.sql(query, engine="cluster").fetchall() == [(2, None)]


@needs_sail
@pytest.mark.parametrize(
    "text", ["it's", "C:\\temp", "100%", "a\nb\tc", "é", '"', "a' OR 1=1 --", "\\'", "`", "${x}", "\\u0041"]
)
def test_texts_arrive_as_they_are(con: Any, text: str) -> None:
    query = "SELECT ? AS s, length(?) AS n, s = ? AS same FROM t LIMIT 1"
    there = con.sql(query, [text, text, text], engine="cluster").fetchall()
    assert there[0][:2] == (text, len(text))


@needs_sail
@pytest.mark.parametrize(
    "query",
    [
        "SELECT a + 2147483647 FROM t",
        "SELECT 1 // (a - a) FROM t",
        "SELECT (a * 200)::TINYINT FROM t",
        "SELECT a::UTINYINT - 3::UTINYINT FROM t",
    ],
)
def test_what_is_an_error_here_is_one_there(con: Any, query: str) -> None:
    with pytest.raises(inlay.Error):
        con.sql(query).fetchall()
    with pytest.raises(inlay.Error):
        con.sql(query, engine="cluster")


@needs_sail
def test_what_is_refused_is_not_sent(con: Any) -> None:
    with pytest.raises(inlay.NotSupportedError, match="random"):
        con.sql("SELECT random() FROM t", engine="cluster")


@needs_sail
def test_a_cluster_that_is_gone_is_named_without_its_secrets() -> None:
    with inlay.connect() as con:
        con.attach_cluster("sail://local")
        assert con.sql("SELECT 1", engine="cluster").fetchall() == [(1,)]
        from inlay._cluster import _without_secrets, cluster_of

        cluster_of(con)._held.server.stop()
        with pytest.raises(inlay.OperationalError, match="sail://local"):
            con.sql("SELECT 2", engine="cluster")
        assert con.sql("SELECT 2").fetchall() == [(2,)]
        assert "secret" not in _without_secrets("failed: sc://host:1/;token=secret;user_id=secret now")


#: Ends by itself after hours.
ENDLESS = "SELECT sum((a.i * b.i) % 7) FROM long a, long b"


@pytest.fixture
def own() -> Iterator[Any]:
    """A connection with a server that nobody else uses."""
    with inlay.connect() as con:
        con.execute("CREATE TABLE long AS FROM range(3000000) r(i)")
        con.attach_cluster("sail://local")
        # What a session needs once is there.
        assert con.sql("SELECT count(*) FROM long", engine="cluster").fetchall() == [(3000000,)]
        yield con
        con.detach_cluster()


@needs_sail
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals are for the main thread")
def test_ctrl_c_ends_the_query_and_not_the_server(own: Any) -> None:
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(inlay.InterruptException, match="cancelled"):
        own.sql(ENDLESS, engine="cluster")
    timer.join()
    assert own.sql("SELECT max(i) FROM long", engine="cluster").fetchall() == [(2999999,)]


@needs_sail
def test_the_server_hears_no_signal_of_the_terminal(own: Any) -> None:
    from inlay._cluster import cluster_of

    server = cluster_of(own)._held.server
    assert os.getsid(server.process_id) != os.getsid(0)
    os.kill(server.process_id, signal.SIGINT)
    assert own.sql("SELECT 1", engine="cluster").fetchall() == [(1,)]


@needs_sail
def test_a_server_that_dies_gives_no_part_of_an_answer(own: Any) -> None:
    from inlay._cluster import cluster_of

    process_id = cluster_of(own)._held.server.process_id
    timer = threading.Timer(0.5, lambda: os.kill(process_id, signal.SIGKILL))
    timer.start()
    with pytest.raises(inlay.OperationalError, match="does not answer; nothing of the answer is used"):
        own.sql(ENDLESS, engine="cluster")
    timer.join()
    own.attach_cluster("sail://local")
    assert own.sql("SELECT 1", engine="cluster").fetchall() == [(1,)]


@needs_sail
def test_a_failure_behind_the_first_rows_shows_none_of_them(con: Any) -> None:
    query = "SELECT 1000000 // (i - 2999999) AS q FROM range(3000000) r(i)"
    with pytest.raises(inlay.Error):
        con.sql(query, engine="cluster")


@needs_sail
def test_a_session_that_is_closed_is_replaced_once(con: Any) -> None:
    from inlay._cluster import cluster_of

    query = "SELECT count(*) FROM t"
    assert con.sql(query, engine="cluster").fetchall() == [(3,)]
    cluster = cluster_of(con)
    before = cluster._held.session
    fetch = cluster._fetch

    def closed(session: Any, text: str) -> Any:
        if session is before:
            raise RuntimeError("[INVALID_HANDLE.SESSION_CLOSED] The handle is invalid")
        return fetch(session, text)

    cluster._fetch = closed
    assert con.sql(query, engine="cluster").fetchall() == [(3,)]
    assert cluster._held.session is not before
    before = cluster._held.session
    cluster._fetch = lambda session, text: closed(before, text)
    with pytest.raises(inlay.OperationalError, match="closed"):
        con.sql(query, engine="cluster")


@needs_sail
def test_a_cluster_of_another_version_is_refused(con: Any) -> None:
    from inlay._cluster import cluster_of

    cluster = cluster_of(con)
    cluster._check_version("4.2.0")
    with pytest.raises(inlay.NotSupportedError, match=r"runs Spark 3\.5\.1; what Inlay writes needs Spark 4\.0"):
        cluster._check_version("3.5.1")


def test_a_server_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pysail")
    from inlay import _sail

    monkeypatch.setattr(_sail, "_BOOT", "raise SystemExit('no port is left')")
    with inlay.connect() as con, pytest.raises(inlay.OperationalError, match="did not start: no port is left"):
        con.attach_cluster("sail://local")


@needs_sail
def test_files_that_change_are_read_anew(con: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "n.parquet"
    for count in (3, 5, 5):
        con.execute(f"COPY (SELECT i AS n FROM range({count}) r(i)) TO '{path}'")
        query = f"SELECT count(*), max(n) FROM '{path}'"
        assert con.sql(query, engine="cluster").fetchall() == [(count, count - 1)]


@needs_sail
def test_what_is_refused_runs_here_over_parts_of_the_cluster(con: Any) -> None:
    con.execute("CREATE TABLE big AS SELECT i, i % 10 AS k, i / 7 AS x FROM range(10000) r(i)")
    queries = [
        "SELECT mode(n) AS m FROM (SELECT k, count(*) AS n FROM big GROUP BY k)",
        "SELECT k, x::VARCHAR AS s FROM (SELECT k, avg(x) AS x FROM big GROUP BY k) ORDER BY k DESC",
        "WITH g AS (SELECT k, sum(i) AS n FROM big GROUP BY k) SELECT list(n ORDER BY k), mode(k) FROM g",
        "SELECT a.k, a.n, mode(b.m) FROM (SELECT k, count(*) AS n FROM big GROUP BY k) a "
        "JOIN (SELECT k, max(x) AS m FROM big GROUP BY k) b ON a.k = b.k GROUP BY ALL ORDER BY ALL",
    ]
    for query in queries:
        lines = [row[0] for row in con.execute(f"EXPLAIN (ENGINE cluster) {query}").fetchall()]
        assert lines[0].startswith("runs here over ") and "part 1, on the cluster" in lines, query
        there, ours = con.sql(query, engine="cluster"), con.sql(query)
        assert (there.columns, there.types) == (ours.columns, ours.types)
        assert there.fetchall() == ours.fetchall(), query
    with pytest.raises(inlay.Error, match=r"out of range|overflow|[Cc]ast"):
        con.sql("SELECT mode(n) FROM (SELECT k, max((i * 1000)::TINYINT) AS n FROM big GROUP BY k)", engine="cluster")


@needs_sail
def test_a_part_that_fails_says_so_and_nothing_else_comes(con: Any) -> None:
    from inlay._cluster import cluster_of

    con.execute("CREATE TABLE some AS SELECT i % 10 AS k FROM range(100) r(i)")
    cluster = cluster_of(con)

    def gone(session: Any, text: str) -> Any:
        raise RuntimeError("UNAVAILABLE: failed to connect")

    cluster._fetch = gone
    with pytest.raises(inlay.OperationalError, match="does not answer"):
        con.sql("SELECT mode(n) FROM (SELECT k, count(*) AS n FROM some GROUP BY k)", engine="cluster")
    assert con.sql("SELECT count(*) FROM some").fetchall() == [(100,)]


@needs_sail
def test_a_program_without_a_file_is_not_ended(url: str) -> None:
    asked = "print(c.sql('SELECT 7', engine='cluster').fetchall())"
    program = f"import inlay; c = inlay.connect(); c.attach_cluster({url!r}); {asked}"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[(7,)]", ran.stderr
