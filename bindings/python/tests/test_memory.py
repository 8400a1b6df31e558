"""Memory of the process, which the host shares with the engine."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import inlay

RESIDENT = """
import inlay, sys, time

def resident_mib():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024

before = resident_mib()
"""
CLOSED = """
connection = inlay.connect()
connection.execute("CREATE TABLE t AS SELECT range AS i, random() AS x, 'text ' || range AS s FROM range(4000000)")
loaded = resident_mib()
connection.execute("SELECT s, max(x) FROM t GROUP BY s ORDER BY 2 LIMIT 1").fetchall()
connection.close()
print(before, loaded, resident_mib())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_a_closed_database_gives_its_memory_back() -> None:
    done = subprocess.run([sys.executable, "-c", RESIDENT + CLOSED], capture_output=True, text=True, check=True)
    before, loaded, after = map(int, done.stdout.split())
    assert loaded - before > 100
    assert after - before < 60


IDLE = """
connection = inlay.connect(config={"threads": int(sys.argv[1])})
connection.execute("CREATE TABLE t AS SELECT range AS i, hash(range) AS h FROM range(3000000)")
loaded = resident_mib()
for _ in range(2):
    connection.execute("SELECT count(*) FROM t AS a JOIN t AS b USING (h)").fetchall()
worked = resident_mib()
deadline = time.monotonic() + 30
while resident_mib() > loaded + 40 and time.monotonic() < deadline:
    time.sleep(0.1)
print(loaded, worked, resident_mib())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_idle_database_gives_back_what_its_queries_took(threads: int) -> None:
    command = [sys.executable, "-c", RESIDENT + IDLE, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded, worked, after = map(int, done.stdout.split())
    assert worked - loaded > 60
    assert after - loaded <= 40


# The goal is 64; what is beyond differs by some MiB from run to run.
BEYOND_MAX_MIB = 75
LIMITED = """
connection = inlay.connect(sys.argv[1], config={"threads": 2, "memory_limit": "150MB"})
open("/proc/self/clear_refs", "w").write("5")
connection.execute(sys.argv[2])
for line in open("/proc/self/status"):
    if line.startswith("VmHWM"):
        print(int(line.split()[1]) / 1024 - before)
"""


@pytest.fixture(scope="module")
def four_million_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "t.inlay"
    with inlay.connect(path) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i, hash(i) % 4000000 AS g, 'a text of some length ' || hash(i) % 100000 AS s, "
            "random() AS x FROM range(4000000) r(i)"
        )
    return path


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE a AS SELECT g, s, count(*) AS n, sum(x) AS x, min(i) AS i FROM t GROUP BY g, s",
        "CREATE TABLE a AS SELECT i % 1000 AS k, median(x) AS m FROM t GROUP BY k",
        "CREATE TABLE a AS SELECT t.*, u.s AS s2, u.x AS x2 FROM t JOIN t AS u ON t.i = u.g",
        "CREATE TABLE a AS SELECT * FROM t ORDER BY x",
        "CREATE TABLE a (i BIGINT PRIMARY KEY, g UBIGINT); INSERT INTO a SELECT i * 7919 % 4000000, g FROM t",
        "UPDATE t SET x = x + 1, s = s || '!'",
        "ALTER TABLE t ALTER COLUMN s TYPE VARCHAR USING s || '!'",
        "ALTER TABLE t ADD PRIMARY KEY (i)",
    ],
)
def test_memory_stays_near_the_limit(tmp_path: Path, four_million_rows: Path, sql: str) -> None:
    path = shutil.copy(four_million_rows, tmp_path)
    command = [sys.executable, "-c", RESIDENT + LIMITED, str(path), sql]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 150e6 / 2**20 + BEYOND_MAX_MIB


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads /proc")
def test_a_few_rows_keep_no_texts_of_others(tmp_path: Path) -> None:
    path = tmp_path / "texts.inlay"
    with inlay.connect(path) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i, sha256(i::VARCHAR) AS s, random() AS x FROM range(3000000) r(i)"
        )
    sql = "CREATE TABLE a AS SELECT s, x FROM t ORDER BY x LIMIT 200"
    command = [sys.executable, "-c", RESIDENT + LIMITED, str(path), sql]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 150e6 / 2**20 + BEYOND_MAX_MIB


SPILLING = """
import inlay, os, sys, threading, time

connection = inlay.connect(sys.argv[1])
connection.execute("CREATE TABLE t AS SELECT i, hash(i) AS h FROM range(1000000) r(i)")
connection.execute("CHECKPOINT")
connection.execute("SET memory_limit = '16MB'")
connection.execute(f"SET temp_directory = '{sys.argv[2]}'")

def opened():
    for number in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            pass

def tell():
    # The file has no name any more, but the process has it open.
    while not any(path.startswith(sys.argv[2]) for path in opened()):
        time.sleep(0.001)
    print("spilling", flush=True)

threading.Thread(target=tell, daemon=True).start()
while True:
    connection.execute("SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY h) AS n FROM t) WHERE n < 5")
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")
def test_a_process_killed_while_rows_lie_in_temporary_files_leaves_none(tmp_path: Path) -> None:
    path, temporary = tmp_path / "t.inlay", tmp_path / "temporary"
    command = [sys.executable, "-c", SPILLING, str(path), str(temporary)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "spilling\n"
        process.kill()
    assert temporary.exists()
    assert list(temporary.iterdir()) == []
    with inlay.connect(str(path)) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1_000_000,)
