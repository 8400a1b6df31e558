//! Which types convert to which without being asked, and the type two values meet in. DuckDB's lattice.
//!
//! Integers widen (a signed and an unsigned one meet in the next wider signed type), integers become decimals wide
//! enough, decimals become floats, dates become timestamps. Text never converts without being asked; that a string
//! *literal* takes the other side's type is the caller's affair ([`common_argument_type`]).

use crate::resolve::ArgType;
use inlay_types::LogicalType::{
    Array, BigInt, Boolean, Date, Decimal, Double, Enum, HugeInt, Integer, Json, List, Map, Null, Real,
    SmallInt, Struct, Time, TimeTz, Timestamp, TimestampMs, TimestampNs, TimestampS, TimestampTz, TinyInt,
    UBigInt, UHugeInt, UInteger, USmallInt, UTinyInt, Union, Varchar,
};
use inlay_types::logical_type::DECIMAL_MAX_DIGITS;
use inlay_types::{Field, LogicalType};

/// The type in which values of `a` and `b` meet (in CASE, UNION, comparisons), or `None`.
pub fn common_type(a: &LogicalType, b: &LogicalType) -> Option<LogicalType> {
    if a == b {
        return Some(a.clone());
    }
    match (a, b) {
        (Null, other) | (other, Null) => Some(other.clone()),
        _ if moment_rank(a).is_some() && moment_rank(b).is_some() => {
            Some(if moment_rank(a) > moment_rank(b) { a.clone() } else { b.clone() })
        }
        (Array(x, n), Array(y, m)) if n == m => Some(LogicalType::array(common_type(x, y)?, *n)),
        (List(x) | Array(x, _), List(y) | Array(y, _)) => Some(LogicalType::list(common_type(x, y)?)),
        (Map(x), Map(y)) => Some(LogicalType::map(common_type(&x.0, &y.0)?, common_type(&x.1, &y.1)?)),
        (Struct(x), Struct(y)) => common_struct(x, y),
        (Union(x), Union(y)) => common_union(x, y).or_else(|| common_union(y, x)),
        (union @ Union(_), other) | (other, union @ Union(_)) => {
            can_cast_implicitly(other, union).then(|| union.clone())
        }
        (Enum(_), Enum(_) | Varchar) | (Varchar, Enum(_)) => Some(Varchar),
        (Json, Varchar) | (Varchar, Json) => Some(Varchar),
        (Decimal { precision: p1, scale: s1 }, Decimal { precision: p2, scale: s2 }) => {
            let scale = *s1.max(s2);
            let digits = (p1 - s1).max(p2 - s2);
            Some(LogicalType::decimal((digits + scale).min(DECIMAL_MAX_DIGITS), scale))
        }
        (Double, other) | (other, Double) if other.is_numeric() => Some(Double),
        (Real, other) | (other, Real) if other.is_numeric() => Some(Real),
        (decimal @ Decimal { .. }, other) | (other, decimal @ Decimal { .. }) => {
            common_type(decimal, &other.integer_as_decimal()?)
        }
        _ if a.is_integer() && b.is_integer() => Some(common_integer(a, b)),
        // DuckDB compares truth values with numbers as numbers.
        (Boolean, other) | (other, Boolean) if other.is_numeric() => Some(other.clone()),
        _ => None,
    }
}

/// Whether a value of `from` becomes one of `to` without a CAST.
pub fn can_cast_implicitly(from: &LogicalType, to: &LogicalType) -> bool {
    implicit_cost(from, to).is_some()
}

/// The type in which two arguments meet, where literals adapt: a string or NULL literal takes the other side's type, an
/// integer literal a narrower integer type that holds it.
pub fn common_argument_type(a: &ArgType, b: &ArgType) -> Option<LogicalType> {
    common_type(&a.adapted_to(&b.ty), &b.adapted_to(&a.ty))
}

/// The same where a value of either comes out: an enum and a text, though it be a literal, meet in text.
pub fn common_choice_type(a: &ArgType, b: &ArgType) -> Option<LogicalType> {
    match (&a.ty, &b.ty) {
        (Enum(_), Varchar) | (Varchar, Enum(_)) => Some(Varchar),
        _ => common_argument_type(a, b),
    }
}

/// How far `to` is from `from` for overload resolution: 0 for the same type. `None`: no implicit cast.
pub fn implicit_cost(from: &LogicalType, to: &LogicalType) -> Option<u32> {
    if from == to {
        return Some(0);
    }
    if *from == Null {
        return Some(1);
    }
    if let (Some(own), Some(other)) = (moment_rank(from), moment_rank(to)) {
        return moment_cost(from, to, own, other);
    }
    let same_family = match (from, to) {
        (Time, TimeTz) => return Some(2),
        (Enum(_) | Json, Varchar) => true,
        (List(x) | Array(x, _), List(y)) => return implicit_cost(x, y),
        (Array(x, n), Array(y, m)) if n == m => return implicit_cost(x, y),
        (Map(x), Map(y)) => {
            return Some(implicit_cost(&x.0, &y.0)? + implicit_cost(&x.1, &y.1)?);
        }
        // Every field of the source is one of the target's.
        (Struct(x), Struct(y)) => return common_struct(y, x).filter(|common| common == to).map(|_| 1),
        (Union(x), Union(y)) => return common_union(y, x).filter(|common| common == to).map(|_| 1),
        // A value becomes the member that it is nearest to.
        (from, Union(members)) => return nearest_member(from, members).map(|(_, cost)| cost + 1),
        (Decimal { precision: p1, scale: s1 }, Decimal { precision: p2, scale: s2 }) => {
            return (s2 >= s1 && p2 - s2 >= p1 - s1).then_some(1);
        }
        (from, Decimal { precision, scale }) => match from.integer_as_decimal() {
            Some(Decimal { precision: needed, .. }) => {
                precision - scale >= needed.min(DECIMAL_MAX_DIGITS - scale)
            }
            _ => false,
        },
        (from, Real | Double) => from.is_numeric() && *from != Double,
        _ if from.is_integer() && to.is_integer() => common_integer(from, to) == *to,
        _ => false,
    };
    same_family.then(|| rank(to).saturating_sub(rank(from)).max(1))
}

/// Dates and timestamps in the order in which they become one another.
fn moment_rank(ty: &LogicalType) -> Option<u32> {
    Some(match ty {
        Date => 0,
        TimestampS => 1,
        TimestampMs => 2,
        Timestamp => 3,
        TimestampNs => 4,
        TimestampTz => 5,
        _ => return None,
    })
}

/// Everything becomes a TIMESTAMP first; nanoseconds are not worth keeping where a function has no use for them.
fn moment_cost(from: &LogicalType, to: &LogicalType, own: u32, other: u32) -> Option<u32> {
    match (from, to) {
        (TimestampNs, Timestamp) => Some(1),
        (_, Timestamp) if own < other => Some(1),
        (_, TimestampTz) => Some(2),
        _ if own < other => Some(3 + other),
        _ => None,
    }
}

/// Widths of numeric types in the order in which overloads are preferred.
fn rank(ty: &LogicalType) -> u32 {
    match ty {
        TinyInt | UTinyInt => 1,
        SmallInt | USmallInt => 2,
        Integer | UInteger => 3,
        BigInt | UBigInt => 4,
        HugeInt | UHugeInt => 5,
        Decimal { .. } => 6,
        Real => 8,
        Double => 7,
        Varchar => 20,
        _ => 10,
    }
}

/// The struct in which two structs meet: the fields of both by name, those of the first in front; rows without names meet
/// by position.
fn common_struct(a: &[Field], b: &[Field]) -> Option<LogicalType> {
    let unnamed = |fields: &[Field]| fields.iter().all(|field| field.name.is_empty());
    if unnamed(a) || unnamed(b) {
        let field = |(x, y): (&Field, &Field)| {
            let name = if x.name.is_empty() { &y.name } else { &x.name };
            Some(Field::new(name.clone(), common_type(&x.ty, &y.ty)?))
        };
        let fields = || a.iter().zip(b).map(field).collect::<Option<_>>();
        return if a.len() == b.len() { Some(Struct(fields()?)) } else { None };
    }
    let named =
        |fields: &[Field], name: &str| fields.iter().position(|field| field.name.eq_ignore_ascii_case(name));
    let mut fields = Vec::with_capacity(a.len());
    for x in a {
        let ty = match named(b, &x.name) {
            Some(at) => common_type(&x.ty, &b[at].ty)?,
            None => x.ty.clone(),
        };
        fields.push(Field::new(x.name.clone(), ty));
    }
    fields.extend(b.iter().filter(|y| named(a, &y.name).is_none()).cloned());
    Some(Struct(fields.into()))
}

/// `wide` with members that hold those of `narrow` as well, which are all found in it by name.
fn common_union(wide: &[Field], narrow: &[Field]) -> Option<LogicalType> {
    let named = |name: &str| narrow.iter().find(|member| member.name.eq_ignore_ascii_case(name));
    let members = wide.iter().map(|member| {
        let ty = match named(&member.name) {
            Some(other) => common_type(&member.ty, &other.ty)?,
            None => member.ty.clone(),
        };
        Some(Field::new(member.name.clone(), ty))
    });
    let members = members.collect::<Option<Vec<Field>>>()?;
    let is_known = |member: &Field| wide.iter().any(|known| known.name.eq_ignore_ascii_case(&member.name));
    narrow.iter().all(is_known).then(|| Union(members.into()))
}

/// The member of a union that a value becomes without a CAST, and what that costs.
pub fn nearest_member(from: &LogicalType, members: &[Field]) -> Option<(usize, u32)> {
    let costs =
        members.iter().enumerate().filter_map(|(at, member)| Some((at, implicit_cost(from, &member.ty)?)));
    costs.min_by_key(|(_, cost)| *cost)
}

/// Width in bytes and whether signed.
fn shape(ty: &LogicalType) -> (usize, bool) {
    (ty.physical().size(), matches!(ty, TinyInt | SmallInt | Integer | BigInt | HugeInt))
}

/// Both are integers.
fn common_integer(a: &LogicalType, b: &LogicalType) -> LogicalType {
    let ((a_size, a_signed), (b_size, b_signed)) = (shape(a), shape(b));
    if a_signed == b_signed {
        return if a_size >= b_size { a.clone() } else { b.clone() };
    }
    let (signed, unsigned) = if a_signed { (a_size, b_size) } else { (b_size, a_size) };
    match signed.max(unsigned * 2) {
        2 => SmallInt,
        4 => Integer,
        8 => BigInt,
        16 => HugeInt,
        _ => Double,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_meet_where_duckdb_says() {
        let cases = [
            (TinyInt, BigInt, Some(BigInt)),
            (UTinyInt, TinyInt, Some(SmallInt)),
            (UBigInt, Integer, Some(HugeInt)),
            (UHugeInt, BigInt, Some(Double)),
            (UBigInt, HugeInt, Some(HugeInt)),
            (Integer, LogicalType::decimal(15, 2), Some(LogicalType::decimal(15, 2))),
            (BigInt, LogicalType::decimal(15, 2), Some(LogicalType::decimal(21, 2))),
            (HugeInt, LogicalType::decimal(15, 2), Some(LogicalType::decimal(38, 2))),
            (LogicalType::decimal(15, 2), Real, Some(Real)),
            (Integer, Double, Some(Double)),
            (Date, Timestamp, Some(Timestamp)),
            (Null, Varchar, Some(Varchar)),
            (Integer, Varchar, None),
            (Date, Integer, None),
        ];
        for (a, b, expected) in cases {
            assert_eq!(common_type(&a, &b), expected, "{a} and {b}");
            assert_eq!(common_type(&b, &a), expected, "{b} and {a}");
        }
        assert!(can_cast_implicitly(&Integer, &BigInt) && !can_cast_implicitly(&BigInt, &Integer));
        assert!(can_cast_implicitly(&UInteger, &BigInt) && !can_cast_implicitly(&Integer, &UInteger));
        assert!(can_cast_implicitly(&Null, &Varchar) && !can_cast_implicitly(&Integer, &Varchar));
    }
}
