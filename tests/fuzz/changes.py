"""
Random statements that change tables, carried out by Inlay on a file and by DuckDB side by side.

    python -m tests.fuzz.changes --cases 300
    python -m tests.fuzz.changes --case 17:42        one case again

A case has tables with keys, UNIQUE, CHECK, NOT NULL, defaults and references, and groups of statements: transactions
that are committed or rolled back, and statements by themselves. Behind each group all tables have to be the same. In
between the file is checkpointed, closed and opened again. Where only DuckDB refuses a change (it checks keys row by
row, and changes no table that others depend on), the constraints are looked up by queries that use no index.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

import inlay
from tests.fuzz import known
from tests.fuzz.compare import Row, same
from tests.fuzz.expressions import Expressions, Scope
from tests.fuzz.runner import answer, difference
from tests.fuzz.schema import Column, column, literal, value

GROUPS = 40
# What DuckDB does not do, or checks earlier than the end of a statement.
DUCKDB_REFUSES = re.compile(
    r"constraint|depend|not implemented|not supported|twice|Not implemented|Cannot (drop|change|alter|create index)|"
    r"can not update|outstanding updates|write-write|Conflict|TransactionContext|INTERNAL",
    re.IGNORECASE,
)
# What Inlay refuses as PostgreSQL does: DuckDB keeps one of the rows, or binds casts that no value passes.
INLAY_REFUSES = re.compile(r"change one row twice|no cast from|is referred to by foreign key")
# Where rows may be passed over, DuckDB passes them over before it looks at NOT NULL, and takes two NULLs for one key.
PASSED_OVER = re.compile(r"which is NOT NULL|duplicate key")
TYPES = {
    "integer": ["SMALLINT", "INTEGER", "BIGINT", "DECIMAL(18,3)", "DOUBLE", "VARCHAR"],
    "text": ["VARCHAR"],
    "double": ["DOUBLE", "VARCHAR"],
    "decimal": ["DECIMAL(18,3)", "DOUBLE", "VARCHAR"],
    "boolean": ["BOOLEAN", "INTEGER", "VARCHAR"],
    "date": ["DATE", "TIMESTAMP", "VARCHAR"],
    "timestamp": ["TIMESTAMP", "DATE", "VARCHAR"],
}


@dataclass
class Made:
    """A table as it is now."""

    name: str
    columns: list[Column]
    keys: list[tuple[str, ...]]
    required: set[str]
    checks: list[str]
    references: list[tuple[str, str, str]]
    definition: str
    indexes: list[str] = field(default_factory=list)

    def copy(self) -> Made:
        return Made(
            self.name,
            list(self.columns),
            list(self.keys),
            set(self.required),
            list(self.checks),
            list(self.references),
            self.definition,
            list(self.indexes),
        )

    def scope(self, prefix: str = "") -> Scope:
        return Scope([(prefix + c.name, c.kind, c.is_small) for c in self.columns])


@dataclass
class Statement:
    """A statement, and what it makes of the tables if it is carried out."""

    sql: str
    kind: str
    then: Any = None

    @property
    def skips(self) -> bool:
        """Whether rows with a key that is taken are passed over or change others."""
        return self.sql.startswith("INSERT OR") or "ON CONFLICT" in self.sql


def more(ours: list[Row], theirs: list[Row]) -> bool:
    """Whether the first engine has more rows, or says that it changed more."""
    counts = [rows[0][0] for rows in (ours, theirs) if len(rows) == 1 and isinstance(rows[0][0], int)]
    return len(ours) > len(theirs) or (len(counts) == 2 and counts[0] > counts[1])


class Changes:
    """Makes statements over the tables of a case."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.make = rng, Expressions(rng)
        self.names = 0
        self.tables: dict[str, Made] = {}

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def create(self) -> Statement:
        """CREATE TABLE with constraints."""
        rng, name = self.rng, self.name("t")
        columns = [Column("id", "INTEGER", "integer", is_small=True)]
        columns += [column(rng, f"c{number}") for number in range(rng.randrange(2, 6))]
        keys: list[tuple[str, ...]] = []
        required: set[str] = set()
        checks: list[str] = []
        references: list[tuple[str, str, str]] = []
        parts = []
        for c in columns:
            part = f"{c.name} {c.type}"
            if c.name == "id" and rng.random() < 0.6:
                part += " PRIMARY KEY"
                keys.append(("id",))
                required.add("id")
            elif rng.random() < 0.15:
                part += " NOT NULL"
                required.add(c.name)
            elif rng.random() < 0.12:
                part += " UNIQUE"
                keys.append((c.name,))
            if rng.random() < 0.2:
                part += f" DEFAULT {literal(rng, c.kind)}"
            if c.kind == "integer" and c.is_small and rng.random() < 0.2:
                checks.append(f"{c.name} > -4 OR {c.name} < -100")
                part += f" CHECK ({checks[-1]})"
            parts.append(part)
        if rng.random() < 0.15:
            keys.append((columns[0].name, columns[1].name))
            parts.append(f"UNIQUE ({', '.join(keys[-1])})")
        targets = [t.name for t in self.tables.values() if ("id",) in t.keys]
        numbers = [c.name for c in columns[1:] if c.type in ("INTEGER", "BIGINT")]
        if targets and numbers and rng.random() < 0.4:
            references.append((rng.choice(numbers), rng.choice(targets), "id"))
            parts.append("FOREIGN KEY ({}) REFERENCES {} ({})".format(*references[-1]))
        sql = f"CREATE TABLE {name} ({', '.join(parts)})"
        made = Made(name, columns, keys, required, checks, references, sql)
        return Statement(sql, "create", lambda tables: tables.__setitem__(name, made))

    def statement(self) -> Statement:
        """One change of a table."""
        makers = (
            (self.insert, 8),
            (self.insert_query, 3),
            (self.upsert, 5),
            (self.update, 7),
            (self.update_from, 3),
            (self.delete, 4),
            (self.delete_using, 2),
            (self.merge, 4),
            (self.alter, 3),
            (self.index, 2),
            (self.truncate, 0.2),
            (self.drop, 0.3),
        )
        maker = self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
        return maker(self.rng.choice(list(self.tables.values())))

    def values(self, table: Made, columns: list[Column]) -> str:
        rng = self.rng
        rows = []
        for _ in range(rng.choice([1, 1, 2, 5, 12])):
            row = []
            for c in columns:
                nulls = 0.0 if c.name in table.required and rng.random() < 0.95 else 0.1
                if rng.random() < 0.04:
                    row.append("DEFAULT")
                elif c.name == "id":
                    row.append(str(rng.randrange(-2, 80)))
                else:
                    row.append(value(rng, c, nulls))
            rows.append(f"({', '.join(row)})")
        return ", ".join(rows)

    def some(self, table: Made) -> list[Column]:
        """All columns, or some in another order."""
        if self.rng.random() < 0.7:
            return table.columns
        names = [c for c in table.columns if c.name in table.required or self.rng.random() < 0.7]
        self.rng.shuffle(names)
        return names or table.columns[:1]

    def returning(self, table: Made) -> str:
        if self.rng.random() > 0.3:
            return ""
        return f" RETURNING {self.rng.choice(['*', 'id', self.make.make(table.scope(), 'integer', 2)])}"

    def insert(self, table: Made) -> Statement:
        columns = self.some(table)
        names = "" if columns is table.columns else f" ({', '.join(c.name for c in columns)})"
        sql = f"INSERT INTO {table.name}{names} VALUES {self.values(table, columns)}{self.returning(table)}"
        return Statement(sql, "insert")

    def insert_query(self, table: Made) -> Statement:
        rng, source = self.rng, self.rng.choice(list(self.tables.values()))
        columns = self.some(table)
        items = []
        for c in columns:
            if c.name == "id" and rng.random() < 0.7:
                items.append(f"id + {rng.randrange(20, 90)}")
            else:
                items.append(self.make.make(source.scope(), c.kind, 2))
        by = f" ({', '.join(c.name for c in columns)})"
        where = f" WHERE {self.make.make(source.scope(), 'boolean', 2)}" if rng.random() < 0.6 else ""
        sql = f"INSERT INTO {table.name}{by} SELECT {', '.join(items)} FROM {source.name}{where}{self.returning(table)}"
        return Statement(sql, "insert query")

    def upsert(self, table: Made) -> Statement:
        rng, columns = self.rng, table.columns
        form = rng.choice(["ignore", "replace", "nothing", "update", "update", "update"])
        into, target = f"INTO {table.name} VALUES {self.values(table, columns)}", ""
        if form in ("ignore", "replace"):
            return Statement(f"INSERT OR {form.upper()} {into}", f"insert or {form}")
        if table.keys and (form == "update" or rng.random() < 0.5):
            target = f" ({', '.join(rng.choice(table.keys))})"
        if form == "nothing":
            return Statement(f"INSERT {into} ON CONFLICT{target} DO NOTHING{self.returning(table)}", "do nothing")
        free = [c for c in columns if not any(c.name in key for key in table.keys)] or columns[-1:]
        sets = []
        for c in rng.sample(free, min(len(free), rng.randrange(1, 3))):
            new = rng.choice([f"excluded.{c.name}", self.make.make(table.scope("excluded."), c.kind, 1)])
            sets.append(f"{c.name} = {new}")
        where = f" WHERE {self.make.make(table.scope(table.name + '.'), 'boolean', 1)}" if rng.random() < 0.3 else ""
        sql = f"INSERT {into} ON CONFLICT{target} DO UPDATE SET {', '.join(sets)}{where}{self.returning(table)}"
        return Statement(sql, "do update")

    def sets(self, table: Made, scope: Scope) -> str:
        rng, sets = self.rng, []
        chosen = rng.sample(table.columns, min(len(table.columns), rng.randrange(1, 4)))
        for c in chosen:
            kind = c.kind if rng.random() < 0.92 else self.make.any_kind()
            if c.name == "id" and rng.random() < 0.7:
                sets.append(f"id = {table.name}.id + {rng.choice([1, -1, 100, 0])}")
            elif rng.random() < 0.05:
                sets.append(f"{c.name} = DEFAULT")
            else:
                sets.append(f"{c.name} = {self.make.make(scope, kind, 2)}")
        return ", ".join(sets)

    def where(self, scope: Scope, table: Made) -> str:
        pick = self.rng.random()
        if pick < 0.15:
            return ""
        if pick < 0.45:
            return f" WHERE {table.name}.id {self.rng.choice(['=', '=', '<', '>='])} {self.rng.randrange(-2, 90)}"
        return f" WHERE {self.make.make(scope, 'boolean', 2)}"

    def update(self, table: Made) -> Statement:
        scope = table.scope(f"{table.name}.")
        where = self.where(scope, table)
        return Statement(f"UPDATE {table.name} SET {self.sets(table, scope)}{where}{self.returning(table)}", "update")

    def source(self, other: Made) -> tuple[str, Scope]:
        """A query with one row per number, so that no row of a target meets two."""
        items = ", ".join(f"min({c.name}) AS {c.name}" for c in other.columns if c.name != "id")
        return (
            f"(SELECT id, {items} FROM {other.name} WHERE id IS NOT NULL GROUP BY id)",
            other.scope("s."),
        )

    def update_from(self, table: Made) -> Statement:
        query, scope = self.source(self.rng.choice(list(self.tables.values())))
        both = Scope(table.scope(f"{table.name}.").columns + scope.columns)
        more = f" AND {self.make.make(both, 'boolean', 1)}" if self.rng.random() < 0.4 else ""
        sql = f"UPDATE {table.name} SET {self.sets(table, both)} FROM {query} s WHERE s.id = {table.name}.id{more}"
        return Statement(sql, "update from")

    def delete(self, table: Made) -> Statement:
        where = self.where(table.scope(f"{table.name}."), table)
        if not where and self.rng.random() < 0.8:
            where = f" WHERE id = {self.rng.randrange(60)}"
        return Statement(f"DELETE FROM {table.name}{where}{self.returning(table)}", "delete")

    def delete_using(self, table: Made) -> Statement:
        query, scope = self.source(self.rng.choice(list(self.tables.values())))
        both = Scope(table.scope(f"{table.name}.").columns + scope.columns)
        condition = f"s.id = {table.name}.id AND {self.make.make(both, 'boolean', 1)}"
        sql = f"DELETE FROM {table.name} USING {query} s WHERE {condition}"
        return Statement(sql, "delete using")

    def merge(self, table: Made) -> Statement:
        rng = self.rng
        query, scope = self.source(rng.choice(list(self.tables.values())))
        both = Scope(table.scope(f"{table.name}.").columns + scope.columns)
        parts = []
        condition = f" AND {self.make.make(both, 'boolean', 1)}" if rng.random() < 0.5 else ""
        if rng.random() < 0.7:
            parts.append(f"WHEN MATCHED{condition} THEN UPDATE SET {self.sets(table, both)}")
            condition = "" if condition or rng.random() < 0.05 else f" AND {self.make.make(both, 'boolean', 1)}"
        if rng.random() < 0.3:
            parts.append(f"WHEN MATCHED{condition} THEN DELETE")
        if rng.random() < 0.7 or not parts:
            items = ["s.id" if c.name == "id" else self.make.make(scope, c.kind, 1) for c in table.columns]
            names = ", ".join(c.name for c in table.columns)
            parts.append(f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({', '.join(items)})")
        sql = f"MERGE INTO {table.name} USING {query} s ON {table.name}.id = s.id {' '.join(parts)}"
        return Statement(sql, "merge")

    def alter(self, table: Made) -> Statement:
        rng = self.rng
        new, free = table.copy(), [c for c in table.columns[1:] if not any(c.name in k for k in table.keys)]
        free = [c for c in free if not any(re.search(rf"\b{c.name}\b", check) for check in table.checks)]
        free = [c for c in free if not any(c.name == r[0] for r in table.references)]
        form = rng.choice(["add", "add", "drop", "rename", "type", "default", "drop default", "not null", "nullable"])
        if form == "add" or not free:
            made = column(rng, self.name("n"))
            default = f" DEFAULT {literal(rng, made.kind)}" if rng.random() < 0.6 else ""
            new.columns.append(made)
            action = f"ADD COLUMN {made.name} {made.type}{default}"
        else:
            c = rng.choice(free)
            at = table.columns.index(c)
            match form:
                case "drop":
                    new.columns.pop(at)
                    new.required.discard(c.name)
                    action = f"DROP COLUMN {c.name}"
                case "rename":
                    other = self.name("r")
                    new.columns[at] = Column(other, c.type, c.kind, c.is_small)
                    if c.name in new.required:
                        new.required = (new.required - {c.name}) | {other}
                    action = f"RENAME COLUMN {c.name} TO {other}"
                case "type":
                    wanted = rng.choice(TYPES[c.kind])
                    kinds = {"VARCHAR": "text", "DOUBLE": "double", "DATE": "date", "TIMESTAMP": "timestamp"}
                    kind = kinds.get(wanted, "decimal" if wanted.startswith("DEC") else "integer")
                    kind = "boolean" if wanted == "BOOLEAN" else kind
                    new.columns[at] = Column(c.name, wanted, kind, c.is_small)
                    action = f"ALTER COLUMN {c.name} TYPE {wanted}"
                case "default":
                    action = f"ALTER COLUMN {c.name} SET DEFAULT {literal(rng, c.kind)}"
                case "drop default":
                    action = f"ALTER COLUMN {c.name} DROP DEFAULT"
                case "not null":
                    new.required.add(c.name)
                    action = f"ALTER COLUMN {c.name} SET NOT NULL"
                case _:
                    new.required.discard(c.name)
                    action = f"ALTER COLUMN {c.name} DROP NOT NULL"
        return Statement(
            f"ALTER TABLE {table.name} {action}", "alter", lambda tables: tables.__setitem__(table.name, new)
        )

    def index(self, table: Made) -> Statement:
        rng, new = self.rng, table.copy()
        if table.indexes and rng.random() < 0.4:
            gone = rng.choice(table.indexes)
            new.indexes.remove(gone)
            new.keys = [k for k in new.keys if k[-1:] != (f"@{gone}",)]
            sql = f"DROP INDEX {gone}"
        else:
            name, names = self.name("i"), rng.sample([c.name for c in table.columns], rng.randrange(1, 3))
            new.indexes.append(name)
            sql = f"CREATE INDEX {name} ON {table.name} ({', '.join(names)})"
        return Statement(sql, "index", lambda tables: tables.__setitem__(table.name, new))

    def truncate(self, table: Made) -> Statement:
        return Statement(f"TRUNCATE {table.name}", "truncate")

    def drop(self, table: Made) -> Statement:
        if len(self.tables) < 2:
            return self.create()
        if self.rng.random() < 0.6:
            return self.create()
        return Statement(f"DROP TABLE {table.name}", "drop", lambda tables: tables.pop(table.name))


@dataclass
class Report:
    """What a run met."""

    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


class Case:
    """Both engines, the statements until now, and the tables that they made."""

    def __init__(self, seed: int, number: int, folder: Path, report: Report) -> None:
        self.named, self.report, self.path = f"{seed}:{number}", report, folder / f"changes-{seed}-{number}.inlay"
        self.rng = random.Random(self.named)
        self.maker = Changes(self.rng)
        self.script: list[str] = []
        self.duckdb = duckdb.connect()
        self.duckdb.execute("SET threads = 1")
        self.inlay = inlay.connect(str(self.path))

    def found(self, check: str, detail: str) -> None:
        script = ";\n".join(self.script)
        self.report.findings.append(f"== {self.named} {check}\n{script};\n-- {detail}")

    def both(self, sql: str) -> tuple[list[Row] | str, list[Row] | str]:
        self.script.append(sql)
        return answer(self.inlay, sql), answer(self.duckdb, sql)

    def run(self) -> bool:
        """All groups; whether nothing was found."""
        for _ in range(self.rng.randrange(1, 4)):
            self.apply(self.maker.create())
        before = len(self.report.findings)
        for _ in range(GROUPS):
            self.group()
            if len(self.report.findings) > before or not self.tables_are_equal():
                return False
            self.housekeeping()
        problems = answer(self.inlay, "PRAGMA verify")
        if problems != [("ok",)]:
            self.found("verify", str(problems)[:500])
        return problems == [("ok",)]

    def close(self) -> None:
        self.inlay.close()
        self.duckdb.close()
        for path in self.path.parent.glob(f"{self.path.name}*"):
            path.unlink()

    def apply(self, statement: Statement) -> bool:
        """Whether both carried it out."""
        ours, theirs = self.both(statement.sql)
        outcome = self.outcome(statement, ours, theirs)
        self.report.outcomes[f"{statement.kind}: {outcome}"] += 1
        if outcome != "same":
            return False
        if statement.then:
            statement.then(self.maker.tables)
        return True

    def outcome(self, statement: Statement, ours: list[Row] | str, theirs: list[Row] | str) -> str:
        match ours, theirs:
            case str(), str():
                return "both refuse"
            case str(), _:
                if (
                    known.is_data_error(ours)
                    or INLAY_REFUSES.search(ours)
                    or (statement.skips and PASSED_OVER.search(ours))
                ):
                    return "Inlay refuses with reason"
                self.found("only Inlay refuses", ours)
                return "only Inlay refuses"
            case _, str():
                if broken := self.broken(statement):
                    self.found("a constraint does not hold", broken)
                    return "constraint broken"
                if not DUCKDB_REFUSES.search(theirs) and not known.is_data_error(theirs):
                    self.found("only DuckDB refuses", theirs)
                return "only DuckDB refuses"
            case _:
                if same(ours, theirs):
                    return "same"
                # DuckDB takes keys for taken that the same transaction deleted, and two NULLs for one key.
                if statement.skips and more(ours, theirs):
                    if broken := self.broken(statement):
                        self.found("a constraint does not hold", broken)
                    return "DuckDB keeps less"
                self.found("another result", difference(ours, theirs))
                return "another result"

    def broken(self, statement: Statement) -> str:
        """The first constraint that does not hold, found without indexes."""
        tables = dict(self.maker.tables)
        if statement.then:
            statement.then(tables)
        for table in tables.values():
            queries = [f"SELECT 1 FROM {table.name} WHERE {name} IS NULL" for name in table.required]
            queries += [f"SELECT 1 FROM {table.name} WHERE NOT ({check})" for check in table.checks]
            for key in table.keys:
                names = ", ".join(f"{name} AS k{at}" for at, name in enumerate(key))
                given = " AND ".join(f"k{at} IS NOT NULL" for at in range(len(key)))
                groups = ", ".join(f"k{at}" for at in range(len(key)))
                keys = f"SELECT {names} FROM {table.name}"
                queries.append(f"SELECT 1 FROM ({keys}) WHERE {given} GROUP BY {groups} HAVING count(*) > 1")
            for name, other, key_name in table.references:
                there = f"SELECT {key_name} FROM {other}"
                queries.append(f"SELECT 1 FROM {table.name} WHERE {name} IS NOT NULL AND {name} NOT IN ({there})")
            for query in queries:
                if found := answer(self.inlay, query):
                    return f"{query}: {found if isinstance(found, str) else len(found)}"
        return ""

    def group(self) -> None:
        rng, tables = self.rng, dict(self.maker.tables)
        self.both("BEGIN")
        fine = True
        for _ in range(rng.choice([1, 1, 2, 4])):
            if not self.apply(self.maker.statement()):
                fine = False
                break
        keep = fine and rng.random() < 0.85
        ours, theirs = self.both("COMMIT" if keep else "ROLLBACK")
        if isinstance(ours, str) and keep and not isinstance(theirs, str):
            self.found("COMMIT", ours)
        if not keep:
            self.maker.tables = tables

    def tables_are_equal(self) -> bool:
        for name in self.maker.tables:
            sql = f"SELECT * FROM {name}"
            ours, theirs = answer(self.inlay, sql), answer(self.duckdb, sql)
            if isinstance(ours, str) or isinstance(theirs, str):
                self.found(sql, f"{ours}\n{theirs}"[:1000])
                return False
            if not same(ours, theirs):
                self.found(sql, difference(ours, theirs))
                return False
            if not self.keys_find_their_rows(name, ours):
                return False
        return True

    def keys_find_their_rows(self, name: str, rows: list[Row]) -> bool:
        """Whether looking rows up by the first column gives what a scan gives."""
        for key in self.rng.sample(rows, min(len(rows), 3)):
            if key[0] is None:
                continue
            sql = f"SELECT * FROM {name} WHERE id = {key[0]}"
            found = answer(self.inlay, sql)
            wanted = [row for row in rows if row[0] == key[0]]
            if isinstance(found, str) or not same(found, wanted):
                self.script.append(sql)
                self.found("lookup", str(found) if isinstance(found, str) else difference(found, wanted))
                return False
        return True

    def housekeeping(self) -> None:
        pick = self.rng.random()
        if pick < 0.1:
            self.script.append("CHECKPOINT")
            self.inlay.execute("CHECKPOINT")
        elif pick < 0.2:
            self.script.append("-- closed and opened again")
            self.inlay.close()
            self.inlay = inlay.connect(str(self.path))


def run_case(seed: int, number: int, folder: Path, report: Report) -> None:
    """One case with files in a folder."""
    case = Case(seed, number, folder, report)
    try:
        case.run()
    finally:
        case.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100, help="how many cases are made")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what they are made from")
    parser.add_argument("--case", help="seed:number of one case to run")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        if options.case:
            seed, number = map(int, options.case.split(":"))
            run_case(seed, number, Path(folder), report)
        else:
            for number in range(options.cases):
                run_case(options.seed, number, Path(folder), report)
    for finding in report.findings:
        print(finding, end="\n\n")
    for outcome, count in sorted(report.outcomes.items()):
        print(f"{count:7} {outcome}")
    print(f"seed {options.seed}, {len(report.findings)} findings")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
