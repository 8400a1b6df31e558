//! CREATE, ALTER and DROP of roles and tokens, GRANT and REVOKE, OWNER TO: names become what they mean. Whether who asks may do it is
//! decided where it is carried out, as all of it is about what is known of roles alone.

use super::Binder;
use super::object::PUBLIC;
use super::scope::same_name;
use crate::parser::ast::role::{Grant, GrantObject, RoleOptions, RoleStatement};
use crate::parser::ast::{Expr, ExprKind, Ident, ObjectName};
use crate::plan;
use crate::plan::object::ObjectStatement;
use crate::plan::role::{self as bound, RightsOf};
use inlay_catalog::rights::{PREDEFINED, PUBLIC as EVERYBODY, Privilege, SUPERUSER, SubjectKind};
use inlay_catalog::{CatalogEntry, DefinitionKind, MAIN, near_names, schema_of};
use inlay_types::{Error, LogicalType, Result, Value};

fn value(name: &Ident) -> String {
    name.value.clone()
}

fn values(names: &[Ident]) -> Vec<String> {
    names.iter().map(value).collect()
}

impl Binder<'_> {
    pub(super) fn role_statement(&mut self, statement: &RoleStatement) -> Result<plan::Statement> {
        let bound = self.bound_role(statement);
        match statement {
            // Where something is wrong would be shown with the line of the statement, and that with the password.
            RoleStatement::Create { .. } | RoleStatement::Alter { .. } => bound.map_err(Error::unplaced),
            RoleStatement::Rename { .. }
            | RoleStatement::Drop { .. }
            | RoleStatement::Grant(_)
            | RoleStatement::Members { .. }
            | RoleStatement::Owner { .. }
            | RoleStatement::SetRole { .. }
            | RoleStatement::Reassign { .. }
            | RoleStatement::DropOwned { .. }
            | RoleStatement::CreateToken { .. }
            | RoleStatement::DropToken { .. } => bound,
        }
    }

    fn bound_role(&mut self, statement: &RoleStatement) -> Result<plan::Statement> {
        use bound::RoleStatement as S;
        let database = self.current_database();
        let done = |statement| Ok(plan::Statement::Object(Box::new(ObjectStatement::Role(statement))));
        done(match statement {
            RoleStatement::Create { name, options, if_not_exists } => {
                self.check_new_role(name)?;
                let options = self.role_options(options, &database)?;
                S::Create { database, name: value(name), options, if_not_exists: *if_not_exists }
            }
            RoleStatement::Alter { name, options } => {
                self.known_role(name, &database, false)?;
                let options = self.role_options(options, &database)?;
                S::Alter { database, name: value(name), options }
            }
            RoleStatement::Rename { name, new_name } => {
                self.known_role(name, &database, false)?;
                self.check_new_role(new_name)?;
                S::Rename { database, name: value(name), new_name: value(new_name) }
            }
            RoleStatement::Drop { names, if_exists } => {
                if !if_exists {
                    names.iter().try_for_each(|name| self.known_role(name, &database, false))?;
                }
                S::Drop { database, names: values(names), if_exists: *if_exists }
            }
            RoleStatement::Grant(grant) => return self.grant(grant),
            RoleStatement::Members { roles, members, is_granted, admin } => {
                if let Some(notice) = self.of_no_role(members, &database) {
                    return self.notice(&notice);
                }
                roles.iter().chain(members).try_for_each(|name| self.known_role(name, &database, true))?;
                let (roles, members) = (values(roles), values(members));
                S::Members { database, roles, members, is_granted: *is_granted, admin: *admin }
            }
            RoleStatement::Owner { object, name, role } => return self.owner(*object, name, role),
            RoleStatement::SetRole { name } => S::SetRole(name.as_ref().map(value)),
            RoleStatement::Reassign { from, to } => {
                from.iter().chain([to]).try_for_each(|name| self.known_role(name, &database, true))?;
                S::Reassign { database, from: values(from), to: value(to) }
            }
            RoleStatement::DropOwned { of, cascade } => {
                of.iter().try_for_each(|name| self.known_role(name, &database, true))?;
                S::DropOwned { database, of: values(of), cascade: *cascade }
            }
            RoleStatement::CreateToken { name, role, until } => {
                self.known_role(role, &database, false)?;
                let until = until.as_ref().map(|until| self.moment(until)).transpose()?.flatten();
                S::CreateToken { database, name: value(name), role: value(role), until }
            }
            RoleStatement::DropToken { name, role, if_exists } => {
                self.known_role(role, &database, false)?;
                S::DropToken { database, name: value(name), role: value(role), if_exists: *if_exists }
            }
        })
    }

    fn role_options(&mut self, options: &RoleOptions, database: &str) -> Result<bound::RoleOptions> {
        let others = options.is_in.iter().chain(options.members.iter().map(|(name, _)| name));
        others.into_iter().try_for_each(|name| self.known_role(name, database, true))?;
        let connections = options.connections.map(|most| u32::try_from(most).ok());
        Ok(bound::RoleOptions {
            login: options.login,
            superuser: options.superuser,
            create_role: options.create_role,
            connections,
            password: options.password.clone(),
            until: options.until.as_ref().map(|until| self.moment(until)).transpose()?,
            is_in: values(&options.is_in),
            members: options.members.iter().map(|(name, admin)| (value(name), *admin)).collect(),
        })
    }

    /// A moment in microseconds; none for NULL and `infinity`.
    fn moment(&mut self, written: &Expr) -> Result<Option<i64>> {
        let given = self.constant(written, "VALID UNTIL")?;
        if given.is_null() || given.to_string().eq_ignore_ascii_case("infinity") {
            return Ok(None);
        }
        let kind = ExprKind::Cast {
            expr: Box::new(written.clone()),
            data_type: LogicalType::TimestampTz,
            try_cast: false,
        };
        match self.constant(&Expr { kind, pos: written.pos }, "VALID UNTIL")? {
            Value::TimestampTz(micros) => Ok(Some(micros)),
            _ => Ok(None),
        }
    }

    fn check_new_role(&self, name: &Ident) -> Result<()> {
        let is_taken = [SUPERUSER, EVERYBODY, "none"].contains(&name.value.as_str());
        if is_taken || PREDEFINED.contains(&name.value.as_str()) || name.value.starts_with("pg_") {
            let message = format!("the name \"{}\" of a role is reserved", name.value);
            return Err(self.at(Error::bind(message), name.pos));
        }
        Ok(())
    }

    fn role_names(&self, database: &str) -> Vec<String> {
        let roles = self.context.catalog.definitions(DefinitionKind::Role, database);
        roles.iter().map(|role| role.name.clone()).collect()
    }

    /// An error unless there is a role; `any` counts those that are there from the beginning, too.
    fn known_role(&self, name: &Ident, database: &str, any: bool) -> Result<()> {
        let value = name.value.as_str();
        let is_own = any && (value == SUPERUSER || value == EVERYBODY || PREDEFINED.contains(&value));
        let known = self.role_names(database);
        if is_own || known.iter().any(|role| role == value) {
            return Ok(());
        }
        let near = near_names(value, known.iter().map(String::as_str));
        let error = Error::bind(format!("role \"{value}\" does not exist"));
        let error = match near.is_empty() {
            true => error.with_hint("CREATE ROLE makes it"),
            false => error.with_hint(format!("did you mean {}?", near.join(" or "))),
        };
        Err(self.at(error, name.pos))
    }

    /// A notice where a database has no roles at all: dumps of other systems name theirs.
    fn of_no_role(&self, names: &[Ident], database: &str) -> Option<String> {
        let is_own = |name: &Ident| {
            [SUPERUSER, EVERYBODY].contains(&name.value.as_str()) || PREDEFINED.contains(&name.value.as_str())
        };
        let unknown = names.iter().find(|name| !is_own(name))?;
        let is_alone = self.role_names(database).is_empty();
        is_alone
            .then(|| format!("no effect: role \"{}\" does not exist, CREATE ROLE makes it", unknown.value))
    }

    fn owner(&mut self, object: GrantObject, name: &ObjectName, role: &Ident) -> Result<plan::Statement> {
        if object == GrantObject::Index {
            // It goes with its table.
            return Ok(plan::Statement::Nothing("ALTER"));
        }
        let database = self.database_for_object(object, name)?;
        let own = Ident { value: role.value.clone(), pos: role.pos };
        let is_said = !role.value.is_empty();
        if is_said && self.of_no_role(std::slice::from_ref(&own), &database).is_some() {
            return Ok(plan::Statement::Nothing("ALTER"));
        }
        if is_said {
            self.known_role(&own, &database, true)?;
        }
        let (database, object, _) = self.rights_of(object, name)?;
        let role = is_said.then(|| role.value.clone());
        let statement = bound::RoleStatement::Owner { database, object, role };
        Ok(plan::Statement::Object(Box::new(ObjectStatement::Role(statement))))
    }

    fn database_for_object(&self, object: GrantObject, name: &ObjectName) -> Result<String> {
        match object {
            GrantObject::Database => Ok(self.current_database()),
            GrantObject::Schema => match name.parts.as_slice() {
                [database, _] => self.known_database(database),
                _ => Ok(self.current_database()),
            },
            GrantObject::Table
            | GrantObject::Sequence
            | GrantObject::Function
            | GrantObject::Type
            | GrantObject::Index => Ok(self.database_for(name).unwrap_or_else(|_| self.current_database())),
        }
    }

    fn grant(&mut self, grant: &Grant) -> Result<plan::Statement> {
        let first = grant.names.first().ok_or_else(|| Error::internal("GRANT on nothing"))?;
        let database = self.database_for_object(grant.object, first)?;
        if let Some(notice) = self.of_no_role(&grant.roles, &database) {
            return self.notice(&notice);
        }
        grant.roles.iter().try_for_each(|name| self.known_role(name, &database, true))?;
        let mut objects = Vec::new();
        let mut kind = kind_of(grant.object);
        let mut home = database;
        for name in &grant.names {
            if grant.in_schemas {
                let (found, schema) = self.schema_named(name)?;
                objects.extend(self.all_in(grant.object, &found, &schema));
                home = found;
                continue;
            }
            let (found, object, own) = self.rights_of(grant.object, name)?;
            kind = own;
            if objects.is_empty() {
                home = found;
            } else if !same_name(&home, &found) {
                let message = format!("GRANT on objects of \"{home}\" and \"{found}\" at once");
                return Err(self.at(Error::unsupported(message), name.pos()));
            }
            objects.push(object);
        }
        let privileges = self.privileges(grant, kind, &home, &objects)?;
        let statement = bound::RoleStatement::Grant(Box::new(bound::Grant {
            database: home,
            is_granted: grant.is_granted,
            privileges,
            objects,
            roles: values(&grant.roles),
            option: grant.option,
            cascade: grant.cascade,
        }));
        Ok(plan::Statement::Object(Box::new(ObjectStatement::Role(statement))))
    }

    /// The privileges of a GRANT, each of which its objects know.
    fn privileges(
        &self,
        grant: &Grant,
        kind: SubjectKind,
        database: &str,
        objects: &[RightsOf],
    ) -> Result<Vec<(Privilege, Option<String>)>> {
        let mut all = Vec::new();
        for (privilege, columns, pos) in &grant.privileges {
            let known = if columns.is_empty() { kind.privileges() } else { kind.of_columns() };
            let meant = match privilege {
                None => known.to_vec(),
                Some(one) if known.contains(one) => vec![*one],
                Some(one) => {
                    let words: Vec<&str> = known.iter().map(|one| one.word()).collect();
                    let of = if columns.is_empty() { kind.name() } else { "column" };
                    let message = format!("{} cannot be granted on a {of}", one.word());
                    let hint = format!("there are {}", words.join(", "));
                    return Err(self.at(Error::bind(message).with_hint(hint), *pos));
                }
            };
            for column in columns {
                for object in objects {
                    self.check_column(database, object, column)?;
                }
            }
            let columns: Vec<Option<String>> = match columns.is_empty() {
                true => vec![None],
                false => columns.iter().map(|column| Some(column.value.to_lowercase())).collect(),
            };
            all.extend(meant.iter().flat_map(|one| columns.iter().map(|column| (*one, column.clone()))));
        }
        Ok(all)
    }

    fn check_column(&self, database: &str, object: &RightsOf, column: &Ident) -> Result<()> {
        let RightsOf::Relation(key) = object else { return Ok(()) };
        let Some((_, CatalogEntry::Table(entry))) = self.context.catalog.resolve(Some(database), key) else {
            return Ok(());
        };
        let name =
            ObjectName { parts: vec![Ident { value: key.clone(), pos: column.pos }], is_string: false };
        self.column_index(entry.table.schema(), column, &name).map(drop)
    }

    /// A schema and its database.
    fn schema_named(&self, name: &ObjectName) -> Result<(String, String)> {
        let (database, schema) = match name.parts.as_slice() {
            [schema] => (self.current_database(), schema),
            [database, schema] => (self.known_database(database)?, schema),
            _ => return Err(self.at(Error::bind(format!("{name} is no schema")), name.pos())),
        };
        if self.context.catalog.has_schema(&database, &schema.value) {
            return Ok((database, schema.value.clone()));
        }
        if same_name(&schema.value, PUBLIC) {
            return Ok((database, MAIN.to_string()));
        }
        let known = self.schema_names(&database);
        let near = near_names(&schema.value, known.iter().map(String::as_str));
        Err(self.at(Error::bind(super::object::undefined("schema", &schema.value, &near)), schema.pos))
    }

    /// All objects of a kind in a schema.
    fn all_in(&self, object: GrantObject, database: &str, schema: &str) -> Vec<RightsOf> {
        let catalog = self.context.catalog;
        let is_in = |key: &str| same_name(schema_of(key), schema);
        let relation = |key: &str| is_in(key).then(|| RightsOf::Relation(key.to_string()));
        match object {
            GrantObject::Sequence => {
                let all = catalog.sequences(database);
                all.iter().filter_map(|sequence| relation(&sequence.schema().name)).collect()
            }
            GrantObject::Function => {
                let all = catalog.definitions(DefinitionKind::Function, database);
                let own = all.iter().filter(|one| is_in(&one.name));
                own.map(|one| RightsOf::Definition(one.kind, one.name.clone())).collect()
            }
            GrantObject::Table
            | GrantObject::Schema
            | GrantObject::Database
            | GrantObject::Type
            | GrantObject::Index => catalog
                .entries(database)
                .iter()
                .filter_map(|(_, entry)| match entry {
                    CatalogEntry::Table(table) => relation(&table.name),
                    CatalogEntry::View(view) => relation(&view.name),
                    CatalogEntry::Registered(_) => None,
                })
                .collect(),
        }
    }

    /// What a name means, in which database.
    fn rights_of(&self, object: GrantObject, name: &ObjectName) -> Result<(String, RightsOf, SubjectKind)> {
        let definition = |kinds: &[DefinitionKind], what: &str| {
            let found = kinds.iter().find_map(|kind| {
                let found = self
                    .looked_up(name, |database, key| self.context.catalog.definition(*kind, database, key));
                found.transpose().map(|found| found.map(|found| (*kind, found)))
            });
            match found.transpose()? {
                Some((kind, (database, found))) => {
                    Ok((database, RightsOf::Definition(kind, found.name.clone())))
                }
                None => {
                    Err(self
                        .at(Error::bind(super::object::undefined(what, &name.to_string(), &[])), name.pos()))
                }
            }
        };
        Ok(match object {
            GrantObject::Database => {
                let only = name.parts.last().ok_or_else(|| Error::internal("a name without parts"))?;
                (self.known_database(only)?, RightsOf::Database, SubjectKind::Database)
            }
            GrantObject::Schema => {
                let (database, schema) = self.schema_named(name)?;
                let object = match same_name(&schema, MAIN) {
                    true => RightsOf::Main,
                    false => RightsOf::Definition(DefinitionKind::Schema, schema),
                };
                (database, object, SubjectKind::Schema)
            }
            GrantObject::Function => {
                let kinds = [DefinitionKind::Function, DefinitionKind::Macro, DefinitionKind::TableMacro];
                let (database, object) = definition(&kinds, "function")?;
                (database, object, SubjectKind::Function)
            }
            GrantObject::Type => {
                let (database, object) = definition(&[DefinitionKind::Type], "type")?;
                (database, object, SubjectKind::Other)
            }
            GrantObject::Sequence => {
                let (database, sequence) = self.sequence(name)?;
                (database, RightsOf::Relation(sequence.schema().name), SubjectKind::Sequence)
            }
            GrantObject::Table | GrantObject::Index => self.relation_rights(name)?,
        })
    }

    /// A table, view or sequence: PostgreSQL's GRANT ON TABLE takes any of them.
    fn relation_rights(&self, name: &ObjectName) -> Result<(String, RightsOf, SubjectKind)> {
        let found = self.object(name)?;
        if found.is_none()
            && let Ok((database, sequence)) = self.sequence(name)
        {
            return Ok((database, RightsOf::Relation(sequence.schema().name), SubjectKind::Sequence));
        }
        let relation =
            |database, key: &str| Ok((database, RightsOf::Relation(key.into()), SubjectKind::Table));
        match found {
            Some((database, CatalogEntry::Table(entry))) => relation(database, &entry.name),
            Some((database, CatalogEntry::View(view))) => relation(database, &view.name),
            Some((_, CatalogEntry::Registered(_))) => {
                let message = format!("\"{name}\" is the host's, and nothing is granted on it");
                Err(self.at(Error::bind(message), name.pos()))
            }
            None => Err(self.at(self.undefined_object(name), name.pos())),
        }
    }
}

fn kind_of(object: GrantObject) -> SubjectKind {
    match object {
        GrantObject::Table | GrantObject::Index => SubjectKind::Table,
        GrantObject::Sequence => SubjectKind::Sequence,
        GrantObject::Schema => SubjectKind::Schema,
        GrantObject::Database => SubjectKind::Database,
        GrantObject::Function => SubjectKind::Function,
        GrantObject::Type => SubjectKind::Other,
    }
}
