//! Statements that are measured while they run, where the session's settings want it.

use super::Run;
use super::explain::measures;
use crate::profile::{Phases, Profile, ProfileFormat};
use crate::result::QueryResult;
use inlay_exec::Analysis;
use inlay_sql::optimizer::Trace;
use inlay_sql::plan::drawn::drawn;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{Columns, Plan, Statement, display};
use inlay_types::Result;
use std::time::{Duration, Instant};

impl Run<'_> {
    /// Begins to measure a statement, if statements are measured.
    pub(super) fn begin_profile(&self) -> Option<Instant> {
        if !self.session.settings.profiles {
            return None;
        }
        *self.session.phases.lock() = Phases::default();
        Some(Instant::now())
    }

    /// Carries out a bound statement; with notes of what its operators do, if it is of a kind that is measured.
    pub(super) fn bound_noted(&mut self, bound: Statement, began: Option<Instant>) -> Result<QueryResult> {
        let Some(began) = began else { return self.bound(bound) };
        self.session.phases.lock().binding = began.elapsed();
        let is_query = matches!(bound, Statement::Query(_));
        if is_query || !self.session.settings.profiling.covers_all || is_of_session(&bound) {
            return self.bound(bound);
        }
        let is_checkpoint = matches!(bound, Statement::Checkpoint { .. });
        let query = bound.query().map(|query| self.optimized(query.clone())).transpose()?;
        let (answer, analysis) = self.measured(bound)?;
        self.note_profile(query.as_ref(), analysis, is_checkpoint);
        Ok(answer)
    }

    /// Runs an optimised query to its end and notes in the session what was measured.
    pub(crate) fn profiled(&self, query: Query) -> Result<QueryResult> {
        let (batches, analysis) = inlay_exec::analyze(&query, &self.context())?;
        self.note_profile(Some(&query), analysis, false);
        Ok(self.of_query(&query, batches))
    }

    fn note_profile(&self, query: Option<&Query>, analysis: Analysis, is_checkpoint: bool) {
        let settings = self.session.settings.profiling.clone();
        let (mut tree, mut drawing) = (String::new(), String::new());
        if let Some(query) = query {
            let annotate = |node: usize| measures(Some(&analysis), query, node);
            tree = display::text(query, &annotate);
            if let ProfileFormat::Drawn(form) = settings.format {
                drawing = drawn(query, &annotate, form);
            }
        }
        let budget = self.database.budget();
        *self.session.profile.lock() = Some(Profile {
            sql: String::new(),
            total: Duration::ZERO,
            plan: query.map(display::node),
            tree,
            drawn: drawing,
            phases: Phases::default(),
            is_checkpoint,
            memory: (budget.used(), budget.peak()),
            analysis,
            settings,
        });
    }

    /// Says which text it was and how long it took as a whole, once, and writes the profile where the session wants it.
    pub(crate) fn finish_profile(&self, sql: &str, began: Instant) -> Result<()> {
        let mut noted = self.session.profile.lock();
        let Some(profile) = noted.as_mut().filter(|profile| profile.sql.is_empty()) else { return Ok(()) };
        profile.sql = sql.trim().to_string();
        profile.total = began.elapsed();
        profile.phases = std::mem::take(&mut *self.session.phases.lock());
        match (&profile.settings.output, profile.written()) {
            (Some(path), Some(text)) => self.database.settings().files().write_text(path, &text),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Notes how long each pass of the optimizer takes.
    pub(super) fn pass_clock(&self) -> Box<Trace<'_>> {
        let mut last = Instant::now();
        Box::new(move |pass: &'static str, _: &Plan, _: &Columns| {
            let now = Instant::now();
            // What comes in is looked at under this name.
            if pass != "bind" {
                self.session.phases.lock().passes.push((pass, now - last));
            }
            last = now;
        })
    }
}

/// Whether a statement is about the session and nothing that could be measured, or measures by itself.
fn is_of_session(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Set { .. } | Statement::Explain { .. } | Statement::Use { .. } | Statement::Nothing(_)
    )
}
