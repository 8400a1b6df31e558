//! Queries and FROM clauses: `sqlparser`'s to ours.

use super::ast::{
    BinaryOp, Cte, Distinct, Excluded, Expr, ExprKind, FunctionCall, GroupBy, Ident, JoinCondition, JoinKind,
    Literal, ObjectName, OrderBy, OrderItem, Pos, Query, QueryBody, Select, SelectItem, SetOperation,
    SortOrder, TableRef,
};
use super::convert::{Context, pos_of, unsupported};
use super::expr::{is_system_schema, start_of};
use inlay_types::{Error, Result};
use sqlparser::ast::{self, JoinConstraint, JoinOperator, SetExpr, TableFactor};

/// UNION ALL of more queries is nested by halves; and most queries of one.
const UNIONS_NESTED_MAX: usize = 500;
const UNIONS_MAX: usize = 10_000;

fn union_all(left: QueryBody, right: QueryBody) -> QueryBody {
    QueryBody::SetOperation {
        kind: SetOperation::Union,
        all: true,
        by_name: false,
        left: Box::new(left),
        right: Box::new(right),
    }
}

impl Context<'_, '_> {
    pub(super) fn query(&self, query: ast::Query) -> Result<Box<Query>> {
        self.deeper(|| self.query_inner(query)).map(Box::new)
    }

    fn query_inner(&self, query: ast::Query) -> Result<Query> {
        let pos = start_of_query(&query);
        if query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some() {
            return Err(self.at(unsupported("FOR, SETTINGS or FORMAT behind a query"), pos));
        }
        if !query.locks.is_empty() {
            let error = Error::Unsupported {
                feature: "FOR UPDATE or FOR SHARE".into(),
                alternative: Some(
                    "leave it out: who changes a row that another transaction changed meanwhile gets a conflict (40001) and tries again".into(),
                ),
            };
            return Err(self.at(error, pos));
        }
        if !query.pipe_operators.is_empty() {
            return Err(self.at(unsupported("the pipe operator |>"), pos));
        }
        let (ctes, recursive) = match query.with {
            None => (Vec::new(), false),
            Some(with) => {
                let ctes = with.cte_tables.into_iter().map(|cte| self.cte(cte)).collect::<Result<_>>()?;
                (ctes, with.recursive)
            }
        };
        let (mut limit, offset) = match query.limit_clause {
            None => (None, None),
            Some(ast::LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                (limit, offset.map(|offset| offset.value))
            }
            Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
            Some(_) => return Err(self.at(unsupported("LIMIT BY"), pos)),
        };
        let (mut limit_percent, mut with_ties) = (false, false);
        if let Some(fetch) = query.fetch {
            if limit.is_some() {
                return Err(self.at(unsupported("FETCH beside LIMIT"), pos));
            }
            (limit_percent, with_ties) = (fetch.percent, fetch.with_ties);
            limit = fetch.quantity.or_else(|| Some(ast::Expr::value(ast::Value::Number("1".into(), false))));
        }
        if with_ties && (limit_percent || query.order_by.is_none()) {
            let message =
                "FETCH ... WITH TIES takes a number of rows and needs ORDER BY, which tells what ties";
            return Err(self.at(Error::bind(message), pos));
        }
        if let Some(ast::Expr::UnaryOp { op: super::dialect::PERCENT, expr }) = limit {
            limit_percent = true;
            limit = Some(*expr);
        }
        // ORDER BY stands behind the SELECT whose WINDOW clause it may name.
        let windows = match &*query.body {
            SetExpr::Select(select) => select.named_window.clone(),
            _ => Vec::new(),
        };
        let body = self.body(*query.body)?;
        Ok(Query {
            ctes,
            recursive,
            limit_percent,
            with_ties,
            body,
            order_by: self.with_windows(windows, || self.order_by(query.order_by))?,
            limit: limit.map(|limit| self.expr(limit)).transpose()?,
            offset: offset.map(|offset| self.expr(offset)).transpose()?,
            keys: Vec::new(),
        })
    }

    pub(super) fn cte(&self, cte: ast::Cte) -> Result<Cte> {
        let columns = cte.alias.columns.into_iter().map(|column| self.ident(column.name)).collect();
        let end = cte.closing_paren_token.0.span.start;
        let mut query = self.query(*cte.query)?;
        query.keys = self.lifted.keys.get(&end).cloned().unwrap_or_default();
        Ok(Cte {
            name: self.ident(cte.alias.name),
            columns,
            query,
            materialized: self.lifted.materialized.get(&end).copied(),
        })
    }

    /// UNION ALL of what is on its left, which may be many of the same, and on its right.
    fn unions(&self, left: SetExpr, right: SetExpr) -> Result<QueryBody> {
        let (mut bodies, mut rest) = (vec![right], left);
        loop {
            match rest {
                SetExpr::SetOperation {
                    left,
                    op: ast::SetOperator::Union,
                    set_quantifier: ast::SetQuantifier::All,
                    right,
                } => {
                    bodies.push(*right);
                    rest = *left;
                }
                first => {
                    bodies.push(first);
                    break;
                }
            }
        }
        if bodies.len() > UNIONS_MAX {
            return Err(super::convert::too_deep());
        }
        bodies.reverse();
        if bodies.len() > UNIONS_NESTED_MAX {
            return self.balanced(bodies);
        }
        let mut bodies = bodies.into_iter().map(|body| self.body(body));
        let first = bodies.next().unwrap_or_else(|| Err(super::convert::too_deep()))?;
        bodies.try_fold(first, |left, right| Ok(union_all(left, right?)))
    }

    /// The same of many, nested as little as can be: types that have one in common have it in any order.
    fn balanced(&self, mut bodies: Vec<SetExpr>) -> Result<QueryBody> {
        let behind = bodies.split_off(bodies.len() / 2);
        match (bodies.pop(), behind) {
            (None, mut one) => {
                one.pop().map_or_else(|| Err(super::convert::too_deep()), |body| self.body(body))
            }
            (Some(last), behind) => {
                bodies.push(last);
                Ok(union_all(self.balanced(bodies)?, self.balanced(behind)?))
            }
        }
    }

    fn body(&self, body: SetExpr) -> Result<QueryBody> {
        self.deeper(|| match body {
            SetExpr::Select(select) => Ok(QueryBody::Select(Box::new(self.select(*select)?))),
            SetExpr::Query(query) => Ok(QueryBody::Query(self.query(*query)?)),
            SetExpr::Values(values) => {
                let mut pos = Pos::default();
                let mut rows = Vec::with_capacity(values.rows.len());
                for row in values.rows {
                    if pos.line == 0 {
                        pos = pos_of(row.opening_token.0.span.start);
                    }
                    rows.push(self.exprs(row.content)?);
                }
                // Beside rows of another kind, literals are rows like them.
                if rows.len() > 1 {
                    rows = rows.into_iter().flat_map(separate_rows).collect();
                }
                Ok(QueryBody::Values { rows, pos })
            }
            SetExpr::SetOperation {
                left,
                op: ast::SetOperator::Union,
                set_quantifier: ast::SetQuantifier::All,
                right,
            } => self.unions(*left, *right),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                use ast::SetQuantifier as Q;
                let kind = match op {
                    ast::SetOperator::Union => SetOperation::Union,
                    ast::SetOperator::Intersect => SetOperation::Intersect,
                    ast::SetOperator::Except | ast::SetOperator::Minus => SetOperation::Except,
                };
                Ok(QueryBody::SetOperation {
                    kind,
                    all: matches!(set_quantifier, Q::All | Q::AllByName),
                    by_name: matches!(set_quantifier, Q::ByName | Q::AllByName | Q::DistinctByName),
                    left: Box::new(self.body(*left)?),
                    right: Box::new(self.body(*right)?),
                })
            }
            SetExpr::Table(table) => {
                let part = |value: String| Ident { value, pos: Pos::default() };
                let parts = table.schema_name.into_iter().chain(table.table_name).map(part).collect();
                let name = super::ast::ObjectName { parts, is_string: false };
                Ok(QueryBody::Select(Box::new(select_star(
                    vec![TableRef::Table { name, alias: None }],
                    Pos::default(),
                ))))
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(unsupported(
                    "INSERT, UPDATE, DELETE or MERGE inside of a query, instead of in the WITH in front of the whole statement,",
                ))
            }
        })
    }

    fn select(&self, mut select: ast::Select) -> Result<Select> {
        let windows = std::mem::take(&mut select.named_window);
        self.with_windows(windows, || self.select_inner(select))
    }

    fn select_inner(&self, select: ast::Select) -> Result<Select> {
        let pos = pos_of(select.select_token.0.span.start);
        let sample = self.lifted.samples.get(&select.select_token.0.span.start).copied();
        let refuse = |feature: &str| Err(self.at(unsupported(feature), pos));
        if select.into.is_some() {
            return refuse("SELECT INTO");
        }
        if select.top.is_some() {
            let alternative = Some("write LIMIT behind the query".to_string());
            return Err(self.at(Error::Unsupported { feature: "TOP".to_string(), alternative }, pos));
        }
        if !select.lateral_views.is_empty() || !select.connect_by.is_empty() {
            return refuse("LATERAL VIEW or CONNECT BY");
        }
        if !select.cluster_by.is_empty() || !select.sort_by.is_empty() || !select.distribute_by.is_empty() {
            return refuse("CLUSTER BY, SORT BY or DISTRIBUTE BY");
        }
        let from =
            select.from.into_iter().map(|item| self.table_with_joins(item)).collect::<Result<Vec<_>>>()?;
        if select.flavor == ast::SelectFlavor::FromFirstNoSelect {
            let filter = select.selection.map(|filter| self.expr(filter)).transpose()?;
            return Ok(Select { filter, sample, ..select_star(from, pos) });
        }
        let distinct = match select.distinct {
            None | Some(ast::Distinct::All) => Distinct::No,
            Some(ast::Distinct::Distinct) => Distinct::Rows,
            Some(ast::Distinct::On(exprs)) => Distinct::On(self.exprs(exprs)?),
        };
        let group_by = self.group_by(select.group_by, pos)?;
        Ok(Select {
            distinct,
            items: select.projection.into_iter().map(|item| self.select_item(item)).collect::<Result<_>>()?,
            from,
            filter: select.selection.map(|filter| self.expr(filter)).transpose()?,
            group_by,
            having: select.having.map(|having| self.expr(having)).transpose()?,
            sample,
            qualify: select.qualify.map(|qualify| self.expr(qualify)).transpose()?,
            pos,
        })
    }

    pub(super) fn select_item(&self, item: ast::SelectItem) -> Result<SelectItem> {
        Ok(match item {
            // `alias: expr`
            ast::SelectItem::UnnamedExpr(ast::Expr::BinaryOp {
                left,
                op: ast::BinaryOperator::Custom(op),
                right,
            }) if op == super::rewrite::ALIAS_OPERATOR => {
                let ast::Expr::Identifier(alias) = *left else {
                    let message = "a name stands in front of the colon of \"name: expression\"";
                    return Err(self.at(Error::bind(message), start_of(&left)));
                };
                SelectItem::Expr { expr: self.expr(*right)?, alias: Some(self.ident(alias)) }
            }
            ast::SelectItem::UnnamedExpr(expr) => {
                SelectItem::Expr { expr: self.star_condition(self.expr(expr)?), alias: None }
            }
            ast::SelectItem::ExprWithAlias { expr, alias } => SelectItem::Expr {
                expr: self.star_condition(self.expr(expr)?),
                alias: Some(self.ident(alias)),
            },
            ast::SelectItem::ExprWithAliases { .. } => {
                return Err(unsupported("several aliases for one expression"));
            }
            ast::SelectItem::Wildcard(options) => self.star(None, options)?,
            ast::SelectItem::QualifiedWildcard(
                ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => self.star(Some(self.object_name(&name)?), options)?,
            ast::SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::Expr(_), _) => {
                return Err(unsupported("* of an expression"));
            }
        })
    }

    fn star(
        &self,
        qualifier: Option<super::ast::ObjectName>,
        options: ast::WildcardAdditionalOptions,
    ) -> Result<SelectItem> {
        let pos = qualifier.as_ref().map_or(pos_of(options.wildcard_token.0.span.start), |name| name.pos());
        if options.opt_ilike.is_some() {
            return Err(self.at(unsupported("* ILIKE"), pos));
        }
        let mut exclude = Excluded::default();
        match options.opt_exclude {
            None => {}
            Some(ast::ExcludeSelectItem::Single(name)) => exclude.push(self.object_name(&name)?),
            Some(ast::ExcludeSelectItem::Multiple(names)) => {
                for name in &names {
                    exclude.push(self.object_name(name)?);
                }
            }
        }
        if let Some(except) = options.opt_except {
            exclude.names.push(self.ident(except.first_element));
            exclude.names.extend(self.idents(except.additional_elements));
        }
        let mut replace = Vec::new();
        for item in options.opt_replace.into_iter().flat_map(|replace| replace.items) {
            replace.push((self.expr(item.expr)?, self.ident(item.column_name)));
        }
        let pair = |item: ast::IdentWithAlias| (self.ident(item.ident), self.ident(item.alias));
        let rename = match options.opt_rename {
            None => Vec::new(),
            Some(ast::RenameSelectItem::Single(item)) => vec![pair(item)],
            Some(ast::RenameSelectItem::Multiple(items)) => items.into_iter().map(pair).collect(),
        };
        Ok(SelectItem::Star { qualifier, exclude, replace, rename, pos })
    }

    pub(super) fn order_by(&self, order_by: Option<ast::OrderBy>) -> Result<OrderBy> {
        match order_by.map(|order_by| order_by.kind) {
            None => Ok(OrderBy::Items(Vec::new())),
            Some(ast::OrderByKind::Expressions(items)) => Ok(OrderBy::Items(self.order_items(items)?)),
            Some(ast::OrderByKind::All(options)) => Ok(OrderBy::All(sort_order(&options)?)),
        }
    }

    pub(super) fn order_item(&self, item: ast::OrderByExpr) -> Result<OrderItem> {
        let order = sort_order(&item.options)?;
        Ok(OrderItem { expr: self.expr(item.expr)?, order })
    }

    pub(super) fn table_with_joins(&self, item: ast::TableWithJoins) -> Result<TableRef> {
        let mut left = self.table_factor(item.relation)?;
        // A chain of joins is a chain of nodes, so each join counts as a level.
        for (index, join) in item.joins.into_iter().enumerate() {
            if index + self.depth.get() > 900 {
                return Err(super::convert::too_deep());
            }
            left = self.join(left, join)?;
        }
        Ok(left)
    }

    fn join(&self, left: TableRef, join: ast::Join) -> Result<TableRef> {
        use JoinOperator as J;
        // ASOF and POSITIONAL come as GLOBAL, see `rewrite`.
        let is_asof = join.global && !matches!(join.join_operator, J::CrossJoin(_));
        let (kind, constraint, swapped) = match join.join_operator {
            J::Join(c) | J::Inner(c) => (JoinKind::Inner, c, false),
            J::Left(c) | J::LeftOuter(c) => (JoinKind::Left, c, false),
            J::Right(c) | J::RightOuter(c) => (JoinKind::Right, c, false),
            J::FullOuter(c) => (JoinKind::Full, c, false),
            J::CrossJoin(c) if join.global => (JoinKind::Positional, c, false),
            J::CrossJoin(c) => (JoinKind::Cross, c, false),
            J::Semi(c) | J::LeftSemi(c) => (JoinKind::Semi, c, false),
            J::Anti(c) | J::LeftAnti(c) => (JoinKind::Anti, c, false),
            J::RightSemi(c) => (JoinKind::Semi, c, true),
            J::RightAnti(c) => (JoinKind::Anti, c, true),
            J::AsOf { .. } => return Err(unsupported("ASOF JOIN")),
            other => return Err(unsupported(format!("this kind of join ({})", join_name(&other)))),
        };
        let right = self.table_factor(join.relation)?;
        let pos = table_ref_pos(&right);
        let condition = match constraint {
            JoinConstraint::None if !matches!(kind, JoinKind::Cross | JoinKind::Positional) => {
                let message = "JOIN needs a condition behind it, ON or USING";
                let hint = "CROSS JOIN gives each row with each";
                return Err(self.at(Error::Syntax { message: message.to_string() }.with_hint(hint), pos));
            }
            JoinConstraint::None => JoinCondition::None,
            JoinConstraint::Natural => JoinCondition::Natural,
            JoinConstraint::On(condition) => JoinCondition::On(self.expr(condition)?),
            JoinConstraint::Using(names) => {
                let plain = |name: &ast::ObjectName| {
                    let name = self.object_name(name)?;
                    match name.parts.as_slice() {
                        [column] => Ok(column.clone()),
                        _ => {
                            let message = format!(
                                "USING takes names of columns of both sides, and \"{name}\" is qualified"
                            );
                            Err(self.at(Error::Syntax { message }, name.pos()))
                        }
                    }
                };
                JoinCondition::Using(names.iter().map(plain).collect::<Result<_>>()?)
            }
        };
        let condition = if is_asof { JoinCondition::Asof(Box::new(condition)) } else { condition };
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        Ok(TableRef::Join { left: Box::new(left), right: Box::new(right), kind, condition, pos })
    }

    pub(super) fn table_factor(&self, factor: TableFactor) -> Result<TableRef> {
        self.deeper(|| self.table_factor_inner(factor))
    }

    /// The columns of `json_to_record(x) AS t(a INTEGER, b VARCHAR)`, as a structure that `from_json` reads.
    fn structure(&self, function: &ObjectName, alias: &ast::TableAlias) -> Option<Result<Expr>> {
        let name = function.last().to_lowercase();
        if !matches!(
            &*name,
            "json_to_record" | "jsonb_to_record" | "json_to_recordset" | "jsonb_to_recordset"
        ) {
            return None;
        }
        let pos = function.pos();
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut fields = Vec::with_capacity(alias.columns.len());
        for column in &alias.columns {
            let Some(ty) = &column.data_type else {
                let message = format!("{name} needs the type of each column: AS t(a INTEGER, b VARCHAR)");
                return Some(Err(self.at(Error::bind(message), pos)));
            };
            match self.data_type(ty) {
                Ok(ty) => fields.push(format!("{}: {}", quoted(&column.name.value), quoted(&ty.to_string()))),
                Err(error) => return Some(Err(self.at(error, pos))),
            }
        }
        let text = format!("{{{}}}", fields.join(", "));
        let text = if name.ends_with("set") { format!("[{text}]") } else { text };
        Some(Ok(Expr { kind: ExprKind::Literal(Literal::String(text)), pos }))
    }

    fn table_factor_inner(&self, factor: TableFactor) -> Result<TableRef> {
        match factor {
            TableFactor::Table { name, mut alias, args, sample, with_ordinality, version, .. } => {
                let name = self.object_name(&name)?;
                if version.is_some() || (with_ordinality && args.is_none()) {
                    return Err(self.at(unsupported("WITH ORDINALITY or a version of a table"), name.pos()));
                }
                let structure = alias.as_mut().and_then(|alias| self.structure(&name, alias)).transpose()?;
                let alias = self.table_alias(alias)?;
                let table = match args {
                    Some(args) if name.last() == super::rewrite::PIECE_CALL => {
                        self.piece(self.piece_number(&args.args)?, alias)?
                    }
                    None => TableRef::Table { name, alias },
                    Some(args) => {
                        let mut call = self.table_function(name, args.args)?;
                        call.arguments.extend(structure);
                        TableRef::Function { call, alias, lateral: false, ordinality: with_ordinality }
                    }
                };
                Ok(self.sampled(table, sample))
            }
            TableFactor::Function { lateral, name, args, mut alias, with_ordinality } => {
                let name = self.object_name(&name)?;
                let structure = alias.as_mut().and_then(|alias| self.structure(&name, alias)).transpose()?;
                let alias = self.table_alias(alias)?;
                let mut call = self.table_function(name, args)?;
                call.arguments.extend(structure);
                Ok(TableRef::Function { call, alias, lateral, ordinality: with_ordinality })
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                let query = self.query(*subquery)?;
                let alias = self.table_alias(alias)?;
                Ok(self.sampled(TableRef::Subquery { query, alias, lateral }, sample))
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let inner = self.table_with_joins(*table_with_joins)?;
                match self.table_alias(alias)? {
                    None => Ok(inner),
                    // An alias hides the names inside, exactly as for a subquery.
                    Some(alias) => {
                        let body = QueryBody::Select(Box::new(select_star(vec![inner], alias.name.pos)));
                        Ok(TableRef::Subquery {
                            query: Box::new(Query::of(body)),
                            alias: Some(alias),
                            lateral: false,
                        })
                    }
                }
            }
            TableFactor::UNNEST { .. } => Err(unsupported("UNNEST")),
            TableFactor::Pivot { table, aggregate_functions, alias, .. } => {
                let number = match aggregate_functions.first().map(|item| &item.expr) {
                    Some(ast::Expr::Function(ast::Function {
                        args: ast::FunctionArguments::List(list),
                        ..
                    })) => self.piece_number(&list.args)?,
                    _ => return Err(Error::internal("a PIVOT that was not kept aside")),
                };
                self.pivot_operator(*table, number, self.table_alias(alias)?)
            }
            other => Err(unsupported(format!("{other} in FROM"))),
        }
    }

    fn sampled(&self, table: TableRef, sample: Option<ast::TableSampleKind>) -> TableRef {
        let sample = match sample {
            None => return table,
            Some(
                ast::TableSampleKind::BeforeTableAlias(sample)
                | ast::TableSampleKind::AfterTableAlias(sample),
            ) => sample,
        };
        // What stands there is the number that `lift` put in its place.
        let number = sample.quantity.and_then(|quantity| quantity.value.to_string().parse::<usize>().ok());
        match number.and_then(|number| self.lifted.table_samples.get(number)) {
            Some(sample) => TableRef::Sample { table: Box::new(table), sample: *sample },
            None => table,
        }
    }

    /// A call in FROM or behind CALL, where `name = value` names an argument.
    pub(super) fn table_function(
        &self,
        mut name: super::ast::ObjectName,
        arguments: Vec<ast::FunctionArg>,
    ) -> Result<FunctionCall> {
        let last =
            name.parts.pop().ok_or_else(|| Error::Syntax { message: "a function name is missing".into() })?;
        let mut call = FunctionCall {
            name: last,
            arguments: Vec::new(),
            named: Vec::new(),
            star: false,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
        };
        for argument in arguments {
            self.function_argument(argument, &mut call)?;
        }
        name_arguments(&mut call);
        // As in `column.f()`, which cannot be meant here, the binder finds the schema in front of the name.
        if !name.parts.is_empty() && !name.parts.first().is_some_and(is_system_schema) {
            let pos = name.pos();
            call.arguments.insert(0, Expr { kind: ExprKind::Column(name.parts), pos });
        }
        Ok(call)
    }
}

/// Turns arguments written as `name = value` into named ones.
pub(super) fn name_arguments(call: &mut FunctionCall) {
    for argument in std::mem::take(&mut call.arguments) {
        match argument {
            Expr { kind: ExprKind::Binary { op: BinaryOp::Equal, left, right }, pos } => match left.kind {
                ExprKind::Column(mut parts) if parts.len() == 1 => {
                    call.named.extend(parts.pop().map(|name| (name, *right)));
                }
                _ => {
                    let kind = ExprKind::Binary { op: BinaryOp::Equal, left, right };
                    call.arguments.push(Expr { kind, pos });
                }
            },
            other => call.arguments.push(other),
        }
    }
}

/// `SELECT * FROM from`.
pub(super) fn select_star(from: Vec<TableRef>, pos: Pos) -> Select {
    let star = SelectItem::Star {
        qualifier: None,
        exclude: Excluded::default(),
        replace: Vec::new(),
        rename: Vec::new(),
        pos,
    };
    Select {
        distinct: Distinct::No,
        items: vec![star],
        from,
        filter: None,
        group_by: GroupBy::Items(Vec::new()),
        having: None,
        sample: None,
        qualify: None,
        pos,
    }
}

fn sort_order(options: &ast::OrderByOptions) -> Result<SortOrder> {
    let descending = match &options.sort {
        None => None,
        Some(ast::OrderBySort::Asc) => Some(false),
        Some(ast::OrderBySort::Desc) => Some(true),
        Some(ast::OrderBySort::Using(_)) => return Err(unsupported("ORDER BY ... USING")),
    };
    Ok(SortOrder { descending, nulls_first: options.nulls_first })
}

fn join_name(operator: &JoinOperator) -> &'static str {
    match operator {
        JoinOperator::CrossApply | JoinOperator::OuterApply => "APPLY",
        JoinOperator::StraightJoin(_) => "STRAIGHT_JOIN",
        _ => "ARRAY JOIN",
    }
}

fn table_ref_pos(table: &TableRef) -> Pos {
    match table {
        TableRef::Table { name, .. } => name.pos(),
        TableRef::Function { call, .. } => call.name.pos,
        TableRef::Subquery { alias, .. } => alias.as_ref().map_or(Pos::default(), |alias| alias.name.pos),
        TableRef::Join { pos, .. } => *pos,
        TableRef::Pivot(pivot) => pivot.pos,
        TableRef::Unpivot(unpivot) => unpivot.pos,
        TableRef::Show { .. } | TableRef::Prepared(_) => Pos::default(),
        TableRef::Sample { table, .. } => table_ref_pos(table),
    }
}

/// Where a query begins, as far as its first tokens were kept.
pub(super) fn start_of_query(query: &ast::Query) -> Pos {
    if let Some(with) = &query.with {
        return pos_of(with.with_token.0.span.start);
    }
    let mut body = &*query.body;
    loop {
        body = match body {
            SetExpr::Select(select) => return pos_of(select.select_token.0.span.start),
            SetExpr::Values(values) => {
                return values
                    .rows
                    .first()
                    .map_or(Pos::default(), |row| pos_of(row.opening_token.0.span.start));
            }
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => return start_of_query(query),
            _ => return Pos::default(),
        };
    }
}

/// Where an expression of `sqlparser` begins; re-exported for statements.
pub(super) fn expr_start(expr: &ast::Expr) -> Pos {
    start_of(expr)
}

/// The rows that a row of VALUES stands for.
fn separate_rows(row: Vec<Expr>) -> Vec<Vec<Expr>> {
    let [Expr { kind: ExprKind::Constants(constants), .. }] = row.as_slice() else { return vec![row] };
    let mut items = constants.exprs();
    let count = constants.len() / constants.width().max(1);
    (0..count).map(|_| items.by_ref().take(constants.width()).collect()).collect()
}
