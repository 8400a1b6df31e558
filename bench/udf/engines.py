"""The engines, each with the functions of the suite, over one column `x` of 32-bit integers."""

from __future__ import annotations

import sqlite3
from typing import Any

# What is asked, by name.
QUERIES = {
    "built-in": "SELECT sum(x % 100) FROM numbers",
    "vectorised function": "SELECT sum(modulo(x)) FROM numbers",
    "function of rows": "SELECT sum(modulo_of_one(x)) FROM numbers",
    "no function": "SELECT sum(x) FROM numbers",
    "arguments": "SELECT sum(taken(x)) FROM numbers",
    "arguments and result": "SELECT sum(copied(x)) FROM numbers",
    "lock held on 1 thread": "SELECT sum(holding(x)) FROM numbers",
    "lock held on 2 threads": "SELECT sum(holding(x)) FROM numbers",
    "lock released on 1 thread": "SELECT sum(releasing(x)) FROM numbers",
    "lock released on 2 threads": "SELECT sum(releasing(x)) FROM numbers",
}


def modulo_of_one(x: int) -> int:
    """The function of rows, everywhere."""
    return x % 100


def holding(x: Any) -> Any:
    """Computes in Python, with the interpreter lock."""
    return [n * n % 1000 for n in x.tolist()]


def releasing(x: Any) -> Any:
    """Computes in NumPy, which gives the lock back meanwhile."""
    import numpy as np

    return np.rint(np.sin(x) * 1000).astype("i4")


class SQL:
    """What Inlay and DuckDB share."""

    connection: Any

    def load(self, parts: Any) -> None:
        import pyarrow as pa

        self.connection.execute("CREATE OR REPLACE TABLE numbers (x INTEGER)")
        for part in parts:
            self.connection.register("part", pa.table({"x": part}))
            self.connection.execute("INSERT INTO numbers SELECT x FROM part")
            self.connection.unregister("part")

    def answer(self, query: str) -> int:
        (found,) = self.connection.execute(QUERIES[query]).fetchone()
        return int(found)

    def close(self) -> None:
        self.connection.close()


class Inlay(SQL):
    """Inlay, in memory. Functions take NumPy arrays; those of one call take the whole column."""

    def __init__(self, threads: int) -> None:
        import inlay

        self.version = inlay.__version__
        self.connection = con = inlay.connect(config={"threads": threads})
        con.create_function("modulo", lambda x: x % 100, ["INTEGER"], "INTEGER", type="numpy")
        con.create_function("modulo_of_one", modulo_of_one, ["INTEGER"], "INTEGER")
        con.create_function("holding", holding, ["INTEGER"], "INTEGER", type="numpy", parallel="processes")
        con.create_function("releasing", releasing, ["INTEGER"], "INTEGER", type="numpy")
        self.threads = threads
        con.create_function("taken", lambda x: 0, ["INTEGER"], "INTEGER", type="numpy", blocking=True)
        con.create_function("copied", lambda x: x.copy(), ["INTEGER"], "INTEGER", type="numpy", blocking=True)

    def answer(self, query: str) -> int:
        threads = {"1 thread": 1, "2 threads": 2}.get(query.partition(" on ")[2], self.threads)
        self.connection.execute(f"SET threads = {threads}")
        return super().answer(query)


class DuckDB(SQL):
    """DuckDB, in memory. Functions take Arrow arrays of up to 2,048 rows."""

    def __init__(self, threads: int) -> None:
        import duckdb
        import pyarrow as pa
        import pyarrow.compute as pc

        def modulo(x: Any) -> Any:
            return pc.subtract(x, pc.multiply(pc.divide(x, 100), 100))

        def taken(x: Any) -> Any:
            return pa.repeat(pa.scalar(0, pa.int32()), len(x))

        def copied(x: Any) -> Any:
            return pc.add(x, pa.scalar(0, pa.int32()))

        self.version = duckdb.__version__
        self.connection = con = duckdb.connect(config={"threads": threads})
        for function in (modulo, taken, copied):
            con.create_function(function.__name__, function, ["INTEGER"], "INTEGER", type="arrow")
        con.create_function("modulo_of_one", modulo_of_one, ["INTEGER"], "INTEGER")


class NumPy:
    """NumPy alone, on one thread: what a program without a database does."""

    def __init__(self, _threads: int) -> None:
        import numpy as np

        self.version = np.__version__

    def load(self, parts: Any) -> None:
        import numpy as np

        self.x = np.concatenate(list(parts))

    def answer(self, query: str) -> int:
        import numpy as np

        match query:
            case "built-in":
                found = self.x % 100
            case "arguments and result":
                found = self.x.copy()
            case "lock held on 1 thread" | "lock held on 2 threads":
                return sum(holding(self.x))
            case "lock released on 1 thread":
                found = releasing(self.x)
            case "lock released on 2 threads":
                # What two threads are worth on the machine at this moment.
                from concurrent.futures import ThreadPoolExecutor

                with ThreadPoolExecutor(2) as pool:
                    return sum(int(found.sum(dtype="i8")) for found in pool.map(releasing, np.array_split(self.x, 2)))
            case _:
                found = self.x
        return int(found.sum(dtype="i8"))

    def close(self) -> None:
        del self.x


class SQLite:
    """SQLite, in memory; its functions in Python are called for each row."""

    def __init__(self, _threads: int) -> None:
        self.version = sqlite3.sqlite_version
        self.connection = sqlite3.connect(":memory:")
        self.connection.create_function("modulo_of_one", 1, modulo_of_one, deterministic=True)

    def load(self, parts: Any) -> None:
        self.connection.execute("DROP TABLE IF EXISTS numbers")
        self.connection.execute("CREATE TABLE numbers (x INTEGER)")
        for part in parts:
            self.connection.executemany("INSERT INTO numbers VALUES (?)", ((x,) for x in part.tolist()))
        self.connection.commit()

    def answer(self, query: str) -> int:
        (found,) = self.connection.execute(QUERIES[query]).fetchone()
        return int(found)

    def close(self) -> None:
        self.connection.close()


ENGINES: dict[str, Any] = {"inlay": Inlay, "duckdb": DuckDB, "numpy": NumPy, "sqlite": SQLite}
