//! Verification: reads everything that the newest root reaches, and compares it with what refers to it.
//!
//! What is damaged is listed with its place, and the rest is verified nevertheless.

use super::super::Store;
use super::super::checkpoint::{Checkpointed, columns_in_file};
use super::super::directory::StoredTable;
use super::super::object::Object;
use super::super::state::State;
use crate::ZoneMap;
use crate::column::Column;
use crate::file::{ObjectPtr, Root, StoredObject};
use crate::home::{Home, Stored};
use crate::row_group::RowGroup;
use crate::schema::TableSchema;
use crate::segment::FieldMeta;
use crate::table::indexes::object_ptr;
use crate::value_sets::ValueSets;
use inlay_types::{Error, Result, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The blocks of the file are compared this often until nothing is wrong: transactions take some meanwhile.
const SPACE_TRIES: usize = 3;
const SPACE_PAUSE: Duration = Duration::from_millis(20);

impl Store {
    /// Everything that does not hold in the file and the log; nothing if all is well. Commits go on meanwhile,
    /// checkpoints wait.
    pub fn verify(&self) -> Result<Vec<String>> {
        if let Some(reader) = &self.reader {
            return reader.verify();
        }
        let Some(durable) = &self.durable else { return Ok(Vec::new()) };
        let done = self.checkpointed.lock();
        let file = durable.home.file();
        let mut check = Check::new(&durable.home);
        check.tree(&file.root())?;
        let mut space = Vec::new();
        for _ in 0..SPACE_TRIES {
            let mut reached = check.reached.clone();
            self.add_known(&done, &mut reached)?;
            space = check.space(reached);
            if space.is_empty() {
                break;
            }
            std::thread::sleep(SPACE_PAUSE);
        }
        check.problems.extend(space);
        if let Err(error) = durable.wal.verify() {
            check.problems.push(error.to_string());
        }
        Ok(check.problems)
    }

    /// Adds what is in use without being reached from the catalog by way of row groups.
    fn add_known(&self, done: &Checkpointed, reached: &mut HashMap<u64, ObjectPtr>) -> Result<()> {
        let Some(home) = self.home() else { return Ok(()) };
        let mut reach = |ptr: ObjectPtr| {
            reached.entry(ptr.block).or_insert(ptr);
        };
        for in_file in done.tables.values() {
            match in_file.objects(home) {
                Ok(objects) => objects.into_iter().for_each(|object| reach(object.ptr)),
                // Damage was found, and noted, on the way from the root.
                Err(Error::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        done.unpublished.pages()?.into_iter().for_each(&mut reach);
        let tip = Arc::clone(&self.commits.lock().tip);
        for object in tip.objects() {
            let Object::Table(slot) = object else { continue };
            let columns = slot.loaded().into_iter().flat_map(|table| columns_in_file(table));
            columns.for_each(|stored| reach(stored.ptr()));
        }
        Ok(())
    }
}

/// What does not hold in what a root reaches.
pub(in super::super) fn verify_root(home: &Arc<Home>, root: &Root) -> Result<Vec<String>> {
    let mut check = Check::new(home);
    check.tree(root)?;
    let space = check.space(check.reached.clone());
    check.problems.extend(space);
    Ok(check.problems)
}

struct Check<'a> {
    home: &'a Arc<Home>,
    problems: Vec<String>,
    /// By first block.
    reached: HashMap<u64, ObjectPtr>,
    /// Whether everything that refers to something was readable.
    is_whole: bool,
}

impl<'a> Check<'a> {
    fn new(home: &'a Arc<Home>) -> Self {
        Self { home, problems: Vec::new(), reached: HashMap::new(), is_whole: true }
    }

    /// Enters what went wrong; an error if it says nothing about the file.
    fn note(&mut self, place: &str, error: Error) -> Result<()> {
        match error {
            Error::OutOfMemory { .. } | Error::Interrupted => Err(error),
            error => {
                self.problems.push(format!("{place}: {error}"));
                Ok(())
            }
        }
    }

    fn reach(&mut self, what: &str, ptr: ObjectPtr) {
        if let Some(other) = self.reached.insert(ptr.block, ptr).filter(|_| !ptr.is_none()) {
            self.problems.push(format!("{what}: block {} is referred to twice", other.block));
        }
    }

    fn tree(&mut self, root: &Root) -> Result<()> {
        if root.catalog.is_none() {
            return Ok(());
        }
        self.reach("catalog", root.catalog);
        let (state, done) = match Store::read_catalog(self.home, root) {
            Ok((state, done, _)) => (state, done),
            Err(error) => {
                self.is_whole = false;
                return self.note("catalog", error);
            }
        };
        self.names(&state);
        let mut tables: Vec<_> = done.tables.into_values().collect();
        tables.sort_by(|left, right| left.slot.name().cmp(right.slot.name()));
        for in_file in tables {
            self.table(in_file.slot.name(), &in_file.directory)?;
        }
        Ok(())
    }

    /// Every name stands for one object, and every index belongs to a table.
    fn names(&mut self, state: &State) {
        for object in state.objects() {
            let (kind, name) = (object.kind(), object.name());
            let found = state.named_like(object);
            if found.is_none_or(|found| found.id() != object.id()) {
                self.problems.push(format!("catalog: {kind} \"{name}\" shares its name"));
            }
            if let Object::Index(index) = object
                && !matches!(state.object(index.table), Some(Object::Table(_)))
            {
                self.problems.push(format!("catalog: index \"{name}\" is of no table"));
            }
        }
    }

    fn table(&mut self, name: &str, directory: &Arc<StoredObject>) -> Result<()> {
        let place = format!("table \"{name}\"");
        self.reach(&place, directory.ptr);
        let stored = StoredTable::new(self.home, Arc::clone(directory));
        let parts = match directory.read().and_then(|bytes| stored.parts(0, &bytes)) {
            Ok(parts) => parts,
            Err(error) => {
                self.is_whole = false;
                return self.note(&place, error);
            }
        };
        self.reach(&place, parts.statistics);
        if let Err(error) = stored.statistics(parts.statistics, &parts.schema) {
            self.note(&format!("{place}, statistics (no row is affected, VACUUM makes them anew)"), error)?;
        }
        if parts.schema.name != name {
            self.problems.push(format!("{place}: its directory calls it \"{}\"", parts.schema.name));
        }
        for group in parts.groups {
            self.row_group(&place, &parts.schema, &group)?;
        }
        for index in parts.indexes {
            let names = index.columns().iter().map(|column| parts.schema.columns[*column].name.as_str());
            let place = format!("{place}, index on ({})", names.collect::<Vec<_>>().join(", "));
            match index.pages() {
                Ok(pages) => pages.into_iter().for_each(|page| self.reach(&place, object_ptr(page))),
                Err(error) => {
                    self.is_whole = false;
                    self.note(&place, error)?;
                }
            }
            if let Err(error) = index.index().and_then(|index| index.check_pages()) {
                self.note(&place, error)?;
            }
        }
        Ok(())
    }

    fn row_group(&mut self, table: &str, schema: &TableSchema, group: &RowGroup) -> Result<()> {
        for (column, stored) in schema.columns.iter().zip(group.columns()) {
            let place = format!("{table}, column \"{}\", rows from {}", column.name, group.row_id_start());
            if let Some(stored) = stored.stored() {
                self.reach(&place, stored.ptr());
            }
            if let Err(error) = segment_fits(stored) {
                self.note(&place, error)?;
            }
            if let Some(sets) = stored.sets_in_file() {
                self.reach(&place, sets.ptr());
                if let Err(error) = sets_fit(stored, &sets) {
                    self.note(
                        &format!(
                            "{place}, rows of its values (no row is affected; a checkpoint makes them anew)"
                        ),
                        error,
                    )?;
                }
            }
            if column.not_null && stored.null_count() > 0 && group.deleted().is_none() {
                self.problems.push(format!("{place}: NULL in a column that is NOT NULL"));
            }
        }
        Ok(())
    }

    /// Compares the blocks of the file with what was reached.
    fn space(&self, reached: HashMap<u64, ObjectPtr>) -> Vec<String> {
        let reached: Vec<ObjectPtr> = reached.into_values().collect();
        let mut problems = self.home.file().verify_space(&reached);
        if !self.is_whole {
            // What the unreadable part refers to is not known.
            problems.retain(|problem| !problem.ends_with("are neither reached nor free"));
        }
        problems
    }
}

/// Reads a segment and compares it with what the directory says of it.
fn segment_fits(column: &Arc<Column>) -> Result<()> {
    let (found, said) = (column.segment()?.meta(), column.meta());
    let block = column.stored().map(|stored| format!("block {}", stored.ptr().block));
    let place = block.unwrap_or_else(|| "in the directory".to_string());
    if (&found.ty, found.len, found.null_count) != (&said.ty, said.len, said.null_count) {
        let message = format!(
            "a segment of {} rows, {} of them NULL, where {} and {} are expected",
            found.len, found.null_count, said.len, said.null_count
        );
        return Err(Error::corrupt(message).within(place));
    }
    if !(range_fits(&found.zone_map, &said.zone_map) && fields_fit(&found.fields, &said.fields)) {
        return Err(Error::corrupt("values outside of the range that the directory knows").within(place));
    }
    Ok(())
}

/// Reads the sets of a column and compares them with those that its values make.
fn sets_fit(column: &Arc<Column>, stored: &Stored) -> Result<()> {
    let place = || format!("block {}", stored.ptr().block);
    let image = stored.object().read()?;
    let budget = stored.budget();
    drop(column.sets_of_image(&image, budget).map_err(|error| error.within(place()))?);
    let made = ValueSets::of(&*column.segment()?, budget)?.map(|sets| sets.to_bytes()).transpose()?;
    if made.as_deref() != Some(&image[..]) {
        return Err(Error::corrupt("sets of other rows than have these values").within(place()));
    }
    Ok(())
}

/// Whether the range that a directory keeps, in which long texts are cut, has room for a segment's.
fn range_fits(found: &ZoneMap, said: &ZoneMap) -> bool {
    let in_order = |low: &Option<Value>, high: &Option<Value>| match (low, high) {
        (Some(low), Some(high)) => low.total_cmp(high).is_le(),
        _ => true,
    };
    in_order(&said.min, &found.min) && in_order(&found.max, &said.max)
}

/// The same of fields. A directory that knows none is one of a version that has none.
fn fields_fit(found: &[FieldMeta], said: &[FieldMeta]) -> bool {
    let fits = |(found, said): (&FieldMeta, &FieldMeta)| {
        range_fits(&found.zone_map, &said.zone_map)
            && (said.zone_map.has_null || !found.zone_map.has_null)
            && (said.zone_map.has_value || !found.zone_map.has_value)
            && (said.fields.is_empty() || fields_fit(&found.fields, &said.fields))
    };
    found.is_empty() || found.len() == said.len() && found.iter().zip(said).all(fits)
}
