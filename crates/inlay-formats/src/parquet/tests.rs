//! What is written reads back; row groups are skipped; damaged files are errors.

use super::*;
use crate::write::tests::written;
use inlay_storage::{Cmp, SegmentPredicate};
use inlay_types::{Batch, Interrupt, LogicalType, MemoryBudget, VECTOR_SIZE, Vector};

fn path(name: &str) -> String {
    let file = format!("inlay-parquet-{}-{name}.parquet", std::process::id());
    std::env::temp_dir().join(file).to_string_lossy().into_owned()
}

fn rows(
    source: &dyn TableSource,
    columns: Vec<usize>,
    filters: Vec<SourceFilter>,
) -> Result<Vec<Vec<Value>>> {
    let request = ScanRequest {
        columns,
        filters,
        any_of: Vec::new(),
        budget: MemoryBudget::unlimited(),
        interrupt: Interrupt::new(),
    };
    let scan = source.scan(request)?;
    let mut rows = Vec::new();
    while let Some(task) = scan.next_task()? {
        for batch in task {
            let batch = batch?;
            assert!(batch.len() <= VECTOR_SIZE);
            rows.extend((0..batch.len()).map(|r| batch.columns().iter().map(|c| c.get(r)).collect()));
        }
    }
    Ok(rows)
}

fn sample(rows: usize) -> (Vec<String>, Batch) {
    let column = |ty: LogicalType, value: &dyn Fn(usize) -> Value| {
        let values: Vec<Value> =
            (0..rows).map(|i| if i % 11 == 10 { Value::Null } else { value(i) }).collect();
        Vector::from_sql_values(ty, &values).unwrap()
    };
    let stored = |ty: LogicalType| {
        column(ty.clone(), &move |i| Value::from_stored_i128(&ty, i as i128 % 100).unwrap())
    };
    let mut columns: Vec<Vector> = [
        LogicalType::Boolean,
        LogicalType::TinyInt,
        LogicalType::SmallInt,
        LogicalType::UInteger,
        LogicalType::UBigInt,
        LogicalType::Date,
        LogicalType::Time,
        LogicalType::Timestamp,
        LogicalType::decimal(4, 1),
        LogicalType::decimal(9, 2),
        LogicalType::decimal(15, 2),
        LogicalType::decimal(30, 5),
    ]
    .map(stored)
    .to_vec();
    columns.insert(0, Vector::from_values(LogicalType::BigInt, &(0..rows as i64).collect::<Vec<_>>()));
    columns.push(column(LogicalType::Double, &|i| Value::Double(i as f64 / 8.0)));
    columns.push(column(LogicalType::Varchar, &|i| Value::Varchar(format!("{i}").repeat(i % 8))));
    columns.push(column(LogicalType::Blob, &|i| Value::Blob(vec![i as u8; i % 20])));
    let names = (0..columns.len()).map(|i| format!("c{i}")).collect();
    (names, Batch::new(columns, rows))
}

#[test]
fn what_is_written_reads_back() {
    let (names, batch) = sample(10_000);
    let parts = (0..10_000).step_by(1500).map(|from| Ok(batch.slice(from, 1500.min(10_000 - from))));
    for codec in ["snappy", "zstd", "gzip", "lz4", "uncompressed"] {
        let path = path(codec);
        let options = [
            ("compression".to_string(), Value::Varchar(codec.to_string())),
            ("row_group_size".to_string(), Value::Integer(3000)),
        ];
        assert_eq!(written(&path, &names, &batch.types(), parts.clone(), &options), Ok(10_000));
        let source = ReadParquet::new("read_parquet", &Arc::default())
            .bind(&[Value::Varchar(path.clone())], &[], &inlay_sql::parser::parse_type)
            .unwrap();
        let types: Vec<LogicalType> = source.columns().iter().map(|c| c.ty.clone()).collect();
        assert_eq!(types, batch.types());
        assert_eq!(source.row_count_estimate(), Some(10_000));
        let wanted: Vec<usize> = (0..names.len()).rev().collect();
        let found = rows(&*source, wanted.clone(), Vec::new()).unwrap();
        for (index, row) in found.iter().enumerate() {
            let expected: Vec<Value> = wanted.iter().map(|&c| batch.column(c).get(index)).collect();
            assert_eq!(*row, expected);
        }
        assert_eq!(rows(&*source, Vec::new(), Vec::new()).unwrap().len(), 10_000);

        let filter = |predicate| vec![SourceFilter { column: 0, predicate }];
        let above = filter(SegmentPredicate::Compare(Cmp::Gt, Value::BigInt(8_999)));
        assert_eq!(rows(&*source, vec![0], above).unwrap().len(), 1000);
        let none = filter(SegmentPredicate::In(vec![Value::BigInt(-1), Value::BigInt(10_000)]));
        assert_eq!(rows(&*source, vec![0], none).unwrap().len(), 0);
        assert_eq!(rows(&*source, vec![0], filter(SegmentPredicate::IsNull)).unwrap().len(), 0);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn damaged_files_are_errors() {
    let (names, batch) = sample(500);
    let path = path("damaged");
    written(&path, &names, &batch.types(), [Ok(batch.clone())].into_iter(), &[]).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let source = ReadParquet::new("read_parquet", &Arc::default()).bind(
            &[Value::Varchar(path.clone())],
            &[],
            &inlay_sql::parser::parse_type,
        )?;
        rows(&*source, (0..source.columns().len()).collect(), Vec::new())
    };
    assert!(read(&whole).is_ok());
    for bytes in [&whole[..0], &whole[..7], &whole[..whole.len() / 2], &whole[100..], b"a,b\n1,2\n"] {
        assert!(matches!(read(bytes), Err(Error::MalformedFile { .. })));
    }
    // Any single byte changed: the right rows, other rows (Parquet has no checksums by default) or an error.
    for at in (0..whole.len()).step_by(whole.len() / 150) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let _ = read(&bytes);
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_nested_column_that_ends_early_is_damage() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/parquet/testdata/list_ends_early.parquet");
    let read = ReadParquet::new("read_parquet", &Arc::default());
    let source = read.bind(&[Value::Varchar(path.to_string())], &[], &inlay_sql::parser::parse_type).unwrap();
    let all = rows(&*source, (0..source.columns().len()).collect(), Vec::new());
    assert!(matches!(all, Err(Error::MalformedFile { .. })), "{all:?}");
}

#[test]
fn filters_behind_nested_columns_read_their_own_statistics() {
    let parts = LogicalType::structure([("a", LogicalType::Integer), ("b", LogicalType::Integer)]);
    let LogicalType::Struct(fields) = &parts else { panic!("a struct") };
    let part = |i: i32| Value::Struct {
        fields: Arc::clone(fields),
        values: vec![Value::Integer(i), Value::Integer(1000 + i)],
    };
    let nested: Vec<Value> = (0..10).map(part).collect();
    let plain: Vec<Value> = (0..10).map(Value::Integer).collect();
    let columns = vec![
        Vector::from_sql_values(parts.clone(), &nested).unwrap(),
        Vector::from_sql_values(LogicalType::Integer, &plain).unwrap(),
    ];
    let batch = Batch::new(columns, 10);
    let (path, names) = (path("nested"), ["s".to_string(), "x".to_string()]);
    if written(&path, &names, &batch.types(), [Ok(batch.clone())].into_iter(), &[]).is_err() {
        return;
    }
    let file = ParquetFile::open(&Arc::default(), path.clone(), &Options::default()).unwrap();
    let source = ParquetSource::new(vec![file], &Options::default()).unwrap();
    let predicate = SegmentPredicate::Compare(Cmp::Eq, Value::Integer(5));
    let found = rows(&source, vec![1], vec![SourceFilter { column: 1, predicate }]).unwrap();
    assert_eq!(found.len(), 10);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn footers_are_rows() {
    let (names, batch) = sample(300);
    let path = path("about");
    let options = [("row_group_size".to_string(), Value::Integer(100))];
    written(&path, &names, &batch.types(), [Ok(batch.clone())].into_iter(), &options).unwrap();
    let read = |about: about::About, columns: Vec<usize>| {
        let function = about::AboutParquet::new(about, &Arc::default());
        let source =
            function.bind(&[Value::Varchar(path.clone())], &[], &inlay_sql::parser::parse_type).unwrap();
        rows(&*source, columns, Vec::new()).unwrap()
    };
    let groups = read(about::About::RowGroups, vec![1, 2, 8, 12]);
    assert_eq!(groups.len() % names.len(), 0);
    assert_eq!(groups[0][2], Value::Varchar(names[0].clone()));
    let schema = read(about::About::Schema, vec![1, 11, 12]);
    assert_eq!(schema.len(), names.len() + 1);
    let file = read(about::About::File, vec![2, 7]);
    assert_eq!(file[0][0], Value::BigInt(300));
    assert_eq!(file[0][1], Value::UBigInt(std::fs::metadata(&path).unwrap().len()));
    let function = about::AboutParquet::new(about::About::Pairs, &Arc::default());
    assert!(
        function
            .bind(
                &[Value::Varchar(path.clone())],
                &[("x".to_string(), Value::Null)],
                &inlay_sql::parser::parse_type
            )
            .is_err()
    );
    assert!(
        function
            .bind(&[Value::Varchar("/nowhere.parquet".into())], &[], &inlay_sql::parser::parse_type)
            .is_err()
    );
    std::fs::remove_file(path).unwrap();
}
