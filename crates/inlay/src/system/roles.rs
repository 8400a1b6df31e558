//! Roles, who is in which, and what each may: `pg_roles`, `information_schema.table_privileges` and `has_table_privilege` read these.

use super::gather::{Gather, Seen, optional, small, text};
use super::system_table;
use inlay_catalog::rights::{Held, PREDEFINED, PUBLIC, Privilege, Rights, SUPERUSER, Subject, SubjectKind};
use inlay_catalog::{DefinitionKind, MAIN, bare_name, schema_of};
use inlay_storage::store::Object;
use inlay_types::Value;
use std::sync::Arc;

/// PostgreSQL's number of who made the database, and where those of predefined roles begin.
const SUPERUSER_OID: i64 = 10;
const PREDEFINED_OID: i64 = 4_500;

system_table! {
    RoleRow = "roles" by roles {
        role_name: Text,
        role_oid: Big,
        superuser: Truth,
        create_role: Truth,
        login: Truth,
        connection_limit: Small,
        valid_until: Big,
        has_password: Truth,
        token_count: Small,
        internal: Truth,
    }
}

fn rights_of(gather: &Gather<'_>, seen: &Seen) -> Option<Arc<Rights>> {
    gather.names.noted(gather.names.database.rights_of(&seen.state))
}

/// The databases that have roles of their own, with them.
fn all(gather: &Gather<'_>) -> Vec<(Seen, Arc<Rights>)> {
    let seen = gather.databases().into_iter().filter(|seen| !seen.is_temporary());
    seen.filter_map(|seen| rights_of(gather, &seen).map(|rights| (seen, rights))).collect()
}

/// The current database and its roles: those of other ones are others'.
fn current(gather: &Gather<'_>) -> Option<(Seen, Arc<Rights>)> {
    let name = &gather.names.database.main().name;
    all(gather).into_iter().find(|(seen, _)| seen.name == *name)
}

fn oid_of(seen: &Seen, name: &str) -> i64 {
    if name == SUPERUSER {
        return SUPERUSER_OID;
    }
    if let Some(place) = PREDEFINED.iter().position(|known| *known == name) {
        return PREDEFINED_OID + place as i64;
    }
    seen.state.definition(DefinitionKind::Role, name).map_or(0, |role| seen.object_oid(role.id))
}

fn roles(gather: &Gather<'_>) -> Vec<RoleRow> {
    let Some((seen, rights)) = current(gather) else { return Vec::new() };
    let own = |name: &str, superuser: bool| RoleRow {
        role_name: text(name),
        role_oid: Value::BigInt(oid_of(&seen, name)),
        superuser: Value::Boolean(superuser),
        create_role: Value::Boolean(superuser),
        login: Value::Boolean(superuser),
        connection_limit: Value::Integer(-1),
        valid_until: Value::Null,
        has_password: Value::Boolean(false),
        token_count: Value::Integer(0),
        internal: Value::Boolean(true),
    };
    let mut rows = vec![own(SUPERUSER, true)];
    rows.extend(rights.roles().map(|(name, role)| RoleRow {
        role_name: text(name),
        role_oid: Value::BigInt(oid_of(&seen, name)),
        superuser: Value::Boolean(role.is_superuser),
        create_role: Value::Boolean(role.creates_roles || role.is_superuser),
        login: Value::Boolean(role.logs_in),
        connection_limit: role.connections.map_or(Value::Integer(-1), small),
        valid_until: role.until.map_or(Value::Null, Value::BigInt),
        has_password: Value::Boolean(role.verifier.is_some()),
        token_count: small(role.tokens.len()),
        internal: Value::Boolean(false),
    }));
    rows.extend(PREDEFINED.iter().map(|name| own(name, false)));
    rows
}

system_table! {
    MemberRow = "role_members" by members {
        role_name: Text,
        role_oid: Big,
        member_name: Text,
        member_oid: Big,
        grantor_name: Text,
        grantor_oid: Big,
        admin: Truth,
    }
}

fn members(gather: &Gather<'_>) -> Vec<MemberRow> {
    let Some((seen, rights)) = current(gather) else { return Vec::new() };
    let mut rows = Vec::new();
    for (name, role) in rights.roles() {
        rows.extend(role.is_in.iter().map(|member| MemberRow {
            role_name: text(&member.role),
            role_oid: Value::BigInt(oid_of(&seen, &member.role)),
            member_name: text(name),
            member_oid: Value::BigInt(oid_of(&seen, name)),
            grantor_name: text(&member.grantor),
            grantor_oid: Value::BigInt(oid_of(&seen, &member.grantor)),
            admin: Value::Boolean(member.admin),
        }));
    }
    rows
}

system_table! {
    ClosureRow = "role_closure" by closure {
        role_name: Text,
        is_in: Text,
    }
}

/// Each role with all that it is in, itself and what everybody is in among them.
fn closure(gather: &Gather<'_>) -> Vec<ClosureRow> {
    let Some((_, rights)) = current(gather) else { return Vec::new() };
    let names: Vec<String> = rights
        .roles()
        .map(|(name, _)| name.to_string())
        .chain(PREDEFINED.iter().map(|name| (*name).to_string()))
        .chain([SUPERUSER.to_string()])
        .collect();
    let mut rows = Vec::new();
    for name in &names {
        let within = names.iter().filter(|other| rights.is_in(name, other)).map(String::as_str);
        rows.extend(
            within.chain([PUBLIC]).map(|other| ClosureRow { role_name: text(name), is_in: text(other) }),
        );
    }
    rows
}

system_table! {
    PrivilegeRow = "privileges" by privileges {
        database_name: Text,
        schema_name: Text,
        object_name: Text,
        object_oid: Big,
        object_type: Text,
        column_name: Text,
        grantee: Text,
        grantor: Text,
        privilege_type: Text,
        is_grantable: Truth,
    }
}

/// What a right may be about: its kind, schema, name and number.
struct Thing {
    subject: Subject,
    kind: SubjectKind,
    shown: &'static str,
    schema: Option<String>,
    name: String,
    oid: i64,
}

fn things(seen: &Seen) -> Vec<Thing> {
    let mut all = vec![
        Thing {
            subject: Subject::Database,
            kind: SubjectKind::Database,
            shown: "database",
            schema: None,
            name: seen.name.clone(),
            oid: seen.number,
        },
        Thing {
            subject: Subject::Main,
            kind: SubjectKind::Schema,
            shown: "schema",
            schema: None,
            name: MAIN.to_string(),
            oid: seen.schema_oid(MAIN),
        },
    ];
    for object in seen.objects() {
        let (kind, shown) = match object {
            Object::Table(_) => (SubjectKind::Table, "table"),
            Object::View(_) => (SubjectKind::Table, "view"),
            Object::Sequence(_) => (SubjectKind::Sequence, "sequence"),
            Object::Definition(definition) if definition.kind == DefinitionKind::Schema => {
                (SubjectKind::Schema, "schema")
            }
            Object::Definition(definition) if definition.kind == DefinitionKind::Function => {
                (SubjectKind::Function, "function")
            }
            Object::Index(_) | Object::Definition(_) => continue,
        };
        let is_schema = kind == SubjectKind::Schema;
        all.push(Thing {
            subject: Subject::Object(object.id()),
            kind,
            shown,
            schema: (!is_schema).then(|| schema_of(object.name()).to_string()),
            name: if is_schema { object.name().to_string() } else { bare_name(object.name()).to_string() },
            oid: seen.object_oid(object.id()),
        });
    }
    all
}

fn privileges(gather: &Gather<'_>) -> Vec<PrivilegeRow> {
    let mut rows = Vec::new();
    for (seen, rights) in all(gather) {
        for thing in things(&seen) {
            let owner = rights.owner(thing.subject).to_string();
            let row =
                |privilege: Privilege, column: Option<String>, grantee: &str, grantor: &str, option: bool| {
                    PrivilegeRow {
                        database_name: text(&seen.name),
                        schema_name: optional(thing.schema.clone()),
                        object_name: text(&thing.name),
                        object_oid: Value::BigInt(thing.oid),
                        object_type: text(thing.shown),
                        column_name: optional(column),
                        grantee: text(grantee),
                        grantor: text(grantor),
                        privilege_type: text(privilege.word()),
                        is_grantable: Value::Boolean(option),
                    }
                };
            // An owner may everything without having been told.
            rows.extend(thing.kind.privileges().iter().map(|one| row(*one, None, &owner, &owner, true)));
            let mut held: Vec<(String, Held)> = Vec::new();
            for (role, all) in rights.granted_on(thing.subject).into_iter().flatten() {
                held.extend(all.iter().map(|one| (role.clone(), one.clone())));
            }
            if rights.granted_on(thing.subject).is_none_or(|by_role| !by_role.contains_key(PUBLIC)) {
                let of_public = rights.held(thing.subject, PUBLIC);
                held.extend(of_public.into_iter().map(|one| (PUBLIC.to_string(), one)));
            }
            rows.extend(
                held.into_iter().map(|(role, one)| {
                    row(one.privilege, one.column.clone(), &role, &one.grantor, one.option)
                }),
            );
        }
    }
    rows
}

/// Views over these tables: schema, name, text.
pub(super) const VIEWS: &[(&str, &str, &str)] = &[
    (
        "pg_catalog",
        "pg_roles",
        "SELECT role_oid AS oid, role_name AS rolname, superuser AS rolsuper, true AS rolinherit, create_role AS rolcreaterole,
                superuser AS rolcreatedb, login AS rolcanlogin, connection_limit AS rolconnlimit,
                to_timestamp(valid_until / 1000000.0) AS rolvaliduntil, false AS rolreplication, superuser AS rolbypassrls,
                '********' AS rolpassword, CAST(NULL AS VARCHAR[]) AS rolconfig FROM inlay_roles()",
    ),
    (
        "pg_catalog",
        "pg_user",
        "SELECT role_name AS usename, role_oid AS usesysid, superuser AS usecreatedb, superuser AS usesuper, false AS userepl,
                superuser AS usebypassrls, '********' AS passwd, to_timestamp(valid_until / 1000000.0) AS valuntil,
                CAST(NULL AS VARCHAR[]) AS useconfig FROM inlay_roles() WHERE login",
    ),
    (
        "pg_catalog",
        "pg_group",
        "SELECT role_name AS groname, role_oid AS grosysid,
                (SELECT list(m.member_oid) FROM inlay_role_members() m WHERE m.role_oid = r.role_oid) AS grolist
         FROM inlay_roles() r WHERE NOT login",
    ),
    (
        "pg_catalog",
        "pg_auth_members",
        "SELECT role_oid AS roleid, member_oid AS member, grantor_oid AS grantor, admin AS admin_option FROM inlay_role_members()",
    ),
    (
        "information_schema",
        "table_privileges",
        "SELECT grantor, grantee, database_name AS table_catalog, schema_name AS table_schema, object_name AS table_name,
                privilege_type, CASE WHEN is_grantable THEN 'YES' ELSE 'NO' END AS is_grantable,
                CASE privilege_type WHEN 'SELECT' THEN 'YES' ELSE 'NO' END AS with_hierarchy
         FROM inlay_privileges() WHERE object_type IN ('table', 'view') AND column_name IS NULL",
    ),
    (
        "information_schema",
        "role_table_grants",
        "SELECT t.* FROM information_schema.table_privileges t
         WHERE t.grantee IN (SELECT role_name FROM information_schema.enabled_roles)
            OR t.grantor IN (SELECT role_name FROM information_schema.enabled_roles)",
    ),
    (
        "information_schema",
        "column_privileges",
        "SELECT p.grantor, p.grantee, p.database_name AS table_catalog, p.schema_name AS table_schema, p.object_name AS table_name,
                c.column_name, p.privilege_type, CASE WHEN p.is_grantable THEN 'YES' ELSE 'NO' END AS is_grantable
         FROM inlay_privileges() p JOIN inlay_columns() c ON c.table_oid = p.object_oid
              AND (p.column_name IS NULL OR p.column_name = lower(c.column_name))
         WHERE p.object_type IN ('table', 'view') AND p.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')",
    ),
    (
        "information_schema",
        "usage_privileges",
        "SELECT grantor, grantee, database_name AS object_catalog, schema_name AS object_schema, object_name,
                upper(object_type) AS object_type, privilege_type, CASE WHEN is_grantable THEN 'YES' ELSE 'NO' END AS is_grantable
         FROM inlay_privileges() WHERE object_type = 'sequence' AND privilege_type = 'USAGE'",
    ),
    (
        "information_schema",
        "applicable_roles",
        "SELECT m.member_name AS grantee, m.role_name, CASE WHEN m.admin THEN 'YES' ELSE 'NO' END AS is_grantable
         FROM inlay_role_members() m JOIN inlay_role_closure() c ON c.is_in = m.member_name
         WHERE c.role_name = current_user",
    ),
    (
        "information_schema",
        "enabled_roles",
        "SELECT DISTINCT r.role_name FROM inlay_roles() r
         WHERE (SELECT bool_or(u.superuser) FROM inlay_roles() u WHERE u.role_name = current_user)
            OR r.role_name IN (SELECT c.is_in FROM inlay_role_closure() c WHERE c.role_name = current_user)",
    ),
];

/// Macros over these tables. A user, an object is given by name or number.
pub(super) const MACROS: &[(&str, &str)] = &[
    (
        "pg_get_userbyid",
        "(oid) AS coalesce((SELECT min(r.role_name) FROM inlay_roles() r WHERE r.role_oid = oid), 'unknown (OID=' || oid || ')')",
    ),
    (
        "inlay_has_role",
        "(u, r) AS (SELECT coalesce(bool_or(o.superuser OR o.role_name = lower(r::VARCHAR)), false) FROM inlay_roles() o
                    WHERE lower(u::VARCHAR) IN (o.role_name, o.role_oid::VARCHAR))
            OR EXISTS (SELECT 1 FROM inlay_role_closure() c WHERE c.role_name = lower(u::VARCHAR) AND c.is_in = lower(r::VARCHAR))",
    ),
    ("pg_has_role", "(r, p) AS inlay_has_role(current_user, r), (u, r, p) AS inlay_has_role(u, r)"),
    (
        "inlay_has_privilege",
        "(u, kinds, object, col, p) AS (SELECT coalesce(bool_or(o.superuser), false) FROM inlay_roles() o
                    WHERE lower(u::VARCHAR) IN (o.role_name, o.role_oid::VARCHAR))
            OR EXISTS (SELECT 1 FROM inlay_privileges() g
                       WHERE list_contains(kinds, g.object_type)
                         AND (g.grantee = 'public' OR g.grantee IN (SELECT c.is_in FROM inlay_role_closure() c
                              JOIN inlay_roles() o ON o.role_name = c.role_name
                              WHERE lower(u::VARCHAR) IN (o.role_name, o.role_oid::VARCHAR)))
                         AND lower(replace(object::VARCHAR, '\"', '')) IN (lower(g.object_name), g.object_oid::VARCHAR,
                              lower(g.schema_name || '.' || g.object_name),
                              lower(replace(g.schema_name, 'main', 'public') || '.' || g.object_name),
                              lower(g.database_name || '.' || g.schema_name || '.' || g.object_name),
                              CASE g.object_name WHEN 'main' THEN 'public' END)
                         AND (g.column_name IS NULL OR col = '*' OR g.column_name = lower(col))
                         AND list_contains(list_transform(string_split(upper(p), ','), x -> trim(replace(x, ' WITH GRANT OPTION', ''))),
                                           g.privilege_type)
                         AND (g.is_grantable OR NOT upper(p) LIKE '%WITH GRANT OPTION%'))",
    ),
    (
        "has_table_privilege",
        "(t, p) AS inlay_has_privilege(current_user, ['table', 'view', 'sequence'], t, '', p),
         (u, t, p) AS inlay_has_privilege(u, ['table', 'view', 'sequence'], t, '', p)",
    ),
    (
        "has_any_column_privilege",
        "(t, p) AS inlay_has_privilege(current_user, ['table', 'view'], t, '*', p),
         (u, t, p) AS inlay_has_privilege(u, ['table', 'view'], t, '*', p)",
    ),
    (
        "has_column_privilege",
        "(t, c, p) AS inlay_has_privilege(current_user, ['table', 'view'], t, c, p),
         (u, t, c, p) AS inlay_has_privilege(u, ['table', 'view'], t, c, p)",
    ),
    (
        "has_schema_privilege",
        "(s, p) AS inlay_has_privilege(current_user, ['schema'], s, '', p) OR lower(s::VARCHAR) IN ('pg_catalog', 'information_schema', '11', '13000'),
         (u, s, p) AS inlay_has_privilege(u, ['schema'], s, '', p) OR lower(s::VARCHAR) IN ('pg_catalog', 'information_schema', '11', '13000')",
    ),
    (
        "has_database_privilege",
        "(d, p) AS inlay_has_privilege(current_user, ['database'], d, '', replace(replace(upper(p), 'TEMPORARY', 'TEMP'), 'TEMP', 'TEMPORARY')),
         (u, d, p) AS inlay_has_privilege(u, ['database'], d, '', replace(replace(upper(p), 'TEMPORARY', 'TEMP'), 'TEMP', 'TEMPORARY'))",
    ),
    (
        "has_sequence_privilege",
        "(s, p) AS inlay_has_privilege(current_user, ['sequence'], s, '', p), (u, s, p) AS inlay_has_privilege(u, ['sequence'], s, '', p)",
    ),
    (
        "has_function_privilege",
        "(f, p) AS NOT EXISTS (SELECT 1 FROM inlay_privileges() g WHERE g.object_type = 'function' AND lower(g.object_name) = lower(split_part(f::VARCHAR, '(', 1)))
            OR inlay_has_privilege(current_user, ['function'], split_part(f::VARCHAR, '(', 1), '', p),
         (u, f, p) AS NOT EXISTS (SELECT 1 FROM inlay_privileges() g WHERE g.object_type = 'function' AND lower(g.object_name) = lower(split_part(f::VARCHAR, '(', 1)))
            OR inlay_has_privilege(u, ['function'], split_part(f::VARCHAR, '(', 1), '', p)",
    ),
];
