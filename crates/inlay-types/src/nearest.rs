//! The floating point number that is nearest to a decimal.

use std::fmt::Write;

/// Integers up to here, and powers of ten up to 10^22, are doubles: their quotient is rounded once.
const EXACT_MAX: u128 = 1 << 53;
const EXACT_DIGITS: u8 = 22;

/// Decimals of so many digits are below 2^53, whatever their scale.
pub const EXACT_PRECISION: u8 = 15;

/// The doubles nearest to the powers of ten that decimals are scaled by. How precise `powi` is, Rust does not say.
const POWERS_OF_TEN: [f64; 39] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35,
    1e36, 1e37, 1e38,
];

/// The double nearest to `10^exponent`, of an exponent up to 38, or infinity.
pub fn power_of_ten(exponent: u8) -> f64 {
    POWERS_OF_TEN.get(usize::from(exponent)).copied().unwrap_or(f64::INFINITY)
}

/// The double nearest to `unscaled / 10^scale`.
pub fn nearest_f64(unscaled: i128, scale: u8) -> f64 {
    if scale == 0 || unscaled.unsigned_abs() <= EXACT_MAX && scale <= EXACT_DIGITS {
        return unscaled as f64 / power_of_ten(scale);
    }
    // A quotient of rounded numbers may be off by one; the digits are read exactly.
    let double = unscaled as f64 / power_of_ten(scale);
    Digits::of(unscaled, scale).and_then(|digits| digits.text().parse().ok()).unwrap_or(double)
}

/// The single precision number nearest to `unscaled / 10^scale`: by way of a double it would be rounded twice.
pub fn nearest_f32(unscaled: i128, scale: u8) -> f32 {
    let single = nearest_f64(unscaled, scale) as f32;
    Digits::of(unscaled, scale).and_then(|digits| digits.text().parse().ok()).unwrap_or(single)
}

/// `unscaled` and `e-scale` as text, without memory of its own.
struct Digits {
    bytes: [u8; 48],
    len: usize,
}

impl Digits {
    fn of(unscaled: i128, scale: u8) -> Option<Self> {
        let mut digits = Self { bytes: [0; 48], len: 0 };
        write!(digits, "{unscaled}e-{scale}").ok()?;
        Some(digits)
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for Digits {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let place = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the digits with a point, read by the standard library.
    #[test]
    fn decimals_become_the_nearest_numbers() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state
        };
        for round in 0..20_000u32 {
            let digits = (u128::from(next()) << 64 | u128::from(next())) >> (1 + round % 100);
            let unscaled = (digits % 10u128.pow(38)) as i128 * if round % 2 == 0 { 1 } else { -1 };
            let scale = (next() % 39) as u8;
            let padded = format!("{:0>40}", unscaled.unsigned_abs());
            let (whole, fraction) = padded.split_at(40 - usize::from(scale));
            let text = format!("{}{whole}.{fraction}", if unscaled < 0 { "-" } else { "" });
            assert_eq!(nearest_f64(unscaled, scale), text.parse::<f64>().unwrap(), "{text}");
            assert_eq!(nearest_f32(unscaled, scale), text.parse::<f32>().unwrap(), "{text}");
        }
        assert_eq!(nearest_f64(i128::MIN, 38), -1.701_411_834_604_692_3);
    }
}
