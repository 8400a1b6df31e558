//! Bound statements about roles and what they may do.

use inlay_catalog::DefinitionKind;
use inlay_catalog::rights::Privilege;

/// See the module documentation.
#[derive(Clone, Debug)]
pub enum RoleStatement {
    /// CREATE ROLE and USER.
    Create {
        /// Of which database.
        database: String,
        /// Its name, in lower case as all names of roles are.
        name: String,
        /// What was said.
        options: RoleOptions,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// ALTER ROLE.
    Alter {
        /// Of which database.
        database: String,
        /// Its name.
        name: String,
        /// What was said.
        options: RoleOptions,
    },
    /// ALTER ROLE ... RENAME TO.
    Rename {
        /// Of which database.
        database: String,
        /// Its name until now.
        name: String,
        /// Its name from now on.
        new_name: String,
    },
    /// DROP ROLE.
    Drop {
        /// Of which database.
        database: String,
        /// Their names.
        names: Vec<String>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// GRANT and REVOKE of privileges.
    Grant(Box<Grant>),
    /// GRANT and REVOKE of roles.
    Members {
        /// Of which database.
        database: String,
        /// What is granted.
        roles: Vec<String>,
        /// To whom.
        members: Vec<String>,
        /// Rather than REVOKE.
        is_granted: bool,
        /// WITH ADMIN OPTION, ADMIN OPTION FOR.
        admin: bool,
    },
    /// ALTER ... OWNER TO.
    Owner {
        /// Of which database.
        database: String,
        /// What gets another owner.
        object: RightsOf,
        /// Who; nobody is whoever asks.
        role: Option<String>,
    },
    /// SET ROLE; nobody is who came.
    SetRole(Option<String>),
    /// REASSIGN OWNED.
    Reassign {
        /// Of which database.
        database: String,
        /// Whose things.
        from: Vec<String>,
        /// Whose they become.
        to: String,
    },
    /// DROP OWNED.
    DropOwned {
        /// Of which database.
        database: String,
        /// Whose things, and what was granted to whom.
        of: Vec<String>,
        /// CASCADE.
        cascade: bool,
    },
    /// CREATE TOKEN.
    CreateToken {
        /// Of which database.
        database: String,
        /// Its name.
        name: String,
        /// Whose it is.
        role: String,
        /// Microseconds since 1970 (UTC).
        until: Option<i64>,
    },
    /// DROP TOKEN.
    DropToken {
        /// Of which database.
        database: String,
        /// Its name.
        name: String,
        /// Whose it is.
        role: String,
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// What CREATE and ALTER ROLE say; nothing where nothing was said.
#[derive(Clone, Default)]
pub struct RoleOptions {
    /// LOGIN.
    pub login: Option<bool>,
    /// SUPERUSER.
    pub superuser: Option<bool>,
    /// CREATEROLE.
    pub create_role: Option<bool>,
    /// CONNECTION LIMIT; none within is no limit.
    pub connections: Option<Option<u32>>,
    /// PASSWORD; none within takes it away.
    pub password: Option<Option<String>>,
    /// VALID UNTIL, in microseconds since 1970 (UTC); none within is no end.
    pub until: Option<Option<i64>>,
    /// IN ROLE.
    pub is_in: Vec<String>,
    /// ROLE, and with the option ADMIN.
    pub members: Vec<(String, bool)>,
}

impl std::fmt::Debug for RoleOptions {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoleOptions").field("login", &self.login).finish_non_exhaustive()
    }
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Of which database.
    pub database: String,
    /// Rather than REVOKE.
    pub is_granted: bool,
    /// Which, each of a whole object or of a column of it, in lower case.
    pub privileges: Vec<(Privilege, Option<String>)>,
    /// On what.
    pub objects: Vec<RightsOf>,
    /// To, or from, whom.
    pub roles: Vec<String>,
    /// WITH GRANT OPTION, GRANT OPTION FOR.
    pub option: bool,
    /// CASCADE.
    pub cascade: bool,
}

/// What a right or an owner is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RightsOf {
    /// The database.
    Database,
    /// A table, view or sequence, by what it is known by.
    Relation(String),
    /// A schema, function, macro or type, by what it is known by.
    Definition(DefinitionKind, String),
    /// The schema that every database has.
    Main,
}

impl RoleStatement {
    /// In the words of SQL.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE ROLE",
            Self::Alter { .. } | Self::Rename { .. } => "ALTER ROLE",
            Self::Drop { .. } => "DROP ROLE",
            Self::Grant(grant) if grant.is_granted => "GRANT",
            Self::Members { is_granted: true, .. } => "GRANT ROLE",
            Self::Grant(_) => "REVOKE",
            Self::Members { .. } => "REVOKE ROLE",
            Self::Owner { .. } => "ALTER",
            Self::SetRole(_) => "SET ROLE",
            Self::Reassign { .. } => "REASSIGN OWNED",
            Self::DropOwned { .. } => "DROP OWNED",
            Self::CreateToken { .. } => "CREATE TOKEN",
            Self::DropToken { .. } => "DROP TOKEN",
        }
    }
}
