//! Numbers in paths: whole and decimal ones exactly as long as their digits fit, others as doubles.

use inlay_kernels::json::value::Json;
use std::cmp::Ordering;

/// A number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// Digits, and how many of them are behind the point.
    Exact(i128, u32),
    Real(f64),
}

/// Longest text of a double that is read digit by digit.
const DIGITS_MAX: usize = 30;

impl Number {
    pub(super) fn of(json: &Json<'_>) -> Option<Self> {
        match json {
            Json::Unsigned(value) => Some(Self::Exact(i128::from(*value), 0)),
            Json::Negative(value) => Some(Self::Exact(i128::from(*value), 0)),
            Json::Real(value) => Some(Self::of_real(*value)),
            Json::Digits(digits) => Some(Self::of_digits(digits)),
            Json::Null | Json::Bool(_) | Json::Text(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// Digits that are too many for a double; exact where they fit and have no exponent.
    fn of_digits(digits: &str) -> Self {
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        match (format!("{whole}{fraction}").parse(), u32::try_from(fraction.len())) {
            (Ok(digits), Ok(scale)) => Self::Exact(digits, scale),
            _ => Self::Real(digits.parse().unwrap_or(f64::NAN)),
        }
    }

    fn of_real(value: f64) -> Self {
        let text = format!("{value}");
        if !value.is_finite() || text.len() > DIGITS_MAX {
            return Self::Real(value);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        match format!("{whole}{fraction}").parse() {
            Ok(digits) => Self::Exact(digits, fraction.len() as u32),
            Err(_) => Self::Real(value),
        }
    }

    pub(super) fn real(self) -> f64 {
        match self {
            Self::Exact(digits, 0) => digits as f64,
            // As a text is read, so that it is the nearest double.
            Self::Exact(digits, scale) => format!("{digits}e-{scale}").parse().unwrap_or(f64::NAN),
            Self::Real(value) => value,
        }
    }

    pub(super) fn json(self) -> Json<'static> {
        match self {
            Self::Exact(digits, 0) => match (u64::try_from(digits), i64::try_from(digits)) {
                (Ok(value), _) => Json::Unsigned(value),
                (_, Ok(value)) => Json::Negative(value),
                _ => Json::Real(digits as f64),
            },
            other => Json::Real(other.real()),
        }
    }

    /// A double, or the whole number that it is.
    pub(super) fn whole_or_real(value: f64) -> Self {
        const EXACT_MAX: f64 = 9e15;
        if value.fract() == 0.0 && value.abs() < EXACT_MAX {
            Self::Exact(value as i128, 0)
        } else {
            Self::Real(value)
        }
    }

    /// Both with as many digits behind the point.
    fn aligned(self, other: Self) -> Option<(i128, i128, u32)> {
        let (Self::Exact(a, a_scale), Self::Exact(b, b_scale)) = (self, other) else { return None };
        let scale = a_scale.max(b_scale);
        let scaled = |digits: i128, from: u32| digits.checked_mul(10i128.checked_pow(scale - from)?);
        Some((scaled(a, a_scale)?, scaled(b, b_scale)?, scale))
    }

    pub(super) fn add(self, other: Self) -> Self {
        let exact = self.aligned(other).and_then(|(a, b, scale)| Some(Self::Exact(a.checked_add(b)?, scale)));
        exact.unwrap_or_else(|| Self::Real(self.real() + other.real()))
    }

    pub(super) fn subtract(self, other: Self) -> Self {
        let exact = self.aligned(other).and_then(|(a, b, scale)| Some(Self::Exact(a.checked_sub(b)?, scale)));
        exact.unwrap_or_else(|| Self::Real(self.real() - other.real()))
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        let exact = match (self, other) {
            (Self::Exact(a, a_scale), Self::Exact(b, b_scale)) => {
                a.checked_mul(b).map(|digits| Self::Exact(digits, a_scale + b_scale))
            }
            _ => None,
        };
        exact.unwrap_or_else(|| Self::Real(self.real() * other.real()))
    }

    /// `None`: division by zero.
    pub(super) fn divide(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let whole = self.aligned(other).filter(|(a, b, _)| a % b == 0).map(|(a, b, _)| Self::Exact(a / b, 0));
        Some(whole.unwrap_or_else(|| Self::Real(self.real() / other.real())))
    }

    /// The rest of a division, with the sign of the dividend. `None`: division by zero.
    pub(super) fn remainder(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let exact = self.aligned(other).map(|(a, b, scale)| Self::Exact(a % b, scale));
        Some(exact.unwrap_or_else(|| Self::Real(self.real() % other.real())))
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Self::Exact(digits, scale) => Self::Exact(-digits, scale),
            Self::Real(value) => Self::Real(-value),
        }
    }

    pub(super) fn abs(self) -> Self {
        match self {
            Self::Exact(digits, scale) => Self::Exact(digits.abs(), scale),
            Self::Real(value) => Self::Real(value.abs()),
        }
    }

    pub(super) fn floor(self) -> Self {
        match self {
            Self::Exact(digits, scale) => Self::Exact(digits.div_euclid(10i128.pow(scale)), 0),
            Self::Real(value) => Self::whole_or_real(value.floor()),
        }
    }

    pub(super) fn ceiling(self) -> Self {
        self.negated().floor().negated()
    }

    /// The whole part.
    pub(super) fn truncated(self) -> f64 {
        match self {
            Self::Exact(digits, scale) => (digits / 10i128.pow(scale)) as f64,
            Self::Real(value) => value.trunc(),
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Exact(digits, _) => digits == 0,
            Self::Real(value) => value == 0.0,
        }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match self.aligned(other) {
            Some((a, b, _)) => a.cmp(&b),
            None => self.real().total_cmp(&other.real()),
        }
    }
}
