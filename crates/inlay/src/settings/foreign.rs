//! Settings of PostgreSQL, DuckDB, SQLite and MySQL that scripts bring along and that have nothing to set here.
//!
//! Most tune an engine that is not this one: they are taken, remembered for SHOW, and change nothing. A few say how text
//! is to be understood: of those only the value that holds here anyway is taken, so that no script is misread.

use inlay_types::{Error, Result, Value};

/// What becomes of such a setting.
#[derive(Clone, Copy, Debug)]
enum Foreign {
    /// Taken without effect.
    Tuning,
    /// Only these values, in lower case, are what happens here.
    Only(&'static [&'static str]),
}

/// Names, and what holds unless they are set.
const FOREIGN: &[(&str, &str, Foreign)] = &[
    ("allocator_background_threads", "false", Foreign::Tuning),
    ("allocator_bulk_deallocation_flush_threshold", "512.0 MiB", Foreign::Tuning),
    ("allocator_flush_threshold", "128.0 MiB", Foreign::Tuning),
    ("allow_community_extensions", "true", Foreign::Tuning),
    ("allow_extensions_metadata_mismatch", "false", Foreign::Tuning),
    // No secret is stored.
    ("allow_persistent_secrets", "false", Foreign::Only(&["false", "0", "off"])),
    ("allow_unsigned_extensions", "false", Foreign::Tuning),
    ("application_name", "", Foreign::Tuning),
    ("approximate_join_order_threshold", "12", Foreign::Tuning),
    ("arrow_large_buffer_size", "false", Foreign::Tuning),
    ("arrow_lossless_conversion", "false", Foreign::Only(&["false", "0", "off"])),
    ("arrow_output_list_view", "false", Foreign::Only(&["false", "0", "off"])),
    ("arrow_output_version", "1.0", Foreign::Only(&["1.0", "1.1", "1.2", "1.3"])),
    ("asof_loop_join_threshold", "64", Foreign::Tuning),
    ("async_threads", "", Foreign::Tuning),
    ("auto_checkpoint_skip_wal_threshold", "100000", Foreign::Tuning),
    ("auto_vacuum", "NONE", Foreign::Tuning),
    ("autoinstall_extension_repository", "", Foreign::Tuning),
    ("autoinstall_known_extensions", "false", Foreign::Tuning),
    ("autoload_known_extensions", "false", Foreign::Tuning),
    // An option of read_parquet, and none of all.
    ("binary_as_string", "false", Foreign::Only(&["false", "0", "off"])),
    ("block_allocator_memory", "0 bytes", Foreign::Tuning),
    ("busy_timeout", "0", Foreign::Tuning),
    ("bytea_output", "hex", Foreign::Tuning),
    ("cache_local_files", "false", Foreign::Tuning),
    ("cache_size", "-2000", Foreign::Tuning),
    ("calendar", "gregorian", Foreign::Only(&["gregorian"])),
    ("catalog_error_max_schemas", "100", Foreign::Tuning),
    ("cell_size_check", "off", Foreign::Tuning),
    ("check_function_bodies", "on", Foreign::Tuning),
    ("checkpoint_on_detach", "DEFAULT", Foreign::Tuning),
    ("client_encoding", "UTF8", Foreign::Only(&["utf8", "utf-8", "unicode"])),
    ("client_min_messages", "notice", Foreign::Tuning),
    ("custom_extension_repository", "", Foreign::Tuning),
    ("custom_user_agent", "", Foreign::Tuning),
    ("datestyle", "ISO, YMD", Foreign::Only(&["iso", "iso, ymd", "iso, mdy", "iso, dmy"])),
    ("default_block_size", "262144", Foreign::Tuning),
    ("default_table_access_method", "heap", Foreign::Tuning),
    ("default_tablespace", "", Foreign::Tuning),
    ("default_transaction_deferrable", "off", Foreign::Tuning),
    ("default_with_oids", "off", Foreign::Only(&["false", "0", "off"])),
    // An error of a statement never ends its transaction.
    (
        "default_transaction_invalidation_policy",
        "SYNTACTIC_ERRORS_DO_NOT_INVALIDATE",
        Foreign::Only(&["syntactic_errors_do_not_invalidate"]),
    ),
    ("delim_join_as_cte", "true", Foreign::Tuning),
    ("dialect_compatibility_mode", "NONE", Foreign::Only(&["none"])),
    ("disable_parquet_prefetching", "false", Foreign::Tuning),
    ("disable_timestamptz_casts", "false", Foreign::Only(&["false", "0", "off"])),
    ("disabled_compression_methods", "", Foreign::Tuning),
    ("dynamic_or_filter_threshold", "50", Foreign::Tuning),
    ("effective_cache_size", "", Foreign::Tuning),
    ("enable_caching_operators", "true", Foreign::Tuning),
    ("enable_checkpoint_on_shutdown", "true", Foreign::Tuning),
    ("enable_external_file_cache", "true", Foreign::Tuning),
    ("enable_fsst_vectors", "false", Foreign::Tuning),
    ("enable_hashagg", "on", Foreign::Tuning),
    ("enable_hashjoin", "on", Foreign::Tuning),
    ("enable_http_metadata_cache", "false", Foreign::Tuning),
    ("enable_indexscan", "on", Foreign::Tuning),
    ("enable_logging", "false", Foreign::Only(&["false", "0", "off"])),
    ("enable_macro_dependencies", "false", Foreign::Only(&["false", "0", "off"])),
    ("enable_mergejoin", "on", Foreign::Tuning),
    ("enable_nestloop", "on", Foreign::Tuning),
    ("enable_object_cache", "false", Foreign::Tuning),
    ("enable_optimistic_write", "true", Foreign::Tuning),
    ("enable_progress_bar", "true", Foreign::Tuning),
    ("enable_progress_bar_print", "true", Foreign::Tuning),
    ("enable_seqscan", "on", Foreign::Tuning),
    ("enable_sort", "on", Foreign::Tuning),
    ("enable_verification", "false", Foreign::Tuning),
    ("enable_view_dependencies", "false", Foreign::Only(&["false", "0", "off"])),
    ("encoding", "UTF-8", Foreign::Only(&["utf-8", "utf8"])),
    ("errors_as_json", "false", Foreign::Only(&["false", "0", "off"])),
    ("experimental_metadata_reuse", "true", Foreign::Tuning),
    ("explain_output", "physical_only", Foreign::Tuning),
    ("external_threads", "1", Foreign::Tuning),
    ("extra_float_digits", "1", Foreign::Tuning),
    ("force_column_metadata_reuse", "false", Foreign::Tuning),
    ("force_compression", "auto", Foreign::Tuning),
    ("force_download", "false", Foreign::Tuning),
    ("force_parallel_mode", "off", Foreign::Tuning),
    // Of MySQL and SQLite; keys are always checked, of which the binder tells who would not have them so.
    ("foreign_key_checks", "1", Foreign::Tuning),
    ("foreign_keys", "on", Foreign::Tuning),
    ("home_directory", "", Foreign::Tuning),
    ("http_client_pool_capacity", "16", Foreign::Tuning),
    ("idle_in_transaction_session_timeout", "0", Foreign::Only(&["0"])),
    ("ieee_floating_point_ops", "true", Foreign::Only(&["true", "1", "on"])),
    ("immediate_transaction_mode", "false", Foreign::Tuning),
    ("in_hot_standby", "off", Foreign::Only(&["off"])),
    ("index_scan_max_count", "2048", Foreign::Tuning),
    ("index_scan_percentage", "0.001", Foreign::Tuning),
    ("initial_column_segment_size", "2048", Foreign::Tuning),
    ("integer_datetimes", "on", Foreign::Only(&["on"])),
    ("intervalstyle", "postgres", Foreign::Only(&["postgres"])),
    ("is_superuser", "on", Foreign::Only(&["on"])),
    ("jit", "off", Foreign::Tuning),
    ("journal_mode", "wal", Foreign::Tuning),
    ("journal_size_limit", "-1", Foreign::Tuning),
    ("lambda_syntax", "DEFAULT", Foreign::Tuning),
    ("late_materialization_max_rows", "50", Foreign::Tuning),
    ("lc_collate", "C", Foreign::Only(&["c"])),
    ("lc_ctype", "C", Foreign::Only(&["c"])),
    ("lock_timeout", "0", Foreign::Tuning),
    ("locking_mode", "normal", Foreign::Tuning),
    ("maintenance_work_mem", "", Foreign::Tuning),
    ("max_expression_depth", "1000", Foreign::Tuning),
    ("max_identifier_length", "63", Foreign::Only(&["63"])),
    ("max_index_keys", "32", Foreign::Only(&["32"])),
    ("max_parallel_workers_per_gather", "", Foreign::Tuning),
    ("max_streaming_buffer_size", "", Foreign::Tuning),
    ("max_vacuum_tasks", "100", Foreign::Tuning),
    ("merge_join_threshold", "1000", Foreign::Tuning),
    ("mmap_size", "0", Foreign::Tuning),
    ("nested_loop_join_threshold", "5", Foreign::Tuning),
    ("old_implicit_casting", "false", Foreign::Only(&["false", "0", "off"])),
    ("order_by_non_integer_literal", "false", Foreign::Tuning),
    ("ordered_aggregate_threshold", "262144", Foreign::Tuning),
    ("page_size", "4096", Foreign::Tuning),
    // All rows of a frame are looked at.
    ("pandas_analyze_sample", "1000", Foreign::Tuning),
    ("parquet_metadata_cache", "false", Foreign::Tuning),
    ("parquet_prefetch_column_gap", "", Foreign::Tuning),
    ("partitioned_write_flush_threshold", "524288", Foreign::Tuning),
    ("partitioned_write_max_open_files", "100", Foreign::Tuning),
    ("perfect_ht_threshold", "12", Foreign::Tuning),
    ("pin_threads", "auto", Foreign::Tuning),
    ("pivot_filter_threshold", "20", Foreign::Tuning),
    ("pivot_limit", "100000", Foreign::Tuning),
    ("prefer_range_joins", "false", Foreign::Tuning),
    ("prefetch_all_parquet_files", "false", Foreign::Tuning),
    ("preserve_identifier_case", "preserve_case", Foreign::Only(&["preserve_case", "true", "1", "on"])),
    ("preserve_insertion_order", "true", Foreign::Tuning),
    ("produce_arrow_string_view", "false", Foreign::Tuning),
    ("progress_bar_time", "2000", Foreign::Tuning),
    ("python_enable_replacements", "true", Foreign::Tuning),
    ("python_scan_all_frames", "false", Foreign::Tuning),
    ("random_page_cost", "", Foreign::Tuning),
    ("read_ahead_depth", "-1", Foreign::Tuning),
    ("regex_match_operator_semantics", "partial", Foreign::Only(&["partial"])),
    ("row_security", "off", Foreign::Tuning),
    ("s3_uploader_max_filesize", "800GB", Foreign::Tuning),
    ("s3_uploader_max_parts_per_file", "10000", Foreign::Tuning),
    ("s3_uploader_thread_limit", "50", Foreign::Tuning),
    ("scalar_subquery_error_on_multiple_rows", "true", Foreign::Only(&["true", "1", "on"])),
    ("scheduler_process_partial", "false", Foreign::Tuning),
    ("secret_directory", "", Foreign::Tuning),
    ("seq_page_cost", "", Foreign::Tuning),
    ("server_encoding", "UTF8", Foreign::Only(&["utf8"])),
    ("server_version", "15.0", Foreign::Only(&["15.0"])),
    ("server_version_num", "150000", Foreign::Only(&["150000"])),
    ("shared_buffers", "", Foreign::Tuning),
    ("ssl", "off", Foreign::Only(&["off"])),
    ("standard_conforming_strings", "on", Foreign::Only(&["on", "true", "1"])),
    ("storage_block_prefetch", "REMOTE_ONLY", Foreign::Tuning),
    ("storage_compatibility_version", "latest", Foreign::Tuning),
    ("streaming_buffer_size", "", Foreign::Tuning),
    ("synchronous_commit", "on", Foreign::Only(&["on", "true", "local", "remote_write", "remote_apply"])),
    ("temp_buffers", "", Foreign::Tuning),
    ("temp_file_encryption", "false", Foreign::Only(&["false", "0", "off"])),
    ("temp_store", "default", Foreign::Tuning),
    ("transaction_deferrable", "off", Foreign::Tuning),
    // What holds is read from the transaction; every level is answered by itself or a stricter one.
    ("transaction_isolation", "serializable", Foreign::Tuning),
    ("transaction_read_only", "off", Foreign::Only(&["off"])),
    ("transaction_timeout", "0", Foreign::Only(&["0"])),
    ("unique_checks", "1", Foreign::Tuning),
    ("user", "", Foreign::Tuning),
    ("username", "", Foreign::Tuning),
    ("validate_external_file_cache", "VALIDATE_ALL", Foreign::Tuning),
    ("wal_autocheckpoint", "1000", Foreign::Tuning),
    ("wal_autocheckpoint_entries", "0", Foreign::Tuning),
    ("warnings_as_errors", "false", Foreign::Only(&["false", "0", "off"])),
    ("work_mem", "", Foreign::Tuning),
    ("write_buffer_row_group_count", "5", Foreign::Tuning),
    ("write_buffer_row_group_memory_limit", "", Foreign::Tuning),
    ("xmloption", "content", Foreign::Tuning),
    ("zstd_min_string_length", "4096", Foreign::Tuning),
];

/// What a session was told of such settings.
pub(super) type Told = Vec<(&'static str, Value)>;

/// Takes the value, or its default again. None if there is no such setting.
pub(super) fn set(name: &str, value: Option<&Value>, told: &mut Told) -> Option<Result<()>> {
    let (name, _, kind) = FOREIGN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
    if let (Foreign::Only(values), Some(value)) = (kind, value) {
        let text = value.to_string().to_lowercase();
        if !values.contains(&text.as_str()) {
            let message = format!("{name} = {value}: it is always {}", values.join(" or "));
            return Some(Err(Error::invalid_argument(message)));
        }
    }
    told.retain(|(known, _)| known != name);
    told.extend(value.map(|value| (*name, value.clone())));
    Some(Ok(()))
}

/// Whether a session was told of it.
pub(super) fn is_told(name: &str, value: &str, told: &Told) -> bool {
    let is_it = |told: &Value| told.as_str().is_some_and(|told| told.eq_ignore_ascii_case(value));
    told.iter().any(|(known, told)| *known == name && is_it(told))
}

/// The value it was given, or what holds otherwise.
pub(super) fn get(name: &str, told: &Told) -> Option<Value> {
    let (name, default, _) = FOREIGN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
    let said = told.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    Some(said.unwrap_or_else(|| Value::Varchar((*default).to_string())))
}

/// After how many milliseconds a progress bar is shown, if one is.
pub(super) fn progress_bar_ms(told: &Told) -> Option<u64> {
    // Who was told nothing need not look for names.
    if told.is_empty() {
        return Some(PROGRESS_BAR_MS);
    }
    let said = |name: &str| told.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
    let is_off = |name: &str| said(name).is_some_and(|value| !value.eq_ignore_ascii_case("true"));
    if is_off("enable_progress_bar") || is_off("enable_progress_bar_print") {
        return None;
    }
    Some(said("progress_bar_time").and_then(|text| text.parse().ok()).unwrap_or(PROGRESS_BAR_MS))
}

/// What `progress_bar_time` is unless it is set.
const PROGRESS_BAR_MS: u64 = 2000;

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    FOREIGN.iter().map(|(name, ..)| *name)
}
