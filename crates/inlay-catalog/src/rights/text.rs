//! The texts of roles and grants, a fact a line, words parted by tabs: `login`, `in<tab>sales<tab>admin<tab>inlay`,
//! `r*<tab>inlay<tab>salary`. Lines that a version does not know make it refuse the text, so that no right is overlooked.

use super::Privilege;
use inlay_types::{Error, Result};
use std::fmt::Write;

/// That a role is in another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Membership {
    /// The other one.
    pub role: String,
    /// WITH ADMIN OPTION.
    pub admin: bool,
    /// Who put it there.
    pub grantor: String,
}

/// What stands for a password until an end.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its name.
    pub name: String,
    /// The SHA-256 of what is sent, in hexadecimal digits.
    pub hash: String,
    /// Microseconds since 1970 (UTC).
    pub until: Option<i64>,
}

/// A role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Role {
    /// Whether one may come as it.
    pub logs_in: bool,
    /// Whether it may everything.
    pub is_superuser: bool,
    /// Whether it may make roles.
    pub creates_roles: bool,
    /// Most sessions at a time.
    pub connections: Option<u32>,
    /// Until when its password is one, in microseconds since 1970 (UTC).
    pub until: Option<i64>,
    /// What proves its password, as `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey`.
    pub verifier: Option<String>,
    /// The roles that it is in.
    pub is_in: Vec<Membership>,
    /// Its tokens.
    pub tokens: Vec<Token>,
}

/// What was granted.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// What may be done.
    pub privilege: Privilege,
    /// With this column alone, in lower case.
    pub column: Option<String>,
    /// WITH GRANT OPTION.
    pub option: bool,
    /// As whom it was granted.
    pub grantor: String,
}

impl Held {
    /// Of a whole object, without the option to hand it on.
    pub fn plain(privilege: Privilege, grantor: &str) -> Self {
        Self { privilege, column: None, option: false, grantor: grantor.to_string() }
    }
}

fn unknown(line: &str) -> Error {
    Error::corrupt(format!("a role or grant that says \"{line}\""))
}

impl Role {
    /// Its text.
    pub fn write(&self) -> String {
        let mut out = String::new();
        for (is_so, word) in [
            (self.logs_in, "login\n"),
            (self.is_superuser, "superuser\n"),
            (self.creates_roles, "createrole\n"),
        ] {
            out.push_str(if is_so { word } else { "" });
        }
        let mut line = |name: &str, value: String| {
            let _ = writeln!(out, "{name}\t{value}");
        };
        self.connections.into_iter().for_each(|most| line("connections", most.to_string()));
        self.until.into_iter().for_each(|until| line("until", until.to_string()));
        self.verifier.iter().for_each(|verifier| line("verifier", verifier.clone()));
        for Membership { role, admin, grantor } in &self.is_in {
            line(
                "in",
                format!("{}\t{}\t{}", escaped(role), if *admin { "admin" } else { "" }, escaped(grantor)),
            );
        }
        for Token { name, hash, until } in &self.tokens {
            let until = until.map_or_else(String::new, |until| until.to_string());
            line("token", format!("{}\t{hash}\t{until}", escaped(name)));
        }
        out
    }

    /// The role of a text.
    pub fn read(text: &str) -> Result<Self> {
        let mut role = Self::default();
        for line in text.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            let number = |text: &str| text.parse::<i64>().map_err(|_| unknown(line));
            match parts.as_slice() {
                ["login"] => role.logs_in = true,
                ["superuser"] => role.is_superuser = true,
                ["createrole"] => role.creates_roles = true,
                ["connections", most] => role.connections = Some(most.parse().map_err(|_| unknown(line))?),
                ["until", until] => role.until = Some(number(until)?),
                ["verifier", verifier] => role.verifier = Some((*verifier).to_string()),
                ["in", name, admin, grantor] => role.is_in.push(Membership {
                    role: plain(name),
                    admin: *admin == "admin",
                    grantor: plain(grantor),
                }),
                ["token", name, hash, until] => role.tokens.push(Token {
                    name: plain(name),
                    hash: (*hash).to_string(),
                    until: if until.is_empty() { None } else { Some(number(until)?) },
                }),
                _ => return Err(unknown(line)),
            }
        }
        Ok(role)
    }
}

/// The text of what was granted.
pub fn write_held(held: &[Held]) -> String {
    let mut out = String::new();
    for Held { privilege, column, option, grantor } in held {
        let option = if *option { "*" } else { "" };
        let _ = write!(out, "{}{option}\t{}", privilege.letter(), escaped(grantor));
        if let Some(column) = column {
            let _ = write!(out, "\t{}", escaped(column));
        }
        out.push('\n');
    }
    out
}

/// What was granted by a text.
pub fn read_held(text: &str) -> Result<Vec<Held>> {
    text.lines()
        .map(|line| {
            let parts: Vec<&str> = line.split('\t').collect();
            let (what, grantor, column) = match parts.as_slice() {
                [what, grantor] => (what, grantor, None),
                [what, grantor, column] => (what, grantor, Some(plain(column))),
                _ => return Err(unknown(line)),
            };
            let (letter, option) = match what.strip_suffix('*') {
                Some(letter) => (letter, true),
                None => (*what, false),
            };
            let mut letters = letter.chars();
            let privilege =
                letters.next().and_then(Privilege::of_letter).filter(|_| letters.next().is_none());
            let privilege = privilege.ok_or_else(|| unknown(line))?;
            Ok(Held { privilege, column, option, grantor: plain(grantor) })
        })
        .collect()
}

/// A name without tabs and ends of lines.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

fn plain(text: &str) -> String {
    let (mut out, mut letters) = (String::with_capacity(text.len()), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.push(match letters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            }),
            other => out.push(other),
        }
    }
    out
}
