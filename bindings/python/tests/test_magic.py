"""`%sql` in IPython."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inlay

pytest.importorskip("IPython")


@pytest.fixture
def shell() -> Any:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "inlay")
    yield shell
    InteractiveShell.clear_instance()


def test_lines_and_cells(shell: Any) -> None:
    assert shell.run_line_magic("sql", "SELECT 40 + 2 AS x").fetchall() == [(42,)]
    shell.user_ns["people"] = [{"name": "Ada", "age": 36}, {"name": "Alan", "age": 41}]
    shell.user_ns["limit"] = 40
    assert shell.run_cell_magic("sql", "old <<", "SELECT name FROM people\nWHERE age > $limit") is None
    assert shell.user_ns["old"].fetchall() == [("Alan",)]
    assert shell.run_line_magic("sql", "SELECT count(*) FROM old").fetchall() == [(1,)]
    shell.run_line_magic("sql", "--connect :memory:")
    shell.run_line_magic("sql", "CREATE TABLE t AS SELECT 1 AS x")
    assert shell.run_line_magic("sql", "FROM t").fetchall() == [(1,)]


def test_a_session_of_ipython() -> None:
    lines = ["%load_ext inlay", "answer = %sql SELECT 40 + 2 AS x", "print(answer.fetchall())"]
    command = [sys.executable, "-m", "IPython", "--no-banner", "--simple-prompt", "-c", "\n".join(lines)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.stdout.strip().endswith("[(42,)]"), run.stderr


def test_options_open_a_file_and_take_a_connection_of_a_variable(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run_cell_magic("sql", "--db trips.inlay", "CREATE TABLE saved AS SELECT 1 AS a")
    assert (tmp_path / "trips.inlay").exists()
    # It stays the connection of what follows, and a line may have both.
    assert shell.run_line_magic("sql", "FROM saved").fetchall() == [(1,)]
    assert shell.run_line_magic("sql", "--db trips.inlay SELECT a + 1 FROM saved").fetchall() == [(2,)]
    shell.run_cell_magic("sql", "--db=trips.inlay found <<", "SELECT a + 2 AS a FROM saved")
    assert shell.user_ns["found"].fetchall() == [(3,)]
    shell.user_ns["con"] = inlay.connect()
    shell.user_ns["con"].execute("CREATE TABLE mine AS SELECT 7 AS a")
    assert shell.run_line_magic("sql", "--connect con") is None
    assert shell.run_line_magic("sql", "FROM mine").fetchall() == [(7,)]
    shell.user_ns["where"] = tmp_path / "trips.inlay"
    assert shell.run_line_magic("sql", "--connect where FROM saved").fetchall() == [(1,)]
    shell.run_line_magic("sql", "--connect")
    assert shell.run_line_magic("sql", "SELECT 1 -- a comment").fetchall() == [(1,)]
    assert shell.run_cell_magic("sql", "-- a comment", "SELECT 2").fetchall() == [(2,)]
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.endswith(".wal")) == ["trips.inlay"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--databse f SELECT 1", "no option --databse"),
        ("--db", "--db needs a file"),
        ("--connect con", "--db con makes the file"),
        ("--connect number SELECT 1", "the variable number is no connection but of type int"),
        ("--db a --connect b", "not both"),
        ("", "needs a statement"),
    ],
)
def test_what_cannot_be_meant_is_an_error(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.user_ns["number"] = 5
    with pytest.raises(inlay.InvalidInputException, match=re.escape(says)):
        shell.run_line_magic("sql", line)
    assert list(tmp_path.iterdir()) == []


def test_of_several_statements_the_last_is_shown(shell: Any) -> None:
    shown = shell.run_cell_magic(
        "sql", "", "CREATE OR REPLACE TEMP TABLE s AS SELECT 1 AS a; SELECT 5; SELECT a FROM s"
    )
    assert shown.fetchall() == [(1,)]
    assert shell.run_line_magic("sql", "SELECT {'a': 1} AS s").fetchall() == [({"a": 1},)]


def test_help_and_errors_are_short(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("sql", "--help")
    told = capsys.readouterr().out
    assert "--connect NAME" in told
    assert "--db FILE" in told
    assert shell.find_line_magic("sql").__doc__ is not None
    shell.run_cell("%sql SELECT nothing FROM range(3) t(i)")
    told = capsys.readouterr().out
    assert "BinderException" in told
    assert len(told.splitlines()) < 6, told


def test_a_function_has_its_own_variables(shell: Any) -> None:
    shell.user_ns["lim"] = 1
    lines = [
        "def h(lim):",
        "    frame = [{'a': lim}, {'a': 9}]",
        "    r = %sql SELECT a, $lim FROM frame",
        "    return r.fetchall()",
    ]
    shell.run_cell("\n".join(lines)).raise_error()
    assert shell.user_ns["h"](3) == [(3, 3), (9, 3)]
    assert shell.run_line_magic("sql", "SELECT $lim").fetchall() == [(1,)]
