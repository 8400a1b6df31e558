//! Expression simplification: constants are folded, boolean logic is brought into the form that later passes read.
//!
//! After it
//! - what has no columns is a literal, unless evaluating it fails (then it fails when rows reach it, not before);
//! - literals stand on the right of comparisons, NOT in front of what cannot absorb it only;
//! - AND and OR are flat, without TRUE and FALSE; conjuncts that all branches of an OR share stand before it
//!   (TPC-H Q19); `x = 1 OR x = 2` is an IN list;
//! - a column is compared with a literal of its own type where that is exact, so that scans can filter encoded data;
//! - `LIKE 'abc%'` is a range.
//!
//! All rules hold in three-valued logic.

use super::evaluate;
use super::properties::is_lossless_cast;
use super::rewrite::{conjuncts_of, split_conjuncts, with_stack};
use crate::plan::expr::COLLATE;
use crate::plan::{CompareOp, ConstantList, Expr, Plan};
use inlay_kernels::function::Volatility;
use inlay_kernels::{Cmp, boolean, cast, cast_value, compare};
use inlay_types::{LogicalType, Value, Vector, datetime::MICROS_PER_DAY};
use std::sync::Arc;

/// Simplifies every expression of a plan.
pub fn run(plan: &mut Plan) {
    with_stack(|| {
        plan.inputs_mut().into_iter().for_each(run);
        // What is nearest is told by an inequality, also where it is known to hold for no row.
        if let Plan::OrderedJoin { conditions, .. } = plan
            && let Some((nearest, keys)) = conditions.split_last_mut()
        {
            keys.iter_mut().for_each(simplify);
            let written = nearest.clone();
            simplify(nearest);
            if !matches!(nearest, Expr::Compare { .. }) || nearest.columns() != written.columns() {
                *nearest = written;
            }
            return;
        }
        plan.expressions_mut().into_iter().for_each(simplify);
        match plan {
            Plan::Filter { predicates: list, .. }
            | Plan::Scan { filters: list, .. }
            | Plan::Source { filters: list, .. }
            | Plan::Join { conditions: list, .. }
            | Plan::DependentJoin { conditions: list, .. } => {
                let needs_split = |e: &Expr| matches!(e, Expr::And(_) | Expr::Literal { .. });
                if list.iter().any(needs_split) {
                    *list = conjuncts_of(std::mem::take(list));
                }
            }
            _ => {}
        }
    });
}

/// The simplified form of one expression.
pub fn expression(mut expr: Expr) -> Expr {
    simplify(&mut expr);
    expr
}

fn simplify(expr: &mut Expr) {
    match expr {
        Expr::Column { .. } | Expr::Literal { .. } => return,
        _ => with_stack(|| expr.children_mut().into_iter().for_each(simplify)),
    }
    if fold(expr) {
        return;
    }
    let whole = std::mem::replace(expr, Expr::boolean(false));
    *expr = match whole {
        Expr::And(parts) => conjunction(parts),
        Expr::Or(parts) => disjunction(parts),
        Expr::Not(input) => negation(*input),
        Expr::Compare { op, left, right } => comparison(op, *left, *right),
        Expr::InList { input, list } => in_list(*input, list),
        Expr::InConstants { input, list } => in_constants(*input, list),
        Expr::Case { branches, otherwise, ty } => case(branches, *otherwise, ty),
        Expr::Coalesce { args, ty } => coalesce(args, ty),
        Expr::Cast { input, ty, .. } if input.ty() == ty => *input,
        Expr::Call { function, mut args, .. } if function.name == COLLATE && args.len() == 2 => {
            args.swap_remove(0)
        }
        Expr::Call { .. } => {
            super::made_parts::joined(super::json_paths::joined(field_of_pack(like_prefix(whole))))
        }
        Expr::Lambda(_) => super::made_parts::mapped(whole),
        other => other,
    };
}

fn literal(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Literal { value, .. } => Some(value),
        _ => None,
    }
}

fn is_boolean(expr: &Expr, wanted: bool) -> bool {
    literal(expr) == Some(&Value::Boolean(wanted))
}

fn null_of(ty: LogicalType) -> Expr {
    Expr::Literal { value: Value::Null, ty }
}

/// Replaces an expression over literals by its value. Returns whether it did.
fn fold(expr: &mut Expr) -> bool {
    let own = match expr {
        Expr::Call { function, .. } => function.volatility == Volatility::Immutable,
        Expr::Case { .. } | Expr::Column { .. } | Expr::Literal { .. } => false,
        _ => true,
    };
    if !own || !expr.children().into_iter().all(|child| literal(child).is_some()) {
        return false;
    }
    let ty = expr.ty();
    match evaluate::constant(expr) {
        Ok(value) => {
            *expr = Expr::Literal { value, ty };
            true
        }
        Err(_) => false,
    }
}

fn conjunction(parts: Vec<Expr>) -> Expr {
    let mut flat: Vec<Expr> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Expr::And(inner) => inner.into_iter().for_each(|e| push_new(&mut flat, e)),
            other => push_new(&mut flat, other),
        }
    }
    if flat.iter().any(|e| is_boolean(e, false)) {
        return Expr::boolean(false);
    }
    flat.retain(|e| !is_boolean(e, true));
    Expr::and(flat)
}

/// Looking for equal expressions among more than these costs more than it saves.
const SEARCHED_MAX: usize = 64;

fn push_new(list: &mut Vec<Expr>, expr: Expr) {
    if list.len() > SEARCHED_MAX || !expr.is_deterministic() || !list.contains(&expr) {
        list.push(expr);
    }
}

fn disjunction(parts: Vec<Expr>) -> Expr {
    let mut flat: Vec<Expr> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Expr::Or(inner) => inner.into_iter().for_each(|e| push_new(&mut flat, e)),
            other => push_new(&mut flat, other),
        }
    }
    if flat.iter().any(|e| is_boolean(e, true)) {
        return Expr::boolean(true);
    }
    flat.retain(|e| !is_boolean(e, false));
    match flat.len() {
        0 => return Expr::boolean(false),
        1 => return flat.swap_remove(0),
        _ => {}
    }
    if let Some(list) = as_in_list(&flat) {
        return list;
    }
    extract_common(flat)
}

/// `x = 1 OR x IN (2, 3)` as `x IN (1, 2, 3)`.
fn as_in_list(branches: &[Expr]) -> Option<Expr> {
    let mut input: Option<&Expr> = None;
    let mut list = Vec::new();
    for branch in branches {
        let (tested, values): (&Expr, &[Expr]) = match branch {
            Expr::Compare { op: CompareOp::Eq, left, right } if literal(right).is_some() => {
                (left, std::slice::from_ref(&**right))
            }
            Expr::InList { input, list } if list.iter().all(|e| literal(e).is_some()) => (input, list),
            _ => return None,
        };
        if !tested.is_deterministic() || input.is_some_and(|input| input != tested) {
            return None;
        }
        input = Some(tested);
        values.iter().for_each(|v| push_new(&mut list, v.clone()));
    }
    Some(Expr::InList { input: Box::new(input?.clone()), list })
}

/// `(a AND b) OR (a AND c)` as `a AND (b OR c)`.
fn extract_common(branches: Vec<Expr>) -> Expr {
    let mut split: Vec<Vec<Expr>> = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut conjuncts = Vec::new();
        split_conjuncts(branch, &mut conjuncts);
        split.push(conjuncts);
    }
    let common: Vec<Expr> = split[0]
        .iter()
        .take(SEARCHED_MAX)
        .filter(|e| e.is_deterministic() && split[1..].iter().all(|branch| branch.contains(e)))
        .cloned()
        .collect();
    if common.is_empty() {
        return Expr::Or(split.into_iter().map(Expr::and).collect());
    }
    split.iter_mut().for_each(|branch| branch.retain(|e| !common.contains(e)));
    let mut all = common;
    if !split.iter().any(Vec::is_empty) {
        all.push(disjunction(split.into_iter().map(Expr::and).collect()));
    }
    conjunction(all)
}

fn negation(input: Expr) -> Expr {
    match input {
        Expr::Not(inner) => *inner,
        Expr::Compare { op, left, right } => Expr::Compare { op: op.negated(), left, right },
        Expr::And(parts) => disjunction(parts.into_iter().map(negation).collect()),
        Expr::Or(parts) => conjunction(parts.into_iter().map(negation).collect()),
        Expr::Literal { value: Value::Boolean(value), .. } => Expr::boolean(!value),
        other => Expr::Not(Box::new(other)),
    }
}

fn comparison(op: CompareOp, left: Expr, right: Expr) -> Expr {
    let (op, left, right) = if literal(&left).is_some() && literal(&right).is_none() {
        (op.flipped(), right, left)
    } else {
        (op, left, right)
    };
    let tests_distinct = matches!(op, CompareOp::Distinct | CompareOp::NotDistinct);
    if let Some(value) = literal(&right) {
        match (value, op) {
            (Value::Null, CompareOp::NotDistinct) => return Expr::IsNull(Box::new(left)),
            (Value::Null, CompareOp::Distinct) => return Expr::Not(Box::new(Expr::IsNull(Box::new(left)))),
            // The left side is evaluated for its errors only where it can have some, and where somebody counts.
            (Value::Null, _) if !left.can_fail() && !left.is_volatile() => {
                return null_of(LogicalType::Boolean);
            }
            (Value::Boolean(true), CompareOp::Eq) | (Value::Boolean(false), CompareOp::NotEq) => return left,
            (Value::Boolean(false), CompareOp::Eq) | (Value::Boolean(true), CompareOp::NotEq) => {
                return negation(left);
            }
            _ => {}
        }
        if let Expr::Cast { input, ty, or_null: false, .. } = &left
            && let Some(narrow) = narrowed(value, input.ty(), ty.clone())
        {
            return Expr::compare(op, (**input).clone(), narrow);
        }
    }
    if let (Expr::Cast { input: a, ty: to, or_null: false, .. }, Expr::Cast { input: b, or_null: false, .. }) =
        (&left, &right)
        && a.ty() == b.ty()
        && is_lossless_cast(a.ty(), to.clone())
        && !tests_distinct
    {
        return Expr::compare(op, (**a).clone(), (**b).clone());
    }
    Expr::compare(op, left, right)
}

/// The literal of type `narrow` that compares with a column like `value` does with the column cast to `wide`.
fn narrowed(value: &Value, narrow: LogicalType, wide: LogicalType) -> Option<Expr> {
    if value.is_null() {
        return None;
    }
    if let (LogicalType::Date, LogicalType::Timestamp, Value::Timestamp(micros)) = (&narrow, &wide, value) {
        let is_midnight = micros.rem_euclid(MICROS_PER_DAY) == 0;
        let days = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()?;
        return is_midnight.then(|| Expr::literal(Value::Date(days)));
    }
    if !is_lossless_cast(narrow.clone(), wide.clone()) {
        return None;
    }
    let converted = cast_value(value, &narrow).ok()?;
    let back = cast_value(&converted, &wide).ok()?;
    (back == *value).then_some(Expr::Literal { value: converted, ty: narrow })
}

fn in_list(input: Expr, list: Vec<Expr>) -> Expr {
    let mut unique: Vec<Expr> = Vec::with_capacity(list.len());
    if list.len() <= SEARCHED_MAX {
        list.into_iter().for_each(|e| push_new(&mut unique, e));
    } else {
        unique = list;
    }
    if let Expr::Cast { input: inner, ty, or_null: false, .. } = &input {
        let narrow = |e: &Expr| literal(e).and_then(|value| narrowed(value, inner.ty(), ty.clone()));
        if let Some(list) = unique.iter().map(narrow).collect::<Option<Vec<_>>>() {
            return in_list((**inner).clone(), list);
        }
    }
    if unique.len() == 1 {
        return comparison(CompareOp::Eq, input, unique.swap_remove(0));
    }
    Expr::InList { input: Box::new(input), list: unique }
}

fn in_constants(input: Expr, list: Arc<ConstantList>) -> Expr {
    if let Expr::Cast { input: inner, ty, or_null: false, .. } = &input
        && let Some(list) = narrowed_list(&list, inner.ty(), ty.clone())
    {
        return in_constants((**inner).clone(), Arc::new(list));
    }
    if list.len() == 1 && !list.has_null() {
        let value = list.values().get(0);
        return comparison(CompareOp::Eq, input, Expr::Literal { value, ty: list.values().logical_type() });
    }
    Expr::InConstants { input: Box::new(input), list }
}

/// The list of type `narrow` that holds of a column what `list` does of the column cast to `wide`: of values that no
/// value of type `narrow` becomes, none is found.
fn narrowed_list(list: &ConstantList, narrow: LogicalType, wide: LogicalType) -> Option<ConstantList> {
    let is_day = narrow == LogicalType::Date && wide == LogicalType::Timestamp;
    if !(is_day || is_lossless_cast(narrow.clone(), wide.clone())) || !ConstantList::holds(&narrow) {
        return None;
    }
    let count = list.len();
    let (mut converted, mut back) = (Vector::empty(narrow.clone()), Vector::empty(wide.clone()));
    cast(list.values(), &narrow, true, &mut converted).ok()?;
    cast(&converted, &wide, true, &mut back).ok()?;
    let mut same = Vector::empty(LogicalType::Boolean);
    compare(Cmp::Eq, list.values(), &back, count, &mut same).ok()?;
    let mut kept = Vec::new();
    boolean::select_true(&same, count, None, &mut kept);
    let narrowed = ConstantList::new(&converted.take(&kept)).with_null(list.has_null());
    // Without any constant NULL would not be found in nothing, which is FALSE.
    (!narrowed.is_empty() || narrowed.has_null()).then_some(narrowed)
}

fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr, ty: LogicalType) -> Expr {
    let mut kept = Vec::with_capacity(branches.len());
    let mut otherwise = otherwise;
    for (condition, value) in branches {
        match literal(&condition) {
            Some(Value::Boolean(true)) => {
                otherwise = value;
                break;
            }
            Some(_) => {}
            None => kept.push((condition, value)),
        }
    }
    if kept.is_empty() {
        otherwise
    } else {
        Expr::Case { branches: kept, otherwise: Box::new(otherwise), ty }
    }
}

fn coalesce(args: Vec<Expr>, ty: LogicalType) -> Expr {
    let mut kept = Vec::with_capacity(args.len());
    for arg in args {
        match literal(&arg) {
            Some(Value::Null) => {}
            Some(_) => {
                kept.push(arg);
                break;
            }
            None => kept.push(arg),
        }
    }
    match kept.len() {
        0 => null_of(ty),
        1 => kept.swap_remove(0),
        _ => Expr::Coalesce { args: kept, ty },
    }
}

/// `{'a': x, 'b': y}.a` as `x`, if the other fields have no errors to tell.
fn field_of_pack(expr: Expr) -> Expr {
    let Expr::Call { function, args, .. } = &expr else { return expr };
    let [Expr::Call { function: maker, args: parts, .. }, key] = args.as_slice() else { return expr };
    if !matches!(&*function.name, "struct_extract" | "struct_extract_at")
        || !matches!(&*maker.name, "struct_pack" | "row")
        || parts.iter().any(|part| part.can_fail() || !part.is_deterministic())
    {
        return expr;
    }
    let LogicalType::Struct(fields) = &maker.return_type else { return expr };
    let index = field_position(fields, key);
    let part = index.and_then(|index| parts.get(index)).filter(|part| part.ty() == function.return_type);
    part.cloned().unwrap_or(expr)
}

/// The place of the field that a name, or a position from 1, stands for.
pub(super) fn field_position(fields: &[inlay_types::logical_type::Field], key: &Expr) -> Option<usize> {
    let place = match literal(key)? {
        Value::Varchar(name) => fields
            .iter()
            .position(|field| *field.name == **name)
            .or_else(|| fields.iter().position(|field| field.name.eq_ignore_ascii_case(name)))?,
        position => usize::try_from(position.as_i128()?.checked_sub(1)?).ok()?,
    };
    (place < fields.len()).then_some(place)
}

/// `x LIKE 'abc%'` as `x >= 'abc' AND x < 'abd'`, and `x LIKE 'abc'` as `x = 'abc'`.
fn like_prefix(expr: Expr) -> Expr {
    let Expr::Call { function, args, .. } = &expr else { return expr };
    if !matches!(&*function.name, "like" | "~~") || args.len() != 2 || args[0].ty() != LogicalType::Varchar {
        return expr;
    }
    let (input, Some(Value::Varchar(pattern))) = (&args[0], literal(&args[1])) else { return expr };
    let (prefix, is_open) = match pattern.strip_suffix('%') {
        Some(prefix) => (prefix, true),
        None => (pattern.as_str(), false),
    };
    if prefix.contains(['%', '_', '\\']) || !input.is_deterministic() {
        return expr;
    }
    let text = |s: &str| Expr::literal(Value::Varchar(s.to_string()));
    if !is_open {
        return Expr::compare(CompareOp::Eq, input.clone(), text(prefix));
    }
    // Bytes order strings, so the bound behind all of them is the prefix with its last byte raised.
    let Some(last) = prefix.bytes().last().filter(|b| *b < 0x7e) else { return expr };
    let mut bound = prefix[..prefix.len() - 1].to_string();
    bound.push((last + 1) as char);
    Expr::And(vec![
        Expr::compare(CompareOp::GtEq, input.clone(), text(prefix)),
        Expr::compare(CompareOp::Lt, input.clone(), text(&bound)),
    ])
}
