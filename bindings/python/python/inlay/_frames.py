"""Data frames. Imported when one is asked for, so that `import inlay` stays light."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any


def takes_arrow() -> bool:
    """Tell whether pandas holds texts as Arrow does: from version 3 on, if pyarrow is there."""
    import pandas as pd

    return int(pd.__version__.partition(".")[0]) >= 3 and find_spec("pyarrow") is not None


def data_frame(columns: dict[str, Any], zones: dict[str, str]) -> Any:
    """
    Make a pandas data frame of NumPy arrays, and of `pyarrow.ChunkedArray`s for texts and decimals.

    `zones` has the time zones of columns that are moments, whose arrays are UTC.

    pandas has no masks: NULL becomes None in object columns, NaT in dates, and NaN elsewhere, which makes integers
    float64 and booleans object.
    """
    import pandas as pd

    series = {name: _column(values) for name, values in columns.items()}
    for name, zone in zones.items():
        series[name] = pd.DatetimeIndex(series[name]).tz_localize("UTC").tz_convert(zone)
    return pd.DataFrame(series, copy=False)


def _column(array: Any) -> Any:
    import numpy as np

    if not isinstance(array, np.ndarray):
        import pandas as pd
        import pyarrow as pa

        if pa.types.is_decimal(array.type):
            return pd.arrays.ArrowExtensionArray(array)
        return pd.StringDtype(storage="pyarrow", na_value=np.nan).__from_arrow__(array)
    if not isinstance(array, np.ma.MaskedArray):
        return array
    mask, data = np.ma.getmaskarray(array), np.ma.getdata(array)
    if data.dtype.kind in "Mm":
        data[mask] = np.array("NaT", dtype=data.dtype)
        return data
    if data.dtype.kind == "f":
        data[mask] = np.nan
        return data
    if data.dtype.kind in "iu":
        data = data.astype("f8")
        data[mask] = np.nan
        return data
    objects = data.astype("O")
    objects[mask] = None
    return objects


def columns_of_pandas(frame: Any) -> Any:
    """
    Turn a pandas data frame into a `pyarrow.Table`, or without pyarrow into a dictionary of NumPy arrays.

    NaN in a pandas column means that the value is missing, so it becomes NULL. The index is left out.
    """
    frame = frame.rename(columns=str)
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return {name: _with_mask(frame[name]) for name in frame.columns}
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # Columns of objects of several types: they become text.
        return {name: _with_mask(frame[name]) for name in frame.columns}


def _with_mask(column: Any) -> Any:
    import numpy as np

    missing = column.isna().to_numpy(dtype=bool)
    values = column.to_numpy()
    if values.dtype.kind in "Ofm" and missing.any():
        return np.ma.MaskedArray(values, missing)
    return values
