//! Aggregates of one or two DOUBLE arguments with a small state per group: regression, shape of a distribution,
//! compensated sums, means of other kinds.
//!
//! A row counts when none of its arguments is NULL. [`boxed`] makes the accumulator of a [`DoubleState`] and a function
//! from a state to the result.

use super::bits::unsupported;
use super::moments::Moments;
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::AggregateFunction;
use inlay_types::{Bitmap, Error, LogicalType, PhysicalType, Result, Vector};
use std::any::Any;

/// What is known of a group's rows so far.
pub trait DoubleState: Clone + Default + Send + Sync + 'static {
    /// Adds a row; `y` is 0 for functions of one argument.
    fn add(&mut self, x: f64, y: f64);
    /// Adds the rows of another state.
    fn merge(&mut self, other: &Self);
}

/// The result of a group; `None` is NULL.
pub type Finish<S> = fn(&S) -> Result<Option<f64>>;

struct Doubles<S> {
    states: Vec<S>,
    finish: Finish<S>,
    ty: LogicalType,
}

/// The accumulator of states `S`; its result is a DOUBLE, or a UINTEGER made of the double.
pub fn boxed<S: DoubleState>(
    function: &AggregateFunction,
    finish: Finish<S>,
) -> Result<Box<dyn GroupedAccumulator>> {
    if function.arg_types.iter().any(|ty| ty.physical() != PhysicalType::F64) {
        return Err(unsupported(function));
    }
    Ok(Box::new(Doubles::<S> { states: Vec::new(), finish, ty: function.return_type.clone() }))
}

impl<S: DoubleState> GroupedAccumulator for Doubles<S> {
    fn resize(&mut self, groups: usize) {
        self.states.resize(groups, S::default());
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let first = flat(args[0]);
        let x = first.values::<f64>();
        let Some(second) = args.get(1) else {
            for (row, &group) in groups.ids().iter().enumerate() {
                if !first.is_null(row) {
                    self.states[group as usize].add(x[row], 0.0);
                }
            }
            return Ok(());
        };
        let second = flat(second);
        let y = second.values::<f64>();
        for (row, &group) in groups.ids().iter().enumerate() {
            if !first.is_null(row) && !second.is_null(row) {
                self.states[group as usize].add(x[row], y[row]);
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
            self.states[from..from + len].iter().map(self.finish).collect::<Result<_>>()?;
        let mut result = if self.ty == LogicalType::UInteger {
            let counts: Vec<u32> = results.iter().map(|v| v.unwrap_or(0.0) as u32).collect();
            Vector::from_values(LogicalType::UInteger, &counts)
        } else {
            let values: Vec<f64> = results.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
            Vector::from_values(LogicalType::Double, &values)
        };
        if results.iter().any(Option::is_none) {
            result.set_validity(Some(Bitmap::from_fn(len, |i| results[i].is_some())));
        }
        Ok(result)
    }

    fn memory_size(&self) -> usize {
        self.states.capacity() * size_of::<S>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

// Regression of y (the first argument) on x (the second).

impl DoubleState for Moments {
    fn add(&mut self, x: f64, y: f64) {
        self.add_pair(x, y);
    }

    fn merge(&mut self, other: &Self) {
        Moments::merge(self, other);
    }
}

/// The moments as regression names them: [`Moments`] calls the first argument x, which is the y here.
struct Line {
    mean_y: f64,
    mean_x: f64,
    syy: f64,
    sxx: f64,
    sxy: f64,
}

fn line(moments: &Moments) -> Option<Line> {
    (moments.count > 0.0).then_some(Line {
        mean_y: moments.mean_x,
        mean_x: moments.mean_y,
        syy: moments.xx,
        sxx: moments.yy,
        sxy: moments.xy,
    })
}

/// `regr_count`.
pub fn regr_count(moments: &Moments) -> Result<Option<f64>> {
    Ok(Some(moments.count))
}

/// `regr_avgx`.
pub fn regr_avgx(moments: &Moments) -> Result<Option<f64>> {
    Ok(line(moments).map(|line| line.mean_x))
}

/// `regr_avgy`.
pub fn regr_avgy(moments: &Moments) -> Result<Option<f64>> {
    Ok(line(moments).map(|line| line.mean_y))
}

/// `regr_sxx`.
pub fn regr_sxx(moments: &Moments) -> Result<Option<f64>> {
    Ok(line(moments).map(|line| line.sxx))
}

/// `regr_syy`.
pub fn regr_syy(moments: &Moments) -> Result<Option<f64>> {
    Ok(line(moments).map(|line| line.syy))
}

/// `regr_sxy`.
pub fn regr_sxy(moments: &Moments) -> Result<Option<f64>> {
    Ok(line(moments).map(|line| line.sxy))
}

/// NaN where all x are equal.
pub fn regr_slope(moments: &Moments) -> Result<Option<f64>> {
    Ok(line(moments).map(|line| line.sxy / line.sxx))
}

/// NULL where all x are equal.
pub fn regr_intercept(moments: &Moments) -> Result<Option<f64>> {
    let intercept = |line: Line| line.mean_y - line.sxy / line.sxx * line.mean_x;
    Ok(line(moments).filter(|line| line.sxx != 0.0).map(intercept))
}

/// NULL where all x are equal; 1 where all y are.
pub fn regr_r2(moments: &Moments) -> Result<Option<f64>> {
    let square = |line: Line| {
        if line.syy == 0.0 { 1.0 } else { line.sxy / line.sxx * (line.sxy / line.syy) }
    };
    Ok(line(moments).filter(|line| line.sxx != 0.0).map(square))
}

/// Standard error of the mean.
pub fn sem(moments: &Moments) -> Result<Option<f64>> {
    let error = |m: &Moments| (m.xx / m.count).sqrt() / m.count.sqrt();
    Ok((moments.count > 0.0).then(|| error(moments)))
}

/// Central moments up to the fourth.
///
/// Source: Pébay: Formulas for Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical
/// Moments (Sandia report, 2008).
#[derive(Clone, Default)]
pub struct Shape {
    count: f64,
    mean: f64,
    m2: f64,
    m3: f64,
    m4: f64,
}

impl DoubleState for Shape {
    fn add(&mut self, x: f64, _y: f64) {
        self.merge(&Self { count: 1.0, mean: x, ..Self::default() });
    }

    fn merge(&mut self, other: &Self) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = other.clone();
            return;
        }
        let (a, b) = (self.count, other.count);
        let n = a + b;
        let delta = other.mean - self.mean;
        let step = delta / n;
        let m4 = self.m4
            + other.m4
            + a * b * (a * a - a * b + b * b) * delta * step * step * step
            + 6.0 * step * step * (a * a * other.m2 + b * b * self.m2)
            + 4.0 * step * (a * other.m3 - b * self.m3);
        let m3 = self.m3
            + other.m3
            + a * b * (a - b) * delta * step * step
            + 3.0 * step * (a * other.m2 - b * self.m2);
        self.m2 += other.m2 + a * b * delta * step;
        self.m3 = m3;
        self.m4 = m4;
        self.mean += b * step;
        self.count = n;
    }
}

fn finite(value: f64, what: &str) -> Result<Option<f64>> {
    if value.is_finite() {
        return Ok(Some(value));
    }
    Err(Error::out_of_range(format!("{what} is out of range of DOUBLE"))
        .with_hint("leave infinities and NaN out by FILTER"))
}

/// NULL for less than three values, and where all are equal.
pub fn skewness(shape: &Shape) -> Result<Option<f64>> {
    let n = shape.count;
    if n <= 2.0 || shape.m2 == 0.0 {
        return Ok(None);
    }
    let population = n.sqrt() * shape.m3 / (shape.m2 * shape.m2.sqrt());
    finite(population * (n * (n - 1.0)).sqrt() / (n - 2.0), "skewness")
}

/// NULL for less than four values, and where all are equal.
pub fn kurtosis(shape: &Shape) -> Result<Option<f64>> {
    let n = shape.count;
    if n <= 3.0 || shape.m2 == 0.0 {
        return Ok(None);
    }
    let (m2, m4) = (shape.m2 / n, shape.m4 / n);
    let excess = ((n + 1.0) * m4 / (m2 * m2) - 3.0 * (n - 1.0)) * (n - 1.0) / ((n - 2.0) * (n - 3.0));
    finite(excess, "kurtosis")
}

/// NULL for less than two values, and where all are equal.
pub fn kurtosis_pop(shape: &Shape) -> Result<Option<f64>> {
    if shape.count <= 1.0 || shape.m2 == 0.0 {
        return Ok(None);
    }
    finite(shape.count * shape.m4 / (shape.m2 * shape.m2) - 3.0, "kurtosis")
}

/// A sum with the part that rounding lost (Kahan, with Neumaier's order of operands).
#[derive(Clone, Default)]
pub struct Compensated {
    count: u64,
    sum: f64,
    lost: f64,
}

impl Compensated {
    fn push(&mut self, x: f64) {
        let sum = self.sum + x;
        if sum.is_finite() {
            self.lost += if self.sum.abs() >= x.abs() { (self.sum - sum) + x } else { (x - sum) + self.sum };
        }
        self.sum = sum;
    }

    fn total(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

impl DoubleState for Compensated {
    fn add(&mut self, x: f64, _y: f64) {
        self.count += 1;
        self.push(x);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.push(other.sum);
        self.lost += other.lost;
    }
}

/// `fsum`.
pub fn fsum(state: &Compensated) -> Result<Option<f64>> {
    Ok((state.count > 0).then(|| state.total()))
}

/// `favg`.
pub fn favg(state: &Compensated) -> Result<Option<f64>> {
    Ok((state.count > 0).then(|| state.total() / state.count as f64))
}

/// Sum of logarithms.
#[derive(Clone, Default)]
pub struct Logarithms(Compensated);

impl DoubleState for Logarithms {
    fn add(&mut self, x: f64, _y: f64) {
        self.0.add(x.ln(), 0.0);
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }
}

/// `geomean`.
pub fn geometric_mean(state: &Logarithms) -> Result<Option<f64>> {
    Ok(favg(&state.0)?.map(f64::exp))
}

/// Weighted values and weights.
#[derive(Clone, Default)]
pub struct Weighted {
    values: Compensated,
    weights: Compensated,
}

impl DoubleState for Weighted {
    fn add(&mut self, x: f64, weight: f64) {
        self.values.add(x * weight, 0.0);
        self.weights.add(weight, 0.0);
    }

    fn merge(&mut self, other: &Self) {
        self.values.merge(&other.values);
        self.weights.merge(&other.weights);
    }
}

/// As floats divide where the weights add up to zero.
pub fn weighted_avg(state: &Weighted) -> Result<Option<f64>> {
    let weight = state.weights.total();
    Ok((state.values.count > 0).then(|| state.values.total() / weight))
}
