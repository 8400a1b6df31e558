use super::*;
use inlay_types::{Buffer, Dictionary, Value};
use std::sync::Mutex;

/// Doubles integers, with NULL as -1, and notes how many rows it saw at a time.
#[derive(Debug, Default)]
struct Doubling(Mutex<Vec<usize>>);

impl ExternalFunction for Doubling {
    fn call(&self, args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        self.0.lock().unwrap().push(len);
        let doubled = |row| args[0].get(row).as_i128().map_or(-1, |value| value as i32 * 2);
        Ok(Vector::from_values(LogicalType::Integer, &(0..len).map(doubled).collect::<Vec<i32>>()))
    }
}

fn definition(null_handling: NullHandling, volatility: Volatility) -> FunctionDefinition {
    FunctionDefinition {
        name: "double".into(),
        kind: FunctionKind::Scalar,
        language: "toy".into(),
        parameters: vec![Parameter::new("x", LogicalType::Integer)],
        is_variadic: false,
        returns: LogicalType::Integer,
        granularity: Granularity::Chunk,
        volatility,
        null_handling,
        options: Vec::new(),
        body: String::new(),
    }
}

fn called(definition: FunctionDefinition, arg: &Vector) -> (Vec<Value>, Vec<usize>) {
    let function = Arc::new(Doubling::default());
    let external = External::new(definition, Callee::Scalar(Arc::<Doubling>::clone(&function) as _));
    let values = external.call(std::slice::from_ref(arg), &CallSite::new(vec![false]), arg.len()).unwrap();
    let calls = function.0.lock().unwrap().clone();
    ((0..values.len()).map(|row| values.get(row)).collect(), calls)
}

fn integers(values: &[Option<i32>]) -> Vector {
    let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, Value::Integer)).collect();
    Vector::from_sql_values(LogicalType::Integer, &values).unwrap()
}

fn value(number: i32) -> Value {
    Value::Integer(number)
}

#[test]
fn a_function_that_propagates_nulls_sees_none() {
    let input = integers(&[None, Some(1), None, Some(2)]);
    let strict = definition(NullHandling::Propagate, Volatility::Stable);
    assert_eq!(called(strict.clone(), &input), (vec![Value::Null, value(2), Value::Null, value(4)], vec![2]));
    assert_eq!(called(strict, &integers(&[None, None])), (vec![Value::Null, Value::Null], vec![]));
    let own = definition(NullHandling::Special, Volatility::Stable);
    assert_eq!(called(own, &input), (vec![value(-1), value(2), value(-1), value(4)], vec![4]));
}

#[test]
fn an_immutable_function_sees_each_value_of_a_dictionary_once_and_only_those_in_use() {
    let dictionary = Dictionary::new(integers(&[Some(7), Some(8), Some(9)]));
    let validity = Bitmap::from_fn(5, |row| row != 2);
    let coded = Vector::dictionary(dictionary, Buffer::copy_of(&[2u32, 0, 0, 2, 2]), 5, Some(validity));
    let own = definition(NullHandling::Special, Volatility::Immutable);
    let expected = vec![value(18), value(14), value(-1), value(18), value(18)];
    assert_eq!(called(own, &coded), (expected, vec![3]));
    let stable = definition(NullHandling::Special, Volatility::Stable);
    assert_eq!(called(stable, &coded).1, vec![5]);
}

#[test]
fn constants_are_computed_once_if_the_function_is_immutable() {
    let constant = Vector::constant(LogicalType::Integer, &value(4), 3).unwrap();
    let immutable = definition(NullHandling::Special, Volatility::Immutable);
    assert_eq!(called(immutable, &constant), (vec![value(8); 3], vec![1]));
    let volatile = definition(NullHandling::Special, Volatility::Volatile);
    assert_eq!(called(volatile, &constant), (vec![value(8); 3], vec![3]));
}

#[test]
fn nothing_is_called_for_no_rows_and_a_wrong_result_is_refused() {
    let own = definition(NullHandling::Special, Volatility::Immutable);
    assert_eq!(called(own.clone(), &integers(&[])), (vec![], vec![]));
    let wrong = FunctionDefinition { returns: LogicalType::Double, ..own };
    let external = External::new(wrong, Callee::Scalar(Arc::new(Doubling::default())));
    let error = external.call(&[integers(&[Some(1)])], &CallSite::new(vec![false]), 1).unwrap_err();
    assert_eq!(error.to_string(), "function \"double\" gave 1 rows of INTEGER, not 1 rows of DOUBLE");
}

#[test]
fn a_function_of_whole_columns_has_no_kernel() {
    let own = definition(NullHandling::Special, Volatility::Stable);
    let whole = FunctionDefinition { granularity: Granularity::Column, ..own };
    let scalar = External::new(whole, Callee::Scalar(Arc::new(Doubling::default())))
        .as_scalar(vec![LogicalType::Integer], vec![false]);
    let error = scalar.kernel.eval(&[&integers(&[Some(1)])], 1, &mut integers(&[])).unwrap_err();
    assert!(error.to_string().contains("takes whole columns"), "{error}");
}
