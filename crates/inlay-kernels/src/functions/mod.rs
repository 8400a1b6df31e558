//! The SQL functions, one file per family, each with its table.

mod choose;
pub(crate) mod collation;
mod columns;
pub(crate) mod dates;
mod degrees;
mod encode;
mod enums;
mod files;
mod find;
mod format;
pub(crate) mod json;
mod like;
mod math;
pub(crate) mod nested;
mod numbers;
mod operators;
mod postgres;
pub(crate) mod random;
mod regex;
mod regex_more;
mod similar;
mod simple_regex;
mod strings;
mod templates;
mod text_more;

use crate::manual::Category;
use crate::registry::Table;

/// All tables; [`crate::registry::all_functions`] chains them.
pub(crate) static TABLES: &[Table] = &[
    // In front, as some names are those of functions of texts that take anything.
    Table { category: Category::List, functions: nested::lists::FUNCTIONS },
    Table { category: Category::List, functions: nested::extract::FUNCTIONS },
    Table { category: Category::List, functions: nested::slice::FUNCTIONS },
    Table { category: Category::List, functions: nested::sizes::FUNCTIONS },
    Table { category: Category::List, functions: nested::search::FUNCTIONS },
    Table { category: Category::List, functions: nested::sort::FUNCTIONS },
    Table { category: Category::List, functions: nested::folds::FUNCTIONS },
    Table { category: Category::List, functions: nested::series::FUNCTIONS },
    Table { category: Category::List, functions: nested::bins::FUNCTIONS },
    Table { category: Category::List, functions: nested::split::FUNCTIONS },
    Table { category: Category::Text, functions: nested::joined::FUNCTIONS },
    Table { category: Category::List, functions: nested::vectors::FUNCTIONS },
    Table { category: Category::Struct, functions: nested::structs::FUNCTIONS },
    Table { category: Category::Struct, functions: nested::fields::FUNCTIONS },
    Table { category: Category::Struct, functions: nested::unions::FUNCTIONS },
    Table { category: Category::Map, functions: nested::maps::FUNCTIONS },
    Table { category: Category::Map, functions: nested::map_parts::FUNCTIONS },
    Table { category: Category::Text, functions: nested::paths::FUNCTIONS },
    Table { category: Category::Bit, functions: nested::bits::FUNCTIONS },
    Table { category: Category::Uuid, functions: nested::uuids::FUNCTIONS },
    Table { category: Category::Json, functions: json::parts::FUNCTIONS },
    Table { category: Category::Json, functions: json::modify::FUNCTIONS },
    Table { category: Category::Json, functions: json::postgres::FUNCTIONS },
    Table { category: Category::Json, functions: json::jsonpath::FUNCTIONS },
    Table { category: Category::Json, functions: json::nested::FUNCTIONS },
    Table { category: Category::Operator, functions: operators::FUNCTIONS },
    Table { category: Category::Text, functions: strings::FUNCTIONS },
    Table { category: Category::Text, functions: text_more::FUNCTIONS },
    Table { category: Category::Text, functions: format::FUNCTIONS },
    Table { category: Category::Text, functions: similar::FUNCTIONS },
    Table { category: Category::Text, functions: templates::FUNCTIONS },
    Table { category: Category::Text, functions: files::FUNCTIONS },
    Table { category: Category::Text, functions: collation::FUNCTIONS },
    Table { category: Category::Pattern, functions: like::FUNCTIONS },
    Table { category: Category::Pattern, functions: regex::FUNCTIONS },
    Table { category: Category::Pattern, functions: regex_more::FUNCTIONS },
    Table { category: Category::Blob, functions: encode::FUNCTIONS },
    Table { category: Category::Json, functions: json::FUNCTIONS },
    Table { category: Category::Json, functions: json::rows::FUNCTIONS },
    Table { category: Category::Numeric, functions: math::FUNCTIONS },
    Table { category: Category::Numeric, functions: numbers::FUNCTIONS },
    Table { category: Category::Numeric, functions: degrees::FUNCTIONS },
    Table { category: Category::Numeric, functions: random::FUNCTIONS },
    Table { category: Category::General, functions: postgres::FUNCTIONS },
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
