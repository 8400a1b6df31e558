# SQLAlchemy is not typed here: it need not be installed.
# mypy: disable-error-code="untyped-decorator, misc, no-any-return, attr-defined"
"""
What Alembic asks of a dialect. Alembic finds it by the name of the dialect, once this module was imported.

Migrations are PostgreSQL's but for what Inlay writes otherwise, and each runs in a transaction.
"""

from __future__ import annotations

import re
from typing import Any

from alembic.ddl import postgresql
from alembic.ddl.base import ColumnComment, RenameTable
from sqlalchemy import types
from sqlalchemy.ext.compiler import compiles

_ORDER = re.compile(r"\s+(asc|desc)?(\s*nulls\s+(first|last))?\s*$", re.I)
# Lengths of texts are not kept, and all of these are one type.
_TEXTS = re.compile(r"^(VARCHAR|TEXT|CHAR|NVARCHAR|NCHAR|CLOB)(\(\d+\))?(?=\s|\[|$)")


def _plain(default: str | None) -> str | None:
    """Return a default without what may be written in two ways: spaces, case outside of quotes, parentheses."""
    if default is None:
        return None
    if len(default) > 1 and default.startswith("'") and default.endswith("'"):
        # Alembic puts quotes around the text of a model without doubling those inside. 5 and '5' are one default.
        return default[1:-1].replace("''", "'")
    pieces = re.split(r"('(?:[^']|'')*')", default)
    text = "".join(piece if piece.startswith("'") else re.sub(r"\s+", "", piece).lower() for piece in pieces)
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return {"current_timestamp": "now()", "current_date()": "current_date"}.get(text, text)


class InlayImpl(postgresql.PostgresqlImpl):
    """Migrations of Inlay."""

    __dialect__ = "inlay"
    transactional_ddl = True

    def compare_type(self, inspector_column: Any, metadata_column: Any) -> bool:
        """Whether a migration is needed: both types are compared as the engine has them."""
        return self._type_text(inspector_column.type) != self._type_text(metadata_column.type)

    def _type_text(self, ty: Any) -> str:
        impl = ty.dialect_impl(self.dialect)
        if isinstance(impl, types.TypeDecorator):
            impl = impl.load_dialect_impl(self.dialect)
        collation = getattr(impl, "collation", None)
        text = str(self.dialect.type_compiler_instance.process(impl)).partition(" COLLATE ")[0]
        return _TEXTS.sub("VARCHAR", text) + (f" COLLATE {collation}" if collation else "")

    def _cleanup_index_expr(self, index: Any, expr: str) -> str:
        # Indexes keep no order: none is needed to find keys.
        return str(super()._cleanup_index_expr(index, _ORDER.sub("", expr)))

    def compare_server_default(
        self,
        inspector_column: Any,
        metadata_column: Any,
        rendered_metadata_default: Any,
        rendered_inspector_default: Any,
    ) -> bool:
        """Whether the default changed: texts that are written alike, or constants that are equal, are one default."""
        if metadata_column.primary_key and metadata_column is metadata_column.table._autoincrement_column:
            return False
        sides = [_plain(side) for side in (rendered_inspector_default, rendered_metadata_default)]
        return bool(sides[0] != sides[1])

    def autogen_column_reflect(self, inspector: Any, table: Any, column_info: Any) -> None:
        """Leave out the default of a key that counts by itself, as the model does not name it either."""
        if column_info.get("autoincrement") and "identity" not in column_info:
            column_info["default"] = None


for _construct, _visit in (
    (postgresql.PostgresqlColumnType, postgresql.visit_column_type),
    (ColumnComment, postgresql.visit_column_comment),
    (RenameTable, postgresql.visit_rename_table),
):
    compiles(_construct, "inlay")(_visit)
