//! The bytes of `docs/protocol.md` are those that the code writes and reads.

use super::*;
use crate::chunk::{ChunkReader, ChunkWriter};
use crate::column::Effort;
use crate::compression::Compression;
use crate::frame::{Done, Frame, FrameHeader, Hello, Kind, put_frame};
use crate::types::WireColumn;
use inlay_types::{Batch, Buffer};

const PAGE: &str = include_str!("../../../../docs/protocol.md");

/// The bytes of the block of the page that is headed by a name: hexadecimal digits up to the bar of each line.
fn bytes_of(name: &str) -> Vec<u8> {
    let start = PAGE.find(&format!("```hex {name}\n")).unwrap_or_else(|| panic!("no block {name}"));
    let block = PAGE[start..].split_once('\n').unwrap().1.split_once("```").unwrap().0;
    let digits: String = block
        .lines()
        .map(|line| line.split('|').next().unwrap_or(""))
        .flat_map(str::chars)
        .filter(char::is_ascii_hexdigit)
        .collect();
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .chunks(16)
        .map(|line| line.iter().map(|byte| format!("{byte:02X} ")).collect::<String>() + "\n")
        .collect()
}

#[track_caller]
fn same(name: &str, bytes: &[u8]) {
    assert!(bytes_of(name) == bytes, "{name} is\n{}and the page has\n{}", hex(bytes), hex(&bytes_of(name)));
}

/// The rows of the paper's comparison of wire formats.
fn rows() -> ([LogicalType; 2], Batch) {
    let numbers = [Value::Integer(100_000_000), Value::Null];
    let texts = [Value::Varchar("OK".into()), Value::Varchar("DPFKG".into())];
    let types = [LogicalType::Integer, LogicalType::Varchar];
    let columns = vec![
        Vector::from_sql_values(types[0].clone(), &numbers).unwrap(),
        Vector::from_sql_values(types[1].clone(), &texts).unwrap(),
    ];
    (types, Batch::new(columns, 2))
}

fn framed(frame: &Frame, stream: u32) -> Vec<u8> {
    let mut out = Vec::new();
    frame.write(stream, &mut out).unwrap();
    out
}

#[test]
fn frames_of_the_page_are_those_of_the_code() {
    let hello = Hello {
        versions: (1, 1),
        chunk_size: 1 << 20,
        features: 3,
        user: "ana".into(),
        database: String::new(),
        application: String::new(),
        settings: Vec::new(),
    };
    let mut out = crate::MAGIC.to_vec();
    out.extend(framed(&Frame::Hello(hello), 0));
    same("hello", &out);
    same("query", &framed(&Frame::Query { window: 0, text: "FROM t".into() }, 1));
    let columns = vec![
        WireColumn::new("a", LogicalType::Integer),
        WireColumn { nullable: false, ..WireColumn::new("b", LogicalType::Varchar) },
    ];
    same("header", &framed(&Frame::Header(columns), 1));
    let done = Done { tag: "SELECT".into(), rows: Some(2), ..Done::default() };
    same("done", &framed(&Frame::Done(done), 1));
}

#[test]
fn chunks_of_the_page_are_those_of_the_code() {
    let (types, batch) = rows();
    for (name, effort) in [("chunk", Effort::Fast), ("chunk-small", Effort::Small)] {
        let mut out = Vec::new();
        let batches = std::slice::from_ref(&batch);
        put_frame(&mut out, Kind::Chunk, 1, |out| {
            ChunkWriter::default().write(&types, batches, Compression::None, effort, out)
        })
        .unwrap();
        same(name, &out);
        let bytes = bytes_of(name);
        let header = FrameHeader::read(bytes.first_chunk().unwrap(), 1 << 20).unwrap();
        assert_eq!((header.kind, header.size as usize), (Kind::Chunk, bytes.len() - 12));
        let payload = Buffer::copy_of(&bytes[12..]);
        let found = ChunkReader::new(&payload, 1 << 20).unwrap().batch(&types).unwrap();
        assert_eq!(shown(found.columns()), shown(batch.columns()));
    }
}

/// Kinds and their numbers are listed in the page.
#[test]
fn the_page_names_every_kind_of_frame() {
    for kind in Kind::ALL {
        let row = format!("| `{:#04X}` {kind:?} |", *kind as u8).replace("0X", "0x");
        assert!(PAGE.contains(&row), "the page has no row {row}");
    }
}
