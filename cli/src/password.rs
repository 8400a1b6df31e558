//! The password of an address that has a user and none: of the variable INLAY_PASSWORD, or typed without being shown.

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

/// From which variable of the environment it is taken.
const VARIABLE: &str = "INLAY_PASSWORD";

/// An address with the password of the environment, if it needs one and there is one; else the path as it is.
pub fn of_environment(path: &str) -> String {
    let password = std::env::var(VARIABLE).ok().filter(|password| !password.is_empty());
    password.and_then(|password| with(path, &password)).unwrap_or_else(|| path.to_string())
}

/// An address with the password that is typed; nothing where it needs none, or nobody can be asked.
pub fn asked_for(path: &str) -> Option<String> {
    let user = user_of(path)?;
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let _ = write!(io::stderr(), "Password for {user}: ");
    let _ = io::stderr().flush();
    let typed = typed();
    let _ = writeln!(io::stderr());
    with(path, &typed?)
}

/// The user of an address that says no password.
fn user_of(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("inlay://")?;
    let authority = rest.split(['/', '?']).next()?;
    let (login, _) = authority.rsplit_once('@')?;
    (!login.is_empty() && !login.contains(':')).then_some(login)
}

/// The address with a password behind its user.
fn with(path: &str, password: &str) -> Option<String> {
    let user = user_of(path)?;
    let rest = path.strip_prefix("inlay://")?.strip_prefix(user)?;
    let mut out = format!("inlay://{user}:");
    for byte in password.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(byte.into());
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    Some(out + rest)
}

/// What is typed up to Enter; nothing if that is given up.
fn typed() -> Option<String> {
    terminal::enable_raw_mode().ok()?;
    let mut text = String::new();
    let done = loop {
        let Ok(read) = event::read() else { break false };
        let Event::Key(key) = read else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => break true,
            KeyCode::Esc | KeyCode::Char('c' | 'd') if is_control || key.code == KeyCode::Esc => break false,
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char('u') if is_control => text.clear(),
            KeyCode::Char(c) if !is_control => text.push(c),
            _ => {}
        }
    };
    // The terminal is the shell's again.
    let _ = terminal::disable_raw_mode();
    done.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_go_where_there_is_none() {
        assert_eq!(
            with("inlay://ann@h:1/d?tls=off", "a:b é").as_deref(),
            Some("inlay://ann:a%3Ab%20%C3%A9@h:1/d?tls=off")
        );
        for path in
            ["inlay://ann:x@h", "inlay://h/d", "inlay://h/a@b", "inlay+unix:///s?user=ann", "a@b.inlay"]
        {
            assert_eq!(with(path, "x"), None, "{path}");
        }
    }
}
