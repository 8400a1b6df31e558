use super::chunk::{Chunk, Form};
use super::*;

/// The same numbers at each run.
pub(crate) struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, end: u32) -> u32 {
        (self.next() % u64::from(end)) as u32
    }
}

/// So many runs of two places with gaps, from a place on.
fn pairs(count: u32, from: u32) -> Vec<u32> {
    (0..count).flat_map(|run| [from + run * 7, from + run * 7 + 1, from + run * 7 + 2]).collect()
}

/// Sets about `rows` rows at the limits of each form, and what they are.
pub(crate) fn shapes(rows: u32) -> Vec<(String, Vec<u32>)> {
    let mut random = Random(u64::from(rows));
    let mut shapes: Vec<(String, Vec<u32>)> = vec![
        ("nothing".into(), Vec::new()),
        ("all".into(), (0..rows).collect()),
        ("the first".into(), vec![0]),
        ("the last".into(), vec![rows - 1]),
        ("the ends".into(), vec![0, rows - 1]),
        ("all but one".into(), (0..rows).filter(|row| *row != rows / 2).collect()),
        ("every other".into(), (0..rows).step_by(2).collect()),
        ("the second half".into(), (rows / 2..rows).collect()),
    ];
    for count in [1, 2, 2047, 2048, 2049] {
        shapes.push((format!("{count} runs"), pairs(count, 5)));
    }
    for count in [4095, 4096, 4097] {
        shapes.push((format!("{count} places"), (0..count).map(|place| place * 15 + 3).collect()));
    }
    for count in [65_535, 65_536] {
        shapes.push((format!("the first {count}"), (0..count).collect()));
        shapes.push((format!("{count} of all others"), (0..rows).step_by(2).take(count as usize).collect()));
    }
    for density in [2_000, 300, 40, 10, 3] {
        let places = (0..rows).filter(|_| random.below(density) == 0).collect();
        shapes.push((format!("one of {density}"), places));
    }
    for (_, places) in &mut shapes {
        places.retain(|place| *place < rows);
        places.dedup();
    }
    shapes
}

fn flags(places: &Places) -> Vec<bool> {
    let mut flags = vec![false; places.rows() as usize];
    places.for_each(|place| flags[place as usize] = true);
    flags
}

fn places_of(flags: &[bool]) -> Vec<u32> {
    flags.iter().enumerate().filter(|(_, flag)| **flag).map(|(place, _)| place as u32).collect()
}

/// Equals what a vector of flags says, has the smallest forms, and comes back from its bytes.
fn check(set: &Places, expected: &[bool], what: &str) {
    assert!(flags(set) == expected, "{what}");
    let places = places_of(expected);
    assert_eq!(*set, Places::from_sorted(&places, set.rows()).unwrap(), "{what}");
    assert_eq!(set.count() as usize, places.len(), "{what}");
    assert_eq!(set.first(), places.first().copied(), "{what}");
    let mut bytes = Vec::new();
    set.write(&mut bytes);
    bytes.extend(b"more");
    let mut rest = &bytes[..];
    assert_eq!(Places::read(&mut rest, set.rows()).unwrap(), *set, "{what}");
    assert_eq!(rest, b"more", "{what}");
}

#[test]
fn operations_equal_those_on_flags() {
    for rows in [1, 100, 65_535, 131_072] {
        let shapes = shapes(rows);
        let sets: Vec<(String, Places, Vec<bool>)> = shapes
            .into_iter()
            .map(|(name, places)| {
                let set = Places::from_sorted(&places, rows).unwrap();
                let flags = flags(&set);
                assert_eq!(places_of(&flags), places);
                (name, set, flags)
            })
            .collect();
        for (name, left, of_left) in &sets {
            let inverse: Vec<bool> = of_left.iter().map(|flag| !flag).collect();
            check(&left.not(), &inverse, &format!("NOT {name} of {rows}"));
            for (other, right, of_right) in &sets {
                let with = |op: fn(bool, bool) -> bool| -> Vec<bool> {
                    of_left.iter().zip(of_right).map(|(left, right)| op(*left, *right)).collect()
                };
                let both = with(|left, right| left && right);
                let what = |op: &str| format!("{name} {op} {other} of {rows}");
                assert_eq!(left.count_and(right).unwrap() as usize, places_of(&both).len(), "{}", what("&"));
                assert_eq!(left.intersects(right).unwrap(), both.contains(&true), "{}", what("&"));
                check(&left.and(right).unwrap(), &both, &what("AND"));
                check(&left.or(right).unwrap(), &with(|left, right| left || right), &what("OR"));
                check(&left.and_not(right).unwrap(), &with(|left, right| left && !right), &what("AND NOT"));
            }
        }
    }
}

#[test]
fn places_are_found_and_counted() {
    for rows in [1, 64, 65_536, 65_537, 131_072] {
        for (name, places) in shapes(rows) {
            let set = Places::from_sorted(&places, rows).unwrap();
            let mut probes =
                vec![0, 1, 63, 64, 65_534, 65_535, 65_536, 65_537, rows / 2, rows - 1, rows, u32::MAX];
            probes.extend(places.iter().step_by(997).flat_map(|place| [*place, place + 1]));
            for place in probes {
                assert_eq!(
                    set.contains(place),
                    places.binary_search(&place).is_ok(),
                    "{name} of {rows}: {place}"
                );
                let before = places.partition_point(|member| *member < place);
                assert_eq!(set.rank(place) as usize, before, "{name} of {rows}: {place}");
            }
            let mut listed = vec![7];
            set.append_to(&mut listed);
            assert_eq!(listed[1..], places);
            let mut words = vec![0; (rows as usize).div_ceil(64)];
            set.set_in(&mut words).unwrap();
            assert_eq!(Places::from_words(&words, rows), set, "{name} of {rows}");
            assert!(set.set_in(&mut words[1..]).is_err());
            // Bits behind the rows count for nothing, and words that are missing are zero.
            words.push(u64::MAX);
            if rows % 64 != 0 {
                words[rows as usize / 64] |= u64::MAX << (rows % 64);
            }
            assert_eq!(Places::from_words(&words, rows), set, "{name} of {rows}");
        }
    }
    assert_eq!(Places::from_words(&[5], 100_000), Places::from_sorted(&[0, 2], 100_000).unwrap());
}

#[test]
fn any_of_many_sets_is_what_or_makes() {
    let rows = 131_072;
    let shapes = shapes(rows);
    let sets: Vec<Places> =
        shapes.iter().map(|(_, places)| Places::from_sorted(places, rows).unwrap()).collect();
    for step in [1, 2, 5, 11, 100] {
        let some: Vec<&Places> = sets.iter().skip(2).step_by(step).collect();
        let one_by_one = some.iter().fold(Places::none(rows), |all, set| all.or(set).unwrap());
        assert_eq!(Places::any_of(&some, rows).unwrap(), one_by_one);
    }
    assert_eq!(Places::any_of(&[], rows).unwrap(), Places::none(rows));
}

#[test]
fn forms_change_where_the_next_one_is_smaller() {
    let form = |places: &[u32], rows: u32| match &Places::from_sorted(places, rows).unwrap().chunks[0] {
        Chunk::List(_) => Form::List,
        Chunk::Runs(_) => Form::Runs,
        Chunk::Bits { .. } => Form::Bits,
    };
    let apart = |count: u32| (0..count).map(|place| place * 2).collect::<Vec<u32>>();
    assert_eq!(form(&apart(4_096), 65_536), Form::List);
    assert_eq!(form(&apart(4_097), 65_536), Form::Bits);
    assert_eq!(form(&pairs(2_047, 0), 65_536), Form::Runs);
    assert_eq!(form(&pairs(2_048, 0), 65_536), Form::Bits);
    // A short row group has short bits.
    assert_eq!(form(&apart(40), 640), Form::List);
    assert_eq!(form(&apart(41), 640), Form::Bits);
    assert_eq!(form(&[4, 5], 640), Form::List);
    assert_eq!(form(&[4, 5, 6], 640), Form::Runs);
}

#[test]
fn huge_numbers_of_rows_are_counted() {
    for rows in [1u32 << 16, 1 << 31, u32::MAX] {
        for rows in [rows - 1, rows, rows.saturating_add(1)] {
            let (all, first) = (Places::all(rows), Places::from_sorted(&[0], rows).unwrap());
            assert_eq!(all.or(&first).unwrap(), all);
            assert_eq!(all.or(&first).unwrap().count(), rows);
            assert_eq!(all.and_not(&first).unwrap().count(), rows - 1);
            assert_eq!(first.not().count(), rows - 1);
            assert_eq!(all.not(), Places::none(rows));
            assert_eq!(Places::none(rows).not(), all);
            assert_eq!(all.rank(rows - 1), rows - 1);
            assert!(all.contains(rows - 1) && !all.contains(rows));
        }
    }
    let empty = Places::none(0);
    assert_eq!(empty, Places::all(0));
    assert_eq!(empty.not().or(&empty).unwrap().count(), 0);
    assert!(!empty.contains(0));
}

#[test]
fn sets_that_do_not_fit_are_errors() {
    assert!(Places::from_sorted(&[1, 1], 3).is_err());
    assert!(Places::from_sorted(&[2, 1], 3).is_err());
    assert!(Places::from_sorted(&[3], 3).is_err());
    let (three, four) = (Places::all(3), Places::all(4));
    assert!(three.and(&four).is_err() && three.or(&four).is_err() && three.and_not(&four).is_err());
    assert!(three.count_and(&four).is_err() && three.intersects(&four).is_err());
    assert!(Places::any_of(&[&three, &four], 3).is_err());
}

#[test]
fn images_are_small() {
    let size = |places: &[u32]| {
        let mut bytes = Vec::new();
        Places::from_sorted(places, 65_536).unwrap().write(&mut bytes);
        bytes.len()
    };
    let mut random = Random(3);
    let one_of_200: Vec<u32> = (0..65_536).filter(|_| random.below(200) == 0).collect();
    // Of 16 bits for each place, nine are left.
    assert!(size(&one_of_200) * 8 < 10 * one_of_200.len());
    assert_eq!(size(&[]), 2);
    assert_eq!(size(&(0..65_536).collect::<Vec<u32>>()), 6);
    assert!(size(&pairs(2_000, 0)) < 2_000);
}

#[test]
fn damaged_images_are_errors_or_other_sets() {
    let rows = 66_000;
    let mut random = Random(11);
    for (name, places) in shapes(rows) {
        let set = Places::from_sorted(&places, rows).unwrap();
        let mut bytes = Vec::new();
        set.write(&mut bytes);
        for cut in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
            assert!(Places::read(&mut &bytes[..cut], rows).is_err(), "{name} cut at {cut}");
        }
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(3) {
                // What says how the rest is to be read lies in front.
                let near =
                    if random.below(2) == 0 { 12.min(damaged.len() as u32) } else { damaged.len() as u32 };
                let at = random.below(near) as usize;
                damaged[at] = random.below(256) as u8;
            }
            let mut rest = &damaged[..];
            if let Ok(read) = Places::read(&mut rest, rows) {
                check(&read, &flags(&read), &name);
            }
        }
        assert!(Places::read(&mut &bytes[..], u32::MAX).is_err());
        // Another number of rows is no set, or one of these rows.
        for other in [1, 100, 65_536, 131_072] {
            if let Ok(read) = Places::read(&mut &bytes[..], other) {
                check(&read, &flags(&read), &name);
            }
        }
    }
}

#[test]
fn marks_change_as_sets_combine() {
    for rows in [1, 100, 65_535, 131_072] {
        let shapes = shapes(rows);
        let sets: Vec<(String, Places)> = shapes
            .into_iter()
            .map(|(name, places)| (name, Places::from_sorted(&places, rows).unwrap()))
            .collect();
        let marked = |marks: &Marks| {
            let mut places = Vec::new();
            marks.write_to(&mut places);
            assert_eq!(marks.count() as usize, places.len());
            assert_eq!(marks.is_empty(), places.is_empty());
            assert!(places.iter().all(|place| marks.contains(*place)));
            Places::from_sorted(&places, rows).unwrap()
        };
        assert_eq!(marked(&Marks::all(rows)), Places::all(rows));
        for (left_name, left) in &sets {
            let mut of_left = Marks::none(rows);
            of_left.add(left).unwrap();
            assert_eq!(marked(&of_left), *left, "{left_name} of {rows}");
            let changed = |change: &dyn Fn(&mut Marks)| {
                let mut marks = of_left.clone();
                change(&mut marks);
                marked(&marks)
            };
            assert_eq!(changed(&Marks::invert), left.not());
            for (name, right) in &sets {
                let what = format!("{left_name} and {name} of {rows}");
                assert_eq!(changed(&|marks| marks.add(right).unwrap()), left.or(right).unwrap(), "{what}");
                assert_eq!(changed(&|marks| marks.keep(right).unwrap()), left.and(right).unwrap(), "{what}");
                let removed = left.and_not(right).unwrap();
                assert_eq!(changed(&|marks| marks.remove(right).unwrap()), removed, "{what}");
                assert_eq!(of_left.count_in(right).unwrap(), left.count_and(right).unwrap(), "{what}");
            }
        }
        assert!(Marks::none(rows).add(&Places::none(rows + 1)).is_err());
    }
}
