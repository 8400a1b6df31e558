//! Where the values of a key lie, as far as rows show it.
//!
//! A filter on the year of a calendar of two centuries leaves days that lie together, and the rows of a fact table know a few
//! years of it only. Believing that keys are independent of filters on other columns, a join of the two is estimated a hundred
//! times too small. So the range of each key among the sample's rows that pass a filter is kept, and a join is believed to
//! happen where the ranges of both sides overlap, with rows and distinct values spread evenly over each.
//!
//! Only columns that are carried as integers have a range here; the numbers are those that are stored.

use super::properties::as_column;
use super::statistics::Relation;
use crate::plan::{ColumnEstimate, ColumnId, CompareOp, Expr};
use inlay_types::{PhysicalType, Value, Vector};

/// Sample rows that tell a range; fewer may lie together by chance.
const SEEN_MIN: usize = 5;
/// A range that is narrower than this share of the column's tells something.
const NARROW_MAX: f64 = 0.8;

/// A range of stored numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    low: f64,
    high: f64,
}

impl Reach {
    fn width(self) -> f64 {
        self.high - self.low + 1.0
    }

    /// What both ranges have; where they have nothing in common, one value of this one.
    fn meet(self, other: Self) -> Self {
        let low = self.low.max(other.low).min(self.high);
        Self { low, high: self.high.min(other.high).max(low) }
    }

    /// The share of the range that is inside of `other`.
    fn share_in(self, other: Self) -> f64 {
        (self.meet(other).width() / self.width()).clamp(0.0, 1.0)
    }

    /// The range of all rows of which some were seen. Of evenly spread values, the outermost ones seen are as far from
    /// the ends as neighbours are from each other, on average; twice that is allowed for.
    fn seen(low: i128, high: i128, count: usize) -> Self {
        let (low, high) = (low as f64, high as f64);
        let beyond = 2.0 * (high - low) / (count.max(2) - 1) as f64;
        Self { low: low - beyond, high: high + beyond }
    }
}

/// The range of a column's values, if it has one.
fn of(column: &ColumnEstimate) -> Option<Reach> {
    let number = |value: &Option<Value>| value.as_ref()?.as_stored_i128().map(|number| number as f64);
    column.reach.or_else(|| Some(Reach { low: number(&column.min)?, high: number(&column.max)? }))
}

/// The range that some rows of a sample show for a column.
pub fn of_rows(column: &Vector, rows: &[u32]) -> Option<Reach> {
    let is_integer = matches!(
        column.physical_type(),
        PhysicalType::I16
            | PhysicalType::I32
            | PhysicalType::I64
            | PhysicalType::U16
            | PhysicalType::U32
            | PhysicalType::U64
    );
    if !is_integer || !column.is_flat() || rows.len() < SEEN_MIN {
        return None;
    }
    let values = rows.iter().map(|row| *row as usize).filter(|row| !column.is_null(*row));
    let (mut low, mut high, mut count) = (i128::MAX, i128::MIN, 0);
    for value in values.map(|row| column.stored_i128(row)) {
        (low, high, count) = (low.min(value), high.max(value), count + 1);
    }
    (count >= SEEN_MIN && low < high).then(|| Reach::seen(low, high, count))
}

/// Notes that the rows' values of a column lie in a range.
pub fn narrow(column: &mut ColumnEstimate, to: Reach) {
    let Some(known) = of(column) else { return };
    let share = known.share_in(to);
    if share < NARROW_MAX {
        column.reach = Some(known.meet(to));
        column.distinct = (column.distinct * share).max(1.0);
    }
}

/// Notes what a comparison of the column with constants says of its range; of its distinct values the caller knows more.
pub fn restrict(column: &mut ColumnEstimate, predicate: &Expr) {
    let (Some(known), Some(allowed)) = (of(column), allowed_by(predicate)) else { return };
    column.reach = Some(known.meet(allowed));
}

fn allowed_by(predicate: &Expr) -> Option<Reach> {
    let number = |expr: &Expr| match expr {
        Expr::Literal { value, .. } => value.as_stored_i128().map(|number| number as f64),
        _ => None,
    };
    match predicate {
        Expr::Compare { op, left, right } if as_column(left).is_some() => {
            let value = number(right)?;
            let all = Reach { low: f64::NEG_INFINITY, high: f64::INFINITY };
            match op {
                CompareOp::Eq | CompareOp::NotDistinct => Some(Reach { low: value, high: value }),
                CompareOp::Lt | CompareOp::LtEq => Some(Reach { high: value, ..all }),
                CompareOp::Gt | CompareOp::GtEq => Some(Reach { low: value, ..all }),
                CompareOp::NotEq | CompareOp::Distinct => None,
            }
        }
        Expr::InList { input, list } if as_column(input).is_some() => {
            let values: Option<Vec<f64>> = list.iter().map(number).collect();
            let (low, high) =
                values?.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                    (low.min(value), high.max(value))
                });
            (low <= high).then_some(Reach { low, high })
        }
        _ => None,
    }
}

/// The shares of both sides' rows whose keys lie where those of the other side lie.
pub fn shares(left: &Relation, l: ColumnId, right: &Relation, r: ColumnId) -> (f64, f64) {
    let range = |relation: &Relation, id| relation.columns.get(&id).and_then(of);
    match (range(left, l), range(right, r)) {
        (Some(left), Some(right)) => (left.share_in(right), right.share_in(left)),
        _ => (1.0, 1.0),
    }
}

/// Restricts relations to what equalities leave of them: columns of a class to the range that all of its members have.
///
/// Of several keys of a relation the one with the narrowest range counts: a calendar's days and weeks lie together.
pub fn equate(classes: &[Vec<(ColumnId, usize)>], relations: &mut [&mut Relation]) {
    let range = |relations: &[&mut Relation], (id, index): (ColumnId, usize)| {
        relations[index].columns.get(&id).and_then(of)
    };
    let mut narrowest = vec![1.0f64; relations.len()];
    for class in classes {
        let known = class.iter().filter_map(|member| range(relations, *member));
        let Some(common) = known.reduce(Reach::meet) else { continue };
        for (id, index) in class.iter().copied() {
            let Some(own) = range(relations, (id, index)) else { continue };
            let share = own.share_in(common);
            if share < 1.0
                && let Some(column) = relations[index].columns.get_mut(&id)
            {
                column.reach = Some(own.meet(common));
                column.distinct = (column.distinct * share).max(1.0);
                narrowest[index] = narrowest[index].min(share);
            }
        }
    }
    for (relation, share) in relations.iter_mut().zip(narrowest) {
        relation.rows = (relation.rows * share).max(relation.rows.min(1.0));
        relation.base_rows = (relation.base_rows * share).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::LogicalType;

    fn column(low: i32, high: i32, distinct: f64) -> ColumnEstimate {
        let bound = |value| Some(Value::Integer(value));
        ColumnEstimate { distinct, min: bound(low), max: bound(high), ..ColumnEstimate::default() }
    }

    #[test]
    fn rows_that_lie_together_narrow_a_column() {
        let days: Vec<i32> = (0..1000).map(|day| day * 73).collect();
        let vector = Vector::from_values(LogicalType::Integer, &days);
        let mut key = column(0, 73_000, 73_000.0);
        narrow(&mut key, of_rows(&vector, &[500, 501, 502, 503, 504, 505]).unwrap());
        assert!((500.0..1000.0).contains(&key.distinct), "{}", key.distinct);
        let mut spread = column(0, 73_000, 73_000.0);
        narrow(&mut spread, of_rows(&vector, &[20, 150, 420, 500, 760, 930]).unwrap());
        assert_eq!(spread, column(0, 73_000, 73_000.0));
        assert_eq!(of_rows(&vector, &[1, 2, 3, 4]), None);
    }

    #[test]
    fn constants_bound_a_column() {
        let id = ColumnId(1);
        let key = || Expr::Column { id, ty: LogicalType::Integer };
        let literal = |value| Expr::literal(Value::Integer(value));
        let restricted = |predicate: Expr| {
            let mut column = column(0, 99, 100.0);
            restrict(&mut column, &predicate);
            column.reach.map(|reach| (reach.low, reach.high))
        };
        assert_eq!(restricted(Expr::compare(CompareOp::Eq, key(), literal(7))), Some((7.0, 7.0)));
        assert_eq!(restricted(Expr::compare(CompareOp::Lt, key(), literal(7))), Some((0.0, 7.0)));
        assert_eq!(restricted(Expr::compare(CompareOp::Gt, key(), literal(200))), Some((99.0, 99.0)));
        let list = Expr::InList { input: Box::new(key()), list: vec![literal(4), literal(2)] };
        assert_eq!(restricted(list), Some((2.0, 4.0)));
        assert_eq!(restricted(Expr::compare(CompareOp::NotEq, key(), literal(7))), None);
    }

    #[test]
    fn sides_meet_where_their_ranges_overlap() {
        let relation = |rows, key| Relation {
            rows,
            base_rows: rows,
            columns: [(ColumnId(1), key)].into_iter().collect(),
        };
        let mut facts = relation(1e6, column(1000, 2999, 2000.0));
        let mut days = relation(50_000.0, column(0, 49_999, 50_000.0));
        assert_eq!(shares(&facts, ColumnId(1), &days, ColumnId(1)), (1.0, 0.04));
        let class = || vec![(ColumnId(1), 0), (ColumnId(1), 1)];
        // A second class that says the same changes nothing.
        equate(&[class(), class()], &mut [&mut facts, &mut days]);
        assert_eq!((facts.rows, days.rows, days.domain(ColumnId(1))), (1e6, 2000.0, 2000.0));
        let mut other = relation(10.0, column(-5, -1, 5.0));
        equate(&[class()], &mut [&mut facts, &mut other]);
        assert!(facts.rows <= 1000.0 && other.rows >= 1.0);
    }
}
