//! Every loop against its scalar definition, on this CPU's level.

use super::*;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn bit(mask: &[u64], row: usize) -> bool {
    mask[row / 64] >> (row % 64) & 1 == 1
}

fn random_mask(state: &mut u64, rows: usize) -> Vec<u64> {
    let mut mask: Vec<u64> = (0..mask_words(rows)).map(|_| random(state) | random(state)).collect();
    if let (false, Some(last)) = (rows.is_multiple_of(64), mask.last_mut()) {
        *last &= (1 << (rows % 64)) - 1;
    }
    mask
}

fn check<L: Lane>(values: &[L], lanes: for<'a> fn(&'a [L]) -> Lanes<'a>, state: &mut u64) {
    let before = random_mask(state, values.len());
    let rows: Vec<u32> = (0..values.len() as u32).filter(|r| bit(&before, *r as usize)).collect();
    let width_mask = L::from_u64(u64::MAX).to_u64();
    for _ in 0..6 {
        let low = random(state) & width_mask;
        let span = (random(state) & width_mask) >> (random(state) % 12);
        let range = LaneRange { low, span, negate: random(state).is_multiple_of(2) };
        let expected: Vec<u32> =
            rows.iter().copied().filter(|r| range.contains(values[*r as usize])).collect();
        let mut mask = before.clone();
        and_range(lanes(values), range, &mut mask);
        let mut found = vec![7];
        push_positions(&mask, 1000, &mut found);
        assert_eq!(found[1..].iter().map(|p| p - 1000).collect::<Vec<_>>(), expected, "{range:?}");
        let mut selected = vec![3];
        select_range(lanes(values), range, &rows, &mut selected);
        assert_eq!(selected[1..], expected, "{range:?}");
        let mut portable = before.clone();
        portable::and_range(values, range, &mut portable);
        assert_eq!(portable, mask);
        let mut positions = Vec::new();
        portable::push_positions(&mask, 0, &mut positions);
        assert_eq!(positions, expected);

        let span = span.min(5_000);
        let words: Vec<u64> = (0..(span + 70) / 64 + 1).map(|_| random(state)).collect();
        let bits = LaneBits { low, span, first_bit: random(state) % 70, words: &words };
        let expected: Vec<u32> =
            rows.iter().copied().filter(|r| bits.contains(values[*r as usize])).collect();
        let mut mask = before.clone();
        and_bits(lanes(values), bits, &mut mask);
        let mut found = Vec::new();
        push_positions(&mask, 0, &mut found);
        assert_eq!(found, expected);
        let mut selected = Vec::new();
        select_bits(lanes(values), bits, &rows, &mut selected);
        assert_eq!(selected, expected);
    }
}

#[test]
fn lane_tests_agree_with_their_definition() {
    let mut state = 0x1234_5678_9ABC_DEF1;
    for rows in [0, 1, 3, 63, 64, 65, 200, 2048, 2050] {
        let values: Vec<u64> = (0..rows).map(|_| random(&mut state) >> (random(&mut state) % 60)).collect();
        check::<u8>(&values.iter().map(|v| *v as u8).collect::<Vec<_>>(), |v| Lanes::U8(v), &mut state);
        check::<u16>(&values.iter().map(|v| *v as u16).collect::<Vec<_>>(), |v| Lanes::U16(v), &mut state);
        check::<u32>(&values.iter().map(|v| *v as u32).collect::<Vec<_>>(), |v| Lanes::U32(v), &mut state);
        check::<u64>(&values, |v| Lanes::U64(v), &mut state);
    }
}

/// Lanes near each other, with some that are not, against bits that begin and end among them.
fn check_near<L: Lane>(lanes: for<'a> fn(&'a [L]) -> Lanes<'a>, state: &mut u64) {
    for rows in [64, 65, 128, 700, 2048] {
        for step in [1, 3, 12] {
            let mut next = random(state);
            let values: Vec<L> = (0..rows)
                .map(|_| {
                    next = next.wrapping_add(random(state) % step);
                    L::from_u64(if random(state).is_multiple_of(300) { random(state) } else { next })
                })
                .collect();
            let width_mask = L::from_u64(u64::MAX).to_u64();
            for back in [0, 5, 400] {
                let low = values[rows / 3].to_u64().wrapping_sub(back) & width_mask;
                let (span, first_bit) = ((random(state) % 3_000) & width_mask, random(state) % 70);
                let words: Vec<u64> = (0..=(first_bit + span) / 64).map(|_| random(state)).collect();
                let bits = LaneBits { low, span, first_bit, words: &words };
                let before = random_mask(state, rows);
                let expected: Vec<u32> = (0..rows as u32)
                    .filter(|row| bit(&before, *row as usize) && bits.contains(values[*row as usize]))
                    .collect();
                let mut mask = before;
                and_bits(lanes(&values), bits, &mut mask);
                let mut found = Vec::new();
                push_positions(&mask, 0, &mut found);
                assert_eq!(found, expected, "{rows} rows, step {step}, {bits:?}");
            }
        }
    }
}

#[test]
fn bits_of_lanes_near_each_other_agree_with_their_definition() {
    let mut state = 0x0FED_CBA9_8765_4321;
    for _ in 0..20 {
        check_near::<u8>(|v| Lanes::U8(v), &mut state);
        check_near::<u16>(|v| Lanes::U16(v), &mut state);
        check_near::<u32>(|v| Lanes::U32(v), &mut state);
        check_near::<u64>(|v| Lanes::U64(v), &mut state);
    }
}

#[test]
fn float_tests_agree_with_their_definition() {
    let mut state = 99;
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.5, -2.25, 1e300];
    let values: Vec<f64> = (0..333).map(|_| special[(random(&mut state) % 8) as usize]).collect();
    let reals: Vec<f32> = values.iter().map(|v| *v as f32).collect();
    for low in [f64::NEG_INFINITY, -2.25, 0.0] {
        for high in [f64::INFINITY, -0.0, 1.5] {
            for flags in 0..4 {
                let (nan, negate) = (flags & 1 == 1, flags & 2 == 2);
                let holds = |v: f64| ((v >= low && v <= high) || (nan && v.is_nan())) != negate;
                let before = random_mask(&mut state, values.len());
                let (mut doubles, mut singles) = (before.clone(), before.clone());
                and_doubles(&values, FloatRange { low, high, nan, negate }, &mut doubles);
                and_reals(
                    &reals,
                    FloatRange { low: low as f32, high: high as f32, nan, negate },
                    &mut singles,
                );
                for row in 0..values.len() {
                    let was = bit(&before, row);
                    assert_eq!(bit(&doubles, row), was && holds(values[row]));
                    assert_eq!(bit(&singles, row), was && holds(f64::from(reals[row])));
                }
            }
        }
    }
}

#[test]
fn decoding_adds_the_base() {
    let offsets: Vec<u16> = (0..1000).map(|i| i * 65).collect();
    let mut all = vec![0i64; 1000];
    decode(-5i64, &offsets, &mut all);
    assert!(all.iter().zip(&offsets).all(|(v, o)| *v == i64::from(*o) - 5));
    let every = |step: usize| (0..1000u32).step_by(step);
    let dense = (0..1000u32).filter(|row| row % 11 != 5);
    for rows in
        [every(1).collect(), every(2).rev().collect(), every(7).collect(), dense.collect::<Vec<u32>>()]
    {
        let (mut wide, mut long, mut int) =
            (vec![0i128; rows.len()], vec![0i64; rows.len()], vec![0u32; rows.len()]);
        decode_rows(1i128 << 100, &offsets, &rows, &mut wide);
        decode_rows(-5i64, &offsets, &rows, &mut long);
        decode_rows(7u32, &offsets, &rows, &mut int);
        for (index, row) in rows.iter().enumerate() {
            let offset = offsets[*row as usize];
            assert_eq!(wide[index], (1 << 100) + i128::from(offset));
            assert_eq!((long[index], int[index]), (i64::from(offset) - 5, u32::from(offset) + 7));
        }
    }
}

#[test]
fn encoding_loops_agree_with_their_definition() {
    let mut state = 12_345;
    for len in [0, 1, 63, 2047, 2048, 2049, 5000] {
        let wide: Vec<i64> =
            (0..len).map(|_| random(&mut state) as i64 >> (random(&mut state) % 60)).collect();
        let mut found = Vec::new();
        ranges(&wide, &mut found);
        let expected = wide.chunks(2048).map(|vector| {
            let (low, high) = (vector.iter().min().copied(), vector.iter().max().copied());
            (low.unwrap_or_default(), high.unwrap_or_default())
        });
        assert_eq!(found, expected.collect::<Vec<_>>());

        let small: Vec<i16> = (0..len).map(|_| (random(&mut state) % 200) as i16 - 150).collect();
        let mut lanes = vec![0u8; len];
        offsets(&small, -150, &mut lanes);
        assert!(small.iter().zip(&lanes).all(|(value, lane)| i32::from(*value) == i32::from(*lane) - 150));

        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.5, -2.25, 1e300];
        let kinds = random(&mut state) % 7 + 1;
        let floats: Vec<f64> = (0..len).map(|_| special[(random(&mut state) % kinds) as usize]).collect();
        let mut found = Vec::new();
        float_ranges(&floats, &mut found);
        let keys = floats.chunks(2048).map(|vector| vector.iter().map(|v| crate::segment::FloatKey::key(*v)));
        let expected = keys.map(|keys| (keys.clone().min().unwrap_or(0), keys.max().unwrap_or(0)));
        assert_eq!(found, expected.collect::<Vec<_>>());

        let of_lane = WordOfLane { sign: 1 << 7, base: 1000 };
        let mut hashes = vec![0; len];
        hash_lanes(&lanes, of_lane, &mut hashes);
        let agrees = |(lane, hash): (&u8, &u64)| *hash == hash_u64(of_lane.word(u64::from(*lane)));
        assert!(lanes.iter().zip(&hashes).all(agrees));
    }
}
