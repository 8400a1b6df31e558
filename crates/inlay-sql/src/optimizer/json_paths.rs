//! `j -> 'a' ->> 'b'` as `j ->> '$."a"."b"'`: a document is gone through once, and what lies between is neither written nor read.

use crate::plan::Expr;
use inlay_kernels::json::value::Path;
use inlay_types::{LogicalType, Value};

/// Functions that give of a part of a document what they give of the part as a document, and NULL where there is none.
const OF_PARTS: [&str; 5] =
    ["json_extract", "json_extract_string", "json_value", "json_type", "json_array_length"];

/// The call with the path that both its own and that of the call it looks at make; any other expression as it is.
pub(super) fn joined(expr: Expr) -> Expr {
    inner_parts(&expr).unwrap_or(expr)
}

fn inner_parts(expr: &Expr) -> Option<Expr> {
    let Expr::Call { function, args, place } = expr else { return None };
    let [source, path] = args.as_slice() else { return None };
    let is_text = |ty: &LogicalType| *ty == LogicalType::Varchar;
    if !OF_PARTS.contains(&&*function.name) || !function.arg_types.iter().all(is_text) {
        return None;
    }
    let call = match source {
        Expr::Cast { input, ty: LogicalType::Varchar, .. } => &**input,
        other => other,
    };
    let Expr::Call { function: inner, args: inner_args, .. } = call else { return None };
    let [document, inner_path] = inner_args.as_slice() else { return None };
    let is_part = inner.name == "json_extract" && inner.return_type == LogicalType::Json;
    if !is_part || document.ty() != LogicalType::Varchar {
        return None;
    }
    let path = format!("${}{}", steps(inner_path)?, steps(path)?);
    let path = Expr::Literal { value: Value::Varchar(path), ty: LogicalType::Varchar };
    Some(Expr::Call { function: function.clone(), args: vec![document.clone(), path], place: *place })
}

/// What follows `$` in a path that leads to one part by keys and positions; `None` of any other.
fn steps(path: &Expr) -> Option<String> {
    let Expr::Literal { value, .. } = path else { return None };
    match value {
        Value::BigInt(position) => Some(format!("[{position}]")),
        Value::Varchar(text) => {
            let path = Path::parse(text).ok()?;
            if path.is_many() || path.is_pointer() {
                return None;
            }
            Some(match text.strip_prefix('$') {
                Some(steps) => steps.to_string(),
                None if text.is_empty() => String::new(),
                None => format!(".\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            })
        }
        _ => None,
    }
}
