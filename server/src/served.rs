//! What is served: one storage, the sessions of its clients, and how it ends.
//!
//! Several files are one storage: the first is opened and the others are attached to it, so that they share memory and workers, and queries may name
//! tables of several. A client names the one that it begins in. Once all are attached the engine's doors to other files are shut, unless `--allow-files`
//! says otherwise: whoever may log in is not whoever owns the machine.

use crate::http::{Answers, PROTOCOL, Sessions};
use crate::metrics::{Metrics, Now, count};
use crate::options::Options;
use crate::session::Session;
use crate::users::Users;
use inlay::{Connection, Database, Error, ErrorKind, HostFiles, Result, Value, sql};
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Clients come and go.
    Open,
    /// None comes any more, and each goes when its statement or transaction has ended.
    Finishing,
    /// What still runs is interrupted.
    Ending,
}

/// See the module documentation.
pub struct Served {
    database: Database,
    /// What clients reach of files, if nothing else outside of the databases.
    reached: Option<String>,
    /// Names of the databases; a client that names none begins in the first.
    names: Vec<String>,
    pub users: Users,
    pub options: Options,
    pub metrics: Metrics,
    sessions: Mutex<HashMap<u32, Listed>>,
    answers: Arc<Answers>,
    http_sessions: Sessions,
    native_sessions: inlay_protocol::server::Sessions,
    places: Arc<Semaphore>,
    statement_places: Arc<Semaphore>,
    phase: watch::Sender<Phase>,
    random: SystemRandom,
    started: Instant,
}

/// What is known of a session from outside of it.
struct Listed {
    /// As whom it acts, if that is a role of the file.
    role: Option<String>,
    secret: [u8; 4],
    connection: Connection,
}

impl Served {
    /// Opens what the options name.
    pub fn open(options: Options, users: Users) -> Result<Arc<Self>> {
        let first = options.files.first().map_or(":memory:", String::as_str);
        let read_only = [("access_mode".to_string(), "read_only".into())];
        let settings: &[(String, Value)] = if options.is_read_only { &read_only } else { &[] };
        let database = Database::open(first, settings)?;
        let connection = database.connect();
        for file in options.files.iter().skip(1) {
            let attached = connection.execute(&format!(
                "ATTACH {}{}",
                sql::literal(file),
                if options.is_read_only { " (READ_ONLY)" } else { "" }
            ));
            attached.map_err(|error| match error.kind() {
                ErrorKind::Duplicate => Error::invalid_argument(format!(
                    "{file} has the name of another file that is served"
                ))
                .with_hint(
                    "a database is called as its file is without the ending: rename one, or serve them apart",
                ),
                _ => error.clone(),
            })?;
        }
        if !options.allows_files {
            connection.execute(&format!("SET allowed_directories = ['{PROTOCOL}://']"))?;
            connection.execute("SET enable_external_access = false")?;
        }
        Self::of(database, None, options, users)
    }

    /// The database of a program that has it open and goes on using it: unless the options let statements reach files, clients reach nothing of
    /// the program but its databases.
    pub fn over(database: Database, options: Options, users: Users) -> Result<Arc<Self>> {
        let reached = (!options.allows_files).then(|| format!("{PROTOCOL}://"));
        Self::of(database, reached, options, users)
    }

    fn of(database: Database, reached: Option<String>, options: Options, users: Users) -> Result<Arc<Self>> {
        let answers: Arc<Answers> = Arc::default();
        let files: Arc<dyn HostFiles> = Arc::<Answers>::clone(&answers);
        if database.has_files(PROTOCOL) {
            let message = "this database is served already".to_string();
            return Err(Error::Locked { message }.with_hint("close the other server first"));
        }
        database.register_files(vec![PROTOCOL.to_string()], files)?;
        let names = names_of(&database.connect())?;
        users.know_roles(&database);
        Ok(Arc::new(Self {
            database,
            reached,
            names,
            users,
            metrics: Metrics::default(),
            sessions: Mutex::default(),
            answers,
            http_sessions: Sessions::default(),
            native_sessions: inlay_protocol::server::Sessions::default(),
            places: Arc::new(Semaphore::new(options.connections_max)),
            statement_places: Arc::new(Semaphore::new(options.statements_max)),
            options,
            phase: watch::Sender::new(Phase::Open),
            random: SystemRandom::new(),
            started: Instant::now(),
        }))
    }

    /// A text that no other database has.
    pub(crate) fn instance(&self) -> &str {
        self.database.instance()
    }

    /// Names of the databases, the first one first.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Where answers go that are files.
    pub(crate) fn answers(&self) -> &Arc<Answers> {
        &self.answers
    }

    /// Sessions of HTTP that last, and its statements that have names.
    pub(crate) fn sessions_of_http(&self) -> &Sessions {
        &self.http_sessions
    }

    /// Sessions of the native protocol, so that one connection can cancel what another one runs.
    pub(crate) fn native_sessions(&self) -> &inlay_protocol::server::Sessions {
        &self.native_sessions
    }

    /// One of the places for statements that run at once, if one is free.
    pub(crate) fn free_statement_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.statement_places).try_acquire_owned().ok()
    }

    /// One of the places for statements that run at once, when it is free.
    pub(crate) async fn statement_place(&self) -> Result<OwnedSemaphorePermit> {
        let places = Arc::clone(&self.statement_places);
        places.acquire_owned().await.map_err(|_| Error::internal("the places for statements are gone"))
    }

    /// How far the statement of a session is, from 0 to 1; nothing where that is not known.
    pub fn progress(&self, number: u32) -> Option<f64> {
        let connection = self.sessions.lock().get(&number).map(|listed| listed.connection.clone())?;
        connection.progress().map(|progress| progress.fraction)
    }

    /// Random bytes.
    pub fn random<const N: usize>(&self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.random.fill(&mut bytes).map_err(|_| Error::internal("the system gives no random numbers"))?;
        Ok(bytes)
    }

    /// A session in the database of a name, or in the first one; as the role of the file that has the user's name, or else as who opens it.
    pub async fn session(self: &Arc<Self>, database: Option<&str>, user: Option<&str>) -> Result<Session> {
        let name = match database {
            Some(wanted) => {
                let known = self.names.iter().find(|name| *name == wanted);
                Some(known.ok_or_else(|| no_database(wanted))?.clone())
            }
            None => None,
        };
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            count(&self.metrics.refused, 1);
            Error::Locked { message: "too many sessions are open".to_string() }
                .with_hint("--max-connections of inlay serve says how many may be")
        })?;
        let role = match user.map(str::to_lowercase) {
            Some(user) if self.database.has_role(&user)? => Some(user),
            _ => None,
        };
        let connection = match (&role, &self.reached) {
            (role, Some(reached)) => self.database.connect_inside(role.as_deref(), reached)?,
            (Some(role), None) => self.database.connect_as(role)?,
            (None, None) => self.database.connect(),
        };
        let secret = self.random()?;
        let number = self.list(&connection, secret, role)?;
        let session = Session::new(connection, Arc::clone(self), number, secret, place);
        count(&self.metrics.sessions, 1);
        if let Some(name) = name {
            session
                .run_apart(move |call| {
                    call.connection.execute(&format!("USE {}", sql::ident(&name))).map(drop)
                })
                .await?;
        }
        Ok(session)
    }

    /// Gives a session a number that no other one has. Numbers say nothing of how many there were.
    fn list(&self, connection: &Connection, secret: [u8; 4], role: Option<String>) -> Result<u32> {
        let most = role.as_ref().map_or(Ok(None), |role| self.database.login(role))?;
        let most = most.and_then(|login| login.connections);
        let mut sessions = self.sessions.lock();
        let own = sessions.values().filter(|listed| listed.role.is_some() && listed.role == role).count();
        if let (Some(most), Some(role)) = (most, &role)
            && own >= most as usize
        {
            count(&self.metrics.refused, 1);
            let message = format!("too many sessions of role \"{role}\" are open");
            return Err(Error::Locked { message }.with_hint("its CONNECTION LIMIT says how many may be"));
        }
        loop {
            let number = u32::from_be_bytes(self.random()?) >> 1;
            if number != 0 && !sessions.contains_key(&number) {
                sessions.insert(number, Listed { role, secret, connection: connection.clone() });
                return Ok(number);
            }
        }
    }

    pub(crate) fn forget(&self, number: u32) {
        self.sessions.lock().remove(&number);
    }

    /// Ends what a session runs, if the secret is its own.
    pub fn cancel(&self, number: u32, secret: [u8; 4]) -> bool {
        let sessions = self.sessions.lock();
        let found = sessions.get(&number).filter(|listed| same(&listed.secret, &secret));
        if let Some(listed) = found {
            listed.connection.interrupt();
            count(&self.metrics.cancelled, 1);
        }
        found.is_some()
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.sessions.lock().len()
    }

    /// The text of `/metrics`.
    pub fn metrics_text(&self) -> String {
        let now = Now {
            sessions: self.session_count(),
            memory_used: self.database.memory_used(),
            memory_peak: self.database.memory_peak(),
            spilled: self.database.spilled_bytes(),
            uptime: self.started.elapsed(),
        };
        self.metrics.text(&now)
    }

    /// How far the end is, to be waited for.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Ends in order: what runs may finish within a time, and is interrupted then.
    pub async fn stop(&self, patience: Duration) {
        self.phase.send_replace(Phase::Finishing);
        self.http_sessions.clear();
        if !self.is_left_within(patience).await {
            self.phase.send_replace(Phase::Ending);
            for listed in self.sessions.lock().values() {
                listed.connection.interrupt();
            }
            self.is_left_within(LEAVING_MAX).await;
        }
    }

    async fn is_left_within(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.session_count() > 0 {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(LEAVING_PAUSE).await;
        }
        true
    }
}

impl Drop for Served {
    /// The program may go on using the database.
    fn drop(&mut self) {
        self.database.unregister_files(PROTOCOL);
    }
}

/// How long interrupted sessions are waited for, and between two looks at them.
const LEAVING_MAX: Duration = Duration::from_secs(5);
const LEAVING_PAUSE: Duration = Duration::from_millis(10);

/// Compares secrets in a time that does not depend on where they differ.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

/// PostgreSQL has a code for this, which the engine has no use for; the door looks for it.
fn no_database(name: &str) -> Error {
    Error::invalid_argument(format!("database \"{name}\" does not exist"))
}

/// Names of the databases that a client may begin in.
fn names_of(connection: &Connection) -> Result<Vec<String>> {
    let answer = connection.execute(
        "SELECT database_name FROM inlay_databases() WHERE NOT internal AND database_name <> 'temp'
         ORDER BY database_name <> current_database(), database_oid",
    )?;
    answer.rows().map(|row| row?.get(0)).collect()
}
