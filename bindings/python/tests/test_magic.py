"""`%sql` in IPython."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

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
