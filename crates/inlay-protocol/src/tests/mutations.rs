use super::*;
use crate::chunk::{ChunkReader, ChunkWriter};
use crate::column::Effort;
use crate::compression::Compression;
use crate::frame::{Done, Frame, FrameHeader, Hello, Kind, Method, Parameter, Ready, Report};
use crate::types::WireColumn;
use inlay_types::limits::{self, Limits};
use inlay_types::{Batch, Buffer, Interrupt, MemoryBudget};

/// One frame of each kind, but Chunk.
fn frames() -> Vec<Frame> {
    let columns: Vec<WireColumn> =
        types().into_iter().enumerate().map(|(index, ty)| WireColumn::new(format!("c{index}"), ty)).collect();
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let report = Report {
        is_fatal: true,
        sqlstate: *b"42703",
        message: "column \"x\" does not exist".into(),
        detail: "d".into(),
        hint: "did you mean y?".into(),
        offset: 8,
        line: 1,
        column: 8,
        line_text: "SELECT x FROM t".into(),
        of: "view \"v\"".into(),
    };
    vec![
        Frame::Hello(Hello {
            versions: (1, 1),
            chunk_size: 1 << 20,
            features: 3,
            user: "ana".into(),
            database: "sales".into(),
            application: "test".into(),
            settings: vec![("threads".into(), "2".into())],
        }),
        Frame::Auth(Method::Scram, b"n,,n=,r=abc".to_vec()),
        Frame::Query { window: 16, text: "SELECT 1".into() },
        Frame::Prepare { statement: 3, text: "SELECT ?".into() },
        Frame::CloseStatement(3),
        Frame::CloseTable("t".into()),
        Frame::Append { table: texts(&["main", "t"]), names: texts(&["a"]), columns: columns.clone() },
        Frame::Register { name: "r".into(), columns: columns.clone() },
        Frame::Finish,
        Frame::Cancel,
        Frame::CancelSession { session: 9, key: [7; 16] },
        Frame::Window(8),
        Frame::Challenge(Method::Token, Vec::new()),
        Frame::Ready(Ready {
            version: 1,
            chunk_size: 1 << 20,
            frame_max: 1 << 28,
            features: 3,
            session: 9,
            key: [7; 16],
            server: "inlay".into(),
            settings: Vec::new(),
        }),
        Frame::Header(columns.clone()),
        Frame::Done(Done {
            in_transaction: true,
            more: true,
            tag: "SELECT".into(),
            rows: Some(5),
            changed: None,
        }),
        Frame::Error(report.clone()),
        Frame::Notice(Report::notice("careful")),
        Frame::Progress { fraction: 0.5, rows: 10, of: 20 },
        Frame::Prepared {
            statement: 3,
            tag: "SELECT".into(),
            parameters: vec![
                Parameter { name: String::new(), ty: Some(LogicalType::Integer) },
                Parameter { name: "x".into(), ty: None },
            ],
            columns: Some(columns),
        },
        Frame::Grow(1 << 22),
        Frame::Ping(1),
        Frame::Pong(1),
        Frame::Goodbye("done".into()),
    ]
}

#[test]
fn every_frame_comes_back() {
    for frame in frames() {
        let mut out = Vec::new();
        frame.write(77, &mut out).unwrap();
        let header = FrameHeader::read(out.first_chunk().unwrap(), 1 << 20).unwrap();
        assert_eq!((header.kind, header.stream, header.size as usize), (frame.kind(), 77, out.len() - 12));
        assert_eq!(Frame::read(header.kind, &out[12..]).unwrap(), frame);
        assert!(FrameHeader::read(out.first_chunk().unwrap(), out.len() - 13).is_err() || out.len() == 12);
    }
    let kinds = frames().len() + 2 - 1;
    assert_eq!(kinds, Kind::ALL.len(), "Chunk and Execute are tested with their rows, Close has two");
}

#[test]
fn types_that_are_too_deep_are_refused() {
    let mut payload = vec![1, 0, 0, 0, 1, 0, 0, 0, b'c', 1];
    payload.extend([30; 100_000]);
    payload.push(4);
    let error = Frame::read(Kind::Header, &payload).unwrap_err().to_string();
    assert!(error.contains("nested more than"), "{error}");
    let mut deep = LogicalType::Integer;
    for _ in 0..inlay_types::logical_type::MAX_NESTING - 1 {
        deep = LogicalType::list(deep);
    }
    let frame = Frame::Header(vec![WireColumn::new("c", deep)]);
    let mut out = Vec::new();
    frame.write(1, &mut out).unwrap();
    assert_eq!(Frame::read(Kind::Header, &out[12..]).unwrap(), frame);
}

/// Changes some bytes of a message, or its length.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes[at] = [0, 1, 0x7F, 0x80, 0xFF][random.below(5)],
            2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes[at] = random.next() as u8,
            4 => {
                let end = (at + 4).min(bytes.len());
                bytes[at..end].fill(0xFF);
            }
            _ => bytes.insert(at, random.next() as u8),
        }
    }
}

/// Mutated chunks of every type, in every form: an error or values, and no more memory than there is.
#[test]
fn a_million_mutations_of_rows_and_frames_do_no_harm() {
    let budget = MemoryBudget::new(256 << 20);
    limits::with(Limits::new(budget.clone(), Interrupt::new()), || {
        let mut random = Random(99);
        let (mut right, mut wrong) = (0u32, 0u32);
        let all = types();
        let chunks: Vec<(LogicalType, Vec<u8>)> = all
            .iter()
            .flat_map(|ty| (0..6).map(move |form| (ty.clone(), form)))
            .map(|(ty, form)| {
                let column = vector(&ty, 1 + random.below(20), &mut random);
                let batch = Batch::new(vec![column.clone()], column.len());
                let effort = [Effort::Fast, Effort::Small][form % 2];
                let how = [
                    Compression::None,
                    Compression::None,
                    Compression::None,
                    Compression::None,
                    Compression::Lz4,
                    Compression::Zstd(1),
                ][form];
                let mut out = Vec::new();
                ChunkWriter::default()
                    .write(std::slice::from_ref(&ty), &[batch], how, effort, &mut out)
                    .unwrap();
                (ty, out)
            })
            .collect();
        for round in 0..800_000 {
            let (ty, chunk) = &chunks[round % chunks.len()];
            let mut bytes = chunk.clone();
            mutate(&mut bytes, &mut random);
            let payload = Buffer::copy_of(&bytes);
            match ChunkReader::new(&payload, 1 << 20).and_then(|chunk| chunk.batch(std::slice::from_ref(ty)))
            {
                Ok(batch) => {
                    right += 1;
                    // Whatever it is, it can be looked at.
                    if !batch.is_empty() && round % 16 == 0 {
                        let _ = batch.column(0).get(0).to_string();
                    }
                }
                Err(_) => wrong += 1,
            }
        }
        let written: Vec<(Kind, Vec<u8>)> = frames()
            .iter()
            .map(|frame| {
                let mut out = Vec::new();
                frame.write(1, &mut out).unwrap();
                (frame.kind(), out)
            })
            .collect();
        for round in 0..200_000 {
            let (_, frame) = &written[round % written.len()];
            let mut bytes = frame.clone();
            mutate(&mut bytes, &mut random);
            let Some(header) = bytes.first_chunk() else { continue };
            let read =
                FrameHeader::read(header, 1 << 20).and_then(|header| Frame::read(header.kind, &bytes[12..]));
            if read.is_ok() { right += 1 } else { wrong += 1 }
        }
        assert!(right > 50_000 && wrong > 400_000, "{right} {wrong}");
    });
    assert_eq!(budget.used(), 0);
}

#[test]
fn random_bytes_are_no_chunks_and_no_frames() {
    let mut random = Random(5);
    for _ in 0..100_000 {
        let bytes: Vec<u8> = (0..random.below(80)).map(|_| random.next() as u8).collect();
        let payload = Buffer::copy_of(&bytes);
        let _ = ChunkReader::new(&payload, 1 << 16).and_then(|chunk| chunk.batch(&[LogicalType::Varchar]));
        for kind in Kind::ALL {
            let _ = Frame::read(*kind, &bytes);
        }
    }
}
