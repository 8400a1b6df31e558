"""Memory of the process, which the host shares with the engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RESIDENT = """
import inlay, time

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
connection = inlay.connect(config={"threads": 2})
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
def test_an_idle_database_gives_back_what_its_queries_took() -> None:
    done = subprocess.run([sys.executable, "-c", RESIDENT + IDLE], capture_output=True, text=True, check=True)
    loaded, worked, after = map(int, done.stdout.split())
    assert worked - loaded > 60
    assert after - loaded <= 40
