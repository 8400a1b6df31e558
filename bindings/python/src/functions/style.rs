//! What the options of a definition say: what a function is called with, and where it runs.

use crate::arrow::unknown_to_polars;
use crate::numpy::{Decimals, Strings};
use inlay::types::{Error, LogicalType, Result};

/// What a function is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Numpy(Decimals, Strings),
    Arrow,
    Pandas,
    Polars,
    /// The values of one row after the other.
    Rows,
}

/// Where calls run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parallel {
    /// In this process, on the threads of queries.
    Threads,
    /// In worker processes.
    Processes,
    /// In worker processes if calls hold the interpreter lock and take long.
    Auto,
}

/// All that options say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub style: Style,
    pub parallel: Parallel,
}

impl Style {
    /// Fails if what a function is called with has no type for a parameter of type `ty`, or a column.
    pub fn check(self, function: &str, parameter: &str, ty: &LogicalType) -> Result<()> {
        match (self, unknown_to_polars(ty)) {
            (Self::Polars, Some(what)) => Err(Error::Unsupported {
                feature: format!(
                    "the {what} of \"{parameter}\" for function \"{function}\" as Polars', which has no such type,"
                ),
                alternative: Some(
                    "let it be called with 'numpy', 'arrow' or 'pandas', or with VARCHAR".to_string(),
                ),
            }),
            (Self::Numpy(..) | Self::Arrow | Self::Pandas | Self::Polars | Self::Rows, _) => Ok(()),
        }
    }
}

impl Options {
    /// What the options of function `function` say.
    pub fn of(function: &str, options: &[(String, String)]) -> Result<Self> {
        let (mut arguments, mut decimals, mut strings) = ("numpy", Decimals::Objects, Strings::Objects);
        let mut parallel = Parallel::Threads;
        for (name, value) in options {
            let refuse = |expected: &str| {
                let message = format!("function \"{function}\": {name} = '{value}': expected {expected}");
                Err(Error::invalid_argument(message))
            };
            match (name.as_str(), value.as_str()) {
                ("arguments", "numpy" | "arrow" | "pandas" | "polars" | "rows") => arguments = value,
                ("arguments", _) => return refuse("'numpy', 'arrow', 'pandas', 'polars' or 'rows'"),
                ("decimal", "decimal") => decimals = Decimals::Objects,
                ("decimal", "float") => decimals = Decimals::Float,
                ("decimal", _) => return refuse("'decimal' or 'float'"),
                ("strings", "object") => strings = Strings::Objects,
                ("strings", "stringdtype") => strings = Strings::Packed,
                ("strings", _) => return refuse("'object' or 'stringdtype'"),
                ("parallel", "threads") => parallel = Parallel::Threads,
                ("parallel", "processes") => parallel = Parallel::Processes,
                ("parallel", "auto") => parallel = Parallel::Auto,
                ("parallel", _) => return refuse("'threads', 'processes' or 'auto'"),
                ("cost", cost) if cost.parse().is_ok_and(|cost: f64| cost.is_finite() && cost >= 0.0) => {}
                ("cost", _) => return refuse("nanoseconds a row"),
                ("rows", rows) if rows.parse().is_ok_and(|rows: f64| rows.is_finite() && rows >= 0.0) => {}
                ("rows", _) => return refuse("how many rows a call gives"),
                _ => {
                    return Err(Error::invalid_argument(format!(
                        "function \"{function}\": there is no option {name}; there are arguments, cost, decimal, parallel, \
                         rows and strings"
                    )));
                }
            }
        }
        let style = match arguments {
            "arrow" => Style::Arrow,
            "pandas" => Style::Pandas,
            "polars" => Style::Polars,
            "rows" => Style::Rows,
            _ => Style::Numpy(decimals, strings),
        };
        Ok(Self { style, parallel })
    }
}
