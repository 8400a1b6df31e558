//! Lines from a terminal: editing, colours, completion, history.

mod complete;
mod discreet;
mod highlight;
mod names;
mod prompt;
mod tokens;
mod validate;

use crate::session::{Session, home};
use crate::split::{Piece, Splitter};
use names::SharedNames;
use prompt::ShellPrompt;
use reedline::{
    ColumnarMenu, DefaultHinter, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Reedline,
    ReedlineEvent, ReedlineMenu, Signal, default_emacs_keybindings,
};
use std::io::{self, BufRead, Write};
use std::path::Path;

/// Statements that are remembered.
const HISTORY_LENGTH: usize = 10_000;
const MENU: &str = "completion_menu";

/// Reads and runs until the end of input.
pub fn run(session: &mut Session, is_terminal: bool) {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    greet(session);
    if is_terminal && !is_dumb { edited(session) } else { plain(session) }
}

fn greet(session: &mut Session) {
    let place = if session.path == ":memory:" {
        "In memory; .open FILE opens a database that stays.".to_string()
    } else {
        format!("Database {}.", session.path)
    };
    let _ = session.print(&format!(
        "Inlay {}. Statements end with a semicolon; .help lists commands, .quit leaves.\n{place}",
        env!("CARGO_PKG_VERSION")
    ));
}

/// Runs what was typed; what is not finished stays in the splitter.
fn feed(session: &mut Session, splitter: &mut Splitter, text: &str) {
    match validate::bare_command(text) {
        Some(command) if !splitter.is_open() => {
            splitter.clear();
            session.run_typed(&Piece::Command { text: command.to_string(), line: 1 });
        }
        _ => {
            splitter.push(text);
            splitter.push("\n");
            while let (false, Some(piece)) = (session.is_over(), splitter.next_piece()) {
                session.run_typed(&piece);
            }
        }
    }
}

/// A terminal that can do nothing, or none.
fn plain(session: &mut Session) {
    let mut splitter = Splitter::default();
    let mut line = String::new();
    while !session.is_over() {
        let prompt =
            if splitter.is_open() { &session.settings.prompt_more } else { &session.settings.prompt };
        let mut out = io::stdout();
        let _ = write!(out, "{prompt}").and_then(|()| out.flush());
        line.clear();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => feed(session, &mut splitter, line.trim_end_matches(['\n', '\r'])),
        }
    }
    if let (false, Some(piece)) = (session.is_over(), splitter.finish()) {
        session.run_typed(&piece);
    }
}

fn edited(session: &mut Session) {
    let names = SharedNames::default();
    let mut editor = editor(session, &names);
    let mut is_hinted = false;
    while !session.is_over() {
        if std::mem::take(&mut session.has_new_names)
            && let Ok(mut names) = names.write()
        {
            names.refresh(session);
        }
        let settings = &session.settings;
        let prompt =
            ShellPrompt::new(&settings.prompt, &settings.prompt_more, session.connection.in_transaction());
        let mut splitter = Splitter::default();
        match editor.read_line(&prompt) {
            Ok(Signal::Success(text)) => {
                is_hinted = false;
                feed(session, &mut splitter, &text);
                // Without its semicolon only if the editor was told to send it.
                if let (false, Some(piece)) = (session.is_over(), splitter.finish()) {
                    session.run_typed(&piece);
                }
            }
            Ok(Signal::CtrlC) => {
                if !std::mem::replace(&mut is_hinted, true) {
                    let _ = session.print("(.quit or Ctrl-D leaves)");
                }
            }
            Ok(Signal::CtrlD) => break,
            Ok(_) => {}
            Err(error) => {
                let _ = writeln!(io::stderr(), "Error: cannot read from the terminal: {error}");
                break;
            }
        }
    }
}

fn editor(session: &Session, names: &SharedNames) -> Reedline {
    let mut keys = default_emacs_keybindings();
    let complete =
        ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_string()), ReedlineEvent::MenuNext]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, ReedlineEvent::Submit);
    // Enter that was typed while a statement ran.
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), ReedlineEvent::Enter);
    let has_colours = session.has_colours() && session.settings.highlight;
    let menu = ColumnarMenu::default().with_name(MENU);
    let mut editor = Reedline::create()
        .with_ansi_colors(has_colours)
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_completer(Box::new(complete::SqlCompleter { names: names.clone() }))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_validator(Box::new(validate::SqlValidator))
        .with_history_exclusion_prefix(Some(" ".to_string()))
        .use_bracketed_paste(true);
    if has_colours {
        let hint = nu_ansi_term::Style::new().fg(nu_ansi_term::Color::DarkGray);
        editor = editor
            .with_highlighter(Box::new(highlight::SqlHighlighter { names: names.clone() }))
            .with_hinter(Box::new(DefaultHinter::default().with_style(hint)));
    }
    match home().and_then(|home| history(&home.join(".inlay_history"))) {
        Some(history) => editor.with_history(Box::new(discreet::DiscreetHistory(history))),
        None => editor,
    }
}

/// The statements of earlier sessions, in a file that only its owner reads.
fn history(path: &Path) -> Option<FileBackedHistory> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o600));
    }
    drop(file);
    FileBackedHistory::with_file(HISTORY_LENGTH, path.to_path_buf()).ok()
}
