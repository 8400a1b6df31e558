"""Python's sqlite3 on Inlay: what its users rely on."""

import ctypes.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bindings.sqlite.tests.preload import LIBRARY, interpreter, preloaded


def test_rows_go_in_and_come_out_as_they_are(python):
    out = python("""
        con.execute("CREATE TABLE t (i INTEGER, r REAL, s TEXT, b BLOB)")
        con.execute("INSERT INTO t VALUES (?, ?, ?, ?)", (2**62, 1.5, "é'\\x22", b"\\x00\\xff"))
        con.execute("INSERT INTO t VALUES (NULL, NULL, NULL, NULL)")
        print(con.execute("SELECT * FROM t").fetchall())
        print([row[0] for row in con.execute("SELECT count(*), i FROM t").description])
    """)
    assert out == f"[({2**62}, 1.5, 'é\\'\"', b'\\x00\\xff'), (None, None, None, None)]\n['count(*)', 'i']\n"


def test_an_integer_primary_key_is_the_greatest_plus_one(python):
    out = python("""
        con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
        print(con.execute("INSERT INTO t (a) VALUES ('x')").lastrowid)
        print(con.execute("INSERT INTO t VALUES (?, 'y')", (40,)).lastrowid)
        print(con.execute("INSERT INTO t VALUES (?, 'z')", (None,)).lastrowid)
        con.executemany("INSERT INTO t (a) VALUES (?)", [("p",), ("q",)])
        con.execute("INSERT INTO t (a) SELECT a FROM t WHERE id < 41")
        print(con.execute("SELECT last_insert_rowid(), max(rowid), max(id) FROM t").fetchone())
        con.execute("DELETE FROM t WHERE id > 1")
        print(con.execute("INSERT INTO t DEFAULT VALUES").lastrowid)
        print(con.execute("CREATE TABLE u (a)").execute("INSERT INTO u VALUES (5)").lastrowid)
    """)
    assert out.split() == ["1", "40", "41", "(45,", "45,", "45)", "2", "1"]


def test_autoincrement_gives_no_number_twice(python):
    out = python("""
        con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT)")
        con.execute("CREATE TABLE s (id INTEGER PRIMARY KEY AUTOINCREMENT, t INTEGER REFERENCES t ON DELETE CASCADE)")
        print(con.execute("SELECT * FROM sqlite_sequence").fetchall())
        con.executemany("INSERT INTO t (a) VALUES (?)", [("x",), ("y",), ("z",)])
        con.execute("DELETE FROM t WHERE id >= 2")
        print(con.execute("SELECT * FROM sqlite_sequence").fetchall())
        print(con.execute("INSERT INTO t (a) VALUES ('p')").lastrowid)
        con.execute("DELETE FROM t")
        con.execute("INSERT OR REPLACE INTO t VALUES (20, 'q')")
        print(con.execute("SELECT name, seq FROM sqlite_sequence WHERE name = 't'").fetchall())
        con.execute("DELETE FROM t")
        con.execute("UPDATE sqlite_sequence SET seq = 0 WHERE name IN ('t')")
        print(con.execute("INSERT INTO t (a) VALUES ('p')").lastrowid)
        con.execute("ALTER TABLE t RENAME TO u")
        con.execute("INSERT INTO u (a) VALUES ('p')")
        print(con.execute("SELECT * FROM sqlite_sequence").fetchall())
        con.execute("DROP TABLE s")
        con.execute("DROP TABLE u")
        print(con.execute("SELECT * FROM sqlite_sequence").fetchall())
        print(con.execute("SELECT sql FROM sqlite_master WHERE name = 'sqlite_sequence'").fetchall())
        other = sqlite3.connect(":memory:")
        other.executescript("CREATE TABLE v (id INTEGER PRIMARY KEY AUTOINCREMENT); DELETE FROM sqlite_sequence")
        other.execute("INSERT INTO sqlite_sequence VALUES ('v', 3)")
        print(other.execute("INSERT INTO v DEFAULT VALUES").lastrowid)
        try:
            con.execute("DROP TABLE sqlite_sequence")
        except sqlite3.OperationalError as error:
            print(error)
    """)
    assert out.splitlines() == [
        "[]",
        "[('t', 3)]",
        "4",
        "[('t', 20)]",
        "1",
        "[('u', 2)]",
        "[]",
        "[('CREATE TABLE sqlite_sequence(name,seq)',)]",
        "4",
        "table sqlite_sequence may not be dropped",
    ]


def test_texts_are_the_numbers_that_they_begin_with(python):
    out = python("""
        con.execute("CREATE TABLE t (a TEXT)")
        con.executemany("INSERT INTO t VALUES (?)", [("5x",), ("x",), (" 1e1",), (None,)])
        print(con.execute("SELECT a + 1, a * 2 FROM t").fetchall())
        for sql in ("SELECT 1 UNION ALL SELECT 'a'", "SELECT a FROM t EXCEPT SELECT 5"):
            try:
                con.execute(sql)
            except sqlite3.Error as error:
                print("texts on one side and numbers on the other" in str(error))
        print(con.execute("SELECT NULL UNION ALL SELECT 'a' UNION ALL SELECT a FROM t WHERE a = 'x'").fetchall())
    """)
    assert out.splitlines() == [
        "[(6.0, 10.0), (1.0, 0.0), (11.0, 20.0), (None, None)]",
        "True",
        "True",
        "[(None,), ('a',), ('x',)]",
    ]


def test_errors_have_the_codes_and_texts_of_sqlite(python):
    out = python("""
        con.isolation_level = None
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE, c INT NOT NULL, CHECK (c > 0))")
        con.execute("INSERT INTO t VALUES (1, 'x', 1)")
        for sql in ("SELECT * FROM nosuch", "SELECT x FROM t", "SELECT f(1)", "SELEC 1", "SELECT 1 FROM",
                    "INSERT INTO t VALUES (1, 'y', 1)", "INSERT INTO t VALUES (2, 'x', 1)",
                    "INSERT INTO t VALUES (2, 'y', NULL)", "INSERT INTO t VALUES (2, 'y', 0)",
                    "INSERT INTO t VALUES (2, 'y', 'z')", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "COMMIT"):
            try:
                con.execute(sql)
                print("nothing")
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", "-")
                print(type(error).__name__, "-" if code is None else code, error)
    """)
    lines = [" ".join(line.split(" ")[:1] + line.split(" ")[2:]) for line in out.splitlines()]
    codes = {line.split(" ")[1] for line in out.splitlines() if "IntegrityError UNIQUE" in line}
    assert lines == [
        "OperationalError no such table: nosuch",
        "OperationalError no such column: x",
        "OperationalError no such function: f",
        'OperationalError near "SELEC": syntax error',
        "OperationalError incomplete input",
        "IntegrityError UNIQUE constraint failed: t.a",
        "IntegrityError UNIQUE constraint failed: t.b",
        "IntegrityError NOT NULL constraint failed: t.c",
        "IntegrityError CHECK constraint failed: c > 0",
        "IntegrityError column t.c of type BIGINT cannot hold 'z'",
        "OperationalError table t already exists",
        "OperationalError table t has 3 columns but 1 values were supplied",
        "OperationalError cannot commit - no transaction is active",
    ]
    assert codes in (set(), {"1555", "2067"})


def test_a_column_without_a_type_has_that_of_its_first_value(python):
    out = python("""
        con.execute("CREATE TABLE movie (title, year, score)")
        con.executemany("INSERT INTO movie VALUES (?, ?, ?)", [("Life of Brian", 1979, 8.0), ("Holy Grail", 1975, 8)])
        print(con.execute("SELECT title, year, score FROM movie ORDER BY year").fetchall())
        print(con.execute("SELECT avg(year), sum(score), typeof(year) FROM movie").fetchall())
        try:
            con.execute("INSERT INTO movie VALUES (1, 'x', 'y')")
        except sqlite3.Error as error:
            print(error)
    """)
    assert out.splitlines() == [
        "[('Holy Grail', 1975, 8.0), ('Life of Brian', 1979, 8.0)]",
        "[(1977.0, 16.0, 'integer')]",
        "column movie.title of type VARCHAR cannot hold 1",
    ]


def test_functions_of_the_program(python):
    out = python("""
        class Total:
            def __init__(self): self.sum = 0
            def step(self, x): self.sum += x
            def finalize(self): return self.sum
        con.create_function("twice", 1, lambda x: x * 2)
        con.create_function("any", -1, lambda *x: len(x), deterministic=True)
        con.create_aggregate("total_of", 1, Total)
        con.execute("CREATE TABLE t (a INTEGER)")
        con.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (3,)])
        print(con.execute("SELECT twice(a), twice('x'), any(1, 2, a), any() FROM t WHERE twice(a) = 4").fetchall())
        print(con.execute("SELECT total_of(a) FROM t").fetchone())
        con.create_function("fails", 0, lambda: 1 / 0)
        try:
            con.execute("SELECT fails()").fetchone()
        except sqlite3.OperationalError as error:
            print(error)
        print(con.execute("SELECT 1").fetchone())
    """)
    assert out.splitlines() == ["[(4, 'xx', 3, 0)]", "(6,)", "user-defined function raised exception", "(1,)"]


def test_what_tools_ask_of_tables(python):
    out = python("""
        con.executescript('''
            CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR(30) NOT NULL DEFAULT 'x');
            CREATE TABLE child (a INT, b REFERENCES parent (id) ON DELETE CASCADE, UNIQUE (a),
                CONSTRAINT positive CHECK (a
                    > 0));
            CREATE INDEX by_b ON child (b);
            CREATE VIEW v AS SELECT a FROM child;
            PRAGMA user_version = 7;
        ''')
        for sql in ("PRAGMA table_info(parent)", "PRAGMA main.table_info('child')",
                    "PRAGMA foreign_key_list(child)", "PRAGMA index_list(child)", "PRAGMA index_info('by_b')",
                    "PRAGMA foreign_keys", "PRAGMA user_version",
                    "SELECT name, type FROM pragma_table_info('parent')",
                    "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p "
                    "WHERE m.type = 'table' AND p.pk = 1",
                    "SELECT type, name, sql FROM sqlite_master"):
            print(con.execute(sql).fetchall())
    """)
    assert out.splitlines() == [
        "[(0, 'id', 'INTEGER', 0, None, 1), (1, 'name', 'VARCHAR(30)', 1, \"'x'\", 0)]",
        "[(0, 'a', 'INT', 0, None, 0), (1, 'b', '', 0, None, 0)]",
        "[(0, 0, 'parent', 'b', 'id', 'NO ACTION', 'CASCADE', 'NONE')]",
        "[(0, 'by_b', 0, 'c', 0), (1, 'sqlite_autoindex_child_1', 1, 'u', 0)]",
        "[(0, 1, 'b')]",
        "[(0,)]",
        "[(7,)]",
        "[('id', 'INTEGER'), ('name', 'VARCHAR(30)')]",
        "[('parent', 'id')]",
        "[('table', 'parent', \"CREATE TABLE parent (id INTEGER PRIMARY KEY, "
        "name VARCHAR(30) NOT NULL DEFAULT 'x')\"), "
        "('table', 'child', 'CREATE TABLE child (a INT, b REFERENCES parent (id) ON DELETE CASCADE, UNIQUE (a),\\n"
        "        CONSTRAINT positive CHECK (a\\n            > 0))'), "
        "('index', 'by_b', 'CREATE INDEX by_b ON child (b)'), ('view', 'v', 'CREATE VIEW v AS SELECT a FROM child')]",
    ]


def test_transactions_and_savepoints(python):
    out = python("""
        con.isolation_level = None
        con.execute("CREATE TABLE t (a INTEGER)")
        con.execute("BEGIN IMMEDIATE")
        con.execute("INSERT INTO t VALUES (1)")
        print(con.in_transaction)
        con.execute("SAVEPOINT s")
        con.execute("INSERT INTO t VALUES (2)")
        con.execute("ROLLBACK TO s")
        con.execute("RELEASE s")
        con.execute("COMMIT")
        con.execute("SAVEPOINT outer_one")
        con.execute("INSERT INTO t VALUES (3)")
        con.execute("RELEASE outer_one")
        print(con.in_transaction, con.execute("SELECT a FROM t").fetchall(), con.total_changes)
    """)
    assert out.splitlines() == ["True", "False [(1,), (3,)] 3"]


def test_dates_formats_and_kinds(python):
    out = python("""
        print(con.execute('''
            SELECT date('2024-02-29', '+1 year'), strftime('%s', '1970-01-02'), julianday('2000-01-01 12:00'),
                datetime(0, 'unixepoch'), printf('%05.1f|%-3d|%s', 2.25, 7, 'x'), hex('ab'), typeof(1.0), typeof(x'00'),
                'abc' LIKE 'A%', 'abc' GLOB 'A*', max(1, 3, 2), iif(1, 'y', 'n'), CAST('12x' AS INTEGER), 7 / 2, 1 / 0,
                substr('hello', -3), quote('it'' s'), 1 == 1, 'a' || 1
        ''').fetchone())
    """)
    assert out.strip() == (
        "('2025-03-01', '86400', 2451545.0, '1970-01-01 00:00:00', '002.2|7  |x', '6162', 'real', 'blob', "
        "1, 0, 3, 'y', 12, 3, None, 'llo', \"'it'' s'\", 1, 'a1')"
    )


def test_a_file_is_read_again_and_another_process_waits_for_it(python, tmp_path):
    path = str(tmp_path / "x.db")
    python(
        """
        con = sqlite3.connect(sys.argv[1])
        con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, d date)")
        con.execute("INSERT INTO t (d) VALUES ('2024-01-01')")
        con.commit()
    """,
        path,
    )
    holder = textwrap.dedent("""
        import sqlite3, sys
        con = sqlite3.connect(sys.argv[1])
        print(con.execute("SELECT * FROM t").fetchall(), flush=True)
        sys.stdin.read()
    """)
    command = [interpreter(), "-c", holder, path]
    first = subprocess.Popen(command, env=preloaded(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout.readline() == "[(1, '2024-01-01')]\n"
        out = python(
            """
            con = sqlite3.connect(sys.argv[1], timeout=0.1)
            try:
                con.execute("INSERT INTO t (d) VALUES ('x')")
            except sqlite3.OperationalError as error:
                print(error)
        """,
            path,
        )
        assert out == "database is locked\n"
    finally:
        first.communicate("")


def test_threads_insert_into_one_file(python, tmp_path):
    out = python(
        """
        import threading
        path = sys.argv[1]
        first = sqlite3.connect(path)
        first.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, thread INTEGER)")
        first.commit()
        failed = []
        def work(number):
            own = sqlite3.connect(path, timeout=20, isolation_level=None)
            for _ in range(50):
                try:
                    own.execute("INSERT INTO t (thread) VALUES (?)", (number,))
                except sqlite3.Error as error:
                    failed.append(error)
            own.close()
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(failed, first.execute("SELECT count(*), count(DISTINCT id), max(id) FROM t").fetchone())
    """,
        str(tmp_path / "x.db"),
    )
    assert out == "[] (400, 400, 400)\n"


def asked(python, *statements: str, setup: str = "") -> list[str]:
    """What each statement gives: its rows, or the text of its error."""
    out = python(f"""
con = sqlite3.connect(':memory:', isolation_level=None)
{setup}
for sql in {statements!r}:
    try:
        print(con.execute(sql).fetchall())
    except sqlite3.Error as error:
        print(error)
""")
    return out.splitlines()


def test_rowid_is_the_number_of_the_table_that_is_meant(python):
    assert asked(
        python,
        "CREATE TABLE t (a)",
        "CREATE TABLE k (id INTEGER PRIMARY KEY, a)",
        "CREATE TABLE own (rowid TEXT)",
        "INSERT INTO t VALUES (10), (20), (30)",
        "INSERT INTO own VALUES ('me')",
        "INSERT INTO k (id, a) VALUES (7, 10), (8, 20) RETURNING rowid",
        'SELECT rowid, t.rowid, [rowid], "rowid", `_rowid_`, t."oid", main.t.rowid FROM t ORDER BY a, rowid LIMIT 1',
        "SELECT x.rowid, y.rowid FROM k AS x JOIN t y ON x.a = y.a",
        "SELECT rowid FROM t, k",
        'SELECT rowid, "rowid", own.rowid FROM own',
        "SELECT a FROM t WHERE rowid IN (SELECT rowid - 6 FROM k)",
        "SELECT max(1, rowid, 2), s.rowid FROM (SELECT rowid FROM t) AS s",
        "DELETE FROM t WHERE t.rowid = last_insert_rowid() - 6",
        "SELECT a FROM t",
    )[5:] == [
        "[(7,), (8,)]",
        "[(1, 1, 1, 1, 1, 1, 1)]",
        "[(7, 1), (8, 2)]",
        "ambiguous column name: rowid",
        "[('me', 'me', 'me')]",
        "[(10,), (20,)]",
        "[(2, 1), (2, 2), (3, 3)]",
        "[]",
        "[(10,), (30,)]",
    ]


def test_what_would_take_all_memory_or_stack_is_an_error(python):
    given = asked(
        python,
        "SELECT zeroblob(9223372036854775807)",
        "SELECT randomblob(1000000000000)",
        "SELECT length(printf('%*d', 9000000000, 1)), length(printf('%.70000f', 1)), printf('%*d|', -3, 1)",
        "SELECT " + "max(1," * 40 + "1" + ")" * 40,
        "SELECT " + "abs(" * 9_000 + "1" + ")" * 9_000,
        "SELECT 1 LIMIT " + "LIMIT " * 5_000,
        "SELECT " + "abs(" * 990 + "1" + ")" * 990,
    )
    assert given.pop().startswith("Expression tree is too large: ")
    assert given == [
        "string or blob too big",
        "string or blob too big",
        "[(100000, 60002, '1  |')]",
        "the arguments of max() are too long",
        "Expression tree is too large (maximum depth 1000)",
        "Expression tree is too large (maximum depth 1000)",
    ]


def test_words_that_nothing_heeds_are_refused(python):
    given = asked(
        python,
        "CREATE TABLE x (a TEXT COLLATE nothing)",
        "CREATE TABLE x (a TEXT UNIQUE ON CONFLICT REPLACE)",
        "CREATE TABLE x (a, PRIMARY KEY (a) ON CONFLICT IGNORE)",
        "CREATE TABLE t (a TEXT COLLATE NOCASE UNIQUE ON CONFLICT ABORT)",
        "UPDATE OR IGNORE t SET a = 'x'",
        "PRAGMA case_sensitive_like = 1",
        "PRAGMA ignore_check_constraints = ON",
        "INSERT INTO t VALUES ('b')",
        "SELECT a = 'B', a COLLATE BINARY = 'B' FROM t",
        "CREATE VIEW v AS SELECT f(1)",
        "CREATE INDEX i ON t (f(a))",
        "CREATE VIEW v AS SELECT * FROM pragma_table_info('t')",
        "CREATE TABLE made AS SELECT f(1) AS x",
        setup="con.create_function('f', 1, lambda x: x, deterministic=True)",
    )
    assert given == [
        "no such collation sequence: nothing",
        "ON CONFLICT REPLACE of a key or column is not supported by Inlay",
        "ON CONFLICT IGNORE of a key or column is not supported by Inlay",
        "[]",
        "UPDATE OR IGNORE is not supported by Inlay",
        "PRAGMA case_sensitive_like is not supported by Inlay",
        "PRAGMA ignore_check_constraints is not supported by Inlay",
        "[]",
        "[(1, 0)]",
        "f() of the program cannot be used in a definition",
        "f() of the program cannot be used in a definition",
        "pragma_table_info cannot be used in a definition",
        "[]",
    ]


def test_checks_find_what_is_wrong(python):
    assert asked(
        python,
        "CREATE TABLE p (id INTEGER PRIMARY KEY)",
        "CREATE TABLE c (x REFERENCES p)",
        "INSERT INTO p VALUES (1)",
        "INSERT INTO c VALUES (1), (2), (NULL)",
        "PRAGMA foreign_key_check",
        "PRAGMA integrity_check",
    )[4:] == ["[('c', 2, 'p', 0)]", "[('ok',)]"]


def test_texts_of_what_is_made_stay_true(python):
    assert asked(
        python,
        "CREATE TABLE t (a)",
        "CREATE INDEX i ON t (a)",
        "CREATE INDEX IF NOT EXISTS i ON u (b)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIEW IF NOT EXISTS v AS SELECT 2",
        "ATTACH ':memory:' AS other",
        "CREATE TABLE other.t (z)",
        "ALTER TABLE other.t ADD COLUMN y INT",
        "SELECT sql FROM sqlite_master",
        "CREATE TABLE r (int INT, b INT CHECK (int > 0), UNIQUE (int))",
        "ALTER TABLE r RENAME COLUMN int TO n",
        "SELECT sql FROM sqlite_master WHERE name = 'r'",
        'CREATE TABLE made AS SELECT 1 AS "a b"',
        "SELECT sql FROM sqlite_master WHERE name = 'made'",
    )[8:] == [
        "[('CREATE TABLE t (a)',), ('CREATE INDEX i ON t (a)',), ('CREATE VIEW v AS SELECT 1',)]",
        "[]",
        "[]",
        "[('CREATE TABLE r (n INT, b INT CHECK (n > 0), UNIQUE (n))',)]",
        "[]",
        "[('CREATE TABLE made(\"a b\" INT)',)]",
    ]


def test_values_of_one_statement_are_kept_as_they_are(python):
    assert asked(
        python,
        "CREATE TABLE t (x)",
        "INSERT INTO t VALUES (1.5), (2)",
        "SELECT x FROM t",
        "CREATE TABLE u (x)",
        "INSERT INTO u VALUES (1), ('x')",
        "CREATE TABLE k (id INTEGER PRIMARY KEY, a)",
        "WITH c (x) AS (SELECT 5) INSERT INTO k (a) SELECT x FROM c",
        "SELECT * FROM k",
        "SELECT quote(0.1 + 0.2), quote(1.5), CAST('3.0000000000000004e-01' AS REAL) = 0.1 + 0.2",
        "SELECT CAST(x'ff' AS TEXT)",
        ";SELECT 1",
    )[2:] == [
        "[(1.5,), (2.0,)]",
        "[]",
        "column u.x of type BIGINT cannot hold 'x'",
        "[]",
        "[]",
        "[(1, 5)]",
        "[('3.0000000000000004e-01', '1.5', 1)]",
        "a text that is not UTF-8 cannot be stored",
        "[(1,)]",
    ]
    out = python("""
        con.execute("CREATE TABLE w (a INTEGER, b TEXT)")
        try:
            con.execute("INSERT INTO w VALUES (:z, :z)", {"z": "01234"})
        except sqlite3.Error as error:
            print(error)
        con.execute("INSERT INTO w VALUES (?, ?)", ("01234", "01234"))
        print(con.execute("SELECT * FROM w").fetchall())
    """)
    assert out.splitlines() == [
        "parameter 1 is used more than once, and column w.a needs '01234' as 1234",
        "[(1234, '01234')]",
    ]


def test_the_authorizer_is_asked(python):
    out = python("""
        con = sqlite3.connect(":memory:", isolation_level=None)
        con.execute("CREATE TABLE k (a)")
        seen, answer = [], lambda code: sqlite3.SQLITE_OK
        def authorizer(*given):
            seen.append((given[0], given[1], given[2]))
            return answer(given[0])
        con.set_authorizer(authorizer)
        for sql in ("CREATE TABLE t (b)", "CREATE INDEX i ON t (b)", "ALTER TABLE t RENAME TO u", "DROP INDEX i",
                    "INSERT INTO u SELECT * FROM k", "DROP TABLE u", "CREATE VIEW v AS SELECT 1", "DROP VIEW v",
                    "ATTACH ':memory:' AS o", "DETACH o", "SAVEPOINT s", "RELEASE s"):
            seen.clear()
            con.execute(sql)
            print(seen)
        answer = lambda code: sqlite3.SQLITE_IGNORE if code == sqlite3.SQLITE_READ else sqlite3.SQLITE_OK
        try:
            print(con.execute("SELECT a FROM k").fetchall())
        except sqlite3.Error as error:
            print(error)
    """)
    assert out.splitlines() == [
        "[(2, 't', None)]",
        "[(1, 'i', 't')]",
        "[(26, 'main', 't')]",
        "[(10, 'i', None)]",
        "[(18, 'u', None), (21, None, None), (20, 'k', 'a')]",
        "[(11, 'u', None)]",
        "[(8, 'v', None)]",
        "[(17, 'v', None)]",
        "[(24, ':memory:', None)]",
        "[(25, 'o', None)]",
        "[(32, 'BEGIN', 's')]",
        "[(32, 'RELEASE', 's')]",
        "access to k.a is prohibited",
    ]


def test_statements_read_no_files(python, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    places = [f"SELECT * FROM '{path}'", f'SELECT * FROM (SELECT 1) AS o, "{path}"', f"SELECT 1 IN [{path}]"]
    views = [f"CREATE VIEW v AS SELECT * FROM '{path}'"]
    calls = [f"SELECT * FROM read_text('{path}')", f"SELECT * FROM \"read_csv\"('{path}')", "SELECT * FROM glob('/*')"]
    given = asked(
        python,
        *places,
        *views,
        *calls,
        "SELECT 1 IS DISTINCT FROM 'a.b', glob('a.*', 'a.b')",
        "WITH q AS (SELECT 2), read_y (a) AS (SELECT 1) SELECT * FROM read_y",
    )
    assert given == [f"no such table: {path}"] * 4 + [
        "no such function: read_text",
        "no such function: read_csv",
        "no such function: glob",
        "[(1, 1)]",
        "[(1,)]",
    ]


def test_a_backup_is_whole_or_nothing(python):
    out = python("""
        source = sqlite3.connect(":memory:")
        source.executescript("CREATE TABLE a (x); INSERT INTO a VALUES (1)")
        source.executescript("CREATE TABLE b (x); INSERT INTO b VALUES (2)")
        con.executescript("CREATE TABLE old (x); INSERT INTO old VALUES (3)")
        def stops(*_):
            raise ValueError
        try:
            source.backup(con, pages=1, progress=stops)
        except ValueError:
            print(con.execute("SELECT * FROM old").fetchall(), con.in_transaction)
        source.backup(con)
        print(con.execute("SELECT name FROM sqlite_master").fetchall(), con.execute("SELECT * FROM b").fetchall())
    """)
    assert out.splitlines() == ["[(3,)] False", "[('a',), ('b',)] [(2,)]"]


def test_an_empty_file_is_not_removed(python, tmp_path):
    path = tmp_path / "x.db"
    path.touch()
    with path.open("r+b") as held:
        out = python(
            """
            import os
            before = os.stat(sys.argv[1]).st_ino
            con = sqlite3.connect(sys.argv[1])
            con.execute("CREATE TABLE t (a)")
            con.execute("INSERT INTO t VALUES (1)")
            con.commit()
            print(os.stat(sys.argv[1]).st_ino == before, con.execute("SELECT * FROM t").fetchall())
        """,
            str(path),
        )
        assert out == "True [(1,)]\n"
        assert held.read(1) != b""


def test_integers_are_compared_as_they_are_with_numbers_with_a_point(python):
    out = python("""
        con.execute("CREATE TABLE ids (r REAL, n INTEGER)")
        con.execute("INSERT INTO ids VALUES (?, ?)", (9007199254740992.0, 9007199254740993))
        conditions = ["r = n", "r < n", "n = CAST(9007199254740993 AS REAL)"]
        conditions += ["r = 9007199254740993", "r = 9007199254740992"]
        for where in conditions:
            print(con.execute(f"SELECT count(*) FROM ids WHERE {where}").fetchone()[0])
        for value in (9007199254740993, 9007199254740992, 9007199254740992.0):
            for column in "rn":
                print(con.execute(f"SELECT count(*) FROM ids WHERE {column} = ?", (value,)).fetchone()[0])
        print(con.execute("DELETE FROM ids WHERE n = r").rowcount)
    """)
    assert out.split() == ["0", "1", "0", "0", "1", "0", "1", "1", "0", "1", "0", "0"]


def test_the_real_library_beside_ours_is_another():
    """Each one's own functions answer, whichever was loaded for all."""
    real = ctypes.util.find_library("sqlite3")
    if real is None or not LIBRARY.exists():
        pytest.skip("SQLite's own library is not there")
    program = f"""
        import ctypes
        def rows(library, sql):
            found = []
            shape = ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p
            )
            @shape
            def row(_, count, values, names):
                found.append([values[at] for at in range(count)])
                return 0
            handle = ctypes.c_void_p()
            assert library.sqlite3_open(b":memory:", ctypes.byref(handle)) == 0
            status = library.sqlite3_exec(handle, sql, row, None, None)
            assert library.sqlite3_close(handle) == 0
            return status, found
        real = ctypes.CDLL({real!r}, mode=ctypes.RTLD_GLOBAL)
        ours = ctypes.CDLL({str(LIBRARY)!r}, mode=ctypes.RTLD_LOCAL)
        script = b"CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (7); SELECT printf('%d', a) FROM t"
        for library in (real, ours, real):
            print(rows(library, script))
            print(rows(library, b"SELECT current_setting('dialect')"))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        *["(0, [[b'7']])", "(1, [])"],
        *["(0, [[b'7']])", "(0, [[b'sqlite']])"],
        *["(0, [[b'7']])", "(1, [])"],
    ]


def test_a_forked_child_changes_nothing_for_its_parent(python, tmp_path):
    out = python(
        """
        import os
        con = sqlite3.connect(sys.argv[1], isolation_level=None)
        con.execute("CREATE TABLE t (a INTEGER)")
        con.execute("INSERT INTO t VALUES (1)")
        open_one = con.execute("SELECT a FROM t")
        def child(work):
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                try:
                    work()
                except sqlite3.Error as error:
                    print(type(error).__name__, error, flush=True)
                sys.stdout.flush()
                os._exit(0)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        def leave():
            sys.stdout.flush()
            sys.exit(0)
        works = [con.close, open_one.close, lambda: sqlite3.connect(":memory:").execute("SELECT 1").fetchall()]
        statements = ["SELECT a FROM t", "INSERT INTO t VALUES (9)", "BEGIN"]
        works += [lambda sql=sql: con.execute(sql) for sql in statements]
        print([child(work) for work in works])
        pid = os.fork()
        if pid == 0:
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), open_one.fetchall())
        con.execute("INSERT INTO t VALUES (2)")
        print(con.execute("SELECT a FROM t ORDER BY a").fetchall())
        con.close()
        print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM t").fetchone())
        """,
        str(tmp_path / "x.db"),
    )
    refused = [line for line in out.splitlines() if "fork" in line]
    assert len(refused) == 3, out
    assert out.splitlines()[-4:] == ["[0, 0, 0, 0, 0, 0]", "0 [(1,)]", "[(1,), (2,)]", "(2,)"], out


def test_only_names_of_the_interface_are_exported():
    listed = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in listed.stdout.splitlines()]
    assert len(names) > 250
    assert [name for name in names if not name.startswith("sqlite3")] == []


def test_what_cpython_imports_is_there():
    program = "import _sqlite3; print(_sqlite3.__file__)"
    module = subprocess.run([interpreter(), "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    wanted = subprocess.run(["nm", "-D", "--undefined-only", module], capture_output=True, text=True, check=True)
    have = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True)
    names = {line.split()[-1].split("@")[0] for line in wanted.stdout.splitlines() if "sqlite3_" in line}
    assert names - {line.split()[-1] for line in have.stdout.splitlines()} == set()


def test_a_file_of_sqlites_own_tests(python):
    program = (Path(__file__).parent / "slt.py").read_text()
    out = python(program + "\n", str(Path(__file__).parents[3] / "tests" / "slt" / "select1.test"))
    passed, _, count = out.splitlines()[-1].split()[:3]
    assert passed == count, out
