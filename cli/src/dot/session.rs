//! The session itself: leaving it, its settings, help.

use super::{COMMANDS, switch, usage};
use crate::session::{Done, Session, said};
use crate::settings::{MODES, Pager};
use inlay::render::LargeNumbers;

pub fn bail(session: &mut Session, words: &[String]) -> Done {
    session.settings.bail = switch("bail", words)?;
    Ok(())
}

pub fn changes(session: &mut Session, words: &[String]) -> Done {
    session.settings.changes = switch("changes", words)?;
    Ok(())
}

pub fn echo(session: &mut Session, words: &[String]) -> Done {
    session.settings.echo = switch("echo", words)?;
    Ok(())
}

pub fn progress(session: &mut Session, words: &[String]) -> Done {
    session.settings.progress = switch("progress", words)?;
    Ok(())
}

pub fn exit(session: &mut Session, words: &[String]) -> Done {
    let code = match words {
        [] => 0,
        [code] => match code.parse() {
            Ok(code) => code,
            Err(_) => return said(format!("an exit code is a number from 0 to 255, not {code}")),
        },
        _ => return usage("exit"),
    };
    session.leave(code);
    Ok(())
}

pub fn print(session: &mut Session, words: &[String]) -> Done {
    session.print(&words.join(" "))
}

pub fn prompt(session: &mut Session, words: &[String]) -> Done {
    match words {
        [first] => session.settings.prompt.clone_from(first),
        [first, more] => {
            session.settings.prompt.clone_from(first);
            session.settings.prompt_more.clone_from(more);
        }
        _ => return usage("prompt"),
    }
    Ok(())
}

pub fn version(session: &mut Session, _: &[String]) -> Done {
    session.print(&format!("inlay {}", env!("CARGO_PKG_VERSION")))
}

/// `.help`: all commands, or those whose name or help has the pattern in it; `.help mode` has the modes as well.
pub fn help(session: &mut Session, words: &[String]) -> Done {
    let pattern = words.join(" ").to_lowercase();
    let pattern = pattern.trim_start_matches('.');
    let is_shown = |name: &str, help: &str| name.contains(pattern) || help.to_lowercase().contains(pattern);
    let mut lines = Vec::new();
    let usage =
        |command: &super::Command| format!(".{} {}", command.name, command.arguments).trim_end().to_string();
    let widest = COMMANDS.iter().map(|command| usage(command).len()).max().unwrap_or(0);
    for command in COMMANDS.iter().filter(|command| is_shown(command.name, command.help)) {
        lines.push(format!("{:widest$}  {}", usage(command), command.help));
    }
    if pattern == "mode" {
        lines.push("Modes:".to_string());
        lines.extend(MODES.iter().map(|(name, _, help)| format!("  {name:10} {help}")));
    }
    if pattern.is_empty() {
        lines.push(
            "Statements end with a semicolon. Of psql there are \\d \\dt \\dv \\di \\dn \\df \\l \\x \\timing \\i \\o \\c \\! \\? \\q."
                .to_string(),
        );
    }
    if lines.is_empty() {
        return said(format!("no command has \"{pattern}\" in its name or help; .help lists all"));
    }
    session.print(&lines.join("\n"))
}

pub fn show(session: &mut Session, _: &[String]) -> Done {
    let settings = &session.settings;
    let switch = |is_on: bool| if is_on { "on" } else { "off" };
    let (between, behind) = settings.separators();
    let optional =
        |text: &Option<String>| text.as_ref().map_or("off".to_string(), |text| format!("{text:?}"));
    let widths: Vec<String> = settings.widths.iter().map(i32::to_string).collect();
    let lines = [
        ("bail", switch(settings.bail).to_string()),
        ("changes", switch(settings.changes).to_string()),
        ("colseparator", format!("{between:?}")),
        ("database", session.path.clone()),
        ("decimal_sep", optional(&settings.decimal)),
        ("echo", switch(settings.echo).to_string()),
        ("headers", switch(settings.headers).to_string()),
        ("highlight", switch(settings.highlight).to_string()),
        (
            "large_number_rendering",
            match settings.large_numbers {
                LargeNumbers::All => "all",
                LargeNumbers::Footer => "footer",
                LargeNumbers::Off => "off",
            }
            .to_string(),
        ),
        ("maxrows", settings.rows_max.to_string()),
        ("maxwidth", settings.width_max.to_string()),
        ("mode", settings.mode.name().to_string()),
        ("nullvalue", format!("{:?}", settings.null())),
        ("output", session.output.name.clone()),
        (
            "pager",
            match settings.pager {
                Pager::On => "on",
                Pager::Off => "off",
                Pager::Auto => "auto",
            }
            .to_string(),
        ),
        ("progress", switch(settings.progress).to_string()),
        ("prompt", format!("{:?} {:?}", settings.prompt, settings.prompt_more)),
        ("rowseparator", format!("{behind:?}")),
        ("thousand_sep", optional(&settings.thousands)),
        ("timer", switch(settings.timer).to_string()),
        ("width", widths.join(" ")),
    ];
    let text: Vec<String> =
        lines.iter().map(|(name, value)| format!("{name:>22}: {value}").trim_end().to_string()).collect();
    session.print(&text.join("\n"))
}
