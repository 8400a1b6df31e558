"""Statements that are nested as deep as they may be, on threads of little stack."""

import subprocess
import sys
import textwrap

import pytest

SHAPES = {
    "scalar subqueries": 'lambda n: "SELECT " + "(SELECT " * n + "1" + ")" * n',
    "queries over queries": 'lambda n: "SELECT * FROM " + "(SELECT * FROM " * n + "range(1)" + ")" * n',
    "common tables": """lambda n: ("WITH t0 AS (SELECT 1 AS a), "
        + ", ".join(f"t{i} AS (SELECT a + 1 AS a FROM t{i - 1})" for i in range(1, n)) + f" SELECT * FROM t{n - 1}")""",
    "tables": 'lambda n: "SELECT 1 FROM " + ", ".join(f"range(1) t{i}" for i in range(n))',
    "EXISTS": 'lambda n: "SELECT 1 WHERE " + "EXISTS (SELECT 1 WHERE " * n + "true" + ")" * n',
    "UNION ALL": 'lambda n: " UNION ALL ".join(["SELECT 1"] * n)',
    "lambdas": 'lambda n: "SELECT " + "list_transform([1], x -> " * n + "x" + ")" * n',
    "sums": 'lambda n: "SELECT " + " + ".join(["1"] * n)',
    "NOT": 'lambda n: "SELECT " + "NOT " * n + "true"',
    "calls": 'lambda n: "SELECT " + "abs(" * n + "1" + ")" * n',
    "CASE": 'lambda n: "SELECT " + "CASE WHEN true THEN " * n + "1" + " END" * n',
    "lists": 'lambda n: "SELECT " + "[" * n + "1" + "]" * n',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_deep_statements_on_small_stacks(shape):
    program = f"""
        import inlay, threading
        shape = {SHAPES[shape]}
        def work(con, size):
            for depth in (100, 190, 480, 900):
                try:
                    con.execute(shape(depth)).fetchall()
                except (inlay.Error, RecursionError):
                    pass
            print("went on", flush=True)
        con = inlay.connect()
        for size in (256, 512, 768, 1024, 1536, 2048, 3072):
            threading.stack_size(size << 10)
            thread = threading.Thread(target=work, args=(con.cursor(), size))
            thread.start()
            thread.join()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.count("went on")) == (0, 7), done.stderr[-500:]
