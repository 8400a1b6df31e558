//! Operators as relations: each becomes a SELECT over those before it, with a column `c{id}` for each column it hands on.
//!
//! A [`Select`] stays open while the operators above can be added to the same SELECT, and is closed into the list of relations when
//! not. An order is kept while it still means something, and dropped where only a set is read.

use super::carrier::{is_compared_alike, quoted};
use super::{NamedTable, Origin, Writer};
use inlay_catalog::{ScanRequest, TableEntry, TableSource};
use inlay_sql::plan::{ColumnId, Expr, OrderedJoinKind, Place, Plan, ScanColumn, SetOpKind, SortKey};
use inlay_types::{Batch, Interrupt, LogicalType, MemoryBudget, Value};
use std::sync::Arc;

/// Rows of a VALUES that are written out; more are a table.
const LITERAL_ROWS_MAX: usize = 10_000;

/// A SELECT that may still grow.
#[derive(Default)]
pub(crate) struct Select {
    /// What stands behind FROM; nothing for one row.
    pub from: String,
    /// Conjuncts, over what FROM gives.
    pub filters: Vec<String>,
    /// The columns made, over what FROM gives; otherwise those of FROM are handed on as they are.
    pub items: Option<Vec<(ColumnId, String)>>,
    /// The columns handed on.
    pub output: Vec<ColumnId>,
    /// Keys behind ORDER BY, over what FROM gives.
    pub order: Vec<String>,
    pub limit: Option<u64>,
    pub offset: u64,
}

pub(crate) fn name(id: ColumnId) -> String {
    format!("c{}", id.0)
}

impl Select {
    /// The columns of a relation, or of several side by side.
    pub fn of(from: String, output: Vec<ColumnId>) -> Self {
        Self { from, output, ..Self::default() }
    }

    /// A column as an expression over what FROM gives.
    pub fn read(&self, id: ColumnId) -> String {
        let made = self.items.iter().flatten().find(|(made, _)| *made == id);
        made.map_or_else(|| name(id), |(_, text)| text.clone())
    }

    fn is_limited(&self) -> bool {
        self.limit.is_some() || self.offset > 0
    }

    /// Whether it is a relation as it stands.
    fn is_bare(&self) -> bool {
        self.items.is_none() && self.filters.is_empty() && self.order.is_empty() && !self.is_limited()
    }

    /// The whole as text, giving `selected`.
    pub fn text(&self, selected: &str) -> String {
        let mut out = format!("SELECT {selected}");
        if !self.from.is_empty() {
            out.push_str(&format!(" FROM {}", self.from));
        }
        if !self.filters.is_empty() {
            let conjuncts: Vec<String> = self.filters.iter().map(|f| format!("({f})")).collect();
            out.push_str(&format!(" WHERE {}", conjuncts.join(" AND ")));
        }
        if !self.order.is_empty() {
            out.push_str(&format!(" ORDER BY {}", self.order.join(", ")));
        }
        if let Some(limit) = self.limit {
            out.push_str(&format!(" LIMIT {limit}"));
        }
        if self.offset > 0 {
            out.push_str(&format!(" OFFSET {}", self.offset));
        }
        out
    }

    /// What it selects.
    pub fn selected(&self, marker: usize) -> String {
        let mut items: Vec<String> = self.output.iter().map(|id| self.item(*id)).collect();
        if items.is_empty() {
            // Rows without columns still are rows.
            items.push(format!("1 AS k{marker}"));
        }
        items.join(", ")
    }

    fn item(&self, id: ColumnId) -> String {
        let (read, made) = (self.read(id), name(id));
        if read == made { made } else { format!("{read} AS {made}") }
    }
}

impl Writer<'_> {
    /// Adds a relation and gives its name.
    pub(crate) fn relation(&mut self, text: String) -> String {
        let name = format!("r{}", self.relations.len());
        self.bytes += text.len();
        if self.bytes > super::TEXT_BYTES_MAX {
            self.refuse("a query whose text in Spark's SQL has more than 4 MiB", Place::default());
            self.relations.push((name.clone(), "SELECT 1 AS k".into()));
            return name;
        }
        self.relations.push((name.clone(), text));
        name
    }

    /// Ends a SELECT: the name of the relation that it is.
    pub(crate) fn close(&mut self, mut select: Select) -> String {
        if select.is_bare() && self.relations.iter().any(|(known, _)| *known == select.from) {
            return select.from;
        }
        if !select.is_limited() {
            select.order.clear();
        }
        let text = select.text(&select.selected(self.relations.len()));
        self.relation(text)
    }

    /// A SELECT to which conditions over its columns can be added.
    pub(crate) fn open(&mut self, select: Select) -> Select {
        if select.items.is_none() && !select.is_limited() {
            return select;
        }
        let output = select.output.clone();
        Select::of(self.close(select), output)
    }

    /// A relation's name for a plan.
    pub(crate) fn relation_of(&mut self, plan: &Plan) -> String {
        let select = self.plan(plan);
        self.close(select)
    }

    pub(crate) fn plan(&mut self, plan: &Plan) -> Select {
        if self.bytes > super::TEXT_BYTES_MAX {
            return Select::of("r0".into(), plan.output());
        }
        inlay_sql::with_statement_stack(|| self.operator(plan))
    }

    fn operator(&mut self, plan: &Plan) -> Select {
        match plan {
            Plan::Scan { table, columns, fields, filters, row_id } => {
                if !fields.is_empty() {
                    self.refuse("a field of a stored struct as a column", Place::default());
                }
                if row_id.is_some() {
                    self.refuse("rowid, which is a place in Inlay's own table", Place::default());
                }
                let select = self.stored(table, columns);
                self.filtered(select, filters)
            }
            Plan::Source { source, columns, filters } => {
                let select = self.source(source, columns);
                self.filtered(select, filters)
            }
            Plan::Values { columns, rows } => self.values(columns, rows),
            Plan::Project { input, items } => self.project(input, items),
            Plan::Filter { input, predicates } => {
                let select = self.plan(input);
                self.filtered(select, predicates)
            }
            Plan::Join { kind, left, right, conditions, build_left: _ } => {
                self.join(*kind, left, right, conditions, &plan.output())
            }
            Plan::OrderedJoin {
                kind: OrderedJoinKind::Asof { kind, build_left },
                left,
                right,
                conditions,
            } => self.asof(*kind, *build_left, left, right, conditions),
            Plan::OrderedJoin { kind: OrderedJoinKind::Positional, .. } => {
                self.refused_plan("POSITIONAL JOIN, as rows of a cluster have no order", plan)
            }
            Plan::DependentJoin { .. } => self.refused_plan("a correlated subquery that stayed one", plan),
            Plan::Aggregate { input, groups, aggregates } => self.aggregate(input, groups, aggregates),
            Plan::Window { input, windows } => self.windows(input, windows, plan.output()),
            Plan::Unnest { input, lists, ordinality, keep_empty } => {
                self.unnest(input, lists, *ordinality, *keep_empty, plan.output())
            }
            Plan::TableCall { call, .. } => {
                let name = call.external.definition.name.to_string();
                self.refused_plan(&format!("the table function {name} of the host"), plan)
            }
            Plan::Sort { input, keys, limit, offset } => self.sort(input, keys, *limit, *offset),
            Plan::Limit { input, limit, offset } => {
                let select = self.plan(input);
                self.limited(select, *limit, *offset)
            }
            Plan::GroupLimit { input, groups, keys, limit, offset } => {
                self.group_limit(input, groups, keys, *limit, *offset)
            }
            Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns } => {
                self.set_op((*kind, *all), (left, left_columns), (right, right_columns), columns)
            }
            Plan::With { id, definition, body } => {
                let relation = self.relation_of(definition);
                self.shared.insert(*id, relation);
                self.plan(body)
            }
            Plan::LimitBy { .. } => {
                self.refused_plan("a LIMIT or OFFSET that is computed, or a share of the rows", plan)
            }
            Plan::Sample { .. } => self.refused_plan("a SAMPLE, which would choose other rows", plan),
            Plan::Recursive { .. } => self.refused_plan("WITH RECURSIVE", plan),
            Plan::SharedScan { id, columns } => {
                let Some(relation) = self.shared.get(id).cloned() else {
                    return self.refused_plan("a shared plan out of its scope", plan);
                };
                let items = columns.iter().map(|(made, read)| (*made, name(*read))).collect();
                Select { items: Some(items), ..Select::of(relation, plan.output()) }
            }
        }
    }

    /// Stands for a plan that is refused. Its inputs are looked at, so that all is told at once.
    pub(crate) fn refused_plan(&mut self, what: &str, plan: &Plan) -> Select {
        self.refuse(what, Place::default());
        for input in plan.inputs() {
            self.plan(input);
        }
        Select::of("r0".into(), plan.output())
    }

    /// Rows for which conditions are TRUE.
    pub(crate) fn filtered(&mut self, select: Select, conditions: &[Expr]) -> Select {
        if conditions.is_empty() {
            return select;
        }
        let mut select = self.open(select);
        for condition in conditions {
            let text = self.expr(condition);
            select.filters.push(text);
        }
        select
    }

    fn limited(&mut self, select: Select, limit: Option<u64>, offset: u64) -> Select {
        let mut select = select;
        if select.is_limited() {
            let output = select.output.clone();
            select = Select::of(self.close(select), output);
        }
        (select.limit, select.offset) = (limit, offset);
        select
    }

    fn sort(&mut self, input: &Plan, keys: &[SortKey], limit: Option<u64>, offset: u64) -> Select {
        let select = self.plan(input);
        let mut select = self.open(select);
        select.order = self.sort_keys(keys);
        (select.limit, select.offset) = (limit, offset);
        select
    }

    /// Keys behind ORDER BY. Constants order nothing, and Spark would take a number for a position.
    pub(crate) fn sort_keys(&mut self, keys: &[SortKey]) -> Vec<String> {
        let mut written = Vec::with_capacity(keys.len());
        for key in keys.iter().filter(|key| !matches!(key.expr, Expr::Literal { .. })) {
            let direction = self.direction(key);
            written.push(format!("{} {direction}", self.expr(&key.expr)));
        }
        written
    }

    /// What stands behind a key.
    pub(crate) fn direction(&mut self, key: &SortKey) -> String {
        if !is_compared_alike(&key.expr.ty()) {
            self.refuse(format!("ORDER BY of {}", key.expr.ty()), Place::default());
        }
        let direction = if key.descending { "DESC" } else { "ASC" };
        let nulls = if key.nulls_first { "FIRST" } else { "LAST" };
        format!("{direction} NULLS {nulls}")
    }

    fn stored(&mut self, table: &Arc<TableEntry>, columns: &[ScanColumn]) -> Select {
        if columns.iter().any(|column| table.table.schema().columns[column.index].is_hidden()) {
            self.refuse(format!("an expression that is indexed in {}", table.name), Place::default());
        }
        let known = self.names.stored(table);
        if !self.tables.iter().any(|t| t.name == known) {
            self.tables.push(NamedTable { name: known.clone(), origin: Origin::Stored(Arc::clone(table)) });
        }
        for column in columns {
            let ty = self.columns.ty(column.id);
            self.type_text(&ty, Place::default());
        }
        let items = columns.iter().map(|c| (c.id, format!("c{}", c.index))).collect();
        Select { items: Some(items), ..Select::of(known, columns.iter().map(|c| c.id).collect()) }
    }

    fn source(&mut self, source: &Arc<dyn TableSource>, columns: &[ScanColumn]) -> Select {
        let output: Vec<ColumnId> = columns.iter().map(|c| c.id).collect();
        if source.is_literal() {
            return self.literal_rows(source, columns);
        }
        if let Some((start, step, count)) = source.integer_series() {
            // The number of a row times the step cannot overflow: both ends are BIGINTs.
            let value = match (start, step) {
                (0, 1) => "id".to_string(),
                (start, step) => format!("CAST({start} + id * CAST('{step}' AS DECIMAL(20,0)) AS BIGINT)"),
            };
            let items = output.iter().map(|id| (*id, value.clone())).collect();
            return Select { items: Some(items), ..Select::of(format!("range(0, {count})"), output) };
        }
        if source.cluster_files().is_none() {
            self.refuse(
                format!("{}, whose rows only this process can read", source.description()),
                Place::default(),
            );
            return Select::of("r0".into(), output);
        }
        let known = self.tables.iter().find(|t| match &t.origin {
            Origin::Files(other) => Arc::ptr_eq(other, source),
            Origin::Stored(_) => false,
        });
        let known = match known {
            Some(table) => table.name.clone(),
            None => {
                let name = format!("inlay_files_{}", self.tables.len());
                self.tables
                    .push(NamedTable { name: name.clone(), origin: Origin::Files(Arc::clone(source)) });
                name
            }
        };
        let mut items = Vec::with_capacity(columns.len());
        for column in columns {
            let definition = &source.columns()[column.index];
            let same = source.columns().iter().filter(|c| c.name.eq_ignore_ascii_case(&definition.name));
            if same.count() > 1 {
                let what =
                    format!("the column {} of a file, of which there are two but for case", definition.name);
                self.refuse(what, Place::default());
            }
            let spark = self.type_text(&definition.ty, Place::default());
            items.push((column.id, format!("CAST({} AS {spark})", quoted(&definition.name))));
        }
        Select { items: Some(items), ..Select::of(known, output) }
    }

    /// Rows that are written in the statement.
    fn literal_rows(&mut self, source: &Arc<dyn TableSource>, columns: &[ScanColumn]) -> Select {
        let ids: Vec<ColumnId> = columns.iter().map(|c| c.id).collect();
        let Ok(batches) = rows_of(source, columns) else {
            self.refuse("VALUES whose rows cannot be read", Place::default());
            return Select::of("r0".into(), ids);
        };
        let count: usize = batches.iter().map(Batch::len).sum();
        if count > LITERAL_ROWS_MAX {
            self.refuse(format!("VALUES of {count} rows; a table holds them"), Place::default());
            return Select::of("r0".into(), ids);
        }
        let literal = |batch: &Batch, row: usize, column: usize| -> Expr {
            let value: Value = batch.column(column).get(row);
            Expr::Literal { value, ty: self.columns.ty(ids[column]) }
        };
        let rows: Vec<Vec<Expr>> = batches
            .iter()
            .flat_map(|batch| (0..batch.len()).map(move |row| (batch, row)))
            .map(|(batch, row)| (0..ids.len()).map(|column| literal(batch, row, column)).collect())
            .collect();
        self.values(&ids, &rows)
    }

    fn values(&mut self, columns: &[ColumnId], rows: &[Vec<Expr>]) -> Select {
        let ids = columns.to_vec();
        if rows.is_empty() {
            let nothing = |id: &ColumnId| {
                let ty = self.columns.ty(*id);
                (*id, self.literal(&Value::Null, &ty, Place::default()))
            };
            let items = ids.iter().map(nothing).collect();
            let none = self.relation("SELECT 1 AS k WHERE false".into());
            return Select { items: Some(items), ..Select::of(none, ids) };
        }
        if ids.is_empty() && rows.len() == 1 {
            return Select { items: Some(Vec::new()), ..Select::default() };
        }
        let marker = self.relations.len();
        let mut written = Vec::with_capacity(rows.len());
        for row in rows {
            let mut values: Vec<String> = row.iter().map(|value| self.expr(value)).collect();
            if values.is_empty() {
                values.push("1".into());
            }
            written.push(format!("({})", values.join(", ")));
        }
        let mut names: Vec<String> = ids.iter().map(|id| format!("v{}", id.0)).collect();
        if names.is_empty() {
            names.push(format!("k{marker}"));
        }
        let from = format!("VALUES {} AS v{marker}({})", written.join(", "), names.join(", "));
        // Rows may differ in how Spark types them.
        let typed = |id: &ColumnId| {
            let ty = self.columns.ty(*id);
            (*id, format!("CAST(v{} AS {})", id.0, self.type_text(&ty, Place::default())))
        };
        let items = ids.iter().map(typed).collect();
        Select { items: Some(items), ..Select::of(from, ids) }
    }

    fn project(&mut self, input: &Plan, items: &[(ColumnId, Expr)]) -> Select {
        let mut select = self.plan(input);
        if select.items.as_ref().is_some_and(|made| !made.is_empty()) {
            let passes = items.iter().all(|(_, expr)| matches!(expr, Expr::Column { .. }));
            if passes || !select.order.is_empty() {
                return self.renamed(select, items);
            }
            let output = select.output.clone();
            select = Select::of(self.close(select), output);
        }
        // A limit stays: it chooses rows, whatever is computed of them.
        let made = items.iter().map(|(id, expr)| (*id, self.expr(expr))).collect();
        select.output = items.iter().map(|(id, _)| *id).collect();
        select.items = Some(made);
        select
    }

    /// A projection of what was projected before, in one: columns that pass are renamed; under an order, which would be lost with the
    /// SELECT, what reads computed columns is computed over them.
    fn renamed(&mut self, mut select: Select, items: &[(ColumnId, Expr)]) -> Select {
        let made = select.items.take().unwrap_or_default();
        let held: Vec<(ColumnId, Option<String>)> =
            made.iter().map(|(id, text)| (*id, self.parameters.insert(*id, format!("({text})")))).collect();
        let written = items
            .iter()
            .map(|(id, expr)| match expr {
                Expr::Column { id: read, .. } => {
                    let text = made.iter().find(|(made, _)| made == read).map(|(_, text)| text.clone());
                    (*id, text.unwrap_or_else(|| name(*read)))
                }
                other => (*id, self.expr(other)),
            })
            .collect();
        for (id, before) in held {
            match before {
                Some(before) => self.parameters.insert(id, before),
                None => self.parameters.remove(&id),
            };
        }
        select.items = Some(written);
        select.output = items.iter().map(|(id, _)| *id).collect();
        select
    }

    fn set_op(
        &mut self,
        (kind, all): (SetOpKind, bool),
        (left, left_columns): (&Plan, &[ColumnId]),
        (right, right_columns): (&Plan, &[ColumnId]),
        columns: &[ColumnId],
    ) -> Select {
        let (left, right) = (self.relation_of(left), self.relation_of(right));
        let word = match (kind, all) {
            (SetOpKind::Union, true) => "UNION ALL",
            (SetOpKind::Union, false) => "UNION DISTINCT",
            (SetOpKind::Intersect, true) => "INTERSECT ALL",
            (SetOpKind::Intersect, false) => "INTERSECT DISTINCT",
            (SetOpKind::Except, true) => "EXCEPT ALL",
            (SetOpKind::Except, false) => "EXCEPT DISTINCT",
        };
        if columns.is_empty() {
            self.refuse(format!("{word} of rows without columns"), Place::default());
        }
        for id in columns.iter().filter(|_| !(kind == SetOpKind::Union && all)) {
            self.grouped(*id);
        }
        let side = |relation: String, read: &[ColumnId]| {
            let items = read.iter().zip(columns).map(|(read, made)| (*made, name(*read))).collect();
            let select = Select { items: Some(items), ..Select::of(relation, columns.to_vec()) };
            select.text(&select.selected(0))
        };
        let text = format!("{} {word} {}", side(left, left_columns), side(right, right_columns));
        Select::of(self.relation(text), columns.to_vec())
    }

    /// Looks at the type of a column whose values are compared as wholes.
    pub(crate) fn grouped(&mut self, id: ColumnId) {
        if holds_map(&self.columns.ty(id)) {
            let ty = self.columns.ty(id);
            self.refuse(format!("groups by {ty}, as Spark does not compare maps"), Place::default());
        }
    }

    /// The first rows of each group, numbered.
    fn group_limit(
        &mut self,
        input: &Plan,
        groups: &[Expr],
        keys: &[SortKey],
        limit: Option<u64>,
        offset: u64,
    ) -> Select {
        let output = input.output();
        let select = self.plan(input);
        let select = self.open(select);
        let partition: Vec<String> = groups.iter().map(|group| self.expr(group)).collect();
        let mut order = self.sort_keys(keys);
        if order.is_empty() {
            order.push("1 ASC".into());
        }
        let partition = if partition.is_empty() {
            String::new()
        } else {
            format!("PARTITION BY {} ", partition.join(", "))
        };
        let marker = self.relations.len();
        let number = format!("row_number() OVER ({partition}ORDER BY {}) AS n{marker}", order.join(", "));
        let text = select.text(&format!("{}, {number}", select.selected(marker)));
        let mut select = Select::of(self.relation(text), output);
        if offset > 0 {
            select.filters.push(format!("n{marker} > {offset}"));
        }
        if let Some(limit) = limit {
            select.filters.push(format!("n{marker} <= {}", limit.saturating_add(offset)));
        }
        select
    }

    /// Rows once per element of their lists.
    fn unnest(
        &mut self,
        input: &Plan,
        lists: &[(ColumnId, Expr)],
        ordinality: Option<ColumnId>,
        keep_empty: bool,
        output: Vec<ColumnId>,
    ) -> Select {
        let relation = self.relation_of(input);
        let marker = self.relations.len();
        let mut written = Vec::with_capacity(lists.len());
        for (id, list) in lists {
            let text = self.expr(list);
            written.push(self.layers(&text, &list.ty(), &self.columns.ty(*id)));
        }
        let outer = if keep_empty { "OUTER " } else { "" };
        let (call, names): (String, Vec<String>) = match written.as_slice() {
            [list] => (format!("posexplode({list})"), vec![format!("p{marker}"), name(lists[0].0)]),
            several => {
                let ty: Vec<String> = lists
                    .iter()
                    .map(|(id, _)| {
                        let ty = self.columns.ty(*id);
                        self.type_text(&ty, Place::default())
                    })
                    .collect();
                let filled: Vec<String> = several
                    .iter()
                    .zip(&ty)
                    .map(|(list, ty)| format!("coalesce({list}, CAST(array() AS ARRAY<{ty}>))"))
                    .collect();
                let names: Vec<String> = lists.iter().map(|(id, _)| name(*id)).collect();
                if ordinality.is_some() {
                    self.refuse("WITH ORDINALITY of several lists", Place::default());
                }
                (format!("inline(arrays_zip({}))", filled.join(", ")), names)
            }
        };
        let from = format!("{relation} LATERAL VIEW {outer}{call} u{marker} AS {}", names.join(", "));
        let mut items: Vec<(ColumnId, String)> = output.iter().map(|id| (*id, name(*id))).collect();
        if let Some(ordinality) = ordinality {
            items.retain(|(id, _)| *id != ordinality);
            items.push((ordinality, format!("CAST(p{marker} + 1 AS BIGINT)")));
        }
        Select { items: Some(items), ..Select::of(from, output) }
    }

    /// A list with so many layers taken off that its elements are of a type.
    fn layers(&mut self, text: &str, ty: &LogicalType, wanted: &LogicalType) -> String {
        match ty {
            LogicalType::List(element) | LogicalType::Array(element, _) if **element == *wanted => {
                text.to_string()
            }
            LogicalType::List(element) | LogicalType::Array(element, _)
                if matches!(**element, LogicalType::List(_) | LogicalType::Array(_, _)) =>
            {
                let flat = format!("flatten(filter({text}, l -> l IS NOT NULL))");
                self.layers(&flat, element, wanted)
            }
            other => self.refuse(format!("unnest of {other} as {wanted}"), Place::default()),
        }
    }
}

/// Whether a type has a map in it.
pub(crate) fn holds_map(ty: &LogicalType) -> bool {
    use LogicalType as T;
    match ty {
        T::Map(_) => true,
        T::List(element) | T::Array(element, _) => holds_map(element),
        T::Struct(fields) | T::Union(fields) => fields.iter().any(|f| holds_map(&f.ty)),
        T::Null | T::Boolean | T::TinyInt | T::SmallInt | T::Integer | T::BigInt | T::HugeInt => false,
        T::UTinyInt | T::USmallInt | T::UInteger | T::UBigInt | T::UHugeInt | T::Real | T::Double => false,
        T::Decimal { .. } | T::Varchar | T::Blob | T::Date | T::Time | T::Timestamp | T::Interval => false,
        T::TimestampS | T::TimestampMs | T::TimestampNs | T::TimestampTz | T::TimeTz => false,
        T::Uuid | T::Bit | T::Json | T::Enum(_) => false,
    }
}

/// The rows of a source that holds them.
fn rows_of(source: &Arc<dyn TableSource>, columns: &[ScanColumn]) -> inlay_types::Result<Vec<Batch>> {
    let scan = source.scan(ScanRequest {
        columns: columns.iter().map(|c| c.index).collect(),
        filters: Vec::new(),
        any_of: Vec::new(),
        budget: MemoryBudget::unlimited(),
        interrupt: Interrupt::default(),
    })?;
    let mut batches = Vec::new();
    while let Some(task) = scan.next_task()? {
        for batch in task {
            batches.push(batch?);
        }
    }
    Ok(batches)
}
