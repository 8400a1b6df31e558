# SQLAlchemy is not typed here: it need not be installed.
# mypy: disable-error-code="untyped-decorator, misc, no-any-return, attr-defined"
"""What is in the database, as SQLAlchemy's Inspector asks for it."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy.engine import reflection
from sqlalchemy.exc import NoSuchTableError

from inlay._parts import quote
from inlay.sqlalchemy._types import reflected

_SEQUENCE = re.compile(r"nextval\('((?:[^']|'')+)'\)$")
_NAME = r'(?:"(?:[^"]|"")*"|\w+)'
_INDEX = re.compile(rf"CREATE (?:UNIQUE )?INDEX {_NAME} ON {_NAME}(?:\.{_NAME})* (?:USING \w+ )?\(")
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[(),]|[^'"(),]+""")
_RULES = (("ondelete", "delete_rule"), ("onupdate", "update_rule"))


def _rows(connection: Any, query: str, *parameters: Any) -> list[Any]:
    rows: list[Any] = connection.exec_driver_sql(query, parameters).fetchall()
    return rows


def _place(schema: str | None, also_temporary: bool = False) -> tuple[str, tuple[str, ...]]:
    """Return the condition that rows of the catalog are of a schema, and its parameters."""
    if schema is None:
        temporary = "OR database_name = 'temp'" if also_temporary else ""
        return f"(database_name = current_database() AND schema_name = current_schema() {temporary})", ()
    if "." in schema and not getattr(schema, "quote", None):
        database, _, schema = schema.partition(".")
        return "database_name = ? AND schema_name = ?", (database, schema)
    return "database_name = current_database() AND schema_name = ?", (schema,)


def _parts(sql: str) -> tuple[list[tuple[str | None, str]], str | None]:
    """Return a CREATE INDEX's parts, each with its column's name unless it is an expression, and its condition."""
    start = _INDEX.match(sql)
    if start is None:
        raise ValueError(f"an index is not written as the catalog writes it: {sql}")
    parts, depth, begin, end = [], 0, start.end(), start.end()
    for token in _TOKEN.finditer(sql, start.end()):
        if token[0] in ",)" and depth == 0:
            parts.append(sql[begin : token.start()].strip())
            begin = end = token.end()
            if token[0] == ")":
                break
        depth += {"(": 1, ")": -1}.get(token[0], 0)
    condition = re.match(r" WHERE (.*?);?\s*$", sql[end:], re.S)
    return [(_column_of(part), part[1:-1]) for part in parts], condition[1] if condition else None


def _column_of(part: str) -> str | None:
    if part.startswith('"'):
        return part[1:-1].replace('""', '"')
    return None if part.startswith("(") else part


def _referred_schema(sql: str, name: str, schema: str | None) -> str | None:
    """Return the schema that a foreign key of a CREATE TABLE names, None for the schema main."""
    quoted = re.escape(quote(name))
    found = re.search(rf"^    CONSTRAINT {quoted} FOREIGN KEY .*? REFERENCES ({_NAME})\.{_NAME} \(", sql, re.M)
    # The catalog writes the schema out unless it is "main".
    referred = _column_of(found[1]) if found is not None else "main"
    if schema is not None and "." in schema:
        return f"{schema.partition('.')[0]}.{referred}"
    return None if referred == "main" else referred


class Reflection:
    """The part of the dialect that reads the catalog. A name without a schema may be a temporary table's."""

    def _of_table(self, connection: Any, what: str, table_name: str, schema: str | None) -> list[Any]:
        """Ask for `what`, which ends where conditions follow, about a table; raise if there is no such table."""
        place, parameters = _place(schema, also_temporary=True)
        found = _rows(connection, f"{what} {place} AND table_name = ?", *parameters, table_name)
        if not found and not self.has_table(connection, table_name, schema):
            raise NoSuchTableError(f"{schema}.{table_name}" if schema else table_name)
        return found

    def _has(self, connection: Any, catalog: str, column: str, name: str, schema: str | None) -> bool:
        place, parameters = _place(schema, also_temporary=True)
        return bool(_rows(connection, f"SELECT 1 FROM {catalog} WHERE {place} AND {column} = ?", *parameters, name))

    def _names(self, connection: Any, catalog: str, column: str, condition: str, schema: str | None) -> list[str]:
        place, parameters = _place(schema)
        query = f"SELECT {column} FROM {catalog} WHERE {place} AND {condition} ORDER BY 1"
        return [row[0] for row in _rows(connection, query, *parameters)]

    @reflection.cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> bool:
        """Whether there is a table or view of that name."""
        return self._has(connection, "duckdb_tables()", "table_name", table_name, schema) or self._has(
            connection, "duckdb_views()", "view_name", table_name, schema
        )

    @reflection.cache
    def has_sequence(self, connection: Any, sequence_name: str, schema: str | None = None, **_options: Any) -> bool:
        """Whether there is a sequence of that name."""
        return self._has(connection, "duckdb_sequences()", "sequence_name", sequence_name, schema)

    @reflection.cache
    def has_type(self, connection: Any, type_name: str, schema: str | None = None, **_options: Any) -> bool:
        """Whether CREATE TYPE made a type of that name."""
        return self._has(connection, "duckdb_types()", "type_name", type_name, schema)

    @reflection.cache
    def has_schema(self, connection: Any, schema_name: str, **_options: Any) -> bool:
        """Whether there is a schema of that name."""
        place, parameters = _place(schema_name)
        return bool(_rows(connection, f"SELECT 1 FROM duckdb_schemas() WHERE {place}", *parameters))

    @reflection.cache
    def get_schema_names(self, connection: Any, **_options: Any) -> list[str]:
        """Return the names of schemas, those of attached databases as `database.schema`."""
        query = (
            "SELECT CASE WHEN database_name = current_database() THEN schema_name "
            "ELSE database_name || '.' || schema_name END FROM duckdb_schemas() WHERE database_name <> 'temp' "
            "AND (database_name = current_database() OR schema_name NOT IN ('information_schema', 'pg_catalog')) "
            "ORDER BY database_name <> current_database(), 1"
        )
        return [row[0] for row in _rows(connection, query)]

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return the names of tables."""
        condition = "NOT temporary AND NOT is_materialized_view"
        return self._names(connection, "duckdb_tables()", "table_name", condition, schema)

    @reflection.cache
    def get_temp_table_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return the names of temporary tables of this connection."""
        return self._names(connection, "duckdb_tables()", "table_name", "temporary", "temp.main")

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return the names of views."""
        return self._names(connection, "duckdb_views()", "view_name", "NOT internal AND NOT temporary", schema)

    @reflection.cache
    def get_temp_view_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return the names of temporary views of this connection."""
        return self._names(connection, "duckdb_views()", "view_name", "temporary", "temp.main")

    @reflection.cache
    def get_materialized_view_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return the names of materialized views."""
        return self._names(connection, "duckdb_tables()", "table_name", "is_materialized_view", schema)

    @reflection.cache
    def get_sequence_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return the names of sequences."""
        return self._names(connection, "duckdb_sequences()", "sequence_name", "NOT temporary", schema)

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **_options: Any) -> str:
        """Return the text of a view."""
        place, parameters = _place(schema, also_temporary=True)
        query = (
            f"SELECT definition FROM duckdb_views() WHERE {place} AND view_name = ? UNION ALL "
            "SELECT regexp_replace(rtrim(sql, ';'), '^.*? AS ', '') FROM duckdb_tables() "
            f"WHERE {place} AND table_name = ? AND is_materialized_view"
        )
        rows = _rows(connection, query, *parameters, view_name, *parameters, view_name)
        if not rows:
            raise NoSuchTableError(f"{schema}.{view_name}" if schema else view_name)
        return str(rows[0][0])

    def _sql_of(self, connection: Any, table_name: str, schema: str | None) -> str:
        found = self._of_table(connection, "SELECT sql FROM duckdb_tables() WHERE", table_name, schema)
        return str(found[0][0]) if found else ""

    def _sequence(self, connection: Any, name: str, schema: str | None) -> dict[str, Any] | None:
        place, parameters = _place(schema, also_temporary=True)
        query = (
            "SELECT start_value AS start, increment_by AS increment, min_value AS minvalue, max_value AS maxvalue, "
            f"cycle FROM duckdb_sequences() WHERE {place} AND sequence_name = ?"
        )
        name = name.replace("''", "'").rpartition(".")[2].strip('"')
        for row in connection.exec_driver_sql(query, (*parameters, name)).mappings():
            return dict(row)
        return None

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> list[Any]:
        """Return the columns of a table or view."""
        query = (
            "SELECT column_name, data_type, is_nullable, column_default, comment, generation_expression, "
            "identity_generation FROM duckdb_columns() WHERE"
        )
        rows = self._of_table(connection, query, table_name, schema)
        sql = self._sql_of(connection, table_name, schema) if any(row[1] == "VARCHAR" for row in rows) else ""
        return [self._column(connection, schema, sql, *row) for row in rows]

    def _column(
        self,
        connection: Any,
        schema: str | None,
        sql: str,
        name: str,
        ty: str,
        nullable: bool,
        default: str | None,
        comment: str | None,
        computed: str | None,
        identity: str | None,
    ) -> dict[str, Any]:
        quoted = quote(name)
        collation = re.search(rf'^    {re.escape(quoted)} {re.escape(ty)} COLLATE "((?:[^"]|"")+)"', sql, re.M)
        column: dict[str, Any] = {
            "name": name,
            "type": reflected(ty, collation[1] if collation else None),
            "nullable": nullable,
            "default": default,
            "comment": comment,
            "autoincrement": False,
        }
        if computed is not None:
            column["computed"] = {"sqltext": computed, "persisted": True}
        sequence = _SEQUENCE.match(default or "")
        if identity is not None and sequence is not None:
            found = self._sequence(connection, sequence[1], schema) or {}
            column |= {"default": None, "autoincrement": True}
            column["identity"] = {"always": identity == "ALWAYS", **found, "cache": 1}
        elif sequence is not None:
            column["autoincrement"] = True
        return column

    def _constraints(self, connection: Any, kind: str, table_name: str, schema: str | None) -> dict[str, list[Any]]:
        """Return the columns of each constraint of a kind, in order, with the columns that they refer to."""
        query = (
            "SELECT constraint_name, column_name, referenced_column FROM (SELECT * FROM duckdb_key_columns() "
            f"ORDER BY constraint_name, ordinal_position) WHERE constraint_type = '{kind}' AND"
        )
        found: dict[str, list[Any]] = {}
        for name, column, referred in self._of_table(connection, query, table_name, schema):
            found.setdefault(name, []).append((column, referred))
        return found

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> Any:
        """Return the primary key."""
        for name, columns in self._constraints(connection, "PRIMARY KEY", table_name, schema).items():
            return {"name": name, "constrained_columns": [column for column, _ in columns]}
        return {"name": None, "constrained_columns": []}

    @reflection.cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **_options: Any
    ) -> list[Any]:
        """Return the unique constraints, without those that the catalog shows for a unique index."""
        indexed = [
            index["column_names"]
            for index in self.get_indexes(connection, table_name, schema)
            if index["unique"] and "dialect_options" not in index
        ]
        constraints = self._constraints(connection, "UNIQUE", table_name, schema)
        found = [(name, [column for column, _ in columns]) for name, columns in constraints.items()]
        return [
            {"name": name, "column_names": columns}
            for name, columns in found
            if columns not in indexed or name != "_".join([table_name, *columns, "key"])
        ]

    @reflection.cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **_options: Any
    ) -> list[Any]:
        """Return the conditions that rows satisfy."""
        query = "SELECT constraint_name, expression FROM duckdb_constraints() WHERE constraint_type = 'CHECK' AND"
        found = self._of_table(connection, query, table_name, schema)
        return [{"name": name, "sqltext": text} for name, text in sorted(found, key=lambda row: row[0])]

    @reflection.cache
    def get_foreign_keys(
        self, connection: Any, table_name: str, schema: str | None = None, **_options: Any
    ) -> list[Any]:
        """Return the foreign keys, with what is done when the row that is referred to goes or changes."""
        query = (
            "SELECT constraint_name, referenced_table, delete_rule, update_rule, is_deferrable, "
            "initially_deferred "
            "FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' AND"
        )
        keys = []
        columns = self._constraints(connection, "FOREIGN KEY", table_name, schema)
        rows = self._of_table(connection, query, table_name, schema)
        sql = self._sql_of(connection, table_name, schema) if rows else ""
        for row in rows:
            options = {name: getattr(row, rule) for name, rule in _RULES if getattr(row, rule) != "NO ACTION"}
            if row.is_deferrable:
                options["deferrable"] = True
            if row.initially_deferred:
                options["initially"] = "DEFERRED"
            keys.append(
                {
                    "name": row.constraint_name,
                    "constrained_columns": [column for column, _ in columns[row.constraint_name]],
                    "referred_schema": _referred_schema(sql, row.constraint_name, schema),
                    "referred_table": row.referenced_table,
                    "referred_columns": [referred for _, referred in columns[row.constraint_name]],
                    "options": options,
                }
            )
        return sorted(keys, key=lambda key: key["name"])

    @reflection.cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> list[Any]:
        """Return the indexes: columns by their names, expressions by their text, conditions as `postgresql_where`."""
        query = "SELECT index_name, is_unique, sql FROM duckdb_indexes() WHERE NOT is_primary AND"
        indexes = []
        for name, unique, sql in self._of_table(connection, query, table_name, schema):
            parts, condition = _parts(sql)
            index: dict[str, Any] = {"name": name, "unique": unique, "column_names": [column for column, _ in parts]}
            if any(column is None for column, _ in parts):
                index["expressions"] = [text if column is None else column for column, text in parts]
            if condition is not None:
                index["dialect_options"] = {"postgresql_where": condition}
            indexes.append(index)
        return sorted(indexes, key=lambda index: index["name"])

    @reflection.cache
    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> Any:
        """Return the comment of a table or view."""
        found = self._of_table(connection, "SELECT comment FROM duckdb_tables() WHERE", table_name, schema)
        if not found:
            place, parameters = _place(schema, also_temporary=True)
            query = f"SELECT comment FROM duckdb_views() WHERE {place} AND view_name = ?"
            found = _rows(connection, query, *parameters, table_name)
        return {"text": found[0][0] if found else None}

    @reflection.cache
    def get_table_options(self, connection: Any, table_name: str, schema: str | None = None, **_options: Any) -> Any:
        """Return no options."""
        self._of_table(connection, "SELECT 1 FROM duckdb_tables() WHERE", table_name, schema)
        return {}

    def _load_enums(self, connection: Any, schema: str | None = None, **_options: Any) -> list[Any]:
        """Return the types that CREATE TYPE ... AS ENUM made: `inspector.get_enums()`."""
        place, parameters = ("NOT internal", ()) if schema == "*" else _place(schema)
        query = (
            "SELECT type_name, schema_name, schema_name = current_schema(), labels::VARCHAR[] FROM duckdb_types() "
            f"WHERE NOT internal AND logical_type = 'ENUM' AND {place} ORDER BY 2, 1"
        )
        return [
            {"name": name, "schema": of, "visible": visible, "labels": labels}
            for name, of, visible, labels in _rows(connection, query, *parameters)
        ]

    def _load_domains(self, connection: Any, schema: str | None = None, **_options: Any) -> list[Any]:
        """Return no domains."""
        return []

    def _get_foreign_table_names(self, connection: Any, schema: str | None = None, **_options: Any) -> list[str]:
        """Return no names."""
        return []
