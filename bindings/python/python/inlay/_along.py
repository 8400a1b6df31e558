"""
Functions of Python that go along to a cluster: what is sent, and how it is called there.

Workers of the cluster have this package, too: a function is made one of a small database in the worker's process and
is called by it, so that it sees the arrays and gives NULLs, types and errors that it does here. What is sent is the
function by cloudpickle, of modules that are not installed by value, and what was declared of it. One of more than
`_LARGE` bytes, as a model makes it, is put in the shared folder once and read once by each worker.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import pickle
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from inlay.exceptions import Error, InvalidInputException, NotSupportedError

#: Bytes from which a function is not sent with each task.
_LARGE = 1 << 20

#: What stands before and behind a message of ours in an error of a worker.
OPENED, CLOSED = "inlay<<", ">>inlay"

_local = threading.local()


class Along:
    """A function, and what it is called with."""

    def __init__(
        self,
        declared: dict[str, Any],
        source: bytes | str,
        digest: str,
        arguments: list[tuple[str, str, str | None]],
        returns: tuple[str, str],
    ) -> None:
        self.declared, self.source, self.digest = declared, source, digest
        given = (
            constant if constant is not None else f"CAST(c{position} AS {ty})"
            for position, (ty, _, constant) in enumerate(arguments)
        )
        call = f"inlay_called({', '.join(given)})"
        self.query = f"SELECT CAST(CAST({call} AS {returns[0]}) AS {returns[1]}) AS o FROM rows_given"

    def _connection(self) -> Any:
        """Find or make the database of this thread that has the function."""
        made = _local.__dict__.setdefault("made", {})
        if self.digest not in made:
            import inlay
            from inlay._udf import _Declared

            source = self.source
            data = Path(source).read_bytes() if isinstance(source, str) else source
            con = inlay.connect()
            con.execute("SET threads = 1")
            con._create_function(_Declared(**{**self.declared, "name": "inlay_called"}), pickle.loads(data))
            made[self.digest] = con
        return made[self.digest]

    def rows(self, columns: tuple[Any, ...]) -> Any:
        """Give what the function gives for columns, as an array of Arrow."""
        import pyarrow

        from inlay._relation import of_object

        table = pyarrow.table({f"c{position}": column for position, column in enumerate(columns)})
        try:
            con = self._connection()
            answer = of_object(con, table).query("rows_given", self.query)
            rows = answer.to_arrow_table() if answer is not None else table
        except Error as error:
            told = str(error).partition("\nline")[0].replace('"inlay_called"', f'"{self.declared["name"]}"')
            raise RuntimeError(f"{OPENED}{told}{CLOSED}") from error
        return rows.column(0)


def scalar(along: Along, given: Any) -> Callable[..., Any]:
    """Make a function of arrays, which gives one of the type `given`."""

    def function(*columns: Any) -> Any:
        values = along.rows(columns).combine_chunks()
        return values if values.type == given else values.cast(given)

    return function


def aggregate(along: Along, _: Any) -> Callable[..., Any]:
    """Make a function of the arrays of one group, which gives a value."""

    def function(*columns: Any) -> Any:
        return along.rows(columns)[0].as_py()

    return function


def _is_installed(file: str) -> bool:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return "site-packages" in file or any(file.startswith(folder) for folder in folders)


@contextlib.contextmanager
def _own_modules(pickler: Any) -> Iterator[None]:
    """Pickle what belongs to modules that workers do not have by value."""
    own = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and name != "__main__" and file.endswith(".py") and not _is_installed(file):
            with contextlib.suppress(Exception):
                pickler.register_pickle_by_value(module)
                own.append(module)
    try:
        yield
    finally:
        for module in own:
            with contextlib.suppress(Exception):
                pickler.unregister_pickle_by_value(module)


def packed(name: str, function: Any) -> bytes:
    """Make bytes of a function."""
    from pyspark import cloudpickle

    try:
        with _own_modules(cloudpickle):
            data: bytes = cloudpickle.dumps(function)
    except Exception as error:
        raise InvalidInputException(f'function "{name}" cannot be sent to a cluster: {error}') from error
    return data


def along(sent: tuple[Any, ...], folder: str) -> Along:
    """Make what is sent of what the engine says of a function."""
    _, declared, function, arguments, returns = sent
    data = packed(declared["name"], function)
    digest = hashlib.sha256(data + repr((declared, arguments)).encode()).hexdigest()
    source: bytes | str = data
    if len(data) > _LARGE:
        path = Path(folder) / f"function-{digest[:32]}.pickle"
        if not path.exists():
            part = path.with_suffix(f".{threading.get_ident()}")
            part.write_bytes(data)
            part.replace(path)
        source = str(path.absolute())
    return Along(declared, source, digest, arguments, returns)


def registered(session: Any, sent: tuple[Any, ...], folder: str) -> None:
    """Make a function known to a session under its name."""
    from pyspark.sql.pandas.types import from_arrow_type

    import inlay

    try:
        from pyspark.sql.functions import ArrowUDFType, arrow_udf
    except ImportError:
        raise NotSupportedError("functions on a cluster need pyspark-client 4.1 or later") from None
    name, declared, _, _, (_, carrier) = sent
    # Not by the caller's connection, which may be within its query.
    with inlay.connect() as con:
        given = con.execute(f"SELECT CAST(NULL AS {carrier}) AS o").to_arrow_table().schema.field(0).type
    if declared["form"] is None:
        made, kind = scalar(along(sent, folder), given), ArrowUDFType.SCALAR
    else:
        made, kind = aggregate(along(sent, folder), given), ArrowUDFType.GROUPED_AGG
    session.udf.register(name, arrow_udf(made, from_arrow_type(given), kind))


def versions() -> str:
    """Give the versions of Python and of this package."""
    return f"{sys.version_info[0]}.{sys.version_info[1]} {importlib.metadata.version('inlay')}"


def check_versions(session: Any, shown: str) -> None:
    """Fail where workers have another Python, or another of this package, before a function is sent."""
    from pyspark.sql.functions import ArrowUDFType, arrow_udf, col

    def found(numbers: Any) -> Any:
        import importlib.metadata
        import sys

        import pyarrow

        try:
            version = importlib.metadata.version("inlay")
        except importlib.metadata.PackageNotFoundError:
            version = "none"
        told = f"{sys.version_info[0]}.{sys.version_info[1]} {version}"
        return pyarrow.array([told] * len(numbers))

    # By value: workers may not have this module.
    found.__module__ = "__main__"
    asked = arrow_udf(found, "string", ArrowUDFType.SCALAR)
    try:
        told = session.range(1).select(asked(col("id")).alias("v")).toArrow().column(0)[0].as_py()
    except Exception as error:
        if "PYTHON_VERSION_MISMATCH" not in str(error):
            raise
        own = versions().split()[0]
        raise NotSupportedError(
            f"functions go to a cluster of the same Python: {own} here, another one at {shown}"
        ) from None
    python, package = told.split()
    own_python, own_package = versions().split()
    if python != own_python:
        raise NotSupportedError(f"functions go to a cluster of the same Python: {own_python} here, {python} at {shown}")
    if package != own_package:
        has = "none" if package == "none" else package
        raise NotSupportedError(
            f"functions go to a cluster whose workers have this package: inlay {own_package} here, {has} at {shown}; "
            f"pip install inlay=={own_package} there"
        )
