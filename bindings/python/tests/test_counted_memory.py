"""Memory that a text or a query can make large is asked of the budget, in a process of its own each."""

import subprocess
import sys
import textwrap

import pytest


def run(program: str) -> tuple[str, int]:
    """What a program printed, and the megabytes that it took at most."""
    head = "import inlay\ncon = inlay.connect(config={'memory_limit': '200MB', 'threads': 2})\n"
    # Of this program alone: the system's own figure counts what the process that started it had.
    tail = "\nprint(next(int(line.split()[1]) // 1024 for line in open('/proc/self/status') if 'VmHWM' in line))\n"
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program) + tail], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    *printed, peak = done.stdout.split()
    return " ".join(printed), int(peak)


def test_a_subplan_beside_itself_many_times_is_no_list_of_single_rows():
    printed, peak = run("""
        levels = 20
        parts = ["t0 AS (SELECT 1 AS a)"]
        for i in range(1, levels + 1):
            parts.append(f"t{i} AS (SELECT a FROM t{i - 1} UNION ALL SELECT a FROM t{i - 1})")
        print(con.execute(f"WITH {', '.join(parts)} SELECT count(*), sum(a) FROM t{levels}").fetchone())
    """)
    assert printed == f"({2**20}, {2**20})"
    assert peak < 200, peak


@pytest.mark.parametrize("text", ["SELECT 1;", "BEGIN;COMMIT;", "INSERT INTO t VALUES (1);"])
def test_many_statements_are_counted_before_the_first_runs(text):
    printed, peak = run(f"""
        con.execute("CREATE TABLE t (a INTEGER)")
        try:
            con.execute({text!r} * 200_000)
        except inlay.Error as error:
            print(error.sqlstate)
        print(con.execute("SELECT count(*) FROM t").fetchone()[0])
        con.execute({text!r} * 2000)
    """)
    assert printed == "53200 0"
    assert peak < 600, peak


def test_labels_of_an_enum_are_counted():
    printed, peak = run("""
        try:
            con.execute("CREATE TYPE e AS ENUM (SELECT i::VARCHAR FROM range(3_000_000) t(i))")
        except inlay.Error as error:
            print(error.sqlstate)
        con.execute("CREATE TYPE e AS ENUM (SELECT i::VARCHAR FROM range(30_000) t(i))")
        print(con.execute("SELECT '29999'::e").fetchone()[0])
    """)
    assert printed == "53200 29999"
    assert peak < 500, peak


def test_a_line_of_too_many_fields_is_an_error(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_bytes(b"," * 5_000_000 + b"\n" + b"," * 5_000_000 + b"\n")
    printed, peak = run(f"""
        try:
            con.execute("SELECT count(*) FROM '{path}'")
        except inlay.Error as error:
            print("more than 65536 fields" in str(error))
    """)
    assert printed == "True"
    assert peak < 300, peak
