"""SQLite's shell on Inlay."""


def test_tables_schema_dump_and_import(shell, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("1,one\n2,two\n")
    out = shell(f"""
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
.mode csv
.import {rows} t
.mode list
SELECT * FROM t;
.tables
.schema t
.dump
""")
    lines = out.splitlines()
    assert lines[:4] == ["1|one", "2|two", "t", "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);"]
    assert lines[4:] == [
        "PRAGMA foreign_keys=OFF;",
        "BEGIN TRANSACTION;",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);",
        "INSERT INTO t VALUES(1,'one');",
        "INSERT INTO t VALUES(2,'two');",
        "COMMIT;",
    ]


def test_what_is_dumped_makes_it_again(shell, tmp_path):
    first = str(tmp_path / "a.db")
    shell(
        "CREATE TABLE t (a TEXT, b REAL); INSERT INTO t VALUES ('it''s', 1.5), (NULL, NULL); CREATE INDEX i ON t (a);",
        first,
    )
    dumped = shell(".dump", first)
    assert (
        shell(dumped + "SELECT * FROM t; SELECT name FROM sqlite_master;", str(tmp_path / "b.db"))
        == "it's|1.5\n|\nt\ni\n"
    )
