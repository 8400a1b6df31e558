//! System tables that are views, and system functions that are macros, over `inlay_tables()` and its siblings.
//!
//! Their columns are those of DuckDB, and of PostgreSQL where DuckDB leaves them out; what does not exist here is NULL,
//! 0 or false. Numbers of schemas, tables, types and constraints fit between the tables of `pg_catalog`.

use super::postgres;
use inlay_catalog::DefinitionKind;

/// A view of a schema.
pub(super) fn find(schema: &str, name: &str) -> Option<(&'static str, &'static str)> {
    let is_it = |(s, n, _): &&(&str, &'static str, &'static str)| {
        s.eq_ignore_ascii_case(schema) && n.eq_ignore_ascii_case(name)
    };
    all().find(is_it).map(|(_, name, sql)| (*name, *sql))
}

/// Name and text of each macro of a kind, as CREATE MACRO would hold them.
pub(super) fn macros_of_system(
    kind: DefinitionKind,
) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let (own, of_postgres, of_roles): (&[_], &[_], &[_]) = match kind {
        DefinitionKind::Macro => (MACROS, postgres::MACROS, super::roles::MACROS),
        DefinitionKind::TableMacro => (TABLE_MACROS, postgres::TABLE_MACROS, &[]),
        _ => (&[], &[], &[]),
    };
    own.iter().chain(of_postgres).chain(of_roles)
}

/// One of them.
pub(super) fn find_macro(kind: DefinitionKind, name: &str) -> Option<(&'static str, &'static str)> {
    macros_of_system(kind).find(|(own, _)| own.eq_ignore_ascii_case(name)).copied()
}

/// Schema, name and text of each view.
pub(super) fn all() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    VIEWS.iter().chain(postgres::VIEWS).chain(super::roles::VIEWS)
}

const VIEWS: &[(&str, &str, &str)] = &[
    (
        "main",
        "sqlite_master",
        "SELECT type, name, tbl_name, rootpage, CASE WHEN starts_with(comment, 'sqlite: ') THEN substr(comment, 9) ELSE sql END AS sql
         FROM (SELECT 'table' AS type, table_name AS name, table_name AS tbl_name, 0 AS rootpage, sql, comment, table_oid AS oid
               FROM inlay_tables() WHERE NOT temporary AND database_name = current_database()
               UNION ALL SELECT 'view', view_name, view_name, 0, sql, comment, view_oid FROM inlay_views()
               WHERE NOT internal AND NOT temporary AND database_name = current_database()
               UNION ALL SELECT 'index', index_name, table_name, 0, sql, comment, index_oid FROM inlay_indexes()
               WHERE database_name = current_database())
         ORDER BY oid",
    ),
    (
        "main",
        "sqlite_schema",
        "SELECT * FROM sqlite_master",
    ),
    (
        "main",
        "sqlite_temp_master",
        "SELECT 'table' AS type, table_name AS name, table_name AS tbl_name, 0 AS rootpage,
                CASE WHEN starts_with(comment, 'sqlite: ') THEN substr(comment, 9) ELSE sql END AS sql
         FROM inlay_tables() WHERE temporary",
    ),
    (
        "main",
        "sqlite_temp_schema",
        "SELECT * FROM sqlite_temp_master",
    ),
    (
        "main",
        "pragma_database_list",
        "SELECT database_oid AS seq, database_name AS name, path AS file FROM inlay_databases() WHERE NOT internal",
    ),
    (
        "information_schema",
        "schemata",
        "SELECT database_name AS catalog_name, schema_name, 'inlay' AS schema_owner,
                CAST(NULL AS VARCHAR) AS default_character_set_catalog,
                CAST(NULL AS VARCHAR) AS default_character_set_schema,
                CAST(NULL AS VARCHAR) AS default_character_set_name, sql AS sql_path FROM inlay_schemas()",
    ),
    (
        "information_schema",
        "tables",
        "SELECT database_name AS table_catalog, schema_name AS table_schema, table_name,
                CASE WHEN temporary THEN 'LOCAL TEMPORARY' WHEN is_materialized_view THEN 'MATERIALIZED VIEW'
                     ELSE 'BASE TABLE' END AS table_type,
                CAST(NULL AS VARCHAR) AS self_referencing_column_name, CAST(NULL AS VARCHAR) AS reference_generation,
                CAST(NULL AS VARCHAR) AS user_defined_type_catalog, CAST(NULL AS VARCHAR) AS user_defined_type_schema,
                CAST(NULL AS VARCHAR) AS user_defined_type_name,
                CASE WHEN is_materialized_view THEN 'NO' ELSE 'YES' END AS is_insertable_into, 'NO' AS is_typed,
                CASE WHEN temporary THEN 'PRESERVE' END AS commit_action, comment AS \"TABLE_COMMENT\"
         FROM inlay_tables()
         UNION ALL
         SELECT database_name, schema_name, view_name, 'VIEW', NULL, NULL, NULL, NULL, NULL, 'NO', 'NO', NULL, comment
         FROM inlay_views() WHERE NOT internal",
    ),
    (
        "information_schema",
        "columns",
        "SELECT database_name AS table_catalog, schema_name AS table_schema, table_name, column_name,
                column_index AS ordinal_position, column_default,
                CASE WHEN is_nullable THEN 'YES' ELSE 'NO' END AS is_nullable, data_type, character_maximum_length,
                CAST(NULL AS INTEGER) AS character_octet_length, numeric_precision, numeric_precision_radix,
                numeric_scale,
                CASE WHEN data_type LIKE 'TIMESTAMP%' THEN 6 WHEN data_type LIKE 'TIME%' THEN 6
                     WHEN data_type = 'DATE' THEN 0 END AS datetime_precision,
                CAST(NULL AS VARCHAR) AS interval_type, CAST(NULL AS INTEGER) AS interval_precision,
                CAST(NULL AS VARCHAR) AS character_set_catalog, CAST(NULL AS VARCHAR) AS character_set_schema,
                CAST(NULL AS VARCHAR) AS character_set_name, CAST(NULL AS VARCHAR) AS collation_catalog,
                CAST(NULL AS VARCHAR) AS collation_schema, CAST(NULL AS VARCHAR) AS collation_name,
                CAST(NULL AS VARCHAR) AS domain_catalog, CAST(NULL AS VARCHAR) AS domain_schema,
                CAST(NULL AS VARCHAR) AS domain_name, database_name AS udt_catalog,
                'pg_catalog' AS udt_schema, pg_type_name(data_type_id) AS udt_name,
                CAST(NULL AS VARCHAR) AS scope_catalog, CAST(NULL AS VARCHAR) AS scope_schema,
                CAST(NULL AS VARCHAR) AS scope_name, CAST(NULL AS BIGINT) AS maximum_cardinality,
                CAST(NULL AS VARCHAR) AS dtd_identifier, false AS is_self_referencing,
                identity_generation IS NOT NULL AS is_identity, identity_generation,
                CAST(NULL AS VARCHAR) AS identity_start, CAST(NULL AS VARCHAR) AS identity_increment,
                CAST(NULL AS VARCHAR) AS identity_maximum, CAST(NULL AS VARCHAR) AS identity_minimum,
                CAST(NULL AS BOOLEAN) AS identity_cycle,
                CASE WHEN is_generated THEN 'ALWAYS' ELSE 'NEVER' END AS is_generated, generation_expression,
                NOT is_generated AS is_updatable, comment AS \"COLUMN_COMMENT\"
         FROM inlay_columns()",
    ),
    (
        "information_schema",
        "views",
        "SELECT database_name AS table_catalog, schema_name AS table_schema, view_name AS table_name,
                definition AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable,
                'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable,
                'NO' AS is_trigger_insertable_into FROM inlay_views() WHERE NOT internal",
    ),
    (
        "information_schema",
        "table_constraints",
        "SELECT database_name AS constraint_catalog, schema_name AS constraint_schema, constraint_name,
                database_name AS table_catalog, schema_name AS table_schema, table_name,
                CASE WHEN constraint_type = 'NOT NULL' THEN 'CHECK' ELSE constraint_type END AS constraint_type,
                CASE WHEN is_deferrable THEN 'YES' ELSE 'NO' END AS is_deferrable,
                CASE WHEN initially_deferred THEN 'YES' ELSE 'NO' END AS initially_deferred, 'YES' AS enforced,
                CASE WHEN constraint_type = 'UNIQUE' THEN 'YES' END AS nulls_distinct FROM inlay_constraints()",
    ),
    (
        "information_schema",
        "key_column_usage",
        "SELECT database_name AS constraint_catalog, schema_name AS constraint_schema, constraint_name,
                database_name AS table_catalog, schema_name AS table_schema, table_name, column_name, ordinal_position,
                CASE WHEN constraint_type = 'FOREIGN KEY' THEN ordinal_position END AS position_in_unique_constraint
         FROM inlay_key_columns()",
    ),
    (
        "information_schema",
        "referential_constraints",
        "SELECT database_name AS constraint_catalog, schema_name AS constraint_schema, constraint_name,
                database_name AS unique_constraint_catalog, schema_name AS unique_constraint_schema,
                unique_constraint_name, 'NONE' AS match_option, update_rule, delete_rule
         FROM inlay_constraints() WHERE constraint_type = 'FOREIGN KEY'",
    ),
    (
        "information_schema",
        "constraint_column_usage",
        "SELECT database_name AS table_catalog, schema_name AS table_schema,
                CASE WHEN constraint_type = 'FOREIGN KEY' THEN referenced_table ELSE table_name END AS table_name,
                CASE WHEN constraint_type = 'FOREIGN KEY' THEN referenced_column ELSE column_name END AS column_name,
                database_name AS constraint_catalog, schema_name AS constraint_schema, constraint_name,
                constraint_type FROM inlay_key_columns()",
    ),
    (
        "information_schema",
        "constraint_table_usage",
        "SELECT database_name AS table_catalog, schema_name AS table_schema, table_name,
                database_name AS constraint_catalog, schema_name AS constraint_schema, constraint_name, constraint_type
         FROM inlay_constraints()",
    ),
    (
        "information_schema",
        "check_constraints",
        "SELECT database_name AS constraint_catalog, schema_name AS constraint_schema, constraint_name,
                coalesce(expression, constraint_text) AS check_clause
         FROM inlay_constraints() WHERE constraint_type IN ('CHECK', 'NOT NULL')",
    ),
    (
        "information_schema",
        "character_sets",
        "SELECT CAST(NULL AS VARCHAR) AS character_set_catalog, CAST(NULL AS VARCHAR) AS character_set_schema,
                'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use,
                current_database() AS default_collate_catalog, 'pg_catalog' AS default_collate_schema,
                'ucs_basic' AS default_collate_name",
    ),
    (
        "information_schema",
        "sequences",
        "SELECT database_name AS sequence_catalog, schema_name AS sequence_schema, sequence_name,
                'bigint' AS data_type, 64 AS numeric_precision, 2 AS numeric_precision_radix, 0 AS numeric_scale,
                start_value, min_value AS minimum_value, max_value AS maximum_value, increment_by AS increment,
                CASE WHEN cycle THEN 'YES' ELSE 'NO' END AS cycle_option FROM inlay_sequences()",
    ),
    (
        "pg_catalog",
        "pg_database",
        "SELECT database_oid AS oid, database_name AS datname, 10 AS datdba, 6 AS encoding, 'C' AS datcollate,
                'C' AS datctype, true AS datallowconn, false AS datistemplate, 'c' AS datlocprovider, CAST(NULL AS VARCHAR) AS daticulocale,
                CAST(NULL AS VARCHAR) AS daticurules, CAST(NULL AS VARCHAR) AS datlocale, CAST(NULL AS VARCHAR) AS datcollversion, -1 AS datconnlimit,
                0 AS datlastsysoid, 0 AS datfrozenxid, 0 AS datminmxid, 1663 AS dattablespace, CAST(NULL AS VARCHAR[]) AS datacl
         FROM inlay_databases()
         WHERE NOT internal",
    ),
    (
        "pg_catalog",
        "pg_namespace",
        "SELECT oid, schema_name AS nspname, 10 AS nspowner, CAST(NULL AS VARCHAR[]) AS nspacl
         FROM inlay_schemas() WHERE database_name = current_database()",
    ),
    (
        "pg_catalog",
        "pg_attrdef",
        "SELECT table_oid * 4096 + column_index AS oid, table_oid AS adrelid, column_index AS adnum,
                coalesce(column_default, generation_expression) AS adbin FROM inlay_columns()
         WHERE column_default IS NOT NULL OR is_generated",
    ),
    (
        "pg_catalog",
        "pg_enum",
        "SELECT type_oid * 4096 + position AS oid, type_oid AS enumtypid, position AS enumsortorder,
                label AS enumlabel FROM inlay_enum_labels()",
    ),
    (
        "pg_catalog",
        "pg_tables",
        "SELECT schema_name AS schemaname, table_name AS tablename, 'inlay' AS tableowner,
                CAST(NULL AS VARCHAR) AS tablespace, index_count > 0 AS hasindexes, false AS hasrules,
                false AS hastriggers, false AS rowsecurity FROM inlay_tables() WHERE NOT is_materialized_view",
    ),
    (
        "pg_catalog",
        "pg_views",
        "SELECT schema_name AS schemaname, view_name AS viewname, 'inlay' AS viewowner, definition
         FROM inlay_views() WHERE NOT internal",
    ),
    (
        "pg_catalog",
        "pg_matviews",
        "SELECT schema_name AS schemaname, table_name AS matviewname, 'inlay' AS matviewowner,
                CAST(NULL AS VARCHAR) AS tablespace, index_count > 0 AS hasindexes, true AS ispopulated,
                sql AS definition FROM inlay_tables() WHERE is_materialized_view",
    ),
    (
        "pg_catalog",
        "pg_sequences",
        "SELECT schema_name AS schemaname, sequence_name AS sequencename, 'inlay' AS sequenceowner,
                20 AS data_type, start_value, min_value, max_value, increment_by, cycle, 1 AS cache_size, last_value
         FROM inlay_sequences()",
    ),
    (
        "pg_catalog",
        "pg_sequence",
        "SELECT sequence_oid AS seqrelid, 20 AS seqtypid, start_value AS seqstart, increment_by AS seqincrement,
                max_value AS seqmax, min_value AS seqmin, 1 AS seqcache, cycle AS seqcycle FROM inlay_sequences()",
    ),
    (
        "pg_catalog",
        "pg_settings",
        "SELECT *, 'user' AS context, 'session' AS source, CAST(NULL AS VARCHAR) AS extra_desc, CAST(NULL AS VARCHAR) AS min_val,
                CAST(NULL AS VARCHAR) AS max_val, CAST(NULL AS VARCHAR[]) AS enumvals, CAST(NULL AS VARCHAR) AS boot_val, CAST(NULL AS VARCHAR) AS reset_val,
                CAST(NULL AS VARCHAR) AS sourcefile, CAST(NULL AS INTEGER) AS sourceline, false AS pending_restart FROM (
         SELECT name, value AS setting, CAST(NULL AS VARCHAR) AS unit, 'Inlay' AS category,
                description AS short_desc, lower(input_type) AS vartype FROM inlay_settings()
         UNION ALL SELECT t.name, current_setting('max_index_keys'), NULL, 'Preset Options', t.about, 'integer'
         FROM (VALUES ('max_index_keys', 'columns of a key')) t(name, about)
         UNION ALL SELECT 'server_version', current_setting('server_version'), NULL, 'Preset Options', 'version of PostgreSQL that the catalog follows', 'string'
         UNION ALL SELECT 'server_version_num', current_setting('server_version_num'), NULL, 'Preset Options', 'the same as a number', 'integer')",
    ),
    (
        "pg_catalog",
        "pg_am",
        "SELECT * FROM (VALUES (2, 'heap', 't', 0), (403, 'btree', 'i', 0)) t(oid, amname, amtype, amhandler)",
    ),
    (
        "pg_catalog",
        "pg_tablespace",
        "SELECT * FROM (VALUES (1663, 'pg_default', 10, NULL::VARCHAR[], NULL::VARCHAR[]), (1664, 'pg_global', 10, NULL, NULL))
                t(oid, spcname, spcowner, spcacl, spcoptions)",
    ),
    (
        "pg_catalog",
        "pg_collation",
        "SELECT *, 11 AS collnamespace, 10 AS collowner, 'c' AS collprovider, true AS collisdeterministic, -1 AS collencoding,
                CAST(NULL AS VARCHAR) AS collcollate, CAST(NULL AS VARCHAR) AS collctype, CAST(NULL AS VARCHAR) AS colliculocale
         FROM (SELECT * FROM (VALUES (100, 'default'), (950, 'C'), (951, 'POSIX')) t(oid, collname)
               UNION ALL SELECT 12000 + row_number() OVER (ORDER BY collname), collname FROM inlay_collations())",
    ),
    (
        "pg_catalog",
        "pg_depend",
        "SELECT * FROM inlay_dependencies()",
    ),
    (
        "pg_catalog",
        "pg_prepared_statements",
        "SELECT name, statement FROM inlay_prepared_statements()",
    ),
    (
        "pg_catalog",
        "pg_inherits",
        "SELECT 0::BIGINT AS inhrelid, 0::BIGINT AS inhparent, 0::BIGINT AS inhseqno, false AS inhdetachpending WHERE false",
    ),
    (
        "pg_catalog",
        "pg_trigger",
        "SELECT 0::BIGINT AS oid, 0::BIGINT AS tgrelid, '' AS tgname, 0::BIGINT AS tgparentid, 0::BIGINT AS tgfoid, 0::BIGINT AS tgtype, 'O' AS tgenabled, false AS tgisinternal,
                0::BIGINT AS tgconstrrelid, 0::BIGINT AS tgconstrindid, 0::BIGINT AS tgconstraint, false AS tgdeferrable, false AS tginitdeferred, 0::BIGINT AS tgnargs,
                '' AS tgattr, '' AS tgargs, '' AS tgqual, '' AS tgoldtable, '' AS tgnewtable WHERE false",
    ),
    (
        "pg_catalog",
        "pg_extension",
        "SELECT 0::BIGINT AS oid, '' AS extname, 10 AS extowner, 0::BIGINT AS extnamespace, false AS extrelocatable, '' AS extversion WHERE false",
    ),
    (
        "pg_catalog",
        "pg_language",
        "SELECT * FROM (VALUES (12, 'internal', 10, false, false), (14, 'sql', 10, true, true)) t(oid, lanname, lanowner, lanispl, lanpltrusted)",
    ),
    // What PostgreSQL has and nothing here is like: clients look whether there is any.
    (
        "pg_catalog",
        "pg_cast",
        "SELECT 0::BIGINT AS oid, 0::BIGINT AS castsource, 0::BIGINT AS casttarget, 0::BIGINT AS castfunc, '' AS castcontext, '' AS castmethod WHERE false",
    ),
    (
        "pg_catalog",
        "pg_conversion",
        "SELECT 0::BIGINT AS oid, '' AS conname, 0::BIGINT AS connamespace WHERE false",
    ),
    (
        "pg_catalog",
        "pg_db_role_setting",
        "SELECT 0::BIGINT AS setdatabase, 0::BIGINT AS setrole, CAST(NULL AS VARCHAR[]) AS setconfig WHERE false",
    ),
    (
        "pg_catalog",
        "pg_default_acl",
        "SELECT 0::BIGINT AS oid, 0::BIGINT AS defaclrole, 0::BIGINT AS defaclnamespace, '' AS defaclobjtype, CAST(NULL AS VARCHAR[]) AS defaclacl WHERE false",
    ),
    (
        "pg_catalog",
        "pg_event_trigger",
        "SELECT 0::BIGINT AS oid, '' AS evtname, '' AS evtevent, 0::BIGINT AS evtowner, 0::BIGINT AS evtfoid, '' AS evtenabled WHERE false",
    ),
    (
        "pg_catalog",
        "pg_foreign_data_wrapper",
        "SELECT 0::BIGINT AS oid, '' AS fdwname, 0::BIGINT AS fdwowner, CAST(NULL AS VARCHAR[]) AS fdwoptions WHERE false",
    ),
    (
        "pg_catalog",
        "pg_foreign_server",
        "SELECT 0::BIGINT AS oid, '' AS srvname, 0::BIGINT AS srvowner, 0::BIGINT AS srvfdw, CAST(NULL AS VARCHAR[]) AS srvoptions WHERE false",
    ),
    (
        "pg_catalog",
        "pg_foreign_table",
        "SELECT 0::BIGINT AS ftrelid, 0::BIGINT AS ftserver, CAST(NULL AS VARCHAR[]) AS ftoptions WHERE false",
    ),
    (
        "pg_catalog",
        "pg_opclass",
        "SELECT 0::BIGINT AS oid, 0::BIGINT AS opcmethod, '' AS opcname, 0::BIGINT AS opcnamespace, 0::BIGINT AS opcintype, false AS opcdefault, 0::BIGINT AS opcfamily WHERE false",
    ),
    (
        "pg_catalog",
        "pg_operator",
        "SELECT 0::BIGINT AS oid, '' AS oprname, 0::BIGINT AS oprnamespace, 0::BIGINT AS oprleft, 0::BIGINT AS oprright, 0::BIGINT AS oprresult, 0::BIGINT AS oprcode WHERE false",
    ),
    (
        "pg_catalog",
        "pg_partitioned_table",
        "SELECT 0::BIGINT AS partrelid, '' AS partstrat, 0::BIGINT AS partnatts, 0::BIGINT AS partdefid, '' AS partattrs, '' AS partexprs WHERE false",
    ),
    (
        "pg_catalog",
        "pg_policy",
        "SELECT 0::BIGINT AS oid, '' AS polname, 0::BIGINT AS polrelid, '' AS polcmd, false AS polpermissive, CAST(NULL AS BIGINT[]) AS polroles, '' AS polqual, '' AS polwithcheck WHERE false",
    ),
    (
        "pg_catalog",
        "pg_publication",
        "SELECT 0::BIGINT AS oid, '' AS pubname, 0::BIGINT AS pubowner, false AS puballtables, false AS pubinsert, false AS pubupdate, false AS pubdelete, false AS pubtruncate, false AS pubviaroot WHERE false",
    ),
    (
        "pg_catalog",
        "pg_publication_namespace",
        "SELECT 0::BIGINT AS oid, 0::BIGINT AS pnpubid, 0::BIGINT AS pnnspid WHERE false",
    ),
    (
        "pg_catalog",
        "pg_publication_rel",
        "SELECT 0::BIGINT AS oid, 0::BIGINT AS prpubid, 0::BIGINT AS prrelid, '' AS prqual, CAST(NULL AS BIGINT[]) AS prattrs WHERE false",
    ),
    (
        "pg_catalog",
        "pg_range",
        "SELECT 0::BIGINT AS rngtypid, 0::BIGINT AS rngsubtype, 0::BIGINT AS rngmultitypid, 0::BIGINT AS rngcollation, 0::BIGINT AS rngsubopc, 0::BIGINT AS rngcanonical, 0::BIGINT AS rngsubdiff WHERE false",
    ),
    (
        "pg_catalog",
        "pg_rewrite",
        "SELECT 0::BIGINT AS oid, '' AS rulename, 0::BIGINT AS ev_class, '' AS ev_type, '' AS ev_enabled, false AS is_instead WHERE false",
    ),
    (
        "pg_catalog",
        "pg_seclabel",
        "SELECT 0::BIGINT AS objoid, 0::BIGINT AS classoid, 0::BIGINT AS objsubid, '' AS provider, '' AS label WHERE false",
    ),
    (
        "pg_catalog",
        "pg_statistic_ext",
        "SELECT 0::BIGINT AS oid, 0::BIGINT AS stxrelid, '' AS stxname, 0::BIGINT AS stxnamespace, 0::BIGINT AS stxowner, -1 AS stxstattarget, CAST(NULL AS BIGINT[]) AS stxkeys, CAST(NULL AS VARCHAR[]) AS stxkind WHERE false",
    ),
    (
        "pg_catalog",
        "pg_subscription",
        "SELECT 0::BIGINT AS oid, '' AS subname, 0::BIGINT AS subdbid, 0::BIGINT AS subowner, false AS subenabled WHERE false",
    ),
    (
        "pg_catalog",
        "pg_user_mapping",
        "SELECT 0::BIGINT AS oid, 0::BIGINT AS umuser, 0::BIGINT AS umserver WHERE false",
    ),
];

/// Macros that stand for system functions of PostgreSQL.
const MACROS: &[(&str, &str)] = &[
    ("pg_typeof", "(x) AS lower(typeof(x))"),
    ("pg_type_is_visible", "(oid) AS true"),
    ("pg_function_is_visible", "(oid) AS true"),
    ("has_tablespace_privilege", "(s, p) AS true, (u, s, p) AS true"),
    ("has_type_privilege", "(t, p) AS true, (u, t, p) AS true"),
    // How many bytes a table has is told by inlay_storage_info() alone.
    ("pg_relation_size", "(relation) AS CAST(NULL AS BIGINT), (relation, fork) AS CAST(NULL AS BIGINT)"),
    ("pg_table_size", "(relation) AS CAST(NULL AS BIGINT)"),
    ("pg_total_relation_size", "(relation) AS CAST(NULL AS BIGINT)"),
    ("pg_indexes_size", "(relation) AS CAST(NULL AS BIGINT)"),
    ("pg_database_size", "(database) AS CAST(NULL AS BIGINT)"),
    ("pg_tablespace_size", "(space) AS CAST(NULL AS BIGINT)"),
    ("pg_tablespace_location", "(space) AS ''"),
    ("pg_client_encoding", "() AS 'UTF8'"),
    ("getdatabaseencoding", "() AS 'UTF8'"),
    ("pg_char_to_encoding", "(name) AS 6"),
    ("pg_collation_is_visible", "(oid) AS true"),
    ("pg_operator_is_visible", "(oid) AS true"),
    ("pg_statistics_obj_is_visible", "(oid) AS true"),
    ("pg_relation_is_publishable", "(relation) AS false"),
    ("pg_get_partkeydef", "(oid) AS CAST(NULL AS VARCHAR)"),
    ("pg_get_triggerdef", "(oid) AS CAST(NULL AS VARCHAR), (oid, pretty) AS CAST(NULL AS VARCHAR)"),
    ("pg_get_ruledef", "(oid) AS CAST(NULL AS VARCHAR), (oid, pretty) AS CAST(NULL AS VARCHAR)"),
    ("pg_get_statisticsobjdef_columns", "(oid) AS CAST(NULL AS VARCHAR)"),
    ("pg_get_serial_sequence", "(relation, attribute) AS CAST(NULL AS VARCHAR)"),
    ("shobj_description", "(oid, catalog) AS CAST(NULL AS VARCHAR)"),
    (
        "pg_get_function_result",
        "(function) AS (SELECT min(f.return_type) FROM inlay_functions() f WHERE f.function_oid = function)",
    ),
    (
        "pg_get_function_arguments",
        "(function) AS (SELECT min(array_to_string(f.parameter_types, ', ')) FROM inlay_functions() f WHERE f.function_oid = function)",
    ),
    (
        "pg_get_function_identity_arguments",
        "(function) AS (SELECT min(array_to_string(f.parameter_types, ', ')) FROM inlay_functions() f WHERE f.function_oid = function)",
    ),
    (
        "pg_get_functiondef",
        "(function) AS (SELECT min(f.macro_definition) FROM inlay_functions() f WHERE f.function_oid = function)",
    ),
    ("pg_get_function_sqlbody", "(function) AS CAST(NULL AS VARCHAR)"),
    // A statement of nothing but this is SET; among other columns it may say again what holds, or what tunes another engine.
    (
        "set_config",
        "(name, value, is_local) AS CASE WHEN lower(name) = 'jit' OR lower(current_setting(name)::VARCHAR) = lower(value) THEN value
            ELSE error('set_config of ' || name || ' among other columns is not available; SET sets it') END",
    ),
    ("pg_is_in_recovery", "() AS false"),
    ("inet_server_addr", "() AS CAST(NULL AS VARCHAR)"),
    ("inet_client_addr", "() AS CAST(NULL AS VARCHAR)"),
    ("pg_encoding_to_char", "(encoding) AS 'UTF8'"),
    ("pg_get_expr", "(expression, relation) AS expression, (expression, relation, pretty) AS expression"),
    (
        "pg_get_viewdef",
        "(oid) AS (SELECT v.definition FROM inlay_views() v WHERE v.view_oid = oid),
         (oid, pretty) AS (SELECT v.definition FROM inlay_views() v WHERE v.view_oid = oid)",
    ),
    (
        "obj_description",
        "(oid, catalog := 'pg_class') AS
            (SELECT m.comment FROM inlay_comments() m WHERE m.object_oid = oid AND m.column_name IS NULL)",
    ),
    (
        "col_description",
        "(oid, number) AS
            (SELECT c.comment FROM inlay_columns() c WHERE c.table_oid = oid AND c.column_index = number)",
    ),
    (
        "current_schemas",
        "(include_implicit) AS CASE WHEN include_implicit THEN ['pg_catalog', current_schema()]
            WHEN NOT include_implicit THEN [current_schema()] END",
    ),
];

/// Table macros behind PRAGMA, SHOW and `pragma_...()`.
const TABLE_MACROS: &[(&str, &str)] = &[
    ("pg_partition_ancestors", "(relation) AS TABLE SELECT relation AS relid"),
    (
        "pragma_database_list",
        "() AS TABLE SELECT database_oid AS seq, database_name AS name, path AS file FROM inlay_databases()
            WHERE NOT internal ORDER BY seq",
    ),
    (
        "pragma_show_tables_expanded",
        "() AS TABLE SELECT t.database_name AS database, t.schema_name AS schema, t.table_name AS name,
            '[' || string_agg(c.column_name, ', ' ORDER BY c.column_index) || ']' AS column_names,
            '[' || string_agg(c.data_type, ', ' ORDER BY c.column_index) || ']' AS column_types,
            bool_or(t.temporary) AS temporary
            FROM (SELECT database_name, schema_name, table_name, table_oid, temporary FROM inlay_tables()
                  UNION ALL SELECT database_name, schema_name, view_name, view_oid, temporary FROM inlay_views()
                  WHERE NOT internal) t
            JOIN inlay_columns() c ON c.table_oid = t.table_oid
            GROUP BY t.database_name, t.schema_name, t.table_name ORDER BY 1, 2, 3",
    ),
    (
        "pragma_table_info",
        "(name) AS TABLE SELECT c.column_index - 1 AS cid, c.column_name AS name, c.data_type AS type,
            NOT c.is_nullable AS \"notnull\", c.column_default AS dflt_value,
            EXISTS (SELECT 1 FROM inlay_key_columns() k WHERE k.constraint_type = 'PRIMARY KEY'
                    AND k.database_name = c.database_name AND k.schema_name = c.schema_name
                    AND k.table_name = c.table_name AND k.column_name = c.column_name) AS pk
            FROM inlay_columns() c
            WHERE lower(name) IN (lower(c.table_name), lower(c.schema_name || '.' || c.table_name),
                                  lower(c.database_name || '.' || c.schema_name || '.' || c.table_name),
                                  lower('\"' || replace(c.table_name, '\"', '\"\"') || '\"'),
                                  lower(c.schema_name || '.\"' || replace(c.table_name, '\"', '\"\"') || '\"'),
                                  lower('\"' || replace(c.schema_name, '\"', '\"\"') || '\".\"'
                                        || replace(c.table_name, '\"', '\"\"') || '\"'))
                AND c.database_name IN (current_database(), 'temp', split_part(name, '.', 1))
            ORDER BY cid",
    ),
    (
        "pragma_version",
        "() AS TABLE SELECT version() AS library_version, '' AS source_id, 'Inlay' AS codename",
    ),
    (
        "pragma_database_size",
        "() AS TABLE SELECT database_name, format_bytes(total_blocks * block_size) AS database_size, block_size,
            total_blocks, used_blocks, free_blocks, format_bytes(wal_bytes) AS wal_size,
            (SELECT format_bytes(max(memory_usage_bytes)) FROM inlay_memory()) AS memory_usage,
            current_setting('memory_limit') AS memory_limit FROM inlay_file_space()",
    ),
    (
        "pragma_show",
        "(name) AS TABLE SELECT c.column_name, c.data_type AS column_type,
            CASE WHEN c.is_nullable THEN 'YES' ELSE 'NO' END AS \"null\",
            (SELECT min(CASE k.constraint_type WHEN 'PRIMARY KEY' THEN 'PRI' ELSE 'UNI' END)
             FROM inlay_key_columns() k
             WHERE k.constraint_type <> 'FOREIGN KEY' AND k.database_name = c.database_name
                 AND k.schema_name = c.schema_name AND k.table_name = c.table_name
                 AND k.column_name = c.column_name) AS \"key\",
            c.column_default AS \"default\", CAST(NULL AS VARCHAR) AS extra
            FROM inlay_columns() c
            WHERE lower(name) IN (lower(c.table_name), lower(c.schema_name || '.' || c.table_name),
                                  lower(c.database_name || '.' || c.schema_name || '.' || c.table_name))
                AND c.database_name IN (current_database(), 'temp', split_part(name, '.', 1))
            ORDER BY c.column_index",
    ),
    (
        "pragma_functions",
        "() AS TABLE SELECT function_name AS name, upper(function_type) AS type, parameter_types AS parameters,
            return_type, has_side_effects AS side_effects FROM inlay_functions() ORDER BY 1",
    ),
    ("pragma_collations", "() AS TABLE SELECT collname FROM inlay_collations() ORDER BY 1"),
    ("pragma_platform", "() AS TABLE SELECT 'inlay' AS platform"),
    ("pragma_user_agent", "() AS TABLE SELECT 'inlay/' || version() AS user_agent"),
    (
        "pragma_show_schemas",
        "() AS TABLE SELECT database_name, schema_name,
            database_name = current_database() AND schema_name = current_schema() AS current
            FROM inlay_schemas() WHERE NOT internal ORDER BY 1, 2",
    ),
    ("pragma_show_all", "() AS TABLE SELECT name, value AS setting, description FROM inlay_settings()"),
    ("pragma_show_variables", "() AS TABLE SELECT name, value, type FROM inlay_variables()"),
    ("pragma_settings", "() AS TABLE SELECT name, value, description FROM inlay_settings()"),
    ("test_all_types", include_str!("test_all_types.sql")),
];
