//! Who may come: what a server asks of a database's roles, and a session as one of them.

use super::verifier;
use crate::database::Database;
use inlay_catalog::rights::{Privilege, Role, Subject};
use inlay_types::Result;

/// A role that one may come as.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// let database = inlay::Database::open_in_memory()?;
/// database.connect().execute("CREATE TABLE t (a INTEGER); CREATE USER ann PASSWORD 'secret' CONNECTION LIMIT 2")?;
/// let login = database.login("ann")?.unwrap();
/// assert!(login.verifier.unwrap().starts_with("SCRAM-SHA-256$"));
/// assert_eq!((login.connections, database.login("eve")?), (Some(2), None));
/// let session = database.connect_as("ann")?;
/// let error = session.execute("SELECT a FROM t").unwrap_err();
/// assert_eq!(error.sqlstate(), "42501");
/// database.connect().execute("GRANT SELECT ON t TO ann")?;
/// session.execute("SELECT a FROM t")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Login {
    /// The role's name, in lower case.
    pub role: String,
    /// What proves the password, as PostgreSQL stores it; absent where none does.
    pub verifier: Option<String>,
    /// Most sessions at a time.
    pub connections: Option<u32>,
    /// Whether it may everything.
    pub is_superuser: bool,
}

fn is_over(until: Option<i64>) -> bool {
    until.is_some_and(|until| until <= inlay_kernels::zone::system_micros())
}

impl Login {
    fn of(name: &str, role: &Role) -> Self {
        Self {
            role: name.to_string(),
            verifier: role.verifier.clone().filter(|_| !is_over(role.until)),
            connections: role.connections,
            is_superuser: role.is_superuser,
        }
    }
}

impl Database {
    /// Whether roles were made in the file.
    pub fn has_roles(&self) -> Result<bool> {
        Ok(self.rights_of(&self.main().store.state())?.roles().next().is_some())
    }

    /// Whether a role was made in the file, be it one that nobody comes as.
    pub fn has_role(&self, name: &str) -> Result<bool> {
        Ok(self.rights_of(&self.main().store.state())?.role(&name.to_lowercase()).is_some())
    }

    /// The role of a name, if one may come as it now and use the database.
    pub fn login(&self, name: &str) -> Result<Option<Login>> {
        let rights = self.rights_of(&self.main().store.state())?;
        let name = name.to_lowercase();
        let role = rights.role(&name).filter(|role| role.logs_in);
        let may = || rights.may(&name, Subject::Database, Privilege::Connect, None);
        Ok(role.filter(|_| may()).map(|role| Login::of(&name, role)))
    }

    /// The role of a token, if it holds and one may come as the role.
    pub fn login_of_token(&self, token: &str) -> Result<Option<Login>> {
        let hash = verifier::hash_of_token(token);
        let rights = self.rights_of(&self.main().store.state())?;
        let holds = |role: &Role| {
            !is_over(role.until) && role.tokens.iter().any(|one| one.hash == hash && !is_over(one.until))
        };
        let found =
            rights.roles().find(|(_, role)| role.logs_in && holds(role)).map(|(name, _)| name.to_string());
        found.map_or(Ok(None), |name| self.login(&name))
    }
}
