//! A kept plan at work on one row, value by value: what a SELECT by key or without a table delivers, and what an INSERT in an open
//! transaction appends. No vectors are made where nobody reads columns.

use super::access::Access;
use super::point::{Action, Output, Point, Values, absent, unless_defect};
use crate::execute::Run;
use crate::result::{OneRow, QueryResult};
use inlay_storage::store::{Object, State};
use inlay_storage::{Table, TableSnapshot};
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Point {
    /// The answer of a SELECT of at most one row, value by value; `None` if it has to be done otherwise.
    pub(super) fn one_row(
        self: &Arc<Self>,
        run: &Run<'_>,
        database: &str,
        state: &State,
        values: &mut Values,
        (names, types): (&Arc<[String]>, &Arc<[LogicalType]>),
    ) -> Result<Option<QueryResult>> {
        if let Some(row) = &self.constant {
            return Ok(Some(run.kept_row(names, types, Some(Arc::clone(row)))));
        }
        if !self.is_by_values {
            return Ok(None);
        }
        let row = match &self.access {
            None => unless_defect(self.values_of_row(None, values))?,
            Some(access) => {
                let Some(Object::Table(slot)) = state.object(self.table) else { return Ok(None) };
                let Some(table) = unless_defect(slot.table())? else { return Ok(None) };
                let snapshot = table.snapshot();
                let Some(id) = unless_defect(self.only_id(access, &table, &snapshot, values))?.flatten()
                else {
                    return Ok(None);
                };
                let row = match id {
                    None => None,
                    Some(id) => match unless_defect(self.values_of_row(Some((&snapshot, id)), values))? {
                        Some(row) => Some(row),
                        None => return Ok(None),
                    },
                };
                if run.notes_reads {
                    self.note(run, database, std::mem::take(values))?;
                }
                return Ok(Some(run.kept_row(names, types, row.map(|row| one(types, row)))));
            }
        };
        Ok(row.map(|row| run.kept_row(names, types, Some(one(types, row)))))
    }

    /// The id of the row that has the key, if there is one; `None` outside if the key's index cannot tell.
    fn only_id(
        &self,
        access: &Access,
        table: &Table,
        snapshot: &TableSnapshot,
        values: &Values,
    ) -> Result<Option<Option<i64>>> {
        let Some((columns, key)) = &access.key else { return Ok(None) };
        if let ([column], [operand]) = (columns.as_slice(), key.as_slice())
            && let Some(id) = snapshot.at_its_place(*column, operand.value(values)?)?
        {
            return Ok(Some(Some(id)));
        }
        let key = key.iter().map(|operand| operand.value(values).cloned()).collect::<Result<Vec<Value>>>()?;
        Ok(match table.find_by_columns(snapshot, columns, &key)?.as_deref() {
            Some([]) => Some(None),
            Some([id]) => Some(Some(*id)),
            Some(_) | None => None,
        })
    }

    /// What is delivered of a row that was found, or of the one that is written in the statement.
    fn values_of_row(&self, row: Option<(&TableSnapshot, i64)>, values: &Values) -> Result<Box<[Value]>> {
        let located = match row {
            None => None,
            Some((snapshot, id)) => {
                let found = snapshot.locate(id);
                Some((id, found.ok_or_else(|| absent(id))?))
            }
        };
        let value = |output: &Output| match (output, located) {
            (Output::Column(position), Some((_, (group, row)))) if *position < self.columns.len() => {
                Ok(group.segment(self.columns[*position])?.get(row))
            }
            // The row id is behind the columns; values of slots, which come then, are operands.
            (Output::Column(_), Some((id, _))) => Ok(Value::BigInt(id)),
            (Output::Literal(_, value), _) => Ok(value.clone()),
            (Output::Operand(operand, ty), _) => {
                let value = operand.value(values)?;
                if value.is_null() || value.logical_type() == *ty {
                    return Ok(value.clone());
                }
                Ok(Vector::from_sql_values(ty.clone(), std::slice::from_ref(value))?.get(0))
            }
            (Output::Column(_), None) | (Output::Computed(_), _) => {
                Err(Error::internal("an output that is no value"))
            }
        };
        self.outputs.iter().map(value).collect()
    }

    /// Inserts the row in the open transaction; `None`, and nothing is done, if it has to be done in the general way.
    pub(super) fn insert_alone(&self, run: &Run<'_>, database: &str) -> Result<Option<QueryResult>> {
        let Action::Insert { checks, returning: None } = &self.action else { return Ok(None) };
        let Some(values) = self.values(run) else { return Ok(None) };
        let has_values = self.program.is_none() && checks.is_empty();
        let (made, row): (Vec<Value>, Vec<&Value>);
        if has_values {
            row = self.outputs.iter().map(|output| known(output, &values)).collect::<Result<_>>()?;
        } else {
            let rows = self.batch(Vec::new(), &values, 1, self.read())?;
            let Some(columns) = unless_defect(self.outputs(&rows, &values))? else { return Ok(None) };
            let rows = Batch::new(columns, 1);
            checks.check_all(&rows)?;
            made = rows.columns().iter().map(|column| column.get(0)).collect();
            row = made.iter().collect();
        }
        let table = run.to_change(database)?.table_to_write(self.table)?;
        if !table.append_row(&row)? {
            return Ok(None);
        }
        run.session.kept_runs.fetch_add(1, Ordering::Relaxed);
        Ok(Some(QueryResult::changed(1)))
    }
}

/// What an output is that needs no row.
fn known<'a>(output: &'a Output, values: &'a Values) -> Result<&'a Value> {
    match output {
        Output::Literal(_, value) => Ok(value),
        Output::Operand(operand, _) => operand.value(values),
        Output::Column(_) | Output::Computed(_) => Err(Error::internal("a row without a value")),
    }
}

/// A row of columns of these types.
fn one(types: &Arc<[LogicalType]>, values: Box<[Value]>) -> Arc<OneRow> {
    Arc::new(OneRow::new(Arc::clone(types), values))
}
