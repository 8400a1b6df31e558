//! Procedures of CALL.

mod olap_load;

use crate::execute::Run;
use crate::result::QueryResult;
use crate::system;
use crate::table_rows::TableRows;
use inlay_catalog::access::Door;
use inlay_catalog::{Table, near_names};
use inlay_formats::tpcds::{self, TpcdsTable};
use inlay_formats::tpch::{self, TpchTable};
use inlay_storage::store::{Recovered, Store};
use inlay_types::{Batch, Error, LogicalType, Result, VECTOR_SIZE, Value, Vector};
use std::sync::Arc;

const PROCEDURES: &[&str] = &["tpch_dbgen", "tpcds_dbgen", "olap_load", "recover", "resident"];

impl Run<'_> {
    /// Carries out `CALL name(args)`.
    pub(crate) fn call_procedure(
        &mut self,
        name: &str,
        args: &[Value],
        named: &[(String, Value)],
    ) -> Result<QueryResult> {
        call(self, name, args, named)
    }
}

fn call(run: &mut Run<'_>, name: &str, args: &[Value], named: &[(String, Value)]) -> Result<QueryResult> {
    match name {
        "tpch_dbgen" | "dbgen" => tpch_dbgen(run, args, named),
        "tpcds_dbgen" | "dsdgen" => tpcds_dbgen(run, args, named),
        "olap_load" => olap_load::olap_load(run, args, named),
        "recover" => recover(run, args, named),
        "resident" => resident(run, args, named),
        _ => Err(Error::UndefinedFunction {
            message: format!("procedure {name} does not exist"),
            candidates: near_names(name, PROCEDURES.iter().copied()),
        }),
    }
}

/// `CALL recover('damaged.db', 'new.db')`: puts what is intact into a new file. Answers what became of each object.
fn recover(run: &Run<'_>, args: &[Value], named: &[(String, Value)]) -> Result<QueryResult> {
    let texts: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
    let ([damaged, target], [], true) = (texts.as_slice(), named, args.len() == texts.len()) else {
        return Err(Error::invalid_argument("recover takes two paths: recover('damaged.db', 'new.db')"));
    };
    // As connect and ATTACH take paths.
    run.ask(Door::Read(damaged))?;
    run.ask(Door::Write(target))?;
    let database = run.database;
    let disk = database.disk_of_statements();
    let report = Store::recover(&disk, &database.path_of(damaged), &database.path_of(target))?;
    let column = |text: fn(&Recovered) -> &String| -> Result<Vector> {
        let values: Vec<Value> =
            report.objects.iter().map(|object| Value::Varchar(text(object).clone())).collect();
        Vector::from_sql_values(LogicalType::Varchar, &values)
    };
    let columns = vec![
        column(|object| &object.object)?,
        column(|object| &object.recovered)?,
        column(|object| &object.lost)?,
    ];
    let names = ["object", "recovered", "lost"].map(String::from).to_vec();
    let whole = Batch::new(columns, report.objects.len());
    let batches = (0..whole.len())
        .step_by(VECTOR_SIZE)
        .map(|from| whole.slice(from, VECTOR_SIZE.min(whole.len() - from)))
        .collect();
    Ok(QueryResult::of_rows(names, vec![LogicalType::Varchar; 3], batches, None))
}

/// `PRAGMA resident('t')`: converts all columns of a table into the form that hosts have them in, and keeps them until
/// `PRAGMA resident('t', false)`.
fn resident(run: &Run<'_>, args: &[Value], named: &[(String, Value)]) -> Result<QueryResult> {
    let (name, pinned) = match (args, named) {
        ([Value::Varchar(name)], []) => (name, true),
        ([Value::Varchar(name), Value::Boolean(pinned)], []) => (name, *pinned),
        _ => {
            let message = "resident takes the name of a table, and whether it stays: resident('t', true)";
            return Err(Error::invalid_argument(message));
        }
    };
    let table = system::table_named_in(&run.names(&[]), name)?;
    let residents = run.database.residents();
    let columns = TableRows::of_table(&table, run.database.lender(run.workers()));
    residents.pin(table.id(), pinned);
    if pinned {
        columns.make_resident(run.given.interrupt).inspect_err(|_| residents.pin(table.id(), false))?;
    }
    columns.note_all()?;
    Ok(QueryResult::done())
}

/// The argument `sf` of a generator.
fn scale_of(procedure: &str, args: &[Value], named: &[(String, Value)]) -> Result<f64> {
    let mut scale = args.first().cloned();
    if args.len() > 1 {
        return Err(Error::invalid_argument(format!("{procedure} takes one argument: {procedure}(sf := 1)")));
    }
    for (name, value) in named {
        match name.as_str() {
            "sf" | "scale_factor" => scale = Some(value.clone()),
            _ => {
                return Err(Error::invalid_argument(format!("{procedure} has no argument {name}"))
                    .with_hint("it takes sf"));
            }
        }
    }
    let scale = scale.unwrap_or(Value::Integer(1));
    let number = scale.as_f64().or_else(|| scale.as_str().and_then(|text| text.parse().ok()));
    number.ok_or_else(|| Error::invalid_argument(format!("sf := {scale}: expected a number")))
}

/// `CALL tpch_dbgen(sf := 1)`: creates and fills the eight tables of TPC-H, all or none.
fn tpch_dbgen(run: &Run<'_>, args: &[Value], named: &[(String, Value)]) -> Result<QueryResult> {
    let scale = scale_of("tpch_dbgen", args, named)?;
    let context = run.context();
    let current = run.transactions.current(run.database);
    let transaction = run.to_change(&current)?;
    for table in TpchTable::ALL {
        if let Some(taken) = transaction.state().relation(table.name()) {
            return Err(Error::Duplicate { kind: taken.kind(), name: table.name().to_string() });
        }
    }
    let new_table = |table: TpchTable| (table, Arc::new(transaction.new_table(table.schema())));
    let tables: Vec<(TpchTable, Arc<Table>)> = TpchTable::ALL.into_iter().map(new_table).collect();
    tpch::load(scale, &tables, &|count, work| context.parallel(count, work), &context.interrupt)?;
    for (_, table) in &tables {
        transaction.enter_created(table);
    }
    Ok(QueryResult::done())
}

/// `CALL tpcds_dbgen(sf := 1)`: creates and fills the 24 tables of TPC-DS, all or none.
fn tpcds_dbgen(run: &Run<'_>, args: &[Value], named: &[(String, Value)]) -> Result<QueryResult> {
    let scale = scale_of("tpcds_dbgen", args, named)?;
    let context = run.context();
    let current = run.transactions.current(run.database);
    let transaction = run.to_change(&current)?;
    for table in TpcdsTable::ALL {
        if let Some(taken) = transaction.state().relation(table.name()) {
            return Err(Error::Duplicate { kind: taken.kind(), name: table.name().to_string() });
        }
    }
    let new_table = |table: TpcdsTable| (table, Arc::new(transaction.new_table(table.schema())));
    let tables: Vec<(TpcdsTable, Arc<Table>)> = TpcdsTable::ALL.into_iter().map(new_table).collect();
    tpcds::load(scale, &tables, &|count, work| context.parallel(count, work), &context.interrupt)?;
    for (_, table) in &tables {
        transaction.enter_created(table);
    }
    Ok(QueryResult::done())
}
