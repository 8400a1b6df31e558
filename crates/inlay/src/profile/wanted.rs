//! What sessions want of profiles: which statements are measured, what is told of them, in which form, and where it is written.

use inlay_sql::plan::statement::Drawing;
use std::sync::Arc;

/// The form of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileFormat {
    /// A tree for people.
    #[default]
    QueryTree,
    /// The same with the times of the optimizer's passes.
    QueryTreeOptimizer,
    /// A document for programs.
    Json,
    /// Nothing is written; hosts may still ask.
    NoOutput,
    /// For other programs.
    Drawn(Drawing),
}

/// What is measured, and what becomes of it.
#[derive(Clone, Debug, Default)]
pub struct Profiling {
    /// How profiles are written.
    pub format: ProfileFormat,
    /// The file that they are written to.
    pub output: Option<String>,
    /// All statements are measured, not queries alone.
    pub covers_all: bool,
    /// JSON has the flat names that DuckDB 1 gives it.
    pub is_legacy: bool,
    /// Which metrics JSON has.
    pub tracked: Tracked,
}

/// Which metrics are told.
#[derive(Clone, Debug, Default)]
pub struct Tracked {
    /// Their patterns; absent for all.
    pub patterns: Option<Arc<[String]>>,
    /// Whether times of single passes are told where no pattern asks for them.
    pub has_passes: bool,
}

impl Tracked {
    /// Whether a metric is told, by its name such as `query.sql`.
    pub fn has(&self, metric: &str) -> bool {
        match &self.patterns {
            None => true,
            Some(patterns) => patterns.iter().any(|pattern| fits(pattern, metric)),
        }
    }

    /// Whether the time of one pass is told.
    pub fn has_pass(&self, metric: &str) -> bool {
        (self.patterns.is_some() || self.has_passes) && self.has(metric)
    }
}

/// Whether a name is as a pattern says, in which `*` stands for any text.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern.eq_ignore_ascii_case(name) };
    let Some(behind) = name.get(..head.len()).filter(|start| start.eq_ignore_ascii_case(head)) else {
        return false;
    };
    let behind = &name[behind.len()..];
    (0..=behind.len()).filter(|&at| behind.is_char_boundary(at)).any(|at| fits(rest, &behind[at..]))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, is_it) in [
            ("*", "query.sql", true),
            ("query.*", "query.sql", true),
            ("*.total_time", "planner.total_time", true),
            ("QUERY.sql", "query.sql", true),
            ("query", "query.sql", false),
            ("*x*", "query.sql", false),
            ("é*", "query.sql", false),
        ] {
            assert_eq!(fits(pattern, name), is_it, "{pattern} {name}");
        }
    }
}
