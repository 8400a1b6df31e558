//! How numbers lie in pages, and what they become.

use super::Damage;
use inlay_types::Native;
use std::marker::PhantomData;

const TOO_LARGE: Damage = Damage("a number that its column's type does not hold");

/// Numbers of a fixed width.
pub(super) trait Number: Copy {
    /// What they become.
    type Out: Native;
    /// Bytes of a number in a page.
    fn width(&self) -> usize;
    /// Decodes `out.len()` numbers, which are all of `bytes`.
    fn decode(&self, bytes: &[u8], out: &mut [Self::Out]) -> Result<(), Damage>;
    /// A number that was written as a difference.
    fn of_integer(&self, value: i64) -> Result<Self::Out, Damage>;
}

/// Signed integers of 32 bits.
pub(super) struct Int32<T>(PhantomData<T>);
/// Signed integers of 64 bits.
pub(super) struct Int64<T>(PhantomData<T>);
/// Unsigned integers of 32 bits.
pub(super) struct Unsigned32<T>(PhantomData<T>);
/// Unsigned integers of 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Unsigned64;
/// IEEE 754 binary32.
#[derive(Clone, Copy)]
pub(super) struct Float32;
/// IEEE 754 binary64.
#[derive(Clone, Copy)]
pub(super) struct Float64;
/// Signed integers of up to 16 bytes, the highest first.
pub(super) struct BigEndian<T> {
    width: usize,
    out: PhantomData<T>,
}

macro_rules! integers {
    ($name:ident, $read:ty) => {
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}

        impl<T> $name<T> {
            pub fn new() -> Self {
                Self(PhantomData)
            }
        }

        impl<T: Native + TryFrom<$read>> Number for $name<T> {
            type Out = T;

            fn width(&self) -> usize {
                size_of::<$read>()
            }

            fn decode(&self, bytes: &[u8], out: &mut [T]) -> Result<(), Damage> {
                let mut fits = true;
                let (raw, _) = bytes.as_chunks::<{ size_of::<$read>() }>();
                for (out, raw) in out.iter_mut().zip(raw) {
                    match T::try_from(<$read>::from_le_bytes(*raw)) {
                        Ok(value) => *out = value,
                        Err(_) => fits = false,
                    }
                }
                if fits { Ok(()) } else { Err(TOO_LARGE) }
            }

            fn of_integer(&self, value: i64) -> Result<T, Damage> {
                // Differences are counted modulo the width.
                T::try_from(value as $read).map_err(|_| TOO_LARGE)
            }
        }
    };
}

integers!(Int32, i32);
integers!(Int64, i64);
integers!(Unsigned32, u32);

macro_rules! as_they_are {
    ($name:ident, $out:ty, $of_integer:expr) => {
        impl Number for $name {
            type Out = $out;

            fn width(&self) -> usize {
                size_of::<$out>()
            }

            fn decode(&self, bytes: &[u8], out: &mut [$out]) -> Result<(), Damage> {
                let (raw, _) = bytes.as_chunks::<{ size_of::<$out>() }>();
                for (out, raw) in out.iter_mut().zip(raw) {
                    *out = <$out>::from_le_bytes(*raw);
                }
                Ok(())
            }

            fn of_integer(&self, value: i64) -> Result<$out, Damage> {
                let convert: fn(i64) -> Result<$out, Damage> = $of_integer;
                convert(value)
            }
        }
    };
}

as_they_are!(Unsigned64, u64, |value| Ok(value as u64));
as_they_are!(Float32, f32, |_| Err(Damage("differences of floats")));
as_they_are!(Float64, f64, |_| Err(Damage("differences of floats")));

impl<T> Clone for BigEndian<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for BigEndian<T> {}

impl<T> BigEndian<T> {
    /// Integers of `width` bytes, 1 to 16.
    pub fn new(width: usize) -> Self {
        Self { width, out: PhantomData }
    }
}

impl<T: Native + TryFrom<i64> + TryFrom<i128>> Number for BigEndian<T> {
    type Out = T;

    fn width(&self) -> usize {
        self.width
    }

    fn decode(&self, bytes: &[u8], out: &mut [T]) -> Result<(), Damage> {
        let width = self.width;
        let mut fits = true;
        if width > 8 {
            for (out, raw) in out.iter_mut().zip(bytes.chunks_exact(width)) {
                match T::try_from(wide(raw)) {
                    Ok(value) => *out = value,
                    Err(_) => fits = false,
                }
            }
            return if fits { Ok(()) } else { Err(TOO_LARGE) };
        }
        // Eight bytes are read at once, those behind the number are shifted out; the last numbers have none behind them.
        let shift = 64 - 8 * width as u32;
        let safe = out.len().min(bytes.len().saturating_sub(8 - width) / width.max(1));
        let (fast, slow) = out.split_at_mut(safe);
        for (index, out) in fast.iter_mut().enumerate() {
            let raw = bytes[index * width..].first_chunk::<8>().copied().unwrap_or_default();
            match T::try_from(i64::from_be_bytes(raw) >> shift) {
                Ok(value) => *out = value,
                Err(_) => fits = false,
            }
        }
        for (out, raw) in slow.iter_mut().zip(bytes[safe * width..].chunks_exact(width)) {
            match T::try_from(wide(raw)) {
                Ok(value) => *out = value,
                Err(_) => fits = false,
            }
        }
        if fits { Ok(()) } else { Err(TOO_LARGE) }
    }

    fn of_integer(&self, _value: i64) -> Result<T, Damage> {
        Err(Damage("differences of decimals"))
    }
}

/// A number of up to 16 bytes.
fn wide(raw: &[u8]) -> i128 {
    let sign = if raw.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
    raw.iter().fold(sign, |value: i128, &byte| value << 8 | i128::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_every_width_come_out() {
        for width in 1..=16usize {
            let limit: i128 = if width == 16 { i128::MAX } else { (1 << (8 * width - 1)) - 1 };
            let numbers = [0, 1, -1, limit, -limit - 1, 7, -8];
            let bytes: Vec<u8> =
                numbers.iter().flat_map(|n| n.to_be_bytes()[16 - width..].to_vec()).collect();
            for count in 0..=numbers.len() {
                let mut out = vec![0i128; count];
                BigEndian::new(width).decode(&bytes[..count * width], &mut out).unwrap();
                assert_eq!(out, numbers[..count], "{width} bytes");
            }
            if width <= 8 {
                let mut out = [0i64; 7];
                BigEndian::new(width).decode(&bytes, &mut out).unwrap();
                assert_eq!(out.map(i128::from), numbers);
            }
        }
        assert!(BigEndian::<i16>::new(4).decode(&[0, 1, 0, 0], &mut [0]).is_err());
        assert!(Int32::<i8>::new().decode(&300i32.to_le_bytes(), &mut [0]).is_err());
    }
}
