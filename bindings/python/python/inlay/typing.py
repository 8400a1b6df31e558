"""The old name of `inlay.sqltypes`."""

from inlay.sqltypes import *  # noqa: F403
from inlay.sqltypes import DuckDBPyType as DuckDBPyType
