"""What a query calls stored functions with: all rows, or a sample of them that every row is in with the same chance."""

from __future__ import annotations

import getpass
import gzip
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import inlay
from inlay import _sealed, _udf, _worker
from inlay.exceptions import Error

if TYPE_CHECKING:
    from inlay._project import Stored

#: The environment's variable for the password of encrypted input.
PASSWORD = "INLAY_UDF_PASSWORD"


def _is_column(value: Any, style: str) -> bool:
    is_one = style == "rows" or isinstance(value, (str, bytes))
    return not is_one and getattr(value, "ndim", 1) == 1 and hasattr(value, "__len__")


def _taken(value: Any, rows: list[int]) -> Any:
    """Return some rows of a column."""
    if hasattr(value, "take") and type(value).__module__.startswith("pyarrow"):
        return value.take(rows)
    return value.iloc[rows] if hasattr(value, "iloc") else value[rows]


def _joined(columns: list[Any]) -> Any:
    module = type(columns[0]).__module__.partition(".")[0]
    if module == "pyarrow":
        import pyarrow

        return pyarrow.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    if module == "pandas":
        import pandas

        return pandas.concat(columns, ignore_index=True)
    if module == "polars":
        import polars

        return polars.concat(columns)
    import numpy

    join = (
        numpy.ma.concatenate if any(isinstance(each, numpy.ma.MaskedArray) for each in columns) else numpy.concatenate
    )
    return join(columns)


class Captured:
    """The calls of one function. Each row draws a number, and those with the smallest stay."""

    def __init__(self, style: str, limit: int | None) -> None:
        self.style, self.limit = style, limit
        self.parts: list[tuple[list[float], tuple[Any, ...]]] = []
        self.rows = 0
        self.failed: tuple[Any, ...] | None = None
        self.lock = threading.Lock()

    def add(self, arguments: tuple[Any, ...]) -> None:
        """Note a call."""
        columns = [each for each in arguments if _is_column(each, self.style)]
        keys = [random.random() for _ in range(len(columns[0]) if columns else 1)]
        # The memory is the engine's.
        own = tuple(
            _taken(each, list(range(len(each)))) if _is_column(each, self.style) else each for each in arguments
        )
        with self.lock:
            self.parts.append((keys, own))
            self.rows += len(keys)
            if self.limit is not None and self.rows > 2 * self.limit + 10_000:
                self._shrink(self.limit)

    def fail(self, arguments: tuple[Any, ...]) -> None:
        """Note a call that raised an exception: it is what is to be looked at."""
        with self.lock:
            self.failed = self.failed or tuple(
                _taken(each, list(range(len(each)))) if _is_column(each, self.style) else each for each in arguments
            )

    def _shrink(self, limit: int) -> None:
        keys = sorted(key for own, _ in self.parts for key in own)
        if len(keys) <= limit:
            return
        largest = keys[limit - 1] if limit else -1.0
        kept = []
        for own, arguments in self.parts:
            rows = [row for row, key in enumerate(own) if key <= largest]
            if rows:
                values = tuple(_taken(each, rows) if _is_column(each, self.style) else each for each in arguments)
                kept.append(([own[row] for row in rows], values))
        self.parts, self.rows = kept, sum(len(own) for own, _ in kept)

    def calls(self) -> list[tuple[Any, ...]]:
        """Return arguments for few calls."""
        if self.failed is not None:
            return [self.failed]
        if self.limit is not None:
            self._shrink(self.limit)
        if self.style == "rows":
            return [arguments for _, arguments in self.parts]
        groups: dict[Any, list[tuple[Any, ...]]] = {}
        for _, arguments in self.parts:
            # Literals are what they are.
            kind = tuple("column" if _is_column(each, self.style) else repr(each) for each in arguments)
            groups.setdefault(kind, []).append(arguments)
        return [
            tuple(
                _joined([call[index] for call in calls]) if kind == "column" else calls[0][index]
                for index, kind in enumerate(kinds)
            )
            for kinds, calls in groups.items()
        ]


def captured(
    con: inlay.Connection, functions: Iterable[Stored], sql: str, limit: int | None
) -> tuple[dict[str, list[tuple[Any, ...]]], str | None]:
    """Run a query in this process; what functions were called with, by file, and what it failed with."""
    known = {(each.name, tuple(each.parameters), each.body): each for each in functions}
    notes: dict[str, Captured] = {}
    compiled = _udf.compiled

    def watched(
        name: str, parameters: list[str], variadic: bool, body: str, *keywords: str, gives: _udf._Gives = ()
    ) -> Callable[..., Any]:
        function = compiled(name, parameters, variadic, body, *keywords, gives=gives)
        found = known.get((name, tuple(parameters), body))
        if found is None:
            return function
        note = notes.setdefault(found.stem, Captured(found.style, limit))

        def noted(*arguments: Any) -> Any:
            note.add(arguments)
            try:
                return function(*arguments)
            except Exception:
                note.fail(arguments)
                raise

        return noted

    failure = None
    _udf.compiled, _worker.SWITCHED_OFF = watched, True
    try:
        con.execute(sql).fetchall()
    except Error as error:
        failure = str(error)
    finally:
        _udf.compiled, _worker.SWITCHED_OFF = compiled, False
    # The one that failed comes last, where it is looked for.
    order = sorted(notes.items(), key=lambda each: each[1].failed is not None)
    return {stem: note.calls() for stem, note in order if note.parts}, failure


def write(path: Path, calls: list[tuple[Any, ...]], password: str | None = None) -> None:
    """Write arguments, compressed, and encrypted if there is a password."""
    if password is not None:
        _sealed.write(path, gzip.compress(pickle.dumps(calls, protocol=5), compresslevel=3), password)
        return
    with gzip.open(path, "wb", compresslevel=3) as file:
        pickle.dump(calls, file, protocol=5)


def read(path: Path) -> list[tuple[Any, ...]]:
    """Read arguments; asks for the password of those that are encrypted."""
    data = _sealed.read(path, password_for(path)) if _sealed.is_sealed(path) else path.read_bytes()
    calls: list[tuple[Any, ...]] = pickle.loads(gzip.decompress(data))
    return calls


def password_for(what: object, *, is_new: bool = False) -> str:
    """Take the password from the environment, or ask for it."""
    password = os.environ.get(PASSWORD) or getpass.getpass(f"password of {what}: ")
    if not password:
        raise ValueError(f"the password of {what} is empty; {PASSWORD} sets it, too")
    if is_new and PASSWORD not in os.environ and getpass.getpass("once more: ") != password:
        raise ValueError("the two passwords differ")
    return password
