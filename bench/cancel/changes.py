"""Statements that change or write much: what comes before each, and what takes it back when it was not cancelled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """A statement over the tables of TPC-H; `{folder}` is where files go."""

    statement: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


MADE = "CREATE OR REPLACE TABLE made AS SELECT * FROM lineitem"
UNDO = ("ROLLBACK",)

CHANGES = {
    "copy to csv": Change("COPY lineitem TO '{folder}/out.csv'"),
    "copy to parquet": Change("COPY lineitem TO '{folder}/out.parquet' (FORMAT parquet)"),
    "copy to json": Change("COPY lineitem TO '{folder}/out.json' (FORMAT json)"),
    "copy from csv": Change(
        "COPY made FROM '{folder}/in.csv' (HEADER)",
        (
            "CREATE OR REPLACE TABLE made AS SELECT * FROM orders WHERE false",
            "COPY orders TO '{folder}/in.csv' (HEADER)",
        ),
    ),
    "export": Change("EXPORT DATABASE '{folder}/exported'"),
    "create table as": Change("CREATE TABLE made AS SELECT * FROM lineitem", ("DROP TABLE IF EXISTS made",)),
    "create index": Change("CREATE INDEX extra ON lineitem (l_partkey)", (), ("DROP INDEX IF EXISTS extra",)),
    "unique index": Change("CREATE UNIQUE INDEX extra ON orders (o_orderkey)", (), ("DROP INDEX IF EXISTS extra",)),
    "insert with a key": Change(
        "INSERT INTO keyed SELECT o_orderkey, o_comment FROM orders ORDER BY hash(o_orderkey)",
        ("CREATE OR REPLACE TABLE keyed (k BIGINT PRIMARY KEY, v VARCHAR)",),
    ),
    "update": Change("UPDATE lineitem SET l_comment = l_comment || '!', l_tax = l_tax + 1", ("BEGIN",), UNDO),
    "delete": Change("DELETE FROM lineitem WHERE l_orderkey % 3 > 0", ("BEGIN",), UNDO),
    "add column": Change("ALTER TABLE made ADD COLUMN extra VARCHAR DEFAULT 'some text'", (MADE,)),
    "change type": Change("ALTER TABLE made ALTER l_quantity TYPE VARCHAR", (MADE,)),
    "checkpoint": Change("CHECKPOINT", (MADE, "UPDATE made SET l_tax = 0 WHERE l_orderkey % 100 = 0")),
    "checkpoint that compacts": Change("CHECKPOINT", (MADE, "CHECKPOINT", "DELETE FROM made WHERE l_orderkey % 2 = 0")),
    "vacuum": Change("VACUUM", (MADE, "CHECKPOINT", "DELETE FROM made WHERE l_orderkey % 9 = 0")),
}
