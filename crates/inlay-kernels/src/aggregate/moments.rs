//! Variance, covariance and correlation by Welford's method, mergeable.
//!
//! Source: Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (1979).

use super::bits::unsupported;
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::{AggregateFunction, AggregateKind};
use inlay_types::{Bitmap, Error, LogicalType, PhysicalType, Result, Vector};
use std::any::Any;

/// Count, means, and sums of products of deviations, of one or two variables.
#[derive(Clone, Copy, Default)]
pub struct Moments {
    pub(super) count: f64,
    pub(super) mean_x: f64,
    pub(super) mean_y: f64,
    pub(super) xx: f64,
    pub(super) yy: f64,
    pub(super) xy: f64,
}

impl Moments {
    fn add_one(&mut self, x: f64) {
        self.count += 1.0;
        let delta = x - self.mean_x;
        self.mean_x += delta / self.count;
        self.xx += delta * (x - self.mean_x);
    }

    pub(super) fn add_pair(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let (delta_x, delta_y) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += delta_x / self.count;
        self.mean_y += delta_y / self.count;
        self.xx += delta_x * (x - self.mean_x);
        self.yy += delta_y * (y - self.mean_y);
        self.xy += delta_x * (y - self.mean_y);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let count = self.count + other.count;
        let (delta_x, delta_y) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        let weight = self.count * other.count / count;
        self.xx += other.xx + delta_x * delta_x * weight;
        self.yy += other.yy + delta_y * delta_y * weight;
        self.xy += other.xy + delta_x * delta_y * weight;
        self.mean_x += delta_x * other.count / count;
        self.mean_y += delta_y * other.count / count;
        self.count = count;
    }

    /// `None` is NULL.
    fn result(&self, kind: AggregateKind) -> Option<f64> {
        let samples = |least: f64| (self.count >= least).then_some(());
        Some(match kind {
            AggregateKind::VarPop => samples(1.0).map(|()| self.xx / self.count)?,
            AggregateKind::VarSamp => samples(2.0).map(|()| self.xx / (self.count - 1.0))?,
            AggregateKind::StddevPop => samples(1.0).map(|()| (self.xx / self.count).sqrt())?,
            AggregateKind::StddevSamp => samples(2.0).map(|()| (self.xx / (self.count - 1.0)).sqrt())?,
            AggregateKind::CovarPop => samples(1.0).map(|()| self.xy / self.count)?,
            AggregateKind::CovarSamp => samples(2.0).map(|()| self.xy / (self.count - 1.0))?,
            // Without variation there is no correlation: NaN.
            _ => samples(1.0).map(|()| self.xy / (self.xx * self.yy).sqrt())?,
        })
    }
}

struct MomentsAccumulator {
    states: Vec<Moments>,
    kind: AggregateKind,
}

pub(super) fn create(function: &AggregateFunction) -> Result<Box<dyn GroupedAccumulator>> {
    if function.arg_types.iter().any(|ty| ty.physical() != PhysicalType::F64) {
        return Err(unsupported(function));
    }
    Ok(Box::new(MomentsAccumulator { states: Vec::new(), kind: function.kind }))
}

impl GroupedAccumulator for MomentsAccumulator {
    fn resize(&mut self, groups: usize) {
        self.states.resize(groups, Moments::default());
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let first = flat(args[0]);
        let x = first.values::<f64>();
        let second = args.get(1).map(|arg| flat(arg));
        let y = second.as_ref().map(|arg| arg.values::<f64>());
        for (row, &group) in groups.ids().iter().enumerate() {
            if first.is_null(row) || second.as_ref().is_some_and(|arg| arg.is_null(row)) {
                continue;
            }
            let state = &mut self.states[group as usize];
            match y {
                None => state.add_one(x[row]),
                Some(y) => state.add_pair(x[row], y[row]),
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            self.states[to as usize].merge(&other.states[from as usize]);
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let results: Vec<Option<f64>> =
            self.states[from..from + len].iter().map(|s| s.result(self.kind)).collect();
        if results.iter().flatten().any(|value| value.is_infinite()) {
            return Err(Error::out_of_range("variance is out of range of DOUBLE"));
        }
        let values: Vec<f64> = results.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        let mut result = Vector::from_values(LogicalType::Double, &values);
        if results.iter().any(Option::is_none) {
            result.set_validity(Some(Bitmap::from_fn(len, |i| results[i].is_some())));
        }
        Ok(result)
    }

    fn memory_size(&self) -> usize {
        self.states.capacity() * size_of::<Moments>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
