"""The compiled half of the package."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

from inlay._relation import Relation
from inlay._statements import Statement
from inlay.sqltypes import SQLType

__version__: str

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any] | None

def shell(argv: Sequence[str]) -> int:
    """
    Run the shell with these arguments, the program's name first, and return its exit code.

    Parameters
    ----------
    argv
        The program's name, then what stands behind ``inlay`` on a command line.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> inlay._inlay.shell(["inlay", ":memory:", "-c", "SELECT 1"])  # doctest: +SKIP
    0
    """

def connect(
    database: str | PathLike[str] | None = ":memory:",
    read_only: bool = False,
    config: Mapping[str, Any] | None = None,
    *,
    allow_python: bool | None = None,
    sandbox: bool | None = None,
    decimal: str | None = None,
) -> Connection:
    """
    Open a database and connect to it.

    Parameters
    ----------
    database
        A path, which is created if there is no file, or ``":memory:"``. A file that this process has open already
        is shared, and so is a database in memory with a name, ``":memory:name"``, as long as someone has it open.
        ``":default:"`` is the connection that functions of the module use. ``"inlay://user:password@host/database"`` is
        a database at a server, where ``inlay serve`` runs.
    read_only
        Refuse changes. Another process may make some meanwhile; each transaction sees the newest commit.
    config
        Settings by name, such as ``{"threads": 2, "memory_limit": "2GB", "synchronous": "normal"}``.
    allow_python
        Whether functions run whose Python code is in the database, as ``CREATE FUNCTION ... LANGUAGE PYTHON`` puts it
        there. It is a setting of ``config``, too.
    sandbox
        Shut all doors for SQL of strangers: no files but those of ``allowed_directories`` and ``allowed_paths``, no
        variables of Python, no stored code, limits, and no setting can be changed. It is a setting of ``config``, too,
        and holds for all connections of the database.
    decimal
        What arrays and data frames hold for DECIMAL unless a call says it: ``"float"``, the default, or ``"exact"``.
        It is a setting of ``config``, too, and ``SET decimal = 'exact'`` changes it for a connection.

    Returns
    -------
    Connection
        A session of the database.

    Raises
    ------
    inlay.OperationalError
        If another process is writing the file, or it is damaged or cannot be opened.

    Examples
    --------
    >>> con = inlay.connect(config={"threads": 2})
    >>> con.execute("SELECT current_setting('threads')").fetchone()
    (2,)
    """

def _serve(
    connection: Connection,
    doors: tuple[str, int | None, int | None, int | None, list[str]],
    files: tuple[str | None, str | None, str | None, str | None],
    flags: tuple[bool, bool, bool],
    limits: tuple[int, int, int],
) -> Server: ...
def _instance(connection: Connection) -> str: ...
def _open_page(url: str) -> None: ...
def _checkpoint_all() -> None: ...
def _docs() -> dict[str, str]: ...
def _calling() -> Connection: ...

class _WorkerServer:
    """Serves the requests of the process that started this one; see `inlay._worker`."""

    def run(self) -> None: ...

class _Fetch:
    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """
        Name and type of each column; None for statements without rows.

        Returns
        -------
        list or None
            For each column ``(name, type, None, ...)``, as DB-API has it.

        Examples
        --------
        >>> [column[:2] for column in inlay.connect().execute("SELECT 1 AS a, 'x' AS b").description]
        [('a', 'INTEGER'), ('b', 'VARCHAR')]
        """

    def fetchall(self) -> list[tuple[Any, ...]]:
        """
        Fetch all rows; of a connection, those not fetched yet.

        Returns
        -------
        list of tuple
            A tuple per row; NULL is None.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> inlay.connect().execute("SELECT i, i * 2 FROM range(2) t(i)").fetchall()
        [(0, 0), (1, 2)]
        """

    def fetchnumpy(self, decimal: str | None = None, strings: str | None = None) -> dict[str, Any]:
        """
        Fetch one NumPy array per column, of shape ``(n,)``, masked where NULL.

        The dictionary makes each array when it is first looked at. DECIMAL is the nearest ``float64``;
        ``decimal="exact"`` gives objects, which take time.

        TIMESTAMP is ``datetime64[us]``, DATE ``datetime64[D]``, INTERVAL ``timedelta64[us]``; VARCHAR, BLOB and TIME
        are object arrays.

        Parameters
        ----------
        decimal
            Without it, what the setting ``decimal`` says: DECIMAL is ``float64``, also within lists and structs, or
            exact; HUGEINT is ``int64`` where all values fit and `int` otherwise. ``"exact"``: DECIMAL is
            `decimal.Decimal`.
            ``"float"``: HUGEINT is ``float64``, too.
        strings
            ``"object"``, the default: VARCHAR is `str`. ``"stringdtype"``: NumPy's ``StringDType(na_object=nan)``,
            unmasked; ``np.isnan`` finds NULL.

        Returns
        -------
        dict
            Column name to array.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.
        inlay.OutOfRangeException
            When a column is looked at that has infinite dates, or intervals that are too long.

        Examples
        --------
        >>> inlay.connect().execute("SELECT i FROM range(3) t(i)").fetchnumpy()["i"].tolist()
        [0, 1, 2]
        """

    def df(self, decimal: str | None = None, *, date_as_object: bool = False) -> Any:
        """
        Fetch a pandas data frame.

        Integers and booleans with NULLs have pandas' nullable dtypes. TIMESTAMPTZ has the session's time zone.

        Parameters
        ----------
        decimal
            As for `fetchnumpy`, but ``"exact"`` is Arrow's ``decimal128`` if pandas has it, from version 3 on, and
            objects otherwise; ``"decimal"`` is objects always, and ``"arrow"`` makes HUGEINT ``decimal128``, too.
        date_as_object
            Columns of DATE hold `datetime.date`, not moments.

        Returns
        -------
        pandas.DataFrame
            A column for each column, with a plain index.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.
        inlay.OutOfRangeException
            A column has infinite dates, or intervals that are too long.

        Examples
        --------
        >>> frame = inlay.connect().execute("SELECT i, i / 2 AS half FROM range(3) t(i)").df()
        >>> float(frame["half"].sum())
        1.5
        """

    def arrow(self) -> Any:
        """
        Fetch a `pyarrow.Table`.

        Returns
        -------
        pyarrow.Table
            A record batch for each row group.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> inlay.connect().execute("SELECT i FROM range(3) t(i)").fetch_arrow_table().to_pydict()
        {'i': [0, 1, 2]}
        """

    def pl(self) -> Any:
        """
        Fetch a Polars data frame.

        Returns
        -------
        polars.DataFrame
            Memory is shared where layouts agree.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> inlay.connect().execute("SELECT i FROM range(3) t(i)").pl()["i"].to_list()
        [0, 1, 2]
        """

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
    def arraysize(self) -> int:
        """
        How many rows `fetchmany` gives unless it is told; 1 at first, as DB-API says.

        Examples
        --------
        >>> cursor = inlay.connect().cursor()
        >>> cursor.arraysize = 2
        >>> cursor.execute("FROM range(3)").fetchmany()
        [(0,), (1,)]
        """

    @arraysize.setter
    def arraysize(self, size: int) -> None:
        """
        How many rows `fetchmany` gives unless it is told; 1 at first, as DB-API says.

        Examples
        --------
        >>> cursor = inlay.connect().cursor()
        >>> cursor.arraysize = 2
        >>> cursor.execute("FROM range(3)").fetchmany()
        [(0,), (1,)]
        """

    def setinputsizes(self, sizes: Any) -> None:
        """
        Do nothing: DB-API has it for engines that need to be told how large values will be.

        Parameters
        ----------
        sizes
            What the parameters will be; not looked at.

        Examples
        --------
        >>> inlay.connect().setinputsizes([int, None])
        """

    def setoutputsize(self, size: Any, column: Any = None) -> None:
        """
        Do nothing: DB-API has it for engines that need to be told how large values may be.

        Parameters
        ----------
        size
            How large values may be; not looked at.
        column
            Of which column; not looked at.

        Examples
        --------
        >>> inlay.connect().setoutputsize(1000)
        """

    @property
    def rowcount(self) -> int:
        """
        Rows of the last answer, or that the last statement changed; -1 without, and while some are not computed.

        Returns
        -------
        int
            Rows; -1 if that is not known.

        Examples
        --------
        >>> con = inlay.connect()
        >>> _ = con.execute("CREATE TABLE t AS SELECT * FROM range(4) r(i)")
        >>> con.execute("DELETE FROM t WHERE i > 1").rowcount
        2
        """

    def __getitem__(self, name: str) -> Any:
        """
        Fetch a column as `fetchnumpy` does. The first one that is asked for fetches all rows that are left.

        Examples
        --------
        >>> answer = inlay.connect().execute("SELECT x, x * 2 AS y FROM range(3) t(x)")
        >>> answer["x"].tolist(), answer["y"].tolist()
        ([0, 1, 2], [0, 2, 4])
        """

    def keys(self) -> list[str]:
        """
        Return the names by which ``[]`` gives columns; fetches the rows that are left.

        Returns
        -------
        list of str
            Names in the order of the columns.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.

        Examples
        --------
        >>> inlay.connect().execute("SELECT 1 AS a, 2 AS b").keys()
        ['a', 'b']
        """

    def fetchone(self) -> tuple[Any, ...] | None:
        """
        Fetch the next row; None when there is none.

        Returns
        -------
        tuple or None
            The row; NULL is None.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> answer = inlay.connect().execute("SELECT 1, 'x'")
        >>> answer.fetchone(), answer.fetchone()
        ((1, 'x'), None)
        """

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """
        Fetch up to `size` more rows.

        Parameters
        ----------
        size
            How many rows at most; `arraysize` unless it is given.

        Returns
        -------
        list of tuple
            The rows; none when all were fetched.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> answer = inlay.connect().execute("FROM range(3)")
        >>> answer.fetchmany(2), answer.fetchmany(2)
        ([(0,), (1,)], [(2,)])
        """

    def __next__(self) -> tuple[Any, ...]: ...
    @property
    def in_transaction(self) -> bool:
        """
        Whether a transaction is open.

        Returns
        -------
        bool
            True from BEGIN to COMMIT or ROLLBACK.

        Examples
        --------
        >>> inlay.connect().begin().in_transaction
        True
        """

    def execute(self, query: str | Statement, parameters: Parameters = None) -> Connection:
        """
        Run the statements of `query`; the answer is the last one's.

        Parameters
        ----------
        query
            SQL, or one of the statements that `extract_statements` gives.
        parameters
            A sequence for ``?`` and ``$1``, a mapping for ``$name``.

        Returns
        -------
        Connection
            This session with the answer of this statement: its rows, or how many it changed.

        Raises
        ------
        inlay.Error
            With the SQLSTATE in ``sqlstate``.

        Examples
        --------
        >>> con = inlay.connect()
        >>> con.execute("SELECT ? + 2, ?", [40, "x"]).fetchall()
        [(42, 'x')]
        >>> con.execute("SELECT $a * $b", {"a": 6, "b": 7}).fetchone()
        (42,)
        """

    def prepare(self, query: str | Statement) -> PreparedStatement:
        """
        Read one statement that is going to be repeated, and keep how it is carried out.

        Names are looked up when it runs, so that it follows changes of tables and settings. `execute` keeps the last
        statements as well; a prepared one is not displaced by others.

        Parameters
        ----------
        query
            One statement.

        Returns
        -------
        PreparedStatement
            To be run with `execute` and `executemany`.

        Raises
        ------
        inlay.ParserException
            The text is no statement, or several.

        Examples
        --------
        >>> double = inlay.connect().prepare("SELECT ? * 2")
        >>> double.execute([4]).fetchone(), double.execute([5]).fetchone()
        ((8,), (10,))
        """

    def executemany(self, query: str | Statement, parameters: Iterable[Parameters]) -> Connection:
        """
        Run one statement once per set of parameters, all or nothing.

        Parameters
        ----------
        query
            One statement.
        parameters
            Parameters as for `execute`, one set after the other.

        Returns
        -------
        Connection
            Its `rowcount` is that of all together.

        Raises
        ------
        inlay.Error
            One set fails; then nothing of the others stays.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
        >>> con.executemany("INSERT INTO t VALUES (?, ?)", [[1, "x"], [2, "y"]]).rowcount
        2
        """

    def serve(
        self,
        *,
        listen: str = "127.0.0.1",
        native_port: int | None = 4655,
        postgres_port: int | None = 5433,
        http_port: int | None = 8433,
        socket_dir: str | PathLike[str] | None = None,
        password_file: str | PathLike[str] | None = None,
        tls_cert: str | PathLike[str] | None = None,
        tls_key: str | PathLike[str] | None = None,
        tls_self_signed: bool = False,
        hosts: Iterable[str] = (),
        allow_files: bool = False,
        max_connections: int = 1000,
        max_statements: int = 64,
        max_message: int = 64,
        log: bool = False,
    ) -> Server:
        """
        Serve this connection's database to other programs, while this one goes on using it.

        The server runs on threads of its own and changes nothing of the process: no signal, no environment. It ends
        with `Server.close`, at the end of a ``with`` block, or with the interpreter.

        Parameters
        ----------
        listen
            An address of this machine. Any but a loopback address takes a password file and certificates.
        native_port, postgres_port, http_port
            A port, 0 for any that is free, or None for none.
        socket_dir
            A folder for UNIX sockets.
        password_file
            Who may come, a line ``NAME:PASSWORD`` each. Without it and without roles in the file, whoever reaches the
            address.
        tls_cert, tls_key
            Certificate chain and key in PEM.
        tls_self_signed
            Make both where they are not there.
        hosts
            Names that HTTP is reached by, such as that of a proxy.
        allow_files
            Let statements of clients reach files, servers, functions and registered tables of this program.
        max_connections, max_statements, max_message
            Sessions and statements at once; the largest message in MiB.
        log
            Say on standard error what happens.

        Raises
        ------
        inlay.OperationalError
            A port is taken, or this database is served already.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t AS SELECT 42 AS answer")
        >>> with con.serve(native_port=0, postgres_port=None, http_port=None) as server:
        ...     inlay.connect(server.url).execute("FROM t").fetchall()
        [(42,)]
        """

    def ui(self, *, port: int = 0, show: bool = True) -> str:
        """
        Serve the page with an editor, results and charts on this machine, and show it in the browser.

        A notebook shows it below the cell. The page lives until its `close` is called or the interpreter ends; its
        statements reach the database and no files.

        Parameters
        ----------
        port
            A port, or 0 for any that is free.
        show
            Open the browser.

        Examples
        --------
        >>> con = inlay.connect()
        >>> page = con.ui(show=False)
        >>> page.startswith("http://127.0.0.1:")
        True
        >>> page.close()
        """

    def attach_cluster(self, url: str, *, folder: str | None = None) -> None:
        """
        Connect to a cluster that speaks Spark Connect: queries with ``engine="cluster"`` run there.

        Parameters
        ----------
        url
            ``"sc://host:15002"`` with the parameters that PySpark knows, or ``"sail://local"``, which starts Sail in
            this process.
        folder
            Where tables of this database are put as Parquet, once for each version; the cluster has to see it under the
            same path. By default a temporary folder, which goes with the connection to the cluster.

        Raises
        ------
        inlay.NotSupportedError
            A package is missing: ``pip install inlay[spark]`` or ``inlay[sail]``.
        inlay.OperationalError
            Nobody answers.

        Examples
        --------
        >>> con = inlay.connect()
        >>> con.attach_cluster("sail://local")  # doctest: +SKIP
        >>> con.sql("SELECT 42 AS answer", engine="cluster").fetchall()  # doctest: +SKIP
        [(42,)]
        """

    def detach_cluster(self) -> None:
        """
        Leave the cluster, if there is one, and remove what was put there; a Sail that was started ends.

        Examples
        --------
        >>> inlay.connect().detach_cluster()
        """

    def sql(
        self,
        query: Any,
        params: Parameters = None,
        *,
        alias: str = "",
        parameters: Parameters = None,
        engine: str | None = None,
    ) -> Relation | None:
        """
        Make a relation of a query, which runs when it is read.

        Parameters
        ----------
        query
            SQL. Of several statements all but the last run now; so does the last one unless it is a query that changes
            nothing, and the relation has the rows that it gave: None if it gives none.
        params
            A sequence for ``?`` and ``$1``, a mapping for ``$name``.
        alias
            What further SQL may call the relation.
        engine
            ``"cluster"`` runs the query now on the cluster that `attach_cluster` named; the relation has its rows.

        Returns
        -------
        Relation or None
            None of a statement without rows.

        Raises
        ------
        inlay.ProgrammingError
            Names or types do not fit: the query is bound now.

        Examples
        --------
        >>> con = inlay.connect()
        >>> con.sql("SELECT i FROM range(5) t(i) WHERE i > $least", {"least": 2}).order("i DESC").fetchall()
        [(4,), (3,)]
        """

    def query(
        self, query: Any, params: Parameters = None, *, alias: str = "", parameters: Parameters = None
    ) -> Relation | None:
        """Make a relation of a query; another name of `sql`."""

    def from_query(
        self, query: Any, params: Parameters = None, *, alias: str = "", parameters: Parameters = None
    ) -> Relation | None:
        """Make a relation of a query; another name of `sql`."""

    def table(self, table_name: str) -> Relation:
        """
        Make a relation of a table.

        Parameters
        ----------
        table_name
            Its name, which may have a schema and a database in front.

        Returns
        -------
        Relation
            All its rows.

        Raises
        ------
        inlay.CatalogException
            There is no such table.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t AS SELECT 1 AS a")
        >>> con.table("t").fetchall()
        [(1,)]
        """

    def view(self, view_name: str) -> Relation:
        """
        Make a relation of a view.

        Parameters
        ----------
        view_name
            Its name.

        Returns
        -------
        Relation
            Its rows.

        Raises
        ------
        inlay.CatalogException
            There is no such view.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE VIEW v AS SELECT 1 AS a")
        >>> con.view("v").fetchall()
        [(1,)]
        """

    def values(self, *args: Any) -> Relation:
        """
        Make a relation of values: one row of them, or of a list's items; or a row for each of several tuples.

        Parameters
        ----------
        args
            Values, a list of them, or tuples.

        Returns
        -------
        Relation
            With columns ``col0``, ``col1``, ...

        Raises
        ------
        inlay.InvalidInputException
            There is no value.

        Examples
        --------
        >>> inlay.connect().values((1, "x"), (2, "y")).fetchall()
        [(1, 'x'), (2, 'y')]
        """

    def from_df(self, df: Any) -> Relation:
        """
        Make a relation of an object, which is held as long as the relation is.

        Data frames of pandas and Polars, Arrow tables, readers and datasets, NumPy arrays, dictionaries of arrays or
        lists, lists of dictionaries, anything with ``__arrow_c_stream__``.

        Parameters
        ----------
        df
            The object.

        Returns
        -------
        Relation
            Its rows, read when the relation is.

        Raises
        ------
        inlay.InvalidInputException
            The object cannot be a table.

        Examples
        --------
        >>> inlay.connect().from_df({"a": [1, 2]}).sum("a").fetchall()
        [(3,)]
        """

    def from_arrow(self, df: Any) -> Relation:
        """Make a relation of an object; another name of `from_df`."""

    def table_function(self, name: str, parameters: Any = None) -> Relation:
        """
        Make a relation of a table function's call; a mapping gives named parameters.

        Parameters
        ----------
        name
            Of the function.
        parameters
            A sequence, or a mapping of names to values.

        Returns
        -------
        Relation
            The rows of the call.

        Raises
        ------
        inlay.CatalogException
            There is no such function.

        Examples
        --------
        >>> inlay.connect().table_function("range", [2, 4]).fetchall()
        [(2,), (3,)]
        """

    def read_csv(self, path_or_buffer: Any, **options: Any) -> Relation:
        """
        Make a relation of CSV files.

        Parameters
        ----------
        path_or_buffer
            A path, which may be a pattern, a list of paths, or an open file, which is read now.
        options
            As in SQL (``delim``, ``types``, ``nullstr``, ...), or by their names in pandas (``sep``, ``dtype``,
            ``na_values``, ``skiprows``, ...).

        Returns
        -------
        Relation
            The rows of all files.

        Raises
        ------
        inlay.IOException
            A file is missing or cannot be read.
        inlay.InvalidInputException
            There is no such option.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "trips.csv")
        >>> _ = path.write_text("city;km" + chr(10) + "Ulm;3,5")
        >>> inlay.connect().read_csv(path, sep=";", decimal=",").fetchall()
        [('Ulm', 3.5)]
        >>> folder.cleanup()
        """

    def from_csv_auto(self, path_or_buffer: Any, **options: Any) -> Relation:
        """Make a relation of CSV files; another name of `read_csv`."""

    def read_json(self, path_or_buffer: Any, **options: Any) -> Relation:
        """
        Make a relation of JSON files, or of an open one.

        Parameters
        ----------
        path_or_buffer
            A path, which may be a pattern, a list of paths, or an open file.
        options
            As in SQL.

        Returns
        -------
        Relation
            The rows of all files.

        Raises
        ------
        inlay.IOException
            A file is missing or cannot be read.

        Examples
        --------
        >>> import io
        >>> inlay.connect().read_json(io.StringIO('{"a": 1}')).fetchall()
        [(1,)]
        """

    def olap(
        self,
        table: str,
        by: str | Iterable[str] = (),
        agg: str | None = None,
        fact: str | None = None,
        where: str | None = None,
        nested: bool | None = None,
    ) -> Any:
        """
        Calculate an aggregate of a fact by some columns.

        Parameters
        ----------
        table
            A table, as ``CALL olap_load`` makes it, or any other.
        by
            Columns to group by; answers call them without ``_txt``, ``_id`` and ``_date``.
        agg
            ``"avg"``, ``"sum"``, ``"min"``, ``"max"``, ``"median"``, ``"stddev"``, ``"count"`` or
            ``"count_distinct"``; ``"avg"`` if there is a fact, the number of rows otherwise.
        fact
            A column, or an expression of several: ``"price_fact - cost_fact"``.
        where
            A condition.
        nested
            ``None``: a relation with a row for each group. ``True``: JSON that nests by the columns; ``False``: JSON
            with an object for each group. It is the text that a server gives for ``GET /olap/table?by=...``.

        Returns
        -------
        Relation or str
            Groups in the order of the columns, NULL last.

        Raises
        ------
        inlay.InvalidInputException
            There is no such aggregate, or it needs a fact.
        inlay.ProgrammingError
            A table or column does not exist, or a text is no expression.

        Examples
        --------
        >>> con = inlay.connect()
        >>> rows = "(VALUES ('North', 4, 100), ('South', 3, 70)) t(region_txt, rooms, rent_fact)"
        >>> _ = con.execute(f"CREATE TABLE flats AS FROM {rows}")
        >>> con.olap("flats", by="region_txt", agg="avg", fact="rent_fact").fetchall()
        [('North', 100.0), ('South', 70.0)]
        >>> con.olap("flats", by=["region_txt", "rooms"], agg="max", fact="rent_fact", nested=True)
        '{"region":[{"name":"North","rooms":[{"name":4,"max":100}]},{"name":"South","rooms":[{"name":3,"max":70}]}]}'
        """

    def read_parquet(self, path_or_buffer: Any, binary_as_string: bool = False, **options: Any) -> Relation:
        """
        Make a relation of Parquet files, or of an open one.

        Parameters
        ----------
        path_or_buffer
            A path, which may be a pattern, a list of paths, or an open file.
        binary_as_string
            Whether binary columns are texts.
        options
            As in SQL.

        Returns
        -------
        Relation
            The rows of all files.

        Raises
        ------
        inlay.IOException
            A file is missing or damaged.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "t.parquet")
        >>> con = inlay.connect()
        >>> con.sql("SELECT 1 AS a").write_parquet(path)
        >>> con.read_parquet(path).fetchall()
        [(1,)]
        >>> folder.cleanup()
        """

    def from_parquet(self, path_or_buffer: Any, binary_as_string: bool = False, **options: Any) -> Relation:
        """Make a relation of Parquet files; another name of `read_parquet`."""

    def fetchdf(self, decimal: str | None = None, *, date_as_object: bool = False) -> Any:
        """Fetch a pandas data frame; another name of `df`."""

    def to_df(self, decimal: str | None = None, *, date_as_object: bool = False) -> Any:
        """Fetch a pandas data frame; another name of `df`."""

    def fetch_df_chunk(self, vectors_per_chunk: int = 1, *, date_as_object: bool = False) -> Any:
        """
        Fetch the next 2,048 rows, or so many times more, as a pandas data frame.

        Parameters
        ----------
        vectors_per_chunk
            How many times 2,048 rows.

        Returns
        -------
        pandas.DataFrame
            The rows; none when all were fetched.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.

        Examples
        --------
        >>> answer = inlay.connect().execute("FROM range(3000)")
        >>> len(answer.fetch_df_chunk()), len(answer.fetch_df_chunk())
        (2048, 952)
        """

    def arrow(self, batch_size: int | None = None) -> Any:
        """
        Fetch a `pyarrow.Table`.

        Parameters
        ----------
        batch_size
            Rows of a record batch, but for the last one; without it a batch is about a row group.

        Returns
        -------
        pyarrow.Table
            The rows.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> inlay.connect().execute("SELECT i FROM range(3) t(i)").fetch_arrow_table().to_pydict()
        {'i': [0, 1, 2]}
        """

    def pl(self, batch_size: int | None = None, *, lazy: bool = False) -> Any:
        """
        Fetch a Polars data frame.

        Parameters
        ----------
        batch_size
            Rows of a chunk of the frame, but for the last one.
        lazy
            Whether to give its ``LazyFrame``.

        Returns
        -------
        polars.DataFrame
            Memory is shared where layouts agree.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> inlay.connect().execute("SELECT i FROM range(3) t(i)").pl()["i"].to_list()
        [0, 1, 2]
        """

    def fetch_arrow_table(self, batch_size: int | None = None) -> Any:
        """
        Fetch a `pyarrow.Table`.

        Parameters
        ----------
        batch_size
            Rows of a record batch, but for the last one; without it a batch is about a row group.

        Returns
        -------
        pyarrow.Table
            The rows.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> inlay.connect().execute("SELECT i FROM range(3) t(i)").fetch_arrow_table().to_pydict()
        {'i': [0, 1, 2]}
        """

    def to_arrow_table(self, batch_size: int | None = None) -> Any:
        """
        Fetch a `pyarrow.Table`.

        Parameters
        ----------
        batch_size
            Rows of a record batch, but for the last one; without it a batch is about a row group.

        Returns
        -------
        pyarrow.Table
            The rows.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> inlay.connect().execute("SELECT i FROM range(3) t(i)").fetch_arrow_table().to_pydict()
        {'i': [0, 1, 2]}
        """

    def fetch_record_batch(self, rows_per_batch: int | None = None, *, batch_size: int | None = None) -> Any:
        """
        Fetch a `pyarrow.RecordBatchReader`; batches are computed when they are read.

        Parameters
        ----------
        rows_per_batch
            How many rows a batch has; the last one has what is left.

        Returns
        -------
        pyarrow.RecordBatchReader
            Reads the rest of the answer, which has to be open until then.

        Raises
        ------
        inlay.InvalidInputException
            Nothing was executed yet, or the answer has no rows.
        inlay.Error
            The rest of the answer cannot be computed, or does not fit into memory.

        Examples
        --------
        >>> reader = inlay.connect().execute("FROM range(5000)").fetch_record_batch(2000)
        >>> [batch.num_rows for batch in reader]
        [2000, 2000, 1000]
        """

    def fetch_arrow_reader(self, rows_per_batch: int | None = None, *, batch_size: int | None = None) -> Any:
        """Fetch a `pyarrow.RecordBatchReader`; another name of `fetch_record_batch`."""

    def to_arrow_reader(self, rows_per_batch: int | None = None, *, batch_size: int | None = None) -> Any:
        """Fetch a `pyarrow.RecordBatchReader`; another name of `fetch_record_batch`."""

    def torch(self, decimal: str | None = None) -> dict[str, Any]:
        """
        Fetch a PyTorch tensor per column, of shape ``(n,)``, over the memory of NumPy's array (by DLPack).

        NULL is NaN in columns of floats. Other columns with NULLs, and types that no tensor has, are an error.
        ``decimal="float"`` makes HUGEINT ``float64``, as DECIMAL is.

        Returns
        -------
        dict
            Column name to tensor.

        Raises
        ------
        inlay.InvalidInputException
            A column has NULLs, or a type that no tensor has.

        Examples
        --------
        >>> inlay.connect().execute("SELECT 0.5::DOUBLE AS x").torch()["x"].tolist()  # doctest: +SKIP
        [0.5]
        """

    def tf(self, decimal: str | None = None) -> dict[str, Any]:
        """
        Fetch a TensorFlow tensor per column, of shape ``(n,)``; see `torch`.

        Returns
        -------
        dict
            Column name to tensor.

        Raises
        ------
        inlay.InvalidInputException
            A column has a type that no tensor has.

        Examples
        --------
        >>> inlay.connect().execute("SELECT 0.5::DOUBLE AS x").tf()["x"].numpy()  # doctest: +SKIP
        array([0.5])
        """

    def query_progress(self) -> float:
        """
        How far the running query is, from 0 to 100; -1 while none runs. May be called from any thread.

        Returns
        -------
        float
            Percent, or -1.

        Raises
        ------
        inlay.ConnectionException
            The connection is closed.

        Examples
        --------
        >>> inlay.connect().query_progress()
        -1.0
        """

    def complete(self) -> None:
        """
        Compute what is left of the last answer, and let go of it.

        Raises
        ------
        inlay.Error
            What is left fails.

        Examples
        --------
        >>> inlay.connect().execute("FROM range(10)").complete()
        """

    def abort(self) -> None:
        """
        Let go of what is left of the last answer.

        Examples
        --------
        >>> inlay.connect().execute("FROM range(10)").abort()
        """

    def extract_statements(self, query: str) -> list[Statement]:
        """
        Take a text apart into its statements.

        Examples
        --------
        >>> [statement.type.name for statement in inlay.extract_statements("BEGIN; SELECT 1")]
        ['TRANSACTION', 'SELECT']
        """

    def get_table_names(self, query: str, *, qualified: bool = False) -> set[str]:
        """
        Return the names of the tables, views and files that a statement names.

        `qualified` gives them with schema and database, as far as they are written. What WITH defines is none.

        Parameters
        ----------
        query
            One statement; nothing of it runs.
        qualified
            Whether the names have their schema and database.

        Returns
        -------
        set of str
            The names.

        Raises
        ------
        inlay.ParserException
            The text is no statement.

        Examples
        --------
        >>> sorted(inlay.connect().get_table_names("WITH w AS (FROM a) SELECT * FROM w JOIN s.b USING (id)"))
        ['a', 'b']
        """

    def enable_profiling(self) -> None:
        """
        Measure queries from now on: they run to their end, and `get_profiling_information` tells what took long.

        Examples
        --------
        >>> con = inlay.connect()
        >>> con.enable_profiling()
        >>> _ = con.execute("SELECT count(*) FROM range(1000)")
        >>> "count" in con.get_profiling_information("query_tree")
        True
        """

    def disable_profiling(self) -> None:
        """
        Measure queries no longer.

        Examples
        --------
        >>> inlay.connect().disable_profiling()
        """

    def get_profiling_information(self, format: str = "json") -> str:
        """
        Return what each step of the last query took, while queries are measured.

        Parameters
        ----------
        format
            ``"json"``: the query with its time in seconds, and its plan with the rows and time of each step.
            ``"query_tree"``: the same for people.

        Returns
        -------
        str
            JSON, or text.

        Raises
        ------
        inlay.InvalidInputException
            There is no such format.

        Examples
        --------
        >>> inlay.connect().get_profiling_information()
        '{"result": "disabled"}'
        """

    def create_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Any = None,
        return_type: Any = None,
        *,
        type: Any = ...,
        null_handling: Any = ...,
        exception_handling: Any = ...,
        side_effects: bool = False,
        deterministic: bool = False,
        blocking: bool = False,
        strings: str = "object",
        decimal: str = "decimal",
        parallel: str = "threads",
        cost: float | None = None,
    ) -> Connection:
        """
        Make a function callable from SQL, on all connections of the database, until it is removed or that is closed.

        Parameters
        ----------
        name
            What SQL calls it. A name of several functions means the one whose parameters fit best.
        function
            Called by any thread, several at once.
        parameters, return_type
            Types as SQL writes them, or Python's (``int`` is BIGINT). Annotations are used where they are not given.
        type
            What it is called with: ``"native"``, the values of each row, as in DuckDB (slow); ``"numpy"``, arrays of
            many rows, masked where some are NULL, and scalars for literals; ``"arrow"``, ``"pandas"`` or ``"polars"``.
        null_handling
            ``"default"``: with ``"native"`` and ``"arrow"``, rows with a NULL are NULL without a call.
            ``"special"``: it is called with them.
        exception_handling
            ``"return_null"``: an exception makes the value NULL (``"native"`` only).
        side_effects
            Every call counts: equal ones are not computed once.
        deterministic
            The same arguments always give the same: it is called once for each distinct text of a dictionary.
        blocking
            It is called once with whole columns.
        parallel
            ``"threads"``: calls run in this process. ``"processes"``: in worker processes, so that functions which hold
            the interpreter lock run at the same time; the function is sent by cloudpickle if that is installed, and
            has to be one of an importable module otherwise. ``"auto"``: in worker processes if it holds the lock,
            takes long and can be sent.
        cost
            Nanoseconds a row, measured unless it is said: of several conditions that call functions, the cheapest is
            looked at first.
        strings, decimal
            With ``"numpy"``, as in `fetchnumpy`.

        Raises
        ------
        inlay.InvalidInputException
            A type is missing or none, or the name is that of a built-in function.
        inlay.CatalogException
            A function of this name takes the same types already.

        Examples
        --------
        >>> con = inlay.connect()
        >>> _ = con.create_function("half", lambda x: x / 2, ["DOUBLE"], "DOUBLE", type="numpy")
        >>> con.execute("SELECT half(i) FROM range(3) t(i)").fetchall()
        [(0.0,), (0.5,), (1.0,)]
        """

    def remove_function(self, name: str) -> Connection:
        """
        Forget all functions that `create_function` made under a name.

        Parameters
        ----------
        name
            What SQL calls it.

        Returns
        -------
        Connection
            This connection.

        Raises
        ------
        inlay.InvalidInputException
            There is no function of this name.

        Examples
        --------
        >>> con = inlay.connect().create_function("one", lambda: 1, [], int)
        >>> _ = con.remove_function("one")
        """

    def udf(
        self,
        name: str | Callable[..., Any] | None = None,
        parameters: Any = None,
        return_type: Any = None,
        *,
        type: Any = "numpy",
        **options: Any,
    ) -> Any:
        """
        Decorate a function to make it callable from SQL, bare or with arguments; see `create_function` for these.

        Examples
        --------
        >>> con = inlay.connect()
        >>> @con.udf
        ... def squared(x: float) -> float:
        ...     return x * x
        >>> con.execute("SELECT squared(3)").fetchone()
        (9.0,)
        """

    def create_aggregate(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Any = None,
        return_type: Any = None,
        *,
        type: Any = "numpy",
        null_handling: Any = "special",
        strings: str = "object",
        decimal: str = "decimal",
        parallel: str = "threads",
    ) -> Connection:
        """
        Make a function or a class an aggregate of SQL, on all connections of the database, until it is removed.

        Parameters
        ----------
        name
            What SQL calls it. A name of several aggregates means the one whose parameters fit best.
        function
            A function with a parameter ``aggr_group`` is called with the rows of many groups and their numbers, and
            gives a value for each group; another one with the rows of one group. A class is made once for each group,
            told rows by ``update``, and gives the value by ``finish``; with ``merge(other)`` it works in parallel.
        parameters, return_type
            Types as SQL writes them, or Python's. Annotations are used where they are not given: a class's are those
            of ``update`` and ``finish``.
        type
            What it is called with: ``"numpy"``, ``"arrow"``, ``"pandas"`` or ``"polars"``.
        null_handling
            ``"default"``: rows with a NULL are passed over. ``"special"``: they are there, masked.
        strings, decimal
            With ``"numpy"``, as in `fetchnumpy`.
        parallel
            ``"processes"``: groups are worked on in worker processes, which see all rows of a group at once.

        Raises
        ------
        inlay.InvalidInputException
            A type is missing or none, a method is missing, or the name is that of a built-in function.
        inlay.CatalogException
            An aggregate of this name takes the same types already.

        Examples
        --------
        >>> con = inlay.connect()
        >>> _ = con.create_aggregate("spread", lambda x: x.max() - x.min(), ["BIGINT"], "BIGINT")
        >>> con.execute("SELECT spread(i) FROM range(10) t(i)").fetchone()
        (9,)
        """

    def create_table_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Any = None,
        columns: Any = None,
        *,
        schema: Callable[..., Any] | None = None,
        blocking: bool = True,
        rows: float | None = None,
        type: Any = "numpy",
        strings: str = "object",
        decimal: str = "decimal",
    ) -> Connection:
        """
        Make a function that gives rows a table function of SQL, on all connections, until it is removed.

        Parameters
        ----------
        name
            What SQL calls it, in FROM.
        function
            Gives a dictionary of columns, a data frame, an Arrow table, a list of rows, or is a generator of those. A
            class is made with the values, is given the table in parts by ``process``, in order, and is told the end by
            ``finish``, if it has that; both give rows.
        parameters
            Types as SQL writes them, or Python's; ``"TABLE"`` for a table, which comes as ``type`` says. Annotations
            are used where they are not given.
        columns
            Names and types of what it gives, as a dictionary or as pairs.
        schema
            Instead of `columns` a function that gives them. It has the arguments of a call, for a table a dictionary
            of its columns' names and types, and is called when a statement is prepared.
        blocking
            False: each part of the table is a call by itself, on all workers.
        rows
            How many rows a call is expected to give, for the optimizer.
        type
            What a table comes as: ``"numpy"``, a dictionary of arrays; ``"arrow"``, ``"pandas"`` or ``"polars"``.
        strings, decimal
            With ``"numpy"``, as in `fetchnumpy`.

        Examples
        --------
        >>> con = inlay.connect()
        >>> def largest(table, n):
        ...     return {"x": sorted(table["x"], reverse=True)[:n]}
        >>> _ = con.create_table_function("largest", largest, ["TABLE", "INTEGER"], {"x": "BIGINT"})
        >>> con.execute("SELECT * FROM largest((SELECT i AS x FROM range(10) t(i)), 2)").fetchall()
        [(9,), (8,)]
        """

    def udtf(
        self,
        name: str | Callable[..., Any] | None = None,
        parameters: Any = None,
        columns: Any = None,
        **options: Any,
    ) -> Any:
        """
        Decorate a function that gives rows to make it a table function; see `create_table_function`.

        Parameters
        ----------
        name
            What SQL calls it, without it the function's name.
        parameters, columns, options
            As for `create_table_function`.

        Returns
        -------
        function
            The function as it was.

        Raises
        ------
        inlay.InvalidInputException
            A type is missing.

        Examples
        --------
        >>> con = inlay.connect()
        >>> @con.udtf(columns={"word": str})
        ... def words(text: str):
        ...     return {"word": str(text).split()}
        >>> con.execute("FROM words('a b')").fetchall()
        [('a',), ('b',)]
        """

    def udaf(
        self,
        name: str | Callable[..., Any] | None = None,
        parameters: Any = None,
        return_type: Any = None,
        **options: Any,
    ) -> Any:
        """
        Decorate a class or a function to make it an aggregate of SQL; see `create_aggregate` for the options.

        Examples
        --------
        >>> con = inlay.connect()
        >>> @con.udaf
        ... class total:
        ...     def __init__(self) -> None:
        ...         self.sum = 0
        ...     def update(self, x: int) -> None:
        ...         self.sum += int(x.sum())
        ...     def merge(self, other) -> None:
        ...         self.sum += other.sum
        ...     def finish(self) -> int:
        ...         return self.sum
        >>> con.execute("SELECT total(i) FROM range(10) t(i)").fetchone()
        (45,)
        """

    def _stored_functions(self) -> list[tuple[tuple[str, str], list[str], bool, str, str, str]]: ...
    def _create_function(self, declared: Any, function: Callable[..., Any]) -> None: ...
    def register_filesystem(self, filesystem: Any) -> None:
        """
        Let statements read and write the files of an fsspec file system, on all connections of the database.

        Paths begin with its protocol, as in ``memory://folder/*.parquet``. A file system that was registered for the
        same protocol is replaced, and one for a protocol that is built in (``s3``) is used instead.

        Parameters
        ----------
        filesystem
            An object of `fsspec`.

        Raises
        ------
        inlay.InvalidInputException
            The object has not the methods of `fsspec.AbstractFileSystem`, or no protocol.

        Examples
        --------
        >>> import fsspec
        >>> con = inlay.connect()
        >>> con.register_filesystem(fsspec.filesystem("memory"))
        >>> _ = con.execute("COPY (SELECT 1 AS a) TO 'memory://docs/a.csv'")
        >>> con.execute("FROM 'memory://docs/a.csv'").fetchall()
        [(1,)]
        """

    def unregister_filesystem(self, name: str) -> None:
        """
        Forget the file system for a protocol.

        Parameters
        ----------
        name
            The protocol.

        Examples
        --------
        >>> import fsspec
        >>> con = inlay.connect()
        >>> con.register_filesystem(fsspec.filesystem("memory"))
        >>> con.unregister_filesystem("memory")
        >>> con.list_filesystems()
        []
        """

    def list_filesystems(self) -> list[str]:
        """
        Return the protocols of registered file systems.

        Returns
        -------
        list of str
            The protocols.

        Examples
        --------
        >>> import fsspec
        >>> con = inlay.connect()
        >>> con.register_filesystem(fsspec.filesystem("memory"))
        >>> con.list_filesystems()
        ['memory']
        """

    def filesystem_is_registered(self, name: str) -> bool:
        """
        Tell whether a file system is registered for a protocol.

        Parameters
        ----------
        name
            The protocol.

        Returns
        -------
        bool
            Whether it is.

        Examples
        --------
        >>> inlay.connect().filesystem_is_registered("memory")
        False
        """

    def install_extension(self, extension: str, **_options: Any) -> None:
        """
        Do nothing for what is built in, such as ``httpfs`` and ``parquet``.

        Parameters
        ----------
        extension
            Its name in DuckDB.

        Raises
        ------
        inlay.NotImplementedException
            For any other: there are no extensions to load.

        Examples
        --------
        >>> inlay.connect().install_extension("parquet")
        """

    def load_extension(self, extension: str, **_options: Any) -> None:
        """
        Do nothing for what is built in; see `install_extension`.

        Parameters
        ----------
        extension
            Its name in DuckDB.

        Raises
        ------
        inlay.NotImplementedException
            It is not built in.

        Examples
        --------
        >>> inlay.connect().install_extension("parquet")
        """

    def sqltype(self, type_str: Any) -> SQLType:
        """
        Make a type of its text, or of a Python type.

        Parameters
        ----------
        type_str
            SQL such as ``"DECIMAL(9, 2)"``, or a type such as `int`.

        Returns
        -------
        SQLType
            The type.

        Raises
        ------
        inlay.Error
            There is no such type.

        Examples
        --------
        >>> inlay.connect().sqltype("DECIMAL(9, 2)"), inlay.connect().sqltype(int)
        ('DECIMAL(9,2)', 'BIGINT')
        """

    def dtype(self, type_str: Any) -> SQLType:
        """Make a type; another name of `sqltype`."""

    def type(self, type_str: Any) -> SQLType:
        """Make a type; another name of `sqltype`."""

    def list_type(self, type: Any) -> SQLType:
        """
        Lists of a type.

        Parameters
        ----------
        type
            Of the elements.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().list_type("INTEGER")
        'INTEGER[]'
        """

    def array_type(self, type: Any, size: int) -> SQLType:
        """
        Arrays of a type.

        Parameters
        ----------
        type
            Of the elements.
        size
            How many each array has.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().array_type("FLOAT", 3)
        'FLOAT[3]'
        """

    def struct_type(self, fields: Mapping[str, Any] | Iterable[Any]) -> SQLType:
        """
        Structs with these fields.

        Parameters
        ----------
        fields
            Names to types, or types alone.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().struct_type({"a": "INTEGER"})
        'STRUCT(a INTEGER)'
        """

    def row_type(self, fields: Mapping[str, Any] | Iterable[Any]) -> SQLType:
        """
        Structs with these fields.

        Parameters
        ----------
        fields
            Names to types, or types alone.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().struct_type({"a": "INTEGER"})
        'STRUCT(a INTEGER)'
        """

    def union_type(self, members: Mapping[str, Any]) -> SQLType:
        """
        Unions of these members.

        Parameters
        ----------
        members
            Names to types.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().union_type({"n": "INTEGER", "s": "VARCHAR"})
        'UNION(n INTEGER, s VARCHAR)'
        """

    def map_type(self, key: Any, value: Any) -> SQLType:
        """
        Maps from one type to another.

        Parameters
        ----------
        key, value
            Their types.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().map_type("VARCHAR", "INTEGER")
        'MAP(VARCHAR, INTEGER)'
        """

    def decimal_type(self, width: int, scale: int) -> SQLType:
        """
        Decimals of `width` digits, `scale` of them behind the point.

        Parameters
        ----------
        width, scale
            Digits, up to 38, and how many of them are behind the point.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().decimal_type(9, 2)
        'DECIMAL(9,2)'
        """

    def enum_type(self, name: str, type: Any, values: Iterable[str]) -> SQLType:
        """
        Enumerations of these words.

        Parameters
        ----------
        name
            Is not used.
        type
            VARCHAR.
        values
            The words in their order.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().enum_type("", "VARCHAR", ["no", "yes"])
        "ENUM('no', 'yes')"
        """

    def string_type(self, collation: str = "") -> SQLType:
        """
        Texts.

        Parameters
        ----------
        collation
            How texts compare, as ``NOCASE``.

        Returns
        -------
        SQLType
            The type.

        Examples
        --------
        >>> inlay.connect().string_type()
        'VARCHAR'
        """

    def _describe(
        self, query: str, tables: Mapping[str, Any], is_script: bool = False
    ) -> tuple[str, tuple[list[str], list[str]] | None, dict[str, Any]]: ...
    def _run(self, query: str, tables: Mapping[str, Any]) -> Any: ...
    def _appender(self, query: str, sql: str, source: str) -> Appender: ...
    def _profile(self, as_text: bool) -> str | None: ...
    @staticmethod
    def _statements(query: str) -> list[tuple[str, str, list[str], list[list[str]]]]: ...
    @staticmethod
    def _check(part: str, text: str) -> None: ...
    @staticmethod
    def _quoted(name: str) -> str: ...
    @staticmethod
    def _placeholders(query: str) -> list[tuple[int, int, str]]: ...
    @staticmethod
    def _keywords() -> list[str]: ...
    def _stream(self, query: str, tables: Mapping[str, Any]) -> Connection: ...
    def _table(self, name: str, object: Any) -> Table: ...
    @staticmethod
    def _literal(value: Any) -> str: ...
    def _setting(self, name: str) -> str | None: ...
    def _df_part(self, rows: int) -> Any: ...
    def fetch_df(self, decimal: str | None = None, *, date_as_object: bool = False) -> Any:
        """Fetch a pandas data frame; another name of `df`."""

    def register(self, name: str, table: Any) -> Connection:
        """
        Make an object a table.

        Data frames of pandas and Polars, Arrow tables, readers and datasets, NumPy arrays, dictionaries of arrays or
        lists, lists of dictionaries, anything with ``__arrow_c_stream__``. Memory is shared where layouts agree; the
        object is kept alive.

        Parameters
        ----------
        name
            What SQL calls it. A table of this name that is stored is an error.
        table
            The object.

        Returns
        -------
        Connection
            This connection.

        Raises
        ------
        inlay.InvalidInputException
            The object cannot be a table.
        inlay.CatalogException
            A table of this name is there.

        Examples
        --------
        >>> con = inlay.connect().register("numbers", {"a": [1, 2]})
        >>> con.execute("SELECT sum(a) FROM numbers").fetchone()
        (3,)
        """

    def unregister(self, name: str) -> Connection:
        """
        Forget a registered object.

        Parameters
        ----------
        name
            What SQL calls it.

        Returns
        -------
        Connection
            This connection.

        Examples
        --------
        >>> con = inlay.connect().register("numbers", {"a": [1, 2]})
        >>> _ = con.unregister("numbers")
        """

    def append(self, table_name: str, data: Any, by_name: bool = False) -> Connection:
        """
        Add rows to a table by the way of bulk loads.

        `data` is anything that can be a table: a data frame, an Arrow table or reader, a dictionary of NumPy arrays.
        Columns are taken by position, or by name. All rows are added or, when one violates a constraint, none.

        Parameters
        ----------
        table_name
            The table.
        data
            The object.
        by_name
            Whether columns are matched by their names.

        Returns
        -------
        Connection
            This connection.

        Raises
        ------
        inlay.ConstraintException
            A row violates a constraint.
        inlay.InvalidInputException
            The object cannot be a table.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
        >>> con.append("t", {"b": ["x"], "a": [1]}, by_name=True).execute("FROM t").fetchall()
        [(1, 'x')]
        """

    def appender(
        self,
        table: str,
        *,
        columns: list[str] | None = None,
        action: str = "insert",
        key: list[str] | None = None,
    ) -> Appender:
        """
        Make an appender, which collects rows for a table and hands them over by the way of bulk loads.

        Parameters
        ----------
        table
            The table.
        columns
            Which columns rows have values for; without it all but computed ones.
        action
            ``"insert"``; ``"upsert"``, which changes rows of the same primary key; ``"update"`` and ``"delete"`` of
            the rows whose `key` columns have these values.
        key
            For update and delete. The rows of delete have these columns alone.

        Returns
        -------
        Appender
            To be closed, or used in ``with``.

        Raises
        ------
        inlay.CatalogException
            There is no such table or column.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE trips (city VARCHAR, km DOUBLE)")
        >>> with con.appender("trips") as appender:
        ...     appender.append_row("Ulm", 3.2)
        >>> con.execute("FROM trips").fetchall()
        [('Ulm', 3.2)]
        """

    def query_appender(self, dml: str, columns: Mapping[str, Any], *, source: str | None = None) -> Appender:
        """
        Make an appender, which collects rows for a statement that inserts, updates, deletes or merges.

        Parameters
        ----------
        source
            What the statement calls the rows.
        dml
            The statement, in which the rows are the table ``appended_data``, or `source`.
        columns
            Names and types of the rows' columns.

        Returns
        -------
        Appender
            To be closed, or used in ``with``.

        Raises
        ------
        inlay.InvalidInputException
            There are no columns, or several statements.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t AS SELECT 1 AS id, 10 AS n")
        >>> statement = "UPDATE t SET n = n + more FROM appended_data d WHERE t.id = d.id"
        >>> with con.query_appender(statement, {"id": "INTEGER", "more": "INTEGER"}) as appender:
        ...     appender.append_row(1, 5)
        >>> con.execute("FROM t").fetchall()
        [(1, 15)]
        """

    def transaction(self) -> Transaction:
        """
        Open a transaction for a `with` block.

        It commits at the end of the block, or rolls back when an exception leaves it. Inside of another transaction the
        block is a savepoint: what an exception undoes is what the block did.

        Returns
        -------
        Transaction
            For ``with``, which gives this connection.

        Raises
        ------
        inlay.TransactionException
            Another transaction changed the same rows.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> with con.transaction():
        ...     _ = con.execute("INSERT INTO t VALUES (1)")
        ...     try:
        ...         with con.transaction():
        ...             _ = con.execute("INSERT INTO t VALUES (2)")
        ...             raise KeyError
        ...     except KeyError:
        ...         pass
        >>> con.execute("FROM t").fetchall()
        [(1,)]
        """

    def checkpoint(self) -> Connection:
        """
        Put what is committed into the database file, so that the log is short.

        Returns
        -------
        Connection
            This connection.

        Raises
        ------
        inlay.IOException
            The file cannot be written.

        Examples
        --------
        >>> _ = inlay.connect().checkpoint()
        """

    def backup(self, path: str | PathLike[str]) -> Connection:
        """
        Write a copy of what is committed into a new file, while the database is used and changed.

        The file appears when it is complete. One that exists already is never overwritten.

        Parameters
        ----------
        path
            Of the new file.

        Returns
        -------
        Connection
            This connection.

        Raises
        ------
        inlay.IOException
            The file exists already, or cannot be written.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> con = inlay.connect(pathlib.Path(folder.name, "a.inlay")).execute("CREATE TABLE t AS SELECT 1 AS a")
        >>> _ = con.backup(pathlib.Path(folder.name, "copy.inlay"))
        >>> inlay.connect(pathlib.Path(folder.name, "copy.inlay"), read_only=True).execute("FROM t").fetchall()
        [(1,)]
        >>> con.close()
        >>> folder.cleanup()
        """

    def begin(self) -> Connection:
        """
        Open a transaction.

        Returns
        -------
        Connection
            This connection.

        Raises
        ------
        inlay.TransactionException
            One is open already.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)").begin()
        >>> _ = con.execute("INSERT INTO t VALUES (1)")
        >>> con.commit().in_transaction
        False
        """

    def commit(self) -> Connection:
        """
        Commit the transaction, if one is open.

        Returns
        -------
        Connection
            This connection.

        Raises
        ------
        inlay.TransactionException
            Another transaction changed the same rows; then nothing of this one stays.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)").begin()
        >>> _ = con.execute("INSERT INTO t VALUES (1)")
        >>> con.commit().execute("FROM t").fetchall()
        [(1,)]
        """

    def rollback(self) -> Connection:
        """
        Undo the transaction, if one is open.

        Returns
        -------
        Connection
            This connection.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)").begin()
        >>> _ = con.execute("INSERT INTO t VALUES (1)")
        >>> con.rollback().execute("FROM t").fetchall()
        []
        """

    def cursor(self) -> Connection:
        """
        Open another session of the same database.

        Returns
        -------
        Connection
            A session with transactions and temporary tables of its own.

        Raises
        ------
        inlay.ConnectionException
            The connection is closed.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t AS SELECT 1 AS a")
        >>> con.cursor().execute("FROM t").fetchall()
        [(1,)]
        """

    def duplicate(self) -> Connection:
        """
        Open another session of the same database.

        Returns
        -------
        Connection
            A session with transactions and temporary tables of its own.

        Raises
        ------
        inlay.ConnectionException
            The connection is closed.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t AS SELECT 1 AS a")
        >>> con.cursor().execute("FROM t").fetchall()
        [(1,)]
        """

    def interrupt(self) -> None:
        """
        End the calls of this session that run; may be called from any thread.

        Such a call ends with `inlay.InterruptException`, whether it converts its parameters, runs its statement or
        makes objects of the rows. An interrupt while none runs does nothing.

        Raises
        ------
        inlay.ConnectionException
            The connection is closed.

        Examples
        --------
        >>> inlay.connect().interrupt()
        """

    def set_priority(self, priority: str) -> None:
        """
        Say what the session's queries get when several want the workers: ``'low'``, ``'normal'`` or ``'high'``.

        May be called from any thread and holds at once, also for a query that runs. ``SET priority`` says the same
        between statements.

        Parameters
        ----------
        priority
            One of these words.

        Raises
        ------
        inlay.InvalidInputException
            It is none of them.

        Examples
        --------
        >>> inlay.connect().set_priority("low")
        """

    def close(self) -> None:
        """
        Close the session; an open transaction is undone. The last one of a file closes the file.

        Raises
        ------
        inlay.Error
            The file cannot be closed.

        Examples
        --------
        >>> con = inlay.connect()
        >>> con.close()
        >>> con
        <inlay.Connection, closed>
        """

    def __enter__(self) -> Connection: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Appender:
    """
    Rows that are collected for a table, or for a statement, and handed over together.

    Each value is converted to its column's type when it is appended, and rows go when `flush` or `close` is called, at
    the end of a `with` block, and after every 131,072 rows. Rows that are refused are gone. Threads may share it.

    Examples
    --------
    >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
    >>> appender = con.appender("t")
    >>> appender.append_row(1)
    >>> appender.close()
    >>> con.execute("FROM t").fetchall()
    [(1,)]
    """

    @property
    def columns(self) -> list[str]:
        """
        Names of the columns that a row has values for.

        Returns
        -------
        list of str
            Names in the order of a row's values.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> appender = con.appender("t")
        >>> appender.columns
        ['a']
        """

    @property
    def types(self) -> list[str]:
        """
        Their types.

        Returns
        -------
        list of str
            As SQL writes them.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> appender = con.appender("t")
        >>> appender.types
        ['INTEGER']
        """

    def append_row(self, *values: Any) -> None:
        """
        Add a row.

        Parameters
        ----------
        values
            One for each column.

        Raises
        ------
        inlay.InvalidInputException
            The row has more or fewer values than columns.
        inlay.DataError
            A value does not fit into its column.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> appender = con.appender("t")
        >>> appender.append_row("7")
        >>> appender.close()
        >>> con.execute("FROM t").fetchall()
        [(7,)]
        """

    def append_rows(self, rows: Iterable[Sequence[Any]]) -> None:
        """
        Add rows; those before one that is refused stay.

        Parameters
        ----------
        rows
            Sequences of values.

        Raises
        ------
        inlay.InvalidInputException
            A row has more or fewer values than columns.
        inlay.DataError
            A value does not fit into its column.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> appender = con.appender("t")
        >>> appender.append_rows([(1,), (2,)])
        >>> appender.close()
        >>> con.table("t").sum("a").fetchall()
        [(3,)]
        """

    def append(self, data: Any) -> None:
        """
        Hand over the rows collected, then those of an object, which is anything that can be a table.

        Parameters
        ----------
        data
            The object; columns are taken by position.

        Raises
        ------
        inlay.Error
            The rows are refused, all of them.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> appender = con.appender("t")
        >>> appender.append({"a": [1, 2]})
        >>> con.table("t").sum("a").fetchall()
        [(3,)]
        """

    def flush(self) -> None:
        """
        Hand over the rows collected: all of them, or on an error none.

        Raises
        ------
        inlay.Error
            The rows are refused; they are gone.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> appender = con.appender("t")
        >>> appender.append_row(1)
        >>> appender.flush()
        >>> con.execute("FROM t").fetchall()
        [(1,)]
        """

    def clear(self) -> None:
        """
        Forget the rows collected.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> appender = con.appender("t")
        >>> appender.append_row(1)
        >>> appender.clear()
        >>> appender.close()
        >>> con.execute("FROM t").fetchall()
        []
        """

    def close(self) -> None:
        """
        Hand over the rows collected; later calls are errors.

        Raises
        ------
        inlay.Error
            The rows are refused; the appender is closed all the same.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> appender = con.appender("t")
        >>> appender.close()
        >>> appender.append_row(1)
        Traceback (most recent call last):
            ...
        inlay.exceptions.InvalidInputException: the appender is closed; make another
        """

    def __enter__(self) -> Appender: ...
    def __exit__(self, exception: object, *more: object) -> None: ...

@final
class Answer(_Fetch):
    """The rows of a statement, all of them in every method."""

    @property
    def columns(self) -> list[str]: ...
    @property
    def types(self) -> list[str]: ...
    def fetch_record_batch(self, rows_per_batch: int | None = None) -> Any: ...
    def render(
        self,
        max_rows: int | None = None,
        max_width: int | None = None,
        max_col_width: int | None = None,
        null_value: str | None = None,
    ) -> str: ...
    def __len__(self) -> int: ...

@final
class Table:
    """A table that Python code holds."""

@final
class Shipped:
    """Versions of tables that were written for a cluster."""

    def write(
        self,
        connection: Connection,
        query: str,
        tables: Mapping[str, Any],
        folder: str | None = None,
        lists: bool = False,
    ) -> tuple[
        str,
        list[tuple[str, str, list[str], list[tuple[str, str]], str]],
        list[tuple[str, dict[str, Any], Any, list[tuple[str, str, str | None]], tuple[str, str]]],
        list[tuple[str, str, str]],
        str,
        list[str],
    ]: ...
    def in_parts(self, connection: Connection, query: str, folder: str, fetch: Callable[..., Any]) -> Answer | None: ...

@final
class ColumnMemory:
    """Memory of a column below a NumPy array."""

@final
class PendingColumn:
    """A column that becomes an array when it is looked at; only `inlay._columns` has them."""

    def array(self) -> Any: ...

def _convert(columns: Sequence[PendingColumn]) -> None: ...

class PreparedStatement:
    """
    What `Connection.prepare` gives: a statement that is read once and run many times.

    Examples
    --------
    >>> statement = inlay.connect().prepare("SELECT ? + 2")
    >>> statement.execute([40]).fetchone(), statement.execute([1]).fetchone()
    ((42,), (3,))
    """

    def execute(self, parameters: Parameters = None) -> Connection:
        """
        Run it with these parameters, as `Connection.execute` does.

        Parameters
        ----------
        parameters
            A sequence for ``?`` and ``$1``, a mapping for ``$name``.

        Returns
        -------
        Connection
            With the answer.

        Raises
        ------
        inlay.Error
            With the SQLSTATE in ``sqlstate``.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> statement = con.prepare("INSERT INTO t VALUES ($a)")
        >>> statement.execute({"a": 1}).rowcount
        1
        """

    def executemany(self, parameters: Iterable[Parameters]) -> Connection:
        """
        Run it once for each set of parameters, all or none, as `Connection.executemany` does.

        Parameters
        ----------
        parameters
            Parameters, one set after the other.

        Returns
        -------
        Connection
            Its `rowcount` is that of all together.

        Raises
        ------
        inlay.Error
            One set fails; then nothing of the others stays.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> statement = con.prepare("INSERT INTO t VALUES ($a)")
        >>> statement.executemany([{"a": 1}, {"a": 2}]).rowcount
        2
        """

    @property
    def query(self) -> str:
        """
        Its text.

        Returns
        -------
        str
            As it was prepared.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> statement = con.prepare("INSERT INTO t VALUES ($a)")
        >>> statement.query
        'INSERT INTO t VALUES ($a)'
        """

    @property
    def parameter_count(self) -> int:
        """
        How many values it takes.

        Returns
        -------
        int
            By position and by name together.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> statement = con.prepare("INSERT INTO t VALUES ($a)")
        >>> statement.parameter_count
        1
        """

    @property
    def parameter_names(self) -> list[str]:
        """
        Names of the parameters that have one, without the dollar.

        Returns
        -------
        list of str
            In the order of the text.

        Examples
        --------
        >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
        >>> statement = con.prepare("INSERT INTO t VALUES ($a)")
        >>> statement.parameter_names
        ['a']
        """

class Server:
    """
    A server of this process, made by `Connection.serve`.

    Examples
    --------
    >>> server = inlay.connect().serve(native_port=0, postgres_port=None, http_port=0)
    >>> server.postgres_port is None and server.http_url.startswith("http://127.0.0.1:")
    True
    >>> server.close()
    """

    @property
    def native_port(self) -> int | None:
        """
        The port of the native protocol, if it is spoken.

        Examples
        --------
        >>> with inlay.connect().serve(native_port=0, postgres_port=None, http_port=0) as server:
        ...     print(server.native_port > 0)
        True
        """

    @property
    def postgres_port(self) -> int | None:
        """
        The port of PostgreSQL's protocol, if it is spoken.

        Examples
        --------
        >>> with inlay.connect().serve(native_port=0, postgres_port=None, http_port=0) as server:
        ...     print(server.postgres_port)
        None
        """

    @property
    def http_port(self) -> int | None:
        """
        The port of HTTP, if it is spoken.

        Examples
        --------
        >>> with inlay.connect().serve(native_port=0, postgres_port=None, http_port=0) as server:
        ...     print(server.http_port > 0)
        True
        """

    @property
    def url(self) -> str | None:
        """
        The address for `connect` and ATTACH.

        Examples
        --------
        >>> with inlay.connect().serve(native_port=0, postgres_port=None, http_port=0) as server:
        ...     print(server.url.partition('127')[0])
        inlay://
        """

    @property
    def http_url(self) -> str | None:
        """
        The address of the page.

        Examples
        --------
        >>> with inlay.connect().serve(native_port=0, postgres_port=None, http_port=0) as server:
        ...     print(server.http_url.partition('127')[0])
        http://
        """

    @property
    def closed(self) -> bool:
        """
        Whether it was closed, or is another process's.

        Examples
        --------
        >>> with inlay.connect().serve(native_port=0, postgres_port=None, http_port=0) as server:
        ...     print(server.closed)
        False
        """

    def close(self, grace: float = 10.0) -> None:
        """
        End it in order: nobody comes any more, and what runs may finish within some seconds and is interrupted then.

        The database stays open. Closing it again does nothing.

        Examples
        --------
        >>> server = inlay.connect().serve(native_port=0, postgres_port=None, http_port=None)
        >>> server.close(grace=1.0)
        >>> server.closed
        True
        """

    def __enter__(self) -> Server: ...
    def __exit__(self, *exception: object) -> None: ...

class Transaction:
    """
    What `Connection.transaction` gives, to be used in `with`.

    Examples
    --------
    >>> con = inlay.connect().execute("CREATE TABLE t (a INTEGER)")
    >>> with con.transaction() as same:
    ...     _ = same.execute("INSERT INTO t VALUES (1)")
    >>> con.execute("FROM t").fetchall()
    [(1,)]
    """

    def __enter__(self) -> Connection: ...
    def __exit__(self, exception: object, *more: object) -> None: ...
