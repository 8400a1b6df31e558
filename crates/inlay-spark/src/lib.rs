//! A query for Spark: a plan, decorrelated and otherwise as it was bound, written as the text of one SELECT in Spark's SQL.
//!
//! What is written is the plan, not the text of the user: names are resolved, types are known, casts are explicit, and what is
//! written shorter in Inlay (COLUMNS, PIVOT, QUALIFY, macros, views) is relations already. Each construct is written, in a form
//! whose answer is equal, or it is refused by its name and place; there is nothing in between ([decision 37]).
//!
//! ```text
//! WITH r0 AS (SELECT c0 AS c5, ... FROM inlay_7_3),          a relation per operator, columns by their ids
//!      r1 AS (SELECT c5, sum(c6) AS c7 FROM r0 GROUP BY c5)
//! SELECT c5 AS o0, c7 AS o1 FROM r1 ORDER BY c7 DESC NULLS LAST
//! ```
//! - `split`: parts of queries. `relation`: operators. `host`: functions of Python, which go along. `join`: those that Spark has in another form. `expression`, `function`, `cast`, `aggregate`, `window`: what
//!   operators compute. `pattern`: LIKE and regular expressions. `literal`, `carrier`: values and types.
//!
//! Invariants
//! - An expression of type `t` is written as an expression of the type that carries `t` ([`carrier()`]), whatever Spark would
//!   infer. Spark's session is in ANSI mode and reads `TIMESTAMP` as the type with a zone.
//! - Text that the user wrote reaches the query as an escaped literal only; names never do.
//!
//! Called by the facade; bindings send the text. Absent on purpose: connections, and tables' rows.
//!
//! [decision 37]: ../../../docs/decisions/0037-plans-for-spark.md

#![forbid(unsafe_code)]

mod aggregate;
mod carrier;
mod cast;
mod expression;
mod function;
mod host;
mod join;
mod literal;
mod pattern;
mod relation;
mod split;
#[cfg(test)]
mod tests;
mod window;

pub use carrier::{carrier, spark_type};
pub use split::split;

use inlay_catalog::{TableEntry, TableSource};
use inlay_kernels::external::External;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{ColumnId, Columns, Place, SharedId};
use inlay_types::{LogicalType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A text of more bytes is refused: forms that read a value several times multiply when they are nested.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// What cannot be written, and why.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The construct by its name, and what is the matter with it.
    pub what: String,
    /// Where it stands in the statement, if that is known.
    pub place: Place,
}

/// Rows that the query reads by a name.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A table of a database: shipped, column `i` as `c{i}`, in the types that carry its own.
    Stored(Arc<TableEntry>),
    /// Files that the cluster reads itself, by their own columns' names.
    Files(Arc<dyn TableSource>),
}

/// A table that the query names.
#[derive(Clone, Debug)]
pub struct NamedTable {
    /// Its name in the query.
    pub name: String,
    /// What it stands for.
    pub origin: Origin,
}

/// A function of the host that the query calls: it goes along.
#[derive(Clone, Debug)]
pub struct NamedFunction {
    /// Its name in the query.
    pub name: String,
    /// The function.
    pub call: HostCall,
    /// The type of what it gives.
    pub returns: LogicalType,
}

/// What makes two calls calls of one function there.
#[derive(Clone, Debug)]
pub struct HostCall {
    /// The function.
    pub external: Arc<External>,
    /// The types of its arguments.
    pub arg_types: Vec<LogicalType>,
    /// Arguments that are constants of the statement, which functions are given as such.
    pub constants: Vec<Option<Value>>,
}

/// A query in Spark's SQL, or why there is none.
#[derive(Clone, Debug)]
pub struct Written {
    /// The text; of no use if anything is refused.
    pub text: String,
    /// The tables it names, each once.
    pub tables: Vec<NamedTable>,
    /// The functions of the host that it calls, each once.
    pub functions: Vec<NamedFunction>,
    /// Names and types of the columns it gives, by position. Spark gives the types that carry them.
    pub columns: Vec<(String, LogicalType)>,
    /// What cannot be written; empty if the query can be sent.
    pub refused: Vec<Refusal>,
}

/// What tables and functions are called in the query.
pub trait Names {
    /// A name of letters, digits and `_` that stands for this version of the table and no other.
    fn stored(&self, table: &TableEntry) -> String;

    /// The same for a function and what it is called with.
    fn function(&self, call: &HostCall) -> String;
}

/// Writes a query whose plan has no dependent joins.
pub fn write(query: &Query, names: &dyn Names) -> Written {
    inlay_sql::with_statement_stack(|| {
        inlay_sql::with_plan_stack(&query.plan, || Writer::new(&query.columns, names).query(query))
    })
}

/// A query being written.
struct Writer<'a> {
    columns: &'a Columns,
    names: &'a dyn Names,
    /// Relations in the order in which they refer to each other.
    relations: Vec<(String, String)>,
    bytes: usize,
    tables: Vec<NamedTable>,
    functions: Vec<NamedFunction>,
    refused: Vec<Refusal>,
    /// The relations that shared plans became.
    shared: HashMap<SharedId, String>,
    /// What columns are called that are no columns of a relation: parameters of lambdas.
    parameters: HashMap<ColumnId, String>,
}

impl<'a> Writer<'a> {
    fn new(columns: &'a Columns, names: &'a dyn Names) -> Self {
        Self {
            columns,
            names,
            relations: Vec::new(),
            bytes: 0,
            tables: Vec::new(),
            functions: Vec::new(),
            refused: Vec::new(),
            shared: HashMap::new(),
            parameters: HashMap::new(),
        }
    }

    fn query(mut self, query: &Query) -> Written {
        let mut last = self.plan(&query.plan);
        let mut delivered = Vec::with_capacity(query.output.len());
        let mut columns = Vec::with_capacity(query.output.len());
        for (position, (id, name)) in query.output.iter().enumerate() {
            let ty = self.columns.ty(*id);
            let spark = self.type_text(&ty, Place::default());
            let read = last.read(*id);
            delivered.push(format!("CAST({read} AS {spark}) AS o{position}"));
            columns.push((name.clone(), ty));
        }
        if delivered.is_empty() {
            delivered.push("1 AS o0".into());
        }
        last.items = None;
        let body = last.text(&delivered.join(", "));
        let parts: Vec<String> =
            self.relations.iter().map(|(name, text)| format!("{name} AS ({text})")).collect();
        let with = if parts.is_empty() { String::new() } else { format!("WITH {}\n", parts.join(",\n")) };
        let text = format!("{with}{body}");
        if text.len() > TEXT_BYTES_MAX {
            self.refuse(
                format!("a query whose text in Spark's SQL has {} bytes", text.len()),
                Place::default(),
            );
        }
        Written { text, tables: self.tables, functions: self.functions, columns, refused: self.refused }
    }

    /// Notes what cannot be written; what stands in its place is never sent.
    fn refuse(&mut self, what: impl Into<String>, place: Place) -> String {
        let what = what.into();
        let is_known = |known: &Refusal| {
            known.what == what && known.place.line == place.line && known.place.column == place.column
        };
        if !self.refused.iter().any(is_known) {
            self.refused.push(Refusal { what, place });
        }
        "NULL".into()
    }

    /// The type that carries a type, as Spark writes it.
    fn type_text(&mut self, ty: &LogicalType, place: Place) -> String {
        match carrier(ty).and_then(|carrier| spark_type(&carrier)) {
            Ok(text) => text,
            Err(what) => self.refuse(what, place),
        }
    }
}
