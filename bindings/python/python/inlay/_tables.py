"""Python objects as columns. Imported when one is read as a table."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any

from inlay.exceptions import InvalidInputException, NotImplementedException

#: Readers that were read to their end, which would look like empty tables.
_read: weakref.WeakSet[Any] = weakref.WeakSet()
_read_lock = threading.Lock()


def note_read(stream: Any) -> None:
    """Refuse a reader of record batches that was read before, and remember this one."""
    if type(stream).__name__ != "RecordBatchReader":
        return
    try:
        with _read_lock:
            was_read = stream in _read
            _read.add(stream)
    except TypeError:
        # A reader that nothing can refer to weakly.
        return
    if was_read:
        error = InvalidInputException(
            "this RecordBatchReader was read already, and a stream can be read only once; "
            "use reader.read_all(), which is a table"
        )
        error.sqlstate = "22023"
        raise error


def columns_of(values: Any) -> dict[str, Any]:
    """
    Make columns by name of lists and arrays.

    A list of dictionaries has a column per key (NULL where a dictionary lacks it), a dictionary of lists one per key,
    a structured array one per field. A list of arrays, and an array of two dimensions, has columns `column0`,
    `column1`, ..., as DuckDB has: each array, or each row of the array, is a column.
    """
    import numpy as np

    if isinstance(values, dict):
        return {name: _column(column) for name, column in values.items()}
    if isinstance(values, (list, tuple)) and isinstance(values[0], dict):
        return _of_records(values)
    if not isinstance(values, (list, tuple)):
        values = np.asanyarray(values)
        if values.dtype.names is not None:
            return {name: values[name].reshape(-1) for name in values.dtype.names}
        if values.ndim == 1:
            values = [values]
    return {f"column{index}": _column(column) for index, column in enumerate(values)}


def _of_records(records: Any) -> dict[str, Any]:
    keys: dict[Any, None] = {}
    for record in records:
        if not isinstance(record, dict):
            message = f"a list is a table if all its elements are dictionaries; one is of type {type(record).__name__}"
            raise InvalidInputException(message)
        keys.update(dict.fromkeys(record))
    for key in keys:
        if not isinstance(key, str):
            raise InvalidInputException(
                f"the key {key!r} of a dictionary in the list is no text, and would name a column: str() makes it one"
            )
    return {key: _column([record.get(key) for record in records]) for key in keys}


#: A column by way of Arrow, or None; else the array; the words of an ENUM; whether its last moment is infinity.
_Made = tuple[Any, Any, "list[str] | None", bool]


def arrow_column(name: str, values: Any) -> _Made:
    """
    Make a table of the one column that an array of Arrow, Polars or pandas is.

    Arrays of other packages, and those of pandas that NumPy has as they are, stay arrays.
    """
    from inlay._frames import ArrowColumn

    module = type(values).__module__.partition(".")[0]
    if getattr(values, "ndim", 1) != 1:
        return None, values, None, True
    if module == "pandas":
        return _of_pandas(name, values)
    if isinstance(values, ArrowColumn):
        return values.table, None, values.words, False
    if module == "polars" and hasattr(values, "to_frame"):
        frame = values.to_frame(name)
        return frame, None, words_of(frame)[0], False
    if module != "pyarrow" and not any(hasattr(values, f"__arrow_c_{form}__") for form in ("array", "stream")):
        return None, values, None, True
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return None, values, None, True
    if module != "pyarrow":
        values = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        raise InvalidInputException(f'column "{name}" is of type {type(values).__qualname__}, which is no column')
    table = pa.table({name: values})
    return table, None, words_of(table)[0], True


def _of_pandas(name: str, values: Any) -> _Made:
    import numpy as np
    import pandas as pd

    if isinstance(values.dtype, np.dtype):
        return None, values, None, True
    from inlay._frames import columns_of_pandas

    made, words = columns_of_pandas(pd.Series(values, copy=False).to_frame(name))
    if isinstance(made, dict):
        return arrow_column(name, made[name])
    return made, None, words[0], False


def table_of_scalar(scalar: Any) -> Any:
    """Make a table of a scalar of pyarrow."""
    import pyarrow as pa

    return pa.table({"value": pa.repeat(scalar, 1)})


def has_infinity(table: Any) -> bool:
    """Whether the last date and moment of a table mean infinity, as Arrow's do where the engine wrote them."""
    return type(table).__module__.partition(".")[0] != "polars"


def _column(values: Any) -> Any:
    """Make an array of a list; objects stay what they are, so that NULL, decimals and large integers do."""
    import numpy as np

    if not isinstance(values, (list, tuple)):
        return values
    return np.fromiter(values, dtype=object, count=len(values))


def list_of(array: Any) -> Any:
    """Make a list of an array or a Series, which is a parameter: masked values are None, moments what SQL has."""
    import numpy as np

    if hasattr(array, "to_numpy"):
        array = array.to_numpy()
    if array.ndim == 0:
        return array[()]
    if isinstance(array, np.ma.MaskedArray) or getattr(array.dtype, "kind", "O") not in "mM":
        items: list[Any] = array.tolist()
        return items
    if array.ndim > 1:
        return [list_of(row) for row in array]
    return list(array)


def even_batches(reader: Any, rows: int) -> Any:
    """Make a reader whose batches have so many rows each, but for the last one."""
    import pyarrow as pa

    if rows < 1:
        raise InvalidInputException(f"batch_size={rows}: a batch has at least one row")

    def joined(parts: list[Any]) -> Any:
        return parts[0] if len(parts) == 1 else pa.Table.from_batches(parts).combine_chunks().to_batches()[0]

    def batches() -> Iterator[Any]:
        parts: list[Any] = []
        missing = rows
        for batch in reader:
            while batch.num_rows:
                part = batch.slice(0, missing)
                batch = batch.slice(part.num_rows)
                parts.append(part)
                missing -= part.num_rows
                if not missing:
                    yield joined(parts)
                    parts, missing = [], rows
        if parts:
            yield joined(parts)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def words_of(table: Any) -> list[list[str] | None]:
    """
    Return, for each column of a frame of Polars or a `pyarrow.Table`, its words if they have an order: it is an ENUM.

    They are Polars' `Enum`s and PyArrow's ordered dictionaries of texts; of other objects nothing is known.
    """
    module = type(table).__module__.partition(".")[0]
    if module == "polars":
        # A Series is a column.
        columns = table.schema if hasattr(table, "schema") else {table.name: table.dtype}
        for name, dtype in columns.items():
            if str(dtype) == "Object":
                raise NotImplementedException(
                    f'column "{name}" is of the type Object of Polars: Python objects, of which only addresses leave '
                    "the frame; convert it to a type of values, or leave it out with .drop"
                )
        return [_enum_words(dtype) for dtype in columns.values()]
    if module == "pyarrow" and hasattr(table, "itercolumns"):
        return [_ordered_words(column) for column in table.itercolumns()]
    return []


def _enum_words(dtype: Any) -> list[str] | None:
    words = getattr(dtype, "categories", None) if type(dtype).__name__ == "Enum" else None
    return words.to_list() if words is not None and len(words) else None


def _ordered_words(column: Any) -> list[str] | None:
    import pyarrow as pa

    if not (pa.types.is_dictionary(column.type) and column.type.ordered):
        return None
    is_text = any(is_it(column.type.value_type) for is_it in (pa.types.is_string, pa.types.is_large_string))
    parts = [column.dictionary] if hasattr(column, "dictionary") else [part.dictionary for part in column.chunks]
    if not is_text or not parts or not all(part.equals(parts[0]) for part in parts):
        return None
    words: list[str] = parts[0].to_pylist()
    return words if words and None not in words and len(set(words)) == len(words) else None


def even_chunks(frame: Any, rows: int) -> Any:
    """Cut a frame of Polars into chunks of so many rows each, but for the last one; they share its memory."""
    import polars as pl

    if rows < 1:
        raise InvalidInputException(f"batch_size={rows}: a batch has at least one row")
    parts = [frame.slice(at, rows) for at in range(0, frame.height, rows)]
    return pl.concat(parts, rechunk=False) if len(parts) > 1 else frame


def no_table(name: str, value: Any) -> str:
    """Say of a variable with a table's name why it is none, and what makes one of it."""
    kind = type(value)
    written = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if kind.__module__.startswith("scipy.sparse"):
        return f"the variable {name} is a {written}, which is no table: {name}.toarray() is one"
    if isinstance(value, str):
        return (
            f"the variable {name} is a str, which is no table: read_csv({name}) and the like read a file of this name"
        )
    if isinstance(value, dict):
        return f"the variable {name} is a dict, which is a table only if {_why_no_columns(value)}"
    return f"the variable {name} is of type {written}, which is no table; data frames, Arrow tables and arrays are"


def _why_no_columns(values: dict[Any, Any]) -> str:
    forms = ("__array__", "__array_interface__", "__arrow_c_array__")
    for key, value in values.items():
        if not isinstance(key, str):
            return f"its keys are texts; {key!r} is none"
        if not isinstance(value, (list, tuple)) and not any(hasattr(value, form) for form in forms):
            return f"its values are arrays or lists; {key!r} is of type {type(value).__qualname__}"
    return "it has a column"


def index_hints(name: str, names: Any) -> list[tuple[str, str]]:
    """Say of the names in a data frame's index that they are no columns."""
    hint = f"it is the index of {name}, which is left out: {name}.reset_index() makes it a column"
    return [(each, hint) for each in names if isinstance(each, str)]


def plain_columns(frame: Any) -> Any:
    """
    Make columns of pandas' own types what SQL has: periods DATE or TIMESTAMP where they begin, intervals STRUCTs.

    Categories that are intervals, as `pandas.cut` makes them, are words in their order.
    """
    import pandas as pd

    changed = {name: made for name in frame.columns if (made := _plain_column(pd, frame[name])) is not None}
    return frame.assign(**changed) if changed else frame


def _plain_column(pd: Any, column: Any) -> Any:
    if isinstance(column.dtype, pd.SparseDtype):
        return column.sparse.to_dense()
    categories = getattr(column.dtype, "categories", None)
    if categories is not None:
        if isinstance(categories.dtype, pd.IntervalDtype):
            return column.cat.rename_categories([str(each) for each in categories])
        if isinstance(categories.dtype, pd.PeriodDtype):
            column = column.astype(categories.dtype)
    if isinstance(column.dtype, pd.PeriodDtype):
        moments = column.dt.start_time
        one = pd.Period("2024-01-01", freq=column.dtype.freq)
        # Days and longer periods begin at midnight.
        if one.end_time - one.start_time > pd.Timedelta(hours=23):
            moments = pd.Series([None if pd.isna(each) else each.date() for each in moments], column.index, object)
        return moments
    if isinstance(column.dtype, pd.IntervalDtype):
        ends = [None if pd.isna(each) else {"left": each.left, "right": each.right} for each in column]
        return pd.Series(ends, column.index, object)
    return None
