use super::*;
use crate::Cmp;
use crate::predicate::{SegmentPredicate, VectorPredicate};
use inlay_rowsets::Marks;
use inlay_types::{LogicalType, Vector, VectorBuilder};

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn types() -> Vec<LogicalType> {
    use LogicalType::*;
    vec![
        Boolean,
        TinyInt,
        Integer,
        BigInt,
        HugeInt,
        UBigInt,
        UHugeInt,
        Date,
        Timestamp,
        LogicalType::decimal(9, 2),
        Varchar,
        Blob,
    ]
}

/// Value `number` of a type: negative ones, large ones and long ones among them.
fn value(ty: &LogicalType, number: u64) -> Value {
    let signed = i128::from(number) - 100;
    match ty {
        LogicalType::Varchar => Value::Varchar(
            ["", "a", "a longer text than fits "][number as usize % 3].repeat(number as usize % 4)
                + &number.to_string(),
        ),
        LogicalType::Blob => Value::Blob(vec![number as u8; number as usize % 20]),
        LogicalType::Boolean => Value::Boolean(number.is_multiple_of(2)),
        LogicalType::UHugeInt => Value::UHugeInt(u128::from(number) << 100),
        LogicalType::UBigInt => {
            Value::from_stored_i128(ty, i128::from(u64::MAX) - i128::from(number)).unwrap()
        }
        LogicalType::BigInt => Value::from_stored_i128(ty, signed << 40).unwrap(),
        LogicalType::HugeInt => Value::from_stored_i128(ty, signed << 90).unwrap(),
        other => Value::from_stored_i128(other, signed).unwrap(),
    }
}

/// Rows with so many values, of which one in `nulls` is NULL: none for 0, all for 1.
fn column(ty: &LogicalType, rows: usize, distinct: u64, nulls: u64, random: &mut Random) -> Vector {
    let mut builder = VectorBuilder::new(ty.clone(), rows);
    let run = 1 + random.below(2) * 50;
    let mut left = 0;
    let mut number = 0;
    for _ in 0..rows {
        if left == 0 {
            (left, number) = (run, random.below(distinct));
        }
        left -= 1;
        let is_null = nulls > 0 && random.below(nulls) == 0;
        builder.push(&if is_null { Value::Null } else { value(ty, number) }).unwrap();
    }
    builder.finish()
}

/// As columns have them: encoded, plain, and with changed rows over another.
fn segments(ty: &LogicalType, distinct: u64, nulls: u64, random: &mut Random) -> Vec<Segment> {
    let budget = MemoryBudget::unlimited();
    let rows = 6_000;
    let values = column(ty, rows, distinct, nulls, random);
    let base = std::sync::Arc::new(Segment::encode(&values, &budget).unwrap());
    let changed: Vec<u32> = (0..rows as u32).step_by(97).collect();
    let others = column(ty, changed.len(), distinct + 2, nulls, random);
    vec![
        Segment::patched(&base, &changed, &others, &budget).unwrap(),
        Segment::encode(&values, &budget).unwrap(),
        Segment::encode_plain(&values, &budget).unwrap(),
    ]
}

#[derive(Debug)]
struct LongerThan(usize);

impl VectorPredicate for LongerThan {
    fn select(&self, input: &Vector, out: &mut Vec<u32>) -> Result<()> {
        let is_long = |row: &u32| input.get(*row as usize).to_string().len() > self.0;
        out.extend((0..input.len() as u32).filter(is_long));
        Ok(())
    }
}

fn predicates(ty: &LogicalType, distinct: u64, random: &mut Random) -> Vec<SegmentPredicate> {
    let mut any = || value(ty, random.below(distinct + 3));
    let mut predicates = vec![
        SegmentPredicate::IsNull,
        SegmentPredicate::IsNotNull,
        SegmentPredicate::Compare(Cmp::Eq, Value::Null),
        SegmentPredicate::In(vec![any(), Value::Null, any(), any()]),
        SegmentPredicate::In(Vec::new()),
        SegmentPredicate::Between { low: any(), low_inclusive: true, high: any(), high_inclusive: false },
        SegmentPredicate::Generic(std::sync::Arc::new(LongerThan(3))),
    ];
    for op in [Cmp::Eq, Cmp::NotEq, Cmp::Lt, Cmp::LtEq, Cmp::Gt, Cmp::GtEq] {
        predicates.push(SegmentPredicate::Compare(op, any()));
    }
    predicates
}

fn scanned(segment: &Segment, predicate: &SegmentPredicate) -> Vec<u32> {
    let mut rows = Vec::new();
    segment.filter(predicate, 0..segment.len(), None, &mut rows).unwrap();
    rows
}

fn places(marks: &Marks) -> Vec<u32> {
    let mut places = Vec::new();
    marks.write_to(&mut places);
    places
}

#[test]
fn sets_say_what_scans_say() {
    let (mut random, budget) = (Random(5), MemoryBudget::unlimited());
    for ty in types() {
        for (distinct, nulls) in [(1, 0), (2, 3), (7, 0), (7, 1), (200, 50)] {
            for segment in segments(&ty, distinct, nulls, &mut random) {
                let sets = ValueSets::of(&segment, &budget).unwrap().unwrap();
                for predicate in predicates(&ty, distinct, &mut random) {
                    let what = format!("{ty}, {distinct} values, {}: {predicate:?}", segment.encoding_name());
                    let rows = scanned(&segment, &predicate);
                    let (chosen, all) = (sets.chosen(&predicate).unwrap(), segment.len() as u32);
                    assert_eq!(places(&chosen.marks(all).unwrap()), rows, "{what}");
                    assert_eq!(chosen.count() as usize, rows.len(), "{what}");
                    let mut some = Marks::all(all);
                    (0..sets.len().min(1)).for_each(|first| some.remove(sets.set(first)).unwrap());
                    let mut both = some.clone();
                    chosen.narrow(&mut both).unwrap();
                    let expected = rows.iter().copied().filter(|row| some.contains(*row));
                    assert_eq!(places(&both), expected.collect::<Vec<u32>>(), "{what}");
                    let mut either = Marks::none(all);
                    either.add(sets.nulls()).unwrap();
                    chosen.add_to(&mut either).unwrap();
                    let is_in = |row: &u32| sets.nulls().contains(*row) || rows.binary_search(row).is_ok();
                    assert_eq!(places(&either), (0..all).filter(is_in).collect::<Vec<u32>>(), "{what}");
                }
                for number in 0..sets.len() {
                    let rows = (0..segment.len()).filter(|row| segment.get(*row) == sets.value(number));
                    assert_eq!(sets.set(number).count() as usize, rows.count());
                }
                assert_eq!(sets.nulls().count() as usize, segment.null_count());
            }
        }
    }
}

#[test]
fn columns_of_many_values_or_of_none_have_no_sets() {
    let budget = MemoryBudget::unlimited();
    let of = |values: &Vector| ValueSets::of(&Segment::encode(values, &budget).unwrap(), &budget).unwrap();
    let numbers = |count: i64| Vector::from_values(LogicalType::BigInt, &(0..count).collect::<Vec<i64>>());
    assert_eq!(of(&numbers(4_096)).unwrap().len(), 4_096);
    assert!(of(&numbers(4_097)).is_none());
    assert!(of(&Vector::from_values(LogicalType::Double, &[1.0, 2.0])).is_none());
    assert!(of(&Vector::nulls(LogicalType::Integer, 10)).unwrap().is_empty());
    let small = MemoryBudget::new(1 << 10);
    let segment = Segment::encode(&numbers(4_096), &budget).unwrap();
    assert!(matches!(ValueSets::of(&segment, &small), Err(Error::OutOfMemory { .. })));
    assert_eq!(small.used(), 0);
}

/// Whether a row satisfies it.
fn holds(condition: &Condition, segments: &[Segment], row: usize) -> bool {
    match condition {
        Condition::All(parts) => parts.iter().all(|part| holds(part, segments, row)),
        Condition::Any(parts) => parts.iter().any(|part| holds(part, segments, row)),
        Condition::Column(column, predicate) => {
            let mut found = Vec::new();
            segments[*column].filter(predicate, row..row + 1, None, &mut found).unwrap();
            !found.is_empty()
        }
    }
}

fn random_condition(depth: u64, types: &[LogicalType], random: &mut Random) -> Condition {
    let parts = |random: &mut Random| {
        (0..random.below(4)).map(|_| random_condition(depth - 1, types, random)).collect()
    };
    match random.below(if depth == 0 { 1 } else { 4 }) {
        1 => Condition::All(parts(random)),
        2 => Condition::Any(parts(random)),
        _ => {
            let column = random.below(types.len() as u64) as usize;
            let mut all = predicates(&types[column], 7, random);
            Condition::Column(column, all.swap_remove(random.below(all.len() as u64) as usize))
        }
    }
}

/// In all shapes, with NULLs, also where some columns have no sets: then there may be more rows, never fewer.
#[test]
fn conditions_say_what_rows_say() {
    let (mut random, budget) = (Random(17), MemoryBudget::unlimited());
    let types = [LogicalType::Integer, LogicalType::Varchar, LogicalType::Boolean, LogicalType::Date];
    let made: Vec<Segment> = types
        .iter()
        .map(|ty| {
            let nulls = random.below(4);
            let values = column(ty, 300, 7, nulls, &mut random);
            Segment::encode(&values, &budget).unwrap()
        })
        .collect();
    let sets: Vec<ValueSets> =
        made.iter().map(|segment| ValueSets::of(segment, &budget).unwrap().unwrap()).collect();
    for _ in 0..1_000 {
        let condition = random_condition(3, &types, &mut random);
        let expected: Vec<u32> = (0..300).filter(|row| holds(&condition, &made, *row as usize)).collect();
        let found = condition.found(300, &|column| Some(&sets[column]), usize::MAX).unwrap();
        assert!(found.is_exact);
        assert_eq!(places(&found.rows.unwrap()), expected, "{condition:?}");
        let missing = random.below(4) as usize;
        let known = |column: usize| (column != missing).then(|| &sets[column]);
        let found = condition.found(300, &known, random.below(400) as usize).unwrap();
        let rows = found.rows.unwrap_or_else(|| Marks::all(300));
        assert!(expected.iter().all(|row| rows.contains(*row)), "{condition:?} without {missing}");
        assert!(!found.is_exact || places(&rows) == expected, "{condition:?} without {missing}");
    }
}

/// Images come back as they were; whatever a byte of one becomes, it is refused or says sets that hold.
#[test]
fn images_are_read_again_and_changed_ones_do_no_harm() {
    let (mut random, budget) = (Random(3), MemoryBudget::unlimited());
    for ty in types() {
        for (distinct, nulls) in [(1, 0), (7, 3), (200, 0)] {
            let values = column(&ty, 1_000, distinct, nulls, &mut random);
            let segment = Segment::encode(&values, &budget).unwrap();
            let sets = ValueSets::of(&segment, &budget).unwrap().unwrap();
            let image = sets.to_bytes().unwrap();
            let read = |image: &[u8]| ValueSets::from_bytes(&ty, image, 1_000, &budget);
            assert_eq!(read(&image).unwrap().to_bytes().unwrap(), image, "{ty}");
            assert!(ValueSets::from_bytes(&ty, &image, 999, &budget).is_err());
            for _ in 0..300 {
                let mut changed = image.clone();
                let at = random.below(image.len() as u64) as usize;
                changed[at] ^= 1 << random.below(8);
                changed.truncate(image.len() - random.below(2) as usize * random.below(9) as usize);
                let Ok(found) = read(&changed) else { continue };
                let all: u32 = (0..found.len()).map(|number| found.set(number).count()).sum();
                assert_eq!(all + found.nulls().count(), 1_000);
            }
        }
    }
}
