//! EXPLAIN of a WITH whose statements change data: the plan of each part, in the order in which they run.

use crate::execute::Run;
use crate::result::QueryResult;
use inlay_sql::plan::statement::{ChangingPart, ExplainFormat};
use inlay_sql::plan::{Statement, display};
use inlay_types::{Error, Result};

impl Run<'_> {
    /// The plans of all parts and of the statement behind them. Parts that do not run are left out.
    pub(crate) fn explain_changing(
        &self,
        parts: Vec<ChangingPart>,
        statement: Statement,
        analyze: bool,
        format: ExplainFormat,
    ) -> Result<QueryResult> {
        if analyze {
            return Err(Error::Unsupported {
                feature: "EXPLAIN ANALYZE of a WITH that changes data".to_string(),
                alternative: Some("EXPLAIN shows its plans without running it".to_string()),
            });
        }
        let mut shown = Vec::with_capacity(parts.len() + 1);
        for part in parts {
            let is_passed_over = matches!(part.statement, Statement::Query(_)) && !part.rows.is_read();
            if !is_passed_over {
                shown.push(self.explained_part(Some(part.rows.name()), &part.statement, format)?);
            }
        }
        shown.push(self.explained_part(None, &statement, format)?);
        match format {
            ExplainFormat::Text => QueryResult::lines("plan", shown.into_iter().flatten()),
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
            ExplainFormat::Text => {
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
