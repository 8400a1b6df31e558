"""SQLAlchemy: exact numbers, levels of isolation, upserts, locks that are none, and applications of the web."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy")


@pytest.fixture
def engine() -> Any:
    sa.dialects.registry.register("inlay", "inlay.sqlalchemy", "InlayDialect")
    return sa.create_engine("inlay://")


def test_numbers_are_exact(engine: Any) -> None:
    columns = [
        sa.Column("x", sa.Numeric(28, 8)),
        sa.Column("f", sa.Float),
        sa.Column("g", sa.Numeric(9, 2, asdecimal=False)),
    ]
    t = sa.Table("t", sa.MetaData(), *columns, sa.Column("b", sa.LargeBinary))
    money = Decimal("12345678901234567890.12345678")
    with engine.begin() as con:
        t.create(con)
        con.execute(t.insert(), {"x": money, "f": 16777217.0, "g": 2.5, "b": b"\x00\xff"})
        assert con.execute(sa.select(t)).one() == (money, 16777217.0, 2.5, b"\x00\xff")
        assert type(con.execute(sa.select(t.c.g)).scalar()) is float
    with pytest.warns(sa.exc.SAWarning, match="without precision"):
        sa.Table("u", sa.MetaData(), sa.Column("n", sa.Numeric)).create(engine)


def test_levels_of_isolation_are_set_told_and_given_back(engine: Any) -> None:
    with engine.connect() as con:
        assert con.get_isolation_level() == "SERIALIZABLE"
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as con:
        assert con.get_isolation_level() == "REPEATABLE READ" and con.exec_driver_sql("SELECT 1").scalar() == 1
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as con:
        con.exec_driver_sql("CREATE TABLE t (a INTEGER)")
        con.rollback()
    assert sa.inspect(engine).has_table("t")
    reading = engine.connect().execution_options(postgresql_readonly=True)
    with reading as con, pytest.raises(sa.exc.DBAPIError):
        con.exec_driver_sql("INSERT INTO t VALUES (1)")
    with engine.begin() as con:
        con.exec_driver_sql("INSERT INTO t VALUES (1)")


def test_upserts_locks_and_ties(engine: Any) -> None:
    from inlay.sqlalchemy import insert

    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("n", sa.Integer))
    with engine.begin() as con:
        t.create(con)
        for n in (1, 2):
            statement = insert(t).values(id=1, n=n)
            con.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"n": statement.excluded.n}))
        con.execute(t.insert(), [{"id": 2, "n": 2}, {"id": 3, "n": 3}])
        assert con.execute(sa.select(t.c.n).where(t.c.id == 1).with_for_update(skip_locked=True)).scalar() == 2
        assert len(con.execute(sa.select(t).order_by(t.c.n).fetch(1, with_ties=True)).all()) == 2
        assert con.execute(sa.select(sa.literal("x").label("Count"))).scalar() == "x"


@pytest.mark.parametrize("framework", ["fastapi", "flask"])
def test_applications(framework: str, tmp_path: Path) -> None:
    engine = sa.create_engine(f"inlay:///{tmp_path / 'app.inlay'}")
    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("city", sa.String))
    t.create(engine)

    def add(city: str) -> dict[str, Any]:
        with engine.begin() as con:
            return {"id": con.execute(t.insert().values(city=city)).inserted_primary_key[0]}

    if framework == "fastapi":
        api = pytest.importorskip("fastapi").FastAPI()
        client = pytest.importorskip("fastapi.testclient").TestClient(api)
        api.post("/cities/{city}")(add)
        answers = [client.post(f"/cities/{city}").json() for city in ("Ulm", "Bonn")]
    else:
        app = pytest.importorskip("flask").Flask("app")
        app.post("/cities/<city>")(add)
        answers = [app.test_client().post(f"/cities/{city}").json for city in ("Ulm", "Bonn")]
    assert answers == [{"id": 1}, {"id": 2}]
    engine.dispose()
