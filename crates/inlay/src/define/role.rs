//! CREATE, ALTER and DROP of roles and tokens, who is in which role, and SET ROLE.

use super::text::quoted;
use crate::execute::Run;
use crate::result::QueryResult;
use crate::rights::{put, refused, verifier};
use crate::session::{NOBODY, Who};
use inlay_catalog::rights::{
    Held, Membership, PREDEFINED, PUBLIC, Rights, Role, SUPERUSER, Subject, Token, text,
};
use inlay_sql::plan::role::{RoleOptions, RoleStatement};
use inlay_storage::store::{DefinitionKind, Transaction};
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// Most roles that a role is in, and tokens that it has.
const LIST_MAX: usize = 10_000;

impl Run<'_> {
    /// Carries out statements about roles.
    pub(crate) fn role(&mut self, statement: RoleStatement) -> Result<QueryResult> {
        use RoleStatement as S;
        match statement {
            S::Create { database, name, options, if_not_exists } => {
                self.create_role(&database, &name, &options, if_not_exists)?;
            }
            S::Alter { database, name, options } => self.alter_role(&database, &name, &options)?,
            S::Rename { database, name, new_name } => self.rename_role(&database, &name, &new_name)?,
            S::Drop { database, names, if_exists } => {
                names.iter().try_for_each(|name| self.drop_role(&database, name, if_exists))?;
            }
            S::Grant(grant) => self.grant(&grant)?,
            S::Members { database, roles, members, is_granted, admin } => {
                for role in &roles {
                    self.ask_to_admit(&database, role)?;
                    for member in &members {
                        self.admit(&database, member, role, is_granted, admin)?;
                    }
                }
            }
            S::Owner { database, object, role } => {
                let role = role.unwrap_or_else(|| self.current_role());
                self.give(&database, &object, &role)?;
            }
            S::SetRole(name) => self.set_role(name)?,
            S::Reassign { database, from, to } => self.reassign(&database, &from, &to)?,
            S::DropOwned { database, of, cascade } => self.drop_owned(&database, &of, cascade)?,
            S::CreateToken { database, name, role, until } => {
                return self.create_token(&database, name, &role, until);
            }
            S::DropToken { database, name, role, if_exists } => {
                self.drop_token(&database, &name, &role, if_exists)?;
            }
        }
        Ok(QueryResult::done())
    }

    /// What the newest committed state says of roles, and what the transaction does.
    fn both(&self, database: &str) -> Result<[Arc<Rights>; 2]> {
        let attached = self.database.attached(database);
        let attached =
            attached.ok_or_else(|| Error::bind(format!("database \"{database}\" does not exist")))?;
        let own = self.transactions.of(self.database, database)?.state();
        Ok([self.database.rights_of(&attached.store.state())?, self.database.rights_of(&own)?])
    }

    fn role_of(&self, transaction: &Transaction, name: &str) -> Result<Role> {
        match transaction.state().definition(DefinitionKind::Role, name) {
            Some(found) => Role::read(&found.sql),
            None => Err(no_role(name)),
        }
    }

    fn put_role(&self, transaction: &Transaction, name: &str, role: &Role) -> Result<()> {
        if role.is_in.len() > LIST_MAX || role.tokens.len() > LIST_MAX {
            return Err(Error::out_of_range(format!("role \"{name}\" has more than {LIST_MAX} entries")));
        }
        put(transaction, DefinitionKind::Role, name.to_string(), None, Some(role.write()))
    }

    fn create_role(
        &mut self,
        database: &str,
        name: &str,
        options: &RoleOptions,
        if_not_exists: bool,
    ) -> Result<()> {
        let asker = self.asker()?;
        if let Some(asker) = &asker {
            let may = |rights: &Arc<Rights>| rights.role(asker).is_some_and(|role| role.creates_roles);
            if !self.both(database)?.iter().any(may) {
                return Err(refused(asker, "make roles")
                    .with_hint(format!("ALTER ROLE {} CREATEROLE", quoted(asker))));
            }
        }
        let transaction = self.to_change(database)?;
        if transaction.state().definition(DefinitionKind::Role, name).is_some() {
            return match if_not_exists {
                true => Ok(()),
                false => Err(Error::Duplicate { kind: "role", name: name.to_string() }),
            };
        }
        let mut role = Role::default();
        self.apply(&mut role, options)?;
        self.put_role(&transaction, name, &role)?;
        for other in &options.is_in {
            self.ask_to_admit(database, other)?;
            self.admit(database, name, other, true, false)?;
        }
        for (member, admin) in &options.members {
            self.admit(database, member, name, true, *admin)?;
        }
        match asker {
            // Who made it may put others into it, change and drop it.
            Some(asker) => self.admit(database, &asker, name, true, true),
            None => Ok(()),
        }
    }

    /// What options say of a role.
    fn apply(&self, role: &mut Role, options: &RoleOptions) -> Result<()> {
        if options.superuser.is_some_and(|is| is || role.is_superuser) {
            self.ask_superuser("make or change superusers")?;
        }
        role.logs_in = options.login.unwrap_or(role.logs_in);
        role.is_superuser = options.superuser.unwrap_or(role.is_superuser);
        role.creates_roles = options.create_role.unwrap_or(role.creates_roles);
        role.connections = options.connections.unwrap_or(role.connections);
        role.until = options.until.unwrap_or(role.until);
        if let Some(password) = &options.password {
            role.verifier = password.as_deref().map(verifier::of_password).transpose()?;
        }
        Ok(())
    }

    /// An error unless who asks may change a role: a superuser, or one who makes roles and may put others into this one.
    fn ask_to_change(&self, database: &str, name: &str) -> Result<()> {
        let Some(asker) = self.asker()? else { return Ok(()) };
        let may = |rights: &Arc<Rights>| {
            rights.role(&asker).is_some_and(|role| role.creates_roles) && rights.may_admit(&asker, name)
        };
        match self.both(database)?.iter().any(may) {
            true => Ok(()),
            false => Err(refused(&asker, &format!("change role \"{name}\""))),
        }
    }

    fn ask_to_admit(&self, database: &str, name: &str) -> Result<()> {
        let Some(asker) = self.asker()? else { return Ok(()) };
        match self.both(database)?.iter().any(|rights| rights.may_admit(&asker, name)) {
            true => Ok(()),
            false => Err(refused(&asker, &format!("put others into role \"{name}\"")).with_hint(format!(
                "GRANT {} TO {} WITH ADMIN OPTION",
                quoted(name),
                quoted(&asker)
            ))),
        }
    }

    fn alter_role(&mut self, database: &str, name: &str, options: &RoleOptions) -> Result<()> {
        let is_own_password = options.login.is_none()
            && options.superuser.is_none()
            && options.create_role.is_none()
            && options.connections.is_none()
            && options.until.is_none()
            && options.is_in.is_empty()
            && options.members.is_empty()
            && self.asker()?.as_deref() == Some(name);
        if !is_own_password {
            self.ask_to_change(database, name)?;
        }
        let transaction = self.to_change(database)?;
        let mut role = self.role_of(&transaction, name)?;
        self.apply(&mut role, options)?;
        self.put_role(&transaction, name, &role)?;
        for other in &options.is_in {
            self.ask_to_admit(database, other)?;
            self.admit(database, name, other, true, false)?;
        }
        options
            .members
            .iter()
            .try_for_each(|(member, admin)| self.admit(database, member, name, true, *admin))
    }

    /// Puts a role into another one, or takes it out.
    fn admit(&mut self, database: &str, member: &str, to: &str, is_granted: bool, admin: bool) -> Result<()> {
        if to == PUBLIC
            || to == SUPERUSER
            || member == PUBLIC
            || member == SUPERUSER
            || PREDEFINED.contains(&member)
        {
            let message = format!("role \"{member}\" cannot be put into role \"{to}\"");
            return Err(
                Error::bind(message).with_hint("everybody is in public, and nobody else is the superuser")
            );
        }
        let transaction = self.to_change(database)?;
        let rights = self.database.rights_of(&transaction.state())?;
        if is_granted && rights.is_in(to, member) {
            let message = format!("role \"{member}\" would be in itself by role \"{to}\"");
            return Err(Error::bind(message));
        }
        super::grant::refer_to_role(&transaction, to);
        let mut role = self.role_of(&transaction, member)?;
        let known = role.is_in.iter_mut().find(|known| known.role == to);
        match (known, is_granted) {
            (Some(known), true) => known.admin |= admin,
            (None, true) => {
                let grantor = self.current_role();
                role.is_in.push(Membership { role: to.to_string(), admin, grantor });
            }
            (Some(known), false) if admin => known.admin = false,
            (Some(_), false) => role.is_in.retain(|known| known.role != to),
            (None, false) => return Ok(()),
        }
        self.put_role(&transaction, member, &role)
    }

    /// Each role that names another one, changed.
    fn each_role(&self, transaction: &Transaction, change: impl Fn(&mut Role) -> bool) -> Result<()> {
        let state = transaction.state();
        let all: Vec<(String, String)> = state
            .definitions(DefinitionKind::Role)
            .iter()
            .map(|found| (found.name.clone(), found.sql.clone()))
            .collect();
        for (name, sql) in all {
            let mut role = Role::read(&sql)?;
            if change(&mut role) {
                self.put_role(transaction, &name, &role)?;
            }
        }
        Ok(())
    }

    fn rename_role(&mut self, database: &str, name: &str, new_name: &str) -> Result<()> {
        self.ask_to_change(database, name)?;
        let transaction = self.to_change(database)?;
        if transaction.state().definition(DefinitionKind::Role, new_name).is_some() {
            return Err(Error::Duplicate { kind: "role", name: new_name.to_string() });
        }
        let role = self.role_of(&transaction, name)?;
        put(&transaction, DefinitionKind::Role, name.to_string(), None, None)?;
        self.put_role(&transaction, new_name, &role)?;
        self.each_role(&transaction, |role| {
            let mut is_changed = false;
            for known in &mut role.is_in {
                for word in [&mut known.role, &mut known.grantor] {
                    if word == name {
                        *word = new_name.to_string();
                        is_changed = true;
                    }
                }
            }
            is_changed
        })?;
        let rights = self.database.rights_of(&transaction.state())?;
        for subject in rights.owned_by(name) {
            crate::rights::set_owner(&transaction, subject, new_name)?;
        }
        let all: Vec<(Subject, String, Vec<Held>)> =
            rights.grants().map(|(subject, role, held)| (subject, role.to_string(), held.to_vec())).collect();
        for (subject, role, mut held) in all {
            let is_named = role == name || held.iter().any(|one| one.grantor == name);
            if !is_named {
                continue;
            }
            held.iter_mut()
                .filter(|one| one.grantor == name)
                .for_each(|one| one.grantor = new_name.to_string());
            let kind = DefinitionKind::Grant;
            put(&transaction, kind, subject.grant_key(&role), subject.object(), None)?;
            let role = if role == name { new_name } else { &role };
            let sql = Some(text::write_held(&held));
            put(&transaction, kind, subject.grant_key(role), subject.object(), sql)?;
        }
        Ok(())
    }

    fn drop_role(&mut self, database: &str, name: &str, if_exists: bool) -> Result<()> {
        let transaction = self.to_change(database)?;
        if transaction.state().definition(DefinitionKind::Role, name).is_none() {
            return if if_exists { Ok(()) } else { Err(no_role(name)) };
        }
        self.ask_to_change(database, name)?;
        if self.session.who.as_ref().is_some_and(|who| *who.login == *name || *who.current == *name) {
            return Err(Error::bind(format!("role \"{name}\" is the session's own")));
        }
        let rights = self.database.rights_of(&transaction.state())?;
        let owned = rights.owned_by(name).len();
        let granted = rights.grants().filter(|(_, role, _)| *role == name).count();
        let handed =
            rights.grants().filter(|(_, _, held)| held.iter().any(|one| one.grantor == name)).count();
        if owned + granted + handed > 0 {
            let message = format!(
                "role \"{name}\" cannot be dropped: it owns {owned} object(s), has rights on {granted} and granted some on \
                 {handed}"
            );
            let hint = format!("REASSIGN OWNED BY {0} TO another, then DROP OWNED BY {0}", quoted(name));
            return Err(Error::bind(message).with_hint(hint));
        }
        put(&transaction, DefinitionKind::Role, name.to_string(), None, None)?;
        self.each_role(&transaction, |role| {
            let count = role.is_in.len();
            role.is_in.retain(|known| known.role != name);
            role.is_in.len() != count
        })
    }

    /// SET ROLE: who came may be himself, and every role that he is in.
    fn set_role(&mut self, name: Option<String>) -> Result<()> {
        let login =
            self.session.who.as_ref().map_or_else(|| Arc::from(SUPERUSER), |who| Arc::clone(&who.login));
        let current: Arc<str> = name.map_or_else(|| Arc::clone(&login), Arc::from);
        let rights = self.database.rights_of(&self.database.main().store.state())?;
        if !rights.is_role(&current) {
            return Err(no_role(&current));
        }
        if self.session.who.as_ref().is_some_and(|who| who.acting(&rights) == NOBODY) {
            return Err(no_role(&login));
        }
        if !rights.may_be(&login, &current) {
            let hint = format!("GRANT {} TO {}", quoted(&current), quoted(&login));
            return Err(refused(&login, &format!("SET ROLE {}", quoted(&current))).with_hint(hint));
        }
        let inside = self.session.who.as_ref().and_then(|who| who.inside.clone());
        let is_nobody = *login == *SUPERUSER && *current == *SUPERUSER && inside.is_none();
        self.session.who = (!is_nobody).then(|| Arc::new(Who::new(login, current, &rights, inside)));
        self.session.generation += 1;
        Ok(())
    }

    fn create_token(
        &mut self,
        database: &str,
        name: String,
        owner: &str,
        until: Option<i64>,
    ) -> Result<QueryResult> {
        if self.asker()?.as_deref() != Some(owner) {
            self.ask_to_change(database, owner)?;
        }
        let transaction = self.to_change(database)?;
        let mut role = self.role_of(&transaction, owner)?;
        if role.tokens.iter().any(|known| known.name == name) {
            return Err(Error::Duplicate { kind: "token", name });
        }
        let token = verifier::new_token()?;
        role.tokens.push(Token { name, hash: verifier::hash_of_token(&token), until });
        self.put_role(&transaction, owner, &role)?;
        let column = Vector::from_sql_values(LogicalType::Varchar, &[Value::Varchar(token)])?;
        Ok(self.rows(
            vec!["token".to_string()],
            vec![LogicalType::Varchar],
            vec![Batch::new(vec![column], 1)],
        ))
    }

    fn drop_token(&mut self, database: &str, name: &str, owner: &str, if_exists: bool) -> Result<()> {
        if self.asker()?.as_deref() != Some(owner) {
            self.ask_to_change(database, owner)?;
        }
        let transaction = self.to_change(database)?;
        let mut role = self.role_of(&transaction, owner)?;
        let count = role.tokens.len();
        role.tokens.retain(|known| known.name != name);
        if role.tokens.len() == count && !if_exists {
            return Err(Error::bind(format!("role \"{owner}\" has no token \"{name}\"")));
        }
        self.put_role(&transaction, owner, &role)
    }
}

pub(super) fn no_role(name: &str) -> Error {
    Error::bind(format!("role \"{name}\" does not exist")).with_hint("CREATE ROLE makes it")
}
