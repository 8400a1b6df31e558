"""
Connections for asyncio: `inlay.aconnect`.

Statements run on a thread that belongs to the connection, one after the other, and the event loop goes on. A task that
is cancelled interrupts its statement, and ends when the statement has.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from os import PathLike
from types import FrameType
from typing import Any, TypeVar

from inlay._inlay import Connection, connect
from inlay._relation import Relation
from inlay.exceptions import ConnectionException

T = TypeVar("T")

#: Rows that `async for` fetches at a time.
_ROWS = 2048


def _seen_from(frame: FrameType, work: Callable[[], T]) -> Callable[[], T]:
    """Let `work`, on another thread, find the variables of the frame as tables."""
    scope = {**frame.f_globals, **frame.f_locals, "__inlay_work__": work}
    return lambda: eval("__inlay_work__()", scope)


class AsyncAnswer:
    """The answer of a statement; each method fetches on the connection's thread."""

    def __init__(self, owner: AsyncConnection, answer: Connection) -> None:
        self._owner = owner
        self._answer = answer

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """Name and type of each column."""
        return self._answer.description

    @property
    def rowcount(self) -> int:
        """Rows of the answer, or rows that the statement changed; -1 if neither."""
        return self._answer.rowcount

    async def fetchone(self) -> tuple[Any, ...] | None:
        """Fetch the next row; None when there is none."""
        return await self._owner._call(self._answer.fetchone)

    async def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Fetch up to `size` more rows."""
        return await self._owner._call(lambda: self._answer.fetchmany(size))

    async def fetchall(self) -> list[tuple[Any, ...]]:
        """Fetch all rows that are left."""
        return await self._owner._call(self._answer.fetchall)

    async def fetchnumpy(self, decimal: str | None = None, strings: str | None = None) -> dict[str, Any]:
        """Fetch one NumPy array per column; see `Connection.fetchnumpy`."""

        def fetched() -> dict[str, Any]:
            arrays = self._answer.fetchnumpy(decimal, strings)
            # Columns are made when they are looked at, which would be on the thread of the loop.
            arrays.values()
            return arrays

        return await self._owner._call(fetched)

    async def df(self, decimal: str | None = None, *, date_as_object: bool = False) -> Any:
        """Fetch a pandas data frame; see `Connection.df`."""
        return await self._owner._call(lambda: self._answer.df(decimal, date_as_object=date_as_object))

    async def arrow(self) -> Any:
        """Fetch a `pyarrow.Table`."""
        return await self._owner._call(self._answer.arrow)

    async def pl(self) -> Any:
        """Fetch a Polars data frame."""
        return await self._owner._call(self._answer.pl)

    async def __aiter__(self) -> AsyncIterator[tuple[Any, ...]]:
        while rows := await self.fetchmany(_ROWS):
            for row in rows:
                yield row


class _Running:
    """A statement that runs: `await` it, or go through its rows with `async for`."""

    def __init__(self, owner: AsyncConnection, work: Callable[[], Connection]) -> None:
        self._owner = owner
        self._work = work

    async def _answer(self) -> AsyncAnswer:
        return AsyncAnswer(self._owner, await self._owner._call(self._work))

    def __await__(self) -> Generator[Any, None, AsyncAnswer]:
        return self._answer().__await__()

    async def __aiter__(self) -> AsyncIterator[tuple[Any, ...]]:
        async for row in await self._answer():
            yield row


class AsyncConnection:
    """
    A connection for asyncio, as `aconnect` opens it.

    `connection` is the plain connection behind it, for what has no method here.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="inlay")

    async def _call(self, work: Callable[[], T]) -> T:
        job = self._thread.submit(work)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            while not job.cancel() and not job.done():
                # Again and again: a statement that just begins takes earlier interrupts back.
                with suppress(ConnectionException):
                    # Closed by another task: its statement has ended, or is about to.
                    self.connection.interrupt()
                await asyncio.sleep(0.01)
            raise

    def execute(self, query: str, parameters: Any = None) -> _Running:
        """
        Run SQL: ``await`` gives the answer, ``async for`` its rows.

        Raises
        ------
        inlay.Error
            With the SQLSTATE in ``sqlstate``, when it is awaited.
        """
        return _Running(self, _seen_from(sys._getframe(1), lambda: self.connection.execute(query, parameters)))

    async def executemany(self, query: str, parameters: Any) -> AsyncAnswer:
        """Run one statement once per set of parameters, all or nothing."""
        return AsyncAnswer(self, await self._call(lambda: self.connection.executemany(query, parameters)))

    async def append(self, table_name: str, data: Any, by_name: bool = False) -> None:
        """Add rows to a table; see `Connection.append`."""
        await self._call(lambda: self.connection.append(table_name, data, by_name))

    async def register(self, name: str, table: Any) -> None:
        """Make an object a table; see `Connection.register`."""
        await self._call(lambda: self.connection.register(name, table))

    def sql(self, query: str, params: Any = None) -> Relation | None:
        """Make a relation, which runs when it is read, on the thread that reads it; see `Connection.sql`."""
        return _seen_from(sys._getframe(1), lambda: self.connection.sql(query, params))()

    async def begin(self) -> None:
        """Open a transaction."""
        await self._call(self.connection.begin)

    async def commit(self) -> None:
        """Commit the transaction, if one is open."""
        await self._call(self.connection.commit)

    async def rollback(self) -> None:
        """Undo the transaction, if one is open."""
        await self._call(self.connection.rollback)

    def cursor(self) -> AsyncConnection:
        """Open another session of the same database, with a thread of its own."""
        return AsyncConnection(self.connection.cursor())

    def query_progress(self) -> float:
        """How far the running query is, from 0 to 100; -1 while none runs."""
        return self.connection.query_progress()

    def interrupt(self) -> None:
        """End the running statement."""
        self.connection.interrupt()

    async def close(self) -> None:
        """Close the session; an open transaction is undone."""
        await self._call(self.connection.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> AsyncConnection:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


class _Opening:
    """A connection that is being opened: `await` it, or use it in `async with`."""

    def __init__(self, work: Callable[[], Connection]) -> None:
        self._work = work
        self._opened: AsyncConnection | None = None

    async def _open(self) -> AsyncConnection:
        return AsyncConnection(await asyncio.get_running_loop().run_in_executor(None, self._work))

    def __await__(self) -> Generator[Any, None, AsyncConnection]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncConnection:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *exception: object) -> None:
        if self._opened is not None:
            await self._opened.close()


def aconnect(
    database: str | PathLike[str] | None = ":memory:",
    read_only: bool = False,
    config: dict[str, Any] | None = None,
    *,
    allow_python: bool | None = None,
    sandbox: bool | None = None,
    decimal: str | None = None,
) -> _Opening:
    """
    Open a database for asyncio; arguments and errors are those of `connect`.

    Examples
    --------
    >>> async def main():
    ...     async with inlay.aconnect() as con:
    ...         async for row in con.execute("SELECT 40 + 2"):
    ...             print(row)
    >>> import asyncio
    >>> asyncio.run(main())
    (42,)
    """
    switches: dict[str, Any] = {"allow_python": allow_python, "sandbox": sandbox, "decimal": decimal}
    return _Opening(lambda: connect(database, read_only, config, **switches))
