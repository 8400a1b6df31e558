"""Running queries end soon when asked to, and the connection works afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

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


@pytest.mark.parametrize("fetch", ["fetchnumpy", "arrow", "df"])
def test_interrupt_ends_rows_that_wait(con: inlay.Connection, fetch: str) -> None:
    """Rows that are not computed yet are not, and those that are there are not converted."""
    con.execute("SELECT i, 'text ' || i AS s FROM range(20000000) t(i)")
    con.interrupt()
    with pytest.raises(inlay.InterruptException):
        getattr(con, fetch)()
    assert con.execute("SELECT 42").fetchone() == (42,)


def test_interrupt_without_a_query_does_nothing(con: inlay.Connection) -> None:
    con.interrupt()
    assert con.execute("SELECT 1").fetchone() == (1,)


def counted(con: inlay.Connection, each: Callable[[int], object], seen: list[int]) -> Iterator[object]:
    """Give objects without end, and interrupt the connection at the thousandth."""
    for number in range(1_000_000):
        seen.append(number)
        if number == 1000:
            con.interrupt()
        yield each(number)


class Number:
    """A number that is asked for its value, and interrupts the connection when it is the thousandth."""

    def __init__(self, con: inlay.Connection, number: int, seen: list[int]) -> None:
        self.con, self.number, self.seen = con, number, seen

    def __index__(self) -> int:
        self.seen.append(self.number)
        if self.number == 1000:
            self.con.interrupt()
        return self.number


def test_interrupt_ends_a_call_before_its_statement_begins(con: inlay.Connection) -> None:
    """While parameters are converted no statement runs yet; objects are counted, not seconds."""
    con.execute("CREATE TABLE t (x BIGINT)")
    prepared = con.prepare("INSERT INTO t VALUES (?)")
    appender = con.appender("t")
    calls: list[Callable[[list[int]], object]] = [
        lambda seen: con.executemany("INSERT INTO t VALUES (?)", counted(con, lambda i: [i], seen)),
        lambda seen: prepared.executemany(counted(con, lambda i: [i], seen)),
        lambda seen: appender.append_rows(counted(con, lambda i: [i], seen)),
        lambda seen: con.execute("SELECT len(?)", [[Number(con, i, seen) for i in range(100_000)]]),
        lambda seen: prepared.execute([[Number(con, i, seen) for i in range(100_000)]]),
        lambda seen: con.execute("SELECT $a", {"a": {"k": [Number(con, i, seen) for i in range(100_000)]}}),
    ]
    for call in calls:
        seen: list[int] = []
        with pytest.raises(inlay.InterruptException) as error:
            call(seen)
        assert error.value.sqlstate == "57014" and 1000 < len(seen) < 20_000
        assert con.execute("SELECT 42").fetchone() == (42,)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_an_interrupt_belongs_to_the_calls_that_were_entered(con: inlay.Connection) -> None:
    """What an earlier call did not see is none of the next one's."""
    con.interrupt()
    con.executemany("SELECT ?", [[1], [2]])
    con.interrupt()
    assert con.sql("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("fetch", ["fetchall", "df", "arrow", "fetchnumpy", "pl", "fetchmany"])
def test_interrupt_ends_the_conversion_of_rows_that_are_there(con: inlay.Connection, fetch: str) -> None:
    con.execute("CREATE TABLE t AS SELECT i, 'text ' || i AS s, i * 1.5 AS d FROM range(1000000) r(i)")
    arguments = [10**9] if fetch == "fetchmany" else []

    def again() -> None:
        # Arrays of whole columns are made when they are looked at.
        while True:
            rows = getattr(con.execute("SELECT i, s, d FROM t"), fetch)(*arguments)
            list(rows.values()) if fetch == "fetchnumpy" else None

    ended = threading.Event()

    def interrupt() -> None:
        # Again and again: one between two calls belongs to none.
        while not ended.wait(0.05):
            con.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(inlay.InterruptException):
        again()
    ended.set()
    thread.join()
    assert con.execute("SELECT 42").fetchone() == (42,)


def test_a_closed_connection_says_so(con: inlay.Connection) -> None:
    con.close()
    for call in (con.interrupt, con.query_progress):
        with pytest.raises(inlay.ConnectionException):
            call()


needs_ctrl_c = pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is not signal.default_int_handler, reason="this process was started without Ctrl-C"
)


def wait() -> None:
    """Wait for Ctrl-C, of which another thread may have been told."""
    for _ in range(6000):
        time.sleep(0.01)


def fetch_nothing(answer: inlay.Connection) -> None:
    """What runs is the query itself."""


@needs_ctrl_c
def test_ctrl_c_raises_keyboard_interrupt(con: inlay.Connection) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        con.execute(ENDLESS)
    assert time.perf_counter() - start < 5
    assert con.execute("SELECT 1").fetchone() == (1,)


#: One for each operator that holds many rows, and for columns on their way out; each takes seconds.
HEAVY: dict[str, tuple[str, Callable[[inlay.Connection], object]]] = {
    "join": ("SELECT count(*) FROM range(20000000) a(x) JOIN range(20000000) b(y) ON hash(x) = hash(y)", fetch_nothing),
    "sort": ("CREATE TABLE sorted AS SELECT x FROM range(20000000) t(x) ORDER BY hash(x)", fetch_nothing),
    "window": (
        "SELECT max(s) FROM (SELECT sum(x) OVER (PARTITION BY x % 9 ORDER BY hash(x)) AS s FROM range(9000000) t(x))",
        fetch_nothing,
    ),
    "aggregate": ("SELECT count(*) FROM (SELECT DISTINCT hash(x) FROM range(30000000) t(x))", fetch_nothing),
    "texts to NumPy": ("SELECT 'number ' || x AS s FROM range(4000000) t(x)", lambda answer: answer.fetchnumpy()),
    "rows": ("SELECT x, x / 2, 'n' || x FROM range(2000000) t(x)", lambda answer: answer.fetchall()),
    "decimals to NumPy": (
        "SELECT x::DECIMAL(12, 2) AS p FROM range(3000000) t(x)",
        lambda answer: answer.fetchnumpy("exact"),
    ),
}


@needs_ctrl_c
@pytest.mark.parametrize("operator", HEAVY)
def test_ctrl_c_ends_every_heavy_operator(con: inlay.Connection, operator: str) -> None:
    query, fetch = HEAVY[operator]
    converts = fetch is not fetch_nothing
    answer = con.execute(query) if converts else con
    sent: list[float] = []

    def press() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.2, press)
    timer.start()
    too_fast = False
    with pytest.raises(KeyboardInterrupt):
        fetch(answer if converts else con.execute(query))
        too_fast = True
        wait()
    took = time.perf_counter() - sent[0]
    print(f"{operator}: Ctrl-C answered after {took * 1000:.0f} ms{', by Python' if too_fast else ''}")
    # The aim is 0.1 s; the limit is for machines with other things to do.
    assert took < 2
    assert con.execute("SELECT 1").fetchone() == (1,)


@needs_ctrl_c
@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.2])
def test_ctrl_c_ends_rows_that_are_computed_when_they_are_fetched(con: inlay.Connection, seconds: float) -> None:
    for fetch in (lambda answer: answer.fetchnumpy(), lambda answer: answer.arrow(), lambda answer: answer.fetchall()):
        answer = con.execute("SELECT 'number ' || x AS s FROM range(20000000) t(x)")
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            fetch(answer)
            wait()
        assert con.execute("SELECT 1").fetchone() == (1,)


@needs_ctrl_c
def test_ctrl_c_ends_whole_columns_of_a_table(con: inlay.Connection) -> None:
    columns = ", ".join(f"x + {n} AS c{n}" for n in range(20))
    con.execute(f"CREATE TABLE t AS SELECT {columns}, 'text ' || x AS s FROM range(1000000) r(x)")
    for fetch in (lambda: con.execute("FROM t").fetchnumpy().values(), lambda: con.execute("FROM t").fetchall()):
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            fetch()
            wait()
    arrays = con.execute("SELECT c0, c19 FROM t").fetchnumpy()
    assert arrays["c0"].sum() + 19_000_000 == arrays["c19"].sum()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_connection_says_that_it_was_forked(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS x")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for use in (lambda: con.execute("FROM t"), con.cursor, lambda: con.register("r", {"x": [1]})):
                try:
                    use()
                    os.write(write, b"nothing\n")
                except inlay.Error as error:
                    os.write(write, f"{type(error).__name__} {error.sqlstate}: {error}\n".encode())
            # One of its own works.
            with inlay.connect() as own:
                os.write(write, f"{own.execute('SELECT 42').fetchone()}\n".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        *refusals, own = pipe.read().splitlines()
    os.waitpid(child, 0)
    assert len(refusals) == 3 and all("fork" in line for line in refusals) and own == "(42,)"
    assert con.execute("FROM t").fetchone() == (1,)


def without(*modules: str, code: str) -> str:
    """Run code in a process that cannot import some modules."""
    blocked = f"import sys\nfor name in {modules!r}: sys.modules[name] = None\n"
    run = subprocess.run([sys.executable, "-c", blocked + code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_the_package_works_without_numpy() -> None:
    code = """
import inlay
con = inlay.connect()
con.execute("CREATE TABLE t (x INTEGER, s VARCHAR)")
con.executemany("INSERT INTO t VALUES (?, ?)", [[1, "a"], [2, None]])
print(con.execute("FROM t").fetchall(), con.sql("FROM t").filter("x > 1").fetchone(), "x" in repr(con.sql("FROM t")))
try:
    con.execute("FROM t").fetchnumpy()
except ModuleNotFoundError as error:
    print(error.name)
"""
    out = without("numpy", "pyarrow", "pandas", "polars", code=code)
    assert out.splitlines() == ["[(1, 'a'), (2, None)] (2, None) True", "numpy"]


def test_the_package_works_with_nothing_but_numpy() -> None:
    code = """
import inlay, numpy as np
con = inlay.connect()
columns = {"x": np.arange(3), "s": np.array(["a", None, "c"], dtype=object)}
records = [{"a": 1}, {"a": None}]
con.register("c", columns)
con.execute("CREATE TABLE t AS FROM c")
con.append("t", {"x": [7], "s": ["z"]})
arrays = con.execute("FROM t").fetchnumpy()
print(arrays["x"].tolist(), arrays["s"].tolist(), con.sql("SELECT count(a) FROM records").fetchall())
"""
    out = without("pyarrow", "pandas", "polars", "IPython", "sqlalchemy", code=code)
    assert out == "[0, 1, 2, 7] ['a', None, 'c', 'z'] [(1,)]"


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


def test_priority_is_set_from_any_thread(con: inlay.Connection) -> None:
    timer = threading.Timer(0.05, con.set_priority, ["low"])
    timer.start()
    con.execute("SELECT count(*) FROM range(3000000) a(x) WHERE sqrt(x) < 0")
    timer.join()
    assert con.execute("SELECT current_setting('priority')").fetchone() == ("low",)
    con.set_priority("HIGH")
    assert con.execute("SELECT current_setting('priority')").fetchone() == ("high",)
    with pytest.raises(inlay.Error, match="choose 'low', 'normal' or 'high'"):
        con.set_priority("none")
