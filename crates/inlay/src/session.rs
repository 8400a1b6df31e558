//! What belongs to one connection: its settings, names, transaction, variables, and the texts that it ran last.

use crate::command::only_reads;
use crate::database::Database;
use crate::profile::{Phases, Profile};
use crate::settings::SessionSettings;
use crate::text::same_name;
use crate::transactions::{SessionNames, Transactions};
use crate::triggers::Triggering;
use inlay_catalog::rights::Rights;
use inlay_exec::{PriorityCell, QueryProgress, Team, WorkerPool};
use inlay_kernels::random::Randomness;
use inlay_sql::parser::ast;
use inlay_sql::parser::ast::Statement;
use inlay_sql::parser::ast::role::RoleStatement;
use inlay_storage::Deferral;
use inlay_storage::store::ObjectId;
use inlay_types::interrupt::InterruptPoll;
use inlay_types::limits::{self, Limits};
use inlay_types::{Error, Interrupt, LogicalType, MemoryBudget, Reservation, Result, Value};
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Texts that a connection keeps, and the bytes of all of them.
const TEXTS_MAX: usize = 64;
pub(crate) const TEXT_BYTES_MAX: usize = 256 << 10;
/// Characters of a refused statement that an error shows.
const SHOWN_MAX: usize = 60;
/// What belongs to one connection and is used by one statement at a time.
pub(crate) struct Session {
    pub settings: SessionSettings,
    /// Who works for its queries.
    pub team: Arc<Team>,
    /// What all its transactions share.
    pub names: SessionNames,
    /// Between BEGIN and COMMIT.
    pub transaction: Option<OpenTransaction>,
    /// Whether a statement outside of a transaction begins one: autocommit is off.
    pub begins_transactions: bool,
    /// PREPARE, by lower-case name.
    pub prepared: HashMap<String, Arc<Prepared>>,
    /// What `current_connection_id()` and `current_query_id()` give.
    pub id: u64,
    pub query: u64,
    /// The random numbers of its statements.
    pub random: Arc<Randomness>,
    /// SET VARIABLE, by lower-case name.
    pub variables: Arc<HashMap<String, Value>>,
    /// How far its statement is.
    pub progress: Arc<QueryProgress>,
    /// What was measured of its last query, if queries are.
    pub profile: Mutex<Option<Profile>>,
    /// Triggers of the statement under way.
    pub triggers: Triggering,
    /// What is measured of the statement under way.
    pub phases: Mutex<Phases>,
    /// The last texts, parsed, and plans of them.
    pub texts: Texts,
    /// Grows whenever names, settings or variables may mean something else.
    pub generation: u64,
    /// Statements that kept plans carried out.
    pub kept_runs: AtomicU64,
    /// As whom it asks; absent for who opens the file.
    pub who: Option<Arc<Who>>,
    /// What told the rights that its plans were bound with.
    pub rights_seen: u64,
    /// During one call that reads or describes what is the program's own business.
    pub is_unasked: bool,
    /// The call that it reads for, if it is one inside of a function.
    pub nested: Option<Arc<Nested>>,
}

impl Session {
    pub(crate) fn new(settings: SessionSettings, team: Arc<Team>) -> Self {
        Self {
            settings,
            team,
            names: SessionNames::default(),
            transaction: None,
            begins_transactions: false,
            prepared: HashMap::new(),
            id: 0,
            query: 0,
            random: Arc::default(),
            variables: Arc::default(),
            progress: Arc::default(),
            profile: Mutex::default(),
            triggers: Triggering::default(),
            phases: Mutex::default(),
            texts: Texts::default(),
            generation: 0,
            kept_runs: AtomicU64::new(0),
            who: None,
            rights_seen: 0,
            is_unasked: false,
            nested: None,
        }
    }

    /// Forgets what it kept, if roles may something else by now.
    pub fn note_rights(&mut self, database: &Database) -> Result<()> {
        if self.who.is_none() {
            return Ok(());
        }
        let mut seen = 0u64;
        for name in database.database_names() {
            if let Some(attached) = database.attached(&name) {
                let number = database.rights_of(&attached.store.state())?.number();
                seen = seen.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number);
            }
        }
        if std::mem::replace(&mut self.rights_seen, seen) != seen {
            self.generation += 1;
        }
        Ok(())
    }

    /// What is left of one that was closed.
    pub fn closed() -> Self {
        let nobody = Team::new(Arc::new(WorkerPool::new(1)), PriorityCell::default());
        Self::new(SessionSettings::default(), Arc::new(nobody))
    }
}

/// As whom a session asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    /// Who came.
    pub login: Arc<str>,
    /// By SET ROLE, or who came.
    pub current: Arc<str>,
    /// The numbers of both: a role that was dropped is not the next one of its name.
    pub numbers: [Option<ObjectId>; 2],
    /// Nothing outside of the database may be reached, whoever asks, but for files whose paths begin so.
    pub inside: Option<Arc<str>>,
}

/// Whom nobody can be, and who may what everybody may.
pub(crate) const NOBODY: &str = "";

impl Who {
    /// Both roles as they are now.
    pub fn new(login: Arc<str>, current: Arc<str>, rights: &Rights, inside: Option<Arc<str>>) -> Self {
        let numbers = [&login, &current].map(|role| rights.number_of(role));
        Self { login, current, numbers, inside }
    }

    /// As whom it may act now: who came, where the other role is not his any more, and nobody where he is gone himself.
    pub fn acting(&self, rights: &Rights) -> &str {
        let is_there = |role: &str, number: Option<ObjectId>| rights.number_of(role) == number;
        let [login, current] = self.numbers;
        if !is_there(&self.login, login) {
            NOBODY
        } else if is_there(&self.current, current) && rights.may_be(&self.login, &self.current) {
            &self.current
        } else {
            &self.login
        }
    }
}

/// What was begun with BEGIN.
pub(crate) struct OpenTransaction {
    pub transactions: Arc<Transactions>,
    /// When it was begun, in microseconds since 1970 (UTC): what `now()` gives in it.
    pub began: i64,
    /// What `current_transaction_id()` gives in it.
    pub id: u64,
    /// Why it can only be rolled back.
    pub doomed: Option<Error>,
    /// What is left to COMMIT, if that ends it.
    pub deferrals: Option<Deferrals>,
}

impl OpenTransaction {
    pub fn new(transactions: Transactions, id: u64) -> Self {
        let began = inlay_kernels::zone::system_micros();
        Self { transactions: Arc::new(transactions), began, id, doomed: None, deferrals: None }
    }
}

/// A statement that PREPARE keeps.
pub(crate) struct Prepared {
    pub statement: ast::Statement,
    /// Types of its positional parameters, as far as they were given.
    pub types: Vec<LogicalType>,
}

/// What SET CONSTRAINTS said in the open transaction, oldest first: of one constraint or all, and whether it is left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deferrals(pub Vec<(Option<String>, bool)>);

impl Deferrals {
    /// Whether a constraint is left to COMMIT.
    pub fn is_left(&self, name: &str, deferral: Deferral) -> bool {
        let is_it =
            |(named, _): &&(Option<String>, bool)| named.as_ref().is_none_or(|named| same_name(named, name));
        match deferral {
            Deferral::Never => false,
            Deferral::Immediate => self.0.iter().rev().find(is_it).is_some_and(|(_, left)| *left),
            Deferral::Deferred => self.0.iter().rev().find(is_it).is_none_or(|(_, left)| *left),
        }
    }
}

/// A text that was parsed.
pub(crate) struct Text {
    pub sql: Box<str>,
    pub statements: Arc<[ast::Statement]>,
    /// Whether it was prepared because it is going to be repeated.
    pub is_prepared: bool,
    /// Of its only statement.
    pub plans: PlanSlot,
    _held: Option<Reservation>,
}

/// What the plan cache keeps of a text, which it alone knows (`kept`).
#[derive(Default)]
pub(crate) struct PlanSlot(Mutex<Option<Box<dyn Any + Send>>>);

impl PlanSlot {
    /// What is kept, made when it is first asked for.
    pub fn get<T: Any + Send>(&self, make: impl FnOnce() -> T) -> Option<MappedMutexGuard<'_, T>> {
        MutexGuard::try_map(self.0.lock(), |kept| {
            kept.get_or_insert_with(|| Box::new(make())).downcast_mut::<T>()
        })
        .ok()
    }
}

impl Text {
    /// Reads a text. `is_prepared`: it was prepared because it is going to be repeated. What a long one takes is asked of the budget.
    pub fn parse(sql: &str, is_prepared: bool, budget: &MemoryBudget) -> Result<Arc<Self>> {
        let read = || inlay_sql::parser::parse_counted(sql);
        let (statements, held) = match sql.len() < LONG_TEXT {
            true => read()?,
            false => limits::with(Limits::new(budget.clone(), Interrupt::default()), read)?,
        };
        let statements = statements.into();
        Ok(Arc::new(Self {
            sql: sql.into(),
            statements,
            is_prepared,
            plans: PlanSlot::default(),
            _held: held,
        }))
    }
}

impl Text {
    /// Whether a statement of it says a password, which is kept nowhere.
    pub fn has_password(&self) -> bool {
        self.statements.iter().any(|statement| says_password(&statement.kind))
    }

    /// The text, for lists of what runs.
    pub fn shown(&self) -> &str {
        if self.has_password() { "CREATE or ALTER ROLE with a PASSWORD" } else { &self.sql }
    }
}

fn says_password(kind: &ast::StatementKind) -> bool {
    let ast::StatementKind::Object(object) = kind else { return false };
    match &**object {
        ast::ObjectStatement::Role(
            RoleStatement::Create { options, .. } | RoleStatement::Alter { options, .. },
        ) => options.password.is_some(),
        ast::ObjectStatement::Prepare { statement, .. } => says_password(&statement.kind),
        _ => false,
    }
}

/// A text of so many bytes may have so many statements that their memory counts.
const LONG_TEXT: usize = 1 << 14;

/// The texts that were run last, the newest at the end.
#[derive(Default)]
pub(crate) struct Texts(Vec<Arc<Text>>);

impl Texts {
    /// A text, parsed now unless it was before.
    pub fn get(&mut self, sql: &str, budget: &MemoryBudget) -> Result<Arc<Text>> {
        let found = self.0.iter().rposition(|text| *text.sql == *sql);
        if let Some(position) = found {
            if position + 1 < self.0.len() {
                self.0[position..].rotate_left(1);
            }
            if let Some(text) = self.0.last() {
                return Ok(Arc::clone(text));
            }
        }
        let text = Text::parse(sql, false, budget)?;
        if sql.len() <= TEXT_BYTES_MAX / 4 && !text.has_password() {
            let mut bytes: usize = self.0.iter().map(|text| text.sql.len()).sum::<usize>() + sql.len();
            while bytes > TEXT_BYTES_MAX || self.0.len() == TEXTS_MAX {
                bytes -= self.0.remove(0).sql.len();
            }
            self.0.push(Arc::clone(&text));
        }
        Ok(text)
    }
}

/// Whom a nested session reads for.
#[derive(Debug)]
pub(crate) struct Nested {
    pub function: String,
    /// Of the statement that calls the function.
    pub interrupt: Interrupt,
    pub depth: usize,
}

impl Nested {
    /// Fails unless the statement only reads.
    pub fn check(&self, statement: &Statement) -> Result<()> {
        if only_reads(&statement.kind) {
            return Ok(());
        }
        let text = statement.text().trim();
        let mut shown: String = text.chars().take(SHOWN_MAX).collect();
        if shown.len() < text.len() {
            shown.push_str("...");
        }
        let function = &self.function;
        Err(Error::ReadOnly {
            message: format!(
                "function \"{function}\" may only read while a statement calls it, and cannot run: {shown}"
            ),
        })
    }

    /// Whether the statement that calls the function is to end, or `own` says so.
    pub fn poll(self: &Arc<Self>, own: Option<InterruptPoll>) -> InterruptPoll {
        let nested = Arc::clone(self);
        Arc::new(move || nested.interrupt.is_set() || own.as_ref().is_some_and(|own| own()))
    }

    /// Why nothing is read any more.
    pub fn closed(&self) -> String {
        format!(
            "the call of function \"{}\" has ended; what its queries give has to be fetched before",
            self.function
        )
    }
}
