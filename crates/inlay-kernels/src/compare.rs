//! Comparison of two vectors of one type, to BOOLEAN or to the rows where it holds.
//!
//! Loops know two questions, "equal" and "less"; every operator is one of them with sides exchanged or the
//! answer inverted. They write bytes of 0 and 1 and autovectorise; row positions come from [`inlay_types::simd::positions`].
//! A dictionary that is not larger than the rows is compared with a constant once per distinct value.
//!
//! Floats order totally: NaN equals NaN and is above every number; -0.0 equals 0.0. Intervals compare by their key.

pub use inlay_types::Cmp;
use inlay_types::multiversion;
use inlay_types::simd::{pack_bits, positions};
use inlay_types::{Bitmap, Buffer, Error, Interval, LogicalType, Native, PhysicalType, Result, VECTOR_SIZE};
use inlay_types::{Value, Vector, VectorKind, View, nested};

/// How an operator is computed.
trait Asked {
    fn ignores_null(self) -> bool;
    fn question(self) -> Question;
}

impl Asked for Cmp {
    fn ignores_null(self) -> bool {
        matches!(self, Self::Distinct | Self::NotDistinct)
    }

    fn question(self) -> Question {
        match self {
            Self::Eq | Self::NotDistinct => Question { less: false, swap: false, invert: false },
            Self::NotEq | Self::Distinct => Question { less: false, swap: false, invert: true },
            Self::Lt => Question { less: true, swap: false, invert: false },
            Self::GtEq => Question { less: true, swap: false, invert: true },
            Self::Gt => Question { less: true, swap: true, invert: false },
            Self::LtEq => Question { less: true, swap: true, invert: true },
        }
    }
}

/// An operator as "equal" or "less", possibly of exchanged sides, possibly inverted.
#[derive(Clone, Copy)]
struct Question {
    less: bool,
    swap: bool,
    invert: bool,
}

/// `left op right` for `len` rows of one type, as BOOLEAN; NULL where a side is NULL, except for the DISTINCT operators.
pub fn compare(op: Cmp, left: &Vector, right: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    check_types(left, right)?;
    if left.is_constant() && right.is_constant() {
        *out = compare_constants(op, left, right, len)?;
        return Ok(());
    }
    if !op.ignores_null() && (left.is_constant_null() || right.is_constant_null()) {
        *out = Vector::nulls(LogicalType::Boolean, len);
        return Ok(());
    }
    out.reset_flat(&LogicalType::Boolean, len);
    compare_bytes(op, left, right, len, out.values_mut::<u8>());
    if op.ignores_null() {
        correct_distinct(op, left, right, out.values_mut::<u8>());
    } else {
        out.set_validity(joint_validity(left, right, len));
    }
    Ok(())
}

/// Clears `out` and fills it with the rows (all `len`, or those of `selection`) where `left op right` is TRUE, in order.
pub fn select_compare(
    op: Cmp,
    left: &Vector,
    right: &Vector,
    len: usize,
    selection: Option<&[u32]>,
    out: &mut Vec<u32>,
) -> Result<()> {
    check_types(left, right)?;
    out.clear();
    if !op.ignores_null() && (left.is_constant_null() || right.is_constant_null()) {
        return Ok(());
    }
    if left.is_constant() && right.is_constant() {
        match (compare_constants(op, left, right, 1)?.get(0), selection) {
            (Value::Boolean(true), Some(rows)) => out.extend_from_slice(rows),
            (Value::Boolean(true), None) => out.extend(0..len as u32),
            _ => {}
        }
        return Ok(());
    }
    if let Some(rows) = selection {
        // Strings are dear and few rows are cheap: compare only the rows asked for.
        if rows.len() * 8 < len || (left.physical_type() == PhysicalType::View && rows.len() * 2 < len) {
            let mut kept = Vec::new();
            select_all(op, &left.take(rows), &right.take(rows), rows.len(), &mut kept);
            out.extend(kept.iter().map(|&at| rows[at as usize]));
            return Ok(());
        }
        let mut bytes = ByteScratch::new(len);
        let bytes = bytes.slice(len);
        fill_true(op, left, right, len, bytes);
        retain_rows(bytes, rows, out);
        return Ok(());
    }
    select_all(op, left, right, len, out);
    Ok(())
}

fn check_types(left: &Vector, right: &Vector) -> Result<()> {
    let (l, r) = (left.logical_type(), right.logical_type());
    let same_scale = match (l.clone(), r.clone()) {
        (LogicalType::Decimal { scale: a, .. }, LogicalType::Decimal { scale: b, .. }) => a == b,
        _ => true,
    };
    if l.physical() == r.physical() && same_scale {
        Ok(())
    } else {
        Err(Error::internal(format!("comparison of {l} with {r} without a cast")))
    }
}

fn compare_constants(op: Cmp, left: &Vector, right: &Vector, len: usize) -> Result<Vector> {
    let nulls = (left.is_constant_null(), right.is_constant_null());
    let value = match nulls {
        (false, false) => {
            let mut byte = [0u8];
            compare_bytes(op, left, right, 1, &mut byte);
            byte[0] != 0
        }
        (left_null, right_null) if op.ignores_null() => (left_null == right_null) == (op == Cmp::NotDistinct),
        _ => return Ok(Vector::nulls(LogicalType::Boolean, len)),
    };
    Vector::constant(LogicalType::Boolean, &Value::Boolean(value), len)
}

/// Validity of a result of two arguments of which neither is a constant NULL.
fn joint_validity(left: &Vector, right: &Vector, len: usize) -> Option<Bitmap> {
    let of = |v: &Vector| {
        let validity = if v.is_constant() { None } else { v.validity().cloned() };
        validity.map(|bits| if bits.len() == len { bits } else { bits.slice(0, len) })
    };
    Bitmap::and_optional(of(left).as_ref(), of(right).as_ref())
}

/// Sets the answers of rows with NULLs for the DISTINCT operators.
fn correct_distinct(op: Cmp, left: &Vector, right: &Vector, bytes: &mut [u8]) {
    if left.validity().is_none() && right.validity().is_none() {
        return;
    }
    let not_distinct = op == Cmp::NotDistinct;
    for (row, byte) in bytes.iter_mut().enumerate() {
        let (l, r) = (left.is_null(row), right.is_null(row));
        if l || r {
            *byte = u8::from((l && r) == not_distinct);
        }
    }
}

/// Bytes: 1 where `left op right` is TRUE.
fn fill_true(op: Cmp, left: &Vector, right: &Vector, len: usize, bytes: &mut [u8]) {
    compare_bytes(op, left, right, len, bytes);
    if op.ignores_null() {
        return correct_distinct(op, left, right, bytes);
    }
    for side in [left, right] {
        if let Some(validity) = side.validity().filter(|_| !side.is_constant()) {
            let words = validity.words();
            for (row, byte) in bytes.iter_mut().enumerate() {
                *byte &= (words[row / 64] >> (row % 64)) as u8;
            }
        }
    }
}

fn select_all(op: Cmp, left: &Vector, right: &Vector, len: usize, out: &mut Vec<u32>) {
    let mut bytes = ByteScratch::new(len);
    let bytes = bytes.slice(len);
    compare_bytes(op, left, right, len, bytes);
    if op.ignores_null() {
        correct_distinct(op, left, right, bytes);
        select_bytes(bytes, [None, None], out);
    } else {
        let bits = |v: &'_ Vector| v.validity().filter(|_| !v.is_constant()).cloned();
        select_bytes(bytes, [bits(left).as_ref(), bits(right).as_ref()], out);
    }
}

/// Clears `out` and fills it with the positions of bytes that are 1 and valid.
pub fn select_bytes(bytes: &[u8], validities: [Option<&Bitmap>; 2], out: &mut Vec<u32>) {
    let mut near = [0u64; VECTOR_SIZE / 64];
    let mut far = Vec::new();
    let count = bytes.len().div_ceil(64);
    let words = if count <= near.len() {
        &mut near[..count]
    } else {
        far.resize(count, 0);
        &mut far[..]
    };
    pack_bits(bytes, words);
    for validity in validities.into_iter().flatten() {
        for (word, valid) in words.iter_mut().zip(validity.words()) {
            *word &= valid;
        }
    }
    positions(words, bytes.len(), out);
}

/// Clears `out` and fills it with those of `rows` whose byte is 1.
pub fn retain_rows(bytes: &[u8], rows: &[u32], out: &mut Vec<u32>) {
    out.clear();
    out.resize(rows.len(), 0);
    let mut count = 0;
    for &row in rows {
        out[count] = row;
        count += usize::from(bytes[row as usize] & 1);
    }
    out.truncate(count);
}

/// Room for the answers of a full vector without allocating.
pub struct ByteScratch {
    near: [u8; VECTOR_SIZE],
    far: Vec<u8>,
}

impl ByteScratch {
    /// Room for `len` bytes.
    pub fn new(len: usize) -> Self {
        Self { near: [0; VECTOR_SIZE], far: if len > VECTOR_SIZE { vec![0; len] } else { Vec::new() } }
    }

    /// The first `len` bytes.
    pub fn slice(&mut self, len: usize) -> &mut [u8] {
        if len > VECTOR_SIZE { &mut self.far } else { &mut self.near[..len] }
    }
}

/// Answers for all rows as if none were NULL; what stands at NULL rows is 0 or 1.
fn compare_bytes(op: Cmp, left: &Vector, right: &Vector, len: usize, out: &mut [u8]) {
    let out = &mut out[..len];
    let question = op.question();
    match (left.kind(), right.kind()) {
        (VectorKind::Dictionary(dictionary), VectorKind::Constant) if dictionary.values().len() <= len => {
            let count = dictionary.values().len();
            let mut table = ByteScratch::new(count);
            let table = table.slice(count);
            compare_bytes(op, dictionary.values(), right, count, table);
            for (byte, &code) in out.iter_mut().zip(left.codes()) {
                *byte = table[code as usize];
            }
        }
        (VectorKind::Constant, VectorKind::Dictionary(_)) => {
            compare_bytes(op.flipped(), right, left, len, out)
        }
        (VectorKind::Dictionary(_), _) => compare_bytes(op, &left.flatten(), right, len, out),
        (_, VectorKind::Dictionary(_)) => compare_bytes(op, left, &right.flatten(), len, out),
        (VectorKind::Constant, VectorKind::Constant | VectorKind::Flat) => {
            compare_shaped(op.flipped().question(), right, left, out);
        }
        (VectorKind::Flat, VectorKind::Constant | VectorKind::Flat) => {
            compare_shaped(question, left, right, out)
        }
    }
}

/// `left` is flat (or as long as `out`), `right` flat or constant.
fn compare_shaped(question: Question, left: &Vector, right: &Vector, out: &mut [u8]) {
    match left.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => native::<u8>(question, left, right, out),
        PhysicalType::I8 => native::<i8>(question, left, right, out),
        PhysicalType::I16 => native::<i16>(question, left, right, out),
        PhysicalType::I32 => native::<i32>(question, left, right, out),
        PhysicalType::I64 => native::<i64>(question, left, right, out),
        PhysicalType::I128 => native::<i128>(question, left, right, out),
        PhysicalType::U16 => native::<u16>(question, left, right, out),
        PhysicalType::U32 => native::<u32>(question, left, right, out),
        PhysicalType::U64 => native::<u64>(question, left, right, out),
        PhysicalType::U128 => native::<u128>(question, left, right, out),
        PhysicalType::F32 => native::<f32>(question, left, right, out),
        PhysicalType::F64 => native::<f64>(question, left, right, out),
        PhysicalType::Interval => native::<Interval>(question, left, right, out),
        PhysicalType::View => views(question, left, right, out),
    }
}

/// A carrier with SQL's equality and order.
pub trait SqlOrd: Native {
    /// Whether the values are equal.
    fn equal(self, other: Self) -> bool;
    /// Whether the first is below the second.
    fn less(self, other: Self) -> bool;
}

macro_rules! sql_ord_integer {
    ($($t:ty),*) => { $(
        impl SqlOrd for $t {
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                self == other
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
        }
    )* };
}
sql_ord_integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

macro_rules! sql_ord_float {
    ($($t:ty),*) => { $(
        impl SqlOrd for $t {
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                (self == other) | (self.is_nan() & other.is_nan())
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                (self < other) | (other.is_nan() & !self.is_nan())
            }
        }
    )* };
}
sql_ord_float!(f32, f64);

impl SqlOrd for Interval {
    /// Whether the values are equal.
    #[inline(always)]
    fn equal(self, other: Self) -> bool {
        self.order_key() == other.order_key()
    }
    /// Whether the first is below the second.
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self.order_key() < other.order_key()
    }
}

fn native<T: SqlOrd>(question: Question, left: &Vector, right: &Vector, out: &mut [u8]) {
    let (l, invert) = (left.values::<T>(), u8::from(question.invert));
    if right.is_constant() {
        let r = right.values::<T>()[0];
        match (question.less, question.swap) {
            (false, _) => equal_constant(l, r, invert, out),
            (true, false) => less_constant(l, r, invert, out),
            (true, true) => greater_constant(l, r, invert, out),
        }
    } else {
        let r = right.values::<T>();
        match (question.less, question.swap) {
            (false, _) => equal_values(l, r, invert, out),
            (true, false) => less_values(l, r, invert, out),
            (true, true) => less_values(r, l, invert, out),
        }
    }
}

multiversion! {
    fn equal_values[T: SqlOrd](left: &[T], right: &[T], invert: u8, out: &mut [u8]) {
        for ((out, &l), &r) in out.iter_mut().zip(left).zip(right) {
            *out = u8::from(l.equal(r)) ^ invert;
        }
    }
}

multiversion! {
    fn less_values[T: SqlOrd](left: &[T], right: &[T], invert: u8, out: &mut [u8]) {
        for ((out, &l), &r) in out.iter_mut().zip(left).zip(right) {
            *out = u8::from(l.less(r)) ^ invert;
        }
    }
}

multiversion! {
    fn equal_constant[T: SqlOrd](left: &[T], right: T, invert: u8, out: &mut [u8]) {
        for (out, &l) in out.iter_mut().zip(left) {
            *out = u8::from(l.equal(right)) ^ invert;
        }
    }
}

multiversion! {
    fn less_constant[T: SqlOrd](left: &[T], right: T, invert: u8, out: &mut [u8]) {
        for (out, &l) in out.iter_mut().zip(left) {
            *out = u8::from(l.less(right)) ^ invert;
        }
    }
}

multiversion! {
    fn greater_constant[T: SqlOrd](left: &[T], right: T, invert: u8, out: &mut [u8]) {
        for (out, &l) in out.iter_mut().zip(left) {
            *out = u8::from(right.less(l)) ^ invert;
        }
    }
}

fn views(question: Question, left: &Vector, right: &Vector, out: &mut [u8]) {
    let (l, l_heap) = (left.views(), left.heap().buffers());
    let (r, r_heap) = (right.views(), right.heap().buffers());
    let invert = u8::from(question.invert);
    if !question.less {
        if right.is_constant() {
            return equal_view_constant(l, l_heap, &r[0], r_heap, invert, out);
        }
        for ((out, l), r) in out.iter_mut().zip(l).zip(r) {
            *out = u8::from(l.equals(l_heap, r, r_heap)) ^ invert;
        }
        return;
    }
    let (ty, is_nested) = (left.ty(), left.ty().is_nested());
    let less = |l: &View, r: &View| {
        let order = if is_nested {
            nested::compare(ty, l.bytes(l_heap), r.bytes(r_heap))
        } else {
            l.compare(l_heap, r, r_heap)
        };
        u8::from(if question.swap { order.is_gt() } else { order.is_lt() }) ^ invert
    };
    if right.is_constant() {
        for (out, l) in out.iter_mut().zip(l) {
            *out = less(l, &r[0]);
        }
    } else {
        for ((out, l), r) in out.iter_mut().zip(l).zip(r) {
            *out = less(l, r);
        }
    }
}

fn equal_view_constant(
    left: &[View],
    left_heap: &[Buffer],
    right: &View,
    right_heap: &[Buffer],
    invert: u8,
    out: &mut [u8],
) {
    if right.is_inline() {
        for (out, l) in out.iter_mut().zip(left) {
            *out = u8::from((l.head == right.head) & (l.tail == right.tail)) ^ invert;
        }
        return;
    }
    for (out, l) in out.iter_mut().zip(left) {
        *out = u8::from(l.equals(left_heap, right, right_heap)) ^ invert;
    }
}

#[cfg(test)]
mod tests;
