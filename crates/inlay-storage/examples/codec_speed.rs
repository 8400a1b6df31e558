//! Sizes and speeds of segment images for columns like those of TPC-H, one row group each; answers are checked.
//!
//! `cargo run --release -p inlay-storage --example codec_speed`

#![allow(clippy::print_stdout, reason = "prints a table")]

use inlay_storage::{ROW_GROUP_SIZE, Segment};
use inlay_types::{LogicalType, MemoryBudget, Result, Value, Vector, VectorBuilder};
use std::time::{Duration, Instant};

const ROUNDS: u32 = 10;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn text(&mut self, size_min: u64, size_max: u64) -> String {
        const WORDS: [&str; 40] = [
            "furiously",
            "special",
            "packages",
            "deposits",
            "requests",
            "ideas",
            "carefully",
            "express",
            "accounts",
            "foxes",
            "pinto beans",
            "instructions",
            "theodolites",
            "slyly",
            "quickly",
            "blithely",
            "ironic",
            "final",
            "bold",
            "regular",
            "even",
            "silent",
            "pending",
            "unusual",
            "sleep",
            "haggle",
            "nag",
            "wake",
            "integrate",
            "cajole",
            "detect",
            "among the",
            "across the",
            "above the",
            "after the",
            "according to",
            "about the",
            "daringly",
            "ruthlessly",
            "dependencies",
        ];
        let size = (size_min + self.below(size_max - size_min + 1)) as usize;
        let mut text = String::new();
        while text.len() < size {
            text.push_str(WORDS[self.below(WORDS.len() as u64) as usize]);
            text.push_str(if self.below(12) == 0 { ". " } else { " " });
        }
        text.truncate(size);
        text
    }
}

fn main() -> Result<()> {
    let mut random = Random(0x5EED_0000_1234_5678);
    let money = LogicalType::decimal(15, 2);
    let decimal = |unscaled: u64| Value::Decimal { unscaled: i128::from(unscaled), precision: 15, scale: 2 };
    let mut order = 0;
    println!(
        "{:<16} {:<13} {:>10} {:>10} {:>7} {:>12} {:>11} {:>9}",
        "column", "in memory", "bytes", "image", "bits", "write MB/s", "read GB/s", "G rows/s"
    );
    report("l_orderkey", LogicalType::BigInt, |_| {
        if random.below(4) == 0 {
            order += if order % 8 == 7 { 25 } else { 1 };
        }
        Value::BigInt(order)
    })?;
    report("l_partkey", LogicalType::BigInt, |_| Value::BigInt(random.below(200_000) as i64))?;
    report("l_suppkey", LogicalType::BigInt, |_| Value::BigInt(random.below(10_000) as i64))?;
    report("l_quantity", money.clone(), |_| decimal(100 * (1 + random.below(50))))?;
    report("l_extendedprice", money.clone(), |_| decimal(90_000 + random.below(10_400_000)))?;
    report("l_discount", money, |_| decimal(random.below(11)))?;
    report("l_shipdate", LogicalType::Date, |_| Value::Date(8036 + random.below(2526) as i32))?;
    report("l_returnflag", LogicalType::Varchar, |_| {
        Value::Varchar(["A", "N", "R"][random.below(3) as usize].to_string())
    })?;
    report("l_shipinstruct", LogicalType::Varchar, |_| {
        let texts = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"];
        Value::Varchar(texts[random.below(4) as usize].to_string())
    })?;
    report("l_comment", LogicalType::Varchar, |_| Value::Varchar(random.text(10, 43)))?;
    report("ps_comment", LogicalType::Varchar, |_| Value::Varchar(random.text(49, 198)))?;
    report("c_phone", LogicalType::Varchar, |_| {
        Value::Varchar(format!(
            "{}-{:03}-{:04}",
            10 + random.below(25),
            random.below(1000),
            random.below(10_000)
        ))
    })?;
    report("price, double", LogicalType::Double, |_| Value::Double(random.below(10_000_000) as f64 / 100.0))?;
    report("real, double", LogicalType::Double, |_| Value::Double(random.below(1 << 53) as f64 / 1e15))?;
    report("runs", LogicalType::Integer, |row| Value::Integer((row / 200 * 7919 % 1000) as i32))?;
    report("some NULL", LogicalType::Integer, |_| match random.below(5) {
        0 => Value::Null,
        _ => Value::Integer(random.below(1000) as i32),
    })
}

/// Encodes a column, writes and reads its image, and prints a line.
fn report(name: &str, ty: LogicalType, mut value: impl FnMut(usize) -> Value) -> Result<()> {
    let budget = MemoryBudget::unlimited();
    let mut builder = VectorBuilder::new(ty.clone(), ROW_GROUP_SIZE);
    for row in 0..ROW_GROUP_SIZE {
        builder.push(&value(row))?;
    }
    let column: Vector = builder.finish();
    let segment = Segment::encode(&column, &budget)?;
    let (image, write) = timed(|| segment.to_bytes())?;
    let (back, read) = timed(|| Segment::from_bytes(ty.clone(), &image, &budget))?;
    let wrong = (0..column.len()).find(|row| back.get(*row).total_cmp(&column.get(*row)).is_ne());
    assert!(wrong.is_none() && back.encoding_name() == segment.encoding_name(), "{name}: row {wrong:?}");
    let per_second = |amount: usize, time: Duration| amount as f64 / time.as_secs_f64();
    println!(
        "{name:<16} {:<13} {:>10} {:>10} {:>7.2} {:>12.0} {:>11.2} {:>9.3}",
        segment.encoding_name(),
        segment.memory_size(),
        image.len(),
        image.len() as f64 * 8.0 / ROW_GROUP_SIZE as f64,
        per_second(segment.memory_size(), write) / 1e6,
        per_second(segment.memory_size(), read) / 1e9,
        per_second(ROW_GROUP_SIZE, read) / 1e9,
    );
    Ok(())
}

/// The result and the best time of several rounds.
fn timed<T>(mut f: impl FnMut() -> Result<T>) -> Result<(T, Duration)> {
    let mut best = Duration::MAX;
    let mut result = f()?;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        result = f()?;
        best = best.min(start.elapsed());
    }
    Ok((result, best))
}
