//! Statements that are measured while they run: what was found out, and the forms it is told in.
//!
//! [`METRICS`] is the list of what there is; JSON has those that the setting `tracked_metrics` asks for, by group:
//! `{"query": {"sql", "total_time"}, "operator": [{"type", "timing", "children"}]}`. Times are seconds.

mod wanted;

pub(crate) use wanted::{ProfileFormat, Profiling, Tracked, fits};

use inlay_exec::Analysis;
use inlay_sql::plan::display::{Node, json_string};
use std::time::Duration;

/// Something that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Group and name: `query.sql`.
    pub name: &'static str,
    /// `string`, `double`, `uint64` or `map`.
    pub kind: &'static str,
    /// Of its values.
    pub unit: &'static str,
    /// For people.
    pub description: &'static str,
}

const fn metric(
    name: &'static str,
    kind: &'static str,
    unit: &'static str,
    description: &'static str,
) -> Metric {
    Metric { name, kind, unit, description }
}

/// All but the times of the optimizer's passes, which are named after them.
pub const METRICS: &[Metric] = &[
    metric("query.sql", "string", "", "The text of the statement"),
    metric("query.total_time", "double", "seconds", "Time of the whole statement, without parsing"),
    metric("query.cpu_time", "double", "seconds", "Time of all operators, summed over workers"),
    metric("query.rows_returned", "uint64", "rows", "Rows of the answer, or rows that were changed"),
    metric(
        "query.total_intermediate_rows",
        "uint64",
        "rows",
        "Rows that operators handed on, of all together",
    ),
    metric(
        "query.total_rows_scanned",
        "uint64",
        "rows",
        "Rows of stored tables that scans looked at, of all together",
    ),
    metric("planner.binding_time", "double", "seconds", "Time of binding names and types"),
    metric("planner.total_time", "double", "seconds", "Time of binding and optimizing"),
    metric("optimizer.total_time", "double", "seconds", "Time of all passes of the optimizer"),
    metric("storage.checkpoint_latency", "double", "seconds", "Time of a CHECKPOINT"),
    metric(
        "system.peak_buffer_memory",
        "uint64",
        "bytes",
        "Most memory that the database has had reserved at once",
    ),
    metric("system.total_memory_allocated", "uint64", "bytes", "Memory reserved behind the statement"),
    metric("operator.type", "string", "", "What the operator is"),
    metric("operator.timing", "double", "seconds", "Time in the operator itself, summed over workers"),
    metric("operator.intermediate_rows", "uint64", "rows", "Rows that the operator handed on"),
    metric("operator.rows_scanned", "uint64", "rows", "Rows of a stored table that the scan looked at"),
    metric("operator.estimated_rows", "double", "rows", "Rows that were expected"),
    metric("operator.extra_info", "map", "", "What else EXPLAIN says of the operator"),
];

/// What metrics are called in the flat form.
const LEGACY: &[(&str, &str)] = &[
    ("query.sql", "query_name"),
    ("query.total_time", "latency"),
    ("query.cpu_time", "cpu_time"),
    ("query.rows_returned", "rows_returned"),
    ("query.total_intermediate_rows", "cumulative_cardinality"),
    ("query.total_rows_scanned", "cumulative_rows_scanned"),
    ("system.peak_buffer_memory", "system_peak_buffer_memory"),
    ("system.total_memory_allocated", "total_memory_allocated"),
    ("storage.checkpoint_latency", "checkpoint_latency"),
];

/// Names of all metrics.
pub fn metric_names(passes: &'static [&'static str]) -> impl Iterator<Item = String> {
    METRICS.iter().map(|metric| metric.name.to_string()).chain(passes.iter().map(|pass| pass_metric(pass)))
}

/// The metric of a pass: `optimizer.push_filters`.
pub fn pass_metric(pass: &str) -> String {
    format!("optimizer.{}", pass.replace(' ', "_"))
}

/// How long what comes before running took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases {
    pub binding: Duration,
    /// Each pass that ran, in order.
    pub passes: Vec<(&'static str, Duration)>,
}

impl Phases {
    fn optimizing(&self) -> Duration {
        self.passes.iter().map(|(_, time)| *time).sum()
    }
}

/// What was measured of a statement.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(crate) sql: String,
    pub(crate) total: Duration,
    pub(crate) analysis: Analysis,
    /// Its plan, if it has one, and the same as a text and as a drawing.
    pub(crate) plan: Option<Node>,
    pub(crate) tree: String,
    pub(crate) drawn: String,
    pub(crate) phases: Phases,
    pub(crate) is_checkpoint: bool,
    /// Bytes at the end, and the most there were.
    pub(crate) memory: (u64, u64),
    pub(crate) settings: Profiling,
}

impl Profile {
    /// For people: the statement, and its plan as a tree.
    pub fn text(&self) -> String {
        let Self { sql, total, analysis, tree, .. } = self;
        format!("{sql}\ntotal {}, {} rows\n{tree}", duration_text(*total), analysis.rows)
    }

    /// For programs: what was measured, by group.
    pub fn json(&self) -> String {
        if self.settings.is_legacy { self.legacy_json() } else { self.grouped_json() }
    }

    /// As the settings want it written; `None` for not at all.
    pub(crate) fn written(&self) -> Option<String> {
        match self.settings.format {
            ProfileFormat::QueryTree => Some(self.text()),
            ProfileFormat::QueryTreeOptimizer => Some(format!("{}{}", self.text(), self.passes_text())),
            ProfileFormat::Json => Some(self.json()),
            ProfileFormat::NoOutput => None,
            ProfileFormat::Drawn(_) => Some(self.drawn.clone()),
        }
    }

    fn passes_text(&self) -> String {
        let line = |(pass, time): &(&str, Duration)| format!("optimizer {pass}  {}\n", duration_text(*time));
        self.phases.passes.iter().map(line).collect()
    }

    /// The metrics of all groups but the operators', with their values as JSON.
    fn totals(&self) -> Vec<(String, String)> {
        let nodes = || self.analysis.nodes.values();
        let (used, peak) = self.memory;
        let optimizing = self.phases.optimizing();
        let mut all = vec![
            ("query.sql", json_string(&self.sql)),
            ("query.total_time", seconds(self.total)),
            ("query.cpu_time", seconds(nodes().map(|node| node.time).sum())),
            ("query.rows_returned", self.analysis.rows.to_string()),
            ("query.total_intermediate_rows", nodes().map(|node| node.rows).sum::<u64>().to_string()),
            ("query.total_rows_scanned", nodes().filter_map(|node| node.scanned).sum::<u64>().to_string()),
            ("planner.binding_time", seconds(self.phases.binding)),
            ("planner.total_time", seconds(self.phases.binding + optimizing)),
            ("optimizer.total_time", seconds(optimizing)),
        ];
        if self.is_checkpoint {
            all.push(("storage.checkpoint_latency", seconds(self.total)));
        }
        all.push(("system.peak_buffer_memory", peak.to_string()));
        all.push(("system.total_memory_allocated", used.to_string()));
        let tracked = &self.settings.tracked;
        let passes = self.phases.passes.iter().map(|(pass, time)| (pass_metric(pass), seconds(*time)));
        let named = all.into_iter().map(|(name, value)| (name.to_string(), value));
        named
            .filter(|(name, _)| tracked.has(name))
            .chain(passes.filter(|(name, _)| tracked.has_pass(name)))
            .collect()
    }

    fn grouped_json(&self) -> String {
        let totals = self.totals();
        let mut groups: Vec<String> = Vec::new();
        for group in ["query", "planner", "optimizer", "storage", "system"] {
            let prefix = format!("{group}.");
            let own = totals.iter().filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?, value)));
            let fields: Vec<String> = own.map(|(name, value)| format!("    \"{name}\": {value}")).collect();
            if !fields.is_empty() {
                groups.push(format!("  \"{group}\": {{\n{}\n  }}", fields.join(",\n")));
            }
        }
        let tracks_operators = METRICS
            .iter()
            .any(|metric| metric.name.starts_with("operator.") && self.settings.tracked.has(metric.name));
        if tracks_operators {
            let root = self.plan.as_ref().map_or_else(String::new, |root| {
                let fields = |node: &Node| self.operator_fields(node, "");
                operator_json(root, 2, &fields)
            });
            groups.push(format!("  \"operator\": [\n{root}\n  ]"));
        }
        format!("{{\n{}\n}}\n", groups.join(",\n"))
    }

    /// The tracked metrics of one operator, their names behind a prefix.
    fn operator_fields(&self, node: &Node, prefix: &str) -> Vec<(String, String)> {
        let measured = self.analysis.nodes.get(&node.number).cloned().unwrap_or_default();
        let details =
            node.details.iter().map(|(name, text)| format!("{}: {}", json_string(name), json_string(text)));
        let calls = measured.calls.iter().map(|call| {
            format!(
                "{}: {}",
                json_string(&call.name),
                json_string(&format!("{} rows in {} calls", call.rows, call.calls))
            )
        });
        let info = details.chain(calls).collect::<Vec<_>>().join(", ");
        let fields = [
            ("type", Some(json_string(&node.operator))),
            ("timing", Some(seconds(measured.time))),
            ("intermediate_rows", Some(measured.rows.to_string())),
            ("rows_scanned", measured.scanned.map(|rows| rows.to_string())),
            ("estimated_rows", node.estimate.map(|rows| rows.round().to_string())),
            ("extra_info", Some(format!("{{{info}}}"))),
        ];
        let tracked = |name: &str| self.settings.tracked.has(&format!("operator.{name}"));
        let told = fields.into_iter().filter(|(name, _)| tracked(name));
        told.filter_map(|(name, value)| Some((format!("{prefix}{name}"), value?))).collect()
    }

    /// With the flat names of DuckDB 1: `latency`, `query_name`, `children` with `operator_type`.
    fn legacy_json(&self) -> String {
        let named = |name: &str| LEGACY.iter().find(|(own, _)| *own == name).map(|(_, flat)| *flat);
        let totals = self.totals();
        let fields =
            totals.iter().filter_map(|(name, value)| Some(format!("  \"{}\": {value}", named(name)?)));
        let children = self.plan.as_ref().map_or_else(String::new, |root| {
            let fields = |node: &Node| {
                let own = self.operator_fields(node, "");
                let renamed = |name: &str| match name {
                    "intermediate_rows" => "operator_cardinality".to_string(),
                    "rows_scanned" => "operator_rows_scanned".to_string(),
                    "extra_info" => "extra_info".to_string(),
                    other => format!("operator_{other}"),
                };
                own.into_iter().map(|(name, value)| (renamed(&name), value)).collect()
            };
            operator_json(root, 2, &fields)
        });
        let all: Vec<String> = fields.chain([format!("  \"children\": [\n{children}\n  ]")]).collect();
        format!("{{\n{}\n}}\n", all.join(",\n"))
    }
}

/// An operator and those below it.
fn operator_json(node: &Node, depth: usize, fields: &dyn Fn(&Node) -> Vec<(String, String)>) -> String {
    let pad = "  ".repeat(depth);
    let own = fields(node).into_iter().map(|(name, value)| format!("{pad}  \"{name}\": {value}"));
    let inputs: Vec<String> =
        node.inputs.iter().map(|input| operator_json(input, depth + 2, fields)).collect();
    let children = match inputs.is_empty() {
        true => format!("{pad}  \"children\": []"),
        false => format!("{pad}  \"children\": [\n{}\n{pad}  ]", inputs.join(",\n")),
    };
    let all: Vec<String> = own.chain([children]).collect();
    format!("{pad}{{\n{}\n{pad}}}", all.join(",\n"))
}

/// A JSON number: not `0`, which readers would take for an integer.
fn seconds(time: Duration) -> String {
    format!("{:.9}", time.as_secs_f64())
}

/// The larger of two row counts by the smaller, none below 1.
///
/// Source: Moerkotte, Neumann, Steidl, "Preventing Bad Plans by Bounding the Impact of Cardinality Estimation Errors",
/// VLDB 2009.
pub(crate) fn q_error(estimated: f64, found: f64) -> f64 {
    let (estimated, found) = (estimated.max(1.0), found.max(1.0));
    (estimated / found).max(found / estimated)
}

pub(crate) fn duration_text(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use crate::Database;

    /// Of 1,000 rows a filter that nothing is known of is said to keep fewer than it does.
    #[test]
    fn explain_analyze_says_how_wrong_estimates_were() {
        let connection = Database::open_in_memory().unwrap().connect();
        connection.execute("CREATE TABLE t AS SELECT x FROM range(1000) r(x)").unwrap();
        let sql = "EXPLAIN (ANALYZE, FORMAT JSON) SELECT x FROM t WHERE hash(x) IS NULL";
        let plan = connection.execute(sql).unwrap().value(0, 0).unwrap().to_string();
        assert!(plan.contains("\"rows\": 0,") && plan.contains("\"q_error\": "), "{plan}");
        assert_eq!(
            [(10.0, 5.0), (5.0, 10.0), (0.1, 0.0)].map(|(e, f)| super::q_error(e, f)),
            [2.0, 2.0, 1.0]
        );
    }

    /// The optimizer's passes that a statement goes through are all among those that may be asked for.
    #[test]
    fn passes_are_metrics() {
        let connection = Database::open_in_memory().unwrap().connect();
        connection.execute("SET enable_profiling = 'json'").unwrap();
        let sql = "SELECT a.x, (SELECT max(y) FROM range(9) u(y) WHERE y < a.x) FROM range(9) a(x), range(9) b(z) \
                   WHERE a.x = b.z GROUP BY ALL ORDER BY 1 LIMIT 3";
        connection.execute(sql).unwrap();
        let profile = connection.profile().unwrap().unwrap();
        assert!(profile.phases.passes.len() > 8, "{profile:?}");
        for (pass, _) in &profile.phases.passes {
            assert!(inlay_sql::optimizer::PASSES.contains(pass), "{pass}");
        }
    }
}
