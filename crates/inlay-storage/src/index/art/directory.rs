//! An ordered list of parts by their lower fences: which subtree may hold an entry.
//!
//! A part holds the entries from its fence (included) to that of the next one. The first part has no lower bound: its
//! fence is empty. Fences are as short as tells two parts apart.

/// Parts in order.
#[derive(Debug)]
pub struct Directory<T> {
    fences: Vec<Box<[u8]>>,
    parts: Vec<T>,
    /// Bytes that all fences but the first begin with.
    shared: usize,
    /// The eight bytes of each fence behind the shared ones: most searches look at nothing else.
    heads: Vec<u64>,
}

impl<T> Directory<T> {
    /// A directory of one part, which holds everything.
    pub fn new(part: T) -> Self {
        Self::from_parts(vec![(Box::default(), part)])
    }

    /// A directory of these parts. Fences ascend strictly; that of the first part is empty.
    pub fn from_parts(parts: Vec<(Box<[u8]>, T)>) -> Self {
        let (fences, parts) = parts.into_iter().unzip();
        let mut directory = Self { fences, parts, shared: 0, heads: Vec::new() };
        directory.rebuild();
        directory
    }

    /// The same fences with other parts.
    pub fn map<U>(self, map: impl FnMut(T) -> U) -> Directory<U> {
        let Self { fences, parts, shared, heads } = self;
        Directory { fences, parts: parts.into_iter().map(map).collect(), shared, heads }
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// The part that may hold `key`.
    #[inline]
    pub fn find(&self, key: &[u8]) -> usize {
        let Some(first) = self.fences.get(1) else { return 0 };
        let shared = &first[..self.shared];
        let Some(rest) = key.strip_prefix(shared) else {
            return if key < shared { 0 } else { self.parts.len() - 1 };
        };
        let head = head(rest);
        let mut found = self.heads.partition_point(|h| *h < head);
        // Fences with this very head: the rest of their bytes decides.
        while self.heads.get(found) == Some(&head) && *self.fences[found + 1] <= *key {
            found += 1;
        }
        found
    }

    /// The fence of a part.
    pub fn fence(&self, index: usize) -> Option<&[u8]> {
        self.fences.get(index).map(|fence| &**fence)
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        self.parts.get(index)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.parts.get_mut(index)
    }

    /// Parts with their fences.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &T)> + ExactSizeIterator {
        self.fences.iter().map(|fence| &**fence).zip(&self.parts)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.parts.iter_mut()
    }

    /// Puts a part behind part `index`; its fence lies within that part.
    pub fn insert_after(&mut self, index: usize, fence: Box<[u8]>, part: T) {
        self.fences.insert(index + 1, fence);
        self.parts.insert(index + 1, part);
        self.rebuild();
    }

    /// Takes a part out; the part before it (behind it for the first) takes over its range.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        if self.parts.len() < 2 || index >= self.parts.len() {
            return None;
        }
        let part = self.parts.remove(index);
        self.fences.remove(index);
        self.fences[0] = Box::default();
        self.rebuild();
        Some(part)
    }

    /// Takes the parts from `index` on out, with the fence of the first of them apart.
    pub fn split_off(&mut self, index: usize) -> Option<(Box<[u8]>, Directory<T>)> {
        if index == 0 || index >= self.parts.len() {
            return None;
        }
        let mut fences = self.fences.split_off(index);
        let parts = self.parts.split_off(index);
        self.rebuild();
        let fence = std::mem::take(&mut fences[0]);
        Some((fence, Directory::from_parts(fences.into_iter().zip(parts).collect())))
    }

    /// Puts the parts of another directory, which begin at `fence`, behind these; undoes [`Self::split_off`].
    pub fn append(&mut self, fence: Box<[u8]>, behind: Directory<T>) {
        let from = self.fences.len();
        self.fences.extend(behind.fences);
        self.fences[from] = fence;
        self.parts.extend(behind.parts);
        self.rebuild();
    }

    fn rebuild(&mut self) {
        let fences = self.fences.get(1..).unwrap_or_default();
        self.shared = match (fences.first(), fences.last()) {
            (Some(first), Some(last)) => super::span::common_prefix(first, last),
            _ => 0,
        };
        self.heads.clear();
        self.heads.extend(fences.iter().map(|fence| head(&fence[self.shared..])));
    }
}

/// The shortest byte string above `below` and at most `above`, which is greater.
pub fn separator(below: &[u8], above: &[u8]) -> Box<[u8]> {
    let shared = super::span::common_prefix(below, above);
    Box::from(&above[..above.len().min(shared + 1)])
}

#[inline]
fn head(bytes: &[u8]) -> u64 {
    if let Some(head) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*head);
    }
    let mut head = [0; 8];
    head[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(head)
}
