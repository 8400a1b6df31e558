//! Statements about transactions and databases.

use super::Reader;
use super::ast::{Isolation, StatementKind, TransactionModes};
use inlay_types::{Error, Result};
use sqlparser::tokenizer::Token;

impl Reader<'_> {
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT` and their other spellings.
    pub(super) fn transaction(&mut self, keyword: &str) -> Result<StatementKind> {
        self.parser.next_token();
        match keyword {
            "SAVEPOINT" => return Ok(StatementKind::Savepoint(self.identifier()?)),
            "RELEASE" => {
                self.word("savepoint");
                return Ok(StatementKind::Release(self.identifier()?));
            }
            "START" => self.expect_word("transaction")?,
            _ => {
                let _ = self.word("transaction") || self.word("work");
            }
        }
        Ok(match keyword {
            "BEGIN" | "START" => StatementKind::Begin(self.transaction_modes()?),
            "COMMIT" | "END" => StatementKind::Commit,
            _ if self.word("to") => {
                self.word("savepoint");
                StatementKind::RollbackTo(self.identifier()?)
            }
            _ => StatementKind::Rollback,
        })
    }

    /// Tells `SET TRANSACTION` (`Some(false)`) and `SET SESSION CHARACTERISTICS AS TRANSACTION` (`Some(true)`) from a
    /// setting, and reads it.
    pub(super) fn starts_set_transaction(&mut self) -> Option<bool> {
        let is_setting = matches!(self.parser.peek_nth_token_ref(1).token, Token::Eq);
        if self.words(&["session", "characteristics", "as", "transaction"]) {
            return Some(true);
        }
        (!is_setting && !self.nth_word_is(1, "to") && self.word("transaction")).then_some(false)
    }

    /// `SET CONSTRAINTS {ALL | name, ...} {DEFERRED | IMMEDIATE}`.
    pub(super) fn set_constraints(&mut self) -> Result<StatementKind> {
        self.word("constraints");
        let mut names = Vec::new();
        if !self.word("all") {
            loop {
                let mut name = self.identifier()?;
                while self.parser.consume_token(&Token::Period) {
                    name = self.identifier()?;
                }
                names.push(name);
                if !self.parser.consume_token(&Token::Comma) {
                    break;
                }
            }
        }
        let deferred = match (self.word("deferred"), self.word("immediate")) {
            (true, _) => true,
            (_, true) => false,
            _ => return self.syntax("DEFERRED or IMMEDIATE"),
        };
        Ok(StatementKind::SetConstraints { names, deferred })
    }

    /// `ISOLATION LEVEL ...`, `READ ONLY`, `READ WRITE`, perhaps with commas between them.
    pub(super) fn transaction_modes(&mut self) -> Result<TransactionModes> {
        let mut modes = TransactionModes::default();
        while !self.at_end() {
            if self.words(&["isolation", "level"]) {
                modes.isolation = Some(self.isolation()?);
            } else if self.words(&["read", "only"]) {
                modes.read_only = Some(true);
            } else if self.words(&["read", "write"]) {
                modes.read_only = Some(false);
            } else if !self.words(&["not", "deferrable"]) && !self.word("deferrable") {
                return self.syntax("ISOLATION LEVEL, READ ONLY or READ WRITE");
            }
            let _ = self.parser.consume_token(&Token::Comma);
        }
        Ok(modes)
    }

    fn isolation(&mut self) -> Result<Isolation> {
        let levels: [(&[&str], Isolation); 5] = [
            (&["serializable"], Isolation::Serializable),
            (&["repeatable", "read"], Isolation::RepeatableRead),
            (&["snapshot"], Isolation::Snapshot),
            (&["read", "committed"], Isolation::ReadCommitted),
            (&["read", "uncommitted"], Isolation::ReadUncommitted),
        ];
        for (words, level) in levels {
            if self.words(words) {
                return Ok(level);
            }
        }
        self.syntax("SERIALIZABLE, SNAPSHOT, REPEATABLE READ or READ COMMITTED")
    }

    /// `[FORCE] CHECKPOINT [database]`.
    pub(super) fn checkpoint(&mut self) -> Result<StatementKind> {
        let force = self.word("force");
        self.expect_word("checkpoint")?;
        let database = if self.at_end() { None } else { Some(self.identifier()?) };
        Ok(StatementKind::Checkpoint { database, force })
    }

    /// `VACUUM [FULL] [ANALYZE] [table]`.
    pub(super) fn vacuum(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let mut analyze = false;
        if self.parser.peek_token_ref().token == Token::LParen {
            self.parenthesised(|reader| {
                if reader.word("analyze") || reader.word("analyse") {
                    analyze = true;
                } else if !reader.word("full") {
                    return reader.syntax("FULL or ANALYZE");
                }
                Ok(())
            })?;
        } else {
            self.word("full");
            analyze = self.word("analyze") || self.word("analyse");
        }
        let table = if self.at_end() { None } else { Some(self.object_name()?) };
        Ok(StatementKind::Vacuum { table, analyze })
    }

    /// `ANALYZE [VERBOSE] [table [(columns)]]`.
    pub(super) fn analyze(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        self.word("verbose");
        let table = if self.at_end() { None } else { Some(self.object_name()?) };
        let columns = self.optional_columns()?;
        Ok(StatementKind::Analyze { table, columns })
    }

    /// `LOAD extension`, `INSTALL extension [FROM repository]`: nothing to do for what is built in.
    pub(super) fn load(&mut self) -> Result<StatementKind> {
        const BUILT_IN: [&str; 13] = [
            "arrow",
            "autocomplete",
            "aws",
            "core_functions",
            "excel",
            "httpfs",
            "icu",
            "json",
            "parquet",
            "sqlite",
            "sqlite_scanner",
            "tpcds",
            "tpch",
        ];
        self.parser.next_token();
        let pos = self.pos();
        let name = match &self.parser.peek_token_ref().token {
            Token::SingleQuotedString(path) => {
                let path = path.clone();
                self.parser.next_token();
                path
            }
            _ => self.identifier()?.value,
        };
        if self.word("from") {
            self.parser.next_token();
        }
        if BUILT_IN.contains(&name.to_lowercase().as_str()) {
            return Ok(StatementKind::Load);
        }
        let error = Error::Unsupported {
            feature: format!("the extension \"{name}\""),
            alternative: Some(format!("built in are {}", BUILT_IN.join(", "))),
        };
        Err(error.at(pos.line, pos.column, self.sql))
    }

    /// Whether a statement makes or drops a secret.
    pub(super) fn is_about_secret(&self, keyword: &str) -> bool {
        let at = match keyword {
            "CREATE" if self.nth_word_is(1, "or") => 3,
            "CREATE" | "DROP" => 1,
            _ => return false,
        };
        let has_kind = ["persistent", "temporary", "temp"].iter().any(|word| self.nth_word_is(at, word));
        self.nth_word_is(at + usize::from(has_kind), "secret")
    }

    /// `CREATE [OR REPLACE] [TEMPORARY] SECRET [IF NOT EXISTS] [name] (TYPE type, ...)`, `DROP SECRET [IF EXISTS] name`.
    pub(super) fn secret(&mut self, keyword: &str) -> Result<StatementKind> {
        self.parser.next_token();
        let or_replace = self.words(&["or", "replace"]);
        let is_persistent = self.word("persistent");
        let _ = self.word("temporary") || self.word("temp");
        self.expect_word("secret")?;
        if is_persistent {
            return Err(Error::Unsupported {
                feature: "a secret that is stored".to_string(),
                alternative: Some("create it after the database is opened, as by getenv".to_string()),
            });
        }
        if keyword == "DROP" {
            let if_exists = self.words(&["if", "exists"]);
            let name = self.identifier()?;
            if self.word("from") {
                self.identifier()?;
            }
            return Ok(StatementKind::DropSecret { name, if_exists });
        }
        // What is wrong in the statement is not said by its text, which holds what nobody is to see.
        self.create_secret(or_replace).map_err(|_| {
            let message = "it is written as CREATE SECRET name (TYPE s3, KEY_ID '...', SECRET '...')";
            Error::Syntax { message: message.to_string() }
        })
    }

    fn create_secret(&mut self, or_replace: bool) -> Result<StatementKind> {
        let if_not_exists = self.words(&["if", "not", "exists"]);
        let is_named = self.parser.peek_token_ref().token != Token::LParen && !self.nth_word_is(0, "in");
        let name = if is_named { Some(self.identifier()?) } else { None };
        if self.word("in") {
            self.expect_word("memory")?;
        }
        if self.parser.peek_token_ref().token != Token::LParen {
            return self.syntax("(");
        }
        let options = self.copy_options()?;
        if !self.at_end() {
            return self.syntax("the end of the statement");
        }
        Ok(StatementKind::CreateSecret { name, options, or_replace, if_not_exists })
    }

    /// `ATTACH [DATABASE] [IF NOT EXISTS] 'path' [AS name] [(options)]`.
    pub(super) fn attach(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        self.word("database");
        let if_not_exists = self.words(&["if", "not", "exists"]);
        let path_pos = self.pos();
        let path = self.text("a file name in single quotes")?;
        let alias = if self.word("as") { Some(self.identifier()?) } else { None };
        let options = if self.parser.peek_token_ref().token == Token::LParen {
            self.copy_options()?
        } else {
            Vec::new()
        };
        Ok(StatementKind::Attach { path, path_pos, alias, if_not_exists, options })
    }

    /// `DETACH [DATABASE] [IF EXISTS] name`.
    pub(super) fn detach(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        self.word("database");
        let if_exists = self.words(&["if", "exists"]);
        Ok(StatementKind::Detach { name: self.identifier()?, if_exists })
    }

    /// `EXPORT DATABASE [name TO] 'directory' [(options)]`.
    pub(super) fn export(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        self.expect_word("database")?;
        let database = if matches!(self.parser.peek_token_ref().token, Token::SingleQuotedString(_)) {
            None
        } else {
            let name = self.identifier()?;
            self.expect_word("to")?;
            Some(name)
        };
        let directory = self.text("a directory in single quotes")?;
        let options = if self.parser.peek_token_ref().token == Token::LParen {
            self.copy_options()?
        } else {
            Vec::new()
        };
        Ok(StatementKind::ExportDatabase { database, directory, options })
    }

    /// `COPY FROM DATABASE source TO target [(SCHEMA | DATA)]`, behind COPY FROM DATABASE.
    pub(super) fn copy_database(&mut self) -> Result<StatementKind> {
        let source = self.identifier()?;
        self.expect_word("to")?;
        let target = self.identifier()?;
        let (mut schema, mut rows) = (true, true);
        if self.parser.consume_token(&Token::LParen) {
            (schema, rows) = (self.word("schema"), self.word("data"));
            if schema == rows {
                return self.syntax("SCHEMA or DATA");
            }
            self.expect(&Token::RParen)?;
        }
        Ok(StatementKind::CopyDatabase { source, target, schema, rows })
    }

    /// `IMPORT DATABASE 'directory'`.
    pub(super) fn import(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        self.expect_word("database")?;
        Ok(StatementKind::ImportDatabase { directory: self.text("a directory in single quotes")? })
    }
}
