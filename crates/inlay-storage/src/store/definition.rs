//! Objects that are nothing but text: schemas, macros, types, queries of materialised views, comments.
//!
//! Storage keeps them under a name of their kind and never reads the text. One that belongs to a table or view goes with
//! it.

use super::object::ObjectId;
use crate::bytes::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};

/// What a definition is of. Names are unique within a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DefinitionKind {
    /// CREATE SCHEMA; no text.
    Schema,
    /// CREATE MACRO ... AS expression: the overloads.
    Macro,
    /// CREATE MACRO ... AS TABLE: the overloads.
    TableMacro,
    /// CREATE FUNCTION ... LANGUAGE: the overloads, in the text of another language.
    Function,
    /// CREATE TYPE: what the name stands for.
    Type,
    /// The query of a materialised view, whose rows are a table.
    MaterializedView,
    /// COMMENT ON, by the number of what it is on and, of a column, its name.
    Comment,
    /// CREATE ROLE: what it may, and the roles that it is in.
    Role,
    /// GRANT: what a role may do with an object, by the object's number and the role's name.
    Grant,
    /// ALTER ... OWNER TO: whose an object is, by the object's number; the text is the owner's name.
    Owner,
    /// CREATE TRIGGER: the whole statement; the name is its table's number, a dot and its own.
    Trigger,
}

impl DefinitionKind {
    /// What SQL calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Macro => "macro",
            Self::TableMacro => "table macro",
            Self::Function => "function",
            Self::Type => "type",
            Self::MaterializedView => "materialized view",
            Self::Comment => "comment",
            Self::Role => "role",
            Self::Grant => "grant",
            Self::Owner => "owner",
            Self::Trigger => "trigger",
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Schema => 0,
            Self::Macro => 1,
            Self::TableMacro => 2,
            Self::Type => 3,
            Self::MaterializedView => 4,
            Self::Comment => 5,
            Self::Function => 6,
            Self::Role => 7,
            Self::Grant => 8,
            Self::Owner => 9,
            Self::Trigger => 10,
        }
    }

    fn of(number: u8) -> Result<Self> {
        Ok(match number {
            0 => Self::Schema,
            1 => Self::Macro,
            2 => Self::TableMacro,
            3 => Self::Type,
            4 => Self::MaterializedView,
            5 => Self::Comment,
            6 => Self::Function,
            7 => Self::Role,
            8 => Self::Grant,
            9 => Self::Owner,
            10 => Self::Trigger,
            other => return Err(Error::corrupt(format!("definition of kind {other}"))),
        })
    }
}

/// A named text.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Number.
    pub id: ObjectId,
    /// What it is of.
    pub kind: DefinitionKind,
    /// Name as created.
    pub name: String,
    /// The object that it belongs to and goes with.
    pub owner: Option<ObjectId>,
    /// The text.
    pub sql: String,
}

impl Definition {
    pub(super) fn write(&self, out: &mut ByteWriter) {
        out.u64(self.id);
        out.u8(self.kind.number());
        out.text(&self.name);
        out.option(self.owner, ByteWriter::u64);
        out.text(&self.sql);
    }

    pub(super) fn read(from: &mut ByteReader<'_>) -> Result<Self> {
        Ok(Self {
            id: from.u64()?,
            kind: DefinitionKind::of(from.u8()?)?,
            name: from.text()?.to_string(),
            owner: from.option(ByteReader::u64)?,
            sql: from.text()?.to_string(),
        })
    }
}
