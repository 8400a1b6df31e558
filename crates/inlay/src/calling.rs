//! Queries inside of functions of the host: a function may read what the statement that calls it reads.
//!
//! ```text
//! Run --calling--> Calling, in the limits of every thread that works for it --> calling("f") --> Connection
//! ```
//! A [`Calling`] is what a nested session needs of the statement's own: its transactions, names, settings and workers. It is
//! there while the statement runs; what is called later, as for rows that are computed when they are fetched, is told that
//! it has ended. Nothing is waited for: the nested session has a lock of its own, works on the calling thread at least, and
//! ends when the statement is interrupted.
//!
//! What a nested session may do is to read. Anything else would change what the statement sees while it runs.

use crate::connection::Connection;
use crate::database::Database;
use crate::execute::Run;
use crate::session::{Nested, OpenTransaction, Session, Who};
use crate::settings::SessionSettings;
use crate::transactions::{SessionNames, Transactions};
use inlay_exec::Team;
use inlay_kernels::random::Randomness;
use inlay_kernels::zone::Zone;
use inlay_types::limits;
use inlay_types::{Error, Result, Value};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// So many queries may run inside of each other: those of functions that queries of functions call.
const DEPTH_MAX: usize = 16;

/// See the module documentation.
struct Calling {
    /// Of the session, when the statement began.
    zone: Arc<Zone>,
    /// Nothing once the statement has ended.
    seen: RwLock<Option<Seen>>,
}

/// What the statement sees, and who works for it.
struct Seen {
    database: Database,
    settings: SessionSettings,
    team: Arc<Team>,
    names: SessionNames,
    variables: Arc<HashMap<String, Value>>,
    transactions: Arc<Transactions>,
    random: Arc<Randomness>,
    began: i64,
    connection: u64,
    transaction: u64,
    depth: usize,
    who: Option<Arc<Who>>,
}

/// Ends what functions may ask when the statement does.
struct End<'a>(&'a Calling);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let seen = self.0.seen.write().take();
        drop(seen);
    }
}

impl<'a> Run<'a> {
    /// Runs `work`; functions of the host that it calls may read what it reads.
    pub(crate) fn calling<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let Some(mut limits) = limits::current() else { return work(self) };
        let session = &*self.session;
        let ids = self.ids();
        let mut settings = session.settings.clone();
        (settings.timeout, settings.profiles) = (None, false);
        let seen = Seen {
            database: self.database.clone(),
            settings,
            team: Arc::clone(&session.team),
            names: session.names.clone(),
            variables: Arc::clone(&session.variables),
            who: session.who.clone(),
            transactions: Arc::clone(&self.transactions),
            random: Arc::clone(&session.random),
            began: self.now(),
            connection: ids.connection,
            transaction: ids.transaction,
            depth: session.nested.as_ref().map_or(0, |nested| nested.depth),
        };
        let zone = session.settings.time_zone();
        let calling = Arc::new(Calling { zone, seen: RwLock::new(Some(seen)) });
        limits.statement = Some(Arc::<Calling>::clone(&calling));
        let _end = End(&calling);
        limits::with(limits, || work(self))
    }
}

/// The time zone of the session whose statement calls functions on this thread; `None` where none does.
pub fn calling_zone() -> Option<Arc<Zone>> {
    let statement = limits::current()?.statement?.downcast::<Calling>().ok()?;
    Some(Arc::clone(&statement.zone))
}

/// A connection that reads what the statement reads that calls `function` on this thread. To be closed when the call
/// returns.
pub fn calling(function: &str) -> Result<Connection> {
    let Some(limits) = limits::current() else { return Err(outside(function)) };
    let statement = limits.statement.and_then(|statement| statement.downcast::<Calling>().ok());
    let Some(statement) = statement else { return Err(outside(function)) };
    let seen = statement.seen.read();
    let Some(seen) = &*seen else {
        return Err(Error::TransactionState {
            message: format!(
                "function \"{function}\" is called for rows that are computed \
             when they are fetched, and the statement has ended"
            ),
        }
        .with_hint("a function that is seen to read is called before"));
    };
    let depth = seen.depth + 1;
    if depth > DEPTH_MAX {
        return Err(Error::external(format!(
            "function \"{function}\" is called by a query inside of a function, {DEPTH_MAX} of which run inside of each \
             other already; a function that calls itself by a query has to end"
        )));
    }
    let nested = Arc::new(Nested { function: function.to_string(), interrupt: limits.interrupt, depth });
    let transaction = OpenTransaction {
        transactions: Arc::clone(&seen.transactions),
        began: seen.began,
        id: seen.transaction,
        doomed: None,
        deferrals: None,
    };
    let session = Session {
        names: seen.names.clone(),
        transaction: Some(transaction),
        id: seen.connection,
        random: Arc::clone(&seen.random),
        variables: Arc::clone(&seen.variables),
        nested: Some(nested),
        who: seen.who.clone(),
        ..Session::new(seen.settings.clone(), Arc::clone(&seen.team))
    };
    Ok(Connection::of_session(seen.database.clone(), session))
}

fn outside(function: &str) -> Error {
    Error::TransactionState { message: format!("no statement calls function \"{function}\" on this thread") }
        .with_hint("queries inside of functions run on the thread of the call")
}
