//! A database: its store and those attached to it, workers, a memory budget. It is gone with its last handle.
//!
//! A file that is open in this process is opened only once: whoever asks for it again gets the same database. The list
//! of open files is the only state of the process.

mod foreign;
mod functions;
pub(crate) mod remote;
pub(crate) mod server;

pub(crate) use foreign::ForeignSnapshots;
pub use foreign::{ForeignDatabase, ForeignFile, ForeignKind, ForeignSnapshot};

use crate::functions::Functions;
use crate::registered::Registered;
use crate::settings::{self, DatabaseSettings, SessionSettings};
use crate::table_rows::{Lender, Lent};
use crate::text::same_name;
use inlay_catalog::access::GuardedDisk;
use inlay_catalog::rights::Rights;
use inlay_catalog::{TableFunction, TableSource};
use inlay_exec::{Progress, WorkerPool, Workers};
use inlay_formats::host::HostFiles;
use inlay_protocol::client::Url;
use inlay_storage::io::{Disk, FileIdentity, RealDisk};
use inlay_storage::resident::Residents;
use inlay_storage::store::{AccessMode, CatalogMark, State, Store, StoreOptions};
use inlay_types::process::process_id;
use inlay_types::{Error, MemoryBudget, Result, Value};
use parking_lot::{Mutex, RwLock};
use remote::RemoteDatabase;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};

/// A database. Cloning makes another handle.
#[derive(Clone)]
pub struct Database(Arc<Shared>);

struct Shared {
    main: Attached,
    attached: RwLock<Vec<Attached>>,
    /// Kinds of files of other systems that ATTACH reads.
    foreign_kinds: RwLock<Vec<Arc<dyn ForeignKind>>>,
    /// Whether one of those attached is of another system.
    has_foreign: AtomicBool,
    /// Whether one was attached that is at a server.
    has_remote: AtomicBool,
    /// What no other database has.
    instance: String,
    /// Objects of the host.
    registered: RwLock<Registered>,
    functions: HashMap<&'static str, Arc<dyn TableFunction>>,
    /// Languages and functions that the host brings.
    functions_of_host: Functions,
    pool: Arc<WorkerPool>,
    budget: MemoryBudget,
    settings: DatabaseSettings,
    /// What its connections start with.
    session: Mutex<SessionSettings>,
    /// Why the machine's time zone is not that of its connections.
    zone_problem: Option<String>,
    disk: Arc<dyn Disk>,
    is_on_real_disk: bool,
    process: u32,
    /// The last number given to a connection or statement.
    last_id: AtomicU64,
    /// Columns that hosts were given.
    residents: Arc<Residents>,
    /// Results whose rows are still in tables.
    lent: Mutex<Vec<Weak<dyn Lent>>>,
    /// Its sessions.
    listed: Mutex<Vec<Weak<dyn Listed>>>,
    /// What the last states said of roles.
    rights: Mutex<VecDeque<(Arc<CatalogMark>, Arc<Rights>)>>,
    /// Where it is, if it is at a server.
    server: Option<Arc<server::ServerAddress>>,
}

/// States of which it is remembered what they say of roles.
const RIGHTS_MAX: usize = 16;

/// A session of a database, as [`Database::sessions`] saw it.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// let database = inlay::Database::open_in_memory()?;
/// let (one, other) = (database.connect(), database.connect());
/// other.execute("BEGIN")?;
/// let sessions = database.sessions();
/// assert_eq!(sessions.iter().map(|session| session.id).collect::<Vec<_>>(), [one.id(), other.id()]);
/// assert_eq!((sessions[1].is_in_transaction, &sessions[1].statement), (true, &None));
/// assert!(database.interrupt(one.id()) && !database.interrupt(99));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Its number: [`Connection::id`], and `current_connection_id()` in SQL.
    pub id: u64,
    /// The text that it runs now.
    pub statement: Option<String>,
    /// Since when.
    pub running_for: Option<Duration>,
    /// Whether BEGIN opened a transaction, as of the end of the last statement.
    pub is_in_transaction: bool,
    /// How far the running query is.
    pub progress: Option<Progress>,
}

/// A session, as the database knows it.
pub(crate) trait Listed: Send + Sync {
    /// What it does.
    fn info(&self) -> SessionInfo;
    /// Ends what it runs.
    fn interrupt(&self);
}

impl Drop for Shared {
    /// Rows that were not read yet must not keep the file open.
    fn drop(&mut self) {
        for rows in self.lent.get_mut().iter().filter_map(Weak::upgrade) {
            rows.detach();
        }
    }
}

/// A store under a name.
#[derive(Clone)]
pub(crate) struct Attached {
    pub name: String,
    /// Absent for one in memory.
    pub path: Option<PathBuf>,
    pub store: Arc<Store>,
    /// What has the rows, if it is a database of another system: the store has its definitions.
    pub foreign: Option<Arc<dyn ForeignDatabase>>,
    /// Where everything is, if it is at a server: the store has nothing.
    pub remote: Option<Arc<RemoteDatabase>>,
}

/// The databases of files that are open in this process.
static OPEN_FILES: LazyLock<Mutex<HashMap<FileIdentity, Weak<Shared>>>> = LazyLock::new(Mutex::default);
/// The stores of such files, attached ones included.
static OPEN_STORES: LazyLock<Mutex<HashMap<FileIdentity, OpenStore>>> = LazyLock::new(Mutex::default);

/// A store of a file that is open, or that nobody has any more and whose file may still be locked.
struct OpenStore {
    store: Weak<Store>,
    /// Alive until the file is closed.
    opened: Weak<()>,
    /// When it was first found to be closed.
    closed: Option<Instant>,
}

impl OpenStore {
    /// Whether its file may be locked by this process.
    fn may_be_locked(&mut self) -> bool {
        let is_open = self.store.strong_count() > 0 || self.opened.strong_count() > 0;
        is_open || self.closed.get_or_insert_with(Instant::now).elapsed() < FORKING_MAX
    }
}

/// A child that is forked beside the closing of a file has its lock until it runs its own program: as long as the file is
/// waited for once it is closed here.
const FORKING_MAX: Duration = Duration::from_secs(1);
/// How long a file is waited for that this process is closing, and between two looks at it.
const CLOSING_MAX: Duration = Duration::from_secs(10);
const CLOSING_PAUSE: Duration = Duration::from_millis(1);

/// What a database in memory is called.
pub(crate) const MEMORY: &str = "memory";

/// Databases in memory that have a name, by which whoever asks for one in this process gets the same.
static NAMED: LazyLock<Mutex<HashMap<String, Weak<Shared>>>> = LazyLock::new(Mutex::default);

/// What the path of a database in memory begins with; a name may follow.
const IN_MEMORY: &str = ":memory:";

/// Whether a path means a database in memory.
pub(crate) fn is_memory(path: &str) -> bool {
    path.is_empty() || path.starts_with(IN_MEMORY)
}

/// The name of a database in memory that is shared.
fn name_in_memory(path: &str) -> Option<&str> {
    path.strip_prefix(IN_MEMORY).filter(|name| !name.is_empty())
}

impl Database {
    /// Opens a database: the file at `path`, created if there is none; `":memory:"` and the empty path are a new one
    /// in memory, `":memory:name"` the one of that name, which lives as long as someone uses it. A file that is open in this
    /// process already gives another handle of the same database. `inlay://user:password@host:port/database` and
    /// `inlay+unix:///path?db=database` are a database at a server: its connections run statements there.
    ///
    /// `access_mode` may be `read_only` or `read_write`, `synchronous` `full`, `normal` or `off`; other settings are
    /// those of SET.
    pub fn open(path: &str, config: &[(String, Value)]) -> Result<Self> {
        Self::open_noting(path, config).map(|(database, _)| database)
    }

    /// As [`Database::open`]; says which settings changed for connections that others have to the same database.
    pub fn open_noting(path: &str, config: &[(String, Value)]) -> Result<(Self, Option<String>)> {
        if Url::is_one(path) {
            return Ok((Self::open_server(path, config)?, None));
        }
        let path = if is_memory(path) { path.to_string() } else { absolute(path) };
        Self::open_with(Arc::new(RealDisk), true, &path, config)
    }

    /// As [`Database::open`], on another disk; for tests.
    pub fn open_on(disk: Arc<dyn Disk>, path: &str, config: &[(String, Value)]) -> Result<Self> {
        Self::open_with(disk, false, path, config).map(|(database, _)| database)
    }

    fn open_with(
        disk: Arc<dyn Disk>,
        is_on_real_disk: bool,
        path: &str,
        config: &[(String, Value)],
    ) -> Result<(Self, Option<String>)> {
        let (access, config) = settings::access_of(config)?;
        if is_memory(path) && access == Some(AccessMode::ReadOnly) {
            let message = "a database in memory cannot be opened read-only: it would stay empty";
            return Err(Error::invalid_argument(message));
        }
        if let Some(name) = name_in_memory(path) {
            let mut named = NAMED.lock();
            named.retain(|_, shared| shared.strong_count() > 0);
            if let Some(shared) = named.get(name).and_then(Weak::upgrade) {
                let database = Self(shared);
                // After a fork the parent's database is not the child's.
                if database.check_process().is_ok() {
                    database.expect_access(access)?;
                    let note = database.configure(&config)?;
                    return Ok((database, note));
                }
            }
            let database = Self::opened(disk, is_on_real_disk, path, access, &config)?;
            named.insert(name.to_string(), Arc::downgrade(&database.0));
            return Ok((database, None));
        }
        let known = if is_memory(path) { None } else { identity(&disk, Path::new(path))? };
        let mut open_files = OPEN_FILES.lock();
        open_files.retain(|_, shared| shared.strong_count() > 0);
        if let Some(shared) = known.and_then(|identity| open_files.get(&identity)).and_then(Weak::upgrade) {
            let database = Self(shared);
            // After a fork the parent's opening is not the child's, which opens the file anew.
            if database.check_process().is_ok() {
                database.expect_access(access)?;
                let note = database.configure(&config)?;
                return Ok((database, note));
            }
        }
        let database = Self::opened(Arc::clone(&disk), is_on_real_disk, path, access, &config)?;
        if let Some((identity, _)) = database.0.main.store.identity() {
            open_files.insert(identity, Arc::downgrade(&database.0));
        }
        Ok((database, None))
    }

    /// A database that nobody in this process has open.
    fn opened(
        disk: Arc<dyn Disk>,
        is_on_real_disk: bool,
        path: &str,
        access: Option<AccessMode>,
        config: &[(String, Value)],
    ) -> Result<Self> {
        let budget = MemoryBudget::unlimited();
        let residents = Residents::new(budget.clone(), 0);
        let pool = Arc::new(WorkerPool::new(1));
        let settings = DatabaseSettings::new(budget.clone(), Arc::clone(&residents), Arc::clone(&pool));
        let (mut session, problem) = settings::of_machine();
        settings::set_all(config, &settings, &mut session)?;
        let zone_problem = problem.filter(|_| session.zone.is_none());
        let main = if is_memory(path) {
            Attached::own(MEMORY, None, Store::in_memory(budget.clone()))
        } else {
            let options = StoreOptions { access: access.unwrap_or_default(), ..settings.store_options() };
            open_file(&disk, Path::new(path), options, &budget)?
        };
        Ok(Self(Arc::new(Shared {
            main,
            attached: RwLock::default(),
            foreign_kinds: RwLock::default(),
            has_foreign: AtomicBool::new(false),
            has_remote: AtomicBool::new(false),
            instance: random_name()?,
            registered: RwLock::default(),
            functions: inlay_formats::table_functions(settings.files())
                .into_iter()
                .map(|function| (function.name(), function))
                .collect(),
            functions_of_host: Functions::default(),
            pool,
            settings,
            session: Mutex::new(session),
            zone_problem,
            budget,
            disk,
            is_on_real_disk,
            last_id: AtomicU64::new(0),
            process: process_id(),
            residents,
            lent: Mutex::default(),
            listed: Mutex::default(),
            rights: Mutex::default(),
            server: None,
        })))
    }

    /// What whoever opened it should know, though it is open: that the variable TZ names no time zone.
    pub fn warning(&self) -> Option<&str> {
        self.0.zone_problem.as_deref()
    }

    /// A new database in memory.
    pub fn open_in_memory() -> Result<Self> {
        Self::open(":memory:", &[])
    }

    fn expect_access(&self, wanted: Option<AccessMode>) -> Result<()> {
        let is_read_only = self.0.main.store.is_read_only();
        if wanted.is_none_or(|wanted| (wanted == AccessMode::ReadOnly) == is_read_only) {
            return Ok(());
        }
        let (name, now) = (self.name(), if is_read_only { "reading only" } else { "reading and writing" });
        Err(Error::invalid_argument(format!("\"{name}\" is open in this process for {now} already"))
            .with_hint("close it to open it otherwise"))
    }

    /// Gives settings of a database that is open their values; what is to be said of those that all its connections share.
    fn configure(&self, config: &[(String, Value)]) -> Result<Option<String>> {
        let mut session = self.0.session.lock();
        let names =
            config.iter().map(|(name, _)| name.as_str()).filter(|name| settings::is_of_database(name));
        let shared: Vec<&str> = names.collect();
        let values = |session: &SessionSettings| -> Vec<Option<String>> {
            let value =
                |name: &&str| settings::get(name, &self.0.settings, session).map(|value| value.to_string());
            shared.iter().map(value).collect()
        };
        let before = values(&session);
        settings::set_all(config, &self.0.settings, &mut session)?;
        let (after, mut changed) = (values(&session), Vec::new());
        for (name, (before, after)) in shared.iter().zip(before.into_iter().zip(after)) {
            if before != after {
                let shown = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_string());
                changed.push(format!("{name} from {} to {}", shown(before), shown(after)));
            }
        }
        Ok((!changed.is_empty()).then(|| {
            format!(
                "\"{}\" is open in this process already, and all of its connections share these settings, which changed: {}",
                self.name(),
                changed.join(", ")
            )
        }))
    }

    /// A number that no connection or statement of this database has yet.
    pub(crate) fn next_id(&self) -> u64 {
        self.0.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// What its connections start with.
    pub(crate) fn first_settings(&self) -> SessionSettings {
        self.0.session.lock().clone()
    }

    /// Path of its file, or `:memory:`, or the address of its server.
    pub fn name(&self) -> String {
        if let Some(server) = self.server() {
            return server.shown();
        }
        self.0.main.path.as_ref().map_or_else(|| ":memory:".to_string(), |path| path.display().to_string())
    }

    /// Makes a host's object a table, for a session first of all. Its earlier object of this name is replaced, a table or
    /// view is not.
    pub(crate) fn register(&self, name: &str, session: u64, source: Arc<dyn TableSource>) -> Result<()> {
        self.check_process()?;
        if let Some(object) = self.0.main.store.state().relation(name) {
            return Err(Error::Duplicate { kind: object.kind(), name: name.to_string() });
        }
        // What was there is let go of behind the lock: the host's own code may run then.
        let earlier = self.0.registered.write().insert(name, session, source);
        drop(earlier);
        Ok(())
    }

    /// Forgets what a session registered under a name, or what another one did if it has none itself. Returns whether
    /// there was one.
    pub(crate) fn unregister(&self, name: &str, session: u64) -> bool {
        let removed = self.0.registered.write().remove(name, session);
        removed.is_some()
    }

    /// A session ends. What it registered stays for the others, unless one of them registered the name, too.
    pub(crate) fn leave(&self, session: u64) {
        let removed = self.0.registered.write().leave(session);
        drop(removed);
    }

    /// Lets statements read and write the files of a file system of the host, whose paths begin with one of the protocols.
    pub fn register_files(&self, protocols: Vec<String>, files: Arc<dyn HostFiles>) -> Result<()> {
        let instead = "register the file's rows, or let the server read it";
        self.check_here("a file system of the program", instead)?;
        self.check_process()?;
        self.settings().files().register_host(protocols, files)
    }

    /// Forgets the host's file system for a protocol. Returns whether there was one.
    pub fn unregister_files(&self, protocol: &str) -> bool {
        self.settings().files().unregister_host(protocol)
    }

    /// The host's file systems, by the first protocol of each.
    pub fn registered_files(&self) -> Vec<String> {
        self.settings().files().hosts()
    }

    /// Whether the host has a file system for a protocol.
    pub fn has_files(&self, protocol: &str) -> bool {
        self.settings().files().has_host(protocol)
    }

    /// The host's object of a name: what the session registered, or the last that another one did.
    pub(crate) fn registered(&self, name: &str, session: u64) -> Option<Arc<dyn TableSource>> {
        self.0.registered.read().get(name, session)
    }

    /// Whether a session registered an object under a name itself.
    pub(crate) fn is_registered_by(&self, name: &str, session: u64) -> bool {
        self.0.registered.read().is_own(name, session)
    }

    /// What a state says of roles and rights, made once for as long as its definitions are the same.
    pub(crate) fn rights_of(&self, state: &State) -> Result<Arc<Rights>> {
        let found = |known: &(Arc<CatalogMark>, Arc<Rights>)| Arc::ptr_eq(&known.0, state.catalog());
        if let Some((_, rights)) = self.0.rights.lock().iter().find(|known| found(known)) {
            return Ok(Arc::clone(rights));
        }
        let made = (Arc::clone(state.catalog()), Arc::new(Rights::of(state)?));
        let mut kept = self.0.rights.lock();
        if kept.len() == RIGHTS_MAX {
            kept.pop_front();
        }
        kept.push_back(made.clone());
        Ok(made.1)
    }

    /// The host's objects by lower-case name, as a session sees them.
    pub(crate) fn all_registered(&self, session: u64) -> Vec<(String, Arc<dyn TableSource>)> {
        self.0.registered.read().all(session)
    }

    /// Bytes in use now.
    pub fn memory_used(&self) -> u64 {
        self.0.budget.used()
    }

    /// Most bytes ever in use at once.
    pub fn memory_peak(&self) -> u64 {
        self.0.budget.peak()
    }

    /// Bytes that queries wrote to temporary files so far.
    pub fn spilled_bytes(&self) -> u64 {
        self.0.settings.temp().written()
    }

    /// The database that was opened.
    pub(crate) fn main(&self) -> &Attached {
        &self.0.main
    }

    /// An attached database by name, the main one included.
    pub(crate) fn attached(&self, name: &str) -> Option<Attached> {
        if same_name(&self.0.main.name, name) {
            return Some(self.0.main.clone());
        }
        self.0.attached.read().iter().find(|attached| same_name(&attached.name, name)).cloned()
    }

    /// Names of all databases, the main one first.
    pub(crate) fn database_names(&self) -> Vec<String> {
        let attached = self.0.attached.read();
        std::iter::once(&self.0.main).chain(&*attached).map(|attached| attached.name.clone()).collect()
    }

    /// Attaches the database in a file, or a new one in memory.
    pub(crate) fn attach(&self, name: &str, path: &str, access: AccessMode) -> Result<()> {
        if self.attached(name).is_some() {
            return Err(Error::Duplicate { kind: "database", name: name.to_string() });
        }
        let mut attached = if is_memory(path) {
            Attached::own(MEMORY, None, Store::in_memory(self.0.budget.clone()))
        } else {
            let options = StoreOptions { access, ..self.0.settings.store_options() };
            open_file(&self.disk_of_statements(), &self.path_of(path), options, &self.0.budget)?
        };
        attached.name = name.to_string();
        self.add(attached)
    }

    /// Attaches a database at a server.
    pub(crate) fn add_remote(&self, remote: RemoteDatabase) -> Result<()> {
        let store = Store::in_memory(self.0.budget.clone());
        let (name, path) = (remote.name.clone(), Some(PathBuf::from(remote.shown())));
        self.0.has_remote.store(true, Ordering::Release);
        self.add(Attached { name, path, store, foreign: None, remote: Some(Arc::new(remote)) })
    }

    /// Whether a database at a server was attached.
    pub(crate) fn has_remote(&self) -> bool {
        self.0.has_remote.load(Ordering::Acquire)
    }

    /// The attached database at a server that has a name.
    pub(crate) fn remote(&self, name: &str) -> Option<Arc<RemoteDatabase>> {
        if !self.has_remote() {
            return None;
        }
        self.attached(name)?.remote
    }

    /// A text that no other database has, by which a server's clients know whether it has their own open.
    pub fn instance(&self) -> &str {
        &self.0.instance
    }

    fn add(&self, attached: Attached) -> Result<()> {
        let mut all = self.0.attached.write();
        // Another connection may have attached one of this name while the file was opened.
        if all.iter().chain([&self.0.main]).any(|known| same_name(&known.name, &attached.name)) {
            return Err(Error::Duplicate { kind: "database", name: attached.name });
        }
        self.0.has_foreign.fetch_or(attached.foreign.is_some(), Ordering::AcqRel);
        all.push(attached);
        Ok(())
    }

    /// The store of a file: the one that is open, or one that only reads it.
    pub(crate) fn store_of_file(&self, path: &str) -> Result<Arc<Store>> {
        let path = self.path_of(path);
        let store_of = |identity| OPEN_STORES.lock().get(&identity).and_then(|open| open.store.upgrade());
        if let Some(store) = identity(&self.0.disk, &path)?.and_then(store_of) {
            return Ok(store);
        }
        let options = StoreOptions { access: AccessMode::ReadOnly, ..self.0.settings.store_options() };
        Store::open(&self.disk_of_statements(), &path, options, MemoryBudget::unlimited())
    }

    /// Puts everything that is committed in this process's files into them, when the process is about to end.
    ///
    /// Databases stay open. A failure loses nothing, for the logs have it.
    pub fn checkpoint_all() {
        let stores: Vec<Arc<Store>> =
            OPEN_STORES.lock().values().filter_map(|open| open.store.upgrade()).collect();
        for store in stores {
            let _ = store.close();
        }
    }

    /// Writes a copy of what is committed into the new file `path`, while the database is used and changed.
    ///
    /// The file appears when it is complete. One that exists and is not empty is never overwritten.
    pub fn backup(&self, path: &str) -> Result<()> {
        self.check_here(
            "backup()",
            "EXPORT DATABASE writes files at the server; where its file is, inlay.connect(FILE, read_only=True).backup(COPY) copies it while it is served",
        )?;
        self.check_process()?;
        if is_memory(path) {
            return Err(Error::invalid_argument("a backup needs the path of a file"));
        }
        let path = self.path_of(path);
        self.0.main.store.backup(&self.0.disk, &path)
    }

    /// Forgets an attached database; it closes when nobody uses it any more.
    pub(crate) fn detach(&self, name: &str) -> Result<()> {
        if same_name(&self.0.main.name, name) {
            let message = format!("\"{name}\" is the database that was opened");
            let hint = "it goes with its last connection";
            return Err(Error::bind(message).with_hint(hint));
        }
        self.0.attached.write().retain(|attached| !same_name(&attached.name, name));
        Ok(())
    }

    /// Every store, the main one first.
    pub(crate) fn stores(&self) -> Vec<Arc<Store>> {
        let attached = self.0.attached.read();
        std::iter::once(&self.0.main).chain(&*attached).map(|attached| Arc::clone(&attached.store)).collect()
    }

    /// The file that a statement names, whatever the host makes its current directory.
    pub(crate) fn path_of(&self, path: &str) -> PathBuf {
        if self.0.is_on_real_disk { PathBuf::from(absolute(path)) } else { PathBuf::from(path) }
    }

    /// The disk as statements may reach it that name files.
    pub(crate) fn disk_of_statements(&self) -> Arc<dyn Disk> {
        let (access, disk) = (self.settings().files().access(), &self.0.disk);
        if access.is_unrestricted() {
            return Arc::clone(disk);
        }
        Arc::new(GuardedDisk::new(Arc::clone(access), Arc::clone(disk), self.0.is_on_real_disk))
    }

    pub(crate) fn functions(&self) -> &HashMap<&'static str, Arc<dyn TableFunction>> {
        &self.0.functions
    }

    pub(crate) fn functions_of_host(&self) -> &Functions {
        &self.0.functions_of_host
    }

    pub(crate) fn pool(&self) -> &Arc<WorkerPool> {
        &self.0.pool
    }

    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.0.budget
    }

    /// Columns that hosts were given.
    pub(crate) fn residents(&self) -> &Arc<Residents> {
        &self.0.residents
    }

    /// What a result needs to read a table after its statement is done.
    pub(crate) fn lender(&self, workers: Workers) -> Lender {
        Lender { residents: Arc::clone(&self.0.residents), workers }
    }

    /// Notes rows that are read after their statement is done.
    pub(crate) fn lend(&self, rows: Weak<dyn Lent>) {
        let mut lent = self.0.lent.lock();
        lent.retain(|rows| rows.strong_count() > 0);
        lent.push(rows);
    }

    /// Notes a session.
    pub(crate) fn list(&self, session: Weak<dyn Listed>) {
        let mut listed = self.0.listed.lock();
        listed.retain(|session| session.strong_count() > 0);
        listed.push(session);
    }

    /// Its sessions.
    pub(crate) fn listed(&self) -> Vec<Arc<dyn Listed>> {
        self.0.listed.lock().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn settings(&self) -> &DatabaseSettings {
        &self.0.settings
    }

    /// An error in a child that was forked after the database was opened: its workers are gone.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.0.process == process_id() {
            return Ok(());
        }
        Err(Error::Closed { message: "this database was opened before the process was forked".to_string() }
            .with_hint("open one in the child"))
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database({})", self.name())
    }
}

/// A name that is not given twice.
fn random_name() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Error::internal("the system gives no random numbers"))?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// A path that means the same file whatever the host makes its current directory.
fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_string(), |path| path.to_string_lossy().into_owned())
}

fn identity(disk: &Arc<dyn Disk>, path: &Path) -> Result<Option<FileIdentity>> {
    disk.identity(path).map_err(|error| Error::io("cannot open", path.display().to_string(), &error))
}

/// The store of a file: the one that is open in this process, or a new one.
fn open_file(
    disk: &Arc<dyn Disk>,
    path: &Path,
    options: StoreOptions,
    budget: &MemoryBudget,
) -> Result<Attached> {
    let stem =
        path.file_stem().map_or_else(|| "database".to_string(), |stem| stem.to_string_lossy().into_owned());
    let path = path.to_path_buf();
    let mut open = OPEN_STORES.lock();
    // What the process had open that this one was forked from is not open here.
    let is_ours = |known: &OpenStore| known.store.upgrade().is_none_or(|store| store.is_of_this_process());
    open.retain(|_, known| known.may_be_locked() && is_ours(known));
    let identity = identity(disk, &path)?;
    if let Some(store) = identity.and_then(|identity| open.get(&identity)?.store.upgrade()) {
        if store.is_read_only() != (options.access == AccessMode::ReadOnly) {
            return Err(Error::Locked {
                message: format!(
                    "\"{}\" is open in this process already, in another access mode",
                    path.display()
                ),
            });
        }
        return Ok(Attached::own(stem, Some(path), store));
    }
    let started = Instant::now();
    let store = loop {
        match Store::open(disk, &path, options, budget.clone()) {
            // Another thread let go of the last handle, and has not unlocked the file yet.
            Err(Error::Locked { .. })
                if started.elapsed() < CLOSING_MAX
                    && identity
                        .and_then(|identity| open.get_mut(&identity))
                        .is_some_and(OpenStore::may_be_locked) =>
            {
                std::thread::sleep(CLOSING_PAUSE);
            }
            opened => break opened?,
        }
    };
    if let Some((identity, opened)) = store.identity() {
        open.insert(identity, OpenStore { store: Arc::downgrade(&store), opened, closed: None });
    }
    Ok(Attached::own(stem, Some(path), store))
}
