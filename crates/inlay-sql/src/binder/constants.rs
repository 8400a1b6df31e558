//! Many literals at once: long lists behind IN and the rows of VALUES that the parser handed over as [`Constants`].
//!
//! They are bound as if each were an expression of its own: the same types are found over them, one after the other, and
//! each is converted as [`Binder::cast_to`] does. But rows become vectors at once, which the plan reads as a source, what
//! stands behind IN one [`ConstantList`], and what stands in brackets one literal.

use super::coerce::{exact, number_beyond};
use super::{Binder, Bound, Output};
use crate::parser::ast::{self, Constants, ExprKind, Literal, Pos};
use crate::plan::{ConstantList, Expr, HeldRows};
use inlay_catalog::SourceColumn;
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::cast::implied_vector;
use inlay_kernels::resolve::ArgType;
use inlay_types::{Batch, LogicalType, Result, VECTOR_SIZE, Value, Vector, VectorBuilder};
use std::borrow::Cow;
use std::sync::Arc;

/// The rows of literals that rows of VALUES are.
pub(super) fn constant_rows(rows: &[Vec<ast::Expr>]) -> Option<&Constants> {
    match rows {
        [row] => match row.as_slice() {
            [ast::Expr { kind: ExprKind::Constants(constants), .. }] if constants.width() > 0 => {
                Some(constants)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The literals that a list consists of.
pub(super) fn constant_list(list: &[ast::Expr]) -> Option<&Constants> {
    match list {
        [ast::Expr { kind: ExprKind::Constants(constants), .. }] => Some(constants),
        _ => None,
    }
}

/// A list with a node for each literal.
pub(super) fn expanded(list: &[ast::Expr]) -> Cow<'_, [ast::Expr]> {
    if !list.iter().any(|item| matches!(item.kind, ExprKind::Constants(_))) {
        return Cow::Borrowed(list);
    }
    let mut items = Vec::with_capacity(list.len());
    for item in list {
        match &item.kind {
            ExprKind::Constants(constants) => items.extend(constants.exprs()),
            _ => items.push(item.clone()),
        }
    }
    Cow::Owned(items)
}

impl Binder<'_> {
    pub(super) fn constant_value(&self, constants: &Constants, index: usize) -> Result<Value> {
        // Most are one of these.
        if let Some(text) = constants.plain_string(index) {
            return Ok(Value::Varchar(text.into()));
        }
        if constants.is_number(index) {
            return self.constant_number(constants.written(index), constants, index);
        }
        Ok(match constants.literal(index) {
            Literal::Null => Value::Null,
            Literal::Boolean(value) => Value::Boolean(value),
            Literal::String(text) | Literal::Typed(_, text) => Value::Varchar(text),
            Literal::Blob(bytes) => Value::Blob(bytes),
            Literal::Number(text) => self.constant_number(&text, constants, index)?,
        })
    }

    fn constant_number(&self, text: &str, constants: &Constants, index: usize) -> Result<Value> {
        super::expr::number(text).map_err(|error| self.at(error, constants.pos(index)))
    }

    /// The value that a literal has in a place of type `ty`.
    fn constant_as(
        &self,
        value: Value,
        ty: &LogicalType,
        constants: &Constants,
        index: usize,
    ) -> Result<Value> {
        if value.is_null() || value.logical_type() == *ty {
            return Ok(value);
        }
        if let Some(value) = exact(&value, ty) {
            return Ok(value);
        }
        self.implied_literal(&value, ty).map_err(|error| self.at(error, constants.pos(index)))
    }

    /// `input IN (literals)`.
    pub(super) fn in_constants(&mut self, input: Expr, constants: &Constants, pos: Pos) -> Result<Expr> {
        let mut ty = self.common_type_of(std::iter::once(&input), pos, "IN")?;
        for index in 0..constants.len() {
            // A text adapts to what there is.
            let adapts = constants.is_string(index) && !matches!(ty, LogicalType::Null | LogicalType::Json);
            // But what a DECIMAL would be rounded for.
            if !adapts || ty.is_decimal() {
                let value = self.constant_value(constants, index)?;
                if !adapts || number_beyond(&value, &ty).is_some() {
                    self.widen(&mut ty, &value, pos, "IN")?;
                }
            }
        }
        let ty = if ty == LogicalType::Null { LogicalType::Integer } else { ty };
        let input = Box::new(self.cast_to(input, ty.clone(), pos)?);
        if ConstantList::holds(&ty) {
            let list = ConstantList::new(&self.constant_vector(constants, &ty)?);
            return Ok(Expr::InConstants { input, list: Arc::new(list) });
        }
        let literal = |index| -> Result<Expr> {
            let value = self.constant_value(constants, index)?;
            Ok(Expr::Literal { value: self.constant_as(value, &ty, constants, index)?, ty: ty.clone() })
        };
        let list = (0..constants.len()).map(literal).collect::<Result<_>>()?;
        Ok(Expr::InList { input, list })
    }

    /// The literals as values of a type, in any order: texts that are converted go through the kernel at once.
    fn constant_vector(&self, constants: &Constants, ty: &LogicalType) -> Result<Vector> {
        let is_text = *ty == LogicalType::Varchar;
        // Other types read texts in other ways, or in a time zone.
        let is_read_at_once = ty.is_numeric() || matches!(ty, LogicalType::Date | LogicalType::Timestamp);
        let mut builder = VectorBuilder::new(ty.clone(), constants.len());
        let mut texts = VectorBuilder::new(LogicalType::Varchar, 0);
        let mut behind = Vec::new();
        for index in 0..constants.len() {
            match constants.plain_string(index) {
                Some(text) if is_text => builder.push_bytes(text.as_bytes()),
                Some(text) if is_read_at_once => {
                    texts.push_bytes(text.as_bytes());
                    behind.push(index);
                }
                _ => {
                    let value = self.constant_value(constants, index)?;
                    builder.push(&self.constant_as(value, ty, constants, index)?)?;
                }
            }
        }
        if behind.is_empty() {
            return Ok(builder.finish());
        }
        let mut read = Vector::empty(ty.clone());
        if builder.is_empty() && implied_vector(&texts.finish(), ty, &mut read).is_ok() {
            return Ok(read);
        }
        // Which of them is wrong is found one by one.
        for index in behind {
            let value = self.constant_value(constants, index)?;
            builder.push(&self.constant_as(value, ty, constants, index)?)?;
        }
        Ok(builder.finish())
    }

    /// `[literals]`
    pub(super) fn list_of_constants(&self, constants: &Constants, pos: Pos) -> Result<Expr> {
        let mut kinds: Vec<ArgType> = Vec::new();
        for index in 0..constants.len() {
            let ty = match constants.is_string(index) {
                true => LogicalType::Varchar,
                false => self.constant_value(constants, index)?.logical_type(),
            };
            if !kinds.iter().any(|kind| kind.ty == ty) {
                kinds.push(ArgType::literal(&self.constant_value(constants, index)?));
            }
        }
        let function = self.placed(resolve_scalar("list_value", &kinds, &self.context.options), pos)?;
        let element = function.arg_types.first().cloned().unwrap_or(LogicalType::Null);
        let mut values = Vec::with_capacity(constants.len());
        for index in 0..constants.len() {
            let value = self.constant_value(constants, index)?;
            values.push(self.constant_as(value, &element, constants, index)?);
        }
        let ty = function.return_type.clone();
        Ok(Expr::Literal { value: Value::List { element: Arc::new(element), values }, ty })
    }

    /// VALUES in a query: each column has the type that its literals meet in.
    pub(super) fn values_of_constants(&mut self, constants: &Constants) -> Result<Bound> {
        let width = constants.width();
        let mut columns = Vec::with_capacity(width);
        let mut vectors = Vec::with_capacity(width);
        for column in 0..width {
            let indexes = (column..constants.len()).step_by(width);
            let mut values = Vec::with_capacity(constants.len() / width);
            let mut ty = LogicalType::Null;
            for index in indexes.clone() {
                let value = self.constant_value(constants, index)?;
                self.widen(&mut ty, &value, constants.pos(column), "VALUES")?;
                values.push(value);
            }
            let mut builder = VectorBuilder::new(ty.clone(), values.len());
            for (value, index) in values.into_iter().zip(indexes) {
                builder.push(&self.constant_as(value, &ty, constants, index)?)?;
            }
            columns.push(SourceColumn { name: format!("col{column}"), ty });
            vectors.push(builder.finish());
        }
        Ok(self.literal_source(columns, vectors))
    }

    /// VALUES of INSERT: what stands in a place of `kept` goes straight to the type there, the rest is left out.
    pub(super) fn insert_constants(
        &mut self,
        kept: &[Option<SourceColumn>],
        constants: &Constants,
    ) -> Result<Bound> {
        let width = constants.width();
        let count = constants.len() / width.max(1);
        let builder = |column: &SourceColumn| VectorBuilder::new(column.ty.clone(), count);
        let mut builders: Vec<Option<VectorBuilder>> =
            kept.iter().map(|column| column.as_ref().map(builder)).collect();
        for row in 0..count {
            for (column, (builder, target)) in builders.iter_mut().zip(kept).enumerate() {
                let (Some(builder), Some(target)) = (builder, target) else { continue };
                let index = row * width + column;
                match constants.plain_string(index) {
                    Some(text) if target.ty == LogicalType::Varchar => builder.push_bytes(text.as_bytes()),
                    _ => {
                        let value = self.constant_value(constants, index)?;
                        builder.push(&self.constant_as(value, &target.ty, constants, index)?)?;
                    }
                }
            }
        }
        let columns = kept.iter().flatten().cloned().collect();
        let vectors = builders.into_iter().flatten().map(VectorBuilder::finish).collect();
        Ok(self.literal_source(columns, vectors))
    }

    fn literal_source(&mut self, columns: Vec<SourceColumn>, vectors: Vec<Vector>) -> Bound {
        let count = vectors.first().map_or(0, Vector::len);
        let rows = Batch::new(vectors, count);
        let slice = |offset: usize| rows.slice(offset, VECTOR_SIZE.min(count - offset));
        let batches = (0..count).step_by(VECTOR_SIZE).map(slice).collect();
        let (plan, names) = self.source_plan(Arc::new(HeldRows::of_literals(columns, batches)));
        let output = names.into_iter().map(|(name, id)| Output { id, name }).collect();
        Bound { plan, output }
    }
}
