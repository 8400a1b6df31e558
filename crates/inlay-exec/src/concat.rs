//! Joining vectors end to end without copying strings.

use inlay_types::{Batch, Bitmap, Buffer, Heap, LogicalType, Native, Vector, View};

/// All rows of `parts`, in order, as one vector. Views are rebased onto the joined list of heap buffers; dictionaries
/// stay when all parts share one.
pub fn concat_vectors(ty: LogicalType, parts: &[&Vector]) -> Vector {
    if let [only] = parts {
        return (*only).clone();
    }
    let len = parts.iter().map(|p| p.len()).sum();
    let shared = parts.first().and_then(|first| first.as_dictionary()).filter(|dictionary| {
        parts.iter().all(|p| p.as_dictionary().is_some_and(|d| d.id() == dictionary.id()))
    });
    if let Some(dictionary) = shared {
        let codes = concat_fixed::<u32>(len, parts.iter().map(|p| p.codes()));
        return Vector::dictionary(
            dictionary.clone(),
            codes,
            len,
            concat_validity(len, parts.iter().copied()),
        );
    }
    let flat: Vec<Vector> = parts.iter().map(|p| p.flatten()).collect();
    let (data, heap) = match ty.physical().size() {
        1 => (concat_fixed::<u8>(len, flat.iter().map(|p| p.values())), Heap::default()),
        2 => (concat_fixed::<u16>(len, flat.iter().map(|p| p.values())), Heap::default()),
        4 => (concat_fixed::<u32>(len, flat.iter().map(|p| p.values())), Heap::default()),
        8 => (concat_fixed::<u64>(len, flat.iter().map(|p| p.values())), Heap::default()),
        _ if ty.is_view() => concat_views(len, &flat),
        _ => (concat_fixed::<View>(len, flat.iter().map(|p| p.values())), Heap::default()),
    };
    Vector::flat(ty, len, data, concat_validity(len, flat.iter()), heap)
}

/// All rows of `batches`, column by column. `types` gives the columns when there are no batches.
pub fn concat_batches(types: &[LogicalType], batches: &[Batch]) -> Batch {
    let len = batches.iter().map(Batch::len).sum();
    let column = |(index, ty): (usize, &LogicalType)| {
        let parts: Vec<&Vector> = batches.iter().map(|b| b.column(index)).collect();
        if parts.is_empty() { Vector::empty(*ty) } else { concat_vectors(*ty, &parts) }
    };
    Batch::new(types.iter().enumerate().map(column).collect(), len)
}

fn concat_fixed<'a, T: Native>(len: usize, parts: impl Iterator<Item = &'a [T]>) -> Buffer {
    let mut buffer = Buffer::zeroed(len * size_of::<T>());
    if let Some(mut target) = buffer.typed_mut::<T>() {
        for part in parts {
            let (head, tail) = target.split_at_mut(part.len());
            head.copy_from_slice(part);
            target = tail;
        }
    }
    buffer
}

fn concat_views(len: usize, parts: &[Vector]) -> (Buffer, Heap) {
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut target = Buffer::zeroed(len * size_of::<View>());
    let mut last: Option<(&Heap, u32)> = None;
    if let Some(mut views) = target.typed_mut::<View>() {
        for part in parts {
            // Neighbouring parts often share one heap (slices of a segment): its buffers are listed once.
            let base = match last {
                Some((heap, base)) if heap.same(part.heap()) => base,
                _ => {
                    let base = buffers.len() as u32;
                    buffers.extend_from_slice(part.heap().buffers());
                    base
                }
            };
            last = Some((part.heap(), base));
            let (head, tail) = views.split_at_mut(part.len());
            for (view, source) in head.iter_mut().zip(part.views()) {
                *view = source.rebased(base);
            }
            views = tail;
        }
    }
    (target, Heap::new(buffers))
}

fn concat_validity<'a>(len: usize, parts: impl Iterator<Item = &'a Vector> + Clone) -> Option<Bitmap> {
    if parts.clone().all(|p| p.validity().is_none()) {
        return None;
    }
    let mut words = vec![0u64; len.div_ceil(64)];
    let mut row = 0;
    for part in parts {
        for index in 0..part.len() {
            words[row / 64] |= u64::from(!part.is_null(index)) << (row % 64);
            row += 1;
        }
    }
    Some(Bitmap::from_words(words, len))
}
