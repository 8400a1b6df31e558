"""Single answers of the server by each of its doors, beside PostgreSQL: latency, lookups, many clients, idle ones.

    python -m bench serve                      writes bench/results/serve.md
    python -m bench serve --only inlay         without PostgreSQL; nothing is written

Every answer is looked at. Goals: SELECT 1 by the native protocol 40 us, 60 us over a UNIX socket or TLS; 10,000
lookups a second and connection; the 99th percentile of lookups under 20 ms beside scans, with 64 connections; 10,000
idle connections under 400 MB.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench import report
from bench.data import scratch
from bench.machine import description, record
from bench.protocol.peers import MissingError, PostgreSQL, free_port, wait_for

ROWS, ROUNDS, SECONDS = 1_000_000, 3_000, 5.0
CLIENTS, SCANS, IDLE = 64, 8, 10_000
LOOKUP = "SELECT id, name FROM points WHERE id = "
SCAN = "SELECT count(*), sum(amount) FROM points WHERE place % 7 = 3"
# Runs a statement with its parameters and gives all rows.
Ask = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]


# So many idle connections of the native protocol are measured, and their megabytes multiplied.
NATIVE_IDLE = 500


@dataclass
class Ports:
    native: int
    postgres: int
    http: int
    tls: int
    folder: Path


@dataclass
class Row:
    """Of one door."""

    one: float | None = None
    lookups: float | None = None
    p50: float | None = None
    p99: float | None = None
    idle: float | None = None
    problems: list[str] = field(default_factory=list)


class Server:
    """`inlay serve` with a table of points, once without TLS and once with."""

    def __init__(self, folder: Path) -> None:
        import inlay

        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "serve.inlay"
        with inlay.connect(str(file)) as connection:
            connection.execute(
                "CREATE TABLE points AS SELECT i::INTEGER AS id, (i * 7919 % 1000003)::INTEGER AS place, "
                f"'name ' || i AS name, i / 8 AS amount FROM range({ROWS}) r(i)"
            )
            connection.execute("ALTER TABLE points ADD PRIMARY KEY (id)")
        native, postgres, web = free_port(), free_port(), free_port()
        ports = [f"--native-port={native}", f"--postgres-port={postgres}", f"--http-port={web}"]
        more = [f"--socket-dir={folder}", "--max-connections=20000"]
        self.main = self.run(str(file), *ports, *more)
        wait_for(native, self.main)
        wait_for(postgres, self.main)
        self.ports = Ports(native, postgres, web, 0, folder)

    def run(self, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "inlay", "serve", *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def start_tls(self) -> None:
        """A second server, with a certificate of its own."""
        certificate, key, port = self.folder / "cert.pem", self.folder / "key.pem", free_port()
        make = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ]
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        files = ["-keyout", str(key), "-out", str(certificate)]
        subprocess.run([*make, *names, *files], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tls = [f"--tls-cert={certificate}", f"--tls-key={key}"]
        process = self.run(":memory:", f"--native-port={port}", "--postgres-port=off", "--http-port=off", *tls)
        wait_for(port, process)
        self.ports.tls = port

    def megabytes(self) -> float:
        lines = Path(f"/proc/{self.main.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def native(ports: Ports, how: str) -> tuple[Any, Ask]:
    """A connection of the native protocol."""
    import inlay

    address = {
        "TCP": f"inlay://127.0.0.1:{ports.native}/?tls=off",
        "UNIX": f"inlay+unix://{ports.folder}/inlay.{ports.native}.sock",
        "TLS": f"inlay://127.0.0.1:{ports.tls}/?tls=on&tls_ca={ports.folder}/cert.pem",
    }[how]
    connection = inlay.connect(address)
    return connection, lambda sql, values: connection.execute(sql.replace("%s", "?"), values).fetchall()


def postgres(port: int) -> tuple[Any, Ask]:
    import psycopg

    connection = psycopg.connect(
        f"host=127.0.0.1 port={port} user=bench dbname=postgres sslmode=disable", autocommit=True, prepare_threshold=2
    )
    return connection, lambda sql, values: connection.execute(sql, values).fetchall()


def served(port: int) -> tuple[Any, Ask]:
    import psycopg

    connection = psycopg.connect(
        f"host=127.0.0.1 port={port} user=bench dbname=serve sslmode=disable", autocommit=True, prepare_threshold=2
    )
    return connection, lambda sql, values: connection.execute(sql, values).fetchall()


def web(port: int) -> tuple[Any, Ask]:
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(sql: str, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
        words = "&".join(f"param_{at}={value}" for at, value in enumerate(values, 1))
        connection.request("POST", f"/query?format=json&{words}", sql.replace("%s", "$1"))
        answer = connection.getresponse()
        found = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(found)
        return [list(row.values()) if isinstance(row, dict) else row for row in found.get("data", found.get("rows"))]

    return connection, ask


def doors(ports: Ports, peer: int | None) -> dict[str, Callable[[], tuple[Any, Ask]]]:
    """By name, what opens a connection."""
    found: dict[str, Callable[[], tuple[Any, Ask]]] = {
        "inlay, native, TCP": lambda: native(ports, "TCP"),
        "inlay, native, UNIX socket": lambda: native(ports, "UNIX"),
        "inlay, native, TLS": lambda: native(ports, "TLS"),
        "inlay, psycopg": lambda: served(ports.postgres),
        "inlay, HTTP": lambda: web(ports.http),
    }
    if peer is not None:
        found["PostgreSQL, psycopg"] = lambda: postgres(peer)
    return found


def check(rows: Sequence[Sequence[Any]], key: int) -> None:
    if len(rows) != 1 or int(rows[0][0]) != key or rows[0][1] != f"name {key}":
        raise RuntimeError(f"{rows} for {key}")


def single(ask: Ask, row: Row, has_table: bool) -> None:
    """SELECT 1 and lookups, one after the other."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        found = ask("SELECT 1", ())
        times.append(time.perf_counter() - start)
        if int(found[0][0]) != 1:
            row.problems.append(f"SELECT 1 gave {found}")
    row.one = median(times[ROUNDS // 10 :])
    if not has_table:
        return
    keys = random.Random(1).sample(range(ROWS), ROUNDS)
    start = time.perf_counter()
    for key in keys:
        check(ask(f"{LOOKUP}%s", [key]), key)
    row.lookups = ROUNDS / (time.perf_counter() - start)


def client(name: str, ports: Ports, peer: int | None, scans: int, count: int, answer: Connection) -> None:
    """A process with some connections in turns: lookups, or one that scans."""
    opened = [doors(ports, peer)[name]() for _ in range(count)]
    source, times, end = random.Random(count * 31 + scans), [], time.perf_counter() + SECONDS
    answer.send("ready")
    answer.recv()
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for _, ask in opened:
            start = time.perf_counter()
            if scans:
                ask(SCAN, ())
            else:
                key = source.randrange(ROWS)
                check(ask(f"{LOOKUP}%s", [key]), key)
                times.append(time.perf_counter() - start)
    answer.send(times)


def mixed(name: str, ports: Ports, peer: int | None, row: Row) -> None:
    """64 connections: eight scan, the others look rows up."""
    context = multiprocessing.get_context("spawn")
    lookups = (CLIENTS - SCANS) // 7
    jobs = [(1, 1)] * SCANS + [(0, lookups)] * 7
    pipes, processes = [], []
    for scans, count in jobs:
        ours, theirs = context.Pipe()
        process = context.Process(target=client, args=(name, ports, peer, scans, count, theirs), daemon=True)
        process.start()
        pipes.append(ours)
        processes.append(process)
    for pipe in pipes:
        pipe.recv()
    for pipe in pipes:
        pipe.send("go")
    times = sorted(second for pipe in pipes for second in pipe.recv())
    for process in processes:
        process.join()
    row.p50, row.p99 = median(times), quantiles(times, n=100)[98]


def idle(server: Server, row: Row, opener: Callable[[], Any], count: int) -> None:
    """Megabytes that the server grows by with so many connections that do nothing."""
    before, held = server.megabytes(), []
    try:
        for _ in range(count):
            held.append(opener())
        time.sleep(2)
        row.idle = server.megabytes() - before
    finally:
        for one in held:
            with contextlib.suppress(Exception):
                one.close()


def logged_in(port: int) -> socket.socket:
    """A session of PostgreSQL's protocol that says nothing more."""
    end = socket.create_connection(("127.0.0.1", port))
    words = b"user\0bench\0database\0serve\0\0"
    end.sendall(struct.pack("!II", 8 + len(words), 196608) + words)
    found = b""
    while not found.endswith(b"Z\0\0\0\5I"):
        found += end.recv(4096)
    return end


def shown(value: float | None, unit: float, digits: int = 0) -> str:
    return "" if value is None else f"{value * unit:,.{digits}f}"


def lines(rows: dict[str, Row]) -> Iterator[str]:
    yield "| door | SELECT 1, us | lookups a second | 64 connections, p50, ms | p99, ms | idle connections, MB |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, row in rows.items():
        cells = (
            shown(row.one, 1e6, 1),
            shown(row.lookups, 1),
            shown(row.p50, 1e3, 2),
            shown(row.p99, 1e3, 1),
            shown(row.idle, 1),
        )
        yield f"| {name} | {' | '.join(cells)} |"


def peer_started(folder: Path) -> tuple[PostgreSQL, int] | None:
    """PostgreSQL with the same table."""
    peer = PostgreSQL({}, folder)
    folder.mkdir()
    folder.chmod(0o755)
    try:
        port = peer.start()
    except (MissingError, ImportError) as problem:
        print(f"PostgreSQL is left out: {problem}", flush=True)
        return None
    with peer.connect(port) as connection:
        connection.execute(
            "CREATE TABLE points AS SELECT i::INTEGER AS id, (i::BIGINT * 7919 % 1000003)::INTEGER AS place, "
            f"'name ' || i AS name, i / 8.0 AS amount FROM generate_series(0, {ROWS - 1}) AS r(i)"
        )
        connection.execute("ALTER TABLE points ADD PRIMARY KEY (id)")
        connection.commit()
    return peer, port


def run(only: Sequence[str] | None, connections: int) -> int:
    """Measures, prints, and writes a complete run; exit code."""
    with scratch("serve-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        server = Server(folder)
        peer = None if only else peer_started(folder / "postgresql")
        rows: dict[str, Row] = {}
        try:
            with contextlib.suppress(FileNotFoundError):
                server.start_tls()
            for name, opened in doors(server.ports, peer[1] if peer else None).items():
                row = rows[name] = Row()
                try:
                    connection, ask = opened()
                    single(ask, row, has_table="TLS" not in name)
                    connection.close()
                    if "TLS" not in name:
                        mixed(name, server.ports, peer[1] if peer else None, row)
                    if name == "inlay, psycopg":
                        idle(server, row, lambda: logged_in(server.ports.postgres), connections)
                    elif name == "inlay, native, TCP":
                        # Each has two threads of the server.
                        fewer = min(connections, NATIVE_IDLE)
                        idle(server, row, lambda: native(server.ports, "TCP")[0], fewer)
                        row.idle = row.idle and row.idle * connections / fewer
                except Exception as problem:
                    row.problems.append(f"{type(problem).__name__}: {problem}")
                print(name, row, flush=True)
        finally:
            server.close()
            if peer:
                peer[0].close()
    machine = description()
    text = "\n".join(
        [
            "# Single answers of the server\n",
            f"{machine['processor']}, {machine['cores']} cores; commit {machine['commit']}; {ROUNDS} statements, "
            f"{CLIENTS} connections for {SECONDS:g} s of which {SCANS} scan, {connections} idle ones.\n",
            *lines(rows),
            "",
        ]
    )
    print("\n" + text)
    problems = [f"{name}: {problem}" for name, row in rows.items() for problem in row.problems]
    print("\n".join(f"FAILED: {problem}" for problem in problems))
    if not only and not problems:
        report.write("serve", text, record("serve", 2, doors={name: vars(row) for name, row in rows.items()}))
        print("written: bench/results/serve.md, bench/results/serve.jsonl")
    return 1 if problems else 0


__all__ = ["run"]
