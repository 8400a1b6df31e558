//! What tables offer besides their columns: `t`, a row as a struct, and `rowid`.

use super::Binder;
use super::coerce::arg_type;
use crate::parser::ast::{Ident, Pos};
use crate::plan::{ColumnId, Expr};
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::resolve::ArgType;
use inlay_types::{LogicalType, Result};
use std::sync::Arc;

const ROW_ID: &str = "rowid";

impl Binder<'_> {
    /// A column for the identity of a table's rows. Scans make it only where the statement speaks of it.
    pub(super) fn wanted_row_id(&mut self) -> Option<ColumnId> {
        let text = self.sql.as_bytes();
        let is_written = text.windows(ROW_ID.len()).any(|part| part.eq_ignore_ascii_case(ROW_ID.as_bytes()));
        is_written.then(|| self.columns.add(ROW_ID, LogicalType::BigInt))
    }

    /// The row of the table in FROM that `parts` name, as a struct of its columns.
    pub(super) fn row_of_table(&mut self, parts: &[Ident]) -> Result<Option<Expr>> {
        let Some(name) = parts.last() else { return Ok(None) };
        let visible = (0..self.scopes.len()).rev().filter(|index| !self.macros.hides(*index));
        let found = visible.into_iter().find_map(|index| {
            let relation = self.scopes[index].visible().iter().find(|one| one.is_meant(parts))?;
            let columns: Vec<(String, ColumnId)> =
                relation.columns.iter().map(|column| (column.name.clone(), column.id)).collect();
            Some((index, columns))
        });
        let Some((scope, columns)) = found.filter(|(_, columns)| !columns.is_empty()) else {
            return Ok(None);
        };
        for (_, id) in &columns {
            self.ask_column(scope, *id, name.pos)?;
            self.note_use(scope, *id, name.pos);
        }
        self.struct_of(&columns, name.pos).map(Some)
    }

    /// A struct of columns.
    pub(super) fn struct_of(&self, columns: &[(String, ColumnId)], pos: Pos) -> Result<Expr> {
        let mut args = Vec::with_capacity(columns.len());
        let mut types = Vec::with_capacity(columns.len());
        for (column, id) in columns {
            let value = self.column(*id);
            types.push(ArgType { name: Some(Arc::from(column.as_str())), ..arg_type(&value) });
            args.push(value);
        }
        let function = self.placed(resolve_scalar("struct_pack", &types, &self.context.options), pos)?;
        let args = args.into_iter().zip(&function.arg_types);
        let args = args.map(|(arg, ty)| self.cast_to(arg, ty.clone(), Pos::default()));
        Ok(Expr::Call { args: args.collect::<Result<_>>()?, function, place: self.place(pos) })
    }
}
