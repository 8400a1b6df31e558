# SQLAlchemy is not typed here: it need not be installed.
# mypy: disable-error-code="untyped-decorator, misc, no-any-return, attr-defined"
"""Where SQL is not PostgreSQL's."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDDLCompiler, PGIdentifierPreparer
from sqlalchemy.sql.elements import quoted_name


class Compiler(PGCompiler):
    """Queries, and what changes rows."""

    def visit_truediv_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Division of whole numbers has fractions."""
        return f"{self.process(binary.left, **options)} / {self.process(binary.right, **options)}"

    def visit_floordiv_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Whole numbers are divided as such; what is no whole number is rounded down."""
        left, right = self.process(binary.left, **options), self.process(binary.right, **options)
        sides = (binary.left.type, binary.right.type)
        if all(side._type_affinity is types.Integer for side in sides):
            return f"{left} // {right}"
        return f"FLOOR({left} / {right})"

    def for_update_clause(self, select: Any, **options: Any) -> str:
        """Rows have no locks: who changed a row that somebody else changed meanwhile is told so."""
        return ""

    def fetch_clause(self, select: Any, **options: Any) -> str:
        """Write FETCH only where LIMIT cannot say it."""
        how = select._fetch_clause_options
        count = self.process(select._fetch_clause, **options) if select._fetch_clause is not None else None
        offset = self.process(select._offset_clause, **options) if select._offset_clause is not None else None
        if how is not None and how["with_ties"] and count is not None:
            skipped = f"\n OFFSET {offset} ROWS" if offset is not None else ""
            return f"{skipped}\n FETCH FIRST {count}{' PERCENT' if how['percent'] else ''} ROWS WITH TIES"
        text = f"\n LIMIT {count}{' PERCENT' if how and how['percent'] else ''}" if count is not None else ""
        return text + (f"\n OFFSET {offset}" if offset is not None else "")

    def _on_conflict_target(self, clause: Any, **options: Any) -> str:
        # The constructs of SQLite's dialect know no constraint by its name.
        if not hasattr(clause, "constraint_target"):
            clause.constraint_target = None
        return super()._on_conflict_target(clause, **options)


class DDLCompiler(PGDDLCompiler):
    """What changes the schema."""

    def visit_computed_column(self, generated: Any, **options: Any) -> str:
        text = self.sql_compiler.process(generated.sqltext, include_table=False, literal_binds=True)
        kind = {True: " STORED", False: " VIRTUAL", None: ""}[generated.persisted]
        return f"GENERATED ALWAYS AS ({text}){kind}"


class IdentifierPreparer(PGIdentifierPreparer):
    """Names: `schema="attached.main"` is a schema of an attached database."""

    def quote_schema(self, schema: str) -> str:
        if "." not in schema or getattr(schema, "quote", None):
            return str(self.quote(schema))
        return ".".join(self.quote(quoted_name(part, None)) for part in schema.split(".", 1))
