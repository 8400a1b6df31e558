//! `min` and `max` of every type.

use super::bits::unsupported;
use super::fold::{Fold, Folding};
use super::groups::Seen;
use super::{GroupIds, GroupedAccumulator, StringHeap, same_kind};
use crate::function::AggregateFunction;
use inlay_types::{
    Buffer, Interval, LogicalType, Native, PhysicalType, Result, Vector, VectorKind, View, nested,
};
use std::any::Any;
use std::marker::PhantomData;

/// A carrier with SQL's order.
trait Ordered: Native {
    /// A value that no value is above.
    const TOP: Self;
    /// A value that no value is below.
    const BOTTOM: Self;
    /// The order of values: NaN equals NaN and is above every number.
    fn below(self, other: Self) -> bool;
}
macro_rules! ordered_integer {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            const TOP: Self = <$t>::MAX;
            const BOTTOM: Self = <$t>::MIN;
            #[inline(always)]
            fn below(self, other: Self) -> bool {
                self < other
            }
        }
    )* };
}
ordered_integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);
macro_rules! ordered_float {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            const TOP: Self = <$t>::NAN;
            const BOTTOM: Self = <$t>::NEG_INFINITY;
            #[inline(always)]
            fn below(self, other: Self) -> bool {
                self < other || (other.is_nan() && !self.is_nan())
            }
        }
    )* };
}
ordered_float!(f32, f64);
impl Ordered for Interval {
    const TOP: Self = Interval { months: i32::MAX, days: i32::MAX, micros: i64::MAX };
    const BOTTOM: Self = Interval { months: i32::MIN, days: i32::MIN, micros: i64::MIN };
    fn below(self, other: Self) -> bool {
        self.order_key() < other.order_key()
    }
}

struct Least<T>(PhantomData<T>);
impl<T: Ordered> Fold for Least<T> {
    type Input = T;
    type State = T;
    type Output = T;
    fn empty() -> T {
        T::TOP
    }
    #[inline(always)]
    fn add(state: &mut T, value: T) {
        *state = if value.below(*state) { value } else { *state };
    }
    fn merge(state: &mut T, other: &T) {
        Self::add(state, *other);
    }
    fn result(state: &T) -> T {
        *state
    }
}

struct Greatest<T>(PhantomData<T>);
impl<T: Ordered> Fold for Greatest<T> {
    type Input = T;
    type State = T;
    type Output = T;
    fn empty() -> T {
        T::BOTTOM
    }
    #[inline(always)]
    fn add(state: &mut T, value: T) {
        *state = if state.below(value) { value } else { *state };
    }
    fn merge(state: &mut T, other: &T) {
        Self::add(state, *other);
    }
    fn result(state: &T) -> T {
        *state
    }
}

pub(super) fn create(
    function: &AggregateFunction,
    total: bool,
    greatest: bool,
) -> Result<Box<dyn GroupedAccumulator>> {
    let ty = function.arg_types[0].clone();
    if ty != function.return_type && ty.physical() != function.return_type.physical() {
        return Err(unsupported(function));
    }
    let ty = function.return_type.clone();
    macro_rules! of {
        ($t:ty) => {
            if greatest {
                Folding::<Greatest<$t>>::boxed(ty, total)
            } else {
                Folding::<Least<$t>>::boxed(ty, total)
            }
        };
    }
    Ok(match ty.physical() {
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
        PhysicalType::Interval => of!(Interval),
        PhysicalType::View => Box::new(ExtremeString {
            views: Vec::new(),
            heap: StringHeap::default(),
            live_size: 0,
            seen: Seen::new(false),
            is_nested: ty.is_nested(),
            ty,
            greatest,
        }),
    })
}

/// `min` and `max` of strings. Replaced strings stay in the heap until they are the larger part of it.
struct ExtremeString {
    views: Vec<View>,
    heap: StringHeap,
    /// Bytes of the heap that some state points to.
    live_size: usize,
    seen: Seen,
    ty: LogicalType,
    is_nested: bool,
    greatest: bool,
}

impl ExtremeString {
    #[inline]
    fn offer(&mut self, group: usize, view: &View, bytes: &[u8]) {
        let own = &self.views[group];
        if self.seen.get(group) {
            // Most differ from the best so far in their first bytes, which lie in the views.
            let (first, best) = (u32::from_be_bytes(view.prefix()), u32::from_be_bytes(own.prefix()));
            if !self.is_nested && if self.greatest { first < best } else { first > best } {
                return;
            }
            let order = if self.is_nested {
                nested::compare(&self.ty, bytes, self.heap.bytes(own))
            } else {
                bytes.cmp(self.heap.bytes(own))
            };
            if if self.greatest { order.is_le() } else { order.is_ge() } {
                return;
            }
            if !own.is_inline() {
                self.live_size -= own.len();
            }
        }
        if !view.is_inline() {
            self.live_size += bytes.len();
        }
        self.views[group] = self.heap.push(bytes);
        self.seen.mark(group);
    }

    fn compact(&mut self) {
        if self.heap.size() < (1 << 16) + 2 * self.live_size {
            return;
        }
        let old = std::mem::take(&mut self.heap);
        for view in &mut self.views {
            *view = self.heap.push(old.bytes(view));
        }
    }
}

impl GroupedAccumulator for ExtremeString {
    fn resize(&mut self, groups: usize) {
        self.views.resize(groups, View::EMPTY);
        self.seen.resize(groups);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let arg = args[0];
        let buffers = arg.heap().buffers();
        let (views, codes) = match arg.kind() {
            VectorKind::Flat | VectorKind::Constant => (arg.views(), None),
            VectorKind::Dictionary(dictionary) => (dictionary.values().views(), Some(arg.codes())),
        };
        for (row, &group) in groups.ids().iter().enumerate() {
            if arg.is_null(row) {
                continue;
            }
            let at = match codes {
                Some(codes) => codes[row] as usize,
                None if arg.is_constant() => 0,
                None => row,
            };
            self.offer(group as usize, &views[at], views[at].bytes(buffers));
        }
        self.compact();
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            if other.seen.get(from as usize) {
                let view = &other.views[from as usize];
                self.offer(to as usize, view, other.heap.bytes(view));
            }
        }
        self.compact();
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let mut heap = inlay_types::view::HeapBuilder::new();
        let views: Vec<View> =
            self.views[from..from + len].iter().map(|view| heap.push(self.heap.bytes(view))).collect();
        Ok(Vector::flat(
            self.ty.clone(),
            len,
            Buffer::from_vec(views),
            self.seen.validity(from, len),
            heap.finish(),
        ))
    }

    fn memory_size(&self) -> usize {
        self.views.capacity() * 16 + self.heap.size() + self.seen.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
