"""Servers and their clients: each is started on a free port with the tables in it, and gives all rows of one.

A client takes rows as its driver hands them out and lets them go again, so that no driver's memory is measured. What
each gives back is the number of rows and the sum of the first column, which all have to agree on.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Answer = tuple[int, int]
ROWS_AT_ONCE = 10_000


class MissingError(Exception):
    """A peer that is not installed here."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 60.0) -> None:
    """Until the server answers."""
    end = time.time() + seconds
    while time.time() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None:
            raise MissingError(f"the server ended with {process.returncode}")
        time.sleep(0.1)
    raise MissingError("the server did not start")


class Peer:
    """A server, its tables, and a client."""

    name = ""
    # In the process of the client: there is no network.
    inside = False

    def __init__(self, tables: Mapping[str, Path], folder: Path) -> None:
        self.tables, self.folder = tables, folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> int:
        """Starts the server with the tables; its port."""
        raise NotImplementedError

    def fetch(self, port: int, table: str) -> tuple[float, Answer]:
        """Seconds from sending the query on an open connection to its last row."""
        raise NotImplementedError

    def run(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def timed(batches: Callable[[], Iterator[Any]], answer: Callable[[Iterator[Any]], Answer]) -> tuple[float, Answer]:
    start = time.perf_counter()
    found = answer(batches())
    return time.perf_counter() - start, found


def rows_answer(pieces: Iterator[list[Any]]) -> Answer:
    """Of pieces of rows in Python."""
    rows = total = 0
    for piece in pieces:
        rows += len(piece)
        total += sum(row[0] for row in piece)
    return rows, total


def arrow_answer(batches: Iterator[Any]) -> Answer:
    """Of batches of Arrow."""
    import pyarrow.compute as pc

    rows = total = 0
    for batch in batches:
        rows += batch.num_rows
        total += pc.sum(batch.column(0)).as_py() or 0
    return rows, total


def schema(path: Path, types: Mapping[str, str]) -> str:
    """Columns of a table for another server, by the names of Arrow's types."""
    import pyarrow.parquet as pq

    columns = []
    for field in pq.read_schema(path):
        name = str(field.type)
        columns.append(f"{field.name} {name.replace('128', '') if name.startswith('decimal') else types[name]}")
    return ", ".join(columns)


class Netcat(Peer):
    """CSV through a plain socket: what every protocol is measured by."""

    name = "netcat"
    method = ""

    def start(self) -> int:
        import inlay

        self.files: dict[str, Path] = {}
        self.answers: dict[str, Answer] = {}
        with inlay.connect() as connection:
            for table, path in self.tables.items():
                self.files[table] = self.folder / f"{table}.csv"
                connection.execute(f"COPY (FROM '{path}') TO '{self.files[table]}' (HEADER false)")
                rows, total = connection.execute(f"SELECT count(*), sum(#1) FROM '{path}'").fetchone()
                self.answers[table] = (int(rows), int(total))
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, args=(listener,), daemon=True).start()
        return int(listener.getsockname()[1])

    def serve(self, listener: socket.socket) -> None:
        names = list(self.tables)
        while True:
            end, _ = listener.accept()
            chosen = end.recv(1)
            if chosen:
                command = [
                    sys.executable,
                    "-c",
                    SEND,
                    str(end.fileno()),
                    str(self.files[names[chosen[0]]]),
                    self.method,
                ]
                subprocess.Popen(command, pass_fds=[end.fileno()]).wait()
            end.close()

    def fetch(self, port: int, table: str) -> tuple[float, Answer]:
        with socket.create_connection(("127.0.0.1", port)) as end:
            end.sendall(bytes([list(self.tables).index(table)]))
            # The sender's process has to start; its first byte is not the table's.
            end.recv(1)
            start, got = time.perf_counter(), 0
            if self.method:
                import pyarrow as pa

                stream = pa.CompressedInputStream(pa.PythonFile(end.makefile("rb", 0), "r"), self.method)
                while piece := stream.read(1 << 20):
                    got += len(piece)
            else:
                buffer = bytearray(256 << 10)
                while read := end.recv_into(buffer):
                    got += read
            seconds = time.perf_counter() - start
        if got != self.files[table].stat().st_size:
            raise RuntimeError(f"{got} bytes of {table} came, not all")
        return seconds, self.answers[table]


# The process that sends a file: a server of its own, as netcat is.
SEND = """
import os, socket, sys, zlib
end = socket.socket(fileno=os.dup(int(sys.argv[1])))
end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
end.sendall(b"x")
with open(sys.argv[2], "rb") as file:
    if sys.argv[3] == "gzip":
        pack = zlib.compressobj(6, wbits=31)
        while piece := file.read(1 << 20):
            end.sendall(pack.compress(piece))
        end.sendall(pack.flush())
    elif sys.argv[3] == "lz4":
        import pyarrow as pa
        sink = pa.CompressedOutputStream(pa.PythonFile(end.makefile("wb", 0), "w"), "lz4")
        while piece := file.read(1 << 20):
            sink.write(piece)
        sink.close()
    else:
        end.sendfile(file)
end.shutdown(socket.SHUT_WR)
"""


class NetcatLz4(Netcat):
    """CSV, compressed while it is sent."""

    name = "netcat, LZ4"
    method = "lz4"


class NetcatGzip(Netcat):
    """The same by gzip at its usual level."""

    name = "netcat, gzip"
    method = "gzip"


class Inlay(Peer):
    """`inlay serve` and Python's client of the columnar protocol."""

    name = "inlay"

    def start(self) -> int:
        import inlay

        file = self.folder / "served.inlay"
        with inlay.connect(str(file)) as connection:
            for table, path in self.tables.items():
                connection.execute(f"CREATE TABLE {table} AS FROM '{path}'")
        port = free_port()
        doors = [f"--native-port={port}", "--postgres-port=off", "--http-port=off"]
        process = self.run(sys.executable, "-m", "inlay", "serve", str(file), *doors)
        wait_for(port, process)
        return port

    def fetch(self, port: int, table: str) -> tuple[float, Answer]:
        import inlay

        with inlay.connect(f"inlay://127.0.0.1:{port}/?tls=off") as connection:
            return timed(
                lambda: iter(connection.execute(f"SELECT * FROM {table}").fetch_record_batch()),
                arrow_answer,
            )


class PostgreSQL(Peer):
    """PostgreSQL and psycopg."""

    name = "PostgreSQL, text"
    binary = False
    TYPES: Mapping[str, str] = {
        "int32": "INTEGER",
        "int64": "BIGINT",
        "double": "DOUBLE PRECISION",
        "string": "TEXT",
        "date32[day]": "DATE",
    }

    def start(self) -> int:
        import inlay

        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs or importlib.util.find_spec("psycopg") is None:
            raise MissingError("PostgreSQL or psycopg is not installed")
        bin_, data, port = programs[-1], self.folder / "postgresql", free_port()
        # It refuses to run as root.
        as_other = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        data.mkdir()
        if as_other:
            shutil.chown(data, "postgres")
        make = [*as_other, str(bin_ / "initdb"), "-D", str(data), "-A", "trust", "-U", "bench"]
        subprocess.run(make, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        process = self.run(
            *as_other, str(bin_ / "postgres"), "-D", str(data), "-p", str(port), "-c", "fsync=off", "-k", str(data)
        )
        wait_for(port, process)
        time.sleep(1)
        with self.connect(port) as connection, inlay.connect() as source:
            for table, path in self.tables.items():
                connection.execute(f"CREATE TABLE {table} ({schema(path, self.TYPES)})")
                written = self.folder / "copy.csv"
                source.execute(f"COPY (FROM '{path}') TO '{written}' (HEADER false, NULLSTR '\\N')")
                with (
                    connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv, NULL '\\N')") as copy,
                    written.open("rb") as file,
                ):
                    while piece := file.read(1 << 20):
                        copy.write(piece)
            connection.commit()
        return port

    def connect(self, port: int) -> Any:
        import psycopg

        return psycopg.connect(f"host=127.0.0.1 port={port} user=bench dbname=postgres sslmode=disable")

    def fetch(self, port: int, table: str) -> tuple[float, Answer]:
        with self.connect(port) as connection:
            cursor = connection.cursor(binary=self.binary)
            return timed(
                lambda: pieces(cursor.stream(f"SELECT * FROM {table}", binary=self.binary)),
                rows_answer,
            )


def pieces(rows: Iterator[Any]) -> Iterator[list[Any]]:
    """Rows, some thousands at once."""
    while piece := list(itertools.islice(rows, ROWS_AT_ONCE)):
        yield piece


class PostgreSQLBinary(PostgreSQL):
    """The same in the binary format."""

    name = "PostgreSQL, binary"
    binary = True


class MariaDB(Peer):
    """MariaDB and mysqlclient."""

    name = "MariaDB"
    compressed = False
    TYPES: Mapping[str, str] = {
        "int32": "INT",
        "int64": "BIGINT",
        "double": "DOUBLE",
        "string": "TEXT",
        "date32[day]": "DATE",
    }

    def start(self) -> int:
        import inlay

        if not shutil.which("mariadbd") or importlib.util.find_spec("MySQLdb") is None:
            raise MissingError("MariaDB or mysqlclient is not installed")
        data, port = self.folder / "mariadb", free_port()
        user = "root" if os.geteuid() == 0 else os.environ.get("USER", "mysql")
        install = [
            "mariadb-install-db",
            f"--datadir={data}",
            f"--user={user}",
            "--auth-root-authentication-method=normal",
        ]
        subprocess.run(install, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        process = self.run(
            "mariadbd",
            "--no-defaults",
            f"--datadir={data}",
            f"--port={port}",
            "--bind-address=127.0.0.1",
            f"--socket={data}/socket",
            f"--user={user}",
            "--secure-file-priv=",
        )
        wait_for(port, process)
        with contextlib.closing(self.connect(port)) as connection, inlay.connect() as source:
            cursor = connection.cursor()
            cursor.execute("SET sql_log_bin = 0")
            for table, path in self.tables.items():
                cursor.execute(f"CREATE TABLE {table} ({schema(path, self.TYPES)}) ENGINE = MyISAM")
                file = self.folder / "load.tsv"
                source.execute(f"COPY (FROM '{path}') TO '{file}' (HEADER false, DELIMITER '\t', NULLSTR '\\N')")
                cursor.execute(f"LOAD DATA INFILE '{file}' INTO TABLE {table} FIELDS OPTIONALLY ENCLOSED BY '\"'")
            connection.commit()
        return port

    def connect(self, port: int) -> Any:
        import MySQLdb

        # The driver takes any value for a wish.
        wish = {"compress": True} if self.compressed else {}
        return MySQLdb.connect(host="127.0.0.1", port=port, user="root", db="test", **wish)

    def fetch(self, port: int, table: str) -> tuple[float, Answer]:
        import MySQLdb.cursors

        with contextlib.closing(self.connect(port)) as connection:
            cursor = connection.cursor(MySQLdb.cursors.SSCursor)

            def batches() -> Iterator[list[Any]]:
                cursor.execute(f"SELECT * FROM {table}")
                while piece := cursor.fetchmany(ROWS_AT_ONCE):
                    yield piece

            return timed(batches, rows_answer)


class MariaDBCompressed(MariaDB):
    """The same with the protocol's compression."""

    name = "MariaDB, compressed"
    compressed = True


class Flight(Peer):
    """Arrow Flight, tables in memory."""

    name = "Arrow Flight"

    def start(self) -> int:
        if importlib.util.find_spec("pyarrow.flight") is None:
            raise MissingError("pyarrow.flight is not installed")
        port = free_port()
        paths = [f"{table}={path}" for table, path in self.tables.items()]
        process = self.run(sys.executable, "-c", FLIGHT, str(port), *paths)
        wait_for(port, process)
        return port

    def fetch(self, port: int, table: str) -> tuple[float, Answer]:
        from pyarrow import flight

        with flight.connect(f"grpc://127.0.0.1:{port}") as client:
            client.wait_for_available()
            return timed(
                lambda: (chunk.data for chunk in client.do_get(flight.Ticket(table.encode()))),
                arrow_answer,
            )


FLIGHT = """
import sys
import pyarrow.parquet as pq
from pyarrow import flight
tables = {name: pq.read_table(path) for name, path in (word.split("=") for word in sys.argv[2:])}
class Server(flight.FlightServerBase):
    def do_get(self, context, ticket):
        return flight.RecordBatchStream(tables[ticket.ticket.decode()])
Server(f"grpc://127.0.0.1:{sys.argv[1]}").serve()
"""


class DuckDB(Peer):
    """DuckDB in the client's process, into batches of Arrow."""

    name = "DuckDB, inside"
    inside = True

    def start(self) -> int:
        import duckdb

        self.connection = duckdb.connect(str(self.folder / "inside.duckdb"), config={"threads": 2})
        for table, path in self.tables.items():
            self.connection.execute(f"CREATE TABLE {table} AS FROM '{path}'")
        return 0

    def fetch(self, port: int, table: str) -> tuple[float, Answer]:
        return timed(
            lambda: iter(self.connection.execute(f"SELECT * FROM {table}").to_arrow_reader(100_000)),
            arrow_answer,
        )


class SQLite(Peer):
    """SQLite in the client's process, into rows."""

    name = "SQLite, inside"
    inside = True

    def start(self) -> int:
        import sqlite3

        import pyarrow.parquet as pq

        self.connection = sqlite3.connect(self.folder / "inside.db", check_same_thread=False)
        for table, path in self.tables.items():
            names = pq.read_schema(path).names
            self.connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            for batch in pq.ParquetFile(path).iter_batches(ROWS_AT_ONCE):
                columns = [plain(column) for column in batch.columns]
                marks = ", ".join("?" * len(names))
                self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", zip(*columns, strict=True))
        self.connection.commit()
        return 0

    def fetch(self, port: int, table: str) -> tuple[float, Answer]:
        return timed(lambda: pieces(self.connection.execute(f"SELECT * FROM {table}")), rows_answer)


def plain(column: Any) -> list[Any]:
    """Values that SQLite takes."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        return list(column.cast("double").to_pylist())
    if pa.types.is_date(column.type):
        return list(column.cast("string").to_pylist())
    return list(column.to_pylist())


PEERS: tuple[type[Peer], ...] = (
    Netcat,
    NetcatLz4,
    NetcatGzip,
    Inlay,
    PostgreSQL,
    PostgreSQLBinary,
    MariaDB,
    MariaDBCompressed,
    Flight,
    DuckDB,
    SQLite,
)
