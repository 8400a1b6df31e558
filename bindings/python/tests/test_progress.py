"""Long queries show how far they are."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest

import inlay
from inlay import _progress

LONG = "SELECT sum(x * y) FROM range(4000) a(x), range(4000) b(y)"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_text_of_a_bar() -> None:
    assert _progress.text(0.5, 60).startswith(" 50% ▕████") and _progress.text(0.5, 60).endswith("1:00 left")
    assert _progress.text(0, 3).endswith("3 s")


def test_terminals_show_a_bar_and_settings_hide_it(con: inlay.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    con.execute("SET progress_bar_time = 0")
    con.execute(LONG)
    assert "%" in terminal.getvalue() and terminal.getvalue().endswith("\r\x1b[K")
    con.execute("SET enable_progress_bar = false")
    before = terminal.getvalue()
    con.execute(LONG)
    assert terminal.getvalue() == before


def test_query_progress_is_asked_from_another_thread(con: inlay.Connection) -> None:
    assert con.query_progress() == -1
    seen: list[float] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.append(con.query_progress())
            time.sleep(0.005)

    thread = threading.Thread(target=look)
    thread.start()
    con.execute(LONG)
    done.set()
    thread.join()
    assert any(0 <= value <= 100 for value in seen)


def test_a_notebook_has_one_output_that_is_updated(con: inlay.Connection) -> None:
    pytest.importorskip("IPython")
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    class ZMQInteractiveShell(InteractiveShell):
        """What a kernel's shell is called."""

    shell = ZMQInteractiveShell.instance()
    try:
        shell.display_pub = CapturingDisplayPublisher(parent=shell)
        con.execute("SET progress_bar_time = 0")
        shell.user_ns["con"] = con
        shell.run_cell(f"rows = con.execute({LONG!r}).fetchall()")
        outputs = shell.display_pub.outputs
        assert shell.user_ns["rows"] == [(sum(range(4000)) ** 2,)]
        texts = [output["data"]["text/plain"] for output in outputs]
        identities = {output["transient"]["display_id"] for output in outputs}
        assert len(identities) == 1 and [output["update"] for output in outputs][:2] == [False, True]
        assert texts[0] == "" and any("%" in text for text in texts) and texts[-1] == ""
        con.execute("SET progress_bar_time = 100000")
        outputs.clear()
        shell.run_cell(f"con.execute({LONG!r})")
        assert outputs == []
    finally:
        ZMQInteractiveShell.clear_instance()
