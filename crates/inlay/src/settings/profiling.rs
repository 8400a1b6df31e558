//! Settings of profiles: which statements are measured, which metrics are kept, in what form they are written, and where.

use super::values::boolean_of;
use crate::profile::{METRICS, ProfileFormat, Profiling, Tracked, fits, metric_names};
use inlay_sql::optimizer::PASSES;
use inlay_sql::plan::statement::Drawing;
use inlay_types::candidates::Candidates;
use inlay_types::{Error, LogicalType, Result, Value};
use std::path::Path;
use std::sync::Arc;

/// Formats by name; the first name of each is the one that is shown. The last word is how files of it end.
const FORMATS: &[(&str, ProfileFormat, &str)] = &[
    ("query_tree", ProfileFormat::QueryTree, "txt"),
    ("text", ProfileFormat::QueryTree, "txt"),
    ("default", ProfileFormat::QueryTree, "txt"),
    ("query_tree_optimizer", ProfileFormat::QueryTreeOptimizer, "txt"),
    ("json", ProfileFormat::Json, "json"),
    ("no_output", ProfileFormat::NoOutput, "txt"),
    ("html", ProfileFormat::Drawn(Drawing::Html), "html"),
    ("graphviz", ProfileFormat::Drawn(Drawing::Graphviz), "dot"),
    ("yaml", ProfileFormat::Drawn(Drawing::Yaml), "yaml"),
    ("mermaid", ProfileFormat::Drawn(Drawing::Mermaid), "mmd"),
];

impl ProfileFormat {
    fn entry(self) -> (&'static str, &'static str) {
        let found = FORMATS.iter().find(|(_, format, _)| *format == self);
        found.map_or(("query_tree", "txt"), |(name, _, ending)| (*name, *ending))
    }
}

/// `enable_profiling`: on or off, or on by the name of a format.
pub(super) fn set_format(
    value: Option<&Value>,
    profiles: &mut bool,
    profiling: &mut Profiling,
) -> Result<()> {
    let Some(value) = value else {
        (*profiles, profiling.format) = (false, ProfileFormat::default());
        return Ok(());
    };
    let word = value.to_string().to_lowercase();
    let found = FORMATS.iter().find(|(name, ..)| *name == word);
    let Some((_, format, _)) = found else {
        let wrong = |_| {
            let names = FORMATS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
            Error::invalid_argument(format!(
                "enable_profiling = {value}: expected true, false or a format: {names}"
            ))
        };
        *profiles = boolean_of("enable_profiling", value).map_err(wrong)?;
        return Ok(());
    };
    if let Some(path) = &profiling.output {
        check_ending(path, *format)
            .map_err(|error| error.with_hint("RESET profiling_output forgets the file that was named"))?;
    }
    (*profiles, profiling.format) = (true, *format);
    Ok(())
}

/// The name of the format, or false.
pub(super) fn format_text(profiles: bool, profiling: &Profiling) -> String {
    if profiles { profiling.format.entry().0.to_string() } else { "false".to_string() }
}

/// `profiling_output`: the file that profiles are written to.
pub(super) fn output_of(value: Option<&Value>, format: ProfileFormat) -> Result<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    let Some(path) = value.as_str() else {
        let message = format!("profiling_output = {value}: expected the path of a file");
        return Err(Error::invalid_argument(message));
    };
    if path.is_empty() {
        return Ok(None);
    }
    check_ending(path, format)
        .map_err(|error| error.with_hint("SET enable_profiling = 'json' chooses a format"))?;
    Ok(Some(path.to_string()))
}

/// A profile replaces the file that is there: its name has to say that it is one.
fn check_ending(path: &str, format: ProfileFormat) -> Result<()> {
    let ending = Path::new(path).extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let (name, own) = format.entry();
    match ending.as_deref() {
        Some("txt") => Ok(()),
        Some(ending) if ending == own || ending == name => Ok(()),
        Some(_) | None if own == "txt" => Err(Error::invalid_argument(format!(
            "profiling_output = {path}: a profile of the format {name} goes to a file that ends in .txt"
        ))),
        Some(_) | None => Err(Error::invalid_argument(format!(
            "profiling_output = {path}: a profile of the format {name} goes to a file that ends in .{own} or .txt"
        ))),
    }
}

/// `profiling_coverage`: TRUE for all statements.
pub(super) fn coverage_of(value: &Value) -> Result<bool> {
    match value.to_string().to_lowercase().as_str() {
        "select" => Ok(false),
        "all" => Ok(true),
        _ => Err(Error::invalid_argument(format!("profiling_coverage = {value}: expected select or all"))),
    }
}

/// `profiling_mode`: TRUE for single passes, too.
pub(super) fn set_mode(value: Option<&Value>, tracked: &mut Tracked) -> Result<()> {
    tracked.has_passes = match value.map(|value| value.to_string().to_lowercase()).as_deref() {
        None | Some("standard") => false,
        Some("detailed" | "all") => true,
        Some(word) => {
            let message = format!("profiling_mode = {word}: expected standard, detailed or all");
            return Err(Error::invalid_argument(message));
        }
    };
    Ok(())
}

pub(super) fn mode_text(tracked: &Tracked) -> &'static str {
    if tracked.has_passes { "detailed" } else { "standard" }
}

/// `tracked_metrics`: a list of names or patterns, each of which has to fit a metric that there is.
pub(super) fn set_tracked(value: Option<&Value>, tracked: &mut Tracked) -> Result<()> {
    let Some(value) = value else {
        tracked.patterns = None;
        return Ok(());
    };
    let (Value::List { values, .. } | Value::Array { values, .. }) = value else {
        let message =
            format!("tracked_metrics = {value}: expected a list such as ['query.*', 'operator.timing']");
        return Err(Error::invalid_argument(message));
    };
    let patterns: Vec<String> = values.iter().map(ToString::to_string).collect();
    for pattern in &patterns {
        if !metric_names(PASSES).any(|name| fits(pattern, &name)) {
            let candidates = Candidates::of(pattern, METRICS.iter().map(|metric| metric.name));
            let message =
                format!("tracked_metrics: nothing is measured that is called \"{pattern}\"{candidates}");
            return Err(
                Error::invalid_argument(message).with_hint("FROM duckdb_available_metrics() lists them")
            );
        }
    }
    tracked.patterns = Some(patterns.into());
    Ok(())
}

pub(super) fn tracked_value(tracked: &Tracked) -> Value {
    let of = |text: &str| Value::Varchar(text.to_string());
    let values =
        tracked.patterns.as_ref().map_or_else(|| vec![of("*")], |all| all.iter().map(|p| of(p)).collect());
    Value::List { element: Arc::new(LogicalType::Varchar), values }
}
