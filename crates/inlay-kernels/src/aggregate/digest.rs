//! `approx_quantile`: a t-digest per group.
//!
//! Values gather in a buffer; when it is full they are sorted among the centroids, and neighbours are joined while the
//! centroid stays small for its place: at the ends centroids hold few values, so extreme quantiles are the most exact.
//! Infinities and NaN are left out.
//!
//! Source: Dunning, Ertl: Computing Extremely Accurate Quantiles Using t-Digests (2019), merging digest, scale function k1.

use super::bits::unsupported;
use super::fractions::Parameter;
use super::order::order_floats;
use super::packing::Results;
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::AggregateFunction;
use inlay_types::{LogicalType, PhysicalType, Result, Vector, VectorBuilder};
use std::any::Any;
use std::f64::consts::PI;

/// Twice the greatest number of centroids, about.
const COMPRESSION: f64 = 200.0;
/// Values gathered before they are sorted in.
const BUFFER_MAX: usize = 1000;

#[derive(Clone, Copy)]
struct Centroid {
    mean: f64,
    weight: f64,
}

#[derive(Clone, Default)]
struct Digest {
    /// The first `sorted` are in order and compressed.
    centroids: Vec<Centroid>,
    sorted: usize,
    range: Option<(f64, f64)>,
}

impl Digest {
    fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.widen(value, value);
        self.push(Centroid { mean: value, weight: 1.0 });
    }

    fn push(&mut self, centroid: Centroid) {
        self.centroids.push(centroid);
        if self.centroids.len() - self.sorted > BUFFER_MAX {
            self.centroids = self.compressed();
            self.sorted = self.centroids.len();
        }
    }

    fn widen(&mut self, low: f64, high: f64) {
        self.range = Some(self.range.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
    }

    fn merge(&mut self, other: &Self) {
        if let Some((low, high)) = other.range {
            self.widen(low, high);
            other.centroids.iter().for_each(|&centroid| self.push(centroid));
        }
    }

    fn compressed(&self) -> Vec<Centroid> {
        let mut all = self.centroids.clone();
        all.sort_by(|a, b| order_floats(a.mean, b.mean));
        let total: f64 = all.iter().map(|c| c.weight).sum();
        let scale = |q: f64| COMPRESSION / (2.0 * PI) * (2.0 * q.clamp(0.0, 1.0) - 1.0).asin();
        let mut joined: Vec<Centroid> = Vec::with_capacity(all.len().min(COMPRESSION as usize + 8));
        let (mut before, mut low) = (0.0, scale(0.0));
        for centroid in all {
            if let Some(last) = joined.last_mut() {
                let weight = last.weight + centroid.weight;
                if scale((before + weight) / total) - low <= 1.0 {
                    last.mean += (centroid.mean - last.mean) * centroid.weight / weight;
                    last.weight = weight;
                    continue;
                }
                before += last.weight;
                low = scale(before / total);
            }
            joined.push(centroid);
        }
        joined
    }

    /// The quantiles; interpolated between the middles of centroids, and to the least and greatest value at the ends.
    fn quantiles(&self, fractions: &[f64]) -> Option<Vec<f64>> {
        let (least, greatest) = self.range?;
        let mut centroids = self.centroids.clone();
        centroids.sort_by(|a, b| order_floats(a.mean, b.mean));
        let total: f64 = centroids.iter().map(|c| c.weight).sum();
        let mut points = Vec::with_capacity(centroids.len() + 2);
        points.push((0.0, least));
        let mut before = 0.0;
        for centroid in &centroids {
            points.push((before + centroid.weight / 2.0, centroid.mean));
            before += centroid.weight;
        }
        points.push((total, greatest));
        let value = |&fraction: &f64| {
            let index = fraction * total;
            let above = points.partition_point(|(at, _)| *at < index).clamp(1, points.len() - 1);
            let ((from, low), (to, high)) = (points[above - 1], points[above]);
            if to > from { low + (high - low) * (index - from) / (to - from) } else { high }
        };
        Some(fractions.iter().map(value).collect())
    }
}

struct Digests {
    digests: Vec<Digest>,
    parameter: Parameter,
    function: AggregateFunction,
    /// Bytes of centroids.
    size: usize,
}

/// `approx_quantile`.
pub fn create(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    if matches!(function.arg_types[0].physical(), PhysicalType::View | PhysicalType::Interval) {
        return Err(unsupported(function));
    }
    let parameter = Parameter::default();
    Ok(Box::new(Digests { digests: Vec::new(), parameter, function: function.clone(), size: 0 }))
}

/// Appends the value of a carrier nearest to `value`; floats convert to the nearest integer in range.
pub(super) fn push_nearest(builder: &mut VectorBuilder, carrier: PhysicalType, value: f64) {
    let whole = value.round();
    match carrier {
        PhysicalType::Bool | PhysicalType::U8 => builder.push_native(whole as u8),
        PhysicalType::I8 => builder.push_native(whole as i8),
        PhysicalType::I16 => builder.push_native(whole as i16),
        PhysicalType::I32 => builder.push_native(whole as i32),
        PhysicalType::I64 => builder.push_native(whole as i64),
        PhysicalType::I128 => builder.push_native(whole as i128),
        PhysicalType::U16 => builder.push_native(whole as u16),
        PhysicalType::U32 => builder.push_native(whole as u32),
        PhysicalType::U64 => builder.push_native(whole as u64),
        PhysicalType::U128 => builder.push_native(whole as u128),
        PhysicalType::F32 => builder.push_native(value as f32),
        PhysicalType::F64 => builder.push_native(value),
        PhysicalType::View | PhysicalType::Interval => builder.push_null(),
    }
}

/// Calls `f` with the rows that are not NULL and their numbers as they lie in memory: decimals unscaled.
fn for_numbers(vector: &Vector, len: usize, mut f: impl FnMut(usize, f64)) {
    macro_rules! of {
        ($t:ty) => {{
            let values = vector.values::<$t>();
            (0..len).filter(|&row| !vector.is_null(row)).for_each(|row| f(row, values[row] as f64));
        }};
    }
    match vector.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => of!(u8),
        PhysicalType::I8 => of!(i8),
        PhysicalType::I16 => of!(i16),
        PhysicalType::I32 => of!(i32),
        PhysicalType::I64 => of!(i64),
        PhysicalType::I128 => of!(i128),
        PhysicalType::U16 => of!(u16),
        PhysicalType::U32 => of!(u32),
        PhysicalType::U64 => of!(u64),
        PhysicalType::U128 => of!(u128),
        PhysicalType::F32 => of!(f32),
        PhysicalType::F64 => of!(f64),
        PhysicalType::View | PhysicalType::Interval => {}
    }
}

impl GroupedAccumulator for Digests {
    fn resize(&mut self, groups: usize) {
        self.digests.resize(groups, Digest::default());
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.parameter.learn(args.get(1), groups.len());
        let arg = flat(args[0]);
        let (digests, ids) = (&mut self.digests, groups.ids());
        let mut grown = 0;
        for_numbers(&arg, groups.len(), |row, number| {
            let digest = &mut digests[ids[row] as usize];
            let before = digest.centroids.capacity();
            digest.add(number);
            grown += digest.centroids.capacity() as isize - before as isize;
        });
        self.size = self.size.saturating_add_signed(grown * size_of::<Centroid>() as isize);
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.parameter.merge(&other.parameter);
        for (&from, &to) in source.iter().zip(target) {
            self.digests[to as usize].merge(&other.digests[from as usize]);
        }
        self.size = self.digests.iter().map(|d| d.centroids.capacity() * size_of::<Centroid>()).sum();
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let fractions = self.parameter.fractions(&self.function.name, 0.0, 0.5)?;
        let carrier = match self.function.arg_types[0] {
            LogicalType::Null => PhysicalType::I32,
            ref ty => ty.physical(),
        };
        let mut results = Results::new(&self.function.return_type, len);
        for digest in &self.digests[from..from + len] {
            let Some(values) = digest.quantiles(&fractions) else {
                results.push_null();
                continue;
            };
            values.iter().for_each(|&value| push_nearest(results.child(), carrier, value));
            results.end_row();
        }
        results.finish()
    }

    fn memory_size(&self) -> usize {
        self.digests.capacity() * size_of::<Digest>() + self.size
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of ranks stay below half a percent, whatever the distribution and however the parts were merged.
    #[test]
    fn ranks_are_near() {
        let spread: [fn(f64) -> f64; 4] =
            [|x| x, |x| x * x * x, |x| (x * 20.0).exp(), |x| (x * 10.0).floor()];
        for of in spread {
            let mut whole = Digest::default();
            let mut values = Vec::new();
            for part in 0..7 {
                let mut digest = Digest::default();
                for row in 0..20_000u64 {
                    let random = inlay_types::hash::hash_u64(row * 7 + part) as f64 / u64::MAX as f64;
                    values.push(of(random));
                    digest.add(of(random));
                }
                whole.merge(&digest);
            }
            assert!(whole.centroids.len() <= BUFFER_MAX + COMPRESSION as usize);
            values.sort_by(f64::total_cmp);
            for fraction in [0.0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                let value = whole.quantiles(&[fraction]).unwrap()[0];
                let low = values.partition_point(|v| *v < value) as f64 / values.len() as f64;
                let high = values.partition_point(|v| *v <= value) as f64 / values.len() as f64;
                let error = (low - fraction).max(fraction - high).max(0.0);
                let steps = values.windows(2).filter(|pair| pair[0] == pair[1]).count() > values.len() / 2;
                assert!(error < 0.005 || steps, "{fraction}: {value} is off by {error}");
            }
        }
    }
}
