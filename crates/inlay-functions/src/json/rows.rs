//! `json_each` and `json_tree`: the parts of a document as a list of structs. In FROM the binder makes rows of them.

use super::super::columns::TextColumn;
use crate::registry::{Function, Overloads};
use inlay_kernels::function::kernel;
use inlay_kernels::json::value::{Json, Path, quote};
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{self, UBigInt, Varchar};
use inlay_types::nested::{pack_lists, pack_struct};
use inlay_types::{Error, Result, Vector, VectorBuilder};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "json_each",
        Overloads::Typed {
            shown: &[
                "json_each(json) -> STRUCT(key VARCHAR, value JSON, ...)[]",
                "json_each(json, path) -> STRUCT(key VARCHAR, value JSON, ...)[]",
            ],
            resolve: resolve_each,
        },
        "the members of an object or the items of an array; a table in FROM",
        "json_each('[7]')[1].key = '0'",
    )
    .special_nulls()
    .fallible(),
    Function::new(
        "json_tree",
        Overloads::Typed {
            shown: &[
                "json_tree(json) -> STRUCT(key VARCHAR, value JSON, ...)[]",
                "json_tree(json, path) -> STRUCT(key VARCHAR, value JSON, ...)[]",
            ],
            resolve: resolve_tree,
        },
        "a document and all parts of it; a table in FROM",
        "json_tree('[7]')[2].fullkey = '$[0]'",
    )
    .special_nulls()
    .fallible(),
];

fn row_type() -> LogicalType {
    let field = |name: &str, ty: LogicalType| (name.to_string(), ty);
    LogicalType::structure(vec![
        field("key", Varchar),
        field("value", LogicalType::Json),
        field("type", Varchar),
        field("atom", LogicalType::Json),
        field("id", UBigInt),
        field("parent", UBigInt),
        field("fullkey", Varchar),
        field("path", Varchar),
    ])
}

fn resolve_each(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    resolve(args, false)
}

fn resolve_tree(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    resolve(args, true)
}

fn resolve(args: &[ArgType], deep: bool) -> Option<Resolved> {
    let is_text = |arg: &ArgType| matches!(arg.ty, Varchar | LogicalType::Json | LogicalType::Null);
    if !(1..=2).contains(&args.len()) || !args.iter().all(is_text) {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        *out = rows_of(args, len, deep)?;
        Ok(())
    });
    Some(Resolved::fallible(vec![Varchar; args.len()], LogicalType::list(row_type()), kernel))
}

fn rows_of(args: &[&Vector], len: usize, deep: bool) -> Result<Vector> {
    let documents = TextColumn::of(args[0]);
    let paths = args.get(1).map(|path| TextColumn::of(path));
    let mut rows = Rows::new();
    let mut offsets = vec![0u32];
    for row in 0..len {
        if !args.iter().any(|arg| arg.is_null(row)) {
            let document = Json::parse(documents.text(row))?;
            let start = match &paths {
                Some(paths) => start(&document, paths.text(row))?,
                None => Some(&document),
            };
            if let Some(start) = start {
                let mut walk = Walk { rows: &mut rows, start, deep, next: 0 };
                walk.visit(&document, "$", None)?;
            }
        }
        offsets.push(u32::try_from(rows.len).map_err(|_| too_many())?);
    }
    let ty = row_type();
    let count = rows.len;
    let columns = rows.finish();
    let structs = pack_struct(&ty, &columns.iter().collect::<Vec<_>>(), count, None)?;
    pack_lists(&LogicalType::list(ty), &structs, &offsets, None)
}

fn too_many() -> Error {
    Error::out_of_range("JSON documents of more than 4 billion parts at a time")
}

/// The part that a path leads to.
fn start<'j, 'a>(document: &'j Json<'a>, path: &str) -> Result<Option<&'j Json<'a>>> {
    if !path.starts_with('$') {
        let message = format!("the path '{path}' of json_each and json_tree must begin with $");
        return Err(Error::invalid_argument(message));
    }
    let path = Path::parse(path)?;
    if path.is_many() {
        return Err(Error::invalid_argument(
            "a path of json_each and json_tree may not have *: it leads to one part",
        ));
    }
    Ok(path.find(document).into_iter().next())
}

/// The columns being made.
struct Rows {
    texts: [VectorBuilder; 6],
    ids: Vec<u64>,
    parents: Vec<Option<u64>>,
    len: usize,
}

const KEY: usize = 0;
const VALUE: usize = 1;
const TYPE: usize = 2;
const ATOM: usize = 3;
const FULL_KEY: usize = 4;
const PATH: usize = 5;

impl Rows {
    fn new() -> Self {
        let text = |ty: LogicalType| VectorBuilder::new(ty, 0);
        let json = || text(LogicalType::Json);
        let texts = [text(Varchar), json(), text(Varchar), json(), text(Varchar), text(Varchar)];
        Self { texts, ids: Vec::new(), parents: Vec::new(), len: 0 }
    }

    fn push(&mut self, part: &Json<'_>, place: &Place<'_>) {
        let mut written = String::new();
        part.write(&mut written);
        let is_atom = !matches!(part, Json::Array(_) | Json::Object(_) | Json::Null);
        let mut set = |column: usize, text: Option<&str>| match text {
            Some(text) => self.texts[column].push_bytes(text.as_bytes()),
            None => self.texts[column].push_null(),
        };
        set(KEY, place.key);
        set(VALUE, Some(&written));
        set(TYPE, Some(part.type_name()));
        set(ATOM, is_atom.then_some(written.as_str()));
        set(FULL_KEY, Some(place.full_key));
        set(PATH, Some(place.path));
        self.ids.push(place.id);
        self.parents.push(place.parent);
        self.len += 1;
    }

    fn finish(self) -> Vec<Vector> {
        let mut parents = VectorBuilder::new(UBigInt, self.len);
        for parent in self.parents {
            match parent {
                Some(parent) => parents.push_native(parent),
                None => parents.push_null(),
            }
        }
        let [key, value, ty, atom, full_key, path] = self.texts.map(VectorBuilder::finish);
        let ids = Vector::from_values(UBigInt, &self.ids);
        vec![key, value, ty, atom, ids, parents.finish(), full_key, path]
    }
}

/// Where a part stands.
struct Place<'p> {
    key: Option<&'p str>,
    id: u64,
    parent: Option<u64>,
    full_key: &'p str,
    path: &'p str,
}

/// A walk through a document. Parts are numbered as they come in its text, keys among them.
struct Walk<'w, 'j, 'a> {
    rows: &'w mut Rows,
    start: &'j Json<'a>,
    deep: bool,
    next: u64,
}

impl<'j, 'a> Walk<'_, 'j, 'a> {
    /// Goes through `part`; `inside` is how far below the start it is, with its place.
    fn visit(&mut self, part: &'j Json<'a>, full_key: &str, inside: Option<&Place<'_>>) -> Result<()> {
        let id = self.next;
        self.next += 1;
        let is_start = std::ptr::eq(part, self.start);
        let is_leaf = !matches!(part, Json::Array(_) | Json::Object(_));
        if is_start && (self.deep || is_leaf) {
            self.rows.push(part, &Place { key: None, id, parent: None, full_key, path: full_key });
        }
        if let Some(place) = inside {
            self.rows.push(part, &Place { id, ..*place });
        }
        let wanted = is_start || (inside.is_some() && self.deep);
        let child = |walk: &mut Self, part: &'j Json<'a>, key: &str, step: &str| {
            let full = format!("{full_key}{step}");
            let parent = walk.deep.then_some(id);
            let place = Place { key: Some(key), id: 0, parent, full_key: &full, path: full_key };
            walk.visit(part, &full, wanted.then_some(&place))
        };
        match part {
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    child(self, item, &index.to_string(), &format!("[{index}]"))?;
                }
            }
            Json::Object(members) => {
                for (key, value) in members {
                    self.next += 1;
                    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic())
                        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                    let mut step = String::from(".");
                    if plain {
                        step.push_str(key);
                    } else {
                        quote(key, &mut step);
                    }
                    child(self, value, key, &step)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
