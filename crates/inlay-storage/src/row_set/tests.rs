use super::*;
use std::collections::BTreeSet;

/// Ids whose density differs from chunk to chunk: none, a few, most.
fn scattered(seed: u64, count: usize) -> Vec<i64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut ids = Vec::with_capacity(count);
    for i in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (state >> 33) as i64;
        ids.push(match i % 4 {
            0 => random % 400_000,
            1 => 3 * CHUNK + random % 5_000,
            _ => 5 * CHUNK + random % CHUNK,
        });
    }
    ids
}

fn round_trip(set: &RowSet) -> Result<RowSet> {
    let mut out = ByteWriter::new();
    set.write(&mut out);
    let bytes = out.finish();
    let mut from = ByteReader::new(&bytes);
    let read = RowSet::read(&mut from)?;
    from.expect_end()?;
    Ok(read)
}

/// A set agrees with a sorted one of the standard library, whatever its form.
#[test]
fn sets_agree_with_a_model() {
    for count in [0, 1, 7, 4_096, 4_097, 30_000, 120_000] {
        let ids = scattered(count as u64, count);
        let model: BTreeSet<i64> = ids.iter().copied().collect();
        let sorted: Vec<i64> = model.iter().copied().collect();
        let set = RowSet::from(&ids[..]);
        assert_eq!(set.len(), model.len());
        assert_eq!((set.first(), set.last()), (model.first().copied(), model.last().copied()));
        assert_eq!(*set.ids(), sorted);
        assert_eq!(RowSet::from(&sorted[..]), set, "the order of {count} ids shows");
        assert_eq!(round_trip(&set).unwrap(), set);
        for id in (0..6 * CHUNK).step_by(97) {
            assert_eq!(set.contains(id), model.contains(&id), "{id} of {count}");
        }
        for range in [0..10, 65_530..65_540, 100_000..400_000, 3 * CHUNK..3 * CHUNK + 9, 0..7 * CHUNK] {
            let mut rows = Vec::new();
            set.rows_within(range.clone(), &mut rows);
            let expected: Vec<u32> = model.range(range.clone()).map(|id| (id - range.start) as u32).collect();
            assert_eq!(rows, expected, "{range:?} of {count}");
        }
        for end in [0, 70_000, 3 * CHUNK + 100, 6 * CHUNK] {
            let expected: Vec<i64> = model.range(..end).copied().collect();
            assert_eq!(*set.below(end).ids(), expected);
            let expected: Vec<i64> = model.iter().map(|&id| if id >= end { id + 5 } else { id }).collect();
            assert_eq!(*set.shifted(end, 5).ids(), expected);
        }
        let other: Vec<i64> = scattered(99, 500).iter().map(|id| id + 1).collect();
        let common = other.iter().any(|id| model.contains(id));
        assert_eq!(set.intersects(&RowSet::from(&other[..])), common);
        assert_eq!(RowSet::from(&other[..]).intersects(&set), common);
        let both: BTreeSet<i64> = model.iter().chain(&other).copied().collect();
        assert_eq!(*set.union(&RowSet::from(&other[..])).ids(), both.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn many_rows_take_a_bit_each() {
    let mut builder = RowSetBuilder::default();
    builder.add_range(5..10_000_005);
    assert!(builder.memory_size() < 10_000_000 / 6, "{} bytes", builder.memory_size());
    let set = builder.finish();
    assert_eq!((set.len(), set.first(), set.last()), (10_000_000, Some(5), Some(10_000_004)));
    let evens: Vec<i64> = (0..1_000_000).map(|id| 2 * id).collect();
    let odds: Vec<i64> = evens.iter().map(|id| id + 1).collect();
    let (evens, odds) = (RowSet::from(&evens[..]), RowSet::from(&odds[..]));
    assert!(!evens.intersects(&odds) && evens.intersects(&set));
}

/// Damage is an error, never a set that breaks what it promises.
#[test]
fn damaged_sets_are_refused() {
    let mut out = ByteWriter::new();
    RowSet::from(&[1, 2, 70_000][..]).write(&mut out);
    let bytes = out.finish();
    for cut in 0..bytes.len() {
        assert!(RowSet::read(&mut ByteReader::new(&bytes[..cut])).is_err(), "cut at {cut}");
    }
    for (place, value) in [(2, 1u8), (3, 2), (5, 1)] {
        let mut damaged = bytes.clone();
        damaged[place] = value;
        let mut from = ByteReader::new(&damaged);
        let read = RowSet::read(&mut from).and_then(|set| from.expect_end().map(|()| set));
        if let Ok(set) = read {
            assert!(set.ids().is_sorted_by(|left, right| left < right));
        }
    }
}

#[test]
fn lists_intersect_where_they_share_an_id() {
    assert!(intersect(&[1, 5, 9], &[9]));
    assert!(intersect(&[5], &[1, 5, 9]));
    assert!(!intersect(&[2, 4, 6], &[1, 3, 5, 7]));
    assert!(!intersect(&[], &[1]));
}
