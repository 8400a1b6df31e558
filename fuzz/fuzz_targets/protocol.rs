//! Bytes of any shape as frames and chunks of the client protocol: values or errors, never a panic, and no memory but what the budget has.
//!
//! The first byte says what the others are read as: 0 a chunk of a column of each layout, 255 the bytes of a whole connection, others the
//! payload of a frame of that kind.

#![no_main]

use inlay_protocol::chunk::ChunkReader;
use inlay_protocol::frame::{Frame, Kind};
use inlay_protocol::transport::FrameReader;
use inlay_types::limits::{self, Limits};
use inlay_types::{Buffer, Interrupt, LogicalType, MemoryBudget};
use libfuzzer_sys::fuzz_target;

/// Each layout that columns have.
fn types() -> Vec<LogicalType> {
    let point = LogicalType::structure([("x", LogicalType::Double), ("label", LogicalType::Varchar)]);
    vec![
        LogicalType::Boolean,
        LogicalType::Integer,
        LogicalType::UHugeInt,
        LogicalType::decimal(18, 3),
        LogicalType::Varchar,
        LogicalType::Bit,
        LogicalType::list(LogicalType::list(LogicalType::Varchar)),
        LogicalType::array(LogicalType::SmallInt, 3),
        LogicalType::map(LogicalType::Varchar, point.clone()),
        point,
    ]
}

/// Reads frames, and rows where the frame before said what they are.
fn connection(bytes: &[u8]) {
    let mut reader = FrameReader::new(bytes, 1 << 20);
    if reader.magic().is_err() {
        return;
    }
    let mut columns = Vec::new();
    while let Ok(Some((header, payload))) = reader.read() {
        if header.kind == Kind::Chunk {
            let _ = ChunkReader::new(&payload, 1 << 20).and_then(|chunk| chunk.batch(&columns));
            continue;
        }
        match Frame::read(header.kind, payload.bytes()) {
            Ok(Frame::Header(named) | Frame::Append { columns: named, .. } | Frame::Register { columns: named, .. }) => {
                columns = named.into_iter().map(|column| column.ty).collect();
            }
            Ok(Frame::Execute { columns: named, chunk, .. }) => {
                let types: Vec<LogicalType> = named.into_iter().map(|column| column.ty).collect();
                let rows = payload.slice(chunk, payload.size() - chunk);
                let _ = ChunkReader::new(&rows, 1 << 20).and_then(|chunk| chunk.batch(&types));
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let budget = MemoryBudget::new(64 << 20);
    limits::with(Limits::new(budget.clone(), Interrupt::new()), || match first {
        0 => {
            let payload = Buffer::copy_of(rest);
            for ty in types() {
                let read = ChunkReader::new(&payload, 1 << 20).and_then(|chunk| chunk.batch(&[ty]));
                if let Ok(batch) = read
                    && !batch.is_empty()
                {
                    let _ = batch.column(0).get(0).to_string();
                }
            }
        }
        0xFF => connection(rest),
        number => {
            if let Some(kind) = Kind::ALL.iter().find(|kind| **kind as u8 == *number) {
                let _ = Frame::read(*kind, rest);
            }
        }
    });
    assert_eq!(budget.used(), 0, "memory is given back");
});
