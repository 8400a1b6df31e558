"""What psycopg 3 reads and writes. `python with_psycopg.py PORT`; says so where psycopg is not there."""

import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

try:
    import psycopg
except ImportError:
    print("absent")
    sys.exit()

place = f"host=127.0.0.1 port={sys.argv[1]} user=tester dbname=memory"
connection = psycopg.connect(place, autocommit=True)

for value in [
    *(True, 1, 2**40, 2**70, 1.5, Decimal("1.50"), "é", "", b"ab\0", [1, 2, None], None, UUID(int=5)),
    *(date(2024, 1, 2), time(1, 2, 3), datetime(2024, 1, 2, 3, 4, 5), timedelta(days=1, hours=2)),
    datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
]:
    for form in ("%s", "%b", "%t"):
        for binary in (False, True):
            row = connection.cursor(binary=binary).execute(f"SELECT {form}", (value,)).fetchone()
            assert row == (value,), (form, binary, value, row)

connection.execute("CREATE TABLE u (a INTEGER PRIMARY KEY, b VARCHAR)")
with connection.cursor() as cursor:
    cursor.executemany("INSERT INTO u VALUES (%s, %s)", [(number, str(number)) for number in range(10)])
    assert cursor.rowcount == 10
    with cursor.copy("COPY u FROM STDIN") as copy:
        for number in range(100, 200):
            copy.write_row((number, None))
    with cursor.copy("COPY u FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "text"])
        for number in range(300, 400):
            copy.write_row((number, "z"))
    with cursor.copy("COPY u TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["int4", "text"])
        assert len(list(copy.rows())) == 210

with psycopg.connect(place) as other:
    try:
        with other.transaction():
            other.execute("SELECT nothing")
    except psycopg.errors.UndefinedColumn:
        pass
    with other.cursor("named") as cursor:
        cursor.execute("SELECT * FROM range(%s)", (100_000,))
        assert sum(row[0] for row in cursor) == 4_999_950_000

try:
    connection.execute("INSERT INTO u VALUES (1, 'x')")
    raise AssertionError("a key twice")
except psycopg.errors.UniqueViolation:
    pass
for number in range(10):
    assert connection.execute("SELECT %s::INTEGER + 1", (number,), prepare=True).fetchone() == (number + 1,)
print("fine")
