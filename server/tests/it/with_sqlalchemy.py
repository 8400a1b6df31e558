"""SQLAlchemy's reflection. `python with_sqlalchemy.py PORT`; says so where SQLAlchemy or psycopg is not there."""

import sys

try:
    import psycopg  # noqa: F401
    import sqlalchemy as sa
except ImportError:
    print("absent")
    sys.exit()

engine = sa.create_engine(f"postgresql+psycopg://tester@127.0.0.1:{sys.argv[1]}/memory")
with engine.begin() as connection:
    for statement in [
        "CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'x', price DECIMAL(10,2),"
        " tags TEXT[], CHECK (price > 0), CONSTRAINT named UNIQUE (name, price))",
        "CREATE TABLE child (id BIGINT PRIMARY KEY, pid INTEGER REFERENCES parent(id) ON DELETE CASCADE)",
        "CREATE INDEX child_pid ON child (pid)",
        "COMMENT ON TABLE child IS 'kids'",
        "CREATE SCHEMA other",
        "CREATE TABLE other.far (a INTEGER)",
        "CREATE VIEW seen AS SELECT id FROM parent",
        "CREATE SEQUENCE seq",
    ]:
        connection.execute(sa.text(statement))

inspector = sa.inspect(engine)
assert sorted(inspector.get_table_names()) == ["child", "parent"], inspector.get_table_names()
assert inspector.get_table_names(schema="other") == ["far"]
assert inspector.get_view_names() == ["seen"] and inspector.get_sequence_names() == ["seq"]
columns = {column["name"]: column for column in inspector.get_columns("parent")}
assert str(columns["price"]["type"]) == "NUMERIC(10, 2)" and columns["name"]["default"] == "'x'"
assert isinstance(columns["tags"]["type"], sa.dialects.postgresql.ARRAY)
assert not columns["id"]["nullable"] and columns["price"]["nullable"]
assert inspector.get_pk_constraint("parent")["constrained_columns"] == ["id"]
assert inspector.get_pk_constraint("parent")["name"] == "parent_pkey"
[key] = inspector.get_foreign_keys("child")
assert (key["constrained_columns"], key["referred_table"], key["referred_columns"]) == (["pid"], "parent", ["id"])
assert key["options"] == {"ondelete": "CASCADE"}
[unique] = inspector.get_unique_constraints("parent")
assert (unique["name"], unique["column_names"]) == ("named", ["name", "price"])
assert [(index["name"], index["column_names"]) for index in inspector.get_indexes("child")] == [("child_pid", ["pid"])]
assert "price > 0" in inspector.get_check_constraints("parent")[0]["sqltext"]
assert inspector.get_table_comment("child") == {"text": "kids"}
assert inspector.has_table("child") and not inspector.has_table("far")

metadata = sa.MetaData()
metadata.reflect(engine)
parent, child = metadata.tables["parent"], metadata.tables["child"]
with engine.begin() as connection:
    connection.execute(parent.insert(), [{"id": 1, "name": "a", "price": 1}, {"id": 2, "name": "b", "price": 2}])
    connection.execute(child.insert(), [{"id": 1, "pid": 2}])
    assert connection.execute(sa.select(parent.c.name).join(child)).all() == [("b",)]
    names = sa.func.any(["a", "c"])
    assert connection.execute(sa.select(parent.c.id).where(parent.c.name == names)).all() == [(1,)]
made = sa.Table("made", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("b", sa.Boolean))
made.metadata.create_all(engine)
with engine.begin() as connection:
    assert connection.execute(made.insert().returning(made.c.id), [{"b": True}]).all() == [(1,)]
try:
    with engine.begin() as connection:
        connection.execute(parent.insert(), [{"id": 1, "name": "z"}])
    raise AssertionError("a key twice")
except sa.exc.IntegrityError as error:
    assert error.orig.diag.constraint_name == "parent_pkey", error.orig.diag.constraint_name
    assert error.orig.diag.table_name == "parent"
print("fine")
