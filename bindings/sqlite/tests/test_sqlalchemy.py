"""SQLAlchemy's SQLite back end on Inlay: models made, filled, read, changed and looked up."""

import subprocess
import sys

import pytest

from bindings.sqlite.tests.preload import LIBRARY, interpreter, preloaded

PROGRAM = """
import datetime
from sqlalchemy import ForeignKey, MetaData, String, create_engine, func, inspect, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

class Base(DeclarativeBase): pass

class User(Base):
    __tablename__ = "user_account"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30))
    born: Mapped[datetime.date | None]
    active: Mapped[bool] = mapped_column(default=True)
    addresses: Mapped[list["Address"]] = relationship(back_populates="user", cascade="all, delete-orphan")

class Address(Base):
    __tablename__ = "address"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    user: Mapped["User"] = relationship(back_populates="addresses")

engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
with Session(engine) as session:
    first = User(name="spongebob", born=datetime.date(1999, 5, 1), addresses=[Address(email="a"), Address(email="b")])
    session.add_all([first, User(name="sandy")])
    session.commit()
    users = session.scalars(select(User).order_by(User.id))
    print([(user.id, user.name, str(user.born), user.active, len(user.addresses)) for user in users])
    first.name = "x"
    first.addresses.pop()
    session.commit()
    print(session.execute(select(User.name, func.count(Address.id)).join(Address).group_by(User.name)).all())
    session.delete(first)
    session.commit()
    print(session.scalar(select(func.count(User.id))), session.scalar(select(func.count(Address.id))))
seen = inspect(engine)
print(seen.get_table_names(), [key["referred_table"] for key in seen.get_foreign_keys("address")])
print([f"{column['name']} {column['type']}" for column in seen.get_columns("user_account")])
reflected = MetaData()
reflected.reflect(engine)
print(sorted(reflected.tables))
"""


def test_models_are_kept_and_found():
    pytest.importorskip("sqlalchemy")
    if not LIBRARY.exists() or interpreter() != sys.executable:
        pytest.skip("the library is not built, or this interpreter's sqlite3 cannot be replaced")
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=preloaded(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[(1, 'spongebob', '1999-05-01', True, 2), (2, 'sandy', 'None', True, 0)]",
        "[('x', 1)]",
        "1 0",
        "['address', 'user_account'] ['user_account']",
        "['id INTEGER', 'name VARCHAR(30)', 'born DATE', 'active BOOLEAN']",
        "['address', 'user_account']",
    ]
