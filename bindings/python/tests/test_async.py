"""Connections for asyncio: the loop goes on, rows come one by one, cancelling interrupts."""

# Variables are read by SQL.
# ruff: noqa: F841
from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest

import inlay

ENDLESS = "SELECT count(*) FROM range(100000000) a(x), range(100000) b(y) WHERE x + y < 0"


def test_statements_and_rows() -> None:
    async def main() -> None:
        async with inlay.aconnect() as con:
            await con.execute("CREATE TABLE t AS SELECT i FROM range(5000) r(i)")
            answer = await con.execute("SELECT i FROM t WHERE i >= ? ORDER BY i", [4998])
            assert await answer.fetchone() == (4998,) and await answer.fetchall() == [(4999,)]
            rows = [row async for row in con.execute("SELECT i FROM t ORDER BY i")]
            assert rows == [(i,) for i in range(5000)]
            await con.begin()
            assert (await con.execute("DELETE FROM t")).rowcount == 5000
            await con.rollback()
            numbers = {"x": np.array([1, 2])}
            assert await (await con.execute("SELECT sum(x) FROM numbers")).fetchall() == [(3,)]
            relation = con.sql("FROM numbers")
            assert relation is not None and len(relation) == 2
        con = await inlay.aconnect(":memory:")
        with pytest.raises(inlay.ParserException):
            await con.execute("SELEC 1")
        await con.close()

    asyncio.run(main())


def test_cancelling_interrupts_the_statement() -> None:
    async def main() -> None:
        async with inlay.aconnect() as con:
            task = asyncio.ensure_future(con.execute(ENDLESS)._answer())
            ticks = 0
            while ticks < 20:
                await asyncio.sleep(0.01)
                ticks += 1
            start = time.perf_counter()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.perf_counter() - start < 2
            assert await (await con.execute("SELECT 1")).fetchall() == [(1,)]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(con.execute(ENDLESS)._answer(), timeout=0.1)

    asyncio.run(main())
