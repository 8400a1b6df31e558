//! Quantiles of frames whose rows are found by their rank: a result is made of the few values that it needs.
//!
//! Results are those of kept values ([`super::quantile`]): both are made of what gives values by rank ([`Ranked`]).

use super::quantile::{Distances, Ranked, Sortable};
use inlay_types::{Result, Vector};

/// Frames of rows that have an order.
pub trait RankedFrames {
    /// The number of frames.
    fn frame_count(&self) -> usize;

    /// The number of rows of a frame that count.
    fn row_count(&self, frame: usize) -> usize;

    /// The row at `rank`, below the number of rows, among those of a frame.
    fn row(&self, frame: usize, rank: usize) -> u32;
}

/// A function that is computed of rows known by their rank.
pub trait ByRank {
    /// Puts rows of `values`, which are not NULL, into the order that [`Self::results`] wants.
    fn order(&self, values: &Vector, rows: &mut [u32]);

    /// A result for each frame of rows of `args`, which are flat.
    fn results(&self, args: &[Vector], frames: &dyn RankedFrames) -> Result<Vector>;
}

/// The values of one frame.
pub(super) struct FrameValues<'a, T> {
    frames: &'a dyn RankedFrames,
    frame: usize,
    value: &'a dyn Fn(u32) -> T,
    /// All distances in order, where they are asked for and do not grow with the distance of ranks.
    sorted: Option<Vec<T>>,
    distances: Option<(Distances<T>, T)>,
}

impl<'a, T: Sortable> FrameValues<'a, T> {
    /// The values of a frame that has rows.
    pub(super) fn new(frames: &'a dyn RankedFrames, frame: usize, value: &'a dyn Fn(u32) -> T) -> Self {
        Self { frames, frame, value, sorted: None, distances: None }
    }

    fn own(&self, rank: usize) -> T {
        (self.value)(self.frames.row(self.frame, rank))
    }

    fn distance(&self, rank: usize) -> T {
        let mut value = [self.own(rank)];
        if let Some((distances, middle)) = self.distances {
            distances(&mut value, middle);
        }
        value[0]
    }

    /// The number of values below another one.
    fn below(&self, value: T) -> usize {
        partition_point(self.count(), |rank| self.own(rank).order(&value).is_lt())
    }

    /// The distance at `index` in order: those of values below the middle grow downwards, the others upwards, and of both
    /// the first are taken.
    fn nth_distance(&self, index: usize, middle: T) -> T {
        let below = self.below(middle);
        let above = self.count() - below;
        let (down, up) = (|i: usize| self.distance(below - 1 - i), |i: usize| self.distance(below + i));
        let (least, most) = ((index + 1).saturating_sub(above), below.min(index + 1));
        // So many are taken from below: the first number with which the next one from below is not less than the last from above.
        let taken = least
            + partition_point(most - least, |more| {
                let from_above = index - (least + more);
                down(least + more).order(&up(from_above)).is_lt()
            });
        let last_below = taken.checked_sub(1).map(down);
        let last_above = index.checked_sub(taken).map(up);
        match (last_below, last_above) {
            (Some(below), Some(above)) if below.order(&above).is_gt() => below,
            (_, Some(above)) => above,
            (Some(below), None) => below,
            (None, None) => self.distance(index),
        }
    }
}

/// The first of `0..count` for which a condition that holds of the first ones does not.
fn partition_point(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

impl<T: Sortable> Ranked<T> for FrameValues<'_, T> {
    fn count(&self) -> usize {
        self.frames.row_count(self.frame)
    }

    fn nth(&mut self, index: usize) -> T {
        match (&self.sorted, self.distances) {
            (Some(sorted), _) => sorted[index],
            (None, Some((_, middle))) => self.nth_distance(index, middle),
            (None, None) => self.own(index),
        }
    }

    fn pair(&mut self, index: usize) -> (T, T) {
        let last = self.count() - 1;
        (self.nth(index), self.nth((index + 1).min(last)))
    }

    fn replace(&mut self, distances: Distances<T>, middle: T) {
        self.distances = Some((distances, middle));
        let (below, count) = (self.below(middle), self.count());
        let grows = |near: usize, far: usize| !self.distance(near).order(&self.distance(far)).is_gt();
        let all_grow = (below == 0 || grows(below - 1, 0)) && (below == count || grows(below, count - 1));
        // Beside infinity there are distances that are no numbers.
        if !all_grow {
            let mut sorted: Vec<T> = (0..count).map(|rank| self.distance(rank)).collect();
            sorted.sort_unstable_by(T::order);
            self.sorted = Some(sorted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{GroupIds, GroupedAccumulator, quantile};
    use crate::function::{AggregateFunction, AggregateKind, AggregateRules};
    use inlay_types::{Interval, LogicalType, Value, VectorBuilder};

    static CONTINUOUS: AggregateRules = AggregateRules::new("quantile_cont", quantile::continuous);
    static DISCRETE: AggregateRules = AggregateRules::new("quantile_disc", quantile::discrete);
    static DEVIATION: AggregateRules = AggregateRules::new("mad", quantile::deviation);

    /// Frames that are the rows of lists, which have an order.
    struct Lists(Vec<Vec<u32>>);

    impl RankedFrames for Lists {
        fn frame_count(&self) -> usize {
            self.0.len()
        }
        fn row_count(&self, frame: usize) -> usize {
            self.0[frame].len()
        }
        fn row(&self, frame: usize, rank: usize) -> u32 {
            self.0[frame][rank]
        }
    }

    fn column(ty: &LogicalType, values: &[Value]) -> Vector {
        let mut builder = VectorBuilder::new(ty.clone(), values.len());
        values.iter().for_each(|value| builder.push(value).unwrap());
        builder.finish()
    }

    fn both(
        rules: &'static AggregateRules,
        ty: LogicalType,
        result: LogicalType,
        values: &[Value],
        fraction: f64,
    ) {
        let function = AggregateFunction {
            name: rules.name.into(),
            kind: AggregateKind::Declared(rules),
            arg_types: vec![ty.clone(), LogicalType::Double],
            return_type: result,
            external: None,
        };
        let (values, count) = (column(&ty, values).flatten(), values.len());
        let fractions = column(&LogicalType::Double, &vec![Value::Double(fraction); count.max(1)]);
        let frames: Vec<Vec<u32>> = (0..count as u32)
            .flat_map(|from| {
                (from..=count as u32).map(move |to| (from..to).filter(|row| row % 4 != 3).collect())
            })
            .collect();
        let mut kept: Box<dyn GroupedAccumulator> = (rules.create)(&function, false).unwrap();
        for (group, rows) in frames.iter().enumerate() {
            let args = [values.take(rows), fractions.take(rows)];
            let ids = vec![group as u32; rows.len()];
            kept.update(&[&args[0], &args[1]], GroupIds::new(&ids, frames.len())).unwrap();
        }
        let expected = kept.finish(0, frames.len()).unwrap();
        let by_rank = kept.by_rank().unwrap();
        let mut ordered = frames.clone();
        ordered.iter_mut().for_each(|rows| by_rank.order(&values, rows));
        let found = by_rank.results(&[values, fractions], &Lists(ordered)).unwrap();
        for frame in 0..frames.len() {
            let (found, expected) = (found.get(frame), expected.get(frame));
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{} {fraction} {frame}", rules.name);
        }
    }

    #[test]
    fn values_by_rank_give_what_kept_values_give() {
        let floats = [
            3.5,
            -0.0,
            0.0,
            f64::NAN,
            7.0,
            f64::INFINITY,
            -2.25,
            f64::NEG_INFINITY,
            7.0,
            1e300,
            f64::INFINITY,
        ];
        let doubles: Vec<Value> = floats.iter().map(|value| Value::Double(*value)).collect();
        let few: Vec<Value> = (0..14).map(|i| Value::Double(f64::from(i * 5 % 7))).collect();
        let lows: Vec<Value> =
            (0..9).map(|i| Value::Double(if i < 6 { f64::NEG_INFINITY } else { f64::from(i) })).collect();
        let whole: Vec<Value> = (0..13i64).map(|i| Value::Timestamp(i * 7919 % 101 - 50)).collect();
        let texts: Vec<Value> =
            (0..11).map(|i| Value::Varchar(format!("text number {}", i * 7 % 5))).collect();
        let spans = (0..9).map(|i| Interval { months: i % 3, days: 30 * (i % 4), micros: i64::from(i) });
        let spans: Vec<Value> = spans.map(Value::Interval).collect();
        for fraction in [0.0, 0.3, 0.5, 1.0, -0.25] {
            for values in [&doubles, &few, &lows, &Vec::new()] {
                both(&CONTINUOUS, LogicalType::Double, LogicalType::Double, values, fraction);
                both(&DISCRETE, LogicalType::Double, LogicalType::Double, values, fraction);
                both(&DEVIATION, LogicalType::Double, LogicalType::Double, values, fraction);
            }
            both(&CONTINUOUS, LogicalType::Timestamp, LogicalType::Timestamp, &whole, fraction);
            both(&DEVIATION, LogicalType::Timestamp, LogicalType::Interval, &whole, fraction);
            both(&DISCRETE, LogicalType::Varchar, LogicalType::Varchar, &texts, fraction);
            both(&DISCRETE, LogicalType::Interval, LogicalType::Interval, &spans, fraction);
        }
    }
}
