"""A web server and a store of objects for tests: they serve a folder, and go wrong where a test wants it."""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.sax.saxutils import escape

KEY_ID, SECRET, REGION = "AKIATEST", "very/secret+key", "eu-test-1"


class Handler(BaseHTTPRequestHandler):
    """What both servers do."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_file(self, data: bytes, ranges: bool = True) -> None:
        """Send a file, or the part that is asked for."""
        tag = '"' + hashlib.md5(data).hexdigest() + '"'
        headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT", "ETag": tag}
        if self.headers.get("If-Match", tag) != tag:
            return self.answer(412)
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")) if ranges else None
        if self.command == "HEAD" or not wanted:
            return self.answer(200, data, headers)
        first, last = wanted.groups()
        start = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        if start >= len(data):
            return self.answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        self.server.sent.append((self.path, start, end))
        return self.answer(206, data[start:end], headers)


class Server(ThreadingHTTPServer):
    """A server of a folder, and what it was asked."""

    daemon_threads = True

    def __init__(self, handler: type[Handler], folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.folder = folder
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.sent: list[tuple[str, int, int]] = []
        self.failures: dict[str, int] = {}
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.part_failures = 0
        self.lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are part of the tests."""


class Web(Handler):
    """Serves ``/mode/name``; the mode says how."""

    def do_GET(self) -> None:
        """Answer."""
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        path = urllib.parse.unquote(self.path.split("?")[0])
        _, mode, name = path.split("/", 2)
        file = self.server.folder / name
        if not file.is_file():
            return self.answer(404, b"nothing here")
        data = file.read_bytes()
        match mode:
            case "ranges":
                return self.send_file(data)
            case "plain":
                return self.send_file(data, ranges=False)
            case "chunked":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for start in range(0, len(data), 1000):
                    part = data[start : start + 1000]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n")
                return None
            case "unsuffixed":
                if self.headers.get("Range", "").startswith("bytes=-"):
                    return self.answer(400)
                return self.send_file(data)
            case "flaky":
                return self.flaky(path, data)
            case "slow":
                time.sleep(20)
                return self.send_file(data)
            case "redirect":
                return self.answer(302, b"", {"Location": f"/ranges/{urllib.parse.quote(name)}"})
            case "away":
                return self.answer(302, b"", {"Location": f"http://localhost:{self.server.port}/token/{name}"})
            case "loop":
                return self.answer(302, b"", {"Location": self.path})
            case "token":
                if self.headers.get("Authorization") != "Bearer hush-hush":
                    return self.answer(401, b"who are you?")
                return self.send_file(data)
            case "headless":
                return self.answer(403) if self.command == "HEAD" else self.send_file(data)
            case "changing":
                with self.server.lock:
                    count = self.server.failures[path] = self.server.failures.get(path, 0) + 1
                return self.send_file(data + b"x" * count)
            case _:
                return self.answer(int(mode))

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.do_GET()

    def do_CONNECT(self) -> None:
        """Be a proxy that leads to this server."""
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        self.send_response(200)
        self.end_headers()

    def flaky(self, path: str, data: bytes) -> None:
        """Every answer fails twice: once by its status, once by breaking off."""
        key = path + self.headers.get("Range", "")
        with self.server.lock:
            count = self.server.failures[key] = self.server.failures.get(key, 0) + 1
        if count % 3 == 1:
            return self.answer(503, b"", {"Retry-After": "0"})
        if count % 3 == 2:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return None
        return self.send_file(data)


class Store(Handler):
    """Objects by ``bucket/key``; requests have to be signed."""

    def do_GET(self) -> None:
        """Answer a request for an object or a list."""
        if not (target := self.allowed(b"")):
            return None
        name, query = target
        if query.get("list-type") == "2":
            return self.list(name, query)
        if name not in self.server.objects:
            return self.complain(404, "NoSuchKey", "The specified key does not exist.")
        return self.send_file(self.server.objects[name])

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.do_GET()

    def do_PUT(self) -> None:
        """Take an object or a part of one."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not (target := self.allowed(body)):
            return None
        name, query = target
        if "uploadId" in query:
            with self.server.lock:
                if self.server.part_failures > 0:
                    self.server.part_failures -= 1
                    return self.complain(503, "SlowDown", "Please reduce your request rate.")
            self.server.uploads[query["uploadId"]][int(query["partNumber"])] = body
        else:
            self.server.objects[name] = body
        return self.answer(200, b"", {"ETag": '"' + hashlib.md5(body).hexdigest() + '"'})

    def do_POST(self) -> None:
        """Begin or complete an upload in parts."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not (target := self.allowed(body)):
            return None
        name, query = target
        if "uploads" in query:
            upload = f"upload{len(self.server.uploads)}"
            self.server.uploads[upload] = {}
            return self.answer(200, f"<R><UploadId>{upload}</UploadId></R>".encode())
        parts = self.server.uploads.pop(query["uploadId"])
        tags = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag>", body.decode())
        assert [int(number) for number, _ in tags] == sorted(parts)
        self.server.objects[name] = b"".join(parts[number] for number in sorted(parts))
        return self.answer(200, b"<CompleteMultipartUploadResult/>")

    def do_DELETE(self) -> None:
        """Give up an upload."""
        if target := self.allowed(b""):
            self.server.uploads.pop(target[1]["uploadId"], None)
            self.answer(204)

    def complain(self, status: int, code: str, message: str) -> None:
        """Say what is wrong, as S3 does."""
        self.answer(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())

    def list(self, bucket: str, query: dict[str, str]) -> None:
        """Send a page of three names."""
        prefix = bucket + query.get("prefix", "")
        names = sorted(name for name in self.server.objects if name.startswith(prefix))
        start = int(query.get("continuation-token", "0"))
        page = names[start : start + 3]
        keys = "".join(f"<Contents><Key>{escape(name[len(bucket) :])}</Key></Contents>" for name in page)
        more = start + 3 < len(names)
        token = f"<NextContinuationToken>{start + 3}</NextContinuationToken>" if more else ""
        cut = f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        self.answer(200, f'<ListBucketResult xmlns="x">{cut}{keys}{token}</ListBucketResult>'.encode())

    def allowed(self, body: bytes) -> tuple[str, dict[str, str]] | None:
        """Bucket and key, and the query, if the signature is right."""
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        path, _, query_text = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query_text, keep_blank_values=True))
        if self.headers.get("Authorization") != self.expected(path, query, body):
            self.complain(403, "SignatureDoesNotMatch", "The request signature does not match.")
            return None
        return urllib.parse.unquote(path)[1:], query

    def expected(self, path: str, query: dict[str, str], body: bytes) -> str:
        """The header that this request needs."""
        names = ["host", "x-amz-content-sha256", "x-amz-date"]
        names += ["x-amz-security-token"] if "x-amz-security-token" in self.headers else []
        quoted = sorted((urllib.parse.quote(k, safe=""), urllib.parse.quote(v, safe="")) for k, v in query.items())
        payload = hashlib.sha256(body).hexdigest()
        lines = [self.command, path, "&".join(f"{k}={v}" for k, v in quoted)]
        lines += [f"{name}:{self.headers.get(name)}" for name in names] + ["", ";".join(names), payload]
        moment = self.headers.get("x-amz-date", "")
        scope = f"{moment[:8]}/{REGION}/s3/aws4_request"
        hashed = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashed}"
        key = b"AWS4" + SECRET.encode()
        for part in (moment[:8], REGION, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        signed = ";".join(names)
        return f"AWS4-HMAC-SHA256 Credential={KEY_ID}/{scope}, SignedHeaders={signed}, Signature={signature}"


@contextmanager
def serve(handler: type[Handler], folder: Path) -> Iterator[Server]:
    """Run a server as long as the context is open."""
    server = Server(handler, folder)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
