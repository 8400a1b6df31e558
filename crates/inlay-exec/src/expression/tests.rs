//! What programs promise beyond the kernels: shared subexpressions, dictionaries, and errors of unevaluated branches.

use super::*;
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::resolve::{ArgType, ResolveOptions};
use inlay_sql::plan::{Expr, Place};
use inlay_types::{Batch, Buffer, Dictionary, Error, LogicalType, Value, Vector, VectorBuilder};

const INT: LogicalType = LogicalType::Integer;

fn column(id: u32, ty: LogicalType) -> Expr {
    Expr::Column { id: ColumnId(id), ty }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types: Vec<ArgType> = args.iter().map(|arg| ArgType::of(arg.ty())).collect();
    let function =
        resolve_scalar(name, &types, &ResolveOptions { integer_division: true, ..Default::default() })
            .unwrap();
    let args = args
        .into_iter()
        .zip(&function.arg_types)
        .map(|(arg, ty)| {
            if arg.ty() == *ty {
                arg
            } else {
                Expr::Cast { input: Box::new(arg), ty: ty.clone(), or_null: false, place: Place::default() }
            }
        })
        .collect();
    Expr::Call { function, args, place: Place::default() }
}

fn int(value: i32) -> Expr {
    Expr::literal(Value::Integer(value))
}

fn ints(values: &[Option<i32>]) -> Vector {
    let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, Value::Integer)).collect();
    Vector::from_sql_values(INT, &values).unwrap()
}

fn values(vector: &Vector) -> Vec<Value> {
    (0..vector.len()).map(|row| vector.get(row)).collect()
}

fn eval(expr: &Expr, batch: &Batch) -> Result<Vec<Value>> {
    let layout = Layout((0..batch.columns().len() as u32).map(ColumnId).collect());
    let program = Program::compile(expr, &layout)?;
    let mut state = program.state();
    let first = program.eval(&mut state, batch)?;
    // Scratch is used again; the first answer must not change.
    let second = program.eval(&mut state, batch)?;
    assert_eq!(values(&first), values(&second));
    Ok(values(&first))
}

fn batch() -> Batch {
    Batch::new(vec![ints(&[Some(6), Some(7), None, Some(-4)]), ints(&[Some(2), Some(0), Some(0), None])], 4)
}

#[test]
fn branches_that_are_not_taken_do_not_fail() {
    let quotient = call("/", vec![column(0, INT), column(1, INT)]);
    assert_eq!(eval(&quotient, &batch()).map_err(|error| error.root().clone()), Err(Error::DivisionByZero));
    let is_zero = Expr::compare(CompareOp::Eq, column(1, INT), int(0));
    let ty = quotient.ty();
    let minus_one =
        Expr::Cast { input: Box::new(int(-1)), ty: ty.clone(), or_null: false, place: Place::default() };
    let guarded = Expr::Case {
        branches: vec![(is_zero.clone(), minus_one)],
        otherwise: Box::new(quotient.clone()),
        ty: ty.clone(),
    };
    let found = eval(&guarded, &batch()).unwrap();
    assert_eq!(found.iter().map(Value::to_string).collect::<Vec<_>>(), ["3", "-1", "-1", "NULL"]);

    let zero = Expr::Cast { input: Box::new(int(0)), ty, or_null: false, place: Place::default() };
    let positive = Expr::compare(CompareOp::Gt, quotient, zero);
    let and = Expr::And(vec![Expr::Not(Box::new(is_zero)), positive]);
    let found = eval(&and, &batch()).unwrap();
    assert_eq!(found, [Value::Boolean(true), Value::Boolean(false), Value::Boolean(false), Value::Null]);
}

#[test]
fn coalesce_takes_the_first_value() {
    let coalesce = Expr::Coalesce { args: vec![column(1, INT), column(0, INT), int(9)], ty: INT };
    let found = eval(&coalesce, &batch()).unwrap();
    assert_eq!(found, [Value::Integer(2), Value::Integer(0), Value::Integer(0), Value::Integer(-4)]);
}

#[test]
fn dictionaries_are_computed_once_and_stay() {
    let mut builder = VectorBuilder::new(LogicalType::Varchar, 2);
    builder.push_bytes(b"green");
    builder.push_bytes(b"a rather long red");
    let dictionary = Dictionary::new(builder.finish());
    let codes = Buffer::copy_of(&[1u32, 0, 0, 1]);
    let batch = Batch::new(vec![Vector::dictionary(dictionary, codes, 4, None)], 4);
    let upper = call("upper", vec![column(0, LogicalType::Varchar)]);
    let layout = Layout(vec![ColumnId(0)]);
    let program = Program::compile(&upper, &layout).unwrap();
    let result = program.eval(&mut program.state(), &batch).unwrap();
    assert!(result.as_dictionary().is_some(), "the result of a function of a dictionary is a dictionary");
    assert_eq!(result.get(0), Value::Varchar("A RATHER LONG RED".into()));
    assert_eq!(result.get(2), Value::Varchar("GREEN".into()));

    let is_green = Expr::compare(
        CompareOp::Eq,
        column(0, LogicalType::Varchar),
        Expr::literal(Value::Varchar("green".into())),
    );
    let filter = Filter::compile(&[is_green], &layout).unwrap();
    let mut rows = Vec::new();
    filter.select(&mut filter.state(), &batch, &mut rows).unwrap();
    assert_eq!(rows, [1, 2]);
}

#[test]
fn lists_know_null() {
    let literal = |v: Option<i32>| v.map_or(Expr::Literal { value: Value::Null, ty: INT }, int);
    let list = |items: &[Option<i32>]| Expr::InList {
        input: Box::new(column(0, INT)),
        list: items.iter().map(|i| literal(*i)).collect(),
    };
    let (yes, no, unknown) = (Value::Boolean(true), Value::Boolean(false), Value::Null);
    let found = eval(&list(&[Some(6), Some(7)]), &batch()).unwrap();
    assert_eq!(found, [yes.clone(), yes.clone(), unknown.clone(), no]);
    let found = eval(&list(&[Some(6), None]), &batch()).unwrap();
    assert_eq!(found, [yes, unknown.clone(), unknown.clone(), unknown]);
}

#[test]
fn conjuncts_see_only_the_rows_that_are_left() {
    let quotient = call("/", vec![column(0, INT), column(1, INT)]);
    let zero =
        Expr::Cast { input: Box::new(int(0)), ty: quotient.ty(), or_null: false, place: Place::default() };
    let not_zero = Expr::compare(CompareOp::NotEq, column(1, INT), int(0));
    let positive = Expr::compare(CompareOp::Gt, quotient, zero);
    let layout = Layout(vec![ColumnId(0), ColumnId(1)]);
    let filter = Filter::compile(&[not_zero, positive], &layout).unwrap();
    let mut rows = Vec::new();
    filter.select(&mut filter.state(), &batch(), &mut rows).unwrap();
    assert_eq!(rows, [0]);
}

/// What a step makes of NULL is not lost where it is computed once per value of a dictionary.
#[test]
fn nulls_beside_a_dictionary_are_seen() {
    let texts = [Value::Varchar("green".into()), Value::Varchar("a rather long red".into())];
    let dictionary = Dictionary::new(Vector::from_sql_values(LogicalType::Varchar, &texts).unwrap());
    let codes = Buffer::copy_of(&[1u32, 0, 0, 1]);
    let coded = |nulls: [bool; 4]| {
        let valid = inlay_types::Bitmap::from_fn(4, |row| !nulls[row]);
        Vector::dictionary(std::sync::Arc::clone(&dictionary), codes.clone(), 4, Some(valid))
    };
    let text = || column(0, LogicalType::Varchar);
    let green = || Expr::literal(Value::Varchar("green".into()));
    let layout = Layout(vec![ColumnId(0)]);
    for expr in [
        call("concat", vec![text(), green()]),
        call("list_value", vec![text()]),
        call("num_nulls", vec![text()]),
        call("upper", vec![text()]),
        Expr::compare(CompareOp::Distinct, text(), green()),
        Expr::compare(CompareOp::NotDistinct, text(), green()),
        Expr::compare(CompareOp::Eq, text(), green()),
    ] {
        let program = Program::compile(&expr, &layout).unwrap();
        let mut state = program.state();
        // What is remembered of batches without NULL is of no use to those with some, and the other way round.
        for nulls in [[false; 4], [true, false, true, false], [true; 4], [false; 4]] {
            let coded = coded(nulls);
            let flat = Batch::new(vec![coded.flatten()], 4);
            let expected = program.eval(&mut program.state(), &flat).unwrap();
            let found = program.eval(&mut state, &Batch::new(vec![coded], 4)).unwrap();
            for row in 0..4 {
                assert_eq!(found.get(row), expected.get(row), "{expr:?}, NULL in {nulls:?}");
            }
        }
    }
}

#[test]
fn a_register_that_nobody_wrote_is_no_column() {
    let layout = Layout(vec![ColumnId(0), ColumnId(1)]);
    let sum = call("+", vec![column(0, INT), column(1, INT)]);
    let mut program = Program::compile(&sum, &layout).unwrap();
    program.forget_steps();
    let error = program.eval(&mut program.state(), &batch()).unwrap_err();
    assert!(matches!(error.root(), Error::Internal { .. }), "{error}");
}

#[test]
fn a_constant_of_another_type_is_refused() {
    let wrong = Expr::Literal { value: Value::Varchar("a".into()), ty: INT };
    assert!(Program::compile(&wrong, &Layout(Vec::new())).is_err());
}
