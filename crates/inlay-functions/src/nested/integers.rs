//! Sums, means, least and greatest elements of lists of integers, folded where they lie: neither a column of all elements is made
//! nor a group for each.
//!
//! Called by [`super::folds`]. The results are those of the aggregate functions: sums are exact, and lists without elements
//! that are not NULL have none.

use inlay_kernels::function::{AggregateFunction, AggregateKind};
use inlay_types::LogicalType::{Double, HugeInt};
use inlay_types::nested::plain_run;
use inlay_types::nested::read::Sequence;
use inlay_types::{Bitmap, Buffer, Error, Heap, LogicalType, Native, PhysicalType, Result, Vector, limits};

/// What is made of the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fold {
    Sum,
    Mean,
    Least,
    Greatest,
}

impl Fold {
    /// The fold that an aggregate function is, if it is one of integers of at most 64 bits.
    pub(super) fn of(function: &AggregateFunction) -> Option<Self> {
        let [ty] = &function.arg_types[..] else { return None };
        if !ty.is_integer() || ty.physical().size() > 8 || function.external.is_some() {
            return None;
        }
        let folds = [
            (AggregateKind::Sum, &HugeInt, Self::Sum),
            (AggregateKind::Avg, &Double, Self::Mean),
            (AggregateKind::Min, ty, Self::Least),
            (AggregateKind::Max, ty, Self::Greatest),
        ];
        let is_meant = |(kind, returns, _): &&(AggregateKind, &LogicalType, Self)| {
            function.kind == *kind && function.return_type == **returns
        };
        folds.iter().find(is_meant).map(|(_, _, fold)| *fold)
    }

    /// The result for each of some lists, a flat vector of lists of integers.
    pub(super) fn run(self, lists: &Vector, returns: &LogicalType) -> Result<Vector> {
        let Some(element) = super::element(lists.ty()) else {
            return Err(Error::internal(format!("integers of {}", lists.ty())));
        };
        match element.physical() {
            PhysicalType::I8 => self.run_as::<i8>(lists, returns),
            PhysicalType::I16 => self.run_as::<i16>(lists, returns),
            PhysicalType::I32 => self.run_as::<i32>(lists, returns),
            PhysicalType::I64 => self.run_as::<i64>(lists, returns),
            PhysicalType::U8 => self.run_as::<u8>(lists, returns),
            PhysicalType::U16 => self.run_as::<u16>(lists, returns),
            PhysicalType::U32 => self.run_as::<u32>(lists, returns),
            PhysicalType::U64 => self.run_as::<u64>(lists, returns),
            other => Err(Error::internal(format!("integers carried by {other:?}"))),
        }
    }

    fn run_as<T: Integer>(self, lists: &Vector, returns: &LogicalType) -> Result<Vector> {
        let add = |sum: i128, value: T| sum + value.wide();
        match self {
            Self::Sum => folded(lists, returns, 0, add, |sum, _| sum),
            Self::Mean => folded(lists, returns, 0, add, |sum, count| {
                // Most sums fit into 64 bits, whose conversion is one instruction.
                i64::try_from(sum).map_or(sum as f64, |sum| sum as f64) / count as f64
            }),
            Self::Least => {
                folded(lists, returns, T::MAX, |least: T, value| least.min(value), |least, _| least)
            }
            Self::Greatest => folded(
                lists,
                returns,
                T::MIN,
                |greatest: T, value| greatest.max(value),
                |greatest, _| greatest,
            ),
        }
    }
}

/// An integer of at most 64 bits.
trait Integer: Native + Ord {
    const MIN: Self;
    const MAX: Self;

    fn wide(self) -> i128;

    /// The integers that lie back to back.
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self>;
}
macro_rules! integer {
    ($($t:ty),*) => { $(
        impl Integer for $t {
            const MIN: Self = <$t>::MIN;
            const MAX: Self = <$t>::MAX;

            #[inline(always)]
            fn wide(self) -> i128 {
                i128::from(self)
            }

            #[inline(always)]
            fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
                bytes.as_chunks().0.iter().map(|raw| Self::from_le_bytes(*raw))
            }
        }
    )* };
}
integer!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Elements of a list between two looks at the flag.
const PART: usize = 1 << 16;

/// `end` of what `add` makes of the elements of each list that are not NULL, and their number; NULL if there are none.
fn folded<T: Integer, S: Copy, R: Native>(
    lists: &Vector,
    returns: &LogicalType,
    start: S,
    add: impl Fn(S, T) -> S,
    end: impl Fn(S, usize) -> R,
) -> Result<Vector> {
    let (heap, views, width) = (lists.heap().buffers(), &lists.views()[..lists.len()], size_of::<T>());
    let has_nulls = lists.validity().is_some();
    let mut values = Vec::with_capacity(views.len());
    let mut words = vec![0u64; views.len().div_ceil(64)];
    for (row, view) in views.iter().enumerate() {
        let bytes = if has_nulls && lists.is_null(row) { &[] } else { view.bytes(heap) };
        let (mut state, mut count) = (start, 0);
        if let Some(run) = plain_run(bytes, width) {
            for part in run.chunks(PART * width) {
                if part.len() == PART * width {
                    limits::check()?;
                }
                state = T::all(part).fold(state, &add);
            }
            count = run.len() / width;
        } else {
            let list = Sequence::of_width(Some(width), bytes);
            for index in 0..list.len() {
                if index % PART == PART - 1 {
                    limits::check()?;
                }
                if let Some(value) = list.get(index).and_then(|raw| T::all(raw).next()) {
                    (state, count) = (add(state, value), count + 1);
                }
            }
        }
        values.push(if count == 0 { R::default() } else { end(state, count) });
        words[row / 64] |= u64::from(count > 0) << (row % 64);
    }
    let validity = Some(Bitmap::from_words(words, views.len())).filter(|validity| !validity.all());
    Ok(Vector::flat(returns.clone(), views.len(), Buffer::from_vec(values), validity, Heap::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_kernels::resolve::ArgType;
    use inlay_types::Value;
    use std::sync::Arc;

    /// Each list folded as the aggregate function of its elements says, which is asked for them one list at a time.
    #[test]
    fn lists_are_folded_as_their_elements_are_aggregated() {
        let mut state = 5u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        use LogicalType as T;
        let types = [
            T::TinyInt,
            T::SmallInt,
            T::Integer,
            T::BigInt,
            T::UTinyInt,
            T::USmallInt,
            T::UInteger,
            T::UBigInt,
        ];
        for ty in types {
            let extremes: [i128; 2] = match ty.physical() {
                PhysicalType::I8 => [i8::MIN.into(), i8::MAX.into()],
                PhysicalType::I16 => [i16::MIN.into(), i16::MAX.into()],
                PhysicalType::I32 => [i32::MIN.into(), i32::MAX.into()],
                PhysicalType::I64 => [i64::MIN.into(), i64::MAX.into()],
                PhysicalType::U8 => [0, u8::MAX.into()],
                PhysicalType::U16 => [0, u16::MAX.into()],
                PhysicalType::U32 => [0, u32::MAX.into()],
                _ => [0, u64::MAX.into()],
            };
            let mut lists = vec![Value::Null];
            for row in 0..300 {
                let len = if row % 100 == 7 { 2000 } else { below(5) };
                let has_nulls = below(3) == 0;
                let mut value = |_| match below(4) {
                    0 if has_nulls => Value::Null,
                    1 => Value::from_stored_i128(&ty, extremes[below(2) as usize]).unwrap(),
                    _ => Value::from_stored_i128(&ty, i128::from(below(100))).unwrap(),
                };
                let values: Vec<Value> = (0..len).map(&mut value).collect();
                lists.push(Value::List { element: Arc::new(ty.clone()), values });
            }
            let vector = Vector::from_sql_values(T::list(ty.clone()), &lists).unwrap();
            for name in ["sum", "avg", "min", "max"] {
                let function = crate::registry::resolve_aggregate(name, &[ArgType::of(ty.clone())]).unwrap();
                let fold = Fold::of(&function).unwrap();
                let found = fold.run(&vector, &function.return_type).unwrap();
                for (row, list) in lists.iter().enumerate() {
                    let Value::List { values, .. } = list else {
                        assert_eq!(found.get(row), Value::Null);
                        continue;
                    };
                    let elements = Vector::from_sql_values(ty.clone(), values).unwrap();
                    let mut one = inlay_kernels::aggregate::create(&function, false).unwrap();
                    one.resize(1);
                    one.start_morsel(0);
                    one.update_one(&[&elements], values.len(), 0).unwrap();
                    assert_eq!(found.get(row), one.finish(0, 1).unwrap().get(0), "{name} {list:?}");
                }
            }
        }
    }
}
