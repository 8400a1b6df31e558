"""The compiled half of the package."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

__version__: str

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any] | None

def shell(argv: Sequence[str]) -> int:
    """Run the shell with these arguments, the program's name first, and return its exit code."""

def connect(
    database: str | PathLike[str] | None = ":memory:",
    read_only: bool = False,
    config: Mapping[str, Any] | None = None,
) -> Connection:
    """
    Open a database and connect to it.

    Parameters
    ----------
    database
        A path, which is created if there is no file, or ``":memory:"``. A file that this process has open already
        is shared.
    read_only
        Refuse changes. Another process may make some meanwhile; each transaction sees the newest commit.
    config
        Settings by name, such as ``{"threads": 2, "memory_limit": "2GB", "synchronous": "normal"}``.

    Raises
    ------
    inlay.OperationalError
        If another process is writing the file, or it is damaged or cannot be opened.
    """

def _checkpoint_all() -> None: ...

class _Fetch:
    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """Name and type of each column; None for statements without rows."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Fetch all rows; of a connection, those not fetched yet."""

    def fetchnumpy(self) -> dict[str, Any]:
        """
        Fetch one NumPy array per column, masked where NULL.

        TIMESTAMP is ``datetime64[us]``, DATE ``datetime64[D]``, INTERVAL ``timedelta64[us]``, DECIMAL and HUGEINT
        ``float64``; VARCHAR, BLOB and TIME are object arrays.
        """

    def df(self) -> Any:
        """Fetch a pandas data frame."""

    def fetchdf(self) -> Any:
        """Fetch a pandas data frame."""

    def arrow(self) -> Any:
        """Fetch a `pyarrow.Table`."""

    def fetch_arrow_table(self) -> Any:
        """Fetch a `pyarrow.Table`."""

    def fetch_record_batch(self) -> Any:
        """Fetch a `pyarrow.RecordBatchReader`."""

    def pl(self) -> Any:
        """Fetch a Polars data frame."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...

@final
class Connection(_Fetch):
    """
    A session of a database, and the answer of its last statement.

    Threads may share a connection: statements take turns, and what `execute` returns holds its own answer.

    Examples
    --------
    >>> inlay.connect().execute("SELECT ? + 2", [40]).fetchone()
    (42,)
    """

    @property
    def rowcount(self) -> int:
        """Rows of the last answer, or rows that the last statement changed; -1 if neither."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """Fetch the next row; None when there is none."""

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Fetch up to `size` more rows."""

    def __next__(self) -> tuple[Any, ...]: ...
    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def execute(self, query: str, parameters: Parameters = None) -> Connection:
        """
        Run the statements of `query`; the answer is the last one's.

        Parameters
        ----------
        parameters
            A sequence for ``?`` and ``$1``, a mapping for ``$name``.

        Raises
        ------
        inlay.Error
            With the SQLSTATE in ``sqlstate``.
        """

    def executemany(self, query: str, parameters: Iterable[Parameters]) -> Connection:
        """Run one statement once per set of parameters, all or nothing."""

    def sql(self, query: str, parameters: Parameters = None) -> Relation | None:
        """Run a query and return its rows; None for statements without rows."""

    def query(self, query: str, parameters: Parameters = None) -> Relation | None:
        """Run a query and return its rows; None for statements without rows."""

    def table(self, name: str) -> Relation | None:
        """Read a table."""

    def fetch_df(self) -> Any:
        """Fetch a pandas data frame."""

    def register(self, name: str, table: Any) -> Connection:
        """
        Make an object a table.

        Data frames of pandas and Polars, Arrow tables, batches and readers, anything with ``__arrow_c_stream__``, and
        dictionaries of NumPy arrays. Memory is shared where layouts agree; the object is kept alive.
        """

    def unregister(self, name: str) -> Connection:
        """Forget a registered object."""

    def append(self, table_name: str, data: Any, by_name: bool = False) -> Connection:
        """
        Add rows to a table by the way of bulk loads.

        `data` is anything that can be a table: a data frame, an Arrow table or reader, a dictionary of NumPy arrays.
        Columns are taken by position, or by name. All rows are added or, when one violates a constraint, none.
        """

    def transaction(self) -> Transaction:
        """
        Open a transaction for a `with` block.

        It commits at the end of the block, or rolls back when an exception leaves it.
        """

    def checkpoint(self) -> Connection:
        """Put what is committed into the database file, so that the log is short."""

    def backup(self, path: str | PathLike[str]) -> Connection:
        """
        Write a copy of what is committed into a new file, while the database is used and changed.

        The file appears when it is complete. One that exists already is never overwritten.
        """

    def begin(self) -> Connection:
        """Open a transaction."""

    def commit(self) -> Connection:
        """Commit the transaction, if one is open."""

    def rollback(self) -> Connection:
        """Undo the transaction, if one is open."""

    def cursor(self) -> Connection:
        """Open another session of the same database."""

    def duplicate(self) -> Connection:
        """Open another session of the same database."""

    def interrupt(self) -> None:
        """End the running statement; may be called from any thread."""

    def close(self) -> None:
        """Close the session; an open transaction is undone. The last one of a file closes the file."""

    def __enter__(self) -> Connection: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Relation(_Fetch):
    """The rows of a query, all of them in every method. Its `repr` is a table."""

    @property
    def columns(self) -> list[str]:
        """Column names."""

    @property
    def types(self) -> list[str]:
        """Column types."""

    @property
    def dtypes(self) -> list[str]:
        """Column types."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""

    def to_df(self) -> Any:
        """Fetch a pandas data frame."""

    def to_arrow_table(self) -> Any:
        """Fetch a `pyarrow.Table`."""

    def show(self, max_rows: int = 40, max_width: int = 160) -> None:
        """Print the table."""

    def __len__(self) -> int: ...

@final
class ColumnMemory:
    """Memory of a column below a NumPy array."""

class Transaction:
    """What `Connection.transaction` gives, to be used in `with`."""

    def __enter__(self) -> Connection: ...
    def __exit__(self, exception: object, *more: object) -> None: ...
