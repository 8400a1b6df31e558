//! How answers are shown.

use super::{one, switch, usage};
use crate::session::{Done, Session, said};
use crate::settings::{MODES, Mode, Pager};
use inlay::render::LargeNumbers;

pub fn mode(session: &mut Session, words: &[String]) -> Done {
    let [name, rest @ ..] = words else {
        let name = session.settings.mode.name();
        return session.print(&format!("mode: {name}"));
    };
    let Some(mode) = Mode::named(name) else {
        let near = inlay::near_names(name, MODES.iter().map(|(name, ..)| *name));
        let names: Vec<&str> = MODES.iter().map(|(name, ..)| *name).collect();
        let hint = match near.first() {
            Some(near) => format!("; did you mean {}?", near.trim_matches('"')),
            None => format!("; modes are {}", names.join(", ")),
        };
        return said(format!("there is no mode {name}{hint}"));
    };
    match (mode, rest) {
        (_, []) => {}
        (Mode::Insert, [table]) => session.settings.insert_table.clone_from(table),
        _ => return usage("mode"),
    }
    session.settings.set_mode(mode);
    Ok(())
}

pub fn headers(session: &mut Session, words: &[String]) -> Done {
    session.settings.headers = switch("headers", words)?;
    Ok(())
}

pub fn highlight(session: &mut Session, words: &[String]) -> Done {
    session.settings.highlight = switch("highlight", words)?;
    Ok(())
}

pub fn nullvalue(session: &mut Session, words: &[String]) -> Done {
    session.settings.null = Some(one("nullvalue", words)?.to_string());
    Ok(())
}

pub fn separator(session: &mut Session, words: &[String]) -> Done {
    match words {
        [between] => session.settings.separator = Some(unescaped(between)),
        [between, behind] => {
            session.settings.separator = Some(unescaped(between));
            session.settings.row_separator = Some(unescaped(behind));
        }
        _ => return usage("separator"),
    }
    Ok(())
}

/// `\t` and the like, also outside of quotes.
fn unescaped(text: &str) -> String {
    text.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r")
}

pub fn maxrows(session: &mut Session, words: &[String]) -> Done {
    session.settings.rows_max = count("maxrows", words)?;
    Ok(())
}

pub fn maxwidth(session: &mut Session, words: &[String]) -> Done {
    session.settings.width_max = count("maxwidth", words)?;
    Ok(())
}

fn count(name: &str, words: &[String]) -> Result<usize, crate::session::Failure> {
    let text = one(name, words)?;
    text.parse().or_else(|_| said(format!(".{name} takes a number from 0 on, not {text}")))
}

pub fn width(session: &mut Session, words: &[String]) -> Done {
    let parsed: Result<Vec<i32>, _> = words.iter().map(|word| word.parse::<i32>()).collect();
    match parsed {
        Ok(widths) if widths.iter().all(|width| width.unsigned_abs() <= 100_000) => {
            session.settings.widths = widths;
            Ok(())
        }
        _ => said("widths are numbers from -100000 to 100000"),
    }
}

pub fn large_numbers(session: &mut Session, words: &[String]) -> Done {
    session.settings.large_numbers = match one("large_number_rendering", words)? {
        "all" => LargeNumbers::All,
        "footer" => LargeNumbers::Footer,
        "off" => LargeNumbers::Off,
        other => return said(format!("large numbers are rendered all, footer or off, not {other}")),
    };
    Ok(())
}

pub fn thousand_sep(session: &mut Session, words: &[String]) -> Done {
    session.settings.thousands = named_separator(one("thousand_sep", words)?);
    Ok(())
}

pub fn decimal_sep(session: &mut Session, words: &[String]) -> Done {
    session.settings.decimal = named_separator(one("decimal_sep", words)?);
    Ok(())
}

fn named_separator(text: &str) -> Option<String> {
    let text = match text {
        "off" | "none" | "" => return None,
        "space" => " ",
        "comma" => ",",
        "dot" | "point" => ".",
        text => text,
    };
    Some(text.to_string())
}

pub fn pager(session: &mut Session, words: &[String]) -> Done {
    session.settings.pager = match one("pager", words)? {
        "on" => Pager::On,
        "off" => Pager::Off,
        "auto" | "automatic" => Pager::Auto,
        other => return said(format!("the pager is on, off or auto, not {other}")),
    };
    Ok(())
}

pub fn timer(session: &mut Session, words: &[String]) -> Done {
    let is_on = switch("timer", words)?;
    set_timer(session, is_on)
}

/// `.timer`, `\timing`.
pub fn set_timer(session: &mut Session, is_on: bool) -> Done {
    session.settings.timer = is_on;
    Ok(())
}
