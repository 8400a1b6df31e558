//! Macros: a call is bound as what the macro stands for.
//!
//! Nothing is substituted in a tree: while a body is bound, the names of its parameters mean the arguments, which are
//! bound anew at each use, in the scope of the call. So an argument never means a column of the macro's own subqueries,
//! whatever its name, and an aggregate of the body may aggregate it.
//!
//! A macro may call others but not itself: bodies are followed outwards from the one being bound, arguments are not.

use super::object::Home;
use super::scope::{Phase, Scope, same_name};
use super::subquery::{Pending, attach};
use super::{Binder, Bound, Shared};
use crate::parser::ast::object::{MacroBody, MacroOverload};
use crate::parser::ast::{self, FrameBound, FunctionCall, Ident, Literal, Pos, WindowCall, WindowSpec};
use crate::parser::parse_macro;
use crate::plan::{ColumnId, Expr, Plan, SharedId};
use inlay_catalog::{Definition, DefinitionKind, MAIN, SYSTEM, TEMPORARY, bare_name, qualified};
use inlay_functions::registry::scalar_exists;
use inlay_types::{Error, LogicalType, Result};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Expansions in one statement; more means macros that call each other twice at each of many levels.
const EXPANSIONS_MAX: usize = 20_000;
/// Expansions when a macro is made: the macros that it calls were looked at when they were made.
const CHECK_EXPANSIONS_MAX: usize = 500;
/// Deepest nesting of calls in bodies.
const DEPTH_MAX: usize = 200;

/// Macros while they are bound.
#[derive(Default)]
pub(super) struct Macros {
    frames: Vec<Frame>,
    /// The frame whose body is being bound; `None` outside of macros and inside of arguments of the outermost call.
    active: Option<usize>,
    /// Ranges of scopes that an argument does not see: those of the body around it.
    hidden: Vec<(usize, usize)>,
    expansions: usize,
    /// Texts already read, by database and name.
    read: HashMap<(String, String), Rc<MacroText>>,
}

/// The text of a macro, and what it says.
struct MacroText {
    sql: Arc<str>,
    overloads: Vec<Rc<MacroOverload>>,
}

impl Macros {
    /// Whether the body of a macro is being bound.
    pub(super) fn is_active(&self) -> bool {
        self.active.is_some()
    }

    /// The frame whose body is being bound.
    pub(super) fn active(&self) -> Option<usize> {
        self.active
    }

    /// Whether an argument being bound does not see a scope.
    pub(super) fn hides(&self, scope: usize) -> bool {
        self.hidden.iter().any(|(from, to)| (*from..*to).contains(&scope))
    }
}

/// A macro whose body is being bound.
struct Frame {
    /// Database and name, to find recursion.
    macro_id: (String, String),
    parameters: Arguments,
    /// Where the call stands: its frame, scopes, text and home.
    caller: Option<usize>,
    scope_count: usize,
    is_table: bool,
    /// What stands behind each aggregate function of the body; whether there is one.
    over: Option<Rc<WindowSpec>>,
    is_windowed: bool,
    sql: Arc<str>,
    home: Option<Home>,
    /// The text of the macro, and where its names are looked up.
    own_sql: Arc<str>,
    own_home: Home,
}

/// The parameters of a macro, and what a call gives for each.
type Arguments = Vec<(String, Argument)>;

#[derive(Clone)]
struct Argument {
    expr: Rc<ast::Expr>,
    /// The macro's default, not what a caller wrote.
    is_default: bool,
    ty: Option<LogicalType>,
    /// The body reads it several times, perhaps.
    is_read_often: bool,
    /// What it was computed as, because each evaluation differs.
    computed: Option<Computed>,
}

/// An argument that is computed once.
#[derive(Clone)]
enum Computed {
    /// A value that the query has in which the call stands.
    Value(Expr),
    /// A shared plan of one row, since a table macro sees no query.
    Shared(SharedId, ColumnId),
}

impl Binder<'_> {
    /// The value of a call, if it is one of a macro.
    pub(super) fn macro_call(&mut self, call: &FunctionCall, pos: Pos) -> Result<Option<Expr>> {
        let over = self.active_frame().and_then(|frame| frame.over.clone());
        self.expanded(call, over.as_deref(), pos).map(|found| found.map(|(value, _)| value))
    }

    /// The value of a call with OVER, if it is one of a macro: that of its body, in which OVER stands behind each aggregate function.
    pub(super) fn macro_over(&mut self, call: &WindowCall, pos: Pos) -> Result<Option<Expr>> {
        let name = &call.call.name.value;
        let Some((value, is_windowed)) = self.expanded(&call.call, Some(&call.over), pos)? else {
            return Ok(None);
        };
        if !is_windowed {
            let message = format!("macro {name} has no aggregate function: OVER does not go with it");
            return Err(self.at(Error::bind(message), pos));
        }
        Ok(Some(value))
    }

    /// The window that an aggregate function of the macro's body is of that is being bound.
    pub(super) fn over_of_macro(&mut self) -> Option<Rc<WindowSpec>> {
        let frame = self.macros.active.and_then(|active| self.macros.frames.get_mut(active))?;
        frame.is_windowed |= frame.over.is_some();
        frame.over.clone()
    }

    fn active_frame(&self) -> Option<&Frame> {
        self.macros.active.and_then(|active| self.macros.frames.get(active))
    }

    /// The value of a call, if it is one of a macro; and whether aggregate functions in the body have got `over`.
    fn expanded(
        &mut self,
        call: &FunctionCall,
        over: Option<&WindowSpec>,
        pos: Pos,
    ) -> Result<Option<(Expr, bool)>> {
        let qualified = self.qualified_macro(DefinitionKind::Macro, call);
        let (call, found) = match &qualified {
            Some((call, found)) => (call, Some(found.clone())),
            None => (call, self.macro_named(DefinitionKind::Macro, vec![call.name.clone()])),
        };
        let Some((database, definition)) = found else { return Ok(None) };
        if call.star || call.distinct || call.filter.is_some() || !call.order_by.is_empty() {
            let message =
                format!("{} is a macro: *, DISTINCT, FILTER and ORDER BY do not go with it", call.name.value);
            return Err(self.at(Error::bind(message), pos));
        }
        let overload = self.enter_macro(&database, &definition, call, pos)?;
        if let (Some(over), Some(frame)) = (over, self.macros.frames.last_mut()) {
            frame.over = Some(Rc::new(with_parameters(over, &mut frame.parameters)));
        }
        let bound = match &overload.body {
            MacroBody::Expression(body) => self.expr(body),
            MacroBody::Table(_) => Err(Error::internal("a scalar macro that is a query")),
        };
        let is_windowed = self.active_frame().is_some_and(|frame| frame.is_windowed);
        self.leave_macro();
        if let Some(frame) = self.macros.active.and_then(|active| self.macros.frames.get_mut(active)) {
            frame.is_windowed |= is_windowed;
        }
        Ok(Some((self.placed(bound, pos)?, is_windowed)))
    }

    /// The rows of a call in FROM, if it is one of a table macro. It sees neither the scopes nor the CTEs around it.
    pub(super) fn table_macro_call(&mut self, call: &FunctionCall, pos: Pos) -> Result<Option<Bound>> {
        let qualified = self.qualified_macro(DefinitionKind::TableMacro, call);
        let (call, found) = match &qualified {
            Some((call, found)) => (call, Some(found.clone())),
            None if receiver(call).is_some() => (call, None),
            None => (call, self.macro_named(DefinitionKind::TableMacro, vec![call.name.clone()])),
        };
        let Some((database, definition)) = found else { return Ok(None) };
        let overload = self.enter_macro(&database, &definition, call, pos);
        let overload = self.placed(overload, pos)?;
        let arguments = self.arguments_of_rows();
        if let Some(frame) = self.macros.frames.last_mut() {
            frame.scope_count = 0;
        }
        let scopes = std::mem::take(&mut self.scopes);
        let ctes = std::mem::take(&mut self.ctes);
        let frames = std::mem::take(&mut self.aggregate_frames);
        let bound = match (&overload.body, arguments) {
            (_, Err(error)) => Err(error),
            (MacroBody::Table(query), Ok(())) => self.query(query),
            (MacroBody::Expression(_), Ok(())) => Err(Error::internal("a table macro that is an expression")),
        };
        self.leave_macro();
        self.scopes = scopes;
        self.ctes = ctes;
        self.aggregate_frames = frames;
        self.placed(bound, pos).map(Some)
    }

    /// Binds arguments that read columns of what stands in front of a table macro, which its body does not see. Others are bound where
    /// they are read, as some of them have to be constants there.
    fn arguments_of_rows(&mut self) -> Result<()> {
        let Some(active) = self.macros.active else { return Ok(()) };
        let Some(frame) = self.macros.frames.get(active) else { return Ok(()) };
        let arguments: Vec<Argument> =
            frame.parameters.iter().map(|(_, argument)| argument.clone()).collect();
        for (index, argument) in arguments.into_iter().enumerate() {
            if argument.is_default || !super::from::reads_columns([&*argument.expr]) {
                continue;
            }
            let bound =
                self.in_call_of(active, |binder| binder.isolated(|binder| binder.expr(&argument.expr)));
            // What goes wrong here does so again where the argument is read, and is told there.
            let Ok((value, pending)) = bound else { continue };
            if value.columns().is_empty() || !pending.is_empty() || value.is_volatile() {
                continue;
            }
            let value = match argument.ty {
                Some(ty) => self.explicit_cast(value, ty, false, argument.expr.pos)?,
                None => value,
            };
            if let Some((_, argument)) =
                self.macros.frames.get_mut(active).and_then(|frame| frame.parameters.get_mut(index))
            {
                argument.computed = Some(Computed::Value(value));
            }
        }
        Ok(())
    }

    /// The macro of `schema.f()`, which is read as `f(schema)`, and the call without the schema.
    pub(super) fn qualified_macro(
        &mut self,
        kind: DefinitionKind,
        call: &FunctionCall,
    ) -> Option<(FunctionCall, (String, Arc<Definition>))> {
        let schema = receiver(call)?;
        let parts = schema.iter().chain([&call.name]).cloned().collect();
        let found = self.macro_named(kind, parts)?;
        // A column comes first.
        if kind != DefinitionKind::TableMacro && self.resolve(schema).is_ok() {
            return None;
        }
        let mut call = call.clone();
        call.arguments.remove(0);
        Some((call, found))
    }

    pub(super) fn macro_named(
        &self,
        kind: DefinitionKind,
        parts: Vec<Ident>,
    ) -> Option<(String, Arc<Definition>)> {
        let name = ast::ObjectName { parts, is_string: false };
        let find = |database: Option<&str>, key: &str| self.context.catalog.definition(kind, database, key);
        let found = match &self.stored_in {
            // What is stored means the same for everybody: neither temporary macros nor the path of who reads it.
            Some(home) if name.parts.len() == 1 && !same_name(&home.database, TEMPORARY) => {
                let key = |schema: &str| qualified(schema, name.last());
                find(Some(&home.database), &key(&home.schema))
                    .or_else(|| find(Some(&home.database), &key(MAIN)))
                    .or_else(|| find(Some(SYSTEM), &key(MAIN)))
            }
            Some(_) | None => self.looked_up(&name, find).ok().flatten(),
        };
        // A function comes before a macro of the system that stands in for one.
        found.filter(|(database, _)| database != SYSTEM || !scalar_exists(name.last()))
    }

    /// Names of macros, for hints.
    pub(super) fn macro_names(&self, kind: DefinitionKind) -> Vec<String> {
        let definitions = self.context.catalog.definitions(kind, &self.current_database());
        definitions.iter().map(|definition| bare_name(&definition.name).to_string()).collect()
    }

    fn enter_macro(
        &mut self,
        database: &str,
        definition: &Definition,
        call: &FunctionCall,
        pos: Pos,
    ) -> Result<Rc<MacroOverload>> {
        let name = bare_name(&definition.name);
        let macro_id = (database.to_string(), definition.name.to_lowercase());
        let (mut outer, mut depth) = (self.macros.active, 0);
        while let Some(frame) = outer.and_then(|index| self.macros.frames.get(index)) {
            depth += 1;
            if frame.macro_id == macro_id || depth > DEPTH_MAX {
                let message = format!("macro \"{name}\" calls itself");
                let hint = "a macro cannot be recursive";
                return Err(self.at(Error::bind(message).with_hint(hint), pos));
            }
            outer = frame.caller;
        }
        self.macros.expansions += 1;
        if self.macros.expansions > EXPANSIONS_MAX {
            let message = format!("the statement expands macros more than {EXPANSIONS_MAX} times");
            return Err(self.at(Error::bind(message), pos));
        }
        let text = match self.macros.read.get(&macro_id) {
            Some(text) => Rc::clone(text),
            None => {
                let overloads = parse_macro(&definition.sql)?.into_iter().map(Rc::new).collect();
                let text = Rc::new(MacroText { sql: Arc::from(definition.sql.as_str()), overloads });
                self.macros.read.insert(macro_id.clone(), Rc::clone(&text));
                text
            }
        };
        let (overload, parameters) = self.matching_overload(name, &text.overloads, call, pos)?;
        let own_sql = Arc::clone(&text.sql);
        let own_home = Home::of(database, &definition.name);
        self.note_source(&own_sql, || format!("macro \"{}\"", definition.name));
        let sql = std::mem::replace(&mut self.sql, Arc::clone(&own_sql));
        let home = self.stored_in.replace(own_home.clone());
        let (caller, scope_count) = (self.macros.active, self.scopes.len());
        self.macros.frames.push(Frame {
            macro_id,
            parameters,
            caller,
            scope_count,
            is_table: matches!(overload.body, MacroBody::Table(_)),
            over: None,
            is_windowed: false,
            sql,
            home,
            own_sql,
            own_home,
        });
        self.macros.active = Some(self.macros.frames.len() - 1);
        Ok(overload)
    }

    fn leave_macro(&mut self) {
        if let Some(frame) = self.macros.frames.pop() {
            self.sql = frame.sql;
            self.stored_in = frame.home;
            self.macros.active = frame.caller;
        }
    }

    /// The overload that a call means, and the argument of each of its parameters.
    fn matching_overload(
        &self,
        name: &str,
        overloads: &[Rc<MacroOverload>],
        call: &FunctionCall,
        pos: Pos,
    ) -> Result<(Rc<MacroOverload>, Arguments)> {
        if let (Some((named, _)), Some(last)) = (call.named.first(), call.arguments.last())
            && last.pos > named.pos
        {
            let message = format!(
                "an argument without a name stands behind \"{}\", which has one; put it in front",
                named.value
            );
            return Err(self.at(Error::bind(message), last.pos));
        }
        let with_arguments = |overload: &Rc<MacroOverload>| {
            arguments_of(overload, call).map(|arguments| (Rc::clone(overload), arguments))
        };
        let mut fitting: Vec<_> = overloads.iter().filter_map(with_arguments).collect();
        if fitting.len() > 1 {
            // The one that needs no default.
            let count = call.arguments.len() + call.named.len();
            fitting.retain(|(overload, _)| overload.parameters.len() == count);
        }
        match (fitting.pop(), fitting.is_empty()) {
            (Some(found), true) => Ok(found),
            _ => {
                let shown = overloads.iter().map(|overload| signature(name, overload)).collect();
                let message = format!("no overload of macro {name} fits these arguments");
                Err(self.at(Error::UndefinedFunction { message, candidates: shown }, pos))
            }
        }
    }

    /// The argument that a name means inside the body of a macro.
    pub(super) fn macro_argument(&mut self, parts: &[Ident]) -> Result<Option<Expr>> {
        let (Some(active), [name]) = (self.macros.active, parts) else { return Ok(None) };
        let Some(frame) = self.macros.frames.get(active) else { return Ok(None) };
        let found = frame.parameters.iter().position(|(known, _)| same_name(known, &name.value));
        let Some(index) = found else { return Ok(None) };
        let argument = frame.parameters[index].1.clone();
        match argument.computed {
            Some(Computed::Value(value)) => return Ok(Some(value)),
            Some(Computed::Shared(shared, id)) => {
                return self.shared_argument(shared, id, name.pos).map(Some);
            }
            None => {}
        }
        let before = self.pending_count();
        let bound = if argument.is_default {
            self.expr(&argument.expr)?
        } else {
            self.in_call_of(active, |binder| binder.expr(&argument.expr))?
        };
        let bound = match argument.ty {
            Some(ty) => self.explicit_cast(bound, ty, false, argument.expr.pos)?,
            None => bound,
        };
        if argument.is_read_often && (bound.is_volatile() || self.is_pending_volatile(before)) {
            return self.computed_argument(active, index, bound, before, name.pos).map(Some);
        }
        Ok(Some(bound))
    }

    /// An argument with another value each time, as a column that the query computes in which the call stands, or that of a
    /// shared plan where a table macro sees no query. Where there is none, or the argument reads the parameter of a lambda, it
    /// is computed at each mention. Joins behind the first `before` that the innermost scope waits for are the argument's.
    fn computed_argument(
        &mut self,
        frame: usize,
        index: usize,
        value: Expr,
        before: usize,
        pos: Pos,
    ) -> Result<Expr> {
        let Some(Frame { scope_count, is_table, parameters, .. }) = self.macros.frames.get_mut(frame) else {
            return Err(Error::internal("an argument without its macro"));
        };
        let outer = scope_count.checked_sub(1).filter(|scope| *scope < self.scopes.len());
        if outer.is_none() && !*is_table {
            return Ok(value);
        }
        let read = value.columns();
        if self.row_scopes > 0 || self.lambdas.iter().any(|lambda| lambda.has_any(&read)) {
            return Ok(value);
        }
        let Some((name, argument)) = parameters.get_mut(index) else {
            return Err(Error::internal("a macro without its parameter"));
        };
        let inner = self.scopes.last_mut().map(|scope| &mut scope.pending);
        let own = inner.filter(|pending| pending.len() > before).map(|pending| pending.split_off(before));
        let own = own.unwrap_or_default();
        let id = self.columns.add(name.clone(), value.ty());
        if let Some(scope) = outer.and_then(|scope| self.scopes.get_mut(scope)) {
            scope.pending.extend(own);
            let value = if value.is_volatile() {
                scope.pending.push(Pending::computed(id, value));
                self.columns.expr(id)
            } else {
                value
            };
            argument.computed = Some(Computed::Value(value.clone()));
            return Ok(value);
        }
        let definition = attach(Plan::single_row(), own, &self.columns).project(vec![(id, value)]);
        let shared = self.columns.add_shared();
        argument.computed = Some(Computed::Shared(shared, id));
        self.shared.push(Shared { id: shared, definition, materialized: true });
        self.shared_argument(shared, id, pos)
    }

    /// A mention of an argument that is a shared plan of one row.
    fn shared_argument(&mut self, shared: SharedId, id: ColumnId, pos: Pos) -> Result<Expr> {
        let read = self.columns.copy_of(id);
        let plan = Plan::SharedScan { id: shared, columns: vec![(read, id)] };
        self.push_pending(Pending::single(plan), pos)?;
        Ok(self.column(read))
    }

    /// Binds where the call of a frame stands.
    fn in_call_of<T>(&mut self, index: usize, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let Some(frame) = self.macros.frames.get(index) else {
            return Err(Error::internal("an argument without its macro"));
        };
        let (caller, from, to) = (frame.caller, frame.scope_count, self.scopes.len());
        let (sql, home) = (Arc::clone(&frame.sql), frame.home.clone());
        let (own_sql, own_home) = (Arc::clone(&frame.own_sql), frame.own_home.clone());
        self.sql = sql;
        self.stored_in = home;
        self.macros.active = caller;
        self.macros.hidden.push((from, to));
        let result = inner(self);
        self.macros.hidden.pop();
        self.macros.active = Some(index);
        self.stored_in = Some(own_home);
        self.sql = own_sql;
        result
    }

    /// Binds the bodies of a new macro once, so that names that nothing has show at creation. Parameters have no types
    /// yet, so other mistakes only show where it is called.
    pub(super) fn check_macro(
        &mut self,
        database: &str,
        name: &str,
        overloads: &[MacroOverload],
        text: &str,
    ) -> Result<()> {
        self.macros.expansions = EXPANSIONS_MAX - CHECK_EXPANSIONS_MAX;
        for overload in overloads {
            let null = |pos| Rc::new(ast::Expr { kind: ast::ExprKind::Literal(Literal::Null), pos });
            let parameters = overload.parameters.iter().map(|parameter| {
                let argument = Argument {
                    expr: null(parameter.name.pos),
                    is_default: true,
                    ty: parameter.data_type.clone(),
                    is_read_often: false,
                    computed: None,
                };
                (parameter.name.value.clone(), argument)
            });
            let own_home = Home::of(database, name);
            let frame = Frame {
                macro_id: (database.to_string(), name.to_lowercase()),
                parameters: parameters.collect(),
                caller: None,
                scope_count: self.scopes.len(),
                is_table: matches!(overload.body, MacroBody::Table(_)),
                over: None,
                is_windowed: false,
                sql: Arc::clone(&self.sql),
                home: self.stored_in.clone(),
                own_sql: Arc::from(text),
                own_home,
            };
            self.macros.frames.push(frame);
            self.macros.active = Some(self.macros.frames.len() - 1);
            let outcome = match &overload.body {
                MacroBody::Expression(body) => {
                    let mut scope = Scope::new();
                    scope.phase = Phase::Select;
                    self.scopes.push(scope);
                    let bound = self.expr(body).map(drop);
                    self.scopes.pop();
                    bound
                }
                MacroBody::Table(query) => self.query(query).map(drop),
            };
            self.leave_macro();
            self.shared.clear();
            if let Err(error) = outcome
                && is_about_names(&error)
            {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// A window whose expressions are bound where it was written, and used in the body of a macro: each becomes a parameter, whose name
/// no text can say.
fn with_parameters(over: &WindowSpec, parameters: &mut Arguments) -> WindowSpec {
    let mut over = over.clone();
    let mut hide = |expr: &mut ast::Expr| {
        if matches!(expr.kind, ast::ExprKind::Literal(_)) {
            return;
        }
        let name = Ident { value: format!("\0over {}", parameters.len()), pos: expr.pos };
        let column = ast::Expr { kind: ast::ExprKind::Column(vec![name.clone()]), pos: expr.pos };
        let argument = Argument {
            expr: Rc::new(std::mem::replace(expr, column)),
            is_default: false,
            ty: None,
            is_read_often: false,
            computed: None,
        };
        parameters.push((name.value, argument));
    };
    over.partition_by.iter_mut().for_each(&mut hide);
    over.order_by.iter_mut().for_each(|item| hide(&mut item.expr));
    if let Some(frame) = &mut over.frame {
        for bound in [&mut frame.start, &mut frame.end] {
            match bound {
                FrameBound::Preceding(offset) | FrameBound::Following(offset) => hide(offset),
                FrameBound::UnboundedPreceding | FrameBound::CurrentRow | FrameBound::UnboundedFollowing => {}
            }
        }
    }
    over
}

/// Whether an error is about a name that nothing has, or recursion.
fn is_about_names(error: &Error) -> bool {
    match error.root() {
        Error::UndefinedColumn { .. } => true,
        Error::UndefinedFunction { message, .. } => message.contains("does not exist"),
        other => other.to_string().contains("calls itself"),
    }
}

/// How often an expression reads a name, at most; a subquery or window may do so any number of times.
fn mentions(expr: &ast::Expr, name: &str) -> usize {
    match &expr.kind {
        ast::ExprKind::Column(parts) => {
            usize::from(parts.first().is_some_and(|first| same_name(&first.value, name)))
        }
        ast::ExprKind::Subquery(_)
        | ast::ExprKind::RowQuery { .. }
        | ast::ExprKind::Exists { .. }
        | ast::ExprKind::InSubquery { .. }
        | ast::ExprKind::Quantified { .. }
        | ast::ExprKind::Window(_)
        | ast::ExprKind::Lambda { .. } => 2,
        _ => expr.children().into_iter().map(|child| mentions(child, name)).sum(),
    }
}

/// How often a text has a word, whatever it means there.
fn words(text: &str, word: &str) -> usize {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    if word.chars().all(|c| c.is_alphanumeric() || c == '_') {
        parts.filter(|part| same_name(part, word)).count()
    } else {
        text.to_lowercase().matches(&word.to_lowercase()).count()
    }
}

/// The argument of each parameter, if the call fits.
fn arguments_of(overload: &MacroOverload, call: &FunctionCall) -> Option<Arguments> {
    if call.arguments.len() > overload.parameters.len() {
        return None;
    }
    let known = |name: &Ident| overload.parameters.iter().position(|p| same_name(&p.name.value, &name.value));
    for (index, (name, _)) in call.named.iter().enumerate() {
        // Each names a parameter that has no argument yet.
        let position = known(name)?;
        let is_twice = call.named[..index].iter().any(|(other, _)| same_name(&other.value, &name.value));
        if position < call.arguments.len() || is_twice {
            return None;
        }
    }
    let mut arguments = Vec::with_capacity(overload.parameters.len());
    for (index, parameter) in overload.parameters.iter().enumerate() {
        let named = call.named.iter().find(|(name, _)| same_name(&name.value, &parameter.name.value));
        let written = call.arguments.get(index).or(named.map(|(_, value)| value));
        let (expr, is_default) = match (written, &parameter.default) {
            (Some(written), _) => (written, false),
            (None, Some(default)) => (default, true),
            (None, None) => return None,
        };
        let is_read_often = match &overload.body {
            MacroBody::Expression(body) => mentions(body, &parameter.name.value) > 1,
            MacroBody::Table(_) => words(&overload.text, &parameter.name.value) > 1,
        };
        let (expr, ty) = (Rc::new(expr.clone()), parameter.data_type.clone());
        let argument = Argument { expr, is_default, ty, is_read_often, computed: None };
        arguments.push((parameter.name.value.clone(), argument));
    }
    Some(arguments)
}

fn signature(name: &str, overload: &MacroOverload) -> String {
    let parameter = |parameter: &crate::parser::ast::object::MacroParameter| {
        let mut text = parameter.name.value.clone();
        if let Some(ty) = &parameter.data_type {
            text.push_str(&format!(" {ty}"));
        }
        if let Some(default) = &parameter.default {
            text.push_str(&format!(" := {}", super::name::of_expr(default)));
        }
        text
    };
    format!("{name}({})", overload.parameters.iter().map(parameter).collect::<Vec<_>>().join(", "))
}

/// What stands before the dot in front of a function's name.
pub(super) fn receiver(call: &FunctionCall) -> Option<&[Ident]> {
    match call.arguments.first() {
        Some(ast::Expr { kind: ast::ExprKind::Column(parts), pos }) if *pos < call.name.pos => Some(parts),
        _ => None,
    }
}
