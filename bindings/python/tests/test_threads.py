"""Threads at once: with a GIL they take turns, on a free-threaded interpreter (PYTHON_GIL=0) they run."""

# Variables are read by SQL.
# ruff: noqa: F841
from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inlay

np = pytest.importorskip("numpy")

#: How long a test goes on; each loop runs at least a few times.
SECONDS = 1.0
THREADS = 6


def at_once(*work: Callable[[int], None], seconds: float = SECONDS) -> None:
    """Call each function again and again, on threads of its own, and raise what one of them raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(work))
    end = time.monotonic() + seconds

    def run(function: Callable[[int], None]) -> None:
        try:
            start.wait(30)
            turn = 0
            while turn < 3 or (time.monotonic() < end and not failures):
                function(turn)
                turn += 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]


def test_the_module_needs_no_gil() -> None:
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("an interpreter with a GIL")
    assert "inlay" in sys.modules and not sys._is_gil_enabled()


def test_one_connection(con: inlay.Connection) -> None:
    """Each answer is that of its own statement, whoever shares the connection."""
    con.execute("CREATE TABLE t AS SELECT i, 'text number ' || i AS s FROM range(5000) t(i)")

    def worker(number: int) -> Callable[[int], None]:
        def work(turn: int) -> None:
            low = (number * 997 + turn) % 4000
            answer = con.execute("SELECT i, s FROM t WHERE i >= ? ORDER BY i LIMIT 500", [low])
            assert answer.fetchone() == (low, f"text number {low}")
            assert [row[0] for row in answer.fetchmany(99)] == list(range(low + 1, low + 100))
            assert len(answer.fetchall()) == 400
            arrays = con.execute("SELECT i, s FROM t WHERE i < $n", {"n": low}).fetchnumpy()
            assert int(arrays["i"].sum()) == low * (low - 1) // 2 and len(arrays["s"]) == low

        return work

    at_once(*map(worker, range(THREADS)))


def test_one_answer_is_handed_out_once(con: inlay.Connection) -> None:
    """Threads that fetch from one answer get each row once."""
    for rows in (con.execute("FROM range(200000)"), con.sql("FROM range(20000)")):
        taken: list[list[int]] = []

        def work(turn: int, rows: Any = rows, taken: list[list[int]] = taken) -> None:
            taken.append([row[0] for row in rows.fetchmany(1000)])
            one = rows.fetchone()
            taken.append([one[0]] if one else [])

        at_once(*[work] * THREADS, seconds=0.2)
        taken.append([row[0] for row in iter(rows.fetchone, None)])
        got = [value for part in taken for value in part]
        assert sorted(got) == list(range(len(got))) and len(got) in (200_000, 20_000)


def test_one_relation(con: inlay.Connection) -> None:
    """A relation is a query: every thread gets all of its rows in every form, and derives others."""
    words = {"k": np.arange(3000) % 7, "w": np.array([f"word {n % 13}" for n in range(3000)], dtype=object)}
    relation = con.sql("SELECT k, w, count(*) AS n FROM words GROUP BY ALL")
    expected = sorted(relation.fetchall())
    parts = con.sql("SELECT 1 AS k UNION ALL SELECT 2").set_alias("parts")

    def rows(_: int) -> None:
        assert sorted(relation.fetchall()) == expected
        assert sorted(relation) == expected and len(relation) == len(expected)

    def arrays(_: int) -> None:
        columns = relation.fetchnumpy()
        assert sorted(zip(columns["k"].tolist(), columns["w"].tolist(), columns["n"].tolist(), strict=True)) == expected

    def steps(turn: int) -> None:
        key = turn % 7
        kept = relation.filter(f"k = {key}").order("w").fetchall()
        assert sorted(kept) == [row for row in expected if row[0] == key] and kept == sorted(
            kept, key=lambda row: row[1]
        )
        joined = relation.set_alias("words").join(parts, "k").aggregate("sum(n) AS n")
        assert joined.fetchone() == (sum(row[2] for row in expected if row[0] in (1, 2)),)

    def pictures(_: int) -> None:
        assert (
            "word 12" in repr(relation.filter("w = 'word 12'"))
            and "<table" in relation._repr_mimebundle_()["text/html"]
        )

    at_once(rows, arrays, steps, pictures, rows, arrays)


def test_objects_come_and_go(con: inlay.Connection) -> None:
    """Objects are registered, replaced and forgotten, and variables found, while queries read them."""
    con.register("numbers", {"n": np.arange(1000), "s": np.array(["a", "b"] * 500, dtype=object)})

    def query(_: int) -> None:
        with con.cursor() as cursor:
            count, total, texts = cursor.execute("SELECT count(*), sum(n), count(s) FROM numbers").fetchall()[0]
            assert count == texts and total == count * (count - 1) // 2 and count % 1000 == 0

    def replace(turn: int) -> None:
        size = 1000 * (1 + turn % 5)
        con.register("numbers", {"n": np.arange(size), "s": np.array(["a", "b"] * (size // 2), dtype=object)})

    def own(turn: int) -> None:
        name = f"own_{threading.get_ident()}"
        con.register(name, [{"a": turn}, {"a": None}])
        assert con.cursor().execute(f"SELECT sum(a), count(*) FROM {name}").fetchall() == [(turn, 2)]
        con.unregister(name)

    def variables(turn: int) -> None:
        local = {"x": np.full(10, turn)}
        assert con.cursor().sql("SELECT sum(x) FROM local").fetchall() == [(10 * turn,)]
        # Names that differ in case are looked for among all variables, while others add some.
        globals()[f"added_{threading.get_ident()}_{turn % 50}"] = turn
        assert con.cursor().sql("SELECT count(*) FROM LOCAL").fetchall() == [(10,)]

    at_once(query, replace, query, own, variables, variables, own)
    for name in [name for name in globals() if name.startswith("added_")]:
        del globals()[name]


def test_held_arrays_stay_what_they_are(tmp_path: Path) -> None:
    """Arrays over the table's own memory are read and written while the table is changed, dropped and closed."""
    con = inlay.connect(tmp_path / "held.inlay")
    con.execute("CREATE TABLE t AS SELECT i, i / 2 AS half FROM range(300000) t(i)")
    con.execute("CHECKPOINT")
    total = 300_000 * 299_999 // 2

    def read(_: int) -> None:
        with con.cursor() as cursor:
            arrays = cursor.execute("SELECT i, half FROM t").fetchnumpy()
        assert int(arrays["i"].sum()) % 300_000 == total % 300_000 and len(arrays["half"]) == 300_000
        arrays["i"][:] = -1
        arrays["half"] += 1.0

    def change(turn: int) -> None:
        # Every row changes by as much, so that each snapshot's sum is known.
        with con.cursor() as cursor:
            cursor.execute("UPDATE t SET i = i + 1")

    def other(turn: int) -> None:
        with con.cursor() as cursor:
            cursor.execute("CREATE OR REPLACE TABLE u AS SELECT i AS x FROM range(150000) t(i)")
            array = cursor.execute("FROM u").fetchnumpy()["x"]
            cursor.execute("DROP TABLE u")
            assert int(array.sum()) == 150_000 * 149_999 // 2

    at_once(read, read, change, other, read)
    held = con.execute("SELECT i FROM t").fetchnumpy()["i"]
    before = int(held.sum())
    con.close()
    gc.collect()
    assert int(held.sum()) == before


def test_results_are_converted_at_once(con: inlay.Connection) -> None:
    """One result, as rows, arrays, frames and Arrow data, by many threads."""
    con.execute(
        "CREATE TABLE t AS SELECT i, 'w' || i % 100 AS s, i::DECIMAL(9, 2) / 4 AS d, "
        "DATE '2024-01-01' + i::INTEGER % 99 AS day, "
        "CASE WHEN i % 3 = 0 THEN NULL ELSE [i, i + 1] END AS l, uuid() AS u FROM range(20000) t(i)"
    )
    kept = con.sql("FROM t").materialize()
    expected = kept.fetchall()

    def rows(_: int) -> None:
        assert kept.fetchall() == expected

    def arrays(_: int) -> None:
        assert kept.fetchnumpy()["s"].tolist() == [row[1] for row in expected]

    def frame(_: int) -> None:
        pytest.importorskip("pandas")
        assert kept.df()["i"].sum() == sum(row[0] for row in expected)

    def arrow(_: int) -> None:
        pytest.importorskip("pyarrow")
        assert kept.arrow().num_rows == len(expected)
        assert sum(batch.num_rows for batch in con.cursor().execute("FROM t").fetch_record_batch(999)) == len(expected)

    at_once(rows, arrays, frame, arrow, rows, arrays)


def test_a_stream_is_read_by_one(con: inlay.Connection) -> None:
    """Of many threads that read one stream, one gets its rows; the others are told."""
    pa = pytest.importorskip("pyarrow")
    for _ in range(20):
        reader = pa.table({"x": list(range(1000))}).to_reader()
        outcomes: list[Any] = []

        def work(turn: int, reader: Any = reader, outcomes: list[Any] = outcomes) -> None:
            if turn > 0:
                return
            try:
                outcomes.append(con.cursor().from_arrow(reader).shape[0])
            except inlay.InvalidInputException as error:
                outcomes.append(error.sqlstate)

        at_once(*[work] * THREADS, seconds=0)
        assert sorted(map(str, outcomes)) == ["1000"] + ["22023"] * (THREADS - 1)


def test_connections_open_and_close(tmp_path: Path) -> None:
    """Databases are opened, interrupted and closed while others use them."""
    path = tmp_path / "many.inlay"
    inlay.connect(path).execute("CREATE TABLE t (thread BIGINT, turn BIGINT)").close()

    def work(turn: int) -> None:
        with inlay.connect(path) as con, con.transaction():
            con.execute("INSERT INTO t VALUES (?, ?)", [threading.get_ident(), turn])
            assert con.execute("SELECT max(turn) FROM t WHERE thread = ?", [threading.get_ident()]).fetchone() == (
                turn,
            )

    def interrupted(_: int) -> None:
        con = inlay.connect()
        ended = threading.Event()

        def interrupt() -> None:
            # Again and again: a statement that just begins takes earlier interrupts back.
            while not ended.wait(0.01):
                con.interrupt()

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        with pytest.raises(inlay.InterruptException):
            con.execute("SELECT count(*) FROM range(100000000) a(x), range(100000) b(y) WHERE x + y < 0")
        ended.set()
        interrupting.join()
        con.close()

    at_once(work, work, work, interrupted)


def test_memory_comes_back(con: inlay.Connection) -> None:
    """Objects that threads handed over are let go of when nothing reads them."""
    import weakref

    class Held(np.ndarray):
        """An array that can be referred to weakly."""

    gone: list[weakref.ref[Any]] = []

    def work(turn: int) -> None:
        array = np.arange(1000).view(Held)
        gone.append(weakref.ref(array))
        data = {"x": array, "s": np.array(["text"] * 1000, dtype=object)}
        relation = con.cursor().from_df(data)
        assert relation.aggregate("sum(x), count(s)").fetchall() == [(499_500, 1000)]

    at_once(*[work] * THREADS, seconds=0.3)
    deadline = time.monotonic() + 10
    while any(each() is not None for each in gone) and time.monotonic() < deadline:
        gc.collect()
        con.execute("SELECT 1").fetchall()
    assert not [each for each in gone if each() is not None]
