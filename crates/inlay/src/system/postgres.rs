//! The parts of `pg_catalog` that tools join by numbers: relations, columns, types, keys, functions; and what turns names into numbers.
//!
//! Tools of PostgreSQL expect that keys are indexes with numbers of their own, that arrays are types, and that `'t'::regclass` is a number which
//! `pg_class` has: the parser reads such casts as calls of `regclass_number` and `regclass_name`. The number of a key's index is that of its
//! constraint. Which queries are asked is recorded in `server/tests/it/catalog/`.

/// As `views::VIEWS`.
pub(super) const VIEWS: &[(&str, &str, &str)] = &[
    (
        "pg_catalog",
        "pg_class",
        "SELECT table_oid AS oid, table_name AS relname, schema_oid AS relnamespace, 0 AS reltype, 0 AS reloftype,
                10 AS relowner, 2 AS relam, 0 AS relfilenode, 0 AS reltablespace, 0 AS relpages,
                CAST(estimated_size AS REAL) AS reltuples, 0 AS relallvisible, 0 AS reltoastrelid,
                index_count > 0 AS relhasindex, false AS relisshared,
                CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence,
                CASE WHEN is_materialized_view THEN 'm' ELSE 'r' END AS relkind, column_count AS relnatts,
                check_constraint_count AS relchecks, false AS relhasoids, has_primary_key AS relhaspkey,
                false AS relhasrules, table_oid IN (SELECT f.table_oid FROM inlay_constraints() f WHERE f.constraint_type = 'FOREIGN KEY')
                    OR table_name IN (SELECT f.referenced_table FROM inlay_constraints() f WHERE f.constraint_type = 'FOREIGN KEY') AS relhastriggers, false AS relhassubclass, false AS relrowsecurity,
                false AS relforcerowsecurity, true AS relispopulated, 'd' AS relreplident, false AS relispartition,
                CAST(NULL AS VARCHAR[]) AS relacl, CAST(NULL AS VARCHAR[]) AS reloptions,
                CAST(NULL AS VARCHAR) AS relpartbound, 0 AS relfrozenxid, 0 AS relminmxid, 0 AS relrewrite FROM inlay_tables()
         UNION ALL
         SELECT view_oid, view_name, schema_oid, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, false, false,
                CASE WHEN temporary THEN 't' ELSE 'p' END, 'v', column_count, 0, false, false, true, false, false,
                false, false, true, 'n', false, NULL, NULL, NULL, 0, 0, 0 FROM inlay_views() WHERE NOT internal
         UNION ALL
         SELECT sequence_oid, sequence_name, schema_oid, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, false, false,
                CASE WHEN temporary THEN 't' ELSE 'p' END, 'S', 0, 0, false, false, false, false, false, false,
                false, true, 'n', false, NULL, NULL, NULL, 0, 0, 0 FROM inlay_sequences()
         UNION ALL
         SELECT index_oid, index_name, schema_oid, 0, 0, 10, 403, 0, 0, 0, 0, 0, 0, false, false, 'p', 'i', len(keys), 0,
                false, false, false, false, false, false, false, true, 'n', false, NULL, NULL, NULL, 0, 0, 0
         FROM pg_indexes_and_keys()",
    ),
    (
        "pg_catalog",
        "pg_attribute",
        "SELECT table_oid AS attrelid, column_name AS attname, data_type_id AS atttypid, -1 AS attstattarget,
                -1 AS attlen, column_index AS attnum, CASE WHEN data_type LIKE '%]' THEN 1 ELSE 0 END AS attndims, -1 AS attcacheoff,
                CASE WHEN data_type LIKE 'DECIMAL%' AND data_type NOT LIKE '%]' THEN numeric_precision * 65536 + numeric_scale + 4
                     ELSE -1 END AS atttypmod,
                false AS attbyval, 'x' AS attstorage, 'i' AS attalign, NOT is_nullable AS attnotnull,
                column_default IS NOT NULL OR is_generated AS atthasdef, false AS atthasmissing,
                CASE identity_generation WHEN 'ALWAYS' THEN 'a' WHEN 'BY DEFAULT' THEN 'd' ELSE '' END AS attidentity,
                CASE WHEN is_generated THEN 's' ELSE '' END AS attgenerated, false AS attisdropped,
                true AS attislocal, 0 AS attinhcount, 0 AS attcollation, CAST(NULL AS VARCHAR[]) AS attacl,
                CAST(NULL AS VARCHAR[]) AS attoptions, CAST(NULL AS VARCHAR[]) AS attfdwoptions, '' AS attcompression FROM inlay_columns()
         UNION ALL
         SELECT k.index_oid, coalesce(c.column_name, 'expr'), coalesce(c.data_type_id, 25), -1, -1, k.place, 0, -1, -1, false, 'x', 'i', false,
                false, false, '', '', false, true, 0, 0, NULL, NULL, NULL, ''
         FROM (SELECT index_oid, table_oid, unnest(keys) AS number, generate_subscripts(keys, 1) AS place FROM pg_indexes_and_keys()) k
         LEFT JOIN inlay_columns() c ON c.table_oid = k.table_oid AND c.column_index = k.number",
    ),
    (
        "pg_catalog",
        "pg_type",
        "SELECT oid, typname, 11 AS typnamespace, 10 AS typowner, typlen, false AS typbyval, typtype, typcategory,
                typname IN ('bool', 'text', 'float8', 'timestamptz', 'oid', 'inet', 'interval') AS typispreferred, true AS typisdefined,
                ',' AS typdelim, 0 AS typrelid, typelem, typarray,
                CASE typcategory WHEN 'A' THEN 'array_' ELSE typname END || 'in' AS typinput,
                CASE typcategory WHEN 'A' THEN 'array_' ELSE typname END || 'out' AS typoutput,
                CASE typcategory WHEN 'A' THEN 'array_' ELSE typname END || 'recv' AS typreceive,
                CASE typcategory WHEN 'A' THEN 'array_' ELSE typname END || 'send' AS typsend, '-' AS typmodin, '-' AS typmodout,
                '-' AS typanalyze, 'i' AS typalign, 'x' AS typstorage, false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims,
                0 AS typcollation, CAST(NULL AS VARCHAR) AS typdefaultbin, CAST(NULL AS VARCHAR) AS typdefault,
                CAST(NULL AS VARCHAR[]) AS typacl, CASE typcategory WHEN 'A' THEN 'array_subscript_handler' ELSE '-' END AS typsubscript
         FROM (SELECT oid, typname, typlen, typtype, typcategory, 0 AS typelem, typarray FROM pg_base_types()
               UNION ALL
               SELECT typarray, '_' || typname, -1, typtype, 'A', oid, 0 FROM pg_base_types() WHERE typarray <> 0)
         UNION ALL
         SELECT type_oid, type_name, schema_oid, 10, 4, false, CASE WHEN logical_type = 'ENUM' THEN 'e' ELSE 'd' END,
                CASE WHEN logical_type = 'ENUM' THEN 'E' ELSE 'U' END, false, true, ',', 0, 0, 0, 'enum_in', 'enum_out', 'enum_recv', 'enum_send',
                '-', '-', '-', 'i', 'p', false, 0, -1, 0, 0, NULL, NULL, NULL, '-'
         FROM inlay_types() WHERE NOT internal",
    ),
    (
        "pg_catalog",
        "pg_index",
        "SELECT index_oid AS indexrelid, table_oid AS indrelid, len(keys) AS indnatts, len(keys) AS indnkeyatts,
                is_unique AS indisunique, false AS indnullsnotdistinct, is_primary AS indisprimary, false AS indisexclusion, true AS indimmediate,
                false AS indisclustered, true AS indisvalid, false AS indcheckxmin, true AS indisready,
                true AS indislive, false AS indisreplident, keys AS indkey, CAST(list_transform(keys, lambda k: 0) AS BIGINT[]) AS indcollation,
                CAST(list_transform(keys, lambda k: 0) AS BIGINT[]) AS indclass, CAST(list_transform(keys, lambda k: 0) AS SMALLINT[]) AS indoption,
                CASE WHEN list_contains(keys, 0) THEN columns END AS indexprs,
                nullif(regexp_extract(sql, '[)] WHERE (.*)$', 1), '') AS indpred FROM pg_indexes_and_keys()",
    ),
    (
        "pg_catalog",
        "pg_indexes",
        "SELECT schema_name AS schemaname, table_name AS tablename, index_name AS indexname,
                CAST(NULL AS VARCHAR) AS tablespace, sql AS indexdef FROM pg_indexes_and_keys()",
    ),
    (
        "pg_catalog",
        "pg_constraint",
        "SELECT c.constraint_oid AS oid, c.constraint_name AS conname, c.schema_oid AS connamespace,
                CASE c.constraint_type WHEN 'PRIMARY KEY' THEN 'p' WHEN 'UNIQUE' THEN 'u' WHEN 'FOREIGN KEY' THEN 'f'
                     WHEN 'NOT NULL' THEN 'n' ELSE 'c' END AS contype,
                c.is_deferrable AS condeferrable, c.initially_deferred AS condeferred, true AS convalidated, c.table_oid AS conrelid,
                0 AS contypid,
                CASE WHEN c.constraint_type IN ('PRIMARY KEY', 'UNIQUE') THEN c.constraint_oid ELSE coalesce(u.constraint_oid, 0) END AS conindid,
                0 AS conparentid, coalesce(t.table_oid, 0) AS confrelid,
                CASE c.update_rule WHEN 'CASCADE' THEN 'c' WHEN 'SET NULL' THEN 'n' WHEN 'SET DEFAULT' THEN 'd' WHEN 'RESTRICT' THEN 'r'
                     WHEN 'NO ACTION' THEN 'a' ELSE ' ' END AS confupdtype,
                CASE c.delete_rule WHEN 'CASCADE' THEN 'c' WHEN 'SET NULL' THEN 'n' WHEN 'SET DEFAULT' THEN 'd' WHEN 'RESTRICT' THEN 'r'
                     WHEN 'NO ACTION' THEN 'a' ELSE ' ' END AS confdeltype,
                's' AS confmatchtype, true AS conislocal, 0 AS coninhcount, false AS connoinherit,
                pg_numbers(c.constraint_column_indexes) AS conkey,
                CASE WHEN c.constraint_type = 'FOREIGN KEY' THEN pg_numbers(c.referenced_column_indexes) END AS confkey, c.expression AS conbin,
                CAST(NULL AS VARCHAR[]) AS confdelsetcols, CAST(NULL AS VARCHAR[]) AS conexclop
         FROM inlay_constraints() c
         LEFT JOIN inlay_tables() t ON t.table_name = c.referenced_table AND t.database_name = c.database_name AND t.schema_name = c.schema_name
         LEFT JOIN inlay_constraints() u ON u.table_oid = t.table_oid AND u.constraint_name = c.unique_constraint_name
                                            AND u.constraint_type IN ('PRIMARY KEY', 'UNIQUE')",
    ),
    (
        "pg_catalog",
        "pg_description",
        "SELECT m.object_oid AS objoid, CASE WHEN m.object_oid IN (SELECT oid FROM inlay_schemas()) THEN 2615
                     WHEN m.object_oid IN (SELECT type_oid FROM inlay_types()) THEN 1247 ELSE 1259 END AS classoid,
                coalesce(c.column_index, 0) AS objsubid, m.comment AS description FROM inlay_comments() m
         LEFT JOIN inlay_columns() c ON c.table_oid = m.object_oid AND c.column_name = m.column_name",
    ),
    (
        "pg_catalog",
        "pg_shdescription",
        "SELECT 0::BIGINT AS objoid, 1262 AS classoid, '' AS description WHERE false",
    ),
    (
        "pg_catalog",
        "pg_proc",
        "SELECT function_oid AS oid, function_name AS proname, coalesce(s.oid, 11) AS pronamespace, 10 AS proowner, 12 AS prolang,
                1 AS procost, 0 AS prorows, 0 AS provariadic,
                CASE function_type WHEN 'aggregate' THEN 'a' WHEN 'window' THEN 'w' ELSE 'f' END AS prokind,
                false AS prosecdef, false AS proleakproof, false AS proisstrict,
                function_type LIKE 'table%' AS proretset,
                CASE stability WHEN 'VOLATILE' THEN 'v' WHEN 'STABLE' THEN 's' ELSE 'i' END AS provolatile,
                's' AS proparallel, coalesce(len(parameters), 0) AS pronargs, 0 AS pronargdefaults, coalesce(t.type_oid, 2276) AS prorettype,
                parameter_types AS proargtypes, parameters AS proargnames, macro_definition AS prosrc,
                function_type = 'aggregate' AS proisagg, CAST(NULL AS VARCHAR[]) AS proacl,
                CAST(NULL AS VARCHAR[]) AS proconfig, 0 AS prosupport, CAST(NULL AS BIGINT[]) AS proallargtypes, CAST(NULL AS VARCHAR[]) AS proargmodes,
                CAST(NULL AS VARCHAR) AS proargdefaults, CAST(NULL AS VARCHAR) AS probin, CAST(NULL AS VARCHAR) AS prosqlbody
         FROM inlay_functions() f
         LEFT JOIN inlay_schemas() s ON NOT f.internal AND s.database_name = f.database_name AND s.schema_name = f.schema_name
         LEFT JOIN inlay_types() t ON t.internal AND t.logical_type = f.return_type",
    ),
    (
        "pg_catalog",
        "pg_stat_activity",
        "SELECT database_oid AS datid, database_name AS datname, pg_backend_pid() AS pid, CAST(NULL AS INTEGER) AS leader_pid, 10 AS usesysid,
                current_user AS usename, '' AS application_name, CAST(NULL AS VARCHAR) AS client_addr, CAST(NULL AS VARCHAR) AS client_hostname,
                CAST(NULL AS INTEGER) AS client_port, CAST(NULL AS TIMESTAMPTZ) AS backend_start, now() AS xact_start, now() AS query_start,
                now() AS state_change, CAST(NULL AS VARCHAR) AS wait_event_type, CAST(NULL AS VARCHAR) AS wait_event, 'active' AS state,
                CAST(NULL AS BIGINT) AS backend_xid, CAST(NULL AS BIGINT) AS backend_xmin, CAST(NULL AS BIGINT) AS query_id,
                current_query() AS query, 'client backend' AS backend_type
         FROM inlay_databases() WHERE database_name = current_database()",
    ),
    (
        "pg_catalog",
        "pg_locks",
        "SELECT 'relation' AS locktype, 0::BIGINT AS database, 0::BIGINT AS relation, 0 AS pid, '' AS mode, true AS granted WHERE false",
    ),
    (
        "pg_catalog",
        "pg_stat_user_tables",
        "SELECT table_oid AS relid, schema_name AS schemaname, table_name AS relname, CAST(NULL AS BIGINT) AS seq_scan, CAST(NULL AS BIGINT) AS idx_scan,
                CAST(NULL AS BIGINT) AS n_tup_ins, CAST(NULL AS BIGINT) AS n_tup_upd, CAST(NULL AS BIGINT) AS n_tup_del, estimated_size AS n_live_tup,
                0::BIGINT AS n_dead_tup, CAST(NULL AS TIMESTAMPTZ) AS last_vacuum, CAST(NULL AS TIMESTAMPTZ) AS last_analyze
         FROM inlay_tables() WHERE database_name = current_database()",
    ),
    (
        "pg_catalog",
        "pg_stat_database",
        "SELECT database_oid AS datid, database_name AS datname FROM inlay_databases() WHERE NOT internal",
    ),
    (
        "pg_catalog",
        "pg_timezone_names",
        "SELECT 'UTC' AS name, 'UTC' AS abbrev, INTERVAL '0' SECOND AS utc_offset, false AS is_dst",
    ),
    (
        "pg_catalog",
        "pg_available_extensions",
        "SELECT '' AS name, '' AS default_version, '' AS installed_version, '' AS comment WHERE false",
    ),
    (
        "pg_catalog",
        "pg_aggregate",
        "SELECT 0::BIGINT AS aggfnoid, '' AS aggkind WHERE false",
    ),
    (
        "information_schema",
        "routines",
        "SELECT database_name AS specific_catalog, schema_name AS specific_schema, function_name || '_' || function_oid AS specific_name,
                database_name AS routine_catalog, schema_name AS routine_schema, function_name AS routine_name, 'FUNCTION' AS routine_type,
                return_type AS data_type, 'SQL' AS routine_body, macro_definition AS routine_definition, 'SQL' AS external_language
         FROM inlay_functions() WHERE NOT internal",
    ),
    (
        "information_schema",
        "parameters",
        "SELECT '' AS specific_catalog, '' AS specific_schema, '' AS specific_name, 0 AS ordinal_position, '' AS parameter_mode,
                '' AS parameter_name, '' AS data_type WHERE false",
    ),
    (
        "information_schema",
        "triggers",
        "SELECT '' AS trigger_catalog, '' AS trigger_schema, '' AS trigger_name, '' AS event_manipulation, '' AS event_object_catalog,
                '' AS event_object_schema, '' AS event_object_table, '' AS action_statement, '' AS action_timing WHERE false",
    ),
    (
        "information_schema",
        "domains",
        "SELECT '' AS domain_catalog, '' AS domain_schema, '' AS domain_name, '' AS data_type, '' AS domain_default WHERE false",
    ),
    (
        "information_schema",
        "element_types",
        "SELECT '' AS object_catalog, '' AS object_schema, '' AS object_name, '' AS object_type, '' AS collection_type_identifier,
                '' AS data_type WHERE false",
    ),
];

/// Macros that stand for functions of PostgreSQL which know numbers.
pub(super) const MACROS: &[(&str, &str)] = &[
    // Positions that count from 0, as text, as PostgreSQL counts.
    ("pg_numbers", "(positions) AS CAST(list_transform(CAST(positions AS BIGINT[]), lambda i: i + 1) AS SMALLINT[])"),
    (
        "pg_table_is_visible",
        "(oid) AS oid IN (SELECT v.table_oid FROM inlay_tables() v WHERE pg_is_searched(v.database_name, v.schema_name)
            UNION ALL SELECT v.view_oid FROM inlay_views() v WHERE pg_is_searched(v.database_name, v.schema_name)
            UNION ALL SELECT v.sequence_oid FROM inlay_sequences() v WHERE pg_is_searched(v.database_name, v.schema_name)
            UNION ALL SELECT v.index_oid FROM pg_indexes_and_keys() v WHERE pg_is_searched(v.database_name, v.schema_name))",
    ),
    (
        "pg_is_searched",
        "(database, schema) AS database = 'temp' OR database = current_database() AND schema = current_schema()",
    ),
    (
        "pg_get_indexdef",
        "(oid) AS (SELECT min(i.sql) FROM pg_indexes_and_keys() i WHERE i.index_oid = oid),
         (oid, number, pretty) AS (SELECT min(CASE WHEN number = 0 THEN i.sql
                WHEN i.keys[number] = 0 THEN CASE WHEN len(i.keys) = 1 THEN i.columns ELSE trim(string_split(i.columns, ',')[number]) END
                ELSE (SELECT min(c.column_name) FROM inlay_columns() c WHERE c.table_oid = i.table_oid AND c.column_index = i.keys[number]) END)
            FROM pg_indexes_and_keys() i WHERE i.index_oid = oid)",
    ),
    (
        "pg_constraint_text",
        "(kind, written, columns, expression, on_update, on_delete, is_deferrable, is_deferred) AS CASE kind
                WHEN 'PRIMARY KEY' THEN 'PRIMARY KEY (' || columns[2:-2] || ')'
                WHEN 'UNIQUE' THEN 'UNIQUE (' || columns[2:-2] || ')'
                WHEN 'CHECK' THEN 'CHECK ((' || expression || '))'
                ELSE written || CASE WHEN on_update <> 'NO ACTION' THEN ' ON UPDATE ' || on_update ELSE '' END
                    || CASE WHEN on_delete <> 'NO ACTION' THEN ' ON DELETE ' || on_delete ELSE '' END END
            || CASE WHEN is_deferrable THEN ' DEFERRABLE' ELSE '' END || CASE WHEN is_deferred THEN ' INITIALLY DEFERRED' ELSE '' END",
    ),
    (
        "pg_get_constraintdef",
        "(oid) AS (SELECT min(pg_constraint_text(c.constraint_type, c.constraint_text, c.constraint_column_names, c.expression, c.update_rule,
                c.delete_rule, c.is_deferrable, c.initially_deferred)) FROM inlay_constraints() c WHERE c.constraint_oid = oid),
         (oid, pretty) AS (SELECT min(pg_constraint_text(c.constraint_type, c.constraint_text, c.constraint_column_names, c.expression, c.update_rule,
                c.delete_rule, c.is_deferrable, c.initially_deferred)) FROM inlay_constraints() c WHERE c.constraint_oid = oid)",
    ),
    // The name of a type as pg_type has it.
    ("pg_type_name", "(oid) AS (SELECT min(t.typname) FROM pg_catalog.pg_type t WHERE t.oid = oid)"),
    (
        "pg_type_words",
        "(name, modifier) AS CASE name WHEN 'int4' THEN 'integer' WHEN 'int8' THEN 'bigint' WHEN 'int2' THEN 'smallint' WHEN 'float4' THEN 'real'
                WHEN 'float8' THEN 'double precision' WHEN 'bool' THEN 'boolean' WHEN 'varchar' THEN 'character varying'
                WHEN 'bpchar' THEN 'character' WHEN 'char' THEN '\"char\"' WHEN 'varbit' THEN 'bit varying'
                WHEN 'timestamp' THEN 'timestamp without time zone' WHEN 'timestamptz' THEN 'timestamp with time zone'
                WHEN 'time' THEN 'time without time zone' WHEN 'timetz' THEN 'time with time zone'
                WHEN 'numeric' THEN CASE WHEN modifier >= 4 THEN format('numeric({},{})', (modifier - 4) // 65536, (modifier - 4) % 65536)
                    ELSE 'numeric' END
                ELSE name END",
    ),
    (
        "format_type",
        "(oid, modifier := NULL) AS CASE WHEN oid IS NULL THEN NULL ELSE coalesce((SELECT min(CASE WHEN t.typelem <> 0
                THEN pg_type_words(substr(t.typname, 2), modifier) || '[]' ELSE pg_type_words(t.typname, modifier) END)
            FROM pg_catalog.pg_type t WHERE t.oid = oid), CASE oid WHEN 0 THEN '-' ELSE '???' END) END",
    ),
    // Behind casts to regtype, regclass and regnamespace.
    (
        "to_regtype",
        "(name) AS (SELECT min(t.oid) FROM pg_catalog.pg_type t WHERE lower(replace(CAST(name AS VARCHAR), 'pg_catalog.', '')) IN (t.typname,
            CASE WHEN t.typelem <> 0 THEN pg_type_words(substr(t.typname, 2), NULL) || '[]' ELSE pg_type_words(t.typname, NULL) END,
            CASE t.typname WHEN 'int4' THEN 'int' WHEN '_int4' THEN 'int[]' WHEN 'numeric' THEN 'decimal' END,
            CASE WHEN t.typelem <> 0 THEN substr(t.typname, 2) || '[]' END))",
    ),
    (
        "to_regclass",
        "(name) AS (SELECT min(r.oid) FROM (SELECT c.oid, c.relname, n.nspname FROM pg_catalog.pg_class c
                    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                UNION ALL SELECT oid, relname, 'pg_catalog' FROM pg_catalog_tables()) r,
                (SELECT parse_ident(CASE WHEN try_cast(name AS BIGINT) IS NULL THEN CAST(name AS VARCHAR) END) AS parts) w
            WHERE r.relname = w.parts[-1] AND r.nspname IN (w.parts[-2],
                CASE WHEN len(w.parts) = 1 THEN current_schema() END, CASE WHEN len(w.parts) = 1 THEN 'pg_catalog' END))",
    ),
    (
        "to_regnamespace",
        "(name) AS (SELECT min(n.oid) FROM pg_catalog.pg_namespace n WHERE n.nspname = CAST(name AS VARCHAR))",
    ),
    (
        "regtype_number",
        "(name) AS coalesce(try_cast(name AS BIGINT), to_regtype(name),
            CASE WHEN name IS NOT NULL THEN error('type \"' || name || '\" does not exist') END)",
    ),
    (
        "regclass_number",
        "(name) AS coalesce(try_cast(name AS BIGINT), to_regclass(name),
            CASE WHEN name IS NOT NULL THEN error('relation \"' || name || '\" does not exist') END)",
    ),
    (
        "regnamespace_number",
        "(name) AS coalesce(try_cast(name AS BIGINT), to_regnamespace(name),
            CASE WHEN name IS NOT NULL THEN error('schema \"' || name || '\" does not exist') END)",
    ),
    (
        "regclass_name",
        "(relation) AS coalesce(CASE WHEN try_cast(relation AS BIGINT) = 0 THEN '-' END, (SELECT min(CASE WHEN n.nspname = current_schema() THEN quote_ident(c.relname)
                ELSE quote_ident(n.nspname) || '.' || quote_ident(c.relname) END)
            FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = try_cast(relation AS BIGINT)),
            (SELECT min(relname) FROM pg_catalog_tables() WHERE oid = try_cast(relation AS BIGINT)), CAST(relation AS VARCHAR))",
    ),
    (
        "regtype_name",
        "(type) AS coalesce(format_type(coalesce(try_cast(type AS BIGINT), to_regtype(type)), NULL), CAST(type AS VARCHAR))",
    ),
    (
        "regnamespace_name",
        "(schema) AS coalesce((SELECT min(n.nspname) FROM pg_catalog.pg_namespace n WHERE n.oid = try_cast(schema AS BIGINT)), CAST(schema AS VARCHAR))",
    ),
    ("_pg_expandarray", "(list) AS unnest(list_transform(list, lambda value, place: {'x': value, 'n': place}))"),
    ("oidvectortypes", "(types) AS array_to_string(types, ', ')"),
    ("pg_backend_pid", "() AS CAST(current_connection_id() AS INTEGER)"),
    ("pg_partition_ancestors", "(relation) AS CAST(relation AS BIGINT)"),
    // There are no locks of this kind that a session could hold.
    ("pg_advisory_unlock_all", "() AS CAST(NULL AS VARCHAR)"),
    ("pg_my_temp_schema", "() AS 0"),
    ("pg_is_other_temp_schema", "(oid) AS false"),
    ("pg_postmaster_start_time", "() AS CAST(NULL AS TIMESTAMPTZ)"),
    ("pg_conf_load_time", "() AS CAST(NULL AS TIMESTAMPTZ)"),
    ("inet_server_port", "() AS CAST(NULL AS INTEGER)"),
    ("inet_client_port", "() AS CAST(NULL AS INTEGER)"),
    ("pg_opclass_is_visible", "(oid) AS true"),
    ("pg_opfamily_is_visible", "(oid) AS true"),
    ("pg_conversion_is_visible", "(oid) AS true"),
    ("pg_ts_config_is_visible", "(oid) AS true"),
    ("pg_ts_dict_is_visible", "(oid) AS true"),
    ("pg_stat_get_numscans", "(oid) AS CAST(NULL AS BIGINT)"),
    ("pg_column_is_updatable", "(relation, number, include_triggers) AS true"),
    ("pg_relation_is_updatable", "(relation, include_triggers) AS 28"),
];

/// Tables of such numbers.
pub(super) const TABLE_MACROS: &[(&str, &str)] = &[
    (
        "pg_indexes_and_keys",
        "() AS TABLE SELECT database_name, schema_name, schema_oid, index_name, index_oid, table_name, table_oid, is_unique, is_primary,
                CAST(CAST(column_numbers AS BIGINT[]) AS SMALLINT[]) AS keys, expressions[2:-2] AS columns,
                regexp_replace(rtrim(sql, ';'), ' [(]', ' USING btree (') AS sql FROM inlay_indexes()
         UNION ALL
         SELECT database_name, schema_name, schema_oid, constraint_name, constraint_oid, table_name, table_oid, true,
                constraint_type = 'PRIMARY KEY', pg_numbers(constraint_column_indexes), constraint_column_names[2:-2],
                'CREATE UNIQUE INDEX ' || quote_ident(constraint_name) || ' ON ' || quote_ident(schema_name) || '.' || quote_ident(table_name)
                    || ' USING btree (' || constraint_column_names[2:-2] || ')'
         FROM inlay_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE')",
    ),
    (
        "pg_base_types",
        "() AS TABLE SELECT * FROM (VALUES (16, 'bool', 1, 'b', 'B', 1000), (17, 'bytea', -1, 'b', 'U', 1001), (18, 'char', 1, 'b', 'Z', 1002),
            (19, 'name', 64, 'b', 'S', 1003), (20, 'int8', 8, 'b', 'N', 1016), (21, 'int2', 2, 'b', 'N', 1005),
            (22, 'int2vector', -1, 'b', 'U', 1006), (30, 'oidvector', -1, 'b', 'U', 1013), (23, 'int4', 4, 'b', 'N', 1007),
            (24, 'regproc', 4, 'b', 'N', 1008), (25, 'text', -1, 'b', 'S', 1009), (26, 'oid', 4, 'b', 'N', 1028), (114, 'json', -1, 'b', 'U', 199),
            (700, 'float4', 4, 'b', 'N', 1021), (701, 'float8', 8, 'b', 'N', 1022), (705, 'unknown', -2, 'p', 'X', 0),
            (1042, 'bpchar', -1, 'b', 'S', 1014), (1043, 'varchar', -1, 'b', 'S', 1015), (1082, 'date', 4, 'b', 'D', 1182),
            (1083, 'time', 8, 'b', 'D', 1183), (1114, 'timestamp', 8, 'b', 'D', 1115), (1184, 'timestamptz', 8, 'b', 'D', 1185),
            (1186, 'interval', 16, 'b', 'T', 1187), (1266, 'timetz', 12, 'b', 'D', 1270), (1560, 'bit', -1, 'b', 'V', 1561),
            (1562, 'varbit', -1, 'b', 'V', 1563), (1700, 'numeric', -1, 'b', 'N', 1231), (2205, 'regclass', 4, 'b', 'N', 2210),
            (2206, 'regtype', 4, 'b', 'N', 2211), (2249, 'record', -1, 'p', 'P', 2287), (2276, 'any', 4, 'p', 'P', 0),
            (2278, 'void', 4, 'p', 'P', 0), (2950, 'uuid', 16, 'b', 'U', 2951), (3802, 'jsonb', -1, 'b', 'U', 3807))
            t(oid, typname, typlen, typtype, typcategory, typarray)",
    ),
    (
        "pg_catalog_tables",
        "() AS TABLE SELECT * FROM (VALUES (1247, 'pg_type'), (1249, 'pg_attribute'), (1255, 'pg_proc'), (1259, 'pg_class'), (1260, 'pg_authid'),
            (1261, 'pg_auth_members'), (1262, 'pg_database'), (1213, 'pg_tablespace'), (2600, 'pg_aggregate'), (2601, 'pg_am'), (2604, 'pg_attrdef'),
            (2605, 'pg_cast'), (2606, 'pg_constraint'), (2607, 'pg_conversion'), (2608, 'pg_depend'), (2609, 'pg_description'),
            (2610, 'pg_index'), (2611, 'pg_inherits'), (2612, 'pg_language'), (2615, 'pg_namespace'), (2617, 'pg_operator'), (2618, 'pg_rewrite'),
            (2620, 'pg_trigger'), (3079, 'pg_extension'), (3456, 'pg_collation'), (3466, 'pg_event_trigger'), (3501, 'pg_enum'),
            (2224, 'pg_sequence'), (3541, 'pg_range')) t(oid, relname)",
    ),
    (
        "pg_get_keywords",
        "() AS TABLE SELECT keyword_name AS word, CASE keyword_category WHEN 'reserved' THEN 'R' ELSE 'U' END AS catcode,
            keyword_category AS catdesc FROM inlay_keywords()",
    ),
];
