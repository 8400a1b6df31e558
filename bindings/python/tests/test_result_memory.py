"""Computed results take hardly more memory than their arrays, while they are made and afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, sys, time
import inlay, numpy, pandas, polars, pyarrow

kind, query = sys.argv[1:]

def mib(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(key))

def result():
    answer = con.sql(query) if kind == "relation" else con.execute(query)
    return getattr(answer, "fetchnumpy" if kind == "relation" else kind)()

con = inlay.connect()
con.execute("SET threads = 2")
getattr(con.execute("SELECT 1 AS a, 0.5 AS b"), kind if kind != "relation" else "df")()
before = mib("VmRSS")
for _ in range(2):
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")
    rows = result()
    print(mib("VmHWM") - before)
    del rows
    gc.collect()
# The engine gives back what it keeps for the next query when it has been idle for a second.
deadline = time.monotonic() + 20
while mib("VmRSS") - before > 30 and time.monotonic() < deadline:
    time.sleep(0.1)
print(mib("VmRSS") - before)
"""

#: 5 million rows of 32 bytes each.
SIZE_MIB = 5_000_000 * 32 / 2**20
COLUMNS = "i AS a, i * 2 AS b, i * 3 + 1 AS c, i / 2 AS d"
ROWS = f"SELECT {COLUMNS} FROM range(5000000) t(i)"
#: What cannot be computed later lies in memory as a whole, and is given back while it is written.
AT_ONCE = f"SELECT {COLUMNS} FROM range(5000000) t(i) WHERE random() < 2"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("query", [ROWS, AT_ONCE], ids=["streamed", "at once"])
@pytest.mark.parametrize("kind", ["fetchnumpy", "df", "arrow", "pl", "relation"])
def test_a_result_takes_hardly_more_than_its_arrays(kind: str, query: str) -> None:
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("reads the peak from /proc")
    for package in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(package)
    command = [sys.executable, "-c", PROGRAM, kind, query]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    cold, warm, after = map(float, done.stdout.split())
    # 1.1 for large ones; buffers under way and the engine's own memory are a larger part of these.
    most = 1.3 if query is ROWS else 1.6
    assert max(cold, warm) < most * SIZE_MIB, f"{cold:.0f} and {warm:.0f} MiB for {SIZE_MIB:.0f}"
    assert after < 0.3 * SIZE_MIB, f"{after:.0f} MiB stay"
