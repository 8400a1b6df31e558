//! Choosing, row by row, between vectors: the end of CASE and COALESCE.

use inlay_types::simd::pack_bits;
use inlay_types::{Bitmap, Buffer, Heap, LogicalType, Native, Vector, View};

/// Marks with `branch` the rows that are undecided (`u8::MAX`) and TRUE in `condition`.
fn choose_true(condition: &Vector, branch: u8, choice: &mut [u8]) {
    let flat = condition.flatten();
    let truths = flat.values::<u8>();
    for (row, (chosen, &truth)) in choice.iter_mut().zip(truths).enumerate() {
        let truth = truth != 0 && !flat.is_null(row);
        *chosen = if *chosen == u8::MAX && truth { branch } else { *chosen };
    }
}

/// CASE: conditions and values in turns, and what stands behind ELSE.
pub fn choose_case(ty: LogicalType, args: &[&Vector], len: usize) -> Vector {
    if let [condition, value, otherwise] = args
        && let Some(made) = null_where(condition, value, otherwise, len)
    {
        return made;
    }
    let branches = args.len() / 2;
    let mut choice = vec![u8::MAX; len];
    for branch in 0..branches {
        choose_true(args[branch * 2], branch as u8, &mut choice);
    }
    for chosen in &mut choice {
        *chosen = if *chosen == u8::MAX { branches as u8 } else { *chosen };
    }
    let sources: Vec<&Vector> =
        (0..branches).map(|b| args[b * 2 + 1]).chain(std::iter::once(args[args.len() - 1])).collect();
    merge_rows(ty, &sources, &choice)
}

/// The values where a condition is TRUE, or those where it is not, where the others are NULL anyway: they stay where they are.
fn null_where(condition: &Vector, value: &Vector, otherwise: &Vector, len: usize) -> Option<Vector> {
    let (kept, keeps_true) = match (value.is_constant_null(), otherwise.is_constant_null()) {
        (true, false) => (otherwise, false),
        (false, true) => (value, true),
        (true, true) | (false, false) => return None,
    };
    if !condition.is_flat() || kept.ty() != value.ty() || kept.ty() != otherwise.ty() {
        return None;
    }
    let mut words = vec![0; len.div_ceil(64)];
    pack_bits(&condition.values::<u8>()[..len], &mut words);
    if let Some(known) = condition.validity() {
        words.iter_mut().zip(known.words()).for_each(|(word, known)| *word &= known);
    }
    if !keeps_true {
        words.iter_mut().for_each(|word| *word = !*word);
        if let (Some(last), rest @ 1..) = (words.last_mut(), len % 64) {
            *last &= (1 << rest) - 1;
        }
    }
    let mut kept = if kept.is_constant() { kept.flatten() } else { kept.clone() };
    let chosen = Bitmap::from_words(words, len);
    let chosen = kept.validity().map_or(chosen.clone(), |own| chosen.and(own));
    kept.set_validity(Some(chosen));
    Some(kept)
}

/// COALESCE.
pub fn choose_first(ty: LogicalType, args: &[&Vector], len: usize) -> Vector {
    let Some((_, others)) = args.split_last() else { return Vector::nulls(ty, len) };
    // Behind what is never NULL nothing is chosen.
    let is_never_null = |arg: &&Vector| arg.validity().is_none_or(Bitmap::all);
    let first_known = others.iter().position(is_never_null).unwrap_or(others.len());
    if first_known == 0
        && let Some(first) = args.first().filter(|first| *first.ty() == ty)
    {
        return (*first).clone();
    }
    let mut choice = vec![first_known as u8; len];
    for (number, arg) in others[..first_known].iter().enumerate().rev() {
        let Some(validity) = arg.validity().filter(|_| !arg.is_constant_null()) else { continue };
        for (word, choice) in validity.words().iter().zip(choice.chunks_mut(64)) {
            for (row, chosen) in choice.iter_mut().enumerate() {
                *chosen = if word >> row & 1 == 1 { number as u8 } else { *chosen };
            }
        }
    }
    merge_rows(ty, args, &choice)
}

/// Row `i` of the result is row `i` of `sources[choice[i]]`. All sources have type `ty` and `choice.len()` rows.
pub fn merge_rows(ty: LogicalType, sources: &[&Vector], choice: &[u8]) -> Vector {
    let flat: Vec<Vector> = sources.iter().map(|source| source.flatten()).collect();
    let (data, heap) = match ty.physical().size() {
        1 => (merge_fixed::<u8>(&flat, choice), Heap::default()),
        2 => (merge_fixed::<u16>(&flat, choice), Heap::default()),
        4 => (merge_fixed::<u32>(&flat, choice), Heap::default()),
        8 => (merge_fixed::<u64>(&flat, choice), Heap::default()),
        _ if ty.is_view() => merge_views(&flat, choice),
        _ => (merge_fixed::<View>(&flat, choice), Heap::default()),
    };
    let nullable = flat.iter().any(|source| source.validity().is_some());
    let validity = nullable.then(|| merge_validity(&flat, choice));
    Vector::flat(ty, choice.len(), data, validity, heap)
}

fn merge_validity(sources: &[Vector], choice: &[u8]) -> Bitmap {
    let mut words = Vec::with_capacity(choice.len().div_ceil(64));
    for (index, rows) in choice.chunks(64).enumerate() {
        let of_source = |(source, number): (&Vector, u8)| {
            rows_of(rows, number) & source.validity().map_or(u64::MAX, |validity| validity.words()[index])
        };
        words.push(sources.iter().zip(0..=u8::MAX).map(of_source).fold(0, |word, bits| word | bits));
    }
    Bitmap::from_words(words, choice.len())
}

/// Which of at most 64 rows chose a source.
fn rows_of(choice: &[u8], source: u8) -> u64 {
    let mut bits = 0;
    for (index, eight) in choice.chunks(8).enumerate() {
        let mut bytes = [!source; 8];
        bytes[..eight.len()].copy_from_slice(eight);
        let differ = u64::from_le_bytes(bytes) ^ (u64::from(source) * 0x0101_0101_0101_0101);
        // The top bit of each byte says whether any other is set, then whether the byte is zero.
        let low = 0x7F7F_7F7F_7F7F_7F7F;
        let equal = !(((differ & low) + low) | differ | low);
        // The eight of them, side by side.
        bits |= ((equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (index * 8);
    }
    bits
}

fn merge_fixed<T: Native>(sources: &[Vector], choice: &[u8]) -> Buffer {
    let values: Vec<&[T]> = sources.iter().map(|source| source.data().typed::<T>()).collect();
    let mut target = Buffer::zeroed(choice.len() * size_of::<T>());
    let places = target.make_mut::<T>();
    if let [first, second] = values[..] {
        let rows = places.iter_mut().zip(choice).zip(first.iter().zip(second));
        for ((value, &chosen), (a, b)) in rows {
            *value = if chosen == 0 { *a } else { *b };
        }
    } else {
        for (row, (value, &chosen)) in places.iter_mut().zip(choice).enumerate() {
            *value = values[chosen as usize][row];
        }
    }
    target
}

fn merge_views(sources: &[Vector], choice: &[u8]) -> (Buffer, Heap) {
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut bases = Vec::with_capacity(sources.len());
    for source in sources {
        bases.push(buffers.len() as u32);
        buffers.extend_from_slice(source.heap().buffers());
    }
    let views: Vec<View> = choice
        .iter()
        .enumerate()
        .map(|(row, &chosen)| {
            let chosen = chosen as usize;
            sources[chosen].data().typed::<View>()[row].rebased(bases[chosen])
        })
        .collect();
    (Buffer::copy_of(&views), Heap::new(buffers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{Dictionary, Value};

    #[test]
    fn rows_that_chose_a_source_are_its_bits() {
        let choice: Vec<u8> = (0..64u32).map(|row| (row * row * 7 % 11 % 5 * 63) as u8).collect();
        for len in [0, 1, 7, 8, 9, 63, 64] {
            for source in [0, 1, 63, 126, 127, 128, 189, 252, 255] {
                let expected = choice[..len].iter().zip(0..).filter(|(chosen, _)| **chosen == source);
                let expected = expected.fold(0, |bits, (_, row)| bits | 1u64 << row);
                assert_eq!(rows_of(&choice[..len], source), expected, "{len} rows, source {source}");
            }
        }
    }

    #[test]
    fn null_comes_from_the_source_that_was_chosen() {
        let whole = Vector::from_values(LogicalType::Integer, &(0..150).collect::<Vec<i32>>());
        let holes = Bitmap::from_fn(150, |row| row % 3 > 0);
        let other =
            Vector::flat(LogicalType::Integer, 150, whole.data().clone(), Some(holes), Heap::default());
        let choice: Vec<u8> = (0..150u32).map(|row| (row % 2) as u8).collect();
        let merged = merge_rows(LogicalType::Integer, &[&whole, &other], &choice);
        for row in 0..150 {
            assert_eq!(merged.is_null(row), row % 2 == 1 && row % 3 == 0, "row {row}");
        }
    }

    /// CASE with NULL on one side and COALESCE give what choosing row by row does: over flat, constant and dictionary vectors.
    #[test]
    fn short_ways_choose_what_the_long_one_does() {
        const LEN: usize = 150;
        let holes = |step: usize| Some(Bitmap::from_fn(LEN, |row| row % step > 0));
        let numbers = Vector::from_values(LogicalType::Integer, &(0..LEN as i32).collect::<Vec<i32>>());
        let with = |validity: Option<Bitmap>| {
            let mut vector = numbers.clone();
            vector.set_validity(validity);
            vector
        };
        let codes: Vec<u32> = (0..LEN as u32).map(|row| row * 7 % 20).collect();
        let dictionary = |validity| {
            Vector::dictionary(
                Dictionary::new(numbers.slice(0, 20)),
                Buffer::from_vec(codes.clone()),
                LEN,
                validity,
            )
        };
        let sources = [
            with(None),
            with(holes(3)),
            with(Some(Bitmap::filled(LEN, true))),
            with(Some(Bitmap::filled(LEN, false))),
            dictionary(None),
            dictionary(holes(4)),
            numbers.repeated(7, LEN),
            Vector::nulls(LogicalType::Integer, LEN),
        ];
        let truths: Vec<u8> = (0..LEN).map(|row| u8::from(row * row % 5 < 2)).collect();
        let mut unknown = Vector::from_values(LogicalType::Boolean, &truths);
        unknown.set_validity(holes(6));
        let conditions =
            [Vector::from_values(LogicalType::Boolean, &truths), unknown.clone(), unknown.repeated(1, LEN)];
        for a in &sources {
            for b in &sources {
                for condition in &conditions {
                    let found = choose_case(LogicalType::Integer, &[condition, a, b], LEN);
                    for row in 0..LEN {
                        let is_true = condition.get(row) == Value::Boolean(true);
                        assert_eq!(
                            found.get(row),
                            if is_true { a.get(row) } else { b.get(row) },
                            "row {row}"
                        );
                    }
                }
                for c in &sources {
                    let found = choose_first(LogicalType::Integer, &[a, b, c], LEN);
                    for row in 0..LEN {
                        let all = [a, b, c].map(|arg| arg.get(row));
                        let expected = all.into_iter().find(|value| !value.is_null()).unwrap_or(Value::Null);
                        assert_eq!(found.get(row), expected, "row {row}");
                    }
                }
            }
        }
    }
}
