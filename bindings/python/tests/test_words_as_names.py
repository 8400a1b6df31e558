"""Every word of the language in every place that takes a name: what DuckDB's four categories allow is a name here."""

from __future__ import annotations

import pytest

import inlay

# What is tried in each place, where {w} is the word, and the words that need quotes here though DuckDB reads them.
TABLE = 'CREATE TABLE "{w}" (a INTEGER)'
COLUMN = 'SELECT 1 AS "{w}"'
PLACES: dict[str, tuple[list[str], set[str]]] = {
    "create table": (["CREATE TABLE {w} (a INTEGER)", 'SELECT a FROM "{w}"'], set()),
    "from": ([TABLE, "SELECT a FROM {w}"], set()),
    "insert": ([TABLE, "INSERT INTO {w} VALUES (1)"], set()),
    "update": ([TABLE, "UPDATE {w} SET a = 1"], {"replace"}),
    "delete": ([TABLE, "DELETE FROM {w}"], set()),
    "alter": ([TABLE, "ALTER TABLE {w} ADD COLUMN b INTEGER"], set()),
    "drop": ([TABLE, "DROP TABLE {w}"], set()),
    "view": (["CREATE VIEW {w} AS SELECT 1 AS a"], set()),
    "column of a table": (["CREATE TABLE t (a INTEGER, {w} INTEGER DEFAULT 5)"], set()),
    "add column": (["CREATE TABLE t (a INTEGER)", "ALTER TABLE t ADD COLUMN {w} INTEGER"], set()),
    "drop column": (['CREATE TABLE t (a INTEGER, "{w}" INTEGER)', "ALTER TABLE t DROP COLUMN {w}"], set()),
    "rename column": (['CREATE TABLE t ("{w}" INTEGER)', "ALTER TABLE t RENAME COLUMN {w} TO b"], set()),
    "key": (['CREATE TABLE t ("{w}" INTEGER, PRIMARY KEY ({w}))'], set()),
    "constraint": (["CREATE TABLE t (a INTEGER, CONSTRAINT {w} CHECK (a > 0))"], set()),
    "index": (["CREATE TABLE t (a INTEGER)", "CREATE INDEX {w} ON t (a)"], set()),
    "columns of insert": (['CREATE TABLE t ("{w}" INTEGER)', "INSERT INTO t ({w}) VALUES (1)"], set()),
    "set": (['CREATE TABLE t ("{w}" INTEGER, a INTEGER)', "UPDATE t SET a = 1, {w} = 1"], set()),
    "select": ([f"SELECT {{w}}, {{w}} + 1, ({{w}}), abs({{w}}) FROM ({COLUMN}) t"], {"interval"}),
    "second item": ([f"SELECT 1, {{w}} FROM ({COLUMN}) t"], set()),
    "where": ([f"SELECT 1 FROM ({COLUMN}) t WHERE {{w}} = 1 AND {{w}} IS NOT NULL"], set()),
    "order by": ([f"SELECT 1 FROM ({COLUMN}) t ORDER BY {{w}} DESC"], set()),
    "group by": ([f"SELECT 1 FROM ({COLUMN}) t GROUP BY {{w}}"], set()),
    "using": ([f"SELECT 1 FROM ({COLUMN}) t JOIN ({COLUMN}) u USING ({{w}})"], set()),
    "exclude": (['SELECT * EXCLUDE ({w}) FROM (SELECT 1 AS a, 1 AS "{w}") t'], set()),
    "qualifier": (['SELECT {w}.a, {w}.* FROM (SELECT 1 AS a) "{w}"'], set()),
    "alias of a table": (["SELECT 1 FROM range(1) AS {w}"], set()),
    "short alias of a table": (["SELECT 1 FROM range(1) {w} WHERE true"], {"set"}),
    "columns of an alias": (["SELECT 1 FROM (VALUES (1)) t({w})"], set()),
    "with": (['WITH {w} AS (SELECT 1 AS a) SELECT a FROM "{w}"'], {"recursive"}),
    "named window": (["SELECT count(*) OVER {w} FROM range(1) WINDOW {w} AS ()"], set()),
    "base window": (
        ['SELECT count(*) OVER ({w}) FROM range(1) WINDOW "{w}" AS ()'],
        {"groups", "range", "rows", "partition", "values"},
    ),
    "macro": (["CREATE MACRO {w}(a) AS a + 1"], set()),
    "sequence": (["CREATE SEQUENCE {w}"], set()),
    "schema": (["CREATE SCHEMA {w}"], {"system", "temp"}),
    "struct": (["SELECT {{{w}: 1}}, NULL::STRUCT({w} INTEGER)"], set()),
    "lambda": (["SELECT list_transform([1], lambda {w}: {w} + 1)"], {"interval"}),
    "prepared statement": (["PREPARE {w} AS SELECT 1", "EXECUTE {w}"], set()),
    "variable": (["SET VARIABLE {w} = 1"], set()),
    "pivot": (['PIVOT (SELECT 1 AS "{w}", 2 AS v) ON {w} USING sum(v)'], set()),
}
# Behind a point or AS even reserved words are names.
ALWAYS: dict[str, list[str]] = {
    "behind a point": [f"SELECT t.{{w}} FROM ({COLUMN}) t"],
    "field": ["SELECT s.{w}, (s).{w} FROM (SELECT {{'{w}': 1}} AS s) t"],
    "behind AS": ["SELECT 1 AS {w}"],
    "table of a schema": [TABLE, "SELECT a FROM main.{w}"],
    "function of a chain": ['CREATE MACRO "{w}"(aa) AS aa + 1', "SELECT (1).{w}()"],
}
# Not of this language, or none that may be tried so.
PASSED_OVER = {
    "function of a chain": {"unpack", "columns"},
    "behind AS": {"tablesample"},
    "table of a schema": set[str](),
}


@pytest.fixture(scope="module")
def con() -> inlay.Connection:
    return inlay.connect(":memory:")


def words(con: inlay.Connection, *categories: str) -> list[str]:
    rows = con.execute("SELECT keyword_name, keyword_category FROM duckdb_keywords()").fetchall()
    return [word for word, category in rows if category in categories]


def refused(con: inlay.Connection, statements: list[str], tried: list[str]) -> dict[str, str]:
    """The words with which a statement fails, and why."""
    found = {}
    for word in tried:
        con.execute("BEGIN")
        try:
            for statement in statements:
                con.execute(statement.format(w=word)).fetchall()
        except inlay.Error as error:
            found[word] = str(error)
        finally:
            con.execute("ROLLBACK")
    return found


@pytest.mark.parametrize("place", PLACES)
def test_words_that_are_not_reserved_are_names(con: inlay.Connection, place: str) -> None:
    statements, known = PLACES[place]
    found = refused(con, statements, words(con, "unreserved", "column_name"))
    con.execute("DEALLOCATE ALL")
    assert not {word: why for word, why in found.items() if word not in known}


@pytest.mark.parametrize("place", ALWAYS)
def test_all_words_are_names_behind_a_point_or_as(con: inlay.Connection, place: str) -> None:
    tried = words(con, "unreserved", "column_name", "type_function", "reserved")
    found = refused(con, ALWAYS[place], tried)
    assert not {word: why for word, why in found.items() if word not in PASSED_OVER.get(place, set())}
