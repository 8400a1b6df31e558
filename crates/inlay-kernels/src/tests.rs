//! Broken invariants speak up: kernels that are given what the binder never gives them say so, and give no values.

use crate::boolean::{and, not, or};
use crate::compare::{Cmp, compare, select_compare};
use crate::external::{
    CallSite, Callee, External, ExternalFunction, FunctionDefinition, FunctionKind, Kept, Parameter,
};
use inlay_types::{Error, LogicalType, Result, Vector};
use std::fmt::Debug;
use std::sync::Arc;

/// The outcome is an internal error that says `what`.
#[track_caller]
fn speaks<T: Debug>(outcome: Result<T>, what: &str) {
    match outcome {
        Err(Error::Internal { message }) => assert!(message.contains(what), "{message} does not say {what}"),
        other => panic!("no internal error: {other:?}"),
    }
}

fn ints() -> Vector {
    Vector::from_values(LogicalType::Integer, &[1, 2])
}

#[test]
fn comparisons_are_between_values_of_one_type() {
    let decimals = |scale| Vector::from_values(LogicalType::decimal(9, scale), &[100i32, 200]);
    let mut out = Vector::empty(LogicalType::Boolean);
    let names = Vector::nulls(LogicalType::Varchar, 2);
    speaks(
        compare(Cmp::Eq, &ints(), &names, 2, &mut out),
        "comparison of INTEGER with VARCHAR without a cast",
    );
    let scaled = "comparison of DECIMAL(9,2) with DECIMAL(9,1) without a cast";
    speaks(compare(Cmp::Lt, &decimals(2), &decimals(1), 2, &mut out), scaled);
    speaks(select_compare(Cmp::Lt, &decimals(2), &decimals(1), 2, None, &mut Vec::new()), scaled);
}

#[test]
fn logic_is_of_truth_values() {
    let (numbers, truths) = (ints(), Vector::nulls(LogicalType::Boolean, 2));
    let mut out = Vector::empty(LogicalType::Boolean);
    speaks(and(&truths, &numbers, 2, &mut out), "logic on a vector of INTEGER");
    speaks(or(&numbers, &truths, 2, &mut out), "logic on a vector of INTEGER");
    speaks(not(&numbers, 2, &mut out), "logic on a vector of INTEGER");
}

#[derive(Debug)]
struct Nothing;

impl ExternalFunction for Nothing {
    fn call(&self, _args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        Ok(Vector::nulls(LogicalType::BigInt, len))
    }
}

#[test]
fn functions_of_hosts_are_called_as_what_they_are() {
    let parameters = vec![Parameter::new("x", LogicalType::BigInt)];
    let definition = FunctionDefinition::of_host("f", FunctionKind::Scalar, parameters, LogicalType::BigInt);
    let scalar = External::new(definition, Callee::Scalar(Arc::new(Nothing)));
    let called = scalar.aggregate().map(|_| ());
    speaks(called, "function \"f\" was called as an aggregate");
    assert!(scalar.call(&[ints()], &CallSite::new(vec![false]), 2).is_ok());
}
