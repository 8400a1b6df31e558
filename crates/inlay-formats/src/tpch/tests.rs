//! Row counts and single rows against the published data.

use super::*;
use inlay_types::{MemoryBudget, Value};

fn tables() -> Vec<(TpchTable, Arc<Table>)> {
    let new = |table: TpchTable| Arc::new(Table::new(table.schema(), MemoryBudget::unlimited()));
    TpchTable::ALL.into_iter().map(|table| (table, new(table))).collect()
}

#[test]
fn scale_one_hundredth_has_the_published_rows() {
    let generator = Generator::new(0.01).unwrap();
    let tables = tables();
    let total = generator.load(&tables, &on_two_threads, &Interrupt::new()).unwrap();
    let counts: Vec<usize> = tables.iter().map(|(_, table)| table.row_count()).collect();
    assert_eq!(counts, [5, 25, 100, 1500, 2000, 8000, 15_000, 60_175]);
    assert_eq!(total, counts.iter().sum::<usize>() as u64);

    let part = Part { table: TpchTable::LineItem, part: 1, part_count: 1 };
    let mut first = None;
    generator
        .generate(part, &mut |batch| {
            first.get_or_insert(batch);
            Ok(())
        })
        .unwrap();
    let first = first.unwrap();
    let row: Vec<String> = first.columns().iter().map(|c| c.get(0).to_string()).collect();
    let expected = [
        "1",
        "1552",
        "93",
        "1",
        "17.00",
        "24710.35",
        "0.04",
        "0.02",
        "N",
        "O",
        "1996-03-13",
        "1996-02-12",
        "1996-03-22",
        "DELIVER IN PERSON",
        "TRUCK",
        "egular courts above the",
    ];
    assert_eq!(row, expected);
    assert_eq!(first.column(4).get(0), Value::Decimal { unscaled: 1700, precision: 15, scale: 2 });
}

#[test]
fn interrupts_and_impossible_scales_are_errors() {
    assert!(Generator::new(-1.0).is_err());
    assert!(Generator::new(f64::NAN).is_err());
    let none = Generator::new(0.0).unwrap();
    assert_eq!(none.load(&tables(), &on_two_threads, &Interrupt::new()), Ok(0));
    let interrupt = Interrupt::new();
    interrupt.set();
    let generator = Generator {
        scale_factor: 0.0001,
        pool: Some(TextPool::new(300 << 20, Distributions::static_default())),
    };
    let tables = tables();
    assert_eq!(generator.load(&tables, &on_two_threads, &interrupt), Err(Error::Interrupted));
    assert_eq!(tables[7].1.row_count(), 0);
    assert!(generator.load(&tables, &on_two_threads, &Interrupt::new()).unwrap() > 30);
}

/// Tasks with even numbers on one thread, the others on this one.
fn on_two_threads(count: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    std::thread::scope(|scope| {
        let even = scope.spawn(|| (0..count).step_by(2).try_for_each(work));
        let odd = (1..count).step_by(2).try_for_each(work);
        even.join().unwrap().and(odd)
    })
}
