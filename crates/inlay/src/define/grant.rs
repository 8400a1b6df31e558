//! GRANT, REVOKE, OWNER TO, REASSIGN and DROP OWNED.
//!
//! Each right knows as whom it was granted: the owner of its object, or a role that has it with the option to hand it on. What was handed
//! on goes with it, if CASCADE says so.

use super::text::{self, quoted};
use crate::execute::Run;
use crate::rights::{put, refused, rights_for, set_owner};
use inlay_catalog::rights::text::{read_held, write_held};
use inlay_catalog::rights::{Held, PUBLIC, Privilege, Rights, SUPERUSER, Subject};
use inlay_sql::parser::parse_statement;
use inlay_sql::plan::role::{Grant, RightsOf};
use inlay_storage::store::{DefinitionKind, Object, State, Transaction};
use inlay_types::{Error, Result};

/// A right of a role: which, on which column, and whose.
type Right = (Privilege, Option<String>, String);

impl Run<'_> {
    pub(super) fn grant(&mut self, grant: &Grant) -> Result<()> {
        if grant.option && grant.is_granted && grant.roles.iter().any(|role| role == PUBLIC) {
            return Err(Error::bind("everybody cannot hand rights on: GRANT TO PUBLIC has no GRANT OPTION"));
        }
        let transaction = self.to_change(&grant.database)?;
        for object in &grant.objects {
            let Some(subject) = self.subject(&grant.database, object) else {
                return Err(Error::internal("GRANT on what is not there"));
            };
            let asker = self.asker()?;
            let rights = rights_for(self.database, &self.transactions, &grant.database, Some(subject))?;
            for (privilege, column) in &grant.privileges {
                let grantor = match &asker {
                    None => rights.owner(subject).to_string(),
                    Some(asker) => {
                        let found = rights.grantor(asker, subject, *privilege, column.as_deref());
                        found.ok_or_else(|| {
                            let what = format!("grant {} on {}", privilege.word(), shown(object));
                            refused(asker, &what).with_hint("its owner may, and who has it WITH GRANT OPTION")
                        })?
                    }
                };
                for role in &grant.roles {
                    refer_to_role(&transaction, role);
                    let right = (*privilege, column.clone(), role.clone());
                    match grant.is_granted {
                        true => give_right(&transaction, subject, &right, grant.option, &grantor)?,
                        false => take_right(&transaction, subject, &right, grant.option, grant.cascade)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives an object to another owner.
    pub(super) fn give(&mut self, database: &str, object: &RightsOf, role: &str) -> Result<()> {
        let transaction = self.to_change(database)?;
        let Some(subject) = self.subject(database, object) else {
            return Err(Error::internal("OWNER TO of what is not there"));
        };
        if let Some(asker) = self.asker()? {
            let rights = rights_for(self.database, &self.transactions, database, Some(subject))?;
            if !rights.owns(&asker, subject) || !rights.is_in(&asker, role) {
                let what = format!("give {} to \"{role}\"", shown(object));
                return Err(
                    refused(&asker, &what).with_hint("its owner may, if he is in the role that gets it")
                );
            }
        }
        self.set_owners(&transaction, subject, role)
    }

    /// An owner of an object and of the sequences of its columns.
    fn set_owners(&self, transaction: &Transaction, subject: Subject, role: &str) -> Result<()> {
        refer_to_role(transaction, role);
        set_owner(transaction, subject, role)?;
        let Some(id) = subject.object() else { return Ok(()) };
        let state = transaction.state();
        let own = state
            .objects()
            .filter(|object| matches!(object, Object::Sequence(_)) && object.belongs_to() == Some(id));
        let own: Vec<u64> = own.map(Object::id).collect();
        own.into_iter().try_for_each(|id| set_owner(transaction, Subject::Object(id), role))
    }

    fn ask_to_be(&self, database: &str, roles: &[&str]) -> Result<()> {
        let Some(asker) = self.asker()? else { return Ok(()) };
        let rights = rights_for(self.database, &self.transactions, database, None)?;
        match roles.iter().find(|role| !rights.is_in(&asker, role)) {
            None => Ok(()),
            Some(role) => Err(refused(&asker, &format!("act for role \"{role}\""))),
        }
    }

    pub(super) fn reassign(&mut self, database: &str, from: &[String], to: &str) -> Result<()> {
        let named: Vec<&str> = from.iter().map(String::as_str).chain([to]).collect();
        self.ask_to_be(database, &named)?;
        let transaction = self.to_change(database)?;
        let rights = self.database.rights_of(&transaction.state())?;
        for role in from {
            rights.owned_by(role).into_iter().try_for_each(|subject| set_owner(&transaction, subject, to))?;
        }
        Ok(())
    }

    pub(super) fn drop_owned(&mut self, database: &str, of: &[String], cascade: bool) -> Result<()> {
        let named: Vec<&str> = of.iter().map(String::as_str).collect();
        self.ask_to_be(database, &named)?;
        let transaction = self.to_change(database)?;
        for role in of {
            let rights = self.database.rights_of(&transaction.state())?;
            for subject in rights.owned_by(role) {
                let sql =
                    subject.object().and_then(|id| drop_text(&transaction.state(), database, id, cascade));
                match sql {
                    Some(sql) => {
                        let bound = self.bind(&parse_statement(&sql)?)?;
                        self.bound(bound)?;
                    }
                    None => set_owner(&transaction, subject, SUPERUSER)?,
                }
            }
            let rights = self.database.rights_of(&transaction.state())?;
            revoke_all(&transaction, &rights, role)?;
        }
        Ok(())
    }
}

/// Makes a conflict with who drops a role at the same time.
pub(super) fn refer_to_role(transaction: &Transaction, role: &str) {
    if let Some(found) = transaction.state().definition(DefinitionKind::Role, role) {
        transaction.refer_to(found.id);
    }
}

/// Takes away what a role has, and what was granted as it.
fn revoke_all(transaction: &Transaction, rights: &Rights, role: &str) -> Result<()> {
    for (subject, grantee, held) in rights.grants() {
        let left: Vec<Held> = match grantee == role {
            true => Vec::new(),
            false => held.iter().filter(|one| one.grantor != role).cloned().collect(),
        };
        if left.len() != held.len() {
            put_held(transaction, subject, grantee, &left)?;
        }
    }
    Ok(())
}

/// DROP of an object; none for one that goes with another.
fn drop_text(state: &State, database: &str, id: u64, cascade: bool) -> Option<String> {
    let object = state.object(id)?;
    let kind = match object {
        Object::Table(_) if state.definition(DefinitionKind::MaterializedView, object.name()).is_some() => {
            "MATERIALIZED VIEW"
        }
        Object::Table(_) => "TABLE",
        Object::View(_) => "VIEW",
        Object::Sequence(_) if object.belongs_to().is_none() => "SEQUENCE",
        Object::Sequence(_) | Object::Index(_) => return None,
        Object::Definition(definition) => match definition.kind {
            DefinitionKind::Schema => "SCHEMA",
            DefinitionKind::Macro | DefinitionKind::Function => "MACRO",
            DefinitionKind::TableMacro => "MACRO TABLE",
            DefinitionKind::Type => "TYPE",
            DefinitionKind::MaterializedView
            | DefinitionKind::Comment
            | DefinitionKind::Role
            | DefinitionKind::Grant
            | DefinitionKind::Owner
            | DefinitionKind::Trigger => return None,
        },
    };
    let name = match object {
        Object::Definition(definition) if definition.kind == DefinitionKind::Schema => {
            quoted(&definition.name)
        }
        _ => {
            let (schema, own) = inlay_catalog::split_name(object.name());
            format!("{}.{}", quoted(schema), quoted(own))
        }
    };
    let cascade = if cascade { " CASCADE" } else { "" };
    Some(format!("DROP {kind} IF EXISTS {}.{name}{cascade}", quoted(database)))
}

fn held_of(transaction: &Transaction, subject: Subject, role: &str) -> Result<Vec<Held>> {
    match transaction.state().definition(DefinitionKind::Grant, &subject.grant_key(role)) {
        Some(found) => read_held(&found.sql),
        // What everybody may without having been told.
        None => Ok(Rights::default().held(subject, role)),
    }
}

fn put_held(transaction: &Transaction, subject: Subject, role: &str, held: &[Held]) -> Result<()> {
    // That everybody may nothing has to be said.
    let is_said = !held.is_empty() || role == PUBLIC && subject.object().is_none();
    let text = is_said.then(|| write_held(held));
    put(transaction, DefinitionKind::Grant, subject.grant_key(role), subject.object(), text)
}

fn give_right(
    transaction: &Transaction,
    subject: Subject,
    (privilege, column, role): &Right,
    option: bool,
    grantor: &str,
) -> Result<()> {
    let mut held = held_of(transaction, subject, role)?;
    match held.iter_mut().find(|one| one.privilege == *privilege && one.column == *column) {
        Some(known) => known.option |= option,
        None => held.push(Held { column: column.clone(), option, ..Held::plain(*privilege, grantor) }),
    }
    put_held(transaction, subject, role, &held)
}

fn take_right(
    transaction: &Transaction,
    subject: Subject,
    right: &Right,
    option_only: bool,
    cascade: bool,
) -> Result<()> {
    let (privilege, column, role) = right;
    let mut held = held_of(transaction, subject, role)?;
    // Of a whole table, its columns are meant, too.
    let is_meant = |one: &Held| one.privilege == *privilege && (column.is_none() || one.column == *column);
    let handed = held.iter().any(|one| is_meant(one) && one.option);
    match option_only {
        true => held.iter_mut().filter(|one| is_meant(one)).for_each(|one| one.option = false),
        false => held.retain(|one| !is_meant(one)),
    }
    put_held(transaction, subject, role, &held)?;
    if !handed || held.iter().any(|one| one.privilege == *privilege && one.option) {
        return Ok(());
    }
    // What was handed on by it.
    let rest = Rights::of(&transaction.state())?;
    let Some(by_role) = rest.granted_on(subject) else { return Ok(()) };
    for (other, held) in by_role {
        let depends = |one: &&Held| one.privilege == *privilege && one.grantor == *role;
        for one in held.iter().filter(depends) {
            if !cascade {
                let message = format!("role \"{role}\" granted {} to \"{other}\"", privilege.word());
                return Err(Error::bind(message).with_hint("REVOKE ... CASCADE takes that away, too"));
            }
            let right = (*privilege, one.column.clone(), other.clone());
            take_right(transaction, subject, &right, false, true)?;
        }
    }
    Ok(())
}

fn shown(object: &RightsOf) -> String {
    match object {
        RightsOf::Database => "the database".to_string(),
        RightsOf::Main => "schema main".to_string(),
        RightsOf::Relation(key) | RightsOf::Definition(_, key) => text::name(key),
    }
}

/// Rights on columns follow them: each was called `old` and is called `new`, or is gone.
pub(super) fn move_rights(
    transaction: &Transaction,
    table: u64,
    columns: &[(String, Option<String>)],
) -> Result<()> {
    let moved: Vec<(String, Option<String>)> = columns
        .iter()
        .map(|(old, new)| (old.to_lowercase(), new.as_ref().map(|new| new.to_lowercase())))
        .filter(|(old, new)| new.as_ref() != Some(old))
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    let state = transaction.state();
    let subject = Subject::Object(table);
    let prefix = subject.grant_key("");
    let all: Vec<(String, String)> = state
        .definitions(DefinitionKind::Grant)
        .iter()
        .filter(|grant| grant.owner == Some(table))
        .filter_map(|grant| Some((grant.name.strip_prefix(&prefix)?.to_string(), grant.sql.clone())))
        .collect();
    for (role, sql) in all {
        let held = read_held(&sql)?.into_iter().filter_map(|mut one| {
            let found = moved.iter().find(|(old, _)| one.column.as_deref() == Some(old.as_str()));
            if let Some((_, new)) = found {
                one.column = Some(new.clone()?);
            }
            Some(one)
        });
        put_held(transaction, subject, &role, &held.collect::<Vec<_>>())?;
    }
    Ok(())
}
