//! Conversions. Spark's ANSI casts fail where ours do for whole numbers and decimals; the others have forms of their own, and texts are
//! converted only in the spellings that every engine reads alike: another one ends the query with a message.

use super::Writer;
use super::carrier::carrier;
use super::literal::failure;
use inlay_sql::plan::{Expr, Place};
use inlay_types::LogicalType as T;

/// Least and greatest value of an unsigned type.
pub(crate) fn unsigned_max(ty: &T) -> Option<u64> {
    match ty {
        T::UTinyInt => Some(u64::from(u8::MAX)),
        T::USmallInt => Some(u64::from(u16::MAX)),
        T::UInteger => Some(u64::from(u32::MAX)),
        T::UBigInt => Some(u64::MAX),
        _ => None,
    }
}

pub(crate) fn is_whole(ty: &T) -> bool {
    matches!(ty, T::TinyInt | T::SmallInt | T::Integer | T::BigInt | T::HugeInt) || unsigned_max(ty).is_some()
}

fn is_float(ty: &T) -> bool {
    matches!(ty, T::Real | T::Double)
}

/// `x` rounded to a whole number, ties to the even one. Spark's own function for it differs between engines.
pub(crate) fn to_even(x: &str) -> String {
    format!("CASE WHEN abs({x} % 1.0D) = 0.5D THEN 2.0D * round({x} / 2.0D) ELSE round({x}) END")
}

impl Writer<'_> {
    pub(crate) fn cast(&mut self, input: &Expr, ty: &T, or_null: bool, place: Place) -> String {
        let from = input.ty();
        let text = self.expr(input);
        let spark = self.type_text(ty, place);
        if from == T::Null || from == *ty {
            return format!("CAST({text} AS {spark})");
        }
        if or_null {
            return self.refuse(format!("TRY_CAST of {from} as {ty}"), place);
        }
        self.converted(&text, &from, ty, place)
    }

    /// A text of one type as another.
    pub(crate) fn converted(&mut self, text: &str, from: &T, to: &T, place: Place) -> String {
        let spark = self.type_text(to, place);
        let plain = format!("CAST({text} AS {spark})");
        match (from, to) {
            (from, to) if from == to => text.to_string(),
            (from, to) if is_whole(from) && is_whole(to) => self.ranged(text, to, place),
            (T::Boolean, to) if is_whole(to) => format!("CAST(CAST({text} AS INT) AS {spark})"),
            (from, T::Boolean) if is_whole(from) => format!("({text} <> 0)"),
            (from, T::Real | T::Double) if is_whole(from) || is_float(from) => plain,
            (T::Decimal { .. }, T::Real | T::Double) => plain,
            (from, T::Decimal { .. }) if is_whole(from) => plain,
            (T::Decimal { .. }, T::Decimal { .. }) => plain,
            (T::Decimal { .. }, to) if is_whole(to) => self.ranged(&format!("round({text}, 0)"), to, place),
            (T::Real | T::Double, to) if is_whole(to) => {
                let x = format!("CAST({text} AS DOUBLE)");
                self.ranged(&to_even(&x), to, place)
            }
            (from, T::Varchar) if is_whole(from) => plain,
            (T::Boolean | T::Decimal { .. } | T::Date | T::Timestamp | T::Uuid, T::Varchar) => plain,
            (T::Date, T::Timestamp) | (T::Timestamp, T::Date) => plain,
            (T::TimestampS | T::TimestampMs, T::Timestamp) => text.to_string(),
            (T::Date, T::TimestampS | T::TimestampMs) => plain,
            (T::Varchar, to) if is_whole(to) => {
                let read = guarded(text, "^[+-]?[0-9]{1,18}\\z", to);
                self.ranged(&format!("CAST({read} AS BIGINT)"), to, place)
            }
            (T::Varchar, T::Double | T::Real) => {
                let read = guarded(text, "^[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]{1,3})?\\z", to);
                format!("CAST({read} AS {spark})")
            }
            (T::Varchar, T::Decimal { .. }) => {
                format!("CAST({} AS {spark})", guarded(text, "^[+-]?[0-9]{1,18}([.][0-9]{1,18})?\\z", to))
            }
            (T::Varchar, T::Date) => {
                format!("CAST({} AS {spark})", guarded(text, "^[0-9]{4}-[0-9]{2}-[0-9]{2}\\z", to))
            }
            (T::Varchar, T::Timestamp) => {
                let pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?)?\\z";
                format!("CAST({} AS {spark})", guarded(text, pattern, to))
            }
            (T::List(one) | T::Array(one, _), T::List(other)) => {
                if carrier(one) == carrier(other) {
                    return text.to_string();
                }
                let element = self.converted("e", one, other, place);
                format!("CAST(transform({text}, e -> {element}) AS {spark})")
            }
            (T::Real | T::Double, T::Varchar) => {
                self.refuse(format!("the text of a {from}, which each engine writes in another way"), place)
            }
            (from, to) => self.refuse(format!("CAST of {from} as {to}"), place),
        }
    }

    /// A whole number as a type of whole numbers; one that has no place there is an error.
    pub(crate) fn ranged(&mut self, text: &str, ty: &T, place: Place) -> String {
        let spark = self.type_text(ty, place);
        match unsigned_max(ty) {
            None => format!("CAST({text} AS {spark})"),
            Some(max) => {
                let fails = failure(&format!("a number is out of range for the type {ty}"), text, &spark);
                let limit = format!("CAST('{max}' AS DECIMAL(20,0))");
                format!(
                    "CASE WHEN ({text}) < 0 OR ({text}) > {limit} THEN {fails} ELSE CAST({text} AS {spark}) END"
                )
            }
        }
    }
}

/// A text, or a failure where it is spelled in a way that engines may read differently.
fn guarded(text: &str, pattern: &str, to: &T) -> String {
    let fails = failure(&format!("a text is not spelled as every engine reads it as {to}"), text, "STRING");
    let pattern = super::literal::text(pattern);
    format!("CASE WHEN NOT ({text} RLIKE {pattern}) THEN {fails} ELSE {text} END")
}
