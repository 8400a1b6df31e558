//! Pieces of syntax that the binder writes itself, for clauses that are short forms of queries.

use crate::parser::ast::{
    BinaryOp, Distinct, Expr, ExprKind, FunctionCall, GroupBy, Ident, Literal, OrderBy, Pos, Query,
    QueryBody, Select, SelectItem, TableAlias, TableRef,
};
use inlay_types::LogicalType;

/// Makes nodes that stand at one place.
#[derive(Clone, Copy)]
pub(super) struct Build(pub(super) Pos);

impl Build {
    pub(super) fn expr(self, kind: ExprKind) -> Expr {
        Expr { kind, pos: self.0 }
    }

    pub(super) fn ident(self, value: impl Into<String>) -> Ident {
        Ident { value: value.into(), pos: self.0 }
    }

    pub(super) fn text(self, text: impl Into<String>) -> Expr {
        self.expr(ExprKind::Literal(Literal::String(text.into())))
    }

    pub(super) fn number(self, number: impl ToString) -> Expr {
        self.expr(ExprKind::Literal(Literal::Number(number.to_string())))
    }

    pub(super) fn null(self) -> Expr {
        self.expr(ExprKind::Literal(Literal::Null))
    }

    pub(super) fn column(self, name: impl Into<String>) -> Expr {
        self.expr(ExprKind::Column(vec![self.ident(name)]))
    }

    pub(super) fn position(self, number: usize) -> Expr {
        self.expr(ExprKind::Position(number))
    }

    pub(super) fn cast(self, expr: Expr, data_type: LogicalType) -> Expr {
        self.expr(ExprKind::Cast { expr: Box::new(expr), data_type, try_cast: false })
    }

    pub(super) fn binary(self, op: BinaryOp, left: Expr, right: Expr) -> Expr {
        self.expr(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) })
    }

    pub(super) fn is_not_null(self, expr: Expr) -> Expr {
        self.expr(ExprKind::IsNull { expr: Box::new(expr), negated: true })
    }

    pub(super) fn and(self, mut conjuncts: Vec<Expr>) -> Option<Expr> {
        match conjuncts.len() {
            0 => None,
            1 => conjuncts.pop(),
            _ => Some(self.expr(ExprKind::And(conjuncts))),
        }
    }

    /// `CASE number WHEN 1 THEN values[0] WHEN 2 THEN values[1] ... END`.
    pub(super) fn choose(self, number: Expr, values: Vec<Expr>) -> Expr {
        let branches = values.into_iter().enumerate().map(|(index, value)| (self.number(index + 1), value));
        self.expr(ExprKind::Case {
            operand: Some(Box::new(number)),
            branches: branches.collect(),
            otherwise: None,
        })
    }

    pub(super) fn call(self, name: &str, arguments: Vec<Expr>) -> Expr {
        self.expr(ExprKind::Function(self.function(name, arguments)))
    }

    pub(super) fn count_star(self) -> Expr {
        let call = FunctionCall { star: true, ..self.function("count", Vec::new()) };
        self.expr(ExprKind::Function(call))
    }

    pub(super) fn function(self, name: &str, arguments: Vec<Expr>) -> FunctionCall {
        FunctionCall {
            name: self.ident(name),
            arguments,
            named: Vec::new(),
            star: false,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
        }
    }

    pub(super) fn item(self, expr: Expr, alias: impl Into<String>) -> SelectItem {
        SelectItem::Expr { expr, alias: Some(self.ident(alias)) }
    }

    pub(super) fn select(self, items: Vec<SelectItem>, from: Vec<TableRef>) -> Select {
        Select {
            sample: None,
            distinct: Distinct::No,
            items,
            from,
            filter: None,
            group_by: GroupBy::Items(Vec::new()),
            having: None,
            qualify: None,
            pos: self.0,
        }
    }

    pub(super) fn query(self, body: QueryBody) -> Query {
        Query {
            limit_percent: false,
            with_ties: false,
            keys: Vec::new(),
            ctes: Vec::new(),
            recursive: false,
            body,
            order_by: OrderBy::Items(Vec::new()),
            limit: None,
            offset: None,
        }
    }

    /// `(VALUES (1), (2) ... (count)) AS name(name)`.
    pub(super) fn numbers(self, count: usize, name: &str) -> TableRef {
        let rows = (1..=count).map(|number| vec![self.number(number)]).collect();
        TableRef::Subquery {
            query: Box::new(self.query(QueryBody::Values { rows, pos: self.0 })),
            alias: Some(TableAlias { name: self.ident(name), columns: vec![self.ident(name)] }),
            lateral: false,
        }
    }
}
