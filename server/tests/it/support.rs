//! A server for a test, and clients that speak bytes.

use inlay_server::{Options, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer is waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn options() -> Options {
    Options {
        postgres_port: Some(0),
        http_port: Some(0),
        native_port: Some(0),
        is_quiet: true,
        grace: Duration::from_secs(1),
        ..Options::default()
    }
}

pub fn server() -> Server {
    Server::start(options()).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A client of PostgreSQL's protocol, message by message.
pub struct Postgres {
    pub socket: TcpStream,
    /// Number and secret of the session.
    pub key: Vec<u8>,
}

/// A message: its kind and body.
pub type Message = (u8, Vec<u8>);

pub fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// The field of an error or notice.
pub fn field(body: &[u8], kind: u8) -> Option<String> {
    let parts = body.split(|byte| *byte == 0);
    parts.filter(|part| part.first() == Some(&kind)).map(|part| text(&part[1..])).next()
}

impl Postgres {
    /// A socket that nothing was said on.
    pub fn socket(server: &Server) -> Self {
        Self { socket: connect(server.postgres.unwrap()), key: Vec::new() }
    }

    /// A client that was let in.
    pub fn new(server: &Server) -> Self {
        Self::with(server, &[("user", "tester"), ("database", "memory")])
    }

    pub fn with(server: &Server, parameters: &[(&str, &str)]) -> Self {
        let mut client = Self::socket(server);
        client.startup(parameters);
        let greeting = client.until_ready();
        client.key = greeting.iter().find(|(kind, _)| *kind == b'K').unwrap().1.clone();
        client
    }

    pub fn startup(&mut self, parameters: &[(&str, &str)]) {
        let mut body = 196_608i32.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
        }
        body.push(0);
        self.raw(&[&(body.len() as i32 + 4).to_be_bytes()[..], &body].concat());
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    pub fn send(&mut self, kind: u8, body: &[u8]) {
        let len = (body.len() as i32 + 4).to_be_bytes();
        self.raw(&[&[kind][..], &len, body].concat());
    }

    /// The next message; nothing at the end.
    pub fn receive(&mut self) -> Option<Message> {
        let mut head = [0; 5];
        self.socket.read_exact(&mut head).ok()?;
        let len = i32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let mut body = vec![0; len];
        self.socket.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    /// Messages up to the one that says that the server waits, or to the end.
    pub fn until_ready(&mut self) -> Vec<Message> {
        self.until(b'Z')
    }

    pub fn until(&mut self, last: u8) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.receive() {
            let is_last = message.0 == last;
            messages.push(message);
            if is_last {
                break;
            }
        }
        messages
    }

    pub fn query(&mut self, sql: &str) -> Vec<Message> {
        self.send(b'Q', &[sql.as_bytes(), b"\0"].concat());
        self.until_ready()
    }

    /// The answer as a line: rows in brackets, tags, codes of errors, the state of the transaction.
    pub fn said(&mut self, sql: &str) -> String {
        summary(&self.query(sql))
    }

    /// Parse, Bind of text values, Describe of the portal, Execute, without Sync.
    pub fn extended(
        &mut self,
        sql: &str,
        types: &[u32],
        values: &[Option<&str>],
        formats: &[i16],
        rows_max: i32,
    ) {
        let mut parse = [b"\0", sql.as_bytes(), b"\0"].concat();
        parse.extend((types.len() as i16).to_be_bytes());
        types.iter().for_each(|number| parse.extend(number.to_be_bytes()));
        self.send(b'P', &parse);
        let mut bind = b"\0\0\0\0".to_vec();
        bind.extend((values.len() as i16).to_be_bytes());
        for value in values {
            match value {
                Some(value) => {
                    bind.extend((value.len() as i32).to_be_bytes());
                    bind.extend_from_slice(value.as_bytes());
                }
                None => bind.extend((-1i32).to_be_bytes()),
            }
        }
        bind.extend((formats.len() as i16).to_be_bytes());
        formats.iter().for_each(|format| bind.extend(format.to_be_bytes()));
        self.send(b'B', &bind);
        self.send(b'D', b"P\0");
        self.execute(rows_max);
    }

    pub fn execute(&mut self, rows_max: i32) {
        self.send(b'E', &[&[0][..], &rows_max.to_be_bytes()].concat());
    }
}

/// The values of a row.
pub fn row(body: &[u8]) -> Vec<Option<Vec<u8>>> {
    let count = i16::from_be_bytes([body[0], body[1]]);
    let (mut values, mut rest) = (Vec::new(), &body[2..]);
    for _ in 0..count {
        let len = i32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]);
        rest = &rest[4..];
        if len < 0 {
            values.push(None);
        } else {
            values.push(Some(rest[..len as usize].to_vec()));
            rest = &rest[len as usize..];
        }
    }
    values
}

pub fn summary(messages: &[Message]) -> String {
    let shown = messages.iter().filter_map(|(kind, body)| match kind {
        b'D' => {
            let values: Vec<String> = row(body)
                .iter()
                .map(|value| value.as_ref().map_or("NULL".to_string(), |value| text(value)))
                .collect();
            Some(format!("({})", values.join(",")))
        }
        b'C' => Some(text(&body[..body.len() - 1])),
        b'E' => Some(format!("!{}", field(body, b'C').unwrap())),
        b'N' => Some(format!("note:{}", field(body, b'M').unwrap())),
        b's' => Some("...".to_string()),
        b'I' => Some("empty".to_string()),
        b'Z' => Some(text(body)),
        b'd' => Some(format!("[{}]", text(body).trim_end_matches('\n'))),
        b'G' => Some("copy-in".to_string()),
        _ => None,
    });
    shown.collect::<Vec<String>>().join(" ")
}

/// An answer of HTTP: status, head, body, and whether the body ended as it should.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    pub is_whole: bool,
}

impl Answer {
    pub fn text(&self) -> String {
        text(&self.body)
    }
}

/// Sends a request and reads its answer to the end.
pub fn request(server: &Server, method: &str, target: &str, heads: &[&str], body: &str) -> Answer {
    request_bytes(server, method, target, heads, body.as_bytes())
}

/// The same with a body that is no text.
pub fn request_bytes(server: &Server, method: &str, target: &str, heads: &[&str], body: &[u8]) -> Answer {
    let mut socket = connect(server.http.unwrap());
    let host = if heads.iter().any(|head| head.starts_with("Host")) { "" } else { "Host: localhost\r\n" };
    let heads: String = heads.iter().map(|head| format!("{head}\r\n")).collect();
    let length = body.len();
    write!(
        socket,
        "{method} {target} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{heads}\r\n"
    )
    .unwrap();
    // A server that refuses a body closes before it has come.
    let _ = socket.write_all(body);
    let mut bytes = Vec::new();
    // A connection that breaks off ends here, too.
    let _ = socket.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = text(&bytes[..end]);
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let rest = &bytes[end + 4..];
    let (body, is_whole) = if head.to_lowercase().contains("transfer-encoding: chunked") {
        dechunked(rest)
    } else {
        (rest.to_vec(), true)
    };
    Answer { status, head, body, is_whole }
}

fn dechunked(bytes: &[u8]) -> (Vec<u8>, bool) {
    let (mut body, mut rest) = (Vec::new(), bytes);
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let len = usize::from_str_radix(&text(&rest[..end]), 16).unwrap();
        if len == 0 {
            return (body, true);
        }
        let Some(chunk) = rest.get(end + 2..end + 2 + len) else { break };
        body.extend_from_slice(chunk);
        rest = rest.get(end + 2 + len + 2..).unwrap_or_default();
    }
    (body, false)
}

pub fn percent(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() { (byte as char).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}
