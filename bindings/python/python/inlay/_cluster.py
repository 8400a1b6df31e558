"""
Queries on a cluster that speaks Spark Connect: the engine writes them, this module sends them.

A connection has one cluster at most. Its session is told how to read the text (`_SETTINGS`), tables are views over
files there, and answers come back as Arrow, are compared with the types that were expected, and are rows of a relation.
Nothing of a connection string but host and port is ever part of a message.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from inlay._inlay import Connection, Shipped
from inlay._query import bad
from inlay._relation import Relation, of_object
from inlay.exceptions import DataError, InterruptException, NotSupportedError, OperationalError, ProgrammingError

#: What the text is written for.
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
}

#: How often a waiting thread looks for Ctrl-C.
_LOOK_SECONDS = 0.05

#: Errors of a connection that is gone, as gRPC names them.
_GONE = ("UNAVAILABLE", "failed to connect", "Connection refused", "Socket closed", "INVALID_HANDLE", "SESSION_CLOSED")

_clusters: weakref.WeakKeyDictionary[Connection, Cluster] = weakref.WeakKeyDictionary()


class Cluster:
    """A session of a cluster, and the folder that it reads tables of ours from."""

    def __init__(self, url: str, folder: str | None) -> None:
        self._server: Any = None
        self.shipped = Shipped()
        self._views: set[str] = set()
        self._own_folder = folder is None
        self._session: Any = None
        shown, remote = self._address(url)
        #: For further sessions of the same cluster.
        self.remote = remote
        self.shown = shown
        self._is_here = urlsplit(remote).hostname in ("localhost", "127.0.0.1", "::1")
        try:
            self._session = self._connect(remote)
            self.folder = folder if folder is not None else tempfile.mkdtemp(prefix="inlay-cluster-")
        except BaseException:
            self.close()
            raise
        self._end = weakref.finalize(
            self, _leave, self._session, self._server, self.folder if self._own_folder else None
        )

    def _address(self, url: str) -> tuple[str, str]:
        """Give an address for people, and the one to connect to."""
        parts = urlsplit(url)
        if parts.scheme == "sail" and parts.hostname == "local":
            port = self._start_sail()
            return "sail://local", f"sc://127.0.0.1:{port}"
        if parts.scheme != "sc" or not parts.hostname:
            raise bad("attach_cluster() takes sc://host:port or sail://local")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"sc://{host}:{parts.port or 15002}", url

    def _start_sail(self) -> int:
        try:
            from pysail.spark import SparkConnectServer
        except ImportError:
            raise NotSupportedError("sail://local needs the package pysail: pip install inlay[sail]") from None
        self._server = SparkConnectServer(ip="127.0.0.1", port=0)
        self._server.start(background=True)
        return int(self._server.listening_address[1])

    def _connect(self, remote: str) -> Any:
        try:
            import pyarrow  # noqa: F401
            from pyspark.sql import SparkSession
            from pyspark.sql.connect.client.retries import DefaultPolicy
        except ImportError:
            raise NotSupportedError(
                "a cluster needs the packages pyspark-client, pyarrow and pandas: pip install inlay[spark]"
            ) from None
        with self._told():
            session = SparkSession.builder.remote(remote).create()
            # The client's own policy waits ten minutes for a server that is gone.
            patient = DefaultPolicy(max_retries=4, initial_backoff=100, max_backoff=1000)
            session.client.set_retry_policies([patient])
            for name, value in _SETTINGS.items():
                session.conf.set(name, value)
        return session

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Make an error of ours of what the client raises."""
        try:
            yield
        except (DataError, InterruptException, NotSupportedError, OperationalError):
            raise
        except Exception as error:
            raise self._error(error) from None

    def _error(self, error: Exception) -> Exception:
        text = _without_secrets(str(error))
        ours = re.search(r"inlay: ([^\n'\"\]]*)", text)
        if ours:
            return DataError(f"on the cluster: {ours[1].strip()}")
        if any(sign in text for sign in _GONE):
            return OperationalError(
                f"the cluster {self.shown} does not answer; nothing of the answer is used. "
                "con.attach_cluster(...) connects again"
            )
        first = text.strip().splitlines()
        return OperationalError(f"the cluster {self.shown} failed: {first[0] if first else type(error).__name__}")

    def relation(self, connection: Connection, query: str, alias: str) -> Relation | None:
        """Run a query there and make a relation of its rows."""
        explained = re.match(r"\s*explain\b", query, re.IGNORECASE)
        if explained:
            raise ProgrammingError("EXPLAIN (ENGINE cluster) runs here: leave engine='cluster' out")
        folder = str(Path(self.folder).absolute())
        text, tables, columns, again, _ = self.shipped.write(connection, query, {}, folder)
        with self._told():
            for name, kind, paths, options, shown in tables:
                self._view(name, kind, paths, options, shown)
            rows = self._fetch(text)
        self._check(rows, columns)
        return of_object(connection, rows).query("rows_of_cluster", again)

    def _view(self, name: str, kind: str, paths: list[str], options: list[tuple[str, str]], shown: str) -> None:
        is_ours = shown.startswith("table ")
        if is_ours and self._own_folder and not self._is_here:
            raise OperationalError(
                f"{shown} has to be put where {self.shown} can read it: attach_cluster(url, folder=...) names a folder "
                "that both see under the same path"
            )
        if is_ours and name in self._views:
            return
        reader = self._session.read
        for option, value in options:
            reader = reader.option(option, value)
        reader.format(kind).load(paths if len(paths) > 1 else paths[0]).createOrReplaceTempView(name)
        if is_ours:
            self._views.add(name)

    def _fetch(self, text: str) -> Any:
        """Run the text and fetch its rows, on a thread of its own, so that Ctrl-C ends exactly this operation."""
        tag = f"inlay-{threading.get_ident()}-{time.monotonic_ns()}"
        outcome: list[Any] = []

        def fetch() -> None:
            try:
                self._session.addTag(tag)
                outcome.append((True, self._session.sql(text).toArrow()))
            except BaseException as error:
                outcome.append((False, error))

        thread = threading.Thread(target=fetch, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_LOOK_SECONDS)
        except KeyboardInterrupt:
            with contextlib.suppress(Exception):
                self._session.interruptTag(tag)
            raise InterruptException("the query on the cluster was cancelled") from None
        is_done, value = outcome[0]
        if not is_done:
            raise value
        return value

    def _check(self, rows: Any, columns: list[tuple[str, str, str]]) -> None:
        """Compare the types of the answer with those that were expected."""
        if len(rows.schema) != max(len(columns), 1):
            raise OperationalError(f"the cluster gave {len(rows.schema)} columns, not {len(columns)}")
        for (name, ty, carrier), field in zip(columns, rows.schema, strict=False):
            if not _is_carrier(field.type, carrier):
                raise OperationalError(f"the cluster gave {field.type} for the column {name} of type {ty}")

    def close(self) -> None:
        """Leave the cluster."""
        if hasattr(self, "_end"):
            self._end()
        else:
            _leave(self._session, self._server, None)


def _leave(session: Any, server: Any, folder: str | None) -> None:
    if session is not None:
        with contextlib.suppress(Exception):
            session.stop()
    if server is not None:
        with contextlib.suppress(Exception):
            server.stop()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _without_secrets(text: str) -> str:
    """Leave the parameters of connection strings out."""
    return re.sub(r"(sc://[^\s/;]*)[/;]\S*", r"\1", text)


#: Arrow's types by the SQL type that they carry.
_ARROW = {
    "BOOLEAN": ("bool",),
    "TINYINT": ("int8",),
    "SMALLINT": ("int16",),
    "INTEGER": ("int32",),
    "BIGINT": ("int64",),
    "REAL": ("float",),
    "DOUBLE": ("double",),
    "VARCHAR": ("string", "large_string", "string_view"),
    "BLOB": ("binary", "large_binary", "binary_view"),
    "DATE": ("date32[day]",),
    "TIMESTAMP": ("timestamp[us]",),
}


def _is_carrier(found: Any, carrier: str) -> bool:
    shown = str(found)
    if carrier in _ARROW:
        return shown in _ARROW[carrier]
    if carrier.startswith("DECIMAL") and not carrier.endswith("]"):
        return shown.startswith("decimal128(") and shown[10:].replace(" ", "") == carrier[7:].replace(" ", "")
    if carrier == "TIMESTAMP WITH TIME ZONE":
        return shown.startswith("timestamp[us, tz=")
    # Nested types: the engine converts them, and says so where it cannot.
    return shown.startswith(("list<", "large_list<", "struct<", "map<"))


def attach_cluster(self: Connection, url: str, *, folder: str | None = None) -> None:
    """Connect to a cluster; see the stubs."""
    detach_cluster(self)
    _clusters[self] = Cluster(url, folder)


def detach_cluster(self: Connection) -> None:
    """Leave the cluster; see the stubs."""
    cluster = _clusters.pop(self, None)
    if cluster is not None:
        cluster.close()


def cluster_of(connection: Connection) -> Cluster:
    """Find the cluster of a connection."""
    cluster = _clusters.get(connection)
    if cluster is None:
        raise ProgrammingError(
            "there is no cluster: con.attach_cluster('sc://host:15002') or ('sail://local') names one"
        )
    return cluster
