//! Paths of files taken apart and put together.

use super::is_text;
use super::rows::{Part, each_known};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::Varchar;
use inlay_types::{Error, LogicalType, Result};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[Function::typed(
    "parse_path",
    &["parse_path(VARCHAR) -> VARCHAR[]", "parse_path(VARCHAR, separator) -> VARCHAR[]"],
    |args, _| resolve_parse(args),
    "the folders and the file of a path; the separator is 'system', 'both_slash', 'forward_slash' or 'backslash'",
    "parse_path('a/b/c.csv') = '[a, b, c.csv]'",
).special_nulls()];

fn separators(name: Option<&str>) -> Result<&'static [char]> {
    Ok(match name {
        None | Some("default" | "both_slash") => &['/', '\\'],
        Some("system") if cfg!(windows) => &['\\'],
        Some("system" | "forward_slash") => &['/'],
        Some("backslash") => &['\\'],
        Some(other) => {
            let known = "there are system, both_slash, forward_slash and backslash";
            return Err(Error::invalid_argument(format!("no separator of paths is named '{other}'"))
                .with_hint(known.to_string()));
        }
    })
}

fn resolve_parse(args: &[ArgType]) -> Option<Resolved> {
    if !(1..=2).contains(&args.len()) || !args.iter().all(is_text) {
        return None;
    }
    let ty = LogicalType::list(Varchar);
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let path = args.text(0, row).unwrap_or_default();
            let separators = separators(args.text(1, row))?;
            let root = path.chars().next().filter(|c| separators.contains(c)).map(|_| &path.as_bytes()[..1]);
            let names = path.split(separators).filter(|name| !name.is_empty()).map(str::as_bytes);
            out.push_list(&Varchar, &root.into_iter().chain(names).map(Some).collect::<Vec<Part<'_>>>())
        })
    });
    Some(Resolved {
        can_fail: args.len() > 1,
        ..Resolved::infallible(vec![Varchar; args.len()], returns, kernel)
    })
}
