//! The SQL functions, one file per family, each with its table.

mod choose;
mod columns;
pub(crate) mod dates;
mod encode;
mod enums;
mod find;
mod format;
pub(crate) mod json;
mod like;
mod math;
mod nested;
mod numbers;
mod operators;
mod regex;
mod similar;
mod strings;
mod text_more;

use crate::manual::Category;
use crate::registry::Table;

/// All tables; [`crate::registry::all_functions`] chains them.
pub(crate) static TABLES: &[Table] = &[
    Table { category: Category::Operator, functions: operators::FUNCTIONS },
    Table { category: Category::Text, functions: strings::FUNCTIONS },
    Table { category: Category::Text, functions: text_more::FUNCTIONS },
    Table { category: Category::Text, functions: format::FUNCTIONS },
    Table { category: Category::Text, functions: similar::FUNCTIONS },
    Table { category: Category::Pattern, functions: like::FUNCTIONS },
    Table { category: Category::Pattern, functions: regex::FUNCTIONS },
    Table { category: Category::Blob, functions: encode::FUNCTIONS },
    Table { category: Category::Json, functions: json::FUNCTIONS },
    Table { category: Category::Json, functions: json::rows::FUNCTIONS },
    Table { category: Category::Numeric, functions: math::FUNCTIONS },
    Table { category: Category::Numeric, functions: numbers::FUNCTIONS },
    Table { category: Category::General, functions: choose::FUNCTIONS },
    Table { category: Category::General, functions: enums::FUNCTIONS },
    Table { category: Category::Date, functions: dates::part::FUNCTIONS },
    Table { category: Category::Date, functions: dates::epoch::FUNCTIONS },
    Table { category: Category::Date, functions: dates::names::FUNCTIONS },
    Table { category: Category::Date, functions: dates::trunc::FUNCTIONS },
    Table { category: Category::Date, functions: dates::difference::FUNCTIONS },
    Table { category: Category::Date, functions: dates::bucket::FUNCTIONS },
    Table { category: Category::Date, functions: dates::make::FUNCTIONS },
    Table { category: Category::Date, functions: dates::clock::FUNCTIONS },
    Table { category: Category::Date, functions: dates::format::FUNCTIONS },
    Table { category: Category::Date, functions: dates::finite::FUNCTIONS },
    Table { category: Category::List, functions: nested::lists::FUNCTIONS },
    Table { category: Category::List, functions: nested::extract::FUNCTIONS },
    Table { category: Category::List, functions: nested::slice::FUNCTIONS },
    Table { category: Category::Struct, functions: nested::structs::FUNCTIONS },
    Table { category: Category::Map, functions: nested::maps::FUNCTIONS },
    Table { category: Category::Struct, functions: nested::unions::FUNCTIONS },
];

/// Levenshtein's distance in bytes.
pub(crate) fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        next_distances(&mut row, i, *x, b);
    }
    row[b.len()]
}

/// From the distances of `a[..i]` to each start of `b` to those of `a[..=i]`, where `x` is `a[i]`.
fn next_distances(row: &mut [usize], i: usize, x: u8, b: &[u8]) {
    let mut diagonal = row[0];
    row[0] = i + 1;
    for (j, y) in b.iter().enumerate() {
        let substituted = diagonal + usize::from(x != *y);
        diagonal = row[j + 1];
        row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
    }
}

#[cfg(test)]
mod tests;
