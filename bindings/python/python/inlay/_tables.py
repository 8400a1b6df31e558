"""Python objects as columns. Imported when one is read as a table."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from inlay.exceptions import InvalidInputException

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
    names: dict[str, None] = {}
    for record in records:
        if not isinstance(record, dict):
            message = f"a list is a table if all its elements are dictionaries; one is of type {type(record).__name__}"
            raise InvalidInputException(message)
        for name in record:
            names.setdefault(str(name))
    return {name: _column([record.get(name) for record in records]) for name in names}


def _column(values: Any) -> Any:
    """Make an array of a list; objects stay what they are, so that NULL, decimals and large integers do."""
    import numpy as np

    if not isinstance(values, (list, tuple)):
        return values
    return np.fromiter(values, dtype=object, count=len(values))
