//! Bytes of any shape from clients: nobody but their sender notices.
//!
//! A few thousand messages each time; a million of each protocol by hand:
//! `INLAY_MESSAGES=1000000 cargo test --profile work -p inlay-server --test it hostile::`.

use crate::support::{Postgres, request, server};
use inlay_server::Server;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Messages of one connection.
const PER_CONNECTION: usize = 40;
/// Clients at once.
const CLIENTS: usize = 4;

fn messages() -> usize {
    std::env::var("INLAY_MESSAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(4000)
}

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.next() % items.len()]
    }

    /// A copy that differs in a few places, or in none.
    fn mutated(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..self.next() % 4 {
            if bytes.is_empty() {
                break;
            }
            let at = self.next() % bytes.len();
            match self.next() % 5 {
                0 => bytes[at] = self.next() as u8,
                1 => bytes[at] ^= 1 << (self.next() % 8),
                2 => bytes.truncate(at),
                3 => bytes.insert(at, self.next() as u8),
                _ => {
                    let end = (at + self.next() % 16).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        bytes
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as i32 + 4).to_be_bytes(), body].concat()
}

/// What clients say, whole and right.
fn said() -> Vec<Vec<u8>> {
    let mut parse = b"s\0SELECT $1::INTEGER, $2\0".to_vec();
    parse.extend([0, 1, 0, 0, 0, 23]);
    let mut bind = b"p\0s\0".to_vec();
    bind.extend([0, 2, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0, 1, b'x', 0, 1, 0, 1]);
    vec![
        message(b'Q', b"SELECT 1, 'a', NULL\0"),
        message(b'Q', b"SELECT i, [i], {'a': i} FROM range(100) r(i)\0"),
        message(b'Q', b"COPY (SELECT 1, 'x') TO STDOUT (FORMAT binary)\0"),
        message(b'Q', b"COPY t FROM STDIN (FORMAT csv)\0"),
        message(b'Q', b"COPY t FROM STDIN (FORMAT binary)\0"),
        message(b'Q', b"BEGIN; DECLARE c CURSOR FOR SELECT 1; FETCH 2 FROM c\0"),
        message(b'd', b"1,x\n2,y\n"),
        message(b'd', b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01x\xff\xff"),
        message(b'c', b""),
        message(b'f', b"enough\0"),
        message(b'P', &parse),
        message(b'B', &bind),
        message(b'D', b"Ss\0"),
        message(b'D', b"Pp\0"),
        message(b'E', b"p\0\0\0\0\x01"),
        message(b'C', b"Ss\0"),
        message(b'S', b""),
        message(b'H', b""),
        message(b'F', b"\0\0\0\0"),
        message(b'p', b"secret\0"),
        message(b'X', b""),
    ]
}

fn startup() -> Vec<u8> {
    let mut body = 196_608i32.to_be_bytes().to_vec();
    body.extend(b"user\0tester\0database\0memory\0options\0-c statement_timeout=100ms\0\0");
    [&(body.len() as i32 + 4).to_be_bytes()[..], &body].concat()
}

/// Sends bytes and reads until the server closes.
fn speak(address: SocketAddr, bytes: &[u8]) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut reader = socket.try_clone().unwrap();
    // Answers are taken meanwhile: neither side waits for the other.
    let reading = std::thread::spawn(move || {
        let mut sink = vec![0; 64 << 10];
        while let Ok(1..) = reader.read(&mut sink) {}
    });
    // A server that has enough closes first.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    reading.join().unwrap();
}

/// Has several clients speak, and looks whether the server is as it was before.
fn survives(server: &Server, address: SocketAddr, speech: fn(&mut Random) -> Vec<u8>) {
    let rounds = messages().div_ceil(PER_CONNECTION * CLIENTS);
    let before = resident();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (client as u64 + 1) << 32);
                for _ in 0..rounds {
                    speak(address, &speech(&mut random));
                }
            });
        }
    });
    assert_eq!(Postgres::new(server).said("SELECT 42"), "(42) SELECT 1 I");
    assert_eq!(request(server, "GET", "/health", &[], "").text(), "ok\n");
    let grown = resident().saturating_sub(before);
    assert!(grown < 512 << 20, "{grown} bytes more than before");
}

/// Bytes of the process that are in memory, where the system says so.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

#[test]
fn messages_of_postgresql_may_be_anything() {
    let server = server();
    Postgres::new(&server).query("CREATE TABLE t (a INTEGER, b VARCHAR)");
    survives(&server, server.postgres.unwrap(), |random| {
        let (known, start) = (said(), startup());
        let is_greeted = random.next() % 8 != 0;
        let mut bytes = if is_greeted { start } else { random.mutated(&start) };
        for _ in 0..PER_CONNECTION {
            let next = random.pick(&known).clone();
            bytes.extend(random.mutated(&next));
        }
        bytes
    });
}

#[test]
fn requests_of_http_may_be_anything() {
    let server = server();
    request(&server, "POST", "/query", &[], "CREATE TABLE t (a INTEGER, b VARCHAR)");
    survives(&server, server.http.unwrap(), |random| {
        let post = |target: &str, heads: &str, body: &str| {
            format!(
                "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{heads}\r\n{body}",
                body.len()
            )
            .into_bytes()
        };
        let known = [
            b"GET /query?query=SELECT+42&format=csv&param_1=x HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            b"DELETE /statements/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic eDp5\r\n\r\n".to_vec(),
            post("/query", "Accept-Encoding: gzip, zstd\r\n", "SELECT i, 'é' FROM range(100) r(i)"),
            post("/query?format=parquet", "inlay-statement: s\r\n", "SELECT 1 AS a"),
            post("/insert/t", "Content-Type: text/csv\r\n", "a,b\n1,x\n"),
            post("/insert/t", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", "[{\"a\": 1}]"),
            b"POST /query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nSELECT 1\r\n0\r\n\r\n".to_vec(),
        ];
        let mut bytes = Vec::new();
        for _ in 0..PER_CONNECTION {
            let next = random.pick(&known).clone();
            bytes.extend(random.mutated(&next));
        }
        bytes
    });
}
