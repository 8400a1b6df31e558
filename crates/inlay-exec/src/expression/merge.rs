//! Choosing, row by row, between vectors: the end of CASE and COALESCE.

use inlay_types::{Bitmap, Buffer, Heap, LogicalType, Native, Vector, View};

/// Row `i` of the result is row `i` of `sources[choice[i]]`. All sources have type `ty` and `choice.len()` rows.
pub fn merge_rows(ty: LogicalType, sources: &[&Vector], choice: &[u8]) -> Vector {
    let flat: Vec<Vector> = sources.iter().map(|source| source.flatten()).collect();
    let len = choice.len();
    let (data, heap) = match ty.physical().size() {
        1 => (merge_fixed::<u8>(&flat, choice), Heap::default()),
        2 => (merge_fixed::<u16>(&flat, choice), Heap::default()),
        4 => (merge_fixed::<u32>(&flat, choice), Heap::default()),
        8 => (merge_fixed::<u64>(&flat, choice), Heap::default()),
        _ if ty.is_view() => merge_views(&flat, choice),
        _ => (merge_fixed::<View>(&flat, choice), Heap::default()),
    };
    let nullable = flat.iter().any(|source| source.validity().is_some());
    let validity = nullable.then(|| Bitmap::from_fn(len, |row| !flat[choice[row] as usize].is_null(row)));
    Vector::flat(ty, len, data, validity, heap)
}

fn merge_fixed<T: Native>(sources: &[Vector], choice: &[u8]) -> Buffer {
    let values: Vec<&[T]> = sources.iter().map(|source| source.data().typed::<T>()).collect();
    let mut target = Buffer::zeroed(choice.len() * size_of::<T>());
    if let Some(target) = target.typed_mut::<T>() {
        if let [first, second] = values[..] {
            let rows = target.iter_mut().zip(choice).zip(first.iter().zip(second));
            for ((value, &chosen), (a, b)) in rows {
                *value = if chosen == 0 { *a } else { *b };
            }
        } else {
            for (row, (value, &chosen)) in target.iter_mut().zip(choice).enumerate() {
                *value = values[chosen as usize][row];
            }
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
