"""The contract of arrays: columns of a table are handed out without a copy, and are the host's own."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlay

ROWS = 300_000

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="columns are mapped where the system has memfd")


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def maps_of(array: Any) -> list[str]:
    """The lines of /proc/self/maps that show an array's memory."""
    low, high = address(array), address(array) + array.nbytes
    lines = Path("/proc/self/maps").read_text().splitlines()

    def bounds(line: str) -> tuple[int, int]:
        start, _, end = line.split()[0].partition("-")
        return int(start, 16), int(end, 16)

    return [line for line in lines if bounds(line)[0] < high and bounds(line)[1] > low]


def is_mapped(array: Any) -> bool:
    """Whether most of an array shows pages that other arrays may show as well."""
    return any("memfd:inlay" in line for line in maps_of(array))


@pytest.fixture
def table(tmp_path: Path) -> Iterator[inlay.Connection]:
    with inlay.connect(tmp_path / "t.db") as con:
        con.execute(
            f"""CREATE TABLE t AS SELECT i::INTEGER AS i, i * 0.5::DOUBLE AS d, (i % 1000)::DECIMAL(9, 2) AS price,
                    DATE '2000-01-01' + (i % 5000)::INTEGER AS day, CASE WHEN i % 7 <> 0 THEN i END AS n,
                    'text ' || (i % 50) AS s, i % 2 = 0 AS b, TIMESTAMP '2000-01-01' + INTERVAL (i) SECONDS AS ts
                FROM range({ROWS}) r(i)"""
        )
        con.execute("CHECKPOINT")
        yield con


def expected() -> dict[str, Any]:
    i = np.arange(ROWS)
    return {
        "i": i.astype("i4"),
        "d": i * 0.5,
        "price": (i % 1000).astype("f8"),
        "day": np.datetime64("2000-01-01") + (i % 5000),
        "b": i % 2 == 0,
        "ts": np.datetime64("2000-01-01", "us") + i.astype("m8[s]"),
    }


def test_columns_are_what_the_table_holds(table: inlay.Connection) -> None:
    arrays = table.execute("FROM t").fetchnumpy(decimal="float")
    for name, values in expected().items():
        assert arrays[name].dtype == values.dtype, name
        assert np.array_equal(arrays[name], values), name
    assert arrays["n"].mask.sum() == len(range(0, ROWS, 7))
    assert arrays["n"].compressed()[:3].tolist() == [1, 2, 3]
    assert arrays["s"][ROWS - 1] == f"text {(ROWS - 1) % 50}"


def page_of(array: np.ndarray[Any, Any]) -> tuple[str, str, int]:
    """Device, inode and offset in its file of where an array begins."""
    span, _, offset, device, inode = next(iter(maps_of(array))).split()[:5]
    return device, inode, int(offset, 16) + address(array) - int(span.split("-")[0], 16)


@linux_only
def test_no_value_is_copied(table: inlay.Connection) -> None:
    first = table.execute("FROM t").fetchnumpy(decimal="float")
    second = table.execute("SELECT ts, i, d, price, day, b FROM t").fetchnumpy(decimal="float")
    for name in expected():
        assert is_mapped(first[name]), name
        assert is_mapped(second[name]), name
        assert address(first[name]) != address(second[name])
    # Both show the same page of one unnamed file: device, inode and offset agree. Neighbours may share a line of maps.
    pages = [page_of(arrays["d"]) for arrays in (first, second)]
    assert pages[0] == pages[1]


@linux_only
def test_the_second_export_takes_no_memory() -> None:
    program = """
import inlay
def resident():
    return sum(int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Rss:"))
con = inlay.connect()
con.execute("CREATE TABLE t AS SELECT i, random() AS x, i * 2 AS y FROM range(4000000) r(i)")
con.execute("FROM t").fetchnumpy().values()
before = resident()
held = [dict(con.execute("FROM t").fetchnumpy()) for _ in range(20)]
print(resident() - before, len(held) * 3 * 4000000 * 8 // 1024)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    grown, data = map(int, done.stdout.split())
    assert grown < data * 0.05


def test_the_host_writes_to_its_own_copy(table: inlay.Connection, tmp_path: Path) -> None:
    mine = table.execute("FROM t").fetchnumpy()["i"]
    before = table.execute("FROM t").fetchnumpy()["i"]
    mine[:] = -1
    mine[ROWS // 2] = 42
    after = table.execute("FROM t").fetchnumpy()["i"]
    assert np.array_equal(before, np.arange(ROWS))
    assert np.array_equal(after, np.arange(ROWS))
    other = table.cursor()
    assert other.execute("SELECT min(i), max(i), sum(i) FROM t").fetchone() == (0, ROWS - 1, ROWS * (ROWS - 1) // 2)
    table.close()
    other.close()
    with inlay.connect(tmp_path / "t.db") as con:
        assert np.array_equal(con.execute("FROM t").fetchnumpy()["i"], np.arange(ROWS))
    assert mine[0] == -1
    assert mine[ROWS // 2] == 42


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE t SET i = -i",
        "UPDATE t SET i = 0 WHERE i % 1000 = 0",
        "DELETE FROM t WHERE i % 2 = 0",
        "DROP TABLE t",
        "TRUNCATE t",
        "ALTER TABLE t ALTER i TYPE VARCHAR",
        "INSERT INTO t (i) SELECT range FROM range(100000)",
    ],
)
def test_later_changes_do_not_reach_arrays_nor_results(table: inlay.Connection, change: str) -> None:
    held = table.execute("FROM t").fetchnumpy()
    unread = table.execute("SELECT i, d FROM t")
    table.execute(change)
    table.execute("CHECKPOINT")
    for arrays in (held, unread.fetchnumpy()):
        assert np.array_equal(arrays["i"], np.arange(ROWS))
        assert np.array_equal(arrays["d"], np.arange(ROWS) * 0.5)


@linux_only
def test_an_update_converts_only_what_it_touched(table: inlay.Connection) -> None:
    table.execute("FROM t").fetchnumpy().values()
    resident = "SELECT sum(row_groups) FROM inlay_resident() WHERE column_name = 'i'"
    assert table.execute(resident).fetchone() == (3,)
    table.execute("UPDATE t SET i = -1 WHERE i = 5")
    assert table.execute(resident).fetchone() == (2,)
    array = table.execute("SELECT i FROM t").fetchnumpy()["i"]
    assert array[5] == -1
    assert array[ROWS - 1] == ROWS - 1
    assert is_mapped(array)


def test_arrays_outlive_result_connection_and_file(table: inlay.Connection, tmp_path: Path) -> None:
    held = table.execute("FROM t").fetchnumpy(decimal="float")
    table.close()
    (tmp_path / "t.db").unlink()
    gc.collect()
    for name, values in expected().items():
        assert np.array_equal(held[name], values), name


def test_rows_that_were_not_read_end_with_the_database(table: inlay.Connection) -> None:
    unread = table.sql("FROM t").execute()
    table.close()
    with pytest.raises(inlay.Error, match="closed before the rows of this result were read"):
        unread.fetchnumpy()["i"]


def test_a_relation_keeps_its_database_open(table: inlay.Connection, tmp_path: Path) -> None:
    table.close()
    unread = inlay.connect(tmp_path / "t.db").sql("SELECT d FROM t")
    assert unread is not None
    gc.collect()
    assert unread.fetchnumpy()["d"][-1] == (ROWS - 1) * 0.5


@pytest.mark.parametrize(("limit", "offset"), [(20_000, 0), (20_000, 1), (150_000, 131_000), (50_000, 262_144)])
def test_ranges_of_rows(table: inlay.Connection, limit: int, offset: int) -> None:
    arrays = table.execute(f"SELECT d, i, n, day FROM t LIMIT {limit} OFFSET {offset}").fetchnumpy()
    count = min(limit, ROWS - offset)
    rows = np.arange(offset, offset + count)
    assert np.array_equal(arrays["i"], rows)
    assert np.array_equal(arrays["d"], rows * 0.5)
    assert np.array_equal(arrays["day"], expected()["day"][rows])
    assert np.array_equal(np.ma.getmaskarray(arrays["n"]), rows % 7 == 0)


def test_rows_fetched_one_by_one_then_as_columns(table: inlay.Connection) -> None:
    table.execute("SELECT i, s FROM t")
    assert table.fetchone() == (0, "text 0")
    assert len(table.fetchmany(140_000)) == 140_000
    rest = table.fetchnumpy()
    assert rest["i"][0] == 140_001
    assert len(rest["i"]) == ROWS - 140_001
    assert table.fetchone() is None


def test_deleted_rows_and_small_pieces_are_left_out(table: inlay.Connection) -> None:
    table.execute("DELETE FROM t WHERE i BETWEEN 1000 AND 1999")
    for start in range(0, 3000, 1000):
        table.execute("INSERT INTO t (i, d) SELECT ? + range, 1 FROM range(?)", [ROWS + start, 1000])
    arrays = table.execute("SELECT i FROM t").fetchnumpy()
    rows = np.concatenate([np.arange(1000), np.arange(2000, ROWS), np.arange(ROWS, ROWS + 3000)])
    assert np.array_equal(arrays["i"], rows)


def test_pieces_of_odd_sizes_are_one_array(table: inlay.Connection) -> None:
    table.execute("CREATE TABLE odd (i INTEGER, n SMALLINT)")
    sizes = [140_001, 3, 70_000, 131_072, 1]
    at = 0
    for size in sizes:
        table.execute("INSERT INTO odd SELECT ? + range, range % 100 FROM range(?)", [at, size])
        at += size
    for _ in range(2):
        arrays = table.execute("FROM odd").fetchnumpy()
        assert np.array_equal(arrays["i"], np.arange(sum(sizes)))
        assert np.array_equal(arrays["n"], np.concatenate([np.arange(size) % 100 for size in sizes]))


@linux_only
def test_many_held_arrays_under_a_small_memory_limit(tmp_path: Path) -> None:
    with inlay.connect(tmp_path / "m.db", config={"memory_limit": "60MB"}) as con:
        con.execute("CREATE TABLE t AS SELECT i, i * 3 AS j FROM range(1000000) r(i)")
        held = [dict(con.execute("SELECT i, j FROM t").fetchnumpy()) for _ in range(500)]
        expected_sum = con.execute("SELECT sum(i) FROM t").fetchone()
        for arrays in held[::50]:
            assert int(arrays["i"].sum()) == expected_sum[0]
            assert np.array_equal(arrays["j"], arrays["i"] * 3)
        # Queries still get what arrays do not hold.
        assert con.execute("SELECT count(DISTINCT j % 1000) FROM t").fetchone() == (1000,)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@linux_only
def test_memory_and_files_go_with_the_last_array(tmp_path: Path) -> None:
    def mapped() -> int:
        return Path("/proc/self/maps").read_text().count("memfd:inlay")

    gc.collect()
    before, mapped_before = open_files(), mapped()
    con = inlay.connect(tmp_path / "g.db")
    con.execute("CREATE TABLE t AS SELECT i FROM range(1000000) r(i)")
    held = con.execute("FROM t").fetchnumpy()["i"]
    con.close()
    assert mapped() > mapped_before
    assert held[-1] == 999_999
    del held, con
    gc.collect()
    assert mapped() == mapped_before
    assert open_files() == before


@linux_only
def test_dropped_arrays_give_their_memory_back(table: inlay.Connection) -> None:
    table.execute("SET resident_limit = 0")
    assert table.execute("FROM inlay_resident()").fetchall() == []
    held = table.execute("SELECT i FROM t").fetchnumpy()["i"]
    assert not is_mapped(held)
    table.execute("RESET resident_limit")
    held = table.execute("SELECT i FROM t").fetchnumpy()["i"]
    assert is_mapped(held)
    kept = table.execute("SELECT sum(bytes) FROM inlay_resident()").fetchone()
    assert kept == (ROWS * 4,)
    table.execute("SET resident_limit = 0")
    assert table.execute("SELECT sum(bytes) FROM inlay_resident()").fetchone() == kept
    del held
    table.execute("SET resident_limit = 0")
    assert table.execute("FROM inlay_resident()").fetchall() == []


def test_threads_export_the_same_columns(table: inlay.Connection) -> None:
    sums: list[int] = []

    def export() -> None:
        cursor = table.cursor()
        for _ in range(10):
            arrays = cursor.execute("SELECT i, d FROM t").fetchnumpy()
            arrays["i"][0] = 0
            sums.append(int(arrays["i"].sum()))

    threads = [threading.Thread(target=export) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(sums) == {ROWS * (ROWS - 1) // 2}
    assert len(sums) == 80


@linux_only
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_keeps_its_arrays_and_disturbs_nobody(table: inlay.Connection) -> None:
    held = table.execute("FROM t").fetchnumpy(decimal="float")
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.read(ready[0], 1)
            fine = all(np.array_equal(held[name], values) for name, values in expected().items())
            held["i"][:] = 7
            del held
            gc.collect()
            status = 0 if fine else 2
        finally:
            os._exit(status)
    del held
    gc.collect()
    # What the parent no longer needs is what the child still shows.
    table.execute("SET resident_limit = 0")
    os.write(ready[1], b"x")
    _, status = os.waitpid(child, 0)
    for end in (*ready, *done):
        os.close(end)
    assert os.waitstatus_to_exitcode(status) == 0
    table.execute("RESET resident_limit")
    assert np.array_equal(table.execute("FROM t").fetchnumpy()["i"], np.arange(ROWS))


def test_a_transaction_exports_what_it_sees(table: inlay.Connection) -> None:
    table.execute("BEGIN")
    table.execute("UPDATE t SET i = i + 1")
    inside = table.execute("SELECT i FROM t").fetchnumpy()["i"]
    outside = table.cursor().execute("SELECT i FROM t").fetchnumpy()["i"]
    table.execute("ROLLBACK")
    assert np.array_equal(inside, np.arange(ROWS) + 1)
    assert np.array_equal(outside, np.arange(ROWS))


def test_resident_tables_are_listed_and_stay(table: inlay.Connection) -> None:
    table.execute("PRAGMA resident('t')")
    table.execute("SET resident_limit = 0")
    rows = table.execute("SELECT column_name, form, bytes, pinned FROM inlay_resident()").fetchall()
    forms = {(name, form): (size, pinned) for name, form, size, pinned in rows}
    assert forms["i", "stored"] == (ROWS * 4, True)
    assert forms["price", "float64"] == (ROWS * 8, True)
    assert forms["day", "datetime64[D]"] == (ROWS * 8, True)
    assert forms["n", "nulls"] == (ROWS, True)
    assert ("s", "arrow") in forms
    assert table.execute("PRAGMA resident").fetchall() == table.execute("FROM inlay_resident()").fetchall()
    table.execute("PRAGMA resident('t', false)")
    table.execute("SET resident_limit = 0")
    assert table.execute("FROM inlay_resident()").fetchall() == []


def test_errors_of_resident_name_the_table_and_the_fix(table: inlay.Connection) -> None:
    with pytest.raises(inlay.Error, match=r'"tt" does not exist.*did you mean "t"'):
        table.execute("PRAGMA resident('tt')")
    with pytest.raises(inlay.Error, match="resident takes the name of a table"):
        table.execute("PRAGMA resident(5)")
    table.execute("SET memory_limit = '5MB'")
    with pytest.raises(inlay.Error, match="no memory to keep"):
        table.execute("PRAGMA resident('t')")


def test_arrow_and_frames_agree_with_queries(table: inlay.Connection) -> None:
    pa = pytest.importorskip("pyarrow")
    whole = table.execute("FROM t").arrow()
    again = table.execute("FROM t").arrow()
    computed = table.execute("SELECT * FROM t WHERE i >= 0").arrow()
    assert whole.equals(again)
    assert whole.cast(computed.schema).combine_chunks().equals(computed.combine_chunks())
    assert whole.schema.field("price").type == pa.decimal128(9, 2)
    streamed = table.execute("FROM t").fetch_record_batch().read_all()
    assert streamed.equals(whole)
    frame = table.execute("FROM t").df()
    assert np.array_equal(frame["i"].to_numpy(), np.arange(ROWS))
    assert frame["n"].isna().sum() == len(range(0, ROWS, 7))


@linux_only
def test_arrow_buffers_are_handed_out_again(table: inlay.Connection) -> None:
    pytest.importorskip("pyarrow")

    def buffers() -> list[int]:
        whole = table.execute("SELECT i, price, s FROM t").arrow()
        chunks = [chunk for column in whole.columns for chunk in column.chunks]
        return [buffer.address for chunk in chunks for buffer in chunk.buffers() if buffer is not None]

    assert buffers() == buffers()


NA = 0x7FF0_0000_0000_07A2


@pytest.mark.parametrize(
    "made",
    [
        "SELECT * FROM (VALUES (1.5::DOUBLE), (NULL), (NULL)) t(x)",
        "SELECT CASE WHEN i % 3 = 0 THEN i::DOUBLE END AS x FROM range(300000) r(i)",
        "SELECT nullif(i, 1)::DOUBLE / 3 AS x FROM range(3) r(i)",
        "SELECT r.x FROM range(3) l(i) LEFT JOIN (SELECT 2 AS i, 0.5::DOUBLE AS x) r USING (i)",
        "SELECT avg(nullif(i, 4)) AS x FROM range(9) r(i) GROUP BY i",
        "SELECT lag(i::DOUBLE) OVER (ORDER BY i) AS x FROM range(5) r(i)",
        "SELECT x FROM (VALUES (1.25::DOUBLE), (NULL), ('nan')) t(x) ORDER BY x DESC",
    ],
)
def test_below_a_null_double_lies_the_missing_value_of_r(tmp_path: Path, made: str) -> None:
    """R knows its NA by the bits; everyone else sees a NaN. Values that are NaN are not taken for it."""

    def check(con: inlay.Connection, query: str) -> None:
        column = con.execute(query).fetchnumpy()["x"]
        values, missing = np.ma.getdata(column), np.ma.getmaskarray(column)
        assert missing.any()
        bits = values.view(np.uint64)
        assert (bits[missing] == NA).all(), hex(int(bits[missing][0]))
        assert not (bits[~missing] == NA).any()

    with inlay.connect(tmp_path / "na.inlay") as con:
        check(con, made)
        con.execute(f"CREATE TABLE t AS {made}")
        check(con, "SELECT x FROM t")
    with inlay.connect(tmp_path / "na.inlay") as con:
        check(con, "SELECT x FROM t")
        con.execute("INSERT INTO t VALUES (NULL), (7)")
        con.execute("UPDATE t SET x = NULL WHERE x < 1")
        check(con, "FROM t")
