//! `histogram_values(table, expression)` and `histogram(table, expression)` in FROM: how many values lie in each of some
//! bins, and the same with a bar for each.
//!
//! The bins are chosen by the type: round boundaries for numbers and moments, frequent values for anything else. The rest
//! is a query, read from text and put behind a CTE of the values.

use super::build::Build;
use super::object::object_name_of;
use super::{Binder, Bound};
use crate::parser::ast::{
    Cte, Expr, ExprKind, FunctionCall, Literal, ObjectName, Pos, QueryBody, StatementKind, TableRef,
};
use crate::parser::parse_statement;
use inlay_types::{Error, LogicalType, Result};

/// Bins unless the call says how many.
const BINS: i64 = 10;

/// Whether a function in FROM makes a histogram.
pub(super) fn is_histogram(name: &str) -> bool {
    matches!(name, "histogram" | "histogram_values")
}

/// How values are put into bins.
#[derive(Clone, Copy, PartialEq)]
enum Technique {
    Width {
        is_nice: bool,
    },
    Height,
    /// Bins are single values.
    Frequent,
}

impl Binder<'_> {
    /// What such a function stands for. It sees the CTEs around it, not the columns.
    pub(super) fn histogram(&mut self, name: &str, call: &FunctionCall) -> Result<Bound> {
        let pos = call.name.pos;
        let [table, value] = call.arguments.as_slice() else {
            let message = format!("{name} takes a table and an expression: {name}(t, x, bin_count := 10)");
            return Err(self.at(Error::bind(message), pos));
        };
        let (mut bins, mut technique) = (BINS, "auto".to_string());
        for (argument, given) in &call.named {
            let given = self.constant(given, "an argument of histogram")?;
            match (argument.value.to_lowercase().as_str(), given.as_i128()) {
                ("bin_count", Some(count)) if (1..=100_000).contains(&count) => bins = count as i64,
                ("bin_count", _) => {
                    let message = format!("bin_count is a number from 1 to 100000, not {given}");
                    return Err(self.at(Error::invalid_argument(message), argument.pos));
                }
                ("technique", _) => technique = given.to_string(),
                _ => {
                    let message = format!("{name} takes bin_count and technique, not {}", argument.value);
                    return Err(self.at(Error::bind(message), argument.pos));
                }
            }
        }
        let table = self.histogram_source(table)?;
        let build = Build(pos);
        let source = TableRef::Table { name: table, alias: None };
        let select = build.select(vec![build.item(value.clone(), "x")], vec![source]);
        let mut values = build.query(QueryBody::Select(Box::new(select)));

        let scopes = std::mem::take(&mut self.scopes);
        let frames = std::mem::take(&mut self.aggregate_frames);
        let shared = self.shared.len();
        let ty =
            self.query(&values).map(|bound| bound.output.first().map(|column| self.columns.ty(column.id)));
        self.shared.truncate(shared);
        let bound = ty.and_then(|ty| {
            let ty = ty.unwrap_or(LogicalType::Null);
            let (technique, taken) = self.technique(&technique, &ty, pos)?;
            let values = match &mut values.body {
                QueryBody::Select(select) if taken != ty => {
                    select.items = vec![build.item(build.cast(value.clone(), taken), "x")];
                    values
                }
                _ => values,
            };
            let statement = parse_statement(&text(name, technique, bins, &ty))?;
            let StatementKind::Query(mut query) = statement.kind else {
                return Err(Error::internal("a histogram is no query"));
            };
            let cte = |query| Cte {
                name: build.ident("(values)"),
                columns: Vec::new(),
                query: Box::new(query),
                materialized: Some(true),
            };
            query.ctes.insert(0, cte(values));
            self.query(&query)
        });
        self.aggregate_frames = frames;
        self.scopes = scopes;
        bound
    }

    fn histogram_source(&self, table: &Expr) -> Result<ObjectName> {
        match &table.kind {
            ExprKind::Column(parts) => Ok(ObjectName { parts: parts.clone(), is_string: false }),
            ExprKind::Literal(Literal::String(name)) => Ok(object_name_of(name, table.pos)),
            _ => {
                Err(self
                    .at(Error::bind("a histogram is made of the rows of a table, by its name"), table.pos))
            }
        }
    }

    /// The technique by its name and the type of the values, and the type that they are taken as.
    fn technique(&self, name: &str, ty: &LogicalType, pos: Pos) -> Result<(Technique, LogicalType)> {
        use LogicalType as T;
        let scale = match ty {
            T::Decimal { .. } | T::Real | T::UBigInt | T::HugeInt | T::UHugeInt => Some(T::Double),
            T::TimestampS | T::TimestampMs | T::TimestampNs => Some(T::Timestamp),
            ty if ty.is_numeric() || ty.is_timestamp() || *ty == T::Date => Some(ty.clone()),
            _ => None,
        };
        let technique = match (name, &scale) {
            ("auto", Some(_)) | ("equi-width-nice", _) => Technique::Width { is_nice: true },
            ("equi-width", _) => Technique::Width { is_nice: false },
            ("equi-height", _) => Technique::Height,
            ("auto", None) | ("sample", _) => Technique::Frequent,
            _ => {
                let message = format!(
                    "there is no technique \"{name}\": auto, equi-width, equi-width-nice, equi-height and sample are"
                );
                return Err(self.at(Error::invalid_argument(message), pos));
            }
        };
        match (technique, scale) {
            (Technique::Width { .. }, None) => {
                let message = format!("values of type {ty} have no bins of one width: technique := 'sample'");
                Err(self.at(Error::type_mismatch(message), pos))
            }
            (Technique::Width { .. }, Some(taken)) => Ok((technique, taken)),
            _ => Ok((technique, ty.clone())),
        }
    }
}

/// The query, behind the CTE of the values.
fn text(name: &str, technique: Technique, count: i64, ty: &LogicalType) -> String {
    let bins = match technique {
        Technique::Width { is_nice } => format!("equi_width_bins(min(x), max(x), {count}, {is_nice})"),
        Technique::Height => {
            let shares: Vec<String> = (1..=count).map(|n| format!("{n} / {count}::DOUBLE")).collect();
            format!("list_sort(list_distinct(quantile_disc(x, [{}])))", shares.join(", "))
        }
        Technique::Frequent => format!("list_sort(approx_top_k(x, {count}))"),
    };
    let bin = match technique {
        Technique::Frequent => "CASE WHEN list_contains(bins, x) THEN x END",
        _ => "list_filter(bins, lambda bin: bin >= x)[1]",
    };
    // What is in no bin is counted by itself, under the value by which DuckDB tells it.
    let other = match ty {
        LogicalType::Varchar => "''".to_string(),
        LogicalType::TinyInt => i8::MAX.to_string(),
        LogicalType::SmallInt => i16::MAX.to_string(),
        LogicalType::Integer => i32::MAX.to_string(),
        LogicalType::BigInt => i64::MAX.to_string(),
        _ => "NULL".to_string(),
    };
    let counted = format!(
        "\"(bins)\" AS (SELECT {bins} AS bins FROM \"(values)\"),
        \"(found)\" AS MATERIALIZED (SELECT {bin} AS bin, count(*) AS count FROM \"(values)\", \"(bins)\"
            WHERE x IS NOT NULL GROUP BY 1),
        \"(counted)\" AS (
            SELECT b.bin, CAST(coalesce(f.count, 0) AS UBIGINT) AS count, 0 AS is_other
            FROM (SELECT unnest(bins) AS bin FROM \"(bins)\") b LEFT JOIN \"(found)\" f ON b.bin = f.bin
            UNION ALL SELECT {other}, CAST(count AS UBIGINT), 1 FROM \"(found)\" WHERE bin IS NULL)"
    );
    if name == "histogram_values" {
        return format!("WITH {counted} SELECT bin, count FROM \"(counted)\" ORDER BY is_other, bin");
    }
    let shown = match technique {
        Technique::Frequent => "CAST(bin AS VARCHAR)",
        _ => {
            "coalesce(lag(CAST(bin AS VARCHAR)) OVER (ORDER BY is_other, bin) || ' < x <= ', 'x <= ')
                || CAST(bin AS VARCHAR)"
        }
    };
    format!(
        "WITH {counted} SELECT CASE WHEN is_other = 1 THEN '(other values)' ELSE {shown} END AS bin, count,
            bar(count, 0, max(count) OVER ()) AS bar FROM \"(counted)\" ORDER BY is_other, \"(counted)\".bin"
    )
}
