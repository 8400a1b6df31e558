//! CREATE and ALTER SEQUENCE.
//!
//! A sequence that only gets another name or owner shares its counter with what it was; one that counts in another way
//! gets a counter of its own, so that rolling back brings the old one back.

use crate::change::standing_at;
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::SequenceSchema;
use inlay_sql::plan::statement::Statement;
use inlay_storage::store::{Counter, Object, ObjectId, Sequence, SequenceOptions, State, Transaction};
use inlay_storage::table::Alteration;
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    /// Carries out CREATE SEQUENCE.
    pub(crate) fn create_sequence(
        &mut self,
        database: &str,
        sequence: SequenceSchema,
        temporary: bool,
        or_replace: bool,
        if_not_exists: bool,
    ) -> Result<QueryResult> {
        let transaction = self.home_of(database, temporary)?;
        if self.may_create(&transaction, "sequence", &sequence.name, or_replace, if_not_exists)? {
            self.replace(&transaction, &sequence.name)?;
            self.put_sequence(&transaction, sequence)?;
        }
        Ok(QueryResult::done())
    }

    /// Enters a new sequence.
    pub(super) fn put_sequence(&self, transaction: &Transaction, schema: SequenceSchema) -> Result<()> {
        let owner = owner_of(&transaction.state(), &schema)?;
        let sequence = Sequence::new(transaction.take_id(), &schema.name, options_of(&schema), owner);
        transaction.put(Object::Sequence(Arc::new(sequence)))
    }

    /// Carries out ALTER SEQUENCE.
    pub(crate) fn alter_sequence(&self, statement: Statement) -> Result<QueryResult> {
        let Statement::AlterSequence { database, name, sequence: schema, restart } = statement else {
            return Err(Error::internal("not an ALTER SEQUENCE"));
        };
        let transaction = self.to_change(&database)?;
        change_sequence(&transaction, &name, &schema, restart)?;
        if name != schema.name {
            rename_in_defaults(&transaction, &name, &schema.name)?;
        }
        Ok(QueryResult::done())
    }
}

/// Gives a sequence other options, and with `restart` another next value.
pub(super) fn change_sequence(
    transaction: &Transaction,
    name: &str,
    schema: &SequenceSchema,
    restart: Option<i64>,
) -> Result<()> {
    let state = transaction.state();
    let Some(Object::Sequence(old)) = state.relation(name) else {
        return Err(Error::bind(format!("sequence \"{name}\" does not exist")));
    };
    let options = options_of(schema);
    let redefined = old.redefined(&schema.name, options, owner_of(&state, schema)?);
    let changed = match (restart, old.counter()) {
        (Some(next), _) => standing_at(&redefined, Counter { next: Some(next), last: None }),
        (None, _) if options == old.options => redefined,
        (None, Counter { last: None, .. }) => {
            standing_at(&redefined, Counter { next: Some(options.start), last: None })
        }
        (None, Counter { last: Some(last), .. }) => {
            let range = options.min..=options.max;
            let end = if options.increment > 0 { options.min } else { options.max };
            let next = last.checked_add(options.increment).filter(|next| range.contains(next));
            let next = next.or(options.cycle.then_some(end));
            standing_at(&redefined, Counter { next, last: Some(last) })
        }
    };
    transaction.put(Object::Sequence(Arc::new(changed)))
}

pub(super) fn options_of(schema: &SequenceSchema) -> SequenceOptions {
    let SequenceSchema { start, increment, min, max, cycle, .. } = *schema;
    SequenceOptions { start, increment, min, max, cycle }
}

/// The table and column that a sequence belongs to.
fn owner_of(state: &State, schema: &SequenceSchema) -> Result<Option<(ObjectId, String)>> {
    let Some((table, column)) = &schema.owner else { return Ok(None) };
    match state.relation(table) {
        Some(Object::Table(slot)) => Ok(Some((slot.table()?.id(), column.clone()))),
        _ => Err(Error::internal(format!("sequence \"{}\" belongs to no table", schema.name))),
    }
}

/// Defaults that are the next value of a sequence follow its new name.
fn rename_in_defaults(transaction: &Transaction, old: &str, new: &str) -> Result<()> {
    let quoted = |name: &str| format!("nextval('{}')", name.replace('\'', "''"));
    let of_old = |text: &str| text.to_lowercase() == quoted(old).to_lowercase();
    for object in transaction.state().objects() {
        let Object::Table(slot) = object else { continue };
        let table = slot.table()?;
        let mut schema = table.schema().clone();
        let defaults = schema.columns.iter_mut().filter_map(|column| column.default.as_mut());
        let mut renamed = false;
        for default in defaults.filter(|text| of_old(text)) {
            *default = quoted(new);
            renamed = true;
        }
        if renamed {
            transaction.alter_table(table.id(), Alteration::of_schema(schema))?;
        }
    }
    Ok(())
}
