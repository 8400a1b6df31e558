//! What happens, one line each on standard error: `time event key=value ...`.

use std::fmt::Display;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a line. `what` is a word, `fields` names and values; values are quoted where they have to be.
pub fn event(what: &str, fields: &[(&str, &dyn Display)]) {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let at = inlay::Value::Timestamp(micros.try_into().unwrap_or(i64::MAX)).to_string().replace(' ', "T");
    let mut line = format!("{at}Z {what}");
    for (name, value) in fields {
        let value = value.to_string();
        let is_plain = !value.is_empty()
            && value.chars().all(|c| !c.is_whitespace() && !c.is_control() && c != '"' && c != '=');
        line.push_str(&if is_plain { format!(" {name}={value}") } else { format!(" {name}={value:?}") });
    }
    line.push('\n');
    // Who closed standard error does not want to know.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
