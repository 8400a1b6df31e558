"""ODBC's driver of PostgreSQL. `python with_odbc.py PORT`; says so where pyodbc or the driver is not there."""

import datetime
import decimal
import sys

try:
    import pyodbc
except ImportError:
    print("absent")
    sys.exit()
if "PostgreSQL Unicode" not in pyodbc.drivers():
    print("absent")
    sys.exit()

place = (
    f"DRIVER=PostgreSQL Unicode;SERVER=127.0.0.1;PORT={sys.argv[1]};DATABASE=memory;UID=tester;PWD=x;SSLMODE=disable"
)
connection = pyodbc.connect(place, autocommit=True)
cursor = connection.cursor()
cursor.execute(
    "CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, price DECIMAL(10,2), at TIMESTAMP,"
    " CONSTRAINT named UNIQUE (name, price))"
)
cursor.execute("CREATE TABLE child (id BIGINT PRIMARY KEY, pid INTEGER REFERENCES parent(id))")
cursor.execute("CREATE INDEX child_pid ON child (pid)")
assert [row.table_name for row in cursor.tables(tableType="TABLE")] == ["child", "parent"]
columns = [(row.column_name, row.type_name, row.nullable) for row in cursor.columns(table="parent")]
assert columns == [("id", "int4", 0), ("name", "varchar", 0), ("price", "numeric", 1), ("at", "timestamp", 1)], columns
assert [(row.column_name, row.pk_name) for row in cursor.primaryKeys("parent")] == [("id", "parent_pkey")]
keys = [(row[2], row[3], row[6], row[7]) for row in cursor.foreignKeys(foreignTable="child")]
assert keys == [("parent", "id", "child", "pid")], keys
indexes = [(row[5], row[7], row[8]) for row in cursor.statistics("parent")]
assert sorted(indexes) == [("named", 1, "name"), ("named", 2, "price"), ("parent_pkey", 1, "id")], indexes
values = (1, "é", decimal.Decimal("1.50"), datetime.datetime(2024, 1, 2, 3, 4, 5))
cursor.execute("INSERT INTO parent VALUES (?, ?, ?, ?)", values)
more = [(number, "n", decimal.Decimal(number), None) for number in range(2, 20)]
cursor.executemany("INSERT INTO parent VALUES (?, ?, ?, ?)", more)
for _ in range(10):
    assert tuple(cursor.execute("SELECT * FROM parent WHERE id = ?", 1).fetchone()) == values
try:
    cursor.execute("INSERT INTO parent VALUES (1, 'x', 2, NULL)")
    raise AssertionError("a key twice")
except pyodbc.Error as error:
    assert error.args[0] == "23505", error
connection.autocommit = False
cursor.execute("INSERT INTO child VALUES (1, 1)")
connection.rollback()
assert cursor.execute("SELECT count(*) FROM child").fetchone()[0] == 0
print("fine")
