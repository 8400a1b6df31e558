//! Where a server is, and who connects to it.

use crate::{CHUNK_SIZE, CHUNK_SIZE_MAX, CHUNK_SIZE_MIN};
use inlay_types::{Error, Result};

/// The port that servers listen on unless told otherwise.
pub const DEFAULT_PORT: u16 = 4655;

/// The parts of `inlay://user:password@host:port/database?name=value&...` or `inlay+unix:///path?db=database&user=name`.
///
/// `chunk_size` (bytes), `token`, `user`, `db` and `application` mean what they say; `tls` is `on` or `off` (in doubt it is on, but for this
/// machine), and `tls_ca` a file with the certificates that the server's is checked by, in the place of the usual authorities. Other names are
/// settings of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Where the server listens.
    pub place: Place,
    /// Who connects.
    pub user: String,
    /// What for, if the server asks.
    pub password: Option<String>,
    /// The same, if it asks for a token.
    pub token: Option<String>,
    /// The database; empty: the server's first.
    pub database: String,
    /// Bytes of a chunk.
    pub chunk_size: u32,
    /// What program connects.
    pub application: String,
    /// Whether the connection is encrypted; absent: unless the server is on this machine.
    pub tls: Option<bool>,
    /// A file with the certificates that the server's is checked by.
    pub tls_ca: Option<String>,
    /// Settings of the session.
    pub settings: Vec<(String, String)>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host and a port.
    Tcp(String, u16),
    /// The path of a UNIX socket.
    Unix(String),
}

fn wrong(url: &str, why: &str) -> Error {
    // Passwords are not shown.
    let shown = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
    // Nor are tokens.
    let shown = shown.split_once('?').map_or(shown, |(before, _)| before);
    let hint = "an address is written inlay://user@host:port/database, or inlay+unix:///path/to/socket";
    Error::invalid_argument(format!("the address \"{shown}\" {why}")).with_hint(hint)
}

/// What `%41` and the like stand for.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

impl Url {
    /// Whether a text is meant to be an address of a server.
    pub fn is_one(text: &str) -> bool {
        ["inlay://", "inlay+unix://"].iter().any(|start| text.starts_with(start))
    }

    /// The address without what proves who connects, to be shown.
    pub fn shown(&self) -> String {
        match &self.place {
            Place::Tcp(host, port) if host.contains(':') => {
                format!("inlay://[{host}]:{port}/{}", self.database)
            }
            Place::Tcp(host, port) => format!("inlay://{host}:{port}/{}", self.database),
            Place::Unix(path) => format!("inlay+unix://{path}"),
        }
    }

    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self> {
        let part = |part: &str| {
            decoded(part).ok_or_else(|| wrong(text, "has a % that is followed by no two digits"))
        };
        let (rest, query) = text.split_once('?').unwrap_or((text, ""));
        let mut url = Self {
            place: Place::Unix(String::new()),
            user: String::new(),
            password: None,
            token: None,
            database: String::new(),
            chunk_size: CHUNK_SIZE,
            application: "inlay".to_string(),
            tls: None,
            tls_ca: None,
            settings: Vec::new(),
        };
        if let Some(path) = rest.strip_prefix("inlay+unix://") {
            if path.is_empty() {
                return Err(wrong(text, "has no path"));
            }
            url.place = Place::Unix(part(path)?);
        } else if let Some(rest) = rest.strip_prefix("inlay://") {
            let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
            let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            let (user, password) = login.split_once(':').map_or((login, None), |(user, pw)| (user, Some(pw)));
            url.user = part(user)?;
            url.password = password.map(part).transpose()?;
            url.database = part(database)?;
            let (host, port) =
                host_and_port(host).ok_or_else(|| wrong(text, "has no port from 1 to 65535"))?;
            if host.is_empty() {
                return Err(wrong(text, "has no host"));
            }
            url.place = Place::Tcp(host.to_string(), port);
        } else {
            return Err(wrong(text, "does not begin with inlay:// or inlay+unix://"));
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = part(value)?;
            match name {
                "user" => url.user = value,
                "db" => url.database = value,
                "token" => url.token = Some(value),
                "application" => url.application = value,
                "tls" => {
                    let known = [("on", true), ("off", false)].into_iter().find(|(name, _)| *name == value);
                    let (_, is_on) =
                        known.ok_or_else(|| wrong(text, "has a tls that is neither on nor off"))?;
                    url.tls = Some(is_on);
                }
                "tls_ca" => url.tls_ca = Some(value),
                "chunk_size" => {
                    let size =
                        value.parse().ok().filter(|size| (CHUNK_SIZE_MIN..=CHUNK_SIZE_MAX).contains(size));
                    url.chunk_size = size.ok_or_else(|| {
                        wrong(
                            text,
                            &format!(
                                "has a chunk_size that is not from {CHUNK_SIZE_MIN} to {CHUNK_SIZE_MAX}"
                            ),
                        )
                    })?;
                }
                setting => url.settings.push((setting.to_string(), value)),
            }
        }
        Ok(url)
    }
}

/// A name, an address, or an address of version 6 in brackets, and a port.
fn host_and_port(text: &str) -> Option<(&str, u16)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return Some((
            host,
            if rest.is_empty() { DEFAULT_PORT } else { rest.strip_prefix(':')?.parse().ok()? },
        ));
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, port.parse().ok().filter(|port| *port > 0)?)),
        None => Some((text, DEFAULT_PORT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let url = Url::parse("inlay://ana:p%40ss@db.example:7000/sales?chunk_size=65536&threads=2").unwrap();
        assert_eq!(url.place, Place::Tcp("db.example".to_string(), 7000));
        assert_eq!((url.user.as_str(), url.password.as_deref()), ("ana", Some("p@ss")));
        assert_eq!((url.database.as_str(), url.chunk_size), ("sales", 65536));
        assert_eq!(url.settings, [("threads".to_string(), "2".to_string())]);
        assert_eq!(Url::parse("inlay://[::1]").unwrap().place, Place::Tcp("::1".to_string(), DEFAULT_PORT));
        let url = Url::parse("inlay+unix:///run/inlay.sock?db=x&user=ana").unwrap();
        assert_eq!(url.place, Place::Unix("/run/inlay.sock".to_string()));
        assert_eq!((url.database.as_str(), url.user.as_str()), ("x", "ana"));
    }

    #[test]
    fn what_is_wrong_is_said_and_passwords_are_not() {
        for (url, why) in [
            ("postgres://x", "does not begin"),
            ("inlay://", "has no host"),
            ("inlay://h:0", "has no port"),
            ("inlay://h:99999", "has no port"),
            ("inlay://h/%zz", "has a %"),
            ("inlay+unix://", "has no path"),
            ("inlay://a:secret@h?chunk_size=1", "chunk_size"),
            ("inlay://h?token=secret&chunk_size=1", "chunk_size"),
        ] {
            let error = Url::parse(url).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("secret"), "{url}: {error}");
        }
    }
}
