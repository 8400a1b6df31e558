"""Databases in files: opening, sharing, refusing, copying, closing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import inlay


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.inlay"


def numbers(con: inlay.Connection) -> list[int]:
    return [row[0] for row in con.execute("SELECT n FROM t ORDER BY n").fetchall()]


def fill(path: Path, rows: int = 3) -> None:
    with inlay.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT range AS n FROM range(?)", [rows])


def test_what_was_committed_is_there_after_opening_again(path: Path) -> None:
    fill(path)
    with inlay.connect(str(path)) as con:
        assert numbers(con) == [0, 1, 2]
        con.begin()
        con.execute("INSERT INTO t VALUES (3)")
        con.commit()
        con.begin()
        con.execute("DELETE FROM t")
        con.rollback()
        con.begin()
        con.execute("DELETE FROM t")
    with inlay.connect(os.fsencode(path)) as con:
        assert numbers(con) == [0, 1, 2, 3]
        assert con.execute("PRAGMA verify").fetchall() == [("ok",)]
        assert str(path) in repr(con)


def test_a_file_opened_twice_is_one_database(path: Path) -> None:
    fill(path)
    with inlay.connect(path) as one, inlay.connect(path.parent / "." / path.name) as other:
        one.execute("INSERT INTO t VALUES (9)")
        assert numbers(other) == [0, 1, 2, 9]
        one.close()
        assert numbers(other) == [0, 1, 2, 9]


def test_read_only_refuses_changes(path: Path) -> None:
    fill(path)
    with inlay.connect(path, read_only=True) as con:
        assert numbers(con) == [0, 1, 2]
        with pytest.raises(inlay.OperationalError, match="read_only") as caught:
            con.execute("INSERT INTO t VALUES (1)")
        assert caught.value.sqlstate == "25006"
    with pytest.raises(inlay.OperationalError):
        inlay.connect(path.parent / "missing.inlay", read_only=True)


def test_a_second_process_may_read_and_not_write(path: Path) -> None:
    fill(path)
    with inlay.connect(path) as con:
        con.execute("INSERT INTO t VALUES (7)")
        write = run("import inlay, sys; inlay.connect(sys.argv[1])", path)
        assert write.returncode != 0
        assert "IOException" in write.stderr and "another process" in write.stderr
        assert "read_only" in write.stderr
        code = "import inlay, sys; con = inlay.connect(sys.argv[1], read_only=True); "
        read = run(code + "print(con.execute('SELECT count(*) FROM t').fetchone()[0])", path)
        assert (read.stdout.strip(), read.stderr) == ("4", "")
    again = run("import inlay, sys; inlay.connect(sys.argv[1]).execute('INSERT INTO t VALUES (8)')", path)
    assert again.returncode == 0, again.stderr


def test_closing_lets_go_of_the_file_even_if_results_live(path: Path) -> None:
    con = inlay.connect(path)
    result = con.execute("CREATE TABLE t (n INTEGER)")
    cursor = con.cursor()
    con.close()
    cursor.close()
    other = run("import inlay, sys; inlay.connect(sys.argv[1]).execute('SELECT * FROM t')", path)
    assert other.returncode == 0, other.stderr
    with pytest.raises(inlay.InterfaceError):
        result.execute("SELECT 1")


def test_backup_is_a_database_of_its_own(path: Path, tmp_path: Path) -> None:
    fill(path, 1000)
    copy = tmp_path / "copy.inlay"
    with inlay.connect(path) as con, con.cursor() as writer:
        writer.begin()
        writer.execute("DELETE FROM t")
        con.backup(copy)
        writer.rollback()
        with pytest.raises(inlay.ProgrammingError, match="exists already"):
            con.backup(copy)
    with inlay.connect(copy) as con:
        assert numbers(con) == list(range(1000))
        assert con.execute("PRAGMA verify").fetchall() == [("ok",)]


def test_a_database_in_memory_can_be_kept(tmp_path: Path) -> None:
    with inlay.connect() as con:
        con.execute("CREATE TABLE t AS SELECT range AS n FROM range(5)")
        con.backup(tmp_path / "kept.inlay")
    with inlay.connect(tmp_path / "kept.inlay") as con:
        assert numbers(con) == [0, 1, 2, 3, 4]


def test_checkpoint_empties_the_log(path: Path) -> None:
    with inlay.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT range AS n FROM range(100000)")
        con.checkpoint()
        before = path.stat().st_size
        con.execute("DELETE FROM t WHERE n % 2 = 0")
        con.execute("VACUUM")
        assert path.stat().st_size < before
        assert con.execute("SELECT count(*) FROM t").fetchone() == (50000,)
        assert con.execute("PRAGMA verify").fetchall() == [("ok",)]


@pytest.mark.parametrize("kind", ["SQLite", "text", "Parquet"])
def test_another_format_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "other"
    if kind == "SQLite":
        with sqlite3.connect(path) as con:
            con.execute("CREATE TABLE t (n INTEGER)")
    elif kind == "text":
        path.write_text("n,m\n1,2\n" * 2000)
    else:
        with inlay.connect() as con:
            con.execute(f"COPY (SELECT 1 AS n) TO '{path}' (FORMAT parquet)")
    before = path.read_bytes()
    with pytest.raises(inlay.Error, match=kind) as caught:
        inlay.connect(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(inlay.OperationalError, match="missing"):
        inlay.connect(tmp_path / "missing" / "a.inlay")
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(inlay.OperationalError, match=r"a\.inlay"):
            inlay.connect(tmp_path / "a.inlay")
        tmp_path.chmod(0o700)


def test_damage_is_reported_and_the_rest_recovered(path: Path, tmp_path: Path) -> None:
    with inlay.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT range AS n FROM range(50)")
        con.execute("CREATE TABLE big AS SELECT range * 7919 % 1000003 AS n FROM range(100000)")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    try:
        with inlay.connect(path) as con:
            assert con.execute("PRAGMA verify").fetchall() != [("ok",)]
    except inlay.OperationalError as error:
        assert error.sqlstate == "XX001"
    new = tmp_path / "new.inlay"
    with inlay.connect() as con:
        rows = con.execute(f"CALL recover('{path}', '{new}')").fetchall()
        assert {'table "t"', 'table "big"'} <= {row[0] for row in rows}
    with inlay.connect(new) as con:
        assert numbers(con) == list(range(50))
        assert con.execute("PRAGMA verify").fetchall() == [("ok",)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_file_alone(path: Path) -> None:
    code = """
import inlay, os, sys
con = inlay.connect(sys.argv[1])
con.execute("CREATE TABLE t AS SELECT range AS n FROM range(3)")
child = os.fork()
if child == 0:
    try:
        con.execute("INSERT INTO t VALUES (99)")
    except inlay.InterfaceError as error:
        print("refused:", error, flush=True)
    sys.exit(0)
os.waitpid(child, 0)
con.execute("INSERT INTO t VALUES (3)")
print(con.execute("PRAGMA verify").fetchall())
"""
    done = run(code, path)
    assert done.returncode == 0, done.stderr
    assert "refused:" in done.stdout and "fork" in done.stdout
    assert "[('ok',)]" in done.stdout
    with inlay.connect(path) as con:
        assert numbers(con) == [0, 1, 2, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_the_database_again(path: Path) -> None:
    """As pools of processes do: the parent's opening is not the child's, by whatever name it is asked for."""
    code = """
import inlay, os, sys
con = inlay.connect(sys.argv[1])
con.execute("CREATE TABLE t AS SELECT range AS n FROM range(3)")
inlay.sql("SELECT 1").fetchall()
child = os.fork()
if child == 0:
    print("read:", inlay.connect(sys.argv[1], read_only=True).execute("SELECT sum(n) FROM t").fetchone(), flush=True)
    print("own:", inlay.sql("SELECT 41 + 1").fetchone(), flush=True)
    try:
        inlay.connect(sys.argv[1])
    except inlay.Error as error:
        print("locked:", error, flush=True)
    sys.exit(0)
os.waitpid(child, 0)
con.execute("INSERT INTO t VALUES (3)")
con.close()
child = os.fork()
if child == 0:
    own = inlay.connect(sys.argv[1])
    own.execute("INSERT INTO t VALUES (4)")
    own.close()
    sys.exit(0)
os.waitpid(child, 0)
print("at the end:", inlay.connect(sys.argv[1]).execute("SELECT sum(n) FROM t").fetchone())
"""
    done = run(code, path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "read: (3,)" in done.stdout and "own: (42,)" in done.stdout
    assert "locked:" in done.stdout and "process was forked" not in done.stdout
    assert "at the end: (10,)" in done.stdout


def test_the_end_of_the_interpreter_writes_a_checkpoint(path: Path) -> None:
    code = """
import inlay, sys
con = inlay.connect(sys.argv[1])
con.execute("CREATE TABLE t AS SELECT range * 7919 % 1000003 AS n FROM range(1000)")
loop = [con]
loop.append(loop)
"""
    done = run(code, path)
    assert (done.returncode, done.stderr) == (0, "")
    assert path.stat().st_size > 8192
    with inlay.connect(path) as con:
        assert len(numbers(con)) == 1000


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_process_loses_nothing_that_was_committed(path: Path) -> None:
    code = """
import inlay, os, signal, sys
con = inlay.connect(sys.argv[1])
con.execute("CREATE TABLE t AS SELECT range AS n FROM range(3)")
con.begin()
con.execute("INSERT INTO t VALUES (99)")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run(code, path).returncode == -signal.SIGKILL
    with inlay.connect(path) as con:
        assert numbers(con) == [0, 1, 2]
