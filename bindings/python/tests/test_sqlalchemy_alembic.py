"""Alembic: found by itself, no differences where there are none, and each operation on a table with data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")
from alembic.autogenerate import compare_metadata  # noqa: E402
from alembic.migration import MigrationContext  # noqa: E402
from alembic.operations import Operations  # noqa: E402

Int, S, C, T = sa.Integer, sa.String, sa.Column, sa.Table


@pytest.fixture(autouse=True)
def _registered() -> None:
    sa.dialects.registry.register("inlay", "inlay.sqlalchemy", "InlayDialect")


def _key() -> Any:
    return C("id", Int, primary_key=True)


def _parent(md: Any) -> None:
    T("p", md, _key(), C("a", Int), C("b", Int), sa.UniqueConstraint("a", "b"))


def _referring(action: str | None) -> Callable[[Any], None]:
    def tables(md: Any) -> None:
        _parent(md)
        update = action if action in (None, "CASCADE") else None
        T("t", md, _key(), C("p", Int, sa.ForeignKey("p.id", name="f", ondelete=action, onupdate=update)))

    return tables


def _pair(md: Any) -> None:
    _parent(md)
    key = sa.ForeignKeyConstraint(["x", "y"], ["p.a", "p.b"], deferrable=True, initially="DEFERRED")
    T("t", md, _key(), C("x", Int), C("y", Int), key)


def _indexes(md: Any) -> None:
    t = T("t", md, _key(), C("s", S), C("n", Int))
    sa.Index("ix", sa.func.lower(t.c.s))
    sa.Index("ix2", t.c.n.desc())
    sa.Index("ix3", t.c.s, postgresql_where=t.c.n > 5)
    sa.Index("ix4", t.c.n + 1, t.c.s, unique=True)


TYPES = [sa.SmallInteger, sa.BigInteger, sa.Numeric(10, 2), sa.Float, sa.Double, sa.REAL, sa.Boolean, sa.Date, sa.Time]
TYPES += [
    sa.DateTime,
    sa.DateTime(timezone=True),
    sa.Interval,
    sa.LargeBinary,
    sa.Uuid,
    sa.JSON,
    sa.ARRAY(Int),
    sa.CHAR(3),
]
TYPES += [sa.ARRAY(S(3), dimensions=2), S(5), sa.Unicode(5), sa.UnicodeText, sa.Time(timezone=True), sa.PickleType]
TYPES += [S(collation="NOCASE"), sa.Enum("sad", "it's", name="mood"), sa.Enum("a", "b", native_enum=False)]
DEFAULTS = [
    (Int, "5"),
    (S, "it's"),
    (sa.DateTime, sa.func.now()),
    (sa.Boolean, sa.true()),
    (sa.Date, sa.text("current_date")),
]
DEFAULTS += [(sa.Numeric(5, 2), sa.text("1.50")), (sa.JSON, sa.text("'{}'"))]

SCHEMAS: dict[str, Callable[[Any], Any]] = {
    "plain": _parent,
    **{f"on delete {action}": _referring(action) for action in ("CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT")},
    "on delete nothing": _referring(None),
    "deferred key of two columns": _pair,
    "key to itself": lambda md: T("n", md, _key(), C("p", Int, sa.ForeignKey("n.id"))),
    "comments": lambda md: T("t", md, _key(), C("s", sa.Text, comment="it's"), comment="table"),
    "indexes": lambda md: T("t", md, _key(), C("s", S, index=True), C("u", Int, unique=True, index=True)),
    "unique": lambda md: T("t", md, C("a", Int, unique=True), C("b", S), sa.UniqueConstraint("b", name="uq")),
    "expressions": _indexes,
    "identity": lambda md: T("t", md, C("id", Int, sa.Identity(always=True, start=5, increment=2), primary_key=True)),
    "identity beside": lambda md: T("t", md, C("a", Int), C("g", sa.BigInteger, sa.Identity())),
    "computed": lambda md: T("t", md, C("a", Int), C("c", Int, sa.Computed("a * 2 + 1")), C("s", S)),
    "types": lambda md: T("t", md, _key(), *[C(f"c{i}", ty) for i, ty in enumerate(TYPES)]),
    "defaults": lambda md: T("t", md, *[C(f"c{i}", ty, server_default=d) for i, (ty, d) in enumerate(DEFAULTS)]),
    "checks": lambda md: T("t", md, C("a", Int, nullable=False), sa.CheckConstraint("a > 0", name="ck")),
    "keys": lambda md: T("t", md, C("a", Int, primary_key=True, autoincrement=False), C("b", S, primary_key=True)),
    "large keys": lambda md: T("t", md, C("k", sa.BigInteger, primary_key=True)),
    "small keys": lambda md: T("t", md, C("k", sa.SmallInteger, primary_key=True)),
    "names": lambda md: T("we ird", md, C("I d, e", Int, primary_key=True), C('q"q', S, index=True), C("select", Int)),
}


def _differences(engine: Any, metadata: Any) -> Any:
    with engine.connect() as con:
        context = MigrationContext.configure(con, opts={"compare_type": True, "compare_server_default": True})
        return compare_metadata(context, metadata)


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_differences_after_create_all_and_after_reflect_and_create(name: str) -> None:
    model, found = sa.MetaData(), sa.MetaData()
    SCHEMAS[name](model)
    engine, copy = sa.create_engine("inlay://"), sa.create_engine("inlay://")
    model.create_all(engine)
    assert _differences(engine, model) == []
    found.reflect(engine)
    found.create_all(copy)
    assert _differences(copy, model) == [] and _differences(copy, found) == []


def test_differences_are_found() -> None:
    model, other = sa.MetaData(), sa.MetaData()
    T("t", model, _key(), C("a", Int), C("m", sa.Enum("x", "y")), C("d", Int, server_default="1"))
    T(
        "t",
        other,
        _key(),
        C("a", sa.BigInteger),
        C("m", sa.Enum("x", "y", "z")),
        C("d", Int, server_default="2"),
        C("n", S),
    )
    engine = sa.create_engine("inlay://")
    model.create_all(engine)
    kinds = [(d if isinstance(d, tuple) else d[0])[0] for d in _differences(engine, other)]
    assert sorted(kinds) == ["add_column", "modify_default", "modify_type", "modify_type"]


STEPS: list[Callable[[Any], Any]] = [
    lambda op: op.add_column("t", C("n", Int, nullable=False, server_default="7", comment="seven")),
    lambda op: op.add_column("t", C("p", Int, sa.ForeignKey("p.id"))),
    lambda op: op.alter_column("t", "s", nullable=False),
    lambda op: op.alter_column("t", "s", nullable=True),
    lambda op: op.alter_column("t", "s", server_default="zz", comment="it's"),
    lambda op: op.alter_column("t", "s", server_default=None, comment=None),
    lambda op: op.alter_column("t", "n", type_=sa.BigInteger()),
    lambda op: op.alter_column("t", "n", server_default=None),
    lambda op: op.alter_column("t", "n", type_=S(), postgresql_using="n::VARCHAR || 'x'"),
    lambda op: op.alter_column("t", "n", new_column_name="n2"),
    lambda op: op.create_index("ix", "t", [sa.text("lower(s)")], unique=True),
    lambda op: op.drop_index("ix", "t"),
    lambda op: op.create_unique_constraint("uq", "t", ["a", "s"]),
    lambda op: op.create_check_constraint("ck", "t", "a > 0"),
    lambda op: op.create_foreign_key("fk", "t", "p", ["a"], ["id"], ondelete="CASCADE"),
    lambda op: op.drop_constraint("uq", "t", type_="unique"),
    lambda op: op.drop_constraint("ck", "t", type_="check"),
    lambda op: op.drop_constraint("fk", "t", type_="foreignkey"),
    lambda op: op.drop_constraint("t_pkey", "t", type_="primary"),
    lambda op: op.create_primary_key("pk", "t", ["id"]),
    lambda op: op.create_table_comment("t", "new"),
    lambda op: op.drop_table_comment("t"),
    lambda op: op.rename_table("t", "t2"),
]


@pytest.fixture
def table() -> Iterator[Any]:
    engine = sa.create_engine("inlay://")
    with engine.begin() as con:
        op = Operations(MigrationContext.configure(con))
        op.create_table("p", C("id", Int, primary_key=True))
        op.create_table("t", C("id", Int, primary_key=True), C("a", Int), C("s", S(5)))
        op.execute("INSERT INTO p VALUES (1), (2)")
        op.bulk_insert(sa.table("t", C("a", Int), C("s", S)), [{"a": 1, "s": "x"}, {"a": 2, "s": "y"}])
    yield engine
    engine.dispose()


def test_operations_on_a_table_with_data(table: Any) -> None:
    for step in STEPS:
        with table.begin() as con:
            step(Operations(MigrationContext.configure(con)))
    with table.begin() as con:
        op = Operations(MigrationContext.configure(con))
        with op.batch_alter_table("t2", recreate="always") as batch:
            batch.add_column(C("z", Int))
        op.drop_column("t2", "z")
        rows = con.execute(sa.text("SELECT a, s, n2 FROM t2 ORDER BY id")).all()
        assert rows == [(1, "x", "7x"), (2, "y", "7x")]
        op.drop_table("t2")
