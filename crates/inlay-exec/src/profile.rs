//! Rows and time of each stage of each pipeline, for EXPLAIN ANALYZE.

use crate::pipeline::Pipeline;
use inlay_types::Result;
use parking_lot::Mutex;
use std::time::Instant;

/// What one stage (source, operator or sink) did. Time is summed over workers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stage {
    /// Rows that left a source or operator, or entered a sink.
    pub rows: u64,
    /// Nanoseconds, without those of later stages.
    pub nanos: u64,
}

/// Measurements of one pipeline: source, operators in order, sink.
#[derive(Debug)]
pub struct PipelineProfile {
    stages: Mutex<Vec<Stage>>,
}

impl PipelineProfile {
    /// Nothing measured yet.
    pub fn new(pipeline: &Pipeline) -> Self {
        Self { stages: Mutex::new(vec![Stage::default(); pipeline.operators.len() + 2]) }
    }

    /// Number of stages.
    pub fn stage_count(&self) -> usize {
        self.stages.lock().len()
    }

    /// Adds a worker's measurements.
    pub fn add(&self, measured: &[Stage]) {
        for (stage, more) in self.stages.lock().iter_mut().zip(measured) {
            stage.rows += more.rows;
            stage.nanos += more.nanos;
        }
    }

    /// Runs the sink's finalize and counts its time for the sink.
    pub fn timed_finalize(&self, finalize: impl FnOnce() -> Result<()>) -> Result<()> {
        let started = Instant::now();
        let outcome = finalize();
        if let Some(sink) = self.stages.lock().last_mut() {
            sink.nanos += started.elapsed().as_nanos() as u64;
        }
        outcome
    }

    /// What was measured.
    pub fn stages(&self) -> Vec<Stage> {
        self.stages.lock().clone()
    }
}
