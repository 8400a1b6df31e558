"""Rows that are computed while they are fetched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import inlay

# About 80 MB.
LARGE = "SELECT i + 1 AS i, i % 7 AS k FROM range(5000000) r(i)"


def test_all_ways_give_all_rows(con: inlay.Connection) -> None:
    expected = 5_000_000 * 5_000_001 // 2
    answer = con.execute(LARGE)
    assert answer.rowcount == -1
    assert answer.fetchone() == (1, 0)
    assert answer.fetchmany(2) == [(2, 1), (3, 2)]
    assert answer.df()["i"].sum() == expected - 6
    assert con.execute(LARGE).fetchnumpy()["i"].sum() == expected
    assert con.execute(LARGE).arrow()["i"].to_numpy().sum() == expected
    assert len(con.execute(LARGE).fetchall()) == 5_000_000
    batches = con.execute(LARGE).fetch_record_batch(50_000)
    assert sum(batch["i"].to_numpy().sum() for batch in batches) == expected
    reader = pa.RecordBatchReader.from_stream(con.execute(LARGE))
    assert sum(len(batch) for batch in reader) == 5_000_000
    assert sum(1 for _ in con.sql(LARGE)) == 5_000_000


def test_small_answers_are_complete(con: inlay.Connection) -> None:
    assert con.execute("SELECT i + 1 FROM range(100000) r(i)").rowcount == 100_000


def test_an_answer_is_read_between_other_statements(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT i, 'some text ' || i AS s FROM range(4000000) r(i)")
    answer = con.execute("SELECT i, s FROM t WHERE i >= 0")
    con.execute("DELETE FROM t")
    other = con.execute("SELECT i FROM range(3) r(i)")
    relation = con.sql("SELECT i, s FROM t")
    assert relation.fetchall() == []
    rows = 0
    while part := answer.fetchmany(100_000):
        assert part[0] == (rows, f"some text {rows}")
        rows += len(part)
    assert rows == 4_000_000
    assert other.fetchall() == [(0,), (1,), (2,)]


def test_errors_behind_the_first_rows_come_when_they_are_fetched(con: inlay.Connection) -> None:
    answer = con.execute("SELECT i, 1 // (i - 4999999) AS q FROM range(5000000) r(i)")
    assert answer.fetchone() == (0, 0)
    with pytest.raises(inlay.DataError, match="division by zero"):
        answer.fetchall()
    reader = con.execute("SELECT i, 1 // (i - 4999999) AS q FROM range(5000000) r(i)").fetch_record_batch()
    with pytest.raises((pa.ArrowInvalid, OSError), match="division by zero"):
        sum(len(batch) for batch in reader)


def test_after_close_the_rest_is_gone(con: inlay.Connection) -> None:
    reader = con.execute(LARGE).fetch_record_batch()
    reader.read_next_batch()
    con.close()
    with pytest.raises(Exception, match="closed before all rows"):
        for _ in reader:
            pass


PROGRAM = """
import inlay

def peak_mib():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1024

con = inlay.connect(config={"threads": 2})
query = "SELECT i AS a, i + 1 AS b, i + 2 AS c, i + 3 AS d FROM range(40000000) r(i)"
before = peak_mib()
rows = 0
for batch in con.execute(query).fetch_record_batch():
    rows += len(batch)
answer = con.sql(query)
while part := answer.fetchmany(1000):
    if part[0][0] > 5000000:
        break
print(rows, peak_mib() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_reading_batch_by_batch_takes_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    rows, grown = map(int, done.stdout.split())
    assert rows == 40_000_000
    # All of it is 1,220 MiB.
    assert grown < 350
