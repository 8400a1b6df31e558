"""Files that may not grow: what writes fails with a reason, nothing is lost, and all goes on afterwards."""

import subprocess
import sys

import pytest

pytest.importorskip("resource")

# A process of its own, whose limit holds for nobody else. The signal that the limit raises would end it, as it would
# other programs; Python ignores it.
PROGRAM = """
import os, resource, signal, sys
import inlay

folder, kind = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
path = lambda name: os.path.join(folder, name)
c = inlay.connect(path("x.db"), config={"checkpoint_threshold": "1GB", "temp_directory": folder})
c.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR)")
c.execute("INSERT INTO t SELECT i, 'row ' || i FROM range(100) r(i)")
c.execute("CREATE TABLE big AS SELECT i, repeat('z', 20) || hash(i) AS s FROM range(400000) r(i)")
c.execute("CHECKPOINT")
c.execute("UPDATE t SET s = 'changed' WHERE id = 7")
size = max(os.path.getsize(path(name)) for name in os.listdir(folder))
log = os.path.getsize(path("x.db.wal"))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

def limit(bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, hard))

def run(sql):
    return lambda: c.execute(sql.replace("$", folder + os.sep))

# What to do, and how large its files may be.
actions = {
    "insert": (log + 4096, run("INSERT INTO t SELECT i, hash(i) || repeat('y', 90) FROM range(1000, 9000) r(i)")),
    "bulk": (size + 4096, run("INSERT INTO big SELECT i, hash(i) || repeat('y', 30) FROM range(400000) r(i)")),
    "update": (size + 4096, run("UPDATE big SET s = s || hash(i)")),
    "create": (size + 4096, run("CREATE TABLE other AS SELECT i, hash(i) AS s FROM range(900000) r(i)")),
    "index": (size + 4096, run("CREATE INDEX IF NOT EXISTS big_s ON big (s); CHECKPOINT")),
    "backup": (100_000, lambda: c.backup(path("copy.db"))),
    "csv": (100_000, run("COPY big TO '$x.csv'")),
    "gzip": (100_000, run("COPY big TO '$x.csv.gz'")),
    "parquet": (100_000, run("COPY big TO '$x.parquet'")),
    "json": (100_000, run("COPY big TO '$x.json'")),
    "arrow": (100_000, run("COPY big TO '$x.arrow'")),
    "export": (100_000, run("EXPORT DATABASE '$exported'")),
    "attach": (1000, run("ATTACH '$new.db' AS new")),
    "copy database": (100_000, run("ATTACH IF NOT EXISTS '$to.db' AS too; COPY FROM DATABASE x TO too")),
}

def state():
    query = "SELECT count(*), sum(hash(id, s)) FROM t"
    return c.execute(query).fetchall(), c.execute("SELECT count(*), sum(i), max(s) FROM big").fetchall()

before = state()
bytes, act = actions[kind]
limit(bytes)
try:
    act()
    outcome = "no error"
except inlay.Error as error:
    outcome = f"{error.sqlstate} {error}"
assert state() == before, "reading goes on"
limit(hard)
assert outcome.startswith("53100") and folder in outcome and "again" in outcome, outcome
c.execute("INSERT INTO t VALUES (-1, 'more')")
c.execute("DELETE FROM t WHERE id = -1")
act()
assert c.execute("PRAGMA verify").fetchall() == [("ok",)], c.execute("PRAGMA verify").fetchall()
after = state()
c.close()
c = inlay.connect(path("x.db"))
assert state() == after
assert not [name for name in os.listdir(folder) if name.endswith((".part", ".new"))], os.listdir(folder)
print("went on")
"""

KINDS = [
    "insert",
    "bulk",
    "update",
    "create",
    "index",
    "backup",
    "csv",
    "gzip",
    "parquet",
    "json",
    "arrow",
    "export",
    "attach",
    "copy database",
]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
@pytest.mark.parametrize("kind", KINDS)
def test_a_statement_that_has_no_room_fails_and_everything_goes_on(tmp_path, kind):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), kind], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and "went on" in done.stdout, f"{done.returncode} {done.stdout} {done.stderr}"
