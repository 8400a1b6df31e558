//! What a database holds besides rows: the definitions of views, sequences and indexes, and tables by number.
//!
//! An object keeps its number under any name. Definitions are SQL text, which storage keeps and never reads.

use super::definition::{Definition, DefinitionKind};
use crate::bytes::{ByteReader, ByteWriter};
use crate::file::{FORMAT_BY_VALUE, FORMAT_VERSION};
use crate::store::directory::StoredTable;
use crate::table::Table;
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};

/// Number of an object in its database. Never used twice.
pub type ObjectId = u64;

/// A view: the text of a query, bound anew at each use.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Number.
    pub id: ObjectId,
    /// Name as created.
    pub name: String,
    /// Column aliases; empty when none were given.
    pub aliases: Vec<String>,
    /// Text of the query.
    pub sql: String,
}

/// How a sequence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceOptions {
    /// First value.
    pub start: i64,
    /// Difference of neighbours; not zero.
    pub increment: i64,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Whether it starts again at the other end.
    pub cycle: bool,
}

impl Default for SequenceOptions {
    fn default() -> Self {
        Self { start: 1, increment: 1, min: 1, max: i64::MAX, cycle: false }
    }
}

/// A sequence. Its counter is shared by all transactions and never goes back, whatever becomes of them.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Number.
    pub id: ObjectId,
    /// Name as created.
    pub name: String,
    /// How it counts.
    pub options: SequenceOptions,
    /// The table and the name of its column that it serves, and goes with.
    pub owner: Option<(ObjectId, String)>,
    counter: Arc<Mutex<Counter>>,
}

/// Where a sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The value that comes next; absent at the end.
    pub next: Option<i64>,
    /// The value that came last.
    pub last: Option<i64>,
}

impl Sequence {
    /// A sequence at its start.
    pub fn new(
        id: ObjectId,
        name: &str,
        options: SequenceOptions,
        owner: Option<(ObjectId, String)>,
    ) -> Self {
        Self::at(id, name, options, owner, Counter { next: Some(options.start), last: None })
    }

    fn at(
        id: ObjectId,
        name: &str,
        options: SequenceOptions,
        owner: Option<(ObjectId, String)>,
        counter: Counter,
    ) -> Self {
        Self { id, name: name.to_string(), options, owner, counter: Arc::new(Mutex::new(counter)) }
    }

    /// The same sequence under another definition, counting on from where it stands.
    pub fn redefined(&self, name: &str, options: SequenceOptions, owner: Option<(ObjectId, String)>) -> Self {
        Self { name: name.to_string(), options, owner, ..self.clone() }
    }

    /// Takes the next value.
    pub fn next(&self) -> Result<i64> {
        let mut counter = self.counter.lock();
        let Some(value) = counter.next else {
            let (name, end) =
                (&self.name, if self.options.increment > 0 { self.options.max } else { self.options.min });
            return Err(Error::out_of_range(format!("sequence \"{name}\" has reached its last value {end}")));
        };
        *counter = Counter { next: self.behind(value), last: Some(value) };
        Ok(value)
    }

    /// The value behind another one, unless that is the last.
    fn behind(&self, value: i64) -> Option<i64> {
        let next = value.checked_add(self.options.increment);
        match next.filter(|next| (self.options.min..=self.options.max).contains(next)) {
            None if self.options.cycle => {
                Some(if self.options.increment > 0 { self.options.min } else { self.options.max })
            }
            next => next,
        }
    }

    /// Goes on behind `value`, or at it if it was not given yet.
    pub fn set(&self, value: i64, is_called: bool) -> Result<()> {
        let SequenceOptions { min, max, .. } = self.options;
        if !(min..=max).contains(&value) {
            let name = &self.name;
            let message = format!("setval: {value} is out of range for sequence \"{name}\" ({min} to {max})");
            return Err(Error::out_of_range(message));
        }
        let mut counter = self.counter.lock();
        *counter = match is_called {
            true => Counter { next: self.behind(value), last: Some(value) },
            false => Counter { next: Some(value), last: counter.last },
        };
        Ok(())
    }

    /// Where it stands.
    pub fn counter(&self) -> Counter {
        *self.counter.lock()
    }

    /// Moves it.
    pub fn set_counter(&self, counter: Counter) {
        *self.counter.lock() = counter;
    }
}

/// What an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// A radix tree from keys to rows.
    Art,
    /// The rows of each value, of each of its columns apart; see [`crate::value_sets`].
    Bitmap,
}

impl IndexKind {
    /// What stands behind USING.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Art => "art",
            Self::Bitmap => "bitmap",
        }
    }
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDefinition {
    /// Number.
    pub id: ObjectId,
    /// Name as created.
    pub name: String,
    /// Number of its table.
    pub table: ObjectId,
    /// Positions of its columns.
    pub columns: Vec<usize>,
    /// UNIQUE; never of a bitmap index.
    pub unique: bool,
    /// USING.
    pub kind: IndexKind,
}

/// An object of a database.
#[derive(Clone, Debug)]
pub enum Object {
    /// A table.
    Table(Arc<TableSlot>),
    /// A view.
    View(Arc<View>),
    /// A sequence.
    Sequence(Arc<Sequence>),
    /// An index.
    Index(Arc<IndexDefinition>),
    /// A schema, macro, type or another thing that is a text.
    Definition(Arc<Definition>),
}

impl Object {
    /// Number.
    pub fn id(&self) -> ObjectId {
        match self {
            Self::Table(table) => table.id,
            Self::View(view) => view.id,
            Self::Sequence(sequence) => sequence.id,
            Self::Index(index) => index.id,
            Self::Definition(definition) => definition.id,
        }
    }

    /// Name as created.
    pub fn name(&self) -> &str {
        match self {
            Self::Table(table) => &table.name,
            Self::View(view) => &view.name,
            Self::Sequence(sequence) => &sequence.name,
            Self::Index(index) => &index.name,
            Self::Definition(definition) => &definition.name,
        }
    }

    /// What SQL calls it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Table(_) => "table",
            Self::View(_) => "view",
            Self::Sequence(_) => "sequence",
            Self::Index(_) => "index",
            Self::Definition(definition) => definition.kind.name(),
        }
    }

    /// The object that it goes with.
    pub fn belongs_to(&self) -> Option<ObjectId> {
        match self {
            Self::Table(_) | Self::View(_) => None,
            Self::Sequence(sequence) => sequence.owner.as_ref().map(|(table, _)| *table),
            Self::Index(index) => Some(index.table),
            Self::Definition(definition) => definition.owner,
        }
    }

    /// Whether a point in its name parts it from the name of a schema.
    pub(crate) fn is_in_schema(&self) -> bool {
        match self {
            Self::Table(_) | Self::View(_) | Self::Sequence(_) | Self::Index(_) => true,
            Self::Definition(definition) => match definition.kind {
                DefinitionKind::Schema
                | DefinitionKind::Comment
                | DefinitionKind::Role
                | DefinitionKind::Grant
                | DefinitionKind::Owner => false,
                DefinitionKind::Macro
                | DefinitionKind::TableMacro
                | DefinitionKind::Function
                | DefinitionKind::Type
                | DefinitionKind::MaterializedView => true,
            },
        }
    }

    /// Whether this is the same version of the same object.
    pub fn is_same(&self, other: &Object) -> bool {
        match (self, other) {
            (Self::Table(left), Self::Table(right)) => Arc::ptr_eq(left, right),
            (Self::View(left), Self::View(right)) => Arc::ptr_eq(left, right),
            (Self::Sequence(left), Self::Sequence(right)) => Arc::ptr_eq(left, right),
            (Self::Index(left), Self::Index(right)) => Arc::ptr_eq(left, right),
            (Self::Definition(left), Self::Definition(right)) => Arc::ptr_eq(left, right),
            _ => false,
        }
    }

    /// The first version of the format that files have it in.
    pub(crate) fn format(&self) -> u32 {
        match self {
            Self::Table(_) | Self::View(_) | Self::Sequence(_) | Self::Definition(_) => FORMAT_VERSION,
            Self::Index(index) => match index.kind {
                IndexKind::Art => FORMAT_VERSION,
                IndexKind::Bitmap => FORMAT_BY_VALUE,
            },
        }
    }

    /// The form that files hold of anything but a table.
    pub(crate) fn write_definition(&self, out: &mut ByteWriter) {
        match self {
            Self::Table(_) => out.u8(0),
            Self::View(view) => {
                out.u8(1);
                out.u64(view.id);
                out.text(&view.name);
                out.count(view.aliases.len());
                view.aliases.iter().for_each(|alias| out.text(alias));
                out.text(&view.sql);
            }
            Self::Sequence(sequence) => {
                out.u8(2);
                out.u64(sequence.id);
                out.text(&sequence.name);
                let options = &sequence.options;
                [options.start, options.increment, options.min, options.max]
                    .iter()
                    .for_each(|number| out.i64(*number));
                out.bool(options.cycle);
                out.option(sequence.owner.as_ref(), |out, (table, column)| {
                    out.u64(*table);
                    out.text(column);
                });
                write_counter(sequence.counter(), out);
            }
            Self::Index(index) => {
                out.u8(match index.kind {
                    IndexKind::Art => 3,
                    IndexKind::Bitmap => 5,
                });
                out.u64(index.id);
                out.text(&index.name);
                out.u64(index.table);
                out.count(index.columns.len());
                index.columns.iter().for_each(|column| out.count(*column));
                match index.kind {
                    IndexKind::Art => out.bool(index.unique),
                    IndexKind::Bitmap => {}
                }
            }
            Self::Definition(definition) => {
                out.u8(4);
                definition.write(out);
            }
        }
    }

    /// What [`Object::write_definition`] wrote.
    pub(crate) fn read_definition(from: &mut ByteReader<'_>) -> Result<Self> {
        Ok(match from.u8()? {
            1 => Self::View(Arc::new(View {
                id: from.u64()?,
                name: from.text()?.to_string(),
                aliases: (0..from.count_of(1)?)
                    .map(|_| Ok(from.text()?.to_string()))
                    .collect::<Result<_>>()?,
                sql: from.text()?.to_string(),
            })),
            2 => {
                let (id, name) = (from.u64()?, from.text()?);
                let options = SequenceOptions {
                    start: from.i64()?,
                    increment: from.i64()?,
                    min: from.i64()?,
                    max: from.i64()?,
                    cycle: from.bool()?,
                };
                let owner = from.option(|from| Ok((from.u64()?, from.text()?.to_string())))?;
                Self::Sequence(Arc::new(Sequence::at(id, name, options, owner, read_counter(from)?)))
            }
            tag @ (3 | 5) => Self::Index(Arc::new(IndexDefinition {
                id: from.u64()?,
                name: from.text()?.to_string(),
                table: from.u64()?,
                columns: (0..from.count_of(1)?).map(|_| from.count()).collect::<Result<_>>()?,
                unique: tag == 3 && from.bool()?,
                kind: if tag == 5 { IndexKind::Bitmap } else { IndexKind::Art },
            })),
            4 => Self::Definition(Arc::new(Definition::read(from)?)),
            kind => return Err(Error::corrupt(format!("object of kind {kind}"))),
        })
    }
}

pub(crate) fn write_counter(counter: Counter, out: &mut ByteWriter) {
    out.option(counter.next, ByteWriter::i64);
    out.option(counter.last, ByteWriter::i64);
}

pub(crate) fn read_counter(from: &mut ByteReader<'_>) -> Result<Counter> {
    Ok(Counter { next: from.option(ByteReader::i64)?, last: from.option(ByteReader::i64)? })
}

/// A table of a database: in memory, or in the file until someone asks for it.
#[derive(Debug)]
pub struct TableSlot {
    id: ObjectId,
    name: String,
    loaded: OnceLock<Arc<Table>>,
    /// Absent once it is loaded: then its directory may move or be given back.
    stored: Mutex<Option<StoredTable>>,
}

impl TableSlot {
    /// A table in memory.
    pub fn new(table: Arc<Table>) -> Arc<Self> {
        let (id, name) = (table.id(), table.schema().name.clone());
        Arc::new(Self { id, name, loaded: OnceLock::from(table), stored: Mutex::new(None) })
    }

    pub(crate) fn in_file(id: ObjectId, name: String, stored: StoredTable) -> Arc<Self> {
        Arc::new(Self { id, name, loaded: OnceLock::new(), stored: Mutex::new(Some(stored)) })
    }

    /// Name as created.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table; reads its directory from the file the first time.
    pub fn table(&self) -> Result<Arc<Table>> {
        if let Some(table) = self.loaded.get() {
            return Ok(Arc::clone(table));
        }
        // One at a time.
        let mut stored = self.stored.lock();
        if let Some(table) = self.loaded.get() {
            return Ok(Arc::clone(table));
        }
        let Some(directory) = &*stored else { return Err(Error::internal("a table that is nowhere")) };
        let table = Arc::new(directory.load(self.id)?);
        let _ = self.loaded.set(Arc::clone(&table));
        *stored = None;
        Ok(table)
    }

    /// Its directory, while it is only in the file.
    pub(crate) fn directory(&self) -> Option<Arc<crate::file::StoredObject>> {
        self.stored.lock().as_ref().map(|stored| Arc::clone(&stored.directory))
    }

    /// The table, if it is in memory.
    pub(crate) fn loaded(&self) -> Option<&Arc<Table>> {
        self.loaded.get()
    }
}
