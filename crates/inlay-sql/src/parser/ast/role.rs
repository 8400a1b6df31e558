//! Statements about roles, and what they may do.

use super::{Expr, Ident, ObjectName, Pos};
use inlay_catalog::rights::Privilege;

/// See the module documentation.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum RoleStatement {
    Create {
        name: Ident,
        options: RoleOptions,
        if_not_exists: bool,
    },
    Alter {
        name: Ident,
        options: RoleOptions,
    },
    Rename {
        name: Ident,
        new_name: Ident,
    },
    Drop {
        names: Vec<Ident>,
        if_exists: bool,
    },
    /// `GRANT privileges ON objects TO roles` and `REVOKE`.
    Grant(Box<Grant>),
    /// `GRANT roles TO roles` and `REVOKE`.
    Members {
        roles: Vec<Ident>,
        members: Vec<Ident>,
        is_granted: bool,
        /// `WITH ADMIN OPTION`, `ADMIN OPTION FOR`.
        admin: bool,
    },
    /// `ALTER kind name OWNER TO role`.
    Owner {
        object: GrantObject,
        name: ObjectName,
        role: Ident,
    },
    /// `SET ROLE name`; without a name, that of the login.
    SetRole {
        name: Option<Ident>,
    },
    Reassign {
        from: Vec<Ident>,
        to: Ident,
    },
    DropOwned {
        of: Vec<Ident>,
        cascade: bool,
    },
    /// `CREATE TOKEN name FOR role [VALID UNTIL 'moment']`.
    CreateToken {
        name: Ident,
        role: Ident,
        until: Option<Expr>,
    },
    /// `DROP TOKEN name FOR role`.
    DropToken {
        name: Ident,
        role: Ident,
        if_exists: bool,
    },
}

/// What CREATE and ALTER ROLE say; nothing where nothing was said.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct RoleOptions {
    pub login: Option<bool>,
    pub superuser: Option<bool>,
    pub create_role: Option<bool>,
    /// -1 is no limit.
    pub connections: Option<i64>,
    /// `None` within is PASSWORD NULL.
    pub password: Option<Option<String>>,
    pub until: Option<Expr>,
    /// IN ROLE.
    pub is_in: Vec<Ident>,
    /// ROLE and ADMIN: who is in it, and whether he may put others there.
    pub members: Vec<(Ident, bool)>,
}

/// What a right is granted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum GrantObject {
    Table,
    Sequence,
    Schema,
    Database,
    Function,
    Type,
    Index,
}

/// `GRANT` and `REVOKE` of privileges on objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// Rather than REVOKE.
    pub is_granted: bool,
    /// `None`: ALL; with the columns that they are about, all of them if there are none.
    pub privileges: Vec<(Option<Privilege>, Vec<Ident>, Pos)>,
    /// Of which kind the objects are.
    pub object: GrantObject,
    /// The objects, or the schemas all of whose objects are meant.
    pub names: Vec<ObjectName>,
    /// ALL ... IN SCHEMA.
    pub in_schemas: bool,
    /// To, or from, whom.
    pub roles: Vec<Ident>,
    /// WITH GRANT OPTION, GRANT OPTION FOR.
    pub option: bool,
    /// CASCADE.
    pub cascade: bool,
}
