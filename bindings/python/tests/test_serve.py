"""con.serve and con.ui: a database of this process for others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

import inlay

DOORS = {"native_port": 0, "postgres_port": None, "http_port": None}


def threads() -> int:
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else 0


def test_other_connections_see_what_is_here() -> None:
    con = inlay.connect().execute("CREATE TABLE t AS SELECT i FROM range(100) AS r(i)")
    with con.serve(native_port=0, postgres_port=0, http_port=0) as server:
        far = inlay.connect(server.url)
        assert far.execute("SELECT sum(i) FROM t").fetchone() == (4950,)
        far.execute("INSERT INTO t VALUES (100)")
        assert con.execute("SELECT count(*) FROM t").fetchone() == (101,)
        assert not server.closed and server.native_port and server.postgres_port
        request = urllib.request.Request(f"{server.http_url}query?format=csv", data=b"SELECT count(*) AS n FROM t")
        assert urllib.request.urlopen(request).read().split() == [b"n", b"101"]
        request = urllib.request.Request(f"{server.http_url}query?format=parquet", data=b"FROM t")
        assert urllib.request.urlopen(request).read()[:4] == b"PAR1"
        here = inlay.connect()
        here.execute(f"ATTACH '{server.url}' AS remote")
        assert here.execute("SELECT max(i) FROM remote.t").fetchone() == (100,)
    assert server.closed
    server.close()
    with pytest.raises(inlay.Error):
        far.execute("SELECT 1")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (101,)


def test_clients_reach_the_database_and_nothing_else(tmp_path) -> None:
    con = inlay.connect()
    con.create_function("twice", lambda x: 2 * x, [int], int)
    con.register("frame", {"a": [1, 2]})
    (tmp_path / "a.csv").write_text("a\n1\n")
    outside = [
        f"FROM read_csv('{tmp_path}/a.csv')",
        f"FROM '{tmp_path}/a.csv'",
        f"COPY (SELECT 1) TO '{tmp_path}/b.csv'",
        f"ATTACH '{tmp_path}/c.inlay'",
        "ATTACH 'inlay://127.0.0.1:1/x' AS x",
        "SELECT twice(4)",
        "FROM frame",
        "SET memory_limit = '1GB'",
        "SET enable_external_access = true",
        f"EXPORT DATABASE '{tmp_path}/e'",
        f"FROM glob('{tmp_path}/*')",
        "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON AS $$ return x $$",
    ]
    with con.serve(**DOORS) as server:
        far = inlay.connect(server.url)
        for sql in outside:
            with pytest.raises(inlay.Error) as caught:
                far.execute(sql).fetchall()
            assert caught.value.sqlstate == "42501", (sql, caught.value)
        far.execute("CREATE TABLE t (a INTEGER); CREATE VIEW v AS FROM t; DROP VIEW v; INSERT INTO t VALUES (1)")
        far.execute("SET ROLE inlay")
        with pytest.raises(inlay.Error):
            far.execute(outside[0])
        # The program itself goes on as before.
        assert con.execute(outside[0]).fetchall() == [(1,)]
        assert con.execute("SELECT twice(4)").fetchone() == (8,)
    with con.serve(**DOORS, allow_files=True) as server:
        assert inlay.connect(server.url).execute(outside[0]).fetchall() == [(1,)]


def test_threads_end_and_ports_are_free_again() -> None:
    con = inlay.connect()
    before = threads()
    for _ in range(3):
        server = con.serve(native_port=0, postgres_port=0, http_port=0)
        with pytest.raises(inlay.Error, match="served already"):
            con.serve(**DOORS)
        far = inlay.connect(server.url)
        far.execute("SELECT 1")
        port = server.native_port
        server.close(0)
        again = con.serve(native_port=port, postgres_port=None, http_port=None)
        again.close(0)
    assert threads() <= before + 2


def test_what_runs_is_ended_by_close() -> None:
    con = inlay.connect()
    server = con.serve(**DOORS)
    far = inlay.connect(server.url)
    caught: list[Exception] = []

    def run() -> None:
        try:
            far.execute("SELECT count(*) FROM range(1000000) AS a(i), range(1000000) AS b(j)").fetchall()
        except inlay.Error as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while con.execute("SELECT 1").fetchone() and not thread.is_alive():
        pass
    server.close(0.2)
    thread.join(30)
    assert not thread.is_alive() and len(caught) == 1


def test_passwords_and_wrong_arguments(tmp_path) -> None:
    con = inlay.connect()
    users = tmp_path / "users"
    users.write_text("ann:secret\n")
    users.chmod(0o600)
    with con.serve(**DOORS, password_file=users) as server:
        with pytest.raises(inlay.Error):
            inlay.connect(server.url.replace("inlay://", "inlay://ann:wrong@")).execute("SELECT 1")
        far = inlay.connect(server.url.replace("inlay://", "inlay://ann:secret@"))
        assert far.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(inlay.Error, match="password-file"):
        con.serve(**DOORS, listen="0.0.0.0")
    with pytest.raises(inlay.Error, match="IP address"):
        con.serve(**DOORS, listen="nowhere")
    with pytest.raises(inlay.Error, match="grace"):
        con.serve(**DOORS).close(-1)


def test_the_page_is_served() -> None:
    con = inlay.connect().execute("CREATE TABLE t AS SELECT 7 AS a")
    page = con.ui(show=False)
    try:
        assert b"<html" in urllib.request.urlopen(page).read().lower()
        assert page in page._repr_html_()
        assert con.ui(show=False) == page
    finally:
        page.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(page)
    other = con.ui(show=False)
    other.close()


def test_signals_stay_the_programs() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    con = inlay.connect()
    with con.serve(**DOORS):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            con.execute("SELECT count(*) FROM range(100000000)").fetchall()
        assert con.execute("SELECT 1").fetchone() == (1,)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_and_the_end_of_the_interpreter() -> None:
    program = """
import inlay, os, sys
con = inlay.connect()
server = con.serve(native_port=0, postgres_port=0, http_port=0)
far = inlay.connect(server.url)
child = os.fork()
if child == 0:
    assert server.closed
    server.close()
    del server
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert far.execute("SELECT 42").fetchone() == (42,)
print("end", flush=True)
"""
    for ending in ("", "del server, con\n", "raise SystemExit(0)\n"):
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program + ending], capture_output=True, text=True, timeout=60
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "end\n", ""), (ending, ran)
