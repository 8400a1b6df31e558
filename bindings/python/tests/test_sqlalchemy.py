"""The dialect of SQLAlchemy: core, ORM and reflection."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy")
orm = pytest.importorskip("sqlalchemy.orm")


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    sa.dialects.registry.register("inlay", "inlay.sqlalchemy", "InlayDialect")
    engine = sa.create_engine(f"inlay:///{tmp_path / 'a.db'}")
    yield engine
    engine.dispose()


def test_core(engine: Any) -> None:
    metadata = sa.MetaData()
    trips = sa.Table(
        "trips",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("city", sa.String(50), nullable=False, index=True),
        sa.Column("km", sa.Numeric(10, 2)),
        sa.Column("at", sa.DateTime),
    )
    metadata.create_all(engine)
    moment = datetime.datetime(2024, 2, 29, 12)
    with engine.begin() as con:
        con.execute(
            trips.insert(), [{"city": "Ulm", "km": Decimal("1.5"), "at": moment}, {"city": "Bonn", "km": 2, "at": None}]
        )
        key = con.execute(trips.insert().values(city="Kiel")).inserted_primary_key[0]
        assert key == 3
    with engine.connect() as con:
        rows = con.execute(sa.select(trips.c.city, trips.c.km).where(trips.c.km > 1).order_by(trips.c.id)).fetchall()
        assert rows == [("Ulm", Decimal("1.50")), ("Bonn", Decimal("2.00"))]
        assert con.execute(sa.select(trips.c.at).where(trips.c.city.ilike("u%"))).scalar() == moment
        con.execute(trips.delete())
        con.rollback()
        assert con.execute(sa.select(sa.func.count()).select_from(trips)).scalar() == 3
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as con:
        con.execute(trips.insert().values(id=1, city="again"))


def test_reflection(engine: Any) -> None:
    with engine.begin() as con:
        con.exec_driver_sql("CREATE TABLE p (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, d DECIMAL(10, 2))")
        con.exec_driver_sql("CREATE TABLE q (a INTEGER REFERENCES p (id), b INTEGER[], CHECK (a > 0))")
        con.exec_driver_sql("CREATE INDEX q_a ON q (a)")
        con.exec_driver_sql("CREATE VIEW v AS SELECT a FROM q")
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["p", "q"] and inspector.get_view_names() == ["v"]
    assert inspector.has_table("p") and not inspector.has_table("r")
    assert inspector.get_pk_constraint("p")["constrained_columns"] == ["id"]
    assert inspector.get_foreign_keys("q")[0]["referred_table"] == "p"
    assert inspector.get_indexes("q")[0]["column_names"] == ["a"]
    assert "SELECT a FROM q" in inspector.get_view_definition("v")
    metadata = sa.MetaData()
    metadata.reflect(engine)
    p, q = metadata.tables["p"], metadata.tables["q"]
    assert [column.name for column in p.columns] == ["id", "name", "d"] and not p.c.name.nullable
    assert p.c.d.type.precision == 10 and isinstance(q.c.b.type, sa.ARRAY)
    assert next(iter(q.c.a.foreign_keys)).column is p.c.id
    with pytest.raises(sa.exc.NoSuchTableError):
        sa.Table("nowhere", metadata, autoload_with=engine)


def test_orm_in_memory() -> None:
    sa.dialects.registry.register("inlay", "inlay.sqlalchemy", "InlayDialect")
    engine = sa.create_engine("inlay:///:memory:")
    base = orm.declarative_base()

    class Person(base):  # type: ignore[misc, valid-type]
        __tablename__ = "people"
        id = sa.Column(sa.Integer, primary_key=True)
        name = sa.Column(sa.String)

    base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add_all([Person(name="Ada"), Person(name="Alan")])
        session.commit()
    with orm.Session(engine) as session:
        ada = session.execute(sa.select(Person).where(Person.name == "Ada")).scalar_one()
        ada.name = "Ada L."
        session.commit()
        assert session.scalars(sa.select(Person.name).order_by(Person.id)).all() == ["Ada L.", "Alan"]
    pd = pytest.importorskip("pandas")
    with engine.connect() as con:
        assert pd.read_sql("SELECT count(*) AS n FROM people", con)["n"][0] == 2


def test_pandas_reads_and_writes(engine: Any) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"x": [1, 2, 3], "s": ["a", None, "c"], "day": pd.to_datetime(["2024-02-29"] * 3), "f": [0.5, None, 2]}
    )
    assert frame.to_sql("frames", engine, index=False) in (3, -1, None)
    back = pd.read_sql("SELECT * FROM frames ORDER BY x", engine)
    assert back["x"].tolist() == [1, 2, 3] and back["s"].isna().tolist() == [False, True, False]
    assert back["f"].isna().sum() == 1 and back["day"].iloc[0] == pd.Timestamp("2024-02-29")
    frame.to_sql("frames", engine, index=False, if_exists="append", method="multi")
    assert len(pd.read_sql_table("frames", engine)) == 6
    frame.to_sql("frames", engine, index=True, index_label="n", if_exists="replace")
    with engine.connect() as connection:
        some = pd.read_sql(sa.text("SELECT n FROM frames WHERE x > :least ORDER BY n"), connection, params={"least": 1})
    assert some["n"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("left", "right", "quotient", "floor"),
    [(7, 2, 3.5, 3), (9_007_199_254_740_993, 1, 9_007_199_254_740_993.0, 9_007_199_254_740_993), (6, 3, 2.0, 2)],
)
def test_division(engine: Any, left: int, right: int, quotient: float, floor: int) -> None:
    a, b = sa.literal(left, sa.BigInteger), sa.literal(right, sa.BigInteger)
    with engine.connect() as con:
        assert con.execute(sa.select(a / b)).scalar() == quotient
        found = con.execute(sa.select(a // b)).scalar()
        assert (found, type(found)) == (floor, int)
        assert con.execute(sa.select(sa.literal(7.5) // sa.literal(2))).scalar() == 3
        assert con.execute(sa.select((a + 0) // (b + 0) * 2)).scalar() == floor * 2
        assert con.execute(sa.select(sa.literal(Decimal("7.5")) / sa.literal(Decimal("2")))).scalar() == 3.75


def test_options_of_the_url_stay_beside_those_of_connect_args() -> None:
    engine = sa.create_engine(
        "inlay:///:memory:?threads=1&default_order=desc", connect_args={"config": {"default_order": "asc"}}
    )
    with engine.connect() as con:
        found = con.exec_driver_sql("SELECT current_setting('threads'), current_setting('default_order')").fetchone()
        assert (int(found[0]), str(found[1]).lower()[:3]) == (1, "asc")
    engine.dispose()
    for options in ({}, {"config": {}}, {"config": None}):
        engine = sa.create_engine("inlay:///:memory:?threads=1", connect_args=options)
        with engine.connect() as con:
            assert int(con.exec_driver_sql("SELECT current_setting('threads')").scalar()) == 1
        engine.dispose()


def test_levels_of_isolation_are_words(engine: Any) -> None:
    with engine.connect() as con:
        con.exec_driver_sql("CREATE TABLE canary (v INTEGER)")
        con.commit()
    with pytest.raises(sa.exc.ArgumentError):
        engine.connect().execution_options(isolation_level="SERIALIZABLE; DROP TABLE canary")
    raw = engine.raw_connection()
    with pytest.raises(sa.exc.ArgumentError):
        engine.dialect.set_isolation_level(raw.dbapi_connection, "SERIALIZABLE; DROP TABLE canary")
    raw.close()
    assert sa.inspect(engine).get_table_names() == ["canary"]


def test_rowcount_is_known_when_the_cursor_is_closed(engine: Any) -> None:
    from inlay.sqlalchemy import insert

    metadata = sa.MetaData()
    keyed = sa.Table("keyed", metadata, sa.Column("a", sa.Integer, primary_key=True, autoincrement=False))
    counted = sa.Table("counted", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("s", sa.String))
    metadata.create_all(engine)
    with engine.begin() as con:
        once = insert(keyed).values(a=1).on_conflict_do_nothing()
        assert [con.execute(once).rowcount for _ in range(2)] == [1, 0]
        assert con.execute(keyed.insert().values([{"a": 2}, {"a": 3}])).rowcount == 2
        assert con.execute(counted.insert().values(s="x")).rowcount == 1
        assert con.execute(counted.insert(), [{"s": "x"}, {"s": "y"}]).rowcount == 2
        assert con.execute(keyed.insert().from_select(["a"], sa.select(counted.c.id + 10))).rowcount == 3
        upsert = insert(counted).values([{"id": 1, "s": "z"}, {"id": 99, "s": "z"}])
        assert con.execute(upsert.on_conflict_do_update(index_elements=["id"], set_={"s": "w"})).rowcount == 2
        assert con.execute(counted.update().values(s="v")).rowcount == 4
        assert con.execute(counted.delete()).rowcount == 4
