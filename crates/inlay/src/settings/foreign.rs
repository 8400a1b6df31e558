//! Settings of PostgreSQL and DuckDB that scripts bring along and that have nothing to set here.
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
    ("allow_unsigned_extensions", "false", Foreign::Tuning),
    ("allocator_background_threads", "false", Foreign::Tuning),
    ("application_name", "", Foreign::Tuning),
    ("arrow_large_buffer_size", "false", Foreign::Tuning),
    ("arrow_lossless_conversion", "false", Foreign::Only(&["false", "0", "off"])),
    ("arrow_output_list_view", "false", Foreign::Only(&["false", "0", "off"])),
    ("arrow_output_version", "1.0", Foreign::Only(&["1.0", "1.1", "1.2", "1.3"])),
    ("autoinstall_known_extensions", "false", Foreign::Tuning),
    ("autoload_known_extensions", "false", Foreign::Tuning),
    // An option of read_parquet, and none of all.
    ("binary_as_string", "false", Foreign::Only(&["false", "0", "off"])),
    ("bytea_output", "hex", Foreign::Tuning),
    ("catalog_error_max_schemas", "100", Foreign::Tuning),
    ("check_function_bodies", "on", Foreign::Tuning),
    ("client_encoding", "UTF8", Foreign::Only(&["utf8", "utf-8", "unicode"])),
    ("client_min_messages", "notice", Foreign::Tuning),
    ("custom_user_agent", "", Foreign::Tuning),
    ("datestyle", "ISO, YMD", Foreign::Only(&["iso", "iso, ymd", "iso, mdy", "iso, dmy"])),
    ("default_table_access_method", "heap", Foreign::Tuning),
    ("default_tablespace", "", Foreign::Tuning),
    ("effective_cache_size", "", Foreign::Tuning),
    ("enable_checkpoint_on_shutdown", "true", Foreign::Tuning),
    ("enable_fsst_vectors", "false", Foreign::Tuning),
    ("enable_hashagg", "on", Foreign::Tuning),
    ("enable_hashjoin", "on", Foreign::Tuning),
    ("enable_http_metadata_cache", "false", Foreign::Tuning),
    ("enable_indexscan", "on", Foreign::Tuning),
    ("enable_mergejoin", "on", Foreign::Tuning),
    ("enable_nestloop", "on", Foreign::Tuning),
    ("enable_object_cache", "false", Foreign::Tuning),
    ("enable_progress_bar", "true", Foreign::Tuning),
    ("enable_progress_bar_print", "true", Foreign::Tuning),
    ("enable_seqscan", "on", Foreign::Tuning),
    ("enable_sort", "on", Foreign::Tuning),
    ("enable_verification", "false", Foreign::Tuning),
    ("errors_as_json", "false", Foreign::Only(&["false", "0", "off"])),
    ("explain_output", "physical_only", Foreign::Tuning),
    ("extra_float_digits", "1", Foreign::Tuning),
    ("force_download", "false", Foreign::Tuning),
    ("force_parallel_mode", "off", Foreign::Tuning),
    ("home_directory", "", Foreign::Tuning),
    ("idle_in_transaction_session_timeout", "0", Foreign::Only(&["0"])),
    ("ieee_floating_point_ops", "true", Foreign::Only(&["true", "1", "on"])),
    ("immediate_transaction_mode", "false", Foreign::Tuning),
    ("index_scan_max_count", "2048", Foreign::Tuning),
    ("index_scan_percentage", "0.001", Foreign::Tuning),
    ("jit", "off", Foreign::Tuning),
    ("lambda_syntax", "DEFAULT", Foreign::Tuning),
    ("lock_timeout", "0", Foreign::Tuning),
    ("maintenance_work_mem", "", Foreign::Tuning),
    ("max_expression_depth", "1000", Foreign::Tuning),
    ("max_parallel_workers_per_gather", "", Foreign::Tuning),
    ("merge_join_threshold", "1000", Foreign::Tuning),
    ("nested_loop_join_threshold", "5", Foreign::Tuning),
    ("old_implicit_casting", "false", Foreign::Only(&["false", "0", "off"])),
    ("order_by_non_integer_literal", "false", Foreign::Tuning),
    ("ordered_aggregate_threshold", "262144", Foreign::Tuning),
    // All rows of a frame are looked at.
    ("pandas_analyze_sample", "1000", Foreign::Tuning),
    ("partitioned_write_flush_threshold", "524288", Foreign::Tuning),
    ("perfect_ht_threshold", "12", Foreign::Tuning),
    ("pivot_filter_threshold", "20", Foreign::Tuning),
    ("prefer_range_joins", "false", Foreign::Tuning),
    ("preserve_insertion_order", "true", Foreign::Tuning),
    ("produce_arrow_string_view", "false", Foreign::Tuning),
    ("progress_bar_time", "2000", Foreign::Tuning),
    ("python_enable_replacements", "true", Foreign::Tuning),
    ("python_scan_all_frames", "false", Foreign::Tuning),
    ("random_page_cost", "", Foreign::Tuning),
    ("row_security", "off", Foreign::Tuning),
    ("s3_uploader_max_filesize", "800GB", Foreign::Tuning),
    ("s3_uploader_max_parts_per_file", "10000", Foreign::Tuning),
    ("s3_uploader_thread_limit", "50", Foreign::Tuning),
    ("scalar_subquery_error_on_multiple_rows", "true", Foreign::Only(&["true", "1", "on"])),
    ("scheduler_process_partial", "false", Foreign::Tuning),
    ("seq_page_cost", "", Foreign::Tuning),
    ("shared_buffers", "", Foreign::Tuning),
    ("standard_conforming_strings", "on", Foreign::Only(&["on", "true", "1"])),
    ("streaming_buffer_size", "", Foreign::Tuning),
    ("synchronous_commit", "on", Foreign::Only(&["on", "true", "local", "remote_write", "remote_apply"])),
    ("temp_buffers", "", Foreign::Tuning),
    ("work_mem", "", Foreign::Tuning),
    ("xmloption", "content", Foreign::Tuning),
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
