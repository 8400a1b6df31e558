//! Implicit conversions: which type two expressions meet in, and how an expression gets there.
//!
//! A literal as written has no type of its own yet: a string takes the other side's type, a number any
//! type that holds it exactly. That keeps columns free of casts, so that scans can filter on what is stored.

use super::slots::Slots;
use super::{Binder, Bound, Output};
use crate::parser::ast::Pos;
use crate::plan::{ColumnId, CompareOp, Expr, Place, Plan};
use inlay_kernels::cast::{
    bytea, bytea_of_text, can_cast, cast_in_zone, cast_value_in_zone, implied, implied_value_in_zone,
    whole_numbers,
};
use inlay_kernels::common_type;
use inlay_kernels::parse::fraction_digits;
use inlay_kernels::resolve::ArgType;
use inlay_types::candidates::Candidates;
use inlay_types::logical_type::DECIMAL_MAX_DIGITS;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// What the function registry wants to know of an argument.
pub(super) fn arg_type(expr: &Expr) -> ArgType {
    match expr {
        // A column of NULL's type is as untyped as a NULL that is written there.
        Expr::Column { ty: LogicalType::Null, .. } => ArgType::literal(&Value::Null),
        Expr::Literal { value: Value::Null, ty } if *ty != LogicalType::Null => ArgType::of(ty.clone()),
        Expr::Literal { value, .. } => ArgType::literal(value),
        other => ArgType::of(other.ty()),
    }
}

fn literal(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Literal { value, .. } => Some(value),
        _ => None,
    }
}

fn is_string_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { value: Value::Varchar(_), .. })
}

/// `value` as the same quantity of type `ty`, if `ty` holds it without loss.
pub(super) fn exact(value: &Value, ty: &LogicalType) -> Option<Value> {
    if value.logical_type() == *ty {
        return Some(value.clone());
    }
    match (value, ty.clone()) {
        (Value::Date(days), LogicalType::Timestamp) => {
            inlay_types::datetime::midnight(*days).map(Value::Timestamp)
        }
        (Value::Timestamp(micros), LogicalType::Date) if micros % MICROS_PER_DAY == 0 => {
            i32::try_from(micros / MICROS_PER_DAY).ok().map(Value::Date)
        }
        (Value::Double(number), LogicalType::Real) if f64::from(*number as f32) == *number => {
            Some(Value::Real(*number as f32))
        }
        (Value::Real(number), LogicalType::Double) => Some(Value::Double(f64::from(*number))),
        (Value::Decimal { unscaled, scale, .. }, _) => exact_number(*unscaled, *scale, ty.clone()),
        _ => exact_number(value.as_i128()?, 0, ty.clone()),
    }
}

/// `unscaled / 10^scale` as a value of `ty`.
fn exact_number(unscaled: i128, scale: u8, ty: LogicalType) -> Option<Value> {
    match ty {
        // A DOUBLE holds all integers up to here.
        LogicalType::Double if scale == 0 && unscaled.unsigned_abs() <= 1 << 53 => {
            Some(Value::Double(unscaled as f64))
        }
        LogicalType::Double | LogicalType::Real => {
            let value = Value::Decimal { unscaled, precision: 38, scale };
            let text = value.to_string();
            let number = text.parse::<f64>().ok()?;
            Some(if ty == LogicalType::Double {
                Value::Double(number)
            } else {
                Value::Real(text.parse().ok()?)
            })
        }
        LogicalType::Decimal { precision, scale: wanted } => {
            let rescaled = rescale(unscaled, scale, wanted)?;
            let limit = 10i128.checked_pow(u32::from(precision))?;
            let fits = rescaled.unsigned_abs() < limit.unsigned_abs();
            fits.then_some(Value::Decimal { unscaled: rescaled, precision, scale: wanted })
        }
        LogicalType::UHugeInt => {
            rescale(unscaled, scale, 0).and_then(|n| u128::try_from(n).ok()).map(Value::UHugeInt)
        }
        _ if ty.is_integer() => Value::from_stored_i128(&ty, rescale(unscaled, scale, 0)?),
        _ => None,
    }
}

fn rescale(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        return unscaled.checked_mul(10i128.checked_pow(u32::from(to - from))?);
    }
    let divisor = 10i128.checked_pow(u32::from(from - to))?;
    (unscaled % divisor == 0).then_some(unscaled / divisor)
}

/// The type that values of two types meet in, NULL's included.
fn meet(left: LogicalType, right: LogicalType) -> Option<LogicalType> {
    match (left.clone(), right.clone()) {
        _ if left == right => Some(left),
        (LogicalType::Null, other) | (other, LogicalType::Null) => Some(other),
        (LogicalType::Json, LogicalType::Varchar) | (LogicalType::Varchar, LogicalType::Json) => {
            Some(LogicalType::Varchar)
        }
        // Everything can be written as a document.
        (LogicalType::Json, _) | (_, LogicalType::Json) => Some(LogicalType::Json),
        // Everything can be shown as text.
        (LogicalType::Varchar, other) | (other, LogicalType::Varchar) if other != LogicalType::Blob => {
            Some(LogicalType::Varchar)
        }
        _ => common_type(&left, &right),
    }
}

/// A column of NULL's type as the NULL that it is in all rows: what calls it needs no row.
pub(super) fn without_null_columns(expr: Expr) -> Expr {
    match expr {
        Expr::Column { ty: LogicalType::Null, id } if !Slots::is_slot(id) => Expr::literal(Value::Null),
        other => other,
    }
}

/// The type of a column that is kept or handed out: nothing has NULL's type there.
pub(super) fn concrete(ty: LogicalType) -> LogicalType {
    if ty == LogicalType::Null { LogicalType::Integer } else { ty }
}

impl Binder<'_> {
    /// `bound` as it leaves the engine: its columns of NULL's type are of INTEGER.
    pub(super) fn with_concrete_types(&mut self, bound: Bound) -> Bound {
        let Bound { plan, mut output } = bound;
        let untyped = |column: &Output| self.columns.ty(column.id) == LogicalType::Null;
        if !output.iter().any(untyped) {
            return Bound { plan, output };
        }
        let mut items: Vec<(ColumnId, Expr)> = Vec::with_capacity(output.len());
        for column in &mut output {
            let own = self.column(column.id);
            let item = if own.ty() == LogicalType::Null {
                column.id = self.columns.add(column.name.clone(), LogicalType::Integer);
                // No literal: what makes the column may be a call of error().
                (
                    column.id,
                    Expr::Cast {
                        input: Box::new(own),
                        ty: LogicalType::Integer,
                        or_null: false,
                        place: Place::default(),
                    },
                )
            } else {
                (column.id, own)
            };
            if !items.iter().any(|(known, _)| *known == item.0) {
                items.push(item);
            }
        }
        Bound { plan: Plan::Project { input: Box::new(plan), items }, output }
    }

    /// `expr` as a value of `ty`. A literal is converted now, so that a mistake is found with its place.
    pub(super) fn cast_to(&self, expr: Expr, ty: LogicalType, pos: Pos) -> Result<Expr> {
        if expr.ty() != ty
            && let Some(slot) = self.adapted_slot(&expr, &ty)?
        {
            return Ok(slot);
        }
        match expr {
            _ if expr.ty() == ty => Ok(expr),
            // Whatever is of NULL's type has no other value; but error() must be called to fail.
            _ if expr.ty() == LogicalType::Null && calls(&expr) => {
                Ok(Expr::Cast { input: Box::new(expr), ty, or_null: false, place: self.place(pos) })
            }
            _ if expr.ty() == LogicalType::Null => Ok(Expr::Literal { value: Value::Null, ty }),
            Expr::Literal { value: Value::Null, .. } => Ok(Expr::Literal { value: Value::Null, ty }),
            Expr::Literal { value, .. } => {
                if let Some(value) = exact(&value, &ty) {
                    return Ok(Expr::Literal { value, ty });
                }
                let value = self.placed(self.implied_literal(&value, &ty), pos)?;
                Ok(Expr::Literal { value, ty })
            }
            other => Ok(self.implied_cast(other, ty, pos)),
        }
    }

    /// Like [`Self::cast_to`], for a branch that perhaps no row reaches: a literal that cannot be converted fails there.
    pub(super) fn cast_where_reached(&self, expr: Expr, ty: LogicalType, pos: Pos) -> Result<Expr> {
        let fails = matches!(&expr, Expr::Literal { value, .. } if !value.is_null() && *value != Value::Null
            && exact(value, &ty).is_none() && self.implied_literal(value, &ty).is_err());
        if fails && expr.ty() != ty {
            return Ok(self.implied_cast(expr, ty, pos));
        }
        self.cast_to(expr, ty, pos)
    }

    /// The conversion of an expression where nobody wrote a CAST.
    fn implied_cast(&self, input: Expr, ty: LogicalType, pos: Pos) -> Expr {
        match implied(&input.ty(), &ty) {
            Some(function) => {
                Expr::Call { function: Arc::new(function), args: vec![input], place: self.place(pos) }
            }
            None => self.cast_of(self.unrounded(input, &ty, pos), ty, false, pos),
        }
    }

    /// An expression that fails at texts inside of its values which would be rounded on the way into a type.
    pub(super) fn unrounded(&self, input: Expr, ty: &LogicalType, pos: Pos) -> Expr {
        let place = self.place(pos);
        match whole_numbers(&input.ty(), ty) {
            Some(function) => Expr::Call { function: Arc::new(function), args: vec![input], place },
            None => input,
        }
    }

    /// The conversion of an expression, in the session's time zone where that matters.
    pub(super) fn cast_of(&self, input: Expr, ty: LogicalType, or_null: bool, pos: Pos) -> Expr {
        let place = self.place(pos);
        // Words of an ENUM that are numbers, say, become these by way of their texts.
        let input = match input.ty() {
            from @ LogicalType::Enum(_) if !can_cast(&from, &ty) && can_cast(&LogicalType::Varchar, &ty) => {
                self.cast_of(input, LogicalType::Varchar, false, pos)
            }
            _ => input,
        };
        if self.reads_bytea(&input.ty(), &ty) && !or_null {
            return Expr::Call { function: Arc::new(bytea_of_text()), args: vec![input], place };
        }
        match cast_in_zone(&input.ty(), &ty, or_null, &self.context.options.zone) {
            Some(function) => Expr::Call { function: Arc::new(function), args: vec![input], place },
            None => Expr::Cast { input: Box::new(input), ty, or_null, place },
        }
    }

    /// The conversion of a value, in the session's time zone where that matters.
    pub(super) fn cast_literal(&self, value: &Value, ty: &LogicalType) -> Result<Value> {
        if let (Value::Varchar(text), true) = (value, self.reads_bytea(&value.logical_type(), ty)) {
            return bytea(text).map(Value::Blob);
        }
        cast_value_in_zone(value, ty, &self.context.options.zone)
    }

    /// Whether a text becomes a BLOB as PostgreSQL's bytea does.
    pub(super) fn reads_bytea(&self, from: &LogicalType, to: &LogicalType) -> bool {
        self.context.options.bytea && *from == LogicalType::Varchar && *to == LogicalType::Blob
    }

    /// Like [`Self::cast_literal`], where nobody wrote a CAST.
    pub(super) fn implied_literal(&self, value: &Value, ty: &LogicalType) -> Result<Value> {
        if self.reads_bytea(&value.logical_type(), ty) {
            return self.cast_literal(value, ty);
        }
        implied_value_in_zone(value, ty, &self.context.options.zone)
    }

    /// A condition: BOOLEAN, or a number that counts as one.
    pub(super) fn boolean(&self, expr: Expr, pos: Pos, place: &str) -> Result<Expr> {
        let ty = expr.ty();
        let converts = ty == LogicalType::Null || ty.is_integer() || is_string_literal(&expr);
        if ty == LogicalType::Boolean {
            Ok(expr)
        } else if converts {
            self.cast_to(expr, LogicalType::Boolean, pos)
        } else {
            let message = format!("{place} needs a BOOLEAN, this is of type {ty}");
            Err(self.at(Error::type_mismatch(message), pos))
        }
    }

    /// A comparison, both sides brought to one type.
    pub(super) fn comparison(&self, op: CompareOp, left: Expr, right: Expr, pos: Pos) -> Result<Expr> {
        let (left, right) = self.collated_pair(left, right, pos)?;
        if self.is_sqlite()
            && let Some(compared) = self.sqlite_comparison(op, &left, &right, pos)?
        {
            return Ok(compared);
        }
        let (left_ty, right_ty) = (left.ty(), right.ty());
        let (left, right) = (finer_number(left, &right_ty), finer_number(right, &left_ty));
        let found = match (self.sample(&left), self.sample(&right)) {
            (None, None) => comparison_type(&left, &right),
            (left_sample, right_sample) => {
                let literal =
                    |sample: Option<Value>, own: &Expr| sample.map_or_else(|| own.clone(), Expr::literal);
                comparison_type(&literal(left_sample, &left), &literal(right_sample, &right))
            }
        };
        let found = found.map(|ty| self.unless_text(ty, op, &left, &right)).transpose();
        let Some(ty) = found.map_err(|error| self.at(error, pos))? else {
            let (left, right) = (left.ty(), right.ty());
            let message =
                format!("cannot compare {left} {} {right}: convert one side with CAST", op.symbol());
            return Err(self.at(Error::type_mismatch(message), pos));
        };
        let ty = if ty == LogicalType::Null { LogicalType::Integer } else { ty };
        Ok(Expr::compare(op, self.cast_to(left, ty.clone(), pos)?, self.cast_to(right, ty, pos)?))
    }

    /// An enum compares with a literal in the order of its words. One that is none of them equals none, and has no place among
    /// them; other texts are compared as texts.
    fn unless_text(&self, ty: LogicalType, op: CompareOp, left: &Expr, right: &Expr) -> Result<LogicalType> {
        use CompareOp::{Distinct, Eq, NotDistinct, NotEq};
        if !matches!(ty, LogicalType::Enum(_)) {
            return Ok(ty);
        }
        let is_text = |side: &Expr| side.ty() == LogicalType::Varchar;
        let text = if is_text(left) { left } else { right };
        if !is_text(text) {
            return Ok(ty);
        }
        let Some(value) = self.sample(text).or_else(|| literal(text).cloned()) else {
            return Ok(LogicalType::Varchar);
        };
        if self.cast_literal(&value, &ty).is_ok() {
            return Ok(ty);
        }
        if matches!(op, Eq | NotEq | Distinct | NotDistinct) {
            return Ok(LogicalType::Varchar);
        }
        let LogicalType::Enum(words) = &ty else { return Ok(ty) };
        let near = Candidates::of(&value.to_string(), words.values().iter().map(|word| &**word));
        let symbol = op.symbol();
        Err(Error::invalid_argument(format!(
            "'{value}' is no word of the ENUM, so {symbol} knows no place for it among them; cast the ENUM to VARCHAR to compare \
             texts{near}"
        )))
    }

    /// The type that all of `exprs` meet in; NULL's if nothing has a type.
    pub(super) fn common_type_of<'e>(
        &self,
        exprs: impl Iterator<Item = &'e Expr> + Clone,
        pos: Pos,
        place: &str,
    ) -> Result<LogicalType> {
        let mut ty = LogicalType::Null;
        // A NULL that was cast has the type of the cast.
        let is_open = |expr: &&'e Expr| literal(expr).is_some_and(|value| !value.is_null());
        for expr in exprs.clone().filter(|expr| !is_open(expr)) {
            ty = meet(ty.clone(), expr.ty()).ok_or_else(|| self.no_meeting(&ty, &expr.ty(), pos, place))?;
        }
        for value in exprs.filter_map(literal) {
            self.widen(&mut ty, value, pos, place)?;
        }
        Ok(ty)
    }

    /// Makes `ty`, in which values meet, one that holds a literal as well.
    pub(super) fn widen(&self, ty: &mut LogicalType, value: &Value, pos: Pos, place: &str) -> Result<()> {
        if let Some(number) = number_beyond(value, ty).filter(|_| place == "IN") {
            return self.widen(ty, &number, pos, place);
        }
        if !value.is_null() && value.logical_type() != *ty {
            let own = value.logical_type();
            // Beside documents a text stays what it is: it may be no document.
            let is_text = matches!(value, Value::Varchar(_)) && *ty != LogicalType::Json;
            let is_of_enum = matches!(ty, LogicalType::Enum(_))
                && !(place == "IN" && self.cast_literal(value, ty).is_ok());
            let adapts = is_text && *ty != LogicalType::Null && !is_of_enum;
            if *ty == LogicalType::Null {
                *ty = own;
            } else if !adapts && (widens(&own, ty, place) || exact(value, ty).is_none()) {
                *ty = meet(ty.clone(), own.clone()).ok_or_else(|| self.no_meeting(ty, &own, pos, place))?;
            }
        }
        Ok(())
    }

    fn no_meeting(&self, left: &LogicalType, right: &LogicalType, pos: Pos, place: &str) -> Error {
        let message = format!("{place} mixes the types {left} and {right}: convert one with CAST");
        self.at(Error::type_mismatch(message), pos)
    }
}

/// The number that a text is which numbers of a DECIMAL would have to be rounded for: it is compared as if it had no quotes.
pub(super) fn number_beyond(value: &Value, ty: &LogicalType) -> Option<Value> {
    match (value, ty) {
        (Value::Varchar(text), LogicalType::Decimal { scale, .. }) => {
            let is_finer = fraction_digits(text.as_bytes()) > usize::from(*scale);
            super::expr::number(text.trim()).ok().filter(|_| is_finer)
        }
        _ => None,
    }
}

fn finer_number(expr: Expr, ty: &LogicalType) -> Expr {
    match literal(&expr).and_then(|value| number_beyond(value, ty)) {
        Some(number) => Expr::literal(number),
        None => expr,
    }
}

/// Decimals meet in the digits of both, as 1.5 and 0.00 in DECIMAL(3,2). Not for IN, which only compares: there the
/// column stays free of casts.
fn widens(own: &LogicalType, ty: &LogicalType, place: &str) -> bool {
    let is_decimal = |ty: &LogicalType| matches!(ty, LogicalType::Decimal { .. });
    place != "IN" && (is_decimal(own) || is_decimal(ty))
}

fn comparison_type(left: &Expr, right: &Expr) -> Option<LogicalType> {
    let (left_ty, right_ty) = (left.ty(), right.ty());
    if left_ty == right_ty || right_ty == LogicalType::Null {
        return Some(left_ty);
    }
    if left_ty == LogicalType::Null {
        return Some(right_ty);
    }
    // A document compares with a text as it is written; beside anything else it is read as that.
    match (&left_ty, &right_ty) {
        (LogicalType::Json, other) | (other, LogicalType::Json) => return Some(other.clone()),
        _ => {}
    }
    match (literal(left), literal(right)) {
        (None, Some(value))
            if !value.is_null() && (is_string_literal(right) || exact(value, &left_ty.clone()).is_some()) =>
        {
            return Some(left_ty);
        }
        (Some(value), None)
            if !value.is_null() && (is_string_literal(left) || exact(value, &right_ty.clone()).is_some()) =>
        {
            return Some(right_ty);
        }
        (Some(Value::Varchar(_)), Some(other)) if !other.is_null() => return Some(right_ty),
        (Some(other), Some(Value::Varchar(_))) if !other.is_null() => return Some(left_ty),
        _ => {}
    }
    match (left_ty.clone(), right_ty.clone()) {
        (LogicalType::Varchar, LogicalType::Enum(_)) | (LogicalType::Enum(_), LogicalType::Varchar) => {
            Some(LogicalType::Varchar)
        }
        // Text is read as the other side's type, as in DuckDB, whatever the other side is.
        (LogicalType::Varchar, other) | (other, LogicalType::Varchar) => Some(roomy(other)),
        _ => meet(left_ty, right_ty),
    }
}

/// A DECIMAL with room for numbers that have more digits, before the point and behind it: texts may be such.
fn roomy(ty: LogicalType) -> LogicalType {
    match ty {
        LogicalType::Decimal { precision, scale } => {
            let spare = DECIMAL_MAX_DIGITS.saturating_sub(precision) / 2;
            LogicalType::decimal(DECIMAL_MAX_DIGITS, scale + spare)
        }
        other => other,
    }
}

/// Whether a function is called, which may fail, even if its value can be nothing but NULL.
pub(super) fn calls(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { .. }) || expr.children().into_iter().any(calls)
}
