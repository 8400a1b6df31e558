//! Compressed streams: what the values of a segment become on disk.
//!
//! ```text
//! integers  constant | packed | delta | runs (whose values and lengths are integer streams again)
//! floats    ALP (decimals as integers) | packed bits | zstd
//! bytes     plain | FSST | zstd
//! strings   lengths as integers, then the bytes
//! bits      constant | plain words | runs
//! ```
//! Every file has one shape: `compress` appends a stream to a [`ByteWriter`](crate::ByteWriter), after choosing among
//! its kinds by trial on a sample; `decompress` takes it from a [`ByteReader`](crate::ByteReader) and fills memory
//! that the caller has allocated, so that a stream never decides how much memory is used. A stream does not say how
//! many values it holds: who reads it knows.
//!
//! Invariant: `decompress` of any bytes whatsoever ends, with values or with [`Error::Corrupt`](inlay_types::Error),
//! in time proportional to the values asked for plus the bytes there are. It checks lengths, never values: who reads
//! a stream checks what its values mean.
//!
//! Called by `segment::image` alone.

pub(crate) mod bits;
pub(crate) mod bytes;
pub(crate) mod floats;
pub(crate) mod fsst;
pub(crate) mod integers;
pub(crate) mod packed;
pub(crate) mod strings;

use inlay_types::Native;

/// An unsigned word that integer streams are decompressed into. Wider numbers are cut, modulo its width.
pub(crate) trait Word: Native + Eq {
    fn cut(value: u64) -> Self;
    fn widen(self) -> u64;
    fn plus(self, other: Self) -> Self;
}

macro_rules! word {
    ($($t:ty),*) => { $(
        impl Word for $t {
            #[inline(always)]
            fn cut(value: u64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn widen(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )* };
}
word!(u8, u16, u32, u64);
