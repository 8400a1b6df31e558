//! `inlay_resident()`: which columns are kept in the form that hosts have them in, and what that takes.

use super::gather::{Gather, number, text};
use super::system_table;
use inlay_catalog::bare_name;
use inlay_storage::Table;
use inlay_storage::resident::Form;
use inlay_storage::store::Object;
use inlay_types::Value;
use inlay_types::arrow::StringLayout;
use inlay_types::host::HostForm;

system_table! {
    Resident = "resident" by resident {
        database_name: Text,
        schema_name: Text,
        table_name: Text,
        column_name: Text,
        form: Text,
        row_groups: Big,
        row_groups_of_table: Big,
        bytes: Big,
        pinned: Truth,
    }
}

fn resident(gather: &Gather<'_>) -> Vec<Resident> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            if !matches!(object, Object::Table(_)) {
                continue;
            }
            let Some(table) = gather.table(&seen, object.id()) else { continue };
            let is_pinned = gather.names.database.residents().is_pinned(table.id());
            for (column, form, groups, bytes) in kept(&table) {
                rows.push(Resident {
                    database_name: text(&seen.name),
                    schema_name: text(inlay_catalog::schema_of(object.name())),
                    table_name: text(bare_name(object.name())),
                    column_name: text(column),
                    form: text(name_of(form)),
                    row_groups: number(groups),
                    row_groups_of_table: number(table.snapshot().row_groups().len()),
                    bytes: number(bytes),
                    pinned: Value::Boolean(is_pinned),
                });
            }
        }
    }
    rows
}

/// Column, form, number of row groups that have it, and bytes.
fn kept(table: &Table) -> Vec<(String, Form, usize, u64)> {
    let mut all: Vec<(String, Form, usize, u64)> = Vec::new();
    let snapshot = table.snapshot();
    for (index, schema) in table.schema().visible() {
        let first = all.len();
        for group in snapshot.row_groups() {
            for (form, bytes) in group.column(index).kept_forms() {
                match all[first..].iter_mut().find(|(_, known, ..)| *known == form) {
                    Some((_, _, groups, total)) => {
                        *groups += 1;
                        *total += bytes;
                    }
                    None => all.push((schema.name.clone(), form, 1, bytes)),
                }
            }
        }
    }
    all
}

fn name_of(form: Form) -> &'static str {
    match form {
        Form::Host(HostForm::Stored) => "stored",
        Form::Host(HostForm::Float64) => "float64",
        Form::Host(HostForm::Days) => "datetime64[D]",
        Form::Host(HostForm::Midnights) => "datetime64[us]",
        Form::Host(HostForm::Micros) => "timedelta64[us]",
        Form::Host(HostForm::Nulls) => "nulls",
        Form::Arrow(StringLayout::View) => "arrow, strings as views",
        Form::Arrow(StringLayout::Utf8) => "arrow",
        Form::Arrow(StringLayout::LargeUtf8) => "arrow, large strings",
    }
}
