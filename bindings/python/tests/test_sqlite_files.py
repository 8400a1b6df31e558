"""ATTACH of files that SQLite wrote, `sqlite_scan`, and COPY FROM DATABASE."""

from __future__ import annotations

import datetime
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

import inlay

SCHEMA = """
CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, born DATE, score REAL DEFAULT 1.5);
CREATE TABLE book (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    author INTEGER NOT NULL REFERENCES author (id) ON DELETE CASCADE,
    title VARCHAR(80) NOT NULL,
    price DECIMAL(10, 2),
    sold BOOLEAN DEFAULT 0,
    added DATETIME DEFAULT CURRENT_TIMESTAMP,
    cover BLOB
);
CREATE INDEX book_title ON book (title);
CREATE TABLE tag (book INT, word TEXT, PRIMARY KEY (book, word)) WITHOUT ROWID;
CREATE TABLE loose (a, b, c, d);
CREATE VIEW titles AS SELECT a.name, b.title FROM author a JOIN book b ON b.author = a.id;
CREATE VIEW halves AS SELECT id / 2 AS half, count(*) AS n FROM book GROUP BY id / 2;
INSERT INTO author VALUES (1, 'Ada', '1815-12-10', 2), (2, 'Grace', NULL, NULL);
INSERT INTO book (author, title, price, sold, added, cover) VALUES
    (1, 'Notes', 9.5, 1, '2024-05-06 07:08:09', x'00ff'), (2, 'COBOL', 3, 0, 1700000000, NULL);
INSERT INTO tag VALUES (1, 'x'), (1, 'y'), (2, 'x');
INSERT INTO loose VALUES (1, 2, 'p', x'01'), (NULL, 2.5, 'q', 'text');
"""


def made(path: Path, script: str = SCHEMA) -> str:
    with sqlite3.connect(path) as con:
        con.executescript(script)
    con.close()
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return made(tmp_path / "books.db")


@pytest.fixture
def books(con: inlay.Connection, file: str) -> inlay.Connection:
    con.execute(f"ATTACH '{file}' AS books (TYPE sqlite)")
    return con


def test_tables_are_read_as_they_are(books: inlay.Connection) -> None:
    assert books.execute("SELECT * FROM books.author ORDER BY id").fetchall() == [
        (1, "Ada", datetime.date(1815, 12, 10), 2.0),
        (2, "Grace", None, None),
    ]
    rows = books.execute("SELECT * FROM books.main.book ORDER BY id").fetchall()
    assert rows[0] == (1, 1, "Notes", 9.5, 1, datetime.datetime(2024, 5, 6, 7, 8, 9), b"\x00\xff")
    assert rows[1] == (2, 2, "COBOL", 3.0, 0, datetime.datetime(2023, 11, 14, 22, 13, 20), None)
    assert books.execute("SELECT count(*) FROM books.tag").fetchone() == (3,)
    assert books.execute("SELECT word FROM books.tag WHERE book = 1 ORDER BY word").fetchall() == [("x",), ("y",)]


def test_names_are_found_without_the_database_after_use(books: inlay.Connection) -> None:
    books.execute("USE books")
    sql = "SELECT a.name, t.word FROM author a JOIN book b ON a.id = b.author JOIN tag t ON t.book = b.id ORDER BY 1, 2"
    assert books.execute(sql).fetchall() == [("Ada", "x"), ("Ada", "y"), ("Grace", "x")]
    assert [row[0] for row in books.execute("SHOW TABLES").fetchall()] == [
        "author",
        "book",
        "halves",
        "loose",
        "tag",
        "titles",
    ]


def test_views_are_those_of_sqlite(books: inlay.Connection) -> None:
    assert books.execute("SELECT * FROM books.titles ORDER BY 1").fetchall() == [("Ada", "Notes"), ("Grace", "COBOL")]
    # Whole numbers divide to whole ones there.
    assert books.execute("SELECT half, n FROM books.halves ORDER BY 1").fetchall() == [(0, 1), (1, 1)]


def test_columns_without_a_type_have_that_of_their_rows(books: inlay.Connection) -> None:
    assert [row[1] for row in books.execute("DESCRIBE SELECT * FROM books.loose").fetchall()] == [
        "BIGINT",
        "DOUBLE",
        "VARCHAR",
        "BLOB",
    ]
    assert books.execute("SELECT * FROM books.loose").fetchall() == [
        (1, 2.0, "p", b"\x01"),
        (None, 2.5, "q", b"text"),
    ]


def test_types_follow_what_is_declared(con: inlay.Connection, tmp_path: Path) -> None:
    declared = {
        "TINYINT": "BIGINT",
        "UNSIGNED BIG INT": "BIGINT",
        "BOOLEAN": "BIGINT",
        "CHARACTER(20)": "VARCHAR",
        "CLOB": "VARCHAR",
        "NVARCHAR(5)": "VARCHAR",
        "BLOB": "BLOB",
        "REAL": "DOUBLE",
        "DOUBLE PRECISION": "DOUBLE",
        "FLOAT": "DOUBLE",
        "NUMERIC": "DOUBLE",
        "DECIMAL(10,5)": "DOUBLE",
        "DATE": "DATE",
        "DATETIME": "TIMESTAMP",
        "TIMESTAMP": "TIMESTAMP",
        "JSON": "VARCHAR",
        "UUID": "VARCHAR",
        "FLOATING POINT": "BIGINT",
    }
    columns = ", ".join(f'"c{i}" {ty}' for i, ty in enumerate(declared))
    path = made(tmp_path / "types.db", f"CREATE TABLE t ({columns})")
    con.execute(f"ATTACH '{path}' AS f")
    assert [row[1] for row in con.execute("DESCRIBE f.t").fetchall()] == list(declared.values())
    assert con.execute("SELECT * FROM f.t").fetchall() == []


def test_a_value_that_does_not_fit_is_named(con: inlay.Connection, tmp_path: Path) -> None:
    path = made(
        tmp_path / "odd.db",
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, d DATE, s TEXT);
        INSERT INTO t VALUES (1, 5, '2024-01-01', 'a'), (7, 'many', '2024-01-02', 'b'), (8, 6, 'soon', x'ff');
    """,
    )
    con.execute(f"ATTACH '{path}' AS odd")
    said = r'column "t"."n" is declared INT and read as BIGINT, which the TEXT .many. is not \(rowid 7\)'
    with pytest.raises(inlay.Error, match=said):
        con.execute("SELECT sum(n) FROM odd.t")
    with pytest.raises(inlay.Error, match=r"\"d\".*DATE.*'soon'.*rowid 8"):
        con.execute("SELECT d FROM odd.t")
    with pytest.raises(inlay.Error, match=r"\"s\".*BLOB of 1 bytes.*rowid 8"):
        con.execute("SELECT s FROM odd.t")
    # What is not read is not in the way.
    assert con.execute("SELECT sum(id) FROM odd.t").fetchone() == (16,)
    con.execute("DETACH odd")
    con.execute("SET sqlite_all_varchar = true")
    con.execute(f"ATTACH '{path}' AS odd")
    assert con.execute("SELECT n, d FROM odd.t ORDER BY id::BIGINT").fetchall() == [
        ("5", "2024-01-01"),
        ("many", "2024-01-02"),
        ("6", "soon"),
    ]


def test_dates_and_times_are_read_however_they_are_written(con: inlay.Connection, tmp_path: Path) -> None:
    script = """CREATE TABLE t (d DATE, t DATETIME);
        INSERT INTO t VALUES ('2024-02-29', '2024-02-29 23:59:59'), ('0001-01-01', '0001-01-01T00:00:00'),
            ('9999-12-31', '2024-01-02 03:04:05.678901'), (86400, '2024-01-02'), (-0.5, 0.25),
            (' 2024-01-02 ', -1.5);"""
    con.execute(f"ATTACH '{made(tmp_path / 'd.db', script)}' AS f")
    at, day = datetime.datetime, datetime.date
    assert con.execute("SELECT * FROM f.t").fetchall() == [
        (day(2024, 2, 29), at(2024, 2, 29, 23, 59, 59)),
        (day(1, 1, 1), at(1, 1, 1)),
        (day(9999, 12, 31), at(2024, 1, 2, 3, 4, 5, 678901)),
        (day(1970, 1, 2), at(2024, 1, 2)),
        (day(1969, 12, 31), at(1970, 1, 1, 0, 0, 0, 250000)),
        (day(2024, 1, 2), at(1969, 12, 31, 23, 59, 58, 500000)),
    ]
    for bad in ["'2023-02-29'", "'2024-1-x2'", "'0000-00-00'", "x'00'"]:
        script = f"CREATE TABLE t (d DATE); INSERT INTO t VALUES ({bad})"
        path = made(tmp_path / f"bad{abs(hash(bad))}.db", script)
        with pytest.raises(inlay.Error, match="read as DATE, which the"):
            con.execute(f"SELECT * FROM sqlite_scan('{path}', 't')")


def test_numbers_that_no_double_is_are_refused(con: inlay.Connection, tmp_path: Path) -> None:
    path = made(tmp_path / "n.db", "CREATE TABLE t (x NUMERIC); INSERT INTO t VALUES (9007199254740993)")
    con.execute(f"ATTACH '{path}' AS n")
    with pytest.raises(inlay.Error, match="9007199254740993"):
        con.execute("SELECT x FROM n.t")


def test_limits_of_values(con: inlay.Connection, tmp_path: Path) -> None:
    path = str(tmp_path / "edge.db")
    with sqlite3.connect(path) as lite:
        lite.execute("CREATE TABLE t (i INTEGER, r REAL, s TEXT, b BLOB)")
        lite.execute("INSERT INTO t VALUES (?, ?, ?, ?)", (-(2**63), float("inf"), "", b""))
        lite.execute("INSERT INTO t VALUES (?, ?, ?, ?)", (2**63 - 1, 5e-324, "é\U0001f600", b"\0" * 70_000))
    lite.close()
    con.execute(f"ATTACH '{path}' AS edge")
    assert con.execute("SELECT * FROM edge.t").fetchall() == [
        (-(2**63), float("inf"), "", b""),
        (2**63 - 1, 5e-324, "é\U0001f600", b"\0" * 70_000),
    ]


def test_scripts_of_duckdb_load_the_extension(con: inlay.Connection) -> None:
    con.execute("INSTALL sqlite; LOAD sqlite; INSTALL sqlite_scanner")


def test_one_table_is_read_without_attaching(con: inlay.Connection, file: str) -> None:
    names = con.execute(f"SELECT name FROM sqlite_scan('{file}', 'author') ORDER BY 1")
    assert names.fetchall() == [("Ada",), ("Grace",)]
    assert con.execute(f"SELECT count(*) FROM sqlite_scan('{file}', 'titles')").fetchone() == (2,)
    with pytest.raises(inlay.Error, match='"nothing" does not exist'):
        con.execute(f"SELECT * FROM sqlite_scan('{file}', 'nothing')")
    with pytest.raises(inlay.Error, match="takes a file and a table"):
        con.execute(f"SELECT * FROM sqlite_scan('{file}')")


def test_conditions_find_what_they_would_find_here(books: inlay.Connection) -> None:
    assert books.execute("SELECT title FROM books.book WHERE id = 2").fetchall() == [("COBOL",)]
    assert books.execute("SELECT id FROM books.book WHERE title = 'Notes'").fetchall() == [(1,)]
    assert books.execute("SELECT id FROM books.book WHERE title = 'notes'").fetchall() == []
    assert books.execute("SELECT id FROM books.book WHERE id > 1 AND id < 5").fetchall() == [(2,)]
    assert books.execute("SELECT id FROM books.book WHERE id IN (2, 3)").fetchall() == [(2,)]
    assert books.execute("SELECT id FROM books.book WHERE cover IS NULL").fetchall() == [(2,)]
    assert books.execute("SELECT a FROM books.loose WHERE c = 'p'").fetchall() == [(1,)]
    assert books.execute("SELECT id FROM books.book ORDER BY id LIMIT 1").fetchall() == [(1,)]


def test_other_collations_hide_nothing(con: inlay.Connection, tmp_path: Path) -> None:
    path = made(
        tmp_path / "c.db",
        """
        CREATE TABLE t (s TEXT COLLATE NOCASE, n NUMERIC, j JSON);
        INSERT INTO t VALUES ('a', 1, 5), ('A', 2, '5'), ('b', 3, 'x');
        CREATE INDEX i ON t (s);
    """,
    )
    con.execute(f"ATTACH '{path}' AS c")
    assert con.execute("SELECT n FROM c.t WHERE s = 'a'").fetchall() == [(1.0,)]
    assert con.execute("SELECT n FROM c.t WHERE s >= 'a' ORDER BY n").fetchall() == [(1.0,), (3.0,)]
    assert con.execute("SELECT n FROM c.t WHERE j = '5' ORDER BY n").fetchall() == [(1.0,), (2.0,)]


def test_changes_are_refused_and_say_what_to_do(books: inlay.Connection) -> None:
    for sql in [
        "INSERT INTO books.author VALUES (3, 'x', NULL, NULL)",
        "UPDATE books.author SET name = 'x'",
        "DELETE FROM books.author",
        "DROP TABLE books.author",
        "ALTER TABLE books.author ADD COLUMN x INTEGER",
        "CREATE TABLE books.new (x INTEGER)",
        "CREATE VIEW books.new AS SELECT 1",
        "CREATE INDEX i ON books.author (name)",
        "TRUNCATE books.author",
        "COMMENT ON TABLE books.author IS 'x'",
        "COPY books.author FROM 'x.csv'",
    ]:
        with pytest.raises(inlay.Error, match=r"only read.*(?s:.*)CREATE TABLE ... AS SELECT") as failure:
            books.execute(sql)
        assert "COPY FROM DATABASE" in str(failure.value), sql
    assert books.execute("SELECT count(*) FROM books.author").fetchone() == (2,)
    with pytest.raises(inlay.Error, match="only read"):
        books.execute("ATTACH 'x.db' AS x (TYPE sqlite, READ_WRITE)")


def test_constraints_are_in_the_catalog(books: inlay.Connection) -> None:
    found = books.execute("""SELECT table_name, constraint_type FROM duckdb_constraints()
        WHERE database_name = 'books' AND constraint_type <> 'NOT NULL' ORDER BY 1, 2""").fetchall()
    assert found == [
        ("author", "PRIMARY KEY"),
        ("author", "UNIQUE"),
        ("book", "FOREIGN KEY"),
        ("book", "PRIMARY KEY"),
        ("tag", "PRIMARY KEY"),
    ]
    assert books.execute("SELECT readonly FROM duckdb_databases() WHERE database_name = 'books'").fetchone() == (True,)


def test_copies_bring_keys_defaults_indexes_and_views(books: inlay.Connection) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        books.execute("COPY FROM DATABASE books TO memory")
    assert any('view "halves" is left out' in str(warning.message) for warning in told)
    assert books.execute("SELECT * FROM memory.titles ORDER BY 1").fetchall() == [("Ada", "Notes"), ("Grace", "COBOL")]
    books.execute("DETACH books")
    books.execute("INSERT INTO book (author, title) VALUES (2, 'More')")
    assert books.execute("SELECT id, sold FROM book WHERE title = 'More'").fetchone() == (3, 0)
    with pytest.raises(inlay.IntegrityError):
        books.execute("INSERT INTO book (author, title) VALUES (9, 'None')")
    with pytest.raises(inlay.IntegrityError):
        books.execute("INSERT INTO author (name) VALUES ('Ada')")
    books.execute("INSERT INTO author (name) VALUES ('Barbara')")
    # The number of the row that failed is gone.
    assert books.execute("SELECT id, score FROM author WHERE name = 'Barbara'").fetchone() == (4, 1.5)
    assert books.execute("SELECT index_name FROM duckdb_indexes()").fetchall() == [("book_title",)]


def test_create_table_as_copies_one(books: inlay.Connection) -> None:
    books.execute("CREATE TABLE mine AS SELECT * FROM books.book")
    assert books.execute("SELECT count(*) FROM mine").fetchone() == (2,)


def test_export_writes_the_rows(books: inlay.Connection, tmp_path: Path) -> None:
    books.execute("USE books")
    books.execute(f"EXPORT DATABASE '{tmp_path / 'out'}' (FORMAT csv)")
    assert "Grace" in (tmp_path / "out" / "author.csv").read_text()


def test_a_transaction_sees_one_moment(con: inlay.Connection, tmp_path: Path) -> None:
    for mode in ["DELETE", "WAL"]:
        path = str(tmp_path / f"{mode}.db")
        lite = sqlite3.connect(path, timeout=0.1)
        lite.execute(f"PRAGMA journal_mode = {mode}")
        lite.execute("CREATE TABLE t (x INT)")
        lite.execute("INSERT INTO t VALUES (1)")
        lite.commit()
        con.execute(f"ATTACH '{path}' AS {mode}")
        con.execute("BEGIN")
        assert con.execute(f"SELECT count(*) FROM {mode}.t").fetchone() == (1,)
        lite.execute("INSERT INTO t VALUES (2)")
        if mode == "WAL":
            lite.commit()
        assert con.execute(f"SELECT count(*) FROM {mode}.t a, {mode}.t b").fetchone() == (1,)
        con.execute("COMMIT")
        lite.commit()
        assert con.execute(f"SELECT count(*) FROM {mode}.t").fetchone() == (2,)
        con.execute(f"DETACH {mode}")
        lite.close()


def test_nothing_stays_locked_between_statements(books: inlay.Connection, file: str) -> None:
    for _ in range(3):
        assert books.execute("SELECT count(*) FROM books.author").fetchone()
        with sqlite3.connect(file, timeout=0) as lite:
            lite.execute("INSERT INTO author (name) VALUES (hex(randomblob(8)))")
        lite.close()
    assert books.execute("SELECT count(*) FROM books.author").fetchone() == (5,)


def test_prepared_statements_see_what_is_there_now(books: inlay.Connection, file: str) -> None:
    books.execute("PREPARE p AS SELECT count(*) FROM books.author WHERE id >= $1")
    assert books.execute("EXECUTE p(1)").fetchone() == (2,)
    with sqlite3.connect(file, timeout=0) as lite:
        lite.execute("INSERT INTO author (name) VALUES ('new')")
    lite.close()
    assert books.execute("EXECUTE p(1)").fetchone() == (3,)
    for _ in range(5):
        assert books.execute("SELECT name FROM books.author WHERE id = ?", [3]).fetchone() == ("new",)


def test_a_changed_schema_is_said(books: inlay.Connection, file: str) -> None:
    with sqlite3.connect(file) as lite:
        lite.execute("ALTER TABLE author ADD COLUMN more TEXT")
    lite.close()
    with pytest.raises(inlay.Error, match="changed since it was attached"):
        books.execute("SELECT * FROM books.author")
    books.execute("DETACH books")
    books.execute(f"ATTACH '{file}' AS books")
    assert books.execute("SELECT more FROM books.author LIMIT 1").fetchone() == (None,)


def test_a_locked_file_is_waited_for_and_then_an_error(con: inlay.Connection, file: str) -> None:
    # Locks of this process would not be seen.
    code = f"""
import sqlite3, sys
con = sqlite3.connect({file!r}, isolation_level=None)
for line in sys.stdin:
    con.execute(line)
    print("done", flush=True)
"""
    writer = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdin is not None
    assert writer.stdout is not None

    def other(sql: str) -> None:
        writer.stdin.write(sql + "\n")  # type: ignore[union-attr]
        writer.stdin.flush()  # type: ignore[union-attr]
        writer.stdout.readline()  # type: ignore[union-attr]

    other("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.3, con.interrupt)
    timer.start()
    started = time.monotonic()
    with pytest.raises(inlay.Error, match="interrupted"):
        con.execute(f"ATTACH '{file}' AS books")
    timer.join()
    assert time.monotonic() - started < 4
    other("COMMIT")
    con.execute(f"ATTACH '{file}' AS books")
    other("BEGIN EXCLUSIVE")
    with pytest.raises(inlay.Error, match="locked by a program that writes it"):
        con.execute("SELECT * FROM books.author")
    other("COMMIT")
    assert con.execute("SELECT count(*) FROM books.author").fetchone() == (2,)
    writer.stdin.close()
    writer.wait()


def test_files_that_are_none(con: inlay.Connection, tmp_path: Path) -> None:
    with pytest.raises(inlay.Error, match=r"cannot open.*missing.db"):
        con.execute(f"ATTACH '{tmp_path / 'missing.db'}' (TYPE sqlite)")
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "text.db").write_text("no database, but longer than a header is. " * 20)
    with pytest.raises(inlay.Error, match="is no file of SQLite"):
        con.execute(f"ATTACH '{tmp_path / 'text.db'}' (TYPE sqlite)")
    with pytest.raises(inlay.Error):
        con.execute(f"ATTACH '{tmp_path}' AS folder (TYPE sqlite)")
    with pytest.raises(inlay.Error, match=r"TYPE mysql.*(?s:.*)inlay, sqlite"):
        con.execute("ATTACH 'a.db' (TYPE mysql)")
    (tmp_path / "empty.db").write_bytes(b"")
    con.execute(f"ATTACH '{tmp_path / 'empty.db'}' AS nothing (TYPE sqlite)")
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'nothing'").fetchone() == (0,)


def test_damage_is_an_error(con: inlay.Connection, tmp_path: Path) -> None:
    script = """CREATE TABLE t (x INT, s TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        INSERT INTO t SELECT i, hex(randomblob(50)) FROM n;
        CREATE INDEX i ON t (s);"""
    whole = Path(made(tmp_path / "whole.db", script)).read_bytes()
    expected = None
    for at in range(0, len(whole), 4096 * 7 + 131):
        damaged = tmp_path / f"damaged{at}.db"
        damaged.write_bytes(whole[:at] + bytes(byte ^ 0xA5 for byte in whole[at : at + 300]) + whole[at + 300 :])
        try:
            con.execute(f"ATTACH '{damaged}' AS d (TYPE sqlite)")
        except inlay.Error:
            continue
        try:
            con.execute("SELECT count(*), min(s), sum(x) FROM d.t")
            expected = con.execute("PRAGMA verify(d)").fetchall()
        except inlay.Error as error:
            assert "Internal" not in str(error)
        con.execute("DETACH d")
    assert expected is not None
    short = tmp_path / "short.db"
    short.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(inlay.Error, match="damaged"):
        con.execute(f"SELECT sum(x), max(s) FROM sqlite_scan('{short}', 't')")


def test_a_journal_left_behind_is_an_error(con: inlay.Connection, file: str, tmp_path: Path) -> None:
    code = f"""
import sqlite3, os
con = sqlite3.connect({file!r}, isolation_level=None)
con.execute("PRAGMA cache_size = 1"); con.execute("PRAGMA cache_spill = 1"); con.execute("BEGIN")
con.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
            "INSERT INTO loose SELECT i, 0.5, 'z', NULL FROM n")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Path(file + "-journal").stat().st_size > 0
    with pytest.raises(inlay.Error, match="middle of a transaction"):
        con.execute(f"ATTACH '{file}' AS books")


def test_a_log_is_read(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "wal.db"
    lite = sqlite3.connect(path)
    lite.execute("PRAGMA journal_mode = WAL")
    lite.execute("CREATE TABLE t (x INT)")
    lite.execute("INSERT INTO t VALUES (1), (2)")
    lite.commit()
    # A copy of what a program left that did not end well.
    for suffix in ["", "-wal"]:
        shutil.copy(f"{path}{suffix}", tmp_path / f"copy.db{suffix}")
    lite.close()
    con.execute(f"ATTACH '{tmp_path / 'copy.db'}' AS c")
    assert con.execute("SELECT sum(x) FROM c.t").fetchone() == (3,)


def test_long_work_of_sqlite_is_interrupted(con: inlay.Connection, tmp_path: Path) -> None:
    path = made(
        tmp_path / "slow.db",
        """
        CREATE TABLE t (x INTEGER);
        CREATE VIEW slow AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS m FROM n;
    """,
    )
    con.execute(f"ATTACH '{path}' AS s")
    threading.Timer(0.3, con.interrupt).start()
    with pytest.raises(inlay.Error, match="interrupted"):
        con.execute("SELECT * FROM s.slow")
    assert con.execute("SELECT count(*) FROM s.t").fetchone() == (0,)


def test_memory_is_asked_for(tmp_path: Path) -> None:
    path = str(tmp_path / "large.db")
    with sqlite3.connect(path) as lite:
        lite.execute("CREATE TABLE t (b BLOB)")
        lite.execute("INSERT INTO t VALUES (zeroblob(200000000))")
    lite.close()
    with inlay.connect(config={"memory_limit": "100MB"}) as con:
        con.execute(f"ATTACH '{path}' AS f")
        with pytest.raises(inlay.Error, match="memory"):
            con.execute("SELECT b FROM f.t").fetchall()
        assert con.execute("SELECT count(*) FROM f.t").fetchone() == (1,)


def test_many_rows_and_threads(con: inlay.Connection, tmp_path: Path) -> None:
    path = str(tmp_path / "many.db")
    with sqlite3.connect(path) as lite:
        lite.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, g INT, s TEXT)")
        lite.executemany("INSERT INTO t VALUES (?, ?, ?)", ((i, i % 7, str(i)) for i in range(100_000)))
    lite.close()
    con.execute(f"ATTACH '{path}' AS m")
    sums = con.execute("SELECT count(*), sum(id), count(DISTINCT s) FROM m.t")
    assert sums.fetchone() == (100_000, 4999950000, 100_000)
    assert con.execute("SELECT count(*) FROM m.t a JOIN m.t b USING (id) WHERE a.g = 3").fetchone() == (14286,)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with con.cursor() as own:
                for _ in range(5):
                    assert own.execute("SELECT count(*) FROM m.t").fetchone() == (100_000,)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_names_with_quotes_and_letters(con: inlay.Connection, tmp_path: Path) -> None:
    script = """CREATE TABLE "a ""b"" c" ("x ""y" INT, "select" INT, rowid TEXT);
        INSERT INTO "a ""b"" c" VALUES (1, 2, 'three');
        CREATE TABLE "Größe" ("Maß" INT); INSERT INTO "Größe" VALUES (4);"""
    path = made(tmp_path / "n.db", script)
    con.execute(f"ATTACH '{path}' AS n")
    assert con.execute('SELECT "x ""y", "select", rowid FROM n."a ""b"" c"').fetchall() == [(1, 2, "three")]
    assert con.execute('SELECT "Maß" FROM n."Größe"').fetchall() == [(4,)]


def test_utf16_and_full_text(con: inlay.Connection, tmp_path: Path) -> None:
    script = """PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (s TEXT); INSERT INTO t VALUES ('größer 😀');
        CREATE VIRTUAL TABLE f USING fts5 (body); INSERT INTO f VALUES ('some words');"""
    path = made(tmp_path / "u.db", script)
    con.execute(f"ATTACH '{path}' AS u")
    assert con.execute("SELECT s FROM u.t").fetchall() == [("größer 😀",)]
    assert con.execute("SELECT body FROM u.f").fetchall() == [("some words",)]
    listed = con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'u' ORDER BY 1").fetchall()
    assert [row[0] for row in listed] == ["f", "t"]


def test_keys_with_nulls_and_generated_columns(con: inlay.Connection, tmp_path: Path) -> None:
    path = made(
        tmp_path / "k.db",
        """
        CREATE TABLE t (k TEXT PRIMARY KEY, a INT CHECK (a > 0), b INT AS (a * 2) STORED);
        INSERT INTO t (k, a) VALUES (NULL, 1), (NULL, 2), ('x', 3);
        CREATE VIEW broken AS SELECT * FROM gone;
        CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT 1; END;
    """,
    )
    con.execute(f"ATTACH '{path}' AS k")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        con.execute("COPY FROM DATABASE k TO memory")
    said = "\n".join(str(warning.message) for warning in told)
    parts = ['primary key of table "t" has NULLs', "CHECK of", 'computes column "b"', 'view "broken"', 'trigger "tr"']
    for part in parts:
        assert part in said, said
    assert con.execute("SELECT * FROM memory.t ORDER BY a").fetchall() == [(None, 1, 2), (None, 2, 4), ("x", 3, 6)]


def test_the_sandbox_keeps_files_shut(file: str, tmp_path: Path) -> None:
    wal = str(tmp_path / "wal.db")
    with sqlite3.connect(wal) as lite:
        lite.execute("PRAGMA journal_mode = WAL")
        lite.execute("CREATE TABLE t (x INT)")
    lite.close()
    with inlay.connect(sandbox=True) as con:
        for sql in [
            f"ATTACH '{file}' AS b (TYPE sqlite)",
            f"ATTACH '{file}' AS b",
            f"SELECT * FROM sqlite_scan('{file}', 'author')",
        ]:
            with pytest.raises(inlay.Error, match=r"(?i)access|sandbox|reach"):
                con.execute(sql)
    config = {"allowed_paths": [file, wal], "enable_external_access": False}
    with inlay.connect(config=config) as con:
        con.execute(f"ATTACH '{file}' AS b")
        assert con.execute("SELECT count(*) FROM b.author").fetchone() == (2,)
        # A log is written beside the file, which is not allowed.
        with pytest.raises(inlay.Error, match=r"wal.db-wal"):
            con.execute(f"ATTACH '{wal}' AS w")
    link = tmp_path / "inside" / "link.db"
    link.parent.mkdir()
    link.symlink_to(file)
    config = {"allowed_directories": [str(link.parent)], "enable_external_access": False}
    with inlay.connect(config=config) as con, pytest.raises(inlay.Error):
        con.execute(f"ATTACH '{link}' AS b (TYPE sqlite)")


def test_the_library_shows_no_names_of_sqlite() -> None:
    library = Path(inlay._inlay.__file__)
    command = ["nm", "-D", "--defined-only", str(library)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not re.findall(r"\bsqlite3\w*", shown)


def shell(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inlay", *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


def test_the_shell_imports(file: str, tmp_path: Path) -> None:
    new = str(tmp_path / "new.inlay")
    done = shell("import", file, new)
    assert done.returncode == 0, done.stderr
    assert 'view "halves" is left out' in done.stderr + done.stdout
    done = shell("-csv", "-noheader", new, "SELECT name FROM author ORDER BY id")
    assert done.stdout.split() == ["Ada", "Grace"]
    done = shell("-csv", "-noheader", "import", file, stdin="SELECT count(*) FROM book;\n")
    assert done.stdout.split()[-1] == "2", done.stderr
    assert shell("import").returncode == 2
    assert shell("import", str(tmp_path / "no.db"), new).returncode == 1
