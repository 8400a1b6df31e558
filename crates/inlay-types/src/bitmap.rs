//! Validity: one bit per row, least significant first as in Arrow; a set bit is a value, a clear one NULL.
//!
//! A bitmap starts at bit 0 of its buffer and is stored in whole 64-bit words. Bits behind `len` are unspecified.

use crate::Buffer;

/// A bit per row.
#[derive(Clone, Debug)]
pub struct Bitmap {
    words: Buffer,
    len: usize,
}

impl Bitmap {
    /// `len` bits, all `bit`.
    pub fn filled(len: usize, bit: bool) -> Self {
        let mut words = Buffer::zeroed(len.div_ceil(64) * 8);
        if bit {
            words.make_mut::<u64>().fill(u64::MAX);
        }
        Self { words, len }
    }

    /// The bits that `f` says.
    pub fn from_fn(len: usize, mut f: impl FnMut(usize) -> bool) -> Self {
        let mut words = vec![0u64; len.div_ceil(64)];
        for (index, word) in words.iter_mut().enumerate() {
            let from = index * 64;
            let mut bits = 0;
            for bit in 0..64.min(len - from) {
                bits |= u64::from(f(from + bit)) << bit;
            }
            *word = bits;
        }
        Self { words: Buffer::copy_of(&words), len }
    }

    /// Words as they are; `words` holds at least `len` bits.
    pub fn from_words(words: Vec<u64>, len: usize) -> Self {
        assert!(words.len() * 64 >= len, "bitmap has too few words");
        Self { words: Buffer::copy_of(&words), len }
    }

    /// A copy of `len` bits starting at `offset_bits` of Arrow bitmap bytes.
    pub fn from_arrow(bytes: &[u8], offset_bits: usize, len: usize) -> Self {
        let bit = |i: usize| bytes[(offset_bits + i) / 8] >> ((offset_bits + i) % 8) & 1 == 1;
        Self::from_fn(len, bit)
    }

    /// Number of bits.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words; bits behind `len` are unspecified.
    #[inline]
    pub fn words(&self) -> &[u64] {
        self.words.typed::<u64>()
    }

    /// The buffer of the words, for Arrow.
    pub fn buffer(&self) -> &Buffer {
        &self.words
    }

    /// The words for writing; copied first when shared.
    pub fn words_mut(&mut self) -> &mut [u64] {
        self.words.make_mut::<u64>()
    }

    /// Bit `index`.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        debug_assert!(index < self.len);
        self.words()[index / 64] >> (index % 64) & 1 == 1
    }

    /// Sets bit `index`.
    #[inline]
    pub fn set(&mut self, index: usize, bit: bool) {
        let word = &mut self.words_mut()[index / 64];
        *word = *word & !(1 << (index % 64)) | u64::from(bit) << (index % 64);
    }

    /// Number of set bits.
    pub fn count_ones(&self) -> usize {
        let whole = self.len / 64;
        let words = self.words();
        let mut count: usize = words[..whole].iter().map(|w| w.count_ones() as usize).sum();
        if !self.len.is_multiple_of(64) {
            count += (words[whole] & ((1 << (self.len % 64)) - 1)).count_ones() as usize;
        }
        count
    }

    /// Whether every bit is set.
    pub fn all(&self) -> bool {
        self.count_ones() == self.len
    }

    /// Bitwise and of two bitmaps of equal length.
    pub fn and(&self, other: &Bitmap) -> Bitmap {
        assert_eq!(self.len, other.len, "bitmaps differ in length");
        let words: Vec<u64> = self.words().iter().zip(other.words()).map(|(a, b)| a & b).collect();
        Self::from_words(words, self.len)
    }

    /// And of two optional validities, where absent means all valid.
    pub fn and_optional(left: Option<&Bitmap>, right: Option<&Bitmap>) -> Option<Bitmap> {
        match (left, right) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (Some(left), Some(right)) => Some(left.and(right)),
        }
    }

    /// Bits `offset .. offset + len`; shared when `offset` is a multiple of 64.
    pub fn slice(&self, offset: usize, len: usize) -> Bitmap {
        assert!(offset + len <= self.len, "slice outside of bitmap");
        if offset.is_multiple_of(64) {
            return Self { words: self.words.slice(offset / 8, len.div_ceil(64) * 8), len };
        }
        let source = self.words();
        let (first, shift) = (offset / 64, offset % 64);
        let word = |i: usize| source.get(first + i).copied().unwrap_or(0);
        let words = (0..len.div_ceil(64)).map(|i| word(i) >> shift | word(i + 1) << (64 - shift)).collect();
        Self::from_words(words, len)
    }

    /// The bits at `rows`, which are below the length.
    pub fn gather(&self, rows: &[u32]) -> Bitmap {
        let words = self.words();
        let one = |row: u32| words[row as usize / 64] >> (row % 64) & 1;
        let mut gathered = Vec::with_capacity(rows.len().div_ceil(64));
        for rows in rows.chunks(64) {
            // Eight at a time, with shifts that are constants.
            let (eights, rest) = rows.as_chunks::<8>();
            let mut word = 0;
            for (index, [a, b, c, d, e, f, g, h]) in eights.iter().enumerate() {
                let low = one(*a) | one(*b) << 1 | one(*c) << 2 | one(*d) << 3;
                let high = one(*e) | one(*f) << 1 | one(*g) << 2 | one(*h) << 3;
                word |= (low | high << 4) << (index * 8);
            }
            for (bit, &row) in rest.iter().enumerate() {
                word |= one(row) << (eights.len() * 8 + bit);
            }
            gathered.push(word);
        }
        Self::from_words(gathered, rows.len())
    }
}

/// Ors `len` bits, given by the word, into clear bits of `words` from bit `at` on.
pub fn append_words(words: &mut [u64], at: usize, len: usize, source: impl Fn(usize) -> u64) {
    let shift = at % 64;
    for index in 0..len.div_ceil(64) {
        let left = len - index * 64;
        let word = if left < 64 { source(index) & ((1 << left) - 1) } else { source(index) };
        let place = at / 64 + index;
        words[place] |= word << shift;
        if shift > 0 && word >> (64 - shift) != 0 {
            words[place + 1] |= word >> (64 - shift);
        }
    }
}
