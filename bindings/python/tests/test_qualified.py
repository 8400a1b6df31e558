"""Objects of every kind in schemas: made, used, changed, described, exported and dropped by their qualified names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import inlay


@dataclass
class Kind:
    """What is done with an object called `{o}`, in a schema `{s}` that has a table `t` of one row."""

    create: str
    use: str
    value: Any
    #: The words behind COMMENT ON and ALTER; none where there is no such statement.
    words: str
    drop: str


KINDS = {
    "table": Kind("CREATE TABLE {o} AS SELECT 1 a", "FROM {o}", 1, "TABLE", "DROP TABLE {o}"),
    "view": Kind("CREATE VIEW {o} AS SELECT 2 a", "FROM {o}", 2, "VIEW", "DROP VIEW {o}"),
    "materialized view": Kind(
        "CREATE MATERIALIZED VIEW {o} AS SELECT 3 a", "FROM {o}", 3, "MATERIALIZED VIEW", "DROP MATERIALIZED VIEW {o}"
    ),
    "sequence": Kind("CREATE SEQUENCE {o} START 4", "SELECT nextval('{o}')", 4, "SEQUENCE", "DROP SEQUENCE {o}"),
    "index": Kind(
        "CREATE INDEX {i} ON {s}.t (a)", "SELECT count(*) FROM {s}.t WHERE a = 1", 1, "INDEX", "DROP INDEX {o}"
    ),
    "type": Kind("CREATE TYPE {o} AS ENUM ('x')", "SELECT 'x'::{o}::VARCHAR", "x", "TYPE", "DROP TYPE {o}"),
    "macro": Kind("CREATE MACRO {o}(x) AS x + 5", "SELECT {o}(1)", 6, "MACRO", "DROP MACRO {o}"),
    "table macro": Kind(
        "CREATE MACRO {o}(x) AS TABLE SELECT x + 6", "FROM {o}(1)", 7, "MACRO TABLE", "DROP MACRO TABLE {o}"
    ),
}
SCHEMAS = ("main", "public", "memory.main", "s", "memory.s", '"quoted schema"', "temp")
COMMENTS = "SELECT count(*) FROM duckdb_{} WHERE comment = 'said'"


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_qualified_name_reaches_an_object_in_every_statement(kind: str, schema: str) -> None:
    todo = KINDS[kind]
    with inlay.connect() as con:
        for own in ("s", '"quoted schema"'):
            con.execute(f"CREATE SCHEMA {own}")
        temporary = "TEMP " if schema == "temp" else ""
        if temporary and kind == "materialized view":
            pytest.skip("there are no temporary ones")
        con.execute(f"CREATE {temporary}TABLE {schema}.t AS SELECT 1 a")

        def run(sql: str, name: str) -> Any:
            return con.execute(sql.format(o=f"{schema}.{name}", i=name, s=schema))

        run(todo.create, "made")
        assert run(todo.use, "made").fetchone() == (todo.value,)
        run(f"COMMENT ON {todo.words} {{o}} IS 'said'", "made")
        with pytest.raises(inlay.Error, match="exist"):
            run(todo.create, "made")
        run(f"ALTER {todo.words} {{o}} RENAME TO other", "made")
        if kind != "sequence":
            assert run(todo.use, "other").fetchone() == (todo.value,)
        with pytest.raises(inlay.Error, match="does not exist"):
            run(todo.drop, "made")
        run(todo.drop, "other")
        with pytest.raises(inlay.Error, match="does not exist"):
            run(todo.drop, "other")
        run(todo.drop.replace("{o}", "IF EXISTS {o}"), "other")
        run(todo.create, "made")


@pytest.mark.parametrize("schema", ("public", "s", '"quoted schema"'))
def test_what_schemas_hold_is_exported_and_copied(schema: str, tmp_path: Path) -> None:
    with inlay.connect() as con:
        if schema != "public":
            con.execute(f"CREATE SCHEMA {schema}")
        con.execute(f"CREATE TABLE {schema}.t AS SELECT 1 a")
        for number, todo in enumerate(KINDS.values()):
            names = {"o": f"{schema}.k{number}", "i": f"k{number}", "s": schema}
            con.execute(todo.create.format(**names))
            con.execute(f"COMMENT ON {todo.words} {schema}.k{number} IS 'said'")
        con.execute(f"EXPORT DATABASE '{tmp_path / 'out'}'")
        with inlay.connect() as again:
            again.execute(f"IMPORT DATABASE '{tmp_path / 'out'}'")
            for number, todo in enumerate(KINDS.values()):
                names = {"o": f"{schema}.k{number}", "i": f"k{number}", "s": schema}
                assert again.execute(todo.use.format(**names)).fetchone() == (todo.value,)
            for table in ("tables()", "views()", "sequences()", "indexes()", "types()", "functions()"):
                said = [each.execute(COMMENTS.format(table)).fetchone() for each in (again, con)]
                assert said[0] == said[1] != (0,)
        con.execute("ATTACH ':memory:' AS copied; COPY FROM DATABASE memory TO copied")
        con.execute("USE copied")
        for number, todo in enumerate(KINDS.values()):
            names = {"o": f"{schema}.k{number}", "i": f"k{number}", "s": schema}
            assert con.execute(todo.use.format(**names)).fetchone() == (todo.value,)
