//! ALTER TABLE: the rows get the new columns, then what is new about the schema is checked on them.

use super::index::drop_unused_columns;
use super::object::{move_comments, rename_materialized};
use super::sequence::change_sequence;
use crate::change::checks::Checks;
use crate::change::rows::layout;
use crate::change::writer::RowWriter;
use crate::execute::Run;
use crate::result::QueryResult;
use crate::text::same_name;
use inlay_catalog::{Table, TableSchema};
use inlay_exec::expression::Program;
use inlay_sql::plan::Expr;
use inlay_sql::plan::statement::{AlterTable, BoundCheck, ColumnSource as Source};
use inlay_storage::store::{IndexDefinition, Object, ObjectId, Transaction};
use inlay_storage::table::{Alteration, ColumnSource};
use inlay_storage::{Column, RowGroup};
use inlay_types::limits;
use inlay_types::{Batch, Error, Result, VECTOR_SIZE, Vector, VectorBuilder};
use std::sync::Arc;

impl Run<'_> {
    /// Carries out ALTER TABLE.
    pub(crate) fn alter_table(&mut self, alter: AlterTable) -> Result<QueryResult> {
        let transaction = self.to_change(&alter.database)?;
        let id = alter.table.table.id();
        let old = transaction.state().table(id)?;
        for sequence in alter.created_sequences {
            self.put_sequence(&transaction, sequence)?;
        }
        let sources = alter.columns.iter().zip(&alter.schema.columns);
        let columns = sources.map(|(source, column)| self.column_source(&old, source, column.ty.clone()));
        let alteration =
            Alteration { schema: alter.schema.clone(), columns: columns.collect::<Result<_>>()? };
        let table = transaction.alter_table(id, alteration)?;
        for altered in alter.altered {
            transaction.alter_table(altered.table.table.id(), Alteration::of_schema(altered.schema))?;
        }
        for name in &alter.dropped_sequences {
            if let Some(object) = transaction.state().relation(name) {
                transaction.drop_object(object.id())?;
            }
        }
        for sequence in &alter.altered_sequences {
            change_sequence(&transaction, &sequence.name, sequence, None)?;
        }
        let column = |index: usize| {
            let new = alter.origins.iter().position(|origin| *origin == Some(index));
            let new = new.map(|new| alter.schema.columns[new].name.clone());
            (old.schema().columns[index].name.clone(), new)
        };
        let moved: Vec<_> = (0..old.schema().columns.len()).map(column).collect();
        move_comments(&transaction, id, &moved)?;
        rename_materialized(&transaction, &old.schema().name, &alter.schema.name)?;
        check_index_types(&transaction, id, &alter.schema, &alter.origins)?;
        move_indexes(&transaction, id, &alter.origins)?;
        move_index_names(&transaction, id, &old.schema().name, &alter.schema.name)?;
        drop_unused_columns(&transaction, id)?;

        self.check_rows(&table, &alter.verify.checks)?;
        let new_keys = alter.verify.foreign_keys.iter().map(|&index| &alter.schema.foreign_keys[index]);
        self.bind_targets(&transaction, &alter.schema.name, new_keys)?;
        let writer = RowWriter::new(self, &alter.database)?;
        for &index in &alter.verify.foreign_keys {
            writer.check_whole(id, &alter.schema.foreign_keys[index])?;
        }
        writer.finish()?;
        self.check_triggers(&alter.database, id)?;
        Ok(QueryResult::done())
    }

    pub(super) fn column_source(
        &self,
        table: &Table,
        source: &Source,
        ty: inlay_types::LogicalType,
    ) -> Result<ColumnSource> {
        let expr = match source {
            Source::Kept(position) => return Ok(ColumnSource::Kept(*position)),
            Source::Computed(expr) => expr,
        };
        if let Expr::Literal { value, .. } = expr {
            return Ok(ColumnSource::Filled(value.clone()));
        }
        let program = Program::compile(expr, &layout(0..table.schema().columns.len()))?.over_rows();
        if expr.columns().is_empty() && expr.is_deterministic() {
            let value = program.eval(&mut program.state(), &Batch::new(Vec::new(), 1))?.get(0);
            return Ok(ColumnSource::Filled(value));
        }
        let mut converted: Vec<(i64, Arc<Column>)> = Vec::new();
        for group in table.snapshot().row_groups() {
            self.given.interrupt.check()?;
            let values = values_of_group(&program, group, ty.clone())?;
            converted.push((group.row_id_start(), table.converted_column(&values)?));
        }
        Ok(ColumnSource::Converted(converted))
    }

    /// Fails if a row violates a check.
    fn check_rows(&self, table: &Table, checks: &[BoundCheck]) -> Result<()> {
        if checks.is_empty() {
            return Ok(());
        }
        let mut read: Vec<usize> =
            checks.iter().flat_map(|check| check.condition.columns()).map(|id| id.0 as usize).collect();
        read.sort_unstable();
        read.dedup();
        let checks = Checks::new(checks, table.schema(), &read)?;
        for group in table.snapshot().row_groups() {
            self.given.interrupt.check()?;
            let mut live = Vec::new();
            group.live_rows(0..group.len(), &mut live);
            let column = |&column: &usize| group.segment(column)?.gather(&live);
            checks.check_all(&Batch::new(read.iter().map(column).collect::<Result<_>>()?, live.len()))?;
        }
        Ok(())
    }
}

/// Values of an expression over the live rows of a row group; deleted ones get NULL.
fn values_of_group(program: &Program, group: &RowGroup, ty: inlay_types::LogicalType) -> Result<Vector> {
    let mut live = Vec::new();
    group.live_rows(0..group.len(), &mut live);
    let mut state = program.state();
    let mut builder = VectorBuilder::new(ty.clone(), group.len());
    let mut segments = Vec::with_capacity(program.inputs().len());
    for &column in program.inputs() {
        segments.push(group.segment(column)?);
    }
    for rows in live.chunks(VECTOR_SIZE) {
        limits::check()?;
        let columns = segments.iter().map(|segment| segment.gather(rows)).collect::<Result<Vec<Vector>>>()?;
        let columns: Vec<&Vector> = columns.iter().collect();
        let values = program.eval_on(&mut state, &columns, rows.len())?;
        values.expect_type(&ty)?;
        builder.append(&values);
    }
    if live.len() == group.len() {
        return Ok(builder.finish());
    }
    // The NULL behind all values stands for the rows that are deleted.
    builder.push_null();
    let mut places = vec![live.len() as u32; group.len()];
    for (place, &row) in live.iter().enumerate() {
        places[row as usize] = place as u32;
    }
    Ok(builder.finish().take(&places))
}

/// Indexes are on columns without parts.
fn check_index_types(
    transaction: &Transaction,
    table: ObjectId,
    schema: &TableSchema,
    origins: &[Option<usize>],
) -> Result<()> {
    for index in transaction.indexes_of(table) {
        let new = |column: &usize| origins.iter().position(|origin| *origin == Some(*column));
        let mut columns = index.columns.iter().filter_map(new).map(|new| &schema.columns[new]);
        if let Some(column) = columns.find(|column| column.ty.is_nested()) {
            let message = format!(
                "column \"{}\" cannot be of type {}, as index \"{}\" is on it",
                column.name, column.ty, index.name
            );
            let hint = "drop the index first";
            return Err(Error::bind(message).with_hint(hint));
        }
    }
    Ok(())
}

/// Indexes of a table that goes into another schema go with it.
fn move_index_names(transaction: &Transaction, table: ObjectId, old: &str, new: &str) -> Result<()> {
    let (before, after) = (inlay_catalog::schema_of(old), inlay_catalog::schema_of(new));
    if same_name(before, after) {
        return Ok(());
    }
    for index in transaction.indexes_of(table) {
        let name = inlay_catalog::qualified(after, inlay_catalog::bare_name(&index.name));
        if transaction.state().index(&name).is_some() {
            return Err(Error::Duplicate { kind: "index", name });
        }
        let moved = IndexDefinition { name, ..IndexDefinition::clone(&index) };
        transaction.put(Object::Index(Arc::new(moved)))?;
    }
    Ok(())
}

/// Indexes follow their columns, of which `origins` says where each was before, and go with them.
pub(super) fn move_indexes(
    transaction: &Transaction,
    table: ObjectId,
    origins: &[Option<usize>],
) -> Result<()> {
    let position = |before: &usize| origins.iter().position(|origin| *origin == Some(*before));
    for index in transaction.indexes_of(table) {
        match index.columns.iter().map(position).collect::<Option<Vec<usize>>>() {
            Some(columns) if columns == index.columns => {}
            Some(columns) => {
                let moved = IndexDefinition { columns, ..IndexDefinition::clone(&index) };
                transaction.put(Object::Index(Arc::new(moved)))?;
            }
            None => transaction.drop_object(index.id)?,
        }
    }
    Ok(())
}
