# SQLAlchemy is not typed here: it need not be installed.
# mypy: disable-error-code="untyped-decorator, misc, no-any-return, attr-defined"
"""
The dialect of SQLAlchemy 2: `create_engine("inlay:///trips.inlay")`, `create_engine("inlay:///:memory:")`.

SQL is PostgreSQL's. Connections of an engine in memory share one database.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import pool, types
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect, PGExecutionContext
from sqlalchemy.engine import reflection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.url import URL
from sqlalchemy.exc import ArgumentError, NoSuchTableError

import inlay
from inlay.sqltypes import SQLType


class Cursor:
    """A cursor of DB-API that belongs to its connection's session, and so to its transaction."""

    arraysize = 1

    def __init__(self, connection: inlay.Connection) -> None:
        self._connection = connection
        self._answer: inlay.Connection | None = None

    @property
    def description(self) -> Any:
        return self._answer.description if self._answer is not None else None

    @property
    def rowcount(self) -> int:
        return self._answer.rowcount if self._answer is not None else -1

    def execute(self, statement: str, parameters: Any = None) -> Cursor:
        self._answer = self._connection.execute(statement, parameters or None)
        return self

    def executemany(self, statement: str, parameters: Any) -> Cursor:
        self._answer = self._connection.executemany(statement, parameters)
        return self

    def fetchone(self) -> Any:
        return self._rows().fetchone()

    def fetchmany(self, size: int | None = None) -> Any:
        return self._rows().fetchmany(size or self.arraysize)

    def fetchall(self) -> Any:
        return self._rows().fetchall()

    def _rows(self) -> inlay.Connection:
        if self._answer is None:
            raise inlay.InterfaceError("nothing was executed")
        return self._answer

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows())

    def setinputsizes(self, *_sizes: Any) -> None:
        """Do nothing."""

    def setoutputsize(self, *_sizes: Any) -> None:
        """Do nothing."""

    def close(self) -> None:
        self._answer = None


class DBAPIConnection:
    """A connection of DB-API; its plain one is `connection`."""

    def __init__(self, connection: inlay.Connection) -> None:
        self.connection = connection

    def cursor(self) -> Cursor:
        return Cursor(self.connection)

    def begin(self) -> None:
        self.connection.begin()

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()

    def close(self) -> None:
        self.connection.close()


_TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "bigint": types.BigInteger,
    "blob": types.LargeBinary,
    "boolean": types.Boolean,
    "date": types.Date,
    "double": types.Double,
    "float": types.Float,
    "integer": types.Integer,
    "interval": types.Interval,
    "json": types.JSON,
    "smallint": types.SmallInteger,
    "time": types.Time,
    "timestamp": types.DateTime,
    "tinyint": types.SmallInteger,
    "utinyint": types.SmallInteger,
    "usmallint": types.Integer,
    "uinteger": types.BigInteger,
    "uuid": types.Uuid,
    "varchar": types.String,
}


def _type(text: str) -> types.TypeEngine[Any]:
    ty = SQLType(text)
    if ty.id == "decimal":
        (_, precision), (_, scale) = ty.children
        return types.Numeric(precision, scale)
    if ty.id == "timestamp with time zone":
        return types.DateTime(timezone=True)
    if ty.id in ("hugeint", "ubigint", "uhugeint"):
        return types.Numeric(38, 0)
    if ty.id in ("list", "array"):
        return types.ARRAY(_type(ty.children[0][1]))
    return _TYPES.get(ty.id, types.NullType)()


class InlayCompiler(PGCompiler):
    """Where SQL is not PostgreSQL's."""

    def visit_truediv_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Division of whole numbers has fractions."""
        return f"{self.process(binary.left, **options)} / {self.process(binary.right, **options)}"

    def visit_floordiv_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Whole numbers are divided as such; what is no whole number is rounded down."""
        left, right = self.process(binary.left, **options), self.process(binary.right, **options)
        sides = (binary.left.type, binary.right.type)
        if all(side._type_affinity is types.Integer for side in sides):
            return f"{left} // {right}"
        return f"FLOOR({left} / {right})"


class InlayDialect(PGDialect):
    """What SQLAlchemy asks of a database."""

    name = "inlay"
    driver = "inlay"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_server_side_cursors = False
    use_insertmanyvalues = True
    postfetch_lastrowid = False
    execution_ctx_cls = PGExecutionContext
    statement_compiler = InlayCompiler
    div_is_floordiv = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._memory: inlay.Connection | None = None
        self._of_url: dict[str, Any] = {}

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the DB-API module."""
        return inlay

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """Sessions are cheap, and those of a database in memory share it."""
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> Any:
        """Turn `inlay:///path?setting=value` into arguments."""
        config = dict(url.query)
        self._of_url = config
        read_only = str(config.pop("read_only", "false")).lower() == "true"
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
        """Ask nothing: versions and defaults are known."""
        self.server_version_info = self._get_server_version_info(connection)
        self.default_schema_name = "main"
        self._backslash_escapes = False
        self.insert_returning = self.update_returning = self.delete_returning = True

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        # Of PostgreSQL, whose SQL it is.
        return (16, 0)

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

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """Transactions see a snapshot."""
        return "REPEATABLE READ"

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """Transactions see a snapshot."""
        return "REPEATABLE READ"

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """Set what BEGIN promises; AUTOCOMMIT is for SQLAlchemy alone."""
        if level not in self.get_isolation_level_values(dbapi_connection):
            raise ArgumentError(f"{level!r} is no isolation level")
        if level != "AUTOCOMMIT":
            query = f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"
            dbapi_connection.cursor().execute(query)

    def _ask(self, connection: Any, query: str, *parameters: Any) -> list[Any]:
        rows: list[Any] = connection.exec_driver_sql(query, parameters).fetchall()
        return rows

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> bool:
        """Whether there is a table or view of that name."""
        query = "SELECT 1 FROM information_schema.tables WHERE table_name = ? AND table_schema = ?"
        return bool(self._ask(connection, query, table_name, schema or "main"))

    @reflection.cache
    def get_schema_names(self, connection: Any, **_options: Any) -> list[str]:
        """Return the names of schemas."""
        return [row[0] for row in self._ask(connection, "SELECT schema_name FROM information_schema.schemata")]

    def _names(self, connection: Any, kind: str, schema: str | None) -> list[str]:
        query = "SELECT table_name FROM information_schema.tables WHERE table_type = ? AND table_schema = ? ORDER BY 1"
        return [row[0] for row in self._ask(connection, query, kind, schema or "main")]

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return the names of tables."""
        return self._names(connection, "BASE TABLE", schema)

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return the names of views."""
        return self._names(connection, "VIEW", schema)

    @reflection.cache
    def get_temp_table_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return no names."""
        return []

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **_options: Any) -> str:
        """Return the text of a view."""
        query = "SELECT definition FROM duckdb_views() WHERE view_name = ? AND schema_name = ?"
        rows = self._ask(connection, query, view_name, schema or "main")
        if not rows:
            raise NoSuchTableError(view_name)
        return str(rows[0][0])

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> list[Any]:
        """Return the columns of a table or view."""
        query = (
            "SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns "
            "WHERE table_name = ? AND table_schema = ? ORDER BY ordinal_position"
        )
        rows = self._ask(connection, query, table_name, schema or "main")
        if not rows:
            raise NoSuchTableError(table_name)
        return [
            {
                "name": name,
                "type": _type(ty),
                "nullable": nullable == "YES",
                "default": default,
                "autoincrement": "nextval" in (default or ""),
            }
            for name, ty, nullable, default in rows
        ]

    def _constraints(self, connection: Any, kind: str, table_name: str, schema: str | None) -> list[Any]:
        query = (
            "SELECT constraint_name, constraint_column_names::VARCHAR[], referenced_table, "
            "referenced_column_names::VARCHAR[], expression "
            "FROM duckdb_constraints() WHERE constraint_type = ? AND table_name = ? AND schema_name = ?"
        )
        return self._ask(connection, query, kind, table_name, schema or "main")

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> Any:
        """Return the primary key."""
        for name, columns, *_ in self._constraints(connection, "PRIMARY KEY", table_name, schema):
            return {"name": name, "constrained_columns": columns}
        return {"name": None, "constrained_columns": []}

    @reflection.cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **_options: Any
    ) -> list[Any]:
        """Return the unique constraints."""
        found = self._constraints(connection, "UNIQUE", table_name, schema)
        return [{"name": name, "column_names": columns} for name, columns, *_ in found]

    @reflection.cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **_options: Any
    ) -> list[Any]:
        """Return the conditions that rows satisfy."""
        found = self._constraints(connection, "CHECK", table_name, schema)
        return [{"name": name, "sqltext": text} for name, _, _, _, text in found]

    @reflection.cache
    def get_foreign_keys(
        self, connection: Any, table_name: str, schema: str | None = None, **_options: Any
    ) -> list[Any]:
        """Return the foreign keys."""
        found = self._constraints(connection, "FOREIGN KEY", table_name, schema)
        return [
            {
                "name": name,
                "constrained_columns": columns,
                "referred_schema": schema,
                "referred_table": table,
                "referred_columns": referred,
                "options": {},
            }
            for name, columns, table, referred, _ in found
        ]

    @reflection.cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> list[Any]:
        """Return the indexes."""
        query = (
            "SELECT index_name, is_unique, expressions::VARCHAR[] FROM duckdb_indexes() "
            "WHERE table_name = ? AND schema_name = ?"
        )
        found = self._ask(connection, query, table_name, schema or "main")
        return [{"name": name, "unique": unique, "column_names": columns} for name, unique, columns in found]

    @reflection.cache
    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> Any:
        """Return no comment."""
        return {"text": None}

    @reflection.cache
    def get_table_options(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> Any:
        """Return no options."""
        return {}


# PostgreSQL's dialect asks its own catalog for several tables at once; the default asks for one after the other.
for _name in [name for name in dir(DefaultDialect) if name.startswith("get_multi_")]:
    setattr(InlayDialect, _name, getattr(DefaultDialect, _name))
