//! What a program that uses the engine gives its statements, and is asked while they run.

use inlay_catalog::TableSource;
use inlay_exec::pool::panic_message;
use inlay_sql::parser::ast;
use inlay_types::{Error, Interrupt, Result, Value};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The host is asked for signals this often while a statement runs.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

/// Values of parameters.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// Of `?` and `$1`, `$2`, ...
    pub positional: Vec<Value>,
    /// Of `$name`, by name without the dollar.
    pub named: Vec<(String, Value)>,
}

impl<const N: usize> From<[Value; N]> for Parameters {
    fn from(values: [Value; N]) -> Self {
        Self { positional: values.into(), named: Vec::new() }
    }
}

impl From<&[Value]> for Parameters {
    fn from(values: &[Value]) -> Self {
        Self { positional: values.to_vec(), named: Vec::new() }
    }
}

/// Values of the parameters of a statement: of `?` in order, or of `$name` and `:name` by name.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// use inlay::params;
/// let connection = inlay::Database::open_in_memory()?.connect();
/// let answer = connection.query("SELECT ?, ?", params![7, "seven"])?;
/// assert_eq!(answer.value(0, 1)?.to_string(), "seven");
/// let answer = connection.query("SELECT $x + :y", params! { x: 1, y: Some(2) })?;
/// assert_eq!(answer.value(0, 0)?.to_string(), "3");
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! params {
    () => { $crate::Parameters::default() };
    ($($name:ident : $value:expr),+ $(,)?) => {
        $crate::Parameters {
            positional: ::std::vec::Vec::new(),
            named: ::std::vec![$((::std::string::String::from(stringify!($name)), $crate::Value::from($value))),+],
        }
    };
    ($($value:expr),+ $(,)?) => {
        $crate::Parameters { positional: ::std::vec![$($crate::Value::from($value)),+], named: ::std::vec::Vec::new() }
    };
}

/// What a host's object stands for in FROM.
#[derive(Clone, Debug)]
pub enum HostTable {
    /// Rows.
    Rows(Arc<dyn TableSource>),
    /// A query, read as the text of a view is.
    Query(String),
}

/// Which of its objects a host may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostScope {
    /// Those that came with the statement.
    Given,
    /// Also those that the caller sees by name.
    Caller,
    /// Also those that callers of the caller see.
    Everywhere,
}

/// When a host's call of a connection began; see [`crate::Connection::enter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered(pub(crate) u64);

/// What a binding tells and is asked while a statement runs.
pub trait Host: Send + Sync {
    /// A host's object that the program calls `name`, for a table name that nothing else has.
    fn find_table(&self, name: &str, scope: HostScope) -> Result<Option<HostTable>>;

    /// Whether objects came with the statement. Their names mean them before anything else of these names.
    fn gives_tables(&self) -> bool {
        false
    }

    /// Whether the program wants the statement to end. Asked on the thread that runs the statement only.
    fn is_interrupted(&self) -> bool;

    /// Whether it is to be asked that. Not where interrupts of the connection are all that there are.
    fn has_signals(&self) -> bool {
        true
    }

    /// After how long it is asked again at the earliest.
    fn patience(&self) -> Duration {
        PATIENCE
    }

    /// When the call began that the statement belongs to: an interrupt that came since, while parameters were converted, ends it.
    fn entered(&self) -> Option<Entered> {
        None
    }

    /// Told that a view is created that will be there when the program is not; its text may name objects of the program.
    fn view_is_kept(&self, _name: &str, _sql: &str) {}

    /// Told something that whoever wrote the statement should know, though it succeeds.
    fn note(&self, _message: &str) {}
}

/// What `work` gives; a panic is an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::internal(panic_message(&*panic))))
}

/// What ends work for a host outside of a statement, such as converting columns: its signals, looked at on the calling
/// thread.
pub fn interrupt_of(host: &Arc<dyn Host>) -> Interrupt {
    asking(Interrupt::new(), Some(host))
}

/// The work, which also ends when the host says so.
pub(crate) fn asking(interrupt: Interrupt, host: Option<&Arc<dyn Host>>) -> Interrupt {
    match host.and_then(poll_of) {
        Some(poll) => interrupt.with_poll(poll),
        None => interrupt,
    }
}

/// A number of the calling thread. Asked for each batch, so it takes no part in counting who holds a thread.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// Asks the host on the calling thread, and not more often than is useful; `None` if it has nothing to say.
pub(crate) fn poll_of(host: &Arc<dyn Host>) -> Option<inlay_types::interrupt::InterruptPoll> {
    if !host.has_signals() {
        return None;
    }
    let host = Arc::clone(host);
    let (thread, start, patience) = (this_thread(), Instant::now(), host.patience().as_micros() as u64);
    let next = AtomicU64::new(patience);
    Some(Arc::new(move || {
        if this_thread() != thread {
            return false;
        }
        let now = start.elapsed().as_micros() as u64;
        if now < next.load(Ordering::Relaxed) {
            return false;
        }
        next.store(now + patience, Ordering::Relaxed);
        host.is_interrupted()
    }))
}

/// Whether a statement has parameters.
pub(crate) fn takes_parameters(statement: &ast::Statement) -> bool {
    statement.parameter_count > 0 || !statement.parameter_names.is_empty()
}

/// Parameters with their names as the statement writes them, in its order. Upper and lower case are the same where the
/// statement does not have both.
pub(crate) fn in_order<'p>(statement: &ast::Statement, parameters: &'p Parameters) -> Cow<'p, Parameters> {
    let (names, named) = (&statement.parameter_names, &parameters.named);
    if names.iter().eq(named.iter().map(|(name, _)| name)) {
        return Cow::Borrowed(parameters);
    }
    let place = |(name, _): &(String, Value)| names.iter().position(|known| known == name);
    let mut ordered = parameters.clone();
    for (name, _) in ordered.named.iter_mut().filter(|(name, _)| !names.contains(name)) {
        let is_free = |known: &&String| named.iter().all(|(given, _)| given != *known);
        if let Some(known) = names.iter().filter(is_free).find(|known| known.eq_ignore_ascii_case(name)) {
            name.clone_from(known);
        }
    }
    ordered.named.sort_by_key(place);
    Cow::Owned(ordered)
}

/// Fails unless the parameters are those of the statement.
pub(crate) fn check_parameter_count(statement: &ast::Statement, parameters: &Parameters) -> Result<()> {
    let (needed, given) = (statement.parameter_count, parameters.positional.len());
    if needed != given {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let message = format!(
            "the statement has {needed} positional parameter{}, {given} value{} given",
            plural(needed),
            if given == 1 { " was" } else { "s were" },
        );
        return Err(Error::invalid_argument(message));
    }
    let known = &statement.parameter_names;
    for (name, _) in &parameters.named {
        if !known.contains(name) {
            return Err(Error::invalid_argument(format!("the statement has no parameter ${name}")));
        }
    }
    match known.iter().find(|name| parameters.named.iter().all(|(given, _)| given != *name)) {
        Some(name) => Err(Error::invalid_argument(format!("no value was given for parameter ${name}"))),
        None => Ok(()),
    }
}
