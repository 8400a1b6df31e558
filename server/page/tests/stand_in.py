"""A small server that answers the page as `inlay serve` does, over the package.

It is for work on the page, and for its tests where the server is not built.

`python server/page/tests/stand_in.py [PORT] [FILE] [bare] [PREFIX]` listens on 127.0.0.1. The contract is that of
../README.md; `bare` leaves sessions and the list of statements away, PREFIX is a path under which the page lies.
"""

import datetime
import decimal
import json
import math
import pathlib
import secrets
import select
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow

import inlay

PAGE = pathlib.Path(__file__).resolve().parent.parent
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
BYTES = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "ndjson": "application/x-ndjson",
    "markdown": "text/markdown",
}

STEP_ROWS = 256


class Served:
    """One storage, the sessions in it, and what runs."""

    def __init__(self, file):
        self.database = inlay.connect(file)
        self.sessions = {}
        self.running = {}
        self.lock = threading.Lock()

    def session(self):
        name = secrets.token_hex(8)
        with self.lock:
            self.sessions[name] = (self.database.cursor(), threading.Lock())
        return name


def as_json(value):
    """A value with every digit: numbers that a double would not hold are written by hand."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else json.dumps(str(value))
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(as_json, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(key))}:{as_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (bytes, bytearray)):
        return json.dumps("".join(f"\\x{byte:02X}" for byte in value))
    if isinstance(value, datetime.datetime):
        return json.dumps(value.isoformat(" "))
    return json.dumps(str(value))


def told(error, sql):
    """An error as the server tells it."""
    line, column = getattr(error, "position", None) or (None, None)
    message = str(error).split("\nline ")[0]
    hint = getattr(error, "hint", None)
    if hint:
        message = message.removesuffix("; " + hint)
    out = {"code": getattr(error, "sqlstate", None) or "XX000", "message": message}
    if hint:
        out["hint"] = hint
    if line:
        out["position"] = sum(len(text) + 1 for text in sql.split("\n")[: line - 1]) + column
    return out


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Served
    is_bare = False
    prefix: tuple[str, ...] = ()

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="application/json", **headers):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in {**SECURITY, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def fail(self, status, message):
        self.answer(status, json.dumps({"error": {"code": "08P01", "message": message}}))

    def path_parts(self):
        split = urllib.parse.urlsplit(self.path)
        parts = [part for part in split.path.split("/") if part]
        if tuple(parts[: len(self.prefix)]) != self.prefix:
            return ["elsewhere"], {}
        parts = parts[len(self.prefix) :]
        if self.is_bare and parts[:1] in (["session"], ["statements"]):
            return ["elsewhere"], {}
        return parts, dict(urllib.parse.parse_qsl(split.query))

    def do_GET(self):
        parts, _ = self.path_parts()
        if parts == ["health"]:
            return self.answer(200, '{"status":"ok"}')
        if parts == ["statements"]:
            return self.answer(200, json.dumps({"statements": self.statements()}))
        file = (PAGE / "/".join(parts or ["index.html"])).resolve()
        if file.is_relative_to(PAGE) and file.is_file() and file.suffix in TYPES:
            return self.answer(200, file.read_bytes(), TYPES[file.suffix], **{"cache-control": "no-cache"})
        return self.fail(404, "there is no such page")

    def statements(self):
        """What runs now."""
        out = []
        with self.served.lock:
            running = list(self.served.running.items())
        for name, (connection, sql, began) in running:
            progress = connection.query_progress()
            told = {"id": name, "user": "owner", "sql": sql, "seconds": time.monotonic() - began}
            out.append({**told, "progress": progress if progress >= 0 else None})
        return out

    def do_DELETE(self):
        parts, _ = self.path_parts()
        with self.served.lock:
            if len(parts) == 2 and parts[0] == "session" and parts[1] in self.served.sessions:
                connection, _ = self.served.sessions.pop(parts[1])
                connection.interrupt()
                return self.answer(204)
            if len(parts) == 2 and parts[0] == "statements" and parts[1] in self.served.running:
                self.served.running[parts[1]][0].interrupt()
                return self.answer(204)
        return self.fail(404, "no such statement runs")

    def do_POST(self):
        parts, params = self.path_parts()
        sql = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        if parts == ["session"]:
            return self.answer(200, json.dumps({"session": self.served.session()}))
        if parts != ["query"]:
            return self.fail(404, "there is no such page")
        named = self.headers.get("inlay-session")
        if named is None:
            named = self.served.session()
        if named not in self.served.sessions:
            return self.fail(410, "the session is gone")
        connection, lock = self.served.sessions[named]
        with lock:
            return self.query(connection, sql, params)

    def query(self, connection, sql, params):
        name = self.headers.get("inlay-statement") or secrets.token_hex(8)
        with self.served.lock:
            self.served.running[name] = (connection, sql, time.monotonic())
        gone = threading.Event()
        threading.Thread(target=self.watch, args=(connection, gone), daemon=True).start()
        form = params.get("format", "json")
        try:
            if form == "json":
                self.stream(connection, sql)
            else:
                self.answer(200, self.file(connection, sql, form), BYTES[form])
        except inlay.Error as error:
            self.answer(400, json.dumps({"error": told(error, sql)}))
        finally:
            gone.set()
            with self.served.lock:
                self.served.running.pop(name, None)

    def watch(self, connection, gone):
        """Ends what a client asked for that went away."""
        while not gone.wait(0.05):
            ready, _, _ = select.select([self.connection], [], [], 0)
            try:
                if ready and not self.connection.recv(1, socket.MSG_PEEK):
                    return connection.interrupt()
            except OSError:
                return connection.interrupt()

    def stream(self, connection, sql):
        """Rows as they are computed; what fails before the first ones has a status of its own."""
        result = connection.execute(sql)
        columns = [{"name": name, "type": str(kind)} for name, kind, *_ in result.description or []]
        is_count = [column["name"] for column in columns] == ["Count"] and not sql.lower().startswith(
            ("select", "from")
        )
        if is_count or not columns:
            changed = {"changed": result.fetchone()[0]} if columns else {}
            return self.answer(200, json.dumps({"command": sql.split()[0].upper(), **changed}))
        rows = result.fetchmany(STEP_ROWS)
        self.send_response(200)
        for header, value in {"content-type": "application/json", "transfer-encoding": "chunked", **SECURITY}.items():
            self.send_header(header, value)
        self.end_headers()
        try:
            self.chunk(f'{{"columns":{json.dumps(columns)},"rows":[')
            count = 0
            while rows:
                lines = ["[" + ",".join(map(as_json, row)) + "]" for row in rows]
                self.chunk((",\n" if count else "\n") + ",\n".join(lines))
                count += len(rows)
                rows = result.fetchmany(STEP_ROWS)
            self.chunk(f'],"row_count":{count}}}\n')
            self.wfile.write(b"0\r\n\r\n")
        except inlay.Error as error:
            # No last chunk: nobody takes this for the end.
            self.chunk("\n" + json.dumps({"error": told(error, sql)}))
            self.close_connection = True
        except OSError:
            self.close_connection = True
        return None

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def file(self, connection, sql, form):
        sql = sql.strip().rstrip(";")
        if form == "arrow":
            table = connection.execute(sql).to_arrow_table()
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            return sink.getvalue().to_pybytes()
        if form == "markdown":
            result = connection.execute(sql)
            names = [column[0] for column in result.description]
            lines = [names, ["---"] * len(names), *result.fetchall()]
            texts = [["" if cell is None else str(cell) for cell in line] for line in lines]
            return "".join(f"| {' | '.join(line)} |\n" for line in texts)
        options = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet", "ndjson": "FORMAT json"}[form]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file"
            connection.execute(f"COPY ({sql}) TO '{path}' ({options})")
            return path.read_bytes()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def serve(port=0, file=":memory:", is_bare=False, prefix=()):
    """A server that listens; `serve_forever` serves."""
    handler = type("Handler", (Handler,), {"served": Served(file), "is_bare": is_bare, "prefix": prefix})
    return Server(("127.0.0.1", port), handler)


if __name__ == "__main__":
    port, file, *options = [*sys.argv[1:], *["8433", ":memory:"][len(sys.argv) - 1 :]]
    prefix = tuple("/".join(option for option in options if option != "bare").split("/")) if options[1:] else ()
    server = serve(int(port), file, "bare" in options, prefix)
    print(f"http://127.0.0.1:{server.server_port}/{''.join(part + '/' for part in prefix)}", flush=True)
    server.serve_forever()
