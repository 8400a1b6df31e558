"""Memory of the process, which the host shares with the engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import inlay

def resident_mib():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024

before = resident_mib()
connection = inlay.connect()
connection.execute("CREATE TABLE t AS SELECT range AS i, random() AS x, 'text ' || range AS s FROM range(4000000)")
loaded = resident_mib()
connection.execute("SELECT s, max(x) FROM t GROUP BY s ORDER BY 2 LIMIT 1").fetchall()
connection.close()
print(before, loaded, resident_mib())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_a_closed_database_gives_its_memory_back() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, loaded, after = map(int, done.stdout.split())
    assert loaded - before > 100
    assert after - before < 60
