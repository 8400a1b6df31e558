"""Running queries end soon when asked to, and the connection works afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import inlay

ENDLESS = "SELECT count(*) FROM range(100000000) a(x), range(100000) b(y) WHERE x + y < 0"


LONG = [
    ENDLESS,
    "SELECT sum(x * y) FROM range(100000000) a(x), range(100000) b(y)",
    "SELECT x % 1000, count(*) FROM range(100000000000) t(x) GROUP BY 1",
    "CREATE TABLE much AS SELECT x % 7 AS x FROM range(100000000000) t(x)",
]


@pytest.mark.parametrize("query", LONG)
def test_interrupt_from_another_thread(con: inlay.Connection, query: str) -> None:
    timer = threading.Timer(0.2, con.interrupt)
    timer.start()
    start = time.perf_counter()
    with pytest.raises(inlay.OperationalError) as error:
        con.execute(query)
    assert error.value.sqlstate == "57014" and time.perf_counter() - start < 5
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_interrupt_without_a_query_does_nothing(con: inlay.Connection) -> None:
    con.interrupt()
    assert con.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is not signal.default_int_handler, reason="this process was started without Ctrl-C"
)
def test_ctrl_c_raises_keyboard_interrupt(con: inlay.Connection) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        con.execute(ENDLESS)
    assert time.perf_counter() - start < 5
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_other_threads_run_while_a_query_does(con: inlay.Connection) -> None:
    steps = 0
    done = threading.Event()

    def count() -> None:
        nonlocal steps
        while not done.is_set():
            steps += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    con.execute("SELECT sum(x * y) FROM range(3000) a(x), range(3000) b(y)").fetchall()
    done.set()
    thread.join()
    assert steps > 3


def test_import_is_light() -> None:
    code = "import sys, inlay; inlay.connect().execute('SELECT 1').fetchall(); print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
