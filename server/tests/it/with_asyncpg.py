"""What asyncpg reads and writes. `python with_asyncpg.py PORT`; says so where asyncpg is not there."""

import asyncio
import datetime
import decimal
import sys
import uuid

try:
    import asyncpg
except ImportError:
    print("absent")
    sys.exit()


async def main():
    place = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "tester", "database": "memory", "ssl": False}
    client = await asyncpg.connect(**place)
    # Types of arrays are looked up, which takes a recursive query.
    row = await client.fetchrow("SELECT $1::float8[], $2::jsonb, $3::text[]", [1.5], '{"a": 1}', ["x", None])
    assert list(row) == [[1.5], '{"a": 1}', ["x", None]], row
    await client.execute("CREATE TYPE feel AS ENUM ('sad', 'ok')")
    await client.execute(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, m feel, at TIMESTAMPTZ, d NUMERIC(10,2), u UUID, tags TEXT[],"
        " iv INTERVAL)"
    )
    at = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)
    values = (1, "ok", at, decimal.Decimal("1.50"), uuid.UUID(int=5), ["x", "y"], datetime.timedelta(days=1, seconds=5))
    await client.execute("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7)", *values)
    assert tuple(await client.fetchrow("SELECT * FROM t WHERE m = $1", "ok")) == values
    for _ in range(10):
        assert await client.fetchval("SELECT count(*) FROM t WHERE a = ANY($1)", [1, 2]) == 1
    assert await client.fetchval("SELECT count(*) FROM t WHERE tags[1] = ANY($1)", ["x"]) == 1
    await client.executemany("INSERT INTO t (a) VALUES ($1)", [(number,) for number in range(10, 110)])
    records = [(number, None, None, decimal.Decimal("2.25"), None, None, None) for number in range(1000, 1100)]
    await client.copy_records_to_table("t", records=records)
    assert await client.fetchval("SELECT count(*) FROM t") == 201
    async with client.transaction():
        assert len([row async for row in client.cursor("SELECT a FROM t", prefetch=7)]) == 201
    try:
        await client.execute("INSERT INTO t (a) VALUES (1)")
        raise AssertionError("a key twice")
    except asyncpg.UniqueViolationError as error:
        assert (error.constraint_name, error.table_name) == ("t_pkey", "t")
    async with asyncpg.create_pool(**place, min_size=2, max_size=3) as pool:
        answers = await asyncio.gather(*[pool.fetchval("SELECT $1::int", number) for number in range(6)])
        assert answers == list(range(6))
    await client.close()
    print("fine")


asyncio.run(asyncio.wait_for(main(), 60))
