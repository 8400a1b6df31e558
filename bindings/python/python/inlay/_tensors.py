"""Columns as tensors. Imported when they are asked for."""

from __future__ import annotations

from typing import Any

from inlay.exceptions import InvalidInputException

#: What to write for a column of a kind of NumPy that no tensor has.
_HINTS = {
    "M": "epoch_us(x) makes it a number",
    "m": "epoch_us(x) makes it a number",
    "O": "leave it out; decimal='float' makes DECIMAL and HUGEINT float64",
}


def torch_tensors(arrays: dict[str, Any]) -> dict[str, Any]:
    """Make a PyTorch tensor of each array, over the same memory."""
    import torch

    return {name: torch.from_dlpack(_plain(name, array)) for name, array in arrays.items()}


def tensorflow_tensors(arrays: dict[str, Any]) -> dict[str, Any]:
    """Make a TensorFlow tensor of each array, which is copied: tensors of TensorFlow never change."""
    import tensorflow

    return {name: tensorflow.convert_to_tensor(_plain(name, array)) for name, array in arrays.items()}


def _plain(name: str, array: Any) -> Any:
    import numpy as np

    kind = array.dtype.kind
    if kind in _HINTS:
        raise _bad(f'column "{name}" of {array.dtype} cannot be a tensor', _HINTS[kind])
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if kind != "f":
        raise _bad(f'column "{name}" of {array.dtype} has NULL, which no tensor has', "coalesce(x, ...) replaces it")
    # NaN lies below the mask.
    return np.ma.getdata(array)


def _bad(message: str, hint: str) -> InvalidInputException:
    error = InvalidInputException(f"{message}; {hint}")
    error.sqlstate, error.hint = "22023", hint
    return error
