//! Segments against a list of values, for random data of every type.

use super::prepare::value_holds;
use super::*;
use crate::predicate::{Cmp, VectorPredicate};
use crate::zone_map::has_bounds;
use crate::{BloomFilter, KeyBitmap};
use inlay_types::logical_type::Field;
use inlay_types::{Buffer, Dictionary, Interval, VectorBuilder};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// How values of a column are spread, so that every encoding comes up.
#[derive(Clone, Copy, Debug)]
enum Spread {
    Same,
    Few,
    Some,
    Narrow,
    Middle,
    Wide,
    Sorted,
    Runs,
}

const SPREADS: [Spread; 8] = [
    Spread::Same,
    Spread::Few,
    Spread::Some,
    Spread::Narrow,
    Spread::Middle,
    Spread::Wide,
    Spread::Sorted,
    Spread::Runs,
];

fn types() -> Vec<LogicalType> {
    use LogicalType::*;
    vec![
        Boolean,
        TinyInt,
        SmallInt,
        Integer,
        BigInt,
        HugeInt,
        UTinyInt,
        USmallInt,
        UInteger,
        UBigInt,
        UHugeInt,
        Real,
        Double,
        Varchar,
        Blob,
        Date,
        Time,
        Timestamp,
        Interval,
        LogicalType::decimal(4, 1),
        LogicalType::decimal(9, 2),
        LogicalType::decimal(15, 2),
        LogicalType::decimal(38, 4),
        boxes(),
    ]
}

/// A struct with a struct in it.
fn boxes() -> LogicalType {
    let of = |fields: &[(&str, LogicalType)]| {
        LogicalType::Struct(fields.iter().map(|(name, ty)| Field::new(*name, ty.clone())).collect())
    };
    let inner = of(&[("x", LogicalType::BigInt), ("y", LogicalType::Blob), ("z", LogicalType::Boolean)]);
    of(&[
        ("a", LogicalType::Integer),
        ("b", LogicalType::Varchar),
        ("c", inner),
        ("d", LogicalType::decimal(38, 4)),
    ])
}

fn random_value(ty: LogicalType, spread: Spread, row: usize, random: &mut Random) -> Value {
    let raw = match spread {
        Spread::Same => 1,
        Spread::Few => random.below(5) * 1_000_003 % 90_000_000_001,
        Spread::Some => random.below(300) * 7_919,
        Spread::Narrow => 40 + random.below(80),
        Spread::Middle => 1000 + random.below(20_000),
        Spread::Wide => random.next() >> random.below(63),
        Spread::Sorted => row as u64,
        Spread::Runs => (row as u64 / 90).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40,
    };
    let signed = if matches!(spread, Spread::Narrow | Spread::Wide) && random.below(2) == 0 {
        -(raw as i128)
    } else {
        raw as i128
    };
    match ty {
        LogicalType::Real => Value::Real(float(raw, spread) as f32),
        LogicalType::Double => Value::Double(float(raw, spread)),
        LogicalType::Varchar => Value::Varchar(text(raw)),
        LogicalType::Blob => Value::Blob(text(raw).into_bytes()),
        LogicalType::Interval => {
            Value::Interval(Interval { months: raw as i32 % 7, days: raw as i32 % 3, micros: signed as i64 })
        }
        LogicalType::UHugeInt => Value::UHugeInt(u128::from(raw) << (raw % 60)),
        LogicalType::HugeInt if raw % 5 == 0 && matches!(spread, Spread::Wide) => {
            Value::HugeInt(signed << 60)
        }
        LogicalType::HugeInt if matches!(spread, Spread::Middle) => Value::HugeInt(signed << 30),
        LogicalType::Boolean => Value::Boolean(raw % 2 == 0),
        LogicalType::Struct(fields) => {
            let value = |field: &Field, random: &mut Random| match random.below(9) {
                0 if !matches!(spread, Spread::Same | Spread::Runs) => Value::Null,
                1 if field.ty == LogicalType::Varchar && matches!(spread, Spread::Some) => {
                    Value::Varchar(String::new())
                }
                _ => random_value(field.ty.clone(), spread, row, random),
            };
            let values = fields.iter().map(|field| value(field, random)).collect();
            Value::Struct { fields, values }
        }
        ty => {
            let size = ty.physical().size() as u32;
            let bits = (size * 8 - 1).min(if ty.is_decimal() { 12 } else { 127 });
            let modulus = 1i128 << bits;
            let stored =
                if ty.to_string().starts_with('U') { signed.rem_euclid(modulus) } else { signed % modulus };
            Value::from_stored_i128(&ty, stored).unwrap()
        }
    }
}

fn float(raw: u64, spread: Spread) -> f64 {
    match (spread, raw % 11) {
        (Spread::Wide, 0) => f64::NAN,
        (Spread::Wide, 1) => -0.0,
        (Spread::Wide, 2) => 0.0,
        (Spread::Wide, 3) => f64::NEG_INFINITY,
        (Spread::Wide, 4) => f64::INFINITY,
        _ => raw as f64 * 0.25 - 7.0,
    }
}

fn text(raw: u64) -> String {
    match raw % 3 {
        0 => format!("{raw}"),
        1 => format!("a longer string {raw}"),
        _ => format!("prefix{raw:06}"),
    }
}

fn column(ty: LogicalType, values: &[Value]) -> Vector {
    let mut builder = VectorBuilder::new(ty, values.len());
    values.iter().for_each(|v| builder.push(v).unwrap());
    builder.finish()
}

/// Equal as stored, so NaN equals NaN and -0.0 does not equal 0.0.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Value::Real(a), Value::Real(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        _ => left == right,
    }
}

/// Values below the constant, as a black box.
#[derive(Debug)]
struct Below(Value);

impl VectorPredicate for Below {
    fn select(&self, input: &Vector, out: &mut Vec<u32>) -> Result<()> {
        let holds = |row: &u32| input.get(*row as usize).total_cmp(&self.0).is_lt();
        out.extend((0..input.len() as u32).filter(holds));
        Ok(())
    }
}

fn predicates(
    values: &[Value],
    ty: LogicalType,
    random: &mut Random,
) -> Vec<(SegmentPredicate, SegmentPredicate)> {
    let mut pick = || {
        let value = values[random.below(values.len() as u64) as usize].clone();
        if value.is_null() { random_value(ty.clone(), Spread::Wide, 3, random) } else { value }
    };
    let twice = |p: SegmentPredicate| (p.clone(), p);
    let mut all = vec![twice(SegmentPredicate::IsNull), twice(SegmentPredicate::IsNotNull)];
    for op in [Cmp::Eq, Cmp::NotEq, Cmp::Lt, Cmp::LtEq, Cmp::Gt, Cmp::GtEq] {
        all.push(twice(SegmentPredicate::Compare(op, pick())));
        all.push(twice(SegmentPredicate::Compare(op, Value::Null)));
    }
    for flags in 0..4 {
        let (a, b) = (pick(), pick());
        let (low, high) = if a.total_cmp(&b).is_gt() && flags > 0 { (b, a) } else { (a, b) };
        let (low_inclusive, high_inclusive) = (flags & 1 == 1, flags & 2 == 2);
        all.push(twice(SegmentPredicate::Between { low, low_inclusive, high, high_inclusive }));
    }
    all.push(twice(SegmentPredicate::In(vec![pick(), Value::Null, pick(), pick()])));
    all.push(twice(SegmentPredicate::In(vec![])));
    let below = pick();
    let as_compare = SegmentPredicate::Compare(Cmp::Lt, below.clone());
    all.push((SegmentPredicate::Generic(Arc::new(Below(below))), as_compare));
    let member = pick();
    let mut bloom = BloomFilter::new(3);
    bloom.insert(prepare::hashes(&column(ty.clone(), std::slice::from_ref(&member)))[0]);
    bloom.set_range(member.clone(), member.clone());
    all.push((SegmentPredicate::Bloom(Arc::new(bloom)), SegmentPredicate::Compare(Cmp::Eq, member)));
    let stored: Vec<i64> =
        [pick(), pick(), pick()].iter().filter_map(|v| i64::try_from(v.as_stored_i128()?).ok()).collect();
    if let (Some(min), Some(max)) = (stored.iter().min(), stored.iter().max())
        && let Some(mut set) = KeyBitmap::new(*min, *max, 1 << 16)
    {
        stored.iter().for_each(|v| set.insert(*v));
        all.push(twice(SegmentPredicate::KeyBitmap(Arc::new(set))));
    }
    all
}

fn check_reads(segment: &Segment, values: &[Value], random: &mut Random) {
    for _ in 0..4 {
        let start = random.below(values.len() as u64 + 1) as usize;
        let len = random.below((values.len() - start) as u64 + 1) as usize;
        let scanned = segment.scan(start, len).unwrap();
        assert_eq!(scanned.len(), len);
        assert_eq!(scanned.logical_type(), segment.logical_type());
        assert!((0..len).all(|row| same(&scanned.get(row), &values[start + row])));
        if scanned.is_flat() {
            let mut normal = scanned.clone();
            normal.normalize_nulls();
            assert_eq!(normal.data().bytes()[..], scanned.data().bytes()[..], "NULL slots hold NA");
        }
        let step = 1 + random.below(5) as usize;
        let rows: Vec<u32> = (start..start + len).step_by(step).map(|row| row as u32).collect();
        let mut gathered = Vector::empty(segment.logical_type());
        segment.gather_into(&rows, &mut gathered).unwrap();
        assert_eq!(gathered.len(), rows.len());
        assert!(rows.iter().enumerate().all(|(i, row)| same(&gathered.get(i), &values[*row as usize])));
    }
    assert!((0..values.len()).step_by(17).all(|row| same(&segment.get(row), &values[row])));
}

fn check_filters(segment: &Segment, values: &[Value], random: &mut Random) {
    for (predicate, definition) in predicates(values, segment.logical_type(), random) {
        let prepared = segment.prepare(&predicate).unwrap();
        let holds = |row: usize| value_holds(&definition, &values[row]);
        let start = random.below(values.len() as u64) as usize;
        let end = start + random.below((values.len() - start) as u64 + 1) as usize;
        let is_bloom = matches!(predicate, SegmentPredicate::Bloom(_));
        let expected: Vec<u32> = (start..end).filter(|row| holds(*row)).map(|row| row as u32).collect();
        let mut found = vec![77];
        segment.filter(&predicate, start..end, None, &mut found).unwrap();
        let context = || format!("{} {} {predicate:?}", segment.logical_type(), segment.encoding_name());
        if let SegmentPredicate::Bloom(filter) = &predicate {
            assert!(expected.iter().all(|row| found[1..].contains(row)), "{}", context());
            let hashes = prepare::hashes(&column(segment.logical_type(), values));
            let may_hold =
                |row: &u32| filter.contains(hashes[*row as usize]) && !values[*row as usize].is_null();
            assert!(found[1..].iter().all(may_hold), "{}", context());
        } else {
            assert_eq!(found[1..], expected, "{}", context());
        }
        let rows: Vec<u32> = (0..values.len() as u32).filter(|_| random.below(3) == 0).collect();
        let in_range = |row: &u32| (start..end).contains(&(*row as usize));
        let mut selected = vec![77];
        segment.filter_prepared(&prepared, start..end, Some(&rows), &mut selected).unwrap();
        let expected: Vec<u32> =
            rows.iter().copied().filter(in_range).filter(|row| holds(*row as usize)).collect();
        if is_bloom {
            assert!(expected.iter().all(|row| selected[1..].contains(row)), "{}", context());
        } else {
            assert_eq!(selected[1..], expected, "{}", context());
        }
        for index in 0..values.len().div_ceil(VECTOR_SIZE) {
            let mut rows = segment.vector_rows(index);
            match segment.prune_vector(index, &prepared) {
                Prune::None => assert!(!rows.any(holds), "{}", context()),
                Prune::All => assert!(rows.all(holds) || is_bloom, "{}", context()),
                Prune::Some => {}
            }
        }
        match segment.prune(&predicate) {
            Prune::None => assert!(!(0..values.len()).any(holds), "{}", context()),
            Prune::All => assert!((0..values.len()).all(holds) || is_bloom, "{}", context()),
            Prune::Some => {}
        }
    }
}

/// NULLs come in runs where values do.
fn is_null(row: usize, spread: Spread, percent: u64, random: &mut Random) -> bool {
    match spread {
        Spread::Runs => (row as u64 / 130) % 100 * 37 % 100 < percent,
        _ => random.below(100) < percent,
    }
}

/// The rows as codes into a dictionary that is not sorted, has values nobody uses, and others twice.
fn coded(vector: &Vector) -> Vector {
    let rows: Vec<u32> =
        (0..vector.len() as u32).rev().filter(|row| !vector.is_null(*row as usize)).collect();
    let twice: Vec<u32> = rows.iter().chain(&rows).copied().collect();
    if rows.is_empty() {
        return vector.clone();
    }
    let mut values = vector.take(&twice).flatten();
    values.set_validity(None);
    // Equal values have one code in even rows and another in odd ones.
    let mut known = std::collections::HashMap::new();
    let code = |row: usize| match vector.is_null(row) {
        true => 0,
        false => {
            let place = rows.partition_point(|r| *r as usize > row);
            let odd = (row % 2 * rows.len()) as u32;
            *known.entry(format!("{:?}", vector.get(row))).or_insert(place as u32) + odd
        }
    };
    let codes: Vec<u32> = (0..vector.len()).map(code).collect();
    let validity = vector.flatten().validity().cloned();
    Vector::dictionary(Dictionary::new(values), Buffer::copy_of(&codes), vector.len(), validity)
}

#[test]
fn segments_read_and_filter_as_the_values_they_were_made_from() {
    let mut random = Random(0x5EED_5EED_1234_0001);
    let mut encodings = std::collections::BTreeSet::new();
    for ty in types() {
        for spread in SPREADS {
            for null_percent in [0, 20, 100] {
                // One case in three is sure to show the encoding that is best.
                let (len, effort) = match null_percent {
                    20 => (4500, 1 + 2 * random.below(2)),
                    _ => ([1, 70, 2048, 4500][random.below(4) as usize], random.below(4)),
                };
                let values: Vec<Value> = (0..len)
                    .map(|row| match is_null(row, spread, null_percent, &mut random) {
                        true => Value::Null,
                        false => random_value(ty.clone(), spread, row, &mut random),
                    })
                    .collect();
                let budget = MemoryBudget::unlimited();
                let vector = column(ty.clone(), &values);
                let segment = match effort {
                    0 => Segment::encode_plain(&vector, &budget).unwrap(),
                    1 => Segment::encode(&vector, &budget).unwrap(),
                    2 => Segment::encode_shared(&vector, &budget).unwrap(),
                    _ => Segment::encode(&coded(&vector), &budget).unwrap(),
                };
                assert!(budget.used() > 0);
                encodings.insert(segment.encoding_name());
                assert_eq!(segment.null_count(), values.iter().filter(|v| v.is_null()).count());
                let some: Vec<&Value> = values.iter().filter(|v| !v.is_null()).collect();
                let min = some.iter().min_by(|a, b| a.total_cmp(b));
                let max = some.iter().max_by(|a, b| a.total_cmp(b));
                let zone = segment.zone_map();
                let is_without = !has_bounds(&ty);
                assert!(
                    (is_without || min.is_none()) && zone.min.is_none()
                        || zone.min.as_ref().unwrap().total_cmp(min.unwrap()).is_eq()
                );
                assert!(
                    (is_without || max.is_none()) && zone.max.is_none()
                        || zone.max.as_ref().unwrap().total_cmp(max.unwrap()).is_eq()
                );
                check_reads(&segment, &values, &mut random);
                check_filters(&segment, &values, &mut random);
                check_image(&segment, &values, &mut random);
                let distinct: std::collections::HashSet<String> =
                    some.iter().map(|v| format!("{v:?}")).collect();
                let estimate = segment.sketch().unwrap().estimate();
                let error = (estimate - distinct.len() as f64).abs();
                assert!(
                    error <= 3.0 + 0.15 * distinct.len() as f64,
                    "{estimate} for {} {ty} {spread:?}",
                    distinct.len()
                );
            }
        }
    }
    for name in [
        "plain",
        "constant",
        "dictionary8",
        "dictionary16",
        "frame8",
        "frame16",
        "frame32",
        "frame64",
        "runs",
        "fields",
    ] {
        assert!(encodings.contains(name), "{name} was not among {encodings:?}");
    }
}

#[test]
fn overlays_read_and_filter_as_the_changed_values() {
    let mut random = Random(0x0BAD_CAFE_1234_5678);
    let budget = MemoryBudget::unlimited();
    for ty in types() {
        for (spread, null_percent) in SPREADS.into_iter().zip([0, 20, 100, 0, 30, 10, 0, 20]) {
            let mut values: Vec<Value> = (0..4500)
                .map(|row| match is_null(row, spread, null_percent, &mut random) {
                    true => Value::Null,
                    false => random_value(ty.clone(), spread, row, &mut random),
                })
                .collect();
            let mut segment = Arc::new(Segment::encode(&column(ty.clone(), &values), &budget).unwrap());
            for round in 0..5 {
                let count = [1, 40, 60, 3, 200][round];
                let mut rows: Vec<u32> = (0..count).map(|_| random.below(4500) as u32).collect();
                rows.sort_unstable();
                rows.dedup();
                let changes: Vec<Value> = rows
                    .iter()
                    .map(|row| match random.below(4) {
                        0 => Value::Null,
                        _ => random_value(ty.clone(), SPREADS[*row as usize % 8], *row as usize, &mut random),
                    })
                    .collect();
                rows.iter().zip(&changes).for_each(|(row, value)| values[*row as usize] = value.clone());
                segment = Arc::new(
                    Segment::patched(&segment, &rows, &column(ty.clone(), &changes), &budget).unwrap(),
                );
                assert_eq!(segment.encoding_name() == "patched", round < 4);
                assert_eq!(segment.null_count(), values.iter().filter(|v| v.is_null()).count());
                let zone = segment.zone_map();
                assert_eq!(zone.has_value, values.iter().any(|v| !v.is_null()));
                for value in values.iter().filter(|v| !v.is_null() && has_bounds(&ty)) {
                    assert!(zone.min.as_ref().unwrap().total_cmp(value).is_le());
                    assert!(zone.max.as_ref().unwrap().total_cmp(value).is_ge());
                }
                check_reads(&segment, &values, &mut random);
                check_filters(&segment, &values, &mut random);
            }
            let image = segment.to_bytes().unwrap();
            let back = Segment::from_bytes(ty.clone(), &image, &budget).unwrap();
            check_reads(&back, &values, &mut random);
            let one = column(ty.clone(), &[Value::Null]);
            let patched = Arc::new(Segment::patched(&segment, &[7], &one, &budget).unwrap());
            let back = Segment::from_bytes(ty.clone(), &patched.to_bytes().unwrap(), &budget).unwrap();
            values[7] = Value::Null;
            check_reads(&back, &values, &mut random);
        }
    }
    assert_eq!(budget.used(), 0);
    let segment = Arc::new(Segment::encode(&column(LogicalType::Date, &[Value::Date(1)]), &budget).unwrap());
    for rows in [&[1u32][..], &[0, 0], &[]] {
        let value = column(LogicalType::Date, &[Value::Date(2)]);
        assert!(Segment::patched(&segment, rows, &value, &budget).is_err());
    }
}

#[test]
fn one_changed_row_after_another() {
    let mut random = Random(0x51A6_1E20_3547_0001);
    let budget = MemoryBudget::unlimited();
    for ty in types() {
        for (spread, changes) in [(Spread::Narrow, Spread::Wide), (Spread::Wide, Spread::Few)] {
            let mut values: Vec<Value> =
                (0..2500).map(|row| random_value(ty.clone(), spread, row, &mut random)).collect();
            values[11] = Value::Null;
            let mut segment = Arc::new(Segment::encode(&column(ty.clone(), &values), &budget).unwrap());
            for round in 0..100 {
                let row = if round % 9 == 0 { 11 } else { random.below(60) as usize * 41 };
                values[row] = match round {
                    70 => Value::Null,
                    _ => random_value(ty.clone(), changes, row, &mut random),
                };
                let change = column(ty.clone(), &values[row..=row]);
                segment = Arc::new(Segment::patched(&segment, &[row as u32], &change, &budget).unwrap());
                if round % 23 == 5 || round == 70 {
                    check_reads(&segment, &values, &mut random);
                    check_filters(&segment, &values, &mut random);
                }
            }
            assert_eq!(segment.null_count(), values.iter().filter(|v| v.is_null()).count());
            check_reads(&segment, &values, &mut random);
            check_filters(&segment, &values, &mut random);
        }
    }
    assert_eq!(budget.used(), 0);
}

/// The image gives the same segment back, and a damaged one gives an error or a segment that can be used.
fn check_image(segment: &Segment, values: &[Value], random: &mut Random) {
    let ty = segment.logical_type();
    let image = segment.to_bytes().unwrap();
    let budget = MemoryBudget::unlimited();
    let back = Segment::from_bytes(ty.clone(), &image, &budget).unwrap();
    assert!(budget.used() >= back.memory_size() as u64);
    // A struct that all rows have may be so long that it is better compressed.
    let is_spread = ty.is_nested() && segment.encoding_name() == "constant";
    assert!(is_spread || back.encoding_name() == segment.encoding_name());
    assert_eq!(back.null_count(), segment.null_count());
    assert_eq!(back.vector_zones, segment.vector_zones);
    assert_eq!(format!("{:?}", back.zone_map()), format!("{:?}", segment.zone_map()));
    assert_eq!(back.sketch().unwrap().registers(), segment.sketch().unwrap().registers());
    check_reads(&back, values, random);
    check_filters(&back, values, random);
    for other in [LogicalType::Date, LogicalType::Varchar, LogicalType::Blob, LogicalType::HugeInt] {
        if let Ok(other) = Segment::from_bytes(other, &image, &MemoryBudget::new(64 << 20)) {
            use_segment(&other, values, random);
        }
    }
    for round in 0..40 {
        let mut damaged = image.clone();
        match round % 4 {
            0 => damaged.truncate(random.below(image.len() as u64) as usize),
            1 => {
                let at = random.below(image.len() as u64) as usize;
                damaged[at] = random.next() as u8;
            }
            2 => damaged.push(random.next() as u8),
            // The fields at the front decide most.
            _ => {
                let at = random.below(image.len().min(60) as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
            }
        }
        let budget = MemoryBudget::new(64 << 20);
        if let Ok(other) = Segment::from_bytes(ty.clone(), &damaged, &budget) {
            use_segment(&other, values, random);
        }
        assert_eq!(budget.used(), 0);
    }
}

/// Whatever reads a segment, without looking at the answers.
fn use_segment(segment: &Segment, values: &[Value], random: &mut Random) {
    segment.sketch().unwrap().estimate();
    let all = segment.scan(0, segment.len()).unwrap();
    let rows: Vec<u32> = (0..segment.len() as u32).filter(|_| random.below(3) == 0).collect();
    segment.gather(&rows).unwrap();
    (0..all.len()).step_by(97).for_each(|row| assert!(same(&all.get(row), &segment.get(row))));
    for (predicate, _) in predicates(values, segment.logical_type(), random) {
        let mut out = Vec::new();
        segment.prune(&predicate);
        if segment.filter(&predicate, 0..segment.len(), None, &mut out).is_ok() {
            assert!(out.iter().all(|row| (*row as usize) < segment.len()));
        }
    }
    if !segment.is_empty() {
        Segment::encode(&all, &MemoryBudget::unlimited()).unwrap();
        segment.to_bytes().unwrap();
    }
}

#[test]
fn memory_is_refused_and_given_back() {
    let values: Vec<Value> = (0..5000).map(|v| Value::BigInt(v * v)).collect();
    let vector = column(LogicalType::BigInt, &values);
    assert!(Segment::encode(&vector, &MemoryBudget::new(1000)).is_err());
    let budget = MemoryBudget::new(1 << 20);
    let segment = Segment::encode(&vector, &budget).unwrap();
    assert!(segment.memory_size() >= 20_000 && budget.used() >= 20_000 && budget.used() < 40_000);
    drop(segment);
    assert_eq!(budget.used(), 0);
}

/// A value of any size costs its bytes once, and comes back as it was.
#[test]
fn the_image_of_a_long_value_has_it_once() {
    let budget = MemoryBudget::unlimited();
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let mut blob = |len: usize| Value::Blob((0..len).map(|_| noise()).collect());
    let (one, other) = (blob(20_000), blob(20_000));
    let text = Value::Varchar("ab".repeat(50_000));
    for (ty, values, max) in [
        (LogicalType::Blob, vec![one.clone()], 22_000),
        (LogicalType::Blob, vec![one.clone(); 1_000], 22_000),
        (LogicalType::Blob, vec![one.clone(), other.clone(), Value::Null], 42_000),
        // Compressed eightfold: streams have a limit to how much they may expand.
        (LogicalType::Varchar, vec![text.clone()], 15_000),
        (LogicalType::Varchar, vec![text.clone(), Value::Null], 15_000),
        (LogicalType::Json, vec![Value::Json(format!("[{}1]", "1, ".repeat(30_000)))], 15_000),
        (LogicalType::Blob, [vec![one.clone(); 2_500], vec![other.clone(); 2_500]].concat(), 42_000),
    ] {
        let column = Vector::from_sql_values(ty.clone(), &values).unwrap();
        let segment = Segment::encode(&column, &budget).unwrap();
        let image = segment.to_bytes().unwrap();
        assert!(image.len() < max, "{} bytes of {} {}", image.len(), values.len(), segment.encoding_name());
        let read = Segment::from_bytes(ty, &image, &budget).unwrap();
        assert!((0..values.len()).all(|row| read.get(row) == values[row]));
        assert_eq!(read.zone_map(), segment.zone_map());
        let zone = read.zone_map();
        let holds = |value: &Value| match (&zone.min, &zone.max) {
            (Some(min), Some(max)) if !value.is_null() => {
                min.total_cmp(value).is_le() && max.total_cmp(value).is_ge()
            }
            _ => true,
        };
        assert!(values.iter().all(holds));
    }
}

/// Packed values are of another type than the column's, as in a file that says so: that is damage, and no value.
#[test]
fn images_with_values_that_the_type_does_not_have_are_refused() {
    let labels = |words: &[&str]| {
        LogicalType::Enum(std::sync::Arc::new(inlay_types::EnumType::new(words.to_vec()).unwrap()))
    };
    let (two, three) = (labels(&["a", "b"]), labels(&["a", "b", "c"]));
    let LogicalType::Enum(words) = &three else { unreachable!() };
    let last = Value::Enum { position: 2, words: std::sync::Arc::clone(words) };
    let list =
        |element: &LogicalType, values: Vec<Value>| Value::List { element: element.clone().into(), values };
    let (text, int) = (LogicalType::Varchar, LogicalType::Integer);
    let cases = [
        (three.clone(), list(&three, vec![last]), two),
        (text.clone(), list(&text, vec![Value::Varchar("a text of some length".into())]), int.clone()),
        (int.clone(), list(&int, vec![Value::Integer(-1)]), text),
    ];
    let budget = MemoryBudget::unlimited();
    for (element, value, other) in cases {
        for rows in [1usize, 700] {
            let values: Vec<Value> =
                (0..rows).map(|row| if row % 3 == 1 { Value::Null } else { value.clone() }).collect();
            let segment =
                Segment::encode(&column(LogicalType::list(element.clone()), &values), &budget).unwrap();
            let image = segment.to_bytes().unwrap();
            let read = |element: &LogicalType| {
                Segment::from_bytes(LogicalType::list(element.clone()), &image, &budget)
            };
            assert_eq!(read(&element).unwrap().get(0), value);
            let error = read(&other).err().unwrap();
            assert!(matches!(error, inlay_types::Error::Corrupt { .. }), "{element} as {other}: {error}");
        }
    }
}

/// The value of a field, by the positions that lead to it.
fn value_at(value: &Value, path: &[usize]) -> Value {
    match (value, path) {
        (value, []) => value.clone(),
        (Value::Struct { values, .. }, [first, rest @ ..]) => value_at(&values[*first], rest),
        _ => Value::Null,
    }
}

#[test]
fn fields_read_and_filter_as_those_of_the_values() {
    let mut random = Random(0x0F1E_1D50_F57A_0001);
    let budget = MemoryBudget::unlimited();
    let paths: [(&[usize], LogicalType); 5] = [
        (&[0], LogicalType::Integer),
        (&[1], LogicalType::Varchar),
        (&[2, 0], LogicalType::BigInt),
        (&[2, 1], LogicalType::Blob),
        (&[3], LogicalType::decimal(38, 4)),
    ];
    let mut kinds = std::collections::BTreeSet::new();
    for (spread, null_percent) in SPREADS.into_iter().zip([0, 20, 100, 0, 30, 10, 0, 20]) {
        for (len, is_plain) in [(4500, false), (4500, true), (fields::ROWS_MIN - 1, false)] {
            let mut values: Vec<Value> = (0..len)
                .map(|row| match is_null(row, spread, null_percent, &mut random) {
                    true => Value::Null,
                    false => random_value(boxes(), spread, row, &mut random),
                })
                .collect();
            let vector = column(boxes(), &values);
            let made = if is_plain {
                Segment::encode_plain(&vector, &budget)
            } else {
                Segment::encode(&vector, &budget)
            };
            let mut segment = Arc::new(made.unwrap());
            for round in 0..3 {
                if round == 1 {
                    let rows = [0, 3, len as u32 / 2, len as u32 - 1];
                    let changes = [Value::Null, random_value(boxes(), Spread::Wide, 3, &mut random)];
                    let changes: Vec<Value> = (0..4).map(|change| changes[change % 2].clone()).collect();
                    rows.iter().zip(&changes).for_each(|(row, value)| values[*row as usize] = value.clone());
                    segment = Arc::new(
                        Segment::patched(&segment, &rows, &column(boxes(), &changes), &budget).unwrap(),
                    );
                } else if round == 2 {
                    let image = segment.to_bytes().unwrap();
                    segment = Arc::new(Segment::from_bytes(boxes(), &image, &budget).unwrap());
                }
                let by_fields = !segment.meta().fields.is_empty();
                for (path, ty) in &paths {
                    let of_field: Vec<Value> = values.iter().map(|value| value_at(value, path)).collect();
                    let field = segment.field(path, &budget).unwrap();
                    kinds.insert((segment.encoding_name(), field.is_some(), by_fields));
                    if let Some(field) = &field {
                        assert_eq!(field.logical_type(), *ty);
                        check_reads(field, &of_field, &mut random);
                        check_filters(field, &of_field, &mut random);
                    }
                    check_packed(&segment, path, &of_field, ty, &mut random);
                }
            }
        }
    }
    assert_eq!(budget.used(), 0);
    for kind in [
        ("fields", true, true),
        ("patched", true, true),
        ("patched", false, true),
        ("constant", true, false),
        ("plain", false, false),
    ] {
        assert!(kinds.contains(&kind), "{kind:?} was not among {kinds:?}");
    }
}

/// A field filtered inside of packed rows, and what zone maps say of it.
fn check_packed(
    segment: &Arc<Segment>,
    path: &[usize],
    values: &[Value],
    ty: &LogicalType,
    random: &mut Random,
) {
    let budget = MemoryBudget::unlimited();
    let whole = crate::Column::of(Arc::clone(segment));
    for (predicate, definition) in predicates(values, ty.clone(), random) {
        if matches!(predicate, SegmentPredicate::Bloom(_)) {
            continue;
        }
        let holds = |row: &u32| value_holds(&definition, &values[*row as usize]);
        let (start, end) = (values.len() / 7, values.len() - values.len() / 9);
        let listed: Vec<u32> = (start as u32..end as u32).filter(|_| random.below(3) == 0).collect();
        let all: Vec<u32> = (start as u32..end as u32).collect();
        for (selection, rows) in [(None, &all), (Some(&listed[..]), &listed)] {
            let mut found = Vec::new();
            segment.filter_field(path, &predicate, start..end, selection, &budget, &mut found).unwrap();
            let expected: Vec<u32> = rows.iter().copied().filter(holds).collect();
            assert_eq!(found, expected, "{} {path:?} {predicate:?}", segment.encoding_name());
        }
        match whole.prune_field(path, &predicate) {
            Prune::None => assert!(!(0..values.len() as u32).any(|row| holds(&row)), "{predicate:?}"),
            Prune::All => assert!((0..values.len() as u32).all(|row| holds(&row)), "{predicate:?}"),
            Prune::Some => {}
        }
    }
}

/// What directories say of fields comes back, and says no more than holds.
#[test]
fn what_is_known_of_fields_is_written_and_read() {
    let budget = MemoryBudget::unlimited();
    let mut random = Random(0x3E7A_0000_0001_F1E5);
    let values: Vec<Value> =
        (0..2000)
            .map(|row| {
                if row % 7 == 0 { Value::Null } else { random_value(boxes(), Spread::Wide, row, &mut random) }
            })
            .collect();
    let segment = Arc::new(Segment::encode(&column(boxes(), &values), &budget).unwrap());
    let patch = column(boxes(), &[Value::Null]);
    let patched = Segment::patched(&segment, &[3], &patch, &budget).unwrap();
    for (meta, has_ends) in [(segment.meta(), true), (patched.meta(), false)] {
        let mut writer = crate::ByteWriter::new();
        meta.write(&mut writer);
        let bytes = writer.finish();
        let mut reader = crate::ByteReader::new(&bytes);
        let read = SegmentMeta::read(&mut reader).unwrap();
        reader.expect_end().unwrap();
        assert_eq!(read, meta);
        assert_eq!(read.fields.len(), 4);
        assert_eq!(read.fields[0].zone_map.min.is_some(), has_ends);
        for end in 0..bytes.len() {
            assert!(SegmentMeta::read(&mut crate::ByteReader::new(&bytes[..end])).is_err());
        }
    }
}
