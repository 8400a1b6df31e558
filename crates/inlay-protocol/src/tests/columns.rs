use super::*;
use crate::chunk::{ChunkReader, ChunkWriter, Chunker};
use crate::column::Effort;
use crate::compression::Compression;
use inlay_types::limits::{self, Limits};
use inlay_types::{Batch, Buffer, Interrupt, MemoryBudget};

const WAYS: [(Effort, Compression); 5] = [
    (Effort::Fast, Compression::None),
    (Effort::Small, Compression::None),
    (Effort::Small, Compression::Lz4),
    (Effort::Small, Compression::Zstd(1)),
    (Effort::Fast, Compression::Zstd(3)),
];

fn there_and_back(types: &[LogicalType], batches: &[Batch], way: (Effort, Compression)) -> (Batch, usize) {
    let mut out = Vec::new();
    ChunkWriter::default().write(types, batches, way.1, way.0, &mut out).unwrap();
    let payload = Buffer::copy_of(&out);
    (ChunkReader::new(&payload, 1 << 30).unwrap().batch(types).unwrap(), out.len())
}

#[test]
fn every_type_comes_back_however_its_vectors_lie() {
    let mut random = Random(7);
    for ty in types() {
        for round in 0..60 {
            let parts: Vec<Vector> = (0..1 + round % 3)
                .map(|_| {
                    let rows = [0, 1, 2, 63, 64, 65, 200][random.below(7)];
                    vector(&ty, rows, &mut random)
                })
                .collect();
            let batches: Vec<Batch> =
                parts.iter().map(|part| Batch::new(vec![part.clone()], part.len())).collect();
            for way in WAYS {
                let (found, _) = there_and_back(std::slice::from_ref(&ty), &batches, way);
                assert_eq!(shown(found.columns()), shown(&parts), "{ty} by {way:?} of {parts:?}");
                assert_eq!(*found.column(0).ty(), ty);
            }
        }
    }
}

#[test]
fn null_slots_hold_what_hosts_take_for_null() {
    let values = [Value::Double(1.0), Value::Null, Value::Double(3.0), Value::Null, Value::Null];
    let column = Vector::from_sql_values(LogicalType::Double, &values).unwrap();
    for way in WAYS {
        let batch = Batch::new(vec![column.clone()], 5);
        let (found, _) = there_and_back(&[LogicalType::Double], &[batch], way);
        assert_eq!(found.column(0).values::<f64>()[1].to_bits(), inlay_types::value::NA.to_bits());
    }
}

#[test]
fn plain_values_are_read_where_they_lie() {
    let values: Vec<f64> = (0..1000).map(|value| f64::from(value) / 3.0).collect();
    let batch = Batch::new(vec![Vector::from_values(LogicalType::Double, &values)], 1000);
    let mut out = Vec::new();
    let types = [LogicalType::Double];
    ChunkWriter::default().write(&types, &[batch], Compression::None, Effort::Fast, &mut out).unwrap();
    let payload = Buffer::copy_of(&out);
    let found = ChunkReader::new(&payload, out.len()).unwrap().batch(&types).unwrap();
    assert!(found.column(0).data().same_owner(&payload));
    assert_eq!(found.column(0).values::<f64>(), values);
}

#[test]
fn the_smallest_form_is_chosen() {
    let rows = 2000;
    let size = |column: Vector, effort| {
        let types = [column.logical_type()];
        there_and_back(&types, &[Batch::new(vec![column], rows)], (effort, Compression::None)).1
    };
    let years: Vec<i64> = (0..rows as i64).map(|row| 1990 + row % 30).collect();
    let years = Vector::from_values(LogicalType::BigInt, &years);
    assert!(size(years.clone(), Effort::Fast) < rows + 100, "a byte each");
    assert!(size(years, Effort::Small) < rows * 5 / 8 + 100, "five bits each");
    let words: Vec<Value> =
        (0..rows).map(|row| Value::Varchar(["DELIVER IN PERSON", "NONE"][row % 2].into())).collect();
    let words = Vector::from_sql_values(LogicalType::Varchar, &words).unwrap();
    assert!(size(words.clone(), Effort::Small) < rows / 8 + 200, "a bit each");
    assert!(size(words, Effort::Fast) > rows * 10, "not looked through");
    assert!(size(Vector::nulls(LogicalType::Varchar, rows), Effort::Fast) < 64);
    let seven = Vector::constant(LogicalType::Integer, &Value::Integer(7), rows).unwrap();
    assert!(size(seven, Effort::Fast) < 100);
    // Values that are NULL take a bit.
    let sparse: Vec<Value> =
        (0..rows).map(|row| if row % 10 == 0 { Value::Double(row as f64) } else { Value::Null }).collect();
    let sparse = Vector::from_sql_values(LogicalType::Double, &sparse).unwrap();
    assert!(size(sparse, Effort::Fast) < rows / 8 + rows / 10 * 8 + 100);
    // Wide numbers stay as they are.
    let wide =
        Vector::from_values(LogicalType::BigInt, &(0..rows as i64).map(|r| r << 52).collect::<Vec<_>>());
    assert!(size(wide, Effort::Fast) < rows * 8 + 100);
}

#[test]
fn dictionaries_of_several_row_groups_become_one() {
    let part = |words: [&str; 2], codes: &[u32]| {
        let words = words.map(|word| Value::Varchar(word.to_string()));
        let distinct = Vector::from_sql_values(LogicalType::Varchar, &words).unwrap();
        Vector::dictionary(Dictionary::new(distinct), Buffer::copy_of(codes), codes.len(), None)
    };
    let codes: Vec<u32> = (0..100).map(|row| row % 2).collect();
    let parts =
        [part(["a long word of the first", "b"], &codes), part(["b", "a long word of the first"], &codes)];
    let batches = parts.clone().map(|part| Batch::new(vec![part], 100));
    let (found, size) = there_and_back(&[LogicalType::Varchar], &batches, (Effort::Fast, Compression::None));
    assert_eq!(shown(found.columns()), shown(&parts));
    assert_eq!(found.column(0).as_dictionary().unwrap().values().len(), 2);
    assert!(size < 350);
}

#[test]
fn chunks_have_the_size_that_was_asked_for() {
    let types = [LogicalType::BigInt, LogicalType::Varchar];
    let mut random = Random(3);
    let mut chunker = Chunker::new(&types, 64 << 10);
    let (mut rows, mut sizes) = (0, Vec::new());
    let mut sent = Vec::new();
    let mut ready = |batches: &[Batch]| {
        let mut out = Vec::new();
        ChunkWriter::default().write(&types, batches, Compression::None, Effort::Fast, &mut out)?;
        rows += batches.iter().map(Batch::len).sum::<usize>();
        sizes.push(out.len());
        Ok(())
    };
    for _ in 0..40 {
        let batch = Batch::new(types.iter().map(|ty| flat(ty, 2048, &mut random)).collect(), 2048);
        sent.push(batch.len());
        chunker.push(batch, &mut ready).unwrap();
    }
    // A row that is wider than a chunk is one by itself.
    let wide = Value::Varchar("x".repeat(1 << 20));
    let wide = Vector::from_sql_values(LogicalType::Varchar, &[wide]).unwrap();
    let one = Vector::from_values(LogicalType::BigInt, &[1i64]);
    chunker.push(Batch::new(vec![one, wide], 1), &mut ready).unwrap();
    chunker.flush(&mut ready).unwrap();
    assert_eq!(rows, sent.iter().sum::<usize>() + 1);
    assert!(sizes.iter().filter(|size| **size > 64 << 10).count() == 1 && sizes.len() < 60, "{sizes:?}");
    assert!(sizes.iter().sum::<usize>() / sizes.len() > 32 << 10);
}

#[test]
fn columns_are_jumped_over() {
    let types = types();
    let mut random = Random(11);
    let columns: Vec<Vector> = types.iter().map(|ty| flat(ty, 50, &mut random)).collect();
    let mut out = Vec::new();
    let batch = Batch::new(columns.clone(), 50);
    ChunkWriter::default().write(&types, &[batch], Compression::None, Effort::Small, &mut out).unwrap();
    let payload = Buffer::copy_of(&out);
    let mut reader = ChunkReader::new(&payload, out.len()).unwrap();
    for (index, ty) in types.iter().enumerate() {
        if index % 3 == 0 {
            assert_eq!(shown(&[reader.next(ty).unwrap()]), shown(&columns[index..=index]));
        } else {
            reader.skip().unwrap();
        }
    }
}

#[test]
fn what_is_decoded_is_asked_of_the_budget() {
    let rows = 1 << 19;
    let values: Vec<i64> = (0..rows).map(|row| row & 1).collect();
    let types = vec![LogicalType::BigInt; 64];
    let columns = types.iter().map(|ty| Vector::from_values(ty.clone(), &values)).collect();
    let mut out = Vec::new();
    let batch = Batch::new(columns, rows as usize);
    ChunkWriter::default().write(&types, &[batch], Compression::None, Effort::Small, &mut out).unwrap();
    assert!(out.len() < 5 << 20);
    let payload = Buffer::copy_of(&out);
    let budget = MemoryBudget::new(64 << 20);
    limits::with(Limits::new(budget.clone(), Interrupt::new()), || {
        let refused = ChunkReader::new(&payload, out.len()).unwrap().batch(&types).unwrap_err();
        assert_eq!(refused.sqlstate(), "53200");
        let mut reader = ChunkReader::new(&payload, out.len()).unwrap();
        let one = reader.next(&LogicalType::BigInt).unwrap();
        assert!(budget.used() >= 8 * rows as u64);
        drop(one);
        assert_eq!(budget.used(), 0);
    });
}
