//! What holds for the rows of a plan: which columns it makes and reads, which are never NULL, which are keys.
//!
//! Everything here is a proof from the plan, the declared constraints of tables and the keys that were found in them
//! ([`super::found_keys`]); statistics are never used, so that passes may change plans by it. What cannot be proven is left out of the answer. Called by most passes.

use super::column_set::ColumnSet;
use crate::plan::{
    ColumnId, CompareOp, Expr, JoinKind, LambdaKind, OrderedJoinKind, Plan, ScanColumn, SetOpKind,
};
use inlay_kernels::function::NullHandling;
use inlay_types::LogicalType;

/// Every column that some operator of `plan` makes.
pub fn made_columns(plan: &Plan) -> ColumnSet {
    let mut made = ColumnSet::new();
    collect_made(plan, &mut made);
    made
}

fn collect_made(plan: &Plan, made: &mut ColumnSet) {
    let mut add = |id: ColumnId| {
        made.insert(id);
    };
    match plan {
        Plan::Scan { .. } => plan.output().into_iter().for_each(&mut add),
        Plan::Source { columns, .. } => columns.iter().map(|c| c.id).for_each(&mut add),
        Plan::Values { columns, .. } | Plan::SetOp { columns, .. } | Plan::Recursive { columns, .. } => {
            columns.iter().copied().for_each(&mut add)
        }
        Plan::Project { items, .. } => {
            items.iter().filter(|(id, e)| !is_pass_through(*id, e)).for_each(|(id, _)| add(*id));
        }
        Plan::Aggregate { groups, aggregates, .. } => {
            groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)).for_each(&mut add);
        }
        Plan::TableCall { columns, ordinality, .. } => {
            columns.iter().copied().chain(*ordinality).for_each(&mut add);
        }
        Plan::Unnest { lists, ordinality, .. } => {
            lists.iter().map(|(id, _)| *id).chain(*ordinality).for_each(&mut add);
        }
        Plan::Window { windows, .. } => windows.iter().map(|(id, _)| *id).for_each(&mut add),
        Plan::Join { kind: JoinKind::Mark(mark), .. }
        | Plan::DependentJoin { kind: JoinKind::Mark(mark), .. } => {
            add(*mark);
        }
        Plan::SharedScan { columns, .. } => columns.iter().map(|(id, _)| *id).for_each(&mut add),
        Plan::Filter { .. }
        | Plan::Join { .. }
        | Plan::DependentJoin { .. }
        | Plan::OrderedJoin { .. }
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::GroupLimit { .. }
        | Plan::Sample { .. }
        | Plan::LimitBy { .. }
        | Plan::With { .. } => {}
    }
    plan.inputs().into_iter().for_each(|input| collect_made(input, made));
}

/// Every column that some expression of `plan` reads.
pub fn read_columns(plan: &Plan) -> ColumnSet {
    fn collect(plan: &Plan, read: &mut ColumnSet) {
        plan.expressions().into_iter().for_each(|expr| read.add_expr(expr));
        if let Plan::SetOp { left_columns: first, right_columns: second, .. }
        | Plan::Recursive { initial_columns: first, step_columns: second, .. } = plan
        {
            first.iter().chain(second).for_each(|id| {
                read.insert(*id);
            });
        }
        plan.inputs().into_iter().for_each(|input| collect(input, read));
    }
    let mut read = ColumnSet::new();
    collect(plan, &mut read);
    read
}

/// The columns that `plan` reads and does not make: those of enclosing dependent joins.
pub fn free_columns(plan: &Plan) -> ColumnSet {
    read_columns(plan).difference(&made_columns(plan))
}

/// The columns that `plan` hands on.
pub fn output_set(plan: &Plan) -> ColumnSet {
    plan.output().iter().collect()
}

/// Whether a projection item hands on a column as itself.
pub fn is_pass_through(id: ColumnId, expr: &Expr) -> bool {
    matches!(expr, Expr::Column { id: read, .. } if *read == id)
}

/// The column, if the expression is one.
pub fn as_column(expr: &Expr) -> Option<ColumnId> {
    match expr {
        Expr::Column { id, .. } => Some(*id),
        _ => None,
    }
}

/// The two columns of `a = b`.
pub fn as_column_equality(expr: &Expr) -> Option<(ColumnId, ColumnId)> {
    match expr {
        Expr::Compare { op: CompareOp::Eq, left, right } => Some((as_column(left)?, as_column(right)?)),
        _ => None,
    }
}

/// Columns of which one NULL makes the expression NULL.
pub fn strict_columns(expr: &Expr) -> ColumnSet {
    match expr {
        Expr::Column { id, .. } => ColumnSet::from_iter([*id]),
        Expr::Cast { input, .. } | Expr::Not(input) => strict_columns(input),
        Expr::Call { function, args, .. } if function.null_handling == NullHandling::Propagate => {
            union_of(args)
        }
        Expr::Compare { op: CompareOp::Distinct | CompareOp::NotDistinct, .. } => ColumnSet::new(),
        Expr::Compare { left, right, .. } => strict_columns(left).union(&strict_columns(right)),
        Expr::InList { input, .. } | Expr::InConstants { input, .. } => strict_columns(input),
        Expr::And(parts) | Expr::Or(parts) => {
            let mut parts = parts.iter().map(strict_columns);
            let first = parts.next().unwrap_or_default();
            parts.fold(first, |all, part| all.intersection(&part))
        }
        Expr::Literal { .. }
        | Expr::Call { .. }
        | Expr::IsNull(_)
        | Expr::Case { .. }
        | Expr::Coalesce { .. }
        | Expr::Lambda(_) => ColumnSet::new(),
    }
}

fn union_of(args: &[Expr]) -> ColumnSet {
    args.iter().fold(ColumnSet::new(), |all, arg| all.union(&strict_columns(arg)))
}

/// Columns that are not NULL in rows for which the predicate is TRUE.
pub fn rejected_nulls(predicate: &Expr) -> ColumnSet {
    match predicate {
        Expr::And(parts) => parts.iter().fold(ColumnSet::new(), |all, part| all.union(&rejected_nulls(part))),
        Expr::Or(parts) => {
            let mut parts = parts.iter().map(rejected_nulls);
            let first = parts.next().unwrap_or_default();
            parts.fold(first, |all, part| all.intersection(&part))
        }
        Expr::Not(input) => match &**input {
            Expr::IsNull(tested) => strict_columns(tested),
            other => strict_columns(other),
        },
        other => strict_columns(other),
    }
}

/// Whether the expression is never NULL when the columns of `not_null` are not.
pub fn is_never_null(expr: &Expr, not_null: &ColumnSet) -> bool {
    match expr {
        Expr::Column { id, .. } => not_null.contains(*id),
        Expr::Literal { value, .. } => !value.is_null(),
        Expr::Cast { input, or_null, .. } => !or_null && is_never_null(input, not_null),
        Expr::Compare { op: CompareOp::Distinct | CompareOp::NotDistinct, .. } | Expr::IsNull(_) => true,
        Expr::Compare { .. } | Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::InList { .. } => {
            expr.children().into_iter().all(|child| is_never_null(child, not_null))
        }
        Expr::InConstants { input, list } => !list.has_null() && is_never_null(input, not_null),
        Expr::Coalesce { args, .. } => args.iter().any(|arg| is_never_null(arg, not_null)),
        Expr::Case { branches, otherwise, .. } => {
            branches.iter().all(|(_, value)| is_never_null(value, not_null))
                && is_never_null(otherwise, not_null)
        }
        // A function may return NULL for arguments that are not (division by zero, say). Those that put their arguments together
        // return none.
        Expr::Call { function, args, .. } => {
            let mut known = args.iter().map(|arg| is_never_null(arg, not_null));
            let name = &*function.name;
            matches!(name, "struct_pack" | "row" | "list_value" | "array_value")
                // Lists that are NULL are left out, as long as one is not.
                || name == "list_concat" && args.len() > 1 && known.any(|is_known| is_known)
                // The largest of what is not NULL.
                || matches!(name, "greatest" | "least") && known.any(|is_known| is_known)
                // Lists of lists may have elements that are NULL, but are not NULL for that.
                || name == "flatten" && known.all(|is_known| is_known)
        }
        Expr::Lambda(_) => false,
    }
}

/// Output columns that are never NULL.
pub fn not_null_columns(plan: &Plan) -> ColumnSet {
    match plan {
        Plan::Scan { table, columns, filters, row_id, .. } => {
            let schema = table.table.schema();
            let is_full = |c: &&ScanColumn| schema.columns[c.index].not_null || c.full_at.is_some();
            let full = columns.iter().filter(is_full).map(|c| c.id);
            let mut set: ColumnSet = full.chain(*row_id).collect();
            filters.iter().for_each(|f| set.union_with(&rejected_nulls(f)));
            set
        }
        Plan::Source { filters, .. } => {
            filters.iter().fold(ColumnSet::new(), |a, f| a.union(&rejected_nulls(f)))
        }
        Plan::Values { columns, rows } => {
            let filled = |i: &usize| rows.iter().all(|row| is_never_null(&row[*i], &ColumnSet::new()));
            (0..columns.len()).filter(filled).map(|i| columns[i]).collect()
        }
        Plan::Project { input, items } => {
            let below = not_null_columns(input);
            items.iter().filter(|(_, e)| is_never_null(e, &below)).map(|(id, _)| *id).collect()
        }
        Plan::Filter { input, predicates } => {
            let mut set = not_null_columns(input);
            predicates.iter().for_each(|p| set.union_with(&rejected_nulls(p)));
            set
        }
        Plan::Join { kind, left, right, conditions, .. }
        | Plan::DependentJoin { kind, left, right, conditions } => {
            let mut set = not_null_columns(left);
            match kind {
                JoinKind::Inner => {
                    set.union_with(&not_null_columns(right));
                    conditions.iter().for_each(|c| set.union_with(&rejected_nulls(c)));
                }
                JoinKind::Semi => {
                    let left_columns = output_set(left);
                    conditions
                        .iter()
                        .for_each(|c| set.union_with(&rejected_nulls(c).intersection(&left_columns)));
                }
                JoinKind::Mark(mark) => {
                    let all = set.union(&not_null_columns(right));
                    if conditions.iter().all(|c| is_never_null(c, &all)) {
                        set.insert(*mark);
                    }
                }
                JoinKind::Full => return ColumnSet::new(),
                JoinKind::Left | JoinKind::Single | JoinKind::Anti => {}
            }
            set
        }
        Plan::Aggregate { input, groups, aggregates } => {
            let below = not_null_columns(input);
            let counts =
                aggregates.iter().filter(|(_, a)| a.function.kind.is_zero_of_nothing()).map(|(id, _)| *id);
            groups.iter().filter(|(_, e)| is_never_null(e, &below)).map(|(id, _)| *id).chain(counts).collect()
        }
        Plan::TableCall { ordinality, .. } => ordinality.iter().copied().collect(),
        Plan::Unnest { input, ordinality, keep_empty, .. } => {
            let numbered = ordinality.filter(|_| !keep_empty);
            not_null_columns(input).union(&numbered.into_iter().collect())
        }
        Plan::Window { input, windows } => {
            let never_null = windows.iter().filter(|(_, window)| window.is_never_null()).map(|(id, _)| *id);
            not_null_columns(input).union(&never_null.collect())
        }
        Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Sample { input, .. }
        | Plan::LimitBy { input, .. }
        | Plan::GroupLimit { input, .. } => not_null_columns(input),
        Plan::SetOp { kind, left, right, left_columns, right_columns, columns, .. } => {
            let (below_left, below_right) = (not_null_columns(left), not_null_columns(right));
            let filled = |i: &usize| {
                let (l, r) = (below_left.contains(left_columns[*i]), below_right.contains(right_columns[*i]));
                match kind {
                    SetOpKind::Union => l && r,
                    SetOpKind::Intersect => l || r,
                    SetOpKind::Except => l,
                }
            };
            (0..columns.len()).filter(filled).map(|i| columns[i]).collect()
        }
        Plan::OrderedJoin { kind, left, right, .. } => match kind {
            OrderedJoinKind::Asof { kind: JoinKind::Inner, .. } => {
                not_null_columns(left).union(&not_null_columns(right))
            }
            OrderedJoinKind::Asof { kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, .. } => {
                not_null_columns(left)
            }
            _ => ColumnSet::new(),
        },
        Plan::With { body, .. } => not_null_columns(body),
        Plan::SharedScan { .. } | Plan::Recursive { .. } => ColumnSet::new(),
    }
}

/// Sets of output columns whose combination differs in any two rows (two NULLs counting as equal). The empty set
/// among them says: at most one row.
pub fn keys(plan: &Plan) -> Vec<ColumnSet> {
    match plan {
        Plan::Scan { table, columns, row_id, filters, .. } => {
            let schema = table.table.schema();
            let id_of = |index: usize| columns.iter().find(|c| c.index == index).map(|c| c.id);
            let usable = |key: &Vec<usize>| key.iter().all(|i| schema.columns[*i].not_null);
            let declared = schema.immediate_keys();
            let declared = declared.iter().filter(|key| !key.is_empty() && usable(key));
            let mut keys: Vec<ColumnSet> = declared
                .filter_map(|key| key.iter().map(|i| id_of(*i)).collect::<Option<ColumnSet>>())
                .collect();
            keys.extend(row_id.map(|id| ColumnSet::from_iter([id])));
            let found = columns.iter().filter(|column| column.key_at.is_some());
            keys.extend(found.map(|column| ColumnSet::from_iter([column.id])));
            without_fixed(keys, filters)
        }
        Plan::Values { rows, .. } if rows.len() <= 1 => vec![ColumnSet::new()],
        Plan::Source { .. } | Plan::Values { .. } | Plan::SharedScan { .. } => Vec::new(),
        Plan::OrderedJoin { .. } | Plan::TableCall { .. } => Vec::new(),
        Plan::Unnest { input, ordinality, .. } => {
            let numbered = |key: &ColumnSet| Some(key.union(&ColumnSet::from_iter([(*ordinality)?])));
            keys(input).iter().filter_map(numbered).collect()
        }
        Plan::Project { input, items } => {
            let renamed = |key: &ColumnSet| -> Option<ColumnSet> {
                let new = |id| items.iter().find(|(_, e)| as_column(e) == Some(id)).map(|(new, _)| *new);
                key.iter().map(new).collect()
            };
            keys(input).iter().filter_map(renamed).collect()
        }
        Plan::Filter { input, predicates } => without_fixed(keys(input), predicates),
        Plan::Sort { input, limit: None, .. } | Plan::LimitBy { input, .. } | Plan::Sample { input, .. } => {
            keys(input)
        }
        Plan::Window { input, windows } => {
            let mut all = keys(input);
            all.extend(windows.iter().filter_map(|(id, window)| numbered_key(*id, window)));
            all
        }
        Plan::GroupLimit { input, groups, limit, .. } => {
            let mut all = keys(input);
            if limit.is_some_and(|limit| limit <= 1) {
                all.extend(groups.iter().map(as_column).collect::<Option<ColumnSet>>());
            }
            all
        }
        Plan::Sort { input, limit: Some(limit), .. } | Plan::Limit { input, limit: Some(limit), .. } => {
            if *limit <= 1 {
                vec![ColumnSet::new()]
            } else {
                keys(input)
            }
        }
        Plan::Limit { input, limit: None, .. } => keys(input),
        Plan::Join { kind, left, right, conditions, .. } => {
            let left_keys = keys(left);
            match kind {
                JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => left_keys,
                JoinKind::Inner | JoinKind::Left | JoinKind::Full => {
                    let right_keys = keys(right);
                    let full = *kind == JoinKind::Full;
                    let mut all = Vec::new();
                    if !full && is_matched_once(left, right, &right_keys, conditions) {
                        all.extend(left_keys.iter().cloned());
                    }
                    if *kind == JoinKind::Inner && is_matched_once(right, left, &left_keys, conditions) {
                        all.extend(right_keys.iter().cloned());
                    }
                    if all.is_empty() && !full {
                        let pairs = left_keys.iter().flat_map(|l| right_keys.iter().map(move |r| l.union(r)));
                        all.extend(pairs.take(4));
                    }
                    all
                }
            }
        }
        Plan::DependentJoin { kind, left, .. } => match kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => keys(left),
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => Vec::new(),
        },
        Plan::Aggregate { groups, .. } => vec![groups.iter().map(|(id, _)| *id).collect()],
        Plan::Recursive { keyed: Some(keyed), columns, .. } => {
            vec![keyed.keys.iter().filter_map(|key| columns.get(*key).copied()).collect()]
        }
        Plan::SetOp { all, columns, .. } | Plan::Recursive { all, columns, .. } => {
            if *all {
                Vec::new()
            } else {
                vec![columns.iter().collect()]
            }
        }
        Plan::With { body, .. } => keys(body),
    }
}

/// The key that a row number makes, with what it is counted within.
fn numbered_key(id: ColumnId, window: &crate::plan::WindowExpr) -> Option<ColumnSet> {
    window.is_row_number().then_some(())?;
    window.partition.iter().map(as_column).chain([Some(id)]).collect()
}

/// Whether each row of `one` has at most one partner in `many`, because conditions equate a key of `many`.
pub fn is_matched_once(one: &Plan, many: &Plan, keys_of_many: &[ColumnSet], conditions: &[Expr]) -> bool {
    if keys_of_many.is_empty() {
        return false;
    }
    let (one, many) = (output_set(one), output_set(many));
    let mut fixed = ColumnSet::new();
    for condition in conditions {
        if let Expr::Compare { op: CompareOp::Eq | CompareOp::NotDistinct, left, right } = condition {
            for (side, other) in [(left, right), (right, left)] {
                if let Some(id) = as_column(side).filter(|id| many.contains(*id))
                    && !ColumnSet::of(other).intersects(&many)
                    && ColumnSet::of(other).is_subset(&one)
                {
                    fixed.insert(id);
                }
            }
        }
    }
    keys_of_many.iter().any(|key| key.is_subset(&fixed))
}

/// Keys of rows in which the predicates hold: a column that equals a literal does not tell rows apart.
fn without_fixed(keys: Vec<ColumnSet>, predicates: &[Expr]) -> Vec<ColumnSet> {
    let fixed_by = |predicate: &Expr| match predicate {
        Expr::Compare { op: CompareOp::Eq, left, right } => match (&**left, &**right) {
            (Expr::Column { id, .. }, Expr::Literal { .. })
            | (Expr::Literal { .. }, Expr::Column { id, .. }) => Some(*id),
            _ => None,
        },
        _ => None,
    };
    let fixed: ColumnSet = predicates.iter().filter_map(fixed_by).collect();
    keys.iter().map(|key| key.difference(&fixed)).collect()
}

/// Whether the plan has one row, always.
pub fn is_exactly_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { groups, .. } => groups.is_empty(),
        Plan::Values { rows, .. } => rows.len() == 1,
        Plan::Project { input, .. } | Plan::Window { input, .. } => is_exactly_one_row(input),
        Plan::Sort { input, limit, offset, .. } | Plan::Limit { input, limit, offset } => {
            *offset == 0 && *limit != Some(0) && is_exactly_one_row(input)
        }
        Plan::With { body, .. } => is_exactly_one_row(body),
        Plan::Join { kind: JoinKind::Inner, left, right, conditions, .. } => {
            conditions.is_empty() && is_exactly_one_row(left) && is_exactly_one_row(right)
        }
        Plan::Join { kind: JoinKind::Left | JoinKind::Single | JoinKind::Mark(_), left, right, .. } => {
            is_exactly_one_row(left) && is_at_most_one_row(right)
        }
        _ => false,
    }
}

/// Whether the plan has no second row, ever.
pub fn is_at_most_one_row(plan: &Plan) -> bool {
    keys(plan).iter().any(ColumnSet::is_empty)
}

/// Whether converting a value from one type to the other succeeds for every value and loses nothing.
pub fn is_lossless_cast(from: LogicalType, to: LogicalType) -> bool {
    use LogicalType::{BigInt, Decimal, Double, HugeInt, Integer, Real, SmallInt, TinyInt};
    let signed = |ty| [TinyInt, SmallInt, Integer, BigInt, HugeInt].iter().position(|t| *t == ty);
    let unsigned = |ty| {
        use LogicalType::{UBigInt, UHugeInt, UInteger, USmallInt, UTinyInt};
        [UTinyInt, USmallInt, UInteger, UBigInt, UHugeInt].iter().position(|t| *t == ty)
    };
    if from == to {
        return true;
    }
    match (signed(from.clone()), signed(to.clone()), unsigned(from.clone()), unsigned(to.clone())) {
        (Some(a), Some(b), _, _) | (_, _, Some(a), Some(b)) => return a <= b,
        (_, Some(b), Some(a), _) => return a < b,
        _ => {}
    }
    match (from, to) {
        (Decimal { precision: p, scale: s }, Decimal { precision: q, scale: t }) => t >= s && q - t >= p - s,
        (integer, Decimal { precision, scale }) if integer.is_integer() => {
            let Some(Decimal { precision: digits, .. }) = integer.integer_as_decimal() else { return false };
            precision - scale >= digits
        }
        (Real, Double) => true,
        (integer, Double) => matches!(integer, TinyInt | SmallInt | Integer),
        _ => false,
    }
}

/// Whether evaluating the expression on some row may end the query; unlike [`Expr::can_fail`], casts that cannot
/// fail are recognised.
pub fn can_fail(expr: &Expr) -> bool {
    let own = match expr {
        Expr::Call { function, .. } => function.can_fail,
        Expr::Cast { input, ty, or_null, .. } => {
            let from = input.ty();
            let to_double = from.is_numeric() && *ty == LogicalType::Double;
            !(*or_null || to_double || is_lossless_cast(from, ty.clone()))
        }
        Expr::Lambda(lambda) => match lambda.kind {
            LambdaKind::Reduce => true,
            LambdaKind::Try => false,
            LambdaKind::Transform | LambdaKind::Filter | LambdaKind::Once => can_fail(&lambda.body),
        },
        Expr::Column { .. }
        | Expr::Literal { .. }
        | Expr::Compare { .. }
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::InList { .. }
        | Expr::InConstants { .. }
        | Expr::Case { .. }
        | Expr::Coalesce { .. } => false,
    };
    own || expr.children().into_iter().any(can_fail)
}
