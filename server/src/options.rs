//! What is served, where, and to whom: the command line of `inlay serve`, understood and judged.
//!
//! What leaves the machine is encrypted and asks who is there, or the server does not start ([`Options::check`]).

use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

/// See the module documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Databases; none is one in memory.
    pub files: Vec<String>,
    /// Where it listens.
    pub listen: IpAddr,
    /// The port of PostgreSQL's protocol; 0 is any that is free.
    pub postgres_port: Option<u16>,
    /// The port of HTTP.
    pub http_port: Option<u16>,
    /// The port of the native protocol.
    pub native_port: Option<u16>,
    /// A folder for UNIX sockets of PostgreSQL's and the native protocol.
    pub socket_dir: Option<String>,
    /// Who may come. Without, whoever reaches the address.
    pub password_file: Option<String>,
    /// Certificate chain in PEM.
    pub tls_cert: Option<String>,
    /// Its key.
    pub tls_key: Option<String>,
    /// Whether both are made where they are not there.
    pub tls_self_signed: bool,
    /// Names by which HTTP may be asked for besides addresses: the Host of a proxy.
    pub hosts: Vec<String>,
    /// Whether statements reach files and servers, as the program does.
    pub allows_files: bool,
    /// Whether databases are only read.
    pub is_read_only: bool,
    /// Sessions at once.
    pub connections_max: usize,
    /// Threads that run statements.
    pub statements_max: usize,
    /// The largest message or body of a client.
    pub message_bytes_max: usize,
    /// How long what runs may go on when the server ends.
    pub grace: Duration,
    /// Whether it says what happens.
    pub is_quiet: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            listen: IpAddr::from([127, 0, 0, 1]),
            postgres_port: Some(5433),
            http_port: Some(8433),
            native_port: Some(inlay_protocol::client::DEFAULT_PORT),
            socket_dir: None,
            password_file: None,
            tls_cert: None,
            tls_key: None,
            tls_self_signed: false,
            hosts: Vec::new(),
            allows_files: false,
            is_read_only: false,
            connections_max: 1000,
            statements_max: 64,
            message_bytes_max: 64 << 20,
            grace: Duration::from_secs(10),
            is_quiet: false,
        }
    }
}

/// What an option takes.
enum Apply {
    Flag(fn(&mut Options)),
    Value(&'static str, fn(&mut Options, String) -> Result<(), String>),
}

const OPTIONS: &[(&str, Apply, &str)] = &[
    (
        "listen",
        Apply::Value("ADDRESS", |options, text| {
            options.listen = match text.as_str() {
                "localhost" => IpAddr::from([127, 0, 0, 1]),
                text => {
                    text.parse().map_err(|_| format!("{text} is no IP address, such as 127.0.0.1 or ::1"))?
                }
            };
            Ok(())
        }),
        "where to listen: 127.0.0.1 unless given; other machines need --password-file and --tls-cert",
    ),
    (
        "postgres-port",
        Apply::Value("PORT", |options, text| port(&text).map(|port| options.postgres_port = port)),
        "port of PostgreSQL's protocol, or off: 5433",
    ),
    (
        "http-port",
        Apply::Value("PORT", |options, text| port(&text).map(|port| options.http_port = port)),
        "port of HTTP, or off: 8433",
    ),
    (
        "native-port",
        Apply::Value("PORT", |options, text| port(&text).map(|port| options.native_port = port)),
        "port of the native protocol, inlay://, or off: 4655",
    ),
    (
        "socket-dir",
        Apply::Value("DIR", |options, text| set(&mut options.socket_dir, text)),
        "also listen at UNIX sockets in this folder: inlay.PORT.sock, .s.PGSQL.PORT",
    ),
    (
        "password-file",
        Apply::Value("FILE", |options, text| set(&mut options.password_file, text)),
        "who may come: lines NAME:PASSWORD",
    ),
    (
        "tls-cert",
        Apply::Value("FILE", |options, text| set(&mut options.tls_cert, text)),
        "certificate chain in PEM",
    ),
    ("tls-key", Apply::Value("FILE", |options, text| set(&mut options.tls_key, text)), "its key in PEM"),
    (
        "tls-self-signed",
        Apply::Flag(|options| options.tls_self_signed = true),
        "make both where they are not there: a certificate that is signed by itself",
    ),
    (
        "host",
        Apply::Value("NAME", |options, text| {
            options.hosts.push(text);
            Ok(())
        }),
        "a name that HTTP is reached by, such as that of a proxy; may be given several times",
    ),
    (
        "allow-files",
        Apply::Flag(|options| options.allows_files = true),
        "let statements read and write files and ask servers, as this program may",
    ),
    (
        "read-only",
        Apply::Flag(|options| options.is_read_only = true),
        "serve files to be read alone: nothing is written, also to the files",
    ),
    (
        "max-connections",
        Apply::Value("N", |options, text| number(&text).map(|number| options.connections_max = number)),
        "sessions at once: 1000",
    ),
    (
        "max-statements",
        Apply::Value("N", |options, text| number(&text).map(|number| options.statements_max = number)),
        "statements that run at once, others wait: 64",
    ),
    (
        "max-message",
        Apply::Value("MIB", |options, text| {
            let mebibytes = number(&text)?;
            options.message_bytes_max = mebibytes.min(1023) << 20;
            Ok(())
        }),
        "the largest message or body of a client: 64",
    ),
    (
        "grace",
        Apply::Value("SECONDS", |options, text| {
            let seconds: u32 = text.parse().map_err(|_| format!("{text} is no number of seconds"))?;
            options.grace = Duration::from_secs(seconds.into());
            Ok(())
        }),
        "how long statements may go on when the server ends: 10",
    ),
    ("quiet", Apply::Flag(|options| options.is_quiet = true), "say nothing but errors"),
];

fn set(place: &mut Option<String>, text: String) -> Result<(), String> {
    *place = Some(text);
    Ok(())
}

fn port(text: &str) -> Result<Option<u16>, String> {
    match text {
        "off" => Ok(None),
        text => {
            text.parse().map(Some).map_err(|_| format!("{text} is no port: a number up to 65535, or off"))
        }
    }
}

fn number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| format!("{text} is no number from 1 to 1000000"))
}

/// What `inlay serve --help` prints.
pub fn help() -> String {
    let mut text = "Usage: inlay serve [OPTIONS] [FILE...]

Serves databases to clients of the native protocol, of PostgreSQL's and of HTTP until it is told to end (Ctrl-C, SIGTERM). Without FILE, one in memory.
Of several, each is a database by the name of its file; clients begin in the first unless they name another.

"
    .to_string();
    for (name, apply, help) in OPTIONS {
        let value = match apply {
            Apply::Flag(_) => "",
            Apply::Value(value, _) => value,
        };
        let _ = writeln!(text, "  {:26} {help}", format!("--{name} {value}"));
    }
    text
}

/// Understands the arguments behind `serve`; `None` if help is asked for.
pub fn parse(args: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let (mut options, mut args) = (Options::default(), args);
    while let Some(arg) = args.next() {
        let Some(name) =
            arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')).filter(|name| !name.is_empty())
        else {
            options.files.push(arg);
            continue;
        };
        if matches!(name, "help" | "h") {
            return Ok(None);
        }
        let (name, given) =
            name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value.to_string())));
        let found = OPTIONS.iter().find(|(known, ..)| *known == name);
        let (_, apply, _) = found.ok_or_else(|| {
            let near = inlay::near_names(name, OPTIONS.iter().map(|(known, ..)| *known));
            let near = near
                .first()
                .map_or(String::new(), |near| format!("; did you mean --{}?", near.trim_matches('"')));
            format!("there is no option {arg} of serve{near}")
        })?;
        match (apply, given) {
            (Apply::Flag(_), Some(_)) => return Err(format!("--{name} takes no value")),
            (Apply::Flag(apply), None) => apply(&mut options),
            (Apply::Value(what, apply), given) => {
                let value = given
                    .or_else(|| args.next())
                    .ok_or_else(|| format!("--{name} needs a value: --{name} {what}"))?;
                apply(&mut options, value)?;
            }
        }
    }
    options.check()?;
    Ok(Some(options))
}

impl Options {
    /// Refuses what would let strangers in.
    pub fn check(&self) -> Result<(), String> {
        let ports = [self.postgres_port, self.http_port, self.native_port];
        if ports.iter().all(Option::is_none) {
            let message = "there is nothing to serve: --native-port, --postgres-port and --http-port are off";
            return Err(message.to_string());
        }
        if self.socket_dir.is_some() && self.postgres_port.is_none() && self.native_port.is_none() {
            return Err("--socket-dir is for the native protocol and PostgreSQL's, which are off".to_string());
        }
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err("--tls-cert and --tls-key belong together".to_string());
        }
        if self.tls_self_signed && self.tls_cert.is_none() {
            let message =
                "--tls-self-signed makes the files of --tls-cert and --tls-key, which are not given";
            return Err(message.to_string());
        }
        if self.is_read_only && self.files.is_empty() {
            return Err("--read-only needs a file: one in memory has nothing to read".to_string());
        }
        let missing = match (self.listen.is_loopback(), &self.password_file, &self.tls_cert) {
            (true, ..) | (false, Some(_), Some(_)) => return Ok(()),
            (false, None, Some(_)) => "--password-file",
            (false, Some(_), None) => "--tls-cert and --tls-key",
            (false, None, None) => "--password-file, --tls-cert and --tls-key",
        };
        Err(format!("--listen {} lets other machines in, which takes {missing}", self.listen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options, String> {
        parse(args.iter().map(|arg| arg.to_string())).map(|options| options.unwrap_or_default())
    }

    #[test]
    fn the_command_line_is_understood() {
        let options = parsed(&["a.inlay", "--postgres-port", "0", "-http-port=off", "b.inlay"]).unwrap();
        assert_eq!(options.files, ["a.inlay", "b.inlay"]);
        assert_eq!((options.postgres_port, options.http_port), (Some(0), None));
        assert_eq!(
            parsed(&["--grcae", "1"]).unwrap_err(),
            "there is no option --grcae of serve; did you mean --grace?"
        );
        assert!(parsed(&["--grace"]).unwrap_err().contains("--grace SECONDS"));
        assert!(parsed(&["--http-port", "off", "--postgres-port", "off", "--native-port", "off"]).is_err());
        assert!(parsed(&["--http-port", "off", "--postgres-port", "off"]).is_ok());
        assert_eq!(parse(["--help".to_string()].into_iter()), Ok(None));
        assert!(OPTIONS.iter().all(|(name, ..)| help().contains(&format!("--{name}"))));
    }

    #[test]
    fn other_machines_need_passwords_and_tls() {
        for listen in ["0.0.0.0", "192.168.1.1", "::"] {
            assert!(
                parsed(&["--listen", listen])
                    .unwrap_err()
                    .contains("--password-file, --tls-cert and --tls-key")
            );
            assert!(
                parsed(&["--listen", listen, "--password-file", "p"])
                    .unwrap_err()
                    .ends_with("takes --tls-cert and --tls-key")
            );
            let tls = ["--listen", listen, "--tls-cert", "c", "--tls-key", "k"];
            assert!(parsed(&tls).unwrap_err().ends_with("takes --password-file"));
            let all = [&tls[..], &["--password-file", "p"]].concat();
            assert!(parsed(&all).is_ok());
        }
        assert!(parsed(&["--listen", "::1"]).is_ok() && parsed(&["--listen", "127.0.0.2"]).is_ok());
        assert!(parsed(&["--tls-cert", "c"]).is_err());
    }
}
