//! Choosing, row by row, between vectors: the end of CASE and COALESCE.

use inlay_types::{Bitmap, Buffer, Heap, LogicalType, Native, Vector, View};

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
}
