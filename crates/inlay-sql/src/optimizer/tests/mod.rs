//! Plans of real queries: every one of TPC-H and of the subquery zoo optimizes to a valid plan, and the shapes that matter
//! are as they should be. `INLAY_PLANS=1 cargo test -p inlay-sql plans -- --nocapture` prints them all.

mod data;
mod shapes;

use super::properties::free_columns;
use super::*;
use crate::binder::{BindContext, bind};
use crate::parser::parse_statement;
use crate::plan::{ColumnId, Statement, display};
use inlay_catalog::Catalog;
use std::collections::HashSet;
use std::path::PathBuf;

fn bound(catalog: &Catalog, sql: &str) -> Result<Query> {
    let context = BindContext {
        catalog,
        parameters: &[],
        named_parameters: &[],
        options: Default::default(),
        default_order: Default::default(),
        default_collation: None,
        setting: &|_| None,
        run: None,
        slots: None,
        rights: None,
    };
    match bind(&parse_statement(sql)?, &context)? {
        Statement::Query(query) => Ok(query),
        other => Err(inlay_types::Error::internal(format!("no query: {other:?}"))),
    }
}

fn optimized(catalog: &Catalog, sql: &str) -> Query {
    let query = bound(catalog, sql).unwrap_or_else(|error| panic!("{sql}\n{error}"));
    let result = optimize(query).unwrap_or_else(|error| panic!("{sql}\n{error}"));
    if let Err(fault) = check(&result) {
        panic!("{sql}\n{fault}\n{}", display::text(&result, &|_| Vec::new()));
    }
    result
}

/// The plan as text, without estimates.
fn plan_of(catalog: &Catalog, sql: &str) -> String {
    let query = optimized(catalog, sql);
    display::plan_text(&query.plan, &query.columns)
}

/// What is wrong with a plan: a column that is read but not there, made twice, or a dependent join.
fn check(query: &Query) -> std::result::Result<(), String> {
    let output = query.plan.output();
    for (id, name) in &query.output {
        if !output.contains(id) {
            return Err(format!("output {name} {id} is not made"));
        }
    }
    check_node(&query.plan)?;
    let free = free_columns(&query.plan);
    if !free.is_empty() {
        return Err(format!("free columns {:?}", free.iter().collect::<Vec<_>>()));
    }
    let mut made = HashSet::new();
    check_made_once(&query.plan, &mut made)
}

fn check_node(plan: &Plan) -> std::result::Result<(), String> {
    let mut available: Vec<ColumnId> = Vec::new();
    for input in plan.inputs() {
        check_node(input)?;
        available.extend(input.output());
    }
    match plan {
        Plan::DependentJoin { .. } => return Err("a dependent join is left".into()),
        Plan::Scan { columns, .. } | Plan::Source { columns, .. } => {
            available.extend(columns.iter().map(|c| c.id))
        }
        Plan::SetOp { left, right, left_columns, right_columns, .. } => {
            let (left, right) = (left.output(), right.output());
            if !left_columns.iter().all(|id| left.contains(id))
                || !right_columns.iter().all(|id| right.contains(id))
            {
                return Err("a set operation reads a column that its input does not make".into());
            }
        }
        Plan::With { id, definition, body } => {
            let made = definition.output();
            let mut fault = None;
            rewrite::any_node(body, &mut |p| {
                if let Plan::SharedScan { id: read, columns } = p
                    && read == id
                    && !columns.iter().all(|(_, from)| made.contains(from))
                {
                    fault =
                        Some("a shared scan reads a column that the shared plan does not make".to_string());
                }
                false
            });
            if let Some(fault) = fault {
                return Err(fault);
            }
        }
        _ => {}
    }
    for expr in plan.expressions() {
        if let Some(id) = expr.columns().iter().find(|id| !available.contains(id)) {
            return Err(format!("column {id} is not available in {expr:?}"));
        }
    }
    Ok(())
}

fn check_made_once(plan: &Plan, made: &mut HashSet<ColumnId>) -> std::result::Result<(), String> {
    let mut own = plan.clone();
    own.inputs_mut().into_iter().for_each(|input| *input = Plan::single_row());
    for id in properties::made_columns(&own).iter() {
        if !made.insert(id) {
            return Err(format!("column {id} is made twice"));
        }
    }
    plan.inputs().into_iter().try_for_each(|input| check_made_once(input, made))
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn tpch_query(number: usize) -> String {
    std::fs::read_to_string(repository().join(format!("tests/tpch/queries/q{number:02}.sql"))).unwrap()
}

fn shows_plans() -> bool {
    std::env::var_os("INLAY_PLANS").is_some()
}

fn show(title: &str, query: &Query, took: std::time::Duration) {
    if shows_plans() {
        println!("== {title} ({took:?})\n{}", display::text(query, &|_| Vec::new()));
    }
}

/// Binds and optimizes all 22 queries.
#[test]
fn tpch_plans_are_valid() {
    let catalog = data::tpch();
    for number in 1..=22 {
        let sql = tpch_query(number);
        let query = bound(&catalog, &sql).unwrap();
        let started = std::time::Instant::now();
        let result = optimize(query).unwrap();
        let took = started.elapsed();
        show(&format!("Q{number}"), &result, took);
        if let Err(fault) = check(&result) {
            panic!("Q{number}: {fault}\n{}", display::text(&result, &|_| Vec::new()));
        }
    }
}

/// Every query of the zoo of correlated and nested subqueries is unnested completely.
#[test]
fn zoo_plans_are_valid() {
    let catalog = data::zoo();
    let text = std::fs::read_to_string(repository().join("tests/zoo/queries.sql")).unwrap();
    let mut count = 0;
    for sql in text.split(";\n") {
        let sql: String = sql.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
        if sql.trim().is_empty() {
            continue;
        }
        // What does not bind is the binder's affair.
        let Ok(query) = bound(&catalog, &sql) else { continue };
        let started = std::time::Instant::now();
        let result = optimize(query.clone()).unwrap_or_else(|error| panic!("{sql}\n{error}"));
        show(sql.trim(), &result, started.elapsed());
        if let Err(fault) = check(&result) {
            panic!("{sql}\n{fault}\n{}", display::text(&result, &|_| Vec::new()));
        }
        let mut plain = OptimizerContext { enabled: false, trace: None, hand_over: None };
        let result = optimize_with(query, &mut plain).unwrap_or_else(|error| panic!("{sql}\n{error}"));
        if let Err(fault) = check(&result) {
            panic!("unnested only: {sql}\n{fault}\n{}", display::text(&result, &|_| Vec::new()));
        }
        count += 1;
    }
    assert!(count >= 100, "only {count} queries of the zoo bind");
}
