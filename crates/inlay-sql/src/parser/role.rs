//! CREATE, ALTER and DROP of roles and tokens; GRANT, REVOKE, OWNER TO, SET ROLE.
//!
//! A user is a role that may log in; USER, ROLE and GROUP are one word but for that.

use super::Reader;
use super::ast::object::ObjectStatement;
use super::ast::role::{Grant, GrantObject, RoleOptions, RoleStatement};
use super::ast::{Ident, StatementKind};
use inlay_catalog::rights::Privilege;
use inlay_types::{Error, Result};
use sqlparser::tokenizer::Token;

/// Privileges of PostgreSQL and MySQL that say nothing here.
const UNKNOWN: &str = "no effect: there is nothing here that this privilege is about";

/// A word that may have NO before it, and what it is about.
type Switch = (&'static str, fn(&mut RoleOptions) -> &mut Option<bool>);

fn of_role(statement: RoleStatement) -> StatementKind {
    StatementKind::Object(Box::new(ObjectStatement::Role(statement)))
}

impl Reader<'_> {
    /// Reads a statement of this module, if `keyword` begins one.
    pub(super) fn role_statement(&mut self, keyword: &str) -> Result<Option<StatementKind>> {
        let is_role = |at: usize| ["role", "user", "group"].iter().any(|word| self.nth_word_is(at, word));
        let is_token = self.nth_word_is(1, "token");
        // `CREATE USER MAPPING` and `CREATE GROUP` of nothing else are PostgreSQL's own.
        let is_mapping = self.nth_word_is(1, "user") && self.nth_word_is(2, "mapping");
        let statement = match keyword {
            "CREATE" if is_role(1) && !is_mapping => self.create_role()?,
            "ALTER" if is_role(1) && !is_mapping => self.alter_role()?,
            "DROP" if is_role(1) && !is_mapping => self.drop_role()?,
            "CREATE" if is_token => self.create_token()?,
            "DROP" if is_token => self.drop_token()?,
            "GRANT" => return self.grant().map(Some),
            "REVOKE" => return self.revoke().map(Some),
            "SET" if self.sets_role() => self.set_role()?,
            "RESET"
                if self.words(&["reset", "role"]) || self.words(&["reset", "session", "authorization"]) =>
            {
                RoleStatement::SetRole { name: None }
            }
            "REASSIGN" => {
                self.parser.next_token();
                for word in ["owned", "by"] {
                    self.expect_word(word)?;
                }
                let from = self.role_names()?;
                self.expect_word("to")?;
                RoleStatement::Reassign { from, to: self.role_name()? }
            }
            "DROP" if self.words(&["drop", "owned", "by"]) => {
                let of = self.role_names()?;
                RoleStatement::DropOwned { of, cascade: self.cascade() }
            }
            _ => return Ok(None),
        };
        Ok(Some(of_role(statement)))
    }

    /// `SET ROLE x`, `SET SESSION ROLE x`; a setting called so has `=` or TO behind it.
    fn sets_role(&self) -> bool {
        let at = 1 + usize::from(self.nth_word_is(1, "session") || self.nth_word_is(1, "local"));
        self.nth_word_is(at, "role") && !matches!(self.parser.peek_nth_token_ref(at + 1).token, Token::Eq)
    }

    fn set_role(&mut self) -> Result<RoleStatement> {
        while !self.word("role") {
            self.parser.next_token();
        }
        self.word("to");
        if self.word("none") {
            return Ok(RoleStatement::SetRole { name: None });
        }
        Ok(RoleStatement::SetRole { name: Some(self.role_name()?) })
    }

    /// The name of a role, which may stand in quotes of either kind; `public` is one here.
    fn role_name(&mut self) -> Result<Ident> {
        let pos = self.pos();
        if let Token::SingleQuotedString(text) = &self.parser.peek_token_ref().token {
            let value = text.to_lowercase();
            self.parser.next_token();
            return Ok(Ident { value, pos });
        }
        let mut name = self.identifier()?;
        name.value = name.value.to_lowercase();
        if name.value.is_empty() || name.value.chars().any(char::is_control) {
            let message = "a role needs a name without control characters".to_string();
            return Err(Error::Syntax { message }.at(pos.line, pos.column, self.sql));
        }
        Ok(name)
    }

    fn role_names(&mut self) -> Result<Vec<Ident>> {
        let mut names = Vec::new();
        loop {
            let _ = self.nth_word_is(0, "group")
                && matches!(self.parser.peek_nth_token_ref(1).token, Token::Word(_))
                && self.word("group");
            names.push(self.role_name()?);
            if !self.parser.consume_token(&Token::Comma) {
                return Ok(names);
            }
        }
    }

    fn cascade(&mut self) -> bool {
        let cascade = self.word("cascade");
        cascade || {
            self.word("restrict");
            false
        }
    }

    fn create_role(&mut self) -> Result<RoleStatement> {
        self.parser.next_token();
        let is_user = self.word("user");
        if !is_user {
            self.parser.next_token();
        }
        let if_not_exists = self.words(&["if", "not", "exists"]);
        let name = self.role_name()?;
        let mut options = self.role_options()?;
        options.login = options.login.or(Some(is_user));
        Ok(RoleStatement::Create { name, options, if_not_exists })
    }

    fn alter_role(&mut self) -> Result<RoleStatement> {
        self.parser.next_token();
        self.parser.next_token();
        let name = self.role_name()?;
        if self.words(&["rename", "to"]) {
            return Ok(RoleStatement::Rename { name, new_name: self.role_name()? });
        }
        if self.words(&["add", "user"]) || self.words(&["drop", "user"]) {
            return self.syntax("GRANT role TO role or REVOKE role FROM role");
        }
        if self.nth_word_is(0, "set") || self.nth_word_is(0, "reset") || self.nth_word_is(0, "in") {
            let pos = self.pos();
            let feature = "settings of a role".to_string();
            let alternative = Some("a session sets them itself".to_string());
            return Err(Error::Unsupported { feature, alternative }.at(pos.line, pos.column, self.sql));
        }
        let options = self.role_options()?;
        if options == RoleOptions::default() {
            return self.syntax("an option such as LOGIN, PASSWORD or VALID UNTIL");
        }
        Ok(RoleStatement::Alter { name, options })
    }

    fn drop_role(&mut self) -> Result<RoleStatement> {
        self.parser.next_token();
        self.parser.next_token();
        let if_exists = self.words(&["if", "exists"]);
        Ok(RoleStatement::Drop { names: self.role_names()?, if_exists })
    }

    fn role_options(&mut self) -> Result<RoleOptions> {
        let mut options = RoleOptions::default();
        self.word("with");
        while !self.at_end() {
            self.role_option(&mut options)?;
        }
        Ok(options)
    }

    fn role_option(&mut self, options: &mut RoleOptions) -> Result<()> {
        // Those without a word of their own say what holds anyway.
        const PASSED: [&str; 8] = [
            "inherit",
            "noinherit",
            "createdb",
            "nocreatedb",
            "replication",
            "noreplication",
            "bypassrls",
            "nobypassrls",
        ];
        if PASSED.iter().any(|word| self.word(word)) {
            return Ok(());
        }
        let switches: [Switch; 3] = [
            ("login", |options| &mut options.login),
            ("superuser", |options| &mut options.superuser),
            ("createrole", |options| &mut options.create_role),
        ];
        for (word, option) in switches {
            if self.word(word) {
                *option(options) = Some(true);
                return Ok(());
            }
            if self.word(&format!("no{word}")) {
                *option(options) = Some(false);
                return Ok(());
            }
        }
        self.words(&["encrypted"]);
        if self.word("password") {
            let password =
                if self.word("null") { None } else { Some(self.text("a password in quotes, or NULL")?) };
            options.password = Some(password);
        } else if self.words(&["valid", "until"]) {
            options.until = Some(self.expression()?);
        } else if self.words(&["connection", "limit"]) {
            let is_negative = self.parser.consume_token(&Token::Minus);
            let Token::Number(text, _) = self.parser.peek_token_ref().token.clone() else {
                return self.syntax("a number of connections");
            };
            self.parser.next_token();
            let number: i64 = text.parse().unwrap_or(i64::MAX);
            options.connections = Some(if is_negative { -1 } else { number });
        } else if self.words(&["in", "role"]) || self.words(&["in", "group"]) {
            options.is_in.extend(self.role_names()?);
        } else if self.word("role") || self.word("user") {
            options.members.extend(self.role_names()?.into_iter().map(|name| (name, false)));
        } else if self.word("admin") {
            options.members.extend(self.role_names()?.into_iter().map(|name| (name, true)));
        } else {
            return self
                .syntax("LOGIN, SUPERUSER, CREATEROLE, PASSWORD, VALID UNTIL, CONNECTION LIMIT or IN ROLE");
        }
        Ok(())
    }

    fn create_token(&mut self) -> Result<RoleStatement> {
        self.words(&["create", "token"]);
        let name = self.role_name()?;
        self.expect_word("for")?;
        let role = self.role_name()?;
        let until = if self.words(&["valid", "until"]) { Some(self.expression()?) } else { None };
        Ok(RoleStatement::CreateToken { name, role, until })
    }

    fn drop_token(&mut self) -> Result<RoleStatement> {
        self.words(&["drop", "token"]);
        let if_exists = self.words(&["if", "exists"]);
        let name = self.role_name()?;
        self.expect_word("for")?;
        Ok(RoleStatement::DropToken { name, role: self.role_name()?, if_exists })
    }

    fn grant(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        self.granted(true, false)
    }

    fn revoke(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        if self.words(&["admin", "option", "for"]) {
            return self.members(false, true);
        }
        let option = self.words(&["grant", "option", "for"]);
        self.granted(false, option)
    }

    /// Whether roles, and not privileges on something, are granted: there is no ON.
    fn is_of_roles(&self) -> bool {
        let mut at = 0;
        loop {
            match &self.parser.peek_nth_token_ref(at).token {
                Token::EOF | Token::SemiColon => return true,
                _ if self.nth_word_is(at, "on") => return false,
                _ if self.nth_word_is(at, "to") || self.nth_word_is(at, "from") => return true,
                _ => at += 1,
            }
        }
    }

    fn granted(&mut self, is_granted: bool, option: bool) -> Result<StatementKind> {
        if self.is_of_roles() {
            return self.members(is_granted, option);
        }
        let mut privileges = Vec::new();
        let mut is_known = true;
        loop {
            let pos = self.pos();
            let privilege = if self.word("all") {
                self.word("privileges");
                None
            } else {
                let word = self.identifier()?.value;
                let word = if word.eq_ignore_ascii_case("temp") { "TEMPORARY".to_string() } else { word };
                let known = Privilege::of_word(&word);
                is_known &= known.is_some();
                if known.is_none() && !["trigger", "maintain", "set"].contains(&&*word.to_lowercase()) {
                    let words: Vec<&str> = Privilege::ALL.iter().map(|one| one.word()).collect();
                    let message = format!("\"{word}\" is no privilege; there are {}", words.join(", "));
                    return Err(Error::Syntax { message }.at(pos.line, pos.column, self.sql));
                }
                Some(known)
            };
            let columns = if self.parser.consume_token(&Token::LParen) {
                self.until_closed(Self::identifier)?
            } else {
                Vec::new()
            };
            match privilege {
                None => privileges.push((None, columns, pos)),
                Some(Some(known)) => privileges.push((Some(known), columns, pos)),
                Some(None) => {}
            }
            if !self.parser.consume_token(&Token::Comma) {
                break;
            }
        }
        self.expect_word("on")?;
        let Some((object, in_schemas)) = self.granted_kind(is_known) else {
            return Ok(self.passed_over(UNKNOWN));
        };
        let names = self.granted_names(object, in_schemas)?;
        self.expect_word(if is_granted { "to" } else { "from" })?;
        let roles = self.role_names()?;
        let option = option || is_granted && self.words(&["with", "grant", "option"]);
        if self.words(&["granted", "by"]) {
            self.role_name()?;
        }
        let cascade = !is_granted && self.cascade();
        if privileges.is_empty() {
            return Ok(StatementKind::Notice(UNKNOWN));
        }
        let grant = Grant { is_granted, privileges, object, names, in_schemas, roles, option, cascade };
        Ok(of_role(RoleStatement::Grant(Box::new(grant))))
    }

    fn passed_over(&mut self, message: &'static str) -> StatementKind {
        while !self.at_end() {
            self.parser.next_token();
        }
        StatementKind::Notice(message)
    }

    /// Of which kind what stands behind ON is, and whether all of some schemas are meant; none for what is not here.
    fn granted_kind(&mut self, is_known: bool) -> Option<(GrantObject, bool)> {
        use GrantObject as G;
        if self.word("all") {
            let kinds = [
                ("tables", G::Table),
                ("sequences", G::Sequence),
                ("functions", G::Function),
                ("procedures", G::Function),
                ("routines", G::Function),
            ];
            let object = kinds.into_iter().find(|(word, _)| self.word(word)).map(|(_, object)| object)?;
            return self.words(&["in", "schema"]).then_some((object, true));
        }
        let elsewhere = ["language", "large", "foreign", "tablespace", "parameter", "domain"];
        if elsewhere.iter().any(|word| self.nth_word_is(0, word)) && !self.nth_word_is(1, "to") {
            return None;
        }
        let kinds = [
            ("table", G::Table),
            ("sequence", G::Sequence),
            ("schema", G::Schema),
            ("database", G::Database),
            ("function", G::Function),
            ("procedure", G::Function),
            ("routine", G::Function),
            ("type", G::Type),
        ];
        let is_named = |reader: &Self| {
            !matches!(reader.parser.peek_nth_token_ref(1).token, Token::Period | Token::Comma)
                && !reader.nth_word_is(1, "to")
                && !reader.nth_word_is(1, "from")
        };
        let found = kinds.into_iter().find(|(word, _)| self.nth_word_is(0, word) && is_named(self));
        if found.is_some() {
            self.parser.next_token();
        }
        let object = found.map_or(G::Table, |(_, object)| object);
        (is_known || object != G::Type).then_some((object, false))
    }

    fn granted_names(
        &mut self,
        object: GrantObject,
        in_schemas: bool,
    ) -> Result<Vec<super::ast::ObjectName>> {
        let mut names = Vec::new();
        loop {
            names.push(self.object_name()?);
            if object == GrantObject::Function && !in_schemas && self.parser.consume_token(&Token::LParen) {
                // Rights are those of all overloads of a name.
                while !self.at_end() && !self.parser.consume_token(&Token::RParen) {
                    self.parser.next_token();
                }
            }
            if !self.parser.consume_token(&Token::Comma) {
                return Ok(names);
            }
        }
    }

    fn members(&mut self, is_granted: bool, admin: bool) -> Result<StatementKind> {
        let roles = self.role_names()?;
        self.expect_word(if is_granted { "to" } else { "from" })?;
        let members = self.role_names()?;
        let mut admin = admin;
        if is_granted && self.word("with") {
            let is_admin = self.word("admin");
            if !is_admin && !self.word("inherit") && !self.word("set") {
                return self.syntax("ADMIN OPTION");
            }
            let is_off = self.word("false");
            admin = is_admin && !is_off;
            let _ = self.word("option") || self.word("true");
        }
        if self.words(&["granted", "by"]) {
            self.role_name()?;
        }
        if !is_granted {
            self.cascade();
        }
        Ok(of_role(RoleStatement::Members { roles, members, is_granted, admin }))
    }

    /// Reads a statement that was told to be `ALTER ... OWNER TO role`; whose kind of object has no owner here says nothing.
    pub(super) fn owner(&mut self) -> Result<StatementKind> {
        use GrantObject as G;
        self.parser.next_token();
        let kinds: [(&[&str], G); 10] = [
            (&["table"], G::Table),
            (&["materialized", "view"], G::Table),
            (&["view"], G::Table),
            (&["index"], G::Index),
            (&["sequence"], G::Sequence),
            (&["schema"], G::Schema),
            (&["database"], G::Database),
            (&["function"], G::Function),
            (&["macro"], G::Function),
            (&["type"], G::Type),
        ];
        let found = kinds.into_iter().find(|(words, _)| self.words(words));
        let Some((_, object)) = found else {
            while !self.at_end() {
                self.parser.next_token();
            }
            return Ok(StatementKind::Owner);
        };
        self.words(&["if", "exists"]);
        self.word("only");
        let name = self.granted_names(object, false)?.pop();
        let name = name.ok_or_else(|| Error::internal("OWNER TO of nothing"))?;
        let _ = self.parser.consume_token(&Token::Mul);
        for word in ["owner", "to"] {
            self.expect_word(word)?;
        }
        let pos = self.pos();
        let mut role = self.role_name()?;
        if ["current_user", "session_user", "current_role"].contains(&role.value.as_str()) {
            role = Ident { value: String::new(), pos };
        }
        Ok(of_role(RoleStatement::Owner { object, name, role }))
    }
}
