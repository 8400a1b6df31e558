//! Who may do what: roles, what was granted to them, and whose objects are.
//!
//! All of it is definitions of a database ([`DefinitionKind::Role`], `Grant`, `Owner`), which go with their objects, are forked, logged and
//! checked for conflicts as all names are. A [`Rights`] is what a state says of them, made once per state and asked while statements are
//! bound; [`text`] is how their texts are written.
//!
//! ```text
//! definitions of a state -> Rights: role -> roles that it is in; object -> grants by role; object -> owner
//! ```
//! What always holds
//! - A role may what it, the roles that it is in, and `public` may. A superuser may everything, and so may nobody else.
//! - An object without an owner belongs to [`SUPERUSER`], who is whoever opens the file; he is no definition and cannot go.
//! - Names of roles and columns are compared in lower case.

pub mod text;

use crate::{Definition, DefinitionKind};
use inlay_storage::store::{ObjectId, State};
use inlay_types::{Error, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
pub use text::{Held, Membership, Role, Token};

/// Who opens the file, and owns what nobody else does.
pub const SUPERUSER: &str = "inlay";
/// What every role is in.
pub const PUBLIC: &str = "public";

/// Roles that every database has, in which one may be; nobody comes as them.
pub const PREDEFINED: [&str; 6] = [
    "pg_read_server_files",
    "pg_write_server_files",
    "inlay_network",
    "inlay_python",
    "inlay_host",
    "pg_monitor",
];

macro_rules! privileges {
    ($($name:ident = $letter:literal, $word:literal;)+) => {
        /// What may be done with an object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Privilege {
            $(
                #[doc = $word]
                $name,
            )+
        }

        impl Privilege {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// As SQL writes it.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }

            /// As PostgreSQL's lists of rights have it.
            pub const fn letter(self) -> char {
                match self {
                    $(Self::$name => $letter,)+
                }
            }

            pub(super) fn of_letter(letter: char) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.letter() == letter)
            }

            /// The one of a word of SQL.
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.word().eq_ignore_ascii_case(word))
            }
        }
    };
}

privileges! {
    Select = 'r', "SELECT";
    Insert = 'a', "INSERT";
    Update = 'w', "UPDATE";
    Delete = 'd', "DELETE";
    Truncate = 'D', "TRUNCATE";
    References = 'x', "REFERENCES";
    Usage = 'U', "USAGE";
    Create = 'C', "CREATE";
    Execute = 'X', "EXECUTE";
    Connect = 'c', "CONNECT";
    Temporary = 'T', "TEMPORARY";
}

/// What a right is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// The database.
    Database,
    /// The schema that every database has.
    Main,
    /// A table, view, sequence, schema, function by its number.
    Object(ObjectId),
}

/// The kind of a [`Subject`], which decides what can be granted on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubjectKind {
    /// A table or view.
    Table,
    /// A sequence.
    Sequence,
    /// A schema.
    Schema,
    /// A database.
    Database,
    /// A function with code of another language.
    Function,
    /// A type or macro: it can only be owned.
    Other,
}

impl SubjectKind {
    /// What ALL PRIVILEGES are.
    pub const fn privileges(self) -> &'static [Privilege] {
        use Privilege as P;
        match self {
            Self::Table => &[P::Select, P::Insert, P::Update, P::Delete, P::Truncate, P::References],
            Self::Sequence => &[P::Usage, P::Select, P::Update],
            Self::Schema => &[P::Usage, P::Create],
            Self::Database => &[P::Create, P::Connect, P::Temporary],
            Self::Function => &[P::Execute],
            Self::Other => &[],
        }
    }

    /// What can be granted on single columns.
    pub const fn of_columns(self) -> &'static [Privilege] {
        use Privilege as P;
        match self {
            Self::Table => &[P::Select, P::Insert, P::Update, P::References],
            Self::Sequence | Self::Schema | Self::Database | Self::Function | Self::Other => &[],
        }
    }

    /// In the words of SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
            Self::Database => "database",
            Self::Function => "function",
            Self::Other => "object",
        }
    }
}

impl Subject {
    /// The object that its definitions belong to.
    pub const fn object(self) -> Option<ObjectId> {
        match self {
            Self::Object(id) => Some(id),
            Self::Database | Self::Main => None,
        }
    }

    /// What everybody may who was told nothing else.
    const fn of_public(self) -> &'static [Privilege] {
        match self {
            Self::Database => &[Privilege::Connect, Privilege::Temporary],
            Self::Main => &[Privilege::Usage],
            Self::Object(_) => &[],
        }
    }

    fn read(text: &str) -> Option<Self> {
        match text {
            "database" => Some(Self::Database),
            "main" => Some(Self::Main),
            id => id.parse().ok().map(Self::Object),
        }
    }

    /// The name of its owner's definition.
    pub fn owner_key(self) -> String {
        self.to_string()
    }

    /// The name of the definition that says what a role may with it.
    pub fn grant_key(self, role: &str) -> String {
        format!("{self}.{role}")
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => f.write_str("database"),
            Self::Main => f.write_str("main"),
            Self::Object(id) => write!(f, "{id}"),
        }
    }
}

/// What a state says of roles; see the module documentation.
#[derive(Debug, Default)]
pub struct Rights {
    /// No other one has it.
    number: u64,
    roles: BTreeMap<String, Role>,
    /// Of roles that were made: one of a name that another had has another number.
    numbers: HashMap<String, ObjectId>,
    /// What each role is in, itself included.
    closures: HashMap<String, HashSet<String>>,
    grants: HashMap<Subject, BTreeMap<String, Vec<Held>>>,
    owners: HashMap<Subject, String>,
}

impl Rights {
    /// What a state says.
    pub fn of(state: &State) -> Result<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let mut rights = Self { number, ..Self::default() };
        for definition in state.definitions(DefinitionKind::Role) {
            rights.roles.insert(definition.name.clone(), Role::read(&definition.sql)?);
            rights.numbers.insert(definition.name.clone(), definition.id);
        }
        for definition in state.definitions(DefinitionKind::Grant) {
            let (subject, role) = subject_of(definition)?;
            let role = role.ok_or_else(|| damaged(definition))?;
            rights.grants.entry(subject).or_default().insert(role, text::read_held(&definition.sql)?);
        }
        for definition in state.definitions(DefinitionKind::Owner) {
            let (subject, _) = subject_of(definition)?;
            rights.owners.insert(subject, definition.sql.clone());
        }
        rights.closures = rights.roles.keys().map(|name| (name.clone(), rights.closure(name))).collect();
        Ok(rights)
    }

    fn closure(&self, name: &str) -> HashSet<String> {
        let (mut all, mut open) = (HashSet::new(), vec![name.to_string()]);
        while let Some(next) = open.pop() {
            if all.insert(next.clone()) {
                let role = self.roles.get(&next);
                open.extend(role.into_iter().flat_map(|role| &role.is_in).map(|one| one.role.clone()));
            }
        }
        all
    }

    /// What everybody may: all that holds for roles of another file, which may have the names of roles of this one.
    pub fn of_strangers(&self) -> Self {
        let of_public = |(subject, by_role): (&Subject, &BTreeMap<String, Vec<Held>>)| {
            let held = by_role.get(PUBLIC)?;
            Some((*subject, BTreeMap::from([(PUBLIC.to_string(), held.clone())])))
        };
        Self {
            number: self.number,
            grants: self.grants.iter().filter_map(of_public).collect(),
            ..Self::default()
        }
    }

    /// Tells it from every other one.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// A role that was made.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.get(name)
    }

    /// The number of a role that was made.
    pub fn number_of(&self, name: &str) -> Option<ObjectId> {
        self.numbers.get(name).copied()
    }

    /// All roles that were made, by name.
    pub fn roles(&self) -> impl Iterator<Item = (&str, &Role)> {
        self.roles.iter().map(|(name, role)| (name.as_str(), role))
    }

    /// Whether a name is a role's, made or there from the beginning.
    pub fn is_role(&self, name: &str) -> bool {
        name == SUPERUSER || PREDEFINED.contains(&name) || self.roles.contains_key(name)
    }

    /// Whether a role may everything.
    pub fn is_superuser(&self, role: &str) -> bool {
        role == SUPERUSER || self.roles.get(role).is_some_and(|role| role.is_superuser)
    }

    /// Whether a role is another one, or in it.
    pub fn is_in(&self, role: &str, other: &str) -> bool {
        role == other || self.closures.get(role).is_some_and(|all| all.contains(other))
    }

    /// Whether a role may do what another one may.
    pub fn may_be(&self, role: &str, other: &str) -> bool {
        self.is_superuser(role) || self.is_in(role, other)
    }

    /// Whether a role may put others into a role.
    pub fn may_admit(&self, role: &str, to: &str) -> bool {
        let admits = |(name, one): (&String, &Role)| {
            self.is_in(role, name) && one.is_in.iter().any(|member| member.role == to && member.admin)
        };
        // Who makes a role becomes one who may.
        self.is_superuser(role) || !self.is_superuser(to) && self.roles.iter().any(admits)
    }

    /// Whose an object is.
    pub fn owner(&self, subject: Subject) -> &str {
        self.owners.get(&subject).map_or(SUPERUSER, String::as_str)
    }

    /// What belongs to a role.
    pub fn owned_by(&self, role: &str) -> Vec<Subject> {
        let mut all: Vec<Subject> =
            self.owners.iter().filter(|(_, owner)| *owner == role).map(|(subject, _)| *subject).collect();
        all.sort_unstable();
        all
    }

    /// Whether a role may do what the owner may.
    pub fn owns(&self, role: &str, subject: Subject) -> bool {
        self.is_superuser(role) || self.is_in(role, self.owner(subject))
    }

    /// What was granted on an object, by role.
    pub fn granted_on(&self, subject: Subject) -> Option<&BTreeMap<String, Vec<Held>>> {
        self.grants.get(&subject)
    }

    /// All that was granted.
    pub fn grants(&self) -> impl Iterator<Item = (Subject, &str, &[Held])> {
        self.grants.iter().flat_map(|(subject, by_role)| {
            by_role.iter().map(|(role, held)| (*subject, role.as_str(), held.as_slice()))
        })
    }

    /// What a role, itself, was granted on an object.
    pub fn held(&self, subject: Subject, role: &str) -> Vec<Held> {
        match self.grants.get(&subject).and_then(|by_role| by_role.get(role)) {
            Some(held) => held.clone(),
            None if role == PUBLIC => {
                subject.of_public().iter().map(|one| Held::plain(*one, SUPERUSER)).collect()
            }
            None => Vec::new(),
        }
    }

    /// Whether one of what a role was granted on an object, as itself or as another one, is as said.
    fn any_held(&self, role: &str, subject: Subject, is: impl Fn(&Held) -> bool) -> bool {
        let of_public = || self.held(subject, PUBLIC).iter().any(&is);
        let Some(by_role) = self.grants.get(&subject) else { return of_public() };
        by_role.iter().any(|(name, held)| self.is_in(role, name) && held.iter().any(&is)) || of_public()
    }

    /// Whether a role may do something with an object as a whole, or with a column of it.
    pub fn may(&self, role: &str, subject: Subject, privilege: Privilege, column: Option<&str>) -> bool {
        let column = column.map(str::to_lowercase);
        let covers = |held: &Held| held.column.is_none() || column.is_some() && held.column == column;
        self.owns(role, subject)
            || self.any_held(role, subject, |held| held.privilege == privilege && covers(held))
    }

    /// Whether a role may do something with an object or with any column of it.
    pub fn may_any(&self, role: &str, subject: Subject, privilege: Privilege) -> bool {
        self.owns(role, subject) || self.any_held(role, subject, |held| held.privilege == privilege)
    }

    /// Whether a role may do anything with an object.
    pub fn may_something(&self, role: &str, subject: Subject) -> bool {
        self.owns(role, subject) || self.any_held(role, subject, |_| true)
    }

    /// As whom a role may grant something: its owner, or a role that has it with the option to.
    pub fn grantor(
        &self,
        role: &str,
        subject: Subject,
        privilege: Privilege,
        column: Option<&str>,
    ) -> Option<String> {
        if self.owns(role, subject) {
            return Some(self.owner(subject).to_string());
        }
        let column = column.map(str::to_lowercase);
        let fits = |held: &Held| {
            held.privilege == privilege && held.option && (held.column.is_none() || held.column == column)
        };
        let by_role = self.grants.get(&subject)?;
        let found = by_role.iter().find(|(name, held)| self.is_in(role, name) && held.iter().any(fits));
        found.map(|(name, _)| name.clone())
    }

    /// Whether a role is in one of those that open a door.
    pub fn passes(&self, role: &str, door: &str) -> bool {
        self.may_be(role, door)
    }
}

/// The object that a definition is about, and the rest of its name.
fn subject_of(definition: &Definition) -> Result<(Subject, Option<String>)> {
    let (subject, role) = match definition.name.split_once('.') {
        Some((subject, role)) => (subject, Some(role.to_string())),
        None => (definition.name.as_str(), None),
    };
    let subject = Subject::read(subject).ok_or_else(|| damaged(definition))?;
    Ok((subject, role))
}

fn damaged(definition: &Definition) -> Error {
    Error::corrupt(format!("{} \"{}\"", definition.kind.name(), definition.name))
}

#[cfg(test)]
mod tests;
