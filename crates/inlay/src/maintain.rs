//! CHECKPOINT, VACUUM, PRAGMA verify, ATTACH and DETACH: what is about files.

use crate::database::ForeignKind;
use crate::database::remote::RemoteDatabase;
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::access::Door;
use inlay_protocol::client::Url;
use inlay_sql::plan::statement::{Attach, VerifyTarget};
use inlay_storage::store::{AccessMode, Store};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    fn store(&self, database: &str) -> Result<Arc<Store>> {
        self.check_not_remote(database, "a statement about the file of")?;
        Ok(Arc::clone(self.transactions.of(self.database, database)?.store()))
    }

    /// Carries out CHECKPOINT.
    pub(crate) fn checkpoint(&self, database: &str) -> Result<QueryResult> {
        if self.session.transaction.is_some() && self.transactions.options().read_only {
            let message = "cannot write the file in a transaction that only reads".to_string();
            return Err(Error::ReadOnly { message });
        }
        if self.transactions.all().iter().any(|transaction| transaction.has_changes()) {
            return Err(Error::TransactionState {
                message: "CHECKPOINT writes what is committed".to_string(),
            }
            .with_hint("COMMIT this transaction first"));
        }
        let store = self.tidied(database)?;
        match self.session.transaction {
            // Rows that are moved could not be changed by the transaction that asks for it.
            Some(_) => store.checkpoint_as_it_is()?,
            None => store.checkpoint()?,
        }
        Ok(QueryResult::done())
    }

    /// The store of a database, after this session has let go of what it saw: only then is it given back.
    fn tidied(&self, database: &str) -> Result<Arc<Store>> {
        let store = self.store(database)?;
        if self.session.transaction.is_none() {
            self.transactions.end_unchanged();
        }
        Ok(store)
    }

    /// Carries out VACUUM.
    pub(crate) fn vacuum(&self, database: &str) -> Result<QueryResult> {
        if self.session.transaction.is_some() {
            return Err(Error::TransactionState { message: "VACUUM works on what is committed".to_string() }
                .with_hint("COMMIT this transaction first"));
        }
        self.tidied(database)?.vacuum()?;
        Ok(QueryResult::done())
    }

    /// Carries out PRAGMA verify: a row for each problem, or one that says `ok`.
    pub(crate) fn verify(&self, target: VerifyTarget) -> Result<QueryResult> {
        let mut problems = match target {
            VerifyTarget::Database(name) => match self.database.foreign(&name) {
                Some(foreign) => foreign.verify(self.given.interrupt)?,
                None => self.store(&name)?.verify()?,
            },
            VerifyTarget::File(path) => self.verify_file(&path)?,
        };
        if problems.is_empty() {
            problems.push("ok".to_string());
        }
        QueryResult::lines("verify", problems.into_iter())
    }

    /// A file that cannot be opened because of damage has at least that problem.
    fn verify_file(&self, path: &str) -> Result<Vec<String>> {
        if let Some(attached) = self.database.attached(path).filter(|attached| attached.path.is_some()) {
            return attached.store.verify();
        }
        self.ask(Door::Read(path))?;
        match self.database.store_of_file(path) {
            Ok(store) => store.verify(),
            Err(Error::Corrupt { message }) => Ok(vec![message]),
            Err(error) => Err(error),
        }
    }

    /// Carries out ATTACH.
    pub(crate) fn attach(&self, attach: Attach) -> Result<QueryResult> {
        if attach.if_not_exists && self.database.attached(&attach.name).is_some() {
            return Ok(QueryResult::done());
        }
        if attach.is_remote() {
            return self.attach_remote(&attach);
        }
        if !crate::database::is_memory(&attach.path) {
            self.ask(Door::Attach(&attach.path))?;
        }
        if let Some(kind) = self.database.kind_of(attach.kind.as_deref(), &attach.path)? {
            return self.attach_foreign(&*kind, &attach);
        }
        let access =
            if attach.read_only == Some(true) { AccessMode::ReadOnly } else { AccessMode::ReadWrite };
        match self.database.attach(&attach.name, &attach.path, access) {
            Err(Error::Duplicate { .. }) if attach.if_not_exists => Ok(QueryResult::done()),
            outcome => outcome.map(|()| QueryResult::done()),
        }
    }

    /// Carries out ATTACH of a database at a server.
    fn attach_remote(&self, attach: &Attach) -> Result<QueryResult> {
        if let Some(kind) = &attach.kind {
            let alternative = Some("an address is of a server of Inlay: leave TYPE out".to_string());
            return Err(Error::Unsupported {
                feature: format!("ATTACH of an address with TYPE {kind}"),
                alternative,
            });
        }
        let shown = Url::parse(&attach.path)?.shown();
        let settings = self.database.settings();
        self.ask(Door::Read(&shown))?;
        self.ask(Door::Network(&shown))?;
        let zone = crate::settings::get("timezone", settings, &self.session.settings);
        let zone = zone.map_or_else(|| "UTC".to_string(), |zone| zone.to_string());
        let (owner, is_read_only) = (self.asker()?, attach.read_only == Some(true));
        let interrupt = self.given.interrupt;
        let remote = {
            let zone_and_own = (zone.as_str(), self.database.instance());
            RemoteDatabase::open(&attach.name, &attach.path, is_read_only, owner, zone_and_own, interrupt)?
        };
        match self.database.add_remote(remote) {
            Err(Error::Duplicate { .. }) if attach.if_not_exists => Ok(QueryResult::done()),
            outcome => outcome.map(|()| QueryResult::done()),
        }
    }

    /// Fails for a database at a server, of which the files are there.
    pub(crate) fn check_not_remote(&self, name: &str, what: &str) -> Result<()> {
        match self.database.remote(name) {
            Some(remote) => {
                let feature = format!("{what} \"{}\", which is at a server,", remote.name);
                let alternative = Some(format!("connect to {} to run it", remote.shown()));
                Err(Error::Unsupported { feature, alternative })
            }
            None => Ok(()),
        }
    }

    /// Carries out ATTACH of a file of another system, which is only read.
    fn attach_foreign(&self, kind: &dyn ForeignKind, attach: &Attach) -> Result<QueryResult> {
        if attach.read_only == Some(false) {
            return Err(Error::Unsupported {
                feature: format!("ATTACH with TYPE {} and READ_WRITE", kind.name()),
                alternative: Some("such files are only read".to_string()),
            });
        }
        let (name, path) = (&attach.name, &attach.path);
        let all_varchar = self.session.settings.sqlite_all_varchar;
        match self.database.attach_foreign(kind, name, path, all_varchar, self.given.interrupt) {
            Err(Error::Duplicate { .. }) if attach.if_not_exists => Ok(QueryResult::done()),
            outcome => outcome.map(|()| QueryResult::done()),
        }
    }

    /// Carries out DETACH.
    pub(crate) fn detach(&self, name: &str, if_exists: bool) -> Result<QueryResult> {
        if if_exists && self.database.attached(name).is_none() {
            return Ok(QueryResult::done());
        }
        self.database.detach(name)?;
        Ok(QueryResult::done())
    }
}
