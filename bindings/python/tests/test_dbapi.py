"""DB-API 2.0: statements, fetching, transactions, exceptions, lifetimes."""

from __future__ import annotations

import os
import threading

import pytest

import inlay


def test_module_globals() -> None:
    assert (inlay.apilevel, inlay.threadsafety, inlay.paramstyle) == ("2.0", 2, "qmark")
    assert inlay.__version__


def test_exceptions_form_the_tree_of_dbapi() -> None:
    assert issubclass(inlay.Error, Exception)
    assert issubclass(inlay.DatabaseError, inlay.Error) and issubclass(inlay.InterfaceError, inlay.Error)
    for name in (
        "DataError",
        "OperationalError",
        "IntegrityError",
        "InternalError",
        "ProgrammingError",
        "NotSupportedError",
    ):
        assert issubclass(getattr(inlay, name), inlay.DatabaseError)


def test_fetching_goes_on_where_it_stopped(con: inlay.Connection) -> None:
    con.execute("SELECT * FROM range(5000) t(x) ORDER BY x")
    assert con.fetchone() == (0,)
    assert con.fetchmany(3) == [(1,), (2,), (3,)]
    assert con.fetchmany() == [(4,)]
    rest = con.fetchall()
    assert rest[0] == (5,) and rest[-1] == (4999,) and len(rest) == 4995
    assert con.fetchone() is None and con.fetchall() == []


def test_description_and_rowcount(con: inlay.Connection) -> None:
    assert con.description is None and con.rowcount == -1
    con.execute("SELECT 1 AS a, 'x' AS b, 1.5::DECIMAL(4, 2) AS c")
    assert [column[0] for column in con.description] == ["a", "b", "c"]
    assert [column[1] for column in con.description] == ["INTEGER", "VARCHAR", "DECIMAL(4,2)"]
    assert con.description[0][1] == inlay.NUMBER and con.description[1][1] == inlay.STRING
    assert con.description[2][1] == inlay.NUMBER
    con.execute("CREATE TABLE t (x INTEGER)")
    assert con.description is None
    con.execute("INSERT INTO t VALUES (1), (2), (3)")
    assert con.rowcount == 3 and con.fetchall() == [(3,)]
    con.execute("DELETE FROM t WHERE x > 1")
    assert con.rowcount == 2
    con.execute("UPDATE t SET x = x + 1")
    assert con.rowcount == 1


def test_an_answer_stays_with_what_execute_returned(con: inlay.Connection) -> None:
    first = con.execute("SELECT 1")
    second = con.execute("SELECT 2")
    assert first.fetchall() == [(1,)] and second.fetchall() == [(2,)]
    assert con.fetchall() == []


def test_several_statements_answer_with_the_last(con: inlay.Connection) -> None:
    rows = con.execute("CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (7); SELECT x FROM t;").fetchall()
    assert rows == [(7,)]
    con.execute("")
    assert con.fetchall() == []


def test_executemany_is_all_or_nothing(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (x INTEGER PRIMARY KEY, y VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, "b")])
    assert con.rowcount == 2
    with pytest.raises(inlay.IntegrityError):
        con.executemany("INSERT INTO t VALUES (?, ?)", [(3, "c"), (1, "d")])
    assert con.execute("SELECT * FROM t ORDER BY x").fetchall() == [(1, "a"), (2, "b")]
    con.executemany("UPDATE t SET y = $new WHERE x = $key", [{"new": "z", "key": 1}])
    assert con.execute("SELECT y FROM t WHERE x = 1").fetchone() == ("z",)


def test_iteration(con: inlay.Connection) -> None:
    assert [x for (x,) in con.execute("SELECT * FROM range(3) t(x) ORDER BY x")] == [0, 1, 2]


def test_transactions_commit_and_roll_back(con: inlay.Connection) -> None:
    other = con.cursor()
    con.execute("CREATE TABLE t (x INTEGER)")
    con.execute("INSERT INTO t VALUES (1)")
    con.begin()
    con.execute("INSERT INTO t VALUES (2)")
    con.execute("CREATE TABLE u (y INTEGER)")
    assert con.in_transaction
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)
    assert other.execute("SELECT count(*) FROM t").fetchone() == (1,)
    con.rollback()
    assert con.execute("SELECT count(*) FROM t").fetchone() == (1,)
    with pytest.raises(inlay.ProgrammingError):
        con.execute("SELECT * FROM u")
    con.begin()
    con.execute("UPDATE t SET x = 5")
    con.execute("CREATE TABLE u (y INTEGER)")
    con.commit()
    assert other.execute("SELECT x FROM t").fetchall() == [(5,)]
    assert other.execute("SELECT count(*) FROM u").fetchone() == (0,)
    con.commit()
    con.rollback()


def test_the_first_of_two_transactions_on_a_row_wins(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (x INTEGER)")
    con.execute("INSERT INTO t VALUES (0)")
    other = con.cursor()
    con.begin()
    other.begin()
    con.execute("UPDATE t SET x = x + 1")
    with pytest.raises(inlay.OperationalError, match="retry") as conflict:
        other.execute("UPDATE t SET x = x + 10")
    assert conflict.value.sqlstate == "40001"
    other.rollback()
    con.commit()
    assert other.execute("SELECT x FROM t").fetchall() == [(1,)]


def test_a_transaction_reads_one_state(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (x INTEGER)")
    other = con.cursor()
    other.begin()
    con.execute("INSERT INTO t VALUES (1)")
    assert other.execute("SELECT count(*) FROM t").fetchone() == (0,)
    other.commit()
    assert other.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_begin_twice_is_an_error(con: inlay.Connection) -> None:
    con.begin()
    with pytest.raises(inlay.OperationalError) as error:
        con.begin()
    assert error.value.sqlstate == "25000"
    con.rollback()
    with pytest.raises(inlay.OperationalError):
        con.execute("COMMIT")


def test_closed_connections_say_so() -> None:
    con = inlay.connect()
    other = con.cursor()
    con.execute("SELECT 1")
    con.close()
    con.close()
    for call in (lambda: con.execute("SELECT 1"), con.cursor, con.begin, con.fetchone, con.fetchall, con.df):
        with pytest.raises(inlay.InterfaceError, match="closed"):
            call()
    assert other.execute("SELECT 1").fetchone() == (1,)


def test_with_closes() -> None:
    with inlay.connect() as con:
        con.execute("SELECT 1")
    with pytest.raises(inlay.InterfaceError):
        con.execute("SELECT 1")


def test_fetching_without_a_result_is_an_error(con: inlay.Connection) -> None:
    with pytest.raises(inlay.ProgrammingError, match="execute"):
        con.fetchone()


def test_a_database_in_memory_is_not_read_only() -> None:
    with pytest.raises(inlay.ProgrammingError):
        inlay.connect(read_only=True)


def test_settings() -> None:
    with inlay.connect(config={"threads": 1, "memory_limit": "1GB"}) as con:
        assert con.execute("SELECT current_setting('threads')").fetchone() == (1,)
        con.execute("SET integer_division = true")
        assert con.execute("SELECT 7 / 2").fetchone() == (3,)
        con.execute("RESET integer_division")
        assert con.execute("SELECT 7 / 2").fetchone() == (3.5,)
    with pytest.raises(inlay.ProgrammingError, match="threads"):
        inlay.connect(config={"thread": 1})


def test_the_default_connection_is_shared() -> None:
    inlay.execute("CREATE OR REPLACE TABLE shared_by_module AS SELECT 3 AS x")
    assert inlay.sql("SELECT x FROM shared_by_module").fetchall() == [(3,)]
    assert inlay.execute("SELECT 1").fetchone() == (1,)
    inlay.close()
    with pytest.raises(inlay.ProgrammingError):
        inlay.sql("SELECT x FROM shared_by_module")


def test_threads_share_a_connection(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (x INTEGER)")
    wrong: list[object] = []

    def work(number: int) -> None:
        try:
            for step in range(50):
                con.execute("INSERT INTO t VALUES (?)", [number])
                if con.execute("SELECT ? + ?", [number, step]).fetchone() != (number + step,):
                    wrong.append((number, step))
        except Exception as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert con.execute("SELECT count(*), sum(x) FROM t").fetchone() == (200, 300)


def test_concurrent_updates_are_not_lost(con: inlay.Connection) -> None:
    con.execute("CREATE TABLE t (x INTEGER)")
    con.execute("INSERT INTO t VALUES (0)")

    def work() -> None:
        own = con.cursor()
        for _ in range(50):
            own.execute("UPDATE t SET x = x + 1")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert con.execute("SELECT x FROM t").fetchone() == (200,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_gets_an_error(con: inlay.Connection) -> None:
    con.execute("SELECT count(*) FROM range(1000000) t(x)")
    child = os.fork()
    if child == 0:
        try:
            con.execute("SELECT 1")
            os._exit(1)
        except inlay.InterfaceError as error:
            own = inlay.connect().execute("SELECT 2").fetchone() == (2,)
            os._exit(0 if "fork" in str(error) and own else 2)
        except BaseException:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert con.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("x + 1", "(x + 1)"),
        ("-x", "(-(x))"),
        ("x NOT IN (1, 2)", "(NOT (x IN (1, 2)))"),
        ("x NOT BETWEEN 1 AND 2", "(NOT (x BETWEEN 1 AND 2))"),
        ("[x][1]", "list_value(x)[1]"),
        ("[x][1:]", "list_value(x)[1:]"),
        ("[x][:2:1]", "list_value(x)[:2:1]"),
        ("{'a': x}", "struct_pack(a := x)"),
        ("count(*) FILTER (WHERE x > 1)", "count_star() FILTER (WHERE (x > 1))"),
        ("string_agg(x, ',' ORDER BY x DESC)", "string_agg(x, ',' ORDER BY x DESC)"),
        ("current_date", "current_date"),
    ],
)
def test_columns_without_alias_are_named_by_their_text(con: inlay.Connection, expression: str, name: str) -> None:
    con.execute(f"SELECT {expression} FROM (VALUES (1)) v(x) GROUP BY ALL")
    assert con.description[0][0] == name


def test_arraysize_is_what_fetchmany_gives(con: inlay.Connection) -> None:
    cursor = con.cursor()
    assert cursor.arraysize == 1
    cursor.arraysize = 2
    cursor.execute("FROM range(5)")
    assert cursor.fetchmany() == [(0,), (1,)]
    assert cursor.fetchmany(1) == [(2,)] and cursor.fetchmany() == [(3,), (4,)]
    assert cursor.execute("FROM range(5)").fetchmany() == [(0,), (1,)]
    assert con.arraysize == 1
    with pytest.raises((OverflowError, TypeError)):
        cursor.arraysize = -1
    assert cursor.setinputsizes([int, None]) is None
    assert cursor.setoutputsize(1000) is None and cursor.setoutputsize(1000, 2) is None


def test_constructors_make_values(con: inlay.Connection) -> None:
    moments = [inlay.Date(2024, 1, 5), inlay.Time(1, 2, 3), inlay.Timestamp(2024, 1, 5, 1, 2, 3)]
    assert con.execute("SELECT ?, ?, ?", moments).fetchone() == tuple(moments)
    assert con.execute("SELECT ?", [inlay.Binary(b"\0x")]).fetchone() == (b"\0x",)
    ticks = inlay.Timestamp(2024, 1, 5, 1, 2, 3).timestamp()
    assert [inlay.DateFromTicks(ticks), inlay.TimeFromTicks(ticks), inlay.TimestampFromTicks(ticks)] == moments


def test_each_type_is_of_a_category(con: inlay.Connection) -> None:
    categories = {
        "VARCHAR": inlay.STRING,
        "UUID": inlay.STRING,
        "JSON": inlay.STRING,
        "ENUM('a', 'b')": inlay.STRING,
        "BLOB": inlay.BINARY,
        "DATE": inlay.DATETIME,
        "TIME": inlay.DATETIME,
        "TIMESTAMP": inlay.DATETIME,
        "TIMESTAMPTZ": inlay.DATETIME,
        "TIMETZ": inlay.DATETIME,
        "TIMESTAMP_NS": inlay.DATETIME,
        "INTERVAL": inlay.DATETIME,
        "UTINYINT": inlay.NUMBER,
        "DECIMAL(9, 2)": inlay.NUMBER,
        "REAL": inlay.NUMBER,
        "UHUGEINT": inlay.NUMBER,
        "BOOLEAN": inlay.NUMBER,
    }
    all_of_them = [inlay.STRING, inlay.BINARY, inlay.NUMBER, inlay.DATETIME, inlay.ROWID]
    for name, category in categories.items():
        found = con.execute(f"SELECT NULL::{name}").description[0][1]
        assert [known for known in all_of_them if known == found] == [category], name
