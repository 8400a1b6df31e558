//! The SQL functions, one file per family, each with its table.

mod choose;
mod columns;
mod dates;
mod find;
mod like;
mod math;
mod operators;
mod strings;

use crate::manual::Category;
use crate::registry::Table;

/// All tables; [`crate::registry::all_functions`] chains them.
pub(crate) static TABLES: &[Table] = &[
    Table { category: Category::Operator, functions: operators::FUNCTIONS },
    Table { category: Category::Text, functions: strings::FUNCTIONS },
    Table { category: Category::Pattern, functions: like::FUNCTIONS },
    Table { category: Category::Numeric, functions: math::FUNCTIONS },
    Table { category: Category::General, functions: choose::FUNCTIONS },
    Table { category: Category::Date, functions: dates::part::FUNCTIONS },
    Table { category: Category::Date, functions: dates::trunc::FUNCTIONS },
    Table { category: Category::Date, functions: dates::difference::FUNCTIONS },
    Table { category: Category::Date, functions: dates::make::FUNCTIONS },
    Table { category: Category::Date, functions: dates::format::FUNCTIONS },
];

/// Levenshtein's distance in bytes.
pub(crate) fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
