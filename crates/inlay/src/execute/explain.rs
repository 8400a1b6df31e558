//! EXPLAIN: the plan of a statement. With ANALYZE the statement is carried out, whatever it changes, and its operators are measured.
//!
//! Of a WITH whose statements change data there is a plan for each part, in the order in which they run.

use super::Run;
use crate::profile::{duration_text, q_error};
use crate::result::{QueryResult, ResultKind};
use inlay_exec::Analysis;
use inlay_sql::plan::drawn::drawn;
use inlay_sql::plan::statement::{ChangingPart, ExplainFormat, Query};
use inlay_sql::plan::{Statement, display};
use inlay_types::Result;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

impl Run<'_> {
    /// Carries out EXPLAIN.
    pub(super) fn explain(
        &mut self,
        statement: Statement,
        analyze: bool,
        format: ExplainFormat,
    ) -> Result<QueryResult> {
        if format == ExplainFormat::Cluster {
            return self.explain_cluster(statement, analyze);
        }
        if let Statement::Changing { parts, statement } = statement {
            return self.explain_changing(parts, statement, analyze, format);
        }
        let Some(query) = statement.query() else {
            let kind = statement.kind().to_string();
            let runs = analyze && !is_of_transactions(&statement);
            let total = if runs { Some(self.measured(statement)?.1) } else { None };
            return QueryResult::lines("plan", std::iter::once(kind).chain(total.as_ref().map(total_line)));
        };
        let query = self.optimized(query.clone())?;
        let analysis = match statement {
            _ if !analyze => None,
            Statement::Query(_) => Some(inlay_exec::analyze(&query, &self.context())?.1),
            changing => Some(self.measured(changing)?.1),
        };
        let annotate = |node: usize| measures(analysis.as_ref(), &query, node);
        match format {
            ExplainFormat::Text | ExplainFormat::Cluster => {
                let text = display::text(&query, &annotate);
                let total = analysis.as_ref().map(total_line);
                QueryResult::lines("plan", text.lines().map(str::to_string).chain(total))
            }
            ExplainFormat::Json => {
                QueryResult::lines("plan", std::iter::once(display::json(&query, &annotate)))
            }
            ExplainFormat::Drawn(drawing) => {
                QueryResult::lines("plan", std::iter::once(drawn(&query, &annotate, drawing)))
            }
        }
    }

    /// Carries a statement out and says what its operators did, how long all took, and how many rows it changed.
    pub(super) fn measured(&mut self, statement: Statement) -> Result<(QueryResult, Analysis)> {
        let (started, measured) = (Instant::now(), Arc::<Mutex<Analysis>>::default());
        self.measured = Some(Arc::clone(&measured));
        let answer = self.bound(statement);
        self.measured = None;
        let answer = answer?;
        let rows = match answer.kind() {
            ResultKind::Changed(count) => count,
            ResultKind::Rows | ResultKind::Done => answer.row_count() as u64,
        };
        let noted = std::mem::take(&mut *measured.lock());
        Ok((answer, Analysis { total: started.elapsed(), rows, ..noted }))
    }

    /// The plans of all parts and of the statement behind them. Parts that do not run are left out.
    fn explain_changing(
        &mut self,
        parts: Vec<ChangingPart>,
        statement: Box<Statement>,
        analyze: bool,
        format: ExplainFormat,
    ) -> Result<QueryResult> {
        let mut shown = Vec::with_capacity(parts.len() + 1);
        for part in &parts {
            let is_passed_over = matches!(part.statement, Statement::Query(_)) && !part.rows.is_read();
            if !is_passed_over {
                shown.push(self.explained_part(Some(part.rows.name()), &part.statement, format)?);
            }
        }
        shown.push(self.explained_part(None, &statement, format)?);
        let total =
            if analyze { Some(self.measured(Statement::Changing { parts, statement })?.1) } else { None };
        match format {
            ExplainFormat::Text | ExplainFormat::Cluster | ExplainFormat::Drawn(_) => {
                let total = total.as_ref().map(total_line);
                QueryResult::lines("plan", shown.into_iter().flatten().chain(total))
            }
            ExplainFormat::Json => {
                let plans: Vec<String> = shown.into_iter().map(|lines| lines.join("\n")).collect();
                let all = format!("[\n{}\n]\n", plans.join(",\n"));
                QueryResult::lines("plan", std::iter::once(all))
            }
        }
    }

    fn explained_part(
        &self,
        name: Option<&str>,
        statement: &Statement,
        format: ExplainFormat,
    ) -> Result<Vec<String>> {
        let target = statement.target().map_or_else(String::new, |(_, table)| format!(" {}", table.name));
        let what = match statement {
            Statement::Query(_) => "SELECT".to_string(),
            changing => format!("{}{target}", changing.kind()),
        };
        let head = name.map_or_else(|| what.clone(), |name| format!("{name}: {what}"));
        let Some(query) = statement.query() else { return Ok(vec![head]) };
        let query = self.optimized(query.clone())?;
        let annotate = |_: usize| Vec::new();
        Ok(match format {
            ExplainFormat::Drawn(drawing) => vec![drawn(&query, &annotate, drawing)],
            ExplainFormat::Text | ExplainFormat::Cluster => {
                let text = display::text(&query, &annotate);
                std::iter::once(head).chain(text.lines().map(|line| format!("  {line}"))).collect()
            }
            ExplainFormat::Json => {
                let plan = display::json(&query, &annotate);
                vec![format!(
                    "{{\n\"statement\": {},\n\"plan\": {}}}",
                    display::json_string(&head),
                    plan.trim_end()
                )]
            }
        })
    }
}

/// Whether a statement begins, ends or describes the transaction that it would run in.
fn is_of_transactions(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Begin(_)
            | Statement::Commit
            | Statement::Rollback
            | Statement::SetTransaction { .. }
            | Statement::SetConstraints { .. }
            | Statement::Savepoint(_)
            | Statement::RollbackTo(_)
            | Statement::Release(_)
    )
}

fn total_line(analysis: &Analysis) -> String {
    format!("total {}, {} rows", duration_text(analysis.total), analysis.rows)
}

/// What EXPLAIN ANALYZE shows of one node: its rows and time, and by what factor the estimate of the rows was wrong.
pub(super) fn measures(
    analysis: Option<&Analysis>,
    query: &Query,
    node: usize,
) -> Vec<(&'static str, String)> {
    let Some(measure) = analysis.and_then(|analysis| analysis.nodes.get(&node)) else { return Vec::new() };
    let mut shown = vec![("rows", measure.rows.to_string()), ("time", duration_text(measure.time))];
    if let Some(estimate) = query.estimates.rows(node) {
        shown.push(("q_error", format!("{:.2}", q_error(estimate, measure.rows as f64))));
    }
    let told = |call: &inlay_exec::pipeline::CallMeasure| {
        let nanos = call.time.as_nanos() as f64 / call.rows.max(1) as f64;
        let (name, calls, rows, time) = (&call.name, call.calls, call.rows, duration_text(call.time));
        format!("{name}: {rows} rows in {calls} calls, {time}, {nanos:.0} ns a row")
    };
    let calls: Vec<String> = measure.calls.iter().map(told).collect();
    if !calls.is_empty() {
        shown.push(("functions", calls.join("; ")));
    }
    shown
}
