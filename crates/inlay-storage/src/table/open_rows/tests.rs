//! Rows appended one by one are those that batches of one row append, whatever comes between them.

use crate::schema::{ColumnSchema, TableSchema};
use crate::table::{Mark, Table};
use inlay_types::{Batch, LogicalType, MemoryBudget, Result, Value, Vector};

type Row = [Value; 3];

fn table(budget: MemoryBudget) -> Table {
    let columns = vec![
        ColumnSchema { not_null: true, ..ColumnSchema::new("id", LogicalType::Integer) },
        ColumnSchema::new("name", LogicalType::Varchar),
        ColumnSchema::new("day", LogicalType::Date),
    ];
    let mut schema = TableSchema::new("t", columns);
    schema.keys = vec![vec![0], vec![2, 0]];
    Table::new(schema, budget)
}

fn row(id: i32) -> Row {
    let name =
        if id % 5 == 0 { Value::Null } else { Value::Varchar(format!("a name longer than views {id}")) };
    [Value::Integer(id), name, if id % 7 == 0 { Value::Null } else { Value::Date(id / 3) }]
}

/// One whose keys all count up with its id.
fn numbered(id: i32) -> Row {
    let [id, name, _] = row(id);
    let Value::Integer(day) = id else { unreachable!() };
    [id, name, Value::Date(day)]
}

fn as_batch(table: &Table, row: &Row) -> Batch {
    let columns = table.schema().columns.iter().zip(row);
    let column = |(column, value): (&ColumnSchema, &Value)| {
        Vector::from_sql_values(column.ty.clone(), std::slice::from_ref(value)).unwrap()
    };
    Batch::new(columns.map(column).collect(), 1)
}

/// As an INSERT does it; whether the row was taken as an open one.
fn append(table: &Table, row: &Row) -> Result<bool> {
    let taken = table.append_row(&row.iter().collect::<Vec<_>>())?;
    if !taken {
        table.append(&[as_batch(table, row)])?;
    }
    Ok(taken)
}

fn rows(table: &Table) -> Vec<(i64, Vec<Value>)> {
    let snapshot = table.snapshot();
    let mut all = Vec::new();
    for group in snapshot.row_groups() {
        for at in (0..group.len()).filter(|at| !group.is_deleted(*at)) {
            let values = (0..3).map(|column| group.segment(column).unwrap().get(at)).collect();
            all.push((group.row_id_start() + at as i64, values));
        }
    }
    all
}

#[test]
fn they_are_as_batches_of_one_row() {
    let (own, other) = (table(MemoryBudget::unlimited()), table(MemoryBudget::unlimited()));
    let mut state = 88_172_645_463_325_252_u64;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let (mut up, mut down, mut taken, mut refused) = (1_000_000, 0, 0, 0);
    let mut marks: Vec<(Mark, Mark)> = Vec::new();
    for step in 0..12_000 {
        // Up at first, then any way: without an index, and with one.
        let id = match (step / 3000, below(20)) {
            (0, _) | (_, 0..6) => up,
            (1, _) => down,
            (_, 6..10) => up - 1 - below(50) as i32,
            _ => below(1 << 20) as i32,
        };
        (up, down) = (up.max(id + 1), down.min(id - 1));
        let row = row(id);
        let (outcome, expected) = (append(&own, &row), other.append(&[as_batch(&other, &row)]));
        assert_eq!(outcome.as_ref().err(), expected.as_ref().err(), "step {step}, {id}");
        match outcome {
            Ok(true) => taken += 1,
            Ok(false) => refused += 1,
            Err(_) => {}
        }
        match below(400) {
            0 => assert_eq!(own.row_count(), other.row_count()),
            1 => marks.push((own.mark(), other.mark())),
            2 => {
                if let Some((mark, also)) = marks.pop() {
                    own.rewind(&mark);
                    other.rewind(&also);
                }
            }
            3 => {
                let ids: Vec<i64> = (0..20).map(|_| below(5000) as i64).collect();
                assert_eq!(own.delete(&ids).unwrap(), other.delete(&ids).unwrap());
            }
            4 => {
                let key = [Value::Integer(id)];
                let found = |table: &Table| {
                    table.find_by_columns(&table.snapshot(), &[0], &key).unwrap().map(|ids| ids.len())
                };
                assert_eq!(found(&own), Some(1));
            }
            _ => {}
        }
    }
    assert!(rows(&own) == rows(&other), "the rows, with their ids");
    assert!(own.changes().len() < other.changes().len());
    assert!(taken > 8_000 && refused < 200, "{taken} taken, {refused} not");
}

#[test]
fn what_is_refused_leaves_what_was_taken() {
    let table = table(MemoryBudget::unlimited());
    assert!((0..3000).all(|id| append(&table, &numbered(id)).unwrap()));
    let null = append(&table, &[Value::Null, Value::Null, Value::Null]).unwrap_err();
    assert!(null.to_string().contains("\"id\" of table \"t\""), "{null}");
    let clash = append(&table, &numbered(2999)).unwrap_err();
    assert!(clash.to_string().contains("duplicate key (id) = (2999)"), "{clash}");
    // Not open rows: another type, too few values.
    let [id, name, day] = [Value::BigInt(5000), Value::Null, Value::Null];
    assert!(!table.append_row(&[&id, &name, &day]).unwrap() && !table.append_row(&[&id]).unwrap());
    assert_eq!((table.row_count(), table.next_row_id()), (3000, 3000));
    assert!(table.is_changed() && table.changes().len() < 5);
}

#[test]
fn they_are_there_without_memory_to_join_them() {
    let budget = MemoryBudget::new(8 << 20);
    let table = table(budget.clone());
    assert!((0..6000).all(|id| append(&table, &numbered(id)).unwrap()));
    assert_eq!(table.row_count(), 6000);
    assert!((6000..6100).all(|id| append(&table, &numbered(id)).unwrap()));
    let all = budget.reserve(budget.limit() - budget.used()).unwrap();
    assert_eq!(table.row_count(), 6100);
    // A row that no memory is left for goes as a batch, until none is left for that either.
    let left = (6100..200_000).find(|id| append(&table, &numbered(*id)).is_err()).unwrap();
    assert_eq!(table.row_count(), left as usize);
    drop(all);
    append(&table, &numbered(left)).unwrap();
    assert!(
        rows(&table).iter().map(|(id, _)| *id).eq(0..=i64::from(left)),
        "no row is lost, none is there twice"
    );
    table.check_settled().unwrap();
}
