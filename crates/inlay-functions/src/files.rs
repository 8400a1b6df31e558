//! Names of files and folders put together.

use super::columns::{TextColumn, write_text, write_text_or_null};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::Varchar;
use inlay_types::{Error, Result, Vector};

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "path_join",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, path_join).variadic()]),
        "the parts of a path joined, without . and .. as far as they can be resolved",
        "path_join('data', '..', 'other/', 'file.csv') = 'other/file.csv'",
    )
    .fallible(),
    Function::new(
        "hive_partition_component",
        Overloads::Typed {
            shown: &["hive_partition_component(VARCHAR, any) -> VARCHAR"],
            resolve: resolve_component,
        },
        "the folder of a value in a hive-partitioned data set",
        "hive_partition_component('year', 2024) = 'year=2024'",
    )
    .special_nulls(),
];

/// A path in parts.
#[derive(Default)]
struct Path<'a> {
    /// `/`, `s3://bucket`, which nothing leads out of, or nothing.
    root: &'a str,
    /// A slash stands between the root and the first name.
    is_host: bool,
    names: Vec<&'a str>,
}

impl<'a> Path<'a> {
    fn of(text: &'a str) -> Self {
        let scheme = text.find("://").filter(|at| text[..*at].bytes().all(|b| b.is_ascii_alphanumeric()));
        let root = match scheme {
            Some(at) if at > 0 => {
                let host = &text[at + 3..];
                at + 3 + host.find(['/', '\\']).unwrap_or(host.len())
            }
            _ => usize::from(text.starts_with(['/', '\\'])),
        };
        let is_host = scheme.is_some_and(|at| at > 0);
        let names = text[root..].split(['/', '\\']).filter(|name| !name.is_empty() && *name != ".");
        Self { root: &text[..root], is_host, names: names.collect() }
    }

    fn push(&mut self, name: &'a str) {
        match self.names.last() {
            Some(last) if name == ".." && *last != ".." => {
                self.names.pop();
            }
            None if name == ".." && !self.root.is_empty() => {}
            _ => self.names.push(name),
        }
    }
}

fn path_join(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let columns: Vec<TextColumn<'_>> = args.iter().map(|arg| TextColumn::of(arg)).collect();
    write_text(args, len, out, |row, text| {
        let mut joined = Path::default();
        for (index, column) in columns.iter().enumerate() {
            let part = Path::of(column.text(row));
            if !part.root.is_empty() && index > 0 {
                if part.root != joined.root || !part.names.starts_with(&joined.names) {
                    let message = format!(
                        "path_join: '{}' is absolute and does not continue what stands before it",
                        column.text(row)
                    );
                    return Err(Error::invalid_argument(message));
                }
                joined.names.clear();
            }
            if index == 0 {
                (joined.root, joined.is_host) = (part.root, part.is_host);
            }
            part.names.into_iter().for_each(|name| joined.push(name));
        }
        text.extend_from_slice(joined.root.as_bytes());
        if joined.is_host && (columns.len() > 1 || !joined.names.is_empty()) && !joined.root.ends_with('/') {
            text.push(b'/');
        }
        if joined.root.is_empty() && joined.names.is_empty() {
            text.push(b'.');
        }
        text.extend_from_slice(joined.names.join("/").as_bytes());
        Ok(())
    })
}

fn resolve_component(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [_, _] = args else { return None };
    let kernel = kernel(|args: &[&Vector], len: usize, out: &mut Vector| {
        let (name, value) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
        write_text_or_null(args, len, out, |row, text| {
            if args[0].is_null(row) {
                return Ok(false);
            }
            escape(name.get(row), text);
            text.push(b'=');
            match args[1].is_null(row) {
                true => text.extend_from_slice(b"__HIVE_DEFAULT_PARTITION__"),
                false => escape(value.get(row), text),
            }
            Ok(true)
        })
    });
    Some(Resolved::infallible(vec![Varchar, Varchar], Varchar, kernel))
}

/// As in URLs.
fn escape(bytes: &[u8], text: &mut Vec<u8>) {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(byte);
        } else {
            text.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
}
