//! Broken invariants speak up: who breaks one is told which, and gets no answer.

use crate::arrow::{ArrowField, ArrowRecords, Exporter};
use crate::nested::{
    extract_elements, extract_field, pack_elements, pack_lists, pack_maps, pack_struct, pack_unions,
    unpack_lists, unpack_maps, unpack_struct, unpack_unions, write::push_value,
};
use crate::{Error, Field, LogicalType, Result, Value, Vector, VectorBuilder};
use std::fmt::Debug;

/// The outcome is an internal error that says `what`.
#[track_caller]
fn speaks<T: Debug>(outcome: Result<T>, what: &str) {
    match outcome {
        Err(Error::Internal { message }) => assert!(message.contains(what), "{message} does not say {what}"),
        other => panic!("no internal error: {other:?}"),
    }
}

fn ints(values: &[i32]) -> Vector {
    Vector::from_values(LogicalType::Integer, values)
}

fn structure() -> LogicalType {
    LogicalType::Struct([Field::new("a", LogicalType::Integer), Field::new("b", LogicalType::Varchar)].into())
}

fn union() -> LogicalType {
    LogicalType::Union([Field::new("a", LogicalType::Integer), Field::new("b", LogicalType::Varchar)].into())
}

#[test]
fn nested_values_are_taken_apart_as_what_they_are() {
    let numbers = ints(&[1, 2]);
    speaks(unpack_lists(&numbers), "INTEGER unpacked as lists");
    speaks(unpack_maps(&numbers), "INTEGER unpacked as maps");
    speaks(unpack_struct(&numbers), "INTEGER unpacked as structs");
    speaks(unpack_unions(&numbers), "INTEGER unpacked as unions");
    speaks(extract_elements(&numbers, |_, _| Some(0)), "an element of INTEGER");
    speaks(extract_field(&numbers, 0), "a field of INTEGER");
    let structs = Vector::nulls(structure(), 2);
    speaks(extract_field(&structs, 2), "field 2 of STRUCT");
}

#[test]
fn nested_values_are_put_together_of_parts_that_fit() {
    let (numbers, words) = (ints(&[1, 2]), Vector::nulls(LogicalType::Varchar, 2));
    let (lists, int) = (LogicalType::list(LogicalType::Integer), LogicalType::Integer);
    let maps = LogicalType::map(LogicalType::Integer, LogicalType::Integer);
    let do_not_fit = "parts of nested values do not fit together";
    speaks(pack_lists(&int, &numbers, &[0, 2], None), "lists packed as INTEGER");
    speaks(pack_lists(&lists, &words, &[0, 2], None), do_not_fit);
    speaks(pack_lists(&lists, &numbers, &[0, 3], None), do_not_fit);
    speaks(pack_lists(&lists, &numbers, &[1, 0], None), do_not_fit);
    speaks(pack_elements(&int, &[&numbers], 2), "lists packed as INTEGER");
    speaks(pack_elements(&lists, &[&words], 2), do_not_fit);
    speaks(pack_elements(&lists, &[&numbers], 3), do_not_fit);
    speaks(pack_struct(&int, &[&numbers], 2, None), "structs packed as INTEGER");
    speaks(pack_struct(&structure(), &[&numbers], 2, None), do_not_fit);
    speaks(pack_struct(&structure(), &[&words, &numbers], 2, None), do_not_fit);
    speaks(pack_maps(&int, &numbers, &numbers, &[0, 2], None), "maps packed as INTEGER");
    speaks(pack_maps(&maps, &numbers, &numbers, &[0, 3], None), do_not_fit);
    speaks(pack_maps(&maps, &numbers, &numbers, &[2, 0], None), do_not_fit);
    speaks(pack_unions(&int, &[0, 0], &[&numbers], None), "unions packed as INTEGER");
    speaks(pack_unions(&union(), &[0, 0], &[&numbers], None), do_not_fit);
    speaks(pack_unions(&union(), &[0, 2], &[&numbers, &words], None), "a UNION has no such member");
}

/// Bytes of a file are looked at when they are read; nobody else packs such a value.
#[test]
fn a_value_of_a_member_that_a_union_has_not_is_no_value_of_another() {
    let wide = LogicalType::Union(
        ["a", "b", "c"].iter().map(|name| Field::new(*name, LogicalType::Integer)).collect(),
    );
    let values =
        pack_unions(&wide, &[2, 0], &[&ints(&[1, 2]), &ints(&[3, 4]), &ints(&[5, 6])], None).unwrap();
    let narrow = values.reinterpret(union());
    speaks(unpack_unions(&narrow), "a value of member 2 of UNION");
}

#[test]
fn columns_take_values_of_their_type_only() {
    let refused = |ty: LogicalType, value: Value| VectorBuilder::new(ty, 1).push(&value);
    speaks(refused(LogicalType::Integer, Value::Varchar("1".into())), "VARCHAR value in a column of INTEGER");
    speaks(refused(LogicalType::Integer, Value::BigInt(1)), "BIGINT value in a column of INTEGER");
    speaks(refused(LogicalType::Varchar, Value::Integer(1)), "INTEGER value in a column of VARCHAR");
    speaks(
        push_value(&structure(), &Value::Integer(1), &mut Vec::new()),
        "INTEGER value where STRUCT(a INTEGER, b VARCHAR) is expected",
    );
    speaks(ints(&[1]).expect_type(&LogicalType::BigInt), "expected a vector of BIGINT, found INTEGER");
}

#[test]
fn rows_for_arrow_fit_their_schema_and_rows_of_arrow_are_there() {
    let exporter = Exporter::new(&["a".to_string()], &[LogicalType::Integer]);
    let numbers = ints(&[1, 2]);
    let do_not_fit = "columns to export do not fit the schema";
    speaks(exporter.columns(&[numbers.clone(), numbers.clone()], 2).map(drop), do_not_fit);
    speaks(exporter.columns(std::slice::from_ref(&numbers), 3).map(drop), do_not_fit);
    let field = ArrowField::read(&exporter.schema()).unwrap();
    let records = ArrowRecords::import(exporter.columns(&[numbers], 2).unwrap(), &field).unwrap();
    speaks(records.columns()[0].vector(1, 2), "rows 1 and following are outside of column \"a\"");
    speaks(records.columns()[0].vector(usize::MAX, 2), "are outside of column \"a\"");
}
