//! How long a table takes over loopback: as CSV through a plain socket (netcat's way), and by the client protocol, in turns.
//!
//!     cargo run --release -p inlay-protocol --example protocol -- 1 [turns]             lineitem at scale 1
//!     cargo run --release -p inlay-protocol --example protocol -- any.parquet [turns]   a table of one's own
//!
//! Prints the ratio of the medians, whose goal is 0.5 (the paper has 1.08 for lineitem), and bytes beside those of CSV by each effort and
//! compression, with the bytes of the paper's compressed form for comparison (0.315 of CSV for lineitem).

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement that prints what it finds, or fails"
)]

#[path = "../../crates/inlay-protocol/tests/it/session.rs"]
mod session;

use inlay::Database;
use inlay::types::Batch;
use inlay_protocol::chunk::{ChunkWriter, Chunker};
use inlay_protocol::client::Client;
use inlay_protocol::column::Effort;
use inlay_protocol::compression::Compression;
use inlay_protocol::frame::Hello;
use inlay_protocol::server::{Admission, Sessions, listen};
use session::OneDatabase;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const QUERY: &str = "SELECT * FROM measured";

/// Seconds that a file takes through a socket.
fn netcat(path: &std::path::Path) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let path = path.to_path_buf();
    let begun = Instant::now();
    let sender = std::thread::spawn(move || {
        let mut socket = TcpStream::connect(address).unwrap();
        let (mut file, mut piece) = (std::fs::File::open(path).unwrap(), vec![0; 64 << 10]);
        loop {
            let read = file.read(&mut piece).unwrap();
            if read == 0 {
                break;
            }
            socket.write_all(&piece[..read]).unwrap();
        }
    });
    let (mut socket, _) = listener.accept().unwrap();
    let mut piece = vec![0; 64 << 10];
    while socket.read(&mut piece).unwrap() > 0 {}
    sender.join().unwrap();
    begun.elapsed().as_secs_f64()
}

/// Seconds and rows of the table by the protocol.
fn protocol(client: &Client) -> (f64, u64) {
    let begun = Instant::now();
    let mut reply = client.query(QUERY).unwrap();
    let mut rows = 0;
    while let Some(batch) = reply.next_batch().unwrap() {
        rows += batch.len() as u64;
    }
    (begun.elapsed().as_secs_f64(), rows)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Bytes and seconds that all rows take by each way of sending them.
fn sizes(database: &Database, csv: f64) {
    let connection = database.connect();
    let answer = connection.execute(QUERY).unwrap();
    let batches: Vec<Batch> = answer.batches().map(Result::unwrap).collect();
    let types = answer.types().to_vec();
    let ways = [
        (Effort::Fast, Compression::None),
        (Effort::Small, Compression::None),
        (Effort::Fast, Compression::Lz4),
        (Effort::Small, Compression::Lz4),
        (Effort::Fast, Compression::Zstd(1)),
        (Effort::Small, Compression::Zstd(1)),
        (Effort::Fast, Compression::Zstd(3)),
        (Effort::Small, Compression::Zstd(3)),
    ];
    println!("{:<24}{:>12}{:>10}", "effort, compression", "of CSV", "MB/s");
    for (effort, how) in ways {
        let (mut chunker, mut writer) = (Chunker::new(&types, 1 << 20), ChunkWriter::default());
        let (mut total, mut body, mut out) = (0, 0, Vec::new());
        let begun = Instant::now();
        let mut ready = |batches: &[Batch]| {
            out.clear();
            body += writer.write(&types, batches, how, effort, &mut out)?.body;
            total += out.len();
            Ok(())
        };
        batches.iter().for_each(|batch| chunker.push(batch.clone(), &mut ready).unwrap());
        chunker.flush(&mut ready).unwrap();
        let speed = csv / begun.elapsed().as_secs_f64() / 1e6;
        println!("{:<24}{:>12.3}{:>10.0}", format!("{effort:?}, {how:?}"), total as f64 / csv, speed);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "0.1".to_string());
    let turns: usize = arguments.next().map_or(7, |turns| turns.parse().unwrap());
    let database = Database::open_in_memory().unwrap();
    let csv = std::env::temp_dir().join(format!("inlay-protocol-{}.csv", std::process::id()));
    let connection = database.connect();
    if what.parse::<f64>().is_ok() {
        connection
            .execute(&format!("CALL tpch_dbgen(sf := {what}); ALTER TABLE lineitem RENAME TO measured"))
            .unwrap();
    } else {
        connection.execute(&format!("CREATE TABLE measured AS FROM '{}'", what.replace('\'', "''"))).unwrap();
    }
    connection.execute(&format!("COPY measured TO '{}' (HEADER false)", csv.display())).unwrap();
    let csv_size = std::fs::metadata(&csv).unwrap().len() as f64;
    let admit: fn(&Hello) -> Admission = |_| Admission::Open;
    let gate = OneDatabase { database, sessions: Sessions::default(), admit, token: "" };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), AtomicBool::new(false));
    std::thread::scope(|threads| {
        threads.spawn(|| listen(&listener, &gate, &stop).unwrap());
        let client = Client::connect(&format!("inlay://ana@{address}")).unwrap();
        let (_, rows) = protocol(&client);
        let before = client.received();
        protocol(&client);
        let received = (client.received() - before) as f64;
        let (mut plain, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..turns {
            let (nc, columns) = (netcat(&csv), protocol(&client).0);
            plain.push(nc);
            ours.push(columns);
            ratios.push(columns / nc);
        }
        println!(
            "{rows} rows, {:.0} MB of CSV, {:.0} MB of chunks ({:.3})",
            csv_size / 1e6,
            received / 1e6,
            received / csv_size
        );
        println!(
            "netcat {:.3} s, protocol {:.3} s, medians of {turns}",
            median(plain.clone()),
            median(ours.clone())
        );
        println!("protocol / netcat: {:.2} (goal 0.5)", median(ratios));
        sizes(&gate.database, csv_size);
        drop(client);
        stop.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(address));
    });
    std::fs::remove_file(&csv).unwrap();
}
