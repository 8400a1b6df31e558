"""Servers of this process: the database of a connection for other programs, and the page in a browser."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from inlay import _inlay
from inlay._inlay import Connection, Server

_lock = threading.Lock()
# All that are open are closed before the interpreter goes: their statements may call functions of Python.
_servers: weakref.WeakSet[Server] = weakref.WeakSet()
# Pages by the databases that they are of.
_pages: dict[str, Page] = {}


def _path(path: Any) -> str | None:
    return None if path is None else os.fsdecode(path)


def serve(
    self: Connection,
    *,
    listen: str = "127.0.0.1",
    native_port: int | None = 4655,
    postgres_port: int | None = 5433,
    http_port: int | None = 8433,
    socket_dir: Any = None,
    password_file: Any = None,
    tls_cert: Any = None,
    tls_key: Any = None,
    tls_self_signed: bool = False,
    hosts: Iterable[str] = (),
    allow_files: bool = False,
    max_connections: int = 1000,
    max_statements: int = 64,
    max_message: int = 64,
    log: bool = False,
) -> Server:
    """Serve this connection's database; see the stubs."""
    files = (_path(password_file), _path(tls_cert), _path(tls_key), _path(socket_dir))
    ports = (native_port, postgres_port, http_port)
    flags = (tls_self_signed, allow_files, log)
    limits = (max_connections, max_statements, max_message)
    server = _inlay._serve(self, (listen, *ports, list(hosts)), files, flags, limits)
    with _lock:
        _servers.add(server)
    return server


class Page(str):
    """The address of the page that `Connection.ui` serves; a notebook shows the page in its place."""

    server: Server

    def close(self) -> None:
        """Stop serving the page."""
        with _lock:
            for name in [name for name, page in _pages.items() if page is self]:
                del _pages[name]
        self.server.close(0)

    def _repr_html_(self) -> str:
        return f'<iframe src="{self}" width="100%" height="700" style="border: 1px solid #8888"></iframe>'


def ui(self: Connection, *, port: int = 0, show: bool = True) -> Page:
    """Serve the page for this connection's database; see the stubs."""
    database = _inlay._instance(self)
    with _lock:
        known = _pages.get(database)
    if known is not None and not known.server.closed:
        return known
    server = serve(self, native_port=None, postgres_port=None, http_port=port)
    page = Page(server.http_url)
    page.server = server
    with _lock:
        _pages[database] = page
    # A notebook shows what the call gives.
    if show and not _in_notebook():
        _inlay._open_page(page)
    return page


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _close_all() -> None:
    for server in list(_servers):
        server.close(0)


atexit.register(_close_all)
