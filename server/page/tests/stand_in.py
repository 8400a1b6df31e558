"""A small server that answers the page as `inlay serve` does, over the package: for work on the page, and for its tests where the server is not built.

`python server/page/tests/stand_in.py [PORT] [FILE]` listens on 127.0.0.1. The contract is that of ../README.md.
"""

import datetime
import decimal
import json
import math
import pathlib
import secrets
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import inlay

PAGE = pathlib.Path(__file__).resolve().parent.parent
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
BYTES = {"json": "application/json", "csv": "text/csv", "parquet": "application/vnd.apache.parquet", "arrow": "application/vnd.apache.arrow.stream", "ndjson": "application/x-ndjson", "markdown": "text/markdown"}

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
        return [part for part in split.path.split("/") if part], dict(urllib.parse.parse_qsl(split.query))

    def do_GET(self):
        parts, _ = self.path_parts()
        if parts == ["health"]:
            return self.answer(200, '{"status":"ok"}')
        if parts == ["statements"]:
            now = time.monotonic()
            with self.served.lock:
                running = [
                    {"id": name, "user": "owner", "sql": sql, "seconds": now - began, "progress": progress if (progress := connection.query_progress()) >= 0 else None}
                    for name, (connection, sql, began) in self.served.running.items()
                ]
            return self.answer(200, json.dumps({"statements": running}))
        file = (PAGE / "/".join(parts or ["index.html"])).resolve()
        if file.is_relative_to(PAGE) and file.is_file() and file.suffix in TYPES:
            return self.answer(200, file.read_bytes(), TYPES[file.suffix], **{"cache-control": "no-cache"})
        return self.fail(404, "there is no such page")

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
        import select
        import socket

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
        if not columns or (len(columns) == 1 and columns[0]["name"] == "Count" and not sql.lstrip().lower().startswith(("select", "from"))):
            changed = result.fetchone()[0] if columns else None
            return self.answer(200, json.dumps({"command": sql.split()[0].upper(), **({} if changed is None else {"changed": changed})}))
        rows = result.fetchmany(STEP_ROWS)
        self.send_response(200)
        for header, value in {"content-type": "application/json", "transfer-encoding": "chunked", **SECURITY}.items():
            self.send_header(header, value)
        self.end_headers()
        try:
            self.chunk(f'{{"columns":{json.dumps(columns)},"rows":[')
            count = 0
            while rows:
                self.chunk("".join(("," if count + index else "") + "\n[" + ",".join(map(as_json, row)) + "]" for index, row in enumerate(rows)))
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
        import os
        import tempfile

        sql = sql.strip().rstrip(";")
        if form == "arrow":
            import pyarrow as pa

            table = connection.execute(sql).to_arrow_table()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            return sink.getvalue().to_pybytes()
        if form == "markdown":
            result = connection.execute(sql)
            names = [column[0] for column in result.description]
            lines = [names, ["---"] * len(names), *result.fetchall()]
            return "".join("| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |\n" for line in lines)
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "file")
        options = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet", "ndjson": "FORMAT json"}[form]
        connection.execute(f"COPY ({sql}) TO '{path}' ({options})")
        data = pathlib.Path(path).read_bytes()
        os.remove(path)
        os.rmdir(folder)
        return data


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def serve(port=0, file=":memory:"):
    """A server that listens; `serve_forever` serves."""
    handler = type("Handler", (Handler,), {"served": Served(file)})
    return Server(("127.0.0.1", port), handler)


if __name__ == "__main__":
    server = serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8433, sys.argv[2] if len(sys.argv) > 2 else ":memory:")
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
