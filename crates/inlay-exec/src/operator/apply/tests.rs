use super::*;
use crate::concat::concat_batches;
use inlay_kernels::external::{
    Callee, ExternalFunction, FunctionDefinition, FunctionKind, Granularity, Kept, Parameter,
};
use inlay_kernels::{NullHandling, Volatility};
use inlay_sql::plan::{ColumnId, CompareOp};
use inlay_types::Value;
use std::sync::Mutex;

/// Adds one, and notes how many rows it saw at a time.
#[derive(Debug, Default)]
struct AddOne(Mutex<Vec<usize>>);

impl ExternalFunction for AddOne {
    fn call(&self, args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        self.0.lock().unwrap().push(len);
        let values: Vec<i64> = args[0].values::<i64>().iter().map(|value| value + 1).collect();
        Ok(Vector::from_values(LogicalType::BigInt, &values))
    }
}

fn external() -> (Arc<External>, Arc<AddOne>) {
    let function = Arc::new(AddOne::default());
    let definition = FunctionDefinition {
        name: "add_one".into(),
        kind: FunctionKind::Scalar,
        language: "toy".into(),
        parameters: vec![Parameter::new("x", LogicalType::BigInt)],
        is_variadic: false,
        returns: LogicalType::BigInt,
        granularity: Granularity::Chunk,
        volatility: Volatility::Stable,
        null_handling: NullHandling::Special,
        options: Vec::new(),
        body: String::new(),
    };
    (External::new(definition, Callee::Scalar(Arc::<AddOne>::clone(&function) as _)), function)
}

fn input() -> (Expr, Layout) {
    (Expr::Column { id: ColumnId(0), ty: LogicalType::BigInt }, Layout(vec![ColumnId(0)]))
}

fn slices(len: i64, step: usize) -> Vec<Batch> {
    let whole = Vector::from_values(LogicalType::BigInt, &(0..len).collect::<Vec<i64>>());
    let starts = (0..len as usize).step_by(step);
    starts.map(|from| Batch::new(vec![whole.slice(from, step.min(whole.len() - from))], step)).collect()
}

#[test]
fn batches_are_called_as_one_chunk() {
    let (external, function) = external();
    let (column, layout) = input();
    let call = Call::new(&external, &[column], vec![false], None, &layout).unwrap();
    let batches = slices(6000, 2000);
    let applied = apply(std::slice::from_ref(&call), &mut [call.state()], batches).unwrap();
    assert_eq!(*function.0.lock().unwrap(), [6000]);
    let all = concat_batches(&[LogicalType::BigInt, LogicalType::BigInt], &applied);
    assert_eq!(all.column(1).get(5999), Value::BigInt(6000));
}

#[test]
fn a_guarded_call_sees_the_rows_that_reach_it() {
    let (external, function) = external();
    let (column, layout) = input();
    let limit = Expr::literal(Value::BigInt(3998));
    let guard = Expr::compare(CompareOp::GtEq, column.clone(), limit);
    let call = Call::new(&external, &[column], vec![false], Some(&guard), &layout).unwrap();
    let applied = apply(std::slice::from_ref(&call), &mut [call.state()], slices(6000, 2000)).unwrap();
    assert_eq!(function.0.lock().unwrap()[0], 2002);
    assert!((0..2000).all(|row| applied[0].column(1).is_null(row)));
    assert_eq!(applied[1].column(1).get(1998), Value::BigInt(3999));
    assert!(applied[1].column(1).is_null(1997));
    assert_eq!(applied[2].column(1).null_count(), 0);
}

/// Gives the largest of each hundred, and nothing of fewer.
#[derive(Debug)]
struct OneInHundred;

impl ExternalFunction for OneInHundred {
    fn call(&self, _args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        Err(Error::external(format!("it has no value for each of {len} rows")))
    }

    fn reduce(&self, args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        let values = args[0].values::<i64>();
        let largest: Vec<i64> = (0..len / 100).map(|part| values[part * 100 + 99]).collect();
        Ok(Vector::from_values(LogicalType::BigInt, &largest))
    }
}

#[test]
fn fewer_values_are_the_first_rows_of_the_first_batches() {
    let (external, _) = external();
    let definition = external.definition.clone();
    let external = External::new(definition, Callee::Scalar(Arc::new(OneInHundred)));
    let (column, layout) = input();
    let call = || Call::new(&external, std::slice::from_ref(&column), vec![false], None, &layout).unwrap();
    let fewer = call().taking_fewer();
    let applied = apply(std::slice::from_ref(&fewer), &mut [fewer.state()], slices(6000, 20)).unwrap();
    assert_eq!(applied.iter().map(Batch::len).sum::<usize>(), 60);
    let all = concat_batches(&[LogicalType::BigInt, LogicalType::BigInt], &applied);
    assert_eq!((all.column(1).get(0), all.column(1).get(59)), (Value::BigInt(99), Value::BigInt(5999)));
    // None at all, and one that has to give a value for each row.
    assert!(apply(std::slice::from_ref(&fewer), &mut [fewer.state()], slices(80, 20)).unwrap().is_empty());
    let whole = call();
    assert!(apply(std::slice::from_ref(&whole), &mut [whole.state()], slices(600, 20)).is_err());
}
