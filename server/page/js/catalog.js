// What the catalog has, as one picture that the tree, completion and colours share.
import { ask } from "./api.js";
import { OWN } from "./result.js";

export const catalog = { databases: [], tables: [], types: [], functions: new Map(), keywords: new Set(), reserved: new Set(), current: { database: "", schema: "" }, version: "" };

const listeners = [];
export const onCatalog = (listener) => listeners.push(listener);

/** What never changes while the server runs: words and functions. */
export async function loadWords() {
  const keywords = await ask("SELECT keyword_name AS name, keyword_category AS category FROM inlay_keywords()");
  catalog.keywords = new Set(keywords.map((word) => word.name));
  catalog.reserved = new Set(keywords.filter((word) => word.category === "reserved").map((word) => word.name));
  const functions = await ask(`SELECT function_name AS name, function_type AS kind, signature, description, examples[1] AS example, alias_of
    FROM inlay_functions() WHERE schema_name = 'main' ORDER BY function_name, len(parameters)`);
  for (const { name, kind, signature, description, example, alias_of } of functions) {
    if (!/^[a-z_][a-z0-9_]*$/i.test(name)) continue;
    const known = catalog.functions.get(name) ?? { name, kind, signatures: [], description, example, aliasOf: alias_of };
    if (signature && !known.signatures.includes(signature)) known.signatures.push(signature);
    catalog.functions.set(name, known);
  }
  tell();
}

/** Tables, columns, types and sizes. */
export async function loadCatalog() {
  const [current] = await ask("SELECT current_database() AS database, current_schema() AS schema, version() AS version");
  const databases = await ask(`SELECT d.database_name AS name, d.path, d.readonly, s.used_blocks * s.block_size + s.wal_bytes AS bytes
    FROM inlay_databases() AS d LEFT JOIN inlay_file_space() AS s USING (database_name) WHERE NOT d.internal ORDER BY d.database_oid`);
  const tables = await ask(`SELECT database_name AS database, schema_name AS schema, table_name AS name, 'table' AS kind, estimated_size AS rows, table_oid AS oid, comment
    FROM inlay_tables() WHERE NOT internal AND NOT starts_with(table_name, '${OWN}')
    UNION ALL SELECT database_name, schema_name, view_name, 'view', NULL, view_oid, comment FROM inlay_views() WHERE NOT internal ORDER BY 1, 2, 3`);
  const columns = await ask(`SELECT database_name AS database, schema_name AS schema, table_name AS name, column_name AS column, data_type AS type, is_nullable AS nullable
    FROM inlay_columns() WHERE NOT internal AND NOT starts_with(table_name, '${OWN}') ORDER BY table_oid, column_index`);
  const types = await ask("SELECT database_name AS database, schema_name AS schema, type_name AS name, logical_type AS type, labels::VARCHAR AS labels FROM inlay_types() WHERE NOT internal ORDER BY 1, 2, 3");
  const byName = new Map();
  for (const table of tables) {
    table.columns = [];
    byName.set([table.database, table.schema, table.name].join("\0"), table);
  }
  for (const { database, schema, name, column, type, nullable } of columns) {
    byName.get([database, schema, name].join("\0"))?.columns.push({ name: column, type, nullable });
  }
  Object.assign(catalog, { current: { database: current.database, schema: current.schema }, version: current.version, databases, tables, types });
  tell();
}

function tell() {
  for (const listener of listeners) listener(catalog);
}

/** How a table is called from where the session is. */
export function shortName(table, named) {
  const { database, schema } = catalog.current;
  const parts = table.database === database || table.database === "temp"
    ? table.schema === schema || table.database === "temp" ? [table.name] : [table.schema, table.name]
    : table.schema === "main" ? [table.database, table.name] : [table.database, table.schema, table.name];
  return parts.map((part) => named(part, catalog.reserved)).join(".");
}
