"""What somebody at a terminal sees: editing, completion, Ctrl-C, history, pages, the progress bar."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

from tests.shell.terminal import left, started


def test_statements_go_on_until_their_semicolon(tmp_path: Path) -> None:
    terminal = started(tmp_path)
    terminal.type("SELECT 40 +\r")
    terminal.wait("...> ")
    assert "answer" in terminal.ask("2 AS answer;", "42 │")
    left(terminal)


def test_tab_completes_names_of_the_catalog(tmp_path: Path) -> None:
    terminal = started(tmp_path)
    terminal.ask("CREATE TABLE travellers (surname VARCHAR);")
    terminal.type("SELECT * FROM travel\t")
    terminal.wait("travellers")
    terminal.ask(";", "0 rows")
    terminal.type("SELECT regexp_full\t")
    terminal.wait("regexp_full_match(")
    terminal.type("\x03")
    terminal.wait("leaves)")
    terminal.ready()
    left(terminal)


def test_ctrl_c_ends_the_query_and_not_the_shell(tmp_path: Path) -> None:
    terminal = started(tmp_path)
    terminal.type("SELECT count(*) FROM range(100000000000) t(x) WHERE x % 7 = 3;\r")
    # The bar with its time.
    terminal.wait("% ▕")
    terminal.type("\x03")
    terminal.wait("query interrupted")
    terminal.ready()
    terminal.ask("SELECT 6 * 7 AS answer;", "42 │")
    terminal.type("SELECT half a line")
    terminal.wait("half a line")
    terminal.type("\x03")
    terminal.wait("leaves)")
    terminal.ready()
    terminal.ask("SELECT 5 * 7 AS answer;", "35 │")
    left(terminal)


def test_what_is_typed_meanwhile_runs_next(tmp_path: Path) -> None:
    terminal = started(tmp_path)
    terminal.type("SELECT count(*) AS n FROM range(300000000) t(x) WHERE x % 7 = 3;\r")
    time.sleep(0.3)
    terminal.type("SELECT 6 * 7 AS answer;\r")
    terminal.wait("42857143 │")
    terminal.wait("42 │")
    terminal.ready()
    left(terminal)


def test_earlier_statements_are_remembered(tmp_path: Path) -> None:
    terminal = started(tmp_path)
    terminal.ask("SELECT 'kept' AS a;", "kept    │")
    left(terminal)
    assert (tmp_path / ".inlay_history").stat().st_mode & 0o777 == 0o600
    terminal = started(tmp_path)
    terminal.type("\x1b[A")
    terminal.wait("SELECT 'kept' AS a;")
    terminal.ask("", "kept    │")
    left(terminal)


@pytest.mark.parametrize(("environment", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_unless_unwanted(tmp_path: Path, environment: dict[str, str], is_coloured: bool) -> None:
    terminal = started(tmp_path, **environment)
    terminal.type("SELECT NULL AS a;\r")
    terminal.until(lambda text: "NULL" in text.partition("integer")[2], "NULL")
    assert ("\x1b[90mNULL" in terminal.seen) == is_coloured
    terminal.ready()
    left(terminal)


def test_tables_fit_and_long_output_has_pages(tmp_path: Path) -> None:
    terminal = started(tmp_path, PAGER="sed s/^/paged:/")
    names = ", ".join(f"{n} AS a_long_name_{n}" for n in range(30))
    assert "│ … │" in terminal.ask(f"SELECT {names};", "30 columns")
    assert "paged:" not in terminal.ask("SELECT * FROM range(1000);", "1,000 rows (40 shown)")
    terminal.ask(".mode csv")
    terminal.ask("SELECT * FROM range(1000);", "paged:999")
    left(terminal)


def test_a_dumb_terminal_has_a_plain_prompt(tmp_path: Path) -> None:
    terminal = started(tmp_path, TERM="dumb")
    terminal.type("SELECT 1 +\n1 AS two;\n")
    terminal.until(lambda text: "2 │" in text, "2")
    assert "\x1b" not in terminal.seen
    terminal.ready()
    left(terminal)


def test_a_kill_leaves_the_database_whole(tmp_path: Path) -> None:
    terminal = started(tmp_path, "a.inlay")
    terminal.ask("CREATE TABLE t AS SELECT 5 AS x;")
    os.kill(terminal.pid, signal.SIGKILL)
    os.waitpid(terminal.pid, 0)
    terminal = started(tmp_path, "a.inlay")
    terminal.ask("SELECT x FROM t;", "5 │")
    left(terminal)


def test_a_line_that_is_edited_stands_on_the_screen_once(tmp_path: Path) -> None:
    terminal = started(tmp_path)
    # Words are put in front of what is there, and the end is taken away.
    terminal.type("1 + 1 AS two;;\x01SELECT \x05\x7f")
    terminal.wait("two;")
    terminal.ask("", "2 │")
    lines = terminal.screen.text().splitlines()
    assert lines[-8:-1] == [
        "inlay> SELECT 1 + 1 AS two;",
        "┌─────────┐",
        "│   two   │",
        "│ integer │",
        "├─────────┤",
        "│       2 │",
        "└─────────┘",
    ]
    assert lines[-1] == "inlay>"
    left(terminal)
