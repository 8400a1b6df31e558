//! What is written reads back; tables are found in sheets.

use super::*;
use crate::write::tests::{alone, opened};
use inlay_types::{Interrupt, MemoryBudget, Vector};
use rust_xlsxwriter::{Format, Workbook as Book};

fn path(name: &str) -> String {
    let file = format!("inlay-excel-{}-{name}.xlsx", std::process::id());
    std::env::temp_dir().join(file).to_string_lossy().into_owned()
}

fn read(path: &str, options: &[(&str, Value)]) -> Result<(Vec<String>, Vec<String>)> {
    let options: Vec<(String, Value)> = options.iter().map(|(n, v)| ((*n).to_string(), v.clone())).collect();
    let source = ReadExcel::new(&Arc::default()).bind(
        &[Value::Varchar(path.to_string())],
        &options,
        &inlay_sql::parser::parse_type,
    )?;
    let columns = source.columns().iter().map(|column| format!("{} {}", column.name, column.ty)).collect();
    let request = ScanRequest {
        columns: (0..source.columns().len()).collect(),
        filters: Vec::new(),
        any_of: Vec::new(),
        budget: MemoryBudget::unlimited(),
        interrupt: Interrupt::new(),
    };
    let scan = source.scan(request)?;
    let mut rows = Vec::new();
    while let Some(task) = scan.next_task()? {
        for batch in task {
            let batch = batch?;
            for row in 0..batch.len() {
                let values: Vec<String> =
                    batch.columns().iter().map(|column| column.get(row).to_string()).collect();
                rows.push(values.join("|"));
            }
        }
    }
    Ok((columns, rows))
}

fn text(text: &str) -> Value {
    Value::Varchar(text.to_string())
}

/// A sheet with a title, a table that begins at B3, and notes below it.
fn book(path: &str) {
    let mut book = Book::new();
    let sheet = book.add_worksheet();
    let date = Format::new().set_num_format("dd.mm.yyyy");
    for (column, name) in ["name", "day", "value", "yes"].into_iter().enumerate() {
        sheet.write_string(2, column as u16 + 1, name).unwrap();
    }
    sheet.write_string(3, 1, "ä").unwrap();
    sheet.write_number_with_format(3, 2, 45_000.0, &date).unwrap();
    sheet.write_number(3, 3, 1.5).unwrap();
    sheet.write_boolean(3, 4, true).unwrap();
    sheet.write_number(4, 1, 7).unwrap();
    sheet.write_number(4, 3, 2).unwrap();
    sheet.write_string(6, 1, "a note").unwrap();
    let other = book.add_worksheet().set_name("Other").unwrap();
    other.write_string(0, 0, "x").unwrap();
    other.write_string(1, 0, "n/a").unwrap();
    book.save(path).unwrap();
}

#[test]
fn tables_are_found_in_sheets() {
    let path = path("found");
    book(&path);
    let (columns, rows) = read(&path, &[]).unwrap();
    assert_eq!(columns, ["name VARCHAR", "day DATE", "value DOUBLE", "yes BOOLEAN"]);
    assert_eq!(
        rows,
        ["ä|2023-03-15|1.5|true", "7|NULL|2.0|NULL", "NULL|NULL|NULL|NULL", "a note|NULL|NULL|NULL"]
    );
    let (_, rows) = read(&path, &[("stop_at_empty", Value::Boolean(true))]).unwrap();
    assert_eq!(rows, ["ä|2023-03-15|1.5|true", "7|NULL|2.0|NULL"]);

    let (columns, rows) =
        read(&path, &[("header", Value::Boolean(false)), ("range", text("B4:D7"))]).unwrap();
    assert_eq!(columns, ["B4 VARCHAR", "C4 DATE", "D4 DOUBLE"]);
    assert_eq!(rows, ["ä|2023-03-15|1.5", "7|NULL|2.0", "NULL|NULL|NULL", "a note|NULL|NULL"]);

    let (columns, rows) = read(&path, &[("all_varchar", Value::Boolean(true))]).unwrap();
    assert_eq!(columns[2], "value VARCHAR");
    assert_eq!(rows[1], "7|NULL|2|NULL");

    let (columns, rows) = read(&path, &[("sheet", text("other"))]).unwrap();
    assert_eq!((columns[0].as_str(), rows[0].as_str()), ("x VARCHAR", "n/a"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_does_not_fit_is_named() {
    let path = path("unfit");
    let mut book = Book::new();
    let sheet = book.add_worksheet();
    for (row, value) in ["x", "1", "none"].into_iter().enumerate() {
        match value.parse::<f64>() {
            Ok(number) => sheet.write_number(row as u32, 1, number).unwrap(),
            Err(_) => sheet.write_string(row as u32, 1, value).unwrap(),
        };
    }
    book.save(&path).unwrap();
    let error = read(&path, &[]).unwrap_err().to_string();
    assert!(error.contains("cell B3 of sheet \"Sheet1\"") && error.contains("none"), "{error}");
    let (_, rows) = read(&path, &[("ignore_errors", Value::Boolean(true))]).unwrap();
    assert_eq!(rows, ["1.0", "NULL"]);
    let error = read(&path, &[("sheet", text("Nowhere"))]).unwrap_err().to_string();
    assert!(error.contains("it has Sheet1"), "{error}");
    assert!(read(&path, &[("range", text("C9:A1"))]).is_err());
    assert!(read(&path, &[("colour", text("red"))]).is_err());
    std::fs::write(&path, b"no workbook").unwrap();
    assert!(matches!(read(&path, &[]), Err(Error::MalformedFile { .. })));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_written_reads_back() {
    let path = path("written");
    let types = [
        LogicalType::Integer,
        LogicalType::BigInt,
        LogicalType::decimal(9, 2),
        LogicalType::Boolean,
        LogicalType::Varchar,
        LogicalType::Date,
        LogicalType::Time,
        LogicalType::Timestamp,
    ];
    let values = [
        Value::Integer(-3),
        Value::BigInt(i64::MAX),
        Value::Decimal { unscaled: 123, precision: 9, scale: 2 },
        Value::Boolean(false),
        text(" ä & <b> "),
        Value::Date(19_000),
        Value::Time(45_296_000_000),
        Value::Timestamp(1_700_000_000_123_000),
    ];
    let columns = types
        .iter()
        .zip(&values)
        .map(|(ty, value)| Vector::from_sql_values(ty.clone(), &[value.clone(), Value::Null]).unwrap());
    let batch = Batch::new(columns.collect(), 2);
    let names: Vec<String> = (0..types.len()).map(|i| format!("c{i}")).collect();
    let options = [("header".to_string(), Value::Boolean(true)), ("sheet".to_string(), text("One"))];
    let mut writer = opened(&path, &names, &types, &options).unwrap();
    writer.write(&[batch], &alone).unwrap();
    assert_eq!(writer.finish(&alone), Ok(2));
    let (columns, rows) = read(&path, &[("sheet", text("One"))]).unwrap();
    assert_eq!(columns[4..], ["c4 VARCHAR", "c5 DATE", "c6 TIME", "c7 TIMESTAMP"]);
    let expected =
        "-3.0|9223372036854775807|1.23|false| ä & <b> |2022-01-08|12:34:56|2023-11-14 22:13:20.123";
    assert_eq!(rows, [expected, "NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL"]);
    std::fs::remove_file(path).unwrap();
}
