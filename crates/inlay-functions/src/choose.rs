//! `greatest`, `least`, `hash` and others of values of any type.

use super::columns::{TextColumn, computed_rows};
use crate::registry::{Function, Overloads};
use inlay_kernels::apply::joint_validity;
use inlay_kernels::coercion::common_choice_type;
use inlay_kernels::compare::SqlOrd;
use inlay_kernels::function::Volatility;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{Boolean, Integer, UBigInt, Varchar};
use inlay_types::limits::Meter;
use inlay_types::view::HeapBuilder;
use inlay_types::{
    Bitmap, Error, Interval, LogicalType, PhysicalType, Result, Value, Vector, View, multiversion,
};

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "greatest",
        Overloads::Typed { shown: &["greatest(any, ...)"], resolve: |args, _| resolve(args, true) },
        "the largest argument that is not NULL",
        "greatest(1, 3, NULL) = 3",
    )
    .special_nulls(),
    Function::new(
        "least",
        Overloads::Typed { shown: &["least(any, ...)"], resolve: |args, _| resolve(args, false) },
        "the smallest argument that is not NULL",
        "least(1, 3, NULL) = 1",
    )
    .special_nulls(),
    Function::new(
        "hash",
        Overloads::Typed { shown: &["hash(any, ...) -> UBIGINT"], resolve: |args, _| resolve_hash(args) },
        "a number that is the same for equal values",
        "hash('a')",
    )
    .special_nulls(),
    Function::new(
        "error",
        Overloads::Typed { shown: &["error(VARCHAR) -> NULL"], resolve: resolve_error },
        "fails with a message of your own",
        "CASE WHEN 1 > 2 THEN error('impossible') ELSE 1 END = 1",
    )
    .volatile(Volatility::Volatile),
    Function::new(
        "constant_or_null",
        Overloads::Typed {
            shown: &["constant_or_null(any, any, ...) -> any"],
            resolve: resolve_constant_or_null,
        },
        "the first argument unless another is NULL",
        "constant_or_null(42, 1) = 42",
    )
    .special_nulls(),
    Function::new(
        "can_cast_implicitly",
        Overloads::Typed { shown: &["can_cast_implicitly(any, any) -> BOOLEAN"], resolve: resolve_can_cast },
        "whether the first argument's type becomes the second's without a CAST",
        "can_cast_implicitly(1::INTEGER, 1::BIGINT) = true",
    )
    .special_nulls(),
];

fn resolve_error(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [message] = args else { return None };
    if message.ty != Varchar && message.ty != LogicalType::Null {
        return None;
    }
    let kernel = kernel(|args, len, out| {
        let messages = TextColumn::of(args[0]);
        if let Some(row) = (0..len).find(|row| !args[0].is_null(*row)) {
            return Err(Error::invalid_argument(messages.text(row)));
        }
        *out = Vector::nulls(LogicalType::Null, len);
        Ok(())
    });
    Some(Resolved::fallible(vec![Varchar], LogicalType::Null, kernel))
}

fn resolve_constant_or_null(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let ty = args.first().filter(|_| args.len() > 1)?.ty.clone();
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        if args.iter().any(|arg| arg.is_constant_null()) {
            *out = Vector::nulls(returns.clone(), len);
            return Ok(());
        }
        let validity = joint_validity(args, len);
        *out = if validity.is_some() { args[0].flatten() } else { args[0].clone() };
        out.set_validity(validity);
        Ok(())
    });
    Some(Resolved::infallible(args.iter().map(|arg| arg.ty.clone()).collect(), ty, kernel))
}

fn resolve_can_cast(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [from, to] = args else { return None };
    let answer = Value::Boolean(inlay_kernels::coercion::can_cast_implicitly(&from.ty, &to.ty));
    let kernel = kernel(move |_, len, out| {
        *out = Vector::constant(Boolean, &answer, len)?;
        Ok(())
    });
    Some(Resolved::infallible(vec![from.ty.clone(), to.ty.clone()], Boolean, kernel))
}

fn resolve(args: &[ArgType], greatest: bool) -> Option<Resolved> {
    let first = args.first()?;
    let mut meeting = first.clone();
    for arg in &args[1..] {
        let ty = common_choice_type(&meeting, arg)?;
        // As soon as one argument is no literal, neither is what they meet in.
        let is_literal = meeting.is_literal && arg.is_literal && ty == meeting.ty;
        meeting = ArgType { is_literal, ..ArgType::of(ty) };
    }
    let ty = if meeting.ty == LogicalType::Null { Integer } else { meeting.ty };
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| choose(&ty, args, len, out, greatest));
    Some(Resolved::infallible(vec![returns.clone(); args.len()], returns, kernel))
}

/// For each row, the argument that holds the extreme value; `None` where all are NULL.
fn winners(args: &[&Vector], rows: usize, beats: impl Fn(usize, usize, usize) -> bool) -> Vec<Option<usize>> {
    let winner = |row: usize| {
        let known = (0..args.len()).filter(|&arg| !args[arg].is_null(row));
        known.reduce(|best, arg| if beats(arg, best, row) { arg } else { best })
    };
    (0..rows).map(winner).collect()
}

fn choose(ty: &LogicalType, args: &[&Vector], len: usize, out: &mut Vector, greatest: bool) -> Result<()> {
    if len == 0 {
        out.reset_flat(ty, 0);
        return Ok(());
    }
    let rows = computed_rows(args, len);
    match ty.physical() {
        PhysicalType::Bool | PhysicalType::U8 => choose_native::<u8>(ty.clone(), args, rows, out, greatest),
        PhysicalType::I8 => choose_native::<i8>(ty.clone(), args, rows, out, greatest),
        PhysicalType::I16 => choose_native::<i16>(ty.clone(), args, rows, out, greatest),
        PhysicalType::I32 => choose_native::<i32>(ty.clone(), args, rows, out, greatest),
        PhysicalType::I64 => choose_native::<i64>(ty.clone(), args, rows, out, greatest),
        PhysicalType::I128 => choose_native::<i128>(ty.clone(), args, rows, out, greatest),
        PhysicalType::U16 => choose_native::<u16>(ty.clone(), args, rows, out, greatest),
        PhysicalType::U32 => choose_native::<u32>(ty.clone(), args, rows, out, greatest),
        PhysicalType::U64 => choose_native::<u64>(ty.clone(), args, rows, out, greatest),
        PhysicalType::U128 => choose_native::<u128>(ty.clone(), args, rows, out, greatest),
        PhysicalType::F32 => choose_native::<f32>(ty.clone(), args, rows, out, greatest),
        PhysicalType::F64 => choose_native::<f64>(ty.clone(), args, rows, out, greatest),
        PhysicalType::Interval => choose_native::<Interval>(ty.clone(), args, rows, out, greatest),
        PhysicalType::View => choose_text(ty.clone(), args, rows, out, greatest)?,
    }
    if rows != len {
        let one = std::mem::replace(out, Vector::empty(ty.clone()));
        return inlay_kernels::apply::make_constant(&one, len, out);
    }
    Ok(())
}

/// The best of all arguments: of the first, then better ones of the next, which lie in a row.
fn choose_native<T: SqlOrd>(
    ty: LogicalType,
    args: &[&Vector],
    rows: usize,
    out: &mut Vector,
    greatest: bool,
) {
    if greatest {
        choose_by(ty, args, rows, out, |best: T, other: T| best.less(other));
    } else {
        choose_by(ty, args, rows, out, |best: T, other: T| other.less(best));
    }
}

fn choose_by<T: SqlOrd>(
    ty: LogicalType,
    args: &[&Vector],
    rows: usize,
    out: &mut Vector,
    beats: impl Fn(T, T) -> bool + Copy,
) {
    out.reset_flat(&ty, rows);
    let columns: Vec<Vector> =
        args.iter().filter(|arg| !arg.is_constant_null()).map(|arg| arg.flatten()).collect();
    let mut rest = &columns[..];
    // NULL in all rows so far.
    let mut known: Option<Option<Bitmap>> = None;
    if let [first, second, others @ ..] = rest
        && first.validity().or(second.validity()).is_none()
    {
        let (first, second) = (&first.values::<T>()[..rows], &second.values::<T>()[..rows]);
        better_of_two(out.values_mut::<T>(), first, second, beats);
        (known, rest) = (Some(None), others);
    }
    for flat in rest {
        let (values, own) = (&flat.values::<T>()[..rows], flat.validity());
        let best = out.values_mut::<T>();
        known = Some(match known {
            None => {
                best.copy_from_slice(values);
                own.cloned()
            }
            Some(None) if own.is_none() => {
                better(best, values, beats);
                None
            }
            Some(before) => {
                better_known(best, before.as_ref(), values, own, beats);
                before
                    .zip(own)
                    .map(|(before, own)| Bitmap::from_fn(rows, |row| before.get(row) || own.get(row)))
            }
        });
    }
    match known {
        None => *out = Vector::nulls(ty, rows),
        Some(validity) => out.set_validity(validity.filter(|validity| !validity.all())),
    }
}

multiversion! {
    /// Puts values in the place of those that they beat.
    fn better[T: Copy, F: Fn(T, T) -> bool](best: &mut [T], values: &[T], beats: F) {
        for (best, &value) in best.iter_mut().zip(values) {
            *best = if beats(*best, value) { value } else { *best };
        }
    }
}

multiversion! {
    /// The better ones of two columns.
    fn better_of_two[T: Copy, F: Fn(T, T) -> bool](best: &mut [T], first: &[T], second: &[T], beats: F) {
        for ((best, &first), &second) in best.iter_mut().zip(first).zip(second) {
            *best = if beats(first, second) { second } else { first };
        }
    }
}

/// The same where some are NULL: mostly none of those of a word.
fn better_known<T: Copy>(
    best: &mut [T],
    before: Option<&Bitmap>,
    values: &[T],
    own: Option<&Bitmap>,
    beats: impl Fn(T, T) -> bool + Copy,
) {
    const BITS: usize = u64::BITS as usize;
    let are_valid =
        |bitmap: Option<&Bitmap>, word: usize| bitmap.is_none_or(|bitmap| bitmap.words()[word] == u64::MAX);
    let is_valid = |bitmap: Option<&Bitmap>, row: usize| bitmap.is_none_or(|bitmap| bitmap.get(row));
    let words = best.len() / BITS;
    let mut word = 0;
    while word * BITS < best.len() {
        // As many words without NULLs as there are together, or one that has some, or fewer rows than a word has.
        let plain =
            (word..words).take_while(|word| are_valid(before, *word) && are_valid(own, *word)).count();
        let (from, to) = (word * BITS, ((word + plain.max(1)) * BITS).min(best.len()));
        if plain > 0 {
            better(&mut best[from..to], &values[from..to], beats);
        } else {
            for row in from..to {
                if is_valid(own, row) && (!is_valid(before, row) || beats(best[row], values[row])) {
                    best[row] = values[row];
                }
            }
        }
        word += plain.max(1);
    }
}

fn choose_text(
    ty: LogicalType,
    args: &[&Vector],
    rows: usize,
    out: &mut Vector,
    greatest: bool,
) -> Result<()> {
    let columns: Vec<TextColumn> = args.iter().map(|arg| TextColumn::of(arg)).collect();
    let beats = |a: usize, b: usize, row: usize| {
        let (a, b) = (columns[a].get(row), columns[b].get(row));
        if greatest { a > b } else { a < b }
    };
    let winners = winners(args, rows, beats);
    let (mut heap, mut meter) = (HeapBuilder::new(), Meter::of_rows());
    out.reset_flat(&ty, rows);
    for (row, target) in out.values_mut::<View>().iter_mut().enumerate() {
        let text = winners[row].map_or(&b""[..], |arg| columns[arg].get(row));
        meter.add(text.len())?;
        *target = heap.push(text);
    }
    out.set_heap(heap.finish());
    set_nulls(&winners, out);
    out.hold(meter.finish());
    Ok(())
}

fn set_nulls(winners: &[Option<usize>], out: &mut Vector) {
    if winners.contains(&None) {
        out.set_validity(Some(Bitmap::from_fn(winners.len(), |row| winners[row].is_some())));
    }
}

fn resolve_hash(args: &[ArgType]) -> Option<Resolved> {
    if args.is_empty() {
        return None;
    }
    let concrete = |arg: &ArgType| if arg.ty == LogicalType::Null { Integer } else { arg.ty.clone() };
    let kernel = kernel(|args, len, out| {
        out.reset_flat(&UBigInt, len);
        for (index, arg) in args.iter().enumerate() {
            if index == 0 {
                inlay_types::hash::hash(arg, len, out.values_mut::<u64>());
            } else {
                inlay_types::hash::hash_combine(arg, len, out.values_mut::<u64>());
            }
        }
        Ok(())
    });
    Some(Resolved::infallible(args.iter().map(concrete).collect(), UBigInt, kernel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_many_rows_is_that_of_each() {
        let mut state = 7u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for rows in [1usize, 63, 64, 65, 200, 1000] {
            // NULLs are rare, frequent, or in one stretch.
            let mut column = |kind: u64| {
                let value = |row: usize| match (kind, below(100)) {
                    (0, 0) | (1, 0..50) => Value::Null,
                    (2, _) if (70..80).contains(&row) => Value::Null,
                    (_, number) => Value::BigInt(number as i64 - 50),
                };
                let values: Vec<Value> = (0..rows).map(value).collect();
                Vector::from_sql_values(LogicalType::BigInt, &values).unwrap()
            };
            let columns: Vec<Vector> = [3, 0, 2, 1].map(&mut column).into_iter().collect();
            for args in [&columns[..1], &columns[..2], &columns[1..3], &columns[..]] {
                for greatest in [false, true] {
                    let mut out = Vector::empty(LogicalType::BigInt);
                    choose(&LogicalType::BigInt, &args.iter().collect::<Vec<_>>(), rows, &mut out, greatest)
                        .unwrap();
                    for row in 0..rows {
                        let known = args.iter().map(|arg| arg.get(row)).filter(|value| !value.is_null());
                        let best =
                            known.reduce(|a, b| if (a.total_cmp(&b).is_lt()) == greatest { b } else { a });
                        assert_eq!(out.get(row), best.unwrap_or(Value::Null), "{rows} {row} {greatest}");
                    }
                }
            }
        }
    }
}
