//! Rows of a query that are computed while they are read.
//!
//! Everything but the last pipeline runs to its end at first. The last one runs in bursts: workers take morsels until
//! enough rows lie in the [`Outlet`], then leave, and whoever reads the rows sends them again when those are used up. So
//! no thread waits for a slow reader, and a reader that stops costs nothing but what the operators hold.

use crate::context::ExecContext;
use crate::driver::{Drive, Observers};
use crate::operator::outlet::{Outlet, Portions};
use crate::pipeline::Pipeline;
use crate::planner::{Planner, Unlimited};
use crate::profile::PipelineProfile;
use crate::run::{announce, drive_one, expected_rows, named, picked};
use crate::spill::rows_size;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{ColumnId, Columns};
use inlay_types::{Batch, Error, Interrupt, Result};
use std::sync::Arc;

/// Bytes of rows in a burst, and the most of the memory limit that it takes.
const BURST_BYTES: u64 = 16 << 20;
const BURST_SHARE: u64 = 16;
/// Of the first burst; each has twice as many as the one before.
const FIRST_BURST_BYTES: u64 = 1 << 18;

/// A query under way, read batch by batch.
pub struct RowStream {
    context: ExecContext,
    columns: Columns,
    outlet: Arc<Outlet>,
    /// Absent when it is through.
    drive: Option<Drive>,
    positions: Vec<usize>,
    /// Rows that are still to be left out.
    offset: u64,
    /// Rows that are still wanted.
    limit: u64,
    burst_bytes: u64,
    portions: Portions,
    /// The last pipeline with what was measured of it, if anybody asks.
    profile: Option<(Pipeline, PipelineProfile)>,
    /// What ended the query; whoever goes on reading is told again.
    failure: Option<Error>,
}

/// Runs an optimised query as far as it must run before the first row. The rows have the columns of `query.output`.
pub fn stream(query: &Query, context: &ExecContext) -> Result<RowStream> {
    let output: Vec<ColumnId> = query.output.iter().map(|(id, _)| *id).collect();
    let estimate = |node| query.estimates.rows(node);
    let outlet = Arc::new(Outlet::new(context));
    let planner = Planner::new(context, &query.columns, &estimate);
    let Unlimited { mut pipelines, positions, limit, offset } =
        planner.plan_unlimited(&query.plan, &output, Arc::clone(&outlet) as Arc<_>)?;
    announce(&pipelines, query, context);
    let last = pipelines.pop();
    pipelines.into_iter().try_for_each(|pipeline| drive_one(&pipeline, query, context))?;
    let measured = last.as_ref().filter(|_| context.measured.is_some());
    let profile = measured.map(|last| (last.clone(), PipelineProfile::new(last)));
    let drive = match last {
        Some(pipeline) => {
            context.progress.begin_pipeline(expected_rows(&pipeline, query));
            Some(
                Drive::start(pipeline, context, Some(&*context.progress))
                    .map_err(|e| named(e, &query.columns))?,
            )
        }
        None => None,
    };
    Ok(RowStream {
        context: context.clone(),
        columns: query.columns.clone(),
        outlet,
        drive,
        positions,
        offset,
        limit: limit.unwrap_or(u64::MAX),
        burst_bytes: FIRST_BURST_BYTES,
        portions: Portions::default(),
        profile,
        failure: None,
    })
}

impl RowStream {
    /// The next batch in the order of rows; none is empty. After an error there is no more than this error.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.advance().map_err(|error| {
            let error = named(error, &self.columns);
            self.end();
            self.failure.insert(error).clone()
        })
    }

    fn advance(&mut self) -> Result<Option<Batch>> {
        while self.limit > 0 {
            let Some(batch) = self.portions.next_batch()? else {
                if self.drive.is_none() {
                    break;
                }
                self.burst()?;
                continue;
            };
            let len = batch.len() as u64;
            let left_out = self.offset.min(len);
            let kept = (len - left_out).min(self.limit);
            self.offset -= left_out;
            if kept == 0 {
                continue;
            }
            self.limit -= kept;
            batch.let_go();
            let batch = picked(batch, &self.positions);
            let is_whole = kept == len;
            return Ok(Some(if is_whole { batch } else { batch.slice(left_out as usize, kept as usize) }));
        }
        self.end();
        Ok(None)
    }

    /// Gives back what the operators hold.
    fn end(&mut self) {
        if let (Some((pipeline, profile)), Some(measured)) = (self.profile.take(), &self.context.measured) {
            measured.lock().add(&pipeline, &profile);
        }
        self.drive = None;
        self.portions = Portions::default();
    }

    /// Batches of about so many bytes, or all that are left, and their bytes; none at the end.
    pub fn next_part(&mut self, bytes_wanted: usize) -> Result<(Vec<Batch>, u64)> {
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while bytes < bytes_wanted {
            let Some(batch) = self.next_batch()? else { break };
            bytes += rows_size(batch.columns(), batch.len());
            batches.push(batch);
        }
        Ok((batches, bytes as u64))
    }

    /// Which flag ends the query from now on.
    pub fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.context.interrupt = interrupt;
    }

    /// Lets the workers fill the outlet.
    fn burst(&mut self) -> Result<()> {
        let Some(drive) = &mut self.drive else { return Ok(()) };
        self.outlet.make_room(self.burst_bytes, self.limit.saturating_add(self.offset));
        let most = BURST_BYTES.min(self.context.budget.limit() / BURST_SHARE).max(FIRST_BURST_BYTES);
        self.burst_bytes = (self.burst_bytes * 2).min(most);
        let profile = self.profile.as_ref().map(|(_, profile)| profile);
        let observers = Observers { profile, counter: Some(&*self.context.progress) };
        let outlet = &self.outlet;
        let is_through = drive.go(&self.context, observers, &|| outlet.is_full())?;
        self.portions = self.outlet.take();
        if is_through && let Some(drive) = self.drive.take() {
            drive.finish(&self.context, profile)?;
        }
        Ok(())
    }
}
