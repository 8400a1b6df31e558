//! The simple protocol: a text of statements, each of which is answered.
//!
//! Several statements in one text are one transaction, as PostgreSQL has it, unless the text says itself where transactions begin and end, or does
//! something that none may be open for.

use super::encode::Format;
use super::rows::{Rows, fields_of};
use super::scan::{Word, Words};
use super::special::Special;
use super::{Client, Sent, ends_failed, look_of, message, write_in_failed};
use crate::session::FIRST_BYTES;
use inlay::{Command, CommandClass, Parameters, Result, Script, sql};
use std::io;

/// A text that was read.
struct Begun {
    script: Script,
    /// Whether all of it is one transaction, which was begun.
    is_one: bool,
}

/// A statement that ran.
struct Ran {
    script: Script,
    rows: Rows,
}

impl Client {
    /// Answers a text.
    pub async fn simple(&mut self, text: String) -> io::Result<()> {
        // The nameless ones do not outlive this.
        self.statements.remove("");
        self.portals.remove("");
        match pieces(&text) {
            Some(pieces) => {
                let failures = self.failures;
                for piece in pieces {
                    self.piece(piece).await?;
                    if self.failures != failures {
                        break;
                    }
                }
            }
            None => self.piece(text).await?,
        }
        self.ready();
        Ok(())
    }

    /// Answers statements of the engine's, or one that is carried out here.
    async fn piece(&mut self, text: String) -> io::Result<()> {
        match Special::of(&text) {
            Ok(Some(_)) if self.has_failed => {
                self.failures += 1;
                write_in_failed(&mut self.wire.output);
            }
            Ok(Some(special)) => {
                let outcome = self.special(special, None, None).await?;
                self.told(outcome);
            }
            Ok(None) => self.script(text).await?,
            Err(error) => self.fail(&error),
        }
        Ok(())
    }

    /// Tells what was done, or that it was not.
    pub fn told(&mut self, outcome: Result<String>) {
        match outcome {
            Ok(tag) => message::write_complete(&mut self.wire.output, &tag),
            Err(error) => self.fail(&error),
        }
    }

    async fn script(&mut self, text: String) -> io::Result<()> {
        let begun = self
            .work(move |call| {
                let is_free = !call.connection.in_transaction();
                let script = call.connection.script(&text)?;
                let is_one = script.len() > 1 && is_free && is_transaction(&text)?;
                if is_one {
                    call.connection.begin()?;
                }
                Ok(Begun { script, is_one })
            })
            .await?;
        let Begun { script, is_one } = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.fail(&error);
                return Ok(());
            }
        };
        if script.is_empty() {
            message::write(&mut self.wire.output, b'I', |_| ());
            return Ok(());
        }
        let is_done = self.statements_of(script).await?;
        if is_one {
            let ended = self
                .work(move |call| if is_done { call.connection.commit() } else { call.connection.rollback() })
                .await?;
            if let Err(error) = ended {
                self.fail(&error);
            }
        }
        Ok(())
    }

    /// Runs statements up to the last, or to one that fails; whether none did.
    async fn statements_of(&mut self, script: Script) -> io::Result<bool> {
        let mut script = script;
        while let Some((text, command)) = script.peek() {
            let text = text.to_string();
            if self.has_failed && !ends_failed(command) {
                write_in_failed(&mut self.wire.output);
                return Ok(false);
            }
            if self.has_failed && command == Command::Commit {
                // What failed is not committed, and who asks for it is told so.
                let ended = self.work(|call| call.connection.rollback()).await?;
                self.told(ended.map(|_| "ROLLBACK".to_string()));
                self.has_failed = false;
                script.skip();
                continue;
            }
            let ran = self
                .work(move |call| {
                    let mut script = script;
                    let look = look_of(call)?;
                    let cursor =
                        script.next_streaming(&Parameters::default(), Some(&call.host), FIRST_BYTES)?;
                    let cursor = cursor.ok_or_else(|| inlay::Error::internal("a statement went away"))?;
                    let formats = vec![Format::Text; cursor.types().len()];
                    let mut rows = Rows::new(cursor, formats, look);
                    rows.may_be_notice(&text);
                    Ok(Ran { script, rows })
                })
                .await?;
            let ran = match ran {
                Ok(ran) => ran,
                Err(error) => {
                    self.fail(&error);
                    return Ok(false);
                }
            };
            script = ran.script;
            if !self.answer(ran.rows, command).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends what a statement gave; whether it went well to the end.
    async fn answer(&mut self, rows: Rows, command: Command) -> io::Result<bool> {
        if rows.has_columns() {
            let fields = fields_of(rows.header().names(), rows.header().types(), &[]);
            if let Err(error) = message::write_row_description(&mut self.wire.output, &fields) {
                self.fail(&error);
                return Ok(false);
            }
        }
        let sent = self.send(rows, None).await?;
        self.after(command).await?;
        match sent {
            Ok(Sent::All(tag, _)) => message::write_complete(&mut self.wire.output, &tag),
            // Nobody asked for a part.
            Ok(Sent::Some(_)) => {}
            Err(error) => {
                self.fail(&error);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What the client has to know behind a statement that changed the session.
    pub async fn after(&mut self, command: Command) -> io::Result<()> {
        match command.class() {
            CommandClass::Session => self.report().await,
            CommandClass::Transaction => {
                // A savepoint undid what failed.
                if command == Command::RollbackTo {
                    self.has_failed = false;
                }
                if !self.session.in_transaction() {
                    self.forget_portals();
                }
                Ok(())
            }
            CommandClass::Query
            | CommandClass::Change
            | CommandClass::Definition
            | CommandClass::Maintenance => Ok(()),
        }
    }
}

/// The statements of a text one by one, if one of several is carried out here, as what asyncpg's pool sends between two users of a session.
fn pieces(text: &str) -> Option<Vec<String>> {
    const OWN: [&str; 7] = ["close", "unlisten", "discard", "declare", "fetch", "move", "listen"];
    let (mut words, mut pieces, mut start, mut is_own) = (Words::new(text), Vec::new(), 0, false);
    let mut is_first = true;
    loop {
        let word = words.next().ok()?;
        match word {
            Some(Word::Sign(';')) | None => {
                let end = text.len() - words.rest_here().len();
                let piece = text.get(start..end)?.trim().trim_end_matches(';');
                if !piece.is_empty() {
                    pieces.push(piece.to_string());
                }
                (start, is_first) = (end, true);
                if word.is_none() {
                    return (is_own && pieces.len() > 1).then_some(pieces);
                }
            }
            Some(word) => {
                is_own |= is_first && matches!(&word, Word::Plain(word) if OWN.contains(&word.as_str()));
                is_first = false;
            }
        }
    }
}

/// Whether statements are one transaction where nothing says otherwise.
fn is_transaction(text: &str) -> Result<bool> {
    let is_plain = |command: Command| match command.class() {
        CommandClass::Transaction | CommandClass::Maintenance => false,
        CommandClass::Query | CommandClass::Change | CommandClass::Definition | CommandClass::Session => true,
    };
    Ok(sql::statements(text)?.iter().all(|statement| is_plain(statement.command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_the_door_are_taken_out_of_a_text() {
        let reset = "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;";
        assert_eq!(
            pieces(reset).unwrap_or_default(),
            ["SELECT pg_advisory_unlock_all()", "CLOSE ALL", "UNLISTEN *", "RESET ALL"]
        );
        assert_eq!(pieces("CLOSE ALL"), None);
        assert_eq!(pieces("SELECT 'close;'; SELECT 2 -- close"), None);
        assert_eq!(
            pieces("FETCH 1 FROM c; SELECT ';'").unwrap_or_default(),
            ["FETCH 1 FROM c", "SELECT ';'"]
        );
    }
}
