//! Procedures of CALL.

use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::{Table, near_names};
use inlay_formats::tpch::{self, TpchTable};
use inlay_types::{Error, Result, Value};
use std::sync::Arc;

const PROCEDURES: &[&str] = &["tpch_dbgen"];

/// Carries out `CALL name(args)`.
pub(crate) fn call(
    run: &Run<'_>,
    name: &str,
    args: &[Value],
    named: &[(String, Value)],
) -> Result<QueryResult> {
    match name {
        "tpch_dbgen" | "dbgen" => tpch_dbgen(run, args, named),
        _ => Err(Error::UndefinedFunction {
            message: format!("procedure {name} does not exist"),
            candidates: near_names(name, PROCEDURES.iter().copied()),
        }),
    }
}

/// `CALL tpch_dbgen(sf := 1)`: creates and fills the eight tables of TPC-H, all or none.
fn tpch_dbgen(run: &Run<'_>, args: &[Value], named: &[(String, Value)]) -> Result<QueryResult> {
    let mut scale = args.first().cloned();
    if args.len() > 1 {
        return Err(Error::invalid_argument("tpch_dbgen takes one argument: tpch_dbgen(sf := 1)"));
    }
    for (name, value) in named {
        match name.as_str() {
            "sf" | "scale_factor" => scale = Some(value.clone()),
            _ => {
                return Err(Error::invalid_argument(format!(
                    "tpch_dbgen has no argument {name}; it takes sf"
                )));
            }
        }
    }
    let scale = scale.unwrap_or(Value::Integer(1));
    let number = scale.as_f64().or_else(|| scale.as_str().and_then(|text| text.parse().ok()));
    let scale = number.ok_or_else(|| Error::invalid_argument(format!("sf := {scale}: expected a number")))?;

    let (catalog, context) = (run.catalog(), run.context());
    for table in TpchTable::ALL {
        if catalog.get(table.name()).is_some() {
            return Err(Error::Duplicate { kind: "table", name: table.name().to_string() });
        }
    }
    let new_table = |table: TpchTable| {
        let empty = Table::new(table.schema(), catalog.budget().clone());
        (table, Arc::new(empty))
    };
    let tables: Vec<(TpchTable, Arc<Table>)> = TpchTable::ALL.into_iter().map(new_table).collect();
    tpch::load(scale, &tables, context.threads, &context.interrupt)?;
    for (_, table) in tables {
        catalog.insert_table(table, false, false)?;
    }
    Ok(QueryResult::done())
}
