"""Functions in worker processes: the same answers, and what happens when one dies, hangs or grows."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Iterator
from multiprocessing import spawn
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need memfd")

MODULE = """
    import os

    import numpy as np

    def pid(x):
        return os.getpid()

    def tripled(x):
        return x * 3

    class Named(Exception):
        def __init__(self, one, two):
            super().__init__(one)

    def raises(x):
        raise Named("strange", 2)

    def one_more(x: int) -> int:
        return x + 1
"""


def one(con: inlay.Connection, query: str) -> Any:
    row = con.execute(query).fetchone()
    assert row is not None
    return row[0]


def column(con: inlay.Connection, query: str) -> list[Any]:
    return [row[0] for row in con.execute(query).fetchall()]


def create(
    con: inlay.Connection, name: str, body: str, argument: str = "BIGINT", returns: str = "BIGINT", more: str = ""
) -> None:
    options = "parallel = 'processes'" + (", " + more if more else "")
    con.execute(
        f"CREATE FUNCTION {name}(x {argument}) RETURNS {returns} LANGUAGE PYTHON_MAP WITH ({options}) "
        f"AS $$\n{textwrap.dedent(body)}\n$$"
    )


@pytest.fixture
def allowed() -> Iterator[inlay.Connection]:
    with inlay.connect(config={"allow_python": True, "threads": 2}) as con:
        con.execute("CREATE TABLE t AS SELECT i FROM range(200000) t(i)")
        create(con, "pid", "import os\nreturn os.getpid()")
        yield con


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of functions that can be imported, here and in workers."""
    (tmp_path / "functions_of_test.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(str(tmp_path))
    import functions_of_test  # type: ignore[import-not-found]

    yield functions_of_test
    del sys.modules["functions_of_test"]


def is_alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except OSError:
        return False


def wait_until_gone(pids: list[int], seconds: float) -> list[int]:
    end = time.monotonic() + seconds
    while (alive := [pid for pid in pids if is_alive(pid)]) and time.monotonic() < end:
        time.sleep(0.02)
    return alive


# Answers.


def test_calls_run_in_other_processes_at_the_same_time(allowed: inlay.Connection) -> None:
    create(allowed, "slow", "import os, time\ntime.sleep(0.02)\nreturn os.getpid()")
    pids = column(allowed, "SELECT DISTINCT slow(i) FROM t")
    assert os.getpid() not in pids
    assert len(pids) == 2
    # The same ones serve the next query, and other functions.
    assert set(column(allowed, "SELECT DISTINCT pid(i) FROM t")) <= set(pids)
    body = "return x * 2 + np.int64(1)"
    create(allowed, "computed", body)
    assert one(allowed, "SELECT sum(computed(i)) FROM t") == sum(i * 2 + 1 for i in range(200_000))
    assert one(allowed, "SELECT computed(20)") == 41
    assert one(allowed, "SELECT list_transform([1, 2], x -> computed(x))") == [3, 5]


VALUES: list[tuple[str, str]] = [
    ("BOOLEAN", "i % 3 = 0"),
    ("TINYINT", "i % 9 - 5"),
    ("UBIGINT", "18446744073709551615 - i"),
    ("HUGEINT", "170141183460469231731687303715884105727 - i"),
    ("REAL", "i / 2"),
    ("DOUBLE", "i / 3"),
    ("DECIMAL(9,2)", "i + 0.25"),
    ("DECIMAL(30,2)", "i + 0.25"),
    ("VARCHAR", "'text ' || i"),
    ("VARCHAR", "repeat('a text that is longer than a view ', (i % 7)::INTEGER) || i"),
    ("VARCHAR", "'one of a few texts, ' || (i % 3)"),
    ("BLOB", "('bytes beyond the view ' || i)::BLOB"),
    ("DATE", "DATE '2024-02-29' + i::INTEGER"),
    ("TIMESTAMP", "TIMESTAMP '2024-02-29 12:00:00.000001' + to_seconds(i)"),
    ("INTERVAL", "to_days(i::INTEGER)"),
    ("UUID", "'00000000-0000-0000-0000-000000000007'"),
    ("ENUM('a', 'b')", "CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END"),
    ("INTEGER[]", "[i, 2]"),
    ("STRUCT(a INTEGER, b VARCHAR)", "{'a': i, 'b': 'a text that is longer than a view'}"),
    ("MAP(VARCHAR, INTEGER)", "MAP {'k': i}"),
]


@pytest.mark.parametrize("style", ["numpy", "rows", "arrow", "pandas", "polars"])
def test_every_type_goes_there_and_comes_back(allowed: inlay.Connection, style: str) -> None:
    if style in ("arrow", "pandas", "polars"):
        pytest.importorskip("pyarrow")
        if style != "arrow":
            pytest.importorskip(style)
    for number, (ty, value) in enumerate(VALUES):
        if style in ("arrow", "pandas", "polars") and ty.partition("(")[0] in ("HUGEINT", "UUID", "INTERVAL", "MAP"):
            continue
        create(allowed, f"same{number}", "return x", ty, ty, f"arguments = '{style}'")
        allowed.execute(f"CREATE OR REPLACE TABLE v AS SELECT i, ({value})::{ty} AS x FROM range(3000) t(i)")
        for condition in ("true", "i % 5 <> 2", "i < 0"):
            rows = allowed.execute(f"SELECT same{number}(x), x FROM v WHERE {condition} ORDER BY i").fetchall()
            assert [found for found, _ in rows] == [given for _, given in rows], (ty, condition)
        nulls = f"SELECT same{number}(CASE WHEN i % 4 > 0 THEN x END), CASE WHEN i % 4 > 0 THEN x END FROM v ORDER BY i"
        assert all(found == given for found, given in allowed.execute(nulls).fetchall()), ty
        assert one(allowed, f"SELECT same{number}(NULL)") is None
        assert one(allowed, f"SELECT same{number}(x) = x FROM (SELECT x FROM v WHERE i = 1)") is True


def test_strict_blocking_guarded_and_wrong(allowed: inlay.Connection) -> None:
    allowed.execute("""CREATE FUNCTION share(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON STRICT
        WITH (parallel = 'processes') { return x / x.sum() }""")
    assert one(allowed, "SELECT sum(share(nullif(i, 7))) FROM t") == pytest.approx(1)
    create(allowed, "seen", "assert (x > 10).all()\nreturn x")
    assert one(allowed, "SELECT count(CASE WHEN i > 10 THEN seen(i) END) FROM t") == 199_989
    create(allowed, "short", "return x[1:]")
    with pytest.raises(inlay.FunctionException, match=r'"short" gave .* values for .* rows'):
        allowed.execute("SELECT short(i) FROM t").fetchall()
    create(allowed, "wide", "return x + 300", returns="TINYINT")
    with pytest.raises(inlay.FunctionException, match=r"gave 300 for wide\(0\), row 1 of .* that is no TINYINT"):
        allowed.execute("SELECT wide(i) FROM t WHERE i < 2").fetchall()
    with pytest.raises(inlay.Error, match="parallel = 'forks': expected 'threads', 'processes' or 'auto'"):
        allowed.execute(
            "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP WITH (parallel='forks') { return x }"
        )


def test_what_a_function_keeps_does_not_change(allowed: inlay.Connection) -> None:
    create(
        allowed,
        "keep",
        """
        import sys
        kept = sys.modules.setdefault('kept of this test', [])
        if not all((array == copy).all() for array, copy in kept):
            raise AssertionError('an array changed')
        kept.append((x, x.copy()))
        return x
        """,
    )
    for _ in range(3):
        assert one(allowed, "SELECT sum(keep(i)) FROM t") == 199_999 * 100_000


def test_large_columns_and_texts(allowed: inlay.Connection) -> None:
    create(allowed, "long_text", "return np.array([each * 3 for each in x], dtype=object)", "VARCHAR", "VARCHAR")
    query = "SELECT sum(length(long_text(repeat('abcdefghij', 500 + (i * 0)::INTEGER)))) FROM range(3000) t(i)"
    assert one(allowed, query) == 3000 * 15_000
    allowed.execute("""CREATE FUNCTION whole(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON
        WITH (parallel = 'processes') { return x[::-1] }""")
    assert one(allowed, "SELECT sum(whole(i)) FROM range(3000000) t(i)") == 2_999_999 * 1_500_000
    allowed.execute("SET memory_limit = '20MB'")
    with pytest.raises(inlay.Error, match="out of memory"):
        allowed.execute("SELECT sum(whole(i)) FROM range(3000000) t(i)")


def test_stored_functions_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "functions.inlay"
    with inlay.connect(path, config={"allow_python": True}) as con:
        create(con, "pid", "import os\nreturn os.getpid()")
        first = one(con, "SELECT pid(1)")
        with inlay.connect(path) as other:
            assert one(other, "SELECT pid(1)") == first
        assert is_alive(first)
    assert not wait_until_gone([first], 5)
    with inlay.connect(path, config={"allow_python": True}) as con:
        assert one(con, "SELECT pid(1)") not in (first, os.getpid())


# Callables.


def test_functions_of_modules_are_sent_by_name(con: inlay.Connection, functions: Any) -> None:
    con.create_function("pid", functions.pid, ["BIGINT"], "BIGINT", type="numpy", parallel="processes")
    con.create_function("tripled", functions.tripled, ["BIGINT"], "BIGINT", type="numpy", parallel="processes")
    con.create_function("one_more", functions.one_more, parallel="processes")
    assert one(con, "SELECT pid(1)") != os.getpid()
    assert column(con, "SELECT one_more(tripled(i)) FROM range(3) t(i)") == [1, 4, 7]
    assert one(con, "SELECT one_more(NULL)") is None


def test_callables_that_cannot_be_sent(con: inlay.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Lock()

    def local(x: Any) -> Any:
        with held:
            return x

    with pytest.raises(inlay.InvalidInputException, match='"local" cannot be sent to a worker process'):
        con.create_function("local", local, ["BIGINT"], "BIGINT", type="numpy", parallel="processes")
    with pytest.raises(inlay.CatalogException, match="does not exist"):
        con.execute("SELECT local(1)")
    con.create_function("local", local, ["BIGINT"], "BIGINT", type="numpy", parallel="auto")
    assert one(con, "SELECT local(1)") == 1
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(inlay.InvalidInputException, match="without the package cloudpickle it has to be a function"):
        con.create_function("doubled", lambda x: x * 2, ["BIGINT"], "BIGINT", type="numpy", parallel="processes")


def test_cloudpickle_sends_anything(con: inlay.Connection) -> None:
    pytest.importorskip("cloudpickle")
    factor = 7

    def scaled(x: Any) -> Any:
        return x * factor + 0 * os.getpid()

    con.create_function("scaled", scaled, ["BIGINT"], "BIGINT", type="numpy", parallel="processes")
    con.create_function("there", lambda x: os.getpid(), ["BIGINT"], "BIGINT", type="numpy", parallel="processes")
    assert column(con, "SELECT scaled(i) FROM range(3) t(i)") == [0, 7, 14]
    assert one(con, "SELECT there(1)") != os.getpid()


def test_functions_that_hold_the_lock_go_to_workers(allowed: inlay.Connection) -> None:
    allowed.execute("CREATE TABLE many AS SELECT i FROM range(1000000) t(i)")
    body = "import os\n    seen = {(each * 7) % 13 for each in x.tolist()}\n    return os.getpid() + 0 * len(seen)"
    for name, volatility in (("held", ""), ("moody", "VOLATILE")):
        allowed.execute(
            f"CREATE FUNCTION {name}(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP {volatility} "
            f"WITH (parallel = 'auto') {{\n    {body}\n}}"
        )
    # It starts here, and moves when it is known what it costs.
    places: set[int] = set()
    for _ in range(40):
        places.update(column(allowed, "SELECT DISTINCT held(i) FROM many"))
        if len(places) > 1:
            break
    assert os.getpid() in places
    assert len(places) > 1
    # What is volatile stays, as its author did not say that it may change things elsewhere.
    for _ in range(3):
        assert column(allowed, "SELECT DISTINCT moody(i) FROM many") == [os.getpid()]


# Errors.


def test_errors_keep_traceback_and_line(allowed: inlay.Connection, functions: Any) -> None:
    create(allowed, "broken_there", "y = 0\nreturn 1 // y")
    message = r"ZeroDivisionError.*\(line 3 of <function broken_there>: return 1 // y\)"
    with pytest.raises(inlay.FunctionException, match=message) as raised:
        allowed.execute("SELECT broken_there(1)")
    cause = raised.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert "return 1 // y" in "".join(traceback.format_exception(cause))
    # One that pickle does not make again is told all the same.
    allowed.create_function("raises", functions.raises, ["BIGINT"], "BIGINT", type="numpy", parallel="processes")
    with pytest.raises(inlay.FunctionException, match=r'"raises" raised .*Named: strange \(line \d+') as raised:
        allowed.execute("SELECT raises(1)")
    assert "Named" in str(raised.value.__cause__)
    create(allowed, "missing", "import no_such_module_at_all\nreturn x")
    with pytest.raises(inlay.FunctionException, match="No module named 'no_such_module_at_all'"):
        allowed.execute("SELECT missing(1)")
    create(allowed, "leaves", "import sys\nsys.exit(4)\nreturn x")
    with pytest.raises(SystemExit, match="4"):
        allowed.execute("SELECT leaves(1)")
    assert one(allowed, "SELECT pid(1)") != os.getpid()


def test_a_worker_that_dies_fails_its_query_alone(allowed: inlay.Connection) -> None:
    create(allowed, "dies", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nreturn x")
    create(allowed, "ends", "import os\nos._exit(3)\nreturn x")
    for _ in range(2):
        with pytest.raises(inlay.FunctionException, match='"dies": the worker process that called it was killed'):
            allowed.execute("SELECT sum(dies(i)) FROM t")
        assert one(allowed, "SELECT count(pid(i)) FROM t") == 200_000
    with pytest.raises(inlay.FunctionException, match='"ends": the worker process that called it ended with code 3'):
        allowed.execute("SELECT sum(ends(i)) FROM t")
    # One that nobody waits for is replaced without a word.
    pids = column(allowed, "SELECT DISTINCT pid(i) FROM t")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert not wait_until_gone(pids, 5)
    # Sockets are closed a moment later.
    time.sleep(0.2)
    assert not set(pids) & set(column(allowed, "SELECT DISTINCT pid(i) FROM t"))


def test_a_worker_that_is_killed_while_it_works(allowed: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    create(
        allowed, "waits", f"import os, time\nopen({str(path)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\nreturn x"
    )

    def kill() -> None:
        while not (path.exists() and path.read_text()):
            time.sleep(0.01)
        os.kill(int(path.read_text()), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(inlay.FunctionException, match=r'"waits": the worker process .* was killed \(signal 9\)'):
        allowed.execute("SELECT waits(1)")
    thread.join()
    assert one(allowed, "SELECT pid(1)") != os.getpid()


# Ends.


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n    pass",
        "import time\ntime.sleep(60)",
        "while True:\n    try:\n        pass\n    except BaseException:\n        pass",
    ],
)
def test_calls_end_soon(allowed: inlay.Connection, tmp_path: Path, body: str) -> None:
    path = tmp_path / "started"
    create(allowed, "endless", f"open({str(path)!r}, 'w').close()\n{body}\nreturn x")
    assert one(allowed, "SELECT pid(1)") != os.getpid()
    stopped: list[float] = []

    def stop() -> None:
        while not path.exists():
            time.sleep(0.01)
        time.sleep(0.1)
        stopped.append(time.monotonic())
        allowed.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(inlay.InterruptException):
        allowed.execute("SELECT sum(endless(i)) FROM t")
    ended = time.monotonic()
    thread.join()
    # Less than 100 ms where nothing else runs.
    assert ended - stopped[0] < 0.5
    allowed.execute("SET statement_timeout = 200")
    with pytest.raises(inlay.InterruptException, match="statement_timeout"):
        allowed.execute("SELECT sum(endless(i)) FROM t")
    allowed.execute("RESET statement_timeout")
    assert one(allowed, "SELECT count(pid(i)) FROM t") == 200_000


def test_a_call_that_is_interrupted_cleans_up(allowed: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "cleaned"
    create(
        allowed,
        "tidy",
        f"""
        import time
        try:
            while x != 5:
                time.sleep(0.001)
        finally:
            open({str(path)!r}, 'w').close()
        return x
        """,
    )
    allowed.execute("SET threads = 1")
    before = one(allowed, "SELECT pid(1)")
    allowed.execute("SET statement_timeout = 300")
    with pytest.raises(inlay.InterruptException):
        allowed.execute("SELECT tidy(1)")
    allowed.execute("RESET statement_timeout")
    assert path.exists()
    assert one(allowed, "SELECT pid(1)") == before


HOST = """\
import inlay, os, sys, time
con = inlay.connect(config={"allow_python": True, "threads": 2})
con.execute('''CREATE FUNCTION pid(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP WITH (parallel = 'processes') AS $$
import os, sys
with open(%r, 'a') as file:
    file.write(str(os.getpid()) + chr(10))
while True:
    pass
return x
$$''')
con.execute("SELECT sum(pid(i)) FROM range(1000000) t(i)")
"""


def test_workers_end_when_their_host_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "pids"
    host = subprocess.Popen([sys.executable, "-c", HOST % str(path)], start_new_session=True)
    end = time.monotonic() + 60
    while time.monotonic() < end and not (path.exists() and len(path.read_text().split()) == 2):
        assert host.poll() is None
        time.sleep(0.02)
    pids = [int(pid) for pid in path.read_text().split()]
    assert len(pids) == 2
    assert all(map(is_alive, pids))
    os.kill(host.pid, signal.SIGKILL)
    host.wait()
    assert not wait_until_gone(pids, 5)


def test_memory_of_workers_is_limited(allowed: inlay.Connection) -> None:
    create(allowed, "grows", "return np.ones(300_000_000).sum() * 0 + x")
    before = one(allowed, "SELECT pid(1)")
    allowed.execute("SET python_worker_memory = '1GB'")
    assert one(allowed, "SELECT current_setting('python_worker_memory')") == "953.7 MiB"
    assert one(allowed, "SELECT pid(1)") != before
    with pytest.raises(inlay.FunctionException, match=r"MemoryError.*python_worker_memory is 1000000000 bytes"):
        allowed.execute("SELECT grows(1)")
    assert one(allowed, "SELECT count(pid(i)) FROM t") == 200_000
    allowed.execute("RESET python_worker_memory")
    assert one(allowed, "SELECT current_setting('python_worker_memory')") == "0"
    with pytest.raises(inlay.Error, match="python_worker_memory"):
        allowed.execute("SET python_worker_memory = 'much'")
    allowed.execute("SET python_worker_memory = '20MB'")
    with pytest.raises(inlay.FunctionException, match=r"could be started: .* python_worker_memory is 20000000 bytes"):
        allowed.execute("SELECT pid(1)")


def test_a_program_that_is_no_plain_interpreter(allowed: inlay.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    known = spawn.get_executable()
    try:
        multiprocessing.set_executable("/usr/bin/some_program")
        monkeypatch.setattr(sys, "executable", "/usr/bin/some_program")
        with pytest.raises(inlay.Error, match="is no plain interpreter; multiprocessing"):
            allowed.execute("SELECT pid(1)")
        multiprocessing.set_executable("/no/such/interpreter")
        with pytest.raises(inlay.Error, match="no worker process could be started: /no/such/interpreter"):
            allowed.execute("SELECT pid(1)")
        multiprocessing.set_executable("/bin/false")
        with pytest.raises(inlay.Error, match="no worker process could be started: it ended with code 1"):
            allowed.execute("SELECT pid(1)")
    finally:
        multiprocessing.set_executable(known)
    assert one(allowed, "SELECT pid(1)") != os.getpid()


def test_queries_at_the_same_time_share_the_workers(allowed: inlay.Connection) -> None:
    create(allowed, "added", "return x + 1")
    found: list[Any] = []

    def ask() -> None:
        with allowed.cursor() as own:
            found.extend(one(own, "SELECT sum(added(i)) FROM t") for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200_000 * 200_001 // 2] * 20
    assert np.array(column(allowed, "SELECT DISTINCT pid(i) FROM t")).size <= 2


# Aggregates.


AGGREGATES = {
    "numbered": """
import os
assert os.getpid() != {host}
return np.bincount(aggr_group, weights=np.ma.filled(x, 0)).astype('i8')
""",
    "group": "import os\nassert os.getpid() != {host}\nreturn None if np.ma.is_masked(x.sum()) else x.sum()",
    "class": """
class summed:
    def __init__(self):
        self.value = 0
    def update(self, x):
        import os
        assert os.getpid() != {host}
        self.value += int(x.sum())
    def merge(self, other):
        raise NotImplementedError
    def finish(self):
        return self.value
""",
}


@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize("groups", [1, 3, 5000])
def test_aggregates(allowed: inlay.Connection, name: str, groups: int) -> None:
    allowed.execute(
        "CREATE AGGREGATE summed(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON WITH (parallel = 'processes') "
        f"AS $${AGGREGATES[name].format(host=os.getpid())}$$"
    )
    rows = f"(SELECT i % {groups} AS k, CASE WHEN i % 3 <> 1 OR i < 5000 THEN i END AS x FROM t)"
    wrong = f"SELECT k FROM {rows} GROUP BY k HAVING summed(x) IS DISTINCT FROM sum(x)"
    assert allowed.execute(wrong).fetchall() == []
    assert one(allowed, f"SELECT summed(x) FROM {rows} WHERE k < 0") is None
    assert one(allowed, f"SELECT sum(s) FROM (SELECT summed(x) AS s FROM {rows} GROUP BY k)") == one(
        allowed, f"SELECT sum(x) FROM {rows}"
    )


def test_aggregates_divide_groups_among_workers_and_fail_as_here(allowed: inlay.Connection, functions: Any) -> None:
    allowed.execute(
        "CREATE AGGREGATE who(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON WITH (parallel = 'processes') "
        "{ import os, time\n time.sleep(0.05)\n return os.getpid() }"
    )
    assert len(set(column(allowed, "SELECT who(i) FROM t GROUP BY i % 8"))) == 2
    allowed.create_aggregate("raising", functions.raises, ["BIGINT"], "BIGINT", parallel="processes")
    with pytest.raises(inlay.FunctionException, match=r'"raising" raised .*Named: strange'):
        allowed.execute("SELECT raising(i) FROM t GROUP BY i % 8")
    allowed.create_aggregate("texts", functions.pid, ["BIGINT"], "TINYINT", parallel="processes")
    with pytest.raises(inlay.FunctionException, match=r'"texts" gave .*TINYINT'):
        allowed.execute("SELECT texts(i) FROM t GROUP BY i % 8")
    allowed.execute(
        "CREATE AGGREGATE endless(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON WITH (parallel = 'processes') "
        "{ while True: pass\n return 1 }"
    )
    allowed.execute("SET statement_timeout = 500")
    with pytest.raises(inlay.InterruptException):
        allowed.execute("SELECT endless(i) FROM t GROUP BY i % 8")
    allowed.execute("RESET statement_timeout")
    with pytest.raises(inlay.Error, match="parallel = 'auto'; that is for scalar functions"):
        allowed.create_aggregate("measured", functions.pid, ["BIGINT"], "BIGINT", parallel="auto")
