"""
Inlay: an analytical SQL database inside your Python process.

>>> import inlay
>>> with inlay.connect() as con:
...     con.execute("SELECT 40 + 2 AS answer").fetchall()
[(42,)]

`inlay.connect("trips.inlay")` opens or creates a database file instead.
Functions of this module work on a default connection to a database in memory that the process shares.
"""

from __future__ import annotations

import atexit
import builtins
import functools
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from inlay import exceptions, sqltypes
from inlay._calling import calling
from inlay._dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    DBAPITypeObject,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from inlay._expression import (
    CaseExpression,
    CoalesceOperator,
    ColumnExpression,
    ConstantExpression,
    DefaultExpression,
    Expression,
    FunctionExpression,
    LambdaExpression,
    SQLExpression,
    StarExpression,
)
from inlay._functions import (
    coalesce,
    col,
    count_all,
    cume_dist,
    dense_rank,
    fill,
    first_value,
    fn,
    lag,
    last_value,
    lead,
    lit,
    nth_value,
    ntile,
    percent_rank,
    rank,
    row_number,
    sql_expr,
    star,
    when,
)
from inlay._inlay import Appender, Connection, PreparedStatement, Server, __version__, _checkpoint_all, connect
from inlay._kinds import (
    CSVLineTerminator,
    ExpectedResultType,
    ExplainType,
    PythonExceptionHandling,
    RenderMode,
    StatementType,
    token_type,
)
from inlay._methods import install as _install
from inlay._relation import Relation
from inlay._statements import Statement
from inlay._tokens import tokenize
from inlay.exceptions import (
    BinderException,
    CatalogException,
    ConnectionException,
    ConstraintException,
    ConversionException,
    DatabaseError,
    DataError,
    DependencyException,
    Error,
    FatalException,
    FunctionException,
    HTTPException,
    IntegrityError,
    InterfaceError,
    InternalError,
    InternalException,
    InterruptException,
    InvalidInputException,
    InvalidTypeException,
    IOException,
    NotImplementedException,
    NotSupportedError,
    OperationalError,
    OutOfMemoryException,
    OutOfRangeException,
    ParserException,
    PermissionException,
    ProgrammingError,
    ResourceInUseException,
    SequenceException,
    SerializationException,
    SyntaxException,
    TransactionException,
    TypeMismatchException,
    Warning,
)
from inlay.value.constant import (
    BinaryValue,
    BitValue,
    BlobValue,
    BooleanValue,
    DateValue,
    DecimalValue,
    DoubleValue,
    FloatValue,
    HugeIntegerValue,
    IntegerValue,
    IntervalValue,
    ListValue,
    LongValue,
    MapValue,
    NullValue,
    ShortValue,
    StringValue,
    StructValue,
    TimestampMillisecondValue,
    TimestampNanosecondValue,
    TimestampSecondValue,
    TimestampTimeZoneValue,
    TimestampValue,
    TimeTimeZoneValue,
    TimeValue,
    UnionType,
    UnsignedBinaryValue,
    UnsignedHugeIntegerValue,
    UnsignedIntegerValue,
    UnsignedLongValue,
    UnsignedShortValue,
    UUIDValue,
    Value,
)

if TYPE_CHECKING:
    from inlay._async import AsyncConnection, aconnect

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"


# The next opening then has no log to replay.
atexit.register(_checkpoint_all)

_lock = threading.Lock()
_default: Connection | None = None
# The process that opened the default connection by itself: a forked child opens its own.
_default_process: int | None = None


def default_connection() -> Connection:
    """Return the connection that the functions of this module use; it is opened when first needed."""
    global _default, _default_process
    with _lock:
        if _default is None or _default_process not in (None, os.getpid()):
            _default, _default_process = connect(), os.getpid()
        return _default


def set_default_connection(connection: Connection) -> None:
    """Make a connection the one that the functions of this module use."""
    global _default, _default_process
    if not isinstance(connection, Connection):
        raise InvalidInputException(
            f"expected a connection, not an object of type {builtins.type(connection).__name__}"
        )
    with _lock:
        _default, _default_process = connection, None


def _of_default(name: str) -> Any:
    """Make a function of a method: it uses the default connection, unless `connection` is another."""
    method = getattr(Connection, name)

    def function(*args: Any, connection: Connection | None = None, **options: Any) -> Any:
        return getattr(connection or default_connection(), name)(*args, **options)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    said = method.__doc__ or ""
    function.__doc__ = f"{said}\n\nUses the default connection; `connection` is another.".lstrip()
    # Whoever asks for the signature sees that of the method, without `self`.
    function.__wrapped__ = functools.partial(method, None)  # type: ignore[attr-defined]
    return function


_install()

abort = _of_default("abort")
append = _of_default("append")
appender = _of_default("appender")
array_type = _of_default("array_type")
begin = _of_default("begin")
checkpoint = _of_default("checkpoint")
commit = _of_default("commit")
complete = _of_default("complete")
cursor = duplicate = _of_default("cursor")
decimal_type = _of_default("decimal_type")
disable_profiling = _of_default("disable_profiling")
enable_profiling = _of_default("enable_profiling")
enum_type = _of_default("enum_type")
execute = _of_default("execute")
create_aggregate = _of_default("create_aggregate")
create_function = _of_default("create_function")
create_table_function = _of_default("create_table_function")
executemany = _of_default("executemany")
extract_statements = _of_default("extract_statements")
fetch_arrow_table = to_arrow_table = _of_default("fetch_arrow_table")
fetch_df_chunk = _of_default("fetch_df_chunk")
fetch_record_batch = fetch_arrow_reader = to_arrow_reader = _of_default("fetch_record_batch")
fetchall = _of_default("fetchall")
fetchdf = fetch_df = _of_default("fetchdf")
fetchmany = _of_default("fetchmany")
fetchnumpy = _of_default("fetchnumpy")
fetchone = _of_default("fetchone")
filesystem_is_registered = _of_default("filesystem_is_registered")
from_arrow = _of_default("from_arrow")
from_df = _of_default("from_df")
from_parquet = read_parquet = _of_default("read_parquet")
get_profiling_information = _of_default("get_profiling_information")
get_table_names = _of_default("get_table_names")
install_extension = _of_default("install_extension")
interrupt = _of_default("interrupt")
list_filesystems = _of_default("list_filesystems")
list_type = _of_default("list_type")
load_extension = _of_default("load_extension")
map_type = _of_default("map_type")
pl = _of_default("pl")
query_appender = _of_default("query_appender")
prepare = _of_default("prepare")
query_progress = _of_default("query_progress")
read_csv = from_csv_auto = _of_default("read_csv")
read_json = _of_default("read_json")
register = _of_default("register")
register_filesystem = _of_default("register_filesystem")
remove_function = _of_default("remove_function")
rollback = _of_default("rollback")
row_type = struct_type = _of_default("struct_type")
sql = query = from_query = _of_default("sql")
sqltype = dtype = type = _of_default("sqltype")
string_type = _of_default("string_type")
table = _of_default("table")
table_function = _of_default("table_function")
tf = _of_default("tf")
torch = _of_default("torch")
udaf = _of_default("udaf")
udf = _of_default("udf")
udtf = _of_default("udtf")
union_type = _of_default("union_type")
unregister = _of_default("unregister")
unregister_filesystem = _of_default("unregister_filesystem")
values = _of_default("values")
view = _of_default("view")


def df(df: Any = None, *, connection: Connection | None = None) -> Any:
    """Make a relation of a data frame; without one, fetch the default connection's last answer as one."""
    connection = connection or default_connection()
    return connection.df() if df is None else connection.from_df(df)


def arrow(arrow_object: Any = None, *, connection: Connection | None = None) -> Any:
    """Make a relation of an Arrow object; without one, fetch the default connection's last answer as a table."""
    connection = connection or default_connection()
    return connection.arrow() if arrow_object is None else connection.from_arrow(arrow_object)


def description(*, connection: Connection | None = None) -> Any:
    """Return name and type of each column of the default connection's last answer."""
    return (connection or default_connection()).description


def rowcount(*, connection: Connection | None = None) -> int:
    """Return how many rows the default connection's last statement gave or changed; -1 if that is not known."""
    return (connection or default_connection()).rowcount


def _of_frame(name: str) -> Any:
    """Make a function of a relation's method, which is called for a data frame."""

    def function(df: Any, *args: Any, connection: Connection | None = None, **options: Any) -> Any:
        return getattr((connection or default_connection()).from_df(df), name)(*args, **options)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    said = getattr(Relation, name).__doc__ or ""
    function.__doc__ = f"{said.rstrip()}\n\nFor `df`, a data frame or another object that can be a table.".lstrip()
    return function


aggregate = _of_frame("aggregate")
alias = _of_frame("set_alias")
distinct = _of_frame("distinct")
filter = _of_frame("filter")
limit = _of_frame("limit")
order = _of_frame("order")
project = _of_frame("project")
query_df = _of_frame("query")
write_csv = _of_frame("write_csv")


def close() -> None:
    """Close the default connection; its database is gone. The next use opens a new one."""
    global _default
    with _lock:
        if _default is not None:
            _default.close()
            _default = None


def __getattr__(name: str) -> Any:
    # asyncio takes as long to load as all of this package.
    if name in ("AsyncConnection", "aconnect"):
        from inlay import _async

        return getattr(_async, name)
    raise AttributeError(f"module 'inlay' has no attribute '{name}'")


def load_ipython_extension(shell: Any) -> None:
    """Bring `%sql` and `%%sql` to IPython: `%load_ext inlay`."""
    from inlay.magic import load

    load(shell)


DuckDBPyConnection = Connection
DuckDBPyRelation = Relation
__duckdb_version__ = "2.0.0"
__formatted_python_version__ = f"{sys.version_info.major}.{sys.version_info.minor}"
__interactive__ = hasattr(sys, "ps1")
__jupyter__ = getattr(builtins, "get_ipython", lambda: None)().__class__.__name__ == "ZMQInteractiveShell"
__standard_vector_size__ = 2048


def version() -> str:
    """Return the version, and that of DuckDB whose names the package has."""
    return f"{__version__} (with the names of duckdb {__duckdb_version__})"


def build_info() -> dict[str, str]:
    """Return the versions of the package and of its engine."""
    return {"package_version": __version__, "inlay_version": __version__, "duckdb_version": __duckdb_version__}


__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Appender",
    "AsyncConnection",
    "Binary",
    "BinaryValue",
    "BinderException",
    "BitValue",
    "BlobValue",
    "BooleanValue",
    "CSVLineTerminator",
    "CaseExpression",
    "CatalogException",
    "CoalesceOperator",
    "ColumnExpression",
    "Connection",
    "ConnectionException",
    "ConstantExpression",
    "ConstraintException",
    "ConversionException",
    "DBAPITypeObject",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "DateValue",
    "DecimalValue",
    "DefaultExpression",
    "DependencyException",
    "DoubleValue",
    "DuckDBPyConnection",
    "DuckDBPyRelation",
    "Error",
    "ExpectedResultType",
    "ExplainType",
    "Expression",
    "FatalException",
    "FloatValue",
    "FunctionException",
    "FunctionExpression",
    "HTTPException",
    "HugeIntegerValue",
    "IOException",
    "IntegerValue",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "InternalException",
    "InterruptException",
    "IntervalValue",
    "InvalidInputException",
    "InvalidTypeException",
    "LambdaExpression",
    "ListValue",
    "LongValue",
    "MapValue",
    "NotImplementedException",
    "NotSupportedError",
    "NullValue",
    "OperationalError",
    "OutOfMemoryException",
    "OutOfRangeException",
    "ParserException",
    "PermissionException",
    "PreparedStatement",
    "ProgrammingError",
    "PythonExceptionHandling",
    "Relation",
    "RenderMode",
    "ResourceInUseException",
    "SQLExpression",
    "SequenceException",
    "SerializationException",
    "Server",
    "ShortValue",
    "StarExpression",
    "Statement",
    "StatementType",
    "StringValue",
    "StructValue",
    "SyntaxException",
    "Time",
    "TimeFromTicks",
    "TimeTimeZoneValue",
    "TimeValue",
    "Timestamp",
    "TimestampFromTicks",
    "TimestampMillisecondValue",
    "TimestampNanosecondValue",
    "TimestampSecondValue",
    "TimestampTimeZoneValue",
    "TimestampValue",
    "TransactionException",
    "TypeMismatchException",
    "UUIDValue",
    "UnionType",
    "UnsignedBinaryValue",
    "UnsignedHugeIntegerValue",
    "UnsignedIntegerValue",
    "UnsignedLongValue",
    "UnsignedShortValue",
    "Value",
    "Warning",
    "__duckdb_version__",
    "__formatted_python_version__",
    "__interactive__",
    "__jupyter__",
    "__standard_vector_size__",
    "__version__",
    "abort",
    "aconnect",
    "aggregate",
    "alias",
    "apilevel",
    "append",
    "appender",
    "array_type",
    "arrow",
    "begin",
    "build_info",
    "calling",
    "checkpoint",
    "close",
    "coalesce",
    "col",
    "commit",
    "complete",
    "connect",
    "count_all",
    "create_aggregate",
    "create_function",
    "create_table_function",
    "cume_dist",
    "cursor",
    "decimal_type",
    "default_connection",
    "dense_rank",
    "description",
    "df",
    "disable_profiling",
    "distinct",
    "dtype",
    "duplicate",
    "enable_profiling",
    "enum_type",
    "exceptions",
    "execute",
    "executemany",
    "extract_statements",
    "fetch_arrow_reader",
    "fetch_arrow_table",
    "fetch_df",
    "fetch_df_chunk",
    "fetch_record_batch",
    "fetchall",
    "fetchdf",
    "fetchmany",
    "fetchnumpy",
    "fetchone",
    "filesystem_is_registered",
    "fill",
    "first_value",
    "fn",
    "from_arrow",
    "from_csv_auto",
    "from_df",
    "from_parquet",
    "from_query",
    "get_profiling_information",
    "get_table_names",
    "install_extension",
    "interrupt",
    "lag",
    "last_value",
    "lead",
    "limit",
    "list_filesystems",
    "list_type",
    "lit",
    "load_extension",
    "load_ipython_extension",
    "map_type",
    "nth_value",
    "ntile",
    "order",
    "paramstyle",
    "percent_rank",
    "pl",
    "prepare",
    "project",
    "query",
    "query_appender",
    "query_df",
    "query_progress",
    "rank",
    "read_csv",
    "read_json",
    "read_parquet",
    "register",
    "register_filesystem",
    "remove_function",
    "rollback",
    "row_number",
    "row_type",
    "rowcount",
    "set_default_connection",
    "sql",
    "sql_expr",
    "sqltype",
    "sqltypes",
    "star",
    "string_type",
    "struct_type",
    "table",
    "table_function",
    "tf",
    "threadsafety",
    "to_arrow_reader",
    "to_arrow_table",
    "token_type",
    "tokenize",
    "torch",
    "udaf",
    "udf",
    "udtf",
    "union_type",
    "unregister",
    "unregister_filesystem",
    "values",
    "version",
    "view",
    "when",
    "write_csv",
]
