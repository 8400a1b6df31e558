//! Roles, owners and rights of a database as statements: what EXPORT DATABASE, COPY FROM DATABASE and a dump write behind all else. Passwords and
//! tokens are not in them.

use super::text::{self, quoted};
use inlay_catalog::rights::{Held, PUBLIC, Rights, SUPERUSER, Subject};
use inlay_storage::store::{DefinitionKind, Object, State};
use inlay_types::Result;
use std::fmt::Write;

fn role(name: &str) -> String {
    if name == PUBLIC { "PUBLIC".to_string() } else { quoted(name) }
}

/// What makes the roles of a state, and gives them what they have.
pub(super) fn statements(state: &State) -> Result<Vec<String>> {
    let rights = Rights::of(state)?;
    let mut all = Vec::new();
    for (name, role) in rights.roles() {
        let mut sql = format!("CREATE ROLE IF NOT EXISTS {}", quoted(name));
        sql.push_str(if role.logs_in { " LOGIN" } else { "" });
        sql.push_str(if role.is_superuser { " SUPERUSER" } else { "" });
        sql.push_str(if role.creates_roles { " CREATEROLE" } else { "" });
        if let Some(most) = role.connections {
            let _ = write!(sql, " CONNECTION LIMIT {most}");
        }
        if let Some(until) = role.until {
            let _ = write!(sql, " VALID UNTIL make_timestamptz({until})");
        }
        all.push(sql);
    }
    for (name, one) in rights.roles() {
        all.extend(one.is_in.iter().map(|member| {
            let admin = if member.admin { " WITH ADMIN OPTION" } else { "" };
            format!("GRANT {} TO {}{admin}", quoted(&member.role), quoted(name))
        }));
    }
    let mut subjects: Vec<Subject> = rights.grants().map(|(subject, _, _)| subject).collect();
    let names: Vec<&str> = rights.roles().map(|(name, _)| name).collect();
    subjects.extend(names.iter().flat_map(|name| rights.owned_by(name)));
    subjects.sort_unstable();
    subjects.dedup();
    for subject in subjects {
        let Some((kind, name)) = named(state, subject) else { continue };
        let owner = rights.owner(subject);
        if owner != SUPERUSER {
            all.push(format!("ALTER {kind} {name} OWNER TO {}", quoted(owner)));
        }
        let on = if matches!(kind, "TABLE" | "VIEW" | "MATERIALIZED VIEW") {
            name
        } else {
            format!("{kind} {name}")
        };
        if matches!(kind, "TYPE") {
            continue;
        }
        for (grantee, held) in rights.granted_on(subject).into_iter().flatten() {
            if grantee == PUBLIC && subject.object().is_none() {
                all.push(format!("REVOKE ALL ON {on} FROM PUBLIC"));
            }
            all.extend(held.iter().map(|held| grant(held, &on, grantee)));
        }
    }
    Ok(all)
}

fn grant(held: &Held, on: &str, grantee: &str) -> String {
    let column = held.column.as_ref().map_or_else(String::new, |column| format!(" ({})", quoted(column)));
    let option = if held.option { " WITH GRANT OPTION" } else { "" };
    format!("GRANT {}{column} ON {on} TO {}{option}", held.privilege.word(), role(grantee))
}

/// How SQL calls an object, and its kind; none for what goes with another one, and for the database, whose name is its file's.
fn named(state: &State, subject: Subject) -> Option<(&'static str, String)> {
    let id = match subject {
        Subject::Database => return None,
        Subject::Main => return Some(("SCHEMA", "main".to_string())),
        Subject::Object(id) => id,
    };
    let object = state.object(id)?;
    let kind = match object {
        Object::Table(_) if state.definition(DefinitionKind::MaterializedView, object.name()).is_some() => {
            "MATERIALIZED VIEW"
        }
        Object::Table(_) => "TABLE",
        Object::View(_) => "VIEW",
        Object::Sequence(_) if object.belongs_to().is_none() => "SEQUENCE",
        Object::Sequence(_) | Object::Index(_) => return None,
        Object::Definition(definition) => match definition.kind {
            DefinitionKind::Schema => "SCHEMA",
            DefinitionKind::Macro | DefinitionKind::TableMacro | DefinitionKind::Function => "FUNCTION",
            DefinitionKind::Type => "TYPE",
            DefinitionKind::MaterializedView
            | DefinitionKind::Comment
            | DefinitionKind::Role
            | DefinitionKind::Grant
            | DefinitionKind::Owner
            | DefinitionKind::Trigger => return None,
        },
    };
    Some((kind, text::name(object.name())))
}
