//! Lists of structs that are made of the elements at the same positions of other lists, written where the value lies: entries of
//! maps and zipped lists.

use super::rows::{Part, copy_short};
use inlay_types::nested::{Sequence, plain_run};

/// Bytes of all lists of a row that are zipped in one go.
pub(super) const SHORT: usize = 1 << 16;

/// The elements of a list, none of which is NULL if they are read where they lie.
enum Side<'a> {
    Fixed { run: &'a [u8], width: usize },
    Texts { ends: &'a [[u8; 4]], bytes: &'a [u8], from: usize },
    Others(Sequence<'a>, Option<usize>),
}

impl<'a> Side<'a> {
    #[inline(always)]
    fn of(width: Option<usize>, bytes: &'a [u8]) -> Self {
        let list = Sequence::of_width(width, bytes);
        match (list.has_no_nulls(), width, list.fixed(), list.plain_texts()) {
            (true, Some(width), Some(run), _) => Self::Fixed { run, width },
            (true, None, _, Some((ends, bytes))) => Self::Texts { ends, bytes, from: 0 },
            _ => Self::Others(list, width),
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        match self {
            Self::Fixed { run, width } => run.len() / width,
            Self::Texts { ends, .. } => ends.len(),
            Self::Others(list, _) => list.len(),
        }
    }

    /// Bytes of the elements without fixed width, or more.
    #[inline]
    fn text_size(&self) -> usize {
        match self {
            Self::Fixed { .. } => 0,
            Self::Texts { bytes, .. } => bytes.len(),
            Self::Others(_, Some(_)) => 0,
            Self::Others(list, None) => (0..list.len()).map(|index| list.bytes(index).len()).sum(),
        }
    }

    /// The element at `index`, asked for in order; `None` where it is NULL, or behind the end.
    #[inline(always)]
    fn get(&mut self, index: usize) -> Part<'a> {
        match self {
            Self::Fixed { run, width } => run.get(index * *width..(index + 1) * *width),
            Self::Texts { ends, bytes, from } => {
                let end = u32::from_le_bytes(*ends.get(index)?) as usize;
                let text = bytes.get(*from..end).unwrap_or_default();
                *from = end;
                Some(text)
            }
            Self::Others(list, _) => {
                if index < list.len() {
                    list.get(index)
                } else {
                    None
                }
            }
        }
    }
}

/// How many entries there are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Count {
    /// As many as elements in the shortest list.
    Shortest,
    /// As many as in the longest one, with NULLs behind the ends of the others.
    Longest,
}

/// Elements of a width that is known where code is made, 0 of texts; none of them is NULL.
struct Run<'a, const W: usize> {
    bytes: &'a [u8],
    ends: &'a [[u8; 4]],
    from: usize,
}

impl<'a, const W: usize> Run<'a, W> {
    #[inline(always)]
    fn of(bytes: &'a [u8]) -> Option<Self> {
        if W > 0 {
            return plain_run(bytes, W).map(|bytes| Self { bytes, ends: &[], from: 0 });
        }
        Sequence::of_width(None, bytes).plain_texts().map(|(ends, bytes)| Self { bytes, ends, from: 0 })
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.bytes.len().checked_div(W).unwrap_or(self.ends.len())
    }

    /// The element at `index`, asked for in order; `None` behind the end.
    #[inline(always)]
    fn get(&mut self, index: usize) -> Part<'a> {
        if W > 0 {
            return self.bytes.get(index * W..(index + 1) * W);
        }
        let end = u32::from_le_bytes(*self.ends.get(index)?) as usize;
        let text = self.bytes.get(self.from..end).unwrap_or_default();
        self.from = end;
        Some(text)
    }
}

/// [`push_entries`] of two lists of elements of these widths, 0 of texts. `None`, and nothing is appended: some are NULL.
fn push_pairs<const A: usize, const B: usize>(
    lists: [&[u8]; 2],
    count: Count,
    out: &mut Vec<u8>,
) -> Option<()> {
    let (mut left, mut right) = (Run::<A>::of(lists[0])?, Run::<B>::of(lists[1])?);
    let count = match count {
        Count::Shortest => left.len().min(right.len()),
        Count::Longest => left.len().max(right.len()),
    };
    // A flag, values, and ends of texts.
    let head = 1 + if A > 0 { A } else { 4 } + if B > 0 { B } else { 4 };
    let texts = if A > 0 { 0 } else { left.bytes.len() } + if B > 0 { 0 } else { right.bytes.len() };
    let start = out.len();
    out.resize(start + 4 + count * (4 + head) + texts, 0);
    let (header, rest) = out[start..].split_at_mut(4);
    header.copy_from_slice(&(count as u32).to_le_bytes());
    let (ends, mut entries) = rest.split_at_mut(4 * count);
    let mut end = 0;
    for (index, list_end) in ends.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (a, b) = (left.get(index), right.get(index));
        let flags = u8::from(a.is_some()) | u8::from(b.is_some()) << 1;
        let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
        let size = head + if A > 0 { 0 } else { a.len() } + if B > 0 { 0 } else { b.len() };
        let Some((entry, behind)) = entries.split_at_mut_checked(size) else {
            // Texts that overlap are of no list.
            out.truncate(start);
            return None;
        };
        entries = behind;
        let (entry_head, entry_texts) = entry.split_at_mut(head);
        entry_head[0] = flags;
        if A > 0 && a.len() == A {
            entry_head[1..1 + A].copy_from_slice(a);
        }
        if B > 0 && b.len() == B {
            entry_head[1 + A..1 + A + B].copy_from_slice(b);
        }
        let (mut text_at, mut end_at) = (0, 1 + A + B);
        if A == 0 {
            copy_short(&mut entry_texts[..a.len()], a);
            text_at = a.len();
            entry_head[end_at..end_at + 4].copy_from_slice(&(text_at as u32).to_le_bytes());
            end_at += 4;
        }
        if B == 0 {
            copy_short(&mut entry_texts[text_at..text_at + b.len()], b);
            text_at += b.len();
            entry_head[end_at..end_at + 4].copy_from_slice(&(text_at as u32).to_le_bytes());
        }
        end += size as u32;
        *list_end = end.to_le_bytes();
    }
    let unused = entries.len();
    out.truncate(out.len() - unused);
    Some(())
}

/// Appends the list of the entries of lists with elements of these widths. `None`: they do not hold what they say.
#[inline]
pub(super) fn push_entries<const N: usize>(
    widths: [Option<usize>; N],
    lists: [&[u8]; N],
    count: Count,
    out: &mut Vec<u8>,
) -> Option<()> {
    const { assert!(N > 0 && N <= 8) };
    if let ([left, right], [a, b]) = (&widths[..], &lists[..]) {
        let lists = [*a, *b];
        let pushed = match (left, right) {
            (None, None) => push_pairs::<0, 0>(lists, count, out),
            (None, Some(4)) => push_pairs::<0, 4>(lists, count, out),
            (None, Some(8)) => push_pairs::<0, 8>(lists, count, out),
            (Some(4), None) => push_pairs::<4, 0>(lists, count, out),
            (Some(8), None) => push_pairs::<8, 0>(lists, count, out),
            (Some(4), Some(4)) => push_pairs::<4, 4>(lists, count, out),
            (Some(8), Some(8)) => push_pairs::<8, 8>(lists, count, out),
            (None | Some(_), None | Some(_)) => None,
        };
        if pushed.is_some() {
            return pushed;
        }
    }
    // Loops over few things are written out: closures in between are not always inlined.
    let mut sides = [const { Side::Fixed { run: &[], width: 1 } }; N];
    let (mut shortest, mut longest, mut texts) = (usize::MAX, 0, 0);
    let (mut fixed, mut head) = (1, 1);
    for index in 0..N {
        let side = Side::of(widths[index], lists[index]);
        (shortest, longest) = (shortest.min(side.len()), longest.max(side.len()));
        texts += side.text_size();
        fixed += widths[index].unwrap_or(0);
        head += widths[index].unwrap_or(4);
        sides[index] = side;
    }
    let count = match count {
        Count::Shortest => shortest,
        Count::Longest => longest,
    };
    let start = out.len();
    out.resize(start + 4 + count * (4 + head) + texts, 0);
    let (header, rest) = out[start..].split_at_mut(4);
    header.copy_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
    let (ends, mut entries) = rest.split_at_mut(4 * count);
    let mut end = 0;
    for (index, list_end) in ends.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let mut parts = [None; N];
        let mut size = head;
        for field in 0..N {
            parts[field] = sides[field].get(index);
            if let (None, Some(text)) = (widths[field], parts[field]) {
                size += text.len();
            }
        }
        let (entry, behind) = entries.split_at_mut_checked(size)?;
        entries = behind;
        let (mut fixed_at, mut end_at, mut text_at) = (1, fixed, head);
        for field in 0..N {
            let bytes = parts[field].unwrap_or_default();
            entry[0] |= u8::from(parts[field].is_some()) << field;
            match widths[field] {
                Some(width) => {
                    copy_short(&mut entry[fixed_at..fixed_at + bytes.len()], bytes);
                    fixed_at += width;
                }
                None => {
                    copy_short(&mut entry[text_at..text_at + bytes.len()], bytes);
                    text_at += bytes.len();
                    entry[end_at..end_at + 4].copy_from_slice(&((text_at - head) as u32).to_le_bytes());
                    end_at += 4;
                }
            }
        }
        end += size as u32;
        *list_end = end.to_le_bytes();
    }
    // Texts behind the last entry, or in the place of NULLs, were counted as well.
    let unused = entries.len();
    out.truncate(out.len() - unused);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::LogicalType;
    use inlay_types::logical_type::Field;
    use inlay_types::nested::fixed_width;
    use inlay_types::nested::write::{StructPacker, push_appended, push_sequence};

    /// Lists of texts and of numbers of two widths, empty, of different lengths and with NULLs, in any order.
    #[test]
    fn entries_are_structs_in_a_list() {
        let texts = ["", "a", "key 4567", "a key of more than sixteen bytes", "b"];
        let numbers: Vec<[u8; 8]> = (1..=5i64).map(|number| (number * 77).to_le_bytes()).collect();
        let types = [LogicalType::Varchar, LogicalType::BigInt, LogicalType::SmallInt, LogicalType::Integer];
        // Each list as its type, its bytes and its elements.
        let mut lists: Vec<(&LogicalType, Vec<u8>, Vec<Part<'_>>)> = Vec::new();
        for ty in &types {
            for (len, null) in [(5, None), (5, Some(2)), (3, None), (1, Some(0)), (0, None)] {
                let part = |index: usize| match ty {
                    LogicalType::Varchar => texts[index].as_bytes(),
                    LogicalType::BigInt => &numbers[index][..],
                    LogicalType::Integer => &numbers[index][..4],
                    _ => &numbers[index][..2],
                };
                let parts: Vec<Part<'_>> =
                    (0..len).map(|index| (Some(index) != null).then(|| part(index))).collect();
                let mut bytes = Vec::new();
                push_sequence(ty, len, |index| parts[index], &mut bytes).unwrap();
                lists.push((ty, bytes, parts));
            }
        }
        for (left, left_bytes, left_parts) in &lists {
            for (right, right_bytes, right_parts) in &lists {
                let fields = [Field::new("key", (*left).clone()), Field::new("value", (*right).clone())];
                let packer = StructPacker::new(&fields);
                let sizes = [left_parts.len(), right_parts.len()];
                for (count, len) in
                    [(Count::Shortest, sizes[0].min(sizes[1])), (Count::Longest, sizes[0].max(sizes[1]))]
                {
                    let (mut found, mut expected) = (vec![7], vec![7]);
                    let widths = [fixed_width(left), fixed_width(right)];
                    push_entries(widths, [left_bytes, right_bytes], count, &mut found).unwrap();
                    let pair = |index: usize, out: &mut Vec<u8>| {
                        let part =
                            |field: usize| [left_parts, right_parts][field].get(index).copied().flatten();
                        packer.push(part, out)
                    };
                    push_appended((len, 0), pair, &mut expected).unwrap();
                    assert_eq!(found, expected, "{left} {left_parts:?} and {right} {right_parts:?}");
                }
            }
        }
    }

    /// What is no list gives something, or nothing, and no panic.
    #[test]
    fn bytes_of_any_pattern_are_survived() {
        let mut state = 1u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8 % 9
        };
        for len in (0..40).cycle().take(4000) {
            let bytes: Vec<u8> = (0..len).map(|_| byte()).collect();
            for widths in
                [[None, Some(2)], [None, Some(8)], [Some(4), None], [None, None], [Some(8), Some(8)]]
            {
                for count in [Count::Shortest, Count::Longest] {
                    let _ = push_entries(widths, [&bytes, &bytes], count, &mut Vec::new());
                }
            }
        }
    }
}
