"""The dictionary that ``fetchnumpy()`` gives."""

from __future__ import annotations

from typing import Any

# Whether there is NumPy is to be known when columns are fetched, not when one is touched.
import numpy  # noqa: F401

from inlay._inlay import PendingColumn, _convert


class Columns(dict[str, Any]):
    """
    Arrays by the names of their columns, each made when it is first looked at.

    A dictionary in every way: its methods, ``**columns``, ``dict(columns)``, copies and pickles see arrays. Until then
    its memory holds a `PendingColumn` in the place of an array. `items`, `values` and comparisons convert all at once.
    """

    __slots__ = ()

    # Also says to `dict(columns)` and `**columns` that they must ask `__getitem__`.
    def __iter__(self) -> Any:
        return super().__iter__()

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        return self._converted(name, found) if type(found) is PendingColumn else found

    def _converted(self, name: str, pending: PendingColumn) -> Any:
        array = pending.array()
        if super().get(name) is pending:
            super().__setitem__(name, array)
        return array

    def _settled(self) -> Columns:
        """Convert what is left."""
        pending = [found for found in super().values() if type(found) is PendingColumn]
        if pending:
            _convert(pending)
            for name, found in list(super().items()):
                if type(found) is PendingColumn:
                    self._converted(name, found)
        return self

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def setdefault(self, name: str, default: Any = None) -> Any:
        super().setdefault(name, default)
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        found = super().pop(name, *default)
        return found.array() if type(found) is PendingColumn else found

    def popitem(self) -> tuple[str, Any]:
        name, found = super().popitem()
        return name, (found.array() if type(found) is PendingColumn else found)

    def values(self) -> Any:
        self._settled()
        return super().values()

    def items(self) -> Any:
        self._settled()
        return super().items()

    def copy(self) -> Columns:
        """Copy the dictionary; the columns are shared, and converted once for both."""
        return Columns(super().items())

    def __copy__(self) -> Columns:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        from copy import deepcopy

        return {name: deepcopy(array, memo) for name, array in self.items()}

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self._settled()),)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Columns):
            other._settled()
        return dict.__eq__(self._settled(), other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        return dict(self._settled()) | other if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return other | dict(self._settled()) if isinstance(other, dict) else NotImplemented

    def __repr__(self) -> str:
        return dict.__repr__(self._settled())
