"""
Queries on a cluster that speaks Spark Connect: the engine writes them, this module sends them.

A connection has one cluster at most. Its session is told how to read the text (`_SETTINGS`), tables are views over
files there, and answers come back as Arrow, are compared with the types that were expected, and are rows of a relation.
Nothing of a connection string but host and port is ever part of a message.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import sys
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from inlay import _along
from inlay._inlay import Connection, Shipped
from inlay._query import bad
from inlay._relation import Relation, of_object
from inlay._sail import Sail
from inlay.exceptions import (
    DataError,
    InterruptException,
    InvalidInputException,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)

#: What the text is written for.
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
}

#: The first version that has all that is written: ANSI mode as a rule, `try_element_at`, `raise_error` of a column.
_SPARK_MIN = 4

#: How long a cluster may take to be told that a query is cancelled, before the caller goes on.
_INTERRUPT_SECONDS = 0.5

#: How often a waiting thread looks for Ctrl-C.
_LOOK_SECONDS = 0.05

#: Errors of a connection that is gone, as gRPC names them.
_GONE = ("UNAVAILABLE", "failed to connect", "Connection refused", "Socket closed")

#: Those of a session that is, which another one replaces.
_CLOSED = ("INVALID_HANDLE.SESSION", "SESSION_CLOSED", "SESSION_NOT_FOUND", "SESSION_CHANGED")

_clusters: weakref.WeakKeyDictionary[Connection, Cluster] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def _with_main_file() -> Iterator[None]:
    """Give the main module a file: pyspark takes one without (`python -c`, a worker) for its doctests, and exits."""
    main = sys.modules["__main__"]
    lacks = getattr(main, "__spec__", None) is None and not hasattr(main, "__file__") and not hasattr(sys, "ps1")
    if lacks:
        main.__file__ = "<inlay>"
    try:
        yield
    finally:
        if lacks:
            with contextlib.suppress(AttributeError):
                del main.__file__


class _SessionClosedError(OperationalError):
    """The session there is no more."""


class Cluster:
    """A session of a cluster, and the folder that it reads tables of ours from."""

    def __init__(self, url: str, folder: str | None) -> None:
        self._url = url
        self.shipped = Shipped()
        self._views: dict[str, Any] = {}
        self._functions: set[str] = set()
        self._own_folder = folder is None
        self._held = _Held()
        self._end = weakref.finalize(self, _Held.leave, self._held)
        self._running = 0
        self._lock = threading.RLock()
        #: For further sessions of the same cluster, and for people.
        self.remote = self.shown = ""
        try:
            self._session()
            if folder is None:
                folder = self._held.folder = tempfile.mkdtemp(prefix="inlay-cluster-")
            self.folder = folder
        except BaseException:
            self.close()
            raise

    def _session(self) -> Any:
        """Give the session, which is opened where there is none, or none any more."""
        with self._lock:
            if self._held.session is None:
                self.shown, self.remote = self._address(self._url)
                self._is_here = urlsplit(self.remote).hostname in ("localhost", "127.0.0.1", "::1")
                self._held.session = self._connect(self.remote)
            return self._held.session

    def _forget(self) -> None:
        """Leave a session that is closed or of no use; the next query opens another."""
        with self._lock:
            self._held.leave_session()
            self._views.clear()
            self._functions.clear()

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
        if self._held.server is None:
            self._held.server = Sail()
        return int(self._held.server.port)

    def _connect(self, remote: str) -> Any:
        try:
            import pyarrow  # noqa: F401

            with _with_main_file():
                from pyspark.sql import SparkSession
                from pyspark.sql.connect.client.retries import DefaultPolicy
        except ImportError:
            raise NotSupportedError(
                "a cluster needs the packages pyspark-client, pyarrow and pandas: pip install inlay[spark]"
            ) from None
        with self._told():
            with warnings.catch_warnings():
                # The client warns of versions of pandas; no rows of ours go through it.
                warnings.simplefilter("ignore")
                session = SparkSession.builder.remote(remote).create()
                with contextlib.suppress(AttributeError):
                    # Functions are made by the session that is active, if there is none yet.
                    type(session)._set_default_and_active_session(session)
            # The client's own policy waits ten minutes for a server that is gone.
            patient = DefaultPolicy(max_retries=4, initial_backoff=100, max_backoff=1000)
            session.client.set_retry_policies([patient])
            self._check_version(session.version)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name, value in _SETTINGS.items():
                    session.conf.set(name, value)
        return session

    def _check_version(self, version: str) -> None:
        major = version.split(".", 1)[0]
        if major.isdigit() and int(major) < _SPARK_MIN:
            raise NotSupportedError(
                f"the cluster {self.shown} runs Spark {version}; what Inlay writes needs Spark {_SPARK_MIN}.0 or later"
            )

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Make an error of ours of what the client raises."""
        # The client writes errors to the program's log besides.
        loggers = [logging.getLogger(f"{name}QueryContextLogger") for name in ("SQL", "DataFrame")]
        before = [logger.disabled for logger in loggers]
        for logger in loggers:
            logger.disabled = True
        try:
            yield
        except (DataError, InterruptException, InvalidInputException, NotSupportedError, OperationalError):
            raise
        except Exception as error:
            raise self._error(error) from None
        finally:
            for logger, was_disabled in zip(loggers, before, strict=True):
                logger.disabled = was_disabled

    def _error(self, error: Exception) -> Exception:
        text = _without_secrets(str(error))
        along = re.search(f"{_along.OPENED}(.*?){_along.CLOSED}", text, re.DOTALL)
        if along:
            return DataError(f"on the cluster: {along[1]}")
        ours = re.search(r"inlay: ([^\n'\"\]]*)", text)
        if ours:
            return DataError(f"on the cluster: {ours[1].strip()}")
        if any(sign in text for sign in _CLOSED):
            return _SessionClosedError(f"the session of the cluster {self.shown} is closed, and so is the next one")
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
        try:
            text, tables, functions, columns, again, _ = self.shipped.write(connection, query, {}, folder)
        except NotSupportedError:
            answer = self.shipped.in_parts(connection, query, folder, self._part)
            if answer is None:
                raise
            return of_object(connection, answer)
        rows = self._rows(text, tables, functions, columns)
        return of_object(connection, rows).query("rows_of_cluster", again)

    def _part(self, text: str, tables: Any, functions: Any, columns: Any, again: str, refused: Any) -> Any:
        """Give the rows of a part of a query, of which the rest runs here."""
        return self._rows(text, tables, functions, columns)

    def _rows(self, text: str, tables: list[Any], functions: list[Any], columns: list[Any]) -> Any:
        try:
            rows = self._answer(text, tables, functions)
        except _SessionClosedError:
            # It only read: what a session held is put there again.
            self._forget()
            try:
                rows = self._answer(text, tables, functions)
            except _SessionClosedError as error:
                raise OperationalError(str(error)) from None
        self._check(rows, columns)
        return rows

    def _answer(self, text: str, tables: list[Any], functions: list[Any]) -> Any:
        session = self._session()
        with self._told():
            for name, kind, paths, options, shown in tables:
                self._view(session, name, kind, paths, options, shown)
            for sent in functions:
                self._function(session, sent)
            return self._fetch(session, text)

    def _function(self, session: Any, sent: tuple[Any, ...]) -> None:
        if self._own_folder and not self._is_here:
            raise OperationalError(
                f"functions go to {self.shown} through a folder: attach_cluster(url, folder=...) names one both see"
            )
        if not self._functions:
            _along.check_versions(session, self.shown)
        if sent[0] not in self._functions:
            _along.registered(session, sent, self.folder)
            self._functions.add(sent[0])

    def _view(
        self, session: Any, name: str, kind: str, paths: list[str], options: list[tuple[str, str]], shown: str
    ) -> None:
        is_ours = shown.startswith("table ")
        if is_ours and self._own_folder and not self._is_here:
            raise OperationalError(
                f"{shown} has to be put where {self.shown} can read it: attach_cluster(url, folder=...) names a folder "
                "that both see under the same path"
            )
        state = (paths, options, None if is_ours else _state_of(paths))
        if self._views.get(name) == state and (is_ours or state[2] is not None):
            return
        reader = session.read
        for option, value in options:
            reader = reader.option(option, value)
        reader.format(kind).load(paths if len(paths) > 1 else paths[0]).createOrReplaceTempView(name)
        self._views[name] = state

    def _fetch(self, session: Any, text: str) -> Any:
        """Run the text and fetch its rows, on a thread of its own, so that Ctrl-C ends exactly this operation."""
        tag = f"inlay-{threading.get_ident()}-{time.monotonic_ns()}"
        outcome: list[Any] = []

        def fetch() -> None:
            try:
                session.addTag(tag)
                outcome.append((True, session.sql(text).toArrow()))
            except BaseException as error:
                outcome.append((False, error))

        thread = threading.Thread(target=fetch, daemon=True)
        with self._lock:
            self._running += 1
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_LOOK_SECONDS)
        except KeyboardInterrupt:
            self._interrupt(session, tag)
            raise InterruptException("the query on the cluster was cancelled") from None
        finally:
            with self._lock:
                self._running -= 1
        is_done, value = outcome[0]
        if not is_done:
            raise value
        return value

    def _interrupt(self, session: Any, tag: str) -> None:
        """End an operation there. A cluster that does not answer is not waited for."""
        if self._held.server is not None and self._running == 1:
            # Sail answers at once and computes on: a server that serves nobody else is started anew.
            self._forget()
            self._held.leave_server()
            return

        def interrupt() -> None:
            with contextlib.suppress(Exception):
                session.interruptTag(tag)

        thread = threading.Thread(target=interrupt, daemon=True)
        thread.start()
        thread.join(_INTERRUPT_SECONDS)

    def _check(self, rows: Any, columns: list[tuple[str, str, str]]) -> None:
        """Compare the types of the answer with those that were expected."""
        if len(rows.schema) != max(len(columns), 1):
            raise OperationalError(f"the cluster gave {len(rows.schema)} columns, not {len(columns)}")
        for (name, ty, carrier), field in zip(columns, rows.schema, strict=False):
            if not _is_carrier(field.type, carrier):
                raise OperationalError(f"the cluster gave {field.type} for the column {name} of type {ty}")

    def close(self) -> None:
        """Leave the cluster."""
        self._end()


class _Held:
    """What a cluster holds outside of this process, and in files."""

    def __init__(self) -> None:
        self.session: Any = None
        self.server: Sail | None = None
        self.folder: str | None = None

    def leave_session(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            with contextlib.suppress(Exception):
                # A server of ours ends with its sessions.
                session.stop() if self.server is None else session.client.close()

    def leave_server(self) -> None:
        server, self.server = self.server, None
        if server is not None:
            with contextlib.suppress(Exception):
                server.stop()

    def leave(self) -> None:
        self.leave_session()
        self.leave_server()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def _state_of(paths: list[str]) -> list[tuple[int, int]] | None:
    """Say by what local files are known to be as they were when a view of them was made; of others nothing."""
    try:
        found = [Path(path).stat() for path in paths if not Path(path).is_dir()]
    except OSError:
        return None
    return [(each.st_mtime_ns, each.st_size) for each in found] if len(found) == len(paths) else None


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
