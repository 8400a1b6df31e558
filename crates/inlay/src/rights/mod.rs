//! Who asks, and what he may: what the binder asks of a session ([`Asking`]), to whom new objects belong, and who may come ([`logins`]).
//!
//! Rights are those of the newest committed state of a database, not of the transaction's: what was revoked is gone from the next
//! statement on. Only objects that are not there yet are asked about in the transaction that makes them. A session notes the numbers of
//! the rights that its kept plans were bound with, and forgets the plans when they are others (`Session::note_rights`).

mod logins;
pub(crate) mod verifier;

pub use logins::Login;

use crate::database::Database;
use crate::execute::Run;
use crate::session::{NOBODY, Who};
use crate::system::names::Names;
use crate::text::same_name;
use crate::transactions::{TEMPORARY, Transactions};
use inlay_catalog::rights::{Rights, SUPERUSER, Subject};
use inlay_catalog::{DefinitionKind, MAIN, SYSTEM};
use inlay_sql::binder;
use inlay_sql::plan::Statement;
use inlay_sql::plan::object::ObjectStatement;
use inlay_sql::plan::role::RightsOf;
use inlay_sql::plan::statement::ObjectKind;
use inlay_storage::store::{Definition, Object, State, Transaction};
use inlay_types::{Error, Result};
use std::sync::Arc;

/// Who binds a statement, and with what names.
pub(crate) struct Asking<'a> {
    database: &'a Database,
    transactions: &'a Transactions,
    names: &'a Names<'a>,
    who: Option<&'a Who>,
    /// Absent for superusers.
    asker: Option<&'a str>,
}

impl binder::Rights for Asking<'_> {
    fn session_user(&self) -> &str {
        self.who.map_or(SUPERUSER, |who| &who.login)
    }

    fn current_user(&self) -> &str {
        self.who.map_or(SUPERUSER, |who| &who.current)
    }

    fn asker(&self) -> Option<&str> {
        self.asker
    }

    fn of(&self, database: &str, subject: Option<Subject>) -> Result<Option<Arc<Rights>>> {
        if same_name(database, TEMPORARY) || same_name(database, SYSTEM) || self.asker == Some(SUPERUSER) {
            return Ok(None);
        }
        let rights = rights_for(self.database, self.transactions, database, subject)?;
        let is_own = self.asker.is_none() || same_name(database, &self.database.main().name);
        Ok(Some(if is_own { rights } else { Arc::new(rights.of_strangers()) }))
    }

    fn inside(&self) -> Option<&str> {
        self.who?.inside.as_deref()
    }

    fn subject(&self, database: &str, kind: ObjectKind, key: &str) -> Option<Subject> {
        if same_name(database, TEMPORARY) || same_name(database, SYSTEM) {
            return None;
        }
        subject_of(&self.transactions.of(self.database, database).ok()?.state(), kind, key)
    }

    fn home(&self) -> String {
        self.database.main().name.clone()
    }

    fn is_lent(&self, database: &str) -> bool {
        let remote = self.database.remote(database);
        remote.is_some_and(|remote| remote.owner.as_deref() == self.asker)
    }

    fn is_given(&self, name: &str) -> bool {
        self.names.is_given(name)
    }
}

/// The object that is known by a name in a state; of an index its table.
pub(crate) fn subject_of(state: &State, kind: ObjectKind, key: &str) -> Option<Subject> {
    let id = match kind {
        ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence => state.relation(key).map(Object::id),
        ObjectKind::Index => state.index(key).and_then(Object::belongs_to),
        ObjectKind::Definition(DefinitionKind::Schema) if same_name(key, MAIN) => return Some(Subject::Main),
        ObjectKind::Definition(DefinitionKind::MaterializedView) => state.relation(key).map(Object::id),
        ObjectKind::Definition(kind) => state.definition(kind, key).map(|found| found.id),
    };
    id.map(Subject::Object)
}

/// What holds for an object: by the newest committed state, or by the transaction's if the object is not there yet.
pub(crate) fn rights_for(
    database: &Database,
    transactions: &Transactions,
    name: &str,
    subject: Option<Subject>,
) -> Result<Arc<Rights>> {
    let Some(attached) = database.attached(name) else {
        return Err(Error::bind(format!("database \"{name}\" does not exist")));
    };
    let newest = attached.store.state();
    match subject.and_then(Subject::object) {
        Some(id) if newest.object(id).is_none() => {
            database.rights_of(&transactions.of(database, name)?.state())
        }
        _ => database.rights_of(&newest),
    }
}

impl Run<'_> {
    /// Who asks; nobody in a database without roles, where nothing is asked.
    pub(crate) fn asking<'b>(&'b self, names: &'b Names<'b>) -> Result<Option<Asking<'b>>> {
        let who = self.session.who.as_deref();
        let rights = self.database.rights_of(&self.database.main().store.state())?;
        if who.is_none() && rights.roles().next().is_none() {
            return Ok(None);
        }
        let acting = who.map(|who| who.acting(&rights)).filter(|_| !self.session.is_unasked);
        // The body of a trigger is its table owner's.
        let acting = self.session.triggers.owner.as_deref().or(acting);
        let asker = acting.and_then(|role| asker_of(role, who, &rights));
        let (database, transactions) = (self.database, &*self.transactions);
        Ok(Some(Asking { database, transactions, names, who, asker }))
    }

    /// Who asks, if he is no superuser.
    pub(crate) fn asker(&self) -> Result<Option<String>> {
        let Some(who) = &self.session.who else { return Ok(None) };
        let rights = self.database.rights_of(&self.database.main().store.state())?;
        Ok(asker_of(who.acting(&rights), Some(who), &rights).map(str::to_string))
    }

    /// An error if who asks is no superuser.
    pub(crate) fn ask_superuser(&self, what: &str) -> Result<()> {
        match self.asker()? {
            None => Ok(()),
            Some(role) => Err(refused(&role, what).with_hint("a superuser may")),
        }
    }

    /// As whom the session acts.
    pub(crate) fn current_role(&self) -> String {
        let Some(who) = &self.session.who else { return SUPERUSER.to_string() };
        let rights = self.database.rights_of(&self.database.main().store.state());
        rights.map_or_else(|_| NOBODY.to_string(), |rights| who.acting(&rights).to_string())
    }

    /// Carries out a bound statement; what it makes belongs to who asks.
    pub(crate) fn owned<T>(
        &mut self,
        statement: Statement,
        work: impl FnOnce(&mut Self, Statement) -> Result<T>,
    ) -> Result<T> {
        let role = self.current_role();
        if role == SUPERUSER {
            return work(self, statement);
        }
        let made = made_by(&statement);
        let before: Vec<Option<Subject>> =
            made.iter().map(|(database, object)| self.subject(database, object)).collect();
        let answer = work(self, statement)?;
        for ((database, object), before) in made.iter().zip(before) {
            let Some(subject) = self.subject(database, object).filter(|now| Some(*now) != before) else {
                continue;
            };
            let transaction = self.to_change(database)?;
            set_owner(&transaction, subject, &role)?;
            let owned = subject.object().map(|id| sequences_of(&transaction.state(), id)).unwrap_or_default();
            owned.into_iter().try_for_each(|id| set_owner(&transaction, Subject::Object(id), &role))?;
        }
        Ok(answer)
    }

    /// What is meant in the transaction's state.
    pub(crate) fn subject(&self, database: &str, object: &RightsOf) -> Option<Subject> {
        let state = self.transactions.of(self.database, database).ok()?.state();
        match object {
            RightsOf::Database => Some(Subject::Database),
            RightsOf::Main => Some(Subject::Main),
            RightsOf::Relation(key) => subject_of(&state, ObjectKind::Table, key),
            RightsOf::Definition(kind, key) => subject_of(&state, ObjectKind::Definition(*kind), key),
        }
    }
}

/// Who is asked about: nobody for a superuser, unless he may not reach beyond the database.
fn asker_of<'a>(role: &'a str, who: Option<&Who>, rights: &Rights) -> Option<&'a str> {
    match rights.is_superuser(role) {
        false => Some(role),
        true => who.and_then(|who| who.inside.as_ref()).map(|_| SUPERUSER),
    }
}

pub(crate) fn refused(role: &str, what: &str) -> Error {
    Error::Forbidden { message: format!("user \"{role}\" may not {what}") }
}

/// The sequences of a table's columns.
fn sequences_of(state: &State, table: u64) -> Vec<u64> {
    let own = state
        .objects()
        .filter(|object| matches!(object, Object::Sequence(_)) && object.belongs_to() == Some(table));
    own.map(Object::id).collect()
}

/// The lasting objects that a statement makes.
fn made_by(statement: &Statement) -> Vec<(String, RightsOf)> {
    use Statement as S;
    let relation =
        |database: &String, name: &String| vec![(database.clone(), RightsOf::Relation(name.clone()))];
    match statement {
        S::CreateTable(create) if !create.temporary => relation(&create.database, &create.schema.name),
        S::CreateView { database, name, temporary: false, .. } => relation(database, name),
        S::CreateSequence { database, sequence, temporary: false, .. } => relation(database, &sequence.name),
        S::AlterTable(alter) => {
            let all = alter.created_sequences.iter();
            all.flat_map(|sequence| relation(&alter.database, &sequence.name)).collect()
        }
        S::Object(object) => match &**object {
            ObjectStatement::Define(define) if !define.temporary => {
                vec![(define.database.clone(), RightsOf::Definition(define.kind, define.name.clone()))]
            }
            ObjectStatement::DefineFunction(define) if !define.temporary => {
                let object = RightsOf::Definition(DefinitionKind::Function, define.name.clone());
                vec![(define.database.clone(), object)]
            }
            ObjectStatement::CreateMaterializedView { table, .. } => {
                relation(&table.database, &table.schema.name)
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Says whose an object is.
pub(crate) fn set_owner(transaction: &Transaction, subject: Subject, role: &str) -> Result<()> {
    let text = (role != SUPERUSER).then(|| role.to_string());
    put(transaction, DefinitionKind::Owner, subject.owner_key(), subject.object(), text)
}

/// Puts a definition in the place of the one of its name, or takes that away.
pub(crate) fn put(
    transaction: &Transaction,
    kind: DefinitionKind,
    name: String,
    owner: Option<u64>,
    text: Option<String>,
) -> Result<()> {
    let old = transaction.state().definition(kind, &name).map(|old| old.id);
    match (old, text) {
        (None, None) => Ok(()),
        (Some(old), None) => transaction.drop_object(old),
        (old, Some(sql)) => {
            let id = old.unwrap_or_else(|| transaction.take_id());
            transaction.put(Object::Definition(Arc::new(Definition { id, kind, name, owner, sql })))
        }
    }
}
