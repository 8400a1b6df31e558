"""
The dialect of SQLAlchemy 2: `create_engine("inlay:///trips.inlay")`, `create_engine("inlay:///:memory:")`.

With a host it is a database at a server: `create_engine("inlay://ann:secret@db.example:4655/shop")`.

SQL is PostgreSQL's, so constructs of its dialect work, `insert` with its `on_conflict_do_update` among them.
Connections of an engine in memory share one database. Alembic needs no setting up. See docs/sqlalchemy.md.
"""

# SQLAlchemy is not typed here: it need not be installed.
# mypy: disable-error-code="untyped-decorator, misc, no-any-return, attr-defined"
from __future__ import annotations

import contextlib
from typing import Any
from urllib.parse import quote

from sqlalchemy import pool, types
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.dialects.postgresql.base import PGDialect, PGExecutionContext
from sqlalchemy.dialects.postgresql.base import colspecs as _colspecs
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import BindTyping
from sqlalchemy.engine.url import URL
from sqlalchemy.exc import ArgumentError

import inlay
from inlay.sqlalchemy._compiler import Compiler, DDLCompiler, IdentifierPreparer
from inlay.sqlalchemy._reflection import Reflection
from inlay.sqlalchemy._session import AUTOCOMMIT, DEFAULT_LEVEL, LEVELS, Cursor, DBAPIConnection, Module
from inlay.sqlalchemy._types import Interval, Numeric, Other, TypeCompiler

__all__ = ["Cursor", "DBAPIConnection", "InlayDialect", "Insert", "Other", "insert"]


def _address(url: URL, settings: dict[str, Any]) -> str:
    """Write the address of a server as `inlay.connect` reads it."""
    login = [quote(str(part), safe="") for part in (url.username or "", url.password) if part is not None]
    host = f"[{url.host}]" if ":" in (url.host or "") else url.host
    port = f":{url.port}" if url.port else ""
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in settings.items())
    return f"inlay://{':'.join(login)}@{host}{port}/{quote(url.database or '', safe='')}?{query}"


class InlayDialect(Reflection, PGDialect):
    """What SQLAlchemy asks of a database."""

    name = "inlay"
    driver = "inlay"
    # A parameter that stands twice in a statement, as in SELECT and GROUP BY, is one parameter.
    default_paramstyle = "numeric_dollar"
    bind_typing = BindTyping.NONE
    supports_statement_cache = True
    supports_server_side_cursors = False
    supports_native_decimal = True
    supports_constraint_comments = False
    supports_sane_multi_rowcount = True
    div_is_floordiv = False
    statement_compiler = Compiler
    ddl_compiler = DDLCompiler
    type_compiler_cls = TypeCompiler
    preparer = IdentifierPreparer
    execution_ctx_cls = PGExecutionContext
    colspecs = {  # noqa: RUF012
        **{k: v for k, v in _colspecs.items() if k is not types.Enum},
        types.Numeric: Numeric,
        types.Interval: Interval,
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._memory: inlay.Connection | None = None
        self._of_url: dict[str, Any] = {}

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the DB-API module."""
        return Module()

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """Sessions are cheap, and those of a database in memory share it."""
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> Any:
        """Turn `inlay:///path?setting=value`, or the address of a server, into arguments."""
        config = dict(url.query)
        read_only = str(config.pop("read_only", "false")).lower() == "true"
        if url.host:
            # A server's address says how it is reached, too: its settings stay in it.
            return (), {"database": _address(url, config), "read_only": read_only, "config": {}}
        self._of_url = config
        return (), {"database": url.database or ":memory:", "read_only": read_only, "config": config}

    def connect(self, *args: Any, **options: Any) -> Any:
        """Open a session. `connect_args` has `config` beside the settings of the URL, and before them."""
        # SQLAlchemy puts all of `connect_args` in the place of what the URL gave.
        options["config"] = {**self._of_url, **(options.get("config") or {})}
        if options.get("database") != ":memory:":
            return DBAPIConnection(inlay.connect(**options))
        if self._memory is None:
            self._memory = inlay.connect(**options)
        return DBAPIConnection(self._memory.cursor())

    def initialize(self, connection: Any) -> None:
        """Ask for the schema alone: what the engine can do is known."""
        DefaultDialect.initialize(self, connection)
        self._backslash_escapes = False

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        # Of PostgreSQL, whose SQL it is.
        return (16, 0)

    def _get_default_schema_name(self, connection: Any) -> str:
        return str(connection.exec_driver_sql("SELECT current_schema()").scalar())

    def on_connect(self) -> None:
        """Do nothing to a new session."""
        return None

    def do_begin(self, dbapi_connection: Any) -> None:
        """Begin a transaction."""
        dbapi_connection.begin()

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Ask whether the session is open."""
        dbapi_connection.cursor().execute("SELECT 1")
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """Whether the session was closed."""
        text = str(e)
        is_over = "closed" in text or "the connection to the server" in text
        return isinstance(e, inlay.ConnectionException) and is_over

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        """Return the words that `isolation_level` knows."""
        return LEVELS

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """Return what the next transaction promises."""
        return dbapi_connection.isolation_level

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """Transactions are serializable unless the engine was made with another level."""
        level = dbapi_conn.isolation_level
        return DEFAULT_LEVEL if level == AUTOCOMMIT else level

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """Set what BEGIN promises; with AUTOCOMMIT there is no BEGIN."""
        if level not in LEVELS:
            raise ArgumentError(f"{level!r} is no isolation level; there are {', '.join(LEVELS)}")
        dbapi_connection.isolation_level = level

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        """Whether each statement is a transaction of its own."""
        return dbapi_conn.isolation_level == AUTOCOMMIT

    def set_readonly(self, connection: Any, value: bool) -> None:
        """Let transactions read only: `execution_options(postgresql_readonly=True)`."""
        connection.read_only = value

    def get_readonly(self, connection: Any) -> bool:
        """Whether transactions read only."""
        return bool(connection.read_only)


# PostgreSQL's dialect asks its own catalog for several tables at once; the default asks for one after the other.
for _name in [name for name in dir(DefaultDialect) if name.startswith("get_multi_")] + ["has_multi_table"]:
    if hasattr(DefaultDialect, _name):
        setattr(InlayDialect, _name, getattr(DefaultDialect, _name))

# Alembic looks its part up by the dialect's name; whoever has Alembic has it from here on.
with contextlib.suppress(ImportError):
    import inlay.sqlalchemy._alembic
